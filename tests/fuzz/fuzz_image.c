/* Pictures: any bytes are refused with a sentence, or make pixels that can be
 * brought to a model's size. The first byte says whether as grey or in colours. */
#include "fuzz.h"

#include "samples/samples.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t out[3 * 8 * 12];
    unsigned channels = size > 0 && data[0] & 1 ? 1 : 3;
    struct picture p;

    fuzz_begin(size, 256 * MIB, 64);
    if (size > 0 && picture_decode(&p, "fuzz", data + 1, size - 1, channels) == SHOAL_OK) {
        require(p.at && p.channels == channels && p.width > 0 && p.height > 0);
        if ((uint64_t)p.width * p.height < 1 << 20) /* larger ones are only slower */
            require(picture_fit(out, &p, 8, 12) == SHOAL_OK);
        picture_fini(&p);
    } else if (size > 0) {
        require(p.at == NULL && shoal_error()[0] != '\0');
    }
    fuzz_end();
    return 0;
}
