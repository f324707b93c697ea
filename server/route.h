/*
 * route.h: the table of routes.
 *
 * One row for each: how it is asked, what it takes, who may, what answers it. The
 * OpenAPI document is made from it, and so are the messages about what is wrong.
 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include "server.h"

enum route_pace {
	PACE_QUICK,      /* answered on the connection's own thread */
	PACE_SLOW,       /* on the pool: it may read files, or ask a database */
	PACE_SHARED      /* the same; requests for it at the same time share one answer */
};

enum param_type {
	PARAM_TEXT,
	PARAM_NUMBER,
	PARAM_FLAG,      /* 1 or true */
	PARAM_JSON       /* of a body: any value */
};

enum param_flags {
	PARAM_REQUIRED = 1,
	PARAM_NULL = 2,  /* null is a value as well */
	PARAM_MANY = 4   /* may be given several times */
};

struct param {
	const char *name;        /* NULL ends the list */
	enum param_type type;
	unsigned flags;
	const char *values;      /* "a|b": one of these; NULL: any */
	const char *about;
};

struct route {
	const char *method;
	const char *path;        /* "/api/v1/sessions/{id}" */
	enum scope scope;
	enum route_pace pace;
	int (*run)(struct request *r);
	const char *about;
	const struct param *query, *body;   /* NULL: none */
	const char *takes;       /* type of the body; NULL: JSON, if there is one */
	const char *gives;       /* types of the answer, with | between them; NULL: JSON */
	unsigned status;         /* of success; 0: 200 */
	/*
	 * The members of a JSON answer: "id:s name?:s0". "?": it may be missing; s, i, n, b,
	 * a, o: a string, integer, number, boolean, array, object, "*": anything; "0": or null.
	 */
	const char *answer;
	int rest;                /* the last name stands for one segment or more */
	unsigned body_max;       /* bytes; 0: BODY_MAX */
	int owner;               /* the reply says whose the session is, which is not in the log */
};

extern const struct route routes[];
extern const size_t nr_routes;
/* The row's number; nr_routes for the viewer's page, and for none. */
size_t route_index(const struct route *t);

/*
 * The route of a request, whose captures are filled in. NULL if there is none; then
 * *methods has a bit for each method that the address takes.
 */
const struct route *route_find(struct request *r, unsigned *methods);
void route_allow_header(struct request *r, unsigned methods);
/* How long the body of a request may be. */
unsigned route_body_max(const struct request *r);
/* Runs it, on whichever thread this is. */
void route_run(struct request *r);

/* Parameters of the query. A value that is wrong fails (GROVE_EINVAL, told). */
int query_number(struct request *r, const char *name, uint64_t *out);
int query_flag(struct request *r, const char *name, int *out);
const char *query_text(const struct request *r, const char *name);
/* The place of the value in `choices`, which ends with NULL; *out is left alone if there is none. */
int query_choice(struct request *r, const char *name, const char *const *choices, int *out);
/* Fails unless every word of a list with commas is one of `words`, which ends with NULL. */
int query_words(struct request *r, const char *name, const char *const *words);
/* Is `word` in a list with commas? */
int query_lists(const struct request *r, const char *name, const char *word);

/* openapi.c: the table as a document. */
int get_openapi(struct request *r);

#endif
