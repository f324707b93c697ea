/*
 * tests/crash/crash.h: interrupts work on a session at every place where that is
 * possible.
 *
 *	scenarios.c   what is done: append, rewrite, fork, move, … for each agent
 *	ledger.c      notes what was tried, and what was acknowledged
 *	faults.c      the Nth allocation or system call fails, or is the last one
 *	shim.c        the same for SQLite's system calls
 *	disk.c        what a disk may contain after a power failure
 *	verify.c      checks that everything acknowledged is there, and nothing else
 *	crash.c       chooses which of all these are run, and for how long
 *
 * A point is a scenario of one agent in one kind of store, a kind of fault, and a
 * number: the Nth call. Every point can be repeated with a command line.
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
 * Every entry that a scenario writes contains a number of its own, its mark:
 * `[m0007]`. A fact is about one mark in one session. A letter, the tag, names
 * the session.
 */
enum fact_kind {
	FACT_NAMED,     /* the session has this id */
	FACT_TRIED,     /* an entry is about to be written; without a mark: a step begins */
	FACT_KEPT,      /* it was acknowledged; without a mark: the step was */
	FACT_REFUSED,   /* it was refused, with this error */
	FACT_SYNCED     /* everything acknowledged in the session so far is on the disk */
};

struct fact {
	enum fact_kind kind;
	char tag;
	int code;
	unsigned mark;
	size_t deeds;           /* how many deeds had reached the disk by then */
	char id[72];            /* "": the agent assigns ids that the test cannot know */
};

struct ledger {
	struct fact *fact;
	size_t nr, cap;
	unsigned marks;         /* how many marks were given out */
	int pipe;               /* each fact is written to it as well; -1: none */
};

void ledger_add(struct ledger *l, struct fact f);
/* Reads the facts from the pipe, up to the last complete one. */
void ledger_read(struct ledger *l, int fd);
void ledger_clear(struct ledger *l);

/* ---------------------------------------------------------------- scenarios */

struct run {
	const struct scenario *scenario;
	const char *dialect;
	bool sqlite;
	char dir[256];          /* the directory that contains all the others */
	char home[300], cwd[300], other_cwd[300], store[300], copy[300], archive[300];
	struct grove *g;
	struct ledger ledger;
	char id[72];            /* id of the session that the scenario uses */
	struct fact held[16];   /* entries that were acknowledged but are in no file yet */
	unsigned nr_held;
	const struct expectation *e;    /* while the run is verified; otherwise NULL */
	char wrong[1024];       /* what is wrong; "" if nothing is */
};

struct scenario {
	const char *name;
	const char *dialects;   /* the dialects that it applies to */
	bool files_only;
	void (*before)(struct run *r);  /* runs before faults begin; NULL: nothing */
	void (*work)(struct run *r);
	void (*after)(struct run *r);   /* checks what the ledger does not know; NULL: nothing */
	unsigned unmarked;      /* the most entries without a mark that it creates */
	unsigned copy_unmarked; /* the same for copies */
};

extern const struct scenario scenarios[];
extern const size_t nr_scenarios;

/* Tags: the session in use, a copy made by fork, one in another store, one in the archive. */
#define TAG_MAIN 'a'
#define TAG_FORK 'f'
#define TAG_COPY 'c'
#define TAG_ARCHIVE 'r'
#define TAG_STEP 's'    /* not a session: a step that is either done or not */

/* Opens the environment that the scenario uses, or that of another store; NULL after a failure. */
struct grove *run_open(struct run *r, char tag);
/* Returns true if a removal was tried, so that the session may be gone. */
bool run_removed(const struct run *r);
/* Returns the newest fact of that kind about a step or an entry; NULL if there is none. */
const struct fact *run_fact(const struct run *r, enum fact_kind kind, char tag, unsigned mark);

/* Notes that something is wrong with this run. Only the first message is kept. */
void run_wrong(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------- faults */

enum fault_kind {
	FAULT_NONE,
	FAULT_ALLOC,    /* an allocation fails */
	FAULT_EIO,      /* a system call fails, once */
	FAULT_ENOSPC,   /* the disk is full from now on */
	FAULT_EDQUOT,   /* the quota is used up, once */
	FAULT_EINTR,    /* a signal interrupts a call: nothing may fail */
	FAULT_SHORT,    /* a write stores fewer bytes than asked: nothing may fail */
	FAULT_KILL,     /* the process ends before the call */
	FAULT_TORN,     /* the process ends in the middle of a write */
	FAULT_POWER,    /* the power of the machine fails */
	FAULT_KINDS
};

extern const char *const fault_names[FAULT_KINDS];

/* Counts calls from now on, and lets the nth one fail (from 0; -1: none). */
void fault_arm(enum fault_kind kind, long n);
/* Returns how many calls could have failed in that way. */
long fault_count(enum fault_kind kind);
void fault_disarm(void);
/* Called for other system calls, with the same meaning as grove__sys_fault. */
int fault_ask(const char *call);
bool fault_due_memory(void);
/* 1: allocations of this thread belong to the test from now on and do not fail; -1: no more. */
void fault_own(int more);

/* Redirects SQLite's system calls and allocations to the tests. */
void shim_install(void);

/* --------------------------------------------------------------------- disk */

/* Records from now on what happens to files below `dir`. */
void disk_begin(const char *dir);
size_t disk_deeds(void);
void disk_end(void);
enum disk_mode {
	DISK_ALL,       /* everything reached the disk */
	DISK_DROPPED,   /* only what was synced reached it */
	DISK_PREFIX,    /* of the rest only the first part did, and the last write is torn */
	DISK_RANDOM     /* of the rest any parts did: sectors of writes, names */
};
/* Replaces the directory `to` by what the disk may contain after so many deeds. */
void disk_rebuild(size_t deeds, enum disk_mode mode, struct chance *chance, const char *to);
void disk_forget(void);

/* ------------------------------------------------------------------- verify */

struct expectation {
	struct fact held[16];   /* entries that were acknowledged but are in no file yet */
	unsigned nr_held;
	bool power;             /* only what is on the disk must be there … */
	bool prefix;            /* … and what else is there must be what came first … */
	bool jumbled;           /* … or may be anything, zeros included */
	bool torn;              /* the last line may be incomplete */
	bool killed;            /* temporary files may be left */
};
/* Checks the files after a fault; returns how many acknowledged entries were found. */
size_t verify(struct run *r, const struct expectation *e);

#endif
