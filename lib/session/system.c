/*
 * session/system.c: the system message in force, which an append may have to repeat.
 */
#include "image/messages.h"
#include "session/append.h"
#include "session/blobs.h"

static int collect(void *payload, struct grove_slice json)
{
	return grove__messages_add(payload, json, GROVE_NO_ENTRY);
}

/* Leaves only the entries that can affect the system message; there may be many others. */
static void only_system(struct grove__choice *c)
{
	const struct grove__spine *s = c->im->spine;
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_rows; i++) {
		uint32_t row = c->rows[i];

		if (row == c->compaction || (grove__spine_kind(s, row) == GROVE_KIND_MESSAGE &&
					     grove__spine_role(s, row) == GROVE_ROLE_SYSTEM))
			c->rows[nr++] = row;
	}
	c->nr_rows = nr;
}

/* Adds entries that are not in the log yet; the last compaction replaces what came before. */
static int collect_fresh(const struct grove__dialect *dialect, const struct grove__fresh *fresh,
			 size_t from, size_t nr, struct grove__message_list *m)
{
	const int64_t never = GROVE_NO_TIME;
	int rc = 0;

	for (size_t i = from; i < nr && !rc; i++) {
		enum grove_kind kind = fresh[i].kind;

		if (kind == GROVE_KIND_COMPACTION ||
		    (kind == GROVE_KIND_MESSAGE && fresh[i].role == GROVE_ROLE_SYSTEM))
			rc = dialect->context.messages(fresh[i].line, kind, fresh[i].role, 0, &never, NULL, NULL,
					       collect, m);
	}
	return rc;
}

int grove__session_system(struct grove_session *s, uint32_t leaf, const struct grove__fresh *fresh,
			  size_t nr, int64_t time, struct grove_buf *out, struct grove_detail *d)
{
	struct grove__message_list m = { .bytes = GROVE_BUF_INIT };
	struct grove__messages c = { .blobs = grove__session_blob_source(s) };
	size_t from = nr;
	int rc = grove__choice_by_path(&c.choice, s->image, s->log, leaf, false, d);

	while (from && fresh[from - 1].kind != GROVE_KIND_COMPACTION)
		from--;
	only_system(&c.choice);
	if (!rc && !from)
		rc = grove__messages_each(&c, collect, &m);
	if (!rc && collect_fresh(s->at.dialect, fresh, from ? from - 1 : 0, nr, &m))
		rc = grove__fail_nomem(d);
	grove__messages_settle(&m);
	if (!rc && m.nr) {
		rc = s->at.dialect->context.system(m.list, m.nr, time, out);
		if (rc < 0)
			rc = grove__fail_nomem(d);
	}
	grove__messages_release(&m);
	grove__choice_release(&c.choice);
	return rc < 0 ? rc : 0;
}
