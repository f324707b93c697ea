/*
 * tests/unit/test_cache.c: spines and images that one process stores and another
 * one loads.
 *
 * Random spines are stored and compared with what is loaded again, also after any
 * byte of a piece was changed. Sessions of pi and Claude Code that are large enough
 * to be cached go through every kind of change to them and to their cache. The
 * result must always be that of a session that is read without a cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "image/sums.h"
#include "tree/spine_freeze.h"
#include "tree/tree.h"

#include "../lib/chance.h"
#include "../lib/world.h"
#include "../lib/calls.h"

/* ------------------------------------------------------------------ spines */

struct block {
	char *ptr;
	size_t len;
};

static int write_block(void *payload, uint64_t at, const void *ptr, size_t len)
{
	struct block *b = payload;

	if (at + len > b->len) {
		b->ptr = realloc(b->ptr, at + len);
		assert_non_null(b->ptr);
		memset(b->ptr + b->len, 0x5a, at + len - b->len);
		b->len = at + len;
	}
	memcpy(b->ptr + at, ptr, len);
	return 0;
}

static struct grove__spine *random_spine(struct chance *c, uint32_t nr)
{
	struct grove__spine *s = grove__spine_new(chance_next(c));

	for (uint32_t i = 0; i < nr; i++) {
		char id[32], parent[32], text[16];
		struct grove__entry e = { .kind = GROVE_KIND_MESSAGE, .role = chance_next(c) % 5,
					  .time = (int64_t)(chance_next(c) % 1000000), .has_id = chance_next(c) % 50 != 0 };

		snprintf(id, sizeof(id), "%08x", (unsigned)(chance_next(c) % 200 ? i : i / 2));
		snprintf(parent, sizeof(parent), "%08x", (unsigned)(chance_next(c) % (i + 3)));
		snprintf(text, sizeof(text), "t%u", (unsigned)(chance_next(c) % 9));
		e.id = grove__slice_str(id);
		e.parent_is = i && chance_next(c) % 20 ? PARENT_NAMED : PARENT_NULL;
		e.parent = grove__slice_str(parent);
		if (chance_next(c) % 30 == 0) {
			e.kind = GROVE_KIND_LABEL;
			e.target = grove__slice_str(parent);
			e.text = grove__slice(text, chance_next(c) % 3 ? strlen(text) : 0);
		}
		if (chance_next(c) % 40 == 0) {
			e.names = true;
			e.weak = chance_next(c) % 2;
			e.text = grove__slice_str(text);
		}
		assert_int_equal(grove__spine_add(s, &e, i * 100u, 90, i + 1u, (uint32_t)chance_next(c)), 0);
	}
	assert_int_equal(grove__tree_link(s, 0), 0);
	return s;
}

static void assert_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void assert_same(const struct grove__spine *a, const struct grove__spine *b)
{
	assert_int_equal(a->nr, b->nr);
	assert_int_equal(a->root_first, b->root_first);
	assert_int_equal(a->root_last, b->root_last);
	assert_int_equal(a->nr_orphans, b->nr_orphans);
	assert_int_equal(a->nr_cycles, b->nr_cycles);
	assert_int_equal(a->nr_duplicates, b->nr_duplicates);
	assert_text(a->name, b->name);
	assert_text(a->weak_name, b->weak_name);
	for (uint32_t i = 0; i < a->nr; i++) {
		const char *id = grove__spine_id(a, i);

		assert_int_equal(grove__spine_pos(a, i), grove__spine_pos(b, i));
		assert_int_equal(grove__spine_len(a, i), grove__spine_len(b, i));
		assert_int_equal(grove__spine_time(a, i), grove__spine_time(b, i));
		assert_int_equal(grove__spine_line(a, i), grove__spine_line(b, i));
		assert_int_equal(grove__spine_crc(a, i), grove__spine_crc(b, i));
		assert_int_equal(grove__spine_parent(a, i), grove__spine_parent(b, i));
		assert_int_equal(grove__spine_child(a, i), grove__spine_child(b, i));
		assert_int_equal(grove__spine_sibling(a, i), grove__spine_sibling(b, i));
		assert_int_equal(grove__spine_flags(a, i), grove__spine_flags(b, i));
		assert_int_equal(grove__spine_kind(a, i), grove__spine_kind(b, i));
		assert_int_equal(grove__spine_role(a, i), grove__spine_role(b, i));
		assert_text(id, grove__spine_id(b, i));
		if (id)
			assert_int_equal(grove__spine_find(a, a->nr, grove__spine_name(id)),
					 grove__spine_find(b, b->nr, grove__spine_name(id)));
	}
	assert_int_equal(a->nr_labels, b->nr_labels);
	for (size_t i = 0; i < a->nr_labels; i++) {
		assert_int_equal(a->labels[i].row, b->labels[i].row);
		assert_text(a->labels[i].target, b->labels[i].target);
		assert_text(a->labels[i].text, b->labels[i].text);
	}
	assert_int_equal(a->nr_pending, b->nr_pending);
	for (size_t i = 0; i < a->nr_pending; i++) {
		assert_int_equal(a->pending[i].row, b->pending[i].row);
		assert_text(a->pending[i].parent, b->pending[i].parent);
	}
}

static void add_one(struct grove__spine *s, const char *id, const char *parent)
{
	struct grove__entry e = { .kind = GROVE_KIND_MESSAGE, .has_id = true, .id = grove__slice_str(id),
				  .parent_is = PARENT_NAMED, .parent = grove__slice_str(parent) };
	uint32_t from = s->nr;

	assert_int_equal(grove__spine_add(s, &e, 1, 2, 3, 4), 0);
	assert_int_equal(grove__tree_link(s, from), 0);
}

static void a_thawed_spine_is_the_same(void **state)
{
	struct chance c = chance_begin("freeze");

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		uint32_t nr = i < 3 ? i : (uint32_t)(chance_next(&c) % 3000);
		struct grove__spine *s = random_spine(&c, nr), *t;
		struct block b = { NULL, 0 };
		struct grove__ice ice;

		assert_int_equal(grove__spine_freeze(s, 4096, &ice, write_block, &b), 0);
		/* something follows, as in a file: a spine without names ends in a gap */
		write_block(&b, ice.end, "", 1);
		t = grove__spine_thaw(&ice, b.ptr, b.len, UINT64_MAX / 2);
		assert_non_null(t);
		assert_same(s, t);
		/* and it grows, beyond its block and beyond its map */
		for (unsigned k = 0; nr && k < 600; k++) {
			char id[32];

			snprintf(id, sizeof(id), "new-%u", k);
			if (grove__spine_id(s, nr - 1)) {
				add_one(s, id, grove__spine_id(s, s->nr - 1));
				add_one(t, id, grove__spine_id(t, t->nr - 1));
			}
		}
		assert_same(s, t);
		grove__spine_free(s);
		grove__spine_free(t);
		free(b.ptr);
	}
}

static void what_is_cut_off_is_no_spine(void **state)
{
	struct chance c = chance_begin("freeze cut");
	struct grove__spine *s = random_spine(&c, 700);
	struct block b = { NULL, 0 };
	struct grove__ice ice;

	(void)state;
	assert_int_equal(grove__spine_freeze(s, 4096, &ice, write_block, &b), 0);
	for (size_t len = 0; len < b.len; len += 997)
		assert_null(grove__spine_thaw(&ice, b.ptr, len, UINT64_MAX / 2));
	grove__spine_free(s);
	free(b.ptr);
}

/* -------------------------------------------------------------------- sums */

#define SUMMED ((size_t)9 << 20)

static bool sums_hold(const struct grove__sum *list, size_t nr, const char *bytes, size_t len)
{
	struct grove__sums_check c;

	grove__sums_begin(&c, list, nr, bytes, len);
	return grove__sums_end(&c);
}

static void a_byte_that_changed_is_noticed(void **state)
{
	struct chance c = chance_begin("sums");
	struct grove__sums sums = { NULL, 0, 0 };
	char *bytes = malloc(SUMMED), *covered = calloc(1, SUMMED);
	size_t at = 0;

	(void)state;
	assert_true(bytes && covered);
	for (size_t i = 0; i < SUMMED; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	/* pieces of all sizes, with gaps between them; more than one thread checks them */
	while (at < SUMMED) {
		size_t len = chance_below(&c, 3) ? chance_below(&c, 9000) : chance_below(&c, 3u << 20);

		at += chance_below(&c, 2) ? chance_below(&c, 5000) : 0;
		if (at + len > SUMMED)
			break;
		assert_int_equal(grove__sums_add(&sums, at, bytes + at, len), 0);
		memset(covered + at, 1, len);
		at += len;
	}
	assert_true(sums_hold(sums.list, sums.nr, bytes, SUMMED));
	for (unsigned i = 0; i < 300; i++) {
		size_t where = chance_below(&c, (uint32_t)SUMMED);
		char bit = (char)(1u << chance_below(&c, 8));

		bytes[where] ^= bit;
		assert_int_equal(sums_hold(sums.list, sums.nr, bytes, SUMMED), !covered[where]);
		bytes[where] ^= bit;
	}
	/* a piece that is not there any more */
	assert_true(sums.nr > 0);
	at = (size_t)(sums.list[sums.nr - 1].at + sums.list[sums.nr - 1].len);
	assert_true(sums_hold(sums.list, sums.nr, bytes, at));
	assert_false(sums_hold(sums.list, sums.nr, bytes, at - 1));
	grove__sums_release(&sums);
	free(bytes);
	free(covered);
}

/* ---------------------------------------------------------------- sessions */

#define LARGE ((size_t)17 << 20)

static const char *large_session(struct world *w)
{
	const char *path = in_world(w, "large.jsonl");
	FILE *f = fopen(path, "w");
	char text[2001];
	size_t bytes = 0;

	assert_non_null(f);
	memset(text, 'x', 2000);
	text[2000] = '\0';
	fprintf(f, "{\"type\":\"session\",\"version\":3,\"id\":\"large\",\"timestamp\":\"2026-05-03T09:00:00.000Z\","
		   "\"cwd\":\"/w\"}\n");
	for (unsigned i = 1; bytes < LARGE; i++)
		bytes += (size_t)fprintf(f, "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":%s%.*x%s,\"timestamp\":"
					    "\"2026-05-03T09:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"%u %s\"}}\n",
					 i, i > 1 ? "\"" : "nul", i > 1 ? 8 : 1, i > 1 ? i - 1 : 0,
					 i > 1 ? "\"" : "", i, text);
	fclose(f);
	return path;
}

/* Returns the cache file; NULL: there is none. */
static const char *kept(struct world *w)
{
	static char path[8400];
	char dir[8000];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/.cache/grove/spine", w->home);
	d = opendir(dir);
	path[0] = '\0';
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			assert_string_equal(path, "");
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		}
	if (d)
		closedir(d);
	return *path ? path : NULL;
}

static void tell_entries(struct grove_view *v, struct grove_buf *b)
{
	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		struct grove_entry e = { .size = sizeof(e) };

		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(grove__buf_addf(b, "%u %u %s %d %d %u %llu %llu %lld %s\n", e.index, e.parent,
						 e.id ? e.id : "-", e.kind, e.role, e.flags,
						 (unsigned long long)e.line, (unsigned long long)e.bytes,
						 (long long)e.time, e.label ? e.label : ""), 0);
		if (e.id)
			assert_int_equal(grove__buf_addf(b, "found %u\n", find_row(v, e.id)), 0);
	}
	assert_int_equal(grove__buf_addf(b, "name %s leaf %u\n", grove_view_name(v), grove_view_leaf(v)), 0);
}

/* Returns all that a session contains, read with or without the cache. */
static struct grove_buf told(struct world *w, const char *path, bool cached)
{
	static const struct grove_context_options claude[] = {
		{ .size = sizeof(*claude), .flags = GROVE_CONTEXT_EXPLAIN },
		{ .size = sizeof(*claude), .flags = GROVE_CONTEXT_EXPLAIN, .mode = "sdk" },
		{ .size = sizeof(*claude), .flags = GROVE_CONTEXT_LLM | GROVE_CONTEXT_SNIPS},
		{ .size = sizeof(*claude), .flags = GROVE_CONTEXT_WHOLE },
	};
	bool is_claude = strstr(path, "claude");
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .dialect = is_claude ? "claude" : strstr(path, "omp") ? "omp"
					      : strstr(path, "xcsh") ? "xcsh" : NULL,
				   .getenv = no_variables, .cache = cached ? NULL : "" };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_open(g, path, GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_tree(v, 1, grove_buf_sink(&b)), 0);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&b)), 0);
	for (size_t i = 0; is_claude && i < sizeof(claude) / sizeof(*claude); i++)
		assert_int_equal(grove_view_context(v, &claude[i], grove_buf_sink(&b)), 0);
	tell_entries(v, &b);
	assert_int_equal(grove_view_log(v, 0, grove_buf_sink(&b)), 0);
	assert_int_equal(grove__buf_addf(&b, "cwd %s\n", grove_session_cwd(s)), 0);
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
	return b;
}

static void assert_right(struct world *w, const char *path)
{
	struct grove_buf a = told(w, path, true), b = told(w, path, false);

	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.ptr, b.ptr, b.len);
	grove__buf_release(&a);
	grove__buf_release(&b);
}

static ino_t inode(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void append_bytes(const char *path, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
	close(fd);
}

#define MORE "{\"type\":\"message\",\"id\":\"more\",\"parentId\":\"00000001\",\"timestamp\":" \
	     "\"2026-05-03T10:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"more\"}}\n"

static void a_large_session_is_kept_and_extended(void **state)
{
	struct world *w = *state;
	const char *path = large_session(w);
	ino_t first;

	assert_null(kept(w));
	assert_right(w, path);
	assert_non_null(kept(w));
	first = inode(kept(w));
	assert_right(w, path);
	append_bytes(path, MORE);
	assert_right(w, path);
	append_bytes(path, "{\"type\":\"mess");
	assert_right(w, path);
	append_bytes(path, "age\",\"id\":\"torn\",\"parentId\":\"more\"}\n");
	assert_right(w, path);
	/* a few more lines are not worth another cache file */
	assert_int_equal(inode(kept(w)), first);
}

static void a_small_one_is_not_and_nobody_has_to(void **state)
{
	struct world *w = *state;
	struct grove_buf b;

	b = told(w, make(w, "small.jsonl", BRANCHES), true);
	grove__buf_release(&b);
	assert_null(kept(w));
	b = told(w, large_session(w), false);
	grove__buf_release(&b);
	assert_null(kept(w));
}

static void put_file(const char *path, const char *bytes, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static void poke(const char *path, off_t at, const char *bytes)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, strlen(bytes), at), (ssize_t)strlen(bytes));
	close(fd);
}

static void what_changed_in_its_place_is_read_again(void **state)
{
	struct world *w = *state;
	const char *path = large_session(w);
	struct stat st;

	assert_right(w, path);
	/* the id in the header's line, in the last line, and still the same size */
	poke(path, 36, "L");
	assert_right(w, path);
	assert_int_equal(stat(path, &st), 0);
	poke(path, st.st_size - 3, " ");
	assert_right(w, path);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	assert_right(w, path);
	assert_int_equal(truncate(path, 200), 0);
	append_bytes(path, "\n" MORE);
	assert_right(w, path);
}

/* Waits until the next change has another time, and this one can be recognized by its time. */
static void settle(void)
{
	usleep(150000);
}

/* Changes some bytes in place, at a random position: text, an id, a newline, anything. */
static void change_in_place(struct chance *c, const char *path)
{
	static const char *const with[] = { "y", "z\"", "\n", " ", "{", "00000007", "\\u00e4" };
	const char *bytes = with[chance_below(c, 7)];
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	poke(path, (off_t)(chance_next(c) % (uint64_t)(st.st_size - 10)), bytes);
}

/* Makes one of the changes that can happen to a file. */
static void change_somehow(struct chance *c, const char *path, unsigned what)
{
	struct timespec times[2];
	struct stat st;
	struct grove_buf b;

	assert_int_equal(stat(path, &st), 0);
	switch (what) {
	case 0: /* a redaction, after which the file's own time is restored */
		change_in_place(c, path);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		break;
	case 1: /* the same, and the session continues */
		change_in_place(c, path);
		append_bytes(path, "\n" MORE);
		break;
	case 2: /* it only continues, or only its time changes */
		if (chance_below(c, 2))
			append_bytes(path, "\n\n  \nnot json\n" MORE);
		else
			assert_int_equal(chmod(path, 0600), 0);
		break;
	case 3:
		assert_int_equal(truncate(path, st.st_size - 1 - (off_t)chance_below(c, 5000)), 0);
		break;
	default: /* another file in its place */
		b = file_bytes(path);
		memset(b.ptr + b.len / 2, 'q', 3);
		assert_int_equal(unlink(path), 0);
		put_file(path, b.ptr, b.len);
		grove__buf_release(&b);
	}
}

static void whatever_happens_to_a_session_is_seen(void **state)
{
	static const char *const names[] = { "large.jsonl", "large-omp.jsonl", "large-xcsh.jsonl" };
	struct world *w = *state;
	struct chance c = chance_begin("cache changes");

	for (unsigned i = 0; i < 3; i++) {
		const char *path = in_world(w, names[i]);

		assert_int_equal(rename(large_session(w), path), 0);
		for (unsigned what = 0; what < 6; what++) {
			settle();
			assert_right(w, path);
			/* often the first change, which only the bytes can show */
			change_somehow(&c, path, what < 5 ? what : 0);
			assert_right(w, path);
		}
		assert_int_equal(unlink(path), 0);
	}
}

static void a_handle_sees_what_changed_in_its_place(void **state)
{
	struct world *w = *state;
	char path[8400];
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	struct grove *g;

	snprintf(path, sizeof(path), "%s", make(w, "small.jsonl", BRANCHES));
	assert_int_equal(grove_open(&o, &g), 0);
	settle();
	assert_int_equal(grove_session_open(g, path, GROVE_OPEN_READ, &s), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct grove_buf file = file_bytes(path);
		const char *type = memmem(file.ptr + file.len / 3, file.len - file.len / 3, "\"type\":\"message\"", 16);

		assert_non_null(type);
		poke(path, (off_t)(type - file.ptr) + 8, "MESSAGE");
		grove__buf_release(&file);
		/* the second time it has also grown */
		if (i)
			append_bytes(path, "{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"new\",\"parentId\":null}\n");
		assert_int_equal(grove_session_refresh(s), 1);
		assert_int_equal(grove_session_view(s, &v), 0);
		grove__buf_clear(&b);
		assert_int_equal(grove_view_log(v, 0, grove_buf_sink(&b)), 0);
		grove_view_unref(v);
		assert_non_null(strstr(b.ptr, "MESSAGE"));
	}
	grove__buf_release(&b);
	grove_session_close(s);
	grove_close(g);
}

/* A cache file that others may have written is not read, and is replaced by our own. */
static void what_is_not_ours_alone_is_not_believed(void **state)
{
	struct world *w = *state;
	const char *path = large_session(w);
	char keep[8400], dir[8400];
	struct stat st;

	settle();
	assert_right(w, path);
	snprintf(keep, sizeof(keep), "%s", kept(w));
	assert_int_equal(chmod(keep, 0620), 0);
	assert_right(w, path);
	assert_int_equal(stat(keep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* nor is anything written to a directory that is open to others */
	snprintf(dir, sizeof(dir), "%s/.cache/grove/spine", w->home);
	assert_int_equal(unlink(keep), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_right(w, path);
	assert_null(kept(w));
	assert_int_equal(chmod(dir, 0700), 0);
	snprintf(dir, sizeof(dir), "%s/.cache/grove", w->home);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_right(w, path);
	assert_null(kept(w));
}

static void what_was_kept_may_be_damaged(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("cache damage");
	const char *path = large_session(w);
	struct stat st;

	for (unsigned i = 0; i < 12; i++) {
		char keep[8400];

		assert_right(w, path);
		snprintf(keep, sizeof(keep), "%s", kept(w));
		assert_int_equal(stat(keep, &st), 0);
		if (i % 3 == 0) {
			assert_int_equal(truncate(keep, (off_t)(chance_next(&c) % (uint64_t)st.st_size)), 0);
		} else if (i % 3 == 1) {
			poke(keep, (off_t)(chance_next(&c) % 600), "\x80");
		} else {
			for (unsigned k = 0; k < 40; k++)
				poke(keep, (off_t)(chance_next(&c) % (uint64_t)(st.st_size - 1)), "\x81");
		}
	}
	assert_right(w, path);
}

static void another_file_in_its_place_is_another_file(void **state)
{
	struct world *w = *state;
	const char *path = large_session(w), *other = in_world(w, "other.jsonl");
	struct grove_buf b;

	assert_right(w, path);
	b = file_bytes(path);
	memcpy(b.ptr + 300, "yyyy", 4);
	put_file(other, b.ptr, b.len);
	assert_int_equal(rename(other, path), 0);
	assert_right(w, path);
	grove__buf_release(&b);
}

static void where_nothing_can_be_written_nothing_is_kept(void **state)
{
	struct world *w = *state;
	char cache[8192];

	/* a file where the directory should be */
	snprintf(cache, sizeof(cache), "%s/.cache", w->home);
	put_file(cache, "x", 1);
	assert_right(w, large_session(w));
}

/* ------------------------------------------------------------------ Claude */

/* Transcripts whose bytes are mostly in a few lines of metadata, with many small records. */
struct transcript {
	struct chance c;
	const char *path;
	unsigned nr;                     /* records so far: their uuids */
};

static void put_uuid(struct grove_buf *b, unsigned n)
{
	assert_int_equal(grove__buf_addf(b, "\"00000000-0000-4000-8000-%012u\"", n), 0);
}

/* Returns one of the last records, or rarely any other, or one that does not exist yet. */
static unsigned some_record(struct transcript *t)
{
	uint32_t dice = chance_below(&t->c, 40);

	if (!t->nr || dice == 0)
		return t->nr + 3;
	return dice < 34 ? t->nr - 1 : dice < 38 ? t->nr - 1 - chance_below(&t->c, t->nr < 9 ? t->nr : 9)
						 : chance_below(&t->c, t->nr);
}

static void put_about(struct transcript *t, struct grove_buf *b)
{
	switch (chance_below(&t->c, 5)) {
	case 0:
		grove__buf_addf(b, "{\"type\":\"last-prompt\",\"explicit\":%s,\"leafUuid\":",
				chance_below(&t->c, 2) ? "true" : "false");
		put_uuid(b, some_record(t));
		grove__buf_add_str(b, "}\n");
		break;
	case 1:
		grove__buf_addf(b, "{\"type\":\"custom-title\",\"customTitle\":\"t%u\"}\n", t->nr);
		break;
	case 2:
		grove__buf_addf(b, "{\"type\":\"ai-title\",\"aiTitle\":\"a%u\"}\n", t->nr);
		break;
	case 3:
		grove__buf_addf(b, "{\"type\":\"relocated\",\"relocatedCwd\":\"/moved/%u\"}\n", t->nr);
		break;
	default:
		grove__buf_add_str(b, "not json\n\n{\"type\":\"mode\"}\n");
	}
}

static void put_boundary(struct transcript *t, struct grove_buf *b)
{
	grove__buf_add_str(b, ",\"subtype\":\"compact_boundary\",\"logicalParentUuid\":");
	put_uuid(b, some_record(t));
	grove__buf_add_str(b, ",\"compactMetadata\":{");
	if (chance_below(&t->c, 2)) {
		grove__buf_add_str(b, "\"preservedMessages\":{\"anchorUuid\":");
		put_uuid(b, t->nr);
		grove__buf_add_str(b, ",\"uuids\":[");
		put_uuid(b, some_record(t));
		grove__buf_add_str(b, "]}");
	} else if (chance_below(&t->c, 2)) {
		grove__buf_add_str(b, "\"preservedSegment\":{\"anchorUuid\":");
		put_uuid(b, t->nr);
		grove__buf_add_str(b, ",\"headUuid\":");
		put_uuid(b, t->nr > 4 ? t->nr - 4 : 0);
		grove__buf_add_str(b, ",\"tailUuid\":");
		put_uuid(b, some_record(t));
		grove__buf_add_str(b, "}");
	}
	grove__buf_add_str(b, "}");
}

static void put_said(struct transcript *t, struct grove_buf *b, bool user)
{
	grove__buf_addf(b, ",\"message\":{\"role\":\"%s\"", user ? "user" : "assistant");
	if (!user)
		grove__buf_addf(b, ",\"id\":\"msg_%u\",\"model\":\"m\"", t->nr / 3);
	if (chance_below(&t->c, 2))
		grove__buf_addf(b, ",\"content\":[{\"type\":\"text\",\"text\":\"said %u\"}]}", t->nr);
	else if (user)
		grove__buf_addf(b, ",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"tu_%u\","
				   "\"content\":\"r\"}]}", t->nr / 2);
	else
		grove__buf_addf(b, ",\"content\":[{\"type\":\"tool_use\",\"id\":\"tu_%u\",\"name\":\"n\","
				   "\"input\":{}}]}", t->nr / 2);
}

/* `new`: only what may follow in a log that continues: no uuid twice. */
static void put_record(struct transcript *t, struct grove_buf *b, bool new)
{
	static const char *const types[] = { "user", "assistant", "user", "assistant", "user", "assistant",
					     "attachment", "system", "progress" };
	unsigned n = !new && t->nr && chance_below(&t->c, 60) == 0 ? t->nr / 2 : t->nr;
	const char *type = types[chance_below(&t->c, 9)];

	grove__buf_addf(b, "{\"type\":\"%s\",\"uuid\":", type);
	put_uuid(b, n);
	grove__buf_add_str(b, ",\"parentUuid\":");
	if (chance_below(&t->c, 25))
		put_uuid(b, some_record(t));
	else
		grove__buf_add_str(b, "null");
	grove__buf_addf(b, ",\"cwd\":\"/w\",\"isSidechain\":%s,\"timestamp\":\"2026-05-03T09:%02u:%02u.000Z\"",
			chance_below(&t->c, 12) ? "false" : "true", t->nr / 60 % 60, t->nr % 60);
	if (!strcmp(type, "system") && chance_below(&t->c, 2)) {
		put_boundary(t, b);
	} else if (!strcmp(type, "system")) {
		grove__buf_add_str(b, ",\"subtype\":\"snip_boundary\",\"removedUuids\":[");
		put_uuid(b, some_record(t));
		grove__buf_add_str(b, "]");
	} else if (!strcmp(type, "user") || !strcmp(type, "assistant")) {
		put_said(t, b, *type == 'u');
	}
	assert_int_equal(grove__buf_add_str(b, "}\n"), 0);
	t->nr++;
}

static void put_records(struct transcript *t, struct grove_buf *b, unsigned nr, bool new)
{
	while (nr--) {
		if (chance_below(&t->c, 8) == 0)
			put_about(t, b);
		put_record(t, b, new);
	}
}

static void put_bulk(struct grove_buf *b, size_t bytes)
{
	static const char head[] = "{\"type\":\"file-history-snapshot\",\"x\":\"";
	size_t line = (size_t)900 << 10;

	for (size_t done = 0; done < bytes; done += line) {
		assert_int_equal(grove__buf_add_str(b, head), 0);
		assert_int_equal(grove__buf_reserve(b, line), 0);
		memset(b->ptr + b->len, 'x', line);
		grove__buf_cut(b, b->len + line);
		assert_int_equal(grove__buf_add_str(b, "\"}\n"), 0);
	}
}

static void write_transcript(struct transcript *t, unsigned nr)
{
	struct grove_buf b = GROVE_BUF_INIT;

	t->nr = 0;
	put_records(t, &b, 10, false);
	put_bulk(&b, LARGE);
	put_records(t, &b, nr, false);
	put_file(t->path, b.ptr, b.len);
	grove__buf_release(&b);
}

static void grow_transcript(struct transcript *t, unsigned nr)
{
	struct grove_buf b = GROVE_BUF_INIT;

	put_records(t, &b, nr, true);
	append_bytes(t->path, b.ptr);
	grove__buf_release(&b);
}

/* A line whose parent is the line before it affects nothing that was read. */
static void append_plainly(struct transcript *t)
{
	struct grove_buf b = GROVE_BUF_INIT;

	t->nr += 10;                     /* beyond those that others have named */
	grove__buf_add_str(&b, "{\"type\":\"user\",\"uuid\":");
	put_uuid(&b, t->nr++);
	grove__buf_add_str(&b, ",\"parentUuid\":null,\"timestamp\":\"2026-05-03T10:00:00.000Z\",\"message\":"
			       "{\"role\":\"user\",\"content\":\"more\"}}\n");
	append_bytes(t->path, b.ptr);
	grove__buf_release(&b);
}

static struct transcript transcript(struct world *w, const char *what)
{
	return (struct transcript){ .c = chance_begin(what), .path = in_world(w, "claude.jsonl") };
}

static void a_transcript_is_kept_and_goes_on(void **state)
{
	struct world *w = *state;
	struct transcript t = transcript(w, "claude grows");
	ino_t first;

	write_transcript(&t, 400);
	assert_right(w, t.path);
	assert_non_null(kept(w));
	first = inode(kept(w));
	assert_right(w, t.path);
	for (unsigned i = 0; i < 4; i++) {
		append_plainly(&t);
		assert_right(w, t.path);
	}
	append_bytes(t.path, "{\"type\":\"user\",\"uu");
	assert_right(w, t.path);
	append_bytes(t.path, "id\":\"torn\",\"parentUuid\":null}\n");
	assert_right(w, t.path);
	/* the cache was always used, or it would have been written again */
	assert_int_equal(inode(kept(w)), first);
}

static void random_transcripts_say_the_same(void **state)
{
	struct world *w = *state;
	struct transcript t = transcript(w, "claude random");

	for (unsigned round = 0; round < 5; round++) {
		struct stat st;

		write_transcript(&t, chance_below(&t.c, 700));
		assert_right(w, t.path);
		for (unsigned i = 0; i < 3; i++) {
			grow_transcript(&t, 1 + chance_below(&t.c, 30));
			assert_right(w, t.path);
		}
		assert_int_equal(stat(t.path, &st), 0);
		assert_int_equal(truncate(t.path, st.st_size - (off_t)chance_below(&t.c, 2000)), 0);
		assert_right(w, t.path);
		append_bytes(t.path, "\n");
		grow_transcript(&t, 5);
		assert_right(w, t.path);
	}
}

/*
 * Replaces each `was` by `is`, which has the same length, in place, except at the ends of the file.
 */
static void rewrite_in_place(const char *path, const char *was, const char *is, size_t ends)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t n = strlen(was), nr = 0;
	struct stat st;
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0 && !fstat(fd, &st) && strlen(is) == n);
	assert_int_equal(grove__buf_reserve(&b, (size_t)st.st_size), 0);
	assert_int_equal(pread(fd, b.ptr, (size_t)st.st_size, 0), st.st_size);
	grove__buf_cut(&b, (size_t)st.st_size);
	assert_true(b.len > 2 * ends);
	for (char *p = b.ptr + ends, *end = b.ptr + b.len - ends;
	     p < end && (p = memmem(p, (size_t)(end - p), was, n)); p += n, nr++)
		memcpy(p, is, n);
	assert_true(nr > 0);
	assert_int_equal(pwrite(fd, b.ptr, b.len, 0), (ssize_t)b.len);
	close(fd);
	grove__buf_release(&b);
}

/* The same inode, and the same size or more: but the cache belongs to another transcript. */
static void a_transcript_that_is_rewritten_in_its_place_is_read_again(void **state)
{
	struct world *w = *state;
	struct transcript t = transcript(w, "claude rewritten");
	ino_t file, first, second;
	int held[3];

	write_transcript(&t, 400);
	file = inode(t.path);
	assert_right(w, t.path);
	assert_non_null(kept(w));
	first = inode(kept(w));
	/* if it were gone, its inode number could be used again */
	held[0] = open(kept(w), O_RDONLY);
	rewrite_in_place(t.path, "-4000-8000-", "-4000-9000-", 0);
	assert_right(w, t.path);
	held[1] = open(kept(w), O_RDONLY);
	second = inode(kept(w));
	assert_int_not_equal(second, first);
	/* and with more lines, as if it had only grown */
	rewrite_in_place(t.path, "-4000-9000-", "-4000-a000-", 0);
	append_plainly(&t);
	assert_right(w, t.path);
	held[2] = open(kept(w), O_RDONLY);
	first = inode(kept(w));
	assert_int_not_equal(first, second);
	/* or only in the middle, which nobody reads who only continues at the end */
	rewrite_in_place(t.path, "-4000-a000-", "-4000-b000-", 20000);
	append_plainly(&t);
	assert_right(w, t.path);
	assert_int_not_equal(inode(kept(w)), first);
	assert_int_equal(inode(t.path), file);
	for (unsigned i = 0; i < 3; i++)
		close(held[i]);
}

/* More lines than the space that is left behind the arrays. */
static void a_transcript_may_outgrow_its_room(void **state)
{
	struct world *w = *state;
	struct transcript t = transcript(w, "claude outgrows");
	struct grove_buf b = GROVE_BUF_INIT;
	ino_t first;

	write_transcript(&t, 50);
	assert_right(w, t.path);
	first = inode(kept(w));
	append_plainly(&t);
	for (unsigned i = 0; i < 70000; i++)
		grove__buf_addf(&b, "{\"type\":\"user\",\"uuid\":\"%x\",\"parentUuid\":null}\n", i);
	append_bytes(t.path, b.ptr);
	grove__buf_release(&b);
	assert_right(w, t.path);
	assert_int_equal(inode(kept(w)), first);
}

static void what_was_kept_of_a_transcript_may_be_damaged(void **state)
{
	struct world *w = *state;
	struct transcript t = transcript(w, "claude damage");
	struct stat st;

	write_transcript(&t, 500);
	for (unsigned i = 0; i < 48; i++) {
		char keep[8400];

		assert_right(w, t.path);
		snprintf(keep, sizeof(keep), "%s", kept(w));
		assert_int_equal(stat(keep, &st), 0);
		if (i < 40) {
			/* one byte of each part */
			off_t part = st.st_size / 40, at = part * i + (off_t)(chance_next(&t.c) % (uint64_t)part);
			char byte[2] = { (char)(1 + chance_below(&t.c, 255)), '\0' };

			poke(keep, i < 6 ? (off_t)(chance_next(&t.c) % 800) : at, byte);
		} else {
			assert_int_equal(truncate(keep, (off_t)(chance_next(&t.c) % (uint64_t)st.st_size)), 0);
		}
	}
	assert_right(w, t.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thawed_spine_is_the_same),
		cmocka_unit_test(what_is_cut_off_is_no_spine),
		cmocka_unit_test(a_byte_that_changed_is_noticed),
		WORLD_TEST(a_large_session_is_kept_and_extended),
		WORLD_TEST(a_small_one_is_not_and_nobody_has_to),
		WORLD_TEST(what_changed_in_its_place_is_read_again),
		WORLD_TEST(whatever_happens_to_a_session_is_seen),
		WORLD_TEST(a_handle_sees_what_changed_in_its_place),
		WORLD_TEST(what_is_not_ours_alone_is_not_believed),
		WORLD_TEST(what_was_kept_may_be_damaged),
		WORLD_TEST(another_file_in_its_place_is_another_file),
		WORLD_TEST(where_nothing_can_be_written_nothing_is_kept),
		WORLD_TEST(a_transcript_is_kept_and_goes_on),
		WORLD_TEST(random_transcripts_say_the_same),
		WORLD_TEST(a_transcript_that_is_rewritten_in_its_place_is_read_again),
		WORLD_TEST(a_transcript_may_outgrow_its_room),
		WORLD_TEST(what_was_kept_of_a_transcript_may_be_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	scratch_prefer_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
