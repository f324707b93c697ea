/*
 * cli.h: what commands share, those of `grove` and those that have a program of their own.
 *
 * A command is a function that takes its arguments, prints through `out` and returns an
 * exit status. It begins with cli_begin(), which parses the options, handles --help and
 * opens grove:
 *
 *	int cmd_log(struct cli *c, int argc, char **argv)
 *	{
 *		…
 *		if (cli_begin(c, opts, "SESSION", &argc, argv))
 *			return c->status;
 *
 * Failures go through cli_fail() and its variants, which print one line (with --json one
 * object instead) and return the appropriate exit status.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "config.h"
#include "opt.h"
#include "out.h"
#include "pager.h"
#include "progress.h"

enum cli_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOTFOUND = 3,
	EXIT_CONFLICT = 4,
	EXIT_DAMAGED = 5
};

struct cli {
	struct out out, err;
	struct pager pager;
	struct grove *g;
	const char *command;     /* NULL until the command is known */
	int wants_json;          /* how to print an error, even before --json is parsed */
	int status;              /* the exit status when cli_begin() or cli_open() fails */
	unsigned warned;         /* how many times the library skipped something */
	/* Receives the library's warnings, from any thread. NULL: they are printed. */
	void (*on_warning)(void *payload, const struct grove_detail *why);
	void *on_warning_payload;
	const struct out *done;  /* members that say what was done, added to a JSON error */
	struct progress progress;
	char *input;             /* the path of saved standard input; NULL if that is not a
	                            session */

	struct config config;    /* the file; see cli_setting() */

	/* the global options */
	struct opt_list stores;
	const char *dialect;
	int json, color, no_cache, utc, help, version;
};

/* Sets up standard output and standard error, which clear the progress line before they write. */
void cli_init(struct cli *c);
/* Releases everything. The output must have been flushed. */
void cli_release(struct cli *c);

#define CLI_GLOBALS 9
/* Fills in the table of global options. */
void cli_globals(struct cli *c, struct opt table[CLI_GLOBALS]);

/*
 * Parses the options in `opts` (NULL if none) and the global ones, and compares the
 * operands with `operands` (see opt_operands()). Returns 0, or non-zero if the command
 * should just return c->status.
 */
int cli_parse(struct cli *c, const struct opt *opts, const char *operands, int *argc, char **argv);
/* Reads the settings and opens grove. */
int cli_start(struct cli *c);
/* Does both. */
int cli_begin(struct cli *c, const struct opt *opts, const char *operands, int *argc, char **argv);

/* Returns a setting from the environment or the configuration file, or NULL. After cli_begin(). */
const char *cli_setting(const struct cli *c, const char *key);
/* Call before long output for people: on a terminal it goes through a pager. */
void cli_pager(struct cli *c);

/* Returns the exit status for an error. */
int cli_status(int code);
/* Prints what went wrong; these return the exit status. */
int cli_fail(struct cli *c, int code, const struct grove_detail *why);
int cli_error(struct cli *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int cli_usage(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* … with the detail from a handle. */
int cli_fail_grove(struct cli *c, int code);
int cli_fail_session(struct cli *c, struct grove_session *s, int code);
int cli_fail_view(struct cli *c, struct grove_view *v, int code);
/* Prints a line on stderr for people; nothing failed. */
void cli_warn(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_warn_detail(struct cli *c, const struct grove_detail *why);
/* The same as a callback about something that was skipped; `payload` is the struct cli. */
void cli_skipped(void *payload, const struct grove_detail *why);

/* Checks that the named stores exist. Returns non-zero after reporting an error. */
int cli_stores(struct cli *c);
/*
 * Returns `status`, or EXIT_FAILED if that is EXIT_DONE, but a store did not answer, so that
 * something may be missing. The library has warned of it.
 */
int cli_answered(struct cli *c, int status);
/* Returns true if it is the name of an agent; *known gets all their names. */
int cli_is_agent(struct grove *g, const char *name, struct grove_buf *known);
/* Call if --agent (NULL if not given) found nothing: warns if no agent has that name. */
void cli_check_agent(struct cli *c, const char *name);
/* After GROVE_EAMBIGUOUS: lists the possible sessions for people, with what distinguishes them. */
void cli_candidates(struct cli *c, int err, const struct grove_list *l);
/* Opens a session. Returns NULL after reporting an error. */
struct grove_session *cli_open(struct cli *c, const char *what, unsigned flags);
/* Returns true, after reporting it, if that is a directory: a store rather than a session. */
int cli_directory_given(struct cli *c, const char *what);
/* The same for commands that only read: "-" is standard input. */
struct grove_session *cli_open_read(struct cli *c, const char *what, unsigned flags);
/* … and takes a view, with a warning about lines that no reader understands. */
struct grove_view *cli_view(struct cli *c, struct grove_session *s);
/* Prints a new session: {id, path}, or just the path for people. */
void cli_print_session(struct cli *c, struct grove_session *s);

/*
 * Replaces this process with the agent that continues a session. Returns an exit status,
 * only if that fails.
 */
int cli_become(struct cli *c, const struct grove_command *cmd);
/* Prints a command so that a shell reads it back. */
void cli_print_command(struct out *o, const struct grove_command *cmd);
/* Tells people, in a last line on stderr, how to resume the session, if its agent can. */
void cli_tell_resume(struct cli *c, struct grove_session *s);

/*
 * For long work: shows a line on a terminal, and Ctrl-C asks the library to stop (a second
 * one kills us). cli_progress_end() clears the line. Ctrl-C stays caught until
 * cli_let_interrupt(), which is called when there is nothing left to damage.
 */
void cli_progress(struct cli *c, const char *what);
/* The same for work that can be interrupted at any time, such as printing: only the line. */
void cli_working(struct cli *c, const char *what);
void cli_progress_end(struct cli *c);
void cli_let_interrupt(void);
int cli_interrupted(void);
/* Asks a question on the terminal; the default is no. */
int cli_confirm(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Parses --since and --until (NULL if not given) as days in the user's time zone. Returns
 * non-zero after reporting an error.
 */
int cli_period(struct cli *c, const char *since, const char *until, struct grove_period *out);
/* Formats times for people, in their time zone, or in UTC with --utc. */
void cli_time(char *out, size_t size, int64_t ms, int seconds);
/*
 * Formats a number in decimal; the result is within `out`. Faster than printf(), which
 * would take a tenth of the time when a million rows are printed.
 */
#define CLI_NUMBER 21
const char *cli_number(char out[CLI_NUMBER], uint64_t n);
#define CLI_BYTES 16
/* Formats bytes for people: 812, 12K, 3.4M. `size` is at least 8. */
void cli_size(char *out, size_t size, uint64_t bytes);
/* … with the unit: 812 bytes, 12KB, 3.4MB. */
void cli_bytes(char out[CLI_BYTES], uint64_t bytes);
/*
 * Prints a directory as its owner would write it, such as ~/src/grove; only the end of a
 * long one. Returns the columns used.
 */
unsigned cli_directory(struct out *o, const char *cwd, unsigned width);

/* Allocates memory, or exits. */
void *cli_realloc(void *p, size_t nr, size_t size);
void cli_add(struct grove_buf *b, const char *ptr, size_t len);

#endif
