/*
 * answers.h: what a server's answers say.
 *
 * A server may be anybody's. These are all the places where its JSON is read.
 */
#ifndef SYNC_ANSWERS_H
#define SYNC_ANSWERS_H

#include <grove.h>

struct remote_log {
	char *sub;
	uint64_t seq, generation;
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
	uint64_t seq, generation;
	struct remote_log *log;
	size_t nr_logs;
	struct remote_file *file_at;
	size_t nr_files;
	size_t refused;              /* names that are none */
};

/* Of GET /ingress/{id}/files. GROVE_EJSON if it makes no sense. Release it in any case. */
int remote_parse_about(struct grove_slice json, struct remote_session *out);
void remote_session_release(struct remote_session *s);

/* One session of the list: id, key and cwd. A non-zero result ends it. */
typedef int remote_list_fn(void *payload, const char *id, const char *key, const char *cwd);
/* A page of GET /sessions. *next gets the cursor of the next one; NULL: it was the last. Free it. */
int remote_parse_list(struct grove_slice json, remote_list_fn *fn, void *payload, char **next);

struct remote_put {
	const char *sub;             /* NULL: the session's own */
	uint64_t expected;
	int follow;
	const char *dialect, *cwd, *file;  /* for one that is created; may be NULL */
	struct grove_slice body;
	/* the answer */
	uint64_t stored, skipped, differing, seq, generation;
	int branched;
	char leaf[256];
};
/* Of PUT /ingress/{id}. */
int remote_parse_put(struct grove_slice json, struct remote_put *p);

/* Is a relative name from elsewhere one of a file below a session? */
int remote_name_ok(const char *name);

#endif
