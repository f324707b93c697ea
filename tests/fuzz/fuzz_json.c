/*
 * tests/fuzz/fuzz_json.c: compares the library's JSON functions with slow and
 * simple ones.
 *
 * For each line: whether it is valid, where it goes wrong, where the wanted
 * members begin and end, what a walk over the value finds, the text of its
 * strings, and the value as it is written again.
 */
#include "reference.h"

#include "json/scan.h"
#include "json/value.h"
#include "json/write.h"

enum { TYPE, ID, PARENT, MESSAGE, ROLE, CONTENT, EMPTY, NR };

static const struct grove__json_member members[NR] = {
	[TYPE] = { "type", -1 },
	[ID] = { "id", -1 },
	[PARENT] = { "parentId", -1 },
	[MESSAGE] = { "message", -1 },
	[ROLE] = { "role", MESSAGE },
	[CONTENT] = { "content", MESSAGE },
	[EMPTY] = { "", MESSAGE },
};

static struct grove__json_want want;

static struct grove_slice node_of(const struct ref *r, size_t i)
{
	return grove__slice(r->text + r->nodes[i].off, r->nodes[i].len);
}

static void same_members(const struct ref *r, const struct grove__json_line *l)
{
	size_t at[NR];

	for (unsigned i = 0; i < NR; i++) {
		int up = members[i].parent;
		size_t in = up < 0 ? 0 : at[up];

		at[i] = in == REF_NONE ? in : ref_member(r, in, members[i].name, strlen(members[i].name));
		CHECK(grove__json_has(l, i) == (at[i] != REF_NONE));
		if (at[i] == REF_NONE)
			continue;
		CHECK(l->span[i].off == r->nodes[at[i]].off);
		CHECK(l->span[i].len == r->nodes[at[i]].len);
		CHECK(up >= 0 || grove__json_get(node_of(r, 0), members[i].name).ptr == r->text + l->span[i].off);
	}
}

static void same_text(const char *raw, size_t len)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t n;
	char *text = ref_text(raw, len, &n);

	CHECK(!grove__json_text(&b, grove__slice(raw, len)));
	CHECK(b.len == n && !memcmp(b.ptr ? b.ptr : "", text, n));
	if (!memchr(text, 0, n))
		CHECK(grove__json_string_is(grove__slice(raw, len), text));
	grove__buf_release(&b);
	free(text);
}

static void same_walk(const struct ref *r, size_t container)
{
	struct grove__json_iter it;
	size_t i = container + 1;

	grove__json_iter_init(&it, node_of(r, container));
	while (grove__json_next(&it)) {
		CHECK(i < r->nodes[container].next);
		CHECK(it.value.ptr == r->text + r->nodes[i].off && it.value.len == r->nodes[i].len);
		if (it.object)
			CHECK(it.key.ptr == r->text + r->nodes[i].key_off && it.key.len == r->nodes[i].key_len);
		i = r->nodes[i].next;
	}
	CHECK(i == r->nodes[container].next);
}

/* Returns true if JavaScript treats the key as an index: 0 … 2^32 - 2, in its normal form. */
static bool is_index(const char *text, size_t len, uint64_t *out)
{
	*out = 0;
	if (!len || len > 10 || (*text == '0' && len > 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(text[i] - '0');
	}
	return *out < UINT32_MAX;
}

struct name {
	char *text;
	size_t len, node;
	uint64_t index;
	bool indexed;
};

/* Lists the members of an object in JavaScript's order, each once. */
static size_t names_of(const struct ref *r, size_t object, struct name *out)
{
	size_t nr = 0;

	for (size_t i = object + 1; i < r->nodes[object].next; i = r->nodes[i].next) {
		struct name n = { .node = i };
		size_t k;

		n.text = ref_text(r->text + r->nodes[i].key_off, r->nodes[i].key_len, &n.len);
		n.indexed = is_index(n.text, n.len, &n.index);
		for (k = 0; k < nr; k++)
			if (out[k].len == n.len && !memcmp(out[k].text, n.text, n.len))
				break;
		if (k < nr) {
			out[k].node = i;
			free(n.text);
			continue;
		}
		for (k = nr++; n.indexed && k && (!out[k - 1].indexed || out[k - 1].index > n.index); k--)
			out[k] = out[k - 1];
		out[k] = n;
	}
	return nr;
}

static size_t nr_children(const struct ref *r, size_t node)
{
	size_t nr = 0;

	for (size_t i = node + 1; i < r->nodes[node].next; i = r->nodes[i].next)
		nr++;
	return nr;
}

static void same_value(const struct ref *a, size_t ia, const struct ref *b, size_t ib);

static void same_object(const struct ref *a, size_t ia, const struct ref *b, size_t ib)
{
	struct name *x = fuzz_alloc(nr_children(a, ia) * sizeof(*x));
	size_t nr = names_of(a, ia, x), i = ib + 1;

	CHECK(nr_children(b, ib) == nr);
	for (size_t k = 0; k < nr; k++, i = b->nodes[i].next) {
		CHECK(ref_key_is(b, i, x[k].text, x[k].len));
		same_value(a, x[k].node, b, i);
		free(x[k].text);
	}
	free(x);
}

/* Checks that `b` has the same meaning as `a`. It is recursive: the caller limits the depth. */
static void same_value(const struct ref *a, size_t ia, const struct ref *b, size_t ib)
{
	struct grove_slice sa = node_of(a, ia), sb = node_of(b, ib);
	size_t na, nb, i = ia + 1, k = ib + 1;
	char *ta, *tb;

	CHECK(a->nodes[ia].type == b->nodes[ib].type);
	switch (a->nodes[ia].type) {
	case '{':
		same_object(a, ia, b, ib);
		break;
	case '[':
		CHECK(nr_children(a, ia) == nr_children(b, ib));
		for (; i < a->nodes[ia].next; i = a->nodes[i].next, k = b->nodes[k].next)
			same_value(a, i, b, k);
		break;
	case '"':
		ta = ref_text(sa.ptr, sa.len, &na);
		tb = ref_text(sb.ptr, sb.len, &nb);
		CHECK(na == nb && !memcmp(ta, tb, na));
		free(ta);
		free(tb);
		break;
	case '\0': {
		double x = grove__json_number(sa), y = grove__json_number(sb);

		CHECK(x <= y && x >= y);
		break;
	}
	default:
		CHECK(grove__slice_eq(sa, sb));
	}
}

static void written_anew(const struct ref *r, size_t depth)
{
	struct grove_buf once = GROVE_BUF_INIT, twice = GROVE_BUF_INIT;
	struct grove_slice value = node_of(r, 0);
	struct ref again;

	CHECK(!grove__json_put_canonical(&once, value));
	CHECK(ref_is_document(once.ptr, once.len));
	CHECK(!grove__json_put_canonical(&twice, grove__buf_slice(&once)));
	CHECK(grove__slice_eq(grove__buf_slice(&once), grove__buf_slice(&twice)));
	if (grove__json_is_canonical(value))
		CHECK(grove__slice_eq(grove__buf_slice(&once), value));
	if (depth < 500 && r->nr < 5000) {
		ref_parse(&again, once.ptr, once.len);
		CHECK(again.ok);
		same_value(r, 0, &again, 0);
		ref_release(&again);
	}
	grove__buf_clear(&once);
	CHECK(!grove__json_put_raw(&once, value));
	CHECK(ref_is_document(once.ptr, once.len));
	grove__buf_release(&once);
	grove__buf_release(&twice);
}

static void one_line(const char *p, const struct grove__json_line *l, enum grove__json_verdict v)
{
	size_t depth = 0, blank = 0;
	struct ref r;

	while (blank < l->len && strchr(" \t\r", p[blank]) && p[blank])
		blank++;
	CHECK((v == JSON_BLANK) == (blank == l->len));
	if (v == JSON_BLANK)
		return;
	ref_parse(&r, p, (size_t)l->len);
	CHECK(r.ok == (v == JSON_VALUE));
	if (!r.ok) {
		CHECK(r.error == l->error_off);
		ref_release(&r);
		return;
	}
	CHECK(l->value.off == r.nodes[0].off && l->value.len == r.nodes[0].len);
	same_members(&r, l);
	for (size_t i = 0; i < r.nr; i++) {
		struct ref_node *n = &r.nodes[i];

		depth = n->depth > depth ? n->depth : depth;
		if (n->key_len)
			same_text(p + n->key_off, n->key_len);
		if (n->type == '"')
			same_text(p + n->off, n->len);
		/* each level goes through all levels below it: not done for many levels */
		if ((n->type == '{' || n->type == '[') && n->depth < 50)
			same_walk(&r, i);
	}
	written_anew(&r, depth);
	ref_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *p = fuzz_alloc(len + GROVE__JSON_PAD);

	if (!want.nr)
		grove__json_want_init(&want, members, NR);
	memset(p, '"', len + GROVE__JSON_PAD);
	memcpy(p, bytes, len);
	for (size_t at = 0; at <= len;) {
		struct grove__json_line l;
		enum grove__json_verdict v = grove__json_scan(&want, p + at, len - at, true, &l);

		one_line(p + at, &l, v);
		at += (size_t)l.len + 1;
	}
	free(p);
	return 0;
}
