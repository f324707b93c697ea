/*
 * dialect/claude_fork.c: copies the records of a session into another.
 *
 * As in the SDK's forkSession, every record gets a new uuid, references are changed to the
 * new uuids, and each record says what it was copied from.
 *
 *	source   a ← b ← p ← c       p: progress, or not on the way to the leaf
 *	copy     A ← B ← C           C skips p: its parent is the nearest that is copied
 *
 * Two things are done better. A parent that does not exist keeps its name, and the last
 * record below such a gap keeps its time, so that readers bridge the gap in the copy as in
 * the source. And only what has to change is changed: the rest of a line keeps its bytes.
 */
#include "dialect/bill.h"
#include "dialect/claude_write.h"

#include "base/array.h"
#include "json/edit.h"
#include "json/escape.h"
#include "json/out.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

/* Where a name leads, instead of the index of a copy. */
#define TO_ITSELF UINT32_MAX         /* it is copied */
#define TO_NOTHING (UINT32_MAX - 1)  /* nothing is above it */
#define TO_STAY (UINT32_MAX - 2)     /* it keeps its name */
#define TO_ASKED (UINT32_MAX - 3)    /* being looked up */

/* A uuid of the source, and what it becomes. */
struct grove__claude_copy {
	const char *text;
	uint32_t len;
	uint32_t to;
	uint8_t fresh[16];           /* the bytes of the new uuid, if it is copied */
};

static struct grove_slice copy_name(const void *owner, uint32_t value)
{
	const struct grove__claude_fork *f = owner;

	return grove__slice(f->copies[value].text, f->copies[value].len);
}

void grove__claude_fork_init(struct grove__claude_fork *f, uint64_t seed)
{
	f->copies = NULL;
	f->path = NULL;
	f->nr = f->cap = f->last = f->nr_path = f->cap_path = 0;
	f->replacements = f->relocated = (struct grove_buf)GROVE_BUF_INIT;
	f->suppressed = false;
	grove__arena_init(&f->texts);
	grove__idmap_init(&f->map, seed, copy_name, f);
}

void grove__claude_fork_release(struct grove__claude_fork *f)
{
	free(f->copies);
	free(f->path);
	grove__idmap_release(&f->map);
	grove__arena_release(&f->texts);
	grove__buf_release(&f->replacements);
	grove__buf_release(&f->relocated);
	f->copies = NULL;
	f->path = NULL;
}

static int intern(struct grove__claude_fork *f, struct grove_slice uuid, uint32_t to, uint32_t *place)
{
	struct grove__claude_copy c = { .len = (uint32_t)uuid.len, .to = to };
	uint32_t old;
	int rc;

	if (uuid.len > UINT32_MAX || f->nr >= TO_ASKED)
		return GROVE_ETOOBIG;
	rc = grove__array_room(&f->copies, &f->cap, f->nr, sizeof(*f->copies));
	if (rc)
		return rc;
	c.text = grove__arena_dup(&f->texts, uuid);
	if (!c.text)
		return GROVE_ENOMEM;
	f->copies[f->nr] = c;
	rc = grove__idmap_put(&f->map, copy_name(f, (uint32_t)f->nr), (uint32_t)f->nr, &old);
	if (rc)
		return rc;
	*place = (uint32_t)f->nr++;
	return 0;
}

int grove__claude_fork_add(struct grove__claude_fork *f, const struct grove__claude_row *row)
{
	uint32_t i;
	int rc;

	if (!grove__claude_is_chain(row->class) || row->flags & CLAUDE_SIDECHAIN || !row->uuid.len)
		return 1;
	/* all lines with the same uuid are copied, under the same new uuid */
	if (grove__idmap_get(&f->map, row->uuid) != GROVE__IDMAP_NONE)
		return 0;
	rc = intern(f, row->uuid, TO_ITSELF, &i);
	return rc ? rc : f->random(f->random_payload, f->copies[i].fresh);
}

/* --- names --- */

/* The text of a raw string. Nearly all ids contain no escapes; others are decoded into `b`. */
static int text_of(struct grove_slice raw, struct grove_buf *b, struct grove_slice *out)
{
	size_t i = 1;
	int rc;

	while (i + 1 < raw.len && raw.ptr[i] != '\\' && !(raw.ptr[i] & 0x80))
		i++;
	*out = grove__slice(raw.ptr + 1, raw.len - 2);
	if (i + 1 == raw.len)
		return 0;
	rc = grove__json_text(b, raw);
	*out = grove__buf_slice(b);
	return rc;
}

/* Finds a name, which is usually that of the last record copied, or of the next one. */
static uint32_t find_copied(const struct grove__claude_fork *f, struct grove_slice uuid)
{
	for (size_t i = f->last; i < f->nr && i < f->last + 2; i++)
		if (grove__slice_eq(copy_name(f, (uint32_t)i), uuid))
			return (uint32_t)i;
	return grove__idmap_get(&f->map, uuid);
}

/* --- where a name leads --- */

/* Asks for the parent of name `i`, which is not copied, and goes there. */
static int step_up(struct grove__claude_fork *f, uint32_t i, uint32_t *next)
{
	struct grove_slice up = { NULL, 0 };
	int rc = f->parent(f->parent_payload, copy_name(f, i), &up);

	if (rc < 0)
		return rc;
	if (rc) {
		*next = TO_STAY;
		return 0;
	}
	if (!up.ptr) {
		*next = TO_NOTHING;
		return 0;
	}
	*next = grove__idmap_get(&f->map, up);
	return *next == GROVE__IDMAP_NONE ? intern(f, up, TO_ASKED, next) : 0;
}

/*
 * Returns where `uuid` leads: a copy, a name that stays, or TO_NOTHING. Every name on the
 * way remembers it, so a long run of them is walked only once.
 */
static int lead(struct grove__claude_fork *f, struct grove_slice uuid, uint32_t *out)
{
	uint32_t i = find_copied(f, uuid), next;
	int rc = 0;

	f->nr_path = 0;
	if (i == GROVE__IDMAP_NONE)
		rc = intern(f, uuid, TO_ASKED, &i);
	while (!rc && f->copies[i].to == TO_ASKED) {
		rc = grove__array_room(&f->path, &f->cap_path, f->nr_path, sizeof(*f->path));
		if (!rc)
			rc = step_up(f, i, &next);
		if (rc)
			break;
		f->path[f->nr_path++] = i;
		/* until we know better: a cycle of such names leads nowhere, like a missing one */
		f->copies[i].to = TO_STAY;
		if (next == TO_NOTHING || next == TO_STAY) {
			f->copies[i].to = next;
			break;
		}
		i = next;
	}
	if (rc) {
		/* nothing was found out, so ask again next time */
		while (f->nr_path)
			f->copies[f->path[--f->nr_path]].to = TO_ASKED;
		return rc;
	}
	if (f->copies[i].to < TO_ASKED)
		i = f->copies[i].to;
	*out = f->copies[i].to == TO_NOTHING ? TO_NOTHING : i;
	while (f->nr_path) {
		uint32_t p = f->path[--f->nr_path];

		if (p != i)
			f->copies[p].to = *out;
	}
	return 0;
}

/* --- changes --- */

enum { CHANGES = 20 };

/* Changes whose values are in one buffer; `off` is used until it no longer moves. */
struct changes {
	struct grove__json_change ch[CHANGES];
	size_t off[CHANGES + 1];
	size_t nr;
	struct grove_buf values;
};

static struct grove_buf *change(struct changes *c, const char *a, const char *b, const char *e)
{
	c->ch[c->nr] = (struct grove__json_change){ .path = { a, b, e } };
	c->off[c->nr++] = c->values.len;
	return &c->values;
}

static void leave_out(struct changes *c, const char *name)
{
	change(c, name, NULL, NULL);
}

/* A change without a value removes the member. */
static int make_changes(struct changes *c, struct grove_slice line, struct grove_buf *out)
{
	c->off[c->nr] = c->values.len;
	for (size_t i = 0; i < c->nr; i++)
		if (c->off[i + 1] > c->off[i])
			c->ch[i].value = grove__slice(c->values.ptr + c->off[i], c->off[i + 1] - c->off[i]);
	return grove__json_edit(out, line, c->ch, c->nr);
}

static int put_fresh(const struct grove__claude_copy *c, struct grove_buf *out)
{
	char id[48] = "\"";
	size_t len = grove__claude_entry_id(c->fresh, false, id + 1) + 1;

	id[len++] = '"';
	return grove__buf_add(out, id, len);
}

/* Writes a uuid (raw) as it is in the copy, or unchanged if it is not copied. */
static int put_copied(const struct grove__claude_fork *f, struct grove_slice raw,
		      struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice text;
	uint32_t i = GROVE__IDMAP_NONE;
	int rc = 0;

	if (grove__json_type_of(raw) == JSON_STRING) {
		rc = text_of(raw, &b, &text);
		i = rc ? i : grove__idmap_get(&f->map, text);
	}
	grove__buf_release(&b);
	if (rc)
		return rc;
	if (i != GROVE__IDMAP_NONE && f->copies[i].to == TO_ITSELF)
		return put_fresh(&f->copies[i], out);
	return grove__buf_add_slice(out, raw);
}

/* Returns where a parent (raw) leads; TO_NOTHING also if it is not a string. */
static int lead_parent(struct grove__claude_fork *f, struct grove_slice raw, uint32_t *to)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice text;
	int rc;

	*to = TO_NOTHING;
	if (!raw.ptr || !grove__json_truthy(raw) || grove__json_type_of(raw) != JSON_STRING)
		return 0;
	rc = text_of(raw, &b, &text);
	if (!rc)
		rc = lead(f, text, to);
	grove__buf_release(&b);
	return rc;
}

/* Writes what a parent (raw) becomes. */
static int put_parent(struct grove__claude_fork *f, struct grove_slice raw, struct grove_buf *out)
{
	uint32_t to;
	int rc;

	/*
	 * a parent that is not a string can name no record, neither in the source nor in
	 * the copy
	 */
	if (raw.ptr && grove__json_truthy(raw) && grove__json_type_of(raw) != JSON_STRING)
		return grove__buf_add_slice(out, raw);
	rc = lead_parent(f, raw, &to);
	if (rc)
		return rc;
	if (to == TO_NOTHING)
		return grove__buf_add_str(out, "null");
	if (f->copies[to].to == TO_ITSELF)
		return put_fresh(&f->copies[to], out);
	return grove__json_put_string(out, copy_name(f, to));
}

static int put_copied_list(const struct grove__claude_fork *f, struct grove_slice array,
			   struct grove_buf *out)
{
	struct grove__json_iter it;
	bool first = true;
	int rc = grove__buf_add_char(out, '[');

	grove__json_iter_init(&it, array);
	while (!rc && grove__json_next(&it)) {
		if (!first)
			rc = grove__buf_add_char(out, ',');
		first = false;
		if (!rc)
			rc = put_copied(f, it.value, out);
	}
	return rc ? rc : grove__buf_add_char(out, ']');
}

/* What a boundary keeps is given by uuid. */
static int change_kept(const struct grove__claude_fork *f, struct grove_slice compact,
		       struct changes *c)
{
	static const struct {
		const char *object, *name;
		enum grove__json_type type;
	} kept[] = {
		{ "preservedSegment", "headUuid", JSON_STRING },
		{ "preservedSegment", "anchorUuid", JSON_STRING },
		{ "preservedSegment", "tailUuid", JSON_STRING },
		{ "preservedMessages", "anchorUuid", JSON_STRING },
		{ "preservedMessages", "uuids", JSON_ARRAY },
		{ "preservedMessages", "allUuids", JSON_ARRAY },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) && !rc; i++) {
		struct grove_slice v =
			grove__json_get(grove__json_get(compact, kept[i].object), kept[i].name);
		struct grove_buf *to;

		if (grove__json_type_of(v) != kept[i].type)
			continue;
		to = change(c, "compactMetadata", kept[i].object, kept[i].name);
		rc = kept[i].type == JSON_ARRAY ? put_copied_list(f, v, to) : put_copied(f, v, to);
	}
	return rc;
}

/* --- lines --- */

/*
 * Members of a line that we need. From F_UUID on: those that may change, in the order in
 * which new ones are added.
 */
enum {
	F_TYPE, F_SUBTYPE, F_COMPACT, F_REPLACEMENTS, F_RELOCATED,
	F_UUID, F_PARENT, F_LOGICAL, F_SESSION, F_TIME, F_SIDECHAIN,
	/* removed, because they describe the process that wrote the source, or name its records */
	F_TEAM, F_AGENT, F_KIND, F_SLUG, F_SOURCE,
	F_BILLED, F_ORIGIN,
	FORKED
};

static const char *const names[FORKED] = {
	[F_TYPE] = "type",
	[F_SUBTYPE] = "subtype",
	[F_COMPACT] = "compactMetadata",
	[F_REPLACEMENTS] = "replacements",
	[F_RELOCATED] = "relocatedCwd",
	[F_UUID] = "uuid",
	[F_PARENT] = "parentUuid",
	[F_LOGICAL] = "logicalParentUuid",
	[F_SESSION] = "sessionId",
	[F_TIME] = "timestamp",
	[F_SIDECHAIN] = "isSidechain",
	[F_TEAM] = "teamName",
	[F_AGENT] = "agentName",
	[F_KIND] = "sessionKind",
	[F_SLUG] = "slug",
	[F_SOURCE] = "sourceToolAssistantUUID",
	[F_BILLED] = "requestSessionId",
	[F_ORIGIN] = "forkedFrom",
};

enum { MEMBERS = 48 };               /* more than records have */

/* A line, parsed once. */
struct parts {
	struct grove_slice v[FORKED];
	/* all members in order: the beginning of the key, the value, its name or FORKED */
	struct part {
		const char *key;
		struct grove_slice value;
		unsigned name;
	} part[MEMBERS];
	size_t nr;
	bool plain;                  /* all members are present, and none of the names occurs
	                                twice */
};

/* Returns which of the names it is, or FORKED for none. `raw` includes the quotes. */
static unsigned name_of(struct grove_slice raw)
{
	for (unsigned i = 0; i < FORKED; i++)
		if (raw.ptr[1] == names[i][0] && grove__json_string_is(raw, names[i]))
			return i;
	return FORKED;
}

/* `message`, if its position is known, is skipped without parsing it. */
static void take_apart(struct grove_slice line, struct grove_slice message, struct parts *out)
{
	const char *p = line.ptr + 1, *end = line.ptr + line.len - 1;

	memset(out->v, 0, sizeof(out->v));
	out->nr = 0;
	out->plain = true;
	for (;;) {
		struct grove_slice key, value;
		unsigned name;

		while (p < end && (*p == ',' || grove__json_is_space(*p)))
			p++;
		if (p >= end)
			return;
		key = grove__slice(p, grove__json_skip(p, end));
		p = grove__json_skip_space(p + key.len, end);
		p = grove__json_skip_space(p + 1, end); /* the colon */
		value = message.ptr == p ? message : grove__slice(p, grove__json_skip(p, end));
		p += value.len;
		/* a name spelled with escapes is the same name */
		name = memchr(key.ptr, '\\', key.len) ? FORKED + 1 : name_of(key);
		out->plain &= name <= FORKED && out->nr < MEMBERS && (name == FORKED || !out->v[name].ptr);
		if (name > FORKED)
			for (name = 0; name < FORKED && !grove__json_string_is(key, names[name]);)
				name++;
		if (name < FORKED)
			out->v[name] = value;
		if (out->nr < MEMBERS)
			out->part[out->nr++] = (struct part){ key.ptr, value, name };
	}
}

/* Metadata is not copied, except for what would change how the copy is read. */
static int note(struct grove__claude_fork *f, const struct grove_slice v[FORKED])
{
	struct grove__json_iter it;
	int rc = 0;

	if (!grove__json_string_is(v[F_SESSION], f->from))
		return 0;
	if (grove__json_string_is(v[F_TYPE], "history-suppression"))
		f->suppressed = true;
	if (grove__json_string_is(v[F_TYPE], "relocated") &&
	    grove__json_type_of(v[F_RELOCATED]) == JSON_STRING) {
		grove__buf_clear(&f->relocated);
		rc = grove__buf_add_slice(&f->relocated, v[F_RELOCATED]);
	}
	if (!grove__json_string_is(v[F_TYPE], "content-replacement") ||
	    grove__json_type_of(v[F_REPLACEMENTS]) != JSON_ARRAY)
		return rc;
	grove__json_iter_init(&it, v[F_REPLACEMENTS]);
	while (!rc && grove__json_next(&it)) {
		size_t start = f->replacements.len;

		if (start)
			rc = grove__buf_add_char(&f->replacements, ',');
		if (!rc)
			rc = grove__json_put_canonical(&f->replacements, it.value);
		if (rc && f->replacements.len > start)
			grove__buf_cut(&f->replacements, start);
	}
	return rc;
}

/* Returns the index of this line's record among the copies, or NONE if it is not copied. */
static int find_copy(struct grove__claude_fork *f, const struct grove_slice v[FORKED],
		     uint32_t *out)
{
	static const char *const chain[] = { "user", "assistant", "attachment", "system" };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice uuid;
	size_t i = 0;
	int rc;

	*out = GROVE__IDMAP_NONE;
	while (i < 4 && !grove__json_string_is(v[F_TYPE], chain[i]))
		i++;
	if (i == 4 || grove__json_type_of(v[F_UUID]) != JSON_STRING ||
	    (v[F_SIDECHAIN].ptr && grove__json_truthy(v[F_SIDECHAIN])))
		return 0;
	rc = text_of(v[F_UUID], &b, &uuid);
	if (!rc) {
		*out = find_copied(f, uuid);
		if (*out != GROVE__IDMAP_NONE && f->copies[*out].to != TO_ITSELF)
			*out = GROVE__IDMAP_NONE;
	}
	grove__buf_release(&b);
	return rc;
}

static int put_origin(const struct grove__claude_fork *f, struct grove_slice uuid,
		      struct grove_buf *out)
{
	int rc = grove__buf_add_str(out, "{\"sessionId\":");

	if (!rc)
		rc = grove__json_put_str(out, f->from);
	if (!rc)
		rc = grove__buf_add_str(out, ",\"messageUuid\":");
	if (!rc)
		rc = grove__buf_add_slice(out, uuid);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* Returns the session (raw) that a reply is billed to, as the source tells; ptr NULL: none. */
static struct grove_slice billed_to(const struct grove_slice v[FORKED])
{
	if (!grove__json_string_is(v[F_TYPE], "assistant"))
		return grove__slice(NULL, 0);
	return grove__claude_billed_to(v[F_BILLED], v[F_ORIGIN], v[F_SESSION]);
}

/* What happens to a member. */
enum fate { STAYS, GOES, CHANGES_TO };

static enum fate fate_of(unsigned name, const struct grove_slice v[FORKED], bool stamped)
{
	switch (name) {
	case F_UUID:
	case F_PARENT:
	case F_SESSION:
	case F_ORIGIN:
		return CHANGES_TO;
	case F_LOGICAL:
		return v[F_LOGICAL].ptr ? CHANGES_TO : STAYS;
	case F_TIME:
		return stamped ? CHANGES_TO : STAYS;
	case F_SIDECHAIN:
		return grove__json_type_of(v[F_SIDECHAIN]) != JSON_FALSE ? CHANGES_TO : STAYS;
	case F_TEAM:
	case F_AGENT:
	case F_KIND:
	case F_SLUG:
	case F_SOURCE:
		return GOES;
	case F_BILLED:
		return billed_to(v).ptr ? CHANGES_TO : GOES;
	default:
		return STAYS;
	}
}

static int put_value(struct grove__claude_fork *f, unsigned name, const struct grove_slice v[FORKED],
		     uint32_t copy, const int64_t *now, struct grove_buf *out)
{
	switch (name) {
	case F_UUID:
		return put_fresh(&f->copies[copy], out);
	case F_PARENT:
	case F_LOGICAL:
		return put_parent(f, v[name], out);
	case F_SESSION:
		return grove__json_put_str(out, f->to);
	case F_TIME:
		return grove__json_put_time(out, *now);
	case F_SIDECHAIN:
		return grove__buf_add_str(out, "false");
	case F_BILLED:
		return grove__buf_add_slice(out, billed_to(v));
	default:
		return put_origin(f, v[F_UUID], out);
	}
}

/* Edits the line, for when the last member is removed or nested objects change. */
static int edit_line(struct grove__claude_fork *f, struct grove_slice line,
		     const struct grove_slice v[FORKED], uint32_t copy, const int64_t *now,
		     struct grove_buf *out)
{
	struct changes c = { .nr = 0 };
	int rc = 0;

	for (unsigned i = F_UUID; i < FORKED && !rc; i++) {
		enum fate fate = fate_of(i, v, now);

		if (fate == GOES)
			leave_out(&c, names[i]);
		else if (fate == CHANGES_TO)
			rc = put_value(f, i, v, copy, now, change(&c, names[i], NULL, NULL));
	}
	if (!rc && grove__json_string_is(v[F_TYPE], "system") &&
	    grove__json_string_is(v[F_SUBTYPE], "compact_boundary"))
		rc = change_kept(f, v[F_COMPACT], &c);
	if (!rc)
		rc = make_changes(&c, line, out);
	grove__buf_release(&c.values);
	return rc;
}

/* For nearly every line: copies it part by part. */
static int copy_parts(struct grove__claude_fork *f, struct grove_slice line, const struct parts *m,
		      uint32_t copy, const int64_t *now, struct grove_buf *out)
{
	const char *p = line.ptr;
	size_t start = out->len;
	int rc = 0;

	for (size_t i = 0; i < m->nr && !rc; i++) {
		const struct part *x = &m->part[i];
		enum fate fate = fate_of(x->name, m->v, now);

		if (fate == STAYS)
			continue;
		/* up to the next member, which exists: see copy_line() */
		rc = grove__buf_add(out, p, (size_t)((fate == GOES ? x->key : x->value.ptr) - p));
		p = fate == GOES ? m->part[i + 1].key : x->value.ptr + x->value.len;
		if (!rc && fate == CHANGES_TO)
			rc = put_value(f, x->name, m->v, copy, now, out);
	}
	if (!rc)
		rc = grove__buf_add(out, p, (size_t)(m->part[m->nr - 1].value.ptr +
						     m->part[m->nr - 1].value.len - p));
	for (unsigned i = F_UUID; i < FORKED && !rc; i++) {
		if (m->v[i].ptr || fate_of(i, m->v, now) != CHANGES_TO)
			continue;
		rc = grove__buf_addf(out, ",\"%s\":", names[i]);
		rc = rc ? rc : put_value(f, i, m->v, copy, now, out);
	}
	p = m->part[m->nr - 1].value.ptr + m->part[m->nr - 1].value.len;
	rc = rc ? rc : grove__buf_add(out, p, (size_t)(line.ptr + line.len - p));
	if (rc)
		grove__buf_cut(out, start);
	return rc;
}

/* New members are added in the order of the names above, as the SDK has them. */
static int copy_line(struct grove__claude_fork *f, struct grove_slice line, const struct parts *m,
		     uint32_t copy, const int64_t *now, struct grove_buf *out)
{
	if (m->plain && !m->v[F_COMPACT].ptr &&
	    fate_of(m->part[m->nr - 1].name, m->v, now) != GOES)
		return copy_parts(f, line, m, copy, now, out);
	return edit_line(f, line, m->v, copy, now, out);
}

int grove__claude_fork_line(struct grove__claude_fork *f, struct grove_slice line,
			    struct grove_slice message, bool last, int64_t now, struct grove_buf *out)
{
	struct parts m;
	uint32_t copy, to = TO_NOTHING;
	int rc;

	if (grove__json_type_of(line) != JSON_OBJECT)
		return 1;
	take_apart(line, message, &m);
	rc = find_copy(f, m.v, &copy);
	if (rc)
		return rc;
	if (copy != GROVE__IDMAP_NONE) {
		rc = last ? lead_parent(f, m.v[F_PARENT], &to) : 0;
		if (rc)
			return rc;
		/* a gap above the last record is bridged by time, so that must not change */
		if (to != TO_NOTHING && f->copies[to].to != TO_ITSELF)
			last = false;
		rc = copy_line(f, line, &m, copy, last ? &now : NULL, out);
		f->last = copy;
		return rc;
	}
	rc = note(f, m.v);
	return rc ? rc : 1;
}

/* --- after the records --- */

static void begin_line(const struct grove__claude_fork *f, const char *type, struct grove_buf *out, struct grove__out *o)
{
	grove__buf_clear(out);
	grove__out_init_buf(o, out);
	grove__out_open(o, NULL, '{');
	grove__out_string(o, "type", type);
	grove__out_string(o, "sessionId", f->to);
}

/* Includes the SDK's own members, though nobody reads them. */
static int end(struct grove__claude_fork *f, int64_t now, struct grove__out *o)
{
	uint8_t random[16];
	char id[40];

	grove__out_fail(o, f->random(f->random_payload, random));
	if (!o->rc) {
		grove__out_slice(o, "uuid", grove__slice(id, grove__claude_entry_id(random, false, id)));
		grove__out_time(o, "timestamp", now);
	}
	grove__out_close(o, '}');
	return grove__out_finish(o);
}

static int put_suppression(struct grove__claude_fork *f, int64_t now, struct grove_buf *out)
{
	struct grove__out o;

	begin_line(f, "history-suppression", out, &o);
	grove__out_string(&o, "cause", "fork_inherit");
	grove__out_time(&o, "ts", now);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

/* Leaves `out` empty if the leaf is not copied. */
static int put_leaf(struct grove__claude_fork *f, const char *leaf, struct grove_buf *out)
{
	bool root = !strcmp(leaf, GROVE_ROOT);
	uint32_t i = root ? GROVE__IDMAP_NONE : grove__idmap_get(&f->map, grove__slice_str(leaf));
	char id[40] = "";
	struct grove__out o;

	grove__buf_clear(out);
	if (!root && (i == GROVE__IDMAP_NONE || f->copies[i].to != TO_ITSELF))
		return 0;
	if (!root)
		id[grove__claude_entry_id(f->copies[i].fresh, false, id)] = '\0';
	begin_line(f, "last-prompt", out, &o);
	grove__out_string(&o, "leafUuid", root ? NULL : id);
	grove__out_bool(&o, "explicit", true);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

static int put_replacements(struct grove__claude_fork *f, int64_t now, struct grove_buf *out)
{
	struct grove__out o;

	begin_line(f, "content-replacement", out, &o);
	grove__out_open(&o, "replacements", '[');
	grove__out_bytes(&o, f->replacements.ptr, f->replacements.len);
	grove__out_close(&o, ']');
	return end(f, now, &o);
}

static int put_relocated(struct grove__claude_fork *f, const char *cwd, struct grove_buf *out)
{
	struct grove_buf told = GROVE_BUF_INIT;
	struct grove__out o;
	int rc;

	begin_line(f, "relocated", out, &o);
	grove__out_string_if(&o, "relocatedCwd", cwd);
	if (!cwd) {
		grove__out_fail(&o, grove__json_put_canonical(&told, grove__buf_slice(&f->relocated)));
		grove__out_raw(&o, "relocatedCwd", grove__buf_slice(&told));
	}
	grove__out_close(&o, '}');
	rc = grove__out_finish(&o);
	grove__buf_release(&told);
	return rc;
}

static int put_title(struct grove__claude_fork *f, const char *title, bool given, int64_t now,
		     struct grove_buf *out)
{
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove__out o;

	begin_line(f, "custom-title", out, &o);
	grove__out_fail(&o, grove__buf_addf(&text, "%s%s", title ? title : "Forked session",
					    given && title ? "" : " (fork)"));
	grove__out_slice(&o, "customTitle", grove__buf_slice(&text));
	grove__buf_release(&text);
	return end(f, now, &o);
}

/* `rc` is the result of making the line. */
static int pass(int rc, const struct grove_buf *line, int (*fn)(void *payload, struct grove_slice line),
		void *payload)
{
	return rc || !line->len ? rc : fn(payload, grove__buf_slice(line));
}

int grove__claude_fork_tail(struct grove__claude_fork *f, const char *leaf, const char *title,
			    bool given, const char *cwd, int64_t now,
			    int (*fn)(void *payload, struct grove_slice line), void *payload)
{
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = 0;

	if (leaf)
		rc = pass(put_leaf(f, leaf, &line), &line, fn, payload);
	if (!rc && f->suppressed)
		rc = pass(put_suppression(f, now, &line), &line, fn, payload);
	if (!rc && f->replacements.len)
		rc = pass(put_replacements(f, now, &line), &line, fn, payload);
	if (!rc && (cwd || f->relocated.len))
		rc = pass(put_relocated(f, cwd, &line), &line, fn, payload);
	if (!rc)
		rc = pass(put_title(f, title, given, now, &line), &line, fn, payload);
	grove__buf_release(&line);
	return rc;
}
