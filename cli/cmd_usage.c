/*
 * cmd_usage.c: tokens and cost.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static const char *const groups[] = { "day", "model", "session", "project", "agent", NULL };
static const char *const titles[] = { "DAY", "MODEL", "SESSION", "PROJECT", "AGENT" };

enum { COUNTS = 5, TOTAL = COUNTS - 1, KEY_SHORTEST = 10, BAR_SHORTEST = 10, BAR_LONGEST = 60 };
static const char *const heads[COUNTS + 1] = { "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE",
					       "TOTAL", "COST" };

static uint64_t count_of(const struct grove_usage_row *r, int column)
{
	const uint64_t counts[COUNTS] = { r->input, r->output, r->cache_read, r->cache_write, r->total };

	return counts[column];
}

/* 1,234,567 */
static void with_commas(char *out, size_t size, uint64_t n)
{
	char digits[24];
	size_t nr = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (size_t i = 0; i < nr && at + 2 < size; i++) {
		if (i && (nr - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
}

static void cell(char *out, size_t size, const struct grove_usage_row *r, int column)
{
	if (column < COUNTS)
		with_commas(out, size, count_of(r, column));
	else if (r->has_cost)
		snprintf(out, size, "%s%.4f", r->estimated > 0 ? "~" : "", r->cost);
	else
		snprintf(out, size, "-");
}

static const char *key_text(const struct grove_usage_row *r)
{
	return *r->key ? r->key : "(unknown)";
}

/* A key in `width` columns; of a path the end says more than the beginning. */
static void print_key(struct out *o, const char *key, unsigned width)
{
	if (*key == '/' && out_width(out_str(key), 4096) > width) {
		while (*key && out_width(out_str(key), 4096) > width - 1)
			do
				key++;
			while (((unsigned char)*key & 0xc0) == 0x80);
		out_puts(o, "…");
		width--;
	}
	out_column(o, out_str(key), width);
}

/* --- the table --- */

struct table {
	struct out *o;
	const struct grove_usage *u;
	int first;                     /* of the columns with numbers */
	unsigned key;                  /* widths */
	unsigned width[COUNTS + 1];
	unsigned bar;                  /* 0: no bars */
	int tokens;                    /* what bars stand for; 0: cost */
	double most;                   /* the longest */
};

static double bar_of(const struct table *t, const struct grove_usage_row *r)
{
	return t->tokens ? (double)r->total : r->cost;
}

/* Eighths of a column, so that small differences show as well. */
static void print_bar(const struct table *t, const struct grove_usage_row *r)
{
	static const char *const parts[8] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double share = t->most > 0 ? bar_of(t, r) / t->most : 0;
	unsigned eighths = (unsigned)(share * t->bar * 8 + 0.5);

	if (!eighths && share > 0)
		eighths = 1;
	if (!eighths)
		return;
	out_puts(t->o, "  ");
	out_style(t->o, OUT_GREEN);
	for (unsigned i = 0; i < eighths / 8; i++)
		out_puts(t->o, "█");
	out_puts(t->o, parts[eighths % 8]);
	out_style(t->o, OUT_PLAIN);
}

static void print_row(const struct table *t, const char *key, const struct grove_usage_row *r)
{
	char text[64];

	print_key(t->o, key, t->key);
	for (int i = t->first; i <= COUNTS; i++) {
		cell(text, sizeof(text), r, i);
		out_printf(t->o, "  %*s", (int)t->width[i], text);
	}
	if (t->bar && r->key)
		print_bar(t, r);
	out_puts(t->o, "\n");
}

static unsigned columns_used(const struct table *t)
{
	unsigned used = 0;

	for (int i = t->first; i <= COUNTS; i++)
		used += t->width[i] + 2;
	return used;
}

/* No number is wider than that of the totals, but a cost that is not known. */
static void measure_numbers(struct table *t)
{
	char text[64];

	for (int i = 0; i <= COUNTS; i++) {
		size_t n = strlen(heads[i]);

		cell(text, sizeof(text), grove_usage_totals(t->u), i);
		t->width[i] = (unsigned)(strlen(text) > n ? strlen(text) : n);
	}
}

static void measure_keys(struct table *t, const char *title)
{
	unsigned used = columns_used(t), width = t->o->width, n;
	unsigned most = width > used + KEY_SHORTEST ? width - used : KEY_SHORTEST;

	t->key = 0;
	for (size_t i = 0; i < grove_usage_count(t->u); i++) {
		n = out_width(out_str(key_text(grove_usage_at(t->u, i))), most);
		t->key = n > t->key ? n : t->key;
	}
	if (t->key < strlen(title))
		t->key = (unsigned)strlen(title);
	t->key = t->key < most ? t->key : most;
}

/* Where bars do not fit beside all columns, those that make up the total give way. */
static void measure_bars(struct table *t)
{
	unsigned room;

	for (int i = 0; i < 2 && !t->bar; i++) {
		t->first = i ? TOTAL : 0;
		room = columns_used(t) + t->key + 2;
		room = t->o->width > room ? t->o->width - room : 0;
		if (room >= BAR_SHORTEST)
			t->bar = room < BAR_LONGEST ? room : BAR_LONGEST;
	}
	if (!t->bar)
		t->first = 0;
	for (size_t i = 0; i < grove_usage_count(t->u); i++)
		t->tokens |= !grove_usage_at(t->u, i)->has_cost;
	for (size_t i = 0; i < grove_usage_count(t->u); i++) {
		double x = bar_of(t, grove_usage_at(t->u, i));

		t->most = x > t->most ? x : t->most;
	}
}

static void print_unpriced(struct out *o, const struct grove_usage *u)
{
	const struct grove_usage_unpriced *x;

	for (size_t i = 0; (x = grove_usage_unpriced_at(u, i)); i++) {
		out_puts(o, i ? ", " : "no price for: ");
		out_fit(o, out_str(*x->model ? x->model : "(unknown)"), 200);
		out_printf(o, " (%llu %s)", (unsigned long long)x->replies,
			   x->replies == 1 ? "reply" : "replies");
	}
	if (grove_usage_unpriced_at(u, 0))
		out_puts(o, "\n");
}

static void print_table(struct cli *c, const struct grove_usage *u, int by, int bars)
{
	struct out *o = &c->out;
	struct table t = { .o = o, .u = u };

	measure_numbers(&t);
	measure_keys(&t, titles[by]);
	if (bars)
		measure_bars(&t);
	out_style(o, OUT_DIM);
	out_column(o, out_str(titles[by]), t.key);
	for (int i = t.first; i <= COUNTS; i++)
		out_printf(o, "  %*s", (int)t.width[i], heads[i]);
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
	for (size_t i = 0; i < grove_usage_count(u) && !out_failed(o); i++)
		print_row(&t, key_text(grove_usage_at(u, i)), grove_usage_at(u, i));
	out_style(o, OUT_BOLD);
	print_row(&t, "TOTAL", grove_usage_totals(u));
	out_style(o, OUT_PLAIN);
	print_unpriced(o, u);
}

static int print_json(struct cli *c, const struct grove_usage *u)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int err = grove_usage_json(u, &b);

	if (!err) {
		out_json(&c->out, (struct grove_slice){ b.ptr, b.len });
		out_puts(&c->out, "\n");
	}
	grove_buf_release(&b);
	return err ? cli_error(c, err, "%s", grove_strerror(err)) : EXIT_DONE;
}

int cmd_usage(struct cli *c, int argc, char **argv)
{
	struct grove_usage_options uo = { sizeof(uo) };
	struct grove_usage *u = NULL;
	const char *since = NULL, *until = NULL;
	int by = 0, bars = 0, err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "by", .choice = &by, .choices = groups },
		{ "since", .string = &since },
		{ "until", .string = &until },
		{ "prices", .string = &uo.prices },
		{ "bars", .flag = &bars },
		{ NULL },
	};

	if (cli_begin(c, opts, "", &argc, argv) || cli_period(c, since, until, &uo.period) || cli_stores(c))
		return c->status;
	uo.tz = "";
	uo.by = (enum grove_usage_by)by;
	uo.skipped = cli_skipped;
	uo.skipped_payload = c;
	cli_progress(c, "reading sessions");
	err = grove_usage(c->g, &uo, &u);
	cli_progress_end(c);
	cli_let_interrupt();

	if (err)
		status = cli_fail_grove(c, err);
	else if (c->json)
		status = print_json(c, u);
	else if (grove_usage_count(u))
		print_table(c, u, by, bars || (c->out.tty && by == GROVE_USAGE_DAY));
	else
		cli_warn(c, "no session records token usage");
	grove_usage_free(u);
	return status;
}
