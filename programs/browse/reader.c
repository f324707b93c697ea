/*
 * reader.c: a conversation, as lines that are made when somebody looks at them.
 */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE GROVE_NO_ENTRY

enum {
	PART_LONG = 24,           /* rows after which a part ends if it can … */
	PART_LONGEST = 64         /* … and after which it must */
};

/* -------------------------------------------------------------------- parts */

/* Returns true if a part may begin here. A reply's work is not split. */
static int may_begin(const struct grove_entry *e, enum grove_role before)
{
	if (e->kind != GROVE_KIND_MESSAGE)
		return 0;
	return e->role == GROVE_ROLE_USER || (e->role == GROVE_ROLE_ASSISTANT && before != GROVE_ROLE_ASSISTANT);
}

static void cut(struct reader *r)
{
	enum grove_role before = GROVE_ROLE_NONE;
	size_t cap = r->rows.nr / 4 + 2, from = 0;

	r->parts = cli_realloc(NULL, cap, sizeof(*r->parts));
	r->parts[0] = 0;
	r->nr_parts = 0;
	for (size_t i = 1; i < r->rows.nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };

		if (grove_view_entry(r->v, r->rows.at[i], &e))
			continue;
		if (i - from >= PART_LONGEST || (may_begin(&e, before) && (e.role == GROVE_ROLE_USER || i - from >= PART_LONG))) {
			from = i;
			if (++r->nr_parts + 1 >= cap) {
				cap *= 2;
				r->parts = cli_realloc(r->parts, cap, sizeof(*r->parts));
			}
			r->parts[r->nr_parts] = i;
		}
		before = e.kind == GROVE_KIND_MESSAGE ? e.role : before;
	}
	r->nr_parts += r->rows.nr > 0;
	r->parts[r->nr_parts] = r->rows.nr;
}

static void forget_lines(struct reader *r)
{
	for (size_t i = 0; i < READER_PARTS; i++)
		r->cache[i].part = SIZE_MAX;
	r->found.part = SIZE_MAX;
}

/* Styles continue across lines: computes the style after a line from that before it. */
static void pass_styles(struct reader_style *now, const char *p, const char *end)
{
	while ((p = memchr(p, '\033', (size_t)(end - p)))) {
		const char *stop = memchr(p, 'm', (size_t)(end - p));
		size_t len = stop ? (size_t)(stop + 1 - p) : 0;

		if (!len)
			return;
		/* every escape that begins with 0 resets all earlier ones */
		if (len > 2 && p[2] == '0')
			now->len = 0;
		if (now->len + len <= sizeof(now->bytes) && !(len == 4 && p[2] == '0')) {
			memcpy(now->bytes + now->len, p, len);
			now->len = (unsigned char)(now->len + len);
		}
		p = stop;
	}
}

static void grow(struct reader_part *p)
{
	p->cap = p->cap ? 2 * p->cap : 64;
	p->line = cli_realloc(p->line, p->cap, sizeof(*p->line));
	p->row = cli_realloc(p->row, p->cap, sizeof(*p->row));
	p->style = cli_realloc(p->style, p->cap, sizeof(*p->style));
}

/* Records the lines that an entry printed. */
static void add_lines(struct reader_part *p, size_t from, size_t row)
{
	const char *end = p->text.ptr + p->text.len;
	struct reader_style style = { .len = 0 };

	for (const char *at = p->text.ptr + from; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at)), *next = nl ? nl + 1 : end;

		if (p->nr + 2 > p->cap)
			grow(p);
		p->line[p->nr] = (size_t)(at - p->text.ptr);
		p->style[p->nr] = style;
		p->row[p->nr++] = (uint32_t)row;
		pass_styles(&style, at, next);
		at = next;
		p->line[p->nr] = (size_t)(at - p->text.ptr);
	}
}

static void print_part(struct reader *r, struct reader_part *p, size_t part)
{
	p->part = part;
	p->nr = 0;
	p->text.len = 0;
	p->text.width = r->width + 1;   /* talk leaves the last column free */
	p->text.color = 1;              /* the screen interprets them */
	r->talk.o = &p->text;
	talk_restart(&r->talk);
	for (size_t i = r->parts[part]; i < r->parts[part + 1]; i++) {
		size_t from = p->text.len;

		if (!away_try(r->away) || away_read(r->away, talk_entry(&r->talk, i))) {
			p->text.len = from;
			out_puts(&p->text, "\n  (this entry cannot be read)\n");
		}
		out_end_line(&p->text);
		if (p->text.len > from)
			add_lines(p, from, i);
	}
}

static struct reader_part *part_at(struct reader *r, size_t part)
{
	struct reader_part *oldest = &r->cache[0];

	for (size_t i = 0; i < READER_PARTS; i++) {
		struct reader_part *p = &r->cache[i];

		if (p->part == part) {
			p->used = ++r->clock;
			return p;
		}
		if (p->part == SIZE_MAX || (oldest->part != SIZE_MAX && p->used < oldest->used))
			oldest = p;
	}
	print_part(r, oldest, part);
	oldest->used = ++r->clock;
	return oldest;
}

/* ------------------------------------------------------------------- making */

static void forget(struct reader *r)
{
	grove_rows_release(&r->rows);
	free(r->place_of);
	free(r->covered);
	free(r->parts);
	r->rows = (struct grove_rows){ NULL, 0 };
	r->place_of = NULL;
	r->covered = NULL;
	r->parts = NULL;
	r->nr_parts = 0;
	if (r->talk.v)
		talk_release(&r->talk);
	memset(&r->talk, 0, sizeof(r->talk));
	forget_lines(r);
}

void reader_release(struct reader *r)
{
	forget(r);
	for (size_t i = 0; i < READER_PARTS; i++) {
		out_release(&r->cache[i].text);
		free(r->cache[i].line);
		free(r->cache[i].row);
		free(r->cache[i].style);
	}
	out_release(&r->shown);
	memset(r, 0, sizeof(*r));
}

static int on_message(void *payload, const struct grove_message *m)
{
	struct reader *r = payload;

	/* several messages may come from one entry */
	if (m->entry == NONE || r->place_of[m->entry] != NONE)
		return 0;
	r->place_of[m->entry] = (uint32_t)r->rows.nr;
	r->rows.at = cli_realloc(r->rows.at, r->rows.nr + 1, sizeof(*r->rows.at));
	r->rows.at[r->rows.nr++] = m->entry;
	return 0;
}

static int on_about(void *payload, const struct grove_context_about *a)
{
	struct reader *r = payload;

	r->tokens = a->used;
	r->window = a->window;
	snprintf(r->model, sizeof(r->model), "%s", a->model ? a->model : "");
	return 0;
}

static int read_context(struct reader *r)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_context_options co = { .size = sizeof(co), .flags = GROVE_CONTEXT_PARTS };
	const struct grove_context_reader to = { sizeof(to), r, on_message, NULL, on_about };

	if (r->to == NONE)
		co.leaf = GROVE_ROOT;
	else if (!grove_view_entry(r->v, r->to, &e))
		co.leaf = e.id;
	return grove_view_messages(r->v, &co, &to);
}

/* Notes which entries lead to the end, whether the model sees them or not. */
static int read_covered(struct reader *r)
{
	struct grove_rows all = { NULL, 0 };
	int err = grove_view_conversation(r->v, r->to, GROVE_CONVERSATION_WHOLE, &all);

	r->covered = cli_realloc(NULL, grove_view_count(r->v), 1);
	memset(r->covered, 0, grove_view_count(r->v));
	for (size_t i = 0; i < all.nr && !err; i++)
		r->covered[all.at[i]] = 1;
	grove_rows_release(&all);
	return err;
}

static int read_rows(struct reader *r)
{
	uint32_t nr = grove_view_count(r->v);
	int err;

	r->place_of = cli_realloc(NULL, nr, sizeof(*r->place_of));
	memset(r->place_of, 0xff, nr * sizeof(*r->place_of));
	if (r->flags & READER_CONTEXT) {
		err = read_covered(r);
		return err ? err : read_context(r);
	}
	err = grove_view_conversation(r->v, r->to, GROVE_CONVERSATION_WHOLE, &r->rows);
	for (size_t i = 0; i < r->rows.nr && !err; i++)
		r->place_of[r->rows.at[i]] = (uint32_t)i;
	return err;
}

int reader_take(struct reader *r, struct cli *c, struct grove_view *v, const char *cwd, uint32_t to, unsigned flags)
{
	int err;

	for (size_t i = 0; i < READER_PARTS; i++)
		if (!r->cache[i].text.fd)
			out_init(&r->cache[i].text, -1);
	if (!r->shown.fd)
		out_init(&r->shown, -1);
	forget(r);
	r->c = c;
	r->v = v;
	r->cwd = cwd;
	r->to = to;
	r->flags = flags;
	r->width = r->width ? r->width : 80;
	r->top = (struct reader_place){ 0, 0 };
	r->current = 0;
	err = read_rows(r);
	if (err) {
		grove_rows_release(&r->rows);
		r->rows = (struct grove_rows){ NULL, 0 };
	}
	cut(r);
	talk_init(&r->talk, c, v, flags & READER_FULL ? TALK_FULL : 0, r->rows.at, r->rows.nr);
	r->talk.cwd = cwd;
	r->talk.unfold = "x";
	return err;
}

/* ------------------------------------------------------------------- places */

/* Moves a place by lines, but not beyond the first and last. Returns how far it moved. */
static size_t move(struct reader *r, struct reader_place *p, long by)
{
	size_t left = (size_t)(by < 0 ? -by : by), all = left;

	while (left && by > 0 && p->part < r->nr_parts) {
		size_t nr = part_at(r, p->part)->nr;

		if (p->line + left < nr) {
			p->line += left;
			return all;
		}
		left -= nr - p->line;
		p->part++;
		p->line = 0;
	}
	while (left && by < 0) {
		if (p->line) {
			size_t n = p->line < left ? p->line : left;

			p->line -= n;
			left -= n;
		} else if (p->part) {
			p->part--;
			p->line = part_at(r, p->part)->nr;
		} else {
			break;
		}
	}
	return all - left;
}

/* A place after the last line of a part becomes the first of the next. */
static void settle(struct reader *r, struct reader_place *p)
{
	while (p->part < r->nr_parts && p->line >= part_at(r, p->part)->nr) {
		p->part++;
		p->line = 0;
	}
}

/* Moves the top up if there are not enough lines below it. */
static void fit(struct reader *r, size_t height)
{
	struct reader_place end = r->top;
	size_t n = move(r, &end, (long)height);

	if (n < height)
		move(r, &r->top, -(long)(height - n));
	settle(r, &r->top);
	/* no empty line above the first heading */
	if (!r->top.part && !r->top.line && r->nr_parts) {
		const struct reader_part *part = part_at(r, 0);

		r->top.line = part->nr > 1 && part->line[1] == part->line[0] + 1;
	}
}

int reader_at_end(struct reader *r, size_t height)
{
	struct reader_place end = r->top;

	move(r, &end, (long)height);
	settle(r, &end);
	return end.part >= r->nr_parts;
}

static uint32_t row_at(struct reader *r, struct reader_place p)
{
	settle(r, &p);
	if (p.part >= r->nr_parts)
		return r->rows.nr ? (uint32_t)(r->rows.nr - 1) : 0;
	return part_at(r, p.part)->row[p.line];
}

static size_t part_of(const struct reader *r, size_t row)
{
	size_t from = 0, to = r->nr_parts;

	while (to - from > 1) {
		size_t mid = from + (to - from) / 2;

		if (r->parts[mid] <= row)
			from = mid;
		else
			to = mid;
	}
	return from;
}

/* Returns the first line of an entry; one without lines is where the next one is. */
static struct reader_place first_line(struct reader *r, size_t row)
{
	struct reader_place p = { part_of(r, row), 0 };
	const struct reader_part *part;

	if (p.part >= r->nr_parts)
		return p;
	part = part_at(r, p.part);
	while (p.line < part->nr && part->row[p.line] < row)
		p.line++;
	return p;
}

/* Returns the same without the empty line before a heading. */
static struct reader_place place_of(struct reader *r, size_t row)
{
	struct reader_place p = first_line(r, row);
	const struct reader_part *part;

	if (p.part >= r->nr_parts)
		return p;
	part = part_at(r, p.part);
	if (p.line + 1 < part->nr && part->row[p.line] == row && part->line[p.line + 1] == part->line[p.line] + 1)
		p.line++;
	settle(r, &p);
	return p;
}

int reader_has(const struct reader *r, uint32_t entry)
{
	return r->place_of && entry < grove_view_count(r->v) && r->place_of[entry] != NONE;
}

int reader_covers(const struct reader *r, uint32_t entry)
{
	return r->covered ? entry < grove_view_count(r->v) && r->covered[entry] : reader_has(r, entry);
}

uint32_t reader_entry(const struct reader *r)
{
	return r->current < r->rows.nr ? r->rows.at[r->current] : NONE;
}

void reader_show(struct reader *r, uint32_t entry, size_t height)
{
	if (!reader_has(r, entry))
		return;
	r->current = r->place_of[entry];
	r->top = place_of(r, r->current);
	fit(r, height);
}

static void mark_top(struct reader *r)
{
	r->current = row_at(r, r->top);
}

/* Returns the next row with lines, or the same one. */
static uint32_t next_row(struct reader *r, int by)
{
	struct reader_place p = place_of(r, r->current);

	while (p.part < r->nr_parts && row_at(r, p) == r->current)
		if (!move(r, &p, by) || (settle(r, &p), p.part >= r->nr_parts))
			return r->current;
	return row_at(r, p);
}

void reader_scroll(struct reader *r, long by, size_t height)
{
	struct reader_place was = r->top;

	move(r, &r->top, by);
	fit(r, height);
	if (was.part == r->top.part && was.line == r->top.line && by)
		r->current = next_row(r, by < 0 ? -1 : 1);
	else
		mark_top(r);
}

void reader_next(struct reader *r, int by, size_t height)
{
	r->current = next_row(r, by);
	r->top = place_of(r, r->current);
	fit(r, height);
}

void reader_end(struct reader *r, int last, size_t height)
{
	r->top = (struct reader_place){ last ? r->nr_parts : 0, 0 };
	fit(r, height);
	if (last) {
		struct reader_place p = { r->nr_parts, 0 };

		move(r, &p, -1);
		r->current = row_at(r, p);
	} else {
		mark_top(r);
	}
}

/* Returns true if the last entry is marked and its end is on the screen. */
static int is_last(struct reader *r, size_t height)
{
	struct reader_place p = { r->nr_parts, 0 };

	if (!reader_at_end(r, height))
		return 0;
	move(r, &p, -1);
	return r->current == row_at(r, p);
}

void reader_note(struct reader *r, struct reader_spot *spot, size_t height)
{
	uint32_t row = row_at(r, r->top);
	struct reader_place first = first_line(r, row);

	*spot = (struct reader_spot){ .top = row < r->rows.nr ? r->rows.at[row] : NONE, .marked = reader_entry(r),
				      .last = is_last(r, height) };
	if (first.part == r->top.part && r->top.line > first.line)
		spot->line = r->top.line - first.line;
}

int reader_restore(struct reader *r, const struct reader_spot *spot, size_t height)
{
	if (!reader_has(r, spot->top) || !reader_has(r, spot->marked))
		return 0;
	r->current = r->place_of[spot->marked];
	r->top = first_line(r, r->place_of[spot->top]);
	move(r, &r->top, (long)spot->line);
	fit(r, height);
	return 1;
}

static void put_back(struct reader *r, const struct reader_spot *spot, size_t height)
{
	if (spot->last || !reader_restore(r, spot, height)) {
		r->top = (struct reader_place){ r->nr_parts, 0 };
		fit(r, height);
	}
}

void reader_size(struct reader *r, unsigned width, size_t height)
{
	struct reader_spot spot;

	if (width == r->width && height == r->height)
		return;
	reader_note(r, &spot, r->height ? r->height : height);
	r->width = width;
	r->height = height;
	forget_lines(r);
	put_back(r, &spot, height);
}

void reader_reread(struct reader *r)
{
	struct reader_spot spot;

	reader_note(r, &spot, r->height);
	forget_lines(r);
	put_back(r, &spot, r->height);
}

int reader_line(struct reader *r, size_t below, struct grove_slice *line, uint32_t *row)
{
	struct reader_place p = r->top;
	struct reader_part *part;

	move(r, &p, (long)below);
	settle(r, &p);
	if (p.part >= r->nr_parts)
		return 0;
	part = part_at(r, p.part);
	r->shown.len = 0;
	out_bytes(&r->shown, part->style[p.line].bytes, part->style[p.line].len);
	out_bytes(&r->shown, part->text.ptr + part->line[p.line], part->line[p.line + 1] - part->line[p.line]);
	*line = (struct grove_slice){ r->shown.ptr, r->shown.len };
	if (line->len && line->ptr[line->len - 1] == '\n')
		line->len--;
	*row = part->row[p.line];
	return 1;
}

/* ------------------------------------------------------------------- search */

static int on_piece(void *payload, const struct grove_piece *piece)
{
	const struct needle *n = payload;

	return needle_is_in(n, piece->text) || needle_is_in(n, piece->title);
}

int reader_matches(struct grove_view *v, uint32_t entry, const struct needle *n)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct needle copy = *n;

	if (!grove_view_entry(v, entry, &e) && e.label && needle_is_in(n, grove_str(e.label)))
		return 1;
	return grove_view_piece_each(v, entry, on_piece, &copy);
}

/* Compares a line without its styles. */
static int line_has(const struct reader_part *part, size_t line, const struct needle *n)
{
	char plain[4096];
	size_t len = 0;

	for (size_t i = part->line[line]; i < part->line[line + 1] && len < sizeof(plain); i++) {
		if (part->text.ptr[i] == '\033') {
			while (i < part->line[line + 1] && part->text.ptr[i] != 'm')
				i++;
			continue;
		}
		plain[len++] = part->text.ptr[i];
	}
	return needle_is_in(n, (struct grove_slice){ plain, len });
}

static void go_to(struct reader *r, struct reader_place p, size_t height)
{
	r->top = p;
	r->current = row_at(r, p);
	/* a few lines of context above it */
	move(r, &r->top, -(long)(height / 4));
	fit(r, height);
	r->found = p;
	r->found_top = r->top;
}

static int is_before(struct reader_place a, struct reader_place b)
{
	return a.part < b.part || (a.part == b.part && a.line < b.line);
}

static int is_same(struct reader_place a, struct reader_place b)
{
	return a.part == b.part && a.line == b.line;
}

/*
 * Returns where a search goes on. *after is set if that line itself was found before. After
 * the reader has moved it is the first line of the marked entry that is on the screen.
 */
static struct reader_place search_from(struct reader *r, int *after)
{
	struct reader_place p;

	*after = r->found.part < r->nr_parts && is_same(r->top, r->found_top) && row_at(r, r->found) == r->current;
	if (*after)
		return r->found;
	p = first_line(r, r->current);
	return is_before(p, r->top) ? r->top : p;
}

int reader_find_near(struct reader *r, const struct needle *n, int by, size_t height)
{
	const struct reader_part *part;
	int after;
	struct reader_place p = search_from(r, &after);

	settle(r, &p);
	if (p.part >= r->nr_parts)
		return 0;
	part = part_at(r, p.part);
	if (by > 0)
		p.line += (size_t)after;
	else if (!p.line--)
		return 0;
	/* going up, the line above the first is SIZE_MAX */
	for (; p.line < part->nr; p.line += (size_t)by)
		if (line_has(part, p.line, n)) {
			go_to(r, p, height);
			return 1;
		}
	return 0;
}

void reader_find_in(struct reader *r, uint32_t entry, const struct needle *n, int by, size_t height)
{
	struct reader_place p;
	const struct reader_part *part;
	size_t found = SIZE_MAX;

	if (!reader_has(r, entry))
		return;
	p = place_of(r, r->place_of[entry]);
	if (p.part >= r->nr_parts) {
		reader_show(r, entry, height);
		return;
	}
	/*
	 * a result is shown with its call, so all lines of the part count, those of the
	 * entry first
	 */
	part = part_at(r, p.part);
	for (size_t line = p.line; line < part->nr && part->row[line] == r->place_of[entry]; line++)
		if (line_has(part, line, n)) {
			found = line;
			if (by > 0)
				break;
		}
	for (size_t line = 0; found == SIZE_MAX && line < part->nr; line++)
		if (line_has(part, line, n))
			found = line;
	if (found == SIZE_MAX)
		reader_show(r, entry, height);
	else
		go_to(r, (struct reader_place){ p.part, found }, height);
}
