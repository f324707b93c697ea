/*
 * cmd_watch.c: prints a line for each event in sessions.
 *
 * A single session is watched from now on, or from a given rev, which is its cursor. To
 * watch all sessions we watch the list, and add a session to the set when the list reports
 * a change. By then some of its entries exist already; those not older than the watch
 * itself are reported.
 *
 * The cursor of all sessions is text: the time of the event in ms, then ~REV~KEY for each
 * session of the set, with unusual bytes of the key written as %XX.
 */
#include "brief.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct watched {
	char *key;
	uint64_t rev;          /* of the last event reported */
	uint64_t lines;        /* earlier lines were reported when the session was added */
	uint64_t generation;   /* the generation for which that is true */
	char prompt[64];       /* the beginning of the first prompt, used if there is no name */
};

struct watching {
	struct cli *c;
	struct grove_watch *set;
	int all;
	int64_t since;         /* ms: entries of this time or later are new */
	struct watched **sessions;
	size_t nr;
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
	for (size_t i = 0; key && i < w->nr; i++)
		if (same_key(w->sessions[i]->key, key))
			return w->sessions[i];
	return NULL;
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
	x->key = cli_realloc(NULL, strlen(key) + 1, 1);
	memcpy(x->key, key, strlen(key) + 1);
	w->sessions = cli_realloc(w->sessions, w->nr + 1, sizeof(*w->sessions));
	return w->sessions[w->nr++] = x;
}

static void forget(struct watching *w, struct watched *x)
{
	size_t i = 0;

	while (w->sessions[i] != x)
		i++;
	w->sessions[i] = w->sessions[--w->nr];
	free(x->key);
	free(x);
}

/* --------------------------------------------------------------- the cursor */

static void add_cursor(struct grove_buf *b, const struct watching *w, uint64_t rev, int64_t time)
{
	static const char hex[] = "0123456789ABCDEF";
	char word[48];

	snprintf(word, sizeof(word), "%llu", w->all ? (unsigned long long)time : (unsigned long long)rev);
	cli_add(b, word, strlen(word));
	for (size_t i = 0; w->all && i < w->nr; i++) {
		snprintf(word, sizeof(word), "~%llu~", (unsigned long long)w->sessions[i]->rev);
		cli_add(b, word, strlen(word));
		for (const char *p = w->sessions[i]->key; *p; p++) {
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
	*out = strtoull(*p, &after, 10);
	if (*after && *after != end)
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

/* Watches the sessions of a cursor again. A session that is gone by now is skipped. */
static int resume(struct watching *w, const char *cursor)
{
	struct grove_buf key = GROVE_BUF_INIT;
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
			add(w, key.ptr, number, &err);
		if (err == GROVE_ENOTFOUND)
			err = 0;
	}
	grove_buf_release(&key);
	return ok ? err : GROVE_EINVAL;
}

/* -------------------------------------------------------------- for scripts */

struct news {
	const char *kind, *session;
	const struct grove_event *event;   /* NULL if found when the session was added */
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

	add_cursor(&b, w, n->rev, now_ms());
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

/* Prints the time and, with several sessions, which one it is. Returns the columns used. */
static unsigned print_head(struct watching *w, const struct news *n)
{
	enum { NAME = 20 };
	struct out *o = &w->c->out;
	const char *name = n->view ? grove_view_name(n->view) : NULL;
	int64_t time = n->entry && n->entry->time != GROVE_NO_TIME ? n->entry->time : now_ms();
	char when[32];

	cli_time(when, sizeof(when), time, 1);
	out_style(o, OUT_DIM);
	out_puts(o, strlen(when) > 11 ? when + 11 : when);
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	if (!w->all)
		return 10;
	if (!name && n->about)
		name = first_prompt(n);
	out_style(o, OUT_BOLD);
	out_column(o, out_str(name ? name : n->session), NAME);
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	return 10 + NAME + 2;
}

static int print_entry(struct watching *w, const struct news *n, unsigned used)
{
	enum { ID = 8, WORD = 14 };
	struct out *o = &w->c->out;
	struct brief b;
	int err = brief_read(&b, n->view, n->entry->index);

	used += ID + 2 + WORD + 1;
	out_style(o, OUT_YELLOW);
	out_column(o, out_str(n->entry->id ? n->entry->id : "-"), ID);
	out_puts(o, "  ");
	out_style(o, brief_style(n->entry));
	out_column(o, out_str(brief_word(n->entry)), WORD);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	if (!err)
		brief_print(o, &b, o->width > used + 10 ? o->width - used : 10);
	return err == GROVE_ESTALE ? 0 : err;
}

static void print_words(struct watching *w, const struct news *n)
{
	static const struct {
		const char *kind, *words;
	} known[] = {
		{ "update", "changed" },   { "reset", "rewritten" },  { "delete", "deleted" },
		{ "create", "a new session" }, { "change", "changed" }, { "remove", "deleted" },
	};
	struct out *o = &w->c->out;
	const char *id = n->event ? n->event->entry_id : NULL, *name;

	if (!strcmp(n->kind, "leaf")) {
		out_puts(o, "leaf: ");
		out_text(o, out_str(id ? id : "before the first entry"));
		return;
	}
	if (!strcmp(n->kind, "rename")) {
		name = n->view ? grove_view_name(n->view) : NULL;
		out_puts(o, name ? "renamed: " : "has no name any more");
		out_fit(o, out_str(name), o->width);
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
			print_words(w, n);
		out_end_line(o);
	}
	out_flush(o);
	return err;
}

/* ------------------------------------------------------------------- events */

/*
 * Called when the list reports a session for the first time: reports what is new in it, and
 * watches it from there on. It is added first so that nothing is missed in between, and
 * what is reported here is skipped when the set reports it.
 */
static int meet(struct watching *w, const char *key, const char *id, const char *kind)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct news n = { .kind = kind, .session = id };
	struct grove_session *s = NULL;
	struct watched *x;
	uint64_t rev = 0, lines;
	uint32_t i, nr;
	int err;

	n.about = x = add(w, key, GROVE_REV_NOW, &err);
	if (x)
		err = grove_session_open(w->c->g, key, GROVE_OPEN_READ, &s);
	if (!err)
		err = grove_session_view(s, &n.view);
	nr = err ? 0 : grove_view_count(n.view);
	lines = nr && !grove_view_entry(n.view, nr - 1, &e) ? e.line + 1 : 0;
	if (!err) {
		rev = grove_view_rev(n.view);
		x->generation = grove_view_generation(n.view);
		x->rev = rev - lines;
	}
	if (!err && !strcmp(kind, "create"))
		err = tell(w, &n);
	for (i = nr; i && !grove_view_entry(n.view, i - 1, &e); i--)
		if (e.time == GROVE_NO_TIME || e.time < w->since)
			break;
	/* the list saw a change, which includes the last entry, whatever its time */
	if (i && i == nr)
		i--;
	n.kind = "append";
	n.entry = &e;
	for (; i < nr && !err; i++) {
		err = grove_view_entry(n.view, i, &e);
		x->lines = e.line + 1;
		x->rev = rev - (lines - x->lines);  /* each line has its own rev */
		if (!err)
			err = tell(w, &n);
	}
	grove_view_unref(n.view);
	grove_session_close(s);
	return err == GROVE_ENOTFOUND || err == GROVE_EDAMAGED ? 0 : err;
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

		if (item->modified >= w->since && !find(w, key))
			err = meet(w, key, item->id, "change");
	}
	grove_list_free(l);
	return err;
}

static int of_the_list(struct watching *w, const struct grove_event *e)
{
	struct news n = { .kind = grove_event_name(e->kind), .session = e->session_id, .event = e };
	struct watched *x = find(w, e->key);

	if (!e->key)
		return meet_missed(w);
	if (e->kind == GROVE_EVENT_REMOVE)
		return x ? 0 : tell(w, &n);  /* for a session in the set, its own last event
		                                reports this */
	return x ? 0 : meet(w, e->key, e->session_id, n.kind);
}

static int of_a_session(struct watching *w, const struct grove_event *e)
{
	struct grove_entry entry = { .size = sizeof(entry) };
	struct news n = { .kind = grove_event_name(e->kind), .session = e->session_id, .event = e,
			  .about = e->tag, .rev = e->rev };
	struct watched *x = e->tag;
	int err;

	x->rev = e->rev;
	if (e->kind == GROVE_EVENT_APPEND && e->generation == x->generation && e->seq < x->lines)
		return 0;
	err = e->kind == GROVE_EVENT_DELETE ? 0 : grove_watch_view(w->set, &n.view);
	if (!err && e->nr && n.view && !grove_view_entry(n.view, e->first, &entry) &&
	    e->kind == GROVE_EVENT_APPEND)
		n.entry = &entry;
	if (!err && (n.entry || e->kind != GROVE_EVENT_APPEND || w->c->json))
		err = tell(w, &n);
	grove_view_unref(n.view);
	if (e->kind == GROVE_EVENT_DELETE)
		forget(w, x);
	return err;
}

/* A problem with one session or store is only a warning: the library tries again. */
static int follow(struct watching *w)
{
	struct grove_event e = { .size = sizeof(e) };
	struct grove_detail why;
	int err = 0, of_list;

	while (!err && !out_failed(&w->c->out)) {
		err = grove_watch_next(w->set, -1, &e);
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
	while (w.nr)
		forget(&w, w.sessions[0]);
	free(w.sessions);
	return status;
}
