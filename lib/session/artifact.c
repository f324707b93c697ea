/*
 * session/artifact.c: the output of tools, stored in files next to the session.
 *
 * An artifact is an attachment named ID.TOOL.log; ids count up from 0, over all tools.
 * For a session that has no file yet, artifacts wait in memory with its lines.
 */
#include "session/session.h"

#include <stdlib.h>

struct artifacts {
	struct grove_store *store;
	struct grove_key key;
};

static int place(struct grove_session *s, struct artifacts *a, struct grove_detail *d)
{
	if (!s->at.dialect || !s->at.dialect->paths.artifacts)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "this agent does not use artifacts");
	if (s->held)
		*a = (struct artifacts){ s->held, { "", GROVE__HELD, "" } };
	else
		*a = (struct artifacts){ s->at.store, { s->at.project, s->at.session, "" } };
	return 0;
}

/* The number in ID.TOOL.log. */
static bool parse(const char *name, uint64_t *id)
{
	size_t digits = strspn(name, "0123456789"), n = strlen(name);

	if (!digits || digits > 18 || name[digits] != '.' || n < digits + 5 ||
	    strcmp(name + n - 4, ".log"))
		return false;
	*id = strtoull(name, NULL, 10);
	return true;
}

struct looking {
	uint64_t want, next;
	struct grove_buf *name;          /* receives the name of the one wanted; may be NULL */
	grove_artifact_fn *fn;
	void *payload;
	int rc;
};

static int look(void *payload, const char *name, uint64_t size)
{
	struct looking *l = payload;
	uint64_t id;

	if (!parse(name, &id))
		return 0;
	if (id >= l->next)
		l->next = id + 1;
	if (l->fn)
		return l->fn(l->payload, id, name, size);
	if (l->name && id == l->want && !l->name->len)
		return grove__buf_add_str(l->name, name);
	return 0;
}

static int look_at_all(const struct artifacts *a, struct looking *l, struct grove_detail *d)
{
	int rc = grove__store_attach_list(a->store, &a->key, look, l, d);

	return rc == GROVE_ENOTFOUND ? 0 : rc;
}

int grove__artifact_save(struct grove_session *s, const char *tool, struct grove_slice bytes,
			 uint64_t *id, struct grove_buf *path, struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct looking l = { .next = 0 };
	struct artifacts a;
	int rc = grove__session_writable(s, d);

	if (rc)
		return rc;
	if (!*tool || strchr(tool, '/') || strlen(tool) > 100)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "%.100s cannot be the name of a tool", tool);
	if (!rc)
		rc = place(s, &a, d);
	if (!rc)
		rc = look_at_all(&a, &l, d);
	if (!rc && grove__buf_addf(&name, "%llu.%s.log", (unsigned long long)l.next, tool))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__store_attach_put(a.store, &a.key, name.ptr, bytes, d);
	if (!rc)
		*id = l.next;
	if (!rc && path) {
		struct grove_key at = { a.key.project, a.key.session, name.ptr };

		rc = grove__store_describe(a.store, &at, path) ? grove__fail_nomem(d) : 0;
	}
	grove__buf_release(&name);
	return rc;
}

/* Its name; GROVE_ENOTFOUND. */
static int find(const struct artifacts *a, uint64_t id, struct grove_buf *name,
		struct grove_detail *d)
{
	struct looking l = { .want = id, .name = name };
	int rc = look_at_all(a, &l, d);

	if (!rc && !name->len)
		rc = grove__fail(d, GROVE_ENOTFOUND, NULL, "no artifact %llu",
				 (unsigned long long)id);
	return rc;
}

int grove__artifact_get(struct grove_session *s, uint64_t id, struct grove_buf *bytes,
			struct grove_buf *path, struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct artifacts a;
	int rc = place(s, &a, d);

	if (!rc)
		rc = find(&a, id, &name, d);
	if (!rc && bytes)
		rc = grove__store_attach_get(a.store, &a.key, name.ptr, bytes, d);
	if (!rc && path) {
		struct grove_key at = { a.key.project, a.key.session, name.ptr };

		rc = grove__store_describe(a.store, &at, path) ? grove__fail_nomem(d) : 0;
	}
	grove__buf_release(&name);
	return rc;
}

int grove__artifact_list(struct grove_session *s, grove_artifact_fn *fn, void *payload,
			 struct grove_detail *d)
{
	struct looking l = { .fn = fn, .payload = payload };
	struct artifacts a;
	int rc = place(s, &a, d);

	return rc ? rc : look_at_all(&a, &l, d);
}
