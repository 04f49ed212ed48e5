#include "serve/page.h"

#include <string.h>

/* Made from src/serve/page by scripts/embed.sh when the library is built. */
#include "page.inc"

static const struct page_file files[] = {
    {"", "text/html; charset=utf-8", page_html, sizeof page_html - 1},
    {"page.css", "text/css; charset=utf-8", page_css, sizeof page_css - 1},
    {"page.js", "text/javascript; charset=utf-8", page_js, sizeof page_js - 1},
};

const struct page_file *page_find(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    return NULL;
}
