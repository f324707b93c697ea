/*
 * dialect/claude_write.h: Claude Code's lines, written.
 *
 * claude_write.c spells a line, claude_record.c decides which records of a
 * host's list are to be written and below what, claude_fork.c copies records
 * into another session. All of it is pure: what is in the log is asked for.
 */
#ifndef GROVE_DIALECT_CLAUDE_WRITE_H
#define GROVE_DIALECT_CLAUDE_WRITE_H

#include "dialect/claude.h"

/* --- claude_write.c: one line --- */

void grove__claude_input(const struct grove__json_line *l, const char *line,
			 struct grove__input *out);
/*
 * A compact boundary is a GROVE_KIND_COMPACTION, as it is when it is read; a
 * type that is none of a chain's is GROVE_KIND_META.
 */
enum grove_kind grove__claude_input_kind(const struct grove__input *in);
bool grove__claude_bare(const struct grove__input *in, enum grove_role *role);
bool grove__claude_starts_file(enum grove_kind kind, enum grove_role role);

/*
 * A record, stamped with what at->about says unless the input says so itself,
 * or a line of metadata, which has neither id nor parent. `system` is not used.
 *
 * A record with sourceToolAssistantUUID, and no parent of its own choice, hangs
 * below that one whatever `at` says: `target` gets its uuid, and the caller
 * sees to it that it is there. GROVE_EINVAL, GROVE_ENOMEM: `out` is as it was.
 */
int grove__claude_compose(const struct grove__input *in, const struct grove__place *at,
			  struct grove_slice system, struct grove_buf *out,
			  struct grove_buf *target, struct grove_detail *d);
/* name: a; other: a leaf mark, a is a uuid or GROVE_ROOT. The rest is GROVE_ENOTSUP. */
int grove__claude_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
			struct grove_detail *d);
/*
 * The same line below another parent (ptr NULL: none); every other byte stays.
 * Where a boundary has no parent but a logical one, that is the one. `first_kept`
 * is not used.
 */
int grove__claude_relink(struct grove_slice line, struct grove_slice parent,
			 const struct grove_slice *first_kept, struct grove_buf *out);

/* The line that says that a session works in `cwd` from here on, for compose() to add its id. */
int grove__claude_relocated(const char *cwd, struct grove_buf *out);

/* --- claude_record.c: what a host hands over --- */

/*
 * A reply of several blocks, bare or in a record, becomes a reply for each
 * block, all with one message.id: the one it has, else one made of `random`.
 * A parent that it names is the first one's, a uuid the last one's; the others
 * hang below the one before. Anything else, also what is no JSON, is handed on
 * as it is. Returns 0, GROVE_ENOMEM, or what fn answered.
 */
int grove__claude_split(struct grove_slice json, const uint8_t random[16],
			int (*fn)(void *payload, struct grove_slice json), void *payload);

/* A record that is to be written. Texts live in the plan. */
struct grove__claude_planned {
	size_t message;              /* its place in the list */
	struct grove_slice uuid;
	struct grove_slice parent;   /* ptr NULL: none */
	struct grove_slice logical;  /* of a boundary; ptr NULL: none */
	bool side;                   /* of a side chain */
};

struct grove__claude_plan {
	struct grove__claude_planned *items;
	size_t nr, cap;
	struct grove_slice start;    /* what the first one goes below; ptr NULL: nothing */
	struct grove_slice last;     /* what the next one will; ptr NULL: nothing */
	struct grove__idmap map;     /* uuid → item */
	struct grove__arena texts;
};

struct grove__claude_list {
	const struct grove_slice *messages;  /* records with uuids: valid JSON */
	size_t nr;
	bool (*stored)(void *payload, struct grove_slice uuid);
	void *payload;
	struct grove_slice hint;     /* what to begin below; ptr NULL: nothing known */
	bool side;                   /* a sub-agent's own list */
	uint64_t seed;
};

/*
 * Which of a host's messages are to be written, and below what. Those that are
 * stored and come before the first new one are the prefix: the last of them is
 * where the new ones begin. One that is stored and comes later (a compaction
 * keeps messages, and lists them after its summary) is nobody's parent.
 *
 *	stored  a b      list  a b C D       C below b, D below C
 *	stored  a b      list  B S b C       B a boundary (logical: the hint), S, C below S
 *
 * Progress is not written and does not end the prefix. A tool's result goes
 * below the record of its call, if that is stored or planned. `out` is replaced
 * and must stay where it is; release it in any case. Returns 0, GROVE_EINVAL
 * with a reason for a message without a uuid, GROVE_ENOMEM.
 */
int grove__claude_plan(const struct grove__claude_list *list, struct grove__claude_plan *out,
		       struct grove_detail *d);
void grove__claude_plan_release(struct grove__claude_plan *p);

/* Lists of other programs look for these in the last bytes of a log only. */
#define CLAUDE_TAIL_WINDOW 65536
enum grove__claude_tail {
	CLAUDE_TAIL_LAST_PROMPT,
	CLAUDE_TAIL_CUSTOM_TITLE,
	CLAUDE_TAIL_AI_TITLE,
	CLAUDE_TAIL_TAG,
	CLAUDE_TAIL_AGENT_NAME,
	CLAUDE_TAIL_MODE,
	CLAUDE_TAIL_PERMISSION_MODE,
	CLAUDE_TAIL_LATCH,
	CLAUDE_TAIL_PR_LINK,
	CLAUDE_TAILS
};
/* The last line of such a type that still counts. */
struct grove__claude_tail_line {
	struct grove_slice line;     /* without its line end; ptr NULL: there is none */
	uint64_t distance;           /* from its first byte to the end of the log */
	bool followed;               /* a record of the conversation came after it */
};
/* The place of a type (raw, with quotes) in such a table; -1: it has none. */
int grove__claude_tail_type(struct grove_slice raw_type);
/*
 * The lines to be written once more, in order, so that all are within the
 * window after `more` bytes and they themselves have been appended. They mean
 * what they meant: a choice of leaf that a record followed is no choice any
 * more. Returns 0, GROVE_ENOMEM, or what fn answered.
 */
int grove__claude_tail_lines(const struct grove__claude_tail_line last[CLAUDE_TAILS], uint64_t more,
			     int (*fn)(void *payload, struct grove_slice line), void *payload);

/* --- claude_fork.c: records in another session --- */

struct grove__claude_fork {
	const char *from, *to;       /* the ids of the sessions */
	/* 16 random bytes: 0 or negative. */
	int (*random)(void *payload, uint8_t out[16]);
	void *random_payload;
	/*
	 * The parent of a record of the source that is not copied: 0, and ptr
	 * NULL if it has none; 1 if there is no such record; negative. The text
	 * is good until the next call.
	 */
	int (*parent)(void *payload, struct grove_slice uuid, struct grove_slice *out);
	void *parent_payload;
	/* the rest is not the caller's */
	struct grove__claude_copy *copies;
	size_t nr, cap;
	size_t last;                 /* the copy of the line before */
	uint32_t *path;
	size_t nr_path, cap_path;
	struct grove__idmap map;
	struct grove__arena texts;
	struct grove_buf replacements, relocated;
	bool suppressed;
};

/* The caller's part is filled in before; the struct must stay where it is. */
void grove__claude_fork_init(struct grove__claude_fork *f, uint64_t seed);
void grove__claude_fork_release(struct grove__claude_fork *f);
/*
 * This record is to be copied: give it a uuid. A record of the chain types with
 * a uuid and no side chain, that is; others are ignored. All of them before the
 * first line: a record may name one that comes later. 0 or negative.
 */
int grove__claude_fork_add(struct grove__claude_fork *f, const struct grove__claude_row *row);
/*
 * The copy of a line (valid JSON, an object): other uuids, the new session's
 * id, forkedFrom; every other byte stays. A parent that is not copied is
 * replaced by the nearest ancestor that is; one that is nowhere stays as it is,
 * so that the copy is read as its source. `last`: the last line that is copied,
 * which gets the time `now`. `message`: where that member's value is in the line,
 * if it is known (ptr NULL). 1: this one is not copied (but looked at: give it
 * all lines of the log), GROVE_ENOMEM, or what the callbacks answered.
 */
int grove__claude_fork_line(struct grove__claude_fork *f, struct grove_slice line,
			    struct grove_slice message, bool last, int64_t now, struct grove_buf *out);
/*
 * The lines after the records: where the conversation ends, if the record `leaf`
 * of the source was chosen (GROVE_ROOT: none is; NULL: the rules find it),
 * contents that were replaced, the directory it works in (`cwd`, NULL: the
 * source's own if it was moved), and the title: that of the source or its first
 * prompt (NULL: there is neither) with " (fork)", or as it is if `given`.
 */
int grove__claude_fork_tail(struct grove__claude_fork *f, const char *leaf, const char *title,
			    bool given, const char *cwd, int64_t now,
			    int (*fn)(void *payload, struct grove_slice line), void *payload);

#endif
