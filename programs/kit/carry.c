/*
 * carry.c: what programs that transfer sessions share.
 */
#include "carry.h"

int carry_is_empty(struct grove *g, const char *what)
{
	struct grove_carry_options o = { .size = sizeof(o) };
	struct grove_carry *c = NULL;
	int rc = grove_carry_open(g, what, &o, &c);

	grove_carry_close(c);
	return rc == GROVE_ENOTFOUND;
}
