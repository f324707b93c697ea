/*
 * dialect/xcsh_write.c: headers, titles, and the entries that are spelled by
 * their parts.
 */
#include "dialect/xcsh.h"

#include "js/js.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#define SLOT_LEN 255 /* and the line end */

int grove__xcsh_put_time(struct grove_buf *out, const char *name, int64_t time)
{
	char iso[GROVE__JS_ISO_MAX];

	iso[grove__js_iso(iso, time)] = '\0';
	return grove__pi_put_str(out, name, iso);
}

/* The members of a header stand in the order in which each way of making one sets them. */
int grove__xcsh_compose_header(const struct grove__header_in *in, struct grove_buf *out)
{
	const char *parent = in->parent;
	int rc = grove__buf_add_str(out, "{\"type\":\"session\",\"version\":3");

	if (!parent && in->what != HEADER_NEW)
		parent = in->what == HEADER_BRANCH ? in->from_path : in->from_id;
	rc = rc ? rc : grove__pi_put_str(out, "id", in->id);
	if (in->what == HEADER_FORK) {
		rc = rc ? rc : grove__pi_put_str(out, "title", in->title);
		rc = rc ? rc : grove__pi_put_str(out, "titleSource", in->title_source);
	}
	rc = rc ? rc : grove__xcsh_put_time(out, "timestamp", in->time);
	rc = rc ? rc : grove__pi_put_str(out, "cwd", in->cwd);
	rc = rc ? rc : grove__pi_put_str(out, "parentSession", parent);
	if (in->what == HEADER_NEW || in->what == HEADER_FORK_FROM) {
		rc = rc ? rc : grove__pi_put_str(out, "title", in->title);
		rc = rc ? rc : grove__pi_put_str(out, "titleSource", in->title_source);
	}
	return rc ? rc : grove__buf_add_char(out, '}');
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

/* The slot, with that much padding. */
static int put_slot(struct grove_slice title, const char *source, int64_t time, size_t pad,
		    struct grove_buf *out)
{
	int rc = grove__buf_add_str(out, "{\"type\":\"title\",\"v\":1,\"title\":");

	rc = rc ? rc : grove__json_put_string(out, title);
	rc = rc ? rc : grove__pi_put_str(out, "source", source);
	rc = rc ? rc : grove__xcsh_put_time(out, "updatedAt", time);
	return rc ? rc : grove__buf_addf(out, ",\"pad\":\"%*s\"}", (int)pad, "");
}

int grove__xcsh_slot(const char *title, const char *source, int64_t time, struct grove_buf *out)
{
	struct grove_slice t = grove__slice_str(title ? title : "");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc;

	for (;;) {
		grove__buf_clear(&b);
		rc = put_slot(t, source, time, 0, &b);
		if (rc || b.len <= SLOT_LEN || !t.len)
			break;
		/* one character less */
		do
			t.len--;
		while (t.len && (t.ptr[t.len] & 0xc0) == 0x80);
	}
	if (!rc)
		rc = put_slot(t, source, time, SLOT_LEN - b.len, out);
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

/* Control characters become spaces, several spaces one; then trimmed. */
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

/* `,"model":"provider/id"` */
static int put_model(struct grove_buf *out, const char *provider, const char *model)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s%s%s", provider ? provider : "", provider ? "/" : "", model);

	if (!rc)
		rc = grove__pi_put_str(out, "model", b.ptr);
	grove__buf_release(&b);
	return rc;
}

int grove__xcsh_spell(const struct grove__entry_spec *spec, struct grove_buf *out,
		      struct grove_detail *d)
{
	size_t start = out->len;
	int rc;

	switch (spec->kind) {
	case GROVE_KIND_MODEL:
		rc = grove__buf_add_str(out, "{\"type\":\"model_change\"");
		rc = rc ? rc : put_model(out, spec->model.provider, spec->model.model);
		rc = rc ? rc : grove__pi_put_str(out, "role", spec->model.role);
		break;
	case GROVE_KIND_COMPACTION:
		rc = grove__buf_add_str(out, "{\"type\":\"compaction\"");
		rc = rc ? rc : grove__pi_put_str(out, "summary", spec->compaction.summary);
		rc = rc ? rc : grove__pi_put_str(out, "shortSummary", spec->compaction.short_summary);
		rc = rc ? rc : grove__pi_put_str(out, "firstKeptEntryId", spec->compaction.first_kept);
		rc = rc ? rc : grove__pi_put_number(out, "tokensBefore", spec->compaction.tokens_before);
		rc = rc ? rc : grove__pi_put_json(out, "details", spec->compaction.details_json);
		rc = rc ? rc : grove__pi_put_tristate(out, "fromExtension", spec->compaction.from_hook);
		rc = rc ? rc : grove__pi_put_json(out, "preserveData", spec->compaction.preserve_json);
		break;
	case GROVE_KIND_BRANCH_SUMMARY:
		rc = grove__buf_add_str(out, "{\"type\":\"branch_summary\"");
		rc = rc ? rc : grove__pi_put_str(out, "fromId", spec->branch_summary.from);
		rc = rc ? rc : grove__pi_put_str(out, "summary", spec->branch_summary.summary);
		rc = rc ? rc : grove__pi_put_json(out, "details", spec->branch_summary.details_json);
		rc = rc ? rc : grove__pi_put_tristate(out, "fromExtension",
						      spec->branch_summary.from_hook);
		break;
	case GROVE_KIND_USAGE:
	case GROVE_KIND_CONTEXT_EDIT:
	case GROVE_KIND_NAME:
		return grove__fail(d, GROVE_ENOTSUP, NULL, "this agent has no entries of that kind");
	default:
		return grove__pi_spell(spec, out, d);
	}
	if (!rc)
		rc = grove__buf_add_char(out, '}');
	if (rc)
		grove__buf_cut(out, start);
	return rc ? grove__fail_nomem(d) : 0;
}
