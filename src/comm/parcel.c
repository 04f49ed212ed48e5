#include "comm/inner.h"

#include <stdlib.h>
#include <string.h>

shoal_status parcels_add(struct parcels *list, const struct message *m)
{
    struct parcel *p = malloc(sizeof *p + m->len);

    if (!p)
        return shoal_fail(SHOAL_ENOMEM, "comm: no room to keep a message of %zu bytes", m->len);
    p->next = NULL;
    p->m = *m;
    p->m.data = p->copy;
    if (m->len > 0)
        memcpy(p->copy, m->data, m->len);
    *(list->end ? list->end : &list->first) = p;
    list->end = &p->next;
    return SHOAL_OK;
}

struct parcel *parcels_take(struct parcels *list, struct parcel **at)
{
    struct parcel *p = *at;

    *at = p->next;
    if (list->end == &p->next)
        list->end = at;
    return p;
}

void parcels_fini(struct parcels *list)
{
    while (list->first)
        free(parcels_take(list, &list->first));
    *list = (struct parcels){0};
}
