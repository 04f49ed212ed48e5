/* shoal eval: what do vectors, or models, know? */
#include "json.h"
#include "model.h"
#include "nets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct eval_cmd {
    struct shoal_eval_opts eval;
    struct shoal_clicks_opts read;
    bool cosmul, json;
    struct samples_cmd samples; /* of nets */
    struct work_opts work;
};

/* A file of questions, and how they were answered. */
struct suite {
    const char *path;
    shoal_eval *questions;
    struct shoal_score *scores;
    size_t n;
};

static void eval_defaults(void *at)
{
    *(struct eval_cmd *)at = (struct eval_cmd){.eval = shoal_eval_default(),
                                              .read = shoal_clicks_default()};
    samples_defaults(&((struct eval_cmd *)at)->samples);
}

static bool is_pairs(const struct suite *s)
{
    return shoal_eval_kind(s->questions) == SHOAL_PAIRS;
}

/* ---- For people ------------------------------------------------------------------- */

static struct number number_real(double x)
{
    struct number out;

    snprintf(out.text, sizeof out.text, isfinite(x) ? "%.4f" : "unknown", x);
    return out;
}

static void report_pairs(struct console *c, const struct shoal_score *s)
{
    console_row(c, "spearman", number_real(s->spearman).text, NULL);
    console_row(c, "pearson", number_real(s->pearson).text, NULL);
    console_row(c, "found", number_count(s->seen).text, "of %s pairs", number_count(s->total).text);
}

static void section_row(FILE *to, const struct shoal_score *s, bool sum)
{
    int pad = 28 - (int)text_columns(s->name);

    fputs(style_on(to, sum ? STYLE_BOLD : STYLE_PLAIN), to);
    print_safely(to, s->name);
    fprintf(to, "%*s  %9s  %9s  %9s  %8s%s\n", pad > 0 ? pad : 0, "", number_count(s->right).text,
            number_count(s->seen).text, number_count(s->total).text,
            s->seen > 0 ? number_percent((double)s->right, (double)s->seen).text : "-",
            style_on(to, STYLE_PLAIN));
}

/* The last three are sums; one without any section is left out. */
static void report_sections(struct console *c, const struct suite *s)
{
    if (!c->reports)
        return;
    fprintf(c->reports, "%s%-28s  %9s  %9s  %9s  %8s%s\n", style_on(c->reports, STYLE_DIM),
            "section", "right", "seen", "total", "accuracy", style_on(c->reports, STYLE_PLAIN));
    for (size_t i = 0; i < s->n; i++)
        if (s->scores[i].total > 0)
            section_row(c->reports, &s->scores[i], i + 3 >= s->n);
}

static void report_suite(struct console *c, const struct suite *s, bool first)
{
    const struct shoal_score *all = &s->scores[s->n - 1];

    if (c->reports && !first)
        fputc('\n', c->reports);
    console_heading(c, s->path);
    if (is_pairs(s))
        report_pairs(c, all);
    else
        report_sections(c, s);
}

/* No score at all is worth a word even where nobody reads the table. */
static void warn_suite(struct console *c, const struct suite *s)
{
    const struct shoal_score *all = &s->scores[s->n - 1];

    if (all->seen == 0)
        console_warn(c, "%s: of %s %s none has all its words among the vectors", s->path,
                     number_count(all->total).text, is_pairs(s) ? "pairs" : "questions");
}

/* ---- For programs -------------------------------------------------------------------- */

static void put_score(struct json *j, const struct shoal_score *s, bool pairs)
{
    out_open(j, '{');
    out_put_string(j, "name", s->name);
    out_put_count(j, "seen", s->seen);
    out_put_count(j, "total", s->total);
    if (pairs) {
        out_put_real(j, "spearman", s->spearman);
        out_put_real(j, "pearson", s->pearson);
    } else {
        out_put_count(j, "right", s->right);
        out_put_real(j, "accuracy", s->accuracy);
    }
    out_close(j, '}');
}

static void put_suite(struct json *j, const struct suite *s)
{
    out_open(j, '{');
    out_put_string(j, "file", s->path);
    out_put_string(j, "kind", is_pairs(s) ? "pairs" : "analogies");
    out_key(j, "scores");
    out_open(j, '[');
    for (size_t i = 0; i < s->n; i++)
        put_score(j, &s->scores[i], is_pairs(s));
    out_close(j, ']');
    out_close(j, '}');
}

static void put_all(const char *vectors, const struct suite *suites, size_t n)
{
    struct json j = {.to = stdout};

    out_open(&j, '{');
    out_put_string(&j, "vectors", vectors);
    out_key(&j, "suites");
    out_open(&j, '[');
    for (size_t i = 0; i < n; i++)
        put_suite(&j, &suites[i]);
    out_close(&j, ']');
    out_close(&j, '}');
    out_line(&j);
}

/* ---- The verb -------------------------------------------------------------------------- */

/* All files first: a name mistyped should not cost the work on those before. */
static shoal_status open_suites(struct suite *suites, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = shoal_eval_open(&suites[i].questions, suites[i].path);
    return st;
}

static shoal_status run_suites(struct console *c, const struct eval_cmd *cmd,
                               const shoal_vectors *v, struct suite *suites, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = shoal_eval_run(suites[i].questions, v, &cmd->eval, &suites[i].scores, &suites[i].n);
        if (st != SHOAL_OK)
            break;
        if (!cmd->json)
            report_suite(c, &suites[i], i == 0);
        warn_suite(c, &suites[i]);
    }
    return st;
}

static void close_suites(struct suite *suites, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        shoal_scores_free(suites[i].scores);
        shoal_eval_close(suites[i].questions);
    }
    free(suites);
}

static int eval_vectors(const void *at, const char *const *args, size_t nargs)
{
    struct eval_cmd cmd = *(const struct eval_cmd *)at;
    size_t n = nargs - 1;
    struct suite *suites = console_alloc(n * sizeof *suites);
    struct console console;
    shoal_vectors *v = NULL;
    shoal_status st;

    console_init(&console, cmd.work.quiet, NULL);
    cmd.eval.how = cmd.cosmul ? SHOAL_3COSMUL : SHOAL_3COSADD;
    for (size_t i = 0; i < n; i++)
        suites[i].path = args[i + 1];
    st = open_suites(suites, n);
    if (st == SHOAL_OK)
        st = shoal_vectors_open(&v, args[0]);
    if (st == SHOAL_OK)
        st = run_suites(&console, &cmd, v, suites, n);
    if (st == SHOAL_OK && cmd.json)
        put_all(args[0], suites, n);
    shoal_vectors_close(v);
    close_suites(suites, n);
    return console_finish(&console, st);
}

static int eval_run(const void *at, const char *const *args, size_t nargs)
{
    const struct eval_cmd *cmd = at;
    char kind[32] = "";

    signals_release();
    shoal_kind(args[0], kind);
    if (strcmp(kind, "logreg") == 0)
        return eval_logreg(&cmd->read, cmd->json, cmd->work.quiet, args[0], args + 1, nargs - 1);
    if (strcmp(kind, "net") == 0)
        return eval_net(&cmd->samples, cmd->json, cmd->work.quiet, args[0], args + 1, nargs - 1);
    return eval_vectors(at, args, nargs);
}

#define ON(member) FIELD(struct eval_cmd, member)

static const struct opt eval_opts[] = {
    {"top-words", .kind = OPT_U64, ON(eval.top_words), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "ask and answer with the first so many words, by custom the commonest", .zero = "all"},
    {"cosmul", .kind = OPT_FLAG, ON(cosmul),
     .help = "multiply the three cosines of an analogy (3CosMul) instead of adding"},
    {"keep-case", .kind = OPT_FLAG, ON(eval.keep_case),
     .help = "take words as they stand; otherwise Paris and paris are the same"},
    {"threads", .kind = OPT_U64, ON(eval.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {0},
};

static const struct opt output_opts[] = {
    {"json", .kind = OPT_FLAG, ON(json), .help = "print one JSON object"},
    {0},
};

const struct verb cmd_eval = {
    .name = "shoal eval",
    .summary = "score word vectors on questions, models on rows or samples",
    .about = "Of a click model: log-loss, AUC, accuracy and calibration on rows with labels, which "
             "are read as those that were learned. Of a net: loss and accuracy on samples.\n"
             "Of word vectors: analogies are lines of four words, in sections that a line `: name` "
             "begins, as in "
             "word2vec's questions-words.txt: an answer is right when of all words but these "
             "three the fourth lies nearest to b - a + c. Pairs are lines of two words and what "
             "people said of "
             "their likeness, as in WordSim-353: the ranks (Spearman) and the numbers (Pearson) "
             "are compared with the cosines. What a file holds is seen from its lines.\n"
             "Of a net: its loss, accuracy and confusion of classes, or its errors, on samples.\n"
             "A question counts as seen when all its words are there; accuracy is right of seen.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL",
             .help = "word vectors in any format, a click model or a net; recognised by content"},
            {"TEST", "files of questions for vectors, of rows for a click model, of samples for a net",
             .many = true},
            {0},
        },
    .groups =
        (const struct opt_group[]){
            {"Asking vectors", eval_opts, .at = 0},
            {"Samples for nets", samples_opts, .at = offsetof(struct eval_cmd, samples)},
            {"Output", output_opts, .at = 0},
            {"Reading rows, as the model does unless given", clicks_again_opts,
             .at = offsetof(struct eval_cmd, read)},
            {"General", work_opts, .at = offsetof(struct eval_cmd, work)},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal eval vectors.bin questions-words.txt ws353.txt", "one table for each file"},
            {"shoal eval vectors.bin questions-words.txt --top-words 0 --json",
             "of all words, for a program"},
            {"shoal eval model.shoal test.tsv", "how well a click model, or a net, predicts"},
            {0},
        },
    .opts_size = sizeof(struct eval_cmd),
    .defaults = eval_defaults,
    .run = eval_run,
};
