/*
 * transfer/carry.h: a session that is carried between machines.
 *
 *     carry.c          opening it, what a line is, what is stored
 *     carry_append.c   taking in lines of another machine
 *     carry_files.c    attachments, blobs, logs of sub-agents
 */
#ifndef GROVE_TRANSFER_CARRY_H
#define GROVE_TRANSFER_CARRY_H

#include "blob/blob.h"
#include "grove/carry.h"
#include "image/lines.h"
#include "session/session.h"

struct grove_carry {
	struct grove *g;
	struct grove__where at; /* of an existing session; otherwise only the dialect, or NULL */
	bool there;
	bool failed;                     /* it could not be opened, and does nothing */
	unsigned flags;
	char *id, *cwd, *file;           /* as the caller says; of a new one */
	struct grove_session *own;       /* reads its log; NULL: not yet */
	struct grove_session *sub;       /* the same for the log … */
	char *sub_name;                  /* … of this name */
	struct grove__json_want want;
	struct grove_buf line;           /* with padding for the scanner */
	struct grove__arena texts;       /* of the last line */
	struct grove__blobs *blobs;      /* of its agent; NULL: not opened yet */
	struct grove_detail detail;
};

int grove__carry_open(struct grove *g, const char *what, const struct grove_carry_options *opt,
		      struct grove_carry *c, struct grove_detail *d);
void grove__carry_release(struct grove_carry *c);
/* Sets the dialect of the session. GROVE_EINVAL if that cannot have its id. */
int grove__carry_settle(struct grove_carry *c, const struct grove__dialect *dialect, struct grove_detail *d);
int grove__carry_about(struct grove_carry *c, struct grove_carry_about *out, struct grove_detail *d);
int grove__carry_state(struct grove_carry *c, const char *sub, struct grove_carry_state *out,
		       struct grove_detail *d);
int grove__carry_set_modified(struct grove_carry *c, const char *sub, int64_t ms, struct grove_detail *d);
int grove__carry_read(struct grove_carry *c, const char *sub, uint64_t from, uint64_t to,
		      struct grove_sink sink, struct grove_carry_state *out, struct grove_detail *d);

/*
 * The session that reads a log, up to date. GROVE_ENOTFOUND if there is no such log, or
 * nothing in it.
 */
int grove__carry_reader(struct grove_carry *c, const char *sub, struct grove_session **out,
			struct grove_detail *d);
/* Forgets what was read of this log, because the log was replaced or created. */
void grove__carry_forget(struct grove_carry *c, const char *sub);
/* Gets the location of a log: grove__where_copy() with its subpath. */
int grove__carry_where(const struct grove_carry *c, const char *sub, struct grove__where *out,
		       struct grove_detail *d);
void grove__carry_state_of(const struct grove_session *s, struct grove_carry_state *out);

/* A line that came from elsewhere. */
struct grove__carry_line {
	enum grove_carry_kind kind;
	struct grove__record_read as;
};
/* Reads a line, which GROVE__JSON_PAD readable bytes follow. Texts go to `texts`. GROVE_ENOMEM. */
int grove__carry_classify(const struct grove_carry *c, struct grove_slice line, bool first,
			  struct grove__arena *texts, struct grove__carry_line *out);

/* Returns true if a relative name stays within the session's directory and is not a private file. */
bool grove__carry_name_ok(const char *name);

int grove__carry_append(struct grove_carry *c, const struct grove_slice *lines, size_t nr,
			const struct grove_carry_append_options *opt, struct grove_carry_result *out,
			struct grove_detail *d);

int grove__carry_each(struct grove_carry *c, grove_carry_part_fn *fn, void *payload,
		      struct grove_detail *d);
int grove__carry_file_get(struct grove_carry *c, const char *name, struct grove_buf *out,
			  struct grove_detail *d);
int grove__carry_file_put(struct grove_carry *c, const char *name, struct grove_slice bytes,
			  struct grove_detail *d);

#endif
