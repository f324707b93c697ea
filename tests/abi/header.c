/* A public header, as a stranger's program sees it that includes nothing else. */
#include GROVE_TEST_HEADER

int grove_header_compiles(void);

int grove_header_compiles(void)
{
	return 0;
}
