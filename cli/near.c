#include "near.h"

#include <string.h>

#define NAME_MAX_LEN 40 /* longer words are not compared */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: d(i, j) from the three rows i-2, i-1 and i. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][NAME_MAX_LEN + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= m; j++)
        above[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        before = above;
        above = row;
        row = spare;
    }
    return above[m];
}

struct near near_to(const char *word)
{
    /* One slip in a short word, one more for every four letters. */
    return (struct near){.word = word, .distance = 2 + strlen(word) / 4};
}

void near_try(struct near *near, const char *name)
{
    size_t n = strlen(near->word), m = strlen(name);
    size_t d;

    if (n > NAME_MAX_LEN || m > NAME_MAX_LEN)
        return;
    d = distance(near->word, n, name, m);
    /* "vocabulary" for "vocab", "mem" for "memory": a prefix counts as one slip. */
    if (least(n, m) >= 3 && strncmp(near->word, name, least(n, m)) == 0)
        d = least(d, 1);
    /* Not if every letter would have to change. */
    if (d < near->distance && d < m) {
        near->distance = d;
        near->best = name;
    }
}
