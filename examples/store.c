/*
 * store: sessions in a store of one's own.
 *
 * Registers the kind of store that drawer.c implements, and then uses it through
 * <grove.h> like any other: starts a session in it, appends, and lists what is
 * there. Nothing is registered for the whole process; another `struct grove`
 * knows nothing of it.
 */
#include <grove.h>

#include "drawer.h"

#include <stdio.h>

static int converse(struct grove_session *s)
{
	const char *question = "{\"role\":\"user\",\"content\":\"What is in the drawer?\"}";
	const char *answer = "{\"role\":\"assistant\",\"content\":"
			     "[{\"type\":\"text\",\"text\":\"Two lines.\"}]}";
	int rc = grove_session_append(s, grove_str(question), NULL, NULL);

	return rc ? rc : grove_session_append(s, grove_str(answer), NULL, NULL);
}

static int list(struct grove *g, const char *cwd)
{
	struct grove_list_options opt = { .size = sizeof(opt), .cwd = cwd };
	struct grove_list *l;
	int rc = grove_list(g, &opt, &l);

	if (rc)
		return rc;
	for (size_t i = 0; i < grove_list_count(l); i++)
		printf("%d messages, \"%s\"\n", (int)grove_list_at(l, i)->message_count,
		       grove_list_at(l, i)->first_message);
	grove_list_free(l);
	return 0;
}

int main(void)
{
	const char *const stores[] = { "drawer:desk" };
	struct grove_options opt = { .size = sizeof(opt), .stores = stores, .nr_stores = 1,
				     .store_types = &drawer_type, .nr_store_types = 1 };
	struct grove_create_options what = { .size = sizeof(what), .cwd = "/home/me/project" };
	struct grove_session *s = NULL;
	struct grove *g;
	int rc = grove_open(&opt, &g);

	if (!rc)
		rc = grove_session_create(g, &what, &s);
	if (!rc)
		rc = converse(s);
	if (!rc)
		rc = list(g, what.cwd);
	if (rc)
		fprintf(stderr, "store: %s\n", grove_strerror(rc));
	grove_session_close(s);
	grove_close(g);
	return rc ? 1 : 0;
}
