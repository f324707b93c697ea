/*
 * view/heads.h: what views return about many entries at once, or about one entry in brief.
 */
#ifndef GROVE_VIEW_HEADS_H
#define GROVE_VIEW_HEADS_H

#include "view/view.h"

/*
 * Gets the heads of the rows `from` … `to` - 1, which must exist. The result is one block, to be
 * released by free(). Fills in *d.
 */
int grove__view_heads(struct grove_view *v, uint32_t from, uint32_t to, struct grove_heads **out,
		      struct grove_detail *d);

/* columns.c: the same; `opt` is not NULL. */
int grove__view_columns(struct grove_view *v, const struct grove_columns_options *opt,
			struct grove_columns **out, struct grove_detail *d);

/*
 * preview.c: appends what describes an entry best to `out`; the slices of `p` point there.
 * Returns 1 if there is nothing to say.
 */
int grove__view_preview(struct grove_view *v, uint32_t row, size_t max, struct grove_buf *out,
			struct grove_preview *p, struct grove_detail *d);
/* The same for a line that has already been read. */
int grove__preview_line(struct grove_view *v, uint32_t row, struct grove_slice line, size_t max,
			struct grove_buf *out, struct grove_preview *p);
int grove__message_preview(const struct grove_message *m, size_t max, struct grove_buf *out,
			   struct grove_preview *p);

/* view_entries.c: as the calls of view.h; options are not NULL. */
int grove__view_entries(struct grove_view *v, const struct grove_entries_options *opt,
			struct grove_sink sink, uint64_t *next, struct grove_detail *d);
int grove__view_text(struct grove_view *v, uint32_t row, const char *pointer, struct grove_range bytes,
		     struct grove_buf *out, uint64_t *total, struct grove_detail *d);
int grove__view_media(struct grove_view *v, uint32_t row, unsigned nth, struct grove_buf *bytes,
		      const char **type, struct grove_detail *d);
/* Returns the first row at this seq or after it; the number of rows if there is none. */
uint32_t grove__view_row_at(const struct grove_view *v, uint64_t seq);

/* Values nested more deeply are left as they are; agents do not write such values. */
#define GROVE__BRIEF_DEPTH 32

/*
 * media.c: returns the media type of bytes, judged by how they begin; application/octet-stream if
 * unknown.
 */
const char *grove__media_type(struct grove_slice bytes);
/* Gets the size of an image of this type from its first bytes. Returns false if they do not have it. */
bool grove__media_size(const char *type, struct grove_slice bytes, unsigned *width, unsigned *height);
/*
 * Finds the data of the nth image in a value, in the order in which objects are written. If there
 * are fewer images, ptr is NULL and *nth is reduced by their number.
 */
struct grove_slice grove__media_find(const struct grove__dialect_heads *names, struct grove_slice value,
				     unsigned depth, unsigned *nth);
/*
 * brief.c: appends an entry with its long texts (of more than `max_text` bytes; 0: no limit) and,
 * unless `media` is NULL, its images replaced by references. GROVE_ENOMEM.
 */
int grove__brief_entry(struct grove_buf *out, struct grove_slice value, struct grove_slice id,
		       uint64_t max_text, const struct grove__dialect_heads *media);
/* The same for a value of an entry, in a snapshot: the references do not say where in the entry it is. */
int grove__brief_value(struct grove_buf *out, struct grove_slice value, struct grove_slice id, uint64_t max_text);
int grove__view_matches(const struct grove_view *v, const char *prefix, struct grove_rows *out);
/* As grove_view_resolve(). */
int grove__view_resolve(const struct grove_view *v, const char *what, uint32_t *row, struct grove_detail *d);

#endif
