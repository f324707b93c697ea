/*
 * tests/unit/search_world.h: searches of sessions, with the index and without it, and
 * the changes that can happen to the sessions.
 */
#ifndef SEARCH_WORLD_H
#define SEARCH_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "../lib/scratch.h"
#include "search/search.h"
#include "../lib/calls.h"

/* ------------------------------------------------------------------- worlds */

#define SESSIONS 6
#define ENTRIES 60

struct entry {
	char id[16], parent[16];
	char text[400];
	/* 0 user, 1 assistant, 2 a call, 3 a result, 4 compaction, 5 a title, 6 a label */
	int kind;
	int kept;                    /* for a compaction: the first entry that it keeps; -1: none */
};

struct session {
	char path[700];
	bool there;
	struct entry entry[ENTRIES];
	size_t nr;
	uint32_t next;
};

struct place {
	char dir[400], cache[500], db[600];
	char store[600];             /* a directory, unless a test chooses another store */
	char other[600];             /* another store; empty: none */
	struct session s[SESSIONS];
	struct chance c;
	bool indexed;                /* there must be an index */
};

static inline const char *nothing(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static inline struct grove *open_world(const struct place *p, bool cached)
{
	const char *stores[] = { p->store, p->other };
	struct grove_options opt = { .size = sizeof(opt), .cwd = p->dir, .home = p->dir, .getenv = nothing,
				     .stores = stores, .nr_stores = *p->other ? 2 : 1, .cache = cached ? p->cache : "" };
	struct grove *g;

	assert_int_equal(grove_open(&opt, &g), 0);
	return g;
}

static inline int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	scratch_make(p->dir, sizeof(p->dir));
	snprintf(p->store, sizeof(p->store), "%s/s", p->dir);
	snprintf(p->cache, sizeof(p->cache), "%s/c", p->dir);
	snprintf(p->db, sizeof(p->db), "%s/search.db", p->cache);
	assert_int_equal(mkdir(p->store, 0700), 0);
	for (int i = 0; i < SESSIONS; i++)
		snprintf(p->s[i].path, sizeof(p->s[i].path), "%s/s/s%d.jsonl", p->dir, i);
	p->indexed = true;
	*state = p;
	return 0;
}

static inline int teardown(void **state)
{
	struct place *p = *state;

	scratch_remove(p->dir);
	free(p);
	return 0;
}

static const char *const vocabulary[] = {
	"alpha", "Alpha", "beta", "betamax", "gamma_ray", "gammaRay", "delta", "x", "the", "The", "don't", "a.txt",
	"解析器", "修复", "修", "器", "日本語のテキスト", "한국어", "Привет", "привет", "naïve", "\\n", "\\\"q\\\"",
	"\\u0061lpha", "\\u4fee\\u590d", "\\u001b[31m", "😀", "C:\\\\dir", "alphabeta",
	"connect", "Connected", "connections", "connecting", "connectivity", "retry", "retries", "Retrying",
	"run", "running", "runs", "happy", "happiness", "sensible", "sensibility",
};
#define VOCABULARY (sizeof(vocabulary) / sizeof(*vocabulary))

static inline void random_text(struct place *p, char *out, size_t cap)
{
	size_t nr = 1 + chance_below(&p->c, 8), at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		const char *w = vocabulary[chance_below(&p->c, VOCABULARY)];
		/* with nothing in between, a capital would begin a new part of an identifier */
		bool small = *w < 'A' || *w > 'Z';
		const char *between = chance_below(&p->c, 8) ? " " : chance_below(&p->c, 2) && small ? "" : ", ";

		at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? between : "", w);
		assert_in_range(at, 0, cap - 1);
	}
}

static inline void add_entry(struct place *p, struct session *s)
{
	struct entry *e = &s->entry[s->nr];
	/* mostly below the last entry, otherwise a branch */
	size_t below = !s->nr ? 0 : chance_below(&p->c, 6) ? s->nr : 1 + chance_below(&p->c, (uint32_t)s->nr);

	if (s->nr == ENTRIES)
		return;
	memset(e, 0, sizeof(*e));
	snprintf(e->id, sizeof(e->id), "%08x", 1 + s->next++);
	if (below)
		memcpy(e->parent, s->entry[below - 1].id, sizeof(e->parent));
	e->kind = chance_below(&p->c, 12) ? (int)chance_below(&p->c, 4) : 4;
	if (e->kind < 4 && !chance_below(&p->c, 8))
		e->kind = 5 + (int)chance_below(&p->c, 2);
	e->kept = s->nr && chance_below(&p->c, 3) ? (int)chance_below(&p->c, (uint32_t)s->nr) : -1;
	random_text(p, e->text, sizeof(e->text));
	s->nr++;
}

static inline void put_entry(struct grove_buf *b, const struct session *s, const struct entry *e)
{
	static const char *const say[] = {
		"\"message\":{\"role\":\"user\",\"content\":\"%s\"}",
		"\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}",
		"\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"t\","
		"\"name\":\"bash\",\"arguments\":{\"command\":\"%s\",\"n\":[1,2]}}]}",
		"\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"t\",\"toolName\":\"bash\","
		"\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"isError\":false}",
		"\"summary\":\"%s\",\"tokensBefore\":1",
		"\"name\":\"%s\"",
		"\"targetId\":\"00000001\",\"label\":\"%s\"",
	};
	static const char *const types[] = { "message", "message", "message", "message", "compaction", "session_info",
					     "label" };
	char text[1000];

	snprintf(text, sizeof(text), say[e->kind], e->text);
	assert_int_equal(grove__buf_addf(b, "{\"type\":\"%s\",\"id\":\"%s\",\"parentId\":", types[e->kind],
					 e->id), 0);
	assert_int_equal(*e->parent ? grove__buf_addf(b, "\"%s\"", e->parent)
				    : grove__buf_add_str(b, "null"), 0);
	assert_int_equal(grove__buf_addf(b, ",\"timestamp\":\"2026-05-%02uT09:00:00.000Z\",%s",
					 1 + (unsigned)strtoul(e->id, NULL, 16) % 28, text), 0);
	if (e->kind == 4 && e->kept >= 0)
		assert_int_equal(grove__buf_addf(b, ",\"firstKeptEntryId\":\"%s\"",
						 s->entry[e->kept].id), 0);
	assert_int_equal(grove__buf_add_str(b, "}\n"), 0);
}

static inline void put_header(struct grove_buf *b, const struct session *s, const struct place *p)
{
	assert_int_equal(grove__buf_addf(b, "{\"type\":\"session\",\"version\":3,\"id\":\"id-%d\","
					 "\"timestamp\":\"2026-05-03T09:00:00.000Z\",\"cwd\":\"/w/%d\"}\n",
					 (int)(s - p->s), (int)(s - p->s) % 3), 0);
}

static inline void write_session(struct place *p, struct session *s)
{
	struct grove_buf b = GROVE_BUF_INIT;

	put_header(&b, s, p);
	for (size_t i = 0; i < s->nr; i++)
		put_entry(&b, s, &s->entry[i]);
	file_put(s->path, O_CREAT | O_TRUNC, b.ptr, b.len);
	grove__buf_release(&b);
	s->there = true;
}

/* ------------------------------------------------------------------ answers */

static inline int put_hit(struct grove_buf *b, const struct grove_hit *h)
{
	int rc = grove__buf_addf(b, "%u %lld ", h->in, (long long)h->time);

	rc = rc ? rc : grove_hit_json(h, b);
	return rc ? rc : grove__buf_add_char(b, '\n');
}

/* Writes the hits, one per line. */
static inline int ask(struct grove_search *s, const char *query, const struct grove_search_options *opt,
	       struct grove_buf *b)
{
	struct grove_hits *h;
	int rc = grove_search_run(s, query, opt, &h);

	for (size_t i = 0; !rc && i < grove_hits_count(h); i++)
		rc = put_hit(b, grove_hits_at(h, i));
	grove_hits_free(h);
	return rc;
}

static inline void warned(void *payload, enum grove_severity fatal, const struct grove_detail *why)
{
	(void)payload;
	(void)fatal;
	(void)why;
}

static inline struct grove_buf answer(const struct place *p, bool cached, unsigned flags, const char *query,
			       const struct grove_search_options *opt)
{
	struct grove *g = open_world(p, cached);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_search *s;
	struct grove_detail why;
	int rc;

	assert_int_equal(grove__buf_add(&b, "", 0), 0);
	g->warn = warned;
	assert_int_equal(grove_search_open(g, flags, &s), 0);
	rc = ask(s, query, opt, &b);
	if (rc) {
		grove_search_error(s, &why);
		fail_msg("%s: %d %s", query, rc, why.message);
	}
	/* a search without the index would find the same */
	if (cached && !flags && p->indexed && (!s->index || s->alone))
		fail_msg("%s: the index was not asked", query);
	grove_search_close(s);
	grove_close(g);
	return b;
}

static inline void assert_same(const struct place *p, const char *query, const struct grove_search_options *opt)
{
	struct grove_buf index = answer(p, true, 0, query, opt), scan = answer(p, false, 0, query, opt);
	struct grove_buf live = answer(p, true, GROVE_SEARCH_NO_INDEX, query, opt);

	if (strcmp(index.ptr, scan.ptr))
		fail_msg("%s: the index finds\n%sbut there is\n%s", query, index.ptr, scan.ptr);
	if (strcmp(live.ptr, scan.ptr))
		fail_msg("%s: live there is\n%sbut there is\n%s", query, live.ptr, scan.ptr);
	grove__buf_release(&index);
	grove__buf_release(&scan);
	grove__buf_release(&live);
}

static inline size_t lines_of(const struct grove_buf *b)
{
	size_t nr = 0;

	for (size_t i = 0; i < b->len; i++)
		nr += b->ptr[i] == '\n';
	return nr;
}

/* Returns how many hits are left out because another session has the same text at the same time. */
static inline size_t copies_of(const struct grove_buf *b)
{
	size_t nr = 0;

	for (const char *at = b->ptr; (at = strstr(at, "\"copies\":")); at++)
		nr += strtoul(at + 9, NULL, 10);
	return nr;
}

static inline bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Return true if a word may begin at `p`, and if one may end before it, as the search sees words. */
static inline bool parted_before(const char *text, const char *p)
{
	size_t n = (size_t)(p - text);

	if (!n || (n > 1 && !memcmp(p - 2, "\\n", 2)) || (n > 5 && !memcmp(p - 6, "\\u590d", 6)) ||
	    (n > 9 && !memcmp(p - 10, "\\u001b[31m", 10)))
		return true;
	return !is_plain(p[-1]) && !(n > 1 && ((unsigned char)p[-2] & 0xfe) == 0xd0);
}

static inline bool parted_behind(const char *p)
{
	return !is_plain(*p) && ((unsigned char)*p & 0xfe) != 0xd0 && strncmp(p, "\\u0061", 6) != 0;
}

/* Returns true if a text contains an ASCII word; uses none of the code that is tested. */
static inline bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; *p; p++)
		if (!strncasecmp(p, word, n) && parted_before(text, p) && parted_behind(p + n))
			return true;
	return false;
}

static inline void assert_count(const struct place *p, const char *word)
{
	struct grove_search_options opt = { .size = sizeof(opt), .limit = 10000, .in = 7 };
	char query[80];
	struct grove_buf found;
	size_t nr = 0;

	snprintf(query, sizeof(query), "=%s", word);
	found = answer(p, true, 0, query, &opt);
	for (int i = 0; i < SESSIONS; i++)
		for (size_t j = 0; p->s[i].there && j < p->s[i].nr; j++)
			nr += p->s[i].entry[j].kind < 5 && has_word(p->s[i].entry[j].text, word);
	if (lines_of(&found) + copies_of(&found) != nr)
		fail_msg("%s: %zu texts have it, found:\n%s", word, nr, found.ptr);
	grove__buf_release(&found);
}

static inline void random_query(struct place *p, char *out, size_t cap)
{
	static const char *const words[] = { "alpha", "ALPHA", "bet*", "beta", "\"gamma ray\"", "gamma_ray", "gammaRay", "ray", "x",
					     "the", "don't", "解析", "修", "修复", "器", "\"本語の\"", "国", "국어",
					     "ПРИВЕТ", "naïve", "\"the alpha\"", "delt*", "析*", "dir", "connect",
					     "connecti", "=connect", "=connected", "connecting", "retried", "retr",
					     "runs", "=run", "r", "\"retry\"", "happy", "sensibilities", "al" };
	size_t nr = 1 + chance_below(&p->c, 3), at = 0;

	for (size_t i = 0; i < nr; i++)
		at += (size_t)snprintf(out + at, cap - at, "%s%s%s", i ? " " : "",
				       i && !chance_below(&p->c, 4) ? "-" : "",
				       words[chance_below(&p->c, sizeof(words) / sizeof(*words))]);
	/* a space after the last word means that it is not a prefix */
	if (!chance_below(&p->c, 3))
		snprintf(out + at, cap - at, " ");
}

static inline void random_options(struct place *p, struct grove_search_options *opt)
{
	static const char *const roles[] = { "user", "assistant", "tool", "call" };

	*opt = (struct grove_search_options){ .size = sizeof(*opt), .limit = 10000 };
	if (!chance_below(&p->c, 3))
		opt->in = 1 + chance_below(&p->c, 15);
	if (!chance_below(&p->c, 5))
		opt->role = roles[chance_below(&p->c, 4)];
	if (!chance_below(&p->c, 5))
		opt->cwd = chance_below(&p->c, 2) ? "/w/1" : "/w";
	if (!chance_below(&p->c, 5))
		opt->since = 1777800000000 + (int64_t)chance_below(&p->c, 20) * 86400000;
	if (!chance_below(&p->c, 5))
		opt->until = 1778800000000 + (int64_t)chance_below(&p->c, 20) * 86400000;
	opt->strict = !chance_below(&p->c, 4);
	if (!chance_below(&p->c, 8))
		opt->agent = chance_below(&p->c, 2) ? "pi" : "claude";
}

static inline void assert_all_same(struct place *p, int queries)
{
	struct grove_search_options opt;
	char query[200];

	for (int i = 0; i < queries; i++) {
		random_query(p, query, sizeof(query));
		random_options(p, &opt);
		assert_same(p, query, &opt);
	}
}

/* ----------------------------------------------------------- what may happen */

static inline void grow(struct place *p, struct session *s)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t from = s->nr;

	for (uint32_t n = 1 + chance_below(&p->c, 4); n; n--)
		add_entry(p, s);
	for (; from < s->nr; from++)
		put_entry(&b, s, &s->entry[from]);
	if (b.len)
		file_put(s->path, O_APPEND, b.ptr, b.len);
	grove__buf_release(&b);
}

/* Replaces the text by another one of the same length, in place, and keeps the file's time. */
static inline void change_in_place(struct place *p, struct session *s)
{
	struct entry *e = &s->entry[chance_below(&p->c, (uint32_t)s->nr)];
	struct timespec times[2];
	struct stat st;
	char old[400];

	assert_int_equal(stat(s->path, &st), 0);
	memcpy(old, e->text, sizeof(old));
	for (int i = 0; i < 200 && (strlen(e->text) != strlen(old) || !strcmp(e->text, old)); i++)
		random_text(p, e->text, sizeof(e->text));
	if (strlen(e->text) != strlen(old))
		memcpy(e->text, old, sizeof(old));
	write_session(p, s);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, s->path, times, 0), 0);
}

static inline void replace(struct place *p, struct session *s)
{
	unlink(s->path);
	s->nr = 0;
	for (uint32_t n = chance_below(&p->c, 12); n; n--)
		add_entry(p, s);
	write_session(p, s);
}

static inline void tear(struct place *p, struct session *s)
{
	(void)p;
	file_put(s->path, O_APPEND, "{\"type\":\"mess", 13);
	/* the agent ends such a line before it writes the next one */
	file_put(s->path, O_APPEND, "\n", 1);
}

static inline void happen(struct place *p)
{
	struct session *s = &p->s[chance_below(&p->c, SESSIONS)];
	uint32_t what = chance_below(&p->c, 12);

	if (!s->there || !s->nr || what == 0) {
		replace(p, s);
	} else if (what < 7) {
		grow(p, s);
	} else if (what < 9) {
		change_in_place(p, s);
	} else if (what == 9) {
		unlink(s->path);
		s->there = false;
	} else if (what == 10) {
		tear(p, s);
	} else {
		s->nr = 1 + chance_below(&p->c, (uint32_t)s->nr);
		write_session(p, s);
	}
}

#endif
