/*
 * cmd_ls.c: list sessions.
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS 86400000
#define DAYS_DEFAULT 7

static const char *const sorts[] = { "modified", "created", "size", "messages", "name", "relevance",
				     NULL };

/* Joins the words of the query. */
static char *join(int argc, char **argv)
{
	size_t len = 0, at = 0;
	char *all;

	if (!argc)
		return NULL;
	for (int i = 0; i < argc; i++)
		len += strlen(argv[i]) + 1;
	all = cli_realloc(NULL, len, 1);
	for (int i = 0; i < argc; i++) {
		size_t n = strlen(argv[i]);

		memcpy(all + at, argv[i], n);
		at += n;
		all[at++] = ' ';
	}
	all[at - 1] = '\0';
	return all;
}

static int print_json(struct cli *c, const struct grove_list *l)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t nr = grove_list_count(l);
	int err = 0;

	out_puts(&c->out, "[");
	for (size_t i = 0; i < nr && !err; i++) {
		if (i)
			out_puts(&c->out, ",\n");
		b.len = 0;
		err = grove_list_item_json(grove_list_at(l, i), &b);
		if (!err)
			out_json(&c->out, (struct grove_slice){ b.ptr, b.len });
	}
	out_puts(&c->out, "]\n");
	grove_buf_release(&b);
	return err ? cli_error(c, err, "%s", grove_strerror(err)) : EXIT_DONE;
}

/* Returns how many characters of an id are needed to be accepted by every command. */
static unsigned id_width(const struct grove_list *l)
{
	enum { SHORTEST = 8 };
	unsigned width = SHORTEST;

	for (size_t i = 0; i < grove_list_count(l); i++) {
		const struct grove_list_item *s = grove_list_at(l, i);
		/* for a session given by name, we do not know which others there are */
		unsigned n = s->id_len ? s->id_len : (unsigned)strlen(s->id);

		width = n > width ? n : width;
	}
	return width;
}

static unsigned project_width(const struct grove_list *l, unsigned most)
{
	unsigned width = 7;

	for (size_t i = 0; i < grove_list_count(l) && width < most; i++) {
		unsigned n = out_width(out_str(grove_list_at(l, i)->cwd), most);

		if (n > width)
			width = n;
	}
	return width < most ? width : most;
}

/* Optional columns of the table. */
enum column {
	COL_CLOCK = 1 << 0,    /* the time of the day */
	COL_MESSAGES = 1 << 1,
	COL_SIZE = 1 << 2,
	COL_ENTRIES = 1 << 3,
	COL_BRANCHES = 1 << 4,
	COL_COMPACTIONS = 1 << 5,
	COL_BAD = 1 << 6,
	COL_COST = 1 << 7,
	COL_LEAF = 1 << 8,
	COL_AGENT = 1 << 9,
	COL_PROJECT = 1 << 10
};

enum { DATE = 10, TIME = 16, COST = 8, TEXT_LEAST = 16, TEXT_SHORTEST = 4 };

struct table {
	struct out *o;
	const struct grove_list *l;
	int expiring;
	unsigned columns;                          /* enum column */
	unsigned id, agent, project, leaf, text;   /* widths */
};

static unsigned leaf_width(const struct grove_list *l)
{
	enum { SHORTEST = 4, LONGEST = 36 };
	unsigned width = SHORTEST;

	for (size_t i = 0; i < grove_list_count(l); i++) {
		const char *leaf = grove_list_at(l, i)->leaf;
		unsigned n = leaf ? out_width(out_str(leaf), LONGEST) : 0;

		if (n > width)
			width = n;
	}
	return width < LONGEST ? width : LONGEST;
}

/* Returns 0 if all sessions belong to one agent. */
static unsigned agent_width(const struct grove_list *l)
{
	enum { SHORTEST = 5 };
	unsigned width = SHORTEST;
	int several = 0;

	for (size_t i = 0; i < grove_list_count(l); i++) {
		const char *agent = grove_list_at(l, i)->agent;
		unsigned n = (unsigned)strlen(agent);

		width = n > width ? n : width;
		several |= strcmp(agent, grove_list_at(l, 0)->agent) != 0;
	}
	return several ? width : 0;
}

/* The width of everything but the text at the end. */
static unsigned used(const struct table *t)
{
	const struct {
		enum column column;
		unsigned width;
	} all[] = {
		{ COL_CLOCK, TIME - DATE }, { COL_MESSAGES, 6 + 2 }, { COL_SIZE, 5 + 2 }, { COL_ENTRIES, 7 + 2 },
		{ COL_BRANCHES, 6 + 2 }, { COL_COMPACTIONS, 7 + 2 }, { COL_BAD, 3 + 2 }, { COL_COST, COST + 2 },
		{ COL_LEAF, t->leaf + 2 }, { COL_AGENT, t->agent + 2 }, { COL_PROJECT, t->project + 2 },
	};
	unsigned n = DATE + 2 + t->id + 2;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (t->columns & all[i].column)
			n += all[i].width;
	return n;
}

/* In a narrow terminal, drops the least useful columns. */
static void measure(struct table *t)
{
	static const enum column order[] = { COL_COMPACTIONS, COL_LEAF, COL_BAD, COL_SIZE, COL_MESSAGES, COL_CLOCK,
					     COL_PROJECT, COL_BRANCHES, COL_ENTRIES, COL_AGENT, COL_COST };
	unsigned width = t->o->width;

	t->id = id_width(t->l);
	t->agent = agent_width(t->l);
	t->columns |= COL_CLOCK | COL_MESSAGES | COL_SIZE | (t->agent ? COL_AGENT : 0);
	t->project = t->columns & COL_PROJECT ? project_width(t->l, width / 5) : 0;
	t->leaf = t->columns & COL_LEAF ? leaf_width(t->l) : 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order) && used(t) + TEXT_LEAST > width; i++)
		t->columns &= ~(unsigned)order[i];
	t->text = width > used(t) + TEXT_SHORTEST ? width - used(t) : TEXT_SHORTEST;
}

static void print_heads(const struct table *t)
{
	struct out *o = t->o;

	out_style(o, OUT_DIM);
	out_column(o, out_str(t->expiring ? "EXPIRES" : "MODIFIED"), t->columns & COL_CLOCK ? TIME : DATE);
	out_puts(o, t->columns & COL_MESSAGES ? "    MSGS  " : "  ");
	out_puts(o, t->columns & COL_SIZE ? " SIZE  " : "");
	out_puts(o, t->columns & COL_ENTRIES ? "ENTRIES  " : "");
	out_puts(o, t->columns & COL_BRANCHES ? "BRANCH  " : "");
	out_puts(o, t->columns & COL_COMPACTIONS ? "COMPACT  " : "");
	out_puts(o, t->columns & COL_BAD ? "BAD  " : "");
	if (t->columns & COL_COST)
		out_printf(o, "%*s  ", COST, "COST");
	if (t->columns & COL_LEAF) {
		out_column(o, out_str("LEAF"), t->leaf);
		out_puts(o, "  ");
	}
	out_column(o, out_str("ID"), t->id);
	out_puts(o, "  ");
	if (t->columns & COL_AGENT) {
		out_column(o, out_str("AGENT"), t->agent);
		out_puts(o, "  ");
	}
	if (t->columns & COL_PROJECT) {
		out_column(o, out_str("PROJECT"), t->project);
		out_puts(o, "  ");
	}
	out_fit(o, out_name_heading(t->text), t->text);
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

/* Prints a number, or a dash if it is unknown. */
static void print_count(struct out *o, int width, int known, uint64_t n)
{
	if (known)
		out_printf(o, "%*llu  ", width, (unsigned long long)n);
	else
		out_printf(o, "%*s  ", width, "-");
}

static void print_shape(const struct table *t, const struct grove_list_item *s)
{
	struct out *o = t->o;
	char cost[32];

	if (t->columns & COL_ENTRIES)
		print_count(o, 7, s->has_shape, s->entries);
	if (t->columns & COL_BRANCHES)
		print_count(o, 6, s->has_shape, s->branches);
	if (t->columns & COL_COMPACTIONS)
		print_count(o, 7, s->has_shape, s->compactions);
	if (t->columns & COL_BAD) {
		if (s->malformed)
			out_style(o, OUT_RED);
		print_count(o, 3, s->has_shape, s->malformed);
		if (s->malformed)
			out_style(o, OUT_PLAIN);
	}
	if (t->columns & COL_COST) {
		out_cost(cost, sizeof(cost), s->cost, s->estimated, COST);
		out_printf(o, "%*s  ", COST, s->has_cost ? cost : "-");
	}
	if (t->columns & COL_LEAF) {
		out_column(o, out_str(s->leaf ? s->leaf : "-"), t->leaf);
		out_puts(o, "  ");
	}
}

/* Returns the indent for a depth, leaving enough room for the text. */
static unsigned indent(const struct table *t, unsigned depth)
{
	unsigned most = t->text / 2 / 2 * 2, n;

	for (n = 0; depth && n < most; depth--, n += 2)
		out_puts(t->o, "  ");
	return n;
}

static void print_text(const struct table *t, const struct grove_list_item *s)
{
	unsigned before = indent(t, s->depth);

	if (s->archived && t->text > before + 12) {
		out_style(t->o, OUT_DIM);
		out_puts(t->o, "archived: ");
		out_style(t->o, OUT_PLAIN);
		before += 10;
	}
	if (s->name)
		out_style(t->o, OUT_BOLD);
	out_fit(t->o, out_str(s->name ? s->name : s->first_message), t->text - before);
	if (s->name)
		out_style(t->o, OUT_PLAIN);
}

static void print_row(const struct table *t, const struct grove_list_item *s)
{
	struct out *o = t->o;
	char when[32], size[16];

	cli_time(when, sizeof(when), t->expiring ? s->expires : s->modified, 0);
	cli_size(size, sizeof(size), s->size);
	out_printf(o, "%-*.*s  ", t->columns & COL_CLOCK ? TIME : DATE, t->columns & COL_CLOCK ? TIME : DATE, when);
	if (t->columns & COL_MESSAGES)
		print_count(o, 6, s->message_count != GROVE_NO_COUNT, s->message_count);
	if (t->columns & COL_SIZE)
		out_printf(o, "%5s  ", size);
	print_shape(t, s);
	out_style(o, OUT_YELLOW);
	out_column(o, (struct grove_slice){ s->id, strnlen(s->id, t->id) }, t->id);
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	if (t->columns & COL_AGENT) {
		out_column(o, out_str(s->agent), t->agent);
		out_puts(o, "  ");
	}
	if (t->columns & COL_PROJECT) {
		out_style(o, OUT_DIM);
		out_pad(o, t->project - cli_directory(o, s->cwd, t->project));
		out_style(o, OUT_PLAIN);
		out_puts(o, "  ");
	}
	print_text(t, s);
	out_puts(o, "\n");
}

static void print_table(struct table *t)
{
	measure(t);
	print_heads(t);
	for (size_t i = 0; i < grove_list_count(t->l) && !out_failed(t->o); i++)
		print_row(t, grove_list_at(t->l, i));
}

int cmd_ls(struct cli *c, int argc, char **argv)
{
	struct grove_list_options lo = { sizeof(lo) };
	struct grove_list *l = NULL;
	const char *cwd = NULL, *session = NULL, *since = NULL, *until = NULL, *agent = NULL;
	uint64_t limit = 0, days = DAYS_DEFAULT;
	int all = 0, named = 0, expiring = 0, threads = 0, shape = 0, sort = 0, counted = 0, err, status;
	char *query;
	const struct opt opts[] = {
		{ "all", .flag = &all },
		{ "cwd", .string = &cwd },
		{ "sort", .choice = &sort, .choices = sorts },
		{ "limit", .number = &limit },
		{ "named", .flag = &named },
		{ "agent", .string = &agent },
		{ "since", .string = &since },
		{ "until", .string = &until },
		{ "threads", .flag = &threads },
		{ "long", .letter = 'l', .flag = &shape },
		{ "expiring", .flag = &expiring, .number = &days },
		{ "session", .string = &session },
		{ "count", .flag = &counted },
		{ NULL },
	};

	if (cli_begin(c, opts, "[WORD...]", &argc, argv))
		return c->status;
	if (all && cwd)
		return cli_usage(c, "--all and --cwd cannot be used together");
	if (threads && expiring)
		return cli_usage(c, "--threads and --expiring cannot be used together");
	if (cli_period(c, since, until, &lo.modified))
		return c->status;
	if (session && (all || cwd || agent || since || until || sort || limit || named || threads || shape || expiring || argc))
		return cli_usage(c, "--session can only be combined with --count and --json");
	if (counted && !session)
		return cli_usage(c, "--count requires --session: listings always count");
	if (cli_stores(c))
		return c->status;
	query = join(argc, argv);
	lo.cwd = cwd;
	lo.flags = (all ? GROVE_LIST_ALL : 0) | (named ? GROVE_LIST_NAMED : 0) |
		   (expiring ? GROVE_LIST_EXPIRING : 0) | (shape ? GROVE_LIST_SHAPE : 0) |
		   (threads && !c->json ? GROVE_LIST_THREADS : 0);
	if (shape)
		lo.flags |= GROVE_LIST_COST;
	if (!c->json)
		lo.flags |= GROVE_LIST_SHORT_IDS;
	lo.agent = agent ? agent : cli_setting(c, "agent");
	lo.query = query;
	lo.sort = (enum grove_sort)sort;
	lo.limit = limit < SIZE_MAX ? (size_t)limit : 0;
	lo.within = days < INT64_MAX / DAY_MS ? (int64_t)days * DAY_MS : -1;
	lo.skipped = cli_skipped;
	lo.skipped_payload = c;
	cli_progress(c, "reading sessions");
	err = session ? grove_find(c->g, session, counted ? GROVE_FIND_COUNT : 0, &l)
		      : grove_list(c->g, &lo, &l);
	cli_progress_end(c);
	cli_let_interrupt();

	if (err) {
		status = cli_fail_grove(c, err);
		cli_candidates(c, err, l);
	} else if (c->json) {
		status = print_json(c, l);
	} else {
		status = EXIT_DONE;
		if (grove_list_count(l))
			print_table(&(struct table){
				.o = &c->out, .l = l, .expiring = expiring,
				.columns = (all || session ? COL_PROJECT : 0u) |
					   (shape ? COL_ENTRIES | COL_BRANCHES | COL_COMPACTIONS | COL_BAD | COL_COST | COL_LEAF : 0u) });
		else
			cli_warn(c, "no session%s%s",
				 argc || named || lo.agent || since || until ? " matches" : expiring ? " expires that soon" : "s",
				 all ? "" : cwd ? " in that directory (use --all to look everywhere)" :
						  " here (use --all to look everywhere)");
		if (!grove_list_count(l))
			cli_check_agent(c, lo.agent);
	}
	grove_list_free(l);
	free(query);
	return cli_answered(c, status);
}
