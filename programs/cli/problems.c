/*
 * problems.c: prints what is wrong with sessions.
 */
#include "problems.h"

#include "kit/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void problems_begin(struct problems *ck, struct cli *c)
{
	*ck = (struct problems){ .c = c };
	out_init(&ck->json, -1);
	ck->json.tty = c->out.tty;
	out_init(&ck->changes, -1);
	out_init(&ck->mended, -1);
}

void problems_release(struct problems *ck)
{
	out_release(&ck->json);
	out_release(&ck->changes);
	out_release(&ck->mended);
	free(ck->path);
}

static void problem_json(struct out *o, const struct grove_problem *p)
{
	out_puts(o, "{\"path\":");
	out_json_string(o, p->path);
	out_printf(o, ",\"line\":%llu,\"offset\":%llu,\"kind\":", (unsigned long long)p->line,
		   (unsigned long long)p->offset);
	out_json_string(o, p->kind);
	if (p->entry_id)
		out_json_member(o, "entryId", p->entry_id);
	out_json_member(o, "detail", p->detail ? p->detail : "");
	out_puts(o, p->fixable ? ",\"fixable\":true}" : ",\"fixable\":false}");
}

/* On a terminal the path of a file is printed once, above its problems, which are wrapped. */
static void print_on_terminal(struct problems *ck, const struct grove_problem *p)
{
	struct out *o = &ck->c->out;
	struct wrap_prefix first = { .len = 0 }, rest = { .len = 0 };
	char line[32];
	struct wrap w;

	if (!ck->path || strcmp(ck->path, p->path)) {
		free(ck->path);
		ck->path = memcpy(cli_realloc(NULL, strlen(p->path) + 1, 1), p->path, strlen(p->path) + 1);
		out_line(o, out_str(p->path));
		out_puts(o, "\n");
	}
	snprintf(line, sizeof(line), "  %llu: ", (unsigned long long)p->line);
	wrap_prefix_add(&first, o, line, 0);
	wrap_prefix_add(&rest, o, "     ", 0);
	wrap_init(&w, o, o->width);
	wrap_prefix(&w, &first, &rest);
	wrap_text(&w, out_str(p->kind), OUT_RED << WRAP_COLOR);
	wrap_text(&w, out_str(": "), 0);
	wrap_text(&w, out_str(p->detail), 0);
	wrap_end(&w);
	wrap_release(&w);
}

int problems_add(void *payload, const struct grove_problem *p)
{
	struct problems *ck = payload;
	struct out *o = &ck->c->out;

	if (ck->c->json) {
		if (ck->problems++)
			out_puts(&ck->json, ",\n");
		problem_json(&ck->json, p);
		return 0;
	}
	ck->problems++;
	ck->fixable += p->fixable;
	if (o->tty) {
		print_on_terminal(ck, p);
		return out_failed(o);
	}
	out_line(o, out_str(p->path));
	out_printf(o, ":%llu: ", (unsigned long long)p->line);
	out_style(o, OUT_RED);
	out_line(o, out_str(p->kind));
	out_style(o, OUT_PLAIN);
	out_puts(o, ": ");
	out_fit(o, out_str(p->detail), 500);
	out_puts(o, "\n");
	return out_failed(o);
}

void problems_change(struct problems *ck, const struct grove_fix_change *x)
{
	struct out *o = &ck->changes;

	out_puts(o, ck->nr_changes++ ? ",\n{\"path\":" : "{\"path\":");
	out_json_string(o, x->path);
	out_printf(o, ",\"line\":%llu,\"newLine\":%llu,\"kind\":", (unsigned long long)x->line,
		   (unsigned long long)x->new_line);
	out_json_string(o, x->kind);
	if (x->entry_id)
		out_json_member(o, "entryId", x->entry_id);
	out_json_member(o, "detail", x->detail);
	out_puts(o, "}");
}

void problems_mended(struct problems *ck, const char *path, const char *cut)
{
	struct out *o = &ck->mended;

	if (!ck->c->json) {
		out_flush(&ck->c->out);
		out_line(&ck->c->err, out_str(path));
		out_puts(&ck->c->err, ": repaired");
		if (cut) {
			out_puts(&ck->c->err, "; what was removed is in ");
			out_line(&ck->c->err, out_str(cut));
		}
		out_puts(&ck->c->err, "\n");
		out_flush(&ck->c->err);
		return;
	}
	out_puts(o, ck->nr_mended++ ? ",\n{\"path\":" : "{\"path\":");
	out_json_string(o, path);
	if (cut)
		out_json_member(o, "cut", cut);
	out_puts(o, "}");
}

static void print_members(const struct problems *ck, struct out *o)
{
	out_printf(o, "\"files\":%llu,\"entries\":%llu,\"problems\":[", (unsigned long long)ck->files,
		   (unsigned long long)ck->entries);
	out_bytes(o, ck->json.ptr, ck->json.len);
	if (ck->fixing) {
		out_puts(o, "],\"changes\":[");
		out_bytes(o, ck->changes.ptr, ck->changes.len);
		out_puts(o, "],\"mended\":[");
		out_bytes(o, ck->mended.ptr, ck->mended.len);
	}
	out_puts(o, "]");
}

static void print_counts(const struct problems *ck)
{
	struct cli *c = ck->c;
	struct out *o = &c->out;

	out_printf(o, "%llu file%s, %llu entr%s: ", (unsigned long long)ck->files,
		   ck->files == 1 ? "" : "s", (unsigned long long)ck->entries,
		   ck->entries == 1 ? "y" : "ies");
	if (ck->problems)
		out_printf(o, "%llu problem%s\n", (unsigned long long)ck->problems,
			   ck->problems == 1 ? "" : "s");
	else
		out_puts(o, "no problems\n");
	out_flush(o);
	if (ck->fixable && !ck->fixing && c->out.tty && !strcmp(c->command, "check"))
		out_printf(&c->err, "%llu of them can be repaired (grove check --fix --dry-run shows how)\n",
			   (unsigned long long)ck->fixable);
}

int problems_print(struct problems *ck, int err, const struct grove_detail *why)
{
	struct cli *c = ck->c;
	struct out members;
	int status = ck->problems ? EXIT_DAMAGED : EXIT_DONE;

	if (!c->json) {
		/* if it failed at once, there is no result */
		if (!err || (ck->files && err != GROVE_ECANCELLED))
			print_counts(ck);
		return err ? cli_fail(c, err, why) : status;
	}
	out_init(&members, -1);
	members.tty = c->out.tty;
	print_members(ck, &members);
	if (err) {
		c->done = ck->files ? &members : NULL;
		status = cli_fail(c, err, why);
		c->done = NULL;
	} else {
		out_puts(&c->out, "{");
		out_bytes(&c->out, members.ptr, members.len);
		out_puts(&c->out, "}\n");
	}
	out_release(&members);
	return status;
}
