/*
 * follow.c: many sessions and one poll(2), until standard input says something or
 * ends.
 *
 *	follow SESSION…          prints a line for each event, and a cursor at the end
 *	GROVE_CURSOR=… follow    continues where that cursor was
 */
#include <grove.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints all events that there are now. Returns 0 or an error. */
static int print_events(struct grove_watch *w)
{
	struct grove_event e = { .size = sizeof(e) };
	int rc;

	while (!(rc = grove_watch_next(w, 0, &e)))
		printf("%s %s %s\n", e.session_id, grove_event_name(e.kind), e.entry_id ? e.entry_id : "-");
	fflush(stdout);
	return rc == 1 ? 0 : rc;
}

static int follow(struct grove_watch *w)
{
	struct pollfd p[] = { { .fd = grove_watch_fd(w), .events = POLLIN }, { .fd = 0, .events = POLLIN } };
	int rc = print_events(w);

	while (!rc && poll(p, 2, -1) > 0 && !p[1].revents)
		rc = print_events(w);
	return rc ? rc : print_events(w);
}

int main(int argc, char **argv)
{
	struct grove_watch_options opt = { .size = sizeof(opt), .cursor = getenv("GROVE_CURSOR") };
	struct grove_buf cursor = GROVE_BUF_INIT;
	struct grove_watch *w = NULL;
	struct grove *g = NULL;
	struct grove_detail why;
	int rc = grove_open(NULL, &g);

	rc = rc ? rc : grove_watch_open(g, &opt, &w);
	for (int i = 1; !rc && !opt.cursor && i < argc; i++)
		rc = grove_watch_add(w, argv[i], GROVE_REV_NOW, argv[i]);
	if (!rc) {
		printf("following\n");
		rc = follow(w);
	}
	if (!rc && !(rc = grove_watch_cursor(w, &cursor)))
		printf("GROVE_CURSOR=%s\n", cursor.ptr);
	if (rc) {
		if (w)
			grove_watch_error(w, &why);
		else
			grove_error(g, &why);
		fprintf(stderr, "follow: %s\n", why.message);
	}
	grove_buf_release(&cursor);
	grove_watch_close(w);
	grove_close(g);
	return rc != 0;
}
