/*
 * dialect/omp_notice.c: notices about truncated output, as oh-my-pi words them.
 *
 *     [Showing lines 1-20 and 881-900 of 900; 860 middle lines (50.0KB) elided]
 *
 *     LSP Diagnostics (3 errors):
 *     # main.c
 *       1:1 unused
 *
 *     # src/core/
 *     ## a.c
 *       3:7 expected ';'
 *
 *     ## deep/
 *     ### b.c
 *       1:1 unused
 *
 * In the tree of directories files come first, in order of first appearance. A directory
 * that contains nothing but another directory shares a line with it.
 */
#include "dialect/omp.h"
#include "dialect/xcsh_llm.h"

#include "base/array.h"
#include "base/idmap.h"
#include "json/value.h"

#include <math.h>
#include <stdlib.h>

/* --- what is shown --- */

static double number(struct grove_slice t, const char *name)
{
	struct grove_slice raw = grove__json_get(t, name);

	return grove__json_type_of(raw) == JSON_NUMBER ? grove__json_number(raw) : (double)NAN;
}

static int add_range(struct grove_buf *text, const char *before, struct grove_slice range)
{
	int rc = grove__xcsh_add_member(text, before, range, "start", "-");

	return rc ? rc : grove__xcsh_add_member(text, "", range, "end", "");
}

static int add_elided_lines(struct grove_buf *text, struct grove_slice t)
{
	struct grove_slice lines = grove__json_get(t, "elidedLines");
	double n = number(t, "elidedLines");
	int rc;

	if (!lines.len || grove__json_type_of(lines) == JSON_NULL) {
		n = number(t, "totalLines") - number(t, "outputLines");
		rc = grove__buf_addf(text, "%.0f", n);
	} else {
		rc = grove__xcsh_add_text(text, lines);
	}
	return rc ? rc : grove__buf_add_str(text, n == 1 ? " middle line (" : " middle lines (");
}

/* For output with its beginning and end, but not its middle. */
static int add_both_ends(struct grove_buf *text, struct grove_slice t)
{
	struct grove_slice head = grove__json_get(t, "headRange"), tail = grove__json_get(t, "tailRange");
	double bytes = number(t, "elidedBytes");
	bool by_lines = grove__json_truthy(head) && grove__json_truthy(tail);
	int rc;

	if (isnan(bytes))
		bytes = number(t, "totalBytes") - number(t, "outputBytes");
	if (by_lines) {
		rc = add_range(text, "Showing lines ", head);
		rc = rc ? rc : add_range(text, " and ", tail);
		rc = rc ? rc : grove__xcsh_add_member(text, " of ", t, "totalLines", "; ");
		rc = rc ? rc : add_elided_lines(text, t);
	} else {
		rc = grove__xcsh_add_member(text, "Showing head and tail bytes of ", t, "totalLines", " lines; ");
	}
	rc = rc ? rc : grove__xcsh_add_size(text, bytes);
	return rc ? rc : grove__buf_add_str(text, by_lines ? ") elided" : " elided");
}

static int shown(struct grove_buf *text, struct grove_slice t, bool *go_on)
{
	struct grove_slice range;
	int rc;

	if (grove__json_string_is(grove__json_get(t, "direction"), "middle"))
		return add_both_ends(text, t);
	if (!grove__json_truthy(grove__json_get(t, "partialLine")))
		return grove__xcsh_add_shown(text, t, go_on);
	*go_on = false;
	range = grove__json_get(t, "shownRange");
	if (grove__json_get(range, "start").len)
		rc = grove__xcsh_add_member(text, "Showing line ", range, "start", " (partial, ");
	else
		rc = grove__buf_add_str(text, "Showing line 1 (partial, ");
	rc = rc ? rc : grove__xcsh_add_size(text, number(t, "outputBytes"));
	rc = rc ? rc : grove__buf_add_str(text, " of ");
	rc = rc ? rc : grove__xcsh_add_size(text, number(t, "totalBytes"));
	return rc ? rc : grove__xcsh_add_member(text, ") of ", t, "totalLines", "");
}

/* --- what a language server found --- */

#define NONE SIZE_MAX

/* A list in order of appearance. */
struct list {
	size_t first, last;
};

/* A directory or a file. */
struct node {
	struct grove_slice key;   /* its parent's index and its kind, then its name */
	size_t parent, next;      /* next: the next of the same kind in the same directory */
	struct list files, dirs;  /* of a directory */
	struct list findings;     /* of a file */
};

/* A parent's index, and a letter that distinguishes files from directories. */
#define KEY_HEAD (sizeof(size_t) + 1)

struct tree {
	struct grove__idmap map;
	struct grove__arena keys;
	struct node *nodes;       /* [0] is the root */
	size_t nr, cap;
	size_t *next;             /* for each finding: the next one in the same file */
	const struct grove__xcsh_finding *f;
};

static struct grove_slice key_at(const void *owner, uint32_t i)
{
	return ((const struct tree *)owner)->nodes[i].key;
}

static struct grove_slice name_of(const struct node *n)
{
	return grove__slice(n->key.ptr + KEY_HEAD, n->key.len - KEY_HEAD);
}

static void set_next(struct tree *t, size_t i, size_t next)
{
	t->nodes[i].next = next;
}

static int new_node(struct tree *t, size_t parent, struct grove_slice key, size_t *out)
{
	static const struct node empty = { .next = NONE, .files = { NONE, NONE }, .dirs = { NONE, NONE },
					   .findings = { NONE, NONE } };
	uint32_t old;
	int rc = grove__array_room(&t->nodes, &t->cap, t->nr, sizeof(*t->nodes));

	if (rc || t->nr >= GROVE__IDMAP_NONE)
		return rc ? rc : GROVE_ENOMEM;
	*out = t->nr;
	t->nodes[t->nr] = empty;
	t->nodes[t->nr].parent = parent;
	t->nodes[t->nr].key = key;
	t->nr++;
	return key.ptr ? grove__idmap_put(&t->map, key, (uint32_t)*out, &old) : 0;
}

/* Finds or creates the directory or file of that name in `parent`. */
static int child(struct tree *t, size_t parent, bool is_dir, struct grove_slice name, size_t *out)
{
	struct grove_buf key = GROVE_BUF_INIT;
	struct list *list;
	uint32_t found;
	char *copy;
	int rc = grove__buf_add(&key, &parent, sizeof(parent));

	rc = rc ? rc : grove__buf_add_char(&key, is_dir ? 'd' : 'f');
	rc = rc ? rc : grove__buf_add_slice(&key, name);
	if (rc)
		goto out;
	found = grove__idmap_get(&t->map, grove__buf_slice(&key));
	*out = found;
	if (found != GROVE__IDMAP_NONE)
		goto out;
	copy = grove__arena_dup(&t->keys, grove__buf_slice(&key));
	rc = copy ? new_node(t, parent, grove__slice(copy, key.len), out) : GROVE_ENOMEM;
	if (rc)
		goto out;
	list = is_dir ? &t->nodes[parent].dirs : &t->nodes[parent].files;
	if (list->first == NONE)
		list->first = *out;
	else
		set_next(t, list->last, *out);
	list->last = *out;
out:
	grove__buf_release(&key);
	return rc;
}

static bool is_slash(char c)
{
	return c == '/' || c == '\\';
}

/* Adds finding `i` to its file. */
static int place_path(struct tree *t, size_t i)
{
	struct grove_slice path = t->f[i].path;
	const char *p = path.ptr, *end = p + path.len, *name = p;
	struct list *list;
	size_t at = 0;
	int rc = 0;

	while (end > p && is_slash(end[-1]))
		end--;
	/* the path of a URL is not a path of ours */
	if (!memmem(path.ptr, path.len, "://", 3)) {
		for (; !rc && p < end; p++) {
			if (!is_slash(*p))
				continue;
			rc = child(t, at, true, grove__slice(name, (size_t)(p - name)), &at);
			name = p + 1;
		}
	}
	rc = rc ? rc : child(t, at, false, grove__slice(name, (size_t)(end - name)), &at);
	if (rc)
		return rc;
	list = &t->nodes[at].findings;
	t->next[i] = NONE;
	if (list->first == NONE)
		list->first = i;
	else
		t->next[list->last] = i;
	list->last = i;
	return 0;
}

static int put_heading(struct grove_buf *text, size_t depth)
{
	int rc = 0;

	while (!rc && depth--)
		rc = grove__buf_add_char(text, '#');
	return rc ? rc : grove__buf_add_char(text, ' ');
}

static int put_file(struct grove_buf *text, const struct tree *t, const struct node *file, size_t depth)
{
	size_t i;
	int rc = put_heading(text, depth);

	rc = rc ? rc : grove__buf_add_slice(text, name_of(file));
	for (i = file->findings.first; !rc && i != NONE; i = t->next[i]) {
		rc = grove__buf_add_str(text, "\n  ");
		rc = rc ? rc : grove__buf_add_slice(text, t->f[i].rest);
	}
	return rc;
}

static int put_files(struct grove_buf *text, const struct tree *t, const struct node *dir, size_t depth,
		     const char *before)
{
	size_t i, start = text->len;
	int rc = 0;

	for (i = dir->files.first; !rc && i != NONE; i = t->nodes[i].next) {
		if (depth > 1 || text->len > start)
			rc = grove__buf_add_str(text, before);
		rc = rc ? rc : put_file(text, t, &t->nodes[i], depth);
	}
	return rc;
}

/* Writes a directory, joined with its only subdirectory, and so on; *i is the last of these. */
static int put_dir(struct grove_buf *text, const struct tree *t, size_t *i, size_t depth)
{
	int rc = put_heading(text, depth);

	for (;;) {
		const struct node *n = &t->nodes[*i];

		rc = rc ? rc : grove__buf_add_slice(text, name_of(n));
		rc = rc ? rc : grove__buf_add_char(text, '/');
		if (rc || n->files.first != NONE || n->dirs.first != n->dirs.last)
			return rc;
		*i = n->dirs.first;
	}
}

/* Returns true if it is joined to the line of its parent directory. */
static bool is_folded(const struct tree *t, size_t i)
{
	const struct node *around = &t->nodes[t->nodes[i].parent];

	return t->nodes[i].parent && around->files.first == NONE && around->dirs.first == around->dirs.last;
}

/* Writes the whole tree, without recursion: depth costs no memory. */
static int put_tree(struct grove_buf *text, const struct tree *t)
{
	size_t i = t->nodes[0].dirs.first, depth = 1, start = text->len;
	int rc = put_files(text, t, &t->nodes[0], 1, "\n\n");

	while (!rc && i != NONE) {
		if (text->len > start)
			rc = grove__buf_add_str(text, "\n\n");
		rc = rc ? rc : put_dir(text, t, &i, depth);
		rc = rc ? rc : put_files(text, t, &t->nodes[i], depth + 1, "\n");
		if (t->nodes[i].dirs.first != NONE) {
			i = t->nodes[i].dirs.first;
			depth++;
			continue;
		}
		while (i && t->nodes[i].next == NONE) {
			depth -= !is_folded(t, i);
			i = t->nodes[i].parent;
		}
		i = i ? t->nodes[i].next : NONE;
	}
	return rc;
}

static int findings(struct grove_buf *text, const struct grove__xcsh_finding *f, size_t nr)
{
	struct tree t = { .next = calloc(nr, sizeof(*t.next)), .f = f };
	size_t i;
	int rc = t.next ? 0 : GROVE_ENOMEM;

	grove__idmap_init(&t.map, 0x9e3779b97f4a7c15u, key_at, &t);
	grove__arena_init(&t.keys);
	rc = rc ? rc : new_node(&t, 0, grove__slice(NULL, 0), &i);
	for (i = 0; !rc && i < nr; i++)
		rc = place_path(&t, i);
	rc = rc ? rc : put_tree(text, &t);
	grove__idmap_release(&t.map);
	grove__arena_release(&t.keys);
	free(t.nodes);
	free(t.next);
	return rc;
}

const struct grove__xcsh_wording grove__omp_wording = { shown, ". Use :", findings, true };
