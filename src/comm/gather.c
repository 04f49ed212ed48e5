/* Collectives besides sums: broadcast, gather, agree. */
#include "comm/collective.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SENTENCE = 1024,
    WINDOW = 16, /* chunks on their way from one rank */
    BESIDE = 16, /* words of a broadcast that need no round of their own */
};

/* ---- broadcast: down a binary tree, chunk by chunk ------------------------------------ */

struct tree {
    struct comm *c;
    enum call call;
    unsigned root;
    char *data;
    size_t len, at; /* bytes; those before `at` are here and sent on */
    struct tickets sent;
};

static unsigned tree_place(const struct tree *t, unsigned rank)
{
    return (rank + t->c->size - t->root) % t->c->size;
}

static shoal_status send_down(struct tree *t)
{
    struct comm *c = t->c;
    unsigned child = 2 * tree_place(t, c->rank) + 1;
    size_t len = least(CHUNK, t->len - t->at);
    shoal_status st = SHOAL_OK;

    for (unsigned i = 0; st == SHOAL_OK && i < 2 && child + i < c->size; i++)
        st = tickets_send(&t->sent, c, (child + i + t->root) % c->size,
                          collective_tag(c, t->call, PHASE_GIVE), t->data + t->at, len);
    t->at += len;
    return st;
}

static shoal_status tree_take(void *ctx, const struct message *m, unsigned phase, bool *taken)
{
    struct tree *t = ctx;
    unsigned parent = (tree_place(t, t->c->rank) - 1) / 2;
    shoal_status st = collective_check_len(t->c, m, least(CHUNK, t->len - t->at));

    (void)phase;
    if (st != SHOAL_OK)
        return st;
    if (t->c->rank == t->root || tree_place(t, m->from) != parent)
        return shoal_fail(SHOAL_EFORMAT, "comm: found a broadcast from rank %u, want another's",
                          m->from);
    *taken = true;
    memcpy(t->data + t->at, m->data, m->len);
    return send_down(t);
}

static shoal_status tree_step(void *ctx, bool *done)
{
    struct tree *t = ctx;
    size_t left;
    shoal_status st = tickets_left(&t->sent, t->c, &left);

    while (st == SHOAL_OK && t->c->rank == t->root && t->at < t->len && left++ < WINDOW)
        st = send_down(t);
    *done = t->at == t->len && t->sent.first == t->sent.n;
    return st;
}

/* All ranks are here already, and know len. */
static shoal_status pass_down(struct comm *c, enum call call, unsigned root, void *data, size_t len)
{
    struct tree tree = {.c = c, .call = call, .root = root, .data = data, .len = len};
    const struct collective t = {.call = call, .take = tree_take, .step = tree_step, .ctx = &tree};
    shoal_status st;

    if (len == 0 || c->size == 1)
        return SHOAL_OK;
    collective_begin(c, call);
    st = collective_run(c, &t);
    free(tree.sent.at);
    return st;
}

/* All ranks check first that they mean the same. A word of the root's is exact as a double,
 * and the largest where the others give 0, so what is short comes with the check. */
shoal_status comm_broadcast(struct comm *c, unsigned root, void *data, size_t len)
{
    double most[4 + BESIDE] = {(double)len, -(double)len, root, -(double)root};
    uint32_t words[BESIDE] = {0};
    bool brief = len <= sizeof words;
    shoal_status st;

    assert(root < c->size);
    if (brief && c->rank == root && len > 0)
        memcpy(words, data, len);
    for (size_t i = 0; i < BESIDE; i++)
        most[4 + i] = words[i];
    st = reduce_run(c, CALL_BROADCAST, MAX_DOUBLES, most, 4 + BESIDE);
    if (st == SHOAL_OK && (most[0] != -most[1] || most[2] != -most[3]))
        return shoal_fail(SHOAL_EINVAL,
                          "comm: a broadcast of %.0f bytes from rank %.0f, and one of %.0f from "
                          "rank %.0f; want the same everywhere",
                          -most[1], -most[3], most[0], most[2]);
    if (st != SHOAL_OK || !brief)
        return st == SHOAL_OK ? pass_down(c, CALL_BROADCAST, root, data, len) : st;
    for (size_t i = 0; i < BESIDE; i++)
        words[i] = (uint32_t)most[4 + i];
    if (len > 0 && c->rank != root)
        memcpy(data, words, len);
    return SHOAL_OK;
}

/* ---- gather: everybody sends everybody its bytes ----------------------------------------- */

struct place {
    char *at; /* where its next bytes go */
    size_t left;
};

struct gather {
    struct comm *c;
    const char *mine;
    size_t len, at;       /* bytes; those before `at` are sent */
    size_t left;          /* bytes still to come */
    struct place *places; /* [size] */
    struct tickets sent;
};

static shoal_status gather_take(void *ctx, const struct message *m, unsigned phase, bool *taken)
{
    struct gather *g = ctx;
    struct place *p = &g->places[m->from];
    shoal_status st = collective_check_len(g->c, m, least(CHUNK, p->left));

    (void)phase;
    if (st != SHOAL_OK)
        return st;
    *taken = true;
    memcpy(p->at, m->data, m->len);
    p->at += m->len;
    p->left -= m->len;
    g->left -= m->len;
    return SHOAL_OK;
}

static shoal_status send_around(struct gather *g)
{
    struct comm *c = g->c;
    size_t len = least(CHUNK, g->len - g->at);
    shoal_status st = SHOAL_OK;

    for (unsigned i = 1; st == SHOAL_OK && i < c->size; i++)
        st = tickets_send(&g->sent, c, (c->rank + i) % c->size,
                          collective_tag(c, CALL_GATHER, PHASE_GIVE), g->mine + g->at, len);
    g->at += len;
    return st;
}

static shoal_status gather_step(void *ctx, bool *done)
{
    struct gather *g = ctx;
    size_t left;
    shoal_status st = tickets_left(&g->sent, g->c, &left);

    if (st == SHOAL_OK && g->at < g->len && left < WINDOW)
        st = send_around(g);
    *done = g->left == 0 && g->at == g->len && g->sent.first == g->sent.n;
    return st;
}

/* All ranks are here already, and know lens. */
static shoal_status gather_bytes(struct comm *c, const void *mine, char *data, const size_t *lens)
{
    struct gather g = {.c = c, .mine = mine, .len = lens[c->rank]};
    const struct collective t = {
        .call = CALL_GATHER, .take = gather_take, .step = gather_step, .ctx = &g};
    shoal_status st;

    g.places = mem_array(c->size, sizeof *g.places);
    if (!g.places)
        return SHOAL_ENOMEM;
    for (unsigned r = 0; r < c->size; data += lens[r++]) {
        g.places[r] = (struct place){.at = data, .left = lens[r]};
        if (r != c->rank)
            g.left += lens[r];
        else if (lens[r] > 0)
            memcpy(data, mine, lens[r]);
    }
    collective_begin(c, CALL_GATHER);
    st = c->size > 1 ? collective_run(c, &t) : SHOAL_OK;
    free(g.places);
    free(g.sent.at);
    return st;
}

/* lens is [size], zeroed. */
static shoal_status gather_lens(struct comm *c, size_t len, size_t *lens, size_t *total)
{
    bool over = false;
    shoal_status st;

    static_assert(sizeof *lens == sizeof(uint64_t), "lengths travel as they are");
    lens[c->rank] = len;
    st = reduce_run(c, CALL_GATHER, SUM_U64, lens, c->size);
    *total = 0;
    for (unsigned r = 0; r < c->size; r++)
        over |= __builtin_add_overflow(*total, lens[r], total);
    if (st == SHOAL_OK && over)
        st = shoal_fail(SHOAL_ELIMIT, "comm: a gather of more bytes than there are");
    return st;
}

shoal_status comm_gather(struct comm *c, const void *mine, size_t len, char **data, size_t **lens)
{
    size_t total = 0;
    shoal_status st;

    *data = NULL;
    *lens = mem_array(c->size, sizeof **lens);
    if (!*lens)
        return SHOAL_ENOMEM;
    st = gather_lens(c, len, *lens, &total);
    if (st == SHOAL_OK) {
        *data = mem_array(total, 1);
        st = comm_agree(c, *data ? SHOAL_OK : SHOAL_ENOMEM);
    }
    if (st == SHOAL_OK && *data)
        st = gather_bytes(c, mine, *data, *lens);
    if (st != SHOAL_OK) {
        free(*data);
        free(*lens);
        *data = NULL;
        *lens = NULL;
    }
    return st;
}

/* ---- agree ---------------------------------------------------------------------------------- */

struct verdict {
    int32_t status;
    char sentence[SENTENCE];
};

/* From the lowest rank that failed. */
static shoal_status hear_verdict(struct comm *c, unsigned failed, struct verdict *v)
{
    shoal_status st = pass_down(c, CALL_AGREE, failed, v, sizeof *v);

    if (st != SHOAL_OK)
        return st;
    v->sentence[SENTENCE - 1] = '\0';
    st = v->status < 0 ? (shoal_status)v->status : SHOAL_EPEER;
    if (failed == c->rank)
        return shoal_fail(st, "%s", v->sentence);
    return shoal_fail(st, "rank %u on %s: %s", failed, comm_host(c, failed), v->sentence);
}

shoal_status comm_agree(struct comm *c, shoal_status st)
{
    struct verdict v = {.status = (int32_t)st};
    double failed = st == SHOAL_OK ? 0 : c->size - c->rank; /* the lowest has the most */
    shoal_status heard;

    if (st == SHOAL_EPEER)
        return st;
    snprintf(v.sentence, sizeof v.sentence, "%s", shoal_error());
    heard = reduce_run(c, CALL_AGREE, MAX_DOUBLES, &failed, 1);
    if (heard != SHOAL_OK || failed <= 0)
        return heard;
    return hear_verdict(c, c->size - (unsigned)failed, &v);
}
