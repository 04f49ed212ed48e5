/* The completion of shoal in shells, from the tables: each script finds the verb that the
 * line is in, then what the option before the cursor takes, else options, kinds or files. */
#include "cmd.h"

/* ---- What they share -------------------------------------------------------------------- */

/* How bash and zsh, whose scripts are alike, list words: zsh says what each means. */
struct shell {
    const char *open, *close; /* around a list */
    void (*word)(const char *dashes, const char *name, const char *help);
};

/* The verbs below this one, and those below them. */
static void each_verb(const struct verb *verb, const struct shell *shell,
                      void (*fn)(const struct verb *verb, const struct shell *shell))
{
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++) {
        fn(*kind, shell);
        each_verb(*kind, shell, fn);
    }
}

/* The verbs that stand behind this one: the operands of help are the verbs themselves. */
static const struct verb *const *kinds_of(const struct verb *verb)
{
    return verb == &cmd_help ? cmd_shoal.kinds : verb->kinds;
}

/* In single quotes, what ends them replaced. */
static void print_quoted(const char *text, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, stdout);
        else
            putchar(*text);
    }
}

/* ---- bash and zsh ------------------------------------------------------------------------- */

static void print_path(const struct verb *verb, const struct shell *shell)
{
    (void)shell;
    printf("        \"%s\") verb=\"%s\" ;;\n", verb->name, verb->name);
}

static void print_value(const struct verb *verb, const struct shoal_option *option,
                        const struct shell *shell)
{
    printf("    \"%s --%s\"", verb->name, option->name);
    if (option->letter)
        printf(" | \"%s -%c\"", verb->name, option->letter);
    putchar(')');
    if (option->type == SHOAL_TYPE_CHOICE) {
        fputs(shell->open, stdout);
        for (const struct shoal_choice *choice = option->choices; choice->name; choice++)
            shell->word("", choice->name, choice->help);
        fputs(shell->close, stdout);
    }
    if (option->type == SHOAL_TYPE_PATH)
        fputs(" files=1", stdout);
    puts(" ;;");
}

/* What the options of a verb take. */
static void print_values(const struct verb *verb, const struct shell *shell)
{
    for (const struct shoal_option_group *group = verb->groups; group->options; group++)
        for (const struct shoal_option *option = group->options; group->title && option->name;
             option++)
            if (shoal_option_takes_value(option))
                print_value(verb, option, shell);
}

/* Its options, and its kinds or files. */
static void print_words(const struct verb *verb, const struct shell *shell)
{
    const struct verb *const *kinds = kinds_of(verb);

    printf("    \"%s:-\"*)%s", verb->name, shell->open);
    for (const struct shoal_option_group *group = verb->groups; group->options; group++)
        for (const struct shoal_option *option = group->options; group->title && option->name;
             option++)
            shell->word("--", option->name, option->help);
    printf("%s ;;\n    \"%s:\"*)", shell->close, verb->name);
    if (kinds) {
        fputs(shell->open, stdout);
        for (; *kinds; kinds++)
            shell->word("", verb_word(*kinds), (*kinds)->summary);
        fputs(shell->close, stdout);
    } else if (verb->operands->name) {
        fputs(" files=1", stdout);
    }
    puts(" ;;");
}

/* From the loop over the line's words to what is found. */
static void print_cases(const struct verb *root, const struct shell *shell)
{
    puts("        case \"$verb $word\" in");
    each_verb(root, shell, print_path);
    fputs("        esac\n"
          "    done\n"
          "    case \"$verb $prev\" in\n",
          stdout);
    print_values(root, shell);
    each_verb(root, shell, print_values);
    puts("    *) case \"$verb:$cur\" in");
    print_words(root, shell);
    each_verb(root, shell, print_words);
    fputs("    esac ;;\n"
          "    esac\n",
          stdout);
}

static void bash_word(const char *dashes, const char *name, const char *help)
{
    (void)help;
    printf("%s%s ", dashes, name);
}

void completion_bash(const struct verb *root)
{
    static const struct shell bash = {" words=\"", "\"", bash_word};

    printf("# bash completion of shoal %s, made by `shoal help --bash-completion`\n"
           "_shoal()\n"
           "{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local verb=shoal words='' files='' word\n"
           "\n"
           "    # Bash breaks --name=value at the =.\n"
           "    if [[ $cur == = ]]; then\n"
           "        cur=\n"
           "    elif [[ $prev == = ]]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n",
           shoal_version());
    print_cases(root, &bash);
    fputs("    if [[ $files ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "    fi\n"
          "}\n"
          "complete -F _shoal shoal\n",
          stdout);
}

static void zsh_word(const char *dashes, const char *name, const char *help)
{
    printf(" '%s%s:", dashes, name);
    print_quoted(help, "'\\''");
    putchar('\'');
}

void completion_zsh(const struct verb *root)
{
    static const struct shell zsh = {" found=(", " )", zsh_word};

    printf("#compdef shoal\n"
           "# zsh completion of shoal %s, made by `shoal help --zsh-completion`\n"
           "_shoal()\n"
           "{\n"
           "    local cur=$words[CURRENT] prev=$words[CURRENT-1] verb=shoal files='' word\n"
           "    local -a found\n"
           "\n"
           "    if [[ $cur == --*=* ]]; then\n"
           "        prev=${cur%%%%=*} cur=${cur#*=}\n"
           "        compset -P '*='\n"
           "    fi\n"
           "    for word in \"${(@)words[2,CURRENT-1]}\"; do\n",
           shoal_version());
    print_cases(root, &zsh);
    fputs("    if [[ -n $files ]]; then\n"
          "        _files\n"
          "    elif (( $#found )); then\n"
          "        _describe shoal found\n"
          "    fi\n"
          "}\n"
          "# Found through fpath, or read by source?\n"
          "if [[ $funcstack[1] == _shoal ]]; then\n"
          "    _shoal \"$@\"\n"
          "else\n"
          "    compdef _shoal shoal\n"
          "fi\n",
          stdout);
}

/* ---- fish: a line for each word --------------------------------------------------------- */

static void fish_line(const struct verb *verb)
{
    printf("complete -c shoal -n '__shoal_in \"%s\"'", verb->name);
}

static void fish_help(const char *help)
{
    fputs(" -d '", stdout);
    print_quoted(help, "\\'");
    puts("'");
}

static void fish_option(const struct verb *verb, const struct shoal_option *option)
{
    fish_line(verb);
    printf(" -l %s", option->name);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (option->type == SHOAL_TYPE_PATH)
        fputs(" -r -F", stdout);
    else if (shoal_option_takes_value(option))
        fputs(" -x", stdout);
    if (option->type == SHOAL_TYPE_CHOICE) {
        fputs(" -a '", stdout);
        for (const struct shoal_choice *choice = option->choices; choice->name; choice++)
            printf("%s%s", choice == option->choices ? "" : " ", choice->name);
        putchar('\'');
    }
    fish_help(option->help);
}

static void fish_verb(const struct verb *verb, const struct shell *shell)
{
    const struct verb *const *kinds = kinds_of(verb);

    (void)shell;
    for (const struct shoal_option_group *group = verb->groups; group->options; group++)
        for (const struct shoal_option *option = group->options; group->title && option->name;
             option++)
            fish_option(verb, option);
    for (; kinds && *kinds; kinds++) {
        fish_line(verb);
        printf(" -a %s", verb_word(*kinds));
        fish_help((*kinds)->summary);
    }
    if (!kinds_of(verb) && verb->operands->name) {
        fish_line(verb);
        puts(" -F");
    }
}

static void fish_path(const struct verb *verb, const struct shell *shell)
{
    (void)shell;
    printf(" '%s'", verb->name);
}

void completion_fish(const struct verb *root)
{
    printf("# fish completion of shoal %s, made by `shoal help --fish-completion`\n"
           "function __shoal_in\n"
           "    set -l verb shoal\n"
           "    set -l line (commandline -opc)\n"
           "    for word in $line[2..]\n"
           "        switch \"$verb $word\"\n"
           "            case",
           shoal_version());
    each_verb(root, NULL, fish_path);
    fputs("\n"
          "                set verb \"$verb $word\"\n"
          "        end\n"
          "    end\n"
          "    test \"$verb\" = \"$argv[1]\"\n"
          "end\n"
          "complete -c shoal -f\n",
          stdout);
    fish_verb(root, NULL);
    each_verb(root, NULL, fish_verb);
}
