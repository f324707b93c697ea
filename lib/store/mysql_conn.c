/*
 * store/mysql_conn.c: the server of a MySQL store: connections, retries, tables.
 *
 * Connections are taken from a pool and returned to it. One that broke is closed, with
 * all others to the same host, and the next host is tried. A temporary error (a
 * deadlock, a node that is joining, a host that is gone) is not reported before it has
 * had time to pass.
 *
 * Those who only read are told soon that nobody answers (GROVE_EAWAY), because they have
 * other stores to ask: after a second without a byte, if no new connection is made within
 * another one either. A server that accepts one is busy, and gets more. That nobody answers
 * is remembered: after a pause, which grows, one thread tries again, and the others are
 * told at once what is known.
 *
 * On a cluster, a read first waits until its node has what was committed on the others
 * (wsrep_sync_wait), unless it follows one that did.
 */
#include "store/mysql.h"

#include "sys/alive.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/remote.h"

#include <errmsg.h>
#include <ma_pvio.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CONNECT_S = 5,
	ANSWER_S = 60,
	BRIEF_S = 1,
	PAUSE_FIRST_MS = 1000,
	PAUSE_LAST_MS = 4000,
	SILENCE_S = 15,             /* even a busy host answers sooner */
	LOCK_S = 10,
	PATIENCE_MS = 20000,
	IDLE_MAX = 8,
	UPGRADE_S = 7 * 24 * 3600,  /* an index over a large table may take very long */
};

/* Gets the numbers of the first row. GROVE__SQL_NONE: there is none. */
static int ask_numbers(struct mysql_conn *c, const char *sql, int64_t *out, unsigned nr,
		       struct grove_detail *d)
{
	MYSQL_RES *res;
	MYSQL_ROW row;
	int rc = grove__mysql_say(c, sql, d);

	if (rc)
		return rc;
	res = mysql_store_result(c->db);
	if (!res)
		return grove__mysql_fail_db(c, d);
	row = mysql_num_fields(res) >= nr ? mysql_fetch_row(res) : NULL;
	for (unsigned i = 0; i < nr && row; i++)
		out[i] = row[i] ? strtoll(row[i], NULL, 10) : 0;
	mysql_free_result(res);
	return row ? 0 : GROVE__SQL_NONE;
}

/* Waits longer each time, and for a random time, so that two do not collide again. */
static void wait_a_little(unsigned tries)
{
	unsigned ms = tries < 8 ? 2u << tries : 500;
	uint16_t chance;

	grove__sys_random(&chance, sizeof(chance));
	usleep((ms / 2 + chance % (ms + 1)) * 1000);
}

/* --------------------------------------------------------------- the tables */

/*
 * Gets the version of the tables. 0: there are none, or creating them was interrupted
 * before the last step, which writes the version.
 */
static int version_of(struct mysql_conn *c, bool thorough, int64_t *out, struct grove_detail *d)
{
	int64_t tables[2];
	int rc;

	*out = 0;
	if (thorough) {
		rc = ask_numbers(c, "SELECT count(*), coalesce(sum(table_comment = '" GROVE__SQL_COMMENT
				 "'), 0) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
				 "table_name IN ('meta', 'sessions', 'entries', 'attachments', "
				 "'session_values', 'changes')", tables, 2, d);
		if (rc)
			return rc;
		if (tables[1] < tables[0])
			return grove__fail(d, GROVE_ENOTSUP, c->base.where,
					   "another program has tables in this database under names that grove uses");
		if (tables[0] < 5)
			return 0;
	}
	rc = ask_numbers(c, grove__sql_text[SQL_VERSION], out, 1, d);
	return rc == GROVE__SQL_NONE ? 0 : rc;
}

/* True if what is to be created already exists. */
static bool made_before(unsigned err)
{
	return err == ER_TABLE_EXISTS_ERROR || err == ER_DUP_FIELDNAME || err == ER_DUP_KEYNAME;
}

/* Runs a statement that two clients may run at once, one after the other. */
static int say_once(struct mysql_conn *c, const char *sql, struct grove_detail *d)
{
	int rc = grove__mysql_say(c, sql, d);

	for (unsigned tries = 0; rc && c->trouble && !c->broken && tries < 20; tries++) {
		c->trouble = 0;
		wait_a_little(tries);
		rc = grove__mysql_say(c, sql, d);
	}
	return rc && made_before(mysql_errno(c->db)) ? 0 : rc;
}

/* True for the statements that write the version. */
static bool is_version(const char *sql)
{
	return !strncmp(sql, "INSERT INTO meta ", 17) || !strncmp(sql, "UPDATE meta ", 12);
}

/* Never decreases it: of two that upgrade at once, one may know a later version. */
static int write_version(struct mysql_store *s, struct mysql_conn *c, struct grove_detail *d)
{
	unsigned newest = s->base.schema->newest;
	char sql[160];

	snprintf(sql, sizeof(sql), "INSERT INTO meta (name, value) VALUES ('version', %u) "
		 "ON DUPLICATE KEY UPDATE value = greatest(value, %u)", newest, newest);
	return say_once(c, sql, d);
}

/*
 * MySQL commits each statement that creates a table separately, so after an
 * interruption all are run again, and what exists is skipped. The version comes last.
 */
static int make_tables(struct mysql_store *s, struct mysql_conn *c, unsigned from,
		       struct grove_detail *d)
{
	const struct grove__sql_schema *schema = s->base.schema;
	int rc = 0;

	for (unsigned v = from; v < schema->newest && !rc; v++)
		for (const char *const *sql = schema->versions[v]; *sql && !rc; sql++)
			if (!is_version(*sql))
				rc = say_once(c, *sql, d);
	return rc ? rc : write_version(s, c, d);
}

/* -------------------------------------------------------------- connections */

static void close_conn(struct mysql_conn *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < MY_NR; i++)
		if (c->st[i])
			mysql_stmt_close(c->st[i]);
	if (c->db)
		mysql_close(c->db);
	free(c);
}

/*
 * In a child process: closes the descriptor without sending a byte, which the server
 * would take for the parent's. The library cannot free the rest silently.
 */
static void abandon_conn(struct mysql_conn *c)
{
	grove__sys_close(mysql_get_socket(c->db));
}

static void begin_library(void)
{
	mysql_library_init(0, NULL, NULL);
}

static unsigned or_usual(unsigned wanted, unsigned usual)
{
	return wanted ? wanted : usual;
}

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How long to wait for a host, and for an answer of one that is connected. */
struct patience {
	unsigned connect_s, answer_s;
};

static struct patience patience(const struct mysql_store *s, bool brief)
{
	struct patience p = { or_usual(s->opt.connect_s, CONNECT_S), or_usual(s->opt.answer_s, ANSWER_S) };

	/* of several hosts the next one may answer; a host that has answered does so sooner */
	if (brief) {
		bool soon = s->place.nr_hosts > 1 || __atomic_load_n(&s->answered, __ATOMIC_ACQUIRE);

		p.connect_s = smaller(p.connect_s, soon ? BRIEF_S : 2 * BRIEF_S);
		p.answer_s = smaller(p.answer_s, soon ? BRIEF_S : 2 * BRIEF_S);
	}
	return p;
}

/* The library sets this only before it connects. The time counts from the last byte. */
static void set_patience(struct mysql_conn *c, unsigned answer_s)
{
	MARIADB_PVIO *io = c->db->net.pvio;

	if (!io)
		return;
	io->methods->set_timeout(io, PVIO_READ_TIMEOUT, (int)answer_s);
	io->methods->set_timeout(io, PVIO_WRITE_TIMEOUT, (int)answer_s);
}

static int set_options(struct mysql_store *s, struct mysql_conn *c, const struct mysql_host *h,
		       struct patience wait)
{
	const struct mysql_place *p = &s->place;
	enum mysql_protocol_type tcp = MYSQL_PROTOCOL_TCP;
	my_bool yes = 1;
	int rc = mysql_options(c->db, MYSQL_OPT_CONNECT_TIMEOUT, &wait.connect_s) ||
		 mysql_options(c->db, MYSQL_OPT_READ_TIMEOUT, &wait.answer_s) ||
		 mysql_options(c->db, MYSQL_OPT_WRITE_TIMEOUT, &wait.answer_s) ||
		 mysql_options(c->db, MYSQL_SET_CHARSET_NAME, "utf8mb4");

	/* "localhost" would mean a socket, whatever the port */
	if (!rc && !p->socket && h->port)
		rc = mysql_options(c->db, MYSQL_OPT_PROTOCOL, &tcp);
	if (!rc && p->tls != PLACE_TLS_OFF)
		rc = mysql_options(c->db, MYSQL_OPT_SSL_ENFORCE, &yes) ||
		     (p->ca && mysql_options(c->db, MYSQL_OPT_SSL_CA, p->ca)) ||
		     (p->cert && mysql_options(c->db, MYSQL_OPT_SSL_CERT, p->cert)) ||
		     (p->key && mysql_options(c->db, MYSQL_OPT_SSL_KEY, p->key));
	if (!rc && p->tls == PLACE_TLS_VERIFY)
		rc = mysql_options(c->db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
	return rc;
}

/*
 * Settings that a session inherits from its server and that must have the value we
 * expect. Otherwise acknowledged lines would be rolled back (autocommit,
 * completion_type), answers truncated (sql_select_limit, max_statement_time), keys
 * duplicated (unique_checks), names read in another character set (character_set_*), or
 * leases judged by a clock that jumps twice a year (time_zone). Settings that only
 * affect speed, and how long a session may be idle, are up to the administrator.
 */
static const struct setting {
	const char *name;
	const char *value;  /* NULL for the time to wait for another writer */
	enum { ANY_SERVER, MARIADB_ONLY, MYSQL_ONLY } of;
	bool needed;        /* a server without it cannot be used */
} settings[] = {
	{ "autocommit", "1", ANY_SERVER, true },
	{ "completion_type", "0", ANY_SERVER, false },
	{ "sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", ANY_SERVER, true },
	/* MY_APPEND depends on it: what it reads is locked until it has inserted */
	{ "tx_isolation", "'REPEATABLE-READ'", MARIADB_ONLY, true },
	{ "tx_read_only", "0", MARIADB_ONLY, true },
	{ "transaction_isolation", "'REPEATABLE-READ'", MYSQL_ONLY, true },
	{ "transaction_read_only", "0", MYSQL_ONLY, true },
	/* otherwise a row changed in the meantime would be an error of its own */
	{ "innodb_snapshot_isolation", "0", MARIADB_ONLY, false },
	{ "innodb_lock_wait_timeout", NULL, ANY_SERVER, false },
	{ "lock_wait_timeout", NULL, ANY_SERVER, false },
	{ "unique_checks", "1", ANY_SERVER, false },
	{ "foreign_key_checks", "1", ANY_SERVER, false },
	{ "character_set_client", "utf8mb4", ANY_SERVER, false },
	{ "character_set_results", "utf8mb4", ANY_SERVER, false },
	{ "collation_connection", "utf8mb4_bin", ANY_SERVER, false },
	{ "time_zone", "_ascii'+00:00'", ANY_SERVER, false },
	{ "sql_select_limit", "18446744073709551615", ANY_SERVER, false },
	{ "sql_big_selects", "1", ANY_SERVER, false },
	{ "sql_safe_updates", "0", ANY_SERVER, false },
	{ "sql_auto_is_null", "0", ANY_SERVER, false },
	{ "max_statement_time", "0", MARIADB_ONLY, false },
	{ "max_execution_time", "0", MYSQL_ONLY, false },
	{ "alter_algorithm", "'DEFAULT'", MARIADB_ONLY, false },
	{ "query_cache_type", "0", MARIADB_ONLY, false },
	/* on a cluster a read waits for its node; a node that is cut off does not answer */
	{ "wsrep_sync_wait", "1", ANY_SERVER, false },
	{ "wsrep_dirty_reads", "0", ANY_SERVER, false },
};

enum { SETTINGS = sizeof(settings) / sizeof(*settings) };

static bool lacks(const struct mysql_host *h, unsigned setting)
{
	return __atomic_load_n(&h->lacks, __ATOMIC_RELAXED) >> setting & 1;
}

/* Sets all of them in one statement, except those that this host does not have. */
static int say_settings(struct mysql_store *s, struct mysql_conn *c, const struct mysql_host *h,
			struct grove_detail *d)
{
	int other = mariadb_connection(c->db) ? MYSQL_ONLY : MARIADB_ONLY, rc = 0;
	struct grove_buf sql = GROVE_BUF_INIT;

	for (unsigned i = 0; i < SETTINGS && !rc; i++) {
		if ((int)settings[i].of == other || lacks(h, i))
			continue;
		rc = grove__buf_addf(&sql, "%s%s = ", sql.len ? ", " : "SET SESSION ", settings[i].name);
		if (!rc)
			rc = settings[i].value ? grove__buf_add_str(&sql, settings[i].value)
					       : grove__buf_addf(&sql, "%u", or_usual(s->opt.lock_s, LOCK_S));
	}
	rc = rc ? grove__fail_nomem(d) : grove__mysql_say(c, sql.ptr, d);
	grove__buf_release(&sql);
	return rc;
}

/*
 * Returns the setting that the server just said it does not know; SETTINGS: none, or
 * one that we need.
 */
static unsigned unknown_setting(struct mysql_conn *c)
{
	char quoted[64];

	if (mysql_errno(c->db) != ER_UNKNOWN_SYSTEM_VARIABLE)
		return SETTINGS;
	for (unsigned i = 0; i < SETTINGS; i++) {
		snprintf(quoted, sizeof(quoted), "'%s'", settings[i].name);
		if (!settings[i].needed && strstr(mysql_error(c->db), quoted))
			return i;
	}
	return SETTINGS;
}

static int settle_session(struct mysql_store *s, struct mysql_conn *c, struct mysql_host *h,
			  struct grove_detail *d)
{
	unsigned unknown;
	int rc;

	for (unsigned tries = 0; tries <= SETTINGS; tries++) {
		rc = say_settings(s, c, h, d);
		unknown = rc ? unknown_setting(c) : SETTINGS;
		if (unknown == SETTINGS)
			break;
		__atomic_or_fetch(&h->lacks, (uint64_t)1 << unknown, __ATOMIC_RELAXED);
	}
	return rc;
}

static unsigned setting_of(const char *name)
{
	unsigned i = 0;

	while (i < SETTINGS && strcmp(settings[i].name, name))
		i++;
	return i;
}

#define ABOUT_SERVER(cluster) "SELECT @@max_allowed_packet, " cluster ", DATABASE(), " \
			      "abs(timestampdiff(SECOND, now(), sysdate())) > 60"

/* As the server said with its last answer. */
static bool in_transaction(struct mysql_conn *c)
{
	unsigned status = 0;

	return !mariadb_get_infov(c->db, MARIADB_CONNECTION_SERVER_STATUS, &status) &&
	       status & SERVER_STATUS_IN_TRANS;
}

/*
 * Asks what we have to know about the server, and whether the session is in another
 * database or has its clock stopped.
 */
static int ask_server(struct mysql_conn *c, const struct mysql_host *h, const char *db, bool *moved,
		      bool *stopped, struct grove_detail *d)
{
	unsigned long caps = 0;
	uint64_t packet;
	MYSQL_RES *res;
	MYSQL_ROW row;
	int rc = grove__mysql_say(c, lacks(h, setting_of("wsrep_sync_wait")) ? ABOUT_SERVER("0")
								: ABOUT_SERVER("@@wsrep_on"), d);

	if (rc)
		return rc;
	res = mysql_store_result(c->db);
	row = res && mysql_num_fields(res) == 4 ? mysql_fetch_row(res) : NULL;
	if (!row || !row[0]) {
		mysql_free_result(res);
		return grove__mysql_fail_db(c, d);
	}
	packet = strtoull(row[0], NULL, 10);
	c->packet = packet > 2 * GROVE__MYSQL_BESIDE ? packet : 2 * GROVE__MYSQL_BESIDE;
	c->cluster = row[1] && !strcmp(row[1], "1");
	*moved = db && (!row[2] || strcmp(row[2], db));
	*stopped = row[3] && strcmp(row[3], "0");
	mysql_free_result(res);
	/*
	 * Not on a cluster: if another node's change aborts a transaction while it
	 * inserts an array, MariaDB 10.11 continues with the rest of the array and
	 * reports success, so that rows are missing. Row by row the error is reported.
	 */
	if (!mariadb_get_infov(c->db, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &caps))
		c->bulk = !c->cluster && caps & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32);
	return 0;
}

/*
 * Sets up a session as we expect it, whatever the server does with a new one: fixes the
 * settings, and ends what init_connect began (a transaction, locks, another database, a
 * stopped clock). Not by resetting the connection: after that, a cluster node (MariaDB
 * 10.11) no longer waits for the others, whatever wsrep_sync_wait says.
 */
static int set_up(struct mysql_store *s, struct mysql_conn *c, const char *db,
		  struct grove_detail *d)
{
	struct mysql_host *h = &s->place.host[c->host];
	bool moved = false, stopped = false;
	int rc = settle_session(s, c, h, d);

	if (!rc && in_transaction(c))
		rc = grove__mysql_say(c, "ROLLBACK", d);
	if (!rc)
		rc = grove__mysql_say(c, "UNLOCK TABLES", d);
	if (!rc)
		rc = ask_server(c, h, db, &moved, &stopped, d);
	if (!rc && moved && mysql_select_db(c->db, db))
		rc = grove__mysql_fail_db(c, d);
	if (!rc && stopped)
		rc = grove__mysql_say(c, "SET SESSION timestamp = DEFAULT", d);
	return rc;
}

/* Connects to one host. `db` may be NULL. */
static int connect_to(struct mysql_store *s, size_t host, const char *db, struct patience wait,
		      struct mysql_conn **out, unsigned *err, struct grove_detail *d)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct mysql_place *p = &s->place;
	const struct mysql_host *h = &p->host[host];
	struct mysql_conn *c = calloc(1, sizeof(*c));
	int rc = 0;

	*err = 0;
	if (!c)
		return grove__fail_nomem(d);
	pthread_once(&once, begin_library);
	c->base.where = p->url;
	c->base.driver = s->base.driver;
	c->host = host;
	__atomic_store_n(&s->base.pid, grove__sys_pid(), __ATOMIC_RELEASE);
	c->db = mysql_init(NULL);
	if (!c->db || set_options(s, c, h, wait)) {
		rc = grove__fail_nomem(d);
	} else if (!mysql_real_connect(c->db, h->name, p->user, *p->password ? p->password : NULL, db,
				       h->port, p->socket, 0)) {
		*err = mysql_errno(c->db);
		rc = grove__mysql_fail_db(c, d);
	} else if (p->tls != PLACE_TLS_OFF && !mysql_get_ssl_cipher(c->db)) {
		/* the library would continue without; we do not */
		rc = grove__fail(d, GROVE_EACCESS, p->url, "the server does not support TLS");
	} else {
		grove__sys_notice_silence(mysql_get_socket(c->db), SILENCE_S);
		rc = set_up(s, c, db, d);
		if (rc)
			*err = mysql_errno(c->db);
	}
	if (rc) {
		close_conn(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* Connects to the first host that answers, beginning with the last one that did. */
static int connect_any(struct mysql_store *s, const char *db, struct patience wait,
		       struct mysql_conn **out, unsigned *trouble, struct grove_detail *d)
{
	size_t first, nr = s->place.nr_hosts, host = 0;
	uint64_t epoch;
	unsigned err = 0;
	int rc = 0;

	pthread_mutex_lock(&s->base.pool_lock);
	first = s->host;
	epoch = s->epoch;
	pthread_mutex_unlock(&s->base.pool_lock);
	for (size_t i = 0; i < nr; i++) {
		host = (first + i) % nr;
		rc = connect_to(s, host, db, wait, out, &err, d);
		/* an unknown host name counts as a host that is gone */
		if (!rc || (!grove__mysql_passes(err) && err != CR_UNKNOWN_HOST))
			break;
	}
	*trouble = rc && grove__mysql_passes(err) ? err : 0;
	if (rc)
		return rc;
	(*out)->base.epoch = epoch;
	if (host != first) {
		pthread_mutex_lock(&s->base.pool_lock);
		if (s->host == first) {
			s->host = host;
			s->epoch++;
		}
		(*out)->base.epoch = s->epoch;
		pthread_mutex_unlock(&s->base.pool_lock);
	}
	return 0;
}

static int open_conn(struct mysql_store *s, struct patience wait, struct mysql_conn **out,
		     unsigned *trouble, struct grove_detail *d)
{
	struct mysql_conn *c;
	int64_t version = 0;
	int rc = connect_any(s, s->place.db, wait, &c, trouble, d);

	if (rc)
		return rc;
	rc = version_of(c, !__atomic_load_n(&s->answered, __ATOMIC_ACQUIRE), &version, d);
	if (!rc)
		rc = version ? grove__sql_judge_version(&s->base, version, d) : GROVE__SQL_ABSENT;
	*trouble = c->trouble;
	if (rc) {
		close_conn(c);
		return rc;
	}
	__atomic_store_n(&s->answered, true, __ATOMIC_RELEASE);
	*out = c;
	return 0;
}

static int take_conn(struct mysql_store *s, struct patience wait, struct mysql_conn **out,
		     unsigned *trouble, struct grove_detail *d)
{
	struct sql_conn *c = grove__sql_pool_take(&s->base);

	*trouble = 0;
	if (!c)
		return open_conn(s, wait, out, trouble, d);
	*out = grove__mysql_conn(c);
	(*out)->trouble = 0;
	return 0;
}

/* Returns a connection to the pool, or closes it and others like it. */
static void give(struct mysql_store *s, struct mysql_conn *c)
{
	struct sql_conn *away = NULL, **at, *next;

	pthread_mutex_lock(&s->base.pool_lock);
	if (c->broken) {
		if (s->host == c->host && s->epoch == c->base.epoch) {
			s->host = (c->host + 1) % s->place.nr_hosts;
			s->epoch++;
		}
		for (at = &s->base.idle; *at;) {
			next = *at;
			if (next->epoch == s->epoch) {
				at = &next->next;
				continue;
			}
			*at = next->next;
			s->base.nr_idle--;
			next->next = away;
			away = next;
		}
	}
	if (c->broken || s->base.nr_idle >= IDLE_MAX || c->base.epoch != s->epoch) {
		c->base.next = away;
		away = &c->base;
	} else {
		c->base.next = s->base.idle;
		s->base.idle = &c->base;
		s->base.nr_idle++;
	}
	pthread_mutex_unlock(&s->base.pool_lock);
	for (; away; away = next) {
		next = away->next;
		close_conn(grove__mysql_conn(away));
	}
}

void grove__mysql_disconnect(struct mysql_store *s)
{
	bool ours = !grove__sql_ours(&s->base, NULL);
	struct sql_conn *c;

	while ((c = grove__sql_pool_take(&s->base)))
		if (ours)
			close_conn(grove__mysql_conn(c));
		else
			abandon_conn(grove__mysql_conn(c));
}

/* ------------------------------------------------------------- trying again */

int grove__mysql_transaction(struct sql_conn *base, struct sql_work *w, sql_work_fn *fn,
			     struct grove_detail *d)
{
	struct mysql_conn *c = grove__mysql_conn(base);
	int rc = grove__mysql_say(c, "START TRANSACTION", d);

	if (rc)
		return rc;
	rc = fn(base, w, d);
	/* silently aborted: what came after is outside the transaction, and must not stay */
	if (!rc && !in_transaction(c))
		rc = grove__mysql_again(c, d);
	if (!rc)
		rc = grove__mysql_say(c, "COMMIT", d);
	if (rc && !c->broken && mysql_real_query(c->db, "ROLLBACK", 8))
		c->broken = true;
	/* it has begun the next one, whose work would be lost */
	if (in_transaction(c))
		c->broken = true;
	return rc;
}

/*
 * Work outside a transaction is done when the server says so, unless it also says that
 * a transaction is open, which somebody between us and the server must have begun: then
 * it ends with this connection, and nothing of it stays.
 */
static int do_plain(struct mysql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	int rc = w->fn(&c->base, w, d);

	if (rc < 0 || c->broken || !in_transaction(c))
		return rc;
	c->broken = true;
	return grove__fail(d, GROVE_EIO, c->base.where,
			   "the server has a transaction open that grove did not start; nothing was stored");
}

/* ------------------------------------------------------ whether anybody answers */

/* False while it is known that nobody does, except for one who finds out whether that is still so. */
static bool may_ask(struct mysql_store *s, struct grove_detail *d)
{
	int64_t now = grove__sys_ticks_ns();
	bool yes;

	pthread_mutex_lock(&s->base.pool_lock);
	yes = !s->away || now >= s->ask_ns;
	if (!yes)
		grove__fail(d, GROVE_EAWAY, s->place.url, "%s", s->why);
	else if (s->away)
		s->ask_ns = now + s->pause_ns;
	pthread_mutex_unlock(&s->base.pool_lock);
	return yes;
}

/* After a try that began then. */
static void note_silence(struct mysql_store *s, int64_t begun_ns, const struct grove_detail *d)
{
	int64_t now = grove__sys_ticks_ns(), most = INT64_C(1000000) * PAUSE_LAST_MS;

	pthread_mutex_lock(&s->base.pool_lock);
	s->pause_ns = !s->away ? INT64_C(1000000) * PAUSE_FIRST_MS : s->pause_ns * 2 < most ? s->pause_ns * 2 : most;
	s->pause_ns = s->pause_ns > now - begun_ns ? s->pause_ns : now - begun_ns;
	s->away = true;
	s->ask_ns = now + s->pause_ns;
	snprintf(s->why, sizeof(s->why), "%.300s", d ? d->message : "the server does not answer");
	pthread_mutex_unlock(&s->base.pool_lock);
}

static void note_answer(struct mysql_store *s)
{
	pthread_mutex_lock(&s->base.pool_lock);
	s->away = false;
	pthread_mutex_unlock(&s->base.pool_lock);
}

/* -------------------------------------------------------------------- the work */

/* One try, in which `answer_s` may pass without a byte. *silent: nobody could be reached. */
static int try_once(struct mysql_store *s, struct sql_work *w, unsigned answer_s, unsigned *trouble,
		    bool *silent, struct grove_detail *d)
{
	bool transaction = w->mode == SQL_VIEW || w->mode == SQL_WRITE;
	struct mysql_conn *c;
	int rc = take_conn(s, patience(s, w->brief_s), &c, trouble, d);

	*silent = rc && *trouble;
	if (rc)
		return rc;
	set_patience(c, answer_s);
	rc = transaction ? grove__mysql_transaction(&c->base, w, w->fn, d) : do_plain(c, w, d);
	*trouble = rc < 0 ? c->trouble : 0;
	give(s, c);
	return rc;
}

int grove__mysql_work(struct sql_store *base, struct sql_work *w, struct grove_detail *d)
{
	struct mysql_store *s = (struct mysql_store *)base;
	unsigned usual = patience(s, false).answer_s, answer_s = w->brief_s ? smaller(usual, BRIEF_S) : usual, trouble;
	int64_t begun_ns, end = grove__sys_ticks_ns() + INT64_C(1000000) *
		(w->brief_s ? 2000 * BRIEF_S : or_usual(s->opt.patience_ms, PATIENCE_MS));
	bool silent = true, slow = false;
	int rc = grove__sql_ours(base, d);

	if (!rc && w->brief_s && !may_ask(s, d))
		return GROVE_EAWAY;
	for (unsigned tries = 0; !rc; tries++) {
		begun_ns = grove__sys_ticks_ns();
		rc = try_once(s, w, answer_s, &trouble, &silent, d);
		if (silent)
			note_silence(s, begun_ns, d);
		else if (!trouble)
			note_answer(s);
		if (rc >= 0 || !trouble || (silent && !__atomic_load_n(&s->answered, __ATOMIC_ACQUIRE)))
			return rc;
		if (grove__mysql_leaves_open(trouble))
			w->unknown = true;
		if (w->once || slow || (w->brief_s && silent))
			break;
		/* if a new connection is made, somebody is there, and only needs time */
		slow = w->brief_s && grove__sys_ticks_ns() - begun_ns >= INT64_C(900000000) * BRIEF_S;
		if (slow)
			answer_s = smaller(usual, w->brief_s);
		else if (grove__sys_ticks_ns() >= end)
			break;
		__atomic_add_fetch(&s->again, 1, __ATOMIC_RELAXED);
		if (!w->brief_s || tries)
			wait_a_little(tries);
		rc = 0;
	}
	if (rc == GROVE_EAWAY && w->brief_s && !silent)
		note_silence(s, begun_ns, d);
	/* a caller that gets a conflict may rely on nothing having been stored */
	if (rc && w->unknown && !w->brief_s) {
		rc = GROVE_EIO;
		if (d)
			d->code = rc;
	}
	return rc;
}

/* ----------------------------------------------------------- init, upgrade */

/* Turns `db` into a name in backquotes. */
static int make_database(struct mysql_store *s, struct grove_detail *d)
{
	struct grove_buf sql = GROVE_BUF_INIT;
	struct mysql_conn *c = NULL;
	unsigned trouble;
	int rc = grove__buf_add_str(&sql, "CREATE DATABASE IF NOT EXISTS `");

	for (const char *p = s->place.db; *p && !rc; p++)
		rc = grove__buf_addf(&sql, *p == '`' ? "``" : "%c", *p);
	if (!rc)
		rc = grove__buf_add_char(&sql, '`');
	if (rc)
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = connect_any(s, NULL, patience(s, false), &c, &trouble, d);
	if (!rc)
		rc = grove__mysql_say(c, sql.ptr, d);
	close_conn(c);
	grove__buf_release(&sql);
	return rc;
}

/* Opens a connection to the database, whatever tables it has. */
static int connect_bare(struct mysql_store *s, bool create, struct mysql_conn **out,
			int64_t *version, struct grove_detail *d)
{
	unsigned trouble;
	int rc = connect_any(s, s->place.db, patience(s, false), out, &trouble, d);

	if (rc == GROVE_ENOTFOUND && create) {
		rc = make_database(s, d);
		if (!rc)
			rc = connect_any(s, s->place.db, patience(s, false), out, &trouble, d);
	}
	if (rc)
		return rc;
	rc = version_of(*out, true, version, d);
	if (rc)
		close_conn(*out);
	return rc;
}

int grove__mysql_init(struct grove_store *st, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	struct mysql_conn *c;
	int64_t version;
	int rc = connect_bare(s, true, &c, &version, d);

	if (rc)
		return rc;
	if (!version) {
		rc = make_tables(s, c, 0, d);
		if (!rc)
			rc = version_of(c, true, &version, d);
	}
	if (!rc)
		rc = grove__sql_judge_version(&s->base, version, d);
	close_conn(c);
	return rc;
}

int grove__mysql_upgrade(struct grove_store *st, unsigned *from, unsigned *to,
			 struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	unsigned answer_s = s->opt.answer_s;
	struct mysql_conn *c;
	int64_t version = 0;
	int rc;

	s->opt.answer_s = UPGRADE_S;
	rc = connect_bare(s, false, &c, &version, d);
	s->opt.answer_s = answer_s;
	if (rc)
		return rc;
	rc = grove__sql_judge_upgrade(&s->base, version, from, to, d);
	if (!rc && version < *to)
		rc = make_tables(s, c, *from, d);
	close_conn(c);
	return rc;
}
