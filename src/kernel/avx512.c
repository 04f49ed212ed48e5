/* The kernels for AVX-512. Compile with -mavx512f -mavx512bw -mavx512dq
 * -mavx512vl -mfma. */
#define VBYTES 64
#define SIMD_KERNEL kernel_avx512
#define SIMD_NAME "avx512"
#include "kernel/simd.h"
