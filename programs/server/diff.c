/*
 * diff.c: GET /sessions/{id}/diff?a=ID&b=ID: compares two branches from where they part.
 *
 *	{"fork":"d3834c19","common":413,
 *	 "a":{"leaf":"e79ecd82","entries":871,"seq":[[430,1300]],"cost":2.41,"tokens":…,
 *	      "files":[{"path":"src/events/stream.ts","added":9,"removed":3,"edits":1}]},
 *	 "b":{…},"rev":…,"generation":…}
 *
 * As in all requests and replies, ranges of seqs include both ends.
 */
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <math.h>

static void put_seq(struct doc *d, const struct grove_diff_side *s)
{
	doc_name(d, "seq");
	doc_open(d, '[');
	for (size_t i = 0; i < s->nr_seq; i++) {
		doc_open(d, '[');
		doc_number(d, s->seq[i].from);
		doc_number(d, s->seq[i].to - 1);
		doc_close(d, ']');
	}
	doc_close(d, ']');
}

static void put_files(struct doc *d, const struct grove_diff_side *s)
{
	doc_name(d, "files");
	doc_open(d, '[');
	for (size_t i = 0; i < s->nr_files; i++) {
		doc_open(d, '{');
		doc_member(d, "path", s->files[i]->path);
		doc_member_number(d, "added", s->files[i]->added);
		doc_member_number(d, "removed", s->files[i]->removed);
		doc_member_number(d, "edits", s->files[i]->edits);
		doc_close(d, '}');
	}
	doc_close(d, ']');
}

static void put_side(struct doc *d, const char *name, const struct grove_view *v, const struct grove_diff_side *s)
{
	struct grove_entry e;

	doc_name(d, name);
	doc_open(d, '{');
	doc_member(d, "leaf", entry_id(v, s->leaf, &e));
	doc_member_number(d, "entries", s->entries);
	put_seq(d, s);
	doc_name(d, "cost");
	if (isnan(s->cost))
		doc_null(d);
	else
		doc_real(d, s->cost);
	if (s->estimated > 0) {
		doc_name(d, "estimated");
		doc_real(d, s->estimated);
	}
	doc_member_number(d, "tokens", s->tokens);
	put_files(d, s);
	doc_close(d, '}');
}

static void put_diff(struct doc *d, const struct grove_view *v, const struct grove_diff *diff)
{
	struct grove_entry e;

	doc_open(d, '{');
	doc_member(d, "fork", entry_id(v, diff->fork, &e));
	doc_member_number(d, "common", diff->common);
	put_side(d, "a", v, diff->a);
	put_side(d, "b", v, diff->b);
	put_view_state(d, v);
	doc_close(d, '}');
}

static int read_end(struct request *r, const struct grove_view *v, const char *name, uint32_t *out)
{
	const char *id = query_text(r, name);

	if (!id || !*id)
		return reply_fail(r, GROVE_EINVAL, "%s is missing: the entry at the end of a branch", name);
	return find_entry(r, v, id, out);
}

int get_diff(struct request *r)
{
	struct grove_diff *diff = NULL;
	struct held *h;
	struct grove_view *v;
	uint32_t a, b;
	int rc = hold_state(r, &h, &v);

	if (!rc)
		rc = read_end(r, v, "a", &a);
	if (!rc)
		rc = read_end(r, v, "b", &b);
	if (!rc) {
		rc = grove_view_diff(v, a, b, &diff);
		if (rc)
			reply_fail_view(r, v, rc);
	}
	if (!rc)
		put_diff(&r->out, v, diff);
	grove_diff_free(diff);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
