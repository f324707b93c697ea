/*
 * tests/fuzz/fuzz_answers.c: a server's answers to `grove push` and `grove pull`.
 *
 * The input is used as each kind of answer, whole and line by line, as lines that are stored
 * temporarily, and as a stream of events. Reading it must end, and what is accepted must be
 * safe to use: texts contain no NUL, and names of files and logs stay below their session.
 */
#include "fuzz.h"

#include "answers.h"
#include "spool.h"

/* Checks a name with rules that are written independently of the library's code. */
static void check_name(const char *name)
{
	char part[1024];
	const char *p = name;

	CHECK(*name && strlen(name) <= 1000);
	while (*p) {
		size_t n = strcspn(p, "/");

		memcpy(part, p, n);
		part[n] = '\0';
		CHECK(*part && strcmp(part, ".") && strcmp(part, "..") && *part != '.');
		CHECK(!strpbrk(part, "\n\r\t\\"));
		CHECK(p[n] != '/' || p[n + 1]);
		p += n + (p[n] == '/');
	}
}

static int check_item(void *payload, const char *id, const char *key, const char *cwd)
{
	CHECK(*id && *key && cwd);
	++*(size_t *)payload;
	return 0;
}

static void one(struct grove_slice json)
{
	struct remote_session s;
	struct remote_put p = { 0 };
	size_t items = 0;
	uint64_t refused = 0;
	char *next = NULL;

	if (!remote_parse_about(json, &s)) {
		CHECK(s.there && *s.id && s.dialect);
		for (size_t i = 0; i < s.nr_files; i++) {
			size_t n = strlen(s.file_at[i].name);

			check_name(s.file_at[i].name);
			CHECK(n < 6 || strcmp(s.file_at[i].name + n - 6, ".jsonl"));
		}
		for (size_t i = 0; i < s.nr_logs; i++)
			check_name(s.log[i].sub);
	}
	remote_session_release(&s);
	remote_parse_list(json, check_item, &items, &refused, &next);
	free(next);
	if (!remote_parse_put(json, &p))
		CHECK(strlen(p.leaf) < sizeof(p.leaf));
}

/*
 * Lines arrive in pieces of any size, and must be the same as if they had come at once, up to the
 * limits.
 */
static void set_aside(const char *text, size_t len)
{
	enum { MOST = 40, LONGEST = 2000 };
	struct spool s = { .most = MOST };
	struct grove_slice line;
	size_t at = 0, n, size = 1, nr = 0;
	int rc = 0;

	while (at < len && !rc) {
		n = len - at < size ? len - at : size;
		rc = spool_add(&s, text + at, n, LONGEST);
		at += n;
		size = size * 3 % 1009 + 1;
	}
	CHECK(s.lines <= MOST && s.text.len <= MOST * LONGEST + LONGEST);
	CHECK(!spool_rewind(&s));
	for (at = 0; !rc && !spool_next(&s, &line); at += line.len + 1, nr++)
		CHECK(at + line.len <= len && !memcmp(text + at, line.ptr, line.len) &&
		      (at + line.len == len || text[at + line.len] == '\n'));
	CHECK(rc || (nr == s.lines + (s.part > 0) && at >= len));
	spool_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	/* a copy, so that the sanitizer notices any access beyond its end */
	char *text = fuzz_alloc(len);
	struct remote_event e = { 0 };
	size_t at = 0;

	if (len)
		memcpy(text, bytes, len);
	one((struct grove_slice){ text, len });
	set_aside(text, len);
	while (at < len) {
		const char *lf = memchr(text + at, '\n', len - at);
		size_t n = lf ? (size_t)(lf - text) - at : len - at;

		one((struct grove_slice){ text + at, n });
		if (remote_parse_event(&e, (struct grove_slice){ text + at, n }))
			CHECK(strlen(e.key) < sizeof(e.key));
		at += n + 1;
	}
	free(text);
	return 0;
}
