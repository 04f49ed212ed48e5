/* Nets of other programs: what torch.save and TorchServe's archiver write is read and never run.
 * tests/outside has files that PyTorch made, and its answers; here are those that nobody would. */
#include "vectors.h"
#include "zip.h"

#include "saved/pickle.h"
#include "saved/saved.h"
#include "saved/tensors.h"

#include <math.h>
#include <unistd.h>

#define FLOATS "ctorch\nFloatStorage\n"

/* ---- pickles ---- */

/* name -> tensor of storage KEY, its shape and strides as pickled tuples. */
static void add_tensor(struct bytes *p, const char *name, const char *type, char key, int numbers,
                       const char *size, const char *stride)
{
    uint32_t len = (uint32_t)strlen(name);

    bytes_add(p, "X", 1);
    bytes_add(p, &len, 4);
    bytes_add(p, name, len);
    bytes_print(p, "ctorch._utils\n_rebuild_tensor_v2\n((U\astorage%sU\1%cU\3cpu", type, key);
    bytes_add(p, "K", 1);
    bytes_add(p, &numbers, 1);
    bytes_print(p, "tQK%c%s%s", 'x', size, stride);
    p->at[p->len - strlen(size) - strlen(stride) - 1] = 0; /* the offset */
    bytes_add(p, "\x89}tR", 4);
}

static void begin(struct bytes *p)
{
    bytes_add(p, "\x80\2}(", 4);
}

static void end(struct bytes *p)
{
    bytes_add(p, "u.", 2);
}

/* The archive of a pickle with a storage of floats 0.5, 1, 1.5, ... for each key from a on. */
static struct zip_made archive_of(const struct bytes *p, size_t keys, size_t numbers)
{
    struct zip_made z = {0};
    float x[64];

    for (size_t i = 0; i < COUNT(x); i++)
        x[i] = 0.5f * (float)(i + 1);
    zip_add(&z, "archive/data.pkl", p->at, p->len, false);
    for (size_t k = 0; k < keys; k++) {
        char name[32];

        snprintf(name, sizeof name, "archive/data/%c", (char)('a' + k));
        zip_add(&z, name, x, numbers * sizeof *x, false);
    }
    zip_end(&z);
    return z;
}

static shoal_status read_archive(struct tensors *t, const struct bytes *p, size_t keys,
                                 size_t numbers)
{
    struct zip_made z = archive_of(p, keys, numbers);
    shoal_status st = pth_read(t, "x.pth", z.file.at, z.file.len);

    zip_made_fini(&z);
    return st;
}

static void refuse(const char *pickle, size_t len, const char *because)
{
    struct bytes p = {0};
    struct tensors t;

    bytes_add(&p, pickle, len);
    assert_int_not_equal(read_archive(&t, &p, 2, 6), SHOAL_OK);
    assert_non_null(strstr(shoal_error(), because));
    bytes_fini(&p);
}

#define REFUSE(pickle, because) refuse(pickle, sizeof pickle - 1, because)

static void a_tensor_is_a_window_on_a_storage(void **state)
{
    struct bytes p = {0};
    struct tensors t;

    begin(&p);
    add_tensor(&p, "0.weight", FLOATS, 'a', 6, "K\2K\3\x86", "K\3K\1\x86");
    add_tensor(&p, "turned", FLOATS, 'a', 6, "K\3K\2\x86", "K\1K\3\x86");
    end(&p);
    assert_int_equal(read_archive(&t, &p, 1, 6), SHOAL_OK);
    assert_int_equal(t.n, 2);
    assert_string_equal(t.at[0].name, "0.weight");
    assert_string_equal(t.at[0].dtype, "F32");
    assert_int_equal(t.at[0].dims[1], 3);
    assert_false(t.at[0].strided);
    assert_true(t.at[1].strided);
    assert_int_equal(t.at[0].begin, t.at[1].begin);
    assert_int_equal(t.at[1].end - t.at[1].begin, 6 * sizeof(float));
    tensors_fini(&t);
    bytes_fini(&p);
}

static void a_tensor_larger_than_its_storage_is_refused(void **state)
{
    static const char *const shapes[][2] = {
        {"K\2K\4\x86", "K\4K\1\x86"},               /* 8 numbers of 6 */
        {"K\2K\3\x86", "K\4K\1\x86"},               /* the last lies behind the end */
        {"K\7K\7\x86", "\x89\x89\x86"},             /* repeated by strides of 0 */
        {"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", "K\1K\1\x86"},
        {"J\xff\xff\xff\xffK\3\x86", "K\3K\1\x86"}, /* -1 */
        {"K\2K\3\x86", "K\1\x85"},
        {"]", "]"},
    };

    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct bytes p = {0};
        struct tensors t;

        begin(&p);
        add_tensor(&p, "0.weight", FLOATS, 'a', 6, shapes[i][0], shapes[i][1]);
        end(&p);
        assert_int_equal(read_archive(&t, &p, 1, 6), SHOAL_EFORMAT);
        assert_non_null(strstr(shoal_error(), "0.weight"));
        bytes_fini(&p);
    }
}

static void a_storage_has_the_numbers_that_the_pickle_says(void **state)
{
    struct bytes p = {0};
    struct tensors t;

    begin(&p);
    add_tensor(&p, "0.weight", FLOATS, 'a', 6, "K\2K\3\x86", "K\3K\1\x86");
    end(&p);
    assert_int_equal(read_archive(&t, &p, 1, 5), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "20 bytes, want 6 numbers of 4"));
    assert_int_equal(read_archive(&t, &p, 0, 0), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "not in the file"));
    bytes_fini(&p);
}

static void names_and_opcodes_that_are_not_of_tensors_are_refused_by_name(void **state)
{
    REFUSE("\x80\2cos\nsystem\nX\4\0\0\0true\x85R.", "names os.system");
    REFUSE("\x80\2cposix\nsystem\nX\4\0\0\0true\x85R.", "names posix.system");
    REFUSE("\x80\4\x8c\bbuiltins\x8c\4eval\x93.", "names builtins.eval");
    REFUSE("\x80\2ctorchvision.models.vgg\nVGG\n)\x81.", "names torchvision.models.vgg.VGG");
    REFUSE("\x80\2ctorch._utils\n_rebuild_tensor_v3\n.", "names torch._utils._rebuild_tensor_v3");
    REFUSE("\x80\2ccollections\nOrderedDict\n)\x81.", "opcode 0x81");
    REFUSE("\x80\2(ios\nsystem\n.", "opcode 0x69");
    REFUSE("\x80\2\x82\1.", "opcode 0x82");
    REFUSE("\x80\2ccollections\nOrderedDict\nK\1\x85R.", "with 1 values");
    REFUSE("\x80\2ctorch\nFloatStorage\nK\1\x85R.", "which it does not take");
    REFUSE("\x80\2K\1K\1R.", "calls what is no name");
    REFUSE("\x80\2K\1R.", "takes more than there is");
    REFUSE("\x80\2K\1)R.", "calls what is no name");
}

static void bombs_and_stumps_are_refused(void **state)
{
    REFUSE("", "cut off");
    REFUSE("\x80\2}", "cut off");
    REFUSE("\x80\2}r\xff\xff\xff\xff.", "memo beyond");
    REFUSE("\x80\2h\1.", "memo for what is not there");
    REFUSE("\x80\2X\xff\xff\xff\xff" "a.", "cut off");
    REFUSE("\x80\2\x8e\xff\xff\xff\xff\xff\xff\xff\xff" "a.", "cut off");
    REFUSE("\x80\2(K\1d.", "key without a value");
    REFUSE("\x80\2}(K\1u.", "key without a value");
    REFUSE("\x80\2)K\1a.", "cannot hold");
    REFUSE("\x80\2u.", "no mark");
    REFUSE("\x80\2(.", "other than one value");
    REFUSE("\x80\2K\1Q.", "no storage");
    REFUSE("\x80\2}.", "no tensors by name");
    REFUSE("\x80\2K\1.", "no tensors by name");
}

/* A list that holds itself, and lists in lists by the hundred thousand, cost no stack. */
static void nesting_costs_no_stack(void **state)
{
    enum { DEPTH = 100000 };
    struct bytes p = {0};
    struct tensors t;

    bytes_add(&p, "\x80\2", 2);
    for (size_t i = 0; i < DEPTH; i++)
        bytes_add(&p, "(", 1);
    for (size_t i = 0; i < DEPTH; i++)
        bytes_add(&p, "l", 1);
    bytes_add(&p, ".", 1);
    assert_int_equal(read_archive(&t, &p, 0, 0), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "no tensors by name"));
    bytes_fini(&p);
    REFUSE("\x80\2]q\0h\0a.", "no tensors by name");
    REFUSE("\x80\2}q\0(X\n\0\0\0state_dicth\0u.", "no tensors by name");
}

static void what_is_no_state_dict_says_what_would_be(void **state)
{
    struct bytes p = {0};
    struct zip_made z = {0};
    struct tensors t;

    bytes_add(&p, "\x80\2}.", 4);
    zip_add(&z, "m/data.pkl", p.at, p.len, false);
    zip_add(&z, "m/constants.pkl", p.at, p.len, false);
    zip_end(&z);
    assert_true(pth_sniff(z.file.at, z.file.len));
    assert_int_equal(pth_read(&t, "m.pt", z.file.at, z.file.len), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "TorchScript"));
    zip_made_fini(&z);
    z = (struct zip_made){0};
    zip_add(&z, "m/data.pkl", p.at, p.len, true);
    zip_end(&z);
    assert_int_equal(pth_read(&t, "m.pt", z.file.at, z.file.len), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "compressed, want it stored"));
    zip_made_fini(&z);
    z = (struct zip_made){0};
    zip_add(&z, "m/data.pkl", p.at, p.len, false);
    zip_add(&z, "m/byteorder", "big", 3, false);
    zip_end(&z);
    assert_int_equal(pth_read(&t, "m.pt", z.file.at, z.file.len), SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "big-endian"));
    zip_made_fini(&z);
    bytes_fini(&p);
}

/* ---- archives ---- */

static shoal_status open_archive(const char *manifest, const char *extra)
{
    struct zip_made z = {0};
    shoal_model *m = NULL;
    shoal_status st;

    zip_add(&z, "w.pth", "x", 1, true);
    if (extra)
        zip_add(&z, extra, "{}", 2, true);
    zip_add(&z, "MAR-INF/MANIFEST.json", manifest, strlen(manifest), true);
    zip_end(&z);
    assert_true(mar_sniff(z.file.at, z.file.len));
    st = shoal_model_open_memory(&m, "x.mar", z.file.at, z.file.len);
    assert_null(m);
    zip_made_fini(&z);
    return st;
}

#define MANIFEST(file, handler)                                                                    \
    "{\"model\": {\"serializedFile\": \"" file "\", \"handler\": \"" handler "\"}}"

static void an_archive_needs_a_handler_that_is_known_and_weights_within(void **state)
{
    static const struct {
        const char *manifest, *because;
    } bad[] = {
        {"[]", "want an object"},
        {"{", "JSON: line 1"},
        {"{\"model\": 3}", "no serializedFile"},
        {MANIFEST("w.pth", "mine.py"), "mine.py, a program that is not run here"},
        {MANIFEST("w.pth", "mine:handle"), "a program that is not run here"},
        {MANIFEST("w.pth", "object_detector"), "`object_detector`, want image_classifier"},
        {MANIFEST("../w.pth", "image_classifier"), "want a file of the archive"},
        {MANIFEST("/etc/passwd", "image_classifier"), "want a file of the archive"},
        {MANIFEST("v.pth", "image_classifier"), "`v.pth`, which is not in it"},
        {MANIFEST("w.pth", "image_classifier"), "neither safetensors nor"},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(open_archive(bad[i].manifest, NULL), SHOAL_EFORMAT);
        assert_non_null(strstr(shoal_error(), bad[i].because));
    }
    assert_int_equal(open_archive(MANIFEST("w.pth", "image_classifier"), "index_to_name.json"),
                     SHOAL_EFORMAT);
    assert_non_null(strstr(shoal_error(), "found no name"));
}

/* ---- layers ---- */

static void import_fails(const char *name, size_t keys, const struct bytes *p, const char *because)
{
    struct zip_made z = archive_of(p, keys, 6);
    shoal_model *m = NULL;

    assert_int_not_equal(shoal_model_open_memory(&m, name, z.file.at, z.file.len), SHOAL_OK);
    assert_non_null(strstr(shoal_error(), because));
    zip_made_fini(&z);
}

static void layers_that_do_not_fit_are_refused_with_both_sizes(void **state)
{
    struct bytes p = {0};

    begin(&p);
    add_tensor(&p, "0.weight", FLOATS, 'a', 6, "K\2K\3\x86", "K\3K\1\x86");
    add_tensor(&p, "2.weight", FLOATS, 'b', 6, "K\2K\3\x86", "K\3K\1\x86");
    end(&p);
    import_fails("x.pth", 2, &p, "2 takes 3 numbers and 0 before it gives 2");
    p.len = 0;
    begin(&p);
    add_tensor(&p, "0.weight", FLOATS, 'a', 6, "K\2K\3\x86", "K\3K\1\x86");
    add_tensor(&p, "0.bias", FLOATS, 'b', 6, "K\6\x85", "K\1\x85");
    end(&p);
    import_fails("x.pth", 2, &p, "0.bias is 6, want 2");
    p.len = 0;
    begin(&p);
    add_tensor(&p, "conv.weight", FLOATS, 'a', 6, "K\1K\2K\3\x87", "K\6K\3K\1\x87");
    end(&p);
    import_fails("x.pth", 1, &p, "found conv.weight of 1 x 2 x 3, want a VGG");
    p.len = 0;
    begin(&p);
    add_tensor(&p, "0.weight", "ctorch\nIntStorage\n", 'a', 6, "K\2K\3\x86", "K\3K\1\x86");
    end(&p);
    import_fails("x.pth", 1, &p, "numbers of 0.weight are \"I32\"");
    bytes_fini(&p);
}

/* y = W x, of a layer without a bias, through softmax: W is 0.5, 1, ... 3. */
static void a_layer_answers_as_its_numbers_say(void **state)
{
    struct bytes p = {0};
    struct zip_made z;
    shoal_model *m = NULL;
    float x[] = {1, 0, -1}, y[2];

    begin(&p);
    add_tensor(&p, "module.fc.weight", FLOATS, 'a', 6, "K\2K\3\x86", "K\1K\2\x86");
    end(&p);
    z = archive_of(&p, 1, 6);
    assert_int_equal(shoal_model_open_memory(&m, "x.pth", z.file.at, z.file.len), SHOAL_OK);
    assert_string_equal(shoal_net_spec(shoal_model_net(m)),
                        "mlp inputs=3 layers= outputs=2 activation=relu loss=softmax");
    assert_non_null(shoal_net_fact(shoal_model_net(m), "assumed"));
    assert_int_equal(shoal_net_predict(shoal_model_net(m), x, 1, y), SHOAL_OK);
    /* Rows of W by these strides: 0.5 1.5 2.5 and 1 2 3; both give -2. */
    assert_true(fabsf(y[0] - 0.5f) < 1e-6f && fabsf(y[1] - 0.5f) < 1e-6f);
    x[2] = 0;
    assert_int_equal(shoal_net_predict(shoal_model_net(m), x, 1, y), SHOAL_OK);
    assert_true(fabsf(y[1] - 1 / (1 + expf(-0.5f))) < 1e-6f);
    shoal_model_close(m);
    zip_made_fini(&z);
    bytes_fini(&p);
}

/* ---- pictures ---- */

/* Pillow's Image.resize of such a picture, then CenterCrop: torchvision's numbers. */
static void pictures_are_prepared_as_pillow_and_torchvision_do(void **state)
{
    static const uint8_t want[] = {
        98,  61,  93,  139, 62,  111, 136, 151, 52,  117, 133, 153, 75,  104, 71,  63,
        155, 174, 111, 81,  169, 163, 63,  71,  171, 162, 153, 133, 116, 139, 151, 136,
        150, 188, 154, 152, 105, 105, 144, 170, 145, 66,  142, 90,  129, 119, 163, 144};
    static const uint8_t longer[] = {123, 106, 81, 45, 70, 153, 111, 72, 49, 90, 135, 55};
    uint8_t at[9 * 7 * 3], tall[5 * 12 * 3], out[8 * 8 * 3];
    struct picture p = {.width = 9, .height = 7, .channels = 3, .at = at};
    struct picture q = {.width = 5, .height = 12, .channels = 3, .at = tall};

    for (unsigned i = 0; i < sizeof at; i++) {
        unsigned n = i / 27 * 37 + i / 3 % 9 * 53 + i % 3 * 91;

        at[i] = (uint8_t)(n * n / 7 % 256);
    }
    for (unsigned i = 0; i < sizeof tall; i++) {
        unsigned n = i / 15 * 37 + i / 3 % 5 * 53 + i % 3 * 91;

        tall[i] = (uint8_t)(n * n / 7 % 256);
    }
    assert_int_equal(picture_prepare(out, &p, 5, 4, 4), SHOAL_OK);
    assert_memory_equal(out, want, sizeof want);
    assert_int_equal(picture_prepare(out, &q, 8, 8, 8), SHOAL_OK);
    assert_memory_equal(out, longer, sizeof longer);
    assert_int_equal(picture_prepare(out, &q, 7, 8, 8), SHOAL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_is_a_window_on_a_storage),
        cmocka_unit_test(a_tensor_larger_than_its_storage_is_refused),
        cmocka_unit_test(a_storage_has_the_numbers_that_the_pickle_says),
        cmocka_unit_test(names_and_opcodes_that_are_not_of_tensors_are_refused_by_name),
        cmocka_unit_test(bombs_and_stumps_are_refused),
        cmocka_unit_test(nesting_costs_no_stack),
        cmocka_unit_test(what_is_no_state_dict_says_what_would_be),
        cmocka_unit_test(an_archive_needs_a_handler_that_is_known_and_weights_within),
        cmocka_unit_test(layers_that_do_not_fit_are_refused_with_both_sizes),
        cmocka_unit_test(a_layer_answers_as_its_numbers_say),
        cmocka_unit_test(pictures_are_prepared_as_pillow_and_torchvision_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
