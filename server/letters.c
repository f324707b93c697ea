/*
 * letters.c: kinds and roles as one letter each.
 */
#include "letters.h"

char kind_letter(enum grove_kind kind)
{
	/* in the order of enum grove_kind */
	static const char letters[] = "??mtoucbxyelnvhdirkzasfgqwW";

	return (size_t)kind < sizeof(letters) - 1 ? letters[kind] : '?';
}

char role_letter(enum grove_role role)
{
	/* in the order of enum grove_role */
	static const char letters[] = "-osuatbcdpfmm";

	return (size_t)role < sizeof(letters) - 1 ? letters[role] : '?';
}
