/*
 * cli.h: what the commands share.
 *
 * A command is a function that gets its words, answers with an exit status,
 * and prints through `out`. It begins with cli_begin(), which reads the
 * options, answers --help and opens grove:
 *
 *	int cmd_log(struct cli *c, int argc, char **argv)
 *	{
 *		…
 *		if (cli_begin(c, opts, "SESSION", &argc, argv))
 *			return c->status;
 *
 * Failures go through cli_fail() and its kin, which print the one line, or
 * with --json the one object instead, and answer with the exit status that fits.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "programs/config.h"
#include "programs/opt.h"
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
	const char *command;     /* NULL: none was named yet */
	int wants_json;          /* the form of an error, also before --json is reached */
	int status;              /* what cli_begin() and cli_open() want to end with */
	unsigned warned;         /* how often the library passed something over */
	const struct out *done;  /* members that say what was done, also beside a JSON error */
	struct progress progress;
	char *input;             /* the path that standard input was given; NULL: it is no session */

	struct config config;    /* the file; see cli_setting() */

	/* the options that every command has */
	struct opt_list stores;
	const char *dialect;
	int json, color, no_cache, utc, help, version;
};

/* Standard output and standard error, which take the progress line away before they write. */
void cli_init(struct cli *c);
/* All of it again; what is left of the output must have been flushed. */
void cli_release(struct cli *c);

#define CLI_GLOBALS 9
/* The table of those options. */
void cli_globals(struct cli *c, struct opt table[CLI_GLOBALS]);

/*
 * Read the options of `opts` (NULL: none) and the global ones, and compare the
 * operands with `operands` (see opt_operands()). 0, or non-zero when there is
 * nothing left to do but to return c->status.
 */
int cli_parse(struct cli *c, const struct opt *opts, const char *operands, int *argc, char **argv);
/* Read the settings and open grove. */
int cli_start(struct cli *c);
/* Both. */
int cli_begin(struct cli *c, const struct opt *opts, const char *operands, int *argc, char **argv);

/* What the environment or the configuration file says; NULL: nothing. After cli_begin(). */
const char *cli_setting(const struct cli *c, const char *key);
/* Long output for people follows: through a pager, on a terminal. */
void cli_pager(struct cli *c);

/* The exit status of an error. */
int cli_status(int code);
/* Print what went wrong; each answers with the exit status. */
int cli_fail(struct cli *c, int code, const struct grove_detail *why);
int cli_error(struct cli *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int cli_usage(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* … with the detail of a handle. */
int cli_fail_grove(struct cli *c, int code);
int cli_fail_session(struct cli *c, struct grove_session *s, int code);
int cli_fail_view(struct cli *c, struct grove_view *v, int code);
/* A line on stderr, for people: nothing failed. */
void cli_warn(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_warn_detail(struct cli *c, const struct grove_detail *why);
/* The same, as a callback about what was passed over; `payload` is the struct cli. */
void cli_skipped(void *payload, const struct grove_detail *why);

/* The stores that were named must be there; else it was reported, return c->status. */
int cli_stores(struct cli *c);
/* Nothing was found with --agent (NULL: it was not given): a warning if there is no agent of that name. */
void cli_check_agent(struct cli *c, const char *name);
/* After GROVE_EAMBIGUOUS: the sessions that were meant, for people, with what tells them apart. */
void cli_candidates(struct cli *c, int err, const struct grove_list *l);
/* Open a session; NULL: it was reported, return c->status. */
struct grove_session *cli_open(struct cli *c, const char *what, unsigned flags);
/* The same for commands that only read: "-" is standard input. */
struct grove_session *cli_open_read(struct cli *c, const char *what, unsigned flags);
/* … and look at it, with a warning about lines that no reader understands. */
struct grove_view *cli_view(struct cli *c, struct grove_session *s);
/*
 * The entry that --leaf names: NULL is the view's own leaf, "root" is
 * GROVE_NO_ENTRY, and a unique prefix of an id will do. 0, or non-zero when it was
 * reported.
 */
int cli_leaf(struct cli *c, struct grove_view *v, const char *what, uint32_t *leaf);
/*
 * The id of the entry that `what` names in a session, or "root"; yours to free().
 * NULL: it was reported, return c->status.
 */
char *cli_entry(struct cli *c, struct grove_session *s, const char *what);
/* A session that was made: {id, path}, or the path for people. */
void cli_print_session(struct cli *c, struct grove_session *s);

/* Becomes the agent that continues a session. Returns only if that fails: the exit status. */
int cli_become(struct cli *c, const struct grove_command *cmd);
/* The last line for people, on stderr: how its agent continues the session, if it can. */
void cli_tell_resume(struct cli *c, struct grove_session *s);

/*
 * Long work of the library: a line on a terminal, and Ctrl-C asks to stop (a second
 * one stops). cli_progress_end() takes the line away; Ctrl-C stays caught until
 * cli_let_interrupt(), after which there is nothing left that it could spoil.
 */
void cli_progress(struct cli *c, const char *what);
/* The same for work that can be stopped at any time, as printing: the line alone. */
void cli_working(struct cli *c, const char *what);
void cli_progress_end(struct cli *c);
void cli_let_interrupt(void);
int cli_interrupted(void);
/* A question on the terminal, no by default. */
int cli_confirm(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A period out of --since and --until (NULL: not given), in days of their own time zone.
 * 0, or non-zero when it was reported.
 */
int cli_period(struct cli *c, const char *since, const char *until, struct grove_period *out);
/* Times for people, in their own time zone; with --utc that is UTC. */
void cli_time(char *out, size_t size, int64_t ms, int seconds);
/*
 * A number in decimal digits; the result is within `out`. For output that may have a million
 * rows, of which printf() would be a tenth.
 */
#define CLI_NUMBER 21
const char *cli_number(char out[CLI_NUMBER], uint64_t n);
#define CLI_BYTES 16
/* Bytes for people: 812, 12K, 3.4M. `size` is 8 at least. */
void cli_size(char *out, size_t size, uint64_t bytes);
/* … and with their unit: 812 bytes, 12KB, 3.4MB. */
void cli_bytes(char out[CLI_BYTES], uint64_t bytes);
/* ~/src/grove: a working directory as its owner writes it, of a long one the end. Returns the columns used. */
unsigned cli_directory(struct out *o, const char *cwd, unsigned width);

/* Memory, or the end. */
void *cli_realloc(void *p, size_t nr, size_t size);
void cli_add(struct grove_buf *b, const char *ptr, size_t len);

int cmd_append(struct cli *c, int argc, char **argv);
int cmd_archive(struct cli *c, int argc, char **argv);
int cmd_blob(struct cli *c, int argc, char **argv);
int cmd_browse(struct cli *c, int argc, char **argv);
int cmd_check(struct cli *c, int argc, char **argv);
int cmd_completion(struct cli *c, int argc, char **argv);
int cmd_config(struct cli *c, int argc, char **argv);
int cmd_context(struct cli *c, int argc, char **argv);
int cmd_continue(struct cli *c, int argc, char **argv);
int cmd_cp(struct cli *c, int argc, char **argv);
int cmd_export(struct cli *c, int argc, char **argv);
int cmd_fork(struct cli *c, int argc, char **argv);
int cmd_help(struct cli *c, int argc, char **argv);
int cmd_history(struct cli *c, int argc, char **argv);
int cmd_label(struct cli *c, int argc, char **argv);
int cmd_leaf(struct cli *c, int argc, char **argv);
int cmd_log(struct cli *c, int argc, char **argv);
int cmd_ls(struct cli *c, int argc, char **argv);
int cmd_mcp(struct cli *c, int argc, char **argv);
int cmd_migrate(struct cli *c, int argc, char **argv);
int cmd_mv(struct cli *c, int argc, char **argv);
int cmd_name(struct cli *c, int argc, char **argv);
int cmd_new(struct cli *c, int argc, char **argv);
int cmd_resume(struct cli *c, int argc, char **argv);
int cmd_rm(struct cli *c, int argc, char **argv);
int cmd_search(struct cli *c, int argc, char **argv);
int cmd_serve(struct cli *c, int argc, char **argv);
int cmd_sync(struct cli *c, int argc, char **argv);   /* push, pull, mirror */
int cmd_token(struct cli *c, int argc, char **argv);
int cmd_show(struct cli *c, int argc, char **argv);
int cmd_snapshot(struct cli *c, int argc, char **argv);
int cmd_store(struct cli *c, int argc, char **argv);
int cmd_tree(struct cli *c, int argc, char **argv);
int cmd_usage(struct cli *c, int argc, char **argv);
int cmd_watch(struct cli *c, int argc, char **argv);

#endif
