/* The public headers, as a stranger's C++ program sees them. */
#include <grove.h>
#include <grove/storage.h>
#include <grove/sys.h>
