/*
 * dialect/dialect.c: which dialects there are, and which one a log speaks.
 */
#include "dialect/dialect.h"

#include "dialect/xcsh.h"
#include "js/js.h"
#include "json/value.h"

static const struct grove__dialect *const dialects[] = {
	&grove__dialect_pi,
	&grove__dialect_omp,
	&grove__dialect_xcsh,
	&grove__dialect_claude,
};

const struct grove__dialect *grove__dialect_at(unsigned i)
{
	return i < sizeof(dialects) / sizeof(*dialects) ? dialects[i] : NULL;
}

const struct grove__dialect *grove__dialect_find(const char *name)
{
	const struct grove__dialect *d;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
		if (!strcmp(d->name, name))
			return d;
	return NULL;
}

/*
 * Members that only one agent writes into its first line. A pi header has none
 * of them, so what is left over is pi's, or nothing we know.
 */
enum {
	TYPE, ID, TIME, UUID, SESSION_ID, PARENT_UUID, LEAF_UUID, MESSAGE_ID, TITLE, TITLE_SOURCE,
	MODEL, DIRECTORIES, PREVIOUS, CACHE_KEY, MEMBERS
};
static const struct grove__json_member tells[MEMBERS] = {
	[TYPE] = { "type", -1 },
	[ID] = { "id", -1 },
	[TIME] = { "timestamp", -1 },
	[UUID] = { "uuid", -1 },
	[SESSION_ID] = { "sessionId", -1 },
	[PARENT_UUID] = { "parentUuid", -1 },
	[LEAF_UUID] = { "leafUuid", -1 },
	[MESSAGE_ID] = { "messageId", -1 },
	[TITLE] = { "title", -1 },
	[TITLE_SOURCE] = { "titleSource", -1 },
	[MODEL] = { "model", -1 },
	[DIRECTORIES] = { "additionalDirectories", -1 },
	[PREVIOUS] = { "previousSessionFiles", -1 },
	[CACHE_KEY] = { "providerPromptCacheKey", -1 },
};

static struct grove_slice unquoted(struct grove_slice raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"' ? grove__slice(raw.ptr + 1, raw.len - 2)
						 : grove__slice("", 0);
}

#define MINUTE_MS 60000

/* An id that is a time, and the time is the session's: no other agent makes such ids. */
static bool snowflake(const struct grove__json_line *l, const char *line)
{
	int64_t made = grove__xcsh_session_id_time(unquoted(grove__json_span_of(l, line, ID)));
	int64_t time = grove__js_date_parse(unquoted(grove__json_span_of(l, line, TIME)));

	return made != GROVE_NO_TIME && time != GROVE_NO_TIME && made > time - MINUTE_MS &&
	       made < time + MINUTE_MS;
}

/*
 * A record of Claude Code, or a line about the session, which often stands
 * before the first record: a title, a mode, files that were saved.
 */
static bool claude(const struct grove__json_line *l, const char *line)
{
	struct grove_slice type = grove__json_span_of(l, line, TYPE);

	if (grove__json_has(l, ID) || grove__json_string_is(type, "session"))
		return grove__json_has(l, UUID) && grove__json_has(l, SESSION_ID);
	return grove__json_has(l, SESSION_ID) || grove__json_has(l, PARENT_UUID) ||
	       grove__json_has(l, LEAF_UUID) ||
	       (grove__json_has(l, MESSAGE_ID) && type.len > 14 &&
		!memcmp(type.ptr, "\"file-history-", 14));
}

const char *grove__dialect_guess(struct grove_slice line)
{
	struct grove__json_want want;
	struct grove__json_line l;
	struct grove_slice type;

	grove__json_want_init(&want, tells, MEMBERS);
	if (grove__json_scan(&want, line.ptr, line.len, true, &l) != JSON_VALUE ||
	    l.type != JSON_OBJECT)
		return NULL;
	type = grove__json_span_of(&l, line.ptr, TYPE);
	if (grove__json_string_is(type, "title"))
		return "omp";
	if (claude(&l, line.ptr))
		return "claude";
	if (grove__json_string_is(type, "session")) {
		if (grove__json_has(&l, DIRECTORIES) || grove__json_has(&l, PREVIOUS) ||
		    grove__json_has(&l, CACHE_KEY))
			return "omp";
		if (grove__json_has(&l, TITLE) || snowflake(&l, line.ptr))
			return "xcsh";
	}
	if (grove__json_has(&l, TITLE_SOURCE) ||
	    (grove__json_string_is(type, "model_change") && grove__json_has(&l, MODEL)))
		return "xcsh";
	return NULL;
}
