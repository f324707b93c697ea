/*
 * cmd_log.c: the entries in the order they were written.
 */
#include "brief.h"
#include "cli.h"

#include <string.h>

/* Columns for ids: those of the longest among the first entries. */
static unsigned id_width(const struct grove_view *v)
{
	enum { LOOK = 1000, LONGEST = 36 };
	uint32_t nr = grove_view_count(v);
	struct grove_entry e = { .size = sizeof(e) };
	size_t width = 4;

	for (uint32_t i = 0; i < nr && i < LOOK && !grove_view_entry(v, i, &e); i++) {
		size_t n = e.id ? strlen(e.id) : 0;

		if (n > width)
			width = n;
	}
	return (unsigned)(width < LONGEST ? width : LONGEST);
}

static int is_within(const struct grove_period *p, const struct grove_entry *e)
{
	if (!p->since && !p->until)
		return 1;
	return e->time != GROVE_NO_TIME && (!p->since || e->time >= p->since) && (!p->until || e->time < p->until);
}

/* The entries of a period, as grove_view_log() writes all of them. */
static int print_json(struct cli *c, struct grove_view *v, unsigned flags, const struct grove_period *p)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_buf line = GROVE_BUF_INIT;
	const char *before = "[\n";
	int err = 0;

	/* all of them are read faster in one go */
	if (!p->since && !p->until)
		return grove_view_log(v, flags, out_json_sink(&c->out));
	for (uint32_t i = 0; i < grove_view_count(v) && !err && !out_failed(&c->out); i++) {
		err = grove_view_entry(v, i, &e);
		if (err || !is_within(p, &e))
			continue;
		line.len = 0;
		err = grove_view_line(v, i, flags, &line);
		if (!err) {
			out_puts(&c->out, before);
			out_json(&c->out, grove_buf_slice(&line));
		}
		before = ",\n";
	}
	if (!err)
		out_puts(&c->out, *before == '[' ? "[]" : "]");
	grove_buf_release(&line);
	return err;
}

static int print_lines(struct cli *c, struct grove_view *v, const struct grove_period *p)
{
	struct out *o = &c->out;
	unsigned id = id_width(v), head = id + 2 + 19 + 2 + 14 + 1;
	unsigned width = o->width > head + 10 ? o->width - head : 10;
	uint32_t nr = grove_view_count(v);

	for (uint32_t i = 0; i < nr && !out_failed(o); i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct brief b;
		char when[32];
		unsigned left = width;
		int err = grove_view_entry(v, i, &e);

		if (!err && !is_within(p, &e))
			continue;
		if (!err)
			err = brief_read(&b, v, i);
		if (err)
			return cli_fail_view(c, v, err);
		out_style(o, OUT_YELLOW);
		out_column(o, out_str(e.id ? e.id : "-"), id);
		out_style(o, OUT_PLAIN);
		cli_time(when, sizeof(when), e.time, 1);
		out_printf(o, "  %-19s  ", when);
		out_style(o, brief_style(&e));
		if (b.found || e.label)
			out_column(o, out_str(brief_word(&e)), 14);
		else
			out_fit(o, out_str(brief_word(&e)), 14);
		out_style(o, OUT_PLAIN);
		if (b.found || e.label)
			out_puts(o, " ");
		if (e.label) {
			out_style(o, OUT_BOLD);
			out_puts(o, "[");
			left -= out_fit(o, out_str(e.label), width / 2) + 3;
			out_puts(o, "] ");
			out_style(o, OUT_PLAIN);
		}
		brief_print(o, &b, left);
		out_puts(o, "\n");
	}
	return EXIT_DONE;
}

int cmd_log(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_view *v;
	struct grove_period period;
	const char *since = NULL, *until = NULL;
	int raw = 0, blobs = 0, err = 0, status = EXIT_DONE;
	const struct opt opts[] = {
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
	if (raw && (since || until))
		return cli_usage(c, "--raw prints every line: it cannot be used with --%s", since ? "since" : "until");
	if (cli_period(c, since, until, &period))
		return c->status;
	if (blobs && !c->json)
		return cli_usage(c, "--blobs requires --json");
	s = cli_open(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	v = cli_view(c, s);
	if (!v) {
		grove_session_close(s);
		return c->status;
	}
	if (raw) {
		err = grove_view_raw(v, out_raw_sink(&c->out));
		out_sink_end(&c->out);
	} else if (c->json) {
		err = print_json(c, v, blobs ? GROVE_LINE_BLOBS : 0, &period);
		if (!err)
			out_end_line(&c->out);
	} else {
		status = print_lines(c, v, &period);
	}
	if (err)
		status = cli_fail_view(c, v, err);
	grove_view_unref(v);
	grove_session_close(s);
	return status;
}
