/*
 * json/scan.h: is this line JSON, and where are the members we care for?
 *
 * The scanner checks the whole grammar and remembers the spans of a few
 * members named beforehand; it builds nothing, and allocates nothing but for
 * nesting beyond a thousand levels. Lines too long to lie in memory go through
 * the stream machine below, a byte at a time if need be, with the same answers.
 */
#ifndef GROVE_JSON_SCAN_H
#define GROVE_JSON_SCAN_H

#include "json/json.h"

#include <stdint.h>

#define GROVE__JSON_WANT_MAX 64
/* Bytes after the end of the input that must be readable (not: be ours). */
#define GROVE__JSON_PAD 64

/*
 * A member to look for: its name, and the place in the table of the member
 * whose object it is in (-1: the top-level object). A parent is before
 * its children. Names are plain ASCII of at most 31 bytes.
 */
struct grove__json_member {
	const char *name;
	int parent;
};

struct grove__json_want {
	const struct grove__json_member *members;
	unsigned nr;
	/* the rest is filled by grove__json_want_init() */
	uint8_t name_len[GROVE__JSON_WANT_MAX];
	uint64_t children[GROVE__JSON_WANT_MAX + 1]; /* [parent + 1] → set of members */
	uint64_t below[GROVE__JSON_WANT_MAX];        /* all descendants */
	uint64_t by_len[32];                         /* members with this name length */
	uint64_t head[GROVE__JSON_WANT_MAX];         /* the name's first 8 bytes */
	uint64_t head_mask[GROVE__JSON_WANT_MAX];    /* and which of them it has */
};

/* Prepare a table of at most GROVE__JSON_WANT_MAX members. Never fails. */
void grove__json_want_init(struct grove__json_want *w,
			   const struct grove__json_member *members, unsigned nr);

/* A raw value (strings with their quotes), relative to the start of the line. */
struct grove__json_span {
	uint64_t off;
	uint64_t len;
};

enum grove__json_verdict {
	JSON_BLANK,     /* nothing but space, tab and CR */
	JSON_VALUE,     /* one valid value */
	JSON_BAD,       /* anything else; error_off says where it went wrong */
	JSON_MORE,      /* no line end within the bytes given, nothing decided */
	/*
	 * Nothing decided either: nesting beyond a thousand levels is kept on
	 * the heap, a bit each, and there was none left.
	 */
	JSON_NOMEM = GROVE_ENOMEM
};

struct grove__json_line {
	uint64_t len;        /* bytes up to, not including, the LF */
	uint64_t error_off;  /* JSON_BAD: the offending byte (or len, if cut short) */
	struct grove__json_span value;       /* the value itself, trimmed */
	enum grove__json_type type;          /* and its type */
	uint64_t seen;                       /* members found, a bit each */
	struct grove__json_span span[GROVE__JSON_WANT_MAX];
};

static inline bool grove__json_has(const struct grove__json_line *l, unsigned member)
{
	return l->seen >> member & 1;
}

static inline struct grove_slice grove__json_span_of(const struct grove__json_line *l,
						     const char *line, unsigned member)
{
	if (!grove__json_has(l, member))
		return grove__slice(NULL, 0);
	return grove__slice(line + l->span[member].off, (size_t)l->span[member].len);
}

/*
 * Scan the line that starts at `ptr`. It ends at the first LF; where there is
 * none within `len`, at `len` if `final`, else the answer is JSON_MORE.
 * GROVE__JSON_PAD bytes after ptr + len must be readable.
 *
 * Duplicate keys: the last one wins, whatever its type, and takes its own
 * members with it. Keys are compared after unescaping. After JSON_BAD the
 * spans mean nothing, but `len` is right.
 */
enum grove__json_verdict grove__json_scan(const struct grove__json_want *want,
					  const char *ptr, size_t len, bool final,
					  struct grove__json_line *out);

/*
 * The text of a file, which may have several lines, as one value: `text` becomes
 * that value, without the white space around it. 1: it is not one, and
 * *error_off (may be NULL) is where it goes wrong. GROVE_ENOMEM.
 */
int grove__json_document(struct grove_buf *text, uint64_t *error_off);

/* The kernels, best last; grove__json_scan() uses the best this CPU can run. */
struct grove__json_kernel {
	const char *name; /* "scalar", "avx2" */
	enum grove__json_verdict (*scan)(const struct grove__json_want *want,
					 const char *ptr, size_t len, bool final,
					 struct grove__json_line *out);
};
/* Kernel `i` if this CPU can run it, NULL after the last one. */
const struct grove__json_kernel *grove__json_kernel(unsigned i);

/*
 * The stream machine: one value, fed in pieces of any size. A line end is
 * white space to it, so it also reads values that span lines. Offsets count
 * from the first byte fed.
 */
struct grove__json_stream;

enum grove__json_progress {
	JSON_STREAM_MORE,  /* nothing wrong yet, not complete */
	JSON_STREAM_DONE,  /* the value is complete; what follows was not read */
	JSON_STREAM_BAD    /* error_off in the line says where */
};

/* NULL when out of memory. */
struct grove__json_stream *grove__json_stream_new(const struct grove__json_want *want);
void grove__json_stream_free(struct grove__json_stream *s);
/* Begin a new value, keeping the memory. */
void grove__json_stream_reset(struct grove__json_stream *s);
/*
 * Feed `len` bytes. *used gets how many were consumed: all of them for
 * JSON_STREAM_MORE. Leading white space is skipped. A number is only complete
 * when a byte after it says so, or at the end of input: pass final = true
 * with the last piece (which may be empty). GROVE_ENOMEM is possible (nesting
 * is kept as one bit a level): then the answer is negative.
 */
int grove__json_stream_feed(struct grove__json_stream *s, const char *ptr,
			    size_t len, bool final, size_t *used);
/* After DONE or BAD: spans, type, offsets (`len` = bytes consumed). */
const struct grove__json_line *grove__json_stream_line(const struct grove__json_stream *s);

#endif
