/* Samples: any bytes are refused with a sentence, or are a table of finite numbers
 * whose classes are below their count. The first byte chooses the options; answers of
 * their own stand behind a line `##`. */
#include "fuzz.h"

#include "samples/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void walk(const shoal_samples *s)
{
    require(s->n > 0 && s->inputs > 0 && (s->x || s->bytes));
    for (size_t i = 0; s->x && i < s->n * s->inputs; i++)
        require(isfinite(s->x[i]));
    for (size_t i = 0; s->label && i < s->n; i++)
        require(s->label[i] < s->classes);
    for (size_t i = 0; s->y && i < s->n * s->targets; i++)
        require(isfinite(s->y[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_samples_opts opts = shoal_samples_default();
    struct fuzz_piece rows, answers;
    struct fuzz_cut cut;
    shoal_samples *s = NULL;

    if (size == 0)
        return 0;
    fuzz_begin(size, 192 * MIB, 64);
    opts.task = data[0] % 3;
    opts.table.header = data[0] / 3 % 3;
    opts.table.label = data[0] & 64 ? data[0] & 128 ? "2" : "1" : NULL;
    opts.numbers = data[0] & 8;
    opts.memory_limit = 64 << 20;
    opts.targets = 1 + data[0] / 16 % 3;
    cut = fuzz_cut("##", data + 1, size - 1);
    fuzz_next(&cut, &rows);
    if (fuzz_next(&cut, &answers))
        opts.labels = fuzz_file(fuzz_whole(&answers), answers.padded);
    if (shoal_samples_open(&s, fuzz_file(fuzz_whole(&rows), rows.padded), &opts) == SHOAL_OK)
        walk(s);
    else
        require(s == NULL);
    shoal_samples_close(s);
    if (shoal_samples_open_memory(&s,
                                  &(struct shoal_memory){"rows", fuzz_whole(&rows), rows.padded},
                                  NULL, &opts) == SHOAL_OK)
        walk(s);
    shoal_samples_close(s);
    fuzz_end();
    return 0;
}
