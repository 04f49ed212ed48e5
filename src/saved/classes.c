/* The report of a classifier of many classes: its confusion matrix, and each class's figures. */
#include "saved/kind.h"

#include <stdlib.h>

enum { SHOWN = 30 }; /* classes that fit a screen */

/* [n + 2] columns, for people as long as they fit a screen; names [n]. */
static void confusion_columns(struct shoal_column *columns, char (*names)[9], size_t n,
                              class_namer *name, const void *ctx)
{
    bool shown = n <= SHOWN;

    columns[0] = (struct shoal_column){NULL, shown ? "class" : NULL, -10};
    columns[n + 1] = (struct shoal_column){NULL, shown ? "found" : NULL, 8};
    for (size_t i = 0; i < n; i++) {
        name(ctx, i, names[i], sizeof names[i]);
        columns[i + 1] = (struct shoal_column){"", shown ? names[i] : NULL, 8};
    }
}

shoal_status report_confusion(const struct shoal_reporter *to, const struct classes *c, size_t n,
                              class_namer *name, const void *ctx)
{
    const uint64_t *matrix = classes_matrix(c);
    struct shoal_column *columns = mem_array(n + 2, sizeof *columns);
    char(*names)[9] = mem_array(n, sizeof *names), own[11];
    struct shoal_value *row = mem_array(n + 2, sizeof *row);
    bool room = columns && names && row;

    if (room)
        confusion_columns(columns, names, n, name, ctx);
    for (size_t i = 0; room && matrix && i < n; i++) {
        const struct class_counts *k = &classes_counts(c)[i];

        name(ctx, i, own, sizeof own);
        row[0] = VALUE_TEXT(own);
        for (size_t j = 0; j < n; j++)
            row[j + 1] = VALUE_COUNT(matrix[i * n + j]);
        row[n + 1] = VALUE_SHARE(k->there > 0 ? class_recall(k) : 0);
        report_row(to, &(struct shoal_grid){"confusion", columns, n + 2}, row, 0);
    }
    free(columns);
    free(names);
    free(row);
    return room ? SHOAL_OK : SHOAL_ENOMEM;
}

void report_classes(const struct shoal_reporter *to, const struct classes *c, size_t n,
                    class_namer *name, const void *ctx)
{
    static const struct shoal_column columns[] = {{"class", "class", -10},
                                                  {"rows", "rows", 10},
                                                  {"precision", "precision", 10},
                                                  {"recall", "recall", 8},
                                                  {"f1", "F1", 8}};
    static const struct shoal_grid grid = {"classes", columns, 5};

    for (size_t i = 0; i < n; i++) {
        const struct class_counts *k = &classes_counts(c)[i];
        char own[64];

        name(ctx, i, own, sizeof own);
        report_row(to, &grid,
                   (struct shoal_value[]){VALUE_TEXT(own), VALUE_COUNT(k->there),
                                          VALUE_SHARE(class_precision(k)),
                                          VALUE_SHARE(class_recall(k)), VALUE_SHARE(class_f1(k))},
                   0);
    }
}
