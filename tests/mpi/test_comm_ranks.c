/* Ranks that talk: run.sh starts this program several times over.
 *
 *     test_comm_ranks          all that needs nobody to die; rank 0 prints TAP
 *     test_comm_ranks kill     the last rank dies, the others name it
 *     test_comm_ranks abandon  the last rank gives up, all end
 *     test_comm_ranks confuse  the last rank is in another call
 *     test_comm_ranks leave    the last rank leaves, while others wait in a collective
 *     test_comm_ranks late     the last rank is stopped after its goodbye, rank 0 comes late
 *     test_comm_ranks speed    round trips and bytes per second */
#include "comm/inner.h"

#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { TAGS = 4, LATE_TAG = 3, MESSAGES = 80, MIB = 1 << 20 };

static struct comm *c;
static uint64_t hash; /* of all results so far */

static void mix(const void *data, size_t len)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
}

/* ---- random messages ---------------------------------------------------------- */

struct stream { /* from one rank to another with one tag */
    uint64_t sent, received;
};

static struct stream streams[64][TAGS]; /* [rank][tag] with this one */

static uint64_t word_key_of(unsigned from, unsigned to, unsigned tag, uint64_t number)
{
    return rng_at(from * 100 + to, tag, number);
}

static size_t length_of(uint64_t key)
{
    static const size_t lengths[] = {0, 1, 8, 100, 4000, 5000, 65536, 300001, MIB - 1, MIB};

    return lengths[key % (sizeof lengths / sizeof *lengths)];
}

static unsigned char byte_at(uint64_t key, size_t i)
{
    return (unsigned char)(rng_mix(key) + i * 7 + (i >> 8));
}

struct parts_message {
    char *data;
    comm_ticket ticket;
};

static void write_message(struct parts_message *l, unsigned to, unsigned tag)
{
    uint64_t key = word_key_of(rank, to, tag, streams[to][tag].sent++);
    size_t len = length_of(key);

    l->data = malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        l->data[i] = (char)byte_at(key, i);
    CHECK_OK(comm_send(c, to, tag, l->data, len, &l->ticket));
}

static shoal_status read_message(void *ctx, unsigned from, const void *data, size_t len)
{
    unsigned tag = *(unsigned *)ctx;
    uint64_t key = word_key_of(from, rank, tag, streams[from][tag].received++);
    const unsigned char *bytes = data;
    size_t wrong = 0;

    CHECK(len == length_of(key));
    for (size_t i = 0; i < len; i++)
        wrong += bytes[i] != byte_at(key, i);
    CHECK(wrong == 0);
    return SHOAL_OK;
}

static unsigned tag_numbers[TAGS] = {0, 1, 2, 3};
static uint64_t expected[64][TAGS]; /* from each rank, when all have sent all */

static bool all_received(void *ctx)
{
    (void)ctx;
    for (unsigned r = 0; r < size; r++)
        for (unsigned tag = 0; tag < TAGS; tag++)
            if (streams[r][tag].received < expected[r][tag])
                return false;
    return true;
}

static void count_messages(void)
{
    uint64_t *all = calloc((size_t)size * size * TAGS, sizeof *all); /* [to][from][tag] */

    for (unsigned to = 0; to < size; to++)
        for (unsigned tag = 0; tag < TAGS; tag++)
            all[(to * size + rank) * TAGS + tag] = streams[to][tag].sent;
    CHECK_OK(comm_sum_u64(c, all, (size_t)size * size * TAGS));
    for (unsigned from = 0; from < size; from++)
        memcpy(expected[from], &all[(rank * size + from) * TAGS], sizeof expected[from]);
    free(all);
}

static void together_a_little(uint64_t turn);

static void messages_arrive_once_and_in_order_while_all_sum_and_gather(void)
{
    struct parts_message messages[MESSAGES];
    struct rng rng = {.seed = 7, .stream = rank};

    for (unsigned tag = 0; tag < TAGS; tag++)
        if (tag != LATE_TAG)
            comm_on(c, tag, read_message, &tag_numbers[tag]);
    for (size_t i = 0; i < MESSAGES; i++) {
        write_message(&messages[i], (unsigned)rng_below(&rng, size),
                      (unsigned)rng_below(&rng, TAGS));
        if (i % 5 == 0)
            together_a_little(i);
        if (i == MESSAGES / 2)
            comm_on(c, LATE_TAG, read_message, &tag_numbers[LATE_TAG]);
        CHECK_OK(comm_poll(c, NULL));
    }
    count_messages();
    CHECK_OK(comm_until(c, all_received, NULL));
    for (size_t i = 0; i < MESSAGES; i++) {
        CHECK_OK(comm_wait(c, &messages[i].ticket));
        free(messages[i].data);
    }
    CHECK_OK(comm_barrier(c));
    CHECK_OK(comm_poll(c, NULL));
    for (unsigned r = 0; r < size; r++)
        for (unsigned tag = 0; tag < TAGS; tag++)
            CHECK(streams[r][tag].received == expected[r][tag]);
}

/* ---- all together ---------------------------------------------------------------- */

/* Of very different sizes, so that the order of a sum shows. */
static double number_of(unsigned r, uint64_t i)
{
    uint64_t key = rng_at(11, r, i);

    return ((double)(key >> 40) - 8388608) * (key & 1 ? 1e-3 : 1e3);
}

static void sum_of_floats(size_t n)
{
    float *x = malloc(n * sizeof *x + 1);
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = (float)number_of(rank, i);
    CHECK_OK(comm_sum_floats(c, x, n));
    for (size_t i = 0; i < n; i++) {
        float sum = (float)number_of(0, i);

        for (unsigned r = 1; r < size; r++)
            sum += (float)number_of(r, i);
        wrong += sum != x[i];
    }
    CHECK(wrong == 0);
    mix(x, n * sizeof *x);
    free(x);
}

static void sum_and_max_of_doubles(size_t n)
{
    double *x = malloc(n * sizeof *x + 1), *y = malloc(n * sizeof *y + 1);
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = y[i] = number_of(rank, i);
    CHECK_OK(comm_sum(c, x, n));
    CHECK_OK(comm_max(c, y, n));
    for (size_t i = 0; i < n; i++) {
        double sum = number_of(0, i), most = sum;

        for (unsigned r = 1; r < size; r++) {
            double one = number_of(r, i);

            sum += one;
            most = one > most ? one : most;
        }
        wrong += sum != x[i] || most != y[i];
    }
    CHECK(wrong == 0);
    mix(x, n * sizeof *x);
    mix(y, n * sizeof *y);
    free(x);
    free(y);
}

static void sum_of_counts(size_t n)
{
    uint64_t *x = malloc(n * sizeof *x + 1);
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = UINT64_MAX - i * rank;
    CHECK_OK(comm_sum_u64(c, x, n));
    for (size_t i = 0; i < n; i++)
        wrong += x[i] != (uint64_t)0 - size - i * size * (size - 1) / 2;
    CHECK(wrong == 0);
    free(x);
}

static void broadcast_of(unsigned root, size_t len)
{
    unsigned char *data = calloc(len + 1, 1);
    size_t wrong = 0;

    for (size_t i = 0; rank == root && i < len; i++)
        data[i] = byte_at(root, i);
    CHECK_OK(comm_broadcast(c, root, data, len));
    for (size_t i = 0; i < len; i++)
        wrong += data[i] != byte_at(root, i);
    CHECK(wrong == 0 && data[len] == 0);
    mix(data, len);
    free(data);
}

static size_t share_of(unsigned r, size_t most)
{
    return r % 3 == 1 ? 0 : most / (r + 1);
}

static void gather_of(size_t most)
{
    size_t len = share_of(rank, most), wrong = 0, *lens;
    unsigned char *mine = malloc(len + 1);
    char *data, *at;

    for (size_t i = 0; i < len; i++)
        mine[i] = byte_at(rank, i);
    CHECK_OK(comm_gather(c, mine, len, &data, &lens));
    at = data;
    for (unsigned r = 0; r < size; at += lens[r++]) {
        CHECK(lens[r] == share_of(r, most));
        for (size_t i = 0; i < lens[r]; i++)
            wrong += (unsigned char)at[i] != byte_at(r, i);
    }
    CHECK(wrong == 0);
    mix(data, (size_t)(at - data));
    free(mine);
    free(data);
    free(lens);
}

static void together_a_little(uint64_t turn)
{
    switch (turn / 5 % 6) {
    case 0:
        sum_of_floats(30000 + turn);
        break;
    case 1:
        CHECK_OK(comm_barrier(c));
        break;
    case 2:
        broadcast_of((unsigned)turn % size, 100 * turn);
        break;
    case 3:
        gather_of(1000 * turn);
        break;
    case 4:
        sum_and_max_of_doubles(turn);
        break;
    default:
        CHECK_OK(comm_agree(c, SHOAL_OK));
    }
}

static void sums_are_added_in_the_order_of_the_ranks(void)
{
    static const size_t ns[] = {0, 1, 5, 1000, 4096, 4097, 100003, 1500000};

    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
        sum_of_floats(ns[i]);
        sum_and_max_of_doubles(ns[i] / 3);
        sum_of_counts(ns[i] / 7);
    }
}

static void a_broadcast_from_any_rank_reaches_all(void)
{
    static const size_t lens[] = {0, 1, 63, 64, 65, 1000, 256 << 10, 3 * MIB + 17};

    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        for (unsigned root = 0; root < size; root++)
            broadcast_of(root, lens[i]);
}

static void gathered_bytes_are_in_the_order_of_the_ranks(void)
{
    gather_of(0);
    gather_of(10);
    gather_of(5 * MIB + 3);
}

static void many_turns_never_mix(void)
{
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t x = i + rank, root = i % size;

        if (i % 3 == 0)
            CHECK_OK(comm_broadcast(c, (unsigned)root, &x, sizeof x));
        else
            CHECK_OK(comm_sum_u64(c, &x, 1));
        CHECK(x == (i % 3 == 0 ? i + root : i * size + size * (size - 1) / 2));
    }
}

static void a_broadcast_of_different_lengths_fails_everywhere(void)
{
    char data[16] = "";

    if (size == 1)
        return;
    CHECK(comm_broadcast(c, 0, data, rank == 1 ? 16 : 8) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "8 bytes") && strstr(shoal_error(), "16"));
    CHECK_OK(comm_barrier(c));
}

/* ---- agreeing, handlers, oneself --------------------------------------------------- */

static void all_fail_with_the_sentence_of_the_lowest_that_failed(void)
{
    unsigned failing = size > 1 ? 1 : 0;
    char want[256];
    shoal_status st = SHOAL_OK;

    CHECK_OK(comm_agree(c, SHOAL_OK));
    if (rank >= failing)
        st = shoal_fail(rank == failing ? SHOAL_EFORMAT : SHOAL_EIO, "disk of rank %u is full",
                        rank);
    st = comm_agree(c, st);
    CHECK(st == SHOAL_EFORMAT);
    if (rank == failing)
        snprintf(want, sizeof want, "disk of rank %u is full", failing);
    else
        snprintf(want, sizeof want, "rank %u on %s: disk of rank %u is full", failing,
                 comm_host(c, failing), failing);
    CHECK(strcmp(shoal_error(), want) == 0);
    CHECK_OK(comm_agree(c, SHOAL_OK));
}

static shoal_status count_up(void *ctx, unsigned from, const void *data, size_t len)
{
    unsigned *next = ctx; /* [size] */
    unsigned number;

    CHECK(len == sizeof number);
    memcpy(&number, data, sizeof number);
    CHECK(number == next[from]++);
    return SHOAL_OK;
}

static void messages_wait_for_their_handler(void)
{
    enum { N = 50, TAG = 5 };
    static unsigned numbers[N];
    unsigned next[64] = {0};
    comm_ticket ticket;

    for (unsigned i = 0; i < N; i++) {
        numbers[i] = i;
        for (unsigned to = 0; to < size; to++) {
            CHECK_OK(comm_send(c, to, TAG, &numbers[i], sizeof numbers[i], &ticket));
            CHECK_OK(comm_wait(c, &ticket));
        }
    }
    CHECK_OK(comm_barrier(c));
    for (unsigned r = 0; r < size; r++)
        CHECK(next[r] == 0);
    comm_on(c, TAG, count_up, next);
    for (unsigned i = 0; i < 1000 && next[rank] < N; i++)
        CHECK_OK(comm_poll(c, NULL));
    CHECK_OK(comm_barrier(c));
    CHECK_OK(comm_poll(c, NULL));
    for (unsigned r = 0; r < size; r++)
        CHECK(next[r] == N);
    comm_on(c, TAG, NULL, NULL);
}

struct chain {
    unsigned count;
    char big[MIB];
};

static shoal_status send_again(void *ctx, unsigned from, const void *data, size_t len)
{
    struct chain *chain = ctx;
    comm_ticket ticket = 1;

    CHECK(from == rank && len == MIB && memcmp(data, chain->big, len) == 0);
    if (++chain->count == 200)
        return SHOAL_OK;
    CHECK_OK(comm_send(c, rank, 6, chain->big, sizeof chain->big, &ticket));
    CHECK(ticket == 0);
    return SHOAL_OK;
}

static bool chain_ended(void *ctx)
{
    return ((struct chain *)ctx)->count == 200;
}

static void a_handler_may_send_to_its_own_rank(void)
{
    static struct chain chain;
    comm_ticket ticket;

    memset(chain.big, 'x', sizeof chain.big);
    comm_on(c, 6, send_again, &chain);
    CHECK_OK(comm_send(c, rank, 6, chain.big, sizeof chain.big, &ticket));
    CHECK_OK(comm_until(c, chain_ended, &chain));
    comm_on(c, 6, NULL, NULL);
}

static shoal_status refuse(void *ctx, unsigned from, const void *data, size_t len)
{
    (void)ctx, (void)from, (void)data, (void)len;
    return shoal_fail(SHOAL_ESTOP, "a handler said no");
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void the_failure_of_a_handler_is_that_of_the_wait(void)
{
    comm_ticket ticket;

    comm_on(c, 7, refuse, NULL);
    CHECK_OK(comm_send(c, (rank + 1) % size, 7, NULL, 0, &ticket));
    CHECK(comm_until(c, never, NULL) == SHOAL_ESTOP);
    CHECK(strcmp(shoal_error(), "a handler said no") == 0);
    comm_on(c, 7, NULL, NULL);
    CHECK_OK(comm_barrier(c));
}

/* ---- silence ------------------------------------------------------------------------ */

/* Where ranks tell each other what they cannot by messages: a folder that rank 0 makes. */
static char folder[] = "/tmp/shoal-comm-XXXXXX";

static void make_folder(void)
{
    if (rank == 0)
        CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(comm_broadcast(c, 0, folder, sizeof folder));
}

static void heard_from(char path[64], unsigned r)
{
    snprintf(path, 64, "%s/%u", folder, r);
}

static void tell(void)
{
    char path[64];
    int fd;

    heard_from(path, rank);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    close(fd);
}

/* Until all ranks below n did; not for ever, for one of them may be no more. */
static void hear_all_below(unsigned n)
{
    double until = clock_now() + 120;
    char path[64];

    for (unsigned r = 0; r < n && clock_now() < until;) {
        heard_from(path, r);
        if (access(path, F_OK) == 0)
            r++;
        else
            usleep(10000);
    }
}

static void remove_folder(void)
{
    char path[64];

    for (unsigned r = 0; r < size; r++) {
        heard_from(path, r);
        unlink(path);
    }
    rmdir(folder);
}

static bool time_is_up(void *ctx)
{
    return clock_now() > *(double *)ctx;
}

static bool rounds_are_known(void *ctx)
{
    (void)ctx;
    for (unsigned r = 0; r < size; r++)
        if (c->peers[r].round != 17 + r)
            return false;
    return true;
}

static void a_rank_that_works_for_long_without_polling_is_not_silent(void)
{
    if (size == 1)
        return;
    CHECK(comm_has_heartbeat(c));
    comm_silence_timeout(c, 4);
    CHECK_OK(comm_barrier(c));
    if (rank == size - 1)
        sleep(9);
    CHECK_OK(comm_barrier(c));
    comm_silence_timeout(c, 0);
    CHECK_OK(comm_barrier(c));
}

static void a_stopped_rank_is_named_and_blames_nobody_itself(void)
{
    unsigned sleeper = size - 1;
    uint64_t pid = (uint64_t)getpid();
    double began, wake;
    char want[256];

    if (size == 1)
        return;
    CHECK_OK(comm_broadcast(c, sleeper, &pid, sizeof pid));
    make_folder();
    comm_round(c, 17 + rank);
    CHECK_OK(comm_barrier(c));
    began = clock_now();
    comm_silence_timeout(c, 6);
    CHECK_OK(comm_until(c, rounds_are_known, NULL)); /* by signs of life */
    CHECK_OK(comm_barrier(c));
    if (rank == sleeper) {
        raise(SIGSTOP);
        wake = clock_now() + 0.3;
        CHECK_OK(comm_until(c, time_is_up, &wake)); /* it was itself that stood still */
    } else {
        snprintf(want, sizeof want, "rank %u on %s silent for 6 s (its last round was %u)", sleeper,
                 comm_host(c, sleeper), 17 + sleeper);
        CHECK(comm_until(c, never, NULL) == SHOAL_EPEER);
        CHECK(strcmp(shoal_error(), want) == 0);
        CHECK(comm_poll(c, NULL) == SHOAL_EPEER);
        CHECK(clock_now() - began > 6);
        CHECK(c->peers[sleeper].round == 17 + sleeper);
        tell();
        if (rank == 0)
            hear_all_below(sleeper);
        if (rank == 0)
            kill((pid_t)pid, SIGCONT);
    }
    comm_silence_timeout(c, 0);
    CHECK_OK(comm_barrier(c));
    if (rank == 0)
        remove_folder();
}

/* In the middle of long messages, which is the worst of moments. */
static void die(int sig)
{
    (void)sig;
    kill(getpid(), SIGKILL);
}

static void freeze(int sig)
{
    (void)sig;
    raise(SIGSTOP);
}

static void name_the_dead(void)
{
    shoal_status st = SHOAL_OK;
    size_t n = 3000000;
    float *x = calloc(n, sizeof *x);

    make_folder();
    comm_silence_timeout(c, 6);
    for (uint64_t i = 0; i < 10; i++) {
        comm_round(c, i);
        CHECK_OK(comm_barrier(c));
    }
    if (rank == size - 1) {
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 700000}, NULL);
    }
    while (st == SHOAL_OK)
        st = comm_sum_floats(c, x, n);
    printf("rank %u: %s: %s\n", rank, shoal_status_name(st), shoal_error());
    fflush(stdout);
    tell();
    hear_all_below(size - 1); /* so that the others can say so too */
    if (rank == 0) {
        sleep(1); /* for them to have seen it */
        remove_folder();
    }
    comm_close(c, false);
}

static void give_up(void)
{
    if (rank == size - 1)
        comm_close(c, false);
    comm_barrier(c);
    printf("rank %u left the barrier: %s\n", rank, shoal_error());
    comm_close(c, false);
}

/* Who left first must be named by those who wait for it. */
static void leave_first(void)
{
    double x = 1;
    shoal_status st;

    comm_silence_timeout(c, 3);
    CHECK_OK(comm_barrier(c));
    if (rank == size - 1)
        return;
    st = comm_sum(c, &x, 1);
    printf("rank %u: %s: %s\n", rank, shoal_status_name(st), shoal_error());
    fflush(stdout);
    sleep(1); /* for the others to say so too */
    comm_close(c, false);
}

/* All but rank 0 close; the last is stopped while it waits for rank 0, which must not hang. */
static void close_late(void)
{
    comm_silence_timeout(c, 4);
    CHECK_OK(comm_barrier(c));
    if (rank == size - 1) {
        signal(SIGALRM, freeze);
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 700000}, NULL);
    }
    if (rank == 0)
        sleep(7); /* longer than the others may be silent */
}

static void confuse(void)
{
    double x = 1;
    shoal_status st;

    make_folder();
    st = rank == size - 1 ? comm_max(c, &x, 1) : comm_sum(c, &x, 1);
    printf("rank %u: %s\n", rank, st == SHOAL_OK ? "noticed nothing" : shoal_error());
    fflush(stdout);
    tell();
    hear_all_below(1); /* who is sure to notice */
    sleep(1);          /* until the launcher has seen it */
    if (rank == 0)
        remove_folder();
    comm_close(c, false);
}

/* ---- speed: of the first two ranks ----------------------------------------------------- */

struct balls {
    char *data;
    size_t len, caught;
    size_t back; /* so many of those caught are thrown back */
    size_t want;
    comm_ticket tickets[64];
};

static shoal_status catch_ball(void *ctx, unsigned from, const void *data, size_t len)
{
    struct balls *b = ctx;

    (void)data, (void)len;
    if (b->caught++ < b->back)
        return comm_send(c, from, 0, b->data, b->len, &b->tickets[b->caught % 64]);
    return SHOAL_OK;
}

static bool all_caught(void *ctx)
{
    struct balls *b = ctx;

    return b->caught == b->want;
}

/* Rank 0 throws n balls, and has at_once of them in the air. */
static void throw_balls(size_t len, size_t n, size_t at_once)
{
    struct balls b = {.data = calloc(len, 1), .len = len, .want = rank < 2 ? n : 0};
    double began;

    b.back = rank == 0 ? n - at_once : n;
    comm_on(c, 0, catch_ball, &b);
    CHECK_OK(comm_barrier(c));
    began = clock_now();
    for (size_t i = 0; rank == 0 && i < at_once; i++)
        CHECK_OK(comm_send(c, 1, 0, b.data, len, &b.tickets[i]));
    CHECK_OK(comm_until(c, all_caught, &b));
    if (rank == 0)
        printf("%7zu bytes, %2zu at a time: %9.0f round trips/s, %7.1f MB/s each way\n", len,
               at_once, (double)n / (clock_now() - began),
               (double)(n * len) / (clock_now() - began) / 1e6);
    CHECK_OK(comm_barrier(c));
    comm_on(c, 0, NULL, NULL);
    free(b.data);
}

static void measure(void)
{
    size_t n = 10000000;
    float *x = calloc(n, sizeof *x);
    double began;

    throw_balls(8, 50000, 1);
    throw_balls(8, 200000, 16);
    throw_balls(400000, 2000, 1);
    throw_balls(400000, 4000, 8);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_OK(comm_barrier(c));
        began = clock_now();
        CHECK_OK(comm_sum_floats(c, x, n));
        if (rank == 0)
            printf("sum_floats of 40 MB: %.1f ms\n", (clock_now() - began) * 1e3);
    }
    began = clock_now();
    for (unsigned i = 0; i < 2000; i++)
        CHECK_OK(comm_barrier(c));
    if (rank == 0)
        printf("barrier: %.1f us\n", (clock_now() - began) / 2000 * 1e6);
    free(x);
}

/* ---- main --------------------------------------------------------------------------------- */

static void all_have_the_same_hash(void)
{
    double most[2] = {(double)(hash >> 12), -(double)(hash >> 12)};

    CHECK_OK(comm_max(c, most, 2));
    CHECK(most[0] == -most[1]);
}

#define PASSES(fn) (fn(), end_case(c, #fn))

static bool passes_all(void)
{
    PASSES(messages_arrive_once_and_in_order_while_all_sum_and_gather);
    PASSES(sums_are_added_in_the_order_of_the_ranks);
    PASSES(a_broadcast_from_any_rank_reaches_all);
    PASSES(gathered_bytes_are_in_the_order_of_the_ranks);
    PASSES(many_turns_never_mix);
    PASSES(a_broadcast_of_different_lengths_fails_everywhere);
    PASSES(all_fail_with_the_sentence_of_the_lowest_that_failed);
    PASSES(messages_wait_for_their_handler);
    PASSES(a_handler_may_send_to_its_own_rank);
    PASSES(the_failure_of_a_handler_is_that_of_the_wait);
    PASSES(a_rank_that_works_for_long_without_polling_is_not_silent);
    PASSES(a_stopped_rank_is_named_and_blames_nobody_itself);
    PASSES(all_have_the_same_hash);
    return all_passed;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool ok = true;

    if (comm_open(&c) != SHOAL_OK) {
        fprintf(stderr, "# %s\n", shoal_error());
        return 1;
    }
    fragile = c;
    rank = comm_rank(c);
    size = comm_size(c);
    if (strcmp(what, "kill") == 0)
        name_the_dead();
    else if (strcmp(what, "abandon") == 0)
        give_up();
    else if (strcmp(what, "confuse") == 0)
        confuse();
    else if (strcmp(what, "leave") == 0)
        leave_first();
    else if (strcmp(what, "late") == 0)
        close_late();
    else if (strcmp(what, "speed") == 0)
        measure();
    else
        ok = passes_all();
    if (rank == 0 && !*what)
        printf("hash %016llx with %s\n", (unsigned long long)hash, c->library);
    comm_close(c, true);
    return ok ? 0 : 1;
}
