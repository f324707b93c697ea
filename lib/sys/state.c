/*
 * sys/state.c: what a log looked like, and what can be said of it now.
 */
#include "sys/state.h"

#include "sys/clock.h"

/* What changes within a tick of the clock has the same time. */
#define TICK_MS 100
/* Some file systems count seconds, and some of these only every other one. */
#define COARSE_MS 2500
#define SECOND_NS INT64_C(1000000000)

struct grove__log_state grove__state_of(const struct grove__sys_stat *st)
{
	return (struct grove__log_state){ st->dev, st->ino, st->size, st->mtime_ns, st->ctime_ns };
}

int grove__state_at(const char *path, struct grove__log_state *out)
{
	struct grove__sys_stat st;
	int err = grove__sys_stat(path, &st);

	*out = err ? (struct grove__log_state){ 0 } : grove__state_of(&st);
	return err;
}

bool grove__state_grown(const struct grove__log_state *was, const struct grove__log_state *now)
{
	return was->dev == now->dev && was->ino == now->ino && was->size <= now->size;
}

bool grove__state_as_long(const struct grove__log_state *a, const struct grove__log_state *b)
{
	return grove__state_grown(a, b) && a->size == b->size;
}

bool grove__state_same(const struct grove__log_state *a, const struct grove__log_state *b)
{
	return grove__state_as_long(a, b) && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

bool grove__sys_settled(int64_t ctime_ns)
{
	int64_t age = grove__sys_now_ms() - ctime_ns / 1000000;

	return ctime_ns && age >= (ctime_ns % SECOND_NS ? TICK_MS : COARSE_MS);
}
