/* Options: any text is refused with a sentence, or makes options that a checkpoint gives back
 * bit by bit. The first byte says the task of a file, or that these are a checkpoint's lines. */
#include "fuzz.h"

#include "train/task.h"

enum { TASKS = 6 };

static shoal_options *again(const shoal_options *o, struct bytes *lines)
{
    shoal_options *out;

    require(options_write(options_run(o), options_values(o), lines) == SHOAL_OK);
    require(options_read(&out, "fuzz", lines->at, lines->len) == SHOAL_OK);
    return out;
}

static void check(const shoal_options *o)
{
    struct bytes once = {0}, twice = {0};
    shoal_options *a, *b;

    if (options_write(options_run(o), options_values(o), &once) !=
        SHOAL_OK) { /* JSON may have put a newline into a path */
        require(strstr(shoal_error(), "holds a newline") != NULL);
        bytes_fini(&once);
        return;
    }
    once.len = 0;
    a = again(o, &once);
    b = again(a, &twice);
    require(once.len == twice.len && memcmp(once.at, twice.at, once.len) == 0);
    require(options_same("fuzz", a, o) == SHOAL_OK && options_same("fuzz", a, b) == SHOAL_OK);
    if (shoal_options_check(o) != SHOAL_OK)
        require(*shoal_error() != '\0');
    shoal_options_free(a);
    shoal_options_free(b);
    bytes_fini(&once);
    bytes_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_options *o = NULL;
    shoal_status st;
    char *text;

    if (size == 0)
        return 0;
    fuzz_begin(size, 4 * MIB, 64);
    text = fuzz_text(data + 1, size - 1);
    if (data[0] % (TASKS + 1) == TASKS) {
        st = options_read(&o, "fuzz", text, size - 1);
        require((st == SHOAL_OK) == (o != NULL));
    } else {
        require(shoal_options_new(&o, shoal_task_at(data[0] % (TASKS + 1))->name) == SHOAL_OK);
        st = options_config_read(o, "fuzz", text, size - 1);
    }
    if (st == SHOAL_OK)
        check(o);
    else
        require(strncmp(shoal_error(), "fuzz: ", 6) == 0);
    shoal_options_free(o);
    fuzz_end();
    return 0;
}
