/*
 * short_ids.h: ids of entries, as short as they can be typed.
 *
 * What is printed is a prefix that no other entry of the session shares, of eight
 * characters or more.
 */
#ifndef CLI_SHORT_IDS_H
#define CLI_SHORT_IDS_H

#include <grove.h>

struct short_ids {
	struct grove_view *v;
	uint64_t *seen;          /* the first eight bytes of every longer id */
	unsigned char *often;    /* … that several share */
	size_t cap;
	int ready;
};

void short_ids_init(struct short_ids *s, struct grove_view *v);
/* A part of `id`; "-" for NULL. */
struct grove_slice short_id(struct short_ids *s, const char *id);
void short_ids_release(struct short_ids *s);

#endif
