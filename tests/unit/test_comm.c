/* A world of one: what a rank sends to itself, and what all do together when all
 * are one. Worlds of several are in tests/mpi. */
#include "comm/inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

static struct comm *c;

static int setup(void **state)
{
    (void)state;
    return comm_open_self(&c) != SHOAL_OK;
}

static int teardown(void **state)
{
    (void)state;
    comm_close(c, true);
    return 0;
}

struct seen {
    size_t count;
    size_t stop; /* at so many */
    char text[64];
};

static shoal_status see(void *ctx, unsigned from, const void *data, size_t len)
{
    struct seen *s = ctx;

    assert_int_equal(from, 0);
    assert_true(strlen(s->text) + len < sizeof s->text);
    strncat(s->text, data, len);
    s->count++;
    return SHOAL_OK;
}

static void send_text(unsigned tag, const char *text)
{
    comm_ticket ticket = 9;

    assert_int_equal(comm_send(c, 0, tag, text, strlen(text), &ticket), SHOAL_OK);
    assert_int_equal(ticket, 0);
}

static void a_world_of_one_has_rank_0(void **state)
{
    (void)state;
    assert_int_equal(comm_rank(c), 0);
    assert_int_equal(comm_size(c), 1);
    assert_string_equal(c->library, "self");
    assert_true(strlen(comm_host(c, 0)) > 0);
}

static void a_process_that_nobody_launched_is_alone(void **state)
{
    static const char *const launchers[] = {
        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_ID", "PALS_RANKID"};
    struct comm *world;

    (void)state;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        unsetenv(launchers[i]);
    assert_int_equal(comm_open(&world), SHOAL_OK);
    assert_int_equal(comm_size(world), 1);
    assert_string_equal(world->library, "self");
    comm_close(world, true);
}

static void a_world_may_be_closed_in_failure_and_twice_over_by_null(void **state)
{
    struct comm *world;

    (void)state;
    assert_int_equal(comm_open_self(&world), SHOAL_OK);
    comm_close(world, false);
    comm_close(NULL, true);
    comm_close(NULL, false);
}

static void messages_to_oneself_arrive_in_order(void **state)
{
    struct seen s = {0};
    bool any;

    (void)state;
    comm_on(c, 3, see, &s);
    send_text(3, "one ");
    send_text(3, "");
    send_text(3, "two");
    assert_int_equal(s.count, 0);
    assert_int_equal(comm_poll(c, &any), SHOAL_OK);
    assert_true(any);
    assert_int_equal(s.count, 3);
    assert_string_equal(s.text, "one two");
    assert_int_equal(comm_poll(c, &any), SHOAL_OK);
    assert_false(any);
}

static void what_was_sent_may_change_at_once(void **state)
{
    struct seen s = {0};
    char text[] = "before";

    (void)state;
    comm_on(c, 0, see, &s);
    send_text(0, text);
    memcpy(text, "after", 6);
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    assert_string_equal(s.text, "before");
}

static void messages_wait_for_their_handler_in_order(void **state)
{
    struct seen s = {0};

    (void)state;
    send_text(15, "a");
    send_text(15, "b");
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    send_text(15, "c");
    comm_on(c, 15, see, &s);
    assert_int_equal(s.count, 0);
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    assert_string_equal(s.text, "abc");
    comm_on(c, 15, NULL, NULL);
    send_text(15, "d");
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    assert_int_equal(s.count, 3);
}

static void messages_that_nobody_took_end_with_the_world(void **state)
{
    (void)state;
    send_text(1, "kept");
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    send_text(2, "never polled");
}

static shoal_status once_more(void *ctx, unsigned from, const void *data, size_t len)
{
    struct seen *s = ctx;
    comm_ticket ticket;

    return ++s->count < s->stop ? comm_send(c, from, 4, data, len, &ticket) : SHOAL_OK;
}

static bool has_stopped(void *ctx)
{
    struct seen *s = ctx;

    return s->count == s->stop;
}

static void a_handler_may_send(void **state)
{
    struct seen s = {.stop = 1000};

    (void)state;
    comm_on(c, 4, once_more, &s);
    send_text(4, "again");
    assert_int_equal(comm_until(c, has_stopped, &s), SHOAL_OK);
    assert_int_equal(s.count, 1000);
    assert_true(comm_stats(c).waited > 0);
    assert_int_equal(comm_stats(c).messages_out, 0);
}

static void a_poll_ends_though_handlers_always_send(void **state)
{
    struct seen s = {.stop = SIZE_MAX};

    (void)state;
    comm_on(c, 4, once_more, &s);
    send_text(4, "again");
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    assert_true(s.count > 0);
}

static shoal_status refuse(void *ctx, unsigned from, const void *data, size_t len)
{
    (void)ctx, (void)from, (void)data, (void)len;
    return shoal_fail(SHOAL_EFORMAT, "not this");
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void the_failure_of_a_handler_is_that_of_the_call(void **state)
{
    (void)state;
    comm_on(c, 0, refuse, NULL);
    send_text(0, "x");
    send_text(0, "y");
    assert_int_equal(comm_poll(c, NULL), SHOAL_EFORMAT);
    assert_int_equal(comm_until(c, never, NULL), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "not this");
    assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
}

static void the_longest_message_arrives_whole(void **state)
{
    char *data = malloc(COMM_MAX_MESSAGE);
    struct seen s = {.stop = 1};
    comm_ticket ticket;

    (void)state;
    memset(data, 'x', COMM_MAX_MESSAGE);
    comm_on(c, 4, once_more, &s);
    assert_int_equal(comm_send(c, 0, 4, data, COMM_MAX_MESSAGE, &ticket), SHOAL_OK);
    assert_int_equal(comm_wait(c, &ticket), SHOAL_OK);
    free(data);
    assert_int_equal(comm_until(c, has_stopped, &s), SHOAL_OK);
}

static void alone_a_sum_is_its_only_term(void **state)
{
    double x[2] = {1.5, -2};
    float f = 0.25f;
    uint64_t n = UINT64_MAX;

    (void)state;
    assert_int_equal(comm_barrier(c), SHOAL_OK);
    assert_int_equal(comm_sum(c, x, 2), SHOAL_OK);
    assert_int_equal(comm_max(c, x, 2), SHOAL_OK);
    assert_int_equal(comm_sum_u64(c, &n, 1), SHOAL_OK);
    assert_int_equal(comm_sum_floats(c, &f, 1), SHOAL_OK);
    assert_int_equal(comm_broadcast(c, 0, x, sizeof x), SHOAL_OK);
    assert_true(x[0] == 1.5 && x[1] == -2 && f == 0.25f);
    assert_true(n == UINT64_MAX);
}

static void alone_a_gather_gives_back_its_bytes(void **state)
{
    char *data;
    size_t *lens;

    (void)state;
    assert_int_equal(comm_gather(c, "bytes", 5, &data, &lens), SHOAL_OK);
    assert_int_equal(lens[0], 5);
    assert_memory_equal(data, "bytes", 5);
    free(data);
    free(lens);
    assert_int_equal(comm_gather(c, NULL, 0, &data, &lens), SHOAL_OK);
    assert_int_equal(lens[0], 0);
    assert_non_null(data);
    free(data);
    free(lens);
}

static void alone_one_agrees_with_oneself(void **state)
{
    (void)state;
    assert_int_equal(comm_agree(c, SHOAL_OK), SHOAL_OK);
    assert_int_equal(comm_agree(c, shoal_fail(SHOAL_EIO, "the disk is full")), SHOAL_EIO);
    assert_string_equal(shoal_error(), "the disk is full");
}

static void alone_nobody_is_silent(void **state)
{
    double until = clock_now() + 0.05;

    (void)state;
    comm_silence_timeout(c, 0.01);
    while (clock_now() < until)
        assert_int_equal(comm_poll(c, NULL), SHOAL_OK);
    comm_round(c, 12);
    assert_int_equal(c->peers[0].round, 12);
}

/* Otherwise each of them would do the whole work. With MPI: tests/mpi/run.sh. */
static void without_mpi_one_of_many_ranks_is_refused(void **state)
{
    struct comm *world;

    (void)state;
#ifdef SHOAL_MPI
    skip();
#endif
    setenv("PMI_SIZE", "4", 1);
    assert_int_equal(comm_open(&world), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "one of 4 ranks"));
    setenv("PMI_SIZE", "1", 1);
    assert_int_equal(comm_open(&world), SHOAL_OK);
    comm_close(world, true);
    unsetenv("PMI_SIZE");
}

/* ---- messages that wait ---- */

static void defer(struct deferrals *list, unsigned from, uint64_t of)
{
    assert_int_equal(deferred_add(list, from, of, &of, sizeof of), SHOAL_OK);
}

/* Takes one away; 0: there was none. */
static uint64_t taken(struct deferred *d)
{
    uint64_t of = 0;

    if (d)
        memcpy(&of, d->data, sizeof of);
    free(d);
    return of;
}

static void what_waits_is_taken_in_the_order_it_came(void **state)
{
    struct deferrals list = {0};

    (void)state;
    for (uint64_t of = 1; of <= 3; of++)
        defer(&list, 7, of);
    assert_int_equal(taken(deferred_take(&list, &list.first)), 1);
    defer(&list, 7, 4);
    for (uint64_t of = 2; of <= 4; of++)
        assert_int_equal(taken(deferred_take(&list, &list.first)), of);
    assert_null(list.first);
    defer(&list, 7, 5); /* an empty list begins again */
    assert_int_equal(taken(deferred_take(&list, &list.first)), 5);
    deferred_fini(&list);
}

static void what_waits_is_found_by_sender_and_number(void **state)
{
    struct deferrals list = {0};

    (void)state;
    defer(&list, 1, 8);
    defer(&list, 2, 8);
    defer(&list, 2, 9);
    assert_null(deferred_find(&list, 1, 9));
    assert_int_equal(taken(deferred_find(&list, 2, 9)), 9); /* the last: the end moves back */
    defer(&list, 3, 10);
    assert_int_equal(taken(deferred_find(&list, 2, 8)), 8);
    assert_int_equal(list.first->from, 1);
    assert_int_equal(list.first->next->from, 3);
    deferred_fini(&list);
    assert_null(list.first);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(a_world_of_one_has_rank_0),
        cmocka_unit_test(a_process_that_nobody_launched_is_alone),
        cmocka_unit_test(a_world_may_be_closed_in_failure_and_twice_over_by_null),
        IN_A_WORLD(messages_to_oneself_arrive_in_order),
        IN_A_WORLD(what_was_sent_may_change_at_once),
        IN_A_WORLD(messages_wait_for_their_handler_in_order),
        IN_A_WORLD(messages_that_nobody_took_end_with_the_world),
        IN_A_WORLD(a_handler_may_send),
        IN_A_WORLD(a_poll_ends_though_handlers_always_send),
        IN_A_WORLD(the_failure_of_a_handler_is_that_of_the_call),
        IN_A_WORLD(the_longest_message_arrives_whole),
        IN_A_WORLD(alone_a_sum_is_its_only_term),
        IN_A_WORLD(alone_a_gather_gives_back_its_bytes),
        IN_A_WORLD(alone_one_agrees_with_oneself),
        IN_A_WORLD(alone_nobody_is_silent),
        cmocka_unit_test(what_waits_is_taken_in_the_order_it_came),
        cmocka_unit_test(what_waits_is_found_by_sender_and_number),
        cmocka_unit_test(without_mpi_one_of_many_ranks_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
