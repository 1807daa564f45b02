/* shape.c - node shapes: a GPU model or a few sizes, and what is changed of it */
#include "sim/node/shape.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/limits.h"
#include "base/memory.h"
#include "base/quantity.h"

#define GIB (1LL << 30)

/* Shapes that are no GPU model. */
#define CPU_SHAPE "cpu"

/* A GPU that nobody sells: what `gpus=8` without a product stands for, and the base of products that are not known here. */
static const struct gpu_model simulated_model = {.key = "custom",
                                                 .name = "NVIDIA Simulated",
                                                 .architecture = "hopper",
                                                 .nvml_architecture = 9,
                                                 .compute_major = 9,
                                                 .pci_device_id = 0x000010de,
                                                 .memory_mib = 81920,
                                                 .sm_n = 132,
                                                 .pcie_generation = 5,
                                                 .pcie_width = 16,
                                                 .node_gpus_n = 0,
                                                 .node_link_group_n = 8};

const char *node_shape_names(void)
{
    static char text[1024];
    if (!text[0])
        (void)snprintf(text, sizeof text, "%s, %s", gpu_model_keys(), CPU_SHAPE);
    return text;
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

/* "NVIDIA A100-SXM4-40GB" and the label's "NVIDIA-A100-SXM4-40GB" are the same product. */
static bool is_product(const char *name, const char *text)
{
    for (; *name && *text; name++, text++)
        if (*name != *text && !(*name == ' ' && *text == '-'))
            return false;
    return !*name && !*text;
}

static const struct gpu_model *model_of_product(const char *product)
{
    for (uint32_t i = 0; i < gpu_models_n; i++)
        if (is_product(gpu_models[i].name, product))
            return &gpu_models[i];
    return NULL;
}

/* A product that is not known, split: it gets the geometry of a model that has such a profile. */
static const struct gpu_model *model_with_profile(const char *profile)
{
    for (uint32_t i = 0; i < gpu_models_n; i++)
        if (mig_profile_find(&gpu_models[i], profile))
            return &gpu_models[i];
    return NULL;
}

static void set_model(struct node_shape *s, const struct gpu_model *m)
{
    s->model = m;
    s->gpus_n = m->node_gpus_n;
    s->cpu_n = m->node_cpu_n;
    s->memory_bytes = (int64_t)m->node_memory_gib * GIB;
}

static void set_product(struct node_shape *s, const char *product)
{
    const struct gpu_model *m = model_of_product(product);
    s->product_given = true;
    if (m)
        s->model = m; /* the sizes of the node stay as they were given */
}

void node_shape_model(const struct node_shape *s, struct gpu_model *ret_model)
{
    *ret_model = *s->model;
    if (s->product_given && !is_product(s->model->name, s->product))
        ret_model->name = s->product;
    if (s->gpu_memory_mib)
        ret_model->memory_mib = (uint32_t)s->gpu_memory_mib;
}

const char *node_shape_kind(const struct node_shape *s)
{
    if (s->mig_profile[0])
        return "-mig";
    return s->mps_shares ? "-mps" : s->replicas > 1 ? "-shared" : "";
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
    else if (text_equal(key, "mig") && copy_text(s->mig_profile, sizeof s->mig_profile, value))
        return 0;
    else if (text_equal(key, "product") && copy_text(s->product, sizeof s->product, value))
        set_product(s, value);
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
    const struct gpu_model *m = first ? gpu_model_find(part) : NULL;
    if (first && text_equal(part, CPU_SHAPE)) {
        s->cpu_n = 32;
        s->memory_bytes = 128 * GIB;
        return copy_text(s->name, sizeof s->name, part) ? 0 : -E_INVALID;
    }
    if (!first && strchr(part, ':'))
        return err_set(e, E_INVALID, "'%s' is another shape: give --nodes again for it, as --nodes %s", part, part);
    if (!m || !text_equal(m->key, part))
        return err_set(
            e, E_INVALID,
            "no node shape '%s': there are %s, or write one out: gpus=8,product=NVIDIA-B200,cpu=192,memory=2Ti", part,
            node_shape_names());
    set_model(s, m);
    return copy_text(s->name, sizeof s->name, m->key) ? 0 : -E_INVALID;
}

static int check_mig(struct node_shape *s, const struct mig_profile **ret_profile, struct err *e)
{
    const struct mig_profile *p = mig_profile_find(s->model, s->mig_profile);
    if (!p && s->model == &simulated_model && model_with_profile(s->mig_profile)) {
        s->model = model_with_profile(s->mig_profile);
        p = mig_profile_find(s->model, s->mig_profile);
    }
    if (!p) {
        _cleanup_buf_ struct buf names = {0};
        for (uint32_t i = 0; i < s->model->profiles_n; i++)
            buf_printf(&names, "%s%s", i ? ", " : "", s->model->profiles[i].name);
        return names.n
                   ? err_set(e, E_INVALID, "mig=%s: %s has the profiles %s", s->mig_profile, s->model->name, names.data)
                   : err_set(e, E_INVALID, "mig=%s: %s cannot be split by MIG", s->mig_profile, s->model->name);
    }
    *ret_profile = p;
    return 0;
}

static int check_devices(struct node_shape *s, struct err *e)
{
    const struct mig_profile *profile = NULL;
    int r = s->mig_profile[0] ? check_mig(s, &profile, e) : 0;
    if (r < 0)
        return r;
    int64_t per_gpu = s->mps_shares ? s->mps_shares : (profile ? profile->max_n : 1) * (int64_t)s->replicas;
    if (per_gpu * s->gpus_n > LIMIT_DEVICES_PER_NODE)
        return err_set(e, E_LIMIT, "%d GPUs x %lld parts are more than %d devices on one node", s->gpus_n,
                       (long long)per_gpu, LIMIT_DEVICES_PER_NODE);
    return 0;
}

int node_shape_parse(const char *text, int32_t *ret_nodes_n, struct node_shape *ret_shape, struct err *e)
{
    int64_t nodes_n = 1;
    char copy[SHAPE_TEXT_MAX];
    const char *colon = strchr(text, ':');
    if (colon) {
        if (!bytes_int64((struct bytes){text, (size_t)(colon - text)}, &nodes_n) || nodes_n < 1 || nodes_n > 100000)
            return err_set(e, E_INVALID, "'%s': before ':' stands how many nodes, 1 to 100000", text);
        text = colon + 1;
    }
    if (!copy_text(copy, sizeof copy, text))
        return err_set(e, E_INVALID, "empty or too long node shape; there are %s", node_shape_names());
    struct node_shape s = {
        .name = "custom", .model = &simulated_model, .cpu_n = 32, .memory_bytes = 256 * GIB, .replicas = 1};
    (void)copy_text(s.text, sizeof s.text, text); /* it fits: copy did */
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
