/*
 * transfer/archive_note.c: the state after the last run, next to a session in an
 * archive:
 *
 *	{"version":1,"source":PATH,"dialect":NAME,"logs":[
 *	 {"name":"","lines":N,"bytes":N,"crc32c":N,"open":false,
 *	  "size":N,"mtimeNs":"N","ctimeNs":"N"},…]}
 *
 * It saves the next run from reading what it knows. Nanoseconds are strings, since
 * other readers of JSON would round them.
 */
#include "transfer/archive.h"

#include "base/array.h"
#include "json/out.h"
#include "json/scan.h"
#include "json/value.h"

#include <stdio.h>
#include <stdlib.h>

#define VERSION 1

struct grove__note_log *grove__note_log(struct grove__note *n, const char *name)
{
	struct grove__note_log *l;

	for (size_t i = 0; i < n->nr; i++)
		if (!strcmp(n->logs[i].name, name))
			return &n->logs[i];
	if (grove__array_room(&n->logs, &n->cap, n->nr, sizeof(*n->logs)))
		return NULL;
	l = &n->logs[n->nr];
	*l = (struct grove__note_log){ .name = strdup(name) };
	if (!l->name)
		return NULL;
	n->nr++;
	return l;
}

void grove__note_release(struct grove__note *n)
{
	free(n->source);
	while (n->nr)
		free(n->logs[--n->nr].name);
	free(n->logs);
	memset(n, 0, sizeof(*n));
}

/* Returns a whole number, or one given as a string of digits; 0 if it is neither. */
static int64_t number(struct grove_slice object, const char *name)
{
	struct grove_slice raw = grove__json_get(object, name);
	char digits[32];

	if (raw.len >= 2 && raw.ptr[0] == '"')
		raw = grove__slice(raw.ptr + 1, raw.len - 2);
	if (!raw.len || raw.len >= sizeof(digits))
		return 0;
	memcpy(digits, raw.ptr, raw.len);
	digits[raw.len] = '\0';
	return strtoll(digits, NULL, 10);
}

static int parse_log(struct grove__note *n, struct grove_slice json)
{
	struct grove_slice raw = grove__json_get(json, "name");
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove__note_log *l;
	int rc;

	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	rc = grove__buf_reserve(&name, 1) || grove__json_text(&name, raw) ? GROVE_ENOMEM : 0;
	l = rc ? NULL : grove__note_log(n, name.len ? name.ptr : "");
	grove__buf_release(&name);
	if (!l)
		return GROVE_ENOMEM;
	l->lines = (uint64_t)number(json, "lines");
	l->bytes = (uint64_t)number(json, "bytes");
	l->crc = (uint32_t)number(json, "crc32c");
	l->open = grove__json_truthy(grove__json_get(json, "open"));
	l->seen.size = (uint64_t)number(json, "size");
	l->seen.mtime_ns = number(json, "mtimeNs");
	l->seen.ctime_ns = number(json, "ctimeNs");
	return 0;
}

static int parse_source(struct grove__note *n, struct grove_slice raw)
{
	struct grove_buf b = GROVE_BUF_INIT;

	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	if (grove__json_text(&b, raw)) {
		grove__buf_release(&b);
		return GROVE_ENOMEM;
	}
	n->source = b.ptr;
	return 0;
}

int grove__note_parse(struct grove__note *n, struct grove_slice json)
{
	struct grove_buf copy = GROVE_BUF_INIT;
	struct grove__json_iter it;
	struct grove_slice logs;
	int rc = grove__buf_add_slice(&copy, json);

	if (!rc)
		rc = grove__json_document(&copy, NULL);
	json = grove__buf_slice(&copy);
	if (!rc && number(json, "version") == VERSION) {
		logs = grove__json_get(json, "logs");
		rc = parse_source(n, grove__json_get(json, "source"));
		if (grove__json_type_of(logs) == JSON_ARRAY) {
			grove__json_iter_init(&it, logs);
			while (!rc && grove__json_next(&it))
				rc = parse_log(n, it.value);
		}
	}
	grove__buf_release(&copy);
	return rc < 0 ? rc : 0;
}

static void put_nanoseconds(struct grove__out *o, const char *key, int64_t ns)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%lld", (long long)ns);
	grove__out_string(o, key, digits);
}

static void compose_log(struct grove__out *o, const struct grove__note_log *l)
{
	grove__out_open(o, NULL, '{');
	grove__out_string(o, "name", l->name);
	grove__out_number(o, "lines", l->lines);
	grove__out_number(o, "bytes", l->bytes);
	grove__out_number(o, "crc32c", l->crc);
	grove__out_bool(o, "open", l->open);
	grove__out_number(o, "size", l->seen.size);
	put_nanoseconds(o, "mtimeNs", l->seen.mtime_ns);
	put_nanoseconds(o, "ctimeNs", l->seen.ctime_ns);
	grove__out_close(o, '}');
}

int grove__note_compose(const struct grove__note *n, const char *source, const char *dialect,
			struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_number(&o, "version", VERSION);
	grove__out_string(&o, "source", source);
	grove__out_string(&o, "dialect", dialect);
	grove__out_open(&o, "logs", '[');
	for (size_t i = 0; i < n->nr; i++)
		compose_log(&o, &n->logs[i]);
	grove__out_close(&o, ']');
	grove__out_close(&o, '}');
	grove__out_str(&o, "\n");
	return grove__out_finish(&o);
}
