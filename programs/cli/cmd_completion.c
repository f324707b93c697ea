/*
 * cmd_completion.c: scripts that complete commands in a shell.
 *
 * The scripts only ask `grove completion --words -- WORD…`, so what is offered is exactly
 * what this version of the program understands.
 */
#include "commands.h"
#include "complete.h"

#include <string.h>

static const char bash[] =
	"# grove completion bash\n"
	"_grove() {\n"
	"\tlocal line word about longest=0 i rest=$COMP_LINE now typed quote files= named= program=${BASH_ALIASES[${COMP_WORDS[0]}]:-${COMP_WORDS[0]}}\n"
	"\tlocal -a asked=() words=() notes=()\n"
	"\tCOMPREPLY=()\n"
	"\t[[ $program == \\~/* ]] && program=$HOME${program#\\~}\n"
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
	"\tquote=${word:0:1}\n"
	"\tfor i in \"${!asked[@]}\"; do\n"
	"\t\t[[ ${asked[i]} == [\\\"\\']* ]] && asked[i]=${asked[i]#?} && asked[i]=${asked[i]%[\\\"\\']}\n"
	"\t\tasked[i]=${asked[i]//\\\\/}\n"
	"\tdone\n"
	"\ttyped=${asked[-1]#\"$now\"}\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tword=${line%%$'\\t'*}\n"
	"\t\tcase $word in\n"
	"\t\t:files) files=1; compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$typed\") ;;\n"
	"\t\t:dirs) files=1; compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$typed\") ;;\n"
	"\t\t\"$now\"*)\n"
	"\t\t\tabout=${line#\"$word\"}\n"
	"\t\t\tword=${word#\"$now\"}\n"
	"\t\t\twords+=(\"$word\")\n"
	"\t\t\tnotes+=(\"${about#$'\\t'}\")\n"
	"\t\t\t[[ $word == \"$typed\"* ]] || named=1\n"
	"\t\t\t((${#word} > longest)) && longest=${#word}\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone < <(\"$program\" completion --words -- \"${asked[@]:1}\" 2>/dev/null)\n"
	"\tfor i in \"${!words[@]}\"; do\n"
	"\t\tword=${words[i]}\n"
	"\t\tif ((COMP_TYPE == 63)); then\n"
	"\t\t\t# only listed, so a note can follow each\n"
	"\t\t\t((${#words[@]} > 1)) && [[ ${notes[i]} ]] && printf -v word '%-*s  (%s)' $longest \"$word\" \"${notes[i]}\"\n"
	"\t\telif [[ $files ]]; then\n"
	"\t\t\t:  # readline quotes it\n"
	"\t\telif [[ $quote == \\' ]]; then\n"
	"\t\t\tword=${word//\\'/$'\\'\\\\\\'\\''}\n"
	"\t\telif [[ $quote == \\\" ]]; then\n"
	"\t\t\tword=${word//\\\\/\\\\\\\\}\n"
	"\t\t\tword=${word//\\\"/\\\\\\\"}\n"
	"\t\t\tword=${word//\\$/\\\\\\$}\n"
	"\t\t\tword=${word//\\`/\\\\\\`}\n"
	"\t\telse\n"
	"\t\t\tprintf -v word %q \"$word\"\n"
	"\t\tfi\n"
	"\t\tCOMPREPLY+=(\"$word\")\n"
	"\tdone\n"
	"\t# several were found by name: what their ids have in common would find others\n"
	"\t[[ $named ]] && ((${#words[@]} > 1 && COMP_TYPE != 63 && COMP_TYPE != 37)) && COMPREPLY+=(' ')\n"
	"}\n"
	"complete -F _grove grove\n";

static const char zsh[] =
	"#compdef grove\n"
	"# grove completion zsh\n"
	"_grove() {\n"
	"\tlocal line word program=${(Q)words[1]}\n"
	"\tlocal -a found notes\n"
	"\t[[ $program == '~/'* ]] && program=$HOME${program#'~'}\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tword=${line%%$'\\t'*}\n"
	"\t\tcase $word in\n"
	"\t\t# the value of --option=VALUE, or the path of a store\n"
	"\t\t:files) compset -P '--*='; compset -P '(file|sqlite):'; _files ;;\n"
	"\t\t:dirs) compset -P '--*='; _files -/ ;;\n"
	"\t\t*)\n"
	"\t\t\tfound+=(\"$word\")\n"
	"\t\t\tif [[ $line == *$'\\t'* ]]; then notes+=(\"$word  -- ${line#*$'\\t'}\"); else notes+=(\"$word\"); fi\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\t# without the quotes that they are typed with\n"
	"\tdone < <(\"$program\" completion --words -- \"${(@Q)words[2,CURRENT-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)\n"
	"\t# -U: a session may be found by its name\n"
	"\t(($#found)) && compadd -U -l -d notes -a found\n"
	"\t# if there are several, what their ids have in common would find others\n"
	"\t[[ $compstate[insert] == *unambiguous && -n ${found:#${(bQ)PREFIX}*} ]] && (($#found > 1)) && compstate[insert]=\n"
	"}\n"
	"if [[ $funcstack[1] == _grove ]]; then _grove \"$@\"; else compdef _grove grove; fi\n";

static const char fish[] =
	"# grove completion fish\n"
	"function __grove_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l program (string replace -r '^~/' \"$HOME/\" -- $words[1])\n"
	"\ttype -q -- $program; or return\n"
	"\t# without the quotes that it is typed with\n"
	"\tset -a words (commandline -ct | string replace -r '^[\"\\\']' '' | string replace -a '\\\\' '')\n"
	"\t# a path may be the value of --option=VALUE\n"
	"\tset -l option (commandline -ct | string match -r -- '^--[^=]*=')\n"
	"\tset -l path (commandline -ct | string replace -r -- '^--[^=]*=' '')\n"
	"\tfor line in ($program completion --words -- $words[2..-1] 2>/dev/null)\n"
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
