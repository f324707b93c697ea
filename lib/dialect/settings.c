/*
 * dialect/settings.c: reads back the settings of a context, for people.
 */
#include "dialect/message.h"

#include "json/value.h"

/* Appends the text of a member to `out`; *has says whether there is one. */
static int text_of(struct grove_slice object, const char *name, struct grove_buf *out, bool *has)
{
	struct grove_slice raw = object.ptr ? grove__json_get(object, name) : object;

	*has = raw.ptr && grove__json_type_of(raw) == JSON_STRING;
	return *has ? grove__json_text(out, raw) : 0;
}

/* Gets the model as PROVIDER/ID, or its only name. */
static int model_of(struct grove_slice settings, struct grove_buf *out, bool *has)
{
	struct grove_slice model = grove__json_get(settings, "model");
	struct grove_slice models = grove__json_get(settings, "models");
	bool either = model.ptr && grove__json_type_of(model) == JSON_OBJECT &&
		      (grove__json_get(model, "provider").ptr || grove__json_get(model, "modelId").ptr);
	int rc;

	if (!either)
		return models.ptr ? text_of(models, "default", out, has) : 0;
	rc = text_of(model, "provider", out, has);
	if (!rc && !*has)
		rc = grove__buf_add_str(out, "none");
	if (!rc)
		rc = grove__buf_add_char(out, '/');
	if (!rc)
		rc = text_of(model, "modelId", out, has);
	if (!rc && !*has)
		rc = grove__buf_add_str(out, "none");
	*has = true;
	return rc;
}

int grove__settings_read(struct grove_slice members, struct grove__settings *out)
{
	struct grove_buf object = GROVE_BUF_INIT;
	struct grove_slice all;
	int rc;

	rc = grove__buf_add_char(&object, '{');
	rc = rc ? rc : grove__buf_add_slice(&object, members);
	rc = rc ? rc : grove__buf_add_char(&object, '}');
	all = grove__buf_slice(&object);
	out->any = !rc && grove__json_get(all, "thinkingLevel").ptr != NULL;
	rc = rc ? rc : model_of(all, &out->model, &out->has_model);
	rc = rc ? rc : text_of(all, "thinkingLevel", &out->thinking, &out->has_thinking);
	grove__buf_release(&object);
	return rc;
}
