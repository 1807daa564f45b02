/* pod_resources.c - one List at a time over the kubelet's socket, and its answer as owners of slots */
#include "agent/inventory/pod_resources.h"
#include "wire/protobuf.h"

enum { LIST_TIMEOUT_MS = 10000 };

struct pod_resources_waiter {
    pod_resources_fn fn;
    void *arg;
};

struct pod_resources {
    struct grpc_client *client;
    bool old_api; /* the kubelet has only v1alpha1 */
    bool asked;
    struct pod_resources_waiter *waiters;
    uint32_t waiters_n, waiters_cap;
    bool *freed; /* set while callbacks run: they may free this */
    const struct pod_name *named; /* of the answer, while callbacks run */
    uint32_t named_n;
};

/* ---- parsing ---- */

struct owner_list {
    struct slot_owner *items;
    size_t n, cap;
};

/* What is being read: names of the pod, the container and the resource around a device. */
struct list_place {
    struct arena *arena;
    struct owner_list *owners;
    const char *ns, *pod, *container, *resource;
};

/* NULL: no text. "": absent. */
static const char *text_field(struct arena *a, struct bytes message, uint32_t number)
{
    struct protobuf_reader r = protobuf_reader(message);
    struct protobuf_field f;
    const char *text = "";
    while (text && protobuf_next(&r, &f) > 0)
        if (f.number == number && f.type == 2)
            text = protobuf_arena_text(a, f.bytes);
    return text;
}

/* Each value of a repeated field, until one fails. */
static int each(struct list_place *place, struct bytes message, uint32_t number,
                int (*parse)(struct list_place *place, struct bytes value))
{
    struct protobuf_reader r = protobuf_reader(message);
    struct protobuf_field f;
    int got;
    while ((got = protobuf_next(&r, &f)) > 0)
        if (f.number == number && f.type == 2 && (got = parse(place, f.bytes)) < 0)
            break;
    return got;
}

static int device_parse(struct list_place *place, struct bytes id)
{
    const char *slot = protobuf_arena_text(place->arena, id);
    if (!slot)
        return -E_PROTO;
    MEM_RESERVE(place->owners->items, place->owners->cap, place->owners->n + 1);
    place->owners->items[place->owners->n++] =
        (struct slot_owner){place->resource, slot, place->ns, place->pod, place->container};
    return 0;
}

/* ContainerDevices: 1 resource_name, 2 repeated device_ids. */
static int devices_parse(struct list_place *place, struct bytes message)
{
    place->resource = text_field(place->arena, message, 1);
    return place->resource ? each(place, message, 2, device_parse) : -E_PROTO;
}

/* ContainerResources: 1 name, 2 repeated ContainerDevices. */
static int container_parse(struct list_place *place, struct bytes message)
{
    place->container = text_field(place->arena, message, 1);
    return place->container ? each(place, message, 2, devices_parse) : -E_PROTO;
}

/* PodResources: 1 name, 2 namespace, 3 repeated ContainerResources. */
static int pod_parse(struct list_place *place, struct bytes message)
{
    place->pod = text_field(place->arena, message, 1);
    place->ns = text_field(place->arena, message, 2);
    return place->pod && place->ns ? each(place, message, 3, container_parse) : -E_PROTO;
}

static int owner_compare(const void *left, const void *right)
{
    const struct slot_owner *a = left, *b = right;
    int d = strcmp(a->resource, b->resource);
    if (!d)
        d = strcmp(a->slot, b->slot);
    if (!d)
        d = strcmp(a->ns, b->ns);
    if (!d)
        d = strcmp(a->pod, b->pod);
    return d ? d : strcmp(a->container, b->container);
}

int pod_resources_parse(struct arena *a, struct bytes list_response, struct slot_owner **ret_owners, uint32_t *ret_n, struct err *e)
{
    struct owner_list owners = {0};
    struct list_place place = {.arena = a, .owners = &owners};
    if (each(&place, list_response, 1, pod_parse) < 0) {
        free(owners.items);
        return err_set(e, E_PROTO, "podresources: the kubelet's answer is malformed");
    }
    if (owners.n)
        qsort(owners.items, owners.n, sizeof *owners.items, owner_compare);
    struct slot_owner *list = arena_alloc(a, (owners.n + 1) * sizeof *list);
    uint32_t n = 0;
    for (size_t i = 0; i < owners.n; i++) /* a device with several NUMA nodes is listed once for each */
        if (n == 0 || owner_compare(&list[n - 1], &owners.items[i]) != 0)
            list[n++] = owners.items[i];
    free(owners.items);
    if (n > LIMIT_POD_RESOURCES)
        return err_set(e, E_LIMIT, "podresources: containers have %u devices, %d are read at most", n, LIMIT_POD_RESOURCES);
    *ret_owners = list;
    *ret_n = n;
    return 0;
}

int pod_resources_parse_names(struct arena *a, struct bytes list_response, struct pod_name **ret_names, uint32_t *ret_n)
{
    struct protobuf_reader r = protobuf_reader(list_response);
    struct protobuf_field f;
    struct pod_name *list = NULL;
    size_t n = 0, cap = 0;
    int got;
    while ((got = protobuf_next(&r, &f)) > 0) {
        if (f.number != 1 || f.type != 2)
            continue;
        struct pod_name it = {text_field(a, f.bytes, 2), text_field(a, f.bytes, 1)};
        if (!it.ns || !it.name || !*it.name)
            continue;
        MEM_RESERVE(list, cap, n + 1);
        list[n++] = it;
    }
    *ret_names = arena_alloc(a, (n + 1) * sizeof *list);
    if (n)
        memcpy(*ret_names, list, n * sizeof *list);
    *ret_n = (uint32_t)n;
    free(list);
    return got < 0 ? -E_PROTO : 0;
}

/* ---- asking ---- */

static void list_ask(struct pod_resources *p);

/* Everybody who waits hears the same; who asks again within the callback starts the next call. */
static void waiters_tell(struct pod_resources *p, int code, const struct slot_owner *owners, uint32_t n, const struct err *e)
{
    struct pod_resources_waiter *waiters = p->waiters;
    uint32_t waiters_n = p->waiters_n;
    bool freed = false;
    p->waiters = NULL;
    p->waiters_n = p->waiters_cap = 0;
    p->asked = false;
    p->freed = &freed;
    for (uint32_t i = 0; i < waiters_n && !freed; i++)
        waiters[i].fn(waiters[i].arg, code, owners, n, e);
    free(waiters);
    if (freed)
        return;
    p->freed = NULL;
    p->named = NULL;
    p->named_n = 0;
}

static void list_answered(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct pod_resources *p = arg;
    if (status == GRPC_UNIMPLEMENTED && !p->old_api) {
        p->old_api = true;
        list_ask(p);
        return;
    }
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    struct slot_owner *owners = NULL;
    uint32_t n = 0;
    int code;
    if (status == GRPC_OK) {
        struct pod_name *named = NULL;
        code = pod_resources_parse(a, message, &owners, &n, &e);
        if (code == 0) /* what the one has read the other does */
            (void)pod_resources_parse_names(a, message, &named, &p->named_n);
        p->named = named;
    } else {
        p->old_api = false; /* another kubelet may be there the next time */
        code = err_set(&e, status == GRPC_UNAVAILABLE || status == GRPC_DEADLINE_EXCEEDED ? E_AGAIN : E_IO,
                       "podresources: status %d: %s", (int)status, error_text);
    }
    waiters_tell(p, code, owners, n, &e);
}

static void list_ask(struct pod_resources *p)
{
    p->asked = true;
    (void)grpc_call(p->client, p->old_api ? "/v1alpha1.PodResourcesLister/List" : "/v1.PodResourcesLister/List", BYTES(""),
                    LIST_TIMEOUT_MS, list_answered, p);
}

const struct pod_name *pod_resources_named(const struct pod_resources *p, uint32_t *ret_n)
{
    *ret_n = p->named_n;
    return p->named;
}

struct pod_resources *pod_resources_new(struct loop *l, const char *socket_path)
{
    struct pod_resources *p = mem_zero(1, sizeof *p);
    p->client = grpc_client_new(l, socket_path);
    return p;
}

void pod_resources_free(struct pod_resources *p)
{
    if (!p)
        return;
    if (p->freed)
        *p->freed = true;
    grpc_client_free(p->client);
    free(p->waiters);
    free(p);
}

void pod_resources_list(struct pod_resources *p, pod_resources_fn fn, void *arg)
{
    MEM_RESERVE(p->waiters, p->waiters_cap, p->waiters_n + 1);
    p->waiters[p->waiters_n++] = (struct pod_resources_waiter){fn, arg};
    if (!p->asked)
        list_ask(p);
}
