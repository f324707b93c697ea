/*
 * digest/shape.c: what only the tree of a session shows, for a long list.
 *
 * The reading that makes a list finds it for a regular log, see outline.h. Any other
 * session is loaded as if it were opened, but by a thread of the list: so no progress
 * is reported, and the image is not kept, since the result goes into the catalog.
 */
#include "digest/shape.h"

struct packed {
	uint64_t entries, branches, compactions, malformed;
	uint64_t nr_labels;
	uint32_t torn, has_leaf;
	char dialect[16];
	/* followed by the leaf's id and the labels, each with its NUL */
};

static void name_dialect(struct packed *p, const struct grove__dialect *dialect)
{
	size_t n = strnlen(dialect->name, sizeof(p->dialect) - 1);

	memset(p->dialect, 0, sizeof(p->dialect));
	memcpy(p->dialect, dialect->name, n);
}

static bool unpack(struct grove_slice bytes, const struct grove__dialect *dialect,
		   struct grove__shape *out)
{
	const char *text, *end = bytes.ptr + bytes.len;
	struct packed p, want;

	if (bytes.len <= sizeof(p) || bytes.ptr[bytes.len - 1])
		return false;
	memcpy(&p, bytes.ptr, sizeof(p));
	name_dialect(&want, dialect);
	if (memcmp(p.dialect, want.dialect, sizeof(p.dialect)) != 0)
		return false;
	text = bytes.ptr + sizeof(p);
	*out = (struct grove__shape){ p.entries, p.branches, p.compactions, p.malformed, p.torn,
				      p.has_leaf ? text : NULL, .nr_labels = p.nr_labels };
	text += strlen(text) + 1;
	for (size_t i = 0; i < GROVE_LIST_LABELS && i < p.nr_labels; i++, text += strlen(text) + 1) {
		if (text >= end)
			return false;
		out->labels[i] = text;
	}
	return true;
}

static int pack(const struct grove__shape *s, const struct grove__dialect *dialect,
		struct grove_buf *out)
{
	struct packed p = { .entries = s->entries, .branches = s->branches, .compactions = s->compactions,
			    .malformed = s->malformed, .nr_labels = s->nr_labels, .torn = s->torn,
			    .has_leaf = s->leaf != NULL };
	const char *leaf = s->leaf ? s->leaf : "";
	int rc;

	name_dialect(&p, dialect);
	rc = grove__buf_add(out, &p, sizeof(p));
	rc = rc ? rc : grove__buf_add(out, leaf, strlen(leaf) + 1);
	for (size_t i = 0; i < GROVE_LIST_LABELS && s->labels[i] && !rc; i++)
		rc = grove__buf_add(out, s->labels[i], strlen(s->labels[i]) + 1);
	return rc;
}

static struct grove__shape shape_in(const struct grove__outline *o)
{
	return (struct grove__shape){ o->entries, o->branches, o->compactions, .leaf = o->entries ? o->last.ptr : NULL };
}

int grove__shape_pack(const struct grove__outline *o, const struct grove__dialect *dialect, struct grove_buf *out)
{
	const struct grove__shape s = shape_in(o);

	return pack(&s, dialect, out);
}

/* A part of the same reply, or a result of its calls. */
static bool continues_reply(const struct grove__spine *sp, uint32_t row, uint32_t parent)
{
	uint8_t above = grove__spine_role(sp, parent), role = grove__spine_role(sp, row);

	if (role == GROVE_ROLE_TOOL_RESULT)
		return above == GROVE_ROLE_ASSISTANT || above == GROVE_ROLE_TOOL_RESULT;
	return role == GROVE_ROLE_ASSISTANT && above == GROVE_ROLE_ASSISTANT;
}

/*
 * Does the conversation branch here, where a reply is several entries? Its calls at the
 * same time fork the tree, each into its result and the next call, and a note may hang
 * beside what follows.
 */
static bool branches_between_replies(const struct grove__spine *sp, uint32_t row)
{
	unsigned others = 0;
	bool continued = false;

	for (uint32_t at = grove__spine_child(sp, row); at != GROVE_NO_ENTRY; at = grove__spine_sibling(sp, at)) {
		if (continues_reply(sp, at, row))
			continued = true;
		else if (grove__spine_kind(sp, at) == GROVE_KIND_MESSAGE || grove__spine_child(sp, at) != GROVE_NO_ENTRY)
			others++;
	}
	return others + continued > 1;
}

static void count(const struct grove__spine *sp, const struct grove__dialect *dialect, struct grove__shape *out)
{
	bool split = dialect->write.split;

	for (uint32_t i = 0; i < sp->nr; i++) {
		if (grove__tree_is_mark(sp, i))
			continue;
		out->entries++;
		out->branches += grove__tree_forks(sp, i) && (!split || branches_between_replies(sp, i));
		out->compactions += grove__spine_kind(sp, i) == GROVE_KIND_COMPACTION;
	}
}

/* The latest labels of entries that exist. */
static int read_labels(const struct grove__spine *sp, struct grove__arena *tmp, struct grove__shape *out)
{
	struct grove__labels *l = grove__labels_new(sp);
	int rc = l ? 0 : GROVE_ENOMEM;

	for (size_t i = l ? l->nr : 0; i-- && !rc;) {
		if (l->label[i].row == GROVE_NO_ENTRY)
			continue;
		if (out->nr_labels < GROVE_LIST_LABELS) {
			out->labels[out->nr_labels] = grove__arena_dup(tmp, grove__slice_str(l->label[i].text));
			rc = out->labels[out->nr_labels] ? 0 : GROVE_ENOMEM;
		}
		out->nr_labels++;
	}
	grove__labels_unref(l);
	return rc;
}

/* Finds where the conversation ends: where a value in the store says, or by the model. */
static int find_leaf(struct grove__image *im, struct grove_store_log *log, const char *name, uint32_t *leaf,
		     struct grove_detail *d)
{
	struct grove__own_file own;
	struct grove__chain_ask ask = { .own_file = grove__dialect_own_file(im->dialect, name, NULL, &own) };
	struct grove_buf value = GROVE_BUF_INIT;
	struct grove__chain_walk w;
	const char *kept = NULL;
	int rc = 0;

	*leaf = GROVE_NO_ENTRY;
	if (grove__log_has_changes(log))
		rc = grove__log_meta_get(log, GROVE__KEPT_LEAF, &value, d);
	rc = rc == GROVE_ENOTFOUND ? 0 : rc;
	if (!rc)
		kept = grove__image_kept_leaf(&value, im->tail);
	if (kept)
		*leaf = grove__spine_find(im->spine, im->spine->nr, grove__slice_str(kept));
	if (!rc && *leaf == GROVE_NO_ENTRY && !(kept && !strcmp(kept, GROVE_ROOT))) {
		if (grove__model_is_path(im->dialect)) {
			*leaf = grove__tree_last(im->spine);
		} else if (!(rc = grove__model_walk(im, im->spine->nr, &ask, &w, d))) {
			*leaf = w.leaf;
			grove__walk_release(&w);
		}
	}
	grove__buf_release(&value);
	return rc;
}

static int read_shape(struct grove__image *im, uint32_t leaf, struct grove__arena *tmp, struct grove__shape *out)
{
	*out = (struct grove__shape){ .malformed = im->malformed + im->torn, .torn = im->torn };
	count(im->spine, im->dialect, out);
	if (read_labels(im->spine, tmp, out))
		return GROVE_ENOMEM;
	if (leaf == GROVE_NO_ENTRY || !grove__spine_id(im->spine, leaf))
		return 0;
	out->leaf = grove__arena_dup(tmp, grove__slice_str(grove__spine_id(im->spine, leaf)));
	return out->leaf ? 0 : GROVE_ENOMEM;
}

static int load_shape(struct grove *g, const struct grove__digest_one *x, struct grove__arena *tmp,
		      struct grove__shape *out, bool *same, struct grove_detail *d)
{
	const struct grove__log_at *t = x->task;
	const char *slash = strrchr(t->sub, '/'), *name = slash ? slash + 1 : *t->sub ? t->sub : t->session;
	struct grove_key key = { t->project, t->session, t->sub };
	struct grove__image_source src = { .dialect = x->l.dialect, .path = t->is_file ? t->path : NULL,
					   .cache = g->cache, .read_cache_only = true };
	struct grove__image *im = NULL;
	struct grove_store_log_stat st;
	uint32_t leaf;
	int rc = grove__log_open(&src.log, t->root->store, &key, GROVE_STORE_READ, d);

	rc = rc ? rc : grove__image_open(&src, &im, d);
	rc = rc ? rc : find_leaf(im, src.log, name, &leaf, d);
	if (!rc && read_shape(im, leaf, tmp, out))
		rc = grove__fail_nomem(d);
	*same = !rc && t->is_file && !grove__log_stat(src.log, &st, NULL) && im->tail <= st.tail &&
		grove__log_is_still(&st, &x->st, true);
	grove__image_unref(im);
	grove__log_close(src.log);
	return rc;
}

int grove__shape_of(struct grove *g, struct grove__catalog *c, const struct grove__digest_one *x,
		    struct grove__arena *tmp, struct grove__shape *out, struct grove_detail *d)
{
	struct grove_buf packed = GROVE_BUF_INIT;
	struct grove_slice bytes;
	bool same = false;
	int rc;

	if (x->shaped) {
		*out = shape_in(&x->reader->outline);
		return 0;
	}
	if (x->task->is_file && grove__catalog_find(c, CHAPTER_SHAPE, x->task->path, &x->st, tmp, &bytes) &&
	    unpack(bytes, x->l.dialect, out))
		return 0;
	rc = load_shape(g, x, tmp, out, &same, d);
	/* a file that changed meanwhile is not remembered */
	if (same && !pack(out, x->l.dialect, &packed))
		grove__catalog_put(c, CHAPTER_SHAPE, x->task->path, &x->st, grove__buf_slice(&packed));
	grove__buf_release(&packed);
	return rc;
}
