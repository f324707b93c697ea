/*
 * tests/fuzz/fuzz_request.c: the parts of a request that the server parses itself: its
 * target, its body, and the file of tokens.
 *
 * The segments of an accepted target lead nowhere else and are UTF-8. An accepted body
 * can be walked to its end, and its strings fit into the space of their raw form. Any
 * file of tokens is either read or refused, and lets in nobody without one of its
 * tokens.
 */
#include "fuzz.h"

#include "server/target.h"
#include "server/tokens.h"
#include "kit/valid.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_target(const char *text)
{
	struct target t;

	if (!target_parse(&t, text)) {
		CHECK(*text == '/');
		CHECK(t.nr_segments <= TARGET_SEGMENTS && t.nr_params <= TARGET_PARAMS);
		for (unsigned i = 0; i < t.nr_segments; i++) {
			CHECK(!strchr(t.segment[i], '/') && strcmp(t.segment[i], "..") && strcmp(t.segment[i], "."));
			CHECK(utf8_valid(t.segment[i], strlen(t.segment[i])));
		}
		for (unsigned i = 0; i < t.nr_params; i++) {
			CHECK(target_param(&t, t.param[i].name) != NULL);
			CHECK(utf8_valid(t.param[i].value, strlen(t.param[i].value)));
		}
	}
	target_release(&t);
}

/* Checks that everything in a value is within it, down to the innermost values. */
static void walk(struct grove_slice value, unsigned depth)
{
	struct grove_slice item, text;
	const char *place = NULL;

	CHECK(value.len > 0);
	if (*value.ptr == '"') {
		char *room = fuzz_alloc(value.len + 4);

		CHECK(grove_json_text(value, room, value.len + 4, &text));
		CHECK(text.len <= value.len);
		free(room);
	}
	while (depth < GROVE_JSON_DEPTH && *value.ptr == '[' && grove_json_next(value, &place, NULL, &item)) {
		CHECK(item.ptr > value.ptr && item.ptr + item.len < value.ptr + value.len);
		walk(item, depth + 1);
	}
}

static void check_body(const char *bytes, size_t len)
{
	struct grove_slice all = { bytes, len }, value;
	uint64_t at;
	int rc = grove_json_check(all, &all, &at);

	CHECK(at <= len);
	if (rc)
		return;
	walk(all, 0);
	if (*all.ptr == '{' && grove_json_member(all, "entryId", &value))
		walk(value, 0);
}

static void check_tokens(const char *bytes, size_t len)
{
	int fd = memfd_create("tokens", MFD_CLOEXEC);
	struct tokens *t = NULL;
	char path[64], why[256];

	CHECK(fd >= 0 && !fchmod(fd, 0600) && write(fd, bytes, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!tokens_read(path, &t, why, sizeof(why))) {
		CHECK(!tokens_find(t, ""));
		CHECK(!tokens_find(t, "grove_guess"));
	}
	tokens_unref(t);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_alloc(len + 1);

	memcpy(text, bytes, len);
	text[len] = '\0';
	check_body(text, len);
	if (len < 65536) {
		check_target(text);
		check_tokens(text, len);
		/* the same text behind a path, so that it is parsed as a query */
		if (len > 1) {
			text[0] = '/';
			text[1] = '?';
			check_target(text);
		}
	}
	free(text);
	return 0;
}
