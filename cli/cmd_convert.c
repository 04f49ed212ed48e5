/* shoal convert: word vectors from one format to another. */
#include "model.h"

#include <sys/stat.h>

struct convert_cmd {
    struct shoal_save_opts save;
    unsigned size; /* of a net's pictures */
    unsigned activation;
    bool strict;
    struct work_opts work;
};

static const struct shoal_choice dtype_choices[] = {
    [SHOAL_F32] = {"f32", "exact; every format"},
    [SHOAL_F16] = {"f16", "shoal, npy, safetensors"},
    [SHOAL_BF16] = {"bf16", "shoal, safetensors"},
    [SHOAL_INT8] = {"int8", "with one factor for each row; shoal"},
    {0},
};

static const struct shoal_choice activation_choices[] = {
    {"auto", "as IN.json says, else relu"},
    {"relu", "max(0, x)"},
    {"tanh", "-1 to 1"},
    {"sigmoid", "0 to 1"},
    {"gelu", "a smooth relu"},
    {0},
};

static void convert_defaults(void *at)
{
    *(struct convert_cmd *)at = (struct convert_cmd){.save = shoal_save_default()};
}

static uint64_t size_of(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

static void report_read(struct console *c, const char *path, const shoal_vectors *v)
{
    console_row(c, "read", number_count(shoal_vectors_size(v)).text,
                "vectors of %s numbers (%s, %s)", number_count(shoal_vectors_dim(v)).text,
                shoal_format_name(shoal_vectors_format(v)),
                dtype_choices[shoal_vectors_dtype(v)].name);
    console_row(c, "from", number_size(size_of(path)).text, "%s", path);
}

/* What the weights of another program do not say. */
static void report_assumed(struct console *c, const shoal_net *net)
{
    const char *assumed = net ? shoal_net_fact(net, "assumed") : NULL;

    if (assumed)
        console_row(c, "assumed", assumed, NULL);
}

static void report_written(struct console *c, const char *path, const shoal_vectors *v, uint64_t top)
{
    uint64_t n = v ? shoal_vectors_size(v) : 0;

    if (v)
        console_row(c, "written", number_count(top > 0 && top < n ? top : n).text, NULL);
    if (size_of(path) > 0) /* standard output has none */
        console_row(c, "file", number_size(size_of(path)).text, "%s", path);
    if (v)
        console_row(c, "took", number_seconds(console_seconds(c)).text, NULL);
}

static int convert_run(const void *at, const char *const *args, size_t nargs)
{
    const struct convert_cmd *cmd = at;
    struct console console;
    shoal_model *model = NULL;
    const shoal_vectors *v;
    struct shoal_import_opts import = {
        .size = cmd->size,
        .activation = cmd->activation > 0 ? activation_choices[cmd->activation].name : NULL};
    shoal_status st = shoal_model_import_as(&model, args[0], &import);

    (void)nargs;
    console_init(&console, cmd->work.quiet, args[1]);
    v = st == SHOAL_OK ? shoal_model_vectors(model) : NULL;
    if (st == SHOAL_OK)
        st = vectors_accept(&console, args[0], v, cmd->strict);
    if (st == SHOAL_OK && v)
        report_read(&console, args[0], v);
    if (st == SHOAL_OK)
        report_assumed(&console, shoal_model_net(model));
    if (st == SHOAL_OK)
        st = shoal_model_save(model, args[1], &cmd->save);
    if (st == SHOAL_OK)
        report_written(&console, args[1], v, cmd->save.top);
    shoal_model_close(model);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct shoal_save_opts, member)

static const struct shoal_option save_opts[] = {
    {"format", 'f', SHOAL_TYPE_CHOICE, ON(format), .arg = "HOW", .choices = shoal_format_choices,
     .help = "what to write"},
    {"dtype", .type = SHOAL_TYPE_CHOICE, ON(dtype), .arg = "TYPE", .choices = dtype_choices,
     .help = "the numbers to write"},
    {"normalize", .type = SHOAL_TYPE_FLAG, ON(normalize), .help = "make every vector's length 1"},
    {"top", .type = SHOAL_TYPE_COUNT, ON(top), .arg = "N", .u = {0, UINT32_MAX - 1},
     .help = "keep the first so many words, by custom the commonest", .zero = "all"},
    {0},
};

#undef ON
#define ON(member) SHOAL_FIELD(struct convert_cmd, member)

static const struct shoal_option read_opts[] = {
    {"strict", .type = SHOAL_TYPE_FLAG, ON(strict), .help = STRICT_HELP},
    {0},
};

static const struct shoal_option net_opts[] = {
    {"size", .type = SHOAL_TYPE_COUNT, ON(size), .arg = "N", .u = {0, 1024},
     .help = "pixels of a side of the pictures that a net from elsewhere was trained with",
     .zero = "as its shapes tell"},
    {"activation", .type = SHOAL_TYPE_CHOICE, ON(activation), .arg = "F",
     .choices = activation_choices,
     .help = "between the linear layers of a net from elsewhere, whose weights do not say it"},
    {0},
};

const struct verb cmd_convert = {
    .name = "shoal convert",
    .summary = "turn word vectors, or a net's weights, into another format",
    .about =
        "Reads vectors of word2vec, fastText, floret, GloVe, NumPy, safetensors or shoal, whatever "
        "the file is called, and writes them in the format asked for. f32 is kept exactly, "
        "and so are the words and their order. Of words that stand there twice the first "
        "is kept, and rows without a word are left out; a word that the format cannot carry (in "
        "word2vec's, one with a space) is refused.\n"
        "A net goes to safetensors with the names that PyTorch gives its tensors, or to ONNX. A VGG of "
        "torchvision's, or linear layers one behind the other, become a net: in safetensors, as "
        "torch.save writes a state_dict (.pth, .pt), or in TorchServe's archive (.mar). Nothing in "
        "such a file is run. What tensors do not say stands in IN.json.",
    .operands =
        (const struct operand[]){
            {.name = "IN",
             .help = "vectors or a net; recognised by content, also in gzip, zstd, bzip2 or xz"},
            {.name = "OUT", .help = "where they go"},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Reading", read_opts, .at = 0},
            {"Output", save_opts, .at = offsetof(struct convert_cmd, save)},
            {"Nets", net_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct convert_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal convert wiki.vec wiki.shoal", "text once, so that it opens at once"},
            {"shoal convert wiki.shoal small.safetensors --dtype f16 --top 100000",
             "the commonest words in half the space"},
            {"shoal convert cc.en.300.bin en.shoal", "fastText's model, its n-grams included"},
            {"shoal convert en.shoal en.bin --format fasttext", "and back, for fastText and gensim"},
            {"shoal convert vgg.shoal vgg.safetensors", "a net for PyTorch"},
            {"shoal convert vgg16.pth vgg16.shoal", "and one from there"},
            {"shoal convert vgg.shoal vgg.onnx", "a net for other programs"},
            {0},
        },
    .opts_size = sizeof(struct convert_cmd),
    .defaults = convert_defaults,
    .run = convert_run,
};
