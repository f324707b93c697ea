/*
 * tests/unit/test_xcsh_roundtrip.c: an entry that was appended is read back
 * unchanged.
 *
 * Random entries of every type are appended, in unusual spellings. For each
 * random value three texts are composed side by side: the text that is
 * appended, the text that the log should contain, and the text that a reader
 * should get.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "../lib/xcsh_world.h"

#include "blob/blob.h"
#include "dialect/xcsh.h"
#include "js/js.h"
#include "../lib/calls.h"

#define LIMIT 500000
#define NOTICE "\\n\\n[Session persistence truncated large content]"
#define KEEP (LIMIT - 47)

struct made {
	struct grove_buf given, stored, shown;
};

struct maker {
	struct chance c;
	struct grove__blobs *blobs;
	bool xcsh;               /* drops what streams leave behind, and signatures that are too long */
	unsigned large;          /* so many large strings may still come */
};

/* --- writing the three --- */

static void put(struct grove_buf *b, const char *ptr, size_t len)
{
	assert_int_equal(grove__buf_add(b, ptr, len), 0);
}

static void put_all(struct made *m, const char *text)
{
	put(&m->given, text, strlen(text));
	put(&m->stored, text, strlen(text));
	put(&m->shown, text, strlen(text));
}

/* One spelling goes in, another comes out. */
static void put_as(struct made *m, const char *given, const char *stored)
{
	put(&m->given, given, strlen(given));
	put(&m->stored, stored, strlen(stored));
	put(&m->shown, stored, strlen(stored));
}

static void release(struct made *m)
{
	grove__buf_release(&m->given);
	grove__buf_release(&m->stored);
	grove__buf_release(&m->shown);
}

static void clear(struct made *m)
{
	grove__buf_clear(&m->given);
	grove__buf_clear(&m->stored);
	grove__buf_clear(&m->shown);
}

/* What was made of a part; nothing of it is stored if it is dropped. */
static void put_made(struct made *m, const struct made *part, bool dropped)
{
	put(&m->given, part->given.ptr, part->given.len);
	if (dropped)
		return;
	put(&m->stored, part->stored.ptr, part->stored.len);
	put(&m->shown, part->shown.ptr, part->shown.len);
}

static void put_ref(struct maker *k, struct grove_buf *out, struct grove_slice bytes)
{
	char hash[GROVE__BLOB_HASH];

	assert_int_equal(grove__blob_hash(k->blobs, bytes, hash, NULL), 0);
	assert_int_equal(grove__buf_addf(out, "\"blob:sha256:%s\"", hash), 0);
}

/* --- leaves --- */

static const struct {
	const char *given, *stored;
} pieces[] = {
	{ "a", "a" }, { "word ", "word " }, { "\xc3\xa9", "\xc3\xa9" }, { "\\u00e9", "\xc3\xa9" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" }, { "\\ud83d\\uDE00", "\xf0\x9f\x98\x80" },
	{ "\\ud800x", "\\ud800x" }, { "y\\udfff", "y\\udfff" }, { "\\u0000", "\\u0000" },
	{ "\\u001F", "\\u001f" }, { "\\/", "/" }, { "\\n", "\\n" }, { "\\u000a", "\\n" },
	{ "\xe2\x80\xa8", "\xe2\x80\xa8" }, { "\\u2029", "\xe2\x80\xa9" }, { "\\\"", "\\\"" },
	{ "\\u0022", "\\\"" }, { "\\\\", "\\\\" }, { "\\u007f", "\x7f" }, { "\\b\\f\\r\\t", "\\b\\f\\r\\t" },
	{ "blob:sha256:../../x", "blob:sha256:../../x" }, { "data:image/", "data:image/" },
	{ "\xef\xbf\xbd", "\xef\xbf\xbd" }, { "{}[],:", "{}[],:" },
}, numbers[] = {
	{ "1", "1" }, { "1.0", "1" }, { "1e3", "1000" }, { "-0", "0" }, { "1E21", "1e+21" },
	{ "0.0000001", "1e-7" }, { "123456789012345680000", "123456789012345680000" },
	{ "-1.50", "-1.5" }, { "0.1", "0.1" }, { "9007199254740993", "9007199254740993" },
	{ "12345678901234567890123", "12345678901234567890123" },
}, odd[] = {
	{ "null", "null" }, { "true", "true" }, { "false", "false" }, { "[]", "[]" }, { "{ }", "{}" },
	{ "[ 1 , 2 ]", "[1,2]" }, { "{\"b\":1,\"10\":2,\"2\":3}", "{\"2\":3,\"10\":2,\"b\":1}" },
	{ "{\"__proto__\":1}", "{\"__proto__\":1}" },
};
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void make_text(struct maker *k, struct made *m)
{
	put_all(m, "\"");
	for (uint32_t n = chance_below(&k->c, 6); n--;) {
		uint32_t i = chance_below(&k->c, COUNT(pieces));

		put_as(m, pieces[i].given, pieces[i].stored);
	}
	put_all(m, "\"");
}

static void fill(struct grove_buf *b, size_t units, bool pairs)
{
	if (pairs && units % 2)
		put(b, "x", 1);
	for (size_t i = 0; i < (pairs ? units / 2 : units); i++)
		put(b, pairs ? "\xf0\x9f\x98\x80" : "x", pairs ? 4 : 1);
}

/* Around the limit; `key` tells what becomes of what is over it. */
static void make_large(struct maker *k, struct made *m, const char *key)
{
	size_t units = LIMIT - 2 + chance_below(&k->c, 5);
	bool pairs = chance_below(&k->c, 2);
	bool signature = strstr(key, "Signature"), cipher = !strcmp(key, "encrypted_content");
	struct grove_buf text = GROVE_BUF_INIT;

	k->large--;
	fill(&text, units, pairs);
	put_all(m, "\"");
	put(&m->given, text.ptr, text.len);
	if (units > LIMIT && !cipher) {
		size_t kept = KEEP;

		grove__buf_clear(&text);
		/* an odd number of units begins with one that is no pair */
		if (pairs && (units % 2 ? kept % 2 == 0 : kept % 2 == 1))
			kept--;
		if (!signature) {
			if (pairs && units % 2)
				put(&text, "x", 1);
			for (size_t i = pairs && units % 2; i < kept; i += pairs ? 2 : 1)
				put(&text, pairs ? "\xf0\x9f\x98\x80" : "x", pairs ? 4 : 1);
			put(&text, NOTICE, strlen(NOTICE));
		}
	}
	put(&m->stored, text.ptr, text.len);
	put(&m->shown, text.ptr, text.len);
	put_all(m, "\"");
	grove__buf_release(&text);
}

static void make_bytes(struct maker *k, struct grove_buf *bytes, size_t n)
{
	char c = (char)chance_below(&k->c, 256);

	for (size_t i = 0; i < n; i++, c = (char)(c * 5 + 7))
		put(bytes, &c, 1);
}

/* Base64 as somebody else might write it: the other alphabet, breaks, no padding. */
static void make_loose(struct maker *k, struct grove_buf *b, bool *loose)
{
	*loose = chance_below(&k->c, 3) == 0;
	if (!*loose)
		return;
	while (b->len && b->ptr[b->len - 1] == '=')
		grove__buf_cut(b, b->len - 1);
	for (size_t i = 0; i < b->len; i++)
		b->ptr[i] = b->ptr[i] == '+' ? '-' : b->ptr[i] == '/' ? '_' : b->ptr[i];
}

/* An image, in a content array or not. */
static void make_image(struct maker *k, struct made *m, bool in_content)
{
	struct grove_buf bytes = GROVE_BUF_INIT, data = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	bool loose, first = chance_below(&k->c, 2);

	/* 1023 letters are too few, 1024 are not */
	make_bytes(k, &bytes, 762 + chance_below(&k->c, 9));
	assert_int_equal(grove__js_base64(&data, grove__buf_slice(&bytes)), 0);
	assert_int_equal(grove__js_base64(&text, grove__buf_slice(&bytes)), 0);
	make_loose(k, &data, &loose);
	put_all(m, first ? "{\"type\":\"image\",\"data\":" : "{\"mimeType\":\"image/png\",\"data\":");
	assert_int_equal(grove__buf_addf(&m->given, "\"%s\"", data.ptr), 0);
	if (in_content && data.len >= 1024) {
		put_ref(k, &m->stored, grove__buf_slice(&bytes));
		assert_int_equal(grove__buf_addf(&m->shown, "\"%s\"", text.ptr), 0);
	} else {
		assert_int_equal(grove__buf_addf(&m->stored, "\"%s\"", data.ptr), 0);
		assert_int_equal(grove__buf_addf(&m->shown, "\"%s\"", data.ptr), 0);
	}
	put_all(m, first ? ",\"mimeType\":\"image/png\"}" : ",\"type\":\"image\"}");
	grove__buf_release(&bytes);
	grove__buf_release(&data);
	grove__buf_release(&text);
}

/* Under image_url: a data URL goes away whatever its size, another one stays. */
static void make_url(struct maker *k, struct made *m)
{
	struct grove_buf bytes = GROVE_BUF_INIT, url = GROVE_BUF_INIT;

	if (chance_below(&k->c, 3) == 0) {
		put_all(m, "\"https://example.org/a.png\"");
		return;
	}
	make_bytes(k, &bytes, chance_below(&k->c, 40));
	put(&url, "data:image/png;base64,", 22);
	assert_int_equal(grove__js_base64(&url, grove__buf_slice(&bytes)), 0);
	assert_int_equal(grove__buf_addf(&m->given, "\"%s\"", url.ptr), 0);
	put_ref(k, &m->stored, grove__buf_slice(&url));
	assert_int_equal(grove__buf_addf(&m->shown, "\"%s\"", url.ptr), 0);
	grove__buf_release(&bytes);
	grove__buf_release(&url);
}

/* --- trees --- */

static const char *const keys[] = {
	"alpha", "text", "content", "data", "image_url", "thinkingSignature", "textSignature",
	"thoughtSignature", "encrypted_content", "details", "jsonlEvents", "partialJson", "\xc3\xbc",
};

static void make_value(struct maker *k, struct made *m, const char *key, bool item, unsigned depth);

static void make_array(struct maker *k, struct made *m, const char *key, unsigned depth)
{
	put_all(m, "[");
	for (uint32_t n = chance_below(&k->c, 4), i = 0; i < n; i++) {
		put_as(m, i ? " ,\t" : "", i ? "," : "");
		if (!strcmp(key, "content") && chance_below(&k->c, 2))
			make_image(k, m, true);
		else
			make_value(k, m, key, true, depth + 1);
	}
	put_all(m, "]");
}

static void make_object(struct maker *k, struct made *m, unsigned depth)
{
	struct made part = { GROVE_BUF_INIT, GROVE_BUF_INIT, GROVE_BUF_INIT };
	uint32_t used = 0;
	bool given = false, stored = false;

	put_all(m, "{");
	for (uint32_t n = chance_below(&k->c, 5); n--;) {
		uint32_t i = chance_below(&k->c, COUNT(keys));
		bool drop = !strcmp(keys[i], "jsonlEvents") ||
			    (k->xcsh && !strcmp(keys[i], "partialJson"));

		if (used & 1u << i)
			continue;
		used |= 1u << i;
		clear(&part);
		if (given)
			put(&m->given, " , ", 3);
		if (stored && !drop) {
			put(&m->stored, ",", 1);
			put(&m->shown, ",", 1);
		}
		assert_int_equal(grove__buf_addf(&part.given, "\"%s\" : ", keys[i]), 0);
		assert_int_equal(grove__buf_addf(&part.stored, "\"%s\":", keys[i]), 0);
		assert_int_equal(grove__buf_addf(&part.shown, "\"%s\":", keys[i]), 0);
		make_value(k, &part, keys[i], false, depth + 1);
		put_made(m, &part, drop);
		given = true;
		stored |= !drop;
	}
	put_all(m, "}");
	release(&part);
}

/* `key` is the name it stands under, also through arrays; `item`: right in an array. */
static void make_value(struct maker *k, struct made *m, const char *key, bool item, unsigned depth)
{
	bool url = !strcmp(key, "image_url"), cipher = !strcmp(key, "encrypted_content");
	bool signature = strstr(key, "Signature");
	uint32_t what = chance_below(&k->c, depth > 5 ? 5 : 9), i;

	if (url && chance_below(&k->c, 2)) {
		make_url(k, m);
		return;
	}
	/* ciphers are texts; what is long under `data` may be an image's */
	if (cipher || signature)
		what = 2;
	if (k->large && strcmp(key, "data") && !url && (k->xcsh || !(cipher || signature)) &&
	    chance_below(&k->c, 60) == 0) {
		make_large(k, m, key);
		return;
	}
	switch (what) {
	case 0:
		i = chance_below(&k->c, COUNT(numbers));
		put_as(m, numbers[i].given, numbers[i].stored);
		break;
	case 1:
		i = chance_below(&k->c, COUNT(odd));
		put_as(m, odd[i].given, odd[i].stored);
		break;
	case 2:
	case 3:
		make_text(k, m);
		break;
	case 4:
		/* oh-my-pi takes one that stands there alone as well */
		make_image(k, m, (item || !k->xcsh) && !strcmp(key, "content"));
		break;
	case 5:
	case 6:
		make_array(k, m, key, depth);
		break;
	default:
		make_object(k, m, depth);
	}
}

/* --- entries --- */

/*
 * %v a value, %s a text, %c a content array, %t the id of an entry, %( … %) the
 * base: what is given has it at the front.
 */
static const struct shape {
	const char *dialect; /* NULL: both */
	const char *pattern; /* as it is stored */
} shapes[] = {
	{ NULL, "'type':'message'%b,'message':{'role':'user','content':%c}" },
	{ NULL, "'type':'message'%b,'message':{'role':'user','content':%s,'synthetic':true}" },
	{ NULL, "'type':'message'%b,'message':{'role':'developer','content':%c,'attribution':'agent'}" },
	{ NULL, "'type':'message'%b,'message':{'role':'toolResult','toolCallId':'x','toolName':'read','content':%c,'details':%v,'isError':false}" },
	{ NULL, "'type':'message'%b,'message':{'role':'custom','customType':'x','content':%c,'display':true,'details':%v}" },
	{ NULL, "'type':'message'%b,'message':{'role':'fileMention','files':[{'path':%s,'content':%s}]}" },
	{ NULL, "'type':'thinking_level_change'%b,'thinkingLevel':'high','configured':null" },
	{ NULL, "'type':'service_tier_change'%b,'serviceTier':'flex'" },
	{ NULL, "'type':'mode_change'%b,'mode':%s,'data':%v" },
	{ NULL, "'type':'session_init'%b,'task':%s,'tools':%v,'systemPrompt':%s,'outputSchema':%v" },
	{ NULL, "'type':'branch_summary'%b,'fromId':'root','summary':%s,'details':%v,'fromExtension':true" },
	{ NULL, "'type':'custom','customType':'x','data':%v%b" },
	{ NULL, "'type':'custom_message','customType':'x','content':%c,'display':true,'details':%v,'attribution':'user'%b" },
	{ NULL, "'type':'label'%b,'targetId':%t,'label':'l'" },
	{ NULL, "'type':'ttsr_injection'%b,'injectedRules':[%s]" },
	{ NULL, "'type':'nobody_knows'%b,'alpha':%v,'beta':%v" },
	{ "xcsh", "'type':'model_change'%b,'model':%s,'role':'smol'" },
	{ "xcsh", "'type':'context_change'%b,'contextName':%s,'tenant':%s,'namespace':%s" },
	{ "xcsh", "'type':'mcp_tool_selection'%b,'selectedToolNames':[%s]" },
	{ "omp", "'type':'model_change'%b,'model':%s,'role':'smol','resolvedModelIsFallback':false" },
	{ "omp", "'type':'credential_pin'%b,'provider':%s,'hash':%s" },
	{ "omp", "'type':'title_change'%b,'title':%s,'source':'auto'" },
	{ "omp", "'type':'reset_boundary'%b" },
};

#define ENTRIES 24

struct entry {
	struct made line;
	bool is_message;         /* the context has it as it is shown */
};

struct log {
	struct entry entry[ENTRIES];
	size_t nr;
	bool reset;
};

static void put_base(struct made *m, const char *id, const char *parent)
{
	char base[256];

	snprintf(base, sizeof(base), ",\"id\":\"%s\",\"parentId\":%s%s%s,\"timestamp\":\"2026-01-01T00:00:01.000Z\"",
		 id, parent ? "\"" : "", parent ? parent : "null", parent ? "\"" : "");
	put(&m->stored, base, strlen(base));
	put(&m->shown, base, strlen(base));
}

static void make_entry(struct maker *k, const char *dialect, struct log *log)
{
	struct entry *e = &log->entry[log->nr];
	const struct shape *s;
	char id[32], up[32];

	do
		s = &shapes[chance_below(&k->c, COUNT(shapes))];
	while ((s->dialect && strcmp(s->dialect, dialect)) || (!log->nr && strstr(s->pattern, "%t")));
	snprintf(id, sizeof(id), "e%zu", log->nr);
	snprintf(up, sizeof(up), "e%zu", log->nr - 1);
	e->is_message = strstr(s->pattern, "'type':'message'");
	log->reset |= strstr(s->pattern, "reset_boundary") != NULL;
	/* its id and time come first, and end up where they belong */
	assert_int_equal(grove__buf_addf(&e->line.given, "{ \"timestamp\":\"2026-01-01T00:00:01Z\" ,\"id\": \"%s\",", id), 0);
	put(&e->line.stored, "{", 1);
	put(&e->line.shown, "{", 1);
	for (const char *p = s->pattern; *p; p++) {
		char one[2] = { *p == '\'' ? '"' : *p, '\0' };

		if (*p != '%') {
			put_all(&e->line, one);
			continue;
		}
		switch (*++p) {
		case 'b':
			put_base(&e->line, id, log->nr ? up : NULL);
			break;
		case 'v':
			make_value(k, &e->line, "", false, 0);
			break;
		case 'c':
			make_array(k, &e->line, "content", 0);
			break;
		case 't':
			put_all(&e->line, "\"e0\"");
			break;
		default:
			make_text(k, &e->line);
		}
	}
	put_all(&e->line, "}");
	log->nr++;
}

static void release_log(struct log *log)
{
	for (size_t i = 0; i < log->nr; i++)
		release(&log->entry[i].line);
	log->nr = 0;
	log->reset = false;
}

/* --- what is compared --- */

static void assert_same(const char *what, struct grove_slice have, struct grove_slice want)
{
	size_t i = 0, n = have.len < want.len ? have.len : want.len;

	while (i < n && have.ptr[i] == want.ptr[i])
		i++;
	if (i < n || have.len != want.len)
		fail_msg("%s: length %zu, not %zu; from byte %zu on:\n%.300s\nnot\n%.300s", what, have.len,
			 want.len, i, have.ptr + (i < 40 ? 0 : i - 40), want.ptr + (i < 40 ? 0 : i - 40));
}

static int get_blob(void *payload, struct grove_slice ref, struct grove_buf *bytes)
{
	struct maker *k = payload;
	char hash[GROVE__BLOB_HASH];

	assert_true(grove__blob_parse(ref, hash));
	return grove__blob_get(k->blobs, hash, bytes, NULL);
}

/* The lines of the log, and what a reader sees of each. */
static void assert_lines(struct world *w, struct maker *k, struct grove_session *s,
			 const struct log *log)
{
	const struct grove__blob_source source = { get_blob, k };
	struct grove_view *v = view_of(w, s);
	struct grove_buf line = GROVE_BUF_INIT, seen = GROVE_BUF_INIT;

	assert_int_equal(grove_view_count(v), log->nr);
	for (uint32_t i = 0; i < log->nr; i++) {
		const struct made *m = &log->entry[i].line;
		int rc;

		grove__buf_clear(&line);
		grove__buf_clear(&seen);
		assert_int_equal(grove_view_line(v, i, 0, &line), 0);
		assert_same("stored", grove__buf_slice(&line), grove__buf_slice(&m->stored));
		rc = grove__xcsh_restore(grove__buf_slice(&line), false, &source, &seen);
		assert_in_range(rc, 0, 1);
		assert_same("restored", grove__buf_slice(rc ? &line : &seen), grove__buf_slice(&m->shown));
	}
	grove__buf_release(&line);
	grove__buf_release(&seen);
	grove_view_unref(v);
}

/* Messages come out of the context as they are shown. */
static void assert_messages(struct world *w, struct grove_session *s, const struct log *log)
{
	struct grove_buf c = context_of(w, s);
	struct grove_slice document = grove__buf_slice(&c);
	struct grove__json_iter it, ids;
	size_t at = 0;

	grove__json_iter_init(&it, grove__json_get(document, "messages"));
	grove__json_iter_init(&ids, grove__json_get(document, "entryIds"));
	while (grove__json_next(&it)) {
		char id[32];

		assert_true(grove__json_next(&ids));
		for (;; at++) {
			assert_true(at < log->nr);
			snprintf(id, sizeof(id), "e%zu", at);
			if (grove__json_string_is(ids.value, id))
				break;
			/* none is left out that should be there */
			if (!log->reset)
				assert_false(log->entry[at].is_message);
		}
		if (log->entry[at].is_message)
			assert_same("message", it.value,
				    grove__json_get(grove__buf_slice(&log->entry[at].line.shown), "message"));
		at++;
	}
	grove__buf_release(&c);
}

/* Everything but the header line (`line`) and what is appended is as it was. */
static void assert_others(const char *path, struct grove_slice before, size_t changed)
{
	struct grove_buf now = file_bytes(path);
	const char *a = before.ptr, *b = now.ptr;
	const char *a_end = a + before.len, *b_end = b + now.len;

	for (size_t n = 0; a < a_end; n++) {
		const char *x = memchr(a, '\n', (size_t)(a_end - a)), *y = memchr(b, '\n', (size_t)(b_end - b));

		assert_non_null(x);
		assert_non_null(y);
		if (n != changed)
			assert_same("another line", grove__slice(b, (size_t)(y - b)), grove__slice(a, (size_t)(x - a)));
		a = x + 1;
		b = y + 1;
	}
	grove__buf_release(&now);
}

static void one_session(struct world *w, struct maker *k, const char *dialect)
{
	struct grove_session *s = start(w, dialect, chance_below(&k->c, 2) ? GROVE_CREATE_NOW : 0);
	const char *path = path_of(s);
	struct log log = { .nr = 0 };
	struct grove_buf before;
	uint32_t n = 1 + chance_below(&k->c, ENTRIES - 1);

	k->large = chance_below(&k->c, 6) == 0 ? 2 : 0;
	while (log.nr < n) {
		size_t i = log.nr;
		int rc;

		make_entry(k, dialect, &log);
		rc = grove_session_append(s, grove__buf_slice(&log.entry[i].line.given), NULL, NULL);
		if (rc)
			fail_msg("%s: %.2000s", grove_error_name(rc), log.entry[i].line.given.ptr);
	}
	OK(w, grove_session_ensure(s));
	assert_lines(w, k, s, &log);
	assert_messages(w, s, &log);
	grove_session_close(s);
	/* lines that nobody understands */
	file_add(path, "half a line {\n\n \t \n");
	before = file_bytes(path);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	assert_lines(w, k, s, &log);
	assert_messages(w, s, &log);
	OK(w, name_session(s, "another", GROVE_NAME_BY_USER, NULL));
	/* the first line has the name: the header, or the slot before it */
	assert_others(path, grove__buf_slice(&before), 0);
	grove_session_close(s);
	grove__buf_release(&before);
	release_log(&log);
}

static void what_is_appended_is_read_again(void **state)
{
	struct world *w = *state;
	struct maker k = { .c = chance_begin("entries of xcsh and oh-my-pi") };

	for (size_t d = 0; d < 2; d++) {
		assert_int_equal(grove__blobs_open(&k.blobs, in_home(w, both[d], "blobs"), NULL), 0);
		k.xcsh = d == 0;
		for (int i = 0; i < 60; i++)
			one_session(w, &k, both[d]);
		grove__blobs_close(k.blobs);
	}
	assert_int_equal(told.calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XCSH_TEST(what_is_appended_is_read_again),
	};

	/* hundreds of small files with a few syncs each are long on a disk */
	if (!access("/dev/shm", W_OK))
		setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
