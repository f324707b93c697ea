/*
 * viewer.h: which servers of this user are running, and a browser to look at them.
 *
 * A server that everybody on this machine with the same user may ask tells where it
 * is in a file of its own in $XDG_RUNTIME_DIR/grove, else in the user's cache; the
 * directory is 0700. Whoever looks asks the server itself before it is believed.
 */
#ifndef PROGRAMS_VIEWER_H
#define PROGRAMS_VIEWER_H

#include <stddef.h>

/* Tell that this process serves at `url`, until viewer_forget(). Failing is no harm. */
void viewer_tell(const char *url);
void viewer_forget(void);

/*
 * The address of a running server that answers GET `path` with 200: 0 and the
 * address without a slash at its end in `url`, or -1.
 */
int viewer_find(const char *path, char *url, size_t size);

/*
 * Open `url` in the user's browser: $BROWSER, else xdg-open where there is a
 * display. An address with a code in it (#t=…) never stands on a command line,
 * where every user of the machine can read it: the browser is given a file (0600)
 * that leads there and is gone a minute later. 0, or -1 when there is no browser.
 */
int viewer_open(const char *url);

#endif
