/*
 * form.c: parses the forms of a command.
 */
#include "form.h"

#include <string.h>

int form_is(struct form_word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(w.ptr, text, w.len);
}

int form_is_name(struct form_word w)
{
	return w.len && *w.ptr >= 'A' && *w.ptr <= 'Z';
}

int form_choice(struct form_word *w, struct form_word *one)
{
	const char *bar = w->len ? memchr(w->ptr, '|', w->len) : NULL;

	if (!w->len)
		return 0;
	one->ptr = w->ptr;
	one->len = bar ? (size_t)(bar - w->ptr) : w->len;
	w->ptr += one->len + (bar ? 1 : 0);
	w->len -= one->len + (bar ? 1 : 0);
	return 1;
}

static void take_word(struct form *f, struct form_word w, int *open)
{
	int dots = w.len > 3 && !memcmp(w.ptr + w.len - 3, "...", 3);

	if (dots)
		w.len -= 3;
	if (*w.ptr == '-') {
		*open = w.len > 1 && f->nr_options < FORM_WORDS && !form_is(w, "--");
		if (*open)
			f->option[f->nr_options++] = w;
	} else if (*open) {
		f->value[f->nr_options - 1] = w;
		*open = 0;
	} else if (f->nr_operands < FORM_WORDS) {
		f->operand[f->nr_operands++] = w;
		f->more = dots;
	}
}

const char *form_read(struct form *f, const char *text)
{
	size_t nr = 0;
	int open = 0;  /* the next word is the value of the last option */

	memset(f, 0, sizeof(*f));
	while (*text && *text != '\n') {
		struct form_word w = { text, strcspn(text, " []\n") };

		/* a bracket, and a bar by itself, end an option */
		if (!w.len || form_is(w, "|")) {
			open = open && *text == ' ';
			text++;
			continue;
		}
		text += w.len;
		/* "grove" and the command, which the page of grove itself does not have */
		if (form_is(w, "..."))
			f->more |= f->nr_operands > 0;
		else if (nr++ >= 2 || *w.ptr == '-')
			take_word(f, w, &open);
	}
	return *text ? text + 1 : NULL;
}
