/*
 * tests/crash/disk.c: what a disk may contain after a power failure.
 *
 * While a scenario runs, every change to files and names is recorded
 * (grove__sys_told). Afterwards the recording is played back up to some deed:
 * what a sync covered is there, and of the rest any part may be there or
 * missing.
 *
 *	file    a sync covers its bytes and its length, not its name
 *	name    create, rename, link, unlink: covered by a sync of the directory.
 *	        A rename is one step: both names change, or neither does.
 *	mkdir   covered by a sync of the directory above. If a directory is not
 *	        there, nothing that was in it is there either.
 *
 * This is less than journaling file systems promise. Sectors have 512 bytes and
 * are written as a whole. Where a file became longer, a sector that nobody wrote
 * contains zeros.
 */
#include "crash.h"

#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512u
#define NO_NODE SIZE_MAX

enum deed_kind { DEED_WRITE, DEED_TRUNCATE, DEED_SYNC, DEED_NAME, DEED_UNNAME, DEED_RENAME };

struct deed {
	enum deed_kind kind;
	size_t node;               /* the file or directory that the name leads to */
	size_t dir, to_dir;
	char *name, *to_name;
	char *bytes;
	size_t len;
	uint64_t off;
};

/* A file or a directory: its state when recording began, and its state in a playback. */
struct node {
	ino_t ino;
	bool is_dir, is_new;
	char *first, *bytes;
	size_t first_len, len;
};

struct entry {
	size_t dir, node;
	char *name;
};

struct names {
	struct entry *entry;
	size_t nr, cap;
};

static struct {
	char root[256];
	struct node *node;
	size_t nr_nodes, cap_nodes;
	struct deed *deed;
	size_t nr_deeds, cap_deeds;
	struct names first, live;  /* the names when recording began, and the present ones */
} disk;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what)
{
	fprintf(stderr, "crash: the disk: %s: %s\n", what, strerror(errno));
	abort();
}

static void *more(void *p, size_t size)
{
	p = realloc(p, size ? size : 1);
	if (!p)
		die("no memory");
	return p;
}

/* -------------------------------------------------------------------- names */

static size_t find(const struct names *n, size_t dir, const char *name, size_t len)
{
	for (size_t i = 0; i < n->nr; i++)
		if (n->entry[i].dir == dir && !strncmp(n->entry[i].name, name, len) &&
		    !n->entry[i].name[len])
			return i;
	return NO_NODE;
}

static void unname(struct names *n, size_t dir, const char *name)
{
	size_t i = find(n, dir, name, strlen(name));

	if (i == NO_NODE)
		return;
	free(n->entry[i].name);
	n->entry[i] = n->entry[--n->nr];
}

static void set_name(struct names *n, size_t dir, const char *name, size_t node)
{
	unname(n, dir, name);
	if (n->nr == n->cap) {
		n->cap = n->cap ? 2 * n->cap : 32;
		n->entry = more(n->entry, n->cap * sizeof(*n->entry));
	}
	n->entry[n->nr++] = (struct entry){ dir, node, strdup(name) };
}

static void free_names(struct names *n)
{
	for (size_t i = 0; i < n->nr; i++)
		free(n->entry[i].name);
	free(n->entry);
	*n = (struct names){ NULL, 0, 0 };
}

static struct names copy_names(const struct names *from)
{
	struct names n = { NULL, 0, 0 };

	for (size_t i = 0; i < from->nr; i++)
		set_name(&n, from->entry[i].dir, from->entry[i].name, from->entry[i].node);
	return n;
}

/* Returns the directory of a path, and in `name` the last part of the path. */
static size_t resolve(const char *path, const char **name)
{
	const char *p = path + strlen(disk.root), *slash;
	size_t dir = 0, i;

	if (strncmp(path, disk.root, strlen(disk.root)) || *p != '/')
		return NO_NODE;
	while (*p == '/')
		p++;
	while ((slash = strchr(p, '/'))) {
		i = find(&disk.live, dir, p, (size_t)(slash - p));
		if (i == NO_NODE)
			return NO_NODE;
		dir = disk.live.entry[i].node;
		for (p = slash; *p == '/'; p++)
			;
	}
	*name = p;
	return dir;
}

/* ---------------------------------------------------------------- recording */

static size_t add_node(ino_t ino, bool is_dir, bool is_new)
{
	if (disk.nr_nodes == disk.cap_nodes) {
		disk.cap_nodes = disk.cap_nodes ? 2 * disk.cap_nodes : 32;
		disk.node = more(disk.node, disk.cap_nodes * sizeof(*disk.node));
	}
	disk.node[disk.nr_nodes] = (struct node){ .ino = ino, .is_dir = is_dir, .is_new = is_new };
	return disk.nr_nodes++;
}

static size_t node_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		die("fstat");
	for (size_t i = disk.nr_nodes; i-- > 0;)
		if (disk.node[i].ino == st.st_ino)
			return i;
	return NO_NODE;
}

static struct deed *add_deed(enum deed_kind kind)
{
	if (disk.nr_deeds == disk.cap_deeds) {
		disk.cap_deeds = disk.cap_deeds ? 2 * disk.cap_deeds : 64;
		disk.deed = more(disk.deed, disk.cap_deeds * sizeof(*disk.deed));
	}
	disk.deed[disk.nr_deeds] = (struct deed){ .kind = kind, .node = NO_NODE, .dir = NO_NODE,
						  .to_dir = NO_NODE };
	return &disk.deed[disk.nr_deeds++];
}

static void named(const char *path, size_t node)
{
	const char *name;
	size_t dir = resolve(path, &name);
	struct deed *d;

	if (dir == NO_NODE)
		return;
	d = add_deed(DEED_NAME);
	d->dir = dir;
	d->node = node;
	d->name = strdup(name);
	set_name(&disk.live, dir, name, node);
}

static void told_create(const struct grove__sys_deed *deed)
{
	const char *name;
	size_t dir = resolve(deed->path, &name);
	struct stat st;

	if (dir == NO_NODE || find(&disk.live, dir, name, strlen(name)) != NO_NODE)
		return;
	if (fstat(deed->fd, &st))
		die("fstat");
	named(deed->path, add_node(st.st_ino, false, true));
}

static void told_bytes(const struct grove__sys_deed *deed, size_t node)
{
	struct deed *d;
	off_t end;

	if (!strcmp(deed->call, "sync")) {
		add_deed(DEED_SYNC)->node = node;
		return;
	}
	d = add_deed(deed->bytes ? DEED_WRITE : DEED_TRUNCATE);
	d->node = node;
	d->off = deed->off;
	d->len = deed->len;
	if (!deed->bytes)
		return;
	if (deed->off == GROVE__SYS_HERE) {
		end = lseek(deed->fd, 0, SEEK_CUR);
		d->off = (uint64_t)end - deed->len;
	}
	d->bytes = more(NULL, deed->len);
	memcpy(d->bytes, deed->bytes, deed->len);
}

static void told_name(const struct grove__sys_deed *deed)
{
	const char *from, *to = NULL;
	size_t dir = resolve(deed->path, &from), to_dir = NO_NODE, at;
	struct stat st;
	struct deed *d;

	if (deed->to)
		to_dir = resolve(deed->to, &to);
	if (dir == NO_NODE)
		return;
	if (!strcmp(deed->call, "mkdir")) {
		if (stat(deed->path, &st))
			die("stat");
		named(deed->path, add_node(st.st_ino, true, true));
		return;
	}
	at = find(&disk.live, dir, from, strlen(from));
	if (at == NO_NODE)
		die("a name that was never made");
	if (!strcmp(deed->call, "link")) {
		named(deed->to, disk.live.entry[at].node);
		return;
	}
	d = add_deed(to ? DEED_RENAME : DEED_UNNAME);
	d->node = disk.live.entry[at].node;
	d->dir = dir;
	d->name = strdup(from);
	d->to_dir = to_dir;
	d->to_name = to ? strdup(to) : NULL;
	unname(&disk.live, dir, from);
	if (to)
		set_name(&disk.live, to_dir, to, d->node);
}

static void told(const struct grove__sys_deed *deed)
{
	size_t node;

	pthread_mutex_lock(&lock);
	fault_own(1);
	if (!strcmp(deed->call, "create")) {
		told_create(deed);
	} else if (deed->fd >= 0) {
		node = node_of(deed->fd);
		if (node != NO_NODE)
			told_bytes(deed, node);
	} else {
		told_name(deed);
	}
	fault_own(-1);
	pthread_mutex_unlock(&lock);
}

static void read_all(const char *path, size_t node)
{
	struct node *n = &disk.node[node];
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	n->first_len = (size_t)st.st_size;
	n->first = more(NULL, n->first_len);
	if (pread(fd, n->first, n->first_len, 0) != (ssize_t)n->first_len)
		die(path);
	close(fd);
}

static void look_around(const char *path, size_t dir)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d)
		die(path);
	while ((e = readdir(d))) {
		char below[1200];
		struct stat st;
		size_t node;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (lstat(below, &st))
			die(below);
		node = add_node(st.st_ino, S_ISDIR(st.st_mode), false);
		set_name(&disk.first, dir, e->d_name, node);
		if (S_ISDIR(st.st_mode))
			look_around(below, node);
		else
			read_all(below, node);
	}
	closedir(d);
}

void disk_begin(const char *dir)
{
	struct stat st;

	disk_forget();
	snprintf(disk.root, sizeof(disk.root), "%s", dir);
	if (stat(dir, &st))
		die(dir);
	add_node(st.st_ino, true, false);
	look_around(dir, 0);
	disk.live = copy_names(&disk.first);
	grove__sys_told = told;
}

size_t disk_deeds(void)
{
	return disk.nr_deeds;
}

void disk_end(void)
{
	grove__sys_told = NULL;
}

void disk_forget(void)
{
	for (size_t i = 0; i < disk.nr_nodes; i++) {
		free(disk.node[i].first);
		free(disk.node[i].bytes);
	}
	for (size_t i = 0; i < disk.nr_deeds; i++) {
		free(disk.deed[i].name);
		free(disk.deed[i].to_name);
		free(disk.deed[i].bytes);
	}
	free(disk.node);
	free(disk.deed);
	free_names(&disk.first);
	free_names(&disk.live);
	memset(&disk, 0, sizeof(disk));
}

/* ----------------------------------------------------------------- playback */

static void set_length(struct node *n, size_t len)
{
	n->bytes = more(n->bytes, len);
	if (len > n->len)
		memset(n->bytes + n->len, 0, len - n->len);
	n->len = len;
}

static void put(struct node *n, uint64_t off, const char *bytes, size_t len)
{
	if (off + len > n->len)
		set_length(n, (size_t)off + len);
	if (len)
		memcpy(n->bytes + off, bytes, len);
}

/* Returns true if the directory is in the tree, false if it was never created. */
static bool is_there(const struct names *n, size_t dir)
{
	if (!dir)
		return true;
	for (size_t i = 0; i < n->nr; i++)
		if (n->entry[i].node == dir)
			return is_there(n, n->entry[i].dir);
	return false;
}

/* Carries out a whole deed. */
static void carry_out(struct names *n, const struct deed *d)
{
	switch (d->kind) {
	case DEED_WRITE:
		put(&disk.node[d->node], d->off, d->bytes, d->len);
		break;
	case DEED_TRUNCATE:
		set_length(&disk.node[d->node], (size_t)d->off);
		break;
	case DEED_NAME:
		set_name(n, d->dir, d->name, d->node);
		break;
	case DEED_UNNAME:
		unname(n, d->dir, d->name);
		break;
	case DEED_RENAME:
		unname(n, d->dir, d->name);
		set_name(n, d->to_dir, d->to_name, d->node);
		break;
	case DEED_SYNC:
		break;
	}
}

/* Carries out a part of a write: the sectors up to some boundary, or any of its sectors. */
static void carry_out_torn(const struct deed *d, bool any, struct chance *c)
{
	uint64_t at = d->off, end = d->off + d->len;
	uint64_t sectors = (end + SECTOR - 1) / SECTOR - at / SECTOR;
	uint64_t keep = chance_below(c, (uint32_t)sectors + 1);

	if (any && !chance_below(c, 4) && end > disk.node[d->node].len)
		set_length(&disk.node[d->node], (size_t)end);
	for (uint64_t i = 0; at < end; i++) {
		uint64_t border = (at / SECTOR + 1) * SECTOR, upto = border < end ? border : end;

		if (any ? chance_below(c, 2) : i < keep)
			put(&disk.node[d->node], at, d->bytes + (at - d->off), (size_t)(upto - at));
		at = upto;
	}
}

static bool covers(const struct deed *sync, const struct deed *d)
{
	if (d->kind == DEED_WRITE || d->kind == DEED_TRUNCATE)
		return d->node == sync->node;
	return d->dir == sync->node || d->to_dir == sync->node;
}

static void write_out(const struct names *n, size_t dir, const char *path, char **written)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		die(path);
	for (size_t i = 0; i < n->nr; i++) {
		const struct entry *e = &n->entry[i];
		char below[1200];
		int fd;

		if (e->dir != dir)
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, e->name);
		if (disk.node[e->node].is_dir) {
			write_out(n, e->node, below, written);
		} else if (written[e->node]) {
			if (link(written[e->node], below))
				die(below);
		} else {
			fd = open(below, O_WRONLY | O_CREAT | O_TRUNC, 0600);
			if (fd < 0 || write(fd, disk.node[e->node].bytes, disk.node[e->node].len) !=
					      (ssize_t)disk.node[e->node].len)
				die(below);
			close(fd);
			written[e->node] = strdup(below);
		}
	}
}

void disk_rebuild(size_t deeds, enum disk_mode mode, struct chance *chance, const char *to)
{
	struct names n = copy_names(&disk.first);
	bool *waits = calloc(deeds + 1, sizeof(*waits));
	char **written = calloc(disk.nr_nodes + 1, sizeof(*written));
	size_t pending = 0, keep;

	if (!waits || !written)
		die("no memory");
	for (size_t i = 0; i < disk.nr_nodes; i++) {
		disk.node[i].len = 0;
		put(&disk.node[i], 0, disk.node[i].first, disk.node[i].first_len);
	}
	for (size_t i = 0; i < deeds; i++) {
		waits[i] = disk.deed[i].kind != DEED_SYNC;
		for (size_t k = 0; !waits[i] && k < i; k++)
			if (waits[k] && covers(&disk.deed[i], &disk.deed[k])) {
				carry_out(&n, &disk.deed[k]);
				waits[k] = false;
			}
	}
	for (size_t i = 0; i < deeds; i++)
		pending += waits[i];
	keep = mode == DISK_PREFIX ? chance_below(chance, (uint32_t)pending + 1) : 0;
	for (size_t i = 0; i < deeds; i++) {
		const struct deed *d = &disk.deed[i];

		if (!waits[i])
			continue;
		if (d->kind == DEED_RENAME && !is_there(&n, d->to_dir))
			continue;
		if (mode == DISK_ALL || (mode == DISK_PREFIX && keep > 1))
			carry_out(&n, d);
		else if (mode == DISK_PREFIX && keep == 1 && d->kind == DEED_WRITE)
			carry_out_torn(d, false, chance);
		else if (mode == DISK_RANDOM && d->kind == DEED_WRITE)
			carry_out_torn(d, true, chance);
		else if (mode == DISK_RANDOM && chance_below(chance, 2))
			carry_out(&n, d);
		keep -= keep > 0;
	}
	write_out(&n, 0, to, written);
	for (size_t i = 0; i < disk.nr_nodes; i++)
		free(written[i]);
	free(written);
	free(waits);
	free_names(&n);
}
