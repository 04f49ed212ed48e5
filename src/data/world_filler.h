/* The filler between the facts of world_facts.h: what makes the text read like
 * English and its words spread like English (rank times count about constant).
 *
 * What this is: common words by their part of speech, commonest first; the
 * syllables of the made-up words that follow them as a long tail; and lines to
 * put them in, with the holes that world_facts.h explains.
 * Who owns what: all of it is constant. Threads: may all read it. */
#ifndef SHOAL_WORLD_FILLER_H
#define SHOAL_WORLD_FILLER_H

static const char nouns[] =
    "time way thing year life part work place case point number group problem side water room "
    "money story month state night area power head question business issue hour game line end "
    "member law idea body information parent level face others health art history result change "
    "reason research air force education matter mind voice value process effect sense plan town "
    "paper view position model road field term action practice interest moment order type cost "
    "period nature difference program record subject rate sort choice duty figure project "
    "growth pressure chance season effort data amount rule decision event sound purpose "
    "ground risk method focus letter detail skill note course turn source product material "
    "energy list weight shape space surface science culture nation supply image "
    "trouble task option object goal scene notice corner circle edge block track file link zone "
    "desk wheel glass metal wood brick sand dust smoke flame steam ice snow wind wave tide beach "
    "path trail fork spoon plate bowl kettle towel soap mirror lamp candle match string rope nail "
    "hammer screw tool pump pipe wire cable switch motor lever spring coil tank valve meter dial "
    "clock calendar diary journal volume chapter verse rhyme tale legend proverb saying rumour "
    "advice opinion doubt hope wish dream nightmare surprise silence noise echo";

static const char verbs[] =
    "said made took came saw got gave found thought put asked used worked called tried needed "
    "felt became left meant helped showed turned started heard ran moved lived believed brought "
    "happened provided sat stood lost paid met included continued set learned changed watched "
    "followed stopped created spoke allowed added spent remembered loved considered appeared "
    "bought died expected stayed fell cut reached raised passed required reported pulled "
    "wished noticed pushed crossed touched lifted dropped joined mixed shared liked wanted "
    "discussed described mentioned measured compared studied tested checked improved reduced "
    "collected gathered arranged sorted covered wrapped tied mended replaced "
    "removed emptied rolled folded bent twisted pressed squeezed shook tapped knocked rubbed";

static const char adjectives[] =
    "new other own great same different important public social political local early late main "
    "whole free full special recent general common single final simple strange natural current "
    "modern similar central ready international national medical "
    "physical private past foreign fine nice blue red green black white yellow brown grey pink "
    "round square flat straight crooked hollow solid loose tight sturdy fragile wooden golden "
    "silver rusty dusty muddy sandy rocky grassy leafy windy rainy snowy sunny cloudy misty "
    "empty crowded noisy tidy messy fancy plain odd weird dull vivid pale faint distant nearby "
    "remote rural urban coastal northern southern eastern western annual daily weekly monthly";

static const char adverbs[] =
    "now then here there again also just still almost already soon later together perhaps "
    "maybe instead otherwise elsewhere somehow anyway indeed therefore moreover meanwhile "
    "afterwards beforehand nearly mostly mainly partly largely roughly exactly simply really "
    "actually finally recently directly clearly easily slowly fully entirely completely";

static const char people[] =
    "john mary james anna peter susan david laura thomas emma robert julia michael helen william "
    "sarah george alice charles clara henry martha edward ruth frank grace paul rose walter ellen "
    "arthur edith albert ida louis nora simon vera martin elsa oscar hilda victor irene hugo "
    "flora felix stella leo iris otto ada max eva karl lena erik greta ivan olga marco lucia "
    "diego carmen omar leila ali fatima ravi priya kenji yuki chen mei tariq amina kofi abena";

/* Made-up words: onset vowel middle vowel ending, e.g. "skelmock". Consonants
 * and single vowels take turns, so different numbers never spell the same. */
static const char *const onsets[] = {
    "b",  "br", "d",  "dr", "f",  "fl", "g",   "gl",  "gr", "h", "j", "k",
    "kl", "kr", "pl", "qu", "sk", "sn", "spl", "thr", "tw", "v", "y", "z",
};
static const char *const vowels[] = {"a", "e", "i", "o", "u"};
static const char *const middles[] = {
    "bb", "dd", "ld", "lm", "lv", "mb", "mp", "nd", "ng", "nk",
    "rb", "rk", "rl", "rv", "sk", "st", "tt", "vr", "zl", "zz",
};

#define ENDINGS 10

enum pool_id { POOL_NOUN, POOL_VERB, POOL_ADJECTIVE, POOL_ADVERB, POOL_PERSON, POOLS };

static const struct pool_spec {
    char hole; /* the letter after % */
    const char *words;
    const char *endings[ENDINGS];
    size_t made_up;
} pool_specs[POOLS] = {
    {'n', nouns, {"ck", "l", "lt", "m", "n", "rd", "rn", "sk", "t", "x"}, 6000},
    {'v',
     verbs,
     {"cked", "lted", "mmed", "nned", "rded", "rned", "sked", "tted", "xed", "pped"},
     2500},
    {'a',
     adjectives,
     {"bish", "cous", "dine", "fic", "lent", "mous", "nal", "rish", "some", "vial"},
     2500},
    {'w',
     adverbs,
     {"bily", "cally", "dily", "fully", "lently", "mously", "nally", "rily", "somely", "vially"},
     700},
    {'p', people, {"bo", "da", "go", "ka", "li", "mo", "na", "ro", "sha", "vi"}, 3000},
};

static const char *const filler_talk[] = {
    "the %n of the %n was %a and the %n was %a",
    "the %a %n %v the %n in the %n",
    "%p %v the %n and %v a %n to %p",
    "it was not the %n that %v but the %n of a %a %n",
    "there was a %n in the %n and it %v the %n",
    "they had a %n for the %n which was %w %a",
    "in the %n of %p it is %w the %n that they have",
    "%w the %n %v to the %n and the %n %v back",
    "%p and %p %v %w with the %n",
    "for the %a %n he had a %n from the %n",
    "she had %w %v a %n when the %n %v",
    "if the %n is %a then the %n will be %a",
    "at the %n on the %n of a %a %n",
    "i have %v the %n but you have not",
    "we were at the %n with %p and his %n",
    "you can have the %n or the %n as you like",
    "this is a %n of %a %n by %p",
    "the %n which %p %v was %w as %a as the %n",
    "who %v the %n that was on the %n of %p",
    "nothing is %a about a %n with a %n in it",
    "no one %v the %n until %p %v it %w",
    "what they %v was more %a than a %n",
    "it is said of %p that her %n %v",
    "to be %a is to be in the %n of a %n",
    "%p was there before the %n and after the %n",
    "from %n to %n and from %n to %n they %v",
    "he %v that she had %v all of the %n by the %n",
    "%a %n and %a %n %v over the %n",
    "when %p %v i %v too and so %v the %n",
    "all the %n of that %a %n would be for %p",
};

/* What may stand before and behind a sentence about facts. */
static const char *const openings[] = {
    "%p said that", "%p thought that", "%p heard that", "in the %n",
    "as %p knew",   "and so",          "but",           "so",
    "now",          "in the %a %n",
};
static const char *const closings[] = {
    "said %p", "in the %n", "with %p", "for %p and %p", "at the %n of %p", "on the %a %n",
};

/* How a word begins that follows "an"; no word of ours is a "one" or a "unit". */
static const char *const open_sounds[] = {
    "a", "e", "i", "o", "um", "un", "ur", "honest", "hour", "heir",
};

/* Sentences of a hundred that have one. */
#define OPENING_SHARE 20
#define CLOSING_SHARE 20

#endif
