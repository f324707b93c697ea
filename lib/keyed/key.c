/*
 * keyed/key.c: the text of a key, and its name in a store.
 *
 * A name must be a valid file name in every store, so that sessions can be copied from one
 * to another. A part of a key is written unchanged, except for
 *
 *     %XX     a control character, '%', '/', a dot at the beginning (which would
 *             hide a file, or lead out of its directory), and the dot of ".jsonl"
 *             at the end of a directory's name (which would be a session's)
 *     %-      the empty part
 *     %~H     H is a hash of 32 digits: the part is too long for a name and is cut
 *             here. The whole part is stored with the log.
 *
 * and a log ends in ".jsonl". A slash in a subpath stays a slash. No two keys have the same
 * name, and a name that these rules cannot produce belongs to no key.
 */
#include "keyed/keyed.h"

#include <stdlib.h>

#define SUFFIX ".jsonl"
#define EMPTY "%-"
#define CUT "%~"
#define NAME_MAX_LEN 220                 /* of the 255 of a file, because suffixes and leases need
                                            some */
#define SUBPATH_MAX_LEN 1000
#define CUT_LEN 160
#define VALUE_NAME_MAX 128               /* as given … */
#define VALUE_STORED_MAX 200             /* … and as stored in databases */

/* ------------------------------------------------------------ text to name */

static bool ends_as_log(struct grove_slice s, size_t at)
{
	return s.len - at == strlen(SUFFIX) && !memcmp(s.ptr + at, SUFFIX, strlen(SUFFIX));
}

static bool is_escaped(struct grove_slice text, size_t i, bool dir)
{
	unsigned char c = (unsigned char)text.ptr[i];

	return c < 0x20 || c == 0x7f || c == '%' || c == '/' || (c == '.' && !i) ||
	       (dir && ends_as_log(text, i));
}

/* Adds a part, which is the name of a directory, or of a log without its suffix. */
static int add_part(struct grove_buf *out, struct grove_slice text, bool dir)
{
	int rc = text.len ? 0 : grove__buf_add_str(out, EMPTY);

	for (size_t i = 0; i < text.len && !rc; i++)
		rc = is_escaped(text, i, dir)
			     ? grove__buf_addf(out, "%%%02X", (unsigned char)text.ptr[i])
			     : grove__buf_add_char(out, text.ptr[i]);
	return rc;
}

/* Returns where to cut a name without splitting a character or %XX. */
static size_t cut_at(const struct grove_buf *name)
{
	size_t n = CUT_LEN;

	while (n && ((unsigned char)name->ptr[n] & 0xc0) == 0x80)
		n--;
	for (size_t back = 1; back <= 2 && back <= n; back++)
		if (name->ptr[n - back] == '%')
			return n - back;
	return n;
}

static int add_hash(struct grove_buf *out, struct grove_slice text)
{
	return grove__buf_addf(out, "%s%016llx%016llx", CUT,
			       (unsigned long long)grove__idmap_hash(1, text.ptr, text.len),
			       (unsigned long long)grove__idmap_hash(2, text.ptr, text.len));
}

/* Shortens the name so far, which is too long for `text`. */
static int shorten(struct grove_buf *out, struct grove_slice text)
{
	grove__buf_cut(out, cut_at(out));
	return add_hash(out, text);
}

/* Names a project or a session, which is also the name of a directory. */
static int name_part(struct grove_buf *out, const char *text, bool *cut)
{
	struct grove_slice s = grove__slice_str(text);
	int rc = add_part(out, s, true);

	if (rc || out->len <= NAME_MAX_LEN)
		return rc;
	*cut = true;
	return shorten(out, s);
}

/* Takes the next part of a subpath. Returns false after the last. */
static bool next_part(struct grove_slice *rest, struct grove_slice *part, bool *last)
{
	const char *slash;

	if (!rest->ptr)
		return false;
	slash = rest->len ? memchr(rest->ptr, '/', rest->len) : NULL;
	*last = !slash;
	*part = grove__slice(rest->ptr, slash ? (size_t)(slash - rest->ptr) : rest->len);
	*rest = slash ? grove__slice(slash + 1, rest->len - part->len - 1) : grove__slice(NULL, 0);
	return true;
}

static int add_subpath(struct grove_buf *out, struct grove_slice text, bool *fits)
{
	struct grove_slice part;
	bool last = false;
	int rc = 0;

	*fits = true;
	while (!rc && next_part(&text, &part, &last)) {
		size_t from = out->len;

		rc = add_part(out, part, !last);
		*fits = *fits && out->len - from <= NAME_MAX_LEN;
		if (!rc && !last)
			rc = grove__buf_add_char(out, '/');
	}
	*fits = *fits && out->len <= SUBPATH_MAX_LEN;
	return rc;
}

/* A subpath that is too long becomes one part. */
static int name_subpath(struct grove_buf *out, const char *text, bool *cut)
{
	struct grove_slice s = grove__slice_str(text);
	bool fits;
	int rc = add_subpath(out, s, &fits);

	if (rc || fits)
		return rc;
	*cut = true;
	grove__buf_clear(out);
	rc = add_part(out, s, false);
	return rc ? rc : shorten(out, s);
}

static int keep_text(const struct grove_key *key, struct grove_buf *out)
{
	const char *part[] = { key->project, key->session, key->subpath };
	int rc = 0;

	for (int i = 0; i < 3 && !rc; i++)
		rc = grove__buf_add(out, part[i] ? part[i] : "", part[i] ? strlen(part[i]) + 1 : 1);
	return rc;
}

int grove__keyed_name_of(const struct grove_key *key, struct grove__keyed_name *out,
			 struct grove_detail *d)
{
	int rc = 0;

	if (!key || !key->session)
		return grove__fail(d, GROVE_EINVAL, NULL, "a key must name a session");
	if (key->project)
		rc = name_part(&out->project, key->project, &out->cut);
	if (!rc)
		rc = name_part(&out->session, key->session, &out->cut);
	if (!rc)
		rc = grove__buf_add_str(&out->session, SUFFIX);
	if (!rc && key->subpath && *key->subpath) {
		rc = name_subpath(&out->subpath, key->subpath, &out->cut);
		if (!rc)
			rc = grove__buf_add_str(&out->subpath, SUFFIX);
	}
	if (!rc && out->cut)
		rc = keep_text(key, &out->text);
	return rc ? grove__fail_nomem(d) : 0;
}

void grove__keyed_name_release(struct grove__keyed_name *n)
{
	grove__buf_release(&n->project);
	grove__buf_release(&n->session);
	grove__buf_release(&n->subpath);
	grove__buf_release(&n->text);
}

struct grove_key grove__keyed_name_key(const struct grove__keyed_name *n)
{
	return (struct grove_key){ grove__buf_slice(&n->project).ptr, n->session.ptr,
				   grove__buf_slice(&n->subpath).ptr };
}

int grove__keyed_value_name(const char *name, struct grove_buf *out, struct grove_detail *d)
{
	struct grove_slice s = grove__slice_str(name ? name : "");

	if (!s.len || s.len > VALUE_NAME_MAX)
		return grove__fail(d, GROVE_EINVAL, NULL, "the name of a value has 1 to %d bytes",
				   VALUE_NAME_MAX);
	if (grove__buf_add_str(out, GROVE__META_HOST) || add_part(out, s, false))
		return grove__fail_nomem(d);
	if (out->len > VALUE_STORED_MAX)
		return grove__fail(d, GROVE_EINVAL, NULL, "the name of a value is too long: %.60s…", name);
	return 0;
}

/* ------------------------------------------------------------ name to text */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* GROVE__KEYED_NO_KEY: no text has this name. */
static int read_part(struct grove_buf *out, struct grove_slice name)
{
	int rc = 0;

	if (grove__slice_is(name, EMPTY))
		return grove__buf_add_str(out, "");
	for (size_t i = 0; i < name.len && !rc; i++) {
		int high = -1, low = -1;

		if (name.ptr[i] == '%' && i + 2 < name.len) {
			high = digit(name.ptr[i + 1]);
			low = digit(name.ptr[i + 2]);
		}
		if (name.ptr[i] != '%')
			rc = grove__buf_add_char(out, name.ptr[i]);
		else if (high < 0 || low < 0 || (!high && !low))
			return GROVE__KEYED_NO_KEY;
		else
			rc = grove__buf_add_char(out, (char)(high << 4 | low));
		i += name.ptr[i] == '%' ? 2 : 0;
	}
	return rc;
}

/* Returns part 0 to 2 of the stored key, or an empty slice. */
static struct grove_slice kept_part(const struct grove_buf *value, int which)
{
	struct grove_slice rest = value ? grove__buf_slice(value) : grove__slice("", 0);

	for (int i = 0; rest.len; i++) {
		const char *nul = memchr(rest.ptr, '\0', rest.len);
		size_t n = nul ? (size_t)(nul - rest.ptr) : rest.len;

		if (i == which)
			return grove__slice(rest.ptr, n);
		n += nul != NULL;
		rest = grove__slice(rest.ptr + n, rest.len - n);
	}
	return grove__slice("", 0);
}

static bool is_cut(const char *name)
{
	const char *at = strstr(name, CUT);

	return at && strlen(at) == strlen(CUT) + 32;
}

/* Returns 0 if `name` is what the rules give for `text`, 1 if not. */
static int same_name(struct grove_slice name, const char *text, bool sub)
{
	struct grove_buf again = GROVE_BUF_INIT;
	bool cut = false;
	int rc = sub ? name_subpath(&again, text, &cut) : name_part(&again, text, &cut);

	if (!rc)
		rc = !grove__slice_eq(name, grove__buf_slice(&again));
	grove__buf_release(&again);
	return rc;
}

static int read_parts(struct grove_buf *out, struct grove_slice name, bool sub)
{
	struct grove_slice part;
	bool last = false;
	int rc = 0;

	if (!sub)
		return read_part(out, name);
	while (!rc && next_part(&name, &part, &last)) {
		rc = read_part(out, part);
		if (!rc && !last)
			rc = grove__buf_add_char(out, '/');
	}
	return rc;
}

/* Decodes one of the three parts. */
static int text_part(const char *stored, int which, const struct grove_buf *value,
		     struct grove_buf *out)
{
	struct grove_slice name = grove__slice_str(stored);
	bool sub = which == 2;
	char *plain;
	int rc;

	if (which && !grove__slice_cut_end(&name, SUFFIX))
		return GROVE__KEYED_NO_KEY;
	plain = strndup(name.ptr, name.len);
	if (!plain)
		return GROVE_ENOMEM;
	if (!is_cut(plain))
		rc = read_parts(out, name, sub);
	else if (!value)
		rc = GROVE__KEYED_NEEDS_VALUE;
	else
		rc = grove__buf_add_slice(out, kept_part(value, which));
	if (!rc)
		rc = same_name(name, grove__buf_slice(out).ptr, sub);
	free(plain);
	return rc;
}

int grove__keyed_text_of(const struct grove_key *name, const struct grove_buf *value,
			 struct grove__keyed_text *out)
{
	int rc = 0;

	grove__buf_clear(&out->project);
	grove__buf_clear(&out->session);
	grove__buf_clear(&out->subpath);
	out->has_project = *name->project;
	if (*name->project)
		rc = text_part(name->project, 0, value, &out->project);
	if (!rc)
		rc = text_part(name->session, 1, value, &out->session);
	if (!rc && *name->subpath)
		rc = text_part(name->subpath, 2, value, &out->subpath);
	out->key = (struct grove_key){ out->has_project ? grove__buf_slice(&out->project).ptr : NULL,
				       grove__buf_slice(&out->session).ptr,
				       *name->subpath ? grove__buf_slice(&out->subpath).ptr : NULL };
	return rc;
}

void grove__keyed_text_release(struct grove__keyed_text *t)
{
	grove__buf_release(&t->project);
	grove__buf_release(&t->session);
	grove__buf_release(&t->subpath);
}
