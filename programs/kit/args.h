/*
 * args.h: passwords on a command line.
 *
 * All users of a machine can see the arguments of a program, but only its own user sees its
 * environment.
 */
#ifndef PROGRAMS_ARGS_H
#define PROGRAMS_ARGS_H

/*
 * Call first: copies arguments that contain a password, as the URL of a database may, and
 * erases it where others can see it. Also takes what args_pass() left.
 */
void args_hide(int argc, char **argv);
/*
 * Call before execv(): moves such words to the environment, where args_hide() of the other
 * program finds them. Returns 0, or -1 if out of memory.
 */
int args_pass(char **words);

#endif
