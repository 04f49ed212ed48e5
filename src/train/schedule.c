/* How the learning rate goes on, once for all models. */
#include "train/train.h"

#include <math.h>

#define LEAST 1e-4 /* of the first rate, where a linear one ends: word2vec.c's */

float schedule_at(enum shoal_schedule schedule, double lr, double end, double decay, double done,
                  double epochs)
{
    double left = 1 - done / epochs;

    switch (schedule) {
    case SHOAL_LINEAR:
        return (float)(end > 0 ? end + (lr - end) * left : lr * fmax(left, LEAST));
    case SHOAL_INVERSE_TIME:
        return (float)(lr / (1 + decay * done));
    case SHOAL_COSINE:
        return (float)(lr * (0.5 * (1 + cos(3.14159265358979 * (1 - left)))));
    case SHOAL_CONSTANT:
        break;
    }
    return (float)lr;
}
