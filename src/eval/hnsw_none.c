/* Where hnswlib was not found. */
#include "eval/hnsw.h"

shoal_status hnsw_there(void)
{
    return shoal_fail(SHOAL_EINVAL, "index: found a build without hnswlib, want libhnswlib-dev "
                                    "installed and `meson setup -Dhnsw=enabled`");
}

shoal_status hnsw_open(struct hnsw **out, const struct hnsw_view *v, unsigned ef_construction)
{
    (void)v;
    (void)ef_construction;
    *out = NULL;
    return hnsw_there();
}

void hnsw_close(struct hnsw *h)
{
    (void)h;
}

shoal_status hnsw_add(struct hnsw *h, uint32_t id)
{
    (void)h;
    (void)id;
    return hnsw_there();
}

uint32_t hnsw_entry(const struct hnsw *h)
{
    (void)h;
    return SHOAL_NO_ID;
}

shoal_status hnsw_search(const struct hnsw *h, const float *unit, size_t ef,
                         struct shoal_hit *hits, size_t *found)
{
    (void)h;
    (void)unit;
    (void)ef;
    (void)hits;
    *found = 0;
    return hnsw_there();
}
