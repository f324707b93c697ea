/*
 * tests/fuzz/replay.c: runs a fuzz target on known inputs.
 *
 * fuzz_TARGET PATH…: runs each file, and each *.jsonl below each directory, also those
 * inside golden cases. Paths that do not exist are skipped. A failure ends the program,
 * and the last line names the input.
 */
#include "fuzz.h"

#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* A function of the sanitizers, which end the program without a signal. */
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static const char *input;
static unsigned long nr;

static void tell(void)
{
	char text[4400];
	int n = snprintf(text, sizeof(text), "input: %.4200s\n", input);

	if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0)
		_exit(98);
}

static void on_signal(int sig)
{
	tell();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void run(const char *bytes, size_t len)
{
	LLVMFuzzerTestOneInput((const uint8_t *)bytes, len);
	nr++;
}

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t len = strlen(end);

	return n >= len && !memcmp(s + n - len, end, len);
}

/*
 * Runs the parts of a golden case whose names end in .jsonl (tests/lib/golden_case.py). Parts that
 * are not written as plain text are left out.
 */
static void run_parts(const char *text, size_t len)
{
	const char *end = text + len, *from = NULL, *line, *next;
	size_t n;

	for (line = text; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		n = (size_t)(next - line) - (next[-1] == '\n');
		if (n < 8 || memcmp(line, "=== ", 4) || !ends_with(line, n, " ==="))
			continue;
		if (from)
			run(from, (size_t)(line - from));
		from = ends_with(line, n, ".jsonl ===") ? next : NULL;
	}
	if (from)
		run(from, (size_t)(end - from));
}

static void run_file(const char *path, bool is_case)
{
	FILE *f = fopen(path, "rb");
	char *bytes;
	struct stat st;

	input = path;
	CHECK(f != NULL && !fstat(fileno(f), &st));
	bytes = fuzz_alloc((size_t)st.st_size);
	CHECK(fread(bytes, 1, (size_t)st.st_size, f) == (size_t)st.st_size);
	fclose(f);
	if (is_case)
		run_parts(bytes, (size_t)st.st_size);
	else
		run(bytes, (size_t)st.st_size);
	free(bytes);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t n = strlen(path);
	bool is_case = ends_with(path, n, ".case"), known = is_case || ends_with(path, n, ".jsonl");

	/* a target must be quick: large files belong to other tests, unless they are named */
	if (type == FTW_F && (!ftw->level || (known && st->st_size <= 256 << 10)))
		run_file(path, is_case);
	return 0;
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell);
	input = "(none)";
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		if (!access(argv[i], F_OK))
			CHECK(!nftw(argv[i], visit, 16, FTW_PHYS));
	printf("%lu inputs, nothing found\n", nr);
	return nr ? 0 : 1;
}
