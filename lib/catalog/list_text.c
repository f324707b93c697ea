/*
 * catalog/list_text.c: whether a session matches a query.
 *
 * pi searches the text of all messages of the user and the assistant, of all branches,
 * in file order: the texts of a message with spaces between, and the messages that have
 * any with spaces between. A word has no spaces, so it is searched in one message after
 * the other, and reading ends when all were found. A phrase or a regular expression
 * gets the whole text of the session.
 */
#include "catalog/list_text.h"

#include "catalog/list.h"
#include "session/leaf.h"

#define TMP_BYTES ((size_t)1 << 20)
#define TEXT_BYTES ((size_t)1 << 20)         /* memory that is kept for the next session */

int grove__list_fit_init(struct grove__list_fit *f, const struct grove__query *q,
			 struct grove__digest_reader *r)
{
	*f = (struct grove__list_fit){ .r = r };
	grove__arena_init(&f->tmp);
	if (q)
		f->fit = grove__query_fit_new(q);
	return q && !f->fit ? GROVE_ENOMEM : 0;
}

void grove__list_fit_release(struct grove__list_fit *f)
{
	grove__query_fit_free(f->fit);
	grove__buf_release(&f->text);
	grove__arena_release(&f->tmp);
}

/* --- messages --- */

struct message {
	struct grove_buf *text;
	size_t nr;                           /* of its pieces of text */
};

static int add_piece(void *payload, const struct grove_piece *p)
{
	struct message *m = payload;
	int rc = 0;

	if (p->kind != GROVE_PIECE_TEXT)
		return 0;
	if (m->nr++)
		rc = grove__buf_add_char(m->text, ' ');
	return rc ? rc : grove__buf_add_slice(m->text, p->text);
}

static int add_message(struct grove__list_fit *f, struct grove_slice value, enum grove_role role)
{
	size_t before = f->text.len, from;
	struct message m = { .text = &f->text };
	int rc = before ? grove__buf_add_char(&f->text, ' ') : 0;

	from = f->text.len;
	if (!rc)
		rc = f->r->dialect->text.pieces(value, GROVE_KIND_MESSAGE, role, add_piece, &m);
	if (!rc && f->text.len == from && before)
		grove__buf_cut(&f->text, before);
	return rc;
}

static int ask_text(struct grove__list_fit *f)
{
	f->rc = grove__query_text(f->fit, grove__buf_slice(&f->text), &f->d);
	grove__buf_clear(&f->text);
	return f->rc;
}

/* Returns 1 if there is nothing more to search for. */
static int read_line(void *payload, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__list_fit *f = payload;
	struct grove_slice value = grove__slice(line + l->value.off, (size_t)l->value.len);
	struct grove__entry e;
	enum grove__line_class class;
	int rc;

	(void)nr;
	if (!f->whole && !grove__query_may(f->fit, value))
		return 0;
	if (f->tmp.used > TMP_BYTES)
		grove__arena_release(&f->tmp);
	class = f->r->dialect->read.index(l, line, &f->tmp, &e);
	if (f->tmp.failed)
		return GROVE_ENOMEM;
	if (class != LINE_ENTRY || e.kind != GROVE_KIND_MESSAGE ||
	    (e.role != GROVE_ROLE_USER && e.role != GROVE_ROLE_ASSISTANT))
		return 0;
	rc = add_message(f, value, e.role);
	if (!rc && !f->whole)
		rc = ask_text(f);
	return rc || f->whole ? rc : !grove__query_is_open(f->fit);
}

/* --- the log --- */

/* Most sessions do not match, and their raw bytes show that. */
static int look_raw(struct grove__list_fit *f, struct grove_store_log *log, uint64_t until,
		    struct grove_detail *why)
{
	struct grove__runs *r = &f->r->scan.runs;
	bool open = false;
	int rc = 0;

	r->pieces = true;
	grove__runs_begin(r, log, 0, until, why);
	/* half a line proves nothing: it has to be read as a whole */
	while (!open && !(rc = grove__runs_next(r)))
		open = r->run.open || grove__query_raw(f->fit, r->buf, r->buf + r->run.len);
	r->pieces = false;
	if (rc == 1)
		grove__query_raw_end(f->fit);
	return rc < 0 ? rc : 0;
}

static int read_text(struct grove__list_fit *f, const struct grove__log_at *t,
		     struct grove_detail *why)
{
	const struct grove_key key = { t->project, t->session, t->sub };
	struct grove__scan_part p = { .lenient = grove__dialect_by_value(f->r->dialect), .value = read_line,
				      .payload = f };
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, t->root->store, &key, GROVE_STORE_READ, why);

	if (rc)
		return rc;
	rc = grove__log_stat(log, &st, why);
	if (!rc)
		rc = look_raw(f, log, st.tail, why);
	if (!rc && grove__query_is_open(f->fit)) {
		f->whole = grove__query_is_whole(f->fit);
		p.until = st.tail;
		rc = grove__scan_log(&f->r->scan, log, &p, why);
		if (!rc && f->whole)
			rc = ask_text(f);
	}
	grove__log_close(log);
	return rc == 1 ? 0 : rc;
}

int grove__list_said(struct grove *g, const struct grove__list_place *at, struct grove_buf *out,
		     struct grove_detail *d)
{
	const struct grove_key key = { at->project, at->session, at->sub };
	struct grove__digest_reader r;
	struct grove__list_fit f;
	struct grove_store_log_stat st;
	struct grove_store_log *log = NULL;
	struct grove__scan_part p = { .value = read_line, .payload = &f };
	int rc = grove__digest_reader_init(&r, g, NULL, 1u << CHAPTER_LIST) ? grove__fail_nomem(d) : 0;

	grove__list_fit_init(&f, NULL, &r);
	f.whole = true;
	if (!rc) {
		grove__digest_reader_speak(&r, at->dialect);
		p.lenient = grove__dialect_by_value(at->dialect);
		rc = grove__log_open(&log, at->store, &key, GROVE_STORE_READ, d);
	}
	rc = rc ? rc : grove__log_stat(log, &st, d);
	if (!rc) {
		p.until = st.tail;
		rc = grove__scan_log(&r.scan, log, &p, d);
	}
	if (!rc)
		rc = grove__buf_add_slice(out, grove__buf_slice(&f.text));
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	grove__log_close(log);
	grove__list_fit_release(&f);
	grove__digest_reader_release(&r);
	return rc;
}

int grove__list_value(const struct grove__list_place *at, const char *name, struct grove_buf *out,
		      struct grove_detail *d)
{
	const struct grove_key key = { at->project, at->session, at->sub };
	struct grove_store_log *log;
	int rc = grove__log_open(&log, at->store, &key, GROVE_STORE_READ, d);

	if (rc)
		return rc;
	rc = grove__kept_log_value(log, name, out, d);
	grove__log_close(log);
	return rc;
}

static void forget_text(struct grove__list_fit *f)
{
	grove__arena_release(&f->tmp);
	if (f->text.cap > TEXT_BYTES)
		grove__buf_release(&f->text);
	else
		grove__buf_clear(&f->text);
}

static struct grove_slice text_of(const char *s)
{
	return grove__slice_str(s ? s : "");
}

int grove__list_fits(struct grove__list_fit *f, const struct grove__digest_one *x, double *score,
		     int *hit, struct grove_detail *why)
{
	const struct grove__digest *l = &x->l;
	struct grove__query_on on = { .id = text_of(l->id), .name = text_of(l->name),
				      .cwd = text_of(l->cwd),
				      .part = grove__slice(l->first, l->first ? l->first_len : 0) };
	int rc = 0;

	*hit = 0;
	if (!f->fit)
		return 0;
	f->rc = grove__query_begin(f->fit, &on, &f->d);
	if (!f->rc && grove__query_is_open(f->fit)) {
		grove__digest_reader_speak(f->r, l->dialect);
		rc = read_text(f, x->task, why);
		forget_text(f);
	}
	*hit = f->rc ? f->rc : rc ? 1 : grove__query_end(f->fit, score);
	return f->rc ? 0 : rc;
}
