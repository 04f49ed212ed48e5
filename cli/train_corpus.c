/* Where the corpus of a training job comes from. */
#include "train.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_NAME "corpus.shoal" /* in the checkpoint folder */

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

void job_fini(struct job *job)
{
    shoal_corpus_close(job->corpus);
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

int job_check_output(const struct job *job)
{
    char *folder = folder_of(job->output);
    enum shoal_format format;
    int code = EXIT_DONE;

    if (shoal_save_check(job->output, &job->save, &format) != SHOAL_OK)
        code = console_fail("%s", shoal_error());
    else if (is_folder(job->output))
        code = console_fail("%s: is a folder, want a file name", job->output);
    else if (strcmp(job->output, "-") != 0 && access(folder, W_OK | X_OK) != 0)
        code = console_fail("%s: cannot be written: %s: %s", job->output, folder, strerror(errno));
    free(folder);
    return code;
}

/* ---- Encoding text ----------------------------------------------------------------- */

static shoal_status encode(struct job *job, const char *path, const char *const *inputs, size_t n)
{
    struct shoal_encode_stats stats = {0};
    shoal_vocab *given = NULL;
    shoal_status st = SHOAL_OK;

    if (job->vocab_path)
        st = shoal_vocab_read(&given, job->vocab_path);
    if (st == SHOAL_OK) {
        job->encode.given = given;
        job->encode.vocab.watch = console_watch(&job->console);
        st = shoal_encode(path, inputs, n, &job->encode, &stats);
    }
    if (st == SHOAL_OK) {
        bool unk = given ? shoal_vocab_unk(given) != SHOAL_NO_ID : job->encode.vocab.unk;

        console_heading(&job->console, "text");
        report_vocab(&job->console, &stats.vocab, unk);
        warn_vocab(&job->console, &stats.vocab, &job->encode.vocab);
        st = shoal_corpus_open(&job->corpus, path);
    }
    job->encode.given = NULL;
    shoal_vocab_free(given);
    return st;
}

/* Its name is gone as soon as it is mapped, so that nothing can be left. */
static int encode_for_now(struct job *job, const char *const *inputs, size_t n)
{
    const char *tmp = getenv("TMPDIR");
    bool out = strcmp(job->output, "-") == 0;
    char *folder = out ? text_of("%s", tmp && *tmp ? tmp : "/tmp") : folder_of(job->output);
    char *path = text_of("%s/.corpus-XXXXXX", folder);
    int fd = mkstemp(path), code;

    if (fd < 0) {
        code = console_fail("%s: %s", folder, strerror(errno));
    } else {
        close(fd);
        code = console_finish(&job->console, encode(job, path, inputs, n));
        unlink(path);
    }
    free(path);
    free(folder);
    return code;
}

static int encode_to_keep(struct job *job, const char *const *inputs, size_t n)
{
    const char *folder = job->train.checkpoint;
    bool made = mkdir(folder, 0777) == 0;
    const char *path;
    int code;

    if (!made && errno != EEXIST)
        return console_fail("%s: cannot make this folder: %s", folder, strerror(errno));
    path = job_own(job, text_of("%s/" KEPT_NAME, folder));
    code = console_finish(&job->console, encode(job, path, inputs, n));
    job->train.corpus = job_absolute(job, path);
    if (code != EXIT_DONE && made)
        rmdir(folder);
    return code;
}

/* A run that goes on remembers what it remembered. */
static int encode_again(struct job *job, const struct shoal_resume *resume,
                        const char *const *inputs, size_t n)
{
    if (resume->opts.corpus)
        job->train.corpus = job_own(job, text_of("%s", resume->opts.corpus));
    return encode_for_now(job, inputs, n);
}

/* ---- The folder ------------------------------------------------------------------------ */

/* Before the text is encoded: a new run would replace the corpus of the old. */
static int check_new(const char *folder)
{
    struct shoal_resume old;
    shoal_status st = shoal_resume_read(&old, folder);
    int code = EXIT_DONE;

    if (st == SHOAL_OK)
        code = console_fail("%s: holds a run at %s; go on with --resume, or name another folder",
                            folder, number_percent(old.progress, 1).text);
    else if (st != SHOAL_ENOENT)
        code = console_fail("%s", shoal_error());
    shoal_resume_free(&old);
    return code;
}

static int open_text(struct job *job, const char *const *inputs, size_t n)
{
    struct shoal_resume resume;
    int code;

    if (!job->train.checkpoint)
        return encode_for_now(job, inputs, n);
    if (!job->train.resume)
        return encode_to_keep(job, inputs, n);
    code = console_finish(&job->console, shoal_resume_read(&resume, job->train.checkpoint));
    if (code == EXIT_DONE)
        code = encode_again(job, &resume, inputs, n);
    shoal_resume_free(&resume);
    return code;
}

/* ---- The corpus -------------------------------------------------------------------------- */

static int open_corpus(struct job *job, const char *path)
{
    int code = console_finish(&job->console, shoal_corpus_open(&job->corpus, path));

    if (code == EXIT_DONE)
        job->train.corpus = job_absolute(job, path);
    return code;
}

int job_open_inputs(struct job *job, const char *const *inputs, size_t ninputs)
{
    char kind[32];
    int code = EXIT_DONE;

    if (job->train.checkpoint && !job->train.resume)
        code = check_new(job->train.checkpoint);
    if (code != EXIT_DONE)
        return code;
    for (size_t i = 0; i < ninputs; i++) {
        if (!shoal_kind(inputs[i], kind))
            continue;
        if (ninputs > 1)
            return console_fail("%s: is encoded, want it to be the only input", inputs[i]);
        return open_corpus(job, inputs[i]);
    }
    return open_text(job, inputs, ninputs);
}

/* A folder that was moved with its corpus has it still. */
int job_open_remembered(struct job *job)
{
    const char *path = job->train.corpus, *folder = job->train.checkpoint;
    const char *kept = job_own(job, text_of("%s/" KEPT_NAME, folder));

    if ((!path || access(path, F_OK) != 0) && access(kept, F_OK) == 0)
        job->train.corpus = path = job_absolute(job, kept);
    if (!path)
        return console_fail("%s: does not say which corpus it was trained on; name it: shoal train "
                            "MODEL CORPUS --resume %s",
                            folder, folder);
    if (access(path, F_OK) != 0)
        return console_fail("%s: the corpus of this run is gone: %s", path, strerror(errno));
    return console_finish(&job->console, shoal_corpus_open(&job->corpus, path));
}
