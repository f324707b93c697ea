/*
 * tests/fuzz/world.c: an environment in memory.
 */
#include "world.h"

#include "reference.h"

#include "base/buf.h"
#include "store/store.h"
#include "view/view.h"
#include "../lib/calls.h"

/*
 * The clock does not move, and random numbers are always the same: so what two
 * sessions contain can be compared, and an input always does the same. The
 * linker uses these functions in place of those in sys/clock.c.
 */
int64_t __wrap_grove__sys_now_ms(void);
void __wrap_grove__sys_random(void *buf, size_t len);

int64_t __wrap_grove__sys_now_ms(void)
{
	return 1780000000000;
}

static uint64_t chance;

void __wrap_grove__sys_random(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len--) {
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		*p++ = (uint8_t)(chance >> 56);
	}
}

const struct grove_key world_key = { "w", "s.jsonl", "" };

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

struct grove *world(const char *dialect)
{
	static const char *const stores[] = { "memory:" };
	static struct grove *g;
	struct grove_options o = {
		.size = sizeof(o), .home = /* nothing can be made there */ "/dev/null", .cwd = "/w", .getenv = no_variables,
		.stores = stores, .nr_stores = 1, .dialect = dialect,
	};

	chance = 0;
	if (!g)
		CHECK(!grove_open(&o, &g));
	return g;
}

struct grove_store *line_store_new(const char *text, size_t len)
{
	struct grove_store *st;
	struct grove_store_appended out;
	struct grove_store_log *log;

	CHECK(!grove__store_open(&st, "memory:", NULL));
	CHECK(!grove__log_open(&log, st, &world_key, GROVE_STORE_CREATE, NULL));
	while (len) {
		const char *lf = memchr(text, '\n', len);
		size_t n = lf ? (size_t)(lf - text) : len;
		struct grove_store_record rec = { .line = { text, n } };

		CHECK(!grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, NULL));
		n += lf != NULL;
		text += n;
		len -= n;
		if (!lf)
			CHECK(!grove__log_meta_put(log, GROVE__META_UNFINISHED,
						   grove__slice("1", 1), NULL));
	}
	grove__log_close(log);
	return st;
}

struct grove_buf store_bytes(struct grove_store *st)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log_stat stat;
	struct grove_store_run run = { 0 };
	struct grove_store_log *log;

	CHECK(!grove__log_open(&log, st, &world_key, GROVE_STORE_READ, NULL));
	CHECK(!grove__log_stat(log, &stat, NULL));
	CHECK(!grove__buf_reserve(&b, (size_t)stat.bytes + 1));
	if (stat.tail)
		CHECK(!grove__log_read(log, 0, stat.tail, b.ptr, (size_t)stat.bytes + 1, &run, NULL));
	CHECK(run.next == stat.tail);
	grove__buf_cut(&b, run.len);
	grove__log_close(log);
	return b;
}

struct grove_session *world_open(struct grove *g, struct grove_store *st, unsigned flags, int *rc)
{
	struct grove__where at = {
		.dialect = g->forced, .agent = g->forced->name, .store = st,
		.project = strdup(world_key.project), .session = strdup(world_key.session),
	};
	struct grove_session *s = grove__session_alloc(g);
	struct grove_detail d;

	CHECK(s != NULL && at.project && at.session);
	grove__fail_clear(&d);
	*rc = grove__session_open(g, &at, flags, s, &d);
	if (!*rc)
		return s;
	/* a file may not be a session; nothing else can go wrong here */
	CHECK(*rc == GROVE_EDAMAGED);
	CHECK(d.code == *rc && d.message[0]);
	grove_session_close(s);
	return NULL;
}

void same_bytes(struct grove_buf *a, struct grove_buf *b, const char *what)
{
	if (!grove__slice_eq(grove__buf_slice(a), grove__buf_slice(b))) {
		size_t at = 0, from;

		while (at < a->len && at < b->len && a->ptr[at] == b->ptr[at])
			at++;
		from = at < 200 ? 0 : at - 200;
		fprintf(stderr, "%s: at byte %zu one says\n%.400s\nand the other\n%.400s\n", what, at,
			a->ptr ? a->ptr + from : "", b->ptr ? b->ptr + from : "");
		abort();
	}
	grove__buf_release(a);
	grove__buf_release(b);
}

/* Each entry is in one list of children; those that are outside of the tree are in none. */
static void tell_children(struct grove_view *v, struct grove_buf *out)
{
	uint32_t nr = grove_view_count(v), *list;
	uint8_t *seen = calloc(nr + 1, 1);
	size_t n;

	CHECK(seen != NULL);
	for (uint32_t of = 0; of <= nr; of++) {
		struct grove_entry e = { .size = sizeof(e) };

		CHECK(!children_rows(v, of == nr ? GROVE_NO_ENTRY : of, 0, &list, &n));
		for (size_t i = 0; i < n; i++) {
			CHECK(list[i] < nr && !seen[list[i]]++);
			CHECK(!grove_view_entry(v, list[i], &e));
			CHECK(e.parent == (of == nr ? GROVE_NO_ENTRY : of));
			CHECK(!grove__buf_addf(out, " %u", list[i]));
		}
		free(list);
	}
	CHECK(!grove__buf_add_char(out, '\n'));
	free(seen);
}

static void tell_path(struct grove_view *v, uint32_t to, struct grove_buf *out)
{
	uint32_t *path;
	struct grove_entry e = { .size = sizeof(e) };
	size_t n;

	CHECK(!path_rows(v, to, &path, &n));
	CHECK((to == GROVE_NO_ENTRY) == !n);
	for (size_t i = 0; i < n; i++) {
		CHECK(!grove_view_entry(v, path[i], &e));
		CHECK(e.parent == (i ? path[i - 1] : GROVE_NO_ENTRY));
		CHECK(!grove__buf_addf(out, "/%u", path[i]));
	}
	CHECK(!n || path[n - 1] == to);
	free(path);
}

struct grove_buf world_tell(struct grove_session *s, unsigned what)
{
	struct grove_buf b = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_view *v;
	uint32_t nr;

	CHECK(!grove_session_view(s, &v));
	nr = grove_view_count(v);
	CHECK(grove_view_entry(v, nr, &e) == GROVE_ENOTFOUND);
	CHECK(!grove__buf_addf(&b, "name %s id %s cwd %s\n",
			       grove_view_name(v) ? grove_view_name(v) : "-", grove_session_id(s),
			       what & TELL_NO_CWD ? "-" : grove_session_cwd(s)));
	for (uint32_t i = 0; i < nr; i++) {
		CHECK(!grove_view_entry(v, i, &e));
		CHECK(e.index == i && (e.parent == GROVE_NO_ENTRY || e.parent < nr) && e.parent != i);
		CHECK(!grove__buf_addf(&b, "%u: parent %u id %s label %s at %lld %lld kind %d role %d flags %u line %llu\n",
				       i, e.parent, e.id ? e.id : "-", e.label ? e.label : "-",
				       (long long)e.time, (long long)e.label_time, (int)e.kind,
				       (int)e.role, e.flags, (unsigned long long)e.line));
		/* it is not possible to ask for an id that contains U+0000 */
		if (e.id && !(e.flags & GROVE_ENTRY_SUPERSEDED) && strlen(e.id) == grove__spine_name(e.id).len)
			/* metadata may have the id of the entry that it is about */
			CHECK(find_row(v, e.id) == i || grove__spine_flags(v->image->spine, i) & ROW_ASIDE);
		if (!(what & TELL_LINES))
			continue;
		grove__buf_clear(&line);
		CHECK(!grove_view_line(v, i, 0, &line));
		CHECK(!memchr(line.ptr, '\n', line.len));
		CHECK(!grove__buf_add_slice(&b, grove__buf_slice(&line)) && !grove__buf_add_char(&b, '\n'));
	}
	if (what & TELL_LEAF)
		tell_path(v, grove_view_leaf(v), &b);
	tell_children(v, &b);
	grove__buf_release(&line);
	grove_view_unref(v);
	return b;
}

static int nobody(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return 0;
}

static void ask_entries(struct grove_view *v, struct grove_buf *line)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t *list;
	size_t n;

	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		CHECK(!grove_view_entry(v, i, &e));
		if (e.id)
			find_row(v, e.id);
		grove_view_line(v, i, 0, line);
		if (!path_rows(v, i, &list, &n))
			free(list);
		if (!children_rows(v, i, 0, &list, &n))
			free(list);
	}
}

void world_ask(struct grove_session *s)
{
	static const struct grove_context_options forms[] = {
		{ .size = sizeof(*forms) },
		{ .size = sizeof(*forms), .flags = GROVE_CONTEXT_LLM },
		{ .size = sizeof(*forms), .flags = GROVE_CONTEXT_EXPLAIN },
	};
	struct grove_sink sink = { nobody, NULL };
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_view *v;

	if (grove_session_view(s, &v))
		return;
	ask_entries(v, &line);
	grove_view_tree(v, 1, sink);
	grove_view_log(v, 0, sink);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		grove_view_context(v, &forms[i], sink);
	grove_view_unref(v);
	grove__buf_release(&line);
	/* and it continues, in the space that was kept */
	grove_session_append(s, grove_str("{\"role\":\"user\",\"content\":\"more\"}"), NULL, NULL);
	grove_session_append_label(s, grove_session_leaf(s) ? grove_session_leaf(s) : "x", "here", NULL, NULL);
}
