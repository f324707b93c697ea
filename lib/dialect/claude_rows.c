/*
 * dialect/claude_rows.c: the rows of a transcript, packed.
 *
 * A transcript's lines name each other in many ways: a record's parent, its
 * logical parent above a compaction, the reply that its lines belong to, the
 * tool calls that it makes or answers, the records that a boundary keeps. The
 * chain (claude_chain.c) follows all of these, in any order and more than once,
 * so we keep them for every line of the log and nothing else. Four arrays:
 *
 *	packed  one row for each line, 48 bytes, in the order of the log
 *	name    one for each id that any line mentions, in the order of mention
 *	pool    numbers of names, in runs: each row, and each `kept`, owns a run
 *	kept    one for each boundary or snip: the few lines that carry lists
 *
 * An id is interned: its text is stored once (that of a record usually in the
 * spine, which has it anyway) and the rest of the program knows it by number. A name exists as soon as somebody mentions the id, which may be
 * before the record itself comes, or never. What it points to is filled in as
 * records pass:
 *
 *	line       0:user a   1:last-prompt   2:assistant b   3:user a
 *	id            a            -               b              a
 *	parent        -            a               a              b
 *	name a     row 3 (first 0)     name b     row 2
 *
 * Of two lines with the same id the last one counts, as in the program's own
 * map: row 0 is still there, but nothing leads to it any more, because its name
 * went to row 3. `first` stays, since a JavaScript map keeps the place of a key
 * that is set again, and some rules go by that order. Whether such a change
 * closes a circle is for the chain to find out.
 *
 * The pool holds lists without a pointer each. A packed row has `tools` and
 * `nr_tools`: its run has the ids of the tool calls that the message makes
 * (tool_use) or answers (tool_result). A `kept` has `first` and `nr`: the
 * records that a compact boundary preserves, or that a snip removes; with
 * `anchor`, `head` and `tail` it says where the preserved ones are attached.
 * Such lines are rare and their lists short, so a chain never has to read the
 * log again.
 *
 * Rows are only ever added. Numbers instead of pointers make the arrays one
 * piece of bytes: claude_ice.c writes them as they are and maps them back, and
 * arrays lie in that mapping until they outgrow it.
 */
#include "dialect/claude.h"

#include "base/array.h"
#include "json/value.h"

#include <stdlib.h>

static struct grove_slice text_at(const char *text)
{
	uint32_t len;

	memcpy(&len, text - sizeof(len), sizeof(len));
	return grove__slice(text, len);
}

static struct grove_slice name_of(const void *owner, uint32_t name)
{
	const struct grove__claude_rows *r = owner;

	return text_at(grove__ice_pointer(r->base, r->names[name].text));
}

void grove__claude_rows_init(struct grove__claude_rows *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	grove__idmap_init(&r->map, seed, name_of, r);
	grove__arena_init(&r->texts);
}

static bool in_ice(const struct grove__claude_rows *r, const void *array)
{
	const char *p = array;

	return r->ice && p >= r->ice && p < r->ice + r->ice_len;
}

/* Makes room for one more item; an array that outgrows the ice leaves it. */
static int room(const struct grove__claude_rows *r, void *array, size_t *cap, size_t nr,
		size_t item)
{
	void *p, *copy = NULL;
	size_t own = 0;
	int rc;

	memcpy(&p, array, sizeof(p));
	if (nr < *cap || !in_ice(r, p))
		return grove__array_room(array, cap, nr, item);
	while (own <= nr) {
		rc = grove__array_room(&copy, &own, own, item);
		if (rc) {
			free(copy);
			return rc;
		}
	}
	memcpy(copy, p, nr * item);
	memcpy(array, &copy, sizeof(copy));
	*cap = own;
	return 0;
}

static void free_own(const struct grove__claude_rows *r, void *array)
{
	if (!in_ice(r, array))
		free(array);
}

void grove__claude_rows_release(struct grove__claude_rows *r)
{
	free_own(r, r->rows);
	free_own(r, r->names);
	free_own(r, r->kept);
	free_own(r, r->pool);
	grove__idmap_release(&r->map);
	grove__arena_release(&r->texts);
	memset(r, 0, sizeof(*r));
}

struct grove_slice grove__claude_name(const struct grove__claude_rows *r, uint32_t name)
{
	return name_of(r, name);
}

uint32_t grove__claude_rows_find(const struct grove__claude_rows *r, struct grove_slice uuid)
{
	uint32_t name = grove__idmap_get(&r->map, uuid);

	return name == GROVE__IDMAP_NONE ? CLAUDE_NONE : r->names[name].row;
}

struct grove_slice grove__claude_rows_uuid(const struct grove__claude_rows *r, uint32_t row)
{
	if (r->rows[row].id == CLAUDE_NONE)
		return grove__slice("", 0);
	return name_of(r, r->rows[row].id);
}

typedef int intern_fn(struct grove__claude_rows *r, struct grove_slice text, uint32_t *out);

/* Copies a text, with its length before it. Returns NULL when out of memory. */
static const char *keep(struct grove__claude_rows *r, struct grove_slice text)
{
	uint32_t len = (uint32_t)text.len;
	char *p = grove__arena_alloc(&r->texts, sizeof(len) + text.len, 1);

	if (!p)
		return NULL;
	memcpy(p, &len, sizeof(len));
	memcpy(p + sizeof(len), text.ptr, text.len);
	return p + sizeof(len);
}

/*
 * Interns a text that is probably new, with one lookup instead of two. `kept` is the same
 * text where it stays, or NULL.
 */
static int intern_kept(struct grove__claude_rows *r, struct grove_slice text, const char *kept, uint32_t *out)
{
	uint32_t old;
	int rc;

	*out = CLAUDE_NONE;
	if (!text.len)
		return 0;
	if (text.len > UINT32_MAX - sizeof(uint32_t) || r->nr_names >= CLAUDE_NONE)
		return GROVE_ETOOBIG;
	rc = room(r, &r->names, &r->cap_names, r->nr_names, sizeof(*r->names));
	if (rc)
		return rc;
	if (!kept)
		kept = keep(r, text);
	if (!kept)
		return GROVE_ENOMEM;
	r->names[r->nr_names] = (struct grove__claude_name){
		grove__ice_distance(r->base, kept), CLAUDE_NONE, CLAUDE_NONE
	};
	rc = grove__idmap_put(&r->map, text, (uint32_t)r->nr_names, &old);
	if (!rc && old != GROVE__IDMAP_NONE) {
		/* it existed already */
		*out = old;
		return grove__idmap_put(&r->map, text, old, &old);
	}
	if (!rc)
		*out = (uint32_t)r->nr_names++;
	return rc;
}

static int intern_new(struct grove__claude_rows *r, struct grove_slice text, uint32_t *out)
{
	return intern_kept(r, text, NULL, out);
}

/* Interns a text; an empty one has no number. */
static int intern(struct grove__claude_rows *r, struct grove_slice text, uint32_t *out)
{
	*out = text.len ? grove__idmap_get(&r->map, text) : CLAUDE_NONE;
	return *out != GROVE__IDMAP_NONE || !text.len ? 0 : intern_new(r, text, out);
}

/* The same for a text that is probably that of `guess`; otherwise it is looked up. */
static int intern_like(struct grove__claude_rows *r, struct grove_slice text, uint32_t guess,
		       intern_fn *how, uint32_t *out)
{
	if (guess == CLAUDE_NONE || !grove__slice_eq(name_of(r, guess), text))
		return how(r, text, out);
	*out = guess;
	return 0;
}

static int pool_add(struct grove__claude_rows *r, uint32_t name)
{
	int rc = r->nr_pool < CLAUDE_NONE ? room(r, &r->pool, &r->cap_pool, r->nr_pool, sizeof(*r->pool))
					  : GROVE_ETOOBIG;

	if (!rc)
		r->pool[r->nr_pool++] = name;
	return rc;
}

/* Interns a raw string; other values have no name. */
static int intern_raw(struct grove__claude_rows *r, struct grove_slice raw, intern_fn *how,
		      uint32_t *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t i = 1;
	int rc;

	*out = CLAUDE_NONE;
	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	while (i + 1 < raw.len && raw.ptr[i] != '\\' && !(raw.ptr[i] & 0x80))
		i++;
	/* nearly all ids are plain */
	if (i + 1 == raw.len)
		return how(r, grove__slice(raw.ptr + 1, raw.len - 2), out);
	rc = grove__json_text(&b, raw);
	if (!rc)
		rc = how(r, grove__buf_slice(&b), out);
	grove__buf_release(&b);
	return rc;
}

struct tools {
	struct grove__claude_rows *r;
	struct grove__claude_packed *p;
	const char *type;
	intern_fn *how;          /* a result names a call that came before it */
};

static int take_id(struct tools *t, struct grove_slice id)
{
	uint32_t name;
	int rc;

	if (t->p->nr_tools == UINT16_MAX)
		return 0;
	rc = intern_raw(t->r, id, t->how, &name);
	if (!rc && name != CLAUDE_NONE) {
		rc = pool_add(t->r, name);
		if (!rc)
			t->p->nr_tools++;
	}
	return rc;
}

static int take_tool(void *payload, struct grove_slice type, struct grove_slice id,
		     struct grove_slice block)
{
	struct tools *t = payload;

	(void)block;
	return grove__json_string_is(type, t->type) ? take_id(t, id) : 0;
}

static int take_list(struct grove__claude_rows *r, struct grove_slice list,
		     struct grove__claude_kept *k)
{
	struct grove__json_iter it;
	uint32_t name;
	int rc = 0;

	k->first = (uint32_t)r->nr_pool;
	if (grove__json_type_of(list) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, list);
	while (!rc && grove__json_next(&it)) {
		rc = intern_raw(r, it.value, intern, &name);
		if (!rc)
			rc = pool_add(r, name);
	}
	k->nr = (uint32_t)r->nr_pool - k->first;
	return rc;
}

static int take_kept(struct grove__claude_rows *r, const struct grove__claude_row *row)
{
	struct grove_slice messages = grove__json_get(row->compact, "preservedMessages");
	struct grove_slice segment = grove__json_get(row->compact, "preservedSegment");
	struct grove__claude_kept k = { .row = (uint32_t)r->nr, .anchor = CLAUDE_NONE,
					.head = CLAUDE_NONE, .tail = CLAUDE_NONE };
	int rc = room(r, &r->kept, &r->cap_kept, r->nr_kept, sizeof(*r->kept));

	k.messages = messages.len && grove__json_truthy(messages);
	k.segment = segment.len && grove__json_truthy(segment);
	if (!rc && k.messages)
		rc = intern_raw(r, grove__json_get(messages, "anchorUuid"), intern, &k.anchor);
	else if (!rc && k.segment)
		rc = intern_raw(r, grove__json_get(segment, "anchorUuid"), intern, &k.anchor);
	if (!rc)
		rc = intern_raw(r, grove__json_get(segment, "headUuid"), intern, &k.head);
	if (!rc)
		rc = intern_raw(r, grove__json_get(segment, "tailUuid"), intern, &k.tail);
	if (!rc)
		rc = take_list(r, row->flags & CLAUDE_SNIP ? row->removed
							    : grove__json_get(messages, "uuids"), &k);
	if (!rc)
		r->kept[r->nr_kept++] = k;
	return rc;
}

void grove__claude_rows_hint(const struct grove__claude_rows *r, const struct grove__claude_row *row)
{
	if (row->uuid.len)
		grove__idmap_hint(&r->map, row->uuid);
	if (row->class == CLAUDE_ASSISTANT && row->reply.len)
		grove__idmap_hint(&r->map, row->reply);
	/* with its quotes; with escapes, this prefetches the wrong place, which does no harm */
	if (row->nr_tools && row->tool.len > 2)
		grove__idmap_hint(&r->map, grove__slice(row->tool.ptr + 1, row->tool.len - 2));
}

int grove__claude_rows_add(struct grove__claude_rows *r, const struct grove__claude_row *row, const char *id)
{
	struct grove__claude_packed p = { .time = row->time, .flags = row->flags,
					  .class = (uint8_t)row->class,
					  .parent_is = (uint8_t)row->parent_is,
					  .tools = (uint32_t)r->nr_pool };
	bool user = row->class == CLAUDE_USER;
	struct tools t = { r, &p, user ? "tool_result" : "tool_use", user ? intern : intern_new };
	bool near = row->message_off < UINT32_MAX && row->message_len < UINT32_MAX;
	size_t nr_kept = r->nr_kept, nr_pool = r->nr_pool;
	bool node = grove__claude_is_chain(row->class) || row->class == CLAUDE_PROGRESS;
	int rc;

	if (r->nr >= CLAUDE_NONE - 1)
		return GROVE_ETOOBIG;
	rc = room(r, &r->rows, &r->cap, r->nr, sizeof(*r->rows));
	p.id = p.parent = p.logical = p.reply = CLAUDE_NONE;
	p.message_off = near ? (uint32_t)row->message_off : 0;
	p.message_len = near ? (uint32_t)row->message_len : 0;
	if (!rc && node)
		rc = intern_kept(r, row->uuid, id && grove__slice_eq(text_at(id), row->uuid) ? id : NULL, &p.id);
	if (!rc && node)
		rc = intern_like(r, row->parent, r->nr ? r->last_id : CLAUDE_NONE, intern, &p.parent);
	if (!rc && row->class == CLAUDE_LAST_PROMPT)
		rc = intern(r, row->leaf, &p.parent);
	if (!rc && node)
		rc = intern(r, row->logical, &p.logical);
	if (!rc && row->class == CLAUDE_ASSISTANT)
		rc = intern_like(r, row->reply, r->nr ? r->last_reply : CLAUDE_NONE, intern_new,
				 &p.reply);
	else if (!rc && row->flags & CLAUDE_QUEUED)
		rc = intern(r, row->reply, &p.reply);
	/* a record usually has one block, which was read already */
	if (!rc && row->nr_tools == 1)
		rc = take_id(&t, row->tool);
	else if (!rc && row->nr_tools)
		rc = grove__claude_blocks(row->content, take_tool, &t);
	if (!rc && row->flags & (CLAUDE_BOUNDARY | CLAUDE_SNIP))
		rc = take_kept(r, row);
	if (rc) {
		r->nr_kept = nr_kept;
		r->nr_pool = nr_pool;
		return rc;
	}
	/* before the first row there is neither */
	if (!r->nr)
		r->last_id = r->last_reply = CLAUDE_NONE;
	if (p.reply != CLAUDE_NONE && row->class == CLAUDE_ASSISTANT)
		r->last_reply = p.reply;
	if (p.id != CLAUDE_NONE) {
		r->last_id = p.id;
		r->names[p.id].row = (uint32_t)r->nr;
		if (r->names[p.id].first == CLAUDE_NONE)
			r->names[p.id].first = (uint32_t)r->nr;
	}
	r->rows[r->nr++] = p;
	return 0;
}
