/*
 * search/search_names.c: what names a session and its entries: title and labels.
 *
 * Packed labels, one after the other: row of the entry (32 bits), time (64 bits), the
 * entry's id, NUL, the label, NUL.
 */
#include "search/search_names.h"

#include "digest/read.h"

/* -------------------------------------------------------------------- labels */

static int pack(struct grove_buf *out, const struct grove__spine *s, const struct grove__label *l)
{
	int64_t time = grove__spine_time(s, l->set_by);
	const char *id = grove__spine_id(s, l->row);
	int rc = grove__buf_add(out, &l->row, sizeof(l->row));

	rc = rc ? rc : grove__buf_add(out, &time, sizeof(time));
	rc = rc ? rc : grove__buf_add(out, id ? id : "", id ? strlen(id) + 1 : 1);
	return rc ? rc : grove__buf_add(out, l->text, strlen(l->text) + 1);
}

int grove__search_labels(const struct grove__image *im, struct grove_buf *out)
{
	struct grove__labels *all = NULL;
	int rc = 0;

	if (!im->spine->nr_labels)
		return 0;
	all = grove__labels_new(im->spine);
	if (!all)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr && !rc; i++)
		if (all->label[i].row != GROVE_NO_ENTRY)
			rc = pack(out, im->spine, &all->label[i]);
	grove__labels_unref(all);
	return rc;
}

static bool take_text(struct grove_slice *s, const char **out)
{
	const char *end = s->len ? memchr(s->ptr, '\0', s->len) : NULL;

	*out = s->ptr;
	if (!end)
		return false;
	s->len -= (size_t)(end + 1 - s->ptr);
	s->ptr = end + 1;
	return true;
}

static bool take_label(struct grove_slice *s, struct grove__search_hit *h, const char **text)
{
	const size_t fixed = sizeof(h->row) + sizeof(h->time);

	if (s->len < fixed)
		return false;
	memcpy(&h->row, s->ptr, sizeof(h->row));
	memcpy(&h->time, s->ptr + sizeof(h->row), sizeof(h->time));
	s->ptr += fixed;
	s->len -= fixed;
	return take_text(s, &h->entry) && take_text(s, text);
}

/* ------------------------------------------------------------------ modified */

/* Lists go by the newest message of user or assistant, and by the time it states itself. */
static int newest_message(struct grove__image *im, struct grove_store_log *log, int64_t *out,
			  struct grove_detail *d)
{
	struct grove__summary sum = { .newest = GROVE_NO_TIME };
	struct grove__json_want want;
	struct grove__json_line l;
	struct grove__entry e;
	struct grove__arena tmp;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__spot at;
	uint32_t best = GROVE_NO_ENTRY;
	int rc = 0;

	for (uint32_t i = 0; i < im->spine->nr; i++) {
		enum grove_role role = grove__spine_role(im->spine, i);

		if (grove__spine_kind(im->spine, i) == GROVE_KIND_MESSAGE &&
		    (role == GROVE_ROLE_USER || role == GROVE_ROLE_ASSISTANT) &&
		    (best == GROVE_NO_ENTRY || grove__spine_time(im->spine, i) >= grove__spine_time(im->spine, best)))
			best = i;
	}
	*out = GROVE_NO_TIME;
	if (best == GROVE_NO_ENTRY)
		return 0;
	at = grove__image_spot(im, best);
	grove__arena_init(&tmp);
	grove__json_want_init(&want, im->dialect->read.members, im->dialect->read.nr_members);
	rc = grove__line_fetch(log, &at, &line, d);
	if (!rc)
		grove__line_join(line.ptr, line.len);
	if (!rc && grove__json_scan(&want, line.ptr, line.len, true, &l) == JSON_VALUE &&
	    im->dialect->read.index(&l, line.ptr, &tmp, &e) == LINE_ENTRY)
		rc = im->dialect->list.line(&l, line.ptr, &tmp, &e, &sum);
	if (!rc && sum.newest > 0)
		*out = sum.newest;
	grove__arena_release(&tmp);
	grove__buf_release(&line);
	grove__buf_release(&sum.first);
	grove__buf_release(&sum.name);
	return rc;
}

int grove__search_modified(struct grove__image *im, struct grove_store_log *log, int64_t *out,
			   struct grove_detail *d)
{
	struct grove_store_log_stat st;
	int rc = grove__log_stat(log, &st, d);

	*out = GROVE_NO_TIME;
	if (!rc && !im->dialect->list.modified_by_file)
		rc = newest_message(im, log, out, d);
	if (rc || *out != GROVE_NO_TIME)
		return rc;
	if (!im->dialect->list.modified_by_file && im->header.time_text)
		*out = im->header.time;
	if (*out == GROVE_NO_TIME)
		*out = grove__digest_file_time(im->dialect, st.mtime_ns);
	return 0;
}

/* -------------------------------------------------------------------- finding */

int grove__search_names_each(const struct grove__search_names *n, const struct grove__search_ask *ask,
			     const struct grove__search_hit *h, grove__search_name_fn *fn, void *payload)
{
	struct grove__search_hit own = *h;
	struct grove_slice rest = n->labels;
	const char *text;
	int rc = 0;

	if (!(ask->in >> SEARCH_NAMES & 1))
		return 0;
	own.class = SEARCH_NAMES;
	own.role = GROVE_ROLE_NONE;
	own.kind = GROVE_KIND_NAME;
	own.row = GROVE_NO_ENTRY;
	own.time = n->modified;
	own.entry = NULL;
	if (n->title && grove__search_wants(ask, SEARCH_NAMES, GROVE_ROLE_NONE, own.time))
		rc = fn(payload, &own, n->title);
	own.kind = GROVE_KIND_LABEL;
	while (!rc && rest.len) {
		if (!take_label(&rest, &own, &text))
			return GROVE_EDAMAGED;
		own.entry = *own.entry ? own.entry : NULL;
		/* labels of one log differ in their position */
		own.at.pos = (uint64_t)own.row + 1;
		if (grove__search_wants(ask, SEARCH_NAMES, GROVE_ROLE_NONE, own.time))
			rc = fn(payload, &own, text);
	}
	return rc;
}
