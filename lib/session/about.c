/*
 * session/about.c: the fields of a record that describe its session.
 *
 * Claude Code stamps each record with the directory, the branch checked out there and
 * the version of the program. We write what is true for us: the directory of the
 * session, its branch, and the newest version in the log, so that the program does not
 * take our records for older ones than they are.
 */
#include "session/about.h"

#include "json/value.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <stdlib.h>

#define BRANCH_MS 2000

/* Reads the beginning of a small file as text. Returns false if there is none. */
static bool read_head(const char *path, char *out, size_t size)
{
	struct grove_buf b = GROVE_BUF_INIT;
	bool ok = !grove__sys_read_small(path, size - 1, &b, NULL) && b.len;

	if (ok) {
		memcpy(out, b.ptr, b.len);
		out[b.len] = '\0';
		out[strcspn(out, "\r\n")] = '\0';
	}
	grove__buf_release(&b);
	return ok;
}

/* Reads HEAD of the repository around `cwd`. In a work tree, a file names the directory. */
static bool read_git_head(const char *cwd, char *head, size_t size)
{
	struct grove_buf dir = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	char link[4096];
	bool found = false;

	if (grove__buf_add_str(&dir, cwd))
		return false;
	for (;;) {
		grove__buf_clear(&path);
		if (grove__buf_addf(&path, "%s/.git/HEAD", dir.ptr))
			break;
		found = read_head(path.ptr, head, size);
		if (found)
			break;
		grove__buf_cut(&path, path.len - strlen("/HEAD"));
		if (read_head(path.ptr, link, sizeof(link)) && !strncmp(link, "gitdir: ", 8)) {
			grove__buf_clear(&path);
			if (!grove__buf_addf(&path, "%s%s%s/HEAD", link[8] == '/' ? "" : dir.ptr,
					     link[8] == '/' ? "" : "/", link + 8))
				found = read_head(path.ptr, head, size);
			break;
		}
		while (dir.len && dir.ptr[dir.len - 1] != '/')
			grove__buf_cut(&dir, dir.len - 1);
		if (dir.len <= 1)
			break;
		grove__buf_cut(&dir, dir.len - 1);
	}
	grove__buf_release(&dir);
	grove__buf_release(&path);
	return found;
}

/* Finds the branch; "HEAD" if there is none. */
static int find_branch(struct grove_session *s)
{
	static const char heads[] = "ref: refs/heads/";
	char head[1024];
	const char *name = "HEAD";
	int64_t now = grove__sys_now_ms();

	if (s->stamp.branch && now - s->stamp.branch_ms < BRANCH_MS && now >= s->stamp.branch_ms)
		return 0;
	if (read_git_head(s->cwd, head, sizeof(head)) && !strncmp(head, heads, sizeof(heads) - 1))
		name = head + sizeof(heads) - 1;
	free(s->stamp.branch);
	s->stamp.branch = strdup(name);
	s->stamp.branch_ms = now;
	return s->stamp.branch ? 0 : GROVE_ENOMEM;
}

/* Returns 1 if it is none. */
static int read_version(struct grove_slice raw, struct grove_buf *out)
{
	if (grove__json_type_of(raw) != JSON_STRING || raw.len <= 2)
		return 1;
	grove__buf_clear(out);
	return grove__json_text(out, raw);
}

/* Finds the newest version that a record of the log names, or uses ours. */
static int find_version(struct grove_session *s, struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	struct grove_buf line = GROVE_BUF_INIT, version = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc = 1;

	for (uint32_t row = sp->nr; row-- > 0 && rc == 1;) {
		if (grove__spine_flags(sp, row) & ROW_ASIDE)
			continue;
		rc = grove__image_line(s->image, s->log, row, &line, &value, d);
		if (rc == GROVE_ETOOBIG)
			rc = 1;
		else if (!rc)
			rc = read_version(grove__json_get(value, s->at.dialect->write.written_by), &version);
	}
	if (!rc || rc == 1) {
		s->stamp.program = strdup(rc ? GROVE_VERSION : version.ptr);
		rc = s->stamp.program ? 0 : GROVE_ENOMEM;
	}
	grove__buf_release(&line);
	grove__buf_release(&version);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}

/* The records of a sub-agent belong to the session that started it. */
static int find_owner(struct grove_session *s)
{
	struct grove__own_file own;
	struct grove_slice id;
	int64_t time;
	bool found;

	if (s->owner || !grove__session_own_file(s))
		return 0;
	if (s->at.sub)
		found = s->at.dialect->paths.parse_file_name(grove__slice_str(s->at.session), &time, &id);
	else
		found = grove__dialect_own_file(s->at.dialect, grove__where_name(&s->at), s->at.path, &own) && own.session.len;
	if (!found)
		return 0;
	if (!s->at.sub)
		id = own.session;
	s->owner = strndup(id.ptr, id.len);
	return s->owner ? 0 : GROVE_ENOMEM;
}

int grove__session_about(struct grove_session *s, struct grove__about *out, struct grove_detail *d)
{
	int rc = s->stamp.program ? 0 : find_version(s, d);

	if (!rc && find_owner(s))
		rc = grove__fail_nomem(d);

	if (!rc && find_branch(s))
		rc = grove__fail_nomem(d);
	*out = (struct grove__about){ .session = s->owner ? s->owner : s->id, .cwd = s->cwd,
				      .version = s->stamp.program, .branch = s->stamp.branch, .entrypoint = "grove" };
	return rc;
}
