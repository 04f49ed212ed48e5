/* A file with what each epoch brought: CSV, or a paragraph for people. */
#include "train/tasks/nextword.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct statistic {
    const char *name;
    double value;
};

enum { COLUMNS = 40 };

static bool is_csv(const char *path)
{
    size_t len = strlen(path);

    return len >= 4 && strcmp(path + len - 4, ".csv") == 0;
}

/* Of the epoch, or of what was held out: what was evaluated comes after what was counted. */
static double figure_of(const struct run *r, enum shoal_figure_of of, const char *name)
{
    double value = shoal_figure(&r->held, of, name);

    return isnan(value) ? shoal_figure(&r->last, of, name) : value;
}

static size_t columns_of(struct statistic c[COLUMNS], const struct nextword *n, const struct run *r)
{
    static const char *const train[8] = {"loss", "mse", "mae", "rmse", "cosine", "word_top1",
                                         "word_top5", "word_top10"};
    static const char *const valid[8] = {"valid_loss", "valid_mse", "valid_mae", "valid_rmse",
                                         "valid_cosine", "valid_word_top1", "valid_word_top5",
                                         "valid_word_top10"};
    double seconds = figure_of(r, SHOAL_OF_RUN, "epoch_seconds");
    const struct statistic rest[] = {
        {"baseline_top1", n->base[0]},
        {"baseline_top5", n->base[1]},
        {"baseline_top10", n->base[2]},
        {"gradient_l2", figure_of(r, SHOAL_OF_RUN, "gradient")},
        {"lr", (double)run_lr(r, run_epoch_units(r) - 1)},
        {"peak_memory_bytes", (double)mem_peak()},
        {"epoch_seconds", seconds},
        {"step_seconds", figure_of(r, SHOAL_OF_RUN, "step_seconds")},
        {"windows_per_second", (double)r->at.sums.examples / seconds},
        {"windows", (double)n->dense->train},
        {"valid_windows", (double)n->dense->valid},
        {"window_length", n->length},
        {"window_width", (double)n->vectors.width},
        {"part_least", figure_of(r, SHOAL_OF_RUN, "part_least")},
        {"part_most", figure_of(r, SHOAL_OF_RUN, "part_most")},
        {"shuffle_moved", figure_of(r, SHOAL_OF_RUN, "shuffled")},
    };
    size_t at = 1;

    c[0] = (struct statistic){"epoch", r->at.epoch + 1};
    for (size_t i = 0; i < 8; i++)
        c[at++] = (struct statistic){train[i], figure_of(r, SHOAL_OF_TRAINING, train[i])};
    for (size_t i = 0; i < 8; i++)
        c[at++] = (struct statistic){valid[i], figure_of(r, SHOAL_OF_VALIDATION, train[i])};
    memcpy(c + at, rest, sizeof rest);
    return at + sizeof rest / sizeof *rest;
}

shoal_status statistics_open(struct nextword *n, bool more)
{
    n->resumed = more;
    return journal_open(&n->statistics, n->opts->statistics, more);
}

static shoal_status put_csv(struct bytes *b, const struct statistic *c, size_t n, bool head)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && head && st == SHOAL_OK; i++)
        st = bytes_print(b, "%s%s", c[i].name, i + 1 < n ? "," : "\n");
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = bytes_print(b, "%.9g%s", c[i].value, i + 1 < n ? "," : "\n");
    return st;
}

static shoal_status put_lines(struct bytes *b, const struct statistic *c, size_t n)
{
    shoal_status st = bytes_print(b, "epoch %.0f\n", c[0].value);

    for (size_t i = 1; i < n && st == SHOAL_OK; i++)
        st = bytes_print(b, "  %-20s %.6g\n", c[i].name, c[i].value);
    return st == SHOAL_OK ? bytes_add(b, "\n", 1) : st;
}

/* A run that was killed may have told of epochs behind its last checkpoint, which come
 * again now: where the first of them begins in the file, or its end. */
static shoal_status forget(struct nextword *n, unsigned epoch)
{
    const char *path = n->opts->statistics;
    uint64_t at = 0, size = journal_size(n->statistics);
    FILE *f = fopen(path, "re");
    char line[2048];
    unsigned seen;

    if (!f)
        return shoal_fail_errno(SHOAL_EIO, "%s", path);
    while (at < size && fgets(line, sizeof line, f)) {
        if (sscanf(line, is_csv(path) ? "%u," : "epoch %u", &seen) == 1 && seen >= epoch)
            break;
        at += strlen(line);
    }
    fclose(f);
    return at < size ? journal_cut(n->statistics, at) : SHOAL_OK;
}

static shoal_status add(struct nextword *n, const struct statistic *c, size_t count)
{
    struct bytes text = {0};
    bool head = journal_size(n->statistics) == 0;
    shoal_status st =
        is_csv(n->opts->statistics) ? put_csv(&text, c, count, head) : put_lines(&text, c, count);

    if (st == SHOAL_OK)
        st = journal_add(n->statistics, text.at, text.len);
    bytes_fini(&text);
    return st;
}

shoal_status statistics_write(struct nextword *n, const struct run *r)
{
    struct statistic c[COLUMNS];
    size_t count = columns_of(c, n, r);
    shoal_status st = SHOAL_OK;

    if (n->resumed && journal_size(n->statistics) > 0)
        st = forget(n, r->at.epoch + 1);
    n->resumed = false;
    return st == SHOAL_OK ? add(n, c, count) : st;
}
