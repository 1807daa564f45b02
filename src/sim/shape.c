/* shape.c - named node shapes and the Node objects made from them */
#include "sim/shape.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/quantity.h"

#define GIB (1LL << 30)

/* SOURCE products and memory as nvidia-smi and GPU Feature Discovery print them; node sizes as common cloud machines have them. */
static const struct node_shape shapes[] = {
    {.name = "a100-40gb",
     .product = "NVIDIA-A100-SXM4-40GB",
     .family = "ampere",
     .compute_major = 8,
     .gpus_n = 8,
     .gpu_memory_mib = 40960,
     .cpu_n = 96,
     .memory_bytes = 1152 * GIB,
     .link_group_n = 8,
     .replicas = 1},
    {.name = "a100-80gb",
     .product = "NVIDIA-A100-SXM4-80GB",
     .family = "ampere",
     .compute_major = 8,
     .gpus_n = 8,
     .gpu_memory_mib = 81920,
     .cpu_n = 96,
     .memory_bytes = 1152 * GIB,
     .link_group_n = 8,
     .replicas = 1},
    {.name = "h100-80gb",
     .product = "NVIDIA-H100-80GB-HBM3",
     .family = "hopper",
     .compute_major = 9,
     .gpus_n = 8,
     .gpu_memory_mib = 81559,
     .cpu_n = 192,
     .memory_bytes = 2048 * GIB,
     .link_group_n = 8,
     .replicas = 1},
    {.name = "h200-141gb",
     .product = "NVIDIA-H200",
     .family = "hopper",
     .compute_major = 9,
     .gpus_n = 8,
     .gpu_memory_mib = 143771,
     .cpu_n = 192,
     .memory_bytes = 2048 * GIB,
     .link_group_n = 8,
     .replicas = 1},
    {.name = "t4",
     .product = "Tesla-T4",
     .family = "turing",
     .compute_major = 7,
     .compute_minor = 5,
     .gpus_n = 8,
     .gpu_memory_mib = 15360,
     .cpu_n = 96,
     .memory_bytes = 384 * GIB,
     .link_group_n = 1,
     .replicas = 1},
    {.name = "l4",
     .product = "NVIDIA-L4",
     .family = "ada-lovelace",
     .compute_major = 8,
     .compute_minor = 9,
     .gpus_n = 8,
     .gpu_memory_mib = 23034,
     .cpu_n = 192,
     .memory_bytes = 768 * GIB,
     .link_group_n = 1,
     .replicas = 1},
    {.name = "cpu", .cpu_n = 32, .memory_bytes = 128 * GIB, .link_group_n = 1, .replicas = 1},
};

const char *node_shape_names(void)
{
    return "a100-40gb, a100-80gb, h100-80gb, h200-141gb, t4, l4, cpu";
}

static bool parse_count(const char *text, int64_t max, int64_t *ret_value)
{
    int64_t v;
    if (!bytes_int64(bytes_of(text), &v) || v < 0 || v > max)
        return false;
    *ret_value = v;
    return true;
}

static bool copy_text(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);
    if (n == 0 || n >= size)
        return false;
    memcpy(to, from, n + 1);
    return true;
}

/* "1g.5gb" -> compute slices 1..7; 0 when it is no profile. */
static int mig_slices(const char *profile)
{
    int slices = 0, memory = 0, end = 0;
    if (sscanf(profile, "%dg.%dgb%n", &slices, &memory, &end) != 2 || profile[end] || slices < 1 || slices > 7 ||
        memory < 1)
        return 0;
    return slices;
}

static int add_extra(struct shape_extra *extras, uint32_t *n, const char *key, const char *value, struct err *e)
{
    if (*n == SHAPE_EXTRAS_MAX)
        return err_set(e, E_LIMIT, "more than %d labels or taints in one shape", SHAPE_EXTRAS_MAX);
    if (!copy_text(extras[*n].key, sizeof extras->key, key) || strlen(value) >= sizeof extras->value)
        return err_set(e, E_INVALID, "'%s=%s': key or value is empty or too long", key, value);
    memcpy(extras[*n].value, value, strlen(value) + 1);
    (*n)++;
    return 0;
}

static int set_key(struct node_shape *s, const char *key, const char *value, struct err *e)
{
    int64_t number = 0;
    struct quantity q;
    if (text_starts(key, "label."))
        return add_extra(s->labels, &s->labels_n, key + 6, value, e);
    if (text_starts(key, "taint."))
        return add_extra(s->taints, &s->taints_n, key + 6, value, e);
    if (text_equal(key, "gpus") && parse_count(value, 64, &number))
        s->gpus_n = (int32_t)number;
    else if (text_equal(key, "cpu") && parse_count(value, 4096, &number) && number > 0)
        s->cpu_n = number;
    else if (text_equal(key, "gpu-memory") && quantity_parse(bytes_of(value), &q, NULL) == 0 && quantity_sign(q) > 0)
        s->gpu_memory_mib = quantity_whole(q) >> 20;
    else if (text_equal(key, "memory") && quantity_parse(bytes_of(value), &q, NULL) == 0 && quantity_sign(q) > 0)
        s->memory_bytes = quantity_whole(q);
    else if (text_equal(key, "replicas") && parse_count(value, LIMIT_DEVICES_PER_NODE, &number) && number > 0)
        s->replicas = (int32_t)number;
    else if (text_equal(key, "mps") && parse_count(value, 48, &number) && number > 0)
        s->mps_shares = (int32_t)number;
    else if (text_equal(key, "mig") && mig_slices(value) && copy_text(s->mig_profile, sizeof s->mig_profile, value))
        return 0;
    else if (text_equal(key, "product") && copy_text(s->product, sizeof s->product, value))
        return 0;
    else if (text_equal(key, "name") && copy_text(s->name, sizeof s->name, value))
        return 0;
    else
        return err_set(e, E_INVALID,
                       "'%s=%s' is not understood: use name=, gpus=0..64, product=, gpu-memory=80Gi, cpu=, "
                       "memory=512Gi, mig=1g.5gb, "
                       "replicas=, mps=1..48, label.KEY=VALUE, taint.KEY=VALUE",
                       key, value);
    return 0;
}

static int parse_part(struct node_shape *s, char *part, bool first, struct err *e)
{
    char *equal = strchr(part, '=');
    if (equal) {
        *equal = '\0';
        return set_key(s, part, equal + 1, e);
    }
    for (size_t i = 0; first && i < sizeof shapes / sizeof *shapes; i++)
        if (text_equal(part, shapes[i].name)) {
            *s = shapes[i];
            return 0;
        }
    return err_set(e, E_INVALID,
                   "no node shape '%s': there are %s, or write one out: gpus=8,product=NVIDIA-B200,cpu=192,memory=2Ti",
                   part, node_shape_names());
}

static int check_devices(const struct node_shape *s, struct err *e)
{
    int64_t per_gpu = s->mps_shares ? s->mps_shares : s->mig_profile[0] ? 7 / mig_slices(s->mig_profile) : s->replicas;
    if (per_gpu * s->gpus_n > LIMIT_DEVICES_PER_NODE)
        return err_set(e, E_LIMIT, "%d GPUs x %lld parts are more than %d devices on one node", s->gpus_n,
                       (long long)per_gpu, LIMIT_DEVICES_PER_NODE);
    return 0;
}

int node_shape_parse(const char *text, int32_t *ret_nodes_n, struct node_shape *ret_shape, struct err *e)
{
    int64_t nodes_n = 1;
    char copy[1024];
    const char *colon = strchr(text, ':');
    if (colon) {
        if (!bytes_int64((struct bytes){text, (size_t)(colon - text)}, &nodes_n) || nodes_n < 1 || nodes_n > 100000)
            return err_set(e, E_INVALID, "'%s': before ':' stands how many nodes, 1 to 100000", text);
        text = colon + 1;
    }
    if (!copy_text(copy, sizeof copy, text))
        return err_set(e, E_INVALID, "empty or too long node shape; there are %s", node_shape_names());
    struct node_shape s = {.name = "custom",
                           .product = "NVIDIA-Simulated",
                           .family = "simulated",
                           .compute_major = 9,
                           .gpu_memory_mib = 81920,
                           .cpu_n = 32,
                           .memory_bytes = 256 * GIB,
                           .link_group_n = 8,
                           .replicas = 1};
    bool first = true;
    char *save = NULL;
    for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save), first = false) {
        int r = parse_part(&s, part, first, e);
        if (r < 0)
            return r;
    }
    int r = check_devices(&s, e);
    if (r < 0)
        return r;
    *ret_nodes_n = (int32_t)nodes_n;
    *ret_shape = s;
    return 0;
}

/* ---- the Node object ---- */

static void set_label_int(struct arena *a, struct json *labels, const char *key, int64_t value)
{
    json_set_text(a, labels, key, arena_printf(a, "%lld", (long long)value));
}

static int64_t parts_per_gpu(const struct node_shape *s)
{
    if (s->mps_shares)
        return s->mps_shares;
    return s->mig_profile[0] ? 7 / mig_slices(s->mig_profile) : s->replicas;
}

static const char *device_resource(struct arena *a, const struct node_shape *s)
{
    if (s->mps_shares)
        return "keti.com/mpsgpu";
    return s->mig_profile[0] ? arena_printf(a, "nvidia.com/mig-%s", s->mig_profile) : "nvidia.com/gpu";
}

/* The labels that GPU Feature Discovery sets. SOURCE NVIDIA k8s-device-plugin documentation, "GFD labels". */
static void add_gpu_labels(struct arena *a, const struct node_shape *s, struct json *labels)
{
    json_set_text(a, labels, "nvidia.com/gpu.present", "true");
    json_set_text(a, labels, "nvidia.com/gpu.family", s->family);
    json_set_text(a, labels, "nvidia.com/gpu.machine", "capstan-simulated");
    set_label_int(a, labels, "nvidia.com/gpu.count", s->gpus_n);
    set_label_int(a, labels, "nvidia.com/gpu.memory", s->gpu_memory_mib);
    set_label_int(a, labels, "nvidia.com/gpu.compute.major", s->compute_major);
    set_label_int(a, labels, "nvidia.com/gpu.compute.minor", s->compute_minor);
    set_label_int(a, labels, "nvidia.com/gpu.replicas", s->mig_profile[0] ? 0 : s->replicas);
    json_set_text(a, labels, "nvidia.com/gpu.sharing-strategy",
                  s->replicas > 1 ? "time-slicing"
                  : s->mps_shares ? "mps"
                                  : "none");
    json_set_text(a, labels, "nvidia.com/gpu.product",
                  s->replicas > 1 ? arena_printf(a, "%s-SHARED", s->product) : s->product);
    json_set_text(a, labels, "nvidia.com/mig.capable", s->compute_major >= 8 && s->link_group_n > 1 ? "true" : "false");
    json_set_text(a, labels, "nvidia.com/mig.strategy", s->mig_profile[0] ? "mixed" : "single");
    json_set_text(a, labels, "nvidia.com/cuda.driver.major", "550");
    json_set_text(a, labels, "nvidia.com/cuda.runtime.major", "12");
    if (s->mig_profile[0]) {
        const char *prefix = arena_printf(a, "nvidia.com/mig-%s", s->mig_profile);
        set_label_int(a, labels, arena_printf(a, "%s.count", prefix), parts_per_gpu(s) * s->gpus_n);
        json_set_text(a, labels, arena_printf(a, "%s.product", prefix),
                      arena_printf(a, "%s-MIG-%s", s->product, s->mig_profile));
    }
}

/* GPU-xxxxxxxx-xxxx-... from the node's name: the same at every start. */
static const char *gpu_uuid(struct arena *a, const char *node, int gpu, int part)
{
    uint64_t hi = hash_bytes(node, strlen(node), (uint64_t)gpu + 1),
             lo = hash_bytes(node, strlen(node), hi + (uint64_t)part);
    return arena_printf(a, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(hi >> 32), (unsigned)(hi >> 16) & 0xffff,
                        ((unsigned)hi & 0x0fff) | 0x4000, ((unsigned)(lo >> 48) & 0x3fff) | 0x8000,
                        (unsigned long long)lo & 0xffffffffffffULL);
}

static const char *device_list(struct arena *a, const struct node_shape *s, const char *node)
{
    struct json *list = json_new(a, JSON_ARRAY);
    const char *resource = device_resource(a, s);
    int64_t parts = parts_per_gpu(s);
    for (int gpu = 0; gpu < s->gpus_n; gpu++)
        for (int part = 0; part < parts; part++) {
            struct json *d = json_new(a, JSON_OBJECT);
            const char *uuid = gpu_uuid(a, node, gpu, s->mig_profile[0] ? part : 0);
            const char *id = s->mig_profile[0] ? arena_printf(a, "MIG-%s", uuid)
                             : parts > 1       ? arena_printf(a, "GPU-%s::%d", uuid, part)
                                               : arena_printf(a, "GPU-%s", uuid);
            json_set_text(a, d, "r", resource);
            json_set_text(a, d, "id", id);
            json_set_int64(a, d, "gpu", gpu);
            json_set_int64(a, d, "link", gpu / (s->link_group_n > 0 ? s->link_group_n : 1));
            json_set_bool(a, d, "healthy", true);
            json_append(list, d);
        }
    struct buf text = {0};
    json_write(&text, list);
    const char *copy = arena_text_n(a, text.data, text.n);
    buf_free(&text);
    return copy;
}

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
    if (s->gpus_n > 0)
        json_set_text(a, to, device_resource(a, s), arena_printf(a, "%lld", (long long)(parts_per_gpu(s) * s->gpus_n)));
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

struct json *node_shape_object(struct arena *a, const struct node_shape *s, int32_t index, int32_t ordinal,
                               int64_t wall_ms)
{
    char now[TIME_TEXT_MAX];
    time_format(now, wall_ms);
    const char *kind = s->mig_profile[0] ? "-mig" : s->mps_shares ? "-mps" : s->replicas > 1 ? "-shared" : "";
    const char *name = arena_printf(a, "%s%s-%d", s->name, kind, index);
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
    if (s->gpus_n > 0) {
        add_gpu_labels(a, s, labels);
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), "capstan.dev/devices",
                      device_list(a, s, name));
    }
    for (uint32_t i = 0; i < s->labels_n; i++)
        json_set_text(a, labels, s->labels[i].key, s->labels[i].value);
    struct json *spec = json_ensure_object(a, node, "spec");
    for (uint32_t i = 0; i < s->taints_n; i++) {
        struct json *taint = json_new(a, JSON_OBJECT);
        json_set_text(a, taint, "key", s->taints[i].key);
        json_set_text(a, taint, "value", s->taints[i].value);
        json_set_text(a, taint, "effect", "NoSchedule");
        json_append(json_ensure_array(a, spec, "taints"), taint);
    }
    add_status(a, s, node, name, ordinal, now);
    return node;
}
