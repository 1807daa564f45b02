/* vcjob.c - the controller of Volcano Jobs
 *
 *   watch jobs, pods (label volcano.sh/job-name), podgroups, commands -> vcjob_reconcile(key):
 *     look    view of the job and its pods (vcjob_status.c), what happened (vcjob_trigger.c), next step (vcjob_state.c)
 *     persist a step first changes status; nothing else is done in that pass, but where it only says that the job runs
 *     act     then the standing orders of the phase: kill, or make PodGroup, plugin objects, pods
 *
 * RACE   the status patch carries the resourceVersion that was read: two controllers, or an old cache, cannot both take a step.
 */
#include "jobs/volcano/vcjob.h"
#include "base/clock.h"
#include "base/limits.h"
#include "jobs/batch/cron_job.h"
#include "jobs/volcano/flow/job_flow.h"
#include "kube/object_meta.h"

#define GROUP "batch.volcano.sh"
#define API_VERSION "batch.volcano.sh/v1alpha1"
#define JOB_VERSION "volcano.sh/job-version"

static char *job_path(struct work *w, const char *sub)
{
    return kube_path(w->arena, GROUP, "v1alpha1", "jobs", w->ns, w->name, sub);
}

/* ---- memory of a job ---- */

struct vcjob_memory *vcjob_memory_of(struct vcjobs *v, const char *key, bool make)
{
    struct vcjob_memory **slot = map_find_text(v->memories, key);
    if (slot || !make)
        return slot ? *slot : NULL;
    struct vcjob_memory *m = mem_zero(1, sizeof *m);
    m->pods = map_new(sizeof(struct vcjob_pod *));
    m->made = map_new(sizeof(int64_t));
    *(struct vcjob_memory **)map_put(v->memories, bytes_of(key), NULL) = m;
    return m;
}

static void memory_free(struct vcjob_memory *m)
{
    size_t at = 0;
    struct bytes name;
    struct vcjob_pod **slot;
    while ((slot = map_next(m->pods, &at, &name)))
        vcjob_pod_free(*slot);
    map_free(m->pods);
    map_free(m->made);
    for (uint32_t i = 0; i < m->evicted_n; i++)
        vcjob_pod_free(m->evicted[i]);
    free(m->evicted);
    free(m->command_uid);
    free(m->uid);
    free(m);
}

static void memory_forget(struct vcjobs *v, const char *key)
{
    struct vcjob_memory *m = vcjob_memory_of(v, key, false);
    if (!m || map_count(m->pods) > 0)
        return;
    memory_free(m);
    map_remove(v->memories, bytes_of(key));
}

static void pod_gone(struct vcjob_memory *m, struct vcjob_pod *p, int64_t now_ms)
{
    p->since_ms = now_ms;
    map_remove(m->pods, bytes_of(p->name));
    if (p->condemned || m->evicted_n >= VCJOB_EVICTED_MAX) {
        vcjob_pod_free(p);
        return;
    }
    MEM_RESERVE(m->evicted, m->evicted_cap, m->evicted_n + 1);
    m->evicted[m->evicted_n++] = p;
}

/* False: nothing that its Job looks at is other than before (it was bound, say). Else ret_wait_ms says when the Job is to look. */
static bool pod_seen(struct vcjob_memory *m, struct vcjob_pod *p, int64_t *ret_wait_ms)
{
    struct vcjob_pod **slot = map_put(m->pods, bytes_of(p->name), NULL);
    struct vcjob_pod *old = *slot;
    bool is_news = !old || !vcjob_pod_is_as(p, old);
    if (old && strcmp(old->uid, p->uid) == 0) {
        p->condemned = old->condemned;
        p->task_failed_ms = old->task_failed_ms;
        if (old->phase == p->phase)
            p->since_ms = old->since_ms;
    }
    *ret_wait_ms = !old && p->phase == VCPOD_PENDING && !p->deleting ? VCJOB_FIGURES_MS : 0;
    *slot = p;
    vcjob_pod_free(old);
    (void)map_remove(m->made, bytes_of(p->name)); /* most were seen before */
    return is_news;
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct vcjobs *v = arg;
    arena_reset(v->scratch);
    const struct json *pod = object_parse_lean(v->scratch, object, kube_watch_body(v->pods, object), false);
    const char *ns = object_meta(pod, "namespace");
    int64_t now_ms = loop_wall_ms(v->jobs->loop);
    if (event == KUBE_DELETED) {
        /* A deletion may come with the key alone: the memory knows whose it was. */
        struct vcjob_pod **slot = NULL;
        const char *key = NULL;
        const char *job = object_label(pod, "volcano.sh/job-name");
        struct vcjob_memory *m = NULL;
        if (*job) {
            key = arena_printf(v->scratch, "%s/%s", ns, job);
            m = vcjob_memory_of(v, key, false);
        } else {
            m = vcjob_memory_of_pod(v, ns, object_meta(pod, "name"), v->scratch, &key);
        }
        slot = m ? map_find_text(m->pods, object_meta(pod, "name")) : NULL;
        if (slot)
            pod_gone(m, *slot, now_ms);
        if (key)
            workqueue_add(v->queue, key);
        return;
    }
    struct vcjob_pod *p = vcjob_pod_read(pod, now_ms);
    if (!p)
        return;
    const char *key = arena_joined(v->scratch, ns, '/', object_label(pod, "volcano.sh/job-name"));
    int64_t wait_ms;
    if (pod_seen(vcjob_memory_of(v, key, true), p, &wait_ms))
        workqueue_add_after(v->queue, key, wait_ms);
}

struct vcjob_memory *vcjob_memory_of_pod(struct vcjobs *v, const char *ns, const char *pod, struct arena *a,
                                         const char **ret_key)
{
    size_t at = 0;
    struct bytes key;
    struct vcjob_memory **slot;
    size_t ns_n = strlen(ns);
    while ((slot = map_next(v->memories, &at, &key)))
        if (key.n > ns_n && memcmp(key.data, ns, ns_n) == 0 && key.data[ns_n] == '/' &&
            map_find_text((*slot)->pods, pod)) {
            *ret_key = arena_text_n(a, key.data, key.n);
            return *slot;
        }
    return NULL;
}

static bool mentions(struct bytes object, const char *word)
{
    return memmem(object.data, object.n, word, strlen(word)) != NULL;
}

/* WHY the search before the parse: most jobs are of no flow and no schedule. */
static void on_job(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct vcjobs *v = arg;
    if (event == KUBE_DELETED)
        workqueue_add(v->queue, key);
    else
        workqueue_add_change(v->queue, key, kube_cache_version(v->cache));
    struct bytes head = object_text_head(object, NULL);
    bool of_flow = mentions(head, "JobFlow") || mentions(head, "createdByJobTemplate"), of_cron = mentions(head, "\"CronJob\"");
    if (!of_flow && !of_cron)
        return;
    arena_reset(v->scratch);
    const struct json *job = json_parse(v->scratch, object, NULL, NULL);
    if (of_flow)
        job_flows_job(v->flows, event, key, job);
    if (of_cron)
        cron_jobs_job(v->cron_jobs, key, job);
}

static bool is_let_in(const char *group_phase)
{
    return *group_phase && strcmp(group_phase, "Pending") != 0;
}

/* Of all that a pass looks at in a PodGroup, but its spec, of which its generation tells. Never 0. */
static uint64_t group_looks(const struct json *group)
{
    const char *uid = object_meta(group, "uid"), *version = object_annotation(group, JOB_VERSION);
    const char *phase = json_text(json_path(group, "status", "phase", NULL), "");
    const int64_t rest[] = {object_generation_of(group), object_deleting(group), is_let_in(phase), strcmp(phase, "Unknown") == 0};
    return hash_bytes(rest, sizeof rest, hash_bytes(uid, strlen(uid), hash_bytes(version, strlen(version), 0))) | 1;
}

/* WHY  a PodGroup that says Running after Inqueue, or how many pods run, is no news to its job. */
static void on_group(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    enum { UID_PART = 37 }; /* "-" and a uid: vcjob_pod_group_name */
    struct vcjobs *v = arg;
    const char *slash = strchr(key, '/');
    size_t n = strlen(slash + 1);
    if (n <= UID_PART || slash[1 + n - UID_PART] != '-')
        return;
    arena_reset(v->scratch);
    const char *job = arena_text_n(v->scratch, key, (size_t)(slash - key) + 1 + n - UID_PART);
    const char *ns = arena_text_n(v->scratch, key, (size_t)(slash - key));
    if (!kube_cache_raw(v->cache, ns, job + strlen(ns) + 1).n)
        return; /* of a pod, a ReplicaSet or an operator's job */
    const struct vcjob_memory *m = event == KUBE_MODIFIED ? vcjob_memory_of(v, job, false) : NULL;
    if (!m || !m->group_looked || group_looks(object_parse_lean(v->scratch, object, NULL, false)) != m->group_looked)
        workqueue_add(v->queue, job);
}

static void on_command(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct vcjobs *v = arg;
    if (event == KUBE_DELETED) {
        map_remove(v->queue_sent, bytes_of(key));
        return;
    }
    arena_reset(v->scratch);
    const struct json *command = json_parse(v->scratch, object, NULL, NULL);
    const char *kind = json_text(json_path(command, "target", "kind", NULL), "");
    const char *name = json_text(json_path(command, "target", "name", NULL), "");
    const char *slash = strchr(key, '/');
    if (strcmp(kind, "Job") == 0) {
        const char *job = arena_printf(v->scratch, "%.*s/%s", (int)(slash - key), key, name);
        kube_cache_mark(v->commands, key, job);
        workqueue_add(v->queue, job);
    } else if (strcmp(kind, "Queue") == 0)
        workqueue_add(v->queue_commands, key);
}

/* ---- what was made ---- */

struct making {
    struct vcjobs *vcjobs;
    const char *job, *name;
    uint64_t group_hash; /* 0: a pod */
};

/* WHY  not where a watch was faster: whoever deletes it then would wait for us. */
static void on_made(void *arg)
{
    const struct making *x = arg;
    struct vcjob_memory *m = vcjob_memory_of(x->vcjobs, x->job, false);
    if (m && x->group_hash)
        m->group_made = x->group_hash;
    if (m && !map_find_text(m->pods, x->name))
        *(int64_t *)map_put(m->made, bytes_of(x->name), NULL) = loop_wall_ms(x->vcjobs->jobs->loop);
}

/* It is there, though our watch is late: it would be asked for in vain. */
static bool is_made(struct vcjob_pass *x, const char *name)
{
    const int64_t *made_ms = map_find_text(x->memory->made, name);
    if (!made_ms || x->now_ms - *made_ms >= VCJOB_TAKEN_MS)
        return false;
    work_again(x->work, VCJOB_TAKEN_MS);
    return true;
}

static void make(struct vcjob_pass *x, const char *path, const char *name, const struct json *object, uint64_t group_hash)
{
    struct making *making = arena_alloc(x->work->arena, sizeof *making);
    *making = (struct making){x->vcjobs, x->work->key, name, group_hash};
    work_then(x->work, on_made, making);
    work_create(x->work, path, object);
}

/* ---- acting ---- */

static void pod_delete(struct vcjob_pass *x, struct vcjob_pod *p)
{
    p->condemned = true;
    if (!p->deleting)
        work_delete(x->work, kube_path(x->work->arena, "", "v1", "pods", x->work->ns, p->name, NULL), p->uid,
                    "Background");
}

static void kill_pods(struct vcjob_pass *x, enum vcjob_kill kill)
{
    size_t at = 0;
    struct bytes name;
    struct vcjob_pod **slot;
    while ((slot = map_next(x->memory->pods, &at, &name))) {
        struct vcjob_pod *p = *slot;
        bool ended = p->phase == VCPOD_SUCCEEDED || p->phase == VCPOD_FAILED;
        bool old = p->version != x->version;
        if (p->condemned || (kill == VCJOB_KILL_HARD && old) || (kill == VCJOB_KILL_SOFT && !ended))
            pod_delete(x, p);
    }
}

/* The PodGroup of an older version goes with a whole-job kill. */
static void group_drop(struct vcjob_pass *x)
{
    struct work *w = x->work;
    if (x->group && !object_deleting(x->group) && x->group_old)
        work_delete(w,
                    kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns,
                              object_meta(x->group, "name"), NULL),
                    object_meta(x->group, "uid"), "Background");
}

/* Of all that the PodGroup's spec follows from. Never 0. */
static uint64_t source_hash(const struct vcjob_pass *x)
{
    const char *uid = object_meta(x->job, "uid");
    const int64_t numbers[] = {x->version, object_generation_of(x->job)};
    uint64_t hash = hash_bytes(numbers, sizeof numbers, hash_bytes(uid, strlen(uid), 0));
    for (uint32_t i = 0; i < x->tasks_n; i++)
        hash = hash_bytes(&x->tasks[i].priority, sizeof x->tasks[i].priority, hash);
    return hash | 1;
}

/* The spec of the PodGroup that is there follows that of the job. */
static void update_group(struct vcjob_pass *x)
{
    struct work *w = x->work;
    int64_t generation = object_generation_of(x->group);
    const char *uid = object_meta(x->group, "uid");
    uint64_t source = source_hash(x), hash = hash_bytes(&generation, sizeof generation, hash_bytes(uid, strlen(uid), source)) | 1;
    bool as_made = generation == 1 && x->memory->group_made == source; /* by us, and nobody has changed it since */
    x->memory->group_made = 0;
    if (as_made)
        x->memory->group_seen = hash;
    if (x->memory->group_seen == hash)
        return;
    struct json *wanted = vcjob_pod_group(w->arena, x->job, x->tasks, x->tasks_n, x->version);
    struct json *diff = object_diff(w->arena, json_get(x->group, "spec"), json_get(wanted, "spec"));
    struct json *patch = json_new(w->arena, JSON_OBJECT), *part = json_new(w->arena, JSON_OBJECT);
    static const char *const ours[] = {"minMember", "minTaskMember", "minResources", "queue", "priorityClassName", "subGroupPolicy"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (json_get(diff, ours[i]) && json_get(diff, ours[i])->type != JSON_NULL)
            json_set(w->arena, part, ours[i], json_clone(w->arena, json_get(diff, ours[i])));
    if (part->n) {
        json_set(w->arena, patch, "spec", part);
        work_patch(w, KUBE_PATCH_MERGE,
                   kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns,
                             object_meta(x->group, "name"), NULL),
                   patch);
    } else {
        x->memory->group_seen = hash;
    }
}

/* Returns true when the scheduler has let the gang in, so that pods may exist. */
static bool make_group(struct vcjob_pass *x)
{
    struct work *w = x->work;
    if (!x->group) {
        if (!is_made(x, x->group_name))
            make(x, kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, NULL, NULL), x->group_name,
                 vcjob_pod_group(w->arena, x->job, x->tasks, x->tasks_n, x->version), source_hash(x));
        return false;
    }
    (void)map_remove(x->memory->made, bytes_of(x->group_name)); /* it was seen before */
    update_group(x);
    return is_let_in(json_text(json_path(x->group, "status", "phase", NULL), ""));
}

static const struct vcjob_task *task_find(const struct vcjob_pass *x, const char *name)
{
    for (uint32_t i = 0; i < x->tasks_n; i++)
        if (strcmp(x->tasks[i].name, name) == 0)
            return &x->tasks[i];
    return NULL;
}

static bool task_up(const struct vcjob_pass *x, const char *name)
{
    const struct vcjob_task *task = task_find(x, name);
    int64_t up_n = 0;
    size_t at = 0;
    struct bytes key;
    struct vcjob_pod **slot;
    while (task && (slot = map_next(x->memory->pods, &at, &key)))
        if (strcmp((*slot)->task, name) == 0 && (*slot)->version == x->version)
            up_n += (*slot)->phase == VCPOD_SUCCEEDED || ((*slot)->phase == VCPOD_RUNNING && (*slot)->ready);
    return task && up_n >= task->min_available;
}

static bool dependencies_up(const struct vcjob_pass *x, const struct vcjob_task *task)
{
    const struct json *depends = json_get(task->spec, "dependsOn"), *names = json_get(depends, "name");
    if (!names || names->type != JSON_ARRAY || names->n == 0)
        return true;
    bool any = strcmp(json_get_text(depends, "iteration", "all"), "any") == 0;
    JSON_EACH (name, names)
        if (task_up(x, json_text(name, "")) == any)
            return any;
    return !any;
}

/* It was asked for a while ago, the server has it, and our watch shows no such pod of this job. */
static void tell_taken(struct vcjob_pass *x, const char *pod)
{
    struct work *w = x->work;
    const char *other = NULL;
    (void)vcjob_memory_of_pod(x->vcjobs, w->ns, pod, w->arena, &other); /* NULL: its owner is no Volcano Job */
    job_event(x->vcjobs->jobs, x->job, API_VERSION, "Job", "Warning", "PodNameTaken",
              "pod %s is there already and belongs to %s%s: pods are called <job>-<task>-<index>; rename the job or its task, or delete that pod",
              pod, other ? "Job " : "another", other ? strchr(other, '/') + 1 : "");
}

static void note_missing(struct vcjob_pass *x, const char *pod)
{
    struct vcjob_memory *m = x->memory;
    if (m->asked_ms < 0) {
        work_again(x->work, VCJOB_TAKEN_AGAIN_MS);
        return;
    }
    if (m->asked_ms == 0 || work_failed(x->work))
        m->asked_ms = x->now_ms;
    if (x->now_ms - m->asked_ms < VCJOB_TAKEN_MS) {
        work_again(x->work, VCJOB_TAKEN_MS);
        return;
    }
    tell_taken(x, pod);
    m->asked_ms = -1;
    work_again(x->work, VCJOB_TAKEN_AGAIN_MS);
}

static void make_task_pods(struct vcjob_pass *x, const struct vcjob_task *task)
{
    struct work *w = x->work;
    for (int64_t i = 0; i < task->replicas && i < LIMIT_GANG_MEMBERS; i++) {
        const char *name = vcjob_pod_name(w->arena, w->name, task->name, i);
        if (map_find_text(x->memory->pods, name) || is_made(x, name))
            continue;
        if (x->creates_n++ >= VCJOB_CREATES_PER_PASS) {
            x->memory->asked_ms = 0;
            work_again(w, 0);
            return;
        }
        if (x->creates_n == 1)
            note_missing(x, name);
        struct json *pod = vcjob_pod(w->arena, x->job, task, i, x->version, x->view.retry_count);
        vcjob_plugin_pod(w->arena, x->job, &x->plugins, x->tasks, x->tasks_n, i, pod);
        make(x, kube_path(w->arena, "", "v1", "pods", w->ns, NULL, NULL), name, pod, 0);
    }
}

static void drop_surplus(struct vcjob_pass *x)
{
    size_t at = 0;
    struct bytes name;
    struct vcjob_pod **slot;
    while ((slot = map_next(x->memory->pods, &at, &name))) {
        const struct vcjob_task *task = task_find(x, (*slot)->task);
        if (!task || (*slot)->index >= task->replicas)
            pod_delete(x, *slot);
    }
}

static void act_alive(struct vcjob_pass *x)
{
    vcjob_objects_make(x);
    kill_pods(x, VCJOB_KILL_NONE); /* the condemned ones */
    drop_surplus(x);
    if (x->group && (object_deleting(x->group) || x->group_old))
        return; /* a new one follows when this is gone */
    if (!make_group(x))
        return;
    for (uint32_t i = 0; i < x->tasks_n; i++)
        if (dependencies_up(x, &x->tasks[i]))
            make_task_pods(x, &x->tasks[i]);
    if (x->creates_n == 0)
        x->memory->asked_ms = 0;
}

static void act_ttl(struct vcjob_pass *x)
{
    struct work *w = x->work;
    const struct json *ttl = json_path(x->job, "spec", "ttlSecondsAfterFinished", NULL);
    int64_t ended_ms;
    if (!ttl || !vcjob_phase_final(x->view.phase))
        return;
    if (!time_parse(json_bytes(json_path(x->job, "status", "state", "lastTransitionTime", NULL)), &ended_ms))
        return;
    int64_t wait_ms = ended_ms + json_int64(ttl, 0) * 1000 - x->now_ms;
    if (wait_ms > 0)
        work_again(w, wait_ms);
    else
        work_delete(w, job_path(w, NULL), object_meta(x->job, "uid"), "Background");
}

static void act(struct vcjob_pass *x)
{
    enum vcjob_kill kill = vcjob_phase_kill(x->view.phase);
    if (kill == VCJOB_KILL_NONE) {
        act_alive(x);
        return;
    }
    bool targeted = x->view.phase == VCJOB_RESTARTING && !x->group_old && x->memory->objects_version == x->version;
    kill_pods(x, targeted ? VCJOB_KILL_NONE : kill);
    if (!targeted) {
        group_drop(x);
        vcjob_objects_drop(x);
    }
    act_ttl(x);
}

/* ---- one pass ---- */

static void priorities_read(struct vcjob_pass *x)
{
    const struct kube_cache *classes = x->vcjobs->jobs->priority_classes;
    for (uint32_t i = 0; i < x->tasks_n; i++) {
        const char *class = json_text(json_path(x->tasks[i].spec, "template", "spec", "priorityClassName", NULL), "");
        if (*class)
            x->tasks[i].priority = json_get_int64(kube_cache_get(classes, "", class, x->work->arena), "value", 0);
    }
}

static void pass_read(struct vcjob_pass *x)
{
    struct work *w = x->work;
    struct vcjobs *v = x->vcjobs;
    x->tasks_n = vcjob_tasks(w->arena, x->job, &x->tasks);
    priorities_read(x);
    x->version = json_int64(json_path(x->job, "status", "version", NULL), 0);
    x->now_ms = loop_wall_ms(v->jobs->loop);
    vcjob_plugins_parse(w->arena, x->job, x->tasks, x->tasks_n, &x->plugins);
    x->group_name = vcjob_pod_group_name(w->arena, x->job);
    x->group = kube_cache_get(v->groups, w->ns, x->group_name, w->arena);
    x->memory->group_looked = x->group ? group_looks(x->group) : 0;
    int64_t group_version = 0;
    if (x->group && bytes_int64(bytes_of(object_annotation(x->group, JOB_VERSION)), &group_version))
        x->group_old = group_version != x->version;
    vcjob_view_of(x->job, x->tasks, x->tasks_n, x->memory->pods, &x->view);
    if (vcjob_phase_final(x->view.phase))
        x->group_old = x->group != NULL;
    if (x->view.phase == VCJOB_RESTARTING && x->group_old)
        x->view.terminating_n = x->view.replicas; /* not before the old gang is gone */
}

static void memory_meet(struct vcjob_memory *m, const struct json *job)
{
    const char *uid = object_meta(job, "uid");
    if (m->uid && strcmp(m->uid, uid) == 0)
        return;
    free(m->uid);
    m->uid = mem_text(uid);
    map_clear(m->made);
    vcjob_objects_meet(m, job);
    m->generation_seen = m->updated_ms = m->unknown_ms = 0;
    m->restarting_part = false;
}

static bool is_figure(const char *key)
{
    static const char *const figures[] = {"pending", "running", "succeeded", "failed", "terminating", "unknown", "taskStatusCount"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(key, figures[i]) == 0)
            return true;
    return false;
}

/* LIMIT  figures alone are written at the pace of figures: eight pods that start one after the other are not eight writes.
 * False: nothing is written now. */
static bool status_write(struct vcjob_pass *x, struct json *status)
{
    struct work *w = x->work;
    struct json *diff = object_diff(w->arena, json_get(x->job, "status"), status);
    bool only_figures = true;
    if (!diff)
        return false;
    JSON_EACH (member, diff)
        only_figures = only_figures && is_figure(member->key);
    int64_t now_ms = loop_now_ms(x->vcjobs->jobs->loop), wait_ms = only_figures ? pace_wait_ms(x->vcjobs->pace, w->key, now_ms) : 0;
    if (wait_ms > 0) {
        work_again(w, wait_ms);
        return false;
    }
    pace_written(x->vcjobs->pace, w->key, now_ms);
    work_patch_status(w, job_path(w, "status"), x->job, diff);
    return true;
}

/* SOURCE Volcano kills first and writes then: whoever sees a job restart or come to its end sees how many pods go for that. */
static struct vcjob_view view_after(const struct vcjob_pass *x, const struct vcjob_step *step, enum vcjob_action action)
{
    struct vcjob_view v = x->view;
    if (!step->whole && action != VCJOB_DO_SYNC)
        vcjob_view_of(x->job, x->tasks, x->tasks_n, x->memory->pods, &v); /* condemned ones go */
    if (!step->whole)
        return v;
    bool last = step->retry && v.retry_count + 1 >= v.max_retry; /* ended pods stay, for their logs */
    v.terminating_n += v.pending_n + v.running_n + v.unknown_n;
    v.pending_n = v.running_n = v.unknown_n = 0;
    if (step->kill == VCJOB_KILL_HARD && !last) {
        v.terminating_n += v.succeeded_n + v.failed_n;
        v.succeeded_n = v.failed_n = 0;
    }
    return v;
}

/* It waited and runs: the standing orders are the same in both phases, and can be carried out with the step. */
static bool is_start(const struct vcjob_pass *x, enum vcjob_action action, const struct vcjob_step *step)
{
    return action == VCJOB_DO_SYNC && x->view.phase == VCJOB_PENDING && step->next == VCJOB_RUNNING;
}

/* No step follows from the phase that it comes to, as its pods are. */
static bool is_settled(const struct vcjob_pass *x, const struct vcjob_step *step)
{
    struct vcjob_view then = x->view;
    then.phase = step->next;
    return vcjob_state_next(&then, VCJOB_DO_SYNC).next == then.phase;
}

static void reconcile(void *arg, struct work *w)
{
    struct vcjobs *v = arg;
    if (!kube_cache_synced(v->cache) || !kube_watch_synced(v->pods) || !kube_cache_synced(v->groups) ||
        !kube_cache_synced(v->jobs->priority_classes))
        return;
    struct vcjob_pass x = {.vcjobs = v, .work = w};
    x.job = kube_cache_get(v->cache, w->ns, w->name, w->arena);
    if (!x.job || object_deleting(x.job)) {
        memory_forget(v, w->key);
        return;
    }
    x.memory = vcjob_memory_of(v, w->key, true);
    memory_meet(x.memory, x.job);
    vcjob_objects_settle(x.memory, w);
    pass_read(&x);
    const char *message = NULL;
    enum vcjob_action action = vcjob_trigger(&x, &message);
    struct vcjob_step step = vcjob_state_next(&x.view, action);
    struct vcjob_view shown = view_after(&x, &step, action);
    struct json *status = vcjob_status_next(w->arena, x.job, x.tasks, x.tasks_n, x.memory->pods, &shown, &step, message, x.now_ms);
    bool stepped = step.next != x.view.phase || step.whole || step.retry, starts = is_start(&x, action, &step);
    if (stepped && action != VCJOB_DO_SYNC)
        job_event(v->jobs, x.job, API_VERSION, "Job", "Normal", "ExecuteAction", "Start to execute action %s: %s",
                  vcjob_action_name(action), message ? message : "");
    if (!stepped || starts)
        act(&x);
    vcjob_resources_mark(&x, status);
    if (status_write(&x, status) && !(starts && is_settled(&x, &step)))
        work_again(w, 0); /* what follows from it; its own write is no news */
}

static void on_synced(void *arg)
{
    struct vcjobs *v = arg;
    workqueue_add_all(v->queue, v->cache, NULL);
}

static void on_jobs_synced(void *arg)
{
    struct vcjobs *v = arg;
    on_synced(v);
    job_flows_synced(v->flows);
    cron_jobs_synced(v->cron_jobs);
}

/* One that was terminated is over, and in neither history. SOURCE Volcano. */
static enum cron_ended job_ended(const struct json *job, int64_t *ret_ended_ms)
{
    enum vcjob_phase phase = vcjob_phase_of(json_text(json_path(job, "status", "state", "phase", NULL), ""));
    time_parse(json_bytes(json_path(job, "status", "state", "lastTransitionTime", NULL)), ret_ended_ms);
    return phase == VCJOB_COMPLETED    ? CRON_SUCCEEDED
           : phase == VCJOB_FAILED     ? CRON_FAILED
           : phase == VCJOB_TERMINATED ? CRON_OVER
                                       : CRON_RUNS;
}

static const struct cron_kind cron_kind = {GROUP, "v1alpha1", "volcano.sh/cronjob-scheduled-timestamp", job_ended};

void vcjobs_synced(struct vcjobs *v)
{
    on_synced(v);
}

struct vcjobs *vcjobs_new(struct jobs *j)
{
    struct vcjobs *v = mem_zero(1, sizeof *v);
    v->jobs = j;
    v->scratch = arena_new();
    v->memories = map_new(sizeof(struct vcjob_memory *));
    v->queue_sent = map_new(sizeof(bool));
    v->pace = pace_new();
    v->queue = workqueue_new(j->client, reconcile, v);
    v->queue_commands = workqueue_new(j->client, vcjob_queue_command, v);
    struct kube_cache_config jobs = {.watch = {.path = "/apis/batch.volcano.sh/v1alpha1/jobs", .optional = true},
                                     .on_change = on_job,
                                     .on_synced = on_jobs_synced,
                                     .arg = v};
    struct kube_cache_config groups = {
        .watch = {.path = "/apis/scheduling.volcano.sh/v1beta1/podgroups", .optional = true},
        .on_change = on_group,
        .on_synced = on_synced,
        .arg = v};
    struct kube_cache_config commands = {.watch = {.path = "/apis/bus.volcano.sh/v1alpha1/commands", .optional = true},
                                         .on_change = on_command,
                                         .arg = v};
    struct kube_watch_config pods = {.path = "/api/v1/pods",
                                     .label_selector = "volcano.sh/job-name",
                                     .on_event = on_pod,
                                     .on_synced = on_synced,
                                     .arg = v};
    v->cache = kube_cache_new(j->client, &jobs);
    v->flows = job_flows_new(j, v->cache);
    v->cron_jobs = cron_jobs_new(j->client, j->events, &cron_kind, v->cache);
    v->groups = kube_cache_new(j->client, &groups);
    v->commands = kube_cache_new(j->client, &commands);
    v->pods = kube_watch_new(j->client, &pods);
    return v;
}

void vcjobs_free(struct vcjobs *v)
{
    if (!v)
        return;
    workqueue_free(v->queue);
    workqueue_free(v->queue_commands);
    job_flows_free(v->flows);
    cron_jobs_free(v->cron_jobs);
    kube_watch_free(v->pods);
    kube_cache_free(v->cache);
    kube_cache_free(v->groups);
    kube_cache_free(v->commands);
    size_t at = 0;
    struct bytes key;
    struct vcjob_memory **slot;
    while ((slot = map_next(v->memories, &at, &key)))
        memory_free(*slot);
    map_free(v->memories);
    map_free(v->queue_sent);
    pace_free(v->pace);
    arena_free(v->scratch);
    free(v);
}
