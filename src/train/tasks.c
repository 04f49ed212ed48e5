/* What can be trained. */
#include "train/task.h"
#include "train/train.h"

#include <string.h>

static const struct task *const tasks[] = {&task_cbow, &task_skipgram, &task_logreg,
                                           &task_multinomial, &task_classify,
                                           &task_mlp,  &task_nextword, &task_vgg};

const struct task *task_at(size_t i)
{
    return i < sizeof tasks / sizeof *tasks ? tasks[i] : NULL;
}

const struct task *task_find(const char *name)
{
    const struct task *task;

    for (size_t i = 0; name && (task = task_at(i)); i++)
        if (strcmp(task->is.name, name) == 0)
            return task;
    return NULL;
}

const struct shoal_task *shoal_task_at(size_t i)
{
    return task_at(i) ? &task_at(i)->is : NULL;
}

const struct shoal_task *shoal_task_find(const char *name)
{
    return task_find(name) ? &task_find(name)->is : NULL;
}
