/*
 * cmd_check.c: look for damage.
 */
#include "cli.h"

struct check {
	struct cli *c;
	struct out json;    /* the problems; their number stands before them */
	uint64_t files, entries, problems;
};

static void problem_json(struct out *o, const struct grove_problem *p)
{
	out_puts(o, "{\"path\":");
	out_json_string(o, p->path);
	out_printf(o, ",\"line\":%llu,\"offset\":%llu,\"kind\":", (unsigned long long)p->line,
		   (unsigned long long)p->offset);
	out_json_string(o, p->kind);
	if (p->entry_id) {
		out_puts(o, ",\"entryId\":");
		out_json_string(o, p->entry_id);
	}
	out_puts(o, ",\"detail\":");
	out_json_string(o, p->detail ? p->detail : "");
	out_puts(o, p->fixable ? ",\"fixable\":true}" : ",\"fixable\":false}");
}

static int on_problem(void *payload, const struct grove_problem *p)
{
	struct check *ck = payload;
	struct out *o = &ck->c->out;

	if (ck->c->json) {
		if (ck->problems++)
			out_puts(&ck->json, ",\n");
		problem_json(&ck->json, p);
		return 0;
	}
	ck->problems++;
	cli_progress_end(ck->c);
	out_text(o, out_str(p->path));
	out_printf(o, ":%llu: ", (unsigned long long)p->line);
	out_style(o, OUT_RED);
	out_text(o, out_str(p->kind));
	out_style(o, OUT_PLAIN);
	out_puts(o, ": ");
	out_fit(o, out_str(p->detail), 500);
	out_puts(o, "\n");
	return out_failed(o);
}

static int check_one(struct check *ck, const char *what)
{
	struct grove_check_result r = { sizeof(r) };
	int err = grove_check(ck->c->g, what, on_problem, ck, &r);

	if (err)
		return cli_fail_grove(ck->c, err);
	ck->files += r.files;
	ck->entries += r.entries;
	return EXIT_DONE;
}

static void finish(struct check *ck)
{
	struct cli *c = ck->c;

	if (c->json) {
		out_printf(&c->out, "{\"files\":%llu,\"entries\":%llu,\"problems\":[",
			   (unsigned long long)ck->files, (unsigned long long)ck->entries);
		out_bytes(&c->out, ck->json.ptr, ck->json.len);
		out_puts(&c->out, "]}\n");
		return;
	}
	out_flush(&c->out);
	out_printf(&c->err, "%llu file%s, %llu entr%s: ", (unsigned long long)ck->files,
		   ck->files == 1 ? "" : "s", (unsigned long long)ck->entries,
		   ck->entries == 1 ? "y" : "ies");
	if (ck->problems)
		out_printf(&c->err, "%llu problem%s\n", (unsigned long long)ck->problems,
			   ck->problems == 1 ? "" : "s");
	else
		out_puts(&c->err, "no problems\n");
}

int cmd_check(struct cli *c, int argc, char **argv)
{
	struct check ck = { .c = c };
	int status = EXIT_DONE;

	if (cli_begin(c, NULL, "[SESSION...]", &argc, argv))
		return c->status;
	out_init(&ck.json, -1);
	ck.json.tty = c->out.tty;
	cli_progress(c, "checking");
	if (!argc)
		status = check_one(&ck, NULL);
	for (int i = 0; i < argc && !status; i++)
		status = check_one(&ck, argv[i]);
	cli_progress_end(c);
	if (!status) {
		finish(&ck);
		status = ck.problems ? EXIT_DAMAGED : EXIT_DONE;
	}
	out_release(&ck.json);
	return status;
}
