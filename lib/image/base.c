/* image/base.c: logs that begin with a part of another one; see base.h. */
#include "image/image.h"

#include <stdlib.h>

void grove__base_release(struct grove__bases *b)
{
	while (b->nr)
		grove__log_close(b->log[--b->nr]);
}

struct grove_store_log *grove__base_log(const struct grove__image *im, struct grove_store_log *log,
					uint64_t *pos)
{
	unsigned i = (unsigned)(*pos >> GROVE__BASE_SHIFT);

	*pos &= ((uint64_t)1 << GROVE__BASE_SHIFT) - 1;
	return i && i <= im->bases.nr ? im->bases.log[i - 1] : log;
}

int grove__base_refuse(const struct grove__image *im, uint32_t row, const char *path, struct grove_detail *d)
{
	if (row >= im->bases.rows)
		return 0;
	return grove__fail(d, GROVE_ENOTSUP, path, "entry %.60s is in the log of session %.100s",
			   grove__spine_id(im->spine, row), im->header.base);
}

/* --- finding it --- */

struct sought {
	const struct grove__dialect *dialect;
	const char *id;
	char *project, *session;
};

/* Compares a key with the one that is sought; 1: this is it. */
static int is_sought(void *payload, const struct grove_key *key)
{
	struct sought *x = payload;
	struct grove_slice id;
	int64_t time;

	if (!x->dialect->paths.parse_file_name(grove__slice_str(key->session), &time, &id) ||
	    !grove__slice_is(id, x->id))
		return 0;
	x->project = strdup(key->project);
	x->session = strdup(key->session);
	return x->project && x->session ? 1 : GROVE_ENOMEM;
}

static int open_base(const struct grove__image *im, struct grove_store_log *own, struct grove_store_log **out,
		     const char *path, struct grove_detail *d)
{
	struct sought x = { .dialect = im->dialect, .id = im->header.base };
	int rc = own->store ? grove__store_list(own->store, NULL, is_sought, &x, d) : 0;

	if (rc == 1) {
		struct grove_key key = { x.project, x.session, "" };

		rc = grove__log_open(out, own->store, &key, GROVE_STORE_READ, d);
	} else if (rc == GROVE_ENOMEM) {
		grove__fail_nomem(d);
	} else if (!rc) {
		rc = grove__fail(d, GROVE_EDAMAGED, path, "it begins with a part of session %.100s, which is not there",
				 x.id);
	}
	free(x.project);
	free(x.session);
	return rc;
}

/* --- adding its rows --- */

/* True if a row of the base comes before the point where this log begins. */
static bool is_before(const struct grove__image *im, const struct grove__image *base, uint32_t row)
{
	uint64_t pos = grove__spine_pos(base->spine, row);

	if (row < base->bases.rows)
		return true;
	return im->header.base_lines ? grove__spine_line(base->spine, row) < im->header.base_lines
				     : pos + grove__spine_len(base->spine, row) <= im->header.base_bytes;
}

/* Adds a row as the base has it; ids that were made from lines are those of the base. */
static int add_row(struct grove__image *im, const struct grove__image *base, uint32_t row,
		   struct grove_slice value, const struct grove__spot *header, struct grove__arena *tmp)
{
	const struct grove__spine *s = base->spine;
	struct grove__spot at = grove__image_spot(base, row);
	uint32_t parent = grove__spine_parent(s, row), mine = im->spine->nr;
	struct grove__json_line l;
	struct grove__entry e;
	int rc;

	if (grove__json_scan(&im->want, value.ptr, value.len, true, &l) != JSON_VALUE)
		return GROVE_ESTALE;
	im->dialect->read.index(&l, value.ptr, tmp, &e);
	if (tmp->failed)
		return GROVE_ENOMEM;
	if (!e.has_id && grove__spine_id(s, row)) {
		e.has_id = true;
		e.id = grove__spine_name(grove__spine_id(s, row));
		if (parent != GROVE_NO_ENTRY) {
			e.parent_is = PARENT_NAMED;
			e.parent = grove__spine_name(grove__spine_id(s, parent));
		}
	}
	if (row >= base->bases.rows)
		at.pos |= (uint64_t)(base->bases.nr + 1) << GROVE__BASE_SHIFT;
	rc = grove__spine_add(im->spine, &e, at.pos, at.len, header->line, at.crc);
	return rc ? rc : grove__model_add(&im->model, &e, grove__spine_id(im->spine, mine));
}

static int add_rows(struct grove__image *im, const struct grove__image *base, struct grove_store_log *log,
		    const struct grove__spot *header, struct grove_detail *d)
{
	struct grove__arena tmp;
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t row;
	int rc;

	grove__arena_init(&tmp);
	grove__rows_init(&rows, base, log, NULL, base->spine->nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, d)) && is_before(im, base, row)) {
		rc = add_row(im, base, row, value, header, &tmp);
		grove__arena_clear(&tmp);
		if (rc) {
			rc = rc == GROVE_ENOMEM ? grove__fail_nomem(d) : grove__fail(d, rc, NULL, "was changed");
			break;
		}
	}
	grove__rows_release(&rows);
	grove__arena_release(&tmp);
	return rc == 1 ? 0 : rc;
}

/* The base must reach as far as the header says. */
static int check_length(const struct grove__image *im, const struct grove__image *base, const char *path,
			struct grove_detail *d)
{
	if (base->nr_spans || grove__image_old(base))
		return grove__fail(d, GROVE_ENOTSUP, path, "it begins with a part of a session of an old version");
	if (im->header.base_lines ? base->lines >= im->header.base_lines
				  : !base->by_line && base->tail >= im->header.base_bytes)
		return 0;
	return grove__fail(d, GROVE_EDAMAGED, path, "it begins with more of session %.100s than there is",
			   im->header.base);
}

int grove__base_load(struct grove__image *im, struct grove_store_log *log, const struct grove__spot *header,
		     const char *path, struct grove_detail *d)
{
	struct grove_store_log *other = NULL;
	struct grove__image *base;
	int rc;

	if (!im->header.base || im->alone || im->spine->nr)
		return 0;
	if (im->bases.depth + 1 == GROVE__BASES_MAX)
		return grove__fail(d, GROVE_EDAMAGED, path, "it begins with a part of itself, or of too many sessions");
	rc = open_base(im, log, &other, path, d);
	if (rc)
		return rc;
	base = grove__image_new(im->dialect);
	rc = base ? 0 : grove__fail_nomem(d);
	if (!rc) {
		const struct grove_progress nobody = { NULL };

		base->bases.depth = im->bases.depth + 1;
		rc = grove__image_load(base, other, path, &nobody, d);
	}
	rc = rc ? rc : check_length(im, base, path, d);
	rc = rc ? rc : add_rows(im, base, other, header, d);
	if (!rc) {
		/* their numbers stay, and the one that was read comes after them */
		memcpy(im->bases.log, base->bases.log, base->bases.nr * sizeof(*im->bases.log));
		im->bases.nr = base->bases.nr;
		base->bases.nr = 0;
		im->bases.log[im->bases.nr++] = other;
		im->bases.rows = im->spine->nr;
		other = NULL;
	}
	grove__image_unref(base);
	if (other)
		grove__log_close(other);
	return rc;
}
