#include "comm/comm.h"

#include <stdlib.h>
#include <string.h>

shoal_status deferred_add(struct deferrals *list, unsigned from, uint64_t of, const void *data,
                          size_t len)
{
    struct deferred *d = malloc(sizeof *d + len);

    if (!d)
        return shoal_fail(SHOAL_ENOMEM, "comm: no room to keep a message of %zu bytes", len);
    d->next = NULL;
    d->from = from;
    d->of = of;
    d->len = len;
    if (len > 0)
        memcpy(d->data, data, len);
    *(list->end ? list->end : &list->first) = d;
    list->end = &d->next;
    return SHOAL_OK;
}

struct deferred *deferred_take(struct deferrals *list, struct deferred **at)
{
    struct deferred *d = *at;

    *at = d->next;
    if (list->end == &d->next)
        list->end = at;
    return d;
}

struct deferred *deferred_find(struct deferrals *list, unsigned from, uint64_t of)
{
    for (struct deferred **at = &list->first; *at; at = &(*at)->next)
        if ((*at)->from == from && (*at)->of == of)
            return deferred_take(list, at);
    return NULL;
}

void deferred_fini(struct deferrals *list)
{
    while (list->first)
        free(deferred_take(list, &list->first));
    *list = (struct deferrals){0};
}
