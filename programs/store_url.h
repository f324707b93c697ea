/*
 * store_url.h: a store's URL as it may be shown.
 */
#ifndef PROGRAMS_STORE_URL_H
#define PROGRAMS_STORE_URL_H

/* Takes the password out of a URL, as the library does in what it reports; any other text stays. */
void store_url_hide_password(char *url);

#endif
