/*
 * report.c: what was done.
 */
#include "sync.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* On a terminal: as much of an id as lists show of a UUID, and the least of a name that says something. */
enum { ID_SHORT = 13, NAME_LEAST = 8 };

static void add_object(struct out *o, const char *kind, const char *value, const char *message)
{
	out_puts(o, o->len ? ",{" : "{");
	out_json_string(o, kind);
	out_puts(o, ":");
	out_json_string(o, value);
	out_json_member(o, "message", message);
}

void report_problem(struct job *j, int code, const char *fmt, ...)
{
	char why[700];
	va_list ap;

	/* said once, at the end */
	if (code == GROVE_ECANCELLED && sync_stopped())
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	j->failed++;
	if (!j->s->c->json)
		cli_warn(j->s->c, "%.200s: %s", j->id, why);
	add_object(&j->problems, "code", grove_error_name(code), why);
	out_puts(&j->problems, "}");
}

void report_note(struct job *j, const char *kind, uint64_t n, const char *fmt, ...)
{
	char why[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (!j->s->c->json)
		cli_warn(j->s->c, "%.200s: %s", j->id, why);
	add_object(&j->notes, "kind", kind, why);
	out_json_count(&j->notes, "count", n);
	out_puts(&j->notes, "}");
}

static void list_session(struct job *j)
{
	struct out *o = &j->s->list;

	out_puts(o, j->s->listed++ ? ",{\"id\":" : "{\"id\":");
	out_json_string(o, j->id);
	out_json_count(o, "pushed", j->pushed);
	out_json_count(o, "pulled", j->pulled);
	out_json_count(o, "filesPushed", j->files_pushed);
	out_json_count(o, "filesPulled", j->files_pulled);
	out_printf(o, ",\"branchedHere\":%s,\"branchedThere\":%s", j->branched_here ? "true" : "false",
		   j->branched_there ? "true" : "false");
	if (j->notes.len) {
		out_puts(o, ",\"left\":[");
		out_bytes(o, j->notes.ptr, j->notes.len);
		out_puts(o, "]");
	}
	if (j->problems.len) {
		out_puts(o, ",\"problems\":[");
		out_bytes(o, j->problems.ptr, j->problems.len);
		out_puts(o, "]");
	}
	out_puts(o, "}");
}

static void put_counts(struct out *o, const struct job *j)
{
	if (j->pushed || j->files_pushed)
		out_printf(o, " pushed %llu", (unsigned long long)j->pushed);
	if (j->files_pushed)
		out_printf(o, " and %llu file%s", (unsigned long long)j->files_pushed, j->files_pushed == 1 ? "" : "s");
	if (j->pulled || j->files_pulled)
		out_printf(o, "%s pulled %llu", j->pushed || j->files_pushed ? "," : "", (unsigned long long)j->pulled);
	if (j->files_pulled)
		out_printf(o, " and %llu file%s", (unsigned long long)j->files_pulled, j->files_pulled == 1 ? "" : "s");
	if (j->branched_here || j->branched_there)
		out_printf(o, " (branched%s%s)", j->branched_here ? " here" : "", j->branched_there ? " on the server" : "");
}

/* People know a session by its name, as a list shows it. */
static void print_name(struct out *o, const struct job *j, unsigned room)
{
	struct grove_list *l = NULL;
	const struct grove_list_item *x;

	if (room >= NAME_LEAST && !grove_find(j->s->c->g, j->id, GROVE_FIND_ID, &l) && (x = grove_list_at(l, 0))) {
		out_puts(o, "  ");
		out_fit(o, x->name ? out_str(x->name) : (struct grove_slice){ x->first_message, x->first_message_len }, room);
	}
	grove_list_free(l);
}

static void print_session(struct job *j)
{
	struct out *o = &j->s->c->out, counts;
	unsigned used;

	out_init(&counts, -1);
	put_counts(&counts, j);
	used = (o->tty ? out_width(out_str(j->id), ID_SHORT) : 0) + 1 + (unsigned)counts.len + 2;
	if (o->tty)
		out_fit(o, (struct grove_slice){ j->id, strnlen(j->id, ID_SHORT) }, ID_SHORT);
	else
		out_line(o, out_str(j->id));
	out_puts(o, ":");
	out_bytes(o, counts.ptr ? counts.ptr : "", counts.len);
	if (o->tty)
		print_name(o, j, o->width > used ? o->width - used : 0);
	out_puts(o, "\n");
	out_flush(o);
	out_release(&counts);
}

void report_session(struct job *j)
{
	struct totals *t = &j->s->totals;
	int pushed = j->pushed || j->files_pushed, pulled = j->pulled || j->files_pulled;

	t->pushed += (uint64_t)pushed;
	t->pulled += (uint64_t)pulled;
	t->branched += (uint64_t)(j->branched_here || j->branched_there);
	t->unchanged += (uint64_t)(!pushed && !pulled && !j->failed);
	t->failed += j->failed ? 1 : 0;
	t->lines_pushed += j->pushed;
	t->lines_pulled += j->pulled;
	t->files_pushed += j->files_pushed;
	t->files_pulled += j->files_pulled;
	if (pushed || pulled || j->problems.len || j->notes.len)
		list_session(j);
	if (!j->s->c->json && (pushed || pulled))
		print_session(j);
}

void report_totals(struct sync *s)
{
	struct out *o = &s->c->out;
	const struct totals *t = &s->totals;

	cli_progress_end(s->c);
	if (!s->c->json) {
		out_printf(o, "%spushed %llu, pulled %llu, branched %llu, unchanged %llu", s->dry ? "would be: " : "",
			   (unsigned long long)t->pushed, (unsigned long long)t->pulled,
			   (unsigned long long)t->branched, (unsigned long long)t->unchanged);
		if (t->failed)
			out_printf(o, ", failed %llu", (unsigned long long)t->failed);
		out_puts(o, "\n");
		return;
	}
	out_printf(o, "{\"pushed\":%llu,\"pulled\":%llu,\"branched\":%llu,\"unchanged\":%llu",
		   (unsigned long long)t->pushed, (unsigned long long)t->pulled, (unsigned long long)t->branched,
		   (unsigned long long)t->unchanged);
	out_json_count(o, "failed", t->failed);
	out_json_count(o, "linesPushed", t->lines_pushed);
	out_json_count(o, "linesPulled", t->lines_pulled);
	out_json_count(o, "filesPushed", t->files_pushed);
	out_json_count(o, "filesPulled", t->files_pulled);
	out_printf(o, ",\"dryRun\":%s,\"sessions\":[", s->dry ? "true" : "false");
	out_json(o, (struct grove_slice){ s->list.ptr ? s->list.ptr : "", s->list.len });
	out_puts(o, "]}\n");
}

void report_progress(struct sync *s, const char *id)
{
	char what[128];

	snprintf(what, sizeof(what), "%.13s: %llu pushed, %llu pulled", id,
		 (unsigned long long)s->totals.lines_pushed, (unsigned long long)s->totals.lines_pulled);
	progress_say(&s->c->progress, what);
}
