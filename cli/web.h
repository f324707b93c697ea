/*
 * web.h: a session in the browser.
 */
#ifndef CLI_WEB_H
#define CLI_WEB_H

#include "cli.h"

/*
 * Show a session in the viewer: in a server of this user that is running and has
 * it, else in one that is started for it and runs until Ctrl-C. Without a browser
 * the address is printed. Answers with the exit status.
 */
int cli_show_web(struct cli *c, struct grove_session *s);

/*
 * Become a server on a free port that opens this page, over `store` too unless it is NULL;
 * returns only when there is no server to become.
 */
int cli_serve_at(struct cli *c, const char *page, const char *store);

#endif
