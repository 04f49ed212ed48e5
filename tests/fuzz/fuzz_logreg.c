/* Click models: any sections, in a container whose sums are right, are refused with a
 * sentence, or make a model that answers with probabilities and knows its largest
 * weights. */
#include "fuzz.h"

#include "saved/linear/logreg.h"

#include <math.h>

static void ask(const shoal_logreg *m)
{
    struct shoal_weight top[8];
    uint32_t slots[8];
    size_t found;
    double p;

    require(m->bits >= 1 && m->bits <= 30);
    require(isfinite((double)m->bias[0]));
    require(shoal_logreg_largest(m, top, 8, &found) == SHOAL_OK);
    require(found == 8 || found == m->n);
    for (size_t i = 0; i < found; i++) {
        slots[i] = top[i].slot;
        require(slots[i] >> m->bits == 0);
        require(i == 0 || fabsf(top[i - 1].weight) >= fabsf(top[i].weight));
        require(!top[i].name || strlen(top[i].name) < 65536);
    }
    p = shoal_logreg_one(m, slots, NULL, found);
    require(p >= 0 && p <= 1);
}

static void ask_many(const shoal_logreg *m)
{
    float p[SHOAL_CLICKS_CLASSES];
    uint32_t slots[8];
    size_t n = 0;
    float all = 0;

    for (; n < 8 && n < m->n; n++)
        slots[n] = m->slot[n];
    logreg_answer(m, slots, NULL, n, p);
    for (unsigned k = 0; k < logreg_outputs(m); k++)
        all += p[k];
    require(isnan(all) || fabsf(all - 1) < 1e-3f);
}

static void look_at_examples(const shoal_logreg *m)
{
    const struct row_examples *e = logreg_examples(m);

    require(e->n <= SHOAL_CLICKS_EXAMPLES && e->text.len <= EXAMPLES_BYTES);
    for (unsigned i = 0; i < e->n; i++)
        require(e->at[i] + strlen(row_example(e, i)) < e->text.len && *row_example(e, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *m = NULL;
    struct container *c;
    const char *file;
    size_t len;

    fuzz_begin(size, 64 * MIB, 64);
    file = fuzz_container(data, size, &len);
    fuzz_begin(len, 4096 * MIB + 16 * MIB, 64); /* 2^30 slots, touched only where weights are */
    if (container_open_copy(&c, &(struct shoal_memory){"fuzz", file, len}) == SHOAL_OK && logreg_read(&m, c) == SHOAL_OK) {
        (logreg_outputs(m) == 1 ? ask : ask_many)(m);
        look_at_examples(m);
    } else
        require(m == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    logreg_close(m);
    fuzz_end();
    return 0;
}
