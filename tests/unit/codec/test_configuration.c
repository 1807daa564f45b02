/* Kueue's Configuration: files in, what counts and what is said out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/limits.h"
#include "codec/configuration/configuration_part.h"
#include "codec/kinds/queued_kinds.h"

#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define V1 "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"

struct reading {
    struct arena *a;
    struct configuration c;
    struct buf warnings, problems;
    int r;
};

static struct reading read_text_n(const char *text, size_t n)
{
    struct reading x = {.a = arena_new()};
    x.r = configuration_parse(x.a, (struct bytes){text, n}, &x.c, &x.warnings, &x.problems);
    assert_int_equal(x.r == 0, x.problems.n == 0);
    return x;
}

static struct reading read_text(const char *text)
{
    return read_text_n(text, strlen(text));
}

static void reading_free(struct reading *x)
{
    buf_free(&x->warnings);
    buf_free(&x->problems);
    arena_free(x->a);
}

/* ---- what counts ---- */

static void expect_ready(const char *text, struct ready_policy want)
{
    struct reading x = read_text(text);
    const struct ready_policy *is = &x.c.policy.ready;
    if (x.r < 0)
        fail_msg("%s: %s", text, x.problems.data);
    assert_int_equal(is->timeout_ms, want.timeout_ms);
    assert_int_equal(is->recovery_ms, want.recovery_ms);
    assert_int_equal(is->block_admission, want.block_admission);
    assert_int_equal(is->requeue_by_creation, want.requeue_by_creation);
    assert_int_equal(is->retries_most, want.retries_most);
    assert_int_equal(is->backoff_ms, want.backoff_ms);
    assert_int_equal(is->backoff_most_ms, want.backoff_most_ms);
    reading_free(&x);
}

static void expect_metrics(const char *text, bool is_chosen, const char *selector)
{
    struct reading x = read_text(text);
    struct buf out = {0};
    if (x.r < 0)
        fail_msg("%s: %s", text, x.problems.data);
    assert_int_equal(x.c.metrics.chosen, is_chosen);
    if (x.c.metrics.local_queues)
        json_write(&out, x.c.metrics.local_queues);
    buf_char(&out, '\0');
    assert_string_equal(out.data, selector);
    buf_free(&out);
    reading_free(&x);
}

static void series_of_local_queues(void **unused)
{
    (void)unused;
    expect_metrics(V2, false, "");
    expect_metrics(V2 "metrics: {bindAddress: \":1\"}\n", false, "");
    expect_metrics(V2 "metrics: {localQueueMetrics: {}}\n", true, "");
    expect_metrics(V2 "metrics: {localQueueMetrics: {localQueueSelector: {matchLabels: {a: b}}}}\n", true, "");
    expect_metrics(V2 "metrics: {localQueueMetrics: {enable: true}}\n", true, "{}");
    expect_metrics(V2 "metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: b}}}}\n", true,
                   "{\"matchLabels\":{\"a\":\"b\"}}");
}

static void pods_ready(void **unused)
{
    (void)unused;
    struct configuration without;
    configuration_default(&without);
    const struct ready_policy off = {0}, on = without.policy.ready;
    struct ready_policy five = {300000, 300000, false, false, -1, 60000, 3600000}, blocks = on;
    blocks.block_admission = true;
    assert_int_equal(on.timeout_ms, 1800000);
    expect_ready(V2, on);
    expect_ready(V2 "waitForPodsReady: null\n", on);
    expect_ready(V2 "waitForPodsReady: {timeout: 0s}\n", on);
    expect_ready(V2 "waitForPodsReady: {timeout: 5m}\n", five);
    five.recovery_ms = 0;
    expect_ready(V2 "waitForPodsReady: {timeout: 5m, recoveryTimeout: 0s}\n", five);
    expect_ready(V2 "waitForPodsReady: {timeout: 1h30m, recoveryTimeout: 3s, blockAdmission: true, requeuingStrategy: {timestamp: Creation,\n"
                    "  backoffLimitCount: 0, backoffBaseSeconds: 1, backoffMaxSeconds: 7}}\n",
                 (struct ready_policy){5400000, 3000, true, true, 0, 1000, 7000});
    expect_ready(V2 "waitForPodsReady: {requeuingStrategy: {timestamp: Eviction, backoffLimitCount: null}}\n", on);
    expect_ready(V2 "featureGates: {DisableWaitForPodsReady: true}\n", off);
    expect_ready(V2 "featureGates: {DisableWaitForPodsReady: false}\n", on);
    expect_ready(V1, off);
    expect_ready(V1 "waitForPodsReady: {timeout: 5m}\n", off);
    expect_ready(V1 "waitForPodsReady: {enable: false, timeout: 5m}\n", off);
    expect_ready(V1 "waitForPodsReady: {enable: true}\n", blocks);
    expect_ready(V1 "waitForPodsReady: {enable: true, blockAdmission: false}\n", on);
}

static void fair_sharing(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        struct fair_policy want;
    } rows[] = {
        {V2, {false, {0, 0}, 0}},
        {V2 "fairSharing: null\n", {false, {0, 0}, 0}},
        {V2 "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n", {true, {FAIR_LESS_THAN_INITIAL_SHARE, 0}, 1}},
        {V2 "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n", {true, {FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, 0}, 1}},
        {V2 "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n",
         {true, {FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FAIR_LESS_THAN_INITIAL_SHARE}, 2}},
        {V1 "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n", {false, {0, 0}, 0}},
        {V1 "fairSharing: {enable: true}\n", {true, {FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FAIR_LESS_THAN_INITIAL_SHARE}, 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reading x = read_text(rows[i].text);
        const struct fair_policy *is = &x.c.policy.fair;
        if (x.r < 0 || is->on != rows[i].want.on || is->strategies_n != rows[i].want.strategies_n ||
            is->strategies[0] != rows[i].want.strategies[0] || is->strategies[1] != rows[i].want.strategies[1])
            fail_msg("%s: %s", rows[i].text, x.problems.n ? x.problems.data : "other strategies");
        reading_free(&x);
    }
}

static void admission_fair_sharing(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool on;
        int64_t half_life_ms, sampling_ms;
        uint32_t weights_n;
    } rows[] = {
        {V2, false, 0, 0, 0},
        {V2 "admissionFairSharing: null\n", false, 0, 0, 0},
        {V2 "admissionFairSharing: {}\n", true, 0, 300000, 0},
        {V1 "admissionFairSharing: {usageHalfLifeTime: 168h}\n", true, 604800000, 300000, 0},
        {V2 "admissionFairSharing: {usageHalfLifeTime: 1h30m, usageSamplingInterval: 0s}\n", true, 5400000, 300000, 0},
        {V2 "admissionFairSharing: {usageSamplingInterval: 90s, resourceWeights: {cpu: 0.5, nvidia.com/gpu: 1000, memory: 0}}\n",
         true, 0, 90000, 3},
        {V2 "admissionFairSharing: {usageHalfLifeTime: 1h}\nfeatureGates: {AdmissionFairSharing: false}\n", false, 0, 0, 0},
        {V2 "admissionFairSharing: {usageHalfLifeTime: 1h}\nfeatureGates: {AdmissionFairSharing: true}\n", true, 3600000, 300000, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reading x = read_text(rows[i].text);
        const struct consumption_policy *is = &x.c.policy.consumption;
        if (x.r < 0 || x.warnings.n || is->on != rows[i].on || is->half_life_ms != rows[i].half_life_ms ||
            is->sampling_ms != rows[i].sampling_ms || is->weights_n != rows[i].weights_n)
            fail_msg("%s: %s", rows[i].text, x.problems.n ? x.problems.data : "something else was read");
        reading_free(&x);
    }
    struct reading x = read_text(rows[5].text);
    const struct resource_weight *weights = x.c.policy.consumption.weights;
    assert_string_equal(weights[0].resource, "cpu");
    assert_int_equal(weights[0].weight_nano, 500000000);
    assert_int_equal(weights[1].weight_nano, INT64_C(1000000000000));
    assert_int_equal(weights[2].weight_nano, 0);
    reading_free(&x);
}

static void others(void **unused)
{
    (void)unused;
    struct reading x = read_text(V2 "leaderElection: {leaderElect: false, resourceNamespace: here}\n"
                                    "integrations: {frameworks: [batch/job, pod]}\n");
    assert_int_equal(x.c.leader_elect, CONFIGURATION_OFF);
    assert_string_equal(x.c.lease_namespace, "here");
    assert_true(x.c.frameworks_given && x.c.unqueued == (((1u << QUEUED_KINDS_N) - 1) & ~(1u << QUEUED_JOB)) && !x.c.no_pods);
    reading_free(&x);
    x = read_text(V2);
    assert_int_equal(x.c.leader_elect, CONFIGURATION_UNSET);
    assert_true(!x.c.frameworks_given && !x.c.unqueued && !x.c.no_pods);
    assert_int_equal(x.warnings.n, 0);
    reading_free(&x);
}

static void workloads(void **unused)
{
    (void)unused;
    struct reading x = read_text(V2 "integrations: {labelKeysToCopy: [team, example.com/cost]}\n");
    assert_int_equal(x.c.workloads.labels_n, 2);
    assert_string_equal(x.c.workloads.labels[1], "example.com/cost");
    assert_int_equal(x.warnings.n, 0);
    reading_free(&x);
    x = read_text(V2 "integrations: {labelKeysToCopy: null}\nobjectRetentionPolicies: {workloads: null}\n");
    assert_int_equal(x.c.workloads.labels_n, 0);
    assert_true(!x.c.workloads.finished.ends && !x.c.workloads.deactivated.ends);
    reading_free(&x);
    x = read_text(V1 "objectRetentionPolicies: {workloads: {afterFinished: 0s, afterDeactivatedByKueue: 1h}}\n");
    assert_true(x.c.workloads.finished.ends && x.c.workloads.deactivated.ends);
    assert_int_equal(x.c.workloads.finished.after_ms, 0);
    assert_int_equal(x.c.workloads.deactivated.after_ms, 3600000);
    assert_false(x.c.charge.ignores_undeclared);
    assert_int_equal(x.warnings.n, 0);
    reading_free(&x);
}

/* The selector as text, "" for none. */
static void expect_namespaces(const char *text, const char *want)
{
    struct reading x = read_text(text);
    _cleanup_buf_ struct buf is = {0};
    if (x.c.workloads.namespaces)
        json_write(&is, x.c.workloads.namespaces);
    if (x.r < 0 || strcmp(is.n ? is.data : "", want) != 0)
        fail_msg("%s: %s", text, x.problems.n ? x.problems.data : is.n ? is.data : "none");
    reading_free(&x);
}

static void jobs_without_a_queue(void **unused)
{
    (void)unused;
#define NOT_IN(a, b) "{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\",\"values\":[\"" a "\",\"" b "\"]}]}"
    expect_namespaces(V2, "");
    expect_namespaces(V2 "manageJobsWithoutQueueName: true\n", NOT_IN("kube-system", "kueue-system"));
    expect_namespaces(V2 "manageJobsWithoutQueueName: true\nnamespace: mine\n", NOT_IN("kube-system", "mine"));
    expect_namespaces(V2 "managedJobsNamespaceSelector: {matchLabels: {team: a}}\n", "{\"matchLabels\":{\"team\":\"a\"}}");
    struct reading x = read_text(V2 "manageJobsWithoutQueueName: true\nintegrations: {frameworks: [batch/job]}\n");
    assert_true(x.c.workloads.all_jobs);
    assert_string_equal(x.warnings.data, "manageJobsWithoutQueueName: pods that name no queue are not held, only jobs are\n");
    reading_free(&x);
    x = read_text(V2 "manageJobsWithoutQueueName: false\n");
    assert_true(!x.c.workloads.all_jobs && x.warnings.n == 0);
    reading_free(&x);
}

static void failed_nodes(void **unused)
{
    (void)unused;
    static const char *const texts[] = {V2, V2 "featureGates: {TASFailedNodeReplacement: true, TASFailedNodeReplacementFailFast: true}\n",
                                        V2 "featureGates: {TASFailedNodeReplacementFailFast: false}\n",
                                        V2 "featureGates: {TASFailedNodeReplacement: false}\n"};
    for (int i = 0; i < 4; i++) {
        struct reading x = read_text(texts[i]);
        assert_int_equal(x.r, 0);
        assert_int_equal(x.warnings.n, 0);
        assert_int_equal(x.c.policy.lost.patient, i == 2);
        assert_int_equal(x.c.policy.lost.off, i == 3);
        reading_free(&x);
    }
}

static void node_wishes(void **unused)
{
    (void)unused;
    static const char *const texts[] = {V2, V2 "featureGates: {TASRespectNodeAffinityPreferred: false}\n",
                                        V2 "featureGates: {TASRespectNodeAffinityPreferred: true}\n"};
    for (int i = 0; i < 3; i++) {
        struct reading x = read_text(texts[i]);
        assert_int_equal(x.r, 0);
        assert_int_equal(x.warnings.n, 0);
        assert_int_equal(x.c.policy.node_wishes, i == 2);
        reading_free(&x);
    }
}

static void explicit_status(void **unused)
{
    (void)unused;
    static const char *const texts[] = {V2, V2 "featureGates: {UnadmittedWorkloadsExplicitStatus: false}\n",
                                        V2 "featureGates: {UnadmittedWorkloadsExplicitStatus: true}\n"};
    for (int i = 0; i < 3; i++) {
        struct reading x = read_text(texts[i]);
        assert_int_equal(x.r, 0);
        assert_int_equal(x.warnings.n, 0);
        assert_int_equal(x.c.policy.explicit_status, i == 2);
        reading_free(&x);
    }
}

static void reclaimable(void **unused)
{
    (void)unused;
    static const char *const texts[] = {V2, V2 "featureGates: {ReclaimablePods: true}\n", V2 "featureGates: {ReclaimablePods: false}\n"};
    for (int i = 0; i < 3; i++) {
        struct reading x = read_text(texts[i]);
        assert_int_equal(x.r, 0);
        assert_int_equal(x.warnings.n, 0);
        assert_int_equal(x.c.charge.counts_reclaimable, i == 2);
        assert_int_equal(x.c.workloads.hides_reclaimable, i == 2);
        reading_free(&x);
    }
}

static void undeclared(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool ignored;
    } rows[] = {{V2 "resources: {quotaCheckStrategy: IgnoreUndeclared}\n", true},
                {V2 "resources: {quotaCheckStrategy: BlockUndeclared}\n", false},
                {V2 "resources: {quotaCheckStrategy: IgnoreUndeclared}\nfeatureGates: {QuotaCheckStrategy: true}\n", true},
                {V2 "resources: {quotaCheckStrategy: IgnoreUndeclared}\nfeatureGates: {QuotaCheckStrategy: false}\n", false},
                {V2 "resources: {}\n", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reading x = read_text(rows[i].text);
        if (x.r < 0 || x.warnings.n || x.c.charge.ignores_undeclared != rows[i].ignored)
            fail_msg("%s: %s", rows[i].text, x.problems.n ? x.problems.data : x.warnings.n ? x.warnings.data : "read otherwise");
        reading_free(&x);
    }
}

/* A ConfigMap, and a manifest with other documents around it. */
static void carried(void **unused)
{
    (void)unused;
    static const char inside[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kueue-manager-config}\ndata:\n"
                                 "  controller_manager_config.yaml: |\n    apiVersion: config.kueue.x-k8s.io/v1beta2\n    kind: Configuration\n"
                                 "    waitForPodsReady: {timeout: 7s}\n";
    static const char other[] = "apiVersion: v1\nkind: ConfigMap\ndata: {a: b, c: d}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n";
    struct reading x = read_text(inside);
    assert_int_equal(x.c.policy.ready.timeout_ms, 7000);
    reading_free(&x);
    _cleanup_buf_ struct buf both = {0};
    buf_printf(&both, "%s%s", other, inside);
    x = read_text(both.data);
    assert_int_equal(x.c.policy.ready.timeout_ms, 7000);
    reading_free(&x);
}

/* ---- what is said ---- */

static const struct {
    const char *text, *want; /* want: stands among the problems */
} wrong[] = {
    {"", "file: holds no document of kind Configuration"},
    {"- a\n", "file: is no map"},
    {"a: [\n", "file: line 2"},
    {"kind: Configuration\n", "apiVersion: \"\" is none that is read here: write config.kueue.x-k8s.io/v1beta2"},
    {"apiVersion: config.kueue.x-k8s.io/v1\nkind: Configuration\n", "apiVersion: \"config.kueue.x-k8s.io/v1\" is none"},
    {"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Config\n", "kind: \"Config\" is not what is read here: write Configuration"},
    {V2 "---\n" V2, "file: holds 2 documents"},
    {V2 "namespace: a\nnamespace: b\n", "namespace: stands there twice, again in line 4"},
    {V2 "waitForPodReady: {}\n", "waitForPodReady: no such field: write waitForPodsReady"},
    {V2 "foo: 1\n", "foo: no such field: there are apiVersion, kind, "},
    {V2 "waitForPodsReady: {timeOut: 5m}\n", "waitForPodsReady.timeOut: no such field: write timeout"},
    {V2 "waitForPodsReady: 5m\n", "waitForPodsReady: \"5m\" is no map"},
    {V2 "waitForPodsReady: {enable: true}\n", "waitForPodsReady.enable: is a field of config.kueue.x-k8s.io/v1beta1"},
    {V1 "visibilityServer: {}\n", "visibilityServer: is a field of config.kueue.x-k8s.io/v1beta2"},
    {V2 "waitForPodsReady: {timeout: 5}\n", "waitForPodsReady.timeout: 5 is no duration: write a number with a unit"},
    {V2 "waitForPodsReady: {timeout: 5 minutes}\n", "waitForPodsReady.timeout: \"5 minutes\" is no duration"},
    {V2 "waitForPodsReady: {timeout: -5m}\n", "waitForPodsReady.timeout: \"-5m\" is below zero"},
    {V2 "waitForPodsReady: {recoveryTimeout: -1s}\n", "waitForPodsReady.recoveryTimeout: \"-1s\" is below zero"},
    {V2 "waitForPodsReady: {blockAdmission: \"true\"}\n", "waitForPodsReady.blockAdmission: \"true\" is neither true nor false"},
    {V2 "waitForPodsReady: {requeuingStrategy: {timestamp: eviction}}\n", "timestamp: \"eviction\" is unknown: write Eviction or Creation"},
    {V2 "waitForPodsReady: {requeuingStrategy: {timestamp: true}}\n", "timestamp: true is no text: write Eviction or Creation"},
    {V2 "waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}\n", "backoffLimitCount: -1 is no whole number from 0"},
    {V2 "waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: 1.5}}\n", "backoffBaseSeconds: 1.5 is no whole number"},
    {V2 "waitForPodsReady: {requeuingStrategy: {backoffMaxSeconds: 9999999999}}\n", "backoffMaxSeconds: 9999999999 is no whole number"},
    {V2 "fairSharing: {}\n", "fairSharing.preemptionStrategies: write [LessThanOrEqualToFinalShare]"},
    {V2 "fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}\n", "fairSharing.preemptionStrategies: write"},
    {V2 "fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanInitialShare]}\n", "fairSharing.preemptionStrategies: write"},
    {V2 "fairSharing: {preemptionStrategies: [More]}\n", "preemptionStrategies[0]: \"More\" is unknown"},
    {V2 "admissionFairSharing: {usageHalfLifeTime: -1h}\n", "admissionFairSharing.usageHalfLifeTime: \"-1h\" is below zero"},
    {V2 "admissionFairSharing: {usageSamplingInterval: 5}\n", "admissionFairSharing.usageSamplingInterval: 5 is no duration"},
    {V2 "admissionFairSharing: {resourceWeights: {cpu: -1}}\n", "admissionFairSharing.resourceWeights[cpu]: is below zero"},
    {V2 "admissionFairSharing: {resourceWeights: {cpu: much}}\n", "admissionFairSharing.resourceWeights[cpu]: \"much\""},
    {V2 "integrations: {frameworks: [batch/jobs]}\n", "integrations.frameworks[0]: \"batch/jobs\" is unknown: write batch/job, "},
    {V2 "integrations: {frameworks: pod}\n", "integrations.frameworks: \"pod\" is no list: write [\"pod\"]"},
    {V2 "resources: {quotaCheckStrategy: Ignore}\n", "resources.quotaCheckStrategy: \"Ignore\" is unknown: write BlockUndeclared or IgnoreUndeclared"},
    {V2 "resources: {transformations: [{outputs: {a: 1}}]}\n", "resources.transformations[0].input: is missing"},
    {V2 "resources: {transformations: [{input: a}, {input: b}, {input: a}]}\n", "transformations[2].input: \"a\" was transformed above already"},
    {V2 "resources: {transformations: [{input: a, outputs: {b: 5Gb}}]}\n", "transformations[0].outputs[b]: \"5Gb\" is no quantity"},
    {V2 "resources: {transformations: {input: a}}\n", "resources.transformations: {\"input\":\"a\"} is no list"},
    {V2 "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}\n", "does not go with quotaCheckStrategy"},
    {V2 "resources: {transformations: {a: {input: a}, b: {input: b}, c: {input: c}, d: {input: d}}}\n", "resources.transformations: "},
    {V2 "resources: {transformations: [{input: a, outputs: [1, 2, 3, 4, 5, 6, 7, 8]}]}\n", "outputs: [1,2,3,4,5,6,7,8] is no map"},
    {V2 "resources: {excludeResourcePrefixes: {a: b, c: d, e: f}}\n", "resources.excludeResourcePrefixes: "},
    {V2 "integrations: {labelKeysToCopy: {a: b, c: d, e: f}}\n", "integrations.labelKeysToCopy: "},
    {V2 "integrations: {labelKeysToCopy: [1]}\n", "integrations.labelKeysToCopy[0]: 1 is no text"},
    {V2 "managedJobsNamespaceSelector: {matchLabels: [a, b]}\n", "managedJobsNamespaceSelector.matchLabels: [\"a\",\"b\"] is no map of labels"},
    {V2 "managedJobsNamespaceSelector: [a]\n", "managedJobsNamespaceSelector: [\"a\"] is no label selector"},
    {V2 "objectRetentionPolicies: {workloads: {afterFinished: 5}}\n", "afterFinished: 5 is no duration"},
    {V2 "featureGates: {PartialAdmision: true}\n", "featureGates[PartialAdmision]: Kueue has no such feature gate: write PartialAdmission"},
    {V2 "featureGates: {Flux: true}\n", "featureGates[Flux]: Kueue has no such feature gate: leave it out"},
    {V2 "featureGates: {PartialAdmission: \"no\"}\n", "featureGates[PartialAdmission]: \"no\" is neither true nor false"},
    {V2 "featureGates: [a]\n", "featureGates: [\"a\"] is no map"},
    {V2 "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}\n", "operator: \"Is\" is unknown: write In, NotIn, "},
    {V2 "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: In}]}\n", "values: In needs a list"},
    {V2 "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}\n", "values: Exists takes none"},
    {V2 "managedJobsNamespaceSelector: {matchExpressions: [{operator: Exists}]}\n", "matchExpressions[0]: has no key"},
    {V2 "managedJobsNamespaceSelector: {matchLabels: {a: 1}}\n", "matchLabels[a]: 1 is no text"},
    {V2 "managedJobsNamespaceSelector: {}\n", "managedJobsNamespaceSelector: selects namespace kube-system: add {key: kubernetes.io/metadata.name, "},
    {V2 "namespace: a\nmanagedJobsNamespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}\n",
     "managedJobsNamespaceSelector: selects namespace a: add "},
    {V2 "managedJobsNamespaceSelector: {matchLabel: {}}\n", "matchLabel: no such field"},
    {"apiVersion: v1\nkind: ConfigMap\ndata: {a: \"kind: x\"}\n", "kind: \"ConfigMap\" is not what is read here"},
};

static void wrong_is_refused(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct reading x = read_text(wrong[i].text);
        if (x.r == 0 || !strstr(x.problems.data, wrong[i].want))
            fail_msg("%s\nwanted: %s\nsaid: %s", wrong[i].text, wrong[i].want, x.problems.n ? x.problems.data : "nothing");
        reading_free(&x);
    }
}

static const struct {
    const char *text, *want; /* want: the warnings, whole */
} unused_fields[] = {
    {V2 "metrics: {bindAddress: \":8443\", localQueueMetrics: {enable: true}}\n",
     "metrics.bindAddress does nothing: --address of capstan scheduler says where metrics and probes are served\n"},
    {V2 "metrics: {enableClusterQueueResources: false}\n", "metrics.enableClusterQueueResources does nothing: they are always served\n"},
    {V2 "webhook: {port: 9443, host: a}\n", "webhook does nothing: Capstan has no webhook server: it needs none\n"},
    {V2 "leaderElection: {leaderElect: true, resourceName: a}\n",
     "leaderElection.resourceName does nothing: Capstan elects its leader by the Lease capstan-scheduler, with times of its own\n"},
    {V2 "webhook: null\nmultiKueue: null\n", ""},
    {V2 "integrations: {frameworks: [pod, workload.codeflare.dev/appwrapper, deployment]}\n",
     "integrations.frameworks: workload.codeflare.dev/appwrapper: nothing is done for them: docs/compatibility.md has the kinds that are queued\n"},
    {V2 "featureGates: {PartialAdmission: true, TopologyAwareScheduling: true, DisableWaitForPodsReady: true}\n", ""},
    {V2 "featureGates: {PartialAdmission: false}\n", "featureGates[PartialAdmission] does nothing: Capstan does this always\n"},
    {V2 "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n", ""},
    {V2 "featureGates: {MultiKueue: true}\n", "featureGates[MultiKueue] does nothing: Capstan does not do this yet\n"},
    {V2 "featureGates: {TASCacheTopologyTree: true}\n",
     "featureGates[TASCacheTopologyTree] does nothing: it switches a part of Kueue's own program\n"},
    {V1 "queueVisibility: {updateIntervalSeconds: 5}\n", "queueVisibility does nothing: Kueue has dropped it: ask the visibility API\n"},
};

static void unused_is_said(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof unused_fields / sizeof *unused_fields; i++) {
        struct reading x = read_text(unused_fields[i].text);
        const char *is = x.warnings.n ? x.warnings.data : "";
        if (x.r < 0 || strcmp(is, unused_fields[i].want) != 0)
            fail_msg("%s\nwanted: %s\nsaid: %s%s", unused_fields[i].text, unused_fields[i].want, is, x.problems.n ? x.problems.data : "");
        reading_free(&x);
    }
}

/* Each row has one above it that holds it, and each path stands there once. */
static void table_is_sound(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < configuration_fields_n; i++) {
        const struct configuration_field *f = &configuration_fields[i];
        const char *dot = strrchr(f->path, '.');
        size_t n = dot ? (size_t)(dot - f->path) : 0, found = !dot;
        bool list = n > 2 && strncmp(f->path + n - 2, "[]", 2) == 0;
        n -= list ? 2 : 0;
        for (uint32_t k = 0; k < configuration_fields_n; k++) {
            const struct configuration_field *other = &configuration_fields[k];
            if (k != i && strcmp(f->path, other->path) == 0)
                fail_msg("%s stands there twice", f->path);
            if (strlen(other->path) == n && strncmp(f->path, other->path, n) == 0 && other->form == (list ? FORM_OBJECTS : FORM_OBJECT) &&
                (f->versions & other->versions) == f->versions)
                found = 1;
        }
        if (!found)
            fail_msg("%s hangs in the air", f->path);
        assert_true((f->form != FORM_WORD) == !f->words || f->form == FORM_TEXTS);
    }
    for (uint32_t i = 1; i < configuration_gates_n; i++)
        assert_true(strcmp(configuration_gates[i - 1].name, configuration_gates[i].name) < 0);
}

static void hostile(void **unused)
{
    (void)unused;
    _cleanup_buf_ struct buf text = {0};
    for (uint32_t i = 0; i < 2 * LIMIT_JSON_DEPTH; i++)
        buf_printf(&text, "[");
    struct reading x = read_text_n(text.data, text.n);
    assert_true(x.r < 0);
    reading_free(&x);
    buf_clear(&text);
    buf_printf(&text, V2 "featureGates:\n");
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "  Gate%d: true\n", i);
    x = read_text_n(text.data, text.n);
    assert_non_null(strstr(x.problems.data, "and 4980 more problems\n"));
    reading_free(&x);
    buf_clear(&text);
    buf_printf(&text, V2 "namespace: ");
    while (text.n <= CONFIGURATION_MAX_BYTES)
        buf_printf(&text, "aaaaaaaaaaaaaaaa");
    x = read_text_n(text.data, text.n);
    assert_string_equal(x.problems.data, "file: is larger than 1048576 bytes\n");
    reading_free(&x);
    x = read_text(V2 "waitForPodsReady: {timeout: \"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}\n");
    assert_non_null(strstr(x.problems.data, "\xc3\xa9... is no duration"));
    reading_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_ready),       cmocka_unit_test(fair_sharing),
        cmocka_unit_test(admission_fair_sharing),   cmocka_unit_test(others),         cmocka_unit_test(carried),
        cmocka_unit_test(wrong_is_refused), cmocka_unit_test(unused_is_said), cmocka_unit_test(table_is_sound), cmocka_unit_test(hostile),
        cmocka_unit_test(workloads),        cmocka_unit_test(reclaimable),
        cmocka_unit_test(undeclared), cmocka_unit_test(explicit_status), cmocka_unit_test(failed_nodes),
        cmocka_unit_test(node_wishes),      cmocka_unit_test(jobs_without_a_queue), cmocka_unit_test(series_of_local_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
