/* The kernels for AVX2 and FMA. Compile with -mavx2 -mfma. */
#define VBYTES 32
#define SIMD_KERNEL kernel_avx2
#define SIMD_NAME "avx2"
#include "kernel/simd.h"
