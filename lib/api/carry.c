/*
 * api/carry.c: the public calls of grove/carry.h.
 */
#include "api/api.h"
#include "transfer/carry.h"

#include <stdlib.h>

static int told(struct grove_carry *c, int rc, const struct grove_detail *d)
{
	return grove__api_keep(&c->detail, NULL, rc, d);
}

int grove_carry_open(struct grove *g, const char *what, const struct grove_carry_options *opt,
		     struct grove_carry **out)
{
	struct grove_carry *c = calloc(1, sizeof(*c));
	struct grove_carry_options o;
	struct grove_detail d;
	int rc;

	*out = c;
	if (!c)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	rc = grove__sized_take(&o, sizeof(o), opt, &d);
	/* a handle that could not be opened does nothing, but can be asked why */
	if (rc)
		o = (struct grove_carry_options){ .size = sizeof(o) };
	rc = rc ? (c->g = grove__world_ref(g), rc) : grove__carry_open(g, what, &o, c, &d);
	c->failed = rc != 0;
	grove__api_told(g, rc, &d);
	return told(c, rc, &d);
}

void grove_carry_close(struct grove_carry *c)
{
	if (!c)
		return;
	grove__carry_release(c);
	free(c);
}

void grove_carry_error(struct grove_carry *c, struct grove_detail *out)
{
	*out = c->detail;
}

static int usable(const struct grove_carry *c, struct grove_detail *d)
{
	grove__fail_clear(d);
	return c->failed ? grove__fail(d, GROVE_EINVAL, NULL, "the session is not open") : 0;
}

int grove_carry_about(struct grove_carry *c, struct grove_carry_about *out)
{
	struct grove_carry_about o = { .size = sizeof(o) };
	struct grove_detail d;
	int rc = usable(c, &d);

	if (!rc)
		rc = grove__sized_check(out, &d);
	if (!rc)
		rc = grove__carry_about(c, &o, &d);
	grove__sized_give(out, &o, sizeof(o));
	return told(c, rc, &d);
}

int grove_carry_state(struct grove_carry *c, const char *sub, struct grove_carry_state *out)
{
	struct grove_carry_state o = { .size = sizeof(o) };
	struct grove_detail d;
	int rc = usable(c, &d);

	if (!rc)
		rc = grove__sized_check(out, &d);
	if (!rc)
		rc = grove__carry_state(c, sub, &o, &d);
	grove__sized_give(out, &o, sizeof(o));
	return told(c, rc, &d);
}

int grove_carry_read(struct grove_carry *c, const char *sub, uint64_t from, uint64_t to,
		     struct grove_sink sink, struct grove_carry_state *out)
{
	struct grove_carry_state o = { .size = sizeof(o) };
	struct grove_detail d;
	int rc = usable(c, &d);

	if (!rc)
		rc = grove__sized_check(out, &d);
	if (!rc)
		rc = grove__carry_read(c, sub, from, to, sink, &o, &d);
	grove__sized_give(out, &o, sizeof(o));
	return told(c, rc, &d);
}

int grove_carry_line(struct grove_carry *c, struct grove_slice line, uint64_t seq,
		     struct grove_carry_line *out)
{
	struct grove_carry_line o = { .size = sizeof(o) };
	struct grove__carry_line l = { .kind = GROVE_CARRY_LINE_BAD };
	struct grove_detail d;
	int rc = usable(c, &d);

	if (!rc)
		rc = grove__sized_check(out, &d);
	if (!rc && !c->at.dialect)
		rc = grove__fail(&d, GROVE_EINVAL, NULL, "it is not known whose session it is");
	grove__arena_clear(&c->texts);
	grove__buf_clear(&c->line);
	if (!rc && (grove__buf_add_slice(&c->line, line) || grove__buf_reserve(&c->line, GROVE__JSON_PAD)))
		rc = grove__fail_nomem(&d);
	if (!rc) {
		memset(c->line.ptr + c->line.len, 0, GROVE__JSON_PAD);
		rc = grove__carry_classify(c, grove__buf_slice(&c->line), !seq, &c->texts, &l)
			     ? grove__fail_nomem(&d) : 0;
	}
	o.kind = l.kind;
	o.id = l.as.rec.id;
	o.parent = l.as.rec.parent;
	o.cwd = l.kind == GROVE_CARRY_LINE_HEADER && l.as.h.cwd ? grove__slice_str(l.as.h.cwd) : l.as.e.cwd;
	grove__sized_give(out, &o, sizeof(o));
	return told(c, rc, &d);
}

int grove_carry_append(struct grove_carry *c, const struct grove_slice *lines, size_t nr,
		       const struct grove_carry_append_options *opt, struct grove_carry_result *out)
{
	struct grove_carry_append_options o;
	struct grove_carry_result r = { .size = sizeof(r) };
	struct grove_detail d;
	int rc = usable(c, &d);

	if (!rc)
		rc = grove__sized_take(&o, sizeof(o), opt, &d);
	if (!rc)
		rc = grove__sized_check(out, &d);
	if (!rc)
		rc = grove__carry_append(c, lines, nr, &o, &r, &d);
	grove__sized_give(out, &r, sizeof(r));
	return told(c, rc, &d);
}

int grove_carry_set_modified(struct grove_carry *c, const char *sub, int64_t ms)
{
	struct grove_detail d;
	int rc = usable(c, &d);

	return told(c, rc ? rc : grove__carry_set_modified(c, sub, ms, &d), &d);
}

int grove_carry_each(struct grove_carry *c, grove_carry_part_fn *fn, void *payload)
{
	struct grove_detail d;
	int rc = usable(c, &d);

	if (!rc)
		rc = grove__carry_each(c, fn, payload, &d);
	return d.code ? told(c, rc, &d) : rc;
}

int grove_carry_file_get(struct grove_carry *c, const char *name, struct grove_buf *out)
{
	struct grove_detail d;
	int rc = usable(c, &d);

	return told(c, rc ? rc : grove__carry_file_get(c, name, out, &d), &d);
}

int grove_carry_file_put(struct grove_carry *c, const char *name, struct grove_slice bytes)
{
	struct grove_detail d;
	int rc = usable(c, &d);

	return told(c, rc ? rc : grove__carry_file_put(c, name, bytes, &d), &d);
}
