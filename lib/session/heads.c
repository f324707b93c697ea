/*
 * session/heads.c: entries without their long values, in one block.
 *
 * Entries of one kind differ in a few values only. What they have in common, the
 * names of their members and the words that repeat, is their shape; the rest are
 * holes, filled by numbers and texts:
 *
 *	line     {"type":"label","id":"a1","parentId":"a0","targetId":"9f","label":"x"}
 *	pieces    {"type":"label","id":|   |,"parentId":|    |,"targetId":|   |,"label":|  |}
 *	holes                          text            parent            text         text
 *
 * A line is compared with the shapes that were used last, piece by piece: where
 * all pieces agree, its holes are copied out, and nothing is parsed but what
 * fills them. Only a line that none of them fits is taken apart; what that gives
 * is a shape that is looked up by its pieces, or a new one.
 */
#include "session/heads.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "json/value.h"

#include <stdlib.h>

enum {
	KEPT = 128,            /* bytes up to which a value is handed out */
	WORD = 64,             /* … and a word can be part of a shape */
	DIGITS = 64,           /* … and a number is one of JavaScript's, as good as any */
	DEPTH = 8,             /* of objects that are opened */
	RECENT = 16,           /* shapes that are tried */
	SHAPES = 4096,         /* entries of further ones are not taken apart */
	SLOTS = 4 * SHAPES,
	BLOCK_KINDS = GROVE_BLOCK_ODD - GROVE_BLOCK_FIRST
};

enum hole {
	HOLE_END,              /* none: the line ends here */
	HOLE_TEXT,
	HOLE_NUMBER,
	HOLE_PARENT,
	HOLE_STRANGER,         /* a parent that is not the entry's parent in the tree */
	HOLE_JSON,
	HOLE_LEFT,             /* a long value */
	HOLE_CONTENT,          /* content that is no list, however short */
	HOLE_BLOCKS
};

static const char *const hole_names[] = {
	[HOLE_TEXT] = "text",     [HOLE_NUMBER] = "number", [HOLE_PARENT] = "parent",
	[HOLE_STRANGER] = "text", [HOLE_JSON] = "json",     [HOLE_LEFT] = "left",
	[HOLE_CONTENT] = "left",  [HOLE_BLOCKS] = "blocks",
};

/* Bytes that a line must have, and what comes after them. */
struct piece {
	uint32_t at, len;      /* in `pieces` */
	enum hole hole;
};

struct shape {
	uint32_t first, nr;    /* of its pieces */
	uint32_t hash;
	uint16_t then;         /* the shape of the entry that came next when it was seen last; 0: none did */
};

struct heads {
	struct grove_view *v;
	const struct grove__dialect_heads *names;
	/* what is known of shapes; number 0 is that of entries which are not taken apart */
	struct grove_buf pieces, spelled;
	struct piece *piece;
	size_t nr_pieces, cap_pieces;
	struct shape *shape;
	size_t nr_shapes, cap_shapes;
	uint16_t slot[SLOTS], recent[RECENT];
	uint16_t last;                 /* of the entry before */
	/* the last list of blocks: a second shape that is tried need not walk it again */
	struct grove_slice blocks;
	struct grove_buf letters;
	/* the shapes of blocks, one after the other in `kinds`, and that of the last block */
	struct grove_buf kinds, kind;
	uint32_t kind_end[BLOCK_KINDS], nr_kinds;
	/* what is handed out */
	struct grove_buf rows[3];      /* uint32_t: shape, first number, first text */
	struct grove_buf numbers;      /* double */
	struct grove_buf text_at;      /* uint32_t */
	struct grove_buf strings;
};

/* ------------------------------------------------------------- what fills holes */

/* The text of a raw string that is spelled as it reads, in ASCII; ptr NULL: it is not, or is too long. */
static struct grove_slice plain(const char *p, const char *end, size_t max)
{
	const char *q = p + 1;

	if (end - p < 2 || *p != '"')
		return grove__slice(NULL, 0);
	if ((size_t)(end - q) > max + 1)
		end = q + max + 1;
	while (q < end && (unsigned char)*q < 0x7f && *q != '"' && *q != '\\')
		q++;
	return q < end && *q == '"' ? grove__slice(p + 1, (size_t)(q - p) - 1) : grove__slice(NULL, 0);
}

static int add_number(struct heads *h, double d)
{
	return grove__buf_add(&h->numbers, &d, sizeof(d));
}

/* A text begins where the strings end. */
static int begin_text(struct heads *h)
{
	uint32_t at = (uint32_t)h->strings.len;

	if (h->strings.len > UINT32_MAX)
		return GROVE_ETOOBIG;
	return grove__buf_add(&h->text_at, &at, sizeof(at));
}

static int add_text(struct heads *h, struct grove_slice text)
{
	int rc = begin_text(h);

	return rc ? rc : grove__buf_add_slice(&h->strings, text);
}

/* The same value in ASCII. */
static int add_json(struct heads *h, struct grove_slice raw)
{
	const char *p = raw.ptr, *end = raw.ptr + raw.len;
	int rc = begin_text(h);

	while (!rc && p < end) {
		uint32_t cp;

		if ((unsigned char)*p < 0x80) {
			rc = grove__buf_add_char(&h->strings, *p++);
			continue;
		}
		p += grove__utf8_decode(p, end, &cp);
		if (cp < 0x10000)
			rc = grove__buf_addf(&h->strings, "\\u%04x", cp);
		else
			rc = grove__buf_addf(&h->strings, "\\u%04x\\u%04x", 0xd800 + ((cp - 0x10000) >> 10),
					     0xdc00 + (cp & 0x3ff));
	}
	return rc;
}

/* Small whole numbers are most of them, and need no arithmetic to speak of. */
static double number(struct grove_slice raw)
{
	uint32_t n = 0;

	if (raw.len > 9)
		return grove__json_number(raw);
	for (size_t i = 0; i < raw.len; i++) {
		if (raw.ptr[i] < '0' || raw.ptr[i] > '9')
			return grove__json_number(raw);
		n = n * 10 + (uint32_t)(raw.ptr[i] - '0');
	}
	return n;
}

/*
 * Go through the members of an object, or the elements of a list, whose end is not
 * known yet. False at the bracket that closes it.
 */
static bool step(struct grove__json_iter *it, char close)
{
	const char *p = it->p;

	while (*p == ',' || grove__json_is_space(*p))
		p++;
	it->p = p;
	return *p != close && grove__json_next(it);
}

/* Is there a member with this key in the shape so far? JavaScript keeps the last, in the place of the first. */
static bool has_key(const struct grove_buf *kind, struct grove_slice key)
{
	for (const char *p = kind->ptr, *end = p + kind->len; (size_t)(end - p) > key.len; p++)
		if (*p == '"' && p[key.len] == ':' && !memcmp(p, key.ptr, key.len))
			return true;
	return false;
}

/* Add a member to the shape of a block. Returns 1 if a shape cannot tell it. */
static int add_member(struct heads *h, struct grove_slice key, struct grove_slice value)
{
	bool is_type = h->names->block_type && grove__json_string_is(key, h->names->block_type);
	int rc;

	if (!plain(key.ptr, key.ptr + key.len, KEPT).ptr || has_key(&h->kind, key) ||
	    (is_type && !plain(value.ptr, value.ptr + value.len, KEPT).ptr))
		return 1;
	rc = grove__buf_add_char(&h->kind, h->kind.len ? ',' : '{');
	rc = rc ? rc : grove__buf_add_slice(&h->kind, key);
	rc = rc ? rc : grove__buf_add_char(&h->kind, ':');
	return rc ? rc : is_type ? grove__buf_add_slice(&h->kind, value) :
				   grove__buf_add_str(&h->kind, "{\"$\":\"left\"}");
}

/* The shape of the block that begins at *p, which is left behind. Returns 1 if it has none. */
static int read_block(struct heads *h, const char **p, const char *end)
{
	struct grove__json_iter it;
	int rc = 0;

	grove__buf_clear(&h->kind);
	if (**p != '{') {
		*p += grove__json_skip(*p, end);
		return 1;
	}
	grove__json_iter_init(&it, grove__slice(*p, (size_t)(end - *p)));
	while (step(&it, '}'))
		rc = rc ? rc : add_member(h, it.key, it.value);
	*p = it.p + 1;
	rc = rc || h->kind.len ? rc : grove__buf_add_char(&h->kind, '{');
	return rc ? rc : grove__buf_add_char(&h->kind, '}');
}

/* The character that stands for the shape of the last block, which is a new one perhaps. */
static int letter_of_kind(struct heads *h, char *out)
{
	uint32_t from = 1, i = 0;  /* after the bracket */
	int rc;

	for (; i < h->nr_kinds; from = h->kind_end[i++] + 1)
		if (h->kind_end[i] - from == h->kind.len && !memcmp(h->kinds.ptr + from, h->kind.ptr, h->kind.len))
			break;
	*out = i < BLOCK_KINDS ? (char)(GROVE_BLOCK_FIRST + i) : (char)GROVE_BLOCK_ODD;
	if (i < h->nr_kinds || i == BLOCK_KINDS)
		return 0;
	if (i && (rc = grove__buf_add_char(&h->kinds, ',')))
		return rc;
	rc = grove__buf_add_slice(&h->kinds, grove__buf_slice(&h->kind));
	h->kind_end[i] = (uint32_t)h->kinds.len;
	h->nr_kinds++;
	return rc;
}

/* Where the list at `p` ends, and a character for each block in it. */
static int read_blocks(struct heads *h, const char *p, const char *end)
{
	const char *start = p;
	int rc = 0;

	if (h->blocks.ptr == start)
		return 0;
	grove__buf_clear(&h->letters);
	for (p++; !rc && *p != ']';) {
		char letter = GROVE_BLOCK_ODD;

		if (*p == ',' || grove__json_is_space(*p)) {
			p++;
			continue;
		}
		rc = read_block(h, &p, end);
		rc = rc ? rc : letter_of_kind(h, &letter);
		rc = rc < 0 ? rc : grove__buf_add_char(&h->letters, letter);
	}
	h->blocks = rc ? grove__slice(NULL, 0) : grove__slice(start, (size_t)(p + 1 - start));
	return rc;
}

static int fill_blocks(struct heads *h, const char **p, const char *end)
{
	int rc = **p == '[' ? read_blocks(h, *p, end) : 1;

	if (rc)
		return rc;
	*p += h->blocks.len;
	rc = add_number(h, (double)h->blocks.len);
	return rc ? rc : add_text(h, grove__buf_slice(&h->letters));
}

/* Is this raw string the id of the entry's parent? */
static bool names_parent(const struct heads *h, uint32_t row, struct grove_slice raw)
{
	const struct grove__spine *s = h->v->image->spine;
	uint32_t up = grove__spine_parent(s, row);
	struct grove_slice text = plain(raw.ptr, raw.ptr + raw.len, raw.len), id;

	if (up >= h->v->nr || !text.ptr)
		return false;
	id = grove__spine_name(grove__spine_id(s, up));
	return id.len == text.len && !memcmp(id.ptr, text.ptr, id.len);
}

/*
 * Fill a hole with the value at *p and go behind it. Returns 1 if the value is none
 * for such a hole.
 */
static int fill(struct heads *h, uint32_t row, enum hole hole, const char **p, const char *end)
{
	struct grove_slice raw, text;
	enum grove__json_type type;

	if (*p >= end)
		return 1;
	if (hole == HOLE_TEXT) {
		text = plain(*p, end, KEPT);
		if (!text.ptr)
			return 1;
		*p = text.ptr + text.len + 1;
		return add_text(h, text);
	}
	if (hole == HOLE_BLOCKS)
		return fill_blocks(h, p, end);
	raw = grove__slice(*p, grove__json_skip(*p, end));
	type = grove__json_type_of(raw);
	*p += raw.len;
	switch (hole) {
	case HOLE_NUMBER:
		return type != JSON_NUMBER || raw.len > DIGITS ? 1 : add_number(h, number(raw));
	case HOLE_PARENT:
		return !names_parent(h, row, raw) ? 1
						  : add_number(h, grove__spine_parent(h->v->image->spine, row));
	case HOLE_STRANGER:
		text = plain(raw.ptr, raw.ptr + raw.len, KEPT);
		return !text.ptr || names_parent(h, row, raw) ? 1 : add_text(h, text);
	case HOLE_JSON:
		return raw.len > KEPT || type < JSON_NUMBER ? 1 : add_json(h, raw);
	case HOLE_LEFT:
		return raw.len <= KEPT ? 1 : add_number(h, (double)raw.len);
	case HOLE_CONTENT:
		return type == JSON_ARRAY ? 1 : add_number(h, (double)raw.len);
	default:
		return 1;
	}
}

/* What a row took so far is given back if a shape does not fit. */
struct place {
	size_t numbers, text_at, strings;
};

static struct place place(const struct heads *h)
{
	return (struct place){ h->numbers.len, h->text_at.len, h->strings.len };
}

static void go_back(struct heads *h, struct place to)
{
	if (h->numbers.len > to.numbers)
		grove__buf_cut(&h->numbers, to.numbers);
	if (h->text_at.len > to.text_at)
		grove__buf_cut(&h->text_at, to.text_at);
	if (h->strings.len > to.strings)
		grove__buf_cut(&h->strings, to.strings);
}

/* Returns 1 if the line does not have the shape. */
static int try_shape(struct heads *h, uint32_t row, const struct shape *s, struct grove_slice line)
{
	const char *p = line.ptr, *end = line.ptr + line.len;
	struct place start = place(h);
	int rc = 0;

	for (uint32_t i = s->first; !rc && i < s->first + s->nr; i++) {
		const struct piece *x = &h->piece[i];

		if ((size_t)(end - p) < x->len || memcmp(p, h->pieces.ptr + x->at, x->len))
			rc = 1;
		p += x->len;
		if (!rc && x->hole != HOLE_END)
			rc = fill(h, row, x->hole, &p, end);
	}
	if (!rc && p != end)
		rc = 1;
	if (rc)
		go_back(h, start);
	return rc;
}

/* ----------------------------------------------------------------- new shapes */

/* A line that is taken apart: what is known of its shape. */
struct taken {
	struct heads *h;
	uint32_t row;
	const char *from;              /* behind the last hole */
	size_t pieces, nr_pieces, spelled; /* where its own begin */
	bool odd;                      /* its members could not be rebuilt in their order */
};

static bool among(const char *const *names, struct grove_slice key)
{
	for (; *names; names++)
		if (grove__json_string_is(key, *names))
			return true;
	return false;
}

static int add_piece(struct taken *t, const char *to, enum hole hole)
{
	struct heads *h = t->h;
	size_t len = (size_t)(to - t->from);

	if (grove__array_room(&h->piece, &h->cap_pieces, h->nr_pieces, sizeof(*h->piece)))
		return GROVE_ENOMEM;
	h->piece[h->nr_pieces++] = (struct piece){ (uint32_t)h->pieces.len, (uint32_t)len, hole };
	return grove__buf_add(&h->pieces, t->from, len);
}

static int cut_hole(struct taken *t, struct grove_slice value, enum hole hole)
{
	int rc = add_piece(t, value.ptr, hole);

	t->from = value.ptr + value.len;
	return rc ? rc : grove__buf_addf(&t->h->spelled, "{\"$\":\"%s\"}", hole_names[hole]);
}

/* HOLE_END: the value is part of the shape. */
static enum hole hole_for(const struct taken *t, struct grove_slice key, struct grove_slice value,
			  bool top)
{
	const struct grove__dialect_heads *n = t->h->names;
	bool is_plain;

	switch (grove__json_type_of(value)) {
	case JSON_STRING:
		if (n->content && grove__json_string_is(key, n->content))
			return HOLE_CONTENT;
		is_plain = plain(value.ptr, value.ptr + value.len, KEPT).ptr;
		if (is_plain && value.len <= WORD && among(n->words, key))
			return HOLE_END;
		if (is_plain && top && grove__json_string_is(key, n->parent))
			return names_parent(t->h, t->row, value) ? HOLE_PARENT : HOLE_STRANGER;
		if (is_plain)
			return HOLE_TEXT;
		break;
	case JSON_NUMBER:
		if (value.len <= DIGITS)
			return HOLE_NUMBER;
		break;
	case JSON_ARRAY:
		if (n->content && grove__json_string_is(key, n->content))
			return HOLE_BLOCKS;
		break;
	case JSON_OBJECT:
		break;
	default:
		return HOLE_END;
	}
	return value.len > KEPT ? HOLE_LEFT : HOLE_JSON;
}

/*
 * JavaScript puts members that look like an index first, takes the last of two
 * with one name, and ours begin with `$`: entries with such members are handed
 * out as they are.
 */
static bool is_odd(struct grove_slice object, struct grove_slice key)
{
	struct grove_slice name = plain(key.ptr, key.ptr + key.len, WORD);
	struct grove__json_iter it;
	unsigned same = 0;

	if (!name.ptr || !name.len || *name.ptr == '$' || (*name.ptr >= '0' && *name.ptr <= '9') ||
	    grove__json_string_is(key, "__proto__"))
		return true;
	grove__json_iter_init(&it, object);
	while (grove__json_next(&it))
		same += it.key.len == key.len && !memcmp(it.key.ptr, key.ptr, key.len);
	return same != 1;
}

static int take_object(struct taken *t, struct grove_slice object, unsigned depth);

static int take_member(struct taken *t, struct grove_slice key, struct grove_slice value, unsigned depth)
{
	struct heads *h = t->h;
	enum hole hole;
	int rc = grove__buf_add_slice(&h->spelled, key);

	rc = rc ? rc : grove__buf_add_char(&h->spelled, ':');
	if (rc)
		return rc;
	if (grove__json_type_of(value) == JSON_OBJECT && depth < DEPTH && among(h->names->inside, key))
		return take_object(t, value, depth + 1);
	hole = hole_for(t, key, value, !depth);
	return hole == HOLE_END ? grove__buf_add_slice(&h->spelled, value) : cut_hole(t, value, hole);
}

/* Objects nest to DEPTH at most. */
static int take_object(struct taken *t, struct grove_slice object, unsigned depth)
{
	struct grove__json_iter it;
	bool first = true;
	int rc = grove__buf_add_char(&t->h->spelled, '{');

	grove__json_iter_init(&it, object);
	while (!rc && !t->odd && grove__json_next(&it)) {
		t->odd = is_odd(object, it.key);
		if (!first)
			rc = grove__buf_add_char(&t->h->spelled, ',');
		first = false;
		if (!rc && !t->odd)
			rc = take_member(t, it.key, it.value, depth);
	}
	return rc ? rc : grove__buf_add_char(&t->h->spelled, '}');
}

static uint32_t hash_of(const struct heads *h, const struct shape *s)
{
	const struct piece *first = &h->piece[s->first], *last = first + s->nr - 1;
	uint32_t hash = grove__crc32c(0, h->pieces.ptr + first->at, last->at + last->len - first->at);

	for (const struct piece *x = first; x <= last; x++)
		hash = hash * 31 + (uint32_t)x->hole + x->len;
	return hash;
}

static bool same_shape(const struct heads *h, const struct shape *a, const struct shape *b)
{
	const struct piece *x = &h->piece[a->first], *y = &h->piece[b->first];

	if (a->hash != b->hash || a->nr != b->nr)
		return false;
	for (uint32_t i = 0; i < a->nr; i++)
		if (x[i].hole != y[i].hole || x[i].len != y[i].len ||
		    memcmp(h->pieces.ptr + x[i].at, h->pieces.ptr + y[i].at, x[i].len))
			return false;
	return true;
}

/* Finds a shape, and enters it if it is new and there is room; else 0. */
static int enter_shape(struct heads *h, struct shape s, bool *entered, uint32_t *out)
{
	uint32_t at = s.hash % SLOTS;

	for (; h->slot[at]; at = (at + 1) % SLOTS)
		if (same_shape(h, &h->shape[h->slot[at]], &s)) {
			*out = h->slot[at];
			return 0;
		}
	*out = 0;
	if (h->nr_shapes >= SHAPES)
		return 0;
	if (grove__array_room(&h->shape, &h->cap_shapes, h->nr_shapes, sizeof(*h->shape)))
		return GROVE_ENOMEM;
	*entered = true;
	*out = h->slot[at] = (uint16_t)h->nr_shapes;
	h->shape[h->nr_shapes++] = s;
	return 0;
}

/* The shape of a line, 0 if it gets none. */
static int take_apart(struct heads *h, uint32_t row, struct grove_slice line, uint32_t *out)
{
	struct taken t = { .h = h, .row = row, .from = line.ptr, .pieces = h->pieces.len,
			   .nr_pieces = h->nr_pieces, .spelled = h->spelled.len };
	struct shape s = { .first = (uint32_t)h->nr_pieces };
	bool entered = false;
	int rc;

	*out = 0;
	if (grove__json_type_of(line) != JSON_OBJECT)
		return 0;
	rc = grove__buf_add_char(&h->spelled, ',');
	rc = rc ? rc : take_object(&t, line, 0);
	rc = rc ? rc : add_piece(&t, line.ptr + line.len, HOLE_END);
	if (!rc && !t.odd) {
		s.nr = (uint32_t)h->nr_pieces - s.first;
		s.hash = hash_of(h, &s);
		rc = enter_shape(h, s, &entered, out);
	}
	if (!entered) {
		grove__buf_cut(&h->pieces, t.pieces);
		grove__buf_cut(&h->spelled, t.spelled);
		h->nr_pieces = t.nr_pieces;
	}
	return rc;
}

/* ----------------------------------------------------------------------- rows */

/* The one that was used is the first to be tried next time. */
static void remember(struct heads *h, unsigned at, uint32_t shape)
{
	memmove(h->recent + 1, h->recent, at * sizeof(*h->recent));
	h->recent[0] = (uint16_t)shape;
}

/*
 * A shape that was used of late and fits: first the one that came after the last
 * one before, since prompts, calls and results take turns. Returns 1 if none does.
 */
static int try_recent(struct heads *h, uint32_t row, struct grove_slice line, uint32_t *out)
{
	uint16_t then = h->shape[h->last].then;
	int rc = then ? try_shape(h, row, &h->shape[then], line) : 1;

	*out = then;
	for (unsigned i = 0; rc == 1 && i < RECENT && h->recent[i]; i++) {
		if (h->recent[i] == then)
			continue;
		*out = h->recent[i];
		rc = try_shape(h, row, &h->shape[*out], line);
		if (!rc)
			remember(h, i, *out);
	}
	return rc;
}

static int add_row(struct heads *h, uint32_t row, struct grove_slice line)
{
	uint32_t about[3] = { 0, (uint32_t)(h->numbers.len / sizeof(double)),
			      (uint32_t)(h->text_at.len / sizeof(uint32_t)) };
	int rc;

	h->blocks.ptr = NULL;
	rc = try_recent(h, row, line, &about[0]);
	if (rc == 1) {
		rc = take_apart(h, row, line, &about[0]);
		if (!rc && about[0]) {
			rc = try_shape(h, row, &h->shape[about[0]], line);
			remember(h, RECENT - 1, about[0]);
		}
	}
	h->shape[h->last].then = (uint16_t)about[0];
	h->last = (uint16_t)about[0];
	for (unsigned i = 0; !rc && i < 3; i++)
		rc = grove__buf_add(&h->rows[i], &about[i], sizeof(about[i]));
	return rc;
}

/* A line that cannot be held in memory is one that is not taken apart. */
static bool too_long(const struct heads *h, uint32_t row)
{
	return grove__spine_len(h->v->image->spine, row) > GROVE__LINE_MAX;
}

/* Rows that can be read, from `from` on; then at most one that cannot. */
static int add_rows(struct heads *h, uint32_t from, uint32_t to, uint32_t *next, struct grove_detail *d)
{
	struct grove__rows rows;
	struct grove_slice line;
	uint32_t row, end = from;
	int rc = 0;

	while (end < to && !too_long(h, end))
		end++;
	grove__rows_init(&rows, h->v->image, h->v->log, NULL, end);
	rows.i = from;
	while (!rc && !(rc = grove__rows_next(&rows, &row, &line, d)))
		rc = add_row(h, row, line);
	grove__rows_release(&rows);
	rc = rc == 1 ? 0 : rc;
	if (!rc && end < to)
		rc = add_row(h, end++, grove__slice("", 0));
	*next = end;
	return rc;
}

/* --------------------------------------------------------------------- the block */

static void *lay(char **p, const struct grove_buf *b)
{
	void *at = *p;

	if (b->len)
		memcpy(at, b->ptr, b->len);
	*p += (b->len + 1 + 7) & ~(size_t)7;
	return at;
}

/* All of it behind one header; what is widest comes first. */
static int hand_out(struct heads *h, struct grove_heads **out)
{
	struct grove_buf *all[] = { &h->numbers, &h->rows[0], &h->rows[1], &h->rows[2], &h->text_at,
				    &h->strings, &h->spelled, &h->kinds };
	size_t len = sizeof(**out) + 7;
	struct grove_heads *g;
	char *p;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		len += all[i]->len + 8;
	g = calloc(1, len);
	if (!g)
		return GROVE_ENOMEM;
	p = (char *)g + ((sizeof(*g) + 7) & ~(size_t)7);
	g->block = p;
	g->nr = (uint32_t)(h->rows[0].len / sizeof(uint32_t));
	g->nr_shapes = (uint32_t)h->nr_shapes;
	g->nr_numbers = h->numbers.len / sizeof(double);
	g->nr_texts = h->text_at.len / sizeof(uint32_t) - 1;
	g->numbers = lay(&p, &h->numbers);
	g->shape = lay(&p, &h->rows[0]);
	g->number = lay(&p, &h->rows[1]);
	g->text = lay(&p, &h->rows[2]);
	g->text_at = lay(&p, &h->text_at);
	g->strings = lay(&p, &h->strings);
	g->strings_len = h->strings.len;
	g->shapes = grove__slice(lay(&p, &h->spelled), h->spelled.len);
	g->nr_blocks = h->nr_kinds;
	g->blocks = grove__slice(lay(&p, &h->kinds), h->kinds.len);
	g->block_len = (size_t)(p - (const char *)g->block);
	*out = g;
	return 0;
}

/* For agents that say nothing about it: every value is a hole. */
static const char *const no_names[] = { NULL };
static const struct grove__dialect_heads no_heads = {
	.inside = no_names,
	.words = no_names,
	.parent = "",
};

static void release(struct heads *h)
{
	struct grove_buf *all[] = { &h->pieces, &h->spelled, &h->rows[0], &h->rows[1], &h->rows[2],
				    &h->numbers, &h->text_at, &h->strings, &h->letters, &h->kinds, &h->kind };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		grove__buf_release(all[i]);
	free(h->piece);
	free(h->shape);
	free(h);
}

int grove__view_heads(struct grove_view *v, uint32_t from, uint32_t to, struct grove_heads **out,
		      struct grove_detail *d)
{
	struct heads *h = calloc(1, sizeof(*h));
	int rc;

	*out = NULL;
	if (!h)
		return grove__fail_nomem(d);
	h->v = v;
	h->names = v->image->dialect->heads ? v->image->dialect->heads : &no_heads;
	rc = grove__array_room(&h->shape, &h->cap_shapes, 0, sizeof(*h->shape));
	if (!rc) {
		h->shape[h->nr_shapes++] = (struct shape){ 0 };
		rc = grove__buf_add_str(&h->spelled, "[{\"$\":\"line\"}");
		rc = rc ? rc : grove__buf_add_char(&h->kinds, '[');
	}
	while (!rc && from < to)
		rc = add_rows(h, from, to, &from, d);
	rc = rc ? rc : begin_text(h);
	rc = rc ? rc : grove__buf_add_char(&h->spelled, ']');
	rc = rc ? rc : grove__buf_add_char(&h->kinds, ']');
	rc = rc ? rc : hand_out(h, out);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	else if (rc == GROVE_ETOOBIG)
		grove__fail(d, rc, NULL, "the heads of so many entries have over 4 GiB of text: ask for fewer");
	release(h);
	return rc;
}
