/*
 * image/records.c: lines as records, with what the dialect finds in them.
 *
 * Stores with columns get id, parent, kind, role and time of each line. The line is
 * authoritative, so what is unknown is left out.
 */
#include "image/lines.h"

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

int grove__records_fill(struct grove__records *r, struct grove_slice line,
			struct grove_store_record *out)
{
	struct grove__json_line l;
	struct grove__header h;
	struct grove__entry e;
	size_t mark = !r->any && grove__runs_marked(line.ptr, line.len) ? 3 : 0;
	const char *p = line.ptr + mark;
	enum grove__line_class class;
	bool first = !r->any;

	*out = (struct grove_store_record){ .line = line };
	switch (grove__json_scan(&r->want, p, line.len - mark, true, &l)) {
	case JSON_VALUE:
		break;
	case JSON_NOMEM:
		return GROVE_ENOMEM;
	default:
		return 0;
	}
	r->any = true;
	class = r->dialect->read.index(&l, p, &r->tmp, &e);
	if (r->tmp.failed)
		return GROVE_ENOMEM;
	switch (class) {
	case LINE_HEADER:
		r->dialect->header->read(&l, p, &r->tmp, &h);
		if (r->tmp.failed)
			return GROVE_ENOMEM;
		out->kind = GROVE_KIND_HEADER;
		out->time = time_or_none(h.time);
		return 0;
	case LINE_SLOT:
		if (first)
			return 0;
		break;
	case LINE_ENTRY:
		break;
	default:
		return 0;
	}
	out->kind = e.kind;
	out->role = e.role;
	out->time = time_or_none(e.time);
	if (e.has_id)
		out->id = e.id;
	if (e.parent_is == PARENT_NAMED)
		out->parent = e.parent;
	return 0;
}
