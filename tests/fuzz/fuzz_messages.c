/* Any bytes may come from another rank: a store takes them or refuses them with a
 * sentence. */
#include "messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)messages_try(data, size);
    return 0;
}
