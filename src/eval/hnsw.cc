// The only file that knows hnswlib, and the only one in C++: exceptions end here.
//
// hnswlib's class is used for what it does well, searching a layer and choosing links
// (searchBaseLayer, searchBaseLayerST, mutuallyConnectNewElement). Memory, levels and the way from
// the top to a node's level are ours, because its addPoint draws levels from a generator that
// threads share, reads the entry without its lock, and keeps a map of labels; its searchKnn counts
// in atomics that threads share. Here a node's number is its row's, and its level is given.
#include "eval/hnsw.h"

#include <hnswlib/hnswlib.h>

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

using hnswlib::tableint;

namespace {

struct measure {
    float (*dot)(const float *, const float *, size_t);
    size_t width;
};

float apart(const void *x, const void *y, const void *how)
{
    const measure *m = static_cast<const measure *>(how);

    return 1 - m->dot(static_cast<const float *>(x), static_cast<const float *>(y), m->width);
}

} // namespace

struct hnsw : hnswlib::HierarchicalNSW<float> {
    hnsw(const hnsw_view &v, unsigned ef_construction);
    ~hnsw();
    void add(tableint id);
    size_t search(const float *unit, size_t ef, shoal_hit *hits) const;

  private:
    tableint descend(tableint from, const void *x, int top, int level) const;
    tableint descend_locked(tableint from, const void *x, int top, int level);
    bool step(tableint *at, float *dist, const void *x, int level) const;

    measure how_;
    std::unique_ptr<hnswlib::VisitedListPool> pool_;
};

// The base's destructor ends nothing of the caller's.
hnsw::hnsw(const hnsw_view &v, unsigned ef_construction)
    : HierarchicalNSW(nullptr), how_{v.dot, v.links_at / sizeof(float)} // padded: no tail to add
{
    // Until all below is whole, the base's destructor must find nothing.
    cur_element_count = 0;
    data_level0_memory_ = nullptr;
    linkLists_ = nullptr;
    visited_list_pool_ = nullptr;

    max_elements_ = v.n;
    size_data_per_element_ = v.element;
    offsetData_ = 0;
    offsetLevel0_ = v.links_at;
    label_offset_ = 0;
    num_deleted_ = 0;
    M_ = maxM_ = v.m;
    maxM0_ = 2 * static_cast<size_t>(v.m);
    size_links_per_element_ = hnsw_list_bytes(maxM_);
    size_links_level0_ = hnsw_list_bytes(maxM0_);
    ef_construction_ = ef_construction > v.m ? ef_construction : v.m;
    ef_ = 0;
    mult_ = revSize_ = 0;
    data_size_ = v.dim * sizeof(float);
    fstdistfunc_ = apart;
    dist_func_param_ = &how_;
    enterpoint_node_ = v.entry;
    maxlevel_ = v.entry == SHOAL_NO_ID ? -1 : v.levels[v.entry];
    if (ef_construction > 0) {
        std::vector<std::mutex>(v.n).swap(link_list_locks_);
        element_levels_.assign(v.levels, v.levels + v.n);
    }
    pool_.reset(new hnswlib::VisitedListPool(1, static_cast<int>(v.n)));
    visited_list_pool_ = pool_.get();
    data_level0_memory_ = v.elements;
    linkLists_ = v.lists;
}

hnsw::~hnsw()
{
    cur_element_count = 0;
    data_level0_memory_ = nullptr;
    linkLists_ = nullptr;
    visited_list_pool_ = nullptr;
}

// Goes over to the nearest of a node's links in an upper level; false: it is nearest itself.
bool hnsw::step(tableint *at, float *dist, const void *x, int level) const
{
    const tableint *list = get_linklist(*at, level);
    tableint best = *at;

    for (tableint i = 1; i <= list[0]; i++) {
        float d = fstdistfunc_(x, getDataByInternalId(list[i]), dist_func_param_);

        if (d < *dist) {
            *dist = d;
            best = list[i];
        }
    }
    if (best == *at)
        return false;
    *at = best;
    return true;
}

// From the entry of the `top` level to a node near x, whose links of `level` are to be searched.
tableint hnsw::descend(tableint from, const void *x, int top, int level) const
{
    float dist = fstdistfunc_(x, getDataByInternalId(from), dist_func_param_);

    for (; top > level; top--)
        while (step(&from, &dist, x, top))
            ;
    return from;
}

tableint hnsw::descend_locked(tableint from, const void *x, int top, int level)
{
    float dist = fstdistfunc_(x, getDataByInternalId(from), dist_func_param_);

    for (; top > level; top--)
        for (bool on = true; on;) {
            std::unique_lock<std::mutex> lock(link_list_locks_[from]);

            on = step(&from, &dist, x, top);
        }
    return from;
}

// A node keeps its lock until it is linked in all its levels: others see it in an upper one
// before its lower lists are there. Nobody waits in a circle, since who is waited for was seen in
// a level that the waiting one had not reached.
void hnsw::add(tableint id)
{
    std::unique_lock<std::mutex> entry(global); // first: who holds it meets the locks of others
    std::unique_lock<std::mutex> own(link_list_locks_[id]);
    const void *x = getDataByInternalId(id);
    int level = element_levels_[id], top = maxlevel_;
    tableint at = enterpoint_node_;

    if (level <= top)
        entry.unlock(); // else it becomes the entry, and nobody else meanwhile
    if (at != SHOAL_NO_ID) {
        at = descend_locked(at, x, top, level);
        for (int l = level < top ? level : top; l >= 0; l--) {
            auto near = searchBaseLayer(at, x, l);

            at = mutuallyConnectNewElement(x, id, near, l, false);
        }
    }
    if (level > top) {
        enterpoint_node_ = id;
        maxlevel_ = level;
    }
}

size_t hnsw::search(const float *unit, size_t ef, shoal_hit *hits) const
{
    tableint at = descend(enterpoint_node_, unit, maxlevel_, 0);
    auto near = searchBaseLayerST<false, false>(at, unit, ef);
    size_t n = 0;

    for (; !near.empty(); near.pop())
        hits[n++] = shoal_hit{near.top().second, 1 - near.top().first};
    return n;
}

// ---- C ----

namespace {

// What a call says, or how it failed.
template <typename F> shoal_status guarded(F f) noexcept
{
    try {
        f();
        return SHOAL_OK;
    } catch (const std::bad_alloc &) {
        return shoal_fail(SHOAL_ENOMEM, "index: no memory");
    } catch (const std::exception &e) {
        return shoal_fail(SHOAL_EINVAL, "index: hnswlib failed: %s", e.what());
    } catch (...) {
        return shoal_fail(SHOAL_EINVAL, "index: hnswlib failed");
    }
}

} // namespace

shoal_status hnsw_there(void)
{
    return SHOAL_OK;
}

shoal_status hnsw_open(struct hnsw **out, const struct hnsw_view *v, unsigned ef_construction)
{
    *out = nullptr;
    return guarded([=] { *out = new hnsw(*v, ef_construction); });
}

void hnsw_close(struct hnsw *h)
{
    delete h;
}

shoal_status hnsw_add(struct hnsw *h, uint32_t id)
{
    return guarded([=] { h->add(id); });
}

uint32_t hnsw_entry(const struct hnsw *h)
{
    return h->enterpoint_node_;
}

shoal_status hnsw_search(const struct hnsw *h, const float *unit, size_t ef,
                         struct shoal_hit *hits, size_t *found)
{
    *found = 0;
    return guarded([=] { *found = h->search(unit, ef, hits); });
}
