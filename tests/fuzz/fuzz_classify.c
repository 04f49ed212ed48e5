/* Classifiers of text: any sections, in a container whose sums are right, and any file that begins
 * as fastText's supervised models do, are refused with a sentence, or make a classifier that answers
 * with probabilities. */
#include "fuzz.h"

#include "saved/saved.h"

#include <math.h>

static void ask(const shoal_model *m)
{
    static const char text[] = "the cat __label__x sat </s> on";
    const shoal_classifier *c = shoal_model_classifier(m);
    struct shoal_classify_opts opts = {3, 0, 1};
    struct shoal_memory one = {"text", text, sizeof text - 1};
    struct shoal_guess guess[3];
    size_t found = 0;

    if (!c)
        return;
    for (size_t k = 0; k < shoal_classifier_labels(c); k++)
        require(shoal_classifier_label(c, k)[0] != '\0');
    require(shoal_classify(c, &one, 1, &opts, guess, &found) == SHOAL_OK);
    require(found <= 3);
    for (size_t i = 0; i < found; i++) {
        require(guess[i].label < shoal_classifier_labels(c));
        require(!(guess[i].p < 0) && !(guess[i].p > 1.0001f));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_model *m = NULL;
    const char *file;
    size_t len = size;

    fuzz_begin(size, 512 * MIB, 64);
    file = classifier_sniff((const char *)data, size) ? fuzz_copy(data, size)
                                                      : fuzz_container(data, size, &len);
    if (shoal_model_open_memory(&m, "fuzz", file, len) == SHOAL_OK)
        ask(m);
    else
        require(m == NULL && shoal_error()[0]);
    shoal_model_close(m);
    fuzz_end();
    return 0;
}
