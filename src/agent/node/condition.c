/* condition.c - see condition.h */
#include "agent/node/condition.h"
#include "base/clock.h"

#define LIMIT_NAMES_BYTES 800 /* of units that are not healthy; a message has room for 1 KiB in all */

static const char *const types[AGENT_CONDITION_N] = {"GPUHealthy", "GPUConfigValid"};

struct node_condition node_condition_health(struct arena *a, const struct inventory_snapshot *s)
{
    _cleanup_buf_ struct buf bad = {0};
    for (uint32_t i = 0; i < s->units_n && bad.n < LIMIT_NAMES_BYTES; i++) {
        const struct unit *u = &s->units[i];
        if (!unit_health_usable(u->health))
            buf_printf(&bad, "%s%s %s xid=%u", bad.n ? ", " : "", u->uuid, unit_health_name(u->health), u->xid);
    }
    for (uint32_t i = 0; i < LIMIT_NODE_GPUS && bad.n < LIMIT_NAMES_BYTES; i++)
        if (s->reading->silent >> i & 1)
            buf_printf(&bad, "%sGPU %u does not answer its driver", bad.n ? ", " : "", i);
    if (bad.n)
        return (struct node_condition){false, "GPUsUnhealthy", arena_text(a, bad.data)};
    return (struct node_condition){true, "GPUsHealthy", "all GPUs can be used"};
}

struct node_condition node_condition_refusal(struct arena *a, const char *reason, const char *source, const char *error, bool kept)
{
    const char *use = kept ? "the config before it stays in use" : "nothing is offered until it is right";
    return (struct node_condition){false, reason, arena_printf(a, "%s%s%s; %s", source ? source : "", source ? ": " : "", error, use)};
}

struct json *node_condition_json(struct arena *a, enum agent_condition which, const struct node_condition *c, int64_t now_ms,
                                 int64_t since_ms)
{
    char text[TIME_TEXT_MAX];
    struct json *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "type", types[which]);
    json_set_text(a, one, "status", c->good ? "True" : "False");
    json_set_text(a, one, "lastHeartbeatTime", time_format(text, now_ms));
    json_set_text(a, one, "lastTransitionTime", time_format(text, since_ms));
    json_set_text(a, one, "reason", c->reason);
    json_set_text(a, one, "message", c->message);
    return one;
}

bool node_condition_stands(const struct json *conditions, enum agent_condition which, const struct node_condition *c, int64_t *since_ms)
{
    JSON_EACH(one, conditions) {
        int64_t since;
        if (!text_equal(json_get_text(one, "type", ""), types[which]))
            continue;
        if (!text_equal(json_get_text(one, "status", ""), c->good ? "True" : "False"))
            return false;
        if (time_parse(bytes_of(json_get_text(one, "lastTransitionTime", "")), &since))
            *since_ms = since;
        return text_equal(json_get_text(one, "reason", ""), c->reason) && text_equal(json_get_text(one, "message", ""), c->message);
    }
    return false;
}
