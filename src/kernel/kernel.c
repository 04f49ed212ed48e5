/* Which table of kernels this process uses. */
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

static bool has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static bool has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           has_avx2();
#else
    return false;
#endif
}

static bool has_any(void)
{
    return true;
}

/* Fastest first: the first that runs is the default. */
static const struct {
    const char *name;
    bool (*runs)(void);
    const struct kernel *kernel;
    const struct kernel_maps *maps;
} tables[] = {
#if defined(__x86_64__)
    {"avx512", has_avx512, &kernel_avx512, &kernel_maps_avx512},
    {"avx2", has_avx2, &kernel_avx2, &kernel_maps_avx2},
#endif
    {"scalar", has_any, &kernel_scalar, &kernel_maps_scalar},
};

shoal_status kernel_find(const struct kernel **out, const char *isa)
{
    bool any = !isa || !*isa;

    *out = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!any && strcmp(isa, tables[i].name) != 0)
            continue;
        if (tables[i].runs()) {
            *out = tables[i].kernel;
            return SHOAL_OK;
        }
        if (!any)
            return shoal_fail(SHOAL_EINVAL, "kernel: SHOAL_ISA is %s, which this CPU lacks", isa);
    }
    return shoal_fail(SHOAL_EINVAL, "kernel: SHOAL_ISA is %s, want scalar, avx2 or avx512", isa);
}

shoal_status kernel_choose(const struct kernel **out)
{
    return kernel_find(out, getenv("SHOAL_ISA"));
}

const struct kernel_maps *kernel_maps_of(const struct kernel *kernel)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i].kernel == kernel)
            return tables[i].maps;
    return &kernel_maps_scalar;
}
