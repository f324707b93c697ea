/*
 * op_read.c: opening sessions, reading them, forks and lists.
 */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 5 };

/* ------------------------------------------------------------------- context */

/* How many elements has the member "messages" of a JSON object? */
static uint64_t count_messages(const char *p, size_t len)
{
	static const char key[] = "\"messages\"";
	const char *end = p + len;
	uint64_t nr = 0;
	int depth = 0, inside = 0, any = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			inside |= depth == 1 && !strncmp(p, key, sizeof(key) - 1);
			any |= inside && depth == 2;
			while (++p < end && *p != '"')
				p += *p == '\\';
		} else if (*p == '{' || *p == '[') {
			any |= inside && depth == 2;
			depth++;
		} else if (*p == '}' || *p == ']') {
			if (--depth == 1 && inside)
				break;
		} else if (*p == ',' && depth == 2 && inside) {
			nr++;
		}
	}
	return nr + (any ? 1 : 0);
}

static int discard(void *payload, const char *ptr, size_t len)
{
	(void)ptr;
	*(uint64_t *)payload += len;
	return 0;
}

static int measure_context(struct grove_view *v)
{
	double best = 1e12, best_sink = 1e12;
	struct grove_buf out = GROVE_BUF_INIT;

	for (int i = 0; i <= ROUNDS; i++) {
		double start, took;
		int rc;

		/* A new buffer each time: filling it is part of the work. */
		grove_buf_release(&out);
		start = now_ms();
		rc = grove_view_context(v, NULL, grove_buf_sink(&out));
		took = now_ms() - start;
		if (rc)
			return fail("context: %s", grove_error_name(rc));
		if (!i)
			put_ms("context1_ms", took);
		else if (took < best)
			best = took;
	}
	put_ms("context_ms", best);
	put_count("context_bytes", out.len);
	put_count("messages", count_messages(out.ptr, out.len));

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t bytes = 0;
		double start = now_ms(), took;

		if (grove_view_context(v, NULL, (struct grove_sink){ discard, &bytes }) ||
		    bytes != out.len)
			return fail("context: two answers");
		took = now_ms() - start;
		if (took < best_sink)
			best_sink = took;
	}
	put_ms("context_sink_ms", best_sink);
	grove_buf_release(&out);
	return 0;
}

/* --------------------------------------------------------------------- heads */

static int measure_heads(struct grove_view *v)
{
	double best = 1e12;

	for (int i = 0; i < ROUNDS; i++) {
		struct grove_heads *h;
		double start = now_ms(), took;
		int rc = grove_view_heads(v, (struct grove_range){ 0 }, &h);

		took = now_ms() - start;
		if (rc || h->nr != grove_view_count(v)) {
			grove_heads_free(h);
			return fail("heads: %s", grove_error_name(rc));
		}
		if (took < best)
			best = took;
		if (!i)
			put_count("heads_bytes", h->block_len);
		grove_heads_free(h);
	}
	put_ms("heads_ms", best);
	return 0;
}

/* ---------------------------------------------------------------------- tree */

/* All children of all entries, as an agent's tree view wants them: by time. */
static int measure_tree(struct grove_view *v)
{
	size_t cap = (size_t)grove_view_count(v) + 1, top = 0, roots = 0, walked = 0;
	uint32_t *stack = malloc(cap * sizeof(*stack));
	struct grove_counts c = { .size = sizeof(c) };
	uint32_t of = GROVE_NO_ENTRY;
	double start = now_ms();

	if (!stack)
		return fail("out of memory");
	for (;;) {
		struct grove_rows child = { NULL, 0 };

		if (grove_view_children(v, of, GROVE_ORDER_TIME, &child) || child.nr > cap - top) {
			free(stack);
			return fail("tree: children of %u", of);
		}
		memcpy(stack + top, child.at, child.nr * sizeof(*child.at));
		top += child.nr;
		walked += child.nr;
		if (of == GROVE_NO_ENTRY)
			roots = child.nr;
		grove_rows_release(&child);
		if (!top)
			break;
		of = stack[--top];
	}
	put_ms("tree_ms", now_ms() - start);
	put_count("roots", roots);
	free(stack);
	grove_view_counts(v, &c);
	return walked == c.entries - c.duplicates ? 0 : fail("tree: walked %zu of %llu", walked,
							     (unsigned long long)c.entries);
}

/* ---------------------------------------------------------------------- fork */

/* Entries other than labels, which a fork writes anew. */
static size_t without_labels(const struct grove_view *v, const uint32_t *path, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };

		if (!grove_view_entry(v, path ? path[i] : (uint32_t)i, &e))
			kept += e.kind != GROVE_KIND_LABEL;
	}
	return kept;
}

static int measure_fork(const char *name, struct grove_session *s, struct grove_view *v,
			const uint32_t *path, size_t nr, enum grove_sync sync)
{
	struct grove_fork_options opt = { .size = sizeof(opt), .dir = scratch(), .sync = sync };
	struct grove_session *forked = NULL;
	struct grove_view *fv = NULL;
	struct grove_entry leaf = { .size = sizeof(leaf) };
	double start;
	int rc;

	if (!nr || grove_view_entry(v, path[nr - 1], &leaf))
		return fail("fork: no leaf");
	opt.leaf = leaf.id;
	start = now_ms();
	rc = grove_session_fork(s, &opt, &forked);
	put_ms(name, now_ms() - start);
	if (fail_session(s, rc, "fork") || fail_session(forked, grove_session_view(forked, &fv), "fork"))
		rc = -1;
	else if (without_labels(v, path, nr) != without_labels(fv, NULL, grove_view_count(fv)))
		rc = fail("fork: other entries than on the path");
	grove_view_unref(fv);
	if (forked && grove_session_path(forked))
		unlink(grove_session_path(forked));
	grove_session_close(forked);
	return rc;
}

/* ---------------------------------------------------------------------- open */

static int measure_view(const char *path, struct grove_session *s, struct grove_view *v)
{
	const char *no_fork = getenv("FORK");
	struct grove_rows way = { NULL, 0 };
	double start;
	int rc = measure_context(v);

	if (!rc)
		rc = measure_tree(v);
	if (!rc)
		rc = measure_heads(v);
	if (rc)
		return rc;
	start = now_ms();
	rc = grove_view_ancestors(v, grove_view_leaf(v), &way);
	put_ms("branch_ms", now_ms() - start);
	put_count("path", way.nr);
	rc = rc ? fail("path: %s", grove_error_name(rc)) : verify(path, v);
	if (!rc && (!no_fork || strcmp(no_fork, "0"))) {
		rc = measure_fork("fork_ms", s, v, way.at, way.nr, GROVE_SYNC_NONE);
		if (!rc)
			rc = measure_fork("fork_sync_ms", s, v, way.at, way.nr, GROVE_SYNC_ALWAYS);
	}
	grove_rows_release(&way);
	return rc;
}

/* A session that was opened before, by another process: opened, and its context. */
static int measure_reopen(const char *path)
{
	char cache[4096];
	struct grove_options o = { .size = sizeof(o), .cache = cache };
	double took = 0;
	int rc = 0;

	snprintf(cache, sizeof(cache), "%s/cache", scratch());
	/* the first one fills the cache */
	for (int i = 0; i < 2 && !rc; i++) {
		struct grove_session *s = NULL;
		struct grove_view *v = NULL;
		struct grove *g = NULL;
		uint64_t bytes = 0;
		double start = now_ms();

		rc = fail_world(g, grove_open(&o, &g), "world");
		if (!rc)
			rc = fail_world(g, grove_session_open(g, path, GROVE_OPEN_READ, &s), "open");
		if (!rc)
			rc = fail_session(s, grove_session_view(s, &v), "view");
		if (!rc)
			rc = fail_session(s, grove_view_context(v, NULL, (struct grove_sink){ discard, &bytes }),
					  "context");
		took = now_ms() - start;
		grove_view_unref(v);
		grove_session_close(s);
		grove_close(g);
	}
	put_ms("reopen_context_ms", took);
	return rc;
}

int op_open(const char *path, size_t n)
{
	struct grove_options o = { .size = sizeof(o), .cache = "" };
	struct grove_counts c = { .size = sizeof(c) };
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct grove *g = NULL;
	struct stat before, after;
	double start, cpu;
	int rc;

	(void)n;
	if (stat(path, &before))
		return fail("cannot read %s", path);
	/* From nothing, without a cache, to a complete view: handle, session, index, labels. */
	cpu = cpu_ms();
	start = now_ms();
	rc = fail_world(g, grove_open(&o, &g), "world");
	if (!rc)
		rc = fail_world(g, grove_session_open(g, path, GROVE_OPEN_READ, &s), "open");
	if (!rc)
		rc = fail_session(s, grove_session_view(s, &v), "view");
	put_ms("open_ms", now_ms() - start);
	put_ms("cpu_ms", cpu_ms() - cpu);
	put_number("rss_open_mb", peak_mb());
	if (!rc) {
		grove_view_counts(v, &c);
		put_count("entries", c.entries);
		put_count("malformed", c.malformed);
		rc = measure_view(path, s, v);
		put_flag("size_changed", stat(path, &after) || after.st_size != before.st_size);
	}
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
	return rc ? rc : measure_reopen(path);
}

int op_forkfrom(const char *path, size_t n)
{
	struct grove_fork_options opt = {
		.size = sizeof(opt), .dir = scratch(), .cwd = "/home/dev/target"
	};
	struct grove_session *s = NULL, *forked = NULL;
	struct grove_view *v = NULL, *fv = NULL;
	struct grove *g = NULL;
	double start = now_ms(), opened = start;
	int rc = fail_world(g, grove_open(NULL, &g), "world");

	(void)n;
	if (!rc)
		rc = fail_world(g, grove_session_open(g, path, GROVE_OPEN_READ, &s), "open");
	if (!rc) {
		opened = now_ms();
		rc = fail_session(s, grove_session_fork(s, &opt, &forked), "fork");
	}
	put_ms("forkfrom_ms", now_ms() - start);
	put_ms("copy_ms", now_ms() - opened);
	if (!rc)
		rc = fail_session(s, grove_session_view(s, &v), "view");
	if (!rc)
		rc = fail_session(forked, grove_session_view(forked, &fv), "view of the fork");
	if (!rc && grove_view_count(v) != grove_view_count(fv))
		rc = fail("%u entries, should be %u", grove_view_count(fv), grove_view_count(v));
	grove_view_unref(fv);
	grove_view_unref(v);
	grove_session_close(forked);
	grove_session_close(s);
	grove_close(g);
	return rc;
}

/* --------------------------------------------------------------------- lists */

static void count_skipped(void *payload, const struct grove_detail *why)
{
	(void)why;
	++*(uint64_t *)payload;
}

static int measure_list(const char *member, const char *dir, const char *cwd)
{
	const char *const stores[] = { dir };
	struct grove_options world = { .size = sizeof(world), .stores = stores, .nr_stores = 1 };
	uint64_t skipped = 0, messages = 0;
	struct grove_list_options opt = {
		.size = sizeof(opt), .cwd = cwd, .flags = cwd ? 0 : GROVE_LIST_ALL,
		.skipped = count_skipped, .skipped_payload = &skipped
	};
	struct grove_list *l = NULL;
	struct grove *g = NULL;
	double start = now_ms();
	int rc = fail_world(g, grove_open(&world, &g), "world");

	if (!rc)
		rc = fail_world(g, grove_list(g, &opt, &l), "list");
	put_ms(member, now_ms() - start);
	if (!rc) {
		for (size_t i = 0; i < grove_list_count(l); i++)
			messages += grove_list_at(l, i)->message_count;
		put_count("n", grove_list_count(l));
		put_count("msgs", messages);
		if (skipped)
			rc = fail("%llu sessions could not be read", (unsigned long long)skipped);
	}
	grove_list_free(l);
	grove_close(g);
	return rc;
}

int op_list(const char *path, size_t n)
{
	char dir[4096], first[512] = "";
	const struct dirent *e;
	DIR *d;

	(void)n;
	snprintf(dir, sizeof(dir), "%s/sessions", path);
	d = opendir(dir);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && (!first[0] || strcmp(e->d_name, first) < 0))
			snprintf(first, sizeof(first), "%s", e->d_name);
	if (d)
		closedir(d);
	if (!first[0])
		return fail("no directory in %s", dir);
	snprintf(dir, sizeof(dir), "%s/sessions/%s", path, first);
	return measure_list("list_ms", dir, "/home/dev/work/project-000");
}

int op_list_all(const char *path, size_t n)
{
	char dir[4096];

	(void)n;
	snprintf(dir, sizeof(dir), "%s/projects", path);
	/* Claude's, or one of the pi family */
	if (access(dir, F_OK))
		snprintf(dir, sizeof(dir), "%s/sessions", path);
	return measure_list("listall_ms", dir, NULL);
}

/* -------------------------------------------------------------------- limits */

static uint64_t count_lines(const char *p, size_t len)
{
	const char *end = p + len;
	uint64_t nr = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		nr++;
		p++;
	}
	return nr;
}

/* Read a file in blocks of 1 MiB; and the same with looking for line ends. */
int op_limit(const char *path, size_t n)
{
	static const char *const name[] = { "read_ms", "memchr_ms" };
	size_t cap = (size_t)1 << 20;
	char *block = malloc(cap);
	uint64_t lines = 0;

	(void)n;
	for (int find = 0; block && find < 2; find++) {
		double best = 1e12;

		for (int i = 0; i < ROUNDS; i++) {
			int fd = open(path, O_RDONLY | O_CLOEXEC);
			double start = now_ms(), took;
			ssize_t got;

			lines = 0;
			while ((got = read(fd, block, cap)) > 0)
				if (find)
					lines += count_lines(block, (size_t)got);
			took = now_ms() - start;
			if (fd < 0 || got < 0 || close(fd)) {
				free(block);
				return fail("cannot read %s", path);
			}
			if (took < best)
				best = took;
		}
		put_ms(name[find], best);
	}
	put_count("lines", lines);
	free(block);
	return 0;
}
