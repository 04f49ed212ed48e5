/* Vowpal Wabbit: `label importance 'tag|space:scale feature:value ... |space ...`. What
 * touches the first bar is the tag, as Vowpal Wabbit has it. */
#include "sparse/rows.h"

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* The end of a name: a blank, a colon or a bar. A newline ends every line, so that this
 * stops there at the latest. */
static inline const char *name_end(const char *at)
{
    unsigned mask;

    while ((mask = click_bytes_upto(at, ' ') | bytes16_equal(at, ':') |
                   bytes16_equal(at, '|')) == 0)
        at += 16;
    return at + __builtin_ctz(mask);
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && !is_blank(*at) && *at != '|')
        at++;
    return at;
}

/* ---- before the first bar ---- */

static bool take_weight(struct click_batch *b, const char *at, size_t len)
{
    float weight;

    if (!click_number(b, "its importance", at, len, &weight))
        return false;
    if (weight < 0)
        return click_line_bad(b, "its importance is \"%s\", want 0 or more",
                              click_quote(at, len).text);
    b->weight[b->rows] = weight;
    return true;
}

/* A word that begins with ' or touches the bar is a tag. */
static bool take_head(const struct click_format *w, struct click_batch *b, const char *at,
                      const char *bar)
{
    unsigned words = 0;

    for (at = skip_blanks(at, bar); at < bar; at = skip_blanks(at, bar)) {
        const char *word = at;
        size_t len;

        at = word_end(at, bar);
        len = (size_t)(at - word);
        if (at == bar || *word == '\'')
            break;
        if (words == 2)
            return click_line_bad(b,
                                  "found \"%s\" behind label and importance, want a tag or a bar",
                                  click_quote(word, len).text);
        if (!(words == 0 ? click_label(w, b, word, len) : take_weight(b, word, len)))
            return false;
        words++;
    }
    return words > 0 || click_label_missing(w, b, " before the bar");
}

/* ---- behind a bar ---- */

struct space {
    uint64_t seed;
    const char *at;
    uint32_t len;
    float scale;
};

/* A number behind the colon at `at`; gives what follows it, or NULL. */
static const char *number_behind(struct click_batch *b, const char *what, const char *at,
                                 const char *end, float *out)
{
    const char *stop = word_end(at + 1, end);

    return click_number(b, what, at + 1, (size_t)(stop - at - 1), out) ? stop : NULL;
}

/* The name of a space touches its bar; without one it is "". */
static const char *take_space(struct click_batch *b, struct space *s, const char *at,
                              const char *end)
{
    const char *stop = name_end(at);

    stop = stop < end ? stop : end;
    *s = (struct space){.at = at, .len = (uint32_t)(stop - at), .scale = 1};
    s->seed = click_hash(click_seed(CLICK_SEED_VW), at, s->len);
    if (stop < end && *stop == ':')
        return number_behind(b, "a scale", stop, end, &s->scale);
    return stop;
}

static const char *take_feature(const struct click_format *w, struct click_batch *b,
                                const struct space *s, const char *at, const char *end)
{
    const char *stop = name_end(at);
    size_t len;
    float value = 1;

    stop = stop < end ? stop : end;
    len = (size_t)(stop - at);
    if (len == 0) {
        click_line_bad(b, "found \"%s\", want a feature's name",
                       click_quote(at, (size_t)(end - at)).text);
        return NULL;
    }
    if (stop < end && *stop == ':') {
        stop = number_behind(b, "a value", stop, end, &value);
        if (!stop)
            return NULL;
    }
    if (s->scale != 1)
        value *= s->scale;
    if (value - value != 0) {
        click_line_bad(b, "\"%s\" times its scale is too large for a float",
                       click_quote(at, len).text);
        return NULL;
    }
    if (b->names)
        *click_name_next(b) = (struct click_name){.space = s->len ? s->at : NULL,
                                                  .space_len = s->len,
                                                  .join = '^',
                                                  .at = at,
                                                  .len = (uint32_t)len};
    click_feature_push(w, b, click_hash(s->seed, at, len), value);
    return stop;
}

/* The features of one space, up to the next bar. */
static const char *take_features(const struct click_format *w, struct click_batch *b, const char *at,
                                 const char *end)
{
    struct space s;

    at = take_space(b, &s, at, end);
    while (at) {
        at = skip_blanks(at, end);
        if (at == end || *at == '|')
            return at;
        at = take_feature(w, b, &s, at, end);
    }
    return NULL;
}

bool click_vw_row(const struct click_format *w, struct click_batch *b, const char *at,
                  const char *end)
{
    const char *bar = memchr(at, '|', (size_t)(end - at));

    if (!bar)
        return click_line_bad(b, "found no bar, want features behind one");
    if (!take_head(w, b, at, bar))
        return false;
    while (bar && bar < end)
        bar = take_features(w, b, bar + 1, end);
    return bar != NULL;
}
