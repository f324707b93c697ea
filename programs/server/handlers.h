/*
 * handlers.h: the functions behind the routes.
 *
 * Each is named after its method and subject. It returns 0, or an error with its detail in
 * r->detail (reply.h).
 */
#ifndef SERVER_HANDLERS_H
#define SERVER_HANDLERS_H

#include "server.h"

/* about.c */
int get_health(struct request *r);
int get_me(struct request *r);
int post_exchange(struct request *r);
int post_logout(struct request *r);
int get_blob(struct request *r);
/* assets.c */
int get_page(struct request *r);

/* list.c */
int get_sessions(struct request *r);
/* session.c */
int get_session(struct request *r);
int get_snapshot(struct request *r);
int get_path(struct request *r);
int get_agents(struct request *r);
int get_check(struct request *r);
/* context.c, diff.c */
int get_context(struct request *r);
int get_diff(struct request *r);
/* tree.c, entries.c, export.c */
int get_tree(struct request *r);
/*
 * Returns the session that another one was forked from, an id or a path, or NULL if the
 * client's token does not reach it. `l` has all sessions; NULL if it is to be made.
 */
/* Lists all sessions, reading no more than a limit of each. */
int list_all(struct grove *g, struct grove_list **out);
const char *parent_shown(struct request *r, const struct grove_list *l, const char *parent);
/* Writes the columns of the entries [from, upto) as members, without brackets. */
int put_tree_columns(struct doc *d, const struct grove_view *v, uint32_t from, uint32_t upto);
int get_entries(struct request *r);
int get_entry(struct request *r);
int get_text(struct request *r);
int get_media(struct request *r);
/* Returns true for types that browsers display and never execute: PNG, JPEG, GIF, WebP. */
int is_shown_image(const char *type);
int get_export(struct request *r);
/* usage.c: the time zone for days; the server's unless the request names one */
int read_zone(struct request *r, const char **tz);

/* search.c */
int get_search(struct request *r);
int get_search_inside(struct request *r);
int get_usage(struct request *r);
int get_session_usage(struct request *r);
/* events.c */
int get_events(struct request *r);
int get_session_events(struct request *r);
/* ingress.c */
int get_ingress(struct request *r);
int put_ingress(struct request *r);
int get_ingress_files(struct request *r);
int get_ingress_file(struct request *r);
int put_ingress_file(struct request *r);
/* create.c, change.c */
/*
 * Chooses the store for a new session in `cwd`, among those of the server: `wanted` unless
 * that is NULL. *store becomes NULL for the agents' own directories. Sets r->detail if it
 * fails.
 */
int choose_store(struct request *r, const char *wanted, const char *cwd, const char **store);
/*
 * Returns 1 if a session of any store has this id, whether the client may see it or not; else
 * 0. Sets r->detail if it fails.
 */
int id_is_taken(struct request *r, const char *id);
int post_session(struct request *r);
int post_branch(struct request *r);
int post_fork(struct request *r);
int delete_session(struct request *r);
int patch_session(struct request *r);
int post_entries(struct request *r);
int patch_entry(struct request *r);
int put_leaf(struct request *r);
int post_continue(struct request *r);
int put_label(struct request *r);

struct held;
/* change.c: which process has a session open and may write to it. */
struct in_use {
	char agent[64];
	int64_t pid;             /* 0 if none */
};
void look_for_opener(struct request *r, struct held *h, struct in_use *by);
/* Writes the member openBy. */
void put_opener(struct doc *d, const struct in_use *by);
/* Fails with GROVE_ECONFLICT, reported as LIVE, if a process has the session open. */
int refuse_live(struct request *r, struct held *h);
/* session.c: writes the record of a session, as members. */
void put_session_record(struct request *r, struct doc *d, struct held *h, const struct grove_view *v);
uint64_t count_entries(const struct grove_view *v);
/* Writes the owner as the member agentId. */
void put_owner(struct doc *d, struct held *h);
/* Writes the state that the reply shows, as members. */
void put_view_state(struct doc *d, const struct grove_view *v);
/* Returns the id of an entry, or NULL if it has none or `i` is GROVE_NO_ENTRY. */
const char *entry_id(const struct grove_view *v, uint32_t i, struct grove_entry *e);
/* Finds an entry by id, or "root". GROVE_ENOTFOUND, with r->detail, if there is none. */
int find_entry(struct request *r, const struct grove_view *v, const char *id, uint32_t *out);
/* Reads members of the request body. GROVE_EINVAL, with r->detail, if one has the wrong type. */
/* The body as one valid value. */
int body_value(struct request *r, struct grove_slice *out);
int body_object(struct request *r, struct grove_slice *out);
int body_text(struct request *r, struct grove_slice object, const char *name, char **out);
int body_number(struct request *r, struct grove_slice object, const char *name, uint64_t *out, int *given);
int body_flag(struct request *r, struct grove_slice object, const char *name, int *out);

#endif
