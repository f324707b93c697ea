/*
 * base/array.h: room for one more in an array that grows.
 *
 *	if (grove__array_room(&a->items, &a->cap, a->nr, sizeof(*a->items)))
 *		return GROVE_ENOMEM;
 *	a->items[a->nr++] = …
 */
#ifndef GROVE_BASE_ARRAY_H
#define GROVE_BASE_ARRAY_H

#include <stddef.h>

/*
 * `array` is the address of a pointer to `*cap` items, `nr` of them in use.
 * When they are all in use there are twice as many afterwards. 0 or
 * GROVE_ENOMEM; then nothing has changed.
 */
int grove__array_room(void *array, size_t *cap, size_t nr, size_t item);

#endif
