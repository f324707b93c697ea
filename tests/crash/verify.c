/*
 * tests/crash/verify.c: checks that everything that was acknowledged is there,
 * and nothing else.
 *
 * Each session is opened as its next user would open it. Every acknowledged
 * entry must be there, once, in the order in which the entries were
 * acknowledged; every other entry must have been tried; check must report each
 * incomplete line; and it must be possible to append one more entry.
 */
#include "crash.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../lib/calls.h"

#define MARKS 10000
#define LINES 512
#define NEXT_MARK 9999        /* of the entry that is appended afterwards */

struct look {
	struct run *r;
	const struct expectation *e;
	char tag;
	uint32_t row[MARKS];          /* row of each mark, +1 */
	uint32_t rows;
	size_t found;                 /* acknowledged entries that were found */
};

/* ---------------------------------------------------------------- the rules */

static bool synced_behind(const struct run *r, size_t i)
{
	for (size_t k = i + 1; k < r->ledger.nr; k++)
		if (r->ledger.fact[k].kind == FACT_SYNCED && r->ledger.fact[k].tag == r->ledger.fact[i].tag)
			return true;
	return false;
}

/* Returns true if this entry must be there, whatever happened. */
static bool must(const struct look *l, size_t i)
{
	const struct fact *f = &l->r->ledger.fact[i];

	return f->kind == FACT_KEPT && f->tag == l->tag && f->mark &&
	       (!l->e->power || synced_behind(l->r, i));
}

static bool needed(const struct look *l)
{
	for (size_t i = 0; i < l->r->ledger.nr; i++)
		if (must(l, i))
			return !(l->tag == TAG_MAIN && run_removed(l->r));
	return false;
}

static unsigned mark_in(const char *ptr, size_t len)
{
	const char *p = memmem(ptr, len, "[m", 2);

	return p && p + 7 <= ptr + len ? (unsigned)strtoul(p + 2, NULL, 10) % MARKS : 0;
}

/* ----------------------------------------------------------------- the rows */

static void collect(struct look *l, struct grove_view *v)
{
	struct grove_buf line = GROVE_BUF_INIT;
	unsigned unmarked = 0, allowed = l->tag == TAG_FORK ? l->r->scenario->copy_unmarked
							     : l->r->scenario->unmarked;

	l->rows = grove_view_count(v);
	for (uint32_t i = 0; i < l->rows; i++) {
		const struct fact *refused;
		struct grove_entry e = { .size = sizeof(e) };
		unsigned mark;

		line.len = 0;
		if (grove_view_entry(v, i, &e) || grove_view_line(v, i, 0, &line)) {
			run_wrong(l->r, "%c: an entry cannot be read", l->tag);
			break;
		}
		mark = mark_in(line.ptr, line.len);
		/* a title repeats the first message, with its mark */
		if (!mark || e.kind == GROVE_KIND_META) {
			/* Claude Code writes its lines about a session again and again */
			if (e.kind != GROVE_KIND_META && ++unmarked > allowed)
				run_wrong(l->r, "%c: invented: %.200s", l->tag, line.ptr);
			continue;
		}
		if (l->row[mark])
			run_wrong(l->r, "%c: [m%04u] is there twice", l->tag, mark);
		l->row[mark] = i + 1;
		if (mark != NEXT_MARK && !run_fact(l->r, FACT_TRIED, l->tag, mark))
			run_wrong(l->r, "%c: [m%04u] is there, and nobody tried", l->tag, mark);
		/*
		 * a refused entry must not be there, unless nobody could know whether it was stored
		 */
		refused = run_fact(l->r, FACT_REFUSED, l->tag, mark);
		if (refused && refused->code != GROVE_EIO && !run_fact(l->r, FACT_KEPT, l->tag, mark))
			run_wrong(l->r, "%c: [m%04u] was refused (%s), and is there", l->tag, mark,
				  grove_error_name(refused->code));
	}
	grove_buf_release(&line);
}

static void compare(struct look *l, struct grove_view *v)
{
	bool gap = false;
	uint32_t last = 0;

	for (size_t i = 0; i < l->r->ledger.nr; i++) {
		const struct fact *f = &l->r->ledger.fact[i];
		uint32_t row;

		if (f->kind != FACT_KEPT || f->tag != l->tag || !f->mark)
			continue;
		row = l->row[f->mark];
		if (!row && must(l, i))
			run_wrong(l->r, "%c: [m%04u] was acknowledged, and is gone", l->tag, f->mark);
		if (row && gap && l->e->prefix)
			run_wrong(l->r, "%c: [m%04u] is there, one before it is not", l->tag, f->mark);
		if (!row) {
			gap = true;
			continue;
		}
		if (*f->id && find_row(v, f->id) != row - 1)
			run_wrong(l->r, "%c: [m%04u] has another id than %s", l->tag, f->mark, f->id);
		/* when a copy is made a second time, its entries are noted a second time */
		if (row < last && f == run_fact(l->r, FACT_KEPT, l->tag, f->mark) &&
		    (l->tag == TAG_MAIN || l->tag == TAG_FORK))
			run_wrong(l->r, "%c: [m%04u] is out of order", l->tag, f->mark);
		last = row;
		l->found++;
	}
}

static void count(struct look *l, struct grove_view *v)
{
	struct grove_counts n = { .size = sizeof(n) };

	grove_view_counts(v, &n);
	if (n.duplicates)
		run_wrong(l->r, "%c: %d ids are there twice", l->tag, (int)n.duplicates);
	if (l->e->power)
		return;
	if (n.malformed > 0 && !l->e->torn)
		run_wrong(l->r, "%c: %d lines are no JSON", l->tag, (int)n.malformed);
	if (n.orphans || n.cycles)
		run_wrong(l->r, "%c: %d entries hang nowhere", l->tag, (int)(n.orphans + n.cycles));
	if (n.torn && !l->e->torn)
		run_wrong(l->r, "%c: the last line is half a line", l->tag);
}

/* ---------------------------------------------------------------- the lines */

struct lines {
	bool bad[LINES];              /* lines that are incomplete or worse; from 1 */
	size_t nr, nr_bad;
	bool next;                    /* the entry appended afterwards has a whole line of its own */
};

/* Returns true for one object with nothing behind it. Texts of these tests contain no braces. */
static bool is_whole(const char *p, const char *end)
{
	int depth = 0;

	if (p == end || *p != '{')
		return false;
	for (; p < end; p++) {
		depth += *p == '{';
		depth -= *p == '}';
		if (!depth)
			break;
	}
	if (p == end)
		return false;
	while (++p < end)
		if (*p != ' ')
			return false;
	return true;
}

static bool read_lines(const char *path, struct lines *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *all, *p, *end, *lf;

	memset(out, 0, sizeof(*out));
	if (fd < 0 || fstat(fd, &st)) {
		close(fd);
		return false;
	}
	all = malloc((size_t)st.st_size + 1);
	if (!all || pread(fd, all, (size_t)st.st_size, 0) != st.st_size)
		abort();
	close(fd);
	end = all + st.st_size;
	for (p = all; p < end && out->nr + 1 < LINES; p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (!lf)
			lf = end;
		out->nr++;
		/* an empty line is not an error */
		if (lf > p && (memchr(p, '\0', (size_t)(lf - p)) || !is_whole(p, lf))) {
			out->bad[out->nr] = true;
			out->nr_bad++;
		} else if (lf > p && mark_in(p, (size_t)(lf - p)) == NEXT_MARK) {
			out->next = true;
		}
	}
	free(all);
	return true;
}

struct told {
	struct look *l;
	const struct lines *lines;    /* NULL: the session is in a database */
	bool told[LINES];
	uint64_t left;                /* what a killed writer has left */
	char other[200];
};

static int problem(void *payload, const struct grove_problem *p)
{
	struct told *t = payload;

	if (!strcmp(p->kind, "torn") || !strcmp(p->kind, "malformed") || !strcmp(p->kind, "no-header")) {
		if (p->line < LINES)
			t->told[p->line] = true;
	} else if (t->l->e->killed && !strcmp(p->kind, "unfinished")) {
		t->left++;
	} else {
		snprintf(t->other, sizeof(t->other), "%s: %s", p->kind, p->detail);
	}
	return 0;
}

/* Checks that `check` reports each line that is not whole, and no others. */
static void check(struct look *l, struct grove *g, const char *what, const struct lines *lines)
{
	struct grove_check_result n = { .size = sizeof(n) };
	struct told t = { .l = l, .lines = lines };
	int rc = grove_check(g, what, problem, &t, &n);

	if (rc)
		run_wrong(l->r, "%c: check fails: %s", l->tag, grove_error_name(rc));
	for (size_t i = 1; lines && i < LINES; i++)
		if (t.told[i] != lines->bad[i])
			run_wrong(l->r, "%c: check %s line %zu", l->tag,
				  t.told[i] ? "complains about" : "says nothing of", i);
	if (*t.other && !l->e->power)
		run_wrong(l->r, "%c: check says %s", l->tag, t.other);
	if (!l->e->power && !l->e->torn && n.problems > t.left)
		run_wrong(l->r, "%c: check finds %d problems", l->tag, (int)n.problems);
}

/* ----------------------------------------------------------------- the next */

static void next_one(struct look *l, struct grove *g, const char *id, const char *path)
{
	static const char json[] = "{\"role\":\"user\",\"content\":\"[m9999]\"}";
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct lines before, after;
	struct grove_detail d;
	const char *mine = NULL;
	char found[72];
	uint32_t i = GROVE_NO_ENTRY;
	struct grove_entry e = { .size = sizeof(e) };
	int rc;

	if (path)
		read_lines(path, &before);
	rc = grove_session_open(g, id, GROVE_OPEN_WRITE, &s);
	if (!rc)
		rc = grove_session_append(s, (struct grove_slice){ json, strlen(json) }, &o, INTO(&mine));
	if (rc) {
		grove_error(g, &d);
		run_wrong(l->r, "%c: the next one cannot write: %s: %s", l->tag, grove_error_name(rc),
			  d.message);
	}
	snprintf(found, sizeof(found), "%s", mine ? mine : "");
	grove_session_close(s);
	s = NULL;
	if (!rc && !grove_session_open(g, id, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v))
		i = find_row(v, found);
	if (!rc && (i == GROVE_NO_ENTRY || grove_view_entry(v, i, &e)))
		run_wrong(l->r, "%c: the next entry is not found", l->tag);
	else if (!rc && grove_view_count(v) != l->rows + 1)
		run_wrong(l->r, "%c: there were %u entries, with one more there are %u", l->tag, l->rows,
			  grove_view_count(v));
	else if (!rc && l->rows && !l->e->power && e.parent == GROVE_NO_ENTRY)
		run_wrong(l->r, "%c: the next entry hangs nowhere", l->tag);
	/* where a value may span lines, the new line may complete the incomplete one before it */
	if (!rc && path && read_lines(path, &after) &&
	    (!after.next || after.nr_bad < before.nr_bad || after.nr_bad > before.nr_bad + 1))
		run_wrong(l->r, "%c: the next entry is fused with what was there", l->tag);
	grove_view_unref(v);
	grove_session_close(s);
}

static size_t session(struct run *r, const struct expectation *e, char tag, const char *id)
{
	struct look *l = calloc(1, sizeof(*l));
	struct grove *g = run_open(r, tag);
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct grove_detail d;
	char path[1024] = "";
	struct lines lines;
	size_t found;
	int rc;

	if (!l || !g)
		abort();
	l->r = r;
	l->e = e;
	l->tag = tag;
	rc = grove_session_open(g, id, GROVE_OPEN_READ, &s);
	if (!rc)
		rc = grove_session_view(s, &v);
	if (rc && needed(l)) {
		grove_error(g, &d);
		run_wrong(r, "%c: cannot be opened: %s: %s", tag, grove_error_name(rc), d.message);
	}
	if (!rc) {
		if (grove_session_path(s) && !(r->sqlite && tag == TAG_MAIN))
			snprintf(path, sizeof(path), "%s", grove_session_path(s));
		collect(l, v);
		compare(l, v);
		count(l, v);
		if (*path && !read_lines(path, &lines))
			path[0] = '\0';
		check(l, g, id, *path ? &lines : NULL);
	}
	grove_view_unref(v);
	grove_session_close(s);
	if (!rc && (tag == TAG_MAIN || tag == TAG_FORK))
		next_one(l, g, id, *path ? path : NULL);
	grove_close(g);
	found = l->found;
	free(l);
	return found;
}

/* ------------------------------------------------------------ what is around */

static struct run *around;

static int stray(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t n = strlen(path);

	(void)st;
	(void)ftw;
	if (type == FTW_F && n > 4 && !strcmp(path + n - 4, ".tmp"))
		run_wrong(around, "left behind: %s", path + strlen(around->dir));
	return 0;
}

static int unfinished(void *payload, const struct grove_problem *p)
{
	if (!strcmp(p->kind, "unfinished"))
		run_wrong(payload, "left behind for good: %s", p->path);
	return 0;
}

static int hidden(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	/* those of blobs are removed when they are old */
	return strstr(path, ".jsonl.") && !strstr(path, ".lease") ? stray(path, st, type, ftw) : 0;
}

/* Checks that what a killed process leaves can be found and removed. */
static void tidy(struct run *r, char tag)
{
	struct grove_fix_options o = { .size = sizeof(o) };
	struct grove *g = run_open(r, tag);

	if (!g)
		abort();
	grove_fix(g, NULL, &o, NULL);
	grove_check(g, NULL, unfinished, r, NULL);
	grove_close(g);
}

size_t verify(struct run *r, const struct expectation *e)
{
	static const char tags[] = { TAG_MAIN, TAG_FORK, TAG_COPY, TAG_ARCHIVE };
	const struct fact *named;
	size_t found = 0;

	r->e = e;
	named = run_fact(r, FACT_NAMED, TAG_MAIN, 0);
	if (named)
		snprintf(r->id, sizeof(r->id), "%s", named->id);
	if (!e->killed && !e->power) {
		around = r;
		nftw(r->dir, stray, 16, FTW_PHYS);
	}
	for (size_t i = 0; i < sizeof(tags); i++) {
		named = run_fact(r, FACT_NAMED, tags[i], 0);
		if (named)
			found += session(r, e, tags[i], named->id);
	}
	if (r->scenario->after && !*r->wrong) {
		r->scenario->after(r);
		for (size_t i = 2; i < sizeof(tags); i++) {
			named = run_fact(r, FACT_NAMED, tags[i], 0);
			if (named)
				found += session(r, e, tags[i], named->id);
		}
	}
	if (e->killed && !e->power && !*r->wrong) {
		for (size_t i = 0; i < sizeof(tags); i++)
			if (run_fact(r, FACT_NAMED, tags[i], 0))
				tidy(r, tags[i]);
		around = r;
		nftw(r->dir, hidden, 16, FTW_PHYS);
	}
	return found;
}
