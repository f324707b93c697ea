/*
 * usage/usage_rows.c: which row of the result a reply counts in.
 *
 * The row is chosen after all replies have been added to the table, because only then is
 * it known which log a reply belongs to.
 */
#include "usage/usage_rows.h"

#include "base/array.h"
#include "js/calendar.h"
#include "js/js.h"

#include <stdlib.h>

static struct grove_slice key_of(const void *owner, uint32_t i)
{
	const struct grove_usage *u = owner;

	return grove__slice_str(u->rows[i].row.key);
}

static int find_row(struct grove__usage_rows *rs, struct grove_slice key, uint32_t *row)
{
	struct grove_usage *u = rs->out;
	uint32_t old;
	int rc;

	*row = grove__idmap_get(&rs->map, key);
	if (*row != GROVE__IDMAP_NONE)
		return 0;
	rc = grove__array_room(&u->rows, &u->cap, u->nr, sizeof(*u->rows));
	if (rc)
		return rc;
	*row = (uint32_t)u->nr;
	u->rows[*row] = (struct grove__usage_sum){ .row.key = grove__arena_dup(&u->texts, key),
						   .first = GROVE__IDMAP_NONE };
	if (!u->rows[*row].row.key)
		return GROVE_ENOMEM;
	rc = grove__idmap_put(&rs->map, key, *row, &old);
	u->nr += !rc;
	return rc;
}

/* The same, with a place that remembers the row. */
static int find_row_once(struct grove__usage_rows *rs, const char *key, uint32_t *kept, uint32_t *row)
{
	int rc = *kept == GROVE__IDMAP_NONE ? find_row(rs, grove__slice_str(key ? key : ""), kept) : 0;

	*row = *kept;
	return rc;
}

/* --- days, weeks and months --- */

/* Writes the name of the day, week or month that this local time is in. */
static size_t time_key(enum grove_usage_by by, int64_t local, char iso[GROVE__JS_ISO_MAX])
{
	int64_t day = local / GROVE__JS_MS_DAY - (local % GROVE__JS_MS_DAY < 0);
	size_t n;

	/* 1970 began on a Thursday */
	if (by == GROVE_USAGE_WEEK)
		local = (day - ((day + 3) % 7 + 7) % 7) * GROVE__JS_MS_DAY;
	n = grove__js_iso(iso, local);
	/* in years beyond 0…9999 the day is longer */
	n -= n ? strlen("T00:00:00.000Z") : 0;
	return n && by == GROVE_USAGE_MONTH ? n - strlen("-00") : n;
}

/*
 * The replies of a day mostly come together, so its row is remembered: from midnight to
 * midnight by the clocks at this reply. Where the clocks change in between, it is not.
 */
static int row_of_time(struct grove__usage_rows *rs, int64_t time, uint32_t *row)
{
	char iso[GROVE__JS_ISO_MAX];
	int64_t local = 0;
	size_t n = 0;
	int rc;

	if (time != GROVE_NO_TIME) {
		if (rs->day_row != GROVE__IDMAP_NONE && time >= rs->day && time < rs->day_end) {
			*row = rs->day_row;
			return 0;
		}
		local = time + (int64_t)grove__zone_offset(rs->zone, time) * 1000;
		n = time_key(rs->by, local, iso);
	}
	rc = find_row(rs, grove__slice(iso, n), row);
	if (rc || !n)
		return rc;
	rs->day = time - (local % GROVE__JS_MS_DAY + GROVE__JS_MS_DAY) % GROVE__JS_MS_DAY;
	rs->day_end = rs->day + GROVE__JS_MS_DAY;
	rs->day_row = grove__zone_offset(rs->zone, rs->day) == grove__zone_offset(rs->zone, rs->day_end)
			      ? *row
			      : GROVE__IDMAP_NONE;
	return 0;
}

/* --- blocks --- */

static int by_first(const void *x, const void *y)
{
	const struct grove__usage_block *a = x, *b = y;

	return a->first < b->first ? -1 : a->first > b->first;
}

/* Returns the length of the windows in which its agent counts; 0 if it does not. */
static int64_t window_of(const struct grove__usage_logs *ls, const struct grove__reply *r)
{
	return r->told || r->time == GROVE_NO_TIME ? 0 : ls->all[r->log].window;
}

/*
 * Finds when each block begins. The account is one for all projects, so all replies
 * count here, whichever are asked for.
 */
static int find_blocks(struct grove__usage_rows *rs)
{
	const struct grove__replies *all = &rs->logs->replies;
	struct grove__usage_block *b = calloc(all->nr ? all->nr : 1, sizeof(*b));
	const int64_t hour = GROVE__JS_MS_DAY / 24;
	int64_t window = 0;
	size_t nr = 0;

	if (!b)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr; i++)
		if (window_of(rs->logs, &all->all[i])) {
			window = window_of(rs->logs, &all->all[i]);
			b[nr++].first = all->all[i].time;
		}
	qsort(b, nr, sizeof(*b), by_first);
	rs->blocks = b;
	/* there are no more blocks than replies, so they replace them from the front */
	for (size_t i = 0; i < nr; i++) {
		int64_t t = b[i].first, into = (t % hour + hour) % hour;

		/* the last moment belongs to both, and counts for the first */
		if (!rs->nr_blocks || t - b[rs->nr_blocks - 1].begin > window)
			b[rs->nr_blocks++] = (struct grove__usage_block){ t - into, t };
	}
	return 0;
}

static int row_of_block(struct grove__usage_rows *rs, const struct grove__reply *r, uint32_t *row)
{
	size_t low = 0, high = rs->nr_blocks;
	int64_t window = window_of(rs->logs, r);
	char iso[GROVE__JS_ISO_MAX];
	int64_t begin;
	int rc;

	*row = GROVE__IDMAP_NONE;
	if (!window)
		return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (rs->blocks[middle].first <= r->time)
			low = middle;
		else
			high = middle;
	}
	begin = rs->blocks[low].begin;
	rc = find_row(rs, grove__slice(iso, grove__js_iso(iso, begin)), row);
	if (!rc)
		rs->out->rows[*row].row.period = (struct grove_period){ begin, begin + window };
	return rc;
}

/* --- all of them --- */

static uint32_t *no_rows(size_t nr)
{
	uint32_t *rows = malloc((nr ? nr : 1) * sizeof(*rows));

	for (size_t i = 0; rows && i < nr; i++)
		rows[i] = GROVE__IDMAP_NONE;
	return rows;
}

int grove__usage_rows_init(struct grove__usage_rows *rs, struct grove_usage *out, enum grove_usage_by by,
			   const struct grove__usage_logs *logs, const struct grove__zone *zone)
{
	*rs = (struct grove__usage_rows){
		.out = out, .by = by, .logs = logs, .zone = zone, .day_row = GROVE__IDMAP_NONE,
		.of_model = no_rows(logs->replies.nr_models), .of_log = no_rows(logs->logs.nr),
	};
	grove__idmap_init(&rs->map, logs->replies.spread[0], key_of, out);
	if (!rs->of_model || !rs->of_log)
		return GROVE_ENOMEM;
	return by == GROVE_USAGE_BLOCK ? find_blocks(rs) : 0;
}

void grove__usage_rows_release(struct grove__usage_rows *rs)
{
	grove__idmap_release(&rs->map);
	free(rs->of_model);
	free(rs->of_log);
	free(rs->blocks);
}

int grove__usage_rows_find(struct grove__usage_rows *rs, const struct grove__reply *r, uint32_t *row)
{
	const struct grove__usage_logs *ls = rs->logs;
	uint32_t *kept = &rs->of_log[r->log];

	switch (rs->by) {
	case GROVE_USAGE_BLOCK:
		return row_of_block(rs, r, row);
	case GROVE_USAGE_MODEL:
		return find_row_once(rs, ls->replies.models[r->model], &rs->of_model[r->model], row);
	case GROVE_USAGE_AGENT:
		return find_row_once(rs, ls->all[r->log].agent, kept, row);
	case GROVE_USAGE_PROJECT:
		return find_row_once(rs, grove__usage_logs_cwd(ls, r->log), kept, row);
	case GROVE_USAGE_SESSION:
		return find_row_once(rs, grove__usage_logs_id(ls, r->log), kept, row);
	default:
		return row_of_time(rs, r->time, row);
	}
}

bool grove__usage_rows_by_time(enum grove_usage_by by)
{
	return by == GROVE_USAGE_DAY || by == GROVE_USAGE_WEEK || by == GROVE_USAGE_MONTH || by == GROVE_USAGE_BLOCK;
}
