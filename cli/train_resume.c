/* Where a run that goes on may write. A checkpoint may be a stranger's, and what it
 * remembers is then a stranger's command: it writes below the folder it is started
 * in, or where this command line says so again. */
#include "train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

static bool stays_here(const char *path)
{
    char *below = strcmp(path, "-") == 0 ? strdup(path) : below_here(path);
    bool stays = below != NULL;

    free(below);
    return stays;
}

/* ---- What is written -------------------------------------------------------------------- */

void writes_add(struct writes *w, const char *option, const char *path, bool again)
{
    if (path && *path && w->n < WRITES_MOST)
        w->at[w->n++] = (struct write){option, path, again};
}

bool writes_elsewhere(const struct writes *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!w->at[i].again && !stays_here(w->at[i].path))
            return true;
    return false;
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

        if (w->at[i].again || !stays_here(w->at[i].path)) {
            all = all && w->at[i].option;
            fprintf(to, " --%s %s", w->at[i].option ? w->at[i].option : "", word);
        }
        free(word);
    }
    if (to && fclose(to) == 0 && all)
        return text;
    free(text);
    return strdup(" --trust");
}

shoal_status writes_allow(const struct writes *w, struct console *c, const char *folder, bool trust)
{
    char *words, *run;
    shoal_status st;
    const char *path = NULL;

    for (size_t i = 0; i < w->n && !path; i++)
        if (!w->at[i].again && !stays_here(w->at[i].path))
            path = w->at[i].path;
    if (trust || !path) {
        say(c, w, folder);
        return SHOAL_OK;
    }
    words = words_needed(w);
    run = shell_word(folder);
    st = shoal_fail(SHOAL_EINVAL,
                    "%s: would write %s, outside of the folder you are in; if you trust this "
                    "checkpoint, go on with: shoal train --resume %s%s",
                    folder, path, run, words ? words : " --trust");
    free(words);
    free(run);
    return st;
}
