/*
 * agent STORE OWNER: the loop of an agent, without the model.
 *
 * Continues the newest session of STORE, or starts one. Each line of standard input is
 * a prompt, and is answered. Several of these may run on one store, even on several
 * machines if it is a database: only the one that has the lease of the session writes
 * to it. At the end of its input it compacts the session and gives the lease back. The
 * exit status is 3 if another owner has the lease.
 */
#include <grove.h>

#include <stdio.h>
#include <string.h>

#define CWD "/home/me/project"

/* Renewed with each prompt. After a crash, others need not wait any longer than this. */
enum { LEASE_MS = 60000 };

/* Entries are written behind our back, in order; what fails is told by the next call. */
static int say(struct grove_session *s, const char *role, const char *text, struct grove_append_result *out)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_slice entry;
	int rc = grove_buf_add(&json, grove_str("{\"role\":"));

	rc = rc ? rc : grove_buf_json_string(&json, grove_str(role));
	rc = rc ? rc : grove_buf_add(&json, grove_str(",\"content\":"));
	rc = rc ? rc : grove_buf_json_string(&json, grove_str(text));
	rc = rc ? rc : grove_buf_add(&json, grove_str("}"));
	entry = grove_buf_slice(&json);
	rc = rc ? rc : grove_session_submit(s, &entry, 1, NULL, out);
	grove_buf_release(&json);
	return rc;
}

/* What the model will be, and how hard it is to think: once, when the session is new. */
static int set_up(struct grove_session *s)
{
	int rc = grove_session_leaf(s) ? 1 : 0;

	rc = rc ? rc : grove_session_append_model(s, "example", "echo-1", NULL, NULL, NULL);
	rc = rc ? rc : grove_session_append_thinking_level(s, "low", NULL, NULL);
	return rc < 0 ? rc : 0;
}

/* Answers all prompts. `last` receives the id of the last one, which is valid as long as the session is open. */
static int converse(struct grove_session *s, const char **last)
{
	struct grove_append_result prompt = { .size = sizeof(prompt) };
	char line[4096];
	int rc = 0;

	while (!rc && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		rc = say(s, "user", line, &prompt);
		rc = rc ? rc : say(s, "assistant", line, NULL);
		/* acknowledge only what is stored */
		rc = rc ? rc : grove_session_flush(s, GROVE_SYNC_ALWAYS);
		rc = rc ? rc : grove_session_lease_renew(s, LEASE_MS, NULL);
		if (rc)
			break;
		*last = prompt.id;
		puts("answered");
		fflush(stdout);
	}
	return rc;
}

/* From now on the model is sent the summary, and what follows `first_kept`. */
static int compact(struct grove_session *s, const char *first_kept)
{
	struct grove_compaction c = { .size = sizeof(c), .summary = "Everything was repeated.",
				      .first_kept = first_kept, .tokens_before = 1000 };

	return grove_session_append_compaction(s, &c, NULL, NULL);
}

static int work(struct grove_session *s, const char *owner)
{
	struct grove_lease lease = { .size = sizeof(lease) };
	const char *last = NULL;
	int rc = grove_session_lease_take(s, owner, LEASE_MS, &lease), end;

	if (rc == GROVE_ECONFLICT && !grove_session_lease_get(s, &lease))
		printf("%s has it\n", lease.owner);
	if (rc)
		return rc;
	rc = set_up(s);
	rc = rc ? rc : converse(s, &last);
	rc = rc || !last ? rc : compact(s, last);
	end = grove_session_lease_release(s);
	return rc ? rc : end;
}

int main(int argc, char **argv)
{
	const char *const stores[] = { argc > 1 ? argv[1] : NULL };
	struct grove_options opt = { .size = sizeof(opt), .stores = stores, .nr_stores = 1 };
	/* a lease is of a session that is stored, so the header is written at once */
	struct grove_create_options how = { .size = sizeof(how), .flags = GROVE_CREATE_NOW, .cwd = CWD };
	struct grove_session *s = NULL;
	struct grove *g = NULL;
	struct grove_detail why;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: agent STORE OWNER\n");
		return 2;
	}
	rc = grove_open(&opt, &g);
	rc = rc ? rc : grove_session_open_recent(g, &how, &s);
	rc = rc ? rc : work(s, argv[2]);
	if (rc) {
		s ? grove_session_error(s, &why) : grove_error(g, &why);
		fprintf(stderr, "agent: %s (%s)\n", why.message, grove_error_name(rc));
	}
	grove_session_close(s);
	grove_close(g);
	return rc == GROVE_ECONFLICT ? 3 : rc != 0;
}
