/*
 * base/sized.c: structs that cross the border of the library and may grow.
 */
#include "base/sized.h"
#include "base/fail.h"

#include <string.h>

static size_t size_of(const void *theirs)
{
	size_t size;

	memcpy(&size, theirs, sizeof(size));
	return size;
}

int grove__sized_check(const void *theirs, struct grove_detail *d)
{
	if (!theirs || size_of(theirs) >= sizeof(size_t))
		return 0;
	return grove__fail(d, GROVE_EINVAL, NULL, "the size of a struct is not set (set .size = sizeof(it))");
}

int grove__sized_take(void *ours, size_t size, const void *theirs, struct grove_detail *d)
{
	int rc = grove__sized_check(theirs, d);
	size_t nr = rc || !theirs ? 0 : size_of(theirs) < size ? size_of(theirs) : size;

	memset((char *)ours + nr, 0, size - nr);
	if (nr)
		memcpy(ours, theirs, nr);
	memcpy(ours, &size, sizeof(size));
	return rc;
}

int grove__sized_begin(void *ours, size_t size, const void *theirs, struct grove_detail *d)
{
	grove__fail_clear(d);
	return grove__sized_take(ours, size, theirs, d);
}

void grove__sized_give(void *theirs, const void *ours, size_t size)
{
	size_t room = theirs ? size_of(theirs) : 0;
	size_t nr = room < size ? room : size;

	if (nr < sizeof(size_t))
		return;
	memcpy((char *)theirs + sizeof(size_t), (const char *)ours + sizeof(size_t), nr - sizeof(size_t));
	memset((char *)theirs + nr, 0, room - nr);
}
