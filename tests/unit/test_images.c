/* Pictures: from files of every format to the batches a model sees. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "samples/samples.h"
#include "folder.h"

#include <jpeglib.h>
#include <png.h>

static const struct shoal_images_opts plain = {.size = 8, .keep = 1 << 20, .threads = 2};

/* ---- files to read ---- */

static uint8_t pixel(size_t picture, size_t i)
{
    return (uint8_t)rng_at(7, picture, i);
}

/* n records of CIFAR, labels 0, 1, 2, ... */
static void put_cifar(const char *path, size_t n, size_t labels, size_t cut)
{
    size_t each = 3072 + labels;
    uint8_t *all = calloc(n, each);

    for (size_t r = 0; r < n; r++) {
        all[r * each + labels - 1] = (uint8_t)(r % 10);
        for (size_t i = 0; i < 3072; i++)
            all[r * each + labels + i] = pixel(r, i);
    }
    put_file(path, all, n * each - cut);
    free(all);
}

static void put_idx(size_t n, size_t labels)
{
    uint8_t images[16 + 4 * 6] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)n, 0, 0, 0, 2, 0, 0, 0, 3};
    uint8_t classes[8 + 4] = {0, 0, 8, 1, 0, 0, 0, (uint8_t)labels, 2, 0, 1, 2};

    for (size_t i = 0; i < n * 6; i++)
        images[16 + i] = pixel(0, i);
    put_file("train-images-idx3-ubyte", images, 16 + n * 6);
    put_file("train-labels-idx1-ubyte", classes, 8 + labels);
}

static void put_jpeg(const char *path, unsigned width, unsigned height, uint8_t grey)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t *row = malloc(width * 3);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    memset(row, grey, width * 3);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = width;
    c.image_height = height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height)
        jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    fclose(f);
    free(row);
}

/* The size in the frame header (marker 0xffc0) becomes another. */
static void resize_head(const char *path, unsigned width, unsigned height)
{
    size_t len, at = 0;
    char *data = get_file(path, &len);

    while (!((uint8_t)data[at] == 0xff && (uint8_t)data[at + 1] == 0xc0))
        at++;
    data[at + 5] = (char)(height >> 8);
    data[at + 6] = (char)height;
    data[at + 7] = (char)(width >> 8);
    data[at + 8] = (char)width;
    put_file(path, data, len);
    free(data);
}

/* Left half red, right half blue. */
static void put_png(const char *path, unsigned width, unsigned height)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
    uint8_t *at = calloc(width * height, 3);

    image.format = PNG_FORMAT_RGB;
    for (size_t p = 0; p < (size_t)width * height; p++)
        at[p * 3 + (p % width < width / 2 ? 0 : 2)] = 255;
    assert_true(png_image_write_to_file(&image, path, 0, at, 0, NULL));
    free(at);
}

static void put_classes(void)
{
    assert_int_equal(mkdir("set", 0700) | mkdir("set/dog", 0700) | mkdir("set/cat", 0700), 0);
    put_jpeg("set/dog/a.jpg", 20, 10, 200);
    put_png("set/cat/b.PNG", 16, 16);
    put_jpeg("set/cat/c.jpeg", 9, 30, 100);
}

static struct shoal_images *opened(const char *path, const struct shoal_images_opts *opts)
{
    shoal_images *set;
    shoal_status st = shoal_images_open(&set, path, opts);

    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return set;
}

static void assert_refused(const char *path, const char *part)
{
    shoal_images *set;

    assert_int_not_equal(shoal_images_open(&set, path, &plain), SHOAL_OK);
    assert_null(set);
    assert_error_has(part);
}

/* ---- CIFAR and IDX ---- */

static void a_cifar_folder_has_its_batches_in_order(void **state)
{
    struct shoal_images_opts test = plain;
    shoal_images *set;

    (void)state;
    put_cifar("data_batch_1.bin", 12, 1, 0);
    put_cifar("data_batch_2.bin", 3, 1, 0);
    put_cifar("test_batch.bin", 5, 1, 0);
    set = opened(".", &plain);
    assert_int_equal(set->count, 15);
    assert_int_equal(set->classes, 10);
    assert_string_equal(set->names[3], "cat");
    assert_int_equal(set->labels[11], 1);
    assert_int_equal(set->labels[14], 2);
    assert_int_equal(set->pixels[11 * 3072 + 100], pixel(11, 100));
    shoal_images_close(set);
    assert_true(shoal_images_has_test("."));
    test.test = true;
    set = opened(".", &test);
    assert_int_equal(set->count, 5);
    shoal_images_close(set);
    remove("test_batch.bin");
    assert_false(shoal_images_has_test("."));
    set = opened(".", &test);
    assert_int_equal(set->count, 15);
    shoal_images_close(set);
}

static void a_cifar_100_file_has_two_labels(void **state)
{
    shoal_images *set;

    (void)state;
    put_cifar("train.bin", 4, 2, 0);
    set = opened("train.bin", &plain);
    assert_int_equal(set->count, 4);
    assert_int_equal(set->classes, 100);
    assert_int_equal(set->labels[3], 3);
    assert_int_equal(set->pixels[3 * 3072], pixel(3, 0));
    shoal_images_close(set);
}

static void a_cifar_file_that_was_cut_off_is_refused(void **state)
{
    (void)state;
    put_cifar("data_batch_1.bin", 12, 1, 100);
    assert_refused("data_batch_1.bin", "data_batch_1.bin: 36776 bytes, want a multiple of 3,073");
    assert_refused(".", "36776 bytes");
}

static void a_label_beyond_the_classes_is_refused(void **state)
{
    size_t len;
    char *data;

    (void)state;
    put_cifar("x.bin", 2, 1, 0);
    data = get_file("x.bin", &len);
    data[3073] = 10;
    put_file("x.bin", data, len);
    free(data);
    assert_refused("x.bin", "picture 1 has label 10, want less than 10");
}

static void idx_files_come_in_pairs(void **state)
{
    shoal_images *set;

    (void)state;
    put_idx(4, 4);
    set = opened(".", &plain);
    assert_int_equal(set->count, 4);
    assert_int_equal(set->classes, 3);
    assert_int_equal(set->channels, 1);
    assert_int_equal(set->height, 2);
    assert_int_equal(set->width, 3);
    assert_int_equal(set->labels[0], 2);
    assert_int_equal(set->pixels[3 * 6 + 5], pixel(0, 23));
    assert_string_equal(set->names[2], "2");
    shoal_images_close(set);
    put_idx(4, 3);
    assert_refused("train-images-idx3-ubyte", "4 pictures and 3 labels");
    remove("train-labels-idx1-ubyte");
    assert_refused("train-images-idx3-ubyte", "train-labels-idx1-ubyte");
}

static void a_list_beside_the_data_names_the_classes(void **state)
{
    shoal_images *set;

    (void)state;
    put_idx(4, 4);
    put_text("classes.txt", "shirt\nshoe\n\nbag\n");
    set = opened("train-images-idx3-ubyte", &plain);
    assert_string_equal(set->names[2], "bag");
    shoal_images_close(set);
    put_text("classes.txt", "shirt\n");
    assert_refused(".", "classes.txt: 1 names, want one for each of 3 classes");
}

/* ---- folders of classes ---- */

static void a_folder_of_folders_has_a_class_for_each(void **state)
{
    shoal_images *set;
    uint8_t kept[192], again[192];
    struct shoal_images_opts lazy = plain;

    (void)state;
    put_classes();
    set = opened("set", &plain);
    assert_int_equal(set->count, 3);
    assert_int_equal(set->classes, 2);
    assert_string_equal(set->names[0], "cat");
    assert_int_equal(set->labels[2], 1);
    assert_int_equal(set->channels, 3);
    assert_non_null(set->pixels);
    assert_int_equal(images_read_one(set, 0, kept), SHOAL_OK);
    shoal_images_close(set);
    lazy.keep = 10; /* no room: decoded again each time */
    set = opened("set", &lazy);
    assert_null(set->pixels);
    assert_int_equal(images_read_one(set, 0, again), SHOAL_OK);
    assert_memory_equal(kept, again, sizeof kept);
    shoal_images_close(set);
}

static void a_class_without_a_picture_is_refused(void **state)
{
    (void)state;
    put_classes();
    assert_int_equal(mkdir("set/bird", 0700), 0);
    assert_refused("set", "set/bird: no .jpg, .jpeg or .png file");
    put_text("set/bird/notes.txt", "none yet");
    assert_refused("set", "set/bird: no .jpg, .jpeg or .png file");
}

static void what_is_no_picture_is_refused_by_name(void **state)
{
    size_t len;
    char *data;

    (void)state;
    put_classes();
    put_text("set/dog/z.jpg", "this is a text, whatever its name says");
    assert_refused("set", "set/dog/z.jpg: neither a JPEG nor a PNG picture");
    put_jpeg("set/dog/z.jpg", 64, 64, 9);
    data = get_file("set/dog/z.jpg", &len);
    put_file("set/dog/z.jpg", data, len / 2);
    free(data);
    assert_refused("set", "set/dog/z.jpg");
    put_file("set/dog/z.jpg", "\xff\xd8\xff\xe0garbage", 11);
    assert_refused("set", "set/dog/z.jpg");
    put_png("set/dog/z.jpg", 30, 30);
    data = get_file("set/dog/z.jpg", &len);
    put_file("set/dog/z.jpg", data, len - 30);
    free(data);
    assert_refused("set", "set/dog/z.jpg");
}

static void a_picture_too_large_is_refused_before_memory_is_taken(void **state)
{
    uint64_t before;
    struct picture p;

    (void)state;
    put_jpeg("huge.jpg", 64, 64, 9);
    resize_head("huge.jpg", 30000, 30000);
    before = mem_peak();
    assert_int_equal(picture_read(&p, "huge.jpg", 3), SHOAL_ELIMIT);
    assert_error_has("huge.jpg: a picture of 30000 x 30000, want sides of at most 16384");
    assert_null(p.at);
    assert_true(mem_peak() < before + (8 << 20));
    resize_head("huge.jpg", 16000, 16000);
    assert_int_equal(picture_read(&p, "huge.jpg", 3), SHOAL_ELIMIT);
}

static void a_folder_of_nothing_is_refused(void **state)
{
    (void)state;
    assert_refused(".", "neither CIFAR nor IDX files nor a folder for each class");
    assert_refused("nowhere", "nowhere: cannot be read");
}

/* ---- sizes ---- */

static void the_shorter_side_is_scaled_and_the_middle_kept(void **state)
{
    uint8_t out[3 * 4 * 4];
    struct picture p;

    (void)state;
    put_png("wide.png", 32, 8);
    assert_int_equal(picture_read(&p, "wide.png", 3), SHOAL_OK);
    assert_int_equal(picture_fit(out, &p, 4, 4), SHOAL_OK);
    for (size_t y = 0; y < 4; y++) {
        assert_int_equal(out[y * 4], 255); /* red on the left */
        assert_int_equal(out[y * 4 + 3], 0);
        assert_int_equal(out[32 + y * 4], 0);
        assert_int_equal(out[32 + y * 4 + 3], 255); /* blue on the right */
    }
    picture_fini(&p);
}

/* A small JPEG in colour: 0: in one pass, 1: progressive, 2: one colour after the other. */
static unsigned char *jpeg_as(int kind, unsigned long *len)
{
    jpeg_scan_info apart[3] = {{.comps_in_scan = 1, .component_index = {0}, .Se = 63},
                               {.comps_in_scan = 1, .component_index = {1}, .Se = 63},
                               {.comps_in_scan = 1, .component_index = {2}, .Se = 63}};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    uint8_t pixels[16 * 3] = {0};
    JSAMPROW row = pixels;

    *len = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, len);
    c.image_width = 16;
    c.image_height = 8;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    if (kind == 1)
        jpeg_simple_progression(&c);
    if (kind == 2) {
        c.scan_info = apart;
        c.num_scans = 3;
    }
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < 8)
        jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return data;
}

static void a_jpeg_in_passes_takes_its_coefficients_too(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        unsigned long len;
        unsigned char *data = jpeg_as(kind, &len);

        assert_int_equal(picture_cost(data, len, 16, 8, 3), 16 * 8 * (kind == 0 ? 3 : 9));
        for (unsigned long cut = 0; cut < len; cut++) { /* a copy, for sanitizers */
            unsigned char *copy = malloc(cut ? cut : 1);

            memcpy(copy, data, cut);
            assert_true(picture_cost(copy, cut, 16, 8, 3) >= 16 * 8 * 3);
            free(copy);
        }
        free(data);
    }
    assert_int_equal(picture_cost("\x89PNG\r\n\x1a\n", 8, 16, 8, 1), 16 * 8);
}

/* Behind a marker without a length: who takes what follows for one lands, within a comment
 * of the most bytes, at the head of a picture in one pass. */
static void a_marker_without_a_length_hides_no_passes(void **state)
{
    static const unsigned char fake[] = {0xff, 0xc0, 0, 8, 8, 0, 8, 0, 16, 1, 0xff, 0xda, 0, 3, 1};
    static const unsigned char bare[] = {0x01, 0xd0, 0xd7};
    enum { LAND = 2 + 2 + 0xffef, REST = 4 + 2 + 0xffff };
    unsigned long len;
    unsigned char *data = jpeg_as(1, &len), *all = calloc(1, REST + len);
    unsigned width, height;

    (void)state;
    memcpy(all, "\xff\xd8\xff\x01\xff\xef\xff\xff", 8);
    memcpy(all + LAND, fake, sizeof fake);
    memcpy(all + REST, data + 2, len - 2);
    for (size_t i = 0; i < sizeof bare; i++) {
        all[3] = bare[i];
        assert_int_equal(picture_size("x.jpg", all, REST + len - 2, &width, &height), SHOAL_OK);
        assert_int_equal(width * 100 + height, 1608);
        assert_int_equal(picture_cost(all, REST + len - 2, width, height, 3), 16 * 8 * 9);
    }
    free(all);
    free(data);
}

static void a_picture_of_one_colour_keeps_it_at_every_size(void **state)
{
    static uint8_t out[3 * 40 * 56];
    struct picture p;

    (void)state;
    put_jpeg("grey.jpg", 21, 13, 77);
    for (unsigned channels = 1; channels <= 3; channels += 2) {
        assert_int_equal(picture_read(&p, "grey.jpg", channels), SHOAL_OK);
        for (unsigned side = 1; side < 40; side += 3) {
            assert_int_equal(picture_fit(out, &p, side, side + side / 3), SHOAL_OK);
            for (size_t i = 0; i < channels * side * (side + side / 3); i++)
                assert_in_range(out[i], 76, 78);
        }
        picture_fini(&p);
    }
}

/* ---- what a model sees ---- */

static void moments_are_those_of_all_pixels(void **state)
{
    shoal_images *set;
    float mean[3], std[3], again[3], std1[3];
    double sum = 0, squares = 0;

    (void)state;
    put_cifar("x.bin", 7, 1, 0);
    set = opened("x.bin", &plain);
    assert_int_equal(images_moments(set, 3, mean, std), SHOAL_OK);
    assert_int_equal(images_moments(set, 1, again, std1), SHOAL_OK);
    assert_memory_equal(mean, again, sizeof mean);
    for (size_t i = 0; i < 7 * 1024; i++) {
        double x = set->pixels[i / 1024 * 3072 + 2048 + i % 1024] / 255.0;

        sum += x / 7168;
        squares += x * x / 7168;
    }
    assert_true(fabs((double)mean[2] - sum) < 1e-6);
    assert_true(fabs((double)std[2] - sqrt(squares - sum * sum)) < 1e-6);
    shoal_images_close(set);
}

enum { PICTURES = 30, FLOATS = 3072 };

static struct feed *feeding(const shoal_images *set, unsigned pad, bool flip, unsigned threads)
{
    struct image_feed_opts opts = {.batch = PICTURES,
                                   .seed = 5,
                                   .pad = pad,
                                   .flip = flip,
                                   .threads = threads,
                                   .mean = {0.5f, 0.5f, 0.5f},
                                   .std = {0.25f, 0.25f, 0.25f}};
    struct feed *f;

    assert_int_equal(image_feed_new(&f, set, &opts), SHOAL_OK);
    return f;
}

static void what_was_prepared_ahead_is_what_is_prepared_when_asked(void **state)
{
    float *ahead = malloc(PICTURES * FLOATS * sizeof(float));
    float *now = malloc(PICTURES * FLOATS * sizeof(float));
    uint32_t ids[PICTURES], labels[PICTURES], labels_now[PICTURES];
    shoal_images *set;
    struct feed *a, *b;

    (void)state;
    put_cifar("x.bin", PICTURES, 1, 0);
    set = opened("x.bin", &plain);
    a = feeding(set, 4, true, 3);
    b = feeding(set, 4, true, 1);
    for (uint32_t i = 0; i < PICTURES; i++)
        ids[i] = (i * 7) % PICTURES;
    for (unsigned epoch = 0; epoch < 5; epoch++) {
        image_feed_ahead(a, ids, PICTURES, epoch);
        image_feed_ahead(a, ids, PICTURES - 1, epoch);
        assert_int_equal(image_feed_fill(a, ids, PICTURES, epoch, ahead, labels), SHOAL_OK);
        assert_int_equal(image_feed_fill(a, ids, PICTURES - 1, epoch, now, labels), SHOAL_OK);
        assert_int_equal(image_feed_fill(b, ids, PICTURES, epoch, now, labels_now), SHOAL_OK);
        assert_memory_equal(ahead, now, PICTURES * FLOATS * sizeof(float));
        assert_memory_equal(labels, labels_now, (PICTURES - 1) * sizeof *labels);
        assert_int_equal(labels[1], 7);
    }
    image_feed_free(a);
    image_feed_free(b);
    shoal_images_close(set);
    free(ahead);
    free(now);
}

static void without_augmentation_a_picture_is_only_normalised(void **state)
{
    float x[FLOATS], want[FLOATS];
    uint32_t id = 2, label;
    shoal_images *set;
    struct feed *f;

    (void)state;
    put_cifar("x.bin", 4, 1, 0);
    set = opened("x.bin", &plain);
    f = feeding(set, 0, false, 1);
    assert_int_equal(image_feed_fill(f, &id, 1, 3, x, &label), SHOAL_OK);
    assert_int_equal(label, 2);
    assert_true(fabsf(x[9] - ((float)pixel(2, 9) / 255 - 0.5f) / 0.25f) < 1e-5f);
    for (size_t i = 0; i < FLOATS; i++)
        want[i] = ((float)set->pixels[2 * FLOATS + i] / 255 - 0.5f) / 0.25f;
    assert_memory_equal(x, want, sizeof x);
    image_feed_free(f);
    shoal_images_close(set);
}

/* Finds the shift and the side of a crop; -1 when it is none. */
static int crop_of(const float *x, const shoal_images *set, uint32_t id)
{
    for (int at = 0; at < 81 * 2; at++) {
        int top = at / 2 / 9 - 4, left = at / 2 % 9 - 4, same = 1;

        for (int y = 0; y < 32 && same; y++)
            for (int c = 0; c < 32 && same; c++) {
                int from = y + top, column = (at % 2 ? 31 - c : c) + left;
                bool inside = from >= 0 && from < 32 && column >= 0 && column < 32;
                float p =
                    inside ? (float)set->pixels[id * FLOATS + (size_t)(from * 32 + column)] : 0.0f;

                same = fabsf(x[y * 32 + c] - (p / 255 - 0.5f) / 0.25f) < 1e-5f;
            }
        if (same)
            return at;
    }
    return -1;
}

static void crops_are_shifted_and_flipped_anew_each_epoch(void **state)
{
    enum { EPOCHS = 64 };
    int seen[162] = {0}, different = 0, flipped = 0;
    float x[FLOATS];
    uint32_t id = 1, label;
    shoal_images *set;
    struct feed *f;

    (void)state;
    put_cifar("x.bin", 2, 1, 0);
    set = opened("x.bin", &plain);
    f = feeding(set, 4, true, 1);
    for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
        int at;

        assert_int_equal(image_feed_fill(f, &id, 1, epoch, x, &label), SHOAL_OK);
        at = crop_of(x, set, id);
        assert_true(at >= 0);
        different += !seen[at]++;
        flipped += at % 2;
    }
    assert_in_range(flipped, EPOCHS / 4, 3 * EPOCHS / 4);
    assert_true(different > EPOCHS / 2);
    image_feed_free(f);
    shoal_images_close(set);
}

static void a_picture_that_vanished_fails_where_it_is_asked_for(void **state)
{
    struct shoal_images_opts lazy = plain;
    uint32_t ids[3] = {0, 1, 2}, labels[3];
    float x[3 * 192];
    shoal_images *set;
    struct feed *f;

    (void)state;
    put_classes();
    lazy.keep = 0;
    set = opened("set", &lazy);
    remove("set/dog/a.jpg");
    f = feeding(set, 0, false, 2);
    image_feed_ahead(f, ids, 3, 0);
    assert_int_not_equal(image_feed_fill(f, ids, 3, 0, x, labels), SHOAL_OK);
    assert_error_has("set/dog/a.jpg");
    image_feed_free(f);
    shoal_images_close(set);
}

static void classes_take_the_numbers_of_the_model(void **state)
{
    char *names[] = {"bird", "dog", "cat"};
    shoal_images *set;

    (void)state;
    put_classes();
    set = opened("set", &plain);
    assert_int_equal(images_match_classes(set, "set", names, 3), SHOAL_OK);
    assert_int_equal(set->labels[0], 2);
    assert_int_equal(set->labels[2], 1);
    assert_int_equal(set->classes, 3);
    shoal_images_close(set);
    set = opened("set", &plain);
    assert_int_equal(images_match_classes(set, "set", names, 2), SHOAL_EINVAL);
    assert_error_has("set: found class cat, want one of the 2 of the model");
    shoal_images_close(set);
}

static void a_fingerprint_stands_for_pixels_and_labels(void **state)
{
    struct shoal_images *a, *b;

    (void)state;
    put_cifar("x.bin", 3, 1, 0);
    a = opened("x.bin", &plain);
    b = opened("x.bin", &plain);
    assert_true(images_fingerprint(a) == images_fingerprint(b));
    b->pixels[5000] ^= 1;
    assert_true(images_fingerprint(a) != images_fingerprint(b));
    b->pixels[5000] ^= 1;
    b->labels[2] ^= 1;
    assert_true(images_fingerprint(a) != images_fingerprint(b));
    shoal_images_close(a);
    shoal_images_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_cifar_folder_has_its_batches_in_order),
        HERE(a_cifar_100_file_has_two_labels),
        HERE(a_cifar_file_that_was_cut_off_is_refused),
        HERE(a_label_beyond_the_classes_is_refused),
        HERE(idx_files_come_in_pairs),
        HERE(a_list_beside_the_data_names_the_classes),
        HERE(a_folder_of_folders_has_a_class_for_each),
        HERE(a_class_without_a_picture_is_refused),
        HERE(what_is_no_picture_is_refused_by_name),
        HERE(a_picture_too_large_is_refused_before_memory_is_taken),
        HERE(a_folder_of_nothing_is_refused),
        HERE(the_shorter_side_is_scaled_and_the_middle_kept),
        HERE(a_jpeg_in_passes_takes_its_coefficients_too),
        HERE(a_marker_without_a_length_hides_no_passes),
        HERE(a_picture_of_one_colour_keeps_it_at_every_size),
        HERE(moments_are_those_of_all_pixels),
        HERE(what_was_prepared_ahead_is_what_is_prepared_when_asked),
        HERE(without_augmentation_a_picture_is_only_normalised),
        HERE(crops_are_shifted_and_flipped_anew_each_epoch),
        HERE(a_picture_that_vanished_fails_where_it_is_asked_for),
        HERE(classes_take_the_numbers_of_the_model),
        HERE(a_fingerprint_stands_for_pixels_and_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
