/*
 * main.c: grove-sync, the program behind `grove push`, `pull` and `mirror`.
 *
 * It is a separate program so that libcurl is loaded by nobody else; `grove` passes its
 * arguments on through exec.
 */
#include "sync.h"

#include "programs/carry.h"

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
	char *id, *what, *key;       /* `what` is NULL if it is not here; `key` is NULL to use the
	                                id */
	int named;
};

struct picks {
	struct sync *s;
	struct pick *at;
	size_t nr, cap;
	int everywhere;              /* in all directories */
	char **names;                /* the names given */
	int nr_names;
	uint64_t unread;             /* what could not be read */
};

static int add_pick(struct picks *p, const char *id, const char *what, const char *key, int named)
{
	struct pick k = { strdup(id), what ? strdup(what) : NULL, key ? strdup(key) : NULL, named };

	if (p->nr == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		struct pick *more = realloc(p->at, cap * sizeof(*more));

		if (!more)
			return GROVE_ENOMEM;
		p->at = more;
		p->cap = cap;
	}
	p->at[p->nr++] = k;
	return k.id && (k.what || !what) && (k.key || !key) ? 0 : GROVE_ENOMEM;
}

static void clear_picks(struct picks *p)
{
	while (p->nr) {
		p->nr--;
		free(p->at[p->nr].id);
		free(p->at[p->nr].what);
		free(p->at[p->nr].key);
	}
}

static struct pick *find_pick(struct picks *p, const char *id)
{
	for (size_t i = 0; i < p->nr; i++)
		if (!strcmp(p->at[i].id, id))
			return &p->at[i];
	return NULL;
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

/* Picks sessions here: all, or those of this directory. */
static int pick_here(struct picks *p, int all)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = all ? GROVE_LIST_ALL : 0u, .skipped = on_skipped,
					.skipped_payload = p };
	struct grove_list *l = NULL;
	int rc = grove_list(p->s->c->g, &o, &l);

	for (size_t i = 0; !rc && i < grove_list_count(l); i++) {
		const struct grove_list_item *it = grove_list_at(l, i);

		if (it->id && *it->id && !find_pick(p, it->id))
			rc = add_pick(p, it->id, what_of(it), NULL, 0);
	}
	grove_list_free(l);
	return rc;
}

static int pick_there(void *payload, const char *id, const char *key, const char *cwd)
{
	struct picks *p = payload;
	struct pick *k = find_pick(p, id);
	struct grove_buf what = GROVE_BUF_INIT;
	int rc = 0;

	(void)cwd;
	if (!k) {
		/* it may be here, in another directory */
		if (grove_resolve(p->s->c->g, id, &what) || grove_buf_add(&what, (struct grove_slice){ "", 1 }))
			rc = add_pick(p, id, NULL, key, 0);
		else
			rc = add_pick(p, id, *what.ptr == '/' ? what.ptr : id, key, 0);
		grove_buf_release(&what);
		return rc;
	}
	if (!k->key && !(k->key = strdup(key)))
		return GROVE_ENOMEM;
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
	int rc = grove_find(c->g, name, 0, &l);

	if (!rc && grove_list_count(l)) {
		const struct grove_list_item *it = grove_list_at(l, 0);

		rc = add_pick(p, it->id, what_of(it), NULL, 1);
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
	rc = remote_list(&p->s->remote, NULL, match_there, &m);
	if (rc)
		return rc;
	if (m.nr == 1)
		return add_pick(p, m.id, NULL, m.key, 1);
	c->status = m.nr ? cli_error(c, GROVE_EAMBIGUOUS, "%.100s matches %u sessions of the server", name, m.nr)
			 : cli_error(c, GROVE_ENOTFOUND, "no session %.100s, here or on the server", name);
	return 1;
}

static int pick_all(struct picks *p)
{
	char *cwd = NULL, *there = NULL;
	int rc = 0;

	clear_picks(p);
	if (p->nr_names) {
		for (int i = 0; i < p->nr_names && !rc; i++)
			rc = pick_named(p, p->names[i]);
		return rc;
	}
	if (p->s->ways & WAY_PUSH)
		rc = pick_here(p, p->everywhere);
	if (rc)
		p->s->c->status = cli_fail_grove(p->s->c, rc);
	if (rc || !(p->s->ways & WAY_PULL))
		return rc ? 1 : 0;
	if (!p->everywhere) {
		cwd = getcwd(NULL, 0);
		there = cwd ? state_there(&p->s->state, cwd) : NULL;
		rc = there ? 0 : GROVE_ENOMEM;
	}
	if (!rc)
		rc = remote_list(&p->s->remote, there, pick_there, p);
	free(cwd);
	free(there);
	return rc;
}

int mirror_wants(void *payload, const char *id, const char *cwd)
{
	struct picks *p = payload;
	char *here;
	int yes;

	if (p->everywhere)
		return 1;
	if (p->nr_names)
		return find_pick(p, id) != NULL;
	here = getcwd(NULL, 0);
	yes = find_pick(p, id) || (here && cwd && !strcmp(here, cwd));
	free(here);
	return yes;
}

/* Handles all of them, one after the other. */
static int run_all(void *payload)
{
	struct picks *p = payload;
	struct cli *c = p->s->c;
	int rc;

	cli_working(c, c->command);
	rc = pick_all(p);
	for (size_t i = 0; i < p->nr && !rc && !stopped; i++) {
		progress_at(&c->progress, i, p->nr);
		rc = sync_session(p->s, p->at[i].what, p->at[i].id, p->at[i].key, p->at[i].named);
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
	clear_picks(&p);
	free(p.at);
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
