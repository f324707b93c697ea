/*
 * search/search_feed.c: reads a log for the index: all of it, or what is new.
 *
 * A log that grew still has the same entries at its beginning. That is verified: each
 * entry has a checksum, and the index has a checksum of all of these.
 */
#include "search/search_feed.h"

#include "base/crc32c.h"
#include "image/sent.h"
#include "search/search_names.h"
#include "sys/state.h"

#include <stdlib.h>

/* A longer line is not indexed: it would take more memory than everything else. */
#define LINE_LIMIT ((uint64_t)16 << 20)

/* ---------------------------------------------------------------- the entries */

static bool same_spot(const struct grove__spot *a, const struct grove__spot *b)
{
	return a->pos == b->pos && a->off == b->off && a->len == b->len && a->crc == b->crc &&
	       a->lines == b->lines;
}

/* Continues the checksum of the rows before with these rows. */
static uint32_t sum_rows(const struct grove__image *im, uint32_t from, uint32_t to, uint32_t crc)
{
	for (; from < to; from++) {
		struct grove__spot at = grove__image_spot(im, from);

		crc = grove__crc32c(crc, &at.crc, sizeof(at.crc));
		crc = grove__crc32c(crc, &at.len, sizeof(at.len));
	}
	return crc;
}

/* Returns how many rows come before the end that was examined; a log may grow meanwhile. */
static uint32_t rows_before(const struct grove__image *im, uint64_t until)
{
	uint32_t nr = im->spine->nr;

	while (nr) {
		struct grove__spot at = grove__image_spot(im, nr - 1);

		if (at.pos + (im->by_line ? 1 : at.len) <= until)
			break;
		nr--;
	}
	return nr;
}

static bool is_searched(enum grove_kind kind)
{
	return kind == GROVE_KIND_MESSAGE || kind == GROVE_KIND_CUSTOM_MESSAGE ||
	       kind == GROVE_KIND_COMPACTION || kind == GROVE_KIND_BRANCH_SUMMARY;
}

static int take_row(struct grove__search_feed *f, const struct grove__image *im, uint32_t row,
		    struct grove_slice value, struct grove__search_texts *texts)
{
	struct grove__search_doc doc = {
		.kind = grove__spine_kind(im->spine, row), .role = grove__spine_role(im->spine, row),
		.row = row, .time = grove__spine_time(im->spine, row), .at = grove__image_spot(im, row),
		.entry = grove__spine_id(im->spine, row),
	};
	int rc = grove__search_texts(texts, im->dialect, value, doc.kind, doc.role);

	for (int i = 0; i < SEARCH_CLASSES && !rc; i++) {
		if (!texts->of[i].len)
			continue;
		doc.class = (uint8_t)i;
		doc.text = grove__buf_slice(&texts->of[i]);
		rc = f->doc(f->payload, &doc);
	}
	return rc;
}

static int take_rows(struct grove__search_feed *f, const struct grove__image *im,
		     struct grove_store_log *log, struct grove_detail *why)
{
	uint32_t from = f->grown ? f->before.rows : 0, row;
	uint32_t *list = malloc(((size_t)(f->now.rows - from) + 1) * sizeof(*list));
	struct grove__search_texts texts = { 0 };
	struct grove__rows rows;
	struct grove_slice value;
	size_t nr = 0;
	int rc = 0;

	if (!list)
		return GROVE_ENOMEM;
	for (row = from; row < f->now.rows; row++) {
		if (!is_searched(grove__spine_kind(im->spine, row)))
			continue;
		if (grove__spine_len(im->spine, row) <= LINE_LIMIT) {
			list[nr++] = row;
			continue;
		}
		grove__fail_at(why, GROVE_ETOOBIG, f->log->path,
			       grove__spine_line(im->spine, row) + 1, grove__spine_pos(im->spine, row),
			       "a line longer than 16 MiB is not indexed (use search --live to find it)");
		grove__search_note(f->g, why);
		grove__fail_clear(why);
	}
	grove__rows_init(&rows, im, log, list, nr);
	while (!rc && !(rc = grove__rows_next(&rows, &row, &value, why)))
		rc = take_row(f, im, row, value, &texts);
	grove__rows_release(&rows);
	grove__search_texts_release(&texts);
	free(list);
	return rc == 1 ? 0 : rc;
}

/* Records how far we are, and whether what was read before is still there. */
static void compare(struct grove__search_feed *f, const struct grove__image *im)
{
	uint32_t known = f->before.rows;
	struct grove__spot last;

	f->now.rows = rows_before(im, f->at.st.size);
	if (f->now.rows)
		f->now.last = grove__image_spot(im, f->now.rows - 1);
	if (f->at.st.dev != f->was.dev || f->at.st.ino != f->was.ino || known > f->now.rows)
		known = 0;
	f->now.crc = sum_rows(im, 0, known, 0);
	if (known) {
		last = grove__image_spot(im, known - 1);
		f->grown = f->now.crc == f->before.crc && same_spot(&last, &f->before.last);
	}
	f->now.crc = sum_rows(im, known, f->now.rows, f->now.crc);
}

/* ---------------------------------------------------------------- their places */

/*
 * First the rows on the path, then those that are sent, as runs: their number, then
 * first and last of each.
 */
static int put_places(struct grove_buf *out, const uint8_t *place, uint32_t nr)
{
	int rc = 0;

	for (unsigned bit = ROW_ON_PATH; bit <= ROW_SENT && !rc; bit <<= 1) {
		size_t at = out->len;
		uint32_t runs = 0, run[2];

		rc = grove__buf_add(out, &runs, sizeof(runs));
		for (uint32_t i = 0; i < nr && !rc; i++) {
			if (!(place[i] & bit))
				continue;
			run[0] = i;
			while (i + 1 < nr && place[i + 1] & bit)
				i++;
			run[1] = i;
			runs++;
			rc = grove__buf_add(out, run, sizeof(run));
		}
		if (!rc)
			memcpy(out->ptr + at, &runs, sizeof(runs));
	}
	return rc;
}

bool grove__search_place(struct grove_slice s, uint32_t row, unsigned place)
{
	size_t at = 0, low, high;
	uint32_t runs, run[2];

	for (unsigned bit = ROW_ON_PATH;; bit <<= 1) {
		if (at + sizeof(runs) > s.len)
			return false;
		memcpy(&runs, s.ptr + at, sizeof(runs));
		at += sizeof(runs);
		if (runs > (s.len - at) / sizeof(run))
			return false;
		if (bit == place)
			break;
		at += runs * sizeof(run);
	}
	for (low = 0, high = runs; low < high;) {
		size_t mid = low + (high - low) / 2;

		memcpy(run, s.ptr + at + mid * sizeof(run), sizeof(run));
		if (row >= run[0] && row <= run[1])
			return true;
		if (row < run[0])
			high = mid;
		else
			low = mid + 1;
	}
	return false;
}

/* -------------------------------------------------------------------- a log */

static int read_log(struct grove__search_feed *f, struct grove_store_log *log,
		    struct grove_detail *why)
{
	struct grove__image *im;
	struct grove_buf own = GROVE_BUF_INIT;
	uint8_t *place = NULL;
	const char *id, *name;
	int rc = grove__search_log_image(f->log, NULL, log, f->dialect, &im, why);

	/*
	 * a file that does not begin with a header is not a session, which is not worth
	 * a warning
	 */
	if (rc == GROVE_EDAMAGED) {
		grove__fail_clear(why);
		return 0;
	}
	if (rc)
		return rc;
	f->session = true;
	compare(f, im);
	rc = take_rows(f, im, log, why);
	rc = rc ? rc : grove__image_sent(im, log, grove__search_log_name(f->log), &place, why);
	rc = rc ? rc : put_places(&f->places, place, im->spine->nr);
	rc = rc ? rc : grove__search_log_id(f->log, im, &own, &id);
	rc = rc ? rc : grove__buf_add_str(&f->id, id);
	rc = rc ? rc : grove__buf_add_str(&f->cwd, im->header.cwd ? im->header.cwd : "");
	name = grove__image_name(im);
	rc = rc || !name ? rc : grove__buf_add_str(&f->name, name);
	rc = rc ? rc : grove__search_labels(im, &f->labels);
	rc = rc ? rc : grove__search_modified(im, log, &f->modified, why);
	free(place);
	grove__buf_release(&own);
	grove__image_unref(im);
	return rc;
}

int grove__search_feed(struct grove__search_feed *f, struct grove_detail *why)
{
	struct grove__log_at after = *f->log;
	struct grove_store_log *log = NULL;
	bool settled;
	int rc;

	f->at = *f->log;
	grove__search_log_look(&f->at);
	if (grove__search_log_gone(&f->at))
		return GROVE_ENOTFOUND;
	settled = !f->log->root->dir || grove__sys_settled(f->at.st.ctime_ns);
	rc = grove__search_log_open(f->g, f->log, &log, &f->dialect, why);
	rc = rc ? rc : read_log(f, log, why);
	grove__log_close(log);
	if (rc)
		return rc;
	/* a change within a tick of the clock, or during the reading, would not be noticed */
	grove__search_log_look(&after);
	if (!settled || grove__search_log_gone(&after) || !grove__state_same(&after.st, &f->at.st))
		f->at.st.mtime_ns = GROVE__SEARCH_UNSURE;
	return 0;
}

void grove__search_feed_release(struct grove__search_feed *f)
{
	grove__buf_release(&f->id);
	grove__buf_release(&f->cwd);
	grove__buf_release(&f->name);
	grove__buf_release(&f->labels);
	grove__buf_release(&f->places);
}
