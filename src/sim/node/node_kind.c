/* node_kind.c - see node_kind.h */
#include "sim/node/node_kind.h"
#include <stdio.h>
#include "agent/mig/mig_apply.h"
#include "sim/driver/driver_model.h"
#include "sim/node/mig_memory.h"

static void write_config(struct node_kind *k)
{
    static const char start[] = "version: v1\nsharing:\n";
    const struct node_shape *s = &k->shape;
    char mig[96] = "", resource[32];
    (void)snprintf(resource, sizeof resource, "%s", s->mig_profile);
    for (char *c = resource; *c; c++)
        if (*c == '+')
            *c = '.';
    if (*resource)
        (void)snprintf(mig, sizeof mig, "    - {name: nvidia.com/mig-%s, replicas: %d}\n", resource, s->replicas);
    if (s->mps_shares > 0)
        (void)snprintf(k->config, sizeof k->config, "%s  keti: {replicas: %d}\n", start, s->mps_shares);
    else if (s->replicas > 1)
        (void)snprintf(k->config, sizeof k->config, "%s  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: %d}\n%s",
                       start, s->replicas, mig);
}

void node_kind_init(struct node_kind *k, const struct node_shape *s)
{
    memset(k, 0, sizeof *k);
    k->shape = *s;
    node_shape_model(&k->shape, &k->model);
    write_config(k);
    if (!s->mig_profile[0])
        return;
    k->wish = (struct mig_config_wish){k->shape.mig_profile, mig_profile_find(&k->model, s->mig_profile)->max_n};
    k->entry = (struct mig_config_entry){.devices_all = true, .mig_enabled = true, .wishes = &k->wish, .wishes_n = 1};
    k->layout = (struct mig_layout){"shape", &k->entry, 1};
}

struct splitting {
    struct driver *driver;
    struct buf *out;
};

static void on_split_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    const struct splitting *s = arg;
    (void)e;
    if (code == 0)
        mig_memory_write(r, s->out);
}

static void on_split(void *arg, const struct mig_apply_result *result)
{
    struct splitting *s = arg;
    (void)result; /* what cannot be had is not there */
    driver_read(s->driver, on_split_reading, s);
}

/* WHY  as in the life of a node, but before it has one: a loop in virtual time of our own runs until all is done. */
void node_kind_split(const struct node_kind *k, const char *node_name, struct buf *out)
{
    static const struct mig_apply_config quiet = {.busy = MIG_BUSY_REFUSE};
    struct inventory *i = NULL;
    if (k->layout.entries_n == 0)
        return;
    struct loop *l = loop_new_virtual(0);
    struct splitting s = {driver_model_new(l, &k->model, (uint32_t)k->shape.gpus_n, node_name), out};
    (void)inventory_open(l, NULL, &i, NULL); /* without a journal nothing can fail */
    (void)mig_apply_start(l, s.driver, i, &k->layout, &quiet, on_split, &s);
    (void)loop_run(l, NULL); /* in virtual time it ends when nothing is left to do */
    driver_free(s.driver);
    inventory_close(i);
    loop_free(l);
}
