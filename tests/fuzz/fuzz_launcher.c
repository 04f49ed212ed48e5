/* What a launcher prints, and the hosts it is given: any bytes go on or are kept, and none
 * are lost but those beyond what is kept; lists and files of hosts are refused with a
 * sentence or have room for a number of ranks. The first byte says which it is. */
#include "fuzz.h"

#include "launch.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of launch.c: this program was started by no launcher. */
unsigned launched_size(void)
{
    return 0;
}

static void check_kept(const struct launch_text *text)
{
    require(text->len < sizeof text->at && strlen(text->at) <= text->len);
}

static void read_output(const uint8_t *data, size_t size)
{
    struct launch_output *out = calloc(1, sizeof *out);
    struct launch_stream *s = calloc(1, sizeof *s);
    char reason[SHOAL_SENTENCE];
    int from = memfd_create("said", MFD_CLOEXEC), to = memfd_create("passed", MFD_CLOEXEC);

    require(out && s && from >= 0 && to >= 0);
    require(write(from, data, size) == (ssize_t)size && lseek(from, 0, SEEK_SET) == 0);
    out->launcher = "mpirun";
    *s = (struct launch_stream){.out = out, .from = from, .to = to};
    while (s->from >= 0) {
        launch_stream_read(s);
        if (size % 3 == 0)
            launch_stream_flush(s);
    }
    launch_stream_close(s);
    check_kept(&out->failures);
    check_kept(&out->chatter);
    fuzz_output((size_t)lseek(to, 0, SEEK_END), size, 16, 1);
    require(launch_output_code(out) >= 0);
    launch_output_reason(reason, out, 1);
    require(memchr(reason, '\0', sizeof reason) != NULL);
    close(to);
    free(out);
    free(s);
}

static void read_hosts(const char *text)
{
    struct launch_opts opts = {.ranks = 3, .hosts = text};
    char why[SHOAL_SENTENCE];

    if (hosts_check(&opts, why)) {
        require(hosts_slots(text) > 0);
        if (!hosts_in_file(text))
            free(hosts_with_slots(text, 3));
    } else {
        require(memchr(why, '\0', sizeof why) != NULL && why[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fuzz_begin(size, MIB, 64);
    if (data[0] % 3 == 0)
        read_output(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        read_hosts(fuzz_file(data + 1, size - 1));
    else
        read_hosts(fuzz_text(data + 1, size - 1));
    fuzz_end();
    return 0;
}
