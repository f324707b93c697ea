/*
 * transfer/store_verify.c: checks that a store really has all that it says it has.
 *
 * Every line of every log is read, including those of sub-agents, and compared with the
 * length that the store reports; logs for which an archive has a checksum are compared
 * with that, attachments are read, and blobs among them must match their names. The
 * sessions themselves are checked as `check` does.
 */
#include "image/lines.h"
#include "check/check.h"
#include "transfer/stores.h"

#include "blob/blob.h"
#include "check/fix.h"

#include <stdio.h>
#include <stdlib.h>

struct verifier {
	struct grove *g;
	struct grove__opened_store opened;
	struct grove_key key;            /* of the current session */
	struct grove__note note;
	struct grove__blobs *blobs;      /* for hashing; NULL: not needed yet */
	struct grove_buf name;
	grove_problem_fn *fn;
	void *payload;
	struct grove_check_result *result;
	int ended;                       /* why verify_one() ended the list */
	struct grove_detail *d;
};

static int tell_problem(struct verifier *v, const struct grove_key *key, const char *kind, uint64_t line,
			const char *detail)
{
	struct grove_problem p = { .kind = kind, .line = line, .detail = detail };

	if (grove__stores_name(&v->opened, key, &v->name))
		return grove__fail_nomem(v->d);
	p.path = v->name.ptr;
	v->result->problems++;
	return v->fn(v->payload, &p);
}

/* An error of the store is a finding, unless it is about us. */
static int found(struct verifier *v, const struct grove_key *key, uint64_t line, int rc,
		 const struct grove_detail *why)
{
	if (rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED) {
		*v->d = *why;
		return rc;
	}
	return tell_problem(v, key, "unreadable", why->has_place ? why->line : line, why->message);
}

/* Returns what is known about a log's lines after its last run; more may follow. */
static const struct grove__note_log *known(const struct verifier *v, const char *sub)
{
	for (size_t i = 0; i < v->note.nr; i++)
		if (!strcmp(v->note.logs[i].name, sub) && v->note.logs[i].lines &&
		    !v->note.logs[i].open)
			return &v->note.logs[i];
	return NULL;
}

static int read_all(struct verifier *v, const struct grove_key *key, struct grove_store_log *log,
		    const struct grove_store_log_stat *st, struct grove_detail *why)
{
	const struct grove__note_log *note = known(v, key->subpath);
	struct grove__lines r;
	struct grove_slice line;
	char text[160];
	int rc = grove__lines_init(&r, log, st->tail, why), told = 0;

	r.long_lines = true;
	while (!rc && !(rc = grove__lines_next(&r, &line)))
		if (note && r.lines == note->lines && r.crc != note->crc && !told)
			told = tell_problem(v, key, "wrong-checksum", 1, "its lines differ from those that were archived");
	if (rc < 0)
		told = found(v, key, r.lines + 1, rc, why);
	else if (!told && r.bytes - r.open != st->bytes) {
		snprintf(text, sizeof(text), "its lines have %llu bytes, but the store recorded %llu",
			 (unsigned long long)(r.bytes - r.open), (unsigned long long)st->bytes);
		told = tell_problem(v, key, "wrong-length", r.lines, text);
	} else if (!told && note && r.lines < note->lines) {
		told = tell_problem(v, key, "wrong-checksum", r.lines, "lines that were archived are missing");
	}
	grove__lines_release(&r);
	return told;
}

static int verify_log(struct verifier *v, const struct grove_key *key)
{
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	struct grove_detail why;
	int rc;

	grove__fail_clear(&why);
	rc = grove__log_open(&log, v->opened.root.store, key, GROVE_STORE_READ, &why);
	if (!rc)
		rc = grove__log_stat(log, &st, &why);
	if (rc)
		rc = rc == GROVE_ENOTFOUND ? 0 : found(v, key, 1, rc, &why);
	else
		rc = read_all(v, key, log, &st, &why);
	grove__log_close(log);
	return rc;
}

static int verify_attached(struct verifier *v, const char *name)
{
	struct grove_key key = { v->key.project, v->key.session, name };
	struct grove_buf bytes = GROVE_BUF_INIT;
	struct grove_detail why;
	char hash[GROVE__BLOB_HASH];
	int rc;

	grove__fail_clear(&why);
	rc = grove__store_attach_get(v->opened.root.store, &v->key, name, &bytes, &why);
	if (rc) {
		rc = rc == GROVE_ENOTFOUND ? 0 : found(v, &key, 1, rc, &why);
	} else if (!strncmp(name, "blobs/", 6) && grove__blob_hash_ok(grove__slice_str(name + 6))) {
		rc = v->blobs ? 0 : grove__blobs_open(&v->blobs, v->g->cwd, v->d);
		if (!rc)
			rc = grove__blob_hash(v->blobs, grove__buf_slice(&bytes), hash, v->d);
		if (!rc && strcmp(hash, name + 6))
			rc = tell_problem(v, &key, "wrong-bytes", 1, "the contents of the blob do not match its name");
	}
	grove__buf_release(&bytes);
	return rc;
}

static int verify_one(void *payload, const char *name, uint64_t size, bool log)
{
	struct verifier *v = payload;
	struct grove_key sub = { v->key.project, v->key.session, name };

	(void)size;
	v->ended = log ? verify_log(v, &sub) : verify_attached(v, name);
	return v->ended;
}

static int verify_beside(struct verifier *v)
{
	struct grove_detail why;
	int rc;

	grove__fail_clear(&why);
	v->ended = 0;
	rc = grove__beside_list(v->opened.root.store, &v->key, verify_one, v, &why);
	return rc && !v->ended ? found(v, &v->key, 1, rc, &why) : rc;
}

/* A database has no paths: its sessions are called by their names. */
static int named(void *payload, const struct grove_problem *p)
{
	struct verifier *v = payload;
	struct grove_problem q = *p;

	if (!*q.path) {
		if (grove__stores_name(&v->opened, &v->key, &v->name))
			return grove__fail_nomem(v->d);
		q.path = v->name.ptr;
	}
	return v->fn(v->payload, &q);
}

static int check_session(struct verifier *v)
{
	struct grove__where at = { .store = v->opened.root.store, .agent = v->opened.root.agent,
				   .project = strdup(v->key.project),
				   .session = strdup(v->key.session) };
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	struct grove_detail why;
	uint64_t before = v->result->problems;
	int rc = 0;

	grove__fail_clear(&why);
	if (!at.project || !at.session || grove__store_describe(at.store, &v->key, &path))
		rc = grove__fail_nomem(&why);
	at.path = path.ptr;
	if (!rc)
		rc = grove__peek_root_dialect(v->g, &v->opened.root, &v->key, &at.dialect, &why);
	/* a session that has not begun yet is not damage */
	if (!rc)
		rc = grove__log_open(&log, at.store, &v->key, GROVE_STORE_READ, &why);
	if (!rc) {
		rc = grove__log_stat(log, &st, &why);
		grove__log_close(log);
	}
	if (!rc && st.bytes)
		rc = grove__check(v->g, &at, named, v, v->result, &why);
	else if (!rc && (rc = grove__check_empty(&at, named, v, v->result)) == 1)
		rc = 0, v->result->files++;
	grove__where_release(&at);
	if (!rc || !why.code || rc == GROVE_ENOTFOUND)
		return rc == GROVE_ENOTFOUND ? 0 : rc;
	v->result->files++;
	/* the reason was already reported with the lines */
	return v->result->problems > before ? 0 : found(v, &v->key, 1, rc, &why);
}

static int verify_session(struct verifier *v)
{
	struct grove_buf text = GROVE_BUF_INIT;
	uint64_t before = v->result->problems;
	int rc = grove__store_attach_get(v->opened.root.store, &v->key, GROVE__NOTE_NAME, &text, NULL);

	rc = rc ? 0 : grove__note_parse(&v->note, grove__buf_slice(&text));
	rc = rc ? grove__fail_nomem(v->d) : verify_log(v, &v->key);
	if (!rc && v->result->problems == before)
		rc = check_session(v);
	else
		v->result->files++;
	if (!rc)
		rc = verify_beside(v);
	grove__note_release(&v->note);
	grove__buf_release(&text);
	return rc;
}

int grove__store_verify(struct grove *g, const char *url, grove_problem_fn *fn, void *payload,
			struct grove_check_result *result, struct grove_detail *d)
{
	struct verifier v = { .g = g, .fn = fn, .payload = payload, .result = result, .d = d };
	uint64_t hidden = grove__hidden_count(g);
	int rc = grove__stores_open(&v.opened, g, url, true, d);

	if (!rc)
		rc = grove__check_left(v.opened.root.store, NULL, fn, payload, result, d);
	for (size_t i = 0; i < v.opened.found.nr && !rc; i++) {
		v.key = grove__logs_key(&v.opened.found.logs[i]);
		rc = grove__stores_go_on(g, i, v.opened.found.nr, d);
		if (!rc)
			rc = verify_session(&v);
	}
	if (!rc)
		rc = grove__hidden_check(g, hidden, d);
	grove__blobs_close(v.blobs);
	grove__stores_close(&v.opened);
	grove__buf_release(&v.name);
	return rc;
}
