/* Indexes of vectors: any sections, in a container whose sums are right, are refused with a
 * sentence, or make a graph whose every walk stays within its rows. */
#include "fuzz.h"

#include "eval/eval.h"

enum { ROWS = 64, DIM = 4 };

/* As seeds.py has them. */
static void put_rows(struct table *t)
{
    for (int i = 0; i < ROWS; i++) {
        float *row = t->at + (size_t)i * t->stride;

        row[0] = (float)(i * 7 % 11 - 5);
        row[1] = (float)(i * 5 % 7 - 3);
        row[2] = (float)(i * 3 % 5 - 2);
        row[3] = (float)(i % 3 + 1);
    }
}

static void ask(const shoal_hnsw *x)
{
    struct rows rows = graph_rows(x);
    struct shoal_hit hits[ROWS];
    float unit[16] __attribute__((aligned(64)));
    size_t found;

    for (uint32_t i = 0; i < ROWS; i++) {
        require(rows_unit(&rows, i, unit));
        require(hnsw_search(x->hnsw, unit, 1 + i, hits, &found) == SHOAL_OK);
        require(found >= 1 && found <= 1 + i);
        for (size_t j = 0; j < found; j++)
            require(hits[j].id < ROWS && hits[j].score < 1.01f);
        require(graph_nearest(x, unit, &i, 1, NULL, 0, hits, 5, &found) == SHOAL_OK);
        require(found == 5);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct container *c = NULL;
    struct table t;
    struct rows rows;
    shoal_hnsw *x = NULL;
    const char *file;
    size_t len;

    fuzz_begin(size, 64 * MIB, 64);
    file = fuzz_container(data, size, &len);
    fuzz_begin(len, 64 * MIB, 64);
    require(table_init(&t, "rows", ROWS, DIM) == SHOAL_OK);
    put_rows(&t);
    require(rows_of_table(&rows, &t) == SHOAL_OK);
    if (container_open_copy(&c, &(struct shoal_memory){"fuzz", file, len}) == SHOAL_OK &&
        graph_read(&x, &rows, c) == SHOAL_OK)
        ask(x);
    else
        require(x == NULL && (hnsw_there() != SHOAL_OK || strncmp(shoal_error(), "fuzz", 4) == 0));
    graph_free(x);
    container_close(c);
    table_fini(&t);
    fuzz_end();
    return 0;
}
