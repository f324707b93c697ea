/*
 * events.c: what happens, as it happens.
 */
#include "events.h"
#include "handlers.h"

int events_start(struct server *s)
{
	(void)s;
	return 0;
}

void events_stop(struct server *s)
{
	(void)s;
}

int get_events(struct request *r)
{
	return not_yet(r);
}

int get_session_events(struct request *r)
{
	return not_yet(r);
}
