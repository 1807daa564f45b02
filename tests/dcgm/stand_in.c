/* stand_in.c - see stand_in.h
 *
 * SOURCE dcgm_agent.h: which call answers what
 */
#include "stand_in.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define X(pointer, name, parameters) __attribute__((visibility("default"))) name##_fn name;
DCGM_CALLS(X)
#undef X
__attribute__((visibility("default"))) struct dcgm_stand_in stand_in;

enum { HANDLE = 0x7001, EMBEDDED = 0x7002, FIELDS_MAX = 16 };
static bool is_started;
static uintptr_t open_handle;
static uint16_t lists[64][FIELDS_MAX];
static uint32_t list_ns[64], lists_n;
static bool is_watched[65536];

int dcgmInit(void)
{
    is_started = true;
    return DCGM_OK;
}

static void engine_forget(void)
{
    memset(is_watched, 0, sizeof is_watched);
    lists_n = 0;
}

int dcgmConnect_v2(const char *address, struct dcgm_connect *options, uintptr_t *ret_handle)
{
    if (!is_started)
        return DCGM_UNINITIALIZED;
    if (options->version != DCGM_CONNECT_VERSION)
        return DCGM_VER_MISMATCH;
    snprintf(stand_in.address, sizeof stand_in.address, "%s", address);
    stand_in.is_unix_socket = options->is_unix_socket;
    stand_in.connects_n++;
    if (stand_in.down)
        return DCGM_CONNECTION_NOT_VALID;
    stand_in.open_n++;
    *ret_handle = open_handle = HANDLE;
    return DCGM_OK;
}

int dcgmDisconnect(uintptr_t handle)
{
    if (handle != HANDLE)
        return DCGM_BADPARAM;
    stand_in.open_n--;
    open_handle = 0;
    engine_forget();
    return DCGM_OK;
}

int dcgmStartEmbedded(int operation, uintptr_t *ret_handle)
{
    if (operation != DCGM_OPERATION_AUTO || stand_in.no_embedded)
        return DCGM_INIT_ERROR;
    stand_in.embedded_n++;
    *ret_handle = open_handle = EMBEDDED;
    return DCGM_OK;
}

int dcgmStopEmbedded(uintptr_t handle)
{
    if (handle != EMBEDDED)
        return DCGM_BADPARAM;
    stand_in.embedded_n--;
    open_handle = 0;
    engine_forget();
    return DCGM_OK;
}

static int check(uintptr_t handle)
{
    if (handle == HANDLE && stand_in.down)
        return DCGM_CONNECTION_NOT_VALID;
    return handle && handle == open_handle ? DCGM_OK : DCGM_BADPARAM;
}

int dcgmGetEntityGroupEntities(uintptr_t handle, uint32_t kind, uint32_t *ret_ids, int *n, uint32_t flags)
{
    int code = check(handle);
    if (code != DCGM_OK || kind != DCGM_ENTITY_GPU || flags != 0 || *n < (int)stand_in.gpus_n)
        return code != DCGM_OK ? code : DCGM_BADPARAM;
    for (uint32_t i = 0; i < stand_in.gpus_n; i++)
        ret_ids[i] = 10 + i;
    *n = (int)stand_in.gpus_n;
    return DCGM_OK;
}

int dcgmGetGpuInstanceHierarchy(uintptr_t handle, struct dcgm_hierarchy *ret)
{
    int code = check(handle);
    if (code != DCGM_OK || ret->version != DCGM_HIERARCHY_VERSION)
        return code != DCGM_OK ? code : DCGM_VER_MISMATCH;
    for (uint32_t i = 0; i < stand_in.instances_n; i++)
        for (int k = 0; k < 2; k++) { /* the GPU instance, and its compute instance */
            struct dcgm_instance *to = &ret->list[ret->n++];
            *to =
                (struct dcgm_instance){.entity = {k ? DCGM_ENTITY_COMPUTE_INSTANCE : DCGM_ENTITY_GPU_INSTANCE, 100 + i},
                                       .parent = {DCGM_ENTITY_GPU, 10 + stand_in.instances[i].gpu},
                                       .gi = stand_in.instances[i].gi,
                                       .ci = k ? 0 : UINT32_MAX};
            memcpy(to->gpu_uuid, stand_in.gpus[stand_in.instances[i].gpu].uuid, sizeof stand_in.gpus[0].uuid);
        }
    return DCGM_OK;
}

int dcgmGroupCreate(uintptr_t handle, int type, const char *name, uintptr_t *ret_group)
{
    *ret_group = 5;
    return type == DCGM_GROUP_EMPTY && *name ? check(handle) : DCGM_BADPARAM;
}

int dcgmGroupAddEntity(uintptr_t handle, uintptr_t group, uint32_t kind, uint32_t id)
{
    bool known = kind == DCGM_ENTITY_GPU            ? id - 10 < stand_in.gpus_n
                 : kind == DCGM_ENTITY_GPU_INSTANCE ? id - 100 < stand_in.instances_n
                                                    : false;
    return group == 5 && known ? check(handle) : DCGM_BADPARAM;
}

int dcgmFieldGroupCreate(uintptr_t handle, int n, const uint16_t *fields, const char *name, uintptr_t *ret_fields)
{
    if (n < 1 || n > FIELDS_MAX || !*name || lists_n == sizeof lists / sizeof *lists)
        return DCGM_BADPARAM;
    memcpy(lists[lists_n], fields, (size_t)n * sizeof *fields);
    list_ns[lists_n] = (uint32_t)n;
    *ret_fields = ++lists_n;
    return check(handle);
}

int dcgmWatchFields(uintptr_t handle, uintptr_t group, uintptr_t fields, long long period_us, double keep_s, int keep_n)
{
    int code = check(handle);
    if (code != DCGM_OK || group != 5 || fields == 0 || fields > lists_n || keep_s <= 0 || keep_n <= 0)
        return code != DCGM_OK ? code : DCGM_BADPARAM;
    if (stand_in.one_by_one && list_ns[fields - 1] > 1)
        return DCGM_PROFILING_MULTI_PASS;
    for (uint32_t i = 0; i < list_ns[fields - 1]; i++)
        if (lists[fields - 1][i] == stand_in.unsupported)
            return DCGM_PROFILING_NOT_SUPPORTED;
    for (uint32_t i = 0; i < list_ns[fields - 1]; i++)
        is_watched[lists[fields - 1][i]] = true;
    stand_in.watches_n++;
    stand_in.period_us = period_us;
    return DCGM_OK;
}

static void value_fill(const struct dcgm_entity *entity, uint16_t field, uint32_t flags, struct dcgm_value *ret)
{
    bool is_gpu = entity->kind == DCGM_ENTITY_GPU;
    double graphics = is_gpu ? stand_in.number[entity->id - 10] : stand_in.instances[entity->id - 100].graphics;
    ret->version = stand_in.old_values ? DCGM_VERSION(4120, 1) : DCGM_VALUE_VERSION;
    ret->entity_kind = entity->kind;
    ret->entity_id = entity->id;
    ret->field = field;
    ret->time_us = stand_in.now_us - stand_in.age_us;
    if (field == DCGM_FIELD_UUID && is_gpu && flags == DCGM_FLAG_LIVE) {
        ret->type = DCGM_TYPE_TEXT;
        memcpy(ret->value.text, stand_in.gpus[entity->id - 10].uuid, sizeof stand_in.gpus[0].uuid);
    } else if (!is_watched[field]) {
        ret->status = DCGM_NOT_WATCHED;
    } else if (field >= 1009 && field <= 1012) {
        ret->type = DCGM_TYPE_INT64;
        ret->value.integer = field == stand_in.blank ? DCGM_BLANK_INT64 + 2 : (int64_t)(graphics * 1e6);
    } else {
        ret->type = DCGM_TYPE_DOUBLE;
        ret->value.number = field == stand_in.blank ? DCGM_BLANK_DOUBLE + 1 : graphics;
    }
}

int dcgmEntitiesGetLatestValues(uintptr_t handle, struct dcgm_entity *entities, uint32_t entities_n, uint16_t *fields,
                                uint32_t fields_n, uint32_t flags, struct dcgm_value *ret)
{
    atomic_fetch_add(&stand_in.reads_n, 1);
    while (atomic_load(&stand_in.hang))
        usleep(1000);
    int code = check(handle);
    for (uint32_t i = 0; code == DCGM_OK && i < entities_n; i++)
        for (uint32_t k = 0; k < fields_n; k++)
            value_fill(&entities[i], fields[k], flags, ret++);
    atomic_fetch_sub(&stand_in.reads_n, 1);
    return code;
}
