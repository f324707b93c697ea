/*
 * op_claude.c: Claude Code's transcripts: the conversation, a list's facts,
 * a fork. PATH is the transcript.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `cache` "": as if the transcript had never been opened before. */
static int open_claude(struct grove **g, const char *cache)
{
	struct grove_options o = { .size = sizeof(o), .dialect = "claude", .cache = cache };

	return grove_open(&o, g) ? fail("open: %s", "grove") : 0;
}

/* Counts the elements of the first array in a document that arrives in pieces. */
struct counter {
	uint64_t bytes, nr;
	int depth, in_string, escaped, done, any;
};

static int discard(void *payload, const char *ptr, size_t len)
{
	(void)ptr;
	((struct counter *)payload)->bytes += len;
	return 0;
}

static int count(void *payload, const char *ptr, size_t len)
{
	struct counter *c = payload;

	for (const char *p = ptr, *end = ptr + len; p < end && !c->done; p++) {
		if (c->in_string) {
			if (c->escaped)
				c->escaped = 0;
			else if (*p == '\\')
				c->escaped = 1;
			else if (*p == '"')
				c->in_string = 0;
		} else if (*p == '"') {
			c->in_string = 1;
		} else if (*p == '{' || *p == '[') {
			c->any |= c->depth++ == 2;
		} else if (*p == '}' || *p == ']') {
			c->done = --c->depth == 1;
		} else if (*p == ',' && c->depth == 2) {
			c->nr++;
		}
	}
	c->bytes += len;
	return 0;
}

static int conversation(struct grove *g, const char *path, struct grove_sink sink, double *ms)
{
	struct grove_context_options co = { .size = sizeof(co), .mode = "sdk" };
	struct grove_session *s;
	double start = now_ms();
	int rc = grove_session_open(g, path, GROVE_OPEN_LAZY, &s);

	if (!rc)
		rc = grove_session_context(s, &co, sink);
	*ms = now_ms() - start;
	grove_session_close(s);
	return rc ? fail("messages: %s", grove_error_name(rc)) : 0;
}

/* The same for a transcript that another process has opened before. */
static int kept_conversation(const char *path, uint64_t bytes)
{
	struct counter first = { 0 }, again = { 0 };
	struct grove *g = NULL;
	char cache[4096];
	double ms = 0;
	int rc;

	snprintf(cache, sizeof(cache), "%s/cache", scratch());
	rc = open_claude(&g, cache);
	if (!rc)
		rc = conversation(g, path, (struct grove_sink){ discard, &first }, &ms);
	grove_close(g);
	put_ms("keeping_ms", ms);
	g = NULL;
	if (!rc)
		rc = open_claude(&g, cache);
	if (!rc)
		rc = conversation(g, path, (struct grove_sink){ discard, &again }, &ms);
	grove_close(g);
	put_ms("kept_ms", ms);
	return !rc && (first.bytes != bytes || again.bytes != bytes) ? fail("messages: two answers") : rc;
}

int op_messages(const char *path, size_t n)
{
	struct counter first = { 0 }, second = { 0 }, slow = { 0 };
	struct grove *g;
	double ms, ms2;
	int rc = open_claude(&g, "");

	(void)n;
	if (!rc)
		rc = conversation(g, path, (struct grove_sink){ discard, &first }, &ms);
	if (!rc)
		rc = conversation(g, path, (struct grove_sink){ discard, &second }, &ms2);
	if (!rc) {
		double ignored;

		put_ms("messages_ms", ms);
		put_ms("messages2_ms", ms2);
		put_count("bytes", first.bytes);
		rc = conversation(g, path, (struct grove_sink){ count, &slow }, &ignored);
		put_count("n", slow.nr + (uint64_t)slow.any);
	}
	if (!rc && (first.bytes != second.bytes || first.bytes != slow.bytes))
		rc = fail("messages: two answers");
	grove_close(g);
	return rc ? rc : kept_conversation(path, first.bytes);
}

int op_info(const char *path, size_t n)
{
	struct grove_options o = { .size = sizeof(o), .cache = "" };
	struct grove_list *l = NULL, *all = NULL;
	struct grove *g;
	double start = now_ms(), ms;
	int rc = grove_open(&o, &g) ? fail("open: %s", "grove") : 0;

	(void)n;
	if (!rc && grove_find(g, path, 0, &l))
		rc = fail("info: cannot read");
	ms = now_ms() - start;
	start = now_ms();
	if (!rc && grove_find(g, path, GROVE_FIND_COUNT, &all))
		rc = fail("info: cannot read");
	if (!rc) {
		const struct grove_list_item *a = grove_list_at(l, 0), *b = grove_list_at(all, 0);

		put_ms("info_ms", ms);
		put_ms("counted_ms", now_ms() - start);
		put_count("n", b->message_count);
		put_flag("found", *a->id != '\0');
		if (strcmp(a->first_message, b->first_message) || strcmp(a->cwd, b->cwd) ||
		    a->created != b->created || a->modified != b->modified)
			rc = fail("info: two answers");
	}
	grove_list_free(l);
	grove_list_free(all);
	grove_close(g);
	return rc;
}

static int one_fork(struct grove *g, const char *path, enum grove_sync sync, double *ms, uint64_t *bytes)
{
	struct grove_fork_options fo = { .size = sizeof(fo), .sync = sync, .dir = scratch() };
	struct grove_session *s = NULL, *copy = NULL;
	struct stat st;
	double start = now_ms();
	int rc = grove_session_open(g, path, GROVE_OPEN_READ, &s);

	if (!rc)
		rc = grove_session_fork(s, &fo, &copy);
	*ms = now_ms() - start;
	if (!rc && !stat(grove_session_path(copy), &st)) {
		*bytes = (uint64_t)st.st_size;
		unlink(grove_session_path(copy));
	}
	grove_session_close(copy);
	grove_session_close(s);
	return rc ? fail("fork: %s", grove_error_name(rc)) : 0;
}

int op_claude_fork(const char *path, size_t n)
{
	struct grove *g;
	uint64_t bytes = 0;
	double ms;
	int rc = open_claude(&g, "");

	(void)n;
	if (!rc)
		rc = one_fork(g, path, GROVE_SYNC_NONE, &ms, &bytes);
	if (!rc) {
		put_ms("fork_ms", ms);
		put_count("bytes", bytes);
		rc = one_fork(g, path, GROVE_SYNC_ALWAYS, &ms, &bytes);
		put_ms("fork_sync_ms", ms);
	}
	grove_close(g);
	return rc;
}
