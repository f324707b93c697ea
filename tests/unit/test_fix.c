/*
 * tests/unit/test_fix.c: repairing sessions.
 *
 * Sound sessions of every dialect are damaged at random. A repaired session has
 * no damage left that can be repaired, entries that were not affected keep
 * their bytes, and the damaged session can be restored byte for byte from the
 * file that is kept beside it. If anything fails on the way, the session is
 * either repaired or unchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "../lib/world.h"

#include "dialect/dialect.h"
#include "json/value.h"
#include "session/session.h"

/* ------------------------------------------------------------------- faults */

static long countdown = -1;

static int due(void)
{
	return countdown >= 0 && countdown-- == 0;
}

#define ALLOC_DUE due
#include "../lib/alloc.h"

static long calls = -1;
static int call_error;

static int nth_call(const char *call)
{
	(void)call;
	return calls-- == 0 ? call_error : 0;
}

/* ------------------------------------------------------------- what is there */

/* The one file beside `path` that holds what was cut; false: none. More than one is a failure. */
static bool cut_beside(const char *path, char out[8192])
{
	char dir[8192], *slash;
	const char *name;
	struct dirent *e;
	unsigned nr = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	*slash = '\0';
	name = slash + 1;
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, name, strlen(name)) &&
		    !strncmp(e->d_name + strlen(name), ".cut-", 5)) {
			assert_in_range(snprintf(out, 8192, "%s/%s", dir, e->d_name), 1, 8191);
			nr++;
		}
	closedir(d);
	assert_in_range(nr, 0, 1);
	return nr;
}

static uint64_t number(struct grove_slice json, const char *name)
{
	struct grove_slice v = grove__json_get(json, name);

	assert_non_null(v.ptr);
	return (uint64_t)grove__json_number(v);
}

/* Put one piece back: the bytes behind `at` of `now`, `put` of them, were `raw`. */
static void put_back(struct grove_buf *now, struct grove_slice head, struct grove_slice raw)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t at = (size_t)number(head, "at"), put = (size_t)number(head, "put");

	assert_true(at + put <= now->len);
	assert_int_equal(grove__buf_add(&b, now->ptr, at), 0);
	assert_int_equal(grove__buf_add_slice(&b, raw), 0);
	if (grove__json_get(head, "lf").ptr)
		assert_int_equal(grove__buf_add_char(&b, '\n'), 0);
	assert_int_equal(grove__buf_add(&b, now->ptr + at + put, now->len - at - put), 0);
	grove__buf_release(now);
	*now = b;
}

/* What the mended bytes were before. */
static void restore(struct grove_buf *now, const char *cut)
{
	struct { struct grove_slice head, raw; } piece[4096];
	struct grove_buf c = file_bytes(cut);
	const char *at, *end = c.ptr + c.len;
	struct stat st;
	size_t nr = 0;

	assert_int_equal(stat(cut, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	at = (const char *)memchr(c.ptr, '\n', c.len) + 1;
	while (at < end) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));

		assert_non_null(lf);
		assert_true(nr < 4096);
		piece[nr].head = (struct grove_slice){ at, (size_t)(lf - at) };
		piece[nr].raw = (struct grove_slice){ lf + 1, (size_t)number(piece[nr].head, "length") };
		at = lf + 1 + piece[nr].raw.len;
		assert_true(at < end && *at == '\n');
		at++;
		nr++;
	}
	while (nr--)
		put_back(now, piece[nr].head, piece[nr].raw);
	grove__buf_release(&c);
}

/* Are all bytes of `small` in `large`, in their order? */
static bool is_within(const struct grove_buf *small, const struct grove_buf *large)
{
	size_t i = 0;

	for (size_t j = 0; i < small->len && j < large->len; j++)
		i += small->ptr[i] == large->ptr[j];
	return i == small->len;
}

static void assert_bytes(const struct grove_buf *got, const struct grove_buf *want, const char *what)
{
	if (got->len == want->len && !memcmp(got->ptr ? got->ptr : "", want->ptr ? want->ptr : "", got->len))
		return;
	fprintf(stderr, "--- want\n%.*s\n", (int)want->len, want->ptr);
	fprintf(stderr, "--- got\n%.*s\n", (int)got->len, got->ptr);
	fail_msg("%s", what);
}

static int only_what_stays(void *payload, const struct grove_problem *p)
{
	(void)payload;
	if (p->fixable)
		print_error("%s:%llu: %s: %s\n", p->path, (unsigned long long)p->line, p->kind, p->detail);
	return p->fixable ? 77 : 0;
}

/* ------------------------------------------------------------ random damage */

#define LINES 40

struct line {
	struct grove_buf text;
	char id[40];
	int parent;                /* number of a line; -1: none */
	bool touched;              /* damaged, gone, or there more than once */
};

struct log {
	const struct grove__dialect *dialect;
	struct line line[LINES];
	int nr;
	struct grove_buf bytes;    /* as damaged */
};

static void new_id(struct chance *c, const struct log *l, char out[40])
{
	uint8_t random[16];

	for (int i = 0; i < 16; i++)
		random[i] = (uint8_t)chance_below(c, 256);
	out[l->dialect->names.entry_id(random, false, out)] = '\0';
}

static const char *words(struct chance *c)
{
	static const char *const some[] = { "one", "{\\\"type\\\":\\\"message\\\"}", "ü→\\n", "a{", "}{", "\\\\",
					    "a longer text, so that most damage lies within it", "" };

	return some[chance_below(c, sizeof(some) / sizeof(*some))];
}

static void add_line(struct chance *c, struct log *l)
{
	struct line *x = &l->line[l->nr];
	bool claude = !grove__dialect_has_header(l->dialect), user = l->nr % 2;
	char parent[64] = "null";

	new_id(c, l, x->id);
	x->parent = l->nr > 1 ? (chance_below(c, 5) ? l->nr - 1 : 1 + (int)chance_below(c, (uint32_t)l->nr - 1))
			      : -1;
	if (x->parent >= 0)
		snprintf(parent, sizeof(parent), "\"%s\"", l->line[x->parent].id);
	if (claude)
		assert_int_equal(grove__buf_addf(&x->text,
						 "{\"parentUuid\":%s,\"isSidechain\":false,\"type\":\"%s\",\"message\":{\"role\":\"%s\","
						 "\"content\":\"%s\"},\"uuid\":\"%s\",\"timestamp\":\"2026-01-01T00:00:%02d.000Z\","
						 "\"cwd\":\"/w\",\"sessionId\":\"c0ffee00-0000-4000-8000-000000000001\"}",
						 parent, user ? "user" : "assistant", user ? "user" : "assistant", words(c),
						 x->id, l->nr), 0);
	else
		assert_int_equal(grove__buf_addf(&x->text,
						 "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":%s,\"timestamp\":"
						 "\"2026-01-01T00:00:%02d.000Z\",\"message\":{\"role\":\"%s\",\"content\":[{\"type\":\"text\","
						 "\"text\":\"%s\"}]}}",
						 x->id, parent, l->nr, user ? "user" : "assistant", words(c)), 0);
	/* where a value may span lines, some do */
	if (grove__dialect_by_value(l->dialect) && !chance_below(c, 6)) {
		size_t at = (size_t)(strstr(x->text.ptr, "\"message\":{") - x->text.ptr);

		assert_int_equal(grove__buf_add_char(&x->text, '\0'), 0);
		memmove(x->text.ptr + at + 1, x->text.ptr + at, x->text.len - at - 1);
		x->text.ptr[at] = '\n';
	}
	l->nr++;
}

static void make_log(struct chance *c, struct log *l, const struct grove__dialect *dialect)
{
	int nr = 3 + (int)chance_below(c, LINES - 3);

	*l = (struct log){ .dialect = dialect };
	/* a transcript of Claude's has no header: its place is taken by a line about the session */
	assert_int_equal(grove__buf_add_str(&l->line[0].text,
					    !grove__dialect_has_header(dialect)
						    ? "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"c0ffee00-0000-4000-8000-000000000001\"}"
						    : "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\","
						      "\"cwd\":\"/w\"}"), 0);
	l->line[0].parent = -1;
	l->nr = 1;
	while (l->nr < nr)
		add_line(c, l);
}

static void put(struct log *l, const char *ptr, size_t len)
{
	assert_int_equal(grove__buf_add(&l->bytes, ptr, len), 0);
}

static void flip(struct chance *c, struct line *x)
{
	if (x->text.len)
		x->text.ptr[chance_below(c, (uint32_t)x->text.len)] = (char)(1 + chance_below(c, 255));
	/* a line end would be two lines, of which one may be sound */
	for (size_t i = 0; i < x->text.len; i++)
		if (x->text.ptr[i] == '\n')
			x->text.ptr[i] = ' ';
}

/* Write the lines, each as it is or damaged in some way. */
static void damage(struct chance *c, struct log *l)
{
	static const char zeros[64];
	uint32_t rate = 2 + chance_below(c, 12);

	if (!chance_below(c, 20))
		put(l, "\xef\xbb\xbf", 3);
	for (int i = 0; i < l->nr; i++) {
		struct line *x = &l->line[i];
		bool lf = true;

		if (!chance_below(c, rate)) {
			x->touched = true;
			switch (chance_below(c, 10)) {
			case 0: /* torn, and the next one begins a line */
				grove__buf_cut(&x->text, chance_below(c, (uint32_t)x->text.len + 1));
				break;
			case 1: /* torn, and it does not */
				grove__buf_cut(&x->text, chance_below(c, (uint32_t)x->text.len + 1));
				lf = false;
				break;
			case 2: /* a line end was lost */
				lf = false;
				break;
			case 3: /* written twice */
				put(l, x->text.ptr, x->text.len);
				put(l, "\n", 1);
				break;
			case 4: /* never written */
				continue;
			case 5:
				flip(c, x);
				break;
			case 6: /* what a crash leaves */
				put(l, zeros, 1 + chance_below(c, 63));
				break;
			case 7:
				put(l, "42\n", 3);
				break;
			case 8: /* the same id, another entry */
				put(l, x->text.ptr, x->text.len - 1);
				put(l, ",\"x\":1}\n", 8);
				break;
			default: /* written late */
				if (i + 1 < l->nr) {
					struct line *y = &l->line[i + 1];

					y->touched = true;
					put(l, y->text.ptr, y->text.len);
					put(l, "\n", 1);
					put(l, x->text.ptr, x->text.len);
					put(l, "\n", 1);
					i++;
					continue;
				}
			}
		}
		put(l, x->text.ptr, x->text.len);
		if (lf)
			put(l, "\n", 1);
	}
	if (!chance_below(c, 3) && l->bytes.len) {
		size_t cut = chance_below(c, 100);

		if (cut < l->bytes.len) {
			grove__buf_cut(&l->bytes, l->bytes.len - cut);
			for (int i = l->nr - 3 > 0 ? l->nr - 3 : 0; i < l->nr; i++)
				l->line[i].touched = true;
		}
	}
}

static bool has_line(const struct grove_buf *b, const struct grove_buf *line)
{
	const char *at = b->ptr, *end = b->ptr + b->len, *hit;

	while (at < end && (hit = memmem(at, (size_t)(end - at), line->ptr, line->len))) {
		if ((hit == b->ptr || hit[-1] == '\n') && hit + line->len < end && hit[line->len] == '\n')
			return true;
		at = hit + 1;
	}
	return false;
}

/* Not touched, and not fused with one that was either. */
static bool is_sound(const struct log *l, int i)
{
	return i < 1 || (!l->line[i].touched && !l->line[i - 1].touched);
}

/* Entries that stand on lines of their own below one that does have no reason to change. */
static void assert_kept(const struct log *l, const struct grove_buf *now)
{
	for (int i = 1; i < l->nr; i++) {
		const struct line *x = &l->line[i];

		if (!is_sound(l, i) || !is_sound(l, x->parent))
			continue;
		if (has_line(now, &x->text))
			continue;
		fprintf(stderr, "--- was\n%.*s\n", (int)l->bytes.len, l->bytes.ptr);
		fprintf(stderr, "--- is\n%.*s\n", (int)now->len, now->ptr);
		fail_msg("an entry that was not touched has changed: %s", x->text.ptr);
	}
}

static const struct grove__dialect *const dialects[] = { &grove__dialect_pi, &grove__dialect_omp,
							 &grove__dialect_xcsh, &grove__dialect_claude };

/* Was there anything to mend? */
static bool one_log(struct world *w, struct chance *c, const struct grove__dialect *dialect, int nr)
{
	struct grove_fix_result r = { .size = sizeof(r) };
	struct grove_check_result cr = { .size = sizeof(cr) };
	struct grove_buf now, again;
	char name[64], cut[8192], path[8192];
	struct log l;
	bool has_cut, mended;

	snprintf(name, sizeof(name), "log-%s-%d.jsonl", dialect->name, nr);
	make_log(c, &l, dialect);
	damage(c, &l);
	snprintf(path, sizeof(path), "%s", in_world(w, name));
	file_put(path, O_CREAT | O_EXCL, l.bytes.ptr ? l.bytes.ptr : "", l.bytes.len);
	w->g->forced = dialect;
	OK(w, grove_fix(w->g, path, NULL, &r));
	mended = r.mended;
	now = file_bytes(path);
	/* every byte is in the one file or in the other */
	again = file_bytes(path);
	has_cut = cut_beside(path, cut);
	if (has_cut) {
		restore(&again, cut);
		assert_bytes(&again, &l.bytes, "what was taken out cannot be put back");
	} else {
		assert_true(is_within(&l.bytes, &now));
	}
	grove__buf_release(&again);
	/* nothing is left that could be mended, unless nothing could be done at all */
	if (mended)
		assert_kept(&l, &now);
	OK(w, grove_check(w->g, path, only_what_stays, NULL, &cr));
	/* and the second time nothing happens */
	OK(w, grove_fix(w->g, path, NULL, &r));
	assert_int_equal(r.changes, 0);
	again = file_bytes(path);
	assert_bytes(&again, &now, "mended twice");
	grove__buf_release(&again);
	grove__buf_release(&now);
	unlink(path);
	if (has_cut)
		unlink(cut);
	for (int i = 0; i < l.nr; i++)
		grove__buf_release(&l.line[i].text);
	grove__buf_release(&l.bytes);
	return mended;
}

static void whatever_happened_to_it_can_be_mended(void **state)
{
	struct chance c = chance_begin("fix");
	const char *rounds = getenv("GROVE_ROUNDS");
	int nr = rounds ? atoi(rounds) : 100, mended = 0;

	for (int i = 0; i < nr; i++)
		for (size_t d = 0; d < sizeof(dialects) / sizeof(*dialects); d++)
			mended += one_log(*state, &c, dialects[d], i);
	assert_true(mended > nr * 2);
}

/* ---------------------------------------------------------- others are there */

#define DAMAGED HEADER ENTRY("u1", "null", "user", "one") "{\"type\":\"mess\n" \
	ENTRY("a1", "\"gone\"", "assistant", "two")

static void assert_untouched(const char *path, const char *bytes)
{
	struct grove_buf now = file_bytes(path), want = GROVE_BUF_INIT;
	char cut[8192];

	assert_int_equal(grove__buf_add_str(&want, bytes), 0);
	assert_bytes(&now, &want, "it was changed");
	assert_false(cut_beside(path, cut));
	grove__buf_release(&now);
	grove__buf_release(&want);
}

static void a_session_that_somebody_writes_to_is_left_alone(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "busy.jsonl", DAMAGED);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	GOT(w, grove_fix(w->g, path, NULL, NULL), GROVE_ECONFLICT);
	assert_untouched(path, DAMAGED);
	close(fd);
	OK(w, grove_fix(w->g, path, NULL, NULL));
}

static int write_meanwhile(void *payload, const char *path, uint64_t changes)
{
	(void)payload;
	assert_int_equal(changes, 2);
	file_add(path, ENTRY("u2", "\"a1\"", "user", "three"));
	return 0;
}

static void a_session_that_grew_meanwhile_is_left_alone(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "grown.jsonl", DAMAGED);
	struct grove_fix_options o = { .size = sizeof(o), .confirm = write_meanwhile };

	GOT(w, grove_fix(w->g, path, &o, NULL), GROVE_ECONFLICT);
	assert_untouched(path, DAMAGED ENTRY("u2", "\"a1\"", "user", "three"));
}

static int change_a_byte(void *payload, const char *path, uint64_t changes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	(void)payload;
	(void)changes;
	assert_int_equal(pwrite(fd, "X", 1, (off_t)strlen(HEADER) + 3), 1);
	close(fd);
	return 0;
}

static void a_session_that_became_another_of_the_same_size_is_left_alone(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "other.jsonl", DAMAGED);
	struct grove_fix_options o = { .size = sizeof(o), .confirm = change_a_byte };
	char want[sizeof(DAMAGED)] = DAMAGED;

	want[strlen(HEADER) + 3] = 'X';
	GOT(w, grove_fix(w->g, path, &o, NULL), GROVE_ECONFLICT);
	assert_untouched(path, want);
}

static int refuse(void *payload, const char *path, uint64_t changes)
{
	(void)path;
	(void)changes;
	++*(int *)payload;
	return 1;
}

static int stop(void *payload, const struct grove_fix_change *c)
{
	assert_int_equal(c->line, 3);
	assert_string_equal(c->kind, "malformed");
	assert_null(c->new_text.ptr);
	++*(int *)payload;
	return 99;
}

static void whoever_asked_may_say_no(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "no.jsonl", DAMAGED);
	int asked = 0;
	struct grove_fix_options o = { .size = sizeof(o), .confirm = refuse, .payload = &asked };
	struct grove_fix_result r = { .size = sizeof(r) };

	OK(w, grove_fix(w->g, path, &o, &r));
	assert_int_equal(asked, 1);
	assert_int_equal(r.mended, 0);
	assert_untouched(path, DAMAGED);
	/* a change that is told may end it all */
	o.change = stop;
	assert_int_equal(grove_fix(w->g, path, &o, &r), 99);
	assert_int_equal(asked, 2);
	assert_untouched(path, DAMAGED);
	/* and a dry run asks nobody */
	o = (struct grove_fix_options){ .size = sizeof(o), .flags = GROVE_FIX_DRY_RUN, .confirm = refuse,
					.payload = &asked };
	OK(w, grove_fix(w->g, path, &o, &r));
	assert_int_equal(asked, 2);
	assert_int_equal(r.changes, 2);
	assert_untouched(path, DAMAGED);
}

static void an_old_version_stays_one(void **state)
{
	static const char old[] = "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
				  "{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT, now;
	const char *path;

	assert_int_equal(grove__buf_addf(&b, "%s{\"type\":\"mess", old), 0);
	path = make(w, "old.jsonl", b.ptr);
	OK(w, grove_fix(w->g, path, NULL, NULL));
	now = file_bytes(path);
	assert_string_equal(now.ptr, old);
	grove__buf_release(&now);
	grove__buf_release(&b);
}

/* ------------------------------------------------------------------ failures */

/* Something of everything. */
#define WRECK \
	ENTRY("u1", "null", "user", "one") \
	"{\"type\":\"message\",\"id\":\"t\",\"parentId\":\"u1\",\"message\":{\"role\":\"user\",\"content\":\"hel" \
	ENTRY("a1", "\"gone\"", "assistant", "two") \
	ENTRY("a1", "\"u1\"", "assistant", "another") \
	ENTRY("u2", "\"a1\"", "user", "three") \
	ENTRY("u2", "\"a1\"", "user", "three") \
	"42\n" ENTRY("c1", "\"c1\"", "user", "circle") "{\"type\":\"mess"

static int try_to_mend(struct world *w, const char *path)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables };
	struct grove *g = NULL;
	int rc = grove_open(&o, &g);

	if (!rc)
		rc = grove_fix(g, path, NULL, NULL);
	grove_close(g);
	return rc;
}

static void every_n(struct world *w, void (*arm)(long n))
{
	static const int errors[] = { EIO, ENOSPC, EACCES, EMFILE };
	char path[8192], cut[8192];
	int rc = -1, failures = 0;
	struct grove_buf want;
	long n;

	snprintf(path, sizeof(path), "%s", in_world(w, "wreck.jsonl"));
	make(w, "wreck.jsonl", WRECK);
	assert_int_equal(try_to_mend(w, path), 0);
	want = file_bytes(path);
	for (n = 0; rc; n++) {
		struct grove_buf now;
		bool over;

		if (cut_beside(path, cut))
			unlink(cut);
		unlink(path);
		make(w, "wreck.jsonl", WRECK);
		call_error = errors[n % 4];
		arm(n);
		rc = try_to_mend(w, path);
		over = countdown >= 0 || calls >= 0;
		arm(-1);
		now = file_bytes(path);
		if (rc && (now.len == want.len)) {
			/* the new one is in place, but who knows whether it would survive a crash */
			assert_int_equal(rc, GROVE_EIO);
			assert_bytes(&now, &want, "half mended");
			assert_true(cut_beside(path, cut));
		} else if (rc) {
			grove__buf_release(&now);
			now = file_bytes(path);
			assert_string_equal(now.ptr, WRECK);
			failures++;
		} else {
			assert_bytes(&now, &want, "mended in another way");
			assert_true(cut_beside(path, cut));
		}
		grove__buf_release(&now);
		/* a failure that does no harm */
		if (!rc && !over)
			rc = -1;
	}
	assert_true(n > 20 && failures > 10);
	grove__buf_release(&want);
}

static void arm_memory(long n)
{
	countdown = n;
}

static void arm_calls(long n)
{
	calls = n;
	grove__sys_fault = n < 0 ? NULL : nth_call;
}

static void the_nth_allocation_fails(void **state)
{
	every_n(*state, arm_memory);
}

static void the_nth_system_call_fails(void **state)
{
	every_n(*state, arm_calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(whatever_happened_to_it_can_be_mended),
		WORLD_TEST(a_session_that_somebody_writes_to_is_left_alone),
		WORLD_TEST(a_session_that_grew_meanwhile_is_left_alone),
		WORLD_TEST(a_session_that_became_another_of_the_same_size_is_left_alone),
		WORLD_TEST(whoever_asked_may_say_no),
		WORLD_TEST(an_old_version_stays_one),
		WORLD_TEST(the_nth_allocation_fails),
		WORLD_TEST(the_nth_system_call_fails),
	};

	scratch_prefer_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
