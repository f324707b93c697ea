/*
 * transfer/blob_refs.c: finds the blobs that sessions refer to.
 *
 * The answer decides what may be deleted, so we search bytes, not meaning: 64
 * lower-case hex digits are a name wherever they occur, in whatever file, with
 * `blob:sha256:` before them or as part of a path, in a line that no reader
 * understands, in an unknown dialect. If a digit may be written as an escape, the bytes
 * are searched again with the escapes decoded. Finding too much only costs some disk
 * space.
 *
 * It is also fast. Any 64 consecutive digits cover every 64th byte, so only every 64th
 * byte has to be examined until one is a digit.
 */
#include "transfer/blobs.h"

#include "base/array.h"
#include "store/jsonl.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define DIGITS 64
#define CHUNK ((size_t)1 << 20)
#define DEPTH_MAX 64

/* -------------------------------------------------------------- the hashes */

/* Returns the value of a hexadecimal digit, or -1. */
static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_hash(uint8_t hash[32], const char *digits)
{
	for (size_t i = 0; i < 32; i++)
		hash[i] = (uint8_t)(nibble(digits[2 * i]) << 4 | nibble(digits[2 * i + 1]));
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

void grove__blob_refs_init(struct grove__blob_refs *r)
{
	memset(r, 0, sizeof(*r));
}

void grove__blob_refs_release(struct grove__blob_refs *r)
{
	free(r->at);
	grove__buf_release(&r->plain);
	grove__blob_refs_init(r);
}

int grove__blob_refs_add(struct grove__blob_refs *r, const char *hash)
{
	struct grove__blobref *ref;
	unsigned head;

	if (grove__array_room(&r->at, &r->cap, r->nr, sizeof(*r->at)))
		return GROVE_ENOMEM;
	ref = &r->at[r->nr++];
	read_hash(ref->hash, hash);
	ref->named = false;
	head = (unsigned)ref->hash[0] << 8 | ref->hash[1];
	r->heads[head / 64] |= (uint64_t)1 << head % 64;
	return 0;
}

void grove__blob_refs_ready(struct grove__blob_refs *r)
{
	size_t nr = 0;

	if (r->nr)
		qsort(r->at, r->nr, sizeof(*r->at), compare);
	for (size_t i = 0; i < r->nr; i++)
		if (!i || compare(&r->at[i], &r->at[nr - 1]))
			r->at[nr++] = r->at[i];
	r->nr = nr;
	r->ready = true;
}

static struct grove__blobref *find(const struct grove__blob_refs *r, const uint8_t hash[32])
{
	return r->nr ? bsearch(hash, r->at, r->nr, sizeof(*r->at), compare) : NULL;
}

bool grove__blob_refs_named(const struct grove__blob_refs *r, const char *hash)
{
	const struct grove__blobref *ref;
	uint8_t key[32];

	read_hash(key, hash);
	ref = find(r, key);
	return ref && ref->named;
}

/* ------------------------------------------------------------------- bytes */

/* 64 digits: marks it if it is one of ours. Most are not, which the first four show. */
static void look_up(struct grove__blob_refs *r, const char *digits)
{
	unsigned head = 0;
	struct grove__blobref *ref;
	uint8_t key[32];

	for (unsigned i = 0; i < 4; i++)
		head = head << 4 | (unsigned)nibble(digits[i]);
	if (!(r->heads[head / 64] >> head % 64 & 1))
		return;
	read_hash(key, digits);
	ref = find(r, key);
	if (ref)
		ref->named = true;
}

static void search(struct grove__blob_refs *r, const char *ptr, size_t len)
{
	for (size_t p = DIGITS - 1; p < len; p += DIGITS) {
		size_t from = p, to = p + 1;

		if (nibble(ptr[p]) < 0)
			continue;
		while (from && nibble(ptr[from - 1]) >= 0)
			from--;
		while (to < len && nibble(ptr[to]) >= 0)
			to++;
		/* a longer run may contain a name anywhere: "\u003a" ends in a digit, too */
		for (; from + DIGITS <= to; from++)
			look_up(r, ptr + from);
		p = to; /* not a digit, or the end */
	}
}

/* Decodes \u00HH, given its u. Returns the character, or -1 if a name cannot contain it. */
static int escaped(const char *u, const char *end)
{
	int hi, lo;

	if (end - u < 5 || u[1] != '0' || u[2] != '0')
		return -1;
	hi = nibble(u[3]);
	lo = nibble((char)(u[4] >= 'A' && u[4] <= 'F' ? u[4] + 'a' - 'A' : u[4]));
	return hi == 3 || hi == 6 ? (lo < 0 ? -1 : hi << 4 | lo) : -1;
}

/* Finds the next escape of a digit or letter from `p` on, at its u; NULL: none. */
static const char *next_escape(const char *p, const char *end)
{
	const char *u;

	for (; (u = memmem(p, (size_t)(end - p), "\\u00", 4)); p = u + 4)
		if (escaped(u + 1, end) >= 0)
			return u + 1;
	return NULL;
}

/* Replaces each such escape by what it stands for, however many backslashes precede it. */
static int decode(struct grove_buf *out, const char *p, const char *end, const char *u)
{
	int rc = 0;

	grove__buf_clear(out);
	for (; u && !rc; u = next_escape(p, end)) {
		rc = grove__buf_add(out, p, (size_t)(u - p));
		while (out->len && out->ptr[out->len - 1] == '\\')
			grove__buf_cut(out, out->len - 1);
		rc = rc ? rc : grove__buf_add_char(out, (char)escaped(u, end));
		p = u + 5;
	}
	return rc ? rc : grove__buf_add(out, p, (size_t)(end - p));
}

int grove__blob_refs_feed(struct grove__blob_refs *r, const char *ptr, size_t len)
{
	const char *u = next_escape(ptr, ptr + len);
	int rc = 0;

	search(r, ptr, len);
	if (u)
		rc = decode(&r->plain, ptr, ptr + len, u);
	if (u && !rc)
		search(r, r->plain.ptr, r->plain.len);
	return rc;
}

/* ------------------------------------------------------------------- files */

struct place {
	uint64_t dev, ino;
};

struct scan {
	struct grove *g;
	struct grove__blob_refs *r;
	struct grove_detail *d;
	struct grove__runs runs;    /* of logs, and the buffer for files */
	struct grove_buf path;      /* where the walk is */
	unsigned depth;
	bool may_be_empty;          /* this place may well be empty */
	uint64_t names;             /* in the directory that is being listed */
	const char *noted;          /* the note of stores that refer to blobs here */
	struct place skip;          /* the blobs themselves */
	struct place *seen;         /* where walks began, and targets of links */
	size_t nr_seen;
};

static int check_progress(struct scan *s)
{
	const struct grove_progress *p = &s->g->progress;

	if (p->fn && p->fn(p->payload, s->r->bytes, 0))
		return grove__fail(s->d, GROVE_ECANCELLED, NULL, "cancelled");
	return 0;
}

static int unreadable(struct scan *s, int err)
{
	return grove__fail_sys(s->d, err, s->path.ptr, "cannot look for references there");
}

/*
 * A disk that is not mounted leaves an empty directory, or dangling links: what the
 * sessions there refer to is unknown.
 */
static int not_mounted(struct scan *s, const char *what)
{
	return grove__fail(s->d, GROVE_EACCESS, s->path.ptr,
			   "%s: sessions may be on a disk that is not mounted, so no blob is garbage for "
			   "sure (if there is none, remove it)", what);
}

static int scan_file(struct scan *s)
{
	size_t carry = 0, got = 0;
	uint64_t pos = 0;
	int fd, rc = 0, err = grove__sys_open(s->path.ptr, O_RDONLY, 0, &fd);

	if (err)
		return err == -ENOENT ? 0 : unreadable(s, err);
	do {
		err = grove__sys_pread(fd, s->runs.buf + carry, CHUNK, pos, &got);
		if (err) {
			rc = unreadable(s, err);
			break;
		}
		if (grove__blob_refs_feed(s->r, s->runs.buf, carry + got)) {
			rc = grove__fail_nomem(s->d);
			break;
		}
		pos += got;
		s->r->bytes += got;
		carry += got;
		if (carry > GROVE__BLOBREFS_CARRY) {
			memmove(s->runs.buf, s->runs.buf + carry - GROVE__BLOBREFS_CARRY,
				GROVE__BLOBREFS_CARRY);
			carry = GROVE__BLOBREFS_CARRY;
		}
		rc = check_progress(s);
	} while (!rc && got == CHUNK);
	grove__sys_close(fd);
	s->r->files++;
	s->r->sessions += grove__jsonl_has_suffix(s->path.ptr);
	return rc;
}

/* Returns 1 if it was visited before: a link leads in a cycle or where another one led. */
static int been_here(struct scan *s, const struct grove__sys_stat *st)
{
	struct place *more;

	for (size_t i = 0; i < s->nr_seen; i++)
		if (s->seen[i].dev == st->dev && s->seen[i].ino == st->ino)
			return 1;
	more = realloc(s->seen, (s->nr_seen + 1) * sizeof(*more));
	if (!more)
		return grove__fail_nomem(s->d);
	s->seen = more;
	s->seen[s->nr_seen++] = (struct place){ st->dev, st->ino };
	return 0;
}

static int scan_dir(struct scan *s);

static int scan_name(void *payload, const char *name)
{
	struct scan *s = payload;
	struct grove__sys_stat st;
	size_t len = s->path.len;
	bool link;
	int rc = 0, err;

	s->names++;
	if (grove__buf_addf(&s->path, "/%s", name))
		return grove__fail_nomem(s->d);
	err = grove__sys_lstat(s->path.ptr, &st);
	link = !err && st.type == SYS_LINK;
	if (link)
		err = grove__sys_stat(s->path.ptr, &st);
	/* a project, or a session; elsewhere a link may lead anywhere */
	if (link && (err == -ENOENT || err == -ELOOP) && (s->depth == 1 || grove__jsonl_has_suffix(name)))
		rc = not_mounted(s, "a dangling link");
	else if (err == -ENOENT || (link && err == -ELOOP))
		err = 0; /* gone, or a dangling link */
	else if (err)
		rc = unreadable(s, err);
	else if (st.type == SYS_FILE)
		rc = scan_file(s);
	else if (st.type == SYS_DIR && !(st.dev == s->skip.dev && st.ino == s->skip.ino)) {
		rc = link ? been_here(s, &st) : 0;
		if (!rc)
			rc = scan_dir(s);
		if (rc == 1)
			rc = 0;
	}
	grove__buf_cut(&s->path, len);
	return rc;
}

static int scan_dir(struct scan *s)
{
	int ended = 0, err;

	if (s->depth == DEPTH_MAX)
		return grove__fail(s->d, GROVE_ETOOBIG, s->path.ptr,
				   "directories more than %d deep", DEPTH_MAX);
	s->depth++;
	s->names = 0;
	err = grove__sys_list(s->path.ptr, scan_name, s, &ended);
	s->depth--;
	if (err == -ENOENT)
		return 0;
	if (err)
		return unreadable(s, err);
	/* directories above have at least this one */
	if (!ended && !s->names && s->depth <= 1 && !s->may_be_empty)
		ended = not_mounted(s, "an empty directory");
	s->names = 1;
	return ended;
}

/* Searches `dir`, if it exists, and everything in it. */
static int scan_tree(struct scan *s, const char *dir)
{
	struct grove__sys_stat st;
	int rc, err;

	grove__buf_clear(&s->path);
	if (grove__buf_add_str(&s->path, dir))
		return grove__fail_nomem(s->d);
	err = grove__sys_stat(dir, &st);
	if ((err == -ENOENT || err == -ELOOP) && !grove__sys_lstat(dir, &st) && st.type == SYS_LINK)
		return not_mounted(s, "a dangling link");
	if (err == -ENOENT || err == -ENOTDIR || (!err && st.type != SYS_DIR))
		return 0;
	if (err)
		return unreadable(s, err);
	rc = been_here(s, &st);
	if (rc)
		return rc == 1 ? 0 : rc;
	return scan_dir(s);
}

/* ------------------------------------------------------ stores without files */

static int scan_log(struct scan *s, struct grove_store_log *log)
{
	struct grove_store_log_stat st;
	int rc = grove__log_stat(log, &st, s->d);

	grove__runs_begin(&s->runs, log, 0, st.tail, s->d);
	/* whole lines, so no name spans two buffers */
	while (!rc && !(rc = grove__runs_next(&s->runs))) {
		if (grove__blob_refs_feed(s->r, s->runs.buf, s->runs.run.len))
			rc = grove__fail_nomem(s->d);
		s->r->bytes += s->runs.run.len;
		rc = rc ? rc : check_progress(s);
	}
	s->r->files++;
	s->r->sessions++;
	return rc == 1 ? 0 : rc;
}

struct attached {
	struct scan *s;
	struct grove_store *store;
	const struct grove_key *key;
};

static int scan_attached(void *payload, const char *name, uint64_t size)
{
	struct attached *a = payload;
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__store_attach_get(a->store, a->key, name, &b, a->s->d);

	(void)size;
	if (!rc && grove__blob_refs_feed(a->s->r, b.ptr ? b.ptr : "", b.len))
		rc = grove__fail_nomem(a->s->d);
	if (!rc) {
		a->s->r->bytes += b.len;
		a->s->r->files++;
	}
	grove__buf_release(&b);
	return rc == GROVE_ENOTFOUND ? 0 : rc;
}

/* Searches a log, and what is attached to that of a session. */
static int scan_key(void *payload, struct grove__root *root, const struct grove_key *key,
		    const struct grove_store_log_stat *st)
{
	struct scan *s = payload;
	struct attached a = { s, root->store, key };
	struct grove_store_log *log;
	int rc = grove__log_open(&log, root->store, key, GROVE_STORE_READ, s->d);

	(void)st;
	if (!rc) {
		rc = scan_log(s, log);
		grove__log_close(log);
	} else if (rc == GROVE_ENOTFOUND) {
		rc = 0;
	}
	if (rc || *key->subpath)
		return rc;
	rc = grove__store_attach_list(root->store, key, scan_attached, &a, s->d);
	return rc == GROVE_ENOTSUP || rc == GROVE_ENOTFOUND ? 0 : rc;
}

/* -------------------------------------------------------------- all of them */

static int scan_store(struct scan *s, struct grove_store *store)
{
	struct grove__root root = { .store = store };
	struct grove__logs_which all = { .only = &root, .copies = true, .subs = LOGS_ALL_SUBS };

	return grove__logs_walk(s->g, &all, scan_key, s, s->d);
}

static int scan_roots(struct scan *s, const struct grove *g)
{
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		const struct grove__root *root = &g->roots[i];

		/* an agent without blobs may also have no sessions */
		s->may_be_empty = root->dialect && !root->dialect->blobs;
		rc = root->dir ? scan_tree(s, root->dir) : scan_store(s, root->store);
	}
	s->may_be_empty = false;
	return rc;
}

/*
 * Searches a store that is recorded next to the blobs, unless it was given and already
 * searched.
 */
static int scan_noted(void *payload, const char *url)
{
	struct scan *s = payload;
	struct grove_store *store = NULL;
	const char *path = grove__store_dir(url) ? NULL : grove__store_path(url, NULL);
	struct grove__sys_stat st;
	struct grove_detail why;
	int rc, err;

	for (size_t i = 0; i < s->g->nr_roots; i++)
		if (!strcmp(s->g->roots[i].store->url, url))
			return 0;
	/* a list treats a missing database as empty */
	err = path ? grove__sys_stat(path, &st) : 0;
	rc = err ? grove__fail_sys(s->d, err, NULL, "cannot open")
		 : grove__world_store(s->g, url, &store, s->d);
	if (!rc) {
		rc = scan_store(s, store);
		grove__store_close(store);
	}
	if (!rc || rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED || !s->d)
		return rc;
	why = *s->d;
	return grove__fail(s->d, GROVE_EACCESS, s->noted,
			   "sessions in %.150s name blobs, and it cannot be read (%.150s); give it with --store, or "
			   "take its line out of the note if it is gone for good", url, why.message);
}

static const char *without_store(void *payload, const char *name)
{
	const struct grove__env *env = payload;

	return strcmp(name, "GROVE_STORE") ? env->getenv(env->getenv_payload, name) : NULL;
}

/* A store that was given hides the agents' own sessions, but those refer to blobs as well. */
static int scan_hidden(struct scan *s)
{
	struct grove_options opt = {
		.size = sizeof(opt), .cwd = s->g->cwd, .home = s->g->home,
		.getenv = without_store, .getenv_payload = &s->g->env,
	};
	struct grove other;
	int rc;

	if (!s->g->given)
		return 0;
	rc = grove__world_open(&other, &opt, s->d);
	if (!rc)
		rc = scan_roots(s, &other);
	grove__world_release(&other);
	return rc;
}

static bool anything_there(void *payload, const char *path)
{
	(void)payload;
	(void)path;
	return true;
}

static int scan_place(void *payload, const char *agent, const char *dir, bool flat)
{
	(void)agent;
	(void)flat;
	return scan_tree(payload, dir);
}

/* Searches the places of the agent that usually owns these blobs, whichever it uses today. */
static int scan_usual(struct scan *s)
{
	const struct grove__dialect *usual = grove__dialect_defaults.blobs;
	struct grove__env env = s->g->env;
	int rc;

	env.exists = anything_there;
	rc = usual ? usual->paths.roots(&env, scan_place, s) : 0;
	return rc == GROVE_ENOMEM ? grove__fail_nomem(s->d) : rc;
}

static int scan_beside(struct scan *s, const char *blobs_dir)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	const char *slash = strrchr(blobs_dir, '/');
	int rc = grove__buf_addf(&dir, "%.*s/sessions", slash ? (int)(slash - blobs_dir) : 1,
				 slash ? blobs_dir : ".");

	rc = rc ? grove__fail_nomem(s->d) : scan_tree(s, dir.ptr);
	grove__buf_release(&dir);
	return rc;
}

int grove__blob_refs_scan(struct grove__blob_refs *r, struct grove *g, struct grove__blobs *b,
			 struct grove_detail *d)
{
	const char *blobs_dir = grove__blobs_dir(b);
	struct grove_buf note = GROVE_BUF_INIT;
	struct scan s = { .g = g, .r = r, .d = d };
	struct grove__sys_stat st;
	int rc = 0;

	if (grove__runs_init(&s.runs, CHUNK + GROVE__BLOBREFS_CARRY))
		return grove__fail_nomem(d);
	if (!grove__sys_stat(blobs_dir, &st))
		s.skip = (struct place){ st.dev, st.ino };
	/* a list treats a store that does not exist as empty */
	rc = grove__logs_there(g, d);
	if (!rc)
		rc = scan_roots(&s, g);
	if (!rc)
		rc = scan_hidden(&s);
	if (!rc)
		rc = scan_usual(&s);
	if (!rc)
		rc = scan_beside(&s, blobs_dir);
	if (!rc)
		rc = grove__blob_path(b, GROVE__BLOBS_NOTE, &note) ? grove__fail_nomem(d) : 0;
	s.noted = note.ptr;
	if (!rc)
		rc = grove__blobs_noted(b, scan_noted, &s, d);
	grove__buf_release(&note);
	grove__runs_release(&s.runs);
	free(s.seen);
	grove__buf_release(&s.path);
	return rc;
}
