/* Threads that finish in any order do what is left in the order of their work. */
#include "base/base.h"

void ordered_init(struct ordered *o)
{
    *o = (struct ordered){0};
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->moved, NULL);
}

void ordered_fini(struct ordered *o)
{
    pthread_cond_destroy(&o->moved);
    pthread_mutex_destroy(&o->lock);
}

uint64_t ordered_claim(struct ordered *o)
{
    uint64_t seq;

    pthread_mutex_lock(&o->lock);
    seq = o->claimed++;
    pthread_mutex_unlock(&o->lock);
    return seq;
}

bool ordered_begin(struct ordered *o, uint64_t seq)
{
    bool mine;

    pthread_mutex_lock(&o->lock);
    while (o->next != seq && !o->failed)
        pthread_cond_wait(&o->moved, &o->lock);
    mine = !o->failed;
    if (!mine)
        pthread_mutex_unlock(&o->lock);
    return mine;
}

void ordered_end(struct ordered *o, shoal_status st)
{
    o->next++;
    o->failed |= st != SHOAL_OK;
    pthread_cond_broadcast(&o->moved);
    pthread_mutex_unlock(&o->lock);
}

void ordered_stop(struct ordered *o)
{
    pthread_mutex_lock(&o->lock);
    o->failed = true;
    pthread_cond_broadcast(&o->moved);
    pthread_mutex_unlock(&o->lock);
}
