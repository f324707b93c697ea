/* The public headers, as a stranger's program sees them. */
#include <grove.h>
#include <grove/storage.h>
#include <grove/sys.h>

int grove_header_compiles(void);

int grove_header_compiles(void)
{
	return 0;
}
