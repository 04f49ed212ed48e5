/* The kernels over feature maps for AVX2; compiled with its flags (src/meson.build). */
#define MAPS_TABLE kernel_maps_avx2
#include "kernel/maps.h"
