/*
 * view/view_entries.c: entries by their place in the log, and parts of one entry.
 */
#include "view/heads.h"

#include "base/utf8.h"
#include "js/js.h"
#include "json/out.h"
#include "json/value.h"
#include "session/blobs.h"

#include <stdlib.h>

/* ------------------------------------------------------------------- a page */

static bool is_asked_for(const struct grove_entries_options *opt, uint64_t seq)
{
	for (size_t i = 0; i < opt->nr_seq; i++)
		if (seq >= opt->seq[i].from && (!opt->seq[i].to || seq < opt->seq[i].to))
			return true;
	return !opt->nr_seq;
}

/* The rows from the first to the last range, so that a page of a long log looks at few of them. */
static void window(const struct grove_view *v, const struct grove_entries_options *opt, uint32_t *first,
		   uint32_t *end)
{
	uint64_t from = opt->nr_seq ? UINT64_MAX : 0, to = opt->nr_seq ? 0 : UINT64_MAX;

	for (size_t i = 0; i < opt->nr_seq; i++) {
		uint64_t upto = opt->seq[i].to ? opt->seq[i].to : UINT64_MAX;

		from = opt->seq[i].from < from ? opt->seq[i].from : from;
		to = upto > to ? upto : to;
	}
	*first = grove__view_row_at(v, from);
	*end = grove__view_row_at(v, to);
}

/* Chooses the requested rows, at most one more than fit; *rows is NULL for all. GROVE_ENOMEM. */
static int choose(const struct grove_view *v, const struct grove_entries_options *opt, uint32_t **rows,
		  size_t *nr)
{
	uint32_t first, end;

	*rows = NULL;
	*nr = v->nr;
	if (!opt->nr_seq && !opt->limit)
		return 0;
	window(v, opt, &first, &end);
	*nr = 0;
	*rows = malloc(((size_t)(end > first ? end - first : 0) + 1) * sizeof(**rows));
	if (!*rows)
		return GROVE_ENOMEM;
	for (uint32_t i = first; i < end && !(opt->limit && *nr > opt->limit); i++)
		if (is_asked_for(opt, grove__spine_line(v->image->spine, i)))
			(*rows)[(*nr)++] = i;
	return 0;
}

struct page {
	struct grove_view *v;
	const struct grove_entries_options *opt;
	struct grove__out o;
	struct grove_buf whole, shorter;
	uint64_t nr, bytes;
	struct grove_detail *d;
};

/* Prepares an entry as the caller gets it. */
static int prepare(struct page *p, uint32_t row, struct grove_slice *value)
{
	const char *id = grove__spine_id(p->v->image->spine, row);
	int rc = 0;

	if (p->opt->flags & GROVE_LINE_BLOBS)
		rc = grove__session_resolve(p->v->session, value, &p->whole, p->d);
	if (rc || !(p->opt->max_text || p->opt->flags & GROVE_ENTRIES_MEDIA))
		return rc;
	grove__buf_clear(&p->shorter);
	rc = grove__brief_entry(&p->shorter, *value, id ? grove__spine_name(id) : grove__slice(NULL, 0),
				p->opt->max_text,
				p->opt->flags & GROVE_ENTRIES_MEDIA ? p->v->image->dialect->heads : NULL);
	*value = grove__buf_slice(&p->shorter);
	return rc ? grove__fail_nomem(p->d) : 0;
}

static void put_entry(struct page *p, uint32_t row, struct grove_slice value)
{
	bool with_seq = p->opt->flags & GROVE_ENTRIES_SEQ;

	grove__out_newline(&p->o);
	if (with_seq) {
		grove__out_open(&p->o, NULL, '{');
		grove__out_number(&p->o, "seq", grove__spine_line(p->v->image->spine, row));
	}
	grove__out_raw(&p->o, with_seq ? "entry" : NULL, value);
	if (with_seq)
		grove__out_close(&p->o, '}');
	p->nr++;
	p->bytes += value.len;
}

/* Returns true if an entry of that length does not fit on the page. The first one always does. */
static bool is_full(const struct page *p, size_t len)
{
	return (p->opt->limit && p->nr >= p->opt->limit) ||
	       (p->opt->max_bytes && p->nr && p->bytes + len > p->opt->max_bytes);
}

static int write_page(struct page *p, const uint32_t *rows, size_t nr, uint64_t *next)
{
	struct grove__rows walk;
	struct grove_slice value;
	uint32_t row;
	int rc = 0;

	grove__rows_init(&walk, p->v->image, p->v->log, rows, nr);
	while (!p->o.rc && !(rc = grove__rows_next(&walk, &row, &value, p->d))) {
		rc = prepare(p, row, &value);
		if (rc)
			break;
		if (is_full(p, value.len)) {
			*next = grove__spine_line(p->v->image->spine, row);
			break;
		}
		put_entry(p, row, value);
	}
	grove__rows_release(&walk);
	return rc == 1 ? 0 : rc;
}

int grove__view_entries(struct grove_view *v, const struct grove_entries_options *opt,
			struct grove_sink sink, uint64_t *next, struct grove_detail *d)
{
	struct page p = { .v = v, .opt = opt, .d = d };
	uint32_t *rows;
	size_t nr;
	int rc = choose(v, opt, &rows, &nr) ? grove__fail_nomem(d) : 0, end;

	*next = GROVE_NO_SEQ;
	grove__out_init(&p.o, sink);
	grove__out_open(&p.o, NULL, '[');
	if (!rc)
		rc = write_page(&p, rows, nr, next);
	grove__out_close(&p.o, ']');
	grove__out_str(&p.o, "\n");
	end = grove__out_finish(&p.o);
	grove__buf_release(&p.whole);
	grove__buf_release(&p.shorter);
	free(rows);
	return rc ? rc : end;
}

/* ------------------------------------------------------------- a part of a text */

/* Returns where the character begins that byte `at` is part of. */
static size_t character(const struct grove_buf *text, uint64_t at)
{
	size_t i = at < text->len ? (size_t)at : text->len;

	while (i && i < text->len && ((unsigned char)text->ptr[i] & 0xc0) == 0x80)
		i--;
	return i;
}

int grove__view_text(struct grove_view *v, uint32_t row, const char *pointer, struct grove_range bytes,
		     struct grove_buf *out, uint64_t *total, struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT, whole = GROVE_BUF_INIT, raw = GROVE_BUF_INIT,
			 text = GROVE_BUF_INIT;
	struct grove_slice value, found = { NULL, 0 };
	size_t from, to;
	int rc = grove__image_line(v->image, v->log, row, &line, &value, d);

	rc = rc ? rc : grove__session_resolve(v->session, &value, &whole, d);
	if (!rc && grove__json_pointed(value, pointer, &found))
		rc = grove__fail_nomem(d);
	if (!rc && !found.ptr)
		rc = grove__fail(d, GROVE_ENOTFOUND, NULL, "the entry has no %.200s", pointer);
	if (!rc) {
		bool string = grove__json_type_of(found) == JSON_STRING;

		/* half of a surrogate pair is not a character */
		if ((string && grove__json_text(&raw, found)) ||
		    grove__utf8_repair_wtf8(&text, string ? grove__buf_slice(&raw) : found))
			rc = grove__fail_nomem(d);
	}
	if (!rc) {
		*total = text.len;
		from = character(&text, bytes.from);
		to = bytes.to ? character(&text, bytes.to) : text.len;
		if (to > from && grove__buf_add(out, text.ptr + from, to - from))
			rc = grove__fail_nomem(d);
	}
	grove__buf_release(&line);
	grove__buf_release(&whole);
	grove__buf_release(&raw);
	grove__buf_release(&text);
	return rc;
}

/* ------------------------------------------------------------------------ media */

int grove__view_media(struct grove_view *v, uint32_t row, unsigned nth, struct grove_buf *bytes,
		      const char **type, struct grove_detail *d)
{
	const struct grove__dialect_heads *names = v->image->dialect->heads;
	struct grove_buf line = GROVE_BUF_INIT, whole = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	struct grove_slice value, found = { NULL, 0 };
	size_t start = bytes->len;
	int rc = grove__image_line(v->image, v->log, row, &line, &value, d);

	rc = rc ? rc : grove__session_resolve(v->session, &value, &whole, d);
	if (!rc && names && names->media)
		found = grove__media_find(names, value, 0, &nth);
	if (!rc && !found.ptr)
		rc = grove__fail(d, GROVE_ENOTFOUND, NULL, "the entry has no such image");
	if (!rc && (grove__json_text(&text, found) || grove__js_base64_decode(bytes, grove__buf_slice(&text))))
		rc = grove__fail_nomem(d);
	if (!rc)
		*type = grove__media_type(grove__slice(bytes->ptr + start, bytes->len - start));
	grove__buf_release(&line);
	grove__buf_release(&whole);
	grove__buf_release(&text);
	return rc;
}

/* ----------------------------------------------------------------- rows and ids */

uint32_t grove__view_row_at(const struct grove_view *v, uint64_t seq)
{
	return grove__spine_from_line(v->image->spine, v->nr, seq);
}

int grove__view_matches(const struct grove_view *v, const char *prefix, struct grove_rows *out)
{
	const struct grove__spine *s = v->image->spine;
	size_t len = strlen(prefix), nr = 0;
	uint32_t *rows = malloc(((size_t)v->nr + 1) * sizeof(*rows));

	if (!rows)
		return GROVE_ENOMEM;
	for (uint32_t i = 0; i < v->nr; i++) {
		const char *id = grove__spine_id(s, i);

		if (id && !(grove__spine_flags(s, i) & ROW_SUPERSEDED) && !strncmp(id, prefix, len))
			rows[nr++] = i;
	}
	*out = (struct grove_rows){ rows, nr };
	return 0;
}

/* The ids of some rows, for an error: `len` bytes of each, and as many as fit. */
static int name_rows(const struct grove__spine *s, const struct grove_rows *r, size_t len,
		     struct grove_buf *out)
{
	enum { TOLD = 5 };
	int bad = 0;

	for (size_t i = 0; i < r->nr && i < TOLD && !bad; i++) {
		const char *id = grove__spine_id(s, r->at[i]);

		bad = (i && grove__buf_add_str(out, ", ")) || grove__buf_add(out, id, strnlen(id, len));
	}
	return bad || (r->nr > TOLD && grove__buf_add_str(out, ", …")) ? GROVE_ENOMEM : 0;
}

static int tell_ambiguous(const struct grove_view *v, const char *what, const struct grove_rows *r,
			  struct grove_detail *d)
{
	struct grove_buf ids = GROVE_BUF_INIT;
	size_t len = strnlen(what, 60) + 8; /* enough to tell them apart, mostly */
	int rc = name_rows(v->image->spine, r, len, &ids) ? grove__fail_nomem(d) :
		 grove__fail(d, GROVE_EAMBIGUOUS, NULL, "%.60s is ambiguous; it matches %zu entries: %.*s", what,
			     r->nr, (int)ids.len, ids.ptr);

	grove__buf_release(&ids);
	return rc;
}

int grove__view_resolve(const struct grove_view *v, const char *what, uint32_t *row, struct grove_detail *d)
{
	enum { SHORTEST = 4 };
	struct grove_rows found = { NULL, 0 };
	int rc = 0;

	*row = grove__spine_find(v->image->spine, v->nr, grove__slice_str(what));
	if (*row != GROVE_NO_ENTRY || !strcmp(what, GROVE_ROOT))
		return 0;
	if (strnlen(what, SHORTEST) == SHORTEST)
		rc = grove__view_matches(v, what, &found);
	if (rc)
		rc = grove__fail_nomem(d);
	else if (!found.nr)
		rc = grove__fail(d, GROVE_ENOTFOUND, NULL, "Entry %.200s not found%s", what,
				 strnlen(what, SHORTEST) < SHORTEST ?
				 " (a prefix of an id needs 4 characters or more)" :
				 " (run 'grove log' to list the entries)");
	else if (found.nr > 1)
		rc = tell_ambiguous(v, what, &found, d);
	else
		*row = found.at[0];
	free(found.at);
	return rc;
}
