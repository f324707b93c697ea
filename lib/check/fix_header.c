/*
 * check/fix_header.c: a header for a log that has lost its own.
 *
 * Its id and time are in the file's name. The location suggests its directory, but not
 * with certainty, because several directories have the same name there. So we first
 * compare with our own directory and with the other sessions next to it.
 */
#include "check/fix.h"

#include "sys/clock.h"

struct asking {
	struct grove__plan *p;
	struct grove_slice place;  /* the directory's name below the root of sessions */
	struct grove_buf cwd;      /* empty: not known */
	unsigned asked;
};

#define ASK_MAX 64                 /* number of sessions next to it that are examined */

static bool fits(const struct asking *a, const char *cwd)
{
	struct grove_buf name = GROVE_BUF_INIT;
	bool same = !a->p->dialect->paths.project(&a->p->g->env, cwd, &name) &&
		    grove__slice_eq(grove__buf_slice(&name), a->place);

	grove__buf_release(&name);
	return same;
}

static int ask_beside(void *payload, struct grove__root *root, const struct grove_key *key,
		      const struct grove_store_log_stat *st)
{
	struct asking *a = payload;
	struct grove__plan *p = a->p;
	struct grove__header h = { 0 };
	struct grove__arena keep;
	struct grove_store_log *log = NULL;
	struct grove_detail why;

	(void)root;
	(void)st;
	if (!strcmp(key->session, p->at->session))
		return 0;
	grove__arena_init(&keep);
	grove__fail_clear(&why);
	if (!grove__log_open(&log, p->at->store, key, GROVE_STORE_READ, &why) &&
	    !grove__peek_header(log, p->dialect, &keep, &h, &why) && h.usable && h.cwd &&
	    fits(a, h.cwd))
		grove__buf_add_str(&a->cwd, h.cwd);
	grove__log_close(log);
	grove__arena_release(&keep);
	return a->cwd.len || ++a->asked == ASK_MAX;
}

/* Decodes the name: each dash may have been a slash. */
static int guess(struct asking *a, const char *root, struct grove_slice rest)
{
	grove__buf_clear(&a->cwd);
	if (grove__buf_add_str(&a->cwd, root) || grove__buf_add_slice(&a->cwd, rest))
		return GROVE_ENOMEM;
	for (size_t i = strlen(root); i < a->cwd.len; i++)
		if (a->cwd.ptr[i] == '-')
			a->cwd.ptr[i] = '/';
	if (!fits(a, a->cwd.ptr))
		grove__buf_clear(&a->cwd);
	return 0;
}

static int find_cwd(struct asking *a)
{
	struct grove__plan *p = a->p;
	struct grove__root root = { .store = p->at->store };
	struct grove__logs_which beside = { .only = &root, .project = p->at->project, .copies = true };
	struct grove_slice n = a->place;
	struct grove_detail why;
	int rc = 0;

	if (fits(a, p->g->cwd))
		return grove__buf_add_str(&a->cwd, p->g->cwd);
	grove__fail_clear(&why);
	grove__logs_walk(p->g, &beside, ask_beside, a, &why);
	if (!a->cwd.len && n.len >= 4 && grove__slice_starts(n, "--"))
		rc = guess(a, "/", grove__slice(n.ptr + 2, n.len - 4));
	if (!rc && !a->cwd.len && n.len && n.ptr[0] == '-')
		rc = guess(a, p->g->home, n);
	return rc;
}

/* Returns the name of the directory that contains the session. */
static struct grove_slice place_of(const struct grove__where *at)
{
	const char *end = at->path ? strrchr(at->path, '/') : NULL, *begin = end;

	if (*at->project)
		return grove__slice_str(at->project);
	while (begin && begin > at->path && begin[-1] != '/')
		begin--;
	return begin ? grove__slice(begin, (size_t)(end - begin)) : grove__slice("", 0);
}

/* Returns the time of the first entry that has one. */
static int64_t first_time(const struct grove__plan *p)
{
	for (uint32_t row = 0; row < p->spine->nr; row++)
		if (grove__spine_time(p->spine, row) != GROVE_NO_TIME)
			return grove__spine_time(p->spine, row);
	return grove__sys_now_ms();
}

/* Gets the id and the time from the log's name; or the whole name, if it can be an id. */
static struct grove_slice named(const struct grove__plan *p, int64_t *time)
{
	struct grove_slice name = grove__slice_str(p->at->session), id;

	if (p->dialect->paths.parse_file_name(name, time, &id))
		return id;
	*time = first_time(p);
	grove__slice_cut_end(&name, ".jsonl");
	return p->dialect->names.session_id_ok(name) ? name : grove__slice(NULL, 0);
}

int grove__plan_header(struct grove__plan *p, struct grove_buf *out)
{
	struct grove__header_in h = { .what = HEADER_NEW };
	struct asking a = { .p = p, .place = place_of(p->at), .cwd = GROVE_BUF_INIT };
	struct grove_slice id = named(p, &h.time);
	char fresh[40];
	int rc = find_cwd(&a);

	h.id = fresh;
	if (!id.ptr)
		grove__world_session_id(p->g, p->dialect, fresh);
	else if (!(h.id = grove__arena_dup(&p->keep, id)))
		rc = GROVE_ENOMEM;
	/* unknown directory: agents then use their own */
	h.cwd = a.cwd.len ? a.cwd.ptr : p->g->cwd;
	if (!rc)
		rc = p->dialect->header->compose(&h, out);
	grove__buf_release(&a.cwd);
	return rc ? grove__fail_nomem(p->d) : 0;
}
