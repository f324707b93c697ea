/*
 * view/brief.c: an entry with references in place of its long texts and images.
 */
#include "view/heads.h"

#include "js/js.h"
#include "json/out.h"
#include "json/value.h"

#include <stdio.h>

/* How many bytes at the start of an image are searched for its size. */
#define IMAGE_HEAD 65536u
/* Ids and times are texts too: anything this short stays. */
#define TEXT_MIN 128u

struct brief {
	struct grove_buf *out;
	const char *done;        /* everything before this has been copied */
	struct grove_slice id;
	uint64_t max_text;       /* 0: texts stay */
	bool pointers;           /* references to texts say where in the entry they are */
	const struct grove__dialect_heads *names;  /* NULL: images stay */
	unsigned media;          /* images so far */
	/* The path to the current value: the raw key of a member, or the index of an item. */
	struct { struct grove_slice key; uint32_t index; } at[GROVE__BRIEF_DEPTH];
	struct grove_buf text;
};

/* Copies what is before a value that is replaced, and begins its reference. */
static int begin_reference(struct brief *b, struct grove_slice value, struct grove__out *o)
{
	int rc = grove__buf_add(b->out, b->done, (size_t)(value.ptr - b->done));

	b->done = value.ptr + value.len;
	grove__out_init_buf(o, b->out);
	grove__out_open(o, NULL, '{');
	return rc;
}

/* One name of a JSON pointer, with its escapes. */
static int add_name(struct grove_buf *pointer, struct grove_slice name)
{
	int rc = grove__buf_add_char(pointer, '/');

	for (size_t i = 0; i < name.len && !rc; i++)
		if (name.ptr[i] == '~' || name.ptr[i] == '/')
			rc = grove__buf_add_str(pointer, name.ptr[i] == '~' ? "~0" : "~1");
		else
			rc = grove__buf_add_char(pointer, name.ptr[i]);
	return rc;
}

static int make_pointer(struct brief *b, unsigned depth, struct grove_buf *out)
{
	struct grove_buf name = GROVE_BUF_INIT;
	char digits[16];
	int rc = 0;

	for (unsigned i = 0; i < depth && !rc; i++) {
		grove__buf_clear(&name);
		if (b->at[i].key.ptr) {
			rc = grove__json_text(&name, b->at[i].key);
		} else {
			snprintf(digits, sizeof(digits), "%u", b->at[i].index);
			rc = grove__buf_add_str(&name, digits);
		}
		rc = rc ? rc : add_name(out, grove__buf_slice(&name));
	}
	grove__buf_release(&name);
	return rc;
}

static int refer_to_text(struct brief *b, struct grove_slice string, unsigned depth)
{
	struct grove_buf pointer = GROVE_BUF_INIT;
	struct grove__out o;
	int rc = b->pointers ? make_pointer(b, depth, &pointer) : 0;

	rc = rc ? rc : begin_reference(b, string, &o);
	if (!rc) {
		grove__out_slice(&o, "$ref", b->id);
		if (b->pointers)
			grove__out_slice(&o, "pointer", grove__buf_slice(&pointer));
		grove__out_number(&o, "bytes", b->text.len);
		grove__out_close(&o, '}');
		rc = grove__out_finish(&o);
	}
	grove__buf_release(&pointer);
	return rc;
}

/* Returns the number of bytes that base64 text encodes. */
static size_t decoded_len(struct grove_slice base64)
{
	while (base64.len && base64.ptr[base64.len - 1] == '=')
		base64.len--;
	return base64.len / 4 * 3 + (base64.len % 4 * 3) / 4;
}

static int refer_to_media(struct brief *b, struct grove_slice string)
{
	struct grove_slice base64;
	struct grove_buf head = GROVE_BUF_INIT;
	struct grove__out o;
	const char *type;
	unsigned w, h;
	int rc;

	grove__buf_clear(&b->text);
	rc = grove__json_text(&b->text, string);
	base64 = grove__buf_slice(&b->text);
	if (!rc)
		rc = grove__js_base64_decode(&head, grove__slice(base64.ptr, base64.len < IMAGE_HEAD ? base64.len
												  : IMAGE_HEAD));
	rc = rc ? rc : begin_reference(b, string, &o);
	if (!rc) {
		type = grove__media_type(grove__buf_slice(&head));
		grove__out_number(&o, "$media", b->media++);
		grove__out_string(&o, "type", type);
		grove__out_number(&o, "bytes", decoded_len(base64));
		if (grove__media_size(type, grove__buf_slice(&head), &w, &h)) {
			grove__out_number(&o, "width", w);
			grove__out_number(&o, "height", h);
		}
		grove__out_close(&o, '}');
		rc = grove__out_finish(&o);
	}
	grove__buf_release(&head);
	return rc;
}

/* Escapes only make a string longer: if its raw form is short, so is the text. */
static int look_at_text(struct brief *b, struct grove_slice string, unsigned depth)
{
	int rc;

	if (!b->max_text || string.len - 2 <= b->max_text)
		return 0;
	grove__buf_clear(&b->text);
	rc = grove__json_text(&b->text, string);
	return rc || b->text.len <= b->max_text ? rc : refer_to_text(b, string, depth);
}

/* Images are counted in the order of grove__media_find(). */
static int shorten_value(struct brief *b, struct grove_slice value, unsigned depth)
{
	struct grove_slice image = { NULL, 0 };
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(value) == JSON_STRING)
		return look_at_text(b, value, depth);
	if (grove__json_type_of(value) == JSON_OBJECT && b->names)
		image = b->names->media(value);
	if (image.ptr)
		return refer_to_media(b, image);
	if (depth >= GROVE__BRIEF_DEPTH || grove__json_type_of(value) < JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, value);
	for (uint32_t i = 0; !rc && grove__json_next(&it); i++) {
		b->at[depth].key = it.object ? it.key : grove__slice(NULL, 0);
		b->at[depth].index = i;
		rc = shorten_value(b, it.value, depth + 1);
	}
	return rc;
}

static int shorten(struct brief *b, struct grove_slice value)
{
	int rc;

	b->done = value.ptr;
	if (b->max_text && b->max_text < TEXT_MIN)
		b->max_text = TEXT_MIN;
	rc = shorten_value(b, value, 0);
	if (!rc)
		rc = grove__buf_add(b->out, b->done, (size_t)(value.ptr + value.len - b->done));
	grove__buf_release(&b->text);
	return rc;
}

int grove__brief_entry(struct grove_buf *out, struct grove_slice value, struct grove_slice id,
		       uint64_t max_text, const struct grove__dialect_heads *media)
{
	struct brief b = { .out = out, .id = id, .max_text = max_text, .pointers = true,
			   .names = media && media->media ? media : NULL };

	return shorten(&b, value);
}

int grove__brief_value(struct grove_buf *out, struct grove_slice value, struct grove_slice id, uint64_t max_text)
{
	struct brief b = { .out = out, .id = id, .max_text = max_text };

	return shorten(&b, value);
}
