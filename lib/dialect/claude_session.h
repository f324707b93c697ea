/*
 * dialect/claude_session.h: the parts of Claude Code's dialect table.
 */
#ifndef GROVE_DIALECT_CLAUDE_SESSION_H
#define GROVE_DIALECT_CLAUDE_SESSION_H

#include "dialect/claude.h"

/* claude_text.c */
int grove__claude_pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			 grove_piece_fn *fn, void *payload);
int grove__claude_block_pieces(struct grove_slice content, size_t max, grove_piece_fn *fn, void *payload);
struct grove_slice grove__claude_prompt(struct grove_slice line, enum grove_kind kind);

#endif
