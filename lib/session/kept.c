/*
 * session/kept.c: values that a store holds for a session in addition to its lines.
 *
 * For files these are only the values of hosts; a moved leaf is a line (leaf.c), so
 * that the agent sees it. Databases have a value for the leaf, such as `57 1a2b3c4d`:
 * the number of lines the log had then, and the entry. Once another line is appended,
 * the value is void and the new line is the leaf, whoever appended it, so no append has
 * to clear it.
 */
#include "session/append.h"
#include "session/leaf.h"

#include <stdlib.h>

#define TRIES 16

bool grove__kept_has_values(const struct grove_session *s)
{
	/* a session that waits in memory for its first message is copied line by line */
	return s->log && !s->deferral.store && grove__log_has_changes(s->log);
}

/* Finds the row that the value names, if the log still has the recorded length. */
static bool read_leaf(const struct grove_session *s, const struct grove_buf *value, uint32_t *row)
{
	const struct grove__spine *sp = s->image->spine;
	const char *id = grove__image_kept_leaf(value, s->image->tail);

	if (!id)
		return false;
	*row = grove__spine_find(sp, sp->nr, grove__slice_str(id));
	return *row != GROVE_NO_ENTRY || !strcmp(id, GROVE_ROOT);
}

int grove__kept_leaf(struct grove_session *s, struct grove_detail *d)
{
	struct grove_buf value = GROVE_BUF_INIT;
	uint32_t row = GROVE_NO_ENTRY, was = s->leaf.in_store ? s->leaf.row : GROVE_NO_ENTRY;
	struct grove_detail own;
	bool had = s->leaf.in_store;
	int rc;

	/* a leaf that was moved in this handle only takes precedence here */
	if (!grove__kept_has_values(s) || (s->leaf.apart && !s->leaf.in_store) ||
	    (s->leaf.value_base == s->image->base && s->leaf.value_tail == s->image->tail))
		return 0;
	/* a missing value is not an error: the caller may have another one to report */
	grove__fail_clear(&own);
	rc = grove__log_meta_get(s->log, GROVE__KEPT_LEAF, &value, &own);
	if (rc && rc != GROVE_ENOTFOUND && d)
		*d = own;
	if (!rc || rc == GROVE_ENOTFOUND) {
		s->leaf.in_store = s->leaf.apart = !rc && read_leaf(s, &value, &row);
		s->leaf.row = s->leaf.in_store ? row : GROVE_NO_ENTRY;
		s->leaf.value_base = s->image->base;
		s->leaf.value_tail = s->image->tail;
		rc = s->leaf.in_store != had || (had && s->leaf.row != was);
	}
	grove__buf_release(&value);
	return rc;
}

bool grove__kept_moved(struct grove_session *s)
{
	struct grove_store_log_stat st;

	return grove__kept_has_values(s) && !grove__log_stat(s->log, &st, NULL) &&
	       st.base != s->image->base && st.tail == s->image->tail;
}

/* Stores the leaf. Sets *again if somebody appended meanwhile, which makes the value void. */
static int put_leaf(struct grove_session *s, const char *id, bool exact, bool *again, struct grove_detail *d)
{
	struct grove_buf value = GROVE_BUF_INIT;
	struct grove_store_log_stat st;
	int rc = grove__buf_addf(&value, "%llu %s", (unsigned long long)s->image->tail, id) ? grove__fail_nomem(d) : 0;

	*again = false;
	if (!rc && exact)
		rc = grove__log_meta_put_on(s->log, GROVE__KEPT_LEAF, grove__buf_slice(&value), s->image->tail, s->image->base, d);
	else if (!rc)
		rc = grove__log_meta_put(s->log, GROVE__KEPT_LEAF, grove__buf_slice(&value), d);
	/* an exact move happened at its revision, and a later append may end it */
	if (!rc && !exact)
		rc = grove__log_stat(s->log, &st, d);
	if (!rc && !exact)
		*again = st.tail != s->image->tail;
	grove__buf_release(&value);
	return rc;
}

int grove__kept_put_leaf(struct grove_session *s, uint32_t row, bool exact, struct grove_detail *d)
{
	struct grove_buf id = GROVE_BUF_INIT;
	int rc = grove__session_writable(s, d), tries = 0;
	bool again = true;

	if (!rc && grove__buf_add_str(&id, row == GROVE_NO_ENTRY ? GROVE_ROOT
							     : grove__spine_id(s->image->spine, row)))
		rc = grove__fail_nomem(d);
	/* a concurrent append makes the value void: try again */
	while (!rc && again && tries++ < TRIES) {
		rc = put_leaf(s, id.ptr, exact, &again, d);
		if (!rc && again)
			rc = grove__session_refresh(s, d);
		if (rc >= 0)
			rc = grove__session_row(s, id.ptr, &row, d);
	}
	if (!rc && again)
		rc = grove__fail(d, GROVE_ECONFLICT, s->at.path, "other writers keep appending (try again)");
	if (!rc) {
		s->leaf.in_store = s->leaf.apart = true;
		s->leaf.row = row;
		/* somebody may have moved it since: the store's value counts */
		rc = grove__session_refresh(s, d);
	}
	grove__buf_release(&id);
	return rc < 0 ? rc : 0;
}

/* ----------------------------------------------------- values of hosts */

/* What hosts may store, as "host.NAME". */
static const char *const names[] = { "agentId", "metadata", NULL };

/* Host values have a prefix, to separate them from those with a meaning to us. */
static int full_name(const char *name, struct grove_buf *out, struct grove_detail *d)
{
	for (size_t i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return grove__buf_addf(out, GROVE__META_HOST "%s", name) ? grove__fail_nomem(d) : 0;
	return grove__fail(d, GROVE_EINVAL, NULL, "values are not stored under the name %.100s", name);
}

/* A session that waits for its first message has no location yet. */
static int check_stored(const struct grove_session *s, struct grove_detail *d)
{
	return s->log && (!s->deferral.store || s->deferral.for_good)
		       ? 0
		       : grove__fail(d, GROVE_ENOTSUP, s->at.path,
				     "nothing of the session is stored yet");
}

int grove__kept_put_value(struct grove_session *s, const char *name, struct grove_slice value,
		      struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__session_writable(s, d);

	if (!rc)
		rc = check_stored(s, d);
	if (!rc)
		rc = full_name(name, &full, d);
	if (!rc)
		rc = grove__log_meta_put(s->log, full.ptr, value, d);
	grove__buf_release(&full);
	return rc;
}

int grove__kept_log_value(struct grove_store_log *log, const char *name, struct grove_buf *out,
			  struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = full_name(name, &full, d);

	if (!rc)
		rc = grove__log_meta_get(log, full.ptr, out, d);
	grove__buf_release(&full);
	return rc;
}

int grove__kept_value(struct grove_session *s, const char *name, struct grove_buf *out,
		      struct grove_detail *d)
{
	int rc = check_stored(s, d);

	return rc ? rc : grove__kept_log_value(s->log, name, out, d);
}

int grove__kept_copy_key(struct grove_store_log *from, struct grove_store_log *to,
			 struct grove_detail *d)
{
	struct grove_buf value = GROVE_BUF_INIT;
	int rc = grove__log_meta_get(from, GROVE__META_KEY, &value, NULL);

	rc = rc ? 0 : grove__log_meta_put(to, GROVE__META_KEY, grove__buf_slice(&value), d);
	grove__buf_release(&value);
	return rc == GROVE_ENOTSUP ? 0 : rc;
}

int grove__kept_copy(struct grove_store_log *from, struct grove_store_log *to,
		     struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT, value = GROVE_BUF_INIT, have = GROVE_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; !rc && names[i]; i++) {
		grove__buf_clear(&full);
		grove__buf_clear(&value);
		rc = full_name(names[i], &full, d);
		if (!rc)
			rc = grove__log_meta_get(from, full.ptr, &value, d);
		if (!rc && grove__log_meta_get(to, full.ptr, &have, NULL) == GROVE_ENOTFOUND)
			rc = grove__log_meta_put(to, full.ptr, grove__buf_slice(&value), d);
		/* a store without values has none to copy */
		if (rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP)
			rc = 0;
	}
	grove__buf_release(&full);
	grove__buf_release(&value);
	grove__buf_release(&have);
	return rc;
}
