/* Times and answers of evaluation through shoal.h, for bench/eval.sh:
 *
 *     eval suite VECTORS QUESTIONS TOP_WORDS add|mul THREADS
 *     eval nearest VECTORS WORD K THREADS ROUNDS
 */
#include <shoal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(shoal_status st)
{
    if (st == SHOAL_OK)
        return;
    fprintf(stderr, "%s\n", shoal_error());
    exit(1);
}

static void suite(const shoal_vectors *v, char **arg)
{
    struct shoal_eval_opts opts = shoal_eval_default();
    struct shoal_score *scores;
    shoal_eval *e;
    double began;
    size_t n;

    opts.top_words = strtoull(arg[1], NULL, 10);
    opts.how = strcmp(arg[2], "mul") == 0 ? SHOAL_3COSMUL : SHOAL_3COSADD;
    opts.threads = (unsigned)strtoul(arg[3], NULL, 10);
    began = now();
    need(shoal_eval_open(&e, arg[0]));
    need(shoal_eval_run(e, v, &opts, &scores, &n));
    printf("seconds %.4f\n", now() - began);
    for (size_t i = 0; i < n; i++)
        printf("%s %llu %llu %llu %.6f %.6f\n", scores[i].name,
               (unsigned long long)scores[i].right, (unsigned long long)scores[i].seen,
               (unsigned long long)scores[i].total, scores[i].spearman, scores[i].pearson);
    shoal_scores_free(scores);
    shoal_eval_close(e);
}

static void nearest(const shoal_vectors *v, char **arg)
{
    size_t k = strtoull(arg[1], NULL, 10), rounds = strtoull(arg[3], NULL, 10), found;
    unsigned threads = (unsigned)strtoul(arg[2], NULL, 10);
    struct shoal_hit *hits = calloc(k, sizeof *hits);
    float *query = calloc(shoal_vectors_dim(v), sizeof *query);
    uint32_t id = shoal_vectors_find(v, arg[0], strlen(arg[0]));
    double best = 1e9;

    need(shoal_vectors_row(v, id, query));
    for (size_t i = 0; i < rounds; i++) {
        double began = now();

        need(shoal_nearest(v, query, &id, 1, threads, hits, k, &found));
        best = now() - began < best ? now() - began : best;
    }
    printf("seconds %.5f\n", best);
    for (size_t i = 0; i < found; i++)
        printf("%s %.6f\n", shoal_vectors_word(v, hits[i].id), (double)hits[i].score);
    free(query);
    free(hits);
}

int main(int argc, char **argv)
{
    shoal_vectors *v;

    if (argc != 7)
        return 2;
    need(shoal_vectors_open(&v, argv[2]));
    if (strcmp(argv[1], "suite") == 0)
        suite(v, argv + 3);
    else
        nearest(v, argv + 3);
    shoal_vectors_close(v);
    return 0;
}
