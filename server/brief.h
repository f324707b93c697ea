/*
 * brief.h: an entry without its long texts and its images, and these by themselves.
 *
 * Nothing here knows an agent's names: a long text is a string of many bytes, and
 * an image is a string that is base64 of bytes which begin as an image does.
 */
#ifndef SERVER_BRIEF_H
#define SERVER_BRIEF_H

#include "doc.h"

/*
 * Adds `line` to `d`. Texts of more than `most` bytes become {"$ref":id,"pointer":…,
 * "bytes":n}, images {"$media":n,"type":…,"bytes":…,"width":…,"height":…}, where n
 * counts the images of the entry. What is no JSON, or too deep, stays as it is.
 */
void brief_entry(struct doc *d, struct grove_slice line, const char *id, uint64_t most);

/*
 * Appends the bytes [from, from + most) of the text at a JSON pointer, moved so that
 * no character is split (`most` is 8 or more); *from and *total say what it became. GROVE_ENOTFOUND if there
 * is no text at that place.
 */
int brief_text(struct grove_slice line, const char *pointer, uint64_t *from, uint64_t most,
	       struct grove_buf *out, uint64_t *total);

/* Appends the bytes of image `n`. GROVE_ENOTFOUND if the entry has fewer. */
int brief_media(struct grove_slice line, uint64_t n, struct grove_buf *out);

#endif
