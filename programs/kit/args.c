/*
 * args.c: passwords on a command line.
 */
#include "args.h"
#include "store_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_of(int i, char out[32])
{
	snprintf(out, 32, "GROVE_ARGUMENT_%d", i);
}

/* Erases a password in a word, in place. Returns a copy of all of it, or NULL if there is none. */
static char *take_out(char *word)
{
	size_t len = strlen(word);
	char *whole = strdup(word);

	store_url_hide_password(word);
	if (!whole || strlen(word) == len) {
		free(whole);
		return NULL;
	}
	memset(word + strlen(word), 0, len - strlen(word));
	return whole;
}

void args_hide(int argc, char **argv)
{
	char name[32], *whole;
	const char *left;

	for (int i = 1; i < argc; i++) {
		name_of(i, name);
		left = getenv(name);
		whole = left ? strdup(left) : take_out(argv[i]);
		if (whole)
			argv[i] = whole;
		unsetenv(name);
	}
}

int args_pass(char **words)
{
	char name[32], *whole;
	int rc = 0;

	for (int i = 1; words[i] && !rc; i++) {
		whole = take_out(words[i]);
		name_of(i, name);
		rc = whole ? setenv(name, whole, 1) : unsetenv(name);
		free(whole);
	}
	return rc;
}
