/*
 * session/heads.h: what grove_view_heads() and grove_view_columns() hand out.
 */
#ifndef GROVE_SESSION_HEADS_H
#define GROVE_SESSION_HEADS_H

#include "session/session.h"

/* The heads of rows `from` … `to` - 1, which the view has. One block, released by free(). Fills *d. */
int grove__view_heads(struct grove_view *v, uint32_t from, uint32_t to, struct grove_heads **out,
		      struct grove_detail *d);

#endif
