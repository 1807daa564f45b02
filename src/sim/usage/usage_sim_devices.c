/* usage_sim_devices.c - what share of a GPU each device of a node is */
#include <stdio.h>
#include "base/arena.h"
#include "base/limits.h"
#include "core/device_list.h"
#include "gpu/model.h"
#include "sim/usage/usage_sim_part.h"

#define MIB 1048576.0
#define PRODUCT_LABEL "nvidia.com/gpu.product"
#define MIG_OF_PRODUCT "-MIG-" /* strategy single: the profile stands in the product label */
#define REPLICA_OF_PRODUCT "-SHARED"

/* The model whose name, written as labels write it, begins the product. */
static const struct gpu_model *model_of(const char *product)
{
    const struct gpu_model *best = NULL;
    size_t best_n = 0;
    for (uint32_t i = 0; i < gpu_models_n; i++) {
        const char *name = gpu_models[i].name;
        size_t n = 0;
        while (name[n] && product[n] && (name[n] == product[n] || (name[n] == ' ' && product[n] == '-')))
            n++;
        if (!name[n] && n > best_n) {
            best = &gpu_models[i];
            best_n = n;
        }
    }
    return best;
}

/* "1g.5gb" of a resource or product; "" when the device is no MIG device. */
static void profile_of(const char *resource, const char *product, const char *id, char out[64])
{
    const char *at = strstr(resource, "/mig-");
    at = at ? at + strlen("/mig-") : NULL;
    if (!at && text_starts(id, "MIG-") && (at = strstr(product, MIG_OF_PRODUCT)))
        at += strlen(MIG_OF_PRODUCT);
    (void)snprintf(out, 64, "%s", at ? at : "");
    char *end = strstr(out, REPLICA_OF_PRODUCT);
    end = end ? end : strstr(out, ".shared");
    if (end)
        *end = '\0';
}

/* Devices that share what this one is on: replicas of one MIG device, or all of one resource on one GPU. */
static const char *share_key(struct arena *a, const struct json *device, bool is_mig)
{
    const char *resource = json_get_text(device, "r", ""), *id = json_get_text(device, "id", "");
    const char *end = strstr(id, "::");
    if (is_mig)
        return arena_printf(a, "%s=%.*s", resource, (int)(end ? end - id : (long)strlen(id)), id);
    return arena_printf(a, "%s/%lld", resource, (long long)json_get_int64(device, "gpu", -1));
}

static void device_read(struct usage_device *d, const char *product, const char *profile, uint32_t sharers_n)
{
    const struct gpu_model *model = model_of(product);
    double share = 1, memory_mib = model ? model->memory_mib : 0;
    if (*profile) {
        const struct mig_profile *p = model ? mig_profile_find(model, profile) : NULL;
        int slices = p ? p->slices : profile[0] - '0';
        share = (double)slices / (model && model->mig_slices ? model->mig_slices : 7);
        memory_mib = p ? p->memory_mib : 0;
    }
    d->share = share < 0 || share > 1 ? 1.0 / sharers_n : share / sharers_n;
    d->memory_bytes = memory_mib * MIB / sharers_n;
    d->idle_w = model ? model->power_idle_mw / 1000.0 : 0;
    d->busy_w = model ? model->power_default_mw / 1000.0 : 0;
    (void)snprintf(d->kind, sizeof d->kind, "%s", *profile ? profile : product);
}

/* NULL: it has none. */
static const struct json *device_list_of(struct arena *a, const struct json *node, const char **ret_product)
{
    const struct json *metadata = json_get(node, "metadata");
    *ret_product = json_get_text(json_get(metadata, "labels"), PRODUCT_LABEL, "");
    const struct json *list = json_parse(a, bytes_of(json_get_text(json_get(metadata, "annotations"), DEVICES_ANNOTATION, "")), NULL, NULL);
    return json_is(list, JSON_ARRAY) && list->n > 0 && list->n <= LIMIT_DEVICES_PER_NODE ? list : NULL;
}

uint32_t usage_gpus_read(const struct json *node, char ret_model[64])
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *product;
    const struct json *list = device_list_of(a, node, &product);
    struct map *gpus = map_new(1); /* a set */
    JSON_EACH (item, list) {
        long long gpu = (long long)json_get_int64(item, "gpu", -1);
        (void)map_put(gpus, bytes_of(gpu < 0 ? json_get_text(item, "id", "") : arena_printf(a, "%lld", gpu)), NULL);
    }
    uint32_t n = (uint32_t)map_count(gpus);
    map_free(gpus);
    (void)snprintf(ret_model, 64, "%s", product);
    const char *const added[] = {MIG_OF_PRODUCT, REPLICA_OF_PRODUCT};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        char *end = strstr(ret_model, added[i]);
        if (end)
            *end = '\0';
    }
    return n;
}

struct map *usage_devices_read(const struct json *node)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *product;
    const struct json *list = device_list_of(a, node, &product);
    if (!list)
        return NULL;
    struct map *sharers = map_new(sizeof(uint32_t)), *devices = map_new(sizeof(struct usage_device));
    char profile[64];
    JSON_EACH (item, list) {
        profile_of(json_get_text(item, "r", ""), product, json_get_text(item, "id", ""), profile);
        ++*(uint32_t *)map_put(sharers, bytes_of(share_key(a, item, *profile)), NULL);
    }
    JSON_EACH (item, list) {
        const char *resource = json_get_text(item, "r", ""), *id = json_get_text(item, "id", "");
        profile_of(resource, product, id, profile);
        const uint32_t *n = map_find_text(sharers, share_key(a, item, *profile));
        device_read(map_put(devices, bytes_of(arena_printf(a, "%s=%s", resource, id)), NULL), product, profile, *n);
    }
    map_free(sharers);
    return devices;
}
