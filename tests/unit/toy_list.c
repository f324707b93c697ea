/*
 * tests/unit/toy_list.c: a dialect whose logs are lists. Lines have neither ids nor
 * parents, and are stored as they are.
 *
 *	{"list":"8f03","dir":"/w"}
 *	{"who":"user","say":"hello"}
 *	{"who":"assistant","say":"hi"}
 */
#include "toy_list.h"

#include "json/edit.h"
#include "json/value.h"

#include <stdio.h>

extern const struct grove__dialect dialect_toy_list;

const struct grove__json_member toy_list_members[LIST_MEMBERS] = {
	[LIST_ID] = { "list", -1 }, [LIST_DIR] = { "dir", -1 }, [LIST_WHO] = { "who", -1 },
	[LIST_SAY] = { "say", -1 }, [LIST_ROLE] = { "role", -1 }, [LIST_ORIGIN] = { "of", -1 },
	[LIST_LINES] = { "lines", -1 },
};

static struct grove_slice text(const struct grove__json_line *l, const char *line, unsigned member,
			       struct grove__arena *tmp)
{
	return grove__pi_text(tmp, grove__json_span_of(l, line, member));
}

enum grove__line_class toy_list_index(const struct grove__json_line *l, const char *line,
				      struct grove__arena *tmp, struct grove__entry *e)
{
	(void)tmp;
	*e = (struct grove__entry){ .kind = GROVE_KIND_MESSAGE, .time = GROVE_NO_TIME };
	if (grove__json_has(l, LIST_ID))
		return LINE_HEADER;
	e->role = grove__json_string_is(grove__json_span_of(l, line, LIST_WHO), "user") ? GROVE_ROLE_USER
											: GROVE_ROLE_ASSISTANT;
	return grove__json_has(l, LIST_WHO) ? LINE_ENTRY : LINE_SKIP;
}

size_t toy_list_line_id(struct grove_slice session, uint64_t line, unsigned attempt, char out[40])
{
	int len = session.len > 12 ? 12 : (int)session.len;

	return (size_t)snprintf(out, 40, "%.*s.%llu%.*s", len, session.ptr, (unsigned long long)line,
				(int)(attempt & 7), "bcdefgh");
}

void toy_list_header(const struct grove__json_line *l, const char *line, struct grove__arena *keep,
		     struct grove__header *h)
{
	*h = (struct grove__header){ .version = 1, .time = GROVE_NO_TIME, .usable = true };
	h->id = grove__arena_dup(keep, text(l, line, LIST_ID, keep));
	h->cwd = grove__arena_dup(keep, text(l, line, LIST_DIR, keep));
}

static int compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	return grove__buf_addf(out, "{\"list\":\"%s\",\"dir\":\"%s\"}", in->id, in->cwd);
}

int toy_list_move(struct grove_slice line, const char *cwd, const char *from, struct grove_buf *out)
{
	(void)from;
	return grove__json_edit_text(out, line, "dir", grove__slice_str(cwd));
}

int toy_list_relink(struct grove_slice line, struct grove_slice parent, const struct grove_slice *first_kept,
		    const char *session, struct grove_buf *out)
{
	(void)parent, (void)first_kept, (void)session;
	return grove__buf_add_slice(out, line);
}

int toy_list_line(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		  const struct grove__entry *e, struct grove__summary *sum)
{
	(void)e;
	sum->messages++;
	if (sum->has_first)
		return 0;
	sum->has_first = true;
	return grove__buf_add_slice(&sum->first, text(l, line, LIST_SAY, tmp));
}

int toy_list_pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role, grove_piece_fn *fn,
		    void *payload)
{
	struct grove_piece p = { .kind = GROVE_PIECE_TEXT, .text = grove__json_get(line, "say") };

	(void)kind, (void)role;
	return fn(payload, &p);
}

int toy_list_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role, int64_t time,
		      const int64_t *next, const struct grove_slice *edit,
		      const struct grove__blob_source *blobs, grove__json_fn *fn, void *payload)
{
	struct grove_slice who = grove__json_get(line, "who"), say = grove__json_get(line, "say");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "{\"role\":%.*s,\"content\":%.*s}", (int)who.len, who.ptr, (int)say.len,
				 say.ptr);

	(void)kind, (void)role, (void)time, (void)next, (void)edit, (void)blobs;
	rc = rc ? rc : fn(payload, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

void toy_list_input(const struct grove__json_line *l, const char *line, struct grove__input *out)
{
	*out = (struct grove__input){ .json = grove__slice(line + l->value.off, (size_t)l->value.len),
				      .role = grove__json_span_of(l, line, LIST_ROLE) };
}

enum grove_kind toy_list_kind(const struct grove__input *in)
{
	(void)in;
	return GROVE_KIND_MESSAGE;
}

int toy_list_compose(const struct grove__input *in, const struct grove__place *at, struct grove_slice system,
		     struct grove_buf *out, struct grove_buf *target, struct grove_detail *d)
{
	struct grove_slice say = grove__json_get(in->json, "content");

	(void)at, (void)system, (void)target;
	if (!in->role.ptr || !say.len)
		return grove__fail(d, GROVE_EINVAL, NULL, "a list says nothing but messages");
	return grove__buf_addf(out, "{\"who\":%.*s,\"say\":%.*s}", (int)in->role.len, in->role.ptr, (int)say.len,
			       say.ptr);
}

int toy_list_root(const struct grove__env *env, const char *name, grove__root_fn *fn, void *payload)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s/.%s", env->home, name);

	rc = rc ? rc : fn(payload, name, b.ptr, false);
	grove__buf_release(&b);
	return rc;
}

static int roots(const struct grove__env *env, grove__root_fn *fn, void *payload)
{
	return toy_list_root(env, "toylist", fn, payload);
}

static enum grove__claim claims(struct grove_slice line)
{
	return grove__json_get(line, "list").len && !grove__json_get(line, "of").len ? CLAIM_SURE : CLAIM_NONE;
}

static const struct grove__dialect_header header = { .read = toy_list_header, .compose = compose_header };

const struct grove__dialect dialect_toy_list = {
	TOY_LIST,
	.name = "toylist",
	.recognise = { .claims = claims },
	.paths.roots = roots,
	.header = &header,
};
