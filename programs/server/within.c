/*
 * within.c: may a token write this, or would the session leave its directories?
 *
 * The limits of a token are directories, and in some formats it is the lines that say which
 * directory a session belongs to, by rules that are the agent's. So what could change that is
 * rehearsed: a copy of the session in memory gets the same change, and the library says where
 * the copy is. Most writes name no directory, or one within the limits, and need none of this.
 */
#include "within.h"
#include "auth.h"
#include "held.h"
#include "reply.h"
#include "tokens.h"
#include "workers.h"

#include <stdlib.h>
#include <string.h>

struct rehearsal {
	struct request *r;
	struct grove *g;                /* its store is in memory */
	const char *id;
};

static int has_projects(const struct request *r)
{
	return r->who.token && r->who.token->nr_projects;
}

/* Returns true if the value is a text that names a directory outside. */
static int is_outside(const struct request *r, struct grove_slice value)
{
	char *room = malloc(value.len + 5);
	struct grove_slice text;
	int yes = !room;

	if (room && grove_json_text(value, room, value.len + 4, &text) && text.len) {
		room[text.len] = '\0';
		yes = strlen(room) != text.len || !auth_in_projects(&r->who, room);
	}
	free(room);
	return yes;
}

/* Returns true if a line could take its session elsewhere. */
static int may_move(const struct request *r, struct grove_slice line)
{
	static const char *const names[] = { "cwd", "relocatedCwd" };
	struct grove_slice value[2];
	uint32_t has = grove_json_members(line, names, 2, value);

	/* to take a move back may lead outside, too */
	return has & 2 || (has & 1 && is_outside(r, value[0]));
}

static int any_may_move(const struct request *r, const struct grove_slice *line, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (may_move(r, line[i]))
			return 1;
	return 0;
}

/* ---------------------------------------------------------------- rehearsals */

struct copy {
	struct grove_buf bytes;
};

static int copy_write(void *payload, const char *ptr, size_t len)
{
	struct copy *c = payload;

	return c->bytes.len + len > COPY_MAX ? GROVE_ETOOBIG : grove_buf_add(&c->bytes, (struct grove_slice){ ptr, len });
}

/* Keeps the lines that a log can begin with: others say nothing. */
static int split(struct grove_carry *from, const struct copy *c, struct grove_slice **out, size_t *nr)
{
	const char *at = c->bytes.ptr, *end = at + c->bytes.len;
	size_t room = 0;

	for (uint64_t seq = 0; at < end; seq++) {
		struct grove_carry_line about = { .size = sizeof(about) };
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		struct grove_slice line = { at, (size_t)((lf ? lf : end) - at) };

		at = lf ? lf + 1 : end;
		if (grove_carry_line(from, line, seq, &about) || about.kind == GROVE_CARRY_LINE_BLANK ||
		    about.kind == GROVE_CARRY_LINE_BAD)
			continue;
		if (*nr == room) {
			struct grove_slice *more = realloc(*out, (room = room ? 2 * room : 256) * sizeof(*more));

			if (!more)
				return GROVE_ENOMEM;
			*out = more;
		}
		(*out)[(*nr)++] = line;
	}
	return 0;
}

static int carry_into(struct rehearsal *x, const struct grove_carry_options *fresh, const struct grove_slice *line, size_t nr)
{
	struct grove_carry_options o = fresh ? *fresh : (struct grove_carry_options){ .size = sizeof(o) };
	struct grove_carry_append_options how = { .size = sizeof(how), .flags = GROVE_CARRY_FOLLOW };
	struct grove_carry_result result = { .size = sizeof(result) };
	struct grove_carry *c = NULL;
	int rc;

	o.flags = fresh ? GROVE_CARRY_CREATE : GROVE_CARRY_WRITE;
	rc = grove_carry_open(x->g, fresh ? NULL : x->id, &o, &c);
	if (!rc && nr)
		rc = grove_carry_append(c, line, nr, &how, &result);
	if (rc && c)
		grove_carry_error(c, &x->r->detail);
	grove_carry_close(c);
	return rc;
}

static int copy_log(struct rehearsal *x, struct held *h)
{
	struct grove_carry_options o = { .size = sizeof(o) };
	struct grove_carry *from = NULL;
	struct grove_slice *line = NULL;
	struct copy c = { GROVE_BUF_INIT };
	size_t nr = 0;
	int rc = grove_carry_open(h->own ? h->own : x->r->g, h->what, &o, &from);

	if (!rc)
		rc = grove_carry_read(from, NULL, 0, 0, (struct grove_sink){ copy_write, &c }, NULL);
	if (!rc)
		rc = split(from, &c, &line, &nr);
	if (rc && from)
		grove_carry_error(from, &x->r->detail);
	grove_carry_close(from);
	o = (struct grove_carry_options){ .size = sizeof(o), .id = h->id, .dialect = h->dialect, .cwd = h->cwd };
	if (!rc)
		rc = carry_into(x, &o, line, nr);
	free(line);
	grove_buf_release(&c.bytes);
	return rc;
}

static int begin(struct rehearsal *x, struct request *r, struct held *h, const char *id)
{
	int rc;

	*x = (struct rehearsal){ .r = r, .id = h ? h->id : id };
	rc = pool_open_grove(r->server, "memory:", &x->g);
	if (rc)
		grove_error(x->g, &r->detail);
	return rc || !h ? rc : copy_log(x, h);
}

/* Ends a rehearsal that had the result `rc`, and looks where a list and a search by id see the session. */
static int end(struct rehearsal *x, int rc)
{
	struct grove_list *l = NULL;
	int inside = 1;

	for (int i = 0; i < 2 && !rc; i++) {
		rc = i ? grove_find(x->g, x->id, 0, &l) : grove_list(x->g, NULL, &l);
		if (rc)
			rc = reply_fail(x->r, rc, "%s", grove_strerror(rc));
		for (size_t n = 0; !rc && n < grove_list_count(l); n++) {
			const char *cwd = grove_list_at(l, n)->cwd;

			/* without a directory, nobody sees it who is limited to some */
			inside = inside && (!*cwd || auth_in_projects(&x->r->who, cwd));
		}
		grove_list_free(l);
		l = NULL;
	}
	grove_close(x->g);
	return rc || inside ? rc : reply_fail(x->r, GROVE_EACCESS,
			"the session would belong to a directory to which this token does not give access");
}

/* --------------------------------------------------------------------- writes */

int within_carried(struct request *r, struct held *h, const struct grove_carry_options *fresh,
		   const struct grove_slice *line, size_t nr)
{
	struct rehearsal x;
	int rc;

	if (!has_projects(r) || !any_may_move(r, line, nr))
		return 0;
	rc = begin(&x, r, h, fresh ? fresh->id : NULL);
	if (!rc)
		rc = carry_into(&x, fresh, line, nr);
	return end(&x, rc);
}

int within_appended(struct request *r, struct held *h, const struct grove_slice *entry, size_t nr)
{
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_NONE };
	struct grove_append_result a = { .size = sizeof(a), .why = &r->detail };
	struct grove_session *s = NULL;
	struct rehearsal x;
	int rc;

	if (!has_projects(r) || !any_may_move(r, entry, nr))
		return 0;
	rc = begin(&x, r, h, NULL);
	if (!rc)
		rc = grove_session_open(x.g, x.id, GROVE_OPEN_WRITE, &s);
	if (!rc)
		rc = grove_session_append_many(s, entry, nr, &o, &a);
	grove_buf_release(&a.lines);
	grove_session_close(s);
	return end(&x, rc);
}

int within_updated(struct request *r, struct held *h, const char *entry, const char *pointer, const char *json)
{
	struct grove_session *s = NULL;
	struct rehearsal x;
	int rc;

	/* what was said is no place where an agent looks for a directory */
	if (!has_projects(r) || !strncmp(pointer, "/message/", 9))
		return 0;
	rc = begin(&x, r, h, NULL);
	if (!rc)
		rc = grove_session_open(x.g, x.id, GROVE_OPEN_WRITE, &s);
	if (!rc)
		rc = grove_session_update(s, entry, pointer, json);
	if (rc && s)
		reply_fail_session(r, s, rc);
	grove_session_close(s);
	return end(&x, rc);
}

int within_made(struct request *r, struct grove *g, struct grove_session *made)
{
	const char *path = grove_session_path(made), *what = path && *path == '/' ? path : grove_session_id(made);
	struct grove_list *l = NULL;
	int inside = !has_projects(r);

	if (!inside && !grove_find(g, what, 0, &l) && grove_list_count(l))
		inside = auth_in_projects(&r->who, grove_list_at(l, 0)->cwd);
	grove_list_free(l);
	if (inside)
		return 0;
	grove_remove(g, what, 0);
	return reply_fail(r, GROVE_EACCESS, "the copy would belong to a directory to which this token does not give access");
}
