/* doctor_nodes.c - GPU nodes and their agents; programs that do the same work beside ours */
#include "base/collections/map.h"
#include "cli/doctor/doctor.h"
#include "cli/lookup/accelerators.h"
#include "core/device_list.h"
#include "kube/object.h"

/* ---- nodes ---- */

static int64_t accelerators_in(const struct json *amounts)
{
    int64_t n = 0;
    JSON_EACH (amount, amounts)
        n += is_accelerator(amount->key) ? whole_number(amount) : 0;
    return n;
}

static bool is_gpu_node(const struct json *node)
{
    static const char *const marks[] = {"nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present",
                                        "nvidia.com/gpu.deploy.device-plugin"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (text_equal(object_label(node, marks[i]), "true"))
            return true;
    return accelerators_in(json_path(node, "status", "capacity", NULL)) > 0;
}

/* GPUHealthy, GPUConfigValid: what the agent says of the node. */
static void conditions_look(struct doctor *d, const struct json *node, const char *about)
{
    JSON_EACH (condition, json_path(node, "status", "conditions", NULL)) {
        const char *type = json_get_text(condition, "type", "");
        if (text_starts(type, "GPU") && text_equal(json_get_text(condition, "status", ""), "False"))
            doctor_say(d, DOCTOR_FAULT, about, "docs/gpu-health.md, docs/gpu-config.md; kubectl describe node has the events", "%s: %s",
                       type, json_get_text(condition, "message", "False"));
    }
}

/* A layout that could not be made: the node has the one before, and says so by a label alone. Why stands in the Event. */
static void layout_look(struct doctor *d, const struct json *node, const char *about)
{
    struct err unused = {0};
    const char *name = object_meta(node, "name"), *why = NULL;
    if (!text_equal(object_label(node, "nvidia.com/mig.config.state"), "failed"))
        return;
    const char *path = arena_printf(d->a,
                                    "/api/v1/events?fieldSelector=involvedObject.kind%%3DNode%%2CinvolvedObject.name%%3D%s%%2C"
                                    "reason%%3DMIGConfigFailed",
                                    name);
    JSON_EACH (event, json_get(connection_get(&d->c, d->a, path, &unused), "items"))
        why = json_get_text(event, "message", why);
    if (why && strstr(why, "in use by"))
        doctor_say(d, DOCTOR_NOTE, about, "nothing: it is made once these have ended", "%s", why);
    else
        doctor_say(d, DOCTOR_FAULT, about, "correct its label nvidia.com/mig.config: docs/gpu-config.md", "%s%s",
                   why ? why : "MIG layout was not made: ", why ? "" : object_label(node, "nvidia.com/mig.config"));
}

/* Devices that the agent has closed and opens by itself, without a fault of theirs; ret_why: the state of the last. */
static int64_t closed_for_now(struct doctor *d, const char *devices, const char **ret_why)
{
    static const char *const states[] = {"MPSStarting", "MIGChanging", "OldSlicing"}; /* agent/inventory/slot_state.h */
    int64_t n = 0;
    JSON_EACH (device, json_parse(d->a, bytes_of(devices), NULL, NULL))
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
            if (text_equal(json_get_text(device, "state", ""), states[i])) {
                *ret_why = states[i];
                n++;
            }
    return n;
}

static void unusable_look(struct doctor *d, const char *about, const char *devices, int64_t unusable_n, int64_t capacity_n)
{
    const char *why = "";
    int64_t closed_n = closed_for_now(d, devices, &why);
    closed_n = closed_n < unusable_n ? closed_n : unusable_n;
    if (closed_n > 0)
        doctor_say(d, DOCTOR_NOTE, about, "nothing: they open by themselves; docs/agent.md has what is waited for",
                   "%lld of %lld devices are closed for now: %s", (long long)closed_n, (long long)capacity_n, why);
    if (unusable_n > closed_n)
        doctor_say(d, DOCTOR_FAULT, about, "docs/gpu-health.md; kubectl describe node has the events", "%lld of %lld devices are unhealthy",
                   (long long)(unusable_n - closed_n), (long long)capacity_n);
}

static void node_look(struct doctor *d, const struct json *node)
{
    const char *about = arena_printf(d->a, "node %s", object_meta(node, "name")), *devices = object_annotation(node, DEVICES_ANNOTATION);
    const char *labelled = object_label(node, "nvidia.com/gpu.count");
    int64_t capacity_n = accelerators_in(json_path(node, "status", "capacity", NULL)),
            usable_n = accelerators_in(json_path(node, "status", "allocatable", NULL)), counted_n = 0;
    uint32_t before = d->levels_n[DOCTOR_FAULT] + d->levels_n[DOCTOR_NOTE];
    if (!object_condition_true(node, "Ready"))
        doctor_say(d, DOCTOR_FAULT, about, "see its kubelet", "not Ready: nothing starts there");
    else if (json_get_bool(json_get(node, "spec"), "unschedulable", false))
        doctor_say(d, DOCTOR_NOTE, about, "kubectl uncordon, when it is to be used again", "cordoned: nothing new starts there");
    (void)bytes_int64(bytes_of(labelled), &counted_n);
    if (capacity_n == 0 && counted_n > 0)
        doctor_say(d, DOCTOR_FAULT, about, "capstan doctor --node there; kubectl logs of the device plugin or agent of that node",
                   "its label says %lld GPUs, and its kubelet offers none: no device plugin has registered", (long long)counted_n);
    else if (capacity_n == 0)
        doctor_say(d, DOCTOR_FAULT, about, "kubectl apply -f deploy/agent.yaml; then capstan doctor --node there",
                   "has NVIDIA devices, and its kubelet offers no GPU: no device plugin or agent");
    else if (!*devices)
        doctor_say(d, DOCTOR_NOTE, about, "kubectl apply -f deploy/agent.yaml, in the place of NVIDIA's device plugin",
                   "no agent: which of its GPUs a pod gets is the kubelet's choice, and parts of GPUs cannot be placed");
    if (usable_n < capacity_n)
        unusable_look(d, about, devices, capacity_n - usable_n, capacity_n);
    conditions_look(d, node, about);
    layout_look(d, node, about);
    if (d->levels_n[DOCTOR_FAULT] + d->levels_n[DOCTOR_NOTE] == before)
        doctor_say(d, DOCTOR_OK, about, NULL, "%lld devices, all usable", (long long)usable_n);
}

void doctor_nodes(struct doctor *d)
{
    uint32_t gpu_n = 0;
    d->nodes = doctor_items(d, "nodes", "/api/v1/nodes");
    JSON_EACH (node, d->nodes)
        if (is_gpu_node(node)) {
            node_look(d, node);
            gpu_n++;
        }
    if (d->nodes && !gpu_n)
        doctor_say(d, DOCTOR_NOTE, "nodes",
                   "kubectl label node NODE nvidia.com/gpu.present=true, where node feature discovery is not there to find them",
                   "no node has a GPU that anybody has told the cluster of");
}

/* ---- rivals ---- */

struct rival {
    const char *image; /* part of an image's name */
    const char *what, *todo;
    const char *unless; /* our scheduler has this option, and leaves the work to it; NULL: it counts on nodes with our agent alone */
};
/* SOURCE the charts and manifests of each project. */
static const struct rival rivals[] = {
    {"kueue/kueue", "Kueue's manager",
     "start capstan scheduler with --no-kueue; or kubectl scale deployment -n NAMESPACE --replicas=0 kueue-controller-manager, "
     "and delete its webhook configurations",
     "--no-kueue"},
    {"vc-scheduler", "Volcano's scheduler", "start capstan scheduler with --no-volcano and --scheduler-name capstan; or scale it to 0",
     "--no-volcano"},
    {"vc-controller-manager", "Volcano's controllers", "start capstan scheduler with --no-volcano; or scale it to 0", "--no-volcano"},
    {"k8s-device-plugin", "NVIDIA's device plugin", "remove it (GPU operator: devicePlugin.enabled=false)", NULL},
    {"gpu-feature-discovery", "GPU Feature Discovery", "remove it (GPU operator: gfd.enabled=false)", NULL},
    {"k8s-mig-manager", "NVIDIA's MIG manager", "remove it (GPU operator: migManager.enabled=false)", NULL},
    {"dcgm-exporter", "dcgm-exporter", "remove it (GPU operator: dcgmExporter.enabled=false), or start the agent with --exporter=false",
     NULL},
};
enum { RIVALS_N = sizeof rivals / sizeof *rivals };

struct rival_look {
    struct doctor *d;
    struct map *agents;  /* names of nodes with our agent */
    struct map *options; /* of our schedulers */
    uint32_t pods_n[RIVALS_N];
    const char *first[RIVALS_N]; /* NAMESPACE/NAME */
};

static void options_add(struct rival_look *l, const struct json *container)
{
    static const char *const lists[] = {"command", "args"};
    if (!strstr(json_get_text(container, "image", ""), "capstan"))
        return;
    for (int i = 0; i < 2; i++)
        JSON_EACH (word, json_get(container, lists[i]))
            (void)map_put(l->options, json_bytes(word), NULL);
}

static void rival_pod(void *arg, const struct json *pod)
{
    struct rival_look *l = arg;
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), ""),
               *node = json_text(json_path(pod, "spec", "nodeName", NULL), "");
    if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return;
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL)) {
        options_add(l, container);
        for (size_t i = 0; i < RIVALS_N; i++) {
            if (!strstr(json_get_text(container, "image", ""), rivals[i].image) || (!rivals[i].unless && !map_find_text(l->agents, node)))
                continue;
            l->first[i] = l->first[i] ? l->first[i] : object_key(l->d->a, pod);
            l->pods_n[i]++;
        }
    }
}

void doctor_rivals(struct doctor *d)
{
    struct rival_look l = {.d = d, .agents = map_new(1), .options = map_new(1)};
    struct err e = {0};
    uint32_t found_n = 0;
    JSON_EACH (node, d->nodes)
        if (*object_annotation(node, DEVICES_ANNOTATION))
            (void)map_put(l.agents, bytes_of(object_meta(node, "name")), NULL);
    (void)connection_each(&d->c, "/api/v1/pods?fields=metadata(name,namespace),spec(nodeName,containers(image,command,args)),status(phase)",
                          rival_pod, &l, &e);
    map_free(l.agents);
    for (size_t i = 0; i < RIVALS_N && !e.code; i++) {
        bool left = rivals[i].unless && map_find_text(l.options, rivals[i].unless);
        if (l.pods_n[i] && !left)
            doctor_say(d, DOCTOR_FAULT, rivals[i].what, rivals[i].todo, "does the same work as Capstan%s: pod %s%s",
                       rivals[i].unless ? "" : "'s agent on the same node", l.first[i],
                       l.pods_n[i] > 1 ? arena_printf(d->a, " and %u more", l.pods_n[i] - 1) : "");
        found_n += left ? 0 : l.pods_n[i];
    }
    map_free(l.options);
    if (e.code)
        doctor_say(d, DOCTOR_UNKNOWN, "others' programs", NULL, "%s", e.text);
    else if (!found_n)
        doctor_say(d, DOCTOR_OK, "others' programs", NULL, "none that does the same work");
}
