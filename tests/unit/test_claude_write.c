/*
 * tests/unit/test_claude_write.c: composing, planning and copying the lines of
 * Claude Code.
 *
 * Lines are written with ' instead of ". All tests of an area are repeated with
 * each of their allocations failing in turn.
 */
#include "claude_world.h"

#include "dialect/claude_write.h"

/* ------------------------------------------------------------------- faults */

/* The linker leads the library's allocations here (--wrap). */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long countdown = -1;      /* calls until one fails; below 0: none does */

static int due(void)
{
	return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return due() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return due() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return due() ? NULL : __real_realloc(p, n);
}

/* `work` until it has all the memory it wants: before that it says so. */
static void starve(int (*work)(void))
{
	int rc = GROVE_ENOMEM;

	for (long n = 0; rc; n++) {
		assert_true(n < 10000);
		countdown = n;
		rc = work();
		countdown = -1;
		assert_true(rc == 0 || rc == GROVE_ENOMEM);
	}
}

/* -------------------------------------------------------------------- lines */

static const struct grove__about about = {
	.session = "S", .cwd = "/w", .version = "2.1", .branch = "main", .entrypoint = "grove",
};
#define TAIL "'userType':'external','entrypoint':'grove','cwd':'/w','sessionId':'S','version':'2.1','gitBranch':'main'"

struct composed {
	struct world w;
	struct grove__input in;
	struct grove_buf out, target;
	struct grove_detail d;
	int rc;
};

static struct grove__place place(const char *parent)
{
	return (struct grove__place){ .id = { "U", 1 },
				      .parent = { parent, parent ? strlen(parent) : 0 },
				      .time = 1000,
				      .about = &about };
}

static void compose_at(struct composed *c, const char *json, struct grove__place at)
{
	struct grove__json_line l;
	struct grove__claude_row row;
	const char *line;

	memset(c, 0, sizeof(*c));
	world_init(&c->w);
	line = world_scan(&c->w, grove__slice_str(quoted(&c->w, json)), &l, &row);
	grove__claude_input(&l, line, &c->in);
	c->rc = grove__claude_compose(&c->in, &at, grove__slice(NULL, 0), &c->out, &c->target, &c->d);
}

static void composed_release(struct composed *c)
{
	grove__buf_release(&c->out);
	grove__buf_release(&c->target);
	grove__fail_clear(&c->d);
	world_release(&c->w);
}

static void expect_line(const char *json, struct grove__place at, const char *line)
{
	struct composed c;

	compose_at(&c, json, at);
	assert_int_equal(c.rc, 0);
	assert_string_equal(c.out.ptr, quoted(&c.w, line));
	composed_release(&c);
}

static void expect_refused(const char *json, const char *why)
{
	struct composed c;

	compose_at(&c, json, place("P"));
	assert_int_equal(c.rc, GROVE_EINVAL);
	assert_non_null(strstr(c.d.message, why));
	assert_int_equal(c.out.len, 0);
	composed_release(&c);
}

#define USER "{'parentUuid':'P','isSidechain':false,'type':'user','message':{'role':'user','content':'hi'}," \
	     "'uuid':'U','timestamp':'1970-01-01T00:00:01.000Z',"

static void a_bare_message_becomes_a_record(void **state)
{
	(void)state;
	expect_line("{'role':'user','content':'hi'}", place("P"), USER TAIL "}");
	expect_line("{ 'role' : 'user', 'content':'h\\u0069' }", place("P"), USER TAIL "}");
	expect_line("{'role':'user','content':'hi'}", place(NULL),
		    "{'parentUuid':null,'isSidechain':false,'type':'user','message':{'role':'user','content':'hi'},"
		    "'uuid':'U','timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
	/* an answer of the API has a type, which is not a record's */
	expect_line("{'id':'m','type':'message','role':'assistant','content':[]}", place("P"),
		    "{'parentUuid':'P','isSidechain':false,'type':'assistant',"
		    "'message':{'id':'m','type':'message','role':'assistant','content':[]},"
		    "'uuid':'U','timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
}

static void what_else_a_record_says_is_kept(void **state)
{
	(void)state;
	expect_line("{'permissionMode':'plan','type':'user','x':[1.0, {'b':2 , 'a':1}],'message':{'role':'user','content':'hi'}}",
		    place("P"), USER "'permissionMode':'plan','x':[1,{'b':2,'a':1}]," TAIL "}");
	expect_line("{'type':'assistant','requestId':'r','message':{'role':'assistant','content':[]},'madeBy':'model'}",
		    place("P"),
		    "{'parentUuid':'P','isSidechain':false,'type':'assistant','message':{'role':'assistant','content':[]},"
		    "'requestId':'r','madeBy':'model','uuid':'U','timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
	expect_line("{'type':'attachment','attachment':{'type':'file'}}", place("P"),
		    "{'parentUuid':'P','isSidechain':false,'type':'attachment','attachment':{'type':'file'},"
		    "'uuid':'U','timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
	expect_line("{'type':'system','subtype':'informational','content':'c'}", place("P"),
		    "{'parentUuid':'P','isSidechain':false,'type':'system','subtype':'informational','content':'c',"
		    "'uuid':'U','timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
}

static void what_a_record_says_of_itself_counts(void **state)
{
	struct grove__place at = place("P");

	(void)state;
	expect_line("{'type':'user','gitBranch':'dev','isSidechain':true,'cwd':'/x','slug':'a-b-c','agentId':'a1',"
		    "'message':{'role':'user','content':'hi'}}",
		    place("P"),
		    "{'parentUuid':'P','isSidechain':true,'agentId':'a1','type':'user','message':{'role':'user','content':'hi'},"
		    "'uuid':'U','timestamp':'1970-01-01T00:00:01.000Z','userType':'external','entrypoint':'grove',"
		    "'cwd':'/x','sessionId':'S','version':'2.1','gitBranch':'dev','slug':'a-b-c'}");
	at.stamp = grove__slice_str("\"then\"");
	expect_line("{'type':'user','slug':'x-y-z','agentId':'a2','promptId':'p','agentName':'n','teamName':'t',"
		    "'message':{'role':'user','content':'hi'}}", at,
		    "{'parentUuid':'P','isSidechain':false,'teamName':'t','agentName':'n','promptId':'p','agentId':'a2',"
		    "'type':'user','message':{'role':'user','content':'hi'},'uuid':'U','timestamp':'then'," TAIL
		    ",'slug':'x-y-z'}");
	at = place("P");
	at.about = NULL;
	expect_line("{'role':'user','content':'hi'}", at, USER "'userType':'external'}");
}

static void a_boundary_has_a_logical_parent(void **state)
{
	(void)state;
	expect_line("{'type':'system','subtype':'compact_boundary','compactMetadata':{'trigger':'auto'}}", place("P"),
		    "{'parentUuid':null,'logicalParentUuid':'P','isSidechain':false,'type':'system',"
		    "'subtype':'compact_boundary','compactMetadata':{'trigger':'auto'},'uuid':'U',"
		    "'timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
	expect_line("{'type':'system','subtype':'compact_boundary','logicalParentUuid':'Q'}", place("P"),
		    "{'parentUuid':null,'logicalParentUuid':'Q','isSidechain':false,'type':'system',"
		    "'subtype':'compact_boundary','uuid':'U','timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
	expect_line("{'type':'system','subtype':'compact_boundary'}", place(NULL),
		    "{'parentUuid':null,'isSidechain':false,'type':'system','subtype':'compact_boundary','uuid':'U',"
		    "'timestamp':'1970-01-01T00:00:01.000Z'," TAIL "}");
}

static void a_result_hangs_below_its_call(void **state)
{
	static const char json[] = "{'type':'user','sourceToolAssistantUUID':'C',%s'message':{'role':'user','content':[]}}";
	struct grove_buf b = GROVE_BUF_INIT;
	struct composed c;

	(void)state;
	grove__buf_addf(&b, json, "");
	compose_at(&c, b.ptr, place("P"));
	assert_int_equal(c.rc, 0);
	assert_string_equal(c.target.ptr, "C");
	assert_non_null(strstr(c.out.ptr, "{\"parentUuid\":\"C\","));
	assert_non_null(strstr(c.out.ptr, ",\"sourceToolAssistantUUID\":\"C\","));
	composed_release(&c);
	/* unless it was said where it belongs */
	grove__buf_clear(&b);
	grove__buf_addf(&b, json, "'parentUuid':'P',");
	compose_at(&c, b.ptr, place("P"));
	assert_int_equal(c.rc, 0);
	assert_int_equal(c.target.len, 0);
	assert_non_null(strstr(c.out.ptr, "{\"parentUuid\":\"P\","));
	composed_release(&c);
	grove__buf_release(&b);
}

static void metadata_begins_with_its_type(void **state)
{
	(void)state;
	expect_line("{'customTitle':'T','type':'custom-title'}", place("P"),
		    "{'type':'custom-title','customTitle':'T','sessionId':'S'}");
	expect_line("{'type':'tag','sessionId':'other','tag':''}", place("P"),
		    "{'type':'tag','sessionId':'other','tag':''}");
	expect_line("{'type':'new-thing','uuid':'x','parentUuid':null,'n':1e2}", place("P"),
		    "{'type':'new-thing','uuid':'x','parentUuid':null,'n':100,'sessionId':'S'}");
	expect_line("{'type':'mode'}", place(NULL), "{'type':'mode','sessionId':'S'}");
}

static void what_no_reader_could_use_is_refused(void **state)
{
	(void)state;
	expect_refused("{'type':'progress','uuid':'x','data':{}}", "ephemeral tool progress is not stored");
	expect_refused("{'content':'x'}", "a type, or a message with a role");
	expect_refused("[1]", "a type, or a message with a role");
	expect_refused("{'type':5}", "must be a string");
	expect_refused("{'role':'system','content':'x'}", "must have the role user or assistant");
	expect_refused("{'type':'user'}", "must have a message");
	expect_refused("{'type':'user','message':{'content':'x'}}", "must have a message");
	expect_refused("{'type':'user','message':{'role':'assistant','content':'x'}}", "must match its record");
	expect_refused("{'type':'attachment'}", "must have an attachment");
}

static void inputs_have_a_kind(void **state)
{
	static const struct {
		const char *json;
		enum grove_kind kind;
		int role;
	} cases[] = {
		{ "{'role':'user','content':'x'}", GROVE_KIND_MESSAGE, GROVE_ROLE_USER },
		{ "{'role':'user','content':[{'type':'tool_result'}]}", GROVE_KIND_MESSAGE, GROVE_ROLE_TOOL_RESULT },
		{ "{'role':'assistant','content':[]}", GROVE_KIND_MESSAGE, GROVE_ROLE_ASSISTANT },
		{ "{'type':'message','role':'assistant'}", GROVE_KIND_MESSAGE, GROVE_ROLE_ASSISTANT },
		{ "{'role':'other'}", GROVE_KIND_MESSAGE, GROVE_ROLE_OTHER },
		{ "{'type':'user'}", GROVE_KIND_MESSAGE, -1 },
		{ "{'type':'assistant'}", GROVE_KIND_MESSAGE, -1 },
		{ "{'type':'attachment'}", GROVE_KIND_ATTACHMENT, -1 },
		{ "{'type':'system'}", GROVE_KIND_SYSTEM, -1 },
		{ "{'type':'system','subtype':'compact_boundary'}", GROVE_KIND_COMPACTION, -1 },
		{ "{'type':'progress'}", GROVE_KIND_PROGRESS, -1 },
		{ "{'type':'tag','role':'user'}", GROVE_KIND_META, -1 },
	};
	struct composed c;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum grove_role role = GROVE_ROLE_NONE;

		compose_at(&c, cases[i].json, place(NULL));
		assert_int_equal(grove__claude_input_kind(&c.in), cases[i].kind);
		assert_int_equal(grove__claude_bare(&c.in, &role), cases[i].role >= 0);
		if (cases[i].role >= 0)
			assert_int_equal(role, cases[i].role);
		composed_release(&c);
	}
	compose_at(&c, "{'type':'user','uuid':'a','parentUuid':null,'timestamp':'t','message':{'role':'user'}}",
		   place(NULL));
	assert_true(grove__slice_is(c.in.id, "\"a\""));
	assert_true(grove__slice_is(c.in.parent, "null"));
	assert_true(grove__slice_is(c.in.time, "\"t\""));
	composed_release(&c);
	assert_true(grove__claude_starts_file(GROVE_KIND_MESSAGE, GROVE_ROLE_TOOL_RESULT));
	assert_false(grove__claude_starts_file(GROVE_KIND_META, GROVE_ROLE_NONE));
	assert_false(grove__claude_starts_file(GROVE_KIND_ATTACHMENT, GROVE_ROLE_NONE));
}

static void expect_text(struct grove_buf *b, const char *text)
{
	struct world w;

	world_init(&w);
	assert_string_equal(b->ptr, quoted(&w, text));
	grove__buf_clear(b);
	world_release(&w);
}

static void an_entry_is_spelled_from_its_parts_or_refused(void **state)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_NAME, .name = { .text = " New Title " } };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_detail d = { 0 };

	(void)state;
	assert_int_equal(grove__claude_spell(&spec, &b, &d), 0);
	expect_text(&b, "{'type':'custom-title','customTitle':'New Title'}");
	spec = (struct grove__entry_spec){ .kind = GROVE_KIND_OTHER, .leaf = { "u" } };
	assert_int_equal(grove__claude_spell(&spec, &b, &d), 0);
	expect_text(&b, "{'type':'last-prompt','leafUuid':'u','explicit':true}");
	spec.leaf.id = GROVE_ROOT;
	assert_int_equal(grove__claude_spell(&spec, &b, &d), 0);
	expect_text(&b, "{'type':'last-prompt','leafUuid':null,'explicit':true}");
	spec.kind = GROVE_KIND_LABEL;
	assert_int_equal(grove__claude_spell(&spec, &b, &d), GROVE_ENOTSUP);
	assert_string_equal(d.message, "Claude Code does not support labels");
	for (spec.kind = GROVE_KIND_MESSAGE; spec.kind <= GROVE_KIND_META; spec.kind++)
		if (spec.kind != GROVE_KIND_NAME)
			assert_int_equal(grove__claude_spell(&spec, &b, NULL), GROVE_ENOTSUP);
	assert_int_equal(b.len, 0);
	grove__fail_clear(&d);
	grove__buf_release(&b);
}

static void metadata_is_spelled_without_the_session(void **state)
{
	struct grove__entry_spec title = { .kind = GROVE_KIND_NAME, .name.text = " T\"t " };
	struct grove__entry_spec leaf = { .kind = GROVE_KIND_OTHER, .leaf.id = "u" };
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__claude_spell(&title, &b, NULL), 0);
	expect_text(&b, "{'type':'custom-title','customTitle':'T\\'t'}");
	assert_int_equal(grove__claude_spell(&leaf, &b, NULL), 0);
	expect_text(&b, "{'type':'last-prompt','leafUuid':'u','explicit':true}");
	leaf.leaf.id = GROVE_ROOT;
	assert_int_equal(grove__claude_spell(&leaf, &b, NULL), 0);
	expect_text(&b, "{'type':'last-prompt','leafUuid':null,'explicit':true}");
	assert_int_equal(grove__claude_relocated("/w/\"x", &b), 0);
	expect_text(&b, "{'type':'relocated','relocatedCwd':'/w/\\'x'}");
	grove__buf_release(&b);
}

static void expect_relinked(const char *line, const char *parent, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct world w;

	world_init(&w);
	assert_int_equal(grove__claude_relink(grove__slice_str(quoted(&w, line)),
					      grove__slice(parent, parent ? strlen(parent) : 0), NULL, &b), 0);
	expect_text(&b, want);
	grove__buf_release(&b);
	world_release(&w);
}

static void a_child_of_a_removed_record_changes_its_parent_only(void **state)
{
	(void)state;
	expect_relinked("{'parentUuid' : 'gone', 'n':1.0}", "up", "{'parentUuid' : 'up', 'n':1.0}");
	expect_relinked("{'parentUuid':'gone'}", NULL, "{'parentUuid':null}");
	expect_relinked("{'parentUuid':null,'logicalParentUuid':'gone'}", "up",
			"{'parentUuid':null,'logicalParentUuid':'up'}");
}

/* -------------------------------------------------------------------- split */

static int collect(void *payload, struct grove_slice json)
{
	struct grove_buf *b = payload;
	int rc = grove__buf_add_slice(b, json);

	return rc ? rc : grove__buf_add_char(b, '\n');
}

static const uint8_t dice[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static void expect_split(const char *json, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct world w;

	world_init(&w);
	assert_int_equal(grove__claude_split(grove__slice_str(quoted(&w, json)), dice, collect, &b), 0);
	expect_text(&b, want);
	grove__buf_release(&b);
	world_release(&w);
}

static void a_reply_is_one_record_a_block(void **state)
{
	(void)state;
	expect_split("{'id':'m','role':'assistant','content':[{'a':1}, {'b':2},{'c':3}],'usage':{'n':1}}",
		     "{'id':'m','role':'assistant','content':[{'a':1}],'usage':{'n':1}}\n"
		     "{'id':'m','role':'assistant','content':[{'b':2}],'usage':{'n':1}}\n"
		     "{'id':'m','role':'assistant','content':[{'c':3}],'usage':{'n':1}}\n");
	/* the parent is the first one's, the uuid the last one's */
	expect_split("{'type':'assistant','uuid':'u','parentUuid':'p','requestId':'r','message':{'role':'assistant','id':'m',"
		     "'content':[1,2]}}",
		     "{'type':'assistant','parentUuid':'p','requestId':'r','message':{'role':'assistant','id':'m','content':[1]}}\n"
		     "{'type':'assistant','uuid':'u','requestId':'r','message':{'role':'assistant','id':'m','content':[2]}}\n");
	/* lines may be anywhere between tokens */
	expect_split("\n{'id':'m',\n'role':'assistant','content':[1,\n2]}\n",
		     "{'id':'m',\n'role':'assistant','content':[1]}\n{'id':'m',\n'role':'assistant','content':[2]}\n");
}

static void blocks_of_a_reply_share_an_id_that_is_made_up(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char *one, *two;

	(void)state;
	assert_int_equal(grove__claude_split(grove__slice_str("{\"role\":\"assistant\",\"content\":[1,2]}"), dice,
					     collect, &b), 0);
	one = strstr(b.ptr, "\"id\":\"msg_");
	two = strstr(one + 1, "\"id\":\"msg_");
	assert_non_null(two);
	assert_int_equal(strspn(one + 10, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 22);
	assert_memory_equal(one, two, 34);
	grove__buf_release(&b);
}

static void what_is_no_such_reply_is_handed_on(void **state)
{
	static const char *const same[] = {
		"{'role':'assistant','content':[1]}", "{'role':'assistant','content':'text'}",
		"{'role':'assistant','content':[]}",  "{'role':'user','content':[1,2]}",
		"{'type':'user','message':{'role':'user','content':[1,2]}}",
		"{'type':'tag','role':'assistant','content':[1,2]}",
		"[1,2]", "", "{bad", "{'role':'assistant','content':[1,2]} x", "5",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct grove_buf b = GROVE_BUF_INIT;

		grove__buf_addf(&b, "%s\n", same[i]);
		expect_split(same[i], b.ptr);
		grove__buf_release(&b);
	}
}

static int stop(void *payload, struct grove_slice json)
{
	(void)json;
	++*(int *)payload;
	return 7;
}

static void who_asks_may_stop(void **state)
{
	int calls = 0;

	(void)state;
	assert_int_equal(grove__claude_split(grove__slice_str("{\"role\":\"assistant\",\"content\":[1,2]}"), dice,
					     stop, &calls), 7);
	assert_int_equal(calls, 1);
}

/* --------------------------------------------------------------------- fork */

/* A source: lines with ' for ", and what is known of their parents. */
struct source {
	struct world w;
	struct grove__claude_fork f;
	const char *const *lines;
	size_t nr;
	uint8_t next;
	bool lost;               /* asking for parents fails */
	unsigned asked;
};

static int count_up(void *payload, uint8_t out[16])
{
	struct source *s = payload;

	memset(out, 0, 16);
	out[15] = ++s->next;
	return 0;
}

static int ask_parent(void *payload, struct grove_slice uuid, struct grove_slice *out)
{
	struct source *s = payload;
	uint32_t row = grove__claude_rows_find(&s->w.rows, uuid);
	const struct grove__claude_packed *p;

	s->asked++;
	if (s->lost)
		return GROVE_EIO;
	if (row == CLAUDE_NONE)
		return 1;
	p = &s->w.rows.rows[row];
	*out = p->parent_is == PARENT_NAMED ? grove__claude_name(&s->w.rows, p->parent) : grove__slice(NULL, 0);
	return 0;
}

/* `only`: the uuids that are copied, a letter each; NULL: all. */
static int fork_open(struct source *s, const char *const *lines, size_t nr, const char *only)
{
	long left = countdown;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	s->lines = lines;
	s->nr = nr;
	/* the reading side has tests of its own */
	countdown = -1;
	world_init(&s->w);
	world_fill(&s->w, lines, nr);
	s->f = (struct grove__claude_fork){ .from = "OLD", .to = "NEW", .random = count_up, .random_payload = s,
					    .parent = ask_parent, .parent_payload = s };
	grove__claude_fork_init(&s->f, 42);
	countdown = left;
	for (uint32_t i = 0; i < s->w.rows.nr && !rc; i++) {
		struct grove__claude_row row = { .class = s->w.rows.rows[i].class, .flags = s->w.rows.rows[i].flags,
						 .uuid = grove__claude_rows_uuid(&s->w.rows, i) };

		if (!only || (row.uuid.len && strchr(only, *row.uuid.ptr)))
			rc = grove__claude_fork_add(&s->f, &row);
		rc = rc == 1 ? 0 : rc;
	}
	return rc;
}

static void fork_close(struct source *s)
{
	grove__claude_fork_release(&s->f);
	world_release(&s->w);
}

static int fork_line(struct source *s, const char *line, bool last, struct grove_buf *out)
{
	return grove__claude_fork_line(&s->f, grove__slice_str(line), grove__slice(NULL, 0), last, 1000, out);
}

/* Copies as "uuid<parent uuid<parent …", fresh uuids by their number. */
static void expect_copies(const char *const *lines, size_t nr, const char *only, const char *want)
{
	struct grove_buf line = GROVE_BUF_INIT, shown = GROVE_BUF_INIT;
	struct source s;

	assert_int_equal(fork_open(&s, lines, nr, only), 0);
	for (size_t i = 0; i < nr; i++) {
		int rc;

		grove__buf_clear(&line);
		rc = fork_line(&s, quoted(&s.w, lines[i]), false, &line);
		assert_true(rc >= 0);
		if (rc)
			continue;
		for (int k = 0; k < 2; k++) {
			struct grove_slice v = grove__json_get(grove__buf_slice(&line), k ? "parentUuid" : "uuid");
			char id[64];

			snprintf(id, sizeof(id), "%.*s", (int)v.len, v.ptr);
			grove__buf_add_str(&shown, k ? "<" : shown.len ? " " : "");
			if (strlen(id) == 38)
				grove__buf_addf(&shown, "%lu", strtoul(id + 25, NULL, 16));
			else
				grove__buf_add_str(&shown, id);
		}
	}
	assert_string_equal(shown.ptr ? shown.ptr : "", want);
	grove__buf_release(&line);
	grove__buf_release(&shown);
	fork_close(&s);
}

#define NR(lines) (sizeof(lines) / sizeof(*(lines)))
#define REC(id, up) "{'parentUuid':" up ",'isSidechain':false,'type':'user','uuid':'" id "'}"
#define PROGRESS(id, up) "{'parentUuid':" up ",'type':'progress','uuid':'" id "'}"
#define FRESH(n) "00000000-0000-4000-8000-0000000000" n

static void a_copy_changes_what_it_must(void **state)
{
	static const char *const lines[] = {
		"{'parentUuid':null,'isSidechain':false,'type':'user','message':{ 'role':'user','n':1.0},'uuid':'a',"
		"'timestamp':'t','teamName':'t','agentName':'n','sessionKind':'daemon','slug':'s','sessionId':'OLD',"
		"'sourceToolAssistantUUID':'x','version':'v'}",
		"{'uuid':'b','parentUuid':'a','type':'assistant','forkedFrom':{'sessionId':'older'},'timestamp':'t'}",
		"{'uuid':'c','type':'system'}",
	};
	struct grove_buf b = GROVE_BUF_INIT;
	struct source s;

	(void)state;
	assert_int_equal(fork_open(&s, lines, NR(lines), NULL), 0);
	assert_int_equal(fork_line(&s, quoted(&s.w, lines[0]), false, &b), 0);
	expect_text(&b, "{'parentUuid':null,'isSidechain':false,'type':'user','message':{ 'role':'user','n':1.0},"
			"'uuid':'" FRESH("01") "','timestamp':'t','sessionId':'NEW','version':'v',"
			"'forkedFrom':{'sessionId':'OLD','messageUuid':'a'}}");
	assert_int_equal(fork_line(&s, quoted(&s.w, lines[1]), true, &b), 0);
	expect_text(&b, "{'uuid':'" FRESH("02") "','parentUuid':'" FRESH("01") "','type':'assistant',"
			"'forkedFrom':{'sessionId':'OLD','messageUuid':'b'},'timestamp':'1970-01-01T00:00:01.000Z',"
			"'sessionId':'NEW','isSidechain':false,'requestSessionId':'older'}");
	assert_int_equal(fork_line(&s, quoted(&s.w, lines[2]), true, &b), 0);
	expect_text(&b, "{'uuid':'" FRESH("03") "','type':'system','parentUuid':null,'sessionId':'NEW',"
			"'timestamp':'1970-01-01T00:00:01.000Z','isSidechain':false,"
			"'forkedFrom':{'sessionId':'OLD','messageUuid':'c'}}");
	grove__buf_release(&b);
	fork_close(&s);
}

#define ASKED(type, members) "{'uuid':'a','type':'" type "','isSidechain':false" members "}"
#define COPIED "'uuid':'" FRESH("01") "',"
#define BORN "'parentUuid':null,"
#define ORIGIN(session) "'forkedFrom':{'sessionId':'" session "','messageUuid':'a'}"

static void a_reply_tells_whose_request_it_answered(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ ASKED("assistant", ",'sessionId':'OLD','x':1"),
		  "'sessionId':'NEW','x':1," BORN "'requestSessionId':'OLD'," ORIGIN("OLD") },
		{ ASKED("assistant", ",'requestSessionId':'first','forkedFrom':{'sessionId':'s'},'sessionId':'OLD'"),
		  "'requestSessionId':'first'," ORIGIN("OLD") ",'sessionId':'NEW','parentUuid':null" },
		{ ASKED("assistant", ",'requestSessionId':'','sessionId':'OLD'"),
		  "'requestSessionId':'','sessionId':'NEW'," BORN ORIGIN("OLD") },
		{ ASKED("assistant", ",'forkedFrom':{'sessionId':'s'},'sessionId':'OLD'"),
		  ORIGIN("OLD") ",'sessionId':'NEW'," BORN "'requestSessionId':'s'" },
		{ ASKED("assistant", ",'requestSessionId':5,'forkedFrom':'s','sessionId':'OLD'"),
		  "'requestSessionId':'OLD'," ORIGIN("OLD") ",'sessionId':'NEW','parentUuid':null" },
		{ ASKED("assistant", ",'requestSessionId':null,'sessionId':6"),
		  "'sessionId':'NEW'," BORN ORIGIN("OLD") },
		{ ASKED("assistant", ",'sessionId':6,'requestSessionId':[]"),
		  "'sessionId':'NEW'," BORN ORIGIN("OLD") },
		{ ASKED("assistant", ",'x':1"), "'x':1," BORN "'sessionId':'NEW'," ORIGIN("OLD") },
		{ ASKED("user", ",'requestSessionId':'first','sessionId':'OLD'"),
		  "'sessionId':'NEW'," BORN ORIGIN("OLD") },
		{ ASKED("system", ",'sessionId':'OLD','requestSessionId':'first'"),
		  "'sessionId':'NEW'," BORN ORIGIN("OLD") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_buf b = GROVE_BUF_INIT;
		char want[400];
		struct source s;

		assert_int_equal(fork_open(&s, &cases[i].from, 1, NULL), 0);
		assert_int_equal(fork_line(&s, quoted(&s.w, cases[i].from), false, &b), 0);
		snprintf(want, sizeof(want), "{" COPIED "'type':'%s','isSidechain':false,%s}",
			 strstr(cases[i].from, "assistant") ? "assistant"
			 : strstr(cases[i].from, "user") ? "user" : "system", cases[i].to);
		expect_text(&b, want);
		grove__buf_release(&b);
		fork_close(&s);
	}
}

static void all_branches_are_copied_and_nothing_else(void **state)
{
	static const char *const lines[] = {
		REC("a", "null"), REC("b", "'a'"), REC("c", "'a'"), REC("d", "'c'"),
		"{'type':'tag','tag':'x','sessionId':'OLD'}",
		"{'type':'thing','uuid':'t','parentUuid':'d'}",
		"{'type':'user','parentUuid':'d'}",
		"{'type':'user','uuid':'s','parentUuid':'d','isSidechain':true}",
	};

	(void)state;
	expect_copies(lines, NR(lines), NULL, "1<null 2<1 3<1 4<3");
	expect_copies(lines, NR(lines), "acd", "1<null 2<1 3<2");
}

static void who_is_not_copied_is_passed_over(void **state)
{
	static const char *const lines[] = {
		REC("a", "null"),      PROGRESS("p", "'a'"), PROGRESS("q", "'p'"), REC("b", "'q'"),
		REC("c", "'p'"),       "{'type':'user','uuid':'s','parentUuid':'b','isSidechain':true}",
		REC("d", "'s'"),       PROGRESS("r", "null"), REC("e", "'r'"),
	};
	/* children before their parents */
	static const char *const late[] = { REC("b", "'p'"), PROGRESS("p", "'a'"), REC("a", "null") };

	(void)state;
	expect_copies(lines, NR(lines), NULL, "1<null 2<1 3<1 4<2 5<null");
	expect_copies(late, NR(late), NULL, "1<2 2<null");
	/* the way to a leaf: what is not on it is passed over as well */
	expect_copies(lines, NR(lines), "bd", "1<null 2<1");
}

static void a_parent_that_is_nowhere_keeps_its_name(void **state)
{
	static const char *const lines[] = {
		REC("a", "null"), REC("b", "'gone'"), PROGRESS("p", "'gone2'"), REC("c", "'p'"),
		PROGRESS("x", "'y'"), PROGRESS("y", "'x'"), REC("d", "'x'"), REC("e", "'y'"), REC("f", "'f'"),
		REC("g", "5"), REC("h", "''"),
	};

	(void)state;
	expect_copies(lines, NR(lines), NULL,
		      "1<null 2<\"gone\" 3<\"gone2\" 4<\"x\" 5<\"x\" 6<6 7<5 8<null");
}

static void a_uuid_that_comes_twice_is_one_in_the_copy(void **state)
{
	static const char *const lines[] = { REC("a", "null"), REC("b", "null"), REC("b", "'a'"), REC("c", "'b'") };

	(void)state;
	expect_copies(lines, NR(lines), NULL, "1<null 2<null 2<1 3<2");
}

static void a_long_run_of_progress_is_asked_about_once(void **state)
{
	enum { RUN = 500 };
	static char text[2 * RUN][128];
	static const char *lines[2 * RUN];
	struct grove_buf b = GROVE_BUF_INIT;
	struct source s;

	(void)state;
	for (unsigned i = 0; i < RUN; i++) {
		snprintf(text[i], sizeof(text[i]), PROGRESS("p%u", "'p%u'"), i + 1, i);
		snprintf(text[RUN + i], sizeof(text[i]), REC("r%u", "'p%u'"), i, i);
		lines[i] = text[i];
		lines[RUN + i] = text[RUN + i];
	}
	assert_int_equal(fork_open(&s, lines, NR(lines), NULL), 0);
	for (unsigned i = RUN; i-- > 0;) {
		grove__buf_clear(&b);
		assert_int_equal(fork_line(&s, quoted(&s.w, lines[RUN + i]), false, &b), 0);
		assert_non_null(strstr(b.ptr, "\"parentUuid\":\"p500\""));
	}
	assert_int_equal(s.asked, RUN + 1);
	grove__buf_release(&b);
	fork_close(&s);
}

static const char *const compacted[] = {
	REC("a", "null"), PROGRESS("p", "'a'"), REC("b", "'a'"),
	("{'parentUuid':null,'logicalParentUuid':'p','isSidechain':false,'type':'system','subtype':'compact_boundary',"
	 "'uuid':'c','sessionId':'OLD','compactMetadata':{'trigger':'auto','preservedSegment':{'headUuid':'a',"
	 "'anchorUuid':'d','tailUuid':null,'x':1},'preservedMessages':{'uuids':['a', 'b','n',5],'anchorUuid':'d',"
	 "'allUuids':[]},'z':1.0}}"),
	("{'parentUuid':'c','isSidechain':false,'type':'user','uuid':'d','sessionId':'OLD','compactMetadata':"
	 "{'preservedSegment':{'headUuid':'a'}},'logicalParentUuid':'n'}"),
};

static void what_a_boundary_keeps_is_renamed(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct source s;

	(void)state;
	assert_int_equal(fork_open(&s, compacted, NR(compacted), NULL), 0);
	assert_int_equal(fork_line(&s, quoted(&s.w, compacted[3]), false, &b), 0);
	expect_text(&b, "{'parentUuid':null,'logicalParentUuid':'" FRESH("01") "','isSidechain':false,'type':'system',"
			"'subtype':'compact_boundary','uuid':'" FRESH("03") "','sessionId':'NEW','compactMetadata':"
			"{'trigger':'auto','preservedSegment':{'headUuid':'" FRESH("01") "','anchorUuid':'" FRESH("04")
			"','tailUuid':null,'x':1},'preservedMessages':{'uuids':['" FRESH("01") "','" FRESH("02")
			"','n',5],'anchorUuid':'" FRESH("04") "','allUuids':[]},'z':1.0},"
			"'forkedFrom':{'sessionId':'OLD','messageUuid':'c'}}");
	/* only a boundary keeps */
	assert_int_equal(fork_line(&s, quoted(&s.w, compacted[4]), false, &b), 0);
	expect_text(&b, "{'parentUuid':'" FRESH("03") "','isSidechain':false,'type':'user','uuid':'" FRESH("04")
			"','sessionId':'NEW','compactMetadata':{'preservedSegment':{'headUuid':'a'}},"
			"'logicalParentUuid':'n','forkedFrom':{'sessionId':'OLD','messageUuid':'d'}}");
	grove__buf_release(&b);
	fork_close(&s);
}

static const char *const noted[] = {
	REC("a", "null"),
	"{'type':'content-replacement','sessionId':'OLD','replacements':[{'a':1.0},{'b':2}]}",
	"{'type':'content-replacement','sessionId':'other','replacements':[{'c':1}]}",
	"{'type':'content-replacement','sessionId':'OLD','replacements':[]}",
	"{'type':'content-replacement','sessionId':'OLD','agentId':'x','replacements':[{'d':1}]}",
	"{'type':'relocated','relocatedCwd':'/one','sessionId':'OLD'}",
	"{'type':'relocated','relocatedCwd':'/two','sessionId':'OLD'}",
	"{'type':'relocated','relocatedCwd':'/three','sessionId':'other'}",
};

static void what_comes_behind_the_records(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	struct source s;

	(void)state;
	assert_int_equal(fork_open(&s, noted, NR(noted), NULL), 0);
	assert_int_equal(grove__claude_fork_tail(&s.f, NULL, NULL, false, NULL, 1000, collect, &b), 0);
	expect_text(&b, "{'type':'custom-title','sessionId':'NEW','customTitle':'Forked session (fork)','uuid':'"
			FRESH("02") "','timestamp':'1970-01-01T00:00:01.000Z'}\n");
	for (size_t i = 0; i < NR(noted); i++)
		assert_int_equal(fork_line(&s, quoted(&s.w, noted[i]), false, &line), i > 0);
	assert_int_equal(grove__claude_fork_tail(&s.f, NULL, "Title", false, NULL, 1000, collect, &b), 0);
	expect_text(&b, "{'type':'content-replacement','sessionId':'NEW','replacements':[{'a':1},{'b':2},{'d':1}],'uuid':'"
			FRESH("03") "','timestamp':'1970-01-01T00:00:01.000Z'}\n"
			"{'type':'relocated','sessionId':'NEW','relocatedCwd':'/two'}\n"
			"{'type':'custom-title','sessionId':'NEW','customTitle':'Title (fork)','uuid':'" FRESH("04")
			"','timestamp':'1970-01-01T00:00:01.000Z'}\n");
	assert_int_equal(fork_line(&s, "{\"type\":\"history-suppression\",\"sessionId\":\"OLD\"}", false, &line), 1);
	assert_int_equal(grove__claude_fork_tail(&s.f, NULL, "Mine", true, "/here", 1000, collect, &b), 0);
	assert_non_null(strstr(b.ptr, "{\"type\":\"history-suppression\",\"sessionId\":\"NEW\",\"cause\":\"fork_inherit\""));
	assert_non_null(strstr(b.ptr, "\"relocatedCwd\":\"/here\""));
	assert_non_null(strstr(b.ptr, "\"customTitle\":\"Mine\""));
	grove__buf_release(&b);
	grove__buf_release(&line);
	fork_close(&s);
}

static void an_answer_that_cannot_be_had_is_passed_up(void **state)
{
	static const char *const lines[] = { REC("a", "null"), PROGRESS("p", "'a'"), PROGRESS("q", "'p'"), REC("b", "'q'") };
	struct grove_buf b = GROVE_BUF_INIT;
	struct source s;

	(void)state;
	assert_int_equal(fork_open(&s, lines, NR(lines), NULL), 0);
	s.lost = true;
	assert_int_equal(fork_line(&s, quoted(&s.w, lines[3]), false, &b), GROVE_EIO);
	assert_int_equal(b.len, 0);
	s.lost = false;
	assert_int_equal(fork_line(&s, quoted(&s.w, lines[3]), false, &b), 0);
	assert_non_null(strstr(b.ptr, "\"parentUuid\":\"" FRESH("01") "\""));
	grove__buf_release(&b);
	fork_close(&s);
}

/* ------------------------------------------------------------ out of memory */

static int compose_some(void)
{
	static const char *const inputs[] = {
		"{\"type\":\"user\",\"sourceToolAssistantUUID\":\"c\\u0061ll\",\"x\":{\"b\":1},\"message\":{\"role\":\"user\"}}",
		"{\"type\":\"tag\",\"tag\":\"t\"}",
	};
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++) {
		struct grove_buf out = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
		struct grove__input in = { .json = grove__slice_str(inputs[i]) };
		struct grove__place at = place("P");

		in.type = grove__json_get(in.json, "type");
		rc = grove__claude_compose(&in, &at, grove__slice(NULL, 0), &out, &target, NULL);
		assert_true(!rc || !out.len);
		if (!rc) {
			struct grove_buf again = GROVE_BUF_INIT;

			rc = grove__claude_relink(grove__buf_slice(&out), grove__slice_str("q"), NULL, &again);
			grove__buf_release(&again);
		}
		grove__buf_release(&out);
		grove__buf_release(&target);
	}
	return rc;
}

static int spell_some(void)
{
	static const struct grove__entry_spec specs[] = {
		{ .kind = GROVE_KIND_NAME, .name = { .text = "n" } },
		{ .kind = GROVE_KIND_OTHER, .leaf = { "u" } },
	};
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__claude_spell(&specs[0], &b, NULL);

	grove__buf_release(&b);
	if (!rc)
		rc = grove__claude_spell(&specs[1], &b, NULL);
	grove__buf_release(&b);
	return rc;
}

static int split_some(void)
{
	static const char json[] = "{\"type\":\"assistant\",\"uuid\":\"u\",\"message\":{\"content\":[1,2]}}";
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__claude_split(grove__slice_str(json), dice, collect, &b);

	grove__buf_release(&b);
	return rc;
}

static int fork_lines(const char *const *lines, size_t nr)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct source s;
	int rc = fork_open(&s, lines, nr, NULL);

	for (size_t i = 0; i < nr && rc >= 0; i++) {
		long left = countdown;
		const char *line;

		countdown = -1;
		line = quoted(&s.w, lines[i]);
		countdown = left;
		rc = fork_line(&s, line, i == 4, &b);
	}
	if (rc >= 0)
		rc = grove__claude_fork_tail(&s.f, NULL, "t", false, NULL, 0, collect, &b);
	grove__buf_release(&b);
	fork_close(&s);
	return rc < 0 ? rc : 0;
}

static int fork_some(void)
{
	return fork_lines(compacted, NR(compacted));
}

static int fork_more(void)
{
	return fork_lines(noted, NR(noted));
}

static void memory_may_run_out_anywhere(void **state)
{
	(void)state;
	starve(compose_some);
	starve(spell_some);
	starve(split_some);
	starve(fork_some);
	starve(fork_more);
}

/* A name that is spelled with an escape makes the line one that is edited; but for it the answer is the same. */
static void a_line_is_copied_as_if_it_was_edited(void **state)
{
	static const char *const lines[] = {
		"{'type':'user','uuid':'a','parentUuid':null,'sessionId':'OLD','message':{'role':'user','content':'}'},'x':1}",
		"{'x':1,'type':'user','uuid':'b','parentUuid':'a','message':{'a':[1,{}]},'timestamp':'t'}",
		"{'teamName':'t','x' : 1 ,'slug':'s','agentName':null,'uuid':'c','type':'system','sessionKind':1,'parentUuid':'b'}",
		"{'type':'system','uuid':'d','x':1,'parentUuid':'c','teamName':'t'}",
		"{'type':'system','uuid':'e','parentUuid':'d' , 'x':1,'teamName':'t','slug':'s' }",
		"{ 'slug':'s','type':'system','slug':'s', 'x':1,'uuid':'?','uuid':'f','parentUuid':'e','isSidechain':0}",
		"{'forkedFrom':{'sessionId':'older'},'type':'attachment','uuid':'g','x':1,'parentUuid':'f','isSidechain':false,'logicalParentUuid':'a'}",
		"{'type':'system','uuid':'h','parentUuid':7,'x':1,'sourceToolAssistantUUID':'a','sessionId':5}",
		"{'type':'assistant','uuid':'i','parentUuid':'h','x':1,'sessionId':'OLD'}",
		"{'type':'assistant','uuid':'j','x':1,'requestSessionId':7,'parentUuid':'i'}",
	};
	struct grove_buf plain = GROVE_BUF_INIT, known = GROVE_BUF_INIT, edited = GROVE_BUF_INIT;
	struct source s;

	(void)state;
	assert_int_equal(fork_open(&s, lines, sizeof(lines) / sizeof(*lines), NULL), 0);
	for (size_t i = 0; i < 2 * sizeof(lines) / sizeof(*lines); i++) {
		const char *json = quoted(&s.w, lines[i / 2]);
		struct grove_slice line = grove__slice_str(json), message = grove__json_get(line, "message");
		const char *x = strstr(json, "\"x\"");
		struct grove_buf other = GROVE_BUF_INIT;
		char *at;

		assert_int_equal(grove__buf_addf(&other, "%.*s\"\\u0078%s", (int)(x - json), json, x + 2), 0);
		grove__buf_clear(&plain);
		grove__buf_clear(&known);
		grove__buf_clear(&edited);
		assert_int_equal(fork_line(&s, json, i & 1, &plain), 0);
		assert_int_equal(grove__claude_fork_line(&s.f, line, message, i & 1, 1000, &known), 0);
		assert_int_equal(fork_line(&s, other.ptr, i & 1, &edited), 0);
		at = strstr(edited.ptr, "\\u0078");
		assert_non_null(at);
		*at = 'x';
		memmove(at + 1, at + 6, strlen(at + 6) + 1);
		assert_string_equal(plain.ptr, edited.ptr);
		assert_string_equal(plain.ptr, known.ptr);
		grove__buf_release(&other);
	}
	grove__buf_release(&plain);
	grove__buf_release(&known);
	grove__buf_release(&edited);
	fork_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_copied_as_if_it_was_edited),
		cmocka_unit_test(a_bare_message_becomes_a_record),
		cmocka_unit_test(what_else_a_record_says_is_kept),
		cmocka_unit_test(what_a_record_says_of_itself_counts),
		cmocka_unit_test(a_boundary_has_a_logical_parent),
		cmocka_unit_test(a_result_hangs_below_its_call),
		cmocka_unit_test(metadata_begins_with_its_type),
		cmocka_unit_test(what_no_reader_could_use_is_refused),
		cmocka_unit_test(inputs_have_a_kind),
		cmocka_unit_test(an_entry_is_spelled_from_its_parts_or_refused),
		cmocka_unit_test(metadata_is_spelled_without_the_session),
		cmocka_unit_test(a_child_of_a_removed_record_changes_its_parent_only),
		cmocka_unit_test(a_reply_is_one_record_a_block),
		cmocka_unit_test(blocks_of_a_reply_share_an_id_that_is_made_up),
		cmocka_unit_test(what_is_no_such_reply_is_handed_on),
		cmocka_unit_test(who_asks_may_stop),
		cmocka_unit_test(a_copy_changes_what_it_must),
		cmocka_unit_test(a_reply_tells_whose_request_it_answered),
		cmocka_unit_test(all_branches_are_copied_and_nothing_else),
		cmocka_unit_test(who_is_not_copied_is_passed_over),
		cmocka_unit_test(a_parent_that_is_nowhere_keeps_its_name),
		cmocka_unit_test(a_uuid_that_comes_twice_is_one_in_the_copy),
		cmocka_unit_test(a_long_run_of_progress_is_asked_about_once),
		cmocka_unit_test(what_a_boundary_keeps_is_renamed),
		cmocka_unit_test(what_comes_behind_the_records),
		cmocka_unit_test(an_answer_that_cannot_be_had_is_passed_up),
		cmocka_unit_test(memory_may_run_out_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
