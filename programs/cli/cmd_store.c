/*
 * cmd_store.c: operations on whole stores: init, upgrade, verify, copy, stats.
 */
#include "commands.h"
#include "problems.h"

#include <string.h>

static const char *const states[] = { "new", "grown", "unchanged", "kept", "failed" };

/* --------------------------------------------------------------- the tables */

static int init(struct cli *c, char **argv)
{
	int err = grove_store_init(c->g, argv[0]);

	if (err)
		return cli_fail_grove(c, err);
	if (c->json)
		out_puts(&c->out, "{\"ready\":true}\n");
	return EXIT_DONE;
}

static int upgrade(struct cli *c, char **argv)
{
	unsigned from, to;
	int err;

	cli_working(c, "upgrading");
	err = grove_store_upgrade(c->g, argv[0], &from, &to);
	if (err)
		return cli_fail_grove(c, err);
	if (c->json)
		out_printf(&c->out, "{\"from\":%u,\"to\":%u}\n", from, to);
	else if (from != to)
		out_printf(&c->out, "upgraded from version %u to version %u\n", from, to);
	else if (to)
		out_printf(&c->out, "version %u, nothing to do\n", to);
	else
		out_puts(&c->out, "nothing to do\n");
	return EXIT_DONE;
}

/* ------------------------------------------------------------------- verify */

/* Checks that a store to be read exists. Returns non-zero after reporting an error. */
static int must_exist(struct cli *c, const char *store)
{
	struct grove *own = c->g;
	struct grove_options go = { .size = sizeof(go), .stores = &store, .nr_stores = 1 };
	int err;

	c->g = NULL;
	err = grove_open(&go, &c->g);
	c->status = err ? cli_fail_grove(c, err) : cli_stores(c);
	grove_close(c->g);
	c->g = own;
	return c->status;
}

static int verify(struct cli *c, char **argv)
{
	struct grove_check_result r = { sizeof(r) };
	struct grove_detail why;
	struct problems ck;
	int err, status;

	if (must_exist(c, argv[0]))
		return c->status;
	problems_begin(&ck, c);
	cli_progress(c, "verifying");
	err = grove_store_verify(c->g, argv[0], problems_add, &ck, &r);
	cli_progress_end(c);
	ck.files = r.files;
	ck.entries = r.entries;
	grove_error(c->g, &why);
	status = problems_print(&ck, err, &why);
	problems_release(&ck);
	return status;
}

/* --------------------------------------------------------------------- copy */

struct copying {
	struct cli *c;
	struct out json;       /* the sessions; their totals are printed first */
	int told, failed, conflicts;
};

static void session_json(struct copying *x, const struct grove_archived *a)
{
	struct out *o = &x->json;

	out_puts(o, x->told ? ",\n{\"path\":" : "{\"path\":");
	out_json_string(o, a->path);
	out_json_member(o, "copy", a->archive);
	out_json_member(o, "state", states[a->state]);
	out_json_count(o, "lines", a->lines);
	out_json_count(o, "files", a->files);
	out_json_count(o, "missingBlobs", a->missing);
	if (a->why) {
		out_puts(o, ",\"error\":{\"code\":");
		out_json_string(o, grove_error_name(a->why->code));
		out_json_member(o, "message", a->why->message);
		out_puts(o, "}");
	}
	out_puts(o, "}");
}

static int on_copied(void *payload, const struct grove_archived *a)
{
	struct copying *x = payload;
	struct cli *c = x->c;

	if (a->why) {
		x->failed++;
		x->conflicts += a->why->code == GROVE_ECONFLICT || a->why->code == GROVE_EEXIST;
	}
	if (c->json)
		session_json(x, a);
	else if (a->why)
		cli_warn(c, "%s: %s", a->path, a->why->message);
	else if (a->missing)
		cli_warn(c, "%s: %llu blob%s missing", a->path, (unsigned long long)a->missing,
			 a->missing == 1 ? " is" : "s are");
	x->told++;
	return out_failed(&c->out);
}

static void put_members(struct out *o, const struct copying *x, const struct grove_archive_result *r)
{
	out_printf(o, "\"sessions\":%llu", (unsigned long long)r->sessions);
	out_json_count(o, "new", r->added);
	out_json_count(o, "grown", r->grown);
	out_json_count(o, "unchanged", r->unchanged);
	out_json_count(o, "failed", r->failed);
	out_json_count(o, "lines", r->lines);
	out_json_count(o, "files", r->files);
	out_json_count(o, "missingBlobs", r->missing);
	out_puts(o, ",\"results\":[");
	out_bytes(o, x->json.ptr, x->json.len);
	out_puts(o, "]");
}

static void print_sums(const struct copying *x, const struct grove_archive_result *r)
{
	struct out *o = &x->c->out;

	if (x->c->json) {
		out_puts(o, "{");
		put_members(o, x, r);
		out_puts(o, "}\n");
		return;
	}
	out_printf(o, "%llu session%s: %llu new, %llu grown, %llu unchanged", (unsigned long long)r->sessions,
		   r->sessions == 1 ? "" : "s", (unsigned long long)r->added,
		   (unsigned long long)r->grown, (unsigned long long)r->unchanged);
	if (r->failed)
		out_printf(o, ", %llu failed", (unsigned long long)r->failed);
	out_printf(o, "; %llu line%s, %llu file%s\n", (unsigned long long)r->lines,
		   r->lines == 1 ? "" : "s", (unsigned long long)r->files, r->files == 1 ? "" : "s");
}

/* Reports what was copied before the failure. */
static int fail_copy(struct copying *x, int err, const struct grove_archive_result *r)
{
	struct cli *c = x->c;
	struct out members;
	int status;

	if (!c->json && r->sessions && err != GROVE_ECANCELLED)
		print_sums(x, r);
	out_init(&members, -1);
	members.tty = c->out.tty;
	put_members(&members, x, r);
	c->done = r->sessions ? &members : NULL;
	status = cli_fail_grove(c, err);
	c->done = NULL;
	out_release(&members);
	return status;
}

static int copy(struct cli *c, char **argv)
{
	struct grove_archive_result r = { sizeof(r) };
	struct copying x = { .c = c };
	int err, status;

	if (must_exist(c, argv[0]))
		return c->status;
	out_init(&x.json, -1);
	x.json.tty = c->out.tty;
	cli_progress(c, "copying");
	err = grove_store_copy(c->g, argv[0], argv[1], on_copied, &x, &r);
	cli_progress_end(c);
	if (err) {
		status = fail_copy(&x, err, &r);
	} else {
		print_sums(&x, &r);
		status = !x.failed ? EXIT_DONE : x.failed == x.conflicts ? EXIT_CONFLICT : EXIT_FAILED;
	}
	out_release(&x.json);
	return status;
}

/* -------------------------------------------------------------------- stats */

/* Prints "3 sessions" after a prefix. */
static void put_count(struct out *o, const char *before, uint64_t n, const char *one, const char *several)
{
	out_printf(o, "%s%llu %s", before, (unsigned long long)n, n == 1 ? one : several);
}

static void put_sums(struct out *o, const struct grove_store_row *p)
{
	char size[CLI_BYTES];

	cli_bytes(size, p->bytes);
	put_count(o, "", p->sessions, "session", "sessions");
	put_count(o, ", ", p->entries, "entry", "entries");
	put_count(o, ", ", p->lines, "line", "lines");
	out_printf(o, ", %s\n", size);
}

static void print_stats(struct out *o, const struct grove_store_stats *s)
{
	char size[CLI_BYTES];

	out_style(o, OUT_BOLD);
	out_line(o, out_str(s->all.name));
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n  ");
	put_sums(o, &s->all);
	for (size_t i = 0; i < s->nr_dialects && s->nr_dialects > 1; i++) {
		out_printf(o, "  %s: ", s->dialects[i].name);
		put_sums(o, &s->dialects[i]);
	}
	if (s->subagent_logs) {
		put_count(o, "  ", s->subagent_logs, "log of a sub-agent", "logs of sub-agents");
		out_puts(o, "\n");
	}
	if (s->attachments) {
		cli_bytes(size, s->attachment_bytes);
		put_count(o, "  ", s->attachments, "attachment", "attachments");
		out_printf(o, ", %s\n", size);
	}
	if (s->unreadable) {
		out_style(o, OUT_RED);
		put_count(o, "  ", s->unreadable, "log could not be read", "logs could not be read");
		out_style(o, OUT_PLAIN);
		out_puts(o, "\n");
	}
	if (s->nr_largest)
		out_puts(o, "largest:\n");
	for (size_t i = 0; i < s->nr_largest; i++) {
		cli_size(size, sizeof(size), s->largest[i].bytes);
		out_printf(o, "  %5s  ", size);
		if (o->tty)
			cli_directory(o, s->largest[i].name, o->width - 9);
		else
			out_line(o, out_str(s->largest[i].name));
		out_puts(o, "\n");
	}
}

static int stats(struct cli *c, char **argv)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_store_stats *s;
	int err;

	if (must_exist(c, argv[0]))
		return c->status;
	cli_progress(c, "counting");
	err = grove_store_stats(c->g, argv[0], &s);
	cli_progress_end(c);
	if (!err && c->json)
		err = grove_store_stats_json(s, &json);
	if (err) {
		c->status = cli_fail_grove(c, err);
	} else if (c->json) {
		out_bytes(&c->out, json.ptr, json.len);
		out_puts(&c->out, "\n");
	} else {
		print_stats(&c->out, s);
	}
	grove_store_stats_free(s);
	grove_buf_release(&json);
	return err ? c->status : EXIT_DONE;
}

/* ------------------------------------------------------------------ actions */

static const struct action {
	const char *name;
	int (*run)(struct cli *c, char **argv);
	const char *operands;
} actions[] = {
	{ "init", init, "STORE" },
	{ "upgrade", upgrade, "STORE" },
	{ "verify", verify, "STORE" },
	{ "copy", copy, "FROM TO" },
	{ "stats", stats, "STORE" },
};

int cmd_store(struct cli *c, int argc, char **argv)
{
	const struct action *a = NULL;
	char why[512];

	if (cli_begin(c, NULL, "init|upgrade|verify|copy|stats [STORE...]", &argc, argv))
		return c->status;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, argv[0]))
			a = &actions[i];
	if (!a)
		return cli_usage(c, "'%.64s' is not one of init, upgrade, verify, copy, stats", argv[0]);
	if (opt_operands(a->operands, argc - 1, argv + 1, why, sizeof(why)))
		return cli_usage(c, "%s (usage: grove store %s %s)", why, a->name, a->operands);
	return a->run(c, argv + 1);
}
