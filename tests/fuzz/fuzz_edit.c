/*
 * tests/fuzz/fuzz_edit.c: one member changes, and nothing else.
 *
 * The first line of the input is the value, the rest says what to change in it.
 * The result is compared with that of a slow walk over the members.
 */
#include "reference.h"

#include "json/edit.h"
#include "json/scan.h"

#define CHANGES 6

static const char *const values[] = { "null", "{}", "\"\\u0000\"", "[1,{\"a\":2}]" };
static const char *const fresh[] = { "type", "new", "", "parentId" };

struct asked {
	struct grove__json_change change[CHANGES];
	char *name[CHANGES][2];
	size_t nr;
};

/* Returns a name for a change: a member's or one of our own. NULL: it cannot be asked for. */
static char *name_for(const struct ref *r, size_t object, unsigned choice)
{
	size_t n = 0, len, i = object + 1;

	for (; i < r->nodes[object].next; i = r->nodes[i].next)
		n++;
	if (!n || choice % (n + 1) == n)
		return strdup(fresh[choice % 4]);
	for (n = choice % (n + 1), i = object + 1; n; n--)
		i = r->nodes[i].next;
	{
		char *name = ref_text(r->text + r->nodes[i].key_off, r->nodes[i].key_len, &len);

		if (strlen(name) == len)
			return name;
		free(name);
		return NULL;
	}
}

/* Returns true if two changes touch each other: the same member, or one within the other. */
static bool touch(const struct grove__json_change *a, const struct grove__json_change *b)
{
	for (int i = 0; a->path[i] && b->path[i]; i++)
		if (strcmp(a->path[i], b->path[i]))
			return false;
	return true;
}

static void add_change(struct asked *a, const struct ref *r, uint8_t what, uint8_t where)
{
	struct grove__json_change *c = &a->change[a->nr];
	char **name = a->name[a->nr];
	size_t in;

	name[0] = name_for(r, 0, where >> 2);
	name[1] = NULL;
	if (!name[0])
		return;
	in = ref_member(r, 0, name[0], strlen(name[0]));
	if (where & 1 && in != REF_NONE && r->nodes[in].type == '{')
		name[1] = name_for(r, in, where >> 1);
	*c = (struct grove__json_change){ .path = { name[0], name[1] } };
	if (what & 3)
		c->value = grove__slice_str(values[what >> 2 & 3]);
	for (size_t i = 0; i < a->nr; i++)
		if (touch(c, &a->change[i])) {
			free(name[0]);
			free(name[1]);
			return;
		}
	a->nr++;
}

/*
 * Returns the change that ends at a member with that key at depth 0 or in `outer`, if there is one.
 */
static const struct grove__json_change *change_for(const struct asked *a, const struct ref *r,
						   size_t node, const char *outer, size_t *which)
{
	for (size_t i = 0; i < a->nr; i++) {
		const struct grove__json_change *c = &a->change[i];
		const char *last = outer ? c->path[1] : c->path[0];

		if (outer ? !last || strcmp(c->path[0], outer) : c->path[1] != NULL)
			continue;
		if (!ref_key_is(r, node, last, strlen(last)))
			continue;
		*which = i;
		return c;
	}
	return NULL;
}

/* Checks that object `in` of the result `out` has the members of `r` with the changes made. */
static void expect(const struct asked *a, const struct ref *r, size_t in, const struct ref *out,
		   size_t in_out, const char *outer)
{
	bool done[CHANGES] = { false };
	size_t k = in_out + 1, which;

	for (size_t i = in + 1; i < r->nodes[in].next; i = r->nodes[i].next) {
		const struct ref_node *n = &r->nodes[i], *m = &out->nodes[k];
		const struct grove__json_change *c = change_for(a, r, i, outer, &which);
		const char *last = c ? c->path[outer ? 1 : 0] : NULL;
		bool counts = c && ref_member(r, in, last, strlen(last)) == i;

		if (c)
			done[which] = true;
		if (c && !c->value.ptr)
			continue;
		CHECK(k < out->nodes[in_out].next);
		CHECK(m->key_len == n->key_len && !memcmp(out->text + m->key_off, r->text + n->key_off, n->key_len));
		if (counts) {
			CHECK(m->len == c->value.len && !memcmp(out->text + m->off, c->value.ptr, m->len));
		} else if (!outer && n->type == '{') {
			size_t len;
			char *name = ref_text(r->text + n->key_off, n->key_len, &len);

			/* if several members have the same name, changes go to the last one */
			if (strlen(name) == len && ref_member(r, in, name, len) == i)
				expect(a, r, i, out, k, name);
			else
				CHECK(m->len == n->len && !memcmp(out->text + m->off, r->text + n->off, n->len));
			free(name);
		} else {
			CHECK(m->len == n->len && !memcmp(out->text + m->off, r->text + n->off, n->len));
		}
		k = m->next;
	}
	for (size_t i = 0; i < a->nr; i++) {
		const struct grove__json_change *c = &a->change[i];
		const char *last = outer ? c->path[1] : c->path[0];

		if (done[i] || !c->value.ptr || (outer ? !last || strcmp(c->path[0], outer) : c->path[1] != NULL))
			continue;
		CHECK(k < out->nodes[in_out].next);
		CHECK(ref_key_is(out, k, last, strlen(last)));
		CHECK(out->nodes[k].len == c->value.len &&
		      !memcmp(out->text + out->nodes[k].off, c->value.ptr, c->value.len));
		k = out->nodes[k].next;
	}
	CHECK(k == out->nodes[in_out].next);
}

/* If only values change, all other bytes stay where they are: builds the expected text. */
static void splice(const struct ref *r, const struct grove__json_change *c, struct grove_buf *out)
{
	size_t at = ref_member(r, 0, c->path[0], strlen(c->path[0]));
	const struct ref_node *n, *top = &r->nodes[0];

	if (at != REF_NONE && c->path[1])
		at = ref_member(r, at, c->path[1], strlen(c->path[1]));
	n = at == REF_NONE ? NULL : &r->nodes[at];
	if (n && c->value.ptr) {
		CHECK(!grove__buf_add(out, r->text + top->off, n->off - top->off));
		CHECK(!grove__buf_add_slice(out, c->value));
		CHECK(!grove__buf_add(out, r->text + n->off + n->len, top->off + top->len - n->off - n->len));
	} else if (!n && !c->value.ptr) {
		CHECK(!grove__buf_add(out, r->text + top->off, top->len));
	}
}

static void edit(const struct ref *r, const struct asked *a)
{
	struct grove_slice object = grove__slice(r->text + r->nodes[0].off, r->nodes[0].len);
	struct grove_buf b = GROVE_BUF_INIT, one = GROVE_BUF_INIT;
	struct ref out;

	CHECK(!grove__json_edit(&b, object, a->change, a->nr));
	ref_parse(&out, b.ptr, b.len);
	CHECK(out.ok);
	expect(a, r, 0, &out, 0, NULL);
	ref_release(&out);
	for (size_t i = 0; i < a->nr; i++) {
		grove__buf_clear(&one);
		splice(r, &a->change[i], &one);
		if (!one.len)
			continue;
		grove__buf_clear(&b);
		CHECK(!grove__json_edit(&b, object, &a->change[i], 1));
		CHECK(grove__slice_eq(grove__buf_slice(&b), grove__buf_slice(&one)));
	}
	grove__buf_release(&b);
	grove__buf_release(&one);
}

/* Makes the JSON pointer of a node; false if its text would not lead back to the node. */
static bool pointer_to(const struct ref *r, size_t node, struct grove_buf *out)
{
	const struct ref_node *n = &r->nodes[node];
	bool good = true;
	size_t len, nr = 0;

	if (n->parent == REF_NONE)
		return true;
	if (n->depth > 100 || !pointer_to(r, n->parent, out))
		return false;
	if (r->nodes[n->parent].type == '[') {
		for (size_t i = n->parent + 1; i < node; i = r->nodes[i].next)
			nr++;
		CHECK(!grove__buf_addf(out, "/%zu", nr));
		return true;
	}
	{
		char *name = ref_text(r->text + n->key_off, n->key_len, &len);

		good = strlen(name) == len && ref_member(r, n->parent, name, len) == node;
		CHECK(!grove__buf_add_char(out, '/'));
		for (size_t i = 0; i < len; i++)
			CHECK(!(name[i] == '~'	? grove__buf_add_str(out, "~0")
				: name[i] == '/' ? grove__buf_add_str(out, "~1")
						 : grove__buf_add_char(out, name[i])));
		free(name);
	}
	return good;
}

static void replace(const struct ref *r, uint64_t chance)
{
	struct grove_slice value = grove__slice(r->text + r->nodes[0].off, r->nodes[0].len);
	struct grove_buf pointer = GROVE_BUF_INIT, b = GROVE_BUF_INIT, want = GROVE_BUF_INIT;
	const struct ref_node *n = &r->nodes[chance % r->nr], *top = &r->nodes[0];

	CHECK(!grove__buf_add(&pointer, "", 0));
	if (pointer_to(r, chance % r->nr, &pointer)) {
		CHECK(!grove__json_replace(&b, value, pointer.ptr, grove__slice_str("[0]")));
		CHECK(!grove__buf_add(&want, r->text + top->off, n->off - top->off));
		CHECK(!grove__buf_add_str(&want, "[0]"));
		CHECK(!grove__buf_add(&want, r->text + n->off + n->len, top->off + top->len - n->off - n->len));
		CHECK(grove__slice_eq(grove__buf_slice(&b), grove__buf_slice(&want)));
		CHECK(!grove__buf_add_str(&pointer, "/nothing/there"));
		CHECK(n->type == '{' || grove__json_replace(&b, value, pointer.ptr, grove__slice_str("0")) == 1);
	}
	grove__buf_release(&pointer);
	grove__buf_release(&b);
	grove__buf_release(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *lf = len ? memchr(bytes, '\n', len) : NULL, *end = bytes + len, *p;
	size_t n = lf ? (size_t)(lf - bytes) : len;
	char *text = fuzz_alloc(n);
	struct asked a = { .nr = 0 };
	struct ref r;

	memcpy(text, bytes, n);
	ref_parse(&r, text, n);
	if (r.ok && r.nodes[0].type == '{') {
		for (p = lf ? lf + 1 : end; end - p >= 2 && a.nr < CHANGES; p += 2)
			add_change(&a, &r, p[0], p[1]);
		if (!a.nr)
			add_change(&a, &r, (uint8_t)n, (uint8_t)(n >> 1));
		edit(&r, &a);
	}
	if (r.ok)
		replace(&r, fuzz_number(bytes, len));
	for (size_t i = 0; i < a.nr; i++) {
		free(a.name[i][0]);
		free(a.name[i][1]);
	}
	ref_release(&r);
	free(text);
	return 0;
}
