/* Workload names, and templates that are started and restored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/kueue/kueue_kind.h"
#include "wire/patch.h"

static void test_name(void **state)
{
    (void)state;
    /* The hash is the first five hex digits of the SHA-1 of "Job\nbatch\nsample\nuid". */
    assert_string_equal(kueue_workload_name(a, "Job", "batch", "sample", "uid"), "job-sample-45037");
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[260] = '\0';
    const char *name = kueue_workload_name(a, "Job", "batch", longest, "uid");
    assert_true(strlen(name) <= 253);
    assert_string_not_equal(name, kueue_workload_name(a, "Job", "batch", longest, "other"));
}

static void test_start_and_restore(void **state)
{
    (void)state;
    static const char original_text[] = "{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"nodeSelector\":{\"os\":"
                                        "\"linux\"},\"tolerations\":[{\"key\":\"a\"}]}}";
    struct kueue_start s = {
        .pod_set = "main", .workload = "job-x", .cluster_queue = "cq", .local_queue = "lq", .count = 4};
    s.node_labels = parse("{\"gpu\":\"a100\"}");
    s.tolerations = parse("[{\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\"}]");
    struct json *template = parse(original_text), *patch = json_new(a, JSON_OBJECT);
    struct err e = {0};
    assert_int_equal(kueue_template_start(a, template, &s, patch, &e), 0);
    patch_merge(a, &template, patch);
    assert_true(json_equal(
        template,
        parse("{\"metadata\":{\"labels\":{\"app\":\"x\",\"kueue.x-k8s.io/podset\":\"main\",\"kueue.x-k8s.io/"
              "cluster-queue-name\":\"cq\","
              "\"kueue.x-k8s.io/local-queue-name\":\"lq\"},\"annotations\":{\"kueue.x-k8s.io/workload\":\"job-x\"}},"
              "\"spec\":{\"nodeSelector\":{\"os\":\"linux\",\"gpu\":\"a100\"},\"tolerations\":[{\"key\":\"a\"},{"
              "\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\"}]}}")));
    struct json *back = json_new(a, JSON_OBJECT);
    kueue_template_restore(a, template, parse(original_text), back);
    patch_merge(a, &template, back);
    assert_true(json_equal(template, parse(original_text)));
}

/* Of annotations that no webhook has looked at: what would be refused in a Workload is left out. */
static void test_what_a_topology_request_leaves_out(void **state)
{
    (void)state;
#define KUEUE(key) "\"kueue.x-k8s.io/podset-" key "\":"
    static const char *const cases[][2] = {
        {KUEUE("required-topology") "\"r\"," KUEUE("group-name") "\"g\"", "{\"required\":\"r\",\"podSetGroupName\":\"g\",\"podIndexLabel\":\"i\"}"},
        {KUEUE("required-topology") "\"r\"," KUEUE("group-name") "\"g\"," KUEUE("slice-required-topology") "\"s\"," KUEUE("slice-size") "\"2\"",
         "{\"required\":\"r\",\"podSetSliceRequiredTopology\":\"s\",\"podSetSliceSize\":2,\"podIndexLabel\":\"i\"}"},
        {KUEUE("required-topology") "\"r\"," KUEUE("slice-required-topology") "\"s\"," KUEUE("slice-size") "\"two\"",
         "{\"required\":\"r\",\"podIndexLabel\":\"i\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *set = json_new(a, JSON_OBJECT);
        kueue_topology_request(a, set, parse(arena_printf(a, "{%s}", cases[i][0])), "i");
        assert_true(json_equal(json_get(set, "topologyRequest"), parse(cases[i][1])));
    }
}

static void test_what_checks_add(void **state)
{
    (void)state;
    struct kueue_start s = {.pod_set = "main", .workload = "w", .cluster_queue = "cq", .local_queue = "lq"};
    s.node_labels = parse("{\"gpu\":\"a100\"}");
    s.tolerations = parse("[{\"key\":\"a\"}]");
    kueue_updates_add(a, parse("{\"status\":{\"admissionChecks\":["
                               "{\"name\":\"c\",\"podSetUpdates\":[{\"name\":\"other\",\"labels\":{\"x\":\"y\"}},{\"name\":\"main\","
                               "\"labels\":{\"l\":\"1\"},\"annotations\":{\"n\":\"2\"},\"nodeSelector\":{\"pool\":\"p\"},"
                               "\"tolerations\":[{\"key\":\"a\"},{\"key\":\"b\"}]}]},"
                               "{\"name\":\"d\",\"podSetUpdates\":[{\"name\":\"main\",\"labels\":{\"l\":\"1\"}}]}]}}"), &s);
    assert_null(s.conflict); /* the same twice is no contradiction */
    struct json *template = parse("{\"spec\":{\"tolerations\":[{\"key\":\"b\"}]}}"), *patch = json_new(a, JSON_OBJECT);
    struct err e = {0};
    assert_int_equal(kueue_template_start(a, template, &s, patch, &e), 0);
    patch_merge(a, &template, patch);
    assert_string_equal(object_label(template, "l"), "1");
    assert_string_equal(object_label(template, "x"), "");
    assert_string_equal(object_annotation(template, "n"), "2");
    assert_true(json_equal(json_get(template, "spec"), parse("{\"tolerations\":[{\"key\":\"b\"},{\"key\":\"a\"}],"
                                                            "\"nodeSelector\":{\"gpu\":\"a100\",\"pool\":\"p\"}}")));
    static const struct {
        const char *update, *pod, *why;
    } cases[] = {
        {"\"labels\":{\"l\":\"2\"}", "{}",
         "in admission check \"e\": invalid admission check PodSetUpdate: conflict for labels: conflict for key=l, value1=1, value2=2"},
        {"\"annotations\":{\"n\":\"3\"}", "{}", "conflict for annotations: conflict for key=n, value1=2, value2=3"},
        {"\"nodeSelector\":{\"gpu\":\"t4\"}", "{}", "conflict for nodeSelector: conflict for key=gpu, value1=a100, value2=t4"},
        {"\"labels\":{\"kueue.x-k8s.io/podset\":\"other\"}", "{}", "value1=main, value2=other"},
        {"\"labels\":{\"own\":\"2\"}", "{\"metadata\":{\"labels\":{\"own\":\"1\"}}}", "labels own=1 contradicts 2, which its"},
        {"\"annotations\":{\"own\":\"2\"}", "{\"metadata\":{\"annotations\":{\"own\":\"1\"}}}", "annotations own=1 contradicts 2, which its"},
        {"\"labels\":{\"own\":\"1\"}", "{\"metadata\":{\"labels\":{\"own\":\"1\"}}}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kueue_start one = s;
        one.labels = json_clone(a, s.labels);
        one.annotations = json_clone(a, s.annotations);
        one.node_labels = json_clone(a, s.node_labels);
        const char *check = arena_printf(a, "{\"name\":\"e\",\"podSetUpdates\":[{\"name\":\"main\",%s}]}", cases[i].update);
        kueue_updates_add(a, parse(arena_printf(a, "{\"status\":{\"admissionChecks\":[%s]}}", check)), &one);
        const char *why = kueue_updates_conflict(a, &one, parse(cases[i].pod));
        if (cases[i].why)
            assert_non_null(strstr(why ? why : "", cases[i].why));
        else
            assert_null(why);
    }
}

static void test_contradiction(void **state)
{
    (void)state;
    struct kueue_start s = {.pod_set = "main", .workload = "w", .cluster_queue = "cq", .local_queue = "lq"};
    s.node_labels = parse("{\"gpu\":\"a100\"}");
    s.tolerations = parse("[]");
    struct err e = {0};
    struct json *patch = json_new(a, JSON_OBJECT);
    assert_int_equal(kueue_template_start(a, parse("{\"spec\":{\"nodeSelector\":{\"gpu\":\"t4\"}}}"), &s, patch, &e),
                     -E_CONFLICT);
    assert_string_equal(e.text, "pod set main: nodeSelector gpu=t4 contradicts a100, which its flavors and admission checks give it");
}

static void test_job_pod_sets(void **state)
{
    (void)state;
    const char *why = NULL;
    struct json *job = parse(
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"parallelism\":4,\"completions\":3,\"template\":{\"spec\":{}}}}");
    struct json *sets = kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], job, &why);
    assert_int_equal(sets->n, 1);
    assert_string_equal(json_get_text(json_item(sets, 0), "name", ""), "main");
    assert_int_equal(json_get_int64(json_item(sets, 0), "count", 0), 3);
    assert_null(json_get(json_item(sets, 0), "minCount"));
    job = parse("{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/job-min-parallelism\":\"2\"}},\"spec\":{\"parallelism\":4,"
                "\"completions\":3,\"template\":{}}}");
    sets = kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], job, &why);
    assert_int_equal(json_get_int64(json_first(sets), "minCount", 0), 2);
    job = parse("{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/job-min-parallelism\":\"3\"}},\"spec\":{\"parallelism\":4,"
                "\"completions\":3,\"template\":{}}}"); /* all that run at a time */
    assert_null(json_get(json_item(kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], job, &why), 0), "minCount"));
    assert_null(kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], parse("{\"spec\":{}}"), &why));
    assert_non_null(why);
}

/* Whoever places the pods, in domains that are asked for or in any, is told by which label they are counted. */
static void test_what_is_asked_of_topologies(void **state)
{
    (void)state;
    const char *why = NULL;
    struct json *job = parse("{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/podset-required-topology\":\"rack\"}}}}}");
    struct json *asked = parse("{\"required\":\"rack\",\"podIndexLabel\":\"batch.kubernetes.io/job-completion-index\"}");
    assert_true(json_equal(json_get(json_item(kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], job, &why), 0), "topologyRequest"), asked));
    struct json *plain = kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], parse("{\"spec\":{\"template\":{}}}"), &why);
    asked = parse("{\"podIndexLabel\":\"batch.kubernetes.io/job-completion-index\"}");
    assert_true(json_equal(json_get(json_item(plain, 0), "topologyRequest"), asked));
    struct json *uncounted = kueue_pod_set(a, "driver", 1, parse("{}"), NULL);
    assert_null(json_get(uncounted, "topologyRequest"));
    const struct json *pod = parse("{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/podset-unconstrained-topology\":\"true\"}},\"spec\":{}}");
    asked = parse("{\"unconstrained\":true,\"podIndexLabel\":\"kueue.x-k8s.io/pod-group-pod-index\"}");
    assert_true(json_equal(json_get(kueue_pod_set_of(a, "main", 1, pod), "topologyRequest"), asked));
}

/* What the API server wrote into the template is not asked for, and stays where it is. */
static void test_labels_of_one_job_are_not_its_workloads(void **state)
{
    (void)state;
    static const char given[] = "\"job-name\":\"j\",\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u\","
                                "\"batch.kubernetes.io/controller-uid\":\"u\"";
    const char *why = NULL;
    bool status = false;
    struct json *job = parse(arena_printf(a, "{\"spec\":{\"suspend\":true,\"template\":{\"metadata\":{\"labels\":{\"own\":\"1\",%s}}}}}",
                                          given));
    struct json *sets = kueue_job_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOB], job, &why);
    assert_true(json_equal(json_path(json_item(sets, 0), "template", "metadata", "labels", NULL),
                           parse("{\"own\":\"1\",\"batch.kubernetes.io/job-name\":\"j\"}")));
    struct json *workload = json_new(a, JSON_OBJECT), *patch = json_new(a, JSON_OBJECT), *started = json_clone(a, job);
    json_set(a, json_ensure_object(a, workload, "spec"), "podSets", sets);
    struct kueue_start start = {.pod_set = "main", .workload = "w", .cluster_queue = "c", .local_queue = "l"};
    struct err e = {0};
    assert_int_equal(kueue_job_kind.start(a, &queued_kinds[QUEUED_JOB], job, &start, 1, patch, &e), 0);
    patch_merge(a, &started, patch);
    patch = json_new(a, JSON_OBJECT);
    assert_true(kueue_job_kind.restore(a, &queued_kinds[QUEUED_JOB], started, workload, patch, &status));
    patch_merge(a, &started, patch);
    assert_true(json_equal(json_path(started, "spec", "template", "metadata", "labels", NULL),
                           json_path(job, "spec", "template", "metadata", "labels", NULL)));
}

static void test_a_job_that_has_run_is_rewound(void **state)
{
    (void)state;
    struct json *patch = json_new(a, JSON_OBJECT);
    assert_false(kueue_job_kind.rewind(a, parse("{\"spec\":{\"suspend\":true}}"), patch));
    assert_false(kueue_job_kind.rewind(a, parse("{\"status\":{\"startTime\":null}}"), patch));
    assert_int_equal(patch->n, 0);
    assert_true(kueue_job_kind.rewind(a, parse("{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\"}}"), patch));
    assert_true(json_equal(patch, parse("{\"status\":{\"startTime\":null}}")));
}

static void test_indexes(void **state)
{
    (void)state;
    assert_int_equal(kueue_indexes_n("", 10), 0);
    assert_int_equal(kueue_indexes_n("1,3-5,7", 10), 5);
    assert_int_equal(kueue_indexes_n("1,3-5,7", 5), 3); /* completions were lowered since */
    assert_int_equal(kueue_indexes_n("0-9", 4), 4);
    assert_int_equal(kueue_indexes_n("x", 4), 0);
    assert_int_equal(kueue_indexes_n("2,", 4), 1);
}

static int64_t over(const char *spec, const char *status, int64_t count)
{
    const struct json *job = parse(arena_printf(a, "{\"spec\":{%s},\"status\":{%s}}", spec, status)),
                      *workload = parse(arena_printf(a, "{\"spec\":{\"podSets\":[{\"name\":\"x\",\"count\":%d}]}}", (int)count));
    struct json *found = json_new(a, JSON_OBJECT);
    kueue_job_kind.over(a, job, workload, found);
    return json_get_int64(found, "x", -1);
}

static void test_members_that_are_over(void **state)
{
    (void)state;
    static const char indexed[] = "\"parallelism\":3,\"completions\":3,\"completionMode\":\"Indexed\"";
    assert_int_equal(over("\"parallelism\":3,\"completions\":5", "\"succeeded\":2", 3), 0);
    assert_int_equal(over("\"parallelism\":3,\"completions\":5", "\"succeeded\":4", 3), 2);
    assert_int_equal(over(indexed, "\"succeeded\":0,\"failed\":4", 3), 0); /* pods that failed are made again */
    assert_int_equal(over(indexed, "\"succeeded\":1,\"completedIndexes\":\"0\",\"failedIndexes\":\"1\"", 3), 2);
    assert_int_equal(over(indexed, "\"completedIndexes\":\"0,2\",\"failedIndexes\":\"1\"", 3), 3);
    assert_int_equal(over("\"parallelism\":4", "\"succeeded\":1", 4), 1); /* a work queue */
    assert_int_equal(over("\"parallelism\":3,\"completions\":3", "", 8), 0); /* started with 3 of 8 */
    assert_int_equal(over("\"parallelism\":3,\"completions\":3", "\"succeeded\":1", 8), 6); /* two are left */
}

static void test_lowered_parallelism_is_restored(void **state)
{
    (void)state;
    const struct json *workload = parse("{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":4,\"template\":{}}]}}");
    struct json *job = parse("{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/job-min-parallelism\":\"2\",\"kueue.x-k8s.io/"
                             "job-completions-equal-parallelism\":\"true\"}},\"spec\":{\"parallelism\":2,\"completions\":2,"
                             "\"template\":{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/workload\":\"x\"}}}}}");
    struct json *patch = json_new(a, JSON_OBJECT);
    bool status = false;
    assert_true(kueue_job_kind.restore(a, &queued_kinds[QUEUED_JOB], job, workload, patch, &status));
    assert_false(status);
    patch_merge(a, &job, patch);
    assert_int_equal(json_get_int64(json_get(job, "spec"), "parallelism", 0), 4);
    assert_int_equal(json_get_int64(json_get(job, "spec"), "completions", 0), 4);
    assert_false(kueue_job_kind.restore(a, &queued_kinds[QUEUED_JOB], job, workload, json_new(a, JSON_OBJECT), &status));
}

/* Starts `job` with `granted` pods and says what it is started with, and again what it is when that was undone. */
static const struct json *started_and_stopped(const char *job_text, int64_t granted, const char *changed, const struct json **ret_started)
{
    struct kueue_start s = {.pod_set = "main", .workload = "x", .cluster_queue = "q", .local_queue = "l", .count = granted};
    const struct json *workload = parse("{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":6,\"template\":{}}]}}");
    struct json *job = parse(job_text), *patch = json_new(a, JSON_OBJECT);
    struct err e = {0};
    bool status = false;
    assert_int_equal(kueue_job_kind.start(a, &queued_kinds[QUEUED_JOB], job, &s, 1, patch, &e), 0);
    patch_merge(a, &job, patch);
    *ret_started = json_clone(a, json_get(job, "spec"));
    patch_merge(a, &job, parse(changed));
    patch = json_new(a, JSON_OBJECT);
    assert_true(kueue_job_kind.restore(a, &queued_kinds[QUEUED_JOB], job, workload, patch, &status));
    patch_merge(a, &job, patch);
    assert_string_equal(object_annotation(job, "capstan.dev/asked-parallelism"), "");
    return json_get(job, "spec");
}

static void test_a_job_is_again_what_it_was_before_it_started_with_fewer(void **state)
{
    (void)state;
    static const struct {
        const char *annotations, *spec, *changed;
        int64_t granted, parallelism, completions, restored, restored_completions; /* completions 0: none */
        int64_t succeeded;
    } cases[] = {
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\"", "\"parallelism\":8,\"completions\":8", "{}", 4, 4, 8, 8, 8},
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\"", "\"parallelism\":10,\"completions\":6", "{}", 4, 4, 6, 10,
         6}, /* 6 pods at a time */
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\"", "\"parallelism\":10,\"completions\":6", "{}", 6, 10, 6, 10, 6}, /* all of them */
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\",\"kueue.x-k8s.io/job-completions-equal-parallelism\":\"true\"",
         "\"parallelism\":8,\"completions\":8", "{}", 3, 3, 3, 8, 8},
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\",\"kueue.x-k8s.io/job-completions-equal-parallelism\":\"true\"", "\"parallelism\":8",
         "{}", 3, 3, 3, 8, 0},
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\"", "\"parallelism\":8,\"completions\":8", "{\"spec\":{\"parallelism\":5}}", 4, 4, 8,
         5, 8},
        {"", "\"parallelism\":8,\"completions\":8", "{}", 4, 8, 8, 8, 8, 0}, /* it does not allow it */
        /* all that are left */
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\"", "\"parallelism\":8,\"completions\":8", "{}", 1, 8, 8, 8, 8, 7},
        {"\"kueue.x-k8s.io/job-min-parallelism\":\"2\"", "\"parallelism\":8,\"completions\":8", "{}", 2, 2, 8, 8, 8, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json *started, *stopped = started_and_stopped(
            arena_printf(a, "{\"metadata\":{\"annotations\":{%s}},\"spec\":{%s,\"template\":{}},\"status\":{\"succeeded\":%d}}",
                         cases[i].annotations, cases[i].spec, (int)cases[i].succeeded),
            cases[i].granted, cases[i].changed, &started);
        assert_int_equal(json_get_int64(started, "parallelism", 0), cases[i].parallelism);
        assert_int_equal(json_get_int64(started, "completions", 0), cases[i].completions);
        assert_int_equal(json_get_int64(stopped, "parallelism", 0), cases[i].restored);
        assert_int_equal(json_get_int64(stopped, "completions", 0), cases[i].restored_completions);
    }
}

/* The places of pods that have succeeded are kept for others to come where the job says when none comes any more, and only there. */
static void test_who_says_what_is_over(void **state)
{
    static const struct kueue_kind *const calls[QUEUED_KINDS_N] = {
        &kueue_job_kind,     &kueue_trainjob_kind, &kueue_jobset_kind,  &kueue_kubeflow_kind, &kueue_kubeflow_kind, &kueue_kubeflow_kind,
        &kueue_kubeflow_kind, &kueue_kubeflow_kind, &kueue_kubeflow_kind, &kueue_rayjob_kind,   &kueue_raycluster_kind,
        &kueue_rayservice_kind, &kueue_sparkapplication_kind};
    (void)state;
    for (int i = 0; i < QUEUED_KINDS_N; i++)
        assert_int_equal(queued_kinds[i].reclaims, calls[i]->over != NULL);
}

static void test_role(void **state)
{
    (void)state;
    /* SOURCE Kueue's webhook gives this name to a pod of one container with an empty list of requests. */
    assert_string_equal(kueue_role(a, parse("{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"pause\","
                                            "\"resources\":{\"requests\":{}}}]}}")),
                        "a9f06f3a");
    assert_string_equal(kueue_role(a, parse("{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/role-hash\":\"driver\"}}}")),
                        "driver");
    assert_string_not_equal(kueue_role(a, parse("{\"spec\":{\"containers\":[{}],\"priority\":1}}")),
                            kueue_role(a, parse("{\"spec\":{\"containers\":[{}]}}")));
    assert_string_equal(kueue_role(a, parse("{\"spec\":{\"containers\":[{\"image\":\"x\"}],\"nodeName\":\"y\"}}")),
                        kueue_role(a, parse("{\"spec\":{\"containers\":[{}]}}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_name), cmocka_unit_test(test_start_and_restore),
                                       cmocka_unit_test(test_what_a_topology_request_leaves_out),
                                       cmocka_unit_test(test_what_checks_add), cmocka_unit_test(test_contradiction),
                                       cmocka_unit_test(test_what_is_asked_of_topologies),
                                       cmocka_unit_test(test_job_pod_sets),
                                       cmocka_unit_test(test_labels_of_one_job_are_not_its_workloads),
        cmocka_unit_test(test_a_job_that_has_run_is_rewound), cmocka_unit_test(test_indexes),
                                       cmocka_unit_test(test_members_that_are_over),
                                       cmocka_unit_test(test_lowered_parallelism_is_restored),
                                       cmocka_unit_test(test_a_job_is_again_what_it_was_before_it_started_with_fewer),
                                       cmocka_unit_test(test_who_says_what_is_over), cmocka_unit_test(test_role)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
