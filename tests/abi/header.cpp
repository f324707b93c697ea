/* A public header, as a stranger's C++ program sees it that includes nothing else. */
#include GROVE_TEST_HEADER
