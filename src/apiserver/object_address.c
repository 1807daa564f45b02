#include "apiserver/object_address.h"

#include <arpa/inet.h>
#include <stdio.h>

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

void object_address_settle(struct object_write *w)
{
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
