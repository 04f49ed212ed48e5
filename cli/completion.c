/* The completion of shoal in shells, from the tables: each script finds the verb that the
 * line is in, then what the option before the cursor takes, else options, kinds or files. */
#include "cmd.h"

#include <string.h>

/* ---- What they share -------------------------------------------------------------------- */

/* Made from cli/text by scripts/embed.sh: a script for each shell, in which @NAME@ stands for what
 * the tables have to say there. */
#include "completion.inc"

/* How bash and zsh, whose scripts are alike, list words: zsh says what each means. */
struct shell {
    const char *script;
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

/* The verbs that stand behind this one: the operands of help are the verbs themselves, and a study
 * is of one of the models that can be trained. */
static const struct verb *const *kinds_of(const struct verb *verb)
{
    return verb == &cmd_help    ? cmd_shoal.kinds
           : verb == &cmd_study ? cmd_train.kinds
                                : verb->kinds;
}

/* Whether files stand behind it, too. */
static bool takes_files(const struct verb *verb)
{
    return verb != &cmd_help && !verb->kinds && verb->operands->name;
}

/* A verb of the root with kinds: `shoal help VERB` is followed by one of them. */
static bool has_help_kinds(const struct verb *verb)
{
    return verb->kinds && strchr(verb->name, ' ') == strrchr(verb->name, ' ');
}

/* The next option that help shows. */
static bool next_shown(const struct verb *verb, struct option_walk *w)
{
    while (option_next(verb->groups, w))
        if (w->group->title)
            return true;
    return false;
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

/* The next of words with blanks between; NULL behind the last. */
static const char *next_word(char word[SHOAL_VALUE], const char *at)
{
    size_t len;

    at += strspn(at, " ");
    len = strcspn(at, " ");
    snprintf(word, SHOAL_VALUE, "%.*s", (int)len, at);
    return len > 0 ? at + len : NULL;
}

/* The words that an option is completed with, each by `put`, if there are any. */
static void each_word(const struct shoal_option *option,
                      void (*put)(const char *dashes, const char *name, const char *help))
{
    const struct shoal_choice *choice = option->choices;
    const char *at = option->own ? option->own->words : NULL;
    char word[SHOAL_VALUE];

    for (; choice && choice->name; choice++)
        put("", choice->name, choice->help);
    while (at && (at = next_word(word, at)) != NULL)
        put("", word, "");
}

static bool has_words(const struct shoal_option *option)
{
    return option->choices || (option->own && option->own->words);
}

/* ---- bash and zsh ------------------------------------------------------------------------- */

static void print_path(const struct verb *verb, const struct shell *shell)
{
    (void)shell;
    printf("        \"%s\") verb=\"%s\" ;;\n", verb->name, verb->name);
    if (has_help_kinds(verb))
        printf("        \"%s %s\") verb=\"%s %s\" ;;\n", cmd_help.name, verb_word(verb),
               cmd_help.name, verb_word(verb));
}

static void print_value(const struct verb *verb, const struct shoal_option *option,
                        const struct shell *shell)
{
    printf("    \"%s --%s\"", verb->name, option->name);
    if (option->letter)
        printf(" | \"%s -%c\"", verb->name, option->letter);
    putchar(')');
    if (has_words(option)) {
        fputs(shell->open, stdout);
        each_word(option, shell->word);
        fputs(shell->close, stdout);
    }
    if (option->type == SHOAL_TYPE_PATH)
        fputs(" files=1", stdout);
    puts(" ;;");
}

/* What the options of a verb take. */
static void print_values(const struct verb *verb, const struct shell *shell)
{
    struct option_walk w = {0};

    while (next_shown(verb, &w))
        if (shoal_option_takes_value(w.opt))
            print_value(verb, w.opt, shell);
}

static void print_kinds(const struct verb *const *kinds, const struct shell *shell)
{
    fputs(shell->open, stdout);
    for (; *kinds; kinds++)
        shell->word("", verb_word(*kinds), (*kinds)->summary);
    fputs(shell->close, stdout);
}

/* What undoes its flags. */
static void print_negated(const struct verb *verb, const struct shell *shell)
{
    struct option_walk w = {0};

    printf("    \"%s:--no-\"*)%s", verb->name, shell->open);
    while (next_shown(verb, &w)) {
        bool named = strncmp(w.opt->name, "no-", 3) == 0;

        if (named || w.opt->type == SHOAL_TYPE_FLAG)
            shell->word(named ? "--" : "--no-", w.opt->name, w.opt->help);
    }
    printf("%s ;;\n", shell->close);
}

/* Its options, and its kinds or files. */
static void print_words(const struct verb *verb, const struct shell *shell)
{
    const struct verb *const *kinds = kinds_of(verb);
    struct option_walk w = {0};

    print_negated(verb, shell);
    printf("    \"%s:-\"*)%s", verb->name, shell->open);
    while (next_shown(verb, &w))
        shell->word("--", w.opt->name, w.opt->help);
    printf("%s ;;\n    \"%s:\"*)", shell->close, verb->name);
    if (kinds)
        print_kinds(kinds, shell);
    if (takes_files(verb))
        fputs(" files=1", stdout);
    puts(" ;;");
    if (has_help_kinds(verb)) {
        printf("    \"%s %s:\"*)", cmd_help.name, verb_word(verb));
        print_kinds(verb->kinds, shell);
        puts(" ;;");
    }
}

static void bash_word(const char *dashes, const char *name, const char *help)
{
    (void)help;
    printf("%s%s ", dashes, name);
}

static void zsh_word(const char *dashes, const char *name, const char *help)
{
    printf(" '%s", dashes);
    for (; *name; name++)
        printf("%s%c", *name == ':' ? "\\" : "", *name);
    putchar(':');
    print_quoted(help, "'\\''");
    putchar('\'');
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

/* --no-NAME, shown where one begins to type it. */
static void fish_negated(const struct verb *verb, const struct shoal_option *option)
{
    if (option->type != SHOAL_TYPE_FLAG || strncmp(option->name, "no-", 3) == 0)
        return;
    printf("complete -c shoal -n '__shoal_in \"%s\"; and string match -q -- \"--no-*\" "
           "(commandline -ct)' -l no-%s", verb->name, option->name);
    fish_help(option->help);
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
    if (has_words(option)) {
        fputs(" -a '", stdout);
        each_word(option, bash_word);
        putchar('\'');
    }
    fish_help(option->help);
}

static void fish_verb(const struct verb *verb, const struct shell *shell)
{
    const struct verb *const *kinds = kinds_of(verb);
    struct option_walk w = {0};

    (void)shell;
    while (next_shown(verb, &w)) {
        fish_option(verb, w.opt);
        fish_negated(verb, w.opt);
    }
    for (; kinds && *kinds; kinds++) {
        fish_line(verb);
        printf(" -a %s", verb_word(*kinds));
        fish_help((*kinds)->summary);
    }
    if (takes_files(verb)) {
        fish_line(verb);
        puts(" -F");
    }
    for (kinds = has_help_kinds(verb) ? verb->kinds : NULL; kinds && *kinds; kinds++) {
        printf("complete -c shoal -n '__shoal_in \"%s %s\"' -a %s", cmd_help.name,
               verb_word(verb), verb_word(*kinds));
        fish_help((*kinds)->summary);
    }
}

static void fish_path(const struct verb *verb, const struct shell *shell)
{
    (void)shell;
    printf(" '%s'", verb->name);
    if (has_help_kinds(verb))
        printf(" '%s %s'", cmd_help.name, verb_word(verb));
}

/* ---- The scripts ------------------------------------------------------------------------ */

static void print_version(const struct verb *verb, const struct shell *shell)
{
    (void)verb;
    (void)shell;
    fputs(shoal_version(), stdout);
}

/* What stands for what, of the root, of the verbs below it, or both. */
static const struct part {
    const char *name;
    bool root, below;
    void (*print)(const struct verb *verb, const struct shell *shell);
} parts[] = {
    {"@VERSION@", true, false, print_version}, {"@PATHS@\n", false, true, print_path},
    {"@VALUES@\n", true, true, print_values},  {"@WORDS@\n", true, true, print_words},
    {"@NAMES@", false, true, fish_path},       {"@LINES@\n", true, true, fish_verb},
};

/* The part that the text begins with; NULL: none. */
static const struct part *part_at(const char *text)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(text, parts[i].name, strlen(parts[i].name)) == 0)
            return &parts[i];
    return NULL;
}

void completion_print(const struct verb *root, enum shell_name name)
{
    static const struct shell shells[] = {
        [SHELL_BASH] = {complete_bash, " words=\"", "\"", bash_word},
        [SHELL_ZSH] = {complete_zsh, " found=(", " )", zsh_word},
        [SHELL_FISH] = {.script = complete_fish},
    };
    const struct shell *shell = &shells[name];

    for (const char *at = shell->script; *at;) {
        const struct part *part = part_at(at);

        if (part && part->root)
            part->print(root, shell);
        if (part && part->below)
            each_verb(root, shell, part->print);
        if (!part)
            putchar(*at);
        at += part ? strlen(part->name) : 1;
    }
}
