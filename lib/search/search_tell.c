/*
 * search/search_tell.c: reads what is shown of a hit from its log.
 *
 * Consecutive hits are often in one session, so the log that was opened last stays open. If
 * the index does not know a log, it is loaded to find out where in the tree its hits are: of
 * all of them at once, because others may come in between.
 */
#include "search/search_tell.h"

#include "image/sent.h"
#include "search/search_names.h"

#include <stdlib.h>

/* What is known of a log that was loaded; texts are in the arena of the hits. */
struct grove__search_told {
	const struct grove__dialect *dialect;
	const char *id, *cwd, *name;
	int64_t modified;
};

int grove__search_teller_init(struct grove__search_teller *t, const struct grove__search_query *q,
			      const struct grove__search_query *some)
{
	t->m = grove__search_matcher_new(q);
	t->some = some ? grove__search_matcher_new(some) : NULL;
	t->told = calloc(t->s->sweep.nr + 1, sizeof(*t->told));
	return t->m && (t->some || !some) && t->told ? 0 : grove__fail_nomem(t->d);
}

void grove__search_teller_release(struct grove__search_teller *t)
{
	grove__log_close(t->log);
	grove__search_matcher_free(t->m);
	grove__search_matcher_free(t->some);
	free(t->told);
	grove__buf_release(&t->line);
	grove__buf_release(&t->path);
	grove__search_texts_release(&t->texts);
	grove__search_snippet_release(&t->snippet);
}

/* Finds the row that begins at a position of the log. */
static uint32_t row_at(const struct grove__image *im, const struct grove__spot *at)
{
	uint32_t low = grove__spine_from_pos(im->spine, 0, at->pos);

	/* there may be white space before a value */
	if (low == im->spine->nr || grove__spine_pos(im->spine, low) >= at->pos + (im->by_line ? 1 : at->len))
		return GROVE_NO_ENTRY;
	for (; at->off && low + 1 < im->spine->nr; low++)
		if (grove__image_spot(im, low).off == at->off)
			break;
	return low;
}

/* Finds where in the tree the hits of a log are. */
static int place_hits(struct grove__search_teller *t, uint32_t log, const struct grove__image *im,
		      const uint8_t *places)
{
	struct grove__arena *a = &t->hits->texts;

	for (size_t i = 0; i < t->hits->nr; i++) {
		struct grove__search_hit *h = &t->hits->list[i];
		const char *id;

		if (h->log != log || h->indexed)
			continue;
		if (!h->text)
			h->row = row_at(im, &h->at);
		else if (h->row >= im->spine->nr)
			h->row = GROVE_NO_ENTRY;
		id = h->row == GROVE_NO_ENTRY ? NULL : grove__spine_id(im->spine, h->row);
		h->place = h->row == GROVE_NO_ENTRY ? 0 : places[h->row];
		if (id && !(h->entry = grove__arena_dup(a, grove__slice_str(id))))
			return GROVE_ENOMEM;
	}
	return 0;
}

static const char *keep(struct grove__search_teller *t, const char *text)
{
	return text ? grove__arena_dup(&t->hits->texts, grove__slice_str(text)) : NULL;
}

static int take_image(struct grove__search_teller *t, uint32_t log, struct grove__image *im,
		      struct grove__search_told *of)
{
	const struct grove__log_at *l = &t->s->sweep.logs[log];
	struct grove_buf own = GROVE_BUF_INIT;
	const char *id, *name = grove__image_name(im);
	uint8_t *places = NULL;
	int rc = grove__image_sent(im, t->log, grove__search_log_name(l), &places, t->d);

	rc = rc ? rc : grove__search_modified(im, t->log, &of->modified, t->d);
	if (!rc && !(rc = grove__search_log_id(l, im, &own, &id))) {
		of->id = keep(t, id);
		of->cwd = keep(t, im->header.cwd ? im->header.cwd : "");
		of->name = keep(t, name);
		if (!of->id || !of->cwd || (name && !of->name))
			rc = GROVE_ENOMEM;
	}
	rc = rc ? rc : place_hits(t, log, im, places);
	grove__buf_release(&own);
	free(places);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(t->d) : rc;
}

static int load(struct grove__search_teller *t, uint32_t log)
{
	const struct grove__log_at *l = &t->s->sweep.logs[log];
	struct grove__search_told *own = grove__arena_alloc(&t->hits->texts, sizeof(*own), 8);
	struct grove__image *im = NULL;
	int rc = own ? 0 : grove__fail_nomem(t->d);

	rc = rc ? rc : grove__search_log_image(l, t->s->g->cache, t->log, t->dialect, &im, t->d);
	if (!rc) {
		own->dialect = t->dialect;
		rc = take_image(t, log, im, own);
	}
	if (!rc)
		t->told[log] = own;
	grove__image_unref(im);
	return rc;
}

static int open_log(struct grove__search_teller *t, const struct grove__search_hit *h)
{
	const struct grove__log_at *l = &t->s->sweep.logs[h->log];
	const struct grove__search_told *of = t->told[h->log];
	struct grove_key key = { l->project, l->session, l->sub };
	int rc;

	if (t->at == h->log + 1)
		return 0;
	grove__log_close(t->log);
	t->at = 0;
	t->dialect = h->indexed ? grove__search_index_dialect(t->s->index, l) : of ? of->dialect : NULL;
	rc = grove__search_log_open(t->s->g, l, &t->log, &t->dialect, t->d);
	if (!rc && !h->indexed && !of)
		rc = load(t, h->log);
	grove__buf_clear(&t->path);
	if (!rc && grove__store_describe(l->root->store, &key, &t->path))
		rc = grove__fail_nomem(t->d);
	if (!rc)
		t->at = h->log + 1;
	return rc;
}

/* Gets the text of an entry that was found. */
static int read_text(struct grove__search_teller *t, const struct grove__search_hit *h, struct grove_slice *out)
{
	int rc = grove__line_fetch(t->log, &h->at, &t->line, t->d);

	if (rc)
		return rc;
	if (h->at.lines || memchr(t->line.ptr, '\n', t->line.len))
		grove__line_join(t->line.ptr, t->line.len);
	rc = grove__search_texts(&t->texts, t->dialect, grove__line_trim(grove__buf_slice(&t->line)), h->kind,
				 h->role);
	*out = grove__buf_slice(&t->texts.of[h->class]);
	return rc;
}

/* Gets the text and the marks to be shown. Returns 1 if the text does not match. */
static int read_hit(struct grove__search_teller *t, const struct grove__search_hit *h)
{
	struct grove__search_matcher *m = h->match ? t->some : t->m;
	const struct grove_hit_mark *marks;
	struct grove_slice text = grove__slice_str(h->text ? h->text : "");
	uint64_t words = 0;
	double score;
	size_t nr;
	int rc = h->text ? 0 : read_text(t, h, &text);

	if (!rc)
		rc = h->match ? grove__search_match_some(m, text, &words) : grove__search_match(m, text, &score);
	if (rc < 0 || (!rc && !words))
		return rc ? rc : 1;
	marks = grove__search_marks(m, &nr);
	return grove__search_snippet(&t->snippet, text, marks, nr);
}

static int know_indexed(struct grove__search_teller *t, const struct grove__search_hit *h, struct grove_hit *out,
			struct grove_hit_session *session)
{
	struct grove__search_file f;
	int rc = grove__search_index_file(t->s->index, &t->s->sweep.logs[h->log], h->file, h->row, &f);

	if (rc)
		return rc;
	session->id = f.session;
	session->cwd = f.cwd;
	session->name = f.name;
	session->modified = f.modified;
	out->entry_id = h->entry;
	out->on_active_path = f.on_path;
	out->in_context = f.sent;
	return 0;
}

static int know_loaded(const struct grove__search_teller *t, const struct grove__search_hit *h, struct grove_hit *out,
		       struct grove_hit_session *session)
{
	const struct grove__search_told *of = t->told[h->log];

	if (!h->text && h->row == GROVE_NO_ENTRY)
		return 1;
	session->id = of->id;
	session->cwd = of->cwd;
	session->name = of->name;
	session->modified = of->modified;
	out->entry_id = h->entry;
	/* the title is not an entry */
	out->on_active_path = h->row == GROVE_NO_ENTRY || h->place & ROW_ON_PATH;
	out->in_context = h->place & ROW_SENT;
	return 0;
}

int grove__search_tell(struct grove__search_teller *t, const struct grove__search_hit *h, struct grove_hit *out,
		       struct grove_hit_session *session)
{
	const struct grove__log_at *l = &t->s->sweep.logs[h->log];
	int rc = open_log(t, h);

	*out = (struct grove_hit){ .time = h->time, .score = h->score, .kind = h->kind, .in = 1u << h->class,
				   .match = h->match, .copies = h->copies,
				   .role = grove__search_role(h->class, h->role) };
	*session = (struct grove_hit_session){ .store = l->root->store->url };
	rc = rc ? rc : read_hit(t, h);
	/* gone or changed; an indexed line is never too long */
	if (rc)
		return rc == GROVE_ENOMEM || (rc == GROVE_ETOOBIG && !h->indexed) ? rc : 1;
	rc = h->indexed ? know_indexed(t, h, out, session) : know_loaded(t, h, out, session);
	if (rc)
		return rc;
	session->path = t->path.len ? t->path.ptr : "";
	session->agent = grove__search_log_agent(l, t->dialect);
	out->snippet = grove__buf_slice(&t->snippet.text);
	out->marks = t->snippet.marks;
	out->nr_marks = t->snippet.nr;
	return 0;
}
