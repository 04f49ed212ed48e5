/* A canvas of pixels, by cairo, written as PNG. Cairo takes the sans-serif font of the system;
 * where there is none, or it cannot be read, the one that is built into it. The same figure on the
 * same machine gives the same bytes: nothing in the file says when or by whom.
 *
 * Cairo keeps the first failure of a drawing and skips the rest, as a struct prose does, so that
 * it is asked once, at the end. */
#include "file/file.h"
#include "study/draw/canvas.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MOST = 16384,     /* pixels */
    WORDS_MOST = 1024,     /* bytes of words */
    WIDER_PERCENT = 115,   /* what words may take, of what was reckoned with */
    TIGHTEST_PERCENT = 60, /* as narrow as words become */
};

struct raster {
    cairo_surface_t *surface;
    cairo_t *pen;
    cairo_font_face_t *faces[FONTS];
};

/* ---- fonts ---- */

static bool face_works(cairo_font_face_t *face)
{
    cairo_matrix_t size, unit;
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_scaled_font_t *font;
    cairo_text_extents_t extents;
    bool works;

    cairo_matrix_init_scale(&size, 12, 12);
    cairo_matrix_init_identity(&unit);
    font = cairo_scaled_font_create(face, &size, &unit, options);
    cairo_scaled_font_text_extents(font, "0", &extents);
    works = cairo_scaled_font_status(font) == CAIRO_STATUS_SUCCESS && extents.x_advance > 0;
    cairo_scaled_font_destroy(font);
    cairo_font_options_destroy(options);
    return works;
}

static cairo_font_face_t *face_of(const struct font_look *look)
{
    cairo_font_weight_t weight = look->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL;
    cairo_font_face_t *face =
        cairo_toy_font_face_create("sans-serif", CAIRO_FONT_SLANT_NORMAL, weight);

    if (face_works(face))
        return face;
    cairo_font_face_destroy(face);
    return cairo_toy_font_face_create("@cairo:", CAIRO_FONT_SLANT_NORMAL, weight);
}

/* Pixels of text by their place alone: grey edges, no steps of whole pixels. */
static void plain_edges(cairo_t *pen)
{
    cairo_font_options_t *options = cairo_font_options_create();

    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(pen, options);
    cairo_font_options_destroy(options);
}

/* ---- ending and beginning ---- */

static shoal_status raster_failed(const char *who, cairo_status_t status)
{
    return shoal_fail(status == CAIRO_STATUS_NO_MEMORY ? SHOAL_ENOMEM : SHOAL_EIO,
                      "%s: found a picture that cannot be drawn (%s), want memory and a font", who,
                      cairo_status_to_string(status));
}

void raster_close(struct raster *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < FONTS; i++)
        cairo_font_face_destroy(r->faces[i]);
    cairo_destroy(r->pen);
    cairo_surface_destroy(r->surface);
    free(r);
}

shoal_status raster_open(struct raster **out, double width, double height, double zoom)
{
    double columns = ceil(width * zoom), rows = ceil(height * zoom);
    struct raster *r;

    *out = NULL;
    if (!(columns >= 1 && columns <= SIDE_MOST && rows >= 1 && rows <= SIDE_MOST))
        return shoal_fail(SHOAL_EINVAL, "picture: found %.0f x %.0f pixels, want 1 to %d a side",
                          columns, rows, SIDE_MOST);
    r = mem_array(1, sizeof *r);
    if (!r)
        return SHOAL_ENOMEM;
    r->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)columns, (int)rows);
    r->pen = cairo_create(r->surface);
    for (size_t i = 0; i < FONTS; i++)
        r->faces[i] = face_of(&font_looks[i]);
    cairo_set_source_rgb(r->pen, 1, 1, 1);
    cairo_paint(r->pen);
    cairo_scale(r->pen, zoom, zoom);
    cairo_set_line_join(r->pen, CAIRO_LINE_JOIN_ROUND);
    plain_edges(r->pen);
    *out = r;
    return SHOAL_OK;
}

struct sink {
    struct output *output;
    shoal_status status;
};

static cairo_status_t sink_write(void *closure, const unsigned char *data, unsigned len)
{
    struct sink *sink = closure;

    sink->status = output_write(sink->output, data, len);
    return sink->status == SHOAL_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

shoal_status raster_write(struct raster *r, const char *path)
{
    cairo_status_t status = cairo_status(r->pen);
    struct sink sink = {0};

    if (status == CAIRO_STATUS_SUCCESS)
        sink.status = output_open(&sink.output, path);
    if (status == CAIRO_STATUS_SUCCESS && sink.status == SHOAL_OK) {
        cairo_surface_flush(r->surface);
        status = cairo_surface_write_to_png_stream(r->surface, sink_write, &sink);
    }
    if (status != CAIRO_STATUS_SUCCESS && sink.status == SHOAL_OK)
        sink.status = raster_failed(path, status);
    return output_end(sink.output, sink.status);
}

/* ---- drawing ---- */

static void colour(cairo_t *pen, uint32_t rgb)
{
    cairo_set_source_rgb(pen, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0);
}

/* Fills or strokes the path that the pen has. */
static void apply(cairo_t *pen, struct ink ink)
{
    const struct ink_look *look = &ink_looks[ink.kind];
    uint32_t own = canvas_colours[ink.colour % CANVAS_COLOURS];
    const double *dash =
        ink.kind == INK_LINE ? line_dashes[ink.colour / CANVAS_COLOURS % 3] : look->dash;

    if (look->filled) {
        colour(pen, own);
        cairo_fill_preserve(pen);
    }
    if (look->width > 0) {
        colour(pen, look->coloured && !look->filled ? own : look->stroke);
        cairo_set_line_width(pen, look->width);
        cairo_set_dash(pen, dash, dash[0] > 0 ? 2 : 0, 0);
        cairo_stroke_preserve(pen);
    }
    cairo_new_path(pen);
}

static void raster_path(void *on, struct ink ink, const struct path *p)
{
    cairo_t *pen = ((struct raster *)on)->pen;

    for (size_t i = 0; i < p->n; i++)
        cairo_line_to(pen, p->at[i].x, p->at[i].y); /* the first one moves */
    if (p->closed)
        cairo_close_path(pen);
    apply(pen, ink);
}

static void raster_rect(void *on, struct ink ink, double x, double y, double width, double height,
                        const char *title)
{
    cairo_t *pen = ((struct raster *)on)->pen;

    (void)title;
    cairo_rectangle(pen, x, y, width, height);
    apply(pen, ink);
}

static void raster_circle(void *on, struct ink ink, double x, double y, double r, const char *title)
{
    cairo_t *pen = ((struct raster *)on)->pen;

    (void)title;
    cairo_arc(pen, x, y, r, 0, 2 * acos(-1));
    apply(pen, ink);
}

/* Of three bytes or more: no second spelling of a shorter one, no half of a pair, not past the
 * last; and none of those that are never characters. */
static bool is_character(const unsigned char *at, size_t len)
{
    uint32_t c = len == 3 ? at[0] & 15u : at[0] & 7u;

    if (len < 3)
        return true;
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (at[i] & 63u);
    return c >= (len == 3 ? 0x800u : 0x10000u) && c < 0x110000 && !(c >= 0xd800 && c < 0xe000) &&
           !(c >= 0xfdd0 && c < 0xfdf0) && (c & 0xfffe) != 0xfffe;
}

/* Cairo draws nothing more after bytes that are not UTF-8: what is no character becomes '?'. */
static void readable(char out[WORDS_MOST], const char *text)
{
    size_t len = strlen(text), n = 0;

    for (size_t i = 0, step; i < len; i += step) {
        bool good;

        step = character_len(text + i, len - i, &good);
        good = good && is_character((const unsigned char *)text + i, step);
        if (n + step + 1 >= WORDS_MOST)
            break;
        if (good)
            memcpy(out + n, text + i, step);
        else
            out[n] = '?';
        n += good ? step : 1;
        step = step > 0 ? step : 1;
    }
    out[n] = '\0';
}

/* The columns of words as they are; where they could not be squeezed into the room, they are cut
 * and end with dots. */
static double words_fit(cairo_t *pen, char text[WORDS_MOST], double room)
{
    cairo_text_extents_t extents;
    size_t len = strlen(text);

    cairo_text_extents(pen, text, &extents);
    while (extents.x_advance * TIGHTEST_PERCENT / 100 > room && len > 4) {
        len -= len > 4 && memcmp(text + len - 3, "...", 3) == 0 ? 3 : 0;
        do
            len--;
        while (len > 1 && ((unsigned char)text[len] & 0xc0) == 0x80);
        memcpy(text + len, "...", 4);
        len += 3;
        cairo_text_extents(pen, text, &extents);
    }
    return extents.x_advance;
}

/* Words of a wide font become narrower, to keep to the room that was left for them. */
static void raster_words(void *on, const struct words *w)
{
    static const double before[] = {0, 0.5, 1};
    struct raster *r = on;
    const struct font_look *look = &font_looks[w->font];
    double room = w->most > 0 ? w->most : WIDER_PERCENT / 100.0 * canvas_width(w->text), width;
    char text[WORDS_MOST];

    readable(text, w->text);
    cairo_save(r->pen);
    colour(r->pen, look->fill);
    cairo_set_font_face(r->pen, r->faces[w->font]);
    cairo_set_font_size(r->pen, look->size);
    width = words_fit(r->pen, text, room);
    cairo_translate(r->pen, w->x, w->y);
    if (w->upwards)
        cairo_rotate(r->pen, -acos(-1) / 2);
    if (width > room)
        cairo_scale(r->pen, room / width, 1);
    cairo_move_to(r->pen, -before[w->anchor] * width, 0);
    cairo_show_text(r->pen, text);
    cairo_restore(r->pen);
    cairo_new_path(r->pen);
}

const struct canvas_kind raster_canvas = {raster_path, raster_rect, raster_circle, raster_words};
