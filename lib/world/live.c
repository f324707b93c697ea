/*
 * world/live.c: whether the agent itself is using a session right now.
 *
 * The store finds out who has a file open. But an agent that opens its file for each
 * line has it closed most of the time, holds the conversation in memory, and would
 * continue from lines that no longer exist. So if the dialect knows what traces its
 * running processes leave, we look for those. This is not needed for appending: the
 * agent either reads what others append, or does not notice.
 */
#include "world/world.h"

#include "sys/alive.h"
#include "sys/file.h"

#include <errno.h>

#define NOTE_MAX ((size_t)64 << 10)
/*
 * Clocks may be set: a process this much younger than the record is not the one that
 * left it.
 */
#define YOUNGER_MS ((int64_t)600000)

struct looking {
	const struct grove__dialect *dialect;
	struct grove_slice id;               /* of the session; ptr NULL: of any */
	struct grove_buf path;               /* of the note */
	grove__live_fn *fn;
	void *payload;
};

static bool at_work(const struct grove__live_check *note)
{
	int64_t began;

	if (!grove__sys_alive(note->pid, &began))
		return false;
	return !began || note->since == GROVE_NO_TIME || began <= note->since + YOUNGER_MS;
}

/* Handles a name in the directory of records. Unreadable ones are ignored. */
static int look_at(void *payload, const char *name)
{
	struct looking *l = payload;
	struct grove_buf text = GROVE_BUF_INIT, session = GROVE_BUF_INIT;
	struct grove__live_check note = { .since = GROVE_NO_TIME };
	size_t len = l->path.len;
	int rc = 0;

	if (!grove__buf_addf(&l->path, "/%s", name) &&
	    !grove__sys_read_small(l->path.ptr, NOTE_MAX, &text, NULL) &&
	    !grove__json_document(&text, NULL) &&
	    l->dialect->live->note(name, grove__buf_slice(&text), &note, &session) &&
	    (!l->id.ptr || grove__slice_eq(grove__buf_slice(&session), l->id)) && at_work(&note))
		rc = l->fn(l->payload, &note, session.ptr);
	grove__buf_cut(&l->path, len);
	grove__buf_release(&text);
	grove__buf_release(&session);
	return rc;
}

static int look_into(void *payload, const char *dir)
{
	struct looking *l = payload;
	int ended = 0;

	grove__buf_clear(&l->path);
	if (grove__buf_add_str(&l->path, dir))
		return GROVE_ENOMEM;
	/* no directory, or no permission: no trace */
	return grove__sys_list(l->path.ptr, look_at, l, &ended) ? 0 : ended;
}

/* Returns the agent's id for it: a sub-agent's log counts as the session that started it. */
static struct grove_slice id_of(const struct grove__where *at)
{
	struct grove_slice id = grove__slice_str(at->session);
	struct grove__own_file own;

	if (grove__dialect_own_file(at->dialect, at->session, at->path, &own) && own.session.len)
		return own.session;
	grove__slice_cut_end(&id, ".jsonl");
	return id;
}

int grove__live_each(struct grove *g, const struct grove__dialect *dialect, const struct grove__where *at,
		     grove__live_fn *fn, void *payload)
{
	struct looking l = { .dialect = dialect, .fn = fn, .payload = payload };
	int rc;

	if (!dialect || !dialect->live)
		return 0;
	if (at)
		l.id = id_of(at);
	rc = dialect->live->dirs(&g->env, at ? at->path : "", look_into, &l);
	grove__buf_release(&l.path);
	return rc;
}

struct checking {
	const struct grove__where *at;
	struct grove_detail *d;
};

static int in_use(void *payload, const struct grove__live_check *note, const char *session)
{
	struct checking *c = payload;

	(void)session;
	return grove__fail(c->d, GROVE_ECONFLICT, c->at->path, "%s is using the session (process %lld)",
			   c->at->dialect->name, (long long)note->pid);
}

int grove__live_check(struct grove *g, const struct grove__where *at, struct grove_detail *d)
{
	struct checking c = { .at = at, .d = d };
	int rc = at->path ? grove__live_each(g, at->dialect, at, in_use, &c) : 0;

	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}
