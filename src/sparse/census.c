/* Which slots occur, how often, and by what name.
 *
 *     seen    every block, by all threads at once: a bit a slot, set atomically
 *     count   some blocks, in the order of the input: how hot a slot is
 *     names   fewer blocks: proposed by any thread (the rows are parsed again for their
 *             names), accepted in the order of the input
 *
 * Ids are numbered hottest first, so that the weights that are used most lie side by side.
 * Counts decide nothing but this order, so a sample of the blocks is enough. Which blocks are
 * sampled is a function of their number: the result does not depend on the threads. */
#include "sparse/rows.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_BLOCKS 16u
#define COUNT_EVERY 8u
#define NAME_EVERY 64u
/* 2^14 and some blocks of 2^17 values each: a count stays below 2^32. */
#define LAST_BLOCK ((uint64_t)1 << 17)
#define COUNT_MOST ((size_t)1 << 17)

#define SEEN_BYTES(slots) (((slots) + 63) / 64 * 8)
#define ARENA_MAX ((size_t)16 << 20)
#define NAME_MAX_LEN 200u
#define RECENT (sizeof((struct click_names *)0)->recent / sizeof(uint32_t))

uint64_t census_bytes(unsigned bits)
{
    /* The tables; slots, counts and what sorting them takes; names twice, while they are
     * put in order. */
    return ((uint64_t)(1 + 4 + 4 + 4 + 8 + 4) << bits) + 2 * ARENA_MAX;
}

shoal_status census_init(struct click_census *c, unsigned bits)
{
    size_t slots = (size_t)1 << bits;

    *c = (struct click_census){.bits = bits};
    c->seen = mem_map(SEEN_BYTES(slots));
    c->count = mem_map(slots * sizeof *c->count);
    c->name = mem_map(slots * sizeof *c->name);
    return c->seen && c->count && c->name ? SHOAL_OK : SHOAL_ENOMEM;
}

void census_fini(struct click_census *c)
{
    size_t slots = (size_t)1 << c->bits;

    mem_unmap(c->seen, SEEN_BYTES(slots));
    mem_unmap(c->count, slots * sizeof *c->count);
    mem_unmap(c->name, slots * sizeof *c->name);
    bytes_fini(&c->arena);
    free(c->slot);
    free(c->counts);
    *c = (struct click_census){0};
}

bool census_samples_counts(uint64_t seq)
{
    return seq < FIRST_BLOCKS || (seq % COUNT_EVERY == 0 && seq < LAST_BLOCK);
}

bool census_samples_names(uint64_t seq)
{
    return seq < FIRST_BLOCKS || seq % NAME_EVERY == 0;
}

/* Bits are only ever set, and nearly always set already. */
void census_mark_seen(struct click_census *c, const uint32_t *slot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t *seen = &c->seen[slot[i] / 64], bit = (uint64_t)1 << slot[i] % 64;

        if (!(__atomic_load_n(seen, __ATOMIC_RELAXED) & bit))
            __atomic_fetch_or(seen, bit, __ATOMIC_RELAXED);
    }
}

/* ---- names ---- */

void click_names_fini(struct click_names *n)
{
    bytes_fini(&n->text);
    free(n->slot);
    free(n->row);
    *n = (struct click_names){0};
}

/* "5..6", "..5" and "6.." */
static void print_range(char *text, size_t room, const struct click_name *name)
{
    char low[40] = "", high[40] = "";

    if (!name->bin) {
        snprintf(text, room, "%llu..%llu", (unsigned long long)name->from,
                 (unsigned long long)name->to);
        return;
    }
    if (name->low)
        number_exact(low, sizeof low, *name->low);
    if (name->high)
        number_exact(high, sizeof high, *name->high);
    snprintf(text, room, "%s..%s", low, high);
}

/* "I3=5..6", "space^feature", "17"; too long a name is cut. */
static shoal_status add_name(struct click_names *n, uint32_t slot, const struct click_name *name)
{
    char text[NAME_MAX_LEN + 1];
    int len = 0, room = (int)sizeof text;
    shoal_status st = mem_grow(&n->slot, &n->cap, n->len + 1, sizeof *n->slot);

    if (st != SHOAL_OK)
        return st;
    if (name->space)
        len = snprintf(text, sizeof text, "%.*s%c", (int)name->space_len, name->space, name->join);
    len = len < room ? len : room - 1;
    if (name->at)
        snprintf(text + len, (size_t)(room - len), "%.*s", (int)name->len, name->at);
    else
        print_range(text + len, (size_t)(room - len), name);
    n->slot[n->len++] = slot;
    return bytes_add(&n->text, text, strlen(text) + 1);
}

static bool is_named(const struct click_census *c, uint32_t slot)
{
    return __atomic_load_n(&c->name[slot], __ATOMIC_RELAXED) != 0;
}

static bool row_is_named(const struct click_census *c, const uint32_t *slot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_named(c, slot[i]))
            return false;
    return true;
}

static shoal_status propose_row(const struct click_census *c, const struct click_format *w,
                                const struct click_block *block, struct click_batch *b, size_t r,
                                struct click_names *names)
{
    const uint32_t *slot = b->slot + b->start[r];
    size_t n = b->start[r + 1] - b->start[r];
    /* A feature of value 0 is written to the room behind the last one. */
    shoal_status st = mem_grow(&names->row, &names->row_cap, n + 1, sizeof *names->row);

    if (st != SHOAL_OK)
        return st;
    click_parse_names(w, block, b, r, names->row);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        uint32_t *recent = &names->recent[slot[i] % RECENT];

        if (*recent == slot[i] + 1 || is_named(c, slot[i]))
            continue;
        *recent = slot[i] + 1;
        st = add_name(names, slot[i], &names->row[i]);
    }
    return st;
}

shoal_status census_propose_names(const struct click_census *c, const struct click_format *w,
                                  const struct click_block *block, struct click_batch *b,
                                  struct click_names *names)
{
    shoal_status st = SHOAL_OK;

    names->len = names->text.len = 0;
    memset(names->recent, 0, sizeof names->recent);
    if (__atomic_load_n(&c->full, __ATOMIC_RELAXED))
        return SHOAL_OK;
    for (size_t r = 0; r < b->rows && st == SHOAL_OK; r++)
        if (!row_is_named(c, b->slot + b->start[r], b->start[r + 1] - b->start[r]))
            st = propose_row(c, w, block, b, r, names);
    return st;
}

shoal_status census_accept_names(struct click_census *c, const struct click_names *names)
{
    const char *at = names->text.at;

    for (size_t i = 0; i < names->len && !c->full; i++) {
        size_t len = strlen(at) + 1;

        if (c->arena.len + len > ARENA_MAX) {
            __atomic_store_n(&c->full, true, __ATOMIC_RELAXED);
        } else if (!is_named(c, names->slot[i])) {
            uint32_t place = (uint32_t)c->arena.len + 1;
            shoal_status st = bytes_add(&c->arena, at, len);

            if (st != SHOAL_OK)
                return st;
            __atomic_store_n(&c->name[names->slot[i]], place, __ATOMIC_RELAXED);
        }
        at += len;
    }
    return SHOAL_OK;
}

void census_add_counts(struct click_census *c, const struct click_batch *b)
{
    size_t n = b->values < COUNT_MOST ? b->values : COUNT_MOST;

    for (size_t i = 0; i < n; i++)
        c->count[b->slot[i]]++;
}

shoal_status census_names(const struct click_census *c, struct bytes *text, uint32_t *begin)
{
    shoal_status st = bytes_add(text, "", 1);

    for (uint32_t id = 0; id < c->features && st == SHOAL_OK; id++) {
        uint32_t place = c->name[c->slot[id]];

        begin[id] = place ? (uint32_t)text->len : 0;
        if (place)
            st = bytes_add(text, c->arena.at + place - 1, strlen(c->arena.at + place - 1) + 1);
    }
    return st;
}

/* ---- ids ---- */

#define DIGIT 16u
#define DIGITS (1u << DIGIT)

/* One pass of a radix sort, which keeps the order of equals: the largest digit first. */
static void sort_pass(const uint32_t *key, const uint32_t *in, uint32_t *out, uint32_t n,
                      unsigned shift, uint32_t *place)
{
    uint32_t sum = 0;

    memset(place, 0, DIGITS * sizeof *place);
    for (uint32_t i = 0; i < n; i++)
        place[key[in[i]] >> shift & (DIGITS - 1)]++;
    for (uint32_t d = DIGITS; d-- > 0;) {
        uint32_t count = place[d];

        place[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        out[place[key[in[i]] >> shift & (DIGITS - 1)]++] = in[i];
}

static shoal_status sort_slots(struct click_census *c)
{
    uint32_t *other = mem_array(c->features, sizeof *other);
    uint32_t *place = mem_array(DIGITS, sizeof *place);
    shoal_status st = other && place ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        sort_pass(c->count, c->slot, other, c->features, 0, place);
        sort_pass(c->count, other, c->slot, c->features, DIGIT, place);
    }
    free(other);
    free(place);
    return st;
}

/* The slots that occur, in their order. */
static shoal_status list_slots(struct click_census *c)
{
    size_t words = (((size_t)1 << c->bits) + 63) / 64;
    uint32_t n = 0;

    for (size_t i = 0; i < words; i++)
        c->features += (uint32_t)__builtin_popcountll(c->seen[i]);
    c->slot = mem_array(c->features, sizeof *c->slot);
    c->counts = mem_array(c->features, sizeof *c->counts);
    if (!c->slot || !c->counts)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < words; i++)
        for (uint64_t bits = c->seen[i]; bits; bits &= bits - 1)
            c->slot[n++] = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(bits);
    return SHOAL_OK;
}

shoal_status census_assign_ids(struct click_census *c)
{
    shoal_status st = list_slots(c);

    if (st == SHOAL_OK)
        st = sort_slots(c);
    for (uint32_t id = 0; id < c->features && st == SHOAL_OK; id++) {
        c->counts[id] = c->count[c->slot[id]];
        c->count[c->slot[id]] = id;
    }
    return st;
}

void census_map_ids(const struct click_census *c, const uint32_t *slot, uint32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        id[i] = c->count[slot[i]];
}
