/*
 * http.c: libmicrohttpd, and the life of a request.
 *
 *	target()      the request line was read: create the request
 *	answer()      the header is complete: run the gate
 *	answer() …    the body arrives
 *	answer()      the body is complete: reply, or suspend and hand over to the pool
 *	answer()      resumed: queue the reply
 *	completed()   the reply was sent, or the client has left
 *
 * The post processor and the authentication of libmicrohttpd are not used.
 */
#include "gate.h"
#include "log.h"
#include "metrics.h"
#include "peer.h"
#include "recent.h"
#include "workers.h"
#include "reply.h"
#include "route.h"
#include "stream.h"
#include "tls.h"
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_us(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

int64_t now_ms(void)
{
	return now_us() / 1000;
}

int64_t wall_ms(void)
{
	return clock_us(CLOCK_REALTIME) / 1000;
}

/* ----------------------------------------------------------------- requests */

struct request *request_ref(struct request *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

void request_unref(struct request *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	target_release(&r->target);
	free(r->raw);
	shown_free(r->shown);
	tokens_unref(r->who.tokens);
	grove_buf_release(&r->body);
	doc_release(&r->out);
	stream_unref(r->stream);
	if (r->file >= 0)
		close(r->file);
	free(r);
}

/* Called with the target as it was received. The return value becomes `con_cls`. */
static void *target(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct listener *l = cls;
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	atomic_init(&r->refs, 1);
	r->server = l->server;
	r->connection = connection;
	r->started = now_us();
	r->file = -1;
	r->raw = strdup(uri);
	r->why = target_parse(&r->target, uri);
	return r;
}

/* Keeps libmicrohttpd from decoding the target; see target.c. */
static size_t leave_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

/* Sends the reply. Streams have limits of their own. */
static enum MHD_Result send_reply(struct request *r)
{
	enum MHD_Result rc = reply_queue(r);

	if (!r->stream)
		peer_sends(r->server->peers, r->peer, r->sent);
	return rc;
}

static enum MHD_Result refuse(struct request *r, unsigned status)
{
	reply_error(r, r->detail.code, status);
	return send_reply(r);
}

static enum MHD_Result begin(struct request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	unsigned status;

	r->begun = 1;
	r->peer = info ? info->socket_context : NULL;
	if (!r->peer)
		return MHD_NO;
	MHD_set_connection_option(r->connection, MHD_CONNECTION_OPTION_TIMEOUT, IDLE_SECONDS);
	peer_enter(r->server->peers, r->peer, PEER_BODY);
	status = gate_check(r);
	return status ? refuse(r, status) : MHD_YES;
}

static void receive(struct request *r, const char *data, size_t len)
{
	peer_received(r->server->peers, r->peer, len);
	if (r->body.len + len > route_body_max(r) || grove_buf_add(&r->body, (struct grove_slice){ data, len })) {
		grove_buf_release(&r->body);
		r->body_too_big = 1;
	}
}

/* Runs on a thread of the pool. */
static void work(struct request *r)
{
	route_run(r);
	if (!atomic_load(&r->answered))
		http_answered(r);
	request_unref(r);
}

void http_answered(struct request *r)
{
	atomic_store(&r->answered, 1);
	MHD_resume_connection(r->connection);
}

static enum MHD_Result dispatch(struct request *r)
{
	enum MHD_Result rc;

	r->dispatched = 1;
	atomic_fetch_add(&r->server->replying, 1);
	if (r->body_too_big) {
		r->close = 1;
		reply_fail(r, GROVE_ETOOBIG, "a body can have at most %u bytes", route_body_max(r));
		return refuse(r, 413);
	}
	if (r->route->pace == PACE_QUICK) {
		route_run(r);
		return send_reply(r);
	}
	if (r->route->pace == PACE_SHARED && recent_answer(r->server->recent, r, &rc)) {
		peer_sends(r->server->peers, r->peer, r->sent);
		return rc;
	}
	peer_enter(r->server->peers, r->peer, PEER_REPLY);
	MHD_suspend_connection(r->connection);
	request_ref(r);
	if (pool_submit(r->server->pool, r, work)) {
		request_unref(r);
		reply_fail(r, GROVE_EIO, "too many requests are waiting; try again");
		reply_error(r, GROVE_EIO, 503);
		http_answered(r);
	}
	return MHD_YES;
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data, size_t *len,
			      void **con_cls)
{
	struct request *r = *con_cls;

	(void)cls;
	(void)connection;
	(void)url;
	(void)version;
	if (!r)
		return MHD_NO;
	if (!r->begun) {
		r->method = method;
		return begin(r);
	}
	if (*len) {
		receive(r, data, *len);
		*len = 0;
		return MHD_YES;
	}
	if (!r->dispatched)
		return dispatch(r);
	return atomic_load(&r->answered) ? send_reply(r) : MHD_YES;
}

/* ------------------------------------------------------------------ the log */

/* Logs neither the query nor the body: search terms are content, too. */
static void log_access(const struct request *r, int64_t us, uint64_t sent)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	doc_open(&d, '{');
	doc_member_time(&d, "time", wall_ms());
	doc_member(&d, "level", "access");
	doc_member(&d, "method", r->method);
	doc_member(&d, "route", r->route ? r->route->path : NULL);
	if (r->route && r->who.scope && !strncmp(r->route->path, "/api/v1/sessions/{id}", 21))
		doc_member(&d, "session", r->capture[0]);
	doc_member_number(&d, "status", r->status);
	doc_member_number(&d, "bytes", sent);
	doc_name(&d, "ms");
	doc_real(&d, (double)us / 1000);
	doc_member(&d, "peer", *r->client ? r->client : "unix");
	doc_member(&d, "who", r->who.scope ? r->who.name : NULL);
	doc_puts(&d, "}\n");
	log_write(&d);
	doc_release(&d);
}

static void completed(void *cls, struct MHD_Connection *connection, void **con_cls,
		      enum MHD_RequestTerminationCode why)
{
	struct request *r = *con_cls;
	uint64_t sent;
	int64_t us;

	(void)cls;
	(void)connection;
	(void)why;
	*con_cls = NULL;
	if (!r)
		return;
	if (r->dispatched)
		atomic_fetch_sub(&r->server->replying, 1);
	if (r->begun && r->peer) {
		us = now_us() - r->started;
		sent = r->stream ? stream_sent(r->stream) : r->sent;
		metrics_count(r->server->metrics, r, us, sent);
		if (!r->server->set->quiet)
			log_access(r, us, sent);
		peer_enter(r->server->peers, r->peer, PEER_IDLE);
	}
	request_unref(r);
}

/* -------------------------------------------------------------- connections */

static void connection_told(void *cls, struct MHD_Connection *connection, void **context,
			    enum MHD_ConnectionNotificationCode what)
{
	struct listener *l = cls;
	const union MHD_ConnectionInfo *fd, *address;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		peer_end(l->server->peers, *context);
		*context = NULL;
		return;
	}
	fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	address = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*context = peer_begin(l->server->peers, l, fd->connect_fd, address->client_addr);
}

static enum MHD_Result may_connect(void *cls, const struct sockaddr *address, socklen_t len)
{
	struct listener *l = cls;

	(void)address;
	(void)len;
	if (atomic_load(&l->server->stopping))
		return MHD_NO;
	peers_make_room(l->server->peers);
	return MHD_YES;
}

/* libmicrohttpd's messages may contain a target or a header, so we only count them. */
static void library_said(void *cls, const char *fmt, va_list ap)
{
	struct listener *l = cls;

	(void)fmt;
	(void)ap;
	metrics_library_message(l->server->metrics);
}

static int start(struct server *s, struct listener *l, unsigned threads)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[3] = { { MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem some[3] = { { MHD_OPTION_END, 0, NULL }, { MHD_OPTION_END, 0, NULL }, { MHD_OPTION_END, 0, NULL } };
	size_t nr = 0;

	if (s->tls_files && !l->is_unix) {
		flags |= MHD_USE_TLS;
		tls_options(s->tls_files, tls);
	}
	if (threads > 1)
		some[nr++] = (struct MHD_OptionItem){ MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL };
#if MHD_VERSION >= 0x00097300
	some[nr++] = (struct MHD_OptionItem){ MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL };
#endif
	l->server = s;
	l->daemon = MHD_start_daemon(flags, 0, may_connect, l, answer, l,
		MHD_OPTION_EXTERNAL_LOGGER, library_said, l,
		MHD_OPTION_LISTEN_SOCKET, l->fd,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HEADER_SECONDS,
		MHD_OPTION_URI_LOG_CALLBACK, target, l,
		MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, l,
		MHD_OPTION_NOTIFY_COMPLETED, completed, l,
		MHD_OPTION_NOTIFY_CONNECTION, connection_told, l,
		MHD_OPTION_ARRAY, some,
		MHD_OPTION_ARRAY, tls,
		MHD_OPTION_END);
	return l->daemon ? 0 : -1;
}

int http_start(struct server *s, char *why, size_t size)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = cores < 1 ? 1 : cores > 4 ? 4 : (unsigned)cores;

	for (unsigned i = 0; i < s->nr_listeners; i++)
		if (start(s, &s->listener[i], threads)) {
			snprintf(why, size, "%s: the HTTP library did not start", s->listener[i].url);
			return -1;
		}
	return 0;
}

/* Replies are complete, but perhaps not sent, and libmicrohttpd cuts them off when it stops. */
static void let_replies_go(struct server *s)
{
	const struct timespec moment = { .tv_nsec = 5 * 1000000 };

	for (int64_t end = now_us() + REPLIES_US; atomic_load(&s->replying) && now_us() < end;)
		nanosleep(&moment, NULL);
}

/*
 * By now, new connections are refused and streams have ended, because libmicrohttpd must
 * not be stopped while a connection is suspended. It closes the socket.
 * (MHD_quiesce_daemon() is the documented way to refuse connections, but with several
 * threads two of them may remove the socket from one epoll set, and the second aborts.)
 */
void http_stop(struct server *s)
{
	let_replies_go(s);
	for (unsigned i = 0; i < s->nr_listeners; i++)
		if (s->listener[i].daemon) {
			MHD_stop_daemon(s->listener[i].daemon);
			s->listener[i].daemon = NULL;
			s->listener[i].fd = -1;
		}
}
