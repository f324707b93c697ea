/*
 * base/fail.c: what went wrong, in enough detail to act on it.
 */
#include "base/fail.h"

#include "grove/types.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct grove_detail *grove__fail_clear(struct grove_detail *d)
{
	if (!d)
		return NULL;
	d->code = 0;
	d->has_place = 0;
	d->line = d->offset = 0;
	d->message[0] = d->path[0] = '\0';
	return d;
}

static void fill(struct grove_detail *d, int code, const char *path, const char *fmt, va_list ap)
{
	if (!d)
		return;
	grove__fail_clear(d);
	d->code = code;
	vsnprintf(d->message, sizeof(d->message), fmt, ap);
	if (path)
		snprintf(d->path, sizeof(d->path), "%s", path);
}

int grove__fail(struct grove_detail *d, int code, const char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(d, code, path, fmt, ap);
	va_end(ap);
	return code;
}

int grove__fail_at(struct grove_detail *d, int code, const char *path,
		   uint64_t line, uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(d, code, path, fmt, ap);
	va_end(ap);
	if (d) {
		d->has_place = 1;
		d->line = line;
		d->offset = offset;
	}
	return code;
}

static int code_of(int err)
{
	switch (err) {
	case ENOMEM:
		return GROVE_ENOMEM;
	case ENOENT:
	case ENOTDIR:
		return GROVE_ENOTFOUND;
	case EEXIST:
		return GROVE_EEXIST;
	case EACCES:
	case EPERM:
	case EROFS:
		return GROVE_EACCESS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG: /* a limit of the process or of the file system */
		return GROVE_EFULL;
	case EAGAIN:
	case EBUSY:
	case ETXTBSY:
		return GROVE_ECONFLICT;
	case ESTALE:
		return GROVE_ESTALE;
	case EISDIR:
	case ENAMETOOLONG:
	case ELOOP:
	case EINVAL:
		return GROVE_EINVAL;
	default:
		return GROVE_EIO;
	}
}

int grove__fail_sys(struct grove_detail *d, int err, const char *path, const char *what)
{
	char text[128];

	if (err < 0)
		err = -err;
	/* the GNU form: thread-safe, and it may ignore the buffer */
	return grove__fail(d, code_of(err), path, "%s: %s", what,
			   strerror_r(err, text, sizeof(text)));
}

int grove__fail_nomem(struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOMEM, NULL, "out of memory");
}

static const struct {
	int code;
	const char *name, *words;
} errors[] = {
	{ GROVE_OK, "OK", "done" },
	{ GROVE_ENOMEM, "NOMEM", "out of memory" },
	{ GROVE_EIO, "IO", "input or output error" },
	{ GROVE_EINVAL, "INVAL", "invalid argument" },
	{ GROVE_ENOTFOUND, "NOTFOUND", "not found" },
	{ GROVE_EEXIST, "EXIST", "already exists" },
	{ GROVE_ECONFLICT, "CONFLICT", "conflict with another writer" },
	{ GROVE_EDAMAGED, "DAMAGED", "not a usable session" },
	{ GROVE_EJSON, "JSON", "invalid JSON" },
	{ GROVE_ENOTSUP, "NOTSUP", "not supported" },
	{ GROVE_ESTALE, "STALE", "changed in the meantime" },
	{ GROVE_ETOOBIG, "TOOBIG", "too big" },
	{ GROVE_ECANCELLED, "CANCELLED", "cancelled" },
	{ GROVE_EAMBIGUOUS, "AMBIGUOUS", "ambiguous" },
	{ GROVE_EACCESS, "ACCESS", "permission denied" },
	{ GROVE_EFULL, "FULL", "no space left" },
	{ GROVE_EAWAY, "AWAY", "does not answer" },
};

const char *grove_strerror(int code)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == code)
			return errors[i].words;
	return "unknown error";
}

const char *grove_error_name(int code)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == code)
			return errors[i].name;
	return "UNKNOWN";
}
