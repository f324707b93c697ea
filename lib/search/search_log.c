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
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = grove__search_log_path(l, &path) ? grove__fail_nomem(d) : 0;

	src.path = path.len ? path.ptr : NULL;
	rc = rc ? rc : grove__image_open(&src, out, d);
	grove__buf_release(&path);
	return rc;
}

int grove__search_log_path(const struct grove__log_at *l, struct grove_buf *out)
{
	struct grove_key key = { l->project, l->session, l->sub };

	grove__buf_clear(out);
	/* the name in a database is not a file */
	return l->root->dir ? grove__store_describe(l->root->store, &key, out) : grove__buf_add(out, "", 0);
}

struct grove__search_like grove__search_log_like(const struct grove__log_state *st)
{
	return (struct grove__search_like){ .dev = (int64_t)st->dev, .ino = (int64_t)st->ino,
					    .size = (int64_t)st->size, .mtime = st->mtime_ns };
}

static void look_into_store(const struct grove__log_at *l, struct grove__search_like *out)
{
	struct grove_key key = { l->project, l->session, l->sub };
	struct grove__log_state state;
	struct grove_store_log_stat st;
	struct grove_store_log *log;

	if (grove__log_open(&log, l->root->store, &key, GROVE_STORE_READ, NULL))
		return;
	if (!grove__log_stat(log, &st, NULL)) {
		state = grove__log_state(&st);
		*out = grove__search_log_like(&state);
	}
	grove__log_close(log);
}

void grove__search_log_look(const struct grove__log_at *l, const char *path, struct grove__sys_dir *near,
			    struct grove__search_like *out)
{
	struct grove__sys_stat st;
	bool link;

	*out = (struct grove__search_like){ .gone = true };
	if (!*path) {
		look_into_store(l, out);
		return;
	}
	if (grove__sys_dir_lstat(near, path, &st))
		return;
	link = st.type == SYS_LINK;
	if (link && grove__sys_stat(path, &st))
		return;
	if (st.type == SYS_FILE)
		*out = (struct grove__search_like){ (int64_t)st.dev, (int64_t)st.ino, (int64_t)st.size,
						    st.mtime_ns, st.ctime_ns, .linked = link || st.nlink > 1 };
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
