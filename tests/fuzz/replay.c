/* Runs a fuzz target over the inputs of a folder, without libFuzzer: any compiler will do.
 *
 *     TARGET CORPUS      TAP on standard output; the last name on standard error is the culprit's
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Plain bytes: an input may look like a compressed file. */
static void run_file(const char *folder, const char *name)
{
    char path[4096];
    long len;
    char *data;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fprintf(stderr, "%s\n", path);
    f = fopen(path, "rb");
    require(f && fseek(f, 0, SEEK_END) == 0);
    len = ftell(f);
    rewind(f);
    data = malloc(len > 0 ? (size_t)len : 1);
    require(data && fread(data, 1, (size_t)len, f) == (size_t)len);
    fclose(f);
    LLVMFuzzerTestOneInput((const uint8_t *)data, (size_t)len);
    free(data);
}

int main(int argc, char **argv)
{
    struct dirent **found = NULL;
    const char *folder = argc > 1 ? argv[1] : ".";
    int n = scandir(folder, &found, is_input, alphasort);

    for (int i = 0; i < n; i++) {
        run_file(folder, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    /* A target that nothing was kept for was never run. */
    printf("%s 1 - %d inputs of %s are refused or read\n1..1\n", n > 0 ? "ok" : "not ok",
           n > 0 ? n : 0, folder);
    return n > 0 ? 0 : 1;
}
