/*
 * state.c: what is remembered about a server between runs.
 */
#include "state.h"

#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 20000
#define FIRST "grove sync 1\n"

/* ------------------------------------------------------------------- places */

static int make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) && errno != EEXIST) {
			*p = '/';
			return -1;
		}
		*p = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
}

static int find_dir(struct state *s, const char *url)
{
	const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	unsigned long long mark = table_hash(grove_str(url));
	int n;

	if (base && *base == '/')
		n = snprintf(s->dir, sizeof(s->dir), "%s/grove/sync/%016llx", base, mark);
	else if (home && *home == '/')
		n = snprintf(s->dir, sizeof(s->dir), "%s/.local/state/grove/sync/%016llx", home, mark);
	else
		n = -1;
	if (n < 0 || (size_t)n >= sizeof(s->dir) - 64)
		s->dir[0] = '\0';
	return *s->dir ? 0 : -1;
}

/* The file name of a session: escaped, so that an id cannot lead elsewhere. */
static void path_of(const struct state *s, const char *id, char *path, size_t size)
{
	uint64_t hash = table_hash(grove_str(id));

	if (s->scope.len)
		hash ^= table_hash(grove_buf_slice(&s->scope));
	snprintf(path, size, "%.4000s/%016llx", s->dir, (unsigned long long)hash);
}

/* Replaces a file atomically. */
static int replace(const struct state *s, const char *path, struct grove_slice text)
{
	char tmp[4200], dir[4096];
	FILE *f;
	int bad;

	snprintf(dir, sizeof(dir), "%s", s->dir);
	if (!*dir || make_dirs(dir))
		return -1;
	snprintf(tmp, sizeof(tmp), "%.4100s.%ld", path, (long)getpid());
	f = fopen(tmp, "we");
	if (!f)
		return -1;
	bad = fwrite(text.ptr, 1, text.len, f) != text.len;
	bad |= fclose(f) != 0;
	if (bad || rename(tmp, path)) {
		unlink(tmp);
		return -1;
	}
	return 0;
}

/* ---------------------------------------------------------------------- map */

int state_map(struct state *s, const char *here, const char *there)
{
	struct map *more, m = { strdup(here), strdup(there) };

	for (size_t i = 0; i < s->nr_maps; i++)
		if (!strcmp(s->map[i].here, here) || !strcmp(s->map[i].there, there)) {
			free(s->map[i].here);
			free(s->map[i].there);
			s->map[i] = m;
			return m.here && m.there ? 0 : -1;
		}
	more = realloc(s->map, (s->nr_maps + 1) * sizeof(*more));
	if (!more || !m.here || !m.there) {
		s->map = more ? more : s->map;
		free(m.here);
		free(m.there);
		return -1;
	}
	s->map = more;
	s->map[s->nr_maps++] = m;
	return 0;
}

static char *mapped(const char *from, const char *to, const char *cwd)
{
	size_t n = strlen(from);
	char *out;

	/* "/" and "/home/" end in a separator */
	while (n > 1 && from[n - 1] == '/')
		n--;
	if (strncmp(cwd, from, n) || (cwd[n] && cwd[n] != '/' && n > 1))
		return NULL;
	return asprintf(&out, "%s%s", to, cwd + n) < 0 ? NULL : out;
}

static char *map_cwd(const struct state *s, const char *cwd, int to_here)
{
	const struct map *best = NULL;
	size_t longest = 0;
	char *out;

	for (size_t i = 0; i < s->nr_maps; i++) {
		const char *from = to_here ? s->map[i].there : s->map[i].here;

		out = mapped(from, "", cwd);
		if (out && strlen(from) >= longest) {
			longest = strlen(from);
			best = &s->map[i];
		}
		free(out);
	}
	if (!best)
		return strdup(cwd);
	return to_here ? mapped(best->there, best->here, cwd) : mapped(best->here, best->there, cwd);
}

char *state_there(const struct state *s, const char *cwd)
{
	return map_cwd(s, cwd, 0);
}

char *state_here(const struct state *s, const char *cwd)
{
	return map_cwd(s, cwd, 1);
}

int state_open(struct state *s, const char *url, char *why, size_t size)
{
	char path[4200], line[LINE_MAX_BYTES], *tab;
	FILE *f;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	if (find_dir(s, url))
		return 0;
	snprintf(path, sizeof(path), "%s/server", s->dir);
	f = fopen(path, "re");
	if (!f && errno != ENOENT && errno != ENOTDIR) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (f && !rc && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		tab = strchr(line, '\t');
		if (!strncmp(line, "map ", 4) && tab) {
			*tab = '\0';
			rc = state_map(s, line + 4, tab + 1);
		}
	}
	if (f)
		fclose(f);
	if (rc)
		snprintf(why, size, "out of memory");
	return rc;
}

int state_save(const struct state *s, const char *url, char *why, size_t size)
{
	struct grove_buf text = GROVE_BUF_INIT;
	char path[4200];
	int rc = grove_buf_add(&text, grove_str(FIRST "url "));

	rc |= grove_buf_add(&text, grove_str(url)) | grove_buf_add(&text, grove_str("\n"));
	for (size_t i = 0; i < s->nr_maps; i++)
		rc |= grove_buf_add(&text, grove_str("map ")) | grove_buf_add(&text, grove_str(s->map[i].here)) |
		      grove_buf_add(&text, grove_str("\t")) | grove_buf_add(&text, grove_str(s->map[i].there)) |
		      grove_buf_add(&text, grove_str("\n"));
	snprintf(path, sizeof(path), "%s/server", s->dir);
	errno = ENOMEM;
	rc = rc || replace(s, path, grove_buf_slice(&text)) ? -1 : 0;
	if (rc)
		snprintf(why, size, "cannot save the map of directories: %s", strerror(errno));
	grove_buf_release(&text);
	return rc;
}

void state_close(struct state *s)
{
	for (size_t i = 0; i < s->nr_maps; i++) {
		free(s->map[i].here);
		free(s->map[i].there);
	}
	free(s->map);
	grove_buf_release(&s->scope);
	memset(s, 0, sizeof(*s));
}

/* ----------------------------------------------------------------- sessions */

struct log_mark *state_log(struct session_mark *m, const char *sub)
{
	struct log_mark *more;

	for (size_t i = 0; i < m->nr_logs; i++)
		if (!strcmp(m->log[i].sub, sub))
			return &m->log[i];
	more = realloc(m->log, (m->nr_logs + 1) * sizeof(*more));
	if (!more)
		return NULL;
	m->log = more;
	m->log[m->nr_logs] = (struct log_mark){ .sub = strdup(sub) };
	return m->log[m->nr_logs].sub ? &m->log[m->nr_logs++] : NULL;
}

struct file_mark *state_file(struct session_mark *m, const char *name)
{
	struct file_mark *more;

	for (size_t i = 0; i < m->nr_files; i++)
		if (!strcmp(m->file[i].name, name))
			return &m->file[i];
	more = realloc(m->file, (m->nr_files + 1) * sizeof(*more));
	if (!more)
		return NULL;
	m->file = more;
	m->file[m->nr_files] = (struct file_mark){ .name = strdup(name) };
	return m->file[m->nr_files].name ? &m->file[m->nr_files++] : NULL;
}

static int parse_line(struct session_mark *m, const char *line)
{
	unsigned long long a[4], b[4], n, size, hash;
	struct log_mark *l;
	struct file_mark *f;
	int copying, at = 0;

	if (sscanf(line, "log %llu %llu %llu %llu %llu %llu %llu %llu %llu %d %n", &a[0], &a[1], &a[2], &a[3], &b[0],
		   &b[1], &b[2], &b[3], &n, &copying, &at) == 10 && at) {
		l = state_log(m, line[at] == '-' ? "" : line + at + 1);
		if (!l)
			return -1;
		l->here = (struct mark){ a[0], a[1], a[2], a[3] };
		l->there = (struct mark){ b[0], b[1], b[2], b[3] };
		l->differing = n;
		l->copying = copying;
	} else if (sscanf(line, "file %llu %llu %n", &size, &hash, &at) == 2 && at) {
		f = state_file(m, line + at);
		if (!f)
			return -1;
		f->size = size;
		f->hash = hash;
	}
	return 0;
}

int state_load(const struct state *s, const char *id, struct session_mark *out)
{
	char path[4200], line[LINE_MAX_BYTES];
	FILE *f;
	int rc = 0, ours = 0;

	memset(out, 0, sizeof(*out));
	out->id = strdup(id);
	if (!out->id)
		return -1;
	path_of(s, id, path, sizeof(path));
	f = *s->dir ? fopen(path, "re") : NULL;
	while (f && !rc && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "id ", 3))
			ours = !strcmp(line + 3, id);
		else if (ours)
			rc = parse_line(out, line);
	}
	if (f)
		fclose(f);
	return rc;
}

void state_release(struct session_mark *m)
{
	for (size_t i = 0; i < m->nr_logs; i++)
		free(m->log[i].sub);
	for (size_t i = 0; i < m->nr_files; i++)
		free(m->file[i].name);
	free(m->log);
	free(m->file);
	free(m->id);
	memset(m, 0, sizeof(*m));
}

static int put_log(struct grove_buf *b, const struct log_mark *l)
{
	char text[300];

	snprintf(text, sizeof(text), "log %llu %llu %llu %llu %llu %llu %llu %llu %llu %d %c",
		 (unsigned long long)l->here.seq, (unsigned long long)l->here.generation,
		 (unsigned long long)l->here.last, (unsigned long long)l->here.hold, (unsigned long long)l->there.seq,
		 (unsigned long long)l->there.generation, (unsigned long long)l->there.last,
		 (unsigned long long)l->there.hold, (unsigned long long)l->differing, l->copying, *l->sub ? '+' : '-');
	return grove_buf_add(b, grove_str(text)) | grove_buf_add(b, grove_str(l->sub)) | grove_buf_add(b, grove_str("\n"));
}

int state_store(const struct state *s, const struct session_mark *m)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char path[4200], text[64];
	int rc;

	if (!*s->dir)
		return 0;
	rc = grove_buf_add(&b, grove_str(FIRST "id ")) | grove_buf_add(&b, grove_str(m->id)) |
	     grove_buf_add(&b, grove_str("\n"));
	for (size_t i = 0; i < m->nr_logs; i++)
		rc |= put_log(&b, &m->log[i]);
	for (size_t i = 0; i < m->nr_files; i++) {
		snprintf(text, sizeof(text), "file %llu %llu ", (unsigned long long)m->file[i].size,
			 (unsigned long long)m->file[i].hash);
		rc |= grove_buf_add(&b, grove_str(text)) | grove_buf_add(&b, grove_str(m->file[i].name)) |
		      grove_buf_add(&b, grove_str("\n"));
	}
	path_of(s, m->id, path, sizeof(path));
	errno = ENOMEM;
	rc = rc || replace(s, path, grove_buf_slice(&b)) ? -1 : 0;
	grove_buf_release(&b);
	return rc;
}
