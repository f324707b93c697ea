/*
 * kv.c: lines under a key.
 *
 *	kv STORE PROJECT SESSION [LINE...]
 *
 * With lines, append them to the session; without, print what it has. A line with
 * a "uuid" that is already stored is skipped, so a batch whose fate is unknown can be
 * sent again. This is append() and load() of a store for an agent's SDK. The exit status
 * is 3 if the session was never written.
 */
#include <grove.h>

#include <stdio.h>

enum { LINES = 64 };

static int print(void *payload, const char *ptr, size_t len)
{
	return fwrite(ptr, 1, len, payload) == len ? 0 : GROVE_EIO;
}

static int append(struct grove_log *log, char **argv, int nr)
{
	struct grove_log_options opt = { .size = sizeof(opt), .id_member = "uuid",
					 .sync = GROVE_SYNC_ALWAYS };
	struct grove_log_result done = { .size = sizeof(done) };
	struct grove_slice line[LINES];
	int rc;

	for (int i = 0; i < nr; i++)
		line[i] = grove_str(argv[i]);
	rc = grove_log_append(log, line, (size_t)nr, &opt, &done);
	if (!rc)
		printf("%d stored, %d skipped\n", (int)done.stored, (int)done.skipped);
	return rc;
}

int main(int argc, char **argv)
{
	struct grove_log *log = NULL;
	struct grove *g = NULL;
	struct grove_detail why;
	struct grove_key key;
	int rc, nr = argc - 4;

	if (nr < 0 || nr > LINES) {
		fprintf(stderr, "usage: kv STORE PROJECT SESSION [LINE...]\n");
		return 2;
	}
	key = (struct grove_key){ argv[2], argv[3], NULL };
	rc = grove_open(NULL, &g);
	if (!rc)
		rc = grove_log_open(g, argv[1], &key, nr ? GROVE_LOG_CREATE : GROVE_LOG_READ, &log);
	if (!rc)
		rc = nr ? append(log, argv + 4, nr)
			: grove_log_read(log, 0, 0, (struct grove_sink){ print, stdout }, NULL);
	if (rc) {
		log ? grove_log_error(log, &why) : grove_error(g, &why);
		fprintf(stderr, "kv: %s (%s)\n", why.message, grove_error_name(rc));
	}
	grove_log_close(log);
	grove_close(g);
	return rc == GROVE_ENOTFOUND ? 3 : rc != 0;
}
