/*
 * journal [DIRECTORY]: files under paths, for a host that has session code of its own.
 *
 * Such a host needs a file system that does not lose a line, and the same in memory for
 * its tests: without DIRECTORY nothing is written to disk. Writes two sessions as the host
 * would, gives one a title, changes it while others are kept out, lists them and
 * removes them again.
 */
#include <grove/storage.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A first line with room for a title, as oh-my-pi's sessions have it. */
#define SLOT "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"source\":\"auto\",\"updatedAt\":\"\",\"pad\":\"                                                                \"}\n"
#define HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"%s\"}"

/* Lines are in the file when they are written, and on disk after fsync. */
static int begin(struct grove_storage *st, const char *path, const char *id)
{
	struct grove_writer_options append = { .size = sizeof(append), .flags = GROVE_WRITER_APPEND };
	struct grove_writer *w = NULL;
	struct grove_detail why;
	char header[200];
	int rc = grove_storage_write_text(st, path, grove_str(SLOT));

	if (!rc)
		rc = grove_storage_open_writer(st, path, &append, &w);
	if (rc)
		return rc;
	snprintf(header, sizeof(header), HEADER, id);
	grove_writer_write_line(w, grove_str(header));
	grove_writer_write_line(w, grove_str("{\"type\":\"message\",\"id\":\"a\",\"parentId\":null}"));
	/* the first error is kept, so it is enough to ask once */
	grove_writer_flush(w);
	grove_writer_fsync(w);
	grove_writer_close(w);
	rc = grove_writer_get_error(w, &why);
	if (rc)
		fprintf(stderr, "journal: %s\n", why.message);
	grove_writer_free(w);
	return rc;
}

/* Replaces the whole file, unless somebody else has changed it: read, decide, write. */
static int change(struct grove_storage *st, const char *path)
{
	struct grove_title title = { .size = sizeof(title), .text = "two notes", .source = "user" };
	struct grove_buf text = GROVE_BUF_INIT;
	uint64_t bytes;
	int rc = grove_storage_lock(st, path), end;

	if (rc)
		return rc;
	rc = grove_storage_read_text(st, path, &text);
	bytes = text.len;
	if (!rc)
		rc = grove_buf_add(&text, grove_str("{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\"}\n"));
	if (!rc)
		rc = grove_storage_write_text_if(st, path, grove_buf_slice(&text), bytes);
	/* the line keeps its length */
	if (!rc)
		rc = grove_storage_set_title(st, path, &title);
	grove_buf_release(&text);
	end = grove_storage_unlock(st, path);
	return rc ? rc : end;
}

static int show(struct grove_storage *st, const char *path)
{
	struct grove_storage_stat stat = { .size = sizeof(stat) };
	struct grove_buf title = GROVE_BUF_INIT, head = GROVE_BUF_INIT, tail = GROVE_BUF_INIT;
	int rc = grove_storage_stat(st, path, &stat);

	if (!rc)
		rc = grove_storage_read_text_prefix(st, path, 42, &title);
	if (!rc)
		rc = grove_storage_read_text_slices(st, path, 15, 16, &head, &tail);
	if (!rc)
		printf("%s: %d bytes: %s: %s ... %s", strrchr(path, '/') + 1, (int)stat.bytes, title.ptr, head.ptr, tail.ptr);
	grove_buf_release(&title);
	grove_buf_release(&head);
	grove_buf_release(&tail);
	return rc;
}

static int show_all(struct grove_storage *st, const char *dir)
{
	char **paths;
	size_t nr;
	int rc = grove_storage_list_files(st, dir, "*.jsonl", &paths, &nr);

	for (size_t i = 0; !rc && i < nr; i++)
		rc = show(st, paths[i]);
	free(paths);
	return rc;
}

/* Each session with what its tools have printed; one of them only if nobody has written to it. */
static int clean_up(struct grove_storage *st, const char *one, const char *two, const char *draft)
{
	struct grove_storage_stat stat = { .size = sizeof(stat) };
	int rc = grove_storage_delete_session_with_artifacts(st, one);

	if (!rc)
		rc = grove_storage_stat(st, two, &stat);
	if (!rc)
		rc = grove_storage_delete_session_with_artifacts_if(st, two, stat.bytes);
	return rc ? rc : grove_storage_unlink(st, draft);
}

static int run(struct grove_storage *st, const char *root)
{
	char dir[600], one[700], two[700], draft[700];
	int rc;

	snprintf(dir, sizeof(dir), "%s/sessions", root);
	snprintf(one, sizeof(one), "%s/one.jsonl", dir);
	snprintf(two, sizeof(two), "%s/two.jsonl", dir);
	snprintf(draft, sizeof(draft), "%s/two.draft", dir);
	rc = grove_storage_ensure_dir(st, dir);
	rc = rc ? rc : begin(st, one, "one");
	rc = rc ? rc : begin(st, draft, "two");
	/* a name of its own, once it is complete */
	rc = rc ? rc : grove_storage_rename(st, draft, two);
	rc = rc ? rc : grove_storage_write_text(st, draft, grove_str("the next prompt"));
	rc = rc ? rc : change(st, two);
	rc = rc ? rc : show_all(st, dir);
	rc = rc ? rc : clean_up(st, one, two, draft);
	if (!rc)
		printf("%s\n", grove_storage_exists(st, two) ? "something is left" : "nothing is left");
	return rc;
}

int main(int argc, char **argv)
{
	struct grove_storage_options opt = { .size = sizeof(opt) };
	struct grove_storage *st = NULL;
	struct grove_detail why;
	int rc = argc > 1 ? grove_storage_files(&opt, &st) : grove_storage_memory(&opt, &st);

	if (!rc)
		rc = run(st, argc > 1 ? argv[1] : "");
	if (rc && st) {
		grove_storage_error(st, &why);
		fprintf(stderr, "journal: %s (%s)\n", why.message, grove_error_name(rc));
	}
	grove_storage_close(st);
	return rc != 0;
}
