/* Nets of other programs: any bytes are refused with a sentence, or make a net that answers and
 * can be written and read again. The first byte chooses what stands behind it:
 *
 *     0   a file as it is: what torch.save writes, now or formerly, or TorchServe's archive
 *     1   the pickle of an archive whose storages a to d have 24 floats each
 *     2   the manifest of an archive, and behind %% its shoal.json
 *     3   FILE.json beside weights that are as they should be
 *
 * so that no checksum stands between the bytes and the reader. */
#include "fuzz.h"

#include "../unit/zip.h"
#include "saved/net/outside.h"
#include "saved/source.h"

enum { SMALL = 1 << 16, NUMBERS = 24 };

/* {"0.weight": 2 x 3, "0.bias": 2} of storages a and b. */
static const char good[] =
    "\x80\2}(X\10\0\0\0000.weightctorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\n"
    "U\1aU\3cpuK\30tQK\0K\2K\3\x86K\3K\1\x86\x89}tRX\6\0\0\0000.biasctorch._utils\n"
    "_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\nU\1bU\3cpuK\30tQK\0K\2\x85K\1\x85\x89}tRu.";

static struct zip_made weights_of(const void *pickle, size_t size)
{
    struct zip_made z = {0};
    float x[NUMBERS];
    char name[] = "archive/data/a";

    for (size_t i = 0; i < NUMBERS; i++)
        x[i] = 0.125f * (float)i;
    zip_add(&z, "archive/data.pkl", pickle, size, false);
    for (; name[13] <= 'd'; name[13]++)
        zip_add(&z, name, x, sizeof x, false);
    zip_end(&z);
    return z;
}

static struct zip_made archive_of(const uint8_t *data, size_t size)
{
    struct fuzz_cut cut = fuzz_cut("%%", data, size);
    struct zip_made z = {0}, w = weights_of(good, sizeof good - 1);
    struct fuzz_piece manifest = {0}, hints = {0};

    fuzz_next(&cut, &manifest);
    zip_add(&z, "MAR-INF/MANIFEST.json", manifest.at, manifest.size, true);
    if (fuzz_next(&cut, &hints))
        zip_add(&z, "shoal.json", hints.at, hints.size, true);
    zip_add(&z, "w.pth", w.file.at, w.file.len, true);
    zip_end(&z);
    zip_made_fini(&w);
    return z;
}

static void use(const shoal_net *net, size_t len)
{
    char path[256];
    shoal_net *again = NULL;
    float *x = calloc(net->net->inputs, sizeof *x), *y = calloc(net->net->outputs, sizeof *y);

    require(x && y);
    require(shoal_net_predict(net, x, 1, y) == SHOAL_OK);
    free(x);
    free(y);
    if (len > SMALL)
        return;
    snprintf(path, sizeof path, "%s/again.safetensors", fuzz_folder());
    require(shoal_net_export(net, path) == SHOAL_OK);
    require(shoal_net_import(&again, path, 0) == SHOAL_OK);
    require(strcmp(net->net->spec, again->net->spec) == 0);
    shoal_net_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zip_made z = {0};
    struct source src = {.path = "x.pth"};
    struct net_hints h = {0};
    shoal_net *net = NULL;
    shoal_status st;

    if (size < 1)
        return 0;
    if (data[0] % 4 == 1)
        z = weights_of(data + 1, size - 1);
    else if (data[0] % 4 == 2)
        z = archive_of(data + 1, size - 1);
    src.at = z.file.at ? z.file.at : (const char *)data + 1;
    src.len = z.file.at ? z.file.len : size - 1;
    fuzz_begin(size, 8 * MIB, 512);
    if (data[0] % 4 == 3)
        st = net_hints_read(&h, "x.json", src.at, src.len);
    else if (net_weights_sniff(src.at, src.len))
        st = net_import_source(&net, &src, false, &(struct shoal_import_opts){0});
    else
        st = shoal_fail(SHOAL_EFORMAT, "x.pth: no weights");
    require(st == SHOAL_OK || (!net && *shoal_error() != '\0'));
    if (net)
        use(net, src.len);
    shoal_net_close(net);
    net_hints_fini(&h);
    zip_made_fini(&z);
    fuzz_end();
    return 0;
}
