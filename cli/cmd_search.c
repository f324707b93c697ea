/*
 * cmd_search.c: text in all sessions.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT_DEFAULT = 20 };

static const char *const places[] = { "text", "calls", "results", NULL };

struct search {
	struct cli *c;
	struct grove_search *s;
	struct grove_search_options opt;
	struct grove_buf line;
	size_t nr;
};

static int fail_search(struct search *p, int err)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	if (p->s)
		grove_search_error(p->s, &why);
	return why.code ? cli_fail(p->c, err, &why) : cli_fail_grove(p->c, err);
}

/* ------------------------------------------------------------------- options */

/*
 * 2026-05-03, or 2026-05-03T09:00[:00], here; with a Z at the end in UTC. `end`:
 * a day is meant with all its hours.
 */
static int read_date(const char *text, int end, int64_t *ms)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *rest = strptime(text, forms[i], &tm);
		int utc = rest && i && (*rest == 'Z' || *rest == 'z');

		if (!rest || rest[utc])
			continue;
		tm.tm_mday += end && !i;
		*ms = (int64_t)(utc ? timegm(&tm) : mktime(&tm)) * 1000;
		/* 0 is no limit */
		*ms += !*ms;
		return 0;
	}
	return -1;
}

static int take_dates(struct search *p, const char *since, const char *until)
{
	if (since && read_date(since, 0, &p->opt.since))
		return cli_usage(p->c, "--since: '%.64s' is not a date (try 2026-05-03 or 2026-05-03T09:00)", since);
	if (until && read_date(until, 1, &p->opt.until))
		return cli_usage(p->c, "--until: '%.64s' is not a date (try 2026-05-03 or 2026-05-03T09:00)", until);
	return 0;
}

/* Each one given, or several with commas between them. */
static int take_places(struct search *p, const struct opt_list *in)
{
	for (size_t i = 0; i < in->nr; i++)
		for (const char *at = in->item[i]; at;) {
			size_t n = strcspn(at, ",");
			int j = 0;

			while (places[j] && (strlen(places[j]) != n || memcmp(places[j], at, n)))
				j++;
			if (!places[j])
				return cli_usage(p->c, "--in: '%.*s' is not one of text, calls, results",
						 n < 64 ? (int)n : 64, at);
			p->opt.in |= 1u << j;
			at = at[n] ? at + n + 1 : NULL;
		}
	return 0;
}

/* ------------------------------------------------------------------- results */

static int print_json(struct search *p, const struct grove_hit *h)
{
	int err;

	p->line.len = 0;
	err = grove_hit_json(h, &p->line);
	if (err)
		return err;
	if (p->nr)
		out_puts(&p->c->out, ",\n");
	out_json(&p->c->out, (struct grove_slice){ p->line.ptr, p->line.len });
	return 0;
}

static const char *word_of(const struct grove_hit *h)
{
	if (h->in == GROVE_SEARCH_IN_CALLS)
		return "call";
	return h->role == GROVE_ROLE_NONE ? grove_kind_name(h->kind) : grove_role_name(h->role);
}

static void print_snippet(struct out *o, const struct grove_hit *h)
{
	size_t at = 0;

	out_puts(o, "    ");
	for (size_t i = 0; i < h->nr_marks; i++) {
		const struct grove_hit_mark *m = &h->marks[i];

		out_text(o, (struct grove_slice){ h->snippet.ptr + at, m->from - at });
		out_style(o, OUT_YELLOW);
		out_text(o, (struct grove_slice){ h->snippet.ptr + m->from, m->to - m->from });
		out_style(o, OUT_PLAIN);
		at = m->to;
	}
	out_text(o, (struct grove_slice){ h->snippet.ptr + at, h->snippet.len - at });
	out_puts(o, "\n");
}

static int print_block(struct search *p, const struct grove_hit *h)
{
	struct out *o = &p->c->out;
	char time[32];

	cli_time(time, sizeof(time), h->time, 0);
	out_puts(o, p->nr ? "\n" : "");
	out_style(o, OUT_CYAN);
	out_text(o, out_str(h->session_id));
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	out_text(o, out_str(h->entry_id ? h->entry_id : "-"));
	out_printf(o, "  %s  ", time);
	out_style(o, OUT_BOLD);
	out_puts(o, word_of(h));
	out_style(o, OUT_PLAIN);
	out_style(o, OUT_DIM);
	if (!h->on_active_path)
		out_puts(o, "  (on another branch)");
	else if (!h->in_context)
		out_puts(o, "  (no longer in the context)");
	out_puts(o, "\n    ");
	out_text(o, out_str(*h->path ? h->path : h->store));
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
	print_snippet(o, h);
	return 0;
}

static int on_hit(void *payload, const struct grove_hit *h)
{
	struct search *p = payload;
	int err = p->c->json ? print_json(p, h) : print_block(p, h);

	p->nr++;
	return err ? err : out_failed(&p->c->out) ? GROVE_EIO : 0;
}

static int run(struct search *p, const char *query, int live)
{
	struct cli *c = p->c;
	int err;

	cli_progress(c, live ? "searching sessions" : "indexing sessions");
	err = grove_search_open(c->g, live ? GROVE_SEARCH_NO_INDEX : 0, &p->s);
	if (!err && c->json)
		out_puts(&c->out, "[");
	if (!err)
		err = grove_search_run(p->s, query, &p->opt, on_hit, p);
	cli_progress_end(c);
	cli_let_interrupt();
	if (err)
		return fail_search(p, err);
	if (c->json)
		out_puts(&c->out, "]\n");
	else if (!p->nr)
		cli_warn(c, "nothing found");
	return EXIT_DONE;
}

int cmd_search(struct cli *c, int argc, char **argv)
{
	struct search p = { .c = c, .opt = { .size = sizeof(p.opt) } };
	struct grove_buf query = GROVE_BUF_INIT;
	struct opt_list in = { 0 };
	const char *since = NULL, *until = NULL;
	uint64_t limit = LIMIT_DEFAULT;
	int live = 0, status;
	const struct opt opts[] = {
		{ "role", .string = &p.opt.role },
		{ "in", .list = &in },
		{ "project", .string = &p.opt.cwd },
		{ "cwd", .string = &p.opt.cwd },
		{ "agent", .string = &p.opt.agent },
		{ "since", .string = &since },
		{ "until", .string = &until },
		{ "limit", .number = &limit },
		{ "live", .flag = &live },
		{ NULL },
	};

	if (cli_begin(c, opts, "QUERY...", &argc, argv)) {
		opt_list_release(&in);
		return c->status;
	}
	status = take_dates(&p, since, until);
	status = status ? status : take_places(&p, &in);
	status = status ? status : cli_stores(c);
	if (!status && !argc)
		status = cli_usage(c, "QUERY is missing");
	if (!status && !limit)
		status = cli_usage(c, "--limit: 0 would find nothing");
	opt_list_release(&in);
	if (status)
		return status;
	p.opt.limit = limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
	for (int i = 0; i < argc; i++) {
		if (i)
			cli_add(&query, " ", 1);
		cli_add(&query, argv[i], strlen(argv[i]));
	}
	status = run(&p, query.ptr ? query.ptr : "", live);
	grove_search_close(p.s);
	grove_buf_release(&p.line);
	grove_buf_release(&query);
	return status;
}
