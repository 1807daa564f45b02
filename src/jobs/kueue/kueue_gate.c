#include "jobs/kueue/kueue_gate.h"
#include "base/clock.h"

static bool is_ours(const struct json *gate)
{
    const char *name = json_get_text(gate, "name", "");
    return strcmp(name, "kueue.x-k8s.io/admission") == 0 || strcmp(name, "kueue.x-k8s.io/topology") == 0;
}

bool kueue_gate_stands(const struct json *pod)
{
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (is_ours(gate))
            return true;
    return false;
}

struct json *kueue_gate_others(struct arena *a, const struct json *pod)
{
    struct json *others = json_new(a, JSON_ARRAY);
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (!is_ours(gate))
            json_append(others, json_clone(a, gate));
    return others->n ? others : json_new(a, JSON_NULL);
}

struct opening { /* in the pass's arena, as its texts are */
    const struct jobs_config *to;
    const char *gate, *queue;
    bool is_group;
    double seconds;
};

static void on_open(void *arg)
{
    const struct opening *o = arg;
    o->to->on_ungated(o->to->arg, o->gate, o->queue, o->is_group, o->seconds);
}

void kueue_gate_opens(const struct jobs *j, struct work *w, const struct json *pod, const struct json *workload, const char *queue,
                      bool is_group, int64_t now_ms)
{
    int64_t since_ms;
    const struct json *admitted = object_condition(workload, "Admitted");
    if (!j->config.on_ungated || !object_condition_true(workload, "Admitted") ||
        !time_parse(bytes_of(json_get_text(admitted, "lastTransitionTime", "")), &since_ms))
        return;
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (is_ours(gate)) {
            struct opening *o = arena_alloc(w->arena, sizeof *o);
            *o = (struct opening){&j->config, json_get_text(gate, "name", ""), queue, is_group, (double)(now_ms - since_ms) / 1000};
            work_then(w, on_open, o);
        }
}
