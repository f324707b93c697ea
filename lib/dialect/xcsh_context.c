/* dialect/xcsh_context.c: the messages that xcsh's entries contribute. */
#include "dialect/xcsh.h"

#include "json/value.h"
#include "json/write.h"

int grove__xcsh_put_member(struct grove_buf *out, const char *name, struct grove_slice raw)
{
	int rc;

	if (!raw.len)
		return 0;
	rc = grove__buf_addf(out, ",\"%s\":", name);
	return rc ? rc : grove__json_put_raw(out, raw);
}

bool grove__xcsh_remote_history(struct grove_slice line, struct grove_slice *provider,
				struct grove_slice *items)
{
	struct grove_slice remote = grove__json_get(grove__json_get(line, "preserveData"),
						    "openaiRemoteCompaction");

	*provider = grove__json_get(remote, "provider");
	*items = grove__json_get(remote, "replacementHistory");
	return grove__json_type_of(remote) == JSON_OBJECT &&
	       grove__json_type_of(*provider) == JSON_STRING && provider->len > 2 &&
	       grove__json_type_of(*items) == JSON_ARRAY;
}

/* If the provider has the history, nothing else is kept. */
int grove__xcsh_first_kept(struct grove_slice line, struct grove_buf *out, bool *after)
{
	struct grove_slice provider, items;

	return grove__xcsh_remote_history(line, &provider, &items) ? 0 : grove__pi_first_kept(line, out, after);
}

/* `,"NAME":ms` */
static int put_ms(struct grove_buf *out, const char *name, int64_t time)
{
	int rc = grove__buf_addf(out, ",\"%s\":", name);

	if (rc)
		return rc;
	return time == GROVE_NO_TIME ? grove__buf_add_str(out, "null") : grove__json_put_int(out, time);
}

static int put_compaction(struct grove_buf *out, struct grove_slice line)
{
	struct grove_slice provider, items;
	int rc = grove__buf_add_str(out, "{\"role\":\"compactionSummary\"");

	rc = rc ? rc : grove__xcsh_put_member(out, "summary", grove__json_get(line, "summary"));
	rc = rc ? rc : grove__xcsh_put_member(out, "shortSummary", grove__json_get(line, "shortSummary"));
	rc = rc ? rc : grove__xcsh_put_member(out, "tokensBefore", grove__json_get(line, "tokensBefore"));
	if (!rc && grove__xcsh_remote_history(line, &provider, &items)) {
		rc = grove__buf_add_str(out, ",\"providerPayload\":{\"type\":\"openaiResponsesHistory\"");
		rc = rc ? rc : grove__xcsh_put_member(out, "provider", provider);
		rc = rc ? rc : grove__xcsh_put_member(out, "items", items);
		rc = rc ? rc : grove__buf_add_char(out, '}');
	}
	return rc;
}

static int put_branch(struct grove_buf *out, struct grove_slice line)
{
	int rc = grove__buf_add_str(out, "{\"role\":\"branchSummary\"");

	rc = rc ? rc : grove__xcsh_put_member(out, "summary", grove__json_get(line, "summary"));
	return rc ? rc : grove__xcsh_put_member(out, "fromId", grove__json_get(line, "fromId"));
}

static int put_custom(struct grove_buf *out, struct grove_slice line)
{
	static const char *const members[] = { "customType", "content", "display", "details",
					       "attribution" };
	int rc = grove__buf_add_str(out, "{\"role\":\"custom\"");

	for (size_t i = 0; i < sizeof(members) / sizeof(*members) && !rc; i++)
		rc = grove__xcsh_put_member(out, members[i], grove__json_get(line, members[i]));
	return rc;
}

/* Passes a message to `fn`, with references resolved. */
static int hand_on(struct grove_slice m, bool is_message, const struct grove__blob_source *blobs,
		   int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_buf whole = GROVE_BUF_INIT;
	int rc = grove__xcsh_restore(m, is_message, blobs, &whole);

	if (!rc)
		m = grove__buf_slice(&whole);
	if (rc >= 0)
		rc = fn(payload, m);
	grove__buf_release(&whole);
	return rc;
}

int grove__xcsh_messages_as(const struct grove__xcsh_voice *voice, struct grove_slice line,
			    enum grove_kind kind, int64_t time, const int64_t *next,
			    const struct grove__blob_source *blobs,
			    int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice m;
	int rc;

	switch (kind) {
	case GROVE_KIND_MESSAGE:
		m = grove__json_get(line, "message");
		if (!m.len || grove__json_type_of(m) == JSON_NULL)
			return 0;
		return hand_on(m, voice->forgets_replay, blobs, fn, payload);
	case GROVE_KIND_CUSTOM_MESSAGE:
		rc = voice->custom(&b, line);
		break;
	case GROVE_KIND_BRANCH_SUMMARY:
		rc = grove__json_truthy(grove__json_get(line, "summary")) ? put_branch(&b, line) : 1;
		break;
	case GROVE_KIND_COMPACTION:
		rc = next ? voice->compaction(&b, line) : 1;
		break;
	default:
		return 0;
	}
	/* 1: it has no text */
	rc = rc ? rc : put_ms(&b, "timestamp", time);
	/* what it kept must not seem older than the replacement */
	if (!rc && kind == GROVE_KIND_COMPACTION && *next != GROVE_NO_TIME && voice->rewritten &&
	    voice->rewritten(line))
		rc = put_ms(&b, "historyRewriteAt", *next - 1);
	rc = rc ? rc : grove__buf_add_char(&b, '}');
	rc = rc ? rc : hand_on(grove__buf_slice(&b), false, blobs, fn, payload);
	grove__buf_release(&b);
	return rc == 1 ? 0 : rc;
}

int grove__xcsh_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			 int64_t time, const int64_t *next, const struct grove_slice *edit,
			 const struct grove__blob_source *blobs,
			 int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	static const struct grove__xcsh_voice voice = { put_compaction, put_custom, NULL, true };

	(void)role;
	(void)edit;
	return grove__xcsh_messages_as(&voice, line, kind, time, next, blobs, fn, payload);
}
