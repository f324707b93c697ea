/*
 * sys/state.h: what the times of a file tell about it.
 *
 * A cache remembers the state of the file that it was made from. Only a file whose times
 * are settled can be remembered: a change within one tick of the file system's clock
 * leaves its times as they are.
 */
#ifndef GROVE_SYS_STATE_H
#define GROVE_SYS_STATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if whatever changes from now on will have another time than `ctime_ns`, that
 * of the last change. Ask before reading the file: it may change while it is read. A time of
 * 0, which is unknown, or in the future is not settled.
 */
bool grove__sys_settled(int64_t ctime_ns);

#endif
