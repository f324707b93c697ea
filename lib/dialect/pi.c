/*
 * dialect/pi.c: pi's sessions: the header, and what makes a line an entry.
 *
 *	{"type":"session","version":3,"id":…,"timestamp":…,"cwd":…}
 *	{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":…,"message":{"role":…}}
 *
 * Unknown types are entries too: they are nodes of the tree and move the leaf.
 */
#include "dialect/pi.h"
#include "dialect/bill.h"
#include "dialect/heads.h"

#include "js/calendar.h"
#include "js/js.h"
#include "json/value.h"

const struct grove__json_member grove__pi_members[PI_MEMBERS] = {
	[PI_TYPE] = { "type", -1 },
	[PI_ID] = { "id", -1 },
	[PI_PARENT] = { "parentId", -1 },
	[PI_TIME] = { "timestamp", -1 },
	[PI_VERSION] = { "version", -1 },
	[PI_CWD] = { "cwd", -1 },
	[PI_PARENT_SESSION] = { "parentSession", -1 },
	[PI_TARGET] = { "targetId", -1 },
	[PI_LABEL] = { "label", -1 },
	[PI_NAME] = { "name", -1 },
	[PI_CUSTOM_TYPE] = { "customType", -1 },
	[PI_TITLE] = { "title", -1 },
	[PI_TITLE_SOURCE] = { "titleSource", -1 },
	[PI_SHORT_SUMMARY] = { "shortSummary", -1 },
	[PI_BARE_ROLE] = { "role", -1 },
	[PI_MESSAGE] = { "message", -1 },
	[PI_ROLE] = { "role", PI_MESSAGE },
	[PI_MESSAGE_TIME] = { "timestamp", PI_MESSAGE },
	[PI_CONTENT] = { "content", PI_MESSAGE },
};

static const struct {
	const char *name;
	enum grove_role role;
} roles[] = {
	{ "toolResult", GROVE_ROLE_TOOL_RESULT },
	{ "tool", GROVE_ROLE_TOOL_RESULT }, /* as hosts call it */
	{ "assistant", GROVE_ROLE_ASSISTANT },
	{ "user", GROVE_ROLE_USER },
	{ "bashExecution", GROVE_ROLE_BASH },
	{ "custom", GROVE_ROLE_CUSTOM },
	{ "hookMessage", GROVE_ROLE_CUSTOM }, /* its name before version 3 */
	{ "system", GROVE_ROLE_SYSTEM },
	{ "developer", GROVE_ROLE_DEVELOPER },
	{ "pythonExecution", GROVE_ROLE_PYTHON },
	{ "fileMention", GROVE_ROLE_FILES },
	{ "branchSummary", GROVE_ROLE_BRANCH_SUMMARY },
	{ "compactionSummary", GROVE_ROLE_COMPACTION_SUMMARY },
};

const struct grove__pi_shape *grove__pi_shape(const struct grove__pi_words *words,
					      enum grove_kind kind)
{
	for (size_t i = 0; i < words->nr; i++)
		if (words->shapes[i].kind == kind)
			return &words->shapes[i];
	return NULL;
}

enum grove_kind grove__pi_kind(const struct grove__pi_words *words, struct grove_slice raw)
{
	for (size_t i = 0; i < words->nr; i++)
		if (grove__json_string_is(raw, words->shapes[i].type))
			return words->shapes[i].kind;
	return grove__json_string_is(raw, "session") ? GROVE_KIND_HEADER : GROVE_KIND_OTHER;
}

enum grove_role grove__pi_role(struct grove_slice raw)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (grove__json_string_is(raw, roles[i].name))
			return roles[i].role;
	return GROVE_ROLE_OTHER;
}

/*
 * Returns true for ASCII without a backslash; tests eight bytes at a time, because most
 * texts are ids.
 */
static bool is_plain(struct grove_slice s)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	size_t i = 0;

	for (; i + 8 <= s.len; i += 8) {
		uint64_t x, y;

		memcpy(&x, s.ptr + i, 8);
		y = x ^ (ones * '\\');
		/* a zero byte in y was a backslash */
		if (((y - ones) & ~y & high) || (x & high))
			return false;
	}
	for (; i < s.len; i++)
		if (s.ptr[i] == '\\' || s.ptr[i] & 0x80)
			return false;
	return true;
}

struct grove_slice grove__pi_text(struct grove__arena *tmp, struct grove_slice raw)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice in, out;

	if (grove__json_type_of(raw) != JSON_STRING)
		return grove__slice(NULL, 0);
	in = grove__slice(raw.ptr + 1, raw.len - 2);
	if (is_plain(in))
		return in;
	if (grove__json_text(&b, raw)) {
		grove__buf_release(&b);
		tmp->failed = true;
		return grove__slice(NULL, 0);
	}
	out.ptr = grove__arena_dup(tmp, grove__buf_slice(&b));
	out.len = out.ptr ? b.len : 0;
	grove__buf_release(&b);
	return out;
}

int64_t grove__pi_date(struct grove__arena *tmp, struct grove_slice raw)
{
	double ms;

	switch (grove__json_type_of(raw)) {
	case JSON_STRING:
		return grove__js_date_parse(grove__pi_text(tmp, raw));
	case JSON_NUMBER:
		ms = grove__json_number(raw);
		if (ms >= -8.64e15 && ms <= 8.64e15)
			return (int64_t)ms;
		return GROVE_NO_TIME;
	case JSON_NULL:
	case JSON_FALSE:
		return 0;
	case JSON_TRUE:
		return 1;
	default:
		return GROVE_NO_TIME;
	}
}

bool grove__pi_has_message(const struct grove__json_line *l, const char *line, unsigned member)
{
	return l->value.len >= (1 << 20) ||
	       grove__json_type_of(grove__json_span_of(l, line, member)) == JSON_OBJECT;
}

enum grove__line_class grove__pi_index_as(const struct grove__pi_words *words,
					  const struct grove__json_line *l, const char *line,
					  struct grove__arena *tmp, struct grove__entry *e)
{
	struct grove_slice raw;

	memset(e, 0, sizeof(*e));
	e->time = GROVE_NO_TIME;
	e->parent_is = PARENT_ABSENT;
	if (l->type != JSON_OBJECT) {
		e->no_object = true;
		raw = grove__slice(line + l->value.off, (size_t)l->value.len);
		return grove__json_truthy(raw) ? LINE_ENTRY : LINE_SKIP;
	}
	e->kind = (uint8_t)grove__pi_kind(words, grove__json_span_of(l, line, PI_TYPE));
	if (e->kind == GROVE_KIND_HEADER)
		return LINE_HEADER;
	raw = grove__json_span_of(l, line, PI_ID);
	if (grove__json_type_of(raw) == JSON_STRING) {
		e->has_id = true;
		e->id = grove__pi_text(tmp, raw);
	}
	raw = grove__json_span_of(l, line, PI_PARENT);
	if (grove__json_type_of(raw) == JSON_STRING) {
		e->parent_is = PARENT_NAMED;
		e->parent = grove__pi_text(tmp, raw);
	} else if (grove__json_type_of(raw) == JSON_NULL) {
		e->parent_is = PARENT_NULL;
	}
	if (grove__json_has(l, PI_TIME))
		e->time = grove__pi_date(tmp, grove__json_span_of(l, line, PI_TIME));
	switch (e->kind) {
	case GROVE_KIND_MESSAGE:
		if (grove__json_has(l, PI_ROLE))
			e->role = (uint8_t)grove__pi_role(grove__json_span_of(l, line, PI_ROLE));
		else
			e->role = GROVE_ROLE_OTHER;
		e->hollow = !grove__pi_has_message(l, line, PI_MESSAGE);
		break;
	case GROVE_KIND_LABEL:
		e->target = grove__pi_text(tmp, grove__json_span_of(l, line, PI_TARGET));
		e->text = grove__pi_text(tmp, grove__json_span_of(l, line, PI_LABEL));
		break;
	case GROVE_KIND_NAME:
		e->text = grove__js_trim(grove__pi_text(tmp, grove__json_span_of(l, line, PI_NAME)));
		e->names = true;
		break;
	case GROVE_KIND_CUSTOM:
		e->leaf_mark = grove__json_string_is(grove__json_span_of(l, line, PI_CUSTOM_TYPE),
						     PI_LEAF_MARK);
		break;
	default:
		break;
	}
	return LINE_ENTRY;
}

static enum grove__line_class pi_index(const struct grove__json_line *l, const char *line,
				       struct grove__arena *tmp, struct grove__entry *e)
{
	return grove__pi_index_as(&grove__pi_words, l, line, tmp, e);
}

/* Copies a string member; NULL if it is absent or not a string. */
static const char *kept(const struct grove__json_line *l, const char *line, unsigned member,
			struct grove__arena *keep)
{
	struct grove_slice raw = grove__json_span_of(l, line, member), text;

	if (grove__json_type_of(raw) != JSON_STRING)
		return NULL;
	text = grove__pi_text(keep, raw);
	/* a failed allocation must not look like an empty text */
	return text.ptr ? grove__arena_dup(keep, text) : NULL;
}

/*
 * A missing version is 1, and other spellings count as the number that JavaScript reads.
 * What compares as 3 or more, or is not comparable, needs no migration.
 */
static unsigned version_of(struct grove__arena *tmp, struct grove_slice raw)
{
	struct grove_slice text;
	double v;

	switch (grove__json_type_of(raw)) {
	case JSON_NUMBER:
		v = grove__json_number(raw);
		break;
	case JSON_STRING:
		text = grove__js_trim(grove__pi_text(tmp, raw));
		v = text.len ? grove__js_parse_number(text) : 0;
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
		return 3;
	default:
		return 1;
	}
	if (v < 3)
		return v >= 2 ? 2 : 1;
	return v < 1e9 ? (unsigned)v : v >= 1e9 ? 1000000000u : 3;
}

void grove__pi_header(const struct grove__json_line *l, const char *line,
		      struct grove__arena *keep, struct grove__header *h)
{
	memset(h, 0, sizeof(*h));
	h->id = kept(l, line, PI_ID, keep);
	h->cwd = kept(l, line, PI_CWD, keep);
	h->parent = kept(l, line, PI_PARENT_SESSION, keep);
	h->title = kept(l, line, PI_TITLE, keep);
	h->title_source = kept(l, line, PI_TITLE_SOURCE, keep);
	h->time_text = kept(l, line, PI_TIME, keep);
	h->time = grove__json_has(l, PI_TIME)
			  ? grove__pi_date(keep, grove__json_span_of(l, line, PI_TIME))
			  : GROVE_NO_TIME;
	h->usable = l->type == JSON_OBJECT && h->id &&
		    grove__json_string_is(grove__json_span_of(l, line, PI_TYPE), "session");
	h->version = version_of(keep, grove__json_span_of(l, line, PI_VERSION));
}

static enum grove_kind pi_kind(const struct grove__input *in)
{
	return grove__pi_input_kind_as(&grove__pi_words, in);
}

static const struct grove__dialect_edits edits = {
	.read = grove__pi_edit,
	.fit = grove__pi_fit_edit,
};

/* An empty name takes the name away. */
static int clean_name(struct grove_slice name, struct grove_buf *out)
{
	int rc = grove__pi_clean_name(name, out);

	return rc ? rc : !out->len;
}

/* The program's other form of a session, a log of transactions. */
static const char *other(struct grove_slice line)
{
	bool begins = grove__json_string_is(grove__json_get(line, "kind"), "header") &&
		      grove__json_type_of(grove__json_get(line, "v")) == JSON_NUMBER;

	return begins ? "it is a session of pi's harness (format 4), which grove does not read" : NULL;
}

static const struct grove__dialect_header header = {
	.read = grove__pi_header,
	.other = other,
	.compose = grove__pi_compose_header,
	.fork_settles = true,
	.migrate = grove__pi_migrate,
};

/* OpenClaw's list of sessions: an object for each, under the name it gave the session. */
static int find_openclaw_name(struct grove_slice json, const char *id, struct grove_buf *out)
{
	struct grove__json_iter it;

	grove__json_iter_init(&it, json);
	while (grove__json_next(&it))
		if (it.object && grove__json_type_of(it.value) == JSON_OBJECT &&
		    grove__json_string_is(grove__json_get(it.value, "sessionId"), id))
			return grove__json_text(out, it.key);
	return 0;
}

static const struct grove__resume resume[] = {
	{ "pi", "pi --session {id}", .paths = true },
	{ "openclaw", "openclaw tui --session {key}", .names = "sessions.json",
	  .unnamed = "OpenClaw's sessions.json does not name this session", .find_name = find_openclaw_name },
	{ NULL },
};

const struct grove__dialect grove__dialect_pi = {
	.name = "pi",
	.version = 3,
	.read = {
		.members = grove__pi_members,
		.nr_members = PI_MEMBERS,
		.id = "id",
		.index = pi_index,
		.ids_since = PI_IDS_SINCE,
		.line_id = grove__pi_line_id,
	},
	.text = {
		.pieces = grove__pi_pieces,
		.prompt = grove__pi_prompt,
	},
	.list = {
		.line = grove__pi_list,
	},
	.usage = {
		.billed = grove__pi_billed,
		.members = grove__pi_bill_members,
		.nr_members = PI_BILL_MEMBERS,
	},
	.context = {
		.messages = grove__pi_messages,
		.sets = grove__pi_sets,
		.settings = grove__pi_settings,
		.first_kept = grove__pi_first_kept,
		.edits = &edits,
		.llm = grove__pi_llm,
		.system = grove__pi_system,
	},
	.write = {
		.input = grove__pi_input,
		.kind = pi_kind,
		.bare = grove__pi_bare,
		.compose = grove__pi_compose,
		.spell = grove__pi_spell,
		.starts_file = grove__pi_starts_file,
		.relink = grove__pi_relink,
		.move = grove__pi_move_header,
		.mute = grove__pi_mute,
	},
	.names = {
		.entry_id = grove__pi_entry_id,
		.session_id_ok = grove__pi_session_id_ok,
		.session_id_rule = grove__pi_id_rule,
		.session_id = grove__pi_session_id,
		.clean = clean_name,
	},
	.paths = {
		.roots = grove__pi_roots,
		.database = grove__pi_database,
		.project = grove__pi_project,
		.file_name = grove__pi_file_name,
		.parse_file_name = grove__pi_parse_file_name,
	},
	.heads = &grove__heads_pi,
	.header = &header,
	.delegation = &grove__pi_delegation,
	.resume = resume,
};
