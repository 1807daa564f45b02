/* main.c - the loop of the live scheduler: drain, apply, decide, act
 *
 * Runs at the end of a turn of the event loop in which something has changed, in bounded batches; what is left over
 * waits for the next turn, so that I/O is never kept waiting for long.
 */
#include "sched/groups/kai_queue_source.h"
#include "sched/machines/kept_pods.h"
#include "sched/scheduler.h"

enum { CHANGES_PER_TURN = 20000, GANGS_PER_TURN = 1024, PODS_PER_TURN = 20000 };

struct decide_config scheduler_decide_config(const struct scheduler *s)
{
    return (struct decide_config){.gangs_max = GANGS_PER_TURN, .pods_max = PODS_PER_TURN, .fair = s->config.policy.fair,
                                  .lost = s->config.policy.lost, .node_wishes = s->config.policy.node_wishes, .hold = s->config.hold,
                                  .placement = s->placement};
}

static void next_turn(void *arg)
{
    scheduler_ask_turn(arg);
}

static bool admits(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->entries_n; i++)
        if (plan->entries[i].effect == EFFECT_ADMIT)
            return true;
    return false;
}

static uint32_t drain(struct scheduler *s, uint32_t most)
{
    const struct change *change;
    uint32_t n = 0;
    for (; n < most && (change = sources_next(s)); n++)
        scheduler_apply(s, change);
    sources_drained(s);
    return n;
}

/* How long Workloads run counts from now on: those that came before runs of others like them were known are read again. */
static bool begins_to_count_runs(struct scheduler *s)
{
    bool counts = state_backfills(s->state), begins = counts && !s->counts_runs;
    s->counts_runs = counts;
    if (begins)
        sources_read_workloads(s, (struct bytes){0});
    return begins;
}

static void turn(void *arg)
{
    struct scheduler *s = arg;
    s->turn_asked = false;

    kai_queue_source_follow(s->kai_queues);
    hypernodes_follow(s); /* groups that come ask for other domains */
    uint32_t applied_n = drain(s, CHANGES_PER_TURN); /* drain and apply */
    if (applied_n < CHANGES_PER_TURN && begins_to_count_runs(s))
        applied_n += drain(s, CHANGES_PER_TURN - applied_n);
    hypernodes_follow(s);
    if (applied_n)
        kai_queue_source_asked(s->kai_queues);
    kai_queue_source_follow(s->kai_queues); /* nodes are others, or pods */
    policy_source_follow_queues(s);
    names_sweep(s);
    s->counts.changes_n += applied_n;

    if (!s->leading || !s->synced) /* look, but do not touch */
        return;
    int64_t now_ms = loop_wall_ms(s->loop);
    struct decide_config config = scheduler_decide_config(s);
    struct plan plan = {0};
    bool tries = decide_tries(s->state);
    int64_t began_us = loop_clock_us(s->loop);
    decide(s->state, &config, now_ms, s->cycle, &plan); /* decide */
    recorder_cycle(s->config.recorder, &config, now_ms, &plan);
    if (tries || admits(&plan)) /* a turn in which nobody is tried is no attempt */
        metrics_decided(s->metrics, (double)(loop_clock_us(s->loop) - began_us) / 1e6, admits(&plan));
    s->counts.cycles_n++;

    act_submit(s, &plan); /* act */
    if (s->consumption_ticks != state_consumption_ticks(s->state))
        status_local_queues_changed(s);
    s->consumption_ticks = state_consumption_ticks(s->state);
    if (plan.wake_ms > now_ms)
        loop_timer_start(s->wake, plan.wake_ms - now_ms, 0);
    arena_reset(s->cycle);

    if (applied_n == CHANGES_PER_TURN || decide_has_work(s->state)) {
        loop_defer(s->loop, next_turn, s);
    } else if (s->look_at_all) { /* ORDER what waits is told why by now: a reason that stands there is not taken away first */
        s->look_at_all = false;
        status_all_changed(s);
        hypernodes_tell_all(s);
        act_machines_changed(s);
        kept_pods_look_all(s->kept);
    }
}

void scheduler_ask_turn(struct scheduler *s)
{
    if (s->turn_asked)
        return;
    s->turn_asked = true;
    loop_at_turn_end(s->loop, turn, s);
}
