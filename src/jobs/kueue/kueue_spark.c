/* kueue_spark.c - SparkApplication, queued the Kueue way: pod sets driver and executor
 *
 * A role's pod is not written as a template: what it asks for, where it may go and its marks stand in members of spec.driver and
 * spec.executor. Start and restore change four of these; a node selector of the application as a whole is each role's while it runs, for
 * Spark takes one or the others.
 *
 * SOURCE Kueue: of what a pod asks for coreRequest, memory and gpu count, as the operator's webhook writes them.
 */
#include <ctype.h>
#include "jobs/kueue/kueue_kind.h"

static const struct {
    const char *name, *container;
} roles[] = {{"driver", "spark-kubernetes-driver"}, {"executor", "spark-kubernetes-executor"}};
enum { ROLES_N = sizeof roles / sizeof *roles };

static const struct json *role_of(const struct json *job, const char *name)
{
    return json_path(job, "spec", name, NULL);
}

/* ---- pod sets ---- */

/* "512m" as Java says it is 512Mi; what already is a quantity stays. */
static const char *memory_of(struct arena *a, const char *text)
{
    static const char units[] = "kmgtp";
    size_t n = strlen(text);
    size_t end = n && (text[n - 1] == 'b' || text[n - 1] == 'B') ? n - 1 : n;
    char unit = end ? (char)tolower((unsigned char)text[end - 1]) : '\0';
    const char *at = unit ? strchr(units, unit) : NULL;
    if (!at)
        return text;
    return arena_printf(a, "%.*s%ci", (int)(end - 1), text, toupper((unsigned char)unit));
}

static void set_amount(struct arena *a, struct json *container, const char *which, const char *resource, const char *amount)
{
    if (*amount)
        json_set_text(a, json_ensure_object(a, json_ensure_object(a, container, "resources"), which), resource, amount);
}

static struct json *container_of(struct arena *a, const struct json *role, const char *name)
{
    struct json *container = json_new(a, JSON_OBJECT);
    const struct json *gpu = json_get(role, "gpu");
    const char *resource = json_get_text(gpu, "name", "");
    int64_t gpus = json_get_int64(gpu, "quantity", 0);
    json_set_text(a, container, "name", name);
    set_amount(a, container, "requests", "cpu", json_get_text(role, "coreRequest", ""));
    set_amount(a, container, "limits", "cpu", json_get_text(role, "coreLimit", ""));
    set_amount(a, container, "requests", "memory", memory_of(a, json_get_text(role, "memory", "")));
    set_amount(a, container, "limits", "memory", memory_of(a, json_get_text(role, "memoryLimit", "")));
    if (*resource && gpus > 0)
        set_amount(a, container, "limits", resource, arena_printf(a, "%lld", (long long)gpus));
    return container;
}

static void copy_member(struct arena *a, const struct json *from, const char *key, struct json *to, const char *as)
{
    const struct json *value = json_get(from, key);
    if (value && value->type != JSON_NULL)
        json_set(a, to, as, json_clone(a, value));
}

/* Those of the role over those of its template. */
static void merge_marks(struct arena *a, const struct json *role, const char *which, struct json *metadata)
{
    struct json *marks = json_new(a, JSON_OBJECT);
    JSON_EACH (mark, json_path(role, "template", "metadata", which, NULL))
        json_set(a, marks, mark->key, json_clone(a, mark));
    JSON_EACH (mark, json_get(role, which))
        json_set(a, marks, mark->key, json_clone(a, mark));
    if (marks->n)
        json_set(a, metadata, which, marks);
}

static struct json *template_of(struct arena *a, const struct json *job, int i)
{
    const struct json *role = role_of(job, roles[i].name), *all = json_get(job, "spec");
    struct json *template = json_new(a, JSON_OBJECT), *spec = json_ensure_object(a, template, "spec"),
                *metadata = json_ensure_object(a, template, "metadata");
    merge_marks(a, role, "labels", metadata);
    merge_marks(a, role, "annotations", metadata);
    json_append(json_ensure_array(a, spec, "containers"), container_of(a, role, roles[i].container));
    JSON_EACH (sidecar, json_get(role, "sidecars"))
        json_append(json_get(spec, "containers"), json_clone(a, sidecar));
    copy_member(a, role, "initContainers", spec, "initContainers");
    copy_member(a, all, "nodeSelector", spec, "nodeSelector");
    copy_member(a, role, "nodeSelector", spec, "nodeSelector");
    copy_member(a, role, "affinity", spec, "affinity");
    copy_member(a, role, "tolerations", spec, "tolerations");
    copy_member(a, role, "priorityClassName", spec, "priorityClassName");
    return template;
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why)
{
    const struct json *spec = json_get(job, "spec");
    (void)j;
    (void)k;
    if (strcmp(json_get_text(spec, "mode", "cluster"), "cluster") != 0) {
        *ret_why = "spec.mode: of a queued SparkApplication the driver runs in a pod: write cluster";
        return NULL;
    }
    if (json_get_bool(json_get(spec, "dynamicAllocation"), "enabled", false)) {
        *ret_why = "spec.dynamicAllocation.enabled: a queued SparkApplication has a fixed number of executors: write false, and "
                   "spec.executor.instances";
        return NULL;
    }
    struct json *sets = json_new(a, JSON_ARRAY);
    json_append(sets, kueue_pod_set(a, "driver", 1, template_of(a, job, 0), NULL));
    json_append(sets, kueue_pod_set(a, "executor", json_get_int64(role_of(job, "executor"), "instances", 0), template_of(a, job, 1), NULL));
    return sets;
}

/* The driver asks for executors when it runs. */
static const char *later(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job)
{
    (void)j;
    (void)a;
    (void)k;
    (void)job;
    return "executor";
}

/* ---- start, restore ---- */

static const struct {
    const char *group, *key; /* of a template, and the role's member of that name */
} changed[] = {{"metadata", "labels"}, {"metadata", "annotations"}, {"spec", "nodeSelector"}, {"spec", "tolerations"}};
enum { CHANGED_N = sizeof changed / sizeof *changed, MARKS_N = 2 };

struct templates {
    struct json *of[ROLES_N];
};

static struct templates copy_templates(struct arena *a, const struct json *job)
{
    struct templates t = {0};
    for (int i = 0; i < ROLES_N; i++) {
        const struct json *role = role_of(job, roles[i].name);
        t.of[i] = json_new(a, JSON_OBJECT);
        if (!json_get(role, "nodeSelector"))
            copy_member(a, json_get(job, "spec"), "nodeSelector", json_ensure_object(a, t.of[i], "spec"), "nodeSelector");
        for (int c = 0; c < MARKS_N; c++)
            merge_marks(a, role, changed[c].key, json_ensure_object(a, t.of[i], "metadata"));
        for (int c = MARKS_N; c < CHANGED_N; c++)
            copy_member(a, role, changed[c].key, json_ensure_object(a, t.of[i], changed[c].group), changed[c].key);
    }
    return t;
}

static struct json *template_named(struct arena *a, const void *of, const char *pod_set)
{
    const struct templates *t = of;
    (void)a;
    for (int i = 0; i < ROLES_N; i++)
        if (strcmp(roles[i].name, pod_set) == 0)
            return t->of[i];
    return NULL;
}

/* As differences: what the role has besides stays. */
static void write_templates(struct arena *a, const struct json *job, const struct templates *t, struct json *patch)
{
    struct json *spec = json_ensure_object(a, patch, "spec");
    const struct json *all = json_path(job, "spec", "nodeSelector", NULL);
    for (int i = 0; i < ROLES_N; i++) {
        const struct json *was = role_of(job, roles[i].name);
        struct json *from = json_new(a, JSON_OBJECT), *to = json_new(a, JSON_OBJECT);
        for (int c = 0; c < CHANGED_N; c++) {
            copy_member(a, was, changed[c].key, from, changed[c].key);
            copy_member(a, json_get(t->of[i], changed[c].group), changed[c].key, to, changed[c].key);
        }
        struct json *diff = object_diff(a, from, to);
        if (diff)
            json_set(a, spec, roles[i].name, diff);
    }
    if (json_is(all, JSON_OBJECT))
        json_set(a, spec, "nodeSelector", json_new(a, JSON_NULL));
}

/* Marks that stand in a role's template, not in the role, are in the Workload's, too: they are left out again. Nor does a start write one
 * that stands there: nobody would know afterwards whose it is. */
static void drop_template_marks(const struct json *job, const struct templates *t)
{
    for (int i = 0; i < ROLES_N; i++)
        for (int c = 0; c < MARKS_N; c++) {
            struct json *marks = json_path(t->of[i], "metadata", changed[c].key, NULL);
            const struct json *role = role_of(job, roles[i].name);
            JSON_EACH (mark, json_path(role, "template", "metadata", changed[c].key, NULL))
                if (!json_path(role, changed[c].key, mark->key, NULL) && json_get(marks, mark->key) &&
                    json_equal(json_get(marks, mark->key), mark))
                    (void)json_remove(marks, mark->key);
        }
}

static int start(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    struct templates t = copy_templates(a, job);
    int r = kueue_templates_start(a, &(struct kueue_templates){template_named, &t}, starts, starts_n, e);
    (void)k;
    if (r < 0)
        return r;
    drop_template_marks(job, &t);
    write_templates(a, job, &t, patch);
    return 0;
}

static bool restore(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    struct templates t = copy_templates(a, job);
    bool any = kueue_templates_restore(a, &(struct kueue_templates){template_named, &t}, workload);
    (void)k;
    (void)ret_status;
    if (!any)
        return false;
    drop_template_marks(job, &t);
    write_templates(a, job, &t, patch);
    return true;
}

/* ---- what it tells ---- */

static const char *state_of(const struct json *job)
{
    return json_text(json_path(job, "status", "applicationState", "state", NULL), "");
}

static bool active(const struct json *job)
{
    return strcmp(state_of(job), "RUNNING") == 0;
}

/* SOURCE Kueue: the state is that of the driver, executors are counted. */
static bool all_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    int64_t ready_n = 0;
    (void)j;
    (void)a;
    JSON_EACH (state, json_path(job, "status", "executorState", NULL))
        ready_n += bytes_is(json_bytes(state), "RUNNING") || bytes_is(json_bytes(state), "COMPLETED");
    return active(job) && ready_n >= json_get_int64(role_of(job, "executor"), "instances", 0);
}

static bool over_well(const struct json *job, bool *ret_well, const char **ret_message)
{
    const char *is = state_of(job);
    *ret_well = strcmp(is, "COMPLETED") == 0;
    *ret_message = json_text(json_path(job, "status", "applicationState", "errorMessage", NULL), "");
    return *ret_well || strcmp(is, "FAILED") == 0 || strcmp(is, "SUBMISSION_FAILED") == 0;
}

const struct kueue_kind kueue_sparkapplication_kind = {
    .pod_sets = pod_sets,
    .later = later,
    .start = start,
    .restore = restore,
    .restores_at_once = true,
    .active = active,
    .all_ready = all_ready,
    .over_well = over_well,
};
