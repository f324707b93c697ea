/*
 * base/sized.h: structs that cross the border of the library and may grow.
 *
 * A struct that the caller allocates begins with `size_t size`, which the
 * caller sets to the sizeof that its compiler saw. A caller that was built with
 * an older header has a shorter struct than ours, one that was built with a
 * newer header a longer one. Inside the library there are only structs of our
 * own size: what comes in is taken, what goes out is given.
 *
 *              older caller           newer caller
 *     take     the rest is zero       what we do not know is ignored
 *     give     the rest is left out   what we do not know becomes zero
 */
#ifndef GROVE_BASE_SIZED_H
#define GROVE_BASE_SIZED_H

#include "grove/types.h"

/*
 * Fill in `ours`, of `size` bytes, from the caller's struct. NULL is a struct of
 * zeros. GROVE_EINVAL for one whose size was not set; `ours` is all zeros then.
 */
int grove__sized_take(void *ours, size_t size, const void *theirs, struct grove_detail *d);
/* The same as the first step of a public call: clears the detail before. */
int grove__sized_begin(void *ours, size_t size, const void *theirs, struct grove_detail *d);
/* GROVE_EINVAL if a result that will be given has no size. NULL: nobody wants it. */
int grove__sized_check(const void *theirs, struct grove_detail *d);
/* Hand `ours`, of `size` bytes, to the caller. Does nothing for NULL, or without a size. */
void grove__sized_give(void *theirs, const void *ours, size_t size);

#endif
