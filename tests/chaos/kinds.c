#include "kinds.h"
#include <stdio.h>
#include "codec/kinds/queued_kinds.h"
#include "kube/object.h"

#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
#define WORKLOAD_ANNOTATION "kueue.x-k8s.io/workload"
#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define JOBSET_LABEL "jobset.sigs.k8s.io/jobset-name"
#define TRAINING_LABEL "training.kubeflow.org/job-name"
#define NAMES 5 /* of each kind */

/* ORDER as struct world counts them. */
static const enum queued_kind_id ids[KINDS_N] = {QUEUED_JOBSET, QUEUED_TRAINJOB, QUEUED_MPIJOB, QUEUED_PYTORCHJOB, QUEUED_TFJOB};

static const char *const letters[KINDS_N] = {"js", "tj", "mpi", "pt", "tf"};

static int pick(struct world *w, uint64_t n)
{
    return (int)random_below(&w->random, n);
}

static const char *name_of(struct world *w, int kind, int number)
{
    return arena_printf(w->arena, KINDS_PREFIX "%s%d", letters[kind], number);
}

static const char *path_of(struct arena *a, int kind, const char *name)
{
    const struct queued_kind *k = &queued_kinds[ids[kind]];
    return kube_path(a, k->group, k->version, k->plural, "default", name, NULL);
}

const char *kinds_seed(int at)
{
    static const char *const objects[] = {
        "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"ClusterTrainingRuntime\",\"metadata\":{\"name\":\"two\"},\"spec\":{"
        "\"mlPolicy\":{\"numNodes\":1},\"template\":{\"spec\":{\"replicatedJobs\":[{\"name\":\"node\",\"template\":{\"metadata\":{"
        "\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},\"spec\":{\"backoffLimit\":1,\"template\":{\"metadata\":{"
        "\"annotations\":{\"capstan.dev/run-seconds\":\"15\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"node\","
        "\"image\":\"busybox\"}]}}}}}]}}}}"};
    return (size_t)at < sizeof objects / sizeof *objects ? objects[at] : NULL;
}

/* ---- users ---- */

static const char *metadata(struct world *w, int kind)
{
    static const int teams[] = {0, 1, 4, 0, 1, 4, 2, 5};
    int number = pick(w, NAMES), team = teams[pick(w, sizeof teams / sizeof *teams)], class = pick(w, 8);
    const char *label = class < 2 ? arena_printf(w->arena, ",\"kueue.x-k8s.io/priority-class\":\"class%d\"", class) : "";
    return arena_printf(w->arena, "\"metadata\":{\"name\":\"%s\",\"labels\":{\"" QUEUE_LABEL "\":\"team%d\"%s}}",
                        name_of(w, kind, number), team, label);
}

/* One in 16 fails, one in 6 runs only in a zone. */
static const char *template_of(struct world *w, const char *container, int gpus_most)
{
    int seconds = pick(w, 40), code = pick(w, 16) ? 0 : 1 + 136 * pick(w, 2), gpus = pick(w, (uint64_t)gpus_most + 1), zone = pick(w, 18);
    const char *selector = zone < 3 ? arena_printf(w->arena, "\"nodeSelector\":{\"zone\":\"z%d\"},", zone) : "",
               *class = pick(w, 8) ? "" : "\"priorityClassName\":\"urgent\",";
    return arena_printf(w->arena,
                        "{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"%d\",\"capstan.dev/exit-code\":\"%d\"}},\"spec\":{%s%s"
                        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"%s\",\"image\":\"busybox\",\"resources\":{\"requests\":{"
                        "\"cpu\":\"1\"},\"limits\":{\"nvidia.com/gpu\":%d}}}]}}",
                        seconds, code, selector, class, container, gpus);
}

static const char *replicated(struct world *w, const char *name, int gpus_most, const char *more)
{
    const char *template = template_of(w, "main", gpus_most);
    int replicas = 1 + pick(w, 2), pods = 1 + pick(w, 3), completions = pods + (pick(w, 4) == 0);
    return arena_printf(w->arena,
                        "{\"name\":\"%s\",\"replicas\":%d%s,\"template\":{\"spec\":{\"parallelism\":%d,\"completions\":%d,\"backoffLimit\":1,"
                        "\"template\":%s}}}",
                        name, replicas, more, pods, completions, template);
}

static void create_jobset(struct world *w, int kind)
{
    static const char *const depends[] = {"", "", ",\"dependsOn\":[{\"name\":\"lead\",\"status\":\"Ready\"}]",
                                          ",\"dependsOn\":[{\"name\":\"lead\",\"status\":\"Complete\"}]"};
    const char *meta = metadata(w, kind), *more = depends[pick(w, 4)];
    const char *order = !*more && pick(w, 3) == 0 ? "\"startupPolicy\":{\"startupPolicyOrder\":\"InOrder\"}," : "";
    const char *lead = replicated(w, "lead", 1, ""), *work = replicated(w, "work", 2, more);
    world_post(w, path_of(w->arena, kind, NULL),
               "{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",%s,\"spec\":{\"suspend\":true,%s\"ttlSecondsAfterFinished\":20,"
               "\"failurePolicy\":{\"maxRestarts\":1},\"replicatedJobs\":[%s,%s]}}",
               meta, order, lead, work);
}

static void create_trainjob(struct world *w, int kind)
{
    const char *meta = metadata(w, kind);
    int nodes = 1 + pick(w, 4), gpus = pick(w, 3);
    world_post(w, path_of(w->arena, kind, NULL),
               "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",%s,\"spec\":{\"suspend\":true,\"runtimeRef\":{\"apiGroup\":"
               "\"trainer.kubeflow.org\",\"kind\":\"ClusterTrainingRuntime\",\"name\":\"two\"},\"trainer\":{\"numNodes\":%d,"
               "\"resourcesPerNode\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"nvidia.com/gpu\":%d}}}}}",
               meta, nodes, gpus);
}

/* Of Kubeflow: one that leads, and workers. */
static void create_training(struct world *w, int kind)
{
    static const char *const policies[] = {"None", "Running", "All"}, *const restarts[] = {"Never", "OnFailure", "ExitCode"};
    const struct queued_kind *k = &queued_kinds[ids[kind]];
    const char *container = k->container ? k->container : "main", *meta = metadata(w, kind), *clean = policies[pick(w, 3)];
    bool is_mpi = ids[kind] == QUEUED_MPIJOB, waits = is_mpi && pick(w, 2);
    const char *restart = restarts[pick(w, is_mpi ? 2 : 3)], *lead = template_of(w, container, 1), *work = template_of(w, container, 2);
    int workers = pick(w, 5);
    world_post(w, path_of(w->arena, kind, NULL),
               "{\"apiVersion\":\"%s/%s\",\"kind\":\"%s\",%s,\"spec\":{%s\"runPolicy\":{\"suspend\":true,\"cleanPodPolicy\":\"%s\","
               "\"ttlSecondsAfterFinished\":20,\"backoffLimit\":2},\"%s\":{\"%s\":{\"replicas\":1,\"restartPolicy\":\"%s\",\"template\":%s},"
               "\"Worker\":{\"replicas\":%d,\"restartPolicy\":\"%s\",\"template\":%s}}}}",
               k->group, k->version, k->kind, meta, waits ? "\"launcherCreationPolicy\":\"WaitForWorkersReady\"," : "", clean, k->replicas,
               k->roles[0], restart, lead, workers, restart, work);
}

void kinds_create(struct world *w)
{
    static void (*const creates[KINDS_N])(struct world *w, int kind) = {create_jobset, create_trainjob, create_training, create_training,
                                                                        create_training};
    int kind = pick(w, KINDS_N);
    creates[kind](w, kind);
}

static void resize(struct world *w, int kind, const char *path)
{
    const struct queued_kind *k = &queued_kinds[ids[kind]];
    int n = pick(w, 6);
    if (k->replicas)
        world_patch(w, path, "{\"spec\":{\"%s\":{\"Worker\":{\"replicas\":%d}}}}", k->replicas, n);
}

static void delete_workload_of(struct world *w, const char *path)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *name = arena_text(a, strrchr(path, '/') + 1); /* the world's arena ends while it is read */
    JSON_EACH (workload, world_read(w, a, WORKLOADS))
        if (text_equal(object_controller(workload, "name"), name))
            world_delete(w, arena_printf(a, WORKLOADS "/%s", object_meta(workload, "name")));
}

void kinds_change(struct world *w)
{
    static const int teams[] = {0, 1, 4, 2, 5};
    int kind = pick(w, KINDS_N), number = pick(w, NAMES), what = pick(w, 8), team = teams[pick(w, 5)];
    const char *path = path_of(w->arena, kind, name_of(w, kind, number)), *policy = queued_kinds[ids[kind]].policy;
    bool suspend = pick(w, 2);
    if (what == 0)
        world_patch(w, path, "{\"metadata\":{\"labels\":{\"" QUEUE_LABEL "\":\"team%d\"}}}", team);
    else if (what == 1 && policy)
        world_patch(w, path, "{\"spec\":{\"%s\":{\"suspend\":%s}}}", policy, suspend ? "true" : "false");
    else if (what == 1)
        world_patch(w, path, "{\"spec\":{\"suspend\":%s}}", suspend ? "true" : "false");
    else if (what <= 3)
        resize(w, kind, path);
    else if (what == 4)
        delete_workload_of(w, path);
    else
        world_delete(w, path);
}

void kinds_pod_starts(struct world *w, const char *job)
{
    for (int kind = 0; kind < KINDS_N; kind++)
        w->kinds_started_n[kind] += text_starts(job, KINDS_PREFIX) && text_starts(job + strlen(KINDS_PREFIX), letters[kind]);
}

bool kinds_all_ran(const struct world *w)
{
    for (int kind = 0; kind < KINDS_N; kind++)
        if (!w->kinds_started_n[kind])
            return false;
    return true;
}

/* ---- rules ---- */

struct look {
    struct arena *arena;
    const struct json *workloads, *pods;
    char wrong[512];
};

#define WRONG(l, ...) ((l)->wrong[0] ? 0 : snprintf((l)->wrong, sizeof (l)->wrong, __VA_ARGS__))

static const struct json *workload_of(const struct look *l, const struct json *job)
{
    JSON_EACH (one, l->workloads)
        if (text_equal(object_controller(one, "uid"), object_meta(job, "uid")))
            return one;
    return NULL;
}

static bool is_over(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
}

static bool is_of(const struct json *pod, const struct json *job)
{
    const char *name = object_meta(job, "name");
    return text_equal(object_label(pod, JOBSET_LABEL), name) || text_equal(object_label(pod, TRAINING_LABEL), name);
}

static const struct json *set_named(const struct json *list, const char *name)
{
    JSON_EACH (set, list)
        if (text_equal(json_get_text(set, "name", "main"), name))
            return set;
    return NULL;
}

/* Those that have a pod set's name, and are not over. */
static int64_t pods_n(const struct look *l, const struct json *job, const char *set)
{
    int64_t n = 0;
    JSON_EACH (pod, l->pods)
        n += is_of(pod, job) && !object_deleting(pod) && !is_over(pod) && text_equal(object_label(pod, "kueue.x-k8s.io/podset"), set);
    return n;
}

static void look_at_pods(struct look *l, const struct json *job, const struct json *own, bool runs)
{
    const char *name = object_meta(job, "name"), *workload = object_meta(own, "name");
    JSON_EACH (pod, l->pods) {
        if (!is_of(pod, job) || object_deleting(pod) || is_over(pod))
            continue;
        if (!runs)
            WRONG(l, "%s is suspended, and its pod %s is not over", name, object_meta(pod, "name"));
        else if (!text_equal(object_annotation(pod, WORKLOAD_ANNOTATION), workload))
            WRONG(l, "pod %s is of Workload '%s', and its job of %s", object_meta(pod, "name"), object_annotation(pod, WORKLOAD_ANNOTATION),
                  workload);
    }
    JSON_EACH (given, json_path(own, "status", "admission", "podSetAssignments", NULL)) {
        const char *set = json_get_text(given, "name", "main");
        if (runs && pods_n(l, job, set) > json_get_int64(given, "count", 1))
            WRONG(l, "%lld pods of %s are %s, and its Workload was given %lld", (long long)pods_n(l, job, set), name, set,
                  (long long)json_get_int64(given, "count", 1));
    }
}

/* Runs: each of its templates says of which Workload. Else none does, and where pods may run is as it was. */
static void look_at_template(struct look *l, const struct json *job, const struct json *own, const char *set, const struct json *template,
                             bool runs)
{
    const char *says = object_annotation(template, WORKLOAD_ANNOTATION), *wanted = runs ? object_meta(own, "name") : "";
    const struct json *original = json_get(set_named(json_path(own, "spec", "podSets", NULL), set), "template"),
                      *was = json_path(original, "spec", "nodeSelector", NULL), *is = json_path(template, "spec", "nodeSelector", NULL);
    if (!text_equal(says, wanted))
        WRONG(l, "%s of %s, which %s, is of Workload '%s' and not '%s'", set, object_meta(job, "name"), runs ? "runs" : "is suspended",
              says, wanted);
    if (!runs && original && (was && is ? !json_equal(was, is) : (was && was->n) || (is && is->n)))
        WRONG(l, "%s of %s, which is suspended, has another node selector than its Workload", set, object_meta(job, "name"));
}

/* A waiting Workload asks for the pods that the job has; one with quota for as many at least. */
static void look_at_count(struct look *l, const struct json *job, const struct json *own, const char *set, int64_t count)
{
    const struct json *asked = set_named(json_path(own, "spec", "podSets", NULL), set);
    int64_t has = json_get_int64(asked, "count", 1);
    bool waits = !object_condition_true(own, "QuotaReserved");
    if (own && (!asked || (waits ? has != count : has < count)))
        WRONG(l, "%s has %lld pods of %s, and its Workload, which %s quota, %lld", object_meta(job, "name"), (long long)count, set,
              waits ? "waits for" : "has", asked ? (long long)has : -1);
}

static void look_at_sets(struct look *l, int kind, const struct json *job, const struct json *own, bool runs)
{
    const struct queued_kind *k = &queued_kinds[ids[kind]];
    JSON_EACH (role, k->replicas ? json_path(job, "spec", k->replicas, NULL) : NULL) {
        char set[16];
        snprintf(set, sizeof set, "%s", role->key);
        set[0] = (char)(set[0] - 'A' + 'a');
        look_at_template(l, job, own, set, json_get(role, "template"), runs);
        look_at_count(l, job, own, set, json_get_int64(role, "replicas", 1));
    }
    JSON_EACH (one, json_path(job, "spec", "replicatedJobs", NULL)) {
        const struct json *spec = json_path(one, "template", "spec", NULL);
        const char *set = json_get_text(one, "name", "");
        look_at_template(l, job, own, set, json_get(spec, "template"), runs);
        look_at_count(l, job, own, set, json_get_int64(one, "replicas", 1) * json_get_int64(spec, "parallelism", 1));
    }
    if (ids[kind] != QUEUED_TRAINJOB)
        return;
    const struct json *patches = json_path(job, "spec", "runtimePatches", NULL);
    look_at_count(l, job, own, "node", json_int64(json_path(job, "spec", "trainer", "numNodes", NULL), 1));
    if (runs != (patches && patches->n == 1))
        WRONG(l, "%s %s, and has %d patches for its runtime", object_meta(job, "name"), runs ? "runs" : "is suspended",
              patches ? (int)patches->n : 0);
}

static void look_at(struct look *l, int kind, const struct json *job)
{
    const struct queued_kind *k = &queued_kinds[ids[kind]];
    const struct json *own = workload_of(l, job);
    bool runs = !queued_kind_is_suspended(k, job);
    if (*object_controller(job, "kind")) /* the JobSet of a TrainJob */
        return;
    if (!text_starts(object_meta(job, "name"), KINDS_PREFIX) || object_deleting(job) || object_condition_true(job, k->succeeded) ||
        object_condition_true(job, "Failed") || (own && (object_deleting(own) || object_condition_true(own, "Finished"))))
        return;
    bool may_run = own && object_condition_true(own, "Admitted") && !object_condition_true(own, "Evicted");
    if (!own)
        WRONG(l, "%s has no Workload", object_meta(job, "name"));
    if (runs != may_run)
        WRONG(l, "%s %s, and its Workload is %sadmitted", object_meta(job, "name"), runs ? "runs" : "is suspended", may_run ? "" : "not ");
    look_at_sets(l, kind, job, own, runs);
    look_at_pods(l, job, own, runs);
}

/* WHY  three times: what just changed is on its way to somebody. */
bool kinds_check(struct world *w)
{
    struct look l = {0};
    for (int i = 0; i < 3; i++) {
        l = (struct look){.arena = arena_new()};
        l.workloads = world_read(w, l.arena, WORKLOADS);
        l.pods = world_read(w, l.arena, "/api/v1/namespaces/default/pods");
        for (int kind = 0; kind < KINDS_N; kind++)
            JSON_EACH (job, world_read(w, l.arena, path_of(l.arena, kind, NULL)))
                look_at(&l, kind, job);
        arena_free(l.arena);
        if (!l.wrong[0])
            return true;
        loop_run_for(w->loop, 1500, NULL);
    }
    world_broken(w, "%s", l.wrong);
    return false;
}
