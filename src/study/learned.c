/* What runs learned, as a chapter: each exhibit of theirs by its shape. */
#include "study/draw/draw.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells of tables ---- */

static bool is_word(const struct exhibit *e, size_t column)
{
    return e->columns[column].as == COLUMN_WORD;
}

static struct short_number cell_number(enum column_as as, double x)
{
    if (!isfinite(x))
        return number_as("-");
    if (as == COLUMN_COUNT)
        return number_as("%.0f", x);
    if (as == COLUMN_SHARE || as == COLUMN_BAR)
        return number_as("%.1f %%", 100 * x);
    return number_as("%.3g", fabs(x) < 1e-12 ? 0 : x);
}

/* The largest of a column, without its sign: what a whole bar stands for. */
static double largest_of(const struct exhibit *e, size_t column)
{
    double most = e->columns[column].as == COLUMN_BAR ? 1 : 0;

    for (size_t i = 0; i < e->nrows && e->columns[column].as == COLUMN_SIGNED; i++)
        if (isfinite(exhibit_real(e, i, column)))
            most = fmax(most, fabs(exhibit_real(e, i, column)));
    return most > 0 ? most : 1;
}

static void bar_cell(struct prose *t, const struct exhibit *e, size_t row, size_t column)
{
    enum column_as as = e->columns[column].as;
    double x = exhibit_real(e, row, column);
    double share = isfinite(x) ? fmin(fabs(x) / largest_of(e, column), 1) : 0;

    prose_add(t, "<td class=\"bar\" data-n=\"%.6g\"><span class=\"track%s\"><i class=\"%s\" "
              "style=\"width:%.1f%%\"></i></span><b>%s</b></td>",
              isfinite(x) ? x : -1e300, as == COLUMN_SIGNED ? " two" : "", x < 0 ? "less" : "more",
              (as == COLUMN_SIGNED ? 50 : 100) * share, cell_number(as, x).text);
}

static void table_cell(struct prose *t, const struct exhibit *e, size_t row, size_t column)
{
    enum column_as as = e->columns[column].as;

    if (column == 0)
        prose_wrap(t, "<th scope=\"row\" class=\"w\">", exhibit_text(e, row, 0), "</th>");
    else if (is_word(e, column))
        prose_wrap(t, "<td class=\"w\">", exhibit_text(e, row, column), "</td>");
    else if (as == COLUMN_BAR || as == COLUMN_SIGNED)
        bar_cell(t, e, row, column);
    else
        prose_add(t, "<td data-n=\"%.6g\">%s</td>",
                  isfinite(exhibit_real(e, row, column)) ? exhibit_real(e, row, column) : -1e300,
                  cell_number(as, exhibit_real(e, row, column)).text);
}

static void table_head(struct prose *t, const struct exhibit *e, size_t n)
{
    prose_add(t, "<thead><tr>");
    for (size_t k = 0; k < n; k++) {
        prose_add(t, "<th scope=\"col\"%s>", is_word(e, k) ? " class=\"w\"" : "");
        prose_wrap(t, "", e->columns[k].head, "</th>");
    }
    prose_add(t, "</tr></thead>\n");
}

/* ---- shapes that are words ---- */

/* Of several runs each says whose it is. */
static struct name title_of(const struct exhibit *e, const char *run)
{
    struct name name;

    snprintf(name.text, sizeof name.text, "%.48s%s%.40s", e->title, *run ? ": " : "", run);
    return name;
}

static void show_note(struct prose *t, const struct exhibit *e)
{
    if (*e->note)
        prose_wrap(t, "<p class=\"note\">", e->note, "</p>\n");
}

static void begin_block(struct prose *t, const struct exhibit *e, const char *class)
{
    prose_add(t, "<section class=\"exhibit %s\">\n", class);
    prose_wrap(t, "<h4>", e->title, "</h4>\n");
    show_note(t, e);
}

static void show_figures(struct prose *t, const struct exhibit *e)
{
    prose_add(t, "<dl class=\"figures\">\n");
    for (size_t k = 0; k < e->ncolumns && e->nrows > 0; k++) {
        double x = is_word(e, k) ? (double)NAN : exhibit_real(e, 0, k);

        if (!isfinite(x))
            continue;
        prose_wrap(t, "<div><dt>", e->columns[k].head, "</dt><dd>");
        prose_wrap(t, "", cell_number(e->columns[k].as, x).text, "</dd></div>\n");
    }
    prose_add(t, "</dl>\n");
}

static void show_table(struct prose *t, const struct exhibit *e, const char *run)
{
    begin_block(t, e, "rows");
    page_wide(t, title_of(e, run).text);
    prose_add(t, "<table class=\"sortable\">\n");
    table_head(t, e, e->ncolumns);
    prose_add(t, "<tbody>\n");
    for (size_t i = 0; i < e->nrows; i++) {
        prose_add(t, "<tr>");
        for (size_t k = 0; k < e->ncolumns; k++)
            table_cell(t, e, i, k);
        prose_add(t, "</tr>\n");
    }
    prose_add(t, "</tbody></table></div></section>\n");
}

enum { ASKED, KNOWN, ANSWER, SCORE }; /* columns of answers */

static bool same_question(const struct exhibit *e, size_t a, size_t b)
{
    if (strcmp(exhibit_text(e, a, ASKED), exhibit_text(e, b, ASKED)) != 0)
        return false;
    return !is_word(e, KNOWN) || strcmp(exhibit_text(e, a, KNOWN), exhibit_text(e, b, KNOWN)) == 0;
}

/* An answer that is what came is marked. */
static void show_answer(struct prose *t, const struct exhibit *e, size_t i)
{
    bool right = is_word(e, KNOWN) &&
                 strcmp(exhibit_text(e, i, KNOWN), exhibit_text(e, i, ANSWER)) == 0;

    prose_wrap(t, right ? "<li class=\"right\">" : "<li>", exhibit_text(e, i, ANSWER), "");
    prose_wrap(t, " <small>", cell_number(e->columns[SCORE].as, exhibit_real(e, i, SCORE)).text,
               "</small></li>");
}

static void show_answers(struct prose *t, const struct exhibit *e, const char *run)
{
    begin_block(t, e, "asked");
    page_wide(t, title_of(e, run).text);
    prose_add(t, "<table>\n");
    table_head(t, e, ANSWER + 1);
    prose_add(t, "<tbody>\n");
    for (size_t i = 0; i < e->nrows;) {
        size_t from = i;

        prose_add(t, "<tr>");
        table_cell(t, e, i, ASKED);
        table_cell(t, e, i, KNOWN);
        prose_add(t, "<td class=\"w\"><ol class=\"answers\">");
        while (i < e->nrows && same_question(e, from, i))
            show_answer(t, e, i++);
        prose_add(t, "</ol></td></tr>\n");
    }
    prose_add(t, "</tbody></table></div></section>\n");
}

/* ---- a matrix ---- */

static double row_sum(const struct exhibit *e, size_t n, size_t row)
{
    double sum = 0;

    for (size_t k = 0; k < n; k++)
        sum += fmax(exhibit_real(e, row * n + k, 2), 0);
    return sum;
}

static void matrix_cell(struct prose *t, const struct exhibit *e, size_t at, double sum, bool right)
{
    double x = exhibit_real(e, at, 2), share = sum > 0 && x > 0 ? x / sum : 0;

    prose_add(t, "<td class=\"%s\" style=\"--s:%.2f\" title=\"", right ? "hit" : "miss",
              0.7 * share);
    prose_wrap(t, "", exhibit_text(e, at, 0), "");
    prose_wrap(t, " said to be ", exhibit_text(e, at, 1), "");
    prose_add(t, ": %.1f %%\">%s</td>", 100 * share, cell_number(COLUMN_COUNT, x).text);
}

static void matrix_row(struct prose *t, const struct exhibit *e, size_t n, size_t i)
{
    double sum = row_sum(e, n, i);

    prose_wrap(t, "<tr><th scope=\"row\" class=\"w\">", exhibit_text(e, i * n, 0), "</th>");
    for (size_t k = 0; k < n; k++)
        matrix_cell(t, e, i * n + k, sum, i == k);
    prose_add(t, "</tr>\n");
}

/* Nothing is shown of rows that are no square. */
static void show_matrix(struct prose *t, const struct exhibit *e, const char *run)
{
    size_t n = (size_t)lround(sqrt((double)e->nrows));

    if (n == 0 || n * n != e->nrows)
        return;
    begin_block(t, e, "taken");
    page_wide(t, title_of(e, run).text);
    prose_add(t, "<table class=\"matrix\">\n<thead><tr><th class=\"w\" scope=\"col\">");
    prose_wrap(t, "", e->columns[0].head, " \\ ");
    prose_wrap(t, "", e->columns[1].head, "</th>");
    for (size_t k = 0; k < n; k++)
        prose_wrap(t, "<th scope=\"col\">", exhibit_text(e, k, 1), "</th>");
    prose_add(t, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n; i++)
        matrix_row(t, e, n, i);
    prose_add(t, "</tbody></table></div></section>\n");
}

/* ---- pictures ---- */

enum { FILE_AT, TRUE_CLASS, SAID, SURE };

/* They are as large as few pixels can be seen. */
static void show_pictures(struct prose *t, const struct exhibit *e)
{
    begin_block(t, e, "seen");
    prose_add(t, "<ul class=\"pictures\">\n");
    for (size_t i = 0; i < e->nrows; i++) {
        if (!*exhibit_text(e, i, FILE_AT))
            continue;
        prose_wrap(t, "<li><img alt=\"a picture of class ", exhibit_text(e, i, TRUE_CLASS), "\"");
        prose_wrap(t, " width=\"72\" height=\"72\" src=\"data:image/png;base64,",
                   exhibit_text(e, i, FILE_AT), "\">");
        prose_wrap(t, "<b>", exhibit_text(e, i, SAID), "</b> ");
        prose_add(t, "%s<br>", cell_number(COLUMN_SHARE, exhibit_real(e, i, SURE)).text);
        prose_wrap(t, "<span>is ", exhibit_text(e, i, TRUE_CLASS), "</span></li>\n");
    }
    prose_add(t, "</ul></section>\n");
}

/* ---- shapes that are figures ---- */

/* Of several runs each has files of its own. */
static void name_file(char name[48], const struct exhibit *e, size_t number)
{
    if (number > 0)
        snprintf(name, 48, "%s-%zu", e->name, number % 1000);
    else
        snprintf(name, 48, "%s", e->name);
}

static void show_curves(struct album *a, const struct exhibit *e, const char *run, size_t number)
{
    char name[48];
    struct chart c = {.name = name,
                      .x_label = e->columns[1].head,
                      .y_label = e->columns[2].head,
                      .from_zero = e->shape == EXHIBIT_CURVES,
                      .to_one = e->shape == EXHIBIT_CURVES};
    struct line *line = NULL;

    name_file(name, e, number);
    snprintf(c.title, sizeof c.title, "%s", title_of(e, run).text);
    for (size_t i = 0; i < e->nrows; i++) {
        const char *of = exhibit_text(e, i, 0);

        if (i == 0 || strcmp(of, exhibit_text(e, i - 1, 0)) != 0) {
            line = chart_line(&c, of);
            if (line) {
                line->ideal = exhibit_real(e, i, 3) > 0;
                line->dots = e->shape == EXHIBIT_POINTS && !line->ideal;
            }
        }
        if (line)
            chart_line_add(&c, line, exhibit_real(e, i, 1), exhibit_real(e, i, 2));
    }
    album_chart(a, &c, 1);
}

static void show_map(struct album *a, const struct exhibit *e, const char *run, size_t number)
{
    struct scatter s = {.n = 0};
    char name[48];

    name_file(name, e, number);
    snprintf(s.title, sizeof s.title, "%s", title_of(e, run).text);
    s.at = mem_array(e->nrows + 1, sizeof *s.at);
    s.taken = mem_array(e->nrows + 1, sizeof *s.taken);
    if (!s.at || !s.taken)
        a->status = SHOAL_ENOMEM;
    for (size_t i = 0; i < e->nrows && s.at && s.taken; i++) {
        double x = exhibit_real(e, i, 1), y = exhibit_real(e, i, 2), group = exhibit_real(e, i, 3);

        if (isfinite(x) && isfinite(y))
            s.at[s.n++] = (struct scatter_at){exhibit_text(e, i, 0), x, y,
                                              group > 0 && group < 256 ? (size_t)group : 0};
    }
    if (s.n > 0)
        album_figure(a, name, &scatter_figure, &s);
    free(s.at);
    free(s.taken);
}

static bool is_figure(const struct exhibit *e)
{
    return e->shape == EXHIBIT_CURVES || e->shape == EXHIBIT_POINTS || e->shape == EXHIBIT_MAP;
}

/* ---- the chapter ---- */

static void say_asked(struct prose *t, const struct learned *l)
{
    if (l->examples == 0)
        return;
    prose_add(t, "<p>Asked about %.0f ", (double)l->examples);
    if (l->examples < l->all)
        prose_add(t, "of %.0f ", (double)l->all);
    prose_add(t, l->held ? "examples that were held out.</p>\n"
                         : "examples that it learned from, since none were held out: others may be "
                           "harder.</p>\n");
}

static void show_words(struct prose *t, const struct exhibit *e, const char *run)
{
    if (e->shape == EXHIBIT_FIGURES)
        show_figures(t, e);
    else if (e->shape == EXHIBIT_TABLE)
        show_table(t, e, run);
    else if (e->shape == EXHIBIT_ANSWERS)
        show_answers(t, e, run);
    else if (e->shape == EXHIBIT_MATRIX)
        show_matrix(t, e, run);
    else if (e->shape == EXHIBIT_PICTURES)
        show_pictures(t, e);
}

static void show_drawn(struct album *a, const struct exhibit *e, const char *run, size_t number)
{
    if (e->shape == EXHIBIT_MAP)
        show_map(a, e, run, number);
    else
        show_curves(a, e, run, number);
}

/* Figures that follow one another stand beside each other; what is to be said of them stands
 * below. */
static size_t show_album(struct album *a, const struct learned *l, size_t i, const char *run,
                         size_t number)
{
    size_t from = i;

    album_begin(a, NULL);
    for (; i < l->n && is_figure(&l->at[i]); i++)
        show_drawn(a, &l->at[i], run, number);
    album_end(a);
    for (size_t k = from; k < i; k++)
        if (*l->at[k].note) {
            prose_wrap(a->page, "<p class=\"note\"><b>", l->at[k].title, ".</b> ");
            prose_wrap(a->page, "", l->at[k].note, "</p>\n");
        }
    return i;
}

static void show_run(struct album *a, const shoal_run *run, const char *name, size_t number)
{
    const struct learned *l = run->learned;

    prose_wrap(a->page, "<h3>", *name ? name : run->model, "</h3>\n");
    say_asked(a->page, l);
    for (size_t i = 0; i < l->n;) {
        if (is_figure(&l->at[i]))
            i = show_album(a, l, i, name, number);
        else
            show_words(a->page, &l->at[i++], name);
    }
}

/* Of many runs the one with the best quality, or else the lowest validation loss. */
static size_t best_run(const shoal_run *const *runs, size_t n)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++) {
        const struct shoal_measures *m = &runs[i]->end, *than = best < n ? &runs[best]->end : m;

        if (!runs[i]->learned)
            continue;
        if (best == n || m->quality > than->quality ||
            (!(m->quality < than->quality) && m->held < than->held))
            best = i;
    }
    return best;
}

void report_learned(struct album *a, const shoal_run *const *runs, const char *const *names,
                    size_t n)
{
    enum { TOGETHER = 3 }; /* runs that are all shown */
    size_t shown = 0, best = best_run(runs, n);

    if (best == n)
        return;
    for (size_t i = 0; i < n; i++)
        shown += runs[i]->learned != NULL;
    page_section(a->page, "What was learned");
    if (shown > TOGETHER)
        prose_wrap(a->page, "<p>By the best of these runs, ", names[best],
                   "; a report of another run shows what that one learned.</p>\n");
    for (size_t i = 0; i < n; i++)
        if (runs[i]->learned && (shown <= TOGETHER || i == best))
            show_run(a, runs[i], n > 1 ? names[i] : "", shown > 1 ? i + 1 : 0);
}
