/* What a run of a task is told, by name. */
#include "saved/saved.h"
#include "train/checkpoint.h"
#include "train/task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shoal_options {
    const struct task *task;
    struct train_opts at;
    char *text[OPTIONS_MOST]; /* by place among all options of the task; or NULL */
    bool given[OPTIONS_MOST];
    bool resumed;             /* they are of a checkpoint: what decides the result stays */
    char *inputs;             /* that at.inputs points to, of a checkpoint; or NULL */
    char shown[SHOAL_VALUE];
};

/* ---- Finding an option --------------------------------------------------------------- */

struct place {
    const struct shoal_option_group *group;
    const struct shoal_option *option;
    size_t i;
};

/* The option after `p`, of all groups in order; false after the last. */
static bool place_next(const shoal_options *o, struct place *p)
{
    if (!p->group) {
        p->group = o->task->is.groups;
        p->option = p->group->options;
    } else {
        p->option++;
        p->i++;
    }
    while (p->option && !p->option->name) {
        p->group++;
        p->option = p->group->options;
    }
    assert(p->i < OPTIONS_MOST);
    return p->option != NULL;
}

static bool place_find(const shoal_options *o, struct place *p, const char *name)
{
    *p = (struct place){0};
    while (name && place_next(o, p))
        if (strcmp(p->option->name, name) == 0)
            return true;
    return false;
}

/* The value as text, in `shown` or where it lies; NULL: there is none. */
static const char *value_of(const shoal_options *o, const struct place *p, char shown[SHOAL_VALUE])
{
    const struct shoal_option *option = p->option;
    const char *base = (const char *)&o->at + p->group->at;

    if (option->type == SHOAL_TYPE_TEXT || option->type == SHOAL_TYPE_PATH)
        return *(const char *const *)(base + option->at);
    return shoal_option_show(shown, option, base) ? shown : NULL;
}

/* ---- Making and ending ------------------------------------------------------------------ */

static shoal_status unknown_task(const char *name)
{
    char names[SHOAL_SENTENCE] = "";
    size_t len = 0;

    for (size_t i = 0; task_at(i) && len < sizeof names; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
                                i == 0            ? ""
                                : task_at(i + 1) ? ", "
                                                  : " or ",
                                task_at(i)->is.name);
    return shoal_fail(SHOAL_EINVAL, "found no task '%s', want %s", name ? name : "", names);
}

shoal_status shoal_options_new(shoal_options **out, const char *task)
{
    const struct task *found = task_find(task);
    shoal_options *o;

    *out = NULL;
    if (!found)
        return unknown_task(task);
    o = mem_array(1, sizeof *o);
    if (!o)
        return SHOAL_ENOMEM;
    o->task = found;
    found->defaults(&o->at);
    *out = o;
    return SHOAL_OK;
}

void shoal_options_free(shoal_options *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < OPTIONS_MOST; i++)
        free(o->text[i]);
    free(o->inputs);
    free(o);
}

/* ---- Values ------------------------------------------------------------------------------ */

static shoal_status refuse(const struct shoal_option *option, const char *value)
{
    char want[SHOAL_SENTENCE];

    shoal_option_want(want, option);
    if (!value)
        return shoal_fail(SHOAL_EINVAL, "--%s has no value, want %s", option->name, want);
    return shoal_fail(SHOAL_EINVAL, "--%s is '%s', want %s", option->name, value, want);
}

/* Who bounds the vocabulary and counts the rest as <UNK> has as many words as he said, unless he
 * says how often each must be seen. */
static void imply_min_count(shoal_options *o)
{
    struct shoal_vocab_opts *v = &o->at.encode.vocab;

    if (!shoal_options_given(o, "min-count"))
        v->min_count = v->unk && v->max_vocab > 0 ? 1 : shoal_vocab_default().min_count;
}

static shoal_status put(shoal_options *o, const struct place *p, const char *value)
{
    struct train_opts before = o->at;
    size_t len = value ? strlen(value) : 0;
    char *text;

    if (!value)
        return refuse(p->option, NULL);
    if (len > OPTION_BYTES)
        return shoal_fail(SHOAL_ELIMIT, "--%s has %zu bytes, want %d at most", p->option->name,
                          len, OPTION_BYTES);
    text = mem_text("%s", value);
    if (!text)
        return SHOAL_ENOMEM;
    if (!shoal_option_read(p->option, (char *)&o->at + p->group->at, text)) {
        o->at = before;
        free(text);
        return refuse(p->option, value);
    }
    free(o->text[p->i]);
    o->text[p->i] = text; /* what was read may point into it */
    o->given[p->i] = true;
    imply_min_count(o);
    return SHOAL_OK;
}

/* The same as before is no other run. */
static shoal_status put_again(shoal_options *o, const struct place *p, const char *value)
{
    char was[SHOAL_VALUE], now[SHOAL_VALUE];
    shoal_options with = {.task = o->task, .at = o->at};
    const char *before = value_of(o, p, was);
    bool same;
    shoal_status st = put(&with, p, value);

    if (st != SHOAL_OK)
        return st;
    before = before ? before : ""; /* a text that nobody gave */
    same = strcmp(before, value_of(&with, p, now)) == 0;
    free(with.text[p->i]);
    if (same)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "--%s is '%s', want %s as before: else it is another run",
                      p->option->name, value, before);
}

shoal_status shoal_options_set(shoal_options *o, const char *name, const char *value)
{
    struct place p;

    if (!place_find(o, &p, name))
        return shoal_fail(SHOAL_EINVAL, "%s has no option '%s'", o->task->is.name,
                          name ? name : "");
    return o->resumed && p.option->decides ? put_again(o, &p, value) : put(o, &p, value);
}

const char *shoal_options_get(shoal_options *o, const char *name)
{
    struct place p;

    return place_find(o, &p, name) ? value_of(o, &p, o->shown) : NULL;
}

bool shoal_options_given(const shoal_options *o, const char *name)
{
    struct place p;

    return place_find(o, &p, name) && o->given[p.i];
}

const struct shoal_task *shoal_options_task(const shoal_options *o)
{
    return &o->task->is;
}

const struct train_opts *options_values(const shoal_options *o)
{
    return &o->at;
}

const struct task *options_run(const shoal_options *o)
{
    return o->task;
}

shoal_status options_each(const struct task *task, const struct train_opts *values,
                          shoal_status (*fn)(void *ctx, const struct shoal_option *option,
                                             const char *value),
                          void *ctx)
{
    const shoal_options o = {.task = task, .at = *values};
    char shown[SHOAL_VALUE];
    struct place p = {0};
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && place_next(&o, &p))
        st = fn(ctx, p.option, value_of(&o, &p, shown));
    return st;
}

/* ---- Do they go together? --------------------------------------------------------------- */

/* An option may make a whole group pointless: say so rather than ignore it. */
static shoal_status check_groups(const shoal_options *o)
{
    struct place p = {0};

    while (place_next(o, &p))
        if (o->given[p.i] && p.group->unless && shoal_options_given(o, p.group->unless))
            return shoal_fail(SHOAL_EINVAL, "--%s does not go with --%s", p.option->name,
                              p.group->unless);
    return SHOAL_OK;
}

/* Whether the model can be written where it is to go. */
static shoal_status check_outputs(const shoal_options *o)
{
    const char *paths[] = {o->at.output, o->at.publish};
    enum shoal_format format;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < 2 && st == SHOAL_OK; i++)
        if (paths[i])
            st = saved_check(o->task->kind, paths[i], &o->at.save, &format);
    return st;
}

/* Whether a share of the data is held out, not a file. */
static bool holds_share(const shoal_options *o)
{
    return o->at.valid > 0 && !o->at.valid_path;
}

shoal_status shoal_options_check(const shoal_options *o)
{
    shoal_status st = check_groups(o);

    if (st == SHOAL_OK && shoal_options_given(o, "epochs") && o->at.steps > 0)
        st = shoal_fail(SHOAL_EINVAL, "--epochs does not go with --steps: want one of them");
    if (st == SHOAL_OK && o->at.steps > 0 && o->at.local_input)
        st = shoal_fail(SHOAL_EINVAL, "--steps does not go with --local-input, where ranks have "
                                      "texts of different length; want --epochs");
    if (st == SHOAL_OK && shoal_options_given(o, "checkpoint-every") && !o->at.checkpoint)
        st = shoal_fail(SHOAL_EINVAL, "--checkpoint-every does not go without --checkpoint");
    if (st == SHOAL_OK && o->at.valid_at == VALID_END && !holds_share(o))
        st = shoal_fail(SHOAL_EINVAL,
                        "--valid-at is 'end', but no share of the data is held out; want one");
    if (st == SHOAL_OK && o->task->check)
        st = o->task->check(o);
    return st == SHOAL_OK ? check_outputs(o) : st;
}

/* ---- What a checkpoint remembers ------------------------------------------------------------ */

static shoal_status add_line(struct bytes *b, const struct shoal_option *option, const char *value)
{
    if (strchr(value, '\n'))
        return shoal_fail(SHOAL_EINVAL, "checkpoint: --%s holds a newline", option->name);
    return bytes_print(b, "opt.%s %s\n", option->name, value);
}

/* Where a file is must be true in any working folder. */
static shoal_status add_path(struct bytes *b, const char *folder, const char *name, size_t len)
{
    bool whole = len == 0 || name[0] == '/' || strncmp(name, "-", len) == 0;

    return bytes_print(b, "%s%s%.*s", whole ? "" : folder, whole ? "" : "/", (int)len, name);
}

static shoal_status write_path(struct bytes *b, const struct shoal_option *option,
                               const char *value)
{
    char *folder = getcwd(NULL, 0);
    struct bytes path = {0};
    shoal_status st = SHOAL_OK;

    while (folder && *value && st == SHOAL_OK) {
        size_t len = option->list ? strcspn(value, ",") : strlen(value), comma = value[len] == ',';

        st = add_path(&path, folder, value, len);
        if (st == SHOAL_OK)
            st = bytes_add(&path, ",", comma);
        value += len + comma;
    }
    if (st == SHOAL_OK)
        st = bytes_add(&path, "", 1);
    if (st == SHOAL_OK)
        st = add_line(b, option, folder ? path.at : value);
    bytes_fini(&path);
    free(folder);
    return st;
}

static shoal_status write_option(void *ctx, const struct shoal_option *option, const char *value)
{
    if (!value || option->passing)
        return SHOAL_OK;
    return (option->type == SHOAL_TYPE_PATH ? write_path : add_line)(ctx, option, value);
}

shoal_status options_write(const struct task *task, const struct train_opts *values,
                           struct bytes *meta)
{
    shoal_status st = bytes_print(meta, "task %s\n", task->is.name);

    return st == SHOAL_OK ? options_each(task, values, write_option, meta) : st;
}

/* The value of a line `KEY...`, with a NUL for its end; NULL: it is another's. */
static char *line_value(char *line, const char *key)
{
    size_t len = strlen(key);

    return strncmp(line, key, len) == 0 ? line + len : NULL;
}

static shoal_status read_option(shoal_options *o, const char *who, char *line)
{
    char *space = strchr(line, ' ');
    struct place p;
    shoal_status st;

    if (space)
        *space = '\0';
    if (!space || !place_find(o, &p, line) || p.option->passing)
        return shoal_fail(SHOAL_EFORMAT, "%s: found an option '%s', which %s has not", who, line,
                          o->task->is.name);
    if (o->given[p.i])
        return shoal_fail(SHOAL_EFORMAT, "%s: found --%s twice, want it once", who, line);
    st = put(o, &p, space + 1);
    if (st == SHOAL_EINVAL || st == SHOAL_ELIMIT)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %s", who, shoal_error());
    return st;
}

/* Checkpoints from before --valid-at held out the end of the data. */
static void take_missing(shoal_options *o)
{
    struct place p;

    if (place_find(o, &p, "valid-at") && !o->given[p.i] && holds_share(o))
        o->at.valid_at = VALID_END;
}

/* Given is what is not as it is by default. */
static shoal_status note_given(shoal_options *o)
{
    shoal_options *plain;
    struct place p = {0};
    char here[SHOAL_VALUE], there[SHOAL_VALUE];
    shoal_status st = shoal_options_new(&plain, o->task->is.name);

    while (st == SHOAL_OK && place_next(o, &p)) {
        const char *a = value_of(o, &p, here), *b = value_of(plain, &p, there);

        o->given[p.i] = a && (!b || strcmp(a, b) != 0);
    }
    shoal_options_free(plain);
    return st;
}

static shoal_status open_task(shoal_options **out, const char *who, const char *name)
{
    shoal_status st = shoal_options_new(out, name);

    return st == SHOAL_EINVAL ? shoal_fail(SHOAL_EFORMAT, "%s: %s", who, shoal_error()) : st;
}

/* `text` is ours to cut. */
static shoal_status read_lines(shoal_options **out, const char *who, char *text)
{
    char *line, *rest = text, *value;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && (line = strsep(&rest, "\n"))) {
        if ((value = line_value(line, "task ")) && !*out)
            st = open_task(out, who, value);
        else if ((value = line_value(line, "opt.")))
            st = *out ? read_option(*out, who, value)
                      : shoal_fail(SHOAL_EFORMAT, "%s: found options of no task", who);
    }
    if (st == SHOAL_OK && !*out)
        st = shoal_fail(SHOAL_EFORMAT, "%s: found no task", who);
    return st;
}

shoal_status options_read(shoal_options **out, const char *who, const char *meta, size_t len)
{
    char *text = mem_array(len + 1, 1);
    shoal_status st = text ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        memcpy(text, meta, len);
    if (st == SHOAL_OK && strlen(text) != len)
        st = shoal_fail(SHOAL_EFORMAT, "%s: found a byte 0, want lines of text", who);
    if (st == SHOAL_OK)
        st = read_lines(out, who, text);
    if (st == SHOAL_OK)
        take_missing(*out);
    if (st == SHOAL_OK)
        st = note_given(*out);
    free(text);
    if (st == SHOAL_OK) {
        (*out)->resumed = true;
    } else {
        shoal_options_free(*out);
        *out = NULL;
    }
    return st;
}

shoal_status options_same(const char *who, const shoal_options *there, const shoal_options *here)
{
    char shown[2][SHOAL_VALUE];
    struct place p = {0};

    if (there->task != here->task)
        return shoal_fail(SHOAL_EINVAL, "%s: trains %s there, %s here: that is another run", who,
                          there->task->is.name, here->task->is.name);
    while (place_next(there, &p)) {
        const char *a = value_of(there, &p, shown[0]), *b = value_of(here, &p, shown[1]);

        a = a ? a : ""; /* a text that nobody gave */
        b = b ? b : "";
        if (p.option->decides && strcmp(a, b) != 0)
            return shoal_fail(SHOAL_EINVAL, "%s: %s is %s there, %s here: that is another run", who,
                              p.option->name, a, b);
    }
    return SHOAL_OK;
}

/* ---- Going on ------------------------------------------------------------------------------ */

shoal_status options_of_head(shoal_options **out, const struct container *head)
{
    const struct task *task;
    struct section meta;
    shoal_status st = meta_task(head, &task);

    *out = NULL;
    if (st == SHOAL_OK)
        st = container_find(head, "meta", 1, &meta);
    return st == SHOAL_OK ? options_read(out, container_path(head), meta.data, meta.size) : st;
}

shoal_status options_check_same(const struct task *task, const struct container *head,
                                const struct train_opts *here)
{
    shoal_options mine = {.task = task, .at = *here}, *there;
    shoal_status st = options_of_head(&there, head);

    if (st == SHOAL_OK)
        st = options_same(container_path(head), there, &mine);
    shoal_options_free(there);
    return st;
}

/* Where the data was. */
static shoal_status read_inputs(shoal_options *o, const struct container *head)
{
    struct section s;
    shoal_status st;

    if (!container_has(head, "inputs"))
        return SHOAL_OK;
    st = container_find(head, "inputs", 1, &s);
    if (st == SHOAL_OK && (s.size == 0 || ((const char *)s.data)[s.size - 1] != '\0'))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its inputs are cut off", container_path(head));
    if (st == SHOAL_OK && !(o->inputs = strdup(s.data)))
        st = shoal_fail(SHOAL_ENOMEM, "%s: no memory for its inputs", container_path(head));
    o->at.inputs = o->inputs;
    return st;
}

shoal_status shoal_options_resume(shoal_options **out, const char *folder)
{
    struct opened checkpoint;
    shoal_status st = checkpoint_open_newest(&checkpoint, folder, true);

    *out = NULL;
    if (st != SHOAL_OK)
        return st;
    st = options_of_head(out, checkpoint.head);
    if (st == SHOAL_OK)
        st = read_inputs(*out, checkpoint.head);
    checkpoint_close(&checkpoint);
    if (st == SHOAL_OK && !container_sniff(folder)) { /* one file is but looked at */
        st = shoal_options_set(*out, "checkpoint", folder);
        (*out)->at.resume = true;
    }
    if (st != SHOAL_OK) {
        shoal_options_free(*out);
        *out = NULL;
    }
    return st;
}
