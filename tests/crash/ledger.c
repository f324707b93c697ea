/*
 * tests/crash/ledger.c: notes what was tried, and what was acknowledged.
 *
 * A process that is going to be killed writes each fact to a pipe before it
 * continues, so its parent knows everything that had been acknowledged to it.
 */
#include "crash.h"

#include <unistd.h>

#define LINE "%d %c %d %u %zu %71s\n"

void ledger_add(struct ledger *l, struct fact f)
{
	char line[256];
	int n;

	fault_own(1);
	if (l->nr == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->fact = realloc(l->fact, l->cap * sizeof(*l->fact));
		if (!l->fact)
			abort();
	}
	fault_own(-1);
	l->fact[l->nr++] = f;
	if (l->pipe < 0)
		return;
	n = snprintf(line, sizeof(line), "%d %c %d %u %zu %s\n", (int)f.kind, f.tag, f.code, f.mark,
		     f.deeds, *f.id ? f.id : "-");
	if (write(l->pipe, line, (size_t)n) != n)
		_exit(3);
}

void ledger_read(struct ledger *l, int fd)
{
	FILE *in = fdopen(fd, "r");
	char line[256];
	int kind;

	while (in && fgets(line, sizeof(line), in)) {
		struct fact f = { .kind = FACT_NAMED };

		if (!strchr(line, '\n') ||
		    sscanf(line, LINE, &kind, &f.tag, &f.code, &f.mark, &f.deeds, f.id) != 6)
			break;
		f.kind = (enum fact_kind)kind;
		if (!strcmp(f.id, "-"))
			f.id[0] = '\0';
		ledger_add(l, f);
	}
	if (in)
		fclose(in);
}

void ledger_clear(struct ledger *l)
{
	free(l->fact);
	*l = (struct ledger){ .pipe = -1 };
}
