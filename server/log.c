/*
 * log.c: the server's log for administrators.
 */
#include "log.h"
#include "server.h"

#include <unistd.h>

void log_write(const struct doc *d)
{
	ssize_t n;

	/*
	 * one write per line keeps threads from mixing theirs; if it fails there is nobody
	 * to tell
	 */
	if (!d->rc) {
		n = write(STDERR_FILENO, d->buf.ptr, d->buf.len);
		(void)n;
	}
}

static void begin(struct doc *d, const char *level, const char *message)
{
	doc_open(d, '{');
	doc_member_time(d, "time", wall_ms());
	doc_member(d, "level", level);
	doc_member(d, "message", message);
}

void log_line(const char *level, const char *message)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	begin(&d, level, message);
	doc_puts(&d, "}\n");
	log_write(&d);
	doc_release(&d);
}

void log_detail(const char *level, const struct grove_detail *why)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	begin(&d, level, why->message);
	doc_member(&d, "code", grove_error_name(why->code));
	if (*why->path)
		doc_member(&d, "path", why->path);
	doc_puts(&d, "}\n");
	log_write(&d);
	doc_release(&d);
}
