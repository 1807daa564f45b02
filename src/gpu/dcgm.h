/* dcgm.h - the part of the C ABI of libdcgm.so.4 (and .so.3) that is used here, declared by us
 *
 * Two readers: agent/driver/dcgm.c (calls it through dlopen) and tests/dcgm/stand_in.c (is it). This part is the same in both versions.
 * SHAPE  LP64, natural alignment, sizes and offsets asserted below. Versioned structs carry DCGM_VERSION(size, number) in their first word.
 *        Entities: (kind, id); ids are the library's own, known by UUID and by the driver's number of a GPU instance.
 * UNIT   times are microseconds (values' of CLOCK_REALTIME), ages seconds, ratios 0..1, rates bytes a second.
 * SOURCE DCGM 4.6, its public headers (structs, fields, agent)
 */
#ifndef GPU_DCGM_H
#define GPU_DCGM_H
#include <stddef.h>
#include <stdint.h>

#define DCGM_VERSION(size, number) ((uint32_t)(size) | (uint32_t)(number) << 24)

/* Results, and their names on the agent's page. */
#define DCGM_CODES(X)                                                                                                            \
    X(OK, 0) X(BADPARAM, -1) X(GENERIC_ERROR, -3) X(MEMORY, -4) X(NOT_CONFIGURED, -5) X(NOT_SUPPORTED, -6) X(INIT_ERROR, -7)     \
    X(NVML_ERROR, -8) X(PENDING, -9) X(UNINITIALIZED, -10) X(TIMEOUT, -11) X(VER_MISMATCH, -12) X(UNKNOWN_FIELD, -13)            \
    X(NO_DATA, -14) X(STALE_DATA, -15) X(NOT_WATCHED, -16) X(NO_PERMISSION, -17) X(GPU_IS_LOST, -18) X(RESET_REQUIRED, -19)      \
    X(FUNCTION_NOT_FOUND, -20) X(CONNECTION_NOT_VALID, -21) X(GPU_NOT_SUPPORTED, -22) X(GROUP_INCOMPATIBLE, -23)                 \
    X(MAX_LIMIT, -24) X(LIBRARY_NOT_FOUND, -25) X(DUPLICATE_KEY, -26) X(REQUIRES_ROOT, -29) X(INSUFFICIENT_SIZE, -31)            \
    X(MODULE_NOT_LOADED, -33) X(IN_USE, -34) X(PROFILING_NOT_SUPPORTED, -36) X(PROFILING_LIBRARY_ERROR, -37)                     \
    X(PROFILING_MULTI_PASS, -38) X(PAUSED, -54) X(NVML_NOT_LOADED, -56) X(GPUS_DETACHED, -67)
enum dcgm_code {
#define X(name, number) DCGM_##name = number,
    DCGM_CODES(X)
#undef X
};

enum dcgm_entity_kind { DCGM_ENTITY_GPU = 1, DCGM_ENTITY_GPU_INSTANCE = 4, DCGM_ENTITY_COMPUTE_INSTANCE = 5 };
struct dcgm_entity { uint32_t kind, id; };

enum { DCGM_FIELD_UUID = 54 };
enum { DCGM_TYPE_DOUBLE = 'd', DCGM_TYPE_INT64 = 'i', DCGM_TYPE_TEXT = 's' };
/* From these on a number stands for "no value": not found, not supported, not permitted. */
#define DCGM_BLANK_INT64 INT64_C(0x7ffffffffffffff0)
#define DCGM_BLANK_DOUBLE 140737488355328.0

struct dcgm_value {
    uint32_t version;
    uint32_t entity_kind, entity_id;
    uint16_t field, type; /* type: a character of DCGM_TYPE_* */
    int32_t status;       /* enum dcgm_code */
    uint32_t unused;
    int64_t time_us;
    union {
        int64_t integer;
        double number;
        char text[256];
        char bytes[4096];
    } value;
};
#define DCGM_VALUE_VERSION DCGM_VERSION(sizeof(struct dcgm_value), 2)
enum { DCGM_FLAG_LIVE = 1 }; /* asks the driver; else the last value of a watch */

struct dcgm_connect {
    uint32_t version;
    uint32_t persist; /* 1: what this connection made outlives it */
    uint32_t timeout_ms, is_unix_socket;
};
#define DCGM_CONNECT_VERSION DCGM_VERSION(sizeof(struct dcgm_connect), 2)

enum { DCGM_GPUS_MAX = 32, DCGM_INSTANCES_MAX = DCGM_GPUS_MAX * 14 };
struct dcgm_instance { /* of both kinds */
    struct dcgm_entity entity, parent;
    char gpu_uuid[128];
    uint32_t gpu_index, gi, ci, profile, slices; /* 0xffffffff: has none */
};
struct dcgm_hierarchy {
    uint32_t version, n;
    struct dcgm_instance list[DCGM_INSTANCES_MAX];
};
#define DCGM_HIERARCHY_VERSION DCGM_VERSION(sizeof(struct dcgm_hierarchy), 2)

enum { DCGM_GROUP_EMPTY = 1, DCGM_OPERATION_AUTO = 1 };

/* X(pointer, name, parameters): all return enum dcgm_code. Handles are numbers as large as a pointer. */
#define DCGM_CALLS(X)                                                                                                            \
    X(init, dcgmInit, (void))                                                                                                    \
    X(connect, dcgmConnect_v2, (const char *address, struct dcgm_connect *options, uintptr_t *ret_handle))                       \
    X(disconnect, dcgmDisconnect, (uintptr_t handle))                                                                            \
    X(start_embedded, dcgmStartEmbedded, (int operation, uintptr_t *ret_handle))                                                 \
    X(stop_embedded, dcgmStopEmbedded, (uintptr_t handle))                                                                       \
    X(entities, dcgmGetEntityGroupEntities, (uintptr_t handle, uint32_t kind, uint32_t *ret_ids, int *n, uint32_t flags))        \
    X(hierarchy, dcgmGetGpuInstanceHierarchy, (uintptr_t handle, struct dcgm_hierarchy *ret))                                    \
    X(group_create, dcgmGroupCreate, (uintptr_t handle, int type, const char *name, uintptr_t *ret_group))                       \
    X(group_add, dcgmGroupAddEntity, (uintptr_t handle, uintptr_t group, uint32_t kind, uint32_t id))                            \
    X(fields_create, dcgmFieldGroupCreate,                                                                                       \
      (uintptr_t handle, int n, const uint16_t *fields, const char *name, uintptr_t *ret_fields))                                \
    X(watch, dcgmWatchFields,                                                                                                    \
      (uintptr_t handle, uintptr_t group, uintptr_t fields, long long period_us, double keep_s, int keep_n))                     \
    X(values, dcgmEntitiesGetLatestValues,                                                                                       \
      (uintptr_t handle, struct dcgm_entity *entities, uint32_t entities_n, uint16_t *fields, uint32_t fields_n, uint32_t flags, \
       struct dcgm_value *ret))
#define X(pointer, name, parameters) typedef int name##_fn parameters;
DCGM_CALLS(X)
#undef X

#define DCGM_AT(tag, field, offset) _Static_assert(offsetof(struct tag, field) == (offset), #tag "." #field " is elsewhere")
#define DCGM_SIZE(tag, size) _Static_assert(sizeof(struct tag) == (size), #tag " has another size")
DCGM_SIZE(dcgm_value, 4128);
DCGM_AT(dcgm_value, entity_id, 8);
DCGM_AT(dcgm_value, field, 12);
DCGM_AT(dcgm_value, status, 16);
DCGM_AT(dcgm_value, time_us, 24);
DCGM_AT(dcgm_value, value, 32);
DCGM_SIZE(dcgm_connect, 16);
DCGM_SIZE(dcgm_instance, 164);
DCGM_AT(dcgm_instance, gpu_uuid, 16);
DCGM_AT(dcgm_instance, gi, 148);
DCGM_SIZE(dcgm_hierarchy, 73480);
_Static_assert(DCGM_VALUE_VERSION == 0x02001020 && DCGM_CONNECT_VERSION == 0x02000010 && DCGM_HIERARCHY_VERSION == 0x02011f08,
               "version words as the library expects them");

#endif
