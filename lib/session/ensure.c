/*
 * session/ensure.c: creates the file of a session that had none yet.
 *
 * The lines of a live session wait in memory until the first one that makes it worth a
 * file. Then all of them are written at once, prepared like any other line.
 */
#include "image/lines.h"
#include "session/append.h"
#include "session/blobs.h"
#include "session/leaf.h"

#include <stdlib.h>

/* Gets all lines of the memory log, as records. */
static int held_lines(struct grove_session *s, struct grove_buf *bytes,
		      struct grove_store_record **rec, size_t *nr, size_t more,
		      struct grove_detail *d)
{
	struct grove_store_log_stat st;
	struct grove_slice line;
	struct grove__lines r;
	size_t i = 0;
	int rc = grove__log_stat(s->log, &st, d);

	if (rc)
		return rc;
	*rec = calloc((size_t)st.tail + more, sizeof(**rec));
	if (!*rec || grove__buf_reserve(bytes, (size_t)st.bytes + 1))
		return grove__fail_nomem(d);
	rc = grove__lines_init(&r, s->log, st.tail, d);
	while (!rc && i < st.tail && !(rc = grove__lines_next(&r, &line))) {
		(*rec)[i++].line = grove__slice(bytes->ptr + bytes->len, line.len);
		/* there is room */
		grove__buf_add_slice(bytes, line);
	}
	grove__lines_release(&r);
	*nr = i;
	return rc < 0 ? rc : 0;
}

/* Prepares the lines that waited in memory for being stored; puts them into `out`. */
static int prepare_held(struct grove_session *s, struct grove_store_record *rec, size_t nr,
			struct grove_buf *out, struct grove_detail *d)
{
	size_t *end;
	int rc = 0;

	if (!s->at.dialect->blobs)
		return 0;
	end = calloc(nr, sizeof(*end));
	if (!end)
		return grove__fail_nomem(d);
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = grove__session_prepare(s, rec[i].line, out, d);
		if (rc == 1)
			rc = grove__buf_add_slice(out, rec[i].line) ? grove__fail_nomem(d) : 0;
		end[i] = out->len;
	}
	for (size_t i = 0; i < nr && !rc; i++) {
		size_t start = i ? end[i - 1] : 0;

		rec[i].line = grove__slice(out->ptr + start, end[i] - start);
	}
	free(end);
	return rc;
}

/* For stores with columns: finds out what the lines are; puts them into `out`. */
static int look_at_held(struct grove__records *records, struct grove_store_record *rec, size_t nr,
			struct grove_buf *out, struct grove_detail *d)
{
	size_t total = 0;

	for (size_t i = 0; i < nr; i++)
		total += rec[i].line.len + GROVE__JSON_PAD;
	if (grove__buf_reserve(out, total + 1))
		return grove__fail_nomem(d);
	for (size_t i = 0; i < nr; i++) {
		char *line = out->ptr + out->len;
		size_t len = rec[i].line.len;

		if (len)
			memcpy(line, rec[i].line.ptr, len);
		memset(line + len, 0, GROVE__JSON_PAD);
		out->len += len + GROVE__JSON_PAD;
		if (grove__records_fill(records, grove__slice(line, len), &rec[i]))
			return grove__fail_nomem(d);
	}
	return 0;
}

/*
 * A log of that name may have been created since the session began. If it is still
 * empty, the first writer begins it. GROVE_EEXIST: it has been begun.
 */
static int open_new(struct grove_session *s, const struct grove_key *key, bool *made,
		    struct grove_store_log **log, struct grove_detail *d)
{
	struct grove_store_log_stat st;
	int rc = grove__log_open(log, s->at.store, key, GROVE_STORE_CREATE, d);

	*made = !rc;
	if (rc != GROVE_EEXIST || !s->deferral.may_join)
		return rc;
	rc = grove__log_open(log, s->at.store, key, GROVE_STORE_WRITE, d);
	if (!rc)
		rc = grove__log_stat(*log, &st, d);
	return rc ? rc : st.tail ? GROVE_EEXIST : 0;
}

int grove__session_ensure(struct grove_session *s, const struct grove_store_record *more, size_t nr,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct grove_key key = { s->at.project, s->at.session, "" };
	struct grove_key held_key = { "", GROVE__HELD, "" };
	struct grove_buf bytes = GROVE_BUF_INIT, prepared = GROVE_BUF_INIT, looked = GROVE_BUF_INIT;
	struct grove__records records;
	struct grove_store_record *rec = NULL;
	struct grove_store_appended out;
	struct grove_store_log *log = NULL;
	size_t held = 0;
	bool made = false;
	int rc;

	if (!s->deferral.store || s->deferral.for_good)
		return grove__session_load(s, d);
	grove__records_init(&records, s->at.dialect);
	rc = grove__session_writable(s, d);
	if (!rc)
		rc = held_lines(s, &bytes, &rec, &held, nr, d);
	if (!rc) {
		for (size_t i = 0; i < nr; i++)
			rec[held + i] = more[i];
		rc = prepare_held(s, rec, held + nr, &prepared, d);
	}
	if (!rc)
		rc = open_new(s, &key, &made, &log, d);
	if (!rc && grove__store_traits(log->store).columns)
		rc = look_at_held(&records, rec, held, &looked, d);
	if (!rc && held + nr)
		rc = grove__log_append(log, rec, held + nr, 0, sync, &out, d);
	if (rc == GROVE_ECONFLICT && s->deferral.may_join)
		rc = GROVE_EEXIST;
	if (!rc)
		grove__peek_mark_dialect(log, s->at.dialect);
	/* before the first message, and without a path, nothing else records its directory */
	if (!rc && !nr && grove__dialect_cwd_in_entries(s->at.dialect) && !s->at.path)
		rc = grove__log_meta_put(log, GROVE__META_CWD, grove__slice_str(s->cwd), d);
	/* a fork has its source's values */
	if (!rc)
		rc = grove__kept_copy(s->log, log, d);
	free(rec);
	grove__buf_release(&bytes);
	grove__buf_release(&prepared);
	grove__buf_release(&looked);
	grove__records_release(&records);
	if (!rc && s->at.dialect->paths.artifacts)
		rc = grove__beside_copy(s->deferral.store, &held_key, s->at.store, &key, d);
	if (rc) {
		/* remove half a session, but not one that another process began */
		if (made && rc != GROVE_EEXIST)
			grove__store_remove(s->at.store, &key, NULL);
		grove__log_close(log);
		return grove__session_latch(s, rc, d);
	}
	if (grove__session_change_log(s, log)) {
		grove__log_close(log);
		grove__fail_nomem(d);
		return grove__session_lost_sight(s, d);
	}
	return grove__session_load(s, d) ? grove__session_lost_sight(s, d) : 0;
}

/* --- a session that another process began --- */

#define JOIN_TRIES 64

struct held {
	struct grove_buf line;
	bool root;                       /* it hangs below nothing */
};

static int take_held(struct grove_session *s, struct held **out, uint32_t *nr, struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc = 0;

	*out = calloc(sp->nr ? sp->nr : 1, sizeof(**out));
	if (!*out)
		return grove__fail_nomem(d);
	*nr = sp->nr;
	for (uint32_t i = 0; i < sp->nr && !rc; i++) {
		(*out)[i].root = grove__spine_id(sp, i) && grove__spine_parent(sp, i) == GROVE_NO_ENTRY;
		rc = grove__image_line(s->image, s->log, i, &line, &value, d);
		if (!rc && grove__buf_add_slice(&(*out)[i].line, value))
			rc = grove__fail_nomem(d);
	}
	grove__buf_release(&line);
	return rc;
}

/* Attaches them below the leaf of the existing log. */
static int hang_below(struct grove_session *s, struct held *x, struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	struct grove_buf out = GROVE_BUF_INIT;
	uint32_t leaf;
	int rc = grove__session_find_leaf(s, &leaf, d);

	if (rc)
		return rc;
	leaf = grove__tree_named(sp, leaf);
	if (!x->root || !s->at.dialect->write.relink || leaf == GROVE_NO_ENTRY)
		return 0;
	if (s->at.dialect->write.relink(grove__buf_slice(&x->line), grove__spine_name(grove__spine_id(sp, leaf)),
				  NULL, NULL, &out)) {
		grove__buf_release(&out);
		return grove__fail_nomem(d);
	}
	grove__buf_release(&x->line);
	x->line = out;
	return 0;
}

/* The lines name their parent, so they fit only the log as we know it. */
static int append_held(struct grove_session *s, struct held *all, uint32_t nr, struct grove_detail *d)
{
	struct grove_slice *json = calloc(nr, sizeof(*json));
	struct grove_append_options opt = { .size = sizeof(opt) };
	int rc = json ? GROVE_ECONFLICT : grove__fail_nomem(d);

	for (int tries = 0; tries < JOIN_TRIES && rc == GROVE_ECONFLICT; tries++) {
		rc = tries ? grove__session_refresh(s, d) : 0;
		rc = rc < 0 ? rc : 0;
		for (uint32_t i = 0; i < nr && !rc; i++) {
			rc = hang_below(s, &all[i], d);
			if (!rc)
				json[i] = grove__buf_slice(&all[i].line);
		}
		opt.flags = GROVE_APPEND_IF_SEQ;
		opt.seq = s->image->lines + s->image->torn;
		if (!rc)
			rc = grove__append_all(s, json, nr, &opt, NULL, d);
	}
	free(json);
	return rc;
}

int grove__session_join(struct grove_session *s, struct grove_detail *d)
{
	struct grove_key key = grove__where_key(&s->at);
	struct grove_store_log *log = NULL;
	struct held *all = NULL;
	uint32_t nr = 0;
	int rc = take_held(s, &all, &nr, d);

	if (!rc)
		rc = grove__log_open(&log, s->at.store, &key, GROVE_STORE_WRITE, d);
	if (!rc && grove__session_change_log(s, log)) {
		grove__log_close(log);
		rc = grove__fail_nomem(d);
	}
	if (!rc)
		rc = grove__session_load(s, d);
	if (!rc && nr)
		rc = append_held(s, all, nr, d);
	for (uint32_t i = 0; i < nr; i++)
		grove__buf_release(&all[i].line);
	free(all);
	return rc;
}
