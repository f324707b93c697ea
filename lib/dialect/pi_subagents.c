/*
 * dialect/pi_subagents.c: what sub-agents did, in a uniform shape for records of any
 * age.
 *
 *	{"type":"subagent_batch",…,"batchId":"b","tasks":[{"taskId":"t","agent":…}],"metadata":{…}}
 *	{"type":"subagent_result",…,"batchId":"b","results":[{"taskId":"t","status":…}],"metadata":{…}}
 *
 * The result itself is the best source: the projection in it, else its metadata and
 * results. Older sessions have it in the tool's result that answered the batch, or in
 * the metadata of the batch.
 */
#include "dialect/pi.h"

#include "json/edit.h"
#include "json/value.h"

enum source { FROM_RESULT, FROM_TOOL, FROM_BATCH, FROM_NOTHING };

static const char *const source_names[] = { "subagent_result", "tool_message", "metadata_fallback",
					    "none" };

static bool is_object(struct grove_slice v)
{
	return grove__json_type_of(v) == JSON_OBJECT;
}

static bool is_array(struct grove_slice v)
{
	return grove__json_type_of(v) == JSON_ARRAY;
}

static bool is_there(struct grove_slice v)
{
	return v.len && grove__json_type_of(v) != JSON_NULL;
}

/* Returns a member of the source's metadata, or of the source itself. */
static struct grove_slice part(struct grove_slice src, const char *name)
{
	struct grove_slice v = grove__json_get(grove__json_get(src, "metadata"), name);

	return is_there(v) ? v : grove__json_get(src, name);
}

static bool says_something(struct grove_slice src)
{
	static const char *const names[] = { "processEvents", "evidenceSummaries",
					     "toolRuntimeRoutes" };
	struct grove_slice list = part(src, "results");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_there(part(src, names[i])))
			return true;
	return is_object(part(src, "subagentProjection")) ||
	       (is_array(list) && grove__json_at(list, 0).len);
}

/* --- workers --- */

static int put_or(struct grove_buf *out, const char *name, struct grove_slice v, const char *fill)
{
	int rc = grove__buf_addf(out, ",\"%s\":", name);

	if (rc)
		return rc;
	return is_there(v) ? grove__buf_add_slice(out, v) : grove__buf_add_str(out, fill);
}

static int same_text(struct grove_slice a, struct grove_slice b, bool *same)
{
	struct grove_buf x = GROVE_BUF_INIT, y = GROVE_BUF_INIT;
	int rc = 0;

	*same = a.len && grove__slice_eq(a, b);
	if (!*same && grove__json_type_of(a) == JSON_STRING && grove__json_type_of(b) == JSON_STRING) {
		rc = grove__json_text(&x, a);
		if (!rc)
			rc = grove__json_text(&y, b);
		*same = !rc && grove__slice_eq(grove__buf_slice(&x), grove__buf_slice(&y));
	}
	grove__buf_release(&x);
	grove__buf_release(&y);
	return rc;
}

/* Finds the item of a list that concerns this task; empty if there is none. */
static int about(struct grove_slice list, struct grove_slice task, struct grove_slice *out)
{
	struct grove__json_iter it;
	bool same = false;
	int rc = 0;

	*out = grove__slice(NULL, 0);
	if (!is_array(list))
		return 0;
	grove__json_iter_init(&it, list);
	while (!rc && !same && grove__json_next(&it)) {
		rc = same_text(grove__json_get(it.value, "taskId"), task, &same);
		if (same)
			*out = it.value;
	}
	return rc;
}

/* Selects from a list what concerns this task, or from an object its member of that name. */
static int put_about(struct grove_buf *out, const char *name, struct grove_slice own,
		     struct grove_slice list, struct grove_slice task)
{
	struct grove__json_iter it;
	bool same, first = true;
	int rc;

	if (is_there(own))
		return put_or(out, name, own, "[]");
	rc = grove__buf_addf(out, ",\"%s\":", name);
	if (!rc && is_object(list)) {
		grove__json_iter_init(&it, list);
		while (!rc && grove__json_next(&it)) {
			rc = same_text(it.key, task, &same);
			if (!rc && same)
				return grove__buf_add_slice(out, it.value);
		}
	}
	if (!rc)
		rc = grove__buf_add_char(out, '[');
	if (is_array(list)) {
		grove__json_iter_init(&it, list);
		while (!rc && grove__json_next(&it)) {
			rc = same_text(grove__json_get(it.value, "taskId"), task, &same);
			if (rc || !same)
				continue;
			rc = first ? 0 : grove__buf_add_char(out, ',');
			first = false;
			if (!rc)
				rc = grove__buf_add_slice(out, it.value);
		}
	}
	return rc ? rc : grove__buf_add_char(out, ']');
}

/* Counts how the workers ended. */
struct ends {
	unsigned nr, done, failed, stopped, open;
};

static void count_end(struct ends *e, struct grove_slice status)
{
	static const char *const done[] = { "completed", "complete", "done", "success", "succeeded", "ok" };
	static const char *const failed[] = { "failed", "failure", "error", "errored", "timeout" };
	static const char *const stopped[] = { "cancelled", "canceled", "aborted", "skipped" };

	e->nr++;
	for (size_t i = 0; i < sizeof(done) / sizeof(*done); i++)
		if (grove__json_string_is(status, done[i])) {
			e->done++;
			return;
		}
	for (size_t i = 0; i < sizeof(failed) / sizeof(*failed); i++)
		if (grove__json_string_is(status, failed[i])) {
			e->failed++;
			return;
		}
	for (size_t i = 0; i < sizeof(stopped) / sizeof(*stopped); i++)
		if (grove__json_string_is(status, stopped[i])) {
			e->stopped++;
			return;
		}
	e->open++;
}

static const char *end_of(const struct ends *e)
{
	if (!e->nr)
		return "\"unknown\"";
	if (e->done == e->nr)
		return "\"completed\"";
	if (e->failed == e->nr)
		return "\"failed\"";
	if (e->stopped == e->nr)
		return "\"cancelled\"";
	return e->open ? "\"running\"" : "\"partial\"";
}

/* Writes one worker, from what is known about it (`w`, may be empty) and its task. */
static int put_worker(struct grove_buf *out, struct grove_slice src, struct grove_slice w,
		      struct grove_slice task, struct ends *ends)
{
	struct grove_slice id = grove__json_get(is_there(w) ? w : task, "taskId");
	struct grove_slice agent = grove__json_get(w, "agent"), status = grove__json_get(w, "status");
	int rc = grove__buf_add_str(out, ends->nr ? ",{\"taskId\":" : "{\"taskId\":");

	if (!is_there(status))
		status = grove__slice_str(is_there(w) ? "\"unknown\"" : "\"pending\"");
	count_end(ends, status);
	if (!rc)
		rc = is_there(id) ? grove__buf_add_slice(out, id) : grove__buf_add_str(out, "null");
	if (!rc)
		rc = put_or(out, "agent", is_there(agent) ? agent : grove__json_get(task, "agent"), "null");
	if (!rc)
		rc = put_or(out, "status", status, "null");
	if (!rc)
		rc = put_or(out, "summary", grove__json_get(w, "summary"), "null");
	if (!rc)
		rc = put_about(out, "events", grove__json_get(w, "events"), part(src, "processEvents"), id);
	if (!rc)
		rc = put_about(out, "evidence", grove__json_get(w, "evidence"),
			       part(src, "evidenceSummaries"), id);
	if (!rc)
		rc = put_about(out, "toolRoutes", grove__json_get(w, "toolRoutes"),
			       part(src, "toolRuntimeRoutes"), id);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* First those that are mentioned, in that order, then the other tasks. */
static int put_workers(struct grove_buf *out, struct grove_slice src, struct grove_slice told,
		       struct grove_slice tasks, struct ends *ends)
{
	struct grove__json_iter it;
	struct grove_slice other;
	int rc = 0;

	if (is_array(told)) {
		grove__json_iter_init(&it, told);
		while (!rc && grove__json_next(&it)) {
			if (!is_object(it.value))
				continue;
			rc = about(tasks, grove__json_get(it.value, "taskId"), &other);
			if (!rc)
				rc = put_worker(out, src, it.value, other, ends);
		}
	}
	if (is_array(tasks)) {
		grove__json_iter_init(&it, tasks);
		while (!rc && grove__json_next(&it)) {
			if (!is_object(it.value))
				continue;
			rc = about(told, grove__json_get(it.value, "taskId"), &other);
			if (!rc && !other.len)
				rc = put_worker(out, src, grove__slice(NULL, 0), it.value, ends);
		}
	}
	return rc;
}

/* --- the whole --- */

static int put_diagnostics(struct grove_buf *out, enum source from, const bool present[FROM_NOTHING])
{
	const char *before = "";
	int rc = grove__buf_addf(out, ",\"diagnostics\":{\"selectedSource\":\"%s\",\"inputSources\":[",
				 source_names[from]);

	for (unsigned i = 0; i < FROM_NOTHING && !rc; i++) {
		if (!present[i])
			continue;
		rc = grove__buf_addf(out, "%s\"%s\"", before, source_names[i]);
		before = ",";
	}
	return rc ? rc
		  : grove__buf_addf(out, "],\"fallbackUsed\":%s}",
				    from == FROM_TOOL || from == FROM_BATCH ? "true" : "false");
}

static int project(const struct grove__delegation_in *in, struct grove__delegation_out *out)
{
	struct grove_buf workers = GROVE_BUF_INIT;
	struct grove_slice src[FROM_NOTHING], best, own, told, tasks, status;
	bool present[FROM_NOTHING];
	enum source from = FROM_RESULT;
	struct ends ends = { 0 };
	int rc;

	src[FROM_RESULT] = in->result;
	src[FROM_TOOL] = grove__json_get(grove__json_get(in->tool, "message"), "details");
	src[FROM_BATCH] = grove__json_get(in->batch, "metadata");
	for (unsigned i = 0; i < FROM_NOTHING; i++)
		present[i] = is_object(src[i]) && says_something(src[i]);
	while (from < FROM_NOTHING && !present[from])
		from++;
	best = from < FROM_NOTHING ? src[from] : grove__slice(NULL, 0);
	own = part(best, "subagentProjection");
	tasks = grove__json_get(in->batch, "tasks");
	told = is_object(own) && is_array(grove__json_get(own, "workers"))
		       ? grove__json_get(own, "workers")
		       : part(best, "results");
	status = grove__json_get(own, "status");
	if (!is_there(status))
		status = part(best, "status");
	rc = put_workers(&workers, best, told, tasks, &ends);
	if (!rc)
		rc = grove__buf_add_str(&out->projection, "{\"batchId\":");
	if (!rc) {
		struct grove_slice id = grove__json_get(in->result, "batchId");

		rc = is_there(id) ? grove__buf_add_slice(&out->projection, id)
				  : grove__buf_add_str(&out->projection, "null");
	}
	if (!rc)
		rc = put_or(&out->projection, "status", status, end_of(&ends));
	if (!rc)
		rc = grove__buf_add_str(&out->projection, ",\"workers\":[");
	if (!rc)
		rc = grove__buf_add_slice(&out->projection, grove__buf_slice(&workers));
	if (!rc)
		rc = grove__buf_add_char(&out->projection, ']');
	if (!rc)
		rc = put_diagnostics(&out->projection, from, present);
	if (!rc)
		rc = grove__buf_add_char(&out->projection, '}');
	if (!rc && is_there(part(best, "processEvents")))
		rc = grove__buf_add_slice(&out->events, part(best, "processEvents"));
	if (!rc && is_there(part(best, "evidenceSummaries")))
		rc = grove__buf_add_slice(&out->evidence, part(best, "evidenceSummaries"));
	if (!rc && is_there(part(best, "toolRuntimeRoutes")))
		rc = grove__buf_add_slice(&out->routes, part(best, "toolRuntimeRoutes"));
	grove__buf_release(&workers);
	return rc;
}

static int batch(struct grove_slice value, enum grove_kind kind, struct grove_buf *out)
{
	struct grove_slice id;

	if (kind == GROVE_KIND_MESSAGE)
		value = grove__json_get(grove__json_get(value, "message"), "details");
	id = grove__json_get(value, "batchId");
	if (grove__json_type_of(id) != JSON_STRING)
		return 1;
	return grove__json_text(out, id);
}

static int place(struct grove_slice value, struct grove_slice projection, struct grove_buf *out)
{
	struct grove__json_change ch = { .path = { "metadata", "subagentProjection" }, projection };
	struct grove_buf whole = GROVE_BUF_INIT;
	int rc = 0;

	if (!is_object(grove__json_get(value, "metadata"))) {
		rc = grove__buf_addf(&whole, "{\"subagentProjection\":");
		if (!rc)
			rc = grove__buf_add_slice(&whole, projection);
		if (!rc)
			rc = grove__buf_add_char(&whole, '}');
		ch = (struct grove__json_change){ { "metadata" }, grove__buf_slice(&whole) };
	}
	if (!rc)
		rc = grove__json_edit(out, value, &ch, 1);
	grove__buf_release(&whole);
	return rc;
}

const struct grove__delegation grove__pi_delegation = { batch, project, place };
