/* vcjob_policy.c - life-cycle policies; see vcjob_policy.h */
#include "jobs/volcano/vcjob_policy.h"
#include "base/clock.h"

static const char *const event_names[] = {
#define X(event, name) name,
    VCJOB_EVENTS(X)
#undef X
};

const char *vcjob_event_name(enum vcjob_event e)
{
    return event_names[e];
}

bool vcjob_action_whole(enum vcjob_action a)
{
    return a != VCJOB_DO_RESTART_TASK && a != VCJOB_DO_RESTART_POD && a != VCJOB_DO_RESTART_PARTITION &&
           a != VCJOB_DO_SYNC;
}

static bool names_event(const struct json *policy, const char *name)
{
    const char *one = json_get_text(policy, "event", "");
    if (strcmp(one, name) == 0 || strcmp(one, "*") == 0)
        return true;
    JSON_EACH (event, json_get(policy, "events")) {
        const char *text = json_text(event, "");
        if (strcmp(text, name) == 0 || strcmp(text, "*") == 0)
            return true;
    }
    return false;
}

static bool policy_matches(const struct json *policy, const struct vcjob_happened *h)
{
    int64_t exit_code = json_get_int64(policy, "exitCode", 0);
    if (exit_code != 0)
        return h->event == VCJOB_ON_POD_FAILED && h->exit_code == exit_code;
    return names_event(policy, event_names[h->event]);
}

static bool list_verdict(const struct json *policies, const struct vcjob_happened *h, struct vcjob_verdict *ret_verdict)
{
    JSON_EACH (policy, policies) {
        if (!policy_matches(policy, h))
            continue;
        struct vcjob_verdict verdict = {VCJOB_DO_SYNC, 0};
        int64_t timeout_ms = 0;
        const struct json *timeout = json_get(policy, "timeout");
        bool has_timeout =
            json_is(timeout, JSON_STRING) && duration_parse(json_bytes(timeout), &timeout_ms) && timeout_ms > 0;
        if (h->event == VCJOB_ON_POD_PENDING && !has_timeout)
            continue; /* a pending pod alone is nothing: only "for so long" is */
        if (!vcjob_action_of(json_get_text(policy, "action", ""), &verdict.action))
            continue;
        verdict.delay_ms = has_timeout ? timeout_ms : 0;
        *ret_verdict = verdict;
        return true;
    }
    return false;
}

struct vcjob_verdict vcjob_policy(const struct json *job_spec, const struct json *task, const struct vcjob_happened *h)
{
    struct vcjob_verdict verdict = {VCJOB_DO_SYNC, 0};
    if (list_verdict(json_get(task, "policies"), h, &verdict))
        return verdict;
    (void)list_verdict(json_get(job_spec, "policies"), h, &verdict); /* nothing said: the default stands */
    return verdict;
}
