/* test_agent.c - what a node of each GPU model offers, is labelled and answers, compared byte for byte with agent/<model>.txt
 *
 *     golden_agent DIRECTORY             compare
 *     golden_agent --update DIRECTORY    write the files again; read the difference before it is committed
 *
 * The files were checked by hand against the documents of NVIDIA's device plugin and GPU Feature Discovery, and labels and answers against
 * NVIDIA's own code on the same input.
 */
#include <errno.h>
#include "../unit/agent/reading.h"
#include "agent/node/labels.h"
#include "agent/plugin/allocate.h"

#define GPUS 2

struct scenario {
    const char *title, *yaml;
    const char *profile; /* MIG: NULL none; "first" 1g on all; "mixed" several kinds on GPU 0; "part" a compute instance of 1c */
    bool cdi;
};
static const struct scenario scenarios[] = {
    {"whole GPUs", "", NULL, false},
    {"whole GPUs, CDI", "flags: {plugin: {deviceListStrategy: [cdi-cri, cdi-annotations]}}", NULL, true},
    {"whole GPUs, volume mounts by index, with device nodes",
     "flags: {gdsEnabled: true, plugin: {deviceListStrategy: volume-mounts, deviceIDStrategy: index, passDeviceSpecs: true}}\n"
     "imex: {channelIDs: [0]}",
     NULL, false},
    {"time slices", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}", NULL, false},
    {"time slices, renamed", "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 3}]}}", NULL,
     false},
    {"MPS", "sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: nvidia.com/gpu, replicas: 10}]}}", NULL, false},
    {"keti.com/mpsgpu", "sharing: {keti: {replicas: 10}}", NULL, false},
    {"MIG none", "flags: {migStrategy: none}", "first", false},
    {"MIG single", "flags: {migStrategy: single, plugin: {deviceIDStrategy: index, passDeviceSpecs: true}}", "first", false},
    {"MIG single, shared", "flags: {migStrategy: single}\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}",
     "first", false},
    {"MIG single, not alike", "flags: {migStrategy: single}", "mixed", false},
    {"MIG mixed", "flags: {migStrategy: mixed, plugin: {deviceListStrategy: [cdi-cri, envvar], passDeviceSpecs: true}}", "mixed", true},
    {"MIG mixed, part of an instance", "flags: {migStrategy: mixed}", "part", false},
};

static int cap_minor(const struct machine *m, uint16_t gpu_minor, int gi, int ci)
{
    (void)m;
    return 1 + gpu_minor * 135 + gi * 9 + (ci < 0 ? 0 : ci + 1);
}

static const struct machine_file libraries[] = {{"/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.580.95.05"},
                                                {"/usr/lib64/libcuda.so.580.95.05", NULL},
                                                {"/usr/lib64/libcuda.so.570.00", NULL},
                                                {"/usr/lib64/libnvidia-ml.so.1", "/usr/lib64/libnvidia-ml.so.580.95.05"},
                                                {"/usr/lib64/libnvidia-ml.so.580.95.05", NULL}};
static const struct machine_file programs[] = {{"/usr/bin/nvidia-smi", NULL}};
static const char *const gds_nodes[] = {"/dev/nvidia-fs0"};
static const struct machine machine = {.dev_root = "/", .has_uvm = true, .has_uvm_tools = true, .has_modeset = true, .has_ctl = true,
                                       .has_imex_channel = true, .gds = {gds_nodes, 1}, .cap_minor = cap_minor,
                                       .libraries = libraries, .libraries_n = 5, .programs = programs, .programs_n = 1};

static void print_answer(struct test_node *n, const struct resource *r, uint32_t count, struct buf *out)
{
    const char *slots[2];
    struct allocate_answer answer;
    struct allocate_limits limits = {.thread_percentage = 30, .pinned_memory_mib = 4096};
    struct err e = {0};
    for (uint32_t i = 0; i < count; i++)
        slots[i] = r->slots[i ? r->slots_n - 1 : 0].id;
    buf_printf(out, "  allocate %s %s%s%s\n", r->name, slots[0], count > 1 ? " " : "", count > 1 ? slots[1] : "");
    bool limited = r->sharing == SHARING_KETI || r->sharing == SHARING_MPS;
    if (allocate_answer_make(n->arena, &n->snapshot, &n->config, &machine, r, slots, count, limited ? &limits : NULL, &answer, &e) < 0) {
        buf_printf(out, "    error %s\n", e.text);
        return;
    }
    for (uint32_t i = 0; i < answer.envs_n; i++)
        buf_printf(out, "    env %s=%s\n", answer.envs[i].name, answer.envs[i].value);
    for (uint32_t i = 0; i < answer.mounts_n; i++)
        buf_printf(out, "    mount %s -> %s\n", answer.mounts[i].host_path, answer.mounts[i].container_path);
    for (uint32_t i = 0; i < answer.devices_n; i++)
        buf_printf(out, "    device %s -> %s %s\n", answer.devices[i].host_path, answer.devices[i].container_path,
                   answer.devices[i].permissions);
    for (uint32_t i = 0; i < answer.annotations_n; i++)
        buf_printf(out, "    annotation %s: %s\n", answer.annotations[i].name, answer.annotations[i].value);
    for (uint32_t i = 0; i < answer.cdi_devices_n; i++)
        buf_printf(out, "    cdi %s\n", answer.cdi_devices[i]);
}

static void print_table(struct test_node *n, struct buf *out)
{
    static const char *const sharings[] = {"none", "time-slicing", "mps", "keti"};
    for (uint32_t i = 0; i < n->table.resources_n; i++) {
        const struct resource *r = &n->table.resources[i];
        buf_printf(out, "  resource %s x%u sharing=%s replicas=%u\n", r->name, r->slots_n, sharings[r->sharing], r->replicas);
        for (uint32_t k = 0; k < r->slots_n; k += r->slots_n > 1 ? r->slots_n - 1 : 1)
            buf_printf(out, "    %s %s\n", k ? "last " : "first", r->slots[k].id);
    }
    for (uint32_t i = 0; i < n->table.resources_n; i++) {
        print_answer(n, &n->table.resources[i], 1, out);
        if (n->table.resources[i].slots_n > 1)
            print_answer(n, &n->table.resources[i], 2, out);
    }
}

/* The labels of the model's first scenario in full, then only what differs from those. */
struct label_set { struct arena *arena; struct label_pair *labels; uint32_t n; };

static const char *value_in(const struct label_pair *labels, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(labels[i].name, name))
            return labels[i].value;
    return NULL;
}

static void remember(struct label_set *first, const struct label_pair *labels, uint32_t n)
{
    first->labels = arena_zero(first->arena, n, sizeof *labels);
    for (first->n = 0; first->n < n; first->n++)
        first->labels[first->n] = (struct label_pair){arena_text(first->arena, labels[first->n].name),
                                                      arena_text(first->arena, labels[first->n].value)};
}

static void print_labels(struct test_node *n, struct label_set *first, struct buf *out)
{
    struct label_facts facts = {.machine_type = "PowerEdge XE9680 (rev. 2)", .now_s = 1700000000};
    struct label_pair *labels;
    uint32_t labels_n;
    struct buf warnings = {0};
    labels_make(n->arena, &n->snapshot, &n->config, &n->table, &facts, &labels, &labels_n, &warnings);
    for (uint32_t i = 0; i < labels_n; i++) {
        const char *before = value_in(first->labels, first->n, labels[i].name);
        if (!before || !text_equal(before, labels[i].value))
            buf_printf(out, "  label %s=%s\n", labels[i].name, labels[i].value);
        assert(labels_owns(labels[i].name) && strlen(labels[i].value) <= 63);
    }
    for (uint32_t i = 0; i < first->n; i++)
        if (!value_in(labels, labels_n, first->labels[i].name))
            buf_printf(out, "  no label %s\n", first->labels[i].name);
    if (warnings.n)
        buf_printf(out, "  warning %s", warnings.data);
    buf_free(&warnings);
    if (!first->n)
        remember(first, labels, labels_n);
}

static void add_migs(struct test_node *n, const char *layout)
{
    const struct gpu_model *m = n->reading.gpus[0].geometry;
    const struct mig_profile *one = &m->profiles[0], *me = NULL, *half = NULL;
    for (uint8_t i = 0; i < m->profiles_n; i++) {
        me = m->profiles[i].nvml_index == 7 ? &m->profiles[i] : me;
        half = m->profiles[i].nvml_index == (m->mig_slices == 7 ? 2 : 1) ? &m->profiles[i] : half;
    }
    if (text_equal(layout, "first")) {
        node_mig(n, 0, one->name, 0, one->max_n);
        node_mig(n, 1, one->name, 0, one->max_n);
    } else if (text_equal(layout, "part"))
        node_mig(n, 0, half->name, 1, 1);
    else {
        node_mig(n, 0, half->name, 0, 1);
        node_mig(n, 0, one->name, 0, 1);
        node_mig(n, 0, me->name, 0, 1);
    }
}

static void print_scenario(const struct gpu_model *m, const struct scenario *s, struct label_set *first, struct buf *out)
{
    struct test_node *n = node_new(m->key, GPUS);
    struct err e = {0};
    struct buf warnings = {0};
    if (text_equal(m->key, "gb200"))
        for (uint32_t i = 0; i < GPUS; i++) {
            n->reading.gpus[i].fabric_state = 3;
            n->reading.gpus[i].fabric_clique = 32766;
            (void)snprintf(n->reading.gpus[i].fabric_cluster, sizeof n->reading.gpus[i].fabric_cluster,
                           "7d1f1c3a-5c5c-4b6e-9b0a-0123456789ab");
        }
    if (s->profile)
        add_migs(n, s->profile);
    node_config(n, s->yaml);
    buf_printf(out, "== %s\n", s->title);
    for (const char *line = s->yaml; *line;) {
        size_t length = strcspn(line, "\n");
        buf_printf(out, "  config %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (node_table(n, &warnings, &e) < 0)
        buf_printf(out, "  error %s\n", e.text);
    if (warnings.n)
        buf_printf(out, "  warning %s", warnings.data);
    print_table(n, out);
    print_labels(n, first, out);
    if (s->cdi)
        cdi_class_make(n->arena, "gpu", &n->snapshot, &n->config, &machine, out);
    buf_free(&warnings);
    node_free(n);
}

static int compare(const char *path, struct bytes made)
{
    FILE *f = fopen(path, "r");
    size_t line = 1;
    int c = 0;
    if (!f) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    for (size_t i = 0; i <= made.n; i++) {
        c = getc(f);
        if (c != (i < made.n ? (unsigned char)made.data[i] : EOF))
            break;
        line += c == '\n';
    }
    bool same = feof(f) && c == EOF;
    (void)fclose(f);
    if (!same)
        (void)fprintf(stderr, "%s:%zu: differs; see `git diff` after golden_agent --update %s\n", path, line, path);
    return !same;
}

static int write_file(const char *path, struct bytes made)
{
    FILE *f = fopen(path, "w");
    if (!f || fwrite(made.data, 1, made.n, f) != made.n || fclose(f) != 0) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool update = argc == 3 && text_equal(argv[1], "--update");
    int failed = 0;
    if (argc != 2 && !update) {
        (void)fprintf(stderr, "usage: golden_agent [--update] DIRECTORY\n");
        return 2;
    }
    for (uint32_t i = 0; i < gpu_models_n; i++) {
        struct buf out = {0};
        char path[512];
        struct label_set first = {.arena = arena_new()};
        buf_printf(&out, "# %s: %u GPUs of %s. Made by golden_agent --update; read every change.\n", gpu_models[i].key, GPUS,
                   gpu_models[i].name);
        for (size_t k = 0; k < sizeof scenarios / sizeof *scenarios; k++)
            if (!scenarios[k].profile || gpu_models[i].mig_slices)
                print_scenario(&gpu_models[i], &scenarios[k], &first, &out);
        (void)snprintf(path, sizeof path, "%s/%s.txt", argv[argc - 1], gpu_models[i].key);
        failed |= update ? write_file(path, buf_view(&out)) : compare(path, buf_view(&out));
        buf_free(&out);
        arena_free(first.arena);
    }
    return failed;
}
