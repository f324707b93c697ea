/*
 * route.h: the table of routes.
 *
 * Each row has the method and path, the parameters, the required scope and the handler. The
 * OpenAPI document and the messages about wrong parameters are generated from the table.
 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include "server.h"

enum route_pace {
	PACE_QUICK,      /* handled on the connection's own thread */
	PACE_SLOW,       /* handled by the pool: it may read files or query a database */
	PACE_SHARED      /* the same, and identical requests at the same time share a reply */
};

enum param_type {
	PARAM_TEXT,
	PARAM_NUMBER,
	PARAM_FLAG,      /* 1 or true */
	PARAM_JSON       /* any value in a body */
};

enum param_flags {
	PARAM_REQUIRED = 1,
	PARAM_NULL = 2,  /* null is allowed */
	PARAM_MANY = 4   /* may be repeated */
};

struct param {
	const char *name;        /* NULL ends the list */
	enum param_type type;
	unsigned flags;
	const char *values;      /* "a|b": one of these; NULL if any */
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
	const char *takes;       /* content type of the body; NULL for JSON, if there is a body */
	const char *gives;       /* content types of the reply, separated by |; NULL for JSON */
	unsigned status;         /* on success; 0 means 200 */
	const char *answer;      /* the members of a JSON reply, as in struct shape */
	int rest;                /* the last name matches one or more segments */
	unsigned body_max;       /* bytes; 0 means BODY_MAX */
	int owner;               /* the reply shows the session's owner, which is not in the log */
	unsigned wide;           /* 1: it may read all sessions */
};

extern const struct route routes[];
extern const size_t nr_routes;

/*
 * The members of an object, such as "id:s name?:s0 rows:[UsageRow] labels:{s}". "?" marks an
 * optional one. The types are s, i, n, b, o (string, integer, number, boolean, object), "*"
 * (any), the name of a shape, one of several words as "all|turns", [T] for an array of T, and
 * {T} for an object whose values are T; "0" means that it may be null. A "*" at the end stands for
 * any other members.
 */
struct shape {
	const char *name;
	const char *members;     /* of an event: the name of its shape */
};

/* shapes.c */
extern const struct shape shapes[], event_shapes[];
extern const size_t nr_shapes, nr_event_shapes;

/* The record of a session, as a reply and as a part of others. */
#define SESSION_RECORD \
	"id:s key:s provider:s store:s path:s0 dialect:s agent:s agentId:s0 cwd:s0 name:s0 rootEntryId:s0 " \
	"leafEntryId:s0 parentSession:s0 createdAt:s0 updatedAt:s0 entryCount:i size:i seq:i rev:i generation:i " \
	"writable:b damaged?:Damage"

/* Returns the row's number, or nr_routes for the viewer's page and for no route. */
size_t route_index(const struct route *t);

/*
 * Finds the route and fills in the captures. Returns NULL if there is none; *methods then
 * has a bit for each method that the address supports.
 */
const struct route *route_find(struct request *r, unsigned *methods);
void route_allow_header(struct request *r, unsigned methods);
/* Returns the size limit for the request's body. */
unsigned route_body_max(const struct request *r);
/* Runs the handler on the current thread. */
void route_run(struct request *r);

/* Query parameters. A wrong value fails with GROVE_EINVAL and sets r->detail. */
int query_number(struct request *r, const char *name, uint64_t *out);
int query_flag(struct request *r, const char *name, int *out);
const char *query_text(const struct request *r, const char *name);
/*
 * Returns the value's index in `choices`, a list that ends with NULL; leaves *out alone if
 * absent.
 */
int query_choice(struct request *r, const char *name, const char *const *choices, int *out);
/* Fails unless every word of a comma-separated list is in `words`, a list that ends with NULL. */
int query_words(struct request *r, const char *name, const char *const *words);
/* Returns true if `word` is in a comma-separated list. */
int query_lists(const struct request *r, const char *name, const char *word);

/* openapi.c: the table as a document. */
int get_openapi(struct request *r);

#endif
