/* outside: nets that other programs trained; not a door.
 *
 * What this is: from named tensors to a net of ours. The tensors are those of safetensors, of
 * torch.save or of TorchServe's archives; which net they are is told by their names and shapes, and
 * what these cannot tell (activations, how pictures are prepared) by hints.
 * Who owns what: hints own the names of classes; tensors borrow the bytes of their file.
 * Threads: one reads. */
#ifndef SHOAL_SAVED_NET_OUTSIDE_H
#define SHOAL_SAVED_NET_OUTSIDE_H

#include "saved/saved.h"
#include "saved/tensors.h"

enum { NET_ASSUMED = 256 };

/* What tensors do not say; 0 or NULL: nobody said it. */
struct net_hints {
    unsigned size;       /* of a side of the pictures */
    char activation[16]; /* "" */
    bool classes, values; /* outputs are those */
    unsigned shape[3];   /* of a picture: channels, height, width */
    unsigned resize;     /* of its shorter side, before its middle is cut out */
    size_t channels;     /* that mean and std are of */
    float mean[3], std[3];
    struct class_index *names;
};

void net_hints_fini(struct net_hints *h);

/* ---- manifest.c: what stands beside weights, as JSON ---- */

/* The description FILE.json; what is said there already counts. */
shoal_status net_hints_read(struct net_hints *h, const char *path, const char *text, size_t len);

/* MAR-INF/MANIFEST.json of TorchServe: refused unless a handler of pictures reads its weights. */
struct manifest {
    char weights[256]; /* the member that has them */
    char handler[64];
};
shoal_status manifest_read(struct manifest *m, const char *path, const char *text, size_t len);

/* ---- tensors.c ---- */

/* Of safetensors or torch.save, with the names that the net's own tensors have: those of
 * DataParallel and torch.compile come with a word before all of them. */
shoal_status weights_read(struct tensors *t, const char *path, const char *at, size_t len);
/* All numbers of a tensor as floats, out [size]; fails where one is not finite, or none. With
 * `spare` the bytes may go when they were read. */
shoal_status weights_floats(const struct tensors *file, const struct file_tensor *f, bool spare,
                            float *out);
/* How many numbers it has. */
size_t weights_size(const struct file_tensor *f);
/* Whether no two tensors share bytes. */
bool weights_apart(const struct tensors *file);
/* The net's parameters [net->size], zeros before: all of its tensors, of which biases may be
 * missing. */
shoal_status weights_check(const struct tensors *file, const struct net *net);
shoal_status weights_load(const struct tensors *file, const struct net *net, bool spare,
                          float *params);
/* "2 x 3" into text. */
void weights_shape(char *text, size_t cap, const size_t *dims, size_t ndims);

/* ---- sequential.c: linear layers, one behind the other ---- */

bool sequential_in(const struct tensors *file);
/* What was assumed goes to `assumed`. */
shoal_status sequential_import(shoal_net **out, const struct tensors *file,
                               const struct net_hints *h, char assumed[NET_ASSUMED]);

#endif
