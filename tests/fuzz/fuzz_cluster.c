/* Clusters: any bytes are refused with a sentence that names the file, or make a cluster to
 * which a study, behind a line `##study`, can be carried over, in numbers, in a table and in
 * a report. */
#include "fuzz.h"

#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

static void check_cluster(const struct shoal_cluster *c)
{
    require(c->nodes > 0 && c->cores > 0 && c->bandwidth > 0 && c->latency >= 0);
    require(c->workers.n <= SHOAL_STUDY_AXIS);
    for (size_t i = 0; i < c->workers.n; i++)
        require(c->workers.at[i] <= (uint64_t)c->nodes * c->cores &&
                (i == 0 || c->workers.at[i] > c->workers.at[i - 1]));
}

static void carry_over(const shoal_study *study, const struct shoal_cluster *c, size_t size)
{
    struct shoal_prediction p;
    char path[256];
    struct stat page;
    char *text = NULL;

    for (size_t i = 0; i < study->ncells; i++)
        if (shoal_study_predict(study, i, c, c->workers.n ? (unsigned)c->workers.at[0] : 1, &p))
            require(p.limit && p.by);
    require(shoal_study_predictions(&text, study, c) == SHOAL_OK);
    fuzz_output(strlen(text), size, 64 << 10, 4096);
    free(text);
    require(shoal_study_report(study, NULL, c) == SHOAL_OK);
    snprintf(path, sizeof path, "%s/report.html", study->folder);
    require(stat(path, &page) == 0);
    fuzz_output((size_t)page.st_size, size, 4 * MIB, 4096);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_cut cut = fuzz_cut("##", data, size);
    struct fuzz_piece cluster = {0}, record = {0};
    struct shoal_cluster c;
    shoal_study *study = NULL;
    bool known;

    fuzz_begin(size, 64 * MIB, 1024);
    fuzz_next(&cut, &cluster);
    known =
        cluster_parse(&c, "fuzz", fuzz_copy(cluster.at, cluster.size), cluster.size) == SHOAL_OK;
    if (known)
        check_cluster(&c);
    else
        require(strncmp(shoal_error(), "fuzz: ", 6) == 0);
    if (known && fuzz_next(&cut, &record) &&
        record_parse(&study, fuzz_folder(), fuzz_copy(record.at, record.size), record.size) ==
            SHOAL_OK)
        carry_over(study, &c, size);
    shoal_study_close(study);
    fuzz_end();
    return 0;
}
