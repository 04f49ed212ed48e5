/* The one line that describes a net: any text is refused with a sentence, or makes a net
 * whose tensors lie within its block, one behind the other; and costs no more memory than a
 * description does. */
#include "fuzz.h"

#include "model/model.h"

static void check_net(const struct net *net)
{
    size_t end = 0;

    require(net->inputs > 0 && net->outputs > 0 && net->ntensors > 0);
    for (size_t i = 0; i < net->ntensors; i++) {
        const struct tensor *t = &net->tensors[i];
        size_t size = 1;

        for (size_t k = 0; k < 4 && t->dims[k] > 0; k++)
            require(!__builtin_mul_overflow(size, t->dims[k], &size));
        require(t->at >= end && t->size == size && t->size > 0);
        require(!__builtin_add_overflow(t->at, t->size, &end) && end <= net->size);
        require(net_find(net, t->name) != NULL);
    }
    require(net->size < SIZE_MAX / sizeof(float));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct net *net = NULL;

    fuzz_begin(size, 4 * MIB, 1024);
    if (net_new(&net, fuzz_text(data, size)) == SHOAL_OK)
        check_net(net);
    else
        require(net == NULL && *shoal_error() != '\0');
    net_free(net);
    fuzz_end();
    return 0;
}
