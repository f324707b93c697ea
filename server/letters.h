/*
 * letters.h: kinds and roles as one letter each, for columns on the wire.
 *
 * The OpenAPI document lists them. New ones are added; none changes its meaning.
 */
#ifndef SERVER_LETTERS_H
#define SERVER_LETTERS_H

#include <grove.h>

/* '?' for one that has none. */
char kind_letter(enum grove_kind kind);
char role_letter(enum grove_role role);

#endif
