/*
 * dialect/omp.h: what the files of oh-my-pi's dialect share.
 */
#ifndef GROVE_DIALECT_OMP_H
#define GROVE_DIALECT_OMP_H

#include "dialect/dialect.h"

int grove__omp_first_kept(struct grove_slice line, struct grove_buf *out, bool *after);
int grove__omp_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			int64_t time, const int64_t *next, const struct grove_slice *edit,
			const struct grove__blob_source *blobs,
			int (*fn)(void *payload, struct grove_slice json), void *payload);
/* Returns true if it is a string (raw) with more than white space; *rc: GROVE_ENOMEM. */
bool grove__omp_has_words(struct grove_slice raw, struct grove_buf *tmp, int *rc);
/* Returns true if the message says what the reply before it was thinking when it was stopped. */
bool grove__omp_is_note(struct grove_slice m);
int grove__omp_settle(const struct grove_slice *messages, size_t nr,
		      int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);

/* --- omp_llm.c, omp_notice.c: what a model is sent --- */

/* Like grove__xcsh_llm(), but nothing is merged or added. */
int grove__omp_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		   int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);
struct grove__xcsh_wording;
extern const struct grove__xcsh_wording grove__omp_wording;

#endif
