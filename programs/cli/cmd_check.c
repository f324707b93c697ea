/*
 * cmd_check.c: finds damage and repairs it.
 */
#include "diff.h"
#include "commands.h"
#include "problems.h"

#include <string.h>
#include <unistd.h>

struct check {
	struct problems found;
	struct diff diff;
	int ask;
	int mended, refused;
	int err;
	struct grove_detail why;
};

/* Keeps the first failure: even after a failed repair we check again. */
static void note_failure(struct check *k, int err)
{
	if (err && !k->err) {
		k->err = err;
		grove_error(k->found.c->g, &k->why);
	}
}

static int check_one(struct check *k, const char *what)
{
	struct grove_check_result r = { sizeof(r) };
	int err = grove_check(k->found.c->g, what, problems_add, &k->found, &r);

	k->found.files += r.files;
	k->found.entries += r.entries;
	note_failure(k, err);
	return err;
}

/* --- mending --- */

static int on_change(void *payload, const struct grove_fix_change *x)
{
	struct check *k = payload;
	struct problems *ck = &k->found;

	if (ck->c->json) {
		problems_change(ck, x);
		return 0;
	}
	diff_print(&k->diff, &ck->c->out, x);
	return out_failed(&ck->c->out);
}

static int on_confirm(void *payload, const char *path, uint64_t changes)
{
	struct check *k = payload;
	struct cli *c = k->found.c;

	if (!k->ask)
		return 0;
	out_flush(&c->out);
	if (cli_confirm(c, "change %llu line%s of %s?", (unsigned long long)changes,
			changes == 1 ? "" : "s", path))
		return 0;
	k->refused++;
	return 1;
}

static int on_done(void *payload, const char *path, const char *cut)
{
	struct check *k = payload;

	k->mended++;
	problems_mended(&k->found, path, cut);
	return 0;
}

static int fix_one(struct check *k, const char *what, int dry_run)
{
	struct grove_fix_options o = { .size = sizeof(o),
				       .flags = dry_run ? GROVE_FIX_DRY_RUN : 0,
				       .change = on_change,
				       .confirm = on_confirm,
				       .done = on_done,
				       .payload = k };
	struct grove_fix_result r = { .size = sizeof(r) };
	int err = grove_fix(k->found.c->g, what, &o, &r);

	note_failure(k, err);
	return err;
}

int cmd_check(struct cli *c, int argc, char **argv)
{
	struct check k = { .ask = 0 };
	int fix = 0, dry_run = 0, yes = 0, err = 0, status;
	const struct opt opts[] = {
		{ "fix", .flag = &fix },
		{ "dry-run", .flag = &dry_run },
		{ "yes", .flag = &yes },
		{ NULL },
	};

	if (cli_begin(c, opts, "[SESSION...]", &argc, argv))
		return c->status;
	if ((dry_run || yes) && !fix)
		return cli_usage(c, "--%s requires --fix", dry_run ? "dry-run" : "yes");
	if (!argc && cli_stores(c))
		return c->status;
	for (int i = 0; i < argc; i++)
		if (cli_directory_given(c, argv[i]))
			return c->status;
	problems_begin(&k.found, c);
	k.found.fixing = fix;
	k.ask = !yes && !c->json && isatty(STDIN_FILENO) && c->err.tty;
	cli_progress(c, "checking");
	for (int i = 0; fix && !err && i < (argc ? argc : 1); i++)
		err = fix_one(&k, argc ? argv[i] : NULL, dry_run);
	if (err != GROVE_ECANCELLED)
		err = 0;
	for (int i = 0; !err && i < (argc ? argc : 1); i++)
		err = check_one(&k, argc ? argv[i] : NULL);
	cli_progress_end(c);
	status = problems_print(&k.found, k.err, &k.why);
	problems_release(&k.found);
	return status;
}
