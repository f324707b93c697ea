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
	REDACT_PRIVATE_KEY,
	REDACT_JWT,
	REDACT_BEARER,
	REDACT_URL_PASSWORD,
	REDACT_ASSIGNMENT,
	REDACT_ANTHROPIC_KEY,
	REDACT_OPENAI_KEY,
	REDACT_GITHUB_TOKEN,
	REDACT_GITLAB_TOKEN,
	REDACT_AWS_KEY,
	REDACT_GOOGLE_KEY,
	REDACT_SLACK_TOKEN,
	REDACT_STRIPE_KEY,
	REDACT_NPM_TOKEN,
	REDACT_PYPI_TOKEN,
	REDACT_HUGGINGFACE_TOKEN,
	REDACT_SENDGRID_KEY,
	REDACT_DIGITALOCEAN_TOKEN,
	REDACT_SHOPIFY_TOKEN,
	REDACT_GROQ_KEY,
	REDACT_XAI_KEY,
	REDACT_REPLICATE_TOKEN,
	REDACT_PERPLEXITY_KEY,
	REDACT_LINEAR_KEY,
	REDACT_DATABRICKS_TOKEN,
	REDACT_AGE_KEY,
	REDACT_VAULT_TOKEN,
	REDACT_DOCKER_TOKEN,
	REDACT_FIGMA_TOKEN,
	REDACT_OTHER_KEY,
	REDACT_KINDS
};

#define REDACT_PREFIXES 160      /* room for as many */

struct redactor {
	uint64_t count[REDACT_KINDS];
	unsigned char begins[256];   /* something may begin with this byte */
	unsigned char first[256];    /* the first prefix with it, plus one; 0: none */
	unsigned char next[REDACT_PREFIXES];
	const char *home;        /* NULL if unknown */
	const char *user;        /* the name in it; NULL if none */
};

/* `home` must outlive it; NULL: only directories below /home, /Users and C:\Users are known. */
void redactor_init(struct redactor *r, const char *home);
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
