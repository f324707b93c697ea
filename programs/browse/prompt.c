/*
 * prompt.c: a line of input at the bottom of the screen.
 */
#include "prompt.h"

#include "kit/cells.h"
#include "kit/out.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

/* Copies as many whole characters as there is room for; returns their length. */
static size_t copy(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size);

	if (len == size)
		for (len--; len && ((unsigned char)from[len] & 0xc0) == 0x80;)
			len--;
	memcpy(to, from, len);
	to[len] = '\0';
	return len;
}

void prompt_begin(struct prompt *p, enum prompt_kind kind, const char *title, const char *text)
{
	p->kind = kind;
	copy(p->title, sizeof(p->title), title);
	p->len = p->at = copy(p->text, sizeof(p->text), text ? text : "");
}

/*
 * The beginning of the character before a position, and the end of the one after it. A
 * letter and its accents, or an emoji of several characters, count as one.
 */
static size_t before(const struct prompt *p, size_t at)
{
	struct cells it;
	struct cell cell;
	size_t end = 0, begin = 0;

	cells_init(&it, (struct grove_slice){ p->text, p->len }, 0);
	while (end < at && cells_next(&it, &cell)) {
		begin = end;
		end = (size_t)(it.p - p->text);
	}
	return begin;
}

static size_t after(const struct prompt *p, size_t at)
{
	struct cells it;
	struct cell cell;

	cells_init(&it, (struct grove_slice){ p->text, p->len }, 0);
	while (cells_next(&it, &cell))
		if ((size_t)(it.p - p->text) > at)
			return (size_t)(it.p - p->text);
	return p->len;
}

static void cut(struct prompt *p, size_t from, size_t to)
{
	memmove(p->text + from, p->text + to, p->len - to + 1);
	p->len -= to - from;
	p->at = from;
}

static void insert(struct prompt *p, unsigned c)
{
	char bytes[4];
	size_t n = cells_encode(c, bytes);

	if (p->len + n >= sizeof(p->text))
		return;
	memmove(p->text + p->at + n, p->text + p->at, p->len - p->at + 1);
	memcpy(p->text + p->at, bytes, n);
	p->len += n;
	p->at += n;
}

static void erase_word(struct prompt *p)
{
	size_t from = p->at;

	while (from && p->text[from - 1] == ' ')
		from--;
	while (from && p->text[from - 1] != ' ')
		from--;
	cut(p, from, p->at);
}

enum prompt_answer prompt_key(struct prompt *p, int key)
{
	if (p->kind == PROMPT_DELETE)
		return key == 'y' || key == 'Y' ? PROMPT_ENTERED : PROMPT_LEFT;
	switch (key) {
	case KEY_ENTERED:
		return PROMPT_ENTERED;
	case KEY_ESCAPE:
	case CTRL_KEY('C'):
	case CTRL_KEY('G'):
		return PROMPT_LEFT;
	case KEY_ERASE:
		if (!p->len)
			return PROMPT_LEFT;
		cut(p, before(p, p->at), p->at);
		return PROMPT_TYPED;
	case KEY_DELETE_CHAR:
		cut(p, p->at, after(p, p->at));
		return PROMPT_TYPED;
	case CTRL_KEY('U'):
		cut(p, 0, p->at);
		return PROMPT_TYPED;
	case CTRL_KEY('K'):
		cut(p, p->at, p->len);
		return PROMPT_TYPED;
	case CTRL_KEY('W'):
		erase_word(p);
		return PROMPT_TYPED;
	case KEY_GO_LEFT:
		p->at = before(p, p->at);
		return PROMPT_TYPED;
	case KEY_GO_RIGHT:
		p->at = after(p, p->at);
		return PROMPT_TYPED;
	case CTRL_KEY('A'):
	case KEY_GO_HOME:
		p->at = 0;
		return PROMPT_TYPED;
	case CTRL_KEY('E'):
	case KEY_GO_END:
		p->at = p->len;
		return PROMPT_TYPED;
	default:
		if (key < ' ' || key >= KEY_SPECIAL)
			return PROMPT_OTHER;
		insert(p, (unsigned)key);
		return PROMPT_TYPED;
	}
}

/* Whatever the name is, what can be answered must be seen. */
static unsigned print_question(const struct prompt *p, struct out *o, unsigned width)
{
	static const char answers[] = "'? [y/N] ";
	unsigned room = sizeof(answers) - 1, used = out_fit(o, out_str(p->title), width > room ? width - room : 1);

	out_puts(o, answers);
	return used + room;
}

unsigned prompt_print(const struct prompt *p, struct out *o, unsigned width)
{
	struct grove_slice text = { p->text, p->len };
	size_t from = 0;
	unsigned used;

	if (p->kind == PROMPT_DELETE)
		return print_question(p, o, width);
	used = out_fit(o, out_str(p->title), width > 20 ? width - 10 : width / 2);
	/* but "/word" as in less */
	if (used < width && p->kind != PROMPT_FILTER && p->kind != PROMPT_SEARCH) {
		out_puts(o, " ");
		used++;
	}
	while (from < p->at && used + out_columns((struct grove_slice){ text.ptr + from, p->at - from }) + 1 > width)
		from = after(p, from);
	out_text(o, (struct grove_slice){ text.ptr + from, text.len - from });
	return used + out_columns((struct grove_slice){ text.ptr + from, p->at - from });
}
