/*
 * tests/crash/faults.c: the Nth allocation or system call fails, or is the last one.
 *
 * Which calls are counted depends on the fault: a full disk does not make a read
 * fail, and a signal does not interrupt a call that looks up a name.
 */
#include "crash.h"

#include "sys/file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

const char *const fault_names[FAULT_KINDS] = {
	"none", "alloc", "eio", "enospc", "edquot", "eintr", "short", "kill", "torn", "power",
};

static struct {
	enum fault_kind kind;
	long nth;                      /* below 0: none */
	long seen[FAULT_KINDS];        /* calls of each kind */
	bool armed, happened, dying;
} now;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* -------------------------------------------------------------- allocations */

/* Above 0, allocations are those of the test itself and never fail. */
static _Thread_local int own;

bool fault_due_memory(void)
{
	bool due;

	if (!now.armed || own)
		return false;
	pthread_mutex_lock(&lock);
	due = now.seen[FAULT_ALLOC]++ == now.nth && now.kind == FAULT_ALLOC;
	pthread_mutex_unlock(&lock);
	if (due)
		errno = ENOMEM;
	return due;
}

#define ALLOC_DUE fault_due_memory
#include "../lib/alloc.h"

void fault_own(int more)
{
	own += more;
}

/* ------------------------------------------------------------- system calls */

static bool among(const char *call, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(call, *names))
			return true;
	return false;
}

static bool can_fail(enum fault_kind kind, const char *call)
{
	static const char *const filling[] = { "open", "write", "pwrite", "mkdir", "rename", "link",
					       "db-write", "db-truncate", "db-map",
					       "fsync", "fdatasync", NULL };
	static const char *const waiting[] = { "open", "pread", "write", "pwrite", "ftruncate", "fsync",
					       "fdatasync", "lock", "dup", NULL };
	static const char *const writing[] = { "write", "pwrite", NULL };

	switch (kind) {
	case FAULT_EIO:
		/*
		 * "renameat2" is an extra question within a rename: whether the flag is supported,
		 * not whether it fails
		 */
		return strcmp(call, "renameat2") != 0;
	case FAULT_KILL:
		return true;
	case FAULT_ENOSPC:
	case FAULT_EDQUOT:
		return among(call, filling);
	case FAULT_EINTR:
		return among(call, waiting);
	case FAULT_SHORT:
		return among(call, writing);
	case FAULT_TORN:
		return among(call, writing) || !strcmp(call, "db-write");
	default:
		return false;
	}
}

static void die(void)
{
	now.armed = false;      /* calls on the way out are not counted */
	raise(SIGKILL);
}

static int answer(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_EIO:
		return EIO;
	case FAULT_ENOSPC:
		return ENOSPC;
	case FAULT_EDQUOT:
		return EDQUOT;
	case FAULT_EINTR:
		return EINTR;
	case FAULT_KILL:
		die();
		return 0;
	case FAULT_TORN:
		now.dying = true;
		return GROVE__SYS_SHORT;
	default:
		return GROVE__SYS_SHORT;
	}
}

int fault_ask(const char *call)
{
	int err = 0;

	if (!now.armed)
		return 0;
	pthread_mutex_lock(&lock);
	if (now.dying)
		die();
	for (enum fault_kind k = FAULT_EIO; k < FAULT_POWER; k++) {
		bool due;

		if (!can_fail(k, call))
			continue;
		due = now.kind == k && now.nth >= 0 &&
		      (now.seen[k] == now.nth || (k == FAULT_ENOSPC && now.seen[k] > now.nth));
		now.seen[k]++;
		if (due) {
			/* what still fits is written, and nothing after that */
			if (k == FAULT_ENOSPC && !now.happened && can_fail(FAULT_SHORT, call))
				err = GROVE__SYS_SHORT;
			else
				err = answer(k);
			now.happened = true;
		}
	}
	pthread_mutex_unlock(&lock);
	return err;
}

void fault_arm(enum fault_kind kind, long n)
{
	memset(&now, 0, sizeof(now));
	now.kind = kind;
	now.nth = n;
	now.armed = true;
	grove__sys_fault = fault_ask;
}

long fault_count(enum fault_kind kind)
{
	return now.seen[kind];
}

void fault_disarm(void)
{
	now.armed = false;
	grove__sys_fault = NULL;
}
