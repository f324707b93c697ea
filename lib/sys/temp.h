/*
 * sys/temp.h: names of what is not whole yet.
 *
 * What is written to NAME is first written to .NAME.HEX.tmp next to it, and renamed when it
 * is whole. HEX says which process of which machine writes it, and whoever writes a file
 * keeps it open until it is renamed. So what a killed process left can be told from what
 * somebody is still writing. Agents use such names, too, and earlier versions of grove did,
 * with a HEX that says nothing: theirs are left alone for a day.
 */
#ifndef GROVE_SYS_TEMP_H
#define GROVE_SYS_TEMP_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define GROVE__TEMP_TAIL ".tmp"

/* Appends a new name for `path`, with the last 200 bytes of its own. -ENOMEM. */
int grove__sys_temp_name(const char *path, struct grove_buf *out);
/* The same, and creates the file, with O_CREAT | O_EXCL and these flags. */
int grove__sys_temp_open(const char *path, int flags, struct grove_buf *out, int *fd);
/* Returns the length of NAME in .NAME.HEX and this tail, and 0 for any other name. */
size_t grove__sys_temp_of(const char *name, const char *tail);
/* The same, but 0 unless it was made for the name `of` (NULL: any). */
size_t grove__sys_temp_for(const char *name, const char *tail, const char *of);
/*
 * Return true if nobody writes it any more: a file; and something that is no file, whose
 * name has that tail and which was last changed at that time, in ms.
 */
bool grove__sys_temp_left(const char *path, const char *tail);
bool grove__sys_temp_gone(const char *name, const char *tail, int64_t changed);

#endif
