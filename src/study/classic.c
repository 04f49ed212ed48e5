/* The driver of the classics: their commands, in order, and what became of them.
 *
 * The folder holds classic.txt (which classic it is), runs/STEP (metrics.jsonl, log.txt, and
 * command.txt once it ended well), data, kept models, and what a report writes. A classic that
 * goes on passes over the steps whose command.txt says what would be run, up to the first that
 * does not: those behind it may depend on what that one makes. */
#include "study/classic.h"

#include "file/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MOST = 1 << 20 };

static const struct classic *const classics[] = {&classic_cbow, &classic_classifier,
                                                 &classic_clicks, &classic_nextword, &classic_vgg};

enum { CLASSICS = sizeof classics / sizeof *classics };

bool shoal_classic_at(size_t i, struct shoal_classic_about *about)
{
    if (i >= CLASSICS)
        return false;
    *about =
        (struct shoal_classic_about){classics[i]->name, classics[i]->summary, classics[i]->takes};
    return true;
}

/* ---- paths ---- */

char *classic_path(const shoal_classic *c, const char *name)
{
    struct prose t = {0};
    char *path;

    prose_add(&t, "%s/%s", c->folder, name);
    return prose_take(&t, &path) == SHOAL_OK ? path : NULL;
}

/* "FOLDER/runs/weak-2/metrics.jsonl", for free(). */
static char *step_file(const shoal_classic *c, const struct step *s, const char *name)
{
    char file[96];

    snprintf(file, sizeof file, "runs/%s%s%s", s->folder, *name ? "/" : "", name);
    return classic_path(c, file);
}

/* ---- planning ---- */

static struct step *last_step(shoal_classic *c)
{
    assert(c->nsteps > 0);
    return &c->steps[c->nsteps - 1];
}

/* A folder of its own: the group, its number there. */
static void name_folder(const shoal_classic *c, struct step *s, const char *group)
{
    unsigned number = 1;

    for (size_t i = 0; &c->steps[i] < s; i++)
        number += strcmp(c->steps[i].group, group) == 0;
    snprintf(s->folder, sizeof s->folder, "%s-%u", group, number);
}

struct step *step_add(shoal_classic *c, const char *group, double key, const char *name, ...)
{
    struct step *s = &c->steps[c->nsteps];
    va_list args;

    assert(c->nsteps < STEPS_MOST);
    c->nsteps++;
    snprintf(s->group, sizeof s->group, "%s", group);
    s->key = key;
    s->whole = (double)NAN;
    va_start(args, name);
    number_vprint(s->name, sizeof s->name, name, args);
    va_end(args);
    name_folder(c, s, group);
    return s;
}

static void add_word(shoal_classic *c, const char *word, size_t len)
{
    struct bytes *b = &last_step(c)->words.bytes;

    if (c->status == SHOAL_OK)
        c->status = bytes_add(b, word, len);
    if (c->status == SHOAL_OK)
        c->status = bytes_add(b, "", 1);
}

void step_word(shoal_classic *c, const char *word)
{
    add_word(c, word, strlen(word));
}

void step_words(shoal_classic *c, const char *fmt, ...)
{
    char text[512];
    const char *at = text;
    va_list args;

    va_start(args, fmt);
    number_vprint(text, sizeof text, fmt, args);
    va_end(args);
    while (*(at += strspn(at, " "))) {
        size_t len = strcspn(at, " ");

        add_word(c, at, len);
        at += len;
    }
}

static void add_path(shoal_classic *c, char *path)
{
    if (!path && c->status == SHOAL_OK)
        c->status = SHOAL_ENOMEM;
    if (path)
        add_word(c, path, strlen(path));
    free(path);
}

/* A name that begins like an option would be taken for one. */
void step_path(shoal_classic *c, const char *name)
{
    struct prose t = {0};
    char *path = NULL;

    if (name) {
        add_path(c, classic_path(c, name));
        return;
    }
    prose_add(&t, "%s%s", c->data[0] == '-' ? "./" : "", c->data);
    add_path(c, prose_take(&t, &path) == SHOAL_OK ? path : NULL);
}

void step_train(shoal_classic *c, const char *task, unsigned workers, unsigned servers,
                const char *model)
{
    struct step *s = last_step(c);

    s->keeps = model != NULL;
    step_words(c, "train %s --quiet --threads 1", task);
    if (workers + servers > 1)
        step_words(c, "--ranks %u", workers + servers);
    if (servers > 0)
        step_words(c, "--servers %u", servers);
    step_words(c, "--metrics");
    add_path(c, step_file(c, s, "metrics.jsonl"));
    step_words(c, "--output");
    if (model)
        step_path(c, model);
    else
        add_path(c, step_file(c, s, "model.shoal"));
}

bool step_has(const char *task, const char *option)
{
    const struct shoal_task *t = shoal_task_find(task);
    const struct shoal_option_group *g = t ? t->groups : NULL;

    for (; g && g->options; g++)
        for (const struct shoal_option *o = g->options; o->name; o++)
            if (strcmp(o->name, option) == 0)
                return true;
    return false;
}

/* ---- opening ---- */

static const struct classic *find_classic(const char *name)
{
    for (size_t i = 0; i < CLASSICS; i++)
        if (strcmp(classics[i]->name, name) == 0)
            return classics[i];
    shoal_fail(SHOAL_EINVAL, "classic: found '%s', want cbow, classifier, clicks, nextword or vgg",
               name);
    return NULL;
}

/* What classic.txt holds: the same again goes on, anything else is another. */
static shoal_status describe_classic(char **text, const shoal_classic *c)
{
    struct prose t = {0};

    prose_add(&t, "classic %s, %s, data %s\n", c->is->name, c->quick ? "quick" : "full",
              c->data ? c->data : "generated");
    return prose_take(&t, text);
}

static bool folder_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool empty = true;

    while (dir && empty && (entry = readdir(dir)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir)
        closedir(dir);
    return empty;
}

static shoal_status claim_folder(const shoal_classic *c)
{
    char *mine = NULL, *there = NULL, *path = classic_path(c, "classic.txt");
    size_t len = 0;
    shoal_status st = path ? describe_classic(&mine, c) : SHOAL_ENOMEM;

    if (st == SHOAL_OK && access(path, F_OK) == 0) {
        st = stream_slurp(&there, &len, path, TEXT_MOST);
        if (st == SHOAL_OK && (len != strlen(mine) || memcmp(there, mine, len) != 0))
            st = shoal_fail(SHOAL_EINVAL, "%s: found a %.*s, want the same or another folder",
                            c->folder, (int)strcspn(there, "\n"), there);
    } else if (st == SHOAL_OK && !folder_empty(c->folder)) {
        st = shoal_fail(SHOAL_EINVAL, "%s: found files of something else, want a new folder",
                        c->folder);
    } else if (st == SHOAL_OK) {
        struct prose t = {0};

        prose_add(&t, "%s", mine);
        st = prose_write(&t, path);
        prose_fini(&t);
    }
    free(mine);
    free(there);
    free(path);
    return st;
}

static shoal_status lock_folder(shoal_classic *c)
{
    if (mkdir(c->folder, 0777) != 0 && errno != EEXIST)
        return shoal_fail_errno(SHOAL_EIO, "%s", c->folder);
    c->lock = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock < 0)
        return shoal_fail_errno(SHOAL_EIO, "%s", c->folder);
    if (flock(c->lock, LOCK_EX | LOCK_NB) != 0)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: found a classic that runs there now, want its end or another folder",
                          c->folder);
    return SHOAL_OK;
}

static shoal_status check_data(const char *data)
{
    return !data || access(data, R_OK) == 0 ? SHOAL_OK : shoal_fail_errno(SHOAL_ENOENT, "%s", data);
}

shoal_status shoal_classic_open(shoal_classic **out, const char *folder,
                                const struct shoal_classic_opts *opts)
{
    const struct classic *is = find_classic(opts->name);
    shoal_classic *c = NULL;
    shoal_status st = is ? check_data(opts->data) : SHOAL_EINVAL;

    *out = NULL;
    if (st == SHOAL_OK)
        st = (c = mem_array(1, sizeof *c)) ? SHOAL_OK : SHOAL_ENOMEM;
    if (st != SHOAL_OK)
        return st;
    *c = (shoal_classic){.is = is, .quick = opts->quick, .vector = opts->vector, .lock = -1};
    c->folder = strdup(folder);
    c->data = opts->data ? strdup(opts->data) : NULL;
    if (!c->folder || (opts->data && !c->data))
        st = shoal_fail(SHOAL_ENOMEM, "classic: no memory for its names");
    if (st == SHOAL_OK)
        st = lock_folder(c);
    if (st == SHOAL_OK)
        st = claim_folder(c);
    if (st == SHOAL_OK) {
        is->plan(c);
        st = c->status;
    }
    if (st == SHOAL_OK)
        *out = c;
    else
        shoal_classic_close(c);
    return st;
}

void shoal_classic_close(shoal_classic *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nsteps; i++) {
        prose_fini(&c->steps[i].words);
        lines_free(c->steps[i].lines);
        shoal_run_free(c->steps[i].run);
    }
    prose_fini(&c->place);
    if (c->lock >= 0)
        close(c->lock);
    free(c->argv);
    free(c->folder);
    free(c->data);
    free(c);
}

size_t shoal_classic_runs(const shoal_classic *c)
{
    return c->nsteps;
}

size_t shoal_classic_finished(const shoal_classic *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->nsteps; i++)
        n += c->steps[i].state != RUN_OPEN;
    return n;
}

/* ---- running ---- */

/* The command as a line for people, who may copy it into a shell. */
static void command_text(struct prose *t, const struct step *s)
{
    const char *at = s->words.bytes.at, *end = at + s->words.bytes.len;

    prose_add(t, "shoal");
    for (; at < end; at += strlen(at) + 1)
        prose_add(t, strpbrk(at, " \t\n'\"\\$*?&;|<>()#") ? " '%s'" : " %s", at);
    prose_add(t, "\n");
}

static bool file_is(const char *path, const char *text)
{
    char *there = NULL;
    size_t len = 0;
    bool same = access(path, F_OK) == 0 &&
                stream_slurp(&there, &len, path, TEXT_MOST) == SHOAL_OK && len == strlen(text) &&
                memcmp(there, text, len) == 0;

    free(there);
    return same;
}

/* Whether the same command ended well before. */
static bool ran_before(const shoal_classic *c, const struct step *s)
{
    struct prose t = {0};
    char *path = step_file(c, s, "command.txt"), *text = NULL;
    bool same;

    command_text(&t, s);
    same = prose_take(&t, &text) == SHOAL_OK && path && file_is(path, text);
    free(path);
    free(text);
    return same;
}

static bool has_metrics(const struct step *s)
{
    const char *at = s->words.bytes.at, *end = at + s->words.bytes.len;

    for (; at < end; at += strlen(at) + 1)
        if (strcmp(at, "--metrics") == 0)
            return true;
    return false;
}

static void step_fail(struct step *s, const char *why)
{
    s->state = RUN_FAILED;
    snprintf(s->failure, sizeof s->failure, "%s", why);
}

/* It ended well: its metrics are read, if it has some. */
static void step_take(const shoal_classic *c, struct step *s)
{
    char *path = has_metrics(s) ? step_file(c, s, "metrics.jsonl") : NULL;
    shoal_status st = SHOAL_OK;

    s->state = RUN_DONE;
    if (path)
        st = lines_read(&s->lines, path);
    if (path && st == SHOAL_OK)
        st = shoal_run_read(&s->run, path);
    if (st != SHOAL_OK)
        step_fail(s, shoal_error());
    free(path);
}

static shoal_status make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? SHOAL_OK
                                                     : shoal_fail_errno(SHOAL_EIO, "%s", path);
}

/* The words as a program takes them, and the folder of the step, made. */
static shoal_status step_ready(shoal_classic *c, const struct step *s)
{
    const char *at = s->words.bytes.at, *end = at + s->words.bytes.len;
    char *runs = classic_path(c, "runs"), *place = step_file(c, s, "");
    shoal_status st = runs && place ? make_folder(runs) : SHOAL_ENOMEM;
    size_t n = 0;

    if (st == SHOAL_OK)
        st = make_folder(place);
    prose_fini(&c->place);
    c->place = (struct prose){0};
    if (st == SHOAL_OK) {
        prose_add(&c->place, "%s", place);
        st = c->place.status;
    }
    free(c->argv);
    c->argv = mem_array(s->words.bytes.len + 1, sizeof *c->argv);
    if (!c->argv)
        st = SHOAL_ENOMEM;
    for (; st == SHOAL_OK && at < end; at += strlen(at) + 1)
        c->argv[n++] = (char *)(uintptr_t)at;
    free(runs);
    free(place);
    return st;
}

static size_t count_words(char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

bool shoal_classic_next(shoal_classic *c, struct shoal_study_run *run, shoal_status *st)
{
    for (size_t i = 0; i < c->nsteps; i++) {
        struct step *s = &c->steps[i];

        if (s->state != RUN_OPEN)
            continue;
        if (!c->again && ran_before(c, s)) {
            step_take(c, s);
            continue;
        }
        c->again = true;
        *st = step_ready(c, s);
        if (*st != SHOAL_OK)
            return false;
        *run = (struct shoal_study_run){.number = i,
                                        .repeat = !s->prepares,
                                        .words = c->argv,
                                        .nwords = count_words(c->argv),
                                        .folder = c->place.bytes.at};
        snprintf(run->name, sizeof run->name, "%s", s->name);
        return true;
    }
    return false;
}

/* That it ended well is remembered; a model that nobody asked for is not kept. */
static shoal_status step_remember(const shoal_classic *c, const struct step *s)
{
    struct prose t = {0};
    char *model = step_file(c, s, "model.shoal"), *path = step_file(c, s, "command.txt");
    shoal_status st = SHOAL_ENOMEM;

    if (model && !s->keeps)
        unlink(model);
    command_text(&t, s);
    if (path)
        st = prose_write(&t, path);
    prose_fini(&t);
    free(model);
    free(path);
    return st;
}

shoal_status shoal_classic_ended(shoal_classic *c, size_t number, double whole_seconds,
                                 const char *failure)
{
    struct step *s = &c->steps[number];

    assert(number < c->nsteps);
    s->whole = whole_seconds;
    if (failure)
        step_fail(s, failure);
    else
        step_take(c, s);
    if (s->state == RUN_FAILED && s->prepares)
        return shoal_fail(SHOAL_EINVAL, "classic %s: %s failed: %s", c->is->name, s->name,
                          s->failure);
    return s->state == RUN_DONE ? step_remember(c, s) : SHOAL_OK;
}

void shoal_classic_progress(char text[128], const shoal_classic *c, size_t number)
{
    char *path = step_file(c, &c->steps[number], "metrics.jsonl");
    struct lines *l = NULL;
    size_t n;

    text[0] = '\0';
    if (path && access(path, R_OK) == 0 && lines_read(&l, path) == SHOAL_OK &&
        (n = lines_count(l, NULL)) > 0 && isfinite(lines_number(l, NULL, n - 1, "progress")))
        number_print(text, 128, "%.0f %%, loss %s", 100 * lines_number(l, NULL, n - 1, "progress"),
                     number_plain(lines_number(l, NULL, n - 1, "train.loss")).text);
    lines_free(l);
    free(path);
}

/* ---- what became of it ---- */

static const struct step *step_next(const shoal_classic *c, const char *group, size_t *at)
{
    for (; *at < c->nsteps; ++*at)
        if (c->steps[*at].state == RUN_DONE && strcmp(c->steps[*at].group, group) == 0)
            return &c->steps[(*at)++];
    return NULL;
}

const struct step *step_of(const shoal_classic *c, const char *group, size_t i)
{
    const struct step *s;
    size_t at = 0;

    while ((s = step_next(c, group, &at)) != NULL && i > 0)
        i--;
    return s;
}

const struct step *step_with(const shoal_classic *c, const char *group, double key, double key2)
{
    const struct step *s, *best = NULL;
    size_t at = 0;

    while ((s = step_next(c, group, &at)) != NULL)
        if (s->key == key && s->key2 == key2 &&
            (!best || step_measures(s).seconds < step_measures(best).seconds))
            best = s;
    return best;
}

struct shoal_measures step_measures(const struct step *s)
{
    return s && s->run ? shoal_run_measures(s->run, (double)NAN) : measures_unknown();
}

double step_last(const struct step *s, const char *event, const char *path)
{
    return s ? lines_last(s->lines, event, path) : (double)NAN;
}

/* ---- reports ---- */

#define LINE "%-28s %10s %18s %9s %9s %s"

void shoal_classic_line(char text[256], const shoal_classic *c, size_t number)
{
    const struct step *s = number < c->nsteps ? &c->steps[number] : NULL;
    struct shoal_measures m = step_measures(s);
    char rate[48];

    text[0] = '\0';
    if (number == SIZE_MAX)
        snprintf(text, 256, LINE, "run", "time", "rate", "loss", "quality", "");
    if (!s || s->prepares || !s->run || s->state != RUN_DONE)
        return;
    number_print(rate, sizeof rate, "%s %.8s/s", number_short(m.rate).text, m.unit);
    number_print(text, 256, LINE, s->name, number_time(m.seconds).text, rate,
                 number_plain(m.loss).text, number_plain(m.quality).text, m.quality_name);
}

static shoal_status tell(struct book **out, const shoal_classic *c)
{
    struct book *b = book_new();
    shoal_status st = b ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        c->is->tell(b, c);
        st = book_status(b);
    }
    if (st == SHOAL_OK)
        *out = b;
    else
        book_free(b);
    return st;
}

shoal_status shoal_classic_text(char **text, const shoal_classic *c)
{
    struct prose t = {0};
    struct book *b = NULL;
    shoal_status st = tell(&b, c);

    *text = NULL;
    if (st == SHOAL_OK) {
        book_text(&t, b);
        st = prose_take(&t, text);
    }
    book_free(b);
    return st;
}

static void readme_runs(struct prose *t, const shoal_classic *c)
{
    prose_add(t,
              "## What was run\n\n%s\n\nThe commands, in their order; what each said is in "
              "`runs/`:\n\n```\n",
              c->is->experiment);
    for (size_t i = 0; i < c->nsteps; i++) {
        prose_add(t, "# %s%s%s\n", c->steps[i].name,
                  c->steps[i].state == RUN_FAILED ? ", failed: " : "",
                  c->steps[i].state == RUN_FAILED ? c->steps[i].failure : "");
        command_text(t, &c->steps[i]);
    }
    prose_add(t, "```\n\n");
}

static shoal_status write_readme(const shoal_classic *c, const struct book *b, const char *machine)
{
    struct prose t = {0};
    shoal_status st;

    prose_add(&t, "# Classic: %s\n\n%s, %s, with shoal %s on %s.\n\n", c->is->name, c->is->summary,
              c->quick ? "in its quick form" : "whole", shoal_version(), machine);
    prose_add(&t, "`report.html` shows all of it, `tables/` has each table as text and CSV, "
                  "`figures/` each picture as SVG and PNG.\n\n## Results\n\n```\n");
    book_text(&t, b);
    prose_add(&t, "```\n\n");
    readme_runs(&t, c);
    prose_add(&t,
              "## How to change it\n\n%s\n\nThe same command passes over what is done already; "
              "remove the folder to run all anew.%s\n",
              c->is->change,
              c->quick ? " This is the quick form: without `--quick` data and runs are those of "
                         "the experiment."
                       : "");
    st = prose_write_in(&t, c->folder, "README.md");
    prose_fini(&t);
    return st;
}

shoal_status shoal_classic_report(const shoal_classic *c)
{
    char machine[256], title[192];
    struct book *b = NULL;
    shoal_status st = tell(&b, c);

    machine_describe(machine);
    snprintf(title, sizeof title, "Classic %s: %s%s", c->is->name, c->is->summary,
             c->quick ? ", quick" : "");
    if (st == SHOAL_OK)
        st = write_readme(c, b, machine);
    if (st == SHOAL_OK)
        st = book_write(b, c->folder, title, machine);
    book_free(b);
    return st;
}

shoal_status shoal_classic_check(const shoal_classic *c)
{
    struct prose t = {0};
    size_t failed = 0;
    char *names = NULL;
    shoal_status st;

    for (size_t i = 0; i < c->nsteps; i++)
        if (c->steps[i].state == RUN_FAILED)
            prose_add(&t, "%s%s (%s)", failed++ ? "; " : "", c->steps[i].name, c->steps[i].failure);
    if (failed == 0) {
        prose_fini(&t);
        return SHOAL_OK;
    }
    st = prose_take(&t, &names);
    if (st == SHOAL_OK)
        st = shoal_fail(SHOAL_EINVAL, "classic %s: %zu of %zu runs failed: %.300s", c->is->name,
                        failed, c->nsteps, names);
    free(names);
    return st;
}
