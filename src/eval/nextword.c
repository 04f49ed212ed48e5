/* Next words: their ranks behind a predicted vector, and the continuation of text. */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

float *words_prior(const shoal_vocab *words)
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

shoal_status words_above(const struct word_ranks *r, const float *x, const uint32_t *word,
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

/* The log-likelihood is concave in the weight: Newton's method, held back. */
shoal_status words_fit(struct word_ranks *r, const float *x, const uint32_t *word, size_t n,
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

bool shoal_net_continues(const shoal_net *net)
{
    return net->words != NULL;
}

const char *shoal_nextword_word(const shoal_net *net, uint32_t id)
{
    return net->words ? shoal_vocab_word(net->words, id) : NULL;
}

static uint32_t find_word(const shoal_net *net, const char *at, size_t len)
{
    struct bytes lower = {0};
    uint32_t id = shoal_vocab_find(net->words, at, len);

    if (id == SHOAL_NO_ID && clean_find_bad(at, len) == len &&
        clean_words(at, len, &lower) == SHOAL_OK) {
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

/* The last `length` known words of the text, from the end of x [length][dim] on; zeros
 * where there are fewer. Gives how many. */
static size_t last_words(const shoal_net *net, const char *text, size_t length, float *x)
{
    size_t dim = net->vectors.width, found = 0, end = strlen(text);

    memset(x, 0, length * dim * sizeof *x);
    while (found < length && end > 0) {
        size_t begin;
        uint32_t id;

        while (end > 0 && strchr(" \t\r\n", text[end - 1]))
            end--;
        for (begin = end; begin > 0 && !strchr(" \t\r\n", text[begin - 1]);)
            begin--;
        id = begin < end ? find_word(net, text + begin, end - begin) : SHOAL_NO_ID;
        if (id != SHOAL_NO_ID) {
            found++;
            memcpy(x + (length - found) * dim, net->vectors.at + id * net->vectors.stride,
                   dim * sizeof *x);
        }
        end = begin;
    }
    return found;
}

static void to_probabilities(float *scores, size_t n)
{
    float top = scores[0];
    double total = 0;

    for (size_t w = 1; w < n; w++)
        top = scores[w] > top ? scores[w] : top;
    for (size_t w = 0; w < n; w++)
        total += (double)(scores[w] = expf(scores[w] - top));
    for (size_t w = 0; w < n; w++)
        scores[w] /= (float)total;
}

static size_t take_best(const float *p, size_t n, struct shoal_hit *hits, size_t k)
{
    size_t found = 0;

    for (uint32_t w = 0; w < n; w++) {
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

struct question {
    size_t length;
    float *x, *y, *scores, *prior;
    float weight;
};

static shoal_status question_init(struct question *q, const shoal_net *net)
{
    const char *weight;

    *q = (struct question){0};
    if (!net->words)
        return shoal_fail(SHOAL_EINVAL, "net: predicts no words, want one from `shoal train "
                          "nextword`");
    weight = shoal_net_fact(net, "weight");
    q->weight = weight ? strtof(weight, NULL) : 1;
    if (!(q->weight >= 0 && isfinite(q->weight)) || net->net->inputs % net->net->outputs != 0)
        return shoal_fail(SHOAL_EFORMAT, "net: the weight of its vectors is %g, want 0 or more",
                          (double)q->weight);
    q->length = net->net->inputs / net->net->outputs;
    q->x = mem_array(net->net->inputs, sizeof *q->x);
    q->y = mem_array(net->net->outputs, sizeof *q->y);
    q->scores = mem_array(net->vectors.rows, sizeof *q->scores);
    q->prior = words_prior(net->words);
    return q->x && q->y && q->scores && q->prior ? SHOAL_OK : SHOAL_ENOMEM;
}

static void question_fini(struct question *q)
{
    free(q->x);
    free(q->y);
    free(q->scores);
    free(q->prior);
}

shoal_status shoal_nextword_predict(const shoal_net *net, const char *text, struct shoal_hit *hits,
                                    size_t k, size_t *found)
{
    struct question q;
    shoal_status st = question_init(&q, net);

    *found = 0;
    if (st == SHOAL_OK && last_words(net, text, q.length, q.x) == 0)
        st = shoal_fail(SHOAL_ENOENT, "net: none of the words of '%.60s' is known", text);
    if (st == SHOAL_OK)
        st = shoal_net_predict(net, q.x, 1, q.y);
    if (st == SHOAL_OK)
        st = score_words(&(struct word_ranks){&net->vectors, q.prior, q.weight}, q.y, 1,
                         q.scores);
    if (st == SHOAL_OK) {
        to_probabilities(q.scores, net->vectors.rows);
        *found = take_best(q.scores, net->vectors.rows, hits, k);
    }
    question_fini(&q);
    return st;
}
