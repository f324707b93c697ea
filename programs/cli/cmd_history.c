/*
 * cmd_history.c: the history of prompts: add, list, search.
 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_DEFAULT = 50 };

static const char *const actions[] = { "add", "recent", "search", "upgrade", NULL };
enum action { ADD, RECENT, SEARCH, UPGRADE, NR_ACTIONS };

struct history {
	struct cli *c;
	struct grove_history *h;
	struct grove_buf line;
	size_t nr;
};

static int fail_history(struct history *p, int err)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	if (p->h)
		grove_history_error(p->h, &why);
	return why.code ? cli_fail(p->c, err, &why) : cli_fail_grove(p->c, err);
}

/* ------------------------------------------------------------------ operands */

static int read_stdin(struct cli *c, struct grove_buf *b)
{
	char part[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0)
		cli_add(b, part, (size_t)n);
	return n < 0 ? cli_error(c, GROVE_EIO, "cannot read standard input") : 0;
}

/* Joins the words into one text; "-" alone means standard input. */
static int text_of(struct cli *c, int argc, char **argv, struct grove_buf *b)
{
	if (argc == 1 && !strcmp(argv[0], "-"))
		return read_stdin(c, b);
	for (int i = 0; i < argc; i++) {
		if (i)
			cli_add(b, " ", 1);
		cli_add(b, argv[i], strlen(argv[i]));
	}
	return 0;
}

/* ------------------------------------------------------------------- results */

static void put_member(struct out *o, const char *name, const char *value)
{
	if (!value)
		return;
	out_printf(o, ",\"%s\":", name);
	out_json_string(o, value);
}

static int print_json(struct history *p, const struct grove_history_entry *e)
{
	struct out *o = &p->c->out;
	int err;

	p->line.len = 0;
	err = grove_buf_json_string(&p->line, e->prompt);
	if (err)
		return err;
	out_printf(o, "%s{\"id\":%lld,\"prompt\":", p->nr ? ",\n" : "", (long long)e->id);
	out_json(o, (struct grove_slice){ p->line.ptr, p->line.len });
	put_member(o, "cwd", e->cwd);
	put_member(o, "sessionId", e->session_id);
	if (e->created != GROVE_NO_TIME) {
		p->line.len = 0;
		err = grove_buf_time(&p->line, e->created);
		out_puts(o, ",\"createdAt\":\"");
		out_bytes(o, p->line.ptr, err ? 0 : p->line.len);
		out_puts(o, "\"");
	}
	out_puts(o, "}");
	return err;
}

/* Prints a prompt on one line, cut only if the terminal is too narrow. */
static int print_line(struct history *p, const struct grove_history_entry *e)
{
	static const char mark[] = " ⏎ ";
	struct out *o = &p->c->out;
	const char *at = e->prompt.ptr, *end = at + e->prompt.len;

	p->line.len = 0;
	while (at < end) {
		size_t n = 0;

		while (at + n < end && at[n] != '\n' && at[n] != '\r')
			n++;
		cli_add(&p->line, at, n);
		at += n;
		if (at < end) {
			cli_add(&p->line, mark, sizeof(mark) - 1);
			at += at + 1 < end && at[0] == '\r' && at[1] == '\n' ? 2 : 1;
		}
	}
	if (o->tty)
		out_fit(o, (struct grove_slice){ p->line.ptr, p->line.len }, o->width);
	else
		out_text(o, (struct grove_slice){ p->line.ptr, p->line.len });
	out_puts(o, "\n");
	return 0;
}

static int on_entry(void *payload, const struct grove_history_entry *e)
{
	struct history *p = payload;
	int err = p->c->json ? print_json(p, e) : print_line(p, e);

	p->nr++;
	return err ? err : out_failed(&p->c->out) ? GROVE_EIO : 0;
}

/* ------------------------------------------------------------------- actions */

static int add(struct history *p, struct grove_slice text, const char *cwd, const char *session)
{
	struct cli *c = p->c;
	char *here = cwd ? NULL : getcwd(NULL, 0);
	int err = grove_history_add(p->h, text, cwd ? cwd : here, session);

	free(here);
	if (!err)
		err = grove_history_flush(p->h);
	if (err)
		return fail_history(p, err);
	if (c->json) {
		out_puts(&c->out, "{\"path\":");
		out_json_string(&c->out, grove_history_path(p->h));
		out_puts(&c->out, "}\n");
	}
	return EXIT_DONE;
}

static int list(struct history *p, const char *query, uint64_t limit, int parts)
{
	struct cli *c = p->c;
	size_t most = limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
	int err;

	if (c->json)
		out_puts(&c->out, "[");
	err = query ? grove_history_search(p->h, query, most, parts ? GROVE_HISTORY_PARTS : 0,
					   on_entry, p) :
		      grove_history_recent(p->h, most, on_entry, p);
	if (err)
		return fail_history(p, err);
	if (c->json)
		out_puts(&c->out, "]\n");
	else if (!p->nr)
		cli_warn(c, query ? "no prompt matches" : "no prompts");
	return EXIT_DONE;
}

static int upgrade(struct history *p)
{
	int err = grove_history_upgrade(p->h);

	return err ? fail_history(p, err) : EXIT_DONE;
}

static int find_action(const char *name)
{
	int i = 0;

	while (i < NR_ACTIONS && strcmp(actions[i], name))
		i++;
	return i;
}

int cmd_history(struct cli *c, int argc, char **argv)
{
	struct history p = { .c = c };
	struct grove_buf text = GROVE_BUF_INIT;
	const char *db = NULL, *cwd = NULL, *session = NULL;
	uint64_t limit = LIMIT_DEFAULT;
	int parts = 0, action, err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "db", .string = &db },
		{ "limit", .number = &limit },
		{ "parts", .flag = &parts },
		{ "cwd", .string = &cwd },
		{ "session", .string = &session },
		{ NULL },
	};

	if (cli_begin(c, opts, "add|recent|search|upgrade [TEXT...]", &argc, argv))
		return c->status;
	action = find_action(argv[0]);
	if (action == NR_ACTIONS)
		return cli_usage(c, "'%.64s' is not one of add, recent, search, upgrade", argv[0]);
	if ((action == ADD || action == SEARCH) && argc < 2)
		return cli_usage(c, "%s: TEXT is missing", argv[0]);
	if ((action == RECENT || action == UPGRADE) && argc > 1)
		return cli_usage(c, "%s: unexpected argument '%.64s'", argv[0], argv[1]);
	if ((action != ADD && (cwd || session)) || (action != SEARCH && parts))
		return cli_usage(c, "%s has no option --%s", argv[0],
				 parts && action != SEARCH ? "parts" : cwd ? "cwd" : "session");
	if (text_of(c, argc - 1, argv + 1, &text)) {
		grove_buf_release(&text);
		return EXIT_FAILED;
	}
	err = grove_history_open(c->g, db, &p.h);
	if (err)
		status = fail_history(&p, err);
	else if (action == ADD)
		status = add(&p, (struct grove_slice){ text.ptr ? text.ptr : "", text.len }, cwd, session);
	else if (action == UPGRADE)
		status = upgrade(&p);
	else
		status = list(&p, action == SEARCH ? text.ptr ? text.ptr : "" : NULL, limit, parts);
	grove_history_close(p.h);
	grove_buf_release(&p.line);
	grove_buf_release(&text);
	return status;
}
