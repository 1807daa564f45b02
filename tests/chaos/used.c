#include "used.h"
#include <stdio.h>
#include "base/clock.h"
#include "base/quantity.h"
#include "kube/object.h"

#define GPUS_MOST 60 /* nodes have fewer, and each job pays a part of its own on entry */

struct look {
    struct world *w;
    char wrong[600];
};

static void look_at(struct look *l, const struct json *one)
{
    const struct json *told = json_path(one, "status", "fairSharing", "admissionFairSharingStatus", NULL),
                      *gpus = json_get(json_get(told, "consumedResources"), "nvidia.com/gpu");
    const char *name = object_meta(one, "name");
    struct quantity q;
    int64_t at_ms;
    if (!l->w->policy.consumption.on && told)
        snprintf(l->wrong, sizeof l->wrong, "LocalQueue %s says what it has used, and nobody counts it", name);
    if (!l->w->policy.consumption.on)
        return;
    if (!gpus || quantity_parse(json_bytes(gpus), &q, NULL) < 0 || q.nano < 0 || q.nano > GPUS_MOST * (__int128)1000000000)
        snprintf(l->wrong, sizeof l->wrong, "LocalQueue %s has used %s GPUs", name, json_text(gpus, "no"));
    if (!time_parse(json_bytes(json_get(told, "lastUpdate")), &at_ms) || at_ms > loop_wall_ms(l->w->loop))
        snprintf(l->wrong, sizeof l->wrong, "LocalQueue %s has used what it has at %s", name, json_get_text(told, "lastUpdate", "no time"));
}

static void on_local_queues(void *arg, const struct kube_answer *answer)
{
    struct look *l = arg;
    const struct json *list = answer->code == 0 ? json_parse(l->w->arena, answer->body, NULL, NULL) : NULL;
    if (!list)
        snprintf(l->wrong, sizeof l->wrong, "LocalQueues cannot be read: %s", answer->error.text);
    JSON_EACH (one, json_get(list, "items"))
        look_at(l, one);
    l->w->asked = false;
}

bool used_check(struct world *w)
{
    struct look l = {.w = w};
    w->asked = true;
    kube_get(w->quiet_client, "/apis/kueue.x-k8s.io/v1beta2/localqueues", on_local_queues, &l);
    for (int k = 0; k < 1000 && w->asked; k++)
        loop_run_for(w->loop, 1, NULL);
    arena_reset(w->arena);
    if (l.wrong[0])
        world_broken(w, "%s", l.wrong);
    return !l.wrong[0];
}
