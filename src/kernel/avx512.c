/* The kernels for AVX-512. Compile with -mavx512f -mavx512bw -mavx512dq
 * -mavx512vl -mfma. */
#define VBYTES 64
#define KERNEL_TABLE kernel_avx512
#define KERNEL_NAME "avx512"
#include "kernel/simd.h"
