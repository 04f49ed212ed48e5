/* eval: what do vectors know?
 *
 * What this is: nearest words, analogies, odd ones out and spellings of
 * vectors, and suites of questions with their scores. The public functions are
 * described in shoal.h; here is what training and the tests need besides.
 * Who owns what: a suite owns its words; vocabulary and rows are borrowed for
 * the length of a call.
 * Threads: a suite is immutable once open, and any number may run it. */
#ifndef SHOAL_EVAL_H
#define SHOAL_EVAL_H

#include <shoal.h>

#include "base/base.h"
#include "data/data.h"

/* shoal_eval_run on rows that are being trained: row i of `rows`, which has as
 * many as the vocabulary, is word i's. Nothing of them is copied but the rows
 * of the words that questions name. */
shoal_status eval_run_table(const shoal_eval *e, const shoal_vocab *vocab,
                            const struct table *rows, const struct shoal_eval_opts *opts,
                            struct shoal_score **scores, size_t *n);

/* Reads a suite that is in memory already; `path` is for sentences. */
shoal_status eval_open_memory(shoal_eval **out, const char *path, const char *at, size_t len);

#endif
