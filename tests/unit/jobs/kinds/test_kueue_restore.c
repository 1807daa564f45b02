/* Jobs of every kind, with whatever their owners wrote into the pod templates: started with what flavors and checks add, and stopped again,
 * each is what it was, to the last label; and while it runs its pods carry both. Also where what is added stands there already.
 *
 *     RESTORES=100000 RESTORES_SEED=7 build/tests/unit/jobs/kinds/test_jobs_kueue_restore
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "../../tree.h"
#include "base/random.h"
#include "jobs/kueue/kueue_kind.h"
#include "wire/patch.h"

enum { SETS_MOST = 8 };

static struct random r;

static bool perhaps(uint32_t permille)
{
    return random_permille(&r, permille);
}

/* ---- what an owner may have written; some of it is what flavors and checks add, too ---- */

static void words(struct json *parent, const char *key, const char *const *pairs, int n)
{
    for (int i = 0; i < n; i += 2)
        if (perhaps(400))
            json_set_text(a, json_ensure_object(a, parent, key), pairs[i], pairs[i + 1]);
    if (perhaps(100))
        (void)json_ensure_object(a, parent, key); /* empty */
}

#define TOLERATION(key) "{\"key\":\"" key "\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}"

static void tolerations(struct json *spec)
{
    static const char *const some[] = {TOLERATION("own"), TOLERATION("nvidia.com/gpu"), "{\"operator\":\"Exists\"}", TOLERATION("spot")};
    for (int i = 0; i < 4; i++)
        if (perhaps(300))
            json_append(json_ensure_array(a, spec, "tolerations"), parse(some[i]));
}

static const char *const labels[] = {"app", "train", "team", "vision", "added", "by-check"},
                         *const annotations[] = {"note", "mine", "capstan.dev/run-seconds", "5", "karpenter.sh/do-not-disrupt", "true"},
                         *const selectors[] = {"zone", "a", "gpu", "a100", "disk", "ssd"};

static struct json *template_of(void)
{
    struct json *t = parse("{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]}}");
    struct json *metadata = perhaps(700) ? json_ensure_object(a, t, "metadata") : NULL, *spec = json_get(t, "spec");
    if (metadata) {
        words(metadata, "labels", labels, 6);
        words(metadata, "annotations", annotations, 6);
    }
    words(spec, "nodeSelector", selectors, 6);
    tolerations(spec);
    if (perhaps(300))
        json_set_text(a, spec, "restartPolicy", "Never");
    if (perhaps(200))
        json_set_text(a, spec, "priorityClassName", "high");
    if (perhaps(200))
        json_append(json_ensure_array(a, spec, "schedulingGates"), parse("{\"name\":\"example.com/wait\"}"));
    return t;
}

static struct json *with_template(const char *members)
{
    struct json *v = parse(members);
    json_set(a, v, "template", template_of());
    return v;
}

/* ---- jobs ---- */

static struct json *kubeflow(const struct queued_kind *k)
{
    struct json *spec = json_new(a, JSON_OBJECT), *roles = json_ensure_object(a, spec, k->replicas);
    for (int i = 0; k->roles[i]; i++)
        if (i == 0 || perhaps(800))
            json_set(a, roles, k->roles[i], with_template(perhaps(500) ? "{\"replicas\":2,\"restartPolicy\":\"Never\"}" : "{}"));
    return spec;
}

static struct json *jobset(const struct queued_kind *k)
{
    struct json *spec = json_new(a, JSON_OBJECT), *list = json_ensure_array(a, spec, "replicatedJobs");
    (void)k;
    for (uint64_t i = 0, n = 1 + random_below(&r, 3); i < n; i++) {
        struct json *one = parse(arena_printf(a, "{\"name\":\"r%d\",\"replicas\":%d,\"template\":{}}", (int)i, (int)random_below(&r, 3)));
        json_set(a, json_get(one, "template"), "spec", with_template("{\"parallelism\":2,\"completions\":2}"));
        json_append(list, one);
    }
    return spec;
}

static struct json *ray_cluster(const struct queued_kind *k)
{
    struct json *spec = json_new(a, JSON_OBJECT);
    (void)k;
    json_set(a, spec, "headGroupSpec", with_template("{\"rayStartParams\":{\"dashboard-host\":\"0.0.0.0\"}}"));
    for (uint64_t i = 0, n = random_below(&r, 3); i < n; i++)
        json_append(json_ensure_array(a, spec, "workerGroupSpecs"),
                    with_template(arena_printf(a, "{\"groupName\":\"G%d\",\"replicas\":%d,\"rayStartParams\":{}}", (int)i,
                                               (int)random_below(&r, 3))));
    if (perhaps(300))
        json_set_bool(a, spec, "enableInTreeAutoscaling", true); /* a container more in the head, in the Workload alone */
    return spec;
}

static struct json *ray_job(const struct queued_kind *k)
{
    static const char *const modes[] = {"K8sJobMode", "HTTPMode", "SidecarMode"};
    struct json *spec = json_new(a, JSON_OBJECT);
    json_set(a, spec, "rayClusterSpec", ray_cluster(k));
    if (perhaps(700))
        json_set_text(a, spec, "submissionMode", modes[random_below(&r, 3)]);
    if (perhaps(500))
        json_set(a, spec, "submitterPodTemplate", template_of());
    return spec;
}

static struct json *ray_service(const struct queued_kind *k)
{
    struct json *spec = parse("{\"serveConfigV2\":\"x\"}");
    json_set(a, spec, "rayClusterConfig", ray_cluster(k));
    return spec;
}

static struct json *batch_job(const struct queued_kind *k)
{
    (void)k;
    return with_template("{\"parallelism\":2,\"completions\":2}");
}

static struct json *spark_role(const char *members)
{
    struct json *role = parse(members);
    words(role, "labels", labels, 6);
    words(role, "annotations", annotations, 6);
    words(role, "nodeSelector", selectors, 6);
    tolerations(role);
    if (perhaps(300))
        json_set(a, role, "template", template_of());
    return role;
}

static struct json *spark(const struct queued_kind *k)
{
    struct json *spec = parse("{\"type\":\"Python\",\"mode\":\"cluster\"}");
    (void)k;
    json_set(a, spec, "driver", spark_role("{\"coreRequest\":\"1\",\"memory\":\"1g\"}"));
    json_set(a, spec, "executor", spark_role("{\"instances\":2,\"coreRequest\":\"1\",\"memory\":\"2g\"}"));
    if (!json_path(spec, "driver", "nodeSelector", NULL) && !json_path(spec, "executor", "nodeSelector", NULL))
        words(spec, "nodeSelector", selectors, 6); /* one or the other */
    return spec;
}

/* What all pods of a SparkApplication select stands in its roles once it was started: it asks for the same. */
static struct json *said_of_roles(struct json *job)
{
    struct json *spec = json_get(job, "spec"), *all = json_get(spec, "nodeSelector");
    static const char *const roles[] = {"driver", "executor"};
    for (int i = 0; i < 2 && all; i++)
        json_set(a, json_get(spec, roles[i]), "nodeSelector", json_clone(a, all));
    if (all)
        (void)json_remove(spec, "nodeSelector");
    return job;
}

/* ---- what is added ---- */

static struct kueue_start start_of(const char *pod_set)
{
    struct kueue_start s = {.pod_set = pod_set, .workload = "wl", .cluster_queue = "cq", .local_queue = "lq", .admitted_at = ""};
    s.node_labels = parse(perhaps(800) ? "{\"gpu\":\"a100\",\"karpenter.sh/nodepool\":\"gpu\"}" : "{}");
    s.tolerations = parse(perhaps(600) ? "[" TOLERATION("nvidia.com/gpu") "," TOLERATION("capstan.dev/held-for") "]" : "[]");
    s.labels = perhaps(500) ? parse("{\"added\":\"by-check\"}") : NULL;
    s.annotations = perhaps(500) ? parse("{\"karpenter.sh/do-not-disrupt\":\"true\",\"capstan.dev/scale-up\":\"15m\"}") : NULL;
    return s;
}

/* Without `suspend`, and what says nothing. */
static struct json *bare(const struct json *v)
{
    struct json *copy = json_new(a, v->type);
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return json_clone(a, v);
    JSON_EACH (member, v) {
        struct json *inner = v->type == JSON_OBJECT && strcmp(member->key, "suspend") == 0 ? NULL : bare(member);
        bool is_empty = inner && (inner->type == JSON_OBJECT || inner->type == JSON_ARRAY) && !inner->n;
        if (inner && v->type == JSON_ARRAY)
            json_append(copy, inner);
        else if (inner && !is_empty)
            json_set(a, copy, member->key, inner);
    }
    return copy;
}

static const char *printed(const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    return arena_text(a, out.data ? out.data : "");
}

static bool tolerates(const struct json *spec, const struct json *toleration)
{
    JSON_EACH (one, json_get(spec, "tolerations"))
        if (json_equal(one, toleration))
            return true;
    return false;
}

/* Its template carries what it did, and what was added. */
static void carries(const struct json *was, const struct json *is, const struct kueue_start *s, uint64_t seed, const char *kind)
{
    const struct json *spec = json_get(is, "spec"), *metadata = json_get(is, "metadata");
    bool all = true;
    JSON_EACH (one, s->tolerations)
        all &= tolerates(spec, one);
    JSON_EACH (one, json_path(was, "spec", "tolerations", NULL))
        all &= tolerates(spec, one);
    const struct json *const wanted[][2] = {{s->node_labels, json_get(spec, "nodeSelector")},
                                            {json_path(was, "spec", "nodeSelector", NULL), json_get(spec, "nodeSelector")},
                                            {s->labels, json_get(metadata, "labels")},
                                            {json_path(was, "metadata", "labels", NULL), json_get(metadata, "labels")},
                                            {s->annotations, json_get(metadata, "annotations")},
                                            {json_path(was, "metadata", "annotations", NULL), json_get(metadata, "annotations")}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        JSON_EACH (pair, wanted[i][0])
            all &= json_equal(json_get(wanted[i][1], pair->key), pair);
    if (!all)
        fail_msg("seed %llu, %s, pod set %s: it lacks something\n%s", (unsigned long long)seed, kind, s->pod_set, printed(is));
}

static const struct json *set_of(const struct json *sets, const char *name)
{
    JSON_EACH (set, sets)
        if (strcmp(json_get_text(set, "name", ""), name) == 0)
            return set;
    return NULL;
}

static const struct {
    enum queued_kind_id kind;
    const struct kueue_kind *calls;
    struct json *(*spec)(const struct queued_kind *k);
} kinds[] = {
    {QUEUED_JOB, &kueue_job_kind, batch_job},          {QUEUED_JOBSET, &kueue_jobset_kind, jobset},
    {QUEUED_MPIJOB, &kueue_kubeflow_kind, kubeflow},   {QUEUED_PYTORCHJOB, &kueue_kubeflow_kind, kubeflow},
    {QUEUED_TFJOB, &kueue_kubeflow_kind, kubeflow},    {QUEUED_XGBOOSTJOB, &kueue_kubeflow_kind, kubeflow},
    {QUEUED_JAXJOB, &kueue_kubeflow_kind, kubeflow},   {QUEUED_PADDLEJOB, &kueue_kubeflow_kind, kubeflow},
    {QUEUED_RAYJOB, &kueue_rayjob_kind, ray_job},      {QUEUED_RAYCLUSTER, &kueue_raycluster_kind, ray_cluster},
    {QUEUED_RAYSERVICE, &kueue_rayservice_kind, ray_service}, {QUEUED_SPARKAPPLICATION, &kueue_sparkapplication_kind, spark},
};

static void one_life(size_t at, uint64_t seed)
{
    const struct queued_kind *k = &queued_kinds[kinds[at].kind];
    const struct kueue_kind *calls = kinds[at].calls;
    const char *why = "";
    bool status = false;
    struct err e = {0};
    struct kueue_start starts[SETS_MOST];
    uint32_t n = 0;
    struct json *job = parse("{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}}}");
    json_set(a, job, "spec", kinds[at].spec(k));
    struct json *before = json_clone(a, job);
    struct json *sets = calls->pod_sets(NULL, a, k, job, &why), *workload = json_new(a, JSON_OBJECT), *patch = json_new(a, JSON_OBJECT);
    if (!sets)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, k->kind, why);
    json_set(a, json_ensure_object(a, workload, "spec"), "podSets", json_clone(a, sets));
    JSON_EACH (set, sets)
        starts[n++] = start_of(json_get_text(set, "name", ""));
    if (calls->restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status))
        fail_msg("seed %llu, %s: there is nothing to undo yet\n%s", (unsigned long long)seed, k->kind, printed(before));
    if (calls->start(a, k, job, starts, n, patch, &e) < 0)
        fail_msg("seed %llu, %s: %s\n%s", (unsigned long long)seed, k->kind, e.text, printed(before));
    patch_merge(a, &job, patch);
    const struct json *running = calls->pod_sets(NULL, a, k, job, &why);
    for (uint32_t i = 0; i < n; i++)
        carries(json_get(set_of(sets, starts[i].pod_set), "template"), json_get(set_of(running, starts[i].pod_set), "template"), &starts[i],
                seed, k->kind);
    patch = json_new(a, JSON_OBJECT);
    if (!calls->restore(a, k, job, workload, patch, &status))
        fail_msg("seed %llu, %s: nothing is undone", (unsigned long long)seed, k->kind);
    patch_merge(a, &job, patch);
    if (k == &queued_kinds[QUEUED_SPARKAPPLICATION])
        before = said_of_roles(before);
    if (!json_equal(bare(job), bare(before)))
        fail_msg("seed %llu, %s: it was otherwise: %s", (unsigned long long)seed, k->kind,
                 printed(object_diff(a, bare(before), bare(job))));
    if (calls->restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status))
        fail_msg("seed %llu, %s: it is undone for ever", (unsigned long long)seed, k->kind);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void what_is_stopped_is_as_it_was(void **state)
{
    uint64_t lives_n = number_of("RESTORES", 300), first = number_of("RESTORES_SEED", 1);
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            r = (struct random){seed * 31 + i};
            one_life(i, seed);
            arena_reset(a);
        }
}

/* Its templates are those of a runtime: what is added is one entry of runtimePatches, beside those that others wrote. */
static void a_trainjob_keeps_the_patches_of_others(void **state)
{
    static const char *const others[] = {"", ",\"runtimePatches\":[{\"manager\":\"example.com/me\",\"trainingRuntimeSpec\":{}}]",
                                         ",\"runtimePatches\":[{\"manager\":\"a/b\"},{\"manager\":\"c/d\",\"trainingRuntimeSpec\":{}}]"};
    const struct queued_kind *k = &queued_kinds[QUEUED_TRAINJOB];
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *text = arena_printf(a, "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"runtimeRef\":{\"name\":\"torch\"}%s}}", others[i]);
        struct json *job = parse(text), *patch = json_new(a, JSON_OBJECT), *workload = json_new(a, JSON_OBJECT);
        const struct json *before = json_clone(a, job);
        bool status = false;
        struct err e = {0};
        r = (struct random){i};
        const struct kueue_start starts[] = {start_of("node"), start_of("launcher")};
        assert_false(kueue_trainjob_kind.restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status));
        assert_int_equal(kueue_trainjob_kind.start(a, k, job, starts, 2, patch, &e), 0);
        patch_merge(a, &job, patch);
        const struct json *list = json_path(job, "spec", "runtimePatches", NULL);
        assert_int_equal(list->n, i + 1);
        const struct json *ours = json_get(json_item(list, (uint32_t)i), "trainingRuntimeSpec"),
                          *sets = json_path(ours, "template", "spec", "replicatedJobs", NULL);
        assert_int_equal(sets->n, 2);
        for (uint32_t set = 0; set < 2; set++)
            carries(NULL, json_path(json_item(sets, set), "template", "spec", "template", NULL), &starts[set], i, k->kind);
        patch = json_new(a, JSON_OBJECT);
        assert_true(kueue_trainjob_kind.restore(a, k, job, workload, patch, &status));
        patch_merge(a, &job, patch);
        assert_true(json_equal(job, before));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_stopped_is_as_it_was),
                                       cmocka_unit_test(a_trainjob_keeps_the_patches_of_others)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
