/*
 * base/array.c: room for one more in an array that grows.
 */
#include "base/array.h"

#include "grove/types.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16

int grove__array_room(void *array, size_t *cap, size_t nr, size_t item)
{
	size_t more = *cap ? *cap * 2 : FIRST;
	void *p;

	if (nr < *cap)
		return 0;
	/* whatever the pointer points to: read and written as bytes */
	memcpy(&p, array, sizeof(p));
	if (more < *cap || more > (size_t)-1 / item)
		return GROVE_ENOMEM;
	p = realloc(p, more * item);
	if (!p)
		return GROVE_ENOMEM;
	memcpy(array, &p, sizeof(p));
	*cap = more;
	return 0;
}
