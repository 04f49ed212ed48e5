/* What a net says of some examples, for people to look at. */
#include "eval/eval.h"
#include "train/dense/net.h"

#include <stdlib.h>

enum { AT_ONCE = 64 }; /* samples, at most */
#define SHOWN_FLOPS 5e11 /* about what asking may take: seconds */

/* The gradient takes three times what an answer does. */
static size_t examples_most(const struct run *r, size_t all)
{
    double most = SHOWN_FLOPS / (r->dense->net->flops / 3 + 1);
    size_t n = all < LEARNED_EXAMPLES ? all : LEARNED_EXAMPLES;

    most = most < AT_ONCE ? AT_ONCE : most;
    return most < (double)n ? (size_t)most : n;
}

/* What is asked together: no more than a step's, which is what tasks are prepared for. */
struct shown {
    size_t most;
    void *worker;
    float *x, *y;
    uint32_t *ids, *label;
};

static shoal_status shown_init(struct shown *s, const struct run *r)
{
    const struct net *net = r->dense->net;
    size_t share = r->dense->share, most = share < AT_ONCE ? share : AT_ONCE;

    most = most > 0 ? most : 1;
    *s = (struct shown){.most = most,
                        .x = mem_array(most * net->inputs, sizeof *s->x),
                        .y = mem_array(most * net->outputs, sizeof *s->y),
                        .ids = mem_array(most, sizeof *s->ids),
                        .label = mem_array(most, sizeof *s->label)};
    if (!s->x || !s->y || !s->ids || !s->label)
        return SHOAL_ENOMEM;
    return net->ops->worker_new(&s->worker, net, most, net->alone ? r->threads : 1);
}

static void shown_fini(struct shown *s, const struct run *r)
{
    if (s->worker)
        r->dense->net->ops->worker_free(s->worker);
    free(s->x);
    free(s->y);
    free(s->ids);
    free(s->label);
}

/* Of those that are asked from number `from` on some, *n; their answers are in s->y or `said`, and
 * what is true in s->label or `truth`. */
static shoal_status ask_some(struct shown *s, const struct run *r, const struct learned *l,
                             size_t from, size_t *n, float *said, float *truth)
{
    const struct net *net = r->dense->net;
    size_t left = (size_t)l->examples - from;
    struct net_take take = {.ids = s->ids, .valid = l->held, .epoch = r->at.epoch};
    shoal_status st;

    *n = take.n = left < s->most ? left : s->most;
    for (size_t i = 0; i < *n; i++)
        s->ids[i] = (uint32_t)learned_pick(from + i, l->examples, l->all);
    st = r->task->net->fill(r, &take, s->x, s->label, truth);
    if (st == SHOAL_OK)
        st = net->ops->predict(s->worker, r->dense->params, s->x, *n, said ? said : s->y);
    return st;
}

static void choose_examples(const struct run *r, struct learned *l)
{
    l->held = r->dense->valid > 0;
    l->all = l->held ? r->dense->valid : r->dense->train;
    l->examples = examples_most(r, l->all);
}

shoal_status net_predictions(struct run *r, struct learned *l, struct predictions **out)
{
    unsigned mode = floats_flush();
    size_t outputs = r->dense->net->outputs, n;
    struct shown s = {0};
    shoal_status st;

    choose_examples(r, l);
    st = predictions_new(out, (unsigned)outputs, l->examples);
    if (st == SHOAL_OK)
        st = shown_init(&s, r);
    for (size_t i = 0; i < l->examples && st == SHOAL_OK; i += s.most) {
        st = ask_some(&s, r, l, i, &n, NULL, NULL);
        for (size_t k = 0; k < n && st == SHOAL_OK; k++)
            st = predictions_add(*out, s.y + k * outputs, s.label[k]);
    }
    shown_fini(&s, r);
    floats_set(mode);
    return st;
}

shoal_status net_answers(struct run *r, struct learned *l, float **said, float **truth)
{
    unsigned mode = floats_flush();
    size_t outputs = r->dense->net->outputs, n;
    struct shown s = {0};
    shoal_status st;

    choose_examples(r, l);
    *said = mem_array(l->examples * outputs + 1, sizeof **said);
    *truth = mem_array(l->examples * outputs + 1, sizeof **truth);
    st = *said && *truth ? shown_init(&s, r) : SHOAL_ENOMEM;
    for (size_t i = 0; i < l->examples && st == SHOAL_OK; i += s.most)
        st = ask_some(&s, r, l, i, &n, *said + i * outputs, *truth + i * outputs);
    shown_fini(&s, r);
    floats_set(mode);
    return st;
}
