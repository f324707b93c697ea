/*
 * tests/runtime/suite_lease.c: leases: the right to write, for a limited time.
 */
#include <sys/wait.h>
#include <time.h>

#include "runtime.h"
#include "../lib/calls.h"

#define LONG 600000

/* Waits until a lease has expired. */
static void outlast(const struct grove_lease *x)
{
	struct timespec now, pause = { .tv_nsec = 1000000 };

	do {
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_REALTIME, &now);
	} while ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 <= x->until);
}

/* Opens a handle that may rewrite a file even if others have it open. */
static struct grove_session *writer(struct grove *g, const char *id)
{
	struct grove_session *s;

	OK(g, grove_session_open(g, id, GROVE_OPEN_WRITE | GROVE_OPEN_FORCE, &s));
	return s;
}

/* Opens two handles on one session, as two processes if that is possible. */
static void two_writers(struct world *w, struct grove_session **s, struct grove_session **t)
{
	struct grove_session *first = four(w);
	char id[64];

	snprintf(id, sizeof(id), "%s", grove_session_id(first));
	grove_session_close(first);
	*s = writer(w->g, id);
	*t = writer(w->other, id);
}

static void assert_refused(struct grove_session *s, int rc, const char *what)
{
	struct grove_detail d;

	grove_session_error(s, &d);
	if (rc != GROVE_ECONFLICT || !strstr(d.message, "lease"))
		fail_msg("%s: %s: %s", what, grove_error_name(rc), d.message);
}
#define REFUSED(s, call) assert_refused(s, call, #call)

/* Asserts that nothing this handle tries to write is stored. */
static void assert_fenced(struct world *w, struct grove_session *s)
{
	struct grove_session *t = again(w, s, GROVE_OPEN_READ);
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };
	struct grove_buf raw = raw_of(t);
	uint64_t rev = rev_of(t);
	char to[400];

	snprintf(to, sizeof(to), "%s/elsewhere", w->dir);
	REFUSED(s, grove_session_append(s, json, NULL, NULL));
	REFUSED(s, grove_session_update(s, "b", "/message/content", "\"x\""));
	REFUSED(s, grove_session_set_name(s, "name", GROVE_NAME_BY_USER, NULL));
	REFUSED(s, grove_session_append_label(s, "b", "mark", NULL, NULL));
	REFUSED(s, branch_from(s, "b", &b, NULL));
	REFUSED(s, grove_session_set_leaf(s, "a", LEAF(GROVE_LEAF_PERSIST), NULL));
	REFUSED(s, grove_session_move(s, to));
	REFUSED(s, grove_session_forget(s, "c", NULL));
	REFUSED(s, grove_session_forget(s, "d", NULL));
	REFUSED(s, grove_session_value_put(s, "agentId", text("x")));
	assert_raw(t, &raw);
	assert_int_equal(rev_of(t), rev);
	assert_leaf(s, grove_session_leaf(t));
	assert_string_equal(grove_session_cwd(s), w->cwd);
	grove_session_close(t);
	t = again(w, s, GROVE_OPEN_READ);
	assert_raw(t, &raw);
	assert_string_equal(grove_session_cwd(t), w->cwd);
	grove_buf_release(&raw);
	grove_session_close(t);
}

static void who_has_it_writes_and_nobody_else(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *t;
	struct grove_lease x = { .size = sizeof(x) };

	two_writers(w, &s, &t);
	OK(w->g, grove_session_lease_get(s, &x));
	assert_string_equal(x.owner, "");
	assert_int_equal(x.number, 0);
	OK(w->g, grove_session_lease_take(s, "one", LONG, &x));
	assert_string_equal(x.owner, "one");
	assert_int_equal(x.number, 1);
	OK(w->other, grove_session_lease_get(t, &x));
	assert_string_equal(x.owner, "one");
	GOT(w->other, grove_session_lease_take(t, "two", LONG, &x), GROVE_ECONFLICT);
	assert_fenced(w, t);
	add(s, "e", "user");
	OK(w->g, grove_session_update(s, "b", "/message/content", "\"x\""));
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	OK(w->g, grove_session_lease_release(s));
	OK(w->g, grove_session_lease_get(s, &x));
	assert_string_equal(x.owner, "");
	/* it is free again: everybody may write, with a lease or without */
	add(t, "f", "user");
	add(s, "g", "user");
	assert_path(s, "a b f g");
	OK(w->other, grove_session_lease_take(t, "two", LONG, &x));
	assert_int_equal(x.number, 2);
	grove_session_close(t);
	grove_session_close(s);
}

static void holding_on_to_it_keeps_its_number(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_lease x = { .size = sizeof(x) }, y = { .size = sizeof(y) };

	OK(w->g, grove_session_lease_take(s, "one", 1000, &x));
	OK(w->g, grove_session_lease_take(s, "one", LONG, &y));
	assert_int_equal(x.number, y.number);
	assert_true(y.until > x.until);
	OK(w->g, grove_session_lease_release(s));
	OK(w->g, grove_session_lease_release(s));
	OK(w->g, grove_session_lease_take(s, "one", LONG, NULL));
	OK(w->g, grove_session_lease_get(s, &y));
	assert_int_equal(y.number, x.number + 1);
	grove_session_close(s);
}

static void renewing_holds_on_and_never_takes(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *t;
	struct grove_lease x = { .size = sizeof(x) }, y = { .size = sizeof(y) };

	two_writers(w, &s, &t);
	GOT(w->g, grove_session_lease_renew(s, LONG, NULL), GROVE_ECONFLICT);
	OK(w->g, grove_session_lease_take(s, "one", 1000, &x));
	GOT(w->g, grove_session_lease_renew(s, 0, NULL), GROVE_EINVAL);
	OK(w->g, grove_session_lease_renew(s, LONG, &y));
	assert_int_equal(x.number, y.number);
	assert_string_equal(y.owner, "one");
	assert_true(y.until > x.until);
	/* another handle does not hold it, even if the owner's name is the same */
	GOT(w->other, grove_session_lease_renew(t, LONG, NULL), GROVE_ECONFLICT);
	/* it is taken over under the same name */
	OK(w->other, grove_session_lease_take(t, "one", LONG, &y));
	GOT(w->g, grove_session_lease_renew(s, LONG, NULL), GROVE_ECONFLICT);
	OK(w->other, grove_session_lease_renew(t, LONG, NULL));
	OK(w->other, grove_session_lease_release(t));
	GOT(w->other, grove_session_lease_renew(t, LONG, NULL), GROVE_ECONFLICT);
	grove_session_close(t);
	grove_session_close(s);
}

static void after_its_time_another_may_take_it_over(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *t;
	struct grove_lease x = { .size = sizeof(x) }, y = { .size = sizeof(y) };

	two_writers(w, &s, &t);
	OK(w->g, grove_session_lease_take(s, "one", 1, &x));
	outlast(&x);
	/* it has expired, but nobody has taken it: it still counts */
	add(s, "e", "user");
	OK(w->other, grove_session_lease_take(t, "two", LONG, &y));
	assert_int_equal(y.number, x.number + 1);
	assert_fenced(w, s);
	add(t, "f", "user");
	assert_path(t, "a b c d e f");
	/*
	 * this handle stays refused when the other gives its lease back, since what it knows is old
	 */
	OK(w->other, grove_session_lease_release(t));
	assert_fenced(w, s);
	/* until it takes a new lease, or gives up its own */
	OK(w->g, grove_session_lease_take(s, "one", LONG, &x));
	assert_int_equal(x.number, y.number + 1);
	add(s, "g", "user");
	assert_path(s, "a b c d e f g");
	grove_session_close(t);
	grove_session_close(s);
}

static void the_same_owner_may_take_it_by_another_handle(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *t;
	struct grove_lease x = { .size = sizeof(x) }, y = { .size = sizeof(y) };

	two_writers(w, &s, &t);
	OK(w->g, grove_session_lease_take(s, "one", LONG, &x));
	/* as after a crash, when the old process may still be working */
	OK(w->other, grove_session_lease_take(t, "one", LONG, &y));
	assert_int_equal(y.number, x.number + 1);
	assert_fenced(w, s);
	add(t, "e", "user");
	OK(w->g, grove_session_lease_release(s));
	OK(w->g, grove_session_lease_get(s, &x));
	assert_int_equal(x.number, y.number);
	assert_string_equal(x.owner, "one");
	add(t, "f", "user");
	grove_session_close(t);
	grove_session_close(s);
}

static void nonsense_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_create_options o = { .size = sizeof(o) };
	char owner[GROVE_LEASE_OWNER_MAX + 2];
	struct grove_session *later;
	struct grove_lease x = { .size = sizeof(x) };

	memset(owner, 'o', sizeof(owner));
	owner[sizeof(owner) - 1] = '\0';
	GOT(w->g, grove_session_lease_take(s, owner, LONG, NULL), GROVE_EINVAL);
	GOT(w->g, grove_session_lease_take(s, "", LONG, NULL), GROVE_EINVAL);
	GOT(w->g, grove_session_lease_take(s, "one", 0, NULL), GROVE_EINVAL);
	GOT(w->g, grove_session_lease_take(s, "one", -1, NULL), GROVE_EINVAL);
	owner[GROVE_LEASE_OWNER_MAX] = '\0';
	OK(w->g, grove_session_lease_take(s, owner, LONG, &x));
	assert_string_equal(x.owner, owner);
	/* who only reads needs no lease and gets none, but can see who holds it */
	assert_true(grove_session_lease_take(t, "two", LONG, NULL) < 0);
	OK(w->other, grove_session_lease_get(t, &x));
	assert_string_equal(x.owner, owner);
	assert_path(t, "a b c d");
	OK(w->g, grove_session_create(w->g, &o, &later));
	GOT(w->g, grove_session_lease_take(later, "one", LONG, NULL), GROVE_ENOTSUP);
	grove_session_close(later);
	grove_session_close(t);
	grove_session_close(s);
}

static void taking_it_is_no_event(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x;
	struct grove_event e = { .size = sizeof(e) };
	uint64_t rev = rev_of(s);

	OK(w->other, watch_one(w->other, grove_session_id(s), GROVE_REV_NOW, &x));
	OK(w->g, grove_session_lease_take(s, "one", LONG, NULL));
	OK(w->g, grove_session_lease_release(s));
	assert_int_equal(grove_watch_next(x, 0, &e), 1);
	assert_int_equal(rev_of(s), rev);
	assert_int_equal(lines_of(s), 5);
	grove_watch_close(x);
	grove_session_close(s);
}

static void it_moves_with_the_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_lease x = { .size = sizeof(x) };
	char to[400];

	snprintf(to, sizeof(to), "%s/elsewhere", w->dir);
	OK(w->g, grove_session_lease_take(s, "one", LONG, NULL));
	OK(w->g, grove_session_move(s, to));
	add(s, "e", "user");
	OK(w->g, grove_session_update(s, "b", "/message/content", "\"x\""));
	t = again(w, s, GROVE_OPEN_WRITE);
	OK(w->other, grove_session_lease_get(t, &x));
	assert_string_equal(x.owner, "one");
	REFUSED(t, grove_session_append(t, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL));
	assert_path(t, "a b c d e");
	OK(w->g, grove_session_lease_release(s));
	add(t, "f", "user");
	grove_session_close(t);
	grove_session_close(s);
}

static void it_goes_with_the_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "phoenix");
	struct grove_lease x = { .size = sizeof(x) };

	OK(w->g, grove_session_lease_take(s, "one", LONG, NULL));
	OK(w->other, grove_remove(w->other, "phoenix", GROVE_REMOVE_NO_TRASH));
	grove_session_close(s);
	s = create(w, "phoenix");
	OK(w->g, grove_session_lease_get(s, &x));
	assert_string_equal(x.owner, "");
	add(s, "a", "user");
	grove_session_close(s);
}

int process_takes_lease(const struct world *w, const char *id)
{
	struct grove_session *t;

	return grove_session_open(see_world(w), id, GROVE_OPEN_WRITE, &t) ||
	       grove_session_lease_take(t, "dead", 300, NULL);
}

/* The holder disappears without giving it back: a process or, where there can be none, a handle. */
static void who_died_holds_it_until_its_time(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_lease x = { .size = sizeof(x) };
	pid_t pid;
	int status;

	if (w->kind->shared) {
		pid = start_process(w, "takes-lease", grove_session_id(s));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	} else {
		t = again(w, s, GROVE_OPEN_WRITE);
		OK(w->g, grove_session_lease_take(t, "dead", 300, NULL));
		grove_session_close(t);
	}
	OK(w->g, grove_session_lease_get(s, &x));
	assert_string_equal(x.owner, "dead");
	assert_int_equal(x.number, 1);
	outlast(&x);
	OK(w->g, grove_session_lease_take(s, "one", LONG, &x));
	assert_int_equal(x.number, 2);
	add(s, "e", "user");
	grove_session_close(s);
}

const struct CMUnitTest lease_cases[] = {
	CASE(who_has_it_writes_and_nobody_else),
	CASE(holding_on_to_it_keeps_its_number),
	CASE(renewing_holds_on_and_never_takes),
	CASE(after_its_time_another_may_take_it_over),
	CASE(the_same_owner_may_take_it_by_another_handle),
	CASE(nonsense_is_refused),
	CASE(taking_it_is_no_event),
	CASE(it_moves_with_the_session),
	CASE(it_goes_with_the_session),
	CASE(who_died_holds_it_until_its_time),
};
const size_t nr_lease_cases = ARRAY(lease_cases);
