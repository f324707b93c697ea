/*
 * commands.h: the commands of `grove`, and how they name an entry.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "kit/cli.h"

/*
 * Finds the entry that --leaf names: NULL for the view's own leaf, "root" for
 * GROVE_NO_ENTRY, or a unique prefix of an id. Returns non-zero after reporting an error.
 */
int cli_leaf(struct cli *c, struct grove_view *v, const char *what, uint32_t *leaf);
/*
 * Returns the id of the entry that `what` names in a session, or "root"; free() it. Returns
 * NULL after reporting an error.
 */
char *cli_entry(struct cli *c, struct grove_session *s, const char *what);

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
