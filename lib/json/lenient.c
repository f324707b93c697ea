/*
 * json/lenient.c: the values in a stream of bytes, lines or not.
 *
 * Reading may have to go back: to after the first line of a value that went
 * wrong many lines later, or to after the last good value. So the source is
 * asked by position, and a window of it is kept.
 *
 * What stood open where a value went wrong goes wrong there as well, read by
 * itself. Such values are remembered, lest n lines of `[` be read n times.
 */
#include "json/lenient.h"

#include "base/array.h"

#include <stdlib.h>

#define WINDOW ((size_t)1 << 18)

/* A place in the stream, and the line it is in. */
struct place {
	uint64_t pos, line, line_pos;
	uint64_t blank;              /* lines of white space up to here */
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
	struct place last;           /* after the last good value … */
	bool have_last;              /* … if there is one since the last mistake */
	bool resumed, ended;
	uint64_t *doomed;            /* where values begin, on lines of their own, that go wrong … */
	uint64_t doomed_at;          /* … at this place */
	size_t nr_doomed, cap_doomed, next_doomed;
	grove__json_lost_fn *tell;
	void *tell_payload;
	struct grove__json_lost rest; /* of the last value's line: it may yet be looked at */
	bool have_rest;
	struct grove__json_passed passed;
};

struct grove__json_lenient *grove__json_lenient_new(const struct grove__json_want *want,
						    grove__json_source_fn *source, void *payload,
						    uint64_t pos)
{
	struct grove__json_lenient *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->source = source;
	l->payload = payload;
	l->at.pos = l->at.line_pos = pos;
	grove__json_want_init(&l->nothing, NULL, 0);
	l->stream = grove__json_stream_new(want ? want : &l->nothing);
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
	free(l->doomed);
	free(l->window);
	free(l);
}

void grove__json_lenient_passed(const struct grove__json_lenient *l, struct grove__json_passed *out)
{
	*out = l->passed;
}

void grove__json_lenient_tell(struct grove__json_lenient *l, grove__json_lost_fn *fn, void *payload)
{
	l->tell = fn;
	l->tell_payload = payload;
}

const struct grove__json_line *grove__json_lenient_line(const struct grove__json_lenient *l)
{
	return grove__json_stream_line(l->stream);
}

/* The bytes from `pos` on that are at hand; none at the end of the input. */
static int bytes_at(struct grove__json_lenient *l, uint64_t pos, struct grove_slice *out)
{
	if (pos < l->window_pos || pos >= l->window_pos + l->window_len) {
		int rc = l->source(l->payload, pos, l->window, WINDOW, &l->window_len);

		l->window_pos = pos;
		if (rc) {
			l->window_len = 0;
			return rc;
		}
	}
	*out = grove__slice(l->window + (pos - l->window_pos),
			    l->window_len - (size_t)(pos - l->window_pos));
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Pass over `n` bytes, line ends among them. */
static void pass(struct place *at, const char *ptr, size_t n)
{
	for (const char *p = ptr, *lf; (lf = memchr(p, '\n', n - (size_t)(p - ptr))); p = lf + 1) {
		at->line++;
		at->line_pos = at->pos + (uint64_t)(lf - ptr) + 1;
	}
	at->pos += n;
}

/* To the next byte that is not white space; 1 at the end. */
static int skip_space(struct grove__json_lenient *l)
{
	/* after a value on its line there is no blank line */
	bool blank = l->at.pos == l->at.line_pos;

	for (;;) {
		struct grove_slice s;
		size_t i = 0;
		int rc = bytes_at(l, l->at.pos, &s);

		if (rc)
			return rc;
		if (!s.len) {
			l->at.blank += blank && l->at.pos != l->at.line_pos;
			return 1;
		}
		for (; i < s.len && is_space(s.ptr[i]); i++) {
			if (s.ptr[i] != '\n')
				continue;
			l->at.line++;
			l->at.line_pos = l->at.pos + i + 1;
			l->at.blank += blank;
			blank = true;
		}
		l->at.pos += i;
		if (i < s.len)
			return 0;
	}
}

/*
 * Moves to the beginning of the next line. Returns 1 if there is none. *lost describes what
 * was skipped: `pos` is its first byte that is not white space, or the end of the line.
 */
static int skip_line(struct grove__json_lenient *l, struct grove__json_lost *lost)
{
	bool seen = false;

	*lost = (struct grove__json_lost){
		.line = l->at.line,
		.line_pos = l->at.line_pos,
		.nul = l->at.pos == l->at.line_pos,
	};
	for (;;) {
		struct grove_slice s;
		size_t i = 0;
		int rc = bytes_at(l, l->at.pos, &s);

		if (rc)
			return rc;
		for (; i < s.len && s.ptr[i] != '\n'; i++) {
			if (!seen && !is_space(s.ptr[i])) {
				seen = true;
				lost->pos = l->at.pos + i;
			}
			lost->nul = lost->nul && !s.ptr[i];
		}
		l->at.pos += i;
		if (i < s.len || !s.len) {
			lost->end = l->at.pos;
			lost->pos = seen ? lost->pos : lost->end;
			lost->nul = lost->nul && seen;
		}
		if (!s.len)
			return 1;
		if (i < s.len) {
			l->at.line++;
			l->at.line_pos = ++l->at.pos;
			return 0;
		}
	}
}

/* Reads one value at l->at. *end is after it, or where the input ended. */
static int read_value(struct grove__json_lenient *l, struct place *end)
{
	int state = JSON_STREAM_MORE;

	grove__json_stream_reset(l->stream);
	*end = l->at;
	while (state == JSON_STREAM_MORE) {
		struct grove_slice s;
		size_t used;
		int rc = bytes_at(l, end->pos, &s);

		if (rc)
			return rc;
		state = grove__json_stream_feed(l->stream, s.ptr, s.len, !s.len, &used);
		if (state < 0)
			return state;
		pass(end, s.ptr, used);
		/* what is not complete at the end is not wrong, only unfinished */
		if (!s.len)
			return state == JSON_STREAM_DONE ? state : JSON_STREAM_MORE;
	}
	return state;
}

/* The line of the last value is done: we never go back to it. */
static int tell_rest(struct grove__json_lenient *l)
{
	bool have = l->have_rest;

	l->have_rest = false;
	return have && l->tell ? l->tell(l->tell_payload, &l->rest) : 0;
}

/* A walk over the beginning of a value. */
struct walk {
	bool string, escape;
	bool fresh;                  /* nothing but white space on this line yet */
	int64_t depth;
	int64_t *depths;             /* of the doomed, as they are found */
	size_t cap;
};

/* One byte at `pos`: does it open or close something? */
static int walk_byte(struct grove__json_lenient *l, struct walk *w, char c, uint64_t pos)
{
	if (w->string) {
		w->string = w->escape || c != '"';
		w->escape = !w->escape && c == '\\';
	} else if (c == '"') {
		w->string = true;
	} else if (c == '{' || c == '[') {
		w->depth++;
		if (w->fresh) {
			if (grove__array_room(&l->doomed, &l->cap_doomed, l->nr_doomed, sizeof(*l->doomed)) ||
			    grove__array_room(&w->depths, &w->cap, l->nr_doomed, sizeof(*w->depths)))
				return GROVE_ENOMEM;
			w->depths[l->nr_doomed] = w->depth;
			l->doomed[l->nr_doomed++] = pos;
		}
	} else if (c == '}' || c == ']') {
		w->depth--;
		while (l->nr_doomed && w->depths[l->nr_doomed - 1] > w->depth)
			l->nr_doomed--;
	}
	w->fresh = c == '\n' || (w->fresh && is_space(c));
	return 0;
}

/* From the line at `pos` on: what is still open at `end`, where all of it goes wrong? */
static int find_doomed(struct grove__json_lenient *l, uint64_t pos, uint64_t end)
{
	struct walk w = { .fresh = true };
	int rc = 0;

	l->nr_doomed = l->next_doomed = 0;
	l->doomed_at = end;
	while (pos < end && !rc) {
		struct grove_slice s;

		rc = bytes_at(l, pos, &s);
		if (rc || !s.len)
			break;
		for (size_t i = 0; i < s.len && pos < end && !rc; i++)
			rc = walk_byte(l, &w, s.ptr[i], pos++);
	}
	free(w.depths);
	return rc;
}

static bool is_doomed(struct grove__json_lenient *l)
{
	while (l->next_doomed < l->nr_doomed && l->doomed[l->next_doomed] < l->at.pos)
		l->next_doomed++;
	return l->next_doomed < l->nr_doomed && l->doomed[l->next_doomed] == l->at.pos;
}

/*
 * What begins at l->at breaks at `wrong` and is not a value. Returns 1 if there is no other
 * line.
 */
static int give_up_line(struct grove__json_lenient *l, uint64_t wrong)
{
	/* the rest of a line whose value was read does not count as a line */
	bool rest = l->resumed && l->at.line == l->last.line;
	struct grove__json_lost lost;
	int rc, told = tell_rest(l);

	if (!rest && !l->passed.bad++) {
		l->passed.bad_line = l->at.line;
		l->passed.bad_pos = l->at.line_pos;
	}
	l->have_last = false;
	rc = skip_line(l, &lost);
	if (told || rc < 0)
		return told ? told : rc;
	if (wrong > lost.end && wrong != l->doomed_at) {
		int found = find_doomed(l, l->at.pos, wrong);

		if (found)
			return found;
	}
	lost.rest = rest;
	lost.pos = wrong < lost.end ? wrong : lost.end;
	told = l->tell ? l->tell(l->tell_payload, &lost) : 0;
	return told ? told : rc;
}

/* A value from l->at to `end`. */
static int take_value(struct grove__json_lenient *l, const struct place *end,
		      struct grove__json_found *out)
{
	int rc, told = tell_rest(l);

	*out = (struct grove__json_found){ l->at.pos, end->pos - l->at.pos, l->at.line };
	l->last = l->at = *end;
	l->have_last = true;
	rc = skip_line(l, &l->rest);
	l->rest.rest = true;
	l->have_rest = rc >= 0 && l->rest.pos != l->rest.end;
	if (told)
		return told;
	return rc < 0 ? rc : 0;
}

static int finish(struct grove__json_lenient *l)
{
	l->ended = true;
	l->passed.end = l->at.pos;
	l->passed.blank = l->at.blank;
	/* a last line without its end also counts */
	l->passed.open = l->at.pos != l->at.line_pos;
	l->passed.lines = l->at.line + l->passed.open;
	return tell_rest(l);
}

int grove__json_lenient_next(struct grove__json_lenient *l, struct grove__json_found *out)
{
	struct place end;
	int rc = 0;

	while (!l->ended && !(rc = skip_space(l))) {
		int state;

		if (is_doomed(l)) {
			rc = give_up_line(l, l->doomed_at);
			if (rc)
				break;
			continue;
		}
		state = read_value(l, &end);
		if (state < 0)
			return state;
		if (state == JSON_STREAM_DONE)
			return take_value(l, &end, out);
		if (state == JSON_STREAM_BAD) {
			rc = give_up_line(l, l->at.pos + grove__json_lenient_line(l)->error_off);
			if (rc)
				break;
			continue;
		}
		if (l->have_last && !l->resumed) {
			l->resumed = true;
			l->have_rest = false;
			l->at = l->last;
			continue;
		}
		l->passed.torn = true;
		l->passed.torn_pos = l->at.pos;
		l->passed.torn_line = l->at.line;
		l->passed.torn_rest = l->resumed && l->have_last && l->at.line == l->last.line;
		l->at = end;
		rc = 1;
		break;
	}
	if (!l->ended && rc == 1)
		rc = finish(l);
	return rc ? rc : 1;
}
