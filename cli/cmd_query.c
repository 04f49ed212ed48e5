/* shoal similar, analogy, distance, odd: ask vectors. One engine: a question
 * comes from the command line, as a line of standard input or from a person at
 * a prompt, and is the same question each time. */
#include "cmd.h"
#include "model.h"
#include "prompt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 1024 /* of one question */
#define GUESSES 3      /* for a word that is not there */

struct asker;

/* What can be asked. */
struct kind {
    const struct verb *verb;
    size_t least, most; /* words */
    const char *want;   /* "one word or more" */
    shoal_status (*ask)(struct asker *a);
};

struct query_cmd {
    const struct kind *kind;
    uint64_t k;
    bool cosmul, json, map, strict;
    bool exact, approx;
    const char *index; /* its file, instead of the one beside the vectors */
    unsigned ef;
    unsigned threads;
};

struct asker {
    const struct kind *kind;
    const struct query_cmd *cmd;
    shoal_vectors *v;
    shoal_hnsw *index; /* NULL: exact search */
    struct shoal_hit *hits; /* [k] */
    size_t k;
    struct json json;

    const char *words[WORDS_MAX]; /* of this question; borrowed */
    bool known[WORDS_MAX];        /* else it is made of its n-grams */
    size_t n;

    bool many;       /* one question after the other: each answer says to which */
    size_t line;     /* of standard input; 0: elsewhere */
    size_t answered; /* before this question */
};

/* ---- What goes wrong --------------------------------------------------------------- */

static void complain(const struct asker *a, const char *sentence)
{
    if (a->line > 0)
        console_fail("line %zu: %s", a->line, sentence);
    else
        console_fail("%s", sentence);
}

/* "'kign' is not among the 14,644 words; did you mean king, kin, sign?" */
static void say_unknown(const struct asker *a, const char *word)
{
    uint32_t near[GUESSES];
    char *text = NULL;
    size_t n = 0, len;
    FILE *to = open_memstream(&text, &len);

    if (!to) {
        complain(a, strerror(errno));
        return;
    }
    shoal_spellings(a->v, word, near, GUESSES, &n);
    fputc('\'', to);
    print_word(to, word);
    fprintf(to, "' is not among the %s words", number_count(shoal_vectors_size(a->v)).text);
    for (size_t i = 0; i < n; i++) {
        fputs(i > 0 ? ", " : "; did you mean ", to);
        print_word(to, shoal_vectors_word(a->v, near[i]));
    }
    fputs(n > 0 ? "?" : "", to);
    fclose(to);
    complain(a, text);
    free(text);
}

static void say_count(const struct asker *a)
{
    char text[SHOAL_SENTENCE];

    snprintf(text, sizeof text, "found %zu word%s, want %s", a->n, a->n == 1 ? "" : "s",
             a->kind->want);
    complain(a, text);
}

/* ---- Answers ------------------------------------------------------------------------- */

/* The words of the question, "king, queen". */
static void print_words(const struct asker *a)
{
    for (size_t i = 0; i < a->n; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        print_word(stdout, a->words[i]);
    }
}

/* Says which words are made of their n-grams. */
static void print_unseen(const struct asker *a)
{
    for (size_t i = 0; i < a->n; i++) {
        if (a->known[i])
            continue;
        fputs(style_on(stdout, STYLE_DIM), stdout);
        print_word(stdout, a->words[i]);
        printf(" was never seen: its vector is that of its n-grams%s\n",
               style_on(stdout, STYLE_PLAIN));
    }
}

static bool all_known(const struct asker *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (!a->known[i])
            return false;
    return true;
}

static void answer_begin(struct asker *a)
{
    out_open(&a->json, '{');
    out_key(&a->json, "words");
    out_open(&a->json, '[');
    for (size_t i = 0; i < a->n; i++)
        out_string(&a->json, a->words[i]);
    out_close(&a->json, ']');
    if (a->index)
        out_put_string(&a->json, "search", "approximate");
    if (all_known(a))
        return;
    out_key(&a->json, "unknown");
    out_open(&a->json, '[');
    for (size_t i = 0; i < a->n; i++)
        if (!a->known[i])
            out_string(&a->json, a->words[i]);
    out_close(&a->json, ']');
}

static void answer_end(struct asker *a)
{
    out_close(&a->json, '}');
    out_line(&a->json);
}

/* What the number of a hit is. */
static const char *measure(const struct asker *a)
{
    return a->cmd->cosmul ? "score" : "cosine";
}

/* No "-0.0000". */
static double rounded(double x)
{
    return fabs(x) < 0.00005 ? 0 : x;
}

static void put_hits(struct asker *a, size_t n)
{
    answer_begin(a);
    out_key(&a->json, "hits");
    out_open(&a->json, '[');
    for (size_t i = 0; i < n; i++) {
        out_open(&a->json, '{');
        out_put_string(&a->json, "word", shoal_vectors_word(a->v, a->hits[i].id));
        out_put_real(&a->json, measure(a), (double)a->hits[i].score);
        out_close(&a->json, '}');
    }
    out_close(&a->json, ']');
    answer_end(a);
}

/* A column of words, as wide as the widest, and one of numbers. */
static void print_hits(const struct asker *a, size_t n)
{
    size_t width = strlen("word");

    for (size_t i = 0; i < n; i++) {
        size_t is = text_columns(shoal_vectors_word(a->v, a->hits[i].id));

        width = is > width ? is : width;
    }
    printf("%s%-*s  %7s%s\n", style_on(stdout, STYLE_DIM), (int)width, "word", measure(a),
           style_on(stdout, STYLE_PLAIN));
    for (size_t i = 0; i < n; i++) {
        const char *word = shoal_vectors_word(a->v, a->hits[i].id);

        print_word(stdout, word);
        printf("%*s  %7.4f\n", (int)(width - text_columns(word)), "",
               rounded((double)a->hits[i].score));
    }
}

static void bold_begin(void)
{
    fputs(style_on(stdout, STYLE_BOLD), stdout);
}

static void bold_end(void)
{
    printf("%s\n", style_on(stdout, STYLE_PLAIN));
}

/* Hits below what `title` prints; tables are kept apart by a blank line. */
static void answer_hits(struct asker *a, size_t found, void (*title)(const struct asker *, size_t))
{
    if (a->cmd->json) {
        put_hits(a, found);
        return;
    }
    if (a->many && a->answered > 0)
        putchar('\n');
    title(a, found);
    print_unseen(a);
    print_hits(a, found);
}

/* ---- Questions ------------------------------------------------------------------------- */

static void similar_title(const struct asker *a, size_t found)
{
    (void)found;
    if (!a->many)
        return;
    bold_begin();
    fputs("similar to ", stdout);
    print_words(a);
    bold_end();
}

static shoal_status ask_similar(struct asker *a)
{
    size_t found = 0;
    shoal_status st;

    if (a->index)
        st = shoal_hnsw_nearest_words(a->index, a->v, a->words, a->n, a->known, a->cmd->ef, a->hits,
                                      a->k, &found);
    else
        st = shoal_nearest_words(a->v, a->words, a->n, a->known, a->cmd->threads, a->hits, a->k,
                                 &found);
    if (st == SHOAL_OK)
        answer_hits(a, found, similar_title);
    return st;
}

/* "paris is to france as rome is to italy" */
static void analogy_title(const struct asker *a, size_t found)
{
    static const char *const then[] = {" is to ", " as ", " is to "};

    bold_begin();
    for (size_t i = 0; i < 3; i++) {
        print_word(stdout, a->words[i]);
        fputs(then[i], stdout);
    }
    print_word(stdout, found > 0 ? shoal_vectors_word(a->v, a->hits[0].id) : "nothing");
    bold_end();
}

static shoal_status ask_analogy(struct asker *a)
{
    size_t found = 0;
    shoal_status st;

    if (a->index)
        st = shoal_hnsw_analogy_words(a->index, a->v, a->words, a->known, a->cmd->ef, a->hits, a->k,
                                      &found);
    else
        st = shoal_analogy_words(a->v, a->words, a->known,
                                 a->cmd->cosmul ? SHOAL_3COSMUL : SHOAL_3COSADD, a->cmd->threads,
                                 a->hits, a->k, &found);
    if (st == SHOAL_OK)
        answer_hits(a, found, analogy_title);
    return st;
}

static shoal_status ask_distance(struct asker *a)
{
    double cosine;
    shoal_status st = shoal_cosine_words(a->v, a->words, a->known, &cosine);

    if (st == SHOAL_OK && a->cmd->json) {
        answer_begin(a);
        out_put_real(&a->json, "cosine", cosine);
        answer_end(a);
    } else if (st == SHOAL_OK) {
        print_unseen(a);
        print_words(a);
        printf(": %.4f\n", rounded(cosine));
    }
    return st;
}

static shoal_status ask_odd(struct asker *a)
{
    size_t odd;
    shoal_status st = shoal_odd_words(a->v, a->words, a->n, a->known, &odd);

    if (st == SHOAL_OK && a->cmd->json) {
        answer_begin(a);
        out_put_string(&a->json, "odd", a->words[odd]);
        answer_end(a);
    } else if (st == SHOAL_OK) {
        print_unseen(a);
        print_words(a);
        fputs(": ", stdout);
        bold_begin();
        print_word(stdout, a->words[odd]);
        bold_end();
    }
    return st;
}

/* ---- One question, from wherever ----------------------------------------------------------- */

/* Names every word that is missing: it is not known, and nothing makes a vector of it. */
static bool find_words(struct asker *a)
{
    bool subwords = shoal_vectors_subwords(a->v).maxn > 0, all = true;
    float *room = console_alloc(shoal_vectors_dim(a->v) * sizeof *room);

    for (size_t i = 0; i < a->n; i++) {
        const char *word = a->words[i];
        size_t len = strlen(word);

        a->known[i] = shoal_vectors_find(a->v, word, len) != SHOAL_NO_ID;
        if (a->known[i] ||
            (subwords && shoal_vectors_compose(a->v, word, len, room, NULL) == SHOAL_OK))
            continue;
        say_unknown(a, word);
        all = false;
    }
    free(room);
    return all;
}

/* Asks a->words; gives the exit code. */
static int ask(struct asker *a)
{
    if (!find_words(a))
        return EXIT_FAILED;
    if (a->kind->ask(a) != SHOAL_OK) {
        complain(a, shoal_error());
        return EXIT_FAILED;
    }
    a->answered++;
    /* A program may wait for this answer before it asks on. */
    if (fflush(stdout) != 0)
        return console_fail("standard output: %s", strerror(errno));
    return EXIT_DONE;
}

/* The words of a line, which is cut up; a line without any asks nothing. */
static int ask_line(struct asker *a, char *line)
{
    char *rest = line, *word;

    a->n = 0;
    while ((word = strsep(&rest, " \t\r\n")) != NULL) {
        if (*word && a->n < WORDS_MAX)
            a->words[a->n] = word;
        a->n += *word != '\0';
    }
    if (a->n == 0)
        return EXIT_DONE;
    if (a->n < a->kind->least || a->n > a->kind->most) {
        say_count(a);
        return EXIT_FAILED;
    }
    return ask(a);
}

/* ---- Where questions come from ----------------------------------------------------------------
 */

static int ask_batch(struct asker *a)
{
    char *line = NULL;
    size_t room = 0;
    int code = EXIT_DONE;

    while (!ferror(stdout) && getline(&line, &room, stdin) >= 0) {
        a->line++;
        if (ask_line(a, line) != EXIT_DONE)
            code = EXIT_FAILED;
    }
    free(line);
    if (ferror(stdin))
        return console_fail("standard input: %s", strerror(errno));
    return code;
}

static const char *word_at(const void *vectors, size_t i)
{
    return i < shoal_vectors_size(vectors) ? shoal_vectors_word(vectors, (uint32_t)i) : NULL;
}

/* A wrong question was answered by its sentence, and does not make the exit code 1. */
static int ask_person(struct asker *a)
{
    char text[SHOAL_VALUE];
    struct prompt *prompt;
    const char *typed;

    printf("%s%s words. Ask with %s; Tab completes, Ctrl-D ends.%s\n", style_on(stdout, STYLE_DIM),
           number_count(shoal_vectors_size(a->v)).text, a->kind->want,
           style_on(stdout, STYLE_PLAIN));
    snprintf(text, sizeof text, "%s> ", verb_word(a->kind->verb));
    prompt = prompt_open(text, word_at, a->v);
    while ((typed = prompt_line(prompt)) != NULL) {
        char *line = strdup(typed);

        if (line)
            ask_line(a, line);
        free(line);
    }
    prompt_close(prompt);
    putchar('\n');
    return EXIT_DONE;
}

static int ask_all(struct asker *a, const char *const *words, size_t n)
{
    if (n > 0) {
        memcpy(a->words, words, n * sizeof *words);
        a->n = n;
        return ask(a);
    }
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return ask_person(a);
    a->many = true;
    return ask_batch(a);
}

/* The index that was named, or the one beside the vectors. */
static shoal_status open_index(struct asker *a, const char *vectors)
{
    char *beside;
    shoal_status st;

    if (!a->cmd->approx && !a->cmd->index)
        return SHOAL_OK;
    if (a->cmd->index)
        return shoal_hnsw_open(&a->index, a->v, a->cmd->index);
    beside = index_beside(vectors);
    st = shoal_hnsw_open(&a->index, a->v, beside);
    if (st == SHOAL_ENOENT)
        st = shoal_fail(SHOAL_ENOENT, "found no index %s, want one: `shoal index %s` makes it",
                        beside, vectors);
    free(beside);
    return st;
}

static bool index_fits(const struct query_cmd *cmd)
{
    return !((cmd->approx || cmd->index) && (cmd->exact || cmd->cosmul));
}

static int query_run(const void *opts, const char *const *args, size_t nargs)
{
    const struct query_cmd *cmd = opts;
    const struct kind *kind = cmd->kind;
    size_t n = nargs - 1;
    struct console console;
    struct asker *a;
    shoal_status st;
    int code;

    if (n > 0 && (n < kind->least || n > kind->most))
        return usage(kind->verb, "found %zu word%s, want %s", n, n == 1 ? "" : "s", kind->want);
    if (n == 0 && strcmp(args[0], "-") == 0)
        return usage(kind->verb, "FILE is '-' and there are no words, want one of both elsewhere "
                                 "than on standard input");
    if (!index_fits(cmd))
        return usage(kind->verb, "--%s goes with exact search alone, want no --%s",
                     cmd->cosmul ? "cosmul" : "exact", cmd->approx ? "approx" : "index");
    signals_release();
    console_init(&console, true, NULL);
    a = console_alloc(sizeof *a);
    *a = (struct asker){.kind = kind, .cmd = cmd, .json.to = stdout};
    st = cmd->map ? shoal_vectors_map(&a->v, args[0]) : shoal_vectors_open(&a->v, args[0]);
    if (st == SHOAL_OK)
        st = vectors_accept(&console, args[0], a->v, cmd->strict);
    if (st == SHOAL_OK)
        st = open_index(a, args[0]);
    if (st == SHOAL_OK) {
        a->k = cmd->k < shoal_vectors_size(a->v) ? cmd->k : shoal_vectors_size(a->v);
        a->hits = console_alloc((a->k + 1) * sizeof *a->hits);
        code = ask_all(a, args + 1, n);
    } else {
        code = console_fail("%s", shoal_error());
    }
    shoal_hnsw_free(a->index);
    shoal_vectors_close(a->v);
    free(a->hits);
    free(a);
    return code;
}

/* ---- The verbs
 * ------------------------------------------------------------------------------------ */

static const struct kind similar = {&cmd_similar, 1, WORDS_MAX, "one word or more", ask_similar};
static const struct kind analogy = {&cmd_analogy, 3, 3, "three words, A B C", ask_analogy};
static const struct kind distance = {&cmd_distance, 2, 2, "two words, A B", ask_distance};
static const struct kind odd = {&cmd_odd, 3, WORDS_MAX, "three words or more", ask_odd};

#define ON(member) SHOAL_FIELD(struct query_cmd, member)

static const struct shoal_option hits_opts[] = {
    {"count", 'k', SHOAL_TYPE_COUNT, ON(k), .arg = "N", .u = {1, UINT32_MAX - 1},
     .help = "answer with so many words"},
    {"threads", .type = SHOAL_TYPE_COUNT, ON(threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {0},
};

static const struct shoal_option index_opts[] = {
    {"exact", .type = SHOAL_TYPE_FLAG, ON(exact),
     .help = "look at all vectors, which is what happens unless an index is asked for"},
    {"approx", .type = SHOAL_TYPE_FLAG, ON(approx),
     .help = "ask the index beside FILE, which `shoal index` makes: quicker, and a few of the "
             "nearest may be missing"},
    {"index", .type = SHOAL_TYPE_PATH, ON(index), .arg = "INDEX",
     .help = "ask this index instead of the one beside FILE"},
    {"ef", .type = SHOAL_TYPE_COUNT, ON(ef), .arg = "N", .u = {0, 65536},
     .help = "candidates that a question of an index keeps", .zero = "as many as the index says"},
    {0},
};

static const struct shoal_option analogy_opts[] = {
    {"cosmul", .type = SHOAL_TYPE_FLAG, ON(cosmul),
     .help = "multiply the three cosines (3CosMul) instead of adding"},
    {0},
};

static const struct shoal_option file_opts[] = {
    {"mmap", .type = SHOAL_TYPE_FLAG, ON(map),
     .help = "map a file of shoal's own instead of reading all of it; it must not be written to "
             "meanwhile"},
    {"strict", .type = SHOAL_TYPE_FLAG, ON(strict), .help = STRICT_HELP},
    {0},
};

static const struct shoal_option output_opts[] = {
    {"json", .type = SHOAL_TYPE_FLAG, ON(json), .help = "print one JSON object a line"},
    {0},
};

static const struct shoal_option_group plain_groups[] = {
    {"File", file_opts, .at = 0},
    {"Output", output_opts, .at = 0},
    {"General", help_opts, .at = 0},
    {0},
};

#define FILE_OPERAND                                                                               \
    {                                                                                              \
        .name = "FILE", .help = "word vectors in any format; recognised by content"                \
    }

#define ABOUT_LINES                                                                                \
    "\nWithout words: on a terminal, a prompt with history (kept in $XDG_STATE_HOME/shoal or "     \
    "~/.local/state/shoal); otherwise each line of standard input is a question. A line with a "   \
    "word that is not there is reported with its number and what is spelt alike, and the exit "    \
    "code is then 1; the others are answered. Of vectors with subwords any word is answered, and " \
    "those that training never saw are said to be made of their n-grams."

const struct verb cmd_similar = {
    .name = "shoal similar",
    .summary = "which words are nearest to a word?",
    .about = "Prints the words whose vectors have the highest cosine with the word's. Of several "
             "words the mean is taken, each counting the same." ABOUT_LINES,
    .operands = (const struct operand[]){FILE_OPERAND,
                                         {"WORD", "the words", .optional = true, .many = true},
                                         {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Answers", hits_opts, .at = 0},
            {"Index", index_opts, .at = 0},
            {"File", file_opts, .at = 0},
            {"Output", output_opts, .at = 0},
            {"General", help_opts, .at = 0},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal similar vectors.bin king", "ten words like king"},
            {"shoal similar vectors.bin -k 3 --json <words.txt", "of many, for a program"},
            {0},
        },
    .opts_size = sizeof(struct query_cmd),
    .initial = &(const struct query_cmd){.kind = &similar, .k = 10},
    .run = query_run,
};

const struct verb cmd_analogy = {
    .name = "shoal analogy",
    .summary = "a is to b as c is to which word?",
    .about = "Prints the words nearest to b - a + c (3CosAdd, Mikolov et al. 2013), leaving out "
             "the three." ABOUT_LINES,
    .operands = (const struct operand[]){FILE_OPERAND,
                                         {"A", "is to", .optional = true},
                                         {"B", "as", .optional = true},
                                         {"C", "is to whom?", .optional = true},
                                         {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Answers", hits_opts, .at = 0},
            {"Analogies", analogy_opts, .at = 0},
            {"Index", index_opts, .at = 0},
            {"File", file_opts, .at = 0},
            {"Output", output_opts, .at = 0},
            {"General", help_opts, .at = 0},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal analogy vectors.bin paris france rome", "paris is to france as rome is to ..."},
            {"shoal analogy vectors.bin man king woman -k 1 --cosmul",
             "one answer, the cosines multiplied (Levy and Goldberg 2014)"},
            {0},
        },
    .opts_size = sizeof(struct query_cmd),
    .initial = &(const struct query_cmd){.kind = &analogy, .k = 10},
    .run = query_run,
};

const struct verb cmd_distance = {
    .name = "shoal distance",
    .summary = "how near are two words?",
    .about = "Prints the cosine of two words' vectors: 1 in the same direction, 0 at right angles, "
             "-1 opposite." ABOUT_LINES,
    .operands = (const struct operand[]){FILE_OPERAND,
                                         {"A", "a word", .optional = true},
                                         {"B", "another", .optional = true},
                                         {0}},
    .groups = plain_groups,
    .examples =
        (const struct shoal_example[]){
            {"shoal distance vectors.bin king queen", "their cosine"},
            {0},
        },
    .opts_size = sizeof(struct query_cmd),
    .initial = &(const struct query_cmd){.kind = &distance, .k = 10},
    .run = query_run,
};

const struct verb cmd_odd = {
    .name = "shoal odd",
    .summary = "which word does not belong to the others?",
    .about = "Prints the word whose vector has the lowest cosine with the mean of all." ABOUT_LINES,
    .operands =
        (const struct operand[]){
            FILE_OPERAND, {"WORD", "three words or more", .optional = true, .many = true}, {0}},
    .groups = plain_groups,
    .examples =
        (const struct shoal_example[]){
            {"shoal odd vectors.bin breakfast cereal dinner lunch", "the one that is no meal"},
            {0},
        },
    .opts_size = sizeof(struct query_cmd),
    .initial = &(const struct query_cmd){.kind = &odd, .k = 10},
    .run = query_run,
};
