/* dialect/message.c: what messages to a model have in common in all agents. */
#include "dialect/message.h"

#include "base/utf8.h"
#include "json/value.h"

/* Decodes the first bytes of a raw string, cut between two characters. */
static int text_start(struct grove_slice raw, size_t max, struct grove_buf *out)
{
	struct grove_buf part = GROVE_BUF_INIT;
	size_t n = 1;
	int rc;

	if (raw.len <= max)
		return grove__json_text(out, raw);
	while (n < max - 8)
		n += raw.ptr[n] != '\\' ? 1 : raw.ptr[n + 1] == 'u' ? 6 : 2;
	while (n > 1 && ((unsigned char)raw.ptr[n] & 0xc0) == 0x80)
		n--;
	rc = grove__buf_add(&part, raw.ptr, n);
	rc = rc ? rc : grove__buf_add_char(&part, '"');
	rc = rc ? rc : grove__json_text(out, grove__buf_slice(&part));
	grove__buf_release(&part);
	return rc;
}

/* Gets the first text of a message, whose content is a string or blocks. */
static int first_text(const struct grove__message_members *m, size_t max, struct grove_buf *out)
{
	static const char *const name[] = { "text" };
	struct grove_slice text, content = m->content;
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(content) == JSON_STRING)
		return text_start(content, max, out);
	if (m->walked)
		return m->text.ptr ? text_start(m->text, max, out) : 0;
	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && !out->len && grove__json_next_members(&it, name, 1, &text))
		if (grove__json_type_of(text) == JSON_STRING)
			rc = text_start(text, max, out);
	return rc;
}

void grove__message_read(struct grove_slice message, struct grove__message_members *out)
{
	enum { ROLE, CONTENT, SUMMARY, OUTPUT, USAGE, MODEL, STOP, NR };
	static const char *const names[NR] = { "role", "content", "summary", "output", "usage", "model",
					       "stopReason" };
	struct grove_slice of[NR];

	grove__json_get_all(message, names, NR, of);
	*out = (struct grove__message_members){ .role = of[ROLE], .content = of[CONTENT], .summary = of[SUMMARY],
						.output = of[OUTPUT], .usage = of[USAGE], .model = of[MODEL],
						.stop_reason = of[STOP] };
}

int grove__message_head(const struct grove__message_members *m, size_t max, struct grove_buf *role,
			struct grove_buf *text)
{
	struct grove_buf raw = GROVE_BUF_INIT;
	int rc;

	grove__buf_clear(role);
	grove__buf_clear(text);
	rc = first_text(m, max, &raw);
	/* half a surrogate pair is not a character */
	if (!rc)
		rc = grove__utf8_repair_wtf8(text, grove__buf_slice(&raw));
	if (!rc && grove__json_type_of(m->role) == JSON_STRING)
		rc = grove__json_text(role, m->role);
	grove__buf_release(&raw);
	return rc;
}
