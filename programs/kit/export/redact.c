/*
 * redact.c: removes keys, tokens, home directories and e-mail addresses from text.
 *
 * One pass. Most bytes begin nothing; a table says which do. A match may be preceded by a
 * JSON escape such as \n or \u00e9, whose letters do not belong to a word.
 */
#include "redact.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum class { ALNUM = 1, DASH = 2, UPPER = 4, HEX = 8, DOT = 16, SLASH = 32, MIXED = 64 };

static const char *const names[REDACT_KINDS] = {
	[REDACT_HOME] = "home-directory",
	[REDACT_EMAIL] = "e-mail-address",
	[REDACT_PRIVATE_KEY] = "private-key",
	[REDACT_JWT] = "jwt",
	[REDACT_BEARER] = "bearer-token",
	[REDACT_URL_PASSWORD] = "password-in-url",
	[REDACT_ASSIGNMENT] = "secret-in-variable",
	[REDACT_ANTHROPIC_KEY] = "anthropic-key",
	[REDACT_OPENAI_KEY] = "openai-key",
	[REDACT_GITHUB_TOKEN] = "github-token",
	[REDACT_GITLAB_TOKEN] = "gitlab-token",
	[REDACT_AWS_KEY] = "aws-key",
	[REDACT_GOOGLE_KEY] = "google-key",
	[REDACT_SLACK_TOKEN] = "slack-token",
	[REDACT_STRIPE_KEY] = "stripe-key",
	[REDACT_NPM_TOKEN] = "npm-token",
	[REDACT_PYPI_TOKEN] = "pypi-token",
	[REDACT_HUGGINGFACE_TOKEN] = "huggingface-token",
	[REDACT_SENDGRID_KEY] = "sendgrid-key",
	[REDACT_DIGITALOCEAN_TOKEN] = "digitalocean-token",
	[REDACT_SHOPIFY_TOKEN] = "shopify-token",
	[REDACT_GROQ_KEY] = "groq-key",
	[REDACT_XAI_KEY] = "xai-key",
	[REDACT_REPLICATE_TOKEN] = "replicate-token",
	[REDACT_PERPLEXITY_KEY] = "perplexity-key",
	[REDACT_LINEAR_KEY] = "linear-key",
	[REDACT_DATABRICKS_TOKEN] = "databricks-token",
	[REDACT_AGE_KEY] = "age-key",
	[REDACT_VAULT_TOKEN] = "vault-token",
	[REDACT_DOCKER_TOKEN] = "docker-token",
	[REDACT_FIGMA_TOKEN] = "figma-token",
	[REDACT_OTHER_KEY] = "key-of-another-service",
};

/* What can be recognized by its beginning. */
static const struct prefix {
	enum redact_kind kind;
	const char *begins;
	unsigned class;          /* the characters that follow; MIXED: small ones, capitals and digits */
	unsigned least;          /* how many at least */
} prefixes[] = {
	{ REDACT_ANTHROPIC_KEY, "sk-ant-", ALNUM | DASH, 20 },
	{ REDACT_OPENAI_KEY, "sk-", ALNUM | DASH, 20 },
	{ REDACT_GITHUB_TOKEN, "ghp_", ALNUM, 30 },
	{ REDACT_GITHUB_TOKEN, "gho_", ALNUM, 30 },
	{ REDACT_GITHUB_TOKEN, "ghu_", ALNUM, 30 },
	{ REDACT_GITHUB_TOKEN, "ghs_", ALNUM, 30 },
	{ REDACT_GITHUB_TOKEN, "ghr_", ALNUM, 30 },
	{ REDACT_GITHUB_TOKEN, "github_pat_", ALNUM | DASH, 40 },
	{ REDACT_GITLAB_TOKEN, "glpat-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glrt-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glptt-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "gldt-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glagent-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glcbt-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glffct-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glimt-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glwt-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glft-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "gloas-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "glsoat-", ALNUM | DASH, 20 },
	{ REDACT_GITLAB_TOKEN, "GR1348941", ALNUM | DASH, 20 },
	{ REDACT_AWS_KEY, "AKIA", UPPER, 16 },
	{ REDACT_AWS_KEY, "ASIA", UPPER, 16 },
	{ REDACT_AWS_KEY, "ABSK", ALNUM | SLASH | MIXED, 100 },    /* Bedrock */
	{ REDACT_GOOGLE_KEY, "AIza", ALNUM | DASH, 35 },
	{ REDACT_GOOGLE_KEY, "AQ.", ALNUM | DASH | MIXED, 40 },
	{ REDACT_GOOGLE_KEY, "ya29.", ALNUM | DASH, 20 },
	{ REDACT_GOOGLE_KEY, "GOCSPX-", ALNUM | DASH, 20 },
	{ REDACT_GOOGLE_KEY, "1//0", ALNUM | DASH, 30 },
	{ REDACT_SLACK_TOKEN, "xoxb-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxp-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxa-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxs-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxc-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxd-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxe-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xoxe.", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "xapp-", ALNUM | DASH, 10 },
	{ REDACT_SLACK_TOKEN, "https://hooks.slack.com/services/", ALNUM | SLASH, 20 },
	{ REDACT_SLACK_TOKEN, "https://hooks.slack.com/triggers/", ALNUM | SLASH, 20 },
	{ REDACT_SLACK_TOKEN, "https://hooks.slack.com/workflows/", ALNUM | SLASH, 20 },
	{ REDACT_STRIPE_KEY, "sk_live_", ALNUM, 16 },
	{ REDACT_STRIPE_KEY, "sk_test_", ALNUM, 16 },
	{ REDACT_STRIPE_KEY, "rk_live_", ALNUM, 16 },
	{ REDACT_STRIPE_KEY, "rk_test_", ALNUM, 16 },
	{ REDACT_STRIPE_KEY, "whsec_", ALNUM, 16 },
	{ REDACT_NPM_TOKEN, "npm_", ALNUM, 36 },
	{ REDACT_PYPI_TOKEN, "pypi-", ALNUM | DASH, 50 },
	{ REDACT_HUGGINGFACE_TOKEN, "hf_", ALNUM, 30 },
	{ REDACT_SENDGRID_KEY, "SG.", ALNUM | DASH | DOT, 40 },
	{ REDACT_DIGITALOCEAN_TOKEN, "dop_v1_", HEX, 40 },
	{ REDACT_DIGITALOCEAN_TOKEN, "doo_v1_", HEX, 40 },
	{ REDACT_DIGITALOCEAN_TOKEN, "dor_v1_", HEX, 40 },
	{ REDACT_SHOPIFY_TOKEN, "shpat_", HEX, 32 },
	{ REDACT_SHOPIFY_TOKEN, "shpca_", HEX, 32 },
	{ REDACT_SHOPIFY_TOKEN, "shppa_", HEX, 32 },
	{ REDACT_SHOPIFY_TOKEN, "shpss_", HEX, 32 },
	{ REDACT_GROQ_KEY, "gsk_", ALNUM, 40 },
	{ REDACT_XAI_KEY, "xai-", ALNUM, 40 },
	{ REDACT_REPLICATE_TOKEN, "r8_", ALNUM, 30 },
	{ REDACT_PERPLEXITY_KEY, "pplx-", ALNUM, 40 },
	{ REDACT_LINEAR_KEY, "lin_api_", ALNUM, 30 },
	{ REDACT_DATABRICKS_TOKEN, "dapi", HEX, 32 },
	{ REDACT_AGE_KEY, "AGE-SECRET-KEY-1", UPPER, 50 },
	{ REDACT_VAULT_TOKEN, "hvs.", ALNUM | DASH, 24 },
	{ REDACT_VAULT_TOKEN, "hvb.", ALNUM | DASH, 24 },
	{ REDACT_DOCKER_TOKEN, "dckr_pat_", ALNUM | DASH, 20 },
	{ REDACT_FIGMA_TOKEN, "figd_", ALNUM | DASH, 30 },
	{ REDACT_OTHER_KEY, "ATATT3", ALNUM | DASH, 40 },          /* Atlassian */
	{ REDACT_OTHER_KEY, "AKID", ALNUM | MIXED, 28 },           /* Tencent */
	{ REDACT_OTHER_KEY, "ATBB", ALNUM | MIXED, 28 },           /* Bitbucket */
	{ REDACT_OTHER_KEY, "ATCTT3", ALNUM | DASH, 40 },
	{ REDACT_OTHER_KEY, "BSA", ALNUM | DASH | MIXED, 28 },     /* Brave */
	{ REDACT_OTHER_KEY, "CCIPAT_", ALNUM | DASH, 40 },         /* CircleCI */
	{ REDACT_OTHER_KEY, "CFPAT-", ALNUM | DASH, 40 },          /* Contentful */
	{ REDACT_OTHER_KEY, "CLOJARS_", HEX, 50 },
	{ REDACT_OTHER_KEY, "EAAA", ALNUM | DASH | MIXED, 56 },    /* Square, Meta */
	{ REDACT_OTHER_KEY, "EZAK", ALNUM | MIXED, 50 },           /* EasyPost */
	{ REDACT_OTHER_KEY, "HRKU-", ALNUM | DASH, 30 },           /* Heroku */
	{ REDACT_OTHER_KEY, "LTAI", ALNUM | MIXED, 16 },           /* Alibaba */
	{ REDACT_OTHER_KEY, "NRAK-", UPPER, 20 },                  /* New Relic */
	{ REDACT_OTHER_KEY, "PMAK-", ALNUM | DASH, 40 },           /* Postman */
	{ REDACT_OTHER_KEY, "SK", HEX, 32 },                       /* Twilio */
	{ REDACT_OTHER_KEY, "ak-", ALNUM | MIXED, 22 },            /* Modal */
	{ REDACT_OTHER_KEY, "as-", ALNUM | MIXED, 22 },
	{ REDACT_OTHER_KEY, "bkua_", HEX, 40 },                    /* Buildkite */
	{ REDACT_OTHER_KEY, "crsr_", HEX, 60 },                    /* Cursor */
	{ REDACT_OTHER_KEY, "csk-", ALNUM, 40 },                   /* Cerebras */
	{ REDACT_OTHER_KEY, "dp.ct.", ALNUM, 40 },                 /* Doppler */
	{ REDACT_OTHER_KEY, "dp.pt.", ALNUM, 40 },
	{ REDACT_OTHER_KEY, "dp.sa.", ALNUM, 40 },
	{ REDACT_OTHER_KEY, "dp.st.", ALNUM | DASH | DOT, 40 },
	{ REDACT_OTHER_KEY, "e2b_", HEX, 40 },
	{ REDACT_OTHER_KEY, "fc-", HEX, 32 },                      /* Firecrawl */
	{ REDACT_OTHER_KEY, "fm2_", ALNUM | DASH | SLASH, 40 },    /* Fly.io */
	{ REDACT_OTHER_KEY, "fo1_", ALNUM | DASH, 40 },
	{ REDACT_OTHER_KEY, "fw_", ALNUM | MIXED, 24 },            /* Fireworks */
	{ REDACT_OTHER_KEY, "glc_eyJ", ALNUM, 40 },                /* Grafana */
	{ REDACT_OTHER_KEY, "glsa_", ALNUM | DASH, 32 },
	{ REDACT_OTHER_KEY, "https://discord.com/api/webhooks/", ALNUM | DASH | SLASH, 60 },
	{ REDACT_OTHER_KEY, "https://discordapp.com/api/webhooks/", ALNUM | DASH | SLASH, 60 },
	{ REDACT_OTHER_KEY, "jina_", ALNUM | DASH, 60 },
	{ REDACT_OTHER_KEY, "key-", HEX, 32 },                     /* Mailgun */
	{ REDACT_OTHER_KEY, "lsv2_", ALNUM | DASH, 32 },           /* LangSmith */
	{ REDACT_OTHER_KEY, "napi_", ALNUM, 60 },                  /* Neon */
	{ REDACT_OTHER_KEY, "nfp_", ALNUM, 36 },                   /* Netlify */
	{ REDACT_OTHER_KEY, "ntn_", ALNUM, 40 },                   /* Notion */
	{ REDACT_OTHER_KEY, "nvapi-", ALNUM | DASH, 40 },          /* NVIDIA */
	{ REDACT_OTHER_KEY, "ops_eyJ", ALNUM | DASH, 40 },         /* 1Password */
	{ REDACT_OTHER_KEY, "pat-eu1-", HEX | DASH, 32 },          /* HubSpot */
	{ REDACT_OTHER_KEY, "pat-na1-", HEX | DASH, 32 },
	{ REDACT_OTHER_KEY, "pcsk_", ALNUM | DASH, 50 },           /* Pinecone */
	{ REDACT_OTHER_KEY, "phx_", ALNUM, 40 },                   /* PostHog */
	{ REDACT_OTHER_KEY, "pscale_", ALNUM | DASH | MIXED, 40 }, /* PlanetScale */
	{ REDACT_OTHER_KEY, "pul-", HEX, 40 },                     /* Pulumi */
	{ REDACT_OTHER_KEY, "re_", ALNUM | DASH | MIXED, 32 },     /* Resend */
	{ REDACT_OTHER_KEY, "rnd_", ALNUM | MIXED, 24 },           /* Render */
	{ REDACT_OTHER_KEY, "rubygems_", HEX, 32 },
	{ REDACT_OTHER_KEY, "sb_secret_", ALNUM | DASH, 20 },      /* Supabase */
	{ REDACT_OTHER_KEY, "sbp_", HEX, 32 },
	{ REDACT_OTHER_KEY, "secret_", ALNUM | MIXED, 40 },        /* Notion */
	{ REDACT_OTHER_KEY, "sess-", ALNUM | MIXED, 36 },          /* OpenAI */
	{ REDACT_OTHER_KEY, "sgp_", ALNUM | DASH, 40 },            /* Sourcegraph */
	{ REDACT_OTHER_KEY, "shippo_live_", HEX, 40 },
	{ REDACT_OTHER_KEY, "sk.eyJ", ALNUM | DASH | DOT, 60 },    /* Mapbox */
	{ REDACT_OTHER_KEY, "sk_", HEX, 40 },                      /* ElevenLabs */
	{ REDACT_OTHER_KEY, "sl.", ALNUM | DASH | MIXED, 100 },    /* Dropbox */
	{ REDACT_OTHER_KEY, "sntrys_", ALNUM | DASH, 40 },         /* Sentry */
	{ REDACT_OTHER_KEY, "sntryu_", HEX, 40 },
	{ REDACT_OTHER_KEY, "sq0atp-", ALNUM | DASH, 20 },         /* Square */
	{ REDACT_OTHER_KEY, "sq0csp-", ALNUM | DASH, 40 },
	{ REDACT_OTHER_KEY, "tgp_v1_", ALNUM | DASH, 40 },         /* Together */
	{ REDACT_OTHER_KEY, "tskey-", ALNUM | DASH, 20 },          /* Tailscale */
	{ REDACT_OTHER_KEY, "tvly-", ALNUM | DASH, 24 },           /* Tavily */
	{ REDACT_OTHER_KEY, "v1.0-", HEX | DASH, 140 },            /* Cloudflare */
	{ REDACT_OTHER_KEY, "vcp_", ALNUM | MIXED, 24 },           /* Vercel */
	{ REDACT_OTHER_KEY, "wandb_v1_", ALNUM | DASH, 40 },
	{ REDACT_OTHER_KEY, "xkeysib-", ALNUM | DASH, 64 },        /* Brevo */
};
#define NR_PREFIXES (sizeof(prefixes) / sizeof(*prefixes))

struct scan {
	struct redactor *r;
	const char *begin, *end;
	const char *copied;      /* the text up to here is in `out` */
	int json;                /* it is JSON, not text: only strings change, and none ends within a match */
	const char *seen;        /* JSON up to here was looked at, */
	int in_string;           /* and there is a string */
	struct grove_buf *out;
	int rc;
};

static int is_alnum(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static int is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int is_of(unsigned class, char c)
{
	return (class & ALNUM && is_alnum(c)) || (class & DASH && (c == '-' || c == '_')) ||
	       (class & UPPER && ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) || (class & HEX && is_hex(c)) ||
	       (class & DOT && c == '.') || (class & SLASH && c == '/');
}

static const char *run_of(const struct scan *s, const char *p, unsigned class)
{
	while (p < s->end && is_of(class, *p))
		p++;
	return p;
}

static int is_word(char c)
{
	return is_alnum(c) || c == '_';
}

/* Returns true if the letter before `p` belongs to an escape. */
static int follows_escape(const struct scan *s, const char *p)
{
	if (p - s->begin >= 2 && p[-2] == '\\' && strchr("nrtbf", p[-1]) && p[-1])
		return 1;
	return p - s->begin >= 6 && p[-6] == '\\' && p[-5] == 'u' && is_hex(p[-4]) && is_hex(p[-3]) && is_hex(p[-2]) && is_hex(p[-1]);
}

/* Returns true if a word can begin here, or end; in Markdown, _ or __ may be around it. */
static int at_start(const struct scan *s, const char *p)
{
	for (int i = 0; i < 2 && p > s->begin && p[-1] == '_'; i++)
		p--;
	return p == s->begin || !is_word(p[-1]) || follows_escape(s, p);
}

static int at_end(const struct scan *s, const char *p)
{
	for (int i = 0; i < 2 && p < s->end && *p == '_'; i++)
		p++;
	return p == s->end || !is_word(*p);
}

/*
 * Returns true within an image or other data in base64, where anything may occur: after
 * many characters of which nothing but base64 is made.
 */
static int in_base64(const struct scan *s, const char *p)
{
	const char *from = p;

	while (from > s->begin && p - from < 200 && (is_alnum(from[-1]) || from[-1] == '/' || from[-1] == '+'))
		from--;
	return p - from == 200;
}

static int begins(const struct scan *s, const char *p, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(s->end - p) >= n && !memcmp(p, with, n);
}

static void add(struct scan *s, const char *ptr, size_t len)
{
	if (!s->rc)
		s->rc = grove_buf_add(s->out, (struct grove_slice){ ptr, len });
}

/* Returns how many there are before `p`: an odd number escapes what follows. */
static size_t backslashes(const struct scan *s, const char *p)
{
	size_t n = 0;

	while (p > s->begin && *--p == '\\')
		n++;
	return n;
}

/* Returns true for a quote that ends or begins a string of JSON, not one within it. */
static int is_quote(const struct scan *s, const char *p)
{
	return s->json && *p == '"' && !(backslashes(s, p) % 2);
}

/* Returns true if all of [from, to) is in one string of JSON, and begins no second half of an escape. */
static int is_in_string(struct scan *s, const char *from, const char *to)
{
	int whole = !(backslashes(s, from) % 2);

	for (; s->seen < from; s->seen++)
		if (is_quote(s, s->seen))
			s->in_string = !s->in_string;
	while (from < to && !is_quote(s, from))
		from++;
	return whole && s->in_string && from == to;
}

/* Replaces [from, to) by `words`. Returns `to`, or NULL if what remains would be no JSON. */
static const char *put(struct scan *s, enum redact_kind kind, const char *from, const char *to, const char *words)
{
	if (s->json && !is_in_string(s, from, to))
		return NULL;
	add(s, s->copied, (size_t)(from - s->copied));
	add(s, words, strlen(words));
	s->copied = to;
	s->r->count[kind]++;
	return to;
}

static const char *put_name(struct scan *s, enum redact_kind kind, const char *from, const char *to)
{
	char words[64];

	snprintf(words, sizeof(words), "[redacted:%s]", names[kind]);
	return put(s, kind, from, to, words);
}

/* ------------------------------------------------------------------- shapes */

/* Each returns where the match at `p` ends, or NULL. */

static const char *skip(const char *p, const char *end, const char *set)
{
	while (p < end && *p && strchr(set, *p))
		p++;
	return p;
}

/*
 * Skips quotes, each with the backslashes before it, and what is in `set`. A backslash
 * that belongs to another escape stays.
 */
static const char *skip_quotes(const char *p, const char *end, const char *set)
{
	for (;;) {
		const char *quote = skip(p, end, "\\");

		if (quote < end && (*quote == '"' || *quote == '\''))
			p = quote + 1;
		else if (p < end && *p && strchr(set, *p))
			p++;
		else
			return p;
	}
}

static int has_digit(const char *p, const char *end)
{
	while (p < end && !(*p >= '0' && *p <= '9'))
		p++;
	return p < end;
}

static int has_letter(const char *p, const char *end)
{
	while (p < end && (!is_alnum(*p) || (*p >= '0' && *p <= '9')))
		p++;
	return p < end;
}

static int has_between(const char *p, const char *end, char first, char last)
{
	while (p < end && (*p < first || *p > last))
		p++;
	return p < end;
}

/* sk-learn-and-more is a name, but more than two letters before a dash suggest a key. */
static int is_random(const struct prefix *x, const char *p, const char *end)
{
	if (x->class & MIXED)
		return has_digit(p, end) && has_between(p, end, 'a', 'z') && has_between(p, end, 'A', 'Z');
	return strcmp(x->begins, "sk-") || has_digit(p, end);
}

static const char *prefixed(struct scan *s, const char *p)
{
	if (!at_start(s, p) || p + 1 == s->end)
		return NULL;
	for (size_t i = s->r->first[(unsigned char)*p]; i; i = s->r->next[i - 1]) {
		const struct prefix *x = &prefixes[i - 1];
		const char *rest, *end;

		if (p[1] != x->begins[1] || !begins(s, p, x->begins))
			continue;
		rest = p + strlen(x->begins);
		end = run_of(s, rest, x->class);
		if ((size_t)(end - rest) >= x->least && is_random(x, rest, end) && (at_end(s, end) || x->class & DASH) &&
		    !in_base64(s, p))
			return put_name(s, x->kind, p, end);
	}
	return NULL;
}

/* header.payload.signature, the first two of which are objects: eyJ is {" */
static const char *jwt(struct scan *s, const char *p)
{
	const char *dot, *end;

	if (!at_start(s, p) || !begins(s, p, "eyJ"))
		return NULL;
	dot = run_of(s, p, ALNUM | DASH);
	if (dot - p < 10 || !begins(s, dot, ".eyJ"))
		return NULL;
	end = run_of(s, dot + 1, ALNUM | DASH);
	if (end == s->end || *end != '.')
		return NULL;
	return put_name(s, REDACT_JWT, p, run_of(s, end + 1, ALNUM | DASH));
}

/*
 * From its first line to its last, or as much as there is. In source code its lines may be
 * strings, so quotes do not end it, unless they end a string of JSON; but a bracket does,
 * because in JSON it separates this text from another.
 */
static const char *private_key(struct scan *s, const char *p)
{
	static const char last[] = "-----END ", key[] = "PRIVATE KEY", dashes[] = "-----";
	const char *at, *end;

	if (!begins(s, p, "-----BEGIN "))
		return NULL;
	at = memmem(p, (size_t)(s->end - p) < 60 ? (size_t)(s->end - p) : 60, key, sizeof(key) - 1);
	if (!at)
		return NULL;
	for (end = at; end < s->end && !strchr("{}[]", *end) && !is_quote(s, end) && !begins(s, end, last); end++)
		;
	if (begins(s, end, last)) {
		end += sizeof(last) - 1;
		at = memmem(end, (size_t)(s->end - end) < 60 ? (size_t)(s->end - end) : 60, dashes, sizeof(dashes) - 1);
		return put_name(s, REDACT_PRIVATE_KEY, p, at ? at + sizeof(dashes) - 1 : end);
	}
	/* cut off: base64 and line ends, which may be escapes */
	for (end = at + strlen(key); end < s->end && *end && (is_of(ALNUM | DASH | SLASH, *end) || strchr("+=\\\n\r -", *end)); end++)
		;
	while (end > at && end[-1] == '\\')
		end--;
	return put_name(s, REDACT_PRIVATE_KEY, p, end);
}

static const char *base64_end(const struct scan *s, const char *p)
{
	const char *end = run_of(s, p, ALNUM | DASH | DOT | SLASH);

	while (end < s->end && (*end == '=' || *end == '+'))
		end = run_of(s, end + 1, ALNUM | DASH | DOT | SLASH);
	return end;
}

static const char *bearer(struct scan *s, const char *p)
{
	const char *rest, *end;

	if (!at_start(s, p) || s->end - p < 7 || strncasecmp(p, "bearer ", 7))
		return NULL;
	rest = p + 7;
	end = base64_end(s, rest);
	return end - rest >= 20 ? put_name(s, REDACT_BEARER, rest, end) : NULL;
}

/* Authorization: Basic, and name and password in base64. `p` is at the B. */
static const char *basic(struct scan *s, const char *p)
{
	static const char header[] = "uthorization";
	const char *from = p - s->begin > 20 ? p - 20 : s->begin, *end;

	if (!begins(s, p, "Basic ") || !memmem(from, (size_t)(p - from), header, sizeof(header) - 1))
		return NULL;
	end = base64_end(s, p + 6);
	return end - p >= 6 + 6 ? put_name(s, REDACT_BEARER, p + 6, end) : NULL;
}

/* 123456789:AA..., the token of a bot in Telegram, whose addresses have "bot" before it. `p` is at the colon. */
static const char *bot_token(struct scan *s, const char *p)
{
	const char *from = p, *end = run_of(s, p + 1, ALNUM | DASH);

	while (from > s->copied && from[-1] >= '0' && from[-1] <= '9' && !follows_escape(s, from))
		from--;
	if (p - from < 8 || p - from > 10 || !begins(s, p + 1, "AA") || end - p != 36)
		return NULL;
	if (!at_start(s, from) && (from - s->copied < 3 || memcmp(from - 3, "bot", 3) || !at_start(s, from - 3)))
		return NULL;
	return put_name(s, REDACT_OTHER_KEY, from, end);
}

/* ID.time.signature in base64, the token of a bot in Discord: a number begins with M, N or O there. */
static const char *discord_token(struct scan *s, const char *p)
{
	const char *first = run_of(s, p, ALNUM), *second, *end;

	if (!at_start(s, p) || first - p < 23 || first - p > 28 || first == s->end || *first != '.')
		return NULL;
	second = run_of(s, first + 1, ALNUM | DASH);
	if (second - first != 7 || second == s->end || *second != '.')
		return NULL;
	end = run_of(s, second + 1, ALNUM | DASH);
	return end - second > 27 ? put_name(s, REDACT_OTHER_KEY, p, end) : NULL;
}

/* patID.secret, of Airtable */
static const char *airtable_token(struct scan *s, const char *p)
{
	const char *dot, *end;

	if (!begins(s, p, "pat") || !at_start(s, p))
		return NULL;
	dot = run_of(s, p, ALNUM);
	if (dot - p != 17 || dot == s->end || *dot != '.')
		return NULL;
	end = run_of(s, dot + 1, HEX);
	return end - dot == 65 ? put_name(s, REDACT_OTHER_KEY, p, end) : NULL;
}

/* ID.atlasv1.secret, of Terraform. `p` is at the first dot. */
static const char *terraform_token(struct scan *s, const char *p)
{
	static const char middle[] = ".atlasv1.";
	const char *from = p, *end;

	if (!begins(s, p, middle))
		return NULL;
	while (from > s->copied && is_alnum(from[-1]) && !follows_escape(s, from))
		from--;
	end = run_of(s, p + sizeof(middle) - 1, ALNUM | DASH);
	return p - from >= 10 && end - p >= 60 ? put_name(s, REDACT_OTHER_KEY, from, end) : NULL;
}

/* Three letters, a digit, Q~ and more: a secret of an application in Azure. `p` is at the ~. */
static const char *azure_secret(struct scan *s, const char *p)
{
	const char *from = p - 5, *end = p + 1;

	if (p - s->copied < 5 || p[-1] != 'Q' || p[-2] < '0' || p[-2] > '9' || !at_start(s, from))
		return NULL;
	while (end < s->end && (is_of(ALNUM | DASH | DOT, *end) || *end == '~'))
		end++;
	return end - p >= 32 && end - p <= 36 && has_digit(p, end) ? put_name(s, REDACT_OTHER_KEY, from, end) : NULL;
}

/* Authorization: token ..., or any other scheme. `p` is at the colon. */
static const char *authorization(struct scan *s, const char *p)
{
	static const char header[] = "authorization";
	const char *name = p, *value, *end;

	while (name > s->copied && strchr("\\\"'", name[-1]))
		name--;
	if (name - s->copied < (long)sizeof(header) - 1 || strncasecmp(name - (sizeof(header) - 1), header, sizeof(header) - 1))
		return NULL;
	value = run_of(s, skip_quotes(p + 1, s->end, " "), ALNUM | DASH);
	if (value == s->end || *value != ' ')
		return NULL;
	end = base64_end(s, ++value);
	return end - value >= 16 && has_digit(value, end) && (end == s->end || *end != '=') ? put_name(s, REDACT_BEARER, value, end) : NULL;
}

/* 32 digits and the data center, of Mailchimp. `p` is at the dash. */
static const char *mailchimp_key(struct scan *s, const char *p)
{
	const char *from = p, *end;

	if (!begins(s, p, "-us"))
		return NULL;
	while (from > s->copied && is_hex(from[-1]) && !follows_escape(s, from))
		from--;
	end = p + 3;
	while (end < s->end && *end >= '0' && *end <= '9')
		end++;
	if (p - from != 32 || !at_start(s, from) || end == p + 3 || end > p + 5 || (end < s->end && is_word(*end)))
		return NULL;
	return put_name(s, REDACT_OTHER_KEY, from, end);
}

/* curl -u name:password. Not what is no secret: -u 1000:1000, -u root:wheel. */
static const char *user_option(struct scan *s, const char *p)
{
	size_t n = begins(s, p, "-u ") ? 3 : begins(s, p, "--user ") ? 7 : 0;
	const char *colon, *value, *end;

	if (!n || (p > s->begin && !strchr(" \n", p[-1]) && !follows_escape(s, p)))
		return NULL;
	colon = run_of(s, skip_quotes(p + n, s->end, ""), ALNUM | DASH | DOT);
	if (colon == p + n || colon == s->end || *colon != ':')
		return NULL;
	value = colon + 1;
	for (end = value; end < s->end && *end > ' ' && !strchr("\"'\\;<>`&|()$[{", *end); end++)
		;
	return end - value >= 6 && has_digit(value, end) && has_letter(value, end) ? put_name(s, REDACT_ASSIGNMENT, value, end)
										    : NULL;
}

/* login NAME password SECRET, as in .netrc. `p` is at the word login. */
static const char *netrc(struct scan *s, const char *p)
{
	static const char word[] = "password";
	const char *at, *value, *end;

	if (!begins(s, p, "login ") || !at_start(s, p))
		return NULL;
	for (at = p + 6; at < s->end && *at > ' ' && *at != '"' && *at != '\\'; at++)
		;
	/* on one line or two */
	at = skip(at, s->end, " \n");
	if (begins(s, at, "\\n"))
		at = skip(at + 2, s->end, " ");
	if (at == p + 6 || !begins(s, at, word))
		return NULL;
	value = skip(at + sizeof(word) - 1, s->end, " ");
	for (end = value; end < s->end && *end > ' ' && *end != '"' && *end != '\\'; end++)
		;
	return value > at + sizeof(word) - 1 && end - value >= 6 ? put_name(s, REDACT_ASSIGNMENT, value, end) : NULL;
}

/* Cookie: name=value; ..., up to the end of the header. `p` is at the colon. */
static const char *cookie(struct scan *s, const char *p)
{
	const char *value = p + 2, *end;

	if (p - s->begin < 6 || memcmp(p - 5, "ookie", 5) || (p[-6] | 0x20) != 'c' || !begins(s, p, ": "))
		return NULL;
	for (end = value; end < s->end && (unsigned char)*end >= ' ' && !strchr("\"'\\<>`", *end); end++)
		;
	while (end > value && end[-1] == ' ')
		end--;
	return end - value >= 20 && memchr(value, '=', (size_t)(end - value)) ? put_name(s, REDACT_BEARER, value, end) : NULL;
}

/* scheme://user:password@host: the password, which should not contain an @, but may */
static const char *url_password(struct scan *s, const char *p)
{
	const char *colon, *at, *end;

	if (!begins(s, p, "://"))
		return NULL;
	for (colon = p + 3; colon < s->end && (is_of(ALNUM | DASH | DOT, *colon) || *colon == '%'); colon++)
		;
	if (colon == s->end || *colon != ':')
		return NULL;
	for (at = NULL, end = colon + 1; end < s->end && *end > ' ' && !strchr("/\"'\\<>`", *end); end++)
		if (*end == '@')
			at = end;
	if (!at || at == colon + 1)
		return NULL;
	return put_name(s, REDACT_URL_PASSWORD, colon + 1, at);
}

static int names_secret(const char *begin, const char *end)
{
	static const char *const last[] = { "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "_PASS", "PASSPHRASE", "KEY_BASE",
					    "CREDENTIALS" };

	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++) {
		size_t n = strlen(last[i]);

		if ((size_t)(end - begin) >= n && !memcmp(end - n, last[i], n))
			return 1;
	}
	return 0;
}

/* NAME_KEY=value, as in a shell or a .env file. `p` is at the equals sign. */
static const char *assignment(struct scan *s, const char *p)
{
	const char *name = p, *value = p + 1, *end;

	while (name > s->copied && (is_of(UPPER, name[-1]) || name[-1] == '_'))
		name--;
	if (!names_secret(name, p))
		return NULL;
	value = skip_quotes(value, s->end, "");
	for (end = value; end < s->end && *end > ' ' && !strchr("\"'\\;,<>`&|()$[{", *end); end++)
		;
	return end - value >= 8 ? put_name(s, REDACT_ASSIGNMENT, value, end) : NULL;
}

/* Returns true if the name [begin, end) ends with `word`, ignoring case, dashes and underscores. */
static int ends_with(const char *begin, const char *end, const char *word)
{
	size_t n = strlen(word);

	while (n && end > begin) {
		end--;
		if (*end == '_' || *end == '-')
			continue;
		if ((*end | 0x20) != word[n - 1])
			return 0;
		n--;
	}
	return !n;
}

/* Returns true if `word` is the last word of the name [begin, end): of DB_PASS and dbPass, not of bypass. */
static int last_word_is(const char *begin, const char *end, const char *word)
{
	const char *at = end - strlen(word);

	if (at < begin || !ends_with(at, end, word))
		return 0;
	return at == begin || !is_alnum(at[-1]) || (*at >= 'A' && *at <= 'Z' && at[-1] >= 'a' && at[-1] <= 'z');
}

/*
 * Returns how long a value with such a name must be to count as a secret, or 0 if the name
 * does not matter.
 */
static long secret_of(const char *begin, const char *end)
{
	static const struct {
		const char *word;
		long least;
	} words[] = {
		{ "password", 6 }, { "passwd", 6 }, { "passphrase", 6 }, { "apikey", 12 }, { "accesskey", 12 }, { "accountkey", 12 },
		{ "secretkey", 12 }, { "secretkeybase", 12 }, { "privatekey", 12 }, { "encryptionkey", 12 }, { "signingkey", 12 },
		{ "masterkey", 12 }, { "appkey", 12 }, { "subscriptionkey", 12 }, { "secret", 12 }, { "authtoken", 12 }, { "token", 16 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ends_with(begin, end, words[i].word))
			return words[i].least;
	return 0;
}

static int is_value(char c)
{
	return is_of(ALNUM | DASH | SLASH, c) || (c && strchr("+=~!@#%^*", c));
}

/*
 * Replaces the value of a secret that begins here, or returns NULL if this looks like a
 * name, a word or a call: not random.
 */
static const char *put_value(struct scan *s, const char *value, long least)
{
	const char *end = value;

	while (end < s->end && is_value(*end))
		end++;
	if (end - value < least || !has_digit(value, end) || !has_letter(value, end))
		return NULL;
	if (end < s->end && strchr(".([{<$", *end) && !begins(s, end, "</"))
		return NULL;
	return put_name(s, REDACT_ASSIGNMENT, value, end);
}

/* pass = "..." and Pwd=...; not PASS: a test, and not PWD=/a/path */
static long password_of(const struct scan *s, const char *p, const char *name, const char *end)
{
	const char *value = skip(p + 1, s->end, " ");
	int quoted = value < s->end && strchr("\\\"'", *value);

	if (!last_word_is(name, end, "pass") && !last_word_is(name, end, "pwd"))
		return 0;
	value = skip_quotes(value, s->end, "");
	return (*p == ':' && !quoted && end - name <= 4) || value == s->end || strchr("/~", *value) ? 0 : 6;
}

/* ?sig=..., X-Amz-Signature=... in an address; a signature of thinking is in JSON */
static long signature_of(const struct scan *s, const char *p, const char *name, const char *end)
{
	if (*p != '=' || p != end || name == s->begin || !strchr("?&, ", name[-1]))
		return 0;
	return last_word_is(name, end, "sig") || last_word_is(name, end, "signature") ? 32 : 0;
}

/*
 * "apiKey": "...", aws_secret_access_key = ..., X-Api-Key: ..., "token" => "...",
 * env["API_KEY"] = "...", <password>...</password>. `p` is at the sign.
 */
static const char *named_secret(struct scan *s, const char *p)
{
	const char *end = p, *name, *value = p + 1, *quote;
	long least;

	if (*p == ':' && begins(s, value, "="))
		return NULL;   /* := */
	if (*p == '=' && begins(s, value, ">"))
		value++;
	while (end > s->copied && strchr(*p == '=' ? " :" : " ", end[-1]))
		end--;
	quote = end;
	while (end > s->copied && strchr(*p == '=' ? "\\\"']" : "\\\"'", end[-1]))
		end--;
	/* all of these names end in one of these letters */
	if (end == s->copied || !strchr("degnstyDEGNSTY", end[-1]))
		return NULL;
	for (name = end; name > s->copied && is_of(ALNUM | DASH, name[-1]) && end - name < 64; name--)
		;
	if (name == end || (*p == '>' && (p != end || name == s->begin || name[-1] != '<')))
		return NULL;
	least = secret_of(name, end);
	least = least ? least : password_of(s, p, name, end);
	least = least ? least : signature_of(s, p, name, end);
	if (!least)
		return NULL;
	value = skip(value, s->end, " ");
	/* a JSON value that is not a string must remain valid JSON */
	if (quote > end && (value == s->end || !strchr("\\\"'", *value)))
		return NULL;
	return put_value(s, skip_quotes(value, s->end, ""), least);
}

/* --password ..., also as a list: "--token", "...". `p` is at the first dash. */
static const char *secret_option(struct scan *s, const char *p)
{
	const char *end, *value;
	long least;

	if (!begins(s, p, "--") || (p > s->begin && (is_word(p[-1]) || p[-1] == '-') && !follows_escape(s, p)))
		return NULL;
	end = run_of(s, p + 2, ALNUM | DASH);
	least = secret_of(p + 2, end);
	value = skip_quotes(end, s->end, " ,");
	if (!least || value == s->end || *value == '-')
		return NULL;
	if (!memchr(end, ' ', (size_t)(value - end)) && !memchr(end, ',', (size_t)(value - end)))
		return NULL;
	return put_value(s, value, least);
}

static int is_address(char c)
{
	return is_of(ALNUM | DASH | DOT, c) || c & 0x80;
}

/* Returns true for six bytes that are the escape of a letter: one below \u0080 is not. */
static int is_letter_escape(const char *p)
{
	return p[0] == '\\' && p[1] == 'u' && is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) && is_hex(p[5]) &&
	       (memcmp(p + 2, "00", 2) || p[4] >= '8');
}

/* The end of a name in letters of all scripts, literal or escaped. */
static const char *name_end(const struct scan *s, const char *p)
{
	for (;;) {
		if (p < s->end && is_address(*p))
			p++;
		else if (s->end - p >= 6 && is_letter_escape(p))
			p += 6;
		else
			return p;
	}
}

/* The beginning of the part of an address before its at sign. */
static const char *local_begin(const struct scan *s, const char *p)
{
	const char *local = p;

	for (;;) {
		if (local - s->copied >= 6 && is_letter_escape(local - 6) && !(backslashes(s, local - 6) % 2))
			local -= 6;
		else if (local > s->copied && (is_address(local[-1]) || local[-1] == '+') && !follows_escape(s, local))
			local--;
		else
			break;
	}
	while (local < p && !is_word(*local) && !(*local & 0x80) && *local != '\\')
		local++;
	return local;
}

/* name@2x.png, getty@tty1.service: names of files and units */
static int names_file(const char *dot, const char *end)
{
	static const char *const last[] = { "png", "jpg", "jpeg", "gif", "webp", "svg", "json", "html", "css", "tgz", "service",
					    "socket", "timer", "mount" };

	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++)
		if ((size_t)(end - dot - 1) == strlen(last[i]) && !strncasecmp(dot + 1, last[i], strlen(last[i])))
			return 1;
	return 0;
}

/*
 * git@host:path, ssh://git@host: where a repository is, and nobody's address. Any other
 * user's name may be that of a person.
 */
static int is_repository(const struct scan *s, const char *local, const char *at, const char *end)
{
	if (at - local != 3 || memcmp(local, "git", 3))
		return 0;
	return (local - s->begin >= 3 && !memcmp(local - 3, "://", 3)) || (s->end - end >= 2 && *end == ':' && end[1] > ' ');
}

/* The at sign is [p, after). What precedes it is not copied yet, or was itself replaced. */
static const char *email(struct scan *s, const char *p, const char *after)
{
	const char *local = local_begin(s, p), *end = name_end(s, after), *dot;

	while (end > after && !is_alnum(end[-1]) && !(end[-1] & 0x80))
		end--;
	for (dot = end > after ? end - 1 : after; dot > after && *dot != '.'; dot--)
		;
	if (local == p || dot == after || end - dot < 3 || !(is_word(*after) || *after & 0x80 || *after == '\\'))
		return NULL;
	/* a version, name@1.2.3; an escape has digits, too */
	if (has_digit(dot, end) && !memchr(dot, '\\', (size_t)(end - dot)))
		return NULL;
	return names_file(dot, end) || is_repository(s, local, p, end) ? NULL : put_name(s, REDACT_EMAIL, local, end);
}

/* Returns true after the letter of an option, -I/home/... */
static int follows_option(const struct scan *s, const char *p)
{
	return p - s->begin >= 2 && p[-2] == '-' && is_alnum(p[-1]) && (p - s->begin == 2 || (!is_word(p[-3]) && p[-3] != '-'));
}

/* Returns true if no part of a path precedes it: src/home/x does not count. */
static int begins_path(const struct scan *s, const char *p)
{
	char c;

	if (p == s->begin || follows_escape(s, p) || follows_option(s, p))
		return 1;
	c = p[-1];
	return !is_word(c) && !strchr(".~-)", c) && (c != '/' || (p - s->begin >= 2 && p[-2] == '/'));
}

/*
 * Returns where `path` at `p` ends, or NULL. A ? in it matches any letter. All slashes but
 * the first may be escaped or doubled; the backslash of the first is before `p`.
 */
static const char *path_at(const struct scan *s, const char *p, const char *path)
{
	const char *first = p;

	for (; *path; path++, p++) {
		while (*path == '/' && p > first && p < s->end && *p == '\\')
			p++;
		if (p == s->end || (*path == '?' ? !is_alnum(*p) : *p != *path))
			return NULL;
		while (*path == '/' && p > first && s->end - p > 1 && p[1] == '/')
			p++;
	}
	return p;
}

/* The backslash of an escaped slash goes with it. */
static const char *put_home(struct scan *s, const char *from, const char *to)
{
	if (from > s->copied && from[-1] == '\\' && memchr(from, '\\', (size_t)(to - from)))
		while (from > s->copied && from[-1] == '\\')
			from--;
	if (s->json && from > s->copied && backslashes(s, from) % 2)
		from--;
	return put(s, REDACT_HOME, from, to, "~");
}

static const char *home(struct scan *s, const char *p)
{
	static const char *const above[] = { "/home/", "/Users/", "/var/home/", "/usr/home/", "/export/home/", "/mnt/?/Users/",
					     "/cygdrive/?/Users/", "/?/Users/" };
	const char *end = s->r->home ? path_at(s, p, s->r->home) : NULL;

	/* the user's own is one wherever it is, as in /mnt/backup/home/ann */
	if (end && (end == s->end || (!is_word(*end) && *end != '-' && *end != '.')) && (s->r->user || begins_path(s, p)))
		return put_home(s, p, end);
	if (!begins_path(s, p))
		return NULL;
	for (size_t i = 0; i < sizeof(above) / sizeof(*above); i++) {
		const char *name = path_at(s, p, above[i]);

		if (name && name_end(s, name) > name)
			return put_home(s, p, name_end(s, name));
	}
	return NULL;
}

/* %2Fhome%2FNAME, in an address */
static const char *encoded_home(struct scan *s, const char *p)
{
	static const char *const above[] = { "%2Fhome%2F", "%2FUsers%2F" };

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(above[i]);
		const char *name = p + n, *end;

		if ((size_t)(s->end - p) <= n || strncasecmp(p, above[i], n))
			continue;
		end = run_of(s, name, ALNUM | DASH | DOT);
		if (end > name)
			return put(s, REDACT_HOME, p, end, "~");
	}
	return NULL;
}

/* \\wsl$\Debian\home\NAME. `p` is at the h. */
static const char *wsl_home(struct scan *s, const char *p)
{
	const char *from = p, *name = p + 4, *end;

	if (!begins(s, p, "home\\") || from == s->copied || from[-1] != '\\')
		return NULL;
	while (from > s->copied && from[-1] == '\\')
		from--;
	while (name < s->end && *name == '\\')
		name++;
	end = run_of(s, name, ALNUM | DASH | DOT);
	return end > name && from > s->copied && is_of(ALNUM | DASH | DOT, from[-1]) ? put(s, REDACT_HOME, from, end, "~") : NULL;
}

/* ~NAME, of this user */
static const char *named_home(struct scan *s, const char *p)
{
	const char *end = s->r->user && begins(s, p + 1, s->r->user) ? p + 1 + strlen(s->r->user) : NULL;

	return end && at_start(s, p) && (end == s->end || (!is_word(*end) && *end != '-' && *end != '.'))
		       ? put(s, REDACT_HOME, p, end, "~") : NULL;
}

/* A name that may contain spaces, if it is followed by `nr` backslashes, as before it. */
static const char *spaced_name_end(const struct scan *s, const char *name, size_t nr)
{
	const char *end = name, *p;

	while (end < s->end && (is_address(*end) || *end == ' ') && end - name < 64)
		end++;
	for (p = end; p < s->end && *p == '\\'; p++)
		;
	return nr && (size_t)(p - end) == nr ? end : name_end(s, name);
}

/* C:\Users\NAME, with one backslash, several of them in JSON, or slashes. `p` is at the colon. */
static const char *windows_home(struct scan *s, const char *p)
{
	const char *q = p + 1, *name, *end;

	if (p == s->copied || !is_alnum(p[-1]) || !at_start(s, p - 1))
		return NULL;
	while (q < s->end && (*q == '\\' || *q == '/'))
		q++;
	if (q == p + 1 || (!begins(s, q, "Users") && !begins(s, q, "users")))
		return NULL;
	for (name = q + 5; name < s->end && (*name == '\\' || *name == '/'); name++)
		;
	end = spaced_name_end(s, name, name[-1] == '\\' ? (size_t)(name - q - 5) : 0);
	return name > q + 5 && end > name ? put(s, REDACT_HOME, p - 1, end, "~") : NULL;
}

/*
 * -home-NAME-src: how Claude Code and pi name a project's directory. Another user's name
 * ends at the next dash, and this must be in a place where such directories are named.
 */
static const char *dashed_home(struct scan *s, const char *p)
{
	static const char *const above[] = { "-home-", "-Users-" };
	const char *user = s->r->user, *before = p > s->begin && p[-1] == '-' ? p - 1 : p;

	for (size_t i = 0; i < 2; i++) {
		const char *name = p + strlen(above[i]), *end;

		if (!begins(s, p, above[i]) || (p > s->begin && is_word(p[-1])))
			continue;
		if (user && begins(s, name, user)) {
			end = name + strlen(user);
			if (end == s->end || !is_word(*end))
				return put(s, REDACT_HOME, p, end, "-~");
		}
		end = run_of(s, name, ALNUM);
		if (end > name && before > s->begin && before[-1] == '/')
			return put(s, REDACT_HOME, p, end, "-~");
	}
	return NULL;
}

/* Finds what may begin at a byte, or be recognized by it. */
static const char *match(struct scan *s, const char *p)
{
	const char *end = NULL;

	switch (*p) {
	case '@':
		return email(s, p, p + 1);
	case '%':
		return begins(s, p, "%40") ? email(s, p, p + 3) : encoded_home(s, p);
	case '=':
		end = assignment(s, p);
		return end ? end : named_secret(s, p);
	case ':':
		end = url_password(s, p);
		end = end ? end : windows_home(s, p);
		end = end ? end : bot_token(s, p);
		end = end ? end : cookie(s, p);
		end = end ? end : authorization(s, p);
		return end ? end : named_secret(s, p);
	case '>':
		return named_secret(s, p);
	case '/':
		return home(s, p);
	case '-':
		end = private_key(s, p);
		end = end ? end : mailchimp_key(s, p);
		end = end ? end : user_option(s, p);
		end = end ? end : secret_option(s, p);
		return end ? end : dashed_home(s, p);
	case '.':
		return terraform_token(s, p);
	case '~':
		end = azure_secret(s, p);
		return end ? end : named_home(s, p);
	case 'B':
	case 'b':
		end = bearer(s, p);
		end = end ? end : basic(s, p);
		break;
	case 'M':
	case 'N':
	case 'O':
		end = discord_token(s, p);
		break;
	case 'e':
		end = jwt(s, p);
		break;
	case 'h':
		end = wsl_home(s, p);
		break;
	case 'l':
		end = netrc(s, p);
		break;
	case 'p':
		end = airtable_token(s, p);
		break;
	default:
		break;
	}
	return end ? end : prefixed(s, p);
}

/* Most bytes begin nothing; the prefixes that begin with a byte are tried in the table's order. */
static void mark_beginnings(struct redactor *r)
{
	_Static_assert(NR_PREFIXES <= REDACT_PREFIXES, "the table of prefixes has outgrown the redactor");

	for (const char *p = "@%=:>/-.~BbMNOehlp"; *p; p++)
		r->begins[(unsigned char)*p] = 1;
	for (size_t i = NR_PREFIXES; i; i--) {
		unsigned char c = (unsigned char)*prefixes[i - 1].begins;

		r->begins[c] = 1;
		r->next[i - 1] = r->first[c];
		r->first[c] = (unsigned char)i;
	}
}

void redactor_init(struct redactor *r, const char *home)
{
	const char *slash = home ? strrchr(home, '/') : NULL;

	memset(r, 0, sizeof(*r));
	mark_beginnings(r);
	/* "/" is nobody's home */
	r->home = home && *home == '/' && home[1] ? home : NULL;
	r->user = r->home && slash && slash > home && slash[1] ? slash + 1 : NULL;
}

static int redact_as(struct redactor *r, int json, struct grove_slice in, struct grove_buf *out)
{
	struct scan s = { .r = r, .begin = in.ptr, .end = in.ptr + in.len, .copied = in.ptr, .out = out, .json = json, .seen = in.ptr };

	for (const char *p = in.ptr; p < s.end && !s.rc;) {
		const char *end = NULL;

		/* a letter within a word begins nothing */
		if (r->begins[(unsigned char)*p] && (!is_alnum(*p) || at_start(&s, p)))
			end = match(&s, p);
		p = end ? end : p + 1;
	}
	if (s.end > s.copied)
		add(&s, s.copied, (size_t)(s.end - s.copied));
	return s.rc;
}

int redact_text(struct redactor *r, struct grove_slice in, struct grove_buf *out)
{
	return redact_as(r, 0, in, out);
}

int redact_json(struct redactor *r, struct grove_slice in, struct grove_buf *out)
{
	return redact_as(r, 1, in, out);
}

/* ------------------------------------------------------------------ telling */

int redactor_tell(const struct redactor *r, struct grove_buf *out)
{
	char words[100];
	int any = 0, rc = 0;

	for (unsigned i = 0; i < REDACT_KINDS && !rc; i++) {
		if (!r->count[i])
			continue;
		snprintf(words, sizeof(words), "%s%s: %llu", any++ ? ", " : "", names[i], (unsigned long long)r->count[i]);
		rc = grove_buf_add(out, grove_str(words));
	}
	return any || rc ? rc : grove_buf_add(out, grove_str("nothing that has the shape of a key, a home directory or an e-mail address"));
}
