/* A folder for one test program's files, gone when it ends; and text to put
 * there. Included after the system headers that cmocka.h wants. */
#ifndef SHOAL_TEST_SCRATCH_H
#define SHOAL_TEST_SCRATCH_H

#include "base/base.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char scratch_dir[64];

static int scratch_setup(void **state)
{
    (void)state;
    snprintf(scratch_dir, sizeof scratch_dir, "/tmp/shoal-test-XXXXXX");
    return mkdtemp(scratch_dir) ? 0 : -1;
}

static int scratch_remove(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static int scratch_teardown(void **state)
{
    (void)state;
    return nftw(scratch_dir, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name in the folder; one of sixteen buffers, used in turn. */
static const char *scratch_path(const char *name)
{
    static char paths[16][128];
    static unsigned turn;
    char *path = paths[turn++ % 16];

    snprintf(path, sizeof paths[0], "%s/%s", scratch_dir, name);
    return path;
}

__attribute__((unused)) static const char *scratch_put(const char *name, const void *data, size_t len)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    return path;
}

__attribute__((unused)) static struct bytes scratch_get(const char *path)
{
    struct bytes b = {0};
    FILE *f = fopen(path, "rb");
    char chunk[4096];
    size_t n;

    assert_non_null(f);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        assert_int_equal(bytes_add(&b, chunk, n), SHOAL_OK);
    fclose(f);
    return b;
}

/* Files in a folder, hidden ones among them. */
__attribute__((unused)) static size_t scratch_count(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

__attribute__((unused)) static void text_add_str(struct bytes *b, const char *s)
{
    assert_int_equal(bytes_add(b, s, strlen(s)), SHOAL_OK);
}

__attribute__((unused)) static void text_add_many(struct bytes *b, const char *s, size_t times)
{
    size_t len = strlen(s);

    assert_int_equal(bytes_reserve(b, len * times), SHOAL_OK);
    for (size_t i = 0; i < times; i++)
        memcpy(b->at + b->len + i * len, s, len);
    b->len += len * times;
}

#endif
