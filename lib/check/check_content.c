/*
 * check/check_content.c: what entries refer to: tool calls, and blobs.
 *
 * Both examine lines, which are read once for both, and only those that can contain a
 * reference.
 */
#include "check/check.h"

#include <stdlib.h>

static bool can_pair(const struct grove__spine *s, uint32_t row)
{
	enum grove_role role = grove__spine_role(s, row);

	return role == GROVE_ROLE_ASSISTANT || role == GROVE_ROLE_TOOL_RESULT;
}

/* Selects the rows to examine; NULL: all *nr of them. */
static int choose(const struct grove__checker *c, bool blobs, uint32_t **list, size_t *nr)
{
	const struct grove__spine *s = c->s->image->spine;

	*list = NULL;
	*nr = s->nr;
	if (blobs)
		return 0;
	*list = malloc(((size_t)s->nr + 1) * sizeof(**list));
	if (!*list)
		return grove__fail_nomem(c->d);
	*nr = 0;
	for (uint32_t row = 0; row < s->nr; row++)
		if (can_pair(s, row))
			(*list)[(*nr)++] = row;
	return 0;
}

int grove__check_content(struct grove__checker *c)
{
	const struct grove__image *im = c->s->image;
	bool with_blobs = im->dialect->blobs;
	struct grove__pairs *pairs = grove__pairs_new();
	struct grove__blobs_named *blobs = with_blobs ? grove__blobs_named_new() : NULL;
	struct grove__rows r = { 0 };
	struct grove_slice line;
	uint32_t *list = NULL, row;
	size_t nr = 0;
	int rc = pairs && (blobs || !with_blobs) ? choose(c, with_blobs, &list, &nr)
						 : grove__fail_nomem(c->d);

	if (!rc) {
		grove__rows_init(&r, im, c->s->log, list, nr);
		while (!rc && !(rc = grove__rows_next(&r, &row, &line, c->d))) {
			if (can_pair(im->spine, row))
				rc = grove__pairs_feed(pairs, c, row, line);
			if (!rc && blobs)
				rc = grove__blobs_named_feed(blobs, c, row, line);
		}
		grove__rows_release(&r);
		rc = rc == 1 ? grove__pairs_tell(pairs, c) : rc;
	}
	free(list);
	grove__pairs_free(pairs);
	grove__blobs_named_free(blobs);
	return rc;
}
