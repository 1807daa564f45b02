/* batch_job_plan.c - count the pods, apply the policies in the documented order, then say what to create and remove
 *
 *   what status says is decided -> failure policy (FailJob) -> deadline -> failed indexes / backoffLimit -> success policy -> completions
 *   -> create or remove
 */
#include "jobs/batch/batch_job_plan.h"
#include <stdlib.h>
#include "base/clock.h"

struct context {
    struct arena *arena;
    const struct json *spec;
    const struct job_pod *const *pods;
    uint32_t pods_n;
    int64_t parallelism, completions, backoff_limit, backoff_limit_per_index;
    bool indexed, has_completions, replace_failed_only, restart_on_failure;
    uint8_t *completed, *failed, *busy; /* a byte an index: Indexed only */
    struct job_create failures, *index_failures; /* of the job, of each index */
    struct job_plan *plan;
};

bool job_indexes_parse(const char *text, uint8_t *bits, int64_t limit)
{
    while (text && *text) {
        char *end;
        long from = strtol(text, &end, 10), to = from;
        if (end == text)
            return false;
        if (*end == '-') {
            text = end + 1;
            to = strtol(text, &end, 10);
            if (end == text)
                return false;
        }
        if (from < 0 || to < from || to >= limit)
            return false;
        for (long i = from; i <= to; i++)
            bits[i] = 1;
        if (*end && *end != ',')
            return false;
        text = *end ? end + 1 : end;
    }
    return true;
}

const char *job_indexes_format(struct arena *a, const uint8_t *bits, int64_t limit)
{
    _cleanup_buf_ struct buf text = {0};
    for (int64_t i = 0; i < limit; i++) {
        if (!bits[i])
            continue;
        int64_t last = i;
        while (last + 1 < limit && bits[last + 1])
            last++;
        if (text.n)
            buf_char(&text, ',');
        buf_int64(&text, i);
        if (last > i) {
            buf_char(&text, last == i + 1 ? ',' : '-');
            buf_int64(&text, last);
        }
        i = last;
    }
    return arena_text_n(a, text.data ? text.data : "", text.n);
}

static void verdict(struct context *c, enum job_verdict v, const char *reason, const char *message)
{
    if (c->plan->verdict != JOB_GO_ON)
        return;
    c->plan->verdict = v;
    c->plan->reason = reason;
    c->plan->message = message;
}

/* ---- podFailurePolicy ---- */

static bool exit_code_rule_matches(const struct json *on, const struct job_pod *p)
{
    const char *container = json_get_text(on, "containerName", NULL);
    if (p->exit_code < 0 || (container && !text_equal(container, p->exit_container)))
        return false;
    bool found = false;
    JSON_EACH (value, json_get(on, "values"))
        found |= json_int64(value, -1) == p->exit_code;
    return text_equal(json_get_text(on, "operator", "In"), "In") ? found : !found && p->exit_code != 0;
}

static bool condition_rule_matches(const struct json *patterns, const struct job_pod *p)
{
    JSON_EACH (pattern, patterns)
        if (text_equal(json_get_text(pattern, "type", ""), "DisruptionTarget") &&
            text_equal(json_get_text(pattern, "status", "True"), "True") && p->disrupted)
            return true;
    return false;
}

static const char *failure_text(struct arena *a, const struct job_pod *p, bool by_condition, int rule)
{
    if (by_condition)
        return arena_printf(a, "Pod %s/%s has condition DisruptionTarget matching FailJob rule at index %d", p->ns, p->name, rule);
    return arena_printf(a, "Container %s for pod %s/%s failed with exit code %d matching FailJob rule at index %d",
                        p->exit_container ? p->exit_container : "", p->ns, p->name, p->exit_code, rule);
}

enum job_failure batch_job_failure(struct arena *a, const struct json *spec, const struct job_pod *p, const char **ret_why)
{
    int at = 0;
    *ret_why = NULL;
    JSON_EACH (rule, json_path(spec, "podFailurePolicy", "rules", NULL)) {
        const struct json *codes = json_get(rule, "onExitCodes"), *conditions = json_get(rule, "onPodConditions");
        bool by_condition = conditions && condition_rule_matches(conditions, p);
        if (!by_condition && !(codes && exit_code_rule_matches(codes, p))) {
            at++;
            continue;
        }
        const char *action = json_get_text(rule, "action", "Count");
        if (text_equal(action, "FailJob"))
            *ret_why = failure_text(a, p, by_condition, at);
        return text_equal(action, "FailJob")     ? JOB_FAILURE_OF_JOB
               : text_equal(action, "Ignore")    ? JOB_FAILURE_IGNORED
               : text_equal(action, "FailIndex") ? JOB_FAILURE_OF_INDEX
                                                 : JOB_FAILURE_COUNTS;
    }
    return JOB_FAILURE_COUNTS;
}

static void note_failure(struct job_create *c, const struct job_pod *p)
{
    c->failures_n++;
    if (p->ended_ms > c->last_failure_ms)
        c->last_failure_ms = p->ended_ms;
}

static void count_failure(struct context *c, const struct job_pod *p)
{
    const char *why;
    enum job_failure failure = batch_job_failure(c->arena, c->spec, p, &why);
    if (failure == JOB_FAILURE_IGNORED)
        return;
    if (failure == JOB_FAILURE_OF_JOB)
        verdict(c, JOB_FAIL, "PodFailurePolicy", why);
    c->plan->failed_n++;
    note_failure(&c->failures, p);
    if (!c->indexed || p->index < 0 || p->index >= c->completions)
        return;
    note_failure(&c->index_failures[p->index], p);
    if (c->backoff_limit_per_index >= 0 &&
        (c->index_failures[p->index].failures_n > c->backoff_limit_per_index || failure == JOB_FAILURE_OF_INDEX))
        c->failed[p->index] = 1;
}

/* Of pods that are gone. */
static void count_gone(struct context *c, const struct job_history *history)
{
    if (history->failure)
        verdict(c, JOB_FAIL, "PodFailurePolicy", history->failure);
    for (uint32_t i = 0; c->indexed && c->backoff_limit_per_index >= 0 && i < history->index_failures_n; i++) {
        const struct job_create *gone = &history->index_failures[i];
        if (gone->index < 0 || gone->index >= c->completions)
            continue;
        struct job_create *all = &c->index_failures[gone->index];
        all->failures_n += gone->failures_n;
        all->last_failure_ms = gone->last_failure_ms > all->last_failure_ms ? gone->last_failure_ms : all->last_failure_ms;
        if (all->failures_n > c->backoff_limit_per_index)
            c->failed[gone->index] = 1;
    }
}

/* ---- counting ---- */

static void count_pod(struct context *c, const struct job_pod *p)
{
    struct job_plan *plan = c->plan;
    bool has_index = c->indexed && p->index >= 0 && p->index < c->completions;
    switch (p->phase) {
    case JOB_POD_SUCCEEDED:
        if (has_index)
            c->completed[p->index] = 1;
        else if (!c->indexed)
            plan->succeeded_n++;
        return;
    case JOB_POD_FAILED:
        if (!p->let_go)
            count_failure(c, p);
        return;
    case JOB_POD_PENDING:
    case JOB_POD_RUNNING:
        break;
    }
    if (p->deleting) {
        plan->terminating_n++;
        if (has_index && c->replace_failed_only)
            c->busy[p->index] = 1;
        return;
    }
    plan->active_n++;
    plan->ready_n += p->ready;
    if (has_index)
        c->busy[p->index] = 1;
}

static int64_t bits_count(const uint8_t *bits, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += bits[i];
    return count;
}

static int64_t restarts_of(const struct context *c)
{
    int64_t n = 0;
    for (uint32_t i = 0; c->restart_on_failure && i < c->pods_n; i++)
        n += c->pods[i]->restarts_n;
    return n;
}

/* ---- ends ---- */

/* WHY  first, and for good: restarts are counted in pods that go once the job has failed. */
static void check_decided(struct context *c, const struct json *job)
{
    JSON_EACH (condition, json_path(job, "status", "conditions", NULL)) {
        const char *type = json_get_text(condition, "type", "");
        bool fails = text_equal(type, "FailureTarget");
        if ((!fails && !text_equal(type, "SuccessCriteriaMet")) || !text_equal(json_get_text(condition, "status", ""), "True"))
            continue;
        c->plan->is_decided = true;
        verdict(c, fails ? JOB_FAIL : JOB_COMPLETE, json_get_text(condition, "reason", ""), json_get_text(condition, "message", ""));
    }
}

static void check_limits(struct context *c, const struct json *job, int64_t now_ms)
{
    int64_t started_ms = now_ms;
    time_parse(json_bytes(json_path(job, "status", "startTime", NULL)), &started_ms);
    int64_t deadline_s = json_get_int64(c->spec, "activeDeadlineSeconds", -1);
    if (deadline_s >= 0 && now_ms >= time_after_s(started_ms, deadline_s))
        verdict(c, JOB_FAIL, "DeadlineExceeded", "Job was active longer than specified deadline");
    if (c->backoff_limit_per_index >= 0) {
        int64_t max = json_get_int64(c->spec, "maxFailedIndexes", -1);
        if (max >= 0 && bits_count(c->failed, c->completions) > max)
            verdict(c, JOB_FAIL, "MaxFailedIndexesExceeded",
                    "Job has exceeded the specified maximal number of failed indexes");
    }
    if (c->plan->failed_n > c->backoff_limit || restarts_of(c) > c->backoff_limit)
        verdict(c, JOB_FAIL, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
}

static void check_success_policy(struct context *c)
{
    int rule_n = 0;
    JSON_EACH (rule, json_path(c->spec, "successPolicy", "rules", NULL)) {
        const char *indexes = json_get_text(rule, "succeededIndexes", NULL);
        int64_t need = json_get_int64(rule, "succeededCount", -1), have = 0, wanted = 0;
        uint8_t *bits = arena_zero(c->arena, (size_t)c->completions + 1, 1);
        if (indexes && !job_indexes_parse(indexes, bits, c->completions))
            continue;
        for (int64_t i = 0; i < c->completions; i++) {
            bool counts = !indexes || bits[i];
            wanted += counts;
            have += counts && c->completed[i];
        }
        if (have >= (need >= 0 ? need : wanted))
            verdict(c, JOB_COMPLETE, "SuccessPolicy", arena_printf(c->arena, "Matched rules at index %d", rule_n));
        rule_n++;
    }
}

static void check_completions(struct context *c)
{
    struct job_plan *plan = c->plan;
    if (c->indexed) {
        int64_t failed = bits_count(c->failed, c->completions);
        if (plan->succeeded_n + failed >= c->completions && failed > 0 && plan->active_n == 0)
            verdict(c, JOB_FAIL, "FailedIndexes", "Job has failed indexes");
    }
    bool enough =
        c->has_completions ? plan->succeeded_n >= c->completions : plan->succeeded_n > 0 && plan->active_n == 0;
    if (enough)
        verdict(c, JOB_COMPLETE, "CompletionsReached", "Reached expected number of succeeded pods");
}

/* ---- create and remove ---- */

static void remove_pod(struct context *c, const struct job_pod *p)
{
    c->plan->remove[c->plan->remove_n++] = p;
}

/* The newest, least far pods go first. */
static void remove_surplus(struct context *c, int64_t surplus)
{
    for (int pass = 0; pass < 2 && surplus > 0; pass++)
        for (uint32_t i = c->pods_n; i-- > 0 && surplus > 0;) {
            const struct job_pod *p = c->pods[i];
            bool running = p->phase == JOB_POD_RUNNING;
            if (p->phase > JOB_POD_RUNNING || p->deleting || p->expected || running != (pass == 1))
                continue;
            remove_pod(c, p);
            surplus--;
        }
}

/* Two active pods of one index: the later one goes. Active pods of indexes that are done go too. */
static int64_t remove_wrong_indexes(struct context *c)
{
    int64_t removed = 0;
    uint8_t *seen = arena_zero(c->arena, (size_t)c->completions + 1, 1);
    for (uint32_t i = 0; i < c->pods_n; i++) {
        const struct job_pod *p = c->pods[i];
        if (p->phase > JOB_POD_RUNNING || p->deleting || p->expected)
            continue;
        bool wrong = p->index < 0 || p->index >= c->completions || seen[p->index] || c->completed[p->index];
        if (!wrong) {
            seen[p->index] = 1;
            continue;
        }
        remove_pod(c, p);
        removed++;
    }
    return removed;
}

static void create_pod(struct context *c, int32_t index)
{
    struct job_create create = index >= 0 && c->backoff_limit_per_index >= 0 ? c->index_failures[index] : c->failures;
    create.index = index;
    c->plan->create[c->plan->create_n++] = create;
}

static void plan_pods(struct context *c)
{
    struct job_plan *plan = c->plan;
    int64_t open = c->has_completions      ? c->completions - plan->succeeded_n
                   : plan->succeeded_n > 0 ? plan->active_n
                                           : c->parallelism;
    if (c->indexed)
        open -= bits_count(c->failed, c->completions);
    int64_t want = open < c->parallelism ? open : c->parallelism;
    int64_t active = plan->active_n + (c->replace_failed_only ? plan->terminating_n : 0);
    if (c->indexed)
        active -= remove_wrong_indexes(c);
    if (active > want) {
        remove_surplus(c, active - want);
        return;
    }
    int64_t missing = want - active;
    if (!c->indexed && missing > BATCH_JOB_CREATE_MAX) /* those are all alike; the others are made when these are there */
        missing = BATCH_JOB_CREATE_MAX;
    plan->create = arena_alloc(c->arena, sizeof *plan->create * (size_t)(missing + 1));
    for (int64_t i = 0; !c->indexed && i < missing; i++)
        create_pod(c, -1);
    for (int64_t i = 0; c->indexed && i < c->completions && plan->create_n < missing; i++)
        if (!c->completed[i] && !c->failed[i] && !c->busy[i])
            create_pod(c, (int32_t)i);
}

static void remove_all_active(struct context *c)
{
    for (uint32_t i = 0; i < c->pods_n; i++)
        if (c->pods[i]->phase <= JOB_POD_RUNNING && !c->pods[i]->deleting && !c->pods[i]->expected)
            remove_pod(c, c->pods[i]);
}

static void context_init(struct context *c, const struct json *job, const struct job_history *history)
{
    const struct json *spec = c->spec = json_get(job, "spec");
    c->parallelism = json_get_int64(spec, "parallelism", 1);
    c->has_completions = json_is(json_get(spec, "completions"), JSON_NUMBER);
    c->completions = json_get_int64(spec, "completions", 0);
    c->backoff_limit_per_index = json_get_int64(spec, "backoffLimitPerIndex", -1);
    c->backoff_limit = json_get_int64(spec, "backoffLimit", c->backoff_limit_per_index >= 0 ? INT32_MAX : 6);
    c->indexed = text_equal(json_get_text(spec, "completionMode", ""), "Indexed") && c->has_completions &&
                 c->completions <= BATCH_JOB_INDEXES_MAX;
    c->replace_failed_only =
        text_equal(json_get_text(spec, "podReplacementPolicy", ""), "Failed") || json_get(spec, "podFailurePolicy");
    c->restart_on_failure =
        text_equal(json_get_text(json_path(spec, "template", "spec", NULL), "restartPolicy", ""), "OnFailure");
    size_t n = (size_t)(c->indexed ? c->completions : 0) + 1;
    c->completed = arena_zero(c->arena, n, 1);
    c->failed = arena_zero(c->arena, n, 1);
    c->busy = arena_zero(c->arena, n, 1);
    c->index_failures = arena_zero(c->arena, n, sizeof *c->index_failures);
    if (c->indexed) {
        job_indexes_parse(history->completed_indexes, c->completed, c->completions);
        job_indexes_parse(history->failed_indexes, c->failed, c->completions);
    }
    c->plan->succeeded_n = c->indexed ? 0 : history->succeeded_n;
    c->plan->failed_n = history->failed_n;
}

void batch_job_plan(struct arena *a, const struct json *job, const struct job_pod *const *pods, uint32_t pods_n,
                    const struct job_history *history, int64_t now_ms, struct job_plan *ret_plan)
{
    *ret_plan = (struct job_plan){.remove = arena_alloc(a, sizeof(void *) * ((size_t)pods_n * 2 + 1))};
    struct context c = {.arena = a, .pods = pods, .pods_n = pods_n, .plan = ret_plan};
    context_init(&c, job, history);
    check_decided(&c, job);
    count_gone(&c, history);
    for (uint32_t i = 0; i < pods_n; i++)
        count_pod(&c, pods[i]);
    if (c.indexed) {
        ret_plan->succeeded_n = bits_count(c.completed, c.completions);
        ret_plan->completed_indexes = job_indexes_format(a, c.completed, c.completions);
        if (c.backoff_limit_per_index >= 0)
            ret_plan->failed_indexes = job_indexes_format(a, c.failed, c.completions);
    }
    check_limits(&c, job, now_ms);
    if (c.indexed)
        check_success_policy(&c);
    check_completions(&c);
    if (ret_plan->verdict != JOB_GO_ON || json_get_bool(c.spec, "suspend", false))
        remove_all_active(&c);
    else
        plan_pods(&c);
}
