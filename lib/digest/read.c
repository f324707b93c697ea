/*
 * digest/read.c: one session, read for a list or known from an earlier one.
 *
 * The values are the agent's own, so every line is examined, once: the result is stored
 * in the catalog. If a file has grown, reading continues where it ended, provided that
 * all bytes up to there still have the same checksum. That is for large files, and for
 * dialects whose listing is a few totals (list.new is NULL).
 *
 * For a single session without a message count, only the two ends are read: agents
 * repeat what a list needs before it is too far from the end.
 */
#include "digest/read.h"
#include "digest/catalog.h"

#include "base/crc32c.h"

#include <stdlib.h>

#define MARK_FROM ((uint64_t)1 << 20)    /* the file size from which it pays */
#define MARK_STEP ((size_t)256 << 10)    /* bytes that are compared at once */
#define END ((uint64_t)64 << 10)         /* of the beginning and the end */
#define END_LINES ((uint64_t)64)         /* at the end, where positions count lines */
#define HEAD_MAX ((uint64_t)1 << 20)     /* bytes in which the first message is searched */

int grove__digest_reader_init(struct grove__digest_reader *r, struct grove *g, struct grove__catalog *c)
{
	*r = (struct grove__digest_reader){ .g = g, .catalog = c };
	grove__arena_init(&r->tmp);
	grove__arena_init(&r->line);
	return grove__scan_init(&r->scan);
}

void grove__digest_reader_release(struct grove__digest_reader *r)
{
	grove__scan_release(&r->scan);
	grove__arena_release(&r->tmp);
	grove__arena_release(&r->line);
	grove__buf_release(&r->named);
	grove__buf_release(&r->name);
}

void grove__digest_reader_speak(struct grove__digest_reader *r, const struct grove__dialect *dialect)
{
	if (r->dialect == dialect)
		return;
	r->dialect = dialect;
	grove__json_want_init(&r->scan.want, dialect->read.members, dialect->read.nr_members);
}

/* -------------------------------------------------------------------- lines */

/* A tally has no header and keeps what it needs itself: a million lines need the room of one. */
static int tally_line(struct grove__digest_reader *r, const struct grove__json_line *l, const char *line, struct grove__digest_one *x)
{
	struct grove__entry e;
	int rc = 0;

	if (r->dialect->list.tally->index(l, line, &r->line, &e) != LINE_SKIP) {
		x->has_header = true;
		rc = r->dialect->list.line(l, line, &r->line, &e, &x->sum);
	}
	if (!rc && r->line.failed)
		rc = GROVE_ENOMEM;
	grove__arena_clear(&r->line);
	return rc;
}

static int read_line(void *payload, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__digest_one *x = payload;
	struct grove__digest_reader *r = x->reader;
	struct grove__entry e;
	enum grove__line_class class;

	(void)nr;
	if (r->dialect->list.tally)
		return tally_line(r, l, line, x);
	class = r->dialect->read.index(l, line, &r->tmp, &e);
	if (class == LINE_SKIP)
		return 0;
	x->has_header |= !grove__dialect_has_header(r->dialect);
	if (!x->has_header) {
		if (class == LINE_SLOT && !x->has_slot) {
			x->has_slot = true;
			return grove__buf_add_slice(&x->slot, e.text);
		}
		/* a file that does not begin with a header is not a session */
		if (class != LINE_HEADER) {
			if (r->dialect->header->other)
				x->other = r->dialect->header->other(grove__slice(line + l->value.off, (size_t)l->value.len));
			return GROVE_EDAMAGED;
		}
		r->dialect->header->read(l, line, &r->tmp, &x->header);
		x->has_header = true;
		return r->tmp.failed ? GROVE_ENOMEM : 0;
	}
	return class == LINE_HEADER ? 0 : r->dialect->list.line(l, line, &r->tmp, &e, &x->sum);
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
	/* not remembered, so that it is reported each time */
	x->too_long = p.too_long > 0;
	x->unsettled |= x->too_long;
	return rc ? rc : x->has_header ? 0 : GROVE_EDAMAGED;
}

/* ---------------------------------------------------------------------- ends */

/* The beginning has been read; not an error. */
enum { ENOUGH = 2 };

static bool has_begun(const struct grove__digest_one *x)
{
	const struct grove__dialect *dialect = x->reader->dialect;

	return dialect->list.tally ? dialect->list.tally->begun(x->sum.more) : x->sum.has_first;
}

static int read_head_line(void *payload, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct grove__digest_one *x = payload;
	int rc = read_line(payload, l, line, nr);

	x->head += l->len + 1;
	if (rc || x->head < END)
		return rc;
	return has_begun(x) || x->head >= HEAD_MAX ? ENOUGH : 0;
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
	l->has_slot = x->has_slot;
	l->has_time = x->header.time_text;
	l->newest = x->sum.newest;
	l->slot = x->slot.len ? x->slot.ptr : NULL;
	l->title = x->header.title;
	l->said = x->sum.name.len ? x->sum.name.ptr : NULL;
}

/* Continues from the mark of an earlier list, if there is a valid one. */
static int go_on(struct grove__digest_reader *r, struct grove_store_log *log,
		 struct grove__digest_one *x)
{
	struct grove__digest was;
	struct grove_slice bytes;
	uint32_t crc;
	int rc = 0;

	if (!has_marks(r, x) ||
	    !grove__catalog_former(r->catalog, x->task->path, &x->st, &r->tmp, &bytes) ||
	    !grove__digest_unpack(bytes, &was) || was.rc || was.dialect != r->dialect ||
	    was.mark < MARK_FROM || was.mark > x->log.tail || !mark_crc(r, log, was.mark, &crc) ||
	    crc != was.mark_crc)
		return 0;
	x->from = was.mark;
	x->crc = crc;
	x->has_header = true;
	x->has_slot = was.has_slot;
	x->header = (struct grove__header){ .id = was.id, .cwd = was.cwd, .parent = was.parent,
					    .title = was.title, .time = was.created,
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
static int likely_dialect(struct grove__digest_reader *r, const struct grove__digest_task *t,
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

static int open_task(struct grove__digest_reader *r, const struct grove__digest_task *t,
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

static int ask_store(const struct grove__digest_task *t, const char *name, struct grove_buf *out)
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
static bool store_holds(const struct grove__digest_task *t, const char *asked)
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
	const struct grove__digest_task *t = x->task;
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

/* Completes what depends on the whole log. Returns 1 if it is not for a list. */
static int conclude(struct grove__digest_reader *r, const struct grove__digest_task *t,
		    struct grove__digest_one *x)
{
	const char *slash = strrchr(t->sub, '/');
	struct grove_slice id = grove__slice_str(slash ? slash + 1 : *t->sub ? t->sub : t->session);
	int64_t time;

	if (!r->dialect->list.tally)
		return 0;
	/* a project's directory has other files, too */
	if (*t->sub || !r->dialect->paths.parse_file_name(id, &time, &id)) {
		if (!*t->sub && !r->any)
			return 1;
		/* the name under which it is opened */
		grove__slice_cut_end(&id, ".jsonl");
	}
	x->header.id = grove__arena_dup(&r->tmp, id);
	if (!x->header.id)
		return GROVE_ENOMEM;
	return r->dialect->list.tally->end(x->sum.more, &r->tmp, beside, x, &x->header, &x->sum);
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
static int begin(struct grove__digest_reader *r, struct grove__digest_one *x)
{
	if (x->sum.more)
		r->dialect->list.tally->free(x->sum.more);
	grove__buf_release(&x->slot);
	grove__buf_release(&x->sum.first);
	grove__buf_release(&x->sum.name);
	x->sum = (struct grove__summary){ .newest = GROVE_NO_TIME };
	x->header = (struct grove__header){ 0 };
	x->has_header = x->has_slot = x->loose = x->part = false;
	x->from = 0;
	if (r->dialect->list.tally)
		x->sum.more = r->dialect->list.tally->new((uint64_t)(uintptr_t)x);
	return r->dialect->list.tally && !x->sum.more ? GROVE_ENOMEM : 0;
}

static int read_lines(struct grove__digest_reader *r, struct grove_store_log *log,
		      struct grove__digest_one *x, struct grove_detail *d)
{
	int rc = begin(r, x);

	if (!rc && r->ends_from && x->log.bytes >= r->ends_from) {
		rc = read_ends(r, log, x, d);
		if (rc == 1 && is_bounded(r)) {
			x->part = true;
			return 0;
		}
		if (rc <= 0)
			return rc;
		rc = begin(r, x);
	}
	rc = rc ? rc : go_on(r, log, x);
	return rc ? rc : read_log(r, log, x, d);
}

/* Reads the session, whatever the result. */
static void read_session(struct grove__digest_reader *r, struct grove__digest_one *x,
			 struct grove_detail *why)
{
	struct grove__digest *l = &x->l;
	struct grove_store_log *log = NULL;

	*l = (struct grove__digest){ .rc = 0 };
	l->rc = open_task(r, x->task, l, &log, why);
	if (!l->rc)
		l->rc = grove__time_stat(log, &x->log, why);
	if (!l->rc)
		l->rc = read_lines(r, log, x, why);
	if (l->rc == GROVE_EDAMAGED && x->other)
		grove__fail(why, l->rc, NULL, "%s", x->other);
	if (!l->rc)
		l->rc = conclude(r, x->task, x);
	x->hidden = l->rc == 1;
	if (x->hidden && r->any)
		l->rc = 0;
	if (!l->rc) {
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

/* Would it be read in the same dialect as then? */
static bool reads_alike(struct grove__digest_reader *r, const struct grove__digest_one *x)
{
	const struct grove__dialect *must = r->g->forced ? r->g->forced : x->task->root->dialect, *likely;

	if (must)
		return x->l.dialect == must;
	return x->l.around && !likely_dialect(r, x->task, &likely) && !strcmp(x->l.around, likely->name);
}

/* The name of a log in the catalog; NULL if out of memory. */
static const char *name_in_catalog(struct grove__digest_reader *r, const struct grove__digest_task *t)
{
	if (t->is_file)
		return t->path;
	grove__buf_clear(&r->name);
	return grove__buf_addf(&r->name, "%s\n%s\n%s\n%s", t->url, t->project, t->session, t->sub) ? NULL : r->name.ptr;
}

/* Looks up what an earlier list found, if the log has not changed. */
static bool is_known(struct grove__digest_reader *r, struct grove__digest_one *x)
{
	const struct grove__digest_task *t = x->task;
	const char *name = name_in_catalog(r, t);
	struct grove_slice bytes;

	if (!name || !grove__catalog_find(r->catalog, name, &x->st, &r->tmp, &bytes) ||
	    !grove__digest_unpack(bytes, &x->l) || !reads_alike(r, x))
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

/* Looks up what an earlier list found, changed or not, unless it is a session of this directory. */
static bool recall(struct grove__digest_reader *r, struct grove__digest_task *t, struct grove__digest_one *x)
{
	struct grove_slice bytes;

	if (!*t->path || !grove__catalog_recall(r->catalog, t->path, &t->st, &r->tmp, &bytes) ||
	    !grove__digest_unpack(bytes, &x->l) || !reads_alike(r, x) ||
	    (x->l.cwd && !strcmp(x->l.cwd, r->g->cwd)))
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
	const char *name = name_in_catalog(r, x->task);

	if (final && name && is_as_before(x) && !x->unsettled && (!l->asked || !*x->task->sub) &&
	    !grove__digest_pack(l, &bytes))
		grove__catalog_put(r->catalog, name, &x->st, grove__buf_slice(&bytes));
	grove__buf_release(&bytes);
}

void grove__digest_look(struct grove__digest_task *t, struct grove__sys_dir *near)
{
	struct grove__sys_stat st;

	if (t->is_surveyed)
		return;
	t->is_file = *t->path && !grove__sys_dir_stat(near, t->path, &st);
	if (t->is_file) {
		t->st = grove__state_of(&st);
		t->is_empty = st.type == SYS_FILE && !st.size;
	}
}

void grove__digest_surveyed(struct grove__digest_task *t, const struct grove_store_log_stat *log)
{
	t->is_surveyed = true;
	t->st = grove__log_state(log);
}

int grove__digest_read(struct grove__digest_reader *r, struct grove__digest_task *t,
		     struct grove__digest_one *x, struct grove_detail *why)
{
	*x = (struct grove__digest_one){ .sum.newest = GROVE_NO_TIME, .task = t, .reader = r, .st = t->st };
	grove__fail_clear(why);
	if (r->recalls && !t->is_surveyed) {
		x->known = recall(r, t, x);
		if (x->known)
			return x->l.rc;
		grove__digest_look(t, NULL);
		x->st = t->st;
	}
	/* an empty file need not be remembered; if it was named, the caller gets an error */
	if (!r->any && t->is_empty)
		return GROVE_EDAMAGED;
	x->known = (t->is_file || t->is_surveyed) && is_known(r, x) && !(r->any && x->l.rc == 1);
	if (x->known)
		return x->l.rc;
	read_session(r, x, why);
	if ((t->is_file || t->is_surveyed) && r->catalog && !x->part && !(r->any && x->hidden))
		remember(r, x);
	/* as it was read, not as it was at first */
	x->st.size = x->log.bytes;
	x->st.mtime_ns = x->log.mtime_ns;
	x->st.ctime_ns = x->log.ctime_ns;
	return x->l.rc;
}

int grove__digest_belongs(struct grove__digest_reader *r, const struct grove__digest_task *t,
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
	grove__buf_release(&x->sum.first);
	grove__buf_release(&x->sum.name);
	grove__arena_release(&r->tmp);
}
