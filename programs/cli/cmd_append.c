/*
 * cmd_append.c: appends lines from standard input as entries.
 *
 * Complete lines that are in the buffer together are appended in one write, and a slow
 * writer gets its id after each line. If a batch is refused, nothing of it was written, so
 * we retry line by line: the lines before the bad one are kept, and the error names it.
 */
#include "commands.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


enum {
	CHUNK = 256 * 1024,
	BATCH = 1024  /* lines */
};

struct append {
	struct cli *c;
	struct grove_session *s;          /* NULL until the first line is read */
	struct grove_create_options make;
	struct grove_append_options opt;
	char *parent;                     /* id of the entry given by --parent */
	int branch;                       /* --parent was given, so stay on that branch */

	struct grove_slice line[BATCH];
	uint64_t number[BATCH];           /* line in the input, from 1 */
	const char *id[BATCH];
	size_t nr;
	uint64_t lines;                   /* number of lines read */
	uint64_t stored;                  /* entries stored */
	struct out ids;                   /* "ids":[… with --json */
};

static const char *const syncs[] = { "none", "flush", "always", NULL };

static void print_ids(struct append *a, size_t from, size_t to)
{
	struct out *o = &a->c->out;

	for (size_t i = from; i < to; i++) {
		const char *id = a->id[i];

		if (a->c->json) {
			/* keep the array closed, because an error may come next */
			a->ids.len -= a->ids.len ? 1 : 0;
			out_puts(&a->ids, a->ids.len ? "," : "\"ids\":[");
			out_json_string(&a->ids, id);
			out_puts(&a->ids, "]");
		} else {
			out_line(o, out_str(id ? id : "-"));
			out_puts(o, "\n");
		}
		if (id && a->branch)
			a->opt.parent = id;
	}
	a->stored += to - from;
	a->opt.flags &= ~(unsigned)GROVE_APPEND_IF_SEQ;
	if (!a->c->json)
		out_flush(o);
}

/* With --json the error comes with their ids. */
static void tell_stored(struct append *a)
{
	if (a->c->wants_json || !a->stored)
		return;
	if (a->stored == 1)
		cli_warn(a->c, "the entry before it was stored");
	else
		cli_warn(a->c, "the %llu entries before it were stored", (unsigned long long)a->stored);
}

/* Reports an error caused by a line of the input. */
static int fail_line(struct append *a, int code, uint64_t number)
{
	struct grove_detail why;
	int blame = code == GROVE_EJSON || code == GROVE_EINVAL || code == GROVE_ENOTFOUND ||
		    code == GROVE_ETOOBIG;
	int status;

	memset(&why, 0, sizeof(why));
	grove_session_error(a->s, &why);
	if (!blame)
		return cli_fail_session(a->c, a->s, code);
	if (!*why.message)
		snprintf(why.message, sizeof(why.message), "%s", grove_strerror(code));
	snprintf(why.path, sizeof(why.path), "-");
	why.line = number;
	if (!why.has_place)
		why.offset = 0;
	why.has_place = 1;
	status = cli_fail(a->c, code, &why);
	tell_stored(a);
	/* the command line was fine, the input was not */
	return code == GROVE_EINVAL ? EXIT_FAILED : status;
}

/* Makes the entries as durable as --sync asks, also in a new file. */
static int settle(struct append *a)
{
	int err = 0;

	if (!grove_session_pending(a->s))
		return 0;
	err = grove_session_ensure(a->s);
	if (!err && a->opt.sync != GROVE_SYNC_NONE)
		err = grove_session_sync(a->s);
	return err;
}

/* Appends the first `nr` gathered lines; *failed is the one that was refused, or `nr`. */
static int append_first(struct append *a, size_t nr, size_t *failed)
{
	struct grove_append_result r = { .size = sizeof(r), .ids = a->id };
	int err = grove_session_append_many(a->s, a->line, nr, &a->opt, &r);

	*failed = r.failed;
	if (!err && !(err = settle(a)))
		print_ids(a, 0, nr);
	return err;
}

/* Appends all of them, or those before the one that is refused and reported. */
static int append_all(struct append *a)
{
	size_t failed, before;
	int err = append_first(a, a->nr, &failed), again;

	if (!err)
		return EXIT_DONE;
	if (failed >= a->nr)
		return cli_fail_session(a->c, a->s, err);
	again = failed ? append_first(a, failed, &before) : 0;
	return again ? cli_fail_session(a->c, a->s, again) : fail_line(a, err, a->number[failed]);
}

/* Appends the gathered lines. */
static int flush_batch(struct append *a)
{
	struct cli *c = a->c;
	int err, status = EXIT_DONE;

	if (!a->nr)
		return EXIT_DONE;
	if (!a->s) {
		cli_progress(c, "appending"); /* if the session is open, Ctrl-C is caught already */
		err = grove_session_create(c->g, &a->make, &a->s);
		if (err)
			return cli_fail_session(c, a->s, err);
		/* another process created it first; the library handles that */
		if (!access(a->make.path, F_OK)) {
			grove_session_close(a->s);
			a->s = cli_open(c, a->make.path, GROVE_OPEN_WRITE | GROVE_OPEN_INIT);
			if (!a->s)
				return c->status;
		}
	}
	status = append_all(a);
	a->nr = 0;
	if (!status && (out_failed(&c->out) || cli_interrupted()))
		status = EXIT_FAILED;
	return status;
}

static int add_line(struct append *a, const char *p, size_t len)
{
	a->lines++;
	while (len && strchr(" \t\r", p[len - 1]))
		len--;
	while (len && strchr(" \t\r", *p)) {
		p++;
		len--;
	}
	if (!len)
		return EXIT_DONE;
	a->line[a->nr] = (struct grove_slice){ p, len };
	a->number[a->nr] = a->lines;
	return ++a->nr == BATCH ? flush_batch(a) : EXIT_DONE;
}

/* Takes the complete lines in buf[0 … len-1]; *used becomes their length. */
static int take_lines(struct append *a, const char *buf, size_t seen, size_t len, size_t *used)
{
	const char *p = buf, *end = buf + len, *nl;
	int status = EXIT_DONE;

	/* the first `seen` bytes contain no line end */
	for (const char *from = buf + seen;
	     !status && (nl = memchr(from, '\n', (size_t)(end - from))); from = p) {
		status = add_line(a, p, (size_t)(nl - p));
		p = nl + 1;
	}
	if (!status)
		status = flush_batch(a);
	*used = (size_t)(p - buf);
	return status;
}

static int read_input(struct append *a)
{
	char *buf = NULL;
	size_t len = 0, cap = 0, used = 0;
	int status = EXIT_DONE;

	while (!status) {
		size_t seen = len;
		ssize_t n;

		if (cap - len < CHUNK) {
			cap = cap ? cap * 2 : 2 * CHUNK;
			buf = cli_realloc(buf, cap, 1);
		}
		n = read(STDIN_FILENO, buf + len, cap - len);
		if (n < 0 && errno == EAGAIN) { /* a pipe that its writer made non-blocking */
			struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };

			n = poll(&wait, 1, -1) < 0 ? -1 : 1;
			if (n > 0)
				continue;
		}
		if (n < 0 && errno == EINTR && !cli_interrupted())
			continue;
		if (cli_interrupted()) {
			status = EXIT_FAILED;
			break;
		}
		if (n < 0) {
			status = cli_error(a->c, GROVE_EIO, "standard input: %s", strerror(errno));
			break;
		}
		if (!n) {
			status = add_line(a, buf, len); /* the last line, without a line end */
			if (!status)
				status = flush_batch(a);
			break;
		}
		len += (size_t)n;
		status = take_lines(a, buf, seen, len, &used);
		len -= used;
		memmove(buf, buf + used, len);
	}
	free(buf);
	return status;
}

/* Returns true if it looks like the path of a file that does not exist. */
static int is_absent_path(const char *what)
{
	size_t len = strlen(what);
	int path = strchr(what, '/') || (len > 6 && !strcmp(what + len - 6, ".jsonl"));

	return path && access(what, F_OK) && errno == ENOENT;
}

/* A file that does not exist has no lines, so the expected number can be checked here. */
static int check_expected(struct append *a)
{
	if (!(a->opt.flags & GROVE_APPEND_IF_SEQ) || a->s)
		return 0;
	a->opt.flags &= ~(unsigned)GROVE_APPEND_IF_SEQ;
	if (!a->opt.seq)
		return 0;
	a->c->status = cli_error(a->c, GROVE_ECONFLICT, "the session has 0 lines, not %llu",
				 (unsigned long long)a->opt.seq);
	return 1;
}

/* Reports an unknown --parent before reading any line. */
static int check_parent(struct append *a)
{
	if (!a->opt.parent || !strcmp(a->opt.parent, GROVE_ROOT))
		return 0;
	if (!a->s) {
		a->c->status = cli_error(a->c, GROVE_ENOTFOUND, "Entry %.200s not found: the session is new",
					 a->opt.parent);
		return 1;
	}
	a->opt.parent = a->parent = cli_entry(a->c, a->s, a->opt.parent);
	return !a->parent;
}

int cmd_append(struct cli *c, int argc, char **argv)
{
	struct append *a = cli_realloc(NULL, 1, sizeof(*a));
	uint64_t expect = GROVE_NO_SEQ;
	const char *cwd = NULL;
	int sync = GROVE_SYNC_NONE, status;
	const struct opt opts[] = {
		{ "parent", .string = &a->opt.parent },
		{ "expect-seq", .number = &expect },
		{ "sync", .choice = &sync, .choices = syncs },
		{ "cwd", .string = &cwd },
		{ NULL },
	};

	memset(a, 0, sizeof(*a));
	a->c = c;
	out_init(&a->ids, -1);
	a->ids.tty = c->out.tty;
	c->done = &a->ids;
	if (cli_begin(c, opts, "SESSION [-]", &argc, argv)) {
		status = c->status;
		goto out;
	}
	if (argc == 2 && strcmp(argv[1], "-")) {
		status = cli_usage(c, "entries are read from standard input, not from '%.64s'", argv[1]);
		goto out;
	}
	a->opt.size = sizeof(a->opt);
	a->opt.flags = expect == GROVE_NO_SEQ ? 0 : GROVE_APPEND_IF_SEQ;
	a->opt.seq = expect;
	a->opt.sync = (enum grove_sync)sync;
	a->branch = a->opt.parent != NULL;
	if (is_absent_path(argv[0])) {
		a->make.size = sizeof(a->make);
		a->make.path = argv[0];
		a->make.cwd = cwd;
		a->make.dialect = c->dialect;
	} else {
		a->s = cli_open(c, argv[0], GROVE_OPEN_WRITE | GROVE_OPEN_INIT);
		if (!a->s) {
			status = c->status;
			goto out;
		}
	}
	if (check_expected(a) || check_parent(a)) {
		status = c->status;
		goto out;
	}
	status = read_input(a);
	if (c->json && !status) {
		out_puts(&c->out, "{");
		out_bytes(&c->out, a->ids.ptr, a->ids.len);
		out_puts(&c->out, a->ids.len ? "}\n" : "\"ids\":[]}\n");
	}
out:
	c->done = NULL;
	out_release(&a->ids);
	grove_session_close(a->s);
	free(a->parent);
	free(a);
	return status;
}
