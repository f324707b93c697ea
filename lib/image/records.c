/*
 * image/records.c: lines as records, with what the dialect finds in them.
 *
 * Stores with columns get id, parent, kind, role and time of each line. The line is
 * authoritative, so what is unknown is left out.
 */
#include "image/lines.h"

#include <stdlib.h>

void grove__records_init(struct grove__records *r, const struct grove__dialect *dialect)
{
	memset(r, 0, sizeof(*r));
	r->dialect = dialect;
	grove__json_want_init(&r->want, dialect->read.members, dialect->read.nr_members);
	grove__arena_init(&r->tmp);
}

void grove__records_clear(struct grove__records *r)
{
	grove__arena_release(&r->tmp);
}

void grove__records_release(struct grove__records *r)
{
	grove__arena_release(&r->tmp);
}

static int64_t time_or_none(int64_t time)
{
	return time == GROVE_NO_TIME ? 0 : time;
}

int grove__records_read(const struct grove__dialect *dialect, const struct grove__json_want *want,
			struct grove_slice line, bool first, struct grove__arena *texts,
			struct grove__record_read *out)
{
	size_t mark = first && grove__runs_marked(line.ptr, line.len) ? 3 : 0;
	const char *p = line.ptr + mark;
	struct grove_store_record *rec = &out->rec;

	memset(out, 0, sizeof(*out));
	rec->line = line;
	out->verdict = grove__json_scan(want, p, line.len - mark, true, &out->json);
	out->whole = out->verdict == JSON_VALUE && out->json.type == JSON_OBJECT && out->json.len == line.len - mark;
	if (out->verdict != JSON_VALUE)
		return out->verdict == JSON_NOMEM ? GROVE_ENOMEM : 0;
	out->class = dialect->read.index(&out->json, p, texts, &out->e);
	if (out->class == LINE_HEADER && !texts->failed)
		dialect->header->read(&out->json, p, texts, &out->h);
	if (texts->failed)
		return GROVE_ENOMEM;
	if (out->class == LINE_SLOT && !first)
		out->class = LINE_ENTRY;
	if (out->class == LINE_HEADER) {
		rec->kind = GROVE_KIND_HEADER;
		rec->time = time_or_none(out->h.time);
	} else if (out->class == LINE_ENTRY) {
		rec->kind = out->e.kind;
		rec->role = out->e.role;
		rec->time = time_or_none(out->e.time);
		if (out->e.has_id)
			rec->id = out->e.id;
		if (out->e.parent_is == PARENT_NAMED)
			rec->parent = out->e.parent;
	}
	return 0;
}

int grove__records_fill(struct grove__records *r, struct grove_slice line,
			struct grove_store_record *out)
{
	struct grove__record_read read;
	int rc = grove__records_read(r->dialect, &r->want, line, !r->any, &r->tmp, &read);

	r->any |= read.verdict == JSON_VALUE;
	*out = read.rec;
	return rc;
}

int grove__records_copy(const struct grove_slice *lines, size_t nr, struct grove_buf *text,
			struct grove_slice **out)
{
	struct grove_slice *own = *out = calloc(nr + 1, sizeof(*own));
	size_t len = GROVE__JSON_PAD;

	for (size_t i = 0; i < nr; i++)
		len += lines[i].len + 1;
	if (!own || grove__buf_reserve(text, len))
		return GROVE_ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		own[i] = grove__slice(text->ptr + text->len, lines[i].len);
		grove__buf_add_slice(text, lines[i]);
		grove__buf_add_char(text, '\n');
	}
	memset(text->ptr + text->len, 0, GROVE__JSON_PAD);
	return 0;
}

const struct grove__dialect *grove__records_dialect(const struct grove_slice *lines, size_t nr)
{
	const struct grove__dialect *found = NULL;

	for (size_t i = 0; i < nr && !found; i++)
		found = grove__dialect_recognise(lines[i]);
	return found;
}
