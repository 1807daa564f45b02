/* dcgm.c - library, connection, watch, values: each step is made when the one before holds
 *
 * WHY  Nothing is unloaded: the library has threads of its own. A connection ends with all its groups and watches (persist 0).
 * WHY  Other units or fields than before: a new connection. It happens when a GPU is cut or counters change, and leaves nothing to undo.
 */
#include "agent/driver/dcgm.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include "base/bytes.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "gpu/dcgm.h"

enum { RETRY_MS = 30 * 1000, CONNECT_MS = 2000 };

static const struct {
    uint16_t id;
    enum measure measure;
    bool is_ratio;
} fields[] = {{1001, MEASURE_GPM_GRAPHICS, true},
              {1002, MEASURE_GPM_SM, true},
              {1003, MEASURE_GPM_SM_OCCUPANCY, true},
              {1004, MEASURE_GPM_TENSOR, true},
              {1005, MEASURE_GPM_DRAM, true},
              {1006, MEASURE_GPM_FP64, true},
              {1007, MEASURE_GPM_FP32, true},
              {1008, MEASURE_GPM_FP16, true},
              {1009, MEASURE_GPM_PCIE_TX_BYTES, false},
              {1010, MEASURE_GPM_PCIE_RX_BYTES, false},
              {1011, MEASURE_GPM_NVLINK_TX_BYTES, false},
              {1012, MEASURE_GPM_NVLINK_RX_BYTES, false},
              {1013, MEASURE_GPM_TENSOR_IMMA, true},
              {1014, MEASURE_GPM_TENSOR_HMMA, true},
              {1015, MEASURE_GPM_TENSOR_DFMA, true},
              {1016, MEASURE_GPM_INTEGER, true}};
enum { FIELDS_N = sizeof fields / sizeof *fields };

bool dcgm_measures(enum measure m)
{
    int i = 0;
    while (i < FIELDS_N && fields[i].measure != m)
        i++;
    return i < FIELDS_N;
}

struct calls {
#define X(pointer, name, parameters) name##_fn *pointer;
    DCGM_CALLS(X)
#undef X
};
struct watched { /* a unit that was asked for */
    struct dcgm_unit unit;
    bool is_here; /* the engine knows it */
    struct dcgm_entity entity;
};
struct dcgm {
    atomic_uint refs;
    atomic_uint pauses_n; /* under way */
    pthread_mutex_t lock; /* everything below */
    char *path, *address;
    bool may_embed;
    int64_t retry_ms, next_try_ms, look_again_ms; /* look_again: for units that the engine did not know */
    struct err failed;                            /* why there is a next try */
    void *opened;
    struct calls calls;
    bool is_connected, is_embedded;
    uintptr_t handle;
    struct watched *watched;
    uint32_t watched_n;
    uint64_t wanted[(MEASURE_N + 63) / 64];
    int64_t period_ms;
    uint16_t ids[FIELDS_N]; /* of fields that are watched */
    uint32_t ids_n;
    int64_t made_us; /* when; with groups_n it makes names that no other agent gives in the engine */
    uint32_t groups_n;
    struct dcgm_answer *answer; /* of the read under way */
};

const char *dcgm_code_name(int code)
{
    switch (code) {
#define X(name, number)                                                                                                \
    case number:                                                                                                       \
        return #name;
        DCGM_CODES(X)
#undef X
    default:
        return NULL;
    }
}

/* True: it worked. Else it is counted. */
static bool ok(struct dcgm *d, const char *call, int code)
{
    struct dcgm_answer *a = d->answer;
    if (code != DCGM_OK)
        measure_error_add(a->errors, &a->errors_n, DCGM_ERRORS_MAX, (struct measure_error){call, code, 1});
    return code == DCGM_OK;
}

static int engine_error(const struct dcgm *d, int code, const char *what, struct err *e)
{
    const char *name = dcgm_code_name(code);
    return err_set(e, E_AGAIN, "the host engine at %s %s: %s (%d)", d->address, what, name ? name : "unknown code",
                   code);
}

/* The values of one entity. A library that fills another struct is not understood. */
static int latest(struct dcgm *d, struct dcgm_entity entity, uint16_t *ids, uint32_t n, uint32_t flags,
                  struct dcgm_value *list)
{
    memset(list, 0, n * sizeof *list);
    int code = d->calls.values(d->handle, &entity, 1, ids, n, flags, list);
    if (code == DCGM_OK && list[0].version != DCGM_VALUE_VERSION)
        code = DCGM_VER_MISMATCH;
    (void)ok(d, "dcgmEntitiesGetLatestValues", code);
    return code;
}

/* ---- library ---- */

static int library_open(struct dcgm *d, struct err *e)
{
    static const char *const names[] = {"libdcgm.so.4", "libdcgm.so.3"};
    void *handle = d->path ? dlopen(d->path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; !d->path && !handle && i < sizeof names / sizeof *names; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(e, E_NOTFOUND, "no library %s", d->path ? d->path : "libdcgm.so.4 or libdcgm.so.3");
#define X(pointer, name, parameters) *(void **)&d->calls.pointer = dlsym(handle, #name);
    DCGM_CALLS(X)
#undef X
#define X(pointer, name, parameters) &&d->calls.pointer
    if (!(true DCGM_CALLS(X))) {
#undef X
        (void)dlclose(handle);
        return err_set(e, E_INVALID, "%s lacks functions of libdcgm", d->path ? d->path : "libdcgm");
    }
    int code = d->calls.init();
    if (!ok(d, "dcgmInit", code)) {
        (void)dlclose(handle);
        return err_set(e, E_AGAIN, "libdcgm does not start (code %d)", code);
    }
    d->opened = handle;
    return 0;
}

/* ---- connection ---- */

static void disconnect(struct dcgm *d)
{
    if (d->is_connected)
        (void)(d->is_embedded ? d->calls.stop_embedded : d->calls.disconnect)(d->handle); /* it is given up anyway */
    d->is_connected = false;
    free(d->watched);
    d->watched = NULL;
    d->watched_n = 0;
}

static int connect_engine(struct dcgm *d, struct err *e)
{
    const char *address = d->address;
    struct dcgm_connect options = {.version = DCGM_CONNECT_VERSION, .timeout_ms = CONNECT_MS};
    if (text_starts(address, "unix:")) {
        options.is_unix_socket = 1;
        address += text_starts(address, "unix://") ? 7 : 5;
    }
    int code = d->calls.connect(address, &options, &d->handle);
    d->is_embedded = false;
    if (!ok(d, "dcgmConnect_v2", code) && d->may_embed) {
        d->is_embedded = true;
        code = d->calls.start_embedded(DCGM_OPERATION_AUTO, &d->handle);
        (void)ok(d, "dcgmStartEmbedded", code);
    }
    d->is_connected = code == DCGM_OK;
    return d->is_connected ? 0 : engine_error(d, code, "is not reached", e);
}

/* ---- which entities ---- */

static void found(struct dcgm *d, const char *uuid, uint32_t gi, struct dcgm_entity entity)
{
    for (uint32_t i = 0; i < d->watched_n; i++)
        if (d->watched[i].unit.gi == gi && text_equal(d->watched[i].unit.uuid, uuid)) {
            d->watched[i].entity = entity;
            d->watched[i].is_here = true;
        }
}

static void find_gpus(struct dcgm *d)
{
    uint32_t ids[DCGM_GPUS_MAX];
    int n = DCGM_GPUS_MAX;
    if (!ok(d, "dcgmGetEntityGroupEntities", d->calls.entities(d->handle, DCGM_ENTITY_GPU, ids, &n, 0)))
        return;
    struct dcgm_value *v = mem_alloc(sizeof *v);
    for (int i = 0; i < n && i < DCGM_GPUS_MAX; i++) {
        struct dcgm_entity entity = {DCGM_ENTITY_GPU, ids[i]};
        uint16_t field = DCGM_FIELD_UUID;
        if (latest(d, entity, &field, 1, DCGM_FLAG_LIVE, v) == DCGM_OK && v->status == DCGM_OK &&
            v->type == DCGM_TYPE_TEXT && memchr(v->value.text, 0, sizeof v->value.text))
            found(d, v->value.text, UINT32_MAX, entity);
    }
    free(v);
}

static void find_instances(struct dcgm *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->watched_n; i++)
        any = any || d->watched[i].unit.gi != UINT32_MAX;
    if (!any)
        return;
    struct dcgm_hierarchy *h = mem_zero(1, sizeof *h);
    h->version = DCGM_HIERARCHY_VERSION;
    if (ok(d, "dcgmGetGpuInstanceHierarchy", d->calls.hierarchy(d->handle, h)))
        for (uint32_t i = 0; i < h->n && i < DCGM_INSTANCES_MAX; i++)
            if (h->list[i].entity.kind == DCGM_ENTITY_GPU_INSTANCE &&
                memchr(h->list[i].gpu_uuid, 0, sizeof h->list[i].gpu_uuid))
                found(d, h->list[i].gpu_uuid, h->list[i].gi, h->list[i].entity);
    free(h);
}

/* ---- watch ---- */

static void group_name(struct dcgm *d, char name[64])
{
    (void)snprintf(name, 64, "capstan-%lld-%u", (long long)d->made_us, d->groups_n++);
}

static bool watch_fields(struct dcgm *d, uintptr_t group, const uint16_t *ids, uint32_t n)
{
    char name[64];
    uintptr_t list;
    group_name(d, name);
    return ok(d, "dcgmFieldGroupCreate", d->calls.fields_create(d->handle, (int)n, ids, name, &list)) &&
           ok(d, "dcgmWatchFields",
              d->calls.watch(d->handle, group, list, d->period_ms * 1000, 3 * (double)d->period_ms / 1000, 2));
}

/* All at once, else one by one: what a GPU does not have is left out. */
static int watch(struct dcgm *d, const struct dcgm_request *r, struct err *e)
{
    char name[64];
    uintptr_t group;
    uint32_t here_n = 0, n = 0;
    uint16_t ids[FIELDS_N];
    group_name(d, name);
    if (!ok(d, "dcgmGroupCreate", d->calls.group_create(d->handle, DCGM_GROUP_EMPTY, name, &group)))
        return err_set(e, E_AGAIN, "the host engine at %s makes no group", d->address);
    for (uint32_t i = 0; i < d->watched_n; i++) {
        struct watched *w = &d->watched[i];
        w->is_here = w->is_here &&
                     ok(d, "dcgmGroupAddEntity", d->calls.group_add(d->handle, group, w->entity.kind, w->entity.id));
        here_n += w->is_here;
    }
    d->look_again_ms =
        here_n < d->watched_n ? r->now_ms + d->retry_ms : INT64_MAX; /* the engine sees new instances late */
    if (here_n == 0)
        return err_set(e, E_AGAIN, "the host engine at %s knows none of the GPUs", d->address);
    for (int i = 0; i < FIELDS_N; i++)
        if (d->wanted[fields[i].measure / 64] >> (fields[i].measure % 64) & 1)
            ids[n++] = fields[i].id;
    d->ids_n = 0;
    bool all = watch_fields(d, group, ids, n);
    for (uint32_t i = 0; i < n; i++)
        if (all || watch_fields(d, group, &ids[i], 1))
            d->ids[d->ids_n++] = ids[i];
    return d->ids_n > 0 ? 0 : err_set(e, E_AGAIN, "the host engine at %s has no profiling of these GPUs", d->address);
}

static bool is_as_asked(const struct dcgm *d, const struct dcgm_request *r)
{
    bool same = d->watched_n == r->units_n && d->period_ms == r->period_ms &&
                memcmp(d->wanted, r->wanted, sizeof d->wanted) == 0;
    for (uint32_t i = 0; same && i < r->units_n; i++)
        same = d->watched[i].unit.gi == r->units[i].gi && text_equal(d->watched[i].unit.uuid, r->units[i].uuid);
    return same;
}

/* ---- values ---- */

static void value_put(struct measure_values *to, const struct dcgm_value *v, const struct dcgm_request *r)
{
    double value;
    int i = 0;
    while (i < FIELDS_N && fields[i].id != v->field)
        i++;
    if (i == FIELDS_N || v->status != DCGM_OK ||
        r->now_us - v->time_us > (3 * r->period_ms + 2000) * 1000) /* an engine that has stopped to look */
        return;
    if (v->type == DCGM_TYPE_DOUBLE && v->value.number < DCGM_BLANK_DOUBLE)
        value = v->value.number;
    else if (v->type == DCGM_TYPE_INT64 && v->value.integer < DCGM_BLANK_INT64)
        value = (double)v->value.integer;
    else
        return;
    if (value >= 0) /* not: NaN */
        measure_set(to, fields[i].measure, fields[i].is_ratio && value > 1 ? 1 : value);
}

/* Codes after which asking for another unit would only wait again. */
static bool is_engine_gone(int code)
{
    return code == DCGM_CONNECTION_NOT_VALID || code == DCGM_TIMEOUT || code == DCGM_UNINITIALIZED;
}

static int values_read(struct dcgm *d, const struct dcgm_request *r, struct err *e)
{
    struct dcgm_value *list = mem_alloc(d->ids_n * sizeof *list);
    int code = 0;
    uint32_t read_n = 0;
    for (uint32_t i = 0; i < d->watched_n && !is_engine_gone(code); i++) {
        struct watched *w = &d->watched[i];
        if (!w->is_here)
            continue;
        code = latest(d, w->entity, d->ids, d->ids_n, 0, list);
        read_n += code == DCGM_OK;
        for (uint32_t k = 0; code == DCGM_OK && k < d->ids_n; k++)
            value_put(&d->answer->values[i], &list[k], r);
    }
    free(list);
    return read_n > 0 && !is_engine_gone(code) ? 0 : engine_error(d, code, "does not answer", e);
}

/* ---- all of it ---- */

static int ready(struct dcgm *d, const struct dcgm_request *r, struct err *e)
{
    int code = d->opened ? 0 : library_open(d, e);
    if (code == 0)
        code = connect_engine(d, e);
    if (code < 0)
        return code;
    d->watched = mem_zero(r->units_n + 1, sizeof *d->watched);
    d->watched_n = r->units_n;
    for (uint32_t i = 0; i < r->units_n; i++)
        d->watched[i].unit = r->units[i];
    memcpy(d->wanted, r->wanted, sizeof d->wanted);
    d->period_ms = r->period_ms;
    d->made_us = r->now_us;
    find_gpus(d);
    find_instances(d);
    return watch(d, r, e);
}

/* The lock is held. */
static int read_locked(struct dcgm *d, const struct dcgm_request *r, struct err *e)
{
    int code = 0;
    if (d->is_connected && (!is_as_asked(d, r) || r->now_ms >= d->look_again_ms))
        disconnect(d);
    if (!d->is_connected && r->now_ms < d->next_try_ms) {
        code = -d->failed.code;
    } else {
        code = d->is_connected ? 0 : ready(d, r, &d->failed);
        if (code == 0)
            code = values_read(d, r, &d->failed);
        if (code < 0) {
            disconnect(d);
            d->next_try_ms = r->now_ms + d->retry_ms;
        }
    }
    if (code < 0 && e)
        *e = d->failed;
    return code;
}

/* RACE  a pause is counted before dcgm_close takes the lock: whichever of the two is first, there is no connection once both have had
 * it. */
int dcgm_read(struct dcgm *d, const struct dcgm_request *r, struct dcgm_answer *ret, struct err *e)
{
    int code = -E_CONFLICT;
    *ret = (struct dcgm_answer){.values = mem_zero(r->units_n + 1, sizeof *ret->values)};
    (void)pthread_mutex_lock(&d->lock);
    d->answer = ret;
    if (atomic_load(&d->pauses_n) == 0)
        code = read_locked(d, r, e);
    else
        err_set(e, E_CONFLICT, "somebody wants the GPUs without profiling");
    if (atomic_load(&d->pauses_n) > 0)
        disconnect(d);
    d->answer = NULL;
    (void)pthread_mutex_unlock(&d->lock);
    return code;
}

void dcgm_close(struct dcgm *d, int64_t wait_ms)
{
    if (!d || !mutex_lock_within(&d->lock, wait_ms))
        return; /* a call that does not return: what wants the GPUs will be told that they are in use */
    disconnect(d);
    (void)pthread_mutex_unlock(&d->lock);
}

void dcgm_pause(struct dcgm *d)
{
    if (d)
        atomic_fetch_add(&d->pauses_n, 1);
}

void dcgm_resume(struct dcgm *d)
{
    if (d)
        atomic_fetch_sub(&d->pauses_n, 1);
}

struct dcgm *dcgm_new(const struct dcgm_options *o)
{
    struct dcgm *d = mem_zero(1, sizeof *d);
    atomic_init(&d->refs, 1);
    (void)pthread_mutex_init(&d->lock, NULL);
    d->path = o->path ? mem_text(o->path) : NULL;
    d->address = mem_text(o->address && *o->address ? o->address : "localhost:5555");
    d->may_embed = o->embedded;
    d->retry_ms = o->retry_ms > 0 ? o->retry_ms : RETRY_MS;
    return d;
}

struct dcgm *dcgm_ref(struct dcgm *d)
{
    if (d)
        atomic_fetch_add(&d->refs, 1);
    return d;
}

void dcgm_unref(struct dcgm *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&d->lock);
    free(d->watched);
    free(d->path);
    free(d->address);
    free(d);
}
