/*
 * tour DIRECTORY: a conversation, its branches and its context.
 *
 * Opens the newest session of DIRECTORY, or starts one; appends a question and
 * an answer; goes back and asks again, which makes a branch; labels the branch
 * point; then prints the tree, what a model would be sent, and all sessions of
 * the directory. Run it twice: the second time it continues where it ended.
 */
#include <grove.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions return 0 or a negative code; the handle has the detail. */
static int failed(struct grove_session *s, const char *what, int code)
{
	struct grove_detail d;

	grove_session_error(s, &d);
	fprintf(stderr, "tour: %s: %s (%s)\n", what, d.message, grove_error_name(code));
	return code;
}

/*
 * A message is the JSON that the agent itself would store. An answer names its
 * model: the context says which one was used last.
 */
static int say(struct grove_session *s, const char *role, const char *text, const char **id)
{
	const char *model = strcmp(role, "assistant")
				    ? ""
				    : ",\"provider\":\"example\",\"model\":\"tour-1\"";
	struct grove_slice t = { text, strlen(text) };
	struct grove_buf quoted = GROVE_BUF_INIT;
	struct grove_append_result r = { .size = sizeof(r) };
	char json[1024];
	int rc = grove_buf_json_string(&quoted, t);

	if (!rc) {
		snprintf(json, sizeof(json),
			 "{\"role\":\"%s\",\"content\":[{\"type\":\"text\",\"text\":%s}]%s}", role,
			 quoted.ptr, model);
		rc = grove_session_append(s, grove_str(json), NULL, &r);
		if (id)
			*id = r.id;
	}
	grove_buf_release(&quoted);
	return rc;
}

static int converse(struct grove_session *s)
{
	const char *question, *answer, *second;
	int rc;

	/* Each append goes below the leaf and becomes the leaf. */
	if ((rc = say(s, "user", "Why does the parser accept \"a,b,\"?", &question)) ||
	    (rc = say(s, "assistant", "The last comma is optional in the list rule.", &answer)))
		return failed(s, "append", rc);

	/*
	 * To branch, move the leaf: the next append becomes a second child of
	 * the question. The first answer stays in the log. Ids are valid as
	 * long as the session is open.
	 */
	if ((rc = grove_session_set_leaf(s, question, NULL, NULL)) ||
	    (rc = say(s, "assistant", "By mistake: I would make it an error.", &second)))
		return failed(s, "branch", rc);

	/*
	 * A label is a line of the log like any other, and so becomes the new
	 * leaf. Every later view shows it on the entry that it names.
	 */
	rc = grove_session_append_label(s, question, "the question", NULL, NULL);
	return rc ? failed(s, "label", rc) : 0;
}

/* A piece is what a person would want to read of an entry. */
static int print_piece(void *payload, const struct grove_piece *piece)
{
	(void)payload;
	printf(" %.*s", (int)piece->text.len, piece->text.ptr);
	return 0;
}

/*
 * Recursion will do for a tour. A session may be a million entries deep: a
 * program for real ones keeps a stack of its own.
 */
static int print_tree(struct grove_view *v, uint32_t of, int depth)
{
	struct grove_rows child = { NULL, 0 };
	int rc = grove_view_children(v, of, GROVE_ORDER_TIME, &child);

	for (size_t i = 0; !rc && i < child.nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };

		if ((rc = grove_view_entry(v, child.at[i], &e)))
			break;
		printf("%*s%s %s:", depth * 2, "", e.id ? e.id : "-", grove_kind_name(e.kind));
		rc = grove_view_piece_each(v, child.at[i], print_piece, NULL);
		if (e.label)
			printf("  [%s]", e.label);
		puts(e.index == grove_view_leaf(v) ? "  <- leaf" : "");
		if (!rc)
			rc = print_tree(v, child.at[i], depth + 1);
	}
	grove_rows_release(&child);
	return rc;
}

/* A view is the session at one moment: it does not change while we look. */
static int look(struct grove_session *s)
{
	struct grove_buf context = GROVE_BUF_INIT;
	struct grove_view *v;
	int rc = grove_session_view(s, &v);

	if (rc)
		return failed(s, "view", rc);
	rc = print_tree(v, GROVE_NO_ENTRY, 0);
	if (!rc)
		rc = grove_view_context(v, NULL, grove_buf_sink(&context));
	if (!rc)
		printf("\n%s\n\n", context.ptr);
	grove_buf_release(&context);
	grove_view_unref(v);
	return rc;
}

static int list(struct grove *g, const char *cwd)
{
	struct grove_list_options opt = { .size = sizeof(opt), .cwd = cwd };
	struct grove_list *l;
	int rc = grove_list(g, &opt, &l);

	for (size_t i = 0; !rc && i < grove_list_count(l); i++) {
		const struct grove_list_item *info = grove_list_at(l, i);

		printf("%s: %llu messages, \"%s\"\n", info->id,
		       (unsigned long long)info->message_count, info->first_message);
	}
	if (!rc)
		grove_list_free(l);
	return rc;
}

int main(int argc, char **argv)
{
	const char *const stores[] = { argc > 1 ? argv[1] : NULL };
	struct grove_options opt = { .size = sizeof(opt), .stores = stores, .nr_stores = 1 };
	const char *cwd = "/home/me/project";
	struct grove_session *s = NULL;
	struct grove *g;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: tour DIRECTORY\n");
		return 2;
	}
	/* Without `stores`, grove finds the agents' own sessions of this user. */
	rc = grove_open(&opt, &g);
	if (!rc)
		rc = grove_session_open_recent(g, &(struct grove_create_options){ .size = sizeof(struct grove_create_options), .cwd = cwd, .dir = NULL }, &s);
	if (!rc)
		rc = converse(s);
	if (!rc)
		rc = look(s);
	if (!rc)
		rc = list(g, cwd);
	if (rc)
		fprintf(stderr, "tour: %s\n", grove_strerror(rc));
	/* Every close takes NULL, so there is one way out. */
	grove_session_close(s);
	grove_close(g);
	return rc ? 1 : 0;
}
