/* Figures as SVG and as PNG: what is seen is where the data is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "samples/samples.h"
#include "scratch.h"
#include "study/draw/draw.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ZOOM = 2, TOP = 34, BOTTOM = 244, RIGHT = 462 }; /* of the plot of a chart */

static const uint32_t white = 0xffffff;

/* ---- pictures ---- */

/* The figure as it is read back from NAME.png. */
static struct picture png_of(const struct figure_kind *kind, const void *figure, const char *name)
{
    char file[64];
    struct picture p = {0};

    assert_int_equal(figure_png(kind, figure, ZOOM, scratch_dir, name), SHOAL_OK);
    snprintf(file, sizeof file, "%s.png", name);
    assert_int_equal(picture_read(&p, scratch_path(file), 3), SHOAL_OK);
    assert_int_equal(p.width, ceil(ZOOM * kind->extent(figure).width));
    assert_int_equal(p.height, ceil(ZOOM * kind->extent(figure).height));
    return p;
}

static char *svg_of(const struct figure_kind *kind, const void *figure)
{
    struct prose t = {0};
    char *text;

    figure_svg(&t, kind, figure, false);
    assert_int_equal(prose_take(&t, &text), SHOAL_OK);
    return text;
}

/* At a place of the figure, 0xRRGGBB. */
static uint32_t pixel(const struct picture *p, double x, double y)
{
    const uint8_t *at = p->at + 3 * ((size_t)(y * ZOOM) * p->width + (size_t)(x * ZOOM));

    assert_in_range((uintmax_t)(x * ZOOM), 0, p->width - 1);
    assert_in_range((uintmax_t)(y * ZOOM), 0, p->height - 1);
    return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

/* Pixels in a box that are darker than `shade`, a grey. */
static size_t dark(const struct picture *p, double x0, double y0, double x1, double y1,
                   uint32_t shade)
{
    size_t n = 0;

    for (double y = y0; y < y1; y += 1.0 / ZOOM)
        for (double x = x0; x < x1; x += 1.0 / ZOOM) {
            uint32_t c = pixel(p, x, y);

            n += (c >> 16 & 255) < shade && (c >> 8 & 255) < shade && (c & 255) < shade;
        }
    return n;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static bool is_near(const struct picture *p, double x, double y, uint32_t colour)
{
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (pixel(p, x + dx / (double)ZOOM, y + dy / (double)ZOOM) == colour)
                return true;
    return false;
}

/* The line's colour is at every point that the SVG has a value at, or one pixel from it: the
 * ends of lines have edges. */
static size_t points_have_colour(const struct picture *p, const char *svg, const char *name,
                                 uint32_t colour)
{
    size_t n = 0;

    while ((svg = strstr(svg, "<circle class=\"h\"")) != NULL) {
        double x, y;
        int begin = 0;

        assert_int_equal(sscanf(svg, "<circle class=\"h\" cx=\"%lf\" cy=\"%lf\" r=\"7\"><title>%n",
                                &x, &y, &begin),
                         2);
        svg += begin;
        if (strncmp(svg, name, strlen(name)) != 0)
            continue;
        assert_true(is_near(p, x, y, colour));
        n++;
    }
    return n;
}

/* ---- charts ---- */

static struct chart chart_like(const char *title)
{
    struct chart c = {.name = "chart",
                      .x_label = "time",
                      .y_label = "loss",
                      .x_axis = AXIS_PLAIN,
                      .from_zero = true};

    snprintf(c.title, sizeof c.title, "%s", title);
    return c;
}

/* n points from (0, from) to (10, to). */
static void add_straight(struct chart *c, const char *name, double from, double to, size_t n)
{
    struct line *line = chart_line(c, name);

    for (size_t i = 0; i < n; i++) {
        double part = (double)i / (double)(n - 1);

        chart_line_add(c, line, 10 * part, from + part * (to - from));
    }
}

static void a_line_is_where_its_points_are(void **state)
{
    struct chart c = chart_like("Loss against time");
    struct picture p;
    char *svg;

    (void)state;
    add_straight(&c, "rises", 0, 10, 50);
    add_straight(&c, "falls", 10, 5, 5);
    p = png_of(&chart_figure, &c, "lines");
    svg = svg_of(&chart_figure, &c);
    assert_int_equal(p.width, ZOOM * FIGURE_WIDTH);
    assert_int_equal(points_have_colour(&p, svg, "rises", canvas_colours[0]), 50);
    assert_int_equal(points_have_colour(&p, svg, "falls", canvas_colours[1]), 5);
    /* By the corners of the plot, not by what the SVG says. */
    assert_int_equal(pixel(&p, RIGHT - 0.5, TOP + 0.5), canvas_colours[0]);
    assert_int_equal(pixel(&p, RIGHT, (TOP + BOTTOM) / 2.0), canvas_colours[1]);
    assert_int_equal(pixel(&p, 300, TOP + 12), white);
    assert_int_equal(pixel(&p, 400, BOTTOM - 12), white);
    picture_fini(&p);
    free(svg);
    chart_fini(&c);
}

static void words_are_seen(void **state)
{
    struct chart c = chart_like("Loss against time");
    struct picture p;

    (void)state;
    add_straight(&c, "one", 1, 10, 30);
    add_straight(&c, "two", 1, 5, 30);
    p = png_of(&chart_figure, &c, "words");
    assert_true(dark(&p, 8, 8, 120, 24, 0x60) > 300);                        /* title */
    assert_true(dark(&p, 18, TOP - 6, 46, BOTTOM + 6, 0x80) > 100);          /* numbers of y */
    assert_true(dark(&p, 4, 100, 18, 180, 0x80) > 30);                       /* its name, upwards */
    assert_true(dark(&p, 40, BOTTOM + 8, 479, BOTTOM + 20, 0x80) > 100);     /* numbers of x */
    assert_true(dark(&p, 220, BOTTOM + 26, 300, BOTTOM + 42, 0x80) > 50);    /* its name */
    assert_true(dark(&p, 36, BOTTOM + 52, 60, BOTTOM + 68, 0x80) > 30);      /* the legend */
    assert_int_equal(dark(&p, 300, BOTTOM + 24, 479, BOTTOM + 70, 0xf0), 0); /* nothing else */
    picture_fini(&p);
    chart_fini(&c);
}

static void an_empty_chart_has_its_axes(void **state)
{
    struct chart c = chart_like("Nothing");
    struct picture p = png_of(&chart_figure, &c, "empty");
    char *svg = svg_of(&chart_figure, &c);

    (void)state;
    assert_true(dark(&p, 100, BOTTOM - 1, 400, BOTTOM + 1, 0xa0) > 500);
    assert_int_equal(count(svg, "class=\"l"), 0);
    picture_fini(&p);
    free(svg);
}

static void a_point_alone_is_seen(void **state)
{
    struct chart c = chart_like("One point");
    struct picture p;
    char *svg;

    (void)state;
    chart_line_add(&c, chart_line(&c, "it"), 3, 5);
    p = png_of(&chart_figure, &c, "point");
    svg = svg_of(&chart_figure, &c);
    assert_int_equal(points_have_colour(&p, svg, "it", canvas_colours[0]), 1);
    picture_fini(&p);
    free(svg);
    chart_fini(&c);
}

static void extreme_values_are_drawn_or_left_out(void **state)
{
    static const double values[] = {-1e308, 1e308, -1e300, 1e300,    1e-320, 0,
                                    5e-324, NAN,   1,      INFINITY, -0.0,   1e-300};

    (void)state;
    for (int logs = 0; logs < 4; logs++)
        for (size_t first = 0; first < 12; first++)
            for (size_t second = first; second < 12; second++) {
                struct chart c = chart_like("Extremes");
                struct line *line;
                char *svg;

                c.from_zero = logs == 0;
                c.x_log = logs & 1;
                c.y_log = logs & 2;
                line = chart_line(&c, "it");
                chart_line_add(&c, line, values[first], values[second]);
                chart_line_add(&c, line, values[second], values[first]);
                svg = svg_of(&chart_figure, &c);
                assert_null(strstr(svg, "nan"));
                assert_null(strstr(svg, "inf"));
                if (second == 3 || (first == second && logs == 3)) {
                    struct picture p = png_of(&chart_figure, &c, "extreme");

                    assert_int_equal(points_have_colour(&p, svg, "it", canvas_colours[0]),
                                     c.lines[0].n);
                    picture_fini(&p);
                }
                free(svg);
                chart_fini(&c);
            }
}

static void the_same_figure_has_the_same_bytes(void **state)
{
    struct chart c = chart_like("Twice");
    struct bytes one, two;

    (void)state;
    add_straight(&c, "it", 1, 10, 30);
    assert_int_equal(figure_png(&chart_figure, &c, ZOOM, scratch_dir, "a"), SHOAL_OK);
    assert_int_equal(figure_png(&chart_figure, &c, ZOOM, scratch_dir, "b"), SHOAL_OK);
    one = scratch_get(scratch_path("a.png"));
    two = scratch_get(scratch_path("b.png"));
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.at, two.at, one.len);
    bytes_fini(&one);
    bytes_fini(&two);
    chart_fini(&c);
}

static void names_of_any_bytes_are_drawn(void **state)
{
    static const char *const names[] = {"\xff\xfe",         "caf\xc3\xa9", "cut \xe2\x82",
                                        "\xed\xa0\x80",     "\xc0\x80",    "\xef\xbf\xbf",
                                        "\xf4\x90\x80\x80", "a\nb\x01",    "\xe0\x80\x80"};
    struct chart c = chart_like("Any bytes: \xff\xed\xa0\x80");
    struct picture p;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_straight(&c, names[i], 0, (double)i + 1, 3);
    p = png_of(&chart_figure, &c, "bytes");
    assert_true(dark(&p, 8, 8, 120, 24, 0x60) > 300);
    assert_true(dark(&p, 36, BOTTOM + 52, 400, BOTTOM + 68, 0x80) > 30);
    picture_fini(&p);
    chart_fini(&c);
}

static void long_words_keep_within_the_picture(void **state)
{
    char name[96];
    struct chart c;
    struct picture p;
    char *svg;

    (void)state;
    memset(name, 'W', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    c = chart_like(name);
    add_straight(&c, name, 0, 1, 3);
    p = png_of(&chart_figure, &c, "long");
    svg = svg_of(&chart_figure, &c);
    assert_true(dark(&p, 380, 8, 472, 24, 0x60) > 300);
    assert_int_equal(dark(&p, 473, 4, 480, 26, 0xf0), 0);
    assert_int_equal(dark(&p, 473, BOTTOM + 50, 480, BOTTOM + 70, 0xf0), 0);
    assert_int_equal(count(svg, "textLength=\"464\""), 1);
    picture_fini(&p);
    free(svg);
    chart_fini(&c);
}

/* ---- bars and tracks ---- */

static void bars_are_as_long_as_their_parts(void **state)
{
    static const char *const parts[] = {"left", "right"};
    struct bars b = {.title = "Shares",
                     .x_label = "share",
                     .axis = AXIS_SHARE,
                     .parts = parts,
                     .nparts = 2,
                     .n = 2,
                     .at = {{{"a"}, {0.5, 0.5}}, {{"b"}, {0.25, 0}}}};
    double left = 16 + canvas_width("a"), wide = RIGHT - left;
    struct picture p = png_of(&bars_figure, &b, "bars");

    (void)state;
    assert_int_equal(pixel(&p, left + 0.25 * wide, 45), canvas_colours[0]);
    assert_int_equal(pixel(&p, left + 0.48 * wide, 45), canvas_colours[0]);
    assert_int_equal(pixel(&p, left + 0.52 * wide, 45), canvas_colours[1]);
    assert_int_equal(pixel(&p, left + 0.98 * wide, 45), canvas_colours[1]);
    assert_int_equal(pixel(&p, left + 0.23 * wide, 67), canvas_colours[0]);
    assert_int_equal(pixel(&p, left + 0.27 * wide, 67), white);
    assert_true(dark(&p, 8, 8, 80, 24, 0x60) > 100);
    picture_fini(&p);
}

static void tracks_show_what_was_done_when(void **state)
{
    double ends[] = {1, 2}, computing[] = {1, 1}, sending[] = {0, 0.5}, waiting[] = {0, 0.5};
    struct run_track track = {.n = 2, .ends = ends, .parts = {computing, sending, waiting}};
    struct tracks t = {.title = "Ranks", .at = &track, .names = {{"rank 0"}}, .n = 1};
    double left = 16 + canvas_width("rank 0"), second = (RIGHT - left) / 2;
    struct picture p = png_of(&tracks_figure, &t, "tracks");

    (void)state;
    assert_int_equal(pixel(&p, left + 0.5 * second, 60), canvas_colours[0]);
    assert_int_equal(pixel(&p, left + 0.5 * second, 84), canvas_colours[0]);
    assert_int_equal(pixel(&p, left + 1.5 * second, 60), canvas_colours[2]);
    assert_int_equal(pixel(&p, left + 1.5 * second, 84), canvas_colours[1]);
    picture_fini(&p);
}

/* ---- panels ---- */

static void panels_share_colours_and_the_legend(void **state)
{
    struct chart charts[2] = {chart_like("Loss"), chart_like("Accuracy")};
    struct panels panels = {.title = "Both", .at = {&charts[0], &charts[1]}, .n = 2, .columns = 2};
    struct picture p;
    char *svg;

    (void)state;
    add_straight(&charts[0], "1 worker", 10, 5, 50);
    add_straight(&charts[0], "2 workers", 8, 3, 50);
    add_straight(&charts[1], "2 workers", 3, 10, 50); /* in another order */
    add_straight(&charts[1], "1 worker", 0, 5, 50);
    p = png_of(&panels_figure, &panels, "panels");
    svg = svg_of(&panels_figure, &panels);
    assert_int_equal(p.width, ZOOM * 2 * FIGURE_WIDTH);
    assert_int_equal(points_have_colour(&p, svg, "1 worker:", canvas_colours[0]), 100);
    assert_int_equal(points_have_colour(&p, svg, "2 workers:", canvas_colours[1]), 100);
    assert_int_equal(pixel(&p, FIGURE_WIDTH + RIGHT - 0.5, 26 + TOP + 0.5), canvas_colours[1]);
    assert_int_equal(count(svg, ">1 worker<"), 1);
    assert_int_equal(count(svg, ">2 workers<"), 1);
    assert_int_equal(count(svg, ">Loss<") + count(svg, ">Accuracy<") + count(svg, ">Both<"), 3);
    picture_fini(&p);
    free(svg);

    panels.columns = 1;
    p = png_of(&panels_figure, &panels, "stacked");
    assert_int_equal(p.width, ZOOM * FIGURE_WIDTH);
    assert_int_equal(pixel(&p, RIGHT - 0.5, 26 + CHART_HEIGHT + TOP + 0.5), canvas_colours[1]);
    picture_fini(&p);
    chart_fini(&charts[0]);
    chart_fini(&charts[1]);
}

static void an_album_leaves_out_panels_without_points(void **state)
{
    struct chart charts[3] = {chart_like("Loss"), chart_like("None"), chart_like("Accuracy")};
    struct chart none[1] = {chart_like("None")};
    struct prose page = {0};
    struct album a = {.page = &page, .plots = scratch_path("album")};

    (void)state;
    add_straight(&charts[0], "it", 10, 0, 50);
    add_straight(&charts[2], "it", 0, 1, 50);
    album_begin(&a, NULL);
    album_panels(&a, "both", "", charts, 3);
    album_panels(&a, "none", "", none, 1);
    album_end(&a);
    assert_int_equal(a.status, SHOAL_OK);
    assert_int_equal(scratch_count(scratch_path("album")), 2); /* both.svg, both.png */
    assert_int_equal(count(page.bytes.at, "<svg"), 1);
    assert_int_equal(count(page.bytes.at, ">None<"), 0);
    assert_int_equal(count(page.bytes.at, "viewBox=\"0 0 960 "), 1);
    prose_fini(&page);
}

/* Two lines of one name in a chart are two lines. */
static void lines_of_the_same_name_stay_apart(void **state)
{
    struct chart c = chart_like("Twins");
    struct picture p;
    char *svg;

    (void)state;
    add_straight(&c, "it", 10, 10, 50);
    add_straight(&c, "it", 5, 5, 50);
    p = png_of(&chart_figure, &c, "twins");
    svg = svg_of(&chart_figure, &c);
    assert_int_equal(pixel(&p, 300, TOP), canvas_colours[0]);
    assert_int_equal(pixel(&p, 300, (TOP + BOTTOM) / 2.0), canvas_colours[1]);
    assert_int_equal(count(svg, ">it<"), 2);
    picture_fini(&p);
    free(svg);
    chart_fini(&c);
}

/* ---- the world ---- */

/* First of all: fontconfig reads its file once. */
static void words_are_seen_without_any_font(void **state)
{
    static const char config[] = "<fontconfig></fontconfig>";
    struct chart c = chart_like("Without a font");
    const char *path = scratch_put("fonts.conf", config, sizeof config - 1);
    struct picture p = {0};
    int status = 0;
    pid_t pid;

    (void)state;
    add_straight(&c, "it", 1, 10, 30);
    pid = fork();
    if (pid == 0) {
        setenv("FONTCONFIG_FILE", path, 1);
        _exit(figure_png(&chart_figure, &c, ZOOM, scratch_dir, "plain") == SHOAL_OK ? 0 : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(picture_read(&p, scratch_path("plain.png"), 3), SHOAL_OK);
    assert_true(dark(&p, 8, 8, 120, 24, 0x60) > 100);
    assert_true(dark(&p, 40, BOTTOM + 8, 479, BOTTOM + 20, 0x80) > 30);
    picture_fini(&p);
    chart_fini(&c);
}

static void what_cannot_be_written_is_said(void **state)
{
    struct chart c = chart_like("Nowhere");

    (void)state;
    assert_int_equal(figure_png(&chart_figure, &c, ZOOM, scratch_path("nowhere"), "x"), SHOAL_EIO);
    assert_non_null(strstr(shoal_error(), "nowhere"));
    assert_int_equal(figure_png(&chart_figure, &c, 1000, scratch_dir, "x"), SHOAL_EINVAL);
    assert_string_equal(shoal_error(),
                        "picture: found 480000 x 294000 pixels, want 1 to 16384 a side");
    assert_int_equal(access(scratch_path("x.png"), F_OK), -1);
    assert_int_equal(symlink("/dev/full", scratch_path("full.png")), 0);
    assert_int_equal(figure_png(&chart_figure, &c, ZOOM, scratch_dir, "full"), SHOAL_EIO);
    assert_non_null(strstr(shoal_error(), "full.png: cannot be written: No space left on device"));
    assert_int_equal(unlink(scratch_path("full.png")), 0); /* whoever copies it fills a disk */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_seen_without_any_font),
        cmocka_unit_test(a_line_is_where_its_points_are),
        cmocka_unit_test(words_are_seen),
        cmocka_unit_test(an_empty_chart_has_its_axes),
        cmocka_unit_test(a_point_alone_is_seen),
        cmocka_unit_test(extreme_values_are_drawn_or_left_out),
        cmocka_unit_test(the_same_figure_has_the_same_bytes),
        cmocka_unit_test(names_of_any_bytes_are_drawn),
        cmocka_unit_test(long_words_keep_within_the_picture),
        cmocka_unit_test(bars_are_as_long_as_their_parts),
        cmocka_unit_test(tracks_show_what_was_done_when),
        cmocka_unit_test(panels_share_colours_and_the_legend),
        cmocka_unit_test(an_album_leaves_out_panels_without_points),
        cmocka_unit_test(lines_of_the_same_name_stay_apart),
        cmocka_unit_test(what_cannot_be_written_is_said),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
