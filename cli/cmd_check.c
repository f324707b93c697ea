/*
 * cmd_check.c: look for damage.
 */
#include "problems.h"

static int check_one(struct problems *ck, const char *what)
{
	struct grove_check_result r = { sizeof(r) };
	int err = grove_check(ck->c->g, what, problems_add, ck, &r);

	if (err)
		return cli_fail_grove(ck->c, err);
	ck->files += r.files;
	ck->entries += r.entries;
	return EXIT_DONE;
}

int cmd_check(struct cli *c, int argc, char **argv)
{
	struct problems ck;
	int status = EXIT_DONE;

	if (cli_begin(c, NULL, "[SESSION...]", &argc, argv))
		return c->status;
	problems_begin(&ck, c);
	cli_progress(c, "checking");
	if (!argc)
		status = check_one(&ck, NULL);
	for (int i = 0; i < argc && !status; i++)
		status = check_one(&ck, argv[i]);
	cli_progress_end(c);
	if (!status)
		status = problems_print(&ck);
	problems_release(&ck);
	return status;
}
