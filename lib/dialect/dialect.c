/*
 * dialect/dialect.c: which dialects there are, and which one a log speaks.
 */
#include "dialect/dialect.h"

#include "json/value.h"

static const struct grove__dialect *const dialects[] = {
	&grove__dialect_pi,
};

/* All that are spoken out there. */
static const char *const known[] = { "pi", "omp", "xcsh", "claude" };

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

bool grove__dialect_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i], name))
			return true;
	return false;
}

/*
 * Members that only one agent writes into its first line. A pi header has none
 * of them, so what is left over is pi's, or nothing we know.
 */
enum { TYPE, UUID, SESSION_ID, TITLE_SOURCE, MODEL, MEMBERS };
static const struct grove__json_member tells[MEMBERS] = {
	[TYPE] = { "type", -1 },
	[UUID] = { "uuid", -1 },
	[SESSION_ID] = { "sessionId", -1 },
	[TITLE_SOURCE] = { "titleSource", -1 },
	[MODEL] = { "model", -1 },
};

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
	if (grove__json_has(&l, UUID) && grove__json_has(&l, SESSION_ID))
		return "claude";
	if (grove__json_has(&l, TITLE_SOURCE) ||
	    (grove__json_string_is(type, "model_change") && grove__json_has(&l, MODEL)))
		return "xcsh";
	return NULL;
}
