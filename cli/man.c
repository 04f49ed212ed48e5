/* The manual pages, in man(7) macros, from the tables: shoal(1) says what verbs there are, and
 * shoal-VERB(1) has a verb with all its kinds. */
#include "cmd.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Text with what troff would take for its own escaped; `code` becomes bold. */
static void text(const char *at)
{
    bool code = false;

    if (*at == '.' || *at == '\'')
        fputs("\\&", stdout);
    for (; *at; at++) {
        if (*at == '`') {
            code = !code;
            fputs(code ? "\\fB" : "\\fR", stdout);
        } else if (*at == '-') {
            fputs("\\-", stdout);
        } else if (*at == '\\') {
            fputs("\\e", stdout);
        } else if (*at == '\n') {
            fputs("\n.PP\n", stdout);
        } else {
            putchar(*at);
        }
    }
}

static void line(const char *at)
{
    text(at);
    putchar('\n');
}

/* ---- One verb ------------------------------------------------------------------ */

static void synopsis(const struct verb *verb)
{
    fputs("\\fB", stdout);
    text(verb->name);
    fputs("\\fR [\\fIOPTION\\fR]...", stdout);
    for (const struct operand *operand = verb->operands; operand->name; operand++)
        printf(operand->optional ? " [\\fI%s\\fR]%s" : " \\fI%s\\fR%s", operand->name,
               operand->many ? "..." : "");
    putchar('\n');
}

static void option_tag(const struct shoal_option *opt)
{
    fputs(".TP\n", stdout);
    if (opt->letter)
        printf("\\fB\\-%c\\fR, ", opt->letter);
    fputs("\\fB\\-\\-", stdout);
    text(opt->name);
    fputs("\\fR", stdout);
    if (opt->arg)
        printf(" \\fI%s\\fR", opt->arg);
    putchar('\n');
}

static void option(const struct shoal_option *opt, const void *base)
{
    char facts[SHOAL_SENTENCE];

    option_tag(opt);
    line(opt->help);
    shoal_option_facts(facts, opt, base);
    if (*facts) {
        fputs("(", stdout);
        text(facts);
        fputs(")\n", stdout);
    }
    for (const struct shoal_choice *choice = opt->choices; choice && choice->name; choice++) {
        printf(".br\n\\fB%s\\fR: ", choice->name);
        line(choice->help);
    }
}

static void options(const struct verb *verb)
{
    void *defaults = verb_defaults(verb);

    for (const struct shoal_option_group *group = verb->groups; group->options; group++) {
        if (!group->title)
            continue;
        printf(".PP\n\\fI%s\\fR\n", group->title);
        for (const struct shoal_option *opt = group->options; opt->name; opt++)
            option(opt, (const char *)defaults + group->at);
    }
    free(defaults);
}

/* What it does, its operands and options. */
static void body(const struct verb *verb)
{
    line(verb->about);
    for (const struct operand *operand = verb->operands; operand->name; operand++) {
        printf(".TP\n\\fI%s\\fR\n", operand->name);
        line(operand->help);
    }
    options(verb);
}

static void section(const struct verb *verb)
{
    printf(".SS ");
    line(verb->name);
    synopsis(verb);
    fputs(".PP\n", stdout);
    body(verb);
}

static void examples(const struct verb *verb)
{
    for (const struct shoal_example *example = verb->examples; example && example->line;
         example++) {
        fputs(".TP\n", stdout);
        line(example->what);
        fputs(".nf\n\\fB", stdout);
        text(example->line);
        fputs("\\fR\n.fi\n", stdout);
    }
}

/* ---- The pages -------------------------------------------------------------------- */

/* All that do something, in the order of the tables. */
static void each(const struct verb *verb, void (*fn)(const struct verb *verb))
{
    if (verb->run)
        fn(verb);
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++)
        each(*kind, fn);
}

/* Made from cli/text/after.1: the environment and exit codes. */
#include "man.inc"

/* Files that are not operands, and the verbs that have to do with them; NULL: all. */
static const struct {
    const char *name, *help;
    const char *verbs[5]; /* ends with NULL */
} files[] = {
    {"*.shoal",
     "Encoded corpora and clicks, models, vocabularies, checkpoints: named and checksummed "
     "sections in one container.",
     {NULL}},
    {"FOLDER/checkpoint-NNNNNN.shoal",
     "Checkpoints of a run that was given `--checkpoint FOLDER`; of several ranks with a part for "
     "each.",
     {"train", NULL}},
    {"OUTPUT.metrics.jsonl",
     "What a run with `--watch` writes while it goes, where `--metrics` names no other file.",
     {"train", "watch", NULL}},
    {"$XDG_STATE_HOME/shoal/history",
     "Questions that were typed at a prompt; `~/.local/state` when the variable is not set.",
     {"similar", "analogy", "distance", "odd", NULL}},
};

static bool has_to_do(const char *const *verbs, const char *word)
{
    bool found = !*verbs;

    for (; *verbs && !found; verbs++)
        found = strcmp(*verbs, word) == 0;
    return found;
}

/* Those of a verb; of the root all. */
static void files_section(const struct verb *verb, const struct verb *root)
{
    fputs(".SH FILES\n", stdout);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (verb == root || has_to_do(files[i].verbs, verb_word(verb))) {
            fputs(".TP\n\\fI", stdout);
            text(files[i].name);
            fputs("\\fR\n", stdout);
            line(files[i].help);
        }
}

static void head(const char *page, const char *summary)
{
    fputs(".TH ", stdout);
    for (const char *at = page; *at; at++)
        putchar(toupper((unsigned char)*at));
    printf(" 1 \"\" \"shoal %s\" \"User Commands\"\n.SH NAME\n", shoal_version());
    text(page);
    fputs(" \\- ", stdout);
    line(summary);
}

/* Links to all pages but this one. */
static void see_also(const struct verb *root, const struct verb *page)
{
    fputs(".SH SEE ALSO\n", stdout);
    if (page != root)
        printf(".BR shoal (1)%s\n", *root->kinds ? "," : "");
    for (const struct verb *const *verb = root->kinds; *verb; verb++)
        if (*verb != page)
            printf(".BR shoal\\-%s (1)%s\n", verb_word(*verb),
                   verb[1] && (verb[1] != page || verb[2]) ? "," : "");
}

static void verb_line(const struct verb *verb)
{
    printf(".TP\n.BR shoal\\-%s (1)\n", verb_word(verb));
    line(verb->summary);
}

static void root_page(const struct verb *root)
{
    head("shoal", root->summary);
    fputs(".SH SYNOPSIS\n.nf\n", stdout);
    each(root, synopsis);
    fputs(".fi\n.SH DESCRIPTION\n", stdout);
    line(root->about);
    options(root);
    fputs(".SH VERBS\n", stdout);
    for (const struct verb *const *verb = root->kinds; *verb; verb++)
        verb_line(*verb);
    files_section(root, root);
    fputs(after_1, stdout);
}

static void verb_page(const struct verb *verb, const struct verb *root)
{
    char name[64];

    snprintf(name, sizeof name, "shoal-%s", verb_word(verb));
    head(name, verb->summary);
    fputs(".SH SYNOPSIS\n.nf\n", stdout);
    each(verb, synopsis);
    fputs(".fi\n.SH DESCRIPTION\n", stdout);
    if (!verb->kinds) {
        body(verb);
    } else {
        line(verb->about);
        each(verb, section);
    }
    fputs(".SH EXAMPLES\n", stdout);
    each(verb, examples);
    files_section(verb, root);
}

void man_print(const struct verb *root, const struct verb *page)
{
    if (page == root)
        root_page(root);
    else
        verb_page(page, root);
    see_also(root, page);
}
