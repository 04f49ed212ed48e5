/* The page around the charts: one file, which asks for no other. */
#include "file/file.h"
#include "study/draw/draw.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Made from src/study/page by scripts/embed.sh when the library is built: report_css, chart_js and
 * report_js. A table wider than the page is scrolled; a shadow shows on which side there is more.
 * The scripts let charts answer; titles say the same to whoever has no scripts. */
#include "report.inc"

#define CONTENTS "<!--contents-->\n" /* where page_end puts them */
#define SECTION "<h2 id=\""

void page_begin_live(struct prose *t, const char *title, const char *tab, const char *under,
                     double refresh)
{
    prose_add(t,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    prose_escape(t, tab);
    prose_add(t, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n%s", report_css);
    svg_style(t);
    prose_add(t, "</style>\n</head>\n<body");
    if (refresh > 0)
        prose_add(t, " data-refresh=\"%g\"", refresh);
    prose_wrap(t, ">\n<header>\n<h1>", title, "</h1>\n");
    prose_wrap(t, "<p class=\"under\">", under, "</p>\n</header>\n<main>\n" CONTENTS);
}

void page_begin(struct prose *t, const char *title, const char *under)
{
    page_begin_live(t, title, title, under, 0);
}

/* ---- contents ---- */

/* A list of the sections, of a page that has several. */
static void contents_list(struct prose *list, const char *page)
{
    const char *at = page;
    size_t n = 0;

    prose_add(list, "<nav aria-label=\"Contents\"><ul>\n");
    while ((at = strstr(at, SECTION)) != NULL) {
        const char *id = at + strlen(SECTION), *name = strchr(id, '>') + 1;

        prose_add(list, "<li><a href=\"#%.*s\">%.*s</a></li>\n", (int)strcspn(id, "\""), id,
                  (int)strcspn(name, "<"), name);
        at = name;
        n++;
    }
    prose_add(list, "</ul></nav>\n");
    if (n < 2)
        list->bytes.len = 0;
}

/* The sections are known when all is written. */
static void put_contents(struct prose *t)
{
    struct prose list = {0};
    char *at;
    size_t before;

    prose_add(t, "%s", ""); /* ends with a NUL */
    if (t->status != SHOAL_OK || !(at = strstr(t->bytes.at, CONTENTS)))
        return;
    contents_list(&list, at);
    before = (size_t)(at - t->bytes.at);
    t->status = list.status != SHOAL_OK ? list.status
                                        : bytes_reserve(&t->bytes, list.bytes.len + 1);
    if (t->status == SHOAL_OK) {
        at = t->bytes.at + before;
        memmove(at + list.bytes.len, at + strlen(CONTENTS),
                t->bytes.len - before - strlen(CONTENTS) + 1);
        if (list.bytes.len > 0)
            memcpy(at, list.bytes.at, list.bytes.len);
        t->bytes.len += list.bytes.len - strlen(CONTENTS);
    }
    prose_fini(&list);
}

void page_end(struct prose *t)
{
    char when[64] = "";
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    prose_add(t,
              "</main>\n<footer>shoal %s, %s</footer>\n<div id=\"tip\"></div>\n"
              "<script>\n%s%s</script>\n</body>\n</html>\n",
              shoal_version(), when, chart_js, report_js);
    put_contents(t);
}

/* Its address is its title in small letters. */
void page_section(struct prose *t, const char *title)
{
    prose_add(t, SECTION);
    for (const char *at = title; *at; at++)
        prose_add(t, "%c", isalnum((unsigned char)*at) ? tolower((unsigned char)*at) : '-');
    prose_wrap(t, "\">", title, "</h2>\n");
}

void page_wide(struct prose *t, const char *what)
{
    prose_wrap(t, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", what,
               "\">");
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
    if (kind == &scatter_figure)
        page_wide(a->page, kind->title(figure)); /* on a phone its words would be too small */
    figure_svg(a->page, kind, figure, false);
    if (kind == &scatter_figure)
        prose_add(a->page, "</div>\n");
    if (kind == &chart_figure)
        chart_data(a->page, figure);
    else if (kind->rows)
        figure_data(a->page, kind, figure, name);
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
