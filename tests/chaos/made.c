#include "made.h"
#include <stdio.h>
#include "base/memory.h"
#include "kube/object.h"

#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define PODS "/api/v1/namespaces/default/pods"
#define NAME_LABEL "kueue.x-k8s.io/prebuilt-workload-name"
#define OF_JOBS 8 /* Workloads for jobs: made0 .. made7, the first of one pod, the second of two ... */
#define OF_PODS 3 /* and for pods that stand alone */
#define SETTLE_MS 1000

struct made {
    struct world *world;
    struct kube_watch *watch;
    struct map *owners; /* name of a Workload -> struct owner */
    struct arena *arena;
    struct made_counts counts;
};
struct owner {
    char uid[64]; /* "": nobody yet */
    bool finished;
};

/* ---- the mirror ---- */

static void on_workload(void *arg, enum kube_event event, struct bytes raw)
{
    struct made *m = arg;
    arena_reset(m->arena);
    const struct json *workload = json_parse(m->arena, raw, NULL, NULL);
    const char *name = object_meta(workload, "name"), *uid = object_controller(workload, "uid");
    if (!text_starts(name, "made"))
        return;
    if (event == KUBE_DELETED) {
        map_remove(m->owners, bytes_of(name));
        return;
    }
    struct owner *o = map_put(m->owners, bytes_of(name), NULL);
    bool finished = object_condition_true(workload, "Finished");
    if (o->uid[0] && !text_equal(o->uid, uid))
        world_broken(m->world, "Workload %s was of %s, and is of '%s' now", name, o->uid, uid);
    bool is_adopted = !o->uid[0] && *uid, of_pod = text_equal(object_controller(workload, "kind"), "Pod");
    const char *end = json_get_text(object_condition(workload, "Finished"), "reason", "");
    m->counts.jobs_n += is_adopted && !of_pod;
    m->counts.pods_n += is_adopted && of_pod;
    m->counts.out_of_sync_n += finished && !o->finished && text_equal(end, "OutOfSync");
    snprintf(o->uid, sizeof o->uid, "%s", uid);
    o->finished = finished;
}

struct made *made_new(struct world *w)
{
    struct made *m = mem_zero(1, sizeof *m);
    m->world = w;
    m->owners = map_new(sizeof(struct owner));
    m->arena = arena_new();
    m->watch = kube_watch_new(
        w->quiet_client, &(struct kube_watch_config){.path = "/apis/kueue.x-k8s.io/v1beta2/workloads", .on_event = on_workload, .arg = m});
    return m;
}

void made_free(struct made *m)
{
    kube_watch_free(m->watch);
    map_free(m->owners);
    arena_free(m->arena);
    free(m);
}

struct made_counts made_counts(const struct made *m)
{
    return m->counts;
}

/* ---- users ---- */

static int pick(struct world *w, uint64_t n)
{
    return (int)random_below(&w->random, n);
}

static int size_of(int workload)
{
    return workload < OF_JOBS ? 1 + workload % 4 : 1;
}

static int any_team(struct world *w)
{
    static const int teams[] = {0, 1, 2, 4};
    return teams[pick(w, 4)];
}

static void create_workload(struct world *w, int number)
{
    int team = any_team(w), priority = pick(w, 3) ? 0 : 100;
    world_post(w, WORKLOADS,
               "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"made%d\"},\"spec\":{\"queueName\":"
               "\"team%d\",\"priority\":%d,\"podSets\":[{\"name\":\"main\",\"count\":%d,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
               POD_SPEC "}}}]}}",
               number, team, priority, size_of(number), 1);
}

/* Of three in four the number is their own: the others name one that is somebody else's, or of another size. */
static void create_job(struct world *w, int number)
{
    int named = pick(w, 4) ? number : pick(w, OF_JOBS), team = any_team(w), seconds = pick(w, 40), fails = pick(w, 8) == 0;
    world_post(w, JOBS,
               "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"madejob%d\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
               "\"team%d\",\"" NAME_LABEL "\":\"made%d\"}},\"spec\":{\"parallelism\":%d,\"completions\":%d,\"suspend\":true,"
               "\"backoffLimit\":1,\"ttlSecondsAfterFinished\":20,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":"
               "\"%d\",\"capstan.dev/exit-code\":\"%d\"}},\"spec\":{\"restartPolicy\":\"Never\"," POD_SPEC "}}}}",
               number, team, named, size_of(number), size_of(number), seconds, fails, 1);
}

static void create_pod(struct world *w, int number)
{
    int team = any_team(w), seconds = pick(w, 40);
    const char *finalizer = pick(w, 2) ? "\"finalizers\":[\"kueue.x-k8s.io/managed\"]," : "";
    world_post(w, PODS,
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"madepod%d\",%s\"labels\":{\"kueue.x-k8s.io/queue-name\":"
               "\"team%d\",\"kueue.x-k8s.io/managed\":\"true\",\"" NAME_LABEL "\":\"made%d\"},\"annotations\":{\"capstan.dev/run-seconds\":"
               "\"%d\"}},\"spec\":{\"restartPolicy\":\"Never\",\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}]," POD_SPEC "}}",
               number, finalizer, team, number, seconds, 1);
}

void made_create(struct world *w)
{
    int number = pick(w, OF_JOBS + OF_PODS), what = pick(w, 6);
    void (*create_user)(struct world *w, int number) = number < OF_JOBS ? create_job : create_pod;
    if (what < 3)
        create_workload(w, number);
    if (what)
        create_user(w, number);
    if (what >= 4)
        create_workload(w, number);
}

void made_change(struct world *w)
{
    int number = pick(w, OF_JOBS + OF_PODS);
    if (pick(w, 3) == 0)
        world_delete(w, arena_printf(w->arena, WORKLOADS "/made%d", number));
    else if (number < OF_JOBS)
        world_delete(w, arena_printf(w->arena, JOBS "/madejob%d", number));
    else
        world_delete(w, arena_printf(w->arena, PODS "/madepod%d", number));
}

static bool is_named(const struct json *users, const char *workload)
{
    JSON_EACH (user, users)
        if (text_equal(object_label(user, NAME_LABEL), workload) && !object_deleting(user))
            return true;
    return false;
}

void made_delete_left(struct world *w)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *workloads = world_read(w, a, WORKLOADS), *jobs = world_read(w, a, JOBS), *pods = world_read(w, a, PODS);
    JSON_EACH (one, workloads) {
        const char *name = object_meta(one, "name");
        if (text_starts(name, "made") && !*object_controller(one, "uid") && !is_named(jobs, name) && !is_named(pods, name))
            world_delete(w, arena_printf(w->arena, WORKLOADS "/%s", name));
    }
}

/* ---- rules ---- */

static const struct json *named_by(const struct json *workloads, const struct json *user)
{
    const char *name = object_label(user, NAME_LABEL);
    JSON_EACH (one, workloads)
        if (*name && text_equal(object_meta(one, "name"), name))
            return one;
    return NULL;
}

static const struct json *owned_by(const struct json *workloads, const struct json *user)
{
    JSON_EACH (one, workloads)
        if (text_equal(object_controller(one, "uid"), object_meta(user, "uid")))
            return one;
    return NULL;
}

/* Who names a Workload of nobody gets it, unless it ends. */
static void check_adopted(const struct json *workloads, const struct json *user, char *wrong, size_t size)
{
    const struct json *named = named_by(workloads, user);
    if (named && !object_deleting(named) && !*object_controller(named, "uid") && !object_condition_true(named, "Finished"))
        snprintf(wrong, size, "Workload %s is nobody's, though %s names it", object_meta(named, "name"), object_meta(user, "name"));
}

static void check_job(const struct json *workloads, const struct json *job, char *wrong, size_t size)
{
    const struct json *own = owned_by(workloads, job);
    bool runs = !json_get_bool(json_get(job, "spec"), "suspend", false);
    if (!*object_label(job, "kueue.x-k8s.io/queue-name") || object_deleting(job) || object_condition_true(job, "Complete") ||
        object_condition_true(job, "Failed"))
        return;
    check_adopted(workloads, job, wrong, size);
    if (own && (object_deleting(own) || object_condition_true(own, "Finished")))
        return;
    bool may_run = own && object_condition_true(own, "Admitted") && !object_condition_true(own, "Evicted");
    if (runs != may_run)
        snprintf(wrong, size, "job %s %s, and its Workload %s is %s", object_meta(job, "name"), runs ? "runs" : "is suspended",
                 own ? object_meta(own, "name") : "(none)", may_run ? "admitted" : "not admitted");
}

static void check_pod(const struct json *workloads, const struct json *pod, char *wrong, size_t size)
{
    const char *phase = json_get_text(json_get(pod, "status"), "phase", "");
    const struct json *own = owned_by(workloads, pod);
    bool runs = *json_get_text(json_get(pod, "spec"), "nodeName", "") != '\0';
    if (!text_starts(object_meta(pod, "name"), "madepod") || object_deleting(pod) || text_equal(phase, "Succeeded") ||
        text_equal(phase, "Failed"))
        return;
    check_adopted(workloads, pod, wrong, size);
    if (runs && (!own || (!object_condition_true(own, "Admitted") && !object_condition_true(own, "Finished"))))
        snprintf(wrong, size, "pod %s runs, and its Workload %s is not admitted", object_meta(pod, "name"),
                 own ? object_meta(own, "name") : "(none)");
}

/* WHY  three times: what just changed is on its way to somebody. */
bool made_check(struct world *w)
{
    char wrong[512];
    for (int i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        const struct json *workloads = world_read(w, a, WORKLOADS), *jobs = world_read(w, a, JOBS), *pods = world_read(w, a, PODS);
        wrong[0] = '\0';
        JSON_EACH (job, jobs)
            check_job(workloads, job, wrong, sizeof wrong);
        JSON_EACH (pod, pods)
            check_pod(workloads, pod, wrong, sizeof wrong);
        if (!wrong[0])
            return true;
        loop_run_for(w->loop, SETTLE_MS, NULL);
    }
    world_broken(w, "%s", wrong);
    return false;
}
