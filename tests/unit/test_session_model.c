/*
 * tests/unit/test_session_model.c: a session is compared with a simple model of
 * it, an array.
 *
 * Entries of all kinds, branches, resets, labels, names, lines of other
 * writers, reloads and forks are made at random, through two handles on one
 * file. The model is an array in which each answer is found by going through
 * all of it. After each step the session and the model must agree. GROVE_SEED
 * repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "../lib/world.h"
#include "../lib/calls.h"

enum { MOST = 400, STEPS = 260, RUNS = 80 };

struct item {
	char id[40];
	int parent;              /* -1: none */
	enum grove_kind kind;
	enum grove_role role;
	bool mark;
	int target;              /* for a label or an edit */
	char text[32];           /* of a label ("": removed) or a name */
	bool drop;               /* the edit removes its target */
	int kept;                /* for a compaction; -1: nothing */
};

struct handle {
	struct grove_session *s;
	int known;               /* how many items it has read */
	bool moved;
	int leaf;
};

struct model {
	struct world *w;
	struct chance c;
	char path[8192];
	struct item item[MOST];
	int nr, garbage;
	struct handle h[2];
};

/* ---------------------------------------------------------------- the array */

static int through_marks(const struct model *m, int i)
{
	while (i >= 0 && m->item[i].mark)
		i = m->item[i].parent;
	return i;
}

static int leaf_of(const struct model *m, const struct handle *h)
{
	return h->moved ? h->leaf : through_marks(m, h->known - 1);
}

static int path_to(const struct model *m, int leaf, int *path)
{
	int nr = 0;

	for (int i = leaf; i >= 0; i = m->item[i].parent)
		nr++;
	for (int i = leaf, at = nr; i >= 0; i = m->item[i].parent)
		path[--at] = i;
	return nr;
}

static const char *label_in(const struct model *m, int known, int i)
{
	const char *label = NULL;

	for (int k = 0; k < known; k++)
		if (m->item[k].kind == GROVE_KIND_LABEL && m->item[k].target == i)
			label = *m->item[k].text ? m->item[k].text : NULL;
	return label;
}

static const char *name_in(const struct model *m, int known)
{
	const char *name = NULL;

	for (int k = 0; k < known; k++)
		if (m->item[k].kind == GROVE_KIND_NAME)
			name = m->item[k].text;
	return name;
}

static bool speaks(const struct item *i)
{
	return i->kind == GROVE_KIND_MESSAGE || i->kind == GROVE_KIND_CUSTOM_MESSAGE ||
	       i->kind == GROVE_KIND_BRANCH_SUMMARY;
}

/* Lists the ids of the entries that the model is sent, in the form of the context document. */
static void context_ids(const struct model *m, int leaf, struct grove_buf *out)
{
	int path[MOST], sent[MOST], nr = path_to(m, leaf, path), n = 0, last = -1, from = -1;
	bool first = true;

	for (int i = 0; i < nr; i++)
		if (m->item[path[i]].kind == GROVE_KIND_COMPACTION)
			last = i;
	if (last >= 0) {
		from = last;
		for (int i = 0; i < last; i++)
			if (path[i] == m->item[path[last]].kept)
				from = i;
		sent[n++] = path[last];
	}
	for (int i = from > 0 ? from : 0; i < nr; i++)
		if (i != last)
			sent[n++] = path[i];
	for (int i = 0; i < n; i++) {
		const struct item *it = &m->item[sent[i]];
		bool dropped = false;

		for (int k = 0; k < n; k++)
			if (m->item[sent[k]].kind == GROVE_KIND_CONTEXT_EDIT &&
			    m->item[sent[k]].target == sent[i])
				dropped = m->item[sent[k]].drop;
		if (dropped || !(speaks(it) || (last >= 0 && sent[i] == path[last])))
			continue;
		assert_int_equal(grove__buf_addf(out, "%s\"%s\"", first ? "" : ",", it->id), 0);
		first = false;
	}
}

/* ----------------------------------------------------------------- comparing */

static void compare_entries(const struct model *m, const struct handle *h, struct grove_view *v)
{
	struct grove_entry e = { .size = sizeof(e) };

	assert_int_equal(grove_view_count(v), h->known);
	for (int i = 0; i < h->known; i++) {
		const struct item *it = &m->item[i];
		const char *label = label_in(m, h->known, i);

		assert_int_equal(grove_view_entry(v, (uint32_t)i, &e), 0);
		assert_string_equal(e.id, it->id);
		assert_int_equal(e.parent, it->parent < 0 ? GROVE_NO_ENTRY : (uint32_t)it->parent);
		assert_int_equal(e.kind, it->kind);
		assert_int_equal(e.role, it->role);
		assert_int_equal(!!(e.flags & GROVE_ENTRY_LEAF_MARK), it->mark);
		assert_int_equal(find_row(v, it->id), i);
		if (label)
			assert_string_equal(e.label ? e.label : "(none)", label);
		else
			assert_null(e.label);
	}
}

static void compare_children(const struct model *m, const struct handle *h, struct grove_view *v, int of)
{
	uint32_t *child;
	size_t nr, at = 0;

	assert_int_equal(children_rows(v, of < 0 ? GROVE_NO_ENTRY : (uint32_t)of, 0, &child, &nr), 0);
	for (int i = 0; i < h->known; i++)
		if (m->item[i].parent == of) {
			assert_true(at < nr);
			assert_int_equal(child[at++], i);
		}
	assert_int_equal(at, nr);
	free(child);
}

static void compare_context(const struct model *m, struct grove_view *v, int leaf)
{
	struct grove_buf doc = GROVE_BUF_INIT, want = GROVE_BUF_INIT;
	const char *ids, *end;

	assert_int_equal(grove__buf_add_str(&want, ""), 0);
	context_ids(m, leaf, &want);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&doc)), 0);
	ids = strstr(doc.ptr, "\"entryIds\":[");
	assert_non_null(ids);
	ids += strlen("\"entryIds\":[");
	end = strchr(ids, ']');
	if ((size_t)(end - ids) != want.len || memcmp(ids, want.ptr, want.len))
		fail_msg("context: %.*s, not %s", (int)(end - ids), ids, want.ptr);
	grove__buf_release(&doc);
	grove__buf_release(&want);
}

static void compare(struct model *m, struct handle *h)
{
	struct grove_view *v = view_of(m->w, h->s);
	struct grove_counts n = { .size = sizeof(n) };
	const char *name = name_in(m, h->known);
	int leaf = leaf_of(m, h), path[MOST], nr = path_to(m, leaf, path);
	uint32_t *got;
	size_t got_nr;

	if (leaf < 0)
		assert_null(grove_session_leaf(h->s));
	else
		assert_string_equal(grove_session_leaf(h->s), m->item[leaf].id);
	assert_int_equal(grove_view_leaf(v), leaf < 0 ? GROVE_NO_ENTRY : (uint32_t)leaf);
	assert_int_equal(path_rows(v, grove_view_leaf(v), &got, &got_nr), 0);
	assert_int_equal(got_nr, nr);
	for (int i = 0; i < nr; i++)
		assert_int_equal(got[i], path[i]);
	free(got);
	compare_entries(m, h, v);
	compare_children(m, h, v, -1);
	if (h->known)
		compare_children(m, h, v, (int)chance_below(&m->c, (uint32_t)h->known));
	if (name)
		assert_string_equal(grove_view_name(v), name);
	else
		assert_null(grove_view_name(v));
	grove_view_counts(v, &n);
	assert_int_equal(n.entries, h->known);
	assert_int_equal(n.orphans + n.cycles + n.duplicates + (uint64_t)n.torn, 0);
	compare_context(m, v, leaf);
	grove_view_unref(v);
}

/* ---------------------------------------------------------------- the steps */

/* An item was appended through handle `h`, which therefore knows all lines now. */
static struct item *added(struct model *m, struct handle *h, int parent, enum grove_kind kind,
			  enum grove_role role, const char *id)
{
	struct item *it = &m->item[m->nr++];

	memset(it, 0, sizeof(*it));
	snprintf(it->id, sizeof(it->id), "%s", id);
	it->parent = parent;
	it->kind = kind;
	it->role = role;
	it->target = it->kept = -1;
	h->known = m->nr;
	h->moved = false;
	return it;
}

/* Returns the parent of an append through `h`: the leaf after all lines have been read. */
static int parent_now(struct model *m, struct handle *h)
{
	struct handle all = *h;

	all.known = m->nr;
	return leaf_of(m, &all);
}

/* Returns any item, also one that a handle has not read yet. */
static int any(struct model *m)
{
	return (int)chance_below(&m->c, (uint32_t)m->nr);
}

static void step_message(struct model *m, struct handle *h)
{
	static const struct {
		const char *name;
		enum grove_role role;
	} roles[] = {
		{ "user", GROVE_ROLE_USER }, { "assistant", GROVE_ROLE_ASSISTANT },
		{ "toolResult", GROVE_ROLE_TOOL_RESULT }, { "bashExecution", GROVE_ROLE_BASH },
	};
	struct grove_append_options o = { .size = sizeof(o) };
	uint32_t r = chance_below(&m->c, 4);
	int parent = parent_now(m, h);
	char json[128];
	const char *id;

	snprintf(json, sizeof(json), "{\"role\":\"%s\",\"content\":[],\"command\":\"c\",\"output\":\"%d\"}",
		 roles[r].name, m->nr);
	/* now and then in another place */
	if (m->nr && !chance_below(&m->c, 8)) {
		parent = any(m);
		o.parent = m->item[parent].id;
	} else if (!chance_below(&m->c, 20)) {
		o.parent = GROVE_ROOT;
		parent = -1;
	}
	OK(m->w, grove_session_append(h->s, text(json), &o, INTO(&id)));
	added(m, h, parent, GROVE_KIND_MESSAGE, roles[r].role, id);
}

static void step_many(struct model *m, struct handle *h)
{
	struct grove_slice json[4];
	const char *ids[4];
	uint32_t nr = 1 + chance_below(&m->c, 4);
	int parent = parent_now(m, h);

	for (uint32_t i = 0; i < nr; i++)
		json[i] = text("{\"role\":\"user\",\"content\":\"one of many\"}");
	OK(m->w, grove_session_append_many(h->s, json, nr, NULL, INTO(ids)));
	for (uint32_t i = 0; i < nr; i++) {
		added(m, h, parent, GROVE_KIND_MESSAGE, GROVE_ROLE_USER, ids[i]);
		parent = m->nr - 1;
	}
}

static void step_other(struct model *m, struct handle *h)
{
	int parent = parent_now(m, h);
	enum grove_kind kind;
	const char *id;

	switch (chance_below(&m->c, 5)) {
	case 0:
		kind = GROVE_KIND_CUSTOM;
		OK(m->w, append_custom(h->s, "t", "[1]", INTO(&id)));
		break;
	case 1:
		kind = GROVE_KIND_CUSTOM_MESSAGE;
		OK(m->w, append_custom_message(h->s, "t", "\"c\"", INTO(&id)));
		break;
	case 2:
		kind = GROVE_KIND_THINKING_LEVEL;
		OK(m->w, grove_session_append_thinking_level(h->s, "high", NULL, INTO(&id)));
		break;
	case 3:
		kind = GROVE_KIND_MODEL;
		OK(m->w, grove_session_append_model(h->s, "p", "m", NULL, NULL, INTO(&id)));
		break;
	default:
		kind = GROVE_KIND_OTHER;
		OK(m->w, grove_session_append(h->s, text("{\"type\":\"unheard_of\",\"x\":{}}"), NULL, INTO(&id)));
		break;
	}
	added(m, h, parent, kind, GROVE_ROLE_NONE, id);
}

static void step_label(struct model *m, struct handle *h)
{
	bool clear = !chance_below(&m->c, 3);
	int parent = parent_now(m, h), target;
	struct item *it;
	const char *id;
	char label[32];

	if (!m->nr)
		return;
	target = any(m);
	snprintf(label, sizeof(label), "label %d", m->nr);
	OK(m->w, grove_session_append_label(h->s, m->item[target].id, clear ? NULL : label, NULL, INTO(&id)));
	it = added(m, h, parent, GROVE_KIND_LABEL, GROVE_ROLE_NONE, id);
	it->target = target;
	if (!clear)
		snprintf(it->text, sizeof(it->text), "%s", label);
}

static void step_name(struct model *m, struct handle *h)
{
	int parent = parent_now(m, h);
	const char *id;
	struct item *it;
	char name[32];

	snprintf(name, sizeof(name), "name %d", m->nr);
	OK(m->w, grove_session_set_name(h->s, name, GROVE_NAME_BY_USER, INTO(&id)));
	it = added(m, h, parent, GROVE_KIND_NAME, GROVE_ROLE_NONE, id);
	snprintf(it->text, sizeof(it->text), "%s", name);
}

static void step_compaction(struct model *m, struct handle *h)
{
	struct grove_compaction c = { .size = sizeof(c), .summary = "s", .tokens_before = 1 };
	int parent = parent_now(m, h), path[MOST], nr = path_to(m, parent, path), kept = -1;
	const char *id;

	if (nr && chance_below(&m->c, 4)) {
		kept = path[chance_below(&m->c, (uint32_t)nr)];
		c.first_kept = m->item[kept].id;
	}
	OK(m->w, grove_session_append_compaction(h->s, &c, NULL, INTO(&id)));
	added(m, h, parent, GROVE_KIND_COMPACTION, GROVE_ROLE_NONE, id)->kept = kept;
}

static void step_edit(struct model *m, struct handle *h)
{
	int parent = parent_now(m, h), path[MOST], nr = path_to(m, parent, path), target;
	bool drop = chance_below(&m->c, 2);
	struct item *it;
	const char *id;

	if (!nr)
		return;
	target = path[chance_below(&m->c, (uint32_t)nr)];
	it = &m->item[target];
	if (it->kind != GROVE_KIND_MESSAGE || it->role == GROVE_ROLE_BASH)
		return;
	OK(m->w, append_edit(h->s, it->id, drop ? NULL : "{\"content\":\"e\"}", INTO(&id)));
	it = added(m, h, parent, GROVE_KIND_CONTEXT_EDIT, GROVE_ROLE_NONE, id);
	it->target = target;
	it->drop = drop;
}

static void step_leaf(struct model *m, struct handle *h)
{
	bool persist = chance_below(&m->c, 2);
	int to = -1, from;
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };

	if (m->nr && chance_below(&m->c, 6))
		to = any(m);
	OK(m->w, grove_session_set_leaf(h->s, to < 0 ? GROVE_ROOT : m->item[to].id, LEAF(persist ? GROVE_LEAF_PERSIST : 0), NULL));
	if (persist || to >= h->known)
		h->known = m->nr; /* the handle has read the file */
	from = leaf_of(m, h);
	to = through_marks(m, to);
	if (to == from)
		return;
	if (!persist) {
		h->moved = true;
		h->leaf = to;
		return;
	}
	v = view_of(m->w, h->s);
	assert_int_equal(grove_view_count(v), m->nr + 1);
	assert_int_equal(grove_view_entry(v, (uint32_t)m->nr, &e), 0);
	added(m, h, to, GROVE_KIND_CUSTOM, GROVE_ROLE_NONE, e.id)->mark = true;
	grove_view_unref(v);
}

static void step_branch(struct model *m, struct handle *h)
{
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left behind" };
	int to = -1;
	const char *id;

	if (m->nr && chance_below(&m->c, 6))
		to = any(m);
	OK(m->w, branch_from(h->s, to < 0 ? GROVE_ROOT : m->item[to].id, &b, &id));
	added(m, h, through_marks(m, to), GROVE_KIND_BRANCH_SUMMARY, GROVE_ROLE_NONE, id);
}

/* A program that does not use grove appends. */
static void step_foreign(struct model *m, struct handle *h)
{
	struct handle nobody = *h;
	char line[512], id[16];
	int parent = m->nr ? (int)chance_below(&m->c, (uint32_t)m->nr + 1) - 1 : -1;

	if (!chance_below(&m->c, 4)) {
		file_add(m->path, chance_below(&m->c, 2) ? "{\"broken\": \n" : "\n");
		m->garbage++;
		return;
	}
	snprintf(id, sizeof(id), "f-%d", m->nr);
	snprintf(line, sizeof(line), "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":%s%s%s" STAMP
		 ",\"message\":{\"role\":\"user\",\"content\":\"foreign\"}}\n", id, parent < 0 ? "" : "\"",
		 parent < 0 ? "null" : m->item[parent].id, parent < 0 ? "" : "\"");
	file_add(m->path, line);
	added(m, &nobody, parent, GROVE_KIND_MESSAGE, GROVE_ROLE_USER, id);
}

static void step_refresh(struct model *m, struct handle *h)
{
	int rc = grove_session_refresh(h->s);

	assert_true(rc >= 0);
	if (h->known != m->nr)
		assert_int_equal(rc, 1);
	h->known = m->nr;
}

static void step_reload(struct model *m, struct handle *h)
{
	grove_session_close(h->s);
	h->s = session_at(m->w, m->path, GROVE_OPEN_WRITE);
	h->known = m->nr;
	h->moved = false;
}

/* Compares the entries and the path of a fork, and checks that the source has not changed. */
static void step_fork(struct model *m, struct handle *h)
{
	struct grove_fork_options o = { .size = sizeof(o) };
	int path[MOST], nr, leaf, want;
	struct grove_session *f;
	struct grove_view *v;
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;

	want = h->known;
	if (m->nr && chance_below(&m->c, 2)) {
		leaf = any(m);
		if (leaf >= h->known)
			h->known = m->nr;
		nr = path_to(m, leaf, path);
		o.leaf = m->item[leaf].id;
		want = 0;
		for (int i = 0; i < nr; i++)
			want += m->item[path[i]].kind != GROVE_KIND_LABEL;
		for (int i = 0; i < nr; i++)
			want += m->item[path[i]].kind != GROVE_KIND_LABEL &&
				label_in(m, h->known, path[i]) != NULL;
	}
	OK(m->w, grove_session_fork(h->s, &o, &f));
	v = view_of(m->w, f);
	assert_int_equal(grove_view_count(v), want);
	if (!o.leaf) {
		struct grove_view *mine = view_of(m->w, h->s);

		assert_int_equal(grove_view_log(v, 0, grove_buf_sink(&a)), 0);
		assert_int_equal(grove_view_log(mine, 0, grove_buf_sink(&b)), 0);
		assert_string_equal(a.ptr, b.ptr);
		grove_view_unref(mine);
	} else {
		for (uint32_t i = 0; i < grove_view_count(v); i++) {
			struct grove_entry e = { .size = sizeof(e) };

			assert_int_equal(grove_view_entry(v, i, &e), 0);
			assert_int_equal(e.parent, i ? i - 1 : GROVE_NO_ENTRY);
		}
	}
	grove__buf_release(&a);
	grove__buf_release(&b);
	grove_view_unref(v);
	assert_int_equal(unlink(grove_session_path(f)), 0);
	grove_session_close(f);
}

static void (*const steps[])(struct model *m, struct handle *h) = {
	step_message, step_message, step_message, step_message, step_message, step_many,
	step_other, step_other, step_label, step_label, step_name, step_compaction, step_edit,
	step_edit, step_leaf, step_leaf, step_branch, step_foreign, step_foreign, step_refresh,
	step_reload, step_fork,
};

static void one_run(struct model *m)
{
	struct grove_buf raw = GROVE_BUF_INIT, file;
	struct grove_view *v;

	m->nr = m->garbage = 0;
	snprintf(m->path, sizeof(m->path), "%s", make(m->w, "model.jsonl", HEADER));
	for (int i = 0; i < 2; i++)
		m->h[i] = (struct handle){ .s = session_at(m->w, m->path, GROVE_OPEN_WRITE) };
	for (int i = 0; i < STEPS && m->nr < MOST - 8; i++) {
		struct handle *h = &m->h[!chance_below(&m->c, 4)];

		steps[chance_below(&m->c, sizeof(steps) / sizeof(*steps))](m, h);
		compare(m, h);
		compare(m, &m->h[h == m->h]);
	}
	for (int i = 0; i < 2; i++) {
		step_refresh(m, &m->h[i]);
		compare(m, &m->h[i]);
	}
	/* writing what was read gives the file again */
	v = view_of(m->w, m->h[0].s);
	file = file_bytes(m->path);
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&raw)), 0);
	assert_int_equal(raw.len, file.len);
	assert_memory_equal(raw.ptr, file.ptr, raw.len);
	assert_int_equal(lines_in(m->path), m->nr + m->garbage + 1);
	grove__buf_release(&raw);
	grove__buf_release(&file);
	grove_view_unref(v);
	for (int i = 0; i < 2; i++)
		grove_session_close(m->h[i].s);
}

static void a_session_is_what_an_array_of_its_entries_is(void **state)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->w = *state;
	m->c = chance_begin("session model");
	for (int i = 0; i < RUNS; i++)
		one_run(m);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_session_is_what_an_array_of_its_entries_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
