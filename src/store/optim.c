#include "store/dense.h"

#include <math.h>

unsigned optim_states(const struct optim *o)
{
    return o->kind == OPTIM_SGD ? 0 : o->kind == OPTIM_MOMENTUM ? 1 : 2;
}

void optim_step(const struct optim *o, const struct kernel *kernel, float lr, uint64_t t,
                bool decay, float *p, const float *g, float *const state[DENSE_STATES], size_t n)
{
    struct kernel_optim r = {.lr = lr, .decay = decay ? o->decay : 0, .momentum = o->momentum,
                            .beta1 = o->beta1, .beta2 = o->beta2, .epsilon = o->epsilon,
                            .nesterov = o->nesterov};

    switch (o->kind) {
    case OPTIM_SGD:
        kernel->step_sgd(&r, p, g, n);
        break;
    case OPTIM_MOMENTUM:
        kernel->step_momentum(&r, p, g, state[0], n);
        break;
    case OPTIM_ADAM:
        r.fix1 = (float)(1 / (1 - pow((double)o->beta1, (double)t)));
        r.fix2 = (float)(1 / (1 - pow((double)o->beta2, (double)t)));
        kernel->step_adam(&r, p, g, state[0], state[1], n);
        break;
    }
}
