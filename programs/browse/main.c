/*
 * main.c: grove-browse, the program behind `grove browse`.
 *
 * It is a separate program so that ncurses is loaded by nobody else; `grove` passes its
 * arguments on through exec.
 */
#include "browse.h"

#include "kit/args.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	ended = sig;
}

int browse_ended(void)
{
	return ended;
}

int64_t browse_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --------------------------------------------------------------------- loop */

static void take_job(struct browse *b, struct work_job *j)
{
	if (j->kind == WORK_LIST) {
		/* it is tried again and again, but once is enough to be told */
		if (j->err && j->err != b->list_err)
			act_list_failed(b, j->g, j->err);
		b->list_err = j->err;
	}
	if (j->kind == WORK_LIST && j->l) {
		b->list.now = browse_now();
		sessions_take(&b->list, j->l, 1);
		j->l = NULL;
	} else if (j->kind == WORK_SEARCH && !j->err) {
		sessions_add_found(&b->list, j->query, &j->found);
	}
	if (j->kind == WORK_SEARCH) {
		b->unsearched = j->why;
		act_unsearched(b);
	}
	if (j->again) {
		j->again = 0;
		if (j->kind == WORK_LIST)
			work_list(&b->work);
		else
			work_search(&b->work, j->next);
	}
}

static void take_work(struct browse *b)
{
	enum { LIST_MS = 1000 };   /* how often it is read at most */
	struct work_job *j;

	while ((j = work_done(&b->work)))
		take_job(b, j);
	/* only now, when what happens from here on wakes us again */
	if (work_list_changed(&b->work) && !b->list_due)
		b->list_due = ticks_now() + LIST_MS;
	act_news(b, work_news(&b->work));
}

/* Returns how long there is nothing to do, in ms; -1 until something happens. */
static int patience(const struct browse *b)
{
	enum { AGES_MS = 30000 };   /* ages are shown in minutes */
	int64_t now = ticks_now(), until = now + AGES_MS;

	if (b->hunt.active || b->waiting)
		return 0;
	if (b->list_due && b->list_due < until)
		until = b->list_due;
	return until > now ? (int)(until - now) : 0;
}

static void take_warnings(struct browse *b)
{
	char text[sizeof(b->message) - 64];
	unsigned nr = warnings_take(&b->warnings, text, sizeof(text));

	if (nr == 1)
		act_complain(b, "%s", text);
	else if (nr)
		act_complain(b, "%s (and %u more; all are printed when you quit)", text, nr - 1);
}

/*
 * Handles all pending keys, then draws once. During a search only a key that stops it is
 * handled; the others wait.
 */
static void take_keys(struct browse *b)
{
	while (!b->quit) {
		int key = b->waiting ? b->waiting : screen_key();

		b->waiting = 0;
		if (key == KEY_NOTHING)
			return;
		if (b->hunt.active && key != KEY_ESCAPE && key != CTRL_KEY('C') && key != KEY_RESIZED) {
			b->waiting = key;
			return;
		}
		keys_take(b, key);
	}
}

static void turn(struct browse *b)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .fd = b->has_work ? b->work.fd[0] : -1, .events = POLLIN } };
	int n = poll(fds, 2, patience(b));

	if (n > 0 && fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		b->quit = 1; /* the terminal is gone */
	take_keys(b);
	if (n > 0 && fds[1].revents)
		take_work(b);
	if (b->list_due && ticks_now() >= b->list_due) {
		b->list_due = 0;
		if (b->has_work)
			work_list(&b->work);
	}
	b->list.now = browse_now();
	if (b->hunt.active)
		hunt_step(b);
	take_warnings(b);
}

/* Drawing may have met it. Returns 1 if there is something to tell. */
static int tell_away(struct browse *b)
{
	if (!b->s || !b->away.is || b->away.told)
		return 0;
	b->away.told = 1;
	act_complain(b, "the entries cannot be read: the store does not answer (^L tries again)");
	return 1;
}

static void loop(struct browse *b)
{
	while (!b->quit && !ended) {
		draw(b);
		if (tell_away(b))
			draw(b);
		turn(b);
	}
}

/* -------------------------------------------------------------------- start */

static int check_terminal(struct cli *c)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return cli_error(c, GROVE_ENOTSUP, "browse: this is not a terminal (use 'grove ls' and 'grove show')");
	if (!term || !*term || !strcmp(term, "dumb"))
		return cli_error(c, GROVE_ENOTSUP, "browse: the terminal '%s' cannot be drawn on (set TERM, or use 'grove ls' and 'grove show')",
				 term ? term : "");
	return 0;
}

static int wants_color(const struct cli *c)
{
	return c->out.color;
}

/*
 * Gets the first list before we own the terminal, with progress and Ctrl-C as in any
 * command. It is what the catalog remembers, to be shown at once; a new one is read in the
 * background.
 */
static int first_list(struct browse *b)
{
	int err;

	cli_progress(b->c, "reading sessions");
	err = act_list(b, GROVE_LIST_REMEMBERED);
	cli_progress_end(b->c);
	cli_let_interrupt();
	grove_set_progress(b->c->g, (struct grove_progress){ NULL, NULL });
	return err;
}

/* Finds the key of the requested session. */
static int resolve(struct browse *b, const char *what, char **key)
{
	struct grove_session *s = cli_open(b->c, what, GROVE_OPEN_READ);
	struct grove_list *l = NULL;

	if (!s)
		return b->c->status;
	/* the id alone may mean several sessions where what was typed means one */
	if (grove_session_path(s))
		*key = strdup(grove_session_path(s));
	else if (!grove_find(b->c->g, what, 0, &l) && grove_list_count(l))
		*key = sessions_key(grove_list_at(l, 0));
	else
		*key = strdup(grove_session_id(s));
	grove_list_free(l);
	grove_session_close(s);
	grove_set_progress(b->c->g, (struct grove_progress){ NULL, NULL });
	return *key ? 0 : cli_fail_grove(b->c, GROVE_ENOMEM);
}

/* A signal that ends us must leave the terminal as it was. */
static void catch_end(int sig)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_end;
	sigaction(sig, &sa, NULL);
}

static int show(struct browse *b, const char *key)
{
	struct cli *c = b->c;
	int err;

	if (screen_start(wants_color(c)))
		return cli_error(c, GROVE_ENOTSUP, "browse: unknown terminal '%s' (set TERM)", getenv("TERM"));
	/* until now they ended us as any command; ncurses would exit as if we had failed */
	catch_end(SIGINT);
	catch_end(SIGQUIT);
	/* nothing else may be printed while we own the terminal */
	out_flush(&c->err);
	c->err.fd = -1;
	if (!key)
		draw(b);
	/* without it nothing is followed, but everything else works */
	b->has_work = !work_open(&b->work, c->g, &b->warnings);
	err = key ? act_open(b, key) : 0;
	if (b->has_work && !key) {
		work_list(&b->work);
		work_watch(&b->work);
	} else if (!key) {
		err = act_list(b, 0);
	}
	take_warnings(b);
	if (!err)
		loop(b);
	act_close(b);
	screen_stop();
	c->err.fd = STDERR_FILENO;
	c->err.len = 0;
	return err ? cli_fail_grove(c, err) : EXIT_DONE;
}

static int run(struct browse *b, int argc, char **argv)
{
	struct cli *c = b->c;
	char *key = NULL;
	int status;

	if (cli_begin(c, NULL, "[SESSION]", &argc, argv))
		return c->status;
	if (c->json)
		return cli_usage(c, "--json is for commands that print (use 'grove ls --json')");
	status = check_terminal(c);
	if (status)
		return status;
	if (cli_stores(c))
		return c->status;
	if (!getcwd(b->here, sizeof(b->here)))
		b->here[0] = '\0';
	if (argc)
		status = resolve(b, argv[0], &key);
	else if ((status = first_list(b)))
		status = cli_fail_grove(c, status);
	if (!status)
		status = show(b, key);
	free(key);
	return status;
}

/* The terminal is as it was. If a signal ended us, whoever sent it is told so. */
static void die_of_it(void)
{
	if (!ended)
		return;
	signal(ended, SIG_DFL);
	raise(ended);
}

int main(int argc, char **argv)
{
	static struct browse b;
	struct cli c;
	int status;

	args_hide(argc, argv);
	cli_init(&c);
	if (argc < 2)
		return EXIT_USAGE;
	catch_end(SIGTERM);
	catch_end(SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	warnings_init(&b.warnings);
	c.on_warning = warnings_add;
	c.on_warning_payload = &b.warnings;
	b.c = &c;
	c.command = argv[1];
	for (int i = 2; i < argc; i++)
		c.wants_json |= !strcmp(argv[i], "--json");
	status = run(&b, argc - 2, argv + 2);
	cli_progress_end(&c);
	warnings_print(&b.warnings, &c);
	out_flush(&c.out);
	out_flush(&c.err);
	/* unfinished work still needs its memory, so it ends with the process */
	if (b.has_work && work_close(&b.work)) {
		die_of_it();
		_exit(status);
	}
	sessions_release(&b.list);
	warnings_release(&b.warnings);
	free(b.picker.entry);
	free(b.asked_key);
	free(b.asked_id);
	cli_release(&c);
	die_of_it();
	return status;
}
