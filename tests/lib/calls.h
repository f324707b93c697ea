/*
 * tests/lib/calls.h: short forms of those calls in grove.h that take a struct,
 * with the defaults that most tests need. Include after grove.h.
 */
#ifndef TESTS_LIB_CALLS_H
#define TESTS_LIB_CALLS_H

#include <stdio.h>
#include <stdlib.h>

/* The result of an append when only the ids matter: INTO(&id). */
#define INTO(ids_) (&(struct grove_append_result){ .size = sizeof(struct grove_append_result), .ids = (ids_) })
/* Options for grove_session_set_leaf() and grove_session_continue(): LEAF(GROVE_LEAF_PERSIST). */
#define LEAF(flags_) (&(struct grove_leaf_options){ .size = sizeof(struct grove_leaf_options), .flags = (flags_) })

/* Appends an entry of this type; `members` are its other members, as JSON. */
static inline int append_type(struct grove_session *s, const char *type, const char *members,
			      struct grove_append_result *out)
{
	char json[1024];

	snprintf(json, sizeof(json), "{\"type\":\"%s\",%s}", type, members);
	return grove_session_append(s, grove_str(json), NULL, out);
}

/* Append the entries of extensions, and edits of the context. */
static inline int append_custom(struct grove_session *s, const char *type, const char *data,
				struct grove_append_result *out)
{
	char members[512];

	snprintf(members, sizeof(members), "\"customType\":\"%s\"%s%s", type, data ? ",\"data\":" : "", data ? data : "");
	return append_type(s, "custom", members, out);
}

static inline int append_custom_message(struct grove_session *s, const char *type, const char *content,
					struct grove_append_result *out)
{
	char members[512];

	snprintf(members, sizeof(members), "\"customType\":\"%s\",\"content\":%s,\"display\":true", type, content);
	return append_type(s, "custom_message", members, out);
}

static inline int append_edit(struct grove_session *s, const char *target, const char *replacement,
			      struct grove_append_result *out)
{
	char members[512];

	snprintf(members, sizeof(members), "\"targetId\":\"%s\",\"replacement\":%s", target,
		 replacement ? replacement : "null");
	return append_type(s, "context_edit", members, out);
}

static inline int name_session(struct grove_session *s, const char *name, enum grove_name_source by,
			       int *applied)
{
	int rc = grove_session_set_name(s, name, by, NULL);

	if (applied)
		*applied = !rc;
	return rc < 0 ? rc : 0;
}

static inline int branch_from(struct grove_session *s, const char *id, const struct grove_branch_summary *b,
			      const char **summary_id)
{
	struct grove_leaf_options o = { .size = sizeof(o), .summary = b };
	struct grove_leaf_result r = { .size = sizeof(r) };
	int rc = grove_session_set_leaf(s, id, &o, &r);

	if (summary_id)
		*summary_id = r.summary_id;
	return rc;
}

/* Appends the content of the prompt to `content`. */
static inline int continue_from(struct grove_session *s, const char *id, unsigned flags,
				enum grove_outcome *outcome, struct grove_buf *content)
{
	struct grove_leaf_result r = { .size = sizeof(r) };
	int rc = grove_session_continue(s, id, LEAF(flags), &r);

	*outcome = r.outcome;
	if (r.content.len)
		grove_buf_add(content, grove_buf_slice(&r.content));
	grove_buf_release(&r.content);
	return rc;
}

/* Opens a watch set that holds one session; the session's tag is the set itself. */
static inline int watch_one(struct grove *g, const char *what, uint64_t since, struct grove_watch **out)
{
	int rc = grove_watch_open(g, NULL, out);

	return rc ? rc : grove_watch_add(*out, what, since, *out);
}

/* Returns the row of an id, or GROVE_NO_ENTRY. */
static inline uint32_t find_row(const struct grove_view *v, const char *id)
{
	uint32_t row;

	grove_view_find(v, id, &row);
	return row;
}

/* Hands out rows as an array from malloc(), for tests that use a pointer and a count. */
static inline int give_rows(int rc, struct grove_rows *r, uint32_t **out, size_t *nr)
{
	*out = NULL;
	*nr = 0;
	if (rc)
		return rc;
	*nr = r->nr;
	*out = malloc((r->nr + 1) * sizeof(**out));
	for (size_t i = 0; *out && i < r->nr; i++)
		(*out)[i] = r->at[i];
	grove_rows_release(r);
	return *out ? 0 : GROVE_ENOMEM;
}

static inline int path_rows(const struct grove_view *v, uint32_t of, uint32_t **out, size_t *nr)
{
	struct grove_rows r = { NULL, 0 };

	return give_rows(grove_view_ancestors(v, of, &r), &r, out, nr);
}

static inline int conversation_rows(const struct grove_view *v, uint32_t to, unsigned flags, uint32_t **out,
				    size_t *nr)
{
	struct grove_rows r = { NULL, 0 };

	return give_rows(grove_view_conversation(v, to, flags, &r), &r, out, nr);
}

static inline int children_rows(const struct grove_view *v, uint32_t of, enum grove_order order,
				uint32_t **out, size_t *nr)
{
	struct grove_rows r = { NULL, 0 };

	return give_rows(grove_view_children(v, of, order, &r), &r, out, nr);
}

#endif
