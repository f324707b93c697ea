/*
 * out.h: what the user sees.
 *
 * An out is a buffered descriptor that knows whether it is a terminal,
 * how wide that is, and whether to use colour. Text out of a session was
 * written by others: it goes through out_text() and its kin, where control
 * characters, those that turn the direction of writing and those that a reader
 * cannot see become visible (^[, <U+202E>, <U+200B>, and <9B> for a byte that is
 * no UTF-8) instead of reaching the terminal. What makes one emoji of several,
 * or belongs to the spelling of a script, is left where it stands. JSON for a
 * terminal has them as \u escapes, which is the same JSON.
 *
 * After a failed write everything here does nothing; out_failed() tells.
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

/* For the table of options, in the order of the enum. */
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

/* Columns where there is no terminal and COLUMNS does not say. */
#define OUT_WIDTH_DEFAULT 200

struct out {
	int fd;            /* -1: everything stays in ptr[0 … len-1] */
	int tty;
	int color;
	unsigned width;
	int failed;        /* errno of the write that failed */
	char last;         /* the byte written last */
	int left;          /* something has left for `fd` */
	char *ptr;
	size_t len, cap;
	char carry[8];     /* what a sink was given the head of: a character, or a joiner and one */
	unsigned carried;
	int before[2];     /* what stood before it: see out.c */
	/* called before bytes leave for `fd`, the last of which is `last`; NULL: nobody asks */
	void (*on_write)(void *payload, const struct out *o);
	void *payload;
};

void out_init(struct out *o, int fd);
void out_color(struct out *o, enum out_color when);
void out_release(struct out *o);
/* 0, or GROVE_EIO. */
int out_flush(struct out *o);
int out_failed(const struct out *o);
/* Forget what has not left yet. 1 if that was everything. */
int out_discard(struct out *o);

/* Our own words. */
void out_any(struct out *o, const char *ptr, size_t len);
/* The same, quick where there is room: a tree of a million lines has a dozen parts in each. */
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
/* A line end, unless one was written just now. */
void out_end_line(struct out *o);
void out_pad(struct out *o, unsigned columns);
void out_style(struct out *o, enum out_style style);

/* Text of others, with its line ends and tabs. */
void out_text(struct out *o, struct grove_slice text);
/*
 * Text of others on one line: runs of white space become one space, and what
 * does not fit in `width` columns is cut and ends in "…". Returns the columns
 * used.
 */
unsigned out_fit(struct out *o, struct grove_slice text, unsigned width);
/* The same for a path, of which the end says more: what is cut is its beginning. */
unsigned out_fit_path(struct out *o, const char *path, unsigned width);
/* As out_fit(), filled up with spaces. */
void out_column(struct out *o, struct grove_slice text, unsigned width);
/* The heading of the last column of a list of sessions: in one word where the column is narrow. */
struct grove_slice out_name_heading(unsigned width);
/*
 * Text of others, each line after `prefix` (our own words). With `max_lines`
 * other than 0 only that many, and lines are cut at the width. Returns the
 * number of lines that were left out.
 */
size_t out_block(struct out *o, struct grove_slice text, const char *prefix, size_t max_lines);
/* Columns the text needs in out_fit(); stops counting beyond `most`. */
unsigned out_width(struct grove_slice text, unsigned most);
/* … and with its spaces as they are. */
unsigned out_columns(struct grove_slice text);

/* JSON that is complete (what is not UTF-8 in it becomes U+FFFD), and a string that becomes JSON. */
void out_json(struct out *o, struct grove_slice json);
void out_json_string(struct out *o, const char *str);  /* NULL: null */
/* A member that follows others; NULL: null. */
void out_json_member(struct out *o, const char *name, const char *str);
void out_json_count(struct out *o, const char *name, uint64_t n);
/* For long output of the library. */
struct grove_sink out_json_sink(struct out *o);
/* The stored bytes as they are; on a terminal as out_text() shows them. */
struct grove_sink out_raw_sink(struct out *o);
/* Nothing more comes through that sink. */
void out_sink_end(struct out *o);

static inline struct grove_slice out_str(const char *str)
{
	struct grove_slice s = { str ? str : "", 0 };

	while (s.ptr[s.len])
		s.len++;
	return s;
}

#endif
