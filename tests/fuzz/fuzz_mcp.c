/*
 * tests/fuzz/fuzz_mcp.c: a line that a client of `grove mcp` sends, and the items of a batch.
 *
 * Reading it must end, its parts lie within it, and for an invalid message there is a reason.
 */
#include "fuzz.h"

#include "mcp/message.h"

static void check(struct grove_slice whole, const struct message *m)
{
	const struct grove_slice parts[] = { m->id, m->params };

	for (size_t i = 0; i < 2; i++)
		CHECK(!parts[i].len || (parts[i].ptr >= whole.ptr && parts[i].ptr + parts[i].len <= whole.ptr + whole.len));
	CHECK(strlen(m->method) < sizeof(m->method) && strlen(m->version) < sizeof(m->version));
	CHECK(m->kind != MESSAGE_REQUEST || m->id.len);
	CHECK(m->kind != MESSAGE_INVALID || (m->why && m->error));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct grove_slice line = { (const char *)data, size }, item;
	const char *place = NULL;
	struct message m;

	message_read(line, &m);
	check(line, &m);
	while (m.kind != MESSAGE_INVALID && grove_json_next(line, &place, NULL, &item)) {
		struct message one;

		message_read_item(item, &one);
		check(line, &one);
	}
	return 0;
}
