/* The bottleneck table: where the time of each rank went, and the verdict. Times and
 * bytes are by unit of work, so that runs of any length compare. */
#include "train.h"

#include <math.h>

enum { HOST_COLUMNS = 14 };

/* 0.0123, 1.234, 12.3, 1234 */
static struct number number_time(double seconds)
{
    return number_text("%.*f",
                       seconds < 0.1     ? 4
                       : seconds < 9.995 ? 3
                       : seconds < 99.95 ? 1
                                         : 0,
                       seconds);
}

static struct number number_share(double part, double whole)
{
    if (!isfinite(part))
        return number_text("unknown");
    return number_text("%.1f%%", whole > 0 ? 100 * part / whole : 0);
}

static struct number number_bytes(uint64_t bytes, double units)
{
    if (bytes == SHOAL_UNKNOWN)
        return number_text("unknown");
    return number_size((uint64_t)((double)bytes / units));
}

/* The columns of rank and host; a longer host name is not cut. */
static void put_name(FILE *to, const char *rank, const char *host)
{
    size_t columns = text_columns(host);

    fprintf(to, "%5s  ", rank);
    print_word(to, host);
    for (; columns < HOST_COLUMNS; columns++)
        fputc(' ', to);
}

static void put_head(FILE *to, const char *columns)
{
    fprintf(to, "%s%5s  %-*s%s%s\n", style_on(to, STYLE_DIM), "rank", HOST_COLUMNS, "host", columns,
            style_on(to, STYLE_PLAIN));
}

/* ---- Time -------------------------------------------------------------------------- */

static void put_time(FILE *to, const char *rank, const struct shoal_profile_rank *r, double units)
{
    put_name(to, rank, r->host);
    fprintf(to, "  %8s  %8s  %8s  %8s  %8s  %8s  %7s  %7s\n",
            number_time(r->computing / units).text, number_time(r->communicating / units).text,
            number_time(r->waiting / units).text, number_time(r->other / units).text,
            number_time(r->user / units).text, number_time(r->system / units).text,
            number_share(r->user + r->system, r->thread_seconds).text,
            number_share(r->queued, r->seconds).text);
}

static void put_shares(FILE *to, const struct shoal_profile_rank *all)
{
    put_name(to, "share", "");
    fprintf(to, "  %8s  %8s  %8s  %8s\n", number_share(all->computing, all->seconds).text,
            number_share(all->communicating, all->seconds).text,
            number_share(all->waiting, all->seconds).text,
            number_share(all->other, all->seconds).text);
}

static void put_times(FILE *to, const struct shoal_profile *p, double units)
{
    put_head(to, "   compute  exchange      wait     other      user    system      cpu  in line");
    for (unsigned i = 0; i < p->nrows; i++)
        put_time(to, number_text("%u", p->rows[i].rank).text, &p->rows[i], units);
    if (p->ranks > 1)
        put_time(to, "all", &p->all, units);
    put_shares(to, &p->all);
}

/* ---- Bytes ------------------------------------------------------------------------- */

static void put_bytes(FILE *to, const char *rank, const struct shoal_profile_rank *r, double units)
{
    put_name(to, rank, r->host);
    fprintf(to, "  %10s  %10s  %10s  %10s  %10s", number_bytes(r->bytes_out, units).text,
            number_bytes(r->bytes_in, units).text, number_bytes(r->disk_read, units).text,
            number_bytes(r->disk_written, units).text, number_size(r->memory).text);
}

static void put_rank_bytes(FILE *to, const struct shoal_profile_rank *r, double units)
{
    put_bytes(to, number_text("%u", r->rank).text, r, units);
    if (r->awaited_seconds > 0)
        fprintf(to, "  rank %u, %s", r->awaited, number_share(r->awaited_seconds, r->seconds).text);
    fputc('\n', to);
}

static void put_traffic(FILE *to, const struct shoal_profile *p, double units)
{
    put_head(to, p->ranks > 1 ? "        sent    received   disk read     written        peak  "
                                "waited for"
                              : "        sent    received   disk read     written        peak");
    for (unsigned i = 0; i < p->nrows; i++)
        put_rank_bytes(to, &p->rows[i], units);
    if (p->ranks > 1) {
        put_bytes(to, "all", &p->all, units);
        fputc('\n', to);
    }
}

/* ---- All of it ----------------------------------------------------------------------- */

void profile_show(struct console *c, const struct shoal_profile *p)
{
    double units = p->units > 0 ? p->units : 1;
    char text[SHOAL_SENTENCE];

    snprintf(text, sizeof text, "profile: seconds and bytes per %s, of which there were %s",
             p->unit, number_time(p->units).text);
    console_heading(c, text);
    if (!c->reports)
        return;
    put_times(c->reports, p, units);
    put_traffic(c->reports, p, units);
    if (p->nrows < p->ranks)
        fprintf(c->reports, "and %u ranks more, which the sums hold\n", p->ranks - p->nrows);
    fprintf(c->reports, "%sverdict%s: %s\n", style_on(c->reports, STYLE_BOLD),
            style_on(c->reports, STYLE_PLAIN), p->verdict);
}

void profile_show_steps(struct console *c, const struct shoal_profile *p, uint64_t steps)
{
    double n = (double)steps;

    if (!c->reports || steps == 0)
        return;
    fputc('\n', c->reports);
    put_head(c->reports, "    s a step   compute      wait  communicate");
    for (unsigned i = 0; i < p->nrows; i++) {
        const struct shoal_profile_rank *r = &p->rows[i];

        put_name(c->reports, number_text("%u", r->rank).text, r->host[0] ? r->host : "this one");
        fprintf(c->reports, "  %10.4f  %8.4f  %8.4f  %11.4f\n",
                (r->computing + r->waiting + r->communicating) / n, r->computing / n,
                r->waiting / n, r->communicating / n);
    }
}
