/* resource_devices.c - resources as JSON: which slots are closed and why, for pages and people; and the node annotation
 * capstan.dev/devices: [{"r","id","gpu","link","healthy","unit","state"}], what the scheduler chooses from */
#include "agent/inventory/resource.h"
#include "base/limits.h"
#include "wire/json.h"

/* NVLink (directly or over switches) joins two GPUs; where there is none, one NUMA node does. */
static bool linked(const struct driver_reading *r, uint32_t a, uint32_t b)
{
    return r->links && r->links[a * r->gpus_n + b].nvlinks_n > 0;
}

static bool has_links(const struct driver_reading *r, uint32_t gpu)
{
    for (uint32_t i = 0; i < r->gpus_n; i++)
        if (i != gpu && linked(r, gpu, i))
            return true;
    return false;
}

static bool near(const struct driver_reading *r, uint32_t a, uint32_t b)
{
    if (linked(r, a, b))
        return true;
    if (has_links(r, a) || has_links(r, b))
        return false;
    return r->gpus[a].numa_node >= 0 && r->gpus[a].numa_node == r->gpus[b].numa_node;
}

/* Connected sets, numbered in the order of their first GPU. */
static void link_groups(const struct driver_reading *r, uint16_t groups[LIMIT_NODE_GPUS])
{
    uint32_t waiting[LIMIT_NODE_GPUS], n = r->gpus_n < LIMIT_NODE_GPUS ? r->gpus_n : LIMIT_NODE_GPUS;
    uint16_t next = 0;
    for (uint32_t i = 0; i < n; i++)
        groups[i] = UINT16_MAX;
    for (uint32_t first = 0; first < n; first++) {
        uint32_t waiting_n = 0;
        if (groups[first] != UINT16_MAX)
            continue;
        groups[first] = next;
        waiting[waiting_n++] = first;
        while (waiting_n) {
            uint32_t at = waiting[--waiting_n];
            for (uint32_t i = 0; i < n; i++)
                if (groups[i] == UINT16_MAX && near(r, at, i)) {
                    groups[i] = next;
                    waiting[waiting_n++] = i;
                }
        }
        next++;
    }
}

/* The largest replica number that is told of, so that a node with too many slots loses the last shares of each unit, not whole units. */
static uint32_t replicas_told(const struct resource_table *t)
{
    for (uint32_t limit = UINT16_MAX;;) {
        uint32_t n = 0, largest = 0;
        for (uint32_t i = 0; i < t->resources_n; i++)
            for (uint32_t k = 0; k < t->resources[i].slots_n; k++)
                if (t->resources[i].slots[k].replica <= limit) {
                    n++;
                    largest = t->resources[i].slots[k].replica > largest ? t->resources[i].slots[k].replica : largest;
                }
        if (n <= LIMIT_DEVICES_PER_NODE || largest == 0)
            return largest;
        limit = largest - 1;
    }
}

void resource_table_devices_text(const struct resource_table *t, const struct inventory_snapshot *s, struct buf *out)
{
    uint16_t groups[LIMIT_NODE_GPUS];
    uint32_t replicas = replicas_told(t), n = 0;
    if (s->reading)
        link_groups(s->reading, groups);
    buf_char(out, '[');
    for (uint32_t i = 0; i < t->resources_n; i++)
        for (uint32_t k = 0; k < t->resources[i].slots_n; k++) {
            const struct slot *slot = &t->resources[i].slots[k];
            const struct driver_gpu *gpu = s->units[slot->unit].gpu;
            uint32_t at = (uint32_t)(gpu - s->reading->gpus);
            if (slot->replica > replicas || n == LIMIT_DEVICES_PER_NODE)
                continue;
            buf_text(out, n++ ? ",{\"r\":" : "{\"r\":");
            json_write_string(out, bytes_of(t->resources[i].name));
            buf_text(out, ",\"id\":");
            json_write_string(out, bytes_of(slot->id));
            buf_printf(out, ",\"gpu\":%u,\"link\":%u,\"healthy\":%s", gpu->index, at < LIMIT_NODE_GPUS ? groups[at] : 0,
                       slot_is_open(slot) ? "true" : "false");
            if (!slot_is_open(slot)) /* for people: the scheduler reads `healthy` */
                buf_printf(out, ",\"state\":\"%s\"", slot_state_name(slot->state));
            if (slot->shared && t->resources[i].distributed)
                buf_printf(out, ",\"unit\":%u", slot->unit + 1u);
            buf_char(out, '}');
        }
    buf_char(out, ']');
}

void resource_closed_json(struct arena *a, const struct resource *r, struct json *object)
{
    struct json *list = NULL;
    for (uint32_t i = 0; i < r->slots_n; i++) {
        const struct slot *slot = &r->slots[i];
        if (slot_is_open(slot))
            continue;
        struct json *one = json_new(a, JSON_OBJECT);
        list = list ? list : json_ensure_array(a, object, "closed");
        json_set_text(a, one, "slot", slot->id);
        json_set_text(a, one, "state", slot_state_name(slot->state));
        if (slot->why)
            json_set_text(a, one, "why", slot->why);
        json_append(list, one);
    }
}
