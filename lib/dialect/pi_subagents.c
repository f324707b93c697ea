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

static void put_member(struct grove__out *o, const char *name, struct grove_slice v, const char *fill)
{
	grove__out_raw(o, name, is_there(v) ? v : grove__slice_str(fill));
}

static bool same_text(struct grove__out *o, struct grove_slice a, struct grove_slice b)
{
	struct grove_buf x = GROVE_BUF_INIT, y = GROVE_BUF_INIT;
	bool same = a.len && grove__slice_eq(a, b);

	if (!same && grove__json_type_of(a) == JSON_STRING && grove__json_type_of(b) == JSON_STRING) {
		grove__out_fail(o, grove__json_text(&x, a));
		grove__out_fail(o, grove__json_text(&y, b));
		same = !o->rc && grove__slice_eq(grove__buf_slice(&x), grove__buf_slice(&y));
	}
	grove__buf_release(&x);
	grove__buf_release(&y);
	return same;
}

/* Finds the item of a list that concerns this task; empty if there is none. */
static struct grove_slice about(struct grove__out *o, struct grove_slice list, struct grove_slice task)
{
	struct grove__json_iter it;

	if (!is_array(list))
		return grove__slice(NULL, 0);
	grove__json_iter_init(&it, list);
	while (grove__json_next(&it))
		if (same_text(o, grove__json_get(it.value, "taskId"), task))
			return it.value;
	return grove__slice(NULL, 0);
}

/* Selects from a list what concerns this task, or from an object its member of that name. */
static void put_about(struct grove__out *o, const char *name, struct grove_slice own,
		      struct grove_slice list, struct grove_slice task)
{
	struct grove__json_iter it;

	if (is_there(own)) {
		grove__out_raw(o, name, own);
		return;
	}
	if (is_object(list)) {
		grove__json_iter_init(&it, list);
		while (grove__json_next(&it))
			if (same_text(o, it.key, task)) {
				grove__out_raw(o, name, it.value);
				return;
			}
	}
	grove__out_open(o, name, '[');
	if (is_array(list)) {
		grove__json_iter_init(&it, list);
		while (grove__json_next(&it))
			if (same_text(o, grove__json_get(it.value, "taskId"), task))
				grove__out_raw(o, NULL, it.value);
	}
	grove__out_close(o, ']');
}

/* How the workers ended. */
enum end { DONE, FAILED, STOPPED, OPEN, ENDS };

struct ends {
	unsigned nr, by[ENDS];
};

static enum end end_of(struct grove_slice status)
{
	static const struct {
		const char *status;
		enum end end;
	} known[] = {
		{ "completed", DONE },    { "complete", DONE },    { "done", DONE },      { "success", DONE },
		{ "succeeded", DONE },    { "ok", DONE },          { "failed", FAILED },  { "failure", FAILED },
		{ "error", FAILED },      { "errored", FAILED },   { "timeout", FAILED }, { "cancelled", STOPPED },
		{ "canceled", STOPPED },  { "aborted", STOPPED },  { "skipped", STOPPED },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (grove__json_string_is(status, known[i].status))
			return known[i].end;
	return OPEN;
}

static const char *end_of_all(const struct ends *e)
{
	if (!e->nr)
		return "\"unknown\"";
	if (e->by[DONE] == e->nr)
		return "\"completed\"";
	if (e->by[FAILED] == e->nr)
		return "\"failed\"";
	if (e->by[STOPPED] == e->nr)
		return "\"cancelled\"";
	return e->by[OPEN] ? "\"running\"" : "\"partial\"";
}

/* Writes one worker, from what is known about it (`w`, may be empty) and its task. */
static void put_worker(struct grove__out *o, struct grove_slice src, struct grove_slice w,
		       struct grove_slice task, struct ends *ends)
{
	struct grove_slice id = grove__json_get(is_there(w) ? w : task, "taskId");
	struct grove_slice agent = grove__json_get(w, "agent"), status = grove__json_get(w, "status");

	if (!is_there(status))
		status = grove__slice_str(is_there(w) ? "\"unknown\"" : "\"pending\"");
	ends->nr++;
	ends->by[end_of(status)]++;
	grove__out_open(o, NULL, '{');
	put_member(o, "taskId", id, "null");
	put_member(o, "agent", is_there(agent) ? agent : grove__json_get(task, "agent"), "null");
	put_member(o, "status", status, "null");
	put_member(o, "summary", grove__json_get(w, "summary"), "null");
	put_about(o, "events", grove__json_get(w, "events"), part(src, "processEvents"), id);
	put_about(o, "evidence", grove__json_get(w, "evidence"), part(src, "evidenceSummaries"), id);
	put_about(o, "toolRoutes", grove__json_get(w, "toolRoutes"), part(src, "toolRuntimeRoutes"), id);
	grove__out_close(o, '}');
}

/* First those that are mentioned, in that order, then the other tasks. */
static void put_workers(struct grove__out *o, struct grove_slice src, struct grove_slice told,
			struct grove_slice tasks, struct ends *ends)
{
	struct grove__json_iter it;

	if (is_array(told)) {
		grove__json_iter_init(&it, told);
		while (grove__json_next(&it))
			if (is_object(it.value))
				put_worker(o, src, it.value,
					   about(o, tasks, grove__json_get(it.value, "taskId")), ends);
	}
	if (is_array(tasks)) {
		grove__json_iter_init(&it, tasks);
		while (grove__json_next(&it))
			if (is_object(it.value) && !about(o, told, grove__json_get(it.value, "taskId")).len)
				put_worker(o, src, grove__slice(NULL, 0), it.value, ends);
	}
}

/* --- the whole --- */

static void put_diagnostics(struct grove__out *o, enum source from, const bool present[FROM_NOTHING])
{
	grove__out_open(o, "diagnostics", '{');
	grove__out_string(o, "selectedSource", source_names[from]);
	grove__out_open(o, "inputSources", '[');
	for (unsigned i = 0; i < FROM_NOTHING; i++)
		if (present[i])
			grove__out_string(o, NULL, source_names[i]);
	grove__out_close(o, ']');
	grove__out_bool(o, "fallbackUsed", from == FROM_TOOL || from == FROM_BATCH);
	grove__out_close(o, '}');
}

static int project(const struct grove__delegation_in *in, struct grove__delegation_out *out)
{
	struct grove_buf workers = GROVE_BUF_INIT;
	struct grove_slice src[FROM_NOTHING], best, own, told, tasks, status;
	bool present[FROM_NOTHING];
	enum source from = FROM_RESULT;
	struct ends ends = { 0 };
	struct grove__out o;
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
	grove__out_init_buf(&o, &workers);
	put_workers(&o, best, told, tasks, &ends);
	rc = grove__out_finish(&o);
	grove__out_init_buf(&o, &out->projection);
	grove__out_fail(&o, rc);
	grove__out_open(&o, NULL, '{');
	put_member(&o, "batchId", grove__json_get(in->result, "batchId"), "null");
	put_member(&o, "status", status, end_of_all(&ends));
	grove__out_open(&o, "workers", '[');
	grove__out_bytes(&o, workers.ptr, workers.len);
	grove__out_close(&o, ']');
	put_diagnostics(&o, from, present);
	grove__out_close(&o, '}');
	rc = grove__out_finish(&o);
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

static int place_projection(struct grove_slice value, struct grove_slice projection, struct grove_buf *out)
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

const struct grove__delegation grove__pi_delegation = { batch, project, place_projection };
