/*
 * tests/crash/crash.h: a session's work, broken off at every place where it can be.
 *
 *	scenarios.c   what is done: append, rewrite, fork, move, … for each agent
 *	ledger.c      what was tried, and what was acknowledged
 *	faults.c      the Nth allocation or system call fails, or is the last one
 *	shim.c        the same for what SQLite asks of the system
 *	disk.c        what a disk may hold when the power goes
 *	verify.c      is everything there that was acknowledged, and nothing else?
 *	crash.c       which of all these, for how long
 *
 * A point is a scenario of one agent in one kind of store, a kind of fault, and
 * a number: the Nth call. Every point has a command line that repeats it.
 */
#ifndef TESTS_CRASH_H
#define TESTS_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/chance.h"
#include "grove.h"

/* ------------------------------------------------------------------- ledger */

/*
 * Every entry that a scenario writes carries a number of its own, its mark:
 * `[m0007]`. A fact is about one mark in one session, which a letter names.
 */
enum fact_kind {
	FACT_NAMED,     /* the session has this id */
	FACT_TRIED,     /* an entry is about to be written; without a mark: a step is taken */
	FACT_KEPT,      /* it was acknowledged; without a mark: the step was */
	FACT_REFUSED,   /* it was not, with this error */
	FACT_SYNCED     /* all that was acknowledged of the session is on the disk */
};

struct fact {
	enum fact_kind kind;
	char tag;
	int code;
	unsigned mark;
	size_t deeds;           /* how much had happened to the disk by then */
	char id[72];            /* "": the agent gives ids that we cannot know */
};

struct ledger {
	struct fact *fact;
	size_t nr, cap;
	unsigned marks;         /* given out */
	int pipe;               /* facts are told there, too; -1: nowhere */
};

void ledger_add(struct ledger *l, struct fact f);
/* What came through the pipe, up to the last whole fact. */
void ledger_read(struct ledger *l, int fd);
void ledger_clear(struct ledger *l);

/* ---------------------------------------------------------------- scenarios */

struct run {
	const struct scenario *scenario;
	const char *dialect;
	bool sqlite;
	char dir[256];          /* everything is below it */
	char home[300], cwd[300], other_cwd[300], store[300], copy[300], archive[300];
	struct grove *g;
	struct ledger ledger;
	char id[72];            /* of the session at work */
	struct fact held[16];   /* acknowledged, but in no file yet */
	unsigned nr_held;
	const struct expectation *e;    /* while it is verified; else NULL */
	char wrong[1024];       /* what was found; "" if nothing */
};

struct scenario {
	const char *name;
	const char *dialects;   /* those that it is for */
	bool files_only;
	void (*before)(struct run *r);  /* nothing fails yet; NULL: nothing */
	void (*work)(struct run *r);
	void (*after)(struct run *r);   /* looks at what the ledger does not know; NULL: nothing */
	unsigned unmarked;      /* entries that it makes and that carry no mark, at most */
	unsigned copy_unmarked; /* the same of copies */
};

extern const struct scenario scenarios[];
extern const size_t nr_scenarios;

/* Tags: the session at work, a copy by fork, one in another store, one in the archive. */
#define TAG_MAIN 'a'
#define TAG_FORK 'f'
#define TAG_COPY 'c'
#define TAG_ARCHIVE 'r'
#define TAG_STEP 's'    /* no session: a step that is done or not */

/* The world as the scenario sees it, or that of another store; NULL after a failure. */
struct grove *run_open(struct run *r, char tag);
/* A removal was tried: the session may be gone. */
bool run_removed(const struct run *r);
/* The newest fact of that kind about a step or an entry; NULL: none. */
const struct fact *run_fact(const struct run *r, enum fact_kind kind, char tag, unsigned mark);

/* Something is wrong with this run. The first story counts. */
void run_wrong(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------- faults */

enum fault_kind {
	FAULT_NONE,
	FAULT_ALLOC,    /* an allocation fails */
	FAULT_EIO,      /* a system call fails, once */
	FAULT_ENOSPC,   /* the disk is full from here on */
	FAULT_EDQUOT,   /* no quota left, once */
	FAULT_EINTR,    /* a signal came: nobody may notice */
	FAULT_SHORT,    /* a write comes up short: nobody may notice */
	FAULT_KILL,     /* the process ends before the call */
	FAULT_TORN,     /* the process ends in the middle of a write */
	FAULT_POWER,    /* the machine does */
	FAULT_KINDS
};

extern const char *const fault_names[FAULT_KINDS];

/* From here on calls are counted, and the nth (from 0; -1: none) fails. */
void fault_arm(enum fault_kind kind, long n);
/* How many calls there were that could have failed in that way. */
long fault_count(enum fault_kind kind);
void fault_disarm(void);
/* For other seams: as grove__sys_fault. */
int fault_ask(const char *call);
bool fault_due_memory(void);
/* 1: what this thread allocates from here on is the test's own business; -1: no more. */
void fault_own(int more);

/* Lead SQLite's calls and allocations here. */
void shim_install(void);

/* --------------------------------------------------------------------- disk */

/* Record what happens to files below `dir` from here on. */
void disk_begin(const char *dir);
size_t disk_deeds(void);
void disk_end(void);
enum disk_mode {
	DISK_ALL,       /* everything reached the disk */
	DISK_DROPPED,   /* only what was synced */
	DISK_PREFIX,    /* of the rest, what came first, the last write torn */
	DISK_RANDOM     /* of the rest, anything: sectors of writes, names */
};
/* Put what the disk may hold after so many deeds in the place of the directory. */
void disk_rebuild(size_t deeds, enum disk_mode mode, struct chance *chance, const char *to);
void disk_forget(void);

/* ------------------------------------------------------------------- verify */

struct expectation {
	struct fact held[16];   /* acknowledged, but in no file yet */
	unsigned nr_held;
	bool power;             /* only what is on the disk must be there … */
	bool prefix;            /* … and what else is there came first … */
	bool jumbled;           /* … or is anything, zeros as well */
	bool torn;              /* the last line may be half a line */
	bool killed;            /* temporary files may lie around */
};
/* How many acknowledged entries were looked for and found. */
size_t verify(struct run *r, const struct expectation *e);

#endif
