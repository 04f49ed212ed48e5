/* The page around the charts: one file, which asks for no other. */
#include "file/file.h"
#include "study/study.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* A table wider than the page is scrolled; a shadow shows on which side there is more. */
static const char style[] =
    ":root{color-scheme:light dark}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:20px 16px 48px;max-width:1240px;background:#fff;color:#1c1c1c;"
    "font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation Sans\",sans-serif}\n"
    "h1{font-size:26px;margin:0 0 2px}h2{font-size:19px;margin:32px 0 10px}\n"
    ".under{color:#5a5a5a;margin:0 0 18px;overflow-wrap:anywhere}\n"
    ".said{border-left:4px solid #0067a5;padding:2px 14px;margin:12px 0;max-width:76ch}\n"
    ".said p{margin:6px 0}\n"
    ".album{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr));"
    "gap:22px}\n"
    ".album svg{width:100%;height:auto;display:block;max-width:640px}\n"
    ".wide{overflow-x:auto;background:linear-gradient(90deg,#fff 30%,#fff0),"
    "linear-gradient(270deg,#fff 30%,#fff0) 100% 0,linear-gradient(90deg,#0003,#0000),"
    "linear-gradient(270deg,#0003,#0000) 100% 0;background-repeat:no-repeat;"
    "background-size:40px 100%,40px 100%,12px 100%,12px 100%;"
    "background-attachment:local,local,scroll,scroll}\n"
    "table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:4px 9px;border-bottom:1px solid "
    "#ddd;text-align:right;vertical-align:top;white-space:nowrap}\n"
    "th{border-bottom:2px solid #999;vertical-align:bottom;white-space:normal}\n"
    "th.w,td.w{text-align:left}td.v{text-align:left;white-space:normal;min-width:26ch;max-width:"
    "80ch}\n"
    "tr.bad td{color:#b3261e}\n"
    "#tip{position:absolute;display:none;pointer-events:none;background:#1c1c1c;color:#fff;"
    "padding:4px 8px;border-radius:4px;font-size:13px;max-width:320px;z-index:2}\n"
    "footer{margin-top:36px;color:#5a5a5a;font-size:13px}\n"
    "@media screen and (prefers-color-scheme:dark){\n"
    "body{background:#17181b;color:#e4e4e4}.under,footer{color:#a3a3a3}\n"
    ".wide{background-image:linear-gradient(90deg,#17181b 30%,#17181b00),"
    "linear-gradient(270deg,#17181b 30%,#17181b00),linear-gradient(90deg,#fff4,#fff0),"
    "linear-gradient(270deg,#fff4,#fff0)}\n"
    ".said{border-color:#5ab4f5}th,td{border-color:#383a3f}th{border-color:#6a6a6a}\n"
    "tr.bad td{color:#ff8a80}#tip{background:#f0f0f0;color:#111}}\n"
    "@page{size:A4 landscape;margin:10mm}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}\n"
    ".album{grid-template-columns:1fr 1fr 1fr;gap:12px}.album figure,tr{break-inside:avoid}\n"
    "h2{break-after:avoid}.wide{overflow:visible;background:none}table{font-size:7pt}\n"
    "th,td{padding:1px 3px}td.v{min-width:0}}\n"
    ".album figure{margin:0}\n";

/* The nearest point of a chart, or the bar pointed at, says its values at once; its title
 * says the same to whoever has no scripts. A point is a box of no size. */
static const char script[] =
    "(function(){var tip=document.getElementById('tip');\n"
    "function hide(){tip.style.display='none'}\n"
    "function clamp(x,a,w){return Math.min(Math.max(x,a),a+w)}\n"
    "document.querySelectorAll('.album svg').forEach(function(svg){var dots=[];\n"
    "svg.querySelectorAll('.h,rect.b').forEach(function(c){var t=c.querySelector('title');\n"
    "function n(a,b){return +(c.getAttribute(a)||c.getAttribute(b)||0)}\n"
    "var box=c.tagName=='rect';if(t)dots.push({x:n('cx','x'),y:n('cy','y'),t:t.textContent,\n"
    "w:box?n('width'):0,h:box?n('height'):0})});\n"
    "if(!dots.length)return;\n"
    "svg.addEventListener('pointerleave',hide);\n"
    "svg.addEventListener('pointermove',function(e){var b=svg.getBoundingClientRect();\n"
    "var k=svg.viewBox.baseVal.width/b.width,x=(e.clientX-b.left)*k,y=(e.clientY-b.top)*k;\n"
    "var best=null,far=900;dots.forEach(function(d){\n"
    "var u=clamp(x,d.x,d.w)-x,v=clamp(y,d.y,d.h)-y,q=d.w?(u||v?900:0):u*u+v*v;\n"
    "if(q<far){far=q;best=d}});if(!best)return hide();\n"
    "tip.textContent=best.t;tip.style.display='block';\n"
    "var left=b.left+window.scrollX+clamp(x,best.x,best.w)/k+12;\n"
    "left=Math.min(left,window.scrollX+document.documentElement.clientWidth-tip.offsetWidth-8);\n"
    "tip.style.left=left+'px';\n"
    "tip.style.top=(b.top+window.scrollY+(best.y+best.h)/k+14)+'px'})})})();\n";

void page_begin(struct prose *t, const char *title, const char *under)
{
    prose_add(t,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    prose_safe(t, title);
    prose_add(t, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n%s", style);
    figure_style(t);
    prose_between(t, "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n");
    prose_between(t, "<p class=\"under\">", under, "</p>\n");
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
              shoal_version(), when, script);
}

void page_section(struct prose *t, const char *title)
{
    prose_between(t, "<h2>", title, "</h2>\n");
}

/* ---- the machine ---- */

static void processor_name(char name[96])
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");

    snprintf(name, 96, "unknown processor");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %95[^\n]", name) == 1)
            break;
    if (f)
        fclose(f);
}

void machine_describe(char text[256])
{
    char processor[96];
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    struct utsname name = {.sysname = "?"};

    processor_name(processor);
    uname(&name);
    snprintf(text, 256, "%.80s, %u cores for this process, %s of memory, %.30s %.40s", processor,
             pool_threads(0), number_bytes(bytes).text, name.sysname, name.release);
}

/* ---- album ---- */

void album_begin(struct album *a)
{
    if (a->plots && mkdir(a->plots, 0777) != 0 && errno != EEXIST)
        a->status = shoal_fail_errno(SHOAL_EIO, "%s", a->plots);
    prose_add(a->page, "<div class=\"album\">\n");
}

/* One figure as a file: `alone` holds it. */
static void keep_file(struct album *a, const char *name, struct prose *alone)
{
    char file[64];

    snprintf(file, sizeof file, "%s.svg", name);
    if (a->status == SHOAL_OK && a->plots)
        a->status = prose_write_in(alone, a->plots, file);
    prose_fini(alone);
}

void album_chart(struct album *a, struct chart *c, size_t least_points)
{
    struct prose alone = {0};

    if (!c) {
        a->status = a->status == SHOAL_OK ? SHOAL_ENOMEM : a->status;
        return;
    }
    if (chart_seen(c, least_points)) {
        prose_add(a->page, "<figure>\n");
        chart_svg(a->page, c, false);
        prose_add(a->page, "</figure>\n");
        if (a->plots)
            chart_svg(&alone, c, true);
        keep_file(a, c->name, &alone);
    }
    chart_free(c);
}

void album_bars(struct album *a, const struct bars *b)
{
    struct prose alone = {0};

    prose_add(a->page, "<figure>\n");
    bars_svg(a->page, b, false);
    prose_add(a->page, "</figure>\n");
    if (a->plots)
        bars_svg(&alone, b, true);
    keep_file(a, b->name, &alone);
}

void album_lanes(struct album *a, const struct lanes *l)
{
    struct prose alone = {0};

    prose_add(a->page, "<figure>\n");
    lanes_svg(a->page, l, false);
    prose_add(a->page, "</figure>\n");
    if (a->plots)
        lanes_svg(&alone, l, true);
    keep_file(a, l->name, &alone);
}

void album_end(struct album *a)
{
    prose_add(a->page, "</div>\n");
    if (a->status == SHOAL_OK)
        a->status = a->page->status;
}
