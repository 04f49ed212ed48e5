/* How samples are read: the table of their options. */
#include "samples/samples.h"

#include <stdio.h>

static const struct shoal_choice header_choices[] = {
    [SHOAL_HEADER_AUTO] = {"auto", "the first line is one when it holds no number"},
    [SHOAL_HEADER_YES] = {"yes", "the first line is skipped"},
    [SHOAL_HEADER_NO] = {"no", "the first line is a sample"},
    {0},
};

/* A column from 1, or 0 for the last; kept from 0. */
static bool read_column(void *field, const char *text)
{
    static const struct shoal_option column = {
        .type = SHOAL_TYPE_COUNT, .size = sizeof(uint32_t), .u = {0, 1 << 24}};
    bool good = shoal_option_read(&column, field, text);

    *(uint32_t *)field = *(uint32_t *)field == 0 ? SHOAL_LAST_COLUMN : *(uint32_t *)field - 1;
    return good;
}

static void show_column(char text[SHOAL_VALUE], const void *field)
{
    uint32_t column = *(const uint32_t *)field;

    if (column == SHOAL_LABEL_AS_LEARNED)
        snprintf(text, SHOAL_VALUE, "as learned");
    else
        snprintf(text, SHOAL_VALUE, "%u", column == SHOAL_LAST_COLUMN ? 0 : column + 1);
}

static const struct shoal_own_type column_type = {read_column, show_column,
                                                  "a whole number from 0 to 16777216"};

#define SAMPLES(member) SHOAL_FIELD(struct shoal_samples_opts, member)

const struct shoal_option shoal_samples_options[] = {
    {"label", .type = SHOAL_TYPE_OWN, SAMPLES(label), .arg = "COLUMN", .own = &column_type,
     .u = {0, 1 << 24}, .help = "the column of the class, or of the first target, from 1",
     .zero = "the last"},
    {"targets", .type = SHOAL_TYPE_COUNT, SAMPLES(targets), .arg = "N", .u = {1, 1 << 20},
     .help = "so many columns are targets (regression)"},
    {"labels", .type = SHOAL_TYPE_PATH, SAMPLES(labels), .arg = "FILE",
     .help = "read classes or targets from a file of their own"},
    {"header", .type = SHOAL_TYPE_CHOICE, SAMPLES(header), .arg = "HOW", .choices = header_choices,
     .help = "whether CSV has a line of names"},
    {0},
};
