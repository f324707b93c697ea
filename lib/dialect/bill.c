/* dialect/bill.c: billing code that all dialects share. */
#include "dialect/bill.h"

#include "json/value.h"

double grove__bill_number(struct grove_slice raw)
{
	double n = grove__json_type_of(raw) == JSON_NUMBER ? grove__json_number(raw) : 0;

	return n > 0 ? n : 0;
}

int grove__bill_key(struct grove__arena *tmp, struct grove_slice a, struct grove_slice b,
		    struct grove_slice *out)
{
	char *key = grove__arena_alloc(tmp, a.len + 1 + b.len, 1);

	if (!key)
		return GROVE_ENOMEM;
	if (a.len)
		memcpy(key, a.ptr, a.len);
	key[a.len] = '\0';
	if (b.len)
		memcpy(key + a.len + 1, b.ptr, b.len);
	*out = grove__slice(key, a.len + 1 + b.len);
	return 0;
}
