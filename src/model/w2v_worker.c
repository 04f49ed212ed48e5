/* The inner loop of training words, by negative sampling or Huffman paths.
 *
 * The problem: a step is short, and its rows lie anywhere in tables larger than the caches, so
 * that waiting for memory would take most of the time. So the corpus is taken in spans of SPAN
 * positions, and each stage is a plain loop over the span, which knows what comes:
 *
 *     windows_cut   which words subsampling keeps, and the window of each     (windows.c)
 *     draw_noise    the noise of all windows: cells first, then their words
 *     step_windows  for each window: prefetch the rows of the window AHEAD, then the kernel's step
 *
 * All that is random is keyed by (seed, epoch, position), so a span gives the same whoever takes
 * it, and a worker keeps nothing from one span to the next. */
#include "model/model.h"

#include <stdlib.h>

enum {
    AHEAD = 2,       /* windows between a row's prefetch and its use */
    LOSS_EVERY = 16, /* one span in so many measures its loss */
    APART = 32,
    NODES_AT_HAND = 256, /* of a Huffman tree: 100 KiB of the second-level cache at dim 100 */
    STREAM_NOISE = 3,
};

struct w2v_worker {
    const struct w2v *w;
    struct view *in, *out;
    struct windows windows;
    struct composed *composed; /* NULL: a word has one row */
    float *const *inputs;      /* of each kept word its composed vector */
    uint32_t *noise;    /* [SPAN][negatives] */
    uint32_t *dice;     /* [SPAN][negatives] whether to stay in the cell drawn; then, */
    size_t redrawn;     /* so many, the noise that was drawn again */
    uint64_t noise_key; /* of the epoch */
    float label[W2V_MAX_NEGATIVES + 1 + KERNEL_LANES];
};

shoal_status w2v_worker_new(struct w2v_worker **out, const struct w2v *w, struct view *in,
                            struct view *out_rows)
{
    struct w2v_worker *worker = mem_array(1, sizeof *worker);
    shoal_status st = SHOAL_ENOMEM;

    *out = NULL;
    if (!worker)
        return SHOAL_ENOMEM;
    worker->w = w;
    worker->in = in;
    worker->out = out_rows;
    worker->label[0] = 1;
    worker->noise = mem_array((size_t)SPAN * (w->negatives + 1), sizeof *worker->noise);
    worker->dice = mem_array((size_t)SPAN * (w->negatives + 1), sizeof *worker->dice);
    if (worker->noise && worker->dice)
        st = w->grams ? composed_new(&worker->composed, w, in) : SHOAL_OK;
    if (st != SHOAL_OK) {
        w2v_worker_free(worker);
        return st;
    }
    *out = worker;
    return SHOAL_OK;
}

void w2v_worker_free(struct w2v_worker *worker)
{
    if (!worker)
        return;
    free(worker->noise);
    free(worker->dice);
    composed_free(worker->composed);
    free(worker);
}

/* ---- noise ---- */

/* A cell of the alias table, and the number that decides about staying in it. */
static inline uint32_t draw_cell(const struct w2v_worker *worker, uint64_t counter, uint32_t *dice)
{
    uint64_t random = rng_mix(worker->noise_key + counter * RNG_STEP);

    *dice = (uint32_t)random;
    return (uint32_t)(((random >> 32) * worker->w->words) >> 32);
}

static inline uint32_t word_of(const struct w2v_worker *worker, uint32_t cell, uint32_t dice)
{
    const struct alias *a = &worker->w->alias[cell];
    uint32_t moved = -(uint32_t)(dice > a->keep); /* a branch would be a coin toss */

    return cell ^ ((cell ^ a->other) & moved);
}

/* Noise may not be the target. If it is, it is drawn again, by random numbers of a range of their
 * own; in a vocabulary so lopsided that 63 of those fail, it is the next word. Two equal
 * noise words are left alone: they are rare, and one update of the row stays. */
static uint32_t draw_again(const struct w2v_worker *worker, uint64_t counter, uint32_t target)
{
    uint32_t word = target, dice;

    for (uint64_t again = 1; word == target && again < 64; again++) {
        word = draw_cell(worker, ~counter - (again << 48), &dice);
        word = word_of(worker, word, dice);
    }
    return word != target ? word : (target + 1) % worker->w->words;
}

/* Which noise a window has. W2V_REUSE positions, each APART from the next, share it: the rows are
 * then still in the cache when they are needed again. Neighbours may not share, for their windows
 * have words in common, and accuracy falls by points.
 *
 *     position   0   1  ..  31 | 32  33 .. 63 | .. | 224 .. 255 | 256 ..
 *     noise      a   b  ..  z  |  a   b ..  z | .. |   a ..   z |  new
 *
 * with APART = 32 and W2V_REUSE = 8. */
static inline uint64_t counter_of(const struct w2v_worker *worker, size_t begin, size_t t)
{
    const struct windows *ws = &worker->windows;
    size_t position = begin + ws->place[ws->at[t].centre];

    return (position / (APART * W2V_REUSE) * APART + position % APART) * W2V_MAX_NEGATIVES;
}

/* The alias table is larger than the second-level cache: all cells of the span are drawn first, so
 * that each has been fetched when it is read. */
static void draw_noise(struct w2v_worker *worker, size_t begin)
{
    const struct windows *ws = &worker->windows;
    size_t n = worker->w->negatives;

    worker->redrawn = 0;
    for (size_t t = 0; t < ws->len; t++) {
        uint64_t counter = counter_of(worker, begin, t);

        for (size_t i = t * n; i < (t + 1) * n; i++) {
            worker->noise[i] = draw_cell(worker, counter++, &worker->dice[i]);
            __builtin_prefetch(&worker->w->alias[worker->noise[i]]);
        }
    }
    for (size_t t = 0; t < ws->len; t++) {
        uint32_t target = ws->kept[ws->at[t].centre];

        for (size_t i = t * n; i < (t + 1) * n; i++) {
            worker->noise[i] = word_of(worker, worker->noise[i], worker->dice[i]);
            if (__builtin_expect(worker->noise[i] == target, 0)) {
                worker->noise[i] =
                    draw_again(worker, counter_of(worker, begin, t) + i - t * n, target);
                worker->dice[worker->redrawn++] = worker->noise[i]; /* those before are read */
            }
        }
    }
}

/* ---- what has changed ---- */

/* Noise that several windows share is counted where it comes first, for all of them, or as one:
 * of the rest only what was drawn again is new; what it stood for was the target, which is
 * counted as such. */
static void count_noise(struct w2v_worker *worker, size_t begin)
{
    size_t n = worker->w->negatives, first = begin / (APART * W2V_REUSE) * APART;
    size_t len = worker->windows.len;
    const uint32_t *noise = worker->noise;
    unsigned touches = worker->w->noise_once ? 1 : W2V_REUSE;
    struct view out = *worker->out; /* what counting writes might else be in it */
    uint64_t seen[SPAN / 64 + 1] = {0};

    for (size_t t = 0; t < len; t++) {
        size_t group = counter_of(worker, begin, t) / W2V_MAX_NEGATIVES - first;

        if (seen[group / 64] >> (group % 64) & 1)
            continue;
        seen[group / 64] |= 1ull << (group % 64);
        for (size_t i = t * n; i < (t + 1) * n; i++)
            view_count_times(&out, noise[i], touches);
    }
    for (size_t i = 0; i < worker->redrawn; i++)
        view_count(&out, worker->dice[i]);
}

/* Somebody wants to know which rows changed: every word of the span, every
 * target, and its noise or path. After the steps: a row that was counted before its change might
 * travel without it. */
static void count_touches(struct w2v_worker *worker, size_t begin)
{
    const struct windows *ws = &worker->windows;
    const struct w2v *w = worker->w;
    struct view in = *worker->in, out = *worker->out;
    uint32_t kept = ws->kept_count;
    size_t len = ws->len;
    bool draws = w->negatives > 0;

    if (worker->composed)
        composed_count(worker->composed);
    for (uint32_t i = 0; i < kept && !worker->composed; i++)
        if (ws->kept[i] != SHOAL_SENTENCE_END)
            view_count(&in, ws->kept[i]);
    for (size_t t = 0; t < len; t++) {
        uint32_t word = ws->kept[ws->at[t].centre];

        if (draws)
            view_count(&out, word);
        else
            for (uint32_t i = w->path[word]; i < w->path[word + 1]; i++)
                view_count(&out, w->node[i]);
    }
    if (draws)
        count_noise(worker, begin);
}

/* ---- steps ---- */

/* The output rows of window t. */
static inline size_t list_noise(const struct w2v_worker *worker, size_t t, const float **next)
{
    const uint32_t *list = worker->noise + t * worker->w->negatives;
    size_t n = 0;

    next[n++] = view_row(worker->out, worker->windows.kept[worker->windows.at[t].centre]);
    for (size_t i = 0; i < worker->w->negatives; i++)
        next[n++] = view_row(worker->out, list[i]);
    return n;
}

/* The nodes of window t's path, from the word up, but for those near the root,
 * which never leave the cache. */
static inline size_t list_path(const struct w2v_worker *worker, size_t t, const float **next)
{
    const struct w2v *w = worker->w;
    uint32_t word = worker->windows.kept[worker->windows.at[t].centre];
    size_t n = 0;

    for (uint32_t i = w->path[word + 1]; i-- > w->path[word] && n < KERNEL_MAX_OUT;) {
        if (w->node[i] < NODES_AT_HAND)
            break;
        next[n++] = view_row(worker->out, w->node[i]);
    }
    return n;
}

/* The row that word i of those kept is trained on. */
static inline float *input_row(const struct w2v_worker *worker, uint32_t i)
{
    return worker->composed ? worker->inputs[i] : view_row(worker->in, worker->windows.kept[i]);
}

/* The rows that window t needs and the window before it did not. */
static inline size_t list_next(const struct w2v_worker *worker, size_t t, const float **next)
{
    const struct windows *ws = &worker->windows;
    uint32_t entering;
    size_t n;

    if (t >= ws->len)
        return 0;
    n = worker->w->negatives ? list_noise(worker, t, next) : list_path(worker, t, next);
    entering = ws->at[t].centre + worker->w->window;
    if (entering < ws->kept_count && ws->kept[entering] != SHOAL_SENTENCE_END)
        next[n++] = input_row(worker, entering);
    return n;
}

static size_t list_inputs(const struct w2v_worker *worker, const struct window *at, float **in)
{
    size_t m = 0;

    for (uint32_t i = at->lo; i < at->hi; i++) {
        in[m] = input_row(worker, i);
        m += i != at->centre;
    }
    return m;
}

static void step_noise(struct w2v_worker *worker, size_t t, struct kernel_step *step, float **out)
{
    const struct w2v *w = worker->w;
    const uint32_t *list = worker->noise + t * w->negatives;

    out[0] = view_row(worker->out, worker->windows.kept[worker->windows.at[t].centre]);
    for (size_t i = 0; i < w->negatives; i++)
        out[i + 1] = view_row(worker->out, list[i]);
    step->k = w->negatives + 1;
    step->label = worker->label;
    (w->bag ? w->kernel->bag : w->kernel->pairs)(step);
}

/* A path that is longer than a step takes is walked in several. */
static void step_path(struct w2v_worker *worker, size_t t, struct kernel_step *step, float **out)
{
    const struct w2v *w = worker->w;
    uint32_t word = worker->windows.kept[worker->windows.at[t].centre];

    for (uint32_t from = w->path[word]; from < w->path[word + 1]; from += KERNEL_MAX_OUT) {
        uint32_t left = w->path[word + 1] - from;

        step->k = left < KERNEL_MAX_OUT ? left : KERNEL_MAX_OUT;
        for (size_t i = 0; i < step->k; i++)
            out[i] = view_row(worker->out, w->node[from + i]);
        step->label = w->label + from;
        (w->bag ? w->kernel->bag : w->kernel->pairs)(step);
        step->nexts = 0;
    }
}

/* Returns the predictions made: one a window, or one for each of its words. */
static uint64_t step_windows(struct w2v_worker *worker, float lr, double *loss)
{
    const struct w2v *w = worker->w;
    float *in[2 * W2V_MAX_WINDOW + 1], *out[KERNEL_MAX_OUT];
    const float *next[KERNEL_MAX_OUT + 1];
    struct kernel_step step = {.in = in, .out = out, .next = next, .dim = w->dim, .lr = lr,
                               .loss = loss};
    uint64_t made = 0;

    for (size_t t = 0; t < worker->windows.len; t++) {
        step.m = list_inputs(worker, &worker->windows.at[t], in);
        step.in_scale = w->sum ? 1.0f : 1.0f / (float)step.m;
        step.nexts = list_next(worker, t + AHEAD, next);
        made += w->bag ? 1 : step.m;
        if (w->negatives)
            step_noise(worker, t, &step, out);
        else
            step_path(worker, t, &step, out);
    }
    return made;
}

/* All that is random about a span. */
static void draw_span(struct w2v_worker *worker, unsigned epoch, size_t begin, size_t end)
{
    windows_cut(&worker->windows, worker->w, epoch, begin, end);
    worker->noise_key = rng_at(worker->w->seed, STREAM_NOISE, epoch);
    if (worker->w->negatives)
        draw_noise(worker, begin);
}

static void take_span(struct w2v_worker *worker, unsigned epoch, size_t begin, size_t end, float lr,
                      bool measure, struct sums *done)
{
    double loss = 0;
    uint64_t made;

    draw_span(worker, epoch, begin, end);
    if (worker->composed)
        worker->inputs = composed_make(worker->composed, &worker->windows);
    made = step_windows(worker, lr, measure ? &loss : NULL);
    if (lr > 0 && worker->composed)
        composed_give(worker->composed);
    if (lr > 0 && worker->in->touches)
        count_touches(worker, begin);
    done->rows += worker->composed ? composed_rows(worker->composed)
                                   : worker->windows.last - worker->windows.first;
    done->rows += worker->windows.len * (worker->w->negatives + 1);
    done->examples += worker->windows.words;
    if (measure) {
        done->loss += loss;
        done->predictions += made;
    }
}

static size_t span_end(size_t begin, size_t end)
{
    size_t stop = (begin / SPAN + 1) * SPAN;

    return stop < end ? stop : end;
}

void w2v_worker_train(struct w2v_worker *worker, unsigned epoch, size_t begin, size_t end, float lr,
                      struct sums *done)
{
    for (size_t stop; begin < end; begin = stop) {
        stop = span_end(begin, end);
        take_span(worker, epoch, begin, stop, lr, begin / SPAN % LOSS_EVERY == 0, done);
    }
}

static void set_bit(uint64_t *bits, uint32_t row)
{
    bits[row / 64] |= 1ull << (row % 64);
}

static void list_word(const struct w2v *w, uint32_t word, uint64_t *in)
{
    for (size_t i = 0; i < w2v_rows(w->grams, word); i++)
        set_bit(in, w2v_row(w->grams, word, i));
}

/* Words that no window reaches are among them: they are fetched ahead all the same. */
static void list_span(const struct w2v_worker *worker, uint64_t *in, uint64_t *out)
{
    const struct windows *ws = &worker->windows;
    const struct w2v *w = worker->w;

    for (uint32_t i = 0; i < ws->kept_count; i++)
        if (ws->kept[i] != SHOAL_SENTENCE_END)
            list_word(w, ws->kept[i], in);
    for (size_t t = 0; t < ws->len; t++) {
        uint32_t word = ws->kept[ws->at[t].centre];

        if (w->negatives)
            set_bit(out, word);
        else
            for (uint32_t i = w->path[word]; i < w->path[word + 1]; i++)
                set_bit(out, w->node[i]);
    }
    for (size_t i = 0; i < ws->len * w->negatives; i++)
        set_bit(out, worker->noise[i]);
}

void w2v_worker_list(struct w2v_worker *worker, unsigned epoch, size_t begin, size_t end,
                     uint64_t *in, uint64_t *out)
{
    for (size_t stop; begin < end; begin = stop) {
        stop = span_end(begin, end);
        draw_span(worker, epoch, begin, stop);
        list_span(worker, in, out);
    }
}

/* A rate of zero changes nothing; an epoch of its own keeps the noise the same
 * each time. */
void w2v_worker_loss(struct w2v_worker *worker, size_t begin, size_t end, struct sums *done)
{
    for (size_t stop; begin < end; begin = stop) {
        stop = span_end(begin, end);
        take_span(worker, W2V_LOSS_EPOCH, begin, stop, 0, true, done);
    }
}
