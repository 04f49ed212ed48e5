/* Nets of pictures: what they see in a file, and their weights as safetensors. */
#include "nets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIKELIEST = 5, AT_ONCE = 1024 };

bool sees_pictures(const shoal_net *net)
{
    unsigned channels, height, width;

    return shoal_net_pictures(net, &channels, &height, &width);
}

bool sees_pictures_only(const shoal_net *net)
{
    return sees_pictures(net) && strncmp(shoal_net_spec(net), "mlp ", strlen("mlp ")) != 0;
}

bool holds_picture(const char *path)
{
    unsigned char first[8] = {0};
    FILE *f = fopen(path, "rbe");
    size_t n = f ? fread(first, 1, sizeof first, f) : 0;

    if (f)
        fclose(f);
    return n == sizeof first && (memcmp(first, "\xff\xd8\xff", 3) == 0 ||
                                 memcmp(first, "\x89PNG\r\n\x1a\n", sizeof first) == 0);
}

/* ---- predict ------------------------------------------------------------------------- */

/* The greatest number that is left, which is then taken away. */
static size_t take_best(float *y, size_t n, float *p)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        best = y[i] > y[best] ? i : best;
    *p = y[best];
    y[best] = -1;
    return best;
}

/* Lines of a probability and a class, with the file before them if there are several. */
static void print_likeliest(const shoal_net *net, const char *path, float *y)
{
    size_t n = shoal_net_outputs(net);
    char name[256];
    float p;

    for (size_t i = 0; i < LIKELIEST && i < n; i++) {
        size_t best = take_best(y, n, &p);

        shoal_net_class(net, best, name, sizeof name);
        if (path) {
            print_safely(stdout, path);
            putchar('\t');
        }
        printf("%.4f\t", (double)p);
        print_safely(stdout, name);
        putchar('\n');
    }
}

shoal_status predict_pictures(const shoal_net *net, const char *const *paths, size_t n,
                              bool several)
{
    size_t out = shoal_net_outputs(net), done;
    float *y = console_alloc(AT_ONCE * out * sizeof *y);
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i += AT_ONCE) {
        st =
            shoal_net_predict_pictures(net, paths + i, n - i < AT_ONCE ? n - i : AT_ONCE, y, &done);
        for (size_t k = 0; k < done; k++)
            print_likeliest(net, several ? paths[i + k] : NULL, y + k * out);
    }
    free(y);
    return st;
}

/* ---- eval ------------------------------------------------------------------------------ */

shoal_status score_pictures(const shoal_net *net, const char *path, size_t *pictures,
                            struct shoal_net_figures *figures, uint64_t *confusion)
{
    struct shoal_images_opts read = shoal_images_default();
    unsigned channels, height, width;
    shoal_images *set = NULL;
    shoal_status st;

    shoal_net_pictures(net, &channels, &height, &width);
    read.test = true;
    read.size = height;
    st = shoal_images_open(&set, path, &read);
    if (st == SHOAL_OK) {
        *pictures = shoal_images_size(set);
        st = shoal_net_eval_images(net, set, 0, figures, confusion);
    }
    shoal_images_close(set);
    return st;
}

/* ---- info ------------------------------------------------------------------------------- */

void info_classes(struct console *c, const shoal_net *net)
{
    char name[256], text[512] = "";
    size_t len = 0;

    if (!shoal_net_fact(net, "class.0"))
        return;
    for (size_t i = 0; i < shoal_net_outputs(net) && len < sizeof text; i++) {
        shoal_net_class(net, i, name, sizeof name);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? ", " : "", name);
    }
    console_row(c, "classes", number_count(shoal_net_outputs(net)).text, "%s", text);
}

/* ---- convert ----------------------------------------------------------------------------- */

static bool is_net(const char *path)
{
    char kind[32];

    return shoal_kind(path, kind) && strcmp(kind, "net") == 0;
}

bool holds_net(const char *path)
{
    char kind[32];

    return is_net(path) || (!shoal_kind(path, kind) && shoal_net_weights(path));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

shoal_status convert_net(const char *from, const char *to, unsigned size)
{
    shoal_net *net = NULL;
    shoal_status st =
        is_net(from) ? shoal_net_open(&net, from) : shoal_net_import(&net, from, size);

    if (st == SHOAL_OK)
        st = ends_with(to, ".safetensors") ? shoal_net_export(net, to) : shoal_net_save(net, to);
    shoal_net_close(net);
    return st;
}
