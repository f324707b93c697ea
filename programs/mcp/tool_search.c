/*
 * tool_search.c: search_sessions.
 */
#include "mcp.h"

#include "kit/cli.h"
#include "kit/indexer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 10, LIMIT_MAX = 100, COMPARE = 1000, NAME_TEXT = 200, SNIPPET_TEXT = 1000 };

static int fail_search(struct call *k, int rc)
{
	struct grove_detail why = { 0 };

	if (k->m->search)
		grove_search_error(k->m->search, &why);
	return why.code ? call_fail(k, rc, "%.500s", why.message) : call_fail_grove(k, rc);
}

static int open_search(struct call *k)
{
	struct mcp *m = k->m;
	int rc;

	if (m->search) {
		rc = grove_search_refresh(m->search);
	} else {
		rc = grove_search_open(m->g, GROVE_SEARCH_NO_UPDATE | GROVE_SEARCH_WATCH, &m->search);
	}
	if (rc) {
		rc = fail_search(k, rc);
		grove_search_close(m->search);
		m->search = NULL;
	}
	return rc;
}

static const char *role_of(const struct grove_hit *h)
{
	if (h->in == GROVE_SEARCH_IN_NAMES)
		return h->kind == GROVE_KIND_NAME ? "title" : "label";
	return h->role == GROVE_ROLE_NONE ? grove_kind_name(h->kind) : grove_role_name(h->role);
}

static void put_hit(struct doc *d, const struct grove_hit *h)
{
	const struct grove_hit_session *s = h->session;

	doc_open(d, '{');
	put_recorded_member(d, "sessionId", s->id, ID_TEXT);
	put_recorded_member(d, "entryId", h->entry_id, ID_TEXT);
	doc_member(d, "role", role_of(h));
	doc_member_time(d, "time", h->time);
	doc_name(d, "snippet");
	put_recorded(d, h->snippet, SNIPPET_TEXT);
	doc_member_bool(d, "onActivePath", h->on_active_path);
	doc_member_bool(d, "inContext", h->in_context);
	if (h->copies)
		doc_member_number(d, "copies", h->copies);
	doc_member_match(d, h);
	doc_name(d, "session");
	doc_open(d, '{');
	put_recorded_member(d, "name", s->name, NAME_TEXT);
	put_recorded_member(d, "cwd", s->cwd, PATH_TEXT);
	doc_member(d, "agent", s->agent);
	doc_member_time(d, "modified", s->modified);
	doc_close(d, '}');
	doc_close(d, '}');
}

/*
 * A page of ours may end within one of the library's: the cursor then has that of the
 * library's page, its size, and how many of its hits to skip.
 *
 *	s SKIP . SIZE . INNER
 */
struct page {
	uint64_t skip, size;
	uint64_t limit;          /* the hits to show */
	const char *inner;       /* NULL for the first */
};

/* Reads a number that is followed by a dot. Returns NULL if it is none, or too large. */
static const char *read_part(const char *p, uint64_t *out)
{
	char *end;

	if (*p < '0' || *p > '9')
		return NULL;
	*out = strtoull(p, &end, 10);
	return *end == '.' && *out <= LIMIT_MAX ? end + 1 : NULL;
}

static int read_page(struct call *k, struct page *p)
{
	const char *at = arg_text(k, "cursor");

	p->size = p->limit = arg_number(k, "limit", LIMIT_DEFAULT);
	if (!at)
		return 0;
	at = *at == 's' ? read_part(at + 1, &p->skip) : NULL;
	at = at ? read_part(at, &p->size) : NULL;
	if (!at || !p->size)
		return call_fail(k, GROVE_EINVAL, "cursor is not one that this tool returned");
	p->inner = *at ? at : NULL;
	/* the page begins afresh, so it can have the size that is asked for now */
	if (!p->skip)
		p->size = p->limit;
	return 0;
}

static void put_next(struct doc *d, uint64_t skip, uint64_t size, const char *inner)
{
	struct doc text = { .rc = 0 };

	doc_printf(&text, "s%llu.%llu.", (unsigned long long)skip, (unsigned long long)size);
	doc_puts(&text, inner ? inner : "");
	doc_name(d, "nextCursor");
	doc_text(d, grove_buf_slice(&text.buf));
	doc_release(&text);
}

static void put_hits(struct call *k, const struct grove_hits *hits, const struct page *p)
{
	struct doc *d = &k->d, item = { .rc = 0 };
	struct grove_hits_about about = { .size = sizeof(about) };
	size_t i = (size_t)p->skip, nr = 0, all = grove_hits_count(hits);

	grove_hits_about(hits, &about);
	put_notice(d);
	doc_name(d, "hits");
	doc_open(d, '[');
	for (; i < all && nr < p->limit; i++, nr++) {
		item.buf.len = 0;
		put_hit(&item, grove_hits_at(hits, i));
		if (!put_item(k, &item, nr))
			break;
	}
	doc_close(d, ']');
	doc_member_number(d, "total", about.total);
	doc_member_number(d, "sessions", about.sessions);
	if (about.suggest)
		put_recorded_member(d, "didYouMean", about.suggest, NAME_TEXT);
	if (about.behind)
		doc_member_number(d, "notIndexedYet", about.behind);
	if (i < all)
		put_next(d, i, p->size, p->inner);
	else if (about.cursor)
		put_next(d, 0, p->size, about.cursor);
	doc_member_away(d, k->m->g, 0);
	doc_close(d, '}');
	doc_release(&item);
	if (about.behind && !k->m->c->no_cache)
		indexer_wake(k->m->indexer);
}

static int search_sessions(struct call *k)
{
	struct grove_search_options o = { .size = sizeof(o), .role = arg_text(k, "role"), .what = arg_text(k, "session"),
					  .compare = COMPARE };
	struct page page = { 0 };
	struct grove_period when = { 0 };
	struct grove_hits *hits = NULL;
	int rc = read_page(k, &page);

	if (!rc)
		rc = arg_scope(k, &o.cwd, &o.agent);
	if (!rc)
		rc = arg_period(k, &when);
	if (!rc)
		rc = open_search(k);
	if (rc)
		return rc;
	o.since = when.since;
	o.until = when.until;
	o.cursor = page.inner;
	o.limit = page.size;
	if (arg_text(k, "in"))
		o.in = 1u << arg_number(k, "in", 0);
	rc = grove_search_run(k->m->search, arg_text(k, "query"), &o, &hits);
	if (rc)
		return fail_search(k, rc);
	put_hits(k, hits, &page);
	grove_hits_free(hits);
	return 0;
}

const struct tool tool_search_sessions = {
	"search_sessions", "Search sessions",
	"Searches the text of all past sessions: messages, summaries, tool calls and their results, titles, labels. "
	"Messages that have all the words come first, then sessions in which they are spread, then those with most of them "
	"(match: message, session, some; missing: the words they lack). Each hit has a snippet, its session and its entry: pass both to get_messages to read around it.",
	(const struct arg[]){
		{ "query", VALUE_TEXT, .required = 1, .about = "Words or a question; words match in any English form; \"two words\" "
		  "adjacent, =exact, -without, pre*. The last word matches as a prefix." },
		{ "in", VALUE_CHOICE, .choices = "text|calls|results|names", .about = "Only messages, tool calls, results, or titles and labels." },
		{ "role", VALUE_TEXT, .about = "Only texts of this role: user, assistant, tool, call, ..." },
		{ "cwd", VALUE_TEXT, .about = "Only sessions of this directory or below it (an absolute path)." },
		{ "agent", VALUE_TEXT, .about = "Only sessions of this agent: pi, omp, xcsh, openclaw or claude." },
		{ "session", VALUE_TEXT, .about = "Only this session: its id, a prefix of it, its path, or last." },
		{ "since", VALUE_TEXT, .about = "Only texts that are not older than this: 7d, 12h, yesterday, 2026-11-03." },
		{ "until", VALUE_TEXT, .about = "Only texts that are not newer than this; a day or month is included as a whole." },
		{ "limit", VALUE_NUMBER, .least = 1, .most = LIMIT_MAX, .about = "Hits per page. Default: 10." },
		ARG_CURSOR, ARG_BYTES, { NULL },
	},
	search_sessions,
};
