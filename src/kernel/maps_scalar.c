/* The kernels over feature maps for any machine; compiled with its flags (src/meson.build). */
#define MAPS_TABLE kernel_maps_scalar
#include "kernel/maps.h"
