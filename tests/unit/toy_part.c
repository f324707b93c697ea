/*
 * tests/unit/toy_part.c: a dialect whose logs are lists, which may begin with a part of
 * another one: the first line names its session, and how many of its lines come before.
 *
 *	{"list":"8f04","dir":"/w","of":"8f03","lines":2}
 *	{"who":"user","say":"bye"}
 */
#include "toy_list.h"

#include "json/value.h"

#include <stdlib.h>

extern const struct grove__dialect dialect_toy_part;

static int roots(const struct grove__env *env, grove__root_fn *fn, void *payload)
{
	return toy_list_root(env, "toypart", fn, payload);
}

static enum grove__claim claims(struct grove_slice line)
{
	return grove__json_get(line, "list").len && grove__json_get(line, "of").len ? CLAIM_SURE : CLAIM_NONE;
}

static void read_header(const struct grove__json_line *l, const char *line, struct grove__arena *keep,
			struct grove__header *h)
{
	struct grove_slice of = grove__json_span_of(l, line, LIST_ORIGIN);

	toy_list_header(l, line, keep, h);
	if (grove__json_type_of(of) != JSON_STRING)
		return;
	h->base = grove__arena_dup(keep, grove__pi_text(keep, of));
	h->base_lines = strtoull(grove__json_span_of(l, line, LIST_LINES).ptr, NULL, 10);
}

static int compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	return grove__buf_addf(out, "{\"list\":\"%s\",\"dir\":\"%s\",\"of\":null}", in->id, in->cwd);
}

static const struct grove__dialect_header header = { .read = read_header, .compose = compose_header };

const struct grove__dialect dialect_toy_part = {
	TOY_LIST,
	.name = "toypart",
	.recognise = { .claims = claims },
	.paths.roots = roots,
	.header = &header,
};
