/* decode_feedback.c - annotation capstan.dev/gpu-feedback:
 * {"at":S,"period":S,"network":BYTES_PER_S,"units":[{"id","activity","memory","margin","throttled",...}]} */
#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "codec/decode/decode_part.h"

#define PERIOD_MAX_S 86400.0
#define NETWORK_MAX 1e15
#define TIME_MAX_S 1e11 /* some thousand years: what is beyond is no time */

static double number_of(const struct json *v, double fallback)
{
    char text[40], *end;
    struct bytes b = json_bytes(v);
    if (!json_is(v, JSON_NUMBER) || b.n >= sizeof text)
        return fallback;
    memcpy(text, b.data, b.n);
    text[b.n] = '\0';
    double n = strtod(text, &end);
    return *end || !isfinite(n) ? fallback : n;
}

static double bounded(const struct json *v, double least, double most, double fallback)
{
    double n = number_of(v, fallback);
    return n >= least && n <= most ? n : fallback;
}

static struct device_feedback unit_of(const struct decoder *d, const struct json *unit)
{
    const struct json *memory = json_get(unit, "memory");
    double activity = bounded(json_get(unit, "activity"), 0, 1, -1);
    struct device_feedback f = {
        .id = decode_name(d, json_get(unit, "id")),
        .activity_permille = (int16_t)(activity < 0 ? -1 : lround(activity * 1000)),
        .margin_c = (int16_t)bounded(json_get(unit, "margin"), -1000, 1000, INT16_MIN),
        .memory_used_mib = (uint32_t)bounded(json_item(memory, 0), 0, UINT32_MAX, 0),
        .memory_total_mib = (uint32_t)bounded(json_item(memory, 1), 0, UINT32_MAX, 0),
        .throttled = json_get_bool(unit, "throttled", false),
        .xid = (uint16_t)bounded(json_get(unit, "xid"), 0, UINT16_MAX, 0),
        .xid_ms = (int64_t)(bounded(json_get(unit, "xidAt"), 0, TIME_MAX_S, 0) * 1000),
    };
    if (f.memory_used_mib > f.memory_total_mib)
        f.memory_used_mib = f.memory_total_mib = 0;
    return f;
}

void decode_feedback(const struct decoder *d, struct bytes text, struct node_record *node)
{
    const struct json *v = text.n <= DECODE_FEEDBACK_MAX_BYTES ? json_parse(d->arena, text, NULL, NULL) : NULL;
    const struct json *units = json_get(v, "units");
    double at_s = bounded(json_get(v, "at"), 0, TIME_MAX_S, 0), period_s = bounded(json_get(v, "period"), 0, PERIOD_MAX_S, 0);
    if (!json_is(units, JSON_ARRAY) || units->n == 0 || units->n > LIMIT_DEVICES_PER_NODE || at_s <= 0 || period_s <= 0)
        return;
    struct device_feedback *all = arena_alloc(d->arena, units->n * sizeof *all);
    uint32_t n = 0;
    JSON_EACH (unit, units) {
        all[n] = unit_of(d, unit);
        n += all[n].id != 0;
    }
    node->feedback = n ? all : NULL;
    node->feedback_n = n;
    node->feedback_ms = (int64_t)(at_s * 1000);
    node->feedback_period_ms = (int64_t)(period_s * 1000);
    node->network_bps = (int64_t)bounded(json_get(v, "network"), 0, NETWORK_MAX, -1) + 1;
}
