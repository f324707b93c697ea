/*
 * cmd_watch.c: prints a line for each event in sessions.
 *
 * A single session is watched from now on, or from a given rev, which is its cursor. To
 * watch all sessions we watch the list, and add a session to the set when the list reports
 * a change for the first time: from the rev that it had before. Of a new session, which may
 * be a copy of an old one, the entries that are older than the watch are not reported.
 *
 * The cursor of all sessions is text: the time in ms from which on changes are reported,
 * then ~REV~KEY for each session of the set, with unusual bytes of the key written as %XX.
 * REV is 0 for a session of which nothing was reported yet, except that it is new. The time
 * is not that of the event: a session that has changed since then and is not in the cursor
 * was not reported yet, even if it changed before the event. It begins as the time of the
 * first watch. Whenever everything was reported it moves on, to an hour ago, and sessions
 * that have been quiet for longer leave the cursor, which would otherwise only grow: it has
 * to fit into an argument. The hour is for entries that are written long after their time:
 * replies that took long. If more sessions than fit had events in that hour, it is shorter.
 */
#include "kit/brief.h"
#include "commands.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOUR_MS (INT64_C(3600) * 1000)
/* The maximum number of sessions in a cursor. */
#define MOST 400

struct watched {
	struct watched *next, **prev;  /* those that had events later come first */
	char *key;
	uint64_t rev;          /* of the last event reported */
	uint64_t lines;        /* what comes before this line is not reported; 0: everything is */
	uint64_t generation;   /* the generation for which that is true */
	int64_t told;          /* ms: when an event was last reported */
	int gone, unlisted;    /* it was deleted: reported by the session; by the list */
	char *left;            /* where it was before it moved, until the list reports that */
	char prompt[64];       /* the beginning of the first prompt, used if there is no name */
};

struct watching {
	struct cli *c;
	struct grove_watch *set;
	int all;
	int64_t since;         /* ms: see above */
	struct watched *first;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ the set */

/*
 * Returns true if both name the same session. In a database the key is an id, perhaps with
 * ~STORE.
 */
static int same_key(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b || (!*a && *b == '~') || (!*b && *a == '~');
}

static struct watched *find(struct watching *w, const char *key)
{
	struct watched *x = key ? w->first : NULL;

	while (x && !same_key(x->key, key))
		x = x->next;
	return x;
}

static void set_key(struct watched *x, const char *key)
{
	size_t n = strlen(key) + 1;

	if (x->key && !strcmp(x->key, key))
		return;
	x->key = cli_realloc(x->key, n, 1);
	memcpy(x->key, key, n);
}

static void put_first(struct watching *w, struct watched *x)
{
	x->told = now_ms();
	x->next = w->first;
	x->prev = &w->first;
	if (x->next)
		x->next->prev = &x->next;
	w->first = x;
}

static void take_out(struct watched *x)
{
	*x->prev = x->next;
	if (x->next)
		x->next->prev = x->prev;
}

/* Watches the session `key`. Returns NULL and sets *err if that fails. */
static struct watched *add(struct watching *w, const char *key, uint64_t since, int *err)
{
	struct watched *x = cli_realloc(NULL, 1, sizeof(*x));

	*x = (struct watched){ .rev = since == GROVE_REV_NOW ? 0 : since };
	*err = grove_watch_add(w->set, key, since, x);
	if (*err) {
		free(x);
		return NULL;
	}
	set_key(x, key);
	put_first(w, x);
	return x;
}

static void forget(struct watched *x)
{
	take_out(x);
	free(x->key);
	free(x->left);
	free(x);
}

/* The set follows a session that moves. Returns true if one with this id is now at `key`. */
static int take_moved(struct watching *w, const char *id, const char *key)
{
	for (struct watched *x = id ? w->first : NULL; x; x = x->next) {
		/* the name of a file contains the id */
		if (*x->key != '/' || !strstr(x->key, id) || !access(x->key, F_OK))
			continue;
		free(x->left);
		x->left = x->unlisted ? NULL : x->key;
		x->key = NULL;
		x->unlisted = 0;
		set_key(x, key);
		return 1;
	}
	return 0;
}

/* Returns true if a session has moved from there. */
static int has_left(struct watching *w, const char *key)
{
	for (struct watched *x = w->first; x; x = x->next)
		if (x->left && !strcmp(x->left, key)) {
			free(x->left);
			x->left = NULL;
			return 1;
		}
	return 0;
}

/* --------------------------------------------------------------- the cursor */

/* Nothing is waiting to be reported. */
static void settle(struct watching *w)
{
	int64_t now = now_ms(), since = now - HOUR_MS;
	const struct watched *x = w->first;

	for (int i = 0; i < MOST && x; i++)
		x = x->next;
	if (x && x->told >= since)
		since = x->told < now - 1000 ? x->told + 1 : now - 1000;
	if (since > w->since)
		w->since = since;
}

static void add_cursor(struct grove_buf *b, const struct watching *w, uint64_t rev)
{
	static const char hex[] = "0123456789ABCDEF";
	const struct watched *x = w->all ? w->first : NULL;
	char word[48];

	snprintf(word, sizeof(word), "%llu", w->all ? (unsigned long long)w->since : (unsigned long long)rev);
	cli_add(b, word, strlen(word));
	for (int i = 0; i < MOST && x && x->told >= w->since; i++, x = x->next) {
		if (x->gone)
			continue;
		snprintf(word, sizeof(word), "~%llu~", (unsigned long long)x->rev);
		cli_add(b, word, strlen(word));
		for (const char *p = x->key; *p; p++) {
			unsigned char c = (unsigned char)*p;

			if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			    strchr("-._/:@", c))
				cli_add(b, p, 1);
			else
				cli_add(b, (const char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
		}
	}
}

/* Parses a number at *p, which ends at `end` or at the end of the text. */
static int take_number(const char **p, char end, uint64_t *out)
{
	char *after;

	if (**p < '0' || **p > '9')
		return 0;
	errno = 0;
	*out = strtoull(*p, &after, 10);
	if ((*after && *after != end) || errno || *out > INT64_MAX)
		return 0;
	*p = after;
	return 1;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the key at *p, up to the next ~. */
static int take_key(const char **p, struct grove_buf *key)
{
	key->len = 0;
	for (; **p && **p != '~'; ++*p) {
		int high, low;
		char c = **p;

		if (c == '%') {
			high = hex_digit((*p)[1]);
			low = high < 0 ? -1 : hex_digit((*p)[2]);
			if (low < 0 || !(high | low))
				return 0;
			c = (char)(high << 4 | low);
			*p += 2;
		}
		cli_add(key, &c, 1);
	}
	cli_add(key, "", 1);
	return key->len > 1;
}

/* -------------------------------------------------------------- for scripts */

struct news {
	const char *kind, *session;
	const struct grove_event *event;   /* NULL for a session that was found otherwise */
	struct watched *about;             /* NULL if it is not in the set */
	struct grove_view *view;           /* NULL if there is none */
	const struct grove_entry *entry;   /* NULL if it is not about an entry */
	uint64_t rev;
};

static int print_json(struct watching *w, const struct news *n)
{
	struct out *o = &w->c->out;
	struct grove_buf b = GROVE_BUF_INIT;
	int err = 0;

	add_cursor(&b, w, n->rev);
	cli_add(&b, "", 1);
	out_puts(o, "{\"cursor\":");
	out_json_string(o, b.ptr);
	out_printf(o, ",\"kind\":\"%s\",\"sessionId\":", n->kind);
	out_json_string(o, n->session);
	out_json_member(o, "entryId", n->entry ? n->entry->id : n->event ? n->event->entry_id : NULL);
	if (n->rev)
		out_json_count(o, "rev", n->rev);
	if (n->entry) {
		out_json_count(o, "seq", n->entry->line);
		b.len = 0;
		err = grove_view_line(n->view, n->entry->index, 0, &b);
		if (!err) {
			out_puts(o, ",\"entry\":");
			out_json(o, (struct grove_slice){ b.ptr, b.len });
		}
	}
	if (n->event && n->event->kind == GROVE_EVENT_RENAME && n->view)
		out_json_member(o, "name", grove_view_name(n->view));
	out_puts(o, "}\n");
	grove_buf_release(&b);
	/* changed again in the meantime; the next event will report it */
	return err == GROVE_ESTALE ? 0 : err;
}

/* --------------------------------------------------------------- for people */

static const char *first_prompt(const struct news *n)
{
	enum { LOOK = 50 };
	struct grove_entry e = { .size = sizeof(e) };
	struct brief b;

	for (uint32_t i = 0; n->view && !*n->about->prompt && i < LOOK && !grove_view_entry(n->view, i, &e); i++)
		if (e.kind == GROVE_KIND_MESSAGE && e.role == GROVE_ROLE_USER && !brief_read(&b, n->view, i))
			snprintf(n->about->prompt, sizeof(n->about->prompt), "%.*s", (int)b.text.len, b.text.ptr);
	return *n->about->prompt ? n->about->prompt : NULL;
}

/* Below this width, lines have no time, and narrow columns: even 40 leave some for the text. */
enum { NARROW = 64 };

/* Prints the time and, with several sessions, which one it is. Returns the columns used. */
static unsigned print_head(struct watching *w, const struct news *n)
{
	struct out *o = &w->c->out;
	int narrow = o->width < NARROW;
	unsigned name_width = narrow ? 7 : 20, used = narrow ? 0 : 10;
	const char *name = n->view ? grove_view_name(n->view) : NULL;
	int64_t time = n->entry && n->entry->time != GROVE_NO_TIME ? n->entry->time : now_ms();
	char when[32];

	if (!narrow) {
		cli_time(when, sizeof(when), time, 1);
		out_style(o, OUT_DIM);
		out_puts(o, strlen(when) > 11 ? when + 11 : when);
		out_style(o, OUT_PLAIN);
		out_puts(o, "  ");
	}
	if (!w->all)
		return used;
	if (!name && n->about)
		name = first_prompt(n);
	out_style(o, OUT_BOLD);
	out_column(o, out_str(name ? name : n->session), name_width);
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	return used + name_width + 2;
}

/* The beginning of a UUID finds its entry, so there is no need to say that it was cut. */
static struct grove_slice id_text(const char *id, size_t most)
{
	struct grove_slice text = out_str(id ? id : "-");
	size_t n = 0;

	while (n < most && n < text.len && (unsigned char)text.ptr[n] < 0x80)
		n++;
	if (n == most)
		text.len = n;
	return text;
}

static int print_entry(struct watching *w, const struct news *n, unsigned used)
{
	enum { ID = 8 };
	struct out *o = &w->c->out;
	unsigned word = o->width < NARROW ? 10 : 14;
	struct brief b;
	int err = brief_read(&b, n->view, n->entry->index);

	used += ID + 2 + word + 1;
	out_style(o, OUT_YELLOW);
	out_column(o, id_text(n->entry->id, ID), ID);
	out_puts(o, "  ");
	out_style(o, brief_style(n->entry));
	out_column(o, out_str(brief_word(n->entry)), word);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	if (!err)
		brief_print(o, &b, o->width > used + 10 ? o->width - used : 10);
	return err == GROVE_ESTALE ? 0 : err;
}

static void print_words(struct watching *w, const struct news *n, unsigned used)
{
	static const struct {
		const char *kind, *words;
	} known[] = {
		{ "update", "changed" },   { "reset", "rewritten" },  { "delete", "deleted" },
		{ "create", "a new session" }, { "remove", "deleted" },
	};
	struct out *o = &w->c->out;
	const char *id = n->event ? n->event->entry_id : NULL, *name;
	unsigned left = o->width > used + 20 ? o->width - used : 20;

	if (!strcmp(n->kind, "leaf")) {
		out_puts(o, "leaf: ");
		out_fit(o, out_str(id ? id : "before the first entry"), left - 6);
		return;
	}
	if (!strcmp(n->kind, "rename")) {
		name = n->view ? grove_view_name(n->view) : NULL;
		out_puts(o, name ? "renamed: " : "has no name any more");
		out_fit(o, out_str(name), left - 9);
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].kind, n->kind))
			out_puts(o, known[i].words);
}

static int tell(struct watching *w, const struct news *n)
{
	struct out *o = &w->c->out;
	unsigned used;
	int err = 0;

	if (w->c->json) {
		err = print_json(w, n);
	} else {
		used = print_head(w, n);
		if (n->entry)
			err = print_entry(w, n, used);
		else
			print_words(w, n, used);
		out_end_line(o);
	}
	out_flush(o);
	return err;
}

/* --------------------------------------------------------- sessions to watch */

/* What a session has when it is met. */
struct met {
	uint64_t rev, lines, generation;
	uint64_t first;        /* the line of the first entry to report */
};

/* Reads it. All entries from the first one on that is not older than the watch are new. */
static int read_met(struct watching *w, const char *key, struct met *m)
{
	struct grove_counts counts = { .size = sizeof(counts) };
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	uint32_t i = 0;
	int err = grove_session_open(w->c->g, key, GROVE_OPEN_READ, &s);

	if (!err)
		err = grove_session_view(s, &v);
	if (!err)
		err = grove_view_counts(v, &counts);
	if (!err) {
		while (!grove_view_entry(v, i, &e) && (e.time == GROVE_NO_TIME || e.time < w->since))
			i++;
		*m = (struct met){ grove_view_rev(v), counts.lines, grove_view_generation(v), counts.lines };
		if (!grove_view_entry(v, i, &e))
			m->first = e.line;
	}
	grove_view_unref(v);
	grove_session_close(s);
	return err;
}

/*
 * Watches a session of which nothing was reported yet. Of a file, whose base does not
 * change, all revs are known; the record of a database is followed from its beginning.
 */
static int meet(struct watching *w, const char *key, const char *id, int created)
{
	struct news n = { .kind = "create", .session = id };
	uint64_t since;
	struct met m;
	int err = read_met(w, key, &m);

	if (err)
		return err;
	since = m.first == m.lines ? m.rev : *key == '/' ? m.rev - m.lines + m.first : 0;
	n.about = add(w, key, since, &err);
	if (!n.about)
		return err;
	if (m.first < m.lines) {
		n.about->lines = m.first;
		n.about->generation = m.generation;
		n.about->rev = 0;
	}
	return created ? tell(w, &n) : 0;
}

/* Watches a session from the rev it had before the change that the list has just reported. */
static int meet_changed(struct watching *w, const char *key)
{
	uint64_t rev;
	int err = grove_watch_before(w->set, &rev);

	if (!err)
		add(w, key, rev, &err);
	return err;
}

/* One that is gone, or is being rewritten, will be reported again. */
static int unless_unreadable(int err)
{
	return err == GROVE_ENOTFOUND || err == GROVE_EDAMAGED ? 0 : err;
}

/* Returns the id of a session: a part of its file's name, or of its key in a database. */
static struct grove_slice id_in(const char *key)
{
	const char *name = strrchr(key, '/'), *end, *under;

	if (!name)
		return (struct grove_slice){ key, strcspn(key, "~") };
	name++;
	under = strrchr(name, '_');
	name = under ? under + 1 : name;
	end = strrchr(name, '.');
	return (struct grove_slice){ name, end ? (size_t)(end - name) : strlen(name) };
}

/* Watches the session with this id, wherever it is now. */
static int add_by_id(struct watching *w, const char *id, uint64_t rev)
{
	struct grove_session *s = NULL;
	int err = grove_session_open(w->c->g, id, GROVE_OPEN_READ, &s);

	if (!err && !strcmp(grove_session_id(s), id))
		add(w, grove_session_path(s) ? grove_session_path(s) : id, rev, &err);
	else if (!err)
		err = GROVE_ENOTFOUND;
	grove_session_close(s);
	return err;
}

/* Watches a session of the cursor again. It may have moved; if it is gone, `gone` gets its id. */
static int again(struct watching *w, const char *key, uint64_t rev, struct grove_buf *gone)
{
	struct grove_slice id = id_in(key);
	size_t old = gone->len;
	int err = 0;

	cli_add(gone, id.ptr, id.len);
	cli_add(gone, "", 1);
	if (rev)
		add(w, key, rev, &err);
	else
		err = meet(w, key, NULL, 0);
	if (err == GROVE_ENOTFOUND && *key == '/')
		err = add_by_id(w, gone->ptr + old, rev);
	if (err != GROVE_ENOTFOUND)
		gone->len = old;
	return unless_unreadable(err);
}

static int tell_gone(struct watching *w, const struct grove_buf *gone)
{
	struct news n = { .kind = "delete" };
	int err = 0;

	for (size_t at = 0; at < gone->len && !err; at += strlen(n.session) + 1) {
		n.session = gone->ptr + at;
		err = tell(w, &n);
	}
	return err;
}

/*
 * Watches the sessions of a cursor again. What is gone is reported when they are all in the
 * set, because the cursor of that event has to have them.
 */
static int resume(struct watching *w, const char *cursor)
{
	struct grove_buf key = GROVE_BUF_INIT, gone = GROVE_BUF_INIT;
	uint64_t number = 0;
	int ok = take_number(&cursor, '~', &number), err = 0;

	w->since = (int64_t)number;
	while (ok && !err && *cursor) {
		cursor++;
		ok = take_number(&cursor, '~', &number) && *cursor == '~';
		if (ok) {
			cursor++;
			ok = take_key(&cursor, &key);
		}
		if (ok)
			err = again(w, key.ptr, number, &gone);
	}
	if (ok && !err)
		err = tell_gone(w, &gone);
	grove_buf_release(&key);
	grove_buf_release(&gone);
	return ok ? err : GROVE_EINVAL;
}

/* Reports what was missed: sessions that changed since the time of the cursor. */
static int meet_missed(struct watching *w)
{
	struct grove_list_options opt = { .size = sizeof(opt), .flags = GROVE_LIST_ALL };
	struct grove_list *l = NULL;
	int err = grove_list(w->c->g, &opt, &l);

	for (size_t i = grove_list_count(l); i-- && !err;) {
		const struct grove_list_item *item = grove_list_at(l, i);
		const char *key = *item->path ? item->path : item->id;

		/* an agent may list a session by when a reply began, which was before its entry was written */
		if ((item->modified >= w->since || item->file_time >= w->since) && !find(w, key))
			err = unless_unreadable(meet(w, key, item->id, item->created >= w->since));
		if (err == GROVE_EAMBIGUOUS) {
			cli_warn(w->c, "%s: in several stores, so only its next events are reported", key);
			err = 0;
		}
	}
	grove_list_free(l);
	return err;
}

/* ------------------------------------------------------------------- events */

/* For a session in the set, its own last event reports its end. */
static int of_removed(struct watching *w, const struct grove_event *e, struct watched *x)
{
	struct news n = { .kind = "remove", .session = e->session_id, .event = e };

	if (x && x->gone)
		forget(x);
	else if (x)
		x->unlisted = 1;
	return x || has_left(w, e->key) ? 0 : tell(w, &n);
}

static int of_the_list(struct watching *w, const struct grove_event *e)
{
	struct watched *x = find(w, e->key);
	int created = e->kind == GROVE_EVENT_CREATE;

	if (!e->key)
		return meet_missed(w);
	if (e->kind == GROVE_EVENT_REMOVE)
		return of_removed(w, e, x);
	if (x && x->gone) {
		forget(x);
		x = NULL;
		created = 1;
	}
	if (x || (created && take_moved(w, e->session_id, e->key)))
		return 0;
	return unless_unreadable(created ? meet(w, e->key, e->session_id, 1) : meet_changed(w, e->key));
}

/* Returns true for what was there before the session was met. */
static int is_old(struct watched *x, const struct grove_event *e)
{
	if (e->generation != x->generation || e->kind == GROVE_EVENT_DELETE ||
	    (e->seq != GROVE_NO_SEQ && e->kind != GROVE_EVENT_UPDATE && e->seq >= x->lines))
		x->lines = 0;
	return x->lines != 0;
}

static int of_a_session(struct watching *w, const struct grove_event *e)
{
	struct grove_entry entry = { .size = sizeof(entry) };
	struct news n = { .kind = grove_event_name(e->kind), .session = e->session_id, .event = e,
			  .about = e->tag, .rev = e->rev };
	struct watched *x = e->tag;
	int err;

	if (is_old(x, e))
		return 0;
	x->rev = e->rev;
	take_out(x);
	put_first(w, x);
	x->gone = e->kind == GROVE_EVENT_DELETE;
	set_key(x, e->key);
	err = e->kind == GROVE_EVENT_DELETE ? 0 : grove_watch_view(w->set, &n.view);
	if (!err && e->nr && n.view && !grove_view_entry(n.view, e->first, &entry) &&
	    e->kind == GROVE_EVENT_APPEND)
		n.entry = &entry;
	if (!err && (n.entry || e->kind != GROVE_EVENT_APPEND || w->c->json))
		err = tell(w, &n);
	grove_view_unref(n.view);
	if (x->gone && x->unlisted)
		forget(x);
	return err;
}

/* Waits for the next event, or until nobody reads our output any more. */
static void wait_for_more(struct watching *w)
{
	struct pollfd fds[] = { { grove_watch_fd(w->set), POLLIN, 0 }, { w->c->out.fd, 0, 0 } };

	poll(fds, 2, -1);
	if (fds[1].revents & (POLLERR | POLLHUP))
		w->c->out.failed = EPIPE;
}

/* A problem with one session or store is only a warning: the library tries again. */
static int follow(struct watching *w)
{
	struct grove_event e = { .size = sizeof(e) };
	struct grove_detail why;
	int err = 0, of_list;

	while (!err && !out_failed(&w->c->out)) {
		err = grove_watch_next(w->set, 0, &e);
		if (err == 1) {
			settle(w);
			wait_for_more(w);
			err = 0;
			continue;
		}
		if (err == GROVE_ENOTFOUND && !w->all)
			return EXIT_DONE;
		if (err < 0 && err != GROVE_ENOMEM && err != GROVE_EINVAL) {
			grove_watch_error(w->set, &why);
			cli_warn_detail(w->c, &why);
			err = 0;
			continue;
		}
		if (err)
			break;
		of_list = !e.key || e.kind == GROVE_EVENT_CREATE || e.kind == GROVE_EVENT_CHANGE ||
			  e.kind == GROVE_EVENT_REMOVE;
		err = of_list ? of_the_list(w, &e) : of_a_session(w, &e);
	}
	return err ? cli_fail_grove(w->c, err) : EXIT_DONE;
}

/* ------------------------------------------------------------------ command */

static int fail(struct watching *w, int err)
{
	struct grove_detail why;

	if (err == GROVE_EINVAL)
		return cli_usage(w->c, "--since: not a cursor of %s",
				 w->all ? "all sessions" : "one session");
	grove_watch_error(w->set, &why);
	return cli_fail(w->c, err, &why);
}

static int begin(struct watching *w, const char *what, const char *cursor)
{
	struct grove_watch_options opt = { .size = sizeof(opt), .flags = w->all ? GROVE_WATCH_LIST : 0 };
	uint64_t rev = GROVE_REV_NOW;
	int err = grove_watch_open(w->c->g, &opt, &w->set);

	w->since = now_ms();
	if (err)
		return err;
	if (!w->all) {
		if (cursor && (!take_number(&cursor, '\0', &rev) || *cursor))
			return GROVE_EINVAL;
		add(w, what, rev, &err);
		return err;
	}
	if (cursor)
		err = resume(w, cursor);
	return err || !cursor ? err : meet_missed(w);
}

int cmd_watch(struct cli *c, int argc, char **argv)
{
	const char *cursor = NULL;
	const struct opt opts[] = {
		{ "since", .string = &cursor },
		{ NULL },
	};
	struct watching w = { .c = c };
	int err, status;

	if (cli_begin(c, opts, "[SESSION]", &argc, argv) || cli_stores(c))
		return c->status;
	w.all = !argc;
	cli_let_interrupt();
	err = begin(&w, argv[0], cursor);
	status = err ? fail(&w, err) : follow(&w);
	grove_watch_close(w.set);
	while (w.first)
		forget(w.first);
	return status;
}
