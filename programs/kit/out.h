/*
 * out.h: output for the user.
 *
 * An out is a buffered descriptor that knows whether it is a terminal, how wide that is,
 * and whether to use colour. Text from a session was written by others, so it goes through
 * out_text() and its variants. They make visible (^[, <U+202E>, <U+200B>, and <9B> for a
 * byte that is not UTF-8) what must not reach the terminal: control characters, and those
 * that change the direction of text or that a reader cannot see. Joiners within an emoji or
 * in the spelling of a script are left alone. JSON on a terminal has \u escapes instead,
 * which do not change its meaning.
 *
 * After a failed write all functions do nothing; out_failed() tells.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <grove.h>

#include <string.h>

enum out_color {
	OUT_COLOR_AUTO,
	OUT_COLOR_ALWAYS,
	OUT_COLOR_NEVER
};

/* For the option table, in the order of the enum. */
extern const char *const out_color_names[];

enum out_style {
	OUT_PLAIN,
	OUT_BOLD,
	OUT_DIM,
	OUT_RED,
	OUT_GREEN,
	OUT_YELLOW,
	OUT_BLUE,
	OUT_MAGENTA,
	OUT_CYAN
};

/* The width if there is no terminal and COLUMNS is not set. */
#define OUT_WIDTH_DEFAULT 200

struct out {
	int fd;            /* -1 to keep everything in ptr[0 … len-1] */
	int tty;
	int color;
	unsigned width;
	int failed;        /* errno of the write that failed */
	char last;         /* the byte written last */
	int left;          /* something was written to `fd` */
	char *ptr;
	size_t len, cap;
	char carry[8];     /* the beginning of a character, or of a joined one, that a sink
	                      received */
	unsigned carried;
	int before[2];     /* what preceded it; see out.c */
	/* Called before bytes are written to `fd`; `last` is their last. May be NULL. */
	void (*on_write)(void *payload, const struct out *o);
	void *payload;
};

void out_init(struct out *o, int fd);
void out_color(struct out *o, enum out_color when);
void out_release(struct out *o);
/* Returns 0 or GROVE_EIO. */
int out_flush(struct out *o);
int out_failed(const struct out *o);
/* Drops what was not written yet. Returns 1 if nothing was written before. */
int out_discard(struct out *o);

/* Writes our own text. */
void out_any(struct out *o, const char *ptr, size_t len);
/* The same, fast if there is room: a tree of a million lines has a dozen pieces in each. */
static inline void out_bytes(struct out *o, const char *ptr, size_t len)
{
	if (!len || len > o->cap - o->len || o->failed) {
		out_any(o, ptr, len);
		return;
	}
	memcpy(o->ptr + o->len, ptr, len);
	o->len += len;
	o->last = ptr[len - 1];
}
static inline void out_puts(struct out *o, const char *str)
{
	out_bytes(o, str, strlen(str));
}
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes a line end, unless the last byte was one. */
void out_end_line(struct out *o);
void out_pad(struct out *o, unsigned columns);
void out_style(struct out *o, enum out_style style);

/* Writes text from others, with its line ends and tabs. */
void out_text(struct out *o, struct grove_slice text);
/* The same where one line is expected, such as a message, an id or a path: line ends are visible, too. */
void out_line(struct out *o, struct grove_slice text);
/*
 * Writes text from others on one line: runs of white space become one space, and what does
 * not fit in `width` columns is replaced by "…". Returns the columns used.
 */
unsigned out_fit(struct out *o, struct grove_slice text, unsigned width);
/* The same for a path: the beginning is cut, because the end says more. */
unsigned out_fit_path(struct out *o, const char *path, unsigned width);
/* Like out_fit(), padded with spaces. */
void out_column(struct out *o, struct grove_slice text, unsigned width);
/* "$12.30", "~$12.30" if a part of it is estimated, "$12345" if `width` (0: any) has no room for cents. */
void out_cost(char *to, size_t size, double cost, double estimated, unsigned width);
/* The heading of the last column in a list of sessions; one word if the column is narrow. */
struct grove_slice out_name_heading(unsigned width);
/*
 * Writes text from others, each line after `prefix` (our own text). With `max_lines` other
 * than 0, writes only that many and cuts lines at the width. Returns how many lines were
 * left out.
 */
size_t out_block(struct out *o, struct grove_slice text, const char *prefix, size_t max_lines);
/* Returns the columns that out_fit() needs; stops counting beyond `most`. */
unsigned out_width(struct grove_slice text, unsigned most);
/* … with spaces as they are. */
unsigned out_columns(struct grove_slice text);

/* Writes a complete JSON value (invalid UTF-8 becomes U+FFFD), or a string as JSON. */
void out_json(struct out *o, struct grove_slice json);
void out_json_string(struct out *o, const char *str);  /* NULL: null */
/* Writes another member; NULL becomes null. */
void out_json_member(struct out *o, const char *name, const char *str);
void out_json_count(struct out *o, const char *name, uint64_t n);
/* For long output of the library. */
struct grove_sink out_json_sink(struct out *o);
/* Writes the stored bytes as they are; on a terminal, as out_text() would. */
struct grove_sink out_raw_sink(struct out *o);
/* Call when nothing more will come through the sink. */
void out_sink_end(struct out *o);

static inline struct grove_slice out_str(const char *str)
{
	struct grove_slice s = { str ? str : "", 0 };

	while (s.ptr[s.len])
		s.len++;
	return s;
}

#endif
