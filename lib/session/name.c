/*
 * session/name.c: sets the name of a session.
 *
 * pi appends an entry. xcsh has the name in the header, so the log is rewritten.
 * oh-my-pi has it in a slot in front of the header, which is overwritten in place, and
 * appends an entry as well.
 */
#include "session/append.h"
#include "session/change.h"

#include "base/crc32c.h"
#include "sys/clock.h"

struct naming {
	const char *name, *source;
	bool done;
};

static int name_header(void *payload, struct grove_session *s, uint32_t row, bool header,
		       struct grove_slice value, struct grove_buf *out)
{
	struct naming *n = payload;

	(void)row;
	if (!header || n->done)
		return GROVE__KEEP;
	n->done = true;
	return s->at.dialect->header->title(value, n->name, n->source, out);
}

/* Changes only the header's line. Returns 1 if the log has to be rewritten. */
static int name_header_line(struct grove_session *s, struct naming *n, struct grove_detail *d)
{
	struct grove__image *im = s->image;
	struct grove_buf line = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc = grove__log_has_update(s->log) ? grove__image_header_line(im, s->log, &line, &value, d)
					       : 1;

	if (!rc && s->at.dialect->header->title(value, n->name, n->source, &out))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__session_update_line(s, &im->header_at, GROVE_NO_ENTRY, grove__buf_slice(&out),
						GROVE_CHANGE_NAME, d);
	grove__buf_release(&line);
	grove__buf_release(&out);
	return rc;
}

/* Puts the name into the slot in front of the header; the line keeps its length. */
static int name_slot(struct grove_session *s, const char *name, const char *source,
		     struct grove_detail *d)
{
	struct grove__image *im = s->image;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__json_line l;
	struct grove__entry e;
	const char *kept;
	int rc = s->at.dialect->header->slot->compose(name, source, grove__sys_now_ms(), &line);

	if (!rc)
		rc = grove__buf_reserve(&line, GROVE__JSON_PAD);
	/* the slot may have had room for only part of it */
	if (!rc) {
		grove__json_scan(&im->want, line.ptr, line.len, true, &l);
		im->dialect->read.index(&l, line.ptr, &im->keep, &e);
		kept = grove__arena_dup(&im->keep, e.text);
		rc = kept ? 0 : GROVE_ENOMEM;
	}
	rc = rc ? grove__fail_nomem(d)
		: grove__log_replace(s->log, im->slot_pos, grove__buf_slice(&line), GROVE_SYNC_NONE, d);
	if (!rc) {
		im->slot_title = kept;
		im->slot_source = im->dialect->header->slot->source(grove__buf_slice(&line));
		im->slot_crc = grove__crc32c(0, line.ptr, line.len);
		im->ctime_ns = 0;
	}
	grove__buf_release(&line);
	return rc;
}

/* True if the current name was given by the user. */
static bool by_user(const struct grove__image *im)
{
	const char *source = im->slot_title ? im->slot_source : im->header.title_source;

	return source && !strcmp(source, "user");
}

/* A slot of unusual length or position cannot be overwritten, so the log is rewritten. */
static int name_it(struct grove_session *s, const char *name, const char *source,
		   struct grove_detail *d)
{
	struct naming n = { .name = name, .source = source };
	struct grove_buf slot = GROVE_BUF_INIT;
	uint64_t changed;
	int rc = 0;

	if (s->image->has_slot) {
		rc = name_slot(s, name, source, d);
		if (rc != GROVE_EINVAL)
			return rc;
		rc = s->at.dialect->header->slot->compose(name, source, grove__sys_now_ms(), &slot) ? grove__fail_nomem(d) : 0;
	}
	if (!rc)
		rc = slot.len ? 1 : name_header_line(s, &n, d);
	if (rc == 1)
		rc = grove__session_rewrite_slot(s, name_header, &n, grove__buf_slice(&slot), &changed, d);
	grove__buf_release(&slot);
	return rc;
}

/* Where a name can be taken away, one of which nothing is left is "". */
static int clean_or_blank(const struct grove__dialect *dialect, const char *name, struct grove_buf *out,
			  struct grove_detail *d)
{
	struct grove_buf blank = GROVE_BUF_INIT;
	int rc = dialect->names.clean(grove__slice_str(name), &blank);

	grove__buf_release(&blank);
	if (rc != 1)
		return grove__session_clean_name(dialect, name, out, d);
	return grove__buf_reserve(out, 1) ? grove__fail_nomem(d) : 0;
}

/* The name that somebody gave; a short summary serves as one, but is none. */
static const char *given_name(const struct grove__image *im)
{
	if (!grove__dialect_has_title(im->dialect))
		return grove__image_name(im);
	if (im->slot_title)
		return im->slot_title;
	return im->header.title && *im->header.title ? im->header.title : NULL;
}

int grove__session_rename(struct grove_session *s, const char *name, const char *source,
			  struct grove_append_result *out, struct grove_detail *d)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_NAME, .name = { .source = source } };
	struct grove_buf clean = GROVE_BUF_INIT, before = GROVE_BUF_INIT, entry = GROVE_BUF_INIT;
	bool user = false;
	int rc = grove__session_writable(s, d);

	if (rc)
		return rc;
	rc = grove__session_load(s, d);
	if (!rc)
		rc = clean_or_blank(s->at.dialect, name, &clean, d);
	/* a rewrite must include what others have written meanwhile */
	if (!rc && grove__dialect_has_title(s->at.dialect)) {
		rc = grove__session_refresh(s, d);
		rc = rc < 0 ? rc : 0;
		user = !rc && strcmp(source, "user") && by_user(s->image);
	}
	if (rc || user)
		goto out;
	spec.name.text = clean.ptr;
	if (given_name(s->image)) {
		if (grove__buf_add_str(&before, given_name(s->image))) {
			rc = grove__fail_nomem(d);
			goto out;
		}
		spec.name.before = before.ptr;
	}
	if (grove__dialect_has_title(s->at.dialect))
		rc = name_it(s, clean.ptr, source, d);
	/* for formats that also append an entry */
	if (!rc && (!grove__dialect_has_title(s->at.dialect) ||
		    !grove__dialect_spell(s->at.dialect, &spec, &entry, NULL)))
		rc = grove__append_spec(s, &spec, NULL, out, d);
out:
	grove__buf_release(&clean);
	grove__buf_release(&before);
	grove__buf_release(&entry);
	return user ? 1 : grove__session_latch(s, rc, d);
}
