/* nets: a trained net and its file; a part of the door saved.h. The public side is in
 * shoal/nets.h.
 *
 * Our container, kind "net":
 *
 *     meta       lines `key value`: kind, spec, and facts of its training
 *     params     [net->size] floats
 *     in.mean    [inputs], and in.inverse: what inputs become is (x - mean) inverse
 *     out.mean   [outputs], and out.inverse: the same of targets; absent for classes
 *     columns    of nets that learned from a table (columns/file.c)
 *     and what a kind of net adds (words.* and vectors of nextword)                 */
#ifndef SHOAL_SAVED_NET_H
#define SHOAL_SAVED_NET_H

#include "samples/samples.h"
#include "text/text.h"
#include "file/file.h"
#include "model/model.h"

struct shoal_net {
    struct net *net;
    float *params;
    struct scaling in, out; /* n is 0 where numbers are as they are */
    struct shoal_columns *columns; /* of the table it learned from; or NULL */
    struct bytes facts;     /* `key value`, each ended by a NUL */
    shoal_vocab *words;     /* of nextword */
    struct table vectors;   /* [words][outputs] likewise */
};

/* Takes net and params, which end with it, also on failure. */
shoal_status saved_net_new(shoal_net **out, struct net *net, float *params);
shoal_status saved_net_fact(shoal_net *t, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* How samples for it are read, to be asked or, with their labels, scored: struct saved_reading's
 * options point to what it holds, and to the net. */
struct saved_reading {
    struct shoal_samples_opts opts;
    char label[24];
    char **classes; /* [opts.nclasses] or NULL */
};
shoal_status saved_net_reading(struct saved_reading *out, const shoal_net *t,
                               const struct shoal_samples_opts *asked, bool labels);
void saved_reading_fini(struct saved_reading *r);
/* Fails when its columns give other than its inputs. */
shoal_status saved_net_check_columns(const shoal_net *t, const char *path);
/* A shoal_net; takes c, whose bytes were checked, also on failure. */
shoal_status saved_net_read(void **out, struct container *c);
/* Fails when a file says that its inputs are pictures of other than 1 or 3 channels, which no
 * picture is decoded to. */
shoal_status saved_net_check_pictures(const shoal_net *t, const char *path);
/* Whether it takes pictures alone, not tables of numbers: its description has their shape. */
bool saved_net_only_pictures(const shoal_net *t);
/* How long the shorter side of a picture is made before its middle is cut out; 0: as it fits. */
unsigned saved_net_resize(const shoal_net *t);
/* Whether bytes begin as those of a JPEG or PNG file. */
bool picture_sniff(const void *at, size_t len);
/* How words are ranked behind a predicted vector x: by
 *
 *     p(w) = count(w) exp(weight x . v(w)) / sum over all words
 *
 * All v have the same length, so that among words equally common the nearest is the
 * likeliest. A weight of 0 ranks by counts alone; word_ranks_fit finds the one that makes
 * words that did come likeliest. */
struct word_ranks {
    const struct table *vectors; /* [words][dim] */
    const float *prior;          /* [words] log of the counts */
    float weight;
};

enum { RANKS_AT_ONCE = 64 };
/* r->weight for x[i] [dim] that word[i] came behind, n <= RANKS_AT_ONCE of them. */
shoal_status word_ranks_fit(struct word_ranks *r, const float *x, const uint32_t *word, size_t n,
                            float *scores);

/* How many words rank above word[i] behind x[i] [dim], into above[i], n of
 * them; `scores` is room for RANKS_AT_ONCE rows of as many floats as there are words. */
shoal_status word_ranks_above(const struct word_ranks *r, const float *x, const uint32_t *word,
                              size_t n, float *scores, uint32_t *above);
/* log counts, for free(). */
float *word_ranks_prior(const shoal_vocab *words);

/* ---- tensors.c ---- */

/* Parameters from safetensors, or from another net, by the names of the tensors. */
shoal_status net_load_tensors(const struct net *net, float *params, const char *path);
shoal_status net_copy_tensors(const struct net *net, float *params, const shoal_net *from,
                              const char *path);
/* ---- onnx.c ---- */

/* Of a perceptron or a VGG; its input is what the net's is, its output what it answers. */
shoal_status net_export_onnx(const shoal_net *t, const char *path);

/* What predicting needs, made once for many calls of up to `most` samples each. Not for two threads
 * at a time. */
struct asker {
    const shoal_net *net;
    void *worker;
    size_t most;
    float *x; /* [most][inputs] */
    float *y; /* [most][outputs] */
};
/* So many samples at a time, `most` or fewer, that their layers fit into memory well. */
size_t asker_fit(const shoal_net *net, size_t most);
shoal_status asker_new(struct asker **out, const shoal_net *net, size_t most);
/* y for the first n of x, both in the units of the data; x is spoilt. */
shoal_status asker_run(struct asker *a, size_t n);
/* The same from and to others' memory: y[i] [outputs] for x[i] [inputs], n <= most, as
 * shoal_net_predict does. */
shoal_status asker_ask(struct asker *a, const float *const *x, size_t n, float *const *y);
void asker_free(struct asker *a);

/* ---- nextword.c ---- */

/* The same for next words: up to `most` texts at a time, CONTINUED at most. */
enum { CONTINUED = 16 };
struct continuer;
struct continuation {
    const char *text;
    struct shoal_hit *hits; /* [k] likeliest first */
    size_t k, found;        /* found is 0 when no word of the text is known */
    float *vector;          /* [outputs] the one that is predicted; or NULL: not asked for */
    bool nearest;           /* hits are the nearest to it, score is the cosine */
    bool known;             /* a word of the text is */
};
shoal_status continuer_new(struct continuer **out, const shoal_net *net, size_t most);
shoal_status continuer_ask(struct continuer *c, struct continuation *const *asks, size_t n);
void continuer_free(struct continuer *c);

#endif
