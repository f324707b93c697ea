/*
 * cmd_log.c: the entries in the order they were written.
 */
#include "kit/brief.h"
#include "commands.h"
#include "kit/short_ids.h"

#include <string.h>

struct log {
	struct cli *c;
	struct grove_view *v;
	struct short_ids ids;
	struct grove_period period;
	uint64_t last;           /* how many of the last entries; UINT64_MAX for all */
	uint32_t from;           /* the first one to print */
	unsigned id, when;       /* columns */
};

static int is_within(const struct grove_period *p, const struct grove_entry *e)
{
	if (!p->since && !p->until)
		return 1;
	return e->time != GROVE_NO_TIME && (!p->since || e->time >= p->since) && (!p->until || e->time < p->until);
}

/* Finds where the last entries begin. */
static int find_from(struct log *l)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint64_t left = l->last;
	int err = 0;

	if (l->last == UINT64_MAX)
		return 0;
	for (l->from = grove_view_count(l->v); l->from && left && !err; l->from--) {
		err = grove_view_entry(l->v, l->from - 1, &e);
		left -= !err && is_within(&l->period, &e);
	}
	return err;
}

/* Prints the requested entries in the format of grove_view_log(). */
static int print_json(struct log *l, unsigned flags)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_buf line = GROVE_BUF_INIT;
	struct out *o = &l->c->out;
	const char *before = "[\n";
	int err = 0;

	/* if all are wanted, one call is faster */
	if (!l->period.since && !l->period.until && l->last == UINT64_MAX)
		return grove_view_log(l->v, flags, out_json_sink(o));
	for (uint32_t i = l->from; i < grove_view_count(l->v) && !err && !out_failed(o); i++) {
		err = grove_view_entry(l->v, i, &e);
		if (err || !is_within(&l->period, &e))
			continue;
		line.len = 0;
		err = grove_view_line(l->v, i, flags, &line);
		if (!err) {
			out_puts(o, before);
			out_json(o, grove_buf_slice(&line));
		}
		before = ",\n";
	}
	if (!err)
		out_puts(o, *before == '[' ? "[]" : "]");
	grove_buf_release(&line);
	return err;
}

/*
 * Widths for ids, as long as the longest among the first entries, and for times, if there
 * is room.
 */
static void find_columns(struct log *l)
{
	enum { LOOK = 1000, LONGEST = 36, SECONDS = 19, MINUTES = 16, NARROW = 56, ROOMY = 72 };
	uint32_t nr = grove_view_count(l->v);
	struct grove_entry e = { .size = sizeof(e) };

	l->id = 4;
	for (uint32_t i = l->from; i < nr && i < l->from + LOOK && !grove_view_entry(l->v, i, &e); i++) {
		size_t n = e.id ? short_id(&l->ids, e.id).len : 0;

		if (n > l->id)
			l->id = (unsigned)(n < LONGEST ? n : LONGEST);
	}
	l->when = l->c->out.width < NARROW ? 0 : l->c->out.width < ROOMY ? MINUTES : SECONDS;
}

static void print_line(struct log *l, const struct grove_entry *e, const struct brief *b)
{
	struct out *o = &l->c->out;
	unsigned word = l->when ? 14 : 10;
	unsigned head = l->id + 2 + (l->when ? l->when + 2 : 0) + word + 1, left = o->width > head + 10 ? o->width - head : 10;
	int more = b->found || e->label;
	char when[32];

	out_style(o, OUT_YELLOW);
	out_column(o, short_id(&l->ids, e->id), l->id);
	out_style(o, OUT_PLAIN);
	cli_time(when, sizeof(when), e->time, l->when > 16);
	out_puts(o, "  ");
	if (l->when)
		out_printf(o, "%-*s  ", (int)l->when, when);
	out_style(o, brief_style(e));
	if (more)
		out_column(o, out_str(brief_word(e)), word);
	else
		out_fit(o, out_str(brief_word(e)), word);
	out_style(o, OUT_PLAIN);
	if (more)
		out_puts(o, " ");
	if (e->label) {
		out_style(o, OUT_BOLD);
		out_puts(o, "[");
		left -= out_fit(o, out_str(e->label), left / 2) + 3;
		out_puts(o, "] ");
		out_style(o, OUT_PLAIN);
	}
	brief_print(o, b, left);
	out_puts(o, "\n");
}

static int print_lines(struct log *l)
{
	uint32_t nr = grove_view_count(l->v);
	int err = 0;

	cli_pager(l->c);
	find_columns(l);
	for (uint32_t i = l->from; i < nr && !err && !out_failed(&l->c->out); i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct brief b;

		progress_at(&l->c->progress, i - l->from, nr - l->from);
		err = grove_view_entry(l->v, i, &e);
		if (err || !is_within(&l->period, &e))
			continue;
		err = brief_read(&b, l->v, i);
		if (!err)
			print_line(l, &e, &b);
	}
	return err;
}

int cmd_log(struct cli *c, int argc, char **argv)
{
	struct log l = { .c = c, .last = UINT64_MAX };
	struct grove_session *s;
	const char *since = NULL, *until = NULL;
	int raw = 0, blobs = 0, err = 0;
	const struct opt opts[] = {
		{ "last", .letter = 'n', .number = &l.last },
		{ "raw", .flag = &raw },
		{ "blobs", .flag = &blobs },
		{ "since", .string = &since },
		{ "until", .string = &until },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (raw && c->json)
		return cli_usage(c, "--raw and --json cannot be used together");
	if (raw && (since || until || l.last != UINT64_MAX))
		return cli_usage(c, "--raw prints every line: it cannot be used with --%s",
				 since ? "since" : until ? "until" : "last");
	if (cli_period(c, since, until, &l.period))
		return c->status;
	if (blobs && !c->json)
		return cli_usage(c, "--blobs requires --json");
	s = cli_open_read(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	l.v = cli_view(c, s);
	if (!l.v)
		goto out;
	cli_working(c, "printing");
	short_ids_init(&l.ids, l.v);
	err = find_from(&l);
	if (!err && raw) {
		err = grove_view_raw(l.v, out_raw_sink(&c->out));
		out_sink_end(&c->out);
	} else if (!err && c->json) {
		err = print_json(&l, blobs ? GROVE_LINE_BLOBS : 0);
		if (!err)
			out_end_line(&c->out);
	} else if (!err) {
		err = print_lines(&l);
	}
	c->status = err ? cli_fail_view(c, l.v, err) : EXIT_DONE;
	short_ids_release(&l.ids);
out:
	grove_view_unref(l.v);
	grove_session_close(s);
	return c->status;
}
