/*
 * view/heads.c: entries without their long values, in one block.
 *
 * Entries of one kind differ in a few values only. What they have in common, the
 * names of their members and the words that repeat, is their shape; the rest are
 * holes, filled by numbers and texts:
 *
 *	line     {"type":"label","id":"a1","parentId":"a0","targetId":"9f","label":"x"}
 *	pieces    {"type":"label","id":|   |,"parentId":|    |,"targetId":|   |,"label":|  |}
 *	holes                          text            parent            text         text
 *
 * Shapes form a tree of pieces. A line is compared with the tree from the root down, trying the
 * piece that was used last first. Where a piece matches, the value of its hole is copied out;
 * nothing else is parsed. Only a line that fits no shape is taken apart, which adds a new shape.
 * The blocks of a message's content have shapes of the same kind.
 */
#include "view/heads.h"

#include "base/array.h"
#include "base/utf8.h"
#include "js/js.h"
#include "json/escape.h"
#include "json/value.h"

#include <stdlib.h>

enum {
	KEPT = 128,            /* the longest value that is returned, in bytes … */
	WORD = 64,             /* … the longest word that can be part of a shape */
	SHORT = 48,            /* … the longest text in a block that is returned */
	DIGITS = 64,           /* … and the longest number that is parsed */
	EXACT = 15,            /* digits that a double represents exactly */
	DEPTH = 8,             /* the deepest nesting of objects that are opened */
	SHAPES = 1024,         /* entries that would need more are returned as lines … */
	PIECES = 512,          /* … and so are entries with more pieces */
	TRIED = 32,            /* the number of pieces tried at one place */
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
	HOLE_CONTENT,          /* content that is not a list, however short */
	HOLE_BLOCKS,
	HOLE_SHORT,            /* in a block: a short text */
	HOLE_MEMBER            /* and anything else */
};

static const char *const hole_names[] = {
	[HOLE_TEXT] = "text",     [HOLE_NUMBER] = "number", [HOLE_PARENT] = "parent",
	[HOLE_STRANGER] = "text", [HOLE_JSON] = "json",     [HOLE_LEFT] = "left",
	[HOLE_CONTENT] = "left",  [HOLE_BLOCKS] = "blocks", [HOLE_SHORT] = "text",
	[HOLE_MEMBER] = "left",
};

/* Bytes that must match, and the hole after them. */
struct piece {
	uint32_t at, len;      /* in `pieces` */
	enum hole hole;
};

/*
 * All shapes of one sort, as a tree. Shapes that begin alike share their first pieces, so that a
 * line is compared with each piece only once.
 */
struct node {
	struct piece piece;
	uint32_t child;        /* the first piece that may follow; 0: this is the last one */
	uint32_t next;         /* an alternative to this piece; 0: none */
	uint32_t shape;        /* of the last piece: the number of the shape */
};

struct shapes {
	uint32_t root, nr, max;    /* shapes are numbered from 1 */
	bool to_end;               /* nothing may follow the object */
	struct grove_buf spelled;  /* a JSON array, one after the other */
};

struct heads {
	struct grove_view *v;
	const struct grove__dialect_heads *names;
	/* the shapes found so far; entries that are not taken apart have shape 0 */
	struct shapes lines, blocks;
	struct node *node;             /* the first is unused */
	size_t nr_nodes, cap_nodes;
	struct grove_buf pieces;
	struct piece *taken;           /* of the line that is taken apart */
	size_t nr_taken, cap_taken;
	/* the list of blocks in this line: a character for each, and their texts */
	struct grove_buf letters, texts;
	/* the result */
	struct grove_buf rows[3];      /* uint32_t: shape, first number, first text */
	struct grove_buf numbers;      /* double */
	struct grove_buf text_at;      /* uint32_t */
	struct grove_buf strings;
};

/* ------------------------------------------------------------- what fills holes */

/*
 * Returns the text of a raw string of plain ASCII without escapes; ptr is NULL if it is not that,
 * or too long.
 */
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

/* Writes the same value with everything but ASCII escaped. */
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

/*
 * Reads the number at *p and moves past it. Most are whole numbers, which need hardly any
 * arithmetic. Returns false if it is not a number, or has too many digits.
 */
static bool read_number(const char **p, const char *end, double *out)
{
	const char *q = *p;
	uint64_t n = 0;
	size_t len;

	while (q < end && q - *p < EXACT && *q >= '0' && *q <= '9')
		n = n * 10 + (uint64_t)(*q++ - '0');
	if (q > *p && q < end && (*q == ',' || *q == '}')) {
		*p = q;
		*out = (double)n;
		return true;
	}
	len = grove__json_skip(*p, end);
	if (grove__json_type_of(grove__slice(*p, len)) != JSON_NUMBER || len > DIGITS)
		return false;
	*out = grove__json_number(grove__slice(*p, len));
	*p += len;
	return true;
}

static int match(struct heads *h, struct shapes *s, uint32_t row, const char **p, const char *end,
		 uint32_t *shape);
static int take_and_match(struct heads *h, struct shapes *s, uint32_t row, struct grove_slice object,
			  uint32_t *shape);

/* Finds the shape of the block at *p, and its texts; moves *p past the block. 0: it has no shape. */
static int read_block(struct heads *h, uint32_t row, const char **p, const char *end, uint32_t *shape)
{
	size_t len;
	int rc = match(h, &h->blocks, row, p, end, shape);

	if (rc != 1)
		return rc;
	len = grove__json_skip(*p, end);
	rc = take_and_match(h, &h->blocks, row, grove__slice(*p, len), shape);
	*p += len;
	return rc;
}

/* Reads the list at *p: one character for each block in it. */
static int read_blocks(struct heads *h, uint32_t row, const char **p, const char *end)
{
	uint32_t shape;
	int rc = 0;

	grove__buf_clear(&h->letters);
	grove__buf_clear(&h->texts);
	for (++*p; !rc && **p != ']';) {
		if (**p == ',' || grove__json_is_space(**p)) {
			++*p;
			continue;
		}
		rc = read_block(h, row, p, end, &shape);
		rc = rc ? rc
			: grove__buf_add_char(&h->letters, shape ? (char)(GROVE_BLOCK_FIRST + shape - 1)
								 : (char)GROVE_BLOCK_ODD);
	}
	++*p;
	return rc;
}

static int fill_blocks(struct heads *h, uint32_t row, const char **p, const char *end)
{
	const char *start = *p;
	int rc = *start == '[' ? read_blocks(h, row, p, end) : 1;

	rc = rc ? rc : add_number(h, (double)(*p - start));
	return rc ? rc : add_text(h, grove__buf_slice(&h->letters));
}

/* Adds a text of a block, which comes after those of the entry itself. */
static int fill_short(struct heads *h, const char **p, const char *end)
{
	struct grove_slice text = plain(*p, end, SHORT);

	if (!text.ptr)
		return 1;
	*p = text.ptr + text.len + 1;
	return grove__buf_add(&h->texts, &text, sizeof(text));
}

static int add_block_texts(struct heads *h)
{
	const char *p = h->texts.ptr, *end = p + h->texts.len;
	int rc = 0;

	for (; !rc && p < end; p += sizeof(struct grove_slice)) {
		struct grove_slice text;

		memcpy(&text, p, sizeof(text));
		rc = add_text(h, text);
	}
	return rc;
}

/* Returns true if this is the id of the entry's parent. */
static bool names_parent(const struct heads *h, uint32_t row, struct grove_slice text)
{
	const struct grove__spine *s = h->v->image->spine;
	uint32_t up = grove__spine_parent(s, row);
	struct grove_slice id;

	if (up >= h->v->nr)
		return false;
	id = grove__spine_name(grove__spine_id(s, up));
	return id.len == text.len && !memcmp(id.ptr, text.ptr, id.len);
}

static int fill_text(struct heads *h, uint32_t row, enum hole hole, const char **p, const char *end)
{
	struct grove_slice text = plain(*p, end, KEPT);

	if (!text.ptr || (hole != HOLE_TEXT && names_parent(h, row, text) != (hole == HOLE_PARENT)))
		return 1;
	*p = text.ptr + text.len + 1;
	return hole == HOLE_PARENT ? add_number(h, grove__spine_parent(h->v->image->spine, row)) : add_text(h, text);
}

static int fill_value(struct heads *h, enum hole hole, const char **p, const char *end)
{
	struct grove_slice raw = grove__slice(*p, grove__json_skip(*p, end));
	enum grove__json_type type = grove__json_type_of(raw);

	*p += raw.len;
	if (hole == HOLE_JSON)
		return raw.len > KEPT || type < JSON_NUMBER ? 1 : add_json(h, raw);
	if (hole == HOLE_LEFT ? raw.len <= KEPT : type == JSON_ARRAY)
		return 1;
	return add_number(h, (double)raw.len);
}

/*
 * Fills a hole with the value at *p and moves past it. Returns 1 if the value does not fit the
 * hole.
 */
static int fill(struct heads *h, uint32_t row, enum hole hole, const char **p, const char *end)
{
	double d;

	if (*p >= end)
		return 1;
	switch (hole) {
	case HOLE_NUMBER:
		return read_number(p, end, &d) ? add_number(h, d) : 1;
	case HOLE_TEXT:
	case HOLE_PARENT:
	case HOLE_STRANGER:
		return fill_text(h, row, hole, p, end);
	case HOLE_BLOCKS:
		return fill_blocks(h, row, p, end);
	case HOLE_SHORT:
		return fill_short(h, p, end);
	case HOLE_MEMBER:
		*p += grove__json_skip(*p, end);
		return 0;
	default:
		return fill_value(h, hole, p, end);
	}
}

/* ------------------------------------------------------------ which shape it is */

/* Restores the earlier state if a shape does not fit. */
struct place {
	size_t numbers, text_at, strings, texts;
};

static struct place place_now(const struct heads *h)
{
	return (struct place){ h->numbers.len, h->text_at.len, h->strings.len, h->texts.len };
}

static void go_back(struct heads *h, struct place to)
{
	grove__buf_cut(&h->numbers, to.numbers);
	grove__buf_cut(&h->text_at, to.text_at);
	grove__buf_cut(&h->strings, to.strings);
	grove__buf_cut(&h->texts, to.texts);
}

/* Returns the list of pieces that may follow a node; for 0, of those that may come first. */
static uint32_t *list_below(struct heads *h, struct shapes *s, uint32_t node)
{
	return node ? &h->node[node].child : &s->root;
}

/* Moves the piece that was just used to the front, so that it is tried first next time. */
static void move_to_front(struct heads *h, uint32_t *list, uint32_t before, uint32_t at)
{
	if (!before)
		return;
	h->node[before].next = h->node[at].next;
	h->node[at].next = *list;
	*list = at;
}

/*
 * Goes down from a node to the end of a shape that fits at *p. No shape has more than PIECES
 * pieces.
 */
static int match_below(struct heads *h, struct shapes *s, uint32_t row, uint32_t node, const char **p,
		       const char *end, uint32_t *shape)
{
	uint32_t before = 0, at = *list_below(h, s, node);
	struct place start = place_now(h);

	for (unsigned i = 0; at && i < TRIED; i++, before = at, at = h->node[at].next) {
		/* a copy, because filling it may add nodes */
		const struct piece x = h->node[at].piece;
		const char *q = *p + x.len;
		int rc;

		if ((size_t)(end - *p) < x.len || memcmp(*p, h->pieces.ptr + x.at, x.len))
			continue;
		if (x.hole == HOLE_END) {
			rc = s->to_end && q != end;
			*shape = h->node[at].shape;
		} else {
			rc = fill(h, row, x.hole, &q, end);
			rc = rc ? rc : match_below(h, s, row, at, &q, end, shape);
		}
		if (rc == 1) {
			go_back(h, start);
			continue;
		}
		move_to_front(h, list_below(h, s, node), before, at);
		*p = q;
		return rc;
	}
	return 1;
}

/*
 * Finds the shape of what begins at *p and fills its holes. Returns 1, without moving *p, if no
 * shape fits.
 */
static int match(struct heads *h, struct shapes *s, uint32_t row, const char **p, const char *end,
		 uint32_t *shape)
{
	return match_below(h, s, row, 0, p, end, shape);
}

/* ----------------------------------------------------------------- new shapes */

/* A line or a block that is being taken apart. */
struct taken {
	struct heads *h;
	struct shapes *shapes;
	uint32_t row;
	const char *from;              /* after the last hole */
	bool has_blocks;
	bool odd; /* its members could not be put back together in the same order */
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

	if (grove__array_room(&h->taken, &h->cap_taken, h->nr_taken, sizeof(*h->taken)))
		return GROVE_ENOMEM;
	h->taken[h->nr_taken++] = (struct piece){ (uint32_t)h->pieces.len, (uint32_t)len, hole };
	return grove__buf_add(&h->pieces, t->from, len);
}

static int cut_hole(struct taken *t, struct grove_slice value, enum hole hole)
{
	int rc = add_piece(t, value.ptr, hole);

	t->from = value.ptr + value.len;
	return rc ? rc : grove__buf_addf(&t->shapes->spelled, "{\"$\":\"%s\"}", hole_names[hole]);
}

/* Only the type of a block is part of the shape. */
static enum hole hole_in_block(const struct taken *t, struct grove_slice key, struct grove_slice value)
{
	const char *type = t->h->names->block_type;
	const char *end = value.ptr + value.len;

	if (type && grove__json_string_is(key, type) && plain(value.ptr, end, KEPT).ptr)
		return HOLE_END;
	return plain(value.ptr, end, SHORT).ptr ? HOLE_SHORT : HOLE_MEMBER;
}

/* HOLE_END: the value is part of the shape. */
static enum hole hole_for(struct taken *t, struct grove_slice key, struct grove_slice value, bool top)
{
	const struct grove__dialect_heads *n = t->h->names;
	struct grove_slice text;

	if (t->shapes == &t->h->blocks)
		return hole_in_block(t, key, value);
	switch (grove__json_type_of(value)) {
	case JSON_STRING:
		if (n->content && grove__json_string_is(key, n->content))
			return HOLE_CONTENT;
		text = plain(value.ptr, value.ptr + value.len, KEPT);
		if (text.ptr && value.len <= WORD && among(n->words, key))
			return HOLE_END;
		if (text.ptr && top && grove__json_string_is(key, n->parent))
			return names_parent(t->h, t->row, text) ? HOLE_PARENT : HOLE_STRANGER;
		if (text.ptr)
			return HOLE_TEXT;
		break;
	case JSON_NUMBER:
		if (value.len <= DIGITS)
			return HOLE_NUMBER;
		break;
	case JSON_ARRAY:
		/* only one list per entry, since nothing says which list a text belongs to */
		if (n->content && !t->has_blocks && grove__json_string_is(key, n->content)) {
			t->has_blocks = true;
			return HOLE_BLOCKS;
		}
		break;
	case JSON_OBJECT:
		break;
	default:
		return HOLE_END;
	}
	return value.len > KEPT ? HOLE_LEFT : HOLE_JSON;
}

/*
 * JavaScript moves members that look like an index to the front and keeps only the last of two
 * with the same name, and our own markers begin with `$`. Entries with any such members are
 * returned as lines.
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
	int rc = grove__buf_add_slice(&t->shapes->spelled, key);

	rc = rc ? rc : grove__buf_add_char(&t->shapes->spelled, ':');
	if (rc)
		return rc;
	if (grove__json_type_of(value) == JSON_OBJECT && t->shapes == &h->lines && depth < DEPTH &&
	    among(h->names->inside, key))
		return take_object(t, value, depth + 1);
	hole = hole_for(t, key, value, !depth);
	return hole == HOLE_END ? grove__buf_add_slice(&t->shapes->spelled, value) : cut_hole(t, value, hole);
}

/* Objects nest to DEPTH at most. */
static int take_object(struct taken *t, struct grove_slice object, unsigned depth)
{
	struct grove__json_iter it;
	bool first = true;
	int rc = grove__buf_add_char(&t->shapes->spelled, '{');

	grove__json_iter_init(&it, object);
	while (!rc && !t->odd && grove__json_next(&it)) {
		t->odd = is_odd(object, it.key);
		if (!first)
			rc = grove__buf_add_char(&t->shapes->spelled, ',');
		first = false;
		if (!rc && !t->odd)
			rc = take_member(t, it.key, it.value, depth);
	}
	return rc ? rc : grove__buf_add_char(&t->shapes->spelled, '}');
}

static bool same_piece(const struct heads *h, const struct piece *a, const struct piece *b)
{
	return a->hole == b->hole && a->len == b->len &&
	       !memcmp(h->pieces.ptr + a->at, h->pieces.ptr + b->at, a->len);
}

/*
 * Moves to the node with this piece, adding it if necessary. Returns 1 if there is no room for
 * it.
 */
static int enter_piece(struct heads *h, struct shapes *s, const struct piece *piece, uint32_t *node)
{
	uint32_t before = 0, at = *list_below(h, s, *node);

	while (at && !same_piece(h, &h->node[at].piece, piece)) {
		before = at;
		at = h->node[at].next;
	}
	if (at) {
		move_to_front(h, list_below(h, s, *node), before, at);
	} else {
		if (s->nr == s->max)
			return 1;
		if (grove__array_room(&h->node, &h->cap_nodes, h->nr_nodes, sizeof(*h->node)))
			return GROVE_ENOMEM;
		at = (uint32_t)h->nr_nodes++;
		h->node[at] = (struct node){ .piece = *piece, .next = *list_below(h, s, *node) };
		*list_below(h, s, *node) = at;
	}
	*node = at;
	return 0;
}

/* Adds the shape of what was taken apart, unless it exists already. */
static int enter_shape(struct heads *h, struct shapes *s, uint32_t *out)
{
	uint32_t node = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < h->nr_taken; i++)
		rc = enter_piece(h, s, &h->taken[i], &node);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!h->node[node].shape)
		h->node[node].shape = ++s->nr;
	*out = h->node[node].shape;
	return 0;
}

/* Takes an object apart and returns its shape; 0: it cannot have one. */
static int take_apart(struct heads *h, struct shapes *s, uint32_t row, struct grove_slice object,
		      uint32_t *out)
{
	struct taken t = { .h = h, .shapes = s, .row = row, .from = object.ptr };
	size_t pieces = h->pieces.len, spelled = s->spelled.len;
	uint32_t known = s->nr;
	int rc;

	*out = 0;
	h->nr_taken = 0;
	if (grove__json_type_of(object) != JSON_OBJECT)
		return 0;
	rc = s->spelled.len > 1 ? grove__buf_add_char(&s->spelled, ',') : 0;
	rc = rc ? rc : take_object(&t, object, 0);
	rc = rc ? rc : add_piece(&t, object.ptr + object.len, HOLE_END);
	rc = rc || t.odd || h->nr_taken > PIECES ? rc : enter_shape(h, s, out);
	if (s->nr == known) {
		grove__buf_cut(&h->pieces, pieces);
		grove__buf_cut(&s->spelled, spelled);
	}
	return rc;
}

/* The same with its holes filled. */
static int take_and_match(struct heads *h, struct shapes *s, uint32_t row, struct grove_slice object,
			  uint32_t *shape)
{
	const char *p = object.ptr;
	int rc = take_apart(h, s, row, object, shape);

	if (rc || !*shape)
		return rc;
	rc = match(h, s, row, &p, object.ptr + object.len, shape);
	/*
	 * the shape that was just added is tried first and fits; if it did not, the entry would
	 * be returned as a line
	 */
	if (rc == 1)
		*shape = 0;
	return rc < 0 ? rc : 0;
}

/* ----------------------------------------------------------------------- rows */

static int add_row(struct heads *h, uint32_t row, struct grove_slice line)
{
	const char *p = line.ptr, *end = line.ptr + line.len;
	/* its shape, and where its numbers and texts, which are added next, begin */
	uint32_t about[] = { 0, (uint32_t)(h->numbers.len / sizeof(double)),
			     (uint32_t)(h->text_at.len / sizeof(uint32_t)) };
	int rc;

	grove__buf_clear(&h->texts);
	rc = match(h, &h->lines, row, &p, end, &about[0]);
	if (rc == 1)
		rc = take_and_match(h, &h->lines, row, line, &about[0]);
	rc = rc || !about[0] ? rc : add_block_texts(h);
	for (unsigned i = 0; !rc && i < 3; i++)
		rc = grove__buf_add(&h->rows[i], &about[i], sizeof(about[i]));
	return rc;
}

/* A line that is too long for memory is not taken apart. */
static bool too_long(const struct heads *h, uint32_t row)
{
	return grove__spine_len(h->v->image->spine, row) > GROVE__LINE_MAX;
}

/* ------------------------------------------------------------------ all of them */

static int add_readable(struct heads *h, uint32_t from, uint32_t to, struct grove_detail *d)
{
	uint32_t *list = malloc((to - from + 1u) * sizeof(*list)), row;
	struct grove__rows rows;
	struct grove_slice line;
	int rc = 0;

	if (!list)
		return GROVE_ENOMEM;
	for (row = from; row < to; row++)
		list[row - from] = row;
	grove__rows_init(&rows, h->v->image, h->v->log, list, to - from);
	while (!rc && !(rc = grove__rows_next(&rows, &row, &line, d)))
		rc = add_row(h, row, line);
	grove__rows_release(&rows);
	free(list);
	return rc == 1 ? 0 : rc;
}

/* Adds the rows from `from` on, up to and including the first that is too long to be read. */
static int add_rows(struct heads *h, uint32_t from, uint32_t to, uint32_t *next, struct grove_detail *d)
{
	uint32_t end = from;
	int rc;

	while (end < to && !too_long(h, end))
		end++;
	rc = add_readable(h, from, end, d);
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

/* Puts everything into one block after a header, the widest elements first. */
static int hand_out(struct heads *h, struct grove_heads **out)
{
	struct grove_buf *all[] = { &h->numbers, &h->rows[0], &h->rows[1], &h->rows[2], &h->text_at,
				    &h->strings, &h->lines.spelled, &h->blocks.spelled };
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
	g->nr_shapes = h->lines.nr + 1;
	g->nr_numbers = h->numbers.len / sizeof(double);
	g->nr_texts = h->text_at.len / sizeof(uint32_t) - 1;
	g->numbers = lay(&p, &h->numbers);
	g->shape = lay(&p, &h->rows[0]);
	g->number = lay(&p, &h->rows[1]);
	g->text = lay(&p, &h->rows[2]);
	g->text_at = lay(&p, &h->text_at);
	g->strings = lay(&p, &h->strings);
	g->strings_len = h->strings.len;
	g->shapes = grove__slice(lay(&p, &h->lines.spelled), h->lines.spelled.len);
	g->nr_blocks = h->blocks.nr;
	g->blocks = grove__slice(lay(&p, &h->blocks.spelled), h->blocks.spelled.len);
	g->block_len = (size_t)(p - (const char *)g->block);
	*out = g;
	return 0;
}

/* For agents without such a table, every value is a hole. */
static const char *const no_names[] = { NULL };
static const struct grove__dialect_heads no_heads = {
	.inside = no_names,
	.words = no_names,
	.parent = "",
};

static void release(struct heads *h)
{
	struct grove_buf *all[] = { &h->pieces, &h->lines.spelled, &h->blocks.spelled, &h->rows[0], &h->rows[1],
				    &h->rows[2], &h->numbers, &h->text_at, &h->strings, &h->letters, &h->texts };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		grove__buf_release(all[i]);
	free(h->taken);
	free(h->node);
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
	h->lines = (struct shapes){ .max = SHAPES - 1, .to_end = true };
	h->blocks = (struct shapes){ .max = BLOCK_KINDS };
	rc = grove__array_room(&h->node, &h->cap_nodes, h->nr_nodes++, sizeof(*h->node));
	rc = rc ? rc : grove__buf_add_str(&h->lines.spelled, "[{\"$\":\"line\"}");
	rc = rc ? rc : grove__buf_add_char(&h->blocks.spelled, '[');
	while (!rc && from < to)
		rc = add_rows(h, from, to, &from, d);
	rc = rc ? rc : begin_text(h);
	rc = rc ? rc : grove__buf_add_char(&h->lines.spelled, ']');
	rc = rc ? rc : grove__buf_add_char(&h->blocks.spelled, ']');
	rc = rc ? rc : hand_out(h, out);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	else if (rc == GROVE_ETOOBIG)
		grove__fail(d, rc, NULL, "the heads have over 4 GiB of text: ask for fewer entries");
	release(h);
	return rc;
}
