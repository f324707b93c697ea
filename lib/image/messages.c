/*
 * image/messages.c: the messages of a choice, one by one or all together.
 */
#include "image/messages.h"

#include "base/array.h"

#include <stdlib.h>

/* Returns the time of what comes after the compaction: what it kept, or what follows. */
static int64_t time_after(const struct grove__choice *c)
{
	size_t i = c->kept_from < c->compaction_at ? c->kept_from : c->compaction_at + 1;

	return i < c->nr_path ? grove__spine_time(c->im->spine, c->path[i]) : GROVE_NO_TIME;
}

int grove__messages_each(struct grove__messages *x, int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	const struct grove__choice *c = &x->choice;
	const struct grove__spine *s = c->im->spine;
	struct grove__rows rows;
	struct grove_slice value, message;
	const int64_t next = time_after(c);
	int rc, told = 0;

	grove__rows_init(&rows, c->im, c->log, c->rows, c->nr_rows);
	while (!told && !(rc = grove__rows_next(&rows, &x->row, &value, c->d))) {
		struct grove__choice_edit *e = c->nr_edits ? grove__choice_edit(c, x->row) : NULL;
		struct grove_slice content;

		if (e && e->drop)
			continue;
		if (e)
			content = grove__buf_slice(&e->content);
		x->line = value;
		if (grove__model_message(c->im, x->row, value, &message))
			told = fn(payload, message);
		else
			told = c->im->dialect->context.messages(value, grove__spine_kind(s, x->row),
					      grove__spine_role(s, x->row), grove__spine_time(s, x->row),
					      x->row == c->compaction ? &next : NULL, e ? &content : NULL,
					      &x->blobs, fn, payload);
	}
	grove__rows_release(&rows);
	x->line = grove__slice(NULL, 0);
	/* 1 of the rows is their end, 1 of the caller is its own */
	rc = told ? told : rc == 1 ? 0 : rc;
	return rc == GROVE_ENOMEM ? grove__fail_nomem(c->d) : rc;
}

void grove__messages_release(struct grove__message_list *k)
{
	grove__buf_release(&k->bytes);
	free(k->list);
	free(k->row);
}

int grove__messages_add(struct grove__message_list *k, struct grove_slice json, uint32_t row)
{
	if (grove__array_room(&k->list, &k->cap, k->nr, sizeof(*k->list)) ||
	    grove__array_room(&k->row, &k->cap_rows, k->nr, sizeof(*k->row)))
		return GROVE_ENOMEM;
	k->list[k->nr].len = json.len;
	k->row[k->nr++] = row;
	return grove__buf_add_slice(&k->bytes, json);
}

void grove__messages_settle(struct grove__message_list *k)
{
	const char *at = k->bytes.ptr;

	for (size_t i = 0; i < k->nr; i++) {
		k->list[i].ptr = at;
		at += k->list[i].len;
	}
}
