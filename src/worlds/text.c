/* A world to learn: sentences over planted facts, and the questions whose
 * answers the sentences hold. world.txt says what is told and why it can be
 * learned; this file draws and spells. All randomness is keyed by the number
 * of the sentence and all arithmetic is of integers, so that the same options
 * give the same bytes on every machine. */
#include "base/base.h"
#include "file/file.h"

#include "world.inc"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define WORDS_MAX 1000000000000u
#define FIELDS 10
/* The longest line of the tables with the longest words is below half of it. */
#define SENTENCE_MAX 1024
#define QUESTIONS_MAX 300 /* of a section */

/* Streams of random numbers: sentence i is stream i. */
#define STREAM_QUESTIONS UINT64_MAX

/* Lists of facts, as world.txt names them, and the letters of holes for filler. */
static const char *const kind_names[] = {"country", "person", "manner", "contrary",
                                         "degree",  "verb",   "noun"};
static const char pool_holes[] = "nvawp";

#define KINDS LEN(kind_names)
#define POOLS (LEN(pool_holes) - 1)
#define LINES_MAX 1024
#define LISTS_MAX 40

/* What stands in world.txt below ":name number". */
struct list {
    const char *name;
    uint64_t number;          /* 0: there is none */
    const char *const *lines; /* [len] */
    size_t len;
};

/* A word of no bytes: there is none. */
struct words {
    struct span *at; /* [len] */
    size_t len;
};

struct fact {
    struct span field[FIELDS];
};

struct facts {
    const struct list *list, *talk;
    struct fact *at; /* [list->len] */
};

/* Words of one part of speech; word r is drawn about as 1 / (r + ZIPF_SHIFT). */
struct pool {
    struct words words;
    uint64_t *upto;       /* [words.len] the sum of the weights of words 0..i */
    struct bytes letters; /* of the made-up words */
};

struct world {
    char *text; /* a copy of world.txt, each line ended by a NUL */
    const char *lines[LINES_MAX];
    struct list lists[LISTS_MAX];
    size_t nlines, nlists;

    struct facts facts[KINDS];
    const struct list *filler, *openings, *closings;
    struct words onsets, vowels, middles, open_sounds;
    struct pool pools[POOLS];
};

/* One sentence on its way. */
struct speech {
    const struct world *world;
    const struct facts *facts; /* NULL in filler */
    const struct fact *fact;
    struct rng rng;
    size_t len, words;
    char text[SENTENCE_MAX];
};

/* ---- world.txt into lists ----------------------------------------------------- */

/* heading: ":name number" */
static void list_begin(struct world *world, char *heading)
{
    char *number = heading + 1;
    const char *name = strsep(&number, " ");

    assert(world->nlists < LISTS_MAX);
    world->lists[world->nlists++] = (struct list){.name = name,
                                                  .number = number ? strtoull(number, NULL, 10) : 0,
                                                  .lines = &world->lines[world->nlines]};
}

static void chart_line_add(struct world *world, const char *line)
{
    assert(world->nlines < LINES_MAX && world->nlists > 0);
    world->lines[world->nlines++] = line;
    world->lists[world->nlists - 1].len++;
}

static shoal_status lists_read(struct world *world)
{
    char *line, *rest = world->text = mem_text("%s", world_txt);

    if (!rest)
        return SHOAL_ENOMEM;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == ':')
            list_begin(world, line);
        else if (line[0] != '\0' && line[0] != '#')
            chart_line_add(world, line);
    }
    return SHOAL_OK;
}

static const struct list *list_of(const struct world *world, const char *name)
{
    const struct list *list = world->lists;

    while (strcmp(list->name, name) != 0) {
        list++;
        assert(list < world->lists + world->nlists);
    }
    return list;
}

/* ---- Lists into words ----------------------------------------------------------- */

/* The next word of *rest, len 0 at the end. */
static struct span word_next(const char **rest)
{
    const char *at = *rest + strspn(*rest, " ");
    uint32_t len = (uint32_t)strcspn(at, " ");

    *rest = at + len;
    return (struct span){at, len};
}

static struct fact fact_of(const char *row)
{
    struct fact fact = {0};

    for (size_t i = 0; i < FIELDS; i++) {
        struct span word = word_next(&row);

        if (word.len != 1 || word.at[0] != '-')
            fact.field[i] = word;
    }
    return fact;
}

static shoal_status facts_init(struct facts *facts, const struct list *list)
{
    facts->at = mem_array(list->len, sizeof *facts->at);
    if (!facts->at)
        return SHOAL_ENOMEM;
    facts->list = list;
    facts->talk = list + 1;
    for (size_t i = 0; i < list->len; i++)
        facts->at[i] = fact_of(list->lines[i]);
    return SHOAL_OK;
}

static size_t words_in(const struct list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->len; i++)
        for (const char *rest = list->lines[i]; word_next(&rest).len > 0;)
            n++;
    return n;
}

/* All words of a list, with room for `more`. */
static shoal_status words_init(struct words *words, const struct list *list, size_t more)
{
    words->at = mem_array(words_in(list) + more, sizeof *words->at);
    if (!words->at)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < list->len; i++)
        for (const char *rest = list->lines[i]; *rest;)
            words->at[words->len++] = word_next(&rest);
    return SHOAL_OK;
}

/* ---- Pools of filler words -------------------------------------------------- */

#define ZIPF_SHIFT 16
#define MADE_UP_MAX 16

/* Word number i, an onset, a vowel, a middle, a vowel and an ending: i is spread
 * over all n spellings and then read as digits, each of another base. The step is
 * a prime that does not divide n, so different i below n give different words. */
#define SPELLING_STEP 48271u

static uint32_t made_up_spell(char *out, size_t i, const struct world *world,
                            const struct words *endings)
{
    const struct words *parts[] = {&world->onsets, &world->vowels, &world->middles, &world->vowels,
                                   endings};
    size_t spellings = 1, code;
    char *end = out;

    for (size_t p = 0; p < LEN(parts); p++)
        spellings *= parts[p]->len;
    assert(spellings % SPELLING_STEP != 0);
    code = i * SPELLING_STEP % spellings;
    for (size_t p = 0; p < LEN(parts); p++) {
        struct span part = parts[p]->at[code % parts[p]->len];

        end = mempcpy(end, part.at, part.len);
        code /= parts[p]->len;
    }
    assert(end < out + MADE_UP_MAX);
    return (uint32_t)(end - out);
}

static shoal_status made_up_add(struct pool *pool, const struct world *world,
                                const struct list *list)
{
    struct words endings = {0};
    shoal_status st = words_init(&endings, list + 1, 0);

    if (st == SHOAL_OK)
        st = bytes_reserve(&pool->letters, list->number * MADE_UP_MAX);
    for (size_t i = 0; i < list->number && st == SHOAL_OK; i++) {
        char *at = pool->letters.at + pool->letters.len;
        uint32_t len = made_up_spell(at, i, world, &endings);

        pool->words.at[pool->words.len++] = (struct span){at, len};
        pool->letters.len += len;
    }
    free(endings.at);
    return st;
}

static shoal_status pool_init(struct pool *pool, const struct world *world, char hole)
{
    const struct list *list = list_of(world, (char[]){hole, '\0'});
    uint64_t sum = 0;
    shoal_status st = words_init(&pool->words, list, list->number);

    if (st == SHOAL_OK)
        st = made_up_add(pool, world, list);
    pool->upto = mem_array(pool->words.len, sizeof *pool->upto);
    if (!pool->upto)
        return SHOAL_ENOMEM;
    for (size_t r = 0; r < pool->words.len; r++) {
        sum += ((uint64_t)1 << 32) / (r + ZIPF_SHIFT);
        pool->upto[r] = sum;
    }
    return st;
}

static void pool_fini(struct pool *pool)
{
    free(pool->words.at);
    free(pool->upto);
    bytes_fini(&pool->letters);
}

static struct span pool_draw(const struct pool *pool, struct rng *rng)
{
    size_t low = 0, high = pool->words.len - 1;
    uint64_t x = rng_below(rng, pool->upto[high]);

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (x < pool->upto[mid])
            high = mid;
        else
            low = mid + 1;
    }
    return pool->words.at[low];
}

static const struct pool *pool_of(const struct world *world, char hole)
{
    const char *at = strchr(pool_holes, hole);

    assert(at);
    return &world->pools[at - pool_holes];
}

static void world_fini(struct world *world)
{
    for (size_t i = 0; i < KINDS; i++)
        free(world->facts[i].at);
    for (size_t i = 0; i < POOLS; i++)
        pool_fini(&world->pools[i]);
    free(world->onsets.at);
    free(world->vowels.at);
    free(world->middles.at);
    free(world->open_sounds.at);
    free(world->text);
}

static shoal_status world_init(struct world *world)
{
    shoal_status st = lists_read(world);

    if (st != SHOAL_OK)
        return st;
    world->filler = list_of(world, "filler");
    world->openings = list_of(world, "openings");
    world->closings = list_of(world, "closings");
    for (size_t i = 0; i < KINDS && st == SHOAL_OK; i++)
        st = facts_init(&world->facts[i], list_of(world, kind_names[i]));
    if (st == SHOAL_OK)
        st = words_init(&world->onsets, list_of(world, "onsets"), 0);
    if (st == SHOAL_OK)
        st = words_init(&world->vowels, list_of(world, "vowels"), 0);
    if (st == SHOAL_OK)
        st = words_init(&world->middles, list_of(world, "middles"), 0);
    if (st == SHOAL_OK)
        st = words_init(&world->open_sounds, list_of(world, "open-sounds"), 0);
    for (size_t i = 0; i < POOLS && st == SHOAL_OK; i++)
        st = pool_init(&world->pools[i], world, pool_holes[i]);
    return st;
}

/* ---- Lines into sentences ----------------------------------------------------- */

static bool sounds_open(const struct words *sounds, const char *word)
{
    for (size_t i = 0; i < sounds->len; i++)
        if (strncmp(word, sounds->at[i].at, sounds->at[i].len) == 0)
            return true;
    return false;
}

/* Whether the last word said is "a". */
static bool said_a(const struct speech *s)
{
    return s->len >= 2 && s->text[s->len - 2] == 'a' && (s->len == 2 || s->text[s->len - 3] == ' ');
}

static void say(struct speech *s, const char *at, size_t len)
{
    assert(s->len + len + 2 < SENTENCE_MAX);
    if (said_a(s) && sounds_open(&s->world->open_sounds, at)) {
        s->text[s->len - 1] = 'n';
        s->text[s->len++] = ' ';
    }
    memcpy(s->text + s->len, at, len);
    s->len += len;
    s->text[s->len++] = ' ';
    s->words++;
}

/* Another fact of the kind that has the field. */
static const struct fact *fact_other(struct speech *s, size_t field)
{
    const struct fact *fact;

    do
        fact = &s->facts->at[rng_below(&s->rng, s->facts->list->len)];
    while (fact == s->fact || fact->field[field].len == 0);
    return fact;
}

/* hole: '%' or '&' and what follows it. */
static void say_hole(struct speech *s, const char *hole)
{
    size_t field = (size_t)(hole[1] - '0');
    const struct fact *fact;
    struct span word;

    if (field < FIELDS) {
        fact = hole[0] == '&' ? fact_other(s, field) : s->fact;
        word = fact->field[field];
    } else {
        word = pool_draw(pool_of(s->world, hole[1]), &s->rng);
    }
    say(s, word.at, word.len);
}

static void say_words(struct speech *s, const char *at, const char *end)
{
    while (at < end) {
        size_t len = strcspn(at, " |]");

        if (*at == '%' || *at == '&')
            say_hole(s, at);
        else if (len > 0)
            say(s, at, len);
        at += len > 0 ? len : 1;
    }
}

/* at: behind the '['. Says one of the choices. */
static void say_choice(struct speech *s, const char *at, const char *end)
{
    uint64_t choices = 1, chosen;

    for (const char *p = at; p < end; p++)
        choices += *p == '|';
    chosen = rng_below(&s->rng, choices);
    while (chosen-- > 0)
        at += strcspn(at, "|") + 1;
    say_words(s, at, at + strcspn(at, "|]"));
}

static void say_line(struct speech *s, const char *line)
{
    while (*line) {
        const char *open = line + strcspn(line, "[");
        const char *close;

        say_words(s, line, open);
        if (!*open)
            return;
        close = open + strcspn(open, "]");
        say_choice(s, open + 1, close);
        line = close + 1;
    }
}

static const char *line_draw(struct speech *s, const struct list *list)
{
    return list->lines[rng_below(&s->rng, list->len)];
}

/* Whether the fact has every field that the line asks of it. */
static bool line_fits(const char *line, const struct fact *fact)
{
    for (; (line = strchr(line, '%')) != NULL; line++) {
        size_t field = (size_t)(line[1] - '0');

        if (field < FIELDS && fact->field[field].len == 0)
            return false;
    }
    return true;
}

/* Says a line of the list, in as many sentences of a hundred as it says. */
static void say_perhaps(struct speech *s, const struct list *list)
{
    if (rng_below(&s->rng, 100) < list->number)
        say_line(s, line_draw(s, list));
}

/* Rows that stand first in their list are told up to twice as often. */
static const struct fact *fact_draw(struct speech *s)
{
    size_t n = s->facts->list->len;
    size_t i = (size_t)rng_below(&s->rng, n + n / 2);

    return &s->facts->at[i < n ? i : i - n];
}

static void speak_of(struct speech *s, const struct facts *facts)
{
    const char *line;

    s->facts = facts;
    s->fact = fact_draw(s);
    do
        line = line_draw(s, facts->talk);
    while (!line_fits(line, s->fact));

    say_perhaps(s, s->world->openings);
    say_line(s, line);
    say_perhaps(s, s->world->closings);
}

/* Sentence number `index`, ended by a newline. */
static void speak(struct speech *s, const struct world *world, uint64_t seed, uint64_t index)
{
    uint64_t draw;

    s->world = world;
    s->facts = NULL;
    s->fact = NULL;
    s->rng = (struct rng){.seed = seed, .stream = index};
    s->len = s->words = 0;

    draw = rng_below(&s->rng, 100);
    for (size_t i = 0; i < KINDS && !s->facts; i++) {
        const struct facts *facts = &world->facts[i];

        if (draw < facts->list->number)
            speak_of(s, facts);
        else
            draw -= facts->list->number;
    }
    if (!s->facts)
        say_line(s, line_draw(s, world->filler));
    s->text[s->len - 1] = '\n';
}

static shoal_status text_write(struct output *out, const struct world *world,
                               const struct shoal_world_opts *opts, struct shoal_world_stats *stats)
{
    struct pulse pulse;
    struct speech s;
    shoal_status st = SHOAL_OK;

    pulse_begin(&pulse, &opts->watch, "world", "words", opts->words);
    while (stats->words < opts->words && st == SHOAL_OK) {
        speak(&s, world, opts->seed, stats->sentences);
        st = output_write(out, s.text, s.len);
        stats->sentences++;
        stats->words += s.words;
        stats->bytes += s.len;
        if (st == SHOAL_OK)
            st = pulse_at(&pulse, stats->words);
    }
    return st == SHOAL_OK ? pulse_end(&pulse, stats->words) : st;
}

/* ---- Questions ------------------------------------------------------------------- */

/* A section of questions: which fields of which facts. */
struct topic {
    struct span name;
    const struct facts *facts;
    size_t from, to;
};

/* line: "name kind from to" */
static struct topic topic_of(const struct world *world, const char *line)
{
    struct topic topic = {.name = word_next(&line)};
    struct span kind = word_next(&line);
    size_t i = 0;

    while (strlen(kind_names[i]) != kind.len || strncmp(kind_names[i], kind.at, kind.len) != 0) {
        i++;
        assert(i < KINDS);
    }
    topic.facts = &world->facts[i];
    topic.from = (size_t)(*word_next(&line).at - '0');
    topic.to = (size_t)(*word_next(&line).at - '0');
    return topic;
}

static shoal_status add_word(struct bytes *out, struct span word, char end)
{
    shoal_status st = bytes_add(out, word.at, word.len);

    return st == SHOAL_OK ? bytes_add(out, &end, 1) : st;
}

/* a is to b as c to d. */
static shoal_status question_add(struct bytes *out, const struct topic *topic,
                                 const struct fact *ab, const struct fact *cd)
{
    const struct span words[] = {ab->field[topic->from], ab->field[topic->to],
                                 cd->field[topic->from], cd->field[topic->to]};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < LEN(words) && st == SHOAL_OK; i++)
        st = add_word(out, words[i], i + 1 < LEN(words) ? ' ' : '\n');
    return st;
}

/* The facts that have both fields, in random order; their number. */
static size_t topic_facts(struct fact *out, const struct topic *topic, struct rng *rng)
{
    size_t n = 0;

    for (size_t i = 0; i < topic->facts->list->len; i++) {
        const struct fact *fact = &topic->facts->at[i];
        size_t at;

        if (fact->field[topic->from].len == 0 || fact->field[topic->to].len == 0)
            continue;
        at = (size_t)rng_below(rng, n + 1);
        out[n++] = out[at];
        out[at] = *fact;
    }
    return n;
}

/* Each fact meets the one behind it, then the second behind it, and so on, so
 * that all are asked equally often. */
static shoal_status topic_add(struct bytes *out, const struct topic *topic, struct rng *rng,
                              uint64_t *questions)
{
    struct fact *order = mem_array(topic->facts->list->len, sizeof *order);
    shoal_status st;
    size_t n, asked = 0;

    if (!order)
        return SHOAL_ENOMEM;
    n = topic_facts(order, topic, rng);
    st = bytes_add(out, ": ", 2);
    if (st == SHOAL_OK)
        st = add_word(out, topic->name, '\n');
    for (size_t apart = 1; apart < n; apart++)
        for (size_t i = 0; i < n && asked < QUESTIONS_MAX && st == SHOAL_OK; i++, asked++)
            st = question_add(out, topic, &order[i], &order[(i + apart) % n]);
    *questions += asked;
    free(order);
    return st;
}

static shoal_status questions_write(struct output *out, const struct world *world, uint64_t seed,
                                    struct shoal_world_stats *stats)
{
    const struct list *topics = list_of(world, "topics");
    struct rng rng = {.seed = seed, .stream = STREAM_QUESTIONS};
    struct bytes lines = {0};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < topics->len && st == SHOAL_OK; i++) {
        struct topic topic = topic_of(world, topics->lines[i]);

        st = topic_add(&lines, &topic, &rng, &stats->questions);
    }
    stats->sections = topics->len;
    if (st == SHOAL_OK)
        st = output_write(out, lines.at, lines.len);
    bytes_fini(&lines);
    return st;
}

/* ---- The door ------------------------------------------------------------------------ */

struct shoal_world_opts shoal_world_default(void)
{
    return (struct shoal_world_opts){.words = 1000000, .seed = 1};
}

static shoal_status world_check(const char *text, const char *questions,
                                const struct shoal_world_opts *opts)
{
    if (opts->words == 0 || opts->words > WORDS_MAX)
        return shoal_fail(SHOAL_EINVAL, "world: --words is %llu, want 1 .. %llu",
                          (unsigned long long)opts->words, (unsigned long long)WORDS_MAX);
    if (questions && strcmp(text, questions) == 0)
        return shoal_fail(SHOAL_EINVAL, "world: text and questions both go to %s, want two places",
                          text);
    return SHOAL_OK;
}

/* Ends both. The text goes first: it is the one that may not fit the disk. */
static shoal_status commit_both(struct output *text, struct output *questions)
{
    shoal_status st = output_commit(text);

    if (st == SHOAL_OK && questions)
        return output_commit(questions);
    output_abandon(questions);
    return st;
}

shoal_status shoal_world_write(const char *text, const char *questions,
                               const struct shoal_world_opts *opts, struct shoal_world_stats *stats)
{
    struct shoal_world_stats count = {0};
    struct output *text_out = NULL, *questions_out = NULL;
    struct world world = {0};
    shoal_status st = world_check(text, questions, opts);

    if (stats)
        *stats = count;
    if (st != SHOAL_OK)
        return st;

    if ((st = world_init(&world)) != SHOAL_OK || (st = output_open(&text_out, text)) != SHOAL_OK ||
        (questions && (st = output_open(&questions_out, questions)) != SHOAL_OK) ||
        (st = text_write(text_out, &world, opts, &count)) != SHOAL_OK ||
        (questions && (st = questions_write(questions_out, &world, opts->seed, &count))))
        goto done;

    st = commit_both(text_out, questions_out);
    text_out = questions_out = NULL;
    if (st == SHOAL_OK && stats)
        *stats = count;
done:
    output_abandon(text_out);
    output_abandon(questions_out);
    world_fini(&world);
    return st;
}
