/* status_promised.c - the start that a Workload that waits is promised, as its condition says it
 *
 * It is read again by whoever schedules next (codec/decode/decode_checks.c has the form). Beside it the reason says it in words.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "core/time/forecast.h"
#include "sched/scheduler.h"

static const char *set_name(const struct json *workload, uint16_t at)
{
    return json_get_text(json_item(json_path(workload, "spec", "podSets", NULL), at), "name", "");
}

const char *status_promised_text(struct scheduler *s, struct arena *a, name_id gang, const struct json *workload)
{
    struct booking_record b;
    char time[TIME_TEXT_MAX];
    if (!state_gang_booking(s->state, gang, &b))
        return NULL;
    struct json *note = json_new(a, JSON_OBJECT);
    json_set_text(a, note, "start", time_format(time, b.start_ms));
    struct json *from = json_ensure_array(a, note, "from");
    if (b.basis & END_BY_LIMIT)
        json_append(from, json_new_text(a, "limits"));
    if (b.basis & END_BY_RUNS)
        json_append(from, json_new_text(a, "runs"));
    if (b.borrows)
        json_set_bool(a, note, "borrows", true);
    struct json *nodes = json_ensure_object(a, note, "nodes"), *quota = json_ensure_object(a, note, "quota");
    for (uint32_t i = 0; i < b.places_n; i++)
        json_set_int64(a, json_ensure_object(a, nodes, set_name(workload, b.places[i].pod_set)), intern_name(s->names, b.places[i].node),
                       b.places[i].count);
    for (uint32_t i = 0; i < b.quota_n; i++) {
        const char *resource = intern_name(s->names, b.quota[i].resource);
        json_set_text(a, json_ensure_object(a, quota, intern_name(s->names, b.quota[i].flavor)), resource,
                      status_amount(a, resource, b.quota[i].amount));
    }
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, note);
    return text.n <= LIMIT_CONDITION_MESSAGE ? arena_text(a, text.data) : NULL; /* cut off it would say something else */
}
