/*
 * store_url.h: what programs need to know of a store's URL.
 */
#ifndef PROGRAMS_STORE_URL_H
#define PROGRAMS_STORE_URL_H

/* Removes the password from a URL, as the library does in its reports; any other text stays. */
void store_url_hide_password(char *url);
/*
 * The suffix that makes an ambiguous id unique, as in ID~0123: four hexadecimal digits for
 * the store.
 */
void store_url_mark(const char *url, char out[5]);
/*
 * The same for one of several sessions in a store: its path counts as well, unless it has
 * none ("" or not absolute).
 */
void store_url_session_mark(const char *url, const char *path, char out[5]);

/* Returns true if the store is not on this machine, as far as its URL tells, so that it may not answer. */
int store_url_is_elsewhere(const char *url);

#endif
