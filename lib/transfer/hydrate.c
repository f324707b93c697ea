/*
 * transfer/hydrate.c: replaces the local log by a remote one.
 *
 * All of it arrives and is checked before the local log changes, and then it changes at
 * once. A source that fails, or is empty, leaves everything as it was. Only after the
 * local log has become the remote one may appended lines be sent there as well.
 */
#include "transfer/archive.h"

#include "sys/clock.h"
#include "sys/stamp.h"

#include <stdlib.h>

struct hydrating {
	const struct grove_source *src;
	struct grove_detail *d;
	struct grove__json_want want;
	struct grove_buf line;           /* with padding for the scanner */
	bool held;                       /* it has not been returned yet */
	uint64_t lines;
};

/* Gets a line of the source that is a record. Returns 1 at the end. */
static int fetch_line(struct hydrating *h)
{
	struct grove_slice line = { NULL, 0 };
	struct grove__json_line l;
	enum grove__json_verdict v;
	int rc = h->src->next(h->src->payload, &line);

	if (rc == 1)
		return 1;
	if (rc)
		return grove__fail(h->d, rc < 0 ? rc : GROVE_EIO, NULL,
				   "the remote log could not be read, after %llu lines: %s",
				   (unsigned long long)h->lines, grove_strerror(rc < 0 ? rc : GROVE_EIO));
	grove__buf_clear(&h->line);
	if (grove__buf_add_slice(&h->line, line) || grove__buf_reserve(&h->line, GROVE__JSON_PAD))
		return grove__fail_nomem(h->d);
	h->lines++;
	v = grove__json_scan(&h->want, h->line.ptr, h->line.len, true, &l);
	if (v == JSON_NOMEM)
		return grove__fail_nomem(h->d);
	if (v != JSON_VALUE || l.type != JSON_OBJECT || l.len != h->line.len)
		return grove__fail_at(h->d, GROVE_EJSON, NULL, h->lines,
				      v == JSON_BAD ? l.error_off : 0,
				      "line %llu of the remote log is not a JSON object",
				      (unsigned long long)h->lines);
	return 0;
}

static int give_line(void *payload, struct grove_store_record *rec)
{
	struct hydrating *h = payload;
	int rc = h->held ? 0 : fetch_line(h);

	h->held = false;
	rec->line = grove__buf_slice(&h->line);
	return rc;
}

static int find_place(struct grove *g, const struct grove_hydrate_options *opt,
		      struct grove__where *at, struct grove_detail *d)
{
	const struct grove__dialect *dialect = g->forced;
	struct grove_buf cwd = GROVE_BUF_INIT;
	int rc;

	if (opt->path)
		return grove__locate_path(g, opt->path, at, d);
	if (opt->dialect)
		dialect = grove__dialect_find(opt->dialect);
	else if (!dialect)
		dialect = grove__dialect_defaults.remote;
	if (!dialect)
		return grove__fail(d, GROVE_EINVAL, NULL, "no dialect named %.100s", opt->dialect);
	if (!opt->id || !dialect->names.session_id_ok(grove__slice_str(opt->id)))
		return grove__fail(d, GROVE_EINVAL, NULL, "not the id of a session: %.100s",
				   opt->id ? opt->id : "");
	if (grove__world_resolve(g, opt->cwd ? opt->cwd : g->cwd, &cwd))
		return grove__fail_nomem(d);
	rc = grove__session_place(g, dialect, cwd.ptr, NULL, grove__sys_now_ms(), opt->id, at, d);
	grove__buf_release(&cwd);
	return rc;
}

/* Replaces the local lines by the remote ones, or does nothing. */
static int replace_log(struct hydrating *h, struct grove__where *at, unsigned flags)
{
	struct grove_key key = { at->project, at->session, "" };
	struct grove__aside aside = { .made = false };
	struct grove_store_log *log = NULL;
	struct grove_store_log_stat st;
	int rc = grove__log_open(&log, at->store, &key, GROVE_STORE_WRITE, h->d);

	if (rc == GROVE_ENOTFOUND) {
		rc = grove__aside_open(&aside, at->store, &key, false, h->d);
		log = aside.log;
	}
	if (!rc)
		rc = grove__log_stat(log, &st, h->d);
	if (!rc && flags & GROVE_HYDRATE_NEW && st.tail)
		rc = grove__fail(h->d, GROVE_EEXIST, at->path, "there is another session of this name");
	if (!rc)
		rc = grove__log_rewrite(log, give_line, h, st.tail,
					flags & GROVE_HYDRATE_FORCE ? GROVE_STORE_FORCE : 0, h->d);
	if (!rc && aside.made) {
		rc = grove__aside_name(&aside, h->d);
		log = aside.log;
	}
	if (!rc || !aside.made)
		grove__log_close(log);
	grove__aside_end(&aside, !rc);
	return rc;
}

int grove__session_hydrate(struct grove *g, const struct grove_hydrate_options *opt,
			   const struct grove_source *src, uint64_t *lines, struct grove_detail *d)
{
	struct hydrating h = { .src = src, .d = d };
	struct grove__where at = { 0 };
	int rc;

	grove__json_want_init(&h.want, NULL, 0);
	rc = find_place(g, opt, &at, d);
	/* before anything is touched: is the source empty? */
	if (!rc) {
		rc = fetch_line(&h);
		if (rc == 1)
			rc = grove__fail(d, GROVE_ENOTFOUND, at.path, "the remote log is empty");
		h.held = true;
	}
	if (!rc && !(opt->flags & GROVE_HYDRATE_FORCE))
		rc = grove__live_check(g, &at, d);
	if (!rc)
		rc = replace_log(&h, &at, opt->flags);
	/* a rewrite keeps the mode of a file, but this one must be private */
	if (!rc && at.path && grove__store_traits(at.store).paths)
		grove__sys_set_mode(at.path, 0600);
	if (!rc && src->persist)
		rc = src->persist(src->payload);
	if (lines)
		*lines = rc ? 0 : h.lines;
	grove__buf_release(&h.line);
	grove__where_release(&at);
	return rc;
}
