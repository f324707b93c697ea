/*
 * transfer/carry.c: a session that is carried between machines: opening it, what a line
 * is, what is stored.
 *
 * Lines are read as they are stored. How many there are is what the image of the log
 * says, so a line that is still being written is not carried before it is whole.
 */
#include "transfer/carry.h"

#include "image/range.h"
#include "session/leaf.h"

#include <stdlib.h>

#define NAME_MAX_BYTES 1000

/* ------------------------------------------------------------------ opening */

bool grove__carry_name_ok(const char *name)
{
	size_t n = strlen(name);
	bool begins = true;

	if (!n || n > NAME_MAX_BYTES)
		return false;
	for (const char *p = name; *p; p++) {
		/* an empty part, "..", and what begins with a dot: leases, values, notes */
		if (begins && (*p == '.' || *p == '/'))
			return false;
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\')
			return false;
		begins = *p == '/';
	}
	return !begins;
}

static int take_new(struct grove_carry *c, const struct grove_carry_options *opt,
		    struct grove_detail *d)
{
	const struct grove__dialect *dialect = opt->dialect ? grove__dialect_find(opt->dialect) : NULL;

	if (opt->dialect && !dialect)
		return grove__fail(d, GROVE_EINVAL, NULL, "no dialect named %.100s", opt->dialect);
	if (opt->cwd && *opt->cwd != '/')
		return grove__fail(d, GROVE_EINVAL, NULL, "the directory of a session must be an absolute path");
	c->id = strdup(opt->id ? opt->id : "");
	c->cwd = opt->cwd ? strdup(opt->cwd) : NULL;
	c->file = opt->file ? strdup(opt->file) : NULL;
	if (!c->id || (opt->cwd && !c->cwd) || (opt->file && !c->file))
		return grove__fail_nomem(d);
	return dialect ? grove__carry_settle(c, dialect, d) : 0;
}

/* Another name than the agent itself would give a log is not taken over. */
static bool is_file_name(const struct grove_carry *c, const char *file)
{
	struct grove_slice id;
	int64_t time;

	return grove__carry_name_ok(file) && !strchr(file, '/') &&
	       c->at.dialect->paths.parse_file_name(grove__slice_str(file), &time, &id) &&
	       grove__slice_is(id, c->id);
}

int grove__carry_settle(struct grove_carry *c, const struct grove__dialect *dialect, struct grove_detail *d)
{
	if (!dialect->names.session_id_ok(grove__slice_str(c->id)))
		return grove__fail(d, GROVE_EINVAL, NULL, "not the id of a session: %.100s", c->id);
	c->at.dialect = dialect;
	grove__json_want_init(&c->want, dialect->read.members, dialect->read.nr_members);
	if (c->file && !is_file_name(c, c->file)) {
		free(c->file);
		c->file = NULL;
	}
	return 0;
}

int grove__carry_open(struct grove *g, const char *what, const struct grove_carry_options *opt,
		      struct grove_carry *c, struct grove_detail *d)
{
	struct grove_session *s;
	int rc;

	c->g = grove__world_ref(g);
	c->flags = opt->flags & GROVE_CARRY_CREATE ? opt->flags | GROVE_CARRY_WRITE : opt->flags;
	grove__arena_init(&c->texts);
	if (!what && !(opt->flags & GROVE_CARRY_CREATE))
		return grove__fail(d, GROVE_EINVAL, NULL, "no session is named");
	rc = what ? grove__locate(g, what, &c->at, d) : take_new(c, opt, d);
	if (!rc && what)
		rc = grove__peek_where_dialect(g, &c->at, d);
	if (!rc && what && c->at.sub)
		rc = grove__fail(d, GROVE_ENOTSUP, NULL,
				 "the transcript of a sub-agent is carried with its session");
	c->there = !rc && what;
	if (!rc && what)
		grove__json_want_init(&c->want, c->at.dialect->read.members, c->at.dialect->read.nr_members);
	return rc || !what ? rc : grove__carry_reader(c, NULL, &s, d);
}

static void close_reader(struct grove_session **s)
{
	grove__session_unref(*s);
	*s = NULL;
}

void grove__carry_forget(struct grove_carry *c, const char *sub)
{
	if (!sub || !*sub) {
		close_reader(&c->own);
		return;
	}
	close_reader(&c->sub);
	free(c->sub_name);
	c->sub_name = NULL;
}

void grove__carry_release(struct grove_carry *c)
{
	close_reader(&c->own);
	close_reader(&c->sub);
	free(c->sub_name);
	grove__blobs_close(c->blobs);
	grove__where_release(&c->at);
	grove__arena_release(&c->texts);
	grove__buf_release(&c->line);
	free(c->id);
	free(c->cwd);
	free(c->file);
	grove__world_unref(c->g);
}

/* ------------------------------------------------------------------ reading */

int grove__carry_where(const struct grove_carry *c, const char *sub, struct grove__where *out,
		       struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_key key = { c->at.project, c->at.session, "" };
	int rc = grove__where_copy(out, &c->at);

	if (rc)
		return grove__fail_nomem(d);
	if (!sub || !*sub)
		return 0;
	rc = grove__buf_addf(&name, "%s.jsonl", sub);
	key.subpath = name.ptr;
	if (!rc)
		rc = grove__store_describe(out->store, &key, &path);
	if (rc) {
		grove__buf_release(&name);
		grove__buf_release(&path);
		grove__where_release(out);
		return grove__fail_nomem(d);
	}
	out->sub = name.ptr;
	free(out->path);
	out->path = path.len ? path.ptr : NULL;
	return 0;
}

/* An empty log is one that somebody is about to begin. */
static int is_empty(const struct grove__where *at, struct grove_detail *d)
{
	struct grove_key key = grove__where_key(at);
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, at->store, &key, GROVE_STORE_READ, d);

	if (rc)
		return rc;
	rc = grove__log_stat(log, &st, d);
	grove__log_close(log);
	return rc ? rc : st.tail ? 0 : grove__fail(d, GROVE_ENOTFOUND, at->path, "the log is empty");
}

static int open_reader(struct grove_carry *c, const char *sub, struct grove_session **out,
		       struct grove_detail *d)
{
	struct grove__where at = { 0 };
	int rc = grove__carry_where(c, sub, &at, d);

	if (rc)
		return rc;
	rc = is_empty(&at, d);
	if (!rc) {
		*out = grove__session_alloc(c->g);
		rc = *out ? grove__session_open(c->g, &at, GROVE_OPEN_READ, *out, d) : grove__fail_nomem(d);
	}
	if (rc)
		close_reader(out);
	grove__where_release(&at);
	return rc;
}

int grove__carry_reader(struct grove_carry *c, const char *sub, struct grove_session **out,
			struct grove_detail *d)
{
	bool own = !sub || !*sub;
	struct grove_session **s = own ? &c->own : &c->sub;
	int rc = 0;

	*out = NULL;
	if (!c->there)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "there is no such session yet");
	if (!own && !grove__carry_name_ok(sub))
		return grove__fail(d, GROVE_EINVAL, NULL, "not the name of a log: %.100s", sub);
	if (!own && (!c->sub_name || strcmp(c->sub_name, sub))) {
		grove__carry_forget(c, sub);
		c->sub_name = strdup(sub);
		if (!c->sub_name)
			return grove__fail_nomem(d);
	}
	if (*s)
		rc = grove__session_refresh(*s, d);
	/* gone, replaced, or not opened yet */
	if (!*s || rc < 0) {
		close_reader(s);
		rc = open_reader(c, sub, s, d);
	}
	*out = *s;
	return rc < 0 ? rc : 0;
}

void grove__carry_state_of(const struct grove_session *s, struct grove_carry_state *out)
{
	const struct grove__image *im = s->image;

	out->seq = im->by_line ? im->tail : im->lines;
	/* where changes are recorded, a base also counts values that were put */
	out->generation = grove__log_has_changes(s->log) ? im->generation : im->base;
}

int grove__carry_state(struct grove_carry *c, const char *sub, struct grove_carry_state *out,
		       struct grove_detail *d)
{
	struct grove_store_log_stat st;
	struct grove_session *s;
	int rc = grove__carry_reader(c, sub, &s, d);

	if (!rc)
		grove__carry_state_of(s, out);
	rc = rc ? rc : grove__time_stat(s->log, &st, d);
	out->modified = rc ? 0 : st.mtime_ms;
	return rc;
}

int grove__carry_set_modified(struct grove_carry *c, const char *sub, int64_t ms, struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove_key key = { c->at.project, c->at.session, "" };
	int rc = 0;

	if (ms < 0 || ms > INT64_MAX / 1000000)
		return grove__fail(d, GROVE_EINVAL, NULL, "not a time");
	if (!c->there)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "there is no such session yet");
	if (sub && *sub) {
		if (!grove__carry_name_ok(sub))
			return grove__fail(d, GROVE_EINVAL, NULL, "not the name of a log: %.100s", sub);
		rc = grove__buf_addf(&name, "%s.jsonl", sub) ? grove__fail_nomem(d) : 0;
		key.subpath = name.ptr;
	}
	rc = rc ? rc : grove__time_set(c->at.store, &key, ms * 1000000, d);
	grove__buf_release(&name);
	return rc;
}

/*
 * Where to begin reading: the position of the last entry on an earlier line. Its own
 * line is passed over, so it does not matter where in the line it begins.
 */
static uint64_t begin_at(const struct grove__image *im, struct grove__range *r)
{
	uint32_t lo;

	if (im->by_line) {
		r->line = r->from;
		return r->from;
	}
	lo = grove__spine_from_line(im->spine, im->spine->nr, r->from);
	if (!lo)
		return 0;
	r->line = grove__image_spot(im, lo - 1).line;
	return grove__image_spot(im, lo - 1).pos;
}

static int read_lines(struct grove_session *s, struct grove__range *r, struct grove_detail *d)
{
	const struct grove__image *im = s->image;
	uint64_t begin = begin_at(im, r);

	return grove__range_read(r, s->log, begin, im->by_line && r->to < im->tail ? r->to : im->tail, d);
}

int grove__carry_read(struct grove_carry *c, const char *sub, uint64_t from, uint64_t to,
		      struct grove_sink sink, struct grove_carry_state *out, struct grove_detail *d)
{
	struct grove__range r = { .from = from, .sink = sink };
	struct grove_carry_state now;
	struct grove_session *s;
	int rc = grove__carry_reader(c, sub, &s, d);

	if (rc)
		return rc;
	grove__carry_state_of(s, out);
	r.to = to && to < out->seq ? to : out->seq;
	if (r.from < r.to)
		rc = read_lines(s, &r, d);
	if (rc)
		return rc;
	/* were these lines all of one state of the log? */
	rc = grove__carry_state(c, sub, &now, d);
	if (!rc && (now.generation != out->generation || now.seq < out->seq))
		rc = grove__fail(d, GROVE_ESTALE, s->at.path, "the log was rewritten while it was being read");
	return rc;
}

int grove__carry_about(struct grove_carry *c, struct grove_carry_about *out, struct grove_detail *d)
{
	struct grove_session *s = NULL;
	uint32_t leaf;
	int rc = c->there ? grove__carry_reader(c, NULL, &s, d) : 0;

	if (rc)
		return rc;
	out->dialect = c->at.dialect ? c->at.dialect->name : NULL;
	out->id = c->id;
	out->cwd = c->cwd;
	out->file = c->file;
	out->there = c->there;
	if (!s)
		return 0;
	rc = grove__session_find_leaf(s, &leaf, d);
	if (rc)
		return rc;
	out->id = s->id;
	out->cwd = s->cwd;
	out->agent = s->at.agent;
	out->store = s->at.store->url;
	out->path = s->at.path;
	out->file = s->at.session;
	out->leaf = leaf == GROVE_NO_ENTRY ? NULL : grove__spine_id(s->image->spine, leaf);
	out->old = grove__image_old(s->image);
	return 0;
}

/* -------------------------------------------------------------------- lines */

static enum grove_carry_kind kind_of(const struct grove__record_read *r)
{
	if (r->verdict == JSON_BLANK)
		return GROVE_CARRY_LINE_BLANK;
	if (!r->whole)
		return GROVE_CARRY_LINE_BAD;
	if (r->class == LINE_HEADER || r->class == LINE_SLOT)
		return GROVE_CARRY_LINE_HEADER;
	if (r->class != LINE_ENTRY)
		return GROVE_CARRY_LINE_PLAIN;
	return r->e.leaf_mark || r->e.says_leaf ? GROVE_CARRY_LINE_LEAF
	       : r->e.has_id			? GROVE_CARRY_LINE_ENTRY
						: GROVE_CARRY_LINE_PLAIN;
}

int grove__carry_classify(const struct grove_carry *c, struct grove_slice line, bool first,
			  struct grove__arena *texts, struct grove__carry_line *out)
{
	int rc = grove__records_read(c->at.dialect, &c->want, line, first, texts, &out->as);

	out->kind = kind_of(&out->as);
	/* nothing in it is to be trusted */
	if (out->kind == GROVE_CARRY_LINE_BAD)
		out->as = (struct grove__record_read){ .verdict = out->as.verdict, .json = out->as.json,
						       .rec.line = line };
	return rc;
}
