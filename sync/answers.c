/*
 * answers.c: parses a server's answers.
 *
 * Nothing else in sync/ reads JSON from a server. Results are checked: numbers are numbers,
 * texts have no NUL and a sensible length, and the name of a file or log stays below its
 * session.
 */
#include "answers.h"

#include "programs/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 100000u        /* maximum number of files and logs of a session */
#define TEXT_MAX 8192u

int remote_name_ok(const char *name)
{
	size_t n = strlen(name);
	int begins = 1;

	if (!n || n > 1000)
		return 0;
	for (const char *p = name; *p; p++) {
		if (begins && (*p == '.' || *p == '/'))
			return 0;
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\')
			return 0;
		begins = *p == '/';
	}
	return !begins;
}

/* Returns a text without NUL and of a sensible length, or NULL. */
static char *text_of(struct grove_slice object, const char *name)
{
	struct grove_slice value, text;
	char *out;

	if (!grove_json_member(object, name, &value) || value.len > 6 * TEXT_MAX)
		return NULL;
	out = malloc(TEXT_MAX + 1);
	if (!out)
		return NULL;
	if (!grove_json_text(value, out, TEXT_MAX, &text) || text.len >= TEXT_MAX || memchr(text.ptr, 0, text.len)) {
		free(out);
		return NULL;
	}
	if (text.ptr != out)
		memmove(out, text.ptr, text.len);
	out[text.len] = '\0';
	return out;
}

static int number_of(struct grove_slice object, const char *name, uint64_t *out)
{
	struct grove_slice value;
	char text[24];

	if (!grove_json_member(object, name, &value) || !value.len || value.len > 19 ||
	    (memcpy(text, value.ptr, value.len), text[value.len] = '\0', strspn(text, "0123456789") != value.len))
		return 0;
	*out = strtoull(text, NULL, 10);
	return 1;
}

static int flag_of(struct grove_slice object, const char *name)
{
	struct grove_slice value;

	return grove_json_member(object, name, &value) && value.len == 4 && !memcmp(value.ptr, "true", 4);
}

static int is_object(struct grove_slice json)
{
	size_t at;

	return json.len && !body_check(json, &at) && memchr(json.ptr, '{', json.len) &&
	       json.ptr[strspn(json.ptr, " \t\r\n")] == '{';
}

static int parse_logs(struct grove_slice json, struct remote_session *s)
{
	struct grove_slice array, item;
	const char *place = NULL;

	if (!grove_json_member(json, "logs", &array))
		return 0;
	while (grove_json_next(array, &place, NULL, &item) && s->nr_logs + s->refused < NAMES_MAX) {
		struct remote_log *more, l = { .sub = text_of(item, "sub") };

		if (!l.sub || !remote_name_ok(l.sub) || !number_of(item, "seq", &l.seq) ||
		    !number_of(item, "generation", &l.generation)) {
			free(l.sub);
			s->refused++;
			continue;
		}
		more = realloc(s->log, (s->nr_logs + 1) * sizeof(*more));
		if (!more) {
			free(l.sub);
			return GROVE_ENOMEM;
		}
		s->log = more;
		s->log[s->nr_logs++] = l;
	}
	return 0;
}

static int parse_files(struct grove_slice json, struct remote_session *s)
{
	struct grove_slice array, item;
	const char *place = NULL;

	if (!grove_json_member(json, "files", &array))
		return 0;
	while (grove_json_next(array, &place, NULL, &item) && s->nr_files + s->refused < NAMES_MAX) {
		struct remote_file *more, f = { .name = text_of(item, "name") };
		size_t n = f.name ? strlen(f.name) : 0;

		if (!f.name || !remote_name_ok(f.name) || !number_of(item, "size", &f.size) ||
		    (n > 6 && !strcmp(f.name + n - 6, ".jsonl"))) {
			free(f.name);
			s->refused++;
			continue;
		}
		more = realloc(s->file_at, (s->nr_files + 1) * sizeof(*more));
		if (!more) {
			free(f.name);
			return GROVE_ENOMEM;
		}
		s->file_at = more;
		s->file_at[s->nr_files++] = f;
	}
	return 0;
}

int remote_parse_about(struct grove_slice json, struct remote_session *s)
{
	int rc;

	memset(s, 0, sizeof(*s));
	if (!is_object(json))
		return GROVE_EJSON;
	s->id = text_of(json, "id");
	s->key = text_of(json, "key");
	s->dialect = text_of(json, "dialect");
	s->cwd = text_of(json, "cwd");
	s->file = text_of(json, "file");
	s->leaf = text_of(json, "leafEntryId");
	s->old = flag_of(json, "old");
	if (!s->id || !*s->id || !s->dialect || !number_of(json, "seq", &s->seq) ||
	    !number_of(json, "generation", &s->generation))
		return GROVE_EJSON;
	rc = parse_logs(json, s);
	if (!rc)
		rc = parse_files(json, s);
	s->there = !rc;
	return rc;
}

void remote_session_release(struct remote_session *s)
{
	free(s->id);
	free(s->key);
	free(s->dialect);
	free(s->cwd);
	free(s->file);
	free(s->leaf);
	for (size_t i = 0; i < s->nr_logs; i++)
		free(s->log[i].sub);
	for (size_t i = 0; i < s->nr_files; i++)
		free(s->file_at[i].name);
	free(s->log);
	free(s->file_at);
	memset(s, 0, sizeof(*s));
}

int remote_parse_put(struct grove_slice json, struct remote_put *p)
{
	char *leaf;

	if (!is_object(json) || !number_of(json, "stored", &p->stored) || !number_of(json, "skipped", &p->skipped) ||
	    !number_of(json, "seq", &p->seq) || !number_of(json, "generation", &p->generation) ||
	    !number_of(json, "differing", &p->differing))
		return GROVE_EJSON;
	p->branched = flag_of(json, "branched");
	leaf = text_of(json, "leafEntryId");
	snprintf(p->leaf, sizeof(p->leaf), "%s", leaf && strlen(leaf) < sizeof(p->leaf) ? leaf : "");
	free(leaf);
	return 0;
}

int remote_parse_list(struct grove_slice json, remote_list_fn *fn, void *payload, char **next)
{
	struct grove_slice array, item;
	const char *place = NULL;
	int rc = 0;

	*next = NULL;
	if (!is_object(json) || !grove_json_member(json, "sessions", &array))
		return GROVE_EJSON;
	while (!rc && grove_json_next(array, &place, NULL, &item)) {
		char *id = text_of(item, "id"), *key = text_of(item, "key"), *cwd = text_of(item, "cwd");

		if (id && *id)
			rc = fn(payload, id, key && *key ? key : id, cwd ? cwd : "");
		free(id);
		free(key);
		free(cwd);
	}
	*next = text_of(json, "next");
	return rc;
}
