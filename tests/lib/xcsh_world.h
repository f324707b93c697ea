/*
 * tests/lib/xcsh_world.h: directories in which xcsh and oh-my-pi keep sessions,
 * and a callback that records the errors it is told of.
 *
 * Include after cmocka.h. XCSH_TEST(f) is a test whose state is a struct world.
 */
#ifndef TESTS_LIB_XCSH_WORLD_H
#define TESTS_LIB_XCSH_WORLD_H

#include "world.h"

#include "json/json.h"
#include "json/value.h"
#include "calls.h"

static struct {
	int calls, fatal;
	struct grove_detail last;
} told;

static inline void warn(void *payload, enum grove_severity fatal, const struct grove_detail *why)
{
	(void)payload;
	told.calls++;
	told.fatal += fatal;
	told.last = *why;
}

static inline int xcsh_setup(void **state)
{
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables, .warn = warn };
	struct world *w;

	world_setup(state);
	w = *state;
	grove_close(w->g);
	o.home = w->home;
	o.cwd = w->cwd;
	assert_int_equal(grove_open(&o, &w->g), 0);
	memset(&told, 0, sizeof(told));
	return 0;
}

static struct grove_buf looked_at[4];      /* the files whose lines line_of() returned last */
static unsigned look_turn;

static inline int xcsh_teardown(void **state)
{
	for (int i = 0; i < 4; i++)
		grove__buf_release(&looked_at[i]);
	return world_teardown(state);
}

#define XCSH_TEST(f) cmocka_unit_test_setup_teardown(f, xcsh_setup, xcsh_teardown)

static const char *const both[] = { "xcsh", "omp" };

/*
 * Returns the path of an agent's file in the home directory; it stays valid for the next few calls.
 */
static inline const char *in_home(const struct world *w, const char *dialect, const char *name)
{
	static char path[8][8192];
	static unsigned turn;
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s/.%s/agent/%s", w->home, dialect, name);
	return p;
}

static inline void make_dirs(const char *path)
{
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
}

/* Writes a session's file where the agent would keep it, and returns its path. */
static inline const char *put_file(struct world *w, const char *dialect, const char *bytes)
{
	const char *path = in_home(w, dialect, "sessions/-p/a.jsonl");

	make_dirs(in_home(w, dialect, "sessions/-p"));
	file_make(path, bytes);
	return path;
}

/* Returns a copy of the session's path, which outlives the session and the next few calls. */
static inline const char *path_of(struct grove_session *s)
{
	static char path[8][8192];
	static unsigned turn;
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s", grove_session_path(s));
	return p;
}

static inline struct grove_session *start(struct world *w, const char *dialect, unsigned flags)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = flags, .dialect = dialect };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	return s;
}

#define REPLY "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"yes\"}],\"provider\":\"p\",\"model\":\"m\"}"
#define MESSAGE(id, parent, message) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent STAMP ",\"message\":" message "}\n"
#define TALK ENTRY("u1", "null", "user", "one") MESSAGE("a1", "\"u1\"", REPLY)
#define SLOT_HEAD "{\"type\":\"title\",\"v\":1,\"title\":"

/* Returns line `n` of a file, from 0, without its newline. The last four results stay valid. */
static inline struct grove_slice line_of(const char *path, size_t n)
{
	struct grove_buf *b = &looked_at[look_turn++ % 4];
	const char *at, *lf;

	grove__buf_release(b);
	*b = file_bytes(path);
	at = b->ptr;
	for (; n; n--) {
		at = memchr(at, '\n', (size_t)(b->ptr + b->len - at));
		assert_non_null(at);
		at++;
	}
	lf = memchr(at, '\n', (size_t)(b->ptr + b->len - at));
	assert_non_null(lf);
	return grove__slice(at, (size_t)(lf - at));
}

static inline void assert_slice(struct grove_slice have, const char *want)
{
	if (have.len != strlen(want) || memcmp(have.ptr, want, have.len))
		fail_msg("%.*s\nis not\n%s", (int)have.len, have.ptr, want);
}

/* Returns true if the slice contains these words. */
static inline bool says(struct grove_slice s, const char *words)
{
	return s.len && memmem(s.ptr, s.len, words, strlen(words)) != NULL;
}

/* Asserts the names of an object's members, which commas separate. */
static inline void assert_keys(struct grove_slice object, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__json_iter it;

	grove__json_iter_init(&it, object);
	while (grove__json_next(&it))
		assert_int_equal(grove__buf_addf(&b, "%s%.*s", b.len ? "," : "", (int)it.key.len - 2,
						 it.key.ptr + 1), 0);
	assert_string_equal(b.ptr, want);
	grove__buf_release(&b);
}

/*
 * Returns a message with an image: `letters` copies of one letter, valid base64 if 4 divides their
 * number.
 */
static inline char *image_message(const char *role, size_t letters, char letter)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_addf(&b, "{\"role\":\"%s\",\"content\":[{\"type\":\"image\",\"data\":\"",
					 role), 0);
	while (letters--)
		assert_int_equal(grove__buf_add_char(&b, letter), 0);
	assert_int_equal(grove__buf_add_str(&b, "\",\"mimeType\":\"image/png\"}],\"provider\":\"p\",\"model\":\"m\"}"), 0);
	return b.ptr;
}

static inline struct grove_buf context_of(struct world *w, struct grove_session *s)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = view_of(w, s);

	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&b)), 0);
	grove_view_unref(v);
	return b;
}

static inline size_t files_in(const char *dir)
{
	struct grove_buf b;
	size_t n = 0;

	if (!is_there(dir))
		return 0;
	b = dir_names(dir);
	for (size_t i = 0; i < b.len; i++)
		n += b.ptr[i] == ' ';
	grove__buf_release(&b);
	return n;
}

/*
 * Counts the blobs in a directory; oh-my-pi may also give a blob a second name, with an extension.
 */
static inline size_t blobs_in(const char *dir)
{
	struct grove_buf b;
	size_t n = 0, start = 0;

	if (!is_there(dir))
		return 0;
	b = dir_names(dir);
	for (size_t i = 0; i < b.len; i++)
		if (b.ptr[i] == ' ') {
			n += i - start == 64;
			start = i + 1;
		}
	grove__buf_release(&b);
	return n;
}

static inline struct grove_buf name_of(struct world *w, struct grove_session *s)
{
	struct grove_view *v = view_of(w, s);
	struct grove_buf b = GROVE_BUF_INIT;

	if (grove_view_name(v))
		assert_int_equal(grove__buf_add_str(&b, grove_view_name(v)), 0);
	grove_view_unref(v);
	return b;
}

static inline void assert_name(struct world *w, struct grove_session *s, const char *want)
{
	struct grove_buf b = name_of(w, s);

	assert_string_equal(b.ptr ? b.ptr : "", want);
	grove__buf_release(&b);
}

/* Asserts the name that another reader of the file finds. */
static inline void assert_name_on_disk(struct world *w, const char *path, const char *want)
{
	struct grove_session *s = session_at(w, path, GROVE_OPEN_READ);

	assert_name(w, s, want);
	grove_session_close(s);
}

/* --------------------------------------------------------- the disk says no */

struct before {
	struct grove_buf file;
	uint32_t count;
	char leaf[64];
};

static inline void remember(struct world *w, struct grove_session *s, struct before *b)
{
	struct grove_view *v = view_of(w, s);

	b->file = file_bytes(grove_session_path(s));
	b->count = grove_view_count(v);
	snprintf(b->leaf, sizeof(b->leaf), "%s", grove_session_leaf(s));
	grove_view_unref(v);
}

/* Asserts that a failed change has left neither the session nor its file changed. */
static inline void assert_unchanged(struct world *w, struct grove_session *s, struct before *b)
{
	struct grove_view *v = view_of(w, s);

	assert_file(grove_session_path(s), b->file.ptr);
	assert_int_equal(grove_view_count(v), b->count);
	assert_leaf(s, b->leaf);
	grove_view_unref(v);
	grove__buf_release(&b->file);
}

static inline void assert_latched(struct world *w, struct grove_session *s, int code)
{
	struct grove_detail first, d;

	grove_session_error(s, &first);
	assert_int_equal(first.code, code);
	assert_int_equal(told.calls, 1);
	assert_int_equal(told.fatal, 1);
	assert_int_equal(told.last.code, code);
	assert_true(told.last.path[0] != '\0');
	/* the disk works again, but the session stays failed */
	GOT(w, grove_session_append(s, text(REPLY), NULL, NULL), code);
	grove_session_error(s, &d);
	assert_string_equal(d.message, told.last.message);
	assert_string_equal(d.path, told.last.path);
	GOT(w, name_session(s, "x", GROVE_NAME_BY_USER, NULL), code);
	GOT(w, grove_session_append_label(s, "u1", "x", NULL, NULL), code);
	GOT(w, grove_session_update(s, "u1", "/message/content", "\"x\""), code);
	GOT(w, grove_session_set_leaf(s, "u1", LEAF(GROVE_LEAF_PERSIST), NULL), code);
	assert_int_equal(told.calls, 1);
}

static inline void assert_works_again(struct world *w, const char *path, size_t lines)
{
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);

	assert_int_equal(lines_in(path), lines);
	say(w, s, REPLY);
	assert_int_equal(lines_in(path), lines + 1);
	assert_int_equal(counts_of(w, s).malformed, 0);
	grove_session_close(s);
}

#endif
