/* Classes of bags of rows (Joulin et al. 2016). A line has n input rows, its words' and n-grams',
 * and labels:
 *
 *     h = 1/n sum over i of in[i]                 z_k = h . out[k]
 *
 *     softmax   -log softmax(z)_y                 y: one of the line's labels, drawn anew each time
 *     ova       sum over k of logistic(z_k, [k is a label])
 *     ns        logistic(z_y, 1) + sum over drawn k of logistic(z_k, 0)
 *     hs        sum over the nodes q on the way to y of logistic(h . out[q], branch)
 *
 * where logistic(x, 1) = -log sigmoid(x) and logistic(x, 0) = -log sigmoid(-x). With g_k the
 * negative slope of the loss by z_k,
 *
 *     out[k] += lr g_k h        in[i] += lr / n sum over k of g_k out[k]
 *
 * by the values before the step. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_LABEL = 9, /* of the random numbers */
    DRAWS = 1024,     /* of a line, about */
};

/* ---- what all workers share ---- */

size_t classify_out_rows(enum shoal_loss loss, size_t classes)
{
    return loss == SHOAL_HS ? classes - 1 : classes;
}

shoal_status classify_init(struct classify *c, const struct train_opts *o,
                           const shoal_vocab *labels, const float *weight,
                           const struct kernel *kernel)
{
    struct train_opts own = *o;
    size_t classes = shoal_vocab_size(labels);

    *c = (struct classify){.kernel = kernel, .loss = o->loss, .classes = (uint32_t)classes,
                           .dim = o->dim, .weight = weight, .seed = o->seed};
    if (classes < 2)
        return shoal_fail(SHOAL_EINVAL, "classify: found %zu label%s, want two or more", classes,
                          classes == 1 ? "" : "s");
    own.ns_exponent = 0.5;
    own.sample = 0;
    own.maxn = 0;
    return w2v_init(&c->draw, &own, labels, NULL, 0, kernel);
}

void classify_fini(struct classify *c)
{
    w2v_fini(&c->draw);
    *c = (struct classify){0};
}

/* Evenly from -1/dim to 1/dim: twice as far as word vectors begin. */
void classify_start(struct table *in, size_t words, uint64_t seed)
{
    w2v_start(in, NULL, words, seed);
    for (size_t i = 0; i < words * in->stride; i++)
        in->at[i] *= 2;
}

/* ---- a worker ---- */

struct classify_worker {
    const struct classify *c;
    struct view *in, *out;
    float **row;          /* [most] of the line */
    float **class;        /* [out rows] */
    float *hidden, *grad; /* [stride] */
    float *z, *zero;      /* [classes] */
};

static float *row_of_zeros(size_t n)
{
    return mem_map(table_stride(n) * sizeof(float));
}

static void drop_row(float *row, size_t n)
{
    mem_unmap(row, table_stride(n) * sizeof(float));
}

shoal_status classify_join(struct classify_worker **out, const struct classify *c, struct view *in,
                           struct view *out_rows, size_t most)
{
    struct classify_worker *w = mem_array(1, sizeof *w);

    *out = w;
    if (!w)
        return SHOAL_ENOMEM;
    w->c = c;
    w->in = in;
    w->out = out_rows;
    w->row = mem_array(most + 1, sizeof(float *));
    w->class = mem_array(c->classes, sizeof(float *));
    w->hidden = row_of_zeros(c->dim);
    w->grad = row_of_zeros(c->dim);
    w->z = row_of_zeros(c->classes);
    w->zero = row_of_zeros(c->classes);
    return w->row && w->class && w->hidden && w->grad && w->z && w->zero ? SHOAL_OK : SHOAL_ENOMEM;
}

void classify_leave(struct classify_worker *w)
{
    if (!w)
        return;
    drop_row(w->hidden, w->c->dim);
    drop_row(w->grad, w->c->dim);
    drop_row(w->z, w->c->classes);
    drop_row(w->zero, w->c->classes);
    free(w->row);
    free(w->class);
    free(w);
}

/* ---- losses ---- */

/* One step; what is the same for all its rows. */
struct step {
    struct classify_worker *w;
    float lr;
    double loss;
};

static float *out_row(struct classify_worker *w, uint32_t k)
{
    if (w->out->touches)
        view_count(w->out, k);
    return view_row(w->out, k);
}

static double log_sigmoid(double x)
{
    return fmin(x, 0) - log1p(exp(-fabs(x)));
}

/* g along an output row: the line's share, then the row itself. */
static void move(struct step *s, float *row, float g)
{
    const struct classify *c = s->w->c;

    c->kernel->axpy(s->w->grad, g, row, c->dim);
    c->kernel->axpy(row, g, s->w->hidden, c->dim);
}

static void step_logistic(struct step *s, uint32_t k, bool label)
{
    const struct classify *c = s->w->c;
    float *row = out_row(s->w, k), x = c->kernel->dot(row, s->w->hidden, c->dim);

    s->loss -= log_sigmoid(label ? (double)x : -(double)x);
    move(s, row, s->lr * ((label ? 1.0f : 0.0f) - 1 / (1 + expf(-x))));
}

static void step_noise(struct step *s, uint32_t label, struct rng *random)
{
    const struct w2v *draw = &s->w->c->draw;

    step_logistic(s, label, true);
    for (unsigned i = 0; i < draw->negatives; i++) {
        uint32_t k = label;

        while (k == label) {
            uint64_t x = rng_next(random);
            uint32_t cell = (uint32_t)((x >> 32) * draw->words >> 32);

            k = (uint32_t)x < draw->alias[cell].keep ? cell : draw->alias[cell].other;
        }
        step_logistic(s, k, false);
    }
}

static void step_path(struct step *s, uint32_t label)
{
    const struct w2v *draw = &s->w->c->draw;

    for (uint32_t i = draw->path[label]; i < draw->path[label + 1]; i++)
        step_logistic(s, draw->node[i], draw->label[i] > 0.5f);
}

static bool has_label(const struct classify_line *line, uint32_t k)
{
    for (size_t i = 0; i < line->labels; i++)
        if (line->label[i] == k)
            return true;
    return false;
}

static void step_all(struct step *s, const struct classify_line *line)
{
    for (uint32_t k = 0; k < s->w->c->classes; k++)
        step_logistic(s, k, has_label(line, k));
}

/* z becomes the scores, then probabilities; gives the loss of the label. */
static double softmax_of(struct classify_worker *w, uint32_t label, bool *right)
{
    const struct classify *c = w->c;
    float top, sum, own;

    for (uint32_t k = 0; k < c->classes; k++) {
        w->class[k] = out_row(w, k);
        w->z[k] = c->kernel->dot(w->class[k], w->hidden, c->dim);
    }
    own = w->z[label];
    sum = c->kernel->exps(w->z, w->zero, &top, c->classes);
    c->kernel->scale(w->z, 1 / sum, c->classes);
    *right = !(own < top);
    return log((double)sum) + (double)top - (double)own;
}

static void step_softmax(struct step *s, uint32_t label, struct sums *done)
{
    struct classify_worker *w = s->w;
    bool right;

    s->loss += softmax_of(w, label, &right);
    done->right += right;
    for (uint32_t k = 0; k < w->c->classes; k++)
        move(s, w->class[k], s->lr * ((k == label ? 1.0f : 0.0f) - w->z[k]));
}

/* ---- a line ---- */

static void take_rows(struct classify_worker *w, const struct classify_line *line)
{
    for (size_t i = 0; i < line->n; i++)
        w->row[i] = view_row(w->in, line->row[i]);
    for (size_t i = 0; i < line->n && w->in->touches; i++)
        view_count(w->in, line->row[i]);
    w->c->kernel->sum_rows(w->hidden, (const float *const *)w->row, line->n, w->c->dim);
    w->c->kernel->scale(w->hidden, 1 / (float)line->n, w->c->dim);
}

static void give_rows(struct classify_worker *w, size_t n)
{
    w->c->kernel->scale(w->grad, 1 / (float)n, w->c->dim);
    w->c->kernel->add_rows(w->row, n, w->grad, w->c->dim);
}

void classify_train(struct classify_worker *w, const struct classify_line *line, float lr,
                    struct sums *done)
{
    const struct classify *c = w->c;
    struct rng random = {c->seed, STREAM_LABEL + ((uint64_t)line->epoch << 8), line->number * DRAWS};
    uint32_t label = line->label[line->labels > 1 ? rng_below(&random, line->labels) : 0];
    float weight = c->weight ? c->weight[label] : 1;
    struct step s = {.w = w, .lr = lr * weight};

    done->examples++;
    if (line->n == 0)
        return;
    take_rows(w, line);
    memset(w->grad, 0, table_stride(c->dim) * sizeof *w->grad);
    if (c->loss == SHOAL_SOFTMAX)
        step_softmax(&s, label, done);
    else if (c->loss == SHOAL_OVA)
        step_all(&s, line);
    else if (c->loss == SHOAL_HS)
        step_path(&s, label);
    else
        step_noise(&s, label, &random);
    give_rows(w, line->n);
    done->predictions++;
    done->rows += line->n + classify_out_rows(c->loss, c->classes);
    done->loss += s.loss * (double)weight;
}

/* ---- asking ---- */

/* The probability of each way down the tree, from the root on: nodes are numbered from there. */
static void path_probabilities(const struct classify_answer *a, const float *hidden, float *p)
{
    const struct w2v *draw = &a->classes->draw;

    for (uint32_t k = 0; k < a->classes->classes; k++) {
        double log_p = 0;

        for (uint32_t i = draw->path[k]; i < draw->path[k + 1]; i++) {
            double x = (double)a->classes->kernel->dot(a->out + draw->node[i] * a->stride, hidden,
                                                       a->classes->dim);

            log_p += log_sigmoid(draw->label[i] > 0.5f ? x : -x);
        }
        p[k] = (float)exp(log_p);
    }
}

static void softmax_probabilities(float *z, uint32_t n)
{
    float top = z[0];
    double sum = 0;

    for (uint32_t k = 1; k < n; k++)
        top = z[k] > top ? z[k] : top;
    for (uint32_t k = 0; k < n; k++)
        sum += (double)(z[k] = expf(z[k] - top));
    for (uint32_t k = 0; k < n; k++)
        z[k] = (float)(z[k] / sum);
}

void classify_answer(const struct classify_answer *a, const float *hidden, float *p)
{
    const struct classify *c = a->classes;

    if (c->loss == SHOAL_HS) {
        path_probabilities(a, hidden, p);
        return;
    }
    for (uint32_t k = 0; k < c->classes; k++)
        p[k] = c->kernel->dot(a->out + k * a->stride, hidden, c->dim);
    if (c->loss == SHOAL_SOFTMAX)
        softmax_probabilities(p, c->classes);
    else if (a->sigmoid)
        a->sigmoid(p, c->classes);
    else
        c->kernel->sigmoid(p, p, c->classes);
}
