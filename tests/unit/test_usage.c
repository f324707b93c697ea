/*
 * tests/unit/test_usage.c: each reply is counted once, even if it is stored
 * several times.
 */
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
#include "grove.h"
#include "sys/file.h"
#include "digest/billed.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static struct grove__billed line_of(const char *key, size_t len, int64_t time, double output)
{
	return (struct grove__billed){ .key = grove__slice(key, len), .model = grove__slice_str("m"),
				       .time = time, .input = 1, .output = output };
}

/* --- the table --- */

static void the_largest_counts_hold_at_the_earliest_time(void **state)
{
	/* time, output, log; in all orders the third is the earliest, the second the largest */
	static const int64_t lines[3][3] = { { 20, 5, 1 }, { 30, 9, 0 }, { 10, 1, 2 } };
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	(void)state;
	for (int o = 0; o < 6; o++) {
		struct grove__replies rs;

		grove__replies_init(&rs);
		for (int i = 0; i < 3; i++) {
			const int64_t *l = lines[orders[o][i]];
			struct grove__billed x = line_of("k", 1, l[0], (double)l[1]);

			assert_int_equal(grove__replies_add(&rs, &x, (uint32_t)l[2], false), 0);
		}
		assert_int_equal(rs.nr, 1);
		assert_int_equal(rs.all[0].output, 9);
		assert_int_equal(rs.all[0].time, 10);
		assert_int_equal(rs.all[0].log, 2);
		grove__replies_release(&rs);
	}
}

static void at_the_same_time_the_first_log_has_it(void **state)
{
	struct grove__billed x = line_of("k", 1, 5, 1), never = line_of("k", 1, GROVE_NO_TIME, 1);
	struct grove__replies rs;

	(void)state;
	grove__replies_init(&rs);
	assert_int_equal(grove__replies_add(&rs, &never, 1, false), 0);
	assert_int_equal(rs.all[0].log, 1);
	assert_int_equal(grove__replies_add(&rs, &x, 7, false), 0);
	assert_int_equal(rs.all[0].log, 7);
	assert_int_equal(grove__replies_add(&rs, &x, 3, false), 0);
	assert_int_equal(grove__replies_add(&rs, &x, 4, false), 0);
	assert_int_equal(grove__replies_add(&rs, &never, 0, false), 0);
	assert_int_equal(rs.nr, 1);
	assert_int_equal(rs.all[0].log, 3);
	grove__replies_release(&rs);
}

static void what_has_no_key_is_never_merged_and_nothing_is_no_reply(void **state)
{
	struct grove__billed x = line_of("", 0, 5, 1), nothing = { .time = 1 };
	struct grove__replies rs;

	(void)state;
	grove__replies_init(&rs);
	assert_int_equal(grove__replies_add(&rs, &x, 0, false), 0);
	assert_int_equal(grove__replies_add(&rs, &x, 0, false), 0);
	assert_int_equal(grove__replies_add(&rs, &nothing, 0, false), 0);
	assert_int_equal(rs.nr, 2);
	grove__replies_release(&rs);
}

static void a_sum_is_told_if_any_copy_has_the_logs(void **state)
{
	struct grove__billed x = line_of("k", 1, 5, 1);
	struct grove__replies rs;

	(void)state;
	x.of_subs = true;
	grove__replies_init(&rs);
	assert_int_equal(grove__replies_add(&rs, &x, 0, false), 0);
	assert_false(rs.all[0].told);
	assert_int_equal(grove__replies_add(&rs, &x, 1, true), 0);
	assert_int_equal(grove__replies_add(&rs, &x, 2, false), 0);
	assert_true(rs.all[0].told);
	grove__replies_release(&rs);
}

static void absurd_numbers_stay_numbers(void **state)
{
	struct grove__billed x = line_of("k", 1, 5, INFINITY);
	struct grove__replies rs;

	(void)state;
	x.has_cost = true;
	x.cost = INFINITY;
	x.model = grove__slice("a\0b", 3);
	grove__replies_init(&rs);
	for (int i = 0; i < 3; i++)
		assert_int_equal(grove__replies_add(&rs, &x, 0, false), 0);
	assert_int_equal(rs.all[0].output, (1ull << 53) - 1);
	assert_true(isfinite(rs.all[0].cost));
	assert_int_equal(rs.nr_models, 1);
	grove__replies_release(&rs);
}

static void many_replies_are_told_apart(void **state)
{
	enum { NR = 200000 };
	struct grove__replies rs;
	char key[32];

	(void)state;
	grove__replies_init(&rs);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < NR; i++) {
			size_t n = (size_t)snprintf(key, sizeof(key), "%d", i);
			struct grove__billed x = line_of(key, n, i, i + round);

			assert_int_equal(grove__replies_add(&rs, &x, 0, false), 0);
		}
	assert_int_equal(rs.nr, NR);
	for (int i = 0; i < NR; i++)
		assert_int_equal(rs.all[i].output, i + 1);
	grove__replies_release(&rs);
}

/* --- lines --- */

struct lines {
	const struct grove__dialect *dialect;
	struct grove__json_want want;
	struct grove__json_member members[GROVE__JSON_WANT_MAX];
	struct grove__arena tmp;
	struct grove__replies replies;
};

static void lines_begin(struct lines *ls, const struct grove__dialect *dialect)
{
	unsigned nr = dialect->read.nr_members;

	ls->dialect = dialect;
	assert_in_range(nr + dialect->usage.nr_members, 1, GROVE__JSON_WANT_MAX);
	memcpy(ls->members, dialect->read.members, nr * sizeof(*ls->members));
	if (dialect->usage.nr_members)
		memcpy(ls->members + nr, dialect->usage.members,
		       dialect->usage.nr_members * sizeof(*ls->members));
	grove__json_want_init(&ls->want, ls->members, nr + dialect->usage.nr_members);
	grove__arena_init(&ls->tmp);
	grove__replies_init(&ls->replies);
}

static void lines_end(struct lines *ls)
{
	grove__arena_release(&ls->tmp);
	grove__replies_release(&ls->replies);
}

/* A line with ' for ". Was it billed, and what for? */
static bool bill_as(struct lines *ls, const char *text, struct grove__billed *x)
{
	size_t n = strlen(text);
	char *line = grove__arena_alloc(&ls->tmp, n + GROVE__JSON_PAD, 1);
	struct grove__json_line l;
	struct grove__entry e;
	int rc;

	assert_non_null(line);
	memset(line, 0, n + GROVE__JSON_PAD);
	for (size_t i = 0; i < n; i++)
		line[i] = text[i] == '\'' ? '"' : text[i];
	assert_int_equal(grove__json_scan(&ls->want, line, n, true, &l), JSON_VALUE);
	assert_int_equal(ls->dialect->read.index(&l, line, &ls->tmp, &e), LINE_ENTRY);
	rc = ls->dialect->usage.billed(&l, line, &ls->tmp, &e, x);
	if (!rc)
		assert_int_equal(grove__replies_add(&ls->replies, x, 0, false), 0);
	else
		assert_int_equal(rc, 1);
	return !rc;
}

static bool bill(struct lines *ls, const char *text)
{
	struct grove__billed x;

	return bill_as(ls, text, &x);
}

#define CLAUDE(id, request, in, out) \
	"{'type':'assistant','message':{'id':" id ",'model':'m1','usage':{'input_tokens':" in \
	",'output_tokens':" out ",'cache_creation_input_tokens':7,'cache_read_input_tokens':100}}" request "}"

static void message_and_request_make_a_reply_in_claude(void **state)
{
	const struct grove__reply *r;
	struct lines ls;

	(void)state;
	lines_begin(&ls, &grove__dialect_claude);
	assert_true(bill(&ls, CLAUDE("'a'", ",'requestId':'r'", "10", "1")));
	bill(&ls, CLAUDE("'a'", ",'requestId':'r'", "10", "90"));
	bill(&ls, CLAUDE("'a'", ",'requestId':'r'", "10", "40"));
	assert_int_equal(ls.replies.nr, 1);
	r = &ls.replies.all[0];
	assert_true(r->input == 10 && r->output == 90 && r->cache_read == 100 && r->cache_write == 7);
	assert_true(isnan(r->cost));
	/* another request is another reply; two that lack it are one */
	bill(&ls, CLAUDE("'a'", ",'requestId':'r2'", "1", "1"));
	bill(&ls, CLAUDE("'a'", "", "1", "1"));
	bill(&ls, CLAUDE("'a'", "", "1", "1"));
	assert_int_equal(ls.replies.nr, 3);
	/* without an id nothing is known to be the same */
	bill(&ls, CLAUDE("null", ",'requestId':'r'", "1", "1"));
	bill(&ls, CLAUDE("null", ",'requestId':'r'", "1", "1"));
	assert_int_equal(ls.replies.nr, 5);
	assert_int_equal(ls.replies.nr_models, 1);
	assert_false(bill(&ls, "{'type':'user','message':{'usage':{'input_tokens':5}}}"));
	assert_false(bill(&ls, "{'type':'assistant','message':{'id':'z','usage':null}}"));
	lines_end(&ls);
}

static void a_copy_names_the_session_it_is_billed_to_in_claude(void **state)
{
	static const struct {
		const char *line, *origin;
	} cases[] = {
		{ CLAUDE("'a'", ",'sessionId':'own'", "1", "1"), "" },
		{ CLAUDE("'a'", ",'sessionId':'own','requestSessionId':'first'", "1", "1"), "first" },
		{ CLAUDE("'a'", ",'requestSessionId':'first','forkedFrom':{'sessionId':'near'}", "1", "1"), "first" },
		{ CLAUDE("'a'", ",'forkedFrom':{'sessionId':'near','messageUuid':'u'}", "1", "1"), "near" },
		{ CLAUDE("'a'", ",'requestSessionId':7,'forkedFrom':'near'", "1", "1"), "" },
		{ "{'requestSessionId':'first','type':'assistant','message':{'usage':{'input_tokens':1}}}", "first" },
		{ "{'type':'assistant','message':{'requestSessionId':'no','usage':{'input_tokens':1}}}", "" },
	};
	struct grove__billed x;
	struct lines ls;

	(void)state;
	lines_begin(&ls, &grove__dialect_claude);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(bill_as(&ls, cases[i].line, &x));
		assert_int_equal(x.origin.len, strlen(cases[i].origin));
		assert_memory_equal(x.origin.len ? x.origin.ptr : "", cases[i].origin, x.origin.len);
	}
	lines_end(&ls);
}

static void what_a_line_tells_of_costs_is_known_in_claude(void **state)
{
	static const char line[] =
		"{'type':'assistant','message':{'id':'%s','usage':{'output_tokens':1,"
		"'cache_creation_input_tokens':50,'cache_creation':{'ephemeral_5m_input_tokens':20,"
		"'ephemeral_1h_input_tokens':30}}},%s}";
	static const struct {
		const char *rest;
		double cost;             /* -1: none */
	} cases[] = {
		{ "'version':'0.2.9','costUSD':0.25", 0.25 }, { "'costUSD':0.5,'version':'1.0.3'", 0.5 },
		{ "'costUSD':0", 0 }, { "'version':'1.0.100'", -1 }, { "'version':'1.0.3','costUSD':null", -1 },
		{ "'version':'2.0.1'", -1 },
	};
	struct lines ls;
	char text[400], id[2] = "a";

	(void)state;
	lines_begin(&ls, &grove__dialect_claude);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++, id[0]++) {
		const struct grove__reply *r;

		snprintf(text, sizeof(text), line, id, cases[i].rest);
		assert_true(bill(&ls, text));
		r = &ls.replies.all[i];
		assert_true(r->cache_write == 50 && r->cache_write_long == 30);
		assert_true(cases[i].cost < 0 ? isnan(r->cost) : r->cost == cases[i].cost);
	}
	lines_end(&ls);
}

#define PI(id, time, out) \
	"{'type':'message'," id "'message':{'role':'assistant','usage':{'output':" out \
	",'input':-5,'cacheRead':'x','cost':{'total':0.5}}," time "'model':'m1'}}"

static void entry_and_time_make_a_reply_in_the_family_of_pi(void **state)
{
	static const struct grove__dialect *const family[] = {
		&grove__dialect_pi, &grove__dialect_xcsh, &grove__dialect_omp
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct lines ls;

		lines_begin(&ls, family[i]);
		assert_true(bill(&ls, PI("'id':'a',", "'timestamp':1,", "5")));
		bill(&ls, PI("'id':'a',", "'timestamp':1,", "7"));
		assert_int_equal(ls.replies.nr, 1);
		assert_int_equal(ls.replies.all[0].output, 7);
		assert_int_equal(ls.replies.all[0].input + ls.replies.all[0].cache_read, 0);
		assert_true(ls.replies.all[0].cost == 0.5);
		bill(&ls, PI("'id':'a',", "'timestamp':2,", "5"));
		bill(&ls, PI("'id':'b',", "'timestamp':1,", "5"));
		assert_int_equal(ls.replies.nr, 3);
		/* without an id a copy has the same bytes */
		bill(&ls, PI("", "'timestamp':1,", "5"));
		bill(&ls, PI("", "'timestamp':1,", "5"));
		bill(&ls, PI("", "'timestamp':1,", "6"));
		assert_int_equal(ls.replies.nr, 5);
		assert_false(bill(&ls, "{'type':'message','message':{'role':'user','usage':{'input':1}}}"));
		assert_false(bill(&ls, "{'type':'message','message':{'role':'assistant'}}"));
		assert_false(bill(&ls, "{'type':'message','message':7}"));
		lines_end(&ls);
	}
}

static void what_else_is_billed_depends_on_the_agent(void **state)
{
	static const char *const line[] = {
		("{'type':'message','id':'1','message':{'role':'toolResult','toolName':'task',"
		 "'details':{'usage':{'input':1}}}}"),
		"{'type':'message','id':'2','message':{'role':'toolResult','toolName':'ask','usage':{'input':1}}}",
		"{'type':'compaction','id':'3','usage':{'input':1}}",
		"{'type':'branch_summary','id':'4','usage':{'input':1}}",
		"{'type':'usage','id':'5','usage':{'input':1}}",
		"{'type':'model_usage','id':'6','usage':{'input':1}}",
	};
	static const struct {
		const struct grove__dialect *dialect;
		bool billed[6];
	} agent[] = {
		{ &grove__dialect_pi, { false, true, true, true, true, false } },
		{ &grove__dialect_xcsh, { true, false, false, false, false, false } },
		{ &grove__dialect_omp, { true, false, false, false, false, true } },
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct lines ls;

		lines_begin(&ls, agent[i].dialect);
		for (int k = 0; k < 6; k++)
			assert_int_equal(bill(&ls, line[k]), agent[i].billed[k]);
		lines_end(&ls);
	}
}

/* --- files: any copies of any lines, in any order --- */

enum { REPLIES = 60, FILES = 12, DAYS = 5 };

struct model_reply {
	int written;
	int64_t time, begun;         /* of the earliest line, and of the first line of its file */
	unsigned file;
	unsigned output;             /* the largest */
};

/* The older file has a line that several have; at the same age, the first one by path. */
static void model_line(struct model_reply *m, unsigned file, int64_t begun, int64_t time, unsigned output)
{
	if (!m->written || time < m->time ||
	    (time == m->time && (begun < m->begun || (begun == m->begun && file < m->file)))) {
		m->time = time;
		m->begun = begun;
		m->file = file;
	}
	if (output > m->output)
		m->output = output;
	m->written = 1;
}

static void put_line(struct grove_buf *out, bool claude, unsigned nr, int64_t time, unsigned output)
{
	char iso[32];
	time_t t = (time_t)time;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%S.000Z", &tm);
	if (claude)
		assert_int_equal(grove__buf_addf(out,
			"{\"parentUuid\":null,\"isSidechain\":false,\"cwd\":\"/w\",\"sessionId\":\"s\","
			"\"uuid\":\"u%llu\",\"type\":\"assistant\",\"requestId\":\"r%u\",\"message\":{\"id\":\"m%u\","
			"\"role\":\"assistant\",\"model\":\"x%u\",\"content\":[],\"usage\":{\"input_tokens\":%u,"
			"\"output_tokens\":%u}},\"timestamp\":\"%s\"}\n",
			(unsigned long long)out->len, nr, nr, nr % 3, nr, output, iso), 0);
	else
		assert_int_equal(grove__buf_addf(out,
			"{\"type\":\"message\",\"id\":\"e%u\",\"parentId\":null,\"timestamp\":\"%s\",\"message\":"
			"{\"role\":\"assistant\",\"model\":\"x%u\",\"content\":[],\"usage\":{\"input\":%u,"
			"\"output\":%u,\"cacheRead\":0,\"cacheWrite\":0,\"cost\":{\"total\":0.%u}},\"timestamp\":%u}}\n",
			nr, iso, nr % 3, nr, output, nr + 1, nr), 0);
}

/* Name of file `i`, so that file 0 is the first by path, whatever the run. */
static void file_path(char *out, size_t size, const char *dir, bool claude, unsigned i)
{
	if (claude)
		snprintf(out, size, "%s/p/%08x-1111-4111-8111-111111111111.jsonl", dir, i);
	else
		snprintf(out, size, "%s/p/%04u.jsonl", dir, i);
}

static void fill(const char *dir, bool claude, struct chance *c, struct model_reply *model)
{
	memset(model, 0, REPLIES * sizeof(*model));
	for (unsigned f = 0; f < FILES; f++) {
		struct grove_buf b = GROVE_BUF_INIT;
		unsigned nr = chance_below(c, 40);
		int64_t begun = 0;
		char path[4096];

		if (!claude)
			assert_int_equal(grove__buf_addf(&b,
				"{\"type\":\"session\",\"version\":3,\"id\":\"s%u\","
				"\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n", f), 0);
		for (unsigned i = 0; i < nr; i++) {
			unsigned r = chance_below(c, REPLIES), output = 1 + chance_below(c, 9);
			int64_t time = 1767225600 + (int64_t)chance_below(c, DAYS) * 86400;

			/* pi's headers have all the same time */
			begun = claude && !i ? time : begun;
			put_line(&b, claude, r, time, output);
			model_line(&model[r], f, begun, time, output);
		}
		file_path(path, sizeof(path), dir, claude, f);
		file_put(path, O_CREAT | O_TRUNC, b.ptr ? b.ptr : "", b.len);
		grove__buf_release(&b);
	}
}

static void key_of(char *out, size_t size, enum grove_usage_by by, bool claude, unsigned nr,
		   const struct model_reply *m)
{
	time_t t = (time_t)m->time;
	struct tm tm;

	gmtime_r(&t, &tm);
	if (by == GROVE_USAGE_DAY)
		strftime(out, size, "%Y-%m-%d", &tm);
	else if (by == GROVE_USAGE_MODEL)
		snprintf(out, size, "x%u", nr % 3);
	else if (by == GROVE_USAGE_SESSION && claude)
		snprintf(out, size, "%08x-1111-4111-8111-111111111111", m->file);
	else if (by == GROVE_USAGE_SESSION)
		snprintf(out, size, "s%u", m->file);
	else if (by == GROVE_USAGE_PROJECT)
		snprintf(out, size, "/w");
	else
		snprintf(out, size, claude ? "claude" : "pi");
}

static void assert_usage(const char *dir, bool claude, const struct model_reply *model)
{
	const char *const stores[] = { dir };
	struct grove_options o = { .size = sizeof(o), .home = dir, .cwd = dir, .stores = stores,
				   .nr_stores = 1, .dialect = claude ? "claude" : "pi",
				   .getenv = no_variables };
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	for (int by = GROVE_USAGE_DAY; by <= GROVE_USAGE_AGENT; by++) {
		struct grove_usage_options uo = { .size = sizeof(uo), .by = (enum grove_usage_by)by };
		uint64_t input = 0, output = 0, in_rows = 0;
		struct grove_usage *u;

		assert_int_equal(grove_usage(g, &uo, &u), 0);
		for (unsigned r = 0; r < REPLIES; r++)
			if (model[r].written) {
				input += r;
				output += model[r].output;
			}
		assert_int_equal(grove_usage_totals(u)->input, input);
		assert_int_equal(grove_usage_totals(u)->output, output);
		assert_int_equal(grove_usage_totals(u)->total, input + output);
		for (size_t i = 0; i < grove_usage_count(u); i++) {
			const struct grove_usage_row *row = grove_usage_at(u, i);
			uint64_t sum = 0;

			for (unsigned r = 0; r < REPLIES; r++) {
				char key[64];

				key_of(key, sizeof(key), uo.by, claude, r, &model[r]);
				if (model[r].written && !strcmp(key, row->key))
					sum += r + model[r].output;
			}
			assert_int_equal(row->total, sum);
			in_rows += sum;
		}
		assert_int_equal(in_rows, input + output);
		assert_null(grove_usage_at(u, grove_usage_count(u)));
		grove_usage_free(u);
	}
	grove_close(g);
}

static void check_dialect(bool claude)
{
	struct chance c = chance_begin(claude ? "usage, claude" : "usage, pi");
	struct model_reply model[REPLIES];
	char dir[4000], sub[4096];

	scratch_make(dir, sizeof(dir));
	snprintf(sub, sizeof(sub), "%s/p", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	for (int round = 0; round < 20; round++) {
		fill(dir, claude, &c, model);
		assert_usage(dir, claude, model);
	}
	scratch_remove(dir);
}

static void copies_in_any_order_count_once_in_pi(void **state)
{
	(void)state;
	check_dialect(false);
}

static void copies_in_any_order_count_once_in_claude(void **state)
{
	(void)state;
	check_dialect(true);
}

/* --- the sum of costs --- */

static double cost_of(const char *dir)
{
	const char *const stores[] = { dir };
	struct grove_options o = { .size = sizeof(o), .home = dir, .cwd = dir, .stores = stores,
				   .nr_stores = 1, .dialect = "pi", .getenv = no_variables };
	struct grove_usage *u;
	struct grove *g;
	double cost;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_usage(g, NULL, &u), 0);
	assert_true(grove_usage_totals(u)->has_cost);
	cost = grove_usage_totals(u)->cost;
	grove_usage_free(u);
	grove_close(g);
	return cost;
}

static void the_cost_is_the_same_in_any_order(void **state)
{
	static const char header[] =
		"{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"\",\"cwd\":\"/w\"}\n";
	struct chance c = chance_begin("cost");
	unsigned order[REPLIES];
	double first = 0;
	char dir[4000], path[4096];

	(void)state;
	scratch_make(dir, sizeof(dir));
	for (unsigned i = 0; i < REPLIES; i++)
		order[i] = i;
	for (int round = 0; round < 20; round++) {
		struct grove_buf b[3] = { GROVE_BUF_INIT, GROVE_BUF_INIT, GROVE_BUF_INIT };

		for (unsigned i = REPLIES - 1; i; i--) {
			unsigned j = chance_below(&c, i + 1), t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		for (int f = 0; f < 3; f++)
			assert_int_equal(grove__buf_add_str(&b[f], header), 0);
		for (unsigned i = 0; i < REPLIES; i++)
			put_line(&b[chance_below(&c, 3)], false, order[i], 1767225600, 1);
		for (int f = 0; f < 3; f++) {
			snprintf(path, sizeof(path), "%s/%d.jsonl", dir, f);
			file_put(path, O_CREAT | O_TRUNC, b[f].ptr, b[f].len);
			grove__buf_release(&b[f]);
		}
		if (!round)
			first = cost_of(dir);
		assert_true(first == cost_of(dir));
	}
	scratch_remove(dir);
}

/* --- as bytes --- */

static void some_replies(struct chance *c, struct grove__replies *rs, unsigned nr)
{
	static const char *const models[] = { "a", "", "a-model-with-a-longer-name" };

	for (unsigned i = 0; i < nr; i++) {
		uint64_t r = chance_next(c);
		char key[32];
		struct grove__billed x = {
			.key = grove__slice(key, (size_t)snprintf(key, sizeof(key), "%llu",
								  (unsigned long long)r)),
			.model = grove__slice_str(models[r % 3]),
			.time = r % 5 ? (int64_t)(chance_next(c) >> (1 + r % 60)) - 1000 : GROVE_NO_TIME,
			.input = (double)(chance_next(c) >> (11 + r % 50)),
			.output = (double)chance_below(c, 1000), .cache_read = 1,
			.has_cost = r % 4 == 1, .cost = (double)(r % 1000) / 7, .of_subs = r % 11 == 0,
			.origin = grove__slice_str(r % 5 ? "" : "elsewhere"),
		};

		if (r % 7 == 0)
			x.key.len = 0;
		assert_int_equal(grove__replies_add(rs, &x, 0, true), 0);
	}
	for (size_t i = 0; i < rs->nr; i += 3)
		rs->all[i].cache_write_long = rs->all[i].cache_write = i;
}

static void assert_same_replies(const struct grove__replies *a, const struct grove__replies *b,
				uint32_t log, bool subs)
{
	assert_int_equal(a->nr, b->nr);
	for (size_t i = 0; i < a->nr; i++) {
		const struct grove__reply *x = &a->all[i], *y = &b->all[i];

		assert_memory_equal(x->hash, y->hash, sizeof(x->hash));
		assert_true(x->time == y->time && x->input == y->input && x->output == y->output &&
			    x->cache_read == y->cache_read && x->cache_write == y->cache_write &&
			    x->cache_write_long == y->cache_write_long && x->single == y->single &&
			    x->copied == y->copied);
		assert_true(isnan(x->cost) ? isnan(y->cost) : x->cost == y->cost);
		assert_string_equal(a->models[x->model], b->models[y->model]);
		assert_int_equal(y->log, log);
		assert_int_equal(y->told, x->told && subs);
	}
}

static void replies_come_back_from_their_bytes(void **state)
{
	struct chance c = chance_begin("packed");
	struct grove__billed_log l = { .dialect = &grove__dialect_omp, .id = grove__slice_str("an id"),
				       .cwd = grove__slice_str("/w") }, back;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__replies rs, other;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		grove__replies_init(&rs);
		grove__replies_init(&other);
		some_replies(&c, &rs, round * round);
		l.around = grove__slice_str(round & 1 ? "pi" : "");
		l.session = round & 2;
		grove__buf_clear(&b);
		assert_int_equal(grove__billed_pack(&l, &rs, &b), 0);
		assert_true(grove__billed_unpack(grove__buf_slice(&b), &back));
		assert_ptr_equal(back.dialect, l.dialect);
		assert_true(grove__slice_eq(back.around, l.around) && back.session == l.session);
		assert_true(back.id.len == 5 && !memcmp(back.id.ptr, "an id", 5) && back.cwd.len == 2);
		assert_int_equal(grove__billed_fold(grove__buf_slice(&b), &other, 7, round % 2), 0);
		assert_same_replies(&rs, &other, 7, round % 2);
		grove__replies_release(&rs);
		grove__replies_release(&other);
	}
	grove__buf_release(&b);
}

/* The catalog's checksum finds them; but nobody reads over their end. */
static void damaged_bytes_come_to_an_end(void **state)
{
	struct chance c = chance_begin("damaged");
	struct grove__billed_log l = { .dialect = NULL }, back;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__replies rs, other;

	(void)state;
	grove__replies_init(&rs);
	grove__replies_init(&other);
	some_replies(&c, &rs, 20);
	assert_int_equal(grove__billed_pack(&l, &rs, &b), 0);
	for (size_t i = 0; i < b.len; i++) {
		char was = b.ptr[i], *part = test_malloc(i + 1);

		b.ptr[i] = (char)(was ^ (1 << chance_below(&c, 8)));
		if (grove__billed_unpack(grove__buf_slice(&b), &back))
			assert_int_equal(grove__billed_fold(grove__buf_slice(&b), &other, 1, true), 0);
		b.ptr[i] = was;
		memcpy(part, b.ptr, i);
		if (grove__billed_unpack(grove__slice(part, i), &back))
			assert_int_equal(grove__billed_fold(grove__slice(part, i), &other, 1, true), 0);
		test_free(part);
	}
	assert_true(grove__billed_unpack(grove__buf_slice(&b), &back));
	assert_null(back.dialect);
	grove__replies_release(&rs);
	grove__replies_release(&other);
	grove__buf_release(&b);
}

/* --- remembered: files that grow, are rewritten, copied and removed --- */

enum { LINES_MAX = 40 };

struct file_model {
	bool there;
	unsigned nr;
	struct {
		unsigned reply, output;
		int64_t time;
	} line[LINES_MAX];
};

static void write_file(const char *dir, bool claude, unsigned f, const struct file_model *m)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char path[4096];

	file_path(path, sizeof(path), dir, claude, f);
	if (!m->there) {
		unlink(path);
		return;
	}
	if (!claude)
		assert_int_equal(grove__buf_addf(&b,
			"{\"type\":\"session\",\"version\":3,\"id\":\"s%u\","
			"\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n", f), 0);
	for (unsigned i = 0; i < m->nr; i++)
		put_line(&b, claude, m->line[i].reply, m->line[i].time, m->line[i].output);
	file_put(path, O_CREAT | O_TRUNC, b.ptr ? b.ptr : "", b.len);
	grove__buf_release(&b);
}

static void add_line(struct chance *c, struct file_model *m)
{
	if (m->nr == LINES_MAX)
		return;
	m->line[m->nr].reply = chance_below(c, REPLIES);
	m->line[m->nr].output = 1 + chance_below(c, 9);
	m->line[m->nr].time = 1767225600 + (int64_t)chance_below(c, DAYS) * 86400;
	m->nr++;
}

/* Some files become others; most stay as they are. */
static void change(struct chance *c, const char *dir, bool claude, struct file_model *files)
{
	for (unsigned n = 1 + chance_below(c, 3); n; n--) {
		unsigned f = chance_below(c, FILES), from = chance_below(c, FILES);
		struct file_model *m = &files[f];

		switch (chance_below(c, 4)) {
		case 0:                          /* a copy, of which a part may be gone */
			*m = files[from];
			m->nr -= m->nr ? chance_below(c, m->nr) : 0;
			break;
		case 1:
			m->there = false;
			m->nr = 0;
			break;
		case 2:                          /* the same length, other counts */
			for (unsigned i = 0; i < m->nr; i++)
				m->line[i].output = 1 + chance_below(c, 9);
			break;
		default:
			m->there = true;
			for (unsigned i = chance_below(c, 10) + 1; i; i--)
				add_line(c, m);
		}
		write_file(dir, claude, f, m);
	}
}

static void model_of(const struct file_model *files, bool claude, struct model_reply *model)
{
	memset(model, 0, REPLIES * sizeof(*model));
	for (unsigned f = 0; f < FILES; f++)
		for (unsigned i = 0; files[f].there && i < files[f].nr; i++)
			model_line(&model[files[f].line[i].reply], f, claude ? files[f].line[0].time : 0,
				   files[f].line[i].time, files[f].line[i].output);
}

/* A file that was written just now is not remembered: wait until this is not just now any more. */
static void let_time_pass(void)
{
	struct timespec ms = { .tv_nsec = 130 * 1000000L };

	nanosleep(&ms, NULL);
}

static atomic_uint reads;

static int count_reads(const char *call)
{
	if (!strcmp(call, "pread"))
		atomic_fetch_add(&reads, 1);
	return 0;
}

static void harm(struct chance *c, const char *db)
{
	struct grove_buf b = file_bytes(db);

	switch (chance_below(c, 4)) {
	case 0:
		assert_int_equal(unlink(db), 0);
		break;
	case 1:
		assert_int_equal(truncate(db, chance_below(c, (uint32_t)b.len + 1)), 0);
		break;
	case 2:
		file_make(db, "this is not a database, and it is long enough to be looked at");
		break;
	default:
		for (int i = 0; i < 20; i++)
			b.ptr[chance_below(c, (uint32_t)b.len)] ^= (char)(1 + chance_below(c, 255));
		file_put(db, O_TRUNC, b.ptr, b.len);
	}
	grove__buf_release(&b);
}

static void check_remembered(bool claude)
{
	struct chance c = chance_begin(claude ? "remembered, claude" : "remembered, pi");
	struct file_model files[FILES] = { 0 };
	struct model_reply model[REPLIES];
	char dir[4000], sub[4096], db[4096];

	scratch_make(dir, sizeof(dir));
	snprintf(sub, sizeof(sub), "%s/p", dir);
	snprintf(db, sizeof(db), "%s/.cache/grove/catalog.db", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	for (unsigned f = 0; f < FILES; f++) {
		files[f].there = true;
		for (unsigned i = chance_below(&c, 30) + 1; i; i--)
			add_line(&c, &files[f]);
		write_file(dir, claude, f, &files[f]);
	}
	for (int round = 0; round < 12; round++) {
		if (round)
			change(&c, dir, claude, files);
		model_of(files, claude, model);
		if (round % 3 == 0)
			let_time_pass();
		/* some are remembered, some are not; then all are, if they are old enough */
		assert_usage(dir, claude, model);
		atomic_store(&reads, 0);
		grove__sys_fault = count_reads;
		assert_usage(dir, claude, model);
		grove__sys_fault = NULL;
		/* a list of prices may be read, for each way to group */
		if (round % 3 == 0 && !access(db, F_OK))
			assert_in_range(atomic_load(&reads), 0, 5);
		if (round % 4 == 3 && !access(db, F_OK)) {
			harm(&c, db);
			assert_usage(dir, claude, model);
		}
	}
	scratch_remove(dir);
}

static void what_is_remembered_is_what_would_be_read_in_pi(void **state)
{
	(void)state;
	check_remembered(false);
}

static void what_is_remembered_is_what_would_be_read_in_claude(void **state)
{
	(void)state;
	check_remembered(true);
}

/* --- a home of all agents: each reply uses an input of its own power of two --- */

static void write_log(const char *home, const char *name, struct grove_buf *b)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", home, name);
	assert_int_equal(grove__buf_add(&dir, path, (size_t)(strrchr(path, '/') - path)), 0);
	assert_int_equal(grove__sys_mkdirs(dir.ptr, 0700), 0);
	file_put(path, O_CREAT | O_TRUNC, b->ptr, b->len);
	grove__buf_release(&dir);
	grove__buf_release(b);
}

/* A log of pi's family: its header, then the replies whose bits are set; no agent has another's ids. */
static void write_family(const char *home, const char *dir, const char *name, const char *id,
			 const char *parent, unsigned replies)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char path[256];

	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"cwd\":\"/w\","
					 "\"timestamp\":\"2026-01-01T00:00:00.000Z\"%s%s%s}\n", id,
					 *parent ? ",\"parentSession\":\"" : "", parent, *parent ? "\"" : ""), 0);
	for (unsigned bit = 1, nr = 0; bit <= replies; bit <<= 1, nr++)
		if (replies & bit)
			assert_int_equal(grove__buf_addf(&b,
				"{\"type\":\"message\",\"id\":\"%c%07x\",\"parentId\":null,"
				"\"timestamp\":\"2026-01-0%uT00:00:00.000Z\",\"message\":{\"role\":\"assistant\","
				"\"model\":\"x\",\"content\":[],\"usage\":{\"input\":%u,\"output\":0},"
				"\"timestamp\":%u}}\n", dir[1], nr, nr + 1, bit, 1767225600 + nr), 0);
	snprintf(path, sizeof(path), "%s/%s.jsonl", dir, name);
	write_log(home, path, &b);
}

/* A fork has its parent's lines up to where it begins, and its sub-agents' logs, too. */
static void make_family(const char *home, const char *dir, const char *agent, bool subs)
{
	const char *const names[] = { "2026-01-01T00-00-00-000Z_a", "2026-01-02T00-00-00-000Z_b",
				      "2026-01-03T00-00-00-000Z_c" };
	char id[32], parent[256], sub[64];

	snprintf(id, sizeof(id), "%s-a", agent);
	write_family(home, dir, names[0], id, "", 1 | 2 | 4);
	snprintf(id, sizeof(id), "%s-b", agent);
	snprintf(parent, sizeof(parent), "%s/%s/%s.jsonl", home, dir, names[0]);
	write_family(home, dir, names[1], id, parent, 1 | 2 | 8);
	snprintf(id, sizeof(id), "%s-c", agent);
	snprintf(parent, sizeof(parent), "%s/%s/%s.jsonl", home, dir, names[1]);
	write_family(home, dir, names[2], id, parent, 1 | 2 | 8 | 16);
	for (int i = 0; i < 2 && subs; i++) {
		snprintf(sub, sizeof(sub), "%s/0-Task", names[i]);
		write_family(home, dir, sub, "sub", "", 32);
	}
}

/* Line `block` of a reply of Claude's; its output has grown by then. */
static void add_block(struct grove_buf *b, const char *session, unsigned bit, unsigned block, bool side)
{
	assert_int_equal(grove__buf_addf(b,
		"{\"parentUuid\":null,\"isSidechain\":%s,\"cwd\":\"/w\",\"sessionId\":\"%s\",\"uuid\":\"u%u-%u\","
		"\"type\":\"assistant\",\"requestId\":\"r%u\",\"message\":{\"id\":\"m%u\",\"role\":\"assistant\","
		"\"model\":\"x\",\"content\":[],\"usage\":{\"input_tokens\":%u,\"output_tokens\":%u}},"
		"\"timestamp\":\"2026-01-01T00:00:0%u.000Z\"}\n",
		side ? "true" : "false", session, bit, block, bit, bit, bit, block, block), 0);
}

/* Each reply in three lines, one for each block. */
static void write_claude(const char *home, const char *name, const char *session, unsigned replies,
			 bool side)
{
	struct grove_buf b = GROVE_BUF_INIT;

	for (unsigned bit = 1; bit <= replies; bit <<= 1)
		for (unsigned block = 1; block <= 3 && replies & bit; block++)
			add_block(&b, session, bit, block, side);
	write_log(home, name, &b);
}

#define CLAUDE_A "aaaaaaaa-1111-4111-8111-111111111111"
#define CLAUDE_B "bbbbbbbb-1111-4111-8111-111111111111"
#define CLAUDE_C "cccccccc-1111-4111-8111-111111111111"
#define CLAUDE_DIR ".claude/projects/-w/"

static void make_home(const char *home)
{
	make_family(home, ".pi/agent/sessions/--w--", "pi", false);
	make_family(home, ".omp/agent/sessions/-w", "omp", true);
	make_family(home, ".xcsh/agent/sessions/--w--", "xcsh", true);
	write_claude(home, CLAUDE_DIR CLAUDE_A ".jsonl", CLAUDE_A, 1 | 2, false);
	/* resumed: older releases wrote a copy under another name */
	write_claude(home, CLAUDE_DIR CLAUDE_B ".jsonl", CLAUDE_B, 1 | 2 | 4, false);
	write_claude(home, CLAUDE_DIR CLAUDE_C ".jsonl", CLAUDE_C, 1 | 8, false);
	/* sub-agents, as they lie today and as they did */
	write_claude(home, CLAUDE_DIR CLAUDE_A "/subagents/agent-1.jsonl", CLAUDE_A, 16, true);
	write_claude(home, CLAUDE_DIR "agent-2.jsonl", CLAUDE_A, 32, true);
}

static void assert_rows(struct grove *g, enum grove_usage_by by, const char *const *keys,
			const uint64_t *inputs, size_t nr)
{
	struct grove_usage_options uo = { .size = sizeof(uo), .by = by };
	struct grove_usage *u;

	assert_int_equal(grove_usage(g, &uo, &u), 0);
	assert_int_equal(grove_usage_count(u), nr);
	for (size_t i = 0; i < nr; i++) {
		size_t at = 0;

		while (at < nr && strcmp(grove_usage_at(u, at)->key, keys[i]))
			at++;
		if (at == nr)
			fail_msg("no row for %s", keys[i]);
		assert_int_equal(grove_usage_at(u, at)->input, inputs[i]);
	}
	/* of Claude's six, each three tokens at the end */
	assert_int_equal(grove_usage_totals(u)->output, 6 * 3);
	grove_usage_free(u);
}

static void forks_copies_blocks_and_sub_agents_count_once(void **state)
{
	static const char *const agents[] = { "pi", "omp", "xcsh", "claude" };
	static const uint64_t by_agent[] = { 31, 63, 63, 63 };
	static const char *const sessions[] = {
		"pi-a", "pi-b", "pi-c", "omp-a", "omp-b", "omp-c", "xcsh-a", "xcsh-b", "xcsh-c",
		CLAUDE_A, CLAUDE_B, CLAUDE_C,
	};
	static const uint64_t by_session[] = { 7, 8, 16, 7 + 32, 8, 16, 7 + 32, 8, 16,
					       1 + 2 + 16 + 32, 4, 8 };
	char home[4000];

	(void)state;
	scratch_make(home, sizeof(home));
	make_home(home);
	let_time_pass();
	/* the first reads, the second remembers */
	for (int run = 0; run < 2; run++) {
		struct grove_options o = { .size = sizeof(o), .home = home, .cwd = home, .getenv = no_variables };
		struct grove *g;

		assert_int_equal(grove_open(&o, &g), 0);
		assert_rows(g, GROVE_USAGE_AGENT, agents, by_agent, 4);
		assert_rows(g, GROVE_USAGE_SESSION, sessions, by_session, 12);
		grove_close(g);
	}
	scratch_remove(home);
}

/* What the rows and their parts have together is what the totals have. */
static void check_stack(const struct grove_usage *u)
{
	const struct grove_usage_row *row, *part;
	uint64_t all = 0;

	for (size_t i = 0; (row = grove_usage_at(u, i)); i++) {
		uint64_t sum = 0, before = UINT64_MAX;

		for (size_t k = 0; (part = grove_usage_stack_at(u, i, k)); k++) {
			assert_true(part->total <= before);
			before = part->total;
			sum += part->total;
		}
		assert_int_equal(sum, row->total);
		all += sum;
	}
	assert_int_equal(all, grove_usage_totals(u)->total);
	assert_null(grove_usage_stack_at(u, grove_usage_count(u), 0));
}

static void rows_can_be_chosen_limited_and_taken_apart(void **state)
{
	struct grove_usage_options some = { .size = sizeof(some), .by = GROVE_USAGE_SESSION, .agent = "claude",
					    .flags = GROVE_USAGE_STACK };
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables };
	struct grove_usage *u;
	struct grove *g;
	char home[4000];

	(void)state;
	scratch_make(home, sizeof(home));
	make_home(home);
	o.home = o.cwd = home;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_usage(g, &some, &u), 0);
	assert_int_equal(grove_usage_count(u), 3);
	assert_int_equal(grove_usage_totals(u)->input, 63);
	check_stack(u);
	grove_usage_free(u);
	/* the total is that of all rows, also of those left out */
	some.limit = 1;
	assert_int_equal(grove_usage(g, &some, &u), 0);
	assert_int_equal(grove_usage_count(u), 1);
	assert_int_equal(grove_usage_totals(u)->input, 63);
	grove_usage_free(u);
	/* one session, with its sub-agents */
	some.limit = 0;
	some.session = CLAUDE_A;
	assert_int_equal(grove_usage(g, &some, &u), 0);
	assert_int_equal(grove_usage_count(u), 1);
	assert_int_equal(grove_usage_totals(u)->input, 1 + 2 + 16 + 32);
	grove_usage_free(u);
	/* without being asked there are no parts */
	some.flags = 0;
	assert_int_equal(grove_usage(g, &some, &u), 0);
	assert_null(grove_usage_stack_at(u, 0, 0));
	grove_usage_free(u);
	some = (struct grove_usage_options){ .size = sizeof(some), .project = "/nowhere" };
	assert_int_equal(grove_usage(g, &some, &u), 0);
	assert_int_equal(grove_usage_count(u), 0);
	grove_usage_free(u);
	some = (struct grove_usage_options){ .size = sizeof(some), .tz = "Nowhere/Else" };
	assert_int_equal(grove_usage(g, &some, &u), GROVE_EINVAL);
	grove_usage_free(u);
	grove_close(g);
	scratch_remove(home);
}

/* A log of pi's with two replies, which all have; `parent` and `time` may be wrong. */
static void write_fork(const char *home, const char *id, const char *time, const char *parent)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char name[100];

	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"timestamp\":\"%s\","
					     "\"cwd\":\"/w/%s\",\"parentSession\":\"%s\"}\n", id, time, id, parent), 0);
	put_line(&b, false, 1, 1767225600, 1);
	put_line(&b, false, 2, 1767225600, 1);
	snprintf(name, sizeof(name), ".pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_%s.jsonl", id);
	write_log(home, name, &b);
}

static void a_fork_takes_nothing_from_what_it_was_made_of(void **state)
{
	enum { LOGS = 3 };
	static const char *const day[] = { "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z" };
	/* ids, in the order of their paths; days; parents; who has the replies */
	static const struct {
		int day[LOGS];
		const char *parent[LOGS];
		const char *owner;
	} cases[] = {
		{ { 1, 0, 2 }, { "", "", "" }, "b" },           /* the oldest */
		{ { 0, 0, 0 }, { "b", "c", "" }, "c" },         /* made in one moment */
		{ { 0, 1, 2 }, { "b", "c", "" }, "c" },         /* the clocks were wrong */
		{ { 0, 1, 2 }, { "/else/2026-01-01T00-00-00-000Z_b.jsonl", "", "a" }, "b" },
		{ { 2, 1, 0 }, { "gone", "", "gone" }, "c" },   /* the source is not here */
		{ { 0, 0, 0 }, { "b", "a", "b" }, "b" },        /* a circle, cut where it is entered */
		{ { 2, 2, 2 }, { "a", "b", "c" }, "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_usage_options uo = { .size = sizeof(uo), .by = GROVE_USAGE_SESSION };
		struct grove_options o = { .size = sizeof(o), .getenv = no_variables };
		struct grove_usage *u;
		struct grove *g;
		char home[4000];

		scratch_make(home, sizeof(home));
		o.home = o.cwd = home;
		for (int k = 0; k < LOGS; k++)
			write_fork(home, (const char[]){ (char)('a' + k), 0 }, day[cases[i].day[k]], cases[i].parent[k]);
		assert_int_equal(grove_open(&o, &g), 0);
		assert_int_equal(grove_usage(g, &uo, &u), 0);
		assert_int_equal(grove_usage_count(u), 1);
		assert_string_equal(grove_usage_at(u, 0)->key, cases[i].owner);
		assert_int_equal(grove_usage_at(u, 0)->input, 1 + 2);
		grove_usage_free(u);
		grove_close(g);
		scratch_remove(home);
	}
}

static void a_line_that_says_it_is_a_copy_comes_last(void **state)
{
	struct grove__billed x = line_of("k", 1, 5, 1), copy = x;
	static const uint32_t rank[] = { 3, 1, 2, 0 };
	struct grove__replies rs;

	(void)state;
	copy.origin = grove__slice_str("elsewhere");
	copy.time = 4;
	grove__replies_init(&rs);
	/* two copies tie, and then come two originals */
	assert_int_equal(grove__replies_add(&rs, &copy, 3, false), 0);
	assert_int_equal(grove__replies_add(&rs, &copy, 2, false), 0);
	assert_true(rs.all[0].copied);
	assert_int_equal(grove__replies_add(&rs, &x, 0, false), 0);
	assert_int_equal(grove__replies_add(&rs, &x, 1, false), 0);
	grove__replies_settle(&rs, rank);
	assert_int_equal(rs.nr, 1);
	assert_int_equal(rs.all[0].log, 1);
	assert_int_equal(rs.all[0].time, 5);
	assert_false(rs.all[0].copied);
	grove__replies_release(&rs);
}

static void a_list_tells_what_sessions_used(void **state)
{
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL | GROVE_LIST_COST };
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables };
	struct grove_list *l;
	struct grove *g;
	char home[4000];
	int found = 0;

	(void)state;
	scratch_make(home, sizeof(home));
	make_home(home);
	o.home = o.cwd = home;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_list(g, &lo, &l), 0);
	for (size_t i = 0; i < grove_list_count(l); i++) {
		const struct grove_list_item *x = grove_list_at(l, i);

		if (strcmp(x->id, CLAUDE_A))
			continue;
		found++;
		assert_true(x->has_usage);
		/* four replies, each with three tokens out */
		assert_int_equal(x->tokens, 1 + 2 + 16 + 32 + 4 * 3);
	}
	assert_int_equal(found, 1);
	grove_list_free(l);
	grove_close(g);
	scratch_remove(home);
}

/* The context of each reply, in the order of the log. */
static void a_session_tells_its_context_over_time(void **state)
{
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables };
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	struct grove *g;
	char home[4000];

	(void)state;
	scratch_make(home, sizeof(home));
	make_home(home);
	o.home = o.cwd = home;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_open(g, "pi-a", GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_usage(v, grove_buf_sink(&json)), 0);
	assert_non_null(strstr(json.ptr, "\"context\":[1,2,4]"));
	assert_non_null(strstr(json.ptr, "\"seq\":["));
	grove_buf_release(&json);
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
	scratch_remove(home);
}

static uint64_t input_of(const char *dir, const char *dialect, const struct grove_usage_options *opt)
{
	const char *const stores[] = { dir };
	struct grove_options o = { .size = sizeof(o), .home = dir, .cwd = dir, .stores = stores,
				   .nr_stores = 1, .dialect = dialect, .getenv = no_variables };
	struct grove_usage *u;
	struct grove *g;
	uint64_t input;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_usage(g, opt, &u), 0);
	input = grove_usage_totals(u)->input;
	grove_usage_free(u);
	grove_close(g);
	return input;
}

/* What the logs of others decide is not remembered with a log. */
static void a_remembered_sum_gives_way_to_the_logs_it_sums_up(void **state)
{
	static const char task[] =
		"{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"\",\"cwd\":\"/w\"}\n"
		"{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-05-01T10:00:00.000Z\","
		"\"message\":{\"role\":\"toolResult\",\"toolName\":\"task\",\"content\":[],"
		"\"details\":{\"usage\":{\"input\":100}},\"timestamp\":1}}\n";
	static const char agent[] =
		"{\"type\":\"session\",\"version\":3,\"id\":\"t\",\"timestamp\":\"\",\"cwd\":\"/w\"}\n"
		"{\"type\":\"message\",\"id\":\"b\",\"parentId\":null,\"timestamp\":\"2026-05-01T10:00:00.000Z\","
		"\"message\":{\"role\":\"assistant\",\"content\":[],\"usage\":{\"input\":99},\"timestamp\":1}}\n";
	char dir[4000], log[4096], below[4096];

	(void)state;
	scratch_make(dir, sizeof(dir));
	snprintf(log, sizeof(log), "%s/p", dir);
	assert_int_equal(mkdir(log, 0700), 0);
	snprintf(log, sizeof(log), "%s/p/s.jsonl", dir);
	file_make(log, task);
	let_time_pass();
	assert_int_equal(input_of(dir, "xcsh", NULL), 100);
	assert_int_equal(input_of(dir, "xcsh", NULL), 100);
	snprintf(below, sizeof(below), "%s/p/s", dir);
	assert_int_equal(mkdir(below, 0700), 0);
	snprintf(below, sizeof(below), "%s/p/s/t.jsonl", dir);
	file_make(below, agent);
	let_time_pass();
	assert_int_equal(input_of(dir, "xcsh", NULL), 99);
	assert_int_equal(input_of(dir, "xcsh", NULL), 99);
	assert_int_equal(unlink(below), 0);
	assert_int_equal(input_of(dir, "xcsh", NULL), 100);
	scratch_remove(dir);
}

/* Another dialect reads other replies in it, and who names one means only that. */
static void what_is_remembered_of_one_dialect_is_not_anothers(void **state)
{
	static const char *const dialects[] = { "pi", "xcsh", NULL, "pi", "claude", NULL, "xcsh", NULL };
	static const uint64_t input[] = { 1, 2, 1, 1, 0, 1, 2, 1 };
	char dir[4000], log[4096];

	(void)state;
	scratch_make(dir, sizeof(dir));
	snprintf(log, sizeof(log), "%s/s.jsonl", dir);
	/* pi knows an entry of type "usage", xcsh the sum of a task; the bytes say pi */
	file_make(log, "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"\",\"cwd\":\"/w\"}\n"
		       "{\"type\":\"usage\",\"id\":\"a\",\"parentId\":null,\"usage\":{\"input\":1}}\n"
		       "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":"
		       "\"toolResult\",\"toolName\":\"task\",\"details\":{\"usage\":{\"input\":2}}}}\n");
	let_time_pass();
	for (size_t i = 0; i < sizeof(input) / sizeof(*input); i++) {
		assert_int_equal(input_of(dir, dialects[i], NULL), input[i]);
		assert_int_equal(input_of(dir, dialects[i], NULL), input[i]);
	}
	scratch_remove(dir);
}

/* --- days and prices --- */

static void only_the_time_that_is_asked_for_counts(void **state)
{
	const int64_t second = 1767225600000 + 86400000, third = second + 86400000;
	const struct {
		struct grove_period period;
		uint64_t input;
	} cases[] = {
		{ { 0, 0 }, 15 }, { { second, 0 }, 14 }, { { 0, third }, 3 }, { { second, third }, 2 },
		{ { second + 1, third }, 0 }, { { third, second }, 0 }, { { 1, INT64_MAX }, 15 },
	};
	struct grove_buf b = GROVE_BUF_INIT;
	char dir[4000], path[4096];

	(void)state;
	scratch_make(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/a.jsonl", dir);
	assert_int_equal(grove__buf_add_str(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"s\","
						"\"timestamp\":\"\",\"cwd\":\"/w\"}\n"), 0);
	/* on the first, second and third day, and in the last second of the third */
	put_line(&b, false, 1, 1767225600, 1);
	put_line(&b, false, 2, 1767225600 + 86400, 1);
	put_line(&b, false, 4, 1767225600 + 2 * 86400, 1);
	put_line(&b, false, 8, 1767225600 + 3 * 86400 - 1, 1);
	file_put(path, O_CREAT, b.ptr, b.len);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_usage_options uo = { .size = sizeof(uo), .period = cases[i].period };

		assert_int_equal(input_of(dir, "pi", &uo), cases[i].input);
	}
	scratch_remove(dir);
	grove__buf_release(&b);
}

static void what_no_agent_noted_is_estimated_or_told(void **state)
{
	const char *stores[1];
	struct grove_usage_options uo = { .size = sizeof(uo), .by = GROVE_USAGE_MODEL };
	struct grove_options o = { .size = sizeof(o), .nr_stores = 1, .dialect = "claude", .stores = stores,
				   .getenv = no_variables };
	const struct grove_usage_unpriced *x;
	const struct grove_usage_row *row;
	struct grove_buf b = GROVE_BUF_INIT;
	char dir[4000], path[4096], prices[4096];
	struct grove_usage *u;
	struct grove *g;

	(void)state;
	scratch_make(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/00000000-1111-4111-8111-111111111111.jsonl", dir);
	snprintf(prices, sizeof(prices), "%s/prices", dir);
	/* of the models x0, x1, x2; a reply nr sends nr tokens */
	for (unsigned nr = 1; nr <= 6; nr++)
		put_line(&b, true, nr, 1767225600, 100);
	file_put(path, O_CREAT, b.ptr, b.len);
	file_make(prices, "{\"prices\":[{\"models\":[\"x1\"],\"input\":1000000,\"output\":2},\n"
			  "{\"models\":[\"x2\"],\"input\":1}]}");
	o.home = o.cwd = stores[0] = dir;
	uo.prices = "prices";
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_usage(g, &uo, &u), 0);
	row = grove_usage_totals(u);
	assert_true(row->has_cost && row->cost == row->estimated && row->unpriced == 4);
	assert_true(fabs(row->cost - (1 + 4 + 200 * 2e-6)) < 1e-9);
	/* x0: 3 and 6, x2: 2 and 5, of which the output has no price */
	x = grove_usage_unpriced_at(u, 0);
	assert_true(x && !strcmp(x->model, "x0") && x->replies == 2 && x->total == 209);
	x = grove_usage_unpriced_at(u, 1);
	assert_true(x && !strcmp(x->model, "x2") && x->replies == 2 && x->total == 207);
	assert_null(grove_usage_unpriced_at(u, 2));
	grove_usage_free(u);
	/* a caller that was built when there were no prices to ask for */
	uo.size = offsetof(struct grove_usage_options, prices);
	uo.prices = "nowhere";
	assert_int_equal(grove_usage(g, &uo, &u), 0);
	assert_false(grove_usage_totals(u)->has_cost);
	grove_usage_free(u);
	uo.size = sizeof(uo);
	assert_int_equal(grove_usage(g, &uo, &u), GROVE_ENOTFOUND);
	grove_usage_free(u);
	grove_close(g);
	grove__buf_release(&b);
	scratch_remove(dir);
}

static void what_is_asked_for_must_be_known(void **state)
{
	struct grove_usage_options uo = { .size = sizeof(uo), .by = (enum grove_usage_by)99 };
	struct grove_options o = { .size = sizeof(o), .home = "/", .cwd = "/",
				   .stores = (const char *const[]){ "memory:" }, .nr_stores = 1 };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_usage *u;
	struct grove *g;

	(void)state;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_usage(g, &uo, &u), GROVE_EINVAL);
	grove_usage_free(u);
	assert_int_equal(grove_usage(g, NULL, &u), 0);
	assert_int_equal(grove_usage_count(u), 0);
	assert_int_equal(grove_usage_json(u, &b), 0);
	assert_string_equal(b.ptr, "{\"totals\":{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,"
				   "\"totalTokens\":0,\"cost\":null},\"rows\":[]}");
	grove_buf_release(&b);
	grove_usage_free(u);
	grove_usage_free(NULL);
	grove_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_counts_hold_at_the_earliest_time),
		cmocka_unit_test(at_the_same_time_the_first_log_has_it),
		cmocka_unit_test(what_has_no_key_is_never_merged_and_nothing_is_no_reply),
		cmocka_unit_test(a_sum_is_told_if_any_copy_has_the_logs),
		cmocka_unit_test(absurd_numbers_stay_numbers),
		cmocka_unit_test(many_replies_are_told_apart),
		cmocka_unit_test(message_and_request_make_a_reply_in_claude),
		cmocka_unit_test(a_copy_names_the_session_it_is_billed_to_in_claude),
		cmocka_unit_test(what_a_line_tells_of_costs_is_known_in_claude),
		cmocka_unit_test(entry_and_time_make_a_reply_in_the_family_of_pi),
		cmocka_unit_test(what_else_is_billed_depends_on_the_agent),
		cmocka_unit_test(copies_in_any_order_count_once_in_pi),
		cmocka_unit_test(copies_in_any_order_count_once_in_claude),
		cmocka_unit_test(the_cost_is_the_same_in_any_order),
		cmocka_unit_test(replies_come_back_from_their_bytes),
		cmocka_unit_test(damaged_bytes_come_to_an_end),
		cmocka_unit_test(what_is_remembered_is_what_would_be_read_in_pi),
		cmocka_unit_test(what_is_remembered_is_what_would_be_read_in_claude),
		cmocka_unit_test(forks_copies_blocks_and_sub_agents_count_once),
		cmocka_unit_test(rows_can_be_chosen_limited_and_taken_apart),
		cmocka_unit_test(a_fork_takes_nothing_from_what_it_was_made_of),
		cmocka_unit_test(a_line_that_says_it_is_a_copy_comes_last),
		cmocka_unit_test(a_list_tells_what_sessions_used),
		cmocka_unit_test(a_session_tells_its_context_over_time),
		cmocka_unit_test(a_remembered_sum_gives_way_to_the_logs_it_sums_up),
		cmocka_unit_test(what_is_remembered_of_one_dialect_is_not_anothers),
		cmocka_unit_test(only_the_time_that_is_asked_for_counts),
		cmocka_unit_test(what_no_agent_noted_is_estimated_or_told),
		cmocka_unit_test(what_is_asked_for_must_be_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
