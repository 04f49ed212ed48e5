/* JPEG and PNG files become pixels. The only file that knows libjpeg-turbo and libpng.
 *
 * A file of some kilobytes may ask for gigabytes or minutes; each way is closed here:
 *
 *     sides, pixels       checked by the head, before anything is allocated
 *     progressive JPEG    every pass walks over the whole picture: passes times pixels are
 *                         limited while it is decoded (jpeg_watch)
 *     PNG's text chunks   compressed, and unpacked by libpng: left out before it sees them,
 *                         also one that the file ends in
 *
 * Both libraries end by longjmp when they fail: libjpeg to jpeg_decode, which holds all that
 * must be freed, libpng within its own simple reader. */
#include "samples/samples.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

/* A progressive JPEG of a few bytes may ask for any number of passes, and each
 * costs a walk over the whole picture. Real ones have about ten; the largest
 * picture may have 16, small ones 64. */
enum { SCANS_MAX = 64 };
#define SCANS_MAX_PIXELS (16 * PICTURE_MAX_PIXELS)

static shoal_status picture_check(const char *name, uint64_t width, uint64_t height)
{
    if (width == 0 || height == 0 || width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE ||
        width * height > PICTURE_MAX_PIXELS)
        return shoal_fail(SHOAL_ELIMIT,
                          "%s: a picture of %llu x %llu, want sides of at most %u and %llu million "
                          "pixels",
                          name, (unsigned long long)width, (unsigned long long)height,
                          (unsigned)PICTURE_MAX_SIDE,
                          (unsigned long long)(PICTURE_MAX_PIXELS / 1000000));
    return SHOAL_OK;
}

/* No channels: the size alone. */
static shoal_status picture_new(struct picture *p, const char *name, uint64_t width,
                                uint64_t height, unsigned channels)
{
    shoal_status st = picture_check(name, width, height);

    if (st != SHOAL_OK)
        return st;
    *p = (struct picture){
        .width = (unsigned)width, .height = (unsigned)height, .channels = channels};
    if (channels > 0)
        p->at = mem_array((size_t)(width * height), channels);
    return p->at || channels == 0 ? SHOAL_OK : SHOAL_ENOMEM;
}

void picture_fini(struct picture *p)
{
    free(p->at);
    *p = (struct picture){0};
}

/* ---- JPEG ---- */

struct jpeg {
    struct jpeg_decompress_struct d; /* first, so that the callbacks find the rest */
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf away;
    const char *name;
    const char *found; /* a reason that is not libjpeg's */
    bool cut_off;
};

static void jpeg_leave(j_common_ptr d)
{
    longjmp(((struct jpeg *)(void *)d)->away, 1);
}

/* Damage that libjpeg would paint over is a failure; what it only finds odd
 * (stray bytes between markers) is not. */
static void jpeg_remark(j_common_ptr d, int level)
{
    int code = d->err->msg_code;

    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
        ((struct jpeg *)(void *)d)->cut_off = true;
}

static void jpeg_ignore(j_common_ptr d)
{
    (void)d;
}

static void jpeg_watch(j_common_ptr d)
{
    struct jpeg *j = (struct jpeg *)(void *)d;
    uint64_t passes = (uint64_t)j->d.input_scan_number;

    if (passes <= SCANS_MAX && passes * j->d.image_width * j->d.image_height <= SCANS_MAX_PIXELS)
        return;
    j->found = "more passes than a JPEG needs";
    jpeg_leave(d);
}

static shoal_status jpeg_refuse(struct jpeg *j)
{
    char reason[JMSG_LENGTH_MAX] = "";

    if (!j->found)
        j->d.err->format_message((j_common_ptr)&j->d, reason);
    return shoal_fail(SHOAL_EFORMAT, "%s: found %s, want a JPEG picture", j->name,
                      j->found ? j->found : reason);
}

/* What can fail without a jump, between two that cannot. */
static shoal_status jpeg_head(struct jpeg *j, struct picture *out, unsigned channels)
{
    jpeg_read_header(&j->d, TRUE);
    if (j->d.jpeg_color_space == JCS_CMYK || j->d.jpeg_color_space == JCS_YCCK)
        return shoal_fail(SHOAL_EFORMAT, "%s: its colours are those of print (CMYK), want RGB",
                          j->name);
    j->d.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return picture_new(out, j->name, j->d.image_width, j->d.image_height, channels);
}

static shoal_status jpeg_rows(struct jpeg *j, struct picture *out)
{
    size_t pitch = (size_t)out->width * out->channels;

    jpeg_start_decompress(&j->d);
    while (j->d.output_scanline < j->d.output_height) {
        JSAMPROW row = out->at + j->d.output_scanline * pitch;

        jpeg_read_scanlines(&j->d, &row, 1);
    }
    if (j->cut_off)
        return shoal_fail(SHOAL_EFORMAT, "%s: the picture is cut off, want a whole JPEG", j->name);
    return SHOAL_OK;
}

static shoal_status jpeg_decode(struct picture *out, const char *name, const void *data, size_t len,
                                unsigned channels)
{
    struct jpeg *j = mem_array(1, sizeof *j);
    shoal_status st;

    if (!j)
        return SHOAL_ENOMEM;
    j->name = name;
    j->d.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = jpeg_leave;
    j->errors.emit_message = jpeg_remark;
    j->errors.output_message = jpeg_ignore;
    j->progress.progress_monitor = jpeg_watch;
    if (setjmp(j->away)) {
        st = jpeg_refuse(j);
    } else {
        jpeg_create_decompress(&j->d);
        j->d.progress = &j->progress;
        jpeg_mem_src(&j->d, data, (unsigned long)len);
        st = jpeg_head(j, out, channels);
        if (st == SHOAL_OK && channels > 0)
            st = jpeg_rows(j, out);
    }
    jpeg_destroy_decompress(&j->d);
    free(j);
    return st;
}

/* ---- PNG ---- */

/* Chunks that say nothing of the pixels. libpng unpacks and keeps a thousand of
 * them, 8 MB each, and its simple reader takes no other limits: a picture of some
 * kilobytes could ask for gigabytes. */
static bool png_spare(const unsigned char *chunk)
{
    static const char *const spare[] = {"tEXt", "zTXt", "iTXt", "sPLT", "eXIf", "pCAL", "sCAL"};

    for (size_t i = 0; i < sizeof spare / sizeof *spare; i++)
        if (memcmp(chunk + 4, spare[i], 4) == 0)
            return true;
    return false;
}

/* The bytes of a chunk with its length, name and sum, or what is left of a file
 * that is damaged, which libpng will find. */
static size_t png_chunk(const unsigned char *at, size_t left)
{
    size_t size = 0;

    if (left < 12)
        return left;
    for (size_t i = 0; i < 4; i++)
        size = size << 8 | at[i];
    return size > left - 12 ? left : 12 + size;
}

/* Bytes of a chunk's length and name. These are enough to leave it out when the file ends
 * within: libpng would take as much memory as the length says. */
enum { PNG_HEAD = 8 };

/* Without them; *len shrinks. NULL after shoal_fail. */
static unsigned char *png_bare(const unsigned char *data, size_t *len)
{
    unsigned char *out = mem_array(*len, 1);
    size_t to = 8, size;

    if (!out)
        return NULL;
    memcpy(out, data, 8);
    for (size_t at = 8; at < *len; at += size) {
        size = png_chunk(data + at, *len - at);
        if (*len - at >= PNG_HEAD && png_spare(data + at))
            continue;
        memcpy(out + to, data + at, size);
        to += size;
    }
    *len = to;
    return out;
}

static bool png_has_spare(const unsigned char *data, size_t len)
{
    for (size_t at = 8; len - at >= PNG_HEAD; at += png_chunk(data + at, len - at))
        if (png_spare(data + at))
            return true;
    return false;
}

/* libpng's own simple reader does the jumps; what is transparent becomes white. */
static shoal_status png_unpack(struct picture *out, const char *name, const void *data, size_t len,
                               unsigned channels)
{
    const png_color white = {255, 255, 255};
    png_image image = {.version = PNG_IMAGE_VERSION};
    shoal_status st = SHOAL_OK;

    if (png_image_begin_read_from_memory(&image, data, len)) {
        image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
        st = picture_new(out, name, image.width, image.height, channels);
        if (st == SHOAL_OK && channels > 0)
            png_image_finish_read(&image, &white, out->at, 0, NULL);
    }
    if (st == SHOAL_OK && PNG_IMAGE_FAILED(image))
        st = shoal_fail(SHOAL_EFORMAT, "%s: found %s, want a PNG picture", name, image.message);
    png_image_free(&image);
    return st;
}

static shoal_status png_decode(struct picture *out, const char *name, const void *data, size_t len,
                               unsigned channels)
{
    unsigned char *bare;
    shoal_status st;

    if (!png_has_spare(data, len))
        return png_unpack(out, name, data, len, channels);
    bare = png_bare(data, &len);
    st = bare ? png_unpack(out, name, bare, len, channels) : SHOAL_ENOMEM;
    free(bare);
    return st;
}

/* ---- either ---- */

static shoal_status picture_open(struct picture *out, const char *name, const void *data,
                                 size_t len, unsigned channels)
{
    const unsigned char *at = data;
    shoal_status st;

    *out = (struct picture){0};
    if (len > 3 && at[0] == 0xff && at[1] == 0xd8)
        st = jpeg_decode(out, name, data, len, channels);
    else if (len > 8 && png_sig_cmp(at, 0, 8) == 0)
        st = png_decode(out, name, data, len, channels);
    else
        st = shoal_fail(SHOAL_EFORMAT, "%s: neither a JPEG nor a PNG picture by its first bytes",
                        name);
    if (st != SHOAL_OK)
        picture_fini(out);
    return st;
}

shoal_status picture_decode(struct picture *out, const char *name, const void *data, size_t len,
                            unsigned channels)
{
    *out = (struct picture){0};
    if (channels != 1 && channels != 3)
        return shoal_fail(SHOAL_EINVAL, "%s: asked for %u channels a pixel, want 1 or 3", name,
                          channels);
    return picture_open(out, name, data, len, channels);
}

shoal_status picture_size(const char *name, const void *data, size_t len, unsigned *width,
                          unsigned *height)
{
    struct picture p;
    shoal_status st = picture_open(&p, name, data, len, 0);

    *width = p.width;
    *height = p.height;
    return st;
}

shoal_status picture_read(struct picture *out, const char *path, unsigned channels)
{
    char *data;
    size_t len;
    shoal_status st;

    *out = (struct picture){0};
    st = stream_slurp(&data, &len, path, PICTURE_MAX_FILE);
    if (st == SHOAL_OK)
        st = picture_decode(out, path, data, len, channels);
    free(data);
    return st;
}

/* ---- small pictures ---- */

/* The mean of the pixels of a box, of one channel. */
static uint8_t box_mean(const uint8_t *plane, unsigned width, unsigned x, unsigned y, unsigned box)
{
    uint64_t sum = 0;

    for (unsigned v = 0; v < box; v++)
        for (unsigned u = 0; u < box; u++)
            sum += plane[(size_t)(y * box + v) * width + x * box + u];
    return (uint8_t)(sum / ((uint64_t)box * box));
}

static shoal_status png_write(struct bytes *out, png_image *image, const uint8_t *pixels)
{
    png_alloc_size_t len = 0;
    shoal_status st;

    if (!png_image_write_to_memory(image, NULL, &len, 0, pixels, 0, NULL))
        return shoal_fail(SHOAL_ENOMEM, "png: %s", image->message);
    st = bytes_reserve(out, len);
    if (st == SHOAL_OK && !png_image_write_to_memory(image, out->at, &len, 0, pixels, 0, NULL))
        st = shoal_fail(SHOAL_ENOMEM, "png: %s", image->message);
    out->len = st == SHOAL_OK ? len : 0;
    return st;
}

shoal_status picture_thumbnail(struct bytes *out, const uint8_t *planes, unsigned channels,
                               unsigned height, unsigned width, unsigned side)
{
    unsigned longer = height > width ? height : width, box = (longer + side - 1) / side;
    unsigned least = height < width ? height : width;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    unsigned shown = channels == 1 ? 1 : 3;
    uint8_t *pixels;
    shoal_status st;

    box = box < least ? box : least;
    image.width = width / box;
    image.height = height / box;
    pixels = mem_array((size_t)image.width * image.height, shown);
    if (!pixels)
        return SHOAL_ENOMEM;
    for (unsigned y = 0; y < image.height; y++)
        for (unsigned x = 0; x < image.width; x++)
            for (unsigned c = 0; c < shown; c++)
                pixels[((size_t)y * image.width + x) * shown + c] =
                    box_mean(planes + (size_t)(c < channels ? c : 0) * height * width, width, x, y,
                             box);
    st = png_write(out, &image, pixels);
    free(pixels);
    return st;
}
