/* What one change costs, counted in objects that are looked at and texts that are parsed: as much among many as among few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "core/state/state.h"
#include "kube/cache.h"
#include "world.h"

enum { FEW = 10, MANY = 200 };

/* ---- counting: the linker puts these before the real ones ---- */

static long visits_n, parses_n;
bool __real_kube_cache_next(const struct kube_cache *k, size_t *at, struct bytes *ret_key, struct bytes *ret_raw);
bool __wrap_kube_cache_next(const struct kube_cache *k, size_t *at, struct bytes *ret_key, struct bytes *ret_raw);
bool __real_kube_cache_next_of(const struct kube_cache *k, const char *mark, size_t *at, struct bytes *ret_key, struct bytes *ret_raw);
bool __wrap_kube_cache_next_of(const struct kube_cache *k, const char *mark, size_t *at, struct bytes *ret_key, struct bytes *ret_raw);
struct json *__real_json_parse(struct arena *a, struct bytes text, struct json_parse_info *info, struct err *e);
struct json *__wrap_json_parse(struct arena *a, struct bytes text, struct json_parse_info *info, struct err *e);

const struct reason *__real_state_gang_kept_out(const struct state *s, name_id gang, struct arena *a);
const struct reason *__wrap_state_gang_kept_out(const struct state *s, name_id gang, struct arena *a);

const struct reason *__wrap_state_gang_kept_out(const struct state *s, name_id gang, struct arena *a)
{
    visits_n++;
    return __real_state_gang_kept_out(s, gang, a);
}

bool __wrap_kube_cache_next(const struct kube_cache *k, size_t *at, struct bytes *ret_key, struct bytes *ret_raw)
{
    visits_n++;
    return __real_kube_cache_next(k, at, ret_key, ret_raw);
}

bool __wrap_kube_cache_next_of(const struct kube_cache *k, const char *mark, size_t *at, struct bytes *ret_key, struct bytes *ret_raw)
{
    visits_n++;
    return __real_kube_cache_next_of(k, mark, at, ret_key, ret_raw);
}

struct json *__wrap_json_parse(struct arena *a, struct bytes text, struct json_parse_info *info, struct err *e)
{
    parses_n++;
    return __real_json_parse(a, text, info, e);
}

/* What the change costs until everything is at rest again. */
struct cost {
    long visits_n, parses_n;
};

static struct cost cost_of(void (*change)(void))
{
    visits_n = parses_n = 0;
    change();
    run(4000);
    return (struct cost){visits_n, parses_n};
}

static void assert_no_more(struct cost few, struct cost many)
{
    if (many.visits_n > few.visits_n + few.visits_n / 4 || many.parses_n > few.parses_n + few.parses_n / 4)
        fail_msg("among %d others: %ld objects looked at, %ld texts parsed; among %d: %ld and %ld", FEW, few.visits_n, few.parses_n, MANY,
                 many.visits_n, many.parses_n);
}

/* The same change among few and among many others. */
static void assert_same_cost(void (*others)(int first, int n), void (*change)(void), void (*undo)(void))
{
    others(0, FEW);
    run(15000);
    (void)cost_of(change); /* what is made once only is made */
    undo();
    run(15000);
    struct cost few = cost_of(change);
    undo();
    run(15000);
    others(FEW, MANY - FEW);
    run(30000);
    assert_no_more(few, cost_of(change));
}

/* ---- Volcano ---- */

#define VOLCANO "/apis/scheduling.volcano.sh/v1beta1"

static void volcano_queue(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                        "\"capability\":{\"nvidia.com/gpu\":\"4\"}}}",
                        name));
}

/* wants: GPUs of its minimum. */
static void volcano_group(const char *name, const char *queue, int wants)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"minMember\":1,\"queue\":\"%s\",\"minResources\":{\"nvidia.com/gpu\":\"%d\"}}}",
                        name, queue, wants));
}

static void inqueue_groups(int first, int n)
{
    for (int i = first; i < first + n; i++)
        volcano_group(arena_printf(w.a, "g%d", i), "red", 1);
}

static void kept_out_groups(int first, int n)
{
    for (int i = first; i < first + n; i++)
        volcano_group(arena_printf(w.a, "g%d", i), "red", 100);
}

static void one_group(void)
{
    volcano_group("one", "red", 1);
}

static void one_group_goes(void)
{
    delete(VOLCANO "/namespaces/n/podgroups/one");
}

static void a_volcano_queue_is_written_without_reading_all_groups(void **state)
{
    (void)state;
    volcano_queue("red");
    assert_same_cost(inqueue_groups, one_group, one_group_goes);
    const struct json *status = json_get(get(VOLCANO "/queues/red"), "status");
    assert_int_equal(json_get_int64(status, "inqueue", 0), MANY + 1);
}

static void groups_that_their_queue_keeps_out_are_left_alone(void **state)
{
    (void)state;
    volcano_queue("red");
    assert_same_cost(kept_out_groups, one_group, one_group_goes);
    const struct json *status = json_get(get(VOLCANO "/queues/red"), "status");
    assert_int_equal(json_get_int64(status, "pending", 0), MANY);
    assert_int_equal(json_get_int64(status, "inqueue", 0), 1);
    patch(VOLCANO "/queues/red", "{\"spec\":{\"capability\":{\"nvidia.com/gpu\":\"100\"}}}");
    run(15000);
    status = json_get(get(VOLCANO "/queues/red"), "status");
    assert_int_equal(json_get_int64(status, "inqueue", 0), MANY + 1);
}

static void plain_pod(void)
{
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"plain\",\"namespace\":\"n\"},\"spec\":{\"containers\":[{"
           "\"name\":\"c\",\"image\":\"i\"}]}}");
}

static void plain_pod_goes(void)
{
    delete("/api/v1/namespaces/n/pods/plain");
}

static void groups_that_their_queue_keeps_out_are_not_asked_about_for_others(void **state)
{
    (void)state;
    volcano_queue("red");
    assert_same_cost(kept_out_groups, plain_pod, plain_pod_goes);
}

static void many_volcano_queues(int first, int n)
{
    for (int i = first; i < first + n; i++)
        volcano_queue(arena_printf(w.a, "q%d", i));
}

static void a_volcano_queue_is_written_without_reading_all_queues(void **state)
{
    (void)state;
    volcano_queue("red");
    assert_same_cost(many_volcano_queues, one_group, one_group_goes);
}

/* ---- Kueue ---- */

static void queued_pod(const char *name, const char *group, int total)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/pod-group-name\":\"%s\"},\"annotations\":{"
                        "\"kueue.x-k8s.io/pod-group-total-count\":\"%d\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                        "\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                        name, group, total));
}

static void groups_of_pods(int first, int n)
{
    for (int i = first; i < first + n; i++)
        queued_pod(arena_printf(w.a, "p%d", i), arena_printf(w.a, "group%d", i), 2); /* the other pod never comes */
}

static void one_pod(void)
{
    queued_pod("one", "alone", 2);
}

static void one_pod_goes(void)
{
    delete("/api/v1/namespaces/n/pods/one");
}

static void a_pod_group_is_looked_at_without_searching_all_pods(void **state)
{
    (void)state;
    QUOTA("0");
    assert_same_cost(groups_of_pods, one_pod, one_pod_goes);
}

static void queued_jobs(int first, int n)
{
    for (int i = first; i < first + n; i++)
        job(arena_printf(w.a, "j%d", i), 1, "true");
}

static void one_group_of_two(void)
{
    queued_pod("one", "pair", 2);
    queued_pod("two", "pair", 2);
}

static void one_group_of_two_goes(void)
{
    delete("/api/v1/namespaces/n/pods/one");
    delete("/api/v1/namespaces/n/pods/two");
}

/* Its Workload is nobody's alone, as one is that was made before its job. */
static void a_workload_of_pods_is_made_without_looking_at_all_jobs(void **state)
{
    (void)state;
    QUOTA("0");
    assert_same_cost(queued_jobs, one_group_of_two, one_group_of_two_goes);
}

static const char *cron_owner(void)
{
    return arena_printf(w.a,
                        "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"name\":\"cron\",\"uid\":\"%s\","
                        "\"controller\":true}]",
                        object_meta(get("/apis/batch/v1/namespaces/n/cronjobs/cron"), "uid"));
}

static void workload_of_a_cron_job(void)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"one\",\"namespace\":\"n\",%s},"
                        "\"spec\":{\"queueName\":\"missing\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":["
                        "{\"name\":\"c\",\"image\":\"i\"}]}}}]}}",
                        cron_owner()));
}

static void workload_of_a_cron_job_goes(void)
{
    delete("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/one");
}

/* Whoever made it: jobs wait for no Workload of a kind that is not queued here. */
static void a_workload_of_another_kind_is_taken_in_without_looking_at_all_jobs(void **state)
{
    (void)state;
    QUOTA("0");
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"cron\",\"namespace\":\"n\"},\"spec\":{\"suspend\":true,"
           "\"schedule\":\"0 0 1 1 *\",\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
           "\"c\",\"image\":\"i\"}]}}}}}}");
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"child\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\"},%s},\"spec\":{\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
                        cron_owner()));
    assert_same_cost(queued_jobs, workload_of_a_cron_job, workload_of_a_cron_job_goes);
}

static void workload_of_nobody(const char *name, const char *queue)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queueName\":\"%s\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":["
                        "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}",
                        name, queue));
}

static void one_workload(void)
{
    workload_of_nobody("one", "missing");
}

static struct cost cost_while_a_queue_leaves(int others_n)
{
    QUOTA("1");
    for (int i = 0; i < others_n; i++)
        workload_of_nobody(arena_printf(w.a, "w%d", i), "missing");
    workload_of_nobody("runs", "lq"); /* the last one that a search would come to */
    run(15000);
    delete("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq");
    run(3000);
    assert_non_null(get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"));
    return cost_of(one_workload);
}

static void a_queue_that_waits_for_its_last_workload_does_not_search_for_it(void **state)
{
    struct cost few = cost_while_a_queue_leaves(FEW);
    teardown(state);
    setup(state);
    assert_no_more(few, cost_while_a_queue_leaves(MANY));
}

static void local_queues(int first, int n)
{
    for (int i = first; i < first + n; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq%d\",\"namespace\":"
                            "\"n\"},\"spec\":{\"clusterQueue\":\"cq\"}}",
                            i));
}

static void one_local_queue(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"one\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
}

static void one_local_queue_goes(void)
{
    delete("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/localqueues/one");
}

static void a_local_queue_is_made_without_looking_at_all_queues(void **state)
{
    (void)state;
    QUOTA("1");
    assert_same_cost(local_queues, one_local_queue, one_local_queue_goes);
}

static const char *local_queue_says(const char *name)
{
    const struct json *queue = get(arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/localqueues/%s", name));
    return json_get_text(object_condition(queue, "Active"), "reason", "");
}

/* But who depends on what changed is written. */
static void a_cluster_queue_that_goes_is_told_by_its_local_queues(void **state)
{
    (void)state;
    QUOTA("1");
    local_queues(0, 3);
    run(3000);
    assert_string_equal(local_queue_says("lq2"), "Ready");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    run(3000);
    assert_string_equal(local_queue_says("lq2"), "ClusterQueueIsInactive");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(3000);
    assert_string_equal(local_queue_says("lq2"), "Ready");
    delete("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq");
    run(3000);
    assert_string_equal(local_queue_says("lq2"), "ClusterQueueDoesNotExist");
}

/* ---- controllers of the embedded cluster ---- */

static void finished_jobs(int first, int n)
{
    for (int i = first; i < first + n; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\",\"namespace\":\"n\"},\"spec\":{"
                            "\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
                            i));
}

static void one_cron_job(void)
{
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"one\",\"namespace\":\"n\"},\"spec\":{\"schedule\":\"0 0 1 1 *\","
           "\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}}}");
}

static void one_cron_job_goes(void)
{
    delete("/apis/batch/v1/namespaces/n/cronjobs/one");
}

static void a_cron_job_does_not_read_all_jobs(void **state)
{
    (void)state;
    assert_same_cost(finished_jobs, one_cron_job, one_cron_job_goes);
}

static void deployment(const char *name, int replicas)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{\"replicas\":%d,"
                        "\"selector\":{\"matchLabels\":{\"a\":\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"%s\"}},\"spec\":{\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\"}]}}}}",
                        name, replicas, name, name));
}

static void deployments(int first, int n)
{
    for (int i = first; i < first + n; i++)
        deployment(arena_printf(w.a, "d%d", i), 0);
}

static void one_deployment(void)
{
    deployment("one", 1);
}

static void one_deployment_goes(void)
{
    delete("/apis/apps/v1/namespaces/n/deployments/one");
}

static void a_deployment_does_not_read_all_replica_sets(void **state)
{
    (void)state;
    assert_same_cost(deployments, one_deployment, one_deployment_goes);
}

/* ---- a disruption budget ---- */

static void budget(const char *name, const char *app)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}}}}",
                        name, app));
}

/* A gated pod stays as it is made. */
static void gated_pod(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{\"app\":\"a\"}},"
                        "\"spec\":{\"schedulingGates\":[{\"name\":\"g\"}],\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                        name));
}

static void pods_of_the_budget(int first, int n)
{
    for (int i = first; i < first + n; i++)
        gated_pod(arena_printf(w.a, "p%d", i));
}

static void one_gated_pod(void)
{
    gated_pod("one");
}

static void one_gated_pod_goes(void)
{
    delete("/api/v1/namespaces/n/pods/one?gracePeriodSeconds=0");
}

static void a_disruption_budget_is_counted_without_parsing_all_pods(void **state)
{
    (void)state;
    budget("mine", "a");
    budget("others", "b");
    assert_same_cost(pods_of_the_budget, one_gated_pod, one_gated_pod_goes);
    const struct json *status = json_get(get("/apis/policy/v1/namespaces/n/poddisruptionbudgets/mine"), "status");
    assert_int_equal(json_get_int64(status, "expectedPods", 0), MANY + 1);
}

/* ---- a pod ---- */

enum { PODS = 50, VCJOBS = 40, VCJOB_PARSES = 28 };

/* Each that looks at a pod reads what it needs of the stored text. Trees are made of what a client sent (the pod, its binding, its status,
 * the Event of its binding, one default), of the pod before each of the two changes, and once by its kubelet when it starts. */
static void a_bound_pod_is_parsed_eight_times(void **state)
{
    (void)state;
    visits_n = parses_n = 0;
    for (int i = 0; i < PODS; i++)
        kube_create(w.client, "/api/v1/namespaces/n/pods",
                    bytes_of(arena_printf(w.a,
                                          "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"n\"},\"spec\":{"
                                          "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
                                          i)),
                    NULL, NULL);
    run(5000);
    long for_pods_n = parses_n;
    assert_int_equal(pods_n("", "Running"), PODS);
    if (for_pods_n > 8 * PODS)
        fail_msg("%ld texts parsed for %d pods", for_pods_n, PODS);
}

/* Nine writes, each of which is a body and most of which an object; the rest is what its controller and the scheduler read of it. */
static void a_volcano_job_is_parsed_so_often(void **state)
{
    (void)state;
    visits_n = parses_n = 0;
    for (int i = 0; i < VCJOBS; i++)
        kube_create(w.client, "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs",
                    bytes_of(arena_printf(w.a,
                                          "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"v%d\",\"namespace\":\"n\"},"
                                          "\"spec\":{\"tasks\":[{\"name\":\"t\",\"replicas\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
                                          "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
                                          i)),
                    NULL, NULL);
    run(5000);
    long for_jobs_n = parses_n;
    assert_int_equal(pods_n("", "Running"), VCJOBS);
    if (for_jobs_n > VCJOB_PARSES * VCJOBS)
        fail_msg("%ld texts parsed for %d Jobs", for_jobs_n, VCJOBS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_volcano_queue_is_written_without_reading_all_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_that_their_queue_keeps_out_are_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_that_their_queue_keeps_out_are_not_asked_about_for_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_volcano_queue_is_written_without_reading_all_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_group_is_looked_at_without_searching_all_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(a_workload_of_another_kind_is_taken_in_without_looking_at_all_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_workload_of_pods_is_made_without_looking_at_all_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_queue_that_waits_for_its_last_workload_does_not_search_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_local_queue_is_made_without_looking_at_all_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cluster_queue_that_goes_is_told_by_its_local_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cron_job_does_not_read_all_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_deployment_does_not_read_all_replica_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(a_disruption_budget_is_counted_without_parsing_all_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bound_pod_is_parsed_eight_times, setup, teardown),
        cmocka_unit_test_setup_teardown(a_volcano_job_is_parsed_so_often, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
