/*
 * dialect/claude_write.c: writes a line of a Claude Code transcript.
 *
 * The program puts its record between two halves of an envelope:
 *
 *	parentUuid isSidechain promptId agentId │ type message … uuid timestamp … │
 *	userType entrypoint cwd sessionId version gitBranch slug
 *
 * Metadata lines begin with their type and end with the session's id.
 */
#include "dialect/claude_write.h"

#include "js/js.h"
#include "json/edit.h"
#include "json/out.h"
#include "json/value.h"
#include "json/write.h"

/* The members with a fixed position, in that order. */
enum {
	G_PARENT, G_LOGICAL, G_SIDECHAIN, G_TEAM, G_AGENT_NAME, G_PROMPT, G_AGENT,
	G_TYPE, G_MESSAGE, G_ATTACHMENT, G_UUID, G_TIME,
	G_USER_TYPE, G_ENTRYPOINT, G_CWD, G_SESSION, G_VERSION, G_BRANCH, G_SLUG,
	G_PLACED,
	/* these have no fixed position, but we need them */
	G_SUBTYPE = G_PLACED, G_SOURCE,
	GIVEN
};

static const char *const names[GIVEN] = {
	[G_PARENT] = "parentUuid",
	[G_LOGICAL] = "logicalParentUuid",
	[G_SIDECHAIN] = "isSidechain",
	[G_TEAM] = "teamName",
	[G_AGENT_NAME] = "agentName",
	[G_PROMPT] = "promptId",
	[G_AGENT] = "agentId",
	[G_TYPE] = "type",
	[G_MESSAGE] = "message",
	[G_ATTACHMENT] = "attachment",
	[G_UUID] = "uuid",
	[G_TIME] = "timestamp",
	[G_USER_TYPE] = "userType",
	[G_ENTRYPOINT] = "entrypoint",
	[G_CWD] = "cwd",
	[G_SESSION] = "sessionId",
	[G_VERSION] = "version",
	[G_BRANCH] = "gitBranch",
	[G_SLUG] = "slug",
	[G_SUBTYPE] = "subtype",
	[G_SOURCE] = "sourceToolAssistantUUID",
};

/* A record being composed. */
struct record {
	struct grove_slice given[GIVEN];   /* raw; ptr NULL if not given */
	struct grove_buf rest;             /* the other members as an object; empty if none */
	const struct grove__place *at;
	enum grove_kind kind;
	bool user;
};

/* --- inputs --- */

void grove__claude_input(const struct grove__json_line *l, const char *line,
			 struct grove__input *out)
{
	memset(out, 0, sizeof(*out));
	out->json = grove__slice(line + l->value.off, (size_t)l->value.len);
	if (l->type != JSON_OBJECT)
		return;
	out->type = grove__json_span_of(l, line, CLAUDE_M_TYPE);
	/* a message of the API also has a type, which is always the same */
	if (!out->type.ptr || grove__json_string_is(out->type, "message")) {
		out->role = grove__json_get(out->json, "role");
		if (out->role.ptr)
			out->type = grove__slice(NULL, 0);
		return;
	}
	out->id = grove__json_span_of(l, line, CLAUDE_M_UUID);
	out->parent = grove__json_span_of(l, line, CLAUDE_M_PARENT);
	out->time = grove__json_span_of(l, line, CLAUDE_M_TIME);
}

enum grove_kind grove__claude_input_kind(const struct grove__input *in)
{
	if (!in->type.ptr || grove__json_string_is(in->type, "user") ||
	    grove__json_string_is(in->type, "assistant"))
		return GROVE_KIND_MESSAGE;
	if (grove__json_string_is(in->type, "attachment"))
		return GROVE_KIND_ATTACHMENT;
	if (grove__json_string_is(in->type, "progress"))
		return GROVE_KIND_PROGRESS;
	if (!grove__json_string_is(in->type, "system"))
		return GROVE_KIND_META;
	return grove__json_string_is(grove__json_get(in->json, "subtype"), "compact_boundary")
		       ? GROVE_KIND_COMPACTION
		       : GROVE_KIND_SYSTEM;
}

static int is_result(void *payload, struct grove_slice type, struct grove_slice id,
		     struct grove_slice block)
{
	(void)payload;
	(void)id;
	(void)block;
	return grove__json_string_is(type, "tool_result");
}

bool grove__claude_bare(const struct grove__input *in, enum grove_role *role)
{
	if (in->type.ptr || grove__json_type_of(in->role) != JSON_STRING)
		return false;
	if (grove__json_string_is(in->role, "assistant"))
		*role = GROVE_ROLE_ASSISTANT;
	else if (!grove__json_string_is(in->role, "user"))
		*role = GROVE_ROLE_OTHER;
	else if (grove__claude_blocks(grove__json_get(in->json, "content"), is_result, NULL))
		*role = GROVE_ROLE_TOOL_RESULT;
	else
		*role = GROVE_ROLE_USER;
	return true;
}

bool grove__claude_starts_file(enum grove_kind kind, enum grove_role role)
{
	return kind == GROVE_KIND_MESSAGE && role != GROVE_ROLE_NONE;
}

/* --- members --- */

static int put_name(struct grove_buf *out, const char *name)
{
	char last = out->len ? out->ptr[out->len - 1] : '\0';
	int rc = last == '{' ? 0 : grove__buf_add_char(out, ',');

	return rc ? rc : grove__buf_addf(out, "\"%s\":", name);
}

static int put_raw(struct grove_buf *out, const char *name, struct grove_slice raw)
{
	int rc = put_name(out, name);

	return rc ? rc : grove__json_put_canonical(out, raw);
}

static int put_text(struct grove_buf *out, const char *name, struct grove_slice text)
{
	int rc = put_name(out, name);

	return rc ? rc : grove__json_put_string(out, text);
}

static int put_str(struct grove_buf *out, const char *name, const char *text)
{
	return text ? put_text(out, name, grove__slice_str(text)) : 0;
}

/* Writes a text or null. */
static int put_id(struct grove_buf *out, const char *name, struct grove_slice id)
{
	return id.ptr ? put_text(out, name, id) : put_raw(out, name, grove__slice_str("null"));
}

/* Writes what the input says, or else `text`, or nothing. */
static int put_given(struct grove_buf *out, const struct record *r, unsigned which,
		     const char *text)
{
	if (r->given[which].ptr)
		return put_raw(out, names[which], r->given[which]);
	return put_str(out, names[which], text);
}

/* As one object, so that duplicate and index-like keys are handled as in JavaScript. */
static int put_rest(struct grove_buf *out, struct grove_slice rest)
{
	struct grove_buf canon = GROVE_BUF_INIT;
	int rc;

	if (!rest.len)
		return 0;
	rc = grove__json_put_canonical(&canon, rest);
	if (!rc)
		rc = grove__buf_add_char(out, ',');
	if (!rc)
		rc = grove__buf_add(out, canon.ptr + 1, canon.len - 2);
	grove__buf_release(&canon);
	return rc;
}

static int add_rest(struct grove_buf *rest, const struct grove__json_iter *it)
{
	int rc = grove__buf_add_char(rest, rest->len ? ',' : '{');

	if (!rc)
		rc = grove__buf_add_slice(rest, it->key);
	if (!rc)
		rc = grove__buf_add_char(rest, ':');
	return rc ? rc : grove__buf_add_slice(rest, it->value);
}

/* Finds in one walk which members are given, and collects the others. */
static int take_apart(struct record *r, struct grove_slice input)
{
	struct grove__json_iter it;
	int rc = 0;

	grove__json_iter_init(&it, input);
	while (!rc && grove__json_next(&it)) {
		unsigned i = 0;

		while (i < GIVEN && !grove__json_string_is(it.key, names[i]))
			i++;
		if (i < GIVEN)
			r->given[i] = it.value;
		if (i >= G_PLACED)
			rc = add_rest(&r->rest, &it);
	}
	return rc || !r->rest.len ? rc : grove__buf_add_char(&r->rest, '}');
}

/* --- records --- */

static int bad(struct grove_detail *d, const char *why)
{
	return grove__fail(d, GROVE_EINVAL, NULL, "%s", why);
}

/* Rejects what would make a record that no reader can use. */
static int check(const struct record *r, struct grove_detail *d)
{
	struct grove_slice m = r->given[G_MESSAGE], role = grove__json_get(m, "role");

	if (r->kind == GROVE_KIND_ATTACHMENT &&
	    grove__json_type_of(r->given[G_ATTACHMENT]) != JSON_OBJECT)
		return bad(d, "an attachment record must have an attachment");
	if (r->kind != GROVE_KIND_MESSAGE)
		return 0;
	if (grove__json_type_of(m) != JSON_OBJECT || grove__json_type_of(role) != JSON_STRING)
		return bad(d, "a user or assistant record must have a message with a role");
	if (!grove__json_string_is(role, r->user ? "user" : "assistant"))
		return bad(d, "the role of the message must match its record: user or assistant");
	return 0;
}

/*
 * A result belongs below its call, not below what was written last: other calls of the same
 * reply may have come in between.
 */
static int put_parent(struct grove_buf *out, const struct record *r, struct grove_buf *target)
{
	struct grove_slice parent = r->at->parent, source = r->given[G_SOURCE];
	int rc = 0;

	if (!r->given[G_PARENT].ptr && grove__json_type_of(source) == JSON_STRING) {
		rc = grove__json_text(target, source);
		if (target->len)
			parent = grove__buf_slice(target);
	}
	if (rc)
		return rc;
	if (r->kind != GROVE_KIND_COMPACTION) {
		rc = put_id(out, names[G_PARENT], parent);
		return rc ? rc : put_given(out, r, G_LOGICAL, NULL);
	}
	/* a chain ends at a boundary; the logical parent is for those who want what is above */
	rc = put_id(out, names[G_PARENT], grove__slice(NULL, 0));
	if (rc || grove__json_type_of(r->given[G_LOGICAL]) == JSON_STRING)
		return rc ? rc : put_given(out, r, G_LOGICAL, NULL);
	return parent.ptr ? put_text(out, names[G_LOGICAL], parent) : 0;
}

static int put_head(struct grove_buf *out, const struct record *r, struct grove_buf *target)
{
	int rc = put_parent(out, r, target);

	if (!rc)
		rc = r->given[G_SIDECHAIN].ptr
			     ? put_given(out, r, G_SIDECHAIN, NULL)
			     : put_raw(out, names[G_SIDECHAIN], grove__slice_str("false"));
	if (!rc)
		rc = put_given(out, r, G_TEAM, NULL);
	if (!rc)
		rc = put_given(out, r, G_AGENT_NAME, NULL);
	if (!rc)
		rc = put_given(out, r, G_PROMPT, NULL);
	return rc ? rc : put_given(out, r, G_AGENT, NULL);
}

/* A prompt has its other members after its time, all others before their uuid. */
static int put_body(struct grove_buf *out, const struct record *r)
{
	int rc = r->given[G_TYPE].ptr ? put_given(out, r, G_TYPE, NULL)
				      : put_str(out, names[G_TYPE], r->user ? "user" : "assistant");

	if (!rc)
		rc = put_given(out, r, G_MESSAGE, NULL);
	if (!rc)
		rc = put_given(out, r, G_ATTACHMENT, NULL);
	if (!rc && !r->user)
		rc = put_rest(out, grove__buf_slice(&r->rest));
	if (!rc)
		rc = put_text(out, names[G_UUID], r->at->id);
	if (!rc)
		rc = put_name(out, names[G_TIME]);
	if (!rc)
		rc = r->at->stamp.ptr ? grove__json_put_canonical(out, r->at->stamp)
				      : grove__json_put_time(out, r->at->time);
	if (!rc && r->user)
		rc = put_rest(out, grove__buf_slice(&r->rest));
	return rc;
}

static int put_tail(struct grove_buf *out, const struct record *r, const struct grove__about *about)
{
	const char *const said[] = { "external",      about->entrypoint, about->cwd, about->session,
				     about->version, about->branch,     NULL };
	int rc = 0;

	for (unsigned i = G_USER_TYPE; i <= G_SLUG && !rc; i++)
		rc = put_given(out, r, i, said[i - G_USER_TYPE]);
	return rc;
}

static int compose_record(struct record *r, const struct grove__about *about, struct grove_buf *out,
			  struct grove_buf *target)
{
	int rc = grove__buf_add_char(out, '{');

	if (!rc)
		rc = put_head(out, r, target);
	if (!rc)
		rc = put_body(out, r);
	if (!rc)
		rc = put_tail(out, r, about);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* The type comes first, because some readers look only at the first bytes of a line. */
static int compose_meta(const struct grove__input *in, const struct grove__about *about,
			struct grove_buf *out)
{
	struct grove_buf rest = GROVE_BUF_INIT;
	struct grove__json_iter it;
	bool named = false;
	int rc = 0;

	grove__json_iter_init(&it, in->json);
	while (!rc && grove__json_next(&it)) {
		if (grove__json_string_is(it.key, names[G_TYPE]))
			continue;
		named |= grove__json_string_is(it.key, names[G_SESSION]);
		rc = add_rest(&rest, &it);
	}
	if (!rc && rest.len)
		rc = grove__buf_add_char(&rest, '}');
	if (!rc)
		rc = grove__buf_add_char(out, '{');
	if (!rc)
		rc = put_raw(out, names[G_TYPE], in->type);
	if (!rc)
		rc = put_rest(out, grove__buf_slice(&rest));
	if (!rc && !named)
		rc = put_str(out, names[G_SESSION], about->session);
	if (!rc)
		rc = grove__buf_add_char(out, '}');
	grove__buf_release(&rest);
	return rc;
}

/* Fills in `r` from a bare message or a record, and reports what is wrong with it. */
static int read_input(struct record *r, const struct grove__input *in, struct grove_detail *d)
{
	int rc = 0;

	if (in->type.ptr) {
		rc = take_apart(r, in->json);
		r->user = grove__json_string_is(in->type, "user");
	} else {
		r->given[G_MESSAGE] = in->json;
		r->user = grove__json_string_is(in->role, "user");
		if (!r->user && !grove__json_string_is(in->role, "assistant"))
			return bad(d, "a message must have the role user or assistant; other entries must have a type");
	}
	return rc ? grove__fail_nomem(d) : check(r, d);
}

int grove__claude_compose(const struct grove__input *in, const struct grove__place *at,
			  struct grove_slice system, struct grove_buf *out,
			  struct grove_buf *target, struct grove_detail *d)
{
	static const struct grove__about nothing = { 0 };
	const struct grove__about *about = at->about ? at->about : &nothing;
	struct record r = { .at = at, .kind = grove__claude_input_kind(in) };
	size_t start = out->len;
	int rc;

	(void)system;
	if (!in->type.ptr && grove__json_type_of(in->role) != JSON_STRING)
		return bad(d, "an entry must be an object with a type, or a message with a role");
	if (in->type.ptr && grove__json_type_of(in->type) != JSON_STRING)
		return bad(d, "the type of an entry must be a string");
	if (r.kind == GROVE_KIND_PROGRESS)
		return bad(d, "ephemeral tool progress is not stored");
	if (r.kind == GROVE_KIND_META) {
		rc = compose_meta(in, about, out) ? grove__fail_nomem(d) : 0;
	} else {
		rc = read_input(&r, in, d);
		if (!rc && compose_record(&r, about, out, target))
			rc = grove__fail_nomem(d);
	}
	grove__buf_release(&r.rest);
	if (rc && out->len > start)
		grove__buf_cut(out, start);
	return rc;
}

int grove__claude_relink(struct grove_slice line, struct grove_slice parent,
			 const struct grove_slice *first_kept, struct grove_buf *out)
{
	bool logical = !grove__json_truthy(grove__json_get(line, names[G_PARENT])) &&
		       grove__json_type_of(grove__json_get(line, names[G_LOGICAL])) == JSON_STRING;

	(void)first_kept;
	return grove__json_edit_text(out, line, names[logical ? G_LOGICAL : G_PARENT], parent);
}

/* --- metadata; compose() adds the session id --- */

/* {"type":…,<member>:…} */
static int note(const char *type, const char *member, struct grove_slice text, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, names[G_TYPE], type);
	grove__out_slice(&o, member, text);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

int grove__claude_relocated(const char *cwd, struct grove_buf *out)
{
	return note("relocated", "relocatedCwd", grove__slice_str(cwd), out);
}

/* Records the user's choice to continue after `uuid`; NULL for before the first record. */
static int choose_leaf(const char *uuid, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, names[G_TYPE], "last-prompt");
	grove__out_string(&o, "leafUuid", uuid);
	grove__out_bool(&o, "explicit", true);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

int grove__claude_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
			struct grove_detail *d)
{
	const char *why, *text = spec->name.text, *leaf = spec->leaf.id;
	int rc;

	switch (spec->kind) {
	case GROVE_KIND_NAME:
		rc = note("custom-title", "customTitle", grove__js_trim(grove__slice_str(text ? text : "")), out);
		return rc ? grove__fail_nomem(d) : 0;
	case GROVE_KIND_OTHER:
		rc = choose_leaf(leaf && strcmp(leaf, GROVE_ROOT) ? leaf : NULL, out);
		return rc ? grove__fail_nomem(d) : 0;
	case GROVE_KIND_LABEL:
		why = "Claude Code does not support labels";
		break;
	case GROVE_KIND_MODEL:
	case GROVE_KIND_THINKING_LEVEL:
		why = "Claude Code does not record model changes: each reply names its own model";
		break;
	case GROVE_KIND_COMPACTION:
		why = "a Claude Code compaction is a compact_boundary record with a summary below it: append both";
		break;
	case GROVE_KIND_BRANCH_SUMMARY:
		why = "Claude Code does not support branch summaries";
		break;
	default:
		why = "Claude Code has no entries of that kind";
	}
	return grove__fail(d, GROVE_ENOTSUP, NULL, "%s", why);
}
