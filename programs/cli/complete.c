/*
 * complete.c: what may come next on a command line.
 *
 * The grammar is that of the manual pages: see form.h. Words in capitals there, such as
 * SESSION, ENTRY or DIR, say what to offer. Nothing here writes or reports errors: a shell
 * that asks in the middle of a line wants candidates or nothing.
 */
#include "complete.h"

#include "kit/brief.h"
#include "form.h"
#include "kit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct completing {
	struct cli *c;
	const char *now;        /* the word being typed; the value in --option=VALUE */
	const char *whole;      /* the whole word */
	const char *session;    /* the session named on the line, or NULL */
	struct opt_list told;   /* candidates so far */
};

/* ---------------------------------------------------------------- answering */

static int told_before(struct completing *x, const char *word)
{
	for (size_t i = 0; i < x->told.nr; i++)
		if (!strcmp(x->told.item[i], word))
			return 1;
	return 0;
}

static void tell(struct completing *x, const char *word)
{
	size_t n = strlen(word) + 1;

	opt_list_add(&x->told, memcpy(cli_realloc(NULL, n, 1), word, n));
	out_line(&x->c->out, out_str(word));
}

/* Asks the shell to complete files or directories itself. */
static void ask_shell(struct completing *x, const char *request)
{
	if (told_before(x, request))
		return;
	tell(x, request);
	out_puts(&x->c->out, "\n");
}

/* Returns true if a line can name it: an id that others wrote may contain anything. */
static int fits_line(const char *word)
{
	if (*word == ':')
		return 0;   /* a request */
	for (; *word; word++)
		if ((unsigned char)*word < ' ' || *word == 0x7f)
			return 0;
	return 1;
}

static void offer(struct completing *x, const char *word, const char *about)
{
	enum { ABOUT = 60 };
	struct out *o = &x->c->out;

	if (!fits_line(word) || told_before(x, word))
		return;
	out_text(o, (struct grove_slice){ x->whole, (size_t)(x->now - x->whole) });
	tell(x, word);
	if (about && *about) {
		out_puts(o, "\t");
		out_fit(o, out_str(about), ABOUT);
	}
	out_puts(o, "\n");
}

static void offer_word(struct completing *x, struct form_word w, const char *about)
{
	char word[64];

	if (w.len >= sizeof(word))
		return;
	memcpy(word, w.ptr, w.len);
	word[w.len] = '\0';
	if (!strncmp(word, x->now, strlen(x->now)))
		offer(x, word, about);
}

/* Returns true if one of the words of a text begins with `part`, ignoring case. */
static int begins_word(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; text && *text; text += strspn(text, " \t")) {
		if (!strncasecmp(text, part, n))
			return 1;
		text += strcspn(text, " \t");
	}
	return 0;
}

/* ------------------------------------------------------- sessions and entries */

/* `cwd` NULL means every directory. Returns how many there were. */
static size_t offer_listed(struct completing *x, const struct grove_list *l, const char *cwd)
{
	enum { MOST = 100 };
	size_t nr = 0;

	for (size_t i = 0; i < grove_list_count(l) && nr < MOST; i++) {
		const struct grove_list_item *item = grove_list_at(l, i);
		const char *about = item->name ? item->name : item->first_message;

		if (cwd && strcmp(item->cwd, cwd))
			continue;
		if (!strncmp(item->id, x->now, strlen(x->now)) || begins_word(item->name, x->now)) {
			offer(x, item->id, about);
			nr++;
		}
	}
	return nr;
}

static void offer_sessions(struct completing *x)
{
	struct grove_list_options opt = { .size = sizeof(opt), .flags = GROVE_LIST_ALL | GROVE_LIST_REMEMBERED };
	struct grove_list *l = NULL;
	char *cwd;

	if (strchr(x->now, '/') || *x->now == '.') {
		ask_shell(x, ":files");
		return;
	}
	if (!strncmp("last", x->now, strlen(x->now)))
		offer(x, "last", "the most recent session here");
	/* listing again would take as long again, so list all directories at once */
	if (grove_list(x->c->g, &opt, &l))
		return;
	cwd = getcwd(NULL, 0);
	if (!cwd || !offer_listed(x, l, cwd))
		offer_listed(x, l, NULL);
	free(cwd);
	grove_list_free(l);
}

static void offer_entry(struct completing *x, struct grove_view *v, const struct grove_entry *e)
{
	struct brief b;
	char about[128];

	if (e->label) {
		offer(x, e->id, e->label);
		return;
	}
	if (brief_read(&b, v, e->index))
		return;
	snprintf(about, sizeof(about), "%s: %.*s", brief_word(e),
		 (int)(b.found && b.text.len < 100 ? b.text.len : b.found ? 100 : 0), b.found ? b.text.ptr : "");
	offer(x, e->id, about);
}

/* Labelled entries come first, then the newest. */
static void offer_entries(struct completing *x)
{
	enum { MOST = 50 };
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	unsigned nr = 0;

	if (!x->session || grove_session_open(x->c->g, x->session, GROVE_OPEN_READ, &s) ||
	    grove_session_view(s, &v)) {
		grove_session_close(s);
		return;
	}
	for (int labelled = 1; labelled >= 0; labelled--)
		for (uint32_t i = grove_view_count(v); i-- && nr < MOST && !grove_view_entry(v, i, &e);) {
			int fits = e.id && !strncmp(e.id, x->now, strlen(x->now));

			if (!e.id || !e.label != !labelled || (!fits && !begins_word(e.label, x->now)))
				continue;
			offer_entry(x, v, &e);
			nr++;
		}
	grove_view_unref(v);
	grove_session_close(s);
}

/* ----------------------------------------------------------------- meanings */

static void offer_commands(struct completing *x)
{
	for (const struct grove_help *h = grove_help; h->name; h++)
		if (strcmp(h->name, "grove"))
			offer_word(x, (struct form_word){ h->name, strlen(h->name) }, h->summary);
}

static void offer_topics(struct completing *x)
{
	for (const struct grove_help *h = grove_topics; h->name; h++)
		offer_word(x, (struct form_word){ h->name, strlen(h->name) }, h->summary);
}

static void offer_keys(struct completing *x)
{
	for (size_t i = 0; config_keys[i]; i++)
		offer_word(x, (struct form_word){ config_keys[i], strlen(config_keys[i]) }, NULL);
}

static void offer_colors(struct completing *x)
{
	for (size_t i = 0; out_color_names[i]; i++)
		offer_word(x, (struct form_word){ out_color_names[i], strlen(out_color_names[i]) }, NULL);
}

static int offer_agent(void *payload, const struct grove_agent *a)
{
	offer_word(payload, (struct form_word){ a->name, strlen(a->name) }, NULL);
	return 0;
}

static void offer_agents(struct completing *x)
{
	grove_agent_each(x->c->g, offer_agent, x);
}

static int offer_dialect(void *payload, const struct grove_agent *a)
{
	offer_word(payload, (struct form_word){ a->dialect, strlen(a->dialect) }, NULL);
	return 0;
}

static void offer_dialects(struct completing *x)
{
	grove_agent_each(x->c->g, offer_dialect, x);
}

static void offer_dirs(struct completing *x)
{
	ask_shell(x, ":dirs");
}

static void offer_files(struct completing *x)
{
	ask_shell(x, ":files");
}

static void offer_meaning(struct completing *x, struct form_word name)
{
	static const struct {
		const char *name;
		void (*offer)(struct completing *x);
	} known[] = {
		{ "SESSION", offer_sessions }, { "ENTRY", offer_entries }, { "COMMAND", offer_commands },
		{ "KEY", offer_keys },         { "WHEN", offer_colors },   { "DIR", offer_dirs },
		{ "FILE", offer_files },       { "STORE", offer_files },   { "URL", offer_files },
		{ "AGENT", offer_agents },     { "DIALECT", offer_dialects }, { "TOPIC", offer_topics },
		{ "FROM", offer_files },       { "TO", offer_files },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (form_is(name, known[i].name))
			known[i].offer(x);
}

/* Offers what a word of a form allows: the word itself, or what it stands for. */
static void offer_place(struct completing *x, struct form_word place)
{
	struct form_word one;

	while (form_choice(&place, &one))
		if (form_is_name(one))
			offer_meaning(x, one);
		else
			offer_word(x, one, NULL);
}

/* -------------------------------------------------------------------- forms */

/* Returns the value that an option takes in any form of a page; len 0 if none. */
static struct form_word value_of(const struct grove_help *page, const char *option)
{
	struct form_word none = { NULL, 0 };
	struct form f;

	for (const char *p = page ? page->forms : NULL; p;) {
		p = form_read(&f, p);
		for (size_t i = 0; i < f.nr_options; i++)
			if (form_is(f.option[i], option) && f.value[i].len)
				return f.value[i];
	}
	return none;
}

/*
 * Finds the long form of an option like -n, which forms do not have: the list of options in
 * the page says "  -n N, --last N". Returns false if there is none.
 */
static int long_option(const struct grove_help *page, const char *letter, char *name, size_t size)
{
	const char *p = page ? page->text : NULL;

	for (; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *dashes = strstr(p, "--");

		if (strncmp(p, "  ", 2) || strncmp(p + 2, letter, 2) || (p[4] != ' ' && p[4] != ',') || !dashes)
			continue;
		snprintf(name, size, "%.*s", (int)strcspn(dashes, " \n"), dashes);
		return 1;
	}
	return 0;
}

static struct form_word option_value(const struct grove_help *page, const char *option)
{
	struct form_word value;
	char name[64];

	if (option[0] == '-' && option[1] && !option[2] && long_option(page, option, name, sizeof(name)))
		option = name;
	value = value_of(page, option);
	return value.len ? value : value_of(help_find("grove"), option);
}

/*
 * For --option=VALUE, returns what the option takes and completes the value. len 0 for any
 * other word.
 */
static struct form_word given_value(struct completing *x, const struct grove_help *page)
{
	struct form_word none = { NULL, 0 };
	char option[64];
	size_t n = strcspn(x->whole, "=");

	if (strncmp(x->whole, "--", 2) || !x->whole[n] || n >= sizeof(option))
		return none;
	memcpy(option, x->whole, n);
	option[n] = '\0';
	x->now = x->whole + n + 1;
	return option_value(page, option);
}

/* Returns true if the words typed so far match the form. */
static int fits(const struct form *f, const struct opt_list *typed)
{
	for (size_t i = 0; i < typed->nr && i < f->nr_operands; i++) {
		struct form_word place = f->operand[i], one;
		int ok = 0;

		while (!ok && form_choice(&place, &one))
			ok = form_is_name(one) || form_is(one, typed->item[i]);
		if (!ok)
			return 0;
	}
	return 1;
}

static void offer_options(struct completing *x, const struct form *f)
{
	for (size_t i = 0; i < f->nr_options; i++)
		if (f->option[i].len > 2)
			offer_word(x, f->option[i], NULL);
}

static void complete_form(struct completing *x, const struct form *f, const struct opt_list *typed)
{
	size_t at = typed->nr;

	if (!fits(f, typed))
		return;
	if (*x->now == '-') {
		offer_options(x, f);
		return;
	}
	if (at >= f->nr_operands && f->more)
		at = f->nr_operands - 1;
	if (at < f->nr_operands)
		offer_place(x, f->operand[at]);
}

/* Finds the session on the line: the word at the position of SESSION in a form. */
static const char *session_of(const struct grove_help *page, const struct opt_list *typed)
{
	struct form f;

	for (const char *p = page->forms; p;) {
		p = form_read(&f, p);
		for (size_t i = 0; i < f.nr_operands && i < typed->nr && fits(&f, typed); i++)
			if (form_is(f.operand[i], "SESSION"))
				return typed->item[i];
	}
	return NULL;
}

static void complete_command(struct completing *x, const struct grove_help *page,
			     const struct opt_list *typed)
{
	struct form f;

	for (const char *p = page->forms; p;) {
		p = form_read(&f, p);
		complete_form(x, &f, typed);
	}
	if (*x->now == '-') {
		form_read(&f, help_find("grove")->forms);
		offer_options(x, &f);
		offer_word(x, (struct form_word){ "--help", 6 }, NULL);
	}
}

int complete_print(struct cli *c, int argc, char **argv)
{
	struct completing x = { .c = c, .now = argc ? argv[argc - 1] : "" };
	const struct grove_help *page = NULL;
	struct opt_list typed = { NULL, 0 };
	struct form_word value = { NULL, 0 };

	x.whole = x.now;
	for (int i = 0; i < argc - 1; i++) {
		if (value.len) {
			value.len = 0;
		} else if (*argv[i] == '-') {
			value = option_value(page, argv[i]);
		} else if (!page) {
			page = help_find(argv[i]);
			if (!page || !page->forms)
				goto out;
		} else {
			opt_list_add(&typed, argv[i]);
		}
	}
	x.session = page ? session_of(page, &typed) : NULL;
	if (!value.len)
		value = given_value(&x, page);
	if (value.len)
		offer_place(&x, value);
	else if (page)
		complete_command(&x, page, &typed);
	else if (*x.now == '-')
		complete_command(&x, help_find("grove"), &typed);
	else
		offer_commands(&x);
out:
	for (size_t i = 0; i < x.told.nr; i++)
		free((char *)(uintptr_t)x.told.item[i]);
	opt_list_release(&x.told);
	opt_list_release(&typed);
	return EXIT_DONE;
}
