/* model: what the verbs that use a trained model share: predict, eval, info. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "cmd.h"

struct predict_cmd {
    struct shoal_clicks_opts read;
    struct work_opts work;
    const char *output; /* NULL: standard output */
};

/* ---- model_logreg.c ------------------------------------------------------------------ */

int predict_logreg(const struct predict_cmd *cmd, const char *path, const char *const *inputs,
                   size_t ninputs);
int eval_logreg(const struct shoal_clicks_opts *read, bool json, bool quiet, const char *path,
                const char *const *inputs, size_t ninputs);
shoal_status info_logreg(struct console *c, const char *path, uint64_t top);

#endif
