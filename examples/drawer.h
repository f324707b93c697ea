/* drawer.h: a store that a program brings itself: see drawer.c. */
#ifndef DRAWER_H
#define DRAWER_H

#include <grove/sys.h>

/* Stores with URLs like "drawer:anything", each empty at first and gone when it is closed. */
extern const struct grove_store_type drawer_type;

#endif
