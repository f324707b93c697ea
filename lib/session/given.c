/*
 * session/given.c: a session that is made of lines, which are in no file.
 *
 * The lines go into the session's memory store and are read from there like any other
 * log, so the session is what a file of these lines would be. They are checked no more
 * strictly than a reader checks them: an entry may name a parent that does not exist.
 */
#include "image/lines.h"
#include "session/append.h"

#include <stdlib.h>

/* One record for each line; the last one need not have its LF. */
static size_t split(struct grove_slice text, struct grove_store_record *rec)
{
	size_t nr = 0;

	for (size_t at = 0; at < text.len; nr++) {
		const char *lf = memchr(text.ptr + at, '\n', text.len - at);
		size_t end = lf ? (size_t)(lf - text.ptr) : text.len;

		if (rec)
			rec[nr].line = grove__slice(text.ptr + at, end - at);
		at = end + 1;
	}
	return nr;
}

int grove__session_put_lines(struct grove_session *s, struct grove_slice text, struct grove_detail *d)
{
	struct grove_buf bytes = GROVE_BUF_INIT;
	struct grove_store_record *rec = NULL;
	struct grove__records records;
	struct grove_store_log_stat st;
	struct grove_store_appended out;
	size_t nr = split(text, NULL);
	int rc = grove__log_stat(s->log, &st, d);

	if (rc || !nr)
		return rc;
	grove__records_init(&records, s->at.dialect);
	rec = calloc(nr, sizeof(*rec));
	/* the scanner reads a little past the last line */
	if (!rec || grove__buf_add_slice(&bytes, text) || grove__buf_reserve(&bytes, GROVE__JSON_PAD)) {
		rc = grove__fail_nomem(d);
		goto out;
	}
	split(grove__buf_slice(&bytes), rec);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = grove__records_fill(&records, rec[i].line, &rec[i]) ? grove__fail_nomem(d) : 0;
	if (!rc)
		rc = grove__log_append(s->log, rec, nr, st.tail, GROVE_SYNC_NONE, &out, d);
out:
	free(rec);
	grove__buf_release(&bytes);
	grove__records_release(&records);
	return rc;
}
