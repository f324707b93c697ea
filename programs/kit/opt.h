/*
 * opt.h: the options of a command, as a table.
 *
 *	const struct opt opts[] = {
 *		{ "all", .flag = &all },
 *		{ "limit", .number = &limit },
 *		{ NULL },
 *	};
 *
 * An option may be anywhere among the operands, as --name, --name=value or --name value, or
 * by its letter as -n value or -nvalue, flags also together as -lc; `--` ends the options.
 * The pointer that is set determines what the option takes.
 */
#ifndef PROGRAMS_OPT_H
#define PROGRAMS_OPT_H

#include <stddef.h>
#include <stdint.h>

struct opt_list {
	const char **item;
	size_t nr;
};

struct opt {
	const char *name;             /* NULL ends the table */
	char letter;                  /* -h, -o VALUE; 0 if none */
	int *flag;                    /* becomes 1; with `number`, which is then optional */
	const char **string;          /* the last one given counts */
	struct opt_list *list;        /* all that were given; see opt_list_release() */
	uint64_t *number;
	uint64_t least;               /* what `number` must be at least */
	int *choice;                  /* index of the value in `choices` */
	const char *const *choices;   /* NULL-terminated */
};

enum opt_flags {
	OPT_STOP_AT_OPERAND = 1  /* for options before the command's name */
};

/*
 * Removes the options from argv; moves the operands to its front, in order, and sets *argc
 * to their number. `tables` ends with NULL, and its tables are searched in order. Returns
 * 0, or -1 and a message in `why`.
 */
int opt_parse(const struct opt *const *tables, int *argc, char **argv, unsigned flags,
	      char *why, size_t size);

/*
 * Compares the number of operands with "SESSION [ENTRY]" or "SESSION...": a word in
 * brackets is optional, dots mean any number. Returns 0, or -1 and a message in `why`.
 */
int opt_operands(const char *spec, int argc, char **argv, char *why, size_t size);

/*
 * Returns how close `word` is to `known` if it is probably a typing error (smaller is
 * closer), or 0.
 */
unsigned opt_slip(const char *word, size_t len, const char *known);

/* Returns 0, or -1 if out of memory. */
int opt_list_add(struct opt_list *list, const char *value);
void opt_list_release(struct opt_list *list);

#endif
