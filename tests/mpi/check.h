/* What the programs test_NAME_ranks check with. Each includes it once. */
#ifndef SHOAL_TEST_CHECK_H
#define SHOAL_TEST_CHECK_H

#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned rank, size;
static unsigned failures;   /* of this rank, in the case that runs */
static unsigned cases;
static bool all_passed = true;
static struct comm *fragile; /* ended, with the program, when a call fails; NULL: all go on */

#define CHECK(what) check((what), #what, __LINE__)
#define CHECK_OK(call) check_ok((call), #call, __LINE__)

static void check(bool ok, const char *what, int line)
{
    if (ok)
        return;
    failures++;
    fprintf(stderr, "# rank %u, line %d: not so: %s\n", rank, line, what);
}

static void check_ok(shoal_status st, const char *what, int line)
{
    if (st == SHOAL_OK)
        return;
    failures++;
    fprintf(stderr, "# rank %u, line %d: %s: %s\n", rank, line, what, shoal_error());
    if (!fragile)
        return;
    comm_close(fragile, false);
    exit(1);
}

/* The case that ran has passed when it did on every rank. */
static void end_case(struct comm *c, const char *name)
{
    uint64_t all = failures;

    CHECK_OK(comm_sum_u64(c, &all, 1));
    failures = 0;
    cases++;
    all_passed &= all == 0;
    if (rank == 0)
        printf("%s %u - %s\n", all == 0 ? "ok" : "not ok", cases, name);
    fflush(stdout);
}

#endif
