/*
 * session/resume.c: the command with which a session's agent continues it.
 *
 * Each dialect lists its agents' commands. In a command, "{id}" is the session's id if the agent
 * would find the session by it, or else the path of the file, if the agent accepts one. "{key}"
 * is the session's name in a list of the agent's own (OpenClaw).
 */
#include "session/about.h"

#include "json/scan.h"
#include "sys/file.h"

#include <fnmatch.h>
#include <stdlib.h>

enum { WORDS = 8 };

/* What the caller gets, in one block. */
struct grove__command {
	struct grove_command c;
	const char *argv[WORDS + 1];
	char text[];
};

static int cannot(struct grove_session *s, struct grove_detail *d, const char *why)
{
	return grove__fail(d, GROVE_ENOTSUP, s->at.path, "%s", why);
}

/* --- where it is --- */

struct place {
	struct grove_session *s;
	struct grove_slice dir;      /* the directory of the session's file */
	bool below;                  /* it is one of the agent's own … */
	bool right; /* … and the one that the agent searches for sessions of this working
	directory */
};

static int on_root(void *payload, const char *agent, const char *root, bool flat)
{
	struct place *p = payload;
	struct grove_buf want = GROVE_BUF_INIT, dir = GROVE_BUF_INIT;
	int rc = grove__buf_add_slice(&dir, p->dir);

	if (!rc && !strcmp(agent, p->s->at.agent)) {
		rc = grove__buf_add_str(&want, root);
		if (!rc && !flat)
			rc = grove__buf_add_str(&want, "/*");
		p->below |= !rc && !fnmatch(want.ptr, dir.ptr, FNM_PATHNAME);
		p->right |= !rc && flat && p->below;
		grove__buf_clear(&want);
		if (!rc && !flat && p->s->cwd)
			rc = grove__buf_addf(&want, "%s/", root) ? GROVE_ENOMEM :
			     p->s->at.dialect->paths.project(&p->s->g->env, p->s->cwd, &want);
		p->right |= !rc && want.len && grove__slice_eq(grove__buf_slice(&want), p->dir);
	}
	grove__buf_release(&want);
	grove__buf_release(&dir);
	return rc;
}

/* The archive stores a note in the directory of each archived session. */
static int is_archived(const struct grove_session *s, bool *yes)
{
	struct grove_slice path = grove__slice_str(s->at.path);
	struct grove_buf note = GROVE_BUF_INIT;
	int rc;

	grove__slice_cut_end(&path, ".jsonl");
	rc = grove__buf_addf(&note, "%.*s/" GROVE__NOTE_NAME, (int)path.len, path.ptr);
	*yes = !rc && s->g->env.exists(s->g->env.file_payload, note.ptr);
	grove__buf_release(&note);
	return rc;
}

/* --- the name that the agent has for it --- */

#define LIST_MAX ((size_t)64 << 20)

static int find_key(struct grove_session *s, const struct grove__resume *r, struct grove_slice dir,
		    struct grove_buf *out, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&path, "%.*s/%s", (int)dir.len, dir.ptr, r->names);

	if (!rc && !grove__sys_read_small(path.ptr, LIST_MAX, &text, NULL) && !grove__json_document(&text, NULL))
		rc = r->find_name(grove__buf_slice(&text), s->id, out);
	if (rc)
		rc = grove__fail_nomem(d);
	else if (!out->len)
		rc = cannot(s, d, r->unnamed);
	grove__buf_release(&path);
	grove__buf_release(&text);
	return rc;
}

/* --- the command --- */

static const struct grove__resume *find_agent(const struct grove_session *s)
{
	const struct grove__resume *r = s->at.dialect->resume;

	while (r && r->agent && s->at.agent && strcmp(r->agent, s->at.agent))
		r++;
	return r && r->agent ? r : s->at.dialect->resume;
}

/* Fills in the name of the session in the command. */
static int name_it(struct grove_session *s, const struct grove__resume *r, struct grove_buf *out,
		   struct grove_detail *d)
{
	const char *slash = strrchr(s->at.path, '/');
	struct place p = { .s = s, .dir = grove__slice(s->at.path, slash ? (size_t)(slash - s->at.path) : 0) };
	int rc = s->at.dialect->paths.roots(&s->g->env, on_root, &p);

	if (rc)
		return grove__fail_nomem(d);
	if (strstr(r->command, "{key}"))
		return find_key(s, r, p.dir, out, d);
	if (!p.below && !r->paths)
		return cannot(s, d, "its agent finds sessions in its own directory only (copy it there with 'grove cp --to')");
	return grove__buf_add_str(out, p.right || !r->paths ? s->id : s->at.path) ? grove__fail_nomem(d) : 0;
}

/*
 * Writes the words of the command, with the session's name filled in, each followed by a NUL;
 * then the directory.
 */
static int split(const struct grove__resume *r, struct grove_slice name, const char *cwd, struct grove__command **out,
		 struct grove_detail *d)
{
	size_t size = sizeof(**out) + strlen(r->command) + name.len + (cwd ? strlen(cwd) : 0) + 2;
	struct grove__command *c = calloc(1, size);
	unsigned nr = 0;
	char *at;

	if (!c)
		return grove__fail_nomem(d);
	at = c->text;
	for (const char *p = r->command; *p && nr < WORDS; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");
		struct grove_slice word = *p == '{' ? name : grove__slice(p, len);

		c->argv[nr++] = memcpy(at, word.ptr, word.len);
		at += word.len + 1;
		p += len;
	}
	if (cwd && *cwd)
		c->c.cwd = memcpy(at, cwd, strlen(cwd));
	c->c.argv = c->argv;
	*out = c;
	return 0;
}

int grove__session_resume(struct grove_session *s, const struct grove_command **out, struct grove_detail *d)
{
	struct grove__own_file own;
	struct grove_buf name = GROVE_BUF_INIT;
	const struct grove__resume *r;
	bool archived;
	int rc = grove__session_load(s, d);

	*out = NULL;
	if (rc < 0)
		return rc;
	r = find_agent(s);
	if (!s->at.path)
		return cannot(s, d, "it is in a database, where its agent does not find it (copy it to the agent's directory with 'grove cp --to')");
	if (!r)
		return cannot(s, d, "no program is known that continues such sessions");
	if (grove__dialect_own_file(s->at.dialect, s->at.session, NULL, &own))
		return cannot(s, d, "it is a sub-agent's (resume the session that started it)");
	if (is_archived(s, &archived))
		return grove__fail_nomem(d);
	if (archived)
		return cannot(s, d, "it is in the archive (bring it back with 'grove archive restore')");
	free(s->command);
	s->command = NULL;
	rc = name_it(s, r, &name, d);
	if (!rc)
		rc = split(r, grove__buf_slice(&name), s->cwd, &s->command, d);
	if (!rc)
		*out = &s->command->c;
	grove__buf_release(&name);
	return rc;
}
