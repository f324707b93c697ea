/*
 * json/lenient.c: the values in a stream of bytes, lines or not.
 *
 * Reading may have to go back: to behind the first line of a value that went
 * wrong many lines later, or to behind the last good value. So the source is
 * asked by position, and a window of it is kept.
 */
#include "json/lenient.h"

#include "json/scan.h"

#include <stdlib.h>

#define WINDOW ((size_t)1 << 18)

/* A place in the stream, and the number of the line it is in. */
struct place {
	uint64_t pos, line;
};

struct grove__json_lenient {
	grove__json_source_fn *source;
	void *payload;
	struct grove__json_want nothing;
	struct grove__json_stream *stream;
	char *window;
	uint64_t window_pos;
	size_t window_len;
	struct place at;
	struct place last;           /* behind the last good value … */
	bool have_last;              /* … if there is one since the last mistake */
	bool resumed, ended;
	struct grove__json_passed passed;
};

struct grove__json_lenient *grove__json_lenient_new(grove__json_source_fn *source, void *payload,
						    uint64_t pos)
{
	struct grove__json_lenient *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->source = source;
	l->payload = payload;
	l->at.pos = pos;
	grove__json_want_init(&l->nothing, NULL, 0);
	l->stream = grove__json_stream_new(&l->nothing);
	l->window = malloc(WINDOW);
	if (!l->stream || !l->window) {
		grove__json_lenient_free(l);
		return NULL;
	}
	return l;
}

void grove__json_lenient_free(struct grove__json_lenient *l)
{
	if (!l)
		return;
	grove__json_stream_free(l->stream);
	free(l->window);
	free(l);
}

void grove__json_lenient_passed(const struct grove__json_lenient *l, struct grove__json_passed *out)
{
	*out = l->passed;
}

/* The bytes from `pos` on that are at hand; none at the end of the input. */
static int look(struct grove__json_lenient *l, uint64_t pos, struct grove_slice *out)
{
	if (pos < l->window_pos || pos >= l->window_pos + l->window_len) {
		int rc = l->source(l->payload, pos, l->window, WINDOW, &l->window_len);

		if (rc)
			return rc;
		l->window_pos = pos;
	}
	*out = grove__slice(l->window + (pos - l->window_pos),
			    l->window_len - (size_t)(pos - l->window_pos));
	return 0;
}

/* Line ends among some bytes. */
static uint64_t count_lf(struct grove_slice s)
{
	uint64_t n = 0;

	for (const char *p = s.ptr; (p = memchr(p, '\n', s.len - (size_t)(p - s.ptr))); p++)
		n++;
	return n;
}

/* To the next byte that is not white space; 1 at the end. */
static int skip_space(struct grove__json_lenient *l)
{
	for (;;) {
		struct grove_slice s;
		size_t i = 0;
		int rc = look(l, l->at.pos, &s);

		if (rc || !s.len)
			return rc ? rc : 1;
		while (i < s.len && (s.ptr[i] == ' ' || s.ptr[i] == '\t' || s.ptr[i] == '\r' ||
				     s.ptr[i] == '\n'))
			l->at.line += s.ptr[i++] == '\n';
		l->at.pos += i;
		if (i < s.len)
			return 0;
	}
}

/* To behind the next line end; 1 if there is none. */
static int skip_line(struct grove__json_lenient *l)
{
	for (;;) {
		struct grove_slice s;
		const char *lf;
		int rc = look(l, l->at.pos, &s);

		if (rc || !s.len)
			return rc ? rc : 1;
		lf = memchr(s.ptr, '\n', s.len);
		if (lf) {
			l->at.pos += (uint64_t)(lf - s.ptr) + 1;
			l->at.line++;
			return 0;
		}
		l->at.pos += s.len;
	}
}

/* Read one value at l->at. *end is behind it, or where the input ended. */
static int read_value(struct grove__json_lenient *l, struct place *end)
{
	int state = JSON_STREAM_MORE;

	grove__json_stream_reset(l->stream);
	*end = l->at;
	while (state == JSON_STREAM_MORE) {
		struct grove_slice s;
		size_t used;
		int rc = look(l, end->pos, &s);

		if (rc)
			return rc;
		state = grove__json_stream_feed(l->stream, s.ptr, s.len, !s.len, &used);
		if (state < 0)
			return state;
		end->pos += used;
		end->line += count_lf(grove__slice(s.ptr, used));
		/* what is not complete at the end is not wrong, only unfinished */
		if (!s.len)
			return state == JSON_STREAM_DONE ? state : JSON_STREAM_MORE;
	}
	return state;
}

static void give_up_line(struct grove__json_lenient *l)
{
	if (!l->passed.bad++) {
		l->passed.bad_line = l->at.line;
		l->passed.bad_pos = l->at.pos;
	}
	l->have_last = false;
}

static int finish(struct grove__json_lenient *l, int rc)
{
	if (rc == 1) {
		struct grove_slice s;

		l->ended = true;
		/* a last line without its end is a line, too */
		l->passed.lines = l->at.line;
		if (l->at.pos && !look(l, l->at.pos - 1, &s) && s.len && *s.ptr != '\n')
			l->passed.lines++;
	}
	return rc;
}

int grove__json_lenient_next(struct grove__json_lenient *l, struct grove__json_found *out)
{
	struct place end;
	int rc = 0;

	while (!l->ended && !(rc = skip_space(l))) {
		int state = read_value(l, &end);

		if (state < 0)
			return state;
		if (state == JSON_STREAM_DONE) {
			*out = (struct grove__json_found){ l->at.pos, end.pos - l->at.pos, l->at.line };
			l->last = l->at = end;
			l->have_last = true;
			/* what else is on its line is not read; where the line ends, so do we */
			rc = skip_line(l);
			return rc < 0 ? rc : 0;
		}
		if (state == JSON_STREAM_BAD) {
			give_up_line(l);
			rc = skip_line(l);
			if (rc)
				break;
			continue;
		}
		if (l->have_last && !l->resumed) {
			l->resumed = true;
			l->at = l->last;
			continue;
		}
		l->passed.torn = true;
		l->passed.torn_pos = l->at.pos;
		l->passed.torn_line = l->at.line;
		l->at = end;
		rc = 1;
		break;
	}
	return l->ended ? 1 : finish(l, rc);
}
