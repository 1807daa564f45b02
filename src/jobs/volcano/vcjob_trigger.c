/* vcjob_trigger.c - what happened to a Volcano Job, and which action answers it
 *
 * LEVEL  failed pods, completed tasks, pending time are facts that are looked at in every pass; an action changes them (a new version, pods
 *        killed), so nothing is answered twice and nothing is lost in a restart. Only deletions by others are remembered (memory->evicted).
 * DELAY  a policy's timeout counts from when the fact was first seen; the fact's going away (pod left Pending, replacement runs) drops it.
 */
#include <stdio.h>
#include "base/clock.h"
#include "jobs/volcano/vcjob.h"

struct chosen {
    enum vcjob_action whole, part; /* SYNC = none */
    const char *message;
    int64_t wait_ms; /* of the nearest delayed action; 0 = none */
};

static const struct json *task_spec(const struct vcjob_pass *x, const char *name)
{
    for (uint32_t i = 0; i < x->tasks_n; i++)
        if (strcmp(x->tasks[i].name, name) == 0)
            return x->tasks[i].spec;
    return NULL;
}

static int64_t partition_size(const struct vcjob_pass *x, const char *task)
{
    return json_int64(json_path(task_spec(x, task), "partitionPolicy", "partitionSize", NULL), 0);
}

static void condemn(struct vcjob_pass *x, enum vcjob_action action, const struct vcjob_pod *about, const char *task)
{
    int64_t size = partition_size(x, task);
    size_t at = 0;
    struct bytes name;
    struct vcjob_pod **slot;
    while ((slot = map_next(x->memory->pods, &at, &name))) {
        struct vcjob_pod *p = *slot;
        bool mine = strcmp(p->task, task) == 0;
        if (action == VCJOB_DO_RESTART_POD)
            mine = p->index == about->index && mine;
        else if (action == VCJOB_DO_RESTART_PARTITION)
            mine = mine && p->index / size == about->index / size;
        if (mine)
            p->condemned = true;
    }
}

/* SOURCE Volcano: what is said of a pod, task or partition where there is none does nothing. */
static bool has_target(const struct vcjob_pass *x, enum vcjob_action action, const char *task, const struct vcjob_pod *pod)
{
    return task && (action == VCJOB_DO_RESTART_TASK || pod) && (action != VCJOB_DO_RESTART_PARTITION || partition_size(x, task) > 0);
}

/* One fact: find its policy; take it, remember when it is due, or nothing. Returns true when some policy is taken or
 * waits. */
static bool consider(struct vcjob_pass *x, struct chosen *c, const struct vcjob_happened *h, const char *task,
                     const struct vcjob_pod *pod, int64_t since_ms)
{
    struct vcjob_verdict verdict = vcjob_policy(json_get(x->job, "spec"), task ? task_spec(x, task) : NULL, h);
    if (verdict.action == VCJOB_DO_SYNC || (!vcjob_action_whole(verdict.action) && !has_target(x, verdict.action, task, pod)))
        return false;
    int64_t wait_ms = verdict.delay_ms > 0 ? since_ms + verdict.delay_ms - x->now_ms : 0;
    if (wait_ms > 0) {
        if (c->wait_ms == 0 || wait_ms < c->wait_ms)
            c->wait_ms = wait_ms;
        return true;
    }
    bool of_task = h->event == VCJOB_ON_TASK_COMPLETED || h->event == VCJOB_ON_TASK_FAILED;
    const char *message = pod && !of_task ? arena_printf(x->work->arena, "%s of pod %s", vcjob_event_name(h->event), pod->name)
                          : task          ? arena_printf(x->work->arena, "%s of task %s", vcjob_event_name(h->event), task)
                                          : vcjob_event_name(h->event);
    if (vcjob_action_whole(verdict.action)) {
        if (c->whole == VCJOB_DO_SYNC) {
            c->whole = verdict.action;
            c->message = message;
        }
        return true;
    }
    if (c->part == VCJOB_DO_SYNC) {
        c->part = verdict.action;
        if (c->whole == VCJOB_DO_SYNC)
            c->message = message;
    }
    condemn(x, verdict.action, pod, task ? task : "");
    return true;
}

static void consider_pods(struct vcjob_pass *x, struct chosen *c)
{
    size_t at = 0;
    struct bytes name;
    struct vcjob_pod **slot;
    while ((slot = map_next(x->memory->pods, &at, &name))) {
        const struct vcjob_pod *p = *slot;
        if (p->deleting || p->condemned || p->version != x->version)
            continue;
        struct vcjob_happened h = {p->phase == VCPOD_FAILED ? VCJOB_ON_POD_FAILED : VCJOB_ON_POD_PENDING, p->exit_code};
        if (p->phase == VCPOD_FAILED || p->phase == VCPOD_PENDING)
            (void)consider(x, c, &h, p->task, p, p->since_ms); /* no policy: nothing to do */
    }
}

static void consider_tasks(struct vcjob_pass *x, struct chosen *c)
{
    for (uint32_t i = 0; i < x->tasks_n; i++) {
        int64_t succeeded_n = 0, restarts_n = 0;
        const struct vcjob_pod *last = NULL; /* of these pods the event is said */
        struct vcjob_pod *worst = NULL;
        size_t at = 0;
        struct bytes name;
        struct vcjob_pod **slot;
        while ((slot = map_next(x->memory->pods, &at, &name))) {
            struct vcjob_pod *p = *slot;
            if (strcmp(p->task, x->tasks[i].name) != 0 || p->version != x->version || p->condemned)
                continue;
            if (p->phase == VCPOD_SUCCEEDED) {
                succeeded_n++;
                last = last && last->since_ms > p->since_ms ? last : p;
            }
            if (p->phase == VCPOD_RUNNING || p->phase == VCPOD_PENDING) {
                restarts_n += p->restarts_n;
                worst = worst && worst->restarts_n >= p->restarts_n ? worst : p;
            }
        }
        struct vcjob_happened completed = {VCJOB_ON_TASK_COMPLETED, 0}, failed = {VCJOB_ON_TASK_FAILED, 0};
        if (x->tasks[i].replicas > 0 && succeeded_n >= x->tasks[i].replicas)
            (void)consider(x, c, &completed, x->tasks[i].name, last, last->since_ms);
        if (x->tasks[i].max_retry < 0 || restarts_n == 0 || restarts_n < x->tasks[i].max_retry)
            continue;
        worst->task_failed_ms = worst->task_failed_ms ? worst->task_failed_ms : x->now_ms;
        (void)consider(x, c, &failed, x->tasks[i].name, worst, worst->task_failed_ms);
    }
}

static bool replaced(const struct vcjob_pass *x, const struct vcjob_pod *p)
{
    struct vcjob_pod **slot = map_find_text(x->memory->pods, p->name);
    return slot && (*slot)->version == x->version && (*slot)->phase == VCPOD_RUNNING;
}

/* One that is gone may have failed before, unseen by any pass: its node was removed, say. SOURCE Volcano: two events; the policy of the
 * first is the one that counts, most often, since the other is then of an earlier version. */
static bool consider_gone(struct vcjob_pass *x, struct chosen *c, const struct vcjob_pod *p)
{
    struct vcjob_happened failed = {VCJOB_ON_POD_FAILED, p->exit_code}, evicted = {VCJOB_ON_POD_EVICTED, 0};
    return (p->phase == VCPOD_FAILED && consider(x, c, &failed, p->task, p, p->since_ms)) ||
           consider(x, c, &evicted, p->task, p, p->since_ms);
}

/* Deletions by others. Those of earlier versions, replaced ones and those that no policy answers are forgotten. */
static void consider_evicted(struct vcjob_pass *x, struct chosen *c)
{
    struct vcjob_memory *m = x->memory;
    bool done_part = m->restarting_part && m->evicted_retry != x->view.retry_count;
    m->restarting_part = m->restarting_part && !done_part;
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < m->evicted_n; i++) {
        struct vcjob_pod *p = m->evicted[i];
        bool current = p->version == x->version && strcmp(p->owner_uid, object_meta(x->job, "uid")) == 0 &&
                       !done_part && !replaced(x, p);
        if (current && vcjob_phase_kill(x->view.phase) == VCJOB_KILL_NONE && consider_gone(x, c, p))
            m->evicted[kept_n++] = p;
        else
            vcjob_pod_free(p);
    }
    m->evicted_n = kept_n;
    if (kept_n > 0 && c->whole == VCJOB_DO_SYNC && c->part != VCJOB_DO_SYNC && !m->restarting_part) {
        m->restarting_part = true;
        m->evicted_retry = x->view.retry_count;
    }
}

/* Of the job as a whole. An update is one moment: it is answered once. */
static void consider_job(struct vcjob_pass *x, struct chosen *c)
{
    struct vcjob_memory *m = x->memory;
    struct vcjob_happened lost = {VCJOB_ON_UNKNOWN, 0}, updated = {VCJOB_ON_JOB_UPDATED, 0};
    bool unknown = strcmp(json_text(json_path(x->group, "status", "phase", NULL), ""), "Unknown") == 0;
    m->unknown_ms = !unknown ? 0 : m->unknown_ms ? m->unknown_ms : x->now_ms;
    if (unknown)
        (void)consider(x, c, &lost, NULL, NULL, m->unknown_ms);
    int64_t generation = json_int64(json_path(x->job, "metadata", "generation", NULL), 0);
    if (m->generation_seen != 0 && generation != m->generation_seen)
        m->updated_ms = x->now_ms;
    m->generation_seen = generation;
    if (m->updated_ms == 0)
        return;
    enum vcjob_action before = c->whole;
    bool waits = consider(x, c, &updated, NULL, NULL, m->updated_ms) && before == VCJOB_DO_SYNC && c->whole == before;
    m->updated_ms = waits ? m->updated_ms : 0;
}

static enum vcjob_action take_command(struct vcjob_pass *x, const char **ret_message)
{
    struct work *w = x->work;
    struct vcjob_memory *m = x->memory;
    char now[64];
    text_printf(now, sizeof now, "%d/%lld/%lld", (int)x->view.phase, (long long)x->version,
             (long long)x->view.retry_count);
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next_of(x->vcjobs->commands, w->key, &at, &key, &raw)) {
        const struct json *command = json_parse(w->arena, raw, NULL, NULL);
        const struct json *target = json_get(command, "target");
        enum vcjob_action action = VCJOB_DO_SYNC;
        const char *uid = object_meta(command, "uid"), *target_uid = json_get_text(target, "uid", "");
        bool known = vcjob_action_of(json_get_text(command, "action", ""), &action);
        bool other = *target_uid && strcmp(target_uid, object_meta(x->job, "uid")) != 0;
        bool done = m->command_uid && strcmp(m->command_uid, uid) == 0 && strcmp(m->command_before, now) != 0;
        if (!known || other || done || vcjob_state_next(&x->view, action).next == x->view.phase) {
            work_delete(w,
                        kube_path(w->arena, "bus.volcano.sh", "v1alpha1", "commands", w->ns,
                                  object_meta(command, "name"), NULL),
                        uid, NULL);
            continue;
        }
        if (!m->command_uid || strcmp(m->command_uid, uid) != 0)
            job_event(x->vcjobs->jobs, x->job, "batch.volcano.sh/v1alpha1", "Job", "Normal", "CommandIssued", "Start to execute command %s",
                      json_get_text(command, "action", ""));
        free(m->command_uid);
        m->command_uid = mem_text(uid);
        memcpy(m->command_before, now, sizeof now);
        *ret_message = arena_printf(w->arena, "command %s %s", object_meta(command, "name"),
                                    json_get_text(command, "message", ""));
        return action;
    }
    return VCJOB_DO_SYNC;
}

/* SOURCE Volcano: who fails so often in a row is terminated, and gives back what it has. WHY only what the server refused counts: a server
 * that cannot be reached for a while is no fault of the job. */
static bool is_hopeless(struct vcjob_pass *x, const char **ret_message)
{
    const char *why = work_failure(x->work);
    if (vcjob_phase_kill(x->view.phase) != VCJOB_KILL_NONE)
        return false;
    if (work_failed(x->work) && *why)
        job_event(x->vcjobs->jobs, x->job, "batch.volcano.sh/v1alpha1", "Job", "Warning", "FailedCreate", "%s", why);
    if (work_refusals(x->work) < VCJOB_REFUSALS_MAX)
        return false;
    *ret_message = arena_printf(x->work->arena, "Job failed on action SyncJob for retry limit reached: refused %d times in a row: %s",
                                VCJOB_REFUSALS_MAX, why);
    return true;
}

enum vcjob_action vcjob_trigger(struct vcjob_pass *x, const char **ret_message)
{
    if (is_hopeless(x, ret_message))
        return VCJOB_DO_TERMINATE;
    enum vcjob_action action = take_command(x, ret_message);
    if (action != VCJOB_DO_SYNC)
        return action;
    struct chosen c = {VCJOB_DO_SYNC, VCJOB_DO_SYNC, NULL, 0};
    consider_evicted(x, &c);
    if (vcjob_phase_kill(x->view.phase) == VCJOB_KILL_NONE) {
        consider_pods(x, &c);
        consider_tasks(x, &c);
        consider_job(x, &c);
    }
    if (c.wait_ms > 0)
        work_again(x->work, c.wait_ms);
    *ret_message = c.message;
    return c.whole != VCJOB_DO_SYNC ? c.whole : c.part;
}

/* ---- of queues ---- */

static void queue_state_patch(struct work *w, const char *queue, bool close)
{
    struct arena *a = w->arena;
    if (close) { /* by its own command: it does not open with its parent */
        struct json *own = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, own, "metadata");
        json_set(a, json_ensure_object(a, metadata, "annotations"), "volcano.sh/closed-by-parent", json_new(a, JSON_NULL));
        work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "scheduling.volcano.sh", "v1beta1", "queues", NULL, queue, NULL), own);
    }
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, patch, "status"), "state", close ? "Closed" : "Open");
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "scheduling.volcano.sh", "v1beta1", "queues", NULL, queue, "status"), patch);
}

/* LEVEL  a Command is removed in the pass after its writes, when these were taken: stopped in between, it is carried out once more. A
 * queue that is not there, and the root, which is never closed, are nothing to carry it out on. */
void vcjob_queue_command(void *arg, struct work *w)
{
    struct vcjobs *v = arg;
    const struct json *command = kube_cache_get(v->commands, w->ns, w->name, w->arena);
    const char *queue = json_text(json_path(command, "target", "name", NULL), ""), *uid = object_meta(command, "uid");
    const char *action = json_get_text(command, "action", "");
    bool close = strcmp(action, "CloseQueue") == 0, carries = close || strcmp(action, "OpenQueue") == 0;
    bool sent = map_find_text(v->queue_sent, w->key) != NULL, missing = work_failed(w) && work_refusals(w) > 0;
    map_remove(v->queue_sent, bytes_of(w->key));
    if (!command)
        return;
    if (*queue && carries && !(close && strcmp(queue, "root") == 0) && !(sent && (!work_failed(w) || missing))) {
        *(bool *)map_put(v->queue_sent, bytes_of(w->key), NULL) = true;
        queue_state_patch(w, queue, close);
        work_again(w, 0);
        return;
    }
    work_delete(w, kube_path(w->arena, "bus.volcano.sh", "v1alpha1", "commands", w->ns, w->name, NULL), uid, NULL);
}
