/*
 * keyed/ids.c: which lines a log has: how many, and their ids.
 *
 * To skip a line that is already there, its id is looked up in a map. Each handle builds
 * the map once, and then only adds what was appended by us (grove__keyed_ids_add()) or by
 * others (grove__keyed_ids_extend()). A database has the ids in a column, if the dialect
 * uses the same member as id; then only lines without one are read.
 *
 * A last line without LF may be half a line that its writer will finish. If it is a
 * complete value its id counts, but it is read again the next time.
 */
#include "keyed/keyed.h"

#include "base/array.h"
#include "json/value.h"
#include "sys/clock.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)1 << 20)

static struct grove_slice name_of(const void *owner, uint32_t value)
{
	const struct grove__keyed_ids *k = owner;

	return k->list[value];
}

void grove__keyed_ids_init(struct grove__keyed_ids *k)
{
	memset(k, 0, sizeof(*k));
	grove__idmap_init(&k->map, grove__sys_seed(), name_of, k);
	grove__arena_init(&k->texts);
}

void grove__keyed_ids_release(struct grove__keyed_ids *k)
{
	grove__idmap_release(&k->map);
	grove__arena_release(&k->texts);
	free(k->list);
	free(k->member);
}

int grove__keyed_ids_reset(struct grove__keyed_ids *k, const char *member)
{
	char *own = member ? strdup(member) : NULL;

	grove__keyed_ids_release(k);
	grove__keyed_ids_init(k);
	if (member && !own)
		return GROVE_ENOMEM;
	k->member = own;
	k->names[0] = (struct grove__json_member){ own, -1 };
	grove__json_want_init(&k->want, k->names, own ? 1 : 0);
	return 0;
}

int grove__keyed_ids_of(const struct grove__keyed_ids *k, struct grove_slice line,
			struct grove__arena *tmp, struct grove_slice *out)
{
	struct grove__json_line l;
	struct grove_buf text = GROVE_BUF_INIT;
	enum grove__json_verdict v;
	struct grove_slice raw;
	char *own;

	*out = grove__slice("", 0);
	v = k->member ? grove__json_scan(&k->want, line.ptr, line.len, true, &l) : JSON_BAD;
	if (v != JSON_VALUE)
		return v == JSON_NOMEM ? GROVE_ENOMEM : 0;
	raw = grove__json_span_of(&l, line.ptr, 0);
	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	if (!memchr(raw.ptr, '\\', raw.len)) {
		*out = grove__slice(raw.ptr + 1, raw.len - 2);
		return 0;
	}
	own = grove__json_text(&text, raw) ? NULL : grove__arena_dup(tmp, grove__buf_slice(&text));
	*out = grove__slice(own, text.len);
	grove__buf_release(&text);
	return own ? 0 : GROVE_ENOMEM;
}

bool grove__keyed_ids_has(const struct grove__keyed_ids *k, struct grove_slice id)
{
	return grove__idmap_get(&k->map, id) != GROVE__IDMAP_NONE;
}

int grove__keyed_ids_add(struct grove__keyed_ids *k, struct grove_slice id)
{
	uint32_t old;
	char *own;

	if (grove__keyed_ids_has(k, id))
		return 0;
	own = k->nr < GROVE__IDMAP_NONE ? grove__arena_dup(&k->texts, id) : NULL;
	if (!own || grove__array_room(&k->list, &k->cap, k->nr, sizeof(*k->list)))
		return GROVE_ENOMEM;
	k->list[k->nr] = grove__slice(own, id.len);
	if (grove__idmap_put(&k->map, k->list[k->nr], (uint32_t)k->nr, &old))
		return GROVE_ENOMEM;
	k->nr++;
	return 0;
}

/* ---------------------------------------------------------- what others wrote */

struct extending {
	struct grove__keyed_ids *k;
	struct grove__arena tmp;
	struct grove_buf line;           /* followed by padding for the scanner */
	struct grove_detail *d;
};

static int add_line(struct extending *e, struct grove_slice line)
{
	struct grove_slice id;
	int rc = grove__keyed_ids_of(e->k, line, &e->tmp, &id);

	if (!rc && id.len)
		rc = grove__keyed_ids_add(e->k, id);
	grove__arena_clear(&e->tmp);
	return rc ? grove__fail_nomem(e->d) : 0;
}

/* Takes an id from the store's own list. */
static int listed(void *payload, uint64_t pos, const struct grove_store_record *rec)
{
	struct extending *e = payload;

	(void)pos;
	if (rec->id.len)
		return grove__keyed_ids_add(e->k, rec->id) ? grove__fail_nomem(e->d) : 0;
	grove__buf_clear(&e->line);
	if (grove__buf_add_slice(&e->line, rec->line) || grove__buf_reserve(&e->line, GROVE__JSON_PAD))
		return grove__fail_nomem(e->d);
	memset(e->line.ptr + e->line.len, 0, GROVE__JSON_PAD);
	return add_line(e, grove__buf_slice(&e->line));
}

/* Takes the lines of a run. If the last one has no LF, `pos` stays before it. */
static int take_run(struct extending *e, const struct grove__runs *r)
{
	struct grove__keyed_ids *k = e->k;
	const char *end = r->buf + r->run.len, *lf;
	uint64_t line = 0;
	int rc = 0;

	for (const char *p = r->buf + r->mark; p < end && !rc; p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (k->member)
			rc = add_line(e, grove__slice(p, (size_t)((lf ? lf : end) - p)));
		if (!lf) {
			k->open = true;
			k->lines += line;
			k->pos = grove__runs_pos(r, (size_t)(p - r->buf), line);
			return rc;
		}
		line++;
	}
	k->lines += line;
	k->pos = r->run.next;
	return rc;
}

static int read_lines(struct extending *e, struct grove_store_log *log, uint64_t until)
{
	struct grove__runs r = { 0 };
	int rc = grove__runs_init(&r, RUN_BYTES) ? grove__fail_nomem(e->d) : 0;

	if (!rc)
		grove__runs_begin(&r, log, e->k->pos, until, e->d);
	e->k->open = false;
	while (!rc && (rc = grove__runs_next(&r)) <= 0) {
		/* such a long line cannot have been sent to us */
		if (rc == GROVE_ETOOBIG && grove__runs_skip(&r)) {
			e->k->lines++;
			e->k->pos = r.pos;
			rc = 0;
		} else if (!rc) {
			rc = take_run(e, &r);
		}
	}
	grove__runs_release(&r);
	return rc == 1 ? 0 : rc;
}

/* Returns true if the dialect's id is the one that is wanted, and the store has a list of them. */
static bool has_list(const struct grove__keyed_ids *k, const struct grove_store_log *log,
		     const struct grove__dialect *dialect)
{
	return k->member && dialect && !strcmp(dialect->read.id, k->member) &&
	       grove__log_has_ids(log);
}

int grove__keyed_ids_extend(struct grove__keyed_ids *k, struct grove_store_log *log,
			    const struct grove_store_log_stat *st,
			    const struct grove__dialect *dialect, struct grove_detail *d)
{
	struct extending e = { .k = k, .d = d };
	int rc;

	/* if only the base differs, a value was put */
	if (k->valid && k->tail == st->tail && k->generation == st->generation && !k->open) {
		k->base = st->base;
		return 0;
	}
	/* what was read may be gone */
	if (!k->valid || k->generation != st->generation || k->tail > st->tail) {
		char *member = k->member;

		k->member = NULL;
		rc = grove__keyed_ids_reset(k, member);
		free(member);
		if (rc)
			return grove__fail_nomem(d);
	}
	k->valid = false;
	grove__arena_init(&e.tmp);
	if (has_list(k, log, dialect)) {
		rc = grove__log_ids(log, k->pos, st->tail, listed, &e, d);
		k->pos = k->lines = st->tail;
	} else {
		rc = read_lines(&e, log, st->tail);
	}
	grove__arena_release(&e.tmp);
	grove__buf_release(&e.line);
	if (rc)
		return grove__keyed_ids_reset(k, NULL) ? grove__fail_nomem(d) : rc;
	k->valid = true;
	k->tail = st->tail;
	k->base = st->base;
	k->generation = st->generation;
	return 0;
}
