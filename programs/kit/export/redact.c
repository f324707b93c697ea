/*
 * redact.c: removes keys, tokens, home directories and e-mail addresses from text.
 *
 * One pass. Most bytes begin nothing; a table says which do, and which rules of
 * data/secrets.rules are tried there. Home directories and addresses have no rules: what they
 * look like depends on the user. A match may be preceded by a JSON escape such as \n or
 * \u00e9, whose letters do not belong to a word.
 */
#include "redact.h"
#include "rules.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct scan {
	struct redactor *r;
	const struct rules *rules;
	struct rule_match *match;
	const char *begin, *end;
	const char *copied;      /* the text up to here is in `out` */
	int json;                /* it is JSON, not text: only strings change, and none ends within a match */
	const char *seen;        /* JSON up to here was looked at, */
	int in_string;           /* and there is a string */
	const char *limit;       /* the next quote of JSON that is not escaped */
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

static int is_word(char c)
{
	return is_alnum(c) || c == '_';
}

/* Of names and numbers; ALNUM alone, or with - and _, or with a dot as well. */
enum class { ALNUM, NAME, DOTTED };

static int is_of(enum class class, char c)
{
	return is_alnum(c) || (class >= NAME && (c == '-' || c == '_')) || (class == DOTTED && c == '.');
}

static const char *run_of(const struct scan *s, const char *p, enum class class)
{
	while (p < s->end && is_of(class, *p))
		p++;
	return p;
}

static int has_digit(const char *p, const char *end)
{
	while (p < end && !(*p >= '0' && *p <= '9'))
		p++;
	return p < end;
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

/* Where the string of JSON that `p` is in, or is before, ends: no match goes beyond. */
static const char *limit_of(struct scan *s, const char *p)
{
	if (!s->json)
		return s->end;
	if (p >= s->limit)
		for (s->limit = p + backslashes(s, p) % 2; s->limit < s->end && *s->limit != '"'; s->limit++)
			s->limit += *s->limit == '\\' && s->end - s->limit > 1;
	return s->limit;
}

/* Replaces [from, to) by `words`. Returns `to`, or NULL if what remains would be no JSON. */
static const char *put(struct scan *s, unsigned kind, const char *from, const char *to, const char *words)
{
	if (s->json && !is_in_string(s, from, to))
		return NULL;
	add(s, s->copied, (size_t)(from - s->copied));
	add(s, words, strlen(words));
	s->copied = to;
	s->r->count[kind]++;
	return to;
}

static const char *put_name(struct scan *s, unsigned kind, const char *from, const char *to)
{
	char words[64];

	snprintf(words, sizeof(words), "[redacted:%s]", rules_name(s->rules, kind));
	return put(s, kind, from, to, words);
}

/* ------------------------------------------------------- homes and addresses */

/* Each returns where the match at `p` ends, or NULL. */

static int is_address(char c)
{
	return is_of(DOTTED, c) || c & 0x80;
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
		end = run_of(s, name, DOTTED);
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
	end = run_of(s, name, DOTTED);
	return end > name && from > s->copied && is_of(DOTTED, from[-1]) ? put(s, REDACT_HOME, from, end, "~") : NULL;
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

/* -------------------------------------------------------------------- rules */

/* Returns where the letters and digits before `p` begin. */
static const char *word_before(const struct scan *s, const char *p)
{
	while (p > s->copied && is_alnum(p[-1]) && !follows_escape(s, p))
		p--;
	return p;
}

/* Most names are no secret's, as their last two letters tell. */
static int may_end(const struct rules *rules, const char *begin, const char *end)
{
	unsigned char a, b;

	if (end - begin < 2)
		return 0;
	a = (unsigned char)((end[-2] | 0x20) - 'a');
	b = (unsigned char)((end[-1] | 0x20) - 'a');
	return a < 26 && b < 26 && rules->ends[a][b];
}

/* Returns where the name before the sign at `p` begins, or NULL: "name" :, env["name"] =. */
static const char *name_before(const struct scan *s, const char *p)
{
	const char *end = p, *name;

	while (end > s->copied && strchr(*p == '=' ? " :" : " ", end[-1]))
		end--;
	while (end > s->copied && strchr(*p == '=' ? "\\\"'`]" : "\\\"'`", end[-1]))
		end--;
	if (!may_end(s->rules, s->copied, end))
		return NULL;
	for (name = end; name > s->copied && is_of(NAME, name[-1]) && end - name < 64 && !follows_escape(s, name); name--)
		;
	return name < end ? name : NULL;
}

/* Returns where the match of a rule would begin whose beginning is at `p`, or NULL. */
static const char *begin_of(const struct scan *s, const struct rule *rule, const char *p)
{
	const char *from;

	switch (rule->before) {
	case RULE_NAME:
		return name_before(s, p);
	case RULE_WORD:
		from = word_before(s, p);
		return from < p && at_start(s, from) ? from : NULL;
	default:
		if (is_alnum(*p))
			return at_start(s, p) ? p : NULL;
		return *p != '-' || p == s->begin || (!is_word(p[-1]) && p[-1] != '-') || follows_escape(s, p) ? p : NULL;
	}
}

/* Tries one rule at a byte that it may begin with. */
static const char *try_rule(struct scan *s, const struct rule *rule, const char *p)
{
	const char *from, *to, *end, *at;
	int apart;

	if ((size_t)(s->end - p) < rule->len || (rule->len > 1 && (p[1] ^ rule->begins[1]) & ~0x20) || (rule->any_case ? strncasecmp(p, rule->begins, rule->len) : memcmp(p, rule->begins, rule->len)))
		return NULL;
	from = begin_of(s, rule, p);
	if (!from)
		return NULL;
	at = rule->before == RULE_NOTHING ? p + rule->len : from;
	/* a name and its value, and an option and its, may be two strings */
	apart = rule->before == RULE_NAME || (*p == '-' && !begins(s, p, "---"));
	end = apart ? s->end : limit_of(s, p);
	if (!rule_matches(s->match, rule, s->begin, (size_t)(end - s->begin), (size_t)(at - s->begin)))
		return NULL;
	to = s->begin + s->match->to;
	if (rule->part)
		return put_name(s, rule->kind, s->begin + s->match->from, to);
	if ((is_word(to[-1]) && !at_end(s, to)) || in_base64(s, from))
		return NULL;
	return put_name(s, rule->kind, from, to);
}

/* Finds what may begin at a byte, or be recognized by it. */
static const char *match(struct scan *s, const char *p)
{
	const char *end = NULL;

	switch (*p) {
	case '@':
		end = email(s, p, p + 1);
		break;
	case '%':
		end = begins(s, p, "%40") ? email(s, p, p + 3) : encoded_home(s, p);
		break;
	case ':':
		end = windows_home(s, p);
		break;
	case '/':
		end = home(s, p);
		break;
	case '~':
		end = named_home(s, p);
		break;
	case '-':
		end = dashed_home(s, p);
		break;
	case 'h':
		end = wsl_home(s, p);
		break;
	default:
		break;
	}
	for (const struct rule *rule = end ? NULL : s->rules->first[(unsigned char)*p]; rule && !end; rule = rule->next)
		end = try_rule(s, rule, p);
	return end;
}

int redactor_init(struct redactor *r, const char *home)
{
	const char *slash = home ? strrchr(home, '/') : NULL;

	memset(r, 0, sizeof(*r));
	/* "/" is nobody's home */
	r->home = home && *home == '/' && home[1] ? home : NULL;
	r->user = r->home && slash && slash > home && slash[1] ? slash + 1 : NULL;
	return rules_get() ? 0 : rules_built_in() ? GROVE_ENOMEM : GROVE_ENOTSUP;
}

static int redact_as(struct redactor *r, int json, struct grove_slice in, struct grove_buf *out)
{
	struct rule_match found;
	struct scan s = { .r = r, .begin = in.ptr, .end = in.ptr + in.len, .copied = in.ptr, .out = out, .json = json, .seen = in.ptr,
			  .limit = in.ptr, .rules = rules_get(), .match = &found };

	if (!s.rules || rule_match_init(&found))
		return GROVE_ENOMEM;
	for (const char *p = in.ptr; p < s.end && !s.rc;) {
		const char *end = NULL;

		/* a letter within a word begins nothing */
		if (rules_begin(s.rules, (unsigned char)*p, p + 1 < s.end ? (unsigned char)p[1] : 0) && (!is_alnum(*p) || at_start(&s, p)))
			end = match(&s, p);

		p = end ? end : p + 1;
	}
	if (s.end > s.copied)
		add(&s, s.copied, (size_t)(s.end - s.copied));
	rule_match_release(&found);
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
	const struct rules *rules = rules_get();
	char words[100];
	int any = 0, rc = 0;

	for (unsigned i = 0; rules && i < REDACT_KINDS && !rc; i++) {
		if (!r->count[i])
			continue;
		snprintf(words, sizeof(words), "%s%s: %llu", any++ ? ", " : "", rules_name(rules, i), (unsigned long long)r->count[i]);
		rc = grove_buf_add(out, grove_str(words));
	}
	return any || rc ? rc : grove_buf_add(out, grove_str("nothing that has the shape of a key, a home directory or an e-mail address"));
}
