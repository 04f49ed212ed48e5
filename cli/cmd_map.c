/* shoal map: word vectors as a page to walk about in. */
#include "json.h"
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct map_cmd {
    struct shoal_map_opts how;
    const char *output, *tsv, *title;
    bool json, strict;
    struct work_opts work;
};

static const struct shoal_choice methods[] = {
    {"pca", "principal components: quick, and straight lines stay straight"},
    {"tsne", "t-SNE: who is near to whom"},
    {"umap", "UMAP: who is near to whom, and clusters farther apart"},
    {0},
};

static void map_defaults(void *at)
{
    *(struct map_cmd *)at = (struct map_cmd){.how = shoal_map_default()};
}

/* ---- what was made ---- */

static uint64_t size_of(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

static void report_layout(struct console *c, const struct shoal_map_layout *l)
{
    console_row(c, l->name, number_text("%.3f", l->trust).text,
                "trustworthiness of 10 nearest, %.0f %% of them kept%s", 100 * l->kept,
                isnan(l->loss) ? "" : number_text(", loss %.3f", l->loss).text);
}

static void report(const struct map_cmd *cmd, struct console *c, const shoal_map *m)
{
    console_row(c, "words", number_count(shoal_map_size(m)).text, "in %zu clusters",
                shoal_map_clusters(m));
    for (size_t i = 0; i < shoal_map_layouts(m); i++) {
        struct shoal_map_layout l = shoal_map_layout(m, i);

        report_layout(c, &l);
    }
    if (cmd->output && strcmp(cmd->output, "-") != 0)
        console_row(c, "page", number_size(size_of(cmd->output)).text, "%s", cmd->output);
    if (cmd->tsv)
        console_row(c, "projector", "3 files", "%s", cmd->tsv);
    console_row(c, "took", number_seconds(console_seconds(c)).text, NULL);
}

static void json_layout(struct json *j, const struct shoal_map_layout *l)
{
    out_open(j, '{');
    out_put_string(j, "name", l->name);
    out_put_real(j, "trustworthiness", l->trust);
    out_put_real(j, "kept", l->kept);
    out_put_real(j, "loss", l->loss);
    out_close(j, '}');
}

static void json_point(struct json *j, const shoal_map *m, const shoal_vectors *v, size_t i)
{
    out_open(j, '{');
    out_put_string(j, "word", shoal_vectors_word(v, shoal_map_id(m, i)));
    out_key(j, "cluster");
    out_count(j, shoal_map_cluster(m, i));
    for (size_t k = 0; k < shoal_map_layouts(m); k++) {
        struct shoal_map_layout l = shoal_map_layout(m, k);

        out_key(j, l.name);
        out_open(j, '[');
        out_real(j, (double)l.places[2 * i]);
        out_real(j, (double)l.places[2 * i + 1]);
        out_close(j, ']');
    }
    out_close(j, '}');
}

/* One line about the map, then one a word. */
static void print_json(const shoal_map *m, const shoal_vectors *v)
{
    struct json j = {.to = stdout};

    out_open(&j, '{');
    out_key(&j, "words");
    out_count(&j, shoal_map_size(m));
    out_key(&j, "layouts");
    out_open(&j, '[');
    for (size_t i = 0; i < shoal_map_layouts(m); i++) {
        struct shoal_map_layout l = shoal_map_layout(m, i);

        json_layout(&j, &l);
    }
    out_close(&j, ']');
    out_key(&j, "clusters");
    out_open(&j, '[');
    for (size_t c = 0; c < shoal_map_clusters(m); c++) {
        out_open(&j, '[');
        for (size_t k = 0; k < SHOAL_MAP_NAMES && shoal_map_cluster_name(m, c, k); k++)
            out_string(&j, shoal_map_cluster_name(m, c, k));
        out_close(&j, ']');
    }
    out_close(&j, ']');
    out_close(&j, '}');
    out_line(&j);
    for (size_t i = 0; i < shoal_map_size(m); i++) {
        json_point(&j, m, v, i);
        out_line(&j);
    }
}

/* ---- the command ---- */

static const char *title_of(const struct map_cmd *cmd, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (cmd->title)
        return cmd->title;
    return strcmp(path, "-") == 0 ? "Word map" : slash ? slash + 1 : path;
}

static int map_run(const void *at, const char *const *args, size_t nargs)
{
    const struct map_cmd *cmd = at;
    struct shoal_map_opts how = cmd->how;
    struct console console;
    shoal_vectors *v = NULL;
    shoal_map *m = NULL;
    shoal_status st;

    (void)nargs;
    if (!cmd->output && !cmd->tsv && !cmd->json)
        return usage(&cmd_map, "found nothing to make, want --output, --tsv or --json");
    if (cmd->json && cmd->output && strcmp(cmd->output, "-") == 0)
        return usage(&cmd_map, "found --json and --output -, want one of both elsewhere than on "
                               "standard output");
    console_init(&console, cmd->work.quiet, cmd->json ? "-" : cmd->output);
    how.watch = console_watch(&console);
    st = shoal_vectors_open(&v, args[0]);
    if (st == SHOAL_OK)
        st = vectors_accept(&console, args[0], v, cmd->strict);
    if (st == SHOAL_OK)
        st = shoal_map_make(&m, v, &how);
    if (st == SHOAL_OK && cmd->output)
        st = shoal_map_write(m, cmd->output, title_of(cmd, args[0]));
    if (st == SHOAL_OK && cmd->tsv)
        st = shoal_map_write_tsv(m, cmd->tsv);
    if (st == SHOAL_OK && cmd->json)
        print_json(m, v);
    if (st == SHOAL_OK)
        report(cmd, &console, m);
    shoal_map_free(m);
    shoal_vectors_close(v);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct map_cmd, member)

static const struct shoal_option map_opts[] = {
    {"words", 'n', SHOAL_TYPE_COUNT, ON(how.words), .arg = "N",
     .u = {SHOAL_MAP_LEAST, SHOAL_MAP_MOST}, .help = "so many of the commonest words"},
    {"method", 'm', SHOAL_TYPE_CHOICE, ON(how.method), .arg = "HOW", .choices = methods,
     .help = "how the plane is found; the page has principal components too"},
    {"perplexity", .type = SHOAL_TYPE_REAL, ON(how.perplexity), .arg = "X", .d = {2, 200},
     .help = "of t-SNE: about how many neighbours a word feels"},
    {"neighbors", .type = SHOAL_TYPE_COUNT, ON(how.neighbors), .arg = "N", .u = {2, 200},
     .help = "of UMAP: neighbours of a word"},
    {"min-distance", .type = SHOAL_TYPE_REAL, ON(how.min_distance), .arg = "X", .d = {0, 0.99},
     .help = "of UMAP: how close words that belong together may lie"},
    {"rounds", .type = SHOAL_TYPE_COUNT, ON(how.rounds), .arg = "N", .u = {0, 100000},
     .help = "rounds of t-SNE or UMAP", .zero = "750 of t-SNE, 500 of UMAP"},
    {"clusters", .type = SHOAL_TYPE_COUNT, ON(how.clusters), .arg = "N", .u = {1, 64},
     .help = "clusters of the vectors, by k-means: the colours"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(how.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "where clusters and UMAP begin"},
    {"threads", .type = SHOAL_TYPE_COUNT, ON(how.threads), .arg = "N", .u = {0, 1024},
     .help = "threads to work with; the map is the same for any number",
     .zero = "one for each core"},
    {0},
};

static const struct shoal_option output_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE",
     .help = "the page: one HTML file that needs no other"},
    {"tsv", .type = SHOAL_TYPE_PATH, ON(tsv), .arg = "FOLDER",
     .help = "files for TensorBoard's projector: vectors.tsv, metadata.tsv and "
             "projector_config.pbtxt"},
    {"title", .type = SHOAL_TYPE_TEXT, ON(title), .arg = "TEXT",
     .help = "of the page, instead of the file's name"},
    {"json", .type = SHOAL_TYPE_FLAG, ON(json),
     .help = "print one JSON object about the map, then one a word"},
    {"strict", .type = SHOAL_TYPE_FLAG, ON(strict), .help = STRICT_HELP},
    {0},
};

const struct verb cmd_map = {
    .name = "shoal map",
    .summary = "word vectors as a map to walk about in",
    .about =
        "Makes one HTML file of the commonest words: a map to pan and zoom, with search, "
        "neighbours, analogies, a lasso and clusters in colours. It asks nobody for anything. "
        "Places are found by t-SNE (van der Maaten and Hinton 2008) or UMAP (McInnes et al. "
        "2018), and by principal components. How far they can be trusted is printed: of the ten "
        "nearest words on the map, how many are among the nearest of the vectors (Venna and Kaski "
        "2001), 0.5 being chance.",
    .operands =
        (const struct operand[]){
            {.name = "FILE", .help = "word vectors in any format; recognised by content"},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Map", map_opts, .at = 0},
            {"Output", output_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct map_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal map vectors.shoal -o map.html", "5,000 words by t-SNE"},
            {"shoal map vectors.bin -n 10000 --method umap -o map.html", "ten thousand by UMAP"},
            {"shoal map vectors.bin --method pca --tsv projector",
             "for TensorBoard's projector, and nothing else"},
            {0},
        },
    .opts_size = sizeof(struct map_cmd),
    .defaults = map_defaults,
    .run = map_run,
};
