/* session/leaf.h: where the next entry goes, and what a store has for a session besides its lines. */
#ifndef GROVE_SESSION_LEAF_H
#define GROVE_SESSION_LEAF_H

#include "session/session.h"

/* leaf.c */
int grove__session_set_leaf(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			    struct grove_detail *d);
/* With o->summary. */
int grove__session_branch(struct grove_session *s, const char *id, const struct grove_leaf_options *o,
			  struct grove_append_result *out, struct grove_detail *d);
int grove__session_continue(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			    enum grove_outcome *outcome, struct grove_buf *content,
			    struct grove_detail *d);
/* Finds the row that the next append goes below, GROVE_NO_ENTRY for a root. */
int grove__session_find_leaf(struct grove_session *s, uint32_t *row, struct grove_detail *d);
/* The same for those that cannot fail: GROVE_NO_ENTRY if it cannot be found, too. */
uint32_t grove__session_leaf_row(struct grove_session *s);
/* Returns the row of an id; GROVE_NO_ENTRY for GROVE_ROOT. GROVE_ENOTFOUND. */
int grove__session_row(struct grove_session *s, const char *id, uint32_t *row,
		       struct grove_detail *d);

/* The same, but refreshes first if the id is unknown: another writer may have appended it. */
int grove__session_find(struct grove_session *s, const char *id, uint32_t *row,
			struct grove_detail *d);

/* kept.c: values that a store has for a session besides its lines */
/* Returns true if the store has room for such values, and the session is stored. */
bool grove__kept_has_values(const struct grove_session *s);
/* Reads the leaf from the store; called after a load or refresh. Returns 1 if it has changed. */
int grove__kept_leaf(struct grove_session *s, struct grove_detail *d);
/* Returns true if values have changed and lines have not. */
bool grove__kept_moved(struct grove_session *s);
/* `exact`: only if the session is as this handle has read it. */
int grove__kept_put_leaf(struct grove_session *s, uint32_t row, bool exact, struct grove_detail *d);
int grove__kept_put_value(struct grove_session *s, const char *name, struct grove_slice value,
		      struct grove_detail *d);
int grove__kept_value(struct grove_session *s, const char *name, struct grove_buf *out,
		      struct grove_detail *d);
/* The same for a log. */
int grove__kept_log_value(struct grove_store_log *log, const char *name, struct grove_buf *out,
			  struct grove_detail *d);
/* Copies the values of hosts from one log to another, unless it has them already. */
int grove__kept_copy(struct grove_store_log *from, struct grove_store_log *to,
		     struct grove_detail *d);
/* Copies the key of a log whose name does not contain it. */
int grove__kept_copy_key(struct grove_store_log *from, struct grove_store_log *to,
			 struct grove_detail *d);
/* The host's value "agentId" */
#define GROVE__META_AGENT GROVE__META_HOST "agentId"

#endif
