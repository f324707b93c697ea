/*
 * tests/unit/toy_list.h: what the toy whose logs are lists shares with the toy whose lists
 * begin with a part of another one.
 */
#ifndef TESTS_TOY_LIST_H
#define TESTS_TOY_LIST_H

#include "dialect/pi.h"

enum {
	LIST_ID, LIST_DIR, LIST_WHO, LIST_SAY, LIST_ROLE, LIST_ORIGIN, LIST_LINES, LIST_MEMBERS
};
extern const struct grove__json_member toy_list_members[LIST_MEMBERS];

/* Calls `fn` with ~/.`name`. */
int toy_list_root(const struct grove__env *env, const char *name, grove__root_fn *fn, void *payload);
void toy_list_header(const struct grove__json_line *l, const char *line, struct grove__arena *keep,
		     struct grove__header *h);
int toy_list_move(struct grove_slice line, const char *cwd, const char *from, struct grove_buf *out);

enum grove__line_class toy_list_index(const struct grove__json_line *l, const char *line,
				      struct grove__arena *tmp, struct grove__entry *e);
size_t toy_list_line_id(struct grove_slice session, uint64_t line, unsigned attempt, char out[40]);
int toy_list_pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role, grove_piece_fn *fn,
		    void *payload);
int toy_list_line(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		  const struct grove__entry *e, struct grove__summary *sum);
int toy_list_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role, int64_t time,
		      const int64_t *next, const struct grove_slice *edit,
		      const struct grove__blob_source *blobs, grove__json_fn *fn, void *payload);
void toy_list_input(const struct grove__json_line *l, const char *line, struct grove__input *out);
enum grove_kind toy_list_kind(const struct grove__input *in);
int toy_list_compose(const struct grove__input *in, const struct grove__place *at, struct grove_slice system,
		     struct grove_buf *out, struct grove_buf *target, struct grove_detail *d);
int toy_list_relink(struct grove_slice line, struct grove_slice parent, const struct grove_slice *first_kept,
		    const char *session, struct grove_buf *out);

/* All but the name, the header and the places. */
#define TOY_LIST \
	.version = 1, \
	.read = { .members = toy_list_members, .nr_members = LIST_MEMBERS, .id = "who", \
		  .index = toy_list_index, .ids_since = GROVE__IDS_NEVER, .line_id = toy_list_line_id }, \
	.text = { .pieces = toy_list_pieces }, \
	.list = { .line = toy_list_line }, \
	.context = { .messages = toy_list_messages }, \
	.write = { .input = toy_list_input, .kind = toy_list_kind, .compose = toy_list_compose, \
		   .starts_file = grove__pi_starts_file, .relink = toy_list_relink, \
		   .move = toy_list_move }, \
	.names = { .entry_id = grove__pi_entry_id, .session_id_ok = grove__pi_session_id_ok, \
		   .session_id_rule = grove__pi_id_rule, .session_id = grove__pi_session_id, \
		   .clean = grove__pi_clean_name }, \
	.paths.project = grove__pi_project, \
	.paths.file_name = grove__pi_file_name, \
	.paths.parse_file_name = grove__pi_parse_file_name

#endif
