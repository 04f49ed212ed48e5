/* Products of bfloat16: which table this process uses, and the reference.
 *
 * AMX is used only after it was seen to work: the CPU says that it has it, the system grants the
 * registers (they enlarge what a context switch saves, so Linux wants to be asked), and one block
 * whose sums are exact comes out right. Some virtual machines announce what they do not have. */
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

#if defined(SHOAL_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ---- the reference ---- */

/* To the nearest, of two to the even one. */
static uint16_t narrow(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* no number stays none */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float widen(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;

    memcpy(&y, &bits, sizeof y);
    return y;
}

static void begin(size_t rows)
{
}

static void end(void)
{
}

/* One number of c. */
static float sum_at(const struct kernel_block *b, size_t row, size_t column)
{
    size_t a_at = row / TILE_ROWS * TILE + row % TILE_ROWS * TILE_DEEP;
    size_t b_at = column / TILE_ROWS * TILE + column % TILE_ROWS * 2;
    float sum = b->add ? b->c[row * b->apart + column] : 0;

    for (size_t i = 0; i < b->n; i++)
        for (size_t d = 0; d < b->deep; d++)
            for (size_t k = 0; k < TILE_DEEP; k++)
                sum += widen(b->a[i][d * 2 * TILE + a_at + k]) *
                       widen(b->b[i][d * 2 * TILE + b_at + k / 2 * 2 * TILE_ROWS + k % 2]);
    return sum;
}

static void multiply(const struct kernel_block *b)
{
    for (size_t row = 0; row < b->rows; row++)
        for (size_t column = 0; column < b->columns; column++)
            b->c[row * b->apart + column] = sum_at(b, row, column);
}

static void pack_rows(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < (n + TILE_DEEP - 1) / TILE_DEEP * TILE_DEEP; i++)
            to[(i / TILE_DEEP * 2 * TILE_ROWS + r) * TILE_DEEP + i % TILE_DEEP] =
                i < n ? narrow(from[r * apart + i]) : 0;
}

static void pack_pairs(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n)
{
    for (size_t r = 0; r < TILE_DEEP; r++)
        for (size_t i = 0; i < n; i++)
            to[i / TILE_ROWS * TILE + r / 2 * TILE_DEEP + i % TILE_ROWS * 2 + r % 2] =
                r < rows ? narrow(from[r * apart + i]) : 0;
}

static void pack_turned(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n)
{
    for (size_t r = 0; r < TILE_DEEP; r++)
        for (size_t i = 0; i < n; i++)
            to[i * TILE_DEEP + r] = r < rows ? narrow(from[r * apart + i]) : 0;
}

static void pack_weights(uint16_t *to, const float *w, size_t down, size_t across, size_t deep)
{
    for (size_t k = 0; k < TILE_DEEP; k++)
        for (size_t i = 0; i < TILE_ROWS; i++)
            to[k / 2 * TILE_DEEP + i * 2 + k % 2] = k < deep ? narrow(w[k * down + i * across]) : 0;
}

const struct kernel_tiles kernel_tiles_scalar = {
    .name = "scalar",
    .begin = begin,
    .end = end,
    .multiply = multiply,
    .pack_rows = pack_rows,
    .pack_pairs = pack_pairs,
    .pack_turned = pack_turned,
    .pack_weights = pack_weights,
};

/* ---- AMX, verified ---- */

#if defined(SHOAL_AMX)

enum {
    TILE_STATE = 18,         /* of the extended states: the tiles' contents */
    REQUEST_STATE = 0x1023,  /* arch_prctl's ARCH_REQ_XCOMP_PERM */
    CPU_BF16 = 1 << 22,      /* leaf 7, edx */
    CPU_TILES = 1 << 24,     /* the same */
    CPU_CONVERTS = 1 << 5,   /* leaf 7.1, eax: AVX512_BF16 */
    CPU_ASKS = 1 << 27,      /* leaf 1, ecx: OSXSAVE */
    SYSTEM_TILES = 3u << 17, /* of XCR0 */
};

static bool cpu_has(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & CPU_BF16) || !(d & CPU_TILES))
        return false;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & CPU_CONVERTS) &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* Linux gives tiles to those who ask, for the whole process. */
static bool system_gives(void)
{
    unsigned a, b, c, d, low, high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & CPU_ASKS))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & SYSTEM_TILES) == SYSTEM_TILES &&
           syscall(SYS_arch_prctl, REQUEST_STATE, TILE_STATE) == 0;
}

/* One block with numbers whose sums are exact. A machine that hides what its tiles
 * are like (CPUID leaf 0x1D) is taken by what it does. */
static bool multiplies(void)
{
    uint16_t a[2 * TILE], b[2 * TILE];
    const uint16_t *from[] = {a, b};
    float c[2 * TILE_ROWS * 2 * TILE_ROWS], want[2 * TILE_ROWS * 2 * TILE_ROWS];
    struct kernel_block block = {.a = from,
                                 .b = from + 1,
                                 .n = 1,
                                 .deep = 1,
                                 .rows = 2 * TILE_ROWS,
                                 .columns = 2 * TILE_ROWS,
                                 .c = c,
                                 .apart = 2 * TILE_ROWS};

    for (size_t i = 0; i < 2 * TILE; i++) {
        a[i] = narrow((float)(i * 7 % 31) - 15);
        b[i] = narrow((float)(i * 11 % 29) - 14);
    }
    kernel_tiles_amx.begin(block.rows);
    kernel_tiles_amx.multiply(&block);
    kernel_tiles_amx.end();
    block.c = want;
    multiply(&block);
    return memcmp(c, want, sizeof c) == 0;
}

#endif

static const char *amx_lacks(void)
{
#if defined(SHOAL_AMX)
    if (!cpu_has())
        return "this CPU has none";
    if (!system_gives())
        return "this system gives none";
    return multiplies() ? NULL : "this machine's multiplies wrongly";
#else
    return "this program was built without it";
#endif
}

shoal_status kernel_tiles_choose(const struct kernel_tiles **out)
{
    const char *isa = getenv("SHOAL_ISA"), *lacks;

    *out = NULL;
    if (isa && strcmp(isa, "scalar") == 0) {
        *out = &kernel_tiles_scalar;
        return SHOAL_OK;
    }
    if (isa && *isa)
        return shoal_fail(SHOAL_EINVAL,
                          "kernel: bf16 needs AMX, and SHOAL_ISA is %s; want it unset, or f32",
                          isa);
    lacks = amx_lacks();
    if (lacks)
        return shoal_fail(SHOAL_EINVAL, "kernel: bf16 needs AMX, and %s; want f32", lacks);
#if defined(SHOAL_AMX)
    *out = &kernel_tiles_amx;
#endif
    return SHOAL_OK;
}
