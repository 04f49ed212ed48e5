/* The words of any bytes: what clean.c, segment.c and words.c find, 64 bytes and one block
 * at a time, is what a splitter finds that looks at one character after the other. The first
 * two bytes of the input choose the rules and the blocks. */
#include "fuzz.h"

#include "text/text.h"

#include <stdlib.h>
#include <utf8proc.h>

/* ---- the plain reading ---- */

/* The size of the character at at[0], 0 when it is none (RFC 3629). */
static size_t plain_char(const uint8_t *at, size_t len, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (n == 0 || n > len || at[0] > 0xf7)
        return 0;
    *code = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return n;
}

/* How many bytes begin a character that others could end: what one U+FFFD stands for. */
static size_t plain_broken(const uint8_t *at, size_t len)
{
    uint8_t tried[4];
    uint32_t code;

    for (size_t n = 3; n > 1; n--)
        for (size_t whole = n + 1; whole <= 4 && n <= len; whole++) {
            memset(tried, 0x80, sizeof tried);
            memcpy(tried, at, n);
            if (plain_char(tried, whole, &code) == whole)
                return n;
        }
    return 1;
}

struct glyph {
    uint32_t code;
    const uint8_t *at; /* what a word has of it */
    size_t len;
    bool broken;
};

/* As many as there are characters; free() */
static struct glyph *plain_glyphs(const uint8_t *at, size_t len, enum shoal_bad_bytes bad,
                                  size_t *n, size_t *first)
{
    struct glyph *g = calloc(len + 1, sizeof *g);

    *n = 0;
    *first = len;
    for (size_t i = 0, size; i < len; i += size) {
        struct glyph *now = &g[(*n)++];

        size = plain_char(at + i, len - i, &now->code);
        *now = (struct glyph){now->code, at + i, size, size == 0};
        if (size > 0)
            continue;
        *first = *first == len ? i : *first;
        size = bad == SHOAL_BAD_REPLACE ? plain_broken(at + i, len - i) : 1;
        if (bad == SHOAL_BAD_REPLACE)
            *now = (struct glyph){0xfffd, (const uint8_t *)"\xef\xbf\xbd", 3, false};
        else if (bad == SHOAL_BAD_KEEP)
            now->len = 1;
        else
            *now = (struct glyph){' ', (const uint8_t *)" ", 1, false};
    }
    return g;
}

static char category(const struct glyph *g)
{
    return g->broken ? 'L' : utf8proc_category_string((utf8proc_int32_t)g->code)[0];
}

static bool plain_letter(const struct glyph *g, const struct rules *r)
{
    return category(g) == 'L' || category(g) == 'N' ||
           (g->code == 0xfffd && r->bad == SHOAL_BAD_REPLACE);
}

static bool within(uint32_t code, uint32_t first, uint32_t last)
{
    return code >= first && code <= last;
}

/* Thai and Lao, Burmese, Hangul, Khmer, Chinese and kana. */
static bool plain_script(const struct glyph *g, const struct rules *r)
{
    uint32_t c = g->code;
    bool there = within(c, 0xe00, 0xeff) || within(c, 0x1000, 0x109f) || within(c, 0xa9e0, 0xa9ff) ||
                 within(c, 0xaa60, 0xaa7f) || within(c, 0x1100, 0x11ff) ||
                 within(c, 0x3130, 0x318f) || within(c, 0xa960, 0xa97f) ||
                 within(c, 0xac00, 0xd7ff) || within(c, 0xffa0, 0xffdc) ||
                 within(c, 0x1780, 0x17ff) || within(c, 0x3005, 0x3007) ||
                 within(c, 0x3021, 0x3029) || within(c, 0x3031, 0x3035) ||
                 within(c, 0x3038, 0x303c) || within(c, 0x3040, 0x30ff) ||
                 within(c, 0x31f0, 0x31ff) || within(c, 0x3400, 0x4dbf) ||
                 within(c, 0x4e00, 0x9fff) || within(c, 0xf900, 0xfaff) ||
                 within(c, 0xff66, 0xff9f) || within(c, 0x1aff0, 0x1b16f) ||
                 within(c, 0x20000, 0x3ffff);

    return r->tokens >= SHOAL_TOKENS_CHARS && there && !g->broken && plain_letter(g, r) &&
           strcmp(utf8proc_category_string((utf8proc_int32_t)c), "Nd") != 0;
}

/* Glyphs of the grapheme that begins at g[0]. */
static size_t plain_grapheme(const struct glyph *g, size_t n)
{
    utf8proc_int32_t state = 0;
    size_t i = 1;

    while (i < n && !g[i].broken &&
           !utf8proc_grapheme_break_stateful((utf8proc_int32_t)g[i - 1].code,
                                             (utf8proc_int32_t)g[i].code, &state))
        i++;
    return i;
}

static int bound(const struct glyph *g)
{
    return g->broken ? UTF8PROC_BOUNDCLASS_OTHER
                     : utf8proc_get_property((utf8proc_int32_t)g->code)->boundclass;
}

/* Glyphs of the emoji that begins at g[0]; 0: none. */
static size_t plain_emoji(const struct glyph *g, size_t n, const struct rules *r)
{
    uint32_t c = g[0].code, next = n > 1 && !g[1].broken ? g[1].code : 0;
    bool picture = bound(g) == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC && next != 0xfe0e;

    if (!r->emoji || g[0].broken || r->tokens == SHOAL_TOKENS_SPACE)
        return 0;
    if (within(c, '0', '9') || c == '#' || c == '*') {
        if (next == 0x20e3)
            return 2;
        return n > 2 && next == 0xfe0f && !g[2].broken && g[2].code == 0x20e3 ? 3 : 0;
    }
    if (bound(g) == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR)
        return n > 1 && bound(g + 1) == bound(g) ? plain_grapheme(g, n) : 0;
    if (picture && (next == 0xfe0f || (c >= 0x231a && c != 0x3030)))
        return plain_grapheme(g, n);
    return 0;
}

/* Glyphs of the character at g[0], its marks among them. */
static size_t plain_unit(const struct glyph *g, size_t n, const struct rules *r)
{
    utf8proc_int32_t state = 0;
    size_t i = 1;

    for (; i < n && !g[i].broken; i++) {
        bool apart = utf8proc_grapheme_break_stateful((utf8proc_int32_t)g[i - 1].code,
                                                      (utf8proc_int32_t)g[i].code, &state);

        if (category(&g[i]) != 'M' && (apart || !plain_script(&g[i], r)))
            break;
    }
    return i;
}

/* Each word ends with a space, each sentence with a bar on its own. */
struct plain {
    struct bytes *out;
    struct bytes word;
    bool open;
};

static void end_word(struct plain *p)
{
    if (p->word.len == 0)
        return;
    bytes_add(p->out, p->word.at, p->word.len);
    bytes_add(p->out, " ", 1);
    p->word.len = 0;
    p->open = true;
}

static void end_line(struct plain *p)
{
    if (p->open)
        bytes_add(p->out, "| ", 2);
    p->open = false;
}

static void add_glyphs(struct plain *p, const struct glyph *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes_add(&p->word, g[i].at, g[i].len);
}

static void add_lower(struct plain *p, const struct glyph *g)
{
    uint8_t lower[4];

    if (g->broken)
        bytes_add(&p->word, g->at, g->len);
    else
        bytes_add(&p->word, lower,
                  (size_t)utf8proc_encode_char(utf8proc_tolower((utf8proc_int32_t)g->code), lower));
}

/* A run of such characters at g[0]: each, or each two, a lone one by itself. Gives its glyphs. */
static size_t plain_run(struct plain *p, const struct glyph *g, size_t n, const struct rules *r)
{
    size_t i = 0, units = 0, before = 0, size;

    end_word(p);
    for (; i < n && plain_script(&g[i], r); i += size, units++) {
        size = plain_unit(g + i, n - i, r);
        if (r->tokens == SHOAL_TOKENS_CHARS)
            add_glyphs(p, g + i, size);
        else if (units > 0)
            add_glyphs(p, g + before, i + size - before);
        end_word(p);
        before = i;
    }
    if (r->tokens == SHOAL_TOKENS_BIGRAMS && units == 1)
        add_glyphs(p, g, i);
    end_word(p);
    return i;
}

static bool separates(const struct glyph *g, const struct rules *r, bool in_word)
{
    if (g->broken)
        return false;
    if (r->tokens == SHOAL_TOKENS_SPACE)
        return g->code <= ' ' || within(g->code, 0x7f, 0x9f);
    return !plain_letter(g, r) && !(category(g) == 'M' && in_word);
}

static void plain_words(const struct glyph *g, size_t n, const struct rules *r, struct bytes *out)
{
    struct plain p = {.out = out};

    for (size_t i = 0, size; i < n; i += size) {
        size = plain_emoji(g + i, n - i, r);
        if (size > 0) {
            end_word(&p);
            add_glyphs(&p, g + i, size);
            end_word(&p);
            continue;
        }
        size = 1;
        if (plain_script(&g[i], r)) {
            size = plain_run(&p, g + i, n - i, r);
        } else if (separates(&g[i], r, p.word.len > 0)) {
            end_word(&p);
            if (g[i].code == '\n' || g[i].code == '\r')
                end_line(&p);
        } else if (r->tokens == SHOAL_TOKENS_SPACE) {
            add_glyphs(&p, g + i, 1);
        } else {
            add_lower(&p, &g[i]);
        }
    }
    end_word(&p);
    end_line(&p);
    bytes_fini(&p.word);
}

/* ---- the reading of the library ---- */

static void scan_block(struct block *b, const struct rules *r, size_t cap, struct bytes *out,
                       bool *inside)
{
    struct scanner scan = {0};
    struct span words[200];
    uint64_t bad = 0;
    size_t n, first;

    require(block_make(b, r, &first, &bad) == SHOAL_OK && b->made);
    require(first <= b->raw.len && (bad > 0) == (first < b->raw.len));
    scanner_begin(&scan, b);
    while ((n = scanner_next(&scan, words, cap)) > 0) {
        require(n <= cap);
        for (size_t i = 0; i < n; i++) {
            bytes_add(out, words[i].len ? words[i].at : "|", words[i].len ? words[i].len : 1);
            bytes_add(out, " ", 1);
        }
    }
    *inside = scan.open;
}

/* Where text.c would end a block of `len` bytes, and begin the next. */
static size_t cut_at(const char *at, size_t len, const struct rules *r, size_t *next)
{
    size_t cut = clean_last_line(at, len);

    len = clean_whole(at, len);
    if (cut == 0)
        cut = clean_last_break(at, len, r);
    *next = cut;
    if (cut == 0 && segment_has_seams(r))
        cut = segment_last_seam(at, len, r, next);
    return cut;
}

/* Blocks of about `step` bytes. */
static void block_words(const char *at, size_t len, const struct rules *r, size_t step,
                        struct bytes *out)
{
    struct block b = {0};
    bool inside = false, pair = false;

    for (size_t begin = 0; !b.last;) {
        size_t cut = 0, next = 0;

        for (size_t want = step; want < len - begin && cut == 0; want += step)
            cut = cut_at(at + begin, want, r, &next);
        if (cut == 0)
            cut = next = len - begin;
        b.raw.len = 0;
        require(bytes_add(&b.raw, at + begin, cut) == SHOAL_OK);
        require(bytes_reserve(&b.raw, BLOCK_PAD) == SHOAL_OK);
        require(next > 0 || cut == 0);
        begin += next;
        b.last = begin == len;
        b.inside = inside;
        b.pair_before = pair;
        b.pair_after = pair = next < cut;
        scan_block(&b, r, SPANS_MIN + step % 100, out, &inside);
    }
    block_fini(&b);
}

static void same(const struct bytes *a, const struct bytes *b)
{
    require(a->len == b->len && (a->len == 0 || !memcmp(a->at, b->at, a->len)));
}

/* The same once more, as a text in memory, where sentences do not count. */
static void check_words_of(const char *text, size_t len, const struct rules *r,
                           const struct bytes *plain)
{
    struct bytes out = {0}, want = {0};
    struct span *words;
    struct block b;
    size_t n;

    require(text_words(text, len, r, &b, &words, &n) == SHOAL_OK);
    for (size_t i = 0; i < n; i++) {
        bytes_add(&out, words[i].at, words[i].len);
        bytes_add(&out, " ", 1);
    }
    for (size_t i = 0; i < plain->len; i++)
        if (plain->at[i] != '|')
            bytes_add(&want, plain->at + i, 1);
        else
            i++; /* no word has a bar but those that white space parts */
    if (r->tokens != SHOAL_TOKENS_SPACE)
        same(&out, &want);
    free(words);
    block_fini(&b);
    bytes_fini(&out);
    bytes_fini(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes plain = {0}, whole = {0}, split = {0};
    struct glyph *glyphs;
    struct rules r;
    size_t step, n, first;
    const char *text;

    if (size < 2)
        return 0;
    fuzz_begin(size, MIB, 256);
    r = (struct rules){(enum shoal_tokens)(data[0] & 3), (enum shoal_bad_bytes)(data[0] >> 2 & 3),
                       data[0] >> 4 & 1};
    step = 1 + data[1];
    data += 2, size -= 2;
    text = fuzz_copy(data, size);
    if (r.bad == SHOAL_BAD_REFUSE)
        r.bad = SHOAL_BAD_SPACE;
    glyphs = plain_glyphs(data, size, r.bad, &n, &first);
    plain_words(glyphs, n, &r, &plain);
    block_words(text, size, &r, SIZE_MAX, &whole);
    same(&whole, &plain);
    block_words(text, size, &r, step, &split);
    same(&split, &plain);
    check_words_of(text, size, &r, &plain);
    free(glyphs);
    bytes_fini(&plain);
    bytes_fini(&whole);
    bytes_fini(&split);
    fuzz_end();
    return 0;
}
