/*
 * session/append_split.c: appends to logs whose leaf is computed.
 *
 * In Claude's logs one message may become several records, and the leaf is
 * computed by rules over the whole log. If the computed leaf is not the record
 * we just appended, we append a line that pins it.
 */
#include "session/append.h"
#include "session/leaf.h"

#include "base/array.h"
#include "json/value.h"
#include "sys/clock.h"

#include <stdlib.h>

struct expanding {
	struct grove_buf bytes;
	size_t *end;                     /* of each part, in bytes */
	size_t nr, cap;
};

static int add_part(void *payload, struct grove_slice json)
{
	struct expanding *x = payload;

	if (grove__array_room(&x->end, &x->cap, x->nr, sizeof(*x->end)) ||
	    grove__buf_add_slice(&x->bytes, json))
		return GROVE_ENOMEM;
	x->end[x->nr++] = x->bytes.len;
	return 0;
}

/* Returns the id of an input, if the log has an entry with that id. */
static const char *stored_as(struct grove_session *s, struct grove_slice json)
{
	struct grove_buf copy = GROVE_BUF_INIT, id = GROVE_BUF_INIT;
	struct grove__input in;
	uint32_t row = GROVE_NO_ENTRY;

	if (!grove__buf_add_slice(&copy, json) && !grove__image_input(s->image, &copy, &in, NULL) &&
	    in.id.ptr && !grove__json_text(&id, in.id))
		row = grove__spine_find(s->image->spine, GROVE_NO_ENTRY, grove__buf_slice(&id));
	grove__buf_release(&copy);
	grove__buf_release(&id);
	return row == GROVE_NO_ENTRY ? NULL : grove__spine_id(s->image->spine, row);
}

/*
 * Appends the parts of the inputs. The id of an input is that of its last part, and the
 * next input goes below it.
 */
static int append_parts(struct grove_session *s, const struct grove_slice *json, size_t nr,
			const struct grove_append_options *opt, struct grove_append_result *out,
			struct grove_detail *d)
{
	struct expanding x = { .bytes = GROVE_BUF_INIT };
	size_t *last = calloc(nr, sizeof(*last));
	const char **known = calloc(nr, sizeof(*known));
	struct grove_append_result got = { .size = sizeof(got) };
	struct grove_slice *part = NULL;
	uint8_t random[16];
	int rc = last && known ? 0 : GROVE_ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++) {
		size_t before = x.nr, bytes = x.bytes.len;

		grove__sys_random(random, sizeof(random));
		rc = s->at.dialect->write.split(json[i], random, add_part, &x);
		/* an input that was stored in several parts before is not stored again */
		if (!rc && x.nr > before + 1 && (known[i] = stored_as(s, json[i]))) {
			x.nr = before;
			grove__buf_cut(&x.bytes, bytes);
		}
		last[i] = x.nr;
	}
	if (!rc) {
		part = calloc(x.nr ? x.nr : 1, sizeof(*part));
		got.ids = calloc(x.nr ? x.nr : 1, sizeof(*got.ids));
		rc = part && got.ids ? 0 : GROVE_ENOMEM;
	}
	for (size_t i = 0; i < x.nr && !rc; i++) {
		size_t start = i ? x.end[i - 1] : 0;

		part[i] = grove__slice(x.bytes.ptr + start, x.end[i] - start);
	}
	if (rc)
		grove__fail_nomem(d);
	else if (x.nr)
		rc = grove__append_all(s, part, x.nr, opt, &got, d);
	for (size_t i = 0; i < nr && !rc; i++) {
		got.id = known[i] ? known[i] : last[i] ? got.ids[last[i] - 1] : NULL;
		if (out && out->ids)
			out->ids[i] = got.id;
	}
	/* count the inputs before the one whose part was refused */
	if (rc && last)
		for (size_t part_nr = got.failed, i = 0; i < nr && last[i] <= part_nr; i++)
			got.failed = i + 1;
	grove__buf_release(&x.bytes);
	free(x.end);
	free(last);
	free(known);
	free(part);
	free(got.ids);
	if (out) {
		got.ids = out->ids;
		got.why = out->why;
		*out = got;
	}
	return rc;
}

/*
 * If rules over the whole log determine the leaf, it must be the entry that was
 * appended; otherwise a line pins it. Appending below the pinned leaf keeps it so.
 */
static int pin_leaf(struct grove_session *s, uint32_t last, struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(s) };
	struct grove__entry_spec spec = { .kind = GROVE_KIND_OTHER };
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove__chain_walk walk;
	struct grove_slice slice;
	int rc;

	if (s->deferral.store || grove__session_leaf_row(s) == last || !grove__spine_id(sp, last))
		return 0;
	spec.leaf.id = ask.leaf = grove__spine_id(sp, last);
	rc = grove__model_walk(s->image, sp->nr, &ask, &walk, d);
	if (rc)
		return rc;
	rc = walk.nr ? 0 : 1;
	grove__walk_release(&walk);
	if (rc) {
		/*
		 * a boundary alone is not a conversation: only this handle knows that
		 * it continues there
		 */
		s->leaf.apart = true;
		s->leaf.in_store = false;
		s->leaf.row = last;
		return 0;
	}
	rc = grove__dialect_spell(s->at.dialect, &spec, &json, d);
	slice = grove__buf_slice(&json);
	rc = rc ? rc : grove__append_all(s, &slice, 1, NULL, NULL, d);
	grove__buf_release(&json);
	/* the rules do not accept it as the leaf, but this handle continues there */
	if (!rc && grove__session_leaf_row(s) != last) {
		s->leaf.apart = true;
		s->leaf.in_store = false;
		s->leaf.row = last;
	}
	return rc;
}

/* Returns the last entry of the tree, or GROVE_NO_ENTRY. */
static uint32_t last_node(const struct grove_session *s)
{
	const struct grove__spine *sp = s->image->spine;
	uint32_t row = sp->nr;

	while (row && grove__spine_flags(sp, row - 1) & ROW_ASIDE)
		row--;
	return row ? row - 1 : GROVE_NO_ENTRY;
}

int grove__append_split(struct grove_session *s, const struct grove_slice *json, size_t nr,
			const struct grove_append_options *opt, struct grove_append_result *out,
			struct grove_detail *d)
{
	uint32_t before, last;
	bool pin;
	int rc;

	if (!s->at.dialect || grove__model_is_path(s->at.dialect))
		return grove__append_all(s, json, nr, opt, out, d);
	rc = grove__session_load(s, d);
	if (rc)
		return rc;
	/* appending at the computed leaf does not change what the rules find */
	pin = (opt && opt->parent) || s->leaf.apart || s->leaf.append != s->image;
	before = last_node(s);
	rc = append_parts(s, json, nr, opt, out, d);
	if (rc)
		return rc;
	last = last_node(s);
	if (last == before) {
		/* metadata lines may have moved the leaf on purpose */
		s->leaf.append = NULL;
		return 0;
	}
	/* a side chain does not move the main conversation */
	if (grove__model_side(&s->image->model, last) && !grove__session_own_file(s)) {
		s->leaf.append = NULL;
		return 0;
	}
	/* an entry that is not a message may not count as a leaf */
	pin |= grove__spine_kind(s->image->spine, last) != GROVE_KIND_MESSAGE;
	rc = pin ? pin_leaf(s, last, d) : 0;
	s->leaf.append = rc ? NULL : s->image;
	return rc;
}
