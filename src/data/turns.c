/* Threads that finish in any order do what is left in the order of their work. */
#include "data/clicks.h"

void turns_init(struct turns *t)
{
    *t = (struct turns){0};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->moved, NULL);
}

void turns_fini(struct turns *t)
{
    pthread_cond_destroy(&t->moved);
    pthread_mutex_destroy(&t->lock);
}

uint64_t turns_claim(struct turns *t)
{
    uint64_t seq;

    pthread_mutex_lock(&t->lock);
    seq = t->claimed++;
    pthread_mutex_unlock(&t->lock);
    return seq;
}

bool turns_take(struct turns *t, uint64_t seq)
{
    bool mine;

    pthread_mutex_lock(&t->lock);
    while (t->next != seq && !t->failed)
        pthread_cond_wait(&t->moved, &t->lock);
    mine = !t->failed;
    if (!mine)
        pthread_mutex_unlock(&t->lock);
    return mine;
}

void turns_pass(struct turns *t, shoal_status st)
{
    t->next++;
    t->failed |= st != SHOAL_OK;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

void turns_stop(struct turns *t)
{
    pthread_mutex_lock(&t->lock);
    t->failed = true;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}
