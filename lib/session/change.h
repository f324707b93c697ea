/* session/change.h: what changes a session as a whole, or lines that it has. */
#ifndef GROVE_SESSION_CHANGE_H
#define GROVE_SESSION_CHANGE_H

#include "session/session.h"

/* name.c */
/*
 * Names the session. `source` is "user" or "auto". Returns 1 if the user has given it a
 * name, which an automatic one does not replace. out->id is the id of the new entry, or
 * NULL if the name is in the header.
 */
int grove__session_rename(struct grove_session *s, const char *name, const char *source,
			  struct grove_append_result *out, struct grove_detail *d);
/* forget.c */
int grove__session_forget(struct grove_session *s, const char *id, uint64_t *relinked,
			  struct grove_detail *d);

/* update.c */
int grove__session_update(struct grove_session *s, const char *id, const char *pointer,
			  struct grove_slice value, struct grove_detail *d);

/*
 * Replaces the header, the slot (GROVE_NO_ENTRY for both) or a row by `value`. Returns
 * 1 if replacing one line is not enough and the log has to be rewritten.
 */
int grove__session_update_line(struct grove_session *s, const struct grove__spot *at, uint32_t row,
			       struct grove_slice value, enum grove_change_kind kind,
			       struct grove_detail *d);

/* rewrite.c, fork.c, move.c */
int grove__session_migrate(struct grove_session *s, struct grove_detail *d);
int grove__session_fork(struct grove_session *s, const struct grove_fork_options *opt,
			struct grove_session *out, struct grove_detail *d);
int grove__session_move(struct grove_session *s, const char *cwd, struct grove_detail *d);
int grove__session_remove(struct grove *g, struct grove__where *at, unsigned flags,
			  struct grove_detail *d);
/*
 * Rewrites the log, passing each value through `fn` (row GROVE_NO_ENTRY: a header),
 * which returns 0 and the new value, or one of these, or an error.
 */
enum {
	GROVE__KEEP = 1,  /* the value stays as it is */
	GROVE__DROP       /* it goes, with its line */
};
typedef int grove__line_edit_fn(void *payload, struct grove_session *s, uint32_t row, bool header,
				struct grove_slice value, struct grove_buf *out);
int grove__session_rewrite(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
			   uint64_t *changed, struct grove_detail *d);
/* The same, and replaces the line of the slot by one of any length. */
int grove__session_rewrite_slot(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
				struct grove_slice slot, uint64_t *changed, struct grove_detail *d);

#endif
