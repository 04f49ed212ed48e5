/* What a task learns from, opened, and encoded first where it is text.
 *
 * Ranks do this together: rank 0 encodes, or each rank its own inputs (--local-input), and all open
 * the result. Whatever may fail on one rank alone is followed by shoal_ranks_agree, before the
 * next collective: so all give up together, and nobody waits for a rank that has left. */
#include "train/data.h"

#include "saved/saved.h"
#include "train/options.h"
#include "train/run.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANK_MARK "{rank}" /* in names: this rank's number, where each has its own files */
/* Rows take about as much memory as their text, but some, and what is compressed, more. */
#define TEXT_GROWS 8

struct opening {
    const struct data_way *way;
    const struct train_opts *opts;
    shoal_ranks *ranks;
    struct shoal_watch watch;
    struct shoal_data *data;
};

/* How one kind is opened. */
struct data_way {
    const char *kept, *kept_own; /* in the folder of checkpoints: for all, of each rank */
    shoal_status (*open)(struct opening *a, const char *path);
    /* Text to a file for `open`; NULL: `open` reads whatever there is. */
    shoal_status (*encode)(struct opening *a, const char *path, const char *const *inputs,
                           size_t n);
    /* Text into memory, where nobody else needs it: SHOAL_ELIMIT when that is no place for
     * it; or NULL. */
    shoal_status (*read)(struct opening *a, const char *const *inputs, size_t n);
    shoal_status (*beside)(struct opening *a); /* what belongs to it; or NULL */
};

/* ---- Ranks ------------------------------------------------------------------------------ */

static bool is_first(const struct opening *a)
{
    return shoal_ranks_rank(a->ranks) == 0;
}

/* Whether this rank writes a file; the others then read the first one's. */
static bool writes(const struct opening *a)
{
    return a->opts->local_input || is_first(a);
}

/* ---- Paths ------------------------------------------------------------------------------ */

static shoal_status too_long(const char *path)
{
    return shoal_fail(SHOAL_EINVAL, "%s: found a path that is too long, want at most %d bytes",
                      path, PATH_MAX - 1);
}

/* The name as it is for this rank. */
static shoal_status own_name(const struct opening *a, char out[PATH_MAX], const char *name)
{
    const char *mark = a->opts->local_input ? strstr(name, RANK_MARK) : NULL;
    int len = mark ? snprintf(out, PATH_MAX, "%.*s%u%s", (int)(mark - name), name,
                              shoal_ranks_rank(a->ranks), mark + strlen(RANK_MARK))
                   : snprintf(out, PATH_MAX, "%s", name);

    return len < PATH_MAX ? SHOAL_OK : too_long(name);
}

/* As it is in any working folder. */
static shoal_status absolute(char out[PATH_MAX], const char *path)
{
    char here[PATH_MAX] = "";
    bool known = path[0] == '/' || strcmp(path, "-") == 0 || !getcwd(here, sizeof here);
    int len = snprintf(out, PATH_MAX, "%s%s%s", here, known ? "" : "/", path);

    return len < PATH_MAX ? SHOAL_OK : too_long(path);
}

static shoal_status kept_name(const struct opening *a, char out[PATH_MAX])
{
    const char *folder = a->opts->checkpoint;
    int len = snprintf(out, PATH_MAX, "%s/%s", folder,
                       a->opts->local_input ? a->way->kept_own : a->way->kept);

    return len < PATH_MAX ? SHOAL_OK : too_long(folder);
}

/* Where a file for this run alone goes: beside the output or, where other ranks may not have
 * that folder, where temporary files go. */
static const char *folder_for_now(const struct opening *a, char room[PATH_MAX])
{
    const char *output = a->opts->output, *tmp = getenv("TMPDIR");

    if (!output || strcmp(output, "-") == 0 || a->opts->local_input)
        return tmp && *tmp ? tmp : "/tmp";
    snprintf(room, PATH_MAX, "%s", output);
    return dirname(room);
}

/* ---- What is remembered ----------------------------------------------------------------- */

char *path_escape(const char *path)
{
    char *text = mem_array(2 * strlen(path) + 1, 1), *to = text;

    for (; text && *path; path++) {
        if (strchr("\\:\n", *path))
            *to++ = '\\';
        *to++ = *path == '\n' ? 'n' : *path;
    }
    return text;
}

bool path_unescape(char path[PATH_MAX], const char *text)
{
    size_t len = 0;

    for (; *text && *text != ':' && len < PATH_MAX - 1; text++) {
        bool marked = *text == '\\' && text[1];

        text += marked;
        path[len++] = marked && *text == 'n' ? '\n' : *text;
    }
    path[len] = '\0';
    return !*text;
}

static shoal_status remember(struct opening *a, const char *path)
{
    char whole[PATH_MAX];
    shoal_status st = absolute(whole, path);

    if (st != SHOAL_OK)
        return st;
    free(a->data->inputs);
    a->data->inputs = path_escape(whole);
    return a->data->inputs ? SHOAL_OK : SHOAL_ENOMEM;
}

/* A run that goes on remembers what it remembered. */
static shoal_status remember_as_before(struct opening *a)
{
    const char *before = a->opts->resume ? a->opts->inputs : NULL;

    free(a->data->inputs);
    a->data->inputs = before ? strdup(before) : NULL;
    return !before || a->data->inputs ? SHOAL_OK
                                      : shoal_fail(SHOAL_ENOMEM, "data: no memory for a path");
}

/* ---- Text ------------------------------------------------------------------------------- */

static shoal_status open_corpus(struct opening *a, const char *path)
{
    return shoal_corpus_open(&a->data->corpus, path);
}

static shoal_status encode_text(struct opening *a, const char *path, const char *const *inputs,
                                size_t n)
{
    struct shoal_encode_opts opts = a->opts->encode;
    struct shoal_encode_stats stats = {0};
    shoal_vocab *given = NULL;
    shoal_status st = a->opts->vocab ? shoal_vocab_read(&given, a->opts->vocab) : SHOAL_OK;

    st = shoal_ranks_agree(a->ranks, st);
    opts.vocab.threads = a->opts->threads;
    opts.vocab.watch = a->watch;
    opts.memory_limit = a->opts->memory_limit;
    opts.given = given;
    if (st == SHOAL_OK)
        st = shoal_ranks_encode(a->ranks, path, inputs, n, &opts, a->opts->local_input, &stats);
    a->data->text = stats.vocab;
    a->data->found.unk = given ? shoal_vocab_unk(given) != SHOAL_NO_ID : opts.vocab.unk;
    if (st == SHOAL_OK)
        a->data->found.text = &a->data->text;
    shoal_vocab_free(given);
    return st;
}

static shoal_status open_vectors(struct opening *a)
{
    return shoal_vectors_open(&a->data->vectors, a->opts->vectors);
}

/* ---- Rows ------------------------------------------------------------------------------- */

static struct shoal_clicks_opts rows_opts(const struct opening *a)
{
    struct shoal_clicks_opts opts = a->opts->rows;

    opts.threads = a->opts->threads;
    opts.memory_limit = a->opts->memory_limit;
    opts.watch = a->watch;
    return opts;
}

static shoal_status open_rows(struct opening *a, const char *path)
{
    return shoal_clicks_open(&a->data->rows, path);
}

/* The first rank reads; the others wait. */
static shoal_status encode_rows(struct opening *a, const char *path, const char *const *inputs,
                                size_t n)
{
    struct shoal_clicks_opts opts = rows_opts(a);
    shoal_status st = SHOAL_OK;

    if (is_first(a))
        st = shoal_clicks_encode(path, inputs, n, &opts, &a->data->rows_read);
    st = shoal_ranks_agree(a->ranks, st);
    if (st == SHOAL_OK)
        a->data->found.rows = &a->data->rows_read;
    return st;
}

/* Whether there is room for them, and each input can be read again if they do not fit after
 * all. */
static bool keeps_rows(const struct shoal_clicks_opts *opts, const char *const *inputs, size_t n)
{
    struct shoal_clicks_plan plan;

    return shoal_clicks_plan(&plan, "rows", inputs, n, opts) == SHOAL_OK && !plan.streamed &&
           plan.input_bytes < plan.memory_free / TEXT_GROWS;
}

static shoal_status read_rows(struct opening *a, const char *const *inputs, size_t n)
{
    struct shoal_clicks_opts opts = rows_opts(a);
    shoal_status st = SHOAL_ELIMIT;

    if (keeps_rows(&opts, inputs, n))
        st = shoal_clicks_read(&a->data->rows, inputs, n, &opts, &a->data->rows_read);
    if (st == SHOAL_OK)
        a->data->found.rows = &a->data->rows_read;
    return st;
}

/* What is held out is read as the data was. */
static shoal_status open_valid_rows(struct opening *a)
{
    struct shoal_data *d = a->data;
    struct shoal_clicks_opts opts = shoal_clicks_like(d->rows);
    const char *path = a->opts->valid_path;
    char kind[32];
    shoal_status st;

    if (!path)
        return SHOAL_OK;
    if (shoal_kind(path, kind))
        return shoal_clicks_open(&d->valid_rows, path);
    opts.skip_bad = a->opts->rows.skip_bad;
    opts.threads = a->opts->threads;
    st = shoal_clicks_read(&d->valid_rows, &path, 1, &opts, &d->valid_rows_read);
    if (st == SHOAL_OK)
        d->found.valid_rows = &d->valid_rows_read;
    return st;
}

/* ---- Samples and pictures --------------------------------------------------------------- */

static struct shoal_samples_opts samples_opts(const struct opening *a)
{
    struct shoal_samples_opts opts = a->opts->samples;

    opts.task = a->opts->regression ? SHOAL_REGRESS : SHOAL_CLASSIFY;
    opts.memory_limit = a->opts->memory_limit;
    opts.table.raw = a->opts->raw;
    return opts;
}

/* A net that goes on has its own columns and classes. */
static shoal_status open_samples_as(struct opening *a, const char *path, const char *net)
{
    struct shoal_samples_opts opts = samples_opts(a);
    struct saved_reading r = {.opts = opts};
    shoal_net *old = NULL;
    shoal_status st = shoal_net_open(&old, net);

    if (st == SHOAL_OK)
        st = saved_net_reading(&r, old, &opts, true);
    if (st == SHOAL_OK && old->columns && old->net->classes == (opts.task == SHOAL_CLASSIFY)) {
        opts.columns = r.opts.columns;
        opts.classes = r.opts.classes;
        opts.nclasses = r.opts.nclasses;
    }
    if (st == SHOAL_OK)
        st = shoal_samples_open(&a->data->samples, path, &opts);
    saved_reading_fini(&r);
    shoal_net_close(old);
    return st;
}

static shoal_status open_samples(struct opening *a, const char *path)
{
    struct shoal_samples_opts opts = samples_opts(a);
    shoal_status st = a->opts->start ? open_samples_as(a, path, a->opts->start)
                                     : shoal_samples_open(&a->data->samples, path, &opts);

    if (st == SHOAL_OK)
        a->data->found.samples = a->data->samples;
    return st;
}

/* What is held out is read as the data was. */
static shoal_status open_valid_samples(struct opening *a)
{
    const shoal_samples *s = a->data->samples;
    struct shoal_samples_opts opts = samples_opts(a);
    const char *path = a->opts->valid_path;

    opts.labels = NULL; /* they are of the others */
    opts.columns = s->columns;
    opts.numbers = !s->columns;
    opts.classes = (const char *const *)s->names;
    opts.nclasses = s->classes;
    return path ? shoal_samples_open(&a->data->valid_samples, path, &opts) : SHOAL_OK;
}

/* What is tested on is what was named, or the folder's own part for testing. */
static shoal_status open_pictures(struct opening *a, const char *path)
{
    struct shoal_images_opts opts = a->opts->images;
    const char *test = a->opts->test ? a->opts->test : path;
    shoal_status st;

    opts.threads = a->opts->threads;
    st = shoal_images_open(&a->data->images, path, &opts);
    opts.test = true;
    if (st == SHOAL_OK && (a->opts->test || shoal_images_has_test(path)))
        st = shoal_images_open(&a->data->test_images, test, &opts);
    a->data->found.images = a->data->images;
    return st;
}

/* ---- Lines with labels ------------------------------------------------------------------ */

static struct shoal_labelled_opts labelled_opts(const struct opening *a)
{
    struct shoal_labelled_opts opts = a->opts->labelled;

    opts.threads = a->opts->threads;
    opts.watch = a->watch;
    return opts;
}

static shoal_status open_labelled(struct opening *a, const char *path)
{
    return shoal_labelled_open(&a->data->labelled, path);
}

static shoal_status read_labelled(struct opening *a, const char *const *inputs, size_t n)
{
    struct shoal_labelled_opts opts = labelled_opts(a);
    shoal_status st =
        shoal_labelled_read(&a->data->labelled, inputs, n, &opts, &a->data->labelled_read);

    if (st == SHOAL_OK)
        a->data->found.labelled = &a->data->labelled_read;
    return st;
}

/* The first rank reads; the others wait. */
static shoal_status encode_labelled(struct opening *a, const char *path, const char *const *inputs,
                                    size_t n)
{
    shoal_status st = SHOAL_OK;

    if (is_first(a)) {
        st = read_labelled(a, inputs, n);
        if (st == SHOAL_OK)
            st = labelled_save(a->data->labelled, path);
        shoal_labelled_close(a->data->labelled);
        a->data->labelled = NULL;
    }
    return shoal_ranks_agree(a->ranks, st);
}

/* What is held out is read as the data was, and has its labels. */
static shoal_status open_valid_labelled(struct opening *a)
{
    const shoal_labelled *l = a->data->labelled;
    struct labelled_like like = {l->labels, &l->reading};
    struct shoal_labelled_opts opts = labelled_opts(a);
    const char *path = a->opts->valid_path;

    if (!path)
        return SHOAL_OK;
    return labelled_read(&a->data->valid_labelled, &(struct sources){.paths = &path, .n = 1}, &opts,
                         &like, NULL);
}

static const struct data_way ways[] = {
    [DATA_TEXT] = {"corpus.shoal", "corpus-" RANK_MARK ".shoal", open_corpus, encode_text, NULL,
                   NULL},
    [DATA_ROWS] = {"clicks.shoal", "clicks-" RANK_MARK ".shoal", open_rows, encode_rows, read_rows,
                   open_valid_rows},
    [DATA_SAMPLES] = {NULL, NULL, open_samples, NULL, NULL, open_valid_samples},
    [DATA_PICTURES] = {NULL, NULL, open_pictures, NULL, NULL, NULL},
    [DATA_LABELLED] = {"labelled.shoal", "labelled-" RANK_MARK ".shoal", open_labelled,
                       encode_labelled, read_labelled, open_valid_labelled},
    [DATA_TEXT_AND_VECTORS] = {"corpus.shoal", "corpus-" RANK_MARK ".shoal", open_corpus,
                               encode_text, NULL, open_vectors},
};

/* ---- Text becomes a file ---------------------------------------------------------------- */

static shoal_status encode(struct opening *a, const char *path, const char *const *inputs, size_t n)
{
    shoal_status st = a->way->encode(a, path, inputs, n);

    return st == SHOAL_OK ? shoal_ranks_agree(a->ranks, a->way->open(a, path)) : st;
}

static shoal_status make_temporary(const struct opening *a, char path[PATH_MAX])
{
    char room[PATH_MAX];
    const char *folder = folder_for_now(a, room);
    int len = snprintf(path, PATH_MAX, "%s/.corpus-XXXXXX", folder);
    int fd = len < PATH_MAX ? mkostemp(path, O_CLOEXEC) : -1;

    if (fd >= 0)
        return close(fd) == 0 ? SHOAL_OK : shoal_fail_errno(SHOAL_EIO, "%s", path);
    path[0] = '\0';
    return len < PATH_MAX ? shoal_fail_errno(SHOAL_EIO, "%s", folder) : too_long(folder);
}

/* Its name is removed as soon as all have mapped it: a run that is killed leaves no file. */
static shoal_status encode_for_now(struct opening *a, const char *const *inputs, size_t n)
{
    char path[PATH_MAX] = "";
    shoal_status st = shoal_ranks_agree(a->ranks, writes(a) ? make_temporary(a, path) : SHOAL_OK);

    if (st == SHOAL_OK && !a->opts->local_input)
        st = shoal_ranks_share(a->ranks, path, sizeof path);
    if (st == SHOAL_OK)
        st = encode(a, path, inputs, n);
    if (writes(a) && *path)
        unlink(path);
    return st == SHOAL_OK ? shoal_ranks_agree(a->ranks, remember_as_before(a)) : st;
}

static shoal_status encode_to_keep(struct opening *a, const char *const *inputs, size_t n)
{
    const char *folder = a->opts->checkpoint;
    char kept[PATH_MAX], path[PATH_MAX];
    bool made = false;
    shoal_status st = kept_name(a, kept);

    if (st == SHOAL_OK)
        st = own_name(a, path, kept);
    if (st == SHOAL_OK && writes(a))
        st = folder_make(folder, &made);
    st = shoal_ranks_agree(a->ranks, st);
    if (st == SHOAL_OK)
        st = encode(a, path, inputs, n);
    if (st == SHOAL_OK)
        st = shoal_ranks_agree(a->ranks, remember(a, kept));
    if (st != SHOAL_OK && made)
        rmdir(folder);
    return st;
}

static shoal_status open_text(struct opening *a, const char *const *inputs, size_t n)
{
    bool keeps = a->opts->checkpoint && !a->opts->resume;
    shoal_status st = SHOAL_ELIMIT;

    if (!a->opts->checkpoint && a->way->read && shoal_ranks_size(a->ranks) <= 1)
        st = a->way->read(a, inputs, n);
    if (st != SHOAL_ELIMIT)
        return st;
    return keeps ? encode_to_keep(a, inputs, n) : encode_for_now(a, inputs, n);
}

/* ---- Inputs that were named ------------------------------------------------------------- */

/* Whether they are one file that is encoded already; such a one among others makes no sense. */
static shoal_status look_at(const struct opening *a, const char *const *inputs, size_t n,
                            bool *encoded)
{
    char kind[32];

    *encoded = !a->way->encode;
    if (*encoded && n > 1)
        return shoal_fail(SHOAL_EINVAL, "data: found %zu inputs, want one", n);
    for (size_t i = 0; i < n && a->way->encode; i++) {
        if (!shoal_kind(inputs[i], kind))
            continue;
        *encoded = true;
        if (n > 1)
            return shoal_fail(SHOAL_EINVAL, "%s: is encoded, want it to be the only input",
                              inputs[i]);
    }
    return SHOAL_OK;
}

/* Before anything is encoded: a new run would replace what the old one has in the folder. */
static shoal_status check_new(const char *folder)
{
    struct shoal_checkpoint old;
    shoal_status st = shoal_checkpoint_read(&old, folder);

    if (st == SHOAL_OK)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: holds a run at %.1f%%; go on with --resume, or name another folder",
                          folder, 100 * old.progress);
    return st == SHOAL_ENOENT ? SHOAL_OK : st;
}

/* `name` is that of the first input, as it is for any rank. */
static shoal_status open_inputs(struct opening *a, const char *name, const char *const *inputs,
                                size_t n)
{
    const char *folder = a->opts->checkpoint;
    bool encoded;
    shoal_status st = look_at(a, inputs, n, &encoded);

    if (st == SHOAL_OK && is_first(a) && folder && !a->opts->resume)
        st = check_new(folder);
    st = shoal_ranks_agree(a->ranks, st);
    /* Where the first rank sees what is encoded, all open it, or fail to. */
    if (st == SHOAL_OK)
        st = shoal_ranks_share(a->ranks, &encoded, sizeof encoded);
    if (st != SHOAL_OK)
        return st;
    if (!encoded)
        return open_text(a, inputs, n);
    st = remember(a, name);
    return shoal_ranks_agree(a->ranks, st == SHOAL_OK ? a->way->open(a, inputs[0]) : st);
}

/* Where each rank has its own, under the names that they have for this one. */
static shoal_status open_named(struct opening *a, const char *const *inputs, size_t n)
{
    char **own, path[PATH_MAX];
    shoal_status st;

    if (!a->opts->local_input)
        return open_inputs(a, inputs[0], inputs, n);
    own = mem_array(n, sizeof *own);
    st = own ? SHOAL_OK : SHOAL_ENOMEM;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = own_name(a, path, inputs[i]);
        own[i] = st == SHOAL_OK ? strdup(path) : NULL;
        if (st == SHOAL_OK && !own[i])
            st = shoal_fail(SHOAL_ENOMEM, "data: no memory for a path");
    }
    st = shoal_ranks_agree(a->ranks, st);
    if (st == SHOAL_OK)
        st = open_inputs(a, inputs[0], (const char *const *)own, n);
    for (size_t i = 0; own && i < n; i++)
        free(own[i]);
    free(own);
    return st;
}

/* ---- What is remembered, opened --------------------------------------------------------- */

/* There is one for this rank at this path; errno says why not. */
static bool is_there(const struct opening *a, const char *path)
{
    char own[PATH_MAX];

    return own_name(a, own, path) == SHOAL_OK && access(own, F_OK) == 0;
}

static shoal_status open_at(struct opening *a, const char *path)
{
    char kept[PATH_MAX] = "", own[PATH_MAX];
    bool keeps = a->way->kept && a->opts->checkpoint;
    shoal_status st = keeps ? kept_name(a, kept) : SHOAL_OK;

    /* A folder that was moved with what was kept in it has it still. */
    if (st == SHOAL_OK && keeps && !is_there(a, path) && is_there(a, kept))
        path = kept;
    if (st == SHOAL_OK && keeps && !is_there(a, path))
        st = shoal_fail_errno(SHOAL_ENOENT, "%s: the corpus of this run is gone", path);
    if (st == SHOAL_OK)
        st = own_name(a, own, path);
    if (st == SHOAL_OK)
        st = a->way->open(a, own);
    return st == SHOAL_OK ? remember(a, path) : st;
}

static shoal_status open_remembered(struct opening *a)
{
    const char *folder = a->opts->checkpoint ? a->opts->checkpoint : "data";
    char path[PATH_MAX];
    shoal_status st;

    if (!a->opts->inputs || !path_unescape(path, a->opts->inputs))
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: does not say what it was trained on; name it: shoal train MODEL "
                        "INPUT --resume %s",
                        folder, folder);
    else
        st = open_at(a, path);
    return shoal_ranks_agree(a->ranks, st);
}

/* ---- Standard input --------------------------------------------------------------------- */

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Only the first of several ranks has one: it can be what that rank encodes for all. */
static shoal_status check_standard(const struct opening *a, const char *const *inputs, size_t n)
{
    const struct train_opts *o = a->opts;
    bool read_by_all = is_standard(o->valid_path) || is_standard(o->samples.labels) ||
                       is_standard(o->vectors) || is_standard(o->vocab) || is_standard(o->test);

    for (size_t i = 0; i < n && (o->local_input || !a->way->encode); i++)
        read_by_all |= is_standard(inputs[i]);
    if (shoal_ranks_size(a->ranks) <= 1 || !read_by_all)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL,
                      "data: found - (standard input) for what each of %u ranks reads, want a file",
                      shoal_ranks_size(a->ranks));
}

/* ---- All of it -------------------------------------------------------------------------- */

static struct shoal_sources sources_of(const struct shoal_data *d)
{
    return (struct shoal_sources){.corpus = d->corpus,
                                  .vectors = d->vectors,
                                  .rows = d->rows,
                                  .valid_rows = d->valid_rows,
                                  .samples = d->samples,
                                  .valid_samples = d->valid_samples,
                                  .images = d->images,
                                  .test_images = d->test_images,
                                  .labelled = d->labelled,
                                  .valid_labelled = d->valid_labelled};
}

shoal_status data_open(struct shoal_data **out, const struct data_how *how,
                       const char *const *inputs, size_t ninputs)
{
    struct opening a = {.way = &ways[how->kind],
                        .opts = how->opts,
                        .ranks = how->ranks,
                        .watch = how->watch,
                        .data = mem_array(1, sizeof *a.data)};
    shoal_status st = shoal_ranks_agree(a.ranks, a.data ? SHOAL_OK : SHOAL_ENOMEM);

    *out = NULL;
    if (st == SHOAL_OK)
        st = shoal_ranks_agree(a.ranks, check_standard(&a, inputs, ninputs));
    if (st == SHOAL_OK)
        st = ninputs > 0 ? open_named(&a, inputs, ninputs) : open_remembered(&a);
    if (st == SHOAL_OK && a.way->beside)
        st = shoal_ranks_agree(a.ranks, a.way->beside(&a));
    if (st != SHOAL_OK) {
        shoal_data_close(a.data);
        return st;
    }
    a.data->at = sources_of(a.data);
    if (a.data->samples)
        a.data->found.columns = a.data->samples->columns;
    else if (a.data->found.rows)
        a.data->found.columns = shoal_clicks_columns(a.data->rows);
    *out = a.data;
    return SHOAL_OK;
}

shoal_status shoal_data_new(shoal_data **out, const struct shoal_sources *sources)
{
    struct shoal_data *d = mem_array(1, sizeof *d);

    *out = d;
    if (!d)
        return SHOAL_ENOMEM;
    d->at = *sources;
    return SHOAL_OK;
}

void shoal_data_close(shoal_data *d)
{
    if (!d)
        return;
    shoal_corpus_close(d->corpus);
    shoal_vectors_close(d->vectors);
    shoal_clicks_close(d->rows);
    shoal_clicks_close(d->valid_rows);
    shoal_samples_close(d->samples);
    shoal_samples_close(d->valid_samples);
    shoal_images_close(d->images);
    shoal_images_close(d->test_images);
    shoal_labelled_close(d->labelled);
    shoal_labelled_close(d->valid_labelled);
    free(d->inputs);
    free(d);
}

struct shoal_found shoal_data_found(const shoal_data *d)
{
    return d->found;
}

/* ---- By the options of a task ----------------------------------------------------------- */

/* Whether an option says how text becomes words or rows; `skip-bad` also speaks of what is held
 * out. */
static bool is_of_reading(const struct train_opts *opts, size_t at)
{
    bool held = at == offsetof(struct train_opts, rows.skip_bad) && opts->valid_path;

    return at >= offsetof(struct train_opts, encode) && at < offsetof(struct train_opts, samples) &&
           !held;
}

shoal_status shoal_data_check(const shoal_options *o, const char *const *inputs, size_t ninputs)
{
    const struct shoal_task *task = shoal_options_task(o);
    const struct train_opts *opts = options_values(o);
    char kind[32];

    if (opts->resume || ninputs != 1 || !ways[task_find(task->name)->data].encode ||
        !shoal_kind(inputs[0], kind))
        return SHOAL_OK;
    for (const struct shoal_option_group *g = task->groups; g->options; g++)
        for (const struct shoal_option *option = g->options; option->name; option++)
            if (is_of_reading(opts, g->at + option->at) && shoal_options_given(o, option->name))
                return shoal_fail(SHOAL_EINVAL, "--%s does not go with '%s', which is encoded",
                                  option->name, inputs[0]);
    return SHOAL_OK;
}

shoal_status shoal_data_open(shoal_data **out, const shoal_options *o, const char *const *inputs,
                             size_t ninputs, shoal_ranks *ranks, const struct shoal_watch *watch)
{
    struct data_how how = {.kind = task_find(shoal_options_task(o)->name)->data,
                           .opts = options_values(o),
                           .ranks = ranks};
    shoal_status st;

    *out = NULL;
    ranks_watch(ranks, how.opts->silence);
    st = shoal_ranks_agree(ranks, shoal_data_check(o, inputs, ninputs));
    if (watch)
        how.watch = *watch;
    return st == SHOAL_OK ? data_open(out, &how, inputs, ninputs) : st;
}
