/*
 * tests/unit/test_coarse.c: file systems that store times in whole seconds.
 *
 * A session is changed in place in the same second in which it was read, and keeps its length
 * and its times. No cache may then return the old content. The linker redirects the calls
 * that return a file's times, or the current time, to this file.
 */
#include "search_world.h"

#include "sys/file.h"

#define HELD INT64_C(1780000000)  /* the second in which everything happens */

static int64_t now_ms;

typedef struct grove__sys_stat state_of;

int64_t __wrap_grove__sys_now_ms(void);
int __wrap_grove__sys_stat(const char *path, state_of *st);
int __wrap_grove__sys_lstat(const char *path, state_of *st);
int __wrap_grove__sys_fstat(int fd, state_of *st);
int __wrap_grove__sys_dir_stat(struct grove__sys_dir *d, const char *path, state_of *st);
int __wrap_grove__sys_dir_lstat(struct grove__sys_dir *d, const char *path, state_of *st);
int __real_grove__sys_stat(const char *path, state_of *st);
int __real_grove__sys_lstat(const char *path, state_of *st);
int __real_grove__sys_fstat(int fd, state_of *st);
int __real_grove__sys_dir_stat(struct grove__sys_dir *d, const char *path, state_of *st);
int __real_grove__sys_dir_lstat(struct grove__sys_dir *d, const char *path, state_of *st);

int64_t __wrap_grove__sys_now_ms(void)
{
	return now_ms;
}

static int coarse(int rc, state_of *st)
{
	if (!rc && st->type == SYS_FILE)
		st->mtime_ns = st->ctime_ns = HELD * 1000000000;
	return rc;
}

int __wrap_grove__sys_stat(const char *path, state_of *st)
{
	return coarse(__real_grove__sys_stat(path, st), st);
}

int __wrap_grove__sys_lstat(const char *path, state_of *st)
{
	return coarse(__real_grove__sys_lstat(path, st), st);
}

int __wrap_grove__sys_fstat(int fd, state_of *st)
{
	return coarse(__real_grove__sys_fstat(fd, st), st);
}

int __wrap_grove__sys_dir_stat(struct grove__sys_dir *d, const char *path, state_of *st)
{
	return coarse(__real_grove__sys_dir_stat(d, path, st), st);
}

int __wrap_grove__sys_dir_lstat(struct grove__sys_dir *d, const char *path, state_of *st)
{
	return coarse(__real_grove__sys_dir_lstat(d, path, st), st);
}

/* --------------------------------------------------------------- what reads it */

static void search_says(const struct place *p, const char *word, struct grove_buf *out)
{
	char query[20];

	snprintf(query, sizeof(query), "=%s", word);
	*out = answer(p, true, 0, query, NULL);
}

static void list_says(const struct place *p, unsigned flags, struct grove_buf *out)
{
	struct grove_list_options opt = { .size = sizeof(opt), .flags = GROVE_LIST_ALL | flags };
	struct grove *g = open_world(p, true);
	struct grove_list *l;

	assert_int_equal(grove_list(g, &opt, &l), 0);
	for (size_t i = 0; i < grove_list_count(l); i++)
		assert_int_equal(grove__buf_addf(out, "%s %llu\n", grove_list_at(l, i)->first_message,
						 (unsigned long long)grove_list_at(l, i)->entries), 0);
	grove_list_free(l);
	grove_close(g);
}

static void usage_says(const struct place *p, struct grove_buf *out)
{
	struct grove_usage_options opt = { .size = sizeof(opt) };
	struct grove *g = open_world(p, true);
	struct grove_usage *u;

	assert_int_equal(grove_usage(g, &opt, &u), 0);
	assert_int_equal(grove__buf_addf(out, "usage %llu", (unsigned long long)grove_usage_totals(u)->output), 0);
	grove_usage_free(u);
	grove_close(g);
}

static void write_one(const struct place *p, const char *word, int output)
{
	char text[1000];
	int n = snprintf(text, sizeof(text),
			 "{\"type\":\"session\",\"version\":3,\"id\":\"id-0\",\"timestamp\":\"2026-05-03T09:00:00.000Z\",\"cwd\":\"/w\"}\n"
			 "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-05-03T09:00:01.000Z\","
			 "\"message\":{\"role\":\"user\",\"content\":\"%s\"}}\n"
			 "{\"type\":\"message\",\"id\":\"00000002\",\"parentId\":\"00000001\",\"timestamp\":\"2026-05-03T09:00:02.000Z\","
			 "\"message\":{\"role\":\"assistant\",\"content\":[],\"provider\":\"p\",\"model\":\"m\",\"stopReason\":\"stop\","
			 "\"usage\":{\"input\":1,\"output\":%d,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":9}}}\n",
			 word, output);
	int fd = open(p->s[0].path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0 && n > 0 && n < (int)sizeof(text));
	assert_int_equal(write(fd, text, (size_t)n), n);
	close(fd);
}

static void assert_says(const struct grove_buf *b, const char *what, const char *text)
{
	if (!b->ptr || !strstr(b->ptr, text))
		fail_msg("%s: no %s in %s", what, text, b->ptr ? b->ptr : "nothing");
}

/* Everything that is cached, with what is in the session now. */
static void assert_all_say(const struct place *p, const char *word, const char *output)
{
	struct grove_buf b[4] = { { .len = 0 } };

	search_says(p, word, &b[0]);
	assert_says(&b[0], "search", word);
	list_says(p, 0, &b[1]);
	assert_says(&b[1], "list", word);
	list_says(p, GROVE_LIST_SHAPE, &b[2]);
	assert_says(&b[2], "long list", word);
	usage_says(p, &b[3]);
	assert_says(&b[3], "usage", output);
	for (int i = 0; i < 4; i++)
		grove__buf_release(&b[i]);
}

static void a_change_in_the_same_second_is_noticed(void **state)
{
	static const int64_t later[] = { 0, 150, 990, 1500, 2400 };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++) {
		now_ms = HELD * 1000 + later[i];
		write_one(p, "zebrafish", 1000);
		assert_all_say(p, "zebrafish", "usage 1000");
		write_one(p, "armadillo", 2000);
		now_ms = HELD * 1000 + later[i] + 60000;
		assert_all_say(p, "armadillo", "usage 2000");
		/* what has been remembered by now would be believed, so the next round has another cache */
		snprintf(p->cache, sizeof(p->cache), "%s/c%zu", p->dir, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_change_in_the_same_second_is_noticed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
