/* A map as files: one page with all that it needs, and what TensorBoard's projector reads.
 *
 * The page holds one JSON object, which is also what the server sends. Arrays of numbers are base64
 * of little-endian bytes:
 *
 *     words     [n] texts                      counts   [n], or null where they are not known
 *     layouts   name, trust, kept, loss; places: uint16 [n][2] of a square
 *     clusters  names: lists of words; of: uint8 [n]
 *     near      k; ids: uint16 [n][k]; cosines: uint8 [n][k], 255 being 1
 *     vectors   dim; at: int8 [n][dim], each row with a scale of its own; or null: too large
 *
 * Of vectors with many dimensions, those are kept along which they are longest. */
#include "saved/vectors/map.h"

#include "file/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Made by scripts/embed.sh from src/saved/page: map_css and map_js. */
#include "map.inc"

/* Clusters of points; bytes_print's percents are doubled. */
#define ICON                                                                                       \
    "data:image/svg+xml,%%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%%3E"        \
    "%%3Cg fill='%%232f64c9'%%3E%%3Ccircle cx='9' cy='10' r='5'/%%3E%%3Ccircle cx='18' cy='6' "    \
    "r='3'/%%3E%%3C/g%%3E%%3Ccircle cx='23' cy='17' r='6' fill='%%23d2691e'/%%3E"                  \
    "%%3Ccircle cx='10' cy='24' r='4' fill='%%2320925a'/%%3E%%3C/svg%%3E"

enum {
    VECTORS_DIM = 128,       /* numbers of a vector in the page, at most */
    VECTORS_BYTES = 2560000, /* of all vectors: 20,000 words of 128 */
};

/* ---- JSON ---- */

/* Quotes, controls and what a page could take for a tag are escaped; bytes that are no UTF-8 become
 * U+FFFD. */
static shoal_status put_text(struct bytes *out, const char *text)
{
    size_t left = strlen(text);
    shoal_status st = bytes_add(out, "\"", 1);

    while (left > 0 && st == SHOAL_OK) {
        bool shown;
        size_t len = character_len(text, left, &shown);
        unsigned char c = (unsigned char)*text;

        if (len == 0)
            st = bytes_add(out, "\\ufffd", 6);
        else if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f)
            st = bytes_print(out, "\\u%04x", c);
        else
            st = bytes_add(out, text, len);
        text += len > 0 ? len : 1;
        left -= len > 0 ? len : 1;
    }
    return st == SHOAL_OK ? bytes_add(out, "\"", 1) : st;
}

static shoal_status put_key(struct bytes *out, const char *key)
{
    return bytes_print(out, "\"%s\":", key);
}

static shoal_status put_base64(struct bytes *out, const char *key, const void *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = data;
    shoal_status st = put_key(out, key);

    if (st == SHOAL_OK)
        st = bytes_add(out, "\"", 1);
    if (st == SHOAL_OK)
        st = bytes_reserve(out, (len + 2) / 3 * 4);
    for (size_t i = 0; i < len && st == SHOAL_OK; i += 3) {
        uint32_t three = (uint32_t)at[i] << 16 | (i + 1 < len ? (uint32_t)at[i + 1] << 8 : 0) |
                         (i + 2 < len ? at[i + 2] : 0);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63], digits[three >> 6 & 63],
                        digits[three & 63]};

        if (i + 2 >= len)
            four[3] = '=';
        if (i + 1 >= len)
            four[2] = '=';
        st = bytes_add(out, four, 4);
    }
    return st == SHOAL_OK ? bytes_add(out, "\"", 1) : st;
}

static shoal_status put_real(struct bytes *out, const char *key, double x)
{
    return isfinite(x) ? bytes_print(out, "\"%s\":%.5g,", key, x)
                       : bytes_print(out, "\"%s\":null,", key);
}

/* ---- parts ---- */

static const char *word_of(const shoal_map *m, size_t i)
{
    return shoal_vectors_word(m->v, m->ids[i]);
}

static shoal_status put_words(struct bytes *out, const shoal_map *m)
{
    bool counted = shoal_vectors_count(m->v, m->ids[0]) > 0;
    shoal_status st = bytes_print(out, "\"words\":[");

    for (size_t i = 0; i < m->n && st == SHOAL_OK; i++) {
        if (i > 0)
            st = bytes_add(out, ",", 1);
        if (st == SHOAL_OK)
            st = put_text(out, word_of(m, i));
    }
    if (st == SHOAL_OK)
        st = bytes_print(out, "],\n\"counts\":%s", counted ? "[" : "null");
    for (size_t i = 0; i < m->n && counted && st == SHOAL_OK; i++)
        st = bytes_print(out, "%s%" PRIu64, i > 0 ? "," : "", shoal_vectors_count(m->v, m->ids[i]));
    return st == SHOAL_OK ? bytes_print(out, "%s,\n", counted ? "]" : "") : st;
}

/* The smallest square that holds all places, in steps of 1 / 65535. */
static void places_in_square(const float *places, size_t n, uint16_t *out)
{
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, wide, at;

    for (size_t i = 0; i < 2 * n; i++) {
        low[i % 2] = fminf(low[i % 2], places[i]);
        high[i % 2] = fmaxf(high[i % 2], places[i]);
    }
    wide = fmaxf(fmaxf(high[0] - low[0], high[1] - low[1]), 1e-20f);
    for (size_t i = 0; i < 2 * n; i++) {
        float spare = wide - (high[i % 2] - low[i % 2]);

        at = (places[i] - low[i % 2] + spare / 2) / wide;
        out[i] = (uint16_t)lrintf(65535 * fminf(fmaxf(at, 0), 1));
    }
}

static shoal_status put_layouts(struct bytes *out, const shoal_map *m)
{
    uint16_t *places = mem_array(2 * m->n, sizeof *places);
    shoal_status st = places ? bytes_print(out, "\"layouts\":[") : SHOAL_ENOMEM;

    for (size_t i = 0; i < m->nlayouts && st == SHOAL_OK; i++) {
        const struct map_layout *l = &m->layouts[i];

        st = bytes_print(out, "%s{\"name\":\"%s\",", i > 0 ? ",\n" : "", l->name);
        if (st == SHOAL_OK)
            st = put_real(out, "trust", l->score.trust);
        if (st == SHOAL_OK)
            st = put_real(out, "kept", l->score.kept);
        if (st == SHOAL_OK)
            st = put_real(out, "loss", l->loss);
        places_in_square(l->places, m->n, places);
        if (st == SHOAL_OK)
            st = put_base64(out, "places", places, 2 * m->n * sizeof *places);
        if (st == SHOAL_OK)
            st = bytes_add(out, "}", 1);
    }
    free(places);
    return st == SHOAL_OK ? bytes_print(out, "],\n") : st;
}

static shoal_status put_clusters(struct bytes *out, const shoal_map *m)
{
    shoal_status st = bytes_print(out, "\"clusters\":{\"names\":[");

    for (size_t c = 0; c < m->clusters && st == SHOAL_OK; c++) {
        st = bytes_print(out, "%s[", c > 0 ? "," : "");
        for (size_t k = 0; k < SHOAL_MAP_NAMES && st == SHOAL_OK; k++) {
            const char *name = shoal_map_cluster_name(m, c, k);

            if (name && k > 0)
                st = bytes_add(out, ",", 1);
            if (name && st == SHOAL_OK)
                st = put_text(out, name);
        }
        if (st == SHOAL_OK)
            st = bytes_add(out, "]", 1);
    }
    if (st == SHOAL_OK)
        st = bytes_print(out, "],");
    if (st == SHOAL_OK)
        st = put_base64(out, "of", m->of, m->n);
    return st == SHOAL_OK ? bytes_print(out, "},\n") : st;
}

static shoal_status put_near(struct bytes *out, const shoal_map *m)
{
    size_t n = m->near.n * m->near.k;
    uint16_t *ids = mem_array(n, sizeof *ids);
    uint8_t *cosines = mem_array(n, sizeof *cosines);
    shoal_status st =
        ids && cosines ? bytes_print(out, "\"near\":{\"k\":%zu,", m->near.k) : SHOAL_ENOMEM;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        ids[i] = (uint16_t)m->near.ids[i];
        cosines[i] = (uint8_t)lrintf(255 * fminf(fmaxf(m->near.cosines[i], 0), 1));
    }
    if (st == SHOAL_OK)
        st = put_base64(out, "ids", ids, n * sizeof *ids);
    if (st == SHOAL_OK)
        st = bytes_add(out, ",", 1);
    if (st == SHOAL_OK)
        st = put_base64(out, "cosines", cosines, n);
    free(ids);
    free(cosines);
    return st == SHOAL_OK ? bytes_print(out, "},\n") : st;
}

/* ---- vectors in bytes ---- */

static void row_to_bytes(const float *row, size_t dim, int8_t *out)
{
    float most = 0;

    for (size_t j = 0; j < dim; j++)
        most = fmaxf(most, fabsf(row[j]));
    for (size_t j = 0; j < dim; j++)
        out[j] = (int8_t)(most > 0 ? lrintf(127 * row[j] / most) : 0);
}

/* [n][dim], dim being VECTORS_DIM at most. */
static shoal_status vectors_to_bytes(const shoal_map *m, size_t dim, int8_t *out)
{
    const struct table *t = &m->units;
    struct workers *w = NULL;
    float *shorter;
    shoal_status st;

    if (dim == t->width) {
        for (size_t i = 0; i < m->n; i++)
            row_to_bytes(t->at + i * t->stride, dim, out + i * dim);
        return SHOAL_OK;
    }
    shorter = mem_array(m->n * dim, sizeof *shorter);
    st = shorter ? workers_new(&w, 1) : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = pca_shorten(t, dim, w, shorter);
    for (size_t i = 0; i < m->n && st == SHOAL_OK; i++)
        row_to_bytes(shorter + i * dim, dim, out + i * dim);
    workers_free(w);
    free(shorter);
    return st;
}

static shoal_status put_vectors(struct bytes *out, const shoal_map *m)
{
    size_t dim = m->units.width < VECTORS_DIM ? m->units.width : VECTORS_DIM;
    int8_t *bytes = NULL;
    shoal_status st;

    if (m->n * dim > VECTORS_BYTES)
        return bytes_print(out, "\"vectors\":null");
    bytes = mem_array(m->n * dim, sizeof *bytes);
    st = bytes ? vectors_to_bytes(m, dim, bytes) : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = bytes_print(out, "\"vectors\":{\"dim\":%zu,", dim);
    if (st == SHOAL_OK)
        st = put_base64(out, "at", bytes, m->n * dim);
    free(bytes);
    return st == SHOAL_OK ? bytes_add(out, "}", 1) : st;
}

shoal_status map_json(const shoal_map *m, const char *title, struct bytes *out)
{
    shoal_status st = bytes_print(out, "{\"title\":");

    if (st == SHOAL_OK)
        st = put_text(out, title);
    if (st == SHOAL_OK)
        st = bytes_print(out, ",\"version\":\"%s\",\"dim\":%zu,\"all\":%zu,\n", shoal_version(),
                         m->units.width, shoal_vectors_size(m->v));
    if (st == SHOAL_OK)
        st = put_words(out, m);
    if (st == SHOAL_OK)
        st = put_layouts(out, m);
    if (st == SHOAL_OK)
        st = put_clusters(out, m);
    if (st == SHOAL_OK)
        st = put_near(out, m);
    if (st == SHOAL_OK)
        st = put_vectors(out, m);
    return st == SHOAL_OK ? bytes_print(out, "}\n") : st;
}

/* ---- the page ---- */

static shoal_status put_escaped(struct bytes *out, const char *text)
{
    shoal_status st = SHOAL_OK;

    for (; *text && st == SHOAL_OK; text++) {
        bool plain = !strchr("<>&\"'", *text) && (unsigned char)*text >= 0x20;

        st = plain ? bytes_add(out, text, 1) : bytes_print(out, "&#%d;", (unsigned char)*text);
    }
    return st;
}

static shoal_status put_page(struct bytes *out, const shoal_map *m, const char *title)
{
    static const char head[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:\">\n<title>";
    shoal_status st = bytes_add(out, head, sizeof head - 1);

    if (st == SHOAL_OK)
        st = put_escaped(out, title);
    if (st == SHOAL_OK)
        st = bytes_print(out, "</title>\n<link rel=\"icon\" href=\"" ICON "\">\n<style>\n");
    if (st == SHOAL_OK)
        st = bytes_add(out, map_css, sizeof map_css - 1);
    if (st == SHOAL_OK)
        st = bytes_print(out, "</style>\n</head>\n<body class=\"map-page\">\n<main id=\"map-page\">"
                              "</main>\n<script type=\"application/json\" id=\"map-data\">\n");
    if (st == SHOAL_OK)
        st = map_json(m, title, out);
    if (st == SHOAL_OK)
        st = bytes_print(out, "</script>\n<script type=\"module\">\n");
    if (st == SHOAL_OK)
        st = bytes_add(out, map_js, sizeof map_js - 1);
    return st == SHOAL_OK ? bytes_print(out, "</script>\n</body>\n</html>\n") : st;
}

static shoal_status write_whole(const struct bytes *b, const char *path)
{
    struct output *out = NULL;
    shoal_status st = output_open(&out, path);

    if (st == SHOAL_OK)
        st = output_write(out, b->at, b->len);
    return output_end(out, st);
}

shoal_status shoal_map_write(const shoal_map *m, const char *path, const char *title)
{
    struct bytes page = {0};
    shoal_status st = put_page(&page, m, title);

    if (st == SHOAL_OK)
        st = write_whole(&page, path);
    bytes_fini(&page);
    return st;
}

/* ---- TensorBoard's projector ---- */

/* A word as a field: what would end it becomes a space. */
static shoal_status put_field(struct bytes *out, const char *word)
{
    shoal_status st = SHOAL_OK;

    for (; *word && st == SHOAL_OK; word++)
        st = bytes_add(out, (unsigned char)*word < 0x20 ? " " : word, 1);
    return st;
}

static shoal_status put_metadata(struct bytes *out, const shoal_map *m)
{
    shoal_status st = bytes_print(out, "word\tcount\tcluster\n");

    for (size_t i = 0; i < m->n && st == SHOAL_OK; i++) {
        const char *name = shoal_map_cluster_name(m, m->of[i], 0);

        st = put_field(out, word_of(m, i));
        if (st == SHOAL_OK)
            st = bytes_print(out, "\t%" PRIu64 "\t%d ", shoal_vectors_count(m->v, m->ids[i]),
                             m->of[i] + 1);
        if (st == SHOAL_OK)
            st = put_field(out, name ? name : "");
        if (st == SHOAL_OK)
            st = bytes_add(out, "\n", 1);
    }
    return st;
}

/* The rows as they are, not made of length 1. */
static shoal_status put_rows(struct bytes *out, const shoal_map *m)
{
    size_t dim = m->units.width;
    float *row = mem_array(dim, sizeof *row);
    shoal_status st = row ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < m->n && st == SHOAL_OK; i++) {
        st = shoal_vectors_row(m->v, m->ids[i], row);
        for (size_t j = 0; j < dim && st == SHOAL_OK; j++) {
            char number[DECIMAL_MAX];
            size_t len = decimal_format(number, row[j]);

            st = bytes_add(out, number, len);
            if (st == SHOAL_OK)
                st = bytes_add(out, j + 1 < dim ? "\t" : "\n", 1);
        }
    }
    free(row);
    return st;
}

static shoal_status put_config(struct bytes *out, const shoal_map *m)
{
    return bytes_print(out,
                       "embeddings {\n  tensor_name: \"words\"\n  tensor_shape: %zu\n"
                       "  tensor_shape: %zu\n  tensor_path: \"vectors.tsv\"\n"
                       "  metadata_path: \"metadata.tsv\"\n}\n",
                       m->n, m->units.width);
}

static shoal_status write_in(const shoal_map *m, const char *folder, const char *name,
                             shoal_status (*put)(struct bytes *, const shoal_map *))
{
    struct bytes text = {0};
    char *path = mem_text("%s/%s", folder, name);
    shoal_status st = path ? put(&text, m) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = write_whole(&text, path);
    free(path);
    bytes_fini(&text);
    return st;
}

shoal_status shoal_map_write_tsv(const shoal_map *m, const char *folder)
{
    shoal_status st;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return shoal_fail_errno(SHOAL_EIO, "%s", folder);
    st = write_in(m, folder, "vectors.tsv", put_rows);
    if (st == SHOAL_OK)
        st = write_in(m, folder, "metadata.tsv", put_metadata);
    if (st == SHOAL_OK)
        st = write_in(m, folder, "projector_config.pbtxt", put_config);
    return st;
}
