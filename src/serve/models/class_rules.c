#include "serve/models/class_rules.h"

#include <stdlib.h>
#include <string.h>

void class_rules_fini(struct class_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        free(rules->at[i].model);
        class_index_free(rules->at[i].index);
    }
    free(rules->at);
    *rules = (struct class_rules){0};
}

/* Whether a rule before the last one has this model. */
static bool named_before(const struct class_rules *rules, const char *model)
{
    for (size_t i = 0; i + 1 < rules->n; i++) {
        const char *other = rules->at[i].model;

        if (model && other ? strcmp(model, other) == 0 : !model && !other)
            return true;
    }
    return false;
}

/* "NAME=FILE", or "FILE": the = of a path that has one needs a name. */
static shoal_status add_rule(struct class_rules *rules, const char *rule)
{
    const char *equals = strchr(rule, '='), *slash = strchr(rule, '/');
    const char *path = equals && (!slash || equals < slash) ? equals + 1 : rule;
    void *at = rules->at;
    struct class_rule *r;
    shoal_status st = mem_grow(&at, &rules->cap, rules->n + 1, sizeof *rules->at);

    rules->at = at;
    if (st != SHOAL_OK)
        return st;
    if (path == rule + 1 || !*path)
        return shoal_fail(SHOAL_EINVAL, "--class-index is '%.60s', want FILE or NAME=FILE", rule);
    r = &rules->at[rules->n++];
    *r =
        (struct class_rule){.model = path > rule ? strndup(rule, (size_t)(path - rule) - 1) : NULL};
    if (path > rule && !r->model)
        return shoal_fail(SHOAL_ENOMEM, "memory: no room for a name");
    if (named_before(rules, r->model))
        return shoal_fail(SHOAL_EINVAL, "--class-index names the classes of %s%.80s twice",
                          r->model ? "" : "every model", r->model ? r->model : "");
    return class_index_read(&r->index, path);
}

shoal_status class_rules_init(struct class_rules *rules, const char *list)
{
    char *text = list ? strdup(list) : NULL, *rest = text, *rule;
    shoal_status st =
        list && !text ? shoal_fail(SHOAL_ENOMEM, "memory: no room for a list") : SHOAL_OK;

    *rules = (struct class_rules){0};
    while (st == SHOAL_OK && (rule = strsep(&rest, ",")) != NULL)
        st = add_rule(rules, rule);
    free(text);
    if (st != SHOAL_OK)
        class_rules_fini(rules);
    return st;
}

const struct class_rule *class_rules_find(const struct class_rules *rules, const char *model)
{
    const struct class_rule *all = NULL;

    for (size_t i = 0; i < rules->n; i++) {
        if (!rules->at[i].model)
            all = &rules->at[i];
        else if (strcmp(rules->at[i].model, model) == 0)
            return &rules->at[i];
    }
    return all;
}
