/* What decoding a picture takes, by its head alone. */
#include "samples/samples.h"

struct head {
    const unsigned char *at, *end;
};

/* Markers that have no segment: what stands behind one is the next, not a length. */
static bool is_bare(unsigned marker)
{
    return marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd9);
}

/* The next marker of a JPEG with the bytes of its segment; 0 when there is none, or
 * one that no head needs. */
static unsigned next_marker(struct head *h, const unsigned char **segment, size_t *len)
{
    unsigned marker;

    while (h->end - h->at >= 2 && h->at[0] == 0xff && h->at[1] == 0xff)
        h->at++;
    if (h->end - h->at < 4 || h->at[0] != 0xff)
        return 0;
    marker = h->at[1];
    *len = (size_t)h->at[2] << 8 | h->at[3];
    *segment = h->at + 4;
    if (is_bare(marker) || *len < 2 || *len > (size_t)(h->end - h->at) - 2)
        return 0;
    h->at += 2 + *len;
    *len -= 2;
    return marker;
}

static bool is_frame(unsigned marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Whether libjpeg keeps the coefficients of the whole picture until its last pass: it does
 * for a progressive JPEG, and for one that has not all its colours in the first pass. True
 * when the head does not say. */
static bool jpeg_in_passes(const unsigned char *at, size_t len)
{
    struct head h = {at + 2, at + len};
    const unsigned char *segment;
    unsigned marker, colours = 0;
    size_t size;

    while ((marker = next_marker(&h, &segment, &size)) != 0) {
        if (is_frame(marker)) {
            if (size < 6 || (marker != 0xc0 && marker != 0xc1))
                return true;
            colours = segment[5];
        }
        if (marker == 0xda)
            return size < 1 || segment[0] < colours;
    }
    return true;
}

uint64_t picture_cost(const void *data, size_t len, unsigned width, unsigned height,
                      unsigned channels)
{
    const unsigned char *at = data;
    bool whole = len > 2 && at[0] == 0xff && at[1] == 0xd8 && jpeg_in_passes(at, len);

    /* Coefficients are of two bytes for each of three colours. */
    return (uint64_t)width * height * (channels + (whole ? 6 : 0));
}
