/*
 * http.c: requests to a server, with libcurl.
 */
#include "http.h"


#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ERROR_MAX ((size_t)64 << 10)
#define CONNECT_SECONDS 15L
#define SILENT_SECONDS 60L
#define EVENT_SILENT_SECONDS 45L     /* the server sends something every 15 seconds */

struct http {
	CURL *curl;
	char base[512];              /* "http://127.0.0.1:4517" */
	char socket[512];            /* "": none */
	char auth[600];              /* the header; "": none */
	int (*stopped)(void);
};

/* Copies a URL that is wrong, for a message, without a user and a password. */
static void show_url(const char *url, char *out, size_t size)
{
	const char *at = strrchr(url, '@'), *host = strstr(url, "://");

	snprintf(out, size, "%.*s%s%s", host && at > host ? (int)(host + 3 - url) : 0, url, at ? "…" : "",
		 at ? at : url);
}

static int take_url(struct http *h, const char *url, char *why, size_t size)
{
	size_t n = strlen(url);
	char shown[128];

	show_url(url, shown, sizeof(shown));
	if (!strncmp(url, "unix:", 5) && url[5] == '/' && n < sizeof(h->socket)) {
		snprintf(h->socket, sizeof(h->socket), "%s", url + 5);
		snprintf(h->base, sizeof(h->base), "http://localhost");
		return 0;
	}
	if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)) {
		snprintf(why, size, "'%s' is not the address of a server (http://HOST:PORT, https://HOST or unix:PATH)", shown);
		return -1;
	}
	while (n && url[n - 1] == '/')
		n--;
	/* a path, or a user and password, would end up in requests to other servers */
	if (n >= sizeof(h->base) || n < 8 || strpbrk(strstr(url, "://") + 3, "@?# \t") ||
	    memchr(strstr(url, "://") + 3, '/', n - (size_t)(strstr(url, "://") + 3 - url))) {
		snprintf(why, size, "'%s' is not the address of a server (it has a host and a port, and nothing else)", shown);
		return -1;
	}
	snprintf(h->base, sizeof(h->base), "%.*s", (int)n, url);
	return 0;
}

int http_open(const char *url, const char *token, int (*stopped)(void), struct http **out, char *why, size_t size)
{
	struct http *h = calloc(1, sizeof(*h));

	*out = h;
	if (!h || curl_global_init(CURL_GLOBAL_DEFAULT) || !(h->curl = curl_easy_init())) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	h->stopped = stopped;
	if (token && (strlen(token) > 512 || strpbrk(token, "\r\n \t"))) {
		snprintf(why, size, "that is not a token");
		return -1;
	}
	if (token)
		snprintf(h->auth, sizeof(h->auth), "Authorization: Bearer %s", token);
	return take_url(h, url, why, size);
}

struct http *http_dup(const struct http *h)
{
	struct http *d = malloc(sizeof(*d));

	if (!d)
		return NULL;
	*d = *h;
	d->curl = curl_easy_init();
	if (!d->curl) {
		free(d);
		return NULL;
	}
	return d;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->curl)
		curl_easy_cleanup(h->curl);
	free(h);
}

const char *http_name(const struct http *h)
{
	return *h->socket ? h->socket : h->base;
}

void http_call_release(struct http_call *c)
{
	grove_buf_release(&c->answer);
	memset(c, 0, sizeof(*c));
}

int http_escape(struct grove_buf *out, const char *text, const char *keep)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	char code[4];
	int rc = 0;

	for (; *text && !rc; text++) {
		if (strchr(plain, *text) || strchr(keep, *text)) {
			rc = grove_buf_add(out, (struct grove_slice){ text, 1 });
		} else {
			snprintf(code, sizeof(code), "%%%02X", (unsigned char)*text);
			rc = grove_buf_add(out, (struct grove_slice){ code, 3 });
		}
	}
	return rc;
}

/* -------------------------------------------------------------- one request */

struct asking {
	struct http *h;
	struct http_call *c;
	int64_t begun;               /* ms */
	uint64_t headers;            /* bytes */
	int stopped;
	int rc;                      /* the result of the sink, or of what it was spared */
};

int64_t http_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int too_much(struct asking *a, uint64_t most)
{
	snprintf(a->c->why, sizeof(a->c->why), "%.200s sends more than the %llu %s that are accepted", http_name(a->h),
		 (unsigned long long)(most >> 20 ? most >> 20 : most), most >> 20 ? "MiB" : "bytes");
	return GROVE_ETOOBIG;
}

static int take_body(struct asking *a, const char *ptr, size_t len)
{
	struct http_call *c = a->c;
	int success = c->status >= 200 && c->status < 300;
	uint64_t most = !success ? ERROR_MAX : c->most ? c->most : HTTP_ANSWER_MAX;

	/* what was packed may unpack to a lot before anybody asks whether to go on */
	if (a->h->stopped && a->h->stopped()) {
		a->stopped = 1;
		return GROVE_ECANCELLED;
	}
	if (c->endless && success)
		return c->sink(c->payload, ptr, len);
	c->received += len;
	if (c->received > most)
		return too_much(a, most);
	return c->sink && success ? c->sink(c->payload, ptr, len)
				  : grove_buf_add(&c->answer, (struct grove_slice){ ptr, len });
}

static size_t on_body(char *ptr, size_t one, size_t len, void *payload)
{
	struct asking *a = payload;

	(void)one;
	curl_easy_getinfo(a->h->curl, CURLINFO_RESPONSE_CODE, &a->c->status);
	a->rc = take_body(a, ptr, len);
	return a->rc ? 0 : len;
}

static int header_number(const char *line, size_t len, const char *name, uint64_t *out)
{
	size_t n = strlen(name), digits;
	char text[24];

	if (len <= n || strncasecmp(line, name, n))
		return 0;
	line += n;
	len -= n;
	while (len && *line == ' ') {
		line++;
		len--;
	}
	for (digits = 0; digits < len && line[digits] >= '0' && line[digits] <= '9'; digits++)
		;
	if (!digits || digits > 19)
		return 0;
	memcpy(text, line, digits);
	text[digits] = '\0';
	*out = strtoull(text, NULL, 10);
	return 1;
}

static size_t on_header(char *ptr, size_t one, size_t len, void *payload)
{
	struct asking *a = payload;
	struct http_call *c = a->c;

	(void)one;
	a->headers += len;
	if (a->headers > HTTP_HEADERS_MAX) {
		a->rc = too_much(a, HTTP_HEADERS_MAX);
		return 0;
	}
	/* what follows the body cannot change what was announced before it */
	if (!c->received) {
		c->has_state |= header_number(ptr, len, "Grove-Seq:", &c->seq);
		header_number(ptr, len, "Grove-Generation:", &c->generation);
	}
	return len;
}

/* Called at least once a second. */
static int on_progress(void *payload, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
	struct asking *a = payload;
	int64_t most = HTTP_PATIENCE + (got + sent) / HTTP_PACE;

	(void)to_get;
	(void)to_send;
	a->stopped = a->h->stopped && a->h->stopped();
	if (a->c->endless && got)
		most = INT64_MAX / 1000;
	else if (most > HTTP_LONGEST)
		most = HTTP_LONGEST;
	a->c->late = http_clock() - a->begun > most * 1000;
	return a->stopped || a->c->late;
}

static struct curl_slist *headers_of(const struct http *h, const struct http_call *c)
{
	char line[600];
	struct curl_slist *l = curl_slist_append(NULL, "X-Grove: 1");

	snprintf(line, sizeof(line), "Origin: %s", h->base);
	l = curl_slist_append(l, line);
	if (*h->auth)
		l = curl_slist_append(l, h->auth);
	if (c->type) {
		snprintf(line, sizeof(line), "Content-Type: %s", c->type);
		l = curl_slist_append(l, line);
	}
	/* waiting for 100 Continue costs a round trip for each batch */
	return curl_slist_append(l, "Expect:");
}

static int set_up(struct asking *a, const char *url, struct curl_slist *headers)
{
	CURL *e = a->h->curl;
	const struct http_call *c = a->c;

	curl_easy_reset(e);
	curl_easy_setopt(e, CURLOPT_URL, url);
	if (*a->h->socket)
		curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, a->h->socket);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	/* as curl and OpenSSL do: trusts a team's own authority without changing the system */
	if (getenv("SSL_CERT_FILE"))
		curl_easy_setopt(e, CURLOPT_CAINFO, getenv("SSL_CERT_FILE"));
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, c->endless ? EVENT_SILENT_SECONDS : SILENT_SECONDS);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, a);
	curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(e, CURLOPT_XFERINFODATA, a);
	if (c->method)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, c->method);
	if (c->type) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, c->body.ptr ? c->body.ptr : "");
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.len);
	}
	return 0;
}

/*
 * Returns true if the answer is not from grove, but from a proxy without its server or
 * another program. A 404 then says nothing about a session.
 */
static int is_foreign(const struct http_call *c)
{
	return c->status == 404 || c->status == 405 || c->status == 501 || (c->status >= 300 && c->status < 400);
}

/* Reads the code and message of an error. */
static int told_error(struct asking *a)
{
	struct http_call *c = a->c;
	struct grove_slice error, code, message, text;
	char name[32] = "", words[sizeof(c->why)] = "";
	int rc = 0;

	if (!grove_json_check(grove_buf_slice(&c->answer), NULL, NULL) &&
	    grove_json_member(grove_buf_slice(&c->answer), "error", &error)) {
		if (grove_json_member(error, "code", &code) && grove_json_text(code, name, sizeof(name) - 1, &text))
			name[text.len < sizeof(name) ? text.len : sizeof(name) - 1] = '\0';
		if (grove_json_member(error, "message", &message) && grove_json_text(message, words, sizeof(words) - 1, &text))
			words[text.len < sizeof(words) ? text.len : sizeof(words) - 1] = '\0';
	}
	for (int i = 1; i < 64 && *name && !rc; i++)
		if (!strcmp(grove_error_name(-i), name))
			rc = -i;
	if (!*name && is_foreign(c)) {
		c->foreign = 1;
		snprintf(c->why, sizeof(c->why), "%.200s does not answer as a grove server (%ld)", a->h->base, c->status);
		return GROVE_EIO;
	}
	if (!rc)
		rc = c->status == 401 || c->status == 403 ? GROVE_EACCESS : GROVE_EIO;
	snprintf(c->why, sizeof(c->why), "the server answers %ld%s%s", c->status, *words ? ": " : "", words);
	return rc;
}

static int judge(struct asking *a, CURLcode done, const char *detail)
{
	struct http_call *c = a->c;

	if (a->stopped) {
		snprintf(c->why, sizeof(c->why), "interrupted");
		return GROVE_ECANCELLED;
	}
	if (c->late) {
		snprintf(c->why, sizeof(c->why), "%.200s is too slow: %llu bytes in %lld seconds", http_name(a->h),
			 (unsigned long long)c->received, (long long)(http_clock() - a->begun) / 1000);
		return GROVE_EIO;
	}
	if (a->rc) {
		if (!*c->why)
			snprintf(c->why, sizeof(c->why), "%s", grove_strerror(a->rc));
		return a->rc;
	}
	if (done) {
		c->status = 0;
		snprintf(c->why, sizeof(c->why), "cannot reach %.100s: %.250s", http_name(a->h),
			 *detail && done != CURLE_COULDNT_CONNECT ? detail : curl_easy_strerror(done));
		return GROVE_EIO;
	}
	curl_easy_getinfo(a->h->curl, CURLINFO_RESPONSE_CODE, &c->status);
	return c->status >= 200 && c->status < 300 ? 0 : told_error(a);
}

int http_ask(struct http *h, struct http_call *c)
{
	struct asking a = { .h = h, .c = c, .begun = http_clock() };
	struct curl_slist *headers = headers_of(h, c);
	struct grove_buf url = GROVE_BUF_INIT;
	char detail[CURL_ERROR_SIZE] = "";
	int rc = GROVE_ENOMEM;

	c->status = 0;
	c->has_state = 0;
	c->foreign = 0;
	c->late = 0;
	c->received = 0;
	c->answer.len = 0;
	c->why[0] = '\0';
	if (headers && !grove_buf_add(&url, grove_str(h->base)) && !grove_buf_add(&url, grove_str("/api/v1")) &&
	    !grove_buf_add(&url, (struct grove_slice){ c->path, strlen(c->path) + 1 })) {
		set_up(&a, url.ptr, headers);
		curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, detail);
		rc = judge(&a, curl_easy_perform(h->curl), detail);
		curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, NULL);
	}
	curl_slist_free_all(headers);
	grove_buf_release(&url);
	return rc;
}
