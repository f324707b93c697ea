/*
 * session/fork.c: a new session from an old one.
 *
 * A fork has the whole tree, or the path to one entry. Entries keep their ids and their
 * bytes. On a path, label entries are left out, so entries below them move up one
 * level, and the labels whose target is on the path are written again at the end with
 * their own times. A list is copied as it is.
 */
#include "session/change.h"
#include "session/leaf.h"

#include "image/lines.h"

#include "sys/clock.h"

#include <stdlib.h>

#define BATCH_BYTES ((size_t)1 << 20)
#define BATCH_LINES 2048

struct writer {
	struct grove_session *s;
	struct grove_store_log *log;
	struct grove_buf bytes;          /* lines of the batch, one after the other */
	size_t off[BATCH_LINES];
	size_t nr;
	uint64_t tail, done, total;
	struct grove__records records;   /* for stores with columns */
	uint8_t random[4096];            /* from which new ids are made; see random_left */
	size_t random_left;
	struct grove_detail *d;
};

static int flush(struct writer *w)
{
	struct grove_store_record rec[BATCH_LINES];
	struct grove_store_appended out;
	bool columns = grove__store_traits(w->log->store).columns;
	int rc = 0;

	if (!w->nr)
		return 0;
	/* the scanner reads a little beyond the last line */
	if (columns && grove__buf_reserve(&w->bytes, GROVE__JSON_PAD))
		return grove__fail_nomem(w->d);
	memset(rec, 0, w->nr * sizeof(*rec));
	for (size_t i = 0; i < w->nr && !rc; i++) {
		size_t end = i + 1 < w->nr ? w->off[i + 1] : w->bytes.len;

		rec[i].line = grove__slice(w->bytes.ptr + w->off[i], end - w->off[i]);
		if (columns && grove__records_fill(&w->records, rec[i].line, &rec[i]))
			rc = grove__fail_nomem(w->d);
	}
	if (!rc)
		rc = grove__log_append(w->log, rec, w->nr, w->tail, GROVE_SYNC_NONE, &out, w->d);
	if (!rc)
		w->tail = out.tail;
	grove__records_clear(&w->records);
	w->nr = 0;
	grove__buf_clear(&w->bytes);
	if (!rc && w->s->g->progress.fn &&
	    w->s->g->progress.fn(w->s->g->progress.payload, w->done, w->total))
		rc = grove__fail(w->d, GROVE_ECANCELLED, w->s->at.path, "cancelled");
	return rc;
}

/* Counts the line in w->bytes from `start` on. */
static int added(struct writer *w, size_t start)
{
	w->off[w->nr++] = start;
	w->done++;
	return w->nr == BATCH_LINES || w->bytes.len >= BATCH_BYTES ? flush(w) : 0;
}

static int put_line(struct writer *w, struct grove_slice line)
{
	size_t start = w->bytes.len;

	if (grove__buf_add_slice(&w->bytes, line))
		return grove__fail_nomem(w->d);
	return added(w, start);
}

static int put_header(struct writer *w, const struct grove__header_in *h)
{
	const struct grove__dialect *dialect = w->s->at.dialect;
	size_t start = w->bytes.len;
	int rc = 0;

	if (grove__dialect_slot_first(dialect)) {
		rc = dialect->header->slot->compose(h->title, h->title_source, h->time, &w->bytes)
			     ? grove__fail_nomem(w->d) : added(w, start);
		start = w->bytes.len;
	}
	if (!rc && dialect->header->compose(h, &w->bytes))
		rc = grove__fail_nomem(w->d);
	return rc ? rc : added(w, start);
}

static int copy_tree(struct writer *w)
{
	const struct grove__image *im = w->s->image;
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t row;
	int rc;

	grove__rows_init(&rows, im, w->s->log, NULL, im->spine->nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, w->d))) {
		rc = put_line(w, value);
		if (rc)
			break;
	}
	grove__rows_release(&rows);
	return rc == 1 ? 0 : rc;
}

/* --- the path to an entry --- */

struct path {
	uint32_t *rows;                  /* labels left out */
	size_t nr;
	uint32_t *all;                   /* with them */
	size_t nr_all;
	uint32_t *place;                 /* position of each row in `all` + 1; 0: not on it */
};

static void path_release(struct path *p)
{
	free(p->rows);
	free(p->all);
	free(p->place);
}

static int path_init(struct path *p, const struct grove__spine *sp, uint32_t leaf, bool list)
{
	int rc;

	memset(p, 0, sizeof(*p));
	rc = grove__tree_path(sp, leaf, &p->all, &p->nr_all);
	if (rc)
		return rc;
	p->rows = malloc((p->nr_all ? p->nr_all : 1) * sizeof(*p->rows));
	p->place = calloc(sp->nr ? sp->nr : 1, sizeof(*p->place));
	if (!p->rows || !p->place)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < p->nr_all; i++) {
		p->place[p->all[i]] = (uint32_t)i + 1;
		if (list || grove__spine_kind(sp, p->all[i]) != GROVE_KIND_LABEL)
			p->rows[p->nr++] = p->all[i];
	}
	return 0;
}

/*
 * A compaction that keeps from a label on now keeps from the next remaining entry.
 * Returns 1 if its line need not change.
 */
static int moved_first_kept(const struct writer *w, const struct path *p, struct grove_slice line,
			    struct grove_slice *first)
{
	const struct grove__spine *sp = w->s->image->spine;
	struct grove_buf id = GROVE_BUF_INIT;
	uint32_t row;
	bool after = false;
	size_t i;
	int rc = w->s->at.dialect->context.first_kept(line, &id, &after);

	if (!rc && after) {
		rc = 1;
	} else if (!rc) {
		row = grove__spine_find(sp, sp->nr, grove__buf_slice(&id));
		rc = 1;
		i = row == GROVE_NO_ENTRY || !p->place[row] ? p->nr_all : p->place[row] - 1;
		if (i < p->nr_all && grove__spine_kind(sp, row) == GROVE_KIND_LABEL) {
			while (i < p->nr_all && grove__spine_kind(sp, p->all[i]) == GROVE_KIND_LABEL)
				i++;
			if (i < p->nr_all && grove__spine_id(sp, p->all[i])) {
				*first = grove__spine_name(grove__spine_id(sp, p->all[i]));
				rc = 0;
			}
		}
	}
	grove__buf_release(&id);
	return rc;
}

static int put_row(struct writer *w, const struct path *p, size_t i, struct grove_slice line)
{
	const struct grove__spine *sp = w->s->image->spine;
	uint32_t row = p->rows[i], up = i ? p->rows[i - 1] : GROVE_NO_ENTRY;
	struct grove_slice parent = { NULL, 0 }, first;
	bool rehang = grove__spine_parent(sp, row) != up, kept = false;
	size_t start = w->bytes.len;
	int rc = 1;

	/* an entry that is a root because its parent is missing now says so */
	if (!i && grove__spine_flags(sp, row) & (ROW_ORPHAN | ROW_CYCLE | ROW_PARENT_ABSENT))
		rehang = true;
	if (grove__spine_kind(sp, row) == GROVE_KIND_COMPACTION) {
		rc = moved_first_kept(w, p, line, &first);
		kept = !rc;
	}
	if (rc < 0)
		return grove__fail_nomem(w->d);
	if (!rehang && !kept)
		return put_line(w, line);
	if (up != GROVE_NO_ENTRY)
		parent = grove__spine_name(grove__spine_id(sp, up));
	if (w->s->at.dialect->write.relink(line, parent, kept ? &first : NULL, NULL, &w->bytes))
		return grove__fail_nomem(w->d);
	return added(w, start);
}

static struct grove_slice fresh_id(struct writer *w, char out[40])
{
	const struct grove__spine *sp = w->s->image->spine;
	struct grove_slice id = { out, 0 };
	uint8_t random[16];

	for (unsigned tries = 0;; tries++) {
		grove__sys_random(random, sizeof(random));
		id.len = w->s->at.dialect->names.entry_id(random, tries >= 100, out);
		if (grove__spine_find(sp, sp->nr, id) == GROVE_NO_ENTRY)
			return id;
	}
}

/* A label keeps its time as it is written. */
static int label_stamp(struct writer *w, uint32_t row, struct grove_buf *store,
		       struct grove__place *at)
{
	struct grove__input in;
	struct grove_slice value;
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = grove__image_line(w->s->image, w->s->log, row, &line, &value, w->d);

	grove__buf_clear(store);
	if (!rc && grove__buf_add_slice(store, value))
		rc = grove__fail_nomem(w->d);
	if (!rc)
		rc = grove__image_input(w->s->image, store, &in, w->d);
	if (!rc)
		at->stamp = in.time;
	grove__buf_release(&line);
	return rc;
}

static int put_labels(struct writer *w, const struct path *p, const struct grove__labels *labels)
{
	const struct grove__spine *sp = w->s->image->spine;
	struct grove__place at = { .parent = { NULL, 0 } };
	struct grove_buf json = GROVE_BUF_INIT, target = GROVE_BUF_INIT, stamp = GROVE_BUF_INIT;
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove__input in;
	char id[2][40];
	unsigned turn = 0;
	int rc = 0;

	if (p->nr)
		at.parent = grove__spine_name(grove__spine_id(sp, grove__tree_named(sp, p->rows[p->nr - 1])));
	for (size_t i = 0; i < labels->nr && !rc; i++) {
		const struct grove__label *l = &labels->label[i];
		struct grove__entry_spec spec = { .kind = GROVE_KIND_LABEL, .label.target = l->target };
		size_t start = w->bytes.len;

		if (l->row == GROVE_NO_ENTRY || !p->place[l->row] ||
		    grove__spine_kind(sp, l->row) == GROVE_KIND_LABEL)
			continue;
		at.id = fresh_id(w, id[turn]);
		at.time = grove__sys_now_ms();
		grove__buf_clear(&json);
		grove__buf_clear(&target);
		grove__buf_clear(&text);
		rc = w->s->at.dialect->write.fresh_labels ? 0 : label_stamp(w, l->set_by, &stamp, &at);
		if (!rc)
			rc = grove__image_label(w->s->image, w->s->log, l->set_by, &target, &text, w->d);
		spec.label.text = grove__buf_slice(&text);
		grove__buf_clear(&target);
		if (!rc)
			rc = grove__dialect_spell(w->s->at.dialect, &spec, &json, w->d);
		if (!rc)
			rc = grove__image_input(w->s->image, &json, &in, w->d);
		if (!rc)
			rc = w->s->at.dialect->write.compose(&in, &at, grove__slice(NULL, 0), &w->bytes,
						       &target, w->d);
		if (!rc)
			rc = added(w, start);
		at.parent = at.id;
		turn ^= 1;
	}
	grove__buf_release(&json);
	grove__buf_release(&target);
	grove__buf_release(&stamp);
	grove__buf_release(&text);
	return rc;
}

static int copy_path(struct writer *w, uint32_t leaf)
{
	const struct grove__image *im = w->s->image;
	struct grove__labels *labels = NULL;
	struct grove__rows rows;
	struct grove_slice value;
	struct path p;
	uint32_t row;
	size_t i = 0;
	bool list = grove__dialect_linear(im->dialect);
	int rc = path_init(&p, im->spine, leaf, list);

	if (!rc)
		labels = grove__labels_new(im->spine);
	if (rc || !labels) {
		path_release(&p);
		return grove__fail_nomem(w->d);
	}
	w->total = p.nr;
	grove__rows_init(&rows, im, w->s->log, p.rows, p.nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, w->d))) {
		rc = list ? put_line(w, value) : put_row(w, &p, i++, value);
		if (rc)
			break;
	}
	grove__rows_release(&rows);
	if (rc == 1)
		rc = list ? 0 : put_labels(w, &p, labels);
	grove__labels_unref(labels);
	path_release(&p);
	return rc;
}

/* --- records that get new ids --- */

struct copier {
	struct writer *w;
	struct grove__rows rows;
	uint8_t *wanted;                   /* NULL: all */
	const char *end;                 /* where the copy ends, if the rules would not end there */
};

/* One system call provides many ids. */
static int random_bytes(void *payload, uint8_t out[16])
{
	struct writer *w = ((struct copier *)payload)->w;

	if (!w->random_left) {
		grove__sys_random(w->random, sizeof(w->random));
		w->random_left = sizeof(w->random) / 16;
	}
	memcpy(out, w->random + 16 * --w->random_left, 16);
	return 0;
}

/* Finds the parent of a record that is not copied. */
static int parent_of(void *payload, struct grove_slice id, struct grove_slice *out)
{
	const struct grove__spine *sp = ((struct copier *)payload)->w->s->image->spine;
	uint32_t row = grove__spine_find(sp, sp->nr, id), up;

	if (row == GROVE_NO_ENTRY)
		return 1;
	up = grove__spine_parent(sp, row);
	*out = up == GROVE_NO_ENTRY ? grove__slice(NULL, 0) : grove__spine_name(grove__spine_id(sp, up));
	return 0;
}

/* Finds where the copy of all records has to end, if that was chosen: it is copied as well. */
static int find_chosen(struct copier *k)
{
	struct grove_session *s = k->w->s;
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(s) };
	struct grove__chain_walk walk;
	int rc = grove__model_walk(s->image, s->image->spine->nr, &ask, &walk, k->w->d);

	if (rc)
		return rc;
	if (walk.recorded)
		k->end = walk.named == GROVE_NO_ENTRY
				 ? GROVE_ROOT
				 : grove__spine_id(s->image->spine, walk.named);
	grove__walk_release(&walk);
	return 0;
}

static int nothing_beside(void *payload, const char *name, struct grove_buf *out)
{
	(void)payload, (void)name, (void)out;
	return GROVE_ENOTFOUND;
}

/* Finds the first message of the user, as a list shows it; for a session without a name. */
static int first_words(struct grove_session *s, struct grove_buf *out)
{
	const struct grove__dialect *dialect = s->at.dialect;
	struct grove__summary sum = { .newest = GROVE_NO_TIME, .more = dialect->list.tally->new(1) };
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__header h = { .time = GROVE_NO_TIME };
	struct grove_slice value;
	struct grove__arena tmp;
	struct grove__json_line l;
	struct grove__entry e;
	int rc = sum.more ? 0 : GROVE_ENOMEM;

	grove__arena_init(&tmp);
	for (uint32_t row = 0; row < s->image->spine->nr && row < 256 && !rc; row++) {
		rc = grove__image_line(s->image, s->log, row, &line, &value, NULL);
		if (!rc && grove__json_scan(&s->image->want, line.ptr, line.len, true, &l) == JSON_VALUE) {
			dialect->read.index(&l, line.ptr, &tmp, &e);
			rc = dialect->list.line(&l, line.ptr, &tmp, &e, &sum);
		}
	}
	if (!rc && dialect->list.tally->end(sum.more, &tmp, nothing_beside, NULL, &h, &sum) < 0)
		rc = GROVE_ENOMEM;
	if (!rc)
		rc = grove__buf_add_slice(out, grove__buf_slice(&sum.first));
	dialect->list.tally->free(sum.more);
	grove__buf_release(&sum.first);
	grove__buf_release(&sum.name);
	grove__arena_release(&tmp);
	grove__buf_release(&line);
	return rc;
}

static int next_row(void *payload, uint32_t *row, struct grove_slice *line, struct grove_slice *message)
{
	struct copier *k = payload;
	int rc = grove__rows_next(&k->rows, row, line, k->w->d);

	if (!rc && !grove__model_message(k->w->s->image, *row, *line, message))
		*message = grove__slice(NULL, 0);
	return rc;
}

static int line_added(void *payload, size_t begin)
{
	return added(((struct copier *)payload)->w, begin);
}

/* Forks as the program's SDK does: new ids, and a note of where each record came from. */
static int copy_records(struct writer *w, uint32_t leaf, const struct grove__header_in *h,
			const char *cwd)
{
	struct grove_session *s = w->s;
	struct grove__image *im = s->image;
	struct copier k = { .w = w };
	struct grove__copy_in in = { .from = s->id, .to = h->id, .chain = im->model.chain, .nr = im->spine->nr,
				     .leaf_row = leaf, .title = grove__image_name(im), .cwd = cwd,
				     .now = h->time, .payload = &k, .random = random_bytes,
				     .parent = parent_of, .next = next_row, .out = &w->bytes,
				     .added = line_added };
	struct grove_buf words = GROVE_BUF_INIT;
	int rc = leaf == GROVE_NO_ENTRY
			 ? find_chosen(&k)
			 : grove__model_mark(im, leaf, grove__session_own_file(s), &k.wanted, w->d);

	if (rc)
		return rc;
	grove__sys_random(&in.seed, sizeof(in.seed));
	in.wanted = k.wanted;
	in.leaf = leaf == GROVE_NO_ENTRY ? k.end : grove__spine_id(im->spine, leaf);
	if (!in.title && !first_words(s, &words) && words.len)
		in.title = words.ptr;
	grove__rows_init(&k.rows, im, s->log, NULL, im->spine->nr);
	rc = s->at.dialect->copy(&in);
	grove__rows_release(&k.rows);
	free(k.wanted);
	grove__buf_release(&words);
	if (rc == 1)
		return grove__fail(w->d, GROVE_ENOTSUP, s->at.path, "there are no messages to fork");
	return rc == GROVE_ENOMEM ? grove__fail_nomem(w->d) : rc;
}

/* Forks as the program itself does: only the conversation, in its order, with the same ids. */
static int adopt_chain(struct writer *w, uint32_t leaf, const char *session)
{
	struct grove_session *s = w->s;
	struct grove__image *im = s->image;
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(s) };
	struct grove__chain_walk walk;
	struct grove__rows rows;
	struct grove_slice value, parent = { NULL, 0 };
	uint32_t row;
	int rc;

	if (leaf != GROVE_NO_ENTRY)
		ask.leaf = grove__spine_id(im->spine, leaf);
	rc = grove__model_walk(im, im->spine->nr, &ask, &walk, w->d);
	if (rc)
		return rc;
	w->total = walk.nr;
	grove__rows_init(&rows, im, s->log, walk.rows, walk.nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, w->d))) {
		size_t start = w->bytes.len;

		rc = s->at.dialect->write.relink(value, parent, NULL, session, &w->bytes) ? grove__fail_nomem(w->d)
									     : added(w, start);
		if (rc)
			break;
		parent = grove__spine_name(grove__spine_id(im->spine, row));
	}
	grove__rows_release(&rows);
	grove__walk_release(&walk);
	return rc == 1 ? 0 : rc;
}

/* --- where to --- */

/* A location without a store is a session in memory. */
static int place_copy(struct grove_session *s, const struct grove_fork_options *opt, const char *cwd,
		      int64_t time, const char *id, struct grove__where *at, struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_key key;
	int rc;

	if (opt->flags & GROVE_FORK_MEMORY || (s->deferral.for_good && !opt->dir)) {
		*at = (struct grove__where){ .dialect = s->at.dialect, .agent = s->at.dialect->name };
		return 0;
	}
	if (opt->dir || s->deferral.store)
		return grove__session_place(s->g, s->at.dialect, cwd, opt->dir, time, id, at, d);
	rc = grove__where_writable(s->g, &s->at, d);
	if (rc)
		return rc;
	rc = s->at.dialect->paths.file_name(time, id, &name);
	if (!rc && opt->cwd && (!*s->at.project || s->at.own_store)) {
		grove__buf_release(&name);
		return grove__session_place(s->g, s->at.dialect, cwd, NULL, time, id, at, d);
	}
	if (!rc)
		rc = grove__where_copy(at, &s->at);
	if (rc) {
		grove__buf_release(&name);
		return grove__fail_nomem(d);
	}
	/* a fork of a sub-agent's log is an ordinary session */
	free(at->sub);
	at->sub = NULL;
	free(at->session);
	at->session = name.ptr;
	if (opt->cwd) {
		struct grove_buf project = GROVE_BUF_INIT;

		rc = s->at.dialect->paths.project(&s->g->env, cwd, &project);
		free(at->project);
		at->project = project.ptr;
	}
	key = (struct grove_key){ at->project, at->session, "" };
	if (!rc)
		rc = grove__store_describe(at->store, &key, &path);
	free(at->path);
	at->path = path.len ? path.ptr : NULL;
	if (!rc && s->at.own_store && at->path) {
		/* the source's store is closed with the source, so the copy gets its own */
		char *keep = at->path;

		at->path = NULL;
		grove__where_release(at);
		rc = grove__locate_path(s->g, keep, at, d);
		at->dialect = s->at.dialect;
		at->agent = s->at.agent;
		free(keep);
		return rc;
	}
	return rc ? grove__fail_nomem(d) : 0;
}

/* Returns the name that somebody gave to the source; entries that suggest a name are copied. */
static const char *title_of(const struct grove_session *s, const char **source)
{
	const struct grove__image *im = s->image;

	*source = im->slot_title ? im->slot_source : im->header.title_source;
	return im->slot_title ? im->slot_title : im->header.title;
}

/* Takes over what the header says, without reading it again. */
static int name_copy(struct grove_session *out, const struct grove__header_in *h)
{
	const char *slash = out->at.path ? strrchr(out->at.path, '/') : NULL;

	out->id = strdup(h->id);
	out->cwd = strdup(h->cwd);
	if (slash)
		out->dir = strndup(out->at.path, slash > out->at.path ? (size_t)(slash - out->at.path) : 1);
	return out->id && out->cwd && (out->dir || !slash) ? 0 : GROVE_ENOMEM;
}

/* Returns true if the copy has no entry that a new session would be written for. */
static bool nobody_spoke(const struct grove_session *s, uint32_t leaf)
{
	const struct grove__spine *sp = s->image->spine;
	bool path = leaf != GROVE_NO_ENTRY;
	uint32_t row = path ? leaf : sp->nr - 1;

	for (; row != GROVE_NO_ENTRY; row = path ? grove__spine_parent(sp, row) : row - 1)
		if (s->at.dialect->write.starts_file(grove__spine_kind(sp, row), grove__spine_role(sp, row)))
			return false;
	return true;
}

/* Opens the log of a copy whose location has been chosen. A copy in memory is not in `a`. */
static int open_copy(struct grove_session *out, bool defer, struct grove__aside *a, struct grove_detail *d)
{
	struct grove_key key = { out->at.project, out->at.session, "" };
	int rc;

	out->deferral.for_good = !out->at.store;
	if (out->deferral.for_good || defer)
		return grove__session_hold(out, d);
	rc = grove__aside_open(a, out->at.store, &key, false, d);
	out->log = a->log;
	return rc;
}

/* A fork is complete, with its name, or does not exist. */
static int end_copy(struct grove_session *out, struct grove__aside *a, int rc, struct grove_detail *d)
{
	if (!rc && a->log)
		rc = grove__aside_name(a, d);
	if (a->made)
		out->log = a->log;
	else if (rc)
		grove__log_close(out->log);
	grove__aside_end(a, !rc);
	if (rc)
		out->log = NULL;
	return rc;
}

/* Entries may refer to attachments, so these are copied too. */
static int copy_attachments(struct grove_session *s, struct grove_session *out, const struct grove__aside *a,
			    struct grove_detail *d)
{
	struct grove_key from = { s->at.project, s->at.session, "" };
	struct grove_key held = { "", GROVE__HELD, "" };

	if (!s->at.dialect->paths.artifacts)
		return 0;
	return grove__beside_copy(s->deferral.store ? s->deferral.store : s->at.store, s->deferral.store ? &held : &from,
				  out->deferral.store ? out->deferral.store : out->at.store, out->deferral.store ? &held : &a->key, d);
}

/*
 * Writes the lines of the copy. With a header, the source's entries follow it as they are;
 * records without one name their session themselves, so the dialect changes each of them.
 */
static int write_copy(struct grove_session *s, const struct grove_fork_options *opt, uint32_t leaf,
		      const struct grove__header_in *h, struct grove_session *out, struct grove_detail *d)
{
	struct writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return grove__fail_nomem(d);
	w->s = s;
	w->log = out->log;
	w->d = d;
	w->total = s->image->spine->nr;
	grove__records_init(&w->records, s->at.dialect);
	if (s->at.dialect->copy) {
		rc = opt->flags & GROVE_FORK_SAME_IDS ? adopt_chain(w, leaf, h->id)
						      : copy_records(w, leaf, h, opt->cwd ? h->cwd : NULL);
	} else {
		rc = put_header(w, h);
		if (!rc)
			rc = opt->leaf ? copy_path(w, leaf) : copy_tree(w);
	}
	if (!rc)
		rc = flush(w);
	if (!rc && !out->deferral.store)
		grove__peek_mark_dialect(out->log, s->at.dialect);
	grove__buf_release(&w->bytes);
	grove__records_release(&w->records);
	free(w);
	return rc;
}

int grove__session_fork(struct grove_session *s, const struct grove_fork_options *opt,
			struct grove_session *out, struct grove_detail *d)
{
	struct grove__header_in h = { .time = grove__sys_now_ms() };
	struct grove_buf cwd = GROVE_BUF_INIT, header = GROVE_BUF_INIT;
	struct grove__aside a = { .st = NULL };
	uint32_t leaf = GROVE_NO_ENTRY;
	bool defer;
	char id[40];
	int rc = grove__session_load(s, d);

	if (!rc && opt->leaf) {
		rc = grove__session_find(s, opt->leaf, &leaf, d);
		if (!rc && leaf == GROVE_NO_ENTRY)
			rc = grove__fail(d, GROVE_ENOTFOUND, s->at.path, "Entry root not found");
	}
	if (!rc && opt->id && !s->at.dialect->names.session_id_ok(grove__slice_str(opt->id)))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "%.100s cannot be the id of a session", opt->id);
	if (rc)
		return rc;
	grove__world_session_id(s->g, s->at.dialect, id);
	h.id = opt->id ? opt->id : id;
	h.what = opt->leaf ? HEADER_BRANCH : opt->cwd ? HEADER_FORK_FROM : HEADER_FORK;
	h.from_id = s->id;
	defer = opt->flags & GROVE_FORK_DEFER && nobody_spoke(s, leaf);
	/* a session without a path is found by its id */
	h.from_path = s->deferral.for_good || (s->deferral.store && !defer) ? NULL : s->at.path ? s->at.path : s->id;
	rc = grove__dialect_has_header(s->at.dialect)
		     ? grove__image_header_line(s->image, s->log, &header, &h.from_header, d) : 0;
	if (rc) {
		grove__buf_release(&header);
		return rc;
	}
	h.title = grove__dialect_has_title(s->at.dialect) ? title_of(s, &h.title_source) : NULL;
	if (grove__world_resolve(s->g, opt->cwd ? opt->cwd : s->cwd, &cwd)) {
		grove__buf_release(&header);
		return grove__fail_nomem(d);
	}
	/* without a new one, the directory stays as the source writes it */
	h.cwd = opt->cwd ? cwd.ptr : s->cwd;
	if (opt->leaf && !*h.cwd && grove__dialect_has_header(s->at.dialect) &&
	    s->at.dialect->header->fork_settles)
		h.cwd = s->g->cwd;
	rc = place_copy(s, opt, h.cwd, h.time, h.id, &out->at, d);
	if (!rc)
		rc = open_copy(out, defer, &a, d);
	if (!rc)
		rc = write_copy(s, opt, leaf, &h, out, d);
	if (!rc)
		rc = grove__kept_copy(s->log, out->log, d);
	if (!rc)
		rc = copy_attachments(s, out, &a, d);
	rc = end_copy(out, &a, rc, d);
	if (!rc) {
		out->flags = GROVE_OPEN_WRITE;
		out->version = s->at.dialect->version;
		rc = name_copy(out, &h) ? grove__fail_nomem(d) : 0;
		if (!rc && defer)
			rc = grove__session_load(out, d);
	}
	grove__buf_release(&header);
	grove__buf_release(&cwd);
	return rc;
}
