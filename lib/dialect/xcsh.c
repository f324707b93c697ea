/*
 * dialect/xcsh.c: xcsh's sessions.
 *
 * xcsh is derived from pi: the same tree with more types in it. The differences: the
 * session's name is the header's title, values need not be lines, large values are
 * stored as blobs, and models have roles.
 *
 *	{"type":"session","version":3,"id":…,"timestamp":…,"cwd":…,"title":…,"titleSource":"user"}
 *
 * Files that oh-my-pi wrote may begin with a title slot, which counts here too.
 */
#include "dialect/xcsh.h"
#include "dialect/bill.h"
#include "dialect/heads.h"

#include "js/js.h"
#include "json/value.h"

static const struct grove__pi_shape shapes[] = {
	{ GROVE_KIND_MESSAGE, "message", false, { { "message" } } },
	{ GROVE_KIND_THINKING_LEVEL, "thinking_level_change", false, { { "thinkingLevel", "null" } } },
	{ GROVE_KIND_MODEL, "model_change", false, { { "model" }, { "role" } } },
	{ GROVE_KIND_SERVICE_TIER, "service_tier_change", false, { { "serviceTier", "null" } } },
	{ GROVE_KIND_CONTEXT_CHANGE, "context_change", false,
	  { { "contextName" }, { "tenant" }, { "namespace" } } },
	{ GROVE_KIND_MODE, "mode_change", false, { { "mode" }, { "data" } } },
	/* its members are in the order in which the host gives them */
	{ GROVE_KIND_INIT, "session_init", false, { { NULL } } },
	{ GROVE_KIND_COMPACTION, "compaction", false,
	  { { "summary" }, { "shortSummary" }, { "firstKeptEntryId" }, { "tokensBefore" }, { "details" },
	    { "fromExtension" }, { "preserveData" } } },
	{ GROVE_KIND_BRANCH_SUMMARY, "branch_summary", false,
	  { { "fromId" }, { "summary" }, { "details" }, { "fromExtension" } } },
	{ GROVE_KIND_CUSTOM, "custom", true, { { "customType" }, { "data" } } },
	{ GROVE_KIND_CUSTOM_MESSAGE, "custom_message", true,
	  { { "customType" }, { "content" }, { "display" }, { "details" },
	    { "attribution", "\"agent\"" } } },
	{ GROVE_KIND_LABEL, "label", false, { { "targetId" }, { "label" } } },
	{ GROVE_KIND_RULES, "ttsr_injection", false, { { "injectedRules" } } },
	{ GROVE_KIND_TOOLS, "mcp_tool_selection", false, { { "selectedToolNames" } } },
};

static const struct grove__pi_words words = { shapes, sizeof(shapes) / sizeof(*shapes) };

enum grove__line_class grove__xcsh_index_as(const struct grove__pi_words *w,
					    const struct grove__json_line *l, const char *line,
					    struct grove__arena *tmp, struct grove__entry *e)
{
	enum grove__line_class class = grove__pi_index_as(w, l, line, tmp, e);

	/* a value other than an object has no meaning */
	if (l->type != JSON_OBJECT)
		return LINE_SKIP;
	if (class != LINE_ENTRY)
		return class;
	if (grove__json_string_is(grove__json_span_of(l, line, PI_TYPE), "title")) {
		e->text = grove__pi_text(tmp, grove__json_span_of(l, line, PI_TITLE));
		return LINE_SLOT;
	}
	/* if nobody named the session, its last short summary serves as its name */
	if (e->kind == GROVE_KIND_COMPACTION) {
		e->text = grove__pi_text(tmp, grove__json_span_of(l, line, PI_SHORT_SUMMARY));
		e->names = e->weak = e->text.len > 0;
	}
	return class;
}

int grove__xcsh_list(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		     const struct grove__entry *e, struct grove__summary *sum)
{
	int rc;

	(void)tmp;
	if (e->names) {
		grove__buf_clear(&sum->name);
		return grove__buf_add_slice(&sum->name, e->text);
	}
	if (e->kind != GROVE_KIND_MESSAGE ||
	    !grove__json_truthy(grove__json_span_of(l, line, PI_MESSAGE)))
		return 0;
	sum->messages++;
	if (sum->has_first || e->role != GROVE_ROLE_USER)
		return 0;
	rc = grove__pi_content_text(grove__json_span_of(l, line, PI_CONTENT), ' ', &sum->first);
	sum->has_first = sum->first.len > 0;
	return rc;
}

bool grove__xcsh_starts_file(enum grove_kind kind, enum grove_role role)
{
	return kind == GROVE_KIND_MESSAGE && role == GROVE_ROLE_ASSISTANT;
}

static enum grove__line_class xcsh_index(const struct grove__json_line *l, const char *line,
					 struct grove__arena *tmp, struct grove__entry *e)
{
	return grove__xcsh_index_as(&words, l, line, tmp, e);
}

static int compose(const struct grove__input *in, const struct grove__place *at,
		   struct grove_slice system, struct grove_buf *out, struct grove_buf *target,
		   struct grove_detail *d)
{
	return grove__pi_compose_as(&words, in, at, system, out, target, d);
}

static enum grove_kind kind(const struct grove__input *in)
{
	return grove__pi_input_kind_as(&words, in);
}

static int blobs_dir(const struct grove__env *env, struct grove_buf *out)
{
	return grove__xcsh_blobs_dir(env, "xcsh", out);
}

static int roots(const struct grove__env *env, grove__root_fn *fn, void *payload)
{
	return grove__xcsh_roots(env, "xcsh", fn, payload);
}

static int history_path(const struct grove__env *env, struct grove_buf *out)
{
	return grove__xcsh_history_path(env, "xcsh", out);
}

static int crumb_path(const struct grove__env *env, struct grove_buf *out)
{
	return grove__xcsh_crumb_path(env, "xcsh", out);
}

#define MINUTE_MS 60000

static struct grove_slice unquoted(struct grove_slice raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"' ? grove__slice(raw.ptr + 1, raw.len - 2)
						 : grove__slice("", 0);
}

/* Returns true for an id that encodes the session's time: no other agent makes such ids. */
static bool is_snowflake(struct grove_slice id, struct grove_slice timestamp)
{
	int64_t made = grove__xcsh_session_id_time(unquoted(id));
	int64_t time = grove__js_date_parse(unquoted(timestamp));

	return made != GROVE_NO_TIME && time != GROVE_NO_TIME && made > time - MINUTE_MS &&
	       made < time + MINUTE_MS;
}

/* A pi header has no title and no such id. */
static enum grove__claim claims(struct grove_slice line)
{
	enum { TYPE, ID, TIME, TITLE, TITLE_SOURCE, MODEL, MEMBERS };
	static const struct grove__json_member members[MEMBERS] = {
		[TYPE] = { "type", -1 },
		[ID] = { "id", -1 },
		[TIME] = { "timestamp", -1 },
		[TITLE] = { "title", -1 },
		[TITLE_SOURCE] = { "titleSource", -1 },
		[MODEL] = { "model", -1 },
	};
	struct grove__json_line l;
	struct grove_slice type;
	bool likely;

	if (!grove__dialect_scan(members, MEMBERS, line, &l))
		return CLAIM_NONE;
	type = grove__json_span_of(&l, line.ptr, TYPE);
	likely = grove__json_has(&l, TITLE_SOURCE) ||
		 (grove__json_string_is(type, "model_change") && grove__json_has(&l, MODEL)) ||
		 (grove__json_string_is(type, "session") &&
		  (grove__json_has(&l, TITLE) || is_snowflake(grove__json_span_of(&l, line.ptr, ID),
							      grove__json_span_of(&l, line.ptr, TIME))));
	return likely ? CLAIM_LIKELY : CLAIM_NONE;
}

static const struct grove__dialect_slot slot = {
	.compose = grove__xcsh_slot,
	.source = grove__xcsh_slot_source,
};

static const struct grove__dialect_header header = {
	.read = grove__pi_header,
	.compose = grove__xcsh_compose_header,
	.title = grove__xcsh_title,
	.slot = &slot,
	.migrate = grove__pi_migrate,
};

static const struct grove__dialect_blobs blobs = {
	.dir = blobs_dir,
	.prepare = grove__xcsh_prepare,
	.resolve = grove__xcsh_resolve,
};

static const struct grove__dialect_history history = {
	.path = history_path,
};

static const struct grove__dialect_last_session last_session = {
	.path = crumb_path,
	.compose = grove__xcsh_crumb_compose,
	.parse = grove__xcsh_crumb_parse,
};

static const struct grove__resume resume[] = {
	{ "xcsh", "xcsh --resume {id}", true },
	{ NULL },
};

const struct grove__dialect grove__dialect_xcsh = {
	GROVE__XCSH_FAMILY,
	.name = "xcsh",
	.recognise = {
		.claims = claims,
		.root = "/.xcsh/agent/sessions",
		.beside = grove__xcsh_beside,
		.project = grove__xcsh_own_project,
	},
	.read.index = xcsh_index,
	.usage.billed = grove__xcsh_billed,
	.context.messages = grove__xcsh_messages,
	.context.settings = grove__xcsh_settings,
	.context.first_kept = grove__xcsh_first_kept,
	.context.llm = grove__xcsh_llm,
	.write.kind = kind,
	.write.compose = compose,
	.write.move = grove__pi_move_header,
	.write.spell = grove__xcsh_spell,
	.names.session_id = grove__xcsh_session_id,
	.paths.roots = roots,
	.header = &header,
	.blobs = &blobs,
	.history = &history,
	.resume = resume,
	.last_session = &last_session,
};
