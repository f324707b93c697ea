/*
 * cmd_context.c: what the model would be sent.
 *
 * The library answers with a document. For people it is read again and
 * listed, a line a message: what a message says comes from the document, since
 * it may differ from the entry it was made of.
 */
#include "brief.h"
#include "cli.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* The first words of a message: its content is text, or blocks of which some are. */
static int message_text(struct grove_slice message, char *buf, size_t size, struct grove_slice *text)
{
	struct grove_slice content, block, value;
	const char *place = NULL;

	if (!json_member(message, "content", &content))
		return 0;
	if (json_text(content, buf, size, text))
		return 1;
	while (json_item(content, &place, &block))
		if (json_member(block, "text", &value) && json_text(value, buf, size, text) &&
		    text->len)
			return 1;
	return 0;
}

/* A document, taken apart once: it may be as large as its session. */
enum { MESSAGES, ENTRY_IDS, EXPLAIN, THINKING_LEVEL, MODEL, MODELS, NR_MEMBERS };
struct context {
	struct grove_slice of[NR_MEMBERS];
	unsigned has;                 /* a bit each */
	struct grove_slice *message;
	size_t nr, cap;
	unsigned role_columns;        /* "assistant" at least */
};

static void take_apart(struct context *x, struct grove_slice doc)
{
	static const char *const names[NR_MEMBERS] = { "messages", "entryIds", "explain", "thinkingLevel",
						       "model", "models" };
	struct grove_slice message, value, role;
	const char *at = NULL;
	char buf[64];
	unsigned n;

	*x = (struct context){ .role_columns = 9 };
	x->has = json_members(doc, names, NR_MEMBERS, x->of);
	while (x->has & 1u << MESSAGES && json_item(x->of[MESSAGES], &at, &message)) {
		if (x->nr == x->cap) {
			x->cap = x->cap ? x->cap * 2 : 256;
			x->message = cli_realloc(x->message, x->cap, sizeof(*x->message));
		}
		x->message[x->nr++] = message;
		if (json_member(message, "role", &value) && json_text(value, buf, sizeof(buf), &role) &&
		    (n = out_width(role, 20)) > x->role_columns)
			x->role_columns = n < 20 ? n : 20;
	}
}

static void print_message(struct cli *c, struct grove_view *v, size_t nr, unsigned role_columns,
			  struct grove_slice message, struct grove_slice id_json)
{
	struct out *o = &c->out;
	struct grove_slice role = out_str("-"), id = out_str("-"), text, value;
	char role_buf[64], id_buf[128], text_buf[1024], size[16];
	unsigned head = 6 + 1 + role_columns + 1 + 8 + 1 + 6 + 2;
	unsigned width = o->width > head + 10 ? o->width - head - 1 : 10;
	uint32_t entry = GROVE_NONE;
	struct brief b;

	if (json_member(message, "role", &value))
		json_text(value, role_buf, sizeof(role_buf), &role);
	if (json_text(id_json, id_buf, sizeof(id_buf) - 1, &id)) {
		id_buf[id.len] = '\0';
		entry = grove_view_find(v, id_buf);
	}
	cli_size(size, sizeof(size), message.len);
	out_printf(o, "%6zu ", nr);
	out_style(o, OUT_BOLD);
	out_column(o, role, role_columns);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	out_style(o, OUT_YELLOW);
	out_column(o, (struct grove_slice){ id.ptr, id.len < 8 ? id.len : 8 }, 8);
	out_style(o, OUT_PLAIN);
	out_printf(o, " %6s  ", size);
	if (message_text(message, text_buf, sizeof(text_buf), &text))
		out_fit(o, text, width);
	else if (entry != GROVE_NONE && !brief_read(&b, v, entry))
		brief_print(o, &b, width);
	out_puts(o, "\n");
}

/* Why each entry is there, or is not. */
static void print_reasons(struct cli *c, struct grove_slice reasons)
{
	struct out *o = &c->out;
	struct grove_slice item, value, text;
	const char *place = NULL;
	char buf[512];

	out_puts(o, "\n");
	while (json_item(reasons, &place, &item) && !out_failed(o)) {
		int in = json_member(item, "included", &value) && json_is_true(value);

		out_puts(o, in ? "  + " : "  - ");
		if (!json_member(item, "entryId", &value) ||
		    !json_text(value, buf, sizeof(buf), &text))
			text = out_str("-");
		out_style(o, in ? OUT_YELLOW : OUT_DIM);
		out_column(o, (struct grove_slice){ text.ptr, text.len < 8 ? text.len : 8 }, 8);
		out_style(o, OUT_PLAIN);
		out_puts(o, " ");
		if (!json_member(item, "kind", &value) || !json_text(value, buf, sizeof(buf), &text))
			text = out_str("-");
		out_column(o, text, 14);
		out_puts(o, " ");
		if (json_member(item, "reason", &value) && json_text(value, buf, sizeof(buf), &text))
			out_fit(o, text, o->width > 42 ? o->width - 29 : 14);
		out_puts(o, "\n");
	}
}

static void print_value(struct out *o, struct grove_slice value)
{
	struct grove_slice text;
	char buf[256];

	if (json_text(value, buf, sizeof(buf), &text))
		out_fit(o, text, 80);
	else
		out_puts(o, "none");
}

static void print_text_member(struct out *o, struct grove_slice object, const char *name)
{
	struct grove_slice value = { NULL, 0 };

	json_member(object, name, &value);
	print_value(o, value);
}

/* Model and level, where the agent keeps them with the session. */
static void print_settings(struct out *o, const struct context *x)
{
	struct grove_slice model = x->of[MODEL], value;

	out_puts(o, "model ");
	if (model.len && *model.ptr == '{' &&
	    (json_member(model, "provider", &value) || json_member(model, "modelId", &value))) {
		print_text_member(o, model, "provider");
		out_puts(o, "/");
		print_text_member(o, model, "modelId");
	} else if (json_member(x->of[MODELS], "default", &value)) {
		print_value(o, value);
	} else {
		out_puts(o, "none");
	}
	out_puts(o, ", thinking ");
	print_value(o, x->of[THINKING_LEVEL]);
	out_puts(o, ", ");
}

static void print_context(struct cli *c, struct grove_view *v, struct grove_slice doc)
{
	struct out *o = &c->out;
	const char *id_at = NULL;
	struct grove_slice id;
	struct context x;
	uint64_t bytes = 0;
	char size[16];

	take_apart(&x, doc);
	for (size_t i = 0; i < x.nr && !out_failed(o); i++) {
		if (!json_item(x.of[ENTRY_IDS], &id_at, &id))
			id = out_str("null");
		print_message(c, v, i + 1, x.role_columns, x.message[i], id);
		bytes += x.message[i].len;
	}
	if (x.has & 1u << EXPLAIN)
		print_reasons(c, x.of[EXPLAIN]);
	if (x.nr)
		out_puts(o, "\n");
	if (x.has & 1u << THINKING_LEVEL)
		print_settings(o, &x);
	cli_size(size, sizeof(size), bytes);
	out_printf(o, "%zu message%s, %s%s\n", x.nr, x.nr == 1 ? "" : "s", size,
		   bytes < 1024 ? " bytes" : "B");
	free(x.message);
}

int cmd_context(struct cli *c, int argc, char **argv)
{
	struct grove_context_options co = { sizeof(co) };
	struct grove_buf doc = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v = NULL;
	uint32_t leaf;
	int err, lazy, mode = -1;
	static const char *const modes[] = { "cli", "sdk", NULL };
	const struct opt opts[] = {
		{ "leaf", .string = &co.leaf },
		{ "llm", .flag = &co.llm },
		{ "explain", .flag = &co.explain },
		{ "mode", .choice = &mode, .choices = modes },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (mode >= 0)
		co.mode = modes[mode];
	/* the shortest way to the answer needs nothing but that */
	lazy = c->json && !co.leaf && !co.explain;
	s = cli_open(c, argv[0], lazy ? GROVE_LAZY : GROVE_READ);
	if (!s)
		return c->status;
	/* nothing was read yet, and perhaps not all of it need be */
	if (lazy && !grove_session_cwd(s)) {
		err = grove_session_context(s, &co, out_json_sink(&c->out));
		if (!err)
			out_end_line(&c->out);
		c->status = err ? cli_fail_session(c, s, err) : EXIT_DONE;
		/* all of it was read after all: tell what was passed over */
		if (!err && grove_session_cwd(s))
			v = cli_view(c, s);
		goto out;
	}
	v = cli_view(c, s);
	if (!v || cli_leaf(c, v, co.leaf, &leaf))
		goto out;
	if (c->json) {
		err = grove_view_context(v, &co, out_json_sink(&c->out));
		if (!err)
			out_end_line(&c->out);
	} else {
		err = grove_view_context(v, &co, grove_buf_sink(&doc));
		if (!err)
			print_context(c, v, (struct grove_slice){ doc.ptr, doc.len });
	}
	c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
out:
	grove_buf_release(&doc);
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
