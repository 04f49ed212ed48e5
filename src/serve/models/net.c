/* Nets: rows of numbers in, probabilities of classes or values out; of nets that see
 * pictures, pictures in and the likeliest classes out. */
#include "serve/models/fields.h"
#include "serve/models/servable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_ONCE = 64,    /* samples of a forward pass */
    LIKELIEST = 5,   /* classes of an answer */
    FLOAT_TEXT = 14, /* bytes of a number in an answer, about */
    CLASS_TEXT = 64, /* and of a class with its probability */
    CHEAP = 100000,  /* parameters whose forward pass takes less than to wake a thread */
};

struct net_model {
    const shoal_net *net;
    size_t in, out, at_once;
    bool pictures;
    bool likeliest;                   /* is answered: classes of pictures, or that have names */
    unsigned channels, height, width; /* of them */
    unsigned resize;
    struct spares askers;
};

struct net_sample {
    float *x; /* [in], then y [out] */
    float *y;
};
_Static_assert(sizeof(struct net_sample) <= SAMPLE_MAX, "a sample fits");

static void net_close(const void *model)
{
    struct net_model *m = (struct net_model *)(uintptr_t)model;

    while (m->askers.n > 0)
        asker_free(spares_take(&m->askers));
    pthread_mutex_destroy(&m->askers.lock);
    free(m);
}

static shoal_status net_open(const void **out, const shoal_model *model)
{
    struct net_model *m = mem_array(1, sizeof *m);

    if (!m)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&m->askers.lock, NULL);
    m->askers.most = SPARES;
    m->net = shoal_model_net(model);
    m->in = shoal_net_inputs(m->net);
    m->out = shoal_net_outputs(m->net);
    m->pictures = shoal_net_pictures(m->net, &m->channels, &m->height, &m->width);
    m->resize = saved_net_resize(m->net);
    m->likeliest = shoal_net_classes(m->net) && (m->pictures || shoal_net_fact(m->net, "class.0"));
    m->at_once = asker_fit(m->net, AT_ONCE);
    *out = m;
    return SHOAL_OK;
}

static void net_shapes(const void *model, struct tensor_shape *input, struct tensor_shape *output)
{
    const struct net_model *m = model;

    if (m->pictures)
        *input = (struct tensor_shape){"input", "FP32", {-1, m->channels, m->height, m->width}, 4};
    else
        *input = (struct tensor_shape){"input", "FP32", {-1, (int64_t)m->in}, 2};
    *output = (struct tensor_shape){"output", "FP32", {-1, (int64_t)m->out}, 2};
}

/* ---- reading ---- */

static shoal_status wrong_count(const struct net_model *m, size_t found)
{
    return shoal_fail(SHOAL_EINVAL, "found %zu numbers, want %zu", found, m->in);
}

/* A list of numbers, however nested: a picture's rows and columns too. */
static shoal_status take_json(const struct net_model *m, const struct tree *t, float *x, size_t *n)
{
    shoal_status st = SHOAL_OK;

    if (tree_kind(t) == TREE_NUMBER) {
        float value = (float)tree_number(t);

        if (*n == m->in)
            return wrong_count(m, *n + 1);
        if (!isfinite(value))
            return shoal_fail(SHOAL_EINVAL, "found a number beyond floats");
        x[(*n)++] = value;
        return SHOAL_OK;
    }
    if (tree_kind(t) != TREE_LIST)
        return shoal_fail(SHOAL_EINVAL, "found no number, want a list of %zu", m->in);
    for (size_t i = 0; i < tree_len(t) && st == SHOAL_OK; i++)
        st = take_json(m, tree_at(t, i), x, n);
    return st;
}

/* What could be text is text: floats whose bytes are all digits and the like are rare. */
static bool is_text(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] == '\0' || !strchr("0123456789+-.eE, \t\r\n", at[i]))
            return false;
    return true;
}

static shoal_status take_floats(const struct net_model *m, const char *at, float *x, size_t *n)
{
    memcpy(x, at, m->in * sizeof *x);
    *n = m->in;
    for (size_t i = 0; i < m->in; i++)
        if (!isfinite(x[i]))
            return shoal_fail(SHOAL_EINVAL, "found a float that is no finite number");
    return SHOAL_OK;
}

/* The length of the next number between commas or spaces, to which *at moves; 0 at the end. */
static size_t next_number(const char **at, const char *end)
{
    size_t size = 0;

    while (*at < end && strchr(", \t\r\n", **at))
        ++*at;
    while (*at + size < end && !strchr(", \t\r\n", (*at)[size]))
        size++;
    return size;
}

/* Floats as they lie in memory, or text. */
static shoal_status take_bytes(const struct net_model *m, const char *at, size_t len, float *x,
                               size_t *n)
{
    const char *end = at + len;
    char text[48], *stop;

    if (len == m->in * sizeof *x && !is_text(at, len))
        return take_floats(m, at, x, n);
    for (size_t size; (size = next_number(&at, end)) > 0; at += size, ++*n) {
        if (*n >= m->in) /* only counted, for the sentence */
            continue;
        if (size >= sizeof text)
            return shoal_fail(SHOAL_EINVAL, "found '%.20s', want a number", at);
        memcpy(text, at, size);
        text[size] = '\0';
        x[*n] = number_read_float(text, &stop);
        if (*stop || !isfinite(x[*n]))
            return shoal_fail(SHOAL_EINVAL, "found '%.20s', want a number", text);
    }
    return *n > m->in ? wrong_count(m, *n) : SHOAL_OK;
}

/* All that a picture takes until it is a sample: its pixels, its rows as they are scaled
 * (image_fit.c), and the result. */
static shoal_status charge_picture(const struct net_model *m, struct request *q, const char *at,
                                   size_t len, size_t *cost)
{
    unsigned width, height;
    shoal_status st = request_leave_loop(q);

    *cost = 0;
    if (st == SHOAL_OK)
        st = picture_size("picture", at, len, &width, &height);
    if (st == SHOAL_OK)
        st = request_charge_pixels(q, (uint64_t)width * height);
    if (st != SHOAL_OK)
        return st;
    *cost = (size_t)picture_cost(at, len, width, height, m->channels) + m->in +
            ((size_t)height * m->channels * m->width + width + height) * sizeof(float);
    st = request_charge(q, *cost);
    *cost = st == SHOAL_OK ? *cost : 0;
    return st;
}

/* Scaled and cut as in training. */
static shoal_status take_picture(const struct net_model *m, struct request *q, const char *at,
                                 size_t len, float *x, size_t *n)
{
    struct picture p = {0};
    uint8_t *pixels = NULL;
    size_t cost;
    shoal_status st = charge_picture(m, q, at, len, &cost);

    if (st == SHOAL_OK && !(pixels = mem_array(m->in, 1)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = picture_decode(&p, "picture", at, len, m->channels);
    if (st == SHOAL_OK)
        st = picture_prepare(pixels, &p, m->resize, m->height, m->width);
    for (size_t i = 0; i < m->in && st == SHOAL_OK; i++)
        x[i] = pixels[i];
    *n = m->in;
    picture_fini(&p);
    free(pixels);
    request_refund(q, cost);
    return st;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64 (RFC 4648) into out, which has room for 3/4 of it; bytes, or 0. */
static size_t base64_decode(const char *text, size_t len, char *out)
{
    uint32_t bits = 0;
    size_t n = 0, held = 0;

    while (len > 0 && text[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        int digit = base64_digit(text[i]);

        if (digit < 0)
            return 0;
        bits = bits << 6 | (uint32_t)digit;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[n++] = (char)(bits >> held);
        }
    }
    return n;
}

/* A picture within JSON, as KServe's examples send it. */
static shoal_status take_text(const struct net_model *m, struct request *q, const struct tree *t,
                              float *x, size_t *n)
{
    size_t room = tree_len(t), len;
    shoal_status st = request_leave_loop(q);
    char *bytes;

    if (st == SHOAL_OK)
        st = request_charge(q, room);
    if (st != SHOAL_OK)
        return st;
    bytes = mem_array(room, 1);
    len = bytes ? base64_decode(tree_text(t), room, bytes) : 0;
    if (!bytes)
        st = SHOAL_ENOMEM;
    else if (picture_sniff(bytes, len))
        st = take_picture(m, q, bytes, len, x, n);
    else
        st = shoal_fail(SHOAL_EINVAL, "found text, want a JPEG or PNG picture in base64");
    free(bytes);
    request_refund(q, room);
    return st;
}

/* ---- rows of a table ---- */

static bool is_readable(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)at[i] < ' ' && !strchr("\t\r\n", at[i]))
            return false;
    return !memchr(at, '\0', len);
}

/* Whether the request has the columns of the table that the net learned from, and not its inputs. */
static bool has_columns(const struct net_model *m, const struct instance *in)
{
    const struct shoal_columns *c = m->net->columns;

    if (!c || in->fields)
        return c != NULL;
    if (in->numbers)
        return in->count != m->in && !fields_are_numbers(c);
    if (in->bytes) /* a table's text, or as many floats as there are inputs */
        return (in->len != m->in * sizeof(float) || is_readable(in->bytes, in->len)) &&
               (!fields_are_numbers(c) || !is_text(in->bytes, in->len));
    return tree_kind(in->json) == TREE_OBJECT
               ? !tree_get(in->json, "data") && !tree_get(in->json, "b64")
               : !fields_are_numbers(c);
}

static shoal_status read_line(struct fields *f, const struct shoal_columns *c, struct request *q,
                              const struct instance *in)
{
    size_t cost = 2 * (in->len + FIELD_PAD);
    shoal_status st = request_charge(q, cost);
    char *line = st == SHOAL_OK ? mem_array(in->len + FIELD_PAD, 1) : NULL;

    if (st == SHOAL_OK && !line)
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK) {
        memcpy(line, in->bytes, in->len);
        f->line = line;
        f->cost += cost;
        st = fields_line(f, c, line, in->len);
    } else {
        request_refund(q, st == SHOAL_ENOMEM ? cost : 0);
    }
    return st;
}

static shoal_status take_columns(const struct net_model *m, const struct instance *in, float *x)
{
    const struct shoal_columns *c = m->net->columns;
    struct fields f;
    shoal_status st = fields_init(&f, c, in->request);

    if (st != SHOAL_OK)
        return st;
    if (in->fields)
        st = fields_named(&f, c, in->fields, in->nfields);
    else if (in->numbers)
        st = fields_numbers(&f, c, in->numbers, in->count);
    else if (in->bytes)
        st = read_line(&f, c, in->request, in);
    else
        st = fields_json(&f, c, in->json);
    if (st == SHOAL_OK)
        st = fields_check(&f, c);
    if (st == SHOAL_OK)
        table_row(c, f.at, x);
    fields_fini(&f, in->request);
    return st;
}

/* Room for what is asked and answered; the answer's text is that of all numbers, or of
 * the likeliest classes. */
static shoal_status sample_init(const struct net_model *m, const struct instance *in,
                                struct net_sample *s)
{
    bool likeliest = m->likeliest && !in->tensor;
    shoal_status st =
        request_charge_sample(in->request, (m->in + m->out) * sizeof *s->x,
                              likeliest ? LIKELIEST * CLASS_TEXT : m->out * FLOAT_TEXT);

    if (st != SHOAL_OK)
        return st;
    s->x = mem_array(m->in + m->out, sizeof *s->x);
    if (!s->x)
        return SHOAL_ENOMEM;
    s->y = s->x + m->in;
    return SHOAL_OK;
}

static shoal_status net_read(const void *model, const struct instance *in, void *sample)
{
    const struct net_model *m = model;
    struct net_sample *s = sample;
    const struct tree *t = in->json;
    size_t n = 0;
    shoal_status st;

    if (in->numbers && in->count != m->in && !has_columns(m, in))
        return wrong_count(m, in->count);
    st = sample_init(m, in, s);
    if (st != SHOAL_OK)
        return st;
    if (has_columns(m, in))
        return take_columns(m, in, s->x);
    if (in->numbers) {
        memcpy(s->x, in->numbers, m->in * sizeof *s->x);
        return SHOAL_OK;
    }
    if (tree_kind(t) == TREE_OBJECT)
        t = tree_get(t, tree_get(t, "b64") ? "b64" : "data");
    if (in->bytes && m->pictures && picture_sniff(in->bytes, in->len))
        st = take_picture(m, in->request, in->bytes, in->len, s->x, &n);
    else if (in->bytes)
        st = take_bytes(m, in->bytes, in->len, s->x, &n);
    else if (m->pictures && tree_kind(t) == TREE_TEXT)
        st = take_text(m, in->request, t, s->x, &n);
    else
        st = take_json(m, t, s->x, &n);
    return st == SHOAL_OK && n != m->in ? wrong_count(m, n) : st;
}

static void net_forget(void *sample)
{
    free(((struct net_sample *)sample)->x);
}

/* ---- computing ---- */

static bool net_cheap(const void *model, const void *sample)
{
    const struct net_model *m = model;

    (void)sample;
    return !m->net->net->alone && shoal_net_parameters(m->net) < CHEAP;
}

static shoal_status net_run(const void *model, void *const *samples, size_t n)
{
    struct net_model *m = (struct net_model *)(uintptr_t)model; /* its scratch alone changes */
    struct asker *asker = spares_take(&m->askers);
    shoal_status st = asker ? SHOAL_OK : asker_new(&asker, m->net, m->at_once);

    for (size_t i = 0; i < n && st == SHOAL_OK; i += m->at_once) {
        size_t some = n - i < m->at_once ? n - i : m->at_once;
        const float *x[AT_ONCE];
        float *y[AT_ONCE];

        for (size_t k = 0; k < some; k++) {
            x[k] = ((struct net_sample *)samples[i + k])->x;
            y[k] = ((struct net_sample *)samples[i + k])->y;
        }
        st = asker_ask(asker, x, some, y);
    }
    asker_free(spares_give(&m->askers, asker));
    return st;
}

/* ---- writing ---- */

/* {"cat": 0.9, ...}, likeliest first, as TorchServe's classifiers answer. */
static void write_likeliest(const struct net_model *m, const float *y, struct writer *w)
{
    size_t before = m->out; /* none yet */

    put_open(w, '{');
    for (size_t k = 0; k < LIKELIEST && k < m->out; k++) {
        size_t best = m->out;
        char name[256];

        for (size_t i = 0; i < m->out; i++)
            if ((before == m->out || y[i] < y[before] || (y[i] == y[before] && i > before)) &&
                (best == m->out || y[i] > y[best]))
                best = i;
        if (best == m->out)
            break;
        shoal_net_class(m->net, best, name, sizeof name);
        member_float(w, name, y[best]);
        before = best;
    }
    put_close(w, "}");
}

static void net_write(const void *model, const void *sample, struct writer *w)
{
    const struct net_model *m = model;
    const struct net_sample *s = sample;

    if (m->likeliest) {
        write_likeliest(m, s->y, w);
        return;
    }
    put_open(w, '[');
    for (size_t i = 0; i < m->out; i++)
        put_float(w, s->y[i]);
    put_close(w, "]");
}

static const float *net_floats(const void *model, const void *sample, size_t *n)
{
    *n = ((const struct net_model *)model)->out;
    return ((const struct net_sample *)sample)->y;
}

static bool net_has_columns(const void *model)
{
    return ((const struct net_model *)model)->net->columns != NULL;
}

static bool net_class_name(const void *model, size_t i, char *name, size_t cap)
{
    const struct net_model *m = model;

    if (m->likeliest)
        shoal_net_class(m->net, i, name, cap);
    return m->likeliest;
}

const struct servable_kind servable_net = {
    .name = "net",
    .sample_size = sizeof(struct net_sample),
    .open = net_open,
    .close = net_close,
    .shapes = net_shapes,
    .read = net_read,
    .cheap = net_cheap,
    .run = net_run,
    .write = net_write,
    .floats = net_floats,
    .class_name = net_class_name,
    .has_columns = net_has_columns,
    .forget = net_forget,
};
