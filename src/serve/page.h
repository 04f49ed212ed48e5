/* page: what a browser is shown, built into the program; not a door. */
#ifndef SHOAL_SERVE_PAGE_H
#define SHOAL_SERVE_PAGE_H

#include <stddef.h>

struct page_file {
    const char *name; /* "" is the page itself */
    const char *type;
    const char *at;
    size_t len;
};

/* NULL when there is no such file. */
const struct page_file *page_find(const char *name);

#endif
