/* Where a run that goes on may write. A checkpoint remembers the files of its run, and may come
 * from a stranger, who could so have anything overwritten. Without a word of the user a resumed
 * run therefore writes only to plain files below the current folder; any other path must be named
 * again on the command line, or be trusted by --trust. */
#include "train.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Paths ------------------------------------------------------------------------------ */

/* The path that writing to this one comes to, links and .. resolved, of a file that
 * need not be there; for free(). NULL: its folder is not there, or it is a link to
 * what is not. */
static char *resolve(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *whole = realpath(path, NULL), *folder, *real, *out = NULL, link;

    if (whole || errno != ENOENT || !*name || strcmp(name, "..") == 0 ||
        readlink(path, &link, 1) >= 0)
        return whole;
    folder = strndup(slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
    real = folder ? realpath(folder, NULL) : NULL;
    if (real && asprintf(&out, "%s/%s", strcmp(real, "/") ? real : "", name) < 0)
        out = NULL;
    free(folder);
    free(real);
    return out;
}

/* What of `path` lies below the current folder; NULL: it lies elsewhere. */
static char *below_here(const char *path)
{
    char *here = realpath(".", NULL), *real = resolve(path), *out = NULL;
    size_t len = here && strcmp(here, "/") ? strlen(here) : 0;

    if (here && real && strncmp(real, here, len) == 0 && real[len] == '/')
        out = strdup(real + len + 1);
    free(here);
    free(real);
    return out;
}

/* A file with other names is written under all of them. */
static bool has_other_names(const char *path)
{
    struct stat there;

    return lstat(path, &there) == 0 && S_ISREG(there.st_mode) && there.st_nlink > 1;
}

/* Some outputs have a second file: words, or metrics that nobody named. It must not
 * lead elsewhere either. */
static bool leads_away(const char *path)
{
    static const char *const endings[] = {".vocab", ".metrics.jsonl"};
    bool away = false;

    for (size_t i = 0; i < sizeof endings / sizeof *endings && !away; i++) {
        struct stat there;
        char *beside = NULL;

        if (asprintf(&beside, "%s%s", path, endings[i]) < 0)
            return true;
        away = lstat(beside, &there) == 0 && (!S_ISREG(there.st_mode) || there.st_nlink > 1);
        free(beside);
    }
    return away;
}

/* Why a stranger may not write there, or NULL. Hidden files are among them: shells and other
 * programs run or read many of those. */
static const char *refusal(const char *path)
{
    char *real = strcmp(path, "-") ? resolve(path) : NULL, *below = real ? below_here(path) : NULL;
    const char *why = NULL;

    if (strcmp(path, "-") == 0)
        return NULL;
    if (!real)
        why = "whose folder is not there";
    else if (!below)
        why = "outside of the folder you are in";
    else if (*below == '.' || strstr(below, "/."))
        why = "which is hidden";
    else if (has_other_names(real))
        why = "which has other names";
    else if (leads_away(real))
        why = "beside which a link leads elsewhere";
    free(real);
    free(below);
    return why;
}

/* ---- What is written -------------------------------------------------------------------- */

void writes_note(struct writes *writes, const struct job *job)
{
    struct option_walk w = {0};

    while (option_next(job->task->groups, &w)) {
        const char *path = w.opt->written ? job_value(job, w.opt->name) : NULL;

        if (!w.opt->written || strcmp(w.opt->name, "checkpoint") == 0)
            continue;
        assert(writes->n < WRITES_MOST);
        writes->at[writes->n++] =
            (struct write){.option = w.opt->name, .path = path ? strdup(path) : NULL};
    }
}

/* Whether --config names it, be it the same as before. */
static bool named_in_file(const struct job *job, const char *option)
{
    const char *path = job->cmd->config;
    shoal_options *file = NULL;
    bool named = path && shoal_options_new(&file, job->task->name) == SHOAL_OK &&
                 shoal_options_read(file, path) == SHOAL_OK && shoal_options_given(file, option);

    shoal_options_free(file);
    return named;
}

void writes_again(struct writes *w, const struct job *job)
{
    for (struct write *at = w->at; at < w->at + w->n; at++) {
        const char *path = job_value(job, at->option);
        bool same = path && at->path && strcmp(path, at->path) == 0;

        at->again =
            !same || opts_given(job->cmd->parsed, at->option) || named_in_file(job, at->option);
        free(at->path);
        at->path = path ? strdup(path) : NULL;
    }
}

void writes_fini(struct writes *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->at[i].path);
}

/* Why this one may not be written without a word, or NULL. */
static const char *why_not(const struct write *w)
{
    return w->path && !w->again ? refusal(w->path) : NULL;
}

bool writes_refused(const struct writes *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (why_not(&w->at[i]))
            return true;
    return false;
}

/* "it writes x.bin, m.jsonl, and its checkpoints in run" */
static void say(struct console *c, const struct writes *w, const char *folder)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);

    for (size_t i = 0; to && i < w->n; i++) {
        const char *path = w->at[i].path;
        char *below = path && strcmp(path, "-") ? below_here(path) : NULL;

        if (path)
            fprintf(to, "%s, ", below ? below : path);
        free(below);
    }
    if (to && fclose(to) == 0)
        console_log(c, STYLE_PLAIN, "it writes %sand its checkpoints in %s", text, folder);
    free(text);
}

/* " --output /data/x.bin --metrics /data/m.jsonl": what was named again and what must be. */
static char *words_needed(const struct writes *w)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);

    for (size_t i = 0; to && i < w->n; i++) {
        const struct write *at = &w->at[i];
        char *word = at->path && (at->again || why_not(at)) ? shell_word(at->path) : NULL;

        if (word)
            fprintf(to, " --%s %s", at->option, word);
        free(word);
    }
    if (to && fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

shoal_status writes_allow(const struct writes *w, struct job *job)
{
    const char *folder = job->folder, *path = NULL, *why = NULL;
    char *words, *run;
    shoal_status st;

    for (size_t i = 0; i < w->n && !why; i++) {
        why = why_not(&w->at[i]);
        path = w->at[i].path;
    }
    if (job->cmd->trust || !why) {
        say(&job->console, w, folder);
        return SHOAL_OK;
    }
    words = words_needed(w);
    run = shell_word(folder);
    st = shoal_fail(SHOAL_EINVAL,
                    "%s: would write %s, %s; if you trust this checkpoint, go on with: shoal "
                    "train --resume %s%s",
                    folder, path, why, run, words ? words : " --trust");
    free(words);
    free(run);
    return st;
}
