/*
 * diff.c: a change of a session's lines, for people.
 *
 *	--- /path/of/the/session.jsonl
 *	@@ 12: orphan: below the entry before it, as its parent is nowhere
 *	- 12 …"id":"b2","parentId":"gone","timestamp":"20…
 *	+ 12 …"id":"b2","parentId":"a1","timestamp":"2026…
 *
 * Lines are long and changes are short, so we show only the surroundings of a change, and
 * only the two ends of a line that is added or removed.
 */
#include "diff.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 100   /* bytes of a line */
#define AROUND 40   /* before a change */

/* Moves a position to a character boundary. */
static size_t whole(struct grove_slice s, size_t at)
{
	while (at > 0 && at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static void part(struct out *o, struct grove_slice s, size_t from, size_t to)
{
	from = whole(s, from);
	to = whole(s, to);
	out_text(o, (struct grove_slice){ s.ptr + from, to - from });
}

/* `at` is where the change is; SIZE_MAX if the whole line is new or removed. */
static void line(struct out *o, char sign, uint64_t number, struct grove_slice s, size_t at)
{
	out_style(o, sign == '-' ? OUT_RED : OUT_GREEN);
	out_printf(o, "%c %llu ", sign, (unsigned long long)number);
	if (s.len <= SHOWN) {
		part(o, s, 0, s.len);
	} else if (at == SIZE_MAX) {
		part(o, s, 0, SHOWN * 6 / 10);
		out_puts(o, "…");
		part(o, s, s.len - SHOWN * 4 / 10, s.len);
	} else {
		size_t from = at > AROUND ? at - AROUND : 0;
		size_t to = from + SHOWN < s.len ? from + SHOWN : s.len;

		out_puts(o, from ? "…" : "");
		part(o, s, from, to);
		out_puts(o, to < s.len ? "…" : "");
	}
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

/* Returns where two lines differ, or SIZE_MAX if they are equal. */
static size_t differ(struct grove_slice a, struct grove_slice b)
{
	size_t i = 0;

	while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i])
		i++;
	return i == a.len && i == b.len ? SIZE_MAX : i;
}

void diff_print(struct diff *d, struct out *o, const struct grove_fix_change *c)
{
	struct grove_slice now = c->new_text;
	int one = now.ptr && !memchr(now.ptr, '\n', now.len);
	size_t at = one ? differ(c->old_text, now) : SIZE_MAX;
	uint64_t number = c->new_line;

	if (strcmp(d->path, c->path)) {
		snprintf(d->path, sizeof(d->path), "%s", c->path);
		out_puts(o, "--- ");
		out_line(o, out_str(c->path));
		out_puts(o, "\n");
	}
	out_printf(o, "@@ %llu: ", (unsigned long long)c->line);
	out_line(o, out_str(c->kind));
	out_puts(o, ": ");
	out_line(o, out_str(c->detail));
	out_puts(o, "\n");
	line(o, '-', c->line, c->old_text, at);
	while (now.ptr) {
		const char *lf = memchr(now.ptr, '\n', now.len);
		size_t n = lf ? (size_t)(lf - now.ptr) : now.len;

		line(o, '+', number++, (struct grove_slice){ now.ptr, n }, at);
		now = lf ? (struct grove_slice){ lf + 1, now.len - n - 1 }
			 : (struct grove_slice){ NULL, 0 };
	}
}
