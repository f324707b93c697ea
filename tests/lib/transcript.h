/*
 * tests/lib/transcript.h: transcripts of Claude Code for a test, as files and
 * as open sessions.
 *
 * Include after cmocka.h.
 */
#ifndef TESTS_LIB_TRANSCRIPT_H
#define TESTS_LIB_TRANSCRIPT_H

#include "world.h"

#include "json/value.h"
#include "calls.h"

#define SID "11111111-2222-4333-8444-555555555555"

/* A record as Claude Code writes it; `t` is the second of its time stamp. */
#define RECORD(type, uuid, parent, t, content) \
	"{\"parentUuid\":" parent ",\"isSidechain\":false,\"type\":\"" type "\",\"message\":{\"role\":\"" type \
	"\",\"content\":" content "},\"uuid\":\"" uuid "\",\"timestamp\":\"2026-01-01T00:00:0" t ".000Z\"," \
	"\"userType\":\"external\",\"entrypoint\":\"cli\",\"cwd\":\"/w\",\"sessionId\":\"" SID \
	"\",\"version\":\"2.1.300\",\"gitBranch\":\"main\"}"
#define LINE(type, uuid, parent, t) RECORD(type, uuid, parent, t, "\"" uuid "\"") "\n"
#define NOTE(type, member, value) \
	"{\"type\":\"" type "\",\"" member "\":\"" value "\",\"sessionId\":\"" SID "\"}\n"

/* u1 - a1 - u2 - a2, and u3 - a3, a branch that begins below a1 */
#define FIRST LINE("user", "u1", "null", "1") LINE("assistant", "a1", "\"u1\"", "2")
#define ONE_WAY FIRST LINE("user", "u2", "\"a1\"", "3") LINE("assistant", "a2", "\"u2\"", "4")
#define TWO_WAYS ONE_WAY LINE("user", "u3", "\"a1\"", "5") LINE("assistant", "a3", "\"u3\"", "6")

#define USER(words) "{\"role\":\"user\",\"content\":\"" words "\"}"

/* Returns the directory in which Claude Code keeps the sessions of `cwd`. */
static inline const char *project_of(struct world *w, const char *cwd)
{
	static char path[8192];
	char *p = path + snprintf(path, sizeof(path), "%s/.claude/projects/", w->home);

	for (; *cwd; cwd++)
		*p++ = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *cwd) ? *cwd : '-';
	*p = '\0';
	return path;
}

static inline const char *session_file(struct world *w, const char *name)
{
	static char path[4][16384];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", project_of(w, w->cwd), name);
	return p;
}

/* Writes a transcript where Claude Code would keep it, and returns its path. */
static inline const char *transcript(struct world *w, const char *bytes)
{
	const char *path = session_file(w, SID ".jsonl");

	assert_int_equal(grove__sys_mkdirs(project_of(w, w->cwd), 0700), 0);
	file_make(path, bytes);
	return path;
}

/* Writes a file beside the transcript. */
static inline const char *beside(struct world *w, const char *name, const char *bytes)
{
	const char *path = session_file(w, name);
	char *dir = strdup(path);

	*strrchr(dir, '/') = '\0';
	assert_int_equal(grove__sys_mkdirs(dir, 0700), 0);
	free(dir);
	file_make(path, bytes);
	return path;
}

static inline struct grove_session *begin(struct world *w)
{
	struct grove_create_options o = { .size = sizeof(o), .dialect = "claude", .id = SID };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	return s;
}

static inline struct grove_session *opened(struct world *w, const char *bytes)
{
	return session_at(w, transcript(w, bytes), GROVE_OPEN_WRITE);
}

/*
 * Returns line n of a file, from 0; a negative n counts from the end. The last eight results stay
 * valid.
 */
static inline struct grove_slice line_of(const char *path, int n)
{
	static struct grove_buf kept[8];
	static unsigned turn;
	struct grove_buf b = file_bytes(path), *k = &kept[turn++ % 8];
	const char *p = b.ptr, *end = b.ptr + b.len, *lf;

	if (n < 0)
		n += (int)lines_in(path);
	while (n-- > 0) {
		lf = memchr(p, '\n', (size_t)(end - p));
		assert_non_null(lf);
		p = lf + 1;
	}
	lf = memchr(p, '\n', (size_t)(end - p));
	assert_non_null(lf);
	grove__buf_clear(k);
	assert_int_equal(grove__buf_add(k, p, (size_t)(lf - p)), 0);
	grove__buf_release(&b);
	return grove__buf_slice(k);
}

/*
 * Asserts the value of a member, as raw JSON ("a.b": member b of member a); a `want` of NULL: it is
 * absent.
 */
static inline void assert_raw(struct grove_slice line, const char *member, const char *want, const char *file,
		       int at)
{
	char name[64];
	const char *dot;

	while ((dot = strchr(member, '.'))) {
		snprintf(name, sizeof(name), "%.*s", (int)(dot - member), member);
		line = grove__json_get(line, name);
		member = dot + 1;
	}
	line = grove__json_get(line, member);
	if (want ? line.len == strlen(want) && !memcmp(line.ptr, want, line.len) : !line.ptr)
		return;
	print_error("%s:%d: %s is %.*s, not %s\n", file, at, member, (int)(line.ptr ? line.len : 7),
		    line.ptr ? line.ptr : "nothing", want ? want : "absent");
	_fail(file, at);
}
#define RAW(line, member, want) assert_raw(line, member, want, __FILE__, __LINE__)

static inline const char *q(const char *text)
{
	static char quoted[8][8200];
	static unsigned turn;
	char *p = quoted[turn++ % 8];

	snprintf(p, sizeof(quoted[0]), "\"%s\"", text);
	return p;
}

/* Asserts that the view's conversation consists of these ids, which blanks separate. */
static inline void assert_view_says(struct grove_view *v, const char *ids, const char *file, int at)
{
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t *rows;
	size_t nr;

	assert_int_equal(conversation_rows(v, grove_view_leaf(v), 0, &rows, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(grove_view_entry(v, rows[i], &e), 0);
		grove__buf_addf(&got, "%s%s", i ? " " : "", e.id);
	}
	free(rows);
	if (strcmp(got.ptr ? got.ptr : "", ids)) {
		print_error("%s:%d: the conversation is %s, not %s\n", file, at, got.ptr ? got.ptr : "", ids);
		_fail(file, at);
	}
	grove__buf_release(&got);
}

/* Asserts the same of a session, and that another reader of its file finds the same. */
static inline void assert_said(struct world *w, struct grove_session *s, const char *ids, const char *file,
			int at)
{
	struct grove_view *v = view_of(w, s);
	struct grove_session *other;

	assert_view_says(v, ids, file, at);
	grove_view_unref(v);
	if (!grove_session_path(s) || grove_session_pending(s))
		return;
	other = session_at(w, grove_session_path(s), GROVE_OPEN_READ);
	v = view_of(w, other);
	assert_view_says(v, ids, file, at);
	grove_view_unref(v);
	grove_session_close(other);
}
#define SAID(w, s, ids) assert_said(w, s, ids, __FILE__, __LINE__)

static inline const char *append_below(struct world *w, struct grove_session *s, const char *parent,
				const char *json)
{
	struct grove_append_options o = { .size = sizeof(o), .parent = parent };
	const char *id = NULL;

	OK(w, grove_session_append(s, text(json), &o, INTO(&id)));
	return id;
}

/* A message as an application passes it to grove. */
#define MESSAGE(type, uuid) \
	"{\"type\":\"" type "\",\"uuid\":\"" uuid "\",\"message\":{\"role\":\"" type "\",\"content\":\"" uuid "\"}}"

#endif
