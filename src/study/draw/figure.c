/* What charts and bars share: colours for light, dark and paper, the frame, the
 * legend. Colours can be told apart by the colour-blind too, and on grey paper
 * lines differ by their signs. No variables of CSS: programs that turn SVG into
 * pixels know none. */
#include "study/draw/draw.h"

#include <string.h>

/* Made from src/study/page/figure.css, as report.inc is. The colours are those of Okabe and Ito,
 * darkened or lightened to stand out from the paper. */
#include "figure.inc"

void figure_style(struct prose *t)
{
    prose_add(t, "%s", figure_css);
}

static void alone_style(struct prose *t)
{
    prose_add(t, "<style>\n");
    figure_style(t);
    prose_add(t, ".paper{fill:#fff}\n"
                 "@media screen and (prefers-color-scheme:dark){.paper{fill:#17181b}}\n"
                 "</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n");
}

void figure_begin(struct prose *t, const char *title, double height, bool alone)
{
    if (alone)
        prose_add(t,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\"",
                  FIGURE_WIDTH, height);
    else
        prose_add(t, "<svg");
    prose_add(t, " class=\"fig\" viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", FIGURE_WIDTH,
              height);
    prose_wrap(t, "", title, "\">\n");
    if (alone)
        alone_style(t);
    prose_wrap(t, "<text class=\"t\" x=\"8\" y=\"20\">", title, "</text>\n");
}

void figure_end(struct prose *t)
{
    prose_add(t, "</svg>\n");
}

void figure_text(struct prose *t, const char *anchor, double x, double y, const char *words)
{
    prose_add(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    prose_wrap(t, "", words, "</text>\n");
}

double figure_width(const char *words)
{
    double columns = 0;

    for (; *words; words++)
        columns += ((unsigned char)*words & 0xc0) != 0x80; /* once for each character */
    return 6.9 * columns;
}

/* ---- axis ---- */

double figure_x(const struct scale *s, double left, double x)
{
    return left + scale_at(s, x) * (FIGURE_WIDTH - FIGURE_RIGHT - left);
}

void figure_x_axis(struct prose *t, const struct scale *s, const char *name, double left,
                   double top, double bottom)
{
    char label[96];

    for (size_t i = 0; i < s->nticks; i++) {
        double x = figure_x(s, left, s->ticks[i]);

        prose_add(t, "<path class=\"g\" d=\"M%.1f %.0fV%.1f\"/>", x, top, bottom);
        figure_text(t, "middle", x, bottom + 16, scale_tick(s, s->ticks[i]).text);
    }
    scale_label(label, name, s);
    figure_text(t, "middle", (left + FIGURE_WIDTH - FIGURE_RIGHT) / 2, bottom + 36, label);
}

/* ---- legend ---- */

double legend_name(struct legend *l, struct prose *t, const char *name)
{
    double width = 28 + figure_width(name) + 12, sign;

    if (l->x > LEGEND_LEFT && l->x + width > FIGURE_WIDTH) {
        l->x = LEGEND_LEFT;
        l->y += 18;
    }
    sign = l->x;
    if (t) {
        prose_add(t, "<text x=\"%.0f\" y=\"%.0f\">", sign + 28, l->y + 4);
        prose_wrap(t, "", name, "</text>\n");
    }
    l->x += width;
    return sign;
}

double legend_parts(struct prose *t, const char *const *parts, size_t n, double bottom)
{
    struct legend l = {LEGEND_LEFT, bottom + 58};

    for (size_t k = 0; k < n && n > 1; k++) {
        double x = legend_name(&l, t, parts[k]);

        if (t)
            prose_add(t,
                      "<rect class=\"b f%zu\" x=\"%.0f\" y=\"%.0f\" width=\"20\" height=\"12\"/>\n",
                      k % FIGURE_COLOURS, x, l.y - 6);
    }
    return n > 1 ? l.y + LEGEND_BELOW : bottom + 48;
}
