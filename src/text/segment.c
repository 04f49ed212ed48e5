/* Words that no separator parts: characters of text that is written without spaces, pairs of
 * them, and emoji.
 *
 *     text       我爱Go语言，very👍🏽!        (rules: --tokens chars --emoji)
 *     pieces     我 爱 G o 语 言 ， v e r y 👍🏽 !
 *     chars      我 爱 go 语 言  very 👍🏽
 *     bigrams    我爱 go 语言  very 👍🏽      a lone character is a word: 我Go gives 我
 * go
 *
 * A piece is what is never cut: a letter, a character with its marks, an emoji with all that it
 * is joined from. What comes out is text with a space at each seam, so that the scanner finds
 * these words as it finds others. */
#include "text/text.h"

#include <utf8proc.h>

enum kind { KIND_BREAK, KIND_MARK, KIND_LETTER, KIND_UNIT, KIND_EMOJI };

struct piece {
    enum kind kind;
    size_t len;
};

bool segment_has_seams(const struct rules *r)
{
    return r->tokens == SHOAL_TOKENS_CHARS || r->tokens == SHOAL_TOKENS_BIGRAMS ||
           (r->tokens == SHOAL_TOKENS_WORDS && r->emoji);
}

/* ---- scripts without spaces ---- */

struct range {
    uint32_t first, last;
    bool spaced; /* Korean: its characters are cut as the others are, but it has spaces */
};

/* By Unicode's blocks; what in them is no letter is told by its category. */
static const struct range scripts[] = {
    {0x0e00, 0x0eff, false},                           /* Thai, Lao */
    {0x1000, 0x109f, false},                           /* Burmese */
    {0x1100, 0x11ff, true},                            /* Hangul letters */
    {0x1780, 0x17ff, false},                           /* Khmer */
    {0x3005, 0x3007, false},                           /* Chinese: repetition, closing, zero */
    {0x3021, 0x3029, false},                           /* numerals */
    {0x3031, 0x3035, false},                           /* kana repetition */
    {0x3038, 0x303c, false},                           /* numerals */
    {0x3040, 0x30ff, false},                           /* Hiragana, Katakana */
    {0x3130, 0x318f, true},                            /* Hangul letters */
    {0x31f0, 0x31ff, false},                           /* Katakana */
    {0x3400, 0x4dbf, false},                           /* Chinese */
    {0x4e00, 0x9fff, false},   {0xa960, 0xa97f, true}, /* Hangul letters */
    {0xa9e0, 0xa9ff, false},                           /* Burmese */
    {0xaa60, 0xaa7f, false},   {0xac00, 0xd7ff, true}, /* Hangul */
    {0xf900, 0xfaff, false},                           /* Chinese */
    {0xff66, 0xff9f, false},                           /* Katakana, narrow */
    {0xffa0, 0xffdc, true},                            /* Hangul, narrow */
    {0x1aff0, 0x1b16f, false},                         /* kana */
    {0x20000, 0x3ffff, false},                         /* Chinese */
};

static const struct range *script_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts && code >= scripts[i].first; i++)
        if (code <= scripts[i].last)
            return &scripts[i];
    return NULL;
}

/* A letter of them; digits stay together. */
static bool is_script(uint32_t code, const struct rules *r)
{
    return code >= 0x0e00 && script_of(code) && clean_class(code, r) == CHAR_WORD &&
           utf8proc_category((utf8proc_int32_t)code) != UTF8PROC_CATEGORY_ND;
}

static bool breaks_grapheme(uint32_t a, uint32_t b, utf8proc_int32_t *state)
{
    return utf8proc_grapheme_break_stateful((utf8proc_int32_t)a, (utf8proc_int32_t)b, state);
}

/* The character whose first code has n bytes, and what goes with it: marks, and the letters of a
 * Hangul syllable. */
static size_t unit_size(const char *at, size_t len, size_t n, uint32_t code, const struct rules *r)
{
    utf8proc_int32_t state = 0;

    while (n < len) {
        uint32_t next;
        size_t more = clean_code(at + n, len - n, &next);
        bool joined = more > 0 && !breaks_grapheme(code, next, &state);

        if (more == 0 || !(clean_class(next, r) == CHAR_MARK || (joined && is_script(next, r))))
            break;
        code = next;
        n += more;
    }
    return n;
}

/* ---- emoji ---- */

#define AS_EMOJI 0xfe0fu /* asks for a picture, and the other for a sign of text */
#define AS_TEXT 0xfe0eu
#define KEYCAP 0x20e3u
/* ©, ™, arrows and the like are signs of text unless asked for as emoji. */
#define FIRST_EMOJI 0x231au

static int bound_of(uint32_t code)
{
    return utf8proc_get_property((utf8proc_int32_t)code)->boundclass;
}

/* [0-9#*], perhaps AS_EMOJI, KEYCAP */
static size_t keycap_size(const char *at, size_t len)
{
    uint32_t code;
    size_t n = 1, more = len > 1 ? clean_code(at + 1, len - 1, &code) : 0;

    if (more > 0 && code == AS_EMOJI) {
        n += more;
        more = n < len ? clean_code(at + n, len - n, &code) : 0;
    }
    return more > 0 && code == KEYCAP ? n + more : 0;
}

/* The grapheme that begins with the character of n bytes: skin tones, joined ones, flags. */
static size_t grapheme_size(const char *at, size_t len, size_t n, uint32_t code)
{
    utf8proc_int32_t state = 0;
    uint32_t next;
    size_t more;

    while (n < len && (more = clean_code(at + n, len - n, &next)) > 0 &&
           !breaks_grapheme(code, next, &state)) {
        code = next;
        n += more;
    }
    return n;
}

/* Whether a character that may be an emoji is one, the next one given. */
static bool is_emoji(uint32_t code, uint32_t next)
{
    if (bound_of(code) == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR)
        return bound_of(next) == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
    if (bound_of(code) != UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC || next == AS_TEXT)
        return false;
    return next == AS_EMOJI || (code >= FIRST_EMOJI &&
                                utf8proc_category((utf8proc_int32_t)code) != UTF8PROC_CATEGORY_PD);
}

/* Bytes of the emoji at at[0], 0 when there is none. */
static size_t emoji_size(const char *at, size_t len)
{
    unsigned char c = (unsigned char)at[0];
    uint32_t code, next = 0;
    size_t n;

    if (c < 0x80)
        return (c >= '0' && c <= '9') || c == '#' || c == '*' ? keycap_size(at, len) : 0;
    n = clean_code(at, len, &code);
    if (n == 0)
        return 0;
    if (n < len)
        clean_code(at + n, len - n, &next);
    return is_emoji(code, next) ? grapheme_size(at, len, n, code) : 0;
}

/* ---- pieces ---- */

static struct piece broken_at(const char *at, size_t len, const struct rules *r)
{
    if (r->bad == SHOAL_BAD_REPLACE)
        return (struct piece){KIND_LETTER, clean_broken(at, len)};
    return (struct piece){r->bad == SHOAL_BAD_KEEP ? KIND_LETTER : KIND_BREAK, 1};
}

static struct piece piece_at(const char *at, size_t len, const struct rules *r)
{
    static const enum kind kinds[] = {
        [CHAR_BREAK] = KIND_BREAK, [CHAR_MARK] = KIND_MARK, [CHAR_WORD] = KIND_LETTER};
    size_t n = r->emoji ? emoji_size(at, len) : 0;
    uint32_t code;

    if (n > 0)
        return (struct piece){KIND_EMOJI, n};
    if ((unsigned char)at[0] < 0x80)
        return (struct piece){ascii_word((unsigned char)at[0]) ? KIND_LETTER : KIND_BREAK, 1};
    n = clean_code(at, len, &code);
    if (n == 0)
        return broken_at(at, len, r);
    if (r->tokens != SHOAL_TOKENS_WORDS && is_script(code, r))
        return (struct piece){KIND_UNIT, unit_size(at, len, n, code, r)};
    return (struct piece){kinds[clean_class(code, r)], n};
}

/* What a piece is to the next one: a mark goes on with a word or is nothing. */
static enum kind kind_behind(enum kind before, enum kind now)
{
    return now != KIND_MARK ? now : before == KIND_LETTER ? KIND_LETTER : KIND_BREAK;
}

/* ---- words ---- */

struct cutter {
    const struct rules *rules;
    struct bytes *out; /* with room for all */
    enum kind prev;
    struct span unit; /* the last one */
    size_t run;       /* characters side by side up to here, of which pairs were told */
};

static void put(struct cutter *c, const char *at, size_t len)
{
    memcpy(c->out->at + c->out->len, at, len);
    c->out->len += len;
}

/* With a space before, unless there is one. */
static void begin_word(struct cutter *c)
{
    if (c->out->len > 0 && (unsigned char)c->out->at[c->out->len - 1] > ' ')
        put(c, " ", 1);
}

/* A character that stood alone is a word by itself. */
static void end_run(struct cutter *c)
{
    if (c->run == 1) {
        begin_word(c);
        put(c, c->unit.at, c->unit.len);
    }
    c->run = 0;
}

static void add_unit(struct cutter *c, struct span unit)
{
    if (c->rules->tokens == SHOAL_TOKENS_CHARS || c->run > 0)
        begin_word(c);
    if (c->rules->tokens == SHOAL_TOKENS_CHARS) {
        put(c, unit.at, unit.len);
        return;
    }
    if (c->run > 0) {
        put(c, c->unit.at, c->unit.len);
        put(c, unit.at, unit.len);
    }
    c->unit = unit;
    c->run++;
}

static void add_letter(struct cutter *c, const char *at, struct piece p)
{
    if (c->prev != KIND_LETTER)
        begin_word(c);
    c->out->len += clean_lower(at, p.len, c->rules, c->out->at + c->out->len);
}

static void add_piece(struct cutter *c, const char *at, struct piece p)
{
    enum kind behind = kind_behind(c->prev, p.kind);

    if (behind != KIND_UNIT)
        end_run(c);
    if (behind == KIND_BREAK)
        put(c, p.kind == KIND_BREAK && (*at == '\n' || *at == '\r') ? "\n" : " ", 1);
    else if (behind == KIND_LETTER)
        add_letter(c, at, p);
    else if (behind == KIND_UNIT)
        add_unit(c, (struct span){at, (uint32_t)p.len});
    else {
        begin_word(c);
        put(c, at, p.len);
    }
    c->prev = behind;
}

/* A character of three bytes is in two pairs with a space, and so is one with marks; what is
 * replaced grows to three; and there may be a space before a letter. */
static size_t room_for(size_t len)
{
    return 4 * len + 4 + BLOCK_PAD;
}

shoal_status segment_words(const char *in, size_t len, const struct rules *r, bool pair_before,
                           bool pair_after, struct bytes *out)
{
    struct cutter c = {.rules = r, .out = out, .prev = KIND_BREAK};
    shoal_status st;

    out->len = 0;
    st = bytes_reserve(out, room_for(len));
    for (size_t i = 0; i < len && st == SHOAL_OK;) {
        struct piece p = piece_at(in + i, len - i, r);

        add_piece(&c, in + i, p);
        if (i == 0 && pair_before && p.kind == KIND_UNIT)
            c.run = 2; /* it is in a pair of the block before */
        i += p.len;
    }
    if (st == SHOAL_OK && !pair_after)
        end_run(&c);
    return st;
}

/* ---- where text can be parted ---- */

size_t segment_last_seam(const char *at, size_t len, const struct rules *r, size_t *next)
{
    enum kind prev = KIND_LETTER;
    size_t seam = 0, before = 0;

    *next = 0;
    for (size_t i = 0; i < len;) {
        struct piece p = piece_at(at + i, len - i, r);
        bool pair = p.kind == KIND_UNIT && prev == KIND_UNIT && r->tokens == SHOAL_TOKENS_BIGRAMS;
        /* Not before a mark: it may say that what is before it is no emoji. */
        bool begins = p.kind == KIND_UNIT || p.kind == KIND_EMOJI ||
                      (p.kind == KIND_BREAK && prev == KIND_BREAK) ||
                      (p.kind == KIND_LETTER && prev != KIND_LETTER);

        if (begins && (pair ? before : i) > 0) {
            seam = i;
            *next = pair ? before : i;
        }
        prev = kind_behind(prev, p.kind);
        before = i;
        i += p.len;
    }
    return seam;
}

size_t segment_first_end(const char *at, size_t len, const struct rules *r)
{
    for (size_t i = 0, n; i < len; i += n) {
        struct piece p = piece_at(at + i, len - i, r);

        if (p.kind != KIND_LETTER && p.kind != KIND_MARK)
            return i;
        n = p.len;
    }
    return len;
}

/* ---- text that nobody cut into words ---- */

#define UNSPACED_LOOK ((size_t)1 << 18) /* bytes */
#define UNSPACED_LEAST 20u              /* characters, lest a name decides */
#define UNSPACED_MEAN 6u                /* characters a word; cut into words they have 2 to 4 */

struct letters {
    uint64_t all, unspaced, words; /* words that hold one of those */
    bool counted;                  /* the word we are in */
};

static void count_ascii(struct letters *l, unsigned char c, const struct rules *r)
{
    l->all += ascii_word(c);
    if (r->tokens == SHOAL_TOKENS_SPACE ? c <= ' ' : !ascii_word(c))
        l->counted = false;
}

static void count_letter(struct letters *l, uint32_t code, const struct rules *r)
{
    const struct range *script = is_script(code, r) ? script_of(code) : NULL;

    l->all += clean_class(code, r) == CHAR_WORD;
    if (!script || script->spaced)
        return;
    l->unspaced++;
    l->words += !l->counted;
    l->counted = true;
}

/* Whether there is a character from U+0800 on, as nearly all text of Latin letters has none. */
static bool any_high(const char *at, size_t len)
{
    unsigned high = 0;

    for (size_t i = 0; i < len; i++)
        high |= (unsigned char)at[i] >= 0xe0;
    return high;
}

uint64_t segment_unspaced(const char *at, size_t len, const struct rules *r)
{
    struct letters l = {0};
    uint32_t code;

    len = len < UNSPACED_LOOK ? len : UNSPACED_LOOK;
    if (r->tokens == SHOAL_TOKENS_CHARS || r->tokens == SHOAL_TOKENS_BIGRAMS || !any_high(at, len))
        return 0;
    for (size_t i = 0, n; i<len; i += n> 0 ? n : 1) {
        n = (unsigned char)at[i] < 0x80 ? 1 : clean_code(at + i, len - i, &code);
        if ((unsigned char)at[i] < 0x80)
            count_ascii(&l, (unsigned char)at[i], r);
        else if (n == 0 || clean_first_break(at + i, n, r) == 0)
            l.counted = false;
        else
            count_letter(&l, code, r);
    }
    if (l.unspaced < UNSPACED_LEAST || 2 * l.unspaced < l.all ||
        l.unspaced < UNSPACED_MEAN * l.words)
        return 0;
    return l.unspaced / l.words;
}
