/*
 * usage/origin.h: which of several sessions with the same reply was there first.
 */
#ifndef GROVE_USAGE_ORIGIN_H
#define GROVE_USAGE_ORIGIN_H

#include "usage/usage_logs.h"

/* Gives each reply to the session that it was said in, once all logs are known. GROVE_ENOMEM. */
int grove__origin_settle(struct grove__usage_logs *ls);

#endif
