/*
 * act.c: opens and changes sessions.
 *
 * The session on the screen is open for reading. To change it, it is opened a second time
 * for writing, as a command would, and closed again, so nothing is locked while somebody
 * looks.
 */
#include "browse.h"

#include <errno.h>
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

/* Reports the error of a handle, or else the library's; `s` may be NULL. */
static void complain(struct browse *b, struct grove_session *s, int err)
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
	act_complain(b, "%s", *why.message ? why.message : grove_strerror(err));
}

/* --------------------------------------------------------------------- list */

int act_list(struct browse *b, unsigned flags)
{
	struct grove_list_options lo = { .size = sizeof(lo), .flags = WORK_LIST_FLAGS | flags };
	struct grove_list *l = NULL;
	int err;

	/* costs may have to be read first, which happens in the background */
	if (!b->list.costs)
		lo.flags &= ~(unsigned)GROVE_LIST_COST;
	err = grove_list(b->c->g, &lo, &l);
	if (err)
		return err;
	b->list.now = browse_now();
	sessions_take(&b->list, l, b->list.costs);
	return 0;
}

void act_need_list(struct browse *b)
{
	if (b->list.l)
		return;
	act_say(b, "reading sessions …");
	draw(b);
	b->message[0] = '\0';
	if (act_list(b, 0))
		complain(b, NULL, 0);
	if (b->has_work) {
		work_list(&b->work);
		work_watch(&b->work);
	}
}

static void list_again(struct browse *b)
{
	if (b->list.l && act_list(b, 0))
		complain(b, NULL, 0);
}

const char *act_key(const struct browse *b)
{
	const struct grove_list_item *s;

	if (b->s)
		return b->key;
	s = sessions_selected(&b->list);
	return s ? sessions_key(s) : NULL;
}

/* ------------------------------------------------------------------ session */

void act_close(struct browse *b)
{
	if (!b->s)
		return;
	if (b->watch)
		grove_watch_remove(b->watch, b);
	outline_release(&b->tree);
	reader_release(&b->talk);
	grove_view_unref(b->v);
	grove_session_close(b->s);
	free(b->key);
	b->s = NULL;
	b->v = NULL;
	b->key = NULL;
	b->hunt = (struct hunt){ .active = 0 };
	b->place = IN_LIST;
}

void act_reader(struct browse *b, uint32_t to, unsigned flags)
{
	int err = reader_take(&b->talk, b->c, b->v, grove_session_cwd(b->s), to, flags);

	if (err)
		act_complain(b, "%s", grove_strerror(err));
}

static int is_merged(const struct browse *b)
{
	return !strcmp(grove_session_dialect(b->s), "claude");
}

void act_filter(struct browse *b, enum shape_filter filter)
{
	int err = outline_take(&b->tree, b->v, filter, is_merged(b));

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
		complain(b, s, err);
		grove_session_close(s);
		free(copy);
		return err;
	}
	act_close(b);
	b->s = s;
	b->v = v;
	b->key = copy;
	b->place = IN_SESSION;
	b->focus = PANE_TREE;
	act_filter(b, SHAPE_DEFAULT);
	act_reader(b, grove_view_leaf(v), 0);
	reader_end(&b->talk, 1, keys_height(b, PANE_TALK));
	warn_damage(b);
	if (b->watch && grove_watch_add(b->watch, b->key, grove_view_rev(v), b))
		act_say(b, "this session cannot be watched: changes will not be seen until it is opened again");
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

/* Switches to a newer view: the selection stays, and a reader at the end stays at the end. */
static void take_view(struct browse *b, struct grove_view *v)
{
	struct grove_view *old = b->v;
	enum shape_filter filter = b->tree.filter;
	int follow = outline_at_leaf(&b->tree), at_end = reader_at_end(&b->talk, keys_height(b, PANE_TALK));
	uint32_t current = reader_entry(&b->talk), to = b->talk.to, row = outline_entry(&b->tree);

	if (to == grove_view_leaf(old))
		to = grove_view_leaf(v);
	/* the numbers of entries change with a rewrite */
	if (grove_view_generation(v) != grove_view_generation(old)) {
		to = grove_view_leaf(v);
		current = same_entry(old, v, current);
		row = same_entry(old, v, row);
		outline_release(&b->tree);
	}
	b->hunt.active = 0;
	b->v = v;
	act_filter(b, filter);
	act_reader(b, to, b->talk.flags);
	if (at_end || current == GROVE_NO_ENTRY)
		reader_end(&b->talk, 1, keys_height(b, PANE_TALK));
	else
		reader_show(&b->talk, current, keys_height(b, PANE_TALK));
	if (follow && b->tree.leaf != GROVE_NO_ENTRY)
		row = b->tree.s.c->index[b->tree.leaf];
	outline_select(&b->tree, row);
	grove_view_unref(old);
}

void act_refresh(struct browse *b)
{
	struct grove_view *v = NULL;
	int err = grove_session_refresh(b->s);

	if (err >= 0)
		err = grove_session_view(b->s, &v);
	if (err) {
		complain(b, b->s, err);
		return;
	}
	if (grove_view_generation(v) == grove_view_generation(b->v) && grove_view_rev(v) == grove_view_rev(b->v)) {
		grove_view_unref(v);
		return;
	}
	take_view(b, v);
}

/* ------------------------------------------------------------------ changes */

static struct grove_session *open_to_write(struct browse *b)
{
	const char *key = act_key(b);
	struct grove_session *s = NULL;
	int err = key ? grove_session_open(b->c->g, key, GROVE_OPEN_WRITE, &s) : GROVE_ENOTFOUND;

	if (!err)
		return s;
	if (key)
		complain(b, s, err);
	grove_session_close(s);
	return NULL;
}

/* Ends a change: closes the session, reports the result, and shows the new state. */
static void written(struct browse *b, struct grove_session *s, int err, const char *words)
{
	if (err < 0)
		complain(b, s, err);
	else
		act_say(b, "%s", words);
	grove_session_close(s);
	if (b->s)
		act_refresh(b);
	list_again(b);
}

/* Returns the id of the selected entry; NULL, after a message, if there is none. */
static const char *selected_id(struct browse *b)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t entry = b->focus == PANE_TALK ? reader_entry(&b->talk) : outline_entry(&b->tree);

	if (entry == GROVE_NO_ENTRY || grove_view_entry(b->v, entry, &e) || !e.id) {
		act_say(b, "there is no entry");
		return NULL;
	}
	return e.id;
}

void act_label(struct browse *b, const char *text)
{
	const char *id = selected_id(b);
	struct grove_session *s = id ? open_to_write(b) : NULL;

	if (s)
		written(b, s, grove_session_append_label(s, id, text, NULL, NULL), *text ? "labeled" : "the label is gone");
}

void act_name(struct browse *b, const char *name)
{
	struct grove_session *s = open_to_write(b);

	if (s)
		written(b, s, grove_session_set_name(s, name, GROVE_NAME_BY_USER, NULL), "renamed");
}

void act_leaf(struct browse *b)
{
	struct grove_leaf_options lo = { .size = sizeof(lo), .flags = GROVE_LEAF_PERSIST };
	const char *id = selected_id(b);
	struct grove_session *s = id ? open_to_write(b) : NULL;

	if (s)
		written(b, s, grove_session_set_leaf(s, id, &lo, NULL), "the conversation continues from here");
}

void act_fork(struct browse *b)
{
	struct grove_fork_options fo = { .size = sizeof(fo) };
	struct grove_session *s = b->s, *copy = NULL;
	const char *key = act_key(b);
	char *name = NULL;
	int err;

	if (!key || (b->s && !(fo.leaf = selected_id(b))))
		return;
	err = s ? 0 : grove_session_open(b->c->g, key, GROVE_OPEN_READ, &s);
	if (!err)
		err = grove_session_fork(s, &fo, &copy);
	if (err)
		complain(b, s, err);
	else
		name = strdup(grove_session_path(copy) ? grove_session_path(copy) : grove_session_id(copy));
	grove_session_close(copy);
	if (s != b->s)
		grove_session_close(s);
	if (!name)
		return;
	list_again(b);
	sessions_select(&b->list, name);
	if (!act_open(b, name))
		act_say(b, "this is the fork");
	free(name);
}

void act_delete(struct browse *b)
{
	const char *key = act_key(b);
	char *copy = key ? strdup(key) : NULL;
	int err;

	if (!copy)
		return;
	act_close(b);
	act_need_list(b);
	err = grove_remove(b->c->g, copy, 0);
	if (err)
		complain(b, NULL, err);
	else
		act_say(b, "deleted");
	free(copy);
	list_again(b);
}

/* ------------------------------------------------------------------- resume */

/* Waits for the agent as a shell does: the terminal's signals are meant for it. */
static int wait_for(pid_t pid)
{
	struct sigaction ignore, interrupt, stop;
	int status = 0;

	memset(&ignore, 0, sizeof(ignore));
	ignore.sa_handler = SIG_IGN;
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &stop);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &stop, NULL);
	return status;
}

/* Its last output would vanish with the screen. */
static void let_read(void)
{
	static const char words[] = "\ngrove: the agent failed; press Enter\n";
	char c;

	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		return;
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n' && c != '\r')
		;
}

static void run(struct browse *b, const struct grove_command *cmd)
{
	int status = 0;
	pid_t pid;

	screen_leave();
	pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		b->c->err.fd = STDERR_FILENO;
		status = cli_become(b->c, cmd);
		out_flush(&b->c->err);
		_exit(status);
	}
	if (pid > 0)
		status = wait_for(pid);
	if (status)
		let_read();
	screen_return();
	if (pid < 0)
		act_complain(b, "cannot start it: %s", strerror(errno));
}

void act_resume(struct browse *b)
{
	const struct grove_command *cmd;
	struct grove_session *s = b->s;
	const char *key = act_key(b);
	int err;

	if (!key)
		return;
	err = s ? 0 : grove_session_open(b->c->g, key, GROVE_OPEN_READ, &s);
	if (!err)
		err = grove_session_resume(s, &cmd);
	if (err)
		complain(b, s, err);
	else
		run(b, cmd);
	if (s != b->s)
		grove_session_close(s);
	if (err)
		return;
	if (b->s)
		act_refresh(b);
	list_again(b);
}

/* -------------------------------------------------------------------- watch */

static void gone(struct browse *b)
{
	act_close(b);
	act_need_list(b);
	act_complain(b, "the session was deleted");
}

void act_watch(struct browse *b)
{
	enum { HOLD_MS = 500 };
	struct grove_event e = { .size = sizeof(e) };
	int err, changed = 0, deleted = 0;

	while (!(err = grove_watch_next(b->watch, 0, &e))) {
		if (e.kind == GROVE_EVENT_DELETE)
			deleted = 1;
		else
			changed = 1;
	}
	/* no session is watched while the list is shown */
	if (err < 0 && err != GROVE_ENOTFOUND) {
		b->watch_hold = browse_now() + HOLD_MS;
		act_complain(b, "what changed cannot be read: %s", grove_strerror(err));
	}
	if (deleted)
		gone(b);
	else if (changed && b->s)
		act_refresh(b);
}
