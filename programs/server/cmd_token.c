/*
 * cmd_token.c: `grove token`: creates, lists and removes tokens.
 *
 * The file is replaced by rename, so a server that reads it at that moment sees either the
 * old or the new version, complete.
 */
#include "kit/config.h"
#include "kit/store_url.h"
#include "tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct token_args {
	const char *file, *scope;
	struct opt_list stores, projects;
	int json;
	char path[4096];
};

static int fail(const struct token_args *a, int code, const char *why)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (a->json) {
		doc_error(&d, code, why);
		fputs(d.buf.ptr ? d.buf.ptr : "", stdout);
	} else {
		fprintf(stderr, "grove: token: %s\n", why);
	}
	doc_release(&d);
	switch (code) {
	case GROVE_EINVAL: return 2;
	case GROVE_ENOTFOUND: return 3;
	case GROVE_EEXIST: return 4;
	default: return 1;
	}
}

static void put_hash(FILE *f, const unsigned char *hash)
{
	for (int i = 0; i < TOKEN_HASH; i++)
		fprintf(f, "%02x", hash[i]);
}

static void put_line(FILE *f, const struct token *t)
{
	fprintf(f, "%s\t", t->name);
	put_hash(f, t->hash);
	fprintf(f, "\t%s", t->scope == SCOPE_WRITE ? "write" : "read");
	for (size_t i = 0; i < t->nr_stores; i++)
		fprintf(f, "\tstore=%s", t->stores[i]);
	for (size_t i = 0; i < t->nr_projects; i++)
		fprintf(f, "\tproject=%s", t->projects[i]);
	putc('\n', f);
}

/* Creates missing parent directories of `path`. */
static void make_directories(const char *path)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = dir + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(dir, 0700); /* if this fails, opening the file reports why */
		*p = '/';
	}
}

/* Writes all tokens except `except`, plus `also` (may be NULL). Returns 0, or -1 with errno. */
static int write_file(const char *path, const struct tokens *t, const char *except,
		      const struct token *also)
{
	struct config_replacement r;

	if (config_replace_begin(&r, path))
		return -1;
	for (size_t i = 0; i < t->nr; i++)
		if (!except || strcmp(t->token[i].name, except))
			put_line(r.f, &t->token[i]);
	if (also)
		put_line(r.f, also);
	return config_replace_end(&r, 1);
}

static int write_failed(const struct token_args *a)
{
	char why[sizeof(a->path) + 128];

	snprintf(why, sizeof(why), "%s: %s", a->path, strerror(errno));
	return fail(a, GROVE_EIO, why);
}

static int has(const struct tokens *t, const char *name)
{
	for (size_t i = 0; i < t->nr; i++)
		if (!strcmp(t->token[i].name, name))
			return 1;
	return 0;
}

/* A name must be one word, because it appears in logs and in a tab-separated file. */
static int good_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-");

	return n && !name[n] && n < TOKEN_NAME_MAX;
}

static int good_limits(const struct opt_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!*list->item[i] || strpbrk(list->item[i], "\t\r\n"))
			return 0;
	return 1;
}

static char **strings(struct opt_list *list)
{
	union { const char **from; char **to; } u = { list->item };

	return u.to;
}

static int add(struct token_args *a, const struct tokens *all, const char *name)
{
	struct token t = { .scope = SCOPE_READ };
	char text[TOKEN_MAX], word[TOKEN_NAME_MAX];

	if (!good_name(name))
		return fail(a, GROVE_EINVAL, "a name must consist of letters, digits and ._@-");
	if (!good_limits(&a->stores) || !good_limits(&a->projects))
		return fail(a, GROVE_EINVAL, "a limit must not be empty or contain a line break");
	if (has(all, name))
		return fail(a, GROVE_EEXIST, "there is already a token of that name (use 'grove token rm' to remove it)");
	if (a->scope && !strcmp(a->scope, "write"))
		t.scope = SCOPE_WRITE;
	else if (a->scope && strcmp(a->scope, "read"))
		return fail(a, GROVE_EINVAL, "--scope must be read or write");
	if (token_make(text))
		return fail(a, GROVE_EIO, "the system provides no random numbers");
	snprintf(word, sizeof(word), "%s", name);
	t.name = word;
	token_hash(text, t.hash);
	t.stores = strings(&a->stores);
	t.nr_stores = a->stores.nr;
	for (size_t i = 0; i < t.nr_stores; i++)
		store_url_hide_password(t.stores[i]);
	t.projects = strings(&a->projects);
	t.nr_projects = a->projects.nr;
	if (write_file(a->path, all, NULL, &t))
		return write_failed(a);
	if (a->json)
		printf("{\"name\":\"%s\",\"token\":\"%s\"}\n", name, text);
	else
		printf("%s\n", text);
	return 0;
}

static int remove_one(struct token_args *a, const struct tokens *all, const char *name)
{
	if (!has(all, name))
		return fail(a, GROVE_ENOTFOUND, "there is no token of that name");
	if (write_file(a->path, all, name, NULL))
		return write_failed(a);
	if (a->json)
		printf("{\"removed\":\"%s\"}\n", name);
	return 0;
}

static void list_json(const struct tokens *all)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	doc_open(&d, '[');
	for (size_t i = 0; i < all->nr; i++) {
		const struct token *t = &all->token[i];

		doc_open(&d, '{');
		doc_member(&d, "name", t->name);
		doc_member(&d, "scope", t->scope == SCOPE_WRITE ? "write" : "read");
		doc_name(&d, "stores");
		doc_open(&d, '[');
		for (size_t j = 0; j < t->nr_stores; j++)
			doc_string(&d, t->stores[j]);
		doc_close(&d, ']');
		doc_name(&d, "projects");
		doc_open(&d, '[');
		for (size_t j = 0; j < t->nr_projects; j++)
			doc_string(&d, t->projects[j]);
		doc_puts(&d, "]}");
	}
	doc_puts(&d, "]\n");
	fputs(d.rc ? "" : d.buf.ptr, stdout);
	doc_release(&d);
}

static int list(const struct token_args *a, const struct tokens *all)
{
	if (a->json) {
		list_json(all);
		return 0;
	}
	if (!all->nr)
		fputs("grove: there are no tokens (use 'grove token add NAME' to create one)\n", stderr);
	for (size_t i = 0; i < all->nr; i++) {
		const struct token *t = &all->token[i];

		printf("%-24s %-5s", t->name, t->scope == SCOPE_WRITE ? "write" : "read");
		for (size_t j = 0; j < t->nr_stores; j++)
			printf("  store=%s", t->stores[j]);
		for (size_t j = 0; j < t->nr_projects; j++)
			printf("  project=%s", t->projects[j]);
		putchar('\n');
	}
	return 0;
}

/* Looks in the option, then in the configuration, then uses the default location. */
static int find_file(struct token_args *a, char *why, size_t size)
{
	struct settings s = { .token_file = a->file };
	int rc = settings_complete(&s, why, size);

	if (!rc && s.token_file) {
		snprintf(a->path, sizeof(a->path), "%s", s.token_file);
	} else if (!rc) {
		rc = settings_default_tokens(a->path, sizeof(a->path));
		if (rc)
			snprintf(why, size, "there is no home directory for the tokens (use --token-file)");
	}
	settings_release(&s);
	return rc;
}

static int run(struct token_args *a, int argc, char **argv)
{
	int adds = argc == 2 && !strcmp(argv[0], "add"), removes = argc == 2 && !strcmp(argv[0], "rm");
	struct tokens *all = NULL;
	char why[4400];
	int status, lock = -1;

	if (find_file(a, why, sizeof(why)))
		return fail(a, GROVE_EIO, why);
	if (adds)
		make_directories(a->path);
	/* whoever changes it meanwhile waits; if it cannot be locked, writing it reports why */
	if (adds || removes)
		lock = config_lock(a->path, adds);
	if (tokens_read(a->path, &all, why, sizeof(why)))
		status = fail(a, GROVE_EIO, why);
	else if (adds)
		status = add(a, all, argv[1]);
	else if (removes)
		status = remove_one(a, all, argv[1]);
	else if (argc == 1 && !strcmp(argv[0], "list"))
		status = list(a, all);
	else
		status = fail(a, GROVE_EINVAL, "no action given (use add NAME, list or rm NAME)");
	tokens_unref(all);
	if (lock >= 0)
		close(lock);
	return status;
}

int cmd_token(int argc, char **argv)
{
	struct token_args a = { 0 };
	/* accepted because every command takes them, but without effect here */
	static const char *const colors[] = { "auto", "always", "never", NULL };
	const char *dialect;
	int color, no_cache, utc;
	const struct opt opts[] = {
		{ "token-file", .string = &a.file },
		{ "scope", .string = &a.scope },
		{ "store", .list = &a.stores },
		{ "project", .list = &a.projects },
		{ "json", .flag = &a.json },
		{ "dialect", .string = &dialect },
		{ "color", .choice = &color, .choices = colors },
		{ "no-cache", .flag = &no_cache },
		{ "utc", .flag = &utc },
		{ NULL },
	};
	const struct opt *const tables[] = { opts, NULL };
	char why[512];
	int status;

	if (opt_parse(tables, &argc, argv, 0, why, sizeof(why)))
		status = fail(&a, GROVE_EINVAL, why);
	else
		status = run(&a, argc, argv);
	opt_list_release(&a.stores);
	opt_list_release(&a.projects);
	return status;
}
