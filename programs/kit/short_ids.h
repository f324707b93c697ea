/*
 * short_ids.h: unique prefixes of entry ids, to print and to type.
 *
 * A prefix has at least eight characters, and no other entry of the session shares it.
 */
#ifndef CLI_SHORT_IDS_H
#define CLI_SHORT_IDS_H

#include <grove.h>

struct short_ids {
	struct grove_view *v;
	uint64_t *seen;          /* the first eight bytes of every longer id */
	unsigned char *often;    /* … shared by several */
	size_t cap;
	int ready;
};

void short_ids_init(struct short_ids *s, struct grove_view *v);
/* Returns the prefix of `id`; "-" for NULL. */
struct grove_slice short_id(struct short_ids *s, const char *id);
void short_ids_release(struct short_ids *s);

#endif
