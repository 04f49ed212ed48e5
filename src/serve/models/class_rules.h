/* class_rules: which model's classes are named by which file; not a door.
 *
 * What this is: "vgg=imagenet.json,digits.txt": of the model vgg the first, of every other the
 * second, if it has classes. The files are read when the server starts: what is replaced later keeps its names.
 * Who owns what: rules own what they read.
 * Threads: immutable once open. */
#ifndef SHOAL_CLASS_RULES_H
#define SHOAL_CLASS_RULES_H

#include "saved/saved.h"

struct class_rule {
    char *model; /* NULL: every one */
    struct class_index *index;
};

struct class_rules {
    struct class_rule *at;
    size_t n, cap;
};

/* list NULL: none. On failure there is nothing to end. */
shoal_status class_rules_init(struct class_rules *rules, const char *list);
void class_rules_fini(struct class_rules *rules);
/* That of a model, or NULL. */
const struct class_rule *class_rules_find(const struct class_rules *rules, const char *model);

#endif
