/* What the verbs say about click data. */
#include "cmd.h"

#include <sys/stat.h>

static void report_rows(struct console *c, uint64_t rows, unsigned classes, uint64_t positives,
                        uint64_t values)
{
    double per_row = rows > 0 ? (double)values / (double)rows : 0;

    console_row(c, "rows", number_count(rows).text, "of %.1f features", per_row);
    if (classes > 2)
        console_row(c, "classes", number_count(classes).text, NULL);
    else
        console_row(c, "positive", number_count(positives).text, "%s",
                    number_percent((double)positives, (double)rows).text);
}

void report_clicks(struct console *c, const struct shoal_clicks_stats *stats)
{
    console_row(c, "format", shoal_clicks_format_name(stats->format), "%s of text",
                number_size(stats->bytes).text);
    report_rows(c, stats->rows, stats->classes, stats->positives, stats->values);
    if (stats->features > 0)
        console_row(c, "features", number_count(stats->features).text, "different slots");
    if (stats->bad_lines > 0)
        console_row(c, "bad lines", number_count(stats->bad_lines).text, "left out");
}

void warn_clicks(struct console *c, const struct shoal_clicks_stats *stats)
{
    uint64_t shown = stats->bad_lines < SHOAL_CLICKS_SHOWN ? stats->bad_lines : SHOAL_CLICKS_SHOWN;

    for (uint64_t i = 0; i < shown; i++)
        console_warn(c, "left out %s", stats->bad[i]);
    if (stats->bad_lines > shown)
        console_warn(c, "left out %s more malformed lines",
                     number_count(stats->bad_lines - shown).text);
    if (stats->large[0])
        console_warn(c, "values of feature %s go up to %.6g, those of others are near %.3g: --scale "
                     "brings all to one size", stats->large, stats->largest, stats->usual);
    if (stats->spilled > 0)
        console_warn(c, "rows that went through the disk: %s; more --row-memory is faster",
                     number_size(stats->spilled).text);
}

/* ---- shoal encode --as clicks ------------------------------------------------------ */

static void report_plan(struct console *c, const struct shoal_clicks_plan *plan)
{
    console_heading(c, "plan");
    console_row(c, "input", number_size(plan->input_bytes).text,
                plan->streamed ? "and streams" : NULL);
    console_row(c, "buffers", number_size(plan->buffer_bytes).text, "at most");
    console_row(c, "slots", number_size(plan->table_bytes).text, NULL);
    console_row(c, "rows", number_size(plan->row_bytes).text, "at most, before they go to disk");
    console_row(c, "memory", number_size(plan->memory_bytes).text, "of %s free",
                number_size(plan->memory_free).text);
    console_row(c, "disk", plan->disk_bytes ? number_size(plan->disk_bytes).text : "unknown",
                plan->disk_bytes ? "about, of %s free" : "%s free",
                number_size(plan->disk_free).text);
}

static void report_encoded(struct console *c, const char *output,
                           const struct shoal_clicks_stats *stats)
{
    double seconds = stats->read_seconds + stats->write_seconds;

    console_heading(c, "result");
    report_clicks(c, stats);
    console_row(c, "file", number_size(stats->file_bytes).text, "%s", output);
    console_row(c, "took", number_seconds(seconds).text, "reading %s, writing %s; %s",
                number_seconds(stats->read_seconds).text, number_seconds(stats->write_seconds).text,
                number_rate(seconds > 0 ? (double)stats->bytes / seconds : 0, "bytes").text);
}

static shoal_status show_columns(struct console *c, const char *path)
{
    shoal_columns *columns = NULL;
    shoal_status st = shoal_columns_open(&columns, path);

    if (columns)
        report_columns(c, columns);
    shoal_columns_free(columns);
    return st;
}

shoal_status encode_clicks(struct console *c, const struct shoal_clicks_opts *opts,
                           const char *output, const char *const *inputs, size_t ninputs)
{
    struct shoal_clicks_plan plan;
    struct shoal_clicks_stats stats = {0};
    shoal_status st = shoal_clicks_plan(&plan, output, inputs, ninputs, opts);

    if (st != SHOAL_OK)
        return st;
    report_plan(c, &plan);
    st = shoal_clicks_encode(output, inputs, ninputs, opts, &stats);
    if (st == SHOAL_OK)
        st = show_columns(c, output);
    if (st == SHOAL_OK)
        report_encoded(c, output, &stats);
    warn_clicks(c, &stats);
    return st;
}

/* ---- shoal info --------------------------------------------------------------------- */

static void report_top(const shoal_clicks *clicks, uint64_t top)
{
    uint64_t values;

    if (top > shoal_clicks_counts(clicks).features)
        top = shoal_clicks_counts(clicks).features;
    if (top > 0)
        printf("\n%15s  %7s  feature\n", "count", "share");
    for (uint32_t id = 0; id < top; id++) {
        uint64_t count = shoal_clicks_count(clicks, id, &values);
        const char *name = shoal_clicks_name(clicks, id);

        printf("%15s  %7s  ", number_count(count).text,
               number_percent((double)count, (double)values).text);
        print_word(stdout, name ? name : "?");
        putchar('\n');
    }
}

/* "no, yes"; of many the first ones. */
static void report_labels(struct console *c, const shoal_clicks *clicks)
{
    unsigned classes = shoal_clicks_counts(clicks).classes;
    char text[SHOAL_SENTENCE] = "";
    size_t len = 0;

    for (unsigned k = 0; k < classes && len < 60 && shoal_clicks_label(clicks, k); k++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.40s", k > 0 ? ", " : "",
                                shoal_clicks_label(clicks, k));
    if (len > 0)
        console_row(c, "labels", number_count(classes).text, "%s%s", text, len < 60 ? "" : ", ...");
}

static void report_reading(struct console *c, const shoal_clicks *clicks)
{
    struct shoal_clicks_opts reading = shoal_clicks_like(clicks);

    console_row(c, "format", shoal_clicks_format_name(reading.format), NULL);
    console_row(c, "bits", number_count(reading.bits).text, "%s slots",
                number_count((uint64_t)1 << reading.bits).text);
}

shoal_status info_clicks(struct console *c, const char *path, uint64_t top)
{
    shoal_clicks *clicks;
    shoal_status st = shoal_clicks_open(&clicks, path);
    struct shoal_clicks_counts n;
    struct stat file;

    if (st != SHOAL_OK)
        return st;
    print_line(stdout, "%s: click data\n", path);
    if (stat(path, &file) == 0)
        console_row(c, "size", number_size((uint64_t)file.st_size).text, NULL);
    n = shoal_clicks_counts(clicks);
    report_rows(c, n.rows, n.classes, n.positives, n.values);
    console_row(c, "features", number_count(n.features).text,
                n.valued ? "with values" : "all of value 1");
    console_row(c, "weights", n.weighted ? "some" : "none",
                n.weighted ? NULL : "every row counts alike");
    report_reading(c, clicks);
    console_row(c, "bad lines", number_count(n.bad_lines).text, "left out");
    report_labels(c, clicks);
    if (shoal_clicks_columns(clicks))
        report_columns(c, shoal_clicks_columns(clicks));
    report_top(clicks, top);
    shoal_clicks_close(clicks);
    return SHOAL_OK;
}
