/* kueue_kubeflow.c - the kinds that Kubeflow's training and MPI operators run, queued the Kueue way: one pod set a role, named as the
 * role in lower case
 *
 * What differs between them stands in codec/kinds/queued_kinds.c: where the roles are, and in which order.
 */
#include "codec/kinds/podset_names.h"
#include "jobs/kueue/kueue_kind.h"

#define INDEX_OFFSET "kueue.x-k8s.io/pod-index-offset"
#define REPLICA_INDEX_LABEL "training.kubeflow.org/replica-index"

static const struct json *roles_of(const struct queued_kind *k, const struct json *job)
{
    return json_path(job, "spec", k->replicas, NULL);
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why)
{
    const struct json *roles = roles_of(k, job);
    struct json *sets = json_new(a, JSON_ARRAY);
    (void)j;
    for (const char *const *name = k->roles; *name; name++) {
        const struct json *role = json_get(roles, *name);
        if (json_is(role, JSON_OBJECT))
            json_append(sets, kueue_pod_set(a, kueue_lower(a, *name), json_get_int64(role, "replicas", 1), json_get(role, "template"),
                                            REPLICA_INDEX_LABEL));
    }
    if (sets->n)
        return sets;
    *ret_why = arena_printf(a, "spec.%s has no role that a %s knows: write %s", k->replicas, k->kind, k->roles[0]);
    return NULL;
}

/* WHY  the workers would wait for a launcher that is made when they are ready. */
static const char *later(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job)
{
    (void)j;
    (void)a;
    bool waits = strcmp(json_get_text(json_get(job, "spec"), "launcherCreationPolicy", ""), "WaitForWorkersReady") == 0;
    return k == &queued_kinds[QUEUED_MPIJOB] && waits ? "launcher" : NULL;
}

static const char *priority_class(const struct queued_kind *k, const struct json *job)
{
    return json_text(json_path(job, "spec", k->policy, "schedulingPolicy", "priorityClass", NULL), "");
}

/* The template of the role that a pod set is of, as it is now; in a patch, too. */
static const struct json *template_of(struct arena *a, const struct queued_kind *k, const struct json *job, const char *set,
                                      const char **ret_role)
{
    for (const char *const *name = k->roles; *name; name++)
        if (text_equal(kueue_lower(a, *name), set)) {
            *ret_role = *name;
            return json_get(json_get(roles_of(k, job), *name), "template");
        }
    return NULL;
}

static struct json *template_to(struct arena *a, const struct queued_kind *k, struct json *patch, const char *role)
{
    struct json *roles = json_ensure_object(a, json_ensure_object(a, patch, "spec"), k->replicas);
    return json_ensure_object(a, json_ensure_object(a, roles, role), "template");
}

/* WHY  a launcher that works, too, has index 0 among the workers, whose own begin at 0: whoever places pods by their index has to know.
 * In a group with it they are told apart by their pod sets. SOURCE Kueue's webhook. */
static void count_after_launcher(struct arena *a, const struct queued_kind *k, const struct json *job, struct json *patch)
{
    const struct json *roles = roles_of(k, job), *launcher = json_get(roles, "Launcher");
    if (k != &queued_kinds[QUEUED_MPIJOB] || !json_get_bool(json_get(job, "spec"), "runLauncherAsWorker", false) || !launcher ||
        !json_get(roles, "Worker") || json_path(launcher, "template", "metadata", "annotations", PODSET_GROUP, NULL))
        return;
    struct json *meta = json_ensure_object(a, template_to(a, k, patch, "Worker"), "metadata");
    json_set_text(a, json_ensure_object(a, meta, "annotations"), INDEX_OFFSET, "1");
}

static int start(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    for (uint32_t i = 0; i < starts_n; i++) {
        const char *role;
        const struct json *now = template_of(a, k, job, starts[i].pod_set, &role);
        int r = now ? kueue_template_start(a, now, &starts[i], template_to(a, k, patch, role), e) : 0;
        if (r < 0)
            return r;
    }
    count_after_launcher(a, k, job, patch);
    return 0;
}

static bool restore(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    bool any = false;
    (void)ret_status;
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        const char *role;
        const struct json *now = template_of(a, k, job, json_get_text(set, "name", "main"), &role);
        if (!json_path(now, "metadata", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL))
            continue;
        kueue_template_restore(a, now, json_get(set, "template"), template_to(a, k, patch, role));
        any = true;
    }
    return any;
}

static bool active(const struct json *job)
{
    JSON_EACH (role, json_path(job, "status", "replicaStatuses", NULL))
        if (json_get_int64(role, "active", 0) > 0)
            return true;
    return false;
}

/* SOURCE Kueue */
static bool all_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    (void)j;
    (void)a;
    return object_condition_true(job, "Running");
}

const struct kueue_kind kueue_kubeflow_kind = {
    .pod_sets = pod_sets,
    .later = later,
    .priority_class = priority_class,
    .start = start,
    .restore = restore,
    .restores_at_once = true,
    .active = active,
    .all_ready = all_ready,
};
