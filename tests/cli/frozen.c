/* frozen: a rank that stands still where it joins the others or leaves them.
 *
 * Preloaded before the MPI library. FROZEN_RANK stops itself in FROZEN_CALL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Finalize(void);

static void freeze_in(const char *call)
{
    const char *open_mpi = getenv("OMPI_COMM_WORLD_RANK");
    const char *rank = open_mpi ? open_mpi : getenv("PMI_RANK");

    if (rank && strcmp(rank, getenv("FROZEN_RANK")) == 0 && strcmp(call, getenv("FROZEN_CALL")) == 0)
        raise(SIGSTOP);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*next)(int *, char ***, int, int *) = dlsym(RTLD_NEXT, "MPI_Init_thread");

    freeze_in("MPI_Init");
    return next(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    int (*next)(void) = dlsym(RTLD_NEXT, "MPI_Finalize");

    freeze_in("MPI_Finalize");
    return next();
}
