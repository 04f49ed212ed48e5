/* Samples: any bytes are refused with a sentence, or are a table of finite numbers
 * whose classes are below their count. The first byte chooses the options. */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

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
    char path[] = "/tmp/fuzz-samples-XXXXXX";
    shoal_samples *s = NULL;
    int fd;

    if (size == 0)
        return 0;
    opts.task = data[0] % 3;
    opts.header = data[0] / 3 % 3;
    opts.label = data[0] & 64 ? data[0] / 128 : SHOAL_LAST_COLUMN;
    opts.memory_limit = 64 << 20;
    fd = mkstemp(path);
    require(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1);
    close(fd);
    if (shoal_samples_open(&s, path, &opts) == SHOAL_OK)
        walk(s);
    else
        require(s == NULL);
    shoal_samples_close(s);
    unlink(path);
    return 0;
}
