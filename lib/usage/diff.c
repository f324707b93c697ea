/*
 * usage/diff.c: compares two branches of a session.
 *
 *	root ── … ── fork ─┬─ … ── a
 *	                   └─ … ── b
 *
 * Each side is what comes after the fork: how much it is, what it cost, which files its
 * tools changed. A change counts unless its result says that it failed. Everything that the
 * caller gets is in one arena.
 */
#include "dialect/file_edits.h"
#include "usage/turns.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

struct diff {
	struct grove_diff pub;       /* first: what the caller has */
	struct grove_diff_side side[2];
	struct grove__arena mem;
};

/* One change to one file. */
struct edit {
	const char *call;            /* the id of the call; "" if it has none */
	uint64_t added, removed;
	uint32_t file;
	bool failed;
};

struct side {
	struct diff *out;
	struct grove_diff_side *pub;
	struct grove_slice call;     /* the id of the call that is being read */
	struct edit *edits;
	size_t nr_edits, cap_edits;
	struct grove_diff_file **files;
	size_t nr_files, cap_files;
	struct grove__idmap by_path;
};

/* ------------------------------------------------------------------- files */

static struct grove_slice path_of(const void *owner, uint32_t file)
{
	const struct side *s = owner;

	return grove__slice_str(s->files[file]->path);
}

static int find_file(struct side *s, struct grove_slice path, uint32_t *out)
{
	struct grove_diff_file *f;

	*out = grove__idmap_get(&s->by_path, path);
	if (*out != GROVE__IDMAP_NONE)
		return 0;
	if (grove__array_room(&s->files, &s->cap_files, s->nr_files, sizeof(*s->files)))
		return GROVE_ENOMEM;
	f = grove__arena_alloc(&s->out->mem, sizeof(*f), sizeof(void *));
	if (!f)
		return GROVE_ENOMEM;
	*f = (struct grove_diff_file){ .path = grove__arena_dup(&s->out->mem, path) };
	if (!f->path)
		return GROVE_ENOMEM;
	*out = (uint32_t)s->nr_files;
	s->files[s->nr_files++] = f;
	return grove__idmap_put(&s->by_path, grove__slice_str(f->path), *out, &(uint32_t){ 0 });
}

static int on_edit(void *payload, const struct grove__file_edit *e)
{
	struct side *s = payload;
	struct edit *x;
	int rc;

	if (grove__array_room(&s->edits, &s->cap_edits, s->nr_edits, sizeof(*s->edits)))
		return GROVE_ENOMEM;
	x = &s->edits[s->nr_edits];
	*x = (struct edit){ .call = grove__arena_dup(&s->out->mem, s->call), .added = e->added, .removed = e->removed };
	rc = x->call ? find_file(s, e->path, &x->file) : GROVE_ENOMEM;
	s->nr_edits += !rc;
	return rc;
}

/* A result is usually close to its call, so the search begins at the end. */
static void fail_edits(struct side *s, struct grove_slice call)
{
	for (size_t i = s->nr_edits; i-- && call.len;)
		if (grove__slice_is(call, s->edits[i].call))
			s->edits[i].failed = true;
}

static int on_piece(void *payload, const struct grove_piece *p)
{
	struct side *s = payload;

	if (p->kind == GROVE_PIECE_TOOL_CALL) {
		s->call = p->call;
		return grove__file_edits(p->title, p->text, on_edit, s);
	}
	if (p->error)
		fail_edits(s, p->call);
	return 0;
}

static bool by_tools(enum grove_role role)
{
	return role == GROVE_ROLE_ASSISTANT || role == GROVE_ROLE_TOOL_RESULT || role == GROVE_ROLE_USER;
}

static int sum_files(struct side *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_edits; i++) {
		struct grove_diff_file *f = s->files[s->edits[i].file];

		if (s->edits[i].failed)
			continue;
		f->edits++;
		f->added += s->edits[i].added;
		f->removed += s->edits[i].removed;
	}
	for (size_t i = 0; i < s->nr_files; i++)
		if (s->files[i]->edits)
			s->files[nr++] = s->files[i];
	s->pub->nr_files = nr;
	if (nr) {
		struct grove_diff_file **files = grove__arena_alloc(&s->out->mem, nr * sizeof(*files), sizeof(void *));

		if (!files)
			return GROVE_ENOMEM;
		memcpy(files, s->files, nr * sizeof(*files));
		s->pub->files = (const struct grove_diff_file *const *)files;
	}
	return 0;
}

/* -------------------------------------------------------------------- sides */

static int put_runs(struct side *s, const struct grove__spine *sp, const uint32_t *rows, size_t nr)
{
	struct grove_range *runs = grove__arena_alloc(&s->out->mem, (nr + 1) * sizeof(*runs), sizeof(uint64_t));
	size_t n = 0;

	if (!runs)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		uint64_t line = grove__spine_line(sp, rows[i]);

		if (n && runs[n - 1].to == line)
			runs[n - 1].to++;
		else
			runs[n++] = (struct grove_range){ line, line + 1 };
	}
	s->pub->seq = runs;
	s->pub->nr_seq = n;
	return 0;
}

static void sum_replies(struct grove_diff_side *side, const struct grove__turns *t)
{
	side->cost = (double)NAN;
	for (size_t i = 0; i < t->replies.nr; i++) {
		const struct grove__reply *r = &t->replies.all[i];
		double cost = r->told ? (double)NAN : grove__turns_cost(t, r);

		if (r->told)
			continue;
		side->tokens += r->input + r->output + r->cache_read + r->cache_write;
		if (isnan(cost))
			continue;
		side->cost = isnan(side->cost) ? cost : side->cost + cost;
		side->estimated += isnan(r->cost) ? cost : 0;
	}
}

static int read_rows(struct side *s, struct grove__turns *t, const uint32_t *list, size_t nr, struct grove_detail *d)
{
	const struct grove__image *im = t->v->image;
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t row;
	int rc;

	grove__rows_init(&rows, im, t->v->log, list, nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, d))) {
		enum grove_role role = grove__spine_role(im->spine, row);

		rc = grove__turns_add(t, row, value);
		if (!rc && by_tools(role))
			rc = grove__image_pieces(im, row, value, on_piece, s);
		if (rc) {
			rc = grove__fail_nomem(d);
			break;
		}
	}
	grove__rows_release(&rows);
	return rc < 0 ? rc : 0;
}

static int read_side(struct diff *out, int which, struct grove_view *v, const uint32_t *rows, size_t nr,
		     struct grove_detail *d)
{
	struct side s = { .out = out, .pub = &out->side[which] };
	struct grove__turns t;
	int rc;

	grove__idmap_init(&s.by_path, 0, path_of, &s);
	s.pub->entries = nr;
	rc = grove__turns_init(&t, v, d);
	if (!rc && put_runs(&s, v->image->spine, rows, nr))
		rc = grove__fail_nomem(d);
	if (!rc && nr)
		rc = read_rows(&s, &t, rows, nr, d);
	sum_replies(s.pub, &t);
	if (!rc && sum_files(&s))
		rc = grove__fail_nomem(d);
	grove__turns_release(&t);
	grove__idmap_release(&s.by_path);
	free(s.edits);
	free(s.files);
	return rc;
}

/* --------------------------------------------------------------------- both */

/* The path to an entry without leaf markers. */
static int find_path(const struct grove_view *v, uint32_t to, struct grove_rows *out)
{
	const struct grove__spine *s = v->image->spine;
	size_t nr = 0;
	int rc = grove__tree_path(s, to, &out->at, &out->nr);

	for (size_t i = 0; !rc && i < out->nr; i++)
		if (!(grove__spine_flags(s, out->at[i]) & ROW_LEAF_MARK))
			out->at[nr++] = out->at[i];
	out->nr = nr;
	return rc;
}

int grove__usage_diff(struct grove_view *v, uint32_t a, uint32_t b, struct grove_diff **out, struct grove_detail *d)
{
	struct grove_rows path[2] = { { NULL, 0 }, { NULL, 0 } };
	const uint32_t leaf[2] = { a, b };
	struct diff *x = NULL;
	size_t common = 0;
	int rc = 0;

	*out = NULL;
	for (int i = 0; i < 2 && !rc; i++)
		if (leaf[i] != GROVE_NO_ENTRY && leaf[i] >= v->nr)
			rc = grove__fail(d, GROVE_ENOTFOUND, v->session->at.path, "there is no entry %u", leaf[i]);
	if (!rc) {
		x = calloc(1, sizeof(*x));
		if (!x || find_path(v, a, &path[0]) || find_path(v, b, &path[1]))
			rc = grove__fail_nomem(d);
	}
	while (!rc && common < path[0].nr && common < path[1].nr && path[0].at[common] == path[1].at[common])
		common++;
	if (!rc) {
		grove__arena_init(&x->mem);
		x->pub = (struct grove_diff){ common ? path[0].at[common - 1] : GROVE_NO_ENTRY, common, &x->side[0],
					      &x->side[1] };
	}
	for (int i = 0; i < 2 && !rc; i++) {
		x->side[i].leaf = leaf[i];
		rc = read_side(x, i, v, path[i].at + common, path[i].nr - common, d);
	}
	free(path[0].at);
	free(path[1].at);
	if (!rc)
		*out = &x->pub;
	else if (x)
		grove__usage_diff_free(&x->pub);
	return rc;
}

void grove__usage_diff_free(struct grove_diff *d)
{
	struct diff *x = (struct diff *)d;

	grove__arena_release(&x->mem);
	free(x);
}
