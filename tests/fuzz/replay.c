/*
 * tests/fuzz/replay.c: run a fuzz target on inputs that are known.
 *
 * fuzz_TARGET PATH…: each file, and each *.jsonl below each directory, those that
 * are not there passed over. A failure ends the program, and
 * the last line tells the input.
 */
#include "fuzz.h"

#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the sanitizers, which end the program without a signal. */
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

static void run(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	struct stat st;

	input = path;
	CHECK(f != NULL && !fstat(fileno(f), &st));
	bytes = fuzz_alloc((size_t)st.st_size);
	CHECK(fread(bytes, 1, (size_t)st.st_size, f) == (size_t)st.st_size);
	fclose(f);
	LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	free(bytes);
	nr++;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t n = strlen(path);
	bool jsonl = n > 6 && !strcmp(path + n - 6, ".jsonl");

	/* a target is to be quick: what is large belongs to other tests, unless it is named */
	if (type == FTW_F && (!ftw->level || (jsonl && st->st_size <= 256 << 10)))
		run(path);
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
