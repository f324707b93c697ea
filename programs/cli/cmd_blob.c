/*
 * cmd_blob.c: content-addressed blobs: put, get, verify, gc.
 */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOB_MAX ((size_t)1 << 30)

struct blob {
	struct cli *c;
	struct grove_blobs *b;

	/* options; the table below says which actions take which */
	const char *dir, *output;
	int sync, force;
	uint64_t grace;

	struct out json;        /* the items of an array that is printed after its totals */
	uint64_t listed;
};

#define NO_GRACE UINT64_MAX

static int fail_blob(struct blob *x, int err)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	if (x->b)
		grove_blobs_error(x->b, &why);
	return why.code ? cli_fail(x->c, err, &why) : cli_fail_grove(x->c, err);
}

/* ---------------------------------------------------------------------- put */

struct stored {
	char ref[GROVE_BLOB_REF_MAX];
	size_t size;
	int known;
};

static int fail_file(struct cli *c, int err, const char *path)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	snprintf(why.path, sizeof(why.path), "%s", path);
	snprintf(why.message, sizeof(why.message), "%s", strerror(err));
	return cli_fail(c, err == ENOENT ? GROVE_ENOTFOUND : err == EACCES ? GROVE_EACCESS :
			   err == ENOSPC || err == EDQUOT || err == EFBIG ? GROVE_EFULL : GROVE_EIO, &why);
}

static int fail_too_big(struct cli *c, const char *path)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	snprintf(why.path, sizeof(why.path), "%s", path);
	snprintf(why.message, sizeof(why.message), "a blob cannot be larger than 1 GiB");
	return cli_fail(c, GROVE_ETOOBIG, &why);
}

/* Reads everything from a descriptor. */
static int read_all(struct cli *c, int fd, const char *path, struct grove_buf *b)
{
	struct stat st;
	ssize_t n = 1;

	/* one byte more than expected, so that the end of the file shows in the same read */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size < BLOB_MAX)
		b->cap = (size_t)st.st_size + 1;
	else
		b->cap = 256 * 1024;
	b->ptr = cli_realloc(NULL, b->cap, 1);
	while (n) {
		if (b->len > BLOB_MAX)
			return fail_too_big(c, path);
		if (b->len == b->cap) {
			b->cap *= 2;
			b->ptr = cli_realloc(b->ptr, b->cap, 1);
		}
		n = read(fd, b->ptr + b->len, b->cap - b->len);
		if (n < 0 && errno == EAGAIN) { /* a pipe that its writer made non-blocking */
			struct pollfd wait = { .fd = fd, .events = POLLIN };

			poll(&wait, 1, -1);
		} else if (n < 0 && errno != EINTR) {
			return fail_file(c, errno, path);
		} else if (n > 0) {
			b->len += (size_t)n;
		}
		if (cli_interrupted())
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int read_file(struct cli *c, const char *path, struct grove_buf *b)
{
	int fd = STDIN_FILENO, status;

	if (strcmp(path, "-"))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_file(c, errno, path);
	status = read_all(c, fd, path, b);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}

static void print_stored(struct blob *x, const struct stored *s, size_t nr)
{
	struct out *o = &x->c->out;
	struct grove_buf path = GROVE_BUF_INIT;

	if (x->c->json)
		out_puts(o, "[");
	for (size_t i = 0; i < nr; i++) {
		if (!x->c->json) {
			out_printf(o, "%s\n", s[i].ref);
			continue;
		}
		path.len = 0;
		out_printf(o, "%s{\"ref\":\"%s\",\"hash\":\"%s\",\"size\":%zu,\"known\":%s,\"path\":",
			   i ? ",\n" : "", s[i].ref, strrchr(s[i].ref, ':') + 1, s[i].size,
			   s[i].known ? "true" : "false");
		out_json_string(o, grove_blobs_path(x->b, s[i].ref, &path) ? "" : path.ptr);
		out_puts(o, "}");
	}
	if (x->c->json)
		out_puts(o, "]\n");
	grove_buf_release(&path);
}

static int put_one(struct blob *x, const char *path, struct stored *s)
{
	struct grove_blobs_put_options bo = {
		.size = sizeof(bo),
		.sync = x->sync ? GROVE_SYNC_ALWAYS : GROVE_SYNC_NONE,
		.flags = GROVE_BLOBS_PUT_LATER,
	};
	struct grove_buf b = GROVE_BUF_INIT;
	int err, status = read_file(x->c, path, &b);

	if (!status) {
		s->size = b.len;
		err = grove_blobs_put(x->b, (struct grove_slice){ b.ptr, b.len }, &bo, s->ref, &s->known);
		if (err)
			status = fail_blob(x, err);
	}
	free(b.ptr);
	return status;
}

static int put(struct blob *x, int argc, char **argv)
{
	int status = EXIT_DONE, err, files = argc ? argc : 1, nr = 0;
	struct stored *s = cli_realloc(NULL, (size_t)files, sizeof(*s));

	cli_progress(x->c, "storing"); /* Ctrl-C waits until the file is done */
	while (nr < files && !status) {
		status = put_one(x, argc ? argv[nr] : "-", &s[nr]);
		nr += !status;
	}
	err = x->sync && nr ? grove_blobs_sync(x->b) : 0;
	if (err)
		status = fail_blob(x, err);
	/* what was stored is reported; but a JSON document covers all files or none */
	else if (!status || !x->c->json)
		print_stored(x, s, (size_t)nr);
	free(s);
	return status;
}

/* ---------------------------------------------------------------------- get */

static int write_output(struct cli *c, const char *path, struct grove_slice bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), err = 0;

	if (fd < 0)
		return fail_file(c, errno, path);
	while (bytes.len && !err) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		if (n >= 0) {
			bytes.ptr += n;
			bytes.len -= (size_t)n;
		} else if (errno != EINTR) {
			err = errno;
		}
	}
	if (close(fd) && !err)
		err = errno;
	return err ? fail_file(c, err, path) : EXIT_DONE;
}

static int print_get_json(struct blob *x, const char *what, struct grove_slice bytes)
{
	struct out *o = &x->c->out;
	const char *hash = strrchr(what, ':');
	struct grove_buf b = GROVE_BUF_INIT;
	int err;

	hash = hash ? hash + 1 : what;
	out_printf(o, "{\"ref\":\"blob:sha256:%s\",\"hash\":\"%s\",\"size\":%zu,\"path\":", hash, hash,
		   bytes.len);
	err = grove_blobs_path(x->b, what, &b);
	out_json_string(o, err ? "" : b.ptr);
	if (!x->output && !err) {
		b.len = 0;
		err = grove_buf_base64(&b, bytes);
		out_puts(o, ",\"data\":\"");
		out_bytes(o, b.ptr, err ? 0 : b.len);
		out_puts(o, "\"");
	}
	out_puts(o, "}\n");
	grove_buf_release(&b);
	return err ? cli_error(x->c, err, "%s", grove_strerror(err)) : EXIT_DONE;
}

static int get(struct blob *x, int argc, char **argv)
{
	struct cli *c = x->c;
	struct grove_buf b = GROVE_BUF_INIT;
	int err, status = EXIT_DONE;

	(void)argc;
	if (x->output && !strcmp(x->output, "-")) {
		x->output = NULL;
		x->force = 1;
	}
	if (!c->json && !x->output && c->out.tty && !x->force)
		return cli_usage(c, "not printing binary data to a terminal (use -o FILE to save it, or --force)");
	err = grove_blobs_get(x->b, argv[0], &b);
	if (err)
		status = fail_blob(x, err);
	if (!status && x->output)
		status = write_output(c, x->output, (struct grove_slice){ b.ptr, b.len });
	if (!status && c->json)
		status = print_get_json(x, argv[0], (struct grove_slice){ b.ptr, b.len });
	else if (!status && !x->output)
		out_bytes(&c->out, b.ptr, b.len);
	grove_buf_release(&b);
	return status;
}

/* ------------------------------------------------------------------- verify */

static int on_problem(void *payload, const struct grove_blob_problem *p)
{
	struct blob *x = payload;
	struct out *o = x->c->json ? &x->json : &x->c->out;

	if (x->c->json) {
		out_printf(o, "%s{\"hash\":\"%s\",\"path\":", x->listed++ ? ",\n" : "", p->hash);
		out_json_string(o, p->path);
		out_printf(o, ",\"kind\":\"%s\",\"detail\":", p->kind);
		out_json_string(o, p->detail);
		out_puts(o, "}");
		return 0;
	}
	out_line(o, out_str(p->path));
	out_puts(o, ": ");
	out_style(o, OUT_RED);
	out_puts(o, p->kind);
	out_style(o, OUT_PLAIN);
	out_puts(o, ": ");
	out_line(o, out_str(p->detail));
	out_puts(o, "\n");
	return out_failed(o);
}

static int verify(struct blob *x, int argc, char **argv)
{
	struct grove_blobs_verify_result sum = { sizeof(sum) }, r = { sizeof(r) };
	struct cli *c = x->c;
	char size[16];
	int err;

	cli_progress(c, "reading blobs");
	for (int i = 0; i < argc || (!argc && !i); i++) {
		err = grove_blobs_verify(x->b, argc ? argv[i] : NULL, on_problem, x, &r);
		if (err)
			return fail_blob(x, err);
		sum.blobs += r.blobs;
		sum.bytes += r.bytes;
		sum.problems += r.problems;
	}
	cli_progress_end(c);
	if (c->json) {
		out_printf(&c->out, "{\"blobs\":%llu,\"bytes\":%llu,\"problems\":[",
			   (unsigned long long)sum.blobs, (unsigned long long)sum.bytes);
		out_bytes(&c->out, x->json.ptr, x->json.len);
		out_puts(&c->out, "]}\n");
	} else {
		cli_size(size, sizeof(size), sum.bytes);
		out_printf(&c->out, "%llu blob%s (%s): ", (unsigned long long)sum.blobs,
			   sum.blobs == 1 ? "" : "s", size);
		if (sum.problems)
			out_printf(&c->out, "%llu damaged\n", (unsigned long long)sum.problems);
		else
			out_puts(&c->out, "no damage\n");
	}
	return sum.problems ? EXIT_DAMAGED : EXIT_DONE;
}

/* ----------------------------------------------------------------------- gc */

static const char *const fates[] = {
	[GROVE_BLOB_FATE_REFERENCED] = "referenced",
	[GROVE_BLOB_FATE_YOUNG] = "young",
	[GROVE_BLOB_FATE_GARBAGE] = "garbage",
	[GROVE_BLOB_FATE_REMOVED] = "removed",
};

static int on_blob(void *payload, const struct grove_blob_item *i)
{
	struct blob *x = payload;
	struct out *o = x->c->json ? &x->json : &x->c->out;
	struct grove_buf when = GROVE_BUF_INIT;
	char size[16];

	if (x->c->json) {
		out_printf(o, "%s{\"hash\":", x->listed++ ? ",\n" : "");
		out_json_string(o, i->hash);
		out_json_member(o, "path", i->path);
		out_printf(o, ",\"size\":%llu,\"modified\":\"%s\",\"fate\":\"%s\"}",
			   (unsigned long long)i->bytes,
			   grove_buf_time(&when, i->modified) ? "" : when.ptr, fates[i->fate]);
		grove_buf_release(&when);
		return 0;
	}
	if (i->fate != GROVE_BLOB_FATE_GARBAGE && i->fate != GROVE_BLOB_FATE_REMOVED)
		return 0;
	cli_size(size, sizeof(size), i->bytes);
	out_printf(o, "%s %5s  ", i->fate == GROVE_BLOB_FATE_REMOVED ? "removed" : "garbage", size);
	out_line(o, out_str(i->path));
	out_puts(o, "\n");
	return out_failed(o);
}

static void put_sum(struct out *o, const char *name, uint64_t nr, uint64_t bytes)
{
	out_printf(o, ",\"%s\":{\"blobs\":%llu,\"bytes\":%llu}", name, (unsigned long long)nr,
		   (unsigned long long)bytes);
}

static void say_sum(struct out *o, const char *words, uint64_t nr, uint64_t bytes)
{
	char size[CLI_BYTES];

	out_printf(o, "%llu %s", (unsigned long long)nr, words);
	if (nr) {
		cli_bytes(size, bytes);
		out_printf(o, " (%s)", size);
	}
}

static int gc(struct blob *x, int argc, char **argv)
{
	struct grove_blobs_gc_options go = { .size = sizeof(go), .flags = x->force ? GROVE_BLOBS_GC_REMOVE : 0 };
	struct grove_blobs_gc_result r = { sizeof(r) };
	struct cli *c = x->c;
	int err;

	(void)argc;
	(void)argv;
	if (x->grace != NO_GRACE)
		go.grace = !x->grace ? -1 : x->grace > INT64_MAX / 1000 ? INT64_MAX : (int64_t)x->grace * 1000;
	cli_progress(c, "looking for references");
	err = grove_blobs_gc(x->b, &go, on_blob, x, &r);
	cli_progress_end(c);
	if (err)
		return fail_blob(x, err);
	if (c->json) {
		struct out *o = &c->out;

		out_printf(o, "{\"dryRun\":%s,\"searched\":{\"files\":%llu,\"bytes\":%llu}",
			   x->force ? "false" : "true", (unsigned long long)r.files,
			   (unsigned long long)r.scanned);
		put_sum(o, "referenced", r.referenced, r.referenced_bytes);
		put_sum(o, "young", r.young, r.young_bytes);
		put_sum(o, x->force ? "removed" : "garbage", r.garbage, r.garbage_bytes);
		out_puts(o, ",\"blobs\":[");
		out_bytes(o, x->json.ptr, x->json.len);
		out_puts(o, "]}\n");
		return EXIT_DONE;
	}
	out_flush(&c->out);
	if (!r.files && r.garbage)
		cli_warn(c, "found no sessions that could refer to a blob (add a --store?)");
	out_puts(&c->err, "blobs: ");
	say_sum(&c->err, "referenced", r.referenced, r.referenced_bytes);
	out_puts(&c->err, ", ");
	say_sum(&c->err, "young", r.young, r.young_bytes);
	out_puts(&c->err, ", ");
	say_sum(&c->err, x->force ? "removed" : "garbage", r.garbage, r.garbage_bytes);
	out_puts(&c->err, r.garbage && !x->force ? "; use --force to delete it\n" : "\n");
	return EXIT_DONE;
}

/* ------------------------------------------------------------------ actions */

enum { HAS_OUTPUT = 1, HAS_FORCE = 2, HAS_GRACE = 4, HAS_SYNC = 8 };

static const struct action {
	const char *name;
	int (*run)(struct blob *x, int argc, char **argv);
	const char *operands;
	unsigned has;
} actions[] = {
	{ "put", put, "[FILE...]", HAS_SYNC },
	{ "get", get, "REF", HAS_OUTPUT | HAS_FORCE },
	{ "verify", verify, "[REF...]", 0 },
	{ "gc", gc, "", HAS_FORCE | HAS_GRACE },
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	return NULL;
}

static const char *misplaced(const struct blob *x, const struct action *a)
{
	if (x->output && !(a->has & HAS_OUTPUT))
		return "output";
	if (x->force && !(a->has & HAS_FORCE))
		return "force";
	if (x->grace != NO_GRACE && !(a->has & HAS_GRACE))
		return "grace";
	return x->sync && !(a->has & HAS_SYNC) ? "sync" : NULL;
}

int cmd_blob(struct cli *c, int argc, char **argv)
{
	struct blob x = { .c = c, .grace = NO_GRACE };
	const struct action *a;
	char why[512];
	int err, status;
	const struct opt opts[] = {
		{ "dir", .string = &x.dir },
		{ "output", .letter = 'o', .string = &x.output },
		{ "force", .flag = &x.force },
		{ "grace", .number = &x.grace },
		{ "sync", .flag = &x.sync },
		{ NULL },
	};

	if (cli_begin(c, opts, "put|get|verify|gc [ARGUMENT...]", &argc, argv))
		return c->status;
	a = find_action(argv[0]);
	if (!a)
		return cli_usage(c, "'%.64s' is not one of put, get, verify, gc", argv[0]);
	if (misplaced(&x, a))
		return cli_usage(c, "%s has no option --%s", a->name, misplaced(&x, a));
	if (opt_operands(a->operands, argc - 1, argv + 1, why, sizeof(why)))
		return cli_usage(c, "%s (usage: grove blob %s%s%s)", why, a->name,
				 *a->operands ? " " : "", a->operands);
	out_init(&x.json, -1);
	x.json.tty = c->out.tty;
	err = grove_blobs_open(c->g, x.dir, &x.b);
	status = err ? fail_blob(&x, err) : a->run(&x, argc - 1, argv + 1);
	grove_blobs_close(x.b);
	out_release(&x.json);
	return status;
}
