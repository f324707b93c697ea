/*
 * export.h: a session as one file, for people and for other programs.
 *
 *	html   the viewer's page with the session in it: see web/README.md
 *	md     the conversation, as a wiki takes it
 *	json   entries as they are stored
 *
 * What is written goes to a sink as it is made; only one entry is held.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "redact.h"

#include "programs/doc.h"

enum export_format { EXPORT_HTML, EXPORT_MD, EXPORT_JSON };
/* In that order, ended by NULL. */
extern const char *const export_formats[];

struct export {
	struct grove *g;
	struct grove_session *s;     /* only for its sub-agents; NULL: there are none */
	const struct grove_view *v;
	const char *id, *agent;      /* of the session */
	enum export_format format;
	int branch;                  /* only the branch that ends at `leaf`; else html and json have all of them */
	uint32_t leaf;
	int subagents;               /* with their transcripts */
	struct redactor *redactor;   /* NULL: nothing is replaced */
	struct grove_slice page;     /* EXPORT_HTML: the page without a session */
	struct grove_detail why;     /* after an error, if the view has none */

	/* of the writers */
	struct grove_sink to;
	struct grove_buf raw, line;  /* an entry as it is stored, and as UTF-8 */
	struct grove_buf clean;      /* what the redactor made of it */
};

/* Writes all of it. Returns 0 or a negative grove_error. */
int export_write(struct export *x, struct grove_sink to);

/* --------------------------------------------------------- for the writers */

/* Writes text, redacted if that is wanted. */
int export_put(struct export *x, struct grove_slice text);
/* The same of our own words. */
int export_puts(struct export *x, const char *text);
/* The line of an entry becomes x->line: UTF-8, with what was stored apart. */
int export_read_line(struct export *x, uint32_t i);
/* What is known of the session: a snapshot without entries. */
int export_known(const struct export *x, struct grove_buf *out);
/* The rows that are wanted of the view, in their order. Release them. */
int export_rows(const struct export *x, struct grove_rows *out);
/* All rows that the viewer's shape has. */
int export_all_rows(const struct grove_view *v, struct grove_rows *out);
/* True if these are the rows of one branch, not all there are. */
int export_is_branch(const struct export *x);
/*
 * Calls `fn` for each sub-agent that has a transcript, and of a branch for those that it
 * called: with an export of it that is like this one, but has all its branches.
 */
int export_each_subagent(struct export *x, int (*fn)(struct export *x, struct export *sub, const struct grove_subagent *a));

/* Frees what the writers made. */
void export_release(struct export *x);

int export_html(struct export *x);
int export_markdown(struct export *x);
/* Text as Markdown in which no raw HTML is, no image, and no heading of the first two levels; every fence is closed. */
void export_markdown_text(struct doc *d, struct grove_slice text);

#endif
