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

void kueue_gate_opens(const struct jobs *j, const struct json *pod, const struct json *workload, const char *queue, bool is_group,
                      int64_t now_ms)
{
    int64_t since_ms;
    const struct json *admitted = object_condition(workload, "Admitted");
    if (!j->config.on_ungated || !object_condition_true(workload, "Admitted") ||
        !time_parse(bytes_of(json_get_text(admitted, "lastTransitionTime", "")), &since_ms))
        return;
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (is_ours(gate))
            j->config.on_ungated(j->config.arg, json_get_text(gate, "name", ""), queue, is_group, (double)(now_ms - since_ms) / 1000);
}
