/*
 * cli.c: what commands share.
 */
#include "cli.h"
#include "help.h"
#include "dates.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ----------------------------------------------------------------- the ends */

/*
 * The progress line shares the terminal with our output, even if that goes through a pipe,
 * since the reader may write to the terminal. It may return after a complete line.
 */
static void on_write(void *payload, const struct out *o)
{
	struct cli *c = payload;

	if (o->tty && o->last == '\n')
		progress_hide(&c->progress);
	else
		progress_end(&c->progress);
}

static int is_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)));
}

void cli_init(struct cli *c)
{
	memset(c, 0, sizeof(*c));
	out_init(&c->out, STDOUT_FILENO);
	out_init(&c->err, STDERR_FILENO);
	progress_init(&c->progress, c->err.tty ? c->err.fd : -1, c->err.width);
	if (!is_file(c->out.fd))
		c->out.on_write = on_write;
	c->err.on_write = on_write;
	c->out.payload = c->err.payload = c;
}

static void remove_input(struct cli *c)
{
	if (!c->input)
		return;
	unlink(c->input);
	*strrchr(c->input, '/') = '\0';
	rmdir(c->input);
	free(c->input);
	c->input = NULL;
}

void cli_release(struct cli *c)
{
	progress_release(&c->progress);
	grove_close(c->g);
	opt_list_release(&c->stores);
	config_release(&c->config);
	remove_input(c);
	out_release(&c->out);
	out_release(&c->err);
}

/* ------------------------------------------------------------------ options */

void cli_globals(struct cli *c, struct opt table[CLI_GLOBALS])
{
	const struct opt globals[CLI_GLOBALS] = {
		{ "store", .list = &c->stores },
		{ "dialect", .string = &c->dialect },
		{ "json", .flag = &c->json },
		{ "color", .choice = &c->color, .choices = out_color_names },
		{ "no-cache", .flag = &c->no_cache },
		{ "utc", .flag = &c->utc },
		{ "help", .letter = 'h', .flag = &c->help },
		{ "version", .letter = 'V', .flag = &c->version },
		{ NULL },
	};

	memcpy(table, globals, sizeof(globals));
}

int cli_parse(struct cli *c, const struct opt *opts, const char *operands, int *argc, char **argv)
{
	struct opt globals[CLI_GLOBALS];
	const struct opt *const both[] = { opts ? opts : globals, globals, NULL };
	char why[512];

	cli_globals(c, globals);
	if (opt_parse(both, argc, argv, 0, why, sizeof(why))) {
		c->status = cli_usage(c, "%s", why);
		return 1;
	}
	c->wants_json = c->json;
	if (c->utc)
		config_live_in_utc();
	out_color(&c->out, (enum out_color)c->color);
	out_color(&c->err, (enum out_color)c->color);
	if (c->version || c->help) {
		c->status = c->version ? version_print(&c->out, c->json) : help_print(&c->out, c->command, c->json);
		return 1;
	}
	if (opt_operands(operands, *argc, argv, why, sizeof(why))) {
		c->status = cli_usage(c, "%s (usage: grove %s%s%s)", why, c->command,
				      *operands ? " " : "", operands);
		return 1;
	}
	return 0;
}

/* An error that ends the command is reported when the command ends. */
static void warned(void *payload, enum grove_severity severity, const struct grove_detail *why)
{
	struct cli *c = payload;

	if (severity != GROVE_SEVERITY_WARNING)
		return;
	if (c->on_warning) {
		c->on_warning(c->on_warning_payload, why);
		return;
	}
	c->warned++;
	cli_warn_detail(c, why);
}

/* A bad configuration is only a warning, because reading sessions needs no settings. */
static void read_config(struct cli *c)
{
	char why[512];

	if (config_read(&c->config, why, sizeof(why)))
		cli_warn(c, "config: %s", why);
	if (c->config.bad_line)
		cli_warn(c, "config: line %u is not 'key = value'", c->config.bad_line);
	for (size_t i = 0; i < c->config.nr; i++)
		if (!config_known(c->config.item[i].key))
			cli_warn(c, "config: unknown key '%.64s'", c->config.item[i].key);
}

const char *cli_setting(const struct cli *c, const char *key)
{
	return config_get(&c->config, key);
}

void cli_pager(struct cli *c)
{
	const char *none = getenv("GROVE_PAGER");

	/* unlike other variables, this one means something when it is empty */
	pager_begin(&c->pager, &c->out, none && !*none ? none : cli_setting(c, "pager"));
	if (c->pager.pid)
		cli_progress_end(c);
}

/* Sets options that were not given from the settings. The library reads GROVE_STORE itself. */
static void take_settings(struct cli *c)
{
	const char *store = getenv("GROVE_STORE");

	if (config_apply(&c->config, c->utc))
		cli_warn(c, "config: utc must be true or false");
	if (c->stores.nr || (store && *store))
		return;
	for (size_t i = 0; i < c->config.nr; i++)
		if (!strcmp(c->config.item[i].key, "store") && *c->config.item[i].value)
			opt_list_add(&c->stores, c->config.item[i].value);
}

int cli_start(struct cli *c)
{
	struct grove_options go = { sizeof(go) };
	int err;

	read_config(c);
	take_settings(c);
	go.stores = c->stores.item;
	go.nr_stores = c->stores.nr;
	go.dialect = c->dialect;
	go.cache = c->no_cache ? "" : NULL;
	go.warn = warned;
	go.warn_payload = c;
	err = grove_open(&go, &c->g);
	if (err)
		c->status = cli_fail_grove(c, err);
	return err;
}

int cli_begin(struct cli *c, const struct opt *opts, const char *operands, int *argc, char **argv)
{
	return cli_parse(c, opts, operands, argc, argv) ? 1 : cli_start(c);
}

/* ------------------------------------------------------------------- errors */

int cli_status(int code)
{
	switch (code) {
	case GROVE_OK:
		return EXIT_DONE;
	case GROVE_EINVAL:
	case GROVE_EAMBIGUOUS:
		return EXIT_USAGE;
	case GROVE_ENOTFOUND:
		return EXIT_NOTFOUND;
	case GROVE_EEXIST:
	case GROVE_ECONFLICT:
	case GROVE_ESTALE:
		return EXIT_CONFLICT;
	case GROVE_EDAMAGED:
		return EXIT_DAMAGED;
	default:
		return EXIT_FAILED;
	}
}

/* Where standard input is stored: in a directory with a unique name. */
#define INPUT_NAME "/grove-XXXXXX/stdin.jsonl"

/*
 * Returns true if that is standard input. `append` calls it "-"; its file may have several
 * spellings.
 */
static int is_input(const struct cli *c, const char *path)
{
	size_t n = strlen(INPUT_NAME), len = strlen(path);

	if (!strcmp(path, "-"))
		return 1;
	return c->input && len >= n && !strcmp(path + len - n, c->input + strlen(c->input) - n);
}

static void print_error_json(struct cli *c, int code, const struct grove_detail *why)
{
	const struct out *done = c->done;
	struct out *o = &c->out;

	out_puts(o, "{\"error\":{\"code\":");
	out_json_string(o, grove_error_name(code));
	out_json_member(o, "message", why->message);
	if (*why->path)
		out_json_member(o, "path", is_input(c, why->path) ? "-" : why->path);
	if (why->has_place)
		out_printf(o, ",\"line\":%llu,\"offset\":%llu", (unsigned long long)why->line,
			   (unsigned long long)why->offset);
	out_puts(o, "}");
	if (done && done->len) {
		out_puts(o, ",");
		out_bytes(o, done->ptr, done->len);
	}
	out_puts(o, "}\n");
}

/* "grove: what: why" on stderr. */
static void print_line(struct cli *c, const struct grove_detail *why)
{
	struct out *o = &c->err;

	out_puts(o, "grove: ");
	if (*why->path) {
		/* as `append` names the origin of its lines */
		out_line(o, out_str(is_input(c, why->path) ? "standard input" : why->path));
		out_puts(o, ": ");
		if (why->has_place)
			out_printf(o, "line %llu: ", (unsigned long long)why->line);
	}
	out_line(o, out_str(why->message));
	out_bytes(o, "\n", 1);
	out_flush(o);
}

int cli_fail(struct cli *c, int code, const struct grove_detail *why)
{
	/* main() reports a failure of our own output, and a request to stop. */
	if (out_failed(&c->out) || (code == GROVE_ECANCELLED && cli_interrupted()))
		return EXIT_FAILED;
	cli_progress_end(c);
	/* If half a document was already written, the error goes to stderr. */
	if (c->wants_json && out_discard(&c->out))
		print_error_json(c, code, why);
	else
		print_line(c, why);
	return cli_status(code);
}

static int __attribute__((format(printf, 3, 0)))
fail_words(struct cli *c, int code, const char *fmt, va_list ap)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	vsnprintf(why.message, sizeof(why.message), fmt, ap);
	return cli_fail(c, code, &why);
}

int cli_error(struct cli *c, int code, const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = fail_words(c, code, fmt, ap);
	va_end(ap);
	return status;
}

int cli_usage(struct cli *c, const char *fmt, ...)
{
	char why[512];
	const char *command = c->command ? c->command : "";
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	len = strlen(why);
	if (len && why[len - 1] == ')') /* the message already says what to do */
		return cli_error(c, GROVE_EINVAL, "%s%s%s", command, *command ? ": " : "", why);
	return cli_error(c, GROVE_EINVAL, "%s%s%s (see 'grove %s%s')", command,
			 *command ? ": " : "", why, *command ? command : "help",
			 *command ? " --help" : "");
}

static int fail_detail(struct cli *c, int code, struct grove_detail *why)
{
	if (!*why->message) {
		memset(why, 0, sizeof(*why));
		snprintf(why->message, sizeof(why->message), "%s", grove_strerror(code));
	}
	return cli_fail(c, code, why);
}

int cli_fail_grove(struct cli *c, int code)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	if (c->g)
		grove_error(c->g, &why);
	return fail_detail(c, code, &why);
}

int cli_fail_session(struct cli *c, struct grove_session *s, int code)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	if (s)
		grove_session_error(s, &why);
	/* a session that failed to open may have no detail of its own */
	return why.code ? fail_detail(c, code, &why) : cli_fail_grove(c, code);
}

int cli_fail_view(struct cli *c, struct grove_view *v, int code)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	grove_view_error(v, &why);
	return fail_detail(c, code, &why);
}

void cli_warn(struct cli *c, const char *fmt, ...)
{
	struct grove_detail why;
	va_list ap;

	memset(&why, 0, sizeof(why));
	va_start(ap, fmt);
	vsnprintf(why.message, sizeof(why.message), fmt, ap);
	va_end(ap);
	cli_warn_detail(c, &why);
}

void cli_warn_detail(struct cli *c, const struct grove_detail *why)
{
	print_line(c, why);
}

void cli_skipped(void *payload, const struct grove_detail *why)
{
	cli_warn_detail(payload, why);
}

/* ----------------------------------------------------------------- sessions */

int cli_stores(struct cli *c)
{
	int err = grove_stores_exist(c->g);

	c->status = err ? cli_fail_grove(c, err) : EXIT_DONE;
	return c->status;
}

static int is_away(void *payload, const struct grove_store_about *s)
{
	(void)payload;
	return s->away;
}

int cli_answered(struct cli *c, int status)
{
	return status == EXIT_DONE && grove_store_each(c->g, is_away, NULL) ? EXIT_FAILED : status;
}

struct agents {
	struct grove_buf *names;
	const char *wanted;
	int found;
};

static int on_agent(void *payload, const struct grove_agent *a)
{
	struct agents *x = payload;

	x->found |= !strcmp(a->name, x->wanted);
	if (x->names->len)
		x->names->ptr[x->names->len - 1] = ',';
	cli_add(x->names, " ", x->names->len > 0);
	cli_add(x->names, a->name, strlen(a->name) + 1);
	return 0;
}

int cli_is_agent(struct grove *g, const char *name, struct grove_buf *known)
{
	struct agents x = { .names = known, .wanted = name };

	return grove_agent_each(g, on_agent, &x) || x.found;
}

void cli_check_agent(struct cli *c, const char *name)
{
	struct grove_buf known = GROVE_BUF_INIT;

	if (name && !cli_is_agent(c->g, name, &known))
		cli_warn(c, "no agent is called '%.64s' (known agents: %s)", name, known.ptr ? known.ptr : "none");
	grove_buf_release(&known);
}

enum { CANDIDATE_LEAST = 12, CANDIDATE_MOST = 60 };

void cli_candidates(struct cli *c, int err, const struct grove_list *l)
{
	struct out *o = &c->err;
	char when[32];

	if (err != GROVE_EAMBIGUOUS || c->wants_json || !l)
		return;
	for (size_t i = 0; i < grove_list_count(l); i++) {
		const struct grove_list_item *s = grove_list_at(l, i);

		unsigned used = 2 + (unsigned)strlen(s->id), left;

		cli_time(when, sizeof(when), s->modified, 0);
		out_puts(o, "  ");
		out_line(o, out_str(s->id));
		out_printf(o, "  %s  %s  ", when, s->agent);
		used += (unsigned)(strlen(when) + strlen(s->agent) + 6);
		left = o->width > used + 2 * CANDIDATE_LEAST ? o->width - used : 2 * CANDIDATE_LEAST;
		left -= cli_directory(o, *s->cwd ? s->cwd : s->path, left / 2 < CANDIDATE_MOST ? left / 2 : CANDIDATE_MOST);
		out_puts(o, "  ");
		out_fit(o, out_str(s->name ? s->name : s->first_message), left - 2 < CANDIDATE_MOST ? left - 2 : CANDIDATE_MOST);
		out_puts(o, "\n");
	}
}

static void tell_candidates(struct cli *c, const char *what, int err)
{
	struct grove_list *l = NULL;

	if (err != GROVE_EAMBIGUOUS || c->wants_json)
		return;
	err = grove_find(c->g, what, 0, &l);
	cli_candidates(c, err, l);
	grove_list_free(l);
}

int cli_directory_given(struct cli *c, const char *what)
{
	struct stat st;

	if (!strchr(what, '/') || stat(what, &st) || !S_ISDIR(st.st_mode))
		return 0;
	c->status = cli_usage(c, "%.200s is a directory, not a session (for the sessions in it, use --store %.200s)", what, what);
	return 1;
}

/* "last" means one of this directory, but people may mean any. */
static void tell_last(struct cli *c, const char *what, int err)
{
	if (err == GROVE_ENOTFOUND && !c->wants_json && !strcmp(what, "last"))
		cli_warn(c, "'grove ls --all' lists the sessions of all directories");
}

struct grove_session *cli_open(struct cli *c, const char *what, unsigned flags)
{
	struct grove_session *s = NULL;
	int err;

	cli_progress(c, "reading");
	err = grove_session_open(c->g, what, flags, &s);
	cli_progress_end(c);
	if (!err && cli_interrupted())
		err = GROVE_ECANCELLED;
	if (!(flags & GROVE_OPEN_WRITE))
		cli_let_interrupt(); /* from here on we only print */
	if (!err)
		return s;
	/* if the store does not exist, say so rather than that the session is missing */
	if ((err == GROVE_EDAMAGED || err == GROVE_EINVAL) && cli_directory_given(c, what)) {
		;
	} else if (err != GROVE_ENOTFOUND || !cli_stores(c)) {
		c->status = cli_fail_session(c, s, err);
		tell_last(c, what, err);
		tell_candidates(c, what, err);
	}
	grove_session_close(s);
	return NULL;
}

/* Copies standard input to a file. Returns 0, or -1 with errno. */
static int write_input(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char part[65536];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(STDIN_FILENO, part, sizeof(part))) > 0)
		for (ssize_t at = 0, more; at < n; at += more) {
			more = write(fd, part + at, (size_t)(n - at));
			if (more < 0) {
				close(fd);
				return -1;
			}
		}
	return fd < 0 || n < 0 || close(fd) ? -1 : 0;
}

/*
 * Sessions are read at random positions, so standard input is first saved as a file in a
 * directory of its own. cli_release() removes both.
 */
static struct grove_session *open_input(struct cli *c, unsigned flags)
{
	const char *tmp = getenv("TMPDIR");
	struct grove_buf path = GROVE_BUF_INIT;
	char *slash;
	int made;

	tmp = tmp && *tmp ? tmp : "/tmp";
	cli_add(&path, tmp, strlen(tmp));
	cli_add(&path, INPUT_NAME, sizeof(INPUT_NAME));
	slash = strrchr(path.ptr, '/');
	*slash = '\0';
	made = mkdtemp(path.ptr) != NULL;
	*slash = '/';
	if (made)
		c->input = path.ptr;
	if (made && !write_input(path.ptr))
		return cli_open(c, path.ptr, flags);
	c->status = cli_error(c, GROVE_EIO, "standard input: cannot be written to %s: %s", tmp, strerror(errno));
	if (!made)
		grove_buf_release(&path);
	return NULL;
}

struct grove_session *cli_open_read(struct cli *c, const char *what, unsigned flags)
{
	return strcmp(what, "-") ? cli_open(c, what, flags) : open_input(c, flags);
}

static void warn_malformed(struct cli *c, struct grove_session *s, struct grove_view *v)
{
	struct grove_counts n = { .size = sizeof(n) };
	struct grove_detail why;
	const char *path = grove_session_path(s);

	memset(&n, 0, sizeof(n));
	n.size = sizeof(n);
	grove_view_counts(v, &n);
	if (!n.malformed)
		return;
	memset(&why, 0, sizeof(why));
	snprintf(why.path, sizeof(why.path), "%s", path ? path : grove_session_id(s));
	if (n.torn && n.malformed == 1)
		snprintf(why.message, sizeof(why.message),
			 "skipped the last line, which is unfinished (line %llu; run 'grove check')",
			 (unsigned long long)n.lines);
	else
		snprintf(why.message, sizeof(why.message),
			 "%llu malformed line%s skipped%s (%s line %llu; run 'grove check')",
			 (unsigned long long)n.malformed, n.malformed == 1 ? "" : "s",
			 n.torn ? ", the last one unfinished" : "",
			 n.malformed == 1 ? "at" : "first at",
			 (unsigned long long)n.first_malformed_line + 1);
	cli_warn_detail(c, &why);
}

struct grove_view *cli_view(struct cli *c, struct grove_session *s)
{
	struct grove_view *v = NULL;
	int err = grove_session_view(s, &v);

	if (err) {
		c->status = cli_fail_session(c, s, err);
		return NULL;
	}
	warn_malformed(c, s, v);
	return v;
}

void cli_print_session(struct cli *c, struct grove_session *s)
{
	const char *path = grove_session_path(s);

	if (c->json) {
		out_puts(&c->out, "{\"id\":");
		out_json_string(&c->out, grove_session_id(s));
		out_json_member(&c->out, "path", path);
		out_puts(&c->out, "}\n");
	} else {
		out_line(&c->out, out_str(path ? path : grove_session_id(s)));
		out_bytes(&c->out, "\n", 1);
	}
}

/* ---------------------------------------------------------------- long work */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void catch_interrupt(void)
{
	struct sigaction sa;

	/* a shell that started us in the background wants signals ignored */
	if (!sigaction(SIGINT, NULL, &sa) && !(sa.sa_flags & SA_SIGINFO) &&
	    sa.sa_handler == SIG_IGN)
		return;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_interrupt;
	sa.sa_flags = (int)SA_RESETHAND; /* without SA_RESTART, so that a read is interrupted */
	sigaction(SIGINT, &sa, NULL);
}

void cli_let_interrupt(void)
{
	struct sigaction sa;

	if (!sigaction(SIGINT, NULL, &sa) && !(sa.sa_flags & SA_SIGINFO) &&
	    sa.sa_handler == on_interrupt)
		signal(SIGINT, SIG_DFL);
}

int cli_interrupted(void)
{
	return interrupted;
}

static int on_progress(void *payload, uint64_t done, uint64_t total)
{
	struct cli *c = payload;

	if (interrupted)
		return 1;
	progress_at(&c->progress, done, total);
	return 0;
}

void cli_progress(struct cli *c, const char *what)
{
	catch_interrupt();
	progress_begin(&c->progress, what);
	grove_set_progress(c->g, (struct grove_progress){ on_progress, c });
}

void cli_working(struct cli *c, const char *what)
{
	progress_begin(&c->progress, what);
}

void cli_progress_end(struct cli *c)
{
	progress_end(&c->progress);
}

int cli_confirm(struct cli *c, const char *fmt, ...)
{
	char question[4200], *answer = NULL;
	size_t cap = 0;
	va_list ap;
	int yes, working = c->progress.running;

	va_start(ap, fmt);
	vsnprintf(question, sizeof(question), fmt, ap);
	va_end(ap);
	out_flush(&c->out);
	out_line(&c->err, out_str(question));
	out_puts(&c->err, " [y/N] ");
	out_flush(&c->err);
	/* read the whole line, so that its rest does not answer the next question */
	yes = getline(&answer, &cap, stdin) > 0 && (*answer == 'y' || *answer == 'Y');
	free(answer);
	if (working)
		progress_begin(&c->progress, c->progress.what);
	return yes;
}

/* -------------------------------------------------------------- for people */

int cli_period(struct cli *c, const char *since, const char *until, struct grove_period *out)
{
	char why[256];

	if (!date_period(since, until, "", out, why, sizeof(why)))
		return 0;
	c->status = cli_usage(c, "%s", why);
	return 1;
}

void cli_time(char *out, size_t size, int64_t ms, int seconds)
{
	time_t t = (time_t)(ms / 1000 - (ms % 1000 < 0));
	struct tm tm;

	if (ms == GROVE_NO_TIME || !localtime_r(&t, &tm) ||
	    !(seconds ? strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm) :
			strftime(out, size, "%Y-%m-%d %H:%M", &tm)))
		snprintf(out, size, "-");
}

const char *cli_number(char out[CLI_NUMBER], uint64_t n)
{
	char *p = out + CLI_NUMBER - 1;

	*p = '\0';
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	return p;
}

void cli_size(char *out, size_t size, uint64_t bytes)
{
	static const char unit[] = "KMGTPE";
	double n = (double)bytes;
	char number[CLI_NUMBER];
	int i = -1;

	if (bytes < 1024) {
		const char *s = cli_number(number, bytes);

		memcpy(out, s, strlen(s) + 1);
		return;
	}
	/* print 1023.7K as 1.0M */
	do {
		n /= 1024;
		i++;
	} while (n >= 1023.5 && unit[i + 1]);
	snprintf(out, size, n < 9.95 ? "%.1f%c" : "%.0f%c", n, unit[i]);
}

void cli_bytes(char out[CLI_BYTES], uint64_t bytes)
{
	char number[8];

	cli_size(number, sizeof(number), bytes);
	snprintf(out, CLI_BYTES, "%s%s", number, bytes >= 1024 ? "B" : bytes == 1 ? " byte" : " bytes");
}

unsigned cli_directory(struct out *o, const char *cwd, unsigned width)
{
	const char *home = getenv("HOME");
	size_t n = home ? strlen(home) : 0;
	unsigned below;

	while (n && home[n - 1] == '/')
		n--;
	below = n && !strncmp(cwd, home, n) && (!cwd[n] || cwd[n] == '/') && width > 1 &&
		out_width(out_str(cwd + n), width) < width;
	out_puts(o, below ? "~" : "");
	return below + out_fit_path(o, below ? cwd + n : cwd, width - below);
}

void *cli_realloc(void *p, size_t nr, size_t size)
{
	if (size && nr > SIZE_MAX / size)
		p = NULL;
	else
		p = realloc(p, nr && size ? nr * size : 1);
	if (!p) {
		static const char words[] = "grove: out of memory\n";

		if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
			_exit(EXIT_FAILED);
		_exit(EXIT_FAILED);
	}
	return p;
}

void cli_add(struct grove_buf *b, const char *ptr, size_t len)
{
	struct grove_sink s = grove_buf_sink(b);

	if (s.write(s.payload, ptr, len))
		cli_realloc(NULL, SIZE_MAX, SIZE_MAX); /* reports this and exits */
}
