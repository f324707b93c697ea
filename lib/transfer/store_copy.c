/*
 * transfer/store_copy.c: copies all sessions of a store to another one.
 *
 * Each is copied by transfer/copy.c. What exists is compared and continued, so an
 * interrupted copy resumes where it was.
 */
#include "transfer/stores.h"

/*
 * Reports what failed for this session; the others end only if memory is short, or the
 * other store is not there, or if the call is cancelled.
 */
static int copy_one(struct grove *g, struct grove__opened_store *from, struct grove__opened_store *to, size_t i,
		    grove_archive_fn *told, void *payload, struct grove_archive_result *result,
		    struct grove_detail *d)
{
	struct grove_buf source = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove__copy_job in = {
		.g = g, .root_dir = from->root.dir, .from = from->root.store, .to = to->root.store,
		.key = grove__logs_key(&from->found.logs[i]), .go_on = true, .done = i, .total = from->found.nr,
	};
	struct grove_archived out = { 0 };
	struct grove_detail why;
	bool gone;
	int rc;

	grove__fail_clear(&why);
	rc = grove__stores_name(from, &in.key, &source) || grove__stores_name(to, &in.key, &target)
		     ? grove__fail_nomem(&why)
		     : grove__peek_root_dialect(g, &from->root, &in.key, &in.dialect, &why);
	if (!rc)
		rc = grove__copy_session(&in, &out, &why);
	gone = rc == GROVE_ENOTFOUND && grove__archive_is_gone(in.from, &in.key);
	if (rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED || (rc == GROVE_ENOTFOUND && !gone)) {
		*d = why;
	} else if (gone) {
		rc = 0; /* it was listed */
	} else {
		why.code = rc;
		out.path = source.ptr;
		out.archive = target.ptr;
		out.session = in.key.session;
		out.why = rc ? &why : NULL;
		out.state = rc ? GROVE_ARCHIVE_FAILED : out.state;
		grove__archive_count(result, &out);
		rc = told ? told(payload, &out) : 0;
	}
	grove__buf_release(&source);
	grove__buf_release(&target);
	return rc;
}

int grove__stores_copy(struct grove *g, const char *from, const char *to, grove_archive_fn *told,
		       void *payload, struct grove_archive_result *result, struct grove_detail *d)
{
	struct grove__opened_store a, b = { 0 };
	uint64_t hidden = grove__hidden_count(g);
	int rc = grove__stores_open(&a, g, from, true, d);

	if (!rc)
		rc = grove__stores_lasts(to, d);
	if (!rc)
		rc = grove__stores_open(&b, g, to, false, d);
	for (size_t i = 0; i < a.found.nr && !rc; i++) {
		rc = grove__stores_go_on(g, i, a.found.nr, d);
		if (!rc)
			rc = copy_one(g, &a, &b, i, told, payload, result, d);
	}
	if (!rc)
		rc = grove__hidden_check(g, hidden, d);
	grove__stores_close(&a);
	grove__stores_close(&b);
	return rc;
}
