/*
 * dialect/pi.h: what the files of the pi dialect share.
 */
#ifndef GROVE_DIALECT_PI_H
#define GROVE_DIALECT_PI_H

#include "dialect/dialect.h"
#include "json/out.h"

/* Indexes in the table of members, in pi.c. */
enum {
	PI_TYPE, PI_ID, PI_PARENT, PI_TIME, PI_VERSION, PI_CWD, PI_PARENT_SESSION,
	PI_TARGET, PI_LABEL, PI_NAME, PI_CUSTOM_TYPE,
	PI_TITLE, PI_TITLE_SOURCE, PI_SHORT_SUMMARY,
	PI_BARE_ROLE, PI_MESSAGE, PI_ROLE, PI_MESSAGE_TIME, PI_CONTENT,
	PI_MEMBERS
};

/* Version 1 had no ids. */
#define PI_IDS_SINCE 2

/* The customType of a line that persists a leaf. */
#define PI_LEAF_MARK "grove.leaf"

/*
 * The family. xcsh and oh-my-pi are derived from pi: the same tree, the same header, and
 * most of the same types. The pi files have the common part; each agent's own spelling is
 * in its table of types, and in the slots that it fills with its own functions.
 */

/* How a type is spelled. */
struct grove__pi_shape {
	enum grove_kind kind;
	const char *type;
	bool base_last;               /* id, parent and time are at the end */
	struct {
		const char *name;
		const char *fill;     /* raw, used if the member is absent; NULL to leave it out */
	} members[10];                /* its own, in order */
};

/* The types that an agent knows. Others are kept, but have no meaning. */
struct grove__pi_words {
	const struct grove__pi_shape *shapes;
	size_t nr;
};

extern const struct grove__pi_words grove__pi_words;
const struct grove__pi_shape *grove__pi_shape(const struct grove__pi_words *words,
					      enum grove_kind kind);
enum grove_kind grove__pi_kind(const struct grove__pi_words *words, struct grove_slice raw_type);

/* pi.c */
extern const struct grove__json_member grove__pi_members[PI_MEMBERS];
enum grove__line_class grove__pi_index_as(const struct grove__pi_words *words,
					  const struct grove__json_line *l, const char *line,
					  struct grove__arena *tmp, struct grove__entry *e);
void grove__pi_header(const struct grove__json_line *l, const char *line,
		      struct grove__arena *keep, struct grove__header *h);
enum grove_role grove__pi_role(struct grove_slice raw_role);
/* Decodes a raw string: in place if it is plain, else in the arena. */
struct grove_slice grove__pi_text(struct grove__arena *tmp, struct grove_slice raw);
/* What `new Date(raw)` gives: ms or GROVE_NO_TIME. */
int64_t grove__pi_date(struct grove__arena *tmp, struct grove_slice raw);

/* pi_text.c */
/* Gets the text of a content: a string, or its text blocks separated by `between`. */
int grove__pi_content_text(struct grove_slice content, char between, struct grove_buf *out);
int grove__pi_list(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		   const struct grove__entry *e, struct grove__summary *sum);
int grove__pi_pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		     grove_piece_fn *fn, void *payload);
struct grove_slice grove__pi_prompt(struct grove_slice line, enum grove_kind kind);

/* pi_context.c */
enum grove__setting grove__pi_sets(enum grove_kind kind, enum grove_role role);
int grove__pi_settings(const struct grove__set_by *lines, size_t nr, struct grove_buf *out);
int grove__pi_first_kept(struct grove_slice line, struct grove_buf *out, bool *after);
int grove__pi_edit(struct grove_slice line, struct grove_buf *target, struct grove_slice *content);
int grove__pi_fit_edit(struct grove_slice input, enum grove_kind kind, enum grove_role role,
			struct grove_buf *out);
int grove__pi_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		       int64_t time, const int64_t *next, const struct grove_slice *edit,
		       const struct grove__blob_source *blobs,
		       int (*fn)(void *payload, struct grove_slice json), void *payload);
int grove__pi_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		  int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);

/* pi_system.c */
int grove__pi_system(const struct grove_slice *messages, size_t nr, int64_t time,
		     struct grove_buf *out);

/* pi_subagents.c */
extern const struct grove__delegation grove__pi_delegation;

/* pi_write.c */
int grove__pi_compose_header(const struct grove__header_in *in, struct grove_buf *out);
int grove__pi_compose(const struct grove__input *in, const struct grove__place *at,
		      struct grove_slice system, struct grove_buf *out, struct grove_buf *target,
		      struct grove_detail *d);
int grove__pi_compose_as(const struct grove__pi_words *words, const struct grove__input *in,
			 const struct grove__place *at, struct grove_slice system,
			 struct grove_buf *out, struct grove_buf *target, struct grove_detail *d);
/* Writes the time as text, "" outside the range of a date; and a member that may be absent. */
void grove__pi_put_time(struct grove__out *o, const char *name, int64_t time);
void grove__pi_put_tristate(struct grove__out *o, const char *name, enum grove_tristate is);
int grove__pi_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
		    struct grove_detail *d);
void grove__pi_input(const struct grove__json_line *l, const char *line, struct grove__input *out);
enum grove_kind grove__pi_input_kind_as(const struct grove__pi_words *words,
					const struct grove__input *in);
bool grove__pi_bare(const struct grove__input *in, enum grove_role *role);
bool grove__pi_starts_file(enum grove_kind kind, enum grove_role role);
/*
 * Returns true if the member is a message. A very long one may not be in memory, but then
 * it exists.
 */
bool grove__pi_has_message(const struct grove__json_line *l, const char *line, unsigned member);
/* Turns a message entry without a message into a custom entry, a node without content. */
int grove__pi_mute(struct grove_slice line, struct grove_buf *out);
int grove__pi_relink(struct grove_slice line, struct grove_slice parent,
		     const struct grove_slice *first_kept, const char *session, struct grove_buf *out);
int grove__pi_move_header(struct grove_slice line, const char *cwd, const char *from,
			  struct grove_buf *out);
int grove__pi_migrate(struct grove_slice line, const struct grove__migrate *m,
		      struct grove_buf *out);

/* pi_names.c */
size_t grove__pi_entry_id(const uint8_t random[16], bool again, char out[40]);
size_t grove__pi_line_id(struct grove_slice session, uint64_t line, unsigned attempt,
			     char out[40]);
bool grove__pi_session_id_ok(struct grove_slice id);
#define grove__pi_id_rule                                                                \
	"Session id must be non-empty, contain only alphanumeric characters, '-', '_' and '.', " \
	"and start and end with an alphanumeric character"
void grove__pi_session_id(int64_t time, uint64_t seq, const uint8_t random[8], char out[40]);
int grove__pi_clean_name(struct grove_slice name, struct grove_buf *out);
int grove__pi_project(const struct grove__env *env, const char *cwd, struct grove_buf *out);
int grove__pi_file_name(int64_t time, const char *id, struct grove_buf *out);
bool grove__pi_parse_file_name(struct grove_slice name, int64_t *time, struct grove_slice *id);
int grove__pi_database(const char *path, struct grove_buf *out);
int grove__pi_roots(const struct grove__env *env,
		    int (*fn)(void *payload, const char *agent, const char *dir, bool flat),
		    void *payload);

#endif
