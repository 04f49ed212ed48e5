/* The AVX-512 template for a CPU that has AVX2 alone: tests only. */
#include "kernel/kernel.h"

extern const struct kernel kernel_wide;

#define VBYTES 64
#define KERNEL_TABLE kernel_wide
#define KERNEL_NAME "wide"
#include "kernel/simd.h"
