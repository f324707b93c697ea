/*
 * session/record.c: stores the new part of a host's own list of messages.
 *
 * It also keeps metadata near the end of the log: programs that list sessions read only
 * the first and the last 64 KiB of a file, so a title that was set long ago is repeated
 * from time to time.
 */
#include "session/session.h"

#include "base/array.h"
#include "sys/clock.h"

#include <stdlib.h>

#define RESTATE_EVERY ((uint64_t)32 << 10)
#define LOOK_BACK ((uint32_t)4096)       /* lines, and … */
#define LOOK_BYTES ((uint64_t)8 << 20)   /* … bytes that are searched for such lines */

/* Texts collected while going through a list. */
struct inputs {
	struct grove_buf bytes;
	size_t *end;
	size_t nr, cap;
};

static int add_input(void *payload, struct grove_slice json)
{
	struct inputs *in = payload;

	if (grove__array_room(&in->end, &in->cap, in->nr, sizeof(*in->end)) ||
	    grove__buf_add_slice(&in->bytes, json))
		return GROVE_ENOMEM;
	in->end[in->nr++] = in->bytes.len;
	return 0;
}

static void inputs_release(struct inputs *in)
{
	grove__buf_release(&in->bytes);
	free(in->end);
}

static int append_inputs(struct grove_session *s, const struct inputs *in, struct grove_detail *d)
{
	struct grove_slice *json;
	int rc;

	if (!in->nr)
		return 0;
	json = calloc(in->nr, sizeof(*json));
	if (!json)
		return grove__fail_nomem(d);
	for (size_t i = 0; i < in->nr; i++) {
		size_t start = i ? in->end[i - 1] : 0;

		json[i] = grove__slice(in->bytes.ptr + start, in->end[i] - start);
	}
	rc = grove__append_locked(s, json, in->nr, NULL, NULL, d);
	free(json);
	return rc;
}

/* The output of a host's filter must still be a message. */
struct filtering {
	const struct grove_record_options *opt;
	struct grove_detail *d;
};

static int filter(void *payload, struct grove_slice json, struct grove_buf *out)
{
	struct filtering *f = payload;
	struct grove__json_want want;
	struct grove__json_line l;
	int rc = f->opt->filter(f->opt->filter_payload, json, out);

	if (rc)
		return rc;
	grove__json_want_init(&want, NULL, 0);
	if (grove__buf_reserve(out, GROVE__JSON_PAD))
		return GROVE_ENOMEM;
	if (!out->len || grove__json_scan(&want, out->ptr, out->len, true, &l) != JSON_VALUE ||
	    l.type != JSON_OBJECT || l.len != out->len)
		return grove__fail(f->d, GROVE_EJSON, NULL, "the filter did not return a message");
	return 0;
}

/* The dialect walks over messages without validating them, so they must be JSON. */
static int check_message(struct grove_session *s, struct grove_slice json, size_t i,
			 struct grove_detail *d)
{
	struct grove_buf copy = GROVE_BUF_INIT;
	struct grove__input in;
	int rc = grove__buf_add_slice(&copy, json) ? grove__fail_nomem(d)
						   : grove__image_input(s->image, &copy, &in, d);

	if (!rc && (!copy.len || copy.ptr[0] != '{'))
		rc = grove__fail(d, GROVE_EJSON, NULL, "message %zu of the list is not an object", i + 1);
	grove__buf_release(&copy);
	return rc;
}

static bool is_stored(void *payload, struct grove_slice id)
{
	const struct grove_session *s = payload;

	return grove__spine_find(s->image->spine, GROVE_NO_ENTRY, id) != GROVE_NO_ENTRY;
}

int grove__session_record(struct grove_session *s, const struct grove_slice *messages, size_t nr,
			  const struct grove_record_options *opt, const char **last,
			  struct grove_detail *d)
{
	struct grove__about stamp = {
		.entrypoint = opt->entrypoint,
		.agent = opt->agent_id,
		.team = opt->team_name,
		.agent_name = opt->agent_name,
		.side = opt->side,
	};
	struct filtering filtering = { opt, d };
	struct grove__list_in in = {
		.messages = messages,
		.nr = nr,
		.stored = is_stored,
		.stored_payload = s,
		.filter = opt->filter ? filter : NULL,
		.filter_payload = &filtering,
		.side = opt->side,
	};
	struct inputs fresh = { .bytes = GROVE_BUF_INIT };
	struct grove_buf end = GROVE_BUF_INIT;
	uint32_t row;
	int rc = grove__session_writable(s, d);

	if (last)
		*last = NULL;
	if (!rc)
		rc = grove__session_load(s, d);
	if (!rc && !s->at.dialect->write.plan)
		rc = grove__fail(d, GROVE_ENOTSUP, NULL, "this agent does not pass on lists of messages");
	if (rc)
		return rc;
	if (opt->parent) {
		rc = grove__session_find(s, opt->parent, &row, d);
		if (rc)
			return rc;
		in.hint = grove__slice_str(opt->parent);
	}
	for (size_t i = 0; i < nr; i++) {
		rc = check_message(s, messages[i], i, d);
		if (rc)
			return rc;
	}
	grove__sys_random(&in.seed, sizeof(in.seed));
	rc = s->at.dialect->write.plan(&in, add_input, &fresh, &end, d);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	if (!rc) {
		s->stamp = &stamp;
		rc = append_inputs(s, &fresh, d);
		s->stamp = NULL;
	}
	if (!rc && !s->held && s->image->bytes - s->restated_at > RESTATE_EVERY)
		rc = grove__session_restate(s, &(size_t){ 0 }, d);
	if (!rc && last && end.len) {
		row = grove__spine_find(s->image->spine, GROVE_NO_ENTRY, grove__buf_slice(&end));
		*last = row == GROVE_NO_ENTRY ? NULL : grove__spine_id(s->image->spine, row);
	}
	inputs_release(&fresh);
	grove__buf_release(&end);
	return rc;
}

/* Finds the last line of each kind of metadata; puts their bytes into `lines`. */
static int find_tail(struct grove_session *s, struct grove__tail_line tail[GROVE__TAILS],
		     struct grove_buf lines[GROVE__TAILS], struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	struct grove_buf line = GROVE_BUF_INIT;
	bool followed = false;
	int rc = 0;

	for (uint32_t row = sp->nr, n = 0; row-- > 0 && n < LOOK_BACK && !rc; n++) {
		uint64_t distance = s->image->by_line ? 0 : s->image->tail - grove__spine_pos(sp, row);
		struct grove_slice value;
		int at;

		if (distance > LOOK_BYTES)
			break;
		if (!(grove__spine_flags(sp, row) & ROW_ASIDE)) {
			followed = true;
			continue;
		}
		/* such lines are short */
		if (grove__spine_len(sp, row) > 65536)
			continue;
		rc = grove__image_line(s->image, s->log, row, &line, &value, d);
		at = rc ? -1 : s->at.dialect->write.tail->type(value);
		if (at < 0 || at >= GROVE__TAILS || tail[at].line.ptr)
			continue;
		if (grove__buf_add_slice(&lines[at], value)) {
			rc = grove__fail_nomem(d);
			break;
		}
		tail[at] = (struct grove__tail_line){ grove__buf_slice(&lines[at]), distance, followed };
	}
	grove__buf_release(&line);
	return rc;
}

int grove__session_restate(struct grove_session *s, size_t *written, struct grove_detail *d)
{
	struct grove__tail_line tail[GROVE__TAILS] = { { { NULL, 0 }, 0, false } };
	struct grove_buf lines[GROVE__TAILS] = { GROVE_BUF_INIT };
	struct inputs again = { .bytes = GROVE_BUF_INIT };
	int rc = grove__session_writable(s, d);

	*written = 0;
	if (!rc)
		rc = grove__session_load(s, d);
	if (rc || s->held || !s->at.dialect->write.tail)
		return rc;
	/* repeat the current values, including those written by others */
	rc = grove__session_refresh(s, d);
	rc = rc < 0 ? rc : find_tail(s, tail, lines, d);
	if (!rc) {
		rc = s->at.dialect->write.tail->lines(tail, RESTATE_EVERY, add_input, &again);
		if (rc == GROVE_ENOMEM)
			grove__fail_nomem(d);
	}
	if (!rc)
		rc = append_inputs(s, &again, d);
	if (!rc) {
		*written = again.nr;
		s->restated_at = s->image->bytes;
	}
	for (size_t i = 0; i < GROVE__TAILS; i++)
		grove__buf_release(&lines[i]);
	inputs_release(&again);
	return rc;
}
