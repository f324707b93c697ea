/*
 * tests/unit/test_cache.c: spines that were frozen, and images kept from one
 * process to the next.
 *
 * Random spines against themselves, each byte of a frozen one changed, and a
 * session large enough to be kept through all that can happen to it and to what
 * was kept: the answer is always that of a session that is read from nothing.
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

#include "tree/freeze.h"
#include "tree/tree.h"

#include "../lib/chance.h"
#include "../lib/world.h"

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

static unsigned melted;

static void melt(char *bytes, size_t len)
{
	(void)len;
	melted++;
	free(bytes);
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
		if (!b.ptr)
			write_block(&b, 4096, "", 1);
		melted = 0;
		t = grove__spine_thaw(&ice, b.ptr, b.len, melt);
		assert_non_null(t);
		assert_same(s, t);
		/* and it grows, beyond the block it was in, and beyond its map */
		for (unsigned k = 0; nr && k < 600; k++) {
			char id[32];

			snprintf(id, sizeof(id), "new-%u", k);
			if (grove__spine_id(s, nr - 1)) {
				add_one(s, id, grove__spine_id(s, s->nr - 1));
				add_one(t, id, grove__spine_id(t, t->nr - 1));
			}
		}
		assert_same(s, t);
		grove__spine_unref(s);
		grove__spine_unref(t);
		assert_int_equal(melted, 1);
	}
}

static void a_byte_that_changed_is_noticed(void **state)
{
	struct chance c = chance_begin("freeze damage");
	struct grove__spine *s = random_spine(&c, 700), *t;
	struct block b = { NULL, 0 };
	struct grove__ice ice;
	unsigned noticed = 0, tries = 4000;

	(void)state;
	assert_int_equal(grove__spine_freeze(s, 4096, &ice, write_block, &b), 0);
	for (unsigned i = 0; i < tries; i++) {
		struct block d = { malloc(b.len), b.len };
		size_t at = 4096 + (size_t)(chance_next(&c) % (b.len - 4096));

		memcpy(d.ptr, b.ptr, b.len);
		d.ptr[at] ^= (char)(1u << chance_next(&c) % 8);
		t = grove__spine_thaw(&ice, d.ptr, d.len, melt);
		/* what lies between the parts is never read */
		if (t)
			assert_same(s, t);
		else
			noticed++;
		grove__spine_unref(t);
		if (!t)
			free(d.ptr);
	}
	assert_in_range(noticed, tries / 4, tries);
	for (size_t len = 0; len < b.len; len += 997)
		assert_null(grove__spine_thaw(&ice, b.ptr, len, melt));
	grove__spine_unref(s);
	free(b.ptr);
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

/* The file that was kept; NULL: none was. */
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

/* All that a session says, with or without what was kept. */
static struct grove_buf told(struct world *w, const char *path, bool cached)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = cached ? NULL : "" };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	struct grove *g;

	assert_int_equal(grove_open(&g, &o), 0);
	assert_int_equal(grove_session_open(g, path, GROVE_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_tree(v, 1, grove_buf_sink(&b)), 0);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&b)), 0);
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
	/* a few lines more are not worth another file */
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
	/* the id in the header's line, in the last one, and the same size as ever */
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

	/* a file in the place of the directory */
	snprintf(cache, sizeof(cache), "%s/.cache", w->home);
	put_file(cache, "x", 1);
	assert_right(w, large_session(w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thawed_spine_is_the_same),
		cmocka_unit_test(a_byte_that_changed_is_noticed),
		WORLD_TEST(a_large_session_is_kept_and_extended),
		WORLD_TEST(a_small_one_is_not_and_nobody_has_to),
		WORLD_TEST(what_changed_in_its_place_is_read_again),
		WORLD_TEST(what_was_kept_may_be_damaged),
		WORLD_TEST(another_file_in_its_place_is_another_file),
		WORLD_TEST(where_nothing_can_be_written_nothing_is_kept),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
