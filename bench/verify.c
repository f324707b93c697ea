/*
 * verify.c: is the answer right?
 *
 * A fast answer counts only if it is the right one. The log is read again here,
 * line by line and with none of grove's own code, and compared with what the
 * view holds: how many entries, which leaf, which labels, and a thousand ids,
 * drawn at random, found at the lines where they stand. A manifest beside the
 * log (PATH.manifest.json, as bench/gen writes it) adds what the generator of
 * the log knows about it.
 *
 * The reader understands only the JSON of these logs: members without blanks,
 * ids without escapes, as JSON.stringify writes them.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1000, ID_MAX = 64, LABEL_MAX = 256 };

struct sample {
	char id[ID_MAX];
	uint64_t line;
};

struct label {
	char target[ID_MAX];
	char text[LABEL_MAX]; /* empty: cleared */
};

struct reading {
	uint64_t lines;
	uint64_t label_lines;
	struct sample sample[SAMPLES];
	size_t nr_samples, seen;
	struct label *label;     /* one for each target, as the last line has it */
	size_t nr_labels, cap_labels;
	uint64_t random;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The text member `name` of a line, in its first `len` bytes. */
static int member(const char *line, size_t len, const char *name, char *out, size_t cap)
{
	char key[64];
	int n = snprintf(key, sizeof(key), "\"%s\":\"", name);
	const char *p = memmem(line, len, key, (size_t)n), *end;

	if (!p)
		return 0;
	p += n;
	end = memchr(p, '"', len - (size_t)(p - line));
	if (!end || (size_t)(end - p) >= cap || memchr(p, '\\', (size_t)(end - p)))
		return 0;
	memcpy(out, p, (size_t)(end - p));
	out[end - p] = '\0';
	return 1;
}

static int starts(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

static int read_label(struct reading *r, const char *line, size_t len)
{
	struct label l = { "", "" };
	size_t i = 0;

	r->label_lines++;
	if (!member(line, len, "targetId", l.target, sizeof(l.target)))
		return fail("line %llu: a label without target", (unsigned long long)r->lines);
	member(line, len, "label", l.text, sizeof(l.text));
	while (i < r->nr_labels && strcmp(r->label[i].target, l.target))
		i++;
	if (i == r->cap_labels) {
		struct label *grown;

		r->cap_labels = r->cap_labels ? r->cap_labels * 2 : 64;
		grown = realloc(r->label, r->cap_labels * sizeof(*grown));
		if (!grown)
			return fail("out of memory");
		r->label = grown;
	}
	r->label[i] = l;
	if (i == r->nr_labels)
		r->nr_labels++;
	return 0;
}

/* Every id has the same chance to be among the samples. */
static void read_id(struct reading *r, const char *line)
{
	static const char id[] = "\",\"id\":\"";
	const char *p = starts(line, "{\"type\":\"") ? strchr(line + 9, '"') : NULL;
	struct sample s = { .line = r->lines };
	size_t slot = r->seen;

	if (!p || strncmp(p, id, sizeof(id) - 1) ||
	    sscanf(p + sizeof(id) - 1, "%63[^\"\\]", s.id) != 1)
		return;
	r->seen++;
	if (slot >= SAMPLES)
		slot = next_random(&r->random) % r->seen;
	if (slot < SAMPLES)
		r->sample[slot] = s;
	if (r->nr_samples < SAMPLES)
		r->nr_samples++;
}

static int read_log(struct reading *r, const char *path)
{
	FILE *f = fopen(path, "rb");
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int rc = 0;

	if (!f)
		return fail("cannot read %s", path);
	r->random = 0x9e3779b97f4a7c15u;
	while (!rc && (len = getline(&line, &cap, f)) > 0) {
		if (starts(line, "{\"type\":\"label\""))
			rc = read_label(r, line, (size_t)len);
		if (!starts(line, "{\"type\":\"session\","))
			read_id(r, line);
		r->lines++;
	}
	free(line);
	fclose(f);
	return rc;
}

static int verify_labels(const struct reading *r, struct grove_view *v)
{
	uint32_t nr = grove_view_count(v);
	size_t expected = 0, found = 0;

	for (size_t i = 0; i < r->nr_labels; i++) {
		const struct label *l = &r->label[i];
		uint32_t at;
		struct grove_entry e = { .size = sizeof(e) };

		if (grove_view_find(v, l->target, &at) || grove_view_entry(v, at, &e))
			return fail("labelled entry %s not found", l->target);
		if (strcmp(e.label ? e.label : "", l->text))
			return fail("entry %s is labelled \"%s\", should be \"%s\"", l->target,
				    e.label ? e.label : "", l->text);
		expected += l->text[0] != '\0';
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };

		if (grove_view_entry(v, i, &e))
			return fail("no entry %u", i);
		found += e.label != NULL;
	}
	return found == expected ? 0 : fail("%zu labels, should be %zu", found, expected);
}

static int verify_log(const struct reading *r, struct grove_view *v)
{
	uint32_t at;
	struct grove_counts c = { .size = sizeof(c) };

	grove_view_counts(v, &c);
	if (c.malformed || c.blank || c.torn)
		return fail("%llu malformed lines, %llu blank ones, torn: %d",
			    (unsigned long long)c.malformed, (unsigned long long)c.blank, c.torn);
	if (c.lines != r->lines)
		return fail("%llu lines, should be %llu", (unsigned long long)c.lines,
			    (unsigned long long)r->lines);
	for (size_t i = 0; i < r->nr_samples; i++) {
		struct grove_entry e = { .size = sizeof(e) };

		if (grove_view_find(v, r->sample[i].id, &at) || grove_view_entry(v, at, &e))
			return fail("entry %s not found", r->sample[i].id);
		if (!e.id || strcmp(e.id, r->sample[i].id) || e.line != r->sample[i].line)
			return fail("entry %s found at line %llu, should be %llu", r->sample[i].id,
				    (unsigned long long)e.line,
				    (unsigned long long)r->sample[i].line);
	}
	if (!grove_view_find(v, "no such id", &at))
		return fail("an id that is not there was found");
	put_count("looked_up", r->nr_samples);
	return verify_labels(r, v);
}

/* The value of the first member `name`, as text, with or without quotes. */
static int told(const char *json, const char *name, char *out, size_t cap)
{
	char key[64];
	const char *p;
	size_t n;

	snprintf(key, sizeof(key), "\"%s\":", name);
	p = strstr(json, key);
	if (!p)
		return 0;
	p += strlen(key);
	p += strspn(p, " \"");
	n = strcspn(p, "\",}");
	if (n >= cap)
		return 0;
	memcpy(out, p, n);
	out[n] = '\0';
	return 1;
}

static int verify_manifest(const char *json, const struct reading *r, struct grove_view *v)
{
	uint32_t at;
	static const char *const ids[] = { "leaf", "middle", "first_user" };
	struct grove_counts c = { .size = sizeof(c) };
	struct grove_entry leaf = { .size = sizeof(leaf) };
	char text[256];

	grove_view_counts(v, &c);
	/* The reported number includes the header. */
	if (!told(json, "entries", text, sizeof(text)) || c.entries + 1 != strtoull(text, NULL, 10))
		return fail("%llu entries and a header, the manifest says %s",
			    (unsigned long long)c.entries, text);
	if (told(json, "label", text, sizeof(text)) && r->label_lines != strtoull(text, NULL, 10))
		return fail("%llu labels, the manifest says %s",
			    (unsigned long long)r->label_lines, text);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (told(json, ids[i], text, sizeof(text)) &&
		    grove_view_find(v, text, &at))
			return fail("%s %s of the manifest not found", ids[i], text);
	if (grove_view_entry(v, grove_view_leaf(v), &leaf) ||
	    !told(json, "leaf", text, sizeof(text)) || !leaf.id || strcmp(leaf.id, text))
		return fail("the leaf is not %s", text);
	return 0;
}

/* The first bytes of the manifest, which is all we need; NULL if there is none. */
static char *read_manifest(const char *path)
{
	char name[4096];
	char *json = NULL;
	FILE *f;

	snprintf(name, sizeof(name), "%s.manifest.json", path);
	f = fopen(name, "rb");
	if (f) {
		size_t cap = (size_t)1 << 20;

		json = calloc(1, cap + 1);
		if (json && !fread(json, 1, cap, f)) {
			free(json);
			json = NULL;
		}
		fclose(f);
	}
	return json;
}

int verify(const char *path, struct grove_view *v)
{
	struct reading *r = calloc(1, sizeof(*r));
	char *json = read_manifest(path);
	int rc = r ? read_log(r, path) : fail("out of memory");

	if (!rc)
		rc = verify_log(r, v);
	if (!rc && json)
		rc = verify_manifest(json, r, v);
	if (!rc)
		put_text("verified", json ? "manifest" : "log");
	if (r)
		free(r->label);
	free(r);
	free(json);
	return rc;
}
