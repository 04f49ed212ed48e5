/* The kernels over feature maps for AVX-512; compiled with its flags (src/meson.build). */
#define MAPS_TABLE kernel_maps_avx512
#include "kernel/maps.h"
