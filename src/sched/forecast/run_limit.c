/* run_limit.c - see run_limit.h */
#include "sched/forecast/run_limit.h"
#include "base/bytes.h"
#include "codec/decode/decode.h"

enum { SECONDS_MOST = 1000000000 }; /* thirty years: nothing to wait for */

int64_t run_limit_of_s(int64_t seconds)
{
    return seconds > 0 && seconds <= SECONDS_MOST ? seconds * 1000 : 0;
}

static int64_t shorter(int64_t a_ms, int64_t b_ms)
{
    return !a_ms || (b_ms && b_ms < a_ms) ? b_ms : a_ms;
}

int64_t run_limit_ms(const struct json *workload)
{
    const struct json *spec = json_get(workload, "spec");
    int64_t most_s = json_get_int64(spec, "maximumExecutionTimeSeconds", 0), of_job_s = 0,
            past_s = json_int64(json_path(workload, "status", "accumulatedPastExecutionTimeSeconds", NULL), 0);
    int64_t limit_ms = run_limit_of_s(past_s > 0 && past_s < most_s ? most_s - past_s : most_s);
    const struct json *note = json_path(workload, "metadata", "annotations", DECODE_DEADLINE_ANNOTATION, NULL);
    if (bytes_int64(json_bytes(note), &of_job_s))
        limit_ms = shorter(limit_ms, run_limit_of_s(of_job_s));
    JSON_EACH (set, json_get(spec, "podSets")) {
        int64_t seconds = json_int64(json_path(set, "template", "spec", "activeDeadlineSeconds", NULL), 0);
        limit_ms = shorter(limit_ms, run_limit_of_s(seconds));
    }
    return limit_ms;
}
