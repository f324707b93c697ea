/*
 * opt.c: parses options.
 */
#include "opt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int __attribute__((format(printf, 3, 4)))
wrong(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -1;
}

/* Returns true if two letters are swapped, and nothing else differs. */
static int is_swapped(const char *word, size_t len, const char *known)
{
	size_t i = 0;

	if (strlen(known) != len)
		return 0;
	while (i < len && word[i] == known[i])
		i++;
	return i + 1 < len && word[i] == known[i + 1] && word[i + 1] == known[i] &&
	       !memcmp(word + i + 2, known + i + 2, len - i - 2);
}

unsigned opt_slip(const char *word, size_t len, const char *known)
{
	enum { LONGEST = 24 };
	unsigned row[LONGEST + 1];
	size_t n = strlen(known);
	unsigned limit = n > 5 ? 2 : 1;

	if (!len || len > LONGEST || n > LONGEST)
		return 0;
	if (is_swapped(word, len, known))
		return 1;
	/* The edit distance (Levenshtein), one row at a time. */
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= len; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned best = corner + (word[i - 1] != known[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = row[j];
			row[j] = best;
		}
	}
	return row[n] && row[n] <= limit ? row[n] : 0;
}

static const struct opt *find(const struct opt *const *tables, const char *name, size_t len)
{
	for (; *tables; tables++)
		for (const struct opt *o = *tables; o->name; o++)
			if (strlen(o->name) == len && !memcmp(o->name, name, len))
				return o;
	return NULL;
}

static const struct opt *find_letter(const struct opt *const *tables, char letter)
{
	for (; *tables; tables++)
		for (const struct opt *o = *tables; o->name; o++)
			if (o->letter && o->letter == letter)
				return o;
	return NULL;
}

static const char *nearest(const struct opt *const *tables, const char *name, size_t len)
{
	const char *found = NULL;
	unsigned best = 0;

	for (; *tables; tables++)
		for (const struct opt *o = *tables; o->name; o++) {
			unsigned slip = opt_slip(name, len, o->name);

			if (slip && (!best || slip < best)) {
				best = slip;
				found = o->name;
			}
		}
	return found;
}

static int number(const struct opt *o, const char *typed, const char *text, char *why, size_t size)
{
	const char *digits = text + (*text == '-');
	char *end;

	errno = 0;
	*o->number = strtoull(digits, &end, 10);
	/* strtoull would take " 1" and "+1" */
	if (*digits < '0' || *digits > '9' || *end || errno)
		return wrong(why, size, "%s: '%s' is not a number", typed, text);
	if (digits > text || *o->number < o->least)
		return wrong(why, size, "%s: must be at least %llu, not %s", typed, (unsigned long long)o->least, text);
	return 0;
}

static int choice(const struct opt *o, const char *typed, const char *value, char *why, size_t size)
{
	char all[256] = "";
	size_t len = 0;

	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], value)) {
			*o->choice = i;
			return 0;
		}
		if (len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
						len ? ", " : "", o->choices[i]);
	}
	return wrong(why, size, "%s: '%s' is not one of %s", typed, value, all);
}

int opt_list_add(struct opt_list *list, const char *value)
{
	const char **more = realloc(list->item, (list->nr + 1) * sizeof(*more));

	if (!more)
		return -1;
	list->item = more;
	list->item[list->nr++] = value;
	return 0;
}

void opt_list_release(struct opt_list *list)
{
	free(list->item);
	list->item = NULL;
	list->nr = 0;
}

/* Sets an option; `typed` is its spelling on the command line. */
static int take(const struct opt *o, const char *typed, const char *value, char *why, size_t size)
{
	if (o->string) {
		*o->string = value;
		return 0;
	}
	if (o->list)
		return opt_list_add(o->list, value) ? wrong(why, size, "out of memory") : 0;
	if (o->number)
		return number(o, typed, value, why, size);
	return choice(o, typed, value, why, size);
}

/* Takes one long option: `arg` is what follows the dashes. */
static int take_long(const struct opt *const *tables, const char *arg, const char *next, int *used,
		     char *why, size_t size)
{
	size_t len = strcspn(arg, "=");
	const char *value = arg[len] ? arg + len + 1 : NULL;
	const struct opt *o = find(tables, arg, len);
	char typed[64];

	if (!o) {
		const char *near = nearest(tables, arg, len);

		return wrong(why, size, "unknown option --%.*s%s%s%s", len > 64 ? 64 : (int)len, arg,
			     near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
	}
	snprintf(typed, sizeof(typed), "--%s", o->name);
	if (o->flag) {
		if (value && !o->number)
			return wrong(why, size, "--%s takes no value", o->name);
		*o->flag = 1;
		/* its number is optional, and what follows is something else */
		if (o->number && !value && next && *next && next[strspn(next, "0123456789")] == '\0') {
			value = next;
			*used = 1;
		}
		return value ? take(o, typed, value, why, size) : 0;
	}
	if (!value) {
		if (!next)
			return wrong(why, size, "--%s needs a value", o->name);
		value = next;
		*used = 1;
	}
	return take(o, typed, value, why, size);
}

/* Takes letters: flags together, the last perhaps with a value in the same word or the next. */
static int take_letters(const struct opt *const *tables, const char *arg, const char *next, int *used,
			char *why, size_t size)
{
	for (const char *p = arg + 1; *p; p++) {
		const struct opt *o = find_letter(tables, *p);
		const char typed[] = { '-', *p, '\0' };

		if (!o)
			return wrong(why, size, "unknown option %.64s", arg);
		if (o->flag) {
			*o->flag = 1;
			continue;
		}
		if (!p[1] && !next)
			return wrong(why, size, "%s needs a value", typed);
		*used = !p[1];
		return take(o, typed, p[1] ? p + 1 : next, why, size);
	}
	return 0;
}

int opt_parse(const struct opt *const *tables, int *argc, char **argv, unsigned flags,
	      char *why, size_t size)
{
	int kept = 0, i;

	for (i = 0; i < *argc; i++) {
		char *arg = argv[i];

		if (arg[0] != '-' || !arg[1]) { /* a single "-" is an operand */
			if (flags & OPT_STOP_AT_OPERAND)
				break;
			argv[kept++] = arg;
		} else if (!strcmp(arg, "--")) {
			i++;
			break;
		} else {
			const char *next = i + 1 < *argc ? argv[i + 1] : NULL;
			int used = 0;

			if (arg[1] == '-' ? take_long(tables, arg + 2, next, &used, why, size)
					  : take_letters(tables, arg, next, &used, why, size))
				return -1;
			i += used;
		}
	}
	while (i < *argc)
		argv[kept++] = argv[i++];
	*argc = kept;
	return 0;
}

int opt_operands(const char *spec, int argc, char **argv, char *why, size_t size)
{
	int nr = 0, any = 0;

	for (const char *p = spec; *p;) {
		size_t len = strcspn(p, " ");

		any |= len > 3 && memmem(p, len, "...", 3) != NULL;
		if (nr++ >= argc && *p != '[') {
			size_t word = strcspn(p, " .");

			return wrong(why, size, memchr(p, '|', word) ? "one of %.*s is missing" : "%.*s is missing",
				     (int)word, p);
		}
		p += len;
		p += strspn(p, " ");
	}
	if (argc > nr && !any)
		return wrong(why, size, "unexpected argument '%.64s'", argv[nr]);
	return 0;
}
