/* Nets in safetensors: any bytes are refused with a sentence, or make a net that can be
 * written and read again. Behind the first byte, which chooses the size of pictures, stands
 * the file as it is; or, when that byte is even, its header, whose length is put before it,
 * and the numbers behind `%%data`. */
#include "fuzz.h"

#include "saved/saved.h"

enum { SMALL = 1 << 16 }; /* bytes of a file that is written again */

static const char *file_of(const uint8_t *data, size_t size, size_t *len)
{
    struct fuzz_cut cut = fuzz_cut("%%", data, size);
    struct fuzz_piece head = {0}, numbers = {0};
    uint64_t header;
    char *file;

    fuzz_next(&cut, &head);
    fuzz_next(&cut, &numbers);
    header = head.size;
    *len = sizeof header + head.size + numbers.padded;
    file = calloc(*len, 1);
    require(file != NULL);
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, head.at, head.size);
    if (numbers.size > 0)
        memcpy(file + sizeof header + head.size, numbers.at, numbers.size);
    return file;
}

static void read_again(const shoal_net *net)
{
    char path[256];
    shoal_net *again = NULL;

    snprintf(path, sizeof path, "%s/again.safetensors", fuzz_folder());
    require(shoal_net_export(net, path) == SHOAL_OK);
    require(shoal_net_import(&again, path, 32) == SHOAL_OK);
    require(strcmp(net->net->spec, again->net->spec) == 0);
    shoal_net_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_net *net = NULL;
    const char *file, *path;
    size_t len = size > 0 ? size - 1 : 0;

    if (size < 2)
        return 0;
    file = data[0] & 1 ? (const char *)data + 1 : file_of(data + 1, size - 1, &len);
    path = fuzz_file(file, len);
    /* A zstd frame may ask for its window; pictures of a million pixels have as many means. */
    fuzz_begin(len, data[0] & 1 ? 160 * MIB : 40 * MIB, 64);
    if (shoal_net_import(&net, path, 1u << data[0] / 2 % 12) == SHOAL_OK) {
        require(shoal_net_weights(path));
        fuzz_begin(len, 64 * MIB, 64);
        if (len < SMALL)
            read_again(net);
    } else {
        require(net == NULL && *shoal_error() != '\0');
    }
    shoal_net_close(net);
    if (!(data[0] & 1))
        free((void *)(uintptr_t)file);
    fuzz_end();
    return 0;
}
