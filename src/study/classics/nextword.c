/* The vector of the next word, from windows of vectors. */
#include "study/classic.h"

#include "file/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIMENSIONS = 100, EPOCHS = 5, WORKERS = 2, LINES = 20, TEXT_MOST = 256 << 20 };

static const unsigned lengths[] = {10, 15};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- the text ---- */

/* No window reaches over the end of a line, and lines of books are broken where the page ends:
 * lines become one up to an empty one, or LINES of them. */
static void join_lines(struct prose *t, const char *text, size_t len)
{
    size_t joined = 0;

    for (size_t i = 0; i < len && t->status == SHOAL_OK; i++) {
        bool ends = text[i] == '\n',
             empty = ends && i + 1 < len && (text[i + 1] == '\n' || text[i + 1] == '\r');

        joined = ends ? joined + 1 : joined;
        if (ends && !empty && joined < LINES) {
            t->status = bytes_add(&t->bytes, " ", 1);
        } else {
            t->status = bytes_add(&t->bytes, &text[i], 1);
            joined = ends ? 0 : joined;
        }
    }
}

/* text.txt, of the user's text or of a generated one. */
static void make_text(shoal_classic *c)
{
    struct shoal_world_opts world = shoal_world_default();
    char *raw = classic_path(c, "raw.txt"), *text = NULL;
    struct prose t = {0};
    size_t len = 0;
    shoal_status st = raw ? SHOAL_OK : SHOAL_ENOMEM;

    world.words = c->quick ? 30000 : 300000;
    if (st == SHOAL_OK && !c->data)
        st = shoal_world_write(raw, NULL, &world, NULL);
    if (st == SHOAL_OK)
        st = stream_slurp(&text, &len, c->data ? c->data : raw, TEXT_MOST);
    if (st == SHOAL_OK) {
        join_lines(&t, text, len);
        st = prose_write_in(&t, c->folder, "text.txt");
    }
    if (raw && !c->data)
        unlink(raw);
    prose_fini(&t);
    free(text);
    free(raw);
    if (c->status == SHOAL_OK)
        c->status = st;
}

static void plan_data(shoal_classic *c)
{
    make_text(c);
    step_add(c, "encode", 0, "encoding")->prepares = true;
    step_words(c, "encode --quiet --tokens words --output");
    step_path(c, "text.shoal");
    step_path(c, "text.txt");
    step_add(c, "vectors", 0, "vectors")->prepares = true;
    step_words(c, "train cbow --quiet --threads 1 --dim %d --epochs %d --output", DIMENSIONS,
               c->quick ? 20 : 10);
    step_path(c, "vectors.bin");
    step_path(c, "text.shoal");
}

/* ---- the window that is predicted from ---- */

/* The words of a piece of text, lower-cased, as many as a window has. */
static void take_window(char window[CLASSIC_WINDOW], const char *text, size_t len)
{
    size_t words = 0, out = 0;

    for (size_t i = 0; i < len && words < lengths[0] && out + 2 < CLASSIC_WINDOW; i++) {
        unsigned char b = (unsigned char)text[i];
        bool letter = isalnum(b) || b >= 0x80;

        if (letter)
            window[out++] = (char)tolower(b);
        else if (out > 0 && window[out - 1] != ' ' && ++words < lengths[0])
            window[out++] = ' ';
    }
    window[out] = '\0';
}

/* Of the user's text from its middle on, behind whatever stands before it; of a text that is
 * packed, or in several files, nothing is read here. */
static void choose_window(shoal_classic *c)
{
    char piece[4096];
    FILE *f = c->data ? fopen(c->data, "re") : NULL;
    size_t len = 0, from = 0;

    snprintf(c->window, sizeof c->window, "now the mayor of paris met the mayor of dhaka");
    if (f && fseek(f, 0, SEEK_END) == 0 && ftell(f) > 0 && fseek(f, ftell(f) / 2, SEEK_SET) == 0)
        len = fread(piece, 1, sizeof piece, f);
    if (f)
        fclose(f);
    while (from < len && piece[from] != '\n' && piece[from] != ' ')
        from++;
    if (!memchr(piece, '\0', len) && from + 256 < len)
        take_window(c->window, piece + from, len - from);
}

static void plan(shoal_classic *c)
{
    plan_data(c);
    choose_window(c);
    for (size_t i = 0; i < LENGTHS; i++) {
        step_add(c, "length", lengths[i], "windows of %u words", lengths[i]);
        step_train(c, "nextword", WORKERS, 0, i == 0 ? "trained_model.zip" : NULL);
        step_path(c, "text.shoal");
        step_words(c, "--vectors");
        step_path(c, "vectors.bin");
        step_words(c,
                   "--length %u --epochs %d --lr 0.01 --schedule inverse-time --decay 0.01 "
                   "--valid 10%%",
                   lengths[i], EPOCHS);
    }
    step_add(c, "predict", 0, "a prediction");
    step_words(c, "predict %s --output", c->vector ? "--vector --nearest 5" : "--top 5");
    step_path(c, "prediction.txt");
    step_path(c, "trained_model.zip");
    step_word(c, c->window);
}

/* ---- what is told ---- */

static void tell_tensors(struct book *b, const shoal_classic *c)
{
    struct sheet *s = book_sheet(b, "tensors", "The tensor that is learned from");

    sheet_column(s, "length", AS_COUNT);
    sheet_column(s, "windows (inputs)", AS_WORD);
    sheet_column(s, "next vectors (targets)", AS_WORD);
    sheet_column(s, "held-out windows", AS_COUNT);
    sheet_column(s, "bytes, were it stored", AS_BYTES);
    for (size_t i = 0; i < LENGTHS; i++) {
        const struct step *run = step_with(c, "length", lengths[i], 0);
        double n = step_last(run, "settings", "examples");

        if (!run)
            continue;
        sheet_row(s);
        sheet_number(s, lengths[i]);
        sheet_word(s, "%.0f x %u x %d", n, lengths[i], DIMENSIONS);
        sheet_word(s, "%.0f x %d", n, DIMENSIONS);
        sheet_number(s, step_last(run, "settings", "held_out"));
        sheet_number(s, 4 * n * (lengths[i] + 1.0) * DIMENSIONS);
    }
    sheet_note(s, "Windows are made of the text as they are needed and never stored.");
}

/* The columns of an epoch, and where its report has them. */
static const struct {
    const char *head, *path;
    enum sheet_as as;
} columns[] = {
    {"gradient L2 norm", "run.gradient", AS_PLAIN},
    {"MSE", "train.mse", AS_PLAIN},
    {"MAE", "train.mae", AS_PLAIN},
    {"RMSE", "train.rmse", AS_PLAIN},
    {"accuracy", "train.word_top1", AS_POINTS},
    {"held-out accuracy", "valid.word_top1", AS_POINTS},
    {"held-out MSE", "valid.mse", AS_PLAIN},
    {"learning rate", "lr", AS_PLAIN},
    {"epoch time", "run.epoch_seconds", AS_TIME},
    {"memory", "memory", AS_BYTES},
    {"smallest part", "run.part_least", AS_COUNT},
    {"largest part", "run.part_most", AS_COUNT},
    {"shuffled", "run.shuffled", AS_SHARE},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void tell_epochs(struct book *b, const struct step *run)
{
    char name[32];
    struct sheet *s;

    snprintf(name, sizeof name, "epochs-%.0f", run->key);
    s = book_sheet(b, name, "Each epoch, windows of %.0f words", run->key);
    sheet_column(s, "epoch", AS_COUNT);
    for (size_t k = 0; k < COLUMNS; k++)
        sheet_column(s, columns[k].head, columns[k].as);
    for (size_t i = 0; i < lines_count(run->lines, "epoch"); i++) {
        sheet_row(s);
        sheet_number(s, lines_number(run->lines, "epoch", i, "epoch"));
        for (size_t k = 0; k < COLUMNS; k++)
            sheet_number(s, lines_number(run->lines, "epoch", i, columns[k].path));
    }
    sheet_note(s, "%s windows a second, of %d partitions; the original did 10.6 windows a second.",
               number_short(step_measures(run).rate).text, WORKERS);
}

static void draw_epochs(struct book *b, const shoal_classic *c, const char *title,
                        const char *label, const char *path)
{
    book_chart(b, "epochs", title, "epoch", BY_PLAIN, label, BY_PLAIN);
    for (size_t i = 0; i < LENGTHS; i++) {
        const struct step *run = step_with(c, "length", lengths[i], 0);
        size_t n = run ? lines_count(run->lines, "epoch") : 0;

        if (!run)
            continue;
        book_line(b, "windows of %u", lengths[i]);
        for (size_t k = 0; k < n; k++)
            book_point(b, lines_number(run->lines, "epoch", k, "epoch"),
                       lines_number(run->lines, "epoch", k, path));
    }
}

/* The vector, ten numbers a line, and then its nearest words. */
static void add_prediction(struct prose *t, const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len, tabs = 0;

    for (size_t i = 0; i < line && t->status == SHOAL_OK; i++) {
        char as = text[i] != '\t' ? text[i] : ++tabs % 10 == 0 ? '\n' : ' ';

        t->status = bytes_add(&t->bytes, &as, 1);
    }
    if (end)
        prose_add(t, "\n\nnearest words, by cosine:\n%.*s", (int)(len - line - 1), end + 1);
}

static void tell_prediction(struct book *b, const shoal_classic *c)
{
    char *path = classic_path(c, "prediction.txt"), *text = NULL;
    size_t len = 0;

    if (path && step_of(c, "predict", 0) &&
        stream_slurp(&text, &len, path, TEXT_MOST) == SHOAL_OK) {
        struct prose t = {0};

        prose_add(&t, "behind \"%s\":\n", c->window);
        if (c->vector)
            add_prediction(&t, text, len);
        else
            prose_add(&t, "%.*s", (int)len, text);
        if (t.status == SHOAL_OK)
            book_block(b,
                       c->vector ? "The predicted vector, and its nearest words"
                                 : "The words nearest to the predicted vector",
                       t.bytes.at);
        prose_fini(&t);
    }
    free(text);
    free(path);
}

static void tell(struct book *b, const shoal_classic *c)
{
    tell_tensors(b, c);
    for (size_t i = 0; i < LENGTHS; i++)
        if (step_with(c, "length", lengths[i], 0))
            tell_epochs(b, step_with(c, "length", lengths[i], 0));
    tell_prediction(b, c);
    draw_epochs(b, c, "Held-out MSE after each epoch", "MSE", "valid.mse");
    draw_epochs(b, c, "Held-out accuracy after each epoch", "accuracy", "valid.word_top1");
    book_note(b, "Accuracy is the share of windows whose next word is the likeliest by the "
                 "predicted vector (docs/nextword.md has the formula), of 2,000 windows that are "
                 "drawn from those of training, and 2,000 from those held out, a tenth of all; "
                 "the original did not define its own. An accuracy that stays the same says that "
                 "the commonest word is always the likeliest.");
    book_note(b,
              "The learning rate is 0.01 / (1 + 0.01 x epochs done), that of the table the mean "
              "over the epoch. Errors are of vectors scaled to a length of the root of %d, so "
              "that predicting nothing has an MSE of 1.",
              DIMENSIONS);
    book_note(b,
              "Each of the %d partitions is the part of a process. Shuffled: how far an epoch "
              "moved a window on average, as a share of all of them; a third is an even "
              "shuffle.",
              WORKERS);
}

const struct classic classic_nextword = {
    .name = "nextword",
    .summary = "windows of word vectors predict the vector of the next word",
    .takes = "a text",
    .experiment =
        "Word vectors of 100 dimensions; windows of 10 or 15 words go through one hidden layer of "
        "256 units that predicts the vector of the word behind them; 5 epochs with a learning "
        "rate of 0.01 / (1 + 0.01 epoch), by two processes that add up their gradients. Lines of "
        "the text are joined to paragraphs first (`text.txt`), since no window reaches over the "
        "end "
        "of a line; a generated text has twenty sentences in each.",
    .change = "Take your own text with `shoal classic nextword --data FILE`. The model is "
              "`trained_model.zip`, a name like any other: in this folder, ask it with `shoal predict "
              "trained_model.zip \"some words\"`. For other settings copy a command from above and "
              "change its options: `shoal train nextword --help` lists them.",
    .plan = plan,
    .tell = tell,
};
