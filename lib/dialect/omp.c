/*
 * dialect/omp.c: oh-my-pi's sessions, where they differ from xcsh's.
 *
 * A log begins with a slot of 256 bytes for the title, so that a new name does not need a
 * new file; the header comes second. There are a few more types, a copy keeps more of its
 * source's header, and signed or encrypted values are never changed.
 *
 *	{"type":"title","v":1,"title":"…","source":"user","updatedAt":…,"pad":"      "}
 *	{"type":"session","version":3,"id":"01a1de46-…","timestamp":…,"cwd":…}
 */
#include "dialect/omp.h"
#include "dialect/bill.h"
#include "dialect/heads.h"
#include "dialect/xcsh.h"

#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

static const struct grove__pi_shape shapes[] = {
	{ GROVE_KIND_MESSAGE, "message", false, { { "message" } } },
	{ GROVE_KIND_THINKING_LEVEL, "thinking_level_change", false,
	  { { "thinkingLevel", "null" }, { "configured", "null" } } },
	{ GROVE_KIND_MODEL, "model_change", false,
	  { { "model" }, { "role" }, { "resolvedModelIsFallback", "false" } } },
	{ GROVE_KIND_SERVICE_TIER, "service_tier_change", false, { { "serviceTier", "null" } } },
	{ GROVE_KIND_MODE, "mode_change", false, { { "mode" }, { "data" } } },
	{ GROVE_KIND_INIT, "session_init", false, { { NULL } } },
	{ GROVE_KIND_COMPACTION, "compaction", false,
	  { { "summary" }, { "shortSummary" }, { "firstKeptEntryId" }, { "tokensBefore" },
	    { "tokensAfter" }, { "method" }, { "providerReplayThroughEntryId" }, { "details" },
	    { "fromExtension" }, { "preserveData" } } },
	{ GROVE_KIND_RESET, "reset_boundary", false, { { NULL } } },
	{ GROVE_KIND_BRANCH_SUMMARY, "branch_summary", false,
	  { { "fromId" }, { "summary" }, { "details" }, { "fromExtension" } } },
	{ GROVE_KIND_CUSTOM, "custom", true, { { "customType" }, { "data" } } },
	{ GROVE_KIND_CUSTOM_MESSAGE, "custom_message", true,
	  { { "customType", "\"custom-message\"" }, { "content", "\"\"" }, { "display", "false" },
	    { "details" }, { "attribution", "\"agent\"" } } },
	{ GROVE_KIND_LABEL, "label", false, { { "targetId" }, { "label" } } },
	{ GROVE_KIND_RULES, "ttsr_injection", false, { { "injectedRules" } } },
	{ GROVE_KIND_CREDENTIAL, "credential_pin", false, { { "provider" }, { "hash" } } },
	/* the usage of a helper model; its members are in the order in which the host gives them */
	{ GROVE_KIND_USAGE, "model_usage", false, { { NULL } } },
	{ GROVE_KIND_NAME, "title_change", false,
	  { { "title" }, { "source" }, { "previousTitle" }, { "trigger" } } },
};

static const struct grove__pi_words words = { shapes, sizeof(shapes) / sizeof(*shapes) };

static enum grove__line_class omp_index(const struct grove__json_line *l, const char *line,
					struct grove__arena *tmp, struct grove__entry *e)
{
	enum grove__line_class class = grove__xcsh_index_as(&words, l, line, tmp, e);

	/* it only says that there was a change; the name itself is in the slot */
	if (e->kind == GROVE_KIND_NAME)
		e->names = false;
	return class;
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

static int spell(const struct grove__entry_spec *spec, struct grove_buf *out, struct grove_detail *d)
{
	struct grove__out o;

	if (spec->kind != GROVE_KIND_NAME)
		return grove__xcsh_spell(spec, out, d);
	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "type", "title_change");
	grove__out_string_if(&o, "title", spec->name.text);
	grove__out_string_if(&o, "source", spec->name.source);
	grove__out_string_if(&o, "previousTitle", spec->name.before);
	grove__out_close(&o, '}');
	return grove__out_finish(&o) ? grove__fail_nomem(d) : 0;
}

/* Copies a member from the source's header. */
static void put_member(struct grove__out *o, const char *name, struct grove_slice raw)
{
	struct grove_buf b = GROVE_BUF_INIT;

	if (!raw.len)
		return;
	grove__out_fail(o, grove__json_put_canonical(&b, raw));
	grove__out_raw(o, name, grove__buf_slice(&b));
	grove__buf_release(&b);
}

static void put_title(struct grove__out *o, const struct grove__header_in *in)
{
	grove__out_string_if(o, "title", in->title);
	grove__out_string_if(o, "titleSource", in->title ? in->title_source : NULL);
}

/* Providers cache under the name of the first session of a lineage. */
static void put_cache_key(struct grove__out *o, const struct grove__header_in *in)
{
	struct grove_slice key = grove__json_get(in->from_header, "providerPromptCacheKey");

	put_member(o, "providerPromptCacheKey", key);
	if (!key.len)
		grove__out_string_if(o, "providerPromptCacheKey", in->from_id);
}

static int compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	struct grove_slice dirs = grove__json_get(in->from_header, "additionalDirectories");
	enum grove__header_for what = in->what;
	const char *parent = in->parent;
	struct grove__out o;

	if (!parent && what != HEADER_NEW)
		parent = what == HEADER_BRANCH ? in->from_path : in->from_id;
	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "type", "session");
	grove__out_number(&o, "version", 3);
	grove__out_string_if(&o, "id", in->id);
	if (what == HEADER_FORK)
		put_title(&o, in);
	grove__pi_put_time(&o, "timestamp", in->time);
	grove__out_string_if(&o, "cwd", in->cwd);
	switch (what) {
	case HEADER_NEW:
		grove__out_string_if(&o, "parentSession", parent);
		put_title(&o, in);
		break;
	case HEADER_FORK:
		put_member(&o, "additionalDirectories", dirs);
		grove__out_string_if(&o, "parentSession", parent);
		put_cache_key(&o, in);
		break;
	case HEADER_FORK_FROM:
		grove__out_string_if(&o, "parentSession", parent);
		put_cache_key(&o, in);
		put_title(&o, in);
		put_member(&o, "additionalDirectories", dirs);
		break;
	case HEADER_BRANCH:
		put_title(&o, in);
		grove__out_string_if(&o, "parentSession", parent);
		put_member(&o, "additionalDirectories", dirs);
		break;
	}
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

/* Adds a string to a list of raw strings, unless it is there already. */
static int add_path(struct grove_buf *out, struct grove_slice list, const char *path)
{
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove__json_iter it;
	bool there = false, any = false;
	int rc = grove__buf_add_char(out, '[');

	if (grove__json_type_of(list) == JSON_ARRAY) {
		grove__json_iter_init(&it, list);
		while (!rc && grove__json_next(&it)) {
			grove__buf_clear(&text);
			rc = grove__json_text(&text, it.value);
			there |= grove__slice_eq(grove__buf_slice(&text), grove__slice_str(path));
			rc = rc || !any ? rc : grove__buf_add_char(out, ',');
			rc = rc ? rc : grove__json_put_raw(out, it.value);
			any = true;
		}
	}
	if (!there) {
		rc = rc || !any ? rc : grove__buf_add_char(out, ',');
		rc = rc ? rc : grove__json_put_str(out, path);
	}
	grove__buf_release(&text);
	return rc ? rc : grove__buf_add_char(out, ']');
}

/* The header records where the file has been. */
static int move_header(struct grove_slice line, const char *cwd, const char *from,
		       struct grove_buf *out)
{
	struct grove_buf dir = GROVE_BUF_INIT, list = GROVE_BUF_INIT;
	struct grove__json_change ch[2] = { { .path = { "cwd" } }, { .path = { "previousSessionFiles" } } };
	int rc = grove__json_put_str(&dir, cwd);

	if (!rc && from)
		rc = add_path(&list, grove__json_get(line, "previousSessionFiles"), from);
	ch[0].value = grove__buf_slice(&dir);
	ch[1].value = grove__buf_slice(&list);
	rc = rc ? rc : grove__json_edit(out, line, ch, from ? 2 : 1);
	grove__buf_release(&dir);
	grove__buf_release(&list);
	return rc;
}

static int blobs_dir(const struct grove__env *env, struct grove_buf *out)
{
	return grove__xcsh_blobs_dir(env, "omp", out);
}

static enum grove__claim claims(struct grove_slice line)
{
	enum { TYPE, DIRECTORIES, PREVIOUS, CACHE_KEY, MEMBERS };
	static const struct grove__json_member members[MEMBERS] = {
		[TYPE] = { "type", -1 },
		[DIRECTORIES] = { "additionalDirectories", -1 },
		[PREVIOUS] = { "previousSessionFiles", -1 },
		[CACHE_KEY] = { "providerPromptCacheKey", -1 },
	};
	struct grove__json_line l;
	struct grove_slice type;

	if (!grove__dialect_scan(members, MEMBERS, line, &l))
		return CLAIM_NONE;
	type = grove__json_span_of(&l, line.ptr, TYPE);
	if (grove__json_string_is(type, "title"))
		return CLAIM_SURE;
	return grove__json_string_is(type, "session") &&
			       (grove__json_has(&l, DIRECTORIES) || grove__json_has(&l, PREVIOUS) ||
				grove__json_has(&l, CACHE_KEY))
		       ? CLAIM_LIKELY
		       : CLAIM_NONE;
}

static int roots(const struct grove__env *env, grove__root_fn *fn, void *payload)
{
	return grove__xcsh_roots(env, "omp", fn, payload);
}

static int history_path(const struct grove__env *env, struct grove_buf *out)
{
	return grove__xcsh_history_path(env, "omp", out);
}

static int crumb_path(const struct grove__env *env, struct grove_buf *out)
{
	return grove__xcsh_crumb_path(env, "omp", out);
}

/* The usage of a helper model has an entry of its own. */
static int billed(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		  const struct grove__entry *e, struct grove__billed *out)
{
	if (e->kind == GROVE_KIND_USAGE)
		return grove__pi_bill(l, line, tmp, e, PI_BILL_USAGE,
				      grove__pi_bill_member(l, line, PI_BILL_MODEL), out);
	return grove__xcsh_billed(l, line, tmp, e, out);
}

static const struct grove__dialect_slot slot = {
	.compose = grove__xcsh_slot,
	.source = grove__xcsh_slot_source,
	.first = true,
};

static const struct grove__dialect_header header = {
	.read = grove__pi_header,
	.compose = compose_header,
	.title = grove__xcsh_title,
	.slot = &slot,
	.migrate = grove__pi_migrate,
};

static const struct grove__dialect_blobs blobs = {
	.dir = blobs_dir,
	.prepare = grove__omp_prepare,
	.resolve = grove__xcsh_resolve,
};

static const struct grove__dialect_history history = {
	.path = history_path,
	.layout = 1,
};

static const struct grove__dialect_last_session last_session = {
	.path = crumb_path,
	.compose = grove__xcsh_crumb_compose,
	.parse = grove__xcsh_crumb_parse,
};

static const struct grove__resume resume[] = {
	{ "omp", "omp --resume {id}", true },
	{ NULL },
};

const struct grove__dialect grove__dialect_omp = {
	GROVE__XCSH_FAMILY,
	.name = "omp",
	.recognise = {
		.claims = claims,
		.root = "/.omp/agent/sessions",
		/*
		 * adjacent files could be xcsh's, and count as such: most logs show whose
		 * they are
		 */
	},
	.read.index = omp_index,
	.list.unused_below = 64 << 10,
	.usage.billed = billed,
	.context.messages = grove__omp_messages,
	.context.settings = grove__omp_settings,
	.context.first_kept = grove__omp_first_kept,
	.context.settle = grove__omp_settle,
	.context.llm = grove__omp_llm,
	.write.kind = kind,
	.write.compose = compose,
	.write.move = move_header,
	.write.spell = spell,
	.names.session_id = grove__pi_session_id,
	.paths.roots = roots,
	.header = &header,
	.blobs = &blobs,
	.history = &history,
	.resume = resume,
	.last_session = &last_session,
};
