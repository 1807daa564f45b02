/* account_state.c - the state file: JSON, written beside and renamed, read with every doubt */
#include "exporter/account/account_parts.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/file_text.h"
#include "wire/json.h"

#define STATE_BYTES_MAX (4u << 20) /* LIMIT_ACCOUNT_PODS of half a KiB, twice */

#define POD_TEXTS(X) X(uid) X(queue) X(job) X(user) X(device_kind)
#define POD_NUMBERS(X)                                                                                                 \
    X(allocated_s)                                                                                                     \
    X(active_s)                                                                                                        \
    X(memory_byte_s)                                                                                                   \
    X(energy_j)                                                                                                        \
    X(no_process_s) X(idle_s) X(low_s) X(throttled_s) X(memory_high_bytes) X(memory_granted_bytes) X(first_s)          \
        X(last_s) X(last_active_s) X(began_s)
#define GPU_NUMBERS(X) X(energy_j) X(capacity_s) X(allocated_s) X(active_s)

/* ---- writing ---- */

static void set_number(struct arena *a, struct json *o, const char *key, double value)
{
    struct json *v = json_new(a, JSON_NUMBER);
    v->text = arena_printf(a, "%.17g", value);
    v->n = (uint32_t)strlen(v->text);
    json_set(a, o, key, v);
}

static void pod_write(struct arena *a, struct json *list, const struct account_pod *p)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set_text(a, o, "ns", p->ns);
    json_set_text(a, o, "pod", p->pod);
#define X(name) json_set_text(a, o, #name, p->name);
    POD_TEXTS(X)
#undef X
#define X(name) set_number(a, o, #name, p->name);
    POD_NUMBERS(X)
#undef X
    json_append(list, o);
}

static void gpu_write(struct arena *a, struct json *list, const struct account_gpu *g)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set_text(a, o, "uuid", g->uuid);
#define X(name) set_number(a, o, #name, g->name);
    GPU_NUMBERS(X)
#undef X
    struct json *reasons = json_ensure_object(a, o, "throttle_s");
    for (int t = 0; t < ACCOUNT_THROTTLES_N; t++)
        set_number(a, reasons, account_throttle_name(t), g->throttle_s[t]);
    json_append(list, o);
}

static void unit_write(struct arena *a, struct json *list, struct bytes uuid, const struct account_unit *u)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set_text(a, o, "uuid", arena_text_n(a, uuid.data, uuid.n));
    set_number(a, o, "last_active_s", u->last_active_s);
    set_number(a, o, "seen_s", u->seen_s);
    json_append(list, o);
}

static int write_file(const char *path, struct bytes text, struct err *e)
{
    _cleanup_buf_ struct buf temporary = {0};
    buf_printf(&temporary, "%s.new", path);
    _cleanup_close_ int fd = open(temporary.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "write %s", path);
    if (file_text_write(fd, text) == 0 && rename(temporary.data, path) == 0)
        return 0;
    int saved = errno;
    (void)unlink(temporary.data); /* a disk that is full needs the room */
    return err_errno(e, saved, "write %s", path);
}

int account_save(struct account *account, struct err *e)
{
    if (!account->state_path)
        return 0;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    struct json *root = json_new(a, JSON_OBJECT);
    json_set_int64(a, root, "format", 1);
    struct json *pods = json_ensure_array(a, root, "pods"), *gpus = json_ensure_array(a, root, "gpus"),
                *units = json_ensure_array(a, root, "units");
    const struct account_pod *const *pod_list;
    const struct account_gpu *const *gpu_list;
    uint32_t pods_n = account_pods(account, &pod_list), gpus_n = account_gpus(account, &gpu_list);
    for (uint32_t i = 0; i < pods_n; i++)
        pod_write(a, pods, pod_list[i]);
    for (uint32_t i = 0; i < gpus_n; i++)
        gpu_write(a, gpus, gpu_list[i]);
    size_t at = 0;
    struct bytes uuid;
    for (const struct account_unit *u; (u = map_next(account->units, &at, &uuid));)
        unit_write(a, units, uuid, u);
    json_write(&text, root);
    return write_file(account->state_path, buf_view(&text), e);
}

/* ---- reading: what is no finite number above zero is 0 ---- */

static double number(const struct json *o, const char *key)
{
    const struct json *v = json_get(o, key);
    double value = json_is(v, JSON_NUMBER) ? strtod(v->text, NULL) : 0;
    return isfinite(value) && value > 0 ? value : 0;
}

static void pod_read(struct account *a, const struct json *o)
{
    const char *ns = json_get_text(o, "ns", ""), *pod = json_get_text(o, "pod", "");
    struct account_pod *p = *ns && *pod ? account_pod_put(a, ns, pod) : NULL;
    if (!p)
        return;
#define X(name)                                                                                                        \
    free((char *)p->name);                                                                                             \
    p->name = mem_text(json_get_text(o, #name, ""));
    POD_TEXTS(X)
#undef X
#define X(name) p->name = number(o, #name);
    POD_NUMBERS(X)
#undef X
}

static void gpu_read(struct account *a, const struct json *o)
{
    const char *uuid = json_get_text(o, "uuid", "");
    if (!*uuid || strlen(uuid) >= sizeof((struct account_gpu *)0)->uuid || map_count(a->gpus) >= LIMIT_NODE_GPUS)
        return;
    struct account_gpu *g = account_gpu_put(a, uuid);
#define X(name) g->name = number(o, #name);
    GPU_NUMBERS(X)
#undef X
    g->capacity_stored_s = g->capacity_s; /* of a crash's last minute nobody knows whether it was; to say less is the safe side */
    for (int t = 0; t < ACCOUNT_THROTTLES_N; t++)
        g->throttle_s[t] = number(json_get(o, "throttle_s"), account_throttle_name(t));
}

static void unit_read(struct account *a, const struct json *o)
{
    const char *uuid = json_get_text(o, "uuid", "");
    if (!*uuid || map_count(a->units) >= LIMIT_ACCOUNT_UNITS)
        return;
    struct account_unit *u = map_put(a->units, bytes_of(uuid), NULL);
    *u = (struct account_unit){number(o, "last_active_s"), number(o, "seen_s")};
}

int account_state_read(struct account *account, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    int r = file_text_read(account->state_path, STATE_BYTES_MAX, &text, e);
    if (r == -E_NOTFOUND)
        return 0;
    if (r < 0)
        return r;
    const struct json *root = json_parse(a, buf_view(&text), NULL, e);
    if (!root)
        return err_wrap(e, "%s", account->state_path);
    if (json_get_int64(root, "format", 0) != 1)
        return err_set(e, E_INVALID, "%s: format %lld, 1 is known", account->state_path,
                       (long long)json_get_int64(root, "format", 0));
    JSON_EACH (o, json_get(root, "pods"))
        pod_read(account, o);
    JSON_EACH (o, json_get(root, "gpus"))
        gpu_read(account, o);
    JSON_EACH (o, json_get(root, "units"))
        unit_read(account, o);
    return 0;
}
