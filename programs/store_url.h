/*
 * store_url.h: hides the password in a store's URL.
 */
#ifndef PROGRAMS_STORE_URL_H
#define PROGRAMS_STORE_URL_H

/* Removes the password from a URL, as the library does in its reports; any other text stays. */
void store_url_hide_password(char *url);

#endif
