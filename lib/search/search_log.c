/* search/search_log.c: one log, for the search. */
#include "search/search.h"

#include "sys/file.h"

int grove__search_log_open(struct grove *g, const struct grove__log_at *l,
			   struct grove_store_log **log, const struct grove__dialect **dialect,
			   struct grove_detail *d)
{
	struct grove_key key = { l->project, l->session, l->sub };
	int rc = *dialect ? 0 : grove__peek_root_dialect(g, l->root, &key, dialect, d);

	*log = NULL;
	rc = rc ? rc : grove__log_open(log, l->root->store, &key, GROVE_STORE_READ, d);
	/* a store that fell silent is reported once, not with each of its logs */
	if (rc == GROVE_EAWAY && d) {
		grove__hidden_store(g, l->root, rc, d);
		grove__fail_clear(d);
	}
	return rc;
}

int grove__search_log_image(const struct grove__log_at *l, const char *cache,
			    struct grove_store_log *log, const struct grove__dialect *dialect,
			    struct grove__image **out, struct grove_detail *d)
{
	struct grove__image_source src = { .log = log, .dialect = dialect, .cache = cache, .alone = true };

	src.path = grove__search_log_path(l);
	return grove__image_open(&src, out, d);
}

const char *grove__search_log_path(const struct grove__log_at *l)
{
	/* the name in a database is not a file */
	return l->root->dir ? l->path : NULL;
}

void grove__search_log_look(struct grove__log_at *l)
{
	struct grove_key key = { l->project, l->session, l->sub };
	struct grove_store_log_stat st;
	struct grove_store_log *log;

	if (l->root->dir) {
		grove__logs_look(l, NULL);
		return;
	}
	l->is_surveyed = false;
	if (grove__log_open(&log, l->root->store, &key, GROVE_STORE_READ, NULL))
		return;
	l->is_surveyed = !grove__log_stat(log, &st, NULL);
	if (l->is_surveyed)
		l->st = grove__log_state(&st);
	grove__log_close(log);
}

bool grove__search_log_gone(const struct grove__log_at *l)
{
	return !l->is_file && !l->is_surveyed;
}

const char *grove__search_log_name(const struct grove__log_at *l)
{
	const char *name = *l->sub ? l->sub : l->session, *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

int grove__search_log_id(const struct grove__log_at *l, const struct grove__image *im,
			 struct grove_buf *own, const char **out)
{
	struct grove_slice name = grove__slice_str(grove__search_log_name(l));
	int rc;

	*out = im->header.id;
	if (!grove__dialect_id_is_name(im->dialect) && im->header.id)
		return 0;
	grove__slice_cut_end(&name, ".jsonl");
	grove__buf_clear(own);
	rc = grove__buf_add_slice(own, name);
	*out = own->ptr;
	return rc;
}

const char *grove__search_log_agent(const struct grove__log_at *l,
				    const struct grove__dialect *dialect)
{
	return strcmp(l->root->agent, "grove") ? l->root->agent : dialect->name;
}
