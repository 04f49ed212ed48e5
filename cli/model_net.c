/* Nets: their answers, their scores, and what is in them. */
#include "nets.h"
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading samples ---------------------------------------------------------------- */

static const struct choice header_choices[] = {
    [SHOAL_HEADER_AUTO] = {"auto", "the first line is one when it holds no number"},
    [SHOAL_HEADER_YES] = {"yes", "the first line is skipped"},
    [SHOAL_HEADER_NO] = {"no", "the first line is a sample"},
    {0},
};

#define ON(member) FIELD(struct samples_cmd, member)

const struct opt samples_opts[] = {
    {"label", .kind = OPT_U64, ON(label), .arg = "COLUMN", .u = {0, 1 << 24},
     .help = "the column of the class, or of the first target, from 1", .zero = "the last"},
    {"targets", .kind = OPT_U64, ON(targets), .arg = "N", .u = {1, 1 << 20},
     .help = "so many columns are targets (regression)"},
    {"labels", .kind = OPT_PATH, ON(labels), .arg = "FILE",
     .help = "read classes or targets from a file of their own"},
    {"header", .kind = OPT_CHOICE, ON(header), .arg = "HOW", .choices = header_choices,
     .help = "whether CSV has a line of names"},
    {0},
};

void samples_defaults(struct samples_cmd *cmd)
{
    *cmd = (struct samples_cmd){.targets = 1};
}

struct shoal_samples_opts samples_reading(const struct samples_cmd *cmd, enum shoal_task task)
{
    struct shoal_samples_opts o = shoal_samples_default();

    o.task = task;
    o.header = cmd->header;
    o.label = cmd->label ? cmd->label - 1 : SHOAL_LAST_COLUMN;
    o.targets = cmd->targets;
    o.labels = cmd->labels;
    return o;
}

/* ---- predict ------------------------------------------------------------------------- */

static void print_answer(const float *y, size_t n, bool classes)
{
    size_t best = 0;

    for (size_t o = 1; o < n; o++)
        best = y[o] > y[best] ? o : best;
    if (classes)
        printf("%zu", best);
    for (size_t o = 0; o < n; o++)
        printf("%s%.6g", classes || o > 0 ? "\t" : "", (double)y[o]);
    putchar('\n');
}

/* A file of samples that also holds the answers has columns too many. */
static shoal_status open_inputs(shoal_samples **s, const shoal_net *net,
                                const struct samples_cmd *read, const char *path)
{
    struct shoal_samples_opts o = samples_reading(read, SHOAL_INPUTS);

    o.expect = (uint32_t)shoal_net_inputs(net);
    return shoal_samples_open(s, path, &o);
}

static shoal_status predict_file(const shoal_net *net, const struct samples_cmd *read,
                                 const char *path)
{
    enum { SOME = 1024 };
    size_t outputs = shoal_net_outputs(net);
    float *y = console_alloc(SOME * outputs * sizeof *y);
    shoal_samples *s = NULL;
    shoal_status st = open_inputs(&s, net, read, path);

    for (size_t i = 0; st == SHOAL_OK && i < shoal_samples_size(s); i += SOME) {
        size_t left = shoal_samples_size(s) - i, some = left < SOME ? left : SOME;

        st = shoal_net_predict_samples(net, s, i, some, y);
        for (size_t k = 0; k < some && st == SHOAL_OK; k++)
            print_answer(y + k * outputs, outputs, shoal_net_classes(net));
    }
    shoal_samples_close(s);
    free(y);
    return st;
}

/* ---- next words ------------------------------------------------------------------------ */

enum { LIKELY = 40 }; /* words that a next one is drawn from */

#undef ON
#define ON(member) FIELD(struct continue_cmd, member)

const struct opt continue_opts[] = {
    {"top", .kind = OPT_U64, ON(top), .arg = "N", .u = {1, 1000},
     .help = "show so many of the likeliest next words"},
    {"generate", .kind = OPT_U64, ON(generate), .arg = "N", .u = {0, 100000},
     .help = "continue the text by so many words instead", .zero = "only show the next"},
    {"temperature", .kind = OPT_DOUBLE, ON(temperature), .arg = "X", .d = {0, 100},
     .help = "how daring: 1 draws words as likely as they are", .zero = "always the likeliest"},
    {"seed", .kind = OPT_U64, ON(seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "of what is drawn"},
    {0},
};

void continue_defaults(struct continue_cmd *cmd)
{
    *cmd = (struct continue_cmd){.top = 10, .temperature = 0.8, .seed = 1};
}

static shoal_status show_next(const shoal_net *net, const struct continue_cmd *how,
                              const char *text)
{
    struct shoal_hit *hits = console_alloc(how->top * sizeof *hits);
    size_t found;
    shoal_status st = shoal_nextword_predict(net, text, hits, how->top, &found);

    for (size_t i = 0; i < found; i++) {
        printf("%8.4f  ", (double)hits[i].score);
        print_safely(stdout, shoal_nextword_word(net, hits[i].id));
        putchar('\n');
    }
    free(hits);
    return st;
}

/* A number from 0 to 1 by seed and place (SplitMix64). */
static double unit_at(uint64_t seed, uint64_t place)
{
    uint64_t x = seed + (place + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static uint32_t draw(const struct shoal_hit *hits, size_t n, double temperature, double unit)
{
    double weight[LIKELY], sum = 0;

    if (temperature <= 0)
        return hits[0].id;
    for (size_t i = 0; i < n; i++)
        sum += weight[i] = pow((double)hits[i].score, 1 / temperature);
    unit *= sum;
    for (size_t i = 0; i < n; i++)
        if ((unit -= weight[i]) < 0)
            return hits[i].id;
    return hits[0].id;
}

static shoal_status generate(const shoal_net *net, const struct continue_cmd *how, const char *text)
{
    size_t room = strlen(text) + 1;
    char *all = strdup(text);
    shoal_status st = all ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "out of memory");

    for (uint64_t i = 0; i < how->generate && st == SHOAL_OK; i++) {
        struct shoal_hit hits[LIKELY];
        size_t found, len;
        const char *word;
        char *more;

        st = shoal_nextword_predict(net, all, hits, LIKELY, &found);
        if (st != SHOAL_OK || found == 0)
            break;
        word = shoal_nextword_word(net, draw(hits, found, how->temperature, unit_at(how->seed, i)));
        len = strlen(word) + 1;
        more = realloc(all, room + len);
        if (!more) {
            st = shoal_fail(SHOAL_ENOMEM, "out of memory");
            break;
        }
        all = more;
        snprintf(all + room - 1, len + 1, " %s", word);
        room += len;
    }
    if (st == SHOAL_OK) {
        print_safely(stdout, all);
        putchar('\n');
    }
    free(all);
    return st;
}

int predict_net(const struct samples_cmd *read, const struct continue_cmd *how, const char *path,
                const char *const *inputs, size_t ninputs)
{
    struct console console;
    shoal_net *net = NULL;
    shoal_status st = shoal_net_open(&net, path);

    signals_release();
    console_init(&console, false, "-");
    if (st == SHOAL_OK && sees_pictures_only(net)) {
        st = predict_pictures(net, inputs, ninputs, ninputs > 1);
        ninputs = 0;
    }
    for (size_t i = 0; i < ninputs && st == SHOAL_OK; i++)
        if (sees_pictures(net) && holds_picture(inputs[i]))
            st = predict_pictures(net, inputs + i, 1, ninputs > 1);
        else if (!shoal_net_continues(net))
            st = predict_file(net, read, inputs[i]);
        else
            st = how->generate > 0 ? generate(net, how, inputs[i]) : show_next(net, how, inputs[i]);
    shoal_net_close(net);
    return console_finish(&console, st);
}

/* ---- eval ------------------------------------------------------------------------------ */

struct scored {
    const shoal_net *net;
    struct shoal_net_figures figures;
    uint64_t *confusion; /* [classes][classes]; NULL for numbers */
    size_t samples, classes;
};

static struct number number_four(double x)
{
    struct number out;

    snprintf(out.text, sizeof out.text, isfinite(x) ? "%.4f" : "unknown", x);
    return out;
}

static void report_confusion(FILE *to, const struct scored *s)
{
    char name[256];

    fprintf(to, "\n%s%-10s", style_on(to, STYLE_DIM), "class");
    for (size_t j = 0; j < s->classes; j++) {
        shoal_net_class(s->net, j, name, sizeof name);
        print_line(to, "  %8.8s", name);
    }
    fprintf(to, "  %8s%s\n", "found", style_on(to, STYLE_PLAIN));
    for (size_t i = 0; i < s->classes; i++) {
        uint64_t all = 0, right = s->confusion[i * s->classes + i];

        shoal_net_class(s->net, i, name, sizeof name);
        print_line(to, "%-10.10s", name);
        for (size_t j = 0; j < s->classes; j++) {
            all += s->confusion[i * s->classes + j];
            fprintf(to, "  %8s", number_count(s->confusion[i * s->classes + j]).text);
        }
        fprintf(to, "  %8s\n", number_percent((double)right, (double)(all ? all : 1)).text);
    }
}

static void report(struct console *c, const char *path, const struct scored *s)
{
    const struct shoal_net_figures *f = &s->figures;

    console_heading(c, path);
    console_row(c, "samples", number_count(s->samples).text, NULL);
    console_row(c, "loss", number_four(f->loss).text, s->classes ? "cross-entropy" : "squared error");
    if (isfinite(f->accuracy))
        console_row(c, "accuracy", number_percent(f->accuracy, 1).text, NULL);
    if (isfinite(f->top5) && s->classes > 5)
        console_row(c, "top-5", number_percent(f->top5, 1).text, NULL);
    if (isfinite(f->mae))
        console_row(c, "MAE", number_four(f->mae).text, NULL);
    if (isfinite(f->rmse))
        console_row(c, "RMSE", number_four(f->rmse).text, NULL);
    if (c->reports && s->confusion && s->classes <= 30)
        report_confusion(c->reports, s);
}

static void put_json(const char *path, const struct scored *s)
{
    const struct shoal_net_figures *f = &s->figures;
    struct json j = {.to = stdout};

    out_open(&j, '{');
    out_put_string(&j, "file", path);
    out_put_count(&j, "samples", s->samples);
    out_put_real(&j, "loss", f->loss);
    if (s->classes) {
        out_put_real(&j, "accuracy", f->accuracy);
        out_put_real(&j, "top5", f->top5);
        out_key(&j, "confusion");
        out_open(&j, '[');
        for (size_t i = 0; i < s->classes; i++) {
            out_open(&j, '[');
            for (size_t k = 0; k < s->classes; k++)
                out_count(&j, s->confusion[i * s->classes + k]);
            out_close(&j, ']');
        }
        out_close(&j, ']');
    } else {
        out_put_real(&j, "mae", f->mae);
        out_put_real(&j, "rmse", f->rmse);
    }
    out_close(&j, '}');
    out_line(&j);
}

static shoal_status score(struct scored *s, const shoal_net *net, const struct samples_cmd *read,
                          const char *path)
{
    bool classes = shoal_net_classes(net);
    struct shoal_samples_opts o =
        samples_reading(read, classes ? SHOAL_CLASSIFY : SHOAL_REGRESS);
    shoal_samples *data = NULL;
    shoal_status st;

    *s = (struct scored){.net = net, .classes = classes ? shoal_net_outputs(net) : 0};
    if (classes)
        s->confusion = console_alloc(s->classes * s->classes * sizeof *s->confusion);
    else
        o.targets = (uint32_t)shoal_net_outputs(net);
    if (sees_pictures_only(net))
        return score_pictures(net, path, &s->samples, &s->figures, s->confusion);
    st = shoal_samples_open(&data, path, &o);
    if (st == SHOAL_OK) {
        s->samples = shoal_samples_size(data);
        st = shoal_net_eval(net, data, &s->figures, s->confusion);
    }
    shoal_samples_close(data);
    return st;
}

int eval_net(const struct samples_cmd *read, bool json, bool quiet, const char *path,
             const char *const *inputs, size_t ninputs)
{
    struct console console;
    shoal_net *net = NULL;
    shoal_status st = shoal_net_open(&net, path);

    console_init(&console, quiet, NULL);
    for (size_t i = 0; i < ninputs && st == SHOAL_OK; i++) {
        struct scored s;

        st = score(&s, net, read, inputs[i]);
        if (st == SHOAL_OK && json)
            put_json(inputs[i], &s);
        else if (st == SHOAL_OK)
            report(&console, inputs[i], &s);
        free(s.confusion);
    }
    shoal_net_close(net);
    return console_finish(&console, st);
}

/* ---- info ------------------------------------------------------------------------------ */

static void row_fact(struct console *c, const shoal_net *net, const char *key, const char *label)
{
    const char *value = shoal_net_fact(net, key);

    if (value)
        console_row(c, label, value, NULL);
}

shoal_status info_net(struct console *c, const char *path)
{
    shoal_net *net = NULL;
    shoal_status st = shoal_net_open(&net, path);
    const char *name;
    size_t dims[4];

    if (st != SHOAL_OK)
        return st;
    print_line(stdout, "%s: a net\n%s\n", path, shoal_net_spec(net));
    console_row(c, "parameters", number_count(shoal_net_parameters(net)).text, NULL);
    for (size_t i = 0; shoal_net_tensor(net, i, &name, dims); i++) {
        char shape[64];
        int len = snprintf(shape, sizeof shape, "%zu", dims[0]);

        for (size_t k = 1; k < 4 && dims[k] && len < (int)sizeof shape; k++)
            len += snprintf(shape + len, sizeof shape - (size_t)len, " x %zu", dims[k]);
        console_row(c, name, shape, NULL);
    }
    row_fact(c, net, "samples", "samples");
    row_fact(c, net, "pictures", "pictures");
    row_fact(c, net, "augmented", "augmented");
    row_fact(c, net, "held_out", "held out");
    row_fact(c, net, "epochs", "epochs");
    row_fact(c, net, "loss", "loss");
    row_fact(c, net, "valid_loss", "valid loss");
    row_fact(c, net, "valid_accuracy", "valid acc.");
    row_fact(c, net, "test_accuracy", "test acc.");
    info_classes(c, net);
    shoal_net_close(net);
    return SHOAL_OK;
}

shoal_status info_net_checkpoint(struct console *c, const char *path)
{
    struct shoal_net_resume r;
    shoal_status st = shoal_net_resume_read(&r, path);

    if (st == SHOAL_OK) {
        print_line(stdout, "%s: a checkpoint of a net\n%s\n", r.path, r.spec);
        console_row(c, "progress", number_percent(r.progress, 1).text, "%u of %u epochs done",
                    r.epoch, r.epochs);
        console_row(c, "samples", number_count(r.samples).text, "trained");
        console_row(c, "took", number_seconds(r.seconds).text, NULL);
    }
    shoal_net_resume_free(&r);
    return st;
}
