/*
 * keyed/each.c: lists the logs of a store by key; removes and moves one.
 */
#include "keyed/keyed.h"

#include "base/array.h"

#include <stdlib.h>

/* Names are collected first, because the callback may change the store. */
struct names {
	const char *session;             /* only logs of this session; NULL for all */
	struct grove_key *list;
	size_t nr, cap;
	struct grove__arena texts;
	struct grove_detail *d;
};

static int collect(void *payload, const struct grove_key *key)
{
	struct names *n = payload;
	struct grove_key *k;

	if (n->session && strcmp(n->session, key->session))
		return 0;
	if (grove__array_room(&n->list, &n->cap, n->nr, sizeof(*n->list)))
		return grove__fail_nomem(n->d);
	k = &n->list[n->nr];
	k->project = grove__arena_dup(&n->texts, grove__slice_str(key->project));
	k->session = grove__arena_dup(&n->texts, grove__slice_str(key->session));
	k->subpath = grove__arena_dup(&n->texts, grove__slice_str(key->subpath));
	if (!k->project || !k->session || !k->subpath)
		return grove__fail_nomem(n->d);
	n->nr++;
	return 0;
}

static void release(struct names *n)
{
	grove__arena_release(&n->texts);
	free(n->list);
}

/* Collects the logs that belong to a session. */
static int collect_subs(struct grove_store *st, const struct grove_key *name, struct names *n,
			struct grove_detail *d)
{
	*n = (struct names){ .session = name->session, .d = d };
	grove__arena_init(&n->texts);
	return grove__store_list_subs(st, name->project, collect, n, d);
}

static int collect_under(struct grove_store *st, const struct grove_key *under, struct names *n,
			 struct grove_detail *d)
{
	struct grove__keyed_name name = { 0 };
	/* without a session, any one will do: only the project counts */
	struct grove_key key = under ? *under : (struct grove_key){ 0 };
	int rc = 0;

	if (under && !under->session)
		key.session = "";
	if (under)
		rc = grove__keyed_name_of(&key, &name, d);
	key = grove__keyed_name_key(&name);
	if (!rc && under && under->session) {
		rc = collect_subs(st, &key, n, d);
	} else {
		*n = (struct names){ .d = d };
		grove__arena_init(&n->texts);
		if (!rc)
			rc = grove__store_list(st, under ? key.project : NULL, collect, n, d);
	}
	n->session = NULL;
	grove__keyed_name_release(&name);
	return rc;
}

/* Gets the key of an open log. GROVE__KEYED_NO_KEY: no key has that name. */
static int key_of(struct grove_store_log *log, const struct grove_key *name,
		  struct grove__keyed_text *text, struct grove_detail *d)
{
	struct grove_buf value = GROVE_BUF_INIT;
	int rc = grove__keyed_text_of(name, NULL, text);

	if (rc == GROVE__KEYED_NEEDS_VALUE) {
		rc = grove__log_meta_get(log, GROVE__META_KEY, &value, d);
		rc = rc == GROVE_ENOTFOUND ? GROVE__KEYED_NO_KEY : rc ? rc : grove__keyed_text_of(name, &value, text);
	}
	grove__buf_release(&value);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}

static int measure(struct grove_store_log *log, unsigned flags, struct grove_log_item *item,
		   struct grove_detail *d)
{
	struct grove__keyed_ids count;
	struct grove_store_log_stat st;
	int rc = grove__log_stat(log, &st, d);

	if (rc)
		return rc;
	item->bytes = st.bytes;
	item->modified = st.mtime_ms;
	item->lines = grove__keyed_is_counted(&st) ? st.tail : GROVE_LOG_UNCOUNTED;
	if (item->lines != GROVE_LOG_UNCOUNTED || !(flags & GROVE_LOG_EACH_LINES))
		return 0;
	grove__keyed_ids_init(&count);
	rc = grove__keyed_ids_extend(&count, log, &st, NULL, d);
	item->lines = count.lines + count.open;
	grove__keyed_ids_release(&count);
	return rc;
}

/* Opens a log, and fills in the item. GROVE__KEYED_NO_KEY: it is gone by now, or has a name that no key has. */
static int open_item(struct grove_store *st, const struct grove_key *name, unsigned flags,
		     struct grove__keyed_text *text, struct grove_log_item *item,
		     struct grove_store_log **log, struct grove_detail *d)
{
	int rc = grove__log_open(log, st, name, GROVE_STORE_READ, d);

	if (!rc)
		rc = key_of(*log, name, text, d);
	if (!rc)
		rc = measure(*log, flags, item, d);
	item->key = text->key;
	return rc == GROVE_ENOTFOUND || rc == GROVE_ESTALE ? GROVE__KEYED_NO_KEY : rc;
}

int grove__keyed_each(struct grove *g, const char *store, const struct grove_key *under,
		      unsigned flags, grove__keyed_each_fn *fn, void *payload, struct grove_detail *d)
{
	struct grove__keyed_text text = { 0 };
	struct names n = { 0 };
	struct grove_store *st;
	struct grove_log_item item;
	int rc = grove__world_shared(g, store, &st, d);

	if (rc)
		return rc;
	rc = collect_under(st, under, &n, d);
	if (!rc && flags & GROVE__KEYED_EACH_SUBS)
		rc = grove__store_list_subs(st, NULL, collect, &n, d);
	for (size_t i = 0; i < n.nr && !rc; i++) {
		struct grove_store_log *log = NULL;

		rc = open_item(st, &n.list[i], flags, &text, &item, &log, d);
		rc = rc == GROVE__KEYED_NO_KEY ? 0 : rc ? rc : fn(payload, &item, log, d);
		grove__log_close(log);
	}
	grove__keyed_text_release(&text);
	release(&n);
	return rc;
}

/* ------------------------------------------------------------------ remove */

/*
 * The session has no log of its own, but others may belong to it. Removing a session
 * removes all of them at once, so it is created first. Returns 1 if there are none.
 */
static int remove_subs(struct grove_store *st, const struct grove_key *name, struct grove_detail *d)
{
	struct grove_store_log *log = NULL;
	struct names n;
	int rc = collect_subs(st, name, &n, d);

	if (!rc && !n.nr)
		rc = 1;
	release(&n);
	if (rc)
		return rc;
	rc = grove__log_open(&log, st, name, GROVE_STORE_CREATE, d);
	if (rc == GROVE_EEXIST)
		rc = 0;
	if (!rc)
		rc = grove__store_remove(st, name, d);
	grove__log_close(log);
	return rc;
}

int grove__keyed_remove(struct grove *g, const char *store, const struct grove_key *key,
			struct grove_detail *d)
{
	struct grove__keyed_name name = { 0 };
	struct grove_key stored;
	struct grove_store *st;
	int rc = grove__world_shared(g, store, &st, d);

	if (!rc)
		rc = grove__keyed_name_of(key, &name, d);
	if (!rc) {
		stored = grove__keyed_name_key(&name);
		rc = grove__store_remove(st, &stored, d);
		if (rc == GROVE_ENOTFOUND)
			rc = *stored.subpath ? 1 : remove_subs(st, &stored, d);
		if (rc == GROVE_ENOTFOUND)
			rc = 1;
	}
	grove__keyed_name_release(&name);
	return rc;
}

/* -------------------------------------------------------------------- move */

/* A moved log stores its new key, if its name does not contain all of it. */
static int keep_key(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct grove__keyed_name name = { 0 };
	struct grove_store_log *log = NULL;
	struct grove_key stored;
	int rc = grove__keyed_name_of(key, &name, d);

	if (!rc && name.cut) {
		stored = grove__keyed_name_key(&name);
		rc = grove__log_open(&log, st, &stored, GROVE_STORE_WRITE, d);
		if (!rc)
			rc = grove__log_meta_put(log, GROVE__META_KEY, grove__buf_slice(&name.text), d);
		grove__log_close(log);
	}
	grove__keyed_name_release(&name);
	return rc;
}


/* Collects the keys of what belongs to a session, before it moves. */
static int sub_keys(struct grove_store *st, const struct grove_key *name, struct names *keys,
		    struct grove_detail *d)
{
	struct grove__keyed_text text = { 0 };
	struct grove_log_item item;
	struct names n;
	int rc = collect_subs(st, name, &n, d);

	for (size_t i = 0; i < n.nr && !rc; i++) {
		struct grove_store_log *log = NULL;

		rc = open_item(st, &n.list[i], 0, &text, &item, &log, d);
		grove__log_close(log);
		if (!rc)
			rc = collect(keys, &(struct grove_key){ "", "", item.key.subpath });
		rc = rc == GROVE__KEYED_NO_KEY ? 0 : rc;
	}
	grove__keyed_text_release(&text);
	release(&n);
	return rc;
}

int grove__keyed_move(struct grove *g, const char *store, const struct grove_key *from,
		      const struct grove_key *to, struct grove_detail *d)
{
	struct grove__keyed_name a = { 0 }, b = { 0 };
	struct names subs = { .d = d };
	struct grove_key old, new, key;
	struct grove_store *st;
	int rc = grove__world_shared(g, store, &st, d);

	grove__arena_init(&subs.texts);
	if (!rc)
		rc = grove__keyed_name_of(from, &a, d);
	if (!rc)
		rc = grove__keyed_name_of(to, &b, d);
	if (!rc) {
		old = grove__keyed_name_key(&a);
		new = grove__keyed_name_key(&b);
		if (!*old.subpath)
			rc = sub_keys(st, &old, &subs, d);
		if (!rc)
			rc = grove__store_rename(st, &old, &new, d);
		__atomic_add_fetch(&g->log_moves, 1, __ATOMIC_RELEASE);
		if (!rc)
			rc = keep_key(st, to, d);
	}
	for (size_t i = 0; i < subs.nr && !rc; i++) {
		key = (struct grove_key){ to->project, to->session, subs.list[i].subpath };
		rc = keep_key(st, &key, d);
	}
	release(&subs);
	grove__keyed_name_release(&a);
	grove__keyed_name_release(&b);
	return rc;
}
