/* labels.c - the labels of GPU Feature Discovery from one snapshot
 *
 * ORDER  labels by name; of several GPU models the most frequent one is described (equal: the first), with a warning. GPU Feature Discovery
 *        leaves that to chance.
 */
#include "agent/node/labels.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/limits.h"
#include "gpu/model.h"

#define OWN "nvidia.com/"
#define GPU OWN "gpu"
#define LABELS_MAX 1024

struct label_maker {
    struct arena *arena;
    const struct inventory_snapshot *snapshot;
    const struct driver_reading *reading;
    const struct agent_config *config;
    const struct resource_table *table;
    struct label_pair *labels;
    uint32_t n;
    struct buf *warnings;
};

/* A value is at most 63 characters and ends in a letter or digit, else the node update would be refused whole. */
static const char *label_value(struct arena *a, const char *text)
{
    size_t n = strlen(text);
    const char *start = text;
    while (n && strchr("-_.", *start)) {
        start++;
        n--;
    }
    n = n > LIMIT_LABEL ? LIMIT_LABEL : n;
    while (n && strchr("-_.", start[n - 1]))
        n--;
    return arena_text_n(a, start, n);
}

/* The last value of a name counts: as the parts of GPU Feature Discovery override each other. */
static void set(struct label_maker *m, const char *name, const char *value)
{
    value = label_value(m->arena, value);
    for (uint32_t i = 0; i < m->n; i++)
        if (text_equal(m->labels[i].name, name)) {
            m->labels[i].value = value;
            return;
        }
    if (m->n < LABELS_MAX)
        m->labels[m->n++] = (struct label_pair){name, value};
}

static void set_number(struct label_maker *m, const char *prefix, const char *suffix, uint64_t value)
{
    set(m, arena_printf(m->arena, "%s.%s", prefix, suffix), arena_printf(m->arena, "%llu", (unsigned long long)value));
}

static void set_under(struct label_maker *m, const char *prefix, const char *suffix, const char *value)
{
    set(m, arena_printf(m->arena, "%s.%s", prefix, suffix), value);
}

static const char *boolean(bool value)
{
    return value ? "true" : "false";
}

/* ---- the node ---- */

static void add_versions(struct label_maker *m)
{
    const char *full = m->reading->driver_version;
    char parts[3][24] = {"", "", ""};
    uint32_t cuda = m->reading->cuda_version, major = cuda / 1000, minor = cuda % 1000 / 10;
    if (sscanf(full, "%23[^.].%23[^.].%23s", parts[0], parts[1], parts[2]) >= 2) {
        set(m, OWN "cuda.driver.major", parts[0]);
        set(m, OWN "cuda.driver.minor", parts[1]);
        set(m, OWN "cuda.driver.rev", parts[2]);
        set(m, OWN "cuda.driver-version.major", parts[0]);
        set(m, OWN "cuda.driver-version.minor", parts[1]);
        set(m, OWN "cuda.driver-version.revision", parts[2]);
        set(m, OWN "cuda.driver-version.full", full);
    }
    set_number(m, OWN "cuda.runtime", "major", major);
    set_number(m, OWN "cuda.runtime", "minor", minor);
    set_number(m, OWN "cuda.runtime-version", "major", major);
    set_number(m, OWN "cuda.runtime-version", "minor", minor);
    set(m, OWN "cuda.runtime-version.full", arena_printf(m->arena, "%u.%u", major, minor));
}

static bool offers(const struct resource_table *t, enum sharing_kind kind)
{
    for (uint32_t i = 0; i < t->resources_n; i++)
        if (t->resources[i].sharing == kind)
            return true;
    return false;
}

/* true where MPS daemons have to run: sharing.mps is configured and, on nodes with MIG, takes effect. */
static bool mps_capable(const struct label_maker *m)
{
    bool configured = false, mig = false;
    for (uint32_t i = 0; i < m->config->mps.resources_n; i++)
        configured = configured || m->config->mps.resources[i].replicas > 1;
    for (uint32_t i = 0; i < m->reading->gpus_n; i++)
        mig = mig || m->reading->gpus[i].mig_on;
    return (configured && !mig) || offers(m->table, SHARING_MPS) || offers(m->table, SHARING_KETI);
}

static const char *mode_of(const struct driver_reading *r)
{
    uint32_t class = 0;
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        if (resource_gpu_skipped(&r->gpus[i]) || !r->gpus[i].pci_class) /* 0: lost before it could be asked */
            continue;
        if (class && r->gpus[i].pci_class != class)
            return "unknown";
        class = r->gpus[i].pci_class;
    }
    return class == 0x030000 ? "graphics" : class == 0x030200 ? "compute" : "unknown";
}

/* Without an identity of the cluster (all zero: NVSwitches of one machine) there is no fabric beyond the node. */
static bool attached(const struct driver_gpu *gpu)
{
    return gpu->fabric_state == 3 && gpu->fabric_cluster[strspn(gpu->fabric_cluster, "0-")] != '\0';
}

/* GPUs that are attached to a fabric must agree; others are not asked. */
static void add_clique(struct label_maker *m)
{
    const struct driver_gpu *first = NULL;
    for (uint32_t i = 0; i < m->reading->gpus_n; i++) {
        const struct driver_gpu *gpu = &m->reading->gpus[i];
        if (!attached(gpu) || resource_gpu_skipped(gpu))
            continue;
        if (first && (!text_equal(first->fabric_cluster, gpu->fabric_cluster) || first->fabric_clique != gpu->fabric_clique)) {
            if (m->warnings)
                buf_text(m->warnings, "GPUs of the node are in different fabric cliques: no label " GPU ".clique\n");
            return;
        }
        first = first ? first : gpu;
    }
    if (first)
        set(m, GPU ".clique", arena_printf(m->arena, "%s.%u", first->fabric_cluster, first->fabric_clique));
}

/* SOURCE GPU Feature Discovery: architectures by compute capability */
static const char *family_of(const struct driver_gpu *gpu)
{
    static const struct {
        uint8_t major, minor; /* from this minor on */
        const char *family;
    } families[] = {{13, 0, "rubin"},  {12, 0, "blackwell"}, {10, 0, "blackwell"}, {9, 0, "hopper"}, {8, 9, "ada-lovelace"},
                    {8, 0, "ampere"},  {7, 5, "turing"},     {7, 0, "volta"},      {6, 0, "pascal"}, {5, 0, "maxwell"},
                    {3, 0, "kepler"},  {2, 0, "fermi"},      {1, 0, "tesla"}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (gpu->compute_major == families[i].major && gpu->compute_minor >= families[i].minor)
            return families[i].family;
    return "undefined";
}

/* ---- resources ---- */

/* How the slots of a unit are shared. */
struct share { uint32_t replicas; const char *strategy; bool renamed; };

static struct share share_of(const struct label_maker *m, uint32_t unit)
{
    static const char *const strategies[] = {"none", "time-slicing", "mps", "mps"};
    struct share share = {1, "none", false};
    uint32_t slots_n = 0;
    for (uint32_t i = 0; i < m->table->resources_n; i++) {
        const struct resource *r = &m->table->resources[i];
        for (uint32_t k = 0; k < r->slots_n; k++)
            if (r->slots[k].unit == unit && r->slots[k].shared) {
                slots_n++;
                share = (struct share){slots_n, strategies[r->sharing], r->renamed};
            }
    }
    return share;
}

/* "<model>[-MIG-<profile>][-SHARED]". What is too long for a label is cut from the model: selectors look at the end. */
static const char *product_text(struct arena *a, const char *model, const char *profile, bool shared)
{
    const char *end = arena_printf(a, "%s%s%s", profile ? "-MIG-" : "", profile ? profile : "", shared ? "-SHARED" : "");
    int room = LIMIT_LABEL - (int)strlen(end);
    while (room > 0 && (int)strlen(model) > room && strchr("-_.", model[room - 1]))
        room--;
    return arena_printf(a, "%.*s%s", room > 0 ? room : 0, model, end);
}

static void add_resource(struct label_maker *m, const char *prefix, const struct driver_gpu *gpu, const char *profile, uint32_t count,
                         struct share share)
{
    const char *model = gpu_text_in_label(m->arena, gpu->name);
    set_under(m, prefix, "product", product_text(m->arena, model, profile, share.replicas > 1 && !share.renamed));
    set_number(m, prefix, "count", count);
    set_number(m, prefix, "replicas", share.replicas);
    set_under(m, prefix, "sharing-strategy", share.strategy);
}

static uint32_t count_model(const struct label_maker *m, const char *name, const struct driver_gpu **ret_whole)
{
    uint32_t n = 0;
    for (uint32_t i = m->reading->gpus_n; i-- > 0;) {
        const struct driver_gpu *gpu = &m->reading->gpus[i];
        if (!text_equal(gpu->name, name) || resource_gpu_skipped(gpu))
            continue;
        if (!gpu->mig_on)
            *ret_whole = gpu;
        n++;
    }
    return n;
}

/* The GPU that stands for the node: of its most frequent model, without MIG when there is one. */
static const struct driver_gpu *described(struct label_maker *m, uint32_t *ret_count)
{
    const struct driver_gpu *best = NULL;
    bool several = false;
    *ret_count = 0;
    for (uint32_t i = 0; i < m->reading->gpus_n; i++) {
        const struct driver_gpu *gpu = &m->reading->gpus[i], *whole = NULL;
        if (resource_gpu_skipped(gpu) || !*gpu->name)
            continue;
        uint32_t n = count_model(m, gpu->name, &whole);
        several = several || (best && !text_equal(best->name, gpu->name));
        if (n > *ret_count) {
            *ret_count = n;
            best = whole ? whole : gpu;
        }
    }
    if (several && m->warnings)
        buf_printf(m->warnings, "the node has several GPU models; its labels describe %s: give each model a resource with resources.gpus\n",
                   best->name);
    return best;
}

static uint32_t unit_of(const struct label_maker *m, const struct driver_gpu *gpu, const struct driver_mig *mig)
{
    for (uint32_t i = 0; i < m->snapshot->units_n; i++)
        if (m->snapshot->units[i].gpu == gpu && m->snapshot->units[i].mig == mig)
            return i;
    return UINT32_MAX;
}

static void add_gpu(struct label_maker *m)
{
    uint32_t count;
    const struct driver_gpu *gpu = described(m, &count);
    if (!gpu)
        return;
    struct share none = {0, "none", false};
    add_resource(m, GPU, gpu, NULL, count, gpu->mig_on ? none : share_of(m, unit_of(m, gpu, NULL)));
    if (gpu->memory_mib)
        set_number(m, GPU, "memory", gpu->memory_mib);
    if (gpu->compute_major) {
        set(m, GPU ".family", family_of(gpu));
        set_number(m, GPU, "compute.major", gpu->compute_major);
        set_number(m, GPU, "compute.minor", gpu->compute_minor);
    }
}

/* ---- MIG ---- */

static void add_mig(struct label_maker *m, const char *prefix, const struct driver_gpu *gpu, const struct driver_mig *mig, uint32_t count)
{
    const char *profile = gpu_text_in_label(m->arena, mig_profile_text(m->arena, mig->profile));
    add_resource(m, prefix, gpu, profile, count, share_of(m, unit_of(m, gpu, mig)));
    set_number(m, prefix, "memory", mig->memory_mib);
    set_number(m, prefix, "multiprocessors", mig->sm_n);
    set_number(m, prefix, "slices.gi", mig->gi_slices);
    set_number(m, prefix, "slices.ci", mig->ci_slices);
    set_number(m, prefix, "engines.copy", mig->copy_n);
    set_number(m, prefix, "engines.decoder", mig->decoder_n);
    set_number(m, prefix, "engines.encoder", mig->encoder_n);
    set_number(m, prefix, "engines.jpeg", mig->jpeg_n);
    set_number(m, prefix, "engines.ofa", mig->ofa_n);
}

static uint32_t count_profile(const struct label_maker *m, const char *profile)
{
    uint32_t n = 0;
    for (uint32_t g = 0; g < m->reading->gpus_n; g++)
        for (uint32_t i = 0; i < m->reading->gpus[g].migs_n; i++)
            n += text_equal(m->reading->gpus[g].migs[i].profile, profile);
    return n;
}

static void add_mixed(struct label_maker *m)
{
    const char *seen[64];
    uint32_t seen_n = 0;
    for (uint32_t g = 0; g < m->reading->gpus_n; g++)
        for (uint32_t i = 0; i < m->reading->gpus[g].migs_n; i++) {
            const struct driver_mig *mig = &m->reading->gpus[g].migs[i];
            bool known = seen_n == 64;
            for (uint32_t k = 0; k < seen_n && !known; k++)
                known = text_equal(seen[k], mig->profile);
            if (known)
                continue;
            seen[seen_n++] = mig->profile;
            add_mig(m, arena_printf(m->arena, OWN "mig-%s", mig_profile_text(m->arena, mig->profile)), &m->reading->gpus[g], mig,
                    count_profile(m, mig->profile));
        }
}

static void add_invalid(struct label_maker *m, const struct driver_gpu *gpu, const char *why)
{
    if (m->warnings)
        buf_printf(m->warnings, "flags.migStrategy single: %s: the labels say MIG-INVALID\n", why);
    set(m, GPU ".product", product_text(m->arena, gpu_text_in_label(m->arena, gpu->name), "INVALID", false));
    set(m, GPU ".count", "0");
    set(m, GPU ".replicas", "0");
    set(m, GPU ".sharing-strategy", "");
    set(m, GPU ".memory", "0");
}

static void add_single(struct label_maker *m)
{
    const struct driver_gpu *with = NULL, *first_gpu = NULL;
    const struct driver_mig *first = NULL;
    bool without = false, empty = false, several = false;
    for (uint32_t g = 0; g < m->reading->gpus_n; g++) {
        const struct driver_gpu *gpu = &m->reading->gpus[g];
        if (resource_gpu_skipped(gpu) || (gpu->lost && !gpu->migs_n)) /* what a lost GPU had is not known */
            continue;
        without = without || !gpu->mig_on;
        empty = empty || (gpu->mig_on && !gpu->migs_n);
        with = with || !gpu->mig_on ? with : gpu;
        for (uint32_t i = 0; i < gpu->migs_n; i++) {
            several = several || (first && !text_equal(first->profile, gpu->migs[i].profile));
            first_gpu = first ? first_gpu : gpu;
            first = first ? first : &gpu->migs[i];
        }
    }
    if (!with)
        return;
    if (empty || without || several)
        add_invalid(m, with,
                    empty     ? "a GPU has MIG on and no MIG device"
                    : without ? "some GPUs have MIG on, some have not"
                              : "the node has MIG devices of several kinds");
    else
        add_mig(m, GPU, first_gpu, first, count_profile(m, first->profile));
}

/* ---- all ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct label_pair *)a)->name, ((const struct label_pair *)b)->name);
}

static uint32_t gpus_of(const struct driver_reading *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; r && i < r->gpus_n; i++)
        n += !resource_gpu_skipped(&r->gpus[i]);
    return n;
}

static void add_device_labels(struct label_maker *m, const struct label_facts *facts)
{
    bool capable = false;
    for (uint32_t i = 0; i < m->reading->gpus_n; i++)
        capable = capable || (m->reading->gpus[i].mig_capable && !resource_gpu_skipped(&m->reading->gpus[i]));
    const char *machine = facts->machine_type && *facts->machine_type ? facts->machine_type : "unknown";
    set(m, GPU ".machine", gpu_text_in_label(m->arena, machine));
    add_versions(m);
    set(m, OWN "mig.capable", boolean(capable));
    set(m, OWN "mps.capable", boolean(mps_capable(m)));
    set(m, GPU ".mode", mode_of(m->reading));
    add_gpu(m);
    add_clique(m);
    if (m->config->mig_strategy == MIG_STRATEGY_NONE)
        return;
    set(m, OWN "mig.strategy", m->config->mig_strategy == MIG_STRATEGY_SINGLE ? "single" : "mixed");
    if (m->config->mig_strategy == MIG_STRATEGY_SINGLE)
        add_single(m);
    else
        add_mixed(m);
}

void labels_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct resource_table *t,
                 const struct label_facts *facts, struct label_pair **ret_labels, uint32_t *ret_n, struct buf *warnings)
{
    struct label_maker m = {.arena = a,
                            .snapshot = s,
                            .reading = s->reading,
                            .config = c,
                            .table = t,
                            .labels = arena_zero(a, LABELS_MAX, sizeof *m.labels),
                            .warnings = warnings};
    if (!c->gfd_no_timestamp)
        set(&m, OWN "gfd.timestamp", arena_printf(a, "%lld", (long long)facts->now_s));
    set(&m, GPU ".present", boolean(gpus_of(s->reading) > 0));
    set(&m, OWN "vgpu.present", boolean(facts->is_vgpu));
    if (facts->vgpu_driver_version)
        set(&m, OWN "vgpu.host-driver-version", facts->vgpu_driver_version);
    if (facts->vgpu_driver_branch)
        set(&m, OWN "vgpu.host-driver-branch", facts->vgpu_driver_branch);
    if (gpus_of(s->reading))
        add_device_labels(&m, facts);
    qsort(m.labels, m.n, sizeof *m.labels, by_name);
    *ret_labels = m.labels;
    *ret_n = m.n;
}

bool labels_owns(const char *name)
{
    static const char *const names[] = {
        GPU ".clique", GPU ".compute.major", GPU ".compute.minor", GPU ".count", GPU ".engines.copy", GPU ".engines.decoder",
        GPU ".engines.encoder", GPU ".engines.jpeg", GPU ".engines.ofa", GPU ".family", GPU ".machine", GPU ".memory", GPU ".mode",
        GPU ".multiprocessors", GPU ".present", GPU ".product", GPU ".replicas", GPU ".sharing-strategy", GPU ".slices.ci",
        GPU ".slices.gi", OWN "gfd.timestamp", OWN "mig.capable", OWN "mig.strategy", OWN "mps.capable"};
    static const char *const prefixes[] = {OWN "mig-", OWN "cuda.driver.", OWN "cuda.driver-version.", OWN "cuda.runtime.",
                                           OWN "cuda.runtime-version.", OWN "vgpu."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(names[i], name))
            return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts(name, prefixes[i]))
            return true;
    return false;
}

void labels_write_features(const struct label_pair *labels, uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, "%s=%s\n", labels[i].name, labels[i].value);
}
