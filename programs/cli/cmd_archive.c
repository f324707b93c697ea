/*
 * cmd_archive.c: keeps sessions that the agent will delete.
 */
#include "commands.h"

#include <string.h>

#define DAY_MS 86400000
#define DAYS_DEFAULT 7

struct archive {
	struct cli *c;
	int told;              /* a session was reported, with or without success */
	int printed;           /* number of objects in the array */
	int failed;            /* number of failures */
	int alone;             /* one named session, so its error is the command's */
	int status;            /* that error */
	int dry;
	int named;             /* sessions were named */
	struct grove_archive_result sum;
};

static const char *const states[] = { "new", "grown", "unchanged", "kept", "failed" };

static void error_json(struct out *o, const struct grove_detail *why)
{
	out_puts(o, ",\"error\":{\"code\":");
	out_json_string(o, grove_error_name(why->code));
	out_json_member(o, "message", why->message);
	if (*why->path)
		out_json_member(o, "path", why->path);
	out_puts(o, "}");
}

static void begin_json(struct archive *a)
{
	out_puts(&a->c->out, a->printed++ ? ",\n{" : "{");
}

static void print_json(struct archive *a, const struct grove_archived *x)
{
	struct out *o = &a->c->out;

	begin_json(a);
	out_puts(o, "\"path\":");
	out_json_string(o, x->path);
	out_json_member(o, "archive", x->archive);
	out_json_member(o, "state", states[x->state]);
	out_json_count(o, "lines", x->lines);
	out_json_count(o, "totalLines", x->total_lines);
	out_json_count(o, "files", x->files);
	out_json_count(o, "bytes", x->bytes);
	out_json_count(o, "missingBlobs", x->missing);
	if (x->older)
		out_json_member(o, "older", x->older);
	if (x->why)
		error_json(o, x->why);
	out_puts(o, "}");
}

static void some(struct out *o, const char *before, uint64_t n, const char *what)
{
	out_printf(o, "%s%llu %s%s", before, (unsigned long long)n, what, n == 1 ? "" : "s");
}

/* "grown by 3 lines, 1 file" */
static void state_text(struct out *o, const struct grove_archived *x)
{
	switch (x->state) {
	case GROVE_ARCHIVE_NEW:
		some(o, "new, ", x->lines, "line");
		break;
	case GROVE_ARCHIVE_GROWN:
		out_puts(o, "grown by ");
		if (x->lines)
			some(o, "", x->lines, "line");
		break;
	case GROVE_ARCHIVE_KEPT:
		some(o, "rewritten, ", x->lines, "line");
		break;
	default:
		out_puts(o, "unchanged");
	}
	if (x->files)
		some(o, x->lines || x->state != GROVE_ARCHIVE_GROWN ? ", " : "", x->files, "file");
}

/* Prints the path; on a terminal, as much of its end as fits. */
static void print_path(struct out *o, const char *path, unsigned used)
{
	enum { LEAST = 20 };

	if (o->tty)
		cli_directory(o, path, o->width > used + LEAST ? o->width - used : LEAST);
	else
		out_line(o, out_str(path));
}

/* Reports what changed; named sessions are reported in any case. */
static void print_line(struct archive *a, const struct grove_archived *x)
{
	struct out *o = &a->c->out, state;

	if (x->state == GROVE_ARCHIVE_UNCHANGED && !a->named && !x->missing)
		return;
	out_init(&state, -1);
	state_text(&state, x);
	out_style(o, x->state == GROVE_ARCHIVE_UNCHANGED ? OUT_DIM
		     : x->state == GROVE_ARCHIVE_KEPT    ? OUT_YELLOW
							 : OUT_GREEN);
	out_bytes(o, state.ptr, state.len);
	out_style(o, OUT_PLAIN);
	out_puts(o, "  ");
	print_path(o, x->path, (unsigned)state.len + 2);
	out_release(&state);
	if (x->older) {
		out_puts(o, o->tty ? "\n  previous copy kept: " : "  (previous copy kept: ");
		print_path(o, x->older, 23);
		out_puts(o, o->tty ? "" : ")");
	}
	out_puts(o, "\n");
	if (x->missing)
		cli_warn(a->c, "%s: %llu blob%s missing", x->path, (unsigned long long)x->missing,
			 x->missing == 1 ? " is" : "s are");
}

static int on_archived(void *payload, const struct grove_archived *x)
{
	struct archive *a = payload;

	a->told++;
	a->sum.sessions += !x->why && x->state != GROVE_ARCHIVE_UNCHANGED;
	a->sum.unchanged += x->state == GROVE_ARCHIVE_UNCHANGED;
	a->sum.lines += x->lines;
	a->sum.files += x->files;
	a->sum.bytes += x->bytes;
	if (x->why) {
		a->failed++;
		if (a->alone) {
			a->status = cli_fail(a->c, x->why->code, x->why);
			return 0;
		}
	}
	if (a->c->json)
		print_json(a, x);
	else if (x->why)
		cli_warn_detail(a->c, x->why);
	else
		print_line(a, x);
	return out_failed(&a->c->out);
}

/* Reports a session that was not found. */
static void not_found(struct archive *a, const char *what, int err)
{
	struct grove_detail why;

	grove_error(a->c->g, &why);
	why.code = err;
	a->told++;
	a->failed++;
	if (a->alone) {
		a->status = cli_fail(a->c, err, &why);
	} else if (a->c->json) {
		begin_json(a);
		out_puts(&a->c->out, "\"session\":");
		out_json_string(&a->c->out, what);
		out_puts(&a->c->out, ",\"state\":\"failed\"");
		error_json(&a->c->out, &why);
		out_puts(&a->c->out, "}");
	} else {
		cli_warn_detail(a->c, &why);
	}
}

static int run(struct archive *a, struct grove_archive_options *o, int nr, char **what)
{
	int err = 0;

	if (!nr)
		err = grove_archive(a->c->g, NULL, o, NULL);
	for (int i = 0; i < nr && !err; i++) {
		err = grove_archive(a->c->g, what[i], o, NULL);
		/* an error of the archive concerns all sessions; one of a session does not */
		if (err == GROVE_ENOTFOUND || err == GROVE_EAMBIGUOUS) {
			not_found(a, what[i], err);
			err = 0;
		}
	}
	return err;
}

/* Prints where the archive is and how large. */
static void print_sum(struct archive *a, const char *to)
{
	struct grove_buf url = GROVE_BUF_INIT;
	struct out *o = &a->c->out;
	char size[CLI_BYTES];

	cli_bytes(size, a->sum.bytes);
	some(o, a->dry ? "would archive " : "archived ", a->sum.sessions, "session");
	if (a->sum.lines)
		some(o, ", ", a->sum.lines, "line");
	if (a->sum.files)
		some(o, ", ", a->sum.files, "file");
	if (a->sum.bytes)
		out_printf(o, ", %s", size);
	if (a->sum.unchanged)
		out_printf(o, " (%llu unchanged)", (unsigned long long)a->sum.unchanged);
	if (!grove_archive_url(a->c->g, to, &url)) {
		out_puts(o, o->tty ? "\n  in " : " in ");
		out_line(o, out_str(!strncmp(url.ptr, "file:", 5) ? url.ptr + 5 : url.ptr));
	}
	out_puts(o, "\n");
	grove_buf_release(&url);
}

/* --- restore --- */

static int restore_one(struct cli *c, const char *what, const char *to, int first)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_list *l = NULL;
	int status = EXIT_DONE, err;

	cli_progress(c, "restoring");
	err = grove_restore(c->g, what, to, &l);
	cli_progress_end(c);
	if (err) {
		status = cli_fail_grove(c, err);
		cli_candidates(c, err, l);
	} else if (c->json) {
		err = grove_list_item_json(grove_list_at(l, 0), &b);
		if (err)
			status = cli_error(c, err, "%s", grove_strerror(err));
		else if (!first)
			out_puts(&c->out, ",\n");
		if (!err)
			out_json(&c->out, grove_buf_slice(&b));
	} else {
		out_puts(&c->out, "restored  ");
		out_line(&c->out, out_str(grove_list_at(l, 0)->path));
		out_puts(&c->out, "\n");
	}
	grove_buf_release(&b);
	grove_list_free(l);
	return status;
}

/* Stops at the first failure; what was restored until then was printed. */
static int restore(struct cli *c, int nr, char **what, const char *to)
{
	int status = EXIT_DONE;

	if (!nr)
		return cli_usage(c, "restore requires a session");
	if (c->json)
		out_puts(&c->out, "[");
	for (int i = 0; i < nr && status == EXIT_DONE; i++)
		status = restore_one(c, what[i], to, !i);
	if (c->json && status == EXIT_DONE)
		out_puts(&c->out, "]\n");
	cli_let_interrupt();
	return status;
}

int cmd_archive(struct cli *c, int argc, char **argv)
{
	struct grove_archive_options o = { sizeof(o) };
	struct archive a = { .c = c };
	struct grove_detail why;
	int all = 0, expiring = 0, err;
	uint64_t days = DAYS_DEFAULT;
	const char *to = NULL;
	const struct opt opts[] = {
		{ "all", .flag = &all },
		{ "expiring", .flag = &expiring, .number = &days },
		{ "to", .string = &to },
		{ "dry-run", .flag = &a.dry },
		{ NULL },
	};

	if (cli_begin(c, opts, "[SESSION...]", &argc, argv))
		return c->status;
	if (argc && !strcmp(argv[0], "restore")) {
		if (all || expiring || a.dry)
			return cli_usage(c, "restore only takes sessions and --to");
		return restore(c, argc - 1, argv + 1, to);
	}
	if (!argc && !all && !expiring)
		return cli_usage(c, "no session given (use SESSION, --all or --expiring)");
	if (argc && (all || expiring))
		return cli_usage(c, "%s cannot be used with SESSION", all ? "--all" : "--expiring");
	if (all && expiring)
		return cli_usage(c, "--all and --expiring cannot be used together");
	if (to && !*to)
		return cli_usage(c, "--to requires a store");
	if (!argc && cli_stores(c))
		return c->status;
	o.to = to;
	o.flags = (expiring ? GROVE_ARCHIVE_EXPIRING : 0) | (a.dry ? GROVE_ARCHIVE_DRY_RUN : 0);
	o.within = days < INT64_MAX / DAY_MS ? (int64_t)days * DAY_MS : -1;
	o.told = on_archived;
	o.payload = &a;
	a.alone = argc == 1;
	a.named = argc > 0;
	if (c->json)
		out_puts(&c->out, "[");
	cli_progress(c, "archiving");
	err = run(&a, &o, argc, argv);
	cli_progress_end(c);
	cli_let_interrupt();
	if (err && (err != GROVE_EACCESS || !a.told))
		return cli_fail_grove(c, err);
	if (a.alone && a.failed)
		return a.status;
	if (c->json)
		out_puts(&c->out, "]\n");
	else if (!a.told)
		cli_warn(c, "no session%s", expiring ? " expires that soon" : "s");
	else
		print_sum(&a, to);
	/*
	 * some directories could not be read; the sessions that were found are archived and
	 * reported
	 */
	if (err) {
		out_flush(&c->out);
		grove_error(c->g, &why);
		cli_warn_detail(c, &why);
		return cli_status(err);
	}
	return a.failed ? EXIT_FAILED : EXIT_DONE;
}
