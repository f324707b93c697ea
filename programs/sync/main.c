/*
 * main.c: grove-sync, the program behind `grove push`, `pull` and `mirror`.
 *
 * It is a separate program so that libcurl is loaded by nobody else; `grove` passes its
 * arguments on through exec.
 */
#include "sync.h"
#include "table.h"

#include "kit/args.h"
#include "kit/carry.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

int sync_stopped(void)
{
	return stopped;
}

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void catch_stop(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_stop;
	sa.sa_flags = (int)SA_RESETHAND; /* a second signal kills it at once */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* ------------------------------------------------------ sessions to carry over */

struct pick {
	char *id, *what, *key;       /* `what` is NULL if it is not here, or not known; `key` is NULL
	                                to use the id */
	int named;
	int many;                    /* several sessions have the id */
};

/* Sessions by their ids. */
struct set {
	struct pick *at;
	size_t nr, cap;
	size_t *slot, mask;          /* 1 + an index of `at`; 0 is free */
};

struct picks {
	struct sync *s;
	struct set todo;
	struct set here;             /* of the directory, or all */
	int everywhere;              /* in all directories */
	char *dir;                   /* of these sessions; NULL: all, or those named */
	char **names;                /* the names given */
	int nr_names;
	uint64_t unread;             /* what could not be read */
	uint64_t elsewhere;          /* listed by the server, but of other directories */
};

static size_t *find_slot(const struct set *t, const char *id)
{
	size_t at = (size_t)table_hash(grove_str(id)) & t->mask;

	while (t->slot[at] && strcmp(t->at[t->slot[at] - 1].id, id))
		at = (at + 1) & t->mask;
	return &t->slot[at];
}

static struct pick *find_pick(const struct set *t, const char *id)
{
	size_t at = t->slot ? *find_slot(t, id) : 0;

	return at ? &t->at[at - 1] : NULL;
}

static int more_slots(struct set *t)
{
	free(t->slot);
	t->mask = t->cap * 2 - 1;
	t->slot = calloc(t->mask + 1, sizeof(*t->slot));
	if (!t->slot)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < t->nr; i++)
		*find_slot(t, t->at[i].id) = i + 1;
	return 0;
}

/* Adds a session that the set does not have. */
static int add_pick(struct set *t, const char *id, const char *what, const char *key, int named)
{
	struct pick k = { strdup(id), what ? strdup(what) : NULL, key ? strdup(key) : NULL, named, 0 };
	struct pick *more;

	if (t->nr == t->cap) {
		more = realloc(t->at, (t->cap ? t->cap * 2 : 64) * sizeof(*more));
		t->at = more ? more : t->at;
		t->cap = more ? (t->cap ? t->cap * 2 : 64) : t->cap;
		if (!more || more_slots(t))
			k.named = -1;
	}
	if (k.named < 0 || !k.id || (what && !k.what) || (key && !k.key)) {
		free(k.id);
		free(k.what);
		free(k.key);
		return GROVE_ENOMEM;
	}
	t->at[t->nr++] = k;
	*find_slot(t, id) = t->nr;
	return 0;
}

static void clear_set(struct set *t)
{
	while (t->nr) {
		t->nr--;
		free(t->at[t->nr].id);
		free(t->at[t->nr].what);
		free(t->at[t->nr].key);
	}
	free(t->at);
	free(t->slot);
	memset(t, 0, sizeof(*t));
}

static void on_skipped(void *payload, const struct grove_detail *why)
{
	struct picks *p = payload;

	p->unread++;
	cli_warn_detail(p->s->c, why);
}

static const char *what_of(const struct grove_list_item *i)
{
	return i->path && *i->path == '/' ? i->path : i->id;
}

/* Lists the sessions here: all, or those of this directory. */
static int list_here(struct picks *p)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = p->everywhere ? GROVE_LIST_ALL : 0u, .skipped = on_skipped,
					.skipped_payload = p };
	struct grove_list *l = NULL;
	int rc = grove_list(p->s->c->g, &o, &l);

	for (size_t i = 0; !rc && i < grove_list_count(l); i++) {
		const struct grove_list_item *it = grove_list_at(l, i);
		struct pick *k = it->id && *it->id ? find_pick(&p->here, it->id) : NULL;

		if (k)
			k->many = 1;
		else if (it->id && *it->id)
			rc = add_pick(&p->here, it->id, what_of(it), NULL, 0);
	}
	grove_list_free(l);
	return rc;
}

static int pick_here(struct picks *p)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->here.nr; i++)
		rc = add_pick(&p->todo, p->here.at[i].id, p->here.at[i].what, NULL, 0);
	return rc;
}

static int pick_there(void *payload, const char *id, const char *key, const char *cwd)
{
	struct picks *p = payload;
	struct pick *k = find_pick(&p->todo, id);
	const struct pick *here;

	if (sync_stopped())
		return GROVE_ECANCELLED;
	if (k)
		return k->key || !strcmp(key, id) || (k->key = strdup(key)) ? 0 : GROVE_ENOMEM;
	here = find_pick(&p->here, id);
	if (here || sync_of_dir(p->s, cwd))
		return add_pick(&p->todo, id, here && !here->many ? here->what : NULL, strcmp(key, id) ? key : NULL, 0);
	p->elsewhere++;
	return 0;
}

struct match {
	const char *want;
	char id[256], key[300];
	unsigned nr;
	int exact;
};

static int match_there(void *payload, const char *id, const char *key, const char *cwd)
{
	struct match *m = payload;
	size_t n = strlen(m->want);
	int exact = !strcmp(id, m->want);

	(void)cwd;
	if (strncmp(id, m->want, n) || (n < 4 && !exact) || strlen(id) >= sizeof(m->id) || m->exact)
		return 0;
	m->nr = exact ? 1 : m->nr + 1;
	m->exact = exact;
	snprintf(m->id, sizeof(m->id), "%s", id);
	snprintf(m->key, sizeof(m->key), "%s", key);
	return 0;
}

/* Picks a named session: on this machine, or else on the server. */
static int pick_named(struct picks *p, const char *name)
{
	struct cli *c = p->s->c;
	struct match m = { .want = name };
	struct grove_list *l = NULL;
	uint64_t refused;
	int rc = grove_find(c->g, name, 0, &l);

	if (!rc && grove_list_count(l)) {
		const struct grove_list_item *it = grove_list_at(l, 0);

		rc = find_pick(&p->todo, it->id) ? 0 : add_pick(&p->todo, it->id, what_of(it), NULL, 1);
		grove_list_free(l);
		return rc;
	}
	grove_list_free(l);
	if (rc == GROVE_EDAMAGED && p->s->ways & WAY_PULL && carry_is_empty(c->g, name))
		rc = GROVE_ENOTFOUND;
	if (rc != GROVE_ENOTFOUND || !(p->s->ways & WAY_PULL)) {
		c->status = cli_fail_grove(c, rc);
		return 1;
	}
	rc = remote_list(&p->s->remote, NULL, match_there, &m, &refused);
	if (rc)
		return rc;
	if (m.nr == 1)
		return find_pick(&p->todo, m.id) ? 0 : add_pick(&p->todo, m.id, NULL, m.key, 1);
	c->status = m.nr ? cli_error(c, GROVE_EAMBIGUOUS, "%.100s matches %u sessions of the server", name, m.nr)
			 : cli_error(c, GROVE_ENOTFOUND, "no session %.100s, here or on the server", name);
	return 1;
}

static int pick_from_list(struct picks *p)
{
	struct cli *c = p->s->c;
	char *there = p->dir ? state_there(&p->s->state, p->dir) : NULL;
	uint64_t refused = 0;
	int rc = p->dir && !there ? GROVE_ENOMEM : 0;

	p->elsewhere = 0;
	if (!rc)
		rc = remote_list(&p->s->remote, there, pick_there, p, &refused);
	free(there);
	if (!rc && p->s->remote.partial) {
		p->unread++;
		cli_warn(c, "%s: a store of the server does not answer, so its sessions are left out", c->command);
	}
	if (!rc && refused)
		cli_warn(c, "%s: the server lists %llu session%s without a valid id", c->command, (unsigned long long)refused,
			 refused == 1 ? "" : "s");
	if (!rc && p->elsewhere)
		cli_warn(c, "%s: the server lists %llu session%s of other directories, which %s left out", c->command,
			 (unsigned long long)p->elsewhere, p->elsewhere == 1 ? "" : "s", p->elsewhere == 1 ? "is" : "are");
	return rc;
}

static int pick_all(struct picks *p)
{
	int rc = 0;

	clear_set(&p->todo);
	clear_set(&p->here);
	for (int i = 0; i < p->nr_names && !rc; i++)
		rc = pick_named(p, p->names[i]);
	if (rc || p->nr_names)
		return rc;
	rc = list_here(p);
	if (rc) {
		p->s->c->status = cli_fail_grove(p->s->c, rc);
		return rc == GROVE_ECANCELLED ? rc : 1;
	}
	if (p->s->ways & WAY_PUSH)
		rc = pick_here(p);
	return rc || !(p->s->ways & WAY_PULL) ? rc : pick_from_list(p);
}

int mirror_wants(void *payload, const char *id, const char *cwd)
{
	struct picks *p = payload;

	return p->everywhere || find_pick(&p->todo, id) || (p->dir && cwd && !strcmp(p->dir, cwd));
}

static int go_on(void *payload, uint64_t done, uint64_t total)
{
	(void)payload;
	(void)done;
	(void)total;
	return stopped;
}

/* Handles all of them, one after the other. */
static int run_all(void *payload)
{
	struct picks *p = payload;
	struct cli *c = p->s->c;
	int rc;

	cli_working(c, c->command);
	grove_set_progress(c->g, (struct grove_progress){ go_on, NULL });
	rc = pick_all(p);
	for (size_t i = 0; i < p->todo.nr && !rc && !stopped; i++) {
		const struct pick *k = &p->todo.at[i];

		progress_at(&c->progress, i, p->todo.nr);
		rc = sync_session(p->s, k->what, k->id, k->key, k->named);
	}
	cli_progress_end(c);
	return stopped && !rc ? GROVE_ECANCELLED : rc;
}

/* ------------------------------------------------------------------ options */

struct words {
	struct opt_list maps;
	const char *token_file, *remote_store;
	int all;
};

/* FROM is where sessions come from: this machine or, for a pull, the server. */
static int take_maps(struct sync *s, const struct words *w)
{
	char why[300];

	for (size_t i = 0; i < w->maps.nr; i++) {
		const char *m = w->maps.item[i], *eq = strchr(m, '=');
		char from[4096];

		if (*m != '/' || !eq || eq[1] != '/' || strlen(m) >= sizeof(from) || strpbrk(m, "\t\n")) {
			s->c->status = cli_usage(s->c, "--map %.100s: must be two absolute paths, FROM=TO", m);
			return -1;
		}
		snprintf(from, sizeof(from), "%.*s", (int)(eq - m), m);
		if (s->ways == WAY_PULL ? state_map(&s->state, eq + 1, from) : state_map(&s->state, from, eq + 1)) {
			s->c->status = cli_error(s->c, GROVE_ENOMEM, "out of memory");
			return -1;
		}
	}
	if (w->maps.nr && !s->dry && state_save(&s->state, s->url, why, sizeof(why)))
		cli_warn(s->c, "%s", why);
	return 0;
}

static int read_token(struct sync *s, const char *file, char *out, size_t size)
{
	const char *env = getenv("GROVE_TOKEN");
	FILE *f;
	size_t n;

	*out = '\0';
	if (!file) {
		if (env && strlen(env) < size)
			snprintf(out, size, "%s", env);
		return 0;
	}
	f = fopen(file, "re");
	if (!f || !fgets(out, (int)size, f)) {
		s->c->status = cli_error(s->c, GROVE_EIO, "--token-file %.200s: %s", file, f ? "there is no token in it" : strerror(errno));
		if (f)
			fclose(f);
		return -1;
	}
	fclose(f);
	n = strcspn(out, "\r\n \t");
	out[n] = '\0';
	return 0;
}

static int is_database(const char *store)
{
	return !strncmp(store, "sqlite:", 7) || !strncmp(store, "mysql:", 6) || !strncmp(store, "memory:", 7);
}

/* The remembered state depends on the stores in use. */
static int open_grove(struct picks *p)
{
	struct cli *c = p->s->c;
	struct grove_buf *scope = &p->s->state.scope;
	const char *env = getenv("GROVE_STORE");
	int rc = cli_start(c);

	/* pull and mirror may create one */
	if (!rc && !strcmp(c->command, "push"))
		rc = cli_stores(c);
	if (rc)
		return rc;
	for (size_t i = 0; i < c->stores.nr && !rc; i++)
		rc = grove_buf_add(scope, grove_str(c->stores.item[i])) || grove_buf_add(scope, grove_str("\n"));
	if (!rc && !c->stores.nr && env)
		rc = grove_buf_add(scope, grove_str(env));
	p->s->files_here = !(c->stores.nr ? is_database(c->stores.item[0]) : env && is_database(env));
	return rc;
}

static int set_up(struct picks *p, const struct words *w)
{
	struct sync *s = p->s;
	char token[600], why[500];

	if (state_open(&s->state, s->url, why, sizeof(why))) {
		s->c->status = cli_error(s->c, GROVE_EIO, "%s", why);
		return -1;
	}
	if (take_maps(s, w) || read_token(s, w->token_file, token, sizeof(token)))
		return -1;
	s->remote.store = w->remote_store;
	if (http_open(s->url, *token ? token : NULL, sync_stopped, &s->remote.http, why, sizeof(why))) {
		s->c->status = cli_usage(s->c, "%s", why);
		return -1;
	}
	p->dir = p->everywhere || p->nr_names ? NULL : getcwd(NULL, 0);
	if (!p->everywhere && !p->nr_names && !p->dir) {
		s->c->status = cli_error(s->c, GROVE_EIO, "the current directory cannot be determined: %s", strerror(errno));
		return -1;
	}
	s->dir = p->dir;
	return open_grove(p);
}

static int finish(struct picks *p, int rc)
{
	struct sync *s = p->s;
	struct cli *c = s->c;

	if (rc > 0)
		return c->status;
	if (rc == GROVE_ECANCELLED && stopped && !(c->command[0] == 'm')) {
		cli_warn(c, "%s: interrupted; what was transferred stays, and the next run continues from there", c->command);
		return EXIT_FAILED;
	}
	if (rc && rc != GROVE_ECANCELLED)
		return cli_error(c, rc, "%s: %s", c->command, *s->remote.why ? s->remote.why : grove_strerror(rc));
	report_totals(s);
	if (!c->json && !p->everywhere && !p->nr_names &&
	    !(s->totals.pushed + s->totals.pulled + s->totals.unchanged + s->totals.failed))
		cli_warn(c, "%s: there are no sessions of this directory (use --all for those of every directory)", c->command);
	return s->totals.failed || p->unread || c->warned ? EXIT_FAILED : EXIT_DONE;
}

static int run(struct sync *s, int argc, char **argv)
{
	struct cli *c = s->c;
	struct words w = { .all = 0 };
	struct picks p = { .s = s };
	const struct opt opts[] = {
		{ "all", .flag = &w.all },
		{ "map", .list = &w.maps },
		{ "dry-run", .flag = &s->dry },
		{ "token-file", .string = &w.token_file },
		{ "remote-store", .string = &w.remote_store },
		{ "hydrate", .flag = &s->hydrate },
		{ "again", .flag = &s->again },
		{ NULL },
	};
	int rc;

	if (cli_parse(c, opts, "URL [SESSION...]", &argc, argv))
		return c->status;
	s->url = argv[0];
	p.names = argv + 1;
	p.nr_names = argc - 1;
	p.everywhere = w.all;
	if (w.all && p.nr_names)
		return cli_usage(c, "--all and SESSION cannot be used together");
	if (s->hydrate && s->ways != WAY_PULL)
		return cli_usage(c, "--hydrate can only be used with pull");
	if (w.remote_store && !(s->ways & WAY_PUSH))
		return cli_usage(c, "--remote-store can only be used with push and mirror");
	rc = set_up(&p, &w);
	if (!rc)
		rc = c->command[0] == 'm' ? mirror_run(s, run_all, &p) : run_all(&p);
	else
		rc = 1;
	rc = finish(&p, rc);
	clear_set(&p.todo);
	clear_set(&p.here);
	free(p.dir);
	opt_list_release(&w.maps);
	return rc;
}

static unsigned ways_of(const char *command)
{
	return !strcmp(command, "push") ? WAY_PUSH : !strcmp(command, "pull") ? WAY_PULL : WAY_PUSH | WAY_PULL;
}

int main(int argc, char **argv)
{
	struct cli c;
	struct sync s;
	int status;

	args_hide(argc, argv);
	memset(&s, 0, sizeof(s));
	cli_init(&c);
	out_init(&s.list, -1);
	if (argc < 2)
		return EXIT_USAGE;
	catch_stop();
	s.c = &c;
	c.command = argv[1];
	s.ways = ways_of(c.command);
	for (int i = 2; i < argc; i++)
		c.wants_json |= !strcmp(argv[i], "--json");
	status = run(&s, argc - 2, argv + 2);
	cli_progress_end(&c);
	http_close(s.remote.http);
	state_close(&s.state);
	out_flush(&c.out);
	if (out_failed(&c.out))
		status = EXIT_FAILED;
	out_flush(&c.err);
	cli_release(&c);
	out_release(&s.list);
	return status;
}
