/*
 * route.c: the table of routes, and how a request finds its row.
 */
#include "route.h"
#include "handlers.h"
#include "metrics.h"
#include "reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API "/api/v1"
#define JSON "application/json"

#define SUB { "sub", PARAM_TEXT, 0, NULL, "the transcript of this sub-agent" }

static const struct param list_query[] = {
	{ "store", PARAM_TEXT, 0, NULL, "only sessions of this store; file:, sqlite: … of all stores of that kind" },
	{ "cwd", PARAM_TEXT, 0, NULL, "only sessions of this directory" },
	{ "q", PARAM_TEXT, 0, NULL, "words, \"phrases\" or re:PATTERN, as for grove ls" },
	{ "agent", PARAM_TEXT, 0, NULL, "only sessions of this agent" },
	{ "project", PARAM_TEXT, 0, NULL, "the last part of the directory, or a directory and those below it" },
	{ "named", PARAM_FLAG, 0, NULL, "only sessions with a name" },
	{ "branched", PARAM_FLAG, 0, NULL, "only sessions with branches" },
	{ "damaged", PARAM_FLAG, 0, NULL, "only sessions with lines that cannot be read" },
	{ "running", PARAM_FLAG, 0, NULL, "only sessions that an agent has open" },
	{ "labelled", PARAM_FLAG, 0, NULL, "only sessions with labels" },
	{ "expiring", PARAM_NUMBER, 0, NULL, "only sessions that their agent will delete within this many days" },
	{ "sort", PARAM_TEXT, 0, "modified|created|size|messages|name|relevance|cost", "the order" },
	{ "threads", PARAM_FLAG, 0, NULL, "each session after the one it was forked from, with its depth" },
	{ "fields", PARAM_TEXT, 0, NULL, "shape, cost: more about each session; separated by commas" },
	{ "facets", PARAM_FLAG, 0, NULL, "the number of sessions by project, agent and view" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many; default 100" },
	{ "cursor", PARAM_TEXT, 0, NULL, "`next` of the previous page" },
	{ NULL },
};

static const struct param create_body[] = {
	{ "store", PARAM_TEXT, 0, NULL, "the store; required if several are writable" },
	{ "dialect", PARAM_TEXT, PARAM_REQUIRED, NULL, "pi, omp, xcsh or claude" },
	{ "cwd", PARAM_TEXT, PARAM_REQUIRED, NULL, "its working directory" },
	{ "id", PARAM_TEXT, 0, NULL, "its id; default: a new one" },
	{ "name", PARAM_TEXT, 0, NULL, "its name" },
	{ "agentId", PARAM_TEXT, 0, NULL, "the id of its owner" },
	{ NULL },
};

#define NEW_SESSION \
	{ "dialect", PARAM_TEXT, 0, NULL, "for a session that does not exist yet: pi, omp, xcsh or claude; default: what its lines show" }, \
	{ "cwd", PARAM_TEXT, 0, NULL, "for a new session: its directory here; default: what its lines say" }, \
	{ "store", PARAM_TEXT, 0, NULL, "for a new session: the store; required if several are writable" }, \
	{ "file", PARAM_TEXT, 0, NULL, "for a new session: the name of its log" }

static const struct param ingress_query[] = {
	{ "after", PARAM_NUMBER, 0, NULL, "skip this many lines" },
	{ "sub", PARAM_TEXT, 0, NULL, "a log that belongs to the session, such as subagents/agent-1" },
	{ NULL },
};

static const struct param ingress_put_query[] = {
	{ "expectedSeq", PARAM_NUMBER, 0, NULL, "409 if the log has another number of lines; 0: also if there is none" },
	{ "sub", PARAM_TEXT, 0, NULL, "a log that belongs to the session, such as subagents/agent-1" },
	{ "leaf", PARAM_TEXT, 0, "keep|follow", "keep: the leaf moves only to an entry below it; follow: it goes where the lines lead" },
	{ "sync", PARAM_TEXT, 0, "none|flush|always", "how durable it is before the response" },
	{ "modified", PARAM_NUMBER, 0, NULL, "when it was last written to where it comes from, in ms; default: now" },
	NEW_SESSION,
	{ NULL },
};

static const struct param file_query[] = {
	{ "stat", PARAM_FLAG, 0, NULL, "only its size, as JSON" },
	{ NULL },
};

static const struct param file_put_query[] = { NEW_SESSION, { NULL } };

static const struct param session_query[] = { SUB, { NULL } };

static const struct param agent_query[] = {
	{ "agentId", PARAM_TEXT, 0, NULL, "the owner that the client assumes; the session's actual store decides" },
	{ NULL },
};

static const struct param patch_body[] = {
	{ "name", PARAM_TEXT, 0, NULL, "a new name" },
	{ "cwd", PARAM_TEXT, 0, NULL, "another working directory; the file moves accordingly" },
	{ "agentId", PARAM_TEXT, PARAM_NULL, NULL, "the id of its owner" },
	{ "metadata", PARAM_JSON, 0, NULL, "any JSON that the host stores with the session" },
	{ NULL },
};

static const struct param delete_query[] = {
	{ "agentId", PARAM_TEXT, 0, NULL, "the owner that the client assumes; the session's actual store decides" },
	{ "dryRun", PARAM_FLAG, 0, NULL, "report what would be removed, and remove nothing" },
	{ "force", PARAM_FLAG, 0, NULL, "even while an agent has the session open" },
	{ NULL },
};

static const struct param snapshot_query[] = {
	{ "entries", PARAM_TEXT, 0, "all|path|none", "which entries to include" },
	{ "after", PARAM_NUMBER, 0, NULL, "leave out entries in the first N lines" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many entries" },
	{ "maxBody", PARAM_NUMBER, 0, NULL, "longer texts become references" },
	{ "project", PARAM_FLAG, 0, NULL, "results of sub-agents have their projection" },
	{ "blobs", PARAM_FLAG, 0, NULL, "references to blobs are replaced by their contents" },
	{ "parts", PARAM_TEXT, 0, NULL, "session, labels, path, children, context, subagents, entries: only these" },
	SUB,
	{ NULL },
};

static const struct param tree_query[] = {
	{ "level", PARAM_TEXT, 0, "turns|all", "every entry, or those that give the tree its shape" },
	{ "after", PARAM_NUMBER, 0, NULL, "begin with this seq" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many entries" },
	{ "preview", PARAM_NUMBER, 0, NULL, "the first N characters of each, at most 400" },
	SUB,
	{ NULL },
};

static const struct param entries_query[] = {
	{ "after", PARAM_NUMBER, 0, NULL, "begin with this seq" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many entries" },
	{ "seq", PARAM_TEXT, 0, NULL, "ranges of seq, both ends included: 100-180,190-220" },
	{ "view", PARAM_TEXT, 0, "ui|stored", "ui: long texts and images become references" },
	{ "maxBody", PARAM_NUMBER, 0, NULL, "with view=ui: longer texts become references; default 8192" },
	{ "blobs", PARAM_FLAG, 0, NULL, "references to blobs are replaced by their contents" },
	SUB,
	{ NULL },
};

static const struct param append_query[] = {
	{ "expectedSeq", PARAM_NUMBER, 0, NULL, "only if the log has this many lines" },
	{ "sync", PARAM_TEXT, 0, "none|flush|always", "how durable it is before the response; default flush" },
	{ "parent", PARAM_TEXT, 0, NULL, "the entry to append below, or root; default: the leaf" },
	{ NULL },
};

static const struct param entry_query[] = {
	{ "blobs", PARAM_FLAG, 0, NULL, "references to blobs are replaced by their contents" },
	SUB,
	{ NULL },
};

static const struct param update_body[] = {
	{ "pointer", PARAM_TEXT, PARAM_REQUIRED, NULL, "a JSON pointer into the entry: /message/content/0/text" },
	{ "value", PARAM_JSON, PARAM_REQUIRED, NULL, "the new value" },
	{ NULL },
};

static const struct param text_query[] = {
	{ "pointer", PARAM_TEXT, PARAM_REQUIRED, NULL, "a JSON pointer to a text of the entry" },
	{ "offset", PARAM_NUMBER, 0, NULL, "the first byte" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many bytes, and at least 8; default 64 KiB" },
	SUB,
	{ NULL },
};

static const struct param leaf_query[] = {
	{ "leaf", PARAM_TEXT, 0, NULL, "the entry at its end, or root; default: the session's leaf" },
	SUB,
	{ NULL },
};

static const struct param context_query[] = {
	{ "leaf", PARAM_TEXT, 0, NULL, "the entry at its end, or root; default: the session's leaf" },
	{ "mode", PARAM_TEXT, 0, "cli|sdk", "Claude: which of its two ways to read a session" },
	{ "llm", PARAM_FLAG, 0, NULL, "as plain messages for a model" },
	{ "explain", PARAM_FLAG, 0, NULL, "why entries are or are not part of it, in runs by seq, and why the leaf is the leaf" },
	{ "parts", PARAM_FLAG, 0, NULL, "the tokens of each part, and of the window" },
	{ "messages", PARAM_TEXT, 0, "none|head|all",
	  "none: no messages; head: only role, title, first words, bytes and tokens of each" },
	SUB,
	{ NULL },
};

static const struct param diff_query[] = {
	{ "a", PARAM_TEXT, PARAM_REQUIRED, NULL, "the entry at the end of one branch, or root" },
	{ "b", PARAM_TEXT, PARAM_REQUIRED, NULL, "the entry at the end of the other" },
	SUB,
	{ NULL },
};

static const struct param leaf_body[] = {
	{ "entryId", PARAM_TEXT, PARAM_REQUIRED | PARAM_NULL, NULL, "the new leaf; null: before the first entry" },
	{ "summary", PARAM_TEXT, 0, NULL, "a summary of the branch that is left" },
	{ "expectedRev", PARAM_NUMBER, 0, NULL, "only if the session is still at this revision" },
	{ NULL },
};

static const struct param continue_query[] = {
	{ "dryRun", PARAM_FLAG, 0, NULL, "report what would happen, and change nothing" },
	{ NULL },
};

static const struct param continue_body[] = {
	{ "entryId", PARAM_TEXT, PARAM_REQUIRED, NULL, "the entry to continue from" },
	{ "expectedRev", PARAM_NUMBER, 0, NULL, "only if the session is still at this revision" },
	{ "force", PARAM_FLAG, 0, NULL, "even while an agent has the session open" },
	{ NULL },
};

static const struct param label_body[] = {
	{ "text", PARAM_TEXT, PARAM_REQUIRED | PARAM_NULL, NULL, "the label; null clears it" },
	{ NULL },
};

static const struct param branch_body[] = {
	{ "entryId", PARAM_TEXT, PARAM_REQUIRED, NULL, "the path to this entry becomes a session of its own" },
	{ "cwd", PARAM_TEXT, 0, NULL, "make it a session of this directory" },
	{ NULL },
};

static const struct param fork_body[] = {
	{ "cwd", PARAM_TEXT, 0, NULL, "make it a session of this directory; default: next to the source" },
	{ NULL },
};

static const struct param search_query[] = {
	{ "q", PARAM_TEXT, PARAM_REQUIRED, NULL,
	  "words or a question: messages with all the words first, in any form, then sessions with most of them; =exact, "
	  "\"adjacent words\", prefix*, -without; the last word also matches as a prefix" },
	{ "strict", PARAM_FLAG, 0, NULL, "only messages that have all words" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many; default 20" },
	{ "in", PARAM_TEXT, 0, NULL, "text, calls, results, names, separated by commas; or all" },
	{ "role", PARAM_TEXT, 0, NULL, "user, assistant, tool, call, …" },
	{ "project", PARAM_TEXT, 0, NULL, "only below this directory" },
	{ "agent", PARAM_TEXT, 0, NULL, "only sessions of this agent" },
	{ "since", PARAM_TEXT, 0, NULL, "the first day or time: 2026-11-03, 7d, monday, or milliseconds since 1970" },
	{ "until", PARAM_TEXT, 0, NULL, "the last day or time, including all of the day, month or year" },
	{ "tz", PARAM_TEXT, 0, NULL, "the time zone of days: Europe/Berlin, +02:00; default: the server's" },
	{ "group", PARAM_TEXT, 0, "session", "hits by session; limit counts sessions" },
	{ "cursor", PARAM_TEXT, 0, NULL, "continue after a reply that had this as `next`" },
	{ NULL },
};

static const struct param inside_query[] = {
	{ "q", PARAM_TEXT, PARAM_REQUIRED, NULL, "as for /search" },
	{ "in", PARAM_TEXT, 0, NULL, "text, calls, results, names, separated by commas; or all" },
	{ "cursor", PARAM_TEXT, 0, NULL, "continue after a reply that had this as `next`" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many; default 200" },
	SUB,
	{ NULL },
};

static const struct param usage_query[] = {
	{ "by", PARAM_TEXT, 0, "day|model|session|project|agent|week|month|block", "what each row stands for" },
	{ "stack", PARAM_TEXT, 0, "model", "break each row down by model" },
	{ "since", PARAM_TEXT, 0, NULL, "the first day: 7d, yesterday, 2026-11, 2026-11-03" },
	{ "until", PARAM_TEXT, 0, NULL, "the last day, month or year" },
	{ "project", PARAM_TEXT, 0, NULL, "the last part of the directory, or a directory and those below it" },
	{ "agent", PARAM_TEXT, 0, NULL, "only sessions of this agent" },
	{ "tz", PARAM_TEXT, 0, NULL, "the time zone of days: Europe/Berlin, +02:00; default: the server's" },
	{ "limit", PARAM_NUMBER, 0, NULL, "at most this many rows: the largest, or the latest" },
	{ NULL },
};

static const struct param turns_query[] = {
	{ "by", PARAM_TEXT, 0, "turn|day|model|session|project|agent|week|month|block",
	  "columns of seq, time, context, output and cost; or what the session is billed for, as in /usage" },
	{ "tz", PARAM_TEXT, 0, NULL, "the time zone of days: Europe/Berlin, +02:00; default: the server's" },
	SUB,
	{ NULL },
};

static const struct param export_query[] = {
	{ "format", PARAM_TEXT, 0, "md|json|html", "default: md" },
	{ "leaf", PARAM_TEXT, 0, NULL, "the conversation that ends there" },
	{ "redact", PARAM_FLAG, 0, NULL, "without keys, tokens, home directories and e-mail addresses" },
	{ "subagents", PARAM_FLAG, 0, NULL, "with the transcripts of sub-agents" },
	SUB,
	{ NULL },
};

static const struct param events_query[] = {
	{ "list", PARAM_FLAG, 0, NULL, "report sessions that appear, change and disappear" },
	{ "s", PARAM_TEXT, PARAM_MANY, NULL, "a session and the last rev seen: KEY:REV" },
	{ NULL },
};

static const struct param exchange_body[] = {
	{ "code", PARAM_TEXT, PARAM_REQUIRED, NULL, "the one-time code that the server printed, or a token" },
	{ NULL },
};

const struct route routes[] = {
	{ "GET", API "/health", SCOPE_NONE, PACE_QUICK, get_health, "Is the server running?",
	  .answer = "status:s" },
	{ "GET", API "/openapi.json", SCOPE_NONE, PACE_QUICK, get_openapi, "This document.",
	  .answer = "openapi:s info:o paths:o components:o x-kinds:o x-roles:o x-events:o" },
	{ "GET", API "/me", SCOPE_READ, PACE_SLOW, get_me, "What the caller may see and do.",
	  .answer = "version:s name:s scopes:[s] readOnly:b stores:[Store] agents:[Agent] limits:Limits" },
	{ "POST", API "/auth/exchange", SCOPE_NONE, PACE_QUICK, post_exchange,
	  "Exchanges the one-time code, or a token, for a cookie.", NULL, exchange_body, .status = 204 },
	{ "POST", API "/auth/logout", SCOPE_NONE, PACE_QUICK, post_logout, "Invalidates the cookie.", .status = 204 },

	{ "GET", API "/sessions", SCOPE_READ, PACE_SHARED, get_sessions, "Sessions, newest first.", list_query,
	  .answer = "sessions:[ListItem] next:s0 total:i rev:i away?:[s] facets?:Facets", .wide = 1 },
	{ "POST", API "/sessions", SCOPE_WRITE, PACE_SLOW, post_session, "Creates a session.", NULL, create_body,
	  .status = 201,
	  .answer = "id:s key:s path:s0 cwd:s dialect:s" },
	{ "GET", API "/sessions/{id}", SCOPE_READ, PACE_SHARED, get_session, "The record of a session.", session_query,
	  .answer = SESSION_RECORD, .owner = 1 },
	{ "PATCH", API "/sessions/{id}", SCOPE_WRITE, PACE_SLOW, patch_session,
	  "Renames or moves a session, or stores a value with it.", agent_query, patch_body,
	  .answer = "id:s key:s path:s0 cwd:s rev:i generation:i" },
	{ "DELETE", API "/sessions/{id}", SCOPE_WRITE, PACE_SLOW, delete_session,
	  "Removes a session from the store that has it.", delete_query,
	  .answer = "id:s store:s path:s0 agentId:s0 entries:i agents:i blobs:i trash:b openBy?:Opener0 "
		    "removed:b" },
	{ "GET", API "/sessions/{id}/snapshot", SCOPE_READ, PACE_SHARED, get_snapshot,
	  "What a user interface loads on refresh.", snapshot_query,
	  .answer = "session?:SnapshotSession entries?:[*] activePath?:[s] childrenByParentId?:{[s]} "
		    "labelsByEntryId?:{s} runtimeContext?:o subagents?:Subagents", .owner = 1 },
	{ "GET", API "/sessions/{id}/tree", SCOPE_READ, PACE_SHARED, get_tree,
	  "The shape of a session in columns, without bodies.", tree_query,
	  .answer = "session:Session level:all|turns n:i seq:[i] id:[s0] parent:[i] kind:s role:s flags:[i] bytes:[i] "
		    "time:[i] run?:[i] text?:[s0] failed?:[i] labels:{s} parentId?:{s0} leaf:i0 next:i0", .owner = 1 },
	{ "GET", API "/sessions/{id}/entries", SCOPE_READ, PACE_SHARED, get_entries,
	  "Entries by seq; at most 1 MiB, and `more` says what is left.", entries_query,
	  .answer = "rev:i generation:i entries:[StoredEntry] more:[[i]]" },
	{ "POST", API "/sessions/{id}/entries", SCOPE_WRITE, PACE_SLOW, post_entries,
	  "Appends an entry, or an array of them: all or none.", append_query, .status = 201,
	  .answer = "ids:[s] id:s0 seq:i rev:i" },
	{ "GET", API "/sessions/{id}/entries/{entryId}", SCOPE_READ, PACE_SHARED, get_entry, "One entry.", entry_query,
	  .answer = "rev:i generation:i seq:i label?:s entry:o" },
	{ "PATCH", API "/sessions/{id}/entries/{entryId}", SCOPE_WRITE, PACE_SLOW, patch_entry,
	  "Replaces one value of an entry.", NULL, update_body,
	  .answer = "entryId:s rev:i generation:i" },
	{ "GET", API "/sessions/{id}/entries/{entryId}/text", SCOPE_READ, PACE_SLOW, get_text,
	  "A part of a long text; no character is split.", text_query, .gives = "text/plain" },
	{ "GET", API "/sessions/{id}/entries/{entryId}/media/{n}", SCOPE_READ, PACE_SLOW, get_media,
	  "An image of an entry, decoded.", session_query, .gives = "image/*" },
	{ "GET", API "/sessions/{id}/path", SCOPE_READ, PACE_SHARED, get_path, "The ids from the root to a leaf.",
	  leaf_query,
	  .answer = "rev:i generation:i leaf:s0 activePath:[s]" },
	{ "GET", API "/sessions/{id}/context", SCOPE_READ, PACE_SHARED, get_context, "What the model would be sent.",
	  context_query,
	  .answer = "messages?:[*] entryIds?:[s0] thinkingLevel?:* model?:* leaf:s0 parts?:[ContextPart] "
		    "window?:ContextWindow explain?:[ContextRun] leafReason?:LeafReason rev:i generation:i *" },
	{ "GET", API "/sessions/{id}/diff", SCOPE_READ, PACE_SHARED, get_diff, "Compares two branches.", diff_query,
	  .answer = "fork:s0 common:i a:DiffSide b:DiffSide rev:i generation:i" },
	{ "PUT", API "/sessions/{id}/leaf", SCOPE_WRITE, PACE_SLOW, put_leaf, "Moves the leaf, for everybody.", NULL,
	  leaf_body,
	  .answer = "leafEntryId:s0 summaryId?:s rev:i generation:i" },
	{ "POST", API "/sessions/{id}/continue", SCOPE_WRITE, PACE_SLOW, post_continue,
	  "Continues from an entry: replays a prompt, or moves the leaf.", continue_query, continue_body,
	  .answer = "outcome:append|replay|switch leafEntryId?:s0 leafAfter?:s0 leavesBehind?:i content?:* "
		    "contextTokens?:i model?:s0 openBy?:Opener0 rev:i generation:i" },
	{ "PUT", API "/sessions/{id}/labels/{entryId}", SCOPE_WRITE, PACE_SLOW, put_label, "Labels an entry.", NULL,
	  label_body,
	  .answer = "entryId:s id:s0 rev:i generation:i" },
	{ "POST", API "/sessions/{id}/branches", SCOPE_WRITE, PACE_SLOW, post_branch,
	  "Makes the path to an entry a session of its own.", NULL, branch_body, .status = 201,
	  .answer = "id:s key:s path:s0 cwd:s dialect:s" },
	{ "POST", API "/sessions/{id}/fork", SCOPE_WRITE, PACE_SLOW, post_fork, "Copies the whole tree to a new session.",
	  NULL, fork_body, .status = 201,
	  .answer = "id:s key:s path:s0 cwd:s dialect:s" },
	{ "GET", API "/sessions/{id}/search", SCOPE_READ, PACE_SLOW, get_search_inside,
	  "Searches one session; hits are in the order of the log.", inside_query,
	  .answer = "hits:[HitInside] total:i next?:s" },
	{ "GET", API "/sessions/{id}/usage", SCOPE_READ, PACE_SLOW, get_session_usage, "The context over time, or tokens and cost.",
	  turns_query,
	  .answer = "seq?:[i] time?:[n0] context?:[i] output?:[i] cost?:[n0] totals?:UsageSum rows?:[UsageRow] "
		    "replies?:i copies?:i unpriced?:[Unpriced] away?:[s]" },
	{ "GET", API "/sessions/{id}/agents", SCOPE_READ, PACE_SLOW, get_agents, "The sub-agents of a session.",
	  .answer = "rev:i generation:i agents:[Subagent]" },
	{ "GET", API "/sessions/{id}/check", SCOPE_READ, PACE_SLOW, get_check, "Is it damaged?",
	  .answer = "files:i entries:i problems:[Problem] more?:b" },
	{ "GET", API "/sessions/{id}/export", SCOPE_READ, PACE_SLOW, get_export, "The conversation as a file.",
	  export_query, .gives = "text/markdown|text/html|application/json", .owner = 1 },
	{ "GET", API "/sessions/{id}/events", SCOPE_READ, PACE_SLOW, get_session_events, "Events of a session.",
	  .gives = "text/event-stream" },

	{ "GET", API "/search", SCOPE_READ, PACE_SLOW, get_search, "Searches all sessions.", search_query,
	  .answer = "hits?:[Hit] groups?:[SearchGroup] total:i sessions:i next?:s suggest?:s "
		    "index:SearchIndex tookMs:i away?:[s]", .wide = 1 },
	{ "GET", API "/usage", SCOPE_READ, PACE_SLOW, get_usage, "Tokens and cost.", usage_query,
	  .answer = "totals:UsageSum rows:[UsageRow] replies?:i copies?:i unpriced?:[Unpriced] away?:[s]", .wide = 1 },
	{ "GET", API "/blobs/{sha256}", SCOPE_READ, PACE_SLOW, get_blob, "The bytes of a blob.",
	  .gives = "application/octet-stream" },
	{ "GET", API "/events", SCOPE_READ, PACE_SLOW, get_events, "Events of many sessions, in one stream.", events_query,
	  .gives = "text/event-stream" },
	{ "GET", API "/ingress/{id}", SCOPE_READ, PACE_SLOW, get_ingress, "Stored lines, for another machine.",
	  ingress_query, .gives = "application/x-ndjson" },
	{ "PUT", API "/ingress/{id}", SCOPE_WRITE, PACE_SLOW, put_ingress,
	  "Stores lines from another machine; lines that are already stored are skipped.", ingress_put_query,
	  .takes = "application/x-ndjson", .body_max = INGRESS_MAX,
	  .answer = "stored:i skipped:i seq:i generation:i created:b branched:b leafEntryId:s0 differing:i differingIds:[s]" },
	{ "GET", API "/ingress/{id}/files", SCOPE_READ, PACE_SLOW, get_ingress_files,
	  "What belongs to a session: logs of sub-agents, and files.",
	  .answer = "id:s key:s dialect:s agent:s0 cwd:s0 file:s leafEntryId:s0 old:b seq:i generation:i modified:i logs:[*] files:[*]" },
	{ "GET", API "/ingress/{id}/files/{name}", SCOPE_READ, PACE_SLOW, get_ingress_file,
	  "An attachment, or a blob as blobs/ and its hash; the name may have several parts.", file_query,
	  .gives = "application/octet-stream", .rest = 1 },
	{ "PUT", API "/ingress/{id}/files/{name}", SCOPE_WRITE, PACE_SLOW, put_ingress_file,
	  "Stores an attachment or a blob.", file_put_query, .takes = "application/octet-stream", .rest = 1, .body_max = INGRESS_MAX,
	  .answer = "name:s size:i" },

	{ "GET", "/metrics", SCOPE_READ, PACE_QUICK, get_metrics, "Figures for Prometheus.", .gives = "text/plain" },
};
const size_t nr_routes = sizeof(routes) / sizeof(routes[0]);

/* The viewer: any path outside the API and the metrics. */
static const struct route page = {
	"GET", "/", SCOPE_NONE, PACE_QUICK, get_page, "The viewer.", .gives = "text/html"
};

size_t route_index(const struct route *t)
{
	return t && t != &page ? (size_t)(t - routes) : nr_routes;
}

static const char *const method_names[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" };

static unsigned method_bit(const char *method)
{
	for (unsigned i = 0; i < 6; i++)
		if (!strcmp(method_names[i], method))
			return 1u << i;
	return 0;
}

static int is_capture(const char *segment)
{
	return segment[1] == '{';
}

/* Matches a path against a pattern, segment by segment, and captures the named ones. */
static int matches(struct request *r, const struct route *t)
{
	unsigned captures = 0, i = 0;
	const char *p = t->path;

	for (; *p; i++) {
		size_t n = strcspn(p + 1, "/");
		const char *s = i < r->target.nr_segments ? r->target.segment[i] : NULL;

		if (!s || !*s)
			return 0;
		if (is_capture(p))
			r->capture[captures++] = s;
		else if (strlen(s) != n || memcmp(s, p + 1, n))
			return 0;
		p += n + 1;
	}
	return i == r->target.nr_segments || (t->rest && i < r->target.nr_segments);
}

const struct route *route_find(struct request *r, unsigned *methods)
{
	const char *method = strcmp(r->method, "HEAD") ? r->method : "GET";
	const char *first = r->target.nr_segments ? r->target.segment[0] : "";

	*methods = 0;
	for (size_t i = 0; i < nr_routes; i++) {
		if (!matches(r, &routes[i]))
			continue;
		if (!strcmp(routes[i].method, method))
			return &routes[i];
		*methods |= method_bit(routes[i].method);
	}
	/* //x/ would be another server's address to a browser */
	if (*methods || !strcmp(first, "api") || !strcmp(first, "metrics") || (!*first && r->target.nr_segments > 1))
		return NULL;
	memset(r->capture, 0, sizeof(r->capture));
	*methods = method_bit("GET");
	return !strcmp(method, "GET") ? &page : NULL;
}

void route_allow_header(struct request *r, unsigned methods)
{
	char list[64] = "";
	size_t n = 0;

	if (methods & 1)
		methods |= 2;
	for (unsigned i = 0; i < 6; i++)
		if (methods & 1u << i)
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", method_names[i]);
	reply_header(r, "Allow", "%s", list);
}

unsigned route_body_max(const struct request *r)
{
	return r->route && r->route->body_max ? r->route->body_max : BODY_MAX;
}

void route_run(struct request *r)
{
	int rc = r->route->run(r);

	if (!rc && !r->status)
		r->status = r->route->status;
	if (rc == GROVE_EIO || rc == GROVE_EAWAY || rc == GROVE_EFULL || rc == GROVE_ENOMEM)
		metrics_store_error(r->server->metrics);
	reply_end(r, rc);
}

/* --------------------------------------------------------------- parameters */

const char *query_text(const struct request *r, const char *name)
{
	return target_param(&r->target, name);
}

int query_number(struct request *r, const char *name, uint64_t *out)
{
	const char *text = query_text(r, name);
	size_t n;

	if (!text)
		return 0;
	n = strspn(text, "0123456789");
	if (!n || text[n] || n > 19)
		return reply_fail(r, GROVE_EINVAL, "%s must be a number", name);
	*out = strtoull(text, NULL, 10);
	return 0;
}

int query_flag(struct request *r, const char *name, int *out)
{
	const char *text = query_text(r, name);

	if (!text)
		return 0;
	if (!strcmp(text, "1") || !strcmp(text, "true") || !*text)
		*out = 1;
	else if (!strcmp(text, "0") || !strcmp(text, "false"))
		*out = 0;
	else
		return reply_fail(r, GROVE_EINVAL, "%s is 1 or 0", name);
	return 0;
}

int query_choice(struct request *r, const char *name, const char *const *choices, int *out)
{
	const char *text = query_text(r, name);

	if (!text)
		return 0;
	for (int i = 0; choices[i]; i++)
		if (!strcmp(choices[i], text)) {
			*out = i;
			return 0;
		}
	return reply_fail(r, GROVE_EINVAL, "%s cannot be '%.64s'", name, text);
}

int query_words(struct request *r, const char *name, const char *const *words)
{
	const char *p = query_text(r, name);

	for (size_t n; p && *p; p += n + (p[n] == ',')) {
		size_t i = 0;

		n = strcspn(p, ",");
		while (words[i] && (strlen(words[i]) != n || memcmp(words[i], p, n)))
			i++;
		if (!words[i] && n)
			return reply_fail(r, GROVE_EINVAL, "%s cannot contain '%.*s'", name, n > 64 ? 64 : (int)n, p);
	}
	return 0;
}

int query_lists(const struct request *r, const char *name, const char *word)
{
	const char *p = query_text(r, name);
	size_t n = strlen(word);

	for (; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, word, n) && (!p[n] || p[n] == ','))
			return 1;
	return 0;
}
