/*
 * web.h: a session in the browser.
 */
#ifndef CLI_WEB_H
#define CLI_WEB_H

#include "kit/cli.h"

/*
 * Shows a session in the viewer: in a running server of this user that has it, or else in a
 * new one that runs until Ctrl-C. Without a browser, prints the address. Returns the exit
 * status.
 */
int cli_show_web(struct cli *c, struct grove_session *s);

/*
 * Becomes a server on a free port that opens this page, and also has `store` unless that is
 * NULL. Returns only if there is no server program.
 */
int cli_serve_at(struct cli *c, const char *page, const char *store);

#endif
