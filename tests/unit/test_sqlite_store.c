/*
 * tests/unit/test_sqlite_store.c: the file of an SQLite store: how it is created
 * and found, how other programs share it, and what happens when it fails.
 */
#include "../lib/sqlite_world.h"

#include <signal.h>
#include <sys/wait.h>

/* ---------------------------------------------------------- made, and found */

static void looking_makes_no_database(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned nr = 0, from, to;

	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_WRITE, &w->d));
	FAILS(GROVE_ENOTFOUND, "", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ENOTFOUND, "", grove__store_attach_get(w->st, &key_a, "x", &b, &w->d));
	FAILS(GROVE_ENOTFOUND, "grove store init", grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(nr, 0);
	assert_dir(w->dir, "");
}

static void the_first_session_makes_it_for_its_owner_alone(void **state)
{
	struct world *w = *state;
	struct stat st;

	umask(0);
	grove__log_close(make(w, LINES("one")));
	assert_int_equal(stat(w->db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	reopen(w, &usual);
	/* at rest it is one file */
	assert_dir(w->dir, "store.db ");
	assert_session(w, "one\n");
	umask(022);
}

static struct world *looker;
static unsigned looks;

static void look_meanwhile(const struct grove__sys_deed *deed)
{
	struct world *w = looker;
	unsigned nr = 0;

	if (strcmp(deed->call, "mkdir"))
		return;
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(nr, 0);
	looks++;
}

static void while_its_directories_are_made_others_find_nothing(void **state)
{
	struct world *w = looker = *state;
	struct grove_store_log *log;

	looks = 0;
	snprintf(w->db, sizeof(w->db), "%s/deep/er/store.db", w->dir);
	reopen(w, &usual);
	/* a path with a mistake in it makes nothing */
	FAILS(GROVE_ENOTFOUND, "GROVE_STORE", grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	assert_int_equal(looks, 0);
	grove__sys_told = look_meanwhile;
	OK(w->st->ops->init(w->st, &w->d));
	grove__sys_told = NULL;
	assert_int_equal(looks, 2);
	grove__log_close(make(w, LINES("one")));
	assert_session(w, "one\n");
}

static void a_store_can_be_made_ahead_and_once_more(void **state)
{
	struct world *w = *state;
	char url[400];
	unsigned from = 7, to = 7;

	snprintf(url, sizeof(url), "sqlite:%s/deep/er/x.db", w->dir);
	OK(grove__store_init(NULL, url, &w->d));
	OK(grove__store_init(NULL, url, &w->d));
	OK(grove__store_upgrade(NULL, url, &from, &to, &w->d));
	assert_int_equal(from, 2);
	assert_int_equal(to, 2);
	/* a directory needs nothing */
	OK(grove__store_init(NULL, w->dir, &w->d));
	OK(grove__store_upgrade(NULL, w->dir, &from, &to, &w->d));
	assert_int_equal(to, 0);
	FAILS(GROVE_EINVAL, "unknown kind", grove__store_init(NULL, "ftp:x", &w->d));
}

static void an_empty_file_is_an_empty_store(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;

	file_make(w->db, "");
	FAILS(GROVE_ENOTFOUND, "", grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	grove__log_close(make(w, LINES("one")));
	assert_session(w, "one\n");
}

static void what_is_no_database_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	file_make(w->db, text);
	FAILS(GROVE_EDAMAGED, "not an SQLite database",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_EDAMAGED, "not an SQLite database",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	assert_file(w->db, text);
	assert_int_equal(unlink(w->db), 0);
	assert_int_equal(mkdir(w->db, 0700), 0);
	FAILS(GROVE_EINVAL, "not a file",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_EINVAL, "not a file",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
}

static void another_programs_database_is_left_alone(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;
	struct grove_buf before, after;

	raw(w, "CREATE TABLE sessions (x); INSERT INTO sessions VALUES (1)");
	before = file_bytes(w->db);
	FAILS(GROVE_ENOTSUP, "not a grove store",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "not a grove store",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "not a grove store", grove__sqlite_init(w->st, &w->d));
	after = file_bytes(w->db);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.ptr, after.ptr, after.len);
	grove__buf_release(&before);
	grove__buf_release(&after);
}

static void a_name_is_a_name(void **state)
{
	static const char *const names[] = { ":memory:", "file:x.db?mode=memory", "a b%20#?.db" };
	struct world *w = *state;
	char cwd[1024];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(w->dir), 0);
	for (size_t i = 0; i < ARRAY(names); i++) {
		grove__store_close(w->st);
		assert_int_equal(grove__sqlite_open(&w->st, names[i], &usual, NULL), 0);
		grove__log_close(make(w, LINES("one")));
		grove__store_close(w->st);
		assert_int_equal(access(names[i], F_OK), 0);
		assert_int_equal(grove__sqlite_open(&w->st, names[i], &usual, NULL), 0);
		assert_session(w, "one\n");
	}
	assert_int_equal(chdir(cwd), 0);
}

static void a_link_leads_to_the_database(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;
	char link[300];

	snprintf(link, sizeof(link), "%s/link.db", w->dir);
	grove__log_close(make(w, LINES("one")));
	reopen(w, &usual);
	assert_int_equal(symlink("store.db", link), 0);
	grove__store_close(w->st);
	assert_int_equal(grove__sqlite_open(&w->st, link, &usual, NULL), 0);
	log = log_of(w, &key_a, GROVE_STORE_WRITE);
	OK(add(w, log, str("two"), 1));
	OK(grove__log_sync(log, &w->d));
	grove__log_close(log);
	reopen(w, &usual);
	assert_session(w, "one\ntwo\n");
}

/* ----------------------------------------------------------- other programs */

/* Where a log ends is remembered from append to append; not over what others did. */
static void a_lease_by_another_store_is_noticed(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one")), *theirs;
	struct grove_store *other;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_detail d;

	OK(add(w, log, str("two"), 1));
	OK(add(w, log, str("three"), 2));
	OK(grove__sqlite_open(&other, w->db, &usual, &w->d));
	OK(grove__log_open(&theirs, other, &key_a, GROVE_STORE_WRITE, &w->d));
	OK(grove__log_lease_take(theirs, "they", 60000, &lease, &w->d));
	FAILS(GROVE_ECONFLICT, "they holds the lease", add(w, log, str("four"), 3));
	FAILS(GROVE_ECONFLICT, "they holds the lease", grove__log_lease_take(log, "we", 1, &lease, &w->d));
	OK(grove__log_lease_release(theirs, &d));
	OK(grove__log_lease_take(log, "we", 60000, &lease, &w->d));
	assert_int_equal(lease.number, 2);
	OK(add(w, log, str("four"), 3));
	OK(add(w, log, str("five"), 4));
	/* the same owner in another program */
	OK(grove__log_lease_take(theirs, "we", 60000, &lease, &d));
	assert_int_equal(lease.number, 3);
	FAILS(GROVE_ECONFLICT, "taken over by we", add(w, log, str("six"), 5));
	OK(add(w, theirs, str("six"), 5));
	FAILS(GROVE_ECONFLICT, "taken over", grove__log_meta_put(log, "leaf", str("x"), &w->d));
	assert_bytes(w, log, "one\ntwo\nthree\nfour\nfive\nsix\n");
	/* a session that is gone has no lease */
	OK(grove__store_remove(other, &key_a, &w->d));
	FAILS(GROVE_ESTALE, "removed", grove__log_lease_take(log, "we", 60000, &lease, &w->d));
	FAILS(GROVE_ESTALE, "removed", grove__log_lease_get(log, &lease, &w->d));
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), 0);
	grove__log_close(theirs);
	grove__store_close(other);
	grove__log_close(log);
}

static void a_locked_database_is_waited_for_and_then_told(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one")), *other;
	sqlite3 *db = raw_open(w);

	raw_run(db, "BEGIN IMMEDIATE");
	FAILS(GROVE_ECONFLICT, "locked", add(w, log, str("two"), 1));
	FAILS(GROVE_ECONFLICT, "locked", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ECONFLICT, "locked", grove__log_meta_put(log, "leaf", str("x"), &w->d));
	FAILS(GROVE_ECONFLICT, "locked",
	      grove__log_open(&other, w->st, &(struct grove_key){ "p", "b", "" },
			      GROVE_STORE_CREATE, &w->d));
	/* reading goes on */
	assert_bytes(w, log, "one\n");
	raw_run(db, "COMMIT");
	OK(add(w, log, str("two"), 1));
	assert_bytes(w, log, "one\ntwo\n");
	sqlite3_close(db);
	grove__log_close(log);
}

static void a_database_that_was_deleted_takes_nothing_more(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one")), *again;
	struct grove_store_log_stat st;

	assert_int_equal(unlink(w->db), 0);
	FAILS(GROVE_ESTALE, "removed", add(w, log, str("lost"), GROVE_ANY_POS));
	FAILS(GROVE_ENOTFOUND, "", grove__log_stat(log, &st, &w->d));
	/* another one in its place is another store */
	again = make(w, LINES("new"));
	FAILS(GROVE_ESTALE, "removed", add(w, log, str("lost"), GROVE_ANY_POS));
	OK(add(w, again, str("more"), 1));
	assert_bytes(w, again, "new\nmore\n");
	grove__log_close(again);
	grove__log_close(log);
}

/* In a process of its own: `nr` lines, of whoever it is. */
static void write_lines(const char *db, char who, unsigned nr, enum grove_sync sync, int ack)
{
	const struct grove__sqlite_options patient = { .schema = &grove__sql_schema_sqlite };
	struct grove_store *st;
	struct grove_store_log *log;
	struct grove_store_appended out;
	char line[700];

	if (grove__sqlite_open(&st, db, &patient, NULL) ||
	    grove__log_open(&log, st, &key_a, GROVE_STORE_WRITE, NULL))
		_exit(2);
	memset(line, who, sizeof(line));
	for (unsigned i = 0; i < nr; i++) {
		struct grove_store_record rec[2] = { 0 };
		int n = snprintf(line, sizeof(line), "%c %06u", who, i);

		line[n] = ' ';
		rec[0].line = grove__slice(line, (size_t)n);
		rec[1].line = grove__slice(line, sizeof(line) - i % 300);
		if (grove__log_append(log, rec, 2, GROVE_ANY_POS, sync, &out, NULL))
			_exit(3);
		if (ack >= 0 && write(ack, &i, sizeof(i)) != sizeof(i))
			_exit(4);
	}
	grove__log_close(log);
	grove__store_close(st);
	_exit(0);
}

static void two_processes_write_to_one_session(void **state)
{
	enum { NR = 150 };
	struct world *w = *state;
	struct grove_buf b;
	struct grove_store_log *log;
	unsigned next[2] = { 0 };
	pid_t pid[2];
	int status;
	char *p;

	grove__log_close(make(w, LINES("header")));
	/* SQLite's handles must not be carried into a child */
	grove__store_close(w->st);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			write_lines(w->db, (char)('a' + i), NR, GROVE_SYNC_NONE, -1);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	log = log_of(w, &key_a, GROVE_STORE_READ);
	b = bytes_of(w, log);
	p = strchr(b.ptr, '\n') + 1;
	for (unsigned i = 0; i < 2 * NR; i++) {
		unsigned n, who = (unsigned)(*p - 'a');

		assert_in_range(who, 0, 1);
		assert_int_equal(sscanf(p + 2, "%u", &n), 1);
		assert_int_equal(n, next[who]++);
		/* the two lines of an append are together */
		p = strchr(p, '\n') + 1;
		assert_int_equal(sscanf(p + 2, "%u", &n), 1);
		assert_int_equal(n, next[who] - 1);
		p = strchr(p, '\n') + 1;
	}
	assert_int_equal(p - b.ptr, b.len);
	grove__buf_release(&b);
	grove__log_close(log);
}

static void a_writer_that_is_killed_loses_nothing_that_it_told(void **state)
{
	struct world *w = *state;

	grove__log_close(make(w, LINES("header")));
	grove__store_close(w->st);
	for (unsigned round = 0; round < 6; round++) {
		enum grove_sync sync = round % 2 ? GROVE_SYNC_ALWAYS : GROVE_SYNC_NONE;
		unsigned told = 0, i = 0, lines = 0, last = 0;
		struct grove_store_log *log;
		struct grove_buf b;
		int ack[2];
		pid_t pid;

		assert_int_equal(pipe(ack), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			close(ack[0]);
			write_lines(w->db, (char)('a' + round), 100000, sync, ack[1]);
		}
		close(ack[1]);
		while (told < 20 + round * 37 && read(ack[0], &i, sizeof(i)) == sizeof(i))
			told++;
		kill(pid, SIGKILL);
		while (read(ack[0], &i, sizeof(i)) == sizeof(i))
			told++;
		close(ack[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
		log = log_of(w, &key_a, GROVE_STORE_WRITE);
		b = bytes_of(w, log);
		for (char *p = strchr(b.ptr, '\n') + 1; *p; p = strchr(p, '\n') + 1)
			if (*p == (char)('a' + round)) {
				assert_int_equal(sscanf(p + 2, "%u", &last), 1);
				assert_int_equal(last, lines++ / 2);
			}
		/* whole appends, all that were told and perhaps the one that was not */
		assert_int_equal(lines % 2, 0);
		assert_true(told >= 20 + round * 37);
		assert_in_range(lines / 2, told, told + 1);
		OK(add(w, log, str("after it"), GROVE_ANY_POS));
		grove__buf_release(&b);
		grove__log_close(log);
		grove__store_close(w->st);
	}
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM pragma_integrity_check "
			     "WHERE integrity_check = 'ok'"), 1);
}

/* ------------------------------------------------------- limits and failures */

static void a_full_disk_leaves_the_session_as_it_was(void **state)
{
	const struct grove__sqlite_options tight = { .schema = &grove__sql_schema_sqlite,
						     .busy_ms = 60, .max_pages = 40 };
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one"));
	struct grove_store_record rec[64] = { 0 };
	struct grove_store_appended out;
	struct grove_buf b;
	struct grove_store_record large = { .line = grove__slice((char[400000]){ "x" }, 400000),
					    .id = str("e") };
	struct grove_store_log_stat before, after;
	char line[8000];
	const char *anew = line;

	grove__log_close(log);
	reopen(w, &tight);
	log = log_of(w, &key_a, GROVE_STORE_WRITE);
	OK(grove__log_stat(log, &before, &w->d));
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	for (size_t i = 0; i < ARRAY(rec); i++)
		rec[i].line = str(line);
	for (int i = 0; i < 3; i++) {
		FAILS(GROVE_EFULL, "no space", grove__log_append(log, rec, ARRAY(rec), 1, GROVE_SYNC_ALWAYS,
								 &out, &w->d));
		assert_bytes(w, log, "one\n");
	}
	FAILS(GROVE_EFULL, "no space",
	      grove__store_attach_put(w->st, &key_a, "x", grove__slice(NULL, 0), &w->d) ? 1 :
	      grove__store_attach_put(w->st, &key_a, "big",
				      grove__slice((char[400000]){ "x" }, 400000), &w->d));
	FAILS(GROVE_EFULL, "no space", grove__log_update(log, 0, str("one"), &large, GROVE_CHANGE_UPDATE,
							 GROVE_SYNC_ALWAYS, &w->d));
	FAILS(GROVE_EFULL, "no space", grove__log_meta_put(log, "leaf", large.line, &w->d));
	OK(grove__log_stat(log, &after, &w->d));
	assert_memory_equal(&after, &before, sizeof(after));
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), 0);
	/* what fits goes */
	OK(grove__log_append(log, rec, 4, 1, GROVE_SYNC_ALWAYS, &out, &w->d));
	assert_int_equal(ask(w, "SELECT start FROM entries WHERE seq = 1"), 4);
	OK(grove__log_rewrite(log, one_line, &anew, 5, 0, &w->d));
	b = bytes_of(w, log);
	assert_int_equal(b.len, sizeof(line));
	grove__buf_release(&b);
	grove__log_close(log);
	/* and with room again, all of it */
	reopen(w, &usual);
	log = log_of(w, &key_a, GROVE_STORE_WRITE);
	OK(grove__log_append(log, rec, ARRAY(rec), 1, GROVE_SYNC_ALWAYS, &out, &w->d));
	assert_int_equal(out.tail, 65);
	grove__log_close(log);
}

static int fail_sync(const char *call)
{
	return strcmp(call, "fdatasync") ? 0 : EIO;
}

static void after_a_sync_that_failed_nothing_is_called_durable(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one"));
	struct grove_store_record rec = { .line = str("two") };
	struct grove_store_appended out;

	grove__sys_fault = fail_sync;
	FAILS(GROVE_EIO, "", grove__log_append(log, &rec, 1, 1, GROVE_SYNC_ALWAYS, &out, &w->d));
	grove__sys_fault = NULL;
	OK(grove__log_append(log, &rec, 1, 2, GROVE_SYNC_NONE, &out, &w->d));
	FAILS(GROVE_EIO, "unknown", grove__log_sync(log, &w->d));
	FAILS(GROVE_EIO, "unknown", grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_ALWAYS,
						      &out, &w->d));
	grove__log_close(log);
}

static void a_damaged_file_is_an_error_and_no_crash(void **state)
{
	struct world *w = *state;
	struct grove_buf whole;
	struct grove_store_log *log;
	unsigned seed = 1;

	log = make(w, LINES("header"));
	for (int i = 0; i < 300; i++)
		OK(add(w, log, str("a line that is neither long nor short, but there are many of them"),
		       GROVE_ANY_POS));
	grove__log_close(log);
	grove__store_close(w->st);
	whole = file_bytes(w->db);
	for (int round = 0; round < 60; round++) {
		struct grove_store_log_stat st;
		struct grove_store_run run = { 0 };
		static char buf[65536];
		char *copy = malloc(whole.len);
		int rc;

		assert_non_null(copy);
		memcpy(copy, whole.ptr, whole.len);
		for (int i = 0; i < 400; i++) {
			seed = seed * 1103515245 + 12345;
			/* the head stays: it is the rows that are looked at */
			copy[100 + seed % (whole.len - 100)] = (char)(seed >> 16);
		}
		file_put(w->db, O_CREAT | O_TRUNC, copy, whole.len);
		free(copy);
		assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
		rc = grove__log_open(&log, w->st, &key_a, GROVE_STORE_WRITE, NULL);
		if (!rc) {
			if (!grove__log_stat(log, &st, NULL))
				grove__log_read(log, 0, st.tail, buf, sizeof(buf), &run, NULL);
			add(w, log, str("more"), GROVE_ANY_POS);
			grove__log_close(log);
		}
		assert_true(rc <= 0);
		grove__store_close(w->st);
	}
	grove__buf_release(&whole);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
}

static void what_may_not_be_written_can_be_read(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;
	bool root = !geteuid();

	grove__log_close(make(w, LINES("one")));
	grove__store_close(w->st);
	assert_int_equal(chmod(w->db, 0444), 0);
	assert_int_equal(chmod(w->dir, 0555), 0);
	/* root may write everywhere */
	if (root)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	assert_session(w, "one\n");
	log = log_of(w, &key_a, GROVE_STORE_WRITE);
	FAILS(GROVE_EACCESS, "", add(w, log, str("two"), 1));
	grove__log_close(log);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(w->dir, 0700), 0);
}

static void a_file_that_was_set_up_otherwise_serves_as_well(void **state)
{
	static const char *const ways[] = {
		"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = PERSIST", "PRAGMA journal_mode = WAL",
		"PRAGMA page_size = 512", "PRAGMA page_size = 65536", "PRAGMA auto_vacuum = FULL",
		"PRAGMA encoding = 'UTF-16le'", "PRAGMA encoding = 'UTF-16be'", "PRAGMA user_version = 99",
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(ways); i++) {
		struct grove_store_log *log;
		char sql[256];

		/* it takes effect with the first page */
		snprintf(sql, sizeof(sql), "%s; CREATE TABLE t (a); DROP TABLE t", ways[i]);
		raw(w, sql);
		log = make(w, LINES("{\"id\":\"\xc3\xa9\"}", "", "\xff not text"));
		OK(grove__log_meta_put(log, "name", str("a name"), &w->d));
		grove__log_close(log);
		reopen(w, &usual);
		assert_session(w, "{\"id\":\"\xc3\xa9\"}\n\n\xff not text\n");
		grove__store_close(w->st);
		unlink(w->db);
		assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	}
}

/* What the write-ahead log holds gets into the file while the store is open, so neither grows for ever. */
static void the_write_ahead_log_is_emptied(void **state)
{
	enum { BIG = 400000, LINES_ = 100 };
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one"));
	struct grove_store_appended out;
	struct grove_store_record rec = { 0 };
	struct stat st;
	char *line = malloc(BIG), wal[400];

	assert_non_null(line);
	memset(line, 'x', BIG);
	rec.line = grove__slice(line, BIG);
	for (unsigned i = 0; i < LINES_; i++)
		OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_FLUSH, &out, &w->d));
	snprintf(wal, sizeof(wal), "%s-wal", w->db);
	assert_int_equal(stat(wal, &st), 0);
	assert_true(st.st_size < BIG * LINES_ / 2);
	assert_int_equal(stat(w->db, &st), 0);
	assert_true(st.st_size > BIG * LINES_ / 2);
	free(line);
	grove__log_close(log);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_write_ahead_log_is_emptied),
		TEST(looking_makes_no_database),
		TEST(a_file_that_was_set_up_otherwise_serves_as_well),
		TEST(the_first_session_makes_it_for_its_owner_alone),
		TEST(while_its_directories_are_made_others_find_nothing),
		TEST(a_store_can_be_made_ahead_and_once_more),
		TEST(an_empty_file_is_an_empty_store),
		TEST(what_is_no_database_is_refused),
		TEST(another_programs_database_is_left_alone),
		TEST(a_name_is_a_name),
		TEST(a_link_leads_to_the_database),
		TEST(a_lease_by_another_store_is_noticed),
		TEST(a_locked_database_is_waited_for_and_then_told),
		TEST(a_database_that_was_deleted_takes_nothing_more),
		TEST(two_processes_write_to_one_session),
		TEST(a_writer_that_is_killed_loses_nothing_that_it_told),
		TEST(a_full_disk_leaves_the_session_as_it_was),
		TEST(after_a_sync_that_failed_nothing_is_called_durable),
		TEST(a_damaged_file_is_an_error_and_no_crash),
		TEST(what_may_not_be_written_can_be_read),
	};

	return cmocka_run_group_tests_name("sqlite_store", tests, NULL, NULL);
}
