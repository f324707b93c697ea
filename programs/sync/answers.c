/*
 * answers.c: parses a server's answers.
 *
 * Nothing else in sync/ reads JSON from a server. Results are checked: numbers are numbers,
 * texts have no NUL and a sensible length, and the name of a file or log stays below its
 * session.
 */
#include "answers.h"


#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	/* logs are named without their suffix, and no file is a log */
	return !begins && !(n > 6 && !strcmp(name + n - 6, ".jsonl"));
}

int remote_id_ok(const char *id)
{
	size_t n = strlen(id);

	if (!n || n > REMOTE_ID_MAX || *id == '.' || *id == '-' || *id == '~')
		return 0;
	for (const char *p = id; *p; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f || *p == '/' || *p == '\\')
			return 0;
	return 1;
}

/* A key is an id, and what tells it from others of the same id. */
static int is_key_of(const char *key, const char *id)
{
	size_t n = strlen(id);

	return !strncmp(key, id, n) && (!key[n] || key[n] == '~') && remote_id_ok(key);
}

/* Returns a text without NUL and of a sensible length, or NULL. */
static char *text_of(struct grove_slice object, const char *name)
{
	struct grove_slice value, text;
	char room[TEXT_MAX];

	if (!grove_json_member(object, name, &value) || value.len > 6 * TEXT_MAX ||
	    !grove_json_text(value, room, sizeof(room), &text) || text.len + 4 > sizeof(room) || memchr(text.ptr, 0, text.len))
		return NULL;
	return strndup(text.ptr, text.len);
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
	return !grove_json_check(json, &json, NULL) && *json.ptr == '{';
}

/* Names come first in both structs, so that they are sorted and found by the same calls. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Makes room for another one; NULL if there are too many, or out of memory. */
static void *another(struct remote_session *s, void *list, size_t nr, size_t one)
{
	if (s->nr_logs + s->nr_files + s->refused >= REMOTE_NAMES_MAX) {
		s->too_many = 1;
		return NULL;
	}
	return nr & (nr - 1) ? list : realloc(list, (nr ? nr * 2 : 1) * one);
}

static int parse_logs(struct grove_slice json, struct remote_session *s)
{
	struct grove_slice array, item;
	const char *place = NULL;

	if (!grove_json_member(json, "logs", &array))
		return 0;
	while (grove_json_next(array, &place, NULL, &item)) {
		struct remote_log l = { .sub = text_of(item, "sub") }, *more = another(s, s->log, s->nr_logs, sizeof(l));

		s->log = more ? more : s->log;
		if (more && l.sub && remote_name_ok(l.sub) && number_of(item, "seq", &l.seq) &&
		    number_of(item, "generation", &l.generation)) {
			number_of(item, "modified", &l.modified);
			s->log[s->nr_logs++] = l;
			continue;
		}
		free(l.sub);
		if (!more)
			return s->too_many ? 0 : GROVE_ENOMEM;
		s->refused++;
	}
	return 0;
}

static int parse_files(struct grove_slice json, struct remote_session *s)
{
	struct grove_slice array, item;
	const char *place = NULL;

	if (!grove_json_member(json, "files", &array))
		return 0;
	while (grove_json_next(array, &place, NULL, &item)) {
		struct remote_file f = { .name = text_of(item, "name") },
				   *more = another(s, s->file_at, s->nr_files, sizeof(f));

		s->file_at = more ? more : s->file_at;
		if (more && f.name && remote_name_ok(f.name) && number_of(item, "size", &f.size)) {
			s->file_at[s->nr_files++] = f;
			continue;
		}
		free(f.name);
		if (!more)
			return s->too_many ? 0 : GROVE_ENOMEM;
		s->refused++;
	}
	return 0;
}

/* Sorts the names. One that comes twice is refused the second time. */
static void sort_names(struct remote_session *s)
{
	size_t nr = 0;

	if (s->nr_logs)
		qsort(s->log, s->nr_logs, sizeof(*s->log), by_name);
	for (size_t i = 0; i < s->nr_logs; i++)
		if (!nr || strcmp(s->log[nr - 1].sub, s->log[i].sub))
			s->log[nr++] = s->log[i];
		else
			free(s->log[i].sub);
	s->refused += s->nr_logs - nr;
	s->nr_logs = nr;
	nr = 0;
	if (s->nr_files)
		qsort(s->file_at, s->nr_files, sizeof(*s->file_at), by_name);
	for (size_t i = 0; i < s->nr_files; i++)
		if (!nr || strcmp(s->file_at[nr - 1].name, s->file_at[i].name))
			s->file_at[nr++] = s->file_at[i];
		else
			free(s->file_at[i].name);
	s->refused += s->nr_files - nr;
	s->nr_files = nr;
}

const struct remote_log *remote_session_log(const struct remote_session *s, const char *sub)
{
	return s->nr_logs ? bsearch(&sub, s->log, s->nr_logs, sizeof(*s->log), by_name) : NULL;
}

const struct remote_file *remote_session_file(const struct remote_session *s, const char *name)
{
	return s->nr_files ? bsearch(&name, s->file_at, s->nr_files, sizeof(*s->file_at), by_name) : NULL;
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
	number_of(json, "modified", &s->modified);
	if (!s->id || !remote_id_ok(s->id) || !s->dialect || !number_of(json, "seq", &s->seq) ||
	    !number_of(json, "generation", &s->generation))
		return GROVE_EJSON;
	rc = parse_logs(json, s);
	if (!rc)
		rc = parse_files(json, s);
	sort_names(s);
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

int remote_parse_list(struct grove_slice json, remote_list_fn *fn, void *payload, uint64_t *refused, char **next)
{
	struct grove_slice array, item;
	const char *place = NULL;
	int rc = 0;

	*next = NULL;
	if (!is_object(json) || !grove_json_member(json, "sessions", &array))
		return GROVE_EJSON;
	while (!rc && grove_json_next(array, &place, NULL, &item)) {
		char *id = text_of(item, "id"), *key = text_of(item, "key"), *cwd = text_of(item, "cwd");

		if (id && remote_id_ok(id))
			rc = fn(payload, id, key && is_key_of(key, id) ? key : id, cwd ? cwd : "");
		else
			++*refused;
		free(id);
		free(key);
		free(cwd);
	}
	*next = text_of(json, "next");
	return rc;
}

int remote_parse_event(struct remote_event *e, struct grove_slice line)
{
	struct grove_slice json, key, text;

	if (line.len > 7 && !memcmp(line.ptr, "event: ", 7))
		e->of_list = line.len == 15 && !memcmp(line.ptr + 7, "sessions", 8);
	if (!e->of_list || line.len < 6 || memcmp(line.ptr, "data: ", 6))
		return 0;
	json = (struct grove_slice){ line.ptr + 6, line.len - 6 };
	if (grove_json_check(json, NULL, NULL) || !grove_json_member(json, "key", &key) ||
	    !grove_json_text(key, e->key, sizeof(e->key) - 1, &text) || text.len >= sizeof(e->key) - 1 ||
	    (text.len && memchr(text.ptr, 0, text.len)))
		text.len = 0;
	else
		memmove(e->key, text.ptr, text.len);
	e->key[text.len] = '\0';
	return 1;
}
