/* One picture from a stranger's bytes: what decoding it may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "saved/saved.h"
#include "folder.h"

#include <sys/wait.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

/* ---- pictures ---- */

/* A grey progressive JPEG that comes in so many passes: the mean of each block,
 * then its 63 other coefficients one at a time, four times with a bit more. */
static char *jpeg_of(size_t *len, unsigned width, unsigned height, int passes)
{
    jpeg_scan_info scans[1 + 4 * 63] = {{.comps_in_scan = 1}};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long bytes = 0;
    uint8_t *row = calloc(width, 1);

    for (int i = 1; i < passes; i++)
        scans[i] = (jpeg_scan_info){.comps_in_scan = 1,
                                    .Ss = 1 + (i - 1) % 63,
                                    .Se = 1 + (i - 1) % 63,
                                    .Ah = i <= 63 ? 0 : 4 - (i - 1) / 63,
                                    .Al = 3 - (i - 1) / 63};
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &bytes);
    c.image_width = width;
    c.image_height = height;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    c.scan_info = scans;
    c.num_scans = passes;
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height)
        jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    *len = bytes;
    return (char *)data;
}

static char *png_of(size_t *len, unsigned width, unsigned height)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
    uint8_t *at = calloc((size_t)width * height, 3);
    char *data;

    image.format = PNG_FORMAT_RGB;
    memset(at, 77, (size_t)width * height * 3);
    *len = PNG_IMAGE_PNG_SIZE_MAX(image);
    data = malloc(*len);
    assert_true(png_image_write_to_memory(&image, data, len, 0, at, 0, NULL));
    free(at);
    return data;
}

/* ---- what their heads say ---- */

static void a_head_says_the_size_without_the_rest(void **state)
{
    unsigned width, height;
    size_t len;
    char *data = png_of(&len, 31, 17);

    (void)state;
    assert_int_equal(picture_size("x.png", data, len - 20, &width, &height), SHOAL_OK);
    assert_int_equal(width, 31);
    assert_int_equal(height, 17);
    free(data);
    data = jpeg_of(&len, 19, 45, 10);
    assert_int_equal(picture_size("x.jpg", data, len - 20, &width, &height), SHOAL_OK);
    assert_int_equal(width, 19);
    assert_int_equal(height, 45);
    assert_int_equal(picture_size("x.jpg", data, 20, &width, &height), SHOAL_EFORMAT);
    assert_int_equal(picture_size("x.txt", "no picture", 10, &width, &height), SHOAL_EFORMAT);
    assert_int_equal(width + height, 0);
    free(data);
}

static void the_head_of_a_picture_too_large_is_refused(void **state)
{
    unsigned width, height;
    size_t len;
    char *data = png_of(&len, 1, (unsigned)PICTURE_MAX_SIDE + 1);

    (void)state;
    assert_int_equal(picture_size("x.png", data, len, &width, &height), SHOAL_ELIMIT);
    assert_error_has("x.png: a picture of 1 x ");
    free(data);
}

/* ---- what they cost ---- */

static shoal_status decoded(unsigned width, unsigned height, int passes)
{
    struct picture p;
    size_t len;
    char *data = jpeg_of(&len, width, height, passes);
    shoal_status st = picture_decode(&p, "x.jpg", data, len, 1);

    picture_fini(&p);
    free(data);
    return st;
}

static void a_jpeg_has_at_most_64_passes(void **state)
{
    (void)state;
    assert_int_equal(decoded(16, 16, 10), SHOAL_OK);
    assert_int_equal(decoded(16, 16, 64), SHOAL_OK);
    assert_int_equal(decoded(16, 16, 65), SHOAL_EFORMAT);
    assert_error_has("more passes than a JPEG needs");
    assert_int_equal(decoded(16, 16, 1 + 4 * 63), SHOAL_EFORMAT);
}

static void a_huge_jpeg_has_fewer_passes(void **state)
{
    (void)state;
    assert_int_equal(decoded(4096, 4096, 32), SHOAL_OK);
    assert_int_equal(decoded(4096, 4096, 33), SHOAL_EFORMAT);
    assert_error_has("more passes than a JPEG needs");
}

/* ---- channels ---- */

static void pixels_have_1_or_3_channels(void **state)
{
    size_t len[2];
    char *data[] = {png_of(&len[0], 40, 30), jpeg_of(&len[1], 40, 30, 1)};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (unsigned channels = 0; channels < 6; channels++) {
            bool fine = channels == 1 || channels == 3;
            struct picture p;

            assert_int_equal(picture_decode(&p, "x", data[i], len[i], channels),
                             fine ? SHOAL_OK : SHOAL_EINVAL);
            assert_int_equal(p.channels, fine ? channels : 0);
            picture_fini(&p);
        }
    free(data[0]);
    free(data[1]);
}

/* A perceptron that says what its inputs are, as a file. */
static void put_net(const char *path, size_t inputs, const char *channels, const char *side)
{
    struct net *net;
    shoal_net *t;
    char spec[NET_SPEC];

    snprintf(spec, sizeof spec, "mlp inputs=%zu layers= outputs=2 activation=relu loss=softmax",
             inputs);
    assert_int_equal(net_new(&net, spec), SHOAL_OK);
    assert_int_equal(saved_net_new(&t, net, mem_map(net->size * sizeof(float))), SHOAL_OK);
    assert_int_equal(saved_net_fact(t, "channels", "%s", channels), SHOAL_OK);
    assert_int_equal(saved_net_fact(t, "height", "%s", side), SHOAL_OK);
    assert_int_equal(saved_net_fact(t, "width", "%s", side), SHOAL_OK);
    assert_int_equal(shoal_net_save(t, path), SHOAL_OK);
    shoal_net_close(t);
}

static shoal_status asked(const char *path)
{
    const char *picture = "x.png";
    shoal_net *t;
    float y[2];
    size_t done;
    shoal_status st = shoal_net_open(&t, path);

    if (st == SHOAL_OK)
        st = shoal_net_predict_pictures(t, &picture, 1, y, &done);
    shoal_net_close(t);
    return st;
}

static void a_net_of_pictures_with_other_channels_is_refused_where_it_is_opened(void **state)
{
    size_t len;
    char *data = png_of(&len, 400, 300);

    (void)state;
    put_file("x.png", data, len);
    put_net("3.shoal", 3 * 16, "3", "4");
    assert_int_equal(asked("3.shoal"), SHOAL_OK);
    put_net("2.shoal", 2 * 16, "2", "4");
    assert_int_equal(asked("2.shoal"), SHOAL_EFORMAT);
    assert_error_has("2.shoal: a net of pictures with 2 channels, want 1 (grey) or 3 (colours)");
    put_net("1000.shoal", 1000, "1000", "1");
    assert_int_equal(asked("1000.shoal"), SHOAL_EFORMAT);
    assert_error_has("1000.shoal: a net of pictures with 1000 channels");
    free(data);
}

/* ---- chunks beside the pixels ---- */

static void put_number(unsigned char *at, size_t x)
{
    for (size_t i = 0; i < 4; i++)
        at[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* A text chunk of many megabytes, in few bytes; for free(). */
static unsigned char *text_chunk(size_t *len)
{
    enum { TEXT = 7 << 20 };
    uLongf packed = compressBound(TEXT);
    unsigned char *text = malloc(TEXT), *chunk = malloc(packed + 17);

    memset(text, 'a', TEXT);
    assert_int_equal(compress2(chunk + 13, &packed, text, TEXT, 9), Z_OK);
    put_number(chunk, packed + 5);
    memcpy(chunk + 4, "zTXtkey\0\0", 9);
    put_number(chunk + 13 + packed, crc32(0, chunk + 4, (uInt)(packed + 9)));
    *len = packed + 17;
    free(text);
    return chunk;
}

/* In a process of its own, whose peak is no other test's. */
static void decode_within(const unsigned char *data, size_t len, uint64_t bytes)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        uint64_t before = mem_peak();
        struct picture p;
        bool good =
            picture_decode(&p, "x.png", data, len, 3) == SHOAL_OK && p.width == 31 && p.at[0] == 77;

        _exit(good && mem_peak() - before < bytes ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void texts_in_a_png_are_not_unpacked(void **state)
{
    enum { HEAD = 33, TEXTS = 100 };
    size_t len, each;
    char *png = png_of(&len, 31, 17);
    unsigned char *text = text_chunk(&each), *all = malloc(len + TEXTS * each), *to = all;

    (void)state;
    memcpy(to, png, HEAD);
    to += HEAD;
    for (size_t i = 0; i < TEXTS; i++, to += each)
        memcpy(to, text, each);
    memcpy(to, png + HEAD, len - HEAD);
    decode_within(all, len + TEXTS * each, (uint64_t)64 << 20);
    free(all);
    free(text);
    free(png);
}

static void a_png_that_is_cut_off_is_refused_at_every_byte(void **state)
{
    size_t len;
    char *png = png_of(&len, 31, 17), *part;
    struct picture p;

    (void)state;
    for (size_t n = 0; n < len - 12; n++) { /* libpng needs no end chunk */
        part = malloc(n + !n);
        memcpy(part, png, n);
        assert_int_equal(picture_decode(&p, "x.png", part, n, 3), SHOAL_EFORMAT);
        assert_null(p.at);
        free(part);
    }
    free(png);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(pixels_have_1_or_3_channels),
        HERE(a_net_of_pictures_with_other_channels_is_refused_where_it_is_opened),
        HERE(a_head_says_the_size_without_the_rest),
        HERE(the_head_of_a_picture_too_large_is_refused),
        HERE(a_jpeg_has_at_most_64_passes),
        HERE(a_huge_jpeg_has_fewer_passes),
        HERE(texts_in_a_png_are_not_unpacked),
        HERE(a_png_that_is_cut_off_is_refused_at_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
