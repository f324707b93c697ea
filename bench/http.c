/*
 * grove-bench-http: what bench/server measures with, besides wrk.
 *
 *	bare PORT                    libmicrohttpd and nothing else: /small and /big (64 KiB)
 *	append PORT CONNECTIONS RATE SECONDS PATH…
 *	                             offers RATE appends a second in all, whatever the answers
 *	                             take: a late answer delays nobody, and its time counts
 *	                             from when it was due
 *	streams PORT N RATE SECONDS PATH…
 *	                             N readers of events, spread over the sessions, and RATE
 *	                             appends a second; counts what arrives
 *
 * PATH is that of a session: /api/v1/sessions/ID. Prints one line of JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BIG (64u << 10)
#define OPENING 32u        /* connections that may wait for their first answer at the same time */
#define GRACE_NS 5000000000

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "grove-bench-http: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --------------------------------------------------------------------- bare */

static char big[BIG], small[] = "{\"status\":\"ok\"}";

static enum MHD_Result bare_answer(void *cls, struct MHD_Connection *c, const char *url, const char *method,
				   const char *version, const char *data, size_t *len, void **con)
{
	struct MHD_Response *r;
	enum MHD_Result rc;

	(void)cls;
	(void)method;
	(void)version;
	(void)data;
	if (!*con) {
		*con = big;
		return MHD_YES;
	}
	*len = 0;
	if (!strcmp(url, "/big"))
		r = MHD_create_response_from_buffer(BIG, big, MHD_RESPMEM_PERSISTENT);
	else
		r = MHD_create_response_from_buffer(sizeof(small) - 1, small, MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(r, "Content-Type", "application/json");
	rc = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return rc;
}

static _Noreturn void bare(int port)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = cores > 4 ? 4 : cores > 1 ? (unsigned)cores : 2;
	struct MHD_Daemon *d;

	memset(big, 'x', sizeof(big));
	d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, bare_answer, NULL,
			     MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT, 4096u,
			     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_END);
	if (!d)
		die("libmicrohttpd");
	for (;;)
		pause();
}

/* -------------------------------------------------------------- connections */

struct peer {
	int fd;
	int busy;            /* an answer is due */
	int streaming;       /* the header of a stream came */
	int64_t due;         /* ns: when the request was due */
	char in[8192];
	size_t len;
	size_t path;         /* which session */
	uint64_t events;
};

static int port_nr;
static char **paths;
static size_t nr_paths;
static int poller;

static void open_peer(struct peer *p)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port_nr) };
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };
	int one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
	if (epoll_ctl(poller, EPOLL_CTL_ADD, p->fd, &e))
		die("epoll");
}

static void ask(struct peer *p, const char *text, size_t len)
{
	if (write(p->fd, text, len) != (ssize_t)len)
		die("write");
	p->busy = 1;
}

static void ask_append(struct peer *p, uint64_t nr)
{
	char body[256], text[1024];
	int n = snprintf(body, sizeof(body), "{\"role\":\"user\",\"content\":\"entry %llu of a load that is offered\"}",
			 (unsigned long long)nr);

	n = snprintf(text, sizeof(text),
		     "POST %s/entries?sync=flush HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\n"
		     "X-Grove: 1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		     paths[p->path], port_nr, port_nr, n, body);
	ask(p, text, (size_t)n);
}

/* Reads what is there. Returns whether an answer is complete; what follows it stays. */
static int read_answer(struct peer *p, int *status)
{
	ssize_t n = read(p->fd, p->in + p->len, sizeof(p->in) - 1 - p->len);
	char *body, *length;
	size_t whole;

	if (n <= 0) {
		if (n < 0 && errno == EAGAIN)
			return 0;
		errno = n ? errno : ECONNRESET;
		die("an answer broke off");
	}
	p->len += (size_t)n;
	p->in[p->len] = '\0';
	body = strstr(p->in, "\r\n\r\n");
	if (!body)
		return 0;
	*status = atoi(p->in + 9);
	length = strcasestr(p->in, "\r\nContent-Length:");
	whole = (size_t)(body + 4 - p->in) + (length && length < body ? strtoul(length + 17, NULL, 10) : 0);
	if (p->len < whole)
		return 0;
	memmove(p->in, p->in + whole, p->len - whole);
	p->len -= whole;
	p->busy = 0;
	return 1;
}

/* ------------------------------------------------------------------- append */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double ms_at(const int64_t *sorted, size_t nr, double part)
{
	return nr ? (double)sorted[(size_t)((double)(nr - 1) * part)] / 1e6 : 0;
}

static struct peer *idle_peer(struct peer *all, size_t nr, size_t *from)
{
	for (size_t i = 0; i < nr; i++) {
		struct peer *p = &all[(*from + i) % nr];

		if (!p->busy) {
			*from = (*from + i + 1) % nr;
			return p;
		}
	}
	return NULL;
}

/*
 * Waits to the microsecond: epoll_wait() knows milliseconds only, and to spin until the
 * next append is due would take one of two cores from the server.
 */
static int wait_events(struct epoll_event *e, int max, int64_t ns)
{
	struct pollfd any = { .fd = poller, .events = POLLIN };
	struct timespec wait = { 0 };

	if (ns > 0) {
		wait.tv_sec = ns / 1000000000;
		wait.tv_nsec = ns % 1000000000;
	}
	return ppoll(&any, 1, &wait, NULL) > 0 ? epoll_wait(poller, e, max, 0) : 0;
}

static int append(size_t nr, double rate, double seconds)
{
	size_t offered = (size_t)(rate * seconds), sent = 0, done = 0, bad = 0, at = 0;
	int64_t *took = calloc(offered + 1, sizeof(*took)), begin;
	struct peer *all = calloc(nr, sizeof(*all));
	struct epoll_event e[64];
	int status;

	if (!took || !all)
		die("memory");
	for (size_t i = 0; i < nr; i++) {
		all[i].path = i % nr_paths;
		open_peer(&all[i]);
		/* one that is not counted, so that none waits for its connection */
		ask_append(&all[i], 0);
		while (!read_answer(&all[i], &status))
			usleep(100);
	}
	begin = now_ns();
	while (done < offered) {
		int64_t next = begin + (int64_t)((double)sent * 1e9 / rate), now = now_ns();
		struct peer *p = NULL;
		int n;

		while (sent < offered && next <= now && (p = idle_peer(all, nr, &at))) {
			p->due = next;
			ask_append(p, sent++);
			next = begin + (int64_t)((double)sent * 1e9 / rate);
		}
		/* nothing to send, or nobody to send it: until an answer comes */
		n = wait_events(e, 64, sent == offered || (next <= now && !p) ? 1000000000 : next - now_ns());
		for (int i = 0; i < n; i++) {
			p = e[i].data.ptr;
			if (!read_answer(p, &status))
				continue;
			took[done++] = now_ns() - p->due;
			bad += status != 201;
		}
	}
	qsort(took, done, sizeof(*took), by_number);
	printf("{\"appends\":%zu,\"failed\":%zu,\"seconds\":%.3f,\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}\n", done, bad,
	       (double)(now_ns() - begin) / 1e9, ms_at(took, done, 0.5), ms_at(took, done, 0.99), ms_at(took, done, 1));
	return bad ? 1 : 0;
}

/* ------------------------------------------------------------------ streams */

static uint64_t arrived;
static int64_t *delay;
static size_t nr_delays, max_delays;
static int64_t posted_at;

/* Counts the events that are whole, and keeps what is not. */
static void read_events(struct peer *p)
{
	static const char word[] = "event: append";
	ssize_t n = read(p->fd, p->in + p->len, sizeof(p->in) - 1 - p->len);
	char *end, *at;

	if (n <= 0) {
		if (n < 0 && errno == EAGAIN)
			return;
		errno = n ? errno : ECONNRESET;
		die("a stream broke off");
	}
	p->len += (size_t)n;
	p->in[p->len] = '\0';
	if (!p->streaming) {
		if (!strstr(p->in, "\r\n\r\n"))
			return;
		if (strncmp(p->in, "HTTP/1.1 200", 12))
			die("a stream was refused");
		p->streaming = 1;
		p->busy = 0;
	}
	for (at = p->in; (end = strstr(at, "\n\n")); at = end + 2) {
		char *found = strstr(at, word);

		if (found && found < end) {
			p->events++;
			arrived++;
			if (nr_delays < max_delays)
				delay[nr_delays++] = now_ns() - posted_at;
		}
	}
	memmove(p->in, at, p->len - (size_t)(at - p->in));
	p->len -= (size_t)(at - p->in);
	if (p->len == sizeof(p->in) - 1)
		p->len = 0;
}

static void wait_for_streams(struct peer *all, size_t from, size_t upto)
{
	struct epoll_event e[64];
	size_t open = from;

	while (open < upto) {
		int n = epoll_wait(poller, e, 64, 5000);

		if (n <= 0) {
			errno = ETIMEDOUT;
			die("opening streams");
		}
		for (int i = 0; i < n; i++)
			read_events(e[i].data.ptr);
		for (open = from; open < upto && all[open].streaming;)
			open++;
	}
}

static void open_streams(struct peer *all, size_t nr)
{
	char text[512];

	for (size_t i = 0; i < nr; i++) {
		struct peer *p = &all[i];

		p->path = i % nr_paths;
		open_peer(p);
		ask(p, text, (size_t)snprintf(text, sizeof(text), "GET %s/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
					      paths[p->path], port_nr));
		if ((i + 1) % OPENING == 0 || i + 1 == nr)
			wait_for_streams(all, i + 1 < OPENING ? 0 : i + 1 - OPENING, i + 1);
	}
}

static int streams(size_t nr, double rate, double seconds)
{
	size_t posts = (size_t)(rate * seconds), sent = 0;
	uint64_t expected = 0;
	struct peer *all = calloc(nr, sizeof(*all)), writer = { 0 };
	struct epoll_event e[64];
	int64_t begin, end = 0;
	int status;

	max_delays = posts * (nr / nr_paths + 1);
	delay = calloc(max_delays + 1, sizeof(*delay));
	if (!all || !delay)
		die("memory");
	open_streams(all, nr);
	open_peer(&writer);
	begin = now_ns();
	while (arrived < expected || sent < posts) {
		int64_t next = begin + (int64_t)((double)sent * 1e9 / rate), now = now_ns();

		if (sent == posts && now > end)
			break;
		if (sent < posts && next <= now && !writer.busy) {
			writer.path = sent % nr_paths;
			posted_at = now;
			ask_append(&writer, sent++);
			for (size_t i = writer.path; i < nr; i += nr_paths)
				expected++;
			end = now_ns() + GRACE_NS;
			continue;
		}
		now = sent < posts ? (next - now) / 1000000 : 100;
		status = epoll_wait(poller, e, 64, now < 1 ? 1 : (int)now);
		for (int i = 0; i < status; i++) {
			int answer;

			if (e[i].data.ptr != &writer)
				read_events(e[i].data.ptr);
			else if (read_answer(&writer, &answer) && answer != 201)
				die("an append was refused");
		}
	}
	qsort(delay, nr_delays, sizeof(*delay), by_number);
	printf("{\"streams\":%zu,\"posted\":%zu,\"expected\":%llu,\"arrived\":%llu,\"p50\":%.3f,\"p99\":%.3f}\n", nr, sent,
	       (unsigned long long)expected, (unsigned long long)arrived, ms_at(delay, nr_delays, 0.5),
	       ms_at(delay, nr_delays, 0.99));
	fflush(stdout);
	/* the streams stay until somebody has looked at the server's memory, and closes our input */
	while (getchar() != EOF)
		;
	return arrived == expected ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	signal(SIGPIPE, SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (argc == 3 && !strcmp(argv[1], "bare"))
		bare(atoi(argv[2]));
	if (argc < 7) {
		fprintf(stderr, "usage: grove-bench-http bare PORT | append|streams PORT N RATE SECONDS PATH...\n");
		return 2;
	}
	port_nr = atoi(argv[2]);
	paths = argv + 6;
	nr_paths = (size_t)argc - 6;
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (!strcmp(argv[1], "append"))
		return append(strtoul(argv[3], NULL, 10), atof(argv[4]), atof(argv[5]));
	return streams(strtoul(argv[3], NULL, 10), atof(argv[4]), atof(argv[5]));
}
