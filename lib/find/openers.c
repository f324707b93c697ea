/*
 * find/openers.c: who has sessions open.
 *
 * Two traces: a descriptor of the session's file, and the record that an agent leaves
 * which opens its file for each line. Our own process does not count.
 */
#include "find/find.h"

#include "sys/alive.h"
#include "sys/openers.h"

#include <sys/stat.h>

struct search {
	struct grove__where at;          /* the session that is asked for */
	const char *id;                  /* its id; NULL: all sessions are asked for */
	const char *agent;               /* whose sessions they are, NULL: it is not known */
	int64_t told;                    /* the process last reported for this session … */
	int told_writing;                /* … and whether as a writer */
	grove_opener_fn *fn;
	void *payload;
};

static int tell(struct search *s, struct grove_opener *o)
{
	char program[64];

	if (o->pid == grove__sys_pid())
		return 0;
	grove__sys_program((long)o->pid, program, sizeof(program));
	o->program = program;
	if (o->since == GROVE_NO_TIME && (!grove__sys_alive(o->pid, &o->since) || !o->since))
		o->since = GROVE_NO_TIME;
	return s->fn(s->payload, o);
}

static int on_descriptor(void *payload, const struct grove__open_file *f)
{
	struct search *s = payload;
	struct grove_opener o = { .path = s->id ? s->at.path : f->path, .session_id = s->id, .pid = f->pid,
				  .since = GROVE_NO_TIME, .agent = s->agent,
				  .writing = grove__sys_descriptor_says(f, grove__sys_can_write) };

	/* it may have the file open more than once */
	if (s->id && s->told == o.pid && s->told_writing >= o.writing)
		return 0;
	s->told = o.pid;
	s->told_writing = o.writing;
	return tell(s, &o);
}

static int on_note(void *payload, const struct grove__live_check *note, const char *session)
{
	struct search *s = payload;
	struct grove_opener o = { .path = s->id ? s->at.path : NULL, .session_id = session, .pid = note->pid,
				  .since = note->since, .agent = s->agent, .writing = 1 };

	return tell(s, &o);
}

static int all(struct grove *g, struct search *s)
{
	int rc = grove__sys_each_open(NULL, ".jsonl", on_descriptor, s);

	for (unsigned i = 0; rc <= 0 && grove__dialect_at(i); i++) {
		s->agent = grove__dialect_at(i)->name;
		rc = grove__live_each(g, grove__dialect_at(i), NULL, on_note, s);
	}
	return rc;
}

static int of_one(struct grove *g, const char *what, struct search *s, struct grove_detail *d)
{
	struct stat st;
	int rc = grove__locate(g, what, &s->at, d);

	if (rc || !s->at.path) /* in a database nobody has a file open */
		return rc;
	s->id = s->at.session;
	s->agent = s->at.agent;
	if (!stat(s->at.path, &st))
		rc = grove__sys_each_open(&st, NULL, on_descriptor, s);
	return rc > 0 ? rc : grove__live_each(g, s->at.dialect, &s->at, on_note, s);
}

int grove__openers(struct grove *g, const char *what, grove_opener_fn *fn, void *payload,
		   struct grove_detail *d)
{
	struct search s = { .fn = fn, .payload = payload };
	int rc = what ? of_one(g, what, &s, d) : all(g, &s);

	grove__where_release(&s.at);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}
