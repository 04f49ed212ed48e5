/* A canvas of text: SVG, in colours for light, dark and paper. No variables of CSS: programs
 * that turn SVG into pixels know none. */
#include "study/draw/canvas.h"

#include <string.h>

/* Made from src/study/page/figure.css, as report.inc is: the font, and dark screens. */
#include "figure.inc"

/* ---- numbers ---- */

/* A tenth of a unit is as fine as eyes are. */
static struct short_number place(double x)
{
    struct short_number n = number_as("%.1f", x);
    size_t len = strlen(n.text);

    if (len > 2 && strcmp(n.text + len - 2, ".0") == 0)
        n.text[len - 2] = '\0';
    return strcmp(n.text, "-0") == 0 ? number_as("0") : n;
}

/* ` name="x"` */
static void put(struct prose *t, const char *name, double x)
{
    prose_add(t, " %s=\"%s\"", name, place(x).text);
}

/* ---- style ---- */

static void rule_of(struct prose *t, const struct ink_look *look)
{
    prose_add(t, ".fig .%s{", look->class);
    if (!look->filled)
        prose_add(t, "fill:none;");
    if (look->width > 0 && !(look->coloured && !look->filled))
        prose_add(t, "stroke:#%06x;", (unsigned)look->stroke);
    if (look->width > 0)
        prose_add(t, "stroke-width:%s;stroke-linejoin:round", number_as("%g", look->width).text);
    else
        prose_add(t, "stroke:none");
    if (look->dash[0] > 0)
        prose_add(t, ";stroke-dasharray:%g %g", look->dash[0], look->dash[1]);
    prose_add(t, "}\n");
}

void svg_style(struct prose *t)
{
    for (size_t i = 0; i < FONTS; i++) {
        const struct font_look *f = &font_looks[i];

        prose_add(t, ".fig %s%s{font-size:%gpx;font-weight:%d;fill:#%06x}\n", f->class ? "." : "",
                  f->class ? f->class : "text", f->size, f->bold ? 600 : 400, (unsigned)f->fill);
    }
    for (size_t i = 0; i < INK_HOVER; i++)
        rule_of(t, &ink_looks[i]);
    for (size_t i = 1; i < 3; i++)
        prose_add(t, ".fig .d%zu{stroke-dasharray:%g %g}\n", i, line_dashes[i][0],
                  line_dashes[i][1]);
    for (size_t i = 0; i < CANVAS_COLOURS; i++)
        prose_add(t, ".fig .c%zu{stroke:#%06x}.fig .f%zu{fill:#%06x}.tools .k%zu{--k:#%06x}\n", i,
                  (unsigned)canvas_colours[i], i, (unsigned)canvas_colours[i], i,
                  (unsigned)canvas_colours[i]);
    prose_add(t, "%s", figure_css);
}

static void alone_style(struct prose *t)
{
    prose_add(t, "<style>\n");
    svg_style(t);
    prose_add(t, ".paper{fill:#fff}\n"
                 "@media screen and (prefers-color-scheme:dark){.paper{fill:#17181b}}\n"
                 "</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n");
}

/* ---- elements ---- */

void svg_begin(struct prose *t, const char *title, double width, double height, bool alone)
{
    if (alone)
        prose_add(t,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\"",
                  width, height);
    else
        prose_add(t, "<svg");
    prose_add(t, " class=\"fig\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", width,
              height);
    prose_wrap(t, "", title, "\">\n");
    if (alone)
        alone_style(t);
}

void svg_end(struct prose *t)
{
    prose_add(t, "</svg>\n");
}

/* <name class="..." */
static void element(struct prose *t, const char *name, struct ink ink)
{
    const struct ink_look *look = &ink_looks[ink.kind];
    size_t again = ink.colour / CANVAS_COLOURS % 3;

    prose_add(t, "<%s class=\"%s", name, look->class);
    if (look->coloured)
        prose_add(t, " %c%zu", look->filled ? 'f' : 'c', ink.colour % CANVAS_COLOURS);
    if (ink.kind == INK_LINE && again > 0)
        prose_add(t, " d%zu", again);
    prose_add(t, "\"");
}

static void element_end(struct prose *t, const char *name, const char *title)
{
    if (!title) {
        prose_add(t, "/>\n");
        return;
    }
    prose_wrap(t, "><title>", title, "</title>");
    prose_add(t, "</%s>\n", name);
}

static void svg_path(void *on, struct ink ink, const struct path *p)
{
    struct prose *t = on;

    element(t, "path", ink);
    prose_add(t, " d=\"");
    for (size_t i = 0; i < p->n; i++) {
        struct short_number x = place(p->at[i].x), y = place(p->at[i].y);

        if (i > 0 && strcmp(x.text, place(p->at[i - 1].x).text) == 0)
            prose_add(t, "V%s", y.text);
        else if (i > 0 && strcmp(y.text, place(p->at[i - 1].y).text) == 0)
            prose_add(t, "H%s", x.text);
        else
            prose_add(t, "%c%s %s", i == 0 ? 'M' : 'L', x.text, y.text);
    }
    prose_add(t, p->closed ? "Z\"" : "\"");
    element_end(t, "path", NULL);
}

static void svg_rect(void *on, struct ink ink, double x, double y, double width, double height,
                     const char *title)
{
    struct prose *t = on;

    element(t, "rect", ink);
    put(t, "x", x);
    put(t, "y", y);
    put(t, "width", width);
    put(t, "height", height);
    element_end(t, "rect", title);
}

static void svg_circle(void *on, struct ink ink, double x, double y, double r, const char *title)
{
    struct prose *t = on;

    element(t, "circle", ink);
    put(t, "cx", x);
    put(t, "cy", y);
    put(t, "r", r);
    element_end(t, "circle", title);
}

static void svg_words(void *on, const struct words *w)
{
    static const char *const anchors[] = {NULL, "middle", "end"};
    const char *class = font_looks[w->font].class;
    double size = font_looks[w->font].size;
    struct prose *t = on;

    prose_add(t, "<text");
    if (class)
        prose_add(t, " class=\"%s\"", class);
    if (w->upwards) {
        prose_add(t, " transform=\"translate(%s %s) rotate(-90)\"", place(w->x).text,
                  place(w->y).text);
    } else {
        put(t, "x", w->x);
        put(t, "y", w->y);
    }
    if (anchors[w->anchor])
        prose_add(t, " text-anchor=\"%s\"", anchors[w->anchor]);
    if (w->most > 0 && canvas_width(w->text) * size / font_looks[FONT_LABEL].size > w->most)
        prose_add(t, " textLength=\"%s\" lengthAdjust=\"spacingAndGlyphs\"", place(w->most).text);
    prose_wrap(t, ">", w->text, "</text>\n");
}

const struct canvas_kind svg_canvas = {svg_path, svg_rect, svg_circle, svg_words};
