/*
 * usage/prices.c: the prices of models.
 *
 *	{"prices":[{"models":["NAME",…],"input":3,"output":15,"cacheRead":0.3,
 *	            "cacheWrite":3.75,"cacheWriteLong":6,
 *	            "above":{"tokens":200000,"input":6,…},"date":"…","source":"…"},…]}
 */
#include "usage/prices.h"

#include "base/array.h"
#include "json/scan.h"
#include "json/value.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FILE_MAX ((size_t)16 << 20)
#define TOKENS 1e6

static const char *const rate_names[RATES] = { "input", "output", "cacheRead", "cacheWrite",
					       "cacheWriteLong" };

static struct grove_slice name_of(const void *owner, uint32_t i)
{
	const struct grove__prices *p = owner;

	return grove__slice_str(p->names[i].model);
}

void grove__prices_init(struct grove__prices *p)
{
	memset(p, 0, sizeof(*p));
	grove__idmap_init(&p->map, grove__sys_seed(), name_of, p);
	grove__arena_init(&p->texts);
}

void grove__prices_release(struct grove__prices *p)
{
	free(p->list);
	free(p->names);
	grove__idmap_release(&p->map);
	grove__arena_release(&p->texts);
}

/* ------------------------------------------------------------------ reading */

static int number_of(struct grove_slice object, const char *name, double *out)
{
	struct grove_slice raw = grove__json_get(object, name);

	*out = (double)NAN;
	if (!raw.len)
		return 0;
	if (grove__json_type_of(raw) != JSON_NUMBER)
		return GROVE_EINVAL;
	*out = grove__json_number(raw);
	return *out >= 0 && isfinite(*out) ? 0 : GROVE_EINVAL;
}

static int rates_of(struct grove_slice object, double rate[RATES])
{
	int rc = 0;

	for (int i = 0; i < RATES && !rc; i++)
		rc = number_of(object, rate_names[i], &rate[i]);
	return rc;
}

/* Is a name another one with a date, as model-4-20250514 is model-4, model-4-0 or model-4-latest? */
static bool is_dated(const char *name, const char *of)
{
	size_t n = strlen(name), digits = 0;

	for (; n && (name[n - 1] == '-' || (name[n - 1] >= '0' && name[n - 1] <= '9')) && digits < 8; n--)
		digits += name[n - 1] != '-';
	return digits == 8 && n > 1 && name[n - 1] == '-' && !strncmp(name, of, n - 1) && (!of[n - 1] || of[n - 1] == '-');
}

/* The first price of a model counts. `first` is where the names of this price begin. */
static int add_name(struct grove__prices *p, struct grove_slice raw, uint32_t price, size_t first)
{
	struct grove_buf text = GROVE_BUF_INIT;
	uint32_t old;
	int rc;

	if (grove__json_type_of(raw) != JSON_STRING)
		return GROVE_EINVAL;
	rc = grove__json_text(&text, raw);
	if (!rc && grove__idmap_get(&p->map, grove__buf_slice(&text)) == GROVE__IDMAP_NONE) {
		rc = grove__array_room(&p->names, &p->cap_names, p->nr_names, sizeof(*p->names));
		if (!rc) {
			p->names[p->nr_names].model = grove__arena_dup(&p->texts, grove__buf_slice(&text));
			p->names[p->nr_names].price = price;
			rc = p->names[p->nr_names].model ? 0 : GROVE_ENOMEM;
		}
		if (!rc)
			p->names[p->nr_names].of = (uint32_t)(is_dated(p->names[p->nr_names].model, p->names[first].model)
								      ? first
								      : p->nr_names);
		if (!rc)
			rc = grove__idmap_put(&p->map, grove__buf_slice(&text), (uint32_t)p->nr_names,
					      &old);
		p->nr_names += !rc;
	}
	grove__buf_release(&text);
	return rc;
}

static int add_price(struct grove__prices *p, struct grove_slice object)
{
	struct grove_slice models = grove__json_get(object, "models");
	struct grove_slice above = grove__json_get(object, "above");
	struct grove__price price = { .above = (double)NAN };
	struct grove__json_iter it;
	size_t first = p->nr_names;
	int rc = grove__json_type_of(models) == JSON_ARRAY ? rates_of(object, price.rate) : GROVE_EINVAL;

	if (!rc && above.len) {
		rc = grove__json_type_of(above) == JSON_OBJECT ? rates_of(above, price.rate_above)
							       : GROVE_EINVAL;
		rc = rc ? rc : number_of(above, "tokens", &price.above);
		rc = rc ? rc : isnan(price.above) ? GROVE_EINVAL : 0;
	}
	rc = rc ? rc : grove__array_room(&p->list, &p->cap, p->nr, sizeof(*p->list));
	if (rc)
		return rc;
	p->list[p->nr++] = price;
	grove__json_iter_init(&it, models);
	while (!rc && grove__json_next(&it))
		rc = add_name(p, it.value, (uint32_t)p->nr - 1, first);
	return rc;
}

static uint64_t line_at(struct grove_slice text, uint64_t off)
{
	uint64_t line = 1;

	for (size_t i = 0; i < off && i < text.len; i++)
		line += text.ptr[i] == '\n';
	return line;
}

static int add_prices(struct grove__prices *p, struct grove_slice list, const char *path,
		      struct grove_detail *d)
{
	struct grove__json_iter it;
	size_t nr = 0;
	int rc = 0;

	if (grove__json_type_of(list) != JSON_ARRAY)
		return grove__fail(d, GROVE_EINVAL, path, "the price list has no array \"prices\"");
	grove__json_iter_init(&it, list);
	for (; !rc && grove__json_next(&it); nr++)
		rc = add_price(p, it.value);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc ? grove__fail(d, rc, path, "price %zu is not in the form described in grove-usage(1)", nr) : 0;
}

int grove__prices_add(struct grove__prices *p, struct grove_slice text, const char *path,
		      struct grove_detail *d)
{
	struct grove_buf copy = GROVE_BUF_INIT;
	uint64_t at;
	int rc = grove__buf_add_slice(&copy, text);

	if (!rc)
		rc = grove__json_document(&copy, &at);
	if (rc < 0)
		rc = grove__fail_nomem(d);
	else if (rc)
		rc = grove__fail_at(d, GROVE_EINVAL, path, line_at(text, at), at,
				    "the price list is not valid JSON");
	else
		rc = add_prices(p, grove__json_get(grove__buf_slice(&copy), "prices"), path, d);
	grove__buf_release(&copy);
	return rc;
}

/* ------------------------------------------------------------------- places */

/* With `may_lack`, returns 1 if there is no such file. */
static int add_file(struct grove__prices *p, const char *path, bool may_lack, struct grove_detail *d)
{
	struct grove_buf text = GROVE_BUF_INIT;
	int err = grove__sys_read_small(path, FILE_MAX, &text, NULL), rc;

	if (may_lack && (err == -ENOENT || err == -ENOTDIR))
		rc = 1;
	else if (err)
		rc = grove__fail_sys(d, err, path, "cannot read the price list");
	else
		rc = grove__prices_add(p, grove__buf_slice(&text), path, d);
	grove__buf_release(&text);
	return rc;
}

static const char *variable(const struct grove *g, const char *name)
{
	const char *v = g->env.getenv(g->env.getenv_payload, name);

	return v && *v ? v : NULL;
}

static int add_users(struct grove__prices *p, struct grove *g, const char *file,
		     struct grove_detail *d)
{
	const char *xdg = variable(g, "XDG_CONFIG_HOME");
	struct grove_buf path = GROVE_BUF_INIT;
	bool named;
	int rc;

	if (!file)
		file = variable(g, "GROVE_PRICES");
	named = file != NULL;
	if (named)
		rc = grove__world_resolve(g, file, &path);
	else if (xdg && *xdg == '/')
		rc = grove__buf_addf(&path, "%s/grove/prices.json", xdg);
	else
		rc = grove__buf_addf(&path, "%s/.config/grove/prices.json", g->home);
	rc = rc ? grove__fail_nomem(d) : add_file(p, path.ptr, !named, d);
	grove__buf_release(&path);
	return rc < 0 ? rc : 0;
}

int grove__prices_load(struct grove__prices *p, struct grove *g, const char *file,
		       struct grove_detail *d)
{
	int rc = add_users(p, g, file, d);

	if (!rc)
		rc = add_file(p, GROVE_PRICES_FILE, true, d);
	if (rc == 1)
		rc = grove__prices_add(p, grove__slice_str(grove__prices_built_in), NULL, d);
	return rc;
}

/* -------------------------------------------------------------------- costs */

const struct grove__price *grove__prices_find(const struct grove__prices *p, const char *model)
{
	uint32_t i = grove__idmap_get(&p->map, grove__slice_str(model));

	return i == GROVE__IDMAP_NONE ? NULL : &p->list[p->names[i].price];
}

int grove__prices_unite(const struct grove__prices *p, struct grove__replies *rs)
{
	uint32_t *shown = calloc(p->nr_names + 1, sizeof(*shown)), *as = calloc(rs->nr_models + 1, sizeof(*as)), model;
	bool any = false;

	if (!shown || !as) {
		free(shown);
		free(as);
		return GROVE_ENOMEM;
	}
	for (uint32_t i = 0; i < rs->nr_models; i++)
		as[i] = i;
	for (size_t i = 0; i < p->nr_names; i++) {
		uint32_t *first = &shown[p->names[i].of];

		model = grove__idmap_get(&rs->model_map, name_of(p, (uint32_t)i));
		if (model == GROVE__IDMAP_NONE)
			continue;
		any |= *first > 0;
		*first = *first ? *first : model + 1;
		as[model] = *first - 1;
	}
	for (size_t i = 0; any && i < rs->nr; i++)
		rs->all[i].model = as[rs->all[i].model] & GROVE__MODELS_MAX;
	free(shown);
	free(as);
	return 0;
}

double grove__prices_of(const struct grove__price *price, const struct grove__reply *r)
{
	double sent = (double)r->input + (double)r->cache_read + (double)r->cache_write, cost = 0;
	const double *rate = sent > price->above ? price->rate_above : price->rate;
	uint64_t kept = r->cache_write_long < r->cache_write ? r->cache_write_long : r->cache_write;
	const uint64_t used[RATES] = {
		[RATE_INPUT] = r->input, [RATE_OUTPUT] = r->output, [RATE_CACHE_READ] = r->cache_read,
		[RATE_CACHE_WRITE] = r->cache_write - kept, [RATE_CACHE_WRITE_LONG] = kept,
	};

	/* what was not used needs no price */
	for (int i = 0; i < RATES; i++)
		if (used[i])
			cost += (double)used[i] * rate[i] / TOKENS;
	return cost;
}
