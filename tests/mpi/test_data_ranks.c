/* What ranks open together, they have or fail to have together: run.sh starts this program
 * several times over; rank 0 prints TAP. */
#include "train/data.h"

#include "folder.h"

#include <string.h>
#include <unistd.h>

#define TEXT "the cat sat on the mat\nthe dog sat on the log\n"
#define ROWS "1 1:1\n0 2:1\n1 1:1 2:2\n0 3:1\n"

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* By one, for all. */
static void put_first(const char *path, const char *text)
{
    if (rank == 0)
        put(path, text);
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
}

static struct train_opts some_opts(const char *output)
{
    struct train_opts o = {.encode = shoal_encode_default(),
                           .rows = shoal_clicks_default(),
                           .samples = shoal_samples_default(),
                           .threads = 1,
                           .output = output};

    o.encode.vocab.min_count = 1;
    o.encode.vocab.memory = (uint64_t)1 << 22;
    return o;
}

static shoal_status open_all(struct shoal_data **d, enum data_kind kind, const struct train_opts *o,
                             const char *input)
{
    struct data_how how = {.kind = kind, .opts = o, .ranks = ranks};

    return data_open(d, &how, &input, input ? 1 : 0);
}

static void one_corpus_serves_all(void)
{
    const char *text = in_folder("text");
    struct train_opts o = some_opts(in_folder("model"));
    struct shoal_data *d = NULL;

    put_first(text, TEXT);
    CHECK_OK(open_all(&d, DATA_TEXT, &o, text));
    CHECK(d && shoal_corpus_words(d->at.corpus) == 12);
    shoal_data_close(d);
}

static void what_is_kept_is_found_again(void)
{
    const char *rows = in_folder("rows");
    struct train_opts o = some_opts(in_folder("model"));
    struct shoal_data *d = NULL, *again = NULL;

    put_first(rows, ROWS);
    o.checkpoint = in_folder("run");
    CHECK_OK(open_all(&d, DATA_ROWS, &o, rows));
    o.resume = true;
    o.inputs = d ? d->inputs : NULL;
    CHECK_OK(open_all(&again, DATA_ROWS, &o, NULL));
    CHECK(again && shoal_clicks_counts(again->at.rows).rows == 4);
    shoal_data_close(again);
    shoal_data_close(d);
}

static void each_rank_reads_its_own(void)
{
    struct train_opts o = some_opts(in_folder("model"));
    char name[32];
    struct shoal_data *d = NULL;

    snprintf(name, sizeof name, "part%u", rank);
    put(in_folder(name), rank % 2 ? TEXT TEXT : TEXT);
    o.local_input = true;
    o.checkpoint = in_folder("own");
    CHECK_OK(open_all(&d, DATA_TEXT, &o, in_folder("part{rank}")));
    CHECK(d && shoal_corpus_words(d->at.corpus) == (rank % 2 ? 24 : 12));
    CHECK(d && strstr(d->inputs, "/own/corpus-{rank}.shoal"));
    shoal_data_close(d);
}

/* The last rank cannot have what the others have. */
static void no_rank_fails_alone(void)
{
    struct train_opts o = some_opts(in_folder("model"));
    const char *samples = in_folder("samples");
    struct shoal_data *d = NULL;

    put_first(samples, "1,2,0\n3,4,1\n");
    CHECK(open_all(&d, DATA_SAMPLES, &o, rank + 1 == size ? "nowhere" : samples) == SHOAL_ENOENT);
    CHECK(!d && strstr(shoal_error(), "nowhere"));
    o.local_input = true;
    put(in_folder(rank == 0 ? "there0" : "elsewhere"), TEXT);
    CHECK((open_all(&d, DATA_TEXT, &o, in_folder("there{rank}")) == SHOAL_OK) == (size == 1));
    shoal_data_close(d);
}

int main(void)
{
    if (!begin_ranks())
        return 1;
    PASSES(one_corpus_serves_all);
    PASSES(what_is_kept_is_found_again);
    PASSES(each_rank_reads_its_own);
    PASSES(no_rank_fails_alone);
    return end_ranks();
}
