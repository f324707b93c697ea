/*
 * catalog/list_made.c: what a list was made from, and whether that has changed.
 *
 * The states of all directories and files, each from before it was read. One that is not
 * settled may change without a trace; then nothing can be said of the list.
 */
#include "catalog/list.h"
#include "digest/digest.h"

#include "base/array.h"
#include "store/jsonl.h"

/* Comparing takes a microsecond each, for which whoever asks should not have to wait long. */
#define SOURCES_MAX 512

struct grove__list_source {
	const char *path;
	const char *asked;           /* files next to it, see grove__digest_note(); or NULL */
	struct grove__log_state was;
};

static int add(struct grove_list *l, const char *path, const char *asked, const struct grove__log_state *was)
{
	l->fragile |= l->nr_sources == SOURCES_MAX || (was->ctime_ns && !grove__sys_settled(was->ctime_ns)) ||
		      grove__array_room(&l->sources, &l->cap_sources, l->nr_sources, sizeof(*l->sources));
	path = l->fragile ? NULL : grove__arena_dup(&l->texts, grove__slice_str(path));
	asked = asked && path ? grove__arena_dup(&l->texts, grove__slice_str(asked)) : NULL;
	l->fragile |= !path || l->texts.failed;
	if (!l->fragile)
		l->sources[l->nr_sources++] = (struct grove__list_source){ path, asked, *was };
	return l->fragile;
}

static int add_path(void *payload, const char *path)
{
	struct grove__log_state now;

	(void)grove__state_at(path, &now);
	return add(payload, path, NULL, &now);
}

void grove__list_made_of(struct grove *g, struct grove_list *l)
{
	l->noted = true;
	for (size_t i = 0; i < g->nr_roots && !l->fragile; i++)
		l->fragile = !g->roots[i].dir || grove__store_jsonl_dirs(g->roots[i].dir, true, add_path, l) != 0;
}

void grove__list_made_with(struct grove_list *l, const char *path, const char *asked,
			   const struct grove__log_state *was)
{
	struct grove_buf own = GROVE_BUF_INIT;
	struct grove_slice name = grove__slice_str(path);
	struct grove__log_state now;

	if (l->fragile || add(l, path, asked, was) || asked)
		return;
	/* what hosts store with it; a directory that is created changes the one that it is in */
	grove__slice_cut_end(&name, ".jsonl");
	l->fragile = grove__buf_add_slice(&own, name);
	if (!l->fragile && !grove__state_at(own.ptr, &now))
		l->fragile = grove__buf_add_str(&own, "/" GROVE__JSONL_VALUES) != 0 || add_path(l, own.ptr) != 0;
	grove__buf_release(&own);
}

bool grove__list_holds(const struct grove_list *l)
{
	bool holds = l->noted && !l->fragile;
	struct grove__log_state now;

	for (size_t i = 0; holds && i < l->nr_sources; i++) {
		const struct grove__list_source *s = &l->sources[i];

		if (s->asked) {
			holds = grove__digest_holds(s->asked, s->path);
		} else {
			(void)grove__state_at(s->path, &now);
			holds = grove__state_same(&s->was, &now);
		}
	}
	return holds;
}
