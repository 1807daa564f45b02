/* node_object.c - the Node object of a simulated node, and what of it follows from its GPUs
 *
 * WHY  a node that has not started yet has to be described at once, and everything about GPUs is answered in a loop's turn: a loop in
 *      virtual time of our own is run until the node has read its GPUs.
 */
#include "sim/node/node_object.h"
#include "agent/node/condition.h"
#include "base/clock.h"

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

/* ---- GPUs ---- */

static void add_gpu_status(struct arena *a, const struct node_devices *d, struct json *status)
{
    const struct resource_table *t = node_devices_table(d);
    struct json *capacity = json_ensure_object(a, status, "capacity"),
                *allocatable = json_ensure_object(a, status, "allocatable");
    for (uint32_t i = 0; i < t->resources_n; i++) {
        const struct resource *r = &t->resources[i];
        json_set_text(a, capacity, r->name, arena_printf(a, "%u", r->slots_n));
        json_set_text(a, allocatable, r->name, arena_printf(a, "%u", slots_open(r->slots, r->slots_n)));
    }
}

static void add_gpu_metadata(struct arena *a, const struct node_devices *d, struct json *metadata)
{
    struct json *labels = json_ensure_object(a, metadata, "labels");
    struct label_pair *pairs = NULL;
    uint32_t n = 0;
    _cleanup_buf_ struct buf text = {0};
    node_devices_labels(d, a, &pairs, &n);
    for (uint32_t i = 0; i < n; i++)
        json_set_text(a, labels, pairs[i].name, pairs[i].value);
    node_devices_text(d, &text);
    struct json *annotations = json_ensure_object(a, metadata, "annotations");
    json_set(a, annotations, NODE_DEVICES_ANNOTATION, json_new_text_n(a, buf_view(&text)));
    buf_clear(&text);
    node_devices_mig_text(d, &text);
    if (text.n)
        json_set(a, annotations, NODE_MIG_ANNOTATION, json_new_text_n(a, buf_view(&text)));
}

struct json *node_object_projection(struct arena *a, const struct node_devices *d)
{
    struct json *node = json_new(a, JSON_OBJECT);
    add_gpu_metadata(a, d, json_ensure_object(a, node, "metadata"));
    add_gpu_status(a, d, json_ensure_object(a, node, "status"));
    return node;
}

static void nothing_changed(void *arg)
{
    (void)arg; /* it is looked at when the loop has nothing left to do */
}

static void add_gpu_conditions(struct arena *a, const struct node_devices *d, int64_t wall_ms, struct json *status)
{
    struct json *list = json_ensure_array(a, status, "conditions");
    const struct node_condition health = node_condition_health(a, node_devices_snapshot(d)),
                                config = {true, "ConfigValid", NODE_CONDITION_DEFAULTS};
    json_append(list, node_condition_json(a, AGENT_CONDITION_HEALTHY, &health, wall_ms, wall_ms));
    json_append(list, node_condition_json(a, AGENT_CONDITION_CONFIG, &config, wall_ms, wall_ms));
}

static void add_gpus(struct arena *a, const struct node_kind *kind, const char *name, int64_t wall_ms,
                     struct json *node)
{
    struct loop *l = loop_new_virtual(0);
    struct node_devices *d =
        node_devices_new(l, &(struct node_devices_config){.kind = kind, .node_name = name, .changed = nothing_changed});
    (void)loop_run(l, NULL); /* in virtual time it ends when nothing is left to do */
    if (node_devices_ready(d)) {
        struct json *status = json_ensure_object(a, node, "status");
        add_gpu_metadata(a, d, json_ensure_object(a, node, "metadata"));
        add_gpu_status(a, d, status);
        add_gpu_conditions(a, d, wall_ms, status);
    }
    node_devices_free(d);
    loop_free(l);
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
            json_set_text(a, labels, "nvidia.com/mig.config", all_of_profile(a, s->mig_profile));
    } else if (s->gpus_n > 0) {
        add_gpus(a, kind, name, wall_ms, node);
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), NODE_SHAPE_ANNOTATION, s->text);
    }
    for (uint32_t i = 0; i < s->labels_n; i++)
        json_set_text(a, labels, s->labels[i].key, s->labels[i].value);
    return node;
}
