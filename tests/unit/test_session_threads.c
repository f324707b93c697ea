/*
 * tests/unit/test_session_threads.c: many threads and processes on one session.
 *
 * Threads append through one handle while others read; processes append to one
 * file, and some of them are killed. Every acknowledged entry must be there
 * exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../lib/chance.h"
#include "../lib/world.h"
#include "../lib/calls.h"

enum { WRITERS = 16, READERS = 4, EACH = 200 };

/* Threads must not assert: failures are counted, and reported in the end. */
struct crowd {
	struct grove_session *s;
	enum grove_sync sync;
	char (*id)[40];              /* WRITERS * EACH */
	unsigned failed;             /* atomic */
	int done;                    /* atomic */
};

struct member {
	struct crowd *c;
	int nr;
	pthread_t thread;
};

static void fault(struct crowd *c, const char *what, int rc)
{
	if (!__atomic_fetch_add(&c->failed, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "%s: %s\n", what, grove_error_name(rc));
}

static void *writer(void *arg)
{
	struct member *m = arg;
	struct grove_append_options o = { .size = sizeof(o), .sync = m->c->sync };

	for (int i = 0; i < EACH; i++) {
		struct grove_slice json[2];
		const char *id[2];
		char words[2][96];
		size_t nr = i % 10 == 9 ? 2 : 1;
		int rc;

		for (size_t k = 0; k < nr; k++) {
			snprintf(words[k], sizeof(words[k]), "{\"role\":\"user\",\"content\":\"%d.%d.%zu\"}",
				 m->nr, i, k);
			json[k] = text(words[k]);
		}
		rc = grove_session_append_many(m->c->s, json, nr, &o, INTO(id));
		if (rc)
			fault(m->c, "append", rc);
		else
			snprintf(m->c->id[m->nr * EACH + i], sizeof(*m->c->id), "%s", id[0]);
	}
	return NULL;
}

static int ignore(void *payload, const char *ptr, size_t len)
{
	(void)ptr;
	*(size_t *)payload += len;
	return 0;
}

static int ignore_piece(void *payload, const struct grove_piece *p)
{
	*(size_t *)payload += p->text.len;
	return 0;
}

/* Checks that a view shows one moment and is consistent, whatever the writers do. */
static void look(struct crowd *c, struct grove_view *v)
{
	uint32_t nr = grove_view_count(v), *row;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_counts n = { .size = sizeof(n) };
	struct grove_entry e = { .size = sizeof(e) };
	size_t count, bytes = 0;
	int rc;

	grove_view_counts(v, &n);
	if (n.entries != nr || n.lines != nr + 1)
		fault(c, "counts", 0);
	rc = path_rows(v, grove_view_leaf(v), &row, &count);
	if (rc || count != nr)
		fault(c, "path", rc);
	if (!rc)
		free(row);
	for (uint32_t i = 0; i < nr; i += 1 + nr / 16) {
		rc = grove_view_entry(v, i, &e);
		if (rc || find_row(v, e.id) != i || e.parent != (i ? i - 1 : GROVE_NO_ENTRY))
			fault(c, "entry", rc);
		rc = children_rows(v, i, 1, &row, &count);
		if (rc || count != (i + 1 < nr) || (count && row[0] != i + 1))
			fault(c, "children", rc);
		if (!rc)
			free(row);
		rc = grove_view_line(v, i, 0, &b);
		if (rc || !strstr(b.ptr, e.id))
			fault(c, "line", rc);
		rc = grove_view_piece_each(v, i, ignore_piece, &bytes);
		if (rc)
			fault(c, "pieces", rc);
	}
	rc = grove_view_context(v, NULL, (struct grove_sink){ ignore, &bytes });
	if (rc)
		fault(c, "context", rc);
	bytes = 0;
	rc = grove_view_raw(v, (struct grove_sink){ ignore, &bytes });
	if (rc || bytes != n.bytes)
		fault(c, "raw", rc);
	grove__buf_release(&b);
}

static void *reader(void *arg)
{
	struct crowd *c = ((struct member *)arg)->c;
	struct grove_view *old = NULL;

	do {
		struct grove_view *v = NULL;
		int rc = grove_session_view(c->s, &v);

		if (rc) {
			fault(c, "view", rc);
			break;
		}
		look(c, v);
		/* old views are as valid as new ones */
		if (old)
			look(c, old);
		if (!old || grove_view_count(v) % 3) {
			grove_view_unref(old);
			old = grove_view_ref(v);
		}
		grove_view_unref(v);
	} while (!__atomic_load_n(&c->done, __ATOMIC_ACQUIRE));
	grove_view_unref(old);
	return NULL;
}

static void assert_each_once(struct world *w, struct crowd *c)
{
	struct grove_view *v = view_of(w, c->s);
	uint8_t *seen = calloc(grove_view_count(v), 1);

	assert_int_equal(grove_view_count(v), WRITERS * (EACH + EACH / 10));
	for (int i = 0; i < WRITERS * EACH; i++) {
		uint32_t at = find_row(v, c->id[i]);

		assert_int_not_equal(at, GROVE_NO_ENTRY);
		assert_int_equal(seen[at]++, 0);
	}
	free(seen);
	grove_view_unref(v);
}

static void crowd(struct world *w, unsigned flags, enum grove_sync sync)
{
	struct crowd c = { .s = fresh(w, flags), .sync = sync };
	struct member m[WRITERS + READERS];

	c.id = calloc(WRITERS * EACH, sizeof(*c.id));
	assert_non_null(c.id);
	for (int i = 0; i < WRITERS + READERS; i++) {
		m[i] = (struct member){ .c = &c, .nr = i };
		assert_int_equal(pthread_create(&m[i].thread, NULL, i < WRITERS ? writer : reader, &m[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(m[i].thread, NULL);
	__atomic_store_n(&c.done, 1, __ATOMIC_RELEASE);
	for (int i = WRITERS; i < WRITERS + READERS; i++)
		pthread_join(m[i].thread, NULL);
	assert_int_equal(c.failed, 0);
	assert_each_once(w, &c);
	if (grove_session_path(c.s)) {
		struct grove_session *s = session_at(w, grove_session_path(c.s), GROVE_OPEN_READ);

		assert_one_line(w, s);
		assert_int_equal(counts_of(w, s).malformed, 0);
		grove_session_close(c.s);
		c.s = s;
		assert_each_once(w, &c);
	}
	grove_session_close(c.s);
	free(c.id);
}

static void threads_share_one_handle(void **state)
{
	crowd(*state, GROVE_CREATE_NOW, GROVE_SYNC_NONE);
}

static void threads_share_one_sync(void **state)
{
	crowd(*state, GROVE_CREATE_NOW, GROVE_SYNC_ALWAYS);
}

static void threads_share_a_session_that_gets_its_file_meanwhile(void **state)
{
	crowd(*state, 0, GROVE_SYNC_NONE);
}

static void threads_share_a_session_in_memory(void **state)
{
	crowd(*state, GROVE_CREATE_MEMORY, GROVE_SYNC_NONE);
}

/* ---------------------------------------------------------------- processes */

enum { PROCESSES = 4, PER_PROCESS = 200 };

/* Appends, and writes the id to a pipe only after it was acknowledged. Never returns. */
static void process(const struct world *w, const char *path, int out, int nr)
{
	struct grove *g = world_grove(w);
	struct grove_append_options o = { .size = sizeof(o) };
	struct grove_session *s;
	char json[4096], x[2048];

	memset(x, 'x', sizeof(x) - 1);
	x[sizeof(x) - 1] = '\0';
	if (grove_session_open(g, path, GROVE_OPEN_WRITE, &s))
		_exit(1);
	for (int i = 0; i < PER_PROCESS; i++) {
		char line[64];
		const char *id;
		int n;

		o.sync = i % 50 ? GROVE_SYNC_NONE : GROVE_SYNC_ALWAYS;
		snprintf(json, sizeof(json), "{\"role\":\"user\",\"content\":\"%d.%d %.*s\"}", nr, i,
			 (i * 37) % 2000, x);
		if (grove_session_append(s, text(json), &o, INTO(&id)))
			_exit(2);
		n = snprintf(line, sizeof(line), "%s\n", id);
		if (write(out, line, (size_t)n) != n)
			_exit(3);
	}
	_exit(0);
}

static void what_processes_were_told_is_in_the_file_once(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("processes");
	const char *path = make(w, "a.jsonl", HEADER);
	int fd[PROCESSES], acknowledged = 0, torn;
	struct grove_session *s;
	struct grove_view *v;
	pid_t pid[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ids%d", i);
		fd[i] = open(in_world(w, name), O_CREAT | O_RDWR | O_APPEND, 0600);
		assert_true(fd[i] >= 0);
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			process(w, path, fd[i], i);
	}
	/* two of them are killed at some moment */
	for (int i = 0; i < 2; i++) {
		usleep(1000 + chance_below(&c, 20000));
		kill(pid[i], SIGKILL);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		if (i >= 2)
			assert_int_equal(status, 0);
		else if (WIFEXITED(status))
			assert_int_equal(WEXITSTATUS(status), 0);
	}
	s = session_at(w, path, GROVE_OPEN_READ);
	v = view_of(w, s);
	torn = (int)counts_of(w, s).malformed;
	/*
	 * A write is one call, but the kernel may end it between two pages when
	 * the process is killed. So each killed process may leave the first part
	 * of a line that was never acknowledged, and the next writer ends that
	 * line.
	 */
	assert_in_range(torn, 0, 2);
	assert_int_equal(counts_of(w, s).duplicates, 0);
	assert_int_equal(counts_of(w, s).orphans, 0);
	for (int i = 0; i < PROCESSES; i++) {
		char id[64];
		FILE *f;

		lseek(fd[i], 0, SEEK_SET);
		f = fdopen(fd[i], "r");
		while (fgets(id, sizeof(id), f)) {
			size_t n = strcspn(id, "\n");

			if (!id[n])
				break; /* it was killed while it wrote the id */
			id[n] = '\0';
			assert_int_not_equal(find_row(v, id), GROVE_NO_ENTRY);
			acknowledged++;
		}
		fclose(f);
	}
	assert_true(acknowledged >= 2 * PER_PROCESS);
	/* besides those, there is at most one entry that each killed process was about to report */
	assert_in_range(grove_view_count(v), acknowledged, acknowledged + 2);
	grove_view_unref(v);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(threads_share_one_handle),
		WORLD_TEST(threads_share_one_sync),
		WORLD_TEST(threads_share_a_session_that_gets_its_file_meanwhile),
		WORLD_TEST(threads_share_a_session_in_memory),
		WORLD_TEST(what_processes_were_told_is_in_the_file_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
