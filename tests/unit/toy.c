/*
 * tests/unit/toy.c: the smallest dialect. Every member of the table that is
 * missing here is optional; ids and file names are formed as pi forms them.
 *
 *	{"toy":"8f03","dir":"/w"}
 *	{"n":"1c","up":null,"who":"user","say":"hello"}
 *	{"n":"2e","up":"1c","who":"assistant","say":"hi"}
 */
#include "dialect/pi.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

extern const struct grove__dialect dialect_toy;

enum { TOY, DIR, N, UP, WHO, SAY, ROLE, MEMBERS };
static const struct grove__json_member members[MEMBERS] = {
	[TOY] = { "toy", -1 }, [DIR] = { "dir", -1 }, [N] = { "n", -1 }, [UP] = { "up", -1 },
	[WHO] = { "who", -1 }, [SAY] = { "say", -1 }, [ROLE] = { "role", -1 },
};

static struct grove_slice text(const struct grove__json_line *l, const char *line, unsigned member,
			       struct grove__arena *tmp)
{
	return grove__pi_text(tmp, grove__json_span_of(l, line, member));
}

static enum grove__claim claims(struct grove_slice line)
{
	return grove__json_get(line, "toy").len ? CLAIM_SURE : CLAIM_NONE;
}

static enum grove__line_class index_line(const struct grove__json_line *l, const char *line,
					 struct grove__arena *tmp, struct grove__entry *e)
{
	*e = (struct grove__entry){ .kind = GROVE_KIND_MESSAGE, .time = GROVE_NO_TIME };
	if (grove__json_has(l, TOY))
		return LINE_HEADER;
	e->id = text(l, line, N, tmp);
	e->has_id = e->id.len;
	e->parent = text(l, line, UP, tmp);
	e->parent_is = e->parent.len ? PARENT_NAMED : PARENT_NULL;
	e->role = grove__json_string_is(grove__json_span_of(l, line, WHO), "user") ? GROVE_ROLE_USER
										  : GROVE_ROLE_ASSISTANT;
	return e->has_id ? LINE_ENTRY : LINE_SKIP;
}

static void read_header(const struct grove__json_line *l, const char *line, struct grove__arena *keep,
			struct grove__header *h)
{
	*h = (struct grove__header){ .version = 1, .time = GROVE_NO_TIME, .usable = true };
	h->id = grove__arena_dup(keep, text(l, line, TOY, keep));
	h->cwd = grove__arena_dup(keep, text(l, line, DIR, keep));
}

static int compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	return grove__buf_addf(out, "{\"toy\":\"%s\",\"dir\":\"%s\"}", in->id, in->cwd);
}

static int move(struct grove_slice line, const char *cwd, const char *from, struct grove_buf *out)
{
	(void)from;
	return grove__json_edit_text(out, line, "dir", grove__slice_str(cwd));
}

static int relink(struct grove_slice line, struct grove_slice parent, const struct grove_slice *first_kept,
		  const char *session, struct grove_buf *out)
{
	(void)first_kept, (void)session;
	return grove__json_edit_text(out, line, "up", parent);
}

static int list_line(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		     const struct grove__entry *e, struct grove__summary *sum)
{
	(void)e;
	sum->messages++;
	if (sum->has_first)
		return 0;
	sum->has_first = true;
	return grove__buf_add_slice(&sum->first, text(l, line, SAY, tmp));
}

static int pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role, grove_piece_fn *fn,
		  void *payload)
{
	struct grove_piece p = { .kind = GROVE_PIECE_TEXT, .text = grove__json_get(line, "say") };

	(void)kind, (void)role;
	return fn(payload, &p);
}

static int messages(struct grove_slice line, enum grove_kind kind, enum grove_role role, int64_t time,
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

static void input(const struct grove__json_line *l, const char *line, struct grove__input *out)
{
	*out = (struct grove__input){ .json = grove__slice(line + l->value.off, (size_t)l->value.len),
				      .role = grove__json_span_of(l, line, ROLE) };
}

static enum grove_kind kind(const struct grove__input *in)
{
	(void)in;
	return GROVE_KIND_MESSAGE;
}

static int compose(const struct grove__input *in, const struct grove__place *at, struct grove_slice system,
		   struct grove_buf *out, struct grove_buf *target, struct grove_detail *d)
{
	struct grove_slice say = grove__json_get(in->json, "content");
	int rc;

	(void)system, (void)target;
	if (!in->role.ptr || !say.len)
		return grove__fail(d, GROVE_EINVAL, NULL, "a toy says nothing but messages");
	rc = grove__buf_addf(out, "{\"n\":\"%.*s\",\"up\":", (int)at->id.len, at->id.ptr);
	rc = rc ? rc : grove__json_put_nullable(out, at->parent);
	return rc ? rc : grove__buf_addf(out, ",\"who\":%.*s,\"say\":%.*s}", (int)in->role.len, in->role.ptr,
					 (int)say.len, say.ptr);
}

static int roots(const struct grove__env *env, grove__root_fn *fn, void *payload)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s/.toy", env->home);

	rc = rc ? rc : fn(payload, "toy", b.ptr, false);
	grove__buf_release(&b);
	return rc;
}

static const struct grove__dialect_header header = { .read = read_header, .compose = compose_header };

const struct grove__dialect dialect_toy = {
	.name = "toy",
	.version = 1,
	.recognise = { .claims = claims },
	.read = { .members = members, .nr_members = MEMBERS, .id = "n",
		  .index = index_line },
	.text = { .pieces = pieces },
	.list = { .line = list_line },
	.context = { .messages = messages },
	.write = { .input = input, .kind = kind, .compose = compose, .starts_file = grove__pi_starts_file,
		   .relink = relink, .move = move },
	.names = { .entry_id = grove__pi_entry_id, .session_id_ok = grove__pi_session_id_ok,
		   .session_id_rule = grove__pi_id_rule, .session_id = grove__pi_session_id,
		   .clean = grove__pi_clean_name },
	.paths = { .roots = roots, .project = grove__pi_project, .file_name = grove__pi_file_name,
		   .parse_file_name = grove__pi_parse_file_name },
	.header = &header,
};
