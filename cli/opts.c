#include "opts.h"

#include "console.h"
#include "near.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTS_MAX 192 /* options of one verb */

/* ---- Verbs ------------------------------------------------------------------ */

const char *verb_word(const struct verb *verb)
{
    const char *space = strrchr(verb->name, ' ');

    return space ? space + 1 : verb->name;
}

int usage(const struct verb *verb, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    console_error(verb->name, fmt, args);
    va_end(args);
    return EXIT_USAGE;
}

const struct verb *verb_find(const struct verb *verb, const char *word)
{
    struct near near = near_to(word);

    for (const struct verb *const *kind = verb->kinds; *kind; kind++) {
        if (strcmp(verb_word(*kind), word) == 0)
            return *kind;
        near_try(&near, verb_word(*kind));
    }
    if (near.best)
        usage(verb, "unknown %s '%s', did you mean '%s'?", verb->kind_word, word, near.best);
    else
        usage(verb, "unknown %s '%s' (try '%s --help')", verb->kind_word, word, verb->name);
    return NULL;
}

__attribute__((format(printf, 2, 3))) static void append(char text[SHOAL_SENTENCE], const char *fmt,
                                                         ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + len, SHOAL_SENTENCE - len, fmt, args);
    va_end(args);
}

void verb_usage(char text[SHOAL_SENTENCE], const struct verb *verb)
{
    text[0] = '\0';
    append(text, "%s [OPTION]...", verb->name);
    for (const struct operand *operand = verb->operands; operand->name; operand++)
        append(text, operand->optional ? " [%s]%s" : " %s%s", operand->name,
               operand->many ? "..." : "");
    /* The operands behind a kind are those of the kind. */
    if (verb->kinds)
        append(text, " ...");
}

void *verb_defaults(const struct verb *verb)
{
    void *opts = console_alloc(verb->opts_size + 1); /* some have no options */

    if (verb->defaults)
        verb->defaults(opts);
    else if (verb->initial)
        memcpy(opts, verb->initial, verb->opts_size);
    return opts;
}

const struct shoal_option *opts_changed(const struct shoal_option *opts, const void *base,
                                        const void *defaults)
{
    for (const struct shoal_option *opt = opts; opt->name; opt++)
        if (memcmp((const char *)base + opt->at, (const char *)defaults + opt->at, opt->size) != 0)
            return opt;
    return NULL;
}

/* ---- Parsing ------------------------------------------------------------------- */

struct parser {
    const struct verb *verb;
    char *const *words; /* [nwords] */
    size_t nwords, next;
    char *base; /* the verb's option struct */
    struct parsed *out;
    bool seen[OPTS_MAX]; /* by place among all options of the verb */
};

bool option_next(const struct shoal_option_group *groups, struct option_walk *w)
{
    if (!w->group) {
        w->group = groups;
        w->opt = groups->options;
    } else {
        w->opt++;
        w->place++;
    }
    while (w->opt && !w->opt->name)
        w->opt = (++w->group)->options;
    return w->opt != NULL;
}

static bool find_name(const struct verb *verb, struct option_walk *m, const char *name, size_t len)
{
    *m = (struct option_walk){0};
    while (option_next(verb->groups, m))
        if (strlen(m->opt->name) == len && memcmp(m->opt->name, name, len) == 0)
            return true;
    return false;
}

const struct given *opts_given(const struct parsed *parsed, const char *name)
{
    for (size_t i = parsed->ngiven; i-- > 0;)
        if (strcmp(parsed->given[i].opt->name, name) == 0)
            return &parsed->given[i];
    return NULL;
}

static bool find_letter(const struct verb *verb, struct option_walk *m, char letter)
{
    *m = (struct option_walk){0};
    while (option_next(verb->groups, m))
        if (m->opt->letter == letter)
            return true;
    return false;
}

static bool unknown_name(const struct verb *verb, const char *name, size_t len)
{
    char typed[64];
    struct option_walk m = {0};
    struct near near;

    snprintf(typed, sizeof typed, "%.*s", (int)(len < sizeof typed ? len : sizeof typed - 1), name);
    near = near_to(typed);
    while (option_next(verb->groups, &m))
        near_try(&near, m.opt->name);
    if (near.best)
        usage(verb, "unknown option '--%s', did you mean '--%s'?", typed, near.best);
    else
        usage(verb, "unknown option '--%s' (try '%s --help')", typed, verb->name);
    return false;
}

static void note(struct parser *p, const struct option_walk *m, const char *value, bool on)
{
    assert(m->place < OPTS_MAX);
    p->seen[m->place] = true;
    p->out->given[p->out->ngiven++] = (struct given){m->opt, value, on};
}

/* `shown` is the option as it was typed. */
static bool take_value(struct parser *p, const struct option_walk *m, const char *shown,
                       const char *value)
{
    char want[SHOAL_SENTENCE];

    note(p, m, value, true);
    p->out->option = m->opt->name;
    if (value && shoal_option_read(m->opt, p->base + m->group->at, value))
        return true;
    shoal_option_want(want, m->opt);
    if (value)
        usage(p->verb, "%s is '%s', want %s", shown, value, want);
    else
        usage(p->verb, "%s has no value, want %s", shown, want);
    return false;
}

static void take_flag(struct parser *p, const struct option_walk *m, bool on)
{
    note(p, m, NULL, on);
    if (m->opt->type == SHOAL_TYPE_HELP) {
        p->out->help = true;
    } else if (m->opt->type == SHOAL_TYPE_VERSION) {
        p->out->version = true;
    } else {
        shoal_option_read(m->opt, p->base + m->group->at, on ? "true" : "false");
        p->out->option = m->opt->name;
    }
}

/* The next word of the command line, as the value of an option; NULL at the end. */
static const char *next_word(struct parser *p)
{
    return p->next < p->nwords ? p->words[p->next++] : NULL;
}

/* --no-flag */
static bool find_negated(const struct verb *verb, struct option_walk *m, const char *name,
                         size_t len)
{
    return len > 3 && memcmp(name, "no-", 3) == 0 && find_name(verb, m, name + 3, len - 3) &&
           m->opt->type == SHOAL_TYPE_FLAG;
}

/* --name, --no-name, --name=value, --name value */
static bool parse_long(struct parser *p, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    struct option_walk m;
    bool on = find_name(p->verb, &m, name, len);
    char shown[64];

    if (!on && !find_negated(p->verb, &m, name, len))
        return unknown_name(p->verb, name, len);
    snprintf(shown, sizeof shown, "--%.*s", (int)len, name);
    if (shoal_option_takes_value(m.opt))
        return take_value(p, &m, shown, value ? value : next_word(p));
    if (value) {
        usage(p->verb, "%s is '%s', want no value", shown, value);
        return false;
    }
    take_flag(p, &m, on);
    return true;
}

/* -q, -ovalue, -o value, and flags in one word: -qo value */
static bool parse_letters(struct parser *p, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const char shown[] = {'-', *at, '\0'};
        struct option_walk m;

        if (!find_letter(p->verb, &m, *at)) {
            usage(p->verb, "unknown option '%s' (try '%s --help')", shown, p->verb->name);
            return false;
        }
        if (shoal_option_takes_value(m.opt))
            return take_value(p, &m, shown, at[1] ? at + 1 : next_word(p));
        take_flag(p, &m, true);
    }
    return true;
}

/* An option may make a whole group pointless: say so rather than ignore it. */
static bool check_groups(const struct parser *p)
{
    struct option_walk m = {0}, master;

    while (option_next(p->verb->groups, &m)) {
        if (!p->seen[m.place] || !m.group->unless)
            continue;
        if (find_name(p->verb, &master, m.group->unless, strlen(m.group->unless)) &&
            p->seen[master.place]) {
            usage(p->verb, "--%s does not go with --%s", m.opt->name, m.group->unless);
            return false;
        }
    }
    return true;
}

/* An upper bound of the options given: each letter may be one. */
static size_t letters_of(char *const *words, size_t nwords)
{
    size_t n = 1;

    for (size_t i = 0; i < nwords; i++)
        n += strlen(words[i]);
    return n;
}

bool opts_parse(const struct verb *verb, char *const *words, size_t nwords, void *opts,
                struct parsed *out)
{
    struct parser p = {.verb = verb, .words = words, .nwords = nwords, .base = opts, .out = out};
    bool options = true; /* until -- */
    const char *word;

    if (verb->parsed_at)
        *(const struct parsed **)(p.base + verb->parsed_at) = out;
    *out = (struct parsed){.args = console_alloc((nwords + 1) * sizeof *out->args),
                           .given = console_alloc(letters_of(words, nwords) * sizeof *out->given)};
    while (!(verb->kinds && out->nargs) && (word = next_word(&p))) {
        if (!options || word[0] != '-' || !word[1])
            out->args[out->nargs++] = word;
        else if (strcmp(word, "--") == 0)
            options = false;
        else if (!(word[1] == '-' ? parse_long(&p, word) : parse_letters(&p, word)))
            return false;
    }
    out->read = p.next;
    return check_groups(&p);
}

/* "vocab, encode or help" for a verb with kinds, else its usage */
static void want_operands(char text[SHOAL_SENTENCE], const struct verb *verb)
{
    char line[SHOAL_SENTENCE];

    text[0] = '\0';
    verb_usage(line, verb);
    if (!verb->kinds)
        append(text, "'%s'", line);
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++)
        append(text, "%s%s", kind == verb->kinds ? "" : kind[1] ? ", " : " or ", verb_word(*kind));
}

bool opts_operands_complete(const struct verb *verb, const struct parsed *parsed)
{
    const struct operand *operand = verb->operands;
    char want[SHOAL_SENTENCE];
    size_t taken = 0;

    want_operands(want, verb);
    for (; operand->name; operand++) {
        if (taken == parsed->nargs && !operand->optional) {
            usage(verb, "found no %s, want %s", operand->name, want);
            return false;
        }
        if (taken < parsed->nargs)
            taken = operand->many ? parsed->nargs : taken + 1;
    }
    if (taken < parsed->nargs) {
        usage(verb, "'%s' is one argument too many, want %s", parsed->args[taken], want);
        return false;
    }
    return true;
}

bool opts_complete(const struct verb *verb, const void *opts, const struct parsed *parsed)
{
    struct option_walk m = {0};
    char want[SHOAL_SENTENCE];

    if (!opts_operands_complete(verb, parsed))
        return false;
    while (option_next(verb->groups, &m)) {
        const char *field = (const char *)opts + m.group->at + m.opt->at;

        /* Only strings are ever required: numbers have defaults. */
        if (m.opt->required && !*(const char *const *)field) {
            shoal_option_want(want, m.opt);
            usage(verb, "no --%s given, want %s", m.opt->name, want);
            return false;
        }
    }
    return true;
}

void parsed_fini(struct parsed *parsed)
{
    free(parsed->args);
    free(parsed->given);
}
