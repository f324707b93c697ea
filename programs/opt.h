/*
 * opt.h: the options of a command, as a table.
 *
 *	const struct opt opts[] = {
 *		{ "all", .flag = &all },
 *		{ "limit", .number = &limit },
 *		{ NULL },
 *	};
 *
 * An option stands anywhere among the operands, as --name, --name=value or
 * --name value, by its letter as -n value or -nvalue, flags as -lc; `--` ends them. Which of the pointers is set says what the
 * option takes.
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
	char letter;                  /* -h, -o VALUE; 0: none */
	int *flag;                    /* becomes 1; with `number`: which may be missing */
	const char **string;          /* the last one given counts */
	struct opt_list *list;        /* every one given; see opt_list_release() */
	uint64_t *number;
	int *choice;                  /* place of the value in `choices` */
	const char *const *choices;   /* NULL-terminated */
};

enum opt_flags {
	OPT_STOP_AT_OPERAND = 1  /* for what stands before the command's name */
};

/*
 * Take the options out of argv; the operands move to its front, in their
 * order, and *argc becomes their number. `tables` ends with NULL, its tables
 * are searched in order. Returns 0, or -1 and a sentence in `why`.
 */
int opt_parse(const struct opt *const *tables, int *argc, char **argv, unsigned flags,
	      char *why, size_t size);

/*
 * Compare the number of operands with "SESSION [ENTRY]" or "SESSION...": a
 * word in brackets may be missing, dots stand for any number of them. Returns
 * 0, or -1 and a sentence in `why`.
 */
int opt_operands(const char *spec, int argc, char **argv, char *why, size_t size);

/*
 * Is `word` so close to `known` that it is likely a slip? 0: no, else the
 * smaller the closer.
 */
unsigned opt_slip(const char *word, size_t len, const char *known);

/* Returns 0, or -1: out of memory. */
int opt_list_add(struct opt_list *list, const char *value);
void opt_list_release(struct opt_list *list);

#endif
