#include "apiserver/rules/service.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "apiserver/store/object.h"

#define ADDRESS_BASE 0x0a600000u /* 10.96.0.0 */
#define ADDRESSES_N 65536u

static bool address_parse(const char *text, uint32_t *ret_offset)
{
    struct in_addr in;
    if (inet_pton(AF_INET, text, &in) != 1)
        return false;
    uint32_t offset = ntohl(in.s_addr) - ADDRESS_BASE;
    *ret_offset = offset;
    return offset < ADDRESSES_N;
}

/* One bit an address that some Service holds. */
static void addresses_mark(struct object_write *w, uint8_t taken[ADDRESSES_N / 8])
{
    struct store_cursor *c = store_list(w->server->store, w->kind_id, NULL, NULL);
    _cleanup_arena_ struct arena *a = arena_new();
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        uint32_t offset;
        arena_reset(a);
        if (address_parse(json_get_text(json_get(object_parse(a, o->body), "spec"), "clusterIP", ""), &offset))
            taken[offset / 8] |= (uint8_t)(1u << offset % 8);
    }
    store_list_free(c);
}

static void address_set(struct object_write *w, struct json *spec, const char *address)
{
    struct json *list = json_new(w->arena, JSON_ARRAY);
    json_append(list, json_new_text(w->arena, address));
    json_set_text(w->arena, spec, "clusterIP", address);
    json_set(w->arena, spec, "clusterIPs", list);
}

static void address_allocate(struct object_write *w, struct json *spec)
{
    uint8_t taken[ADDRESSES_N / 8] = {0x03};
    addresses_mark(w, taken);
    const char *name = json_get_text(json_get(w->object, "metadata"), "name", "");
    uint32_t start = (uint32_t)hash_bytes(name, strlen(name), hash_bytes(w->ns, strlen(w->ns), 96)) % ADDRESSES_N;
    for (uint32_t i = 0; i < ADDRESSES_N; i++) {
        uint32_t offset = (start + i) % ADDRESSES_N;
        if (offset < 2 || taken[offset / 8] & 1u << offset % 8)
            continue;
        char text[16];
        snprintf(text, sizeof text, "10.96.%u.%u", offset >> 8, offset & 255u);
        address_set(w, spec, text);
        return;
    }
    (void)object_write_fail(w, 500, "InternalError",
                            "every address of 10.96.0.0/16 is given to a Service: delete some");
}

/* ---- node ports ---- */

#define PORT_FIRST 30000
#define PORTS_N 2768

static bool wants_node_ports(const struct json *spec)
{
    const char *type = json_get_text(spec, "type", "ClusterIP");
    return strcmp(type, "NodePort") == 0 ||
           (strcmp(type, "LoadBalancer") == 0 && json_get_bool(spec, "allocateLoadBalancerNodePorts", true));
}

static int64_t node_port(const struct json *port)
{
    int64_t number = json_get_int64(port, "nodePort", 0);
    return number >= PORT_FIRST && number < PORT_FIRST + PORTS_N ? number : 0;
}

/* Those of other Services. */
static void ports_mark(struct object_write *w, bool taken[PORTS_N])
{
    const char *name = json_get_text(json_get(w->object, "metadata"), "name", "");
    struct store_cursor *c = store_list(w->server->store, w->kind_id, NULL, NULL);
    _cleanup_arena_ struct arena *a = arena_new();
    for (const struct store_object *o; (o = store_list_next(c));) {
        if (strcmp(o->ns, w->ns) == 0 && strcmp(o->name, name) == 0)
            continue;
        arena_reset(a);
        JSON_EACH (port, json_path(object_parse(a, o->body), "spec", "ports", NULL))
            if (node_port(port))
                taken[node_port(port) - PORT_FIRST] = true;
    }
    store_list_free(c);
}

/* The node port that this port had: of the same name, or else number. */
static int64_t node_port_before(const struct object_write *w, const struct json *port)
{
    JSON_EACH (old, json_path(w->old, "spec", "ports", NULL))
        if (strcmp(json_get_text(old, "name", ""), json_get_text(port, "name", "")) == 0 &&
            json_get_int64(old, "port", 0) == json_get_int64(port, "port", 0))
            return node_port(old);
    return 0;
}

static void node_port_check(struct object_write *w, const struct json *port, uint32_t at, bool taken[PORTS_N])
{
    const struct json *given = json_get(port, "nodePort");
    const char *path = arena_printf(w->arena, "spec.ports[%u].nodePort", at), *value = arena_text(w->arena, given->text);
    if (!node_port(port))
        field_error_add(&w->errors, FIELD_INVALID, path, value,
                        "provided port is not in the valid range. The range of valid ports is %d-%d", PORT_FIRST, PORT_FIRST + PORTS_N - 1);
    else if (taken[node_port(port) - PORT_FIRST])
        field_error_add(&w->errors, FIELD_INVALID, path, value, "provided port is already allocated");
}

static void node_port_give(struct object_write *w, struct json *port, bool taken[PORTS_N])
{
    int64_t number = node_port_before(w, port);
    uint32_t start = (uint32_t)random_below(&w->server->random, PORTS_N);
    for (uint32_t i = 0; i < PORTS_N && (!number || taken[number - PORT_FIRST]); i++)
        number = PORT_FIRST + (start + i) % PORTS_N;
    if (taken[number - PORT_FIRST]) {
        (void)object_write_fail(w, 500, "InternalError", "every node port from %d on is given to a Service: delete some", PORT_FIRST);
        return;
    }
    json_set_int64(w->arena, port, "nodePort", number);
    taken[number - PORT_FIRST] = true;
}

/* SOURCE Kubernetes: NodePort and LoadBalancer Services have one on each port; what such a Service leaves behind when it becomes another
 * is taken away. */
static void node_ports_settle(struct object_write *w, struct json *spec)
{
    struct json *ports = json_get(spec, "ports");
    uint32_t at = 0;
    if (!wants_node_ports(spec)) {
        if (w->old && wants_node_ports(json_get(w->old, "spec")) && strcmp(json_get_text(spec, "type", "ClusterIP"), "ClusterIP") == 0)
            JSON_EACH (port, ports)
                json_remove(port, "nodePort");
        return;
    }
    bool taken[PORTS_N] = {0};
    ports_mark(w, taken);
    JSON_EACH (port, ports) {
        const struct json *given = json_get(port, "nodePort");
        if (json_is(given, JSON_NUMBER) && json_int64(given, 0) != 0)
            node_port_check(w, port, at, taken);
        at++;
    }
    JSON_EACH (port, ports) {
        if (node_port(port))
            taken[node_port(port) - PORT_FIRST] = true;
    }
    JSON_EACH (port, w->errors.n ? NULL : ports) {
        if (json_is(port, JSON_OBJECT) && json_get_int64(port, "nodePort", 0) == 0)
            node_port_give(w, port, taken);
    }
}

void service_settle(struct object_write *w)
{
    if (json_is(json_get(w->object, "spec"), JSON_OBJECT) && strcmp(w->subresource, "status") != 0)
        node_ports_settle(w, json_get(w->object, "spec"));
    struct json *spec = json_get(w->object, "spec");
    if (!json_is(spec, JSON_OBJECT) || strcmp(json_get_text(spec, "type", "ClusterIP"), "ExternalName") == 0)
        return;
    const char *old = json_get_text(json_get(w->old, "spec"), "clusterIP", "");
    const char *want = json_get_text(spec, "clusterIP", "");
    if (!*want && *old) {
        address_set(w, spec, old);
    } else if (!*want) {
        address_allocate(w, spec);
    } else if (strcmp(want, "None") == 0 || strcmp(want, old) == 0) {
        address_set(w, spec, want);
    } else {
        uint8_t taken[ADDRESSES_N / 8] = {0};
        uint32_t offset;
        addresses_mark(w, taken);
        if (address_parse(want, &offset) && taken[offset / 8] & 1u << offset % 8)
            field_error_add(&w->errors, FIELD_INVALID, "spec.clusterIP", NULL,
                            "%s is already allocated to another Service", want);
        else
            address_set(w, spec, want);
    }
}
