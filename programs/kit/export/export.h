/*
 * export.h: a session as one file, for people and for other programs.
 *
 *	html   the viewer's page with the session in it: see web/README.md
 *	md     the conversation, for a wiki
 *	json   entries as they are stored
 *
 * The output goes to a sink as it is made; only one entry is held in memory.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "redact.h"

#include "kit/doc.h"

enum export_format { EXPORT_HTML, EXPORT_MD, EXPORT_JSON };
/* In that order, ending with NULL. */
extern const char *const export_formats[];

struct export {
	struct grove *g;
	struct grove_session *s;     /* only for its sub-agents; NULL if there are none */
	const struct grove_view *v;
	const char *id, *agent;      /* of the session */
	enum export_format format;
	int branch;                  /* only the branch that ends at `leaf`; otherwise html and
	                                json have all of them */
	uint32_t leaf;
	int subagents;               /* include their transcripts */
	int alone;                   /* do not name the session that it was forked from */
	struct redactor *redactor;   /* NULL to replace nothing */
	struct grove_slice page;     /* EXPORT_HTML: the page without a session */
	struct grove_detail why;     /* after an error, if the view has none */

	/* for the writers: */
	struct grove_sink to;
	struct grove_buf raw, line;  /* an entry as it is stored, and as UTF-8 */
	struct grove_buf clean;      /* the redacted line */
};

/* Writes all of it. Returns 0 or a negative grove_error. */
int export_write(struct export *x, struct grove_sink to);

/* --------------------------------------------------------- for the writers */

/* Writes JSON, redacted if that is wanted. */
int export_put(struct export *x, struct grove_slice text);
/* The same for our own text. */
int export_puts(struct export *x, const char *text);
/* Reads the line of an entry into x->line, as UTF-8, including its blobs. */
int export_read_line(struct export *x, uint32_t i);
/* Gets what is known about the session: a snapshot without entries. */
int export_known(const struct export *x, struct grove_buf *out);
/* Gets the wanted rows of the view, in order. Release them. */
int export_rows(const struct export *x, struct grove_rows *out);
/* All rows that the viewer's shape has. */
int export_all_rows(const struct grove_view *v, struct grove_rows *out);
/* Returns true if these are the rows of one branch, not all rows. */
int export_is_branch(const struct export *x);
/*
 * Calls `fn` for each sub-agent with a transcript or, for a branch, those that it called:
 * with an export like this one, but with all its branches.
 */
int export_each_subagent(struct export *x, int (*fn)(struct export *x, struct export *sub, const struct grove_subagent *a));

/* Frees what the writers allocated. */
void export_release(struct export *x);

int export_html(struct export *x);
int export_markdown(struct export *x);
/*
 * Writes text as Markdown without raw HTML, images, or headings of the first two levels;
 * every fence is closed.
 */
void export_markdown_text(struct doc *d, struct grove_slice text);

#endif
