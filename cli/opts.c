#include "opts.h"

#include "console.h"
#include "near.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTS_MAX 128 /* options of one verb */
#define RANGE_TEXT 80

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
    console_complain(verb->name, fmt, args);
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

static void append(char text[OPT_TEXT], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void append(char text[OPT_TEXT], const char *fmt, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + len, OPT_TEXT - len, fmt, args);
    va_end(args);
}

void verb_usage(char text[OPT_TEXT], const struct verb *verb)
{
    text[0] = '\0';
    append(text, "%s [OPTION]...", verb->name);
    for (const struct operand *operand = verb->operands; operand->name; operand++)
        append(text, operand->optional ? " [%s]%s" : " %s%s", operand->name,
               operand->many ? "..." : "");
    /* What follows a kind is the kind's own affair. */
    if (verb->kinds)
        append(text, " ...");
}

void *verb_defaults(const struct verb *verb)
{
    void *opts = console_alloc(verb->opts_size + 1); /* some have no options */

    if (verb->defaults)
        verb->defaults(opts);
    return opts;
}

/* ---- Describing an option ---------------------------------------------------- */

bool opt_takes_value(const struct opt *opt)
{
    return opt->kind != OPT_FLAG && opt->kind != OPT_HELP && opt->kind != OPT_VERSION;
}

/* 1536 is "1536", 2048 is "2K": exact, in the form that the parser reads. */
static void size_exact(char text[32], uint64_t bytes)
{
    static const char suffix[] = "\0KMGT";
    size_t i = 0;

    while (suffix[i + 1] && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    snprintf(text, 32, "%" PRIu64 "%.1s", bytes, suffix + i);
}

static void amount(char text[32], const struct opt *opt, uint64_t n)
{
    if (opt->kind == OPT_SIZE)
        size_exact(text, n);
    else
        snprintf(text, 32, "%" PRIu64, n);
}

static bool is_number(const struct opt *opt)
{
    return opt->kind == OPT_U64 || opt->kind == OPT_SIZE || opt->kind == OPT_DOUBLE;
}

/* No upper limit. */
static bool is_open(const struct opt *opt)
{
    return opt->kind != OPT_DOUBLE && opt->u.max == UINT64_MAX;
}

/* "0 to 1024", "1 or more" of a number */
static void range(char text[RANGE_TEXT], const struct opt *opt)
{
    char min[32], max[32];

    amount(min, opt, opt->u.min);
    amount(max, opt, opt->u.max);
    if (opt->kind == OPT_DOUBLE)
        snprintf(text, RANGE_TEXT, "%g to %g", opt->d.min, opt->d.max);
    else if (is_open(opt))
        snprintf(text, RANGE_TEXT, "%s or more", min);
    else
        snprintf(text, RANGE_TEXT, "%s to %s", min, max);
}

/* "space or words", "a, b or c" */
static void want_choice(char text[OPT_TEXT], const struct choice *choice)
{
    text[0] = '\0';
    for (const struct choice *c = choice; c->name; c++)
        append(text, "%s%s", c == choice ? "" : c[1].name ? ", " : " or ", c->name);
}

void opt_want(char text[OPT_TEXT], const struct opt *opt)
{
    static const char *const nouns[] = {
        [OPT_U64] = "a whole number", [OPT_SIZE] = "a size",      [OPT_DOUBLE] = "a number",
        [OPT_STRING] = "some text",   [OPT_PATH] = "a file name",
    };
    char limits[RANGE_TEXT];

    assert(opt_takes_value(opt));
    if (opt->kind == OPT_CHOICE) {
        want_choice(text, opt->choices);
    } else if (opt->kind == OPT_CUSTOM) {
        snprintf(text, OPT_TEXT, "%s", opt->custom->want);
    } else if (is_number(opt)) {
        range(limits, opt);
        snprintf(text, OPT_TEXT, "%s %s %s%s", nouns[opt->kind], is_open(opt) ? "of" : "from",
                 limits, opt->kind == OPT_SIZE ? ", such as 512M or 2G" : "");
    } else {
        snprintf(text, OPT_TEXT, "%s", nouns[opt->kind]);
    }
}

/* The value as the user would write it; false when there is none. */
static bool value_text(char text[OPT_VALUE], const struct opt *opt, const void *field)
{
    switch (opt->kind) {
    case OPT_FLAG:
        snprintf(text, OPT_VALUE, "on");
        return *(const bool *)field != opt->inverse; /* off goes without saying */
    case OPT_U64:
    case OPT_SIZE:
        amount(text, opt,
               opt->size == sizeof(uint64_t) ? *(const uint64_t *)field : *(const unsigned *)field);
        return true;
    case OPT_DOUBLE:
        snprintf(text, OPT_VALUE, "%g", *(const double *)field);
        return true;
    case OPT_CHOICE:
        snprintf(text, OPT_VALUE, "%s", opt->choices[*(const unsigned *)field].name);
        return true;
    case OPT_STRING:
    case OPT_PATH:
        if (*(const char *const *)field)
            snprintf(text, OPT_VALUE, "%s", *(const char *const *)field);
        return *(const char *const *)field != NULL;
    case OPT_CUSTOM:
        opt->custom->show(text, field);
        return true;
    case OPT_HELP:
    case OPT_VERSION:
        break;
    }
    return false;
}

void opt_facts(char text[OPT_TEXT], const struct opt *opt, const void *base)
{
    const void *field = (const char *)base + opt->at;
    char limits[RANGE_TEXT] = "", value[OPT_VALUE];

    text[0] = '\0';
    if (opt->required)
        append(text, "required");
    if (opt->required || !value_text(value, opt, field))
        return;
    /* "0 or more" limits nothing worth a word. */
    if (is_number(opt) && !(is_open(opt) && opt->u.min == 0))
        range(limits, opt);
    append(text, "%s%sdefault %s", limits, *limits ? ", " : "", value);
    if (opt->zero)
        append(text, strcmp(value, "0") == 0 ? ": %s" : "; 0: %s", opt->zero);
}

const struct opt *opts_changed(const struct opt *opts, const void *base, const void *defaults)
{
    for (const struct opt *opt = opts; opt->name; opt++)
        if (memcmp((const char *)base + opt->at, (const char *)defaults + opt->at, opt->size) != 0)
            return opt;
    return NULL;
}

/* ---- Storing a value: each returns false when the text is no such value -------- */

static bool read_digits(uint64_t *out, const char **text)
{
    char *end;

    /* strtoull would take "-1" and " 1". */
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool read_suffix(uint64_t *n, char suffix)
{
    static const char letters[] = "kKmMgGtT";
    const char *at = strchr(letters, suffix);
    unsigned shift;

    if (!at || !suffix)
        return false;
    shift = 10 * (unsigned)((at - letters) / 2 + 1);
    if (*n > UINT64_MAX >> shift)
        return false;
    *n <<= shift;
    return true;
}

static bool set_u64(void *field, const struct opt *opt, const char *text)
{
    uint64_t n;

    if (!read_digits(&n, &text))
        return false;
    if (opt->kind == OPT_SIZE && *text && !read_suffix(&n, *text++))
        return false;
    if (*text || n < opt->u.min || n > opt->u.max)
        return false;

    if (opt->size == sizeof(uint64_t)) {
        *(uint64_t *)field = n;
    } else {
        assert(opt->size == sizeof(unsigned) && opt->u.max <= UINT32_MAX);
        *(unsigned *)field = (unsigned)n;
    }
    return true;
}

static bool set_double(void *field, const struct opt *opt, const char *text)
{
    char *end;
    double x = strtod(text, &end);

    assert(opt->size == sizeof x);
    /* A NaN is in no range. */
    if (end == text || *end || !(x >= opt->d.min && x <= opt->d.max))
        return false;
    *(double *)field = x;
    return true;
}

static bool set_choice(void *field, const struct opt *opt, const char *text)
{
    assert(opt->size == sizeof(unsigned));
    for (unsigned i = 0; opt->choices[i].name; i++) {
        if (strcmp(opt->choices[i].name, text) == 0) {
            *(unsigned *)field = i;
            return true;
        }
    }
    return false;
}

static bool set_string(void *field, const struct opt *opt, const char *text)
{
    assert(opt->size == sizeof text);
    *(const char **)field = text;
    return opt->kind != OPT_PATH || *text;
}

static bool set_value(void *field, const struct opt *opt, const char *text)
{
    switch (opt->kind) {
    case OPT_U64:
    case OPT_SIZE:
        return set_u64(field, opt, text);
    case OPT_DOUBLE:
        return set_double(field, opt, text);
    case OPT_CHOICE:
        return set_choice(field, opt, text);
    case OPT_STRING:
    case OPT_PATH:
        return set_string(field, opt, text);
    case OPT_CUSTOM:
        return opt->custom->read(field, text);
    case OPT_FLAG:
    case OPT_HELP:
    case OPT_VERSION:
        break;
    }
    return false;
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

/* An option of the verb and where it was found. */
struct match {
    const struct opt *opt;
    const struct opt_group *group;
    size_t place;
};

/* The option after `m`, of all groups in order; false after the last. */
static bool match_next(const struct verb *verb, struct match *m)
{
    if (!m->group) {
        m->group = verb->groups;
        m->opt = m->group->opts;
    } else {
        m->opt++;
        m->place++;
    }
    while (m->opt && !m->opt->name) {
        m->group++;
        m->opt = m->group->opts;
    }
    assert(m->place < OPTS_MAX);
    return m->opt != NULL;
}

static bool find_name(const struct verb *verb, struct match *m, const char *name, size_t len)
{
    *m = (struct match){0};
    while (match_next(verb, m))
        if (strlen(m->opt->name) == len && memcmp(m->opt->name, name, len) == 0)
            return true;
    return false;
}

bool verb_takes(const struct verb *verb, const struct given *given)
{
    struct match m;
    const char *name = given->opt->name;

    return find_name(verb, &m, name, strlen(name)) && m.opt->kind == given->opt->kind;
}

static bool find_letter(const struct verb *verb, struct match *m, char letter)
{
    *m = (struct match){0};
    while (match_next(verb, m))
        if (m->opt->letter == letter)
            return true;
    return false;
}

static bool unknown_name(const struct verb *verb, const char *name, size_t len)
{
    char typed[64];
    struct match m = {0};
    struct near near;

    snprintf(typed, sizeof typed, "%.*s", (int)(len < sizeof typed ? len : sizeof typed - 1), name);
    near = near_to(typed);
    while (match_next(verb, &m))
        near_try(&near, m.opt->name);
    if (near.best)
        usage(verb, "unknown option '--%s', did you mean '--%s'?", typed, near.best);
    else
        usage(verb, "unknown option '--%s' (try '%s --help')", typed, verb->name);
    return false;
}

static void note(struct parser *p, const struct match *m, const char *value, bool on)
{
    p->seen[m->place] = true;
    if (m->opt->noted)
        *(bool *)(p->base + m->group->at + m->opt->noted) = true;
    p->out->given[p->out->ngiven++] = (struct given){m->opt, value, on};
}

/* `shown` is the option as it was typed. */
static bool take_value(struct parser *p, const struct match *m, const char *shown,
                       const char *value)
{
    char want[OPT_TEXT];

    note(p, m, value, true);
    p->out->option = m->opt->name;
    if (value && set_value(p->base + m->group->at + m->opt->at, m->opt, value))
        return true;
    opt_want(want, m->opt);
    if (value)
        usage(p->verb, "%s is '%s', want %s", shown, value, want);
    else
        usage(p->verb, "%s has no value, want %s", shown, want);
    return false;
}

static void take_flag(struct parser *p, const struct match *m, bool on)
{
    note(p, m, NULL, on);
    if (m->opt->kind == OPT_HELP) {
        p->out->help = true;
    } else if (m->opt->kind == OPT_VERSION) {
        p->out->version = true;
    } else {
        assert(m->opt->size == sizeof(bool));
        *(bool *)(p->base + m->group->at + m->opt->at) = on != m->opt->inverse;
        p->out->option = m->opt->name;
    }
}

/* The word after an option that ended without its value; NULL at the end. */
static const char *next_word(struct parser *p)
{
    return p->next < p->nwords ? p->words[p->next++] : NULL;
}

/* --no-flag */
static bool find_negated(const struct verb *verb, struct match *m, const char *name, size_t len)
{
    return len > 3 && memcmp(name, "no-", 3) == 0 && find_name(verb, m, name + 3, len - 3) &&
           m->opt->kind == OPT_FLAG;
}

/* --name, --no-name, --name=value, --name value */
static bool parse_long(struct parser *p, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    struct match m;
    bool on = find_name(p->verb, &m, name, len);
    char shown[64];

    if (!on && !find_negated(p->verb, &m, name, len))
        return unknown_name(p->verb, name, len);
    snprintf(shown, sizeof shown, "--%.*s", (int)len, name);
    if (opt_takes_value(m.opt))
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
        struct match m;

        if (!find_letter(p->verb, &m, *at)) {
            usage(p->verb, "unknown option '%s' (try '%s --help')", shown, p->verb->name);
            return false;
        }
        if (opt_takes_value(m.opt))
            return take_value(p, &m, shown, at[1] ? at + 1 : next_word(p));
        take_flag(p, &m, true);
    }
    return true;
}

/* An option may make a whole group pointless: say so rather than ignore it. */
static bool check_groups(const struct parser *p)
{
    struct match m = {0}, master;

    while (match_next(p->verb, &m)) {
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

/* At least as many as there are options, for several may share a word. */
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
static void want_operands(char text[OPT_TEXT], const struct verb *verb)
{
    char line[OPT_TEXT];

    text[0] = '\0';
    verb_usage(line, verb);
    if (!verb->kinds)
        append(text, "'%s'", line);
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++)
        append(text, "%s%s", kind == verb->kinds ? "" : kind[1] ? ", " : " or ", verb_word(*kind));
}

static bool check_operands(const struct verb *verb, const struct parsed *parsed)
{
    const struct operand *operand = verb->operands;
    char want[OPT_TEXT];
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
    struct match m = {0};
    char want[OPT_TEXT];

    if (!check_operands(verb, parsed))
        return false;
    while (match_next(verb, &m)) {
        const char *field = (const char *)opts + m.group->at + m.opt->at;

        /* Only strings are ever required: numbers have defaults. */
        if (m.opt->required && !*(const char *const *)field) {
            opt_want(want, m.opt);
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
