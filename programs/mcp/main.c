/*
 * main.c: grove-mcp, the program behind `grove mcp`.
 */
#include "mcp.h"

#include "kit/cli.h"
#include "kit/args.h"
#include "kit/indexer.h"
#include "kit/heap.h"
#include "wire.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static int is_cancelled(void *payload, uint64_t done, uint64_t total)
{
	struct mcp *m = payload;

	(void)done;
	(void)total;
	return atomic_load(&m->cancelled);
}

static int open_stores(void *payload, struct grove **out)
{
	const struct cli *c = payload;
	struct grove_options o = { .size = sizeof(o), .stores = c->stores.item, .nr_stores = c->stores.nr,
				   .dialect = c->dialect };

	return grove_open(&o, out);
}

static int run(struct cli *c, int argc, char **argv)
{
	const char *agent = NULL;
	struct mcp m = { .c = c };
	int status;
	const struct opt opts[] = {
		{ "install", .string = &agent },
		{ NULL },
	};

	if (cli_parse(c, opts, "", &argc, argv))
		return c->status;
	if (agent)
		return install_print(c, agent);
	if (cli_start(c) || cli_stores(c))
		return c->status;
	m.g = c->g;
	grove_set_progress(m.g, (struct grove_progress){ is_cancelled, &m });
	m.wire = wire_new(STDIN_FILENO, STDOUT_FILENO);
	m.indexer = indexer_new(&(struct indexer_options){ .open = open_stores, .payload = c });
	if (!m.wire || !m.indexer)
		status = cli_error(c, GROVE_ENOMEM, "out of memory");
	else
		status = serve(&m);
	indexer_free(m.indexer);
	grove_search_close(m.search);
	session_forget(&m);
	grove_buf_release(&m.session_key);
	grove_buf_release(&m.session_word);
	wire_free(m.wire);
	return status;
}

int main(int argc, char **argv)
{
	struct cli c;
	int status;

	heap_return_early();
	args_hide(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	cli_init(&c);
	if (argc < 2)
		return EXIT_USAGE;
	c.command = argv[1];
	status = run(&c, argc - 2, argv + 2);
	out_flush(&c.out);
	if (out_failed(&c.out))
		status = EXIT_FAILED;
	out_flush(&c.err);
	cli_release(&c);
	return status;
}
