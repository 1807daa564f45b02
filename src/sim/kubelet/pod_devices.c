/* pod_devices.c - see pod_devices.h */
#include "sim/kubelet/pod_devices.h"
#include <stdlib.h>
#include "base/limits.h"
#include "base/quantity.h"
#include "core/device_list.h"
#include "core/flow.h"

#define WANTS_MAX 64

/* Extended resources have a domain that is not Kubernetes' own. */
static bool is_extended(const char *resource)
{
    return strchr(resource, '/') && !text_starts(resource, "kubernetes.io/") && !strstr(resource, ".kubernetes.io/");
}

/* How many devices; 0: this amount asks for none. */
static uint32_t devices_of(const struct json *amount)
{
    struct quantity q;
    if (!is_extended(amount->key) || quantity_parse(json_bytes(amount), &q, NULL) < 0)
        return 0;
    int64_t n = quantity_whole(q);
    return n > 0 && n <= LIMIT_DEVICES_PER_NODE ? (uint32_t)n : 0;
}

static const struct json *amounts_of(const struct json *container)
{
    const struct json *limits = json_path(container, "resources", "limits", NULL);
    return limits ? limits : json_path(container, "resources", "requests", NULL);
}

/* One pass measures (p NULL), the next fills in. */
struct reading {
    struct pod_devices *p;
    char *texts;
    size_t texts_n;
    uint32_t wants_n;
};

static const char *keep(struct reading *r, const char *text)
{
    size_t n = strlen(text) + 1;
    char *to = r->p ? memcpy(r->texts + r->texts_n, text, n) : NULL;
    r->texts_n += n;
    return to;
}

static void read_containers(struct reading *r, const struct json *containers, bool first_ones)
{
    JSON_EACH (container, containers) {
        bool is_init = first_ones && !text_equal(json_get_text(container, "restartPolicy", ""), "Always");
        JSON_EACH (amount, amounts_of(container)) {
            uint32_t n = devices_of(amount);
            if (!n || r->wants_n == WANTS_MAX)
                continue;
            const char *name = keep(r, json_get_text(container, "name", "")), *resource = keep(r, amount->key);
            if (r->p)
                r->p->wants[r->wants_n] = (struct pod_want){name, resource, NULL, n, is_init};
            r->wants_n++;
        }
    }
}

static void read_pod(struct reading *r, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    r->texts_n = r->wants_n = 0;
    read_containers(r, json_get(spec, "initContainers"), true);
    read_containers(r, json_get(spec, "containers"), false);
    const char *chosen = keep(r, json_text(json_path(pod, "metadata", "annotations", DEVICES_ANNOTATION, NULL), ""));
    if (r->p) {
        r->p->wants_n = r->wants_n;
        r->p->chosen = chosen;
    }
}

struct pod_devices *pod_devices_read(const struct json *pod)
{
    struct reading r = {0};
    read_pod(&r, pod);
    if (!r.wants_n)
        return NULL;
    size_t wants_bytes = sizeof *r.p + r.wants_n * sizeof *r.p->wants;
    r.p = mem_zero(1, wants_bytes + r.texts_n);
    r.texts = (char *)r.p + wants_bytes;
    read_pod(&r, pod);
    return r.p;
}

void pod_want_set(struct pod_want *w, const char *const *slots)
{
    size_t bytes = w->n * sizeof *w->slots;
    free(w->slots);
    w->slots = NULL;
    if (!slots)
        return;
    for (uint32_t i = 0; i < w->n; i++)
        bytes += strlen(slots[i]) + 1;
    w->slots = mem_alloc(bytes);
    char *at = (char *)(w->slots + w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        size_t n = strlen(slots[i]) + 1;
        w->slots[i] = memcpy(at, slots[i], n);
        at += n;
    }
}

void pod_devices_free(struct pod_devices *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->wants_n; i++)
        free(p->wants[i].slots);
    free(p);
}

/* The ids that the text lists under this resource. */
static uint32_t chosen_of(struct arena *a, const char *text, const char *resource, const char ***ret_ids)
{
    const char **ids = arena_alloc(a, LIMIT_DEVICES_PER_NODE * sizeof *ids);
    struct device_list l = {.rest = bytes_of(text)};
    uint32_t n = 0;
    while (n < LIMIT_DEVICES_PER_NODE && device_list_next(&l))
        if (bytes_is(l.resource, resource))
            ids[n++] = arena_text_n(a, l.id.data, l.id.n);
    *ret_ids = ids;
    return n;
}

static bool among(const char *const *list, uint32_t n, const char *slot)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(list[i], slot))
            return true;
    return false;
}

static bool want_has(const struct pod_want *w, const char *slot)
{
    return w->slots && among((const char *const *)w->slots, w->n, slot);
}

/* SOURCE devicesToReuse of the kubelet's device manager. */
uint32_t pod_devices_left(const struct pod_devices *p, const struct pod_want *w, struct arena *a, const char ***ret_slots)
{
    uint32_t most = 0, n = 0;
    for (const struct pod_want *before = p->wants; before < w; before++)
        most += before->n;
    const char **left = *ret_slots = arena_alloc(a, (most + 1) * sizeof *left);
    for (const struct pod_want *before = p->wants; before < w; before++) {
        if (!before->slots || !text_equal(before->resource, w->resource))
            continue;
        uint32_t kept_n = 0;
        for (uint32_t i = 0; i < n; i++)
            if (before->is_init || !want_has(before, left[i]))
                left[kept_n++] = left[i];
        n = kept_n;
        for (uint32_t i = 0; before->is_init && i < before->n; i++)
            if (!among(left, n, before->slots[i]))
                left[n++] = before->slots[i];
    }
    return n;
}

/* Containers before `w` have it; `resumed`: or one after it that runs. */
static bool is_had(const struct pod_devices *p, const struct pod_want *w, bool resumed, const char *slot)
{
    for (uint32_t i = 0; i < p->wants_n; i++) {
        const struct pod_want *other = &p->wants[i];
        if ((other < w || (resumed && !w->is_init && !other->is_init)) && text_equal(other->resource, w->resource) &&
            want_has(other, slot))
            return true;
    }
    return false;
}

/* Of the chosen ids the first `most` that nobody has. */
static uint32_t chosen_next(struct arena *a, const struct pod_devices *p, const struct pod_want *w, uint32_t most,
                            bool resumed, const char ***ret_ids)
{
    const char **ids;
    uint32_t ids_n = chosen_of(a, p->chosen, w->resource, &ids), n = 0;
    for (uint32_t i = 0; i < ids_n && n < most; i++)
        if (!is_had(p, w, resumed, ids[i]) && !among(ids, n, ids[i]))
            ids[n++] = ids[i];
    *ret_ids = ids;
    return n;
}

struct admission {
    struct pod_devices *pod;
    struct agent *devices;
    const struct node_pod *who;
    struct arena *arena;
};

/* A scheduler saw devices there, which have gone since by another layout: as of a plugin that has none any more. Shares no plugin has. */
static bool has_gone(const struct admission *m, const char *resource)
{
    const char **chosen;
    return !text_starts(resource, GPU_SHARE_PREFIX) && chosen_of(m->arena, m->pod->chosen, resource, &chosen) > 0;
}

/* What init containers left is given on first; the rest comes from the node. */
static int admit_want(struct admission *m, struct pod_want *w, struct err *e)
{
    const char **left, **chosen, **more = NULL, **slots = arena_alloc(m->arena, w->n * sizeof *slots);
    uint32_t left_n = pod_devices_left(m->pod, w, m->arena, &left), n = left_n < w->n ? left_n : w->n;
    memcpy(slots, left, n * sizeof *slots);
    if (n < w->n) {
        uint32_t chosen_n = chosen_next(m->arena, m->pod, w, w->n - n, false, &chosen);
        int r = device_manager_take(m->devices, m->who, w->resource, w->n - n, chosen, chosen_n, m->arena, &more, e);
        if (r == -E_NOTFOUND && has_gone(m, w->resource))
            return err_set(e, E_DENIED, "no healthy devices present; cannot allocate unhealthy devices %s", w->resource);
        if (r == -E_NOTFOUND)
            return 0;
        if (r < 0)
            return r;
        m->pod->differs |= r == 0 || (chosen_n == 0 && chosen_of(m->arena, m->pod->chosen, w->resource, &chosen) > 0);
        memcpy(slots + n, more, (w->n - n) * sizeof *slots);
    }
    pod_want_set(w, slots);
    return device_manager_allows(m->devices, w->resource, w->n, e);
}

int pod_devices_admit(struct pod_devices *p, struct agent *d, const struct node_pod *who, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct admission m = {p, d, who, a};
    p->given = true;
    for (uint32_t i = 0; d && i < p->wants_n; i++) {
        int r = admit_want(&m, &p->wants[i], e);
        if (r < 0) {
            device_manager_release(d, who);
            for (uint32_t k = 0; k < p->wants_n; k++)
                pod_want_set(&p->wants[k], NULL);
            return r;
        }
    }
    return 0;
}

static bool resume_from(struct arena *a, struct pod_want *w, const struct json *statuses)
{
    JSON_EACH (status, statuses) {
        if (!text_equal(json_get_text(status, "name", ""), w->container))
            continue;
        JSON_EACH (item, json_get(status, "allocatedResourcesStatus")) {
            if (!text_equal(json_get_text(item, "name", ""), w->resource) || json_get(item, "resources") == NULL)
                continue;
            const char **slots = arena_alloc(a, w->n * sizeof *slots);
            uint32_t n = 0;
            JSON_EACH (one, json_get(item, "resources"))
                if (n < w->n)
                    slots[n++] = json_get_text(one, "resourceID", "");
            if (n == w->n)
                pod_want_set(w, slots);
            return n == w->n;
        }
    }
    return false;
}

/* As it was given: the annotation has all of them, in the order of the containers. */
static void resume_from_chosen(struct arena *a, const struct pod_devices *p, struct pod_want *w)
{
    const char **left, **chosen, **slots = arena_alloc(a, w->n * sizeof *slots);
    uint32_t left_n = pod_devices_left(p, w, a, &left), n = left_n < w->n ? left_n : w->n;
    memcpy(slots, left, n * sizeof *slots);
    uint32_t chosen_n = chosen_next(a, p, w, w->n - n, true, &chosen);
    memcpy(slots + n, chosen, chosen_n * sizeof *slots);
    if (n + chosen_n == w->n)
        pod_want_set(w, slots);
}

void pod_devices_resume(struct pod_devices *p, struct agent *d, const struct node_pod *who, const struct json *pod)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *status = json_get(pod, "status");
    p->given = true;
    for (uint32_t i = 0; i < p->wants_n; i++) {
        struct pod_want *w = &p->wants[i];
        if (!w->slots && !resume_from(a, w, json_get(status, "containerStatuses")))
            (void)resume_from(a, w, json_get(status, "initContainerStatuses")); /* else from what was chosen */
    }
    for (uint32_t i = 0; i < p->wants_n; i++) {
        struct pod_want *w = &p->wants[i];
        if (!w->slots)
            resume_from_chosen(a, p, w);
        if (w->slots && d)
            device_manager_hold(d, who, w->resource, (const char *const *)w->slots, w->n);
    }
}

/* Is this want the first of the pod that has the slot? Init containers and those after them have some in common. */
static bool is_first(const struct pod_devices *p, const struct pod_want *w, const char *slot)
{
    for (const struct pod_want *before = p->wants; before < w; before++)
        if (text_equal(before->resource, w->resource) && want_has(before, slot))
            return false;
    return true;
}

static bool is_first_of_resource(const struct pod_devices *p, const struct pod_want *w)
{
    for (const struct pod_want *before = p->wants; before < w; before++)
        if (before->slots && text_equal(before->resource, w->resource))
            return false;
    return true;
}

void pod_devices_text(const struct pod_devices *p, struct buf *out)
{
    const struct pod_want *end = p->wants + p->wants_n;
    const char *last = NULL;
    for (const struct pod_want *first = p->wants; first < end; first++) {
        if (!first->slots || !is_first_of_resource(p, first))
            continue;
        for (const struct pod_want *w = first; w < end; w++)
            for (uint32_t i = 0; w->slots && text_equal(w->resource, first->resource) && i < w->n; i++)
                if (is_first(p, w, w->slots[i])) {
                    device_list_add(out, last, first->resource, w->slots[i]);
                    last = first->resource;
                }
    }
}

struct json *pod_devices_status(struct arena *a, const struct pod_devices *p, const char *container,
                                struct device_health health)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < p->wants_n; i++) {
        const struct pod_want *w = &p->wants[i];
        if (!w->slots || w->is_init || !text_equal(w->container, container))
            continue;
        struct json *item = json_new(a, JSON_OBJECT);
        json_set_text(a, item, "name", w->resource);
        for (uint32_t k = 0; k < w->n; k++) {
            struct json *one = json_new(a, JSON_OBJECT);
            json_set_text(a, one, "resourceID", w->slots[k]);
            json_set_text(a, one, "health",
                          !health.is                                        ? "Unknown"
                          : health.is(health.ctx, w->resource, w->slots[k]) ? "Healthy"
                                                                            : "Unhealthy");
            json_append(json_ensure_array(a, item, "resources"), one);
        }
        json_append(list, item);
    }
    return list->n ? list : NULL;
}

bool pod_devices_unhealthy(const struct pod_devices *p, struct device_health health)
{
    for (uint32_t i = 0; health.is && i < p->wants_n; i++)
        for (uint32_t k = 0; p->wants[i].slots && k < p->wants[i].n; k++)
            if (!health.is(health.ctx, p->wants[i].resource, p->wants[i].slots[k]))
                return true;
    return false;
}
