/*
 * dialect/heads.h: which members of an entry are what, for those who want
 * everything but the long values.
 */
#ifndef GROVE_DIALECT_HEADS_H
#define GROVE_DIALECT_HEADS_H

#include "dialect/dialect.h"

extern const struct grove__dialect_heads grove__heads_pi;
extern const struct grove__dialect_heads grove__heads_claude;

#endif
