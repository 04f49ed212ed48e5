/* base: what every room stands on.
 *
 * What this is: failures that carry a sentence, memory whose sizes are checked,
 * counter-based random numbers, fork-join threads, a clock.
 * Who owns what: mem_* give memory that free() ends, mem_map's by mem_unmap.
 * Threads: nothing is shared but the failure sentence, which is per thread. */
#ifndef SHOAL_BASE_H
#define SHOAL_BASE_H

#include <shoal.h>

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

/* ---- err.c: failures ------------------------------------------------------ */

/* Remembers the sentence "who: found X, want Y" and returns code. A failure is
 * born here once; callers forward the status. */
shoal_status shoal_fail(shoal_status code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with ": " and the words of errno appended. */
shoal_status shoal_fail_errno(shoal_status code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- character.c: what a terminal shows, and what it would obey ------------------ */

/* The bytes of the character that `len` > 0 bytes begin with, 0 where that is no UTF-8;
 * good: it is shown, being neither a control nor one that turns the direction of text. */
size_t character_len(const void *text, size_t len, bool *good);
/* The bytes at the end of a text that begin a character and do not end it, 0 to 3. */
size_t character_cut(const void *text, size_t len);

/* The next line of a text, without its newline, which the last may lack; *at goes behind it. False
 * at the end. */
bool line_next(const char **at, const char *end, const char **line, size_t *len);

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- bytes that lie elsewhere ------------------------------------------------ */

struct span {
    const char *at;
    uint32_t len;
};

/* The first n bytes at `at`, as far as 8 go, and zeros; 8 are read. */
static inline uint64_t span_bytes8(const char *at, size_t n)
{
    uint64_t part;

    memcpy(&part, at, 8);
    return n >= 8 ? part : part & ((1ull << (8 * n)) - 1);
}

/* ---- number.c: numbers as text, whatever the locale --------------------------- */

/* As strtod, strtof, snprintf and vsnprintf, with a point. */
double number_read(const char *text, char **end);
float number_read_float(const char *text, char **end);
int number_print(char *out, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int number_vprint(char *out, size_t cap, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));
/* The whole number that digits from `at` on say; gives where they end, or NULL when there are none
 * or it is too large. */
const char *number_digits(const char *at, const char *end, uint64_t *out);
/* The shortest text of at least %g that reads back as x. */
void number_exact(char *out, size_t cap, double x);

/* ---- decimal.c: floats as decimal text, both ways exact ------------------------ */

/* Reads a number that ends at `end` or before a space or tab, exactly as strtof
 * does in the C locale, but no hexadecimal, infinity or NaN. Gives where it
 * ended, or NULL. What is too large is infinite. */
const char *decimal_parse(const char *at, const char *end, float *out);
/* The same of a double, within two units of its last place. */
const char *decimal_parse_double(const char *at, const char *end, double *out);
/* The shortest of up to nine digits that reads back as the same float. */
#define DECIMAL_MAX 16
size_t decimal_format(char out[DECIMAL_MAX], float value);

/* ---- mem.c: memory -------------------------------------------------------- */

/* n zeroed elements, or NULL after shoal_fail; n * size may not overflow. */
void *mem_array(size_t n, size_t size);

/* A text as printf makes it, for free(), or NULL after shoal_fail. */
char *mem_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes the array at *ptr, a pointer to elements of any type, hold at least
 * `need` of them, growing by half; *cap is its size. On failure *ptr stays as it
 * was. */
shoal_status mem_grow(void *ptr, size_t *cap, size_t need, size_t size);

/* Bytes that grow: a word arena, a line, a buffer to write. */
struct bytes {
    char *at;
    size_t len, cap;
};

shoal_status bytes_add(struct bytes *b, const void *data, size_t len);
/* As number_print, without its NUL. */
shoal_status bytes_print(struct bytes *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
shoal_status bytes_reserve(struct bytes *b, size_t more);
void bytes_fini(struct bytes *b);

/* Zeroed pages, 64-byte aligned at least, huge where the kernel allows. */
void *mem_map(size_t bytes);
/* The same pages and more of them, or fewer, perhaps elsewhere; NULL after
 * shoal_fail, and then they stay as they were. */
void *mem_remap(void *at, size_t bytes, size_t want);
void mem_unmap(void *at, size_t bytes);
/* The same in a nameless file of that folder, or of TMPDIR when NULL: what does not
 * fit into memory stays on disk. NULL after shoal_fail. */
void *mem_map_file(const char *folder, size_t bytes);
/* Gives back the pages that lie wholly within these bytes: those of a file's map are read again
 * when needed, those of mem_map are zeros then. */
void mem_release(void *at, size_t bytes);

/* The first number behind `key`, which begins a line of a small file of the system's; UINT64_MAX
 * when there is none ("max" in a cgroup). */
uint64_t system_number(const char *path, const char *key);

/* What this process may still take: the least of free memory and its cgroup's
 * limit. */
uint64_t mem_available(void);

/* What this process holds now, mapped files included. */
uint64_t mem_held(void);

/* The most this process has held so far. */
uint64_t mem_peak(void);

/* ---- rng.c: random numbers keyed by position ------------------------------- */

/* Every bit of x reaches every bit of the result (the finalizer of SplitMix64),
 * so x may be a counter; RNG_STEP is a good distance between its values. */
#define RNG_STEP 0x9e3779b97f4a7c15u

static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The same (seed, stream, index) is the same number for ever, on any thread. */
uint64_t rng_at(uint64_t seed, uint64_t stream, uint64_t index);

struct rng {
    uint64_t seed, stream, index;
};

uint64_t rng_next(struct rng *r);
/* 0 .. n-1 without bias worth naming (n << 2^64); n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* [0, 1) */
double rng_unit(struct rng *r);

/* ---- split.c: which positions of the data are held out --------------------------- */

/* Of n positions `held` are not learned from. They lie all over the data, in blocks: it is cut
 * into `blocks` equal parts, and in each a block stands where the seed says. Or they are the
 * last ones. Data in order of time, topic or file is so held out in proportion.
 *
 *     positions   |-----hhh-----|hhh----------|----------hhh|
 *     learned      0 .. 4  5 .. 9      10 ..        .. n - held - 1
 *
 * Nothing is stored: where a block is follows from the numbers here. All zero: nothing is held
 * out. */
struct split {
    size_t n, held, blocks;
    uint64_t seed;
    bool end; /* they are the last ones */
};

/* A block has `least` > 0 positions or more, if so many are held out. */
struct split split_make(size_t n, size_t held, size_t least, uint64_t seed);
struct split split_make_end(size_t n, size_t held);
/* Positions [from, to) of the next learned ones, *i and those behind it, as far as they follow
 * one another; *i < end moves on. False: there are none left. */
bool split_next(const struct split *s, size_t *i, size_t end, size_t *from, size_t *to);
/* The position of the i-th that is learned, and of the i-th that is held out. */
size_t split_learned(const struct split *s, size_t i);
size_t split_held(const struct split *s, size_t i);
/* Block i < blocks of what is held out. */
void split_block(const struct split *s, size_t i, size_t *from, size_t *to);
/* Narrows [lo, hi) to the learned positions around a learned one; around one that is held out
 * it stays. */
void split_bounds(const struct split *s, size_t position, size_t *lo, size_t *hi);

/* ---- shuffle.c: another order of positions each epoch ------------------------------- */

/* Of n positions, in runs of so many that stay together. All zero: they stay as they are. */
struct shuffle {
    size_t run, runs;
    uint64_t key;
    unsigned half; /* of the bits that number the runs */
};

struct shuffle shuffle_make(size_t n, size_t run, uint64_t seed, uint64_t epoch);
/* Which run stands at this place, of `runs`. */
size_t shuffle_run(const struct shuffle *s, size_t run);

/* Goes through the i-th to before the end-th learned positions in their shuffled order. */
struct shuffle_walk {
    const struct split *split;
    const struct shuffle *order;
    size_t i, end;
    size_t k, to; /* of the run under way; 0 at first */
};

/* The next ones that follow one another in the data; false: there are none left. */
bool shuffle_next(struct shuffle_walk *w, size_t *from, size_t *to);

/* ---- table.c: parameters, and a worker's view of them ------------------------- */

/* rows x width floats; a row begins at a 64-byte boundary and its padding is 0.
 *
 *     | x0 x1 ... x(width-1) 0 0 0 |
 *     '--------- stride -----------'   stride = table_stride(width)
 *
 * Rows of one or two numbers would be mostly padding: packed they follow one
 * another, stride being width. Changes that were made apart are projected
 * (kernel.h, fold), or, where they are sums by nature, as FTRL's are, added. */
struct table {
    const char *name;
    size_t rows, width, stride;
    float *at; /* [rows][stride] */
    bool adds;
};

static inline size_t table_stride(size_t width)
{
    return (width + 15) / 16 * 16;
}

shoal_status table_init(struct table *t, const char *name, size_t rows, size_t width);
/* Packed, and its changes are added. */
shoal_status table_init_packed(struct table *t, const char *name, size_t rows, size_t width);
/* So many rows of the kind that t has. */
shoal_status table_init_like(struct table *t, const struct table *like, size_t rows);
void table_fini(struct table *t);
/* Of a table that is not packed. */
size_t table_bytes(size_t rows, size_t width);

static inline size_t table_size(const struct table *t)
{
    return t->rows * t->stride * sizeof(float);
}

/* The rows a worker computes on. Either the table's own (no copy at all), or
 * the table's own but for private copies of its first `hot` rows, or private
 * copies of every row it touches, made at the first touch:
 *
 *     slot    [rows]  0: not touched, else 1 + its place in mine
 *     touched [rows]  one bit each
 *     mine            the copies, in the order of the touch                   */
struct view {
    struct table *table; /* borrowed */
    float *at;           /* the table's rows and their stride, at hand */
    size_t stride;
    float *mine, *base; /* hot: [hot][stride] each; copies: mine alone */
    uint32_t hot;
    uint32_t *slot;
    uint64_t *touched;
    uint32_t used;
    uint8_t *touches;  /* [rows] touches of each since they were cleared, up to 255; or NULL */
    const float *news; /* hot: [hot][stride] what other ranks did to the table's rows; or NULL */
    float *heard;      /* hot: [hot][stride] of that what mine and base have; or NULL */
};

float *view_touch(struct view *v, uint32_t row);

/* Threads may race: a count may then be lost, but a row that was touched is never at 0. */
static inline void view_count_times(struct view *v, uint32_t row, unsigned times)
{
    unsigned count = __atomic_load_n(&v->touches[row], __ATOMIC_RELAXED) + times;

    __atomic_store_n(&v->touches[row], (uint8_t)(count < 255 ? count : 255), __ATOMIC_RELAXED);
}

static inline void view_count(struct view *v, uint32_t row)
{
    view_count_times(v, row, 1);
}

static inline float *view_row(struct view *v, uint32_t row)
{
    uintptr_t shared = (uintptr_t)v->at, own = (uintptr_t)v->mine;
    uintptr_t is_hot = -(uintptr_t)(row < v->hot); /* a branch would be a coin toss */

    if (v->slot)
        return v->slot[row] ? v->mine + (v->slot[row] - 1) * v->stride : view_touch(v, row);
    return (float *)(shared ^ ((shared ^ own) & is_hot)) + row * v->stride;
}

/* ---- pool.c: fork and join -------------------------------------------------- */

/* n, or the number of cores this process may use when n is 0. */
unsigned pool_threads(unsigned n);

/* Runs fn(ctx, 0..n-1), each on a thread of its own (the caller's is the
 * first), and waits for all. Gives the failure of the lowest index, sentence
 * included. */
shoal_status pool_run(unsigned n, shoal_status (*fn)(void *ctx, unsigned index), void *ctx);

/* ---- ordered.c: work done in any order, finished in its own ------------------------- */

/* Threads take pieces numbered from 0, and do what must keep the order, as writing to a
 * file, between ordered_begin and ordered_end: one after the other, by number. */
struct ordered {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t next, claimed;
    bool failed;
};

void ordered_init(struct ordered *o);
/* The next number that nobody has, for pieces that no reader numbers. */
uint64_t ordered_claim(struct ordered *o);
/* Waits until all pieces before `seq` have ended; then others wait until ordered_end.
 * False when it will never be so, for another piece has failed. */
bool ordered_begin(struct ordered *o, uint64_t seq);
void ordered_end(struct ordered *o, shoal_status st);
/* After a failure outside of the two: nobody waits any more. */
void ordered_stop(struct ordered *o);
void ordered_fini(struct ordered *o);

/* ---- workers.c: threads that stay ---------------------------------------------------- */

/* For work that comes in short pieces, one after the other. Each item is done once, by
 * whichever thread comes first; the thread that calls is one of them, and all take
 * denormal numbers as it does (floats.c). What is done for an item may depend on the item
 * alone; `thread`, below workers_count, is for scratch. */
struct workers;

shoal_status workers_new(struct workers **out, unsigned threads); /* 0: one for each core */
void workers_free(struct workers *w);
unsigned workers_count(const struct workers *w);
/* fn(ctx, 0 .. items - 1, thread), and waits for all. One caller at a time. */
void workers_do(struct workers *w, size_t items,
                void (*fn)(void *ctx, size_t item, unsigned thread), void *ctx);
/* The same for items that may fail: gives the failure of the lowest one that did,
 * sentence included. */
shoal_status workers_run(struct workers *w, size_t items,
                         shoal_status (*fn)(void *ctx, size_t item, unsigned thread), void *ctx);

/* ---- floats.c: denormal numbers ------------------------------------------ */

/* From floats_flush to floats_set with what it gave, this thread takes denormal numbers (below
 * FLT_MIN) for 0, those it reads and those it makes, on every instruction set of x86-64.
 * Elsewhere nothing changes. Who calls us keeps the mode that it had. */
unsigned floats_flush(void);
void floats_set(unsigned mode);
unsigned floats_mode(void); /* now */

/* ---- clock.c ----------------------------------------------------------------- */

/* Seconds since some moment in the past, never going back. */
double clock_now(void);

/* Calls a watch at most ten times a second. Not for several threads at once. */
struct pulse {
    struct shoal_watch watch;
    const char *phase, *unit;
    uint64_t total;
    double began, next;
};

void pulse_begin(struct pulse *p, const struct shoal_watch *watch, const char *phase,
                 const char *unit, uint64_t total);
/* SHOAL_ESTOP when the watcher said to stop. */
shoal_status pulse_at(struct pulse *p, uint64_t done);
/* The last call of a phase, whatever the time. */
shoal_status pulse_end(struct pulse *p, uint64_t done);

#endif
