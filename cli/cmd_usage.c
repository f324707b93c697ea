/*
 * cmd_usage.c: tokens and cost.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static const char *const groups[] = { "day", "model", "session", "project", "agent", NULL };
static const char *const titles[] = { "DAY", "MODEL", "SESSION", "PROJECT", "AGENT" };

enum { COUNTS = 5, KEY_SHORTEST = 10 };
static const char *const heads[COUNTS + 1] = { "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE",
					       "TOTAL", "COST" };

static void on_skipped(void *payload, const struct grove_detail *why)
{
	cli_warn_detail(payload, why);
}

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
		snprintf(out, size, "%.4f", r->cost);
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

static void print_row(struct out *o, const char *key, unsigned key_width, const unsigned *width,
		      const struct grove_usage_row *r)
{
	char text[64];

	print_key(o, key, key_width);
	for (int i = 0; i <= COUNTS; i++) {
		cell(text, sizeof(text), r, i);
		out_printf(o, "  %*s", (int)width[i], text);
	}
	out_puts(o, "\n");
}

static void print_table(struct cli *c, const struct grove_usage *u, int by)
{
	struct out *o = &c->out;
	size_t nr = grove_usage_count(u);
	unsigned width[COUNTS + 1], key = 0, used = 0, most;
	char text[64];

	/* no number is wider than that of the totals, but a cost that is not known */
	for (int i = 0; i <= COUNTS; i++) {
		size_t n = strlen(heads[i]);

		cell(text, sizeof(text), grove_usage_totals(u), i);
		width[i] = (unsigned)(strlen(text) > n ? strlen(text) : n);
		used += width[i] + 2;
	}
	most = o->width > used + KEY_SHORTEST ? o->width - used : KEY_SHORTEST;
	for (size_t i = 0; i < nr; i++) {
		unsigned n = out_width(out_str(key_text(grove_usage_at(u, i))), most);

		key = n > key ? n : key;
	}
	if (key < strlen(titles[by]))
		key = (unsigned)strlen(titles[by]);
	key = key < most ? key : most;

	out_style(o, OUT_DIM);
	out_column(o, out_str(titles[by]), key);
	for (int i = 0; i <= COUNTS; i++)
		out_printf(o, "  %*s", (int)width[i], heads[i]);
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
	for (size_t i = 0; i < nr && !out_failed(o); i++)
		print_row(o, key_text(grove_usage_at(u, i)), key, width, grove_usage_at(u, i));
	out_style(o, OUT_BOLD);
	print_row(o, "TOTAL", key, width, grove_usage_totals(u));
	out_style(o, OUT_PLAIN);
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
	int by = 0, err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "by", .choice = &by, .choices = groups },
		{ NULL },
	};

	if (cli_begin(c, opts, "", &argc, argv))
		return c->status;
	uo.by = (enum grove_usage_by)by;
	uo.skipped = on_skipped;
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
		print_table(c, u, by);
	else
		cli_warn(c, "no session tells what it used");
	grove_usage_free(u);
	return status;
}
