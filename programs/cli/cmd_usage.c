/*
 * cmd_usage.c: tokens and cost.
 */
#include "commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In the order of enum grove_usage_by. */
static const char *const groups[] = { "day", "model", "session", "project", "agent", "week", "month", "block", NULL };
static const char *const titles[] = { "DAY", "MODEL", "SESSION", "PROJECT", "AGENT", "WEEK OF", "MONTH", "BLOCK" };

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

/* 1.2M */
static void in_short(char *out, size_t size, uint64_t n)
{
	static const char unit[] = "kMGTPE";
	double x = (double)n;
	int i = -1;

	while (x >= 999.5 && unit[i + 1]) {
		x /= 1000;
		i++;
	}
	if (i < 0)
		snprintf(out, size, "%llu", (unsigned long long)n);
	else
		snprintf(out, size, x < 9.95 ? "%.1f%c" : "%.0f%c", x, unit[i]);
}

static void cell(char *out, size_t size, const struct grove_usage_row *r, int column, int brief)
{
	if (column < COUNTS && brief)
		in_short(out, size, count_of(r, column));
	else if (column < COUNTS)
		with_commas(out, size, count_of(r, column));
	else if (r->has_cost)
		out_cost(out, size, r->cost, r->estimated, 0);
	else
		snprintf(out, size, "-");
}

/* Formats a block as 2026-05-03 09:00 - 14:00, in local time, and marks the current one. */
static const char *block_text(const struct grove_usage_row *r, char *out, size_t size)
{
	char from[32], until[32];

	cli_time(from, sizeof(from), r->period.since, 0);
	cli_time(until, sizeof(until), r->period.until, 0);
	snprintf(out, size, "%s - %s%s", from, strlen(until) > 11 ? until + 11 : until,
		 r->period.until / 1000 > time(NULL) ? " now" : "");
	return out;
}

static const char *key_text(const struct grove_usage_row *r, char *out, size_t size)
{
	if (r->period.until)
		return block_text(r, out, size);
	return *r->key ? r->key : "(unknown)";
}

static void print_key(struct out *o, const char *key, unsigned width)
{
	if (*key == '/')
		out_pad(o, width - out_fit_path(o, key, width));
	else
		out_column(o, out_str(key), width);
}

/* --- the table --- */

struct table {
	struct out *o;
	const struct grove_usage *u;
	int by;                        /* enum grove_usage_by */
	int first;                     /* the first column with numbers */
	int brief;                     /* abbreviate numbers */
	unsigned key;                  /* widths */
	unsigned id;                   /* how many characters of a session id every command
	                                  accepts; 0 for whole ids, or none */
	unsigned width[COUNTS + 1];
	unsigned bar;                  /* 0 for no bars */
	int tokens;                    /* what the bars show; 0 for cost */
	double most;                   /* the largest value */
	struct names *names;           /* names of sessions; NULL if rows are not sessions */
	unsigned name;                 /* their width; 0 if there is no room */
};

/* --- the sessions that ids are of --- */

struct names {
	struct cli *c;
	struct grove_list *l;
	const struct grove_list_item **by_id;
	size_t nr;
	unsigned id;                   /* the prefix length that is unique among all sessions, in
	                                  any directory */
};

static int compare_ids(const void *a, const void *b)
{
	const struct grove_list_item *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

/* Lists all sessions, on first use. */
static void find_names(struct names *n)
{
	enum { SHORTEST = 8 };
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL | GROVE_LIST_SHORT_IDS };

	if (n->id)
		return;
	n->id = SHORTEST;
	if (grove_list(n->c->g, &lo, &n->l)) {
		/* an id without a unique prefix is shown whole */
		n->id = UINT_MAX;
		return;
	}
	n->by_id = cli_realloc(NULL, grove_list_count(n->l) + 1, sizeof(*n->by_id));
	for (; n->nr < grove_list_count(n->l); n->nr++) {
		n->by_id[n->nr] = grove_list_at(n->l, n->nr);
		if (n->by_id[n->nr]->id_len > n->id)
			n->id = n->by_id[n->nr]->id_len;
	}
	qsort(n->by_id, n->nr, sizeof(*n->by_id), compare_ids);
}

static void forget_names(struct names *n)
{
	free(n->by_id);
	grove_list_free(n->l);
}

static struct grove_slice name_of(const struct names *n, const char *id)
{
	const struct grove_list_item key = { .id = id }, *at = &key;
	const struct grove_list_item **found;

	found = n->nr ? bsearch(&at, n->by_id, n->nr, sizeof(*n->by_id), compare_ids) : NULL;
	if (!found)
		return out_str("");
	return (*found)->name ? out_str((*found)->name)
			      : (struct grove_slice){ (*found)->first_message, (*found)->first_message_len };
}

/* --- printing --- */

static double bar_of(const struct table *t, const struct grove_usage_row *r)
{
	return t->tokens ? (double)r->total : r->cost;
}

/* Drawn in eighths of a column, so that small differences are visible. */
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

static void print_numbers(const struct table *t, const struct grove_usage_row *r)
{
	char text[64];

	for (int i = t->first; i <= COUNTS; i++) {
		cell(text, sizeof(text), r, i, t->brief);
		out_printf(t->o, "  %*s", (int)t->width[i], text);
	}
}

static void print_row(const struct table *t, const char *key, const struct grove_usage_row *r)
{
	/* a prefix of an id is printed without "…", so that it can be copied */
	if (t->id && strlen(key) > t->id)
		out_column(t->o, (struct grove_slice){ key, t->id }, t->key);
	else
		print_key(t->o, key, t->key);
	print_numbers(t, r);
	if (t->bar && r->key)
		print_bar(t, r);
	if (t->name && r->key) {
		out_puts(t->o, "  ");
		out_fit(t->o, name_of(t->names, r->key), t->name);
	}
	out_puts(t->o, "\n");
}

/* Prints the models of a row, below it. */
static void print_stack(const struct table *t, size_t row)
{
	const struct grove_usage_row *r;

	out_style(t->o, OUT_DIM);
	for (size_t i = 0; (r = grove_usage_stack_at(t->u, row, i)); i++) {
		out_puts(t->o, "  ");
		out_column(t->o, out_str(*r->key ? r->key : "(unknown)"), t->key - 2);
		print_numbers(t, r);
		out_puts(t->o, "\n");
	}
	out_style(t->o, OUT_PLAIN);
}

static unsigned columns_used(const struct table *t)
{
	unsigned used = 0;

	for (int i = t->first; i <= COUNTS; i++)
		used += t->width[i] + 2;
	return used;
}

/* No number is wider than that of the totals, except an unknown cost. */
static void measure_numbers(struct table *t)
{
	char text[64];

	for (int i = 0; i <= COUNTS; i++) {
		size_t n = strlen(heads[i]);

		cell(text, sizeof(text), grove_usage_totals(t->u), i, t->brief);
		t->width[i] = (unsigned)(strlen(text) > n ? strlen(text) : n);
	}
}

/* The width of the longest key. */
static unsigned longest_key(const struct table *t)
{
	const struct grove_usage_row *r;
	unsigned most = t->o->width, width = (unsigned)strlen(titles[t->by]), n;
	char text[80];

	for (size_t i = 0; (r = grove_usage_at(t->u, i)); i++) {
		n = out_width(out_str(key_text(r, text, sizeof(text))), most);
		width = n > width ? n : width;
	}
	return width;
}

/* The width of the longest model name below a row. */
static unsigned longest_model(const struct table *t)
{
	const struct grove_usage_row *r;
	unsigned most = t->o->width, width = 0, n;

	for (size_t i = 0; i < grove_usage_count(t->u); i++)
		for (size_t k = 0; (r = grove_usage_stack_at(t->u, i, k)); k++) {
			n = out_width(out_str(r->key), most) + 2;
			width = n > width ? n : width;
		}
	return width;
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/*
 * If a table is too wide, shorten ids first, as far as commands still accept them, then
 * numbers, then drop the columns that add up to the total.
 */
static void measure(struct table *t)
{
	unsigned whole = longest_key(t), key = whole, least, room;

	measure_numbers(t);
	if (t->names && columns_used(t) + key > t->o->width) {
		find_names(t->names);
		t->id = key = t->names->id < whole ? t->names->id : whole;
	}
	key = larger(key, longest_model(t));
	least = larger(t->id, key < 2 * KEY_SHORTEST ? key : 2 * KEY_SHORTEST);
	if (columns_used(t) + least > t->o->width) {
		t->brief = 1;
		measure_numbers(t);
	}
	if (columns_used(t) + least > t->o->width) {
		t->brief = 0;
		t->first = TOTAL;
		measure_numbers(t);
	}
	if (columns_used(t) + least > t->o->width) {
		t->brief = 1;
		measure_numbers(t);
	}
	room = t->o->width > columns_used(t) ? t->o->width - columns_used(t) : 0;
	if (t->id && whole <= room) { /* the dropped columns made room */
		t->id = 0;
		key = larger(key, whole);
	}
	room = larger(room, larger(t->id, KEY_SHORTEST));
	t->key = key < room ? key : room;
}

/* On a terminal, the name of a session is worth more than the parts of its total. */
static void measure_names(struct table *t)
{
	enum { LEAST = 20 };
	unsigned whole = longest_key(t), used;

	find_names(t->names);
	t->id = t->names->id < whole ? t->names->id : whole;
	if (larger(t->id, longest_model(t)) < t->key)
		t->key = larger(t->id, longest_model(t));
	used = columns_used(t) + t->key + 2;
	if (used + LEAST > t->o->width && t->first < TOTAL) {
		t->first = TOTAL;
		used = columns_used(t) + t->key + 2;
	}
	t->name = used + LEAST <= t->o->width ? t->o->width - used : 0;
}

/* If bars do not fit beside all columns, drop the parts of the total. */
static void measure_bars(struct table *t)
{
	int first = t->first;
	unsigned room;

	for (int i = 0; i < 2 && !t->bar; i++) {
		t->first = i ? TOTAL : first;
		room = columns_used(t) + t->key + 2;
		room = t->o->width > room ? t->o->width - room : 0;
		if (room >= BAR_SHORTEST)
			t->bar = room < BAR_LONGEST ? room : BAR_LONGEST;
	}
	if (!t->bar)
		t->first = first;
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
	struct table t = { .o = o, .u = u, .by = by };
	const struct grove_usage_row *r;
	struct names names = { .c = c };
	char text[80];

	if (by == GROVE_USAGE_SESSION)
		t.names = &names;
	measure(&t);
	if (t.names && o->tty && !bars)
		measure_names(&t);
	if (bars)
		measure_bars(&t);
	out_style(o, OUT_DIM);
	out_column(o, out_str(titles[by]), t.key);
	for (int i = t.first; i <= COUNTS; i++)
		out_printf(o, "  %*s", (int)t.width[i], heads[i]);
	if (t.name) {
		out_puts(o, "  ");
		out_fit(o, out_name_heading(t.name), t.name);
	}
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
	for (size_t i = 0; (r = grove_usage_at(u, i)) && !out_failed(o); i++) {
		print_row(&t, key_text(r, text, sizeof(text)), r);
		print_stack(&t, i);
	}
	out_style(o, OUT_BOLD);
	print_row(&t, "TOTAL", grove_usage_totals(u));
	out_style(o, OUT_PLAIN);
	print_unpriced(o, u);
	forget_names(&names);
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
	uint64_t limit = 0;
	int by = 0, bars = 0, breakdown = 0, err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "by", .choice = &by, .choices = groups },
		{ "since", .string = &since },
		{ "until", .string = &until },
		{ "project", .string = &uo.project },
		{ "agent", .string = &uo.agent },
		{ "limit", .number = &limit },
		{ "breakdown", .flag = &breakdown },
		{ "prices", .string = &uo.prices },
		{ "bars", .flag = &bars },
		{ NULL },
	};

	if (cli_begin(c, opts, "", &argc, argv) || cli_period(c, since, until, &uo.period) || cli_stores(c))
		return c->status;
	if (!uo.agent)
		uo.agent = cli_setting(c, "agent");
	uo.tz = "";
	uo.by = (enum grove_usage_by)by;
	uo.limit = limit < SIZE_MAX ? (size_t)limit : 0;
	uo.flags = breakdown ? GROVE_USAGE_STACK : 0;
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
		print_table(c, u, by, bars || (c->out.tty && by == GROVE_USAGE_DAY && !breakdown));
	else if (since || until || uo.project || uo.agent)
		cli_warn(c, "no usage matches");
	else
		cli_warn(c, "no session records token usage");
	if (!err && !c->json && !grove_usage_count(u))
		cli_check_agent(c, uo.agent);
	grove_usage_free(u);
	return cli_answered(c, status);
}
