/*
 * on_path.c: whether PATH has a program.
 */
#include "on_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int on_path(const char *name)
{
	char file[PATH_MAX];

	for (const char *p = getenv("PATH"); p && *p;) {
		size_t n = strcspn(p, ":");

		/* an empty part would be the current directory */
		if (n && snprintf(file, sizeof(file), "%.*s/%s", (int)n, p, name) < (int)sizeof(file) && !access(file, X_OK))
			return 1;
		p += n + (p[n] == ':');
	}
	return 0;
}
