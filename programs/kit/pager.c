/*
 * pager.c: sends long output through a pager, if a person is reading.
 *
 * The pager owns the terminal while it runs: we ignore Ctrl-C, which is meant for it, and
 * exit only after it has.
 */
#include "pager.h"

#include "on_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *choose(const char *command)
{
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = on_path("less") ? "less -RFX" : "";
	return *command && strcmp(command, "cat") ? command : NULL;
}

/* Starts the pager with its end of the pipe as input, and without the signals that we ignore. */
static int start(const char *command, int in, int ours, pid_t *pid)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, strdup(command), NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t usual;
	int err;

	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGXFSZ);
	sigaddset(&usual, SIGINT);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&how);
	posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	posix_spawn_file_actions_addclose(&files, ours);
	posix_spawnattr_setsigdefault(&how, &usual);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
	err = argv[2] ? posix_spawn(pid, "/bin/sh", &files, &how, argv, environ) : ENOMEM;
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	free(argv[2]);
	return err;
}

void pager_begin(struct pager *p, struct out *o, const char *command)
{
	const char *term = getenv("TERM");
	int fd[2];

	if (p->pid || !o->tty || !term || !*term || !strcmp(term, "dumb"))
		return;
	p->command = choose(command);
	if (!p->command || out_flush(o) || pipe2(fd, O_CLOEXEC))
		return;
	/* like less -RFX: pass colours, exit if it fits on one screen, leave the text there */
	setenv("LESS", "FRX", 0);
	if (start(p->command, fd[0], fd[1], &p->pid)) {
		p->pid = 0;
		close(fd[1]);
	} else {
		signal(SIGINT, SIG_IGN);
		p->terminal = o->fd;
		o->fd = fd[1];
	}
	close(fd[0]);
}

int pager_end(struct pager *p, struct out *o)
{
	enum { NO_SUCH_COMMAND = 127, NO_PROGRAM = 126 };
	int status = 0;

	if (!p->pid)
		return 0;
	out_flush(o);
	close(o->fd);
	o->fd = p->terminal;
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	signal(SIGINT, SIG_DFL);
	if (o->failed == EPIPE)
		o->failed = 0;
	return WIFEXITED(status) && (WEXITSTATUS(status) == NO_SUCH_COMMAND || WEXITSTATUS(status) == NO_PROGRAM);
}
