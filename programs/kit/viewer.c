/*
 * viewer.c: finds running servers of this user, and opens a browser.
 */
#include "viewer.h"

#include "on_path.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_SECONDS 5
#define FILE_SECONDS 60
#define URL_MAX 256

/* ------------------------------------------------------------------- places */

/* Creates the directory; one that others can access is not used. */
static int own_directory(const char *dir)
{
	struct stat st;

	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(dir, '/') - dir), dir);
	mkdir(parent, 0700); /* ~/.cache of a new user; it may exist already */
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -1;
	if (lstat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -1;
	return st.st_mode & 022 ? -1 : 0;
}

static int directory(char *out, size_t size)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (run && *run == '/')
		n = snprintf(out, size, "%s/grove", run);
	else if (cache && *cache == '/')
		n = snprintf(out, size, "%s/grove", cache);
	else
		n = snprintf(out, size, "%s/.cache/grove", home ? home : "");
	return n < 0 || (size_t)n >= size || own_directory(out) ? -1 : 0;
}

static int own_file(char *out, size_t size)
{
	char dir[PATH_MAX - 32];

	if (directory(dir, sizeof(dir)))
		return -1;
	return snprintf(out, size, "%s/serve-%ld", dir, (long)getpid()) < (int)size ? 0 : -1;
}

void viewer_tell(const char *url)
{
	char path[PATH_MAX];
	FILE *f;

	if (own_file(path, sizeof(path)))
		return;
	f = fopen(path, "ae");
	if (!f)
		return;
	fprintf(f, "%s\n", url);
	fclose(f);
}

void viewer_forget(void)
{
	char path[PATH_MAX];

	if (!own_file(path, sizeof(path)))
		unlink(path);
}

/* ------------------------------------------------------------------- asking */

static int connect_to(unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct timeval wait = { ANSWER_SECONDS, 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

/* Only servers with plain HTTP on this machine are recorded, so only these are asked. */
static int answers(const char *url, const char *path)
{
	char text[1024];
	unsigned port;
	ssize_t n = 0;
	int fd, len;

	if (sscanf(url, "http://127.0.0.1:%5u", &port) != 1 || port > 65535)
		return 0;
	len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", path, port);
	if (len < 0 || (size_t)len >= sizeof(text))
		return 0;
	fd = connect_to(port);
	if (fd < 0)
		return 0;
	if (send(fd, text, (size_t)len, MSG_NOSIGNAL) == len)
		n = recv(fd, text, 12, MSG_WAITALL);
	close(fd);
	return n == 12 && !memcmp(text, "HTTP/1.1 200", 12);
}

/* Finds the first address in a server's file that answers. */
static int find_in(const char *file, const char *path, char *url, size_t size)
{
	FILE *f = fopen(file, "re");
	char line[URL_MAX];
	int rc = -1;

	if (!f)
		return -1;
	while (rc && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (answers(line, path) && snprintf(url, size, "%s", line) < (int)size)
			rc = 0;
	}
	fclose(f);
	return rc;
}

int viewer_find(const char *path, char *url, size_t size)
{
	char dir[PATH_MAX - 32], file[PATH_MAX + 256];
	struct dirent *e;
	DIR *d;
	int rc = -1;

	if (directory(dir, sizeof(dir)))
		return -1;
	d = opendir(dir);
	if (!d)
		return -1;
	while (rc && (e = readdir(d))) {
		long pid;

		if (sscanf(e->d_name, "serve-%ld", &pid) != 1 || pid <= 0)
			continue;
		snprintf(file, sizeof(file), "%s/%s", dir, e->d_name);
		if (kill((pid_t)pid, 0) && errno == ESRCH)
			unlink(file); /* the server was killed before it could remove it */
		else
			rc = find_in(file, path, url, size);
	}
	closedir(d);
	return rc;
}

/* ------------------------------------------------------------------ browser */

static const char *browser(void)
{
	const char *own = getenv("BROWSER"), *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	if (own && *own)
		return strchr(own, '/') ? (access(own, X_OK) ? NULL : own) : on_path(own) ? own : NULL;
	return ((x && *x) || (wayland && *wayland)) && on_path("xdg-open") ? "xdg-open" : NULL;
}

/* Makes a private page that redirects to the address. */
static int redirect_file(const char *url, char *out, size_t size)
{
	char dir[PATH_MAX - 64];
	int fd, n;

	if (directory(dir, sizeof(dir)) || snprintf(out, size, "%s/open-XXXXXX.html", dir) >= (int)size)
		return -1;
	fd = mkstemps(out, 5); /* 0600 */
	if (fd < 0)
		return -1;
	n = dprintf(fd, "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
			"<meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>grove</title>\n", url);
	close(fd);
	if (n > 0)
		return 0;
	unlink(out);
	return -1;
}

/* Runs the browser in a separate process, which then removes the file. */
static void run_browser(const char *program, const char *what, const char *file)
{
	char *const words[] = { (char *)(uintptr_t)program, (char *)(uintptr_t)what, NULL };
	sigset_t none;
	pid_t child;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	setsid();
	child = file ? fork() : 0;
	if (!child) {
		execvp(program, words);
		_exit(127);
	}
	sleep(FILE_SECONDS);
	unlink(file);
	_exit(0);
}

int viewer_open(const char *url)
{
	const char *program = browser();
	char file[PATH_MAX];
	int secret = strstr(url, "#t=") != NULL;
	pid_t child;

	if (!program || (secret && redirect_file(url, file, sizeof(file))))
		return -1;
	child = fork();
	if (!child)
		run_browser(program, secret ? file : url, secret ? file : NULL);
	if (child < 0 && secret)
		unlink(file);
	return child < 0 ? -1 : 0;
}
