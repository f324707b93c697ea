/*
 * dialect/xcsh_settings.c: the settings in force at the end of a path: models by role,
 * thinking level, mode and more, in the format of xcsh and oh-my-pi.
 */
#include "dialect/xcsh.h"
#include "dialect/xcsh_llm.h"

#include "json/value.h"
#include "json/write.h"

enum grove__setting grove__xcsh_sets(enum grove_kind kind, enum grove_role role)
{
	switch (kind) {
	case GROVE_KIND_MODEL: /* one for each role */
	case GROVE_KIND_RULES:
		return SETTING_ALL;
	case GROVE_KIND_THINKING_LEVEL:
	case GROVE_KIND_SERVICE_TIER:
	case GROVE_KIND_CONTEXT_CHANGE:
	case GROVE_KIND_MODE:
	case GROVE_KIND_TOOLS:
		return SETTING_LAST;
	case GROVE_KIND_MESSAGE:
		return role == GROVE_ROLE_ASSISTANT ? SETTING_LAST : SETTING_NONE;
	default:
		return SETTING_NONE;
	}
}

/* --- a small ordered map from raw strings to texts --- */

struct pair {
	struct grove_buf key, value;
};

struct pairs {
	struct grove_buf list; /* struct pair */
};

static struct pair *pairs_at(struct pairs *p, size_t i)
{
	return (struct pair *)(void *)p->list.ptr + i;
}

static size_t pairs_count(const struct pairs *p)
{
	return p->list.len / sizeof(struct pair);
}

static void pairs_release(struct pairs *p)
{
	for (size_t i = 0; i < pairs_count(p); i++) {
		grove__buf_release(&pairs_at(p, i)->key);
		grove__buf_release(&pairs_at(p, i)->value);
	}
	grove__buf_release(&p->list);
}

/* Finds or adds the pair of `key`; an existing one keeps its position. */
static int pairs_get(struct pairs *p, struct grove_slice key, struct pair **out)
{
	struct pair fresh = { GROVE_BUF_INIT, GROVE_BUF_INIT };
	int rc;

	for (size_t i = 0; i < pairs_count(p); i++)
		if (grove__slice_eq(grove__buf_slice(&pairs_at(p, i)->key), key)) {
			*out = pairs_at(p, i);
			return 0;
		}
	rc = grove__buf_add_slice(&fresh.key, key);
	if (!rc)
		rc = grove__buf_add(&p->list, (const char *)&fresh, sizeof(fresh));
	if (rc) {
		grove__buf_release(&fresh.key);
		return rc;
	}
	*out = pairs_at(p, pairs_count(p) - 1);
	return 0;
}

/* --- settings --- */

/* What the lines of a path say. */
struct settings {
	struct grove_slice level, configured, tier, name, tenant, tools, mode, data;
	struct pairs models, rules;
	bool chosen;                     /* the default model was chosen by a change */
};

/* Reads the model of a change, and the role it is for. */
static int change_model(struct settings *s, struct grove_slice line)
{
	struct grove_slice model = grove__json_get(line, "model"), role = grove__json_get(line, "role");
	struct grove_buf name = GROVE_BUF_INIT;
	struct pair *p;
	int rc;

	if (!grove__json_truthy(model))
		return 0;
	if (!role.len || grove__json_type_of(role) == JSON_NULL)
		rc = grove__buf_add_str(&name, "default");
	else
		rc = grove__xcsh_add_text(&name, role);
	s->chosen |= !rc && grove__slice_eq(grove__buf_slice(&name), grove__slice_str("default"));
	if (!rc)
		rc = pairs_get(&s->models, grove__buf_slice(&name), &p);
	if (!rc) {
		grove__buf_clear(&p->value);
		rc = grove__json_put_raw(&p->value, model);
	}
	grove__buf_release(&name);
	return rc;
}

/* A reply says which model is the default now. */
static int reply_model(struct pairs *models, struct grove_slice line)
{
	struct grove_slice m = grove__json_get(line, "message");
	struct grove_buf name = GROVE_BUF_INIT;
	struct pair *p;
	int rc = grove__xcsh_add_text(&name, grove__json_get(m, "provider"));

	rc = rc ? rc : grove__buf_add_char(&name, '/');
	rc = rc ? rc : grove__xcsh_add_text(&name, grove__json_get(m, "model"));
	rc = rc ? rc : pairs_get(models, grove__slice_str("default"), &p);
	if (!rc) {
		grove__buf_clear(&p->value);
		rc = grove__json_put_string(&p->value, grove__buf_slice(&name));
	}
	grove__buf_release(&name);
	return rc;
}

static int add_rules(struct pairs *rules, struct grove_slice list)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove__json_iter it;
	struct pair *p;
	int rc = 0;

	if (grove__json_type_of(list) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, list);
	while (!rc && grove__json_next(&it)) {
		/* two spellings of the same text count as one */
		grove__buf_clear(&name);
		rc = grove__json_put_canonical(&name, it.value);
		if (!rc)
			rc = pairs_get(rules, grove__buf_slice(&name), &p);
	}
	grove__buf_release(&name);
	return rc;
}

static int put_models(struct grove_buf *out, struct pairs *models)
{
	int rc = grove__buf_add_str(out, ",\"models\":{");

	for (size_t i = 0; i < pairs_count(models) && !rc; i++) {
		struct pair *p = pairs_at(models, i);

		rc = i ? grove__buf_add_char(out, ',') : 0;
		rc = rc ? rc : grove__json_put_string(out, grove__buf_slice(&p->key));
		rc = rc ? rc : grove__buf_add_char(out, ':');
		rc = rc ? rc : grove__buf_add_slice(out, grove__buf_slice(&p->value));
	}
	return rc ? rc : grove__buf_add_char(out, '}');
}

static int put_rules(struct grove_buf *out, struct pairs *rules)
{
	int rc = grove__buf_add_str(out, ",\"injectedTtsrRules\":[");

	for (size_t i = 0; i < pairs_count(rules) && !rc; i++) {
		rc = i ? grove__buf_add_char(out, ',') : 0;
		rc = rc ? rc : grove__buf_add_slice(out, grove__buf_slice(&pairs_at(rules, i)->key));
	}
	return rc ? rc : grove__buf_add_char(out, ']');
}

static struct grove_slice unless_null(struct grove_slice raw)
{
	return grove__json_type_of(raw) == JSON_NULL ? grove__slice(NULL, 0) : raw;
}

/* A `reply` sets the default model: always, or only while none was chosen. */
static int gather(struct settings *s, const struct grove__set_by *lines, size_t nr, bool always)
{
	int rc = 0;

	memset(s, 0, sizeof(*s));
	s->mode = grove__slice_str("\"none\"");
	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove_slice line = lines[i].line;

		switch (lines[i].kind) {
		case GROVE_KIND_THINKING_LEVEL:
			s->level = unless_null(grove__json_get(line, "thinkingLevel"));
			s->configured = unless_null(grove__json_get(line, "configured"));
			break;
		case GROVE_KIND_SERVICE_TIER:
			s->tier = unless_null(grove__json_get(line, "serviceTier"));
			break;
		case GROVE_KIND_CONTEXT_CHANGE:
			s->name = grove__json_get(line, "contextName");
			s->tenant = grove__json_get(line, "tenant");
			break;
		case GROVE_KIND_MODE:
			s->mode = grove__json_get(line, "mode");
			s->data = grove__json_get(line, "data");
			break;
		case GROVE_KIND_TOOLS:
			s->tools = grove__json_get(line, "selectedToolNames");
			break;
		case GROVE_KIND_RULES:
			rc = add_rules(&s->rules, grove__json_get(line, "injectedRules"));
			break;
		case GROVE_KIND_MODEL:
			rc = change_model(s, line);
			break;
		default:
			if (always || !s->chosen)
				rc = reply_model(&s->models, line);
		}
	}
	return rc;
}

static void settings_release(struct settings *s)
{
	pairs_release(&s->models);
	pairs_release(&s->rules);
}

static int put_level(struct grove_buf *out, const struct settings *s)
{
	return grove__xcsh_put_member(out, "thinkingLevel",
				      s->level.len ? s->level : grove__slice_str("\"off\""));
}

int grove__xcsh_settings(const struct grove__set_by *lines, size_t nr, struct grove_buf *out)
{
	struct settings s;
	int rc = gather(&s, lines, nr, true);

	rc = rc ? rc : put_level(out, &s);
	rc = rc ? rc : grove__xcsh_put_member(out, "serviceTier", s.tier);
	rc = rc ? rc : put_models(out, &s.models);
	rc = rc ? rc : grove__xcsh_put_member(out, "activeContextName", s.name);
	rc = rc ? rc : grove__xcsh_put_member(out, "activeContextTenant", s.tenant);
	rc = rc ? rc : put_rules(out, &s.rules);
	rc = rc ? rc : grove__xcsh_put_member(out, "selectedMCPToolNames", s.tools.len ? s.tools : grove__slice_str("[]"));
	rc = rc ? rc : grove__xcsh_put_member(out, "hasPersistedMCPToolSelection",
			   grove__slice_str(s.tools.len ? "true" : "false"));
	rc = rc ? rc : grove__xcsh_put_member(out, "mode", s.mode);
	rc = rc ? rc : grove__xcsh_put_member(out, "modeData", s.data);
	settings_release(&s);
	return rc;
}

/* --- oh-my-pi's --- */

static bool any_of(struct grove_slice raw, const char *const *list)
{
	for (; *list; list++)
		if (grove__json_string_is(raw, *list))
			return true;
	return false;
}

/*
 * A tier for each family of providers: {"openai":"flex"}. A plain string is from an earlier
 * version, in which all but the highest meant OpenAI's.
 */
static int put_tier(struct grove_buf *out, struct grove_slice tier)
{
	static const char *const tiers[] = { "auto", "default", "flex", "scale", "priority", NULL };
	static const char *const families[] = { "openai", "anthropic", "google", NULL };
	bool all = grove__json_string_is(tier, "priority");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	if (grove__json_type_of(tier) == JSON_STRING && any_of(tier, tiers)) {
		for (size_t i = 0; families[i] && (all || !i) && !rc; i++) {
			rc = grove__buf_addf(&b, "%s\"%s\":", i ? "," : "", families[i]);
			rc = rc ? rc : grove__json_put_raw(&b, tier);
		}
	} else if (grove__json_type_of(tier) == JSON_OBJECT) {
		for (size_t i = 0; families[i] && !rc; i++) {
			struct grove_slice value = grove__json_get(tier, families[i]);

			if (!any_of(value, tiers))
				continue;
			rc = grove__buf_addf(&b, "%s\"%s\":", b.len ? "," : "", families[i]);
			rc = rc ? rc : grove__json_put_raw(&b, value);
		}
	}
	if (!rc && b.len)
		rc = grove__buf_addf(out, ",\"serviceTier\":{%s}", b.ptr);
	grove__buf_release(&b);
	return rc;
}

int grove__omp_settings(const struct grove__set_by *lines, size_t nr, struct grove_buf *out)
{
	struct settings s;
	int rc = gather(&s, lines, nr, false);
	/* what was configured may be less precise than what is in force */
	struct grove_slice asked = s.configured.len ? s.configured : s.level;

	rc = rc ? rc : put_level(out, &s);
	rc = rc ? rc : grove__xcsh_put_member(out, "configuredThinkingLevel", asked);
	rc = rc ? rc : put_tier(out, s.tier);
	rc = rc ? rc : put_models(out, &s.models);
	rc = rc ? rc : put_rules(out, &s.rules);
	rc = rc ? rc : grove__xcsh_put_member(out, "mode", s.mode);
	rc = rc ? rc : grove__xcsh_put_member(out, "modeData", s.data);
	settings_release(&s);
	return rc;
}
