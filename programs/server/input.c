/*
 * input.c: reading the body of a request.
 */
#include "handlers.h"
#include "reply.h"

#include <stdlib.h>
#include <string.h>

int body_value(struct request *r, struct grove_slice *out)
{
	uint64_t at;
	int rc = grove_json_check(grove_buf_slice(&r->body), out, &at);

	if (rc != GROVE_EJSON)
		return rc;
	reply_fail(r, rc, "the body is not JSON at byte %llu", (unsigned long long)at);
	r->detail.has_place = 1;
	r->detail.offset = at;
	return rc;
}

int body_object(struct request *r, struct grove_slice *out)
{
	int rc = body_value(r, out);

	if (rc)
		return rc;
	if (*out->ptr != '{')
		return reply_fail(r, GROVE_EJSON, "the body must be an object");
	return 0;
}

static int is_word(struct grove_slice v, const char *word)
{
	return v.len == strlen(word) && !memcmp(v.ptr, word, v.len);
}

static int is_null(struct grove_slice v)
{
	return is_word(v, "null");
}

int body_text(struct request *r, struct grove_slice object, const char *name, char **out)
{
	struct grove_slice v, text;

	*out = NULL;
	if (!grove_json_member(object, name, &v) || is_null(v))
		return 0;
	if (*v.ptr != '"')
		return reply_fail(r, GROVE_EINVAL, "%s is a text", name);
	/* decoding an escape never makes it longer */
	*out = malloc(v.len + 4);
	if (!*out)
		return GROVE_ENOMEM;
	grove_json_text(v, *out, v.len + 4, &text);
	(*out)[text.len] = '\0';
	if (strlen(*out) != text.len) {
		free(*out);
		*out = NULL;
		return reply_fail(r, GROVE_EINVAL, "%s contains a NUL character", name);
	}
	return 0;
}

int body_number(struct request *r, struct grove_slice object, const char *name, uint64_t *out, int *given)
{
	struct grove_slice v;
	size_t n = 0;

	*given = 0;
	if (!grove_json_member(object, name, &v) || is_null(v))
		return 0;
	while (n < v.len && v.ptr[n] >= '0' && v.ptr[n] <= '9')
		n++;
	if (!n || n != v.len || n > 19)
		return reply_fail(r, GROVE_EINVAL, "%s must be a number", name);
	*out = strtoull(v.ptr, NULL, 10);
	*given = 1;
	return 0;
}

int body_flag(struct request *r, struct grove_slice object, const char *name, int *out)
{
	struct grove_slice v;

	if (!grove_json_member(object, name, &v) || is_null(v))
		return 0;
	if (is_word(v, "true"))
		*out = 1;
	else if (is_word(v, "false"))
		*out = 0;
	else
		return reply_fail(r, GROVE_EINVAL, "%s must be true or false", name);
	return 0;
}
