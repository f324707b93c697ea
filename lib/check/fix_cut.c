/*
 * check/fix_cut.c: saves what a repair removes, next to the session.
 *
 * It goes to a file SESSION.jsonl.cut-20260102T030405678 of lines; in a database, to an
 * attachment with that suffix. The first line says what it is. Then come two lines for
 * each change: where it is, and the bytes that were there, unchanged:
 *
 *	{"line":3,"offset":245,"length":9,"at":245,"put":0,"kind":"malformed","lf":true}
 *	{"type":"
 *
 * `length` bytes at `offset` of the old log, and with `lf` the newline after them, were
 * replaced by the `put` bytes at `at` of the new one. Putting them back, last one
 * first, restores the old log byte for byte.
 */
#include "check/fix.h"

#include "base/array.h"
#include "js/js.h"
#include "json/out.h"
#include "sys/clock.h"

#include <stdlib.h>

#define BATCH ((size_t)1 << 20)

struct keeping {
	struct grove_store_log *log; /* NULL: it becomes an attachment */
	struct grove_buf out;      /* of lines, each with its end */
	struct grove_detail *d;
};

/* "20260102T030405678" */
static void stamp(int64_t ms, char out[24])
{
	char iso[GROVE__JS_ISO_MAX];
	size_t n = grove__js_iso(iso, ms), to = 0;

	for (size_t i = 0; i < n && to < 23; i++)
		if ((iso[i] >= '0' && iso[i] <= '9') || iso[i] == 'T')
			out[to++] = iso[i];
	out[to] = '\0';
}

/* Passes on the lines so far. */
static int flush(struct keeping *k, enum grove_sync sync)
{
	const char *at = k->out.ptr, *end = at + k->out.len, *lf;
	struct grove_store_appended done;
	struct grove_store_record *rec = NULL;
	size_t nr = 0, cap = 0;
	int rc = 0;

	if (!k->log || !k->out.len)
		return 0;
	for (; !rc && at < end; at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(end - at));
		if (grove__array_room(&rec, &cap, nr, sizeof(*rec)))
			rc = grove__fail_nomem(k->d);
		else
			rec[nr++] = (struct grove_store_record){ .line = grove__slice(
									 at, (size_t)(lf - at)) };
	}
	if (!rc)
		rc = grove__log_append(k->log, rec, nr, GROVE_ANY_POS, sync, &done, k->d);
	grove__buf_clear(&k->out);
	free(rec);
	return rc;
}

static int add_piece(struct keeping *k, const struct grove__mended *m, const struct grove__piece *x)
{
	struct grove__out o;

	grove__out_init_buf(&o, &k->out);
	grove__out_open(&o, NULL, '{');
	grove__out_number(&o, "line", m->line + 1);
	grove__out_number(&o, "offset", m->old_at + x->off);
	grove__out_number(&o, "length", x->len);
	grove__out_number(&o, "at", m->new_at + x->at);
	grove__out_number(&o, "put", x->put);
	grove__out_string(&o, "kind", grove__check_problem_kind(x->why));
	if (x->lf)
		grove__out_bool(&o, "lf", true);
	grove__out_close(&o, '}');
	grove__out_str(&o, "\n");
	grove__out_bytes(&o, m->old.ptr + x->off, x->len);
	grove__out_str(&o, "\n");
	if (grove__out_finish(&o))
		return grove__fail_nomem(k->d);
	return k->out.len < BATCH ? 0 : flush(k, GROVE_SYNC_NONE);
}

static int begin_note(struct keeping *k, const struct grove__plan *p, int64_t now)
{
	struct grove__out o;

	grove__out_init_buf(&o, &k->out);
	grove__out_open(&o, NULL, '{');
	grove__out_number(&o, "cut", 1);
	grove__out_string(&o, "session", p->at->session);
	grove__out_time(&o, "time", now);
	grove__out_close(&o, '}');
	grove__out_str(&o, "\n");
	return grove__out_finish(&o) ? grove__fail_nomem(k->d) : 0;
}

static int keep_all(struct keeping *k, const struct grove__plan *p, struct grove_store_log *log)
{
	struct grove__mended m;
	int rc = grove__fix_mended_init(&m, p, log, k->d);

	while (!rc && !(rc = grove__fix_mended_next(&m)))
		for (size_t i = 0; i < m.nr_pieces && !rc; i++)
			rc = add_piece(k, &m, &m.pieces[i]);
	grove__fix_mended_release(&m);
	return rc == 1 ? flush(k, GROVE_SYNC_ALWAYS) : rc;
}

/* Finds out whether anything is removed, or things are only added. */
static int takes_out(const struct grove__plan *p, struct grove_store_log *log,
		     struct grove_detail *d)
{
	struct grove__mended m;
	int rc = grove__fix_mended_init(&m, p, log, d);
	bool some = false;

	while (!rc && !some && !(rc = grove__fix_mended_next(&m)))
		for (size_t i = 0; i < m.nr_pieces; i++)
			some |= m.pieces[i].len || m.pieces[i].lf;
	grove__fix_mended_release(&m);
	return rc < 0 ? rc : some;
}

/* A file store has paths for its sessions, so there is a place next to them. */
static bool in_files(const struct grove__where *at)
{
	return at->path && at->path[0] == '/';
}

static int open_beside(struct keeping *k, const struct grove__plan *p, struct grove_key *key,
		       struct grove_buf *name, int64_t *now)
{
	char when[24];
	int rc = GROVE_EEXIST;

	for (int tries = 0; tries < 100 && rc == GROVE_EEXIST; tries++) {
		*now += tries > 0;
		stamp(*now, when);
		grove__buf_clear(name);
		if (grove__buf_addf(name, "%s.cut-%s", p->at->session, when))
			return grove__fail_nomem(k->d);
		*key = (struct grove_key){ p->at->project, name->ptr, "" };
		rc = grove__log_open(&k->log, p->at->store, key, GROVE_STORE_CREATE, k->d);
	}
	return rc;
}

static int attach(struct keeping *k, const struct grove__plan *p, struct grove_buf *name, int64_t now)
{
	struct grove_key key = { p->at->project, p->at->session, "" };
	char when[24];

	stamp(now, when);
	if (grove__buf_addf(name, "cut-%s", when))
		return grove__fail_nomem(k->d);
	return grove__store_attach_put(p->at->store, &key, name->ptr, grove__buf_slice(&k->out), k->d);
}

int grove__fix_keep(const struct grove__plan *p, struct grove_store_log *log, struct grove_buf *out,
		    struct grove_key *key, struct grove_buf *name, struct grove_detail *d)
{
	struct keeping k = { .d = d };
	int64_t now = grove__sys_now_ms();
	int rc = takes_out(p, log, d);

	if (rc <= 0)
		return rc ? rc : 1;
	rc = in_files(p->at) ? open_beside(&k, p, key, name, &now) : 0;
	if (!rc)
		rc = begin_note(&k, p, now);
	if (!rc)
		rc = keep_all(&k, p, log);
	if (!rc && !k.log)
		rc = attach(&k, p, name, now);
	if (!rc && k.log)
		rc = grove__store_describe(p->at->store, key, out) ? grove__fail_nomem(d) : 0;
	else if (!rc && grove__buf_add_slice(out, grove__buf_slice(name)))
		rc = grove__fail_nomem(d);
	grove__log_close(k.log);
	if (rc && k.log)
		grove__store_remove(p->at->store, key, NULL);
	grove__buf_release(&k.out);
	return rc;
}
