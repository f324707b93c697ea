/*
 * tests/conformance/suite_lease.c: leases: who may write.
 */
#include <pthread.h>
#include <unistd.h>

#include "suite_world.h"
#include "sys/clock.h"

#define LONG 60000

static void clock_passes(int64_t until)
{
	while (grove__sys_now_ms() <= until)
		usleep(200);
}

static struct grove_lease take(struct fixture *f, struct grove_store_log *log, const char *owner,
			       int64_t ms)
{
	struct grove_lease got;

	OK(grove__log_lease_take(log, owner, ms, &got, &f->d));
	return got;
}

static struct grove_lease look(struct fixture *f, struct grove_store_log *log)
{
	struct grove_lease got;

	OK(grove__log_lease_get(log, &got, &f->d));
	return got;
}

static struct grove_lease give_back(struct fixture *f, struct grove_store_log *log)
{
	OK(grove__log_lease_release(log, &f->d));
	return look(f, log);
}

static struct grove_store_log_stat stat_of(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_log_stat st;

	OK(grove__log_stat(log, &st, &f->d));
	return st;
}

/* Asserts that every way of writing is refused and leaves no trace. */
static void assert_shut_out(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_log_stat before = stat_of(f, log), after;
	struct grove_store_record rec = entry_of("new", "e", "");
	struct rewriting r = { &rec, 1, 0 };
	struct read_lines l = read_all(f, log, 4096), now;
	struct grove_slice first = grove__buf_slice(&l.line[0].bytes);
	struct grove_store_appended out;

	FAILS(GROVE_ECONFLICT, add(f, log, str("new"), GROVE_ANY_POS, &out));
	FAILS(GROVE_ECONFLICT, add(f, log, str("new"), before.tail, &out));
	FAILS(GROVE_ECONFLICT, grove__log_replace(log, 0, first, GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_cut(log, 0, before.tail, GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_ECONFLICT,
	      grove__log_rewrite(log, next_rewritten, &r, before.tail, GROVE_STORE_FORCE, &f->d));
	FAILS(f->kind->feed ? GROVE_ECONFLICT : GROVE_ENOTSUP,
	      grove__log_update(log, 0, first, &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &f->d));
	if (f->kind->meta) {
		FAILS(GROVE_ECONFLICT, grove__log_meta_put(log, "leaf", str("x"), &f->d));
		FAILS(GROVE_ECONFLICT, grove__log_meta_put(log, "name", str("x"), &f->d));
		FAILS(GROVE_ECONFLICT, grove__log_meta_put(log, "other", str("x"), &f->d));
	}
	after = stat_of(f, log);
	assert_int_equal(after.tail, before.tail);
	assert_int_equal(after.bytes, before.bytes);
	assert_int_equal(after.base, before.base);
	assert_int_equal(after.generation, before.generation);
	now = read_all(f, log, 4096);
	assert_int_equal(now.nr, l.nr);
	for (size_t i = 0; i < l.nr; i++)
		assert_line(&now.line[i], grove__buf_slice(&l.line[i].bytes));
	free_lines(&now);
	free_lines(&l);
}

/* Writes in every way, one after another; then the log has one line. */
static void assert_let_in(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_record rec = entry_of("new", "e", "");
	struct rewriting r = { &rec, 1, 0 };
	struct grove_store_appended out;

	/*
	 * after another handle has rewritten the log, this makes the handle continue with the new
	 * one
	 */
	stat_of(f, log);
	OK(add(f, log, str("line"), GROVE_ANY_POS, &out));
	OK(add(f, log, str("line"), out.tail, &out));
	OK(grove__log_cut(log, out.pos, out.tail, GROVE_SYNC_NONE, &f->d));
	OK(grove__log_rewrite(log, next_rewritten, &r, out.pos, GROVE_STORE_FORCE, &f->d));
	OK(grove__log_replace(log, 0, str("two"), GROVE_SYNC_NONE, &f->d));
	if (f->kind->feed)
		OK(grove__log_update(log, 0, str("two"), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE,
				     &f->d));
	if (f->kind->meta)
		OK(grove__log_meta_put(log, "leaf", str("x"), &f->d));
}

/* Two handles of one log that has two lines. */
struct two {
	struct grove_key key;
	struct grove_store_log *a, *b;
};

static struct two two_of(struct fixture *f)
{
	struct two t = { .key = key_of("p", "a.jsonl") };

	t.a = make_log(f, t.key, LINES("one", "two"));
	t.b = open_log(f, t.key, GROVE_STORE_WRITE);
	return t;
}

static void close_two(struct two *t)
{
	grove__log_close(t->a);
	grove__log_close(t->b);
}

/* ------------------------------------------------------------------- lease */

static void a_lease_is_taken_kept_and_given_back(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_store_log_stat before = stat_of(f, t.a), after;
	struct grove_lease x = look(f, t.b), y;
	int64_t now = grove__sys_now_ms();

	assert_string_equal(x.owner, "");
	assert_int_equal(x.number, 0);
	x = take(f, t.a, "alice", LONG);
	assert_string_equal(x.owner, "alice");
	assert_true(x.number > 0);
	assert_in_range(x.until, now + LONG, grove__sys_now_ms() + LONG);
	y = look(f, t.b);
	assert_string_equal(y.owner, "alice");
	assert_int_equal(y.number, x.number);
	assert_int_equal(y.until, x.until);
	/* a longer time, and a shorter one */
	y = take(f, t.a, "alice", 2 * LONG);
	assert_int_equal(y.number, x.number);
	assert_true(y.until >= x.until + LONG);
	y = take(f, t.a, "alice", LONG);
	assert_int_equal(y.number, x.number);
	assert_true(y.until < grove__sys_now_ms() + 2 * LONG);
	y = give_back(f, t.a);
	assert_string_equal(y.owner, "");
	assert_int_equal(y.number, x.number);
	assert_string_equal(look(f, t.b).owner, "");
	/* giving back a lease that one does not have does no harm */
	give_back(f, t.a);
	give_back(f, t.b);
	y = take(f, t.b, "bob", LONG);
	assert_true(y.number > x.number);
	give_back(f, t.a);
	assert_string_equal(look(f, t.a).owner, "bob");
	/* none of this is a change of the log */
	after = stat_of(f, t.a);
	assert_int_equal(after.tail, before.tail);
	assert_int_equal(after.base, before.base);
	assert_int_equal(after.generation, before.generation);
	close_two(&t);
}

static void who_has_no_lease_cannot_write_while_another_has(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_store_log *late;
	struct grove_store_appended out;

	/* while nobody has a lease, everybody may write */
	OK(add(f, t.a, str("three"), GROVE_ANY_POS, &out));
	OK(add(f, t.b, str("four"), GROVE_ANY_POS, &out));
	take(f, t.a, "alice", LONG);
	assert_shut_out(f, t.b);
	late = open_log(f, t.key, GROVE_STORE_WRITE);
	assert_shut_out(f, late);
	grove__log_close(late);
	assert_let_in(f, t.a);
	stat_of(f, t.b);
	OK(add(f, t.a, str("more"), GROVE_ANY_POS, &out));
	/* directly after an append by the holder of the lease */
	FAILS(GROVE_ECONFLICT, add(f, t.b, str("less"), GROVE_ANY_POS, &out));
	assert_shut_out(f, t.b);
	give_back(f, t.a);
	assert_let_in(f, t.b);
	assert_let_in(f, t.a);
	close_two(&t);
}

static void another_owner_has_to_wait(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_lease x = take(f, t.a, "alice", LONG), y;

	FAILS(GROVE_ECONFLICT, grove__log_lease_take(t.b, "bob", LONG, &y, &f->d));
	assert_string_equal(y.owner, "alice");
	assert_int_equal(y.number, x.number);
	FAILS(GROVE_ECONFLICT, grove__log_lease_take(t.b, "Alice", LONG, &y, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_lease_take(t.b, "alic", 1, &y, &f->d));
	/* the error names the holder */
	assert_int_equal(grove__log_lease_take(t.b, "bob", LONG, &y, &f->d), GROVE_ECONFLICT);
	assert_non_null(strstr(f->d.message, "alice"));
	assert_let_in(f, t.a);
	assert_shut_out(f, t.b);
	give_back(f, t.a);
	y = take(f, t.b, "bob", LONG);
	assert_true(y.number > x.number);
	assert_shut_out(f, t.a);
	assert_let_in(f, t.b);
	close_two(&t);
}

static void only_who_has_a_lease_renews_it(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_lease x, y;

	FAILS(GROVE_ECONFLICT, grove__log_lease_renew(t.a, LONG, &y, &f->d));
	x = take(f, t.a, "alice", LONG);
	OK(grove__log_lease_renew(t.a, 2 * LONG, &y, &f->d));
	assert_int_equal(y.number, x.number);
	assert_string_equal(y.owner, "alice");
	assert_true(y.until > x.until);
	y = look(f, t.b);
	assert_int_equal(y.number, x.number);
	FAILS(GROVE_ECONFLICT, grove__log_lease_renew(t.b, LONG, &y, &f->d));
	/* another handle takes it over under the same owner's name */
	y = take(f, t.b, "alice", LONG);
	FAILS(GROVE_ECONFLICT, grove__log_lease_renew(t.a, LONG, &x, &f->d));
	assert_shut_out(f, t.a);
	give_back(f, t.b);
	FAILS(GROVE_ECONFLICT, grove__log_lease_renew(t.b, LONG, &x, &f->d));
	x = look(f, t.b);
	assert_string_equal(x.owner, "");
	assert_int_equal(x.number, y.number);
	/* this handle has nothing to give back */
	OK(grove__log_lease_release(t.b, &f->d));
	close_two(&t);
}

static void a_lease_past_its_time_is_free(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_lease x = take(f, t.a, "alice", 1), y;
	struct grove_store_appended out;

	OK(add(f, t.a, str("three"), GROVE_ANY_POS, &out));
	clock_passes(x.until);
	/* an expired lease keeps nobody out, and stays valid until another one is taken */
	OK(add(f, t.b, str("four"), GROVE_ANY_POS, &out));
	OK(add(f, t.a, str("five"), GROVE_ANY_POS, &out));
	assert_let_in(f, t.a);
	y = take(f, t.a, "alice", 1);
	assert_int_equal(y.number, x.number);
	clock_passes(y.until);
	OK(add(f, t.a, str("six"), GROVE_ANY_POS, &out));
	y = take(f, t.b, "bob", LONG);
	assert_true(y.number > x.number);
	/*
	 * a holder with an earlier number can never write again, even after the later lease is gone
	 */
	assert_shut_out(f, t.a);
	assert_let_in(f, t.b);
	give_back(f, t.b);
	assert_shut_out(f, t.a);
	x = take(f, t.a, "alice", LONG);
	assert_true(x.number > y.number);
	assert_let_in(f, t.a);
	assert_shut_out(f, t.b);
	close_two(&t);
}

static void the_same_owner_takes_over_by_another_handle(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_lease x = take(f, t.a, "alice", LONG), y;
	struct grove_store_appended out;

	OK(add(f, t.a, str("three"), GROVE_ANY_POS, &out));
	y = take(f, t.b, "alice", LONG);
	assert_true(y.number > x.number);
	FAILS(GROVE_ECONFLICT, add(f, t.a, str("four"), out.tail, &out));
	assert_shut_out(f, t.a);
	assert_let_in(f, t.b);
	/* giving back a lease that was taken over does not end the new one */
	give_back(f, t.a);
	assert_int_equal(look(f, t.a).number, y.number);
	assert_string_equal(look(f, t.a).owner, "alice");
	assert_shut_out(f, t.a);
	x = take(f, t.a, "alice", LONG);
	assert_true(x.number > y.number);
	assert_shut_out(f, t.b);
	assert_let_in(f, t.a);
	close_two(&t);
}

static void a_lease_outlives_what_its_owner_writes_and_its_handle(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_lease x = take(f, t.a, "alice", LONG), y;

	assert_let_in(f, t.a);
	y = look(f, t.b);
	assert_string_equal(y.owner, "alice");
	assert_int_equal(y.number, x.number);
	assert_int_equal(y.until, x.until);
	grove__log_close(t.a);
	assert_shut_out(f, t.b);
	t.a = open_log(f, t.key, GROVE_STORE_WRITE);
	assert_shut_out(f, t.a);
	y = take(f, t.a, "alice", LONG);
	assert_true(y.number > x.number);
	assert_let_in(f, t.a);
	close_two(&t);
}

static void a_log_that_was_made_anew_is_nobodys(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);

	take(f, t.a, "alice", LONG);
	close_two(&t);
	/* a lease does not prevent removing the log */
	OK(grove__store_remove(f->st, &t.key, &f->d));
	t = two_of(f);
	assert_string_equal(look(f, t.b).owner, "");
	assert_let_in(f, t.b);
	close_two(&t);
}

static void who_reads_can_only_look(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_store_log *reader = open_log(f, t.key, GROVE_STORE_READ);
	struct grove_lease x;

	take(f, t.a, "alice", LONG);
	assert_string_equal(look(f, reader).owner, "alice");
	FAILS(GROVE_EACCESS, grove__log_lease_take(reader, "alice", LONG, &x, &f->d));
	assert_log(f, reader, LINES("one", "two"));
	grove__log_close(reader);
	close_two(&t);
}

static void an_owner_may_have_any_name_of_some_length(void **state)
{
	struct fixture *f = *state;
	struct two t = two_of(f);
	struct grove_lease x;
	char name[GROVE_LEASE_OWNER_MAX + 2];
	static const char *const odd[] = { "o'brien \"x\" `;--", "%s%n", "\xc3\xa9\xff", " " };

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	FAILS(GROVE_EINVAL, grove__log_lease_take(t.a, name, LONG, &x, &f->d));
	FAILS(GROVE_EINVAL, grove__log_lease_take(t.a, "", LONG, &x, &f->d));
	name[GROVE_LEASE_OWNER_MAX] = '\0';
	take(f, t.a, name, LONG);
	assert_string_equal(look(f, t.b).owner, name);
	give_back(f, t.a);
	for (size_t i = 0; i < ARRAY(odd); i++) {
		take(f, t.a, odd[i], LONG);
		assert_string_equal(look(f, t.b).owner, odd[i]);
		give_back(f, t.a);
	}
	close_two(&t);
}

struct taker {
	struct fixture *f;
	pthread_barrier_t *start;
	struct grove_store_log *log;
	struct grove_lease got;
	char owner[16];
	int rc;
};

static void *race_to_take(void *arg)
{
	struct taker *t = arg;

	pthread_barrier_wait(t->start);
	t->rc = grove__log_lease_take(t->log, t->owner, LONG, &t->got, NULL);
	return NULL;
}

static void of_many_who_take_it_one_succeeds(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct taker taker[6];
	pthread_t thread[ARRAY(taker)];
	pthread_barrier_t start;
	struct grove_store_appended out;
	unsigned taken = 0;

	grove__log_close(make_log(f, key, LINES("one")));
	pthread_barrier_init(&start, NULL, ARRAY(taker));
	for (size_t i = 0; i < ARRAY(taker); i++) {
		taker[i] = (struct taker){
			f, &start, open_log(f, key, GROVE_STORE_WRITE), { .number = 0 }, "", 0
		};
		snprintf(taker[i].owner, sizeof(taker[i].owner), "owner %zu", i);
		assert_int_equal(pthread_create(&thread[i], NULL, race_to_take, &taker[i]), 0);
	}
	for (size_t i = 0; i < ARRAY(taker); i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < ARRAY(taker); i++) {
		taken += !taker[i].rc;
		assert_true(!taker[i].rc || taker[i].rc == GROVE_ECONFLICT);
		assert_string_equal(taker[i].rc ? "" : look(f, taker[i].log).owner,
				    taker[i].rc ? "" : taker[i].owner);
		FAILS(taker[i].rc, add(f, taker[i].log, str("x"), GROVE_ANY_POS, &out));
	}
	assert_int_equal(taken, 1);
	assert_log(f, taker[0].log, LINES("one", "x"));
	for (size_t i = 0; i < ARRAY(taker); i++)
		grove__log_close(taker[i].log);
	pthread_barrier_destroy(&start);
}

const struct CMUnitTest lease_cases[] = {
	CASE(a_lease_is_taken_kept_and_given_back),
	CASE(who_has_no_lease_cannot_write_while_another_has),
	CASE(another_owner_has_to_wait),
	CASE(only_who_has_a_lease_renews_it),
	CASE(a_lease_past_its_time_is_free),
	CASE(the_same_owner_takes_over_by_another_handle),
	CASE(a_lease_outlives_what_its_owner_writes_and_its_handle),
	CASE(a_log_that_was_made_anew_is_nobodys),
	CASE(who_reads_can_only_look),
	CASE(an_owner_may_have_any_name_of_some_length),
	CASE(of_many_who_take_it_one_succeeds),
};
const size_t nr_lease_cases = ARRAY(lease_cases);
