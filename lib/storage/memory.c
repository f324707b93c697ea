/*
 * storage/memory.c: files in memory: the reference for the other kind.
 *
 * Nodes, that is files and directories, each know their whole path; the root's is "". A
 * writer holds its node. A node that lost its path stays alive for its writers, which get an
 * error.
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
	struct node root, **nodes;   /* the root is not among them */
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

/* -------------------------------------------------------------------- nodes */

/* Makes a path absolute, without `.` and `..`; the root itself is "". */
static int canonical(const char *path, struct grove_buf *out)
{
	if (grove__buf_add(out, "", 0))
		return -ENOMEM;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.') {
			const char *slash = strrchr(out->ptr, '/');

			grove__buf_cut(out, slash ? (size_t)(slash - out->ptr) : 0);
		} else if (n && !(n == 1 && *p == '.') && grove__buf_addf(out, "/%.*s", (int)n, p)) {
			return -ENOMEM;
		}
		p += n + (p[n] == '/');
	}
	return 0;
}

static struct node *find_node(struct memory *m, const char *path)
{
	for (size_t i = 0; i < m->nr && *path; i++)
		if (!strcmp(m->nodes[i]->path, path))
			return m->nodes[i];
	return *path ? NULL : &m->root;
}

/* What follows the directory and a slash in the path of a node; NULL if it is not below it. */
static const char *name_below(const struct node *n, const struct grove_buf *dir)
{
	return !strncmp(n->path, dir->ptr, dir->len) && n->path[dir->len] == '/' ? n->path + dir->len + 1 : NULL;
}

static bool is_empty(const struct memory *m, const struct grove_buf *dir)
{
	size_t i = 0;

	while (i < m->nr && !name_below(m->nodes[i], dir))
		i++;
	return i == m->nr;
}

static void touch(struct node *n)
{
	n->mtime_ns = grove__sys_now_ms() * 1000000;
}

static void drop_node(struct node *n)
{
	if (--n->refs)
		return;
	grove__buf_release(&n->bytes);
	free(n->path);
	free(n);
}

/* Takes its path from a node. */
static void lose_node(struct memory *m, struct node *n)
{
	size_t i = 0;

	while (m->nodes[i] != n)
		i++;
	m->nodes[i] = m->nodes[--m->nr];
	free(n->path);
	n->path = NULL;
	drop_node(n);
}

static int add_node(struct memory *m, const char *path, bool dir, struct node **out)
{
	struct node *n = grove__array_room(&m->nodes, &m->cap, m->nr, sizeof(*m->nodes)) ? NULL : calloc(1, sizeof(*n));

	if (!n || !(n->path = strdup(path))) {
		free(n);
		return -ENOMEM;
	}
	n->refs = 1;
	n->dir = dir;
	touch(n);
	m->nodes[m->nr++] = n;
	if (out)
		*out = n;
	return 0;
}

/* Creates the directories on the way to `path`; with `last`, that one, too. */
static int make_dirs(struct memory *m, struct grove_buf *path, bool last)
{
	int err = 0;

	for (size_t i = 1; i < path->len + last && !err; i++) {
		bool end = i == path->len;
		const struct node *n;

		if (!end && path->ptr[i] != '/')
			continue;
		path->ptr[i] = '\0';
		n = find_node(m, path->ptr);
		if (n && !n->dir)
			err = end ? -EEXIST : -ENOTDIR;
		else if (!n)
			err = add_node(m, path->ptr, true, NULL);
		if (!end)
			path->ptr[i] = '/';
	}
	return err;
}

/* ---------------------------------------------------------------- operations */

/* Begins an operation: makes the path canonical, and takes the lock. *n: what it leads to, or NULL. */
static int enter(struct memory *m, const char *path, struct grove_buf *at, struct node **n)
{
	int err = canonical(path, at);

	pthread_mutex_lock(&m->lock);
	*n = err ? NULL : find_node(m, at->ptr);
	return err;
}

/* The same for a file that must exist. */
static int enter_file(struct memory *m, const char *path, struct grove_buf *at, struct node **n)
{
	int err = enter(m, path, at, n);

	return err ? err : !*n ? -ENOENT : (*n)->dir ? -EISDIR : 0;
}

static int leave(struct memory *m, struct grove_buf *at, int err)
{
	pthread_mutex_unlock(&m->lock);
	grove__buf_release(at);
	return err;
}

static int memory_mkdirs(struct grove_storage *st, const char *path)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct node *n;
	int err = enter(m, path, &at, &n);

	return leave(m, &at, err ? err : make_dirs(m, &at, true));
}

static int memory_stat(struct grove_storage *st, const char *path, struct grove__storage_stat *out)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct node *n;
	int err = enter(m, path, &at, &n);

	if (!err && n)
		*out = (struct grove__storage_stat){ n->bytes.len, n->mtime_ns, n->dir };
	return leave(m, &at, err ? err : n ? 0 : -ENOENT);
}

/* Returns -ECANCELED if the file (NULL if there is none) does not have the expected size. */
static int compare(const struct node *n, const uint64_t *expect)
{
	return expect && (n ? n->bytes.len : 0) != *expect ? -ECANCELED : 0;
}

/* A new node takes the place of the old one, as a new file would. */
static int memory_write(struct grove_storage *st, const char *path, struct grove_slice bytes,
			const uint64_t *expect)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, copy = GROVE_BUF_INIT;
	struct node *old, *n = NULL;
	int err = enter(m, path, &at, &old);

	if (!err)
		err = old && old->dir ? -EISDIR : compare(old, expect);
	if (!err && grove__buf_add_slice(&copy, bytes))
		err = -ENOMEM;
	if (!err)
		err = old ? 0 : make_dirs(m, &at, false);
	if (!err)
		err = add_node(m, at.ptr, false, &n);
	if (!err && old)
		lose_node(m, old);
	if (!err)
		n->bytes = copy;
	else
		grove__buf_release(&copy);
	return leave(m, &at, err);
}

static int memory_list(struct grove_storage *st, struct grove__storage_list *out)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct node *n;
	int err = enter(m, out->dir, &at, &n);

	if (!err)
		err = !n ? -ENOENT : n->dir ? 0 : -ENOTDIR;
	for (size_t i = 0; i < m->nr && !err; i++) {
		const char *name = m->nodes[i]->dir ? NULL : name_below(m->nodes[i], &at);

		if (name && !strchr(name, '/') && grove__storage_wants(out, name))
			err = grove__storage_listed(out, name);
	}
	return leave(m, &at, err);
}

static int memory_read(struct grove_storage *st, const char *path, struct grove__storage_ends *e)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct node *n;
	int err = enter_file(m, path, &at, &n);

	if (!err) {
		size_t len = n->bytes.len, tail = len < e->tail ? len : e->tail;

		e->bytes = len;
		if (grove__buf_add(e->first, n->bytes.ptr, len < e->head ? len : e->head) ||
		    (tail && grove__buf_add(e->last, n->bytes.ptr + len - tail, tail)))
			err = -ENOMEM;
	}
	return leave(m, &at, err);
}

static int memory_change_line(struct grove_storage *st, const char *path, grove__storage_line_fn *fn,
			      void *payload)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	const char *lf = NULL;
	struct node *n;
	int err = enter_file(m, path, &at, &n);

	if (!err && n->bytes.len)
		lf = memchr(n->bytes.ptr, '\n', n->bytes.len);
	if (!err)
		err = fn(payload, grove__slice(n->bytes.ptr, lf ? (size_t)(lf - n->bytes.ptr) : 0), &line);
	if (!err) {
		memcpy(n->bytes.ptr, line.ptr, line.len);
		touch(n);
	}
	grove__buf_release(&line);
	return leave(m, &at, err);
}

/* No other process can access this memory. */
static int memory_lock(struct grove_storage *st, const char *path, struct grove__storage_lock *lock)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, other = GROVE_BUF_INIT;
	struct node *n;
	int err = enter_file(m, path, &at, &n);

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
	return leave(m, &at, err);
}

static void memory_unlock(struct grove__storage_lock *lock)
{
	(void)lock;
}

static int memory_unlink(struct grove_storage *st, const char *path, const uint64_t *expect)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct node *n;
	int err = enter_file(m, path, &at, &n);

	if (!err)
		err = compare(n, expect);
	if (!err)
		lose_node(m, n);
	return leave(m, &at, err);
}

static int memory_remove_tree(struct grove_storage *st, const char *path)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT;
	struct node *n;
	int err = enter(m, path, &at, &n);

	if (n && n->dir && n != &m->root) {
		for (size_t i = m->nr; i--;)
			if (name_below(m->nodes[i], &at))
				lose_node(m, m->nodes[i]);
		lose_node(m, n);
	}
	return leave(m, &at, err);
}

/* May `a` get the name `to`, which `b` has? Creates directories for it. */
static int may_move(struct memory *m, const struct node *a, const struct node *b, const struct grove_buf *from,
		    struct grove_buf *to)
{
	if (!a)
		return 1;
	/* the root cannot be moved, and nothing can be moved into itself */
	if (a == &m->root || b == &m->root ||
	    (a->dir && !strncmp(to->ptr, from->ptr, from->len) && to->ptr[from->len] == '/'))
		return -EINVAL;
	if (!b)
		return make_dirs(m, to, false);
	return a->dir != b->dir ? -EISDIR : a != b && !is_empty(m, to) ? -EEXIST : 0;
}

/* Changes the paths of a node and of everything below; all memory is allocated before anything changes. */
static int move_node(struct memory *m, const struct node *a, struct node *b, const struct grove_buf *from,
		     const char *to)
{
	struct grove_buf *paths = calloc(m->nr, sizeof(*paths));
	int err = paths ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->nr && !err; i++)
		if ((m->nodes[i] == a || name_below(m->nodes[i], from)) &&
		    grove__buf_addf(&paths[i], "%s%s", to, m->nodes[i]->path + from->len))
			err = -ENOMEM;
	for (size_t i = 0; paths && i < m->nr; i++) {
		if (err)
			grove__buf_release(&paths[i]);
		if (!paths[i].ptr)
			continue;
		free(m->nodes[i]->path);
		m->nodes[i]->path = paths[i].ptr;
	}
	if (!err && b)
		lose_node(m, b);
	free(paths);
	return err;
}

static int memory_rename(struct grove_storage *st, const char *from, const char *to)
{
	struct memory *m = memory_of(st);
	struct grove_buf at = GROVE_BUF_INIT, new = GROVE_BUF_INIT;
	int bad = canonical(to, &new), err;
	struct node *a, *b;

	err = enter(m, from, &at, &a);
	err = err ? err : bad;
	b = err ? NULL : find_node(m, new.ptr);
	err = err ? err : may_move(m, a, b, &at, &new);
	if (!err && a != b)
		err = move_node(m, a, b, &at, new.ptr);
	grove__buf_release(&new);
	return leave(m, &at, err);
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
	int err = enter(m, path, &at, &n);

	if (!err)
		err = !f ? -ENOMEM : n ? 0 : make_dirs(m, &at, false);
	if (!err)
		err = !n ? add_node(m, at.ptr, false, &n) : n->dir ? -EISDIR : 0;
	if (err) {
		free(f);
		return leave(m, &at, err);
	}
	if (truncate) {
		grove__buf_release(&n->bytes);
		touch(n);
	}
	n->refs++;
	*f = (struct open_node){ { &memory_ops }, m, n };
	*out = &f->base;
	return leave(m, &at, 0);
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
		touch(f->node);
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
	drop_node(f->node);
	pthread_mutex_unlock(&f->m->lock);
	free(f);
}

static void memory_release(struct grove_storage *st)
{
	struct memory *m = memory_of(st);

	while (m->nr)
		lose_node(m, m->nodes[0]);
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
	m->root.dir = true;
	pthread_mutex_init(&m->lock, NULL);
	return grove__storage_init(&m->base, &memory_ops, opt);
}
