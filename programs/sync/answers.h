/*
 * answers.h: parses a server's answers.
 *
 * A server may be anybody's. Its JSON is read nowhere else.
 */
#ifndef SYNC_ANSWERS_H
#define SYNC_ANSWERS_H

#include <grove.h>

/* The maximum number of files and logs that belong to a session. */
#define REMOTE_NAMES_MAX 10000u

struct remote_log {
	char *sub;
	uint64_t seq, generation;
	uint64_t modified;           /* ms; 0: unknown */
};

struct remote_file {
	char *name;
	uint64_t size;
};

/* A session there. Texts are "" if unknown. */
struct remote_session {
	int there;
	char *id, *key, *dialect, *cwd, *file, *leaf;
	int old;
	uint64_t seq, generation, modified;
	struct remote_log *log;      /* by name, each once */
	size_t nr_logs;
	struct remote_file *file_at; /* the same */
	size_t nr_files;
	size_t refused;              /* invalid names */
	int too_many;                /* names; neither list is complete */
};

/* Parses GET /ingress/{id}/files. GROVE_EJSON if it makes no sense. Release it in any case. */
int remote_parse_about(struct grove_slice json, struct remote_session *out);
void remote_session_release(struct remote_session *s);
/* Looks up a name; NULL if there is none. */
const struct remote_log *remote_session_log(const struct remote_session *s, const char *sub);
const struct remote_file *remote_session_file(const struct remote_session *s, const char *name);

/* Called with a session's id, key and cwd. A non-zero result ends the list. */
typedef int remote_list_fn(void *payload, const char *id, const char *key, const char *cwd);
/*
 * Parses a page of GET /sessions. *next gets the cursor of the next one, or NULL after the
 * last. Free it. What has an invalid id is left out, and added to *refused.
 */
int remote_parse_list(struct grove_slice json, remote_list_fn *fn, void *payload, uint64_t *refused, char **next);

struct remote_put {
	const char *sub;             /* NULL for the session's own log */
	uint64_t expected;
	int follow;
	int64_t modified;            /* ms, of the log here */
	const char *dialect, *cwd, *file;  /* for a new session; may be NULL */
	struct grove_slice body;
	/* the answer */
	uint64_t stored, skipped, differing, seq, generation;
	int branched;
	char leaf[256];
};
/* Parses the answer to PUT /ingress/{id}. */
int remote_parse_put(struct grove_slice json, struct remote_put *p);

/* A stream of events about the list. */
struct remote_event {
	int of_list;             /* this one is */
	char key[300];           /* of the session that it is about; "" if it does not say */
};
/* Takes the next line of the stream. Returns 1 if it has an event, with its key. */
int remote_parse_event(struct remote_event *e, struct grove_slice line);

/*
 * Returns true if an id is a word: nothing that could be taken for a path, and at most
 * REMOTE_ID_MAX bytes.
 */
#define REMOTE_ID_MAX 255u
int remote_id_ok(const char *id);

/* Returns true if a relative name from elsewhere stays below a session, and has not the suffix of a log. */
int remote_name_ok(const char *name);

#endif
