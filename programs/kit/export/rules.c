/*
 * rules.c: data/secrets.rules, compiled. Its head says what is in a row.
 */
#include "rules.h"
#include "redact.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ABOUTS_MAX 32
#define RULES_MAX 512
#define COLUMNS 5

struct about {
	struct grove_slice name, text;
};

static struct rules table;
static struct rule rule[RULES_MAX];
static unsigned nr_rules;
static struct about about[ABOUTS_MAX];
static unsigned nr_abouts;
static int failed;

int rules_built_in(void)
{
	return 1;
}

const char *rules_name(const struct rules *r, unsigned kind)
{
	return r->name[kind];
}

/* --------------------------------------------------------------- the table */

static unsigned kind_of(struct grove_slice name)
{
	unsigned i;

	for (i = 0; i < table.nr_kinds; i++)
		if (strlen(table.name[i]) == name.len && !memcmp(table.name[i], name.ptr, name.len))
			return i;
	assert(i < REDACT_KINDS && name.len < sizeof(table.name[i]));
	memcpy(table.name[i], name.ptr, name.len);
	table.nr_kinds++;
	return i;
}

static const struct about *about_of(struct grove_slice name)
{
	for (unsigned i = 0; i < nr_abouts; i++)
		if (about[i].name.len == name.len && !memcmp(about[i].name.ptr, name.ptr, name.len))
			return &about[i];
	return NULL;
}

/* Appends an expression, with what stands for each {name} in it. */
static void expand(struct grove_slice text, struct grove_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		const char *end = text.ptr[i] == '{' ? memchr(text.ptr + i, '}', text.len - i) : NULL;
		const struct about *a = end ? about_of((struct grove_slice){ text.ptr + i + 1, (size_t)(end - text.ptr) - i - 1 }) : NULL;

		if (a) {
			expand(a->text, out);
			i = (size_t)(end - text.ptr);
		} else {
			failed |= grove_buf_add(out, (struct grove_slice){ text.ptr + i, 1 });
		}
	}
}

static pcre2_code *compile(struct grove_slice shape, struct rule *row)
{
	struct grove_buf text = GROVE_BUF_INIT;
	pcre2_code *code = NULL;
	PCRE2_SIZE at;
	int err;

	expand(shape, &text);
	row->part = !failed && memmem(text.ptr, text.len, "\\K", 2);
	if (!failed) {
		code = pcre2_compile((PCRE2_SPTR)text.ptr, text.len, PCRE2_ANCHORED | PCRE2_DOTALL | (row->any_case ? PCRE2_CASELESS : 0),
				     &err, &at, NULL);
		assert(code || err == PCRE2_ERROR_HEAP_FAILED);
		failed |= !code;
	}
	/* a machine without it interprets */
	if (code)
		pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	grove_buf_release(&text);
	return code;
}

static void mark_beginning(unsigned char first, unsigned char second, int any_case)
{
	table.begins[first][second / 8] |= (unsigned char)(1u << second % 8);
	if (any_case && (second | 0x20) >= 'a' && (second | 0x20) <= 'z')
		mark_beginning(first, second ^ 0x20, 0);
}

static void link_rule(struct rule *new, unsigned char c)
{
	struct rule **last = &table.first[c];

	while (*last)
		last = &(*last)->next;
	*last = new;
	if (new->len == 1)
		memset(table.begins[c], 0xff, sizeof(table.begins[c]));
	else
		mark_beginning(c, (unsigned char)new->begins[1], new->any_case);
}

/* Adds a rule for one of the beginnings of a row. */
static void add_beginning(struct grove_slice begins, struct rule about_row)
{
	struct rule *new = &rule[nr_rules++];

	assert(nr_rules < RULES_MAX && begins.len < sizeof(new->begins));
	*new = about_row;
	for (; begins.len > 1 && *begins.ptr == '<'; begins.ptr++, begins.len--)
		new->before++;
	for (size_t i = 0; i < begins.len; i++) {
		int blank = begins.ptr[i] == '\\' && i + 1 < begins.len && begins.ptr[i + 1] == 's';

		new->begins[new->len++] = blank ? ' ' : begins.ptr[i];
		i += (size_t)blank;
	}
	link_rule(new, (unsigned char)*new->begins);
	if (new->any_case && (*new->begins | 0x20) >= 'a' && (*new->begins | 0x20) <= 'z') {
		struct rule *other = &rule[nr_rules++];

		*other = *new;
		other->next = NULL;
		link_rule(other, (unsigned char)(*new->begins ^ 0x20));
	}
}

/* Cuts a line at its next tab, or runs of them. */
static struct grove_slice next_column(struct grove_slice *line)
{
	const char *tab = memchr(line->ptr, '\t', line->len);
	struct grove_slice column = { line->ptr, tab ? (size_t)(tab - line->ptr) : line->len };

	line->ptr += column.len;
	line->len -= column.len;
	for (; line->len && *line->ptr == '\t'; line->len--)
		line->ptr++;
	return column;
}

static void add_row(struct grove_slice line)
{
	struct grove_slice name = next_column(&line), begins = next_column(&line), shape;
	struct rule row = { 0 };

	if (name.len == 3 && !memcmp(name.ptr, "let", 3)) {
		assert(nr_abouts < ABOUTS_MAX);
		about[nr_abouts++] = (struct about){ begins, line };
		if (begins.len == 4 && !memcmp(begins.ptr, "ends", 4))
			for (size_t i = 0; i + 1 < line.len; i += 3)
				table.ends[line.ptr[i] - 'a'][line.ptr[i + 1] - 'a'] = 1;
		return;
	}
	shape = next_column(&line);
	row.kind = kind_of(name);
	row.any_case = begins.len > 4 && !memcmp(begins.ptr, "(?i)", 4);
	row.code = compile(shape, &row);
	if (row.any_case) {
		begins.ptr += 4;
		begins.len -= 4;
	}
	while (begins.len) {
		const char *blank = memchr(begins.ptr, ' ', begins.len);
		size_t len = blank ? (size_t)(blank - begins.ptr) : begins.len;

		add_beginning((struct grove_slice){ begins.ptr, len }, row);
		len += blank != NULL;
		begins.ptr += len;
		begins.len -= len;
	}
}

static void read_table(void)
{
	struct grove_slice rest = { secrets_rules, secrets_rules_len };

	/* what redact.c knows by itself */
	kind_of(grove_str("home-directory"));
	kind_of(grove_str("e-mail-address"));
	for (const char *p = "@%:/~-"; *p; p++)
		memset(table.begins[(unsigned char)*p], 0xff, sizeof(table.begins[0]));
	mark_beginning('h', 'o', 0);
	while (rest.len) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;

		if (len && *rest.ptr != '#')
			add_row((struct grove_slice){ rest.ptr, len });
		len += end != NULL;
		rest.ptr += len;
		rest.len -= len;
	}
}

const struct rules *rules_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_table);
	return failed ? NULL : &table;
}

/* ------------------------------------------------------------------ matching */

int rule_match_init(struct rule_match *m)
{
	m->state = pcre2_match_data_create(1, NULL);
	return !m->state;
}

void rule_match_release(struct rule_match *m)
{
	pcre2_match_data_free(m->state);
}

int rule_matches(struct rule_match *m, const struct rule *r, const char *text, size_t len, size_t at)
{
	const PCRE2_SIZE *found = pcre2_get_ovector_pointer(m->state);

	/* what takes too many steps is no match */
	if (pcre2_match(r->code, (PCRE2_SPTR)text, len, at, PCRE2_NO_UTF_CHECK, m->state, NULL) < 0)
		return 0;
	m->from = found[0];
	m->to = found[1];
	return m->to > m->from;
}
