/*
 * sessions.c: the list of sessions, as it is shown.
 */
#include "sessions.h"

#include "kit/store_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const sessions_orders[] = { "threads", "recent", "cost", "size", "name", NULL };

static const struct grove_list_item *item_at(const struct sessions *m, size_t row)
{
	return grove_list_at(m->l, m->shown[row]);
}

static int has_file(const struct grove_list_item *s)
{
	return s->path && *s->path == '/';
}

char *sessions_key(const struct grove_list_item *s)
{
	size_t size = (has_file(s) ? strlen(s->path) : strlen(s->id) + 5) + 1;
	char *key = cli_realloc(NULL, size, 1), mark[5];

	store_url_mark(s->store, mark);
	if (has_file(s))
		memcpy(key, s->path, size);
	else
		snprintf(key, size, "%s~%s", s->id, mark);
	return key;
}

/* Returns true if a key means this session. An id alone will do if there is no file. */
static int is_key(const struct grove_list_item *s, const char *key)
{
	size_t n = strlen(s->id);
	char mark[5];

	if (has_file(s))
		return !strcmp(s->path, key);
	if (strncmp(key, s->id, n))
		return 0;
	store_url_mark(s->store, mark);
	return !key[n] || (key[n] == '~' && !strcmp(key + n + 1, mark));
}

const struct grove_list_item *sessions_selected(const struct sessions *m)
{
	return m->cursor.at < m->nr ? item_at(m, m->cursor.at) : NULL;
}

void sessions_select(struct sessions *m, const char *key)
{
	for (size_t i = 0; key && i < m->nr; i++)
		if (is_key(item_at(m, i), key)) {
			m->cursor.at = i;
			return;
		}
}

/* ------------------------------------------------------------------- choice */

static int by_id(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_found(const struct sessions *m, const char *id)
{
	return m->found.nr && bsearch(&id, m->found.id, m->found.nr, sizeof(*m->found.id), by_id);
}

static int is_wanted(const struct sessions *m, const struct grove_list_item *s)
{
	const char *const texts[] = { s->name, s->first_message, s->cwd, s->agent, s->id, s->archived ? "archived" : NULL };

	if (m->here && strcmp(m->here, s->cwd))
		return 0;
	return !m->query.len || needle_words(&m->query, texts, sizeof(texts) / sizeof(*texts)) || is_found(m, s->id);
}

struct sorted {
	const struct grove_list_item *item;
	uint32_t place;
	enum sessions_order order;
};

static int compare(const struct sorted *x, const struct sorted *y)
{
	const struct grove_list_item *a = x->item, *b = y->item;

	switch (x->order) {
	case SESSIONS_RECENT:
		return (a->modified < b->modified) - (a->modified > b->modified);
	case SESSIONS_COST:
		return (a->cost < b->cost) - (a->cost > b->cost);
	case SESSIONS_SIZE:
		return (a->size < b->size) - (a->size > b->size);
	case SESSIONS_NAME:
		if (!a->name || !b->name)
			return !a->name - !b->name;
		return strcasecmp(a->name, b->name);
	default:
		return 0;
	}
}

static int by_order(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int n = compare(x, y);

	return n ? n : (x->place > y->place) - (x->place < y->place);
}

static void sort(struct sessions *m)
{
	struct sorted *all;

	/* the list is in the order of threads */
	if (m->order == SESSIONS_THREADS && !m->query.len)
		return;
	all = cli_realloc(NULL, m->nr, sizeof(*all));
	for (size_t i = 0; i < m->nr; i++)
		all[i] = (struct sorted){ item_at(m, i), m->shown[i],
					  m->order == SESSIONS_THREADS ? SESSIONS_RECENT : m->order };
	qsort(all, m->nr, sizeof(*all), by_order);
	for (size_t i = 0; i < m->nr; i++)
		m->shown[i] = all[i].place;
	free(all);
}

static void choose(struct sessions *m)
{
	size_t nr = m->l ? grove_list_count(m->l) : 0;

	m->nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (is_wanted(m, grove_list_at(m->l, i)))
			m->shown[m->nr++] = (uint32_t)i;
	sort(m);
}

/* Filters again; the selection stays. */
static void rechoose(struct sessions *m)
{
	const struct grove_list_item *was = sessions_selected(m);
	char *key = was ? sessions_key(was) : NULL;

	choose(m);
	m->cursor.at = 0;
	sessions_select(m, key);
	free(key);
}

static unsigned agent_width(const struct grove_list *l)
{
	unsigned width = sizeof("AGENT") - 1;
	int several = 0;

	for (size_t i = 0; i < grove_list_count(l); i++) {
		const char *agent = grove_list_at(l, i)->agent;
		unsigned n = (unsigned)strlen(agent);

		width = n > width ? n : width;
		several |= strcmp(agent, grove_list_at(l, 0)->agent) != 0;
	}
	return several ? width : 0;
}

void sessions_take(struct sessions *m, struct grove_list *l, int costs)
{
	const struct grove_list_item *was = sessions_selected(m);
	char *key = was ? sessions_key(was) : NULL;
	struct grove_list *old = m->l;
	size_t at = m->cursor.at;

	m->l = l;
	m->costs = costs;
	m->agent = agent_width(l);
	m->shown = cli_realloc(m->shown, grove_list_count(l), sizeof(*m->shown));
	choose(m);
	m->cursor.at = at < m->nr ? at : m->nr ? m->nr - 1 : 0;
	sessions_select(m, key);
	free(key);
	grove_list_free(old);
}

void sessions_found_release(struct sessions_found *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(f->id[i]);
	free(f->id);
	*f = (struct sessions_found){ NULL, 0 };
}

void sessions_filter(struct sessions *m, const char *query)
{
	if (!strcmp(m->query.text, query))
		return;
	sessions_found_release(&m->found);
	needle_set(&m->query, query);
	choose(m);
	m->cursor = (struct cursor){ 0, 0 };
}

void sessions_add_found(struct sessions *m, const char *query, struct sessions_found *found)
{
	if (strcmp(m->query.text, query)) {
		sessions_found_release(found);
		return;
	}
	sessions_found_release(&m->found);
	m->found = *found;
	*found = (struct sessions_found){ NULL, 0 };
	qsort(m->found.id, m->found.nr, sizeof(*m->found.id), by_id);
	rechoose(m);
}

void sessions_sort(struct sessions *m, enum sessions_order order)
{
	m->order = order;
	rechoose(m);
}

void sessions_here(struct sessions *m, const char *cwd)
{
	m->here = cwd;
	rechoose(m);
}

void sessions_release(struct sessions *m)
{
	grove_list_free(m->l);
	free(m->shown);
	sessions_found_release(&m->found);
}

/* --------------------------------------------------------------------- rows */

enum { AGE = 4, MESSAGES = 5, COST = 8 };

/* The columns of a row besides its text, as far as there is room. */
struct columns {
	int messages, cost;
	unsigned agent, project, text;
};

static struct columns measure(const struct sessions *m, unsigned width)
{
	struct columns c = { .messages = width >= 60, .cost = m->costs && width >= 50 };
	unsigned used = AGE + 2;

	c.agent = width >= 36 ? m->agent : 0;
	c.project = width >= 100 ? width / 5 : 0;
	used += (c.messages ? MESSAGES + 2 : 0) + (c.cost ? COST + 2 : 0) + (c.agent ? c.agent + 2 : 0) +
		(c.project ? c.project + 2 : 0);
	c.text = width > used ? width - used : 1;
	return c;
}

void sessions_age(char *out, size_t size, int64_t then, int64_t now)
{
	static const struct {
		int64_t ms;
		char unit;
	} units[] = { { 31557600000, 'y' }, { 604800000, 'w' }, { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' } };
	int64_t age;

	if (then == GROVE_NO_TIME || !then) {
		snprintf(out, size, "-");
		return;
	}
	age = now - then;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (age >= units[i].ms) {
			snprintf(out, size, "%lld%c", (long long)(age / units[i].ms), units[i].unit);
			return;
		}
	snprintf(out, size, "now");
}

void sessions_print_heads(const struct sessions *m, struct out *o, unsigned width)
{
	struct columns c = measure(m, width);

	out_style(o, OUT_DIM);
	out_printf(o, "%*s  ", AGE, "AGE");
	if (c.messages)
		out_printf(o, "%*s  ", MESSAGES, "MSGS");
	if (c.cost)
		out_printf(o, "%*s  ", COST, "COST");
	if (c.agent) {
		out_column(o, out_str("AGENT"), c.agent);
		out_puts(o, "  ");
	}
	out_column(o, out_name_heading(c.text), c.text);
	if (c.project) {
		out_puts(o, "  ");
		out_column(o, out_str("PROJECT"), c.project);
	}
	out_style(o, OUT_PLAIN);
}

void sessions_count(char *out, size_t size, uint64_t nr)
{
	if (nr == GROVE_NO_COUNT)
		snprintf(out, size, "-");
	else
		snprintf(out, size, nr < 100000 ? "%llu" : "%lluk", (unsigned long long)(nr < 100000 ? nr : nr / 1000));
}

static void print_numbers(struct out *o, const struct columns *c, const struct grove_list_item *s)
{
	char n[32];

	if (c->messages) {
		sessions_count(n, sizeof(n), s->message_count);
		out_printf(o, "%*s  ", MESSAGES, n);
	}
	if (c->cost) {
		out_cost(n, sizeof(n), s->cost, s->estimated, COST);
		out_printf(o, "%*s  ", COST, s->has_cost ? n : "-");
	}
}

static void print_text(const struct sessions *m, struct out *o, const struct grove_list_item *s, unsigned width)
{
	unsigned used = 0, depth = m->order == SESSIONS_THREADS && !m->query.len && !m->here ? s->depth : 0;

	for (; depth > 1 && used + 2 <= width / 3; depth--, used += 2)
		out_puts(o, "  ");
	if (depth && used + 2 < width) {
		out_style(o, OUT_DIM);
		out_puts(o, "└ ");
		out_style(o, OUT_PLAIN);
		used += 2;
	}
	if (s->archived && width > used + 20) {
		out_style(o, OUT_DIM);
		out_puts(o, "archived: ");
		out_style(o, OUT_PLAIN);
		used += 10;
	}
	if (s->name)
		out_style(o, OUT_BOLD);
	out_column(o, out_str(s->name ? s->name : s->first_message), width - used);
	if (s->name)
		out_style(o, OUT_PLAIN);
}

void sessions_print_row(const struct sessions *m, struct out *o, size_t row, unsigned width)
{
	const struct grove_list_item *s = item_at(m, row);
	struct columns c = measure(m, width);
	char age[16];

	sessions_age(age, sizeof(age), s->modified, m->now);
	out_printf(o, "%*s  ", AGE, age);
	print_numbers(o, &c, s);
	if (c.agent) {
		out_style(o, OUT_CYAN);
		out_column(o, out_str(s->agent), c.agent);
		out_style(o, OUT_PLAIN);
		out_puts(o, "  ");
	}
	print_text(m, o, s, c.text);
	if (c.project) {
		out_puts(o, "  ");
		out_style(o, OUT_DIM);
		out_pad(o, c.project - cli_directory(o, s->cwd, c.project));
		out_style(o, OUT_PLAIN);
	}
}
