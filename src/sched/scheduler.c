/* scheduler.c - making and ending a scheduler; who may act (leader election) and from when on (everything read) */
#include "sched/groups/composites.h"
#include "sched/scheduler.h"
#include <stdio.h>
#include <unistd.h>
#include "base/log.h"
#include "sched/checks/held_nodes.h"
#include "sched/binding/queue_gates.h"
#include "sched/domains/gated_pods.h"
#include "sched/domains/stray_pods.h"
#include "sched/domains/unadmitted_pods.h"
#include "sched/groups/kai_queue_source.h"
#include "sched/machines/kept_pods.h"
#include "sched/forecast/run_times.h"
#include "sched/workload_metrics.h"

static void add_name(struct scheduler *s, const char *name)
{
    if (s->scheduler_names_n < sizeof s->scheduler_names / sizeof *s->scheduler_names)
        s->scheduler_names[s->scheduler_names_n++] = intern_text_id(s->names, name);
}

static int32_t priority_of(void *ctx, const char *class_name)
{
    const struct scheduler *s = ctx;
    const int32_t *value = map_find_text(s->classes, class_name);
    return value ? *value : 0;
}

static bool has_queue(void *ctx, const char *name)
{
    const struct scheduler *s = ctx;
    return kube_cache_raw(s->sources[SOURCE_VOLCANO_QUEUES].cache, "", name).n > 0;
}

/* WHY  of a name that there is none of, too: a group waits for its Queue, unless the cluster has Volcano's alone. */
static bool names_kai_queue(void *ctx, const char *name)
{
    const struct scheduler *s = ctx;
    return kai_queue_source_has(s->kai_queues, name) || (kai_queue_source_has(s->kai_queues, NULL) && !has_queue(ctx, name));
}

/* Where they are somebody else's, their Queues' status is, too. */
static bool serves_kai(const struct scheduler *s)
{
    bool is = false;
    for (uint32_t i = 0; i < s->scheduler_names_n; i++)
        is |= strcmp(intern_name(s->names, s->scheduler_names[i]), DECODE_KAI_SCHEDULER) == 0;
    return is;
}

/* KAI's podgrouper makes PodGroups here, as it seems. */
static bool is_grouped(void *arg, name_id scheduler)
{
    const struct scheduler *s = arg;
    return kube_cache_count(s->sources[SOURCE_KAI].cache) > 0 && strcmp(intern_name(s->names, scheduler), DECODE_KAI_SCHEDULER) == 0;
}

static bool is_made_group(void *arg, name_id scheduler)
{
    const struct scheduler *s = arg;
    return s->config.groups_volcano && strcmp(intern_name(s->names, scheduler), "volcano") == 0 &&
           kube_cache_served(s->sources[SOURCE_VOLCANO_GROUPS].cache);
}

static void on_wake(void *arg)
{
    scheduler_ask_turn(arg);
}

static void lead_first(struct scheduler *s)
{
    log_info("scheduling pods=%zu gangs=%zu", map_count(s->pods), map_count(s->gangs));
    if (s->config.on_leading)
        s->config.on_leading(s->config.arg);
    s->told_leading = true;
}

/* What was watched meanwhile is all known; what was about to be written goes on, or is decided anew. */
static void lead_again(struct scheduler *s, bool others_led)
{
    log_info("scheduling again pods=%zu gangs=%zu others_led=%d", map_count(s->pods), map_count(s->gangs), others_led);
    if (others_led)
        act_forget_admissions(s);
    binds_go_on(s);
}

static void maybe_lead(struct scheduler *s)
{
    bool can = s->synced && (s->config.leader_elect ? kube_lease_held(s->lease) : true);
    if (!can || s->leading || s->closing || s->config.look)
        return;
    uint64_t before = s->term;
    s->term = s->lease ? kube_lease_term(s->lease) : 0;
    s->leading = s->look_at_all = true;
    kube_client_halt(s->client, KUBE_GO);
    if (s->config.policy.consumption.on)
        sources_tell_local_queues(s);
    if (s->told_leading)
        lead_again(s, s->term != before);
    else
        lead_first(s);
    status_queues_changed(s);
    kai_queue_source_led(s->kai_queues);
    policy_source_led(s);
    scheduler_ask_turn(s);
}

void scheduler_synced(struct scheduler *s)
{
    bool machines = !s->machines || machine_source_synced(s->machines);
    if (s->synced || !machines || !native_groups_synced(s->natives) || !kai_queue_source_synced(s->kai_queues) || !sources_synced(s) ||
        !policy_source_synced(s->policies))
        return;
    s->synced = true;
    maybe_lead(s);
}

static void on_source_read(void *arg)
{
    scheduler_synced(arg);
}

/* A group of a Workload of scheduling.k8s.io/v1alpha1. */
static void on_native_told(void *arg, const struct gang_record *g)
{
    struct scheduler *s = arg;
    struct change c = {.type = CHANGE_GANG, .gang = *g};
    seen_gang_rank(s, &c.gang);
    seen_gang_apply(s, &c.gang);
    *sources_push(s) = c;
}

/* ---- trees of CompositePodGroups ---- */

static name_id whole_of(void *arg, name_id group)
{
    const struct scheduler *s = arg;
    return composites_whole_of(s->composites, group);
}

static void on_tree_told(void *arg, const struct gang_record *g)
{
    struct scheduler *s = arg;
    seen_gang_apply(s, g);
    *sources_push(s) = (struct change){.type = CHANGE_GANG, .gang = *g};
}

/* Its object is there, whether the core knows it or not. */
static void on_group_alone(void *arg, const char *group, bool is)
{
    struct scheduler *s = arg;
    _cleanup_buf_ struct buf key = {0};
    if (is) {
        source_read_again(s, SOURCE_NATIVE, group);
        return;
    }
    buf_printf(&key, "%s%s", decode_gang_prefix(GANG_NATIVE), group);
    *sources_push(s) = (struct change){.type = CHANGE_GANG_GONE, .gone = intern_id(s->names, buf_view(&key))};
}

static void on_tree_news(void *arg)
{
    scheduler_ask_turn(arg);
}

static void on_tree_status(void *arg, const char *key, bool is_composite)
{
    struct scheduler *s = arg;
    workqueue_add_after(is_composite ? s->composite_work : s->native_work, key, 50);
}

static int32_t bound_n_of(void *arg, name_id group)
{
    const struct seen_gang *g = seen_gang(arg, group);
    return g ? g->bound_n : 0;
}

/* WHY  a role of before they were read: an API server says so also where it has none of them. */
void composites_on_denied(void *arg)
{
    (void)arg;
    log_warning("CompositePodGroups may not be read: PodGroups that are below one wait; let the scheduler's ClusterRole list, watch and patch "
                "compositepodgroups of group scheduling.k8s.io, and patch compositepodgroups/status");
}

void composites_on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    const struct source *source = arg;
    composites_note(source->scheduler->composites, key, object, event == KUBE_DELETED);
    if (source->scheduler->leading && event != KUBE_DELETED)
        workqueue_add(source->scheduler->composite_work, key);
}

static void on_native_gone(void *arg, const char *gang_key)
{
    struct scheduler *s = arg;
    name_id key = intern_text_id(s->names, gang_key);
    seen_gang_gone(s, key);
    *sources_push(s) = (struct change){.type = CHANGE_GANG_GONE, .gone = key};
}

static void on_kai_queue(void *arg, const struct change *c)
{
    scheduler_apply(arg, c);
}

/* What KAI's groups ask for that there are, by the Queues that they name. */
static void sum_asked(void *arg, const struct queue_shares *by,
                      void (*add)(void *to, const char *queue, name_id resource, int64_t value), void *to)
{
    struct scheduler *s = arg;
    struct bytes key;
    size_t at = 0;
    _cleanup_arena_ struct arena *a = arena_new();
    for (struct seen_gang **slot; (slot = map_next(s->gangs, &at, &key)); arena_reset(a)) {
        const struct seen_gang *g = *slot;
        struct amount *rows = NULL;
        uint32_t n = g->source == GANG_KAI && g->queue_title ? state_group_asks(s->state, g->key, by, a, &rows) : 0;
        for (uint32_t i = 0; i < n; i++)
            add(to, intern_name(s->names, g->queue_title), rows[i].resource, rows[i].value);
    }
}

static void on_kai_names(void *arg)
{
    sources_read_groups(arg, SOURCE_KAI);
}

bool scheduler_may_act(const struct scheduler *s)
{
    return s->leading && (!s->lease || kube_lease_held(s->lease));
}

static void on_leading(void *arg)
{
    maybe_lead(arg);
}

static void on_lost(void *arg)
{
    struct scheduler *s = arg;
    if (s->closing)
        return; /* given back; what waits is told to nobody */
    if (s->leading)
        log_warning("the lease is lost: another scheduler has taken over, or the API server did not answer in time; nothing is written until it "
                    "is won back");
    s->leading = false;
    kube_client_halt(s->client, KUBE_HALT);
}

/* Once a text: tries follow every two seconds. */
static void on_lease_trouble(void *arg, const struct err *why)
{
    struct scheduler *s = arg;
    if (strcmp(s->lease_trouble.text, why->text) == 0)
        return;
    s->lease_trouble = *why;
    log_warning("%s: %s", s->leading ? "the lease is not renewed yet" : "the lease is not to be had, so nothing is scheduled here",
                why->text);
}

static void elect(struct scheduler *s)
{
    if (!s->config.leader_elect)
        return;
    char host[128] = "capstan", identity[192];
    (void)gethostname(host, sizeof host - 1); /* the fallback is good enough: the process id is added */
    snprintf(identity, sizeof identity, "%s_%d", host, (int)getpid());
    struct kube_lease_config config = {.ns = s->config.lease_ns ? s->config.lease_ns : "kube-system",
                                       .name = "capstan-scheduler",
                                       .identity = s->config.identity ? s->config.identity : identity,
                                       .on_leading = on_leading,
                                       .on_lost = on_lost,
                                       .on_trouble = on_lease_trouble,
                                       .arg = s};
    s->lease = kube_lease_new(s->client, &config);
}

struct scheduler *scheduler_new(struct loop *l, struct kube_client *c, const struct scheduler_config *config)
{
    struct scheduler *s = mem_zero(1, sizeof *s);
    s->config = *config;
    s->loop = l;
    s->client = c;
    s->state = state_new();
    state_set_ready_policy(s->state, &config->policy.ready);
    state_set_consumption_policy(s->state, &config->policy.consumption);
    recorder_begin(config->recorder, s->state, &config->policy);
    s->names = state_names(s->state);
    s->incoming_arena = arena_new();
    s->scratch = arena_new();
    s->report = arena_new();
    s->cycle = arena_new();
    s->classes = map_new(sizeof(int32_t));
    s->tally = group_tally_new();
    s->pods = map_new(sizeof(struct seen_pod *));
    s->gangs = map_new(sizeof(struct seen_gang *));
    s->events = kube_recorder_new(c, "capstan");
    s->pace = pace_new();
    s->metrics = metrics_new();
    s->run_times = run_times_new();
    s->wake = loop_timer_new(l, on_wake, s);
    for (const char *const *name = config->names ? config->names : decode_scheduler_names; *name; name++)
        add_name(s, *name);
    if (config->default_scheduler)
        add_name(s, DECODE_DEFAULT_SCHEDULER);
    s->queue_name_label = intern_text_id(s->names, "kueue.x-k8s.io/queue-name");
    s->decoder = (struct decoder){.names = s->names,
                                  .arena = s->incoming_arena,
                                  .schedulers = s->scheduler_names,
                                  .schedulers_n = s->scheduler_names_n,
                                  .requeue_by_creation = config->policy.ready.requeue_by_creation,
                                  .priority_of = priority_of,
                                  .has_queue = has_queue,
                                  .names_kai_queue = names_kai_queue,
                                  .whole_of = whole_of,
                                  .ctx = s,
                                  .charge = config->charge};
    s->workload_work = workqueue_new(c, status_workload, s);
    s->queue_work = workqueue_new(c, status_cluster_queue, s);
    s->cohort_work = workqueue_new(c, status_cohort, s);
    s->local_queue_work = workqueue_new(c, status_local_queue, s);
    s->volcano_queue_work = workqueue_new(c, status_volcano_queue, s);
    s->group_work = workqueue_new(c, status_volcano_group, s);
    s->coscheduling_work = workqueue_new(c, status_coscheduling_group, s);
    s->native_work = workqueue_new(c, status_native_group, s);
    s->composite_work = workqueue_new(c, status_composite_group, s);
    s->kai_work = workqueue_new(c, status_kai_group, s);
    s->pod_work = workqueue_new(c, status_pod, s);
    s->check_work = workqueue_new(c, status_check, s);
    s->delete_work = workqueue_new_in(c, KUBE_LANE_BIND, act_delete_pod, s);
    s->held = held_nodes_new(sources_hold_changed, status_find_flavor, s);
    s->gated = gated_pods_new(c, s->state, s->names, &s->leading, workload_metrics_gate_opened, s);
    s->queue_gates = queue_gates_new(s->state, s->names, seen_volcano_queue_of, s);
    s->unadmitted = unadmitted_pods_new(l, &(struct unadmitted_pods_config){
                                                .queue_label = s->queue_name_label, .job_waits = config->job_waits,
                                                .grouping = config->grouping, .arg = config->arg,
                                                .grouped_scheduler = intern_text_id(s->names, DECODE_KAI_SCHEDULER),
                                                .is_made_group = is_made_group,
                                                .is_grouped = is_grouped, .again = sources_pod_again, .again_arg = s});
    s->strays = stray_pods_new(c, s->state, s->names, s->events, &s->leading);
    s->machines = config->look ? NULL : machine_source_new(c, s->state, act_machines_changed, on_source_read, s);
    s->kept = kept_pods_new(c, s->state, s->names, &s->leading, s->machines);
    s->composites = composites_new(&(struct composites_config){.decoder = &s->decoder, .on_told = on_tree_told, .on_gone = on_native_gone,
                                                               .on_alone = on_group_alone, .again = sources_pod_again,
                                                               .on_news = on_tree_news, .on_status = on_tree_status,
                                                               .bound_n = bound_n_of, .arg = s});
    s->natives = native_groups_new(c, &(struct native_groups_config){&s->decoder, on_native_told, on_native_gone, on_source_read, s});
    s->kai_queues = kai_queue_source_new(c, &(struct kai_queue_config){.decoder = &s->decoder, .state = s->state, .writes = serves_kai(s),
                                                                       .leading = &s->leading, .decides = &s->synced, .loop = l,
                                                                       .sum_asked = sum_asked, .apply = on_kai_queue, .on_change = on_wake,
                                                                       .on_names = on_kai_names, .on_synced = on_source_read, .arg = s});
    sources_start(s);
    s->policies = policy_source_new(s, scheduler_synced);
    elect(s);
    return s;
}

void scheduler_stop(struct scheduler *s)
{
    if (s->leading && !s->closing)
        seen_farewell(s);
    s->closing = true;
    s->leading = false;
    if (s->told_leading)
        kube_client_halt(s->client, KUBE_FAREWELL);
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    scheduler_stop(s);
    if (s->lease) {
        if (!s->told_leading || kube_client_unanswered_n(s->client) == 0)
            kube_lease_release(s->lease);
        kube_lease_free(s->lease);
    }
    if (s->told_leading)
        kube_client_halt(s->client, KUBE_GO); /* it may have other users */
    loop_timer_free(s->wake);
    binds_abandon(s);
    struct workqueue *queues[] = {s->workload_work,      s->queue_work, s->cohort_work,       s->local_queue_work,
                                  s->volcano_queue_work, s->group_work, s->coscheduling_work, s->native_work,
                                  s->composite_work,
                                  s->kai_work,           s->pod_work,   s->delete_work,       s->check_work};
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        workqueue_free(queues[i]);
    sources_stop(s);
    native_groups_free(s->natives);
    composites_free(s->composites);
    kai_queue_source_free(s->kai_queues);
    kept_pods_free(s->kept);
    machine_source_free(s->machines);
    policy_source_free(s->policies);
    held_nodes_free(s->held);
    gated_pods_free(s->gated);
    queue_gates_free(s->queue_gates);
    stray_pods_free(s->strays);
    unadmitted_pods_free(s->unadmitted);
    seen_fini(s);
    map_free(s->classes);
    group_tally_free(s->tally);
    kube_recorder_free(s->events);
    pace_free(s->pace);
    metrics_free(s->metrics);
    run_times_free(s->run_times);
    free(s->alike);
    recorder_free(s->config.recorder); /* it looks at the state once more */
    state_free(s->state);
    arena_free(s->incoming_arena);
    arena_free(s->scratch);
    arena_free(s->report);
    arena_free(s->cycle);
    free(s->incoming);
    free(s);
}

struct scheduler_counts scheduler_counts(const struct scheduler *s)
{
    struct scheduler_counts counts = s->counts;
    counts.synced = s->synced;
    counts.leading = s->leading;
    return counts;
}

bool scheduler_quiet(const struct scheduler *s)
{
    return s->synced && s->incoming_at == s->incoming_n && s->binds_in_flight_n == 0 && !decide_has_work(s->state) &&
           workqueue_idle(s->workload_work) && workqueue_idle(s->group_work) && workqueue_idle(s->delete_work);
}

struct state *scheduler_state(struct scheduler *s)
{
    return s->state;
}
