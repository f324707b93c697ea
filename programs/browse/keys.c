/*
 * keys.c: what keys do.
 *
 * The keys are those of less and vi where these have one, and those of pi's pickers.
 */
#include "browse.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t keys_height(const struct browse *b, enum browse_pane pane)
{
	struct layout l;

	draw_layout(b, &l);
	/* for a hidden pane, the height it would have */
	return l.pane[pane].height ? l.pane[pane].height : l.pane[!pane].height;
}

/* ------------------------------------------------------------------- moving */

enum { TO_BEGIN = -2000000000, TO_END = 2000000000 };

/* Returns how far a key moves on a screen of `height` rows, or 0. */
static long moves(int key, long height)
{
	switch (key) {
	case 'j':
	case KEY_GO_DOWN:
	case CTRL_KEY('N'):
	case CTRL_KEY('E'):
		return 1;
	case 'k':
	case KEY_GO_UP:
	case CTRL_KEY('P'):
	case CTRL_KEY('Y'):
		return -1;
	case ' ':
	case KEY_GO_PAGE_DOWN:
	case CTRL_KEY('F'):
		return height > 1 ? height - 1 : 1;
	case 'b':
	case KEY_GO_PAGE_UP:
	case CTRL_KEY('B'):
		return height > 1 ? 1 - height : -1;
	case CTRL_KEY('D'):
		return height > 1 ? height / 2 : 1;
	case CTRL_KEY('U'):
		return height > 1 ? -height / 2 : -1;
	case 'g':
	case '<':
	case KEY_GO_HOME:
		return TO_BEGIN;
	case 'G':
	case '>':
	case KEY_GO_END:
		return TO_END;
	case KEY_WHEEL_UP:
		return -3;
	case KEY_WHEEL_DOWN:
		return 3;
	default:
		return 0;
	}
}

void keys_follow_tree(struct browse *b)
{
	uint32_t entry = outline_first(&b->tree), tip = outline_tip(&b->tree);

	if (entry == GROVE_NO_ENTRY)
		return;
	if (!reader_covers(&b->talk, entry) && b->talk.to != tip) {
		act_reader(b, tip, b->talk.flags);
		reader_end(&b->talk, 1, keys_height(b, PANE_TALK));
	}
	/* the context does not contain what the model does not see, and then stays where it is */
	reader_show(&b->talk, entry, keys_height(b, PANE_TALK));
}

static void follow_talk(struct browse *b)
{
	outline_select(&b->tree, reader_entry(&b->talk));
}

static void move_tree(struct browse *b, long by)
{
	if (by == TO_BEGIN || by == TO_END)
		outline_end(&b->tree, by == TO_END);
	else
		outline_move(&b->tree, by);
	keys_follow_tree(b);
}

static void move_talk(struct browse *b, long by)
{
	size_t height = keys_height(b, PANE_TALK);

	if (by == TO_BEGIN || by == TO_END)
		reader_end(&b->talk, by == TO_END, height);
	else
		reader_scroll(&b->talk, by, height);
	follow_talk(b);
}

/* ---------------------------------------------------------------- questions */

/*
 * Asks about a session, and perhaps an entry of it. By the time the answer comes, the
 * selection may be elsewhere: sessions are deleted, and a live one grows.
 */
static void ask_about(struct browse *b, enum prompt_kind kind, const char *id, const char *title, const char *text)
{
	free(b->asked_key);
	free(b->asked_id);
	b->asked_key = act_key(b);
	b->asked_id = id ? strdup(id) : NULL;
	if (b->asked_key && (!id || b->asked_id))
		prompt_begin(&b->prompt, kind, title, text);
}

static void ask_name(struct browse *b)
{
	const struct grove_list_item *s = sessions_selected(&b->list);

	if (b->s || s)
		ask_about(b, PROMPT_NAME, NULL, "Name:", b->s ? grove_view_name(b->v) : s->name);
}

static void ask_delete(struct browse *b)
{
	const struct grove_list_item *s = sessions_selected(&b->list);
	const char *name = b->s ? grove_view_name(b->v) : s ? (s->name ? s->name : s->first_message) : NULL;
	char question[512];

	if (!b->s && !s)
		return;
	snprintf(question, sizeof(question), "Delete '%s", name ? name : grove_session_id(b->s));
	ask_about(b, PROMPT_DELETE, NULL, question, NULL);
}

static void ask_label(struct browse *b)
{
	struct grove_entry e = { .size = sizeof(e) };
	const char *id = act_entry(b);
	uint32_t entry;

	if (!id || grove_view_find(b->v, id, &entry) || grove_view_entry(b->v, entry, &e))
		return;
	/* in the conversation the line that sets a label may be marked: the tree has the entry above it */
	if (e.kind == GROVE_KIND_LABEL && grove_view_entry(b->v, outline_entry(&b->tree), &e))
		return;
	ask_about(b, PROMPT_LABEL, e.id, "Label:", e.label);
}

/* Handles keys that mean the same in the list and in a session. Returns 1 if it was one. */
static int common_key(struct browse *b, int key)
{
	switch (key) {
	case 'r':
		act_resume(b);
		return 1;
	case 'e':
		ask_name(b);
		return 1;
	case 'd':
		ask_delete(b);
		return 1;
	case 'f':
		act_fork(b);
		return 1;
	case '?':
		b->back = b->place;
		b->place = IN_HELP;
		b->help_top = 0;
		return 1;
	case 'Q':
	case CTRL_KEY('C'):
		b->quit = 1;
		return 1;
	default:
		return 0;
	}
}

/* Handles keys that concern the terminal alone, whatever is on the screen. Returns 1 if it was one. */
static int terminal_key(struct browse *b, int key)
{
	switch (key) {
	case CTRL_KEY('L'):
		screen_redraw();
		act_reread(b);
		return 1;
	case CTRL_KEY('Z'):
		screen_leave();
		raise(SIGTSTP);
		screen_return();
		return 1;
	default:
		return 0;
	}
}

/* --------------------------------------------------------------------- list */

static void open_selected(struct browse *b)
{
	char *key = act_key(b);

	if (!key)
		return;
	/* a large session takes a moment */
	act_say(b, "reading …");
	draw(b);
	b->message[0] = '\0';
	act_open(b, key);
	free(key);
}

static void click_list(struct browse *b, int twice)
{
	unsigned y, x;
	size_t row;

	screen_click(&y, &x);
	row = b->list.cursor.top + y - 2;
	if (y < 2 || y + 1 >= screen_height() || row >= b->list.nr)
		return;
	if (row == b->list.cursor.at || twice) {
		b->list.cursor.at = row;
		open_selected(b);
	}
	b->list.cursor.at = row;
}

static void sort_next(struct browse *b)
{
	sessions_sort(&b->list, sessions_orders[b->list.order + 1] ? b->list.order + 1 : SESSIONS_THREADS);
}

static void list_key(struct browse *b, int key)
{
	long by = moves(key, (long)screen_height() - 3);

	if (by) {
		cursor_move(&b->list.cursor, by, b->list.nr);
		return;
	}
	switch (key) {
	case KEY_ENTERED:
	case 'l':
	case KEY_GO_RIGHT:
		open_selected(b);
		break;
	case '/':
		prompt_begin(&b->prompt, PROMPT_FILTER, "/", b->list.query.text);
		break;
	case KEY_TAB:
		sessions_here(&b->list, b->list.here ? NULL : b->here);
		break;
	case 's':
		sort_next(b);
		break;
	case KEY_CLICK:
	case KEY_DOUBLE_CLICK:
		click_list(b, key == KEY_DOUBLE_CLICK);
		break;
	case KEY_ESCAPE:
		sessions_filter(&b->list, "");
		break;
	case 'q':
		b->quit = 1;
		break;
	default:
		common_key(b, key);
	}
}

/* ------------------------------------------------------------------- picker */

static void add_pick(void *payload, uint32_t entry)
{
	struct picker *p = payload;

	/* doubled when full: a session may have many branches */
	if (!(p->nr & (p->nr - 1)))
		p->entry = cli_realloc(p->entry, p->nr ? 2 * p->nr : 1, sizeof(*p->entry));
	p->entry[p->nr++] = entry;
}

static void open_picker(struct browse *b, int labels)
{
	struct picker *p = &b->picker;

	p->nr = 0;
	p->cursor = (struct cursor){ 0, 0 };
	p->title = labels ? "labels" : "branches, the newest first";
	if (labels)
		outline_labels(&b->tree, add_pick, p);
	else
		outline_tips(&b->tree, add_pick, p);
	if (!p->nr) {
		act_say(b, labels ? "there are no labels" : "there are no branches");
		return;
	}
	for (size_t i = 0; !labels && i < p->nr / 2; i++) {
		uint32_t entry = p->entry[i];

		p->entry[i] = p->entry[p->nr - 1 - i];
		p->entry[p->nr - 1 - i] = entry;
	}
	b->place = IN_PICKER;
}

static void picker_key(struct browse *b, int key)
{
	struct picker *p = &b->picker;
	long by = moves(key, (long)screen_height() - 2);
	unsigned y, x;

	if (by) {
		cursor_move(&p->cursor, by, p->nr);
		return;
	}
	switch (key) {
	case KEY_CLICK:
	case KEY_DOUBLE_CLICK:
		screen_click(&y, &x);
		if (!y || p->cursor.top + y - 1 >= p->nr)
			break;
		p->cursor.at = p->cursor.top + y - 1;
		/* fall through */
	case KEY_ENTERED:
	case 'l':
	case KEY_GO_RIGHT:
		b->place = IN_SESSION;
		outline_select(&b->tree, p->entry[p->cursor.at]);
		keys_follow_tree(b);
		break;
	case 'q':
	case KEY_ESCAPE:
	case KEY_GO_LEFT:
	case 'h':
		b->place = IN_SESSION;
		break;
	case 'Q':
	case CTRL_KEY('C'):
		b->quit = 1;
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------ session */

static int is_in(const struct pane *p, unsigned y, unsigned x)
{
	return y >= p->y && y < p->y + p->height && x >= p->x && x < p->x + p->width;
}

static void click_session(struct browse *b, int twice)
{
	struct layout l;
	unsigned y, x;
	size_t row;

	draw_layout(b, &l);
	screen_click(&y, &x);
	for (int i = PANE_TREE; i <= PANE_TALK; i++) {
		const struct pane *p = &l.pane[i];

		if (!is_in(p, y, x))
			continue;
		b->focus = (enum browse_pane)i;
		y -= p->y;
		if (i == PANE_TALK) {
			struct grove_slice line;
			uint32_t at;

			if (reader_line(&b->talk, y, &line, &at)) {
				b->talk.current = at;
				follow_talk(b);
			}
			return;
		}
		for (row = b->tree.cursor.top; y; y--) {
			size_t next = outline_step(&b->tree, row, 1);

			/* below the last one */
			if (next == row)
				return;
			row = next;
		}
		if (row >= b->tree.nr)
			return;
		b->tree.cursor.at = row;
		keys_follow_tree(b);
		if (twice && !outline_fold(&b->tree, !outline_is_folded(&b->tree)))
			b->focus = PANE_TALK;
		return;
	}
}

/* As in pi: folds, or goes to the beginning of the branch. */
static void tree_left(struct browse *b)
{
	uint32_t level = b->tree.nr ? b->tree.level_of[b->tree.cursor.at] : GROVE_NO_ENTRY;
	int begins = level != GROVE_NO_ENTRY && b->tree.levels[level].child == b->tree.rows[b->tree.cursor.at];

	if ((!begins && b->tree.cursor.at) || outline_is_folded(&b->tree) || !outline_fold(&b->tree, 1)) {
		if (!outline_branch(&b->tree, -1))
			outline_end(&b->tree, 0);
	}
	keys_follow_tree(b);
}

static void tree_right(struct browse *b)
{
	if (outline_is_folded(&b->tree))
		outline_fold(&b->tree, 0);
	else if (!outline_branch(&b->tree, 1))
		outline_end(&b->tree, 1);
	keys_follow_tree(b);
}

/* Handles keys of the tree. Returns 1 if it was one. */
static int tree_key(struct browse *b, int key)
{
	switch (key) {
	case KEY_ENTERED:
		b->focus = PANE_TALK;
		return 1;
	case 'h':
	case KEY_GO_LEFT:
		tree_left(b);
		return 1;
	case 'l':
	case KEY_GO_RIGHT:
		tree_right(b);
		return 1;
	case 'z':
		if (!outline_fold(&b->tree, !outline_is_folded(&b->tree)))
			act_say(b, "there is nothing below it");
		return 1;
	case 'Z':
		if (!outline_fold_others(&b->tree))
			act_say(b, "there is no other branch to fold");
		return 1;
	default:
		return 0;
	}
}

static int talk_key(struct browse *b, int key)
{
	size_t height = keys_height(b, PANE_TALK);

	switch (key) {
	case 'J':
	case 'K':
		reader_next(&b->talk, key == 'J' ? 1 : -1, height);
		follow_talk(b);
		return 1;
	case 'h':
	case KEY_GO_LEFT:
		b->focus = PANE_TREE;
		return 1;
	case KEY_ENTERED:
		reader_scroll(&b->talk, 1, height);
		follow_talk(b);
		return 1;
	default:
		return 0;
	}
}

/* Returns true if a line of the marked entry is on the screen. */
static int is_marked_shown(struct browse *b, size_t height)
{
	struct grove_slice line;
	uint32_t row;

	for (size_t i = 0; i < height && reader_line(&b->talk, i, &line, &row); i++)
		if (row == b->talk.current)
			return 1;
	return 0;
}

/* Shows the conversation with other flags, at the same place if it is there. */
static void show_otherwise(struct browse *b, unsigned flags)
{
	size_t height = keys_height(b, PANE_TALK);
	struct reader_spot spot;

	reader_note(&b->talk, &spot, height);
	act_reader(b, flags & ~b->talk.flags & READER_CONTEXT ? outline_tip(&b->tree) : b->talk.to, flags);
	/* a compaction that is marked comes first in the context, far from what was around it */
	if (reader_restore(&b->talk, &spot, height) && is_marked_shown(b, height))
		return;
	if (reader_has(&b->talk, spot.marked))
		reader_show(&b->talk, spot.marked, height);
	else
		reader_end(&b->talk, 1, height);
}

static void jump(struct browse *b, int found, const char *what)
{
	if (found)
		keys_follow_tree(b);
	else
		act_say(b, "no %s there", what);
}

static void back_to_list(struct browse *b)
{
	act_need_list(b);
	if (b->key)
		sessions_select(&b->list, b->key);
	act_close(b);
}

/* The wheel moves the pane that it is turned over, all other keys the one with the focus. */
static enum browse_pane pane_of(const struct browse *b, int key)
{
	struct layout l;
	unsigned y, x;

	if (key != KEY_WHEEL_UP && key != KEY_WHEEL_DOWN)
		return b->focus;
	draw_layout(b, &l);
	screen_click(&y, &x);
	for (int i = PANE_TREE; i <= PANE_TALK; i++)
		if (is_in(&l.pane[i], y, x))
			return (enum browse_pane)i;
	return b->focus;
}

static void session_key(struct browse *b, int key)
{
	enum browse_pane pane = pane_of(b, key);
	long by = moves(key, (long)keys_height(b, pane));

	if (b->hunt.active && (key == KEY_ESCAPE || key == CTRL_KEY('C'))) {
		b->hunt.active = 0;
		return;
	}
	if (by) {
		(pane == PANE_TREE ? move_tree : move_talk)(b, by);
		return;
	}
	if ((b->focus == PANE_TREE ? tree_key : talk_key)(b, key))
		return;
	switch (key) {
	case KEY_TAB:
	case KEY_BACK_TAB:
		b->focus = !b->focus;
		break;
	case 'w':
		b->one_pane = !b->one_pane;
		break;
	case '/':
		prompt_begin(&b->prompt, PROMPT_SEARCH, "/", NULL);
		break;
	case 'n':
	case 'N':
		hunt_again(b, key == 'n' ? 1 : -1);
		break;
	case '[':
	case ']':
		jump(b, outline_branch(&b->tree, key == '[' ? -1 : 1), "branch");
		break;
	case '{':
	case '}':
		jump(b, outline_label(&b->tree, key == '{' ? -1 : 1), "label");
		break;
	case '\'':
	case 'B':
		open_picker(b, key == '\'');
		break;
	case 'c':
		show_otherwise(b, b->talk.flags ^ READER_CONTEXT);
		break;
	case 'x':
		show_otherwise(b, b->talk.flags ^ READER_FULL);
		break;
	case 'o':
	case 'O':
	case CTRL_KEY('O'):
		act_filter(b, (enum shape_filter)((b->tree.filter + (key == 'O' ? SHAPE_ALL : 1)) % (SHAPE_ALL + 1)));
		act_say(b, "filter: %s", shape_filters[b->tree.filter]);
		break;
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
		act_filter(b, (enum shape_filter)(key - '1'));
		act_say(b, "filter: %s", shape_filters[b->tree.filter]);
		break;
	case 'L':
		ask_label(b);
		break;
	case 's':
		act_leaf(b);
		break;
	case KEY_CLICK:
	case KEY_DOUBLE_CLICK:
		click_session(b, key == KEY_DOUBLE_CLICK);
		break;
	case 'q':
	case KEY_ESCAPE:
		back_to_list(b);
		break;
	default:
		common_key(b, key);
	}
}

static void help_key(struct browse *b, int key)
{
	long by = moves(key, (long)screen_height() - 2);

	if (by < 0)
		b->help_top -= (size_t)-by < b->help_top ? (size_t)-by : b->help_top;
	else if (by)
		b->help_top += (size_t)by < b->help_most ? (size_t)by : b->help_most;
	else if (key == 'Q' || key == CTRL_KEY('C'))
		b->quit = 1;
	else
		b->place = b->back;
}

/* ------------------------------------------------------------------- prompt */

static void entered(struct browse *b, enum prompt_kind kind, const char *text)
{
	switch (kind) {
	case PROMPT_FILTER:
		open_selected(b);
		break;
	case PROMPT_SEARCH:
		/* it may have been deleted meanwhile */
		if (b->s)
			hunt_begin(b, text, 1);
		else
			act_complain(b, "the session was deleted");
		break;
	case PROMPT_LABEL:
		act_label(b, b->asked_key, b->asked_id, text);
		break;
	case PROMPT_NAME:
		act_name(b, b->asked_key, text);
		break;
	case PROMPT_DELETE:
		act_delete(b, b->asked_key);
		break;
	case PROMPT_NONE:
		break;
	}
}

static void filter_as_typed(struct browse *b)
{
	sessions_filter(&b->list, b->prompt.text);
	/* a word of one letter is in every session */
	if (b->has_work && b->prompt.len > 1)
		work_search(&b->work, b->prompt.text);
}

/* While a query is typed: pi's keys, and those that move the selection. */
static void other_while_typing(struct browse *b, int key)
{
	static const struct {
		int theirs, ours;
	} keys[] = { { CTRL_KEY('R'), 'e' }, { CTRL_KEY('D'), 'd' }, { CTRL_KEY('S'), 's' }, { KEY_TAB, KEY_TAB },
		     { KEY_CLICK, KEY_CLICK }, { KEY_DOUBLE_CLICK, KEY_DOUBLE_CLICK } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].theirs == key) {
			b->prompt.kind = key == KEY_TAB || key == CTRL_KEY('S') ? PROMPT_FILTER : PROMPT_NONE;
			list_key(b, keys[i].ours);
			return;
		}
	if (moves(key, 2))
		list_key(b, key);
}

static void prompt_take(struct browse *b, int key)
{
	struct prompt *p = &b->prompt;
	enum prompt_kind kind = p->kind;
	char text[sizeof(p->text)];

	switch (prompt_key(p, key)) {
	case PROMPT_TYPED:
		if (kind == PROMPT_FILTER)
			filter_as_typed(b);
		break;
	case PROMPT_ENTERED:
		memcpy(text, p->text, sizeof(text));
		p->kind = PROMPT_NONE;
		entered(b, kind, text);
		if (kind == PROMPT_FILTER)
			act_unsearched(b);
		break;
	case PROMPT_LEFT:
		p->kind = PROMPT_NONE;
		if (kind == PROMPT_DELETE)
			act_say(b, "not deleted");
		if (kind == PROMPT_FILTER)
			act_unsearched(b);
		break;
	case PROMPT_OTHER:
		if (kind == PROMPT_FILTER)
			other_while_typing(b, key);
		break;
	}
}

void keys_take(struct browse *b, int key)
{
	if (key == KEY_UNKNOWN || key == KEY_RESIZED || terminal_key(b, key))
		return;
	b->message[0] = '\0';
	if (b->prompt.kind != PROMPT_NONE) {
		prompt_take(b, key);
		return;
	}
	switch (b->place) {
	case IN_LIST:
		list_key(b, key);
		break;
	case IN_SESSION:
		session_key(b, key);
		break;
	case IN_PICKER:
		picker_key(b, key);
		break;
	case IN_HELP:
		help_key(b, key);
		break;
	}
}
