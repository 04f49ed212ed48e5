/* store: where views meet.
 *
 * What this is: the views workers compute on, and the rules by which what they
 * learned apart comes together. It knows rows, never what a row means.
 * Who owns what: a view borrows its table and owns its copies.
 * Threads: a view belongs to one worker. view_sync may run while others train
 * (rows race as Hogwild does); views_merge runs while nobody trains. */
#ifndef SHOAL_STORE_H
#define SHOAL_STORE_H

#include "base/base.h"
#include "kernel/kernel.h"

/* The table itself, but for private copies of its first `hot` rows. */
shoal_status view_init_shared(struct view *v, struct table *t, uint32_t hot);
/* Private copies of whatever is touched, until views_merge. */
shoal_status view_init_private(struct view *v, struct table *t);
void view_fini(struct view *v);
/* What a private view may hold at most, in bytes. */
size_t view_bytes(const struct table *t, size_t touched);

/* Folds the private hot rows into the table's and reads them anew. */
void view_sync(struct view *v, const struct kernel *kernel);

/* Brings n private views of one table together: each row's changes are folded
 * in the order of the views, so the result is the same for any number of
 * threads. Parallel changes are averaged, orthogonal ones added (kernel.h,
 * fold): plain addition overshoots the rows that all views move. The views are
 * empty afterwards. */
shoal_status views_merge(struct view *views, size_t n, const struct kernel *kernel,
                         unsigned threads);

#endif
