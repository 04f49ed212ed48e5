/* Next words: their ranks behind a predicted vector, and the continuation of text. */
#include "saved/saved.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

float *word_ranks_prior(const shoal_vocab *words)
{
    size_t n = shoal_vocab_size(words);
    float *prior = mem_array(n, sizeof *prior);

    for (uint32_t i = 0; prior && i < n; i++)
        prior[i] = logf((float)(shoal_vocab_count(words, i) + 1));
    return prior;
}

/* scores [n][words] = by x v */
static shoal_status multiply(const struct table *v, const float *x, size_t n, float by,
                             float *scores)
{
    return gemm(false, true, n, v->rows, v->width, by, x, v->width, v->at, v->stride, 0, scores,
                v->rows);
}

/* scores [n][words] = weight x v + prior */
static shoal_status score_words(const struct word_ranks *r, const float *x, size_t n,
                                float *scores)
{
    const struct table *v = r->vectors;
    shoal_status st = multiply(v, x, n, r->weight, scores);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        for (size_t w = 0; w < v->rows; w++)
            scores[i * v->rows + w] += r->prior[w];
    return st;
}

static uint32_t count_above(const float *scores, size_t n, uint32_t word)
{
    float own = scores[word];
    uint32_t above = 0;

    for (size_t w = 0; w < n; w++)
        above += scores[w] > own;
    return above;
}

shoal_status word_ranks_above(const struct word_ranks *r, const float *x, const uint32_t *word,
                              size_t n, float *scores, uint32_t *above)
{
    size_t words = r->vectors->rows, dim = r->vectors->width;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i += RANKS_AT_ONCE) {
        size_t some = n - i < RANKS_AT_ONCE ? n - i : RANKS_AT_ONCE;

        st = score_words(r, x + i * dim, some, scores);
        for (size_t k = 0; k < some && st == SHOAL_OK; k++)
            above[i + k] = count_above(scores + k * words, words, word[i + k]);
    }
    return st;
}

/* ---- the weight ---- */

struct slope {
    double first, second; /* of the log-likelihood by the weight */
};

/* The likelihood of one word among all whose products are x [words]. */
static void add_slope(struct slope *s, const struct word_ranks *r, const struct kernel *k,
                      const float *x, uint32_t word, float *room)
{
    size_t n = r->vectors->rows;
    double mean = 0, square = 0;
    float top, total;

    for (size_t w = 0; w < n; w++)
        room[w] = r->weight * x[w];
    total = k->exps(room, r->prior, &top, n);
    for (size_t w = 0; w < n; w++) {
        double p = (double)(room[w] / total), y = (double)x[w];

        mean += p * y;
        square += p * y * y;
    }
    s->first += (double)x[word] - mean;
    s->second -= square - mean * mean;
}

/* The log-likelihood is concave in the weight, so Newton's method finds its only maximum; steps are
 * limited, for far from it the second derivative says little. */
shoal_status word_ranks_fit(struct word_ranks *r, const float *x, const uint32_t *word, size_t n,
                            float *scores)
{
    enum { ROUNDS = 12 };
    size_t words = r->vectors->rows;
    const struct kernel *k;
    float *room = mem_array(words, sizeof *room);
    shoal_status st = room ? kernel_choose(&k) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = multiply(r->vectors, x, n, 1, scores);
    r->weight = 0;
    for (int round = 0; round < ROUNDS && st == SHOAL_OK; round++) {
        struct slope s = {0};
        double step, most = 0.05 + 0.5 * (double)r->weight;

        for (size_t i = 0; i < n; i++)
            add_slope(&s, r, k, scores + i * words, word[i], room);
        step = s.second < 0 ? -s.first / s.second : 0;
        step = step > most ? most : step < -most ? -most : step;
        r->weight = fmaxf(0, r->weight + (float)step);
    }
    free(room);
    return st;
}

/* ---- text ---- */

const char *shoal_nextword_word(const shoal_net *net, uint32_t id)
{
    return net->words ? shoal_vocab_word(net->words, id) : NULL;
}

/* Of a word that white space parts, of whatever text: as it is, else as `--tokens words` has it. */
static uint32_t find_word(const shoal_net *net, const char *at, size_t len)
{
    static const struct rules plain = {.tokens = SHOAL_TOKENS_WORDS};
    struct bytes lower = {0};
    uint32_t id = shoal_vocab_find(net->words, at, len);

    if (id == SHOAL_NO_ID && clean_find_bad(at, len) == len &&
        clean_words(at, len, &plain, &lower) == SHOAL_OK) {
        size_t from = 0, to = lower.len;

        while (from < to && lower.at[from] == ' ')
            from++;
        while (to > from && lower.at[to - 1] == ' ')
            to--;
        id = to > from ? shoal_vocab_find(net->words, lower.at + from, to - from) : SHOAL_NO_ID;
    }
    bytes_fini(&lower);
    return id;
}

#define TAIL_BYTES ((size_t)SHOAL_WORD_MAX + 1)

/* Where the vectors of the last known words go, from the end of x [length][dim] on. */
struct last {
    const shoal_net *net;
    float *x;
    size_t length, found;
};

static void last_add(struct last *l, uint32_t id)
{
    const struct table *v = &l->net->vectors;

    if (id == SHOAL_NO_ID)
        return;
    l->found++;
    memcpy(l->x + (l->length - l->found) * v->width, v->at + id * v->stride,
           v->width * sizeof *l->x);
}

/* By white space, from the end on. */
static void last_by_space(struct last *l, const char *text)
{
    size_t begin, end = strlen(text);

    while (l->found < l->length && end > 0) {
        while (end > 0 && strchr(" \t\r\n", text[end - 1]))
            end--;
        for (begin = end; begin > 0 && !strchr(" \t\r\n", text[begin - 1]);)
            begin--;
        last_add(l, begin < end ? find_word(l->net, text + begin, end - begin) : SHOAL_NO_ID);
        end = begin;
    }
}

/* Where the last words of the text begin: at a separator as far back as memory for them is
 * bounded, whatever a request may send. */
static size_t tail_begin(const char *text, size_t end, const struct rules *r)
{
    size_t begin = end > TAIL_BYTES ? end - TAIL_BYTES : 0, found;

    for (int i = 0; i < 3 && begin > 0 && ((unsigned char)text[begin] & 0xc0) == 0x80; i++)
        begin++; /* within a character */
    found = begin + clean_first_break(text + begin, end - begin, r);
    return begin > 0 && found < end ? found : begin;
}

/* By the rules that made words of the text it was trained on. */
static shoal_status last_by_rules(struct last *l, const char *text, const struct rules *r)
{
    size_t begin, end = strlen(text), n;
    shoal_status st = SHOAL_OK;

    for (; st == SHOAL_OK && l->found < l->length && end > 0; end = begin) {
        struct span *words = NULL;
        struct block block;

        begin = tail_begin(text, end, r);
        st = text_words(text + begin, end - begin, r, &block, &words, &n);
        while (st == SHOAL_OK && l->found < l->length && n-- > 0)
            last_add(l, shoal_vocab_find(l->net->words, words[n].at, words[n].len));
        free(words);
        block_fini(&block);
    }
    return st;
}

/* The last `length` known words of the text, from the end of x [length][dim] on; zeros
 * where there are fewer. *found is how many. */
static shoal_status last_words(const shoal_net *net, const char *text, size_t length, float *x,
                               size_t *found)
{
    struct last l = {.net = net, .x = x, .length = length};
    struct rules r = vocab_rules(net->words);
    shoal_status st = SHOAL_OK;

    memset(x, 0, length * net->vectors.width * sizeof *x);
    if (r.tokens == SHOAL_TOKENS_SPACE)
        last_by_space(&l, text);
    else
        st = last_by_rules(&l, text, &r);
    *found = l.found;
    return st;
}

static size_t take_best(const float *p, size_t n, struct shoal_hit *hits, size_t k)
{
    size_t found = 0;

    for (uint32_t w = 0; k > 0 && w < n; w++) {
        size_t at = found;

        if (found == k && p[w] <= hits[k - 1].score)
            continue;
        found += found < k;
        for (at = found - 1; at > 0 && hits[at - 1].score < p[w]; at--)
            hits[at] = hits[at - 1];
        hits[at] = (struct shoal_hit){w, p[w]};
    }
    return found;
}

struct continuer {
    const shoal_net *net;
    const struct kernel *kernel;
    struct asker *asker;
    size_t most, length; /* texts; words that the net sees of each */
    float *scores;       /* [most][words] */
    float *prior;        /* [words] */
    float *inverse;      /* [words] 1 / length of the vector; NULL: nobody asked yet */
    float weight;
};

static shoal_status continuer_init(struct continuer *c)
{
    const struct net *net = c->net->net;
    const char *weight = shoal_net_fact(c->net, "weight");
    shoal_status st;

    c->weight = weight ? number_read_float(weight, NULL) : 1;
    if (!(c->weight >= 0 && isfinite(c->weight)) || net->inputs % net->outputs != 0)
        return shoal_fail(SHOAL_EFORMAT, "net: the weight of its vectors is %g, want 0 or more",
                          (double)c->weight);
    c->length = net->inputs / net->outputs;
    c->scores = mem_array(c->most * c->net->vectors.rows, sizeof *c->scores);
    c->prior = word_ranks_prior(c->net->words);
    st = c->scores && c->prior ? kernel_choose(&c->kernel) : SHOAL_ENOMEM;
    return st == SHOAL_OK ? asker_new(&c->asker, c->net, c->most) : st;
}

shoal_status continuer_new(struct continuer **out, const shoal_net *net, size_t most)
{
    struct continuer *c;
    shoal_status st;

    *out = NULL;
    if (!net->words)
        return shoal_fail(SHOAL_EINVAL, "net: predicts no words, want one from `shoal train "
                          "nextword`");
    c = mem_array(1, sizeof *c);
    if (!c)
        return SHOAL_ENOMEM;
    *c = (struct continuer){.net = net, .most = most};
    st = continuer_init(c);
    if (st == SHOAL_OK)
        *out = c;
    else
        continuer_free(c);
    return st;
}

void continuer_free(struct continuer *c)
{
    if (!c)
        return;
    asker_free(c->asker);
    free(c->scores);
    free(c->prior);
    free(c->inverse);
    free(c);
}

/* A row of zeros has no direction: 0. */
static float inverse_length(const float *row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)row[i] * (double)row[i];
    return sum > 0 ? (float)(1 / sqrt(sum)) : 0;
}

static shoal_status measure_words(struct continuer *c)
{
    const struct table *v = &c->net->vectors;

    if (c->inverse)
        return SHOAL_OK;
    c->inverse = mem_array(v->rows, sizeof *c->inverse);
    for (size_t w = 0; c->inverse && w < v->rows; w++)
        c->inverse[w] = inverse_length(v->at + w * v->stride, v->width);
    return c->inverse ? SHOAL_OK : SHOAL_ENOMEM;
}

/* By the cosine to y [outputs]; scores [words] are spoilt. */
static shoal_status take_nearest(struct continuer *c, struct continuation *a, const float *y,
                                 float *scores)
{
    const struct table *v = &c->net->vectors;
    float own = inverse_length(y, v->width);
    shoal_status st = measure_words(c);

    if (st == SHOAL_OK)
        st = multiply(v, y, 1, own, scores);
    for (size_t w = 0; w < v->rows && st == SHOAL_OK; w++)
        scores[w] *= c->inverse[w];
    if (st == SHOAL_OK)
        a->found = take_best(scores, v->rows, a->hits, a->k);
    return st;
}

/* The likeliest of scores [words], which are spoilt. */
static void take_likeliest(const struct continuer *c, struct continuation *a, float *scores)
{
    size_t words = c->net->vectors.rows;
    float top, total = c->kernel->exps(scores, c->prior, &top, words);

    a->found = take_best(scores, words, a->hits, a->k);
    for (size_t i = 0; i < a->found; i++)
        a->hits[i].score /= total;
}

/* Of y [outputs] and what all words score behind it. */
static shoal_status take_answer(struct continuer *c, struct continuation *a, const float *y,
                                float *scores)
{
    if (a->vector)
        memcpy(a->vector, y, c->net->net->outputs * sizeof *y);
    if (a->nearest)
        return take_nearest(c, a, y, scores);
    take_likeliest(c, a, scores);
    return SHOAL_OK;
}

shoal_status continuer_ask(struct continuer *c, struct continuation *const *asks, size_t n)
{
    struct continuation *known[CONTINUED];
    size_t m = 0, width = c->net->net->outputs, found;
    shoal_status st = SHOAL_OK;

    assert(n <= c->most && n <= CONTINUED);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        asks[i]->found = found = 0;
        st = last_words(c->net, asks[i]->text, c->length, c->asker->x + m * c->net->net->inputs,
                        &found);
        asks[i]->known = found > 0;
        known[m] = asks[i];
        m += asks[i]->known;
    }
    if (st != SHOAL_OK || m == 0)
        return st;
    st = asker_run(c->asker, m);
    if (st == SHOAL_OK)
        st = multiply(&c->net->vectors, c->asker->y, m, c->weight, c->scores);
    for (size_t i = 0; i < m && st == SHOAL_OK; i++)
        st = take_answer(c, known[i], c->asker->y + i * width,
                         c->scores + i * c->net->vectors.rows);
    return st;
}

static shoal_status ask_one(const shoal_net *net, struct continuation *one)
{
    struct continuer *c = NULL;
    shoal_status st = continuer_new(&c, net, 1);

    if (st == SHOAL_OK)
        st = continuer_ask(c, &one, 1);
    if (st == SHOAL_OK && !one->known)
        st = shoal_fail(SHOAL_ENOENT, "net: none of the words of '%.60s' is known", one->text);
    continuer_free(c);
    return st;
}

shoal_status shoal_nextword_predict(const shoal_net *net, const char *text, struct shoal_hit *hits,
                                    size_t k, size_t *found)
{
    struct continuation one = {.text = text, .hits = hits, .k = k};
    shoal_status st = k > 0 ? ask_one(net, &one) : SHOAL_OK;

    *found = st == SHOAL_OK ? one.found : 0;
    return st;
}

shoal_status shoal_nextword_vector(const shoal_net *net, const char *text, float *vector,
                                   struct shoal_hit *hits, size_t k, size_t *found)
{
    struct continuation one = {
        .text = text, .hits = hits, .k = k, .vector = vector, .nearest = true};
    shoal_status st = ask_one(net, &one);

    *found = st == SHOAL_OK ? one.found : 0;
    return st;
}
