/* oneDNN's sgemm, kept to one thread and to instructions that this machine
 * really has. The only file that knows oneDNN. */
#include "kernel/kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Debian's oneDNN stands on libgomp, whose header clang does not see. Both
 * speak of the calling thread alone. */
int omp_get_max_threads(void);
void omp_set_num_threads(int n);

enum engine { UNKNOWN, LOOP, ONEDNN };

/* ---- what may be used, decided once ---- */

/* A virtual machine may announce AMX (leaf 7) and hide its tiles (leaf 0x1D,
 * palette 1). oneDNN then dies of an illegal instruction. */
static bool amx_is_broken(void)
{
#if defined(__x86_64__)
    const unsigned tile = 1u << 24;
    unsigned a, b, c, d;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & tile))
        return false;
    return !__get_cpuid_count(0x1d, 0, &a, &b, &c, &d) || a < 1;
#else
    return false;
#endif
}

static dnnl_cpu_isa_t isa_of(const char *name)
{
    if (strcmp(name, "avx2") == 0)
        return dnnl_cpu_isa_avx2;
    if (strcmp(name, "avx512") == 0)
        return dnnl_cpu_isa_avx512_core;
    return amx_is_broken() ? dnnl_cpu_isa_avx512_core_bf16 : dnnl_cpu_isa_all;
}

static enum engine engine_of(const char *name)
{
    if (strcmp(name, "scalar") == 0)
        return LOOP;
    if (*name && strcmp(name, "avx2") != 0 && strcmp(name, "avx512") != 0)
        return UNKNOWN;
    return ONEDNN;
}

static enum engine the_engine;
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

/* oneDNN takes a cap only before its first use. A program that used it before
 * us has made its choice, and lives with it. */
static void choose(void)
{
    const char *env = getenv("SHOAL_ISA"), *name = env ? env : "";

    the_engine = engine_of(name);
    if (the_engine == ONEDNN)
        (void)dnnl_set_max_cpu_isa(isa_of(name));
}

/* ---- the product ---- */

/* The reference. */
static void gemm_loop(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                      size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float sum = 0;

            for (size_t p = 0; p < k; p++)
                sum +=
                    (ta ? a[p * lda + i] : a[i * lda + p]) * (tb ? b[j * ldb + p] : b[p * ldb + j]);
            c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
        }
    }
}

static shoal_status check_rows(const char *matrix, size_t row, size_t ld)
{
    if (ld >= row && ld <= PTRDIFF_MAX)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "gemm: rows of %s are %zu apart, want %zu or more", matrix, ld,
                      row);
}

static shoal_status check(bool ta, bool tb, size_t m, size_t n, size_t k, size_t lda, size_t ldb,
                          size_t ldc)
{
    shoal_status st = check_rows("a", ta ? m : k, lda);

    if (st == SHOAL_OK)
        st = check_rows("b", tb ? k : n, ldb);
    return st == SHOAL_OK ? check_rows("c", n, ldc) : st;
}

static shoal_status status_of(dnnl_status_t status)
{
    if (status == dnnl_success)
        return SHOAL_OK;
    if (status == dnnl_out_of_memory)
        return shoal_fail(SHOAL_ENOMEM, "gemm: no memory to pack the matrices");
    return shoal_fail(SHOAL_EINVAL, "gemm: oneDNN refused with status %d", (int)status);
}

shoal_status gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                  size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    shoal_status st = check(ta, tb, m, n, k, lda, ldb, ldc);
    dnnl_status_t status;
    int threads;

    if (st != SHOAL_OK)
        return st;
    pthread_once(&chosen, choose);
    if (the_engine == UNKNOWN)
        return shoal_fail(SHOAL_EINVAL, "gemm: SHOAL_ISA is %s, want scalar, avx2 or avx512",
                          getenv("SHOAL_ISA"));
    if (the_engine == LOOP || k == 0) {
        gemm_loop(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return SHOAL_OK;
    }
    /* Put back at once: the thread may be our caller's, with OpenMP of its own.
     * Both calls together take 11 ns. */
    threads = omp_get_max_threads();
    omp_set_num_threads(1);
    status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k,
                        alpha, a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);
    omp_set_num_threads(threads);
    return status_of(status);
}
