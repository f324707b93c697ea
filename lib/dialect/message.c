/* dialect/message.c: what all agents have in common in a message that a model is sent. */
#include "dialect/message.h"

#include "base/utf8.h"
#include "json/value.h"

/* The first bytes of a raw string, cut between two characters, as text. */
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

/* The first text of a message: its content is text, or blocks of which some are. */
static int first_text(struct grove_slice content, size_t max, struct grove_buf *out)
{
	struct grove_slice text;
	struct grove__json_iter it;
	int rc = 0;

	if (!content.ptr)
		return 0;
	if (grove__json_type_of(content) == JSON_STRING)
		return text_start(content, max, out);
	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && !out->len && grove__json_next(&it)) {
		text = grove__json_get(it.value, "text");
		if (text.ptr && grove__json_type_of(text) == JSON_STRING)
			rc = text_start(text, max, out);
	}
	return rc;
}

int grove__message_head(struct grove_slice message, size_t max, struct grove_buf *role,
			struct grove_buf *text)
{
	static const char *const names[] = { "role", "content" };
	struct grove_buf raw = GROVE_BUF_INIT;
	struct grove_slice of[2];
	int rc;

	grove__buf_clear(role);
	grove__buf_clear(text);
	grove__json_get_all(message, names, 2, of);
	rc = first_text(of[1], max, &raw);
	/* half a surrogate pair is no character */
	if (!rc)
		rc = grove__utf8_repair_wtf8(text, grove__buf_slice(&raw));
	if (!rc && of[0].ptr && grove__json_type_of(of[0]) == JSON_STRING)
		rc = grove__json_text(role, of[0]);
	grove__buf_release(&raw);
	return rc;
}
