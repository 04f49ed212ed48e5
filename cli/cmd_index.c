/* shoal index: links between near vectors, for quick questions. */
#include "cmd.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct index_cmd {
    struct shoal_hnsw_opts how;
    const char *output;
    uint64_t questions;
    bool json, map, strict, measure;
    struct work_opts work;
};

static void index_defaults(void *at)
{
    *(struct index_cmd *)at = (struct index_cmd){.how = shoal_hnsw_default(), .questions = 1000};
}

/* The file beside the vectors where an index is looked for; free() it. */
char *index_beside(const char *vectors)
{
    size_t len = strlen(vectors) + sizeof INDEX_ENDING;
    char *path = console_alloc(len);

    snprintf(path, len, "%s%s", vectors, INDEX_ENDING);
    return path;
}

static void report(struct console *c, const shoal_hnsw *x, size_t ef,
                   const struct shoal_hnsw_recall *r)
{
    struct shoal_hnsw_facts f = shoal_hnsw_facts(x);

    console_row(c, "rows", number_count(f.size).text, "%zu numbers each, %u levels", f.dim,
                f.levels);
    console_row(c, "links", number_count(f.links).text, "%.1f a row",
                (double)f.links / (double)f.size);
    console_row(c, "memory", number_size(f.bytes).text, NULL);
    console_row(c, "ef", number_count(ef > 0 ? ef : f.ef).text, "candidates that a question keeps");
    console_row(c, "recall", number_text("%.4f", r->recall).text,
                "of the ten nearest, over %s questions", number_count(r->questions).text);
    console_row(c, "exact", number_text("%.3f ms", 1000 * r->exact_seconds).text,
                "a question, %u thread%s", r->threads, r->threads == 1 ? "" : "s");
    console_row(c, "index", number_text("%.3f ms", 1000 * r->approx_seconds).text,
                "a question, 1 thread: %.1f times as fast",
                r->approx_seconds > 0 ? r->exact_seconds / r->approx_seconds : 0);
}

static void put_count(struct json *j, const char *key, uint64_t n)
{
    out_key(j, key);
    out_count(j, n);
}

static void report_json(const char *path, const shoal_hnsw *x, size_t ef,
                        const struct shoal_hnsw_recall *r)
{
    struct shoal_hnsw_facts f = shoal_hnsw_facts(x);
    struct json json = {.to = stdout};

    out_open(&json, '{');
    out_put_string(&json, "file", path);
    put_count(&json, "rows", f.size);
    put_count(&json, "dim", f.dim);
    put_count(&json, "m", f.m);
    put_count(&json, "ef_construction", f.ef_construction);
    put_count(&json, "ef", ef > 0 ? ef : f.ef);
    put_count(&json, "links", f.links);
    out_put_real(&json, "recall", r->recall);
    put_count(&json, "questions", r->questions);
    put_count(&json, "threads", r->threads);
    out_put_real(&json, "exact_seconds", r->exact_seconds);
    out_put_real(&json, "index_seconds", r->approx_seconds);
    out_close(&json, '}');
    out_line(&json);
}

/* Makes one and saves it, or opens the one that is there. */
static shoal_status index_get(shoal_hnsw **out, const struct index_cmd *cmd, const shoal_vectors *v,
                              const char *path, struct shoal_watch watch)
{
    struct shoal_hnsw_opts how = cmd->how;
    shoal_status st;

    if (cmd->measure)
        return shoal_hnsw_open(out, v, path);
    how.watch = watch;
    st = shoal_hnsw_new(out, v, &how);
    return st == SHOAL_OK ? shoal_hnsw_save(*out, path) : st;
}

static shoal_status index_show(const struct index_cmd *cmd, struct console *c, const shoal_hnsw *x,
                               const shoal_vectors *v, const char *path)
{
    struct shoal_hnsw_recall recall = {0};
    size_t ef = cmd->measure ? cmd->how.ef : 0;
    shoal_status st = SHOAL_OK;

    if (cmd->json || !cmd->work.quiet)
        st = shoal_hnsw_measure(x, v, ef, cmd->questions, cmd->how.threads, &recall);
    if (st == SHOAL_OK && cmd->json)
        report_json(path, x, ef, &recall);
    else if (st == SHOAL_OK)
        report(c, x, ef, &recall);
    return st;
}

static int index_run(const void *at, const char *const *args, size_t nargs)
{
    const struct index_cmd *cmd = at;
    struct console console;
    shoal_vectors *v = NULL;
    shoal_hnsw *x = NULL;
    const char *path = cmd->output;
    char *beside;
    shoal_status st;

    (void)nargs;
    if (strcmp(args[0], "-") == 0 && !path)
        return usage(&cmd_index, "FILE is '-', want -o INDEX to say where the index goes");
    beside = index_beside(args[0]);
    path = path ? path : beside;
    console_init(&console, cmd->work.quiet || cmd->json, cmd->measure ? NULL : path);
    st = shoal_hnsw_there();
    if (st == SHOAL_OK)
        st = cmd->map ? shoal_vectors_map(&v, args[0]) : shoal_vectors_open(&v, args[0]);
    if (st == SHOAL_OK)
        st = vectors_accept(&console, args[0], v, cmd->strict);
    if (st == SHOAL_OK)
        st = index_get(&x, cmd, v, path, console_watch(&console));
    if (st == SHOAL_OK)
        st = index_show(cmd, &console, x, v, path);
    if (st == SHOAL_OK)
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, "%s", path);
    shoal_hnsw_free(x);
    shoal_vectors_close(v);
    free(beside);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct index_cmd, member)

static const struct shoal_option graph_opts[] = {
    {"m", .type = SHOAL_TYPE_COUNT, ON(how.m), .arg = "N", .u = {2, 256},
     .help = "links of a vector; more find more, and take more memory"},
    {"ef-construction", .type = SHOAL_TYPE_COUNT, ON(how.ef_construction), .arg = "N",
     .u = {1, 65536}, .help = "candidates among which a new vector's links are chosen"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(how.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "decides the levels; with --threads 1 the same seed gives the same bytes"},
    {"threads", .type = SHOAL_TYPE_COUNT, ON(how.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with", .zero = "one for each core"},
    {0},
};

static const struct shoal_option ask_opts[] = {
    {"ef", .type = SHOAL_TYPE_COUNT, ON(how.ef), .arg = "N", .u = {0, 65536},
     .help = "candidates that a question keeps; more find more, and take longer",
     .zero = "as few as --recall allows"},
    {"recall", .type = SHOAL_TYPE_REAL, ON(how.recall), .arg = "R", .d = {0.01, 1},
     .help = "choose ef so that this share of the ten nearest is found"},
    {"questions", .type = SHOAL_TYPE_COUNT, ON(questions), .arg = "N", .u = {1, 1000000},
     .help = "vectors that are asked about to measure recall and speed"},
    {"measure", .type = SHOAL_TYPE_FLAG, ON(measure),
     .help = "measure the index that is there, with --ef if that is given, and make none"},
    {0},
};

static const struct shoal_option file_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "INDEX",
     .help = "where the index goes, instead of FILE" INDEX_ENDING},
    {"mmap", .type = SHOAL_TYPE_FLAG, ON(map),
     .help = "map a file of shoal's own instead of reading all of it"},
    {"strict", .type = SHOAL_TYPE_FLAG, ON(strict), .help = STRICT_HELP},
    {"json", .type = SHOAL_TYPE_FLAG, ON(json), .help = "print one JSON object"},
    {0},
};

const struct verb cmd_index = {
    .name = "shoal index",
    .summary = "link near vectors, for quick approximate questions",
    .about =
        "Makes an HNSW index of the vectors (Malkov and Yashunin 2018, by hnswlib): each is linked "
        "to near ones, and a question walks along the links instead of looking at all. The index "
        "goes into a file beside the vectors; `shoal similar --approx`, `shoal serve --index` and "
        "the Python package use it. It belongs to these vectors, and is refused for others.\n"
        "Then it is measured: of the ten nearest, the share that it finds (recall), and the time "
        "of a question by exact search and by the index.",
    .operands =
        (const struct operand[]){
            {.name = "FILE", .help = "word vectors in any format; recognised by content"}, {0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Links", graph_opts, .at = 0},
            {"Questions", ask_opts, .at = 0},
            {"File", file_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct index_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal index vectors.shoal", "into vectors.shoal.hnsw, with a recall of 0.95"},
            {"shoal index vectors.shoal --recall 0.99 --m 32", "that finds nearly all"},
            {0},
        },
    .opts_size = sizeof(struct index_cmd),
    .defaults = index_defaults,
    .run = index_run,
};
