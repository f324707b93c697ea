/*
 * sys/remote.h: whether a directory is on another machine, and whether a connection is
 * alive.
 */
#ifndef GROVE_SYS_REMOTE_H
#define GROVE_SYS_REMOTE_H

#include <stdbool.h>

/* Returns true if a directory is on another machine, as far as the system tells. */
bool grove__sys_is_remote(const char *dir);
/*
 * Returns true if the system reports all changes of files in a directory that is watched,
 * whoever makes them: its file system is one that only this machine can change.
 */
bool grove__sys_reports_all(const char *dir);
/*
 * Makes a TCP connection fail about `seconds` after the other machine, or the network to
 * it, has disappeared silently. A busy one is waited for. Does nothing for other sockets.
 */
void grove__sys_notice_silence(int socket, unsigned seconds);

#endif
