/* What a trained net answers, and how well. */
#include "saved/net/score.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 256 }; /* samples */
#define WORKER_MOST ((size_t)512 << 20) /* bytes of layers of what is asked together */

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
    *a = (struct asker){.net = net, .most = most};
    a->x = mem_map(most * net->net->inputs * sizeof *a->x);
    a->y = mem_array(most * net->net->outputs, sizeof *a->y);
    if (a->x && a->y)
        st = net->net->ops->worker_new(&a->worker, net->net, most, net->net->alone ? 0 : 1);
    if (st != SHOAL_OK) {
        asker_free(a);
        *out = NULL;
    }
    return st;
}

shoal_status asker_run(struct asker *a, size_t n)
{
    const shoal_net *t = a->net;
    shoal_status st;

    assert(n <= a->most);
    for (size_t i = 0; i < n && t->in.n; i++)
        scaling_apply(&t->in, a->x + i * t->net->inputs);
    st = t->net->ops->predict(a->worker, t->params, a->x, n, a->y);
    unscale(t, a->y, n);
    return st;
}

shoal_status asker_ask(struct asker *a, const float *const *x, size_t n, float *const *y)
{
    size_t in = a->net->net->inputs, out = a->net->net->outputs;
    shoal_status st;

    assert(n <= a->most);
    for (size_t i = 0; i < n; i++)
        memcpy(a->x + i * in, x[i], in * sizeof **x);
    st = asker_run(a, n);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        memcpy(y[i], a->y + i * out, out * sizeof **y);
    return st;
}

void asker_free(struct asker *a)
{
    if (!a)
        return;
    if (a->worker)
        a->net->net->ops->worker_free(a->worker);
    mem_unmap(a->x, a->most * a->net->net->inputs * sizeof *a->x);
    free(a->y);
    free(a);
}

shoal_status shoal_net_predict(const shoal_net *net, const float *x, size_t n, float *y)
{
    size_t in = net->net->inputs, out = net->net->outputs;
    struct asker *a;
    shoal_status st = asker_new(&a, net, n < AT_ONCE ? n : AT_ONCE);

    for (size_t i = 0; i < n && st == SHOAL_OK; i += AT_ONCE) {
        size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

        memcpy(a->x, x + i * in, some * in * sizeof *x);
        st = asker_run(a, some);
        memcpy(y + i * out, a->y, some * out * sizeof *y);
    }
    asker_free(a);
    return st;
}

/* The answers for samples `from` to `from` + n <= AT_ONCE of them, in a->y. */
static shoal_status ask_samples(struct asker *a, const shoal_samples *s, size_t from, size_t n)
{
    for (size_t i = 0; i < n * s->inputs; i++)
        a->x[i] = s->x ? s->x[from * s->inputs + i] : s->bytes[from * s->inputs + i];
    return asker_run(a, n);
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
    size_t out = net->net->outputs;
    struct asker *a = NULL;
    shoal_status st = check_samples(net, s);

    if (st == SHOAL_OK && (from > s->n || n > s->n - from))
        st = shoal_fail(SHOAL_EINVAL, "net: samples %zu to %zu, found %zu", from, from + n, s->n);
    if (st == SHOAL_OK)
        st = asker_new(&a, net, AT_ONCE);
    for (size_t i = 0; i < n && st == SHOAL_OK; i += AT_ONCE) {
        size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

        st = ask_samples(a, s, from + i, some);
        memcpy(y + i * out, a->y, some * out * sizeof *y);
    }
    asker_free(a);
    return st;
}

/* ---- how well ---- */

size_t net_likeliest(const float *y, size_t n)
{
    size_t best = 0;

    for (size_t o = 1; o < n; o++)
        best = y[o] > y[best] ? o : best;
    return best;
}

shoal_status net_score_class(struct net_score *s, const float *y, size_t n, uint32_t label)
{
    size_t above = 0;

    for (size_t o = 0; o < n; o++)
        above += y[o] > y[label];
    s->n++;
    s->loss -= log(fmax((double)y[label], 1e-38));
    s->right += net_likeliest(y, n) == label;
    s->right5 += above < 5;
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
    s->n++;
    s->loss += squared / (double)n;
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

shoal_status net_score_samples(struct net_score *score, const shoal_net *net,
                               const shoal_samples *s)
{
    size_t outputs = net->net->outputs;
    struct asker *a = NULL;
    shoal_status st = check_answers(net, s);

    if (st == SHOAL_OK)
        st = check_samples(net, s);
    if (st == SHOAL_OK)
        st = asker_new(&a, net, AT_ONCE);
    for (size_t i = 0; i < s->n && st == SHOAL_OK; i += AT_ONCE) {
        size_t some = s->n - i < AT_ONCE ? s->n - i : AT_ONCE;

        st = ask_samples(a, s, i, some);
        for (size_t k = 0; k < some && st == SHOAL_OK; k++) {
            if (net->net->classes)
                st = net_score_class(score, a->y + k * outputs, outputs, s->label[i + k]);
            else
                score_targets(score, a->y + k * outputs, s->y + (i + k) * outputs, outputs);
        }
    }
    asker_free(a);
    return st;
}
