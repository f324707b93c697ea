/*
 * js/js.h: JavaScript's arithmetic, in one room.
 *
 * The agents are JavaScript programs: what their files hold follows from how
 * that language counts characters, prints numbers and reads dates. No locale,
 * no global state; pure, but for local times, which depend on the time zone.
 */
#ifndef GROVE_JS_JS_H
#define GROVE_JS_JS_H

#include "base/buf.h"

/* UTF-16 code units of WTF-8 text (bad bytes count as U+FFFD would). */
size_t grove__js_length(struct grove_slice text);

/* String.prototype.trim(): Unicode white space, line ends and U+FEFF. */
struct grove_slice grove__js_trim(struct grove_slice text);

/*
 * String.prototype.localeCompare() for ASCII: negative, 0 or positive. Bytes
 * beyond ASCII compare by their value, after every letter.
 */
int grove__js_collate(struct grove_slice a, struct grove_slice b);

/*
 * url.fileURLToPath(): append the path of a file: URL to `out`. 1 if it is
 * none, and nothing is appended.
 */
int grove__js_file_url(const char *url, struct grove_buf *out);

/* Returns true if JavaScript considers this code point white space or a line end. */
bool grove__js_is_space(uint32_t cp);

/* Number.prototype.toString(): "0.000001", "1e-7", "123456789012345680000",
 * "1e+21", "NaN", "Infinity"; -0 is "0". */
#define GROVE__JS_NUMBER_MAX 32
size_t grove__js_number(char out[GROVE__JS_NUMBER_MAX], double d);

/*
 * Reads a JSON or JavaScript decimal literal; correctly rounded, no locale.
 * NaN for anything else.
 */
double grove__js_parse_number(struct grove_slice text);

/*
 * Does `literal` (JSON number grammar) survive JSON.stringify(JSON.parse())
 * with its decimal value unchanged? If so its JavaScript spelling is put into
 * `out` and its length returned; 0 if a double cannot hold it (also 1e400).
 */
size_t grove__js_number_canonical(char out[GROVE__JS_NUMBER_MAX], struct grove_slice literal);

/* An array index in the sense of key order: "0" … "4294967294", no leading zero. */
bool grove__js_is_index(struct grove_slice key, uint32_t *index);

/*
 * Date.parse: milliseconds since 1970, or GROVE__JS_NAN_DATE. The ISO forms of
 * the standard (date only is UTC, date and time without an offset is local
 * time, expanded years), and the forms that Date's own toString, toUTCString
 * and common logs produce, all read as V8 reads them. The valid range is
 * ±8.64e15.
 */
#define GROVE__JS_NAN_DATE INT64_MIN
int64_t grove__js_date_parse(struct grove_slice text);

/*
 * Date.prototype.toISOString(): 24 bytes, or 27 for years beyond 0…9999. 0
 * outside the valid range, where JavaScript throws.
 */
#define GROVE__JS_ISO_MAX 32
size_t grove__js_iso(char out[GROVE__JS_ISO_MAX], int64_t ms);

/*
 * Buffer.toString("base64"): append the letters, padded. 0 or GROVE_ENOMEM.
 */
int grove__js_base64(struct grove_buf *out, struct grove_slice bytes);
/*
 * Buffer.from(text, "base64"): append the bytes. Either alphabet; `=` ends the
 * text, what is no letter is passed over, so that nothing is an error. 0 or
 * GROVE_ENOMEM.
 */
int grove__js_base64_decode(struct grove_buf *out, struct grove_slice text);

#endif
