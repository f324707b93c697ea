/* dialect/dialect.c: finds a dialect by number, by name, or by the first line of a log. */
#include "dialect/dialect.h"

const struct grove__dialect *grove__dialect_at(unsigned i)
{
	/* callers count up from 0 and stop at NULL */
	return grove__dialects[i];
}

const struct grove__dialect *grove__dialect_find(const char *name)
{
	const struct grove__dialect *d;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
		if (!strcmp(d->name, name))
			return d;
	return NULL;
}

bool grove__dialect_scan(const struct grove__json_member *members, unsigned nr,
			 struct grove_slice line, struct grove__json_line *out)
{
	struct grove__json_want want;

	grove__json_want_init(&want, members, nr);
	return grove__json_scan(&want, line.ptr, line.len, true, out) == JSON_VALUE &&
	       out->type == JSON_OBJECT;
}

const struct grove__dialect *grove__dialect_recognise(struct grove_slice line)
{
	const struct grove__dialect *d, *best = NULL;
	enum grove__claim claim, most = CLAIM_NONE;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		claim = d->recognise.claims ? d->recognise.claims(line) : CLAIM_NONE;
		if (claim > most) {
			most = claim;
			best = d;
		}
	}
	return best;
}

int grove__dialect_spell(const struct grove__dialect *d, const struct grove__entry_spec *spec,
			 struct grove_buf *out, struct grove_detail *detail)
{
	if (!d->write.spell)
		return grove__fail(detail, GROVE_ENOTSUP, NULL, "%s has no entries of that kind", d->name);
	return d->write.spell(spec, out, detail);
}
