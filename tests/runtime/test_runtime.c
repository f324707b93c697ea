/*
 * tests/runtime/test_runtime.c: runs one suite of session tests on every kind
 * of store.
 */
#include "runtime.h"

static const struct kind kinds[] = {
	{ .name = "memory", .url = "memory:", .keeps = true },
	{ .name = "file", .url = "file:%s/store", .shared = true },
#ifdef GROVE_TEST_SQLITE
	{ .name = "sqlite", .url = "sqlite:%s/store.db", .keeps = true, .shared = true },
#endif
#ifdef GROVE_TEST_MYSQL
	{ .name = "mysql", .env = "GROVE_TEST_MYSQL", .keeps = true, .shared = true },
#endif
};

static const struct {
	const struct CMUnitTest *cases;
	const size_t *nr;
} subjects[] = {
	{ session_cases, &nr_session_cases },   { append_cases, &nr_append_cases },
	{ update_cases, &nr_update_cases },     { leaf_cases, &nr_leaf_cases },
	{ snapshot_cases, &nr_snapshot_cases }, { watch_cases, &nr_watch_cases },
	{ watch_set_cases, &nr_watch_set_cases }, { lease_cases, &nr_lease_cases },
	{ submit_cases, &nr_submit_cases },
};

static struct CMUnitTest tests[1024];
static size_t nr_tests;

static void add_case(const struct kind *kind, const struct CMUnitTest *c)
{
	size_t n = strlen(kind->name) + strlen(c->name) + 3;
	char *name = malloc(n);

	assert_non_null(name);
	assert_in_range(nr_tests, 0, ARRAY(tests) - 1);
	snprintf(name, n, "%s: %s", kind->name, c->name);
	tests[nr_tests] = *c;
	tests[nr_tests].name = name;
	tests[nr_tests++].initial_state = (void *)(uintptr_t)kind;
}

/* --process ACT KIND DIR SESSION: acts as another process in the directories of a case. */
static int be_process(char **argv)
{
	static const struct {
		const char *name;
		int (*act)(const struct world *w, const char *id);
	} acts[] = { { "writes", process_writes }, { "scribbles", process_scribbles },
		   { "takes-lease", process_takes_lease } };
	struct world w = { 0 };

	for (size_t i = 0; i < ARRAY(kinds); i++)
		if (!strcmp(kinds[i].name, argv[1])) {
			snprintf(w.dir, sizeof(w.dir), "%s", argv[2]);
			name_world(&w, &kinds[i]);
		}
	for (size_t i = 0; w.kind && i < ARRAY(acts); i++)
		if (!strcmp(acts[i].name, argv[0]))
			_exit(acts[i].act(&w, argv[3]));
	return 2;
}

/* When a server is given, only its store is tested; the others are tested in a run without one. */
int main(int argc, char **argv)
{
	bool server = false;
	int rc;

	if (argc == 6 && !strcmp(argv[1], "--process"))
		return be_process(argv + 2);
	/* a word of a case's name, to run only these cases */
	for (size_t i = 0; i < ARRAY(kinds); i++)
		server |= kinds[i].env && getenv(kinds[i].env);
	for (size_t i = 0; i < ARRAY(kinds); i++) {
		if (server != (kinds[i].env != NULL))
			continue;
		for (size_t s = 0; s < ARRAY(subjects); s++)
			for (size_t c = 0; c < *subjects[s].nr; c++)
				add_case(&kinds[i], &subjects[s].cases[c]);
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	rc = _cmocka_run_group_tests("runtime", tests, nr_tests, NULL, NULL);
	while (nr_tests)
		free((void *)(uintptr_t)tests[--nr_tests].name);
	return rc;
}
