/*
 * results.c: finds tool results before they are printed.
 */
#include "results.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 256 };          /* how far a result may be from its call */

void results_init(struct results *r, struct grove_view *v, const uint32_t *rows, size_t nr, size_t keep)
{
	memset(r, 0, sizeof(*r));
	r->v = v;
	r->rows = rows;
	r->nr_rows = nr;
	r->keep = keep;
}

static void forget(struct result *x)
{
	free(x->call);
	grove_buf_release(&x->text);
}

void results_release(struct results *r)
{
	for (size_t i = r->first; i < r->nr; i++)
		forget(&r->list[i]);
	free(r->list);
}

static struct result *add(struct results *r, struct grove_slice call)
{
	struct result *x;

	if (r->nr == r->cap && r->first > r->cap / 2) {
		memmove(r->list, r->list + r->first, (r->nr - r->first) * sizeof(*r->list));
		r->nr -= r->first;
		r->first = 0;
	}
	if (r->nr == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 16;
		r->list = cli_realloc(r->list, r->cap, sizeof(*r->list));
	}
	x = &r->list[r->nr++];
	memset(x, 0, sizeof(*x));
	x->at = r->seen;
	x->call = cli_realloc(NULL, call.len + 1, 1);
	memcpy(x->call, call.ptr, call.len);
	x->call[call.len] = '\0';
	return x;
}

static int is_call(const struct result *x, struct grove_slice call)
{
	return strlen(x->call) == call.len && !memcmp(x->call, call.ptr, call.len);
}

/* Adds a text and counts its lines. */
static void add_lines(struct result *x, struct grove_slice text, size_t keep)
{
	const char *p = text.ptr, *end = p + text.len;

	while (end > p && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *next = nl ? nl + 1 : end;

		if (!keep || x->lines < keep) {
			cli_add(&x->text, p, (size_t)(next - p));
			if (!nl)
				cli_add(&x->text, "\n", 1);
		}
		x->lines++;
		p = next;
	}
}

static int on_piece(void *payload, const struct grove_piece *piece)
{
	struct results *r = payload;
	struct result *x = r->nr > r->first ? &r->list[r->nr - 1] : NULL;

	if (!piece->call.len || (piece->kind != GROVE_PIECE_TOOL_RESULT && piece->kind != GROVE_PIECE_IMAGE))
		return 0;
	/* a result may have several texts */
	if (!x || x->at != r->seen || !is_call(x, piece->call))
		x = add(r, piece->call);
	x->error |= piece->error;
	if (piece->kind == GROVE_PIECE_IMAGE)
		x->images++;
	else
		add_lines(x, piece->text, r->keep);
	return 0;
}

static struct result *known(const struct results *r, struct grove_slice call)
{
	for (size_t i = r->first; i < r->nr; i++)
		if (!r->list[i].used && is_call(&r->list[i], call))
			return &r->list[i];
	return NULL;
}

struct result *results_find(struct results *r, size_t at, struct grove_slice call)
{
	struct result *x = call.len ? known(r, call) : NULL;

	if (r->seen <= at)
		r->seen = at + 1;
	for (; !x && call.len && !r->err && r->seen < r->nr_rows && r->seen - at < AHEAD; r->seen++) {
		uint32_t row = r->rows ? r->rows[r->seen] : (uint32_t)r->seen;
		struct grove_entry e = { .size = sizeof(e) };

		r->err = grove_view_entry(r->v, row, &e);
		if (e.kind == GROVE_KIND_MESSAGE && e.role == GROVE_ROLE_USER)
			break; /* a call without a result by then has none */
		if (!r->err && e.kind == GROVE_KIND_MESSAGE && e.role == GROVE_ROLE_TOOL_RESULT) {
			r->err = grove_view_piece_each(r->v, row, on_piece, r);
			x = known(r, call);
		}
	}
	if (x)
		x->used = 1;
	return x;
}

int results_used(const struct results *r, size_t at, struct grove_slice call)
{
	for (size_t i = r->first; i < r->nr; i++)
		if (r->list[i].at == at && r->list[i].used && is_call(&r->list[i], call))
			return 1;
	return 0;
}

void results_pass(struct results *r, size_t at)
{
	while (r->first < r->nr && r->list[r->first].at < at)
		forget(&r->list[r->first++]);
}
