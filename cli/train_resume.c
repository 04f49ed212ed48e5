/* Where a run that goes on may write. A checkpoint may be a stranger's, and what it
 * remembers is then a stranger's command: it writes below the folder it is started
 * in, or where this command line says so again. */
#include "train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Paths ---------------------------------------------------------------------------- */

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

/* Why a stranger may not write there, or NULL. Hidden files are what shells and other
 * programs obey. */
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

void writes_add(struct writes *w, const char *option, const char *path, bool again)
{
    if (!path || !*path)
        return;
    if (w->n < WRITES_MOST)
        w->at[w->n++] = (struct write){option, path, again};
    else
        w->over = true;
}

bool writes_elsewhere(const struct writes *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!w->at[i].again && refusal(w->at[i].path))
            return true;
    return w->over;
}

bool job_writes_elsewhere(const struct job *job)
{
    struct writes w = {.n = 0};

    writes_add(&w, "output", job->output, false);
    writes_add(&w, "metrics", job->train.metrics, false);
    writes_add(&w, NULL, job->train.publish, false);
    writes_add(&w, NULL, job->statistics, false);
    return writes_elsewhere(&w);
}

/* "it writes x.bin, m.jsonl, and its checkpoints in run" */
static void say(struct console *c, const struct writes *w, const char *folder)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);

    for (size_t i = 0; to && i < w->n; i++) {
        char *below = strcmp(w->at[i].path, "-") == 0 ? NULL : below_here(w->at[i].path);

        fprintf(to, "%s, ", below ? below : w->at[i].path);
        free(below);
    }
    if (to && fclose(to) == 0)
        console_log(c, STYLE_PLAIN, "it writes %sand its checkpoints in %s", text, folder);
    free(text);
}

/* " --output /data/x.bin --metrics /data/m.jsonl": what was named again and what must
 * be; or " --trust" where there is no such option. */
static char *words_needed(const struct writes *w)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    bool all = true;

    for (size_t i = 0; to && i < w->n; i++) {
        char *word = shell_word(w->at[i].path);

        if (w->at[i].again || refusal(w->at[i].path)) {
            all = all && w->at[i].option;
            fprintf(to, " --%s %s", w->at[i].option ? w->at[i].option : "", word);
        }
        free(word);
    }
    if (to && fclose(to) == 0 && all && !w->over)
        return text;
    free(text);
    return strdup(" --trust");
}

shoal_status writes_allow(const struct writes *w, struct console *c, const char *folder, bool trust)
{
    char *words, *run;
    shoal_status st;
    const char *path = w->over ? "more files than a run has" : NULL, *why = "of all kinds";

    for (size_t i = 0; i < w->n && !path; i++)
        if (!w->at[i].again && (why = refusal(w->at[i].path)))
            path = w->at[i].path;
    if (trust || !path) {
        say(c, w, folder);
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
