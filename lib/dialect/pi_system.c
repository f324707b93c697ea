/*
 * dialect/pi_system.c: the system message in force.
 *
 * System messages build on each other: texts accumulate, sections are merged by name
 * (null removes one), tools are removed and added by name. A compaction stores the
 * result, because the messages that made it are dropped.
 */
#include "dialect/pi.h"

#include "base/array.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

/* An ordered map of raw values: setting a key again keeps its position, removing it does not. */
struct item {
	struct grove_slice key;    /* raw string */
	struct grove_slice value;  /* ptr NULL if removed */
};
struct map {
	struct item *items;
	size_t nr, cap;
};

static bool same_key(struct grove_slice a, struct grove_slice b)
{
	struct grove_buf x = GROVE_BUF_INIT, y = GROVE_BUF_INIT;
	bool same;

	if (grove__slice_eq(a, b))
		return true;
	if (!memchr(a.ptr, '\\', a.len) && !memchr(b.ptr, '\\', b.len))
		return false;
	same = !grove__json_text(&x, a) && !grove__json_text(&y, b) &&
	       grove__slice_eq(grove__buf_slice(&x), grove__buf_slice(&y));
	grove__buf_release(&x);
	grove__buf_release(&y);
	return same;
}

static struct item *find_item(struct map *m, struct grove_slice key)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->items[i].value.ptr && same_key(m->items[i].key, key))
			return &m->items[i];
	return NULL;
}

static int set(struct map *m, struct grove_slice key, struct grove_slice value)
{
	struct item *it = find_item(m, key);

	if (it) {
		it->value = value;
		return 0;
	}
	if (grove__array_room(&m->items, &m->cap, m->nr, sizeof(*m->items)))
		return GROVE_ENOMEM;
	m->items[m->nr++] = (struct item){ key, value };
	return 0;
}

static void unset(struct map *m, struct grove_slice key)
{
	struct item *it = find_item(m, key);

	if (it)
		it->value.ptr = NULL;
}

static int add_text(struct grove_slice content, struct grove_buf *all)
{
	struct grove_buf text = GROVE_BUF_INIT;
	int rc = grove__pi_content_text(content, '\n', &text);

	if (!rc && text.len && all->len)
		rc = grove__buf_add_str(all, "\n\n");
	if (!rc)
		rc = grove__buf_add_slice(all, grove__buf_slice(&text));
	grove__buf_release(&text);
	return rc;
}

static int add_sections(struct grove_slice sections, struct map *m)
{
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(sections) != JSON_OBJECT)
		return 0;
	grove__json_iter_init(&it, sections);
	while (!rc && grove__json_next(&it)) {
		if (grove__json_type_of(it.value) == JSON_NULL)
			unset(m, it.key);
		else
			rc = set(m, it.key, it.value);
	}
	return rc;
}

static int add_tools(struct grove_slice message, struct map *m)
{
	struct grove__json_iter it;
	struct grove_slice list, name;
	int rc = 0;

	list = grove__json_get(message, "toolsRemoved");
	if (grove__json_type_of(list) == JSON_ARRAY) {
		grove__json_iter_init(&it, list);
		while (grove__json_next(&it)) {
			name = grove__json_get(it.value, "name");
			if (name.len)
				unset(m, name);
		}
	}
	list = grove__json_get(message, "toolsAdded");
	if (grove__json_type_of(list) == JSON_ARRAY) {
		grove__json_iter_init(&it, list);
		while (!rc && grove__json_next(&it)) {
			name = grove__json_get(it.value, "name");
			if (name.len)
				rc = set(m, name, it.value);
		}
	}
	return rc;
}

/* Writes `,"sections":{…}` and `,"toolsAdded":[…]`, if there are any. */
static int put_map(struct grove_buf *out, const char *name, const struct map *m, bool object)
{
	bool first = true;
	int rc = 0;

	for (size_t i = 0; i < m->nr && !rc; i++) {
		if (!m->items[i].value.ptr)
			continue;
		if (first)
			rc = grove__buf_addf(out, ",\"%s\":%c", name, object ? '{' : '[');
		else
			rc = grove__buf_add_char(out, ',');
		first = false;
		if (!rc && object) {
			rc = grove__json_put_raw(out, m->items[i].key);
			if (!rc)
				rc = grove__buf_add_char(out, ':');
		}
		if (!rc)
			rc = grove__json_put_raw(out, m->items[i].value);
	}
	return rc || first ? rc : grove__buf_add_char(out, object ? '}' : ']');
}

static bool any(const struct map *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->items[i].value.ptr)
			return true;
	return false;
}

int grove__pi_system(const struct grove_slice *messages, size_t nr, int64_t time,
		     struct grove_buf *out)
{
	struct map sections = { 0 }, tools = { 0 };
	struct grove_buf text = GROVE_BUF_INIT;
	bool settled = false, dated = false;
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove_slice m = messages[i], when;

		if (!grove__json_string_is(grove__json_get(m, "role"), "system"))
			continue;
		/* without a time in any of them they do not count on their own */
		when = grove__json_get(m, "timestamp");
		if (!settled)
			dated = when.len > 0;
		settled |= dated && grove__json_type_of(when) != JSON_NULL;
		rc = add_text(grove__json_get(m, "content"), &text);
		if (!rc)
			rc = add_sections(grove__json_get(m, "sections"), &sections);
		if (!rc)
			rc = add_tools(m, &tools);
	}
	if (!rc && !dated && !any(&tools))
		rc = 1;
	if (!rc)
		rc = grove__buf_add_str(out, "{\"role\":\"system\",\"content\":");
	if (!rc)
		rc = grove__json_put_string(out, grove__buf_slice(&text));
	if (!rc)
		rc = put_map(out, "sections", &sections, true);
	if (!rc)
		rc = put_map(out, "toolsAdded", &tools, false);
	if (!rc)
		rc = grove__buf_addf(out, ",\"timestamp\":%lld}", (long long)time);
	free(sections.items);
	free(tools.items);
	grove__buf_release(&text);
	return rc;
}
