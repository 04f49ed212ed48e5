/* The page around the charts: one file, which asks for no other. */
#include "file/file.h"
#include "study/draw/draw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Made from src/study/page by scripts/embed.sh when the library is built: report_css and
 * report_js. A table wider than the page is scrolled; a shadow shows on which side there is more.
 * The script shows the values of the nearest point of a chart, or of the bar pointed at; its title
 * says the same to whoever has no scripts. */
#include "report.inc"

void page_begin(struct prose *t, const char *title, const char *under)
{
    prose_add(t,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    prose_escape(t, title);
    prose_add(t, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n%s", report_css);
    svg_style(t);
    prose_wrap(t, "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n");
    prose_wrap(t, "<p class=\"under\">", under, "</p>\n");
}

void page_end(struct prose *t)
{
    char when[64] = "";
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    prose_add(t,
              "<footer>shoal %s, %s</footer>\n<div id=\"tip\"></div>\n<script>\n%s</script>\n"
              "</body>\n</html>\n",
              shoal_version(), when, report_js);
}

void page_section(struct prose *t, const char *title)
{
    prose_wrap(t, "<h2>", title, "</h2>\n");
}

/* ---- album ---- */

void album_begin(struct album *a, const char *title)
{
    if (title)
        page_section(a->page, title);
    if (a->plots && mkdir(a->plots, 0777) != 0 && errno != EEXIST)
        a->status = shoal_fail_errno(SHOAL_EIO, "%s", a->plots);
    prose_add(a->page, "<div class=\"album\">\n");
}

void album_figure(struct album *a, const char *name, const struct figure_kind *kind,
                  const void *figure)
{
    struct prose alone = {0};
    char file[64];

    prose_add(a->page, "<figure%s>\n",
              kind->extent(figure).width > FIGURE_WIDTH ? " class=\"panels\"" : "");
    figure_svg(a->page, kind, figure, false);
    prose_add(a->page, "</figure>\n");
    if (!a->plots || a->status != SHOAL_OK)
        return;
    snprintf(file, sizeof file, "%s.svg", name);
    figure_svg(&alone, kind, figure, true);
    a->status = prose_write_in(&alone, a->plots, file);
    prose_fini(&alone);
    if (a->status == SHOAL_OK)
        a->status = figure_png(kind, figure, a->zoom > 0 ? a->zoom : FIGURE_ZOOM, a->plots, name);
}

static void album_chart_status(struct album *a, const struct chart *c)
{
    if (a->status == SHOAL_OK)
        a->status = c->status;
}

void album_chart(struct album *a, struct chart *c, size_t least_points)
{
    album_chart_status(a, c);
    if (chart_seen(c, least_points))
        album_figure(a, c->name, &chart_figure, c);
    chart_fini(c);
}

void album_panels(struct album *a, const char *name, const char *title, struct chart *charts,
                  size_t n)
{
    struct panels p = {.columns = 2};

    snprintf(p.title, sizeof p.title, "%s", title);
    for (size_t i = 0; i < n; i++) {
        album_chart_status(a, &charts[i]);
        if (p.n < PANELS && chart_seen(&charts[i], 1))
            p.at[p.n++] = &charts[i];
    }
    if (p.n > 0)
        album_figure(a, name, &panels_figure, &p);
    for (size_t i = 0; i < n; i++)
        chart_fini(&charts[i]);
}

void album_end(struct album *a)
{
    prose_add(a->page, "</div>\n");
    if (a->status == SHOAL_OK)
        a->status = a->page->status;
}
