/* The words of any bytes: what clean.c and words.c find, 64 bytes and one block
 * at a time, is what a splitter finds that looks at one character after the
 * other. The first two bytes of the input choose tokens and blocks. */
#include "fuzz.h"

#include "text/text.h"

#include <stdlib.h>
#include <utf8proc.h>

/* ---- the plain reading ---- */

/* The size of the character at at[0], 0 when it is no text (RFC 3629). */
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
    return *code >= 0x20 || (*code >= 9 && *code <= 13) ? n : 0;
}

static size_t plain_find_bad(const uint8_t *at, size_t len)
{
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n)
        if ((n = plain_char(at + i, len - i, &code)) == 0)
            return i;
    return len;
}

static bool plain_letter(uint32_t code, bool in_word)
{
    const char *name = utf8proc_category_string((utf8proc_int32_t)code);

    return name[0] == 'L' || name[0] == 'N' || (name[0] == 'M' && in_word);
}

/* Each word ends with a space, each sentence with a bar on its own. */
static void plain_words(const uint8_t *at, size_t len, enum shoal_tokens tokens, struct bytes *out)
{
    bool in_word = false, open = false;

    for (size_t i = 0, n; i < len; i += n) {
        uint32_t code = ' ';
        uint8_t lower[4];
        bool letter;

        n = plain_char(at + i, len - i, &code);
        code = n ? code : ' ';
        letter = tokens == SHOAL_TOKENS_SPACE ? code > ' ' : plain_letter(code, in_word);
        if (letter && tokens == SHOAL_TOKENS_SPACE)
            bytes_add(out, at + i, n);
        else if (letter)
            bytes_add(
                out, lower,
                (size_t)utf8proc_encode_char(utf8proc_tolower((utf8proc_int32_t)code), lower));
        else if (in_word)
            bytes_add(out, " ", 1);
        in_word = letter;
        open |= letter;
        if (code == '\n' && open) {
            bytes_add(out, "| ", 2);
            open = false;
        }
        n = n ? n : 1;
    }
    if (in_word)
        bytes_add(out, " ", 1);
    if (open)
        bytes_add(out, "| ", 2);
}

/* ---- the reading of the library ---- */

static void scan_block(struct block *b, enum shoal_tokens tokens, size_t cap, struct bytes *out,
                       bool *inside)
{
    struct scanner scan = {0};
    struct span words[200];
    size_t n;

    for (size_t i = 0; (i += clean_find_bad(b->raw.at + i, b->raw.len - i)) < b->raw.len;)
        b->raw.at[i] = ' ';
    if (tokens == SHOAL_TOKENS_WORDS)
        require(clean_words(b->raw.at, b->raw.len, &b->lower) == SHOAL_OK);
    b->text = tokens == SHOAL_TOKENS_WORDS ? b->lower.at : b->raw.at;
    b->len = tokens == SHOAL_TOKENS_WORDS ? b->lower.len : b->raw.len;
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

/* Blocks of about `step` bytes, cut where text.c would cut them. */
static void block_words(const char *at, size_t len, enum shoal_tokens tokens, size_t step,
                        struct bytes *out)
{
    struct block b = {0};
    bool inside = false;
    size_t begin = 0;

    while (begin < len || (begin == 0 && len == 0) || inside) {
        size_t reach = len - begin, cut = 0;

        for (size_t want = step; want < len - begin && cut == 0; want += step) {
            const char *line = memrchr(at + begin, '\n', want);

            cut =
                line ? (size_t)(line + 1 - at) - begin : clean_last_break(at + begin, want, tokens);
        }
        if (cut > 0)
            reach = cut;
        b.raw.len = 0;
        require(bytes_add(&b.raw, at + begin, reach) == SHOAL_OK);
        require(bytes_reserve(&b.raw, BLOCK_PAD) == SHOAL_OK);
        begin += reach;
        b.last = begin == len;
        b.inside = inside;
        scan_block(&b, tokens, SPANS_MIN + step % 100, out, &inside);
        if (b.last)
            break;
    }
    block_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes plain = {0}, whole = {0}, split = {0};
    enum shoal_tokens tokens;
    size_t step;
    const char *text;

    if (size < 2)
        return 0;
    fuzz_begin(size, MIB, 64);
    tokens = data[0] & 1 ? SHOAL_TOKENS_WORDS : SHOAL_TOKENS_SPACE;
    step = 1 + data[1];
    data += 2, size -= 2;
    text = fuzz_copy(data, size);
    require(clean_find_bad(text, size) == plain_find_bad(data, size));
    plain_words(data, size, tokens, &plain);
    block_words(text, size, tokens, SIZE_MAX, &whole);
    require(whole.len == plain.len && (plain.len == 0 || !memcmp(whole.at, plain.at, plain.len)));
    block_words(text, size, tokens, step, &split);
    require(split.len == plain.len && (plain.len == 0 || !memcmp(split.at, plain.at, plain.len)));
    bytes_fini(&plain);
    bytes_fini(&whole);
    bytes_fini(&split);
    fuzz_end();
    return 0;
}
