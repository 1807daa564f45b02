/* chaos.c - random users, random faults, a virtual clock: what must always hold is checked after every step
 *
 *     chaos [STEPS [SEED]]     default 3000 steps; prints TAP. A failure prints the seed and the step, by which it can be seen again.
 *
 * A step is one thing that a user or the world does (a job comes, a pod is deleted, a node goes, a quota changes) and a random span of
 * time. Faults: lost answers, refused and slow calls, 409, 429, 500, dropped and expired watches; now and then the scheduler begins anew.
 * In the middle of every RESTS steps the faults stop for a while: then a scheduler that begins anew must see the same and do nothing. At
 * their end all is allowed and the world comes to rest; then no gang may be bound in part.
 * ORDER  compilers evaluate arguments in any order: whatever is drawn stands in a variable first, and a seed is one world for all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/log.h"
#include "asked.h"
#include "charged.h"
#include "checks.h"
#include "kinds.h"
#include "made.h"
#include "near.h"
#include "queued.h"
#include "shared.h"
#include "stakes.h"
#include "used.h"

#define RESTS 100
#define TOLD 2500
#define NAMES 24 /* few names, so that things collide */
#define NS "/namespaces/default/"

static uint64_t pick(struct world *w, uint64_t n)
{
    return random_below(&w->random, n);
}

/* Of one pod in three: those that differ take turns on a node. */
static const char *limits(struct world *w)
{
    static const char *const texts[] = {"", "", "", "", ",\"GPUlimits\":\"2G\"", ",\"GPUlimits\":\"4G\""};
    return texts[pick(w, 6)];
}

/* Of one job in four: what may end others, where the policies of its queue say so. */
static const char *priority(struct world *w)
{
    return pick(w, 4) ? "" : ",\"priorityClassName\":\"urgent\"";
}

static const char *pod_template_asking(struct world *w, const char *restart_policy, const char *more)
{
    const char *class = priority(w);
    int zone = (int)pick(w, 3);
    const char *parts = limits(w);
    bool fails = pick(w, 8) == 0;
    int seconds = (int)pick(w, 60);
    return arena_printf(w->arena,
                        "{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"%d\",\"capstan.dev/"
                        "exit-code\":\"%d\"%s%s}},\"spec\":{" POD_SPEC ",\"restartPolicy\":\"%s\"%s}}",
                        seconds, fails, parts, more, zone, restart_policy, class);
}

static const char *pod_template(struct world *w, const char *restart_policy)
{
    return pod_template_asking(w, restart_policy, "");
}

/* Of one job in eight: it is deactivated when it has run for so long. */
static const char *most_time(struct world *w)
{
    return pick(w, 8) ? "" : ",\"kueue.x-k8s.io/max-exec-time-seconds\":\"10\"";
}

static void create_job_in(struct world *w, const char *name, int team)
{
    int pods = 1 + (int)pick(w, 8), completions = pick(w, 3) ? pods : pods + (int)pick(w, 2 * (uint64_t)pods);
    const char *asks = team == 3 ? near_annotation(w) : "", *template = pod_template_asking(w, "Never", asks), *most = most_time(w);
    int number = (int)pick(w, NAMES);
    const char *class = queued_label(w), *least = queued_annotation(w, pods);
    world_post(
        w, "/apis/batch/v1" NS "jobs",
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s%d\",\"labels\":{\"kueue.x-k8s.io/"
        "queue-name\":\"team%d\"%s%s}%s},"
        "\"spec\":{\"parallelism\":%d,\"completions\":%d,\"suspend\":true,\"backoffLimit\":2,"
        "\"ttlSecondsAfterFinished\":30,\"template\":%s}}",
        name, number, team, most, class, least, pods, completions, template);
}

static void create_queued_job(struct world *w)
{
    static const int teams[] = {0, 1, 4};
    create_job_in(w, "job", teams[pick(w, 3)]);
}

/* In a queue that demands admission checks. */
static void create_checked_job(struct world *w)
{
    create_job_in(w, "checked", 2);
}

/* In domains of a topology. */
static void create_near_job(struct world *w)
{
    create_job_in(w, "near", 3);
}

/* In a queue that asks an autoscaler for nodes first. */
static void create_asked_job(struct world *w)
{
    create_job_in(w, "asked", 5);
}

/* In a queue whose gangs may start before their machines are there. */
static void create_job_for_machines(struct world *w)
{
    create_job_in(w, "machines", 7);
}

static void create_charged_job(struct world *w)
{
    charged_create(w, NAMES);
}

/* Without a queue: where all jobs are to have one it is held. */
static void create_unqueued_job(struct world *w)
{
    const char *template = pod_template(w, "Never");
    world_post(w, "/apis/batch/v1" NS "jobs",
               "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"unqueued%d\"},\"spec\":{\"parallelism\":2,\"completions\":2,"
               "\"ttlSecondsAfterFinished\":30,\"template\":%s}}",
               (int)pick(w, 3), template);
}

/* Of Kueue: "kg3-of-2" is the third, of two pods. */
static void create_kueue_group(struct world *w)
{
    int total = 1 + (int)pick(w, 3);
    const char *group = arena_printf(w->arena, "kg%llu-of-%d", (unsigned long long)++w->groups_n, total);
    for (int i = 0; i < total; i++)
        world_create_member(w, group, arena_printf(w->arena, "%s-%d", group, i), total, pick(w, 3) == 0);
    if (w->groups_n > 5) /* long over, most likely */
        world_delete_group(w, w->groups_n - 5);
}

static void create_vcjob(struct world *w)
{
    int pods = 1 + (int)pick(w, 6);
    const char *template = pod_template(w, "OnFailure");
    world_post(w, "/apis/batch.volcano.sh/v1alpha1" NS "jobs",
               "{\"apiVersion\":\"batch.volcano.sh/"
               "v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"vc%d\"},\"spec\":{\"minAvailable\":%d,"
               "\"ttlSecondsAfterFinished\":30,\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"RestartJob\"}],"
               "\"tasks\":[{\"name\":\"w\",\"replicas\":%d,"
               "\"template\":%s}]}}",
               (int)pick(w, NAMES), pods, pods, template);
}

/* Two kinds of pods: some take a whole node anywhere, the others only part of one, in a zone. */
static void create_mixed_vcjob(struct world *w)
{
    int wide = 1 + (int)pick(w, 2), picky = 1 + (int)pick(w, 2), gpus = 1 + (int)pick(w, WORLD_GPUS), zone = (int)pick(w, 3);
    world_post(w, "/apis/batch.volcano.sh/v1alpha1" NS "jobs",
               "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"vc%d\"},\"spec\":{"
               "\"minAvailable\":%d,\"ttlSecondsAfterFinished\":30,\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"RestartJob\"}],"
               "\"tasks\":[{\"name\":\"wide\",\"replicas\":%d,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":"
               "\"30\"}},\"spec\":{" POD_SPEC ",\"restartPolicy\":\"OnFailure\"}}},"
               "{\"name\":\"picky\",\"replicas\":%d,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"30\"}},"
               "\"spec\":{\"nodeSelector\":{\"zone\":\"z%d\"}," POD_SPEC ",\"restartPolicy\":\"OnFailure\"}}}]}}",
               (int)pick(w, NAMES), wide + picky, wide, WORLD_GPUS, picky, zone, gpus);
}

#define OF_WORKLOAD "\"workloadRef\":{\"workloadName\":\"w\",\"templateName\":\"t\"}"
/* Who makes a group of pods: coscheduling, or Kubernetes itself in two of its versions, and as a part of a larger group, which is satisfied
 * with one part. WHY by the number: it is deleted where it is. */
static const struct {
    const char *path, *api_version, *kind, *spec, *label, *member;
} group_makers[] = {
    {"/apis/scheduling.x-k8s.io/v1alpha1" NS "podgroups", "scheduling.x-k8s.io/v1alpha1", "PodGroup", "\"minMember\":%d",
     "scheduling.x-k8s.io/pod-group", "\"schedulerName\":\"coscheduling\""},
    {"/apis/scheduling.k8s.io/v1beta1" NS "podgroups", "scheduling.k8s.io/v1beta1", "PodGroup",
     "\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}", "group", "\"schedulingGroup\":{\"podGroupName\":\"pg%d\"}"},
    {"/apis/scheduling.k8s.io/v1alpha1" NS "workloads", "scheduling.k8s.io/v1alpha1", "Workload",
     "\"podGroups\":[{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":%d}}}]", "group",
     "\"workloadRef\":{\"name\":\"pg%d\",\"podGroup\":\"g\",\"podGroupReplicaKey\":\"r\"}"},
    {"/apis/scheduling.k8s.io/v1beta1" NS "podgroups", "scheduling.k8s.io/v1beta1", "PodGroup",
     "\"parentCompositePodGroupName\":\"tree\"," OF_WORKLOAD ",\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}", "group",
     "\"schedulingGroup\":{\"podGroupName\":\"pg%d\"}"},
};
#define COMPOSITES "/apis/scheduling.k8s.io/v1alpha3" NS "compositepodgroups"
#define GROUP_MAKER(number) ((size_t)(number) % (sizeof group_makers / sizeof *group_makers))

static void create_pod_group(struct world *w)
{
    int pods = 1 + (int)pick(w, 4), number = (int)pick(w, NAMES);
    size_t maker = GROUP_MAKER(number);
    world_post(w, group_makers[maker].path, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"pg%d\"},\"spec\":{%s}}",
               group_makers[maker].api_version, group_makers[maker].kind, number, arena_printf(w->arena, group_makers[maker].spec, pods));
    for (int i = 0; i < pods; i++) {
        int gpus = 1 + (int)pick(w, 2);
        const char *parts = limits(w), *member = arena_printf(w->arena, group_makers[maker].member, number);
        world_post(w, "/api/v1" NS "pods",
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pg%d-%d\",\"labels\":{\"%s\":\"pg%d\"},"
                   "\"annotations\":{\"capstan.dev/run-seconds\":\"20\"%s}},\"spec\":{%s,\"restartPolicy\":\"Never\"," POD_SPEC "}}",
                   number, i, group_makers[maker].label, number, parts, member, gpus);
    }
}

/* It goes now and then, and comes back, on top or below another one. */
static void change_tree(struct world *w)
{
    bool is_top = pick(w, 2) == 0, is_below = pick(w, 2) && !is_top;
    const char *name = is_top ? "top" : "tree", *parent = is_below ? "\"parentCompositePodGroupName\":\"top\"," : "";
    if (pick(w, 3) == 0)
        world_delete(w, arena_printf(w->arena, COMPOSITES "/%s", name));
    else
        world_post(w, COMPOSITES,
                   "{\"apiVersion\":\"scheduling.k8s.io/v1alpha3\",\"kind\":\"CompositePodGroup\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
                   OF_WORKLOAD ",\"schedulingPolicy\":{\"gang\":{\"minGroupCount\":1}}}}", name, parent);
}

static void create_pod(struct world *w)
{
    static const char *const classes[] = {"", "", "urgent", "urgent", "patient"};
    for (int n = 1 + (int)pick(w, 3); n; n--) {
        int gpus = (int)pick(w, 1 + WORLD_GPUS), grace_s = (int)pick(w, 10);
        const char *class = classes[pick(w, 5)], *parts = limits(w);
        int seconds = (int)pick(w, 150), app = (int)pick(w, 4), number = (int)pick(w, NAMES);
        world_post(w, "/api/v1" NS "pods",
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod%d\",\"labels\":{\"app\":\"a%d\"},\"annotations\":{"
                   "\"capstan.dev/run-seconds\":\"%d\"%s}},\"spec\":{\"priorityClassName\":\"%s\",\"terminationGracePeriodSeconds\":%d,"
                   "\"restartPolicy\":\"Never\"," POD_SPEC "}}",
                   number, app, seconds, parts, class, grace_s, gpus);
    }
}

static void delete_job(struct world *w)
{
    static const char *const paths[] = {
        "/apis/batch/v1" NS "jobs/job%d", "/apis/batch/v1" NS "jobs/checked%d", "/apis/batch/v1" NS "jobs/near%d",
        "/apis/batch/v1" NS "jobs/machines%d",
        "/apis/batch/v1" NS "jobs/asked%d", "/apis/batch/v1" NS "jobs/charged%d", "/apis/batch.volcano.sh/v1alpha1" NS "jobs/vc%d",
        "/apis/scheduling.x-k8s.io/v1alpha1" NS "podgroups/pg%d", "/api/v1" NS "pods/pod%d"};
    const char *path = paths[pick(w, sizeof paths / sizeof *paths)];
    int number = (int)pick(w, NAMES);
    bool is_group = strstr(path, "podgroups/");
    world_delete(w, is_group ? arena_printf(w->arena, "%s/pg%d", group_makers[GROUP_MAKER(number)].path, number)
                             : arena_printf(w->arena, path, number));
}

static void delete_any_pod(struct world *w)
{
    size_t n = map_count(w->pods), at = 0, skip = n ? pick(w, n) : 0;
    struct bytes key;
    const struct mirror_pod *p = NULL;
    do {
        p = map_next(w->pods, &at, &key);
    } while (p && skip-- > 0);
    const char *slash = p && !text_starts(p->gang, "kg") ? strchr(key.data, '/') : NULL; /* who makes groups replaces only what failed */
    if (slash)
        world_delete(w, arena_printf(w->arena, "/api/v1" NS "pods/%s", slash + 1));
}

static void set_ready(struct world *w, int node, bool ready)
{
    world_patch(w, arena_printf(w->arena, "/api/v1/nodes/node-%d/status", node),
                "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\",\"reason\":\"Test\"}]}}", ready ? "True" : "False");
}

static void change_node(struct world *w)
{
    const char *path = arena_printf(w->arena, "/api/v1/nodes/node-%d", (int)pick(w, WORLD_NODES));
    if (pick(w, 3) == 0) {
        bool ready = pick(w, 3) != 0;
        set_ready(w, (int)pick(w, WORLD_NODES), ready);
    } else if (pick(w, 2))
        world_patch(w, path, "{\"spec\":{\"unschedulable\":%s}}", pick(w, 3) ? "false" : "true");
    else
        world_patch(w, path, "{\"metadata\":{\"labels\":{\"zone\":\"z%d\"}}}", (int)pick(w, 3));
}

static void change_queue(struct world *w)
{
    const char *path = arena_printf(w->arena, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q%d", (int)pick(w, 2));
    static const char *const policies[] = {"None", "None", "None", "Hold", "HoldAndDrain"};
    static const char *const within[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority"};
    static const char *const reclaim[] = {"Never", "LowerPriority", "Any"};
    static const char *const weights[] = {"1", "1", "2", "500m", "0"};
    uint64_t what = pick(w, w->policy.fair.on ? 4 : 3);
    if (what == 3)
        world_patch(w, path, "{\"spec\":{\"fairSharing\":{\"weight\":\"%s\"}}}", weights[pick(w, 5)]);
    else if (what == 0)
        world_patch(w, path, "{\"spec\":{\"stopPolicy\":\"%s\"}}", policies[pick(w, 5)]);
    else if (what == 1) {
        const char *own = within[pick(w, 3)], *others = reclaim[pick(w, 3)];
        world_patch(w, path, "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"%s\",\"reclaimWithinCohort\":\"%s\"}}}", own, others);
    } else
        world_patch(w, path, "{\"spec\":{\"resourceGroups\":" WORLD_QUOTA "}}", 4 + (int)pick(w, 10));
}

static void change_local_queue(struct world *w)
{
    static const char *const policies[] = {"None", "None", "None", "Hold", "HoldAndDrain"};
    static const char *const weights[] = {"1", "1", "2", "500m", "0"};
    const char *path = arena_printf(w->arena, "/apis/kueue.x-k8s.io/v1beta2" NS "localqueues/team%d", pick(w, 2) ? 4 : (int)pick(w, 2));
    if (pick(w, 3) == 0)
        world_patch(w, path, "{\"spec\":{\"fairSharing\":{\"weight\":\"%s\"}}}", weights[pick(w, 5)]);
    else
        world_patch(w, path, "{\"spec\":{\"stopPolicy\":\"%s\"}}", policies[pick(w, 5)]);
}

static void change_stakes(struct world *w)
{
    stakes_change(w, NAMES);
}

static void change_queued(struct world *w)
{
    queued_change(w, NAMES);
}

static void step(struct world *w)
{
    static void (*const actions[])(struct world *) = {
        create_queued_job, create_queued_job, create_queued_job,  create_checked_job, create_kueue_group, create_kueue_group,
        create_vcjob,      create_vcjob,      create_mixed_vcjob, create_mixed_vcjob, create_pod_group,   create_pod_group,   change_tree,
        create_pod,        create_pod,        create_pod,         delete_job,         delete_job,         delete_any_pod,
        delete_any_pod,    change_node,       change_node,        change_queue,       change_queue,       change_local_queue,
        checks_answer,     checks_answer,     checks_answer,      checks_change,      create_checked_job, create_unqueued_job,
        create_near_job,   create_near_job,   create_near_job,    near_change,
        near_node_fails,   near_node_fails,   change_stakes,      change_stakes,      change_queued,      change_queued,
        change_queued,     change_queued,     made_create,        made_create,        made_create,        made_change,
        create_job_for_machines,
        create_asked_job,  create_asked_job,  asked_answer,       asked_answer,       asked_answer,       asked_change,
        create_charged_job, create_charged_job, create_charged_job, charged_change,
        kinds_create,      kinds_create,      kinds_create,       kinds_create,       kinds_change,       kinds_change};
    actions[pick(w, sizeof actions / sizeof *actions)](w);
    shared_step(w);
    arena_reset(w->arena);
    loop_run_for(w->loop, (int64_t)pick(w, 2000), NULL);
    if (pick(w, 50) == 0)
        world_restart_scheduler(w);
}

/* No faults, and time for what is under way and for waits after failures; the world stays as it is, full of waiting jobs. */
static bool pause_and_look(struct world *w)
{
    world_set_faults(w, false);
    for (int i = 0; i < 4 * NAMES; i++) { /* what is said is taken back, too */
        change_stakes(w);
        arena_reset(w->arena);
        loop_run_for(w->loop, 50, NULL);
    }
    made_delete_left(w);
    loop_run_for(w->loop, 20000, NULL);
    return world_check(w) && near_check(w) && used_check(w) && stakes_check(w) && made_check(w) && asked_check(w) &&
           charged_check(w) && kinds_check(w) && shared_check(w) && world_check_onlooker(w);
}

/* Everything allowed again and time to settle. */
static void rest(struct world *w)
{
    world_set_faults(w, false);
    for (int i = 0; i < WORLD_NODES; i++) {
        world_patch(w, arena_printf(w->arena, "/api/v1/nodes/node-%d", i), "{\"spec\":{\"unschedulable\":false,\"taints\":null}}");
        set_ready(w, i, true);
    }
    for (int i = 0; i < 2; i++) {
        world_patch(w, arena_printf(w->arena, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q%d", i),
                    "{\"spec\":{\"stopPolicy\":\"None\"}}");
        world_patch(w, arena_printf(w->arena, "/apis/kueue.x-k8s.io/v1beta2" NS "localqueues/team%d", i),
                    "{\"spec\":{\"stopPolicy\":\"None\"}}");
    }
    world_patch(w, "/apis/kueue.x-k8s.io/v1beta2" NS "localqueues/team4", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    queued_rest(w);
    made_delete_left(w);
    checks_let_all(w); /* WHY  once: jobs that may not run for as long as they would are given another try, and not one after the other */
    for (int i = 0; i < 6; i++) { /* what is asked of them changes as they go on */
        checks_let(w);
        asked_let_all(w);
        near_give_up(w);
        arena_reset(w->arena);
        loop_run_for(w->loop, 5000, NULL);
    }
    loop_run_for(w->loop, 120000, NULL); /* a replaced member may have to wait for a whole gang of others to end */
    world_let_bind(w);
}

static void create_crowd_job(struct world *w, const char *name, const char *priority_class)
{
    world_post(w, "/apis/batch/v1" NS "jobs",
               "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"team0\"}},"
               "\"spec\":{\"parallelism\":4,\"completions\":4,\"suspend\":true,\"ttlSecondsAfterFinished\":1,\"template\":{\"metadata\":{"
               "\"annotations\":{\"capstan.dev/run-seconds\":\"40\"}},\"spec\":{\"restartPolicy\":\"Never\",\"priorityClassName\":\"%s\"," POD_SPEC "}}}}",
               name, priority_class, 2);
}

static bool any_crowd_job_runs(struct world *w)
{
    bool any = false;
    _cleanup_arena_ struct arena *a = arena_new(); /* the world's ends with what happens while one waits */
    JSON_EACH (job, world_read(w, a, "/apis/batch/v1" NS "jobs"))
        any |= text_starts(json_text(json_path(job, "metadata", "name", NULL), ""), "crowd") &&
               !json_get_bool(json_get(job, "spec"), "suspend", true);
    return any;
}

static void create_crowd_pod(struct world *w, int number, const char *priority_class)
{
    world_post(w, "/api/v1" NS "pods",
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"crowd%d\",\"annotations\":{\"capstan.dev/run-seconds\":\"20\"}},"
               "\"spec\":{\"priorityClassName\":\"%s\",\"restartPolicy\":\"Never\"," POD_SPEC "}}",
               number, priority_class, 1);
}

/* What random users seldom bring about, above all where one is let in after the other: a queue whose quota is used up, and nodes that are
 * full, when somebody urgent comes; a check that turns everybody away, and then lets them in. No faults here: random users meet those. */
static void crowd(struct world *w)
{
    for (int i = 0; i < NAMES; i++) /* one in eight fails, and begins again for ever */
        world_delete(w, arena_printf(w->arena, "/apis/batch.volcano.sh/v1alpha1" NS "jobs/vc%d", i));
    shared_clear(w);
    world_patch(w, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q0",
                "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"},\"resourceGroups\":" WORLD_QUOTA "}}", 8);
    for (int i = 0; i < 3; i++) { /* 24 GPUs: more than the cohort has */
        create_crowd_job(w, arena_printf(w->arena, "crowd%d", i), "");
        loop_run_for(w->loop, 3000, NULL);
    }
    for (int i = 0; i < 60 && !any_crowd_job_runs(w); i++) { /* where all pods must be ready first, whoever waits for nodes gets them */
        checks_let(w);
        asked_let_all(w);
        near_give_up(w);
        loop_run_for(w->loop, 5000, NULL);
    }
    create_crowd_job(w, "crowd-urgent", "urgent");
    create_checked_job(w);
    loop_run_for(w->loop, 10000, NULL);
    checks_turn_all_away(w);
    arena_reset(w->arena);
    loop_run_for(w->loop, 60000, NULL);
    checks_let_all(w);
    arena_reset(w->arena);
    int all = WORLD_NODES * WORLD_GPUS;
    for (int i = 0; i < all; i++)
        create_crowd_pod(w, i, "");
    loop_run_for(w->loop, 5000, NULL);
    create_crowd_pod(w, all, "urgent");
    loop_run_for(w->loop, 20000, NULL);
    for (int i = 0; i <= all; i++)
        world_delete(w, arena_printf(w->arena, "/api/v1" NS "pods/crowd%d", i));
    static const char *const jobs[] = {"crowd0", "crowd1", "crowd2", "crowd-urgent"};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        world_delete(w, arena_printf(w->arena, "/apis/batch/v1" NS "jobs/%s", jobs[i]));
    arena_reset(w->arena);
}

/* A long run is seen to go on, and whether a step costs more the longer it lasts. */
static void tell_progress(int64_t step)
{
    if (step == 0 || step % TOLD)
        return;
    printf("# step %lld, %.0f s of CPU\n", (long long)step, (double)clock() / CLOCKS_PER_SEC);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int64_t steps_n = 3000, seed = 1;
    if ((argc > 1 && !bytes_int64(bytes_of(argv[1]), &steps_n)) ||
        (argc > 2 && !bytes_int64(bytes_of(argv[2]), &seed))) {
        fprintf(stderr, "usage: chaos [STEPS [SEED]]\n");
        return 2;
    }
    static struct world w;
    log_set_level(LOG_ERROR); /* failed writes are what this test is about */
    world_init(&w, (uint64_t)seed);
    bool good = world_check(&w);
    int64_t i = 0;
    for (; good && i < steps_n; i++) {
        tell_progress(i);
        world_set_faults(&w, i / RESTS % 4 != 3);
        step(&w);
        good = world_check(&w);
        if (good && i % RESTS == RESTS / 2)
            good = pause_and_look(&w);
        if (good && i % RESTS == RESTS - 1) {
            rest(&w);
            good = world_check(&w) && world_check_rest(&w) && made_check(&w) && asked_check(&w) && charged_check(&w) && kinds_check(&w) &&
                   shared_check(&w);
            crowd(&w);
        }
    }
    struct scheduler_counts counts = world_counts(&w);
    struct made_counts made = made_counts(w.made);
    struct asked_counts asked = asked_counts(w.asked_for);
    struct charged_counts charged = charged_counts(w.charged);
    bool rare = counts.evictions_n > 0 && counts.bind_waits_n > 0 && w.preemptions_n > 0 && w.lone_n > 0 &&
                checks_passed_n(w.checks) > 0 && checks_failed_n(w.checks) > 0 &&
                (!w.policy.ready.timeout_ms || w.late_n > 0) && made.jobs_n > 0 && made.pods_n > 0 && made.out_of_sync_n > 0 &&
                asked.failed_n > 0 && asked.pods_n > 0 && kinds_all_ran(&w) && shared_worked(&w) &&
                (!charged_policy(w.seed) || (charged.admitted_n > 0 && charged.full_n > 0)); /* a few in a thousand steps */
    bool worked = counts.binds_n > 0 && counts.admits_n > 0 && (steps_n < 3000 || rare);
    printf("# %lld steps, %llu pod events, %llu decisions, %llu binds (%llu failed, %llu took turns), %llu admitted (%llu after checks), "
           "%llu evicted (%llu preempted, %llu late, %llu by checks), %llu pods of no queue\n",
           (long long)i, (unsigned long long)w.events_n, (unsigned long long)counts.cycles_n,
           (unsigned long long)counts.binds_n, (unsigned long long)counts.bind_failures_n, (unsigned long long)counts.bind_waits_n,
           (unsigned long long)counts.admits_n, (unsigned long long)checks_passed_n(w.checks), (unsigned long long)counts.evictions_n,
           (unsigned long long)w.preemptions_n, (unsigned long long)w.late_n, (unsigned long long)checks_failed_n(w.checks),
           (unsigned long long)w.lone_n);
    printf("# prebuilt: %llu of jobs, %llu of pods, %llu out of sync; %llu asked of the autoscaler (%llu yes, %llu no), %llu pods with its "
           "answer; %llu gave up machines that did not come; %llu charged by rules (%llu to three quarters)\n",
           (unsigned long long)made.jobs_n, (unsigned long long)made.pods_n, (unsigned long long)made.out_of_sync_n,
           (unsigned long long)asked.made_n, (unsigned long long)asked.provisioned_n, (unsigned long long)asked.failed_n,
           (unsigned long long)asked.pods_n, (unsigned long long)asked.gave_up_n, (unsigned long long)charged.admitted_n,
           (unsigned long long)charged.full_n);
    printf("# pods that started: %llu of JobSets, %llu of TrainJobs, %llu of MPIJobs, %llu of PyTorchJobs, %llu of TFJobs; a Volcano queue "
           "took back during %llu steps\n",
           (unsigned long long)w.kinds_started_n[0], (unsigned long long)w.kinds_started_n[1], (unsigned long long)w.kinds_started_n[2],
           (unsigned long long)w.kinds_started_n[3], (unsigned long long)w.kinds_started_n[4], (unsigned long long)w.shared_left_n);
    if (!good)
        printf("not ok 1 - seed %lld, step %lld: %s\n1..1\n", (long long)seed, (long long)i, w.fault);
    else
        printf("ok 1 - what must always hold holds, seed %lld\n%s 2 - and work was done\n1..2\n", (long long)seed,
               worked ? "ok" : "not ok");
    world_fini(&w);
    return good && worked ? 0 : 1;
}
