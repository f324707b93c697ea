/*
 * digest/digest.c: one session as a list needs it, and as bytes for the catalog.
 *
 *	numbers | length text NUL | length text NUL | …
 */
#include "digest/digest.h"
#include "digest/catalog.h"

#include "sys/file.h"
#include "sys/state.h"

#include <stdlib.h>

struct numbers {
	int64_t created, modified, newest, mtime_ns;
	uint64_t messages, bytes, mark, lines;
	uint32_t mark_crc, version;
	int32_t rc;
	uint8_t has_slot, has_time, reserved[2];
};

enum { DIALECT, AROUND, ID, CWD, NAME, PARENT, WHY, ASKED, SLOT, TITLE, SAID, FIRST, TEXTS };
#define NO_TEXT UINT32_MAX

static int add_text(struct grove_buf *out, const char *text, size_t len)
{
	uint32_t n = text ? (uint32_t)len : NO_TEXT;
	int rc;

	if (text && len >= NO_TEXT)
		return GROVE_ETOOBIG;
	rc = grove__buf_add(out, (const char *)&n, sizeof(n));
	if (!rc && text)
		rc = grove__buf_add(out, text, len);
	return rc || !text ? rc : grove__buf_add(out, "", 1);
}

int grove__digest_pack(const struct grove__digest *l, struct grove_buf *out)
{
	const struct numbers n = { .created = l->created, .modified = l->modified, .newest = l->newest,
				   .mtime_ns = l->mtime_ns, .messages = l->messages, .bytes = l->bytes, .mark = l->mark, .mark_crc = l->mark_crc,
				   .lines = l->lines, .version = l->version,
				   .rc = l->rc, .has_slot = l->has_slot, .has_time = l->has_time };
	const char *const texts[FIRST] = {
		[DIALECT] = l->dialect ? l->dialect->name : NULL, [AROUND] = l->around, [ID] = l->id,
		[CWD] = l->cwd, [NAME] = l->name, [PARENT] = l->parent, [WHY] = l->why,
		[ASKED] = l->asked, [SLOT] = l->slot, [TITLE] = l->title, [SAID] = l->said,
	};
	int rc = grove__buf_add(out, (const char *)&n, sizeof(n));

	for (size_t i = 0; i < FIRST && !rc; i++)
		rc = add_text(out, texts[i], texts[i] ? strlen(texts[i]) : 0);
	return rc ? rc : add_text(out, l->first, l->first_len);
}

static bool take_text(struct grove_slice *in, const char **text, size_t *len)
{
	uint32_t n;

	*text = NULL;
	*len = 0;
	if (in->len < sizeof(n))
		return false;
	memcpy(&n, in->ptr, sizeof(n));
	in->ptr += sizeof(n);
	in->len -= sizeof(n);
	if (n == NO_TEXT)
		return true;
	if (in->len <= n || in->ptr[n])
		return false;
	*text = in->ptr;
	*len = n;
	in->ptr += (size_t)n + 1;
	in->len -= (size_t)n + 1;
	return true;
}

bool grove__digest_unpack(struct grove_slice bytes, struct grove__digest *l)
{
	const char *texts[TEXTS];
	struct numbers n;
	size_t len = 0;

	if (bytes.len < sizeof(n))
		return false;
	memcpy(&n, bytes.ptr, sizeof(n));
	bytes.ptr += sizeof(n);
	bytes.len -= sizeof(n);
	for (size_t i = 0; i < TEXTS; i++)
		if (!take_text(&bytes, &texts[i], &len))
			return false;
	*l = (struct grove__digest){
		.dialect = texts[DIALECT] ? grove__dialect_find(texts[DIALECT]) : NULL,
		.around = texts[AROUND], .rc = n.rc, .id = texts[ID], .cwd = texts[CWD],
		.name = texts[NAME], .parent = texts[PARENT], .why = texts[WHY], .asked = texts[ASKED],
		.first = texts[FIRST], .first_len = len, .created = n.created, .modified = n.modified, .mtime_ns = n.mtime_ns,
		.messages = n.messages, .bytes = n.bytes, .mark = n.mark, .mark_crc = n.mark_crc, .lines = n.lines, .version = n.version, .has_slot = n.has_slot,
		.has_time = n.has_time, .newest = n.newest, .slot = texts[SLOT], .title = texts[TITLE],
		.said = texts[SAID],
	};
	return l->dialect;
}

/*
 * Makes the path of a file that a listing consulted: in the session's directory, or
 * ("../NAME") next to it.
 */
static int path_of(struct grove_buf *out, const char *path, const char *name)
{
	struct grove_slice dir = grove__slice_str(path);

	int rc;

	if (!strncmp(name, "../", 3)) {
		const char *slash = strrchr(path, '/');

		dir.len = slash ? (size_t)(slash - path) : 0;
		name += 3;
	} else {
		grove__slice_cut_end(&dir, ".jsonl");
	}
	rc = grove__buf_add_slice(out, dir);
	rc = rc ? rc : grove__buf_add_char(out, '/');
	return rc ? rc : grove__buf_add_str(out, name);
}

/* A space and the number. */
static int add_hex(struct grove_buf *out, uint64_t n)
{
	char text[17], *p = text + sizeof(text);

	do
		*--p = "0123456789abcdef"[n & 15];
	while (n >>= 4);
	*--p = ' ';
	return grove__buf_add(out, p, (size_t)(text + sizeof(text) - p));
}

int grove__digest_note(struct grove_buf *asked, const char *path, const char *name, bool *there,
		       bool *settled)
{
	struct grove_buf file = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int rc = path_of(&file, path, name);

	*settled = true;
	*there = !rc && !grove__sys_stat(file.ptr, &st);
	if (*there) {
		*settled = grove__sys_settled(st.ctime_ns);
		rc = grove__buf_add_str(asked, name);
		rc = rc ? rc : add_hex(asked, st.dev);
		rc = rc ? rc : add_hex(asked, st.ino);
		rc = rc ? rc : add_hex(asked, st.size);
		rc = rc ? rc : add_hex(asked, (uint64_t)st.mtime_ns);
		rc = rc ? rc : add_hex(asked, (uint64_t)st.ctime_ns);
	} else if (!rc) {
		rc = grove__buf_add_str(asked, name);
	}
	rc = rc ? rc : grove__buf_add_char(asked, '\n');
	grove__buf_release(&file);
	return rc;
}

bool grove__digest_holds(const char *asked, const char *path)
{
	struct grove_buf now = GROVE_BUF_INIT, name = GROVE_BUF_INIT;
	bool holds = true, there, settled;

	for (const char *p = asked; p && *p && holds;) {
		const char *end = strchr(p, '\n');
		size_t n = strcspn(p, " \n");

		grove__buf_clear(&name);
		grove__buf_clear(&now);
		holds = end && !grove__buf_add(&name, p, n) && !grove__digest_note(&now, path, name.ptr, &there, &settled) &&
			now.len == (size_t)(end + 1 - p) && !memcmp(now.ptr, p, now.len);
		p = end ? end + 1 : NULL;
	}
	grove__buf_release(&now);
	grove__buf_release(&name);
	return holds;
}
