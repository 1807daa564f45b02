/* vcjob_state.c - the life of a Volcano Job; see vcjob_state.h */
#include "jobs/volcano/vcjob_state.h"
#include <string.h>

static const char *const phase_names[] = {
#define X(phase, name) name,
    VCJOB_PHASES(X)
#undef X
};
static const char *const action_names[] = {
#define X(action, name) name,
    VCJOB_ACTIONS(X)
#undef X
};

const char *vcjob_phase_name(enum vcjob_phase p)
{
    return phase_names[p];
}

enum vcjob_phase vcjob_phase_of(const char *name)
{
    for (int i = 0; name && i < VCJOB_PHASES_N; i++)
        if (strcmp(name, phase_names[i]) == 0)
            return (enum vcjob_phase)i;
    return VCJOB_PENDING;
}

const char *vcjob_action_name(enum vcjob_action a)
{
    return action_names[a];
}

bool vcjob_action_of(const char *name, enum vcjob_action *ret_action)
{
    for (int i = 0; name && i < VCJOB_ACTIONS_N; i++)
        if (strcmp(name, action_names[i]) == 0) {
            *ret_action = (enum vcjob_action)i;
            return true;
        }
    return false;
}

bool vcjob_phase_final(enum vcjob_phase p)
{
    return p == VCJOB_COMPLETED || p == VCJOB_TERMINATED || p == VCJOB_FAILED;
}

enum vcjob_kill vcjob_phase_kill(enum vcjob_phase p)
{
    switch (p) {
    case VCJOB_PENDING:
    case VCJOB_RUNNING:
        return VCJOB_KILL_NONE;
    case VCJOB_RESTARTING:
        return VCJOB_KILL_HARD;
    case VCJOB_ABORTING:
    case VCJOB_ABORTED:
    case VCJOB_COMPLETING:
    case VCJOB_COMPLETED:
    case VCJOB_TERMINATING:
    case VCJOB_TERMINATED:
    case VCJOB_FAILED:
    case VCJOB_PHASES_N:
        break;
    }
    return VCJOB_KILL_SOFT;
}

/* ---- guards ---- */

static int64_t ended_n(const struct vcjob_view *v)
{
    return v->succeeded_n + v->failed_n;
}

static bool started(const struct vcjob_view *v)
{
    return v->replicas > 0 && v->min_available <= v->running_n + ended_n(v);
}

static bool enough_succeeded(const struct vcjob_view *v)
{
    return v->min_success > 0 && v->succeeded_n >= v->min_success;
}

static bool all_ended(const struct vcjob_view *v)
{
    return v->replicas > 0 && ended_n(v) >= v->replicas;
}

/* All pods have ended, but not well enough to call it complete. */
static bool ended_badly(const struct vcjob_view *v)
{
    if (!all_ended(v))
        return false;
    int64_t task_min = 0;
    bool task_short = false;
    for (uint32_t i = 0; i < v->tasks_n; i++) {
        task_min += v->tasks[i].min_available;
        task_short = task_short || v->tasks[i].succeeded_n < v->tasks[i].min_available;
    }
    if (v->min_available >= task_min && task_short)
        return true;
    return v->min_success > 0 || v->succeeded_n < v->min_available;
}

static bool lost_members(const struct vcjob_view *v)
{
    return v->pending_n > v->replicas - v->min_available;
}

static bool retries_spent(const struct vcjob_view *v)
{
    return v->retry_count >= v->max_retry;
}

static bool room_again(const struct vcjob_view *v)
{
    return v->replicas - v->terminating_n >= v->min_available;
}

static bool nothing_alive(const struct vcjob_view *v)
{
    return v->pending_n + v->running_n + v->terminating_n == 0;
}

/* ---- the table ---- */

#define BIT(phase) (1u << VCJOB_##phase)
enum { ALIVE = BIT(PENDING) | BIT(RUNNING) };

/* ORDER the first row whose state, action and guard match is taken; a job that matches none stays where it is. */
static const struct {
    unsigned from;
    enum vcjob_action action;
    bool (*guard)(const struct vcjob_view *v);
    enum vcjob_phase to;
    bool retry, whole;
} table[] = {
    {ALIVE, VCJOB_DO_RESTART, NULL, VCJOB_RESTARTING, true, true},
    {ALIVE, VCJOB_DO_RESTART_TASK, NULL, VCJOB_RESTARTING, true, false},
    {ALIVE, VCJOB_DO_RESTART_POD, NULL, VCJOB_RESTARTING, true, false},
    {ALIVE, VCJOB_DO_RESTART_PARTITION, NULL, VCJOB_RESTARTING, true, false},
    {ALIVE, VCJOB_DO_ABORT, NULL, VCJOB_ABORTING, false, true},
    {ALIVE, VCJOB_DO_TERMINATE, NULL, VCJOB_TERMINATING, false, true},
    {ALIVE, VCJOB_DO_COMPLETE, NULL, VCJOB_COMPLETING, false, true},
    {BIT(ABORTED) | BIT(ABORTING), VCJOB_DO_RESUME, NULL, VCJOB_RESTARTING, true, true},
    {BIT(PENDING), VCJOB_DO_SYNC, started, VCJOB_RUNNING, false, false},
    {BIT(RUNNING), VCJOB_DO_SYNC, enough_succeeded, VCJOB_COMPLETED, false, false},
    {BIT(RUNNING), VCJOB_DO_SYNC, ended_badly, VCJOB_FAILED, false, false},
    {BIT(RUNNING), VCJOB_DO_SYNC, all_ended, VCJOB_COMPLETED, false, false},
    {BIT(RUNNING), VCJOB_DO_SYNC, lost_members, VCJOB_PENDING, false, false},
    {BIT(RESTARTING), VCJOB_DO_SYNC, retries_spent, VCJOB_FAILED, false, false},
    {BIT(RESTARTING), VCJOB_DO_SYNC, room_again, VCJOB_PENDING, false, false},
    {BIT(ABORTING), VCJOB_DO_SYNC, nothing_alive, VCJOB_ABORTED, false, false},
    {BIT(TERMINATING), VCJOB_DO_SYNC, nothing_alive, VCJOB_TERMINATED, false, false},
    {BIT(COMPLETING), VCJOB_DO_SYNC, nothing_alive, VCJOB_COMPLETED, false, false},
};

struct vcjob_step vcjob_state_next(const struct vcjob_view *v, enum vcjob_action action)
{
    struct vcjob_step step = {v->phase, vcjob_phase_kill(v->phase), false, false};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!(table[i].from & (1u << v->phase)) || table[i].action != action)
            continue;
        if (table[i].guard && !table[i].guard(v))
            continue;
        step.next = table[i].to;
        step.kill = vcjob_phase_kill(step.next);
        step.retry = table[i].retry;
        step.whole = table[i].whole;
        break;
    }
    return step;
}
