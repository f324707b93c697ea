/*
 * view/context.c: writes what the model will be sent next.
 *
 * choice.c decides which entries that are. Model and thinking level come from the whole
 * path. Only the lines that are printed are read, and the few that set something.
 */
#include "dialect/message.h"
#include "image/messages.h"
#include "json/out.h"
#include "session/blobs.h"
#include "view/heads.h"
#include "view/weight.h"

#include "base/array.h"
#include "sys/clock.h"

#include <assert.h>
#include <stdlib.h>

/* The first text of a message is reported up to this many bytes. */
#define PREVIEW_MAX ((size_t)1024)

/* Why an entry is, or is not, part of the context. */
enum why { WHY_SENT, WHY_SILENT, WHY_COMPACTED, WHY_SUMMARY, WHY_EDITED, WHY_DROPPED, WHY_RESET };

static const char *const reasons[] = {
	[WHY_SENT] = "sent as it is",
	[WHY_SILENT] = "not sent to the model",
	[WHY_COMPACTED] = "before the last compaction, which did not keep it",
	[WHY_SUMMARY] = "sent in place of what it compacted",
	[WHY_EDITED] = "sent with the content of a context edit",
	[WHY_DROPPED] = "dropped by a context edit",
	[WHY_RESET] = "before the context was restarted",
};

/* Which of the rows on the way up from the leaf set something; see sets(). */
struct rules {
	uint8_t by[GROVE__KINDS][GROVE__ROLES]; /* the results of sets(); messages are
	                                           distinguished by role */
	unsigned open;                   /* kinds of which one still has to be found */
	bool all;                        /* there are kinds of which every row counts */
};

static void rules_init(struct rules *r, const struct grove__dialect *dialect)
{
	memset(r, 0, sizeof(*r));
	for (unsigned kind = 0; kind < GROVE__KINDS; kind++)
		for (unsigned role = 0; role < (kind == GROVE_KIND_MESSAGE ? GROVE__ROLES : 1u); role++) {
			enum grove__setting set = dialect->context.sets((enum grove_kind)kind,
									(enum grove_role)role);

			r->by[kind][role] = (uint8_t)set;
			r->open += set == SETTING_LAST;
			r->all |= set == SETTING_ALL;
		}
}

/* True if the row, on the way up from the leaf, determines a setting. */
static bool rules_want(struct rules *r, unsigned kind, unsigned role)
{
	uint8_t *set;

	assert(kind < GROVE__KINDS && role < GROVE__ROLES);
	set = &r->by[kind][kind == GROVE_KIND_MESSAGE ? role : 0];
	if (*set == SETTING_NONE)
		return false;
	/* nothing of this kind further up matters */
	if (*set == SETTING_LAST) {
		*set = SETTING_NONE;
		r->open--;
	}
	return true;
}

/* Finds the rows on the path to `leaf` that set something, from the leaf up. */
static int find_settings(const struct grove__image *im, uint32_t leaf, uint32_t **rows, size_t *nr)
{
	const struct grove__spine *s = im->spine;
	struct rules rules;
	size_t cap = 0;

	rules_init(&rules, im->dialect);
	for (uint32_t row = leaf; row != GROVE_NO_ENTRY && (rules.open || rules.all);
	     row = grove__spine_parent(s, row)) {
		if (!rules_want(&rules, grove__spine_kind(s, row), grove__spine_role(s, row)))
			continue;
		if (grove__array_room(rows, &cap, *nr, sizeof(**rows)))
			return GROVE_ENOMEM;
		(*rows)[(*nr)++] = row;
	}
	return 0;
}

/*
 * Writes the settings of the path as members. For most kinds only the last line
 * matters, and only that one is read.
 */
static int write_settings(struct grove__messages *c, uint32_t leaf, struct grove_buf *out)
{
	const struct grove__choice *ch = &c->choice;
	const struct grove__spine *s = ch->im->spine;
	struct grove__set_by *by = NULL;
	struct grove_buf *lines = NULL;
	uint32_t *rows = NULL;
	size_t nr = 0;
	int rc;

	if (!ch->im->dialect->context.sets)
		return 0;
	rc = find_settings(ch->im, leaf, &rows, &nr);
	if (!rc) {
		by = calloc(nr ? nr : 1, sizeof(*by));
		lines = calloc(nr ? nr : 1, sizeof(*lines));
		rc = by && lines ? 0 : GROVE_ENOMEM;
	}
	for (size_t i = 0; i < nr && !rc; i++) {
		uint32_t row = rows[nr - 1 - i];

		by[i].kind = (enum grove_kind)grove__spine_kind(s, row);
		by[i].role = (enum grove_role)grove__spine_role(s, row);
		rc = grove__image_line(ch->im, ch->log, row, &lines[i], &by[i].line, ch->d);
	}
	if (!rc)
		rc = ch->im->dialect->context.settings(by, nr, out);
	for (size_t i = 0; lines && i < nr; i++)
		grove__buf_release(&lines[i]);
	free(lines);
	free(by);
	free(rows);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(ch->d) : rc;
}

/* --- reported message by message --- */

/* A receiver of messages; the first member of the struct that it fills. */
struct teller {
	struct grove__messages *c;
	const char *mode;
	bool llm;
	struct grove__message_list kept, settled;
	struct grove_buf settings;       /* as members of an object */
	bool weighs;                     /* the parts are asked for */
	struct grove__weight weight;
	enum grove_leaf_rule rule;       /* why the leaf is what it is … */
	uint32_t by;                     /* … and the entry that says so */
	/* Receives a message and the entry it came from (GROVE_NO_ENTRY: none). */
	int (*message)(struct teller *t, struct grove_slice json, uint32_t row);
	int (*reason)(struct teller *t, const struct grove_context_reason *why);
};

static int on_message(void *payload, struct grove_slice json)
{
	struct teller *t = payload;
	bool later = t->llm || t->c->choice.im->dialect->context.settle;

	return later ? grove__messages_add(&t->kept, json, t->c->row) : t->message(t, json, t->c->row);
}

static int on_settled(void *payload, size_t from, struct grove_slice json)
{
	struct teller *t = payload;

	return grove__messages_add(&t->settled, json, t->kept.row[from]);
}

static int on_converted(void *payload, size_t from, struct grove_slice json)
{
	struct teller *t = payload;

	return t->message(t, json, from == SIZE_MAX ? GROVE_NO_ENTRY : t->kept.row[from]);
}

static int tell_messages(struct teller *t)
{
	struct grove__image *im = t->c->choice.im;
	const struct grove__dialect *dialect = im->dialect;
	int rc = grove__messages_each(t->c, on_message, t);

	if (rc || (!t->llm && !dialect->context.settle))
		return rc;
	grove__messages_settle(&t->kept);
	if (dialect->context.settle && t->llm) {
		rc = dialect->context.settle(t->kept.list, t->kept.nr, on_settled, t);
		if (!rc) {
			struct grove__message_list all = t->kept;

			t->kept = t->settled;
			t->settled = all;
			grove__messages_settle(&t->kept);
		}
	} else if (dialect->context.settle) {
		rc = dialect->context.settle(t->kept.list, t->kept.nr, on_converted, t);
	}
	if (!rc && t->llm)
		rc = grove__model_llm(im, t->kept.row, t->kept.list, t->kept.nr, grove__sys_now_ms(),
				      on_converted, t);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(t->c->choice.d) : rc;
}

static int explain_path(struct teller *t)
{
	struct grove__choice *c = &t->c->choice;

	for (size_t i = 0; i < c->nr_path; i++) {
		uint32_t row = c->path[i];
		bool before = c->compaction != GROVE_NO_ENTRY && i < c->compaction_at &&
			      !grove__choice_kept(c, i);
		bool reset = c->compaction == GROVE_NO_ENTRY && i < c->begin;
		struct grove__choice_edit *e = grove__choice_edit(c, row);
		enum why why = WHY_SENT;
		bool yes = true;
		int rc = before || reset ? 0 : grove__choice_speaks(c, row, &yes);

		if (rc)
			return rc;
		if (before)
			why = WHY_COMPACTED;
		else if (reset)
			why = WHY_RESET;
		else if (!yes)
			why = WHY_SILENT;
		else if (e)
			why = e->drop ? WHY_DROPPED : WHY_EDITED;
		else if (row == c->compaction)
			why = WHY_SUMMARY;
		rc = t->reason(t, &(struct grove_context_reason){
					  .entry = row, .reason = reasons[why], .kept = !before && !reset,
					  .included = why == WHY_SENT || why == WHY_EDITED || why == WHY_SUMMARY });
		if (rc)
			return rc;
	}
	return 0;
}

static int explain_walk(struct teller *t)
{
	const struct grove__choice *c = &t->c->choice;
	int rc = 0;

	for (size_t i = 0; i < c->walk.nr_reasons && !rc; i++) {
		bool sent;
		const char *why = grove__model_reason(c->im, c->walk.reasons[i], &sent);

		if (why)
			rc = t->reason(t, &(struct grove_context_reason){ .entry = (uint32_t)i, .included = sent,
									  .reason = why, .kept = sent });
	}
	return rc;
}

static int explain(struct teller *t)
{
	return grove__model_is_path(t->c->choice.im->dialect) ? explain_path(t) : explain_walk(t);
}

/* --- by rules over the whole log --- */

static int choose_by_rules(struct grove__messages *c, struct grove_view *v,
			   const struct grove_context_options *opt, struct grove_detail *d)
{
	struct grove__chain_ask ask = {
		.mode = opt ? opt->mode : NULL,
		.leaf = opt ? opt->leaf : NULL,
		.own_file = grove__session_own_file(v->session),
		.snips = opt && opt->flags & GROVE_CONTEXT_SNIPS,
		.full = opt && opt->flags & GROVE_CONTEXT_WHOLE,
		.llm = opt && opt->flags & GROVE_CONTEXT_LLM,
	};
	int rc;

	/* a leaf that was moved in the handle, not in the log */
	if (!ask.leaf && v->has_leaf && v->moved)
		ask.leaf = v->leaf == GROVE_NO_ENTRY ? GROVE_ROOT
						 : grove__spine_id(v->image->spine, v->leaf);
	rc = grove__choice_by_rules(&c->choice, v->image, v->log, v->nr, &ask, d);
	if (rc == GROVE_ENOTFOUND && d && v->session->at.path)
		grove__fail(d, rc, v->session->at.path, "Entry %.200s not found", ask.leaf);
	return rc;
}

static int context_leaf(struct grove_view *v, const struct grove_context_options *opt,
			uint32_t *leaf, struct grove_detail *d)
{
	int rc = grove__view_leaf(v, leaf);

	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	if (rc || !opt || !opt->leaf)
		return rc;
	*leaf = grove__spine_find(v->image->spine, v->nr, grove__slice_str(opt->leaf));
	if (*leaf != GROVE_NO_ENTRY || !strcmp(opt->leaf, GROVE_ROOT))
		return 0;
	return grove__fail(d, GROVE_ENOTFOUND, v->session->at.path, "Entry %.200s not found",
			   opt->leaf);
}

/* Finds out why the leaf is what it is. */
static void justify(struct teller *t, const struct grove_view *v, const struct grove_context_options *opt,
		    uint32_t leaf)
{
	const struct grove__chain_walk *w = &t->c->choice.walk;
	uint32_t end;

	t->by = leaf;
	if (opt && opt->leaf) {
		t->rule = GROVE_LEAF_BY_CALLER;
	} else if (v->moved) {
		t->rule = v->kept ? GROVE_LEAF_BY_STORE : GROVE_LEAF_BY_HANDLE;
	} else if (!grove__model_is_path(v->image->dialect)) {
		t->rule = w->recorded ? GROVE_LEAF_BY_LAST_PROMPT : GROVE_LEAF_BY_LAST_ENTRY;
		t->by = w->recorded ? w->named : leaf;
	} else {
		end = grove__tree_end(v->image->spine, v->nr);
		if (end != GROVE_NO_ENTRY && grove__spine_flags(v->image->spine, end) & ROW_LEAF_MARK) {
			t->rule = GROVE_LEAF_BY_MARKER;
			t->by = end;
		}
	}
}

/* Chooses what is sent; *leaf is its last entry. */
static int choose(struct teller *t, struct grove_view *v, const struct grove_context_options *opt,
		  uint32_t *leaf, struct grove_detail *d)
{
	struct grove__messages *c = t->c;
	bool ruled = !grove__model_is_path(v->image->dialect);
	int rc = ruled ? 0 : context_leaf(v, opt, leaf, d);

	if (rc)
		return rc;
	c->blobs = grove__session_blob_source(v->session);
	t->llm = opt && opt->flags & GROVE_CONTEXT_LLM;
	t->weighs = opt && opt->flags & GROVE_CONTEXT_PARTS;
	grove__weight_init(&t->weight);
	t->mode = opt ? opt->mode : NULL;
	if (t->mode && !ruled)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "a %s session has one mode only",
				   v->image->dialect->name);
	if (ruled) {
		rc = choose_by_rules(c, v, opt, d);
		*leaf = c->choice.walk.leaf;
		justify(t, v, opt, *leaf);
		return rc;
	}
	rc = grove__choice_by_path(&c->choice, v->image, v->log, *leaf, opt && opt->flags & GROVE_CONTEXT_EXPLAIN, d);
	if (!rc)
		rc = write_settings(c, *leaf, &t->settings);
	*leaf = grove__tree_leaf(v->image->spine, *leaf);
	justify(t, v, opt, *leaf);
	return rc;
}

static void teller_release(struct teller *t)
{
	grove__buf_release(&t->settings);
	grove__weight_release(&t->weight);
	grove__messages_release(&t->kept);
	grove__messages_release(&t->settled);
	grove__choice_release(&t->c->choice);
}

/* Adds a message to the parts, if they are asked for. */
static int weigh(struct teller *t, struct grove_slice json, struct grove__message_members *m, uint32_t row,
		 uint64_t *tokens)
{
	const struct grove__spine *s = t->c->choice.im->spine;
	enum grove_role role = row == GROVE_NO_ENTRY ? GROVE_ROLE_NONE : grove__spine_role(s, row);

	if (row != GROVE_NO_ENTRY && grove__spine_kind(s, row) == GROVE_KIND_COMPACTION)
		role = GROVE_ROLE_COMPACTION_SUMMARY;
	return grove__weight_add(&t->weight, json, m, row, role, tokens);
}

static bool is_named(const struct teller *t, uint32_t row)
{
	return row != GROVE_NO_ENTRY && grove__spine_id(t->c->choice.im->spine, row);
}

/* --- as a document --- */

struct writer {
	struct teller t;
	struct grove__out o, ids;
	struct grove_buf id_list, id, text;
	uint64_t max_body;               /* longer texts become references; 0: none do */
};

static void write_id(struct writer *w, uint32_t row)
{
	if (!is_named(&w->t, row)) {
		grove__out_string(&w->ids, NULL, NULL);
		return;
	}
	grove__out_fail(&w->ids, grove__model_name(w->t.c->choice.im, row, w->t.mode, &w->id));
	grove__out_slice(&w->ids, NULL, grove__buf_slice(&w->id));
}

static int write_message(struct teller *t, struct grove_slice json, uint32_t row)
{
	struct writer *w = (struct writer *)t;
	struct grove__message_members members;
	uint64_t tokens;

	if (t->weighs) {
		grove__message_read(json, &members);
		grove__out_fail(&w->o, weigh(t, json, &members, row, &tokens));
	}
	write_id(w, row);
	if (w->max_body) {
		struct grove_slice id = is_named(t, row) ? grove__buf_slice(&w->id) : grove__slice(NULL, 0);

		grove__buf_clear(&w->text);
		grove__out_fail(&w->o, grove__brief_value(&w->text, json, id, w->max_body));
		json = grove__buf_slice(&w->text);
	}
	grove__out_raw(&w->o, NULL, json);
	return w->ids.rc ? w->ids.rc : w->o.rc;
}

static int write_reason(struct teller *t, const struct grove_context_reason *why)
{
	struct writer *w = (struct writer *)t;
	const struct grove__spine *s = t->c->choice.im->spine;

	grove__out_open(&w->o, NULL, '{');
	grove__out_string(&w->o, "entryId", grove__spine_id(s, why->entry));
	grove__out_string(&w->o, "kind", grove_kind_name(grove__spine_kind(s, why->entry)));
	grove__out_bool(&w->o, "included", why->included);
	grove__out_string(&w->o, "reason", why->reason);
	grove__out_close(&w->o, '}');
	return w->o.rc;
}

static void write_parts(struct grove__out *o, const struct grove__weight *w)
{
	uint64_t limit = grove__weight_limit(w), used;
	bool estimated;

	grove__out_open(o, "parts", '[');
	for (unsigned i = 0; i < GROVE__PARTS; i++) {
		const struct grove_context_part *p = &w->part[i];

		if (!p->count)
			continue;
		grove__out_open(o, NULL, '{');
		grove__out_string(o, "part", grove_part_name(p->part));
		grove__out_number(o, "tokens", p->tokens);
		grove__out_number(o, "bytes", p->bytes);
		grove__out_number(o, "count", p->count);
		grove__out_close(o, '}');
	}
	grove__out_close(o, ']');
	used = grove__weight_used(w, &estimated);
	grove__out_open(o, "window", '{');
	grove__out_number(o, "used", used);
	if (limit)
		grove__out_number(o, "limit", limit);
	else
		grove__out_raw(o, "limit", grove__slice_str("null"));
	grove__out_string(o, "source", estimated ? "estimate" : "usage");
	grove__out_close(o, '}');
}

/* Writes what comes after the messages. */
static int write_rest(struct writer *w, uint32_t leaf, bool why)
{
	int rc = 0;

	grove__out_close(&w->o, ']');
	grove__out_open(&w->o, "entryIds", '[');
	grove__out_bytes(&w->o, w->id_list.ptr, w->id_list.len);
	grove__out_close(&w->o, ']');
	grove__out_bytes(&w->o, w->t.settings.ptr, w->t.settings.len);
	grove__out_string(&w->o, "leaf",
			  leaf == GROVE_NO_ENTRY ? NULL : grove__spine_id(w->t.c->choice.im->spine, leaf));
	if (w->t.weighs)
		write_parts(&w->o, &w->t.weight);
	if (why) {
		grove__out_open(&w->o, "explain", '[');
		rc = explain(&w->t);
		grove__out_close(&w->o, ']');
	}
	grove__out_close(&w->o, '}');
	grove__out_str(&w->o, "\n");
	return rc;
}

int grove__view_context(struct grove_view *v, const struct grove_context_options *opt, uint64_t max_body,
			struct grove_sink sink, struct grove_detail *d)
{
	struct grove__messages c = { 0 };
	struct writer w = { .max_body = max_body, .t = { .c = &c, .message = write_message, .reason = write_reason } };
	uint32_t leaf = GROVE_NO_ENTRY;
	int rc = choose(&w.t, v, opt, &leaf, d), end;

	grove__out_init(&w.o, sink);
	grove__out_init_buf(&w.ids, &w.id_list);
	if (!rc) {
		grove__out_open(&w.o, NULL, '{');
		grove__out_open(&w.o, "messages", '[');
		rc = tell_messages(&w.t);
	}
	if (!rc)
		rc = write_rest(&w, leaf, opt && opt->flags & GROVE_CONTEXT_EXPLAIN);
	end = grove__out_finish(&w.o);
	grove__buf_release(&w.id_list);
	grove__buf_release(&w.id);
	grove__buf_release(&w.text);
	teller_release(&w.t);
	return rc ? rc : end;
}

/* --- to a host's own functions --- */

struct reading {
	struct teller t;
	struct grove_view *v;
	const struct grove_context_reader *to;
	struct grove_buf id, role, text;
	struct grove_detail *d;
};

/* What grove_message_pieces() needs while a message is being reported. */
struct grove__message_at {
	struct reading *r;
	struct grove_slice line;         /* empty: to be fetched */
	struct grove_slice content;      /* blocks that are all there is to read; empty: read the line */
};

/*
 * Returns the content of a message, as its entry's line has it, if its blocks are
 * self-contained; otherwise empty.
 */
static struct grove_slice blocks_of(const struct teller *t, struct grove_slice json, struct grove_slice content,
				    uint32_t row)
{
	const struct grove__image *im = t->c->choice.im;
	uintptr_t from = (uintptr_t)t->c->line.ptr, at = (uintptr_t)json.ptr;

	if (!im->dialect->text.block_pieces || at < from || at >= from + t->c->line.len ||
	    grove__spine_kind(im->spine, row) != GROVE_KIND_MESSAGE || grove__json_type_of(content) != JSON_ARRAY)
		return grove__slice(NULL, 0);
	return content;
}

static int read_message(struct teller *t, struct grove_slice json, uint32_t row)
{
	struct reading *r = (struct reading *)t;
	struct grove__message_at at = { .r = r, .line = t->c->line };
	struct grove_message m = { .entry = row, .json = json, .at = &at };
	struct grove__message_members members;
	int rc = 0;

	grove__message_read(json, &members);
	at.content = blocks_of(t, json, members.content, row);
	if (t->weighs)
		rc = weigh(t, json, &members, row, &m.tokens);
	if (rc || !r->to->message)
		return rc;
	rc = grove__message_head(&members, PREVIEW_MAX, &r->role, &r->text);
	if (!rc && is_named(t, row)) {
		rc = grove__model_name(t->c->choice.im, row, t->mode, &r->id);
		m.id = r->id.ptr;
	}
	if (rc)
		return rc;
	m.role = grove__buf_slice(&r->role);
	m.text = grove__buf_slice(&r->text);
	return r->to->message(r->to->payload, &m);
}

int grove__context_pieces(const struct grove_message *m, size_t max, grove_piece_fn *fn, void *payload)
{
	const struct grove__message_at *at = m->at;
	struct grove_view *v = at->r->v;

	if (m->entry == GROVE_NO_ENTRY)
		return 0;
	if (at->content.ptr)
		return v->image->dialect->text.block_pieces(at->content, max, fn, payload);
	return grove__view_pieces(v, m->entry, at->line, fn, payload, at->r->d);
}

static int read_reason(struct teller *t, const struct grove_context_reason *why)
{
	const struct grove_context_reader *to = ((struct reading *)t)->to;

	return to->reason ? to->reason(to->payload, why) : 0;
}

static int tell_about(struct reading *r, uint32_t leaf)
{
	struct grove__settings s = { .any = false };
	struct grove_context_about a = { .leaf = leaf, .leaf_rule = r->t.rule, .leaf_by = r->t.by };
	struct grove_context_part parts[GROVE__PARTS];
	bool estimated = false;
	int rc;

	a.settings = grove__buf_slice(&r->t.settings);
	if (a.settings.len && *a.settings.ptr == ',')
		a.settings = grove__slice(a.settings.ptr + 1, a.settings.len - 1);
	rc = grove__settings_read(a.settings, &s);
	if (r->t.weighs) {
		const struct grove__weight *w = &r->t.weight;

		for (unsigned i = 0; i < GROVE__PARTS; i++)
			if (w->part[i].count)
				parts[a.nr_parts++] = w->part[i];
		a.parts = parts;
		a.used = grove__weight_used(w, &estimated);
		a.window = grove__weight_limit(w);
		a.estimated = estimated;
	}

	a.has_settings = s.any;
	a.model = s.has_model ? s.model.ptr : NULL;
	a.thinking = s.has_thinking ? s.thinking.ptr : NULL;
	rc = rc ? grove__fail_nomem(r->d) : r->to->about(r->to->payload, &a);
	grove__buf_release(&s.model);
	grove__buf_release(&s.thinking);
	return rc;
}

int grove__context_messages(struct grove_view *v, const struct grove_context_options *opt,
			 const struct grove_context_reader *to, struct grove_detail *d)
{
	struct grove__messages c = { 0 };
	struct reading r = { .t = { .c = &c, .message = read_message, .reason = read_reason },
			     .v = v, .to = to, .d = d };
	uint32_t leaf = GROVE_NO_ENTRY;
	int rc = choose(&r.t, v, opt, &leaf, d);

	if (!rc && (to->message || r.t.weighs))
		rc = tell_messages(&r.t);
	if (!rc && to->reason && opt && opt->flags & GROVE_CONTEXT_EXPLAIN)
		rc = explain(&r.t);
	if (!rc && to->about)
		rc = tell_about(&r, leaf);
	grove__buf_release(&r.id);
	grove__buf_release(&r.role);
	grove__buf_release(&r.text);
	teller_release(&r.t);
	return rc;
}
