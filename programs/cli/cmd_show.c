/*
 * cmd_show.c: a conversation for reading.
 */
#include "commands.h"
#include "kit/talk.h"
#include "web.h"

static void title(struct cli *c, struct grove_session *s, struct grove_view *v)
{
	struct out *o = &c->out;
	const char *name = grove_view_name(v);
	const char *cwd = grove_session_cwd(s);

	if (name) {
		out_style(o, OUT_BOLD);
		out_fit(o, out_str(name), o->width - 1);
		out_style(o, OUT_PLAIN);
		out_puts(o, "\n");
	}
	out_style(o, OUT_DIM);
	out_fit(o, out_str(grove_session_id(s)), o->width / 2);
	if (cwd && *cwd) {
		out_puts(o, "  ");
		cli_directory(o, cwd, o->width / 2 - 3);
	}
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

/* Prints the wanted entries as they are stored. */
static int show_json(struct cli *c, const struct talk *t, size_t from, unsigned flags)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int err = 0, first = 1;

	out_puts(&c->out, "[");
	for (size_t i = from; i < t->nr && !err; i++) {
		uint32_t row = t->rows ? t->rows[i] : (uint32_t)i;
		struct grove_entry e = { .size = sizeof(e) };

		b.len = 0;
		err = grove_view_entry(t->v, row, &e);
		if (err || ((t->flags & TALK_USER) && !talk_counts(t, &e)) ||
		    ((t->flags & TALK_NO_TOOLS) && e.role == GROVE_ROLE_TOOL_RESULT))
			continue;
		err = grove_view_line(t->v, row, flags, &b);
		if (err)
			break;
		if (!first)
			out_puts(&c->out, ",\n");
		first = 0;
		out_json(&c->out, grove_buf_slice(&b));
		err = out_failed(&c->out);
	}
	out_puts(&c->out, "]\n");
	grove_buf_release(&b);
	return err;
}

static int show_text(struct cli *c, struct grove_session *s, struct talk *t, size_t from, uint64_t earlier)
{
	if (!(t->flags & TALK_PLAIN))
		cli_pager(c);
	title(c, s, t->v);
	if (earlier) {
		out_style(&c->out, OUT_DIM);
		out_printf(&c->out, "\n… %llu earlier message%s\n", (unsigned long long)earlier,
			   earlier == 1 ? "" : "s");
		out_style(&c->out, OUT_PLAIN);
	}
	return talk_print(t, from);
}

/* Output to a pipe is not rendered: programs get the text as it was written. */
static int is_rendered(const struct cli *c, int plain)
{
	return !plain && (c->out.tty || c->out.color);
}

int cmd_show(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_view *v = NULL;
	struct grove_rows path = { NULL, 0 };
	struct talk t = { .nr = 0 };
	const char *leaf = NULL;
	uint64_t last = UINT64_MAX, earlier = 0;
	size_t from = 0;
	uint32_t to;
	int all = 0, full = 0, user = 0, no_tools = 0, plain = 0, blobs = 0, web = 0, err = 0;
	const struct opt opts[] = {
		{ "leaf", .string = &leaf },
		{ "all", .flag = &all },
		{ "last", .letter = 'n', .number = &last },
		{ "user", .flag = &user },
		{ "no-tools", .flag = &no_tools },
		{ "full", .flag = &full },
		{ "plain", .flag = &plain },
		{ "blobs", .flag = &blobs },
		{ "web", .flag = &web },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (all && leaf)
		return cli_usage(c, "--all and --leaf cannot be used together");
	if (blobs && !c->json)
		return cli_usage(c, "--blobs requires --json");
	if (plain)
		out_color(&c->out, OUT_COLOR_NEVER);
	s = cli_open_read(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	if (web) {
		err = cli_show_web(c, s);
		grove_session_close(s);
		return err;
	}
	v = cli_view(c, s);
	if (!v || cli_leaf(c, v, leaf, &to))
		goto out;
	cli_working(c, "reading");
	if (all)
		path.nr = grove_view_count(v); /* without rows: 0, 1, 2, … */
	else
		err = grove_view_conversation(v, to, GROVE_CONVERSATION_WHOLE, &path);
	talk_init(&t, c, v,
		  (full ? TALK_FULL : 0) | (all ? TALK_ALL : 0) | (user ? TALK_USER : 0) |
			  (no_tools ? TALK_NO_TOOLS : 0) | (is_rendered(c, plain) ? 0 : TALK_PLAIN),
		  path.at, path.nr);
	t.cwd = grove_session_cwd(s);
	if (!err && last != UINT64_MAX)
		err = talk_last(&t, last, &from, &earlier);
	if (!err)
		err = c->json ? show_json(c, &t, from, blobs ? GROVE_LINE_BLOBS : 0) :
				show_text(c, s, &t, from, earlier);
	c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
	talk_release(&t);
out:
	grove_rows_release(&path);
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
