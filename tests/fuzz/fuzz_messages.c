/* Any bytes may come from another rank: a store takes them or refuses them with a
 * sentence. */
#include "fuzz.h"

#include "messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_begin(size, 16 * MIB, 64);
    (void)messages_try(data, size);
    fuzz_end();
    return 0;
}
