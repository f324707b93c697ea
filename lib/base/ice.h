/*
 * base/ice.h: structures that are stored as bytes and used in place.
 *
 * Frozen bytes have the same layout as in memory. Pointers become distances from a
 * base, and stay that way: the base is given when the bytes are thawed, and turns
 * distances into pointers, so nothing has to be converted. (A distance may be
 * negative, for something that was added later and is elsewhere in memory; the
 * arithmetic wraps around.)
 */
#ifndef GROVE_BASE_ICE_H
#define GROVE_BASE_ICE_H

#include <stddef.h>
#include <stdint.h>

#define GROVE__ICE_PAGE 4096u

/* Writes these bytes at that offset. Gaps between them are never read. */
typedef int grove__ice_fn(void *payload, uint64_t at, const void *ptr, size_t len);

static inline uint64_t grove__ice_page_up(uint64_t at)
{
	return (at + GROVE__ICE_PAGE - 1) & ~(uint64_t)(GROVE__ICE_PAGE - 1);
}

/* 0 is no distance: nothing is at the base itself. */
static inline uint64_t grove__ice_distance(const char *base, const char *ptr)
{
	return ptr ? (uint64_t)(uintptr_t)ptr - (uint64_t)(uintptr_t)base : 0;
}

static inline const char *grove__ice_pointer(const char *base, uint64_t distance)
{
	return distance ? (const char *)(uintptr_t)((uint64_t)(uintptr_t)base + distance) : NULL;
}

#endif
