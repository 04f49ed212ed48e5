/* Metrics read again, axes, charts, and the page of a run. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>

#include "scratch.h"
#include "study/draw/draw.h"

#define SETTINGS                                                                                   \
    "{\"event\":\"settings\",\"epochs\":2,\"lr\":0.05,\"task\":\"cbow\",\"sum\":false,"            \
    "\"examples\":1000}\n"
#define WORDS(event, progress, words, seconds, loss, valid)                                        \
    "{\"event\":\"" event "\",\"epoch\":1,\"epochs\":2,\"progress\":" progress                     \
    ",\"unit\":\"words\",\"examples\":" words ",\"seconds\":" seconds                              \
    ",\"rate\":9,\"train\":{\"loss\":" loss "},\"valid\":{\"loss\":" valid                         \
    "},\"run\":{},\"lr\":0.02,\"memory\":4096}\n"
#define PROFILE                                                                                    \
    "{\"event\":\"profile\",\"ranks\":2,\"limit\":\"link\",\"verdict\":\"the link is <full>\","    \
    "\"all\":{\"seconds\":20,\"computing\":8,\"communicating\":2,\"waiting\":9,\"other\":1,"       \
    "\"cpu\":0.5,\"disk_read\":null},\"per_rank\":["                                               \
    "{\"rank\":0,\"host\":\"a\",\"computing\":5,\"communicating\":1,\"waiting\":3,\"other\":1,"    \
    "\"bytes_out\":10,\"bytes_in\":20},"                                                           \
    "{\"rank\":1,\"host\":\"b\",\"computing\":3,\"communicating\":1,\"waiting\":6,\"other\":0,"    \
    "\"bytes_out\":20,\"bytes_in\":10}]}\n"
#define TIMELINE(rank, host, spans)                                                                \
    "{\"event\":\"timeline\",\"rank\":" rank ",\"host\":\"" host "\"," spans "}\n"
#define SPANS                                                                                      \
    "\"seconds\":[1,3,4],\"computing\":[0.75,0.5,0],\"communicating\":[0.25,0,0],"                 \
    "\"waiting\":[0,1,1]"
#define RANKS                                                                                      \
    "{\"event\":\"ranks\",\"ranks\":2,\"bytes_out\":5000,\"seconds_waiting\":1,"                   \
    "\"seconds_training\":4,\"stale\":[1,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0]}\n"

static const char two_ranks[] = SETTINGS WORDS("interval", "0.25", "250", "1", "4", "null")
    WORDS("epoch", "0.5", "1000", "2", "3", "2.5")
        WORDS("interval", "0.75", "750", "3", "2", "null")
            WORDS("epoch", "1", "2000", "4", "2", "1.5")
                RANKS PROFILE WORDS("done", "1", "2000", "4", "2", "1.5");

static shoal_run *parse(const char *text)
{
    shoal_run *run = NULL;

    assert_int_equal(study_run_parse(&run, "m.jsonl", text, strlen(text)), SHOAL_OK);
    assert_non_null(run);
    return run;
}

static void refuse(const char *text, const char *said)
{
    shoal_run *run = NULL;

    assert_int_equal(study_run_parse(&run, "m.jsonl", text, strlen(text)), SHOAL_EFORMAT);
    assert_null(run);
    assert_non_null(strstr(shoal_error(), said));
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * fmax(1, fabs(b)));
}

/* ---- runs ---- */

static void a_run_ends_with_its_last_figures(void **state)
{
    shoal_run *run = parse(two_ranks);
    struct shoal_measures m = shoal_run_measures(run, (double)NAN);

    (void)state;
    assert_true(m.done);
    assert_string_equal(m.unit, "words");
    assert_string_equal(run->model, "cbow");
    near(m.seconds, 4);
    near(m.units, 2000);
    near(m.rate, 500);
    near(m.loss, 2);
    near(m.held, 1.5);
    near(m.bytes, 5000);
    near(m.stale, 1);
    near(m.memory, 4096);
    assert_true(isnan(m.target) && isnan(m.quality) && isnan(m.gradient));
    shoal_run_free(run);
}

static void between_meetings_progress_says_what_all_ranks_did(void **state)
{
    shoal_run *run = parse(two_ranks);

    (void)state;
    assert_int_equal(run->npoints, 4);
    near(run->points[0].units, 500); /* rank 0 alone said 250 */
    near(run->points[2].units, 1500);
    shoal_run_free(run);
}

static void reports_of_one_moment_are_one_point(void **state)
{
    shoal_run *run = parse(SETTINGS WORDS("interval", "0.5", "10", "1", "4", "null")
                               WORDS("epoch", "0.5", "10", "1", "3", "2"));

    (void)state;
    assert_int_equal(run->npoints, 1);
    near(run->points[0].loss, 4);
    near(run->points[0].held, 2);
    shoal_run_free(run);
}

/* The mean of an epoch, said behind its last slice, would make the curve jump. */
static void the_mean_of_an_epoch_is_no_step_back(void **state)
{
    shoal_run *run = parse(SETTINGS WORDS("interval", "0.25", "5", "1", "9", "null")
                               WORDS("interval", "0.5", "10", "2", "4", "null")
                                   WORDS("epoch", "0.5", "10", "2.5", "6", "2")
                                       WORDS("epoch", "1", "20", "4", "3", "1"));

    (void)state;
    assert_int_equal(run->npoints, 3);
    near(run->points[1].loss, 4);
    near(run->points[1].seconds, 2);
    near(run->points[1].held, 2);
    near(run->points[2].loss, 3);
    shoal_run_free(run);
}

static void a_profile_gives_shares_and_a_verdict(void **state)
{
    shoal_run *run = parse(two_ranks);
    struct shoal_measures m = shoal_run_measures(run, (double)NAN);

    (void)state;
    near(m.computing, 0.4);
    near(m.communicating, 0.1);
    near(m.waiting, 0.45);
    near(m.other, 0.05);
    near(m.cpu, 0.5);
    assert_true(isnan(m.read));
    assert_string_equal(m.limit, "link");
    assert_int_equal(run->nranks, 2);
    assert_string_equal(run->ranks[1].host, "b");
    shoal_run_free(run);
}

static void without_a_profile_the_ranks_still_say_how_long_they_waited(void **state)
{
    shoal_run *run = parse(SETTINGS RANKS WORDS("done", "1", "10", "1", "4", "null"));
    struct shoal_measures m = shoal_run_measures(run, (double)NAN);

    (void)state;
    near(m.waiting, 0.25);
    assert_true(isnan(m.computing));
    assert_int_equal(m.ranks, 2);
    shoal_run_free(run);
}

static void the_time_to_a_loss_lies_between_reports(void **state)
{
    shoal_run *run = parse(two_ranks);

    (void)state;
    near(shoal_run_measures(run, 2.0).target, 3); /* of the held-out: 2.5 at 2 s, 1.5 at 4 s */
    near(shoal_run_measures(run, 3.0).target, 2); /* already at its first look */
    assert_true(isinf(shoal_run_measures(run, 1.0).target));
    shoal_run_free(run);
    run = parse(SETTINGS WORDS("interval", "0.5", "10", "1", "4", "null")
                    WORDS("interval", "0.6", "12", "2", "2", "null"));
    near(shoal_run_measures(run, 3.0).target, 1.5); /* without, of the training */
    shoal_run_free(run);
}

static void nets_and_click_models_have_their_own_quality(void **state)
{
    shoal_run *run = parse(
        "{\"event\":\"settings\",\"task\":\"mlp\",\"ranks\":3}\n"
        "{\"event\":\"done\",\"progress\":1,\"unit\":\"samples\",\"examples\":9,\"seconds\":2,"
        "\"train\":{\"loss\":1,\"accuracy\":0.5},\"valid\":{\"loss\":2,\"accuracy\":0.75},\"lr\":1,"
        "\"run\":{\"gradient\":7}}\n");

    (void)state;
    assert_string_equal(run->model, "mlp");
    assert_string_equal(run->end.quality_name, "accuracy");
    near(run->end.quality, 0.75);
    near(run->end.gradient, 7);
    assert_int_equal(run->end.ranks, 3);
    shoal_run_free(run);
    run = parse("{\"event\":\"settings\",\"task\":\"logreg\"}\n"
                "{\"event\":\"evaluation\",\"progress\":0.5,\"unit\":\"rows\",\"examples\":9,"
                "\"seconds\":2,\"train\":{\"loss\":1},\"valid\":{\"loss\":0.4,\"auc\":0.8}}\n");
    assert_string_equal(run->end.quality_name, "AUC");
    near(run->end.quality, 0.8);
    near(run->end.held, 0.4);
    assert_false(run->end.done);
    shoal_run_free(run);
    run = parse("{\"event\":\"settings\",\"task\":\"cbow\"}\n"
                "{\"event\":\"epoch\",\"progress\":0.5,\"unit\":\"words\",\"examples\":9,"
                "\"seconds\":2,\"train\":{\"loss\":1},\"valid\":{\"loss\":2,\"q\":0.3,\"p\":1}}\n");
    assert_string_equal(run->end.quality_name, "q");
    near(run->end.quality, 0.3);
    shoal_run_free(run);
}

static void what_a_crash_lost_is_forgotten_when_the_run_goes_on(void **state)
{
    shoal_run *run = parse(SETTINGS WORDS("epoch", "0.5", "10", "5", "4", "null")
                               WORDS("interval", "0.8", "16", "8", "3", "null")
                                   SETTINGS WORDS("interval", "0.6", "12", "1", "3.5", "null")
                                       WORDS("done", "1", "20", "5", "2", "null"));

    (void)state;
    assert_int_equal(run->npoints, 3);
    near(run->points[1].seconds, 6); /* after the five that count */
    near(run->points[1].loss, 3.5);
    near(run->end.seconds, 10);
    shoal_run_free(run);
}

static void the_log_is_what_a_terminal_would_have_shown(void **state)
{
    shoal_run *run = parse(two_ranks);

    (void)state;
    assert_int_equal(run->log.n, 5); /* the second interval came too soon after its epoch */
    assert_string_equal(run->log.at[0], "training cbow");
    assert_string_equal(run->log.at[1], "1.000 s: 25 %, loss 4");
    assert_string_equal(run->log.at[2], "2.000 s: epoch 1 of 2, loss 3, validation loss 2.5");
    assert_string_equal(run->log.at[4], "4.000 s: done at 100 %, loss 2, validation loss 1.5");
    assert_string_equal(run->ended, "");
    shoal_run_free(run);
}

#define EPOCH WORDS("epoch", "0.5", "1000", "2", "3", "2.5")

static void the_log_keeps_its_last_lines(void **state)
{
    shoal_run *run = parse(SETTINGS EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH EPOCH
                           "{\"event\":\"failed\",\"progress\":0.5,\"seconds\":2,\"why\":\"no <memory>\"}\n");
    struct prose t = {0};

    (void)state;
    assert_string_equal(run->ended, "failed");
    log_show(&t, run, "", true);
    assert_null(strstr(t.bytes.at, "training cbow"));
    assert_non_null(strstr(t.bytes.at, "2.000 s: failed: no &lt;memory&gt;\n</pre>"));
    prose_fini(&t);
    shoal_run_free(run);
}

static void a_run_that_goes_on_is_not_called_stopped(void **state)
{
    shoal_run *run = parse(SETTINGS EPOCH
                           "{\"event\":\"stopped\",\"progress\":0.5,\"seconds\":2,\"why\":\"on request\"}\n" SETTINGS);

    (void)state;
    assert_string_equal(run->ended, "");
    assert_string_equal(run->log.at[3], "going on: cbow");
    shoal_run_free(run);
}

static void a_bad_line_is_named(void **state)
{
    (void)state;
    refuse(SETTINGS "{\"event\":\n", "m.jsonl:2: found no JSON");
    refuse(SETTINGS "\n[1]\n", "m.jsonl:3: found JSON that is no object");
    refuse("{\"x\":1}\n", "m.jsonl:1: found JSON without an event");
    refuse(SETTINGS "{\"event\":\"epoch\",\"seconds\":1}\n", "m.jsonl:2: found a report without");
    refuse(SETTINGS WORDS("epoch", "7", "1", "1", "1", "1"), "m.jsonl:2: found a report without");
    refuse(WORDS("epoch", "1", "1", "1", "1", "1"), "found no settings");
    refuse("", "found no settings");
}

static void an_unfinished_last_line_is_left_out(void **state)
{
    shoal_run *run =
        parse(SETTINGS WORDS("interval", "0.5", "10", "1", "4", "null") "{\"event\":\"in");

    (void)state;
    assert_int_equal(run->npoints, 1);
    near(run->end.units, 10);
    shoal_run_free(run);
}

/* ---- axes ---- */

static void ticks_are_round_and_cover_all(void **state)
{
    struct scale s = scale_of(0.13, 0.94, AXIS_PLAIN, false, false);

    (void)state;
    near(s.from, 0);
    near(s.to, 1);
    assert_string_equal(scale_tick(&s, s.ticks[1]).text, "0.2");
    for (double most = 1e-7; most < 1e12; most *= 3.7) {
        s = scale_of(0, most, AXIS_PLAIN, false, true);
        assert_true(s.to >= most && s.from <= 0 && s.nticks >= 3 && s.nticks <= TICKS);
        near(scale_at(&s, s.to), 1);
    }
}

static void an_axis_chooses_its_unit(void **state)
{
    char label[96];
    struct scale s = scale_of(0, 5e6, AXIS_COUNT, false, true);

    (void)state;
    scale_label(label, "words", &s);
    assert_string_equal(label, "words (million)");
    assert_string_equal(scale_tick(&s, 5e6).text, "5");
    assert_string_equal(scale_of(0, 0.02, AXIS_SECONDS, false, true).unit, "ms");
    assert_string_equal(scale_of(0, 20, AXIS_SECONDS, false, true).unit, "s");
    assert_string_equal(scale_of(0, 2000, AXIS_SECONDS, false, true).unit, "min");
    assert_string_equal(scale_of(0, 3 << 20, AXIS_BYTES, false, true).unit, "MiB");
    assert_string_equal(scale_of(0, 1, AXIS_SHARE, false, true).unit, "%");
}

static void a_single_value_has_an_axis_too(void **state)
{
    struct scale s = scale_of(3, 3, AXIS_PLAIN, false, false);

    (void)state;
    assert_true(s.from < 3 && s.to > 3 && s.nticks >= 2);
    s = scale_of(0, 0, AXIS_PLAIN, false, true);
    assert_true(s.to > s.from && s.nticks >= 2);
    s = scale_of(4, 4, AXIS_PLAIN, true, false);
    assert_true(s.to > s.from && s.nticks >= 2);
}

static void workers_double_along_a_logarithmic_axis(void **state)
{
    struct scale s = scale_of(1, 32, AXIS_PLAIN, true, false);

    (void)state;
    assert_int_equal(s.nticks, 6);
    near(s.ticks[5], 32);
    near(scale_at(&s, 4), 0.4);
}

/* ---- pages ---- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what)) != NULL) {
        n++;
        text++;
    }
    return n;
}

/* The report of runs, NUL-terminated. */
static char *report_of(const char *const *texts, size_t n, const char *plots)
{
    shoal_run *runs[4] = {0};
    struct shoal_report_opts opts = shoal_report_default();
    struct bytes b;

    opts.plots = plots;
    for (size_t i = 0; i < n; i++)
        runs[i] = parse(texts[i]);
    assert_int_equal(
        shoal_report_write(scratch_path("r.html"), (const shoal_run *const *)runs, n, &opts),
        SHOAL_OK);
    for (size_t i = 0; i < n; i++)
        shoal_run_free(runs[i]);
    b = scratch_get(scratch_path("r.html"));
    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    return b.at;
}

static void a_report_draws_what_was_measured(void **state)
{
    const char *texts[] = {two_ranks};
    char *page = report_of(texts, 1, NULL);

    (void)state;
    assert_non_null(strstr(page, "Loss against time"));
    assert_non_null(strstr(page, "Loss against words"));
    assert_non_null(strstr(page, "words per second"));
    assert_non_null(strstr(page, "Where the time of each rank went"));
    assert_non_null(strstr(page, "rank 1, b"));
    assert_non_null(strstr(page, "Rounds that changes were late"));
    assert_non_null(strstr(page, "waited 45 % of their time"));
    assert_null(strstr(page, "Quality"));
    assert_non_null(strstr(page, "held out: time 4.000 s, loss 1.5"));
    free(page);
}

static void runs_of_other_models_share_charts_of_examples(void **state)
{
    const char *texts[] = {
        "{\"event\":\"settings\",\"task\":\"mlp\"}\n"
        "{\"event\":\"epoch\",\"progress\":0.5,\"unit\":\"samples\",\"examples\":4,\"seconds\":1,"
        "\"train\":{\"loss\":1},\"valid\":{\"loss\":2,\"accuracy\":0.5}}\n"
        "{\"event\":\"done\",\"progress\":1,\"unit\":\"samples\",\"examples\":9,\"seconds\":2,"
        "\"train\":{\"loss\":1},\"valid\":{\"loss\":2,\"accuracy\":0.75}}\n",
        "{\"event\":\"settings\",\"task\":\"logreg\"}\n"
        "{\"event\":\"evaluation\",\"progress\":0.5,\"unit\":\"rows\",\"examples\":9,"
        "\"seconds\":2,\"train\":{\"loss\":1},\"valid\":{\"loss\":0.4,\"auc\":0.8}}\n"};
    char *page = report_of(texts, 2, NULL);

    (void)state;
    assert_non_null(strstr(page, "Quality (accuracy, AUC) against examples"));
    assert_non_null(strstr(page, "Training loss against examples"));
    assert_non_null(strstr(page, "examples per second"));
    assert_null(strstr(page, "against samples"));
    free(page);
}

static void a_loss_that_was_reported_once_went_nowhere(void **state)
{
    const char *texts[] = {SETTINGS WORDS("epoch", "1", "1000", "2", "3", "2.5")
                               WORDS("done", "1", "1000", "2", "3", "2.5"),
                           two_ranks};
    char *page = report_of(texts, 1, NULL);

    (void)state;
    assert_non_null(strstr(page, "The training loss came to 3;"));
    free(page);
    page = report_of(texts + 1, 1, NULL);
    assert_non_null(strstr(page, "The training loss went from 4 to 2;"));
    free(page);
}

static void a_report_asks_for_nothing_else(void **state)
{
    const char *texts[] = {two_ranks};
    char *page = report_of(texts, 1, NULL);

    (void)state;
    assert_null(strstr(page, "http"));
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "url("));
    assert_int_equal(count(page, "<svg"), count(page, "</svg>"));
    /* the icon, which is empty, and the contents */
    assert_int_equal(count(page, "href="), 1 + count(page, "href=\"#"));
    assert_true(count(page, "href=\"#") >= 2);
    free(page);
}

static void words_of_others_cannot_become_markup(void **state)
{
    const char *texts[] = {two_ranks};
    char *page = report_of(texts, 1, NULL);

    (void)state;
    assert_null(strstr(page, "<full>"));
    assert_non_null(strstr(page, "the link is &lt;full&gt;"));
    free(page);
}

#define HOSTILE(field) snprintf(field, sizeof(field), "<x>")

/* Every string that a run has. */
static void poison(shoal_run *run)
{
    HOSTILE(run->path);
    HOSTILE(run->model);
    HOSTILE(run->end.unit);
    HOSTILE(run->end.quality_name);
    HOSTILE(run->end.limit);
    HOSTILE(run->end.verdict);
    run->end.quality = 1;
    for (size_t i = 0; i < run->nsettings; i++) {
        HOSTILE(run->settings[i].key);
        HOSTILE(run->settings[i].value);
    }
    for (size_t i = 0; i < run->nranks; i++)
        snprintf(run->ranks[i].host, sizeof run->ranks[i].host, "<x>%zu", i);
    for (size_t i = 0; i < run->ntracks; i++)
        snprintf(run->tracks[i].host, sizeof run->tracks[i].host, "<x>%zu", i);
}

static void no_string_of_a_run_can_become_markup(void **state)
{
    struct shoal_report_opts opts = {.title = "<x>"};
    shoal_run *runs[2];
    char *page;
    size_t len;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        runs[i] = parse(SETTINGS TIMELINE("0", "a", SPANS) TIMELINE("1", "b", SPANS)
                            WORDS("epoch", "0.5", "1000", "2", "3", "2.5")
                                RANKS PROFILE WORDS("done", "1", "2000", "4", "2", "1.5"));
        assert_true(runs[i]->ntracks == 2 && runs[i]->nranks == 2 && runs[i]->nsettings > 0);
        poison(runs[i]);
    }
    for (size_t n = 1; n <= 2; n++) {
        assert_int_equal(shoal_report_text(&page, &len, (const shoal_run *const *)runs, n, &opts),
                         SHOAL_OK);
        page[len - 1] = '\0';
        assert_null(strstr(page, "<x>"));
        assert_true(count(page, "&lt;x&gt;") > 40);
        free(page);
    }
    for (size_t i = 0; i < 2; i++)
        shoal_run_free(runs[i]);
}

static void several_runs_share_their_charts(void **state)
{
    const char *texts[] = {two_ranks, two_ranks};
    char *page = report_of(texts, 2, NULL);

    (void)state;
    assert_int_equal(count(page, "Validation loss against time</text>"), 1);
    assert_int_equal(count(page, "Where the time of each rank went: m.jsonl</text>"), 2);
    free(page);
}

static void each_chart_can_be_a_file_of_its_own(void **state)
{
    const char *texts[] = {two_ranks};
    char *page = report_of(texts, 1, scratch_path("plots"));
    struct bytes svg = scratch_get(scratch_path("plots/loss-time.svg"));
    struct bytes png = scratch_get(scratch_path("plots/loss-time.png"));

    (void)state;
    assert_int_equal(scratch_count(scratch_path("plots")), 2 * count(page, "<svg"));
    assert_int_equal(memcmp(svg.at, "<?xml", 5), 0);
    assert_int_equal(memcmp(svg.at + svg.len - 7, "</svg>\n", 7), 0);
    assert_int_equal(memcmp(png.at, "\x89PNG", 4), 0);
    bytes_fini(&svg);
    bytes_fini(&png);
    free(page);
}

static void a_report_of_no_run_is_refused(void **state)
{
    struct shoal_report_opts opts = shoal_report_default();

    (void)state;
    assert_int_equal(shoal_report_write(scratch_path("no.html"), NULL, 0, &opts), SHOAL_EINVAL);
    assert_int_not_equal(access(scratch_path("no.html"), F_OK), 0);
}

static void numbers_are_short(void **state)
{
    (void)state;
    assert_string_equal(number_short(12345).text, "12.3 k");
    assert_string_equal(number_short(999.6).text, "1.00 k");
    assert_string_equal(number_short(7).text, "7");
    assert_string_equal(number_bytes(1536).text, "1.50 KiB");
    assert_string_equal(number_share(0.5).text, "50 %");
    assert_string_equal(number_time(1.5).text, "1.500 s");
    assert_string_equal(number_time(0.0123).text, "12.3 ms");
    assert_string_equal(number_time(INFINITY).text, "never");
    assert_string_equal(number_plain((double)NAN).text, "-");
    assert_string_equal(number_plain(10000).text, "10000");
    assert_string_equal(number_plain(0.123456).text, "0.1235");
}

/* ---- timelines ---- */

#define WITH_TRACKS(tracks)                                                                        \
    SETTINGS WORDS("epoch", "0.5", "1000", "2", "3", "2.5")                                        \
        RANKS PROFILE tracks WORDS("done", "1", "2000", "4", "2", "1.5")

static char *page_of(const shoal_run *run)
{
    struct shoal_report_opts opts = shoal_report_default();
    char *text = NULL;
    size_t len;

    assert_int_equal(shoal_report_text(&text, &len, &run, 1, &opts), SHOAL_OK);
    text = realloc(text, len + 1);
    text[len] = '\0';
    return text;
}

static void a_timeline_has_a_track_for_each_rank(void **state)
{
    shoal_run *run = parse(WITH_TRACKS(TIMELINE("0", "a", SPANS) TIMELINE("1", "b", SPANS)));
    char *page = page_of(run);

    (void)state;
    assert_int_equal(run->ntracks, 2);
    assert_int_equal(run->tracks[1].rank, 1);
    assert_int_equal(run->tracks[1].n, 3);
    near(run->tracks[1].ends[2], 4);
    near(run->tracks[1].parts[0][2], 1.25); /* in sum */
    near(run->tracks[1].parts[2][2], 2);
    assert_non_null(strstr(page, "What each rank did over time</text>"));
    assert_non_null(strstr(page, ">time since the ranks began (s)</text>"));
    assert_non_null(strstr(page, ">rank 1, b</text>"));
    /* three spans, so three cells of 4/3 s; half a second of the second one's span is other */
    assert_non_null(strstr(page, "rank 1, b, 0.000 s to 1.333 s: computing 62 %, communicating "
                                 "19 %, waiting 12 %, other 6.2 %</title>"));
    free(page);
    shoal_run_free(run);
}

static void metrics_without_timelines_are_drawn_without(void **state)
{
    shoal_run *run = parse(two_ranks);
    char *page = page_of(run);

    (void)state;
    assert_int_equal(run->ntracks, 0);
    assert_non_null(strstr(page, "Where the time of each rank went"));
    assert_null(strstr(page, "did over time"));
    free(page);
    shoal_run_free(run);
}

static void a_run_that_went_on_has_the_timeline_of_its_last_part(void **state)
{
    shoal_run *run = parse(WITH_TRACKS(TIMELINE("0", "a", SPANS) TIMELINE("1", "a", SPANS))
                               WITH_TRACKS(TIMELINE("0", "a", SPANS)));

    (void)state;
    assert_int_equal(run->ntracks, 1);
    shoal_run_free(run);
}

static void a_timeline_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    refuse(WITH_TRACKS(TIMELINE("0", "a", "\"seconds\":[]")), "m.jsonl:5: found a timeline of no");
    refuse(WITH_TRACKS(TIMELINE("0", "a", "\"seconds\":[1]")), "do not fit");
    refuse(WITH_TRACKS(TIMELINE("0", "a",
                                "\"seconds\":[2,1],\"computing\":[0,0],\"communicating\":[0,0],"
                                "\"waiting\":[0,0]")),
           "do not fit");
    refuse(WITH_TRACKS(TIMELINE("0", "a",
                                "\"seconds\":[1],\"computing\":[-1],\"communicating\":[0],"
                                "\"waiting\":[0]")),
           "do not fit");
    refuse(WITH_TRACKS(TIMELINE("0", "a",
                                "\"seconds\":[1],\"computing\":[1,2],\"communicating\":[0],"
                                "\"waiting\":[0]")),
           "do not fit");
}

/* ---- one step ---- */

#define STEP(rank, moments, lists)                                                                 \
    "{\"event\":\"step\",\"rank\":" rank ",\"host\":\"a\",\"epoch\":2,\"step\":9,\"pieces\":2,"       \
    moments "," lists "}\n"
#define MOMENTS "\"began\":0,\"backward\":1,\"computed\":4,\"ended\":5"
#define LISTS "\"ready\":[2,4],\"sent\":[2,4],\"fresh\":[4,4.5]"

static void a_step_shows_what_travels_behind_the_backward_pass(void **state)
{
    shoal_run *run = parse(WITH_TRACKS(STEP("0", MOMENTS, LISTS) STEP("1", MOMENTS, LISTS)));
    char *page = page_of(run);

    (void)state;
    assert_int_equal(run->nsteps, 2);
    assert_int_equal(run->steps[1].rank, 1);
    near(run->steps[1].ready[1], 4);
    near(run->steps[1].sent[1], 4);
    near(run->steps[1].fresh[1], 4.5);
    assert_non_null(strstr(page, "Step 9 of epoch 2</text>"));
    assert_non_null(strstr(page, "rank 1: forward pass, 0.000 s to 1.000 s</title>"));
    assert_non_null(strstr(page, "rank 1: backward pass, 2.000 s to 4.000 s</title>"));
    assert_non_null(strstr(page, "rank 1: a piece of gradients on its way, 4.000 s to 4.500 s<"));
    /* on their way from 2 to 4.5 s, of which 2 s of the backward pass hide 80 % */
    assert_non_null(strstr(page, "<td>1.000 s</td><td>3.000 s</td><td>2.500 s</td>"
                                 "<td>80 %</td><td>1.000 s</td>"));
    free(page);
    shoal_run_free(run);
}

static void a_step_that_does_not_fit_is_refused(void **state)
{
    static const char *const wrong[] = {
        WITH_TRACKS(STEP("0", MOMENTS, "\"ready\":[4,2],\"sent\":[2],\"fresh\":[4]")),
        WITH_TRACKS(STEP("0", MOMENTS, "\"ready\":[],\"sent\":[2],\"fresh\":[1]")),
        WITH_TRACKS(STEP("0", MOMENTS, "\"ready\":[],\"sent\":[2],\"fresh\":[6]")),
        WITH_TRACKS(STEP("0", MOMENTS, "\"ready\":[],\"sent\":[2],\"fresh\":[3,4]")),
        WITH_TRACKS(STEP("0", "\"began\":0,\"backward\":1,\"computed\":4", LISTS)),
        WITH_TRACKS(STEP("0", "\"began\":2,\"backward\":1,\"computed\":4,\"ended\":5", LISTS)),
    };

    (void)state;
    refuse(WITH_TRACKS(STEP("0", MOMENTS, "\"ready\":[],\"sent\":[],\"fresh\":[]")),
           "m.jsonl:5: found a step of no pieces");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], "whose moments do not fit");
}

/* ---- what was learned ---- */

#define LEARNED(exhibits)                                                                          \
    SETTINGS "{\"event\":\"learned\",\"held_out\":true,\"examples\":10,\"of\":100,\"exhibits\":["  \
             exhibits "]}\n" WORDS("done", "1", "2000", "4", "2", "1.5")
#define EXHIBIT(name, shape, columns, rows)                                                        \
    "{\"name\":\"" name "\",\"shape\":\"" shape "\",\"title\":\"Of " name "\",\"note\":\"\","       \
    "\"columns\":[" columns "],\"rows\":[" rows "]}"
#define EVIL "<img src=x onerror=alert(1)></script><b>"

static char *learned_page(const char *text)
{
    struct shoal_report_opts opts = shoal_report_default();
    shoal_run *run = parse(text);
    char *page = NULL;
    size_t len;

    assert_int_equal(shoal_report_text(&page, &len, (const shoal_run *const *)&run, 1, &opts),
                     SHOAL_OK);
    shoal_run_free(run);
    return page;
}

static void a_report_shows_what_was_learned(void **state)
{
    char *page = learned_page(LEARNED(
        EXHIBIT("figures", "figures", "[\"accuracy\",\"share\"]", "[0.75]") ","
        EXHIBIT("confusion", "matrix", "[\"t\",\"word\"],[\"s\",\"word\"],[\"n\",\"count\"]",
                "[\"cat\",\"cat\",3],[\"cat\",\"dog\",1],[\"dog\",\"cat\",0],[\"dog\",\"dog\",4]")
        "," EXHIBIT("roc", "curves",
                    "[\"line\",\"word\"],[\"x\",\"real\"],[\"y\",\"real\"],[\"guide\",\"count\"]",
                    "[\"model\",0,0,0],[\"model\",1,1,0],[\"chance\",0,0,1],[\"chance\",1,1,1]")));

    (void)state;
    assert_non_null(strstr(page, "<h2 id=\"what-was-learned\">What was learned</h2>"));
    assert_non_null(strstr(page, "Asked about 10 of 100 examples that were held out."));
    assert_non_null(strstr(page, "<dt>accuracy</dt><dd>75.0 %</dd>"));
    assert_non_null(strstr(page, "style=\"--s:0.17\" title=\"cat said to be dog: 25.0 %\">1</td>"));
    assert_non_null(strstr(page, "\"name\":\"roc\""));
    free(page);
}

static void names_of_classes_and_words_cannot_become_markup(void **state)
{
    char *page = learned_page(LEARNED(
        EXHIBIT("confusion", "matrix", "[\"t\",\"word\"],[\"s\",\"word\"],[\"n\",\"count\"]",
                "[\"" EVIL "\",\"" EVIL "\",3]")
        "," EXHIBIT("nearest", "answers",
                    "[\"" EVIL "\",\"word\"],[\"n\",\"count\"],[\"a\",\"word\"],[\"c\",\"real\"]",
                    "[\"" EVIL "\",1,\"" EVIL "\",1]")
        "," EXHIBIT("roc", "curves",
                    "[\"l\",\"word\"],[\"" EVIL "\",\"real\"],[\"y\",\"real\"],[\"g\",\"count\"]",
                    "[\"" EVIL "\",0,0,0],[\"" EVIL "\",1,1,0]")
        "," EXHIBIT("map", "map",
                    "[\"w\",\"word\"],[\"x\",\"real\"],[\"y\",\"real\"],[\"c\",\"count\"]",
                    "[\"" EVIL "\",0,0,0],[\"b\",1,1,-7]")
        "," EXHIBIT("weights", "table", "[\"f\",\"word\"],[\"w\",\"signed\"]",
                    "[\"" EVIL "\",null],[\"b\",1e14]")
        "," EXHIBIT("wrong", "pictures",
                    "[\"p\",\"file\"],[\"t\",\"word\"],[\"s\",\"word\"],[\"q\",\"share\"]",
                    "[\"Zm9v\",\"" EVIL "\",\"" EVIL "\",0.5]")));

    (void)state;
    assert_null(strstr(page, "<img src=x"));
    assert_null(strstr(page, "onerror=alert(1)>"));
    assert_null(strstr(page, "</script><b>"));
    assert_non_null(strstr(page, "src=\"data:image/png;base64,Zm9v\""));
    free(page);
}

static void a_record_of_what_was_learned_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    refuse(SETTINGS "{\"event\":\"learned\"}\n", "without exhibits");
    refuse(LEARNED(EXHIBIT("../x", "table", "[\"w\",\"word\"]", "")), "no name");
    refuse(LEARNED(EXHIBIT("m", "map", "[\"w\",\"word\"]", "")), "not those of its shape");
    refuse(LEARNED(EXHIBIT("t", "table", "[\"w\",\"what\"]", "")), "not those of its shape");
    refuse(LEARNED(EXHIBIT("t", "table", "[\"w\",\"word\"]", "[1]")), "not what its column says");
    refuse(LEARNED(EXHIBIT("t", "table", "[\"w\",\"word\"]", "[\"a\",1]")),
           "not what its column says");
    refuse(LEARNED(EXHIBIT("p", "pictures",
                           "[\"p\",\"file\"],[\"t\",\"word\"],[\"s\",\"word\"],[\"q\",\"share\"]",
                           "[\"x' onload='\",\"a\",\"b\",1]")),
           "not what its column says");
    free(learned_page(LEARNED(EXHIBIT("t", "hologram", "", "")))); /* shapes to come are passed over */
}

static void ranks_say_whom_they_waited_for(void **state)
{
    char *page = learned_page(
        SETTINGS WORDS("done", "1", "2000", "4", "2", "1.5")
            "{\"event\":\"profile\",\"ranks\":2,\"per_rank\":["
            "{\"rank\":0,\"host\":\"a\",\"waiting\":3,\"waits\":12,\"awaited\":1,"
            "\"awaited_seconds\":2.5},"
            "{\"rank\":1,\"host\":\"a\",\"waiting\":0,\"waits\":0,\"awaited\":1,"
            "\"awaited_seconds\":0}]}\n");

    (void)state;
    assert_non_null(strstr(page, "rank 0</th><td>12</td><td>3.000 s</td><td class=\"w\">rank 1</td>"));
    assert_non_null(strstr(page, "<td class=\"w\">nobody</td>"));
    free(page);
}

/* It is shown from its start on, and when it failed before it said anything. */
static void a_run_that_has_but_begun_is_one_of_no_examples(void **state)
{
    shoal_run *run = parse(SETTINGS);
    struct shoal_measures m = shoal_run_measures(run, (double)NAN);
    char *page = learned_page(SETTINGS);

    (void)state;
    assert_string_equal(run->model, "cbow");
    assert_false(m.done);
    near(m.units, 0);
    near(m.seconds, 0);
    assert_true(isnan(m.loss));
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "id=\"how-it-went\""));
    free(page);
    shoal_run_free(run);
}

static void a_setting_of_0_says_what_that_means(void **state)
{
    char *page = learned_page("{\"event\":\"settings\",\"task\":\"mlp\",\"threads\":0,\"seed\":0,"
                              "\"rank_batch\":0}\n" WORDS("done", "1", "2000", "4", "2", "1.5"));

    (void)state;
    assert_non_null(strstr(page, "threads</th><td>0 <small>one for each core</small></td>"));
    assert_non_null(strstr(page, "rank_batch</th><td>0 <small>as --batch says</small></td>"));
    assert_non_null(strstr(page, "seed</th><td>0</td>"));
    free(page);
}

static void a_rate_that_was_chosen_is_told(void **state)
{
    char *page = learned_page(
        "{\"event\":\"settings\",\"task\":\"cbow\",\"lr\":0,\"first_lr\":0.05}\n" WORDS(
            "done", "1", "2000", "4", "2", "1.5"));

    (void)state;
    assert_non_null(strstr(page, "lr</th><td>0.05 <small>chosen</small></td>"));
    free(page);
}

/* What is to be said of several ranks is not said of one, and a short run has no verdict. */
static void one_rank_has_no_chapter_of_ranks(void **state)
{
    char *page = learned_page(
        SETTINGS WORDS("done", "1", "2000", "0.4", "2", "1.5")
            "{\"event\":\"profile\",\"ranks\":1,\"limit\":\"short\",\"verdict\":\"1 rank: 0.40 s "
            "are too short to tell\",\"per_rank\":[{\"rank\":0,\"host\":\"a\",\"computing\":1,"
            "\"waiting\":0}]}\n");

    (void)state;
    assert_null(strstr(page, "id=\"ranks\""));
    assert_non_null(strstr(page, "id=\"where-the-time-went\""));
    assert_null(strstr(page, "What limits it"));
    assert_non_null(strstr(page, "0.400 s are too short to tell what limits it"));
    free(page);
}

/* The page of two runs; for free(). */
static char *page_of_two(const char *first, const char *second)
{
    shoal_run *runs[] = {parse(first), parse(second)};
    struct shoal_report_opts opts = shoal_report_default();
    char *text = NULL;
    size_t len;

    assert_int_equal(shoal_report_text(&text, &len, (const shoal_run *const *)runs, 2, &opts),
                     SHOAL_OK);
    shoal_run_free(runs[0]);
    shoal_run_free(runs[1]);
    return text;
}

static void only_what_can_be_compared_is_marked_best(void **state)
{
    static const char good[] = SETTINGS WORDS("done", "1", "2000", "4", "2", "1.5"),
                      bad[] = SETTINGS WORDS("done", "1", "2000", "4", "3", "2.5"),
                      other[] = "{\"event\":\"settings\",\"task\":\"mlp\"}\n" WORDS(
                          "done", "1", "2000", "4", "0.5", "0.25");
    char *page = page_of_two(bad, good);

    (void)state;
    assert_non_null(strstr(page, "class=\"best\">1.5 <small>best</small>"));
    free(page);
    page = page_of_two(good, other);
    assert_non_null(strstr(page, ">0.25</td>"));
    assert_null(strstr(page, ">0.25 <small>best"));
    free(page);
}

static void a_run_has_one_colour_in_all_charts(void **state)
{
    static const char without[] = SETTINGS WORDS("done", "1", "2000", "4", "2", "null"),
                      with[] = SETTINGS WORDS("done", "1", "2000", "4", "3", "2.5");
    char *page = page_of_two(without, with), *held;

    (void)state;
    held = strstr(page, "\"name\":\"held-time\"");
    assert_non_null(held); /* the first run has no line there, but its colour */
    assert_non_null(strstr(held, "\"colour\":1"));
    assert_true(strstr(held, "\"colour\":1") < strstr(held, "</script>"));
    free(page);
}

static void a_run_that_failed_says_why(void **state)
{
    char *page = learned_page(SETTINGS "{\"event\":\"failed\",\"progress\":0.1,\"seconds\":2,"
                                       "\"why\":\"train: diverged <b>\"}\n");

    (void)state;
    assert_non_null(
        strstr(page, "<p class=\"why\">2.000 s: failed: train: diverged &lt;b&gt;</p>"));
    free(page);
}

/* ---- files that grow ---- */

static void same_run(const shoal_run *a, const shoal_run *b)
{
    struct shoal_measures m = shoal_run_measures(a, 2.2), n = shoal_run_measures(b, 2.2);

    assert_int_equal(a->npoints, b->npoints);
    for (size_t i = 0; i < a->npoints; i++) {
        near(a->points[i].units, b->points[i].units);
        near(a->points[i].seconds, b->points[i].seconds);
    }
    near(m.units, n.units);
    near(m.rate, n.rate);
    near(m.target, n.target);
    near(m.waiting, n.waiting);
    assert_int_equal(m.done, n.done);
    assert_int_equal(a->log.n, b->log.n);
}

static void put_file(const char *path, const char *text, size_t len, const char *mode)
{
    FILE *f = fopen(path, mode);

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* A live page looks while a line is half written. */
static void a_file_cut_anywhere_is_read_on_from_there(void **state)
{
    const char *path = scratch_path("grows.jsonl");
    size_t len = strlen(two_ranks);
    shoal_run *whole = parse(two_ranks);

    (void)state;
    for (size_t cut = 0; cut <= len; cut += 13) {
        shoal_run *run = NULL;

        put_file(path, two_ranks, cut, "we");
        if (shoal_run_read(&run, path) != SHOAL_OK) {
            assert_null(run); /* it has no settings yet */
            continue;
        }
        put_file(path, two_ranks + cut, len - cut, "ae");
        assert_int_equal(shoal_run_update(run), SHOAL_OK);
        same_run(run, whole);
        assert_int_equal(shoal_run_update(run), SHOAL_OK); /* of nothing new nothing comes */
        same_run(run, whole);
        shoal_run_free(run);
    }
    shoal_run_free(whole);
}

static void a_file_made_anew_is_read_anew(void **state)
{
    static const char other[] = SETTINGS WORDS("epoch", "0.5", "7", "1", "6", "5");
    const char *path = scratch_path("anew.jsonl");
    shoal_run *run = NULL;

    (void)state;
    put_file(path, other, strlen(other), "we");
    assert_int_equal(shoal_run_read(&run, path), SHOAL_OK);
    put_file(path, two_ranks, strlen(two_ranks), "we");
    assert_int_equal(shoal_run_update(run), SHOAL_OK);
    assert_int_equal(run->npoints, 4);
    near(shoal_run_measures(run, (double)NAN).units, 2000);
    put_file(path, other, strlen(other), "we");
    assert_int_equal(shoal_run_update(run), SHOAL_OK);
    assert_int_equal(run->npoints, 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(shoal_run_update(run), SHOAL_ENOENT);
    shoal_run_free(run);
}

/* Of weeks of reports; each thousandth has a validation loss. */
static void a_run_may_report_as_often_as_it_likes(void **state)
{
    enum { REPORTS = 3 * RUN_POINTS };
    const char *path = scratch_path("long.jsonl");
    FILE *f = fopen(path, "we");
    shoal_run *run = NULL;
    size_t held = 0;

    (void)state;
    fputs(SETTINGS, f);
    for (size_t i = 1; i <= REPORTS; i++)
        fprintf(f,
                "{\"event\":\"interval\",\"unit\":\"words\",\"examples\":%zu,"
                "\"seconds\":%zu,\"progress\":%.9f,\"valid\":{%s}}\n",
                i, i, (double)i / REPORTS, i % 1000 == 0 ? "\"loss\":2" : "");
    assert_int_equal(fclose(f), 0);
    assert_int_equal(shoal_run_read(&run, path), SHOAL_OK);
    assert_true(run->npoints <= RUN_POINTS && run->npoints > RUN_POINTS / 4);
    assert_true(run->points[0].seconds < REPORTS / 1000);
    near(run->points[run->npoints - 1].seconds, REPORTS);
    for (size_t i = 0; i < run->npoints; i++)
        held += isnan(run->points[i].held) ? 0 : 1;
    assert_int_equal(held, REPORTS / 1000);
    shoal_run_free(run);
}

static void a_line_has_at_most_a_mebibyte(void **state)
{
    const char *path = scratch_path("wide.jsonl");
    char *text = malloc(3 << 20);
    shoal_run *run = NULL;

    (void)state;
    memset(text, 'x', 3 << 20);
    put_file(path, text, 3 << 20, "we");
    assert_int_equal(shoal_run_read(&run, path), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "wide.jsonl:1: found more than 1 MiB"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_with_its_last_figures),
        cmocka_unit_test(between_meetings_progress_says_what_all_ranks_did),
        cmocka_unit_test(reports_of_one_moment_are_one_point),
        cmocka_unit_test(the_mean_of_an_epoch_is_no_step_back),
        cmocka_unit_test(a_profile_gives_shares_and_a_verdict),
        cmocka_unit_test(without_a_profile_the_ranks_still_say_how_long_they_waited),
        cmocka_unit_test(the_time_to_a_loss_lies_between_reports),
        cmocka_unit_test(nets_and_click_models_have_their_own_quality),
        cmocka_unit_test(what_a_crash_lost_is_forgotten_when_the_run_goes_on),
        cmocka_unit_test(the_log_is_what_a_terminal_would_have_shown),
        cmocka_unit_test(the_log_keeps_its_last_lines),
        cmocka_unit_test(a_run_that_goes_on_is_not_called_stopped),
        cmocka_unit_test(a_bad_line_is_named),
        cmocka_unit_test(an_unfinished_last_line_is_left_out),
        cmocka_unit_test(ticks_are_round_and_cover_all),
        cmocka_unit_test(an_axis_chooses_its_unit),
        cmocka_unit_test(a_single_value_has_an_axis_too),
        cmocka_unit_test(workers_double_along_a_logarithmic_axis),
        cmocka_unit_test(a_report_draws_what_was_measured),
        cmocka_unit_test(runs_of_other_models_share_charts_of_examples),
        cmocka_unit_test(a_loss_that_was_reported_once_went_nowhere),
        cmocka_unit_test(a_report_asks_for_nothing_else),
        cmocka_unit_test(words_of_others_cannot_become_markup),
        cmocka_unit_test(no_string_of_a_run_can_become_markup),
        cmocka_unit_test(several_runs_share_their_charts),
        cmocka_unit_test(each_chart_can_be_a_file_of_its_own),
        cmocka_unit_test(a_report_of_no_run_is_refused),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(a_timeline_has_a_track_for_each_rank),
        cmocka_unit_test(metrics_without_timelines_are_drawn_without),
        cmocka_unit_test(a_run_that_went_on_has_the_timeline_of_its_last_part),
        cmocka_unit_test(a_timeline_that_does_not_fit_is_refused),
        cmocka_unit_test(a_step_shows_what_travels_behind_the_backward_pass),
        cmocka_unit_test(a_step_that_does_not_fit_is_refused),
        cmocka_unit_test(a_report_shows_what_was_learned),
        cmocka_unit_test(names_of_classes_and_words_cannot_become_markup),
        cmocka_unit_test(a_record_of_what_was_learned_that_does_not_fit_is_refused),
        cmocka_unit_test(ranks_say_whom_they_waited_for),
        cmocka_unit_test(a_run_that_has_but_begun_is_one_of_no_examples),
        cmocka_unit_test(a_setting_of_0_says_what_that_means),
        cmocka_unit_test(a_rate_that_was_chosen_is_told),
        cmocka_unit_test(one_rank_has_no_chapter_of_ranks),
        cmocka_unit_test(only_what_can_be_compared_is_marked_best),
        cmocka_unit_test(a_run_has_one_colour_in_all_charts),
        cmocka_unit_test(a_run_that_failed_says_why),
        cmocka_unit_test(a_file_cut_anywhere_is_read_on_from_there),
        cmocka_unit_test(a_file_made_anew_is_read_anew),
        cmocka_unit_test(a_run_may_report_as_often_as_it_likes),
        cmocka_unit_test(a_line_has_at_most_a_mebibyte),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
