/*
 * sys/run.c: run another program and wait for it.
 */
#include "sys/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/*
 * The variables of the program. A library that was loaded with RTLD_DEEPBIND, as Node loads
 * ours, is bound to an `environ` of the C library's that nobody sets.
 */
static char **variables(void)
{
	void *program = dlopen(NULL, RTLD_NOW);
	char ***own = program ? dlsym(program, "environ") : NULL;
	char **found = own ? *own : environ;

	if (program)
		dlclose(program);
	return found;
}

int grove__sys_run(const char *const argv[])
{
	posix_spawn_file_actions_t acts;
	int rc, status;
	pid_t pid;

	if (posix_spawn_file_actions_init(&acts))
		return -ENOMEM;
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&acts, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
	/* posix_spawn takes char *const[] but changes nothing */
	rc = posix_spawnp(&pid, argv[0], &acts, NULL, (char *const *)(uintptr_t)argv, variables());
	posix_spawn_file_actions_destroy(&acts);
	if (rc)
		return -rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
