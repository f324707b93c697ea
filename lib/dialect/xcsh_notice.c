/*
 * dialect/xcsh_notice.c: notices about truncated output, as xcsh words them.
 *
 *     [Showing lines 801-900 of 900 (50.0KB limit). Use sel=L901 to continue]
 *
 *     LSP Diagnostics (2 errors):
 *     # src
 *     ## └─ a.c
 *       3:7 expected ';'
 */
#include "dialect/xcsh_llm.h"

#include "base/utf8.h"
#include "js/js.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

int grove__xcsh_add_text(struct grove_buf *text, struct grove_slice raw)
{
	if (grove__json_type_of(raw) == JSON_STRING)
		return grove__json_text(text, raw);
	return raw.len ? grove__json_put_canonical(text, raw) : grove__buf_add_str(text, "undefined");
}

int grove__xcsh_add_member(struct grove_buf *text, const char *before, struct grove_slice object,
			   const char *name, const char *after)
{
	int rc = grove__buf_add_str(text, before);

	if (!rc)
		rc = grove__xcsh_add_text(text, grove__json_get(object, name));
	return rc ? rc : grove__buf_add_str(text, after);
}

static bool given(struct grove_slice raw)
{
	return raw.len && grove__json_type_of(raw) != JSON_NULL;
}

static bool is_number(struct grove_slice raw)
{
	return grove__json_type_of(raw) == JSON_NUMBER;
}

int grove__xcsh_add_size(struct grove_buf *text, double n)
{
	static const char units[3][3] = { "KB", "MB", "GB" };
	char digits[GROVE__JS_NUMBER_MAX + 1];
	unsigned i = 0;
	int64_t tenths;

	if (n < 1024) {
		digits[grove__js_number(digits, n)] = '\0';
		return grove__buf_addf(text, "%sB", digits);
	}
	if (!(n >= 1024)) /* unknown */
		return grove__buf_add_str(text, "NaNGB");
	for (n /= 1024; i < 2 && n >= 1024; i++)
		n /= 1024;
	if (!(n < 1e15))
		n = 1e15;
	tenths = (int64_t)(n * 10 + 0.5);
	return grove__buf_addf(text, "%lld.%lld%s", (long long)(tenths / 10),
			       (long long)(tenths % 10), units[i]);
}

int grove__xcsh_add_shown(struct grove_buf *text, struct grove_slice t, bool *go_on)
{
	struct grove_slice range = grove__json_get(t, "shownRange"), max = grove__json_get(t, "maxBytes");
	struct grove_slice start = grove__json_get(range, "start"), end = grove__json_get(range, "end");
	int rc;

	(void)go_on;
	if (is_number(start) && is_number(end) &&
	    grove__json_number(end) >= grove__json_number(start)) {
		rc = grove__xcsh_add_member(text, "Showing lines ", range, "start", "-");
		if (!rc)
			rc = grove__xcsh_add_member(text, "", range, "end", " of ");
		if (!rc)
			rc = grove__xcsh_add_member(text, "", t, "totalLines", "");
	} else {
		rc = grove__xcsh_add_member(text, "Showing ", t, "outputLines", " of ");
		if (!rc)
			rc = grove__xcsh_add_member(text, "", t, "totalLines", " lines");
	}
	if (rc || !grove__json_string_is(grove__json_get(t, "truncatedBy"), "bytes") || !is_number(max))
		return rc;
	rc = grove__buf_add_str(text, " (");
	if (!rc)
		rc = grove__xcsh_add_size(text, grove__json_number(max));
	return rc ? rc : grove__buf_add_str(text, " limit)");
}

static int add_truncation(struct grove_buf *text, struct grove_slice t,
			  const struct grove__xcsh_wording *w)
{
	bool go_on = true;
	int rc = w->shown(text, t, &go_on);

	if (!rc && go_on && given(grove__json_get(t, "nextOffset")))
		rc = grove__xcsh_add_member(text, w->go_on, t, "nextOffset", " to continue");
	if (!rc && grove__json_truthy(grove__json_get(t, "artifactId")))
		rc = grove__xcsh_add_member(text, ". Read artifact://", t, "artifactId", " for full output");
	return rc;
}

static int add_limit(struct grove_buf *text, struct grove_slice limit, const char *what)
{
	int rc = grove__xcsh_add_member(text, "", limit, "reached", what);

	if (rc)
		return rc;
	return grove__xcsh_add_member(text, " limit reached. Use limit=", limit, "suggestion", " for more");
}

/* --- what a language server found --- */

/* A finding, with its file and position. */
struct finding {
	struct grove_slice dir;   /* empty: none */
	struct grove_slice name;
	struct grove_slice rest;
	size_t order;             /* first that of its file, then its own */
	size_t dir_order;
	size_t own;
};

static const char *digits_end(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Returns true if `p`, after a colon, begins with LINE:COL and white space. */
static bool is_place(const char *p, const char *end)
{
	const char *q = digits_end(p, end), *r;
	uint32_t cp;

	if (q == p || q == end || *q != ':')
		return false;
	r = digits_end(q + 1, end);
	if (r == q + 1 || r == end)
		return false;
	grove__utf8_decode_wtf8(r, end, &cp);
	return grove__js_is_space(cp);
}

static bool take_apart(struct grove_slice text, struct grove__xcsh_finding *f)
{
	const char *end = text.ptr + text.len, *p = text.ptr;

	if (memchr(p, '\n', text.len) || memchr(p, '\r', text.len))
		return false;
	do {
		p = memchr(p, ':', (size_t)(end - p));
		if (!p)
			return false;
		p++;
	} while (p - 1 == text.ptr || !is_place(p, end));
	f->path = grove__slice(text.ptr, (size_t)(p - 1 - text.ptr));
	f->rest = grove__slice(p, (size_t)(end - p));
	return true;
}

static struct finding split(const struct grove__xcsh_finding *in, size_t own)
{
	struct finding f = { .rest = in->rest, .own = own };
	const char *path = in->path.ptr, *end = path + in->path.len, *slash;

	if (end - path > 2 && path[0] == '.' && path[1] == '/' &&
	    !memchr(path + 2, '/', (size_t)(end - path) - 2))
		path += 2;
	slash = memrchr(path, '/', (size_t)(end - path));
	f.name = grove__slice(slash ? slash + 1 : path, (size_t)(end - (slash ? slash + 1 : path)));
	f.dir = grove__slice(path, slash ? (size_t)(slash - path) : 0);
	if (slash == path)
		f.dir.len = 1; /* the root */
	return f;
}

static int cmp_slice(struct grove_slice a, struct grove_slice b)
{
	int c = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int cmp_file(const void *va, const void *vb)
{
	const struct finding *a = va, *b = vb;
	int c = cmp_slice(a->dir, b->dir);

	if (!c)
		c = cmp_slice(a->name, b->name);
	return c ? c : (a->own > b->own) - (a->own < b->own);
}

static int cmp_order(const void *va, const void *vb)
{
	const struct finding *a = va, *b = vb;

	if (a->dir_order != b->dir_order)
		return a->dir_order < b->dir_order ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->own < b->own ? -1 : a->own > b->own;
}

/* Groups by directory and file, in order of first appearance. */
static void group(struct finding *f, size_t nr)
{
	size_t i, j, k, first;

	qsort(f, nr, sizeof *f, cmp_file);
	for (i = 0; i < nr; i = j) {
		first = SIZE_MAX;
		for (j = i; j < nr && !cmp_slice(f[j].dir, f[i].dir); j++) {
			bool same = j > i && !cmp_slice(f[j].name, f[j - 1].name);

			f[j].order = same ? f[j - 1].order : f[j].own;
			if (f[j].own < first)
				first = f[j].own;
		}
		for (k = i; k < j; k++)
			f[k].dir_order = first;
	}
	qsort(f, nr, sizeof *f, cmp_order);
}

static int put_finding(struct grove_buf *text, const struct finding *f, const struct finding *before)
{
	bool new_dir = !before || before->dir_order != f->dir_order;
	bool new_file = !before || before->order != f->order;
	int rc = 0;

	/* a file without a directory counts as one */
	if (before && (new_dir || (new_file && !f->dir.len)))
		rc = grove__buf_add_str(text, "\n\n");
	else if (before)
		rc = grove__buf_add_char(text, '\n');
	if (!rc && f->dir.len && new_dir) {
		rc = grove__buf_add_str(text, "# ");
		if (!rc)
			rc = grove__buf_add_slice(text, f->dir);
		if (!rc)
			rc = grove__buf_add_char(text, '\n');
	}
	if (!rc && new_file) {
		rc = grove__buf_add_str(text, f->dir.len ? "## └─ " : "# ");
		if (!rc)
			rc = grove__buf_add_slice(text, f->name);
		if (!rc)
			rc = grove__buf_add_char(text, '\n');
	}
	if (!rc)
		rc = grove__buf_add_str(text, "  ");
	return rc ? rc : grove__buf_add_slice(text, f->rest);
}

static int add_findings(struct grove_buf *text, const struct grove__xcsh_finding *in, size_t nr)
{
	struct finding *f = calloc(nr, sizeof *f);
	size_t i;
	int rc = f ? 0 : GROVE_ENOMEM;

	for (i = 0; !rc && i < nr; i++)
		f[i] = split(&in[i], i);
	if (!rc)
		group(f, nr);
	for (i = 0; !rc && i < nr; i++)
		rc = put_finding(text, &f[i], i ? &f[i - 1] : NULL);
	free(f);
	return rc;
}

/* The position of a message in the buffer of all texts. */
struct piece {
	size_t off, len;
};

static int read_pieces(struct grove_slice messages, struct grove_buf *texts, struct grove_buf *pieces)
{
	struct grove__json_iter it;
	int rc = 0;

	grove__json_iter_init(&it, messages);
	while (!rc && grove__json_next(&it)) {
		struct piece p = { .off = texts->len };

		rc = grove__xcsh_add_text(texts, it.value);
		p.len = texts->len - p.off;
		if (!rc)
			rc = grove__buf_add(pieces, &p, sizeof p);
	}
	return rc;
}

static int put_pieces(struct grove_buf *text, const struct grove_buf *texts, const struct piece *p,
		      size_t nr, const struct grove__xcsh_wording *w)
{
	struct grove__xcsh_finding *f = calloc(nr, sizeof *f);
	struct grove_buf others = GROVE_BUF_INIT;
	size_t i, nr_found = 0;
	int rc = f ? 0 : GROVE_ENOMEM;

	for (i = 0; !rc && i < nr; i++) {
		struct grove_slice s = grove__slice(texts->ptr + p[i].off, p[i].len);

		if (take_apart(s, &f[nr_found])) {
			nr_found++;
			continue;
		}
		rc = grove__buf_add_char(&others, '\n');
		if (!rc)
			rc = grove__buf_add_slice(&others, s);
	}
	if (!rc && nr_found)
		rc = w->findings(text, f, nr_found);
	if (!rc && others.len && nr_found)
		rc = grove__buf_add_char(text, '\n');
	if (!rc && others.len) /* without the leading line end if nothing is above */
		rc = grove__buf_add(text, others.ptr + !nr_found, others.len - !nr_found);
	grove__buf_release(&others);
	free(f);
	return rc;
}

static int add_diagnostics(struct grove_buf *text, struct grove_slice d,
			   const struct grove__xcsh_wording *w)
{
	struct grove_slice messages = grove__json_get(d, "messages");
	struct grove_buf texts = GROVE_BUF_INIT, pieces = GROVE_BUF_INIT;
	int rc;

	if (grove__json_type_of(messages) != JSON_ARRAY)
		return 0;
	rc = read_pieces(messages, &texts, &pieces);
	if (!rc && pieces.len) {
		rc = grove__xcsh_add_member(text, "\n\nLSP Diagnostics (", d, "summary", "):\n");
		if (!rc)
			rc = put_pieces(text, &texts, (const struct piece *)(void *)pieces.ptr,
					pieces.len / sizeof(struct piece), w);
	}
	grove__buf_release(&texts);
	grove__buf_release(&pieces);
	return rc;
}

/* Writes what goes before each part. */
static int part(struct grove_buf *text, size_t *nr)
{
	return grove__buf_add_str(text, (*nr)++ ? ". " : "\n\n[");
}

const struct grove__xcsh_wording grove__xcsh_wording = {
	grove__xcsh_add_shown, ". Use sel=L", add_findings, false
};

int grove__xcsh_notice(struct grove_slice meta, const struct grove__xcsh_wording *w,
		       struct grove_buf *text)
{
	static const char *const limits[][2] = {
		{ "matchLimit", " matches" },
		{ "resultLimit", " results" },
		{ "headLimit", " results" },
	};
	struct grove_slice t = grove__json_get(meta, "truncation");
	struct grove_slice l = grove__json_get(meta, "limits"), m;
	size_t i, nr = 0;
	int rc = 0;

	if (grove__json_type_of(t) == JSON_OBJECT) {
		rc = part(text, &nr);
		if (!rc)
			rc = add_truncation(text, t, w);
	}
	for (i = 0; !rc && i < sizeof limits / sizeof *limits; i++) {
		m = grove__json_get(l, limits[i][0]);
		if (grove__json_type_of(m) != JSON_OBJECT)
			continue;
		rc = part(text, &nr);
		if (!rc)
			rc = add_limit(text, m, limits[i][1]);
	}
	m = grove__json_get(l, "columnTruncated");
	if (!rc && grove__json_type_of(m) == JSON_OBJECT) {
		rc = part(text, &nr);
		if (!rc)
			rc = grove__xcsh_add_member(text, "Some lines truncated to ", m, "maxColumn", " chars");
	}
	if (!rc && nr)
		rc = grove__buf_add_char(text, ']');
	return rc ? rc : add_diagnostics(text, grove__json_get(meta, "diagnostics"), w);
}
