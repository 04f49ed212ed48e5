/* What a trained net answers, and how well. */
#include "saved/net/score.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 256 }; /* samples */
#define WORKER_MOST ((size_t)512 << 20) /* bytes of layers of what is asked together */

void trained_scale(const shoal_net *t, float *x, size_t n)
{
    for (size_t i = 0; i < n && t->in.n; i++)
        scaling_apply(&t->in, x + i * t->net->inputs);
}

/* Back to the units of the data. */
static void unscale(const shoal_net *t, float *y, size_t n)
{
    const struct scaling *s = &t->out;

    for (size_t i = 0; i < n && s->n; i++)
        for (size_t o = 0; o < s->n; o++) {
            float *at = &y[i * s->n + o];

            *at = s->inverse[o] > 0 ? *at / s->inverse[o] + s->mean[o] : s->mean[o];
        }
}

/* Scratch of one who asks. */
struct asking {
    const shoal_net *net;
    void *worker;
    size_t most;
    float *x; /* [most][inputs] */
};

static shoal_status asking_init(struct asking *a, const shoal_net *net, size_t most)
{
    *a = (struct asking){.net = net, .most = most};
    a->x = mem_map(most * net->net->inputs * sizeof *a->x);
    if (!a->x)
        return SHOAL_ENOMEM;
    return net->net->ops->worker_new(&a->worker, net->net, most, net->net->alone ? 0 : 1);
}

static void asking_fini(struct asking *a)
{
    if (a->worker)
        a->net->net->ops->worker_free(a->worker);
    mem_unmap(a->x, a->most * a->net->net->inputs * sizeof *a->x);
}

/* a->x has n inputs in the units of the data. */
static shoal_status ask(struct asking *a, size_t n, float *y)
{
    shoal_status st;

    trained_scale(a->net, a->x, n);
    st = a->net->net->ops->predict(a->worker, a->net->params, a->x, n, y);
    unscale(a->net, y, n);
    return st;
}

shoal_status shoal_net_predict(const shoal_net *net, const float *x, size_t n, float *y)
{
    size_t in = net->net->inputs, out = net->net->outputs;
    struct asking a;
    shoal_status st = asking_init(&a, net, n < AT_ONCE ? n : AT_ONCE);

    for (size_t i = 0; i < n && st == SHOAL_OK; i += AT_ONCE) {
        size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

        memcpy(a.x, x + i * in, some * in * sizeof *x);
        st = ask(&a, some, y + i * out);
    }
    asking_fini(&a);
    return st;
}

struct asker {
    struct asking asking;
    float *y; /* [most][outputs] */
};

size_t asker_fit(const shoal_net *net, size_t most)
{
    const struct net *n = net->net;

    while (most > 1 && n->ops->worker_bytes(n, most, n->alone ? 0 : 1) > WORKER_MOST)
        most /= 2;
    return most;
}

shoal_status asker_new(struct asker **out, const shoal_net *net, size_t most)
{
    struct asker *a = mem_array(1, sizeof *a);
    shoal_status st = SHOAL_ENOMEM;

    *out = a;
    if (!a)
        return st;
    a->y = mem_array(most * net->net->outputs, sizeof *a->y);
    st = a->y ? asking_init(&a->asking, net, most) : st;
    if (st != SHOAL_OK) {
        asker_free(a);
        *out = NULL;
    }
    return st;
}

shoal_status asker_ask(struct asker *a, const float *const *x, size_t n, float *const *y)
{
    const struct net *net = a->asking.net->net;
    shoal_status st;

    assert(n <= a->asking.most);
    for (size_t i = 0; i < n; i++)
        memcpy(a->asking.x + i * net->inputs, x[i], net->inputs * sizeof **x);
    st = ask(&a->asking, n, a->y);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        memcpy(y[i], a->y + i * net->outputs, net->outputs * sizeof **y);
    return st;
}

void asker_free(struct asker *a)
{
    if (!a)
        return;
    if (a->asking.net)
        asking_fini(&a->asking);
    free(a->y);
    free(a);
}

static void raw_row(const shoal_samples *s, size_t id, float *out)
{
    for (size_t j = 0; j < s->inputs; j++)
        out[j] = s->x ? s->x[id * s->inputs + j] : s->bytes[id * s->inputs + j];
}

static shoal_status check_samples(const shoal_net *net, const shoal_samples *s)
{
    if (s->inputs == net->net->inputs)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "net: a sample has %zu numbers, want %zu as the net was "
                      "trained with", s->inputs, net->net->inputs);
}

shoal_status shoal_net_predict_samples(const shoal_net *net, const shoal_samples *s, size_t from,
                                       size_t n, float *y)
{
    struct asking a = {.net = net};
    shoal_status st = check_samples(net, s);

    if (st == SHOAL_OK && (from > s->n || n > s->n - from))
        st = shoal_fail(SHOAL_EINVAL, "net: samples %zu to %zu, found %zu", from, from + n, s->n);
    if (st != SHOAL_OK)
        return st;
    st = asking_init(&a, net, AT_ONCE);
    for (size_t i = 0; i < n && st == SHOAL_OK; i += AT_ONCE) {
        size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

        for (size_t k = 0; k < some; k++)
            raw_row(s, from + i + k, a.x + k * s->inputs);
        st = ask(&a, some, y + i * net->net->outputs);
    }
    asking_fini(&a);
    return st;
}

/* ---- how well ---- */

static size_t likeliest(const float *y, size_t n)
{
    size_t best = 0;

    for (size_t o = 1; o < n; o++)
        best = y[o] > y[best] ? o : best;
    return best;
}

shoal_status net_score_class(struct net_score *s, const float *y, size_t n, uint32_t label)
{
    size_t best = likeliest(y, n), above = 0;

    for (size_t o = 0; o < n; o++)
        above += y[o] > y[label];
    s->loss -= log(fmax((double)y[label], 1e-38));
    s->right += best == label;
    s->right5 += above < 5;
    if (s->confusion)
        s->confusion[label * n + best]++;
    return s->classes ? classes_add(s->classes, y, label) : SHOAL_OK;
}

static void score_targets(struct net_score *s, const float *y, const float *want, size_t n)
{
    double squared = 0, absolute = 0;

    for (size_t o = 0; o < n; o++) {
        double d = (double)y[o] - (double)want[o];

        squared += d * d;
        absolute += fabs(d);
    }
    s->squared += squared / (double)n;
    s->absolute += absolute / (double)n;
}

static shoal_status check_answers(const shoal_net *net, const shoal_samples *s)
{
    size_t outputs = net->net->outputs;

    if (net->net->classes && !s->label)
        return shoal_fail(SHOAL_EINVAL, "net: samples have no classes, which the net predicts");
    if (!net->net->classes && s->targets != outputs)
        return shoal_fail(SHOAL_EINVAL, "net: a sample has %zu targets, want %zu", s->targets,
                          outputs);
    for (size_t i = 0; net->net->classes && i < s->n; i++)
        if (s->label[i] >= outputs)
            return shoal_fail(SHOAL_EINVAL, "net: sample %zu (from 0) has class %u, want 0 to %zu "
                              "as the net was trained with", i, s->label[i], outputs - 1);
    return SHOAL_OK;
}

void net_score_sum(const struct net_score *s, size_t n, bool classes, struct shoal_net_figures *f)
{
    double by = 1 / (double)n;

    *f = (struct shoal_net_figures){.loss = classes ? s->loss * by : s->squared * by,
                                    .accuracy = classes ? s->right * by : NAN,
                                    .top5 = classes ? s->right5 * by : NAN,
                                    .mse = classes ? NAN : s->squared * by,
                                    .mae = classes ? NAN : s->absolute * by,
                                    .rmse = classes ? NAN : sqrt(s->squared * by),
                                    .cosine = NAN, .word1 = NAN, .word5 = NAN, .word10 = NAN};
}

shoal_status net_score_samples(struct net_score *score, const shoal_net *net,
                               const shoal_samples *s, struct shoal_net_figures *out)
{
    size_t outputs = net->net->outputs;
    float *y = mem_array(AT_ONCE * outputs, sizeof *y);
    shoal_status st = y ? check_answers(net, s) : SHOAL_ENOMEM;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i += AT_ONCE) {
        size_t some = s->n - i < AT_ONCE ? s->n - i : AT_ONCE;

        st = shoal_net_predict_samples(net, s, i, some, y);
        for (size_t k = 0; k < some && st == SHOAL_OK; k++) {
            if (net->net->classes)
                st = net_score_class(score, y + k * outputs, outputs, s->label[i + k]);
            else
                score_targets(score, y + k * outputs, s->y + (i + k) * outputs, outputs);
        }
    }
    net_score_sum(score, s->n, net->net->classes, out);
    free(y);
    return st;
}

shoal_status shoal_net_eval(const shoal_net *net, const shoal_samples *s,
                            struct shoal_net_figures *out, uint64_t *confusion)
{
    return net_score_samples(&(struct net_score){.confusion = confusion}, net, s, out);
}
