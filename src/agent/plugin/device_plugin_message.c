/* device_plugin_message.c - see device_plugin_message.h */
#include "agent/plugin/device_plugin_message.h"
#include "net/grpc/grpc.h"
#include "wire/protobuf.h"

enum { DEVICE_BYTES_MAX = 512 }; /* of one Device in a list, generously */

/* ---- in ---- */

/* How many fields `number` of type bytes; -E_PROTO. */
static int fields_count(struct bytes message, uint32_t number)
{
    struct protobuf_reader r = protobuf_reader(message);
    struct protobuf_field f;
    int got, n = 0;
    while ((got = protobuf_next(&r, &f)) > 0)
        n += f.number == number && f.type == 2;
    return got < 0 ? got : n;
}

static int texts_parse(struct arena *a, struct bytes message, uint32_t number, const char ***ret_texts, uint32_t *ret_n)
{
    int n = fields_count(message, number);
    if (n < 0)
        return n;
    const char **texts = arena_zero(a, (size_t)n + 1, sizeof *texts);
    struct protobuf_reader r = protobuf_reader(message);
    struct protobuf_field f;
    uint32_t at = 0;
    while (protobuf_next(&r, &f) > 0)
        if (f.number == number && f.type == 2 && !(texts[at++] = protobuf_arena_text(a, f.bytes)))
            return -E_PROTO;
    *ret_texts = texts;
    *ret_n = at;
    return 0;
}

static int wish_parse(struct arena *a, struct bytes message, bool preferred, struct plugin_wish *ret_wish)
{
    struct plugin_wish wish = {0};
    int r = texts_parse(a, message, 1, &wish.ids, &wish.ids_n);
    if (r == 0 && preferred)
        r = texts_parse(a, message, 2, &wish.must, &wish.must_n);
    if (r < 0)
        return r;
    struct protobuf_reader reader = protobuf_reader(message);
    struct protobuf_field f;
    while (preferred && protobuf_next(&reader, &f) > 0)
        if (f.number == 3 && f.type == 0)
            wish.size = (int32_t)(uint32_t)f.value;
    *ret_wish = wish;
    return 0;
}

static int wishes_parse(struct arena *a, struct bytes message, bool preferred, struct plugin_wish **ret_wishes, uint32_t *ret_n)
{
    int n = fields_count(message, 1), code = 0;
    if (n < 0)
        return n;
    struct plugin_wish *wishes = arena_zero(a, (size_t)n + 1, sizeof *wishes);
    struct protobuf_reader r = protobuf_reader(message);
    struct protobuf_field f;
    uint32_t at = 0;
    while (code == 0 && protobuf_next(&r, &f) > 0)
        if (f.number == 1 && f.type == 2)
            code = wish_parse(a, f.bytes, preferred, &wishes[at++]);
    if (code < 0)
        return code;
    *ret_wishes = wishes;
    *ret_n = at;
    return 0;
}

int plugin_allocate_parse(struct arena *a, struct bytes message, struct plugin_wish **ret_wishes, uint32_t *ret_n)
{
    return wishes_parse(a, message, false, ret_wishes, ret_n);
}

int plugin_preferred_parse(struct arena *a, struct bytes message, struct plugin_wish **ret_wishes, uint32_t *ret_n)
{
    return wishes_parse(a, message, true, ret_wishes, ret_n);
}

/* ---- out ---- */

uint32_t plugin_list_write(struct buf *out, const struct inventory_snapshot *s, const struct resource *r)
{
    for (uint32_t i = 0; i < r->slots_n; i++) {
        if (out->n + DEVICE_BYTES_MAX > LIMIT_GRPC_MESSAGE)
            return i;
        const struct slot *slot = &r->slots[i];
        int numa_node = s->units[slot->unit].gpu->numa_node;
        size_t device = protobuf_begin(out, 1);
        protobuf_text(out, 1, slot->id);
        protobuf_text(out, 2, slot_is_open(slot) ? "Healthy" : "Unhealthy");
        if (numa_node >= 0) {
            size_t topology = protobuf_begin(out, 3), node = protobuf_begin(out, 1);
            protobuf_int(out, 1, numa_node);
            protobuf_end(out, node);
            protobuf_end(out, topology);
        }
        protobuf_end(out, device);
    }
    return r->slots_n;
}

static void mounts_write(struct buf *out, const struct allocate_answer *answer)
{
    for (uint32_t i = 0; i < answer->mounts_n; i++) {
        size_t mark = protobuf_begin(out, 2);
        protobuf_text(out, 1, answer->mounts[i].container_path);
        protobuf_text(out, 2, answer->mounts[i].host_path);
        protobuf_bool(out, 3, answer->mounts[i].read_only);
        protobuf_end(out, mark);
    }
}

static void devices_write(struct buf *out, const struct allocate_answer *answer)
{
    for (uint32_t i = 0; i < answer->devices_n; i++) {
        size_t mark = protobuf_begin(out, 3);
        protobuf_text(out, 1, answer->devices[i].container_path);
        protobuf_text(out, 2, answer->devices[i].host_path);
        protobuf_text(out, 3, answer->devices[i].permissions);
        protobuf_end(out, mark);
    }
}

void plugin_allocate_write(struct buf *out, const struct allocate_answer *answer)
{
    size_t container = protobuf_begin(out, 1);
    for (uint32_t i = 0; i < answer->envs_n; i++)
        protobuf_map_text(out, 1, answer->envs[i].name, answer->envs[i].value);
    mounts_write(out, answer);
    devices_write(out, answer);
    for (uint32_t i = 0; i < answer->annotations_n; i++)
        protobuf_map_text(out, 4, answer->annotations[i].name, answer->annotations[i].value);
    for (uint32_t i = 0; i < answer->cdi_devices_n; i++) {
        size_t mark = protobuf_begin(out, 5);
        protobuf_text(out, 1, answer->cdi_devices[i]);
        protobuf_end(out, mark);
    }
    protobuf_end(out, container);
}

void plugin_preferred_write(struct buf *out, const char *const *slots, uint32_t n)
{
    size_t container = protobuf_begin(out, 1);
    for (uint32_t i = 0; i < n; i++)
        protobuf_text_always(out, 1, slots[i]);
    protobuf_end(out, container);
}

void plugin_options_write(struct buf *out)
{
    protobuf_bool(out, 1, false); /* pre_start_required */
    protobuf_bool(out, 2, true);  /* get_preferred_allocation_available */
}

void plugin_register_write(struct buf *out, const char *endpoint, const char *resource)
{
    protobuf_text(out, 1, "v1beta1");
    protobuf_text(out, 2, endpoint);
    protobuf_text(out, 3, resource);
    size_t options = protobuf_begin(out, 4);
    plugin_options_write(out);
    protobuf_end(out, options);
}
