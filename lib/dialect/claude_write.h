/*
 * dialect/claude_write.h: writing Claude Code's lines.
 *
 * claude_write.c composes a line, claude_split.c divides a reply into records, and
 * claude_fork.c copies records into another session. All of this is pure: callbacks supply
 * what is in the log.
 */
#ifndef GROVE_DIALECT_CLAUDE_WRITE_H
#define GROVE_DIALECT_CLAUDE_WRITE_H

#include "dialect/claude.h"

/* --- claude_write.c: one line --- */

void grove__claude_input(const struct grove__json_line *l, const char *line,
			 struct grove__input *out);
/*
 * A compact boundary is GROVE_KIND_COMPACTION, as when it is read; a type outside the chain
 * is GROVE_KIND_META.
 */
enum grove_kind grove__claude_input_kind(const struct grove__input *in);
bool grove__claude_bare(const struct grove__input *in, enum grove_role *role);
bool grove__claude_starts_file(enum grove_kind kind, enum grove_role role);

/*
 * Composes a record, with what at->about says unless the input says so itself, or a line of
 * metadata, which has neither id nor parent. `system` is not used.
 *
 * A record with sourceToolAssistantUUID and without an explicit parent goes below that
 * record, whatever `at` says: `target` gets its uuid, and the caller makes sure that it
 * exists. After GROVE_EINVAL or GROVE_ENOMEM `out` is unchanged.
 */
int grove__claude_compose(const struct grove__input *in, const struct grove__place *at,
			  struct grove_slice system, struct grove_buf *out,
			  struct grove_buf *target, struct grove_detail *d);
/* name: a; other: a leaf mark, where a is a uuid or GROVE_ROOT. All others: GROVE_ENOTSUP. */
int grove__claude_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
			struct grove_detail *d);
/*
 * Writes the same line with another parent (ptr NULL for none); every other byte stays. For
 * a boundary with only a logical parent, changes that one. `first_kept` is not used.
 */
int grove__claude_relink(struct grove_slice line, struct grove_slice parent,
			 const struct grove_slice *first_kept, struct grove_buf *out);

/* The line that says that a session now works in `cwd`; compose() adds the id. */
int grove__claude_relocated(const char *cwd, struct grove_buf *out);

/* --- claude_split.c: a reply of several blocks --- */

/*
 * Splits a reply of several blocks, bare or in a record, into a reply per block, all with
 * one message.id: its own, or else one made from `random`. The first gets its parent, the
 * last its uuid; each of the others goes below the previous one. Anything else, even
 * invalid JSON, is passed on unchanged. Returns 0, GROVE_ENOMEM, or the result of fn.
 */
int grove__claude_split(struct grove_slice json, const uint8_t random[16],
			int (*fn)(void *payload, struct grove_slice json), void *payload);

/* --- claude_fork.c: records in another session --- */

struct grove__claude_fork {
	const char *from, *to;       /* the ids of the sessions */
	/* Gets 16 random bytes. Returns 0 or a negative code. */
	int (*random)(void *payload, uint8_t out[16]);
	void *random_payload;
	/*
	 * Gets the parent of a source record that is not copied. Returns 0, with ptr NULL
	 * if it has none; 1 if there is no such record; or a negative code. The text is
	 * valid until the next call.
	 */
	int (*parent)(void *payload, struct grove_slice uuid, struct grove_slice *out);
	void *parent_payload;
	/* private: */
	struct grove__claude_copy *copies;
	size_t nr, cap;
	size_t last;                 /* the copy of the previous line */
	uint32_t *path;
	size_t nr_path, cap_path;
	struct grove__idmap map;
	struct grove__arena texts;
	struct grove_buf replacements, relocated;
	bool suppressed;
};

/* The caller fills in its part before; the struct must not move afterwards. */
void grove__claude_fork_init(struct grove__claude_fork *f, uint64_t seed);
void grove__claude_fork_release(struct grove__claude_fork *f);
/*
 * Registers a record to be copied and gives it a uuid. Ignores all but records of the chain
 * types with a uuid that are not on a side chain. Call it for all of them before the first
 * line, since a record may name a later one. Returns 0, 1 if it ignores the record, or a
 * negative code.
 */
int grove__claude_fork_add(struct grove__claude_fork *f, const struct grove__claude_row *row);
/*
 * Makes the copy of a line (valid JSON, an object): new uuids, the new session's id,
 * forkedFrom; every other byte stays. A parent that is not copied is replaced by the
 * nearest ancestor that is; one that does not exist stays, so that the copy is read like
 * its source. `last` is the last line to be copied, which gets the time `now`. `message` is
 * the position of that member's value in the line, if known (ptr NULL if not). Returns 1 if
 * the line is not copied (pass all lines of the log nevertheless), GROVE_ENOMEM, or the
 * callbacks' result.
 */
int grove__claude_fork_line(struct grove__claude_fork *f, struct grove_slice line,
			    struct grove_slice message, bool last, int64_t now, struct grove_buf *out);
/*
 * Reports the lines after the records: where the conversation ends, if record `leaf` of the
 * source was chosen (GROVE_ROOT: no record; NULL: use the rules); contents that were
 * replaced; the directory (`cwd`, or NULL for the source's own if it was moved); and the
 * title: that of the source or its first prompt (NULL if neither) with " (fork)", or
 * unchanged if `given`.
 */
int grove__claude_fork_tail(struct grove__claude_fork *f, const char *leaf, const char *title,
			    bool given, const char *cwd, int64_t now,
			    int (*fn)(void *payload, struct grove_slice line), void *payload);

#endif
