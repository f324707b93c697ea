/*
 * page.h: the viewer's page of a session as one file, without a session. See web/README.md.
 */
#ifndef EXPORT_PAGE_H
#define EXPORT_PAGE_H

#include <stddef.h>

/* Made by embed.py; of no length if the viewer was not built. */
extern const char export_page[];
extern const size_t export_page_len;

#endif
