/* What is given for vectors and is something else: said by its name, with what would do. */
#include "saved/vectors/vectors.h"

static const char made_of_text[] = "`shoal train skipgram` makes them of text";
static const char asked[] = "`shoal predict` asks it";

/* Containers of ours, by the word of their meta. */
static const struct {
    const char *kind, *what, *then;
} kinds[] = {
    {"corpus", "an encoded text", "`shoal train skipgram` makes them of it"},
    {"clicks", "encoded rows", made_of_text},
    {"logreg", "a click model", asked},
    {"multinomial", "a model of classes of rows", asked},
    {"net", "a net", asked},
    {"nextword", "a net that says the next word", asked},
    {"checkpoint", "a checkpoint", "`shoal train --resume` ends its run"},
    {"checkpoint-part", "a part of a checkpoint", "`shoal train --resume` ends its run"},
};

static shoal_status fail_as(const char *path, const char *what, const char *then)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: is %s, want vectors: %s", path, what, then);
}

shoal_status vectors_fail_kind(const char *path, const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            return fail_as(path, kinds[i].what, kinds[i].then);
    return shoal_fail(SHOAL_EFORMAT, "%s: holds a %s, want vectors", path, kind);
}

/* Of protocol 2 to 5. */
static bool is_pickle(const struct source *src)
{
    return src->len >= 8 && src->at[0] == '\x80' && src->at[1] >= 2 && src->at[1] <= 5;
}

shoal_status vectors_fail_other(const struct source *src)
{
    if (vocab_sniff(src->at, src->len, true))
        return fail_as(src->path, "a vocabulary", made_of_text);
    if (net_weights_sniff(src->at, src->len))
        return fail_as(src->path, "a net in safetensors", "`shoal convert` makes a net of it");
    if (is_pickle(src))
        return fail_as(src->path, "a pickle of Python's",
                       "gensim's save_word2vec_format writes them");
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: %zu bytes that are no vectors, want word2vec, fastText, GloVe, NumPy, "
                      "safetensors or our own",
                      src->path, src->len);
}
