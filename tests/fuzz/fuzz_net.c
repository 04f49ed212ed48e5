/* Nets: any sections, in a container whose sums are right, are refused with a sentence, or
 * make a net that answers with numbers, in probabilities where it knows classes, and that
 * is the same when it was saved and opened again. */
#include "fuzz.h"

#include "saved/saved.h"

#include <math.h>

enum {
    WORK = 1 << 11,  /* inputs and outputs that are computed for */
    SMALL = 1 << 16, /* bytes of a file that is written again */
};

static void ask_numbers(const shoal_net *net)
{
    size_t in = shoal_net_inputs(net), out = shoal_net_outputs(net);
    float *x = calloc(in, sizeof *x), *y = calloc(out, sizeof *y);

    require(x && y);
    if (shoal_net_predict(net, x, 1, y) == SHOAL_OK && shoal_net_classes(net))
        for (size_t i = 0; i < out; i++)
            require(isnan(y[i]) || (y[i] >= 0 && y[i] <= 1));
    free(x);
    free(y);
}

/* A picture of two times two pixels in colours, whatever the net says it sees. */
static void ask_picture(const shoal_net *net)
{
    static const unsigned char png[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
        0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd,
        0xd4, 0x9a, 0x73, 0x00, 0x00, 0x00, 0x11, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xe0,
        0x3a, 0x21, 0xa7, 0x61, 0x64, 0xc3, 0x00, 0xa1, 0x00, 0x16, 0x20, 0x03, 0x0d, 0xa8, 0x7e,
        0x60, 0x22, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    };
    const char *path = fuzz_file(png, sizeof png);
    float *y = calloc(shoal_net_outputs(net), sizeof *y);
    size_t done;

    require(y != NULL);
    if (shoal_net_predict_pictures(net, &path, 1, y, &done) != SHOAL_OK)
        require(*shoal_error() != '\0');
    free(y);
}

static void ask_both(const shoal_net *net)
{
    ask_numbers(net);
    ask_picture(net);
}

static void ask_words(const shoal_net *net)
{
    struct shoal_hit hits[5];
    size_t found = 0;

    if (shoal_nextword_predict(net, "one two three one two", hits, 5, &found) == SHOAL_OK)
        for (size_t i = 0; i < found; i++)
            require(shoal_nextword_word(net, hits[i].id) != NULL);
}

static void ask_names(const shoal_net *net)
{
    unsigned channels, height, width;
    char name[64];

    for (size_t i = 0; i < shoal_net_outputs(net) && i < 64; i++)
        shoal_net_class(net, i, name, sizeof name);
    for (size_t i = 0; i < net->net->ntensors; i++)
        require(net->net->tensors[i].name[0] != '\0' && net->net->tensors[i].dims[0] > 0);
    if (shoal_net_pictures(net, &channels, &height, &width))
        require((size_t)channels * height * width == shoal_net_inputs(net));
    require(shoal_net_fact(net, "") == NULL || shoal_net_parameters(net) > 0);
}

static void open_again(const shoal_net *net)
{
    char path[256];
    shoal_net *again = NULL;

    snprintf(path, sizeof path, "%s/again.shoal", fuzz_folder());
    require(shoal_net_save(net, path) == SHOAL_OK);
    require(shoal_net_open(&again, path) == SHOAL_OK);
    require(strcmp(net->net->spec, again->net->spec) == 0);
    shoal_net_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_net *net = NULL;
    size_t len;
    const char *file, *path;

    fuzz_begin(size, 64 * MIB, 0);
    file = fuzz_container(data, size, &len);
    path = fuzz_file(file, len);
    fuzz_begin(len, MIB, 16);
    if (shoal_net_open(&net, path) == SHOAL_OK) {
        fuzz_begin(len, 512 * MIB, 64);
        ask_names(net);
        if (len < SMALL)
            open_again(net);
        if (shoal_net_inputs(net) <= WORK && shoal_net_outputs(net) <= WORK)
            ask_both(net);
        if (net->words)
            ask_words(net);
    } else {
        require(net == NULL && *shoal_error() != '\0');
    }
    shoal_net_close(net);
    fuzz_end();
    return 0;
}
