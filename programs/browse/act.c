/*
 * act.c: opens and changes sessions.
 *
 * The session on the screen is open for reading. To change it, it is opened a second time
 * for writing, as a command would, and closed again, so nothing is locked while somebody
 * looks.
 */
#include "browse.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ----------------------------------------------------------------- messages */

void act_say(struct browse *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->message, sizeof(b->message), fmt, ap);
	va_end(ap);
	b->bad = 0;
}

void act_complain(struct browse *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->message, sizeof(b->message), fmt, ap);
	va_end(ap);
	b->bad = 1;
}

/* Reports why something was not done: the error of a session, or else of grove; `s` may be NULL. */
static void complain(struct browse *b, struct grove_session *s, int err, const char *what)
{
	struct grove_detail why;

	if (err == GROVE_ENOTFOUND) {
		act_complain(b, "the session was deleted");
		return;
	}
	memset(&why, 0, sizeof(why));
	if (s)
		grove_session_error(s, &why);
	if (!why.code)
		grove_error(b->c->g, &why);
	act_complain(b, "%s: %s", what, *why.message ? why.message : grove_strerror(err));
}

/* Something that may have to wait for a lock, or takes long, begins: what is done is shown meanwhile. */
static void begin(struct browse *b, const char *doing)
{
	act_say(b, "%s …", doing);
	draw(b);
	b->message[0] = '\0';
}

/* --------------------------------------------------------------------- list */

int act_list(struct browse *b, unsigned flags)
{
	struct grove_list_options lo = { .size = sizeof(lo), .flags = WORK_LIST_FLAGS | flags, .skipped = warnings_add,
					 .skipped_payload = &b->warnings };
	struct grove_list *l = NULL;
	int err;

	/* costs may have to be read first, which happens in the background */
	if (!b->list.costs)
		lo.flags &= ~(unsigned)GROVE_LIST_COST;
	err = grove_list(b->c->g, &lo, &l);
	if (err) {
		grove_list_free(l);
		return err;
	}
	b->list.now = browse_now();
	sessions_take(&b->list, l, b->list.costs);
	return 0;
}

void act_list_failed(struct browse *b, struct grove *g, int err)
{
	struct grove_detail why;

	grove_error(g, &why);
	act_complain(b, "the list cannot be read: %s", why.code && *why.message ? why.message : grove_strerror(err));
}

void act_unsearched(struct browse *b)
{
	const struct grove_detail *why = &b->unsearched;

	if (why->code)
		act_complain(b, "%s%s%s", why->path, *why->path ? ": " : "", why->message);
}

static void list_now(struct browse *b)
{
	int err = act_list(b, 0);

	if (err)
		act_list_failed(b, b->c->g, err);
}

void act_need_list(struct browse *b)
{
	if (b->list.l)
		return;
	begin(b, "reading sessions");
	list_now(b);
	if (b->has_work) {
		work_list(&b->work);
		work_watch(&b->work);
	}
}

static void list_again(struct browse *b)
{
	if (b->list.l)
		list_now(b);
}

char *act_key(const struct browse *b)
{
	const struct grove_list_item *s;

	if (b->s)
		return strdup(b->key);
	s = sessions_selected(&b->list);
	return s ? sessions_key(s) : NULL;
}

/* ------------------------------------------------------------------ session */

void act_close(struct browse *b)
{
	if (!b->s)
		return;
	if (b->has_work)
		work_follow(&b->work, NULL, 0);
	outline_release(&b->tree);
	reader_release(&b->talk);
	grove_view_unref(b->v);
	grove_session_close(b->s);
	free(b->key);
	b->s = NULL;
	b->v = NULL;
	b->key = NULL;
	b->hunt = (struct hunt){ .active = 0 };
	b->prompt.kind = PROMPT_NONE;
	b->place = IN_LIST;
}

void act_reader(struct browse *b, uint32_t to, unsigned flags)
{
	int err;

	b->talk.away = &b->away;
	err = reader_take(&b->talk, b->c, b->v, grove_session_cwd(b->s), to, flags);

	if (err)
		act_complain(b, "%s", grove_strerror(err));
}

static int is_merged(const struct browse *b)
{
	return !strcmp(grove_session_dialect(b->s), "claude");
}

void act_filter(struct browse *b, enum shape_filter filter)
{
	int err;

	b->tree.away = &b->away;
	err = outline_take(&b->tree, b->v, filter, is_merged(b));

	if (err)
		act_complain(b, "%s", grove_strerror(err));
}

static void warn_damage(struct browse *b)
{
	struct grove_counts n = { .size = sizeof(n) };

	if (!grove_view_counts(b->v, &n) && n.malformed)
		act_complain(b, "%llu malformed line%s skipped, the first is line %llu (run 'grove check')",
			     (unsigned long long)n.malformed, n.malformed == 1 ? " was" : "s were",
			     (unsigned long long)n.first_malformed_line + 1);
}

int act_open(struct browse *b, const char *key)
{
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	char *copy = strdup(key);
	int err = copy ? grove_session_open(b->c->g, key, GROVE_OPEN_READ, &s) : GROVE_ENOMEM;

	if (!err)
		err = grove_session_view(s, &v);
	if (err) {
		list_again(b);
		complain(b, s, err, "not opened");
		grove_session_close(s);
		free(copy);
		return err;
	}
	act_close(b);
	b->s = s;
	b->v = v;
	b->away = (struct away){ .is = 0 };
	b->key = copy;
	b->place = IN_SESSION;
	b->focus = PANE_TREE;
	act_filter(b, SHAPE_DEFAULT);
	act_reader(b, grove_view_leaf(v), 0);
	reader_end(&b->talk, 1, keys_height(b, PANE_TALK));
	warn_damage(b);
	if (b->has_work && work_follow(&b->work, b->key, grove_view_rev(v)))
		act_news(b, FOLLOW_FAILED);
	return 0;
}

/* Finds an entry by its id in a log that was rewritten. */
static uint32_t same_entry(struct grove_view *old, struct grove_view *v, uint32_t entry)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t i;

	if (entry == GROVE_NO_ENTRY || grove_view_entry(old, entry, &e) || !e.id || grove_view_find(v, e.id, &i))
		return GROVE_NO_ENTRY;
	return i;
}

/*
 * Switches to a newer view. What was selected stays selected, and what was on the screen
 * stays there, unless it was the end: then what is new is shown.
 */
static void take_view(struct browse *b, struct grove_view *v)
{
	struct grove_view *old = b->v;
	enum shape_filter filter = b->tree.filter;
	size_t height = keys_height(b, PANE_TALK);
	uint32_t to = b->talk.to, row = outline_entry(&b->tree);
	struct reader_spot spot;
	int follow;

	reader_note(&b->talk, &spot, height);
	follow = outline_at_leaf(&b->tree) && (b->focus == PANE_TREE || spot.last);
	if (to == grove_view_leaf(old))
		to = grove_view_leaf(v);
	/* the numbers of entries change with a rewrite */
	if (grove_view_generation(v) != grove_view_generation(old)) {
		to = grove_view_leaf(v);
		spot.top = same_entry(old, v, spot.top);
		spot.marked = same_entry(old, v, spot.marked);
		row = same_entry(old, v, row);
		outline_release(&b->tree);
		if (b->place == IN_PICKER)
			b->place = IN_SESSION;
	}
	b->v = v;
	b->away = (struct away){ .is = 0 };
	act_filter(b, filter);
	act_reader(b, to, b->talk.flags);
	if (follow || spot.last || !reader_restore(&b->talk, &spot, height))
		reader_end(&b->talk, 1, height);
	if (follow && b->tree.leaf != GROVE_NO_ENTRY)
		row = b->tree.s.c->index[b->tree.leaf];
	outline_select(&b->tree, row);
	hunt_restart(b);
	grove_view_unref(old);
}

void act_refresh(struct browse *b)
{
	struct grove_view *v = NULL;
	int err = grove_session_refresh(b->s);

	if (err >= 0)
		err = grove_session_view(b->s, &v);
	if (err) {
		complain(b, b->s, err, "what was written cannot be shown");
		return;
	}
	if (grove_view_generation(v) == grove_view_generation(b->v) && grove_view_rev(v) == grove_view_rev(b->v)) {
		grove_view_unref(v);
		return;
	}
	take_view(b, v);
}

void act_reread(struct browse *b)
{
	if (!b->s || !b->away.is)
		return;
	b->away = (struct away){ .is = 0 };
	outline_reread(&b->tree);
	reader_reread(&b->talk);
}

/* ------------------------------------------------------------------ changes */

/* `done` and `failed` are what is said after a change. */
struct change {
	const char *done, *failed;
};

static struct grove_session *open_to_write(struct browse *b, const char *key, const struct change *c)
{
	struct grove_session *s = NULL;
	int err;

	begin(b, "writing");
	err = grove_session_open(b->c->g, key, GROVE_OPEN_WRITE, &s);
	if (!err)
		return s;
	complain(b, s, err, c->failed);
	grove_session_close(s);
	return NULL;
}

/* Ends a change: closes the session, reports the result, and shows the new state. */
static void written(struct browse *b, struct grove_session *s, int err, const struct change *c)
{
	if (err == GROVE_ENOTFOUND)
		act_complain(b, "%s: the entry is gone", c->failed);
	else if (err < 0)
		complain(b, s, err, c->failed);
	else
		act_say(b, "%s", c->done);
	grove_session_close(s);
	if (b->s)
		act_refresh(b);
	list_again(b);
}

const char *act_entry(struct browse *b)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t entry = b->focus == PANE_TALK ? reader_entry(&b->talk) : outline_entry(&b->tree);

	if (entry == GROVE_NO_ENTRY || grove_view_entry(b->v, entry, &e) || !e.id) {
		act_say(b, "there is no entry");
		return NULL;
	}
	return e.id;
}

void act_label(struct browse *b, const char *key, const char *id, const char *text)
{
	const struct change c = { *text ? "labeled" : "the label is gone", "not labeled" };
	struct grove_session *s = open_to_write(b, key, &c);

	if (s)
		written(b, s, grove_session_append_label(s, id, text, NULL, NULL), &c);
}

void act_name(struct browse *b, const char *key, const char *name)
{
	const struct change c = { "renamed", "not renamed" };
	struct grove_session *s;

	/* the library would remove it where the agent can; here, as for the command, it is a mistake */
	if (!name[strspn(name, " ")]) {
		act_complain(b, "%s: the name is empty", c.failed);
		return;
	}
	s = open_to_write(b, key, &c);
	if (s)
		written(b, s, grove_session_set_name(s, name, GROVE_NAME_BY_USER, NULL), &c);
}

void act_leaf(struct browse *b)
{
	const struct change c = { "the conversation continues from here", "not switched" };
	struct grove_leaf_options lo = { .size = sizeof(lo), .flags = GROVE_LEAF_PERSIST };
	const char *id = act_entry(b);
	struct grove_session *s = id ? open_to_write(b, b->key, &c) : NULL;

	if (s)
		written(b, s, grove_session_set_leaf(s, id, &lo, NULL), &c);
}

/*
 * Returns the open session, or the selected one, opened; NULL if there is none, or, after a
 * message, if that fails. end_reading() closes it.
 */
static struct grove_session *begin_reading(struct browse *b, const char *failed)
{
	char *key = b->s ? NULL : act_key(b);
	struct grove_session *s = b->s;
	int err;

	if (!key)
		return s;
	err = grove_session_open(b->c->g, key, GROVE_OPEN_READ, &s);
	free(key);
	if (!err)
		return s;
	complain(b, s, err, failed);
	grove_session_close(s);
	return NULL;
}

static void end_reading(struct browse *b, struct grove_session *s)
{
	if (s != b->s)
		grove_session_close(s);
}

void act_fork(struct browse *b)
{
	static const char failed[] = "not forked";
	struct grove_fork_options fo = { .size = sizeof(fo) };
	struct grove_session *s, *copy = NULL;
	char *name = NULL;
	int err;

	if (b->s && !(fo.leaf = act_entry(b)))
		return;
	s = begin_reading(b, failed);
	if (!s)
		return;
	begin(b, "forking");
	err = grove_session_fork(s, &fo, &copy);
	if (err)
		complain(b, s, err, failed);
	else
		name = strdup(grove_session_path(copy) ? grove_session_path(copy) : grove_session_id(copy));
	grove_session_close(copy);
	end_reading(b, s);
	if (!name)
		return;
	list_again(b);
	sessions_select(&b->list, name);
	if (!act_open(b, name))
		act_say(b, "this is the fork");
	free(name);
}

void act_delete(struct browse *b, const char *key)
{
	int err;

	begin(b, "deleting");
	err = grove_remove(b->c->g, key, 0);
	if (err && err != GROVE_ENOTFOUND) {
		complain(b, NULL, err, "not deleted");
		return;
	}
	act_close(b);
	act_need_list(b);
	if (err)
		complain(b, NULL, err, "not deleted");
	else
		act_say(b, "deleted");
	list_again(b);
}

/* ------------------------------------------------------------------- resume */

/* Sets what a signal does, and returns what it did. */
static struct sigaction set_signal(int sig, void (*handler)(int))
{
	struct sigaction sa, before;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = handler;
	sigaction(sig, &sa, &before);
	return before;
}

/* Waits for the agent as a shell does: the terminal's signals are meant for it. */
static int wait_for(pid_t pid)
{
	struct sigaction interrupt = set_signal(SIGINT, SIG_IGN), stop = set_signal(SIGQUIT, SIG_IGN);
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &stop, NULL);
	return status;
}

/*
 * Takes back what an agent that was killed has not put right: its own process group in the
 * foreground, where we would be stopped as soon as we read a key, and a terminal from which
 * reading does not wait.
 */
static void take_back(pid_t pid)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);
	int flags = fcntl(STDIN_FILENO, F_GETFL);

	/* a group that is alive is in the foreground because the shell wants it to be */
	if (group == pid || (group > 0 && group != getpgrp() && kill(-group, 0) && errno == ESRCH)) {
		struct sigaction output = set_signal(SIGTTOU, SIG_IGN);

		tcsetpgrp(STDIN_FILENO, getpgrp());
		sigaction(SIGTTOU, &output, NULL);
	}
	if (flags >= 0 && flags & O_NONBLOCK)
		fcntl(STDIN_FILENO, F_SETFL, flags & ~O_NONBLOCK);
}

/* Its last output would vanish with the screen. */
static void let_read(void)
{
	static const char words[] = "\ngrove: that failed; press Enter to come back\n";
	char c = '\0';
	ssize_t n;

	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		return;
	/* a signal that does not end us, as when the size changes, does not end this */
	do
		n = read(STDIN_FILENO, &c, 1);
	while ((n == 1 && c != '\n' && c != '\r') || (n < 0 && errno == EINTR && !browse_ended()));
}

static void run(struct browse *b, const struct grove_command *cmd)
{
	int status = 0, why;
	struct sigaction suspend;
	pid_t pid;

	screen_leave();
	/* when the agent is suspended, so are we, without ncurses, which would draw over it when both go on */
	suspend = set_signal(SIGTSTP, SIG_DFL);
	pid = fork();
	why = errno;
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		b->c->err.fd = STDERR_FILENO;
		status = cli_become(b->c, cmd);
		out_flush(&b->c->err);
		_exit(status);
	}
	if (pid > 0) {
		status = wait_for(pid);
		take_back(pid);
	}
	if (status)
		let_read();
	sigaction(SIGTSTP, &suspend, NULL);
	screen_return();
	if (pid < 0)
		act_complain(b, "not resumed: %s", strerror(why));
}

void act_resume(struct browse *b)
{
	static const char failed[] = "not resumed";
	const struct grove_command *cmd;
	struct grove_session *s = begin_reading(b, failed);
	int err;

	if (!s)
		return;
	err = grove_session_resume(s, &cmd);
	if (err)
		complain(b, s, err, failed);
	else
		run(b, cmd);
	end_reading(b, s);
	if (err)
		return;
	if (b->s)
		act_refresh(b);
	list_again(b);
}

/* -------------------------------------------------------------------- watch */

/* A line that is being typed stays, so that the rest of it is not taken for keys of the list. */
static void gone(struct browse *b)
{
	struct prompt typed = b->prompt;

	act_close(b);
	act_need_list(b);
	if (typed.kind != PROMPT_DELETE)
		b->prompt = typed;
	act_complain(b, "the session was deleted");
}

void act_news(struct browse *b, unsigned news)
{
	if (news & FOLLOW_FAILED)
		act_say(b, "this session cannot be watched: changes will not be seen until it is opened again");
	if (news & FOLLOW_DELETED)
		gone(b);
	else if (news & FOLLOW_CHANGED)
		act_refresh(b);
}
