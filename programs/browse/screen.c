/*
 * screen.c: the terminal.
 *
 * ncurses counts columns by wcwidth(), the rest of the program by utf8proc and by joined
 * characters. Where the two disagree (emoji joined from several characters, a heart shown
 * as an emoji), the first character is drawn and the rest of the cell left blank, so that
 * the following columns are where we expect them.
 */
#include "screen.h"

#include "kit/cells.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum {
	COLORS_USED = 6,
	LONGEST = 8192,
	ESCAPE_MS = 25            /* after an escape, for the rest of a key */
};

static SCREEN *terminal;
static int colors, cursor_wanted;
static unsigned click_y, click_x;

/* Text is UTF-8 here, whatever the locale. */
static void speak_utf8(void)
{
	setlocale(LC_ALL, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") && !setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "en_US.UTF-8");
}

static void take_terminal(void)
{
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	meta(stdscr, TRUE);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
}

int screen_start(int color)
{
	enum { CLICK_MS = 200 };

	speak_utf8();
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return -1;
	set_escdelay(ESCAPE_MS);
	take_terminal();
	mouseinterval(CLICK_MS);
	colors = color && has_colors() && start_color() != ERR;
	if (colors) {
		short background = use_default_colors() == OK ? -1 : COLOR_BLACK;

		for (short i = 0; i < COLORS_USED; i++)
			init_pair((short)(i + 1), (short)(COLOR_RED + i), background);
	}
	curs_set(0);
	return 0;
}

void screen_stop(void)
{
	if (!terminal)
		return;
	curs_set(1);
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

void screen_leave(void)
{
	curs_set(1);
	endwin();
}

void screen_return(void)
{
	/* the other program may have changed what the keys mean */
	take_terminal();
	clearok(curscr, TRUE);
	refresh();
}

unsigned screen_width(void)
{
	return COLS > 0 ? (unsigned)COLS : 0;
}

unsigned screen_height(void)
{
	return LINES > 0 ? (unsigned)LINES : 0;
}

void screen_clear(void)
{
	cursor_wanted = 0;
	erase();
}

void screen_cursor(unsigned y, unsigned x)
{
	move((int)y, (int)x);
	cursor_wanted = 1;
}

void screen_update(void)
{
	curs_set(cursor_wanted);
	refresh();
}

void screen_redraw(void)
{
	clearok(curscr, TRUE);
}

/* -------------------------------------------------------------------- lines */

/* A line split into its text and the style of each byte. */
struct taken {
	char text[LONGEST];
	attr_t look[LONGEST];
	short pair[LONGEST];
	size_t len;
};

static void apply(unsigned code, attr_t *look, short *pair)
{
	switch (code) {
	case 0:
		*look = A_NORMAL;
		*pair = 0;
		break;
	case 1:
		*look |= A_BOLD;
		break;
	case 2:
		*look |= A_DIM;
		break;
	case 3:
		*look |= A_ITALIC;
		break;
	case 4:
		*look |= A_UNDERLINE;
		break;
	default:
		if (code >= 31 && code <= 36 && colors)
			*pair = (short)(code - 30);
	}
}

/* Parses "0;1;33m" after the escape and its bracket; returns what follows it. */
static const char *read_escape(const char *p, const char *end, attr_t *look, short *pair)
{
	unsigned code = 0;

	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9') {
			code = code * 10 + (unsigned)(*p - '0');
			continue;
		}
		apply(code, look, pair);
		code = 0;
		if (*p == 'm')
			return p + 1;
	}
	return p;
}

static void take_apart(struct taken *t, struct grove_slice line)
{
	const char *p = line.ptr, *end = p + line.len;
	attr_t look = A_NORMAL;
	short pair = 0;

	t->len = 0;
	while (p < end && t->len < LONGEST) {
		if (*p == '\033' && p + 1 < end && p[1] == '[') {
			p = read_escape(p + 2, end, &look, &pair);
			continue;
		}
		t->text[t->len] = *p++;
		t->look[t->len] = look;
		t->pair[t->len++] = pair;
	}
}

static void mark_matches(struct taken *t, const struct needle *mark, int words)
{
	struct grove_slice text = { t->text, t->len };
	size_t at = 0, len = 0;

	if (!mark || !mark->len)
		return;
	while ((at = (words ? needle_find_word : needle_find)(mark, text, at, &len)) != SIZE_MAX)
		for (size_t end = at + len; at < end; at++)
			t->look[at] ^= A_REVERSE;
}

/*
 * Converts the characters of a cell for ncurses. Returns their number and width: that of
 * the cell, or more in scripts whose marks have a width of their own.
 */
static size_t widen(const struct cell *cell, wchar_t *out, size_t room, unsigned *columns)
{
	enum { PICTURES = 0x1f000 };
	const char *p = cell->ptr, *end = p + cell->len;
	unsigned width = 0;
	size_t nr = 0;
	int32_t c;

	for (size_t n; p < end && (n = cells_decode(p, end, &c)) && nr + 8 < room; p += n) {
		int w = wcwidth((wchar_t)c);

		if (w < 0 || (nr && c == CELLS_ZWJ) || (nr && w > 0 && cell->first >= PICTURES))
			break;
		out[nr++] = (wchar_t)c;
		width += (unsigned)w;
	}
	if (!nr && cell->width) {
		out[nr++] = 0xfffd; /* unknown to the locale */
		width = 1;
	}
	for (; width < cell->width && nr < room; width++)
		out[nr++] = ' ';
	*columns = width;
	return nr;
}

static attr_t look_of(unsigned look)
{
	attr_t a = A_NORMAL;

	if (look & (SCREEN_SELECTED | SCREEN_BAR))
		a |= A_REVERSE;
	/* on a terminal without it, a selection that has not the focus must look different, too */
	if (look & SCREEN_DIM)
		a = look & SCREEN_SELECTED && !(termattrs() & A_DIM) ? A_UNDERLINE : a | A_DIM;
	if (look & SCREEN_BAD)
		a |= A_BOLD;
	return a;
}

/* Writes characters of the same style. */
static void put_run(const wchar_t *run, size_t nr, attr_t look, short pair)
{
	attr_set(look, pair, NULL);
	addnwstr(run, (int)nr);
}

void screen_line(unsigned y, unsigned x, unsigned width, struct grove_slice line, unsigned look,
		 const struct needle *mark)
{
	static struct taken t;
	wchar_t run[LONGEST / 8];
	attr_t base = look_of(look), now = base;
	short pair = 0, hue = (short)(look & SCREEN_BAD && colors ? 1 : 0);
	struct cells it;
	struct cell cell;
	unsigned column = 0, wide;
	size_t nr = 0, at = 0;

	if (y >= screen_height() || x >= screen_width())
		return;
	take_apart(&t, line);
	mark_matches(&t, mark, look & SCREEN_WORDS);
	cells_init(&it, (struct grove_slice){ t.text, t.len }, 0);
	move((int)y, (int)x);
	while (cells_next(&it, &cell)) {
		/* dim or coloured letters are unreadable on a light bar */
		attr_t a = (look & SCREEN_SELECTED ? t.look[at] & ~A_DIM : t.look[at]) ^ base;
		short p = look & SCREEN_SELECTED ? 0 : t.pair[at] ? t.pair[at] : hue;
		wchar_t chars[128];
		size_t n = widen(&cell, chars, sizeof(chars) / sizeof(*chars), &wide);

		at = (size_t)(it.p - t.text);
		if (column + wide > width)
			break;
		if (nr && (a != now || p != pair || nr + n > sizeof(run) / sizeof(*run))) {
			put_run(run, nr, now, pair);
			nr = 0;
		}
		now = a;
		pair = p;
		memcpy(run + nr, chars, n * sizeof(*run));
		nr += n;
		column += wide;
	}
	if (nr)
		put_run(run, nr, now, pair);
	attr_set(base, hue, NULL);
	for (; column < width; column++)
		addch(' ');
	attr_set(A_NORMAL, 0, NULL);
}

void screen_divide(unsigned x, unsigned y, unsigned height)
{
	attr_set(A_DIM, 0, NULL);
	mvvline_set((int)y, (int)x, WACS_VLINE, (int)height);
	attr_set(A_NORMAL, 0, NULL);
}

/* --------------------------------------------------------------------- keys */

static int read_mouse(void)
{
	MEVENT m;

	if (getmouse(&m) != OK)
		return KEY_UNKNOWN;
	click_y = m.y > 0 ? (unsigned)m.y : 0;
	click_x = m.x > 0 ? (unsigned)m.x : 0;
	if (m.bstate & BUTTON4_PRESSED)
		return KEY_WHEEL_UP;
	if (m.bstate & BUTTON5_PRESSED)
		return KEY_WHEEL_DOWN;
	return m.bstate & BUTTON1_DOUBLE_CLICKED ? KEY_DOUBLE_CLICK : KEY_CLICK;
}

static int special(wint_t code)
{
	static const struct {
		wint_t theirs;
		int ours;
	} keys[] = {
		{ KEY_UP, KEY_GO_UP }, { KEY_DOWN, KEY_GO_DOWN }, { KEY_LEFT, KEY_GO_LEFT }, { KEY_RIGHT, KEY_GO_RIGHT },
		{ KEY_PPAGE, KEY_GO_PAGE_UP }, { KEY_NPAGE, KEY_GO_PAGE_DOWN }, { KEY_HOME, KEY_GO_HOME },
		{ KEY_END, KEY_GO_END }, { KEY_ENTER, KEY_ENTERED }, { KEY_BACKSPACE, KEY_ERASE }, { KEY_DC, KEY_DELETE_CHAR },
		{ KEY_BTAB, KEY_BACK_TAB }, { KEY_RESIZE, KEY_RESIZED },
	};

	if (code == KEY_MOUSE)
		return read_mouse();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].theirs == code)
			return keys[i].ours;
	return KEY_UNKNOWN;
}

/*
 * After an escape and one of "]P_^X": passes a string, which ends with BEL or ST. It is the
 * terminal's answer to something that an agent asked before it ended, "]11;rgb:1e1e/1e1e/1e1e"
 * for example, and its letters are not keys.
 */
static int pass_string(wint_t lead)
{
	enum { LONGEST_STRING = 4096, BEL = 7 };
	wint_t c = 0, before = 0;

	if (get_wch(&c) != OK) {
		unget_wch((wchar_t)lead);
		return KEY_ESCAPE;
	}
	/* Escape and a bracket may be keys, too */
	if (lead == ']' && (c < '0' || c > '9')) {
		unget_wch((wchar_t)c);
		unget_wch((wchar_t)lead);
		return KEY_ESCAPE;
	}
	timeout(ESCAPE_MS);
	for (int n = 0; n < LONGEST_STRING && c != BEL && (before != KEY_ESCAPE || c != '\\'); n++) {
		before = c;
		if (get_wch(&c) != OK)
			break;
	}
	nodelay(stdscr, TRUE);
	return KEY_UNKNOWN;
}

/*
 * After an escape: the rest of a key that the description of the terminal does not have,
 * as with a TERM that is not quite right. Most terminals agree on the common ones; the
 * others must not be taken for Escape and letters.
 */
static int unknown_key(void)
{
	static const struct {
		char final;
		unsigned number;
		int key;
	} keys[] = {
		{ 'A', 0, KEY_GO_UP }, { 'B', 0, KEY_GO_DOWN }, { 'C', 0, KEY_GO_RIGHT }, { 'D', 0, KEY_GO_LEFT },
		{ 'H', 0, KEY_GO_HOME }, { 'F', 0, KEY_GO_END }, { 'Z', 0, KEY_BACK_TAB }, { 'M', 0, KEY_ENTERED },
		{ '~', 1, KEY_GO_HOME }, { '~', 7, KEY_GO_HOME }, { '~', 4, KEY_GO_END }, { '~', 8, KEY_GO_END },
		{ '~', 3, KEY_DELETE_CHAR }, { '~', 5, KEY_GO_PAGE_UP }, { '~', 6, KEY_GO_PAGE_DOWN },
	};
	wint_t lead = 0, c = 0;
	unsigned number = 0;

	if (get_wch(&lead) != OK)
		return KEY_ESCAPE;
	if (lead && lead < 0x80 && strchr("]P_^X", (int)lead))
		return pass_string(lead);
	/* with nothing after it, it is a key of its own */
	if ((lead != '[' && lead != 'O') || get_wch(&c) != OK) {
		unget_wch((wchar_t)lead);
		return KEY_ESCAPE;
	}
	while (c < '@' && lead == '[') {
		number = c >= '0' && c <= '9' && number < 1000 ? number * 10 + (c - '0') : 1000;
		if (get_wch(&c) != OK)
			return KEY_UNKNOWN;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if ((wint_t)keys[i].final == c && keys[i].number == number)
			return keys[i].key;
	return KEY_UNKNOWN;
}

int screen_key(void)
{
	wint_t c = 0;

	switch (get_wch(&c)) {
	case KEY_CODE_YES:
		return special(c);
	case OK:
		if (!c)
			return KEY_UNKNOWN;
		if (c == KEY_ESCAPE)
			return unknown_key();
		return c == '\r' || c == '\n' ? KEY_ENTERED : c == '\t' ? KEY_TAB : c == 0x7f || c == '\b' ? KEY_ERASE : (int)c;
	default:
		return KEY_NOTHING;
	}
}

void screen_click(unsigned *y, unsigned *x)
{
	*y = click_y;
	*x = click_x;
}
