/* The world that mpirun or srun made; the only file that knows MPI.
 *
 * Messages are probed for, not received into buffers posted before: so the
 * sender of one that is on its way is known, and a rank that dies in the middle
 * of a long one, or is slow to send it, holds up no messages but its own. It is
 * nearly as fast as receives posted before, as long as no probe is wasted and a
 * buffer is used again while it is in the cache.
 *
 * With SHOAL_SMPI it is compiled for SimGrid's SMPI, which runs all ranks in one
 * process and simulates the time that messages take. What ranks compute takes the
 * time they say (comm_charge), by SHOAL_SIMULATE in the environment: the seconds of
 * a unit, those of each time it is said, and the jitter of a rank; then the latency
 * between nodes in seconds, the cores of a node, and the processor seconds of a message
 * and of each of its bytes, at either end.
 *
 * Two habits of SimGrid 3.32 shape this file. A message whose end is found by asking (MPI_Test,
 * MPI_Testany) stays in a list of its rank for ever, which is walked whenever the rank has waited:
 * so nobody asks. What is received shows in memory, which is written when it has come, and all
 * ranks are in one process: a rank looks there for what came and for what has gone, and then waits
 * for what it knows to be over. And receiving is charged (smpi/or) only where the send was
 * detached, which would copy it: so both ends charge themselves here. */
#include "comm/inner.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_INCOMING = 16 }; /* messages being received at a time */

struct outgoing {
    MPI_Request request;
    unsigned to;
    uint32_t life; /* how often this place was used: tells old tickets from new */
    uint32_t next; /* the next free place, 1 + its index; 0: none */
#ifdef SHOAL_SMPI
    uint64_t nth; /* of those to that rank, from 1 on */
#endif
};

struct incoming {
    MPI_Request request;
    unsigned from, tag;
    size_t len;
    char *data; /* [COMM_MAX_MESSAGE] */
};

#ifdef SHOAL_SMPI
/* Has come, and is there from `due` on. */
struct arrival {
    struct arrival *next;
    double due;
    unsigned from, tag;
    size_t len;
    _Alignas(16) char data[];
};
#endif

struct mpi {
    MPI_Comm comm;
    bool ours; /* MPI: begun here, so it ends here */
    bool threads; /* one at a time, whichever */
    struct outgoing *out;
    size_t out_n, out_cap;
    uint32_t free;                     /* 1 + the index of a free place in out; 0: none */
    struct incoming in[MOST_INCOMING]; /* the first `in_n`, in the order they came */
    size_t in_n;
    size_t handed; /* 1 + the index of the one received last; 0: none */
    char *buffers;
#ifdef SHOAL_SMPI
    double seconds, each, jitter; /* of a unit; of a charge; its deviation, as a share */
    double latency;               /* seconds from node to node */
    unsigned cores;               /* of a node, whose ranks follow each other */
    double message, byte;         /* processor seconds at either end */
    uint64_t rank, charges;       /* made so far */
    unsigned ranks;
    MPI_Request *posted;           /* [ranks] a receive from each of the others */
    char *halls;                   /* [ranks][COMM_MAX_MESSAGE] what they receive into */
    struct arrival *first, **last; /* in the order they came */
    struct arrival *handed_over;   /* the one received last, or NULL */
    double looked;                 /* when all that had come was taken out of the halls */
    struct mpi **peers;            /* [ranks] all of them, borrowed */
    uint64_t *came, *left;         /* [ranks] messages from each, and to each */
    bool sent;                     /* something, since it last thought of resting */
    shoal_status failed;           /* while it rested */
    MPI_Request *waiting;          /* [ranks + out_n] */
    size_t waiting_cap;
#endif
};

static shoal_status fail_mpi(int code, const char *doing, unsigned rank)
{
    char words[MPI_MAX_ERROR_STRING] = "?";
    int len;

    MPI_Error_string(code, words, &len);
    return shoal_fail(SHOAL_EPEER, "mpi: %s rank %u: %s", doing, rank, words);
}

/* ---- opening and closing --------------------------------------------------------- */

#ifdef SHOAL_SMPI
enum { JITTER_STREAM = 0x717 };

/* nanosleep of a simulation: the clock of this rank goes on by so much. */
static void sleep_for(double seconds)
{
    time_t whole = (time_t)seconds;
    struct timespec time = {.tv_sec = whole,
                            .tv_nsec = 1 + (long)((seconds - (double)whole) * 1e9)};

    nanosleep(&time, NULL);
}

static void charge_message(const struct mpi *w, size_t len)
{
    double seconds = w->message + (double)len * w->byte;

    if (seconds > 0)
        sleep_for(seconds);
}

/* Even over a width of sqrt(12) deviations. */
static void mpi_charge(void *at, double units)
{
    struct mpi *w = at;
    double even = (double)(rng_at(w->rank, JITTER_STREAM, w->charges++) >> 11) * 0x1p-53;
    double seconds = (units * w->seconds + w->each) * (1 + w->jitter * 3.4641 * (even - 0.5));

    if (seconds > 0)
        sleep_for(seconds);
}

static void mpi_host(void *at, char *name, size_t cap)
{
    char text[MPI_MAX_PROCESSOR_NAME + 1] = "?";
    int len;

    (void)at;
    MPI_Get_processor_name(text, &len);
    snprintf(name, cap, "%s", text);
}
#endif

/* "Open MPI v4.1.4, package: ..." becomes "Open MPI 4.1.4", and
 * "MPICH Version:\t4.0.2\n..." becomes "MPICH 4.0.2". */
static void name_library(char library[64])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", *rest;
    int len;

    MPI_Get_library_version(text, &len);
    text[strcspn(text, ",\n")] = '\0';
    library[0] = '\0';
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        size_t at = strlen(library);

        if (word[0] == 'v' && word[1] >= '0' && word[1] <= '9')
            word++;
        if (strcmp(word, "Version:") != 0)
            snprintf(library + at, 64 - at, "%s%s", at ? " " : "", word);
    }
}

static shoal_status start(struct mpi *w)
{
    int started, ended, level;

    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (ended)
        return shoal_fail(SHOAL_EINVAL, "mpi: opened a second time in this process");
    w->ours = !started;
    /* Any level will do, but only with this one has the rank a heartbeat (heartbeat.c). */
    if (w->ours && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        return shoal_fail(SHOAL_EIO, "mpi: this process could not join the others");
    MPI_Query_thread(&level);
    w->threads = level >= MPI_THREAD_SERIALIZED;
    return SHOAL_OK;
}

static void stop(struct mpi *w)
{
    MPI_Comm_free(&w->comm);
    if (w->ours)
        MPI_Finalize();
}

/* A communicator of our own: no message of anyone else in this process, and
 * failures come back as codes. */
static shoal_status join(struct mpi *w, int *rank, int *size)
{
    if (MPI_Comm_dup(MPI_COMM_WORLD, &w->comm) != MPI_SUCCESS)
        return shoal_fail(SHOAL_EIO, "mpi: no communicator of our own");
    MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(w->comm, rank);
    MPI_Comm_size(w->comm, size);
    if (*size <= COMM_MAX_RANKS)
        return SHOAL_OK;
    stop(w);
    return shoal_fail(SHOAL_ELIMIT, "mpi: found %d ranks, want %d at most", *size, COMM_MAX_RANKS);
}

#ifdef SHOAL_SMPI
/* No message begins so, but for one in 2^64. */
static const unsigned char nothing_yet[16] = {0x9d, 0x3f, 0xc2, 0x71, 0x58, 0xe4, 0x0b, 0xa6,
                                              0x17, 0x8c, 0xd5, 0x4e, 0xf9, 0x60, 0x32, 0xbb};

/* Whether a message is in the hall. One of no bytes is not seen; who waits gets it (wait_any). */
static bool has_come(const struct mpi *w, unsigned from)
{
    return from != w->rank && memcmp(w->halls + (size_t)from * COMM_MAX_MESSAGE, nothing_yet,
                                     sizeof nothing_yet) != 0;
}

static void post_receive(struct mpi *w, unsigned from)
{
    memcpy(w->halls + (size_t)from * COMM_MAX_MESSAGE, nothing_yet, sizeof nothing_yet);
    MPI_Irecv(w->halls + (size_t)from * COMM_MAX_MESSAGE, COMM_MAX_MESSAGE, MPI_BYTE, (int)from,
              MPI_ANY_TAG, w->comm, &w->posted[from]);
}

/* "2.5e-3 1e-9 0.1 0 8 1e-6 2e-10"; false: it is none. */
static bool simulation_read(struct mpi *w, const char *text)
{
    double cores;
    double *const to[] = {&w->seconds, &w->each,    &w->jitter, &w->latency,
                          &cores,      &w->message, &w->byte};
    char *end;

    for (size_t i = 0; i < sizeof to / sizeof *to; i++, text = end) {
        *to[i] = number_read(text, &end);
        if (end == text)
            return false;
    }
    w->cores = cores >= 1 && cores < 1e9 ? (unsigned)cores : 0;
    return w->cores > 0;
}

/* Halls are of the longest message each; the system gives memory to what was used. */
static shoal_status simulate(struct mpi *w, int rank, int size)
{
    const char *text = getenv("SHOAL_SIMULATE");

    w->rank = (uint64_t)rank;
    w->ranks = (unsigned)size;
    w->last = &w->first;
    if (!text || !simulation_read(w, text)) {
        w->seconds = w->each = w->jitter = w->latency = w->message = w->byte = 0;
        w->cores = 1;
    }
    w->posted = mem_array(w->ranks, sizeof *w->posted);
    w->halls = mem_array(w->ranks, COMM_MAX_MESSAGE);
    w->peers = mem_array(w->ranks, sizeof(struct mpi *));
    w->came = mem_array(w->ranks, sizeof *w->came);
    w->left = mem_array(w->ranks, sizeof *w->left);
    if (!w->posted || !w->halls || !w->peers || !w->came || !w->left)
        return SHOAL_ENOMEM;
    for (unsigned r = 0; r < w->ranks; r++)
        if (r == (unsigned)rank)
            w->posted[r] = MPI_REQUEST_NULL;
        else
            post_receive(w, r);
    MPI_Allgather(&w, sizeof w, MPI_BYTE, w->peers, sizeof w, MPI_BYTE, w->comm);
    return SHOAL_OK;
}
#endif

static struct mpi *mpi_new(void)
{
    struct mpi *w = mem_array(1, sizeof *w);
    char *buffers = mem_array(MOST_INCOMING, COMM_MAX_MESSAGE);

    if (!w || !buffers) {
        free(w);
        free(buffers);
        return NULL;
    }
    w->buffers = buffers;
    for (size_t i = 0; i < MOST_INCOMING; i++)
        w->in[i].data = buffers + i * COMM_MAX_MESSAGE;
    return w;
}

static void mpi_free(struct mpi *w)
{
#ifdef SHOAL_SMPI
    free(w->waiting);
    free(w->posted);
    free(w->halls);
    free(w->peers);
    free(w->came);
    free(w->left);
    free(w->handed_over);
    for (struct arrival *a = w->first, *next; a; a = next) {
        next = a->next;
        free(a);
    }
#endif
    free(w->out);
    free(w->buffers);
    free(w);
}

static shoal_status mpi_open(void **at, unsigned *rank, unsigned *size, char library[64])
{
    struct mpi *w = mpi_new();
    int r = 0, n = 0;
    shoal_status st;

    *at = NULL;
    if (!w)
        return SHOAL_ENOMEM;
    st = start(w);
    if (st == SHOAL_OK)
        st = join(w, &r, &n);
#ifdef SHOAL_SMPI
    if (st == SHOAL_OK && (st = simulate(w, r, n)) != SHOAL_OK)
        stop(w);
#endif
    if (st != SHOAL_OK) {
        mpi_free(w);
        return st;
    }
    name_library(library);
    *rank = (unsigned)r;
    *size = (unsigned)n;
    *at = w;
    return SHOAL_OK;
}

/* The others have received all of it; MPI alone may not know yet. */
static void finish_sending(struct mpi *w)
{
    for (size_t i = 0; i < w->out_n; i++)
        if (w->out[i].request != MPI_REQUEST_NULL)
            MPI_Wait(&w->out[i].request, MPI_STATUS_IGNORE);
}

static void mpi_close(void *at, bool ok)
{
    struct mpi *w = at;

    if (ok) {
#ifdef SHOAL_SMPI
        MPI_Barrier(w->comm); /* nobody looks into our halls any more */
        for (unsigned r = 0; r < w->ranks; r++)
            if (r != w->rank)
                MPI_Cancel(&w->posted[r]);
#endif
        finish_sending(w);
        stop(w);
    } else {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    mpi_free(w);
}

/* ---- sending ------------------------------------------------------------------------ */

/* A ticket is a place and its life: | life, 32 bits | 1 + place, 32 bits | */
static comm_ticket ticket_of(const struct mpi *w, uint32_t place)
{
    return (uint64_t)w->out[place].life << 32 | (place + 1);
}

static shoal_status take_place(struct mpi *w, uint32_t *place)
{
    void *out = w->out;
    shoal_status st;

    if (w->free) {
        *place = w->free - 1;
        w->free = w->out[*place].next;
        return SHOAL_OK;
    }
    st = mem_grow(&out, &w->out_cap, w->out_n + 1, sizeof *w->out);
    w->out = out;
    if (st != SHOAL_OK)
        return st;
    *place = (uint32_t)w->out_n++;
    w->out[*place] = (struct outgoing){.request = MPI_REQUEST_NULL};
    return SHOAL_OK;
}

static void give_place_back(struct mpi *w, uint32_t place)
{
    w->out[place].life++;
    w->out[place].next = w->free;
    w->free = place + 1;
}

#ifdef SHOAL_SMPI
/* Of what goes from one rank to another, the first is over first. */
static bool has_gone(struct mpi *w, uint32_t place)
{
    struct outgoing *out = &w->out[place];
    const struct mpi *peer = w->peers[out->to];
    uint64_t came = peer->came[w->rank] + has_come(peer, (unsigned)w->rank);

    if (out->nth > came)
        return false;
    MPI_Wait(&out->request, MPI_STATUS_IGNORE);
    return true;
}
#endif

static shoal_status mpi_test(void *at, comm_ticket ticket, bool *done)
{
    struct mpi *w = at;
    uint32_t place = (uint32_t)ticket - 1;
    int flag = 0, code = MPI_SUCCESS;

    *done = place >= w->out_n || ticket_of(w, place) != ticket;
    if (*done)
        return SHOAL_OK;
    if (w->out[place].request == MPI_REQUEST_NULL)
        flag = 1; /* not every library says so */
    else
#ifdef SHOAL_SMPI
        flag = has_gone(w, place);
#else
        code = MPI_Test(&w->out[place].request, &flag, MPI_STATUS_IGNORE);
#endif
    if (code != MPI_SUCCESS)
        return fail_mpi(code, "sending to", w->out[place].to);
    *done = flag;
    if (flag)
        give_place_back(w, place);
    return SHOAL_OK;
}

/* Short messages have left when MPI_Isend returns: most tickets are 0. */
static shoal_status mpi_send(void *at, unsigned to, unsigned tag, const void *data, size_t len,
                             comm_ticket *ticket)
{
    struct mpi *w = at;
    uint32_t place;
    bool done;
    int code;
    shoal_status st = take_place(w, &place);

    if (st != SHOAL_OK)
        return st;
    w->out[place].to = to;
#ifdef SHOAL_SMPI
    charge_message(w, len);
#endif
    code = MPI_Isend(data, (int)len, MPI_BYTE, (int)to, (int)tag, w->comm, &w->out[place].request);
    if (code != MPI_SUCCESS)
        return fail_mpi(code, "sending to", to);
#ifdef SHOAL_SMPI
    w->sent = true;
    w->out[place].nth = ++w->left[to];
#endif
    *ticket = ticket_of(w, place);
    st = mpi_test(w, *ticket, &done);
    if (done)
        *ticket = 0;
    return st;
}

/* ---- receiving ---------------------------------------------------------------------- */

#ifndef SHOAL_SMPI
static shoal_status begin_receiving(struct mpi *w, MPI_Message *message, const MPI_Status *status)
{
    struct incoming *in = &w->in[w->in_n];
    int len = 0, code;

    MPI_Get_count(status, MPI_BYTE, &len);
    if (len < 0 || len > COMM_MAX_MESSAGE)
        return shoal_fail(SHOAL_EFORMAT, "mpi: found a message of %d bytes, want %d at most", len,
                          COMM_MAX_MESSAGE);
    in->from = (unsigned)status->MPI_SOURCE;
    in->tag = (unsigned)status->MPI_TAG;
    in->len = (size_t)len;
    code = MPI_Imrecv(in->data, len, MPI_BYTE, message, &in->request);
    if (code != MPI_SUCCESS)
        return fail_mpi(code, "receiving from", in->from);
    w->in_n++;
    return SHOAL_OK;
}
#endif

static bool has_earlier(const struct mpi *w, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (w->in[i].from == w->in[index].from)
            return true;
    return false;
}

/* Hands over the first one from `index` on that is here and that no earlier one
 * of its sender must precede. */
static shoal_status find_complete(struct mpi *w, size_t index)
{
    for (; index < w->in_n && w->handed == 0; index++) {
        int done = 0, code;

        if (has_earlier(w, index))
            continue;
        code = MPI_Test(&w->in[index].request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return fail_mpi(code, "receiving from", w->in[index].from);
        if (done)
            w->handed = index + 1;
    }
    return SHOAL_OK;
}

#ifdef SHOAL_SMPI
/* What came from a rank goes to the end of the list, and the next may come. Links of the
 * simulation have no latency, else each message would wait for it anew, where on a connection
 * they follow each other: it passes here, beginning when we last saw that nothing was there. */
static shoal_status take_out(struct mpi *w, unsigned from, const MPI_Status *status)
{
    bool near = from / w->cores == w->rank / w->cores;
    struct arrival *a;
    int len = 0;

    MPI_Get_count(status, MPI_BYTE, &len);
    a = mem_array(1, sizeof *a + (size_t)len);
    if (!a)
        return SHOAL_ENOMEM;
    a->due = w->looked + (near ? 0 : w->latency);
    a->from = from;
    a->tag = (unsigned)status->MPI_TAG;
    a->len = (size_t)len;
    memcpy(a->data, w->halls + (size_t)from * COMM_MAX_MESSAGE, a->len);
    *w->last = a;
    w->last = &a->next;
    w->came[from]++;
    post_receive(w, from);
    charge_message(w, a->len);
    return SHOAL_OK;
}

static shoal_status look(struct mpi *w)
{
    MPI_Status status;
    shoal_status st = SHOAL_OK;

    for (unsigned r = 0; r < w->ranks && st == SHOAL_OK; r++)
        if (has_come(w, r)) {
            MPI_Wait(&w->posted[r], &status);
            st = take_out(w, r, &status);
        }
    w->looked = MPI_Wtime();
    return st;
}

/* A probe of a simulation either takes time or none, and a loop of those that take none
 * never ends: so a receive is always posted for each of the others, and who waits, waits
 * for those or for what it sends. Messages of a rank thus come one by one, as over a
 * connection, and those of several ranks side by side. in_n is then 0 or 1. */
static shoal_status probe(struct mpi *w, int *found)
{
    struct arrival **at = &w->first, *a;
    shoal_status st = w->failed == SHOAL_OK ? look(w) : w->failed;

    free(w->handed_over);
    while (*at && (*at)->due - w->looked > 1e-9)
        at = &(*at)->next;
    w->handed_over = a = st == SHOAL_OK ? *at : NULL;
    *found = a != NULL;
    if (!a)
        return st;
    *at = a->next;
    if (!*at)
        w->last = at;
    w->in[0] = (struct incoming){.from = a->from, .tag = a->tag, .len = a->len, .data = a->data};
    w->in_n = w->handed = 1;
    return SHOAL_OK;
}

/* The n-th that is under way has gone: a request that is over cannot be asked again. */
static void forget(struct mpi *w, int n)
{
    for (size_t i = 0; i < w->out_n; i++)
        if (w->out[i].request != MPI_REQUEST_NULL && n-- == 0)
            w->out[i].request = MPI_REQUEST_NULL;
}

/* Until something comes or has gone. */
static shoal_status wait_any(struct mpi *w)
{
    void *list = w->waiting;
    int n = (int)w->ranks, which = MPI_UNDEFINED;
    MPI_Status status;
    shoal_status st = mem_grow(&list, &w->waiting_cap, w->out_n + w->ranks, sizeof *w->waiting);

    if (st != SHOAL_OK)
        return st;
    w->waiting = list;
    memcpy(w->waiting, w->posted, w->ranks * sizeof *w->waiting);
    for (size_t i = 0; i < w->out_n; i++)
        if (w->out[i].request != MPI_REQUEST_NULL)
            w->waiting[n++] = w->out[i].request;
    MPI_Waitany(n, w->waiting, &which, &status);
    w->looked = MPI_Wtime();
    if (which >= (int)w->ranks)
        forget(w, which - (int)w->ranks);
    else if (which >= 0)
        st = take_out(w, (unsigned)which, &status);
    return st;
}

/* Who has just sent may have more to send, and nothing that would wake it for that. While a
 * message is not due yet others may come: they are seen an eighth of the latency late. */
static void mpi_rest(void *at, unsigned empty)
{
    struct mpi *w = at;
    double most = w->latency / 8;
    bool sent = w->sent;

    w->sent = false;
    if (empty == 0 || sent)
        return;
    if (w->first)
        sleep_for(w->first->due - w->looked < most ? w->first->due - w->looked : most);
    else
        w->failed = wait_any(w);
}
#else
/* One more, if there is one; `found` tells. */
static shoal_status probe(struct mpi *w, int *found)
{
    MPI_Message message;
    MPI_Status status;
    int code = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, found, &message, &status);
    shoal_status st;

    if (code != MPI_SUCCESS)
        return shoal_fail(SHOAL_EPEER, "mpi: looking for messages: failure %d", code);
    if (!*found)
        return SHOAL_OK;
    st = begin_receiving(w, &message, &status);
    return st == SHOAL_OK ? find_complete(w, w->in_n - 1) : st;
}

#endif

/* The one handed over last. Its buffer, which is in the cache, serves the next. */
static void drop_handed(struct mpi *w)
{
    struct incoming in;

    if (w->handed == 0)
        return;
    in = w->in[w->handed - 1];
    memmove(&w->in[w->handed - 1], &w->in[w->handed], (w->in_n - w->handed) * sizeof in);
    w->in[--w->in_n] = in;
    w->handed = 0;
}

/* Those on their way before new ones: a probe that finds nothing is the dearest
 * of these calls, since some libraries then yield the core. */
static shoal_status mpi_receive(void *at, struct message *m, bool *any)
{
    struct mpi *w = at;
    int found = 1;
    shoal_status st;

    *any = false;
    drop_handed(w);
    st = find_complete(w, 0);
    while (st == SHOAL_OK && found && w->handed == 0 && w->in_n < MOST_INCOMING)
        st = probe(w, &found);
    if (st == SHOAL_OK && w->handed > 0) {
        const struct incoming *in = &w->in[w->handed - 1];

        *m = (struct message){.from = in->from, .tag = in->tag, .data = in->data, .len = in->len};
        *any = true;
    }
    return st;
}

#ifndef SHOAL_SMPI
static bool mpi_threads(void *at)
{
    const struct mpi *w = at;

    return w->threads;
}

/* A probe takes nothing, and lets the library work meanwhile. */
static void mpi_progress(void *at)
{
    struct mpi *w = at;
    int found;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &found, MPI_STATUS_IGNORE);
}
#endif

const struct comm_world comm_world_mpi = {
    .open = mpi_open,
    .close = mpi_close,
    .send = mpi_send,
    .test = mpi_test,
    .receive = mpi_receive,
#ifndef SHOAL_SMPI
    .threads = mpi_threads,
    .progress = mpi_progress,
#else
    .charge = mpi_charge,
    .rest = mpi_rest,
    .host = mpi_host,
#endif
};
