/*
 * transfer/copy.c: copies a session to another store, byte for byte.
 *
 * Every physical line is copied, understood or not, and so is a missing newline. What
 * the dialect finds in a line goes into the record, for stores that have columns. Logs
 * of sub-agents and attachments have the same names; blobs become attachments as in an
 * archive, since a database has no other place for them, and are given back to the
 * agent if the target is its own directory.
 *
 * A copy that was interrupted is a prefix of its source:
 *
 *     target    source
 *     a b c     a b c      the same
 *     a b       a b c      c is appended
 *     a b       a bb c     b had no newline: it is removed, bb and c are appended
 *     a b c     a b        the copy was continued by itself: it stays
 *     a x       a b        another session: GROVE_ECONFLICT
 */
#include "transfer/copy.h"

#include "blob/blob.h"
#include "session/leaf.h"
#include "store/jsonl.h"
#include "sys/temp.h"
#include "transfer/stores.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define BLOBS "blobs/"
#define OLDER GROVE__NOTE_OLDER "/"

struct copier {
	struct grove__archiver k;
	struct grove__records records;
	bool go_on, restore;
	bool made;                       /* we create the session, as `aside` */
	struct grove__aside aside;
	struct grove__blobs *own;        /* the agent's, if the target is its own directory; NULL */
};

/* One log in both stores. */
struct twins {
	struct grove_store_log *src, *dst;
	struct grove_store_log_stat from, to;
	bool there;                      /* before we came */
};

/* If the target is the agent's own directory, the agent already has these. */
static bool keeps_blobs(const struct copier *c)
{
	return !c->own || c->k.blobs[1];
}

/* Appends `line` and all that follow it. */
static int append_rest(struct copier *c, struct grove_store_log *log, uint64_t tail,
		       struct grove__lines *r, struct grove_slice line)
{
	struct grove__archive_lines_to to = { .log = log, .tail = tail, .records = &c->records,
					      .blobs = keeps_blobs(c) };
	int rc;

	c->records.any = r->lines > 1;
	rc = grove__archive_append(&c->k, &to, r, line);
	c->k.out->lines += to.stored;
	return rc;
}

/*
 * Compares with what exists. Returns 0 with `line` the first one to append, or 1 if
 * there is none. *tail moves back if half a line has to be removed first.
 */
static int compare(struct copier *c, struct twins *t, struct grove__lines *src,
		   struct grove__lines *dst, struct grove_slice *line, uint64_t *tail)
{
	enum grove__compared how;
	int rc = grove__archive_compare(src, dst, false, &how, line);

	if (rc)
		return rc;
	switch (how) {
	case GROVE__COMPARED_SAME:
	case GROVE__COMPARED_SHORTER:
		return 1;
	case GROVE__COMPARED_GROWN:
		return 0;
	case GROVE__COMPARED_COMPLETED:
		*tail = dst->at;
		return grove__log_cut(t->dst, dst->at, t->to.tail, GROVE_SYNC_NONE, c->k.d);
	case GROVE__COMPARED_CHANGED:
		break;
	}
	return grove__fail_at(c->k.d, GROVE_ECONFLICT, NULL, src->lines, src->at,
			      "there is another session of this name, which differs from line %llu on",
			      (unsigned long long)src->lines);
}

/* Gives the last line a newline or not, as in the source. */
static int end_last_line(struct copier *c, struct twins *t, bool open)
{
	return grove__log_meta_put(t->dst, GROVE__META_UNFINISHED, grove__slice("1", open), c->k.d);
}

/* The session's own log; what else is copied follows it. */
static int open_aside(struct copier *c, const struct grove_key *key, struct twins *t)
{
	int rc = grove__aside_open(&c->aside, c->k.to, key, t->from.tail > 0, c->k.d);

	if (!rc)
		c->k.to_key = c->aside.key;
	t->dst = c->aside.log;
	return rc;
}

static int open_twins(struct copier *c, const char *sub, struct twins *t)
{
	struct grove_key key = c->k.from_key;
	int rc;

	key.subpath = sub;
	rc = grove__log_open(&t->src, c->k.from, &key, GROVE_STORE_READ, c->k.d);
	if (!rc)
		rc = grove__time_stat(t->src, &t->from, c->k.d);
	if (rc)
		return rc;
	key = c->k.to_key;
	key.subpath = sub;
	if (!*sub)
		rc = open_aside(c, &key, t);
	else
		rc = grove__log_open(&t->dst, c->k.to, &key, GROVE_STORE_CREATE, c->k.d);
	if (rc == GROVE_EEXIST && c->go_on) {
		t->there = true;
		rc = grove__log_open(&t->dst, c->k.to, &key, GROVE_STORE_WRITE, c->k.d);
	}
	return rc ? rc : grove__log_stat(t->dst, &t->to, c->k.d);
}

static int copy_lines(struct copier *c, struct twins *t)
{
	struct grove__lines src, dst = { 0 };
	struct grove_slice line = { NULL, 0 };
	uint64_t tail = t->to.tail;
	int rc = grove__archive_lines(&c->k, &src, t->src, t->from.tail);

	if (!rc && t->there) {
		rc = grove__archive_lines(&c->k, &dst, t->dst, t->to.tail);
		if (!rc)
			rc = compare(c, t, &src, &dst, &line, &tail);
	} else if (!rc) {
		rc = grove__lines_next(&src, &line);
	}
	if (rc == 1) {
		/* an empty log is kept only if that is stated */
		bool say = t->there ? dst.lines == src.lines && dst.open && !src.open : true;

		rc = say ? end_last_line(c, t, false) : 0;
	} else if (!rc) {
		rc = append_rest(c, t->dst, tail, &src, line);
		if (!rc && src.open)
			rc = end_last_line(c, t, true);
	}
	grove__lines_release(&src);
	grove__lines_release(&dst);
	return rc;
}

/*
 * Finds the existing blobs: those of the target, and those that are attached to the
 * source and will be copied with it.
 */
static int look_for_blobs(struct copier *c)
{
	struct grove__archiver *k = &c->k;
	struct grove_store *to = k->to;
	struct grove_key key = k->to_key;
	int rc;

	k->to = k->from;
	k->to_key = k->from_key;
	rc = grove__archive_look(k);
	k->to = to;
	k->to_key = key;
	return rc ? rc : grove__archive_look(k);
}

static int copy_log(struct copier *c, const char *sub)
{
	struct twins t = { 0 };
	uint64_t before = c->k.out->lines;
	int rc = open_twins(c, sub, &t);

	if (!rc && !*sub) {
		c->made = !t.there;
		if (c->made && grove__store_traits(c->k.to).values)
			grove__peek_mark_dialect(t.dst, c->k.dialect);
		rc = look_for_blobs(c);
	}
	if (!rc)
		rc = copy_lines(c, &t);
	if (!rc && !*sub)
		rc = grove__kept_copy(t.src, t.dst, c->k.d);
	if (!rc && !t.there)
		rc = grove__kept_copy_key(t.src, t.dst, c->k.d);
	if (!rc)
		rc = grove__log_sync(t.dst, c->k.d);
	grove__log_close(t.src);
	/* kept open: this shows others that it is being made */
	if (t.dst != c->aside.log)
		grove__log_close(t.dst);
	/* a restored session would be deleted at once if it had its old time */
	if (!rc && !c->restore && (!t.there || c->k.out->lines != before))
		rc = grove__archive_time(&c->k, sub, t.from.mtime_ns);
	return rc;
}

/* --- what belongs to it --- */

/* Puts a blob that was an attachment where the agent looks for it. */
static int give_back(struct copier *c, struct grove_slice bytes)
{
	char hash[GROVE__BLOB_HASH];
	bool known = false;
	int rc = grove__beside_note_blobs(c->own, c->k.to, c->k.d);

	if (!rc)
		rc = grove__blob_put(c->own, bytes, GROVE_SYNC_ALWAYS, 0, hash, &known, c->k.d);

	c->k.out->files += !rc && !known;
	return rc;
}

/* If it exists with other bytes, it is unknown which is newer. */
static int copy_attached(struct copier *c, const char *name)
{
	struct grove_buf bytes = GROVE_BUF_INIT, have = GROVE_BUF_INIT;
	struct grove_slice s;
	int rc = grove__store_attach_get(c->k.from, &c->k.from_key, name, &bytes, c->k.d);

	if (rc) {
		grove__buf_release(&bytes);
		/* already gone: somebody else cleans up */
		return rc == GROVE_ENOTFOUND ? 0 : rc;
	}
	s = grove__buf_slice(&bytes);
	rc = keeps_blobs(c) ? grove__archive_blobs(&c->k, s) : 0;
	if (!rc && c->own && !strncmp(name, BLOBS, sizeof(BLOBS) - 1) &&
	    grove__blob_hash_ok(grove__slice_str(name + sizeof(BLOBS) - 1))) {
		rc = give_back(c, s);
	} else if (!rc) {
		rc = grove__store_attach_get(c->k.to, &c->k.to_key, name, &have, c->k.d);
		if (rc == GROVE_ENOTFOUND) {
			rc = grove__store_attach_put(c->k.to, &c->k.to_key, name, s, c->k.d);
			c->k.out->files += !rc;
		} else if (!rc && !grove__slice_eq(s, grove__buf_slice(&have))) {
			rc = grove__fail(c->k.d, GROVE_ECONFLICT, NULL,
					 "there is already an attachment %.200s with different contents", name);
		}
	}
	grove__buf_release(&bytes);
	grove__buf_release(&have);
	return rc;
}

/* Where a restored file goes if the agent does not store it with the session. */
struct apart {
	struct copier *c;
	const char *name;
	bool done;
};

/* The file appears complete and durable, or not at all. An existing one stays as it is. */
static int write_file(const char *path, struct grove_slice bytes, struct grove_detail *d)
{
	struct grove_buf dir = GROVE_BUF_INIT, temp = GROVE_BUF_INIT;
	int fd, err = grove__buf_add(&dir, path, (size_t)(strrchr(path, '/') - path))
			      ? -ENOMEM
			      : grove__sys_mkdirs(dir.ptr, 0700);

	if (!err)
		err = grove__sys_temp_open(path, O_WRONLY, &temp, &fd);
	if (!err) {
		err = grove__sys_write_all(fd, bytes.ptr, bytes.len);
		err = err ? err : grove__sys_sync(fd);
		err = err ? err : grove__sys_rename_new(temp.ptr, path);
		if (err)
			grove__sys_unlink(temp.ptr);
		grove__sys_close(fd);
	}
	grove__buf_release(&dir);
	grove__buf_release(&temp);
	return err && err != -EEXIST ? grove__fail_sys(d, err, path, "cannot restore") : 0;
}

static int write_apart(void *payload, const char *dir, const char *prefix)
{
	struct apart *a = payload;
	struct grove__archiver *k = &a->c->k;
	struct grove_buf bytes = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	size_t n = strlen(prefix);
	int rc;

	if (a->done || strncmp(a->name, prefix, n) || a->name[n] != '/')
		return 0;
	a->done = true;
	rc = grove__buf_addf(&path, "%s%s", dir, a->name + n) ? grove__fail_nomem(k->d) : 0;
	rc = rc ? rc : grove__store_attach_get(k->from, &k->from_key, a->name, &bytes, k->d);
	rc = rc ? rc : write_file(path.ptr, grove__buf_slice(&bytes), k->d);
	k->out->files += !rc;
	grove__buf_release(&path);
	grove__buf_release(&bytes);
	return rc;
}

/* Returns 1 if it belongs next to the session, as in the archive. */
static int put_apart(struct copier *c, const char *name)
{
	struct apart a = { .c = c, .name = name };
	struct grove_slice session = grove__slice_str(c->aside.to.session);
	char *id;
	int rc;

	if (!c->k.dialect->paths.apart)
		return 1;
	grove__slice_cut_end(&session, ".jsonl");
	id = strndup(session.ptr, session.len);
	if (!id)
		return grove__fail_nomem(c->k.d);
	rc = c->k.dialect->paths.apart(&c->k.g->env, NULL, id, write_apart, &a);
	free(id);
	return rc ? rc : !a.done;
}

static int copy_one(void *payload, const char *name, uint64_t size, bool log)
{
	struct copier *c = payload;
	int rc;

	(void)size;
	/* the notes of an archive are about that archive */
	if (!strcmp(name, GROVE__NOTE_NAME) || (c->restore && !strncmp(name, OLDER, sizeof(OLDER) - 1)))
		return 0;
	if (c->restore && !log) {
		rc = put_apart(c, name);
		if (rc <= 0)
			return rc;
	}
	rc = log ? copy_log(c, name) : copy_attached(c, name);
	return rc ? rc : grove__archive_go_on(&c->k);
}

static int copy_beside(struct copier *c)
{
	return grove__beside_list(c->k.from, &c->k.from_key, copy_one, c, c->k.d);
}

/* DIR/sessions of an agent has its blobs in DIR/blobs. */
static int find_own_blobs(struct copier *c)
{
	struct grove_buf agent = GROVE_BUF_INIT, dir = GROVE_BUF_INIT, beside = GROVE_BUF_INIT;
	struct grove *g = c->k.g;
	int rc = 0;

	if (!c->k.blobs[0] || !grove__store_traits(c->k.to).paths)
		return 0;
	if (c->k.dialect->blobs->dir(&g->env, &dir) || grove__world_resolve(g, dir.ptr, &agent) ||
	    grove__buf_addf(&beside, "%s/../blobs", grove__store_dir(c->k.to->url)))
		rc = grove__fail_nomem(c->k.d);
	grove__buf_clear(&dir);
	if (!rc && grove__world_resolve(g, beside.ptr, &dir))
		rc = grove__fail_nomem(c->k.d);
	if (!rc && !strcmp(agent.ptr, dir.ptr))
		c->own = c->k.blobs[0];
	grove__buf_release(&agent);
	grove__buf_release(&dir);
	grove__buf_release(&beside);
	return rc;
}

int grove__copy_session(const struct grove__copy_job *in, struct grove_archived *out,
			struct grove_detail *d)
{
	struct copier *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return grove__fail_nomem(d);
	c->k = (struct grove__archiver){
		.g = in->g, .dialect = in->dialect, .root_dir = in->root_dir, .from = in->from,
		.to = in->to, .from_key = in->key, .to_key = in->key, .out = out, .d = d,
		.done = in->done, .total = in->total,
	};
	c->go_on = in->go_on;
	c->restore = in->restore;
	if (in->to_project)
		c->k.to_key.project = in->to_project;
	if (in->to_session)
		c->k.to_key.session = in->to_session;
	grove__records_init(&c->records, in->dialect);
	rc = grove__archive_open_blobs(&c->k);
	if (!rc)
		rc = find_own_blobs(c);
	if (!rc)
		rc = copy_log(c, "");
	if (!rc)
		rc = copy_beside(c);
	if (!rc && c->made)
		rc = grove__aside_name(&c->aside, d);
	if (c->made && !rc)
		grove__log_close(c->aside.log);
	grove__aside_end(&c->aside, !rc);
	out->state = rc	       ? GROVE_ARCHIVE_FAILED
		     : c->made ? GROVE_ARCHIVE_NEW
		     : out->lines || out->files ? GROVE_ARCHIVE_GROWN
						: GROVE_ARCHIVE_UNCHANGED;
	grove__records_release(&c->records);
	grove__archive_release(&c->k);
	free(c);
	return rc;
}

/* --- one session --- */

/* Gets the session's id from its header, or else its name. */
static int name_it(const struct grove__where *at, struct grove_buf *id, struct grove_detail *d)
{
	struct grove_key key = { at->project, at->session, "" };
	struct grove_slice name = grove__slice_str(at->session), part;
	struct grove__header h = { 0 };
	struct grove__arena keep;
	struct grove_store_log *log;
	int64_t time;
	int rc = grove__log_open(&log, at->store, &key, GROVE_STORE_READ, d);

	if (rc)
		return rc;
	grove__arena_init(&keep);
	rc = grove__peek_header(log, at->dialect, &keep, &h, d);
	if (!rc && h.usable && h.id && *h.id)
		name = grove__slice_str(h.id);
	else if (at->dialect->paths.parse_file_name(name, &time, &part))
		name = part;
	else
		grove__slice_cut_end(&name, ".jsonl");
	/* a session that cannot be read can still be copied */
	rc = grove__buf_add_slice(id, name) ? grove__fail_nomem(d) : 0;
	grove__log_close(log);
	grove__arena_release(&keep);
	return rc;
}

int grove__copy(struct grove *g, const char *what, const char *url, struct grove_buf *id,
		struct grove_buf *path, struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT, name = GROVE_BUF_INIT;
	struct grove_store *to = NULL;
	struct grove__where at = { 0 };
	struct grove_archived out = { 0 };
	const struct grove__root *root;
	struct grove__copy_job in;
	int rc = grove__stores_lasts(url, d);

	if (!rc)
		rc = grove__world_store_url(g, url, &full) ? grove__fail_nomem(d)
							   : grove__world_store(g, full.ptr, &to, d);
	if (!rc)
		rc = grove__locate(g, what, &at, d);
	if (!rc)
		rc = grove__peek_where_dialect(g, &at, d);
	if (!rc && at.sub)
		rc = grove__fail(d, GROVE_ENOTSUP, NULL, "the transcript of a sub-agent is copied with its session");
	if (!rc)
		rc = name_it(&at, id, d);
	if (!rc) {
		root = grove__root_with(g, at.store);
		in = (struct grove__copy_job){
			.g = g, .dialect = at.dialect, .root_dir = root ? root->dir : NULL,
			.from = at.store, .to = to, .key = { at.project, at.session, "" },
		};
		/* in files, only such a name is a session's */
		if (grove__store_traits(to).paths && !grove__jsonl_has_suffix(at.session))
			rc = grove__buf_addf(&name, "%s.jsonl", at.session) ? grove__fail_nomem(d) : 0;
		in.to_session = name.ptr;
	}
	if (!rc)
		rc = grove__copy_session(&in, &out, d);
	if (!rc && name.len)
		in.key.session = name.ptr;
	if (!rc && grove__store_describe(to, &in.key, path))
		rc = grove__fail_nomem(d);
	if (!rc && out.missing && g->warn) {
		struct grove_detail why;

		grove__fail_clear(&why);
		grove__fail(&why, GROVE_ENOTFOUND, at.path, "%llu blob%s missing",
			    (unsigned long long)out.missing, out.missing == 1 ? " is" : "s are");
		g->warn(g->warn_payload, 0, &why);
	}
	grove__where_release(&at);
	grove__store_close(to);
	grove__buf_release(&full);
	grove__buf_release(&name);
	return rc;
}
