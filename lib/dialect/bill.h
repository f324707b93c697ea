/*
 * dialect/bill.h: what the dialects say they were billed for.
 */
#ifndef GROVE_DIALECT_BILL_H
#define GROVE_DIALECT_BILL_H

#include "dialect/dialect.h"

/* --- bill.c: what they share --- */

/* Reads a count or a price; 0 if it is not a number, or negative. */
double grove__bill_number(struct grove_slice raw);
/* Makes a key of two parts. GROVE_ENOMEM. */
int grove__bill_key(struct grove__arena *tmp, struct grove_slice a, struct grove_slice b,
		    struct grove_slice *out);

/* --- the family of pi --- */

/* What a usage has, and how many it is. */
enum {
	PI_USED_INPUT, PI_USED_OUTPUT, PI_USED_CACHE_READ, PI_USED_CACHE_WRITE, PI_USED_COST, PI_USED_TOTAL, PI_USED
};
/* Indexes in the table of members, after pi's own. Each usage is followed by what it has. */
enum {
	PI_BILL_USAGE, PI_BILL_MESSAGE_USAGE = PI_BILL_USAGE + 1 + PI_USED,
	PI_BILL_MODEL = PI_BILL_MESSAGE_USAGE + 1 + PI_USED, PI_BILL_MESSAGE_MODEL, PI_BILL_TOOL, PI_BILL_DETAILS,
	PI_BILL_DETAILS_USAGE, PI_BILL_MEMBERS = PI_BILL_DETAILS_USAGE + 1 + PI_USED
};
extern const struct grove__json_member grove__pi_bill_members[PI_BILL_MEMBERS];
struct grove_slice grove__pi_bill_member(const struct grove__json_line *l, const char *line,
					 unsigned member);
/* Reads one of these usages, and a raw model. Returns 1 if it is not a usage. */
int grove__pi_bill(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		   const struct grove__entry *e, unsigned usage, struct grove_slice model,
		   struct grove__billed *out);

int grove__pi_billed(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		     const struct grove__entry *e, struct grove__billed *out);
int grove__xcsh_billed(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		       const struct grove__entry *e, struct grove__billed *out);

/* --- Claude Code --- */

/*
 * Returns the session (raw) whose request a reply answered: the first string of a record's
 * requestSessionId, its forkedFrom.sessionId and its sessionId. ptr NULL: none.
 */
struct grove_slice grove__claude_billed_to(struct grove_slice request, struct grove_slice origin,
					   struct grove_slice session);

/* Indexes in the table of members, after Claude's own. */
enum {
	CLAUDE_BILL_INPUT, CLAUDE_BILL_OUTPUT, CLAUDE_BILL_CACHE_READ, CLAUDE_BILL_CACHE_WRITE, CLAUDE_BILL_CREATION,
	CLAUDE_BILL_LONG, CLAUDE_BILL_COST, CLAUDE_BILL_TO, CLAUDE_BILL_FORKED,
	CLAUDE_BILL_MEMBERS
};
extern const struct grove__json_member grove__claude_bill_members[CLAUDE_BILL_MEMBERS];
int grove__claude_billed(const struct grove__json_line *l, const char *line,
			 struct grove__arena *tmp, const struct grove__entry *e,
			 struct grove__billed *out);

#endif
