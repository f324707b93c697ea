/*
 * tests/lib/attach.h: stores and reads the files that an agent keeps beside a session, through
 * the session's store.
 */
#ifndef TESTS_LIB_ATTACH_H
#define TESTS_LIB_ATTACH_H

#include "session/session.h"

static inline int attach(struct grove_session *s, const char *name, const char *bytes)
{
	struct grove_key key = { s->at.project, s->at.session, "" };
	struct grove_detail d;
	int rc = grove__store_attach_put(s->at.store, &key, name, grove__slice_str(bytes), grove__fail_clear(&d));

	s->detail = rc ? d : s->detail;
	return rc;
}

/* Appends the content of the attachment to `out`. */
static inline int attached(struct grove_session *s, const char *name, struct grove_buf *out)
{
	struct grove_key key = { s->at.project, s->at.session, "" };

	return grove__store_attach_get(s->at.store, &key, name, out, NULL);
}

static inline int count_attached(void *payload, const char *name, uint64_t size)
{
	(void)name;
	(void)size;
	++*(int *)payload;
	return 0;
}

static inline int attachments(struct grove_session *s)
{
	struct grove_key key = { s->at.project, s->at.session, "" };
	int n = 0, rc = grove__store_attach_list(s->at.store, &key, count_attached, &n, NULL);

	return rc && rc != GROVE_ENOTFOUND ? rc : n;
}

#endif
