/*
 * main.c: grove-serve, the program behind `grove serve` and `grove token`.
 *
 * It is a separate program so that its libraries are loaded by nobody else; `grove` passes
 * its arguments on through exec.
 */
#include "auth.h"
#include "events.h"
#include "held.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "opened.h"
#include "peer.h"
#include "recent.h"
#include "workers.h"
#include "tls.h"
#include "tokens.h"
#include "kit/args.h"
#include "kit/indexer.h"
#include "kit/heap.h"
#include "kit/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 2

/* Prints an error as with all commands: --json counts wherever it stands, also behind a mistake. */
static int wants_json;

static void print_json(int code, const char *why)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	doc_error(&d, code, why);
	fputs(d.rc ? "" : d.buf.ptr, stdout);
	doc_release(&d);
}

static int usage(const char *why)
{
	size_t n = strlen(why);

	if (wants_json)
		print_json(GROVE_EINVAL, why);
	else
		fprintf(stderr, "grove: serve: %s%s\n", why, n && why[n - 1] == ')' ? "" : " (see 'grove serve --help')");
	return EXIT_USAGE;
}

static int failure(const char *why)
{
	if (wants_json)
		print_json(GROVE_EIO, why);
	else
		fprintf(stderr, "grove: serve: %s\n", why);
	return EXIT_FAILURE;
}

/* ------------------------------------------------------------------ options */

static int parse(struct settings *s, int *argc, char **argv, char *why, size_t size)
{
	int json = 0, color = 0;
	static const char *const colors[] = { "auto", "always", "never", NULL };
	const struct opt opts[] = {
		{ "listen", .list = &s->listen },
		{ "token-file", .string = &s->token_file },
		{ "public-url", .list = &s->public_urls },
		{ "trusted-proxy", .list = &s->proxies },
		{ "tls-cert", .string = &s->tls_cert },
		{ "tls-key", .string = &s->tls_key },
		{ "read-only", .flag = &s->read_only },
		{ "auth", .flag = &s->auth },
		{ "open", .flag = &s->open },
		{ "at", .string = &s->at },
		{ "quiet", .flag = &s->quiet },
		{ "check-config", .flag = &s->check_config },
		{ "store", .list = &s->stores },
		{ "dialect", .string = &s->dialect },
		{ "no-cache", .flag = &s->no_cache },
		{ "utc", .flag = &s->utc },
		{ "json", .flag = &json },
		{ "color", .choice = &color, .choices = colors },
		{ NULL },
	};
	const struct opt *const tables[] = { opts, NULL };

	if (opt_parse(tables, argc, argv, 0, why, size))
		return -1;
	if (*argc) {
		snprintf(why, size, "unexpected argument '%.64s'", argv[0]);
		return -1;
	}
	if (s->at && (s->at[0] != '/' || strpbrk(s->at, "#\\\"<>") || strlen(s->at) > 900)) {
		snprintf(why, size, "--at must be a page of the viewer, such as /usage");
		return -1;
	}
	return 0;
}

static int good_urls(const struct settings *s, char *why, size_t size)
{
	for (size_t i = 0; i < s->public_urls.nr; i++) {
		const char *u = s->public_urls.item[i];

		if ((strncmp(u, "http://", 7) && strncmp(u, "https://", 8)) || strlen(u) > 255) {
			snprintf(why, size, "--public-url %.64s: an address must begin with http:// or https://", u);
			return -1;
		}
	}
	return 0;
}

static int good_addresses(const struct settings *s, char *why, size_t size)
{
	for (size_t i = 0; i < s->listen.nr; i++)
		if (listen_check(s->listen.item[i], why, size))
			return -1;
	return 0;
}

/* ------------------------------------------------------------------- set up */

static int open_listeners(struct server *s, char *why, size_t size)
{
	unsigned inherited = listen_inherited();
	int rc = 0;

	for (unsigned i = 0; i < inherited && !rc; i++)
		rc = listen_inherit(&s->listener[s->nr_listeners++], 3 + (int)i, s->tls, why, size);
	for (size_t i = 0; !inherited && i < s->set->listen.nr && !rc; i++) {
		if (s->nr_listeners == LISTENERS_MAX) {
			snprintf(why, size, "at most %d addresses", LISTENERS_MAX);
			return -1;
		}
		rc = listen_open(&s->listener[s->nr_listeners++], s->set->listen.item[i], s->tls, why, size);
	}
	return rc;
}

/* Clients on other machines must be able to authenticate. */
static int check_reach(const struct server *s, char *why, size_t size)
{
	for (unsigned i = 0; i < s->nr_listeners; i++)
		if (!s->listener[i].loopback && !auth_tokens(s->auth)) {
			snprintf(why, size, "%s can be reached from other machines, so a token is required (grove token add NAME)",
				 s->listener[i].url);
			return -1;
		}
	return 0;
}

static int check_stores(struct server *s, char *why, size_t size)
{
	struct grove_detail d;
	struct grove *g = NULL;
	int rc = pool_open_grove(s, NULL, &g);

	if (rc) {
		grove_error(g, &d);
		snprintf(why, size, "%.400s", d.message);
		grove_close(g);
		return rc;
	}
	s->g = g;
	return 0;
}

static int open_stores(void *payload, struct grove **out)
{
	return pool_open_grove(payload, NULL, out);
}

static void warn_of_index(void *payload, const struct grove_detail *why)
{
	(void)payload;
	log_detail("warning", why);
}

static int start_indexer(struct server *s)
{
	s->indexer = indexer_new(&(struct indexer_options){ open_stores, warn_of_index, s });
	return s->indexer ? 0 : -1;
}

static int set_up(struct server *s, char *why, size_t size)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	/* more threads than processors, because most wait for a disk or a database */
	unsigned workers = cores < 4 ? 8 : cores > 8 ? 16 : 2 * (unsigned)cores;

	s->tls = s->set->tls_cert != NULL;
	if (s->tls && tls_open(s->set->tls_cert, s->set->tls_key, &s->tls_files, why, size))
		return -1;
	if (auth_new(s, &s->auth, why, size) || check_stores(s, why, size) || open_listeners(s, why, size) ||
	    check_reach(s, why, size))
		return -1;
	if (s->set->check_config)
		return 0;
	snprintf(why, size, "out of memory");
	if (metrics_new(&s->metrics) || peers_new(&s->peers) || helds_new(s, &s->helds) || recent_new(&s->recent) || opened_new(&s->openers) ||
	    pool_new(s, workers, &s->pool) || start_indexer(s) || events_start(s))
		return -1;
	return http_start(s, why, size);
}

/* A store that does not answer keeps a thread waiting for longer than anybody waits for us. */
static void *last_resort(void *arg)
{
	const struct timespec most = { 4, 500000000 };
	struct server *s = arg;

	nanosleep(&most, NULL);
	log_line("warning", "stopped without those requests that a store, or a client, kept waiting");
	for (unsigned i = 0; i < s->nr_listeners; i++)
		listen_close(&s->listener[i]);
	_exit(EXIT_SUCCESS);
}

/*
 * Stops in an order that lets everything finish: accept no new connections; end the event
 * streams; let the pool finish, so that appends are acknowledged; then stop libmicrohttpd,
 * which by now has no suspended connection.
 */
static void tear_down(struct server *s)
{
	struct pool *pool = s->pool;
	pthread_t limit;

	if (pool && !pthread_create(&limit, NULL, last_resort, s))
		pthread_detach(limit);
	atomic_store(&s->stopping, 1);
	viewer_forget();
	events_stop(s);
	if (pool)
		pool_drain(pool);
	indexer_free(s->indexer);
	http_stop(s);
	events_free(s);
	helds_free(s->helds);
	recent_free(s->recent);
	opened_free(s->openers);
	pool_free(pool);
	peers_free(s->peers);
	metrics_free(s->metrics);
	grove_close(s->g);
	auth_free(s->auth);
	tls_close(s->tls_files);
	for (unsigned i = 0; i < s->nr_listeners; i++)
		listen_close(&s->listener[i]);
}

/* ------------------------------------------------------------------ running */

/* Prints what people need first: the address, with a sign-in code if necessary. */
static void announce(struct server *s)
{
	const char *page = s->set->at ? s->set->at : "/";

	for (unsigned i = 0; i < s->nr_listeners; i++) {
		const struct listener *l = &s->listener[i];
		int locked = s->set->auth || !l->loopback;
		char code[40], url[1280];

		snprintf(url, sizeof(url), "%s%s", l->url, l->is_unix ? "" : page);
		if (!l->is_unix && locked && !auth_code(s->auth, code, sizeof(code)))
			snprintf(url, sizeof(url), "%s%s#t=%s", l->url, page, code);
		/* recorded before it is printed: a reader of the address may look for the server at once */
		if (!l->is_unix && !locked)
			viewer_tell(l->url);
		printf("%s\n", url);
		fflush(stdout);
		if (s->set->open && !l->is_unix && !i && viewer_open(url))
			fputs("grove: serve: there is no browser to open; the address is above\n", stderr);
	}
}

static void reload(struct server *s)
{
	char why[512];

	if (auth_reload(s->auth, why, sizeof(why)) || tls_reload(s->tls_files, why, sizeof(why)))
		log_line("error", why);
	else
		log_line("info", "tokens and certificate were read again");
}

static void tidy(struct server *s)
{
	helds_tidy(s->helds);
	recent_tidy(s->recent);
}

static int has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int is_service(void)
{
	const char *pid = getenv("SYSTEMD_EXEC_PID");

	return pid && atol(pid) == (long)getpid();
}

/*
 * SIGHUP has two meanings: the terminal is gone, which ends us, or the files that we read at
 * the start have changed. Without such a file it can only be the first, except for a service,
 * which is told to reload by those who do not know what it has.
 */
static int hung_up(const struct server *s, int had_terminal)
{
	return (had_terminal && !has_terminal()) || (!auth_has_file(s->auth) && !s->tls_files && !is_service());
}

/* Runs until asked to stop. All other threads block signals. */
static void run(struct server *s, const sigset_t *signals, int had_terminal)
{
	const struct timespec second = { 1, 0 };

	for (;;) {
		int sig = sigtimedwait(signals, NULL, &second);

		if (sig == SIGINT || sig == SIGTERM || (sig == SIGHUP && hung_up(s, had_terminal)))
			return;
		if (sig == SIGHUP)
			reload(s);
		else if (sig < 0 && errno == EAGAIN)
			tidy(s);
	}
}

static int serve(struct settings *set)
{
	struct server s = { .set = set };
	sigset_t signals;
	char why[512] = "";
	int rc, had_terminal = has_terminal();

	s.started = wall_ms();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	listen_raise_limits();
	rc = set_up(&s, why, sizeof(why));
	if (!rc && !set->check_config) {
		announce(&s);
		run(&s, &signals, had_terminal);
	}
	tear_down(&s);
	if (!rc && set->check_config)
		puts("the configuration is valid");
	return rc ? failure(why) : EXIT_SUCCESS;
}

static int cmd_serve(int argc, char **argv)
{
	struct settings s = { .check_config = 0 };
	char why[512];
	int status;

	for (int i = 0; i < argc; i++)
		wants_json |= !strcmp(argv[i], "--json");
	/* a bad address in the configuration is not a usage error; it fails when it is opened */
	if (parse(&s, &argc, argv, why, sizeof(why)) || good_addresses(&s, why, sizeof(why)) ||
	    settings_complete(&s, why, sizeof(why)) || good_urls(&s, why, sizeof(why)))
		status = usage(why);
	else
		status = serve(&s);
	settings_release(&s);
	return status;
}

int main(int argc, char **argv)
{
	heap_return_early();
	args_hide(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "serve"))
		return cmd_serve(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "token"))
		return cmd_token(argc - 2, argv + 2);
	fputs("grove-serve: this program is run by 'grove serve' and 'grove token'\n", stderr);
	return EXIT_USAGE;
}
