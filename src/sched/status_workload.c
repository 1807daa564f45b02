/* status_workload.c - what core decided about a Workload, written in Kueue's words
 *
 * LEVEL  the phase that the core has for the gang says what the object should show (core/state/state.h); a pass compares and patches what
 *        differs, again and again until it does. What happens in between, and in which order, does not matter. A patch carries the
 *        resourceVersion that was read.
 */
#include "base/amount.h"
#include "base/clock.h"
#include "base/quantity.h"
#include "codec/kinds/queued_kinds.h"
#include "sched/checks/check_list.h"
#include "sched/checks/passed_over.h"
#include "sched/domains/domain_status.h"
#include "sched/scheduler.h"
#include "sched/workload_metrics.h"
#include "sched/figures/workload_wait.h"

struct pass {
    struct scheduler *s;
    struct work *work;
    name_id gang;
    struct seen_gang *seen;  /* NULL: nothing has been told of it */
    const struct json *workload;
    struct json *conditions; /* a copy that is being changed */
    struct json *checks;     /* status.admissionChecks as it should be; NULL: as it is */
    struct json *evictions;  /* status.schedulingStats.evictions as they should be; NULL: as they are */
    struct json *unhealthy;  /* status.unhealthyNodes as they should be; NULL: as they are */
    struct json *requests;   /* status.resourceRequests as it should be; NULL: as it is */
    bool changed;
    int64_t now_ms, generation;
    int64_t retry_ms;        /* not to be queued before; 0: none */
    int64_t retries_n;       /* evicted so often because its pods were not ready in time; 0: as it is */
};

static void set(struct pass *x, const char *type, bool status, const char *reason, const char *message)
{
    if (object_condition_set(x->work->arena, x->conditions, type, status, reason, message, x->now_ms, x->generation))
        x->changed = true;
}

static char *path_of(const struct pass *x, const char *sub)
{
    return kube_path(x->work->arena, "kueue.x-k8s.io", "v1beta2", "workloads", x->work->ns, x->work->name, sub);
}

static struct kube_object_ref ref_of(const struct pass *x)
{
    return (struct kube_object_ref){"kueue.x-k8s.io/v1beta2", "Workload", x->work->ns, x->work->name, object_meta(x->workload, "uid")};
}

/* Once the next write is done. */
static void event_then(struct pass *x, const char *type, const char *reason, const char *text)
{
    struct kube_object_ref about = ref_of(x);
    kube_event_then(x->s->events, x->work, &about, type, reason, "%s", text);
}

/* SOURCE Kueue: who is deactivated starts with a new count of retries when he is activated. */
static bool forget_retries(struct pass *x, struct json *status)
{
    if (json_get_bool(json_get(x->workload, "spec"), "active", true) ||
        !json_is(json_path(x->workload, "status", "requeueState", NULL), JSON_OBJECT))
        return false;
    if (status)
        json_set(x->work->arena, status, "requeueState", json_new(x->work->arena, JSON_NULL));
    return true;
}

/* Until when it is kept out; 0: it is not. */
static int64_t pause_end_ms(const struct json *workload)
{
    int64_t ms;
    return time_parse(json_bytes(json_path(workload, "status", "requeueState", "requeueAt", NULL)), &ms) ? ms : 0;
}

/* When it may be tried again, and how often it was evicted. SOURCE Kueue: a later time stays, whoever set it; one that has passed goes. */
static void set_pause(struct pass *x, struct json *status)
{
    struct arena *a = x->work->arena;
    int64_t ms = pause_end_ms(x->workload);
    char text[TIME_TEXT_MAX];
    if (x->retries_n)
        json_set_int64(a, json_ensure_object(a, status, "requeueState"), "count", x->retries_n);
    if (x->retry_ms > ms)
        json_set_text(a, json_ensure_object(a, status, "requeueState"), "requeueAt", time_format(text, x->retry_ms));
    else if (ms && ms <= x->now_ms)
        json_set(a, json_ensure_object(a, status, "requeueState"), "requeueAt", json_new(a, JSON_NULL));
}

/* WHY the whole list: it can be written only if nobody has changed it since (the resourceVersion), and who wrote an entry keeps it. */
static void send(struct pass *x, struct json *admission)
{
    struct json *patch = object_patch(x->work->arena, x->workload);
    struct json *status = json_ensure_object(x->work->arena, patch, "status");
    json_set(x->work->arena, status, "conditions", x->conditions);
    if (admission)
        json_set(x->work->arena, status, "admission", admission);
    if (admission && json_path(x->workload, "status", "resourceRequests", NULL)) /* the admission says it now */
        json_set(x->work->arena, status, "resourceRequests", json_new(x->work->arena, JSON_NULL));
    else if (x->requests)
        json_set(x->work->arena, status, "resourceRequests", x->requests);
    if (x->evictions)
        json_set(x->work->arena, json_ensure_object(x->work->arena, status, "schedulingStats"), "evictions", x->evictions);
    if (x->unhealthy)
        json_set(x->work->arena, status, "unhealthyNodes", x->unhealthy);
    if (x->checks)
        json_set(x->work->arena, status, "admissionChecks", x->checks->n ? x->checks : json_new(x->work->arena, JSON_NULL));
    if (!forget_retries(x, status))
        set_pause(x, status);
    work_patch(x->work, KUBE_PATCH_MERGE, path_of(x, "status"), patch);
}

/* ---- admission checks ---- */

/* Of its queue, given this admission; NULL: it waits. Where the queue is gone: what it lists. */
static struct json *demanded(const struct pass *x, const struct json *admission)
{
    struct arena *a = x->work->arena;
    const struct source *queues = &x->s->sources[SOURCE_QUEUES];
    const char *local = arena_printf(a, "%s/%s", x->work->ns, json_get_text(json_get(x->workload, "spec"), "queueName", ""));
    const char *queue = admission ? json_get_text(admission, "clusterQueue", "")
                                  : kube_cache_marked(x->s->sources[SOURCE_LOCAL_QUEUES].cache, local);
    struct json *names = json_new(a, JSON_ARRAY);
    if (map_find_text(queues->demands, arena_printf(a, "/%s", queue)))
        return check_list_demanded(a, kube_cache_get(queues->cache, "", queue, a), admission);
    JSON_EACH (state, kube_cache_raw(queues->cache, "", queue).n ? NULL : json_path(x->workload, "status", "admissionChecks", NULL))
        check_list_add(a, &names, json_get_text(state, "name", ""));
    return names;
}

static const struct json *admission_now(const struct pass *x)
{
    const struct json *admission = json_path(x->workload, "status", "admission", NULL);
    return json_is(admission, JSON_OBJECT) ? admission : NULL;
}

/* The list follows the queue, and with quota the checks that are answered here. Returns whether it has to be written. */
static bool sync_checks(struct pass *x, const struct json *admission)
{
    x->checks = check_list_synced(x->work->arena, x->workload, demanded(x, admission), x->now_ms);
    struct json *answered = admission ? status_checks_answered(x->s, x->seen, x->workload, x->checks, x->work, x->conditions) : NULL;
    x->checks = answered ? answered : x->checks;
    return x->checks != NULL;
}

/* SOURCE Kueue: in two steps, said, then done. Who begins anew between them goes on with the second. */
static void deactivate(struct pass *x, const char *reason, const char *message)
{
    if (!object_condition_true(x->workload, "DeactivationTarget")) {
        set(x, "DeactivationTarget", true, reason, message);
        send(x, NULL);
        return;
    }
    struct json *patch = object_patch(x->work->arena, x->workload);
    json_set_bool(x->work->arena, json_ensure_object(x->work->arena, patch, "spec"), "active", false);
    work_patch(x->work, KUBE_PATCH_MERGE, path_of(x, NULL), patch);
}

/* What a check rejects is deactivated. Returns true when a write is on its way. */
static bool follow_rejection(struct pass *x)
{
    struct arena *a = x->work->arena;
    const char *told = check_list_told(a, x->workload, "Rejected");
    if (!told || !object_condition_true(x->workload, "QuotaReserved") || object_condition_true(x->workload, "Evicted") ||
        object_condition_true(x->workload, "Finished") || !json_get_bool(json_get(x->workload, "spec"), "active", true))
        return false;
    if (!object_condition_true(x->workload, "DeactivationTarget"))
        event_then(x, "Warning", "AdmissionCheckRejected", arena_printf(a, "Deactivated due to %s", told));
    deactivate(x, "AdmissionCheck", told);
    return true;
}

static void drop_condition(struct pass *x, const char *type)
{
    JSON_EACH (condition, x->conditions)
        if (strcmp(json_get_text(condition, "type", ""), type) == 0) {
            (void)json_remove_item(x->conditions, condition);
            x->changed = true;
            break;
        }
}

/* It waits no longer: the reason goes with whatever is written next. */
static void drop_reason(struct pass *x)
{
    drop_condition(x, OBJECT_WAITING);
    drop_condition(x, OBJECT_PROMISED);
}

/* ---- admission ---- */

/* What quota counts of one member. */
static int64_t request_of(const struct pod_set *set, name_id resource)
{
    const struct amount *all = set->is_charged ? set->charged : set->shape.requests;
    for (uint32_t i = 0, n = set->is_charged ? set->charged_n : set->shape.requests_n; i < n; i++)
        if (all[i].resource == resource)
            return all[i].value;
    return 0;
}

static struct json *admission_of(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct intern *names = x->s->names;
    const struct flavor_choice *choices;
    name_id queue;
    uint32_t choices_n = state_gang_choices(x->s->state, x->gang, &queue, &choices);
    struct decoder d = x->s->decoder;
    struct gang_record g;
    d.arena = a;
    if (decode_workload(&d, x->workload, &g, NULL) < 0)
        return NULL;
    struct json *admission = json_new(a, JSON_OBJECT);
    json_set_text(a, admission, "clusterQueue", intern_name(names, queue));
    struct json *list = json_ensure_array(a, admission, "podSetAssignments");
    for (uint32_t i = 0; i < g.pod_sets_n; i++) {
        struct json *assignment = json_new(a, JSON_OBJECT);
        int32_t granted = state_gang_granted(x->s->state, x->gang, g.pod_sets[i].name);
        int64_t count = granted >= 0 ? granted : 0; /* without: the set is newer than what core knows, and the write will be refused */
        json_set_text(a, assignment, "name", intern_name(names, g.pod_sets[i].name));
        struct json *flavors = json_ensure_object(a, assignment, "flavors"),
                    *usage = json_ensure_object(a, assignment, "resourceUsage");
        for (uint32_t c = 0; c < choices_n; c++) {
            if (choices[c].pod_set != i)
                continue;
            const char *resource = intern_name(names, choices[c].resource);
            bool pods = strcmp(resource, "pods") == 0;
            int64_t one = pods ? 1 : request_of(&g.pod_sets[i], choices[c].resource);
            json_set_text(a, flavors, resource, intern_name(names, choices[c].flavor));
            json_set_text(a, usage, resource, status_amount(a, resource, amount_times(one, count)));
        }
        json_set_int64(a, assignment, "count", count);
        domain_status_add(a, x->s->state, names, x->gang, i, assignment);
        json_append(list, assignment);
    }
    return admission;
}

/* What quota would count of the members of each pod set. WHY with a write that is due anyway: it costs none of its own. */
static void say_requests(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct decoder d = x->s->decoder;
    struct gang_record g;
    d.arena = a;
    if (decode_workload(&d, x->workload, &g, NULL) < 0)
        return;
    struct json *list = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < g.pod_sets_n; i++) {
        const struct pod_set *set = &g.pod_sets[i];
        struct json *one = json_new(a, JSON_OBJECT), *sums = json_ensure_object(a, one, "resources");
        const struct amount *all = set->is_charged ? set->charged : set->shape.requests;
        json_set_text(a, one, "name", intern_name(x->s->names, set->name));
        for (uint32_t k = 0, n = set->is_charged ? set->charged_n : set->shape.requests_n; k < n; k++) {
            const char *resource = intern_name(x->s->names, all[k].resource);
            json_set_text(a, sums, resource, status_amount(a, resource, amount_times(all[k].value, set->count - set->reclaimed)));
        }
        json_append(list, one);
    }
    const struct json *is = json_path(x->workload, "status", "resourceRequests", NULL);
    x->requests = is && json_equal(is, list) ? NULL : list;
}

/* What kept it from its queue is over: its wait begins here. */
static void requeue(struct pass *x)
{
    static const char *const again[][3] = {
        {"ClusterQueueStopped", "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"},
        {"LocalQueueStopped", "LocalQueueRestarted", "The LocalQueue was restarted after being stopped"},
        {"Deactivated", "Reactivated", "The workload was reactivated"},
        {"", "BackoffFinished", "The workload backoff was finished"}};
    const struct json *requeued = object_condition(x->workload, "Requeued");
    if (!requeued || object_condition_true(x->workload, "Requeued"))
        return;
    size_t i = 0;
    while (!text_starts(json_get_text(requeued, "reason", ""), again[i][0]))
        i++;
    set(x, "Requeued", true, again[i][1], again[i][2]);
}

/* What an eviction left: its conditions stay, but no longer hold. */
static void clear_eviction(struct pass *x)
{
    static const char *const types[] = {"Evicted", "Preempted"};
    for (int i = 0; i < 2; i++) {
        const struct json *old = object_condition(x->workload, types[i]);
        if (old && object_condition_true(x->workload, types[i]))
            set(x, types[i], false, "QuotaReserved",
                arena_printf(x->work->arena, "Previously: %s", json_get_text(old, "message", "")));
    }
    if (object_condition_true(x->workload, "DeactivationTarget"))
        set(x, "DeactivationTarget", false, "Reactivated", "The workload was activated again");
    requeue(x);
}

/* The object shows it: its Events say so. */
static void tell_admitted(struct pass *x, const char *queue)
{
    bool admitted = object_condition_true(x->workload, "Admitted");
    x->seen->admit_sent = false;
    x->seen->completion_sent &= !admitted;
    int64_t waited_s = workload_waited_ms(x->workload, x->now_ms) / 1000;
    workload_metrics_reserved(x->s, x->workload, queue, x->now_ms);
    if (admitted)
        workload_metrics_admitted(x->s, x->workload, queue, false, x->now_ms);
    struct kube_object_ref about = ref_of(x);
    kube_event_done(x->s->events, &about, "QuotaReserved", "Quota reserved in ClusterQueue %s, wait time since queued was %llds", queue,
                    (long long)waited_s);
    if (admitted)
        kube_event_done(x->s->events, &about, "Admitted", "Admitted by ClusterQueue %s, wait time since reservation was 0s", queue);
}

/* Those of our own kinds, where somebody waits for pods; others are said to be ready by whoever made them, or by nobody. */
static bool says_when_ready(const struct pass *x)
{
    const struct json *owner = json_item(json_path(x->workload, "metadata", "ownerReferences", NULL), 0);
    const char *kind = json_get_text(owner, "kind", ""); /* pods of a group own their Workload, and none controls it */
    return x->s->config.policy.ready.timeout_ms && (queued_kind_named(kind) || strcmp(kind, "Pod") == 0);
}

static void say_unready(struct pass *x)
{
    set(x, "PodsReady", false, "WaitForStart", "Not all pods are ready or succeeded");
}

/* Where its controller says the rest: no write more. */
static void say_admitted(struct pass *x)
{
    set(x, "Admitted", true, "Admitted", "The workload is admitted");
    if (says_when_ready(x))
        say_unready(x);
}

/* Its domains, where the object does not say them as they are now. */
static struct json *domains_moved(const struct pass *x)
{
    return domain_status_moved(x->work->arena, x->s->state, x->s->names, x->gang, x->workload);
}

static void follow_unhealthy(struct pass *x)
{
    x->unhealthy = domain_status_unhealthy(x->work->arena, x->s->state, x->s->names, x->gang, x->workload);
}

/* Checks are ready and it has its places, or whoever reserved it asks for none. */
static void complete_admission(struct pass *x, const char *queue)
{
    if (!check_list_ready(x->workload, demanded(x, admission_now(x))))
        return; /* core hears of it in a moment */
    (void)sync_checks(x, admission_now(x));
    drop_reason(x);
    say_admitted(x);
    send(x, domains_moved(x));
    if (x->seen)
        x->seen->completion_sent = true;
}

/* Quota that it had already: as tell_admitted. */
static void tell_completed(struct pass *x, const char *queue)
{
    int64_t since_ms;
    const struct json *reserved = object_condition(x->workload, "QuotaReserved");
    x->seen->completion_sent = false;
    if (!time_parse(bytes_of(json_get_text(reserved, "lastTransitionTime", "")), &since_ms) || since_ms > x->now_ms)
        since_ms = x->now_ms;
    workload_metrics_admitted(x->s, x->workload, queue, true, x->now_ms);
    struct kube_object_ref about = ref_of(x);
    kube_event_done(x->s->events, &about, "Admitted", "Admitted by ClusterQueue %s, wait time since reservation was %llds", queue,
                    (long long)(x->now_ms - since_ms) / 1000);
}

/* What the object says already: true, and what is left to be said is on its way. */
static bool is_told(struct pass *x, const char *queue)
{
    bool reserved = object_condition_true(x->workload, "QuotaReserved");
    bool holds = reserved && !object_condition_true(x->workload, "Evicted");
    if (holds && x->seen && x->seen->admit_sent) {
        tell_admitted(x, queue);
        act_outcome(x->s, object_condition_true(x->workload, "Admitted") ? EFFECT_ADMIT : EFFECT_RESERVE, x->gang, 0, 0);
    }
    if (holds && x->seen && x->seen->completion_sent && object_condition_true(x->workload, "Admitted"))
        tell_completed(x, queue);
    /* evicted, and its job has not stopped yet: this comes again when it has. Or: it was admitted and somebody has taken it back, of which
     * core hears in a moment */
    return reserved || state_gang_is_told(x->s->state, x->gang);
}

/* Its queue, as core has given it. */
static const char *queue_of(const struct pass *x)
{
    const struct flavor_choice *choices;
    name_id queue;
    (void)state_gang_choices(x->s->state, x->gang, &queue, &choices);
    return intern_name(x->s->names, queue);
}

static void say_reserved(struct pass *x, const char *queue, struct json *admission)
{
    clear_eviction(x);
    set(x, "QuotaReserved", true, "QuotaReserved", arena_printf(x->work->arena, "Quota reserved in ClusterQueue %s", queue));
    const struct json *list = sync_checks(x, admission) ? x->checks : json_path(x->workload, "status", "admissionChecks", NULL);
    struct json *anew = list ? check_list_tried_anew(x->work->arena, list) : NULL;
    x->checks = anew ? anew : x->checks;
    follow_unhealthy(x); /* of an earlier admission, that others ended */
    if (x->seen)
        x->seen->admit_sent = true;
}

/* QuotaReserved and Admitted follow at once: one write. */
static void admit(struct pass *x)
{
    const char *queue = queue_of(x);
    if (is_told(x, queue)) {
        bool holds = object_condition_true(x->workload, "QuotaReserved") && !object_condition_true(x->workload, "Evicted");
        if (holds && !object_condition_true(x->workload, "Admitted")) {
            complete_admission(x, queue);
            return;
        }
        if (!holds || follow_rejection(x))
            return;
        drop_reason(x); /* somebody else has admitted it */
        struct json *moved = domains_moved(x);
        follow_unhealthy(x);
        if (sync_checks(x, admission_now(x)) || x->changed || moved || x->unhealthy)
            send(x, moved);
        return;
    }
    struct json *admission = admission_of(x);
    if (!admission || !check_list_ready(x->workload, demanded(x, admission)))
        return; /* it has checks by now, of which core hears in a moment */
    drop_reason(x);
    say_reserved(x, queue, admission);
    say_admitted(x);
    send(x, admission);
}

static bool awaits_checks(const struct seen_gang *g)
{
    return !g || !g->code || strcmp(g->code, OBJECT_AWAITS_CHECKS) == 0;
}

/* Of quota that is ours: what it waits for, as a tree. Another writer's reservation is told by its conditions alone. */
static void say_awaited(struct pass *x, bool ours)
{
    const struct seen_gang *g = x->seen;
    bool checks = awaits_checks(g);
    const char *awaited = checks ? OBJECT_AWAITS_CHECKS : OBJECT_AWAITS_PLACES;
    set(x, "Admitted", false, awaited, checks ? "The workload has not all checks ready" : g->text);
    if (ours)
        set(x, OBJECT_WAITING, true, awaited, g && g->tree ? g->tree : "");
    else
        drop_reason(x);
}

/* It has quota, and waits for its checks, or (when they are ready) for places. */
static void reserve(struct pass *x)
{
    const char *queue = queue_of(x);
    if (is_told(x, queue)) {
        if (!object_condition_true(x->workload, "QuotaReserved") || object_condition_true(x->workload, "Evicted") || follow_rejection(x))
            return;
        if (!awaits_checks(x->seen))
            status_placeless(x->s, x->work, x->seen, ref_of(x));
        bool lists = sync_checks(x, admission_now(x)), ours = object_awaits_with_quota(x->workload);
        const char *said = json_get_text(object_condition(x->workload, OBJECT_WAITING), "message", "");
        const char *tree = ours && x->seen ? x->seen->tree : NULL;
        int64_t wait_ms = tree ? status_telling_wait_ms(x->s, x->seen, tree, said, REST_IS_SAID) : 0;
        if (wait_ms > 0)
            work_again(x->work, wait_ms);
        if (wait_ms == 0)
            say_awaited(x, ours);
        if (x->changed && x->seen)
            telling_sent(&x->seen->telling, loop_now_ms(x->s->loop));
        if (lists || x->changed)
            send(x, NULL);
        return;
    }
    struct json *admission = admission_of(x);
    if (!admission)
        return;
    say_reserved(x, queue, admission);
    say_awaited(x, true);
    send(x, admission);
}

/* The job that the preemptor is of: the core does not know it. */
static name_id job_uid_of(const struct pass *x, name_id preemptor)
{
    const char *key = decode_gang_object(GANG_WORKLOAD, intern_name(x->s->names, preemptor));
    const struct json *workload = source_get(x->s, SOURCE_WORKLOADS, key, x->work->arena);
    const char *uid = workload ? object_label(workload, "kueue.x-k8s.io/job-uid") : "";
    return *uid ? intern_text_id(x->s->names, uid) : 0;
}

static const char *why_evicted(const struct pass *x, const struct reason *why)
{
    struct reason told = why ? *why : (struct reason){.code = REASON_WAITING};
    if (told.code == REASON_PODS_TIMEOUT)
        return arena_printf(x->work->arena, "Exceeded the PodsReady timeout %s", x->work->key);
    struct buf text;
    buf_init(&text);
    if (told.code == REASON_PREEMPTED)
        told.resource = job_uid_of(x, told.name);
    explain_sentence(&text, why ? &told : NULL, x->s->names);
    const char *message = text.n ? arena_text_n(x->work->arena, text.data, text.n) : "evicted";
    buf_free(&text);
    return message;
}

/* Both sides hear of it: this is the preemptor's. WHY  nobody's name: it is one Event, however many go. */
static void tell_preemptor(struct pass *x, const struct reason *why)
{
    char ns[256];
    const char *name;
    pod_key_split(decode_gang_object(GANG_WORKLOAD, intern_name(x->s->names, why->name)), ns, &name);
    struct kube_object_ref about = {"kueue.x-k8s.io/v1beta2", "Workload", ns, name, intern_name(x->s->names, why->pod_set)};
    const struct reason *spared = reason_find(why->child, REASON_SPARED);
    struct buf text;
    buf_init(&text);
    if (spared) {
        buf_text(&text, "; ");
        explain_sentence(&text, spared, x->s->names);
    }
    kube_event_then(x->s->events, x->work, &about, "Normal", "PreemptedWorkload",
                    "Waits for workloads of ClusterQueue %s that were preempted for it (%s)%s", queue_of(x),
                    preemption_name((enum preemption)why->have), text.n ? text.data : "");
    buf_free(&text);
}

/* The object shows it. WHY from what it shows: it may have given back everything by now. */
static void count_eviction(struct pass *x)
{
    x->seen->evict_sent = false;
    workload_metrics_evicted(x->s, x->workload, x->seen->charged_queue ? intern_name(x->s->names, x->seen->charged_queue) : "");
    workload_metrics_preempted(x->s, x->work->arena, x->workload);
}

/* Its quota is held yet at the end of its pause, which is said all the same. SOURCE Kueue. */
static void end_pause(struct pass *x)
{
    const struct json *requeued = object_condition(x->workload, "Requeued");
    int64_t ms = pause_end_ms(x->workload);
    if (!ms || !text_equal(json_get_text(requeued, "reason", ""), "PodsReadyTimeout") || object_condition_true(x->workload, "Finished"))
        return;
    if (ms > x->now_ms) {
        work_again(x->work, ms - x->now_ms);
        return;
    }
    requeue(x);
    send(x, NULL);
}

/* RACE it has to go, or is over, before anybody has looked at its admission. */
static void tell_late(struct pass *x)
{
    if (x->seen && x->seen->admit_sent && object_condition_true(x->workload, "QuotaReserved"))
        tell_admitted(x, json_get_text(admission_now(x), "clusterQueue", ""));
}

static void evict(struct pass *x)
{
    const struct reason *why = state_gang_reason(x->s->state, x->gang);
    if (object_condition_true(x->workload, "Evicted") || object_condition_true(x->workload, "Finished")) {
        status_refused_note(x->s, x->seen, why, "");
        end_pause(x);
        act_outcome(x->s, EFFECT_EVICT, x->gang, 0, 0);
        return;
    }
    if (state_gang_is_told_evicted(x->s->state, x->gang))
        return; /* it was, and somebody has reserved it anew, of which core hears in a moment */
    if (x->seen && act_stop_waits(x->s, x->work, x->seen, x->workload, why))
        return;
    tell_late(x);
    status_refused_note(x->s, x->seen, why, work_failure(x->work));
    if (why && why->code == REASON_RETRIES_EXCEEDED && json_get_bool(json_get(x->workload, "spec"), "active", true)) {
        deactivate(x, "RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries");
        return; /* its change brings the eviction */
    }
    const char *reason = status_evicted_reason(why), *message = why_evicted(x, why);
    if (strcmp(reason, "Deactivated") == 0 && object_condition_true(x->workload, "DeactivationTarget")) {
        const struct json *target = object_condition(x->workload, "DeactivationTarget");
        reason = arena_printf(x->work->arena, "DeactivatedDueTo%s", json_get_text(target, "reason", ""));
        message = arena_printf(x->work->arena, "%s due to %s", message, json_get_text(target, "message", "its maker"));
        drop_condition(x, "DeactivationTarget"); /* SOURCE Kueue: said, it is no target any more */
    }
    if (strcmp(reason, "AdmissionCheck") == 0) {
        const char *told = check_list_told(x->work->arena, x->workload, "Retry");
        message = told ? arena_printf(x->work->arena, "Evicted due to %s", told) : message;
        x->retry_ms = check_list_retry_ms(x->workload);
        x->retry_ms = x->retry_ms > x->now_ms ? x->retry_ms : 0;
    }
    if (why && why->code == REASON_PODS_TIMEOUT) {
        x->retry_ms = why->have;
        x->retries_n = why->need;
    }
    x->checks = check_list_reset(x->work->arena, x->workload, x->now_ms);
    follow_unhealthy(x);
    set(x, "Evicted", true, reason, message);
    bool preempted = why && why->code == REASON_PREEMPTED;
    if (preempted)
        set(x, "Preempted", true, preemption_name((enum preemption)why->have), message);
    if (!x->retries_n) /* SOURCE Kueue: of one that was late its job's end says so; until then its pause has no end */
        set(x, "Requeued", false, reason, message);
    if (x->changed) {
        const char *plain, *cause;
        workload_eviction_parts(x->work->arena, x->workload, reason, &plain, &cause);
        x->evictions = workload_evictions_counted(x->work->arena, x->workload, plain, cause);
        if (preempted) {
            event_then(x, "Normal", "Preempted", message);
            tell_preemptor(x, why);
        }
        event_then(x, "Normal", arena_printf(x->work->arena, "EvictedDueTo%s", reason), message);
        send(x, NULL);
        if (x->seen)
            x->seen->evict_sent = true;
    }
}

/* It does not stand in its queue. */
static bool is_kept_out(const char *code)
{
    static const char *const codes[] = {"Suspended", "OnHold", "AdmissionGated", "Deactivated"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

/* Nothing has been said of it since it changed. SOURCE Kueue: a reason that is over is not left there, and with its feature gate
 * UnadmittedWorkloadsExplicitStatus no Workload is without one. WHY  only where nobody decides, or it was asked for: else the next decision
 * says more, and one write does. */
static void pending_untried(struct pass *x)
{
    const char *said = json_get_text(object_condition(x->workload, "QuotaReserved"), "reason", "");
    bool lists = sync_checks(x, NULL);
    int64_t pause_ms = pause_end_ms(x->workload);
    if (*said ? strcmp(said, "PendingEvaluation") != 0 : x->s->config.policy.explicit_status) {
        set(x, "QuotaReserved", false, "PendingEvaluation", "Workload is pending evaluation in the scheduling queue");
        set(x, "Admitted", false, "NoReservation", "The workload has no reservation");
    }
    if (says_when_ready(x))
        say_unready(x);
    if (pause_ms > x->now_ms)
        work_again(x->work, pause_ms - x->now_ms);
    else
        requeue(x);
    drop_reason(x);
    if (lists || x->changed || (pause_ms && pause_ms <= x->now_ms))
        send(x, NULL);
}

/* An evicted group that is to be whole again before it comes back: its pause ends as any other's. */
static bool lacks_pods(const struct pass *x, const struct reason *why)
{
    return why && why->code == REASON_ON_HOLD && object_condition_true(x->workload, "WaitingForReplacementPods");
}

/* Whether there is nothing to be said but that it has not been tried. Held, a pause is no reason of its own. */
static bool is_untried(const struct pass *x)
{
    const struct reason *why = x->s->config.hold ? state_gang_reason(x->s->state, x->gang) : NULL;
    return !x->seen->text || (x->s->config.hold && (!why || why->code == REASON_BACKOFF || lacks_pods(x, why)));
}

/* The sentence stands in QuotaReserved, the tree in a condition of its own: one write. */
static void pending(struct pass *x)
{
    struct seen_gang *g = x->seen;
    const struct reason *why = state_gang_reason(x->s->state, x->gang);
    if (!g || object_condition_true(x->workload, "QuotaReserved") || object_condition_true(x->workload, "Finished"))
        return;
    if (workload_held_message(json_get_text(object_condition(x->workload, "QuotaReserved"), "message", "")))
        return; /* its owner has said so */
    if (status_passed_over_ended(x->s, x->work, x->workload, x->conditions)) {
        send(x, NULL);
        return;
    }
    if (is_untried(x)) {
        if (x->s->config.hold || x->s->config.policy.explicit_status)
            pending_untried(x);
        return;
    }
    bool lists = sync_checks(x, NULL);
    const char *said = json_get_text(object_condition(x->workload, "QuotaReserved"), "message", "");
    const char *text = passed_over_told(x->work->arena, x->workload, status_refused_text(x->s, x->work->arena, why, g->text));
    /* SOURCE Kueue: what is deactivated counts as evicted, although it had nothing. That is more than a reason, and written at once. */
    bool is_shut = strcmp(g->code, "Deactivated") == 0 && !object_condition_true(x->workload, "Evicted");
    int64_t pause_ms = pause_end_ms(x->workload);
    bool is_back = pause_ms && pause_ms <= x->now_ms;
    bool lacks = lacks_pods(x, why);
    if (lacks && pause_ms > x->now_ms)
        work_again(x->work, pause_ms - x->now_ms);
    enum telling_rest rest = telling_rest(g->tree, object_waiting(x->workload));
    int64_t wait_ms = is_shut || is_back || forget_retries(x, NULL) ? 0 : status_telling_wait_ms(x->s, g, text, said, rest);
    if (wait_ms > 0)
        work_again(x->work, wait_ms);
    if (wait_ms != 0 && lists)
        send(x, NULL);
    if (wait_ms != 0)
        return;
    bool is_news = telling_cause(said) != telling_cause(text);
    set(x, "QuotaReserved", false, g->code, text);
    if (is_shut) {
        struct json *checks = check_list_reset(x->work->arena, x->workload, x->now_ms);
        x->checks = checks ? checks : x->checks; /* what else is wrong with the list comes with the next pass */
        set(x, "Evicted", true, g->code, text);
    }
    set(x, "Admitted", false, "NoReservation", "The workload has no reservation");
    if (says_when_ready(x))
        say_unready(x);
    if (!is_kept_out(g->code) || (lacks && pause_ms <= x->now_ms)) {
        requeue(x);
        say_requests(x);
    }
    set(x, OBJECT_WAITING, true, g->code, g->tree);
    const char *promised = status_promised_text(x->s, x->work->arena, x->gang, x->workload);
    if (promised)
        set(x, OBJECT_PROMISED, true, "Promised", promised);
    else
        drop_condition(x, OBJECT_PROMISED);
    if (is_news)
        event_then(x, "Warning", g->code, text);
    /* somebody has taken its quota back, and could not take this out, which others had written */
    send(x, admission_now(x) ? json_new(x->work->arena, JSON_NULL) : NULL);
    telling_sent(&g->telling, loop_now_ms(x->s->loop));
}

/* ---- one pass ---- */

/* It is gone, or on its way out: its job stops by itself, and an eviction is done. */
static void gone(struct pass *x, enum gang_phase phase)
{
    if (phase == GANG_RESERVED || phase == GANG_CHECKING)
        act_outcome(x->s, phase == GANG_RESERVED ? EFFECT_ADMIT : EFFECT_RESERVE, x->gang, 0, E_NOTFOUND);
    else if (phase == GANG_LEAVING)
        act_outcome(x->s, EFFECT_EVICT, x->gang, 0, 0);
}

void status_workload_farewell(struct scheduler *s, struct seen_gang *g)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *key = seen_gang_object(s, g), *name;
    char ns[256];
    pod_key_split(key, ns, &name);
    struct work w = {.key = key, .ns = ns, .name = name, .arena = a};
    struct pass x = {.s = s, .work = &w, .gang = g->key, .seen = g, .now_ms = loop_wall_ms(s->loop)};
    x.workload = source_get(s, SOURCE_WORKLOADS, key, a);
    tell_late(&x);
}

void status_workload(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (!s->leading)
        return;
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(s->loop)};
    x.gang = intern_find(s->names, bytes_of(arena_printf(w->arena, "%s%s", decode_gang_prefix(GANG_WORKLOAD), w->key)));
    x.seen = x.gang ? seen_gang(s, x.gang) : NULL;
    enum gang_phase phase = x.gang ? state_gang_phase(s->state, x.gang) : GANG_UNKNOWN;
    x.workload = source_get(s, SOURCE_WORKLOADS, w->key, w->arena);
    if (!x.workload || object_deleting(x.workload)) {
        tell_late(&x);
        gone(&x, phase);
        return;
    }
    const struct json *old = json_path(x.workload, "status", "conditions", NULL);
    x.conditions = json_is(old, JSON_ARRAY) ? json_clone(w->arena, old) : json_new(w->arena, JSON_ARRAY);
    x.generation = json_int64(json_path(x.workload, "metadata", "generation", NULL), 0);
    if (x.seen && (phase != GANG_CHECKING || awaits_checks(x.seen)))
        x.seen->placeless_ms = x.seen->placeless_n = 0;
    if (phase != GANG_LEAVING)
        status_refused_note(s, x.seen, NULL, "");
    if (x.seen && x.seen->evict_sent && object_condition_true(x.workload, "Evicted"))
        count_eviction(&x);
    switch (phase) {
    case GANG_CHECKING:
        reserve(&x);
        break;
    case GANG_RESERVED:
    case GANG_ADMITTED:
    case GANG_BOUND:
        admit(&x);
        break;
    case GANG_LEAVING:
        evict(&x);
        break;
    case GANG_WAITING:
        pending(&x);
        break;
    case GANG_UNKNOWN:
    case GANG_OVER:
        tell_late(&x);
        break;
    }
}
