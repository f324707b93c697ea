/*
 * storage/memory.c: files in memory: the reference for the other kind.
 *
 * Nodes, that is files and directories, are in an array sorted by path; the root is not
 * among them. What is below `/a` begins with `/a/`: one range of the array, though not the
 * one right after `/a` (`/a-b` sorts before it).
 *
 * A writer holds its node. A node that lost its path stays alive for its writers, which get
 * an error.
 */
#include "storage/storage.h"

#include "base/array.h"
#include "sys/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct node {
	char *path;              /* without a trailing slash; NULL if lost */
	bool dir;
	unsigned refs;           /* one for the array, and one per writer */
	int64_t mtime_ns;
	struct grove_buf bytes;
};

struct memory {
	struct grove_storage base;
	pthread_mutex_t lock;
	struct node **nodes;
	size_t nr, cap;
};

struct open_node {
	struct grove__storage_file base;
	struct memory *m;
	struct node *node;
};

static const struct grove__storage_ops memory_ops;

static struct memory *memory_of(struct grove_storage *st)
{
	assert(st->ops == &memory_ops);
	return (struct memory *)st;
}

/* -------------------------------------------------------------------- paths */

/* Makes a path absolute, without `.` and `..`; the root itself is "". */
static int canonical(const char *path, struct grove_buf *out)
{
	const char *p = path;

	if (grove__buf_add(out, "", 0))
		return -ENOMEM;
	while (*p) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.') {
			while (out->len && out->ptr[out->len - 1] != '/')
				grove__buf_cut(out, out->len - 1);
			if (out->len)
				grove__buf_cut(out, out->len - 1);
		} else if (n && !(n == 1 && *p == '.')) {
			if (grove__buf_add_char(out, '/') || grove__buf_add(out, p, n))
				return -ENOMEM;
		}
		p += n + (p[n] == '/');
	}
	return 0;
}

/* Returns the index where `path` is, or would be. */
static size_t place_of(const struct memory *m, const char *path)
{
	size_t lo = 0, hi = m->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(m->nodes[mid]->path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct node *find(const struct memory *m, const char *path)
{
	size_t i = place_of(m, path);

	return i < m->nr && !strcmp(m->nodes[i]->path, path) ? m->nodes[i] : NULL;
}

/* Finds the range of everything below `path`, which gets a trailing slash. */
static int below(const struct memory *m, struct grove_buf *path, size_t *from, size_t *to)
{
	if (grove__buf_add_char(path, '/'))
		return -ENOMEM;
	*from = *to = place_of(m, path->ptr);
	while (*to < m->nr && !strncmp(m->nodes[*to]->path, path->ptr, path->len))
		++*to;
	return 0;
}

/* -------------------------------------------------------------------- nodes */

static int64_t now_ns(void)
{
	return grove__sys_now_ms() * 1000000;
}

static void drop(struct node *n)
{
	if (--n->refs)
		return;
	grove__buf_release(&n->bytes);
	free(n->path);
	free(n);
}

/* The array has room for it. */
static void insert(struct memory *m, struct node *n)
{
	size_t i = place_of(m, n->path);

	memmove(m->nodes + i + 1, m->nodes + i, (m->nr - i) * sizeof(*m->nodes));
	m->nodes[i] = n;
	m->nr++;
}

static void take(struct memory *m, size_t from, size_t to)
{
	if (to < m->nr)
		memmove(m->nodes + from, m->nodes + to, (m->nr - to) * sizeof(*m->nodes));
	m->nr -= to - from;
}

static void lose(struct memory *m, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct node *n = m->nodes[i];

		free(n->path);
		n->path = NULL;
		drop(n);
	}
	take(m, from, to);
}

static int add(struct memory *m, const char *path, bool dir, struct node **out)
{
	struct node *n;

	if (grove__array_room(&m->nodes, &m->cap, m->nr, sizeof(*m->nodes)))
		return -ENOMEM;
	n = calloc(1, sizeof(*n));
	if (!n || !(n->path = strdup(path))) {
		free(n);
		return -ENOMEM;
	}
	n->refs = 1;
	n->dir = dir;
	n->mtime_ns = now_ns();
	insert(m, n);
	if (out)
		*out = n;
	return 0;
}

/* Creates the directories on the way to `path`; with `last`, that one, too. */
static int make_dirs(struct memory *m, struct grove_buf *path, bool last)
{
	int err = 0;

	for (size_t i = 1; i <= path->len && !err; i++) {
		bool end = i == path->len;
		struct node *n;

		if ((end && !last) || (!end && path->ptr[i] != '/'))
			continue;
		path->ptr[i] = '\0';
		n = find(m, path->ptr);
		if (n && !n->dir)
			err = end ? -EEXIST : -ENOTDIR;
		else if (!n)
			err = add(m, path->ptr, true, NULL);
		if (!end)
			path->ptr[i] = '/';
	}
	return err;
}

/* ---------------------------------------------------------------- operations */

/* Begins an operation: makes the path canonical, and takes the lock. */
static int begin(struct memory *m, const char *path, struct grove_buf *out)
{
	int err = canonical(path, out);

	pthread_mutex_lock(&m->lock);
	return err;
}

static int end(struct memory *m, struct grove_buf *path, int err)
{
	pthread_mutex_unlock(&m->lock);
	grove__buf_release(path);
	return err;
}

static int memory_mkdirs(struct grove_storage *st, const char *path)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	int err = begin(m, path, &at);

	return end(m, &at, err ? err : make_dirs(m, &at, true));
}

static int memory_stat(struct grove_storage *st, const char *path, struct grove__storage_stat *out)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	int err = begin(m, path, &at);
	const struct node *n = err ? NULL : find(m, at.ptr);

	if (!err && !n && at.len)
		err = -ENOENT;
	if (!err) {
		out->bytes = n ? n->bytes.len : 0;
		out->mtime_ns = n ? n->mtime_ns : 0;
		out->is_dir = !n || n->dir;
	}
	return end(m, &at, err);
}

/* Finds or creates a file at `path`. */
static int need_file(struct memory *m, struct grove_buf *path, struct node **out)
{
	int err;

	*out = find(m, path->ptr);
	if (!path->len || (*out && (*out)->dir))
		return -EISDIR;
	if (*out)
		return 0;
	err = make_dirs(m, path, false);
	return err ? err : add(m, path->ptr, false, out);
}

/* Returns -ECANCELED if the file (NULL if there is none) does not have the expected size. */
static int compare(const struct node *n, const uint64_t *expect)
{
	uint64_t bytes = n ? n->bytes.len : 0;

	return expect && bytes != *expect ? -ECANCELED : 0;
}

static int memory_write(struct grove_storage *st, const char *path, struct grove_slice bytes,
			const uint64_t *expect)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, copy = GROVE_BUF_INIT;
	struct node *n, *old;
	size_t i;
	int err = grove__buf_add_slice(&copy, bytes) ? -ENOMEM : 0;
	int bad = begin(m, path, &at);

	if (!err)
		err = bad;
	old = err ? NULL : find(m, at.ptr);
	if (!err && !(old && old->dir))
		err = compare(old, expect);
	if (!err && old && !old->dir) {
		/* a new node takes its place, as a new file would */
		i = place_of(m, at.ptr);
		n = calloc(1, sizeof(*n));
		if (n) {
			n->path = old->path;
			n->refs = 1;
			old->path = NULL;
			drop(old);
			m->nodes[i] = n;
		} else {
			err = -ENOMEM;
		}
	} else if (!err) {
		err = need_file(m, &at, &n);
	}
	if (!err) {
		n->bytes = copy;
		n->mtime_ns = now_ns();
	} else {
		grove__buf_release(&copy);
	}
	return end(m, &at, err);
}

static int memory_list(struct grove_storage *st, const char *dir, const char *pattern,
		       struct grove_buf *names)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	size_t i = 0, to = 0;
	int err = begin(m, dir, &at);

	if (!err && at.len) {
		const struct node *n = find(m, at.ptr);

		err = !n ? -ENOENT : n->dir ? 0 : -ENOTDIR;
	}
	if (!err)
		err = below(m, &at, &i, &to);
	for (; i < to && !err; i++) {
		const char *name = m->nodes[i]->path + at.len;

		if (m->nodes[i]->dir || strchr(name, '/') || !grove__storage_wants(pattern, name))
			continue;
		if (grove__buf_add(names, name, strlen(name) + 1))
			err = -ENOMEM;
	}
	return end(m, &at, err);
}

/* Like begin(), for a file that must exist. */
static int begin_file(struct memory *m, const char *path, struct grove_buf *at, const struct node **out)
{
	int err = begin(m, path, at);

	*out = err ? NULL : find(m, at->ptr);
	if (err)
		return err;
	return !at->len || (*out && (*out)->dir) ? -EISDIR : *out ? 0 : -ENOENT;
}

static int memory_read(struct grove_storage *st, const char *path, struct grove__storage_ends *e)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	const struct node *n;
	int err = begin_file(m, path, &at, &n);

	if (!err) {
		size_t len = n->bytes.len, tail = len < e->tail ? len : e->tail;

		e->bytes = len;
		if (grove__buf_add(e->first, n->bytes.ptr, len < e->head ? len : e->head) ||
		    (tail && grove__buf_add(e->last, n->bytes.ptr + len - tail, tail)))
			err = -ENOMEM;
	}
	return end(m, &at, err);
}

static int memory_change_line(struct grove_storage *st, const char *path, grove__storage_line_fn *fn,
			      void *payload)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	const struct node *n;
	const char *lf = NULL;
	int err = begin_file(m, path, &at, &n);

	if (!err && n->bytes.len)
		lf = memchr(n->bytes.ptr, '\n', n->bytes.len);
	if (!err)
		err = fn(payload, grove__slice(n->bytes.ptr, lf ? (size_t)(lf - n->bytes.ptr) : 0), &line);
	if (!err) {
		memcpy(n->bytes.ptr, line.ptr, line.len);
		find(m, at.ptr)->mtime_ns = now_ns();
	}
	grove__buf_release(&line);
	return end(m, &at, err);
}

/* No other process can access this memory. */
static int memory_lock(struct grove_storage *st, const char *path, struct grove__storage_lock *lock)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, other = GROVE_BUF_INIT;
	const struct node *n;
	int err = begin_file(m, path, &at, &n);

	lock->fd = -1;
	pthread_mutex_lock(&st->lock);
	for (struct grove__storage_lock *l = st->locks; l && !err; l = l->next) {
		grove__buf_clear(&other);
		err = canonical(l->path, &other);
		if (!err && !strcmp(other.ptr, at.ptr))
			err = -EBUSY;
	}
	pthread_mutex_unlock(&st->lock);
	grove__buf_release(&other);
	return end(m, &at, err);
}

static void memory_unlock(struct grove__storage_lock *lock)
{
	(void)lock;
}

static int memory_unlink(struct grove_storage *st, const char *path, const uint64_t *expect)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	const struct node *n;
	int err = begin_file(m, path, &at, &n);

	if (!err)
		err = compare(n, expect);
	if (!err) {
		size_t i = place_of(m, at.ptr);

		lose(m, i, i + 1);
	}
	return end(m, &at, err);
}

static int memory_remove_tree(struct grove_storage *st, const char *path)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	size_t i, from, to;
	int err = begin(m, path, &at);
	const struct node *n = err ? NULL : find(m, at.ptr);

	if (n && n->dir) {
		i = place_of(m, at.ptr);
		err = below(m, &at, &from, &to);
		if (!err) {
			lose(m, from, to);
			lose(m, i, i + 1);
		}
	}
	return end(m, &at, err);
}

/* Makes room for `a` under the name `to`, by removing what has it, if allowed. */
static int make_way(struct memory *m, const struct node *a, struct grove_buf *to)
{
	struct node *b = find(m, to->ptr);
	size_t i = place_of(m, to->ptr), len = to->len, from, upto;
	int err;

	if (!b)
		return make_dirs(m, to, false);
	if (a->dir != b->dir)
		return -EISDIR;
	err = below(m, to, &from, &upto);
	grove__buf_cut(to, len);
	if (err)
		return err;
	if (from < upto)
		return -EEXIST;
	lose(m, i, i + 1);
	return 0;
}

/* Makes new paths for `nr` nodes, in which `to` replaces the first `len` bytes. */
static int new_paths(struct node *const *nodes, size_t nr, size_t len, const char *to, char **out)
{
	for (size_t i = 0; i < nr; i++) {
		struct grove_buf b = GROVE_BUF_INIT;

		if (grove__buf_addf(&b, "%s%s", to, nodes[i]->path + len)) {
			while (i)
				free(out[--i]);
			return -ENOMEM;
		}
		out[i] = b.ptr;
	}
	return 0;
}

/*
 * Changes the paths of a node and everything below; all memory is allocated before anything
 * changes.
 */
static int move(struct memory *m, struct node *a, const struct grove_buf *from, struct grove_buf *to)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	struct node **nodes = NULL;
	char **paths = NULL;
	size_t lo = 0, hi = 0, nr;
	int err = grove__buf_add_slice(&dir, grove__buf_slice(from)) ? -ENOMEM :
		  below(m, &dir, &lo, &hi);

	nr = 1 + hi - lo;
	if (!err) {
		nodes = calloc(nr, sizeof(*nodes));
		paths = calloc(nr, sizeof(*paths));
		err = nodes && paths ? 0 : -ENOMEM;
	}
	if (!err) {
		nodes[0] = a;
		memcpy(nodes + 1, m->nodes + lo, (nr - 1) * sizeof(*nodes));
		err = new_paths(nodes, nr, from->len, to->ptr, paths);
	}
	if (!err) {
		err = make_way(m, a, to);
		for (size_t i = 0; err && i < nr; i++)
			free(paths[i]);
	}
	if (!err) {
		for (size_t i = 0; i < nr; i++) {
			size_t at = place_of(m, nodes[i]->path);

			take(m, at, at + 1);
		}
		for (size_t i = 0; i < nr; i++) {
			free(nodes[i]->path);
			nodes[i]->path = paths[i];
			insert(m, nodes[i]);
		}
	}
	free(nodes);
	free(paths);
	grove__buf_release(&dir);
	return err;
}

static int memory_rename(struct grove_storage *st, const char *from, const char *to)
{
	struct memory *m = memory_of(st);
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct node *n;
	int err = canonical(to, &b), bad = begin(m, from, &a);

	if (!err)
		err = bad;
	n = err ? NULL : find(m, a.ptr);
	if (!err && !n && a.len)
		err = 1;
	/* the root cannot be moved, and nothing can be moved into itself */
	if (!err && (!a.len || !b.len || (n->dir && b.len > a.len && b.ptr[a.len] == '/' &&
					  !memcmp(a.ptr, b.ptr, a.len))))
		err = -EINVAL;
	if (!err && strcmp(a.ptr, b.ptr))
		err = move(m, n, &a, &b);
	grove__buf_release(&b);
	return end(m, &a, err);
}

/* ------------------------------------------------------------------ writers */

static struct open_node *open_of(struct grove__storage_file *f)
{
	assert(f->ops == &memory_ops);
	return (struct open_node *)f;
}

static int memory_open(struct grove_storage *st, const char *path, bool truncate,
		       struct grove__storage_file **out)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct open_node *f = calloc(1, sizeof(*f));
	struct node *n;
	int err = begin(m, path, &at);

	*out = NULL;
	if (!err)
		err = f ? need_file(m, &at, &n) : -ENOMEM;
	if (!err) {
		if (truncate) {
			grove__buf_release(&n->bytes);
			n->mtime_ns = now_ns();
		}
		n->refs++;
		f->base.ops = &memory_ops;
		f->m = m;
		f->node = n;
		*out = &f->base;
	} else {
		free(f);
	}
	return end(m, &at, err);
}

static int memory_append(struct grove__storage_file *base, struct grove_slice line)
{
	struct open_node *f = open_of(base);
	struct grove_buf *b = &f->node->bytes;
	int err = 0;

	pthread_mutex_lock(&f->m->lock);
	if (!f->node->path) {
		err = -ESTALE;
	} else if (grove__buf_reserve(b, line.len + 1)) {
		err = -ENOMEM;
	} else {
		if (b->len && b->ptr[b->len - 1] != '\n')
			grove__buf_add_char(b, '\n');
		grove__buf_add_slice(b, line);
		f->node->mtime_ns = now_ns();
	}
	pthread_mutex_unlock(&f->m->lock);
	return err;
}

static int memory_sync(struct grove__storage_file *f)
{
	(void)f;
	return 0;
}

static void memory_close(struct grove__storage_file *base)
{
	struct open_node *f = open_of(base);

	pthread_mutex_lock(&f->m->lock);
	drop(f->node);
	pthread_mutex_unlock(&f->m->lock);
	free(f);
}

static void memory_release(struct grove_storage *st)
{
	struct memory *m = memory_of(st);

	lose(m, 0, m->nr);
	free(m->nodes);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static const struct grove__storage_ops memory_ops = {
	.mkdirs = memory_mkdirs,
	.stat = memory_stat,
	.write = memory_write,
	.list = memory_list,
	.read = memory_read,
	.rename = memory_rename,
	.change_line = memory_change_line,
	.lock = memory_lock,
	.unlock = memory_unlock,
	.unlink = memory_unlink,
	.remove_tree = memory_remove_tree,
	.open = memory_open,
	.append = memory_append,
	.sync = memory_sync,
	.close = memory_close,
	.release = memory_release,
};

int grove_storage_memory(const struct grove_storage_options *opt, struct grove_storage **out)
{
	struct memory *m = calloc(1, sizeof(*m));

	*out = m ? &m->base : NULL;
	if (!m)
		return GROVE_ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	return grove__storage_init(&m->base, &memory_ops, opt);
}
