/*
 * dialect/pi_write.c: writes lines as pi writes them.
 *
 * The order of members is part of the format: most types begin with type, id, parentId
 * and timestamp; the two that extensions write end with them.
 */
#include "dialect/pi.h"

#include "js/js.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

/* A compaction that keeps nothing refers to itself. */
static const char own_id[] = "";

static const struct grove__pi_shape shapes[] = {
	{ GROVE_KIND_MESSAGE, "message", false, { { "message" } } },
	{ GROVE_KIND_THINKING_LEVEL, "thinking_level_change", false, { { "thinkingLevel" } } },
	{ GROVE_KIND_MODEL, "model_change", false, { { "provider" }, { "modelId" } } },
	{ GROVE_KIND_USAGE, "usage", false,
	  { { "kind" }, { "provider" }, { "model" }, { "usage" }, { "note" } } },
	{ GROVE_KIND_COMPACTION, "compaction", false,
	  { { "summary" }, { "firstKeptEntryId", own_id }, { "tokensBefore" }, { "details" }, { "usage" },
	    { "fromHook" }, { "systemMessage" } } },
	{ GROVE_KIND_BRANCH_SUMMARY, "branch_summary", false,
	  { { "fromId" }, { "summary" }, { "details" }, { "usage" }, { "fromHook" } } },
	{ GROVE_KIND_CUSTOM, "custom", true, { { "customType" }, { "data" } } },
	{ GROVE_KIND_CUSTOM_MESSAGE, "custom_message", true,
	  { { "customType" }, { "content" }, { "display" }, { "details" } } },
	{ GROVE_KIND_CONTEXT_EDIT, "context_edit", false, { { "targetId" }, { "replacement" } } },
	{ GROVE_KIND_LABEL, "label", false, { { "targetId" }, { "label" } } },
	{ GROVE_KIND_NAME, "session_info", false, { { "name" } } },
	{ GROVE_KIND_SUBAGENT_BATCH, "subagent_batch", false,
	  { { "batchId" }, { "tasks" }, { "metadata" } } },
	{ GROVE_KIND_SUBAGENT_RESULT, "subagent_result", false,
	  { { "batchId" }, { "results" }, { "metadata" } } },
};

const struct grove__pi_words grove__pi_words = { shapes, sizeof(shapes) / sizeof(*shapes) };

#define OWN_MAX (sizeof(shapes->members) / sizeof(*shapes->members))

void grove__pi_put_time(struct grove__out *o, const char *name, int64_t time)
{
	char iso[GROVE__JS_ISO_MAX];

	grove__out_slice(o, name, grove__slice(iso, grove__js_iso(iso, time)));
}

int grove__pi_compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "type", "session");
	grove__out_number(&o, "version", 3);
	grove__out_string(&o, "id", in->id);
	grove__pi_put_time(&o, "timestamp", in->time);
	grove__out_string(&o, "cwd", in->cwd);
	grove__out_string_if(&o, "parentSession", in->parent ? in->parent : in->from_path);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

/* `,"name":` */
static int put_name(struct grove_buf *out, const char *name)
{
	int rc = grove__buf_add_str(out, ",\"");

	rc = rc ? rc : grove__buf_add_str(out, name);
	return rc ? rc : grove__buf_add_str(out, "\":");
}

/* `,"name":value` as JSON.stringify spells it. */
static int put_member(struct grove_buf *out, const char *name, struct grove_slice raw)
{
	int rc = put_name(out, name);

	return rc ? rc : grove__json_put_canonical(out, raw);
}

static int put_base(struct grove_buf *out, const struct grove__place *at)
{
	int rc = grove__buf_add_str(out, ",\"id\":");

	if (!rc)
		rc = grove__json_put_string(out, at->id);
	if (!rc)
		rc = grove__buf_add_str(out, ",\"parentId\":");
	if (!rc)
		rc = at->parent.ptr ? grove__json_put_string(out, at->parent)
				    : grove__buf_add_str(out, "null");
	if (!rc)
		rc = grove__buf_add_str(out, ",\"timestamp\":");
	if (rc)
		return rc;
	return at->stamp.ptr ? grove__json_put_canonical(out, at->stamp) : grove__json_put_time(out, at->time);
}

static bool is_base(struct grove_slice key)
{
	return grove__json_string_is(key, "type") || grove__json_string_is(key, "id") ||
	       grove__json_string_is(key, "parentId") || grove__json_string_is(key, "timestamp");
}

/* An input's members, found in one walk. The last of duplicates counts. */
struct parts {
	struct grove_slice own[OWN_MAX]; /* in the order of the shape; ptr NULL if absent */
	bool rest;                       /* there are members that the shape does not have */
};

/* Returns the index of a member in its shape, or OWN_MAX. */
static size_t own_at(const struct grove__pi_shape *s, struct grove_slice key)
{
	for (size_t i = 0; s && i < OWN_MAX && s->members[i].name; i++)
		if (grove__json_string_is(key, s->members[i].name))
			return i;
	return OWN_MAX;
}

static void take_apart(const struct grove__pi_shape *s, struct grove_slice input, struct parts *out)
{
	struct grove__json_iter it;

	memset(out, 0, sizeof(*out));
	grove__json_iter_init(&it, input);
	while (grove__json_next(&it)) {
		size_t at = own_at(s, it.key);

		if (at < OWN_MAX)
			out->own[at] = it.value;
		else if (!is_base(it.key))
			out->rest = true;
	}
}

static struct grove_slice own(const struct grove__pi_shape *s, const struct parts *p, const char *name)
{
	for (size_t i = 0; i < OWN_MAX && s->members[i].name; i++)
		if (!strcmp(s->members[i].name, name))
			return p->own[i];
	return grove__slice(NULL, 0);
}

/* Members that the type does not have are kept, after its own. */
static int put_rest(struct grove_buf *out, const struct grove__pi_shape *s, struct grove_slice input)
{
	struct grove__json_iter it;
	int rc = 0;

	grove__json_iter_init(&it, input);
	while (!rc && grove__json_next(&it)) {
		if (is_base(it.key) || own_at(s, it.key) < OWN_MAX)
			continue;
		rc = grove__buf_add_char(out, ',');
		if (!rc)
			rc = grove__buf_add_slice(out, it.key);
		if (!rc)
			rc = grove__buf_add_char(out, ':');
		if (!rc)
			rc = grove__buf_add_slice(out, it.value);
	}
	return rc;
}

/* The object from `at` on as JavaScript writes it: index-like keys first, each key once. */
static int reorder(struct grove_buf *out, size_t at)
{
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = grove__buf_add(&line, out->ptr + at, out->len - at);

	grove__buf_cut(out, at);
	if (!rc)
		rc = grove__json_put_canonical(out, grove__buf_slice(&line));
	grove__buf_release(&line);
	return rc;
}

static int bad(struct grove_detail *d, const char *why)
{
	return grove__fail(d, GROVE_EINVAL, NULL, "%s", why);
}

/* We add the system message of a compaction. */
static int put_own(struct grove_buf *out, const struct grove__pi_shape *s, const char *name,
		   const char *fill, struct grove_slice raw, const struct grove__place *at,
		   struct grove_slice system)
{
	struct grove_buf text = GROVE_BUF_INIT, clean = GROVE_BUF_INIT;
	int rc;

	if (fill == own_id && (!raw.len || grove__json_type_of(raw) == JSON_NULL)) {
		rc = put_name(out, name);
		return rc ? rc : grove__json_put_string(out, at->id);
	}
	if (fill && !raw.len)
		raw = grove__slice_str(fill);
	if (s->kind == GROVE_KIND_COMPACTION && !strcmp(name, "systemMessage") && !raw.len)
		raw = system;
	if (!raw.len)
		return 0;
	if (s->kind == GROVE_KIND_USAGE && !strcmp(name, "note") && !grove__json_truthy(raw))
		return 0;
	if (s->kind != GROVE_KIND_NAME || strcmp(name, "name"))
		return put_member(out, name, raw);
	rc = grove__json_text(&text, raw);
	if (!rc)
		rc = grove__pi_clean_name(grove__buf_slice(&text), &clean);
	if (!rc)
		rc = grove__buf_add_str(out, ",\"name\":");
	if (!rc)
		rc = grove__json_put_string(out, grove__buf_slice(&clean));
	grove__buf_release(&text);
	grove__buf_release(&clean);
	return rc;
}

/* Rejects what would make an entry that no reader can use. */
static int check(const struct grove__pi_shape *s, const struct grove__input *in, const struct parts *p,
		 struct grove_buf *target, struct grove_detail *d)
{
	struct grove_slice v;

	switch (s ? s->kind : GROVE_KIND_OTHER) {
	case GROVE_KIND_MESSAGE:
		if (grove__json_type_of(own(s, p, "message")) != JSON_OBJECT ||
		    grove__json_type_of(in->role) != JSON_STRING)
			return bad(d, "a message entry must have a message with a role");
		return 0;
	case GROVE_KIND_CONTEXT_EDIT:
		v = own(s, p, "replacement");
		if (grove__json_type_of(v) != JSON_NULL) {
			enum grove__json_type t =
				grove__json_type_of(grove__json_get(v, "content"));

			if (t != JSON_STRING && t != JSON_ARRAY)
				return bad(d, "Context edit replacement must be null or contain string/array content");
		}
		/* fall through */
	case GROVE_KIND_LABEL:
		v = own(s, p, "targetId");
		if (grove__json_type_of(v) != JSON_STRING)
			return bad(d, "targetId must be the id of an entry");
		return grove__json_text(target, v) ? grove__fail_nomem(d) : 0;
	case GROVE_KIND_NAME:
		v = own(s, p, "name");
		if (v.len && grove__json_type_of(v) != JSON_STRING)
			return bad(d, "name must be a string");
		return 0;
	case GROVE_KIND_HEADER:
		return bad(d, "the session already has a header");
	default:
		return 0;
	}
}

static int compose_typed(const struct grove__pi_words *words, const struct grove__input *in,
			 const struct grove__place *at, struct grove_slice system,
			 struct grove_buf *out, struct grove_buf *target, struct grove_detail *d)
{
	enum grove_kind kind = grove__pi_kind(words, in->type);
	const struct grove__pi_shape *s = grove__pi_shape(words, kind);
	size_t begin = out->len;
	struct parts p;
	int rc;

	if (kind == GROVE_KIND_HEADER)
		return bad(d, "the session already has a header");
	take_apart(s, in->json, &p);
	rc = check(s, in, &p, target, d);
	if (rc)
		return rc;
	rc = grove__buf_add_str(out, "{\"type\":");
	if (!rc)
		rc = grove__json_put_canonical(out, in->type);
	if (!rc && !(s && s->base_last))
		rc = put_base(out, at);
	for (size_t i = 0; s && i < OWN_MAX && s->members[i].name && !rc; i++)
		rc = put_own(out, s, s->members[i].name, s->members[i].fill, p.own[i], at, system);
	if (!rc && p.rest)
		rc = put_rest(out, s, in->json);
	if (!rc && s && s->base_last)
		rc = put_base(out, at);
	if (!rc)
		rc = grove__buf_add_char(out, '}');
	if (!rc && p.rest)
		rc = reorder(out, begin);
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__pi_compose_as(const struct grove__pi_words *words, const struct grove__input *in,
			 const struct grove__place *at, struct grove_slice system,
			 struct grove_buf *out, struct grove_buf *target, struct grove_detail *d)
{
	int rc;

	if (grove__json_type_of(in->type) == JSON_STRING)
		return compose_typed(words, in, at, system, out, target, d);
	if (in->type.ptr || grove__json_type_of(in->role) != JSON_STRING)
		return bad(d, "an entry must be an object with a type, or a message with a role");
	rc = grove__buf_add_str(out, "{\"type\":\"message\"");
	if (!rc)
		rc = put_base(out, at);
	if (!rc)
		rc = grove__buf_add_str(out, ",\"message\":");
	if (!rc)
		rc = grove__json_put_canonical(out, in->json);
	if (!rc)
		rc = grove__buf_add_char(out, '}');
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__pi_compose(const struct grove__input *in, const struct grove__place *at,
		      struct grove_slice system, struct grove_buf *out, struct grove_buf *target,
		      struct grove_detail *d)
{
	return grove__pi_compose_as(&grove__pi_words, in, at, system, out, target, d);
}

void grove__pi_input(const struct grove__json_line *l, const char *line, struct grove__input *out)
{
	memset(out, 0, sizeof(*out));
	out->json = grove__slice(line + l->value.off, (size_t)l->value.len);
	if (l->type != JSON_OBJECT)
		return;
	out->type = grove__json_span_of(l, line, PI_TYPE);
	/* a bare message has its own timestamp, which is not the entry's */
	if (grove__json_type_of(out->type) != JSON_STRING) {
		out->role = grove__json_span_of(l, line, PI_BARE_ROLE);
		return;
	}
	out->role = grove__json_span_of(l, line, PI_ROLE);
	out->id = grove__json_span_of(l, line, PI_ID);
	out->parent = grove__json_span_of(l, line, PI_PARENT);
	out->time = grove__json_span_of(l, line, PI_TIME);
}

enum grove_kind grove__pi_input_kind_as(const struct grove__pi_words *words,
					const struct grove__input *in)
{
	if (grove__json_type_of(in->type) == JSON_STRING)
		return grove__pi_kind(words, in->type);
	return GROVE_KIND_MESSAGE;
}

bool grove__pi_bare(const struct grove__input *in, enum grove_role *role)
{
	if (grove__json_type_of(in->role) != JSON_STRING || in->parent.ptr ||
	    (in->type.ptr && !grove__json_string_is(in->type, "message")))
		return false;
	*role = grove__pi_role(in->role);
	return true;
}

bool grove__pi_starts_file(enum grove_kind kind, enum grove_role role)
{
	return kind == GROVE_KIND_MESSAGE &&
	       (role == GROVE_ROLE_USER || role == GROVE_ROLE_ASSISTANT);
}

void grove__pi_put_tristate(struct grove__out *o, const char *name, enum grove_tristate is)
{
	if (is != GROVE_ABSENT)
		grove__out_bool(o, name, is == GROVE_TRUE);
}

/* Writes the end of a summary. */
static void put_details(struct grove__out *o, const char *details, const char *usage,
			enum grove_tristate from_hook)
{
	grove__out_raw_if(o, "details", details);
	grove__out_raw_if(o, "usage", usage);
	grove__pi_put_tristate(o, "fromHook", from_hook);
}

int grove__pi_spell(const struct grove__entry_spec *spec, struct grove_buf *out, struct grove_detail *d)
{
	const struct grove__pi_shape *s = grove__pi_shape(&grove__pi_words, spec->kind);
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "type", s ? s->type : "custom");
	switch (spec->kind) {
	case GROVE_KIND_THINKING_LEVEL:
		grove__out_string_if(&o, "thinkingLevel", spec->thinking.level);
		break;
	case GROVE_KIND_MODEL:
		grove__out_string_if(&o, "provider", spec->model.provider);
		grove__out_string_if(&o, "modelId", spec->model.model);
		break;
	case GROVE_KIND_COMPACTION:
		grove__out_string_if(&o, "summary", spec->compaction.summary);
		grove__out_string_if(&o, "firstKeptEntryId", spec->compaction.first_kept);
		grove__out_double(&o, "tokensBefore", spec->compaction.tokens_before);
		put_details(&o, spec->compaction.details_json, spec->compaction.usage_json,
			    spec->compaction.from_hook);
		break;
	case GROVE_KIND_BRANCH_SUMMARY:
		grove__out_string_if(&o, "fromId", spec->branch_summary.from);
		grove__out_string_if(&o, "summary", spec->branch_summary.summary);
		put_details(&o, spec->branch_summary.details_json, spec->branch_summary.usage_json,
			    spec->branch_summary.from_hook);
		break;
	case GROVE_KIND_LABEL:
		grove__out_string_if(&o, "targetId", spec->label.target);
		if (spec->label.text.ptr)
			grove__out_slice(&o, "label", spec->label.text);
		break;
	case GROVE_KIND_NAME:
		grove__out_string_if(&o, "name", spec->name.text);
		break;
	case GROVE_KIND_OTHER:
		grove__out_string_if(&o, "customType", PI_LEAF_MARK);
		break;
	default:
		return grove__fail(d, GROVE_ENOTSUP, NULL, "pi has no entries of that kind");
	}
	grove__out_close(&o, '}');
	return grove__out_finish(&o) ? grove__fail_nomem(d) : 0;
}

int grove__pi_mute(struct grove_slice line, struct grove_buf *out)
{
	const struct grove__json_change changes[] = {
		{ .path = { "type" }, .value = grove__slice_str("\"custom\"") },
		{ .path = { "customType" }, .value = grove__slice_str("\"grove.no-message\"") },
	};

	return grove__json_edit(out, line, changes, sizeof(changes) / sizeof(*changes));
}

int grove__pi_relink(struct grove_slice line, struct grove_slice parent,
		     const struct grove_slice *first_kept, const char *session, struct grove_buf *out)
{
	(void)session;
	struct grove_buf p = GROVE_BUF_INIT, k = GROVE_BUF_INIT;
	struct grove__json_change ch[2] = {
		{ .path = { "parentId" } },
		{ .path = { "firstKeptEntryId" } },
	};
	int rc = grove__json_put_nullable(&p, parent);

	if (!rc && first_kept)
		rc = grove__json_put_string(&k, *first_kept);
	ch[0].value = grove__buf_slice(&p);
	ch[1].value = grove__buf_slice(&k);
	if (!rc)
		rc = grove__json_edit(out, line, ch, first_kept ? 2 : 1);
	grove__buf_release(&p);
	grove__buf_release(&k);
	return rc;
}

int grove__pi_move_header(struct grove_slice line, const char *cwd, const char *from,
			  struct grove_buf *out)
{
	(void)from;
	return grove__json_edit_text(out, line, "cwd", grove__slice_str(cwd));
}

/* Version 1 had no tree: each entry gets an id, and the entry before it as its parent. */
static size_t to_version_2(struct grove_slice line, const struct grove__migrate *m,
			   struct grove__json_change *ch, struct grove_buf store[3], int *rc)
{
	struct grove_slice index = grove__json_get(line, "firstKeptEntryIndex");
	struct grove_buf id = GROVE_BUF_INIT;
	size_t nr = 0;

	*rc = grove__json_put_string(&store[0], m->id);
	ch[nr++] = (struct grove__json_change){ { "id" }, grove__buf_slice(&store[0]) };
	if (!*rc)
		*rc = m->parent.ptr ? grove__json_put_string(&store[1], m->parent)
				    : grove__buf_add_str(&store[1], "null");
	ch[nr++] = (struct grove__json_change){ { "parentId" }, grove__buf_slice(&store[1]) };
	if (grove__pi_kind(&grove__pi_words, grove__json_get(line, "type")) != GROVE_KIND_COMPACTION ||
	    grove__json_type_of(index) != JSON_NUMBER)
		return nr;
	if (!*rc)
		*rc = m->id_at(m->payload, grove__json_number(index), &id);
	if (!*rc && id.len) {
		*rc = grove__json_put_string(&store[2], grove__buf_slice(&id));
		ch[nr++] = (struct grove__json_change){ { "firstKeptEntryId" },
							grove__buf_slice(&store[2]) };
	}
	grove__buf_release(&id);
	ch[nr++] = (struct grove__json_change){ { "firstKeptEntryIndex" }, { NULL, 0 } };
	return nr;
}

int grove__pi_migrate(struct grove_slice line, const struct grove__migrate *m, struct grove_buf *out)
{
	struct grove_buf store[3] = { GROVE_BUF_INIT, GROVE_BUF_INIT, GROVE_BUF_INIT };
	struct grove__json_change ch[5];
	enum grove_kind kind;
	size_t nr = 0;
	int rc = 0;

	if (m->from >= 3 || grove__json_type_of(line) != JSON_OBJECT)
		return 1;
	kind = grove__pi_kind(&grove__pi_words, grove__json_get(line, "type"));
	if (kind == GROVE_KIND_HEADER) {
		ch[nr++] = (struct grove__json_change){ { "version" }, { "3", 1 } };
	} else {
		if (m->from < 2)
			nr = to_version_2(line, m, ch, store, &rc);
		if (kind == GROVE_KIND_MESSAGE &&
		    grove__json_string_is(grove__json_get(grove__json_get(line, "message"), "role"),
					  "hookMessage"))
			ch[nr++] = (struct grove__json_change){ { "message", "role" },
								{ "\"custom\"", 8 } };
	}
	if (!rc)
		rc = nr ? grove__json_edit(out, line, ch, nr) : 1;
	for (size_t i = 0; i < 3; i++)
		grove__buf_release(&store[i]);
	return rc;
}
