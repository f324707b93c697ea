/*
 * catalog/list.c: every session there is, as a list shows it.
 *
 * The values are the agent's own, so every line is looked at; but files are
 * independent of each other, so threads share them. A file that cannot be read
 * is told about and left out, never the reason for an empty list.
 */
#include "catalog/list.h"

#include "base/array.h"
#include "js/js.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <utf8proc.h>

#define THREADS_MAX 8
#define RUN_BYTES ((size_t)256 << 10)

struct task {
	struct grove__root *root;
	char *project, *session, *sub;
};

struct lister {
	struct grove *g;
	const struct grove_list_options *opt;
	struct grove_list *out;
	const char *cwd;                 /* only these; NULL: all */
	struct task *tasks;
	size_t nr, cap, next, done;
	struct grove__root *root;        /* whose keys are being collected */
	pthread_t caller;
	pthread_mutex_t lock;
	struct grove_detail *d;
	int rc;
};

struct reader {
	struct lister *li;
	char *buf;
	size_t cap;
	struct grove__json_want want;
	const struct grove__dialect *dialect;
	struct grove__arena tmp;
};

/* One session while it is read. */
struct reading {
	struct grove__header header;
	struct grove__summary sum;
	struct grove_log_stat st;
	struct grove_buf slot;           /* a title before the header */
	bool has_header, has_slot, done;
};

static int collect(void *payload, const struct grove_key *key)
{
	struct lister *li = payload;
	struct task *t;

	if (grove__array_room(&li->tasks, &li->cap, li->nr, sizeof(*li->tasks)))
		return grove__fail_nomem(li->d);
	t = &li->tasks[li->nr];
	t->root = li->root;
	t->project = strdup(key->project);
	t->session = strdup(key->session);
	t->sub = strdup(key->subpath);
	if (!t->project || !t->session || !t->sub) {
		free(t->project);
		free(t->session);
		free(t->sub);
		return grove__fail_nomem(li->d);
	}
	li->nr++;
	return 0;
}

static int read_line(struct reader *r, struct reading *x, const struct grove__json_line *l,
		     const char *line)
{
	struct grove__entry e;
	enum grove__line_class class = r->dialect->list_index
					       ? r->dialect->list_index(l, line, &r->tmp, &e)
					       : r->dialect->index(l, line, &r->tmp, &e);

	if (class == LINE_SKIP)
		return 0;
	x->has_header |= r->dialect->headless;
	if (!x->has_header) {
		if (class == LINE_SLOT && !x->has_slot) {
			x->has_slot = true;
			return grove__buf_add_slice(&x->slot, e.text);
		}
		/* what does not begin with a header is no session */
		if (class != LINE_HEADER)
			return GROVE_EDAMAGED;
		r->dialect->header(l, line, &r->tmp, &x->header);
		x->has_header = true;
		return 0;
	}
	return class == LINE_HEADER ? 0 : r->dialect->list(l, line, &r->tmp, &e, &x->sum);
}

static int widen(struct reader *r, struct grove_detail *d)
{
	char *p;

	if (r->cap * 2 > GROVE__LINE_MAX)
		return grove__fail(d, GROVE_ETOOBIG, NULL, "a line of more than 1 GiB");
	p = realloc(r->buf, r->cap * 2 + GROVE__JSON_PAD);
	if (!p)
		return grove__fail_nomem(d);
	r->buf = p;
	r->cap *= 2;
	return 0;
}

/* From a line that is not just a value on: as the loader reads a lenient dialect. */
static int read_values(struct reader *r, struct grove_log *log, struct reading *x, uint64_t pos,
		       bool by_line, struct grove_detail *d)
{
	struct grove__values *v;
	struct grove__value value;
	int rc = grove__values_new(&v, &r->want, log, pos, x->st.tail, by_line, GROVE__LINE_MAX, d);

	while (!rc && !(rc = grove__values_next(v, &value)))
		rc = read_line(r, x, &value.l, value.ptr);
	grove__values_free(v);
	return rc == 1 ? 0 : rc;
}

static int read_log(struct reader *r, struct grove_log *log, struct reading *x, struct grove_detail *d)
{
	struct grove__json_line l;
	struct grove_run run;
	uint64_t pos = 0;
	bool loose = false;
	int rc = grove__log_stat(log, &x->st, d);

	while (!rc && !loose && pos < x->st.tail) {
		size_t off = 0;

		rc = grove__log_read(log, pos, x->st.tail, r->buf, r->cap, &run, d);
		if (!rc && run.open) {
			rc = widen(r, d);
			continue;
		}
		if (!rc && !pos && run.len >= 3 && !memcmp(r->buf, "\xef\xbb\xbf", 3))
			off = 3;
		for (uint64_t nr = 0; !rc && !loose && off < run.len; nr++) {
			const char *line = r->buf + off;
			enum grove__json_verdict v =
				grove__json_scan(&r->want, line, run.len - off, true, &l);

			if (v == JSON_VALUE)
				rc = read_line(r, x, &l, line);
			loose = v == JSON_BAD && r->dialect->lenient;
			if (loose)
				rc = read_values(r, log, x, pos + (run.by_line ? nr : off), run.by_line, d);
			off += (size_t)l.len + 1;
		}
		pos = run.next;
	}
	if (!rc && !x->has_header)
		rc = GROVE_EDAMAGED;
	return rc;
}

/* --- filters --- */

static int add_folded(struct grove_buf *out, const char *text)
{
	utf8proc_uint8_t *folded;
	int rc;

	if (!text)
		return 0;
	if (utf8proc_map((const utf8proc_uint8_t *)text, 0, &folded,
			 UTF8PROC_NULLTERM | UTF8PROC_CASEFOLD) < 0)
		return grove__buf_addf(out, "%s\n", text);
	rc = grove__buf_addf(out, "%s\n", (const char *)folded);
	free(folded);
	return rc;
}

/* Every word of the query occurs in id, name, cwd or first message, whatever the case. */
static int matches(const char *query, const struct grove_info *i, bool *yes)
{
	struct grove_buf text = GROVE_BUF_INIT, words = GROVE_BUF_INIT;
	char *save, *word;
	int rc;

	*yes = true;
	if (!query)
		return 0;
	rc = add_folded(&text, i->id);
	rc = rc ? rc : add_folded(&text, i->name);
	rc = rc ? rc : add_folded(&text, i->cwd);
	rc = rc ? rc : add_folded(&text, i->first_message);
	rc = rc ? rc : add_folded(&words, query);
	for (word = rc ? NULL : strtok_r(words.ptr, " \t\n", &save); word && *yes;
	     word = strtok_r(NULL, " \t\n", &save))
		*yes = strstr(text.ptr, word) != NULL;
	grove__buf_release(&text);
	grove__buf_release(&words);
	return rc;
}

static int wanted(struct lister *li, const struct grove__dialect *dialect,
		  const struct grove_info *i, bool *yes)
{
	*yes = false;
	if (li->opt->named && !i->name)
		return 0;
	/* the header's word counts, not the directory's name, which is ambiguous */
	if (li->cwd && !grove__same_cwd(li->g, dialect, i->cwd, li->cwd))
		return 0;
	return matches(li->opt->query, i, yes);
}

/* --- one session --- */

/* By its slot, its header, its entries: the first that says something. */
static const char *name_of(const struct grove__dialect *dialect, const struct reading *x)
{
	if (x->slot.len)
		return x->slot.ptr;
	if (dialect->title && x->header.title && *x->header.title)
		return x->header.title;
	return x->sum.name.len ? x->sum.name.ptr : NULL;
}

static int64_t modified(const struct grove__dialect *dialect, const struct reading *x)
{
	if (dialect->modified_by_file)
		return x->st.mtime_ms;
	if (x->sum.newest != GROVE_NO_TIME && x->sum.newest > 0)
		return x->sum.newest;
	if (x->header.time_text && x->header.time != GROVE_NO_TIME)
		return x->header.time;
	return x->st.mtime_ms;
}

static const char *text(struct grove__arena *a, const char *s)
{
	return s ? grove__arena_dup(a, grove__slice_str(s)) : NULL;
}

/* With the lock held. */
static int add_info(struct lister *li, const struct task *t, const struct grove__dialect *dialect,
		    const struct reading *x, const char *path)
{
	struct grove_list *out = li->out;
	struct grove__arena *a = &out->texts;
	struct grove_info info = {
		.path = path,
		.id = x->header.id ? x->header.id : "",
		.dialect = dialect->name,
		.agent = !strcmp(t->root->agent, "grove") ? dialect->name : t->root->agent,
		.store = t->root->store->url,
		.cwd = x->header.cwd ? x->header.cwd : "",
		.name = name_of(dialect, x),
		.parent_session = x->header.parent,
		.first_message = x->sum.has_first ? x->sum.first.ptr : "(no messages)",
		.created = x->header.time,
		.modified = modified(dialect, x),
		.message_count = x->sum.messages,
		.size = x->st.bytes,
		.file_time = x->st.mtime_ms,
		.file_time_ns = x->st.mtime_ns,
		.first_message_len = x->sum.has_first ? x->sum.first.len : strlen("(no messages)"),
	};
	bool yes;

	if (wanted(li, dialect, &info, &yes))
		return grove__fail_nomem(li->d);
	if (!yes)
		return 0;
	if (grove__array_room(&out->info, &out->cap, out->nr, sizeof(*out->info)))
		return grove__fail_nomem(li->d);
	info.path = text(a, info.path);
	info.id = text(a, info.id);
	info.store = text(a, info.store);
	info.cwd = text(a, info.cwd);
	info.first_message = grove__arena_dup(a, grove__slice(info.first_message,
							      info.first_message_len));
	if (!info.path || !info.id || !info.store || !info.cwd || !info.first_message ||
	    (info.name && !(info.name = text(a, info.name))) ||
	    (info.parent_session && !(info.parent_session = text(a, info.parent_session))))
		return grove__fail_nomem(li->d);
	out->info[out->nr++] = info;
	return 0;
}

static void skipped(struct lister *li, const struct grove_detail *why)
{
	if (li->opt->skipped)
		li->opt->skipped(li->opt->skipped_payload, why);
}

static int open_task(struct reader *r, const struct task *t, struct grove_log **log,
		     struct grove_detail *d)
{
	struct grove_key key = { t->project, t->session, t->sub };
	const struct grove__dialect *dialect;
	int rc = grove__root_dialect(r->li->g, t->root, &key, &dialect, d);

	if (rc)
		return rc;
	if (r->dialect != dialect) {
		r->dialect = dialect;
		grove__json_want_init(&r->want, r->dialect->members, r->dialect->nr_members);
	}
	return grove__log_open(log, t->root->store, &key, GROVE_LOG_READ, d);
}

/* A file of the session, or ("../NAME") one in its directory; `out` NULL: is it there? */
static int beside(void *payload, const char *name, struct grove_buf *out)
{
	const struct task *t = payload;
	struct grove_key key = { t->project, t->session, t->sub };
	struct grove_log *log;

	if (!strncmp(name, "../", 3)) {
		key.session = name + 3;
		if (grove__log_open(&log, t->root->store, &key, GROVE_LOG_READ, NULL))
			return GROVE_ENOTFOUND;
		grove__log_close(log);
		return 0;
	}
	return out ? grove__store_attach_get(t->root->store, &key, name, out, NULL) : GROVE_EINVAL;
}

/* What only the whole log tells; 1 if it is not one for a list. */
static int conclude(struct reader *r, const struct task *t, struct reading *x)
{
	struct grove_slice id = grove__slice_str(t->session);
	int64_t time;

	if (!r->dialect->list_end)
		return 0;
	/* other files lie in a project's directory, too */
	if (!*t->sub && !r->dialect->parse_file_name(id, &time, &id))
		return 1;
	x->header.id = grove__arena_dup(&r->tmp, id);
	if (!x->header.id)
		return GROVE_ENOMEM;
	return r->dialect->list_end(x->sum.more, &r->tmp, beside, (void *)(uintptr_t)t, &x->header,
				    &x->sum);
}

static int one(struct reader *r, const struct task *t)
{
	struct lister *li = r->li;
	struct grove_key key = { t->project, t->session, t->sub };
	struct grove_detail why;
	struct reading x = { .sum.newest = GROVE_NO_TIME };
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_log *log = NULL;
	int rc;

	grove__detail_clear(&why);
	rc = open_task(r, t, &log, &why);
	if (!rc && r->dialect->list_new) {
		x.sum.more = r->dialect->list_new((uint64_t)(uintptr_t)&x);
		rc = x.sum.more ? 0 : GROVE_ENOMEM;
	}
	if (!rc)
		rc = read_log(r, log, &x, &why);
	if (!rc)
		rc = conclude(r, t, &x);
	if (!rc && grove__store_describe(t->root->store, &key, &path))
		rc = GROVE_ENOMEM;
	pthread_mutex_lock(&li->lock);
	if (!rc)
		rc = add_info(li, t, r->dialect, &x, path.ptr ? path.ptr : "");
	else if (rc < 0 && rc != GROVE_ENOMEM && why.code)
		skipped(li, &why);
	pthread_mutex_unlock(&li->lock);
	grove__log_close(log);
	grove__buf_release(&path);
	grove__buf_release(&x.slot);
	if (x.sum.more)
		r->dialect->list_free(x.sum.more);
	grove__buf_release(&x.sum.first);
	grove__buf_release(&x.sum.name);
	grove__arena_release(&r->tmp);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(li->d) : 0;
}

static void *work(void *arg)
{
	struct lister *li = arg;
	struct reader r = { .li = li, .cap = RUN_BYTES };
	struct task *t;
	int rc;

	r.buf = malloc(r.cap + GROVE__JSON_PAD);
	grove__arena_init(&r.tmp);
	for (rc = r.buf ? 0 : GROVE_ENOMEM;;) {
		pthread_mutex_lock(&li->lock);
		if (rc && !li->rc)
			li->rc = rc;
		t = li->rc || li->next == li->nr ? NULL : &li->tasks[li->next++];
		if (t && li->g->progress.fn && pthread_equal(pthread_self(), li->caller) &&
		    li->g->progress.fn(li->g->progress.payload, li->next, li->nr)) {
			li->rc = grove__fail(li->d, GROVE_ECANCELLED, NULL, "cancelled");
			t = NULL;
		}
		pthread_mutex_unlock(&li->lock);
		if (!t)
			break;
		rc = one(&r, t);
	}
	free(r.buf);
	grove__arena_release(&r.tmp);
	return NULL;
}

/* --- order --- */

static int by_name(const struct grove_info *a, const struct grove_info *b)
{
	if (!a->name || !b->name)
		return !a->name - !b->name;
	return strcmp(a->name, b->name);
}

static int newer(int64_t a, int64_t b)
{
	return a > b ? -1 : a < b;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int compare(const void *x, const void *y, void *payload)
{
	const struct grove_info *a = x, *b = y;
	int c = 0;

	switch (*(enum grove_sort *)payload) {
	case GROVE_SORT_CREATED:
		c = newer(a->created, b->created);
		break;
	case GROVE_SORT_SIZE:
		c = newer((int64_t)a->size, (int64_t)b->size);
		break;
	case GROVE_SORT_MESSAGES:
		c = newer((int64_t)a->message_count, (int64_t)b->message_count);
		break;
	case GROVE_SORT_NAME:
		c = by_name(a, b);
		break;
	case GROVE_SORT_MODIFIED:
		break;
	}
	if (!c)
		c = newer(a->modified, b->modified);
	if (!c)
		c = newer(a->file_time_ns, b->file_time_ns);
	if (!c)
		c = -grove__js_collate(grove__slice_str(base_name(a->path)),
				       grove__slice_str(base_name(b->path)));
	return c ? c : -strcmp(a->path, b->path);
}

static int gather(struct lister *li)
{
	struct grove *g = li->g;
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		li->root = &g->roots[i];
		rc = grove__root_list(g, li->root, li->cwd, collect, li, li->d);
		if (!rc && !li->cwd)
			rc = grove__root_list_subs(g, li->root, collect, li, li->d);
	}
	return rc;
}

int grove__list(struct grove *g, const struct grove_list_options *opt, struct grove_list *out,
		struct grove_detail *d)
{
	struct lister li = { .g = g, .opt = opt, .out = out, .d = d, .caller = pthread_self() };
	struct grove_buf cwd = GROVE_BUF_INIT;
	enum grove_sort sort = opt->sort;
	pthread_t thread[THREADS_MAX];
	unsigned want = grove__sys_cpus(), started = 0;
	int rc = 0;

	if (opt->cwd || !opt->all) {
		rc = grove__resolve(g, opt->cwd ? opt->cwd : g->cwd, &cwd);
		li.cwd = cwd.ptr;
	}
	if (rc)
		return grove__fail_nomem(d);
	pthread_mutex_init(&li.lock, NULL);
	rc = gather(&li);
	if (!rc) {
		while (started + 1 < want && started < THREADS_MAX && started + 1 < li.nr &&
		       !pthread_create(&thread[started], NULL, work, &li))
			started++;
		work(&li);
		while (started)
			pthread_join(thread[--started], NULL);
		rc = li.rc;
	}
	pthread_mutex_destroy(&li.lock);
	for (size_t i = 0; i < li.nr; i++) {
		free(li.tasks[i].project);
		free(li.tasks[i].session);
		free(li.tasks[i].sub);
	}
	free(li.tasks);
	grove__buf_release(&cwd);
	if (rc)
		return rc;
	if (out->nr)
		qsort_r(out->info, out->nr, sizeof(*out->info), compare, &sort);
	if (opt->expiring) {
		rc = grove__list_expiring(g, opt->within, out, d);
		if (rc)
			return rc;
	}
	if (opt->limit && out->nr > opt->limit)
		out->nr = opt->limit;
	return 0;
}

void grove__list_release(struct grove_list *l)
{
	free(l->info);
	grove__arena_release(&l->texts);
}
