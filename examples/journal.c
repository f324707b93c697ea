/*
 * journal [STORE]: files under paths, for a host that has session code of its own.
 *
 * Such a host wants a file system that does not lose a line, in a directory, in a database, or in
 * memory for its tests, which is where it is without STORE. Writes two sessions as the host
 * would, gives one a title, changes it while others are kept out, lists them and
 * removes them again.
 */
#include <grove/storage.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE "/sessions/one.jsonl"
#define TWO "/sessions/two.jsonl"
#define DRAFT "/sessions/two.draft"

/* A first line with room for a title, as oh-my-pi's sessions have it. */
#define SLOT "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"source\":\"auto\",\"updatedAt\":\"\",\"pad\":\"                                                                \"}\n"
#define HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"%s\"}\n"

/* A line that was appended survives this process; the last one here survives the machine, with all before it. */
static int begin(struct grove_storage *st, const char *path, const char *id)
{
	char header[200];
	int rc = grove_storage_write_text(st, path, grove_str(SLOT), NULL);

	snprintf(header, sizeof(header), HEADER, id);
	if (!rc)
		rc = grove_storage_append_text(st, path, grove_str(header), GROVE_SYNC_NONE);
	if (!rc)
		rc = grove_storage_append_text(st, path,
					       grove_str("{\"type\":\"message\",\"id\":\"a\",\"parentId\":null}\n"),
					       GROVE_SYNC_ALWAYS);
	return rc;
}

/* Replaces the whole file, unless somebody else has changed it: read, decide, write. */
static int change(struct grove_storage *st, const char *path)
{
	struct grove_storage_options opt = { .size = sizeof(opt), .flags = GROVE_STORAGE_IF_BYTES };
	struct grove_title title = { .size = sizeof(title), .text = "two notes", .source = "user" };
	struct grove_buf text = GROVE_BUF_INIT;
	int rc = grove_storage_lock(st, path, 30000), end;

	if (rc)
		return rc;
	rc = grove_storage_read_text(st, path, &text);
	opt.bytes = text.len;
	if (!rc)
		rc = grove_buf_add(&text, grove_str("{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\"}\n"));
	if (!rc)
		rc = grove_storage_write_text(st, path, grove_buf_slice(&text), &opt);
	/* the line keeps its length */
	if (!rc)
		rc = grove_storage_set_title(st, path, &title);
	grove_buf_release(&text);
	end = grove_storage_unlock(st, path);
	return rc ? rc : end;
}

static int show(void *payload, const struct grove_storage_item *item)
{
	struct grove_storage *st = payload;
	struct grove_buf head = GROVE_BUF_INIT, tail = GROVE_BUF_INIT;
	int rc = grove_storage_read_text_slices(st, item->path, 42, 16, &head, &tail);

	if (!rc)
		printf("%s: %d bytes, %s: %s ... %s\n", strrchr(item->path, '/') + 1, (int)item->bytes,
		       item->title.text ? item->title.text : "no title", head.ptr, tail.ptr);
	grove_buf_release(&head);
	grove_buf_release(&tail);
	return rc;
}

static int run(struct grove_storage *st)
{
	int rc = begin(st, ONE, "one");

	rc = rc ? rc : begin(st, DRAFT, "two");
	/* a name of its own, once it is complete */
	rc = rc ? rc : grove_storage_rename(st, DRAFT, TWO);
	rc = rc ? rc : grove_storage_write_text(st, DRAFT, grove_str("the next prompt"), NULL);
	rc = rc ? rc : change(st, TWO);
	rc = rc ? rc : grove_storage_each(st, show, st);
	/* each session with what its tools have printed */
	rc = rc ? rc : grove_storage_remove(st, ONE);
	rc = rc ? rc : grove_storage_remove(st, TWO);
	rc = rc ? rc : grove_storage_remove(st, DRAFT);
	if (!rc)
		printf("%s\n", grove_storage_remove(st, TWO) == 1 ? "nothing is left" : "something is left");
	return rc;
}

int main(int argc, char **argv)
{
	struct grove_options o = { .size = sizeof(o), .home = "/", .cwd = "/", .cache = "" };
	struct grove_storage *st = NULL;
	struct grove_detail why;
	struct grove *g;
	int rc = grove_open(&o, &g);

	if (!rc)
		rc = grove_storage_open(g, argc > 1 ? argv[1] : "memory:", &st);
	if (!rc)
		rc = run(st);
	if (rc)
		fprintf(stderr, "journal: %s\n", grove_error_name(rc));
	if (rc && st) {
		grove_storage_error(st, NULL, &why);
		fprintf(stderr, "journal: %s\n", why.message);
	}
	grove_storage_close(st);
	grove_close(g);
	return rc != 0;
}
