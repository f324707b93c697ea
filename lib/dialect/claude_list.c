/* dialect/claude_list.c: what a listing needs to know about a transcript. */
#include "dialect/claude.h"

#include "base/utf8.h"
#include "dialect/pi.h"
#include "js/js.h"
#include "json/value.h"

#include <stdlib.h>

/* The UTF-16 units of a prompt that a list shows. */
#define PROMPT_MAX 200

void grove__claude_summary_init(struct grove__claude_summary *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->created = s->newest = GROVE_NO_TIME;
}

void grove__claude_summary_release(struct grove__claude_summary *s)
{
	grove__buf_release(&s->first);
	grove__buf_release(&s->command);
	grove__buf_release(&s->custom_title);
	grove__buf_release(&s->ai_title);
	grove__buf_release(&s->cwd);
	grove__buf_release(&s->relocated);
	grove__buf_release(&s->continued_in);
	grove__buf_release(&s->forked_from);
	free(s->seen);
	memset(s, 0, sizeof(*s));
}

/* --- messages, each once --- */

static void put_hash(uint64_t *table, size_t cap, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (table[i])
		i = (i + 1) & (cap - 1);
	table[i] = hash;
}

static int see(struct grove__claude_summary *s, struct grove_slice id, bool *is_new)
{
	uint64_t hash = grove__idmap_hash(s->seed, id.ptr, id.len) | 1;
	size_t i;

	*is_new = true;
	if (!id.len)
		return 0;
	if (2 * s->nr_seen >= s->cap_seen) {
		size_t cap = s->cap_seen ? 2 * s->cap_seen : 64;
		uint64_t *table = calloc(cap, sizeof(*table));

		if (!table)
			return GROVE_ENOMEM;
		for (i = 0; i < s->cap_seen; i++)
			if (s->seen[i])
				put_hash(table, cap, s->seen[i]);
		free(s->seen);
		s->seen = table;
		s->cap_seen = cap;
	}
	for (i = hash & (s->cap_seen - 1); s->seen[i]; i = (i + 1) & (s->cap_seen - 1))
		if (s->seen[i] == hash) {
			*is_new = false;
			return 0;
		}
	s->seen[i] = hash;
	s->nr_seen++;
	return 0;
}

/* --- the first prompt --- */

/* Returns what is between a tag and its end, or an empty slice. */
static struct grove_slice between(struct grove_slice text, const char *open, const char *close)
{
	const char *a = memmem(text.ptr, text.len, open, strlen(open)), *b;
	size_t left;

	if (!a)
		return grove__slice(NULL, 0);
	a += strlen(open);
	left = text.len - (size_t)(a - text.ptr);
	b = memmem(a, left, close, strlen(close));
	return b ? grove__slice(a, (size_t)(b - a)) : grove__slice(NULL, 0);
}

/* Returns true for text that a program wrote: it begins with a tag, or notes an interruption. */
static bool is_machine_text(struct grove_slice text)
{
	size_t i = 1;

	if (grove__slice_starts(text, "[Request interrupted by user"))
		return true;
	if (text.len < 2 || text.ptr[0] != '<' || text.ptr[1] < 'a' || text.ptr[1] > 'z')
		return false;
	while (i < text.len && ((text.ptr[i] >= 'a' && text.ptr[i] <= 'z') ||
				(text.ptr[i] >= '0' && text.ptr[i] <= '9') || text.ptr[i] == '_' ||
				text.ptr[i] == '-'))
		i++;
	return i < text.len && (text.ptr[i] == '>' || text.ptr[i] == ' ');
}

/* Adds the first units of a text, without splitting a character. */
static int add_cut(struct grove_buf *out, struct grove_slice text)
{
	const char *p = text.ptr, *end = p + text.len, *q;
	size_t units = 0;
	uint32_t cp;
	int rc;

	if (grove__js_length(text) <= PROMPT_MAX)
		return grove__buf_add_slice(out, text);
	while (p < end) {
		q = p + grove__utf8_decode_wtf8(p, end, &cp);
		units += cp < 0x10000 ? 1 : 2;
		if (units > PROMPT_MAX)
			break;
		p = q;
	}
	rc = grove__buf_add_slice(out, grove__js_trim(grove__slice(text.ptr, (size_t)(p - text.ptr))));
	return rc ? rc : grove__buf_add_str(out, "…");
}

/* Takes a text that the user may have written, if it is a prompt. */
static int try_text(struct grove__claude_summary *s, struct grove_slice raw)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice text, part;
	int rc;

	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	rc = grove__json_text(&b, raw);
	for (size_t i = 0; i < b.len; i++)
		if (b.ptr[i] == '\n')
			b.ptr[i] = ' ';
	text = grove__js_trim(grove__buf_slice(&b));
	if (rc || !text.len)
		goto out;
	part = between(text, "<command-name>", "</command-name>");
	if (part.ptr) {
		if (!s->has_command) {
			rc = grove__buf_add_slice(&s->command, part);
			s->has_command = !rc;
		}
		goto out;
	}
	part = between(text, "<bash-input>", "</bash-input>");
	if (part.ptr) {
		rc = grove__buf_add_str(&s->first, "! ");
		if (!rc)
			rc = grove__buf_add_slice(&s->first, grove__js_trim(part));
		s->has_first = !rc;
	} else if (!is_machine_text(text)) {
		rc = add_cut(&s->first, text);
		s->has_first = !rc;
	}
out:
	grove__buf_release(&b);
	return rc;
}

static int try_prompt(struct grove__claude_summary *s, const struct grove__claude_row *row)
{
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(row->content) == JSON_STRING)
		return try_text(s, row->content);
	if (grove__json_type_of(row->content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, row->content);
	while (!rc && !s->has_first && grove__json_next(&it))
		if (grove__json_string_is(grove__json_get(it.value, "type"), "text"))
			rc = try_text(s, grove__json_get(it.value, "text"));
	return rc;
}

/* --- a line --- */

/* The last one counts. */
static int replace(struct grove_buf *out, struct grove_slice text)
{
	grove__buf_clear(out);
	return grove__buf_add_slice(out, text);
}

/* Takes a title, also an empty one; a line without a text says nothing. */
static int take_title(struct grove_buf *out, struct grove_slice raw, struct grove__arena *tmp)
{
	return grove__json_type_of(raw) == JSON_STRING ? replace(out, grove__pi_text(tmp, raw)) : 0;
}

static int see_result(void *payload, struct grove_slice type, struct grove_slice id,
		      struct grove_slice block)
{
	(void)id;
	(void)block;
	*(bool *)payload |= grove__json_string_is(type, "tool_result");
	return 0;
}

/* Returns true for a tool result, which is not a prompt. */
static bool has_result(struct grove_slice content)
{
	bool yes = false;

	grove__claude_blocks(content, see_result, &yes);
	return yes;
}

/* All records copied by a fork name their source, so the first message does. */
static int see_origin(struct grove__claude_summary *s, struct grove_slice record,
		      struct grove__arena *tmp)
{
	struct grove_slice origin = grove__json_get(record, "forkedFrom"), id;

	if (grove__json_type_of(origin) != JSON_OBJECT)
		return 0;
	id = grove__pi_text(tmp, grove__json_get(origin, "sessionId"));
	return grove__buf_add_slice(&s->forked_from, id);
}

static int count_message(struct grove__claude_summary *s, const struct grove__claude_row *row)
{
	bool is_new;
	/* a reply by its own id, a queued prompt by the id of what was queued */
	int rc = see(s, row->class != CLAUDE_USER && row->reply.len ? row->reply : row->uuid, &is_new);

	if (rc)
		return rc;
	s->messages += is_new;
	if (row->time != GROVE_NO_TIME && (s->newest == GROVE_NO_TIME || row->time > s->newest))
		s->newest = row->time;
	grove__buf_clear(&s->continued_in);
	if (row->class == CLAUDE_USER && !s->has_first &&
	    !(row->flags & (CLAUDE_META | CLAUDE_COMPACT_SUMMARY)) && !has_result(row->content))
		rc = try_prompt(s, row);
	return rc;
}

int grove__claude_summary_add(struct grove__claude_summary *s, const struct grove__json_line *l,
			      const char *line, const struct grove__claude_row *row,
			      struct grove__arena *tmp)
{
	struct grove_slice text;
	int rc = 0;

	if (!s->any)
		s->side = row->flags & CLAUDE_SIDECHAIN;
	s->any = true;
	if (s->created == GROVE_NO_TIME)
		s->created = row->time;
	if (!s->has_cwd) {
		text = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_CWD));
		if (text.len) {
			rc = replace(&s->cwd, text);
			s->has_cwd = !rc;
		}
	}
	if (rc)
		return rc;
	switch (row->class) {
	case CLAUDE_USER:
	case CLAUDE_ASSISTANT:
		if (row->flags & CLAUDE_SIDECHAIN)
			return 0;
		if (!s->messages)
			rc = see_origin(s, grove__slice(line + l->value.off, (size_t)l->value.len), tmp);
		return rc ? rc : count_message(s, row);
	case CLAUDE_ATTACHMENT:
		return row->flags & CLAUDE_QUEUED && !(row->flags & CLAUDE_SIDECHAIN) ? count_message(s, row)
										      : 0;
	case CLAUDE_CUSTOM_TITLE:
		return take_title(&s->custom_title, grove__json_span_of(l, line, CLAUDE_M_CUSTOM_TITLE), tmp);
	case CLAUDE_AI_TITLE:
		return take_title(&s->ai_title, grove__json_span_of(l, line, CLAUDE_M_AI_TITLE), tmp);
	case CLAUDE_RELOCATED:
		text = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_RELOCATED));
		s->has_relocated = text.len;
		return replace(&s->relocated, text);
	case CLAUDE_CONTINUED_IN:
		return replace(&s->continued_in,
			       grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_CONTINUED)));
	default:
		return 0;
	}
}

struct grove_slice grove__claude_summary_name(const struct grove__claude_summary *s)
{
	return grove__buf_slice(s->custom_title.len ? &s->custom_title : &s->ai_title);
}

struct grove_slice grove__claude_summary_first(const struct grove__claude_summary *s)
{
	return grove__buf_slice(s->has_first ? &s->first : &s->command);
}

struct grove_slice grove__claude_summary_cwd(const struct grove__claude_summary *s)
{
	return grove__buf_slice(s->has_relocated ? &s->relocated : &s->cwd);
}

int grove__claude_title_file(struct grove_slice json, struct grove_buf *out)
{
	struct grove_slice title = grove__json_get(json, "customTitle");

	if (grove__json_type_of(title) != JSON_STRING || title.len == 2)
		return 1;
	return grove__json_text(out, title);
}
