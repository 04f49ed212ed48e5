/* shoal help: explain a verb, from its table. */
#include "cmd.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80
#define LEFT 28 /* where the explanations of options begin */

struct help_cmd {
    bool man, bash, zsh, fish;
};

/* ---- Text in columns ------------------------------------------------------------ */

/* The length of the next word; what stands in parentheses is one if it fits. */
static size_t word_length(const char *text, size_t room)
{
    const char *close = *text == '(' ? strchr(text, ')') : NULL;
    size_t len = close ? (size_t)(close - text) + strcspn(close, " \n") : 0;

    return len > 0 && len <= room ? len : strcspn(text, " \n");
}

/* Prints words in lines that begin at `indent`, where the cursor stands; then
 * ends the line. */
static void wrap(const char *text, size_t indent)
{
    size_t column = indent;

    while (*text) {
        size_t len = word_length(text, WIDTH - indent);

        if (column > indent && column + 1 + len > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        }
        printf("%s%.*s", column > indent ? " " : "", (int)len, text);
        column += len + (column > indent);
        text += len;
        if (*text == '\n') {
            printf("\n\n%*s", (int)indent, "");
            column = indent;
        }
        text += strspn(text, " \n");
    }
    putchar('\n');
}

/* `left` in the column `indent` and `text` in the column `at`. */
static void entry(size_t indent, const char *left, const char *text, size_t at)
{
    size_t len = indent + strlen(left);

    printf("%*s%s", (int)indent, "", left);
    if (len + 2 > at)
        printf("\n%*s", (int)at, "");
    else
        printf("%*s", (int)(at - len), "");
    wrap(text, at);
}

static void heading(const char *title)
{
    printf("\n%s%s:%s\n", style_on(stdout, STYLE_BOLD), title, style_on(stdout, STYLE_PLAIN));
}

/* ---- The parts of a page ---------------------------------------------------------- */

static void print_usage(const struct verb *verb)
{
    char text[SHOAL_SENTENCE];

    verb_usage(text, verb);
    printf("%sUsage:%s %s\n", style_on(stdout, STYLE_BOLD), style_on(stdout, STYLE_PLAIN), text);
}

static void print_operands(const struct verb *verb)
{
    if (verb->kinds || !verb->operands->name)
        return;
    putchar('\n');
    for (const struct operand *operand = verb->operands; operand->name; operand++)
        entry(2, operand->name, operand->help, 10);
}

static void print_kinds(const struct verb *verb)
{
    char title[64];

    if (!verb->kinds)
        return;
    snprintf(title, sizeof title, "%c%ss", toupper(verb->kind_word[0]), verb->kind_word + 1);
    heading(title);
    for (const struct verb *const *kind = verb->kinds; *kind; kind++)
        entry(2, verb_word(*kind), (*kind)->summary, 12);
}

/* "  -o, --output FILE" */
static void option_left(char left[64], const struct shoal_option *opt)
{
    const char letter[] = {'-', opt->letter, ',', '\0'};

    snprintf(left, 64, "  %3s --%s%s%s", opt->letter ? letter : "", opt->name, opt->arg ? " " : "",
             opt->arg ? opt->arg : "");
}

/* The width of the column of choices. */
static size_t choice_width(const struct shoal_choice *choices)
{
    size_t width = 6;

    for (const struct shoal_choice *choice = choices; choice && choice->name; choice++)
        if (strlen(choice->name) > width)
            width = strlen(choice->name);
    return width + 4;
}

static void print_option(const struct shoal_option *opt, const void *base)
{
    char left[64], facts[SHOAL_SENTENCE], text[2 * SHOAL_SENTENCE];
    size_t column = LEFT + choice_width(opt->choices);

    option_left(left, opt);
    shoal_option_facts(facts, opt, base);
    snprintf(text, sizeof text, *facts ? "%.*s (%s)" : "%.*s", SHOAL_SENTENCE, opt->help, facts);
    entry(0, left, text, LEFT);
    for (const struct shoal_choice *choice = opt->choices; choice && choice->name; choice++)
        entry(LEFT + 2, choice->name, choice->help, column);
}

static void print_options(const struct verb *verb)
{
    void *defaults = verb_defaults(verb);

    for (const struct shoal_option_group *group = verb->groups; group->options; group++) {
        if (!group->title)
            continue;
        heading(group->title);
        for (const struct shoal_option *opt = group->options; opt->name; opt++)
            print_option(opt, (const char *)defaults + group->at);
    }
    free(defaults);
}

static void print_examples(const struct verb *verb)
{
    if (!verb->examples)
        return;
    heading("Examples");
    for (const struct shoal_example *example = verb->examples; example->line; example++)
        printf("  %s# %s%s\n  %s\n", style_on(stdout, STYLE_DIM), example->what,
               style_on(stdout, STYLE_PLAIN), example->line);
}

void help_print(const struct verb *verb)
{
    print_usage(verb);
    printf("\n%s%s%s: %s\n\n", style_on(stdout, STYLE_BOLD), verb->name,
           style_on(stdout, STYLE_PLAIN), verb->summary);
    wrap(verb->about, 0);
    print_operands(verb);
    print_kinds(verb);
    print_options(verb);
    print_examples(verb);
    if (verb->kinds)
        printf("\n'shoal help%s %s' says more about one.\n", verb->name + strlen("shoal"),
               verb->operands->name);
}

/* ---- The verb ---------------------------------------------------------------------- */

static int help_run(const void *at, const char *const *args, size_t nargs)
{
    const struct help_cmd *cmd = at;
    const struct verb *verb = &cmd_shoal;

    if (cmd->bash || cmd->zsh || cmd->fish) {
        completion_print(verb, cmd->bash ? SHELL_BASH : cmd->zsh ? SHELL_ZSH : SHELL_FISH);
        return EXIT_DONE;
    }
    if (cmd->man && nargs > 1)
        return usage(&cmd_help, "found '%s', want one verb, whose page has its kinds", args[1]);
    for (size_t i = 0; i < nargs; i++) {
        if (!verb->kinds)
            return usage(&cmd_help, "'%s' has no kinds, found '%s'", verb->name, args[i]);
        verb = verb_find(verb, args[i]);
        if (!verb)
            return EXIT_USAGE;
    }
    if (cmd->man)
        man_print(&cmd_shoal, verb);
    else
        help_print(verb);
    return EXIT_DONE;
}

static const struct shoal_option own_opts[] = {
    {"man", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct help_cmd, man),
     .help = "print the manual page shoal(1), or that of a verb, for man -l"},
    {"bash-completion", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct help_cmd, bash),
     .help = "print the completion script, for source"},
    {"zsh-completion", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct help_cmd, zsh),
     .help = "the same for zsh: _shoal in a folder of fpath, or source"},
    {"fish-completion", .type = SHOAL_TYPE_FLAG, SHOAL_FIELD(struct help_cmd, fish),
     .help = "the same for fish"},
    {0},
};

const struct verb cmd_help = {
    .name = "shoal help",
    .summary = "explain shoal or one of its verbs",
    .about = "The same as --help after a verb. The manual page and the shell completion are made "
             "from the same tables.",
    .operands = (const struct operand[]){{"VERB", "a verb, and its kind where it has some",
                                          .optional = true, .many = true},
                                         {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Output", own_opts, .at = 0},
            {"General", help_opts, .at = 0},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal help gen world", "explain one kind of a verb"},
            {"shoal help train --man | man -l -", "read the manual without installing it"},
            {0},
        },
    .opts_size = sizeof(struct help_cmd),
    .run = help_run,
};
