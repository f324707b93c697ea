/*
 * spool.c: the lines of an answer, set aside until all of it has arrived.
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_MEMORY ((size_t)1 << 20)

/* A file that is gone when it is closed, whatever happens. */
static FILE *open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	FILE *f;
	int fd;

	if (!dir || *dir != '/' || strlen(dir) > sizeof(path) - 32)
		dir = "/var/tmp";
	snprintf(path, sizeof(path), "%s/grove-sync-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return tmpfile();
	unlink(path);
	f = fdopen(fd, "w+");
	if (!f)
		close(fd);
	return f;
}

static int failed(void)
{
	return errno == ENOMEM ? GROVE_ENOMEM : errno == ENOSPC || errno == EDQUOT ? GROVE_EFULL : GROVE_EIO;
}

static int put(struct spool *s, const char *ptr, size_t len)
{
	if (!s->file && s->text.len + len <= IN_MEMORY)
		return grove_buf_add(&s->text, (struct grove_slice){ ptr, len });
	if (!s->file) {
		s->file = open_file();
		if (!s->file || fwrite(s->text.ptr ? s->text.ptr : "", 1, s->text.len, s->file) != s->text.len)
			return failed();
	}
	return fwrite(ptr, 1, len, s->file) == len ? 0 : failed();
}

int spool_add(struct spool *s, const char *ptr, size_t len, size_t longest)
{
	const char *end = ptr + len;
	int rc = 0;

	while (ptr < end && !rc) {
		const char *lf = memchr(ptr, '\n', (size_t)(end - ptr));
		size_t n = (size_t)((lf ? lf + 1 : end) - ptr);

		if (s->lines == s->most)
			return SPOOL_TOO_MANY;
		if (s->part + n > longest)
			return GROVE_ETOOBIG;
		rc = put(s, ptr, n);
		s->part = lf ? 0 : s->part + n;
		s->lines += lf != NULL;
		ptr += n;
	}
	return rc;
}

int spool_rewind(struct spool *s)
{
	s->at = 0;
	return s->file && (fflush(s->file) || fseek(s->file, 0, SEEK_SET)) ? failed() : 0;
}

static int next_of_file(struct spool *s, struct grove_slice *line)
{
	size_t cap = s->text.cap;
	ssize_t n = getline(&s->text.ptr, &cap, s->file);

	s->text.cap = cap;
	if (n <= 0)
		return ferror(s->file) ? failed() : feof(s->file) ? 1 : GROVE_ENOMEM;
	*line = (struct grove_slice){ s->text.ptr, (size_t)n - (s->text.ptr[n - 1] == '\n') };
	return 0;
}

int spool_next(struct spool *s, struct grove_slice *line)
{
	const char *from, *lf;
	size_t left;

	if (s->file)
		return next_of_file(s, line);
	if (s->at == s->text.len)
		return 1;
	from = s->text.ptr + s->at;
	left = s->text.len - s->at;
	lf = memchr(from, '\n', left);
	*line = (struct grove_slice){ from, lf ? (size_t)(lf - from) : left };
	s->at += line->len + (lf ? 1 : 0);
	return 0;
}

void spool_release(struct spool *s)
{
	if (s->file)
		fclose(s->file);
	grove_buf_release(&s->text);
	memset(s, 0, sizeof(*s));
}
