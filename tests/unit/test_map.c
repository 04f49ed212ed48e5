/* Maps of word vectors: what layouts keep of planted clusters, the same bytes, gradients. */
#include "eval/eval.h"
#include "saved/saved.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "folder.h"

enum { N = 360, DIM = 12, PLANTED = 6 };

/* text [len]: n words, each ended by a NUL. */
static shoal_vectors *vectors_of(const char *text, size_t len, size_t n, const float *rows,
                                 size_t dim)
{
    struct shoal_words words = {.text = text, .len = len, .n = n};
    shoal_vocab *vocab = NULL;
    shoal_vectors *v = NULL;
    struct shoal_matrix matrix = {.data = rows, .rows = n, .dim = dim, .stride = dim};

    assert_int_equal(shoal_vocab_new(&vocab, &words), SHOAL_OK);
    matrix.words = vocab;
    assert_int_equal(shoal_vectors_new(&v, &matrix, NULL), SHOAL_OK);
    shoal_vocab_free(vocab);
    return v;
}

/* Words of six clusters, one after the other: a centre each, and noise about it. */
static shoal_vectors *planted(size_t n, size_t dim)
{
    struct rng r = {7, 1, 0};
    float *rows = calloc(n * dim, sizeof *rows);
    char *text = calloc(n, 12), *at = text;
    shoal_vectors *v;

    for (size_t i = 0; i < n; i++) {
        at += sprintf(at, "w%zu", i) + 1;
        for (size_t j = 0; j < dim; j++)
            rows[i * dim + j] = (float)(0.6 * (rng_unit(&r) - 0.5)) + (j == i % PLANTED ? 1 : 0);
    }
    v = vectors_of(text, (size_t)(at - text), n, rows, dim);
    free(rows);
    free(text);
    return v;
}

static shoal_map *make(const shoal_vectors *v, struct shoal_map_opts opts)
{
    shoal_map *m = NULL;
    shoal_status st = shoal_map_make(&m, v, &opts);

    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return m;
}

/* Shares of points whose nearest in the plane is of their own cluster. */
static double together(const shoal_map *m, size_t layout)
{
    const float *at = shoal_map_layout(m, layout).places;
    size_t n = shoal_map_size(m), same = 0;

    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        float least = INFINITY;

        for (size_t j = 0; j < n; j++) {
            float d = hypotf(at[2 * i] - at[2 * j], at[2 * i + 1] - at[2 * j + 1]);

            if (j != i && d < least) {
                least = d;
                best = j;
            }
        }
        same += best % PLANTED == i % PLANTED;
    }
    return (double)same / (double)n;
}

static void a_layout_keeps_neighbourhoods_as_chance_would_not(void **state)
{
    shoal_vectors *v = planted(N, DIM);
    struct shoal_map_opts opts = shoal_map_default();

    (void)state;
    opts.clusters = PLANTED;
    for (int method = SHOAL_MAP_TSNE; method <= SHOAL_MAP_UMAP; method++) {
        shoal_map *m;
        struct shoal_map_layout l, pca;

        opts.method = (enum shoal_map_method)method;
        m = make(v, opts);
        assert_int_equal(shoal_map_layouts(m), 2);
        l = shoal_map_layout(m, 0);
        pca = shoal_map_layout(m, 1);
        assert_string_equal(l.name, method == SHOAL_MAP_TSNE ? "t-SNE" : "UMAP");
        assert_string_equal(pca.name, "PCA");
        if (!(l.trust > 0.93 && l.trust < 1 && l.trust > pca.trust && l.kept > 0.3))
            fail_msg("%s: trust %.3f, kept %.3f; PCA's trust %.3f", l.name, l.trust, l.kept,
                     pca.trust);
        assert_true(together(m, 0) > 0.98);
        assert_true(isfinite(l.loss) == (method == SHOAL_MAP_TSNE));
        shoal_map_free(m);
    }
    shoal_vectors_close(v);
}

static void places_by_chance_are_trusted_by_a_half(void **state)
{
    shoal_vectors *v = planted(N, DIM);
    struct rng r = {3, 1, 0};
    float places[2 * N], row[DIM];
    struct table units = {0};
    struct neighbours g = {0};
    struct workers *w = NULL;
    struct pulse pulse = {0};
    struct layout_score score, exact;

    (void)state;
    assert_int_equal(table_init(&units, "units", N, DIM), SHOAL_OK);
    for (uint32_t i = 0; i < N; i++) {
        shoal_vectors_row(v, i, row);
        memcpy(units.at + i * units.stride, row, sizeof row);
        vector_normalize(units.at + i * units.stride, DIM);
    }
    for (size_t i = 0; i < 2 * N; i++)
        places[i] = (float)rng_unit(&r);
    assert_int_equal(workers_new(&w, 2), SHOAL_OK);
    assert_int_equal(neighbours_make(&g, &units, 10, 2, &pulse), SHOAL_OK);
    assert_int_equal(layout_judge(&units, &g, places, 10, N, w, &score), SHOAL_OK);
    assert_true(score.trust > 0.4 && score.trust < 0.6);
    assert_true(score.kept < 0.1);
    /* A third of the points tells about the same. */
    assert_int_equal(layout_judge(&units, &g, places, 10, N / 3, w, &exact), SHOAL_OK);
    assert_true(fabs(exact.trust - score.trust) < 0.05);
    workers_free(w);
    neighbours_fini(&g);
    table_fini(&units);
    shoal_vectors_close(v);
}

/* Two axes of a plane with rows in it: nothing is lost, and trust is whole. */
static void rows_of_a_plane_are_kept_by_principal_components(void **state)
{
    enum { POINTS = 200 };
    struct table t = {0};
    struct rng r = {5, 1, 0};
    struct workers *w = NULL;
    float places[2 * POINTS], few[POINTS * 3], again[2 * POINTS];
    double shares[2];

    (void)state;
    assert_int_equal(table_init(&t, "plane", POINTS, 3), SHOAL_OK);
    assert_int_equal(workers_new(&w, 1), SHOAL_OK);
    for (size_t i = 0; i < POINTS; i++) {
        float a = (float)(4 * (rng_unit(&r) - 0.5)), b = (float)(rng_unit(&r) - 0.5);

        t.at[i * t.stride] = 0.6f * a + 5;
        t.at[i * t.stride + 1] = b - 2;
        t.at[i * t.stride + 2] = 0.8f * a;
    }
    assert_int_equal(pca_table(&t, w, places, shares), SHOAL_OK);
    assert_true(shares[0] > 0.9 && fabs(shares[0] + shares[1] - 1) < 1e-5);
    for (size_t i = 1; i < POINTS; i++) {
        const float *x = t.at + (i - 1) * t.stride, *y = t.at + i * t.stride;
        float far = sqrtf((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                          (x[2] - y[2]) * (x[2] - y[2]));

        assert_true(
            fabsf(hypotf(places[2 * i] - places[2 * i - 2], places[2 * i + 1] - places[2 * i - 1]) -
                  far) < 1e-4f);
    }
    /* What few rows are done by, the products of rows, says the same as the covariance. */
    for (size_t i = 0; i < POINTS; i++) {
        vector_normalize(t.at + i * t.stride, 3);
        memcpy(few + 3 * i, t.at + i * t.stride, 3 * sizeof *few);
    }
    assert_int_equal(pca_table(&t, w, places, shares), SHOAL_OK);
    assert_int_equal(pca_places(few, POINTS, 3, again), SHOAL_OK);
    for (size_t i = 0; i < 2 * POINTS; i++)
        assert_true(fabsf(fabsf(places[i]) - fabsf(again[i])) < 1e-4f);
    workers_free(w);
    table_fini(&t);
}

static void rows_made_shorter_keep_their_products(void **state)
{
    struct table t = {0};
    struct rng r = {6, 1, 0};
    struct workers *w = NULL;
    float out[50 * 4];

    (void)state;
    /* 20 numbers, but of 4 dimensions. */
    assert_int_equal(table_init(&t, "long", 50, 20), SHOAL_OK);
    assert_int_equal(workers_new(&w, 2), SHOAL_OK);
    for (size_t i = 0; i < 50; i++)
        for (size_t k = 0; k < 4; k++) {
            float x = (float)(rng_unit(&r) - 0.3);

            for (size_t j = 0; j < 20; j++)
                t.at[i * t.stride + j] += x * sinf((float)(1 + k * 20 + j * (k + 1)));
        }
    assert_int_equal(pca_shorten(&t, 4, w, out), SHOAL_OK);
    for (size_t i = 1; i < 50; i++)
        assert_true(fabs(vector_dot(out + 4 * i, out + 4 * i - 4, 4) -
                         vector_dot(t.at + i * t.stride, t.at + (i - 1) * t.stride, 20)) < 1e-3);
    workers_free(w);
    table_fini(&t);
}

static void threads_change_no_bit(void **state)
{
    shoal_vectors *v = planted(N, DIM);
    struct shoal_map_opts opts = shoal_map_default();

    (void)state;
    opts.rounds = 60;
    for (int method = SHOAL_MAP_TSNE; method <= SHOAL_MAP_UMAP; method++) {
        shoal_map *m[3];

        opts.method = (enum shoal_map_method)method;
        for (unsigned k = 0; k < 3; k++) {
            opts.threads = k + 1;
            m[k] = make(v, opts);
        }
        for (unsigned k = 1; k < 3; k++)
            for (size_t l = 0; l < 2; l++)
                assert_memory_equal(shoal_map_layout(m[0], l).places,
                                    shoal_map_layout(m[k], l).places, 2 * N * sizeof(float));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(shoal_map_cluster(m[0], i), shoal_map_cluster(m[2], i));
        for (unsigned k = 0; k < 3; k++)
            shoal_map_free(m[k]);
    }
    shoal_vectors_close(v);
}

static void clusters_are_those_that_were_planted(void **state)
{
    shoal_vectors *v = planted(N, DIM);
    struct shoal_map_opts opts = shoal_map_default();
    shoal_map *m;

    (void)state;
    opts.method = SHOAL_MAP_PCA;
    opts.clusters = PLANTED;
    m = make(v, opts);
    assert_int_equal(shoal_map_layouts(m), 1);
    assert_int_equal(shoal_map_clusters(m), PLANTED);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(shoal_map_cluster(m, i) == shoal_map_cluster(m, j),
                             i % PLANTED == j % PLANTED);
    for (size_t c = 0; c < PLANTED; c++)
        for (size_t k = 0; k < SHOAL_MAP_NAMES; k++) {
            const char *name = shoal_map_cluster_name(m, c, k);

            assert_non_null(name);
            assert_int_equal(shoal_map_cluster(m, (size_t)atoi(name + 1)), c);
        }
    shoal_map_free(m);
    shoal_vectors_close(v);
}

static void the_nearest_of_a_point_are_those_of_its_vector(void **state)
{
    shoal_vectors *v = planted(N, DIM);
    struct shoal_map_opts opts = shoal_map_default();
    shoal_map *m;

    (void)state;
    opts.method = SHOAL_MAP_PCA;
    m = make(v, opts);
    for (uint32_t i = 0; i < N; i += 37) {
        struct shoal_hit hits[SHOAL_MAP_NEAR];
        float row[DIM];
        size_t found;

        shoal_vectors_row(v, i, row);
        assert_int_equal(shoal_nearest(v, row, &i, 1, 1, hits, SHOAL_MAP_NEAR, &found), SHOAL_OK);
        for (size_t k = 0; k < SHOAL_MAP_NEAR; k++) {
            assert_int_equal(shoal_map_near(m, i, k).id, hits[k].id);
            assert_true(fabsf(shoal_map_near(m, i, k).score - hits[k].score) < 1e-5f);
        }
    }
    assert_int_equal(shoal_map_near(m, 0, SHOAL_MAP_NEAR).id, SHOAL_NO_ID);
    shoal_map_free(m);
    shoal_vectors_close(v);
}

/* ---- gradients ---- */

/* A graph of n points in a ring, each with its next k. */
static void ring(struct neighbours *g, size_t n, size_t k)
{
    struct rng r = {11, 1, 0};

    *g = (struct neighbours){.n = n, .k = k};
    g->ids = calloc(n * k, sizeof *g->ids);
    g->cosines = calloc(n * k, sizeof *g->cosines);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++) {
            g->ids[i * k + j] = (uint32_t)((i + j + 1) % n);
            g->cosines[i * k + j] = (float)(0.9 - 0.05 * (double)j - 0.01 * rng_unit(&r));
        }
}

static void the_gradient_of_tsne_is_that_of_its_loss(void **state)
{
    enum { POINTS = 40 };
    struct rng r = {12, 1, 0};
    struct neighbours g;
    struct edges p;
    struct workers *w = NULL;
    float places[2 * POINTS], gradient[2 * POINTS], spare[2 * POINTS];
    double loss, most = 0;

    (void)state;
    ring(&g, POINTS, 9);
    assert_int_equal(workers_new(&w, 2), SHOAL_OK);
    assert_int_equal(tsne_edges(&p, &g, 4), SHOAL_OK);
    for (size_t i = 0; i < 2 * POINTS; i++)
        places[i] = (float)(6 * rng_unit(&r));
    assert_int_equal(tsne_gradient(&p, 1, w, places, gradient, &loss), SHOAL_OK);
    assert_true(loss > 0);
    for (size_t i = 0; i < 2 * POINTS; i++)
        most = fmax(most, fabs((double)gradient[i]));
    for (size_t i = 0; i < 2 * POINTS; i++) {
        const float step = 0.03125f;
        float at = places[i];
        double above, below;

        places[i] = at + step;
        tsne_gradient(&p, 1, w, places, spare, &above);
        places[i] = at - step;
        tsne_gradient(&p, 1, w, places, spare, &below);
        places[i] = at;
        assert_true(fabs((above - below) / (2 * (double)step) - (double)gradient[i]) < 0.01 * most);
    }
    workers_free(w);
    edges_fini(&p);
    neighbours_fini(&g);
}

static void shares_of_neighbours_are_symmetric_and_one_in_all(void **state)
{
    struct neighbours g;
    struct edges p;
    double sum = 0;

    (void)state;
    ring(&g, 30, 8);
    assert_int_equal(tsne_edges(&p, &g, 4), SHOAL_OK);
    for (size_t i = 0; i < 30; i++)
        for (size_t e = p.start[i]; e < p.start[i + 1]; e++) {
            size_t j = p.to[e], back = p.start[j];

            sum += (double)p.weight[e];
            while (p.to[back] != i)
                back++;
            assert_true(back < p.start[j + 1]);
            assert_true(p.weight[back] == p.weight[e]);
        }
    assert_true(fabs(sum - 1) < 1e-5);
    edges_fini(&p);
    neighbours_fini(&g);
}

static void the_gradient_of_a_pair_of_umap_is_that_of_its_loss(void **state)
{
    struct umap_curve c = umap_curve_fit(0.1);

    (void)state;
    /* As the paper's own program finds them. */
    assert_true(fabs(c.a - 1.577) < 0.02 && fabs(c.b - 0.895) < 0.01);
    for (int together = 0; together < 2; together++)
        for (double dx = 0.1; dx < 5; dx *= 1.7)
            for (double dy = -0.2; dy > -5; dy *= 1.9) {
                const double step = 1e-5;
                double g[2], spare[2];
                double x = (umap_pair(c, together, dx + step, dy, spare) -
                            umap_pair(c, together, dx - step, dy, spare)) /
                           (2 * step);
                double y = (umap_pair(c, together, dx, dy + step, spare) -
                            umap_pair(c, together, dx, dy - step, spare)) /
                           (2 * step);

                umap_pair(c, together, dx, dy, g);
                assert_true(fabs(x - g[0]) < 1e-5 * (1 + fabs(g[0])));
                assert_true(fabs(y - g[1]) < 1e-5 * (1 + fabs(g[1])));
            }
}

/* ---- what is refused, and what is left out ---- */

static void options_beyond_their_range_are_refused(void **state)
{
    struct shoal_map_opts o = shoal_map_default();

    (void)state;
    assert_int_equal(shoal_map_check(&o), SHOAL_OK);
    o.words = SHOAL_MAP_MOST + 1;
    assert_int_equal(shoal_map_check(&o), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "words is 20001, want 4 to 20000");
    o = shoal_map_default();
    o.perplexity = 1;
    assert_int_equal(shoal_map_check(&o), SHOAL_EINVAL);
    o = shoal_map_default();
    o.clusters = 65;
    assert_int_equal(shoal_map_check(&o), SHOAL_EINVAL);
    o = shoal_map_default();
    o.min_distance = NAN;
    assert_int_equal(shoal_map_check(&o), SHOAL_EINVAL);
}

static bool stop(void *user, const struct shoal_progress *p)
{
    (void)user;
    return strcmp(p->unit, "rounds") != 0;
}

static void a_map_is_stopped_by_its_watcher(void **state)
{
    shoal_vectors *v = planted(N, DIM);
    struct shoal_map_opts opts = shoal_map_default();
    shoal_map *m = NULL;

    (void)state;
    opts.watch = (struct shoal_watch){stop, NULL};
    assert_int_equal(shoal_map_make(&m, v, &opts), SHOAL_ESTOP);
    assert_null(m);
    shoal_vectors_close(v);
}

/* Of five words one has no direction and one ends sentences: three are too few. */
static void words_without_a_direction_are_left_out(void **state)
{
    const char text[] = "</s>\0a\0b\0c\0d\0</script><b>";
    const float rows[6][2] = {{1, 1}, {0, 0}, {1, 2}, {2, -1}, {-1, 3}, {3, 1}};
    shoal_vectors *v = vectors_of(text, sizeof text, 6, rows[0], 2);
    struct shoal_map_opts opts = shoal_map_default();
    shoal_map *m = make(v, opts);
    char *page;
    size_t len;

    (void)state;
    assert_int_equal(shoal_map_size(m), 4);
    assert_int_equal(shoal_map_id(m, 0), 2);
    assert_int_equal(shoal_map_write(m, "map.html", "<i>"), SHOAL_OK);
    page = get_file("map.html", &len);
    assert_non_null(memmem(page, len, "<title>&#60;i&#62;</title>", 26));
    assert_non_null(memmem(page, len, "\"\\u003c/script\\u003e\\u003cb\\u003e\"", 32));
    assert_null(memmem(page, len, "<b>", 3));
    free(page);
    shoal_map_free(m);
    shoal_vectors_close(v);

    v = vectors_of(text, 13, 5, rows[0], 2);
    assert_int_equal(shoal_map_make(&m, v, &opts), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "map: found 3 words with a vector, want 4 or more");
    shoal_vectors_close(v);
}

/* Vectors of more numbers than a page keeps of each. */
static void long_vectors_are_kept_shorter(void **state)
{
    shoal_vectors *v = planted(40, 150);
    struct shoal_map_opts opts = shoal_map_default();
    struct bytes json = {0};
    shoal_map *m;

    (void)state;
    opts.method = SHOAL_MAP_PCA;
    m = make(v, opts);
    assert_int_equal(map_json(m, "words", &json), SHOAL_OK);
    assert_int_equal(bytes_add(&json, "", 1), SHOAL_OK);
    assert_non_null(strstr(json.at, "\"dim\":150,\"all\":40"));
    assert_non_null(strstr(json.at, "\"vectors\":{\"dim\":128,"));
    bytes_fini(&json);
    shoal_map_free(m);
    shoal_vectors_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_keeps_neighbourhoods_as_chance_would_not),
        cmocka_unit_test(places_by_chance_are_trusted_by_a_half),
        cmocka_unit_test(rows_of_a_plane_are_kept_by_principal_components),
        cmocka_unit_test(rows_made_shorter_keep_their_products),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(clusters_are_those_that_were_planted),
        cmocka_unit_test(the_nearest_of_a_point_are_those_of_its_vector),
        cmocka_unit_test(the_gradient_of_tsne_is_that_of_its_loss),
        cmocka_unit_test(shares_of_neighbours_are_symmetric_and_one_in_all),
        cmocka_unit_test(the_gradient_of_a_pair_of_umap_is_that_of_its_loss),
        cmocka_unit_test(options_beyond_their_range_are_refused),
        cmocka_unit_test(a_map_is_stopped_by_its_watcher),
        HERE(words_without_a_direction_are_left_out),
        cmocka_unit_test(long_vectors_are_kept_shorter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
