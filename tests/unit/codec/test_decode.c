/* Decoders: API objects become core records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "decoder_world.h"

static const char *name(const struct world *w, name_id id)
{
    return intern_name(w->names, id);
}

static int64_t amount(struct world *w, const struct amount *list, uint32_t n, const char *resource)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(name(w, list[i].resource), resource))
            return list[i].value;
    return -1;
}

static const char pod_text[] =
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"w-0\",\"namespace\":\"ml\",\"uid\":\"u-1\",\"creationTimestamp\":\"2026-01-01T00:00:01Z\","
    "\"labels\":{\"app\":\"a\\u0062c\",\"kueue.x-k8s.io/podset\":\"main\"},"
    "\"annotations\":{\"x\":\"{\\\"deep\\\": [1]}\",\"kueue.x-k8s.io/workload\":\"job-j-1\",\"capstan.dev/devices\":\"nvidia.com/gpu=0,3\"}},"
    "\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"volcano\",\"priority\":7,\"hostNetwork\":true,"
    "\"nodeSelector\":{\"gpu\":\"a100\"},"
    "\"tolerations\":[{\"operator\":\"Exists\"},{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoExecute\"},{\"key\":\"k\",\"effect\":\"Odd\"}],"
    "\"initContainers\":[{\"name\":\"side\",\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}},"
    "{\"name\":\"init\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}],"
    "\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":29500}],\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\",\"memory\":\"1Gi\"},"
    "\"requests\":{\"cpu\":\"500m\"}}},{\"name\":\"b\",\"resources\":{\"requests\":{\"cpu\":1,\"memory\":\"1Gi\"}}}],"
    "\"overhead\":{\"memory\":\"1Mi\"}},\"status\":{\"conditions\":[],\"phase\":\"Running\"}}";

static void decodes_a_pod(void **state)
{
    struct world *w = *state;
    struct pod_record p;
    struct err e = {0};
    assert_int_equal(decode_pod(&w->d, bytes_of(pod_text), &p, &e), 0);
    assert_string_equal(name(w, p.key), "ml/w-0");
    assert_string_equal(name(w, p.gang), "workload/ml/job-j-1");
    assert_string_equal(name(w, p.pod_set), "main");
    assert_string_equal(name(w, p.node), "n1");
    assert_string_equal(name(w, p.devices), "nvidia.com/gpu=0,3");
    assert_int_equal(p.priority, 7);
    assert_int_equal(p.phase, POD_RUNNING);
    assert_true(p.ours);
    assert_false(p.gated || p.deleting);
    int64_t ms;
    assert_true(time_parse(bytes_of("2026-01-01T00:00:01Z"), &ms));
    assert_int_equal(p.created_ms, ms);
    /* cpu: max(500 + 1000 + 100, 3000 + 100) */
    assert_int_equal(amount(w, p.shape.requests, p.shape.requests_n, "cpu"), 3100);
    assert_int_equal(amount(w, p.shape.requests, p.shape.requests_n, "memory"), 2147483648 + 1048576);
    assert_int_equal(amount(w, p.shape.requests, p.shape.requests_n, "nvidia.com/gpu"), 2);
    assert_int_equal(p.shape.labels_n, 2);
    assert_string_equal(name(w, p.shape.labels[0].value), "abc");
    assert_int_equal(p.shape.tolerations_n, 2);
    assert_true(p.shape.tolerations[0].exists && p.shape.tolerations[0].effects == 7);
    assert_int_equal(p.shape.tolerations[1].effects, TAINT_NO_EXECUTE);
    assert_int_equal(p.shape.ports_n, 1);
    assert_int_equal(p.shape.ports[0].port, 29500);
    for (uint32_t i = 1; i < p.shape.requests_n; i++)
        assert_true(p.shape.requests[i - 1].resource < p.shape.requests[i].resource);
}

/* Who may end others, which node he was told, since when he runs; and whose end a budget forbids. */
static void says_who_preempts_and_what_budgets_allow(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    struct pod_record p;
    struct budget_record b;
    int64_t ms;
#define PRIORITY_POD(spec, status) \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{\"schedulerName\":\"volcano\"," spec "\"containers\":[]},"      \
    "\"status\":{" status "}}"
    assert_int_equal(decode_pod(&w->d, BYTES(PRIORITY_POD("\"preemptionPolicy\":\"Never\",", "\"nominatedNodeName\":\"n1\"")), &p, &e), 0);
    assert_true(p.preempts_nobody);
    assert_string_equal(name(w, p.nominated), "n1");
    assert_string_equal(name(w, p.scheduler), "volcano");
    assert_int_equal(p.started_ms, 0);
    assert_int_equal(decode_pod(&w->d, BYTES(PRIORITY_POD("\"preemptionPolicy\":\"PreemptLowerPriority\",",
                                                          "\"startTime\":\"2026-01-01T00:00:00Z\"")), &p, &e), 0);
    assert_true(time_parse(bytes_of("2026-01-01T00:00:00Z"), &ms));
    assert_int_equal(p.started_ms, ms);
    assert_false(p.preempts_nobody || p.nominated);
    assert_int_equal(decode_pod(&w->d, BYTES(PRIORITY_POD("\"preemptionPolicy\":3,",
                                                          "\"startTime\":\"soon\",\"nominatedNodeName\":[]")), &p, &e), 0);
    assert_true(!p.preempts_nobody && !p.nominated && !p.started_ms);

    assert_int_equal(decode_budget(&w->d, tree(w, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"spec\":{\"selector\":{\"matchLabels\":"
                                                  "{\"app\":\"db\"}}},\"status\":{\"disruptionsAllowed\":2,\"disruptedPods\":{\"p-1\":"
                                                  "\"2026-01-01T00:00:00Z\"}}}"), &b, &e), 0);
    assert_string_equal(name(w, b.key), "ns/b");
    assert_string_equal(name(w, b.ns), "ns");
    assert_int_equal(b.allowed, 2);
    assert_int_equal(b.pods.all_n, 1);
    assert_int_equal(b.disrupted_n, 1);
    assert_string_equal(name(w, b.disrupted[0]), "ns/p-1");
    assert_int_equal(decode_budget(&w->d, tree(w, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"status\":[]}"), &b, &e), 0);
    assert_true(b.pods.matches_nothing && !b.allowed && !b.disrupted_n);
    assert_true(decode_budget(&w->d, tree(w, "{}"), &b, &e) < 0);
}

/* What bind_gate needs: what each container asks of device plugins, whose limits are equal, and whether the kubelet has taken it in. */
static void says_what_devices_it_asks(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    struct pod_record p, q;
#define MPS_POD(annotations, resources, status)                                                                                    \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{" annotations "}},\"spec\":{"                              \
    "\"initContainers\":[{\"name\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":2}}}],"                                       \
    "\"containers\":[" resources "{\"name\":\"b\",\"resources\":{\"limits\":{\"keti.com/mpsgpu\":\"1\",\"cpu\":1,\"x/y\":0}}}]},"    \
    "\"status\":{" status "}}"
#define ONE_MORE "{\"name\":\"a\",\"resources\":{\"limits\":{\"keti.com/mpsgpu\":1,\"nvidia.com/gpu\":1}}},"
    assert_int_equal(decode_pod(&w->d, BYTES(MPS_POD("\"GPUlimits\":\"4G\"", ONE_MORE, "\"phase\":\"Pending\"")), &p, &e), 0);
    assert_string_equal(name(w, p.device_asks), "nvidia.com/gpu=2,keti.com/mpsgpu=1,nvidia.com/gpu=1");
    assert_false(p.admitted);
    assert_int_not_equal(p.device_limits, 0);
    assert_int_equal(
        decode_pod(&w->d, BYTES(MPS_POD("\"GPUlimits\":\"4G\",\"other\":\"1\"", "", "\"startTime\":\"2026-01-01T00:00:00Z\"")), &q, &e), 0);
    assert_int_equal(q.device_limits, p.device_limits);
    assert_true(q.admitted);
    assert_int_equal(decode_pod(&w->d, BYTES(MPS_POD("\"capstan.dev/mps-pinned-memory\":\"4G\"", "", "\"phase\":\"Failed\"")), &q, &e), 0);
    assert_int_not_equal(q.device_limits, p.device_limits);
    assert_true(q.admitted);
    assert_int_equal(
        decode_pod(&w->d, BYTES(MPS_POD("\"capstan.dev/mps-active-thread-percentage\":\"30\"", "", "\"startTime\":null")), &q, &e), 0);
    assert_int_not_equal(q.device_limits, 0);
    assert_false(q.admitted);
    assert_int_equal(decode_pod(&w->d, BYTES("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":1}}}]}}"), &q, &e), 0);
    assert_true(!q.device_asks && !q.device_limits && !q.admitted);
    assert_int_equal(decode_pod(&w->d, BYTES(MPS_POD("\"GPUlimits\":\"4G\"", "", "\"phase\":\"Pending\"")), &p, &e), 0);
    intern_mark(w->d.names, p.device_limits); /* who keeps the limits keeps that one name */
    intern_sweep(w->d.names);
    assert_int_equal(decode_pod(&w->d, BYTES(MPS_POD("\"GPUlimits\":\"8G\"", "", "\"phase\":\"Pending\"")), &q, &e), 0);
    assert_int_not_equal(q.device_limits, p.device_limits);
    assert_int_equal(decode_pod(&w->d, BYTES(MPS_POD("\"GPUlimits\":\"4G\"", "", "\"phase\":\"Pending\"")), &q, &e), 0);
    assert_int_equal(q.device_limits, p.device_limits);
}

static void finds_the_gang(void **state)
{
    static const struct {
        const char *metadata, *spec, *gang;
    } cases[] = {
        {"\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"volcano.sh/task-spec\":\"worker\"}", "", "volcano/ns/g"},
        {"\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}", "", "coscheduling/ns/g"},
        {"\"labels\":{}", "\"schedulingGroup\":{\"podGroupName\":\"g\"}", "native/ns/g"},
        {"\"labels\":{}", "\"workloadRef\":{\"name\":\"w\",\"podGroup\":\"g\",\"podGroupReplicaKey\":\"1\"}", "native/ns/w/g/1"},
        {"\"labels\":{}", "\"schedulingGates\":[{\"name\":\"x\"}]", ""},
        {"\"annotations\":{\"kueue.x-k8s.io/workload\":\"w\",\"scheduling.k8s.io/group-name\":\"g\"}", "", "workload/ns/w"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pod_record p;
        struct err e = {0};
        const char *text = arena_printf(w->arena, "{\"spec\":{%s},\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",%s}}", cases[i].spec,
                                        cases[i].metadata);
        assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
        assert_string_equal(name(w, p.gang), cases[i].gang);
        if (p.gang)
            assert_true(strncmp(cases[i].gang, decode_gang_prefix(p.gang_source), strlen(decode_gang_prefix(p.gang_source))) == 0);
        else
            assert_int_equal(p.gang_source, GANG_POD);
        assert_int_equal(p.gated, i == 4);
        assert_false(p.ours);
    }
}

static void reads_affinity_and_spread(void **state)
{
    struct world *w = *state;
    static const char text[] =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"labels\":{\"app\":\"x\",\"ver\":\"1\"}},\"spec\":{\"affinity\":{"
        "\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":["
        "{\"matchExpressions\":[{\"key\":\"mem\",\"operator\":\"Gt\",\"values\":[\"40\"]}],\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]},{}]},"
        "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,\"preference\":{\"matchExpressions\":[{\"key\":\"mem\",\"operator\":\"Exists\"}]}},"
        "{\"weight\":8,\"preference\":{}},{\"weight\":0,\"preference\":{\"matchExpressions\":[{\"key\":\"mem\",\"operator\":\"Exists\"}]}}]},"
        "\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}},\"topologyKey\":\"zone\",\"matchLabelKeys\":[\"ver\",\"none\"]}]},"
        "\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":900,\"podAffinityTerm\":{\"topologyKey\":\"rack\","
        "\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}}}},{\"weight\":0,\"podAffinityTerm\":{}},{\"weight\":-1},7],"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"host\",\"namespaceSelector\":{}},"
        "{\"labelSelector\":{},\"topologyKey\":\"host\",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"other\"}}}]}},"
        "\"topologySpreadConstraints\":[{\"maxSkew\":2,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\"},"
        "{\"maxSkew\":3,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}}]}}";
    struct pod_record p;
    struct err e = {0};
    assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
    assert_true(p.shape.node_terms_n == 2 && p.shape.node_terms[0].all_n == 2 && p.shape.node_terms[0].all[0].number == 40);
    assert_true(p.shape.node_terms[0].all[1].is_field);
    assert_true(p.shape.node_terms[1].matches_nothing);
    const struct node_preference *wish = p.shape.node_wishes_n == 1 ? p.shape.node_wishes : NULL;
    assert_true(wish && wish->weight == 7 && wish->term.all[0].op == REQUIRE_EXISTS);
    assert_int_equal(p.shape.affinities_n, 3);
    assert_int_equal(p.shape.affinities[0].pods.all_n, 2);
    assert_string_equal(name(w, p.shape.affinities[0].namespaces[0]), "ns");
    assert_true(p.shape.affinities[1].anti && p.shape.affinities[1].all_namespaces && p.shape.affinities[1].pods.matches_nothing);
    assert_int_equal(p.shape.affinities[2].namespaces_n, 1);
    assert_string_equal(name(w, p.shape.affinities[2].namespaces[0]), "other");
    const struct pod_affinity *rather = p.shape.pod_wishes_n == 1 ? p.shape.pod_wishes : NULL;
    assert_true(rather && rather->weight == 100 && rather->anti && rather->pods.all_n == 1 && text_equal(name(w, rather->topology_key), "rack"));
    assert_true(p.shape.spread_wishes_n == 1 && p.shape.spread_wishes[0].max_skew == 2 && p.shape.spreads_n == 1);
    assert_true(p.shape.spreads[0].max_skew == 3 && p.shape.spreads[0].min_domains == 1);
}

static void refuses_what_is_no_pod(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "7",
        "{",
        "{\"metadata\":{}}",
        "{\"metadata\":{\"name\":5}}",
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"affinity\":{]}}",
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"much\"}}}]}}"};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pod_record p;
        struct err e = {0};
        assert_true(decode_pod(&w->d, bytes_of(texts[i]), &p, &e) < 0);
        assert_true(e.text[0] != '\0');
        if (i + 1 == sizeof texts / sizeof texts[0])
            assert_true(text_starts(e.text, "spec.containers[0].resources: requests[cpu]: "));
    }
}

static void wrong_types_are_survived(void **state)
{
    struct world *w = *state;
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":3,\"labels\":[1],\"annotations\":\"x\"},\"spec\":{\"containers\":{\"a\":1},\"tolerations\":7,"
                               "\"nodeSelector\":{\"a\":1,\"b\":\"c\"},\"affinity\":[],\"topologySpreadConstraints\":{},\"priority\":\"high\",\"schedulingGates\":{}},\"status\":[]}";
    struct pod_record p;
    struct err e = {0};
    assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
    assert_int_equal(p.shape.node_labels_n, 1);
    assert_int_equal(p.shape.requests_n, 0);
}

static void an_endless_text_of_devices_says_nothing(void **state)
{
    struct world *w = *state;
    for (size_t n = LIMIT_DEVICES_TEXT_BYTES; n <= LIMIT_DEVICES_TEXT_BYTES + 1; n++) {
        _cleanup_buf_ struct buf text = {0};
        struct pod_record p;
        struct err e = {0};
        buf_text(&text, "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"capstan.dev/devices\":\"");
        memset(buf_reserve(&text, n), 'x', n);
        text.n += n;
        buf_text(&text, "\"}}}");
        assert_int_equal(decode_pod(&w->d, buf_view(&text), &p, &e), 0);
        assert_int_equal(p.devices != 0, n == LIMIT_DEVICES_TEXT_BYTES);
    }
}

static void decodes_a_node(void **state)
{
    struct world *w = *state;
    static const char text[] =
        "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"gpu\":\"t4\"},\"annotations\":{\"capstan.dev/devices\":"
        "\"[{\\\"r\\\":\\\"nvidia.com/gpu\\\",\\\"id\\\":\\\"GPU-0\\\",\\\"gpu\\\":0,\\\"link\\\":1,\\\"healthy\\\":false},{\\\"r\\\":\\\"nvidia.com/gpu\\\",\\\"id\\\":\\\"GPU-1\\\"},{}]\"}},"
        "\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"},{\"key\":\"k\"}]},"
        "\"status\":{\"allocatable\":{\"cpu\":\"63500m\",\"memory\":\"250Gi\",\"nvidia.com/gpu\":\"8\"},\"conditions\":[{\"status\":\"False\",\"type\":\"DiskPressure\"},{\"status\":\"True\",\"type\":\"Ready\"}]}}";
    struct node_record n;
    struct err e = {0};
    enum { OF_BEFORE = 1 << 14 };
    memset(arena_alloc(w->d.arena, OF_BEFORE), 0xff, OF_BEFORE); /* what an earlier record has left there says nothing */
    arena_reset(w->d.arena);
    assert_int_equal(decode_node(&w->d, bytes_of(text), &n, &e), 0);
    assert_string_equal(name(w, n.name), "n1");
    assert_int_equal(amount(w, n.allocatable, n.allocatable_n, "cpu"), 63500);
    assert_true(n.ready && n.unschedulable);
    assert_int_equal(n.taints_n, 1);
    assert_int_equal(n.devices_n, 2 + 2); /* each in parts, too: test_gpu_shares.c */
    assert_false(n.devices[2].healthy);
    assert_int_equal(n.devices[2].link_group, 1);
    assert_int_equal(n.devices[3].gpu, 1);
    for (int i = 2; i < 4; i++)
        assert_int_equal(n.devices[i].parts, 0);
    assert_true(n.devices[3].healthy);
}

/* {"metadata":...} with the annotation's text in it. */
static struct node_record measured(struct world *w, const char *annotation)
{
    _cleanup_buf_ struct buf text = {0};
    struct node_record n;
    struct err e = {0};
    buf_text(&text, "{\"metadata\":{\"name\":\"n\",\"annotations\":{\"capstan.dev/gpu-feedback\":");
    json_write_string(&text, bytes_of(annotation));
    buf_text(&text, "}}}");
    assert_int_equal(decode_node(&w->d, buf_view(&text), &n, &e), 0); /* whatever it says, the node stays */
    return n;
}

static void decodes_what_agents_measured(void **state)
{
    struct world *w = *state;
    struct node_record n = measured(w, "{\"at\":1750000000,\"period\":15,\"network\":2500,\"units\":[{\"id\":\"GPU-a\",\"activity\":0.62,\"memory\":[10240,40960],"
                                       "\"margin\":28,\"throttled\":true,\"xid\":79,\"xidAt\":1749999000},{\"id\":\"GPU-b\"},"
                                       "{\"id\":\"GPU-c\",\"activity\":7,\"memory\":[9,3],\"margin\":1e9,\"xid\":-1,\"throttled\":1},{\"activity\":1},3]}");
    assert_int_equal(n.feedback_n, 3);
    assert_true(n.feedback_ms == 1750000000000 && n.feedback_period_ms == 15000 && n.network_bps == 2501);
    assert_string_equal(name(w, n.feedback[0].id), "GPU-a");
    assert_int_equal(n.feedback[0].activity_permille, 620);
    assert_int_equal(n.feedback[0].memory_used_mib, 10240);
    assert_int_equal(n.feedback[0].memory_total_mib, 40960);
    assert_int_equal(n.feedback[0].margin_c, 28);
    assert_true(n.feedback[0].throttled && n.feedback[0].xid == 79 && n.feedback[0].xid_ms == 1749999000000);
    for (int i = 1; i < 3; i++) { /* absent or out of bounds: unknown, not 0 */
        assert_int_equal(n.feedback[i].activity_permille, -1);
        assert_int_equal(n.feedback[i].memory_total_mib, 0);
        assert_int_equal(n.feedback[i].margin_c, INT16_MIN);
        assert_true(!n.feedback[i].throttled && n.feedback[i].xid == 0);
    }
    static const char *const wrong[] = {"",
                                        "no JSON",
                                        "[]",
                                        "{}",
                                        "{\"at\":1,\"period\":15,\"units\":[]}",
                                        "{\"at\":1,\"units\":[{\"id\":\"a\"}]}",
                                        "{\"at\":\"1\",\"period\":15,\"units\":[{\"id\":\"a\"}]}",
                                        "{\"at\":1e300,\"period\":15,\"units\":[{\"id\":\"a\"}]}",
                                        "{\"at\":1,\"period\":15,\"units\":[{}]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(measured(w, wrong[i]).feedback_n, 0);
}

static void measurements_are_bounded(void **state)
{
    struct world *w = *state;
    _cleanup_buf_ struct buf text = {0};
    buf_text(&text, "{\"at\":1,\"period\":15,\"units\":[{\"id\":\"a\"}]");
    while (text.n < DECODE_FEEDBACK_MAX_BYTES)
        buf_char(&text, ' ');
    buf_char(&text, '}');
    assert_int_equal(measured(w, text.data).feedback_n, 0);
}

static void too_many_devices_are_refused(void **state)
{
    struct world *w = *state;
    _cleanup_buf_ struct buf text = {0};
    struct node_record n;
    struct err e = {0};
    buf_text(&text, "{\"metadata\":{\"name\":\"n\",\"annotations\":{\"capstan.dev/devices\":\"[");
    for (int i = 0; i <= LIMIT_DEVICES_PER_NODE; i++)
        buf_text(&text, i ? ",{}" : "{}");
    buf_text(&text, "]\"}}}");
    assert_true(decode_node(&w->d, buf_view(&text), &n, &e) < 0);
    assert_non_null(strstr(e.text, "capstan.dev/devices"));
}

static void decodes_both_cluster_queue_shapes(void **state)
{
    struct world *w = *state;
    struct queue_record q;
    struct err e = {0};
    const struct json *v = tree(w, "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"cohort\":\"all\",\"queueingStrategy\":\"StrictFIFO\",\"namespaceSelector\":{},"
                                   "\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"a\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":16,\"borrowingLimit\":4}]}]}],"
                                   "\"preemption\":{\"reclaimWithinCohort\":\"Any\",\"withinClusterQueue\":\"LowerPriority\"}}}");
    assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
    assert_string_equal(name(w, q.cohort), "all");
    assert_int_equal(q.strategy, QUEUE_STRICT_FIFO);
    assert_int_equal(q.groups_n, 1);
    assert_int_equal(q.groups[0].resources_n, 2);
    assert_int_equal(q.quotas_n, 2);
    assert_int_equal(q.quotas[0].nominal, 0); /* cpu: left out */
    assert_int_equal(q.quotas[1].nominal, 16);
    assert_int_equal(q.quotas[1].borrowing_limit, 4);
    assert_int_equal(q.quotas[1].lending_limit, NO_LIMIT);
    assert_false(q.namespaces.matches_nothing || q.unlimited);
    assert_true(q.borrow_before_next_flavor && !q.preempt_before_next_flavor);
    assert_int_equal(q.reclaim_within_cohort, PREEMPT_ANY);
    assert_int_equal(q.within_queue, PREEMPT_LOWER_PRIORITY);
    assert_int_equal(q.borrow_within_cohort, PREEMPT_NEVER);
    assert_false(q.has_borrow_threshold);
    v = tree(w, "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"preemption\":{\"reclaimWithinCohort\":\"LowerPriority\","
                "\"withinClusterQueue\":\"LowerOrNewerEqualPriority\","
                "\"borrowWithinCohort\":{\"policy\":\"LowerPriority\",\"maxPriorityThreshold\":-5}}}}");
    assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
    assert_int_equal(q.within_queue, PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY);
    assert_int_equal(q.reclaim_within_cohort, PREEMPT_LOWER_PRIORITY);
    assert_int_equal(q.borrow_within_cohort, PREEMPT_LOWER_PRIORITY);
    assert_true(q.has_borrow_threshold && q.borrow_threshold == -5);
    v = tree(w, "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"cohortName\":\"c2\",\"flavorFungibility\":{\"whenCanBorrow\":\"TryNextFlavor\",\"whenCanPreempt\":\"MayStopSearch\"},\"stopPolicy\":\"HoldAndDrain\"}}");
    assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
    assert_string_equal(name(w, q.cohort), "c2");
    assert_true(q.namespaces.matches_nothing);
    assert_true(!q.borrow_before_next_flavor && q.preempt_before_next_flavor && !q.preempt_before_borrowing);
    assert_int_equal(q.stop, STOP_HOLD_AND_DRAIN);
    v = tree(w, "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"flavorFungibility\":{\"preference\":\"PreemptionOverBorrowing\"}}}");
    assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
    assert_true(q.preempt_before_borrowing);
    v = tree(w, "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"flavorFungibility\":{\"preference\":\"BorrowingOverPreemption\"}}}");
    assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
    assert_false(q.preempt_before_borrowing);
    v = tree(w, "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"a\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"lots\"}]}]}]}}");
    assert_true(decode_cluster_queue(&w->d, v, &q, &e) < 0);
    assert_true(text_starts(e.text, "spec.resourceGroups[0]: flavors[0].resources[cpu]: nominalQuota: "));
}

static void decodes_a_workload(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    const struct json *v = tree(w, "{\"metadata\":{\"name\":\"job-j\",\"namespace\":\"ml\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
                                   "\"spec\":{\"queueName\":\"lq\",\"priority\":5,\"podSets\":[{\"name\":\"launcher\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}},"
                                   "{\"name\":\"worker\",\"count\":4,\"minCount\":2,\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"nodeSelector\":{\"k\":\"v\"},\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]}}}]},"
                                   "\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:07Z\"},"
                                   "{\"type\":\"Evicted\",\"status\":\"True\"}],\"requeueState\":{\"requeueAt\":\"2026-01-01T00:00:10Z\"},"
                                   "\"reclaimablePods\":[{\"name\":\"worker\",\"count\":1},{\"name\":\"launcher\",\"count\":9}],"
                                   "\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"worker\",\"flavors\":{\"nvidia.com/gpu\":\"a100\"}},{\"name\":\"ghost\",\"flavors\":{\"cpu\":\"x\"}}]}}}");
    assert_int_equal(decode_workload(&w->d, v, &g, &e), 0);
    assert_string_equal(name(w, g.key), "workload/ml/job-j");
    assert_string_equal(name(w, g.local_queue), "ml/lq");
    assert_int_equal(g.pod_sets_n, 2);
    assert_int_equal(g.pod_sets[1].count, 4);
    assert_int_equal(g.pod_sets[1].min_count, 2);
    assert_int_equal(g.pod_sets[1].reclaimed, 1);
    assert_int_equal(g.pod_sets[0].reclaimed, 1); /* at most count */
    assert_int_equal(g.min_members, 3);
    assert_int_equal(g.pod_sets[1].shape.requests[0].value, 1);
    assert_int_equal(g.pod_sets[1].shape.node_labels_n, 1);
    assert_int_equal(g.pod_sets[1].shape.labels_n, 1);
    assert_true(g.planned && g.active && g.admitted && g.evicted && !g.finished && !g.on_hold);
    assert_int_equal(g.reserved_ms, g.created_ms + 7000);
    assert_string_equal(name(w, g.admitted_queue), "cq");
    assert_int_equal(g.choices_n, 1);
    assert_int_equal(g.choices[0].pod_set, 1);
    assert_string_equal(name(w, g.choices[0].flavor), "a100");
    assert_true(g.not_before_ms > g.created_ms);
    v = tree(w, "{\"metadata\":{\"name\":\"stray\",\"namespace\":\"ml\"},\"spec\":{\"podSets\":[]}}");
    assert_int_equal(decode_workload(&w->d, v, &g, &e), 0);
    assert_string_equal(name(w, g.local_queue), "ml/"); /* no queue: not "needs none" */
}

/* Of a job whose controller says in reclaimablePods when nobody comes after a pod any more. */
static void knows_whose_pods_come_in_turns(void **state)
{
    static const struct {
        const char *owners;
        bool in_turns;
    } cases[] = {
        {"", false},
        {"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"controller\":true}", true},
        {"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"}", false},
        {"{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"controller\":true}", true},
        {"{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"controller\":true}", false},
        {"{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"controller\":true}", false},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"controller\":true}", false},
        {"{\"kind\":\"Job\",\"controller\":true}", false},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gang_record g;
        struct err e = {0};
        const struct json *v = tree(w, arena_printf(w->d.arena,
                                                    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ml\",\"ownerReferences\":[%s]},\"spec\":{"
                                                    "\"podSets\":[{\"name\":\"a\",\"template\":{}},{\"name\":\"b\",\"template\":{}}]}}",
                                                    cases[i].owners));
        assert_int_equal(decode_workload(&w->d, v, &g, &e), 0);
        assert_true(g.pod_sets[0].in_turns == cases[i].in_turns && g.pod_sets[1].in_turns == cases[i].in_turns);
    }
}

/* What is lost by its end. What cannot be read was not said. */
static void says_what_is_lost_by_its_end(void **state)
{
    static const struct {
        const char *annotations;
        int64_t checkpoint_ms;
        int32_t minimum_run_s;
    } cases[] = {
        {"", 0, 0},
        {"\"capstan.dev/minimum-run-seconds\":\"1800\",\"capstan.dev/checkpoint-time\":\"1970-01-01T00:01:00.5Z\"", 60500, 1800},
        {"\"capstan.dev/minimum-run-seconds\":\"0\",\"capstan.dev/checkpoint-time\":\"1970-01-01T01:01:00+01:00\"", 60000, 0},
        {"\"capstan.dev/minimum-run-seconds\":\"86400\",\"capstan.dev/checkpoint-time\":\"yesterday\"", 0, 86400},
        {"\"capstan.dev/minimum-run-seconds\":\"86401\",\"capstan.dev/checkpoint-time\":\"1969-01-01T00:00:00Z\"", 0, 0},
        {"\"capstan.dev/minimum-run-seconds\":\"-1\",\"capstan.dev/checkpoint-time\":\"\"", 0, 0},
        {"\"capstan.dev/minimum-run-seconds\":\"30m\",\"capstan.dev/checkpoint-time\":\"1767225600\"", 0, 0},
        {"\"capstan.dev/minimum-run-seconds\":\"99999999999999999999\",\"capstan.dev/checkpoint-time\":\"99999-01-01T00:00:00Z\"", 0, 0},
        {"\"capstan.dev/minimum-run-seconds\":[1800],\"capstan.dev/checkpoint-time\":{}", 0, 0},
    };
    static const struct {
        const char *first, *second;
        int32_t grace_s;
    } graces[] = {{"", "", 30}, {"600", "", 600}, {"5", "", 30}, {"5", "0", 5}, {"0", "-3", 1}, {"99999999999999", "7", INT32_MAX}};
    struct world *w = *state;
    struct err e;
    struct gang_record g;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(w->d.arena, "{\"metadata\":{\"name\":\"w\",\"namespace\":\"ml\",\"annotations\":{%s}},\"spec\":{\"podSets\":[]}}",
                                        cases[i].annotations);
        assert_int_equal(decode_workload(&w->d, tree(w, text), &g, &e), 0);
        if (g.checkpoint_ms != cases[i].checkpoint_ms || g.minimum_run_s != cases[i].minimum_run_s || g.grace_s)
            fail_msg("%s: %lld ms, %d s", cases[i].annotations, (long long)g.checkpoint_ms, g.minimum_run_s);
    }
    for (size_t i = 0; i < sizeof graces / sizeof *graces; i++) {
        const char *text = arena_printf(w->d.arena, "{\"metadata\":{\"name\":\"w\",\"namespace\":\"ml\"},\"spec\":{\"podSets\":["
                                        "{\"name\":\"a\",\"count\":1,\"template\":{\"spec\":{%s%s}}},{\"name\":\"b\",\"count\":1,\"template\":{\"spec\":{%s%s}}}]}}",
                                        *graces[i].first ? "\"terminationGracePeriodSeconds\":" : "", graces[i].first,
                                        *graces[i].second ? "\"terminationGracePeriodSeconds\":" : "", graces[i].second);
        assert_int_equal(decode_workload(&w->d, tree(w, text), &g, &e), 0);
        assert_int_equal(g.grace_s, graces[i].grace_s);
    }
}

static int32_t needed(struct world *w, const char *admitted_n, const char *reclaimable_n)
{
    struct gang_record g;
    struct err e = {0};
    const struct json *v =
        tree(w, arena_printf(w->d.arena,
                             "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ml\"},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":5,"
                             "\"template\":{}}]},\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"}],"
                             "\"reclaimablePods\":[{\"name\":\"a\",\"count\":%s}],"
                             "\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"a\"%s}]}}}",
                             reclaimable_n, admitted_n));
    assert_int_equal(decode_workload(&w->d, v, &g, &e), 0);
    int32_t left = g.pod_sets[0].count - g.pod_sets[0].reclaimed, granted = g.pod_sets[0].granted;
    return granted && granted < left ? granted : left;
}

static void admitted_with_fewer_pods_needs_fewer(void **state)
{
    struct world *w = *state;
    assert_int_equal(needed(w, "", "0"), 5);
    assert_int_equal(needed(w, ",\"count\":3", "0"), 3);
    assert_int_equal(needed(w, ",\"count\":3", "1"), 3); /* one of four is over: three are left */
    assert_int_equal(needed(w, ",\"count\":3", "4"), 1);
    assert_int_equal(needed(w, ",\"count\":9", "2"), 3);
}

/* Overhead and defaults of its namespace were others when it was admitted: it keeps what it was given. */
static void admitted_asks_for_what_it_was_given(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    static const char text[] =
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ml\"},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":2,\"template\":{\"spec\":{"
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}}]},\"status\":{\"conditions\":[{"
        "\"type\":\"QuotaReserved\",\"status\":\"%s\"}],\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"a\",\"count\":2,"
        "\"resourceUsage\":{\"cpu\":\"%s\"}}]}}}";
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            decode_workload(&w->d, tree(w, arena_printf(w->d.arena, text, i == 1 ? "False" : "True", i == 2 ? "1001m" : "3")), &g, &e), 0);
        const struct shape *shape = &g.pod_sets[0].shape;
        assert_int_equal(shape->requests_n, 2);
        for (uint32_t k = 0; k < 2; k++) {
            bool cpu = strcmp(name(w, shape->requests[k].resource), "cpu") == 0;
            int64_t given = i == 0 ? 1500 : 1000; /* not admitted; not the same for each */
            assert_true(shape->requests[k].value == (cpu ? given : (int64_t)1 << 30));
        }
    }
}

static int64_t charged(const struct world *w, const struct pod_set *set, const char *resource)
{
    for (uint32_t i = 0; i < set->charged_n; i++)
        if (strcmp(name(w, set->charged[i].resource), resource) == 0)
            return set->charged[i].value;
    return -1;
}

/* Quota counts by the rules of now while it waits, and by those of then when it was admitted; nodes have to hold what its pods ask for. */
static void quota_may_count_otherwise(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    static const struct charge_output out = {"credits", {(__int128)3 * 1000000000, QUANTITY_DECIMAL_SI}};
    static const struct charge_rule rule = {.input = "gpu", .replaces = true, .outputs = &out, .outputs_n = 1};
    static const struct charge_policy rules = {.rules = &rule, .rules_n = 1};
    static const char text[] =
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ml\"},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":2,\"template\":{\"spec\":{"
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"gpu\":\"2\"}}}]}}}]}%s}";
    static const char admission[] =
        ",\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"}],\"admission\":{\"clusterQueue\":\"cq\","
        "\"podSetAssignments\":[{\"name\":\"a\",\"count\":2,\"flavors\":{\"credits\":\"f\"},\"resourceUsage\":{\"credits\":\"10\",\"pods\":\"2\"}}]}}";
    const struct pod_set *set = NULL;
    for (int i = 0; i < 3; i++) {
        w->d.charge = i < 2 ? &rules : NULL;
        assert_int_equal(decode_workload(&w->d, tree(w, arena_printf(w->d.arena, text, i ? admission : "")), &g, &e), 0);
        set = g.pod_sets;
        assert_int_equal(set->shape.requests_n, 2);
        assert_true(set->is_charged);
        assert_int_equal(charged(w, set, "credits"), i ? 5 : 6);
        assert_int_equal(charged(w, set, "cpu"), 1000);
        assert_int_equal(charged(w, set, "pods"), -1);
        assert_int_equal(charged(w, set, "gpu"), i == 2 ? 2 : -1); /* it has no flavor: nobody counts it */
        for (uint32_t k = 1; k < set->charged_n; k++)
            assert_true(set->charged[k].resource > set->charged[k - 1].resource);
    }
    assert_int_equal(decode_workload(&w->d, tree(w, arena_printf(w->d.arena, text, "")), &g, &e), 0);
    assert_false(g.pod_sets->is_charged);
}

static void decodes_topologies(void **state)
{
    struct world *w = *state;
    struct topology_record t;
    struct flavor_record f;
    struct err e = {0};
    assert_int_equal(decode_topology(&w->d, tree(w, "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"levels\":[{\"nodeLabel\":\"block\"},"
                                                    "{\"nodeLabel\":\"kubernetes.io/hostname\"}]}}"), &t, &e), 0);
    assert_string_equal(name(w, t.name), "t");
    assert_int_equal(t.levels_n, 2);
    assert_string_equal(name(w, t.levels[0]), "block");
    assert_string_equal(name(w, t.levels[1]), "kubernetes.io/hostname");
    assert_int_equal(decode_topology(&w->d, tree(w, "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"levels\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,"
                                                    "15,16,17]}}"), &t, &e), -E_LIMIT);
    assert_int_equal(decode_flavor(&w->d, tree(w, "{\"metadata\":{\"name\":\"f\"},\"spec\":{\"topologyName\":\"t\"}}"), &f, &e), 0);
    assert_string_equal(name(w, f.topology), "t");
}

#define OF_SETS(requests, status) \
    "{\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":4,\"template\":{},\"topologyRequest\":" requests \
    "}]},\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"}],\"admission\":{\"clusterQueue\":\"q\"," \
    "\"podSetAssignments\":[{\"name\":\"a\",\"count\":4,\"topologyAssignment\":" status "}]}}}"

/* Kueue's webhook refuses to start a job with fewer pods than a slice has. */
static void a_set_never_starts_with_less_than_a_slice(void **state)
{
    static const struct {
        int32_t count, min_count, slice, fewest;
    } cases[] = {{6, 1, 2, 2}, {6, 3, 2, 3}, {6, 1, 8, 6}};
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json *v = tree(w, arena_printf(w->d.arena,
            "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ml\"},\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":%d,"
            "\"minCount\":%d,\"topologyRequest\":{\"required\":\"zone\",\"podSetSliceRequiredTopology\":\"host\",\"podSetSliceSize\":%d},"
            "\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}}]}}",
            cases[i].count, cases[i].min_count, cases[i].slice));
        assert_int_equal(decode_workload(&w->d, v, &g, &e), 0);
        assert_int_equal(g.pod_sets[0].min_count, cases[i].fewest);
        assert_int_equal(g.min_members, cases[i].fewest);
    }
}

static void decodes_what_is_asked_of_topologies(void **state)
{
    static const struct {
        const char *request;
        enum topology_mode mode;
        const char *level, *group, *slices;
    } cases[] = {
        {"{\"required\":\"rack\"}", TOPOLOGY_REQUIRED, "rack", "", ""},
        {"{\"preferred\":\"rack\",\"podSetGroupName\":\"g\"}", TOPOLOGY_PREFERRED, "rack", "g", ""},
        {"{\"unconstrained\":true}", TOPOLOGY_UNCONSTRAINED, "", "", ""},
        {"{\"unconstrained\":false,\"podIndexLabel\":\"i\"}", TOPOLOGY_UNASKED, "", "", ""},
        {"{\"podSetSliceRequiredTopology\":\"rack\",\"podSetSliceSize\":2}", TOPOLOGY_UNASKED, "", "", "rack:2 "},
        {"{\"required\":\"zone\",\"podsetSliceRequiredTopologyConstraints\":[{\"topology\":\"rack\",\"size\":4},{\"topology\":\"host\","
         "\"size\":2}]}", TOPOLOGY_REQUIRED, "zone", "", "rack:4 host:2 "},
        {"{\"podSetSliceRequiredTopology\":\"rack\",\"podSetSliceSize\":-2}", TOPOLOGY_UNASKED, "", "", "rack:1 "},
    };
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *slices = "";
        assert_int_equal(decode_workload(&w->d, tree(w, arena_printf(w->d.arena, OF_SETS("%s", "{}"), cases[i].request)), &g, &e), 0);
        const struct topology_request *r = &g.pod_sets[0].topology;
        assert_int_equal(r->mode, cases[i].mode);
        assert_string_equal(name(w, r->level), cases[i].level);
        assert_string_equal(name(w, r->group), cases[i].group);
        for (uint32_t k = 0; k < r->slices_n; k++)
            slices = arena_printf(w->d.arena, "%s%s:%d ", slices, name(w, r->slices[k].level), r->slices[k].size);
        assert_string_equal(slices, cases[i].slices);
    }
}

/* Rows of v1beta1, columns of v1beta2; all levels, or the node alone. */
static void decodes_assigned_domains(void **state)
{
    static const struct {
        const char *assignment, *domains;
    } cases[] = {
        {"{\"levels\":[\"block\",\"rack\"],\"domains\":[{\"values\":[\"b1\",\"r1\"],\"count\":3},{\"values\":[\"b1\",\"r2\"],\"count\":1}]}",
         "b1,r1=3 b1,r2=1 "},
        {"{\"levels\":[\"block\",\"rack\"],\"slices\":[{\"domainCount\":2,\"valuesPerLevel\":[{\"universal\":\"b1\"},{\"individual\":{\"prefix\":"
         "\"r\",\"roots\":[\"1\",\"2\"]}}],\"podCounts\":{\"individual\":[3,1]}}]}", "b1,r1=3 b1,r2=1 "},
        {"{\"levels\":[\"kubernetes.io/hostname\"],\"slices\":[{\"domainCount\":2,\"valuesPerLevel\":[{\"individual\":{\"roots\":[\"x1\",\"x2\"]}}],"
         "\"podCounts\":{\"universal\":2}}]}", "x1=2 x2=2 "},
        {"{\"levels\":[\"block\",\"kubernetes.io/hostname\"],\"domains\":[{\"values\":[\"b1\",\"x1\"],\"count\":4}]}", "x1=4 "},
        {"{\"levels\":[\"rack\"],\"domains\":[{\"values\":[\"r1\"],\"count\":-4}]}", "r1=0 "},
        {"null", ""},
        {"{\"levels\":7,\"slices\":{}}", ""},
    };
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *domains = "";
        assert_int_equal(decode_workload(&w->d, tree(w, arena_printf(w->d.arena, OF_SETS("{}", "%s"), cases[i].assignment)), &g, &e), 0);
        for (uint32_t k = 0; k < g.domains_n; k++)
            domains = arena_printf(w->d.arena, "%s%s=%d ", domains, name(w, g.domains[k].domain), g.domains[k].count);
        assert_string_equal(domains, cases[i].domains);
    }
}

static void decodes_the_other_groups(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct queue_record q;
    struct local_queue_record l;
    struct flavor_record f;
    struct cohort_record c;
    struct err e = {0};
    name_id id;
    int32_t value;
    assert_int_equal(decode_volcano_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{\"minMember\":5,\"priorityClassName\":\"high\",\"minTaskMember\":{\"master\":1,\"worker\":4}},\"status\":{\"phase\":\"Completed\"}}"), &g, &e), 0);
    assert_string_equal(name(w, g.queue), "volcano:default");
    assert_string_equal(name(w, g.queue_title), "default");
    assert_int_equal(g.queue_kind, QUEUE_VOLCANO);
    assert_string_equal(decode_gang_object(g.source, name(w, g.key)), "n/g");
    assert_int_equal(g.min_members, 5);
    assert_int_equal(g.priority, 1000);
    assert_int_equal(g.min_of_task_n, 2);
    assert_true(g.finished && !g.keeps_places);
    assert_true(decode_volcano_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"annotations\":{\"volcano.sh/preemptable\":\"false\"}}}"), &g, &e) == 0 && g.keeps_places);
    assert_true(decode_volcano_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"labels\":{\"volcano.sh/preemptable\":\"T\"}}}"), &g, &e) == 0 && !g.keeps_places);
    assert_int_equal(decode_volcano_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{\"minMember\":4,\"minTaskMember\":{\"master\":1,\"worker\":4}}}"), &g, &e), 0);
    assert_int_equal(g.min_of_task_n, 0);
    assert_int_equal(decode_coscheduling_pod_group(
                         &w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{\"minMember\":3}}"), &g, &e),
                     0);
    assert_string_equal(name(w, g.key), "coscheduling/n/g");
    assert_true(g.min_members == 3 && g.queue == 0);
    assert_false(g.on_hold);
    assert_int_equal(decode_coscheduling_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"annotations\":{\"capstan.dev/hold\":\"true\"}}}"), &g, &e), 0);
    assert_true(g.on_hold && !g.hold_is_fault && strstr(name(w, g.hold_text), "It is held"));
    assert_true(decode_volcano_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"annotations\":{\"capstan.dev/hold\":\"false\"}}}"), &g, &e) == 0 && !g.on_hold);
    assert_int_equal(decode_native_pod_group(&w->d, tree(w, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{\"priority\":9,\"schedulingPolicy\":{\"gang\":{\"minCount\":8}}}}"), &g, &e), 0);
    assert_true(g.min_members == 8 && g.priority == 9);
    assert_int_equal(decode_volcano_queue(&w->d, tree(w, "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"capability\":{\"cpu\":\"2\"},\"deserved\":{\"cpu\":\"1\"},\"guarantee\":{\"resource\":{\"memory\":\"1Ki\"}},\"weight\":3,\"reclaimable\":false,\"parent\":\"p\",\"priority\":7,\"dequeueStrategy\":\"fifo\"},\"status\":{\"state\":\"Closed\"}}"), &q, &e), 0);
    assert_true(q.priority == 7 && q.strategy == QUEUE_STRICT_FIFO && q.unlimited && q.closed && q.shares->weight == 3 && q.shares->keeps);
    assert_true(q.shares->capability[0].value == 2000 && q.shares->deserved[0].value == 1000 && q.shares->guarantee[0].value == 1024);
    assert_string_equal(name(w, q.shares->parent), "volcano:p");
    assert_true(decode_volcano_queue(&w->d, tree(w, "{\"metadata\":{\"name\":\"root\"}}"), &q, &e) == 0 && !q.shares->parent);
    assert_int_equal(decode_volcano_queue(&w->d, tree(w, "{\"metadata\":{\"name\":\"q\"}}"), &q, &e), 0);
    assert_string_equal(name(w, q.shares->parent), "volcano:root");
    assert_string_equal(name(w, q.name), "volcano:q");
    assert_string_equal(name(w, q.title), "q");
    assert_int_equal(q.kind, QUEUE_VOLCANO);
    assert_int_equal(decode_local_queue(&w->d, tree(w, "{\"metadata\":{\"name\":\"q\",\"namespace\":\"n\"},\"spec\":{\"clusterQueue\":\"c\",\"stopPolicy\":\"Hold\"}}"), &l, &e), 0);
    assert_string_equal(name(w, l.key), "n/q");
    assert_string_equal(name(w, l.title), "q");
    assert_int_equal(l.stop, STOP_HOLD);
    assert_int_equal(decode_flavor(&w->d, tree(w, "{\"metadata\":{\"name\":\"f\"},\"spec\":{\"nodeLabels\":{\"a\":\"b\"},\"nodeTaints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}],\"tolerations\":[{\"operator\":\"Exists\"}]}}"), &f, &e), 0);
    assert_true(f.node_labels_n == 1 && f.taints_n == 1 && f.tolerations_n == 1);
    assert_int_equal(decode_cohort(&w->d, tree(w, "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"parentName\":\"root\"}}"), &c, &e), 0);
    assert_string_equal(name(w, c.parent), "root");
    assert_int_equal(decode_priority_class(&w->d, tree(w, "{\"metadata\":{\"name\":\"p\"},\"value\":-5}"), &id, &value, &e), 0);
    assert_int_equal(value, -5);
    assert_true(decode_flavor(&w->d, tree(w, "{}"), &f, &e) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(decodes_a_pod, world_open, world_close),
        cmocka_unit_test_setup_teardown(says_who_preempts_and_what_budgets_allow, world_open, world_close),
        cmocka_unit_test_setup_teardown(says_what_devices_it_asks, world_open, world_close),
        cmocka_unit_test_setup_teardown(finds_the_gang, world_open, world_close),
        cmocka_unit_test_setup_teardown(reads_affinity_and_spread, world_open, world_close),
        cmocka_unit_test_setup_teardown(refuses_what_is_no_pod, world_open, world_close),
        cmocka_unit_test_setup_teardown(wrong_types_are_survived, world_open, world_close),
        cmocka_unit_test_setup_teardown(an_endless_text_of_devices_says_nothing, world_open, world_close),
        cmocka_unit_test_setup_teardown(knows_whose_pods_come_in_turns, world_open, world_close),
        cmocka_unit_test_setup_teardown(says_what_is_lost_by_its_end, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_a_node, world_open, world_close),
        cmocka_unit_test_setup_teardown(too_many_devices_are_refused, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_what_agents_measured, world_open, world_close),
        cmocka_unit_test_setup_teardown(measurements_are_bounded, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_both_cluster_queue_shapes, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_a_workload, world_open, world_close),
        cmocka_unit_test_setup_teardown(admitted_with_fewer_pods_needs_fewer, world_open, world_close),
        cmocka_unit_test_setup_teardown(admitted_asks_for_what_it_was_given, world_open, world_close),
        cmocka_unit_test_setup_teardown(quota_may_count_otherwise, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_topologies, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_set_never_starts_with_less_than_a_slice, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_what_is_asked_of_topologies, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_assigned_domains, world_open, world_close),
        cmocka_unit_test_setup_teardown(decodes_the_other_groups, world_open, world_close),
    };
    return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
