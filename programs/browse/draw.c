/*
 * draw.c: draws the models on the screen.
 */
#include "browse.h"

#include "kit/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SMALLEST = 20,           /* the minimum columns … */
	LOWEST = 4               /* … and lines in which anything can be shown */
};

void draw_layout(const struct browse *b, struct layout *l)
{
	layout_make(l, screen_width(), screen_height(), b->focus, b->one_pane);
}

/* -------------------------------------------------------------------- lines */

/* The line being composed; one is enough, because it is drawn at once. */
static struct out *begin(void)
{
	static struct out o;

	if (!o.fd)
		out_init(&o, -1);
	o.len = 0;
	o.color = 1;
	o.width = screen_width();
	return &o;
}

static void put(struct out *o, unsigned y, unsigned x, unsigned width, unsigned look, const struct needle *mark)
{
	screen_line(y, x, width, (struct grove_slice){ o->ptr ? o->ptr : "", o->len }, look, mark);
}

/* Prints text on the left, and on the right if there is room. */
static void bar(unsigned y, struct grove_slice left, const char *right, unsigned look)
{
	struct out *o = begin();
	unsigned width = screen_width(), n = out_columns(out_str(right)), used;

	out_puts(o, " ");
	used = 1 + out_fit(o, left, width > 2 ? width - 2 : 1);
	if (used + n + 3 <= width) {
		out_pad(o, width - used - n - 1);
		out_puts(o, right);
	}
	put(o, y, 0, width, look, NULL);
}

/* Returns where the line after the one at `p` begins. */
static const char *next_line(const char *p, const char *end)
{
	const char *line_end = memchr(p, '\n', (size_t)(end - p));

	return line_end ? line_end + 1 : end;
}

/* A message says what to do next, so all of it is shown; a long one covers what is above it. */
static void put_message(const struct browse *b)
{
	unsigned width = screen_width(), most = screen_height() - 1, nr;
	unsigned look = b->bad ? SCREEN_BAD : 0;
	struct out *o = begin();
	const char *p, *end, *next;
	struct wrap w;

	wrap_init(&w, o, width);
	wrap_text(&w, out_str(b->message), 0);
	wrap_end(&w);
	nr = w.lines < most ? (unsigned)w.lines : most;
	wrap_release(&w);
	end = o->ptr + o->len;
	for (p = o->ptr; p < end && nr; p = next, nr--) {
		next = next_line(p, end);
		screen_line(screen_height() - nr, 0, width, (struct grove_slice){ p, (size_t)(next - p - 1) }, look, NULL);
	}
}

static void bottom(struct browse *b, const char *hints)
{
	unsigned y = screen_height() - 1, width = screen_width();
	struct out *o = begin();

	if (b->prompt.kind != PROMPT_NONE) {
		unsigned x = prompt_print(&b->prompt, o, width);

		put(o, y, 0, width, 0, NULL);
		screen_cursor(y, x < width ? x : width - 1);
	} else if (*b->message) {
		put_message(b);
	} else if (b->hunt.active) {
		out_puts(o, "searching … (Esc stops)");
		put(o, y, 0, width, SCREEN_DIM, NULL);
	} else {
		out_puts(o, hints);
		put(o, y, 0, width, SCREEN_DIM, NULL);
	}
}

/* Returns the widest of these that fits. */
static const char *hints_of(const char *const *hints)
{
	while (hints[1] && out_columns(out_str(*hints)) > screen_width())
		hints++;
	return *hints;
}

/* --------------------------------------------------------------------- list */

static void list_title(const struct browse *b, char *out, size_t size)
{
	const struct sessions *m = &b->list;
	size_t all = m->l ? grove_list_count(m->l) : 0;
	char query[300] = "";

	if (m->query.len && b->prompt.kind != PROMPT_FILTER)
		snprintf(query, sizeof(query), " · /%s", m->query.text);
	if (m->nr == all)
		snprintf(out, size, "grove · %zu session%s%s · sort: %s%s", all, all == 1 ? "" : "s", m->here ? " here" : "",
			 sessions_orders[m->order], query);
	else
		snprintf(out, size, "grove · %zu of %zu sessions%s · sort: %s%s", m->nr, all, m->here ? ", those here" : "",
			 sessions_orders[m->order], query);
}

static void draw_list(struct browse *b)
{
	static const char *const hints[] = {
		"Enter open  / search  Tab here/all  s sort  e rename  f fork  d delete  r resume  ? help  q quit",
		"Enter open  / search  d delete  r resume  ? help  q quit",
		"Enter open  / search  ? help  q quit", "? help  q quit", NULL,
	};
	struct sessions *m = &b->list;
	unsigned width = screen_width(), height = screen_height(), rows = height > 3 ? height - 3 : 0;
	char title[512];
	struct out *o;

	list_title(b, title, sizeof(title));
	bar(0, out_str(title), work_is_busy(&b->work, WORK_SEARCH) ? "searching …" : "", SCREEN_BAR);
	o = begin();
	sessions_print_heads(m, o, width - 1);
	put(o, 1, 0, width, SCREEN_DIM, NULL);
	cursor_fit(&m->cursor, m->nr, rows);
	for (size_t i = 0; i < rows && m->cursor.top + i < m->nr; i++) {
		size_t row = m->cursor.top + i;

		o = begin();
		sessions_print_row(m, o, row, width - 1);
		put(o, 2 + (unsigned)i, 0, width, SCREEN_WORDS | (row == m->cursor.at ? SCREEN_SELECTED : 0u), &m->query);
	}
	if (!m->nr && rows > 1) {
		o = begin();
		out_puts(o, !m->l || !grove_list_count(m->l) ? "  no sessions" :
			    m->query.len ? "  no session matches" : "  no sessions here (Tab shows all)");
		put(o, 3, 0, width, SCREEN_DIM, NULL);
	}
	bottom(b, hints_of(hints));
}

/* ------------------------------------------------------------------ session */

static void title_of(struct browse *b, struct out *o)
{
	enum { WHOLE_ID = 16, SHORT_ID = 8 };   /* a UUID is shortened, "agent-0123abcd" is not */
	const char *name = grove_view_name(b->v), *agent = grove_session_agent(b->s), *id = grove_session_id(b->s);
	size_t len = strlen(id);
	/* what the context is matters more than the end of the name */
	unsigned room = screen_width() / (b->talk.flags & READER_CONTEXT && screen_width() < LAYOUT_ABOVE ? 4 : 2);

	out_fit(o, name ? out_str(name) : (struct grove_slice){ id, len > WHOLE_ID ? SHORT_ID : len }, room);
	out_printf(o, " · %s", agent ? agent : "");
	if (b->tree.filter != SHAPE_DEFAULT)
		out_printf(o, " · %s", shape_filters[b->tree.filter]);
	if (b->talk.flags & READER_FULL)
		out_puts(o, " · full");
	if (!(b->talk.flags & READER_CONTEXT))
		return;
	out_printf(o, " · context: %llu", (unsigned long long)b->talk.tokens);
	if (b->talk.window)
		out_printf(o, " of %llu", (unsigned long long)b->talk.window);
	out_printf(o, " tokens, %zu message%s", b->talk.rows.nr, b->talk.rows.nr == 1 ? "" : "s");
	if (*b->talk.model) {
		out_puts(o, " · ");
		out_fit(o, out_str(b->talk.model), 40);
	}
}

/* Prints what the title shows on the right, if there is room. */
static void directory_of(struct browse *b, struct out *o)
{
	const char *cwd = grove_session_cwd(b->s);

	if (cwd && *cwd)
		cli_directory(o, cwd, screen_width() / 3);
}

static void draw_tree(struct browse *b, const struct pane *p)
{
	struct outline *t = &b->tree;
	size_t row;

	if (!p->height)
		return;
	outline_fit(t, p->height);
	row = t->cursor.top;
	for (unsigned i = 0; i < p->height && row < t->nr; i++) {
		struct out *o = begin();
		size_t next;

		if (outline_print(t, o, row, p->width))
			out_puts(o, "  (this entry cannot be read)");
		put(o, p->y + i, p->x, p->width,
		    row != t->cursor.at ? 0u : b->focus == PANE_TREE ? SCREEN_SELECTED : SCREEN_SELECTED | SCREEN_DIM,
		    &b->hunt.needle);
		next = outline_step(t, row, 1);
		if (next == row)
			break;
		row = next;
	}
	if (!t->nr) {
		struct out *o = begin();

		out_puts(o, !grove_view_count(b->v) ? "  no entries" :
			    t->filter == SHAPE_DEFAULT ? "  no messages (5 shows all entries)" :
							 "  the filter hides all (1 shows them)");
		put(o, p->y, p->x, p->width, SCREEN_DIM, NULL);
	}
}

static void draw_talk(struct browse *b, const struct pane *p)
{
	struct reader *r = &b->talk;

	if (!p->height)
		return;
	reader_size(r, p->width > 3 ? p->width - 2 : 1, p->height);
	for (unsigned i = 0; i < p->height; i++) {
		struct out *o = begin();
		struct grove_slice line;
		uint32_t row;

		if (!reader_line(r, i, &line, &row))
			break;
		out_style(o, OUT_CYAN);
		out_puts(o, row == r->current ? "▌" : " ");
		out_style(o, OUT_PLAIN);
		out_bytes(o, line.ptr, line.len);
		put(o, p->y + i, p->x, p->width, 0, &b->hunt.needle);
	}
	if (!r->rows.nr) {
		struct out *o = begin();

		out_puts(o, "  nothing was said yet");
		put(o, p->y, p->x, p->width, SCREEN_DIM, NULL);
	}
}

static void draw_session(struct browse *b)
{
	static const char *const tree[] = {
		"Tab conversation  / search  z fold  o filter  ' labels  B branches  c context  L label  s switch  f fork  ? help  q back",
		"Tab conversation  / search  z fold  o filter  c context  ? help  q back",
		"Tab talk  / search  ? help  q back", "? help  q back", NULL,
	};
	static const char *const talk[] = {
		"Tab tree  / search  J K messages  x unfold  c context  L label  s switch  f fork  r resume  ? help  q back",
		"Tab tree  / search  J K messages  x unfold  ? help  q back",
		"Tab tree  / search  ? help  q back", "? help  q back", NULL,
	};
	struct layout l;
	struct out *o = begin();
	char title[1024], directory[1024];

	title_of(b, o);
	snprintf(title, sizeof(title), "%.*s", (int)o->len, o->ptr);
	o = begin();
	directory_of(b, o);
	snprintf(directory, sizeof(directory), "%.*s", (int)o->len, o->ptr ? o->ptr : "");
	bar(0, out_str(title), directory, SCREEN_BAR);
	draw_layout(b, &l);
	draw_tree(b, &l.pane[PANE_TREE]);
	if (l.beside)
		screen_divide(l.pane[PANE_TALK].x - 1, 1, l.pane[PANE_TREE].height);
	else if (l.pane[PANE_TREE].height && l.pane[PANE_TALK].height)
		bar(l.pane[PANE_TALK].y - 1, out_str("conversation"), "", SCREEN_BAR | SCREEN_DIM);
	draw_talk(b, &l.pane[PANE_TALK]);
	bottom(b, hints_of(b->focus == PANE_TREE ? tree : talk));
}

/* ------------------------------------------------------------------- picker */

static void print_entry(struct browse *b, struct out *o, uint32_t entry, unsigned width)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct brief brief;
	unsigned used = 9;       /* the age, and the mark of the leaf */
	char age[16];

	if (grove_view_entry(b->v, entry, &e))
		return;
	sessions_age(age, sizeof(age), e.time, browse_now());
	out_printf(o, " %4s  ", age);
	out_puts(o, outline_has_leaf(&b->tree, entry) ? "● " : "  ");
	used += outline_print_word(o, &e, width);
	if (e.label) {
		out_style(o, OUT_YELLOW);
		out_style(o, OUT_BOLD);
		out_puts(o, "[");
		used += 3 + out_fit(o, out_str(e.label), width / 3);
		out_puts(o, "] ");
		out_style(o, OUT_PLAIN);
	}
	if (away_try(&b->away) && !away_read(&b->away, brief_read(&brief, b->v, entry)) && width > used)
		brief_print(o, &brief, width - used);
}

static void draw_picker(struct browse *b)
{
	struct picker *p = &b->picker;
	unsigned width = screen_width(), rows = screen_height() > 2 ? screen_height() - 2 : 0;

	bar(0, out_str(p->title), "", SCREEN_BAR);
	cursor_fit(&p->cursor, p->nr, rows);
	for (size_t i = 0; i < rows && p->cursor.top + i < p->nr; i++) {
		struct out *o = begin();

		print_entry(b, o, p->entry[p->cursor.top + i], width);
		put(o, 1 + (unsigned)i, 0, width, p->cursor.top + i == p->cursor.at ? SCREEN_SELECTED : 0, NULL);
	}
	bottom(b, "Enter go there  q back");
}

/* --------------------------------------------------------------------- help */

static const struct {
	const char *keys;   /* NULL for a heading, or an empty line */
	const char *says;
} help[] = {
	{ NULL, "Everywhere" },
	{ "j k, ↓ ↑, ^N ^P", "one line down, up (^E ^Y)" },
	{ "Space b, PgDn PgUp", "a page down, up (^F ^B; half a page: ^D ^U)" },
	{ "g G, < >, Home End", "to the beginning, to the end" },
	{ "r", "resume the session in its agent, and come back" },
	{ "e", "rename the session" },
	{ "d", "delete it, after asking" },
	{ "f", "fork: the whole session, or up to the selected entry" },
	{ "?  ^L  ^Z", "this help, redraw, suspend" },
	{ "q, Esc", "back; in the list q quits" },
	{ "Q, ^C", "quit" },
	{ NULL, "" },
	{ NULL, "List of sessions" },
	{ "Enter, l, →", "open" },
	{ "/", "search as you type: names, first messages, directories, agents, ids, then what was said in all "
	       "sessions; Enter opens, Esc leaves the line, a second Esc shows all" },
	{ "^R ^D ^S Tab", "while searching: rename, delete, sort, this directory or all" },
	{ "Tab", "sessions of this directory, or of all" },
	{ "s", "sort: threads, recent, cost, size, name" },
	{ NULL, "" },
	{ NULL, "A session" },
	{ "Tab", "to the other pane" },
	{ "w", "one pane, or both" },
	{ "/ n N", "search, next match, previous match (case is ignored unless there is a capital letter)" },
	{ "[ ]", "previous, next branch" },
	{ "{ }", "previous, next label" },
	{ "'  B", "choose a label, a branch" },
	{ "c", "only what the model sees, and back" },
	{ "x", "tool output in full, and back" },
	{ "L", "label the entry (an empty text removes the label)" },
	{ "s", "switch: the conversation continues from this entry" },
	{ NULL, "" },
	{ NULL, "The tree" },
	{ "Enter", "to the conversation" },
	{ "h l, ← →", "fold, or go to where the branch begins; unfold, or go on" },
	{ "z Z", "fold, unfold; all branches but this one" },
	{ "o O, ^O, 1 to 5", "filter: default, no-tools, user-only, labeled-only, all" },
	{ NULL, "" },
	{ NULL, "The conversation" },
	{ "J K", "next, previous message" },
	{ "Enter", "one line down" },
	{ "h, ←", "to the tree" },
	{ NULL, "" },
	{ NULL, "A line of text" },
	{ "← →, ^A ^E", "move; to the beginning, to the end (Home End)" },
	{ "^W, ^U, ^K", "erase a word, what is before the cursor, what is after it" },
	{ "Esc, ^C, ^G", "leave it" },
	{ NULL, "" },
	{ NULL, "Mouse: click to select, double-click to open, wheel to scroll." },
};

enum { HELP_COLUMN = 22, HELP_NARROW = 60, HELP_WIDE = 84 };

/*
 * Prints the help in lines that fit; in a narrow terminal, each description directly
 * follows its key.
 */
static void print_help(struct out *o, unsigned width)
{
	struct wrap w;

	wrap_init(&w, o, width);
	for (size_t i = 0; i < sizeof(help) / sizeof(*help); i++) {
		struct wrap_prefix first = { .len = 0 }, rest = { .len = 0 };

		if (help[i].keys) {
			wrap_prefix_add(&first, o, "  ", 0);
			wrap_prefix_add(&first, o, help[i].keys, 0);
			wrap_prefix_add(&first, o, "  ", 0);
			while (width >= HELP_NARROW && first.width < HELP_COLUMN)
				wrap_prefix_add(&first, o, " ", 0);
			while (rest.width < (width >= HELP_NARROW ? HELP_COLUMN : 6u))
				wrap_prefix_add(&rest, o, " ", 0);
		}
		wrap_prefix(&w, &first, &rest);
		wrap_text(&w, out_str(help[i].says), help[i].keys ? 0 : WRAP_BOLD);
		wrap_line(&w);
	}
	wrap_release(&w);
}

static void draw_help(struct browse *b)
{
	unsigned width = screen_width(), rows = screen_height() > 2 ? screen_height() - 2 : 0, y = 0;
	struct out *o;
	const char *p, *end, *next;
	size_t nr = 0;

	bar(0, out_str("grove browse: keys"), "", SCREEN_BAR);
	o = begin();
	print_help(o, width < HELP_WIDE ? width : HELP_WIDE);
	end = o->ptr + o->len;
	for (p = o->ptr; p < end; p = next_line(p, end))
		nr++;
	b->help_most = nr > rows ? nr - rows : 0;
	if (b->help_top > b->help_most)
		b->help_top = b->help_most;
	nr = 0;
	for (p = o->ptr; p < end && y < rows; p = next) {
		next = next_line(p, end);
		if (nr++ >= b->help_top)
			screen_line(1 + y++, 0, width, (struct grove_slice){ p, (size_t)(next - p - 1) }, 0, NULL);
	}
	bottom(b, "q back");
}

void draw(struct browse *b)
{
	screen_clear();
	if (screen_width() < SMALLEST || screen_height() < LOWEST) {
		screen_line(0, 0, screen_width(), out_str("too small"), 0, NULL);
	} else {
		switch (b->place) {
		case IN_LIST:
			draw_list(b);
			break;
		case IN_SESSION:
			draw_session(b);
			break;
		case IN_PICKER:
			draw_picker(b);
			break;
		case IN_HELP:
			draw_help(b);
			break;
		}
	}
	screen_update();
}
