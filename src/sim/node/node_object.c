/* node_object.c - see node_object.h */
#include "sim/node/node_object.h"
#include "base/clock.h"
#include "sim/node/sim_node.h"

#define GIB (1LL << 30)

static void add_amounts(struct arena *a, const struct node_shape *s, struct json *to, int64_t reserved_cpu_milli,
                        int64_t reserved_bytes)
{
    json_set_text(a, to, "cpu", arena_printf(a, "%lldm", (long long)(s->cpu_n * 1000 - reserved_cpu_milli)));
    if (reserved_cpu_milli == 0)
        json_set_text(a, to, "cpu", arena_printf(a, "%lld", (long long)s->cpu_n));
    json_set_text(a, to, "memory", arena_printf(a, "%lldKi", (long long)((s->memory_bytes - reserved_bytes) >> 10)));
    json_set_text(a, to, "ephemeral-storage", "1Ti");
    json_set_text(a, to, "hugepages-2Mi", "0");
    json_set_text(a, to, "pods", s->cpu_n > 64 ? "250" : "110");
}

static void add_condition(struct arena *a, struct json *list, const char *type, const char *status, const char *reason,
                          const char *message, const char *now)
{
    struct json *c = json_new(a, JSON_OBJECT);
    json_set_text(a, c, "type", type);
    json_set_text(a, c, "status", status);
    json_set_text(a, c, "lastHeartbeatTime", now);
    json_set_text(a, c, "lastTransitionTime", now);
    json_set_text(a, c, "reason", reason);
    json_set_text(a, c, "message", message);
    json_append(list, c);
}

static void add_address(struct arena *a, struct json *status, const char *type, const char *address)
{
    struct json *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "type", type);
    json_set_text(a, one, "address", address);
    json_append(json_ensure_array(a, status, "addresses"), one);
}

static void add_status(struct arena *a, const struct node_shape *s, struct json *node, const char *name,
                       int32_t ordinal, const char *now)
{
    struct json *status = json_ensure_object(a, node, "status");
    add_amounts(a, s, json_ensure_object(a, status, "capacity"), 0, 0);
    add_amounts(a, s, json_ensure_object(a, status, "allocatable"), 500, GIB);
    struct json *conditions = json_ensure_array(a, status, "conditions");
    add_condition(a, conditions, "MemoryPressure", "False", "KubeletHasSufficientMemory",
                  "kubelet has sufficient memory available", now);
    add_condition(a, conditions, "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure",
                  now);
    add_condition(a, conditions, "PIDPressure", "False", "KubeletHasSufficientPID",
                  "kubelet has sufficient PID available", now);
    add_condition(a, conditions, "Ready", "True", "KubeletReady", "simulated kubelet is posting ready status", now);
    add_address(a, status, "InternalIP",
                arena_printf(a, "10.%d.%d.%d", 64 + (ordinal >> 16), (ordinal >> 8) & 255, ordinal & 255));
    add_address(a, status, "Hostname", name);
    struct json *info = json_ensure_object(a, status, "nodeInfo");
    json_set_text(a, info, "kubeletVersion", "v1.32.0+capstan");
    json_set_text(a, info, "kubeProxyVersion", "");
    json_set_text(a, info, "containerRuntimeVersion", "simulated://1.0");
    json_set_text(a, info, "osImage", "Capstan simulated node");
    json_set_text(a, info, "kernelVersion", "6.1.0");
    json_set_text(a, info, "architecture", "amd64");
    json_set_text(a, info, "operatingSystem", "linux");
    json_set_text(a, info, "machineID", "");
    json_set_text(a, info, "systemUUID", "");
    json_set_text(a, info, "bootID", "");
}

const char *node_object_name(struct arena *a, const struct node_kind *kind, int32_t index)
{
    return arena_printf(a, "%s%s-%d", kind->shape.name, node_shape_kind(&kind->shape), index);
}

/* The built-in layout that splits every GPU so. */
static const char *all_of_profile(struct arena *a, const char *profile)
{
    char *name = arena_printf(a, "all-%s", profile);
    for (char *c = name; *c; c++)
        if (*c == '+')
            *c = '.';
    return name;
}

struct json *node_object_make(struct arena *a, const struct node_kind *kind, int32_t index, int32_t ordinal,
                              int64_t wall_ms, bool bare)
{
    const struct node_shape *s = &kind->shape;
    char now[TIME_TEXT_MAX];
    time_format(now, wall_ms);
    const char *name = node_object_name(a, kind, index);
    struct json *node = json_new(a, JSON_OBJECT);
    json_set_text(a, node, "apiVersion", "v1");
    json_set_text(a, node, "kind", "Node");
    struct json *metadata = json_ensure_object(a, node, "metadata");
    json_set_text(a, metadata, "name", name);
    struct json *labels = json_ensure_object(a, metadata, "labels");
    json_set_text(a, labels, "kubernetes.io/hostname", name);
    json_set_text(a, labels, "kubernetes.io/os", "linux");
    json_set_text(a, labels, "kubernetes.io/arch", "amd64");
    json_set_text(a, labels, "node.kubernetes.io/instance-type", s->name);
    json_set_text(a, labels, "topology.kubernetes.io/region", "simulated");
    json_set_text(a, labels, "topology.kubernetes.io/zone", arena_printf(a, "zone-%c", 'a' + index % 3));
    json_set_text(a, labels, "capstan.dev/simulated", "true");
    struct json *spec = json_ensure_object(a, node, "spec");
    for (uint32_t i = 0; i < s->taints_n; i++) {
        struct json *taint = json_new(a, JSON_OBJECT);
        json_set_text(a, taint, "key", s->taints[i].key);
        json_set_text(a, taint, "value", s->taints[i].value);
        json_set_text(a, taint, "effect", "NoSchedule");
        json_append(json_ensure_array(a, spec, "taints"), taint);
    }
    add_status(a, s, node, name, ordinal, now);
    if (s->gpus_n > 0 && bare) {
        if (s->mig_profile[0])
            json_set_text(a, labels, AGENT_MIG_LABEL, all_of_profile(a, s->mig_profile));
    } else if (s->gpus_n > 0) {
        sim_node_describe(kind, name, wall_ms, a, node);
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), NODE_SHAPE_ANNOTATION, s->text);
    }
    for (uint32_t i = 0; i < s->labels_n; i++)
        json_set_text(a, labels, s->labels[i].key, s->labels[i].value);
    return node;
}
