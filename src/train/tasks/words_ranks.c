/* What several ranks change in the training of word vectors: how often rows travel, how they are
 * folded, in what pieces ranks work, and the learning rate. All measured:
 * docs/notes/consistency.md. */
#include "train/tasks/words.h"

#include <math.h>

/* ---- how rows travel ---- */

/* How often rows travel between ranks (docs/consistency.md). Words' own rows, of which a replica
 * touches many seldom, are asked for before they are needed, and what was done to them follows
 * soon: they are never older than some rounds. Output rows meet mostly as noise, which moves them
 * little: they may be behind longer. The more replicas there are, the sooner one is behind; few
 * have time, and fill their messages. Whatever has moved by less than LEAST learning rates, some
 * windows' worth, stays. */
enum {
    FEW = 4,        /* ranks of one thread each; */
    MANY = 16,      /* ranks of any */
    DUE_TWO = 255,  /* touches after which a row travels, with two ranks of one thread, */
    DUE_FEW = 128,  /* with few, and two of more threads, */
    DUE_SOME = 64,  /* with more, */
    DUE_MANY = 32,  /* and with many */
    FRESH_FEW = 64, /* chunks: how old a row may be that is read, with few ranks; */
    FRESH = 256,    /* with more, over the square of the ranks */
    LATER = 8,      /* so many times as many in which all output rows travel, */
    LATER_FEW = 4,  /* with three or four ranks */
    FILL_FEW = 6,   /* steps that messages wait beside the first, with few ranks */
    EARLY_FEW = 2,  /* at first rows are so much younger, with three or four ranks */
    LEAST = 4,      /* learning rates; */
    LATER_TWO = 2,  /* on two ranks, of long runs, rows travel so many times later, */
    LEAST_TWO = 3,  /* moved so many times as far, and are not asked for */
};

/* Beyond RUN_WORDS of them all, rows may be older and move further before they travel: what a rank
 * does not hear of at once it has time to hear of. Twelve epochs of 25 million words lose half a
 * point at most by it, and save half of the bytes: docs/notes/consistency.md. CBOW on many ranks
 * would lose one or two. */
#define RUN_WORDS 5e7
#define SWEEP_EPOCHS 1.5     /* all rows travel at least once in so many: else an epoch's end, where
                                too few of them have, would gather the tables */
#define LONG 2               /* times as many; */
#define LONG_CBOW 4          /* of CBOW, until noise may count once */
enum { ROUNDS_MOST = 32768 }; /* of which the store counts twice as many */

/* Threads of a rank make its rows old, too: with two of them the same rule loses up to two points.
 * Other losses and n-grams were not measured with it. */
static bool few(const struct train_opts *o)
{
    return opts_sharing(o) <= FEW && ranks_threads(o->ranks, o->threads) == 1 &&
           o->loss == SHOAL_NS && o->maxn == 0;
}

static unsigned due_of(const struct train_opts *o)
{
    unsigned sharing = opts_sharing(o);

    if (sharing >= MANY)
        return DUE_MANY;
    if (sharing <= 2)
        return few(o) ? DUE_TWO : DUE_FEW;
    return few(o) ? DUE_FEW : DUE_SOME;
}

/* A run is so many times as long as those that the cadence is measured for; 1: not longer. Other
 * losses and n-grams were not measured here either. */
static double times_longer(const struct train_opts *o, struct row_length length)
{
    bool apart = o->sync.policy == SHOAL_ASYNC || o->sync.policy == SHOAL_BOUNDED;

    if (!apart || o->loss != SHOAL_NS || o->maxn > 0 || (o->bag && opts_sharing(o) >= MANY))
        return 1;
    return fmax(length.positions / RUN_WORDS, 1);
}

/* Few ranks of long runs lose nothing by it, and are quicker; short runs lose a point, and so do
 * eight ranks. CBOW loses half of one on four. */
bool words_noise_once(const struct train_opts *o, struct row_length length)
{
    double times = times_longer(o, length);

    if (opts_sharing(o) == 1 || !few(o))
        return false;
    return o->bag ? opts_sharing(o) == 2 && times >= LONG_CBOW : times >= LONG;
}

/* So many times the usual rounds, as far as epochs allow. */
static unsigned rounds_of(double usual, double times, struct row_length length)
{
    double rounds = fmin(times * usual, fmax(usual, SWEEP_EPOCHS * length.rounds));

    return (unsigned)fmin(fmax(rounds, 1), ROUNDS_MOST);
}

/* How old a row may be that is read. In a round each thread has trained a chunk. */
static unsigned fresh_of(const struct train_opts *o, double times, struct row_length length)
{
    double sharing = opts_sharing(o), threads = ranks_threads(o->ranks, o->threads);

    return rounds_of((few(o) ? FRESH_FEW : FRESH / sharing / sharing) / threads, times, length);
}

/* The rounds in which all output rows travel. */
static unsigned later_of(const struct train_opts *o, double times, struct row_length length)
{
    unsigned later = few(o) && opts_sharing(o) > 2 ? LATER_FEW : LATER;

    return rounds_of(later * fresh_of(o, 1, length), times, length);
}

/* The s of folding (store/view.c). The less is left out of what ranks agree in, the faster they
 * learn together, up to where the sum of what many found at once, each without the others,
 * overshoots: with 32 ranks 0.3 loses four points, with 8 ranks 0.375 loses two. Two ranks meet
 * seldom, and want the store's own; so does sync, where all changes of a round meet at once.
 * Measured, docs/notes/consistency.md; the other losses were not. */
#define SHARE 0.25
#define SHARE_GRAMS 0.15 /* of rows of n-grams in CBOW, which all ranks move, on few ranks */
#define SHARE_MOST 0.5

static float share_of(const struct train_opts *o)
{
    double doublings = log2(opts_sharing(o)) - 3; /* beyond eight ranks */

    if (o->loss != SHOAL_NS || o->sync.policy == SHOAL_AVERAGE ||
        o->sync.policy == SHOAL_SYNC || opts_sharing(o) <= 2)
        return 0;
    if (o->bag && o->maxn > 0 && opts_sharing(o) <= 4)
        return (float)SHARE_GRAMS;
    return (float)fmin(SHARE + fmax(doublings, 0) / 16, SHARE_MOST);
}

/* What many ranks do to common rows between two exchanges overlaps, and overshoots if too much of
 * it is kept. A word that all of them together meet but a few times in a round is another matter:
 * keeping more of its rows gives 32 ranks of skip-gram two points. CBOW gains nothing; 16 ranks lose,
 * and 64, which learn little either way; and so do long runs, whose rows wait longer. */
enum { RARE_LEAST = 24, RARE_MOST = 48 }; /* ranks */
#define RARE 4 /* times in a round */
#define SHARE_RARE 0.1

static float share_rare_of(const struct train_opts *o, double times)
{
    unsigned sharing = opts_sharing(o);
    bool some = sharing >= RARE_LEAST && sharing <= RARE_MOST && !o->bag && o->maxn == 0;

    return some && times < LONG && share_of(o) > 0 ? (float)SHARE_RARE : 0;
}

uint32_t words_rare(const struct train_opts *o, const shoal_vocab *vocab)
{
    double round = (double)words_chunk(o) * opts_sharing(o), words = 0;
    uint32_t size = (uint32_t)shoal_vocab_size(vocab), first = 0;

    for (uint32_t i = 0; i < size; i++)
        words += (double)shoal_vocab_count(vocab, i);
    while (first < size && (double)shoal_vocab_count(vocab, first) * round >= RARE * words)
        first++;
    return first;
}

/* Every batch of an exact softmax moves every row. Servers cannot take all of them between two
 * batches unless they are waited for, and what stays behind makes replicas part. Where all ranks
 * own rows, each takes its share in time. */
bool words_whole(const struct train_opts *o)
{
    return o->loss == SHOAL_SOFTMAX && o->servers > 0 && o->sync.policy != SHOAL_SYNC;
}

struct cadence words_cadence(const struct train_opts *o, struct row_length length)
{
    struct cadence c = {.due = due_of(o), .whole = words_whole(o), .folds = true,
                        .share = share_of(o)};
    double times = times_longer(o, length);
    /* Of two ranks each owns a half of the rows, and has them at hand. */
    bool apart = o->sync.policy == SHOAL_ASYNC && opts_sharing(o) == 2 && o->servers == 0 &&
                 words_noise_once(o, length);

    c.share_rare = share_rare_of(o, times);
    c.sweep[IN] = fresh_of(o, apart ? LATER_TWO * times : times, length);
    c.sweep[OUT] = later_of(o, times, length);
    if (o->loss == SHOAL_SOFTMAX) { /* every batch moves every row */
        c.sweep[IN] = c.sweep[OUT] = c.sweep[BIAS] = 2;
        return c;
    }
    c.least = LEAST * (float)sqrt(times) * (apart ? LEAST_TWO : 1);
    if (o->sync.policy == SHOAL_ASYNC && few(o)) {
        c.fill = FILL_FEW;
        c.early = opts_sharing(o) > 2 ? EARLY_FEW : 0;
    }
    if (times >= LONG) { /* enough for hot rows, and for a beginning that is not */
        c.due = c.due > DUE_FEW ? c.due : DUE_FEW;
        c.early = 0;
    }
    if ((o->sync.policy == SHOAL_ASYNC && !apart) || o->sync.policy == SHOAL_BOUNDED)
        c.fresh[IN] = c.sweep[IN];
    if (o->sync.policy == SHOAL_BOUNDED && o->sync.staleness < c.fresh[IN])
        c.fresh[IN] = o->sync.staleness; /* what is read is bounded, too */
    return c;
}

/* ---- pieces of work ---- */

enum {
    CHUNK_MOST = 16384, /* Hogwild: small beside a slice, large beside its overhead; */
    CHUNK_SOME = 8192,  /* with some ranks, since rows are asked for a chunk ahead */
    POLL_WORDS = 32768, /* between polls of other ranks, over the square of the ranks */
    HOT_ROWS = 128,     /* of which each thread has copies, on up to two ranks */
};

/* Few ranks need it less. Many would send more than it is worth in skip-gram; CBOW gains a point
 * and a half on 16, and one on 32. */
size_t words_chunk(const struct train_opts *o)
{
    unsigned sharing = opts_sharing(o);

    return sharing > 2 && (sharing < MANY || o->bag) ? CHUNK_SOME : CHUNK_MOST;
}

/* The more ranks there are, the sooner one's hot rows are behind the others'. */
size_t words_poll(const struct train_opts *o)
{
    size_t workers = opts_sharing(o), poll = POLL_WORDS / workers / workers;

    return poll > WORDS_POLL_LEAST ? poll : WORDS_POLL_LEAST;
}

/* Copies are folded among the threads of a rank and then among ranks, which leaves out too much
 * where these are several: four ranks of two threads lose six points. */
uint32_t words_hot(const struct train_opts *o)
{
    return opts_sharing(o) > 2 ? 0 : HOT_ROWS;
}

/* ---- the learning rate ---- */

#define BOOST 0.5 /* see words_boost */
#define BOOST_MOST 2.0
#define BOOST_CBOW (1.0 / 3) /* its first rate is twice as high */
#define BOOST_CBOW_MOST 1.5  /* but with the exact softmax, whose rows all travel */
/* With n-grams a word is a sum of many rows, each moved by all ranks. */
#define BOOST_GRAMS 1.6
#define BOOST_GRAMS_CBOW 1.8

/* The factor of the learning rate with several ranks. Changes in which ranks agree are averaged,
 * not added (folding, store/view.c), so n ranks together move hot rows little further than one
 * rank does with its n-th part of the corpus. A higher rate makes up for it; where it is higher
 * already, for few words, no more is needed, and beyond two ranks CBOW wants less. The nodes of a
 * Huffman tree are hotter than any word, and stand no higher rate: measured,
 * docs/notes/consistency.md. */
double words_boost(const struct train_opts *o, double usual)
{
    unsigned sharing = opts_sharing(o);
    double base = o->bag ? 0.05 : 0.025, boost;

    if (o->deterministic || o->loss == SHOAL_HS || sharing == 1)
        return 1;
    if (o->loss == SHOAL_SOFTMAX)
        return pow(sharing, o->bag ? BOOST_CBOW : BOOST);
    boost = o->bag ? fmin(pow(sharing, BOOST_CBOW), BOOST_CBOW_MOST)
                   : fmin(pow(sharing, BOOST), BOOST_MOST);
    if (o->maxn > 0 && !o->bag)
        return fmin(fmax(boost, usual / base), BOOST_GRAMS) * base / usual;
    if (!o->bag || sharing <= 2)
        return fmax(boost, usual / base) * base / usual;
    if (o->maxn > 0)
        return fmin(fmax(boost, usual / base), BOOST_GRAMS_CBOW) * base / usual;
    return boost * base / usual;
}
