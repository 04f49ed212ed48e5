/* Checkpoints of nets: any sections, in a container whose sums are right, are refused with
 * a sentence, or are gone on with by a run of the same samples. */
#include "fuzz.h"

#include "train/train.h"

static const char samples[] = "0,0,0\n0,1,1\n1,0,1\n1,1,0\n"; /* seeds.py has the same */

static shoal_samples *samples_open(void)
{
    struct shoal_samples_opts opts = shoal_samples_default();
    shoal_samples *s = NULL;

    require(shoal_samples_open(&s, fuzz_file(samples, sizeof samples - 1), &opts) == SHOAL_OK);
    return s;
}

static void go_on(const char *folder)
{
    struct shoal_mlp_opts opts = shoal_mlp_default();
    struct shoal_net_stats stats;
    shoal_samples *s = samples_open();
    shoal_net *net = NULL;

    opts.layers = "3";
    opts.train.epochs = 2;
    opts.train.valid = 0;
    opts.train.threads = 1;
    opts.train.checkpoint = folder;
    opts.train.resume = true;
    if (shoal_mlp_train(&net, s, NULL, &opts, &stats) != SHOAL_OK)
        require(net == NULL && *shoal_error() != '\0');
    shoal_net_close(net);
    shoal_samples_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *folder = fuzz_folder(), *file;
    struct shoal_net_resume r;
    size_t len;

    fuzz_begin(size, 64 * MIB, 64);
    file = fuzz_container(data, size, &len);
    fuzz_put("checkpoint-000001.shoal", file, len);
    fuzz_begin(len, MIB, 16);
    if (shoal_net_resume_read(&r, folder) == SHOAL_OK) {
        require(r.path && (r.command_len == 0 || r.command[r.command_len - 1] == '\0'));
        shoal_net_resume_free(&r);
        fuzz_begin(len, 64 * MIB, 64);
        go_on(folder);
    } else {
        require(r.path == NULL && *shoal_error() != '\0');
    }
    fuzz_end();
    return 0;
}
