/*
 * dialect/xcsh_write.c: headers, titles, and entries composed from their parts.
 */
#include "dialect/xcsh.h"

#include "js/js.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#define SLOT_LEN 255 /* plus the line end */

static void put_title(struct grove__out *o, const struct grove__header_in *in)
{
	grove__out_string_if(o, "title", in->title);
	grove__out_string_if(o, "titleSource", in->title_source);
}

/* Members are in the order in which each way of making a header sets them. */
int grove__xcsh_compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	const char *parent = in->parent;
	struct grove__out o;

	if (!parent && in->what != HEADER_NEW)
		parent = in->what == HEADER_BRANCH ? in->from_path : in->from_id;
	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "type", "session");
	grove__out_number(&o, "version", 3);
	grove__out_string_if(&o, "id", in->id);
	if (in->what == HEADER_FORK)
		put_title(&o, in);
	grove__pi_put_time(&o, "timestamp", in->time);
	grove__out_string_if(&o, "cwd", in->cwd);
	grove__out_string_if(&o, "parentSession", parent);
	if (in->what == HEADER_NEW || in->what == HEADER_FORK_FROM)
		put_title(&o, in);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

int grove__xcsh_title(struct grove_slice line, const char *title, const char *source,
		      struct grove_buf *out)
{
	struct grove_buf t = GROVE_BUF_INIT, s = GROVE_BUF_INIT;
	struct grove__json_change ch[2] = { { .path = { "title" } }, { .path = { "titleSource" } } };
	int rc = grove__json_put_str(&t, title);

	if (!rc)
		rc = grove__json_put_str(&s, source);
	ch[0].value = grove__buf_slice(&t);
	ch[1].value = grove__buf_slice(&s);
	if (!rc)
		rc = grove__json_edit(out, line, ch, 2);
	grove__buf_release(&t);
	grove__buf_release(&s);
	return rc;
}

/* Writes the slot with that much padding. */
static int put_slot(struct grove_slice title, const char *source, const char *time, size_t pad,
		    struct grove_buf *out)
{
	struct grove__out o;
	int rc;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "type", "title");
	grove__out_number(&o, "v", 1);
	grove__out_slice(&o, "title", title);
	grove__out_string_if(&o, "source", source);
	grove__out_string(&o, "updatedAt", time);
	rc = grove__out_finish(&o);
	return rc ? rc : grove__buf_addf(out, ",\"pad\":\"%*s\"}", (int)pad, "");
}

/*
 * Writes the slot in exactly `len` bytes, with as much of the title as fits. Returns 1 if
 * even an empty one does not fit.
 */
static int fit_slot(const char *title, const char *source, const char *time, size_t len,
		    struct grove_buf *out)
{
	struct grove_slice t = grove__slice_str(title ? title : "");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc;

	for (;;) {
		grove__buf_clear(&b);
		rc = put_slot(t, source, time, 0, &b);
		if (rc || b.len <= len || !t.len)
			break;
		/* one character less */
		do
			t.len--;
		while (t.len && (t.ptr[t.len] & 0xc0) == 0x80);
	}
	if (!rc)
		rc = b.len > len ? 1 : put_slot(t, source, time, len - b.len, out);
	grove__buf_release(&b);
	return rc;
}

int grove__xcsh_slot(const char *title, const char *source, int64_t time, struct grove_buf *out)
{
	char iso[GROVE__JS_ISO_MAX + 1];

	iso[grove__js_iso(iso, time)] = '\0';
	return fit_slot(title, source, iso, SLOT_LEN, out);
}

/* The line is followed by padding for the scanner. */
static bool is_slot(struct grove_slice line)
{
	enum { TYPE, VERSION, PAD, MEMBERS };
	static const struct grove__json_member members[MEMBERS] = {
		[TYPE] = { "type", -1 },
		[VERSION] = { "v", -1 },
		[PAD] = { "pad", -1 },
	};
	struct grove__json_line l;

	return line.len && grove__dialect_scan(members, MEMBERS, line, &l) &&
	       grove__json_string_is(grove__json_span_of(&l, line.ptr, TYPE), "title") &&
	       grove__slice_eq(grove__json_span_of(&l, line.ptr, VERSION), grove__slice_str("1")) &&
	       grove__json_has(&l, PAD);
}

int grove__xcsh_slot_change(struct grove_slice line, const char *title, const char *source,
			    const char *time, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_add_slice(&b, line) || grove__buf_reserve(&b, GROVE__JSON_PAD) ? GROVE_ENOMEM : 0;

	if (!rc)
		rc = is_slot(grove__buf_slice(&b)) ? fit_slot(title, source, time, line.len, out) : 1;
	grove__buf_release(&b);
	return rc;
}

const char *grove__xcsh_slot_source(struct grove_slice line)
{
	struct grove_slice source = grove__json_get(line, "source");

	if (grove__json_string_is(source, "user"))
		return "user";
	return grove__json_string_is(source, "auto") ? "auto" : NULL;
}

/* Turns control characters into spaces, runs of spaces into one, and trims. */
int grove__xcsh_clean_name(struct grove_slice name, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < name.len && !rc; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		bool space = c <= 0x20 ? c < 0x20 || c == ' ' : c == 0x7f;

		/* U+0080 to U+009F are C2 80 to C2 9F */
		if (c == 0xc2 && i + 1 < name.len && (unsigned char)name.ptr[i + 1] < 0xa0) {
			space = true;
			i++;
		}
		if (!space)
			rc = grove__buf_add_char(&b, (char)c);
		else if (!b.len || b.ptr[b.len - 1] != ' ')
			rc = grove__buf_add_char(&b, ' ');
	}
	if (!rc)
		rc = grove__buf_add_slice(out, grove__js_trim(grove__buf_slice(&b)));
	grove__buf_release(&b);
	return rc;
}

static void put_model(struct grove__out *o, const char *provider, const char *model)
{
	struct grove_buf b = GROVE_BUF_INIT;

	grove__out_fail(o, grove__buf_addf(&b, "%s%s%s", provider ? provider : "", provider ? "/" : "", model));
	grove__out_string(o, "model", b.ptr);
	grove__buf_release(&b);
}

int grove__xcsh_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
		      struct grove_detail *d)
{
	size_t start = out->len;
	struct grove__out o;
	int rc;

	grove__out_init_buf(&o, out);
	switch (spec->kind) {
	case GROVE_KIND_MODEL:
		grove__out_open(&o, NULL, '{');
		grove__out_string(&o, "type", "model_change");
		put_model(&o, spec->model.provider, spec->model.model);
		grove__out_string_if(&o, "role", spec->model.role);
		break;
	case GROVE_KIND_COMPACTION:
		grove__out_open(&o, NULL, '{');
		grove__out_string(&o, "type", "compaction");
		grove__out_string_if(&o, "summary", spec->compaction.summary);
		grove__out_string_if(&o, "shortSummary", spec->compaction.short_summary);
		grove__out_string_if(&o, "firstKeptEntryId", spec->compaction.first_kept);
		grove__out_double(&o, "tokensBefore", spec->compaction.tokens_before);
		grove__out_raw_if(&o, "details", spec->compaction.details_json);
		grove__pi_put_tristate(&o, "fromExtension", spec->compaction.from_hook);
		grove__out_raw_if(&o, "preserveData", spec->compaction.preserve_json);
		break;
	case GROVE_KIND_BRANCH_SUMMARY:
		grove__out_open(&o, NULL, '{');
		grove__out_string(&o, "type", "branch_summary");
		grove__out_string_if(&o, "fromId", spec->branch_summary.from);
		grove__out_string_if(&o, "summary", spec->branch_summary.summary);
		grove__out_raw_if(&o, "details", spec->branch_summary.details_json);
		grove__pi_put_tristate(&o, "fromExtension", spec->branch_summary.from_hook);
		break;
	case GROVE_KIND_NAME:
		return grove__fail(d, GROVE_ENOTSUP, NULL, "this agent has no entries of that kind");
	default:
		return grove__pi_spell(spec, out, d);
	}
	grove__out_close(&o, '}');
	rc = grove__out_finish(&o);
	if (rc)
		grove__buf_cut(out, start);
	return rc ? grove__fail_nomem(d) : 0;
}
