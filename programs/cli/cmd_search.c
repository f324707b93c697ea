/*
 * cmd_search.c: full-text search in all sessions.
 */
#include "kit/brief.h"
#include "commands.h"
#include "kit/wrap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT_DEFAULT = 20, COMPARE = 20000 };

static const char *const places[] = { "text", "calls", "results", "names", NULL };

struct search {
	struct cli *c;
	struct grove_search *s;
	struct grove_hits *hits;
	struct grove_hits_about about;
	struct grove_search_options opt;
	const char *query;
	int live, sessions, counts;  /* --live, -l, -c */
	uint64_t around;             /* -C */
	struct grove_buf line;
	/* with -C: the session opened last */
	const struct grove_hit_session *of;
	struct grove_session *open;
	struct grove_view *view;
	struct grove_rows path;      /* the path to its leaf */
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

/* The option may be repeated, or have several values separated by commas. */
static int take_places(struct search *p, const struct opt_list *in)
{
	for (size_t i = 0; i < in->nr; i++)
		for (const char *at = in->item[i]; at;) {
			size_t n = strcspn(at, ",");
			int j = 0;

			while (places[j] && (strlen(places[j]) != n || memcmp(places[j], at, n)))
				j++;
			if (!places[j])
				return cli_usage(p->c, "--in: '%.*s' is not one of text, calls, results, names",
						 n < 64 ? (int)n : 64, at);
			p->opt.in |= 1u << j;
			at = at[n] ? at + n + 1 : NULL;
		}
	return 0;
}

/* ---------------------------------------------------------------- neighbours */

static void close_session(struct search *p)
{
	grove_rows_release(&p->path);
	grove_view_unref(p->view);
	grove_session_close(p->open);
	p->path = (struct grove_rows){ 0 };
	p->view = NULL;
	p->open = NULL;
}

/* Opens the session of a hit. If that fails, no neighbours are shown. */
static void open_session(struct search *p, const struct grove_hit_session *of)
{
	if (p->of == of)
		return;
	close_session(p);
	p->of = of;
	if (!grove_session_open(p->c->g, *of->path ? of->path : of->id, GROVE_OPEN_READ, &p->open) &&
	    !grove_session_view(p->open, &p->view))
		grove_view_ancestors(p->view, grove_view_leaf(p->view), &p->path);
}

static size_t place_of(const struct grove_rows *rows, uint32_t entry)
{
	size_t i = 0;

	while (i < rows->nr && rows->at[i] != entry)
		i++;
	return i;
}

/* The path through an entry: to the leaf, or on another branch down from the entry. */
static void path_through(struct search *p, uint32_t entry, struct grove_rows *out)
{
	struct grove_rows below;

	if (place_of(&p->path, entry) < p->path.nr) {
		out->at = cli_realloc(NULL, p->path.nr, sizeof(*out->at));
		memcpy(out->at, p->path.at, p->path.nr * sizeof(*out->at));
		out->nr = p->path.nr;
		return;
	}
	if (grove_view_ancestors(p->view, entry, out))
		return;
	for (uint64_t i = 0; i < p->around; i++) {
		uint32_t last = out->at[out->nr - 1];

		if (grove_view_children(p->view, last, GROVE_ORDER_APPENDED, &below))
			return;
		if (below.nr) {
			out->at = cli_realloc(out->at, out->nr + 1, sizeof(*out->at));
			out->at[out->nr++] = below.at[0];
		}
		grove_rows_release(&below);
	}
}

/*
 * Finds the entries around a hit, on its branch. `from`, `to` and `at` (the hit) are
 * indexes in `rows`.
 */
static int neighbours(struct search *p, const struct grove_hit *h, struct grove_rows *rows, size_t *from,
		      size_t *at, size_t *to)
{
	uint32_t entry;

	*rows = (struct grove_rows){ 0 };
	if (!p->around || !h->entry_id)
		return 0;
	open_session(p, h->session);
	if (!p->view || grove_view_find(p->view, h->entry_id, &entry))
		return 0;
	path_through(p, entry, rows);
	*at = place_of(rows, entry);
	if (*at == rows->nr)
		return 0;
	*from = *at > p->around ? *at - (size_t)p->around : 0;
	*to = rows->nr - *at > p->around ? *at + (size_t)p->around + 1 : rows->nr;
	return 1;
}

static void print_neighbours(struct search *p, const struct grove_rows *rows, size_t from, size_t to)
{
	struct out *o = &p->c->out;

	for (size_t i = from; i < to; i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct brief b;

		if (grove_view_entry(p->view, rows->at[i], &e) || brief_read(&b, p->view, rows->at[i]) || !b.found)
			continue;
		out_style(o, OUT_DIM);
		out_printf(o, "    %s: ", brief_word(&e));
		out_style(o, OUT_PLAIN);
		brief_print(o, &b, o->width > 40 ? o->width - 20 : 20);
		out_puts(o, "\n");
	}
}

static void neighbours_json(struct search *p, const char *name, const struct grove_rows *rows, size_t from,
			    size_t to)
{
	struct out *o = &p->c->out;
	const char *comma = "";

	out_printf(o, ",\"%s\":[", name);
	for (size_t i = from; i < to; i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct brief b;
		struct grove_buf text = GROVE_BUF_INIT;

		if (grove_view_entry(p->view, rows->at[i], &e) || brief_read(&b, p->view, rows->at[i]) || !b.found)
			continue;
		out_printf(o, "%s{\"entryId\":", comma);
		out_json_string(o, e.id);
		out_json_member(o, "role", brief_word(&e));
		out_puts(o, ",\"text\":");
		if (!grove_buf_json_string(&text, b.text))
			out_json(o, grove_buf_slice(&text));
		out_puts(o, "}");
		grove_buf_release(&text);
		comma = ",";
	}
	out_puts(o, "]");
}

/* ---------------------------------------------------------------------- JSON */

static int print_hit_json(struct search *p, const struct grove_hit *h)
{
	struct grove_rows rows;
	size_t from = 0, at = 0, to = 0;
	int err, some;

	p->line.len = 0;
	err = grove_hit_json(h, &p->line);
	if (err)
		return err;
	if (!p->around) {
		out_json(&p->c->out, grove_buf_slice(&p->line));
		return 0;
	}
	some = neighbours(p, h, &rows, &from, &at, &to);
	out_json(&p->c->out, (struct grove_slice){ p->line.ptr, p->line.len - 1 });
	neighbours_json(p, "before", &rows, from, at);
	neighbours_json(p, "after", &rows, some ? at + 1 : 0, to);
	out_puts(&p->c->out, "}");
	grove_rows_release(&rows);
	return 0;
}

static int print_session_json(struct search *p, const struct grove_hit_session *s)
{
	struct out *o = &p->c->out;
	int err;

	p->line.len = 0;
	err = grove_hit_session_json(s, &p->line);
	if (err)
		return err;
	out_puts(o, "{\"session\":");
	out_json(o, grove_buf_slice(&p->line));
	out_json_member(o, "path", s->path);
	out_json_count(o, "matches", s->nr + s->more);
	out_puts(o, "}");
	return 0;
}

static int print_json(struct search *p)
{
	struct out *o = &p->c->out;
	size_t nr = p->sessions ? grove_hits_sessions(p->hits) : grove_hits_count(p->hits);
	int err = 0;

	out_puts(o, "[");
	for (size_t i = 0; i < nr && !err; i++) {
		out_puts(o, i ? ",\n" : "");
		err = p->sessions ? print_session_json(p, grove_hits_session_at(p->hits, i))
				  : print_hit_json(p, grove_hits_at(p->hits, i));
	}
	out_puts(o, "]\n");
	return err;
}

/* ---------------------------------------------------------------- for people */

/* "3 days ago" */
static void print_age(struct out *o, int64_t then)
{
	static const struct {
		int64_t seconds;
		const char *one;
	} units[] = { { 365 * 86400, "year" }, { 30 * 86400, "month" }, { 7 * 86400, "week" },
		      { 86400, "day" },	       { 3600, "hour" },	{ 60, "minute" } };
	int64_t age = (int64_t)time(NULL) - then / 1000;

	if (then == GROVE_NO_TIME)
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		long long n = (long long)(age / units[i].seconds);

		if (n > 0) {
			out_printf(o, "%lld %s%s ago", n, units[i].one, n == 1 ? "" : "s");
			return;
		}
	}
	out_puts(o, "just now");
}

enum { AGE_COLUMNS = 16, CWD_LEAST = 10 }; /* "  59 minutes ago" */

/* Prints where a session comes from, if there is room after `used` columns, and its age. */
static void print_origin(struct out *o, const struct grove_hit_session *s, unsigned used)
{
	unsigned left = o->width > used ? o->width - used : 0, rest = AGE_COLUMNS + 3 + (unsigned)strlen(s->agent);

	out_style(o, OUT_DIM);
	out_puts(o, "  ");
	if (*s->cwd && left >= rest + 3 + CWD_LEAST) {
		cli_directory(o, s->cwd, left - rest - 3);
		out_puts(o, " · ");
	}
	if (left >= rest)
		out_printf(o, "%s · ", s->agent);
	print_age(o, s->modified);
	out_style(o, OUT_PLAIN);
}

/* A session without a name is identified by its first message. */
static void print_first_message(struct search *p, const struct grove_hit_session *s, unsigned width, unsigned *used)
{
	struct grove_list *l = NULL;
	const struct grove_list_item *x;

	if (!grove_find(p->c->g, *s->path ? s->path : s->id, 0, &l)) {
		x = grove_list_at(l, 0);
		out_puts(&p->c->out, "  ");
		*used += 2 + out_fit(&p->c->out, (struct grove_slice){ x->first_message, x->first_message_len }, width);
	}
	grove_list_free(l);
}

/* Uses one line if nothing else is shown of the session, else two. */
static void print_session(struct search *p, const struct grove_hit_session *s)
{
	struct out *o = &p->c->out;
	unsigned used = s->id_len + (p->counts ? 8 : 0);
	unsigned left = o->width > used + 2 ? o->width - used - 2 : 0, name = left;

	/* on one line, the name gets half of what is left, or what the age leaves */
	if (p->sessions)
		name = left < AGE_COLUMNS ? 0 : left / 2 < left - AGE_COLUMNS ? left / 2 : left - AGE_COLUMNS;

	out_style(o, OUT_CYAN);
	out_fit(o, (struct grove_slice){ s->id, s->id_len }, s->id_len);
	out_style(o, OUT_PLAIN);
	if (s->name && name) {
		out_puts(o, "  ");
		out_style(o, OUT_BOLD);
		used += 2 + out_fit(o, out_str(s->name), name);
		out_style(o, OUT_PLAIN);
	} else if (name) {
		print_first_message(p, s, name, &used);
	}
	if (p->sessions)
		print_origin(o, s, used);
	out_puts(o, "\n");
	if (!p->sessions) {
		print_origin(o, s, 0);
		out_puts(o, "\n");
	}
}

static const char *word_of(const struct grove_hit *h)
{
	if (h->in == GROVE_SEARCH_IN_CALLS)
		return "call";
	if (h->in == GROVE_SEARCH_IN_NAMES)
		return h->kind == GROVE_KIND_NAME ? "title" : "label";
	return h->role == GROVE_ROLE_NONE ? grove_kind_name(h->kind) : grove_role_name(h->role);
}

/* Wraps a snippet on a terminal; for other programs it stays on one line. */
static void print_snippet(struct out *o, const struct grove_hit *h)
{
	struct wrap_prefix indent = { .len = 0 };
	struct wrap w;
	size_t at = 0;

	wrap_prefix_add(&indent, o, "    ", 0);
	wrap_init(&w, o, o->tty ? o->width : UINT_MAX);
	wrap_prefix(&w, &indent, &indent);
	for (size_t i = 0; i < h->nr_marks; i++) {
		const struct grove_hit_mark *m = &h->marks[i];

		wrap_text(&w, (struct grove_slice){ h->snippet.ptr + at, m->from - at }, 0);
		wrap_text(&w, (struct grove_slice){ h->snippet.ptr + m->from, m->to - m->from }, OUT_YELLOW << WRAP_COLOR);
		at = m->to;
	}
	wrap_text(&w, (struct grove_slice){ h->snippet.ptr + at, h->snippet.len - at }, 0);
	wrap_end(&w);
	wrap_release(&w);
}

/* Prints a remark on the line, or below it if a terminal has no room; `*used` columns are taken. */
static void print_remark(struct out *o, const char *words, unsigned *used)
{
	unsigned need = 2 + (unsigned)strlen(words);

	if (o->tty && *used + need > o->width) {
		out_puts(o, "\n  ");
		*used = 2;
	}
	out_printf(o, "  %s", words);
	*used += need;
}

/* Says if the model does not see the entry, and which other sessions have it. */
static void print_remarks(struct out *o, const struct grove_hit *h, unsigned used)
{
	char copies[64];

	out_style(o, OUT_DIM);
	if (!h->on_active_path)
		print_remark(o, "(on another branch)", &used);
	else if (!h->in_context && h->in != GROVE_SEARCH_IN_NAMES)
		print_remark(o, "(no longer in the context)", &used);
	if (h->copies) {
		snprintf(copies, sizeof(copies), "(and in %llu other session%s)", (unsigned long long)h->copies,
			 h->copies == 1 ? "" : "s");
		print_remark(o, copies, &used);
	}
	out_style(o, OUT_PLAIN);
}

/*
 * Shortens an id as `log` does. A UUID's prefix is almost certainly unique, and if it is
 * not, commands ask. Whether other ids can be shortened is known only after reading the
 * whole session. Returns the columns used.
 */
static unsigned print_entry_id(struct out *o, const char *id)
{
	enum { UUID = 36, VERSION = 14, SHORT = 8 };
	size_t len = strlen(id);

	return out_fit(o, (struct grove_slice){ id, len == UUID && id[VERSION] == '4' ? SHORT : len }, o->width);
}

static void print_hit(struct search *p, const struct grove_hit *h)
{
	struct out *o = &p->c->out;
	struct grove_rows rows;
	size_t from = 0, at = 0, to = 0;
	int some = neighbours(p, h, &rows, &from, &at, &to);
	unsigned used = 2;
	char time[32];

	cli_time(time, sizeof(time), h->time, 0);
	out_puts(o, "  ");
	if (h->entry_id) {
		used += print_entry_id(o, h->entry_id) + 2;
		out_puts(o, "  ");
	}
	out_printf(o, "%s  ", time);
	out_style(o, OUT_BOLD);
	out_puts(o, word_of(h));
	out_style(o, OUT_PLAIN);
	print_remarks(o, h, used + (unsigned)(strlen(time) + 2 + strlen(word_of(h))));
	out_puts(o, "\n");
	print_neighbours(p, &rows, from, at);
	print_snippet(o, h);
	if (some)
		print_neighbours(p, &rows, at + 1, to);
	grove_rows_release(&rows);
}

/* As the session was written, titles and labels first: that is how people read it. */
static int by_time(const void *x, const void *y)
{
	const struct grove_hit *a = *(const struct grove_hit *const *)x, *b = *(const struct grove_hit *const *)y;
	int same, name = a->in == GROVE_SEARCH_IN_NAMES;

	if (name != (b->in == GROVE_SEARCH_IN_NAMES))
		return name ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	same = strcmp(a->entry_id ? a->entry_id : "", b->entry_id ? b->entry_id : "");
	return same ? same : (int)a->in - (int)b->in;
}

static void print_hits(struct search *p, const struct grove_hit_session *s)
{
	const struct grove_hit **list = cli_realloc(NULL, s->nr, sizeof(*list));

	for (size_t i = 0; i < s->nr; i++)
		list[i] = s->hits[i];
	qsort(list, s->nr, sizeof(*list), by_time);
	for (size_t i = 0; i < s->nr; i++)
		print_hit(p, list[i]);
	free(list);
}

/* Says which words of the query a session does not have. */
static void print_missing(struct out *o, const struct grove_hit *h)
{
	out_style(o, OUT_DIM);
	out_puts(o, "  without: ");
	for (size_t i = 0; i < h->nr_missing; i++)
		out_printf(o, "%s%s", i ? ", " : "", h->missing[i]);
	out_puts(o, "\n");
	out_style(o, OUT_PLAIN);
}

static void print_people(struct search *p)
{
	struct out *o = &p->c->out;
	int some = 0;

	for (size_t i = 0; i < grove_hits_sessions(p->hits); i++) {
		const struct grove_hit_session *s = grove_hits_session_at(p->hits, i);

		if (s->hits[0]->match == GROVE_MATCH_SOME && !some++ && !p->sessions) {
			out_style(o, OUT_DIM);
			out_printf(o, "%s-- only some of the words --\n", i ? "\n" : "");
			out_style(o, OUT_PLAIN);
		}
		if (p->counts)
			out_printf(o, "%6llu  ", (unsigned long long)(s->nr + s->more));
		else if (i && !p->sessions)
			out_puts(o, "\n");
		print_session(p, s);
		if (p->sessions)
			continue;
		if (s->hits[0]->nr_missing)
			print_missing(o, s->hits[0]);
		print_hits(p, s);
		if (s->more) {
			out_style(o, OUT_DIM);
			out_printf(o, "  … %llu more in this session\n", (unsigned long long)s->more);
			out_style(o, OUT_PLAIN);
		}
	}
}

/* Returns true for several words; a trailing blank does not count. */
static int has_words(const char *query)
{
	const char *blank = strchr(query + strspn(query, " "), ' ');

	return blank && blank[strspn(blank, " ")];
}

/* Suggests what might find more, if nothing was found. */
static void suggest(struct search *p)
{
	struct cli *c = p->c;
	const struct grove_search_options *o = &p->opt;

	cli_warn(c, "nothing found");
	cli_check_agent(c, o->agent);
	if (p->about.suggest)
		cli_warn(c, "did you mean: grove search -- '%s'", p->about.suggest);
	if (o->role || o->cwd || o->agent || o->since || o->until || o->in)
		cli_warn(c, "there may be more without --role, --in, --project, --agent, --since or --until");
	if (strchr(p->query, '"') || strchr(p->query, '='))
		cli_warn(c, "without quotes and '=', other forms of the words match, too");
	else if (has_words(p->query))
		cli_warn(c, p->opt.strict ? "all words must occur in the same text: try without --strict"
					  : "none of the words occurs anywhere");
	else if (!p->live)
		cli_warn(c, "to find a part of a word: grove search --live -- 're:%s'", p->query);
}

static int report(struct search *p)
{
	struct cli *c = p->c;
	uint64_t shown = p->sessions ? grove_hits_sessions(p->hits) : grove_hits_count(p->hits);
	uint64_t all = p->sessions ? p->about.sessions : p->about.total;
	int err = 0;

	if (c->json)
		err = print_json(p);
	else
		print_people(p);
	if (err || c->json)
		return err;
	/* on a terminal the last line is the one people see */
	out_flush(&c->out);
	if (!p->about.total)
		suggest(p);
	else if (all > shown)
		cli_warn(c, "%llu of %s%llu %s; see --limit", (unsigned long long)shown, p->about.more ? "more than " : "",
			 (unsigned long long)all, p->sessions ? "sessions" : "matches");
	if (p->counts && p->about.more)
		cli_warn(c, "only the best %llu matches were counted", (unsigned long long)p->about.total);
	return out_failed(&c->out) ? GROVE_EIO : 0;
}

static int run(struct search *p)
{
	struct cli *c = p->c;
	int err;

	cli_progress(c, p->live ? "searching sessions" : "indexing sessions");
	err = grove_search_open(c->g, p->live ? GROVE_SEARCH_NO_INDEX : 0, &p->s);
	if (!err)
		err = grove_search_run(p->s, p->query, &p->opt, &p->hits);
	cli_progress_end(c);
	cli_let_interrupt();
	if (!err)
		err = grove_hits_about(p->hits, &p->about);
	if (!err)
		err = report(p);
	close_session(p);
	return err ? fail_search(p, err) : cli_answered(c, EXIT_DONE);
}

int cmd_search(struct cli *c, int argc, char **argv)
{
	struct search p = { .c = c, .opt = { .size = sizeof(p.opt) }, .about = { .size = sizeof(p.about) } };
	struct grove_buf query = GROVE_BUF_INIT;
	struct opt_list in = { 0 };
	struct grove_period period = { 0 };
	const char *since = NULL, *until = NULL;
	uint64_t limit = LIMIT_DEFAULT;
	int status;
	const struct opt opts[] = {
		{ "role", .string = &p.opt.role },
		{ "in", .list = &in },
		{ "project", .string = &p.opt.cwd },
		{ "cwd", .string = &p.opt.cwd },
		{ "agent", .string = &p.opt.agent },
		{ "since", .string = &since },
		{ "until", .string = &until },
		{ "limit", .number = &limit, .least = 1 },
		{ "live", .flag = &p.live },
		{ "strict", .flag = &p.opt.strict },
		{ "sessions", 'l', .flag = &p.sessions },
		{ "count", 'c', .flag = &p.counts },
		{ "around", 'C', .number = &p.around },
		{ NULL },
	};

	if (cli_begin(c, opts, "QUERY...", &argc, argv)) {
		opt_list_release(&in);
		return c->status;
	}
	if (!p.opt.agent)
		p.opt.agent = cli_setting(c, "agent");
	status = cli_period(c, since, until, &period) ? c->status : take_places(&p, &in);
	p.opt.since = period.since;
	p.opt.until = period.until;
	status = status ? status : cli_stores(c);
	if (!status && !argc)
		status = cli_usage(c, "QUERY is missing");
	opt_list_release(&in);
	if (status)
		return status;
	p.opt.limit = limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
	for (int i = 0; i < argc; i++) {
		if (i)
			cli_add(&query, " ", 1);
		cli_add(&query, argv[i], strlen(argv[i]));
	}
	p.query = query.ptr ? query.ptr : "";
	p.sessions |= p.counts;
	p.opt.per_session = p.sessions;
	p.opt.compare = p.sessions ? COMPARE : 0;
	status = run(&p);
	grove_hits_free(p.hits);
	grove_search_close(p.s);
	grove_buf_release(&p.line);
	grove_buf_release(&query);
	return status;
}
