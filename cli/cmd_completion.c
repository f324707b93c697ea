/*
 * cmd_completion.c: scripts that complete commands in a shell.
 *
 * The scripts only ask `grove completion --words -- WORD…`, so what is offered is exactly
 * what this version of the program understands.
 */
#include "complete.h"

#include <string.h>

static const char bash[] =
	"# grove completion bash\n"
	"_grove() {\n"
	"\tlocal line word about longest=0 i rest=$COMP_LINE now\n"
	"\tlocal -a asked=() words=() notes=()\n"
	"\tCOMPREPLY=()\n"
	"\t# bash cuts words at : and =; what has no space between it belongs together\n"
	"\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif ((i == 0)) || [[ $rest == [[:space:]]* ]]; then\n"
	"\t\t\trest=${rest#\"${rest%%[![:space:]]*}\"}\n"
	"\t\t\tasked+=(\"$word\")\n"
	"\t\telse\n"
	"\t\t\tasked[-1]+=$word\n"
	"\t\tfi\n"
	"\t\trest=${rest#\"$word\"}\n"
	"\tdone\n"
	"\t# what was inserted before the last cut stays where it is\n"
	"\t[[ $word == [:=] ]] && word=\n"
	"\tnow=${asked[-1]%\"$word\"}\n"
	"\tfor i in \"${!asked[@]}\"; do\n"
	"\t\t[[ ${asked[i]} == [\\\"\\']* ]] && asked[i]=${asked[i]#?} && asked[i]=${asked[i]%[\\\"\\']}\n"
	"\t\tasked[i]=${asked[i]//\\\\/}\n"
	"\tdone\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tword=${line%%$'\\t'*}\n"
	"\t\tcase $word in\n"
	"\t\t:files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"${asked[-1]#\"$now\"}\") ;;\n"
	"\t\t:dirs) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"${asked[-1]#\"$now\"}\") ;;\n"
	"\t\t\"$now\"*)\n"
	"\t\t\tabout=${line#\"$word\"}\n"
	"\t\t\tword=${word#\"$now\"}\n"
	"\t\t\twords+=(\"$word\")\n"
	"\t\t\tnotes+=(\"${about#$'\\t'}\")\n"
	"\t\t\t((${#word} > longest)) && longest=${#word}\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" completion --words -- \"${asked[@]:1}\" 2>/dev/null)\n"
	"\tfor i in \"${!words[@]}\"; do\n"
	"\t\t# several: readline lists them, so a note can follow each\n"
	"\t\tif ((${#words[@]} > 1)) && [[ ${notes[i]} && $COMP_TYPE == 63 ]]; then\n"
	"\t\t\tprintf -v line '%-*s  (%s)' $longest \"${words[i]}\" \"${notes[i]}\"\n"
	"\t\t\tCOMPREPLY+=(\"$line\")\n"
	"\t\telse\n"
	"\t\t\tCOMPREPLY+=(\"${words[i]}\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"}\n"
	"complete -F _grove grove\n";

static const char zsh[] =
	"#compdef grove\n"
	"# grove completion zsh\n"
	"_grove() {\n"
	"\tlocal line word\n"
	"\tlocal -a found notes\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tword=${line%%$'\\t'*}\n"
	"\t\tcase $word in\n"
	"\t\t# the value of --option=VALUE\n"
	"\t\t:files) compset -P '--*='; _files ;;\n"
	"\t\t:dirs) compset -P '--*='; _files -/ ;;\n"
	"\t\t*)\n"
	"\t\t\tfound+=(\"$word\")\n"
	"\t\t\tif [[ $line == *$'\\t'* ]]; then notes+=(\"$word  -- ${line#*$'\\t'}\"); else notes+=(\"$word\"); fi\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\t# without the quotes that they are typed with\n"
	"\tdone < <(\"${words[1]}\" completion --words -- ${(Q)words[2,CURRENT-1]} \"${(Q)PREFIX}\" 2>/dev/null)\n"
	"\t# -U: a session may be found by its name\n"
	"\t(($#found)) && compadd -U -l -d notes -a found\n"
	"}\n"
	"if [[ $funcstack[1] == _grove ]]; then _grove \"$@\"; else compdef _grove grove; fi\n";

static const char fish[] =
	"# grove completion fish\n"
	"function __grove_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\t# without the quotes that it is typed with\n"
	"\tset -a words (commandline -ct | string replace -r '^[\"\\\']' '' | string replace -a '\\\\' '')\n"
	"\t# a path may be the value of --option=VALUE\n"
	"\tset -l option (commandline -ct | string match -r -- '^--[^=]*=')\n"
	"\tset -l path (commandline -ct | string replace -r -- '^--[^=]*=' '')\n"
	"\tfor line in ($words[1] completion --words -- $words[2..-1] 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\tcase ':files'\n"
	"\t\t\tprintf '%s\\n' \"$option\"(complete -C \"'' $path\")\n"
	"\t\tcase ':dirs'\n"
	"\t\t\tprintf '%s\\n' \"$option\"(complete -C \"'' $path\" | string match '*/')\n"
	"\t\tcase '*'\n"
	"\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c grove -f -a '(__grove_complete)'\n";

/* Uses the stores that the command line names. */
static void take_stores(struct cli *c, int argc, char **argv)
{
	/* the last word is being typed */
	for (int i = 0; i + 1 < argc; i++)
		if (!strncmp(argv[i], "--store=", 8))
			opt_list_add(&c->stores, argv[i] + 8);
		else if (!strcmp(argv[i], "--store") && i + 2 < argc)
			opt_list_add(&c->stores, argv[++i]);
}

int cmd_completion(struct cli *c, int argc, char **argv)
{
	static const struct {
		const char *name, *script;
	} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
	int words = 0;
	const struct opt opts[] = {
		{ "words", .flag = &words },
		{ NULL },
	};

	if (cli_parse(c, opts, "bash|zsh|fish [WORD...]", &argc, argv))
		return c->status;
	if (words) {
		take_stores(c, argc, argv);
		return cli_start(c) ? c->status : complete_print(c, argc, argv);
	}
	if (argc > 1)
		return cli_usage(c, "unexpected argument '%.64s'", argv[1]);
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
		if (!strcmp(argv[0], shells[i].name)) {
			out_puts(&c->out, shells[i].script);
			return EXIT_DONE;
		}
	return cli_usage(c, "'%.64s' is not one of bash, zsh, fish", argv[0]);
}
