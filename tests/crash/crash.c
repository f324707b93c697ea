/*
 * tests/crash/crash.c: decides which scenario fails at which place, and for how long
 * tests are run.
 *
 *	crash [--scenario NAME] [--dialect NAME] [--store file|sqlite] [--fault KIND]
 *	      [--n N] [--seed SEED] [--budget SECONDS | --all] [--list]
 *
 * Without --all, points are chosen at random until the time is over. The summary
 * says which share of all points were tried, and how to repeat those that failed.
 * With GROVE_TEST_LONG in the environment all points are tried. GROVE_CRASH_KEEP
 * keeps the files of the last point if something failed.
 */
#include "crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The states of the disk that are tried for each deed after which the power may fail. */
enum { STATE_DROPPED, STATE_PREFIX, STATE_RANDOM, STATES = STATE_RANDOM + 8 };

/* With a sanitizer, trying every point would take hours: then even GROVE_TEST_LONG only samples. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#else
#define SLOW 0
#endif

#define BATCH 12
#define SHOWN 20               /* failures that are printed in full */

struct combo {
	const struct scenario *scenario;
	const char *dialect;
	bool sqlite;
	long points[FAULT_KINDS];
	long ran[FAULT_KINDS];
	bool *visited[FAULT_KINDS];
	bool failed[FAULT_KINDS];
};

static struct {
	const char *program, *scenario, *dialect, *store;
	enum fault_kind fault;
	long n;
	uint64_t seed;
	double budget;
	bool all, list;
	char scratch[200];
	struct combo combo[256];
	size_t nr;
	long found[FAULT_KINDS], failures[FAULT_KINDS];
	char command[400];         /* the command that repeats the point being tried */
} c;

/* ----------------------------------------------------------------- the world */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_DP || type == FTW_D ? rmdir(path) : unlink(path);
}

static void wipe(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0700) && errno != EEXIST) {
		perror(path);
		exit(2);
	}
}

static void set_up(struct run *r, const struct combo *k)
{
	memset(r, 0, sizeof(*r));
	r->ledger.pipe = -1;
	r->scenario = k->scenario;
	r->dialect = k->dialect;
	r->sqlite = k->sqlite;
	snprintf(r->dir, sizeof(r->dir), "%s/w", c.scratch);
	snprintf(r->home, sizeof(r->home), "%s/home", r->dir);
	snprintf(r->cwd, sizeof(r->cwd), "%s/cwd", r->dir);
	snprintf(r->other_cwd, sizeof(r->other_cwd), "%s/elsewhere", r->dir);
	snprintf(r->store, sizeof(r->store), "sqlite:%s/store.db", r->dir);
	snprintf(r->copy, sizeof(r->copy), "file:%s/copy", r->dir);
	snprintf(r->archive, sizeof(r->archive), "file:%s/archive", r->dir);
	wipe(r->dir);
	make_dir(r->dir);
	make_dir(r->home);
	make_dir(r->cwd);
	make_dir(r->other_cwd);
	if (k->sqlite) {
		struct grove *g = NULL;

		if (grove_open(NULL, &g) || grove_store_init(g, r->store)) {
			fprintf(stderr, "crash: cannot make %s\n", r->store);
			exit(2);
		}
		grove_close(g);
	}
	if (k->scenario->before)
		k->scenario->before(r);
}

static void work(struct run *r)
{
	r->g = run_open(r, TAG_MAIN);
	r->scenario->work(r);
	grove_close(r->g);
	r->g = NULL;
}

static void tear_down(struct run *r)
{
	ledger_clear(&r->ledger);
}

/* ---------------------------------------------------------------- one point */

static const struct fact *first_refusal(const struct run *r)
{
	for (size_t i = 0; i < r->ledger.nr; i++)
		if (r->ledger.fact[i].kind == FACT_REFUSED)
			return &r->ledger.fact[i];
	return NULL;
}

/* Checks that the first error code is one that this kind of fault may cause. */
static void judge(struct run *r, enum fault_kind kind)
{
	const struct fact *f = first_refusal(r);

	if (!f)
		return;
	if (kind == FAULT_NONE || kind == FAULT_EINTR || kind == FAULT_SHORT)
		run_wrong(r, "a step failed: %s", grove_error_name(f->code));
	/*
	 * the entry was stored, but there was no memory to read the log again: its end is unknown
	 */
	if (kind == FAULT_ALLOC && f->code != GROVE_ENOMEM && !(f->code == GROVE_EIO && f->mark))
		run_wrong(r, "out of memory is told as %s", grove_error_name(f->code));
	/*
	 * a failing system must not be mistaken for something that is missing, or changed by others
	 */
	if (kind == FAULT_EIO && (f->code == GROVE_ENOTFOUND || f->code == GROVE_ECONFLICT ||
				  f->code == GROVE_ESTALE || f->code == GROVE_EINVAL))
		run_wrong(r, "a failing system is told as %s", grove_error_name(f->code));
	if ((kind == FAULT_ENOSPC || kind == FAULT_EDQUOT) && f->code != GROVE_EFULL &&
	    f->code != GROVE_EIO)
		run_wrong(r, "a full disk is told as %s", grove_error_name(f->code));
}

static void in_process(struct run *r, enum fault_kind kind, long n, size_t *found)
{
	const struct expectation e = { .power = false };

	fault_arm(kind, n);
	work(r);
	fault_disarm();
	judge(r, kind);
	*found = verify(r, &e);
}

static void in_child(struct run *r, enum fault_kind kind, long n, size_t *found)
{
	const struct expectation e = { .killed = true, .torn = kind == FAULT_TORN };
	int to[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(to))
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		close(to[0]);
		r->ledger.pipe = to[1];
		fault_arm(kind, n);
		work(r);
		fault_disarm();
		_exit(0);
	}
	close(to[1]);
	ledger_read(&r->ledger, to[0]);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) != SIGKILL)
		run_wrong(r, "the writer died of something else: %x", (unsigned)status);
	*found = verify(r, &e);
}

/* Returns random numbers that depend on the point alone, not on which others are tried as well. */
static struct chance chance_of(uint64_t seed, const struct combo *k, long n)
{
	struct chance x = { seed ^ (uint64_t)n << 20 };

	for (const char *p = k->scenario->name; *p; p++)
		x.state = chance_next(&x) ^ (uint64_t)*p;
	for (const char *p = k->dialect; *p; p++)
		x.state = chance_next(&x) ^ (uint64_t)*p;
	return x;
}

/* Removes the facts that are later than the given number of deeds. */
static void cut(struct ledger *l, size_t deeds)
{
	while (l->nr && l->fact[l->nr - 1].deeds > deeds)
		l->nr--;
}

/*
 * Takes the recording of a scenario, lets the power fail after some deed, and verifies the result.
 */
static void power(const struct run *recorded, const struct combo *k, long n, struct run *r,
		  size_t *found)
{
	struct expectation e = { .power = true, .killed = true };
	struct chance x = chance_of(c.seed, k, n);
	long state = n % STATES;

	*r = *recorded;
	r->ledger = (struct ledger){ .pipe = -1 };
	for (size_t i = 0; i < recorded->ledger.nr; i++)
		ledger_add(&r->ledger, recorded->ledger.fact[i]);
	cut(&r->ledger, (size_t)(n / STATES));
	e.prefix = state < STATE_RANDOM;
	e.jumbled = !e.prefix;
	wipe(r->dir);
	disk_rebuild((size_t)(n / STATES), state == STATE_DROPPED ? DISK_DROPPED
		     : state == STATE_PREFIX ? DISK_PREFIX : DISK_RANDOM, &x, r->dir);
	*found = verify(r, &e);
}

/* ----------------------------------------------------- is the recording good? */

static char compared[300];     /* the tree that must be the same as the recorded one */
static const char *recorded_dir;
static struct run *comparing;
static size_t files_seen;

static bool same_file(const char *a, const char *b)
{
	static char one[65536], two[65536];
	int fa = open(a, O_RDONLY | O_CLOEXEC), fb = open(b, O_RDONLY | O_CLOEXEC);
	ssize_t na = read(fa, one, sizeof(one)), nb = read(fb, two, sizeof(two));

	close(fa);
	close(fb);
	return na >= 0 && na == nb && !memcmp(one, two, (size_t)na);
}

static int compare_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t n = strlen(path);
	char other[1200];

	(void)st;
	(void)ftw;
	/* the index of the WAL is shared memory that happens to have a name */
	if (n > 4 && !strcmp(path + n - 4, "-shm"))
		return 0;
	files_seen++;
	snprintf(other, sizeof(other), "%s%s", compared, path + strlen(recorded_dir));
	if (type == FTW_F ? !same_file(path, other) : access(other, F_OK))
		run_wrong(comparing, "the recording lacks something: %s", path + strlen(recorded_dir));
	return 0;
}

/* Plays back the whole recording and compares: a difference means that a call was not recorded. */
static void compare_recording(struct run *r)
{
	size_t there;

	snprintf(compared, sizeof(compared), "%s/again", c.scratch);
	wipe(compared);
	disk_rebuild(disk_deeds(), DISK_ALL, NULL, compared);
	comparing = r;
	recorded_dir = r->dir;
	files_seen = 0;
	nftw(r->dir, compare_one, 16, FTW_PHYS);
	there = files_seen;
	/* … and there are no other files */
	{
		char keep[300];

		snprintf(keep, sizeof(keep), "%s", compared);
		recorded_dir = keep;
		snprintf(compared, sizeof(compared), "%s", r->dir);
		nftw(keep, compare_one, 16, FTW_PHYS);
		wipe(keep);
	}
	if (there < 4)
		run_wrong(r, "the tree is empty");
}

static void record(struct run *r, const struct combo *k)
{
	set_up(r, k);
	disk_begin(r->dir);
	work(r);
	disk_end();
}

/* ------------------------------------------------------------------ counting */

static void tell(enum fault_kind kind, const struct run *r)
{
	c.failures[kind]++;
	if (c.failures[kind] > SHOWN && !c.all)
		return;
	printf("FAIL %s: %s\n", c.command, r->wrong);
	fflush(stdout);
}

static void remember(const struct combo *k, enum fault_kind kind, long n)
{
	snprintf(c.command, sizeof(c.command),
		 "%s --scenario %s --dialect %s --store %s --fault %s --n %ld --seed %llu", c.program,
		 k->scenario->name, k->dialect, k->sqlite ? "sqlite" : "file", fault_names[kind], n,
		 (unsigned long long)c.seed);
}

static bool possible(const struct combo *k, enum fault_kind kind)
{
	if (c.fault && c.fault != kind)
		return false;
	/* SQLite itself repeats a write that came up short */
	return !k->sqlite || kind != FAULT_SHORT;
}

/* Runs the scenario without faults: counts its points, and checks that nothing fails by itself. */
static void survey(struct combo *k)
{
	const struct expectation e = { .power = false };
	struct run r;

	remember(k, FAULT_NONE, -1);
	set_up(&r, k);
	disk_begin(r.dir);
	fault_arm(FAULT_NONE, -1);
	work(&r);
	fault_disarm();
	disk_end();
	for (enum fault_kind f = FAULT_ALLOC; f < FAULT_POWER; f++)
		k->points[f] = possible(k, f) ? fault_count(f) : 0;
	if (possible(k, FAULT_POWER))
		k->points[FAULT_POWER] = (long)(disk_deeds() + 1) * STATES;
	judge(&r, FAULT_NONE);
	compare_recording(&r);
	c.found[FAULT_NONE] += (long)verify(&r, &e);
	k->ran[FAULT_NONE] = k->points[FAULT_NONE] = 1;
	if (*r.wrong) {
		k->failed[FAULT_NONE] = true;
		tell(FAULT_NONE, &r);
	}
	for (enum fault_kind f = FAULT_ALLOC; f < FAULT_KINDS; f++)
		k->visited[f] = calloc((size_t)k->points[f] + 1, sizeof(bool));
	tear_down(&r);
	disk_forget();
}

/* Runs some points of one combination, given by number. */
static void run_points(struct combo *k, enum fault_kind kind, const long *n, size_t nr)
{
	struct run r, recorded;

	if (kind == FAULT_POWER)
		record(&recorded, k);
	for (size_t i = 0; i < nr; i++) {
		size_t found = 0;

		remember(k, kind, n[i]);
		if (kind == FAULT_POWER) {
			if ((size_t)(n[i] / STATES) > disk_deeds())
				continue; /* the recording has one deed fewer than the survey had */
			power(&recorded, k, n[i], &r, &found);
		} else {
			set_up(&r, k);
			if (kind == FAULT_KILL || kind == FAULT_TORN)
				in_child(&r, kind, n[i], &found);
			else
				in_process(&r, kind, n[i], &found);
		}
		k->ran[kind]++;
		c.found[kind] += (long)found;
		if (*r.wrong) {
			k->failed[kind] = true;
			tell(kind, &r);
		}
		tear_down(&r);
	}
	if (kind == FAULT_POWER) {
		tear_down(&recorded);
		disk_forget();
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_all(void)
{
	long n[BATCH];

	for (size_t i = 0; i < c.nr; i++)
		for (enum fault_kind f = FAULT_ALLOC; f < FAULT_KINDS; f++)
			for (long at = 0; at < c.combo[i].points[f]; at += BATCH) {
				size_t nr = 0;

				while (nr < BATCH && at + (long)nr < c.combo[i].points[f]) {
					n[nr] = at + (long)nr;
					nr++;
				}
				run_points(&c.combo[i], f, n, nr);
			}
}

/* Chooses up to a batch of untried points of this kind, all of one combination. */
static size_t draw(enum fault_kind f, struct chance *x, struct combo **out, long *n)
{
	size_t start = chance_below(x, (uint32_t)c.nr), nr = 0;

	for (size_t i = 0; i < c.nr && !nr; i++) {
		struct combo *k = &c.combo[(start + i) % c.nr];

		if (k->ran[f] >= k->points[f])
			continue;
		*out = k;
		for (int tries = 0; tries < 40 && nr < BATCH; tries++) {
			long at = (long)chance_below(x, (uint32_t)k->points[f]);

			/* the last few untried points are found by going on from here */
			for (int step = 0; k->visited[f][at] && step < 64; step++)
				at = (at + 1) % k->points[f];
			if (!k->visited[f][at]) {
				k->visited[f][at] = true;
				n[nr++] = at;
			}
		}
	}
	return nr;
}

static void run_some(void)
{
	struct chance x = { c.seed };
	double end = seconds() + c.budget;
	bool more = true;

	while (more && seconds() < end) {
		more = false;
		for (enum fault_kind f = FAULT_ALLOC; f < FAULT_KINDS && seconds() < end; f++) {
			struct combo *k = NULL;
			long n[BATCH];
			size_t nr = draw(f, &x, &k, n);

			more |= nr > 0;
			if (nr)
				run_points(k, f, n, nr);
		}
	}
}

/* -------------------------------------------------------------------- the end */

static int report(void)
{
	long passed = 0, failed = 0;

	for (enum fault_kind f = FAULT_NONE; f < FAULT_KINDS; f++) {
		long points = 0, ran = 0;

		for (size_t i = 0; i < c.nr; i++) {
			points += c.combo[i].points[f];
			ran += c.combo[i].ran[f];
		}
		if (points)
			printf("%-7s %7ld points, %7ld run (%5.1f %%), %8ld acknowledged entries found, "
			       "%ld failed\n", fault_names[f], points, ran,
			       100.0 * (double)ran / (double)points, c.found[f], c.failures[f]);
		/* a case is a scenario with a kind of fault, for all agents and stores together */
		for (size_t s = 0; s < nr_scenarios; s++) {
			bool any = false, bad = false;

			for (size_t i = 0; i < c.nr; i++)
				if (c.combo[i].scenario == &scenarios[s] && c.combo[i].ran[f]) {
					any = true;
					bad |= c.combo[i].failed[f];
				}
			passed += any && !bad;
			failed += bad;
		}
	}
	printf("%ld passed, %ld failed\n", passed, failed);
	return failed || !passed;
}

static void died(int sig)
{
	static const char words[] = "\ncrash: died in: ";
	ssize_t n;

	n = write(1, words, strlen(words));
	n = write(1, c.command, strlen(c.command));
	n = write(1, "\n", 1);
	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The sanitizer calls this before it prints its report. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	printf("crash: %s\n", c.command);
	fflush(stdout);
}

static bool named_in(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

static void choose(void)
{
	static const char *const dialects[] = { "pi", "xcsh", "omp", "claude" };

	for (size_t s = 0; s < nr_scenarios; s++)
		for (size_t d = 0; d < 4; d++)
			for (int sqlite = 0; sqlite < 2; sqlite++) {
				struct combo *k = &c.combo[c.nr];

				if ((c.scenario && strcmp(c.scenario, scenarios[s].name)) ||
				    (c.dialect && strcmp(c.dialect, dialects[d])) ||
				    (c.store && strcmp(c.store, sqlite ? "sqlite" : "file")) ||
				    !named_in(scenarios[s].dialects, dialects[d]) ||
				    (sqlite && scenarios[s].files_only))
					continue;
#ifndef GROVE_TEST_SQLITE
				if (sqlite)
					continue;
#endif
				k->scenario = &scenarios[s];
				k->dialect = dialects[d];
				k->sqlite = sqlite;
				c.nr++;
			}
}

static int usage(void)
{
	fprintf(stderr, "usage: crash [--scenario NAME] [--dialect NAME] [--store file|sqlite] "
		"[--fault KIND] [--n N] [--seed SEED] [--budget SECONDS | --all] [--list]\n");
	return 2;
}

static int options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "scenario", 1, NULL, 's' }, { "dialect", 1, NULL, 'd' }, { "store", 1, NULL, 't' },
		{ "fault", 1, NULL, 'f' }, { "n", 1, NULL, 'n' }, { "seed", 1, NULL, 'S' },
		{ "budget", 1, NULL, 'b' }, { "all", 0, NULL, 'a' }, { "list", 0, NULL, 'l' }, { NULL },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", longs, NULL)) >= 0)
		switch (o) {
		case 's': c.scenario = optarg; break;
		case 'd': c.dialect = optarg; break;
		case 't': c.store = optarg; break;
		case 'f':
			for (enum fault_kind f = FAULT_ALLOC; f < FAULT_KINDS; f++)
				if (!strcmp(optarg, fault_names[f]))
					c.fault = f;
			if (!c.fault)
				return usage();
			break;
		case 'n': c.n = strtol(optarg, NULL, 10); break;
		case 'S': c.seed = strtoull(optarg, NULL, 0); break;
		case 'b': c.budget = strtod(optarg, NULL); break;
		case 'a': c.all = true; break;
		case 'l': c.list = true; break;
		default: return usage();
		}
	return optind < argc ? usage() : 0;
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR"), *longer = getenv("GROVE_TEST_LONG");
	int rc;

	c.program = argv[0];
	c.n = -1;
	c.budget = 25;
	c.seed = chance_begin("crash").state;
	rc = options(argc, argv);
	if (rc)
		return rc;
	if (longer && *longer && c.n < 0) {
		c.all = !SLOW;
		c.budget = 600;
	}
	/* creating thousands of directories, with a few syncs each, takes long on a disk */
	if (!tmp || !*tmp)
		tmp = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(c.scratch, sizeof(c.scratch), "%s/grove-crash-XXXXXX", tmp);
	if (!mkdtemp(c.scratch)) {
		perror(c.scratch);
		return 2;
	}
	signal(SIGSEGV, died);
	signal(SIGABRT, died);
	signal(SIGPIPE, SIG_IGN);
	shim_install();
	choose();
	for (size_t i = 0; i < c.nr; i++) {
		survey(&c.combo[i]);
		if (c.list)
			printf("%-10s %-6s %s\n", c.combo[i].scenario->name, c.combo[i].dialect,
			       c.combo[i].sqlite ? "sqlite" : "file");
	}
	if (c.n >= 0 && c.nr && c.fault)
		for (size_t i = 0; i < c.nr; i++)
			run_points(&c.combo[i], c.fault, &c.n, 1);
	else if (c.all && !c.list)
		run_all();
	else if (!c.list)
		run_some();
	rc = report();
	for (size_t i = 0; i < c.nr; i++)
		for (enum fault_kind f = FAULT_ALLOC; f < FAULT_KINDS; f++)
			free(c.combo[i].visited[f]);
	if (rc && getenv("GROVE_CRASH_KEEP"))
		printf("kept: %s\n", c.scratch);
	else
		wipe(c.scratch);
	return rc;
}
