/* Labels as texts: one spelling of each, and their order. */
#include "columns/columns.h"

#include <math.h>

double label_spell(char out[LABEL_TEXT], const char *at, size_t len)
{
    size_t most = len < LABEL_TEXT ? len : LABEL_TEXT - 1;
    double x;

    if (len < 64 && decimal_parse_double(at, at + len, &x) == at + len && isfinite(x)) {
        x += 0.0; /* -0 is 0 */
        number_exact(out, LABEL_TEXT, x);
        return x;
    }
    memcpy(out, at, most);
    out[most] = '\0';
    return NAN;
}

static double number_of(const char *name)
{
    const char *end = name + strlen(name);
    double x;

    return decimal_parse_double(name, end, &x) == end && end > name ? x : NAN;
}

int label_order(const char *a, const char *b)
{
    double x = number_of(a), y = number_of(b);

    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1;
    return isnan(x) ? strcmp(a, b) : (x > y) - (x < y);
}
