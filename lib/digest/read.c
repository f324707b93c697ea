/*
 * digest/read.c: what one reading of a log finds.
 *
 * The values of a list are the agent's own, so every line is examined, once. What was
 * billed is in the same lines, and a few members more cost less than another reading: so
 * whoever reads a log first, for a list or for totals, finds both, and the catalog keeps
 * them. If a file has grown, reading continues where it ended, provided that all bytes up
 * to there still have the same checksum. That is for large files, and for dialects whose
 * listing is a few totals (list.tally is NULL).
 *
 * For a single session without a message count, only the two ends are read: agents
 * repeat what a list needs before it is too far from the end.
 */
#include "digest/read.h"
#include "digest/shape.h"

#include "base/crc32c.h"

#include <stdlib.h>

#define MARK_FROM ((uint64_t)1 << 20)    /* the file size from which it pays */
#define MARK_STEP ((size_t)256 << 10)    /* bytes that are compared at once */
#define END ((uint64_t)64 << 10)         /* of the beginning and the end */
#define END_LINES ((uint64_t)64)         /* at the end, where positions count lines */
#define HEAD_MAX ((uint64_t)1 << 20)     /* bytes in which the first message is searched */

int grove__digest_reader_init(struct grove__digest_reader *r, struct grove *g, struct grove__catalog *c,
			      unsigned chapters)
{
	*r = (struct grove__digest_reader){ .g = g, .catalog = c, .chapters = chapters };
	grove__replies_init(&r->own);
	grove__arena_init(&r->tmp);
	grove__arena_init(&r->line);
	return grove__scan_init(&r->scan);
}

void grove__digest_reader_release(struct grove__digest_reader *r)
{
	grove__scan_release(&r->scan);
	grove__replies_release(&r->own);
	grove__outline_release(&r->outline);
	grove__arena_release(&r->tmp);
	grove__arena_release(&r->line);
	grove__buf_release(&r->named);
}

void grove__digest_reader_speak(struct grove__digest_reader *r, const struct grove__dialect *dialect)
{
	unsigned nr = dialect->read.nr_members;

	if (r->dialect == dialect)
		return;
	r->dialect = dialect;
	memcpy(r->members, dialect->read.members, nr * sizeof(*r->members));
	if (dialect->usage.nr_members)
		memcpy(r->members + nr, dialect->usage.members, dialect->usage.nr_members * sizeof(*r->members));
	grove__json_want_init(&r->scan.want, r->members, nr + dialect->usage.nr_members);
}

/* -------------------------------------------------------------------- lines */

/* Version 1 has no ids: uses those that a migration would give. */
static int give_id(const struct grove__digest_one *x, uint64_t nr, struct grove__entry *e, char out[40])
{
	const struct grove__dialect *dialect = x->reader->dialect;

	if (!x->header.id)
		return 0;
	e->id = grove__slice(out, dialect->read.line_id(grove__slice_str(x->header.id), nr, 0, out));
	e->has_id = e->id.len > 0;
	return e->has_id ? 0 : GROVE_ENOMEM;
}

/* The first one counts. */
static int keep_text(struct grove__arena *a, struct grove_slice text, const char **out)
{
	if (*out || !text.len)
		return 0;
	*out = grove__arena_dup(a, text);
	return *out ? 0 : GROVE_ENOMEM;
}

/* Notes what a line was billed for. Sums of sub-agents are marked as if these had logs. */
static int bill_line(struct grove__digest_one *x, const struct grove__json_line *l, const char *line, uint64_t nr,
		     const struct grove__entry *e)
{
	struct grove__digest_reader *r = x->reader;
	const struct grove__dialect *dialect = r->dialect;
	struct grove__billed b;
	struct grove__entry own;
	char id[40];
	int rc;

	if (!x->bills || !dialect->usage.billed)
		return 0;
	rc = dialect->usage.billed(l, line, &r->line, e, &b);
	/* most lines bill nothing, so their ids need not be hashed */
	if (!rc && grove__dialect_lacks_ids(dialect, x->header.version)) {
		own = *e;
		rc = give_id(x, nr, &own, id);
		rc = rc ? rc : dialect->usage.billed(l, line, &r->line, &own, &b);
	}
	if (rc)
		return rc == 1 ? 0 : rc;
	if (x->billed.time == GROVE_NO_TIME)
		x->billed.time = b.time;
	rc = keep_text(&r->tmp, b.session, &x->billed_to);
	rc = rc ? rc : keep_text(&r->tmp, b.origin, &x->origin);
	return rc ? rc : grove__replies_add(&r->own, &b, 0, true);
}

/* A log without a header: its entries say where and when it was. */
static int take_facts(struct grove__digest_one *x, const struct grove__entry *e)
{
	struct grove__header *h = &x->header;

	if (!x->has_header) {
		x->has_header = h->usable = true;
		h->version = x->reader->dialect->version;
		h->time = e->time;
	}
	if (!e->cwd.len || (h->cwd && !e->moves))
		return 0;
	h->cwd = grove__arena_dup(&x->reader->tmp, e->cwd);
	return h->cwd ? 0 : GROVE_ENOMEM;
}

static int list_line(struct grove__digest_one *x, const struct grove__json_line *l, const char *line,
		     const struct grove__entry *e)
{
	return x->reader->dialect->list.line(l, line, &x->reader->line, e, &x->sum);
}

/* A tally keeps what it needs itself. */
static int tally_line(struct grove__digest_one *x, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__digest_reader *r = x->reader;
	struct grove__entry e;
	int rc;

	if (r->dialect->list.tally->index(l, line, &r->line, &e) == LINE_SKIP)
		return 0;
	x->has_header = true;
	rc = list_line(x, l, line, &e);
	return rc ? rc : bill_line(x, l, line, nr, &e);
}

/* Takes the title before the header, or the header. */
static int begin_line(struct grove__digest_one *x, const struct grove__json_line *l, const char *line,
		      enum grove__line_class class, const struct grove__entry *e)
{
	const struct grove__dialect_header *header = x->reader->dialect->header;

	if (class == LINE_SLOT && !x->has_slot) {
		x->has_slot = true;
		return grove__buf_add_slice(&x->slot, e->text);
	}
	/* a file that does not begin with a header is not a session */
	if (class != LINE_HEADER) {
		if (header->other)
			x->other = header->other(grove__slice(line + l->value.off, (size_t)l->value.len));
		return GROVE_EDAMAGED;
	}
	header->read(l, line, &x->reader->tmp, &x->header);
	x->has_header = true;
	return x->reader->tmp.failed ? GROVE_ENOMEM : 0;
}

static int pass_line(struct grove__digest_one *x, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__digest_reader *r = x->reader;
	struct grove__entry e;
	enum grove__line_class class;
	int rc = 0;

	if (r->dialect->list.tally)
		return tally_line(x, l, line, nr);
	class = r->dialect->read.index(l, line, &r->line, &e);
	if (class == LINE_SKIP)
		return 0;
	if (!grove__dialect_has_header(r->dialect))
		rc = take_facts(x, &e);
	else if (!x->has_header)
		return begin_line(x, l, line, class, &e);
	if (rc)
		return rc;
	if (class != LINE_ENTRY)
		r->outline.irregular = true;
	if (class == LINE_HEADER)
		return 0;
	rc = list_line(x, l, line, &e);
	rc = rc ? rc : bill_line(x, l, line, nr, &e);
	return rc || r->outline.irregular ? rc : grove__outline_add(&r->outline, &e);
}

/* A million lines need the room of one. */
static int read_line(void *payload, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__digest_one *x = payload;
	struct grove__arena *a = &x->reader->line;
	int rc = pass_line(x, l, line, x->lines + nr);

	/* a dialect continues without what it had no memory for, but that must not be remembered */
	if (!rc && a->failed)
		rc = GROVE_ENOMEM;
	grove__arena_clear(a);
	return rc;
}

/* True if a later reading can continue where this one ends. */
static bool has_marks(const struct grove__digest_reader *r, const struct grove__digest_one *x)
{
	return x->task->is_file && !r->dialect->list.tally && grove__dialect_has_header(r->dialect);
}

static int read_log(struct grove__digest_reader *r, struct grove_store_log *log,
		    struct grove__digest_one *x, struct grove_detail *d)
{
	struct grove__scan_part p = { .from = x->from, .until = x->log.tail, .lenient = grove__dialect_by_value(r->dialect),
				      .value = read_line, .payload = x, .crc = x->crc,
				      .sum = has_marks(r, x) && x->log.tail >= MARK_FROM };
	int rc = grove__scan_log(&r->scan, log, &p, d);

	x->crc = p.crc;
	x->summed = p.sum && !p.too_long;
	x->loose = p.loose;
	x->lines += p.lines;
	r->outline.irregular |= p.bad || p.too_long;
	/* not remembered, so that it is reported each time */
	x->too_long = p.too_long > 0;
	x->unsettled |= x->too_long;
	return rc ? rc : x->has_header ? 0 : GROVE_EDAMAGED;
}

/* ---------------------------------------------------------------------- ends */

/* The beginning has been read; not an error. */
enum { ENOUGH = 2 };

static int read_head_line(void *payload, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__digest_one *x = payload;
	int rc = read_line(payload, l, line, nr);

	x->head += l->len + 1;
	if (rc || x->head < END)
		return rc;
	return x->sum.has_first || x->head >= HEAD_MAX ? ENOUGH : 0;
}

/* Finds the start of the line that contains the first of the last END bytes. */
static int find_end(struct grove__digest_reader *r, struct grove_store_log *log,
		    struct grove__digest_one *x, struct grove_detail *d)
{
	uint64_t pos = x->log.tail - END;
	int rc = 0;

	x->from = 0;
	if (x->log.by_line) {
		x->from = x->log.tail > END_LINES ? x->log.tail - END_LINES : 0;
		return 0;
	}
	while (pos && !rc && !x->from) {
		size_t n = pos < END ? (size_t)pos : (size_t)END;
		const char *lf;

		rc = grove__log_fetch(log, pos - n, 0, r->scan.runs.buf, n, d);
		lf = rc ? NULL : memrchr(r->scan.runs.buf, '\n', n);
		pos -= n;
		if (lf)
			x->from = pos + (uint64_t)(lf - r->scan.runs.buf) + 1;
	}
	return rc;
}

/* No more than the ends may be read of a long log. */
static bool is_bounded(const struct grove__digest_reader *r)
{
	return r->ends_from == GROVE__DIGEST_MOST;
}

/* Returns 1 if the ends are not enough. */
static int read_ends(struct grove__digest_reader *r, struct grove_store_log *log,
		     struct grove__digest_one *x, struct grove_detail *d)
{
	bool more = is_bounded(r) && !x->log.by_line && x->log.tail > GROVE__DIGEST_MOST;
	struct grove__scan_part p = { .until = more ? GROVE__DIGEST_MOST : x->log.tail,
				      .lenient = grove__dialect_by_value(r->dialect),
				      .value = read_head_line, .payload = x };
	int64_t newest;
	int rc;

	/* nor is a line that is as long as that held in memory */
	r->scan.runs.max = more ? GROVE__DIGEST_MOST / 4 : 0;
	rc = grove__scan_log(&r->scan, log, &p, d);
	r->scan.runs.max = 0;
	x->loose = p.loose;
	/* it had no beginning, or its values are not its lines: all of it was read, up to the limit */
	if (rc != ENOUGH) {
		x->part = more;
		return rc ? rc : x->has_header ? 0 : GROVE_EDAMAGED;
	}
	if (p.loose)
		return 1;
	x->part = true;
	newest = x->sum.newest;
	x->sum.newest = GROVE_NO_TIME;
	rc = find_end(r, log, x, d);
	p.from = x->from;
	p.value = read_line;
	rc = rc ? rc : grove__scan_log(&r->scan, log, &p, d);
	/* the session's time is that of its last message, unless it is the file's */
	if (!rc && (p.loose || (x->sum.newest == GROVE_NO_TIME && !r->dialect->list.modified_by_file)))
		return 1;
	if (newest != GROVE_NO_TIME && (x->sum.newest == GROVE_NO_TIME || newest > x->sum.newest))
		x->sum.newest = newest;
	return rc;
}

/* --------------------------------------------------------------------- marks */

/* Computes the checksum of all bytes before `end`. Returns false if they cannot be read. */
static bool mark_crc(struct grove__digest_reader *r, struct grove_store_log *log, uint64_t end,
		     uint32_t *out)
{
	*out = 0;
	for (uint64_t pos = 0; pos < end;) {
		size_t n = end - pos < MARK_STEP ? (size_t)(end - pos) : MARK_STEP;

		if (grove__log_fetch(log, pos, 0, r->scan.runs.buf, n, NULL))
			return false;
		*out = grove__crc32c(*out, r->scan.runs.buf, n);
		pos += n;
	}
	return true;
}

/* A mark must be at the end of a line. */
static bool ends_line(struct grove_store_log *log, uint64_t end)
{
	char c;

	return !grove__log_fetch(log, end - 1, 0, &c, 1, NULL) && c == '\n';
}

/* Sets a mark at the end of what was read. */
static void set_mark(struct grove__digest_reader *r, struct grove_store_log *log,
		     const struct grove__digest_one *x, struct grove__digest *l)
{
	if (!r->catalog || !x->summed || x->loose || x->part || !ends_line(log, x->log.tail))
		return;
	l->mark = x->log.tail;
	l->mark_crc = x->crc;
	l->lines = x->lines;
	l->version = x->header.version;
	l->has_slot = x->has_slot;
	l->has_time = x->header.time_text;
	l->newest = x->sum.newest;
	l->slot = x->slot.len ? x->slot.ptr : NULL;
	l->title = x->header.title;
	l->said = x->sum.name.len ? x->sum.name.ptr : NULL;
}

/* Takes the replies up to the mark, which was set when the log was as `then`. */
static int take_replies(struct grove__digest_reader *r, struct grove__digest_one *x,
			const struct grove__log_state *then)
{
	struct grove__billed_log was;
	struct grove__log_state st;
	struct grove_slice bytes;
	int rc;

	if (!grove__catalog_recall(r->catalog, CHAPTER_REPLIES, x->task->path, &st, &r->tmp, &bytes) ||
	    !grove__state_same(&st, then) || !grove__billed_unpack(bytes, &was) || was.dialect != r->dialect)
		return 1;
	rc = keep_text(&r->tmp, was.id, &x->billed_to);
	rc = rc ? rc : keep_text(&r->tmp, was.parent, &x->origin);
	x->billed.time = was.time;
	return rc ? rc : grove__billed_fold(bytes, &r->own, 0, true);
}

/* Continues from the mark of an earlier reading, if there is a valid one. */
static int go_on(struct grove__digest_reader *r, struct grove_store_log *log,
		 struct grove__digest_one *x)
{
	struct grove__log_state then;
	struct grove__digest was;
	struct grove_slice bytes;
	uint32_t crc;
	int rc = 0;

	if (!has_marks(r, x) ||
	    !grove__catalog_recall(r->catalog, CHAPTER_LIST, x->task->path, &then, &r->tmp, &bytes) ||
	    !grove__state_grown(&then, &x->st) || !grove__digest_unpack(bytes, &was) || was.rc ||
	    was.dialect != r->dialect || was.mark < MARK_FROM || was.mark > x->log.tail ||
	    !mark_crc(r, log, was.mark, &crc) || crc != was.mark_crc)
		return 0;
	if (x->bills)
		rc = take_replies(r, x, &then);
	if (rc)
		return rc < 0 ? rc : 0;
	r->outline.irregular = true;
	x->from = was.mark;
	x->lines = was.lines;
	x->crc = crc;
	x->has_header = true;
	x->has_slot = was.has_slot;
	x->header = (struct grove__header){ .id = was.id, .cwd = was.cwd, .parent = was.parent,
					    .title = was.title, .time = was.created, .version = was.version,
					    .time_text = was.has_time ? "" : NULL };
	x->sum.messages = was.messages;
	x->sum.newest = was.newest;
	x->sum.has_first = was.first;
	if (was.first)
		rc = grove__buf_add(&x->sum.first, was.first, was.first_len);
	if (!rc && was.said)
		rc = grove__buf_add_str(&x->sum.name, was.said);
	if (!rc && was.slot)
		rc = grove__buf_add_str(&x->slot, was.slot);
	return rc;
}

/* --------------------------------------------------------------- one session */

/* Takes the name from the slot, the header or the entries, whichever has one first. */
static const char *name_of(const struct grove__dialect *dialect, const struct grove__digest_one *x)
{
	if (x->slot.len)
		return x->slot.ptr;
	if (grove__dialect_has_title(dialect) && x->header.title && *x->header.title)
		return x->header.title;
	return x->sum.name.len ? x->sum.name.ptr : NULL;
}

int64_t grove__digest_file_time(const struct grove__dialect *dialect, int64_t ns)
{
	int64_t half = ns < 0 || dialect->list.cuts_file_time ? 0 : 500000;

	return (ns + half) / 1000000;
}

static int64_t modified(const struct grove__dialect *dialect, const struct grove__digest_one *x)
{
	int64_t file_time = grove__digest_file_time(dialect, x->log.mtime_ns);

	if (dialect->list.modified_by_file)
		return file_time;
	if (x->sum.newest != GROVE_NO_TIME && x->sum.newest > 0)
		return x->sum.newest;
	if (x->header.time_text && x->header.time != GROVE_NO_TIME)
		return x->header.time;
	return file_time;
}

/* The dialect that the location suggests. The sessions of a project share its name, so the pointer says enough. */
static int likely_dialect(struct grove__digest_reader *r, const struct grove__log_at *t,
			  const struct grove__dialect **out)
{
	int rc = 0;

	if (r->likely_root != t->root || r->likely_project != t->project) {
		rc = grove__peek_root_likely(r->g, t->root, t->project, &r->likely);
		r->likely_root = rc ? NULL : t->root;
		r->likely_project = t->project;
	}
	*out = r->likely;
	return rc;
}

static int open_task(struct grove__digest_reader *r, const struct grove__log_at *t,
		     struct grove__digest *l, struct grove_store_log **log, struct grove_detail *d)
{
	struct grove_key key = { t->project, t->session, t->sub };
	const struct grove__dialect *dialect, *likely;
	int rc = grove__log_open(log, t->root->store, &key, GROVE_STORE_READ, d);

	if (!rc)
		rc = grove__peek_log_dialect(r->g, t->root, *log, &key, &dialect, d);
	if (rc)
		return rc;
	l->dialect = dialect;
	if (!r->g->forced && !t->root->dialect && !likely_dialect(r, t, &likely))
		l->around = likely->name;
	grove__digest_reader_speak(r, dialect);
	return 0;
}

static int ask_store(const struct grove__log_at *t, const char *name, struct grove_buf *out)
{
	struct grove_key key = { t->project, t->session, t->sub };
	struct grove_store_log *log;

	if (!strncmp(name, "../", 3)) {
		key.session = name + 3;
		if (grove__log_open(&log, t->root->store, &key, GROVE_STORE_READ, NULL))
			return GROVE_ENOTFOUND;
		grove__log_close(log);
		return 0;
	}
	return out ? grove__store_attach_get(t->root->store, &key, name, out, NULL) : GROVE_EINVAL;
}

/*
 * What belongs to a session in a database has no times. So of a session that has it,
 * nothing is remembered; of the others, that they have not.
 */
static int beside_in_store(struct grove__digest_one *x, const char *name, struct grove_buf *out)
{
	int rc = ask_store(x->task, name, out);

	if (rc != GROVE_ENOTFOUND || strchr(name, '\n'))
		x->unsettled = true;
	else if (grove__buf_add_str(&x->asked, name) || grove__buf_add_char(&x->asked, '\n'))
		rc = GROVE_ENOMEM;
	return rc;
}

/* True if a session in a database still has none of what it had not. */
static bool store_holds(const struct grove__log_at *t, const char *asked)
{
	struct grove_buf name = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	bool holds = true;

	for (const char *p = asked; p && *p && holds;) {
		size_t n = strcspn(p, "\n");

		grove__buf_clear(&name);
		holds = p[n] && !grove__buf_add(&name, p, n) && ask_store(t, name.ptr, &out) == GROVE_ENOTFOUND;
		p += n + 1;
	}
	grove__buf_release(&name);
	grove__buf_release(&out);
	return holds;
}

/*
 * Reads a file of the session, or ("../NAME") one in its directory; `out` NULL: only
 * checks that it exists.
 */
static int beside(void *payload, const char *name, struct grove_buf *out)
{
	struct grove__digest_one *x = payload;
	const struct grove__log_at *t = x->task;
	bool there, settled;

	if (t->is_surveyed)
		return beside_in_store(x, name, out);
	if (grove__digest_note(&x->asked, t->path, name, &there, &settled))
		return GROVE_ENOMEM;
	x->unsettled |= !settled || strpbrk(name, " \n");
	/* most sessions have none, and asking the store takes longer */
	if (t->is_file && !there)
		return GROVE_ENOTFOUND;
	return ask_store(t, name, out);
}

/* There is nothing beside it, or nobody wants to know. */
static int nothing_beside(void *payload, const char *name, struct grove_buf *out)
{
	(void)payload;
	(void)name;
	(void)out;
	return GROVE_ENOTFOUND;
}

/* Completes what depends on the whole log, or on the part that could be read. Returns 1 if it is not for a list. */
static int conclude(struct grove__digest_reader *r, struct grove__digest_one *x)
{
	const struct grove__log_at *t = x->task;
	const char *slash = strrchr(t->sub, '/');
	struct grove_slice id = grove__slice_str(slash ? slash + 1 : *t->sub ? t->sub : t->session);
	bool hidden = false;
	int64_t time;
	int rc;

	if (grove__dialect_has_header(r->dialect))
		return 0;
	/* a project's directory has other files, too */
	if (*t->sub || !r->dialect->paths.parse_file_name(id, &time, &id)) {
		hidden = !*t->sub && !r->any;
		/* the name under which it is opened */
		grove__slice_cut_end(&id, ".jsonl");
	}
	x->header.id = grove__arena_dup(&r->tmp, id);
	if (!x->header.id)
		return GROVE_ENOMEM;
	if (!r->dialect->list.tally)
		return hidden;
	/* totals need nothing of what is beside it, nor does a list of what it leaves out */
	x->alone = hidden || x->l.rc || (*t->sub && !r->any);
	rc = r->dialect->list.tally->end(x->sum.more, &r->tmp, x->alone ? nothing_beside : beside, x, &x->header, &x->sum);
	return rc < 0 ? rc : hidden || rc;
}

/* Packs what was billed, also of a log of which only a part could be read. */
static int conclude_bill(struct grove__digest_reader *r, struct grove__digest_one *x)
{
	struct grove__billed_log *b = &x->billed;
	const struct grove__header *h = &x->header;
	struct grove_slice id;
	int64_t time;

	b->dialect = x->l.dialect;
	b->around = grove__slice_str(x->l.around ? x->l.around : "");
	b->session = x->has_header;
	b->nr = (uint32_t)r->own.nr;
	if (x->has_header) {
		b->id = grove__slice_str(x->billed_to ? x->billed_to : "");
		b->cwd = grove__slice_str(h->cwd ? h->cwd : "");
		b->parent = grove__slice_str(x->origin ? x->origin : "");
		if (h->time != GROVE_NO_TIME)
			b->time = h->time;
		if (grove__dialect_has_header(r->dialect) && h->id)
			b->id = grove__slice_str(h->id);
		else if (!grove__dialect_has_header(r->dialect) && r->dialect->paths.parse_file_name(grove__slice_str(x->task->session), &time, &id))
			b->id = id;
		if (grove__dialect_has_header(r->dialect) && h->parent)
			b->parent = grove__slice_str(h->parent);
	}
	if (grove__billed_pack(b, &r->own, &x->packed))
		return GROVE_ENOMEM;
	x->replies = grove__buf_slice(&x->packed);
	return 0;
}

static void fill(const struct grove__digest_reader *r, const struct grove__digest_one *x,
		 struct grove__digest *l)
{
	l->id = x->header.id;
	l->cwd = x->header.cwd;
	l->name = name_of(r->dialect, x);
	l->parent = x->header.parent;
	l->first = x->sum.has_first ? x->sum.first.ptr : NULL;
	l->first_len = x->sum.first.len;
	l->created = x->header.time;
	l->modified = modified(r->dialect, x);
	l->messages = x->part ? GROVE_NO_COUNT : x->sum.messages;
	l->bytes = x->log.bytes;
	l->mtime_ns = x->log.mtime_ns;
	l->asked = x->asked.len ? x->asked.ptr : NULL;
}

/* Starts with nothing read. */
static int start_over(struct grove__digest_reader *r, struct grove__digest_one *x, bool bills)
{
	if (x->sum.more)
		r->dialect->list.tally->free(x->sum.more);
	grove__buf_release(&x->slot);
	grove__buf_release(&x->sum.first);
	grove__buf_release(&x->sum.name);
	x->sum = (struct grove__summary){ .newest = GROVE_NO_TIME };
	x->header = (struct grove__header){ .time = GROVE_NO_TIME };
	x->has_header = x->has_slot = x->loose = x->part = false;
	x->from = x->lines = 0;
	x->bills = bills;
	x->billed.time = GROVE_NO_TIME;
	grove__replies_clear(&r->own);
	grove__outline_begin(&r->outline, r->dialect);
	if (r->dialect->list.tally)
		x->sum.more = r->dialect->list.tally->new((uint64_t)(uintptr_t)x);
	return r->dialect->list.tally && !x->sum.more ? GROVE_ENOMEM : 0;
}

static int read_lines(struct grove__digest_reader *r, struct grove_store_log *log,
		      struct grove__digest_one *x, struct grove_detail *d)
{
	bool bills = r->catalog || r->chapters & 1u << CHAPTER_REPLIES;
	int rc;

	if (r->ends_from && x->log.bytes >= r->ends_from) {
		rc = start_over(r, x, false);
		rc = rc ? rc : read_ends(r, log, x, d);
		if (rc == 1 && is_bounded(r)) {
			x->part = true;
			return 0;
		}
		if (rc <= 0)
			return rc;
	}
	rc = start_over(r, x, bills);
	rc = rc ? rc : go_on(r, log, x);
	return rc ? rc : read_log(r, log, x, d);
}

/* Reads the log, whatever the result. */
static void read_anew(struct grove__digest_reader *r, struct grove__digest_one *x,
		      struct grove_detail *why)
{
	struct grove__digest *l = &x->l;
	struct grove_store_log *log = NULL;
	int rc = 0;

	*l = (struct grove__digest){ .rc = 0 };
	l->rc = open_task(r, x->task, l, &log, why);
	if (!l->rc)
		l->rc = grove__time_stat(log, &x->log, why);
	if (!l->rc)
		l->rc = read_lines(r, log, x, why);
	if (l->rc == GROVE_EDAMAGED && x->other)
		grove__fail(why, l->rc, NULL, "%s", x->other);
	if (l->rc != GROVE_ENOMEM && x->has_header)
		rc = conclude(r, x);
	if (rc >= 0 && x->bills && conclude_bill(r, x))
		rc = GROVE_ENOMEM;
	if (rc < 0 || !l->rc)
		l->rc = rc;
	x->hidden = l->rc == 1;
	if (x->hidden && r->any)
		l->rc = 0;
	if (!l->rc) {
		x->shaped = r->catalog && !x->part && !x->header.base && !r->outline.irregular && x->task->is_file &&
			    !grove__dialect_lacks_ids(r->dialect, x->header.version) && ends_line(log, x->log.tail);
		fill(r, x, l);
		set_mark(r, log, x, l);
	} else if (l->rc < 0 && why->code) {
		l->why = why->message;
	}
	grove__log_close(log);
}

/*
 * Its own lines decide about the directory, whatever the files next to it say about title
 * and origin.
 */
static bool is_elsewhere(struct grove__digest_reader *r, const struct grove__digest_one *x)
{
	/* out of memory: it may belong here, and the caller will ask again */
	return r->cwd && !x->l.rc && x->l.cwd && *x->l.cwd && grove__digest_belongs(r, x->task, &x->l, r->cwd) == 0;
}

/* Would it be read in the dialect of that time, when its location suggested `around`? */
static bool reads_alike(struct grove__digest_reader *r, const struct grove__log_at *t,
			const struct grove__dialect *was, struct grove_slice around)
{
	const struct grove__dialect *must = r->g->forced ? r->g->forced : t->root->dialect, *likely;

	if (must)
		return was == must;
	/* if the bytes do not decide, the location does, which must still give the same answer */
	return around.len && !likely_dialect(r, t, &likely) && grove__slice_eq(around, grove__slice_str(likely->name));
}

static const char *name_in_catalog(const struct grove__log_at *t)
{
	return t->is_file ? t->path : t->name;
}

static bool unpack_list(struct grove__digest_reader *r, struct grove__digest_one *x, struct grove_slice bytes)
{
	return grove__digest_unpack(bytes, &x->l) &&
	       reads_alike(r, x->task, x->l.dialect, grove__slice_str(x->l.around ? x->l.around : ""));
}

static bool knows_list(struct grove__digest_reader *r, struct grove__digest_one *x, const char *name)
{
	const struct grove__log_at *t = x->task;
	struct grove_slice bytes;

	if (!grove__catalog_find(r->catalog, CHAPTER_LIST, name, &x->st, &r->tmp, &bytes) ||
	    !unpack_list(r, x, bytes) || (r->any && x->l.rc == 1))
		return false;
	if (!r->recalls && !is_elsewhere(r, x) &&
	    !(t->is_file ? grove__digest_holds(x->l.asked, t->path) : store_holds(t, x->l.asked)))
		return false;
	if (!t->is_file) {
		x->st.size = x->l.bytes;
		x->st.mtime_ns = x->l.mtime_ns;
	}
	return true;
}

static bool knows_replies(struct grove__digest_reader *r, struct grove__digest_one *x, const char *name)
{
	return grove__catalog_find(r->catalog, CHAPTER_REPLIES, name, &x->st, &r->tmp, &x->replies) &&
	       grove__billed_unpack(x->replies, &x->billed) && x->billed.dialect &&
	       reads_alike(r, x->task, x->billed.dialect, x->billed.around);
}

/* Looks up what is asked for, if the log has not changed since it was read. */
static bool is_known(struct grove__digest_reader *r, struct grove__digest_one *x)
{
	const char *name = name_in_catalog(x->task);

	return name && (!(r->chapters & 1u << CHAPTER_REPLIES) || knows_replies(r, x, name)) &&
	       (!(r->chapters & 1u << CHAPTER_LIST) || knows_list(r, x, name));
}

/* Looks up what an earlier list found, changed or not, unless it is a session of this directory. */
static bool recall(struct grove__digest_reader *r, struct grove__log_at *t, struct grove__digest_one *x)
{
	struct grove_slice bytes;

	if (!*t->path || !grove__catalog_recall(r->catalog, CHAPTER_LIST, t->path, &t->st, &r->tmp, &bytes) ||
	    !unpack_list(r, x, bytes) || (x->l.cwd && !strcmp(x->l.cwd, r->g->cwd)))
		return false;
	t->is_file = true;
	x->st = t->st;
	return true;
}

/*
 * A log that changed before it was read is not remembered. In a database, it may have the
 * time of what it was copied from.
 */
static bool is_as_before(const struct grove__digest_one *x)
{
	return grove__log_is_still(&x->log, &x->st, x->task->is_file);
}

static void remember(struct grove__digest_reader *r, const struct grove__digest_one *x)
{
	const struct grove__digest *l = &x->l;
	struct grove_buf bytes = GROVE_BUF_INIT;
	/* a failure may be temporary, but bytes that are not a session stay that way */
	bool final = l->dialect && (l->rc >= 0 || (l->rc == GROVE_EDAMAGED && !l->why));
	const char *name = name_in_catalog(x->task);

	if (!final || !name || !is_as_before(x))
		return;
	if (x->bills && !x->too_long)
		grove__catalog_put(r->catalog, CHAPTER_REPLIES, name, &x->st, x->replies);
	if (x->shaped && !grove__shape_pack(&r->outline, r->dialect, &bytes))
		grove__catalog_put(r->catalog, CHAPTER_SHAPE, name, &x->st, grove__buf_slice(&bytes));
	grove__buf_clear(&bytes);
	/* what was asked for on its own may be hidden from lists, and a sub-agent's has other files beside it */
	if (!x->unsettled && !(r->any && x->hidden) && !(*x->task->sub && (l->asked || x->alone)) &&
	    !grove__digest_pack(l, &bytes))
		grove__catalog_put(r->catalog, CHAPTER_LIST, name, &x->st, grove__buf_slice(&bytes));
	grove__buf_release(&bytes);
}

int grove__digest_read(struct grove__digest_reader *r, struct grove__log_at *t,
		     struct grove__digest_one *x, struct grove_detail *why)
{
	*x = (struct grove__digest_one){ .sum.newest = GROVE_NO_TIME, .task = t, .reader = r, .st = t->st };
	grove__fail_clear(why);
	if (r->recalls && !t->is_surveyed) {
		x->known = recall(r, t, x);
		if (x->known)
			return x->l.rc;
		grove__logs_look(t, NULL);
		x->st = t->st;
	}
	/* an empty file need not be remembered; if it was named, the caller gets an error */
	if (!r->any && t->is_empty)
		return GROVE_EDAMAGED;
	x->known = (t->is_file || t->is_surveyed) && is_known(r, x);
	if (x->known)
		return x->l.rc;
	x->l = (struct grove__digest){ .rc = 0 };
	x->billed = (struct grove__billed_log){ .time = GROVE_NO_TIME };
	x->replies = grove__slice(NULL, 0);
	read_anew(r, x, why);
	if ((t->is_file || t->is_surveyed) && r->catalog && !x->part)
		remember(r, x);
	/* as it was read, not as it was at first */
	x->st.size = x->log.bytes;
	x->st.mtime_ns = x->log.mtime_ns;
	x->st.ctime_ns = x->log.ctime_ns;
	return x->l.rc;
}

int grove__digest_belongs(struct grove__digest_reader *r, const struct grove__log_at *t,
			const struct grove__digest *l, const char *cwd)
{
	bool named = l->cwd && *l->cwd;
	int rc;

	if (named && r->named_by == l->dialect && !strcmp(r->named.ptr, l->cwd))
		return r->belonged;
	rc = grove__root_belongs(r->g, t->root, l->dialect, t->project, l->cwd, cwd);
	if (rc < 0)
		return rc;
	r->belonged = rc;
	grove__buf_clear(&r->named);
	r->named_by = named && !grove__buf_add_str(&r->named, l->cwd) ? l->dialect : NULL;
	return rc;
}

void grove__digest_read_release(struct grove__digest_reader *r, struct grove__digest_one *x)
{
	if (x->sum.more)
		r->dialect->list.tally->free(x->sum.more);
	grove__buf_release(&x->slot);
	grove__buf_release(&x->asked);
	grove__buf_release(&x->packed);
	grove__buf_release(&x->sum.first);
	grove__buf_release(&x->sum.name);
	grove__arena_release(&r->tmp);
}
