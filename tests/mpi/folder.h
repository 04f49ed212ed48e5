/* What those of the test_NAME_ranks share that join by shoal_ranks_join and keep
 * files: a folder for all, and the beginning and end of the program. */
#ifndef SHOAL_TEST_FOLDER_H
#define SHOAL_TEST_FOLDER_H

#include "check.h"
#include "train/train.h"

#include <ftw.h>
#include <sys/stat.h>

static shoal_ranks *ranks;
static char folder[64]; /* of all */

#define PASSES(fn) (fn(), end_case(ranks_comm(ranks), #fn))

/* One of many buffers, used in turn. */
static inline const char *in_folder(const char *name)
{
    static char paths[64][128];
    static unsigned turn;
    char *path = paths[turn++ % 64];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static bool begin_ranks(void)
{
    if (shoal_ranks_join(&ranks) != SHOAL_OK) {
        fprintf(stderr, "# %s\n", shoal_error());
        return false;
    }
    rank = shoal_ranks_rank(ranks);
    size = shoal_ranks_size(ranks);
    snprintf(folder, sizeof folder, "/tmp/shoal-test-XXXXXX");
    if (rank == 0)
        CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(shoal_ranks_share(ranks, folder, sizeof folder));
    return true;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

/* What main returns. */
static int end_ranks(void)
{
    if (rank == 0) {
        printf("1..%u\n", cases);
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    shoal_ranks_leave(ranks, SHOAL_OK);
    return all_passed ? 0 : 1;
}

#endif
