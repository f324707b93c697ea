/*
 * grove/types.h: the few plain types that every part of grove shares.
 *
 * You get them with <grove.h>; there is no need to include this file itself.
 */
#ifndef GROVE_TYPES_H
#define GROVE_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GROVE_API __attribute__((visibility("default")))
#else
#define GROVE_API
#endif

/*
 * Everything that can go wrong, as a small negative number. 0 is success; 1 means that
 * there is no more, or that nothing was done. New codes are added at the end.
 */
enum grove_error {
	GROVE_OK = 0,
	GROVE_ENOMEM = -1,     /* out of memory */
	GROVE_EIO = -2,        /* the system failed to read or write */
	GROVE_EINVAL = -3,     /* an argument that can never be valid */
	GROVE_ENOTFOUND = -4,  /* no such session, entry, file */
	GROVE_EEXIST = -5,     /* it already exists */
	GROVE_ECONFLICT = -6,  /* another writer came first, has it open, or holds its lock */
	GROVE_EDAMAGED = -7,   /* not a session, or one too damaged to use */
	GROVE_EJSON = -8,      /* the input is not the expected JSON */
	GROVE_ENOTSUP = -9,    /* this dialect or store cannot do it */
	GROVE_ESTALE = -10,    /* the log has changed: refresh */
	GROVE_ETOOBIG = -11,   /* over a limit, which the message names */
	GROVE_ECANCELLED = -12,/* a callback asked to stop */
	GROVE_EAMBIGUOUS = -13,/* a prefix that matches several sessions or entries */
	GROVE_EACCESS = -14,   /* permission denied */
	GROVE_EFULL = -15,     /* no space left, or a quota or the file size limit exceeded */
	GROVE_EAWAY = -16      /* the store does not answer; nothing was stored */
};

/* Bytes that somebody else owns. Not necessarily NUL-terminated. */
struct grove_slice {
	const char *ptr;
	size_t len;
};

/*
 * Bytes that you own: start with GROVE_BUF_INIT, end with
 * grove_buf_release(). `ptr` is NUL-terminated whenever it is not NULL.
 */
struct grove_buf {
	char *ptr;
	size_t len;
	size_t cap;
};
#define GROVE_BUF_INIT { NULL, 0, 0 }

/* The bytes of a string, without its NUL. */
static inline struct grove_slice grove_str(const char *text)
{
	struct grove_slice s = { text, text ? strlen(text) : 0 };

	return s;
}

/* The bytes of a buffer; valid until the buffer changes. */
static inline struct grove_slice grove_buf_slice(const struct grove_buf *b)
{
	struct grove_slice s = { b->ptr, b->len };

	return s;
}

/* From `from` up to, but not including, `to`. `to` 0: to the end, so { 0 } is everything. */
struct grove_range {
	uint64_t from, to;
};

/*
 * Times from `since` up to, but not including, `until`, in ms since 1970. 0: no limit on
 * that side, so { 0 } is any time.
 */
struct grove_period {
	int64_t since, until;
};

/* Rows of a view that you own: zero it, and end with grove_rows_release(). */
struct grove_rows {
	uint32_t *at;
	size_t nr;
};

/*
 * The detail of an error. `message` is one line without a full stop, `path` is empty if
 * no file is involved, and `line` (from 1) and `offset` (in bytes) are valid if
 * `has_place` is set.
 */
struct grove_detail {
	int code;
	int has_place;
	uint64_t line;
	uint64_t offset;
	char message[512];
	char path[4096];
};

/*
 * Receives long output. `write` takes all `len` bytes and returns 0, or a negative
 * grove_error that ends the work and is returned to the caller.
 */
struct grove_sink {
	int (*write)(void *payload, const char *ptr, size_t len);
	void *payload;
};

#define GROVE_VERSION "0.1.0"
/* The same for #if: major * 10000 + minor * 100 + patch. */
#define GROVE_VERSION_NUMBER 100

/* The version of the library, which may be later than this header. */
GROVE_API const char *grove_version(void);
/* A few words for an error code: "not found". */
GROVE_API const char *grove_strerror(int code);
/* The code as scripts see it in JSON: "NOTFOUND". */
GROVE_API const char *grove_error_name(int code);

/* ------------------------------------------------------------------ buffers */

GROVE_API void grove_buf_release(struct grove_buf *b);
GROVE_API void grove_rows_release(struct grove_rows *r);
/* Appends bytes. Returns 0 or GROVE_ENOMEM, as all of these do. */
GROVE_API int grove_buf_add(struct grove_buf *b, struct grove_slice bytes);
/* A sink that appends to `b`. */
GROVE_API struct grove_sink grove_buf_sink(struct grove_buf *b);
/* Appends text as a JSON string literal, as JSON.stringify would write it. */
GROVE_API int grove_buf_json_string(struct grove_buf *b, struct grove_slice text);
/*
 * Appends text or JSON as valid UTF-8: invalid bytes become U+FFFD. Stored lines may
 * contain any bytes; use this to pass one on to a strict reader.
 */
GROVE_API int grove_buf_utf8(struct grove_buf *b, struct grove_slice text);
/* Appends a time as ISO-8601 UTC with milliseconds: 2026-05-03T09:00:00.000Z. */
GROVE_API int grove_buf_time(struct grove_buf *b, int64_t ms);
/*
 * Tells how many seconds local time is ahead of UTC at `ms`. `tz` is a name such as
 * "Europe/Berlin", an offset such as "+02:00", "" for the zone of this process (TZ), or
 * NULL for UTC. GROVE_EINVAL for a zone that this system does not know.
 */
GROVE_API int grove_zone_offset(const char *tz, int64_t ms, int *seconds);
/* Appends bytes as base64, padded. */
GROVE_API int grove_buf_base64(struct grove_buf *b, struct grove_slice bytes);

/* A member that is true, false, or absent. */
enum grove_tristate { GROVE_ABSENT = 0, GROVE_TRUE = 1, GROVE_FALSE = 2 };

#ifdef __cplusplus
}
#endif
#endif
