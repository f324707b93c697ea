/*
 * entry.c: finds the entry that the user names.
 */
#include "kit/brief.h"
#include "commands.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of candidates listed; if there are more, the user can type more of the id. */
enum { CANDIDATES = 20 };

static void candidate_json(struct out *o, const struct grove_entry *e, const struct brief *b)
{
	struct grove_buf text = GROVE_BUF_INIT, time = GROVE_BUF_INIT;

	out_puts(o, "{\"id\":");
	out_json_string(o, e->id);
	out_json_member(o, "kind", grove_kind_name(e->kind));
	if (e->role != GROVE_ROLE_NONE)
		out_json_member(o, "role", grove_role_name(e->role));
	if (e->time != GROVE_NO_TIME && !grove_buf_time(&time, e->time)) {
		out_puts(o, ",\"timestamp\":\"");
		out_bytes(o, time.ptr, time.len);
		out_puts(o, "\"");
	}
	if (b->found && !grove_buf_json_string(&text, b->text)) {
		out_puts(o, ",\"text\":");
		out_json(o, grove_buf_slice(&text));
	}
	out_puts(o, "}");
	grove_buf_release(&text);
	grove_buf_release(&time);
}

/* `id` is how many columns of the id are shown. */
static void candidate_line(struct out *o, const struct grove_entry *e, const struct brief *b, unsigned id)
{
	char when[32];
	unsigned used;

	cli_time(when, sizeof(when), e->time, 1);
	out_puts(o, "  ");
	used = 2 + out_fit(o, (struct grove_slice){ e->id, strnlen(e->id, id) }, id);
	out_puts(o, "  ");
	out_column(o, out_str(brief_word(e)), 10);
	out_printf(o, " %-19s ", when);
	used += 2 + 10 + 1 + 19 + 1;
	brief_print(o, b, o->width > used + 12 ? o->width - used - 1 : 11);
	out_puts(o, "\n");
}

/* Prints what distinguishes the entries that `what` may mean, in the format of the error. */
static void candidates(struct cli *c, struct grove_view *v, const char *what, struct out *json)
{
	struct grove_rows found = { NULL, 0 };

	if (grove_view_matches(v, what, &found))
		return;
	out_puts(json, "\"candidates\":[");
	for (size_t i = 0; i < found.nr && i < CANDIDATES; i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct brief b;

		if (grove_view_entry(v, found.at[i], &e) || brief_read(&b, v, found.at[i]))
			break;
		if (c->wants_json) {
			out_puts(json, i ? "," : "");
			candidate_json(json, &e, &b);
		} else {
			candidate_line(&c->err, &e, &b, (unsigned)strnlen(what, 60) + 8);
		}
	}
	out_puts(json, "]");
	if (found.nr > CANDIDATES && !c->wants_json)
		out_printf(&c->err, "  … and %zu more\n", found.nr - CANDIDATES);
	grove_rows_release(&found);
}

static int fail_ambiguous(struct cli *c, struct grove_view *v, const char *what)
{
	struct grove_detail why;
	struct out json;
	int status;

	grove_view_error(v, &why);
	out_init(&json, -1);
	if (c->wants_json)
		candidates(c, v, what, &json);
	c->done = &json;
	status = cli_fail(c, GROVE_EAMBIGUOUS, &why);
	c->done = NULL;
	if (!c->wants_json)
		candidates(c, v, what, &json);
	out_release(&json);
	return status;
}

int cli_leaf(struct cli *c, struct grove_view *v, const char *what, uint32_t *leaf)
{
	int err = 0;

	if (what)
		err = grove_view_resolve(v, what, leaf);
	else
		*leaf = grove_view_leaf(v);
	if (err)
		c->status = err == GROVE_EAMBIGUOUS ? fail_ambiguous(c, v, what) : cli_fail_view(c, v, err);
	return err;
}

static char *copied(const char *str)
{
	size_t size = strlen(str) + 1;

	return memcpy(cli_realloc(NULL, size, 1), str, size);
}

char *cli_entry(struct cli *c, struct grove_session *s, const char *what)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_view *v = NULL;
	uint32_t i = GROVE_NO_ENTRY;
	char *id = NULL;
	int err = grove_session_view(s, &v);

	if (err)
		c->status = cli_fail_session(c, s, err);
	else if (!cli_leaf(c, v, what, &i))
		id = copied(i == GROVE_NO_ENTRY || grove_view_entry(v, i, &e) ? GROVE_ROOT : e.id);
	grove_view_unref(v);
	return id;
}
