/* An empty folder for each test, which is the current one while it runs, and
 * files to put there and to look at. Included after cmocka.h. */
#ifndef SHOAL_TEST_FOLDER_H
#define SHOAL_TEST_FOLDER_H

#include "base/base.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int folder_setup(void **state)
{
    char *dir = strdup("/tmp/shoal-test-XXXXXX");

    *state = dir;
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static inline int folder_teardown(void **state)
{
    int rc = chdir("/");

    rc |= nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return rc;
}

static inline void put_file(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static inline void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

static inline char *get_file(const char *path, size_t *len)
{
    struct stat info;
    FILE *f = fopen(path, "rb");
    char *data;

    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &info), 0);
    *len = (size_t)info.st_size;
    data = calloc(1, *len + 1);
    assert_int_equal(fread(data, 1, *len, f), *len);
    fclose(f);
    return data;
}

static inline void assert_file_is(const char *path, const char *want)
{
    size_t len;
    char *found = get_file(path, &len);

    assert_int_equal(len, strlen(want));
    assert_string_equal(found, want);
    free(found);
}

/* All names here, hidden ones too. */
static inline int files_here(void)
{
    FILE *ls = popen("ls -A | wc -l", "r");
    int n = -1;

    assert_non_null(ls);
    assert_int_equal(fscanf(ls, "%d", &n), 1);
    pclose(ls);
    return n;
}

static inline void assert_error_has(const char *part)
{
    if (!strstr(shoal_error(), part))
        fail_msg("\"%s\" does not contain \"%s\"", shoal_error(), part);
}

/* Text that compresses, but not to nothing. */
static inline char *make_text(size_t len)
{
    struct rng r = {.seed = 9};
    char *text = malloc(len + 1);

    for (size_t i = 0; i < len; i++)
        text[i] = "abcdefghijklmno "[rng_below(&r, 16)];
    text[len] = '\0';
    return text;
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

#endif
