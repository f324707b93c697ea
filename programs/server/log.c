/*
 * log.c: the server's log for administrators.
 */
#include "log.h"
#include "server.h"

#include <stdio.h>
#include <unistd.h>

/*
 * On a terminal, escapes what would be a command to it or would change the direction of
 * text: U+0080 to U+009F, and U+2000 to U+207F.
 */
static int make_safe(struct grove_slice text, struct grove_buf *out)
{
	const unsigned char *p = (const unsigned char *)text.ptr, *end = p + text.len;
	int rc = 0;

	while (p < end && !rc) {
		size_t n = 1, len = (size_t)(end - p);
		char code[8] = "";

		if (len > 1 && p[0] == 0xc2 && p[1] < 0xa0) {
			snprintf(code, sizeof(code), "\\u%04x", p[1]);
			n = 2;
		} else if (len > 2 && p[0] == 0xe2 && (p[1] | 1) == 0x81) {
			snprintf(code, sizeof(code), "\\u%04x", 0x2000u | (p[1] & 1u) << 6 | (p[2] & 0x3fu));
			n = 3;
		}
		rc = grove_buf_add(out, *code ? grove_str(code) : (struct grove_slice){ (const char *)p, 1 });
		p += n;
	}
	return rc;
}

void log_write(const struct doc *d)
{
	struct grove_slice text = grove_buf_slice(&d->buf);
	struct grove_buf safe = GROVE_BUF_INIT;
	ssize_t n;

	if (!d->rc && isatty(STDERR_FILENO) && !make_safe(text, &safe))
		text = grove_buf_slice(&safe);
	/*
	 * one write per line keeps threads from mixing theirs; if it fails there is nobody
	 * to tell
	 */
	if (!d->rc) {
		n = write(STDERR_FILENO, text.ptr, text.len);
		(void)n;
	}
	grove_buf_release(&safe);
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
