/* Click models: any sections, in a container whose sums are right, are refused with a
 * sentence, or make a model that answers with probabilities and knows its largest
 * weights. The input is the sections one behind the other, after the lengths of all but
 * the last, two bytes each:
 *
 *     | meta slots weights names | meta | slots | weights | names | name |         */
#include "eval/logreg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECTIONS = 5, LINE = 64 };

static void require(bool truth)
{
    if (!truth)
        abort();
}

static size_t up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

/* ---- a container, as docs/formats.md has it ---- */

struct part {
    const char *name;
    const uint8_t *at;
    size_t size;
};

static void put_u64(unsigned char *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Of less than a slice. */
static uint64_t section_sum(const struct part *p)
{
    uint64_t slice = XXH3_64bits(p->at, p->size);

    return XXH3_64bits(&slice, p->size > 0 ? sizeof slice : 0);
}

static unsigned char *build(const struct part *parts, size_t *size)
{
    size_t toc = LINE, offset = LINE;
    unsigned char *file = NULL, *entry;

    for (size_t i = 0; i < SECTIONS; i++)
        toc += up(parts[i].size);
    *size = toc + SECTIONS * LINE;
    require(posix_memalign((void **)&file, LINE, *size) == 0);
    memset(file, 0, *size);
    for (size_t i = 0; i < SECTIONS; i++) {
        entry = file + toc + i * LINE;
        strcpy((char *)entry, parts[i].name);
        put_u64(entry + 24, offset);
        put_u64(entry + 32, parts[i].size);
        put_u64(entry + 40, section_sum(&parts[i]));
        if (parts[i].size > 0)
            memcpy(file + offset, parts[i].at, parts[i].size);
        offset += up(parts[i].size);
    }
    memcpy(file, "\x89SHL\r\n\x1a\n\x01\0\0\0\0\0\0\0", 16);
    put_u64(file + 16, *size);
    put_u64(file + 24, toc);
    put_u64(file + 32, SECTIONS);
    put_u64(file + 40, XXH3_64bits(file + toc, SECTIONS * LINE));
    put_u64(file + 56, XXH3_64bits(file, 56));
    return file;
}

/* ---- a model ---- */

static void ask(const shoal_logreg *m)
{
    struct shoal_weight top[8];
    uint32_t slots[8];
    size_t found;
    double p;

    require(shoal_logreg_bits(m) >= 1 && shoal_logreg_bits(m) <= 30);
    require(isfinite(shoal_logreg_bias(m)));
    require(shoal_logreg_largest(m, top, 8, &found) == SHOAL_OK);
    require(found == 8 || found == shoal_logreg_weights(m));
    for (size_t i = 0; i < found; i++) {
        slots[i] = top[i].slot;
        require(slots[i] >> shoal_logreg_bits(m) == 0);
        require(i == 0 || fabsf(top[i - 1].weight) >= fabsf(top[i].weight));
        require(!top[i].name || strlen(top[i].name) < 65536);
    }
    p = shoal_logreg_one(m, slots, NULL, found);
    require(p >= 0 && p <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part parts[SECTIONS] = {{.name = "meta"}, {.name = "slots"}, {.name = "weights"},
                                   {.name = "names"}, {.name = "name"}};
    const uint8_t *at = data + 2 * (SECTIONS - 1), *end = data + size;
    shoal_logreg *m = NULL;
    unsigned char *file;

    if (at > end)
        return 0;
    for (size_t i = 0; i < SECTIONS; i++) {
        size_t want = (size_t)(end - at);

        if (i < SECTIONS - 1 && (size_t)(data[2 * i] | data[2 * i + 1] << 8) < want)
            want = (size_t)(data[2 * i] | data[2 * i + 1] << 8);
        parts[i].at = at;
        parts[i].size = want;
        at += want;
    }
    file = build(parts, &size);
    if (logreg_open_memory(&m, "fuzz", file, size) == SHOAL_OK)
        ask(m);
    else
        require(m == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    shoal_logreg_close(m);
    free(file);
    return 0;
}
