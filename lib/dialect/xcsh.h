/*
 * dialect/xcsh.h: what the files of the xcsh dialect share.
 */
#ifndef GROVE_DIALECT_XCSH_H
#define GROVE_DIALECT_XCSH_H

#include "dialect/pi.h"

/* --- xcsh.c: reading --- */

/* Like grove__pi_index_as(), plus title slots, and names from short summaries. */
enum grove__line_class grove__xcsh_index_as(const struct grove__pi_words *words,
					    const struct grove__json_line *l, const char *line,
					    struct grove__arena *tmp, struct grove__entry *e);
int grove__xcsh_list(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		     const struct grove__entry *e, struct grove__summary *sum);
bool grove__xcsh_starts_file(enum grove_kind kind, enum grove_role role);

/* --- xcsh_settings.c --- */

enum grove__setting grove__xcsh_sets(enum grove_kind kind, enum grove_role role);
int grove__xcsh_settings(const struct grove__set_by *lines, size_t nr, struct grove_buf *out);
int grove__omp_settings(const struct grove__set_by *lines, size_t nr, struct grove_buf *out);

/* --- xcsh_context.c --- */

/* Writes `,"name":value`, or nothing if the value is absent. */
int grove__xcsh_put_member(struct grove_buf *out, const char *name, struct grove_slice raw);
/*
 * Gets what a provider kept of the conversation when it compacted that itself: the raw
 * provider and items. Returns false if it did not.
 */
bool grove__xcsh_remote_history(struct grove_slice line, struct grove_slice *provider,
				struct grove_slice *items);
int grove__xcsh_first_kept(struct grove_slice line, struct grove_buf *out, bool *after);
/*
 * How an agent of the family presents entries that are not messages, up to the timestamp; 1
 * if not at all.
 */
struct grove__xcsh_voice {
	int (*compaction)(struct grove_buf *out, struct grove_slice line);
	int (*custom)(struct grove_buf *out, struct grove_slice line);
	/* Optional. True if the compaction says from when on it replaced the history. */
	bool (*rewritten)(struct grove_slice line);
	bool forgets_replay;          /* leave out what belonged to a provider's session */
};
int grove__xcsh_messages_as(const struct grove__xcsh_voice *voice, struct grove_slice line,
			    enum grove_kind kind, int64_t time, const int64_t *next,
			    const struct grove__blob_source *blobs,
			    int (*fn)(void *payload, struct grove_slice json), void *payload);
int grove__xcsh_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			 int64_t time, const int64_t *next, const struct grove_slice *edit,
			 const struct grove__blob_source *blobs,
			 int (*fn)(void *payload, struct grove_slice json), void *payload);

/* --- xcsh_write.c --- */

int grove__xcsh_compose_header(const struct grove__header_in *in, struct grove_buf *out);
int grove__xcsh_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
		      struct grove_detail *d);
int grove__xcsh_title(struct grove_slice line, const char *title, const char *source,
		      struct grove_buf *out);
int grove__xcsh_slot(const char *title, const char *source, int64_t time, struct grove_buf *out);
/*
 * Writes the slot again in place of this line, with the same length. Returns 1 if it is not
 * a slot, or has no room.
 */
int grove__xcsh_slot_change(struct grove_slice line, const char *title, const char *source,
			    const char *time, struct grove_buf *out);
const char *grove__xcsh_slot_source(struct grove_slice line);
int grove__xcsh_clean_name(struct grove_slice name, struct grove_buf *out);

/* --- xcsh_names.c: ids and directories; `agent` is "xcsh" or "omp" --- */

/*
 * The directory of sessions, blobs and history: ~/.xcsh/agent, or as the environment says,
 * or by XDG.
 */
int grove__xcsh_data_dir(const struct grove__env *env, const char *agent, struct grove_buf *out);
/* The same for the records of terminals. */
int grove__xcsh_state_dir(const struct grove__env *env, const char *agent, struct grove_buf *out);
int grove__xcsh_blobs_dir(const struct grove__env *env, const char *agent, struct grove_buf *out);
/* The file with its prompt history. */
int grove__xcsh_history_path(const struct grove__env *env, const char *agent, struct grove_buf *out);

int grove__xcsh_project(const struct grove__env *env, const char *cwd, struct grove_buf *out);
int grove__xcsh_old_projects(const struct grove__env *env, const char *cwd,
			     int (*fn)(void *payload, const char *project), void *payload);
int grove__xcsh_roots(const struct grove__env *env, const char *agent, grove__root_fn *fn,
		      void *payload);
extern const char *const grove__xcsh_beside[];
bool grove__xcsh_own_project(const char *name);
void grove__xcsh_session_id(int64_t time, uint64_t seq, const uint8_t random[8], char out[40]);
/* Returns when such an id was made, or GROVE_NO_TIME for another kind of id. */
int64_t grove__xcsh_session_id_time(struct grove_slice id);
size_t grove__xcsh_entry_id(const uint8_t random[16], bool again, char out[40]);

/* --- xcsh_crumb.c: the last session of a terminal --- */

/* Gets the name of the terminal. Returns 1 if it has none. */
int grove__xcsh_terminal(const struct grove__env *env, struct grove_buf *out);
int grove__xcsh_crumb_path(const struct grove__env *env, const char *agent, struct grove_buf *out);
int grove__xcsh_crumb_compose(const char *cwd, const char *path, struct grove_buf *out);
bool grove__xcsh_crumb_parse(struct grove_slice text, struct grove_slice *cwd,
			     struct grove_slice *path);

/* --- xcsh_prepare.c, xcsh_restore.c: lines and blobs --- */

/* The prefix of a reference; 64 lower-case hex digits follow. */
#define GROVE__XCSH_BLOB "blob:sha256:"

/*
 * Prepares a line for storage: moves images to blobs, cuts overlong strings, removes what
 * must not be stored. `line` is spelled as by JSON.stringify, and so is the result. `put`
 * is called before any line that names the blob exists; without a sink images stay in the
 * line.
 *
 * Returns 0; 1 if the line needs no change; GROVE_ENOMEM or the result of `put`. `out` is
 * empty unless it returns 0.
 */
int grove__xcsh_prepare(struct grove_slice line, const struct grove__blob_sink *sink,
			struct grove_buf *out);
/* The same by oh-my-pi's rules: signed values are not changed, and more images go to blobs. */
int grove__omp_prepare(struct grove_slice line, const struct grove__blob_sink *sink,
		       struct grove_buf *out);

/*
 * Restores a message or an entry for readers: resolves all references, leaves out stale
 * replay metadata. What is not exactly a reference is left alone and not passed to `get`;
 * without a source all references are.
 *
 * Returns 0; 1 if nothing changes (`out` is empty); or GROVE_ENOMEM.
 */
int grove__xcsh_restore(struct grove_slice value, bool is_message,
			const struct grove__blob_source *source, struct grove_buf *out);
/* The same for blobs only: everything else stays as stored. */
int grove__xcsh_resolve(struct grove_slice line, const struct grove__blob_source *source,
			struct grove_buf *out);

/* --- xcsh_llm.c: what a model is sent --- */

/*
 * Turns the messages of a context into plain LLM messages. `fn` gets each, and the index of
 * the message it came from (the first, if several were merged; SIZE_MAX if it was added).
 * Most are passed on in their original bytes. Added ones get the time `now`.
 *
 * Returns 0, GROVE_ENOMEM, or the result of fn.
 */
int grove__xcsh_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		    int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);

/* --- xcsh.c, omp.c: the table --- */

/*
 * What xcsh and oh-my-pi have in common. Their tables in xcsh.c and omp.c begin with it,
 * and add the slots in which they differ.
 */
#define GROVE__XCSH_FAMILY \
	.version = 3, \
	.read.members = grove__pi_members, \
	.read.nr_members = PI_MEMBERS, \
	.read.id = "id", \
	.read.by_value = true, \
	.read.ids_since = PI_IDS_SINCE, \
	.read.line_id = grove__pi_line_id, \
	.text.pieces = grove__pi_pieces, \
	.text.prompt = grove__pi_prompt, \
	.list.line = grove__xcsh_list, \
	.list.modified_by_file = true, \
	.list.cuts_file_time = true, \
	.list.with_subagents = true, \
	.usage.members = grove__pi_bill_members, \
	.usage.nr_members = PI_BILL_MEMBERS, \
	.context.sets = grove__xcsh_sets, \
	.write.input = grove__pi_input, \
	.write.bare = grove__pi_bare, \
	.write.starts_file = grove__xcsh_starts_file, \
	.write.relink = grove__pi_relink, \
	.write.mute = grove__pi_mute, \
	.write.latch = true, \
	.write.fresh_labels = true, \
	.write.branch_names_target = true, \
	.names.entry_id = grove__xcsh_entry_id, \
	.names.session_id_ok = grove__pi_session_id_ok, \
	.names.session_id_rule = grove__pi_id_rule, \
	.names.clean = grove__xcsh_clean_name, \
	.paths.project = grove__xcsh_project, \
	.paths.old_projects = grove__xcsh_old_projects, \
	.paths.file_name = grove__pi_file_name, \
	.paths.parse_file_name = grove__pi_parse_file_name, \
	.paths.artifacts = true, \
	.paths.backups = true, \
	.paths.real_cwd = true, \
	.paths.loose_names = true, \
	.heads = &grove__heads_pi

#endif
