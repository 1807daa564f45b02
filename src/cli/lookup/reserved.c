#include "cli/lookup/reserved.h"
#include <string.h>
#include "base/clock.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

const char *reserved_text(struct arena *a, const struct json *workload)
{
    if (!object_condition_true(workload, "QuotaReserved") || object_condition_true(workload, "Admitted"))
        return NULL;
    const char *text = "", *queue = json_text(json_path(workload, "status", "admission", "clusterQueue", NULL), "?");
    JSON_EACH (check, json_path(workload, "status", "admissionChecks", NULL)) {
        const char *state = json_get_text(check, "state", "Pending"), *message = json_get_text(check, "message", "");
        if (strcmp(state, "Ready") == 0)
            continue;
        text = *text ? arena_printf(a, "%s, ", text) : arena_printf(a, "quota is reserved in ClusterQueue %s; waits for ", queue);
        text = arena_printf(a, "%sadmission check %s (%s%s%s)", text, json_get_text(check, "name", "?"), state, *message ? ": " : "",
                            message);
    }
    return *text ? text : json_get_text(object_condition(workload, "Admitted"), "message", "");
}

const char *saving_text(struct arena *a, const struct json *object)
{
    int64_t asked_ms;
    int32_t within_s;
    char until[TIME_TEXT_MAX];
    if (!decode_checkpoint(bytes_of(object_annotation(object, DECODE_CHECKPOINT_ASKED_ANNOTATION)), &asked_ms) ||
        !decode_checkpoint_within(bytes_of(object_annotation(object, DECODE_CHECKPOINT_WITHIN_ANNOTATION)), &within_s))
        return NULL;
    return arena_printf(a, "it is asked to save, and stopped once it says that it has, at %s at the latest",
                        time_format(until, asked_ms + (int64_t)within_s * 1000));
}

const char *hung_text(struct arena *a, const struct json *object)
{
    const char *found = object_annotation(object, DECODE_HUNG_ANNOTATION);
    if (!*found)
        return NULL;
    return arena_printf(a, "it hangs: none of its GPUs does anything (found %s)%s", found,
                        decode_restart_ms(object) ? "; it is started again" : "");
}
