/*
 * transfer/carry_append.c: storing lines from another machine.
 *
 * Both sides may have gone on below the same entry:
 *
 *     here      a ─ b ─ c                          there     a ─ b ─ d
 *     after     a ─ b ─ c ─ (mark)                 after     a ─ b ─ d ─ (mark)
 *                    └─ d                                         └─ c
 *
 * To readers, the last line of a log is the leaf, so new lines would move it. It may only
 * move to an entry below it. Otherwise the same append also stores a line that keeps the
 * leaf where it was, so that it is never elsewhere, not even after a crash. That line is
 * about this log alone: it is not carried back (a program that compares two logs leaves out
 * GROVE_CARRY_LINE_LEAF without children), or the two sides would answer each other for
 * ever.
 *
 * The store compares the state of the log when it appends: if the log has grown, everything
 * is examined again.
 */
#include "transfer/carry.h"

#include "session/append_compose.h"
#include "session/leaf.h"
#include "sys/clock.h"

#include <stdlib.h>

#define TRIES 64

/* One line of a batch that is to be stored. */
struct taken {
	struct grove__carry_line l;
	bool node;                       /* part of the tree */
	bool below;                      /* the leaf is this, or above it */
};

struct taking {
	struct grove_carry *c;
	const struct grove_carry_append_options *opt;
	const struct grove_slice *lines;
	size_t nr;
	bool own;                        /* the session's own log */
	struct grove_session *s;         /* for reading; NULL if there is none yet */
	struct grove_buf text;           /* the lines, where they can be scanned */
	struct grove_slice *line;        /* there */
	struct grove__arena texts;
	struct taken *taken;
	size_t nr_taken;
	struct grove__idmap ids;         /* of those */
	struct grove_buf header;         /* with another directory */
	struct grove_buf pin;            /* the line that keeps the leaf; empty: none */
	struct grove_store_record *rec;
	uint32_t leaf;                   /* before */
	struct grove_carry_result *out;
	struct grove_detail *d;
};

static struct grove_slice id_of(const void *owner, uint32_t i)
{
	const struct taking *t = owner;

	return t->taken[i].l.as.rec.id;
}

/* ------------------------------------------------------------------- choose */

static int copy_lines(struct taking *t)
{
	for (size_t i = 0; i < t->nr; i++)
		if (memchr(t->lines[i].ptr, '\n', t->lines[i].len))
			return grove__fail(t->d, GROVE_EINVAL, NULL, "a line has a line end in it");
	t->taken = calloc(t->nr + 1, sizeof(*t->taken));
	t->rec = calloc(t->nr + 3, sizeof(*t->rec));
	if (!t->taken || !t->rec || grove__records_copy(t->lines, t->nr, &t->text, &t->line))
		return grove__fail_nomem(t->d);
	return 0;
}

/* The bytes without the white space around them. */
static struct grove_slice trimmed(struct grove_slice s)
{
	while (s.len && memchr(" \t\r", s.ptr[s.len - 1], 3))
		s.len--;
	while (s.len && memchr(" \t\r", *s.ptr, 3)) {
		s.ptr++;
		s.len--;
	}
	return s;
}

/* What the log has under the id of a line. */
enum found { FOUND_NOTHING, FOUND_SAME, FOUND_OTHER };

/* Returns one of these, or an error. */
static int find_known(struct taking *t, const struct grove__carry_line *l)
{
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_slice value;
	uint32_t at = grove__idmap_get(&t->ids, l->as.rec.id);
	const struct grove__spine *sp;
	int rc;

	if (at != GROVE__IDMAP_NONE)
		return grove__slice_eq(trimmed(t->taken[at].l.as.rec.line), trimmed(l->as.rec.line)) ? FOUND_SAME : FOUND_OTHER;
	if (!t->s)
		return FOUND_NOTHING;
	sp = t->s->image->spine;
	at = grove__spine_find(sp, sp->nr, l->as.rec.id);
	if (at == GROVE_NO_ENTRY)
		return FOUND_NOTHING;
	rc = grove__image_line(t->s->image, t->s->log, at, &line, &value, t->d);
	if (!rc)
		rc = grove__slice_eq(trimmed(value), trimmed(l->as.rec.line)) ? FOUND_SAME : FOUND_OTHER;
	grove__buf_release(&line);
	return rc;
}

/*
 * A log begins with the header of its session, in which the directory is changed to the local
 * one.
 */
static int take_header(struct taking *t, struct grove__carry_line *l)
{
	struct grove_carry *c = t->c;

	if (l->as.class == LINE_SLOT)
		return 0;
	if (t->own && (!l->as.h.usable || !l->as.h.id || strcmp(l->as.h.id, c->id)))
		return grove__fail(t->d, GROVE_EINVAL, NULL, "the header is not that of session %.100s", c->id);
	if (t->own && !c->cwd && l->as.h.cwd && *l->as.h.cwd == '/' && !(c->cwd = strdup(l->as.h.cwd)))
		return grove__fail_nomem(t->d);
	if (!c->cwd || (l->as.h.cwd && !strcmp(l->as.h.cwd, c->cwd)))
		return 0;
	if (c->at.dialect->write.move(l->as.rec.line, c->cwd, NULL, &t->header))
		return grove__fail_nomem(t->d);
	l->as.rec.line = grove__buf_slice(&t->header);
	return 0;
}

static int bad_line(struct taking *t, size_t i, const struct grove__carry_line *l)
{
	return grove__fail_at(t->d, GROVE_EJSON, NULL, i + 1, l->as.verdict == JSON_VALUE ? 0 : l->as.json.error_off,
			      "line %zu is not a JSON object", i + 1);
}

static int note_differing(struct taking *t, struct grove_slice id)
{
	char *name;
	int rc;

	t->out->differing++;
	if (!t->opt->differs)
		return 0;
	name = strndup(id.ptr, id.len);
	rc = name ? t->opt->differs(t->opt->payload, name) : grove__fail_nomem(t->d);
	free(name);
	return rc;
}

/* Adds a line to those that are stored. */
static int keep_line(struct taking *t, const struct grove__carry_line *l)
{
	uint32_t old;

	t->taken[t->nr_taken].l = *l;
	t->taken[t->nr_taken].node = l->kind == GROVE_CARRY_LINE_ENTRY || l->kind == GROVE_CARRY_LINE_LEAF;
	if (l->as.e.aside)
		t->taken[t->nr_taken].node = false;
	t->nr_taken++;
	if (l->as.rec.id.len && grove__idmap_put(&t->ids, l->as.rec.id, (uint32_t)(t->nr_taken - 1), &old))
		return grove__fail_nomem(t->d);
	return 0;
}

static int choose_one(struct taking *t, size_t i)
{
	struct grove__carry_line l;
	bool begun = t->s != NULL;
	int rc;

	if (grove__carry_classify(t->c, t->line[i], !begun && !t->nr_taken, &t->texts, &l))
		return grove__fail_nomem(t->d);
	if (l.kind == GROVE_CARRY_LINE_BLANK)
		return 0;
	if (l.kind == GROVE_CARRY_LINE_BAD)
		return bad_line(t, i, &l);
	if (l.kind == GROVE_CARRY_LINE_HEADER && begun)
		return 0;
	if (l.kind == GROVE_CARRY_LINE_HEADER) {
		rc = take_header(t, &l);
		return rc ? rc : keep_line(t, &l);
	}
	rc = l.as.rec.id.len ? find_known(t, &l) : FOUND_NOTHING;
	if (rc == FOUND_OTHER)
		return note_differing(t, l.as.rec.id);
	if (rc == FOUND_SAME)
		t->out->skipped++;
	return rc == FOUND_NOTHING ? keep_line(t, &l) : rc < 0 ? rc : 0;
}

/* A new log must have a header if its agent's logs have one. */
static int begins_well(struct taking *t)
{
	if (t->s || !t->nr_taken || !grove__dialect_has_header(t->c->at.dialect))
		return 0;
	for (size_t i = 0; i < t->nr_taken && i < 2; i++)
		if (t->taken[i].l.kind == GROVE_CARRY_LINE_HEADER && t->taken[i].l.as.class == LINE_HEADER)
			return 0;
	return grove__fail(t->d, GROVE_EINVAL, NULL, "a new log begins with its header");
}

static int choose_lines(struct taking *t)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr && !rc; i++)
		rc = choose_one(t, i);
	return rc ? rc : begins_well(t);
}

/* --------------------------------------------------------------------- leaf */

/* Returns true if the leaf is this row, or above it. */
static bool row_below(const struct taking *t, uint32_t row)
{
	const struct grove__spine *sp = t->s->image->spine;

	while (row != GROVE_NO_ENTRY && row != t->leaf)
		row = grove__spine_parent(sp, row);
	return row == t->leaf;
}

static bool is_below(const struct taking *t, const struct grove__carry_line *l)
{
	const struct grove__spine *sp = t->s->image->spine;
	uint32_t at;

	if (t->leaf == GROVE_NO_ENTRY)
		return true;
	if (!l->as.rec.parent.len)
		return false;
	at = grove__idmap_get(&t->ids, l->as.rec.parent);
	if (at != GROVE__IDMAP_NONE)
		return t->taken[at].below;
	at = grove__spine_find(sp, sp->nr, l->as.rec.parent);
	return at != GROVE_NO_ENTRY && row_below(t, at);
}

/*
 * Finds out whether the lines would move the leaf elsewhere, and how far it may follow them.
 * A leaf that the store keeps as a value (docs/internals/leaf.md) no longer applies after
 * them, and rules know nothing of it.
 */
static bool leads_away(struct taking *t, struct grove_slice *target)
{
	bool ruled = !grove__model_is_path(t->s->at.dialect), away = false, forgotten = t->s->leaf.in_store;

	for (size_t i = 0; i < t->nr_taken; i++) {
		struct taken *k = &t->taken[i];

		k->below = k->node && is_below(t, &k->l);
		if (k->below && k->l.kind == GROVE_CARRY_LINE_ENTRY)
			*target = k->l.as.rec.id;
		/* by rules any line may be the end, else the last one is */
		if (k->node) {
			away = !k->below || (ruled && away);
			forgotten = forgotten && ruled;
		} else if (k->l.as.e.says_leaf) {
			away = true;
		}
	}
	t->out->branched = away && t->leaf != GROVE_NO_ENTRY && !target->len;
	return (away || forgotten) && t->leaf != GROVE_NO_ENTRY;
}

/* Composes the line that makes every reader continue at `target`. */
static int compose_pin(struct taking *t, const char *target)
{
	const char *leaf = grove__spine_id(t->s->image->spine, t->leaf);
	struct grove__entry_spec spec = { .kind = GROVE_KIND_OTHER, .leaf = { target } };
	struct grove_append_options opt = { .size = sizeof(opt), .parent = leaf };
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_slice slice, line;
	struct grove__batch *b = NULL;
	int rc = grove__dialect_spell(t->c->at.dialect, &spec, &json, t->d);

	slice = grove__buf_slice(&json);
	if (!rc) {
		b = grove__append_batch_get(t->s, 1, grove__model_is_path(t->s->at.dialect) ? &opt : NULL, t->d);
		rc = b ? grove__append_compose(b, &slice, 1) : grove__fail_nomem(t->d);
	}
	if (!rc) {
		line = grove__buf_slice(&b->lines);
		/* the target may be one of the lines that come with it */
		if (grove__model_is_path(t->s->at.dialect) && strcmp(target, leaf))
			rc = t->c->at.dialect->write.relink(line, grove__slice_str(target), NULL, NULL, &t->pin);
		else
			rc = grove__buf_add_slice(&t->pin, line);
		rc = rc || grove__buf_reserve(&t->pin, GROVE__JSON_PAD) ? grove__fail_nomem(t->d) : 0;
	}
	if (!rc)
		memset(t->pin.ptr + t->pin.len, 0, GROVE__JSON_PAD);
	if (b)
		grove__append_batch_put(b);
	grove__buf_release(&json);
	return rc;
}

static int pin_leaf(struct taking *t)
{
	struct grove_slice target = { NULL, 0 };
	char *name;
	int rc;

	if (!t->s || !t->own)
		return 0;
	rc = grove__session_find_leaf(t->s, &t->leaf, t->d);
	if (rc)
		return rc;
	if (t->opt->flags & GROVE_CARRY_FOLLOW || !leads_away(t, &target))
		return 0;
	if (!target.len)
		target = grove__slice_str(grove__spine_id(t->s->image->spine, t->leaf));
	name = strndup(target.ptr, target.len);
	rc = name ? compose_pin(t, name) : grove__fail_nomem(t->d);
	free(name);
	return rc;
}

/* -------------------------------------------------------------------- store */

/* The directory that lines without a header name. */
static const char *told_cwd(struct taking *t)
{
	for (size_t i = 0; i < t->nr_taken && !t->c->cwd; i++) {
		struct grove_slice cwd = t->taken[i].l.as.e.cwd;

		if (cwd.len && *cwd.ptr == '/' && !memchr(cwd.ptr, 0, cwd.len))
			t->c->cwd = strndup(cwd.ptr, cwd.len);
	}
	return t->c->cwd;
}

/* Finds where a new session goes: to its directory's project, under its own name if it has one. */
static int find_place(struct taking *t)
{
	struct grove_carry *c = t->c;
	struct grove_buf cwd = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove__where at = { 0 };
	struct grove_key key;
	int64_t time = GROVE_NO_TIME;
	int rc = told_cwd(t) ? 0 : grove__fail(t->d, GROVE_EINVAL, NULL, "no line names the directory of the session");

	for (size_t i = 0; i < t->nr_taken && time == GROVE_NO_TIME; i++)
		time = t->taken[i].l.as.rec.time ? t->taken[i].l.as.rec.time : GROVE_NO_TIME;
	if (!rc && grove__world_resolve(c->g, c->cwd, &cwd))
		rc = grove__fail_nomem(t->d);
	if (!rc)
		rc = grove__session_place(c->g, c->at.dialect, cwd.ptr, NULL,
					  time == GROVE_NO_TIME ? grove__sys_now_ms() : time, c->id, &at, t->d);
	if (!rc && c->file) {
		free(at.session);
		at.session = strdup(c->file);
		key = (struct grove_key){ at.project, at.session ? at.session : "", "" };
		if (!at.session || grove__store_describe(at.store, &key, &path))
			rc = grove__fail_nomem(t->d);
		free(at.path);
		at.path = path.len ? path.ptr : NULL;
	}
	if (!rc) {
		grove__where_release(&c->at);
		c->at = at;
	} else {
		grove__where_release(&at);
	}
	grove__buf_release(&cwd);
	return rc;
}

/* Stores what a database knows about a new log apart from its lines. */
static int describe_log(struct taking *t, struct grove_store_log *log)
{
	grove__peek_mark_dialect(log, t->c->at.dialect);
	if (!t->own || !grove__dialect_cwd_in_entries(t->c->at.dialect) || t->c->at.path)
		return 0;
	return grove__log_meta_put(log, GROVE__META_CWD, grove__slice_str(t->c->cwd), t->d);
}

static int open_log(struct taking *t, struct grove_store_log **log)
{
	struct grove__where at = { 0 };
	struct grove_store_log_stat st;
	struct grove_key key;
	int rc = t->own && !t->c->there ? find_place(t) : 0;

	if (!rc)
		rc = grove__carry_where(t->c, t->opt->sub, &at, t->d);
	if (rc)
		return rc;
	key = grove__where_key(&at);
	rc = grove__log_open(log, at.store, &key, GROVE_STORE_WRITE, t->d);
	if (rc == GROVE_ENOTFOUND && !t->s)
		rc = grove__log_open(log, at.store, &key, GROVE_STORE_CREATE, t->d);
	/* somebody else began it */
	if (!rc && !t->s) {
		rc = grove__log_stat(*log, &st, t->d);
		if (!rc && st.tail) {
			t->c->there = true;
			rc = GROVE_EEXIST;
		}
	}
	grove__where_release(&at);
	return rc;
}

static size_t fill_records(struct taking *t, bool guard)
{
	size_t n = 0;

	/*
	 * ends a value that another writer never finished, which would otherwise swallow our
	 * lines
	 */
	if (guard)
		t->rec[n++] = (struct grove_store_record){ .line = { "]", 1 } };
	for (size_t i = 0; i < t->nr_taken; i++)
		t->rec[n++] = t->taken[i].l.as.rec;
	return n;
}

static int store_lines(struct taking *t)
{
	uint64_t expect = t->s ? t->s->image->tail : 0;
	struct grove_store_log *log = NULL;
	struct grove_store_appended done;
	struct grove__carry_line pin;
	bool guard = false;
	size_t n;
	int rc = 0;

	if (t->s && t->s->image->torn && grove__dialect_by_value(t->c->at.dialect))
		rc = grove__image_torn_swallows(t->s->image, t->s->log, &guard, t->d);
	if (!rc)
		rc = open_log(t, &log);
	n = fill_records(t, guard);
	if (!rc && t->pin.len) {
		rc = grove__carry_classify(t->c, grove__buf_slice(&t->pin), false, &t->texts, &pin)
			     ? grove__fail_nomem(t->d) : 0;
		t->rec[n++] = pin.as.rec;
	}
	if (!rc)
		rc = grove__log_append(log, t->rec, n, expect, t->opt->sync, &done, t->d);
	if (!rc && !t->s)
		rc = describe_log(t, log);
	grove__log_close(log);
	if (rc)
		return rc;
	t->c->there = true;
	t->out->stored = t->nr_taken;
	t->out->created = !t->s;
	return 0;
}

/* ----------------------------------------------------------------- together */

static int look_at_log(struct taking *t)
{
	struct grove_carry_state st = { .seq = 0 };
	int rc = grove__carry_reader(t->c, t->opt->sub, &t->s, t->d);

	if (rc == GROVE_ENOTFOUND && t->own ? t->c->flags & GROVE_CARRY_CREATE : rc == GROVE_ENOTFOUND && t->c->there)
		rc = 0;
	if (rc)
		return rc;
	if (t->s && grove__image_old(t->s->image))
		return grove__fail(t->d, GROVE_ENOTSUP, t->s->at.path,
				   "the log has an earlier version (migrate it first)");
	if (t->s && !t->c->id && !(t->c->id = strdup(t->s->id)))
		return grove__fail_nomem(t->d);
	if (t->s)
		grove__carry_state_of(t->s, &st);
	if (t->opt->flags & GROVE_CARRY_IF_SEQ && st.seq != t->opt->seq)
		return grove__fail(t->d, GROVE_ECONFLICT, t->s ? t->s->at.path : NULL,
				   "the log has %llu lines, not %llu", (unsigned long long)st.seq,
				   (unsigned long long)t->opt->seq);
	return 0;
}

static void start_try(struct taking *t)
{
	grove__arena_clear(&t->texts);
	grove__idmap_release(&t->ids);
	grove__idmap_init(&t->ids, grove__sys_seed(), id_of, t);
	grove__buf_clear(&t->header);
	grove__buf_clear(&t->pin);
	t->nr_taken = 0;
	t->s = NULL;
	t->leaf = GROVE_NO_ENTRY;
	*t->out = (struct grove_carry_result){ .size = sizeof(*t->out) };
}

/* The agent that the lines show; else that of most sessions. */
static int find_dialect(struct taking *t)
{
	const struct grove__dialect *found = t->c->g->forced;

	if (!found)
		found = grove__records_dialect(t->line, t->nr);
	return grove__carry_settle(t->c, found ? found : grove__dialect_defaults.session, t->d);
}

static int attempt(struct taking *t)
{
	int rc;

	start_try(t);
	rc = look_at_log(t);
	if (!rc)
		rc = choose_lines(t);
	if (rc || !t->nr_taken)
		return rc;
	rc = pin_leaf(t);
	return rc ? rc : store_lines(t);
}

static int tell_state(struct taking *t)
{
	struct grove_carry_state st = { .seq = 0 };
	uint32_t leaf;
	int rc = grove__carry_reader(t->c, t->opt->sub, &t->s, t->d);

	if (rc == GROVE_ENOTFOUND && !t->out->stored)
		return 0;
	if (rc)
		return rc;
	grove__carry_state_of(t->s, &st);
	t->out->seq = st.seq;
	t->out->generation = st.generation;
	if (!t->own)
		return 0;
	rc = grove__session_find_leaf(t->s, &leaf, t->d);
	if (!rc)
		t->out->leaf = leaf == GROVE_NO_ENTRY ? NULL : grove__spine_id(t->s->image->spine, leaf);
	return rc;
}

int grove__carry_append(struct grove_carry *c, const struct grove_slice *lines, size_t nr,
			const struct grove_carry_append_options *opt, struct grove_carry_result *out,
			struct grove_detail *d)
{
	struct taking t = {
		.c = c, .opt = opt, .lines = lines, .nr = nr, .out = out, .d = d,
		.own = !opt->sub || !*opt->sub,
	};
	int rc = 0, tries = 0;

	grove__arena_init(&t.texts);
	if (!(c->flags & GROVE_CARRY_WRITE))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "the session was opened for reading");
	if (!rc)
		rc = copy_lines(&t);
	if (!rc && !c->at.dialect)
		rc = find_dialect(&t);
	while (!rc) {
		rc = attempt(&t);
		/* a caller that compares gets the error; others look again */
		if (rc != GROVE_EEXIST && rc != GROVE_ESTALE &&
		    (rc != GROVE_ECONFLICT || opt->flags & GROVE_CARRY_IF_SEQ))
			break;
		grove__carry_forget(c, opt->sub);
		rc = ++tries < TRIES ? 0 : rc;
	}
	if (!rc)
		rc = tell_state(&t);
	grove__buf_release(&t.text);
	grove__buf_release(&t.header);
	grove__buf_release(&t.pin);
	grove__idmap_release(&t.ids);
	grove__arena_release(&t.texts);
	free(t.line);
	free(t.taken);
	free(t.rec);
	return rc;
}
