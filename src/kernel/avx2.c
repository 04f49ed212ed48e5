/* The kernels for AVX2 and FMA. Compile with -mavx2 -mfma. */
#define VBYTES 32
#define KERNEL_TABLE kernel_avx2
#define KERNEL_NAME "avx2"
#include "kernel/simd.h"
