/* image/model.c: how a conversation follows from a log; see model.h. */
#include "image/image.h"

#include <stdlib.h>

int grove__model_init(struct grove__model *m, const struct grove__dialect *dialect, uint64_t seed)
{
	m->dialect = dialect;
	m->chain = dialect->rules ? dialect->rules->new(seed, NULL) : NULL;
	pthread_rwlock_init(&m->lock, NULL);
	return dialect->rules && !m->chain ? GROVE_ENOMEM : 0;
}

void grove__model_release(struct grove__model *m)
{
	if (m->chain)
		m->dialect->rules->free(m->chain);
	pthread_rwlock_destroy(&m->lock);
}

/* --- while a log is read, or written --- */

/* Makes the id of a line that no other line has. */
static size_t line_id(const struct grove__image *im, uint64_t line, char id[40])
{
	struct grove_slice session = grove__slice_str(im->header.id ? im->header.id : "");
	size_t n;

	for (unsigned attempt = 0;; attempt++) {
		n = im->dialect->read.line_id(session, line, attempt, id);
		if (!n || grove__idmap_get(&im->spine->ids, grove__slice(id, n)) == GROVE__IDMAP_NONE)
			return n;
	}
}

int grove__model_place(const struct grove__image *im, struct grove__entry *e, uint64_t line, char id[40])
{
	uint32_t before = grove__tree_before(im->spine, im->spine->nr);
	size_t n = line_id(im, line, id);

	if (!n)
		return GROVE_ENOMEM;
	e->id = grove__slice(id, n);
	e->has_id = true;
	if (e->aside)
		return 0;
	while (before != GROVE_NO_ENTRY && grove__spine_flags(im->spine, before) & ROW_ASIDE)
		before = grove__tree_before(im->spine, before);
	e->parent_is = before == GROVE_NO_ENTRY ? PARENT_NULL : PARENT_NAMED;
	if (before != GROVE_NO_ENTRY)
		e->parent = grove__spine_name(grove__spine_id(im->spine, before));
	return 0;
}

size_t grove__model_next_id(const struct grove__image *im, uint64_t ahead, char id[40])
{
	/* a line that was torn is closed, and counts */
	return grove__dialect_linear(im->dialect) ? line_id(im, im->lines + im->torn + ahead, id) : 0;
}

bool grove__model_may_follow(const struct grove__image *im, uint32_t row)
{
	return !grove__dialect_linear(im->dialect) || row == grove__tree_last(im->spine);
}

void grove__model_lock(struct grove__model *m)
{
	if (m->chain)
		pthread_rwlock_wrlock(&m->lock);
}

void grove__model_unlock(struct grove__model *m)
{
	if (m->chain)
		pthread_rwlock_unlock(&m->lock);
}

int grove__model_add(struct grove__model *m, const struct grove__entry *e, const char *id)
{
	return m->chain ? m->dialect->rules->add(m->chain, e, id) : 0;
}

void grove__model_announce(struct grove__model *m, const struct grove__entry *e, uint64_t times)
{
	if (m->chain)
		m->dialect->rules->announce(m->chain, e, times);
}

int grove__model_freeze(const struct grove__model *m, uint64_t at, uint64_t *end, grove__ice_fn *fn,
			void *payload)
{
	return m->chain ? m->dialect->rules->freeze(m->chain, at, end, fn, payload) : 0;
}

int grove__model_thaw(struct grove__model *m, char *bytes, size_t len, uint64_t at, uint32_t nr)
{
	const struct grove__chain_ice ice = { bytes, len, at, nr };
	struct grove__chain *chain;

	if (!m->chain)
		return 0;
	chain = m->dialect->rules->new(0, &ice);
	if (!chain)
		return 1;
	m->dialect->rules->free(m->chain);
	m->chain = chain;
	return 0;
}

bool grove__model_side(const struct grove__model *m, uint32_t row)
{
	struct grove__chain_row r = { .side = false };

	if (m->chain)
		m->dialect->rules->row(m->chain, row, NULL, &r);
	return r.side;
}

/* --- the conversation --- */

void grove__walk_release(struct grove__chain_walk *w)
{
	free(w->rows);
	free(w->reasons);
	memset(w, 0, sizeof(*w));
}

int grove__model_walk(struct grove__image *im, uint32_t nr, const struct grove__chain_ask *ask,
		      struct grove__chain_walk *out, struct grove_detail *d)
{
	struct grove__model *m = &im->model;
	int rc;

	memset(out, 0, sizeof(*out));
	pthread_rwlock_rdlock(&m->lock);
	rc = m->dialect->rules->walk(m->chain, nr, ask, out);
	pthread_rwlock_unlock(&m->lock);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	if (rc == GROVE_ENOTFOUND)
		return grove__fail(d, rc, NULL, "Entry %.200s not found", ask->leaf ? ask->leaf : "");
	if (rc == GROVE_EINVAL)
		return grove__fail(d, rc, NULL, "a %s session has no mode %.60s", m->dialect->name,
				   ask->mode ? ask->mode : "");
	return rc;
}

static int mark_walk(struct grove__image *im, uint32_t leaf, bool own_file, uint8_t *marks,
		     struct grove_detail *d)
{
	struct grove__chain_ask ask = { .own_file = own_file };
	enum grove__chain_place place;
	struct grove__chain_walk w;
	int rc;

	if (leaf != GROVE_NO_ENTRY)
		ask.leaf = grove__spine_id(im->spine, leaf);
	rc = grove__model_walk(im, im->spine->nr, &ask, &w, d);
	if (rc)
		return rc;
	for (size_t i = 0; i < w.nr_reasons; i++) {
		im->dialect->rules->reason(w.reasons[i], &place);
		marks[i] = place != CHAIN_OFF;
	}
	grove__walk_release(&w);
	return 0;
}

int grove__model_mark(struct grove__image *im, uint32_t leaf, bool own_file, uint8_t **marks,
		      struct grove_detail *d)
{
	int rc = 0;

	*marks = calloc((size_t)im->spine->nr + 1, 1);
	if (!*marks)
		return grove__fail_nomem(d);
	if (im->model.chain)
		rc = mark_walk(im, leaf, own_file, *marks, d);
	else
		for (; leaf != GROVE_NO_ENTRY; leaf = grove__spine_parent(im->spine, leaf))
			(*marks)[leaf] = 1;
	if (rc) {
		free(*marks);
		*marks = NULL;
	}
	return rc;
}

const char *grove__model_reason(const struct grove__image *im, uint8_t reason, bool *sent)
{
	enum grove__chain_place place;
	const char *why = im->dialect->rules->reason(reason, &place);

	*sent = place == CHAIN_SENT;
	return why;
}

/* --- about a row --- */

/* Asks the rules about a row; without rules, nothing is special about it. */
static void ask_row(struct grove__image *im, uint32_t row, const char *mode, struct grove__chain_row *out)
{
	*out = (struct grove__chain_row){ .side = false };
	if (!im->model.chain)
		return;
	pthread_rwlock_rdlock(&im->model.lock);
	im->dialect->rules->row(im->model.chain, row, mode, out);
	pthread_rwlock_unlock(&im->model.lock);
}

int grove__model_name(struct grove__image *im, uint32_t row, const char *mode, struct grove_buf *out)
{
	struct grove_slice own = grove__spine_name(grove__spine_id(im->spine, row));
	struct grove__chain_row r;

	grove__buf_clear(out);
	ask_row(im, row, mode, &r);
	return grove__buf_add_slice(out, r.alias.len ? r.alias : own);
}

bool grove__model_message(struct grove__image *im, uint32_t row, struct grove_slice value,
			  struct grove_slice *out)
{
	struct grove__chain_row r;

	ask_row(im, row, NULL, &r);
	if (!r.message_len || r.message_off + r.message_len > value.len)
		return false;
	*out = grove__slice(value.ptr + r.message_off, r.message_len);
	return true;
}

bool grove__model_lacks(struct grove__image *im, uint32_t row)
{
	struct grove__chain_row r;

	ask_row(im, row, NULL, &r);
	return r.lacks;
}

int grove__model_may_end(struct grove__image *im, uint32_t row, bool own_file, const char **why)
{
	int rc;

	*why = "its entries follow one another";
	if (!grove__model_may_follow(im, row))
		return 1;
	if (!im->model.chain || row == GROVE_NO_ENTRY)
		return 0;
	pthread_rwlock_rdlock(&im->model.lock);
	rc = im->dialect->rules->may_end(im->model.chain, row, own_file, why);
	pthread_rwlock_unlock(&im->model.lock);
	return rc;
}

int grove__model_call(struct grove__image *im, struct grove_slice json, struct grove_slice *id)
{
	return im->model.chain ? im->dialect->rules->call(im->model.chain, json, id) : 1;
}

int grove__model_llm(struct grove__image *im, const uint32_t *rows, const struct grove_slice *messages,
		     size_t nr, int64_t now, grove__message_fn *fn, void *payload)
{
	uint8_t *marks = NULL;
	int rc = 0;

	if (!im->dialect->context.llm) {
		for (size_t i = 0; i < nr && !rc; i++)
			rc = fn(payload, i, messages[i]);
		return rc;
	}
	if (im->model.chain) {
		struct grove__chain_row r;

		marks = calloc(nr ? nr : 1, sizeof(*marks));
		if (!marks)
			return GROVE_ENOMEM;
		for (size_t i = 0; i < nr; i++) {
			ask_row(im, rows[i], NULL, &r);
			marks[i] = r.mark;
		}
	}
	rc = im->dialect->context.llm(messages, marks, nr, now, fn, payload);
	free(marks);
	return rc;
}
