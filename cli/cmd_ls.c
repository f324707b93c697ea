/*
 * cmd_ls.c: list sessions.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS 86400000
#define DAYS_DEFAULT 7

static const char *const sorts[] = { "modified", "created", "size", "messages", "name", "relevance",
				     NULL };

/* The words of the query, as one. */
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

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How much of an id must be shown so that no two shown look alike. */
static unsigned id_width(const struct grove_list *l)
{
	enum { SHORTEST = 8, LONGEST = 36 };
	size_t nr = grove_list_count(l), width = SHORTEST;
	const char **id = cli_realloc(NULL, nr, sizeof(*id));

	for (size_t i = 0; i < nr; i++)
		id[i] = grove_list_at(l, i)->id;
	qsort(id, nr, sizeof(*id), by_text);
	for (size_t i = 1; i < nr; i++) {
		size_t same = 0;

		while (id[i][same] && id[i][same] == id[i - 1][same])
			same++;
		/* one session in two stores: no width tells them apart */
		if (id[i][same] && same + 1 > width)
			width = same + 1;
	}
	free(id);
	return (unsigned)(width < LONGEST ? width : LONGEST);
}

/* ~/src/grove: a working directory as its owner writes it. */
static void print_project(struct out *o, const char *cwd, unsigned width)
{
	const char *home = getenv("HOME");
	size_t n = home ? strlen(home) : 0;
	unsigned all;

	while (n && home[n - 1] == '/')
		n--;
	if (n && !strncmp(cwd, home, n) && (!cwd[n] || cwd[n] == '/') && width > 1) {
		out_puts(o, "~");
		width--;
		cwd += n;
	}
	/* the end of a path says more than its beginning */
	all = out_width(out_str(cwd), 4096);
	if (all > width && width > 1) {
		while (*cwd && out_width(out_str(cwd), 4096) > width - 1)
			do
				cwd++;
			while (((unsigned char)*cwd & 0xc0) == 0x80);
		out_puts(o, "…");
		width--;
	}
	out_column(o, out_str(cwd), width);
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

static unsigned at_least(unsigned width, unsigned used)
{
	return width > used + 10 ? width - used : 10;
}

/* What a table has besides the columns that every one has. */
struct table {
	struct out *o;
	int projects, expiring, shape;
	unsigned id, project, leaf, text;   /* widths */
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

static void print_heads(const struct table *t)
{
	struct out *o = t->o;

	out_style(o, OUT_DIM);
	out_printf(o, "%-16s    MSGS   SIZE  ", t->expiring ? "EXPIRES" : "MODIFIED");
	if (t->shape) {
		out_puts(o, "ENTRIES  BRANCH  COMPACT  BAD  ");
		out_column(o, out_str("LEAF"), t->leaf);
		out_puts(o, "  ");
	}
	out_column(o, out_str("ID"), t->id);
	out_puts(o, "  ");
	if (t->projects) {
		out_column(o, out_str("PROJECT"), t->project);
		out_puts(o, "  ");
	}
	out_puts(o, "NAME OR FIRST MESSAGE");
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

static void print_shape(const struct table *t, const struct grove_list_item *s)
{
	struct out *o = t->o;

	if (s->has_shape)
		out_printf(o, "%7llu  %6llu  %7llu  ", (unsigned long long)s->entries,
			   (unsigned long long)s->branches, (unsigned long long)s->compactions);
	else
		out_printf(o, "%7s  %6s  %7s  ", "-", "-", "-");
	if (s->malformed)
		out_style(o, OUT_RED);
	if (s->has_shape)
		out_printf(o, "%3llu", (unsigned long long)s->malformed);
	else
		out_printf(o, "%3s", "-");
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	out_column(o, out_str(s->leaf ? s->leaf : "-"), t->leaf);
	out_puts(o, "  ");
}

/* As deep as it is, but so that something can be read. */
static unsigned indent(const struct table *t, unsigned depth)
{
	unsigned most = t->text / 2 / 2 * 2, n;

	for (n = 0; depth && n < most; depth--, n += 2)
		out_puts(t->o, "  ");
	return n;
}

static void print_row(const struct table *t, const struct grove_list_item *s)
{
	struct out *o = t->o;
	char when[32], size[16];
	unsigned indented;

	cli_time(when, sizeof(when), t->expiring ? s->expires : s->modified, 0);
	cli_size(size, sizeof(size), s->size);
	if (s->message_count == GROVE_NO_COUNT)
		out_printf(o, "%-16s  %6s  %5s  ", when, "-", size);
	else
		out_printf(o, "%-16s  %6llu  %5s  ", when, (unsigned long long)s->message_count, size);
	if (t->shape)
		print_shape(t, s);
	out_style(o, OUT_YELLOW);
	out_column(o, (struct grove_slice){ s->id, strnlen(s->id, t->id) }, t->id);
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	if (t->projects) {
		out_style(o, OUT_DIM);
		print_project(o, s->cwd, t->project);
		out_style(o, OUT_PLAIN);
		out_puts(o, "  ");
	}
	indented = indent(t, s->depth);
	if (s->name)
		out_style(o, OUT_BOLD);
	out_fit(o, out_str(s->name ? s->name : s->first_message), t->text - indented);
	if (s->name)
		out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

static void print_table(struct table *t, const struct grove_list *l)
{
	unsigned used = 16 + 2 + 6 + 2 + 5 + 2;

	t->id = id_width(l);
	t->project = t->projects ? project_width(l, t->o->width / 5) : 0;
	t->leaf = t->shape ? leaf_width(l) : 0;
	used += t->id + 2 + (t->projects ? t->project + 2 : 0) + (t->shape ? 31 + t->leaf + 2 : 0);
	t->text = at_least(t->o->width, used);
	print_heads(t);
	for (size_t i = 0; i < grove_list_count(l) && !out_failed(t->o); i++)
		print_row(t, grove_list_at(l, i));
}

int cmd_ls(struct cli *c, int argc, char **argv)
{
	struct grove_list_options lo = { sizeof(lo) };
	struct grove_list *l = NULL;
	const char *cwd = NULL, *session = NULL, *since = NULL, *until = NULL;
	uint64_t limit = 0, days = DAYS_DEFAULT;
	int all = 0, named = 0, expiring = 0, threads = 0, shape = 0, sort = 0, counted = 0, err, status;
	char *query;
	const struct opt opts[] = {
		{ "all", .flag = &all },
		{ "cwd", .string = &cwd },
		{ "sort", .choice = &sort, .choices = sorts },
		{ "limit", .number = &limit },
		{ "named", .flag = &named },
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
	if (session && (all || cwd || since || until || sort || limit || named || threads || shape || expiring || argc))
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
	} else if (c->json) {
		status = print_json(c, l);
	} else {
		status = EXIT_DONE;
		if (grove_list_count(l))
			print_table(&(struct table){ &c->out, all || session, expiring, shape }, l);
		else
			cli_warn(c, "no session%s%s",
				 argc || named || since || until ? " matches" : expiring ? " expires that soon" : "s",
				 all ? "" : cwd ? " in that directory (use --all to look everywhere)" :
						  " here (use --all to look everywhere)");
	}
	grove_list_free(l);
	free(query);
	return status;
}
