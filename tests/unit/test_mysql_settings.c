/*
 * tests/unit/test_mysql_settings.c: grove gives the same results whatever the
 * administrator of a server has set for all sessions: acknowledged lines can be
 * read by another connection, and lists, copies, verifications, contexts and
 * searches are complete. Each variable that can be set for all sessions is tested
 * with two other values in turn, or with GROVE_TEST_LONG with all its values (the
 * ends of a range), and init_connect with statements that it may contain.
 *
 * tests/lib/mariadb starts the server and runs this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/mysql_world.h"

#include <ctype.h>
#include <grove.h>
#include "../lib/calls.h"

enum { SESSIONS = 9, SAID = 30 };

#define PROMPT(text) "{\"role\":\"user\",\"content\":\"" text "\"}"

static MYSQL *root;
static char home[512], url[256], empty_url[256];
static struct grove_buf context;   /* of the long session, as it has to be */
static unsigned rounds, wrong;

/* ------------------------------------------------------------------ a world */

static struct grove *open_grove(void)
{
	const char *const stores[] = { url };
	const struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .home = home, .cache = "",
					   .stores = stores, .nr_stores = 1 };
	struct grove *g;

	assert_int_equal(grove_open(&opt, &g), 0);
	return g;
}

static void make_session(struct grove *g, const char *id, unsigned messages)
{
	const struct grove_create_options opt = { .size = sizeof(opt), .flags = GROVE_CREATE_NOW, .id = id };
	struct grove_session *s;
	char text[64];

	assert_int_equal(grove_session_create(g, &opt, &s), 0);
	for (unsigned i = 0; i < messages; i++) {
		/* for a search, the same words at the same millisecond would be a copy */
		snprintf(text, sizeof(text), PROMPT("needle %u of %s"), i, id);
		assert_int_equal(grove_session_append(s, grove_str(text), NULL, NULL), 0);
	}
	grove_session_close(s);
}

static int take_context(struct grove *g, struct grove_buf *out)
{
	struct grove_session *s;
	int rc = grove_session_open(g, "long", GROVE_OPEN_READ, &s);

	if (!rc)
		rc = grove_session_context(s, NULL, grove_buf_sink(out));
	grove_session_close(s);
	return rc;
}

/*
 * A user who may do what grove needs in its databases, and nothing else: of one
 * who may do everything, init_connect asks nothing.
 */
static int make_world(void **state)
{
	struct grove *g;
	char id[16];

	(void)state;
	scratch_make(home, sizeof(home));
	root = raw_open(NULL);
	raw_run(root, "CREATE DATABASE settings");
	raw_run(root, "CREATE DATABASE elsewhere");
	raw_run(root, "CREATE USER plain@'127.0.0.1' IDENTIFIED BY 'pl4in'");
	raw_run(root, "GRANT ALL ON settings.* TO plain@'127.0.0.1'");
	raw_run(root, "GRANT ALL ON elsewhere.* TO plain@'127.0.0.1'");
	raw_run(root, "GRANT ALL ON made_anew.* TO plain@'127.0.0.1'");
	snprintf(url, sizeof(url), "mysql://plain:pl4in@127.0.0.1:%lu/settings", read_number("port"));
	snprintf(empty_url, sizeof(empty_url), "mysql://plain:pl4in@127.0.0.1:%lu/made_anew",
		 read_number("port"));
	g = open_grove();
	assert_int_equal(grove_store_init(g, url), 0);
	for (int i = 0; i < SESSIONS - 2; i++) {
		snprintf(id, sizeof(id), "many%d", i);
		make_session(g, id, 1);
	}
	make_session(g, "long", SAID);
	make_session(g, "growing", 1);
	assert_int_equal(take_context(g, &context), 0);
	grove_close(g);
	return 0;
}

static int remove_world(void **state)
{
	(void)state;
	grove_buf_release(&context);
	mysql_close(root);
	scratch_remove(home);
	return 0;
}

/* The first column of the first row as root sees it. */
static long long number(const char *sql)
{
	MYSQL_RES *res;
	MYSQL_ROW row;
	long long n;

	if (mysql_query(root, sql))
		fail_msg("%s: %s", sql, mysql_error(root));
	res = mysql_store_result(root);
	assert_non_null(res);
	row = mysql_fetch_row(res);
	n = row && row[0] ? atoll(row[0]) : -1;
	mysql_free_result(res);
	return n;
}

/* ------------------------------------------------------------------ answers */

/* What was found wrong under a setting: told, and counted. */
static void tell(const char *setting, struct grove *g, const char *what, long long got, long long want)
{
	struct grove_detail d;

	grove_error(g, &d);
	print_error("%s: %s: %lld, not %lld %s\n", setting, what, got, want, d.code ? d.message : "");
	wrong++;
}

static void expect(const char *setting, struct grove *g, const char *what, long long got, long long want)
{
	/* too little memory for anybody: the server says so, and so do we */
	if (!strncmp(setting, "MAX_SESSION_MEM_USED", 20) && got == GROVE_EACCESS)
		return;
	if (got != want)
		tell(setting, g, what, got, want);
}

/* How many of these ids another connection finds. */
static long long found(const char *const *ids, size_t nr)
{
	struct grove_buf sql = GROVE_BUF_INIT;
	long long n;

	assert_int_equal(grove__buf_add_str(&sql, "SELECT count(*) FROM settings.entries WHERE id IN ("), 0);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(grove__buf_addf(&sql, "%s'%s'", i ? "," : "", ids[i]), 0);
	assert_int_equal(grove__buf_add_str(&sql, ")"), 0);
	n = number(sql.ptr);
	grove__buf_release(&sql);
	return n;
}

/* Lines one by one, several at once, and a change that is none: all stored, or all refused. */
static void write_all(const char *setting, struct grove *g)
{
	enum { MANY = 3 };
	const struct grove_slice many[MANY] = {
		str("{\"type\":\"message\",\"message\":" PROMPT("one") "}"),
		str("{\"type\":\"message\",\"message\":" PROMPT("two") "}"),
		str("{\"type\":\"message\",\"message\":" PROMPT("three") "}"),
	};
	char kept[2 + MANY][64];
	const char *ids[MANY], *id, *all[2 + MANY];
	struct grove_session *s;
	struct grove_lease lease = { .size = sizeof(lease) };
	size_t nr = 0;
	int rc = grove_session_open(g, "growing", GROVE_OPEN_WRITE, &s);

	expect(setting, g, "open", rc, 0);
	for (int i = 0; i < 2 && !rc; i++) {
		rc = grove_session_append(s, grove_str(PROMPT("by itself")), NULL, INTO(&id));
		expect(setting, g, "append", rc, 0);
		if (!rc) {
			snprintf(kept[nr++], sizeof(kept[0]), "%s", id);
			expect(setting, g, "an acknowledged line", found(&id, 1), 1);
			/* a transaction: what follows it stands alone again */
			expect(setting, g, "set a leaf", grove_session_set_leaf(s, kept[0], NULL, NULL), 0);
		}
	}
	if (!rc)
		expect(setting, g, "lease", grove_session_lease_take(s, "me", 60000, &lease), 0);
	if (!rc)
		expect(setting, g, "until", lease.until > number("SELECT unix_timestamp() * 1000") + 50000, 1);
	if (!rc) {
		rc = grove_session_append_many(s, many, MANY, NULL, INTO(ids));
		expect(setting, g, "append several", rc, 0);
		for (int i = 0; i < MANY && !rc; i++)
			snprintf(kept[nr++], sizeof(kept[0]), "%s", ids[i]);
	}
	if (!rc)
		expect(setting, g, "give back", grove_session_lease_release(s), 0);
	/* the handle and its connections are still there: nothing of it is in the air */
	for (size_t i = 0; i < nr; i++)
		all[i] = kept[i];
	if (nr)
		expect(setting, g, "acknowledged lines", found(all, nr), (long long)nr);
	grove_session_close(s);
}

static int ignore_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return 0;
}

static void read_all(const char *setting, struct grove *g)
{
	const struct grove_list_options every = { .size = sizeof(every), .flags = GROVE_LIST_ALL };
	const struct grove_search_options most = { .size = sizeof(most), .limit = 1000 };
	struct grove_archive_result copied = { .size = sizeof(copied) };
	struct grove_check_result checked = { .size = sizeof(checked) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_search *search = NULL;
	struct grove_list *list = NULL;
	struct grove_hits *hits = NULL;
	char copy[512];
	int rc = grove_list(g, &every, &list);

	expect(setting, g, "list", rc ? rc : (long long)grove_list_count(list), SESSIONS);
	grove_list_free(list);
	rc = take_context(g, &b);
	expect(setting, g, "context", rc, 0);
	if (!rc && (b.len != context.len || memcmp(b.ptr, context.ptr, b.len)))
		tell(setting, g, "bytes of the context", (long long)b.len, (long long)context.len);
	rc = grove_store_verify(g, url, ignore_problem, NULL, &checked);
	expect(setting, g, "verify", rc ? rc : (long long)checked.files, SESSIONS);
	expect(setting, g, "problems", (long long)checked.problems, 0);
	scratch_make(copy, sizeof(copy));
	rc = grove_store_copy(g, url, copy, NULL, NULL, &copied);
	expect(setting, g, "copy", rc ? rc : (long long)copied.added, SESSIONS);
	scratch_remove(copy);
	rc = grove_search_open(g, GROVE_SEARCH_NO_INDEX, &search);
	if (!rc)
		rc = grove_search_run(search, "needle", &most, &hits);
	expect(setting, g, "search", rc ? rc : (long long)grove_hits_count(hits), SAID + SESSIONS - 1);
	grove_hits_free(hits);
	grove_search_close(search);
	grove_buf_release(&b);
}

/* Tables are made under it, too; or none are, where the server wants them of another kind. */
static void make_tables(const char *setting, struct grove *g)
{
	bool refused = !strncmp(setting, "ENFORCE_STORAGE_ENGINE", 22);

	raw_run(root, "DROP DATABASE IF EXISTS made_anew");
	expect(setting, g, "init", grove_store_init(g, empty_url), refused ? GROVE_EACCESS : 0);
	if (refused)
		expect(setting, g, "no tables", number("SELECT count(*) FROM information_schema.tables "
						       "WHERE table_schema = 'made_anew'"), 0);
	else
		expect(setting, g, "tables as always", number(
			"SELECT count(*) FROM information_schema.tables a, information_schema.tables b "
			"WHERE a.table_schema = 'settings' AND b.table_schema = 'made_anew' "
			"AND a.table_name = b.table_name AND a.engine = b.engine "
			"AND a.row_format = b.row_format AND a.table_collation = b.table_collation"), 6);
}

static void same_answers(const char *setting, bool tables)
{
	struct grove *g = open_grove();

	rounds++;
	write_all(setting, g);
	read_all(setting, g);
	if (tables)
		make_tables(setting, g);
	grove_close(g);
}

/* ---------------------------------------------------------------- variables */

struct variable {
	unsigned tried;
	char name[80], type[32], now[4096], min[40], max[40], values[4096];
};

/* Is it for the tables that are made rather than for what is in them? */
static bool shapes_tables(const char *name)
{
	static const char *const parts[] = { "ENGINE", "ALTER", "MODE", "CHARACTER_SET", "COLLATION",
					     "INNODB", "IF_EXISTS", "QUOTE", "VERSIONING", "TIMESTAMP",
					     "CHECKS" };

	for (size_t i = 0; i < ARRAY(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static bool is_text(const struct variable *v)
{
	return !strcmp(v->type, "ENUM") || !strcmp(v->type, "SET") || !strcmp(v->type, "FLAGSET") ||
	       !strcmp(v->type, "VARCHAR") || !strcmp(v->type, "BOOLEAN");
}

static bool set_global(const struct variable *v, const char *value)
{
	char sql[5000];
	bool word = !strcmp(value, "NULL") || !strcmp(value, "DEFAULT");
	const char *quote = is_text(v) && !word ? "'" : "";

	snprintf(sql, sizeof(sql), "SET GLOBAL %s = %s%s%s", v->name, quote, value, quote);
	return !mysql_query(root, sql);
}

/* Is it as it was? A value may mean the same, or be too large to be taken as it is. */
static bool is_unchanged(const struct variable *v)
{
	char sql[8600], now[2 * sizeof(v->now) + 1];

	mysql_real_escape_string(root, now, v->now, strlen(v->now));
	snprintf(sql, sizeof(sql), "SELECT coalesce(global_value, 'NULL') = '%s' FROM "
		 "information_schema.system_variables WHERE variable_name = '%s'", now, v->name);
	return number(sql) == 1;
}

static void with(struct variable *v, const char *value)
{
	char setting[256];

	if ((v->tried == 2 && !getenv("GROVE_TEST_LONG")) || !set_global(v, value) || is_unchanged(v))
		return;
	snprintf(setting, sizeof(setting), "%s = %.150s", v->name, value);
	v->tried++;
	same_answers(setting, shapes_tables(v->name));
	/* an engine that was not named has no name that could be set */
	if (!set_global(v, v->now) && !set_global(v, "NULL"))
		fail_msg("%s cannot be set back to %s: %s", v->name, v->now, mysql_error(root));
}

static void with_each(struct variable *v)
{
	char list[4096], value[256], *save = NULL;

	snprintf(list, sizeof(list), "%s", v->values);
	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (strcmp(v->type, "FLAGSET")) {
			with(v, p);
			continue;
		}
		snprintf(value, sizeof(value), "%s=on", p);
		with(v, value);
		snprintf(value, sizeof(value), "%s=off", p);
		with(v, value);
	}
	if (!strcmp(v->type, "SET"))
		with(v, v->values);
}

/* Of those whose values are not listed. */
static const char *const *known_values(const char *name)
{
	static const struct {
		const char *part;
		const char *values[8];
	} known[] = {
		{ "CHARACTER_SET", { "latin1", "binary", "ucs2", "utf16", "utf8mb3", "cp932", "swe7" } },
		{ "COLLATION", { "latin1_general_cs", "binary", "ucs2_general_ci", "utf32_bin",
				 "utf8mb4_nopad_bin" } },
		{ "ENGINE", { "MyISAM", "MEMORY", "Aria" } },
		{ "TIME_ZONE", { "+14:00", "-12:00" } },
		{ "LC_", { "de_DE", "ja_JP" } },
		{ "ASOF", { "2001-01-01 00:00:00" } },
		{ "TRACK_SYSTEM", { "*" } },
		{ "TMPDIR", { "/tmp" } },
	};

	for (size_t i = 0; i < ARRAY(known); i++)
		if (strstr(name, known[i].part))
			return known[i].values;
	return NULL;
}

static void walk(struct variable *v)
{
	const char *const *known = known_values(v->name);

	if (known)
		for (; *known; known++)
			with(v, *known);
	else if (!strcmp(v->type, "BOOLEAN"))
		with(v, strcmp(v->now, "ON") ? "ON" : "OFF");
	else if (*v->values)
		with_each(v);
	else if (*v->min) {
		with(v, v->min);
		with(v, v->max);
		with(v, !strcmp(v->min, "0") ? "1" : "2");
	}
}

static void fill(char *out, size_t cap, const char *from)
{
	snprintf(out, cap, "%s", from ? from : "");
}

static struct variable *all_variables(size_t *nr)
{
	struct variable *list;
	MYSQL_RES *res;
	MYSQL_ROW row;

	raw_run(root, "SET SESSION group_concat_max_len = 1000000");
	if (mysql_query(root, "SELECT variable_name, variable_type, coalesce(global_value, 'NULL'), "
			      "numeric_min_value, numeric_max_value, enum_value_list "
			      "FROM information_schema.system_variables "
			      "WHERE variable_scope = 'SESSION' AND read_only = 'NO' ORDER BY variable_name"))
		fail_msg("%s", mysql_error(root));
	res = mysql_store_result(root);
	assert_non_null(res);
	list = calloc((size_t)mysql_num_rows(res), sizeof(*list));
	assert_non_null(list);
	for (*nr = 0; (row = mysql_fetch_row(res)); ++*nr) {
		struct variable *v = &list[*nr];

		fill(v->name, sizeof(v->name), row[0]);
		fill(v->type, sizeof(v->type), row[1]);
		fill(v->now, sizeof(v->now), row[2]);
		fill(v->min, sizeof(v->min), row[3]);
		fill(v->max, sizeof(v->max), row[4]);
		fill(v->values, sizeof(v->values), row[5]);
	}
	mysql_free_result(res);
	return list;
}

static void the_same_answers_whatever_is_set_for_all_sessions(void **state)
{
	const char *only = getenv("GROVE_TEST_VARIABLE");
	size_t nr;
	struct variable *list = all_variables(&nr);

	(void)state;
	rounds = wrong = 0;
	same_answers("as it was", true);
	for (size_t i = 0; i < nr; i++)
		if (!only || strcasestr(list[i].name, only))
			walk(&list[i]);
	free(list);
	print_message("# %zu variables, %u settings\n", nr, rounds);
	assert_int_equal(wrong, 0);
}

static void the_same_answers_whatever_a_connection_begins_with(void **state)
{
	static const char *const statements[] = {
		"START TRANSACTION",
		"START TRANSACTION READ ONLY",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT",
		"SET autocommit = 0",
		"SET autocommit = 0; SELECT count(*) FROM settings.sessions",
		"SET completion_type = CHAIN",
		"SET TRANSACTION READ ONLY",
		"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
		"SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
		"SET NAMES latin1",
		"SET character_set_results = ucs2, collation_connection = ucs2_bin",
		"SET timestamp = 1000000000",
		"SET time_zone = '-11:00'",
		"SET insert_id = 7, last_insert_id = 7",
		"SET sql_select_limit = 1",
		"SET max_statement_time = 0.000001",
		"USE elsewhere",
		"LOCK TABLES settings.sessions READ",
		"LOCK TABLES settings.sessions WRITE, settings.entries WRITE",
		"HANDLER settings.sessions OPEN",
		"PREPARE p FROM 'SELECT 1'",
		/* a host that takes a second to begin is one that does not answer */
		"SELECT get_lock('a lock', 0.3)",
	};
	char sql[512], name[256];

	(void)state;
	rounds = wrong = 0;
	for (size_t i = 0; i < ARRAY(statements); i++) {
		snprintf(name, sizeof(name), "init_connect: %s", statements[i]);
		snprintf(sql, sizeof(sql), "SET GLOBAL init_connect = \"%s\"", statements[i]);
		raw_run(root, sql);
		same_answers(name, true);
		raw_run(root, "SET GLOBAL init_connect = ''");
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_answers_whatever_is_set_for_all_sessions),
		cmocka_unit_test(the_same_answers_whatever_a_connection_begins_with),
	};

	scratch_prefer_memory();
	return find_server() ? cmocka_run_group_tests_name("mysql_settings", tests, make_world, remove_world)
			     : 77;
}
