/*
 * sys/remote.h: other machines: is a place on one, is one still there?
 */
#ifndef GROVE_SYS_REMOTE_H
#define GROVE_SYS_REMOTE_H

#include <stdbool.h>

/* Does a directory lie on another machine, as far as the system says? */
bool grove__sys_is_remote(const char *dir);
/*
 * Makes a TCP connection fail about `seconds` after the machine at its other end, or
 * the way to it, has disappeared without a word. One that is merely busy is waited for.
 * Does nothing for another kind of socket.
 */
void grove__sys_notice_silence(int socket, unsigned seconds);

#endif
