/* shoal/images.h: pictures and the nets that see them, a part of shoal.h, which
 * includes it.
 *
 * What this is: sets of pictures with classes, and what a net that learned from them
 * answers.
 * Who owns what: as in shoal.h.
 * Threads: as in shoal/nets.h. */
#ifndef SHOAL_IMAGES_PART_H
#define SHOAL_IMAGES_PART_H

#include <shoal.h>
#include <shoal/nets.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Pictures ---------------------------------------------------------------------
 * CIFAR-10 and CIFAR-100 binary files, IDX pairs (MNIST), or a folder with one folder
 * of JPEG and PNG files for each class: docs/vgg.md says under which names. All of a
 * set have one size and 1 or 3 channels; what a file says of its size is checked
 * before memory is taken for it. */

typedef struct shoal_images shoal_images;

struct shoal_images_opts {
    bool test;        /* the part for testing; all of it where there is none */
    unsigned size;    /* pictures in folders become size x size */
    uint64_t keep;    /* decoded pictures of folders stay in memory up to so many bytes */
    unsigned threads; /* that decode; 0: one for each core */
};

SHOAL_API struct shoal_images_opts shoal_images_default(void);
SHOAL_API shoal_status shoal_images_open(shoal_images **out, const char *path,
                                         const struct shoal_images_opts *opts);
SHOAL_API void shoal_images_close(shoal_images *set);
/* Whether a folder has a part for testing. */
SHOAL_API bool shoal_images_has_test(const char *path);
SHOAL_API size_t shoal_images_classes(const shoal_images *set);
SHOAL_API void shoal_images_shape(const shoal_images *set, unsigned *channels, unsigned *height,
                                  unsigned *width);

/* ---- Pictures to try things on --------------------------------------------------------
 * Stripes of 32 x 32 pixels, whose direction is one of ten classes, in CIFAR-10's binary
 * format: a folder that shoal_images_open takes. */

#define SHOAL_PICTURES_MOST 50000 /* to learn from, as CIFAR-10 has */

struct shoal_pictures_opts {
    uint64_t train, test; /* pictures; the classes in turn */
    double noise;         /* of a pixel, as a share of its range */
    uint64_t seed;
};

SHOAL_API struct shoal_pictures_opts shoal_pictures_default(void);
/* Makes the folder. Same options, same bytes. */
SHOAL_API shoal_status shoal_pictures_write(const char *folder,
                                            const struct shoal_pictures_opts *opts);

/* ---- What a net of pictures answers ------------------------------------------------------ */

/* The shape of the pictures that it sees; false: it is no net of pictures. */
SHOAL_API bool shoal_net_pictures(const shoal_net *net, unsigned *channels, unsigned *height,
                                  unsigned *width);
/* The name of class i; its number when it has none. Into name [cap]. */
SHOAL_API void shoal_net_class(const shoal_net *net, size_t i, char *name, size_t cap);
/* Probabilities y [n][outputs] for JPEG or PNG files, scaled and cut as in training. *done: how
 * many come before the first that cannot be read; those have their answers also when this fails. */
SHOAL_API shoal_status shoal_net_predict_pictures(const shoal_net *net, const char *const *paths,
                                                  size_t n, float *y, size_t *done);

/* ---- Weights of other programs -------------------------------------------------------------
 * safetensors with PyTorch's names, what torch.save writes of a state_dict, and TorchServe's
 * archives; a VGG's names are torchvision's. In safetensors of ours the description, the scaling
 * and the names of classes travel in the metadata. Nothing in a file is ever run. */

/* Whether a file has a net's weights. */
SHOAL_API bool shoal_net_weights(const char *path);
SHOAL_API shoal_status shoal_net_export(const shoal_net *net, const char *path);
/* Without our metadata the tensors must be a VGG's, for pictures of size x size (0: as its shapes
 * tell), or those of linear layers one behind the other. A VGG's pictures are prepared as
 * torchvision's presets do. */
SHOAL_API shoal_status shoal_net_import(shoal_net **out, const char *path, unsigned size);

#ifdef __cplusplus
}
#endif
#endif
