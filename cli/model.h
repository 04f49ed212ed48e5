/* model: what is said of a trained model of any kind, by info and eval. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "cmd.h"

/* For people: facts, then the table; a warning goes to stderr. */
void model_print(struct console *c, const struct shoal_model_report *r);
/* For programs: a line of JSON for each report, or one for all. */
void model_print_json(const char *path, const shoal_model_reports *all);
void model_warn(struct console *c, const struct shoal_model_report *r);

#endif
