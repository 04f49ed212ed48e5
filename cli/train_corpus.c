/* Where the corpus, or the clicks, of a training job come from. */
#include "train.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANK_MARK "{rank}" /* in names: this rank's number, where each has its own files */
/* In the checkpoint folder. */
#define KEPT_NAME "corpus.shoal"
#define KEPT_OWN "corpus-" RANK_MARK ".shoal"
#define KEPT_CLICKS "clicks.shoal"

/* ---- Paths ---------------------------------------------------------------------- */

static char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *text_of(const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        exit(console_fail("out of memory for a path"));
    va_end(args);
    return text;
}

static const char *job_own(struct job *job, char *path)
{
    assert(job->npaths < JOB_PATHS);
    return job->paths[job->npaths++] = path;
}

const char *job_absolute(struct job *job, const char *path)
{
    char *folder;

    if (!path || path[0] == '/' || strcmp(path, "-") == 0)
        return path;
    folder = getcwd(NULL, 0);
    if (!folder)
        return path;
    path = job_own(job, text_of("%s/%s", folder, path));
    free(folder);
    return path;
}

char *job_absolute_copy(const char *path)
{
    struct job job = {0};

    path = job_absolute(&job, path);
    return job.npaths > 0 ? job.paths[0] : path ? text_of("%s", path) : NULL;
}

void job_fini(struct job *job)
{
    job_unwatch(job);
    shoal_corpus_close(job->corpus);
    shoal_clicks_close(job->clicks);
    shoal_clicks_close(job->valid);
    for (size_t i = 0; i < job->train.nevals; i++)
        shoal_eval_close(job->evals[i]);
    for (size_t i = 0; i < job->npaths; i++)
        free(job->paths[i]);
}

/* "a/b" of "a/b/c", "." of "c" */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return text_of(".");
    return text_of("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

shoal_status job_check_output(const struct job *job)
{
    char *folder = folder_of(job->output);
    enum shoal_format format;
    shoal_status st = SHOAL_OK;

    if (!job_clicks(job))
        st = shoal_save_check(job->output, &job->save, &format);
    else if (strcmp(job->output, "-") == 0)
        st = shoal_fail(SHOAL_EINVAL, "--output is '-', want a file name: a model is mapped, which "
                        "standard output cannot be");

    if (st == SHOAL_OK && is_folder(job->output))
        st = shoal_fail(SHOAL_EINVAL, "%s: is a folder, want a file name", job->output);
    else if (st == SHOAL_OK && strcmp(job->output, "-") != 0 && access(folder, W_OK | X_OK) != 0)
        st = shoal_fail(SHOAL_EIO, "%s: cannot be written: %s: %s", job->output, folder,
                        strerror(errno));
    free(folder);
    return st;
}

/* ---- Ranks ------------------------------------------------------------------------- */

/* Whether this rank writes a corpus; the others then read the first one's. */
static bool writes(const struct job *job)
{
    return job->train.local_input || job_first(job);
}

static const char *kept_path(struct job *job)
{
    return job_own(job, text_of("%s/%s", job->train.checkpoint,
                                job_clicks(job)           ? KEPT_CLICKS
                                : job->train.local_input ? KEPT_OWN
                                                         : KEPT_NAME));
}

/* The name as it is for this rank, for free(). */
static char *own_name(const struct job *job, const char *name)
{
    const char *mark = job->train.local_input ? strstr(name, RANK_MARK) : NULL;

    if (!mark)
        return text_of("%s", name);
    return text_of("%.*s%u%s", (int)(mark - name), name, shoal_ranks_rank(job->ranks),
                   mark + strlen(RANK_MARK));
}

/* ---- Encoding text ----------------------------------------------------------------- */

static void show_text(struct job *job, const struct shoal_encode_stats *stats)
{
    const shoal_vocab *given = job->encode.given;
    bool unk = given ? shoal_vocab_unk(given) != SHOAL_NO_ID : job->encode.vocab.unk;

    console_heading(&job->console, "text");
    report_vocab(&job->console, &stats->vocab, unk);
    if (job_first(job))
        warn_vocab(&job->console, &stats->vocab, &job->encode.vocab);
}

static shoal_status open_data(struct job *job, const char *path)
{
    return job_clicks(job) ? shoal_clicks_open(&job->clicks, path)
                           : shoal_corpus_open(&job->corpus, path);
}

static shoal_status encode_text(struct job *job, const char *path, const char *const *inputs,
                                size_t n)
{
    struct shoal_encode_stats stats = {0};
    shoal_vocab *given = NULL;
    shoal_status st = SHOAL_OK;

    if (job->vocab_path)
        st = shoal_vocab_read(&given, job->vocab_path);
    st = job_agree(job, st);
    if (st == SHOAL_OK) {
        job->encode.given = given;
        job->encode.vocab.watch = console_watch(&job->console);
        st = shoal_ranks_encode(job->ranks, path, inputs, n, &job->encode, job->train.local_input,
                                &stats);
    }
    if (st == SHOAL_OK)
        show_text(job, &stats);
    job->encode.given = NULL;
    shoal_vocab_free(given);
    return st;
}

static shoal_status encode(struct job *job, const char *path, const char *const *inputs, size_t n)
{
    shoal_status st = job_clicks(job) ? job_encode_clicks(job, path, inputs, n)
                                      : encode_text(job, path, inputs, n);

    return st == SHOAL_OK ? job_agree(job, open_data(job, path)) : st;
}

/* Makes an empty file for a corpus, beside the output or, where other ranks may
 * not have that folder, where temporary files go. */
static shoal_status make_temporary(const struct job *job, char path[PATH_MAX])
{
    const char *tmp = getenv("TMPDIR");
    bool beside = strcmp(job->output, "-") != 0 && !job->train.local_input;
    char *folder = beside ? folder_of(job->output) : text_of("%s", tmp && *tmp ? tmp : "/tmp");
    int len = snprintf(path, PATH_MAX, "%s/.corpus-XXXXXX", folder);
    int fd = len < PATH_MAX ? mkostemp(path, O_CLOEXEC) : -1;
    shoal_status st = SHOAL_OK;

    if (fd < 0)
        st = shoal_fail(SHOAL_EIO, "%s: %s", folder, strerror(errno));
    else
        close(fd);
    if (st != SHOAL_OK)
        path[0] = '\0';
    free(folder);
    return st;
}

/* Its name is gone as soon as all have mapped it, so that nothing can be left. */
static shoal_status encode_for_now(struct job *job, const char *const *inputs, size_t n)
{
    char path[PATH_MAX] = "";
    shoal_status st = job_agree(job, writes(job) ? make_temporary(job, path) : SHOAL_OK);

    if (st == SHOAL_OK && !job->train.local_input)
        st = shoal_ranks_share(job->ranks, path, sizeof path);
    if (st == SHOAL_OK)
        st = encode(job, path, inputs, n);
    if (writes(job) && *path)
        unlink(path);
    return st;
}

static shoal_status make_folder(const char *folder, bool *made)
{
    *made = mkdir(folder, 0777) == 0;
    if (*made || errno == EEXIST)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EIO, "%s: cannot make this folder: %s", folder, strerror(errno));
}

static shoal_status encode_to_keep(struct job *job, const char *const *inputs, size_t n)
{
    const char *folder = job->train.checkpoint;
    const char *kept = kept_path(job);
    char *path = own_name(job, kept);
    bool made = false;
    shoal_status st = job_agree(job, writes(job) ? make_folder(folder, &made) : SHOAL_OK);

    if (st == SHOAL_OK)
        st = encode(job, path, inputs, n);
    job->train.corpus = job_absolute(job, kept);
    if (st != SHOAL_OK && made)
        rmdir(folder);
    free(path);
    return st;
}

/* A run that goes on remembers what it remembered. */
static shoal_status encode_again(struct job *job, const char *const *inputs, size_t n)
{
    struct shoal_resume resume = {0};
    shoal_status st = job_agree(job, shoal_resume_read(&resume, job->train.checkpoint));

    if (st == SHOAL_OK && resume.opts.corpus)
        job->train.corpus = job_own(job, text_of("%s", resume.opts.corpus));
    shoal_resume_free(&resume);
    return st == SHOAL_OK ? encode_for_now(job, inputs, n) : st;
}

/* ---- The folder ------------------------------------------------------------------------ */

/* Before the text is encoded: a new run would replace the corpus of the old. */
static shoal_status check_new(const char *folder)
{
    struct shoal_resume old = {0};
    shoal_status st = shoal_resume_read(&old, folder);

    if (st == SHOAL_OK)
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: holds a run at %s; go on with --resume, or name another folder",
                        folder, number_percent(old.progress, 1).text);
    else if (st == SHOAL_ENOENT)
        st = SHOAL_OK;
    shoal_resume_free(&old);
    return st;
}

static shoal_status open_text(struct job *job, const char *const *inputs, size_t n)
{
    shoal_status st = SHOAL_ELIMIT;

    if (!job->train.checkpoint && job_clicks(job))
        st = job_keep_clicks(job, inputs, n);
    if (st != SHOAL_ELIMIT)
        return st;
    if (!job->train.checkpoint)
        return encode_for_now(job, inputs, n);
    if (!job->train.resume)
        return encode_to_keep(job, inputs, n);
    return encode_again(job, inputs, n);
}

/* ---- The corpus -------------------------------------------------------------------------- */

/* Whether the inputs are one corpus; a corpus among others makes no sense. */
static shoal_status look_at(const char *const *inputs, size_t n, bool *encoded)
{
    char kind[32];

    *encoded = false;
    for (size_t i = 0; i < n; i++) {
        if (!shoal_kind(inputs[i], kind))
            continue;
        *encoded = true;
        if (n > 1)
            return shoal_fail(SHOAL_EINVAL, "%s: is encoded, want it to be the only input",
                              inputs[i]);
    }
    return SHOAL_OK;
}

/* `name` is that of the first input, as it is for any rank. */
static shoal_status open_inputs(struct job *job, const char *name, const char *const *inputs,
                                size_t n)
{
    const char *folder = job->train.checkpoint;
    bool encoded;
    shoal_status st = look_at(inputs, n, &encoded);

    if (st == SHOAL_OK && job_first(job) && folder && !job->train.resume)
        st = check_new(folder);
    /* Where the first rank sees a corpus, all open one, or fail to. */
    st = job_agree(job, st);
    if (st == SHOAL_OK)
        st = shoal_ranks_share(job->ranks, &encoded, sizeof encoded);
    if (st != SHOAL_OK)
        return st;
    if (!encoded)
        return open_text(job, inputs, n);
    job->train.corpus = job_absolute(job, name);
    return job_agree(job, open_data(job, inputs[0]));
}

shoal_status job_open_inputs(struct job *job, const char *const *inputs, size_t ninputs)
{
    char **own = console_alloc(ninputs * sizeof *own);
    shoal_status st;

    for (size_t i = 0; i < ninputs; i++)
        own[i] = own_name(job, inputs[i]);
    st = open_inputs(job, inputs[0], (const char *const *)own, ninputs);
    for (size_t i = 0; i < ninputs; i++)
        free(own[i]);
    free(own);
    return st;
}

/* There is one for this rank at this path. */
static bool is_there(const struct job *job, const char *path)
{
    char *own = own_name(job, path ? path : "");
    bool found = access(own, F_OK) == 0;

    free(own);
    return found;
}

static shoal_status open_remembered(struct job *job)
{
    const char *path = job->train.corpus, *folder = job->train.checkpoint;
    shoal_status st;
    char *own;

    if (!path)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: does not say which corpus it was trained on; name it: shoal train "
                          "MODEL CORPUS --resume %s",
                          folder, folder);
    if (!is_there(job, path))
        return shoal_fail(SHOAL_ENOENT, "%s: the corpus of this run is gone: %s", path,
                          strerror(errno));
    own = own_name(job, path);
    st = open_data(job, own);
    free(own);
    return st;
}

/* A folder that was moved with its corpus has it still. */
shoal_status job_open_remembered(struct job *job)
{
    const char *kept = kept_path(job);

    if (!is_there(job, job->train.corpus) && is_there(job, kept))
        job->train.corpus = job_absolute(job, kept);
    return job_agree(job, open_remembered(job));
}
