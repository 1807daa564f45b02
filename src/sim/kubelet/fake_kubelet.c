/* fake_kubelet.c - endpoints, devices and who has them; admission one step at a time */
#include "sim/kubelet/fake_kubelet.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/limits.h"
#include "net/grpc/grpc.h"
#include "sim/kubelet/container_answer.h"
#include "wire/protobuf.h"

#define PLUGIN "/v1beta1.DevicePlugin/"
#define CALL_MS 30000
#define ENDPOINTS_MAX 64

struct kubelet_device {
    char *id;
    bool healthy;
};
struct endpoint {
    struct fake_kubelet *kubelet;
    struct endpoint *next;
    char *resource, *socket;
    struct grpc_client *client;
    struct grpc_stream *registering; /* waits for the options; NULL: answered */
    uint64_t watch;
    bool prefers, pre_start;
    struct kubelet_device *devices;
    uint32_t devices_n;
    struct loop_timer *grace; /* runs after the stream has ended */
};
/* One (container, resource) that has its devices. */
struct grant {
    struct grant *next;
    char *ns, *pod, *uid, *container, *resource;
    char **ids;
    uint32_t ids_n;
    bool is_init;
    struct buf answers;
};
struct admission {
    struct fake_kubelet *kubelet;
    struct admission *next;
    char *ns, *pod, *uid;
    struct pod_devices *devices;
    fake_kubelet_fn fn;
    void *arg;
    uint32_t want_at;
    const struct endpoint *asked; /* whose answer is waited for */
    struct arena *arena;
    const char **available, **chosen;
    uint32_t available_n, chosen_n, must_n; /* chosen: the first must_n were left by init containers */
};
struct fake_kubelet {
    struct loop *loop;
    struct fake_kubelet_config config;
    char *plugin_dir;
    struct grpc_server *registration, *resources;
    struct endpoint *endpoints;
    struct grant *grants;
    struct admission *admissions; /* the first one is under way */
};

/* ---- endpoints ---- */

static struct endpoint *endpoint_find(const struct fake_kubelet *k, const char *resource)
{
    for (struct endpoint *x = k->endpoints; x; x = x->next)
        if (text_equal(x->resource, resource))
            return x;
    return NULL;
}

static void devices_free(struct endpoint *x)
{
    for (uint32_t i = 0; i < x->devices_n; i++)
        free(x->devices[i].id);
    free(x->devices);
    x->devices = NULL;
    x->devices_n = 0;
}

static void start_first(void *arg);

/* Answers that are waited for do not come any more: the question is asked again. */
static void endpoint_free(struct endpoint *x)
{
    struct admission *m = x->kubelet->admissions;
    if (m && m->asked == x) {
        m->asked = NULL;
        loop_defer(x->kubelet->loop, start_first, x->kubelet);
    }
    if (x->registering)
        grpc_fail(x->registering, GRPC_UNAVAILABLE, "registered again meanwhile");
    grpc_client_free(x->client);
    loop_timer_free(x->grace);
    devices_free(x);
    free(x->resource);
    free(x->socket);
    free(x);
}

static void endpoint_unlink(struct fake_kubelet *k, struct endpoint *gone)
{
    for (struct endpoint **at = &k->endpoints; *at; at = &(*at)->next)
        if (*at == gone) {
            *at = gone->next;
            return;
        }
}

static void on_grace_over(void *arg)
{
    struct endpoint *x = arg;
    struct fake_kubelet *k = x->kubelet;
    endpoint_unlink(k, x);
    endpoint_free(x);
    k->config.changed(k->config.arg);
}

static void stream_lost(struct endpoint *x)
{
    x->watch = 0;
    for (uint32_t i = 0; i < x->devices_n; i++)
        x->devices[i].healthy = false;
    loop_timer_start(x->grace, FAKE_KUBELET_GRACE_MS, 0);
    x->kubelet->config.changed(x->kubelet->config.arg);
}

static bool read_device(struct arena *a, struct bytes message, struct kubelet_device *ret_device)
{
    struct protobuf_reader r = protobuf_reader(message);
    const char *id = NULL, *health = "";
    int more;
    for (struct protobuf_field f; (more = protobuf_next(&r, &f)) > 0;) {
        if (f.number == 1 && f.type == 2)
            id = protobuf_arena_text(a, f.bytes);
        else if (f.number == 2 && f.type == 2)
            health = protobuf_arena_text(a, f.bytes);
    }
    if (more < 0 || !id || !*id)
        return false;
    *ret_device = (struct kubelet_device){mem_text(id), text_equal(health, "Healthy")};
    return true;
}

/* Every message is the whole list. LIMIT  as with kubelets that of a message alone. */
static void take_list(struct endpoint *x, struct bytes message)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct protobuf_reader r = protobuf_reader(message);
    uint32_t cap = 0;
    devices_free(x);
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) {
        struct kubelet_device d;
        if (f.number != 1 || f.type != 2 || !read_device(a, f.bytes, &d))
            continue;
        MEM_RESERVE(x->devices, cap, x->devices_n + 1);
        x->devices[x->devices_n++] = d;
    }
    x->kubelet->config.changed(x->kubelet->config.arg);
}

static void on_list(void *arg, bool ended, enum grpc_status status, struct bytes message)
{
    (void)status;
    if (ended)
        stream_lost(arg);
    else
        take_list(arg, message);
}

static void on_options(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct endpoint *x = arg;
    struct grpc_stream *s = x->registering;
    x->registering = NULL;
    if (status != GRPC_OK) {
        if (s)
            grpc_fail(s, GRPC_UNKNOWN, error_text);
        stream_lost(x);
        return;
    }
    struct protobuf_reader r = protobuf_reader(message);
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) {
        if (f.number == 1)
            x->pre_start = f.value;
        else if (f.number == 2)
            x->prefers = f.value;
    }
    if (s)
        grpc_reply(s, (struct bytes){"", 0});
    x->watch = grpc_watch(x->client, PLUGIN "ListAndWatch", (struct bytes){"", 0}, on_list, x);
}

static void endpoint_new(struct fake_kubelet *k, const char *resource, const char *socket_name, struct grpc_stream *s)
{
    struct endpoint *old = endpoint_find(k, resource), *x = mem_zero(1, sizeof *x);
    _cleanup_buf_ struct buf path = {0};
    if (old) { /* its devices are known until the new one has told */
        x->devices = old->devices;
        x->devices_n = old->devices_n;
        old->devices = NULL;
        old->devices_n = 0;
        endpoint_unlink(k, old);
        endpoint_free(old);
    }
    buf_printf(&path, "%s/%s", k->plugin_dir, socket_name);
    x->kubelet = k;
    x->resource = mem_text(resource);
    x->socket = mem_text(path.data);
    x->client = grpc_client_new(k->loop, path.data);
    x->grace = loop_timer_new(k->loop, on_grace_over, x);
    x->registering = s;
    x->next = k->endpoints;
    k->endpoints = x;
    grpc_call(x->client, PLUGIN "GetDevicePluginOptions", (struct bytes){"", 0}, CALL_MS, on_options, x);
}

static bool is_resource_name(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && slash > name && slash[1] && strlen(slash + 1) <= LIMIT_LABEL && strlen(name) <= LIMIT_NAME &&
           !text_starts(name, "kubernetes.io/") && !strchr(slash + 1, '/');
}

static void on_register(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct fake_kubelet *k = ctx;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *text[4] = {"", "", "", ""};
    struct protobuf_reader r = protobuf_reader(request);
    int more;
    for (struct protobuf_field f; (more = protobuf_next(&r, &f)) > 0;)
        if (f.number >= 1 && f.number <= 3 && f.type == 2) {
            const char *value = protobuf_arena_text(a, f.bytes);
            text[f.number] = value ? value : "";
        }
    uint32_t n = 0;
    for (struct endpoint *x = k->endpoints; x; x = x->next)
        n++;
    if (more < 0)
        grpc_fail(s, GRPC_INVALID_ARGUMENT, "malformed RegisterRequest");
    else if (!text_equal(text[1], "v1beta1"))
        grpc_fail(s, GRPC_UNKNOWN,
                  "requested API version is not supported by kubelet; supported version is [\"v1beta1\"]");
    else if (!is_resource_name(text[3]))
        grpc_fail(s, GRPC_UNKNOWN, "the ResourceName is invalid");
    else if (!*text[2] || strchr(text[2], '/') || n >= ENDPOINTS_MAX)
        grpc_fail(s, GRPC_UNKNOWN,
                  "the endpoint is not the name of a socket in the plugin directory, or there are too many");
    else
        endpoint_new(k, text[3], text[2], s);
}

static void on_register_closed(void *ctx, struct grpc_stream *s)
{
    struct fake_kubelet *k = ctx;
    for (struct endpoint *x = k->endpoints; x; x = x->next)
        if (x->registering == s)
            x->registering = NULL;
}

uint32_t fake_kubelet_amounts(const struct fake_kubelet *k, struct arena *a, struct fake_kubelet_amount **ret_amounts)
{
    uint32_t n = 0;
    struct fake_kubelet_amount *list = arena_alloc(a, ENDPOINTS_MAX * sizeof *list);
    for (const struct endpoint *x = k->endpoints; x; x = x->next) {
        struct fake_kubelet_amount one = {arena_text(a, x->resource), x->devices_n, 0};
        for (uint32_t i = 0; i < x->devices_n; i++)
            one.allocatable += x->devices[i].healthy;
        uint32_t at = n++;
        for (; at > 0 && strcmp(list[at - 1].resource, one.resource) > 0; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
    *ret_amounts = list;
    return n;
}

bool fake_kubelet_healthy(const struct fake_kubelet *k, const char *resource, const char *id)
{
    const struct endpoint *x = endpoint_find(k, resource);
    for (uint32_t i = 0; x && i < x->devices_n; i++)
        if (text_equal(x->devices[i].id, id))
            return x->devices[i].healthy;
    return false;
}

/* ---- grants ---- */

static void grant_free(struct grant *g)
{
    for (uint32_t i = 0; i < g->ids_n; i++)
        free(g->ids[i]);
    free(g->ids);
    free(g->ns);
    free(g->pod);
    free(g->uid);
    free(g->container);
    free(g->resource);
    buf_free(&g->answers);
    free(g);
}

static bool is_taken(const struct fake_kubelet *k, const char *resource, const char *id)
{
    for (const struct grant *g = k->grants; g; g = g->next)
        for (uint32_t i = 0; text_equal(g->resource, resource) && i < g->ids_n; i++)
            if (text_equal(g->ids[i], id))
                return true;
    return false;
}

/* At the end, so that podresources lists them in the order of admission. */
static struct grant *grant_add(struct fake_kubelet *k, const struct fake_kubelet_pod *pod, const struct pod_want *w,
                               const char *const *ids, uint32_t n)
{
    struct grant *g = mem_zero(1, sizeof *g), **at = &k->grants;
    *g = (struct grant){.ns = mem_text(pod->ns),
                        .pod = mem_text(pod->name),
                        .uid = mem_text(pod->uid),
                        .container = mem_text(w->container),
                        .resource = mem_text(w->resource),
                        .ids = mem_zero(n + 1, sizeof *g->ids),
                        .ids_n = n,
                        .is_init = w->is_init};
    for (uint32_t i = 0; i < n; i++)
        g->ids[i] = mem_text(ids[i]);
    while (*at)
        at = &(*at)->next;
    *at = g;
    return g;
}

static void grants_remove(struct fake_kubelet *k, const char *uid)
{
    for (struct grant **at = &k->grants; *at;) {
        struct grant *g = *at;
        if (text_equal(g->uid, uid)) {
            *at = g->next;
            grant_free(g);
        } else {
            at = &g->next;
        }
    }
}

void fake_kubelet_resume(struct fake_kubelet *k, const struct fake_kubelet_pod *pod, const struct pod_devices *devices)
{
    for (uint32_t i = 0; i < devices->wants_n; i++)
        if (devices->wants[i].slots)
            (void)grant_add(k, pod, &devices->wants[i], (const char *const *)devices->wants[i].slots,
                            devices->wants[i].n);
}

void fake_kubelet_answers(const struct fake_kubelet *k, const char *uid, const char *container, struct buf *out)
{
    for (const struct grant *g = k->grants; g; g = g->next)
        if (text_equal(g->uid, uid) && text_equal(g->container, container))
            buf_bytes(out, buf_view(&g->answers));
}

/* ---- admission ---- */

static void admission_next(struct admission *m);

static void admission_free(struct admission *m)
{
    arena_free(m->arena);
    free(m->ns);
    free(m->pod);
    free(m->uid);
    free(m);
}

static void start_first(void *arg)
{
    struct fake_kubelet *k = arg;
    if (k->admissions)
        admission_next(k->admissions);
}

/* The pod is in, or not; the next in line is looked at. */
static void admission_end(struct admission *m, int code, const char *text)
{
    struct fake_kubelet *k = m->kubelet;
    k->admissions = m->next;
    if (code < 0) {
        grants_remove(k, m->uid);
        for (uint32_t i = 0; m->devices && i < m->devices->wants_n; i++)
            pod_want_set(&m->devices->wants[i], NULL);
    }
    if (m->devices)
        m->fn(m->arg, m->uid, code, text);
    else
        grants_remove(k, m->uid); /* gone meanwhile */
    admission_free(m);
    loop_defer(k->loop, start_first, k);
}

static const struct pod_want *want_of(const struct admission *m)
{
    return &m->devices->wants[m->want_at];
}

static void keep_chosen(struct admission *m, struct bytes message)
{
    struct pod_want *w = &m->devices->wants[m->want_at];
    struct fake_kubelet_pod pod = {m->ns, m->pod, m->uid};
    struct grant *g = grant_add(m->kubelet, &pod, w, m->chosen, m->chosen_n);
    struct protobuf_reader r = protobuf_reader(message);
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;)
        if (f.number == 1 && f.type == 2) { /* only the first container's answer counts */
            container_answer_text(f.bytes, &g->answers);
            break;
        }
    pod_want_set(w, m->chosen);
}

static void on_prepared(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct admission *m = arg;
    m->asked = NULL;
    (void)message;
    if (status != GRPC_OK) {
        admission_end(m, -E_DENIED, error_text);
        return;
    }
    m->want_at++;
    admission_next(m);
}

static void on_allocated(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct admission *m = arg;
    m->asked = NULL;
    struct endpoint *x = m->devices ? endpoint_find(m->kubelet, want_of(m)->resource) : NULL;
    if (!m->devices || status != GRPC_OK || !x) {
        admission_end(m, -E_DENIED,
                      status != GRPC_OK
                          ? arena_printf(m->arena, "rpc error: code = %d desc = %s", (int)status, error_text)
                          : "the device plugin is gone");
        return;
    }
    keep_chosen(m, message);
    if (!x->pre_start) {
        m->want_at++;
        admission_next(m);
        return;
    }
    _cleanup_buf_ struct buf request = {0};
    for (uint32_t i = 0; i < m->chosen_n; i++)
        protobuf_text_always(&request, 1, m->chosen[i]);
    m->asked = x;
    grpc_call(x->client, PLUGIN "PreStartContainer", buf_view(&request), CALL_MS, on_prepared, m);
}

static void ask_allocate(struct admission *m, struct endpoint *x)
{
    _cleanup_buf_ struct buf request = {0};
    size_t mark = protobuf_begin(&request, 1);
    for (uint32_t i = 0; i < m->chosen_n; i++)
        protobuf_text_always(&request, 1, m->chosen[i]);
    protobuf_end(&request, mark);
    m->asked = x;
    grpc_call(x->client, PLUGIN "Allocate", buf_view(&request), 0, on_allocated, m);
}

static bool among(const char *const *list, uint32_t n, const char *id)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(list[i], id))
            return true;
    return false;
}

/* Take from `ids` what is free and not yet chosen, until there are enough. */
static void choose_from(struct admission *m, const char *const *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n && m->chosen_n < want_of(m)->n; i++)
        if (among(m->available, m->available_n, ids[i]) && !among(m->chosen, m->chosen_n, ids[i]))
            m->chosen[m->chosen_n++] = ids[i];
}

static void on_preferred(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct admission *m = arg;
    m->asked = NULL;
    struct endpoint *x = m->devices ? endpoint_find(m->kubelet, want_of(m)->resource) : NULL;
    if (!m->devices || status != GRPC_OK || !x) {
        admission_end(
            m, -E_DENIED,
            status != GRPC_OK
                ? arena_printf(m->arena, "device plugin GetPreferredAllocation rpc failed with err: %s", error_text)
                : "the device plugin is gone");
        return;
    }
    struct protobuf_reader r = protobuf_reader(message), inner;
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) {
        if (f.number != 1 || f.type != 2)
            continue;
        inner = protobuf_reader(f.bytes);
        for (struct protobuf_field id; protobuf_next(&inner, &id) > 0;) {
            const char *text = id.number == 1 && id.type == 2 ? protobuf_arena_text(m->arena, id.bytes) : NULL;
            if (text)
                choose_from(m, &text, 1);
        }
        break;
    }
    choose_from(m, m->available, m->available_n);
    ask_allocate(m, x);
}

static void ask_preferred(struct admission *m, struct endpoint *x)
{
    _cleanup_buf_ struct buf request = {0};
    size_t mark = protobuf_begin(&request, 1);
    for (uint32_t i = 0; i < m->available_n; i++)
        protobuf_text_always(&request, 1, m->available[i]);
    for (uint32_t i = 0; i < m->must_n; i++)
        protobuf_text_always(&request, 2, m->chosen[i]);
    protobuf_int(&request, 3, want_of(m)->n);
    protobuf_end(&request, mark);
    m->asked = x;
    grpc_call(x->client, PLUGIN "GetPreferredAllocation", buf_view(&request), 0, on_preferred, m);
}

/* Devices that init containers of this pod had are given on first. */
static void take_over(struct admission *m)
{
    const char **left;
    uint32_t left_n = pod_devices_left(m->devices, want_of(m), m->arena, &left);
    for (uint32_t i = 0; i < left_n && m->chosen_n < want_of(m)->n; i++)
        m->chosen[m->chosen_n++] = m->available[m->available_n++] = left[i];
    m->must_n = m->chosen_n;
}

static const char *no_room(struct admission *m, const struct endpoint *x)
{
    uint32_t healthy_n = 0;
    for (uint32_t i = 0; i < x->devices_n; i++)
        healthy_n += x->devices[i].healthy;
    if (healthy_n == 0)
        return arena_printf(m->arena, "no healthy devices present; cannot allocate unhealthy devices %s", x->resource);
    return arena_printf(m->arena, "requested number of devices unavailable for %s. Requested: %u, Available: %u",
                        x->resource, want_of(m)->n - m->must_n, m->available_n - m->must_n);
}

static void admission_next(struct admission *m)
{
    while (m->devices && m->want_at < m->devices->wants_n && !endpoint_find(m->kubelet, want_of(m)->resource))
        m->want_at++; /* not a resource of a device plugin here */
    if (!m->devices || m->want_at >= m->devices->wants_n) {
        admission_end(m, 0, "");
        return;
    }
    struct endpoint *x = endpoint_find(m->kubelet, want_of(m)->resource);
    m->available = arena_alloc(m->arena, (x->devices_n + want_of(m)->n + 1) * sizeof *m->available);
    m->chosen = arena_alloc(m->arena, (want_of(m)->n + 1) * sizeof *m->chosen);
    m->available_n = m->chosen_n = 0;
    for (uint32_t i = 0; i < x->devices_n; i++)
        if (x->devices[i].healthy && !is_taken(m->kubelet, x->resource, x->devices[i].id))
            m->available[m->available_n++] = arena_text(m->arena, x->devices[i].id);
    take_over(m);
    if (m->available_n < want_of(m)->n)
        admission_end(m, -E_DENIED, no_room(m, x));
    else if (x->prefers && m->must_n < want_of(m)->n)
        ask_preferred(m, x);
    else {
        choose_from(m, m->available, m->available_n);
        ask_allocate(m, x);
    }
}

void fake_kubelet_admit(struct fake_kubelet *k, const struct fake_kubelet_pod *pod, struct pod_devices *devices,
                        fake_kubelet_fn fn, void *arg)
{
    struct admission *m = mem_zero(1, sizeof *m), **at = &k->admissions;
    *m = (struct admission){.kubelet = k,
                            .ns = mem_text(pod->ns),
                            .pod = mem_text(pod->name),
                            .uid = mem_text(pod->uid),
                            .devices = devices,
                            .fn = fn,
                            .arg = arg,
                            .arena = arena_new()};
    bool first = !*at;
    while (*at)
        at = &(*at)->next;
    *at = m;
    devices->given = true;
    if (first)
        loop_defer(k->loop, start_first, k);
}

void fake_kubelet_remove(struct fake_kubelet *k, const char *uid)
{
    grants_remove(k, uid);
    for (struct admission *m = k->admissions; m; m = m->next)
        if (text_equal(m->uid, uid))
            m->devices = NULL; /* a call may be under way: it ends without them */
}

/* ---- podresources ---- */

/* SOURCE kubelets tell of containers and sidecars: what init containers alone had is not named, though it stays the pod's. */
static void add_pod(struct buf *out, const struct grant *first, uint32_t number)
{
    size_t pod = protobuf_begin(out, number);
    protobuf_text(out, 1, first->pod);
    protobuf_text(out, 2, first->ns);
    for (const struct grant *c = first; c; c = c->next) {
        bool new_container = text_equal(c->uid, first->uid) && !c->is_init;
        for (const struct grant *before = first; new_container && before != c; before = before->next)
            new_container = !(text_equal(before->uid, c->uid) && text_equal(before->container, c->container));
        if (!new_container)
            continue;
        size_t container = protobuf_begin(out, 3);
        protobuf_text(out, 1, c->container);
        for (const struct grant *g = c; g; g = g->next) {
            if (!text_equal(g->uid, c->uid) || !text_equal(g->container, c->container))
                continue;
            size_t devices = protobuf_begin(out, 2);
            protobuf_text(out, 1, g->resource);
            for (uint32_t i = 0; i < g->ids_n; i++)
                protobuf_text_always(out, 2, g->ids[i]);
            protobuf_end(out, devices);
        }
        protobuf_end(out, container);
    }
    protobuf_end(out, pod);
}

static bool is_first_of_pod(const struct fake_kubelet *k, const struct grant *g)
{
    for (const struct grant *before = k->grants; before != g; before = before->next)
        if (text_equal(before->uid, g->uid))
            return false;
    return true;
}

static void on_list_pods(void *ctx, struct grpc_stream *s, struct bytes request)
{
    (void)request;
    const struct fake_kubelet *k = ctx;
    _cleanup_buf_ struct buf out = {0};
    for (const struct grant *g = k->grants; g; g = g->next)
        if (is_first_of_pod(k, g))
            add_pod(&out, g, 1);
    grpc_reply(s, buf_view(&out));
}

static void on_get_pod(void *ctx, struct grpc_stream *s, struct bytes request)
{
    const struct fake_kubelet *k = ctx;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    const char *text[3] = {"", "", ""};
    struct protobuf_reader r = protobuf_reader(request);
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;)
        if (f.number >= 1 && f.number <= 2 && f.type == 2)
            text[f.number] = protobuf_arena_text(a, f.bytes);
    for (const struct grant *g = k->grants; g && out.n == 0; g = g->next)
        if (is_first_of_pod(k, g) && text_equal(g->pod, text[1]) && text_equal(g->ns, text[2]))
            add_pod(&out, g, 1);
    if (out.n)
        grpc_reply(s, buf_view(&out));
    else
        grpc_fail(s, GRPC_NOT_FOUND, "pod not found");
}

static void on_allocatable(void *ctx, struct grpc_stream *s, struct bytes request)
{
    (void)request;
    const struct fake_kubelet *k = ctx;
    _cleanup_buf_ struct buf out = {0};
    for (const struct endpoint *x = k->endpoints; x; x = x->next) {
        size_t devices = protobuf_begin(&out, 1);
        protobuf_text(&out, 1, x->resource);
        for (uint32_t i = 0; i < x->devices_n; i++)
            if (x->devices[i].healthy)
                protobuf_text_always(&out, 2, x->devices[i].id);
        protobuf_end(&out, devices);
    }
    grpc_reply(s, buf_view(&out));
}

/* ---- life ---- */

/* SOURCE kubelets remove every socket of the directory when they start. */
static void remove_sockets(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *x; d && (x = readdir(d));) {
        _cleanup_buf_ struct buf path = {0};
        struct stat st;
        buf_printf(&path, "%s/%s", dir, x->d_name);
        if (lstat(path.data, &st) == 0 && S_ISSOCK(st.st_mode))
            (void)unlink(path.data); /* listening says when it is still there */
    }
    if (d)
        (void)closedir(d); /* only read */
}

int fake_kubelet_new(struct loop *l, const struct fake_kubelet_config *config, struct fake_kubelet **ret_k,
                     struct err *e)
{
    static const struct grpc_handler registration[] = {
        {"/v1beta1.Registration/Register", on_register, on_register_closed}};
    static const struct grpc_handler resources[] = {
        {"/v1.PodResourcesLister/List", on_list_pods, NULL},
        {"/v1.PodResourcesLister/Get", on_get_pod, NULL},
        {"/v1.PodResourcesLister/GetAllocatableResources", on_allocatable, NULL}};
    struct fake_kubelet *k = mem_zero(1, sizeof *k);
    _cleanup_buf_ struct buf path = {0};
    k->loop = l;
    k->config = *config;
    k->plugin_dir = mem_text(config->plugin_dir);
    remove_sockets(k->plugin_dir);
    buf_printf(&path, "%s/kubelet.sock", k->plugin_dir);
    int r = grpc_server_new(l, config->pod_resources_socket, resources, 3, k, &k->resources, e);
    if (r == 0)
        r = grpc_server_new(l, path.data, registration, 1, k, &k->registration, e);
    if (r < 0) {
        fake_kubelet_free(k);
        return r;
    }
    *ret_k = k;
    return 0;
}

void fake_kubelet_free(struct fake_kubelet *k)
{
    if (!k)
        return;
    while (k->admissions) {
        struct admission *next = k->admissions->next;
        admission_free(k->admissions);
        k->admissions = next;
    }
    while (k->endpoints) {
        struct endpoint *next = k->endpoints->next;
        endpoint_free(k->endpoints);
        k->endpoints = next;
    }
    grpc_server_free(k->registration);
    grpc_server_free(k->resources);
    while (k->grants) {
        struct grant *next = k->grants->next;
        grant_free(k->grants);
        k->grants = next;
    }
    loop_forget(k->loop, start_first, k);
    free(k->plugin_dir);
    free(k);
}
