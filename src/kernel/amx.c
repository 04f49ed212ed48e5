/* Products of bfloat16 by AMX; compiled with its flags (src/meson.build), called
 * only where tiles.c found it to work. */
#include "kernel/kernel.h"

#include <immintrin.h>

/* A block of c, 32 x 32 floats, is four of the eight tile registers; two hold rows of a, two
 * columns of b, so that each tile that is loaded serves two products:
 *
 *                 B0     B1
 *              +------+------+
 *          A0  | C00  | C01  |    C += A x B: 16 rows x 32 bfloat16 by 32 x 16, summed in floats
 *          A1  | C10  | C11  |
 *              +------+------+
 *
 * What c lacks of 32 rows or columns is left out (`low`, `wide`). Names of registers are part of an
 * instruction, so they are macros, not variables. */
#define C00 0
#define C01 1
#define C10 2
#define C11 3
#define A0 4
#define A1 5
#define B0 6
#define B1 7

enum { LINE = 64 }; /* bytes of a tile's row */

#define INLINE static inline __attribute__((always_inline))

/* The compiler does not see what tiles read and write. */
#define FENCE() __asm__ volatile("" ::: "memory")

/* ---- multiplying ---- */

/* As LDTILECFG reads it. */
struct config {
    uint8_t palette, start, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

static void begin(size_t rows)
{
    struct config config = {.palette = 1};
    uint8_t first = (uint8_t)(rows < TILE_ROWS ? rows : TILE_ROWS);
    uint8_t second = (uint8_t)(rows - first);
    const uint8_t each[8] = {first, first, second, second, first, second, TILE_ROWS, TILE_ROWS};

    for (size_t i = 0; i < 8; i++) {
        config.rows[i] = each[i];
        config.bytes[i] = each[i] ? LINE : 0;
    }
    FENCE();
    _tile_loadconfig(&config);
}

static void end(void)
{
    _tile_release();
    FENCE();
}

INLINE void load_sums(const struct kernel_block *b, bool low, bool wide)
{
    size_t apart = b->apart * sizeof *b->c;
    const float *under = b->c + TILE_ROWS * b->apart;

    _tile_loadd(C00, b->c, apart);
    if (wide)
        _tile_loadd(C01, b->c + TILE_ROWS, apart);
    if (low)
        _tile_loadd(C10, under, apart);
    if (low && wide)
        _tile_loadd(C11, under + TILE_ROWS, apart);
}

INLINE void store_sums(const struct kernel_block *b, bool low, bool wide)
{
    size_t apart = b->apart * sizeof *b->c;
    float *under = b->c + TILE_ROWS * b->apart;

    _tile_stored(C00, b->c, apart);
    if (wide)
        _tile_stored(C01, b->c + TILE_ROWS, apart);
    if (low)
        _tile_stored(C10, under, apart);
    if (low && wide)
        _tile_stored(C11, under + TILE_ROWS, apart);
}

INLINE void zero_sums(bool low, bool wide)
{
    _tile_zero(C00);
    if (wide)
        _tile_zero(C01);
    if (low)
        _tile_zero(C10);
    if (low && wide)
        _tile_zero(C11);
}

INLINE void step(const uint16_t *x, const uint16_t *y, bool low, bool wide)
{
    _tile_loadd(B0, y, LINE);
    _tile_loadd(A0, x, LINE);
    _tile_dpbf16ps(C00, A0, B0);
    if (low) {
        _tile_loadd(A1, x + TILE, LINE);
        _tile_dpbf16ps(C10, A1, B0);
    }
    if (wide) {
        _tile_loadd(B1, y + TILE, LINE);
        _tile_dpbf16ps(C01, A0, B1);
    }
    if (low && wide)
        _tile_dpbf16ps(C11, A1, B1);
}

INLINE void block(const struct kernel_block *b, bool low, bool wide)
{
    if (b->add)
        load_sums(b, low, wide);
    else
        zero_sums(low, wide);
    for (size_t i = 0; i < b->n; i++) {
        const uint16_t *x = b->a[i], *y = b->b[i];

        for (size_t d = 0; d < b->deep; d++, x += 2 * TILE, y += 2 * TILE)
            step(x, y, low, wide);
    }
    store_sums(b, low, wide);
}

static void multiply(const struct kernel_block *b)
{
    bool low = b->rows > TILE_ROWS, wide = b->columns > TILE_ROWS;

    FENCE();
    if (low && wide)
        block(b, true, true);
    else if (low)
        block(b, true, false);
    else if (wide)
        block(b, false, true);
    else
        block(b, false, false);
    FENCE();
}

/* ---- packing ---- */

static void pack_rows(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n)
{
    for (size_t i = 0; i < n; i += TILE_DEEP, to += 2 * TILE)
        for (size_t r = 0; r < rows; r++) {
            const float *x = from + r * apart + i;
            __m512 low = _mm512_loadu_ps(x), high = _mm512_setzero_ps();

            if (i + TILE_ROWS < n)
                high = _mm512_loadu_ps(x + TILE_ROWS);
            _mm512_storeu_si512(to + r * TILE_DEEP, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
}

/* 16 numbers of each side by side. */
INLINE __m512i pair(__m512 first, __m512 second)
{
    __m512i x = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(first));
    __m512i y = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(second));

    return _mm512_or_si512(x, _mm512_slli_epi32(y, 16));
}

/* Rows 2 j and 2 j + 1; 0 where there are none. */
INLINE __m512i pair_of(const float *from, size_t j, size_t rows, size_t apart)
{
    __m512 zero = _mm512_setzero_ps();

    return pair(2 * j < rows ? _mm512_loadu_ps(from + 2 * j * apart) : zero,
                2 * j + 1 < rows ? _mm512_loadu_ps(from + (2 * j + 1) * apart) : zero);
}

static void pack_pairs(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n)
{
    for (size_t i = 0; i < n; i += TILE_ROWS)
        for (size_t j = 0; j < TILE_ROWS; j++, to += TILE_DEEP)
            _mm512_storeu_si512(to, pair_of(from + i, j, rows, apart));
}

/* Transposes 16 x 16 numbers of 32 bits: first within 4 x 4, then these among themselves. */
INLINE void transpose(__m512i x[16])
{
    __m512i t[16];

    for (size_t i = 0; i < 16; i += 4) {
        __m512i a = _mm512_unpacklo_epi32(x[i], x[i + 1]),
                b = _mm512_unpackhi_epi32(x[i], x[i + 1]);
        __m512i c = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]);
        __m512i d = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);

        t[i] = _mm512_unpacklo_epi64(a, c);
        t[i + 1] = _mm512_unpackhi_epi64(a, c);
        t[i + 2] = _mm512_unpacklo_epi64(b, d);
        t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    for (size_t i = 0; i < 4; i++) {
        __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
        __m512i b = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
        __m512i c = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
        __m512i d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);

        x[i] = _mm512_shuffle_i32x4(a, b, 0x88);
        x[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
        x[i + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
        x[i + 12] = _mm512_shuffle_i32x4(c, d, 0xdd);
    }
}

static void pack_turned(uint16_t *to, const float *from, size_t rows, size_t apart, size_t n)
{
    for (size_t i = 0; i < n; i += TILE_ROWS, to += TILE) {
        __m512i x[16];

        for (size_t j = 0; j < TILE_ROWS; j++)
            x[j] = pair_of(from + i, j, rows, apart);
        transpose(x);
        for (size_t j = 0; j < TILE_ROWS; j++)
            _mm512_storeu_si512(to + j * TILE_DEEP, x[j]);
    }
}

static void pack_weights(uint16_t *to, const float *w, size_t down, size_t across, size_t deep)
{
    const __m512i places =
        _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                           _mm512_set1_epi32((int)across));

    for (size_t k = 0; k < TILE_DEEP; k += 2, to += TILE_DEEP) {
        __m512 first = _mm512_setzero_ps(), second = first;

        if (k < deep)
            first = _mm512_i32gather_ps(places, w + k * down, 4);
        if (k + 1 < deep)
            second = _mm512_i32gather_ps(places, w + (k + 1) * down, 4);
        _mm512_storeu_si512(to, pair(first, second));
    }
}

const struct kernel_tiles kernel_tiles_amx = {
    .name = "amx",
    .begin = begin,
    .end = end,
    .multiply = multiply,
    .pack_rows = pack_rows,
    .pack_pairs = pack_pairs,
    .pack_turned = pack_turned,
    .pack_weights = pack_weights,
};
