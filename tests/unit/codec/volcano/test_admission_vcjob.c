/* Volcano Jobs as they are taken: what is written into them, field by field; what is refused of each field, with what to write; what of one
 * that is there may change. SOURCE Volcano's webhooks of batch.volcano.sh/v1alpha1 Jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../admission_world.h"

#define JOB "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: d, namespace: ns}\nspec:\n"
#define POD "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}"
#define TASK "  tasks: [{name: a, replicas: 2, " POD "}]\n"
#define TASK_WITH(more) "  tasks: [{name: a, replicas: 2, " more ", " POD "}]\n"
#define ON(policies) "  policies: [" policies "]\n" TASK

static const char *spec_text(struct world *w)
{
    _cleanup_buf_ struct buf out = {0};
    struct json *spec = json_clone(w->arena, json_get(w->object, "spec"));
    JSON_EACH (task, json_get(spec, "tasks"))
        json_remove(task, "template"); /* a pod's own defaults have tests of their own */
    json_write(&out, spec);
    return arena_text(w->arena, out.data ? out.data : "");
}

static void what_is_left_out_is_filled_in(void **state)
{
    static const struct {
        const char *spec, *filled;
    } cases[] = {
        {"  tasks: [{replicas: 2, " POD "}, {replicas: 3, minAvailable: 1, " POD "}, {name: z, " POD "}]\n",
         "{\"tasks\":[{\"replicas\":2,\"name\":\"default0\",\"minAvailable\":2,\"maxRetry\":3},"
         "{\"replicas\":3,\"minAvailable\":1,\"name\":\"default1\",\"maxRetry\":3},"
         "{\"name\":\"z\",\"minAvailable\":0,\"maxRetry\":3}],"
         "\"maxRetry\":3,\"queue\":\"default\",\"schedulerName\":\"volcano\",\"minAvailable\":3}"},
        {"  schedulerName: mine\n  queue: lab\n  maxRetry: 7\n  minAvailable: 1\n" TASK_WITH("minAvailable: 2, maxRetry: -1"),
         "{\"schedulerName\":\"mine\",\"queue\":\"lab\",\"maxRetry\":7,\"minAvailable\":1,"
         "\"tasks\":[{\"name\":\"a\",\"replicas\":2,\"minAvailable\":2,\"maxRetry\":-1}]}"},
        {"  tasks: [{name: a, replicas: 6, partitionPolicy: {totalPartitions: 3, partitionSize: 2, minPartitions: 2}, " POD "}]\n",
         "{\"tasks\":[{\"name\":\"a\",\"replicas\":6,\"partitionPolicy\":{\"totalPartitions\":3,\"partitionSize\":2,\"minPartitions\":2},"
         "\"minAvailable\":4,\"maxRetry\":3}],\"maxRetry\":3,\"queue\":\"default\",\"schedulerName\":\"volcano\",\"minAvailable\":4}"},
        {"  plugins: {mpi: [--master=a, --worker=a]}\n" TASK,
         "{\"plugins\":{\"mpi\":[\"--master=a\",\"--worker=a\"],\"svc\":[],\"ssh\":[]},"
         "\"tasks\":[{\"name\":\"a\",\"replicas\":2,\"minAvailable\":2,\"maxRetry\":3}],"
         "\"maxRetry\":3,\"queue\":\"default\",\"schedulerName\":\"volcano\",\"minAvailable\":2}"},
        {"  plugins: {tensorflow: [], env: []}\n" TASK,
         "{\"plugins\":{\"tensorflow\":[],\"env\":[],\"svc\":[]},"
         "\"tasks\":[{\"name\":\"a\",\"replicas\":2,\"minAvailable\":2,\"maxRetry\":3}],"
         "\"maxRetry\":3,\"queue\":\"default\",\"schedulerName\":\"volcano\",\"minAvailable\":2}"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(admit(w, arena_printf(w->arena, JOB "%s", cases[i].spec)), "");
        assert_string_equal(spec_text(w), cases[i].filled);
    }
}

static void pods_on_the_nodes_network_ask_the_clusters_names(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, JOB "  tasks: [{name: a, replicas: 1, template: {spec: {hostNetwork: true, containers: [{name: c, image: i}]}}},\n"
                                     "    {name: b, replicas: 1, template: {spec: {hostNetwork: true, dnsPolicy: Default, containers: [{name: c, image: i}]}}},\n"
                                     "    {name: c, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]\n"), "");
    static const char *const policies[] = {"ClusterFirstWithHostNet", "Default", "ClusterFirst"};
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(json_text(json_path(json_item(json_path(w->object, "spec", "tasks", NULL), i), "template", "spec", "dnsPolicy", NULL),
                                      "ClusterFirst"), policies[i]);
}

static void each_rule_has_its_words(void **state)
{
    static const struct {
        const char *spec, *error; /* "": taken */
    } cases[] = {
        /* tasks */
        {"  tasks: []\n", "spec.tasks: Required value: No task specified in job spec"},
        {"  tasks: [{name: a, replicas: -1, " POD "}]\n", "spec.tasks[0].replicas: Invalid value: -1"},
        {"  tasks: [{name: A_b, replicas: 1, " POD "}]\n", "spec.tasks[0].name: Invalid value: \"A_b\""},
        {"  tasks: [{name: a, replicas: 1, " POD "}, {name: a, replicas: 1, " POD "}]\n", "spec.tasks[1].name"},
        {"  tasks: [{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, replicas: 1, " POD "}]\n",
         "job and task name together are too long: pods are called <job>-<task>-<index>, at most 63 characters"},
        {TASK_WITH("minAvailable: 3"), "spec.tasks[0].minAvailable: Invalid value: 3: 'minAvailable' is greater than 'replicas' in task: a"},
        {"  tasks: [{name: a, replicas: 1}]\n", "spec.tasks[0].template"},
        {"  tasks: [{name: a, replicas: 1, template: {spec: {containers: []}}}]\n", "spec.tasks[0].template.spec.containers"},
        /* the job */
        {"  minAvailable: 3\n" TASK, "spec.minAvailable: Invalid value: 3: job 'minAvailable' should not be greater than total replicas in tasks (2)"},
        {"  minAvailable: -1\n" TASK, "spec.minAvailable: Invalid value: -1"},
        {"  maxRetry: -1\n" TASK, "spec.maxRetry: Invalid value: -1"},
        {"  minSuccess: 0\n" TASK, "spec.minSuccess: Invalid value: 0"},
        {"  minSuccess: 1\n" TASK, ""},
        {"  ttlSecondsAfterFinished: -1\n" TASK, "spec.ttlSecondsAfterFinished: Invalid value: -1"},
        {"  schedulerName: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n" TASK, "spec.schedulerName"},
        {"  queue: root\n" TASK, "spec.queue: Invalid value: \"root\": can not submit job to root queue"},
        {"  queue: gone\n" TASK, "spec.queue: Invalid value: \"gone\": unable to find job queue"},
        {"  priorityClassName: gone\n" TASK, "spec.priorityClassName: Invalid value: \"gone\": no PriorityClass has this name"},
        {"  priorityClassName: high\n" TASK, ""},
        {"  networkTopology: {highestTierAllowed: 1, highestTierName: rack}\n" TASK,
         "spec.networkTopology: Invalid value: must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"},
        {"  networkTopology: {mode: firm}\n" TASK, "spec.networkTopology.mode: Unsupported value: \"firm\""},
        {"  plugins: {dance: []}\n" TASK, "spec.plugins[dance]"},
        /* volumes */
        {"  volumes: [{volumeClaimName: c}]\n" TASK, "spec.volumes[0].mountPath"},
        {"  volumes: [{mountPath: /a}]\n" TASK, "spec.volumes[0]: Required value: either VolumeClaim or VolumeClaimName must be specified"},
        {"  volumes: [{mountPath: /a, volumeClaimName: c, volumeClaim: {accessModes: [ReadWriteOnce]}}]\n" TASK,
         "spec.volumes[0]: Invalid value: only one of volumeClaim and volumeClaimName may be set"},
        {"  volumes: [{mountPath: /a, volumeClaimName: c}, {mountPath: /a, volumeClaimName: e}]\n" TASK, "duplicated mountPath"},
        /* what waits for what */
        {TASK_WITH("dependsOn: {name: [gone]}"), "spec.tasks[0].dependsOn.name: Not found: \"gone\": no task has this name"},
        {TASK_WITH("dependsOn: {name: [a]}"), "doesn't form a directed acyclic graph(DAG)"},
        {"  tasks: [{name: a, replicas: 1, dependsOn: {name: [b], iteration: any}, " POD "}, {name: b, replicas: 1, " POD "}]\n", ""},
        /* NUMA nodes */
        {TASK_WITH("topologyPolicy: close"), "spec.tasks[0].topologyPolicy: Unsupported value: \"close\""},
        {"  tasks: [{name: a, replicas: 1, topologyPolicy: single-numa-node, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1500m}}}]}}}]\n",
         "the cpu request isn't an integer: with topologyPolicy single-numa-node write whole CPUs, such as 2"},
        {"  tasks: [{name: a, replicas: 1, topologyPolicy: restricted, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}}]\n", ""},
        {"  tasks: [{name: a, replicas: 1, topologyPolicy: none, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1500m}}}]}}}]\n", ""},
        /* partitions */
        {TASK_WITH("partitionPolicy: {totalPartitions: 0, partitionSize: 2}"), "spec.tasks[0].partitionPolicy"},
        {TASK_WITH("partitionPolicy: {totalPartitions: 2, partitionSize: 2}"), "'Replicas' are not equal to TotalPartitions*PartitionSize"},
        {TASK_WITH("partitionPolicy: {totalPartitions: 2, partitionSize: 1}"), ""},
        /* policies: what happened */
        {ON("{event: PodFailed, action: RestartJob}"), ""},
        {ON("{event: PodPending, action: RestartPod, timeout: 30s}"), ""},
        {ON("{event: PodEvicted, action: RestartTask}, {event: Unknown, action: AbortJob}, {event: TaskCompleted, action: CompleteJob}"), ""},
        {ON("{event: TaskFailed, action: TerminateJob}, {event: JobUpdated, action: ResumeJob}"), ""},
        {ON("{event: \"*\", action: RestartPartition}"), ""},
        {ON("{event: PodRunning, action: RestartJob}"), "spec.policies[0].event: Invalid value: \"PodRunning\": write PodFailed, PodEvicted"},
        {ON("{event: OutOfSync, action: RestartJob}"), "spec.policies[0].event: Invalid value: \"OutOfSync\""},
        {ON("{event: CommandIssued, action: RestartJob}"), "spec.policies[0].event: Invalid value: \"CommandIssued\""},
        {ON("{event: Whatever, action: RestartJob}"), "spec.policies[0].event: Invalid value: \"Whatever\""},
        {ON("{event: PodFailed, action: RestartJob}, {event: PodFailed, action: AbortJob}"), "spec.policies[1].event: Duplicate value: \"PodFailed\""},
        {ON("{events: [\"*\", PodFailed], action: RestartJob}"), "if there's * here, no other event should be here"},
        {ON("{action: RestartJob}"), "spec.policies[0]: Invalid value: either event and exitCode should be specified"},
        /* exit codes */
        {ON("{exitCode: 137, action: RestartJob}"), ""},
        {ON("{exitCode: -1, action: RestartJob}"), ""},
        {ON("{exitCode: 0, action: RestartJob}"), "spec.policies[0].exitCode: Invalid value: 0: 0 is not a valid error code"},
        {ON("{exitCode: 3, action: RestartJob}, {exitCode: 3, action: AbortJob}"), "duplicate exitCode"},
        {ON("{event: PodFailed, exitCode: 3, action: RestartJob}"), "must not specify event and exitCode simultaneously"},
        /* what is done */
        {ON("{event: PodFailed, action: SyncJob}"), "spec.policies[0].action: Invalid value: \"SyncJob\": invalid policy action: write AbortJob"},
        {ON("{event: PodFailed, action: EnqueueJob}"), "spec.policies[0].action: Invalid value: \"EnqueueJob\""},
        {ON("{event: PodFailed, action: SyncQueue}"), "spec.policies[0].action: Invalid value: \"SyncQueue\""},
        {ON("{event: PodFailed, action: OpenQueue}"), "spec.policies[0].action: Invalid value: \"OpenQueue\""},
        {ON("{event: PodFailed, action: CloseQueue}"), "spec.policies[0].action: Invalid value: \"CloseQueue\""},
        {ON("{event: PodFailed, action: AbortJob, timeout: soon}"), "spec.policies[0].timeout"},
        {TASK_WITH("policies: [{event: PodFailed, action: SyncJob}]"), "spec.tasks[0].policies[0].action: Invalid value: \"SyncJob\""},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = admit(w, arena_printf(w->arena, JOB "%s", cases[i].spec));
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("%s\nwanted \"%s\"\ngot \"%s\"", cases[i].spec, cases[i].error, errors);
    }
}

static void of_one_that_is_there_little_may_change(void **state)
{
    static const char *const was = "  queue: lab\n  minAvailable: 1\n" TASK_WITH("minAvailable: 1");
    static const struct {
        const char *spec, *error;
    } cases[] = {
        {"  queue: lab\n  minAvailable: 2\n" TASK_WITH("minAvailable: 1"), ""},
        {"  queue: lab\n  minAvailable: 1\n  tasks: [{name: a, replicas: 5, minAvailable: 3, " POD "}]\n", ""},
        {"  queue: lab\n  minAvailable: 1\n  priorityClassName: high\n" TASK_WITH("minAvailable: 1"), ""},
        {"  queue: default\n  minAvailable: 1\n" TASK_WITH("minAvailable: 1"), "spec: Forbidden: job updates may not change fields other than"},
        {"  queue: lab\n  minAvailable: 1\n  maxRetry: 9\n" TASK_WITH("minAvailable: 1"), "spec: Forbidden"},
        {"  queue: lab\n  minAvailable: 1\n  policies: [{event: PodFailed, action: AbortJob}]\n" TASK_WITH("minAvailable: 1"), "spec: Forbidden"},
        {"  queue: lab\n  minAvailable: 1\n  plugins: {svc: []}\n" TASK_WITH("minAvailable: 1"), "spec: Forbidden"},
        {"  queue: lab\n  minAvailable: 1\n  ttlSecondsAfterFinished: 5\n" TASK_WITH("minAvailable: 1"), "spec: Forbidden"},
        {"  queue: lab\n  minAvailable: 1\n  tasks: [{name: b, replicas: 2, minAvailable: 1, " POD "}]\n", "spec: Forbidden"},
        {"  queue: lab\n  minAvailable: 1\n  tasks: [{name: a, replicas: 2, minAvailable: 1, " POD "}, {name: b, replicas: 1, " POD "}]\n",
         "spec.tasks: Forbidden: job updates may not add or remove tasks"},
        {"  queue: lab\n  minAvailable: 3\n" TASK_WITH("minAvailable: 1"), "spec.minAvailable: Invalid value: 3"},
    };
    struct world *w = *state;
    assert_string_equal(admit(w, arena_printf(w->arena, JOB "%s", was)), "");
    const struct json *old = json_clone(w->arena, w->object);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = admit_as(w, arena_printf(w->arena, JOB "%s", cases[i].spec), old, false, true);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("%s\nwanted \"%s\"\ngot \"%s\"", cases[i].spec, cases[i].error, errors);
    }
}

/* As there: what is no word is not refused. */
static void a_word_that_says_nothing_is_told(void **state)
{
    static const char *const words[] = {"some", "any", "all"};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_string_equal(admit(w, arena_printf(w->arena, JOB "  tasks: [{name: a, replicas: 1, dependsOn: {name: [b], iteration: %s}, " POD "}, "
                                                                "{name: b, replicas: 1, " POD "}]\n", words[i])), "");
        assert_int_equal(w->x.warnings_n, i ? 0 : 1);
        if (!i)
            assert_string_equal(w->x.warnings[0], "spec.tasks[0].dependsOn.iteration: \"some\" is neither any nor all: it waits for all of them, "
                                                  "as if it said all");
    }
}

/* One-shot verbs, for jobs and for queues. */
static void commands_have_verbs(void **state)
{
    static const char *const taken[] = {"AbortJob", "ResumeJob", "RestartJob", "TerminateJob", "CompleteJob", "OpenQueue", "CloseQueue"},
                             *const refused[] = {"SyncJob", "EnqueueJob", "SyncQueue", "RestartTask", "RestartPod", "RestartPartition", "abortjob"};
    static const char command[] = "apiVersion: bus.volcano.sh/v1alpha1\nkind: Command\nmetadata: {name: c, namespace: ns}\naction: %s\n"
                                  "target: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: d, uid: u}\n";
    struct world *w = *state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_string_equal(admit(w, arena_printf(w->arena, command, taken[i])), "");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_non_null(strstr(admit(w, arena_printf(w->arena, command, refused[i])), "action: Unsupported value"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_left_out_is_filled_in),
                                       cmocka_unit_test(pods_on_the_nodes_network_ask_the_clusters_names),
                                       cmocka_unit_test(each_rule_has_its_words),
                                       cmocka_unit_test(of_one_that_is_there_little_may_change),
                                       cmocka_unit_test(a_word_that_says_nothing_is_told), cmocka_unit_test(commands_have_verbs)};
    struct CMUnitTest ready[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        ready[i] = tests[i];
        ready[i].setup_func = world_open;
        ready[i].teardown_func = world_close;
    }
    return cmocka_run_group_tests_name("admission_vcjob", ready, NULL, NULL);
}
