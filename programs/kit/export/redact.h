/*
 * redact.h: removes keys, tokens, home directories and e-mail addresses from text.
 *
 * It recognizes well-known shapes and understands nothing: a password in a sentence
 * remains, and so does anything in an image. Text may contain JSON: replacements need no
 * escape, and no escape is split.
 */
#ifndef EXPORT_REDACT_H
#define EXPORT_REDACT_H

#include <grove.h>

enum redact_kind {
	REDACT_HOME,
	REDACT_EMAIL,
	REDACT_RULES,            /* the first of those that data/secrets.rules names */
	REDACT_KINDS = 64
};

struct redactor {
	uint64_t count[REDACT_KINDS];
	const char *home;        /* NULL if unknown */
	const char *user;        /* the name in it; NULL if none */
};

/*
 * `home` must outlive it; NULL: only directories below /home, /Users and C:\Users are known.
 * Returns 0, GROVE_ENOMEM, or GROVE_ENOTSUP: this program was built without PCRE2.
 */
int redactor_init(struct redactor *r, const char *home);
/* Appends `in` to `out` with all that in mind. Returns 0 or GROVE_ENOMEM. */
int redact_text(struct redactor *r, struct grove_slice in, struct grove_buf *out);
/* The same for JSON, which stays valid: only strings change, and none ends within a match. */
int redact_json(struct redactor *r, struct grove_slice in, struct grove_buf *out);
/*
 * Appends what was replaced and how often: "home-directory: 12, github-token: 3"; or that
 * nothing was. Returns 0 or GROVE_ENOMEM.
 */
int redactor_tell(const struct redactor *r, struct grove_buf *out);

#endif
