/*
 * world/world.c: where sessions are.
 *
 * Stores are named by the caller or by $GROVE_STORE, or discovered: each dialect knows
 * where its agents put sessions.
 */
#include "world/world.h"
#include "base/sized.h"

#include "base/array.h"
#include "js/js.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char *process_getenv(void *payload, const char *name)
{
	(void)payload;
	return getenv(name);
}

static int real_path(void *payload, const char *path, struct grove_buf *out)
{
	int err = grove__sys_realpath(path, out);

	(void)payload;
	return err == -ENOMEM ? GROVE_ENOMEM : err ? 1 : 0;
}

static bool is_there(void *payload, const char *path)
{
	struct grove__sys_stat st;

	(void)payload;
	return !grove__sys_stat(path, &st);
}

int grove__world_resolve(const struct grove *g, const char *path, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t start = out->len;
	char *save, *part;
	int rc = grove__js_file_url(path, &b);

	if (rc <= 0)
		;
	else if (path[0] == '~' && (path[1] == '/' || !path[1]))
		rc = grove__buf_addf(&b, "%s%s", g->home, path + 1);
	else if (path[0] == '/')
		rc = grove__buf_add_str(&b, path);
	else
		rc = grove__buf_addf(&b, "%s/%s", g->cwd, path);
	for (part = rc || !b.len ? NULL : strtok_r(b.ptr, "/", &save); part && !rc;
	     part = strtok_r(NULL, "/", &save)) {
		if (!strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			while (out->len > start && out->ptr[out->len - 1] != '/')
				grove__buf_cut(out, out->len - 1);
			if (out->len > start)
				grove__buf_cut(out, out->len - 1);
			continue;
		}
		rc = grove__buf_addf(out, "/%s", part);
	}
	if (!rc && out->len == start)
		rc = grove__buf_add_char(out, '/');
	grove__buf_release(&b);
	/* half a path is useless: leave an empty buffer empty */
	if (rc && !start)
		grove__buf_release(out);
	return rc;
}

/* The first line of a file, as a URL has it. */
static int add_password(const char *file, struct grove_buf *out, struct grove_detail *d)
{
	struct grove_buf text = GROVE_BUF_INIT;
	int err = grove__sys_read_small(file, 4096, &text, NULL), rc = 0;

	for (size_t i = 0; i < text.len && text.ptr[i] != '\n' && !rc; i++)
		rc = grove__buf_addf(out, "%%%02X", (unsigned char)text.ptr[i]);
	grove__buf_release(&text);
	return err ? grove__fail_sys(d, err, file, "GROVE_STORE_PASSWORD_FILE cannot be read") : rc;
}

int grove__world_secret(const struct grove *g, const char *url, struct grove_buf *out, struct grove_detail *d)
{
	const char *file = g->env.getenv(g->env.getenv_payload, "GROVE_STORE_PASSWORD_FILE");
	const char *user = !strncmp(url, "mysql://", 8) ? url + 8 : "";
	size_t n = strcspn(user, ":@/?");
	int rc = 0;

	if (file && *file && user[n] == '@') {
		n += (size_t)(user - url);
		rc = grove__buf_addf(out, "%.*s:", (int)n, url);
		rc = rc ? rc : add_password(file, out, d);
		url += n;
	}
	rc = rc ? rc : grove__buf_add_str(out, url);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}

bool grove__world_gave_up(const char *path, struct grove_buf *database)
{
	const struct grove__dialect *dialect;
	struct grove__sys_stat st;

	for (unsigned i = 0; (dialect = grove__dialect_at(i)); i++) {
		grove__buf_clear(database);
		if (dialect->paths.database && !dialect->paths.database(path, database) &&
		    !grove__sys_stat(database->ptr, &st))
			return true;
	}
	return false;
}

/* A file beside the database of its agent is never read, and may keep the agent from starting. */
int grove__world_may_write(void *payload, const char *path, struct grove_detail *d)
{
	struct grove_buf database = GROVE_BUF_INIT;
	int rc = 0;

	(void)payload;
	if (grove__world_gave_up(path, &database))
		rc = grove__fail(d, GROVE_ENOTSUP, path,
				 "nothing is written here: the agent keeps its sessions in %.1000s now",
				 database.ptr);
	grove__buf_release(&database);
	return rc;
}

int grove__world_store(struct grove *g, const char *url, struct grove_store **out,
		       struct grove_detail *d)
{
	struct grove_store *inner = NULL;
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__world_secret(g, url, &full, d);

	rc = rc ? rc : grove__store_open_of(&g->store_types, &inner, full.ptr, d);
	grove__buf_release(&full);
	*out = inner;
	if (!rc) {
		grove__store_tell_hidden(inner, grove__hidden_note, g);
		grove__store_guard(inner, grove__world_may_write, g);
	}
	if (rc || !g->trace)
		return rc;
	rc = grove__store_trace_open(out, inner, g->trace, g->trace_payload, d);
	if (rc)
		grove__store_close(inner);
	return rc;
}

/* Takes ownership of `dir` (NULL if the store has none). */
static int add_root(struct grove *g, const char *url, char *dir, const char *agent,
		    const struct grove__dialect *dialect, bool flat, struct grove_detail *d)
{
	struct grove__root *r;
	int rc;

	if (grove__array_room(&g->roots, &g->cap_roots, g->nr_roots, sizeof(*g->roots))) {
		free(dir);
		return grove__fail_nomem(d);
	}
	r = &g->roots[g->nr_roots];
	*r = (struct grove__root){ .dialect = dialect, .agent = agent, .dir = dir, .flat = flat,
				   .url = strdup(url) };
	rc = r->url ? grove__world_store(g, url, &r->store, d) : grove__fail_nomem(d);
	if (rc) {
		free(r->url);
		free(dir);
		return rc;
	}
	g->nr_roots++;
	return 0;
}

struct finder {
	struct grove *g;
	const struct grove__dialect *dialect;
	unsigned bit;                /* of the dialect; 0 once it has a root for new sessions */
	struct grove_detail *d;
	/* while a `*` is expanded */
	const char *agent, *before, *after;
	bool flat;
};

/* Finds the root of that directory, under any path. */
static struct grove__root *known_root(struct grove *g, const char *dir)
{
	struct grove__sys_stat a, b;
	bool there = !grove__sys_stat(dir, &a);

	for (size_t i = 0; i < g->nr_roots; i++) {
		struct grove__root *r = &g->roots[i];

		if (r->dir && (!strcmp(r->dir, dir) || (there && !grove__sys_stat(r->dir, &b) &&
							a.dev == b.dev && a.ino == b.ino)))
			return r;
	}
	return NULL;
}

static int found_dir(struct finder *f, const char *dir)
{
	struct grove_buf path = GROVE_BUF_INIT, url = GROVE_BUF_INIT;
	struct grove__root *r;
	int rc = grove__world_resolve(f->g, dir, &path);

	if (!rc)
		rc = grove__buf_addf(&url, "file:%s", path.ptr);
	if (rc) {
		grove__buf_release(&path);
		grove__buf_release(&url);
		return grove__fail_nomem(f->d);
	}
	r = known_root(f->g, path.ptr);
	if (r) {
		/* two agents share a directory: each session has to show whose it is */
		if (r->dialect && r->dialect != f->dialect) {
			r->dialect = NULL;
			r->agent = "grove";
		}
		grove__buf_release(&path);
	} else {
		rc = add_root(f->g, url.ptr, path.ptr, f->agent, f->dialect, f->flat, f->d);
		r = rc ? NULL : &f->g->roots[f->g->nr_roots - 1];
	}
	if (r)
		r->first_of |= f->bit;
	f->bit = 0;
	grove__buf_release(&url);
	return rc;
}

static int found_name(void *payload, const char *name)
{
	struct finder *f = payload;
	struct grove_buf b = GROVE_BUF_INIT, database = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int rc = grove__buf_addf(&b, "%s%s%s", f->before, name, f->after);

	if (!rc && name[0] != '.' &&
	    ((!grove__sys_stat(b.ptr, &st) && st.type == SYS_DIR) || grove__world_gave_up(b.ptr, &database)))
		rc = found_dir(f, b.ptr);
	grove__buf_release(&b);
	grove__buf_release(&database);
	return rc;
}

static int found_root(void *payload, const char *agent, const char *dir, bool flat)
{
	struct finder *f = payload;
	const char *star = strchr(dir, '*');
	struct grove_buf before = GROVE_BUF_INIT;
	struct grove_detail why;
	int rc, err, ended = 0;

	f->agent = agent;
	f->flat = flat;
	if (!star)
		return found_dir(f, dir);
	rc = grove__buf_add(&before, dir, (size_t)(star - dir));
	if (!rc) {
		f->before = before.ptr;
		f->after = star + 1;
		err = grove__sys_list(before.ptr, found_name, f, &ended);
		/* no such directory: the agent is not used here */
		if (!err) {
			rc = ended;
		} else if (err != -ENOENT && err != -ENOTDIR) {
			grove__fail_sys(&why, err, before.ptr, "skipped, so sessions there are not found");
			grove__hidden_add(f->g, &why);
		}
	}
	grove__buf_release(&before);
	return rc;
}

static int discover(struct grove *g, struct grove_detail *d)
{
	const struct grove__dialect *dialect;
	int rc = 0;

	for (unsigned i = 0; !rc && (dialect = grove__dialect_at(i)); i++) {
		struct finder f = { .g = g, .dialect = dialect, .bit = 1u << i, .d = d };

		rc = dialect->paths.roots(&g->env, found_root, &f);
	}
	return rc;
}

static const char *variable(const struct grove *g, const char *name)
{
	const char *v = g->env.getenv(g->env.getenv_payload, name);

	return v && *v ? v : NULL;
}

int grove__world_archive_url(const struct grove *g, const char *to, struct grove_buf *out)
{
	const char *data = variable(g, "XDG_DATA_HOME");

	if (!to)
		to = variable(g, "GROVE_ARCHIVE");
	if (to)
		return grove__world_store_url(g, to, out);
	return grove__buf_addf(out, "file:%s%s/grove/archive", data ? data : g->home, data ? "" : "/.local/share");
}

/*
 * An archive on a server is not searched unless it is named, so that not every command
 * connects to it.
 */
static int add_archive(struct grove *g, struct grove_detail *d)
{
	struct grove_buf url = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	struct grove__store_traits t = { 0 };
	const char *path;
	char *dir = NULL;
	int rc = grove__world_archive_url(g, NULL, &url) ? grove__fail_nomem(d) : 0;

	path = rc ? NULL : grove__store_path(url.ptr, &t);
	if (path && !grove__sys_stat(path, &st) && t.paths == (st.type == SYS_DIR) &&
	    !(t.paths && known_root(g, path))) {
		dir = t.paths ? strdup(path) : NULL;
		rc = t.paths && !dir ? grove__fail_nomem(d) : add_root(g, url.ptr, dir, "grove", NULL, false, d);
		if (!rc)
			g->roots[g->nr_roots - 1].archive = true;
		/* an archive that turns out not to be one is ignored */
		else if (rc != GROVE_ENOMEM)
			rc = 0;
	}
	grove__buf_release(&url);
	return rc;
}

int grove__world_store_url(const struct grove *g, const char *url, struct grove_buf *out)
{
	const char *path = strchr(url, ':') ? grove__store_path(url, NULL) : url;
	int rc;

	if (!path || !*path)
		return grove__buf_add_str(out, url);
	rc = path == url ? grove__buf_add_str(out, "file:") : grove__buf_add(out, url, (size_t)(path - url));
	return rc ? rc : grove__world_resolve(g, path, out);
}

/* Was this store given before? Each `memory:` is another one. */
static bool given_twice(struct grove *g, const char *url, const char *dir)
{
	struct grove__store_traits t;
	struct grove__sys_stat a, b;
	const char *file, *path = grove__store_path(url, &t);

	if (dir)
		return known_root(g, dir);
	for (size_t i = 0; i < g->nr_roots; i++) {
		file = grove__store_file(g->roots[i].store);
		if (!strcmp(g->roots[i].url, url) && (!t.kind || t.shared))
			return true;
		if (file && path && !grove__sys_stat(file, &a) && !grove__sys_stat(path, &b) && a.dev == b.dev && a.ino == b.ino)
			return true;
	}
	return false;
}

static int add_given(struct grove *g, const char *url, struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__world_store_url(g, url, &full);
	const char *path = rc ? NULL : grove__store_dir(full.ptr);
	char *dir = NULL;

	if (path && *path) {
		dir = strdup(path);
		rc = dir ? 0 : GROVE_ENOMEM;
	}
	if (rc)
		rc = grove__fail_nomem(d);
	else if (given_twice(g, full.ptr, dir))
		free(dir);
	else
		rc = add_root(g, full.ptr, dir, "grove", g->forced, false, d);
	grove__buf_release(&full);
	return rc;
}

/* Finds the directory for caches. GROVE_ENOMEM. */
static int find_cache(struct grove *g, const struct grove_options *opt)
{
	const char *xdg = g->env.getenv(g->env.getenv_payload, "XDG_CACHE_HOME");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc;

	if (opt->cache && !*opt->cache)
		return 0;
	if (opt->cache)
		rc = grove__world_resolve(g, opt->cache, &b);
	else if (xdg && *xdg == '/')
		rc = grove__buf_addf(&b, "%s/grove", xdg);
	else
		rc = grove__buf_addf(&b, "%s/.cache/grove", g->home);
	g->cache = b.ptr;
	return rc;
}

const char *grove__world_cache_dir(const struct grove *g)
{
	return g->cache && grove__sys_own_dir(g->cache) ? g->cache : NULL;
}

static int take_options(struct grove *g, const struct grove_options *opt, struct grove_detail *d)
{
	const char *home, *store;
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	g->env.getenv = opt->getenv ? opt->getenv : process_getenv;
	g->env.getenv_payload = opt->getenv_payload;
	home = opt->home ? opt->home : g->env.getenv(g->env.getenv_payload, "HOME");
	g->home = strdup(home && *home ? home : "/");
	g->cwd = opt->cwd && opt->cwd[0] == '/' ? strdup(opt->cwd) : getcwd(NULL, 0);
	if (!g->home || (!g->cwd && errno == ENOMEM))
		return grove__fail_nomem(d);
	if (!g->cwd)
		return grove__fail(d, GROVE_EIO, NULL, "cannot determine the current directory");
	if (opt->cwd && opt->cwd[0] != '/') {
		if (grove__world_resolve(g, opt->cwd, &b))
			return grove__fail_nomem(d);
		free(g->cwd);
		g->cwd = b.ptr;
	}
	g->env.home = g->home;
	g->env.cwd = g->cwd;
	g->env.realpath = real_path;
	g->env.exists = is_there;
	b = (struct grove_buf)GROVE_BUF_INIT;
	if (grove__sys_tty(&b) == -ENOMEM)
		return grove__fail_nomem(d);
	g->tty = b.ptr;
	g->env.tty = g->tty;
	g->warn = opt->warn;
	g->warn_payload = opt->warn_payload;
	g->trace = opt->trace;
	g->trace_payload = opt->trace_payload;
	if (find_cache(g, opt))
		return grove__fail_nomem(d);
	if (opt->dialect) {
		g->forced = grove__dialect_find(opt->dialect);
		if (!g->forced)
			return grove__fail(d, GROVE_EINVAL, NULL, "no dialect named %.100s",
					   opt->dialect);
	}
	rc = grove__store_types_take(&g->store_types, opt->store_types, opt->nr_store_types, d);
	if (rc)
		return rc;
	store = g->env.getenv(g->env.getenv_payload, "GROVE_STORE");
	g->given = opt->nr_stores || (store && *store);
	for (size_t i = 0; i < opt->nr_stores && !rc; i++)
		rc = add_given(g, opt->stores[i], d);
	if (!opt->nr_stores && g->given)
		rc = add_given(g, store, d);
	return rc;
}

int grove__world_open(struct grove *g, const struct grove_options *opt, struct grove_detail *d)
{
	struct grove_options o;
	int rc;

	memset(g, 0, sizeof(*g));
	g->refs = 1;
	pthread_mutex_init(&g->lock, NULL);
	rc = grove__sized_take(&o, sizeof(o), opt, d);
	if (!rc)
		rc = take_options(g, &o, d);
	if (!rc && !g->given)
		rc = discover(g, d);
	if (!rc && !g->given)
		rc = add_archive(g, d);
	return rc;
}

/* With the lock held. NULL: it is not open yet. */
static struct grove_store *shared_open(const struct grove *g, const char *url)
{
	for (size_t i = 0; i < g->nr_roots; i++)
		if (!strcmp(g->roots[i].url, url))
			return g->roots[i].store;
	for (const struct grove__shared *s = g->shared; s; s = s->next)
		if (!strcmp(s->url, url))
			return s->store;
	return NULL;
}

/* With the lock held. `url` is taken if it succeeds. */
static int share(struct grove *g, char *url, struct grove_store **out, struct grove_detail *d)
{
	struct grove__shared *s = calloc(1, sizeof(*s));
	int rc = s ? grove__world_store(g, url, out, d) : grove__fail_nomem(d);

	if (rc) {
		free(s);
		return rc;
	}
	*s = (struct grove__shared){ g->shared, *out, url };
	g->shared = s;
	return 0;
}

int grove__world_shared(struct grove *g, const char *url, struct grove_store **out,
			struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = 0;

	/* second handles have none of their own */
	if (g->of)
		g = g->of;

	*out = NULL;
	if (!url && !g->nr_roots)
		return grove__fail(d, GROVE_EINVAL, NULL, "there is no store to use");
	if (grove__world_store_url(g, url ? url : g->roots[0].url, &full)) {
		grove__buf_release(&full);
		return grove__fail_nomem(d);
	}
	pthread_mutex_lock(&g->lock);
	*out = shared_open(g, full.ptr);
	if (!*out) {
		rc = share(g, full.ptr, out, d);
		if (!rc)
			full = (struct grove_buf)GROVE_BUF_INIT;
	}
	pthread_mutex_unlock(&g->lock);
	grove__buf_release(&full);
	return rc;
}

static void free_shared(struct grove *g)
{
	struct grove__shared *next;

	for (struct grove__shared *s = g->shared; s; s = next) {
		next = s->next;
		grove__store_close(s->store);
		free(s->url);
		free(s);
	}
}

/* Releases what second handles share. */
static void release_shared(struct grove *g)
{
	for (size_t i = 0; i < g->nr_roots; i++) {
		grove__store_close(g->roots[i].store);
		free(g->roots[i].url);
		free(g->roots[i].dir);
	}
	free_shared(g);
	free(g->home);
	free(g->cache);
	grove__store_types_release(&g->store_types);
	free(g->cwd);
	free(g->tty);
}

void grove__world_release(struct grove *g)
{
	if (!g->of)
		release_shared(g);
	free(g->roots);
	grove__hidden_release(g);
	pthread_mutex_destroy(&g->lock);
}

struct grove *grove__world_ref(struct grove *g)
{
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	return g;
}

void grove__world_unref(struct grove *g)
{
	struct grove *of;

	/* a second handle is one of those that keep the first */
	for (; g && !__atomic_sub_fetch(&g->refs, 1, __ATOMIC_ACQ_REL); g = of) {
		of = g->of;
		grove__world_release(g);
		free(g);
	}
}

int grove__world_dup(struct grove *g, struct grove **out)
{
	size_t bytes = (g->nr_roots ? g->nr_roots : 1) * sizeof(*g->roots);
	struct grove__root *roots = malloc(bytes);
	struct grove *n = malloc(sizeof(*n));

	*out = n;
	if (!roots || !n) {
		free(roots);
		free(n);
		*out = NULL;
		return GROVE_ENOMEM;
	}
	/* what is known of roots grows under the lock */
	pthread_mutex_lock(&g->lock);
	*n = *g;
	memcpy(roots, g->roots, g->nr_roots * sizeof(*roots));
	pthread_mutex_unlock(&g->lock);
	n->refs = 1;
	n->of = grove__world_ref(g->of ? g->of : g);
	n->roots = roots;
	n->hidden = NULL;
	n->shared = NULL;
	n->progress = (struct grove_progress){ NULL, NULL };
	n->last_ms = 0;
	grove__fail_clear(&n->detail);
	pthread_mutex_init(&n->lock, NULL);
	return 0;
}

struct grove__root *grove__world_root(struct grove *g, const struct grove__dialect *dialect)
{
	unsigned bit = 1;

	for (unsigned i = 0; grove__dialect_at(i) && grove__dialect_at(i) != dialect; i++)
		bit <<= 1;
	for (size_t i = 0; i < g->nr_roots; i++)
		if (g->given ? !g->roots[i].dialect || g->roots[i].dialect == dialect
			     : (g->roots[i].first_of & bit) != 0)
			return &g->roots[i];
	return NULL;
}

#define SEQ_MASK (((uint64_t)1 << 22) - 1)

void grove__world_session_id(struct grove *g, const struct grove__dialect *dialect, char out[40])
{
	int64_t now = grove__sys_now_ms();
	uint8_t random[8];
	uint64_t seq;

	pthread_mutex_lock(&g->lock);
	if (!g->last_ms)
		grove__sys_random(&g->id_seq, sizeof(g->id_seq));
	if (now < g->last_ms)
		now = g->last_ms;
	seq = ++g->id_seq;
	/* the counter starts at a random number; when it wraps, the time must advance */
	if (now == g->last_ms && !(seq & SEQ_MASK))
		now++;
	g->last_ms = now;
	pthread_mutex_unlock(&g->lock);
	grove__sys_random(random, sizeof(random));
	dialect->names.session_id(now, seq, random, out);
}
