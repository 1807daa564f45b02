#include "queued.h"
#include "checks.h"

#define KUEUE_OBJECT "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
#define KUEUE_PATH "/apis/kueue.x-k8s.io/v1beta2/"
#define JOB_PATH "/apis/batch/v1/namespaces/default/jobs/job%d"

static int pick(struct world *w, uint64_t n)
{
    return (int)random_below(&w->random, n);
}

const char *queued_seed(int at)
{
    static const char *const objects[] = {
        KUEUE_OBJECT "\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"class0\"},\"value\":0}",
        KUEUE_OBJECT "\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"class1\"},\"value\":100}",
        KUEUE_OBJECT "\"ResourceFlavor\",\"metadata\":{\"name\":\"more\"},\"spec\":{}}",
        KUEUE_OBJECT "\"Cohort\",\"metadata\":{\"name\":\"left\"},\"spec\":{\"parentName\":\"all\"}}",
        KUEUE_OBJECT "\"Cohort\",\"metadata\":{\"name\":\"right\"},\"spec\":{\"parentName\":\"all\"}}",
    };
    return at < (int)(sizeof objects / sizeof *objects) ? objects[at] : NULL;
}

const char *queued_annotation(struct world *w, int pods)
{
    int least = pods > 1 && pick(w, 4) == 0 ? 1 + pick(w, (uint64_t)pods - 1) : 0;
    return least ? arena_printf(w->arena, ",\"annotations\":{\"kueue.x-k8s.io/job-min-parallelism\":\"%d\"}", least) : "";
}

const char *queued_label(struct world *w)
{
    int class = pick(w, 8);
    return class < 2 ? arena_printf(w->arena, ",\"kueue.x-k8s.io/priority-class\":\"class%d\"", class) : "";
}

/* ---- jobs ---- */

static void move_job(struct world *w, int jobs_n)
{
    static const int teams[] = {0, 1, 4};
    int job = pick(w, (uint64_t)jobs_n), team = teams[pick(w, 3)];
    world_patch(w, arena_printf(w->arena, JOB_PATH, job), "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"team%d\"}}}", team);
}

static void give_class(struct world *w, int jobs_n)
{
    int job = pick(w, (uint64_t)jobs_n), class = pick(w, 2);
    world_patch(w, arena_printf(w->arena, JOB_PATH, job), "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"class%d\"}}}",
                class);
}

static void change_class(struct world *w, int jobs_n)
{
    static const int values[] = {-2147483647, -5, 0, 100, 500, 2000, 2147483647};
    (void)jobs_n;
    int class = pick(w, 2), value = values[pick(w, 7)];
    world_patch(w, arena_printf(w->arena, KUEUE_PATH "workloadpriorityclasses/class%d", class), "{\"value\":%d}", value);
}

static void put_aside(struct world *w, int jobs_n)
{
    (void)jobs_n;
    bool active = pick(w, 2);
    const char *workload = checks_any_workload(w);
    if (workload)
        world_patch(w, arena_printf(w->arena, KUEUE_PATH "namespaces/default/workloads/%s", workload), "{\"spec\":{\"active\":%s}}",
                    active ? "true" : "false");
}

/* ---- queues ---- */

static const char *any_queue(struct world *w)
{
    return arena_printf(w->arena, KUEUE_PATH "clusterqueues/q%d", pick(w, 2));
}

static void change_cohort(struct world *w, int jobs_n)
{
    static const char *const cohorts[] = {"all", "left", "right"};
    (void)jobs_n;
    const char *queue = any_queue(w);
    world_patch(w, queue, "{\"spec\":{\"cohortName\":\"%s\"}}", cohorts[pick(w, 3)]);
}

/* Two that are each in the other are a circle: nobody below them is let in until it is broken. */
static void change_tree(struct world *w, int jobs_n)
{
    static const char *const parents[] = {"\"all\"", "\"all\"", "\"left\"", "\"right\"", "null"};
    (void)jobs_n;
    int which = pick(w, 2), parent = pick(w, 5), gpus = pick(w, 6);
    const char *path = arena_printf(w->arena, KUEUE_PATH "cohorts/%s", which ? "left" : "right");
    if (pick(w, 2))
        world_patch(w, path, "{\"spec\":{\"parentName\":%s}}", parents[parent]);
    else
        world_patch(w, path, "{\"spec\":{\"resourceGroups\":" WORLD_QUOTA "}}", gpus);
}

static void change_limits(struct world *w, int jobs_n)
{
    (void)jobs_n;
    const char *queue = any_queue(w);
    int gpus = 4 + pick(w, 10), borrowing = pick(w, 8), lending = pick(w, (uint64_t)gpus + 1);
    world_patch(w, queue,
                "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"any\","
                "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":%d,"
                "\"borrowingLimit\":%d,\"lendingLimit\":%d}]}]}]}}",
                gpus, borrowing, lending);
}

static void change_flavors(struct world *w, int jobs_n)
{
    (void)jobs_n;
    const char *queue = any_queue(w);
    int any = pick(w, 10), more = pick(w, 10);
    world_patch(w, queue,
                "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],\"flavors\":["
                "{\"name\":\"any\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":%d}]},"
                "{\"name\":\"more\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":%d}]}"
                "]}]}}",
                any, more);
}

static void change_policies(struct world *w, int jobs_n)
{
    static const char *const stops[] = {"MayStopSearch", "TryNextFlavor"};
    (void)jobs_n;
    const char *queue = any_queue(w);
    int borrow = pick(w, 2), preempt = pick(w, 2), threshold = pick(w, 1500);
    if (pick(w, 2))
        world_patch(w, queue, "{\"spec\":{\"flavorFungibility\":{\"whenCanBorrow\":\"%s\",\"whenCanPreempt\":\"%s\"}}}", stops[borrow],
                    stops[preempt]);
    else
        world_patch(w, queue, "{\"spec\":{\"preemption\":{\"reclaimWithinCohort\":\"Any\",\"borrowWithinCohort\":{\"policy\":\"%s\","
                              "\"maxPriorityThreshold\":%d}}}}",
                    borrow ? "LowerPriority" : "Never", threshold);
}

void queued_change(struct world *w, int jobs_n)
{
    static void (*const changes[])(struct world *w, int jobs_n) = {
        move_job, give_class, change_class, put_aside, change_cohort, change_tree, change_limits, change_flavors, change_policies};
    changes[pick(w, sizeof changes / sizeof *changes)](w, jobs_n);
}

void queued_rest(struct world *w)
{
    world_patch(w, KUEUE_PATH "cohorts/left", "{\"spec\":{\"parentName\":\"all\"}}");
    world_patch(w, KUEUE_PATH "cohorts/right", "{\"spec\":{\"parentName\":\"all\"}}");
}
