/* test_machine_judge.c - what NodePools and NodeClaims say of machines that may come for pods */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"
#include "codec/decode/decode.h"
#include "sched/machines/machine_judge.h"

#define POOL(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" spec "}}"
#define TEMPLATE(requirements, more) "\"template\":{\"spec\":{\"requirements\":[" requirements "]" more "}}"
#define GPUS(values) "{\"key\":\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"In\",\"values\":[" values "]}"
#define TYPES(values) "{\"key\":\"node.kubernetes.io/instance-type\",\"operator\":\"In\",\"values\":[" values "]}"
#define CLAIM(name, pool, type, gpus, more)                                                                                                \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"karpenter.sh/nodepool\":\"" pool "\",\"node.kubernetes.io/instance-type\":\"" type \
    "\"}},\"status\":{\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"nvidia.com/gpu\":\"" gpus                                        \
    "\"},\"allocatable\":{\"cpu\":\"63\",\"memory\":\"250Gi\",\"nvidia.com/gpu\":\"" gpus "\"}" more "}}"
#define THERE ",\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"}]"

struct world {
    struct arena *a;
    struct intern *names;
    struct machine_pools *m;
    struct decoder d;
};

static struct world world_new(void)
{
    struct world w = {arena_new(), intern_new(), machine_pools_new(), {0}};
    w.d = (struct decoder){.names = w.names, .arena = w.a};
    return w;
}

static void world_free(struct world *w)
{
    machine_pools_free(w->m);
    intern_free(w->names);
    arena_free(w->a);
}

static struct json *parsed(struct world *w, const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w->a, bytes_of(text), NULL, &e);
    if (!object)
        fail_msg("%s: %s", text, e.text);
    return object;
}

static void pool(struct world *w, const char *text)
{
    (void)machine_pools_put(w->m, parsed(w, text));
}

static void claim(struct world *w, const char *text)
{
    (void)machine_claims_put(w->m, parsed(w, text));
}

/* Of a pod's spec, as text; GPUs of its only container. */
static struct shape shape_of(struct world *w, const char *spec, int gpus)
{
    struct shape shape;
    struct err e = {0};
    const char *text = arena_printf(w->a,
                                    "{\"spec\":{%s%s\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"2\","
                                    "\"nvidia.com/gpu\":%d}}}]}}",
                                    spec, *spec ? "," : "", gpus);
    if (decode_template(&w->d, parsed(w, text), 0, "template", &shape, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return shape;
}

static struct machine_verdict judged(struct world *w, const char *spec, int gpus, int64_t pods_n)
{
    struct shape shape = shape_of(w, spec, gpus);
    machine_pools_sum(w->m);
    return machine_judge(w->m, w->names, &(struct machine_ask){&shape, pods_n, ""}, w->a);
}

static void expect(struct world *w, const char *spec, int gpus, int64_t pods_n, enum machine_cause cause, const char *text)
{
    struct machine_verdict v = judged(w, spec, gpus, pods_n);
    if (v.cause != cause || strcmp(v.text, text) != 0)
        fail_msg("%s, %d GPUs, %d pods: %d \"%s\", not %d \"%s\"", spec, gpus, (int)pods_n, v.cause, v.text, cause, text);
}

static void nothing_known_may_be(void **state)
{
    (void)state;
    struct world w = world_new();
    expect(&w, "", 8, 1000, MACHINE_FITS, ""); /* no pools: not Karpenter's */
    pool(&w, "{}");
    expect(&w, "", 8, 1000, MACHINE_FITS, "");
    pool(&w, POOL("any", ""));
    pool(&w, "{\"metadata\":{\"name\":\"odd\"},\"spec\":7}");
    pool(
        &w,
        "{\"metadata\":{\"name\":\"odder\"},\"spec\":{\"limits\":[1],\"template\":{\"metadata\":{\"labels\":[1]},\"spec\":{\"requirements\":{\"key\":1},"
        "\"taints\":\"x\"}}}}");
    pool(&w, POOL("words", TEMPLATE("{\"key\":\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"About\",\"values\":[\"1\"]},{\"key\":"
                                    "\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"Lt\",\"values\":[\"many\"]},7,null",
                                    "")));
    expect(&w, "", 8, 1000, MACHINE_FITS, "");
    assert_false(machine_pools_drop(w.m, "none"));
    assert_false(machine_claims_drop(w.m, "none"));
    world_free(&w);
}

static void size_by_requirements(void **state)
{
    (void)state;
    struct world w = world_new();
    pool(&w, POOL("small", TEMPLATE(GPUS("\"1\",\"4\""), "")));
    expect(&w, "", 4, 1000, MACHINE_FITS, "");
    expect(&w, "", 8, 1, MACHINE_TOO_SMALL, "no machine that NodePool small brings has 8 nvidia.com/gpu (4 at most)");
    pool(&w, POOL("small", TEMPLATE("{\"key\":\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"Lt\",\"values\":[\"4\"]}", "")));
    expect(&w, "", 4, 1, MACHINE_TOO_SMALL, "no machine that NodePool small brings has 4 nvidia.com/gpu (3 at most)");
    pool(&w, POOL("small", TEMPLATE("{\"key\":\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"Lte\",\"values\":[\"4\"]}", "")));
    expect(&w, "", 4, 1, MACHINE_FITS, "");
    pool(&w, POOL("small", TEMPLATE("{\"key\":\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"DoesNotExist\"}", "")));
    expect(&w, "", 1, 1, MACHINE_TOO_SMALL, "no machine that NodePool small brings has 1 nvidia.com/gpu (0 at most)");
    pool(&w, POOL("small", TEMPLATE("{\"key\":\"karpenter.k8s.aws/instance-cpu\",\"operator\":\"In\",\"values\":[\"1\"]}", "")));
    expect(&w, "", 1, 1, MACHINE_TOO_SMALL, "no machine that NodePool small brings has 2 cpu (1 at most)");
    pool(&w, POOL("large", TEMPLATE(GPUS("\"8\""), "")));
    expect(&w, "", 8, 5, MACHINE_FITS, ""); /* of the other one */
    expect(
        &w, "", 16, 5, MACHINE_TOO_SMALL,
        "no machine that NodePool large brings has 16 nvidia.com/gpu (8 at most); no machine that NodePool small brings has 2 cpu (1 at most)");
    world_free(&w);
}

/* What a type has is learned from any claim of it; one that was never seen may have anything. */
static void size_by_claims(void **state)
{
    (void)state;
    struct world w = world_new();
    pool(&w, POOL("a", TEMPLATE(TYPES("\"t4\",\"t8\""), "")));
    claim(&w, CLAIM("1", "b", "t4", "4", THERE));
    expect(&w, "", 8, 1, MACHINE_FITS, "");
    claim(&w, CLAIM("2", "b", "t8", "7", THERE)); /* one that came with a GPU less */
    claim(&w, CLAIM("3", "b", "t8", "8", THERE));
    expect(&w, "", 8, 1, MACHINE_FITS, "");
    expect(&w, "", 9, 1, MACHINE_TOO_SMALL, "no machine that NodePool a brings has 9 nvidia.com/gpu (8 at most)");
    expect(&w, "\"nodeSelector\":{\"node.kubernetes.io/instance-type\":\"t4\"}", 8, 1, MACHINE_TOO_SMALL,
           "no machine that NodePool a brings has 8 nvidia.com/gpu (4 at most)");
    expect(&w, "\"nodeSelector\":{\"node.kubernetes.io/instance-type\":\"t16\"}", 8, 1, MACHINE_LABELS,
           "no machine that NodePool a brings has the label node.kubernetes.io/instance-type that is asked for");
    assert_true(machine_claims_drop(w.m, "3"));
    expect(&w, "", 8, 1, MACHINE_TOO_SMALL, "no machine that NodePool a brings has 8 nvidia.com/gpu (7 at most)");
    world_free(&w);
}

#define IN(key, value) "{\"key\":\"" key "\",\"operator\":\"In\",\"values\":[" value "]}"
#define WANTS(op, key, values)                                                                                                             \
    "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{"  \
    "\"key\":\"" key "\",\"operator\":\"" op "\"" values "}]}]}}}"
#define OF(value) ",\"values\":[" value "]"

static void labels_and_taints(void **state)
{
    (void)state;
    struct world w = world_new();
    pool(
        &w,
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"team\":\"a\"}},\"spec\":{\"requirements\":[" IN(
            "karpenter.sh/capacity-type",
            "\"on-demand\",\"reserved\"") "," IN("topology.kubernetes.io/zone",
                                                 "\"z1\",\"z2\"") ","
                                                                  "{\"key\":\"rank\",\"operator\":\"In\",\"values\":[\"3\",\"5\"]},{\"key\":\"old\",\"operator\":\"DoesNotExist\"}]}}}}");
    static const struct {
        bool may;
        const char *spec;
    } cases[] = {
        {true, "\"nodeSelector\":{\"team\":\"a\",\"karpenter.sh/nodepool\":\"p\"}"},
        {false, "\"nodeSelector\":{\"team\":\"b\"}"},
        {false, "\"nodeSelector\":{\"group\":\"b\"}"},
        {false, "\"nodeSelector\":{\"example.com/group\":\"b\"}"},
        {true,
         "\"nodeSelector\":{\"karpenter.k8s.aws/instance-family\":\"p5\",\"kubernetes.io/arch\":\"amd64\",\"eks.amazonaws.com/nodegroup\":\"x\"}"},
        {false, "\"nodeSelector\":{\"notkubernetes.iox/arch\":\"amd64\"}"},
        {false, "\"nodeSelector\":{\"kubernetes.io/hostname\":\"n1\"}"},
        {false, "\"nodeSelector\":{\"karpenter.sh/capacity-type\":\"spot\"}"},
        {true, WANTS("In", "karpenter.sh/capacity-type", OF("\"spot\",\"reserved\""))},
        {false, WANTS("NotIn", "karpenter.sh/capacity-type", OF("\"on-demand\",\"reserved\""))},
        {true, WANTS("NotIn", "karpenter.sh/capacity-type", OF("\"on-demand\""))},
        {true, WANTS("NotIn", "group", OF("\"x\""))},
        {false, WANTS("NotIn", "karpenter.sh/nodepool", OF("\"p\""))},
        {false, WANTS("In", "topology.kubernetes.io/zone", OF("\"z3\""))},
        {true, WANTS("Exists", "topology.kubernetes.io/region", "")},
        {true, WANTS("Exists", "karpenter.sh/nodepool", "")},
        {false, WANTS("Exists", "group", "")},
        {false, WANTS("Exists", "old", "")},
        {true, WANTS("DoesNotExist", "old", "")},
        {true, WANTS("DoesNotExist", "group", "")},
        {false, WANTS("DoesNotExist", "team", "")},
        {false, WANTS("DoesNotExist", "karpenter.sh/nodepool", "")},
        {true, WANTS("Gt", "rank", OF("\"4\""))},
        {false, WANTS("Gt", "rank", OF("\"5\""))},
        {false, WANTS("Lt", "rank", OF("\"3\""))},
        {true, WANTS("Gt", "karpenter.k8s.aws/instance-cpu", OF("\"64\""))},
        {false,
         "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchFields\":[{"
         "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]}]}}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine_verdict v = judged(&w, cases[i].spec, 1, 1);
        if ((v.cause == MACHINE_FITS) != cases[i].may)
            fail_msg("%s: %d \"%s\"", cases[i].spec, v.cause, v.text);
    }
    expect(&w, "\"nodeSelector\":{\"karpenter.sh/nodepool\":\"q\"}", 1, 1, MACHINE_LABELS,
           "there is no NodePool of the name that is asked for");
    pool(
        &w,
        POOL(
            "p",
            TEMPLATE(
                "",
                ",\"startupTaints\":[{\"key\":\"capstan.dev/starting\",\"effect\":\"NoSchedule\"}],\"taints\":[{\"key\":\"soft\",\"effect\":"
                "\"PreferNoSchedule\"},{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]")));
    expect(&w, "", 1, 1, MACHINE_TAINTED, "machines of NodePool p have the taint gpu, which is not tolerated");
    expect(&w, "\"tolerations\":[{\"key\":\"gpu\",\"value\":\"no\"}]", 1, 1, MACHINE_TAINTED,
           "machines of NodePool p have the taint gpu, which is not tolerated");
    expect(&w, "\"tolerations\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]", 1, 1, MACHINE_FITS, "");
    expect(&w, "\"tolerations\":[{\"operator\":\"Exists\"}]", 1, 1, MACHINE_FITS, "");
    pool(&w, "{\"metadata\":{\"name\":\"p\"},\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}");
    expect(&w, "", 1, 1, MACHINE_UNREADY, "NodePool p is not ready");
    world_free(&w);
}

static void limits_count(void **state)
{
    (void)state;
    struct world w = world_new();
    pool(&w, POOL("l", "\"limits\":{\"nvidia.com/gpu\":\"20\",\"cpu\":\"1k\"}," TEMPLATE(TYPES("\"t8\""), "")));
    expect(&w, "", 8, 3, MACHINE_LIMITED, "NodePool l has limits (nvidia.com/gpu: 20, cpu: 1k): machines for 2 of 3 pods may come");
    claim(&w, CLAIM("1", "other", "t8", "8", THERE));
    expect(&w, "", 8, 2, MACHINE_FITS, ""); /* two of 8; the rest of 4 makes no machine */
    expect(&w, "", 4, 5, MACHINE_LIMITED, "NodePool l has limits (nvidia.com/gpu: 20, cpu: 1k): machines for 4 of 5 pods may come");
    claim(&w, CLAIM("2", "l", "t8", "8", THERE)); /* somebody's */
    expect(&w, "", 8, 2, MACHINE_LIMITED, "NodePool l has limits (nvidia.com/gpu: 20, cpu: 1k): machines for 1 of 2 pods may come");
    claim(&w, CLAIM("3", "l", "t8", "8", "")); /* on its way */
    struct machine_verdict v = judged(&w, "", 8, 1);
    assert_int_equal(v.cause, MACHINE_FITS);
    assert_int_equal(v.coming_n, 1);
    assert_string_equal(v.coming, "l");
    expect(&w, "", 8, 2, MACHINE_LIMITED, "NodePool l has limits (nvidia.com/gpu: 20, cpu: 1k): machines for 1 of 2 pods may come");
    assert_true(machine_claims_put(w.m, parsed(&w, CLAIM("3", "l", "t8", "8", THERE))));
    assert_false(machine_claims_put(w.m, parsed(&w, CLAIM("3", "l", "t8", "8", THERE))));
    expect(&w, "", 8, 1, MACHINE_LIMITED, "NodePool l has limits (nvidia.com/gpu: 20, cpu: 1k): machines for 0 of 1 pods may come");
    pool(&w, POOL("m", "\"limits\":{\"nodes\":\"1\"}," TEMPLATE(TYPES("\"t8\""), "")));
    expect(&w, "", 4, 2, MACHINE_FITS, "");
    expect(&w, "", 4, 3, MACHINE_LIMITED,
           "NodePool l has limits (nvidia.com/gpu: 20, cpu: 1k); NodePool m has limits (nodes: 1): machines for 2 of 3 pods may come");
    world_free(&w);
}

/* Not launched: it will be as large as the pods that it was ordered for. */
static void claims_before_they_are_launched(void **state)
{
    (void)state;
    struct world w = world_new();
    pool(&w, POOL("l", "\"limits\":{\"nvidia.com/gpu\":\"8\"}"));
    expect(&w, "", 8, 1, MACHINE_FITS, "");
    claim(
        &w,
        "{\"metadata\":{\"name\":\"c\",\"labels\":{\"karpenter.sh/nodepool\":\"l\"}},\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"2\",\"nvidia.com/gpu\":"
        "\"8\"}}}}");
    assert_int_equal(judged(&w, "", 8, 1).cause, MACHINE_FITS);
    assert_int_equal(judged(&w, "", 8, 1).coming_n, 1);
    expect(&w, "", 8, 2, MACHINE_LIMITED, "NodePool l has limits (nvidia.com/gpu: 8): machines for 1 of 2 pods may come");
    claim(
        &w,
        "{\"metadata\":{\"name\":\"c\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"karpenter.sh/nodepool\":\"l\"}},\"spec\":{\"resources\":{"
        "\"requests\":{\"cpu\":\"2\",\"nvidia.com/gpu\":\"8\"}}}}");
    expect(&w, "", 8, 1, MACHINE_LIMITED,
           "NodePool l has limits (nvidia.com/gpu: 8): machines for 0 of 1 pods may come"); /* gives way, and counts yet */
    world_free(&w);
}

static void several_kinds_share_a_limit(void **state)
{
    (void)state;
    struct world w = world_new();
    struct shape a = shape_of(&w, "", 8), b = shape_of(&w, "", 4);
    const struct machine_ask asks[] = {{&a, 2, "a"}, {&b, 1, "b"}};
    pool(&w, POOL("l", "\"limits\":{\"nvidia.com/gpu\":\"16\"}"));
    machine_pools_sum(w.m);
    struct machine_verdict v = machine_judge_together(w.m, w.names, asks, 2, w.a);
    assert_int_equal(v.cause, MACHINE_LIMITED);
    assert_string_equal(v.text, "NodePool l has limits (nvidia.com/gpu: 16): its pods ask for 20 nvidia.com/gpu, and 16 may come");
    pool(&w, POOL("m", ""));
    assert_int_equal(machine_judge_together(w.m, w.names, asks, 2, w.a).cause, MACHINE_FITS);
    world_free(&w);
}

/* Resources that Karpenter has never told of may be there all the same: an overlay, or a device plugin. */
static void other_resources(void **state)
{
    (void)state;
    struct world w = world_new();
    struct shape shape;
    pool(&w, POOL("l", TEMPLATE(TYPES("\"t8\""), "")));
    claim(&w, CLAIM("1", "l", "t8", "8", THERE));
    assert_int_equal(decode_template(&w.d,
                                     parsed(&w, "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"rdma/hca\":1,"
                                                "\"nvidia.com/mig-1g.5gb\":2}}}]}}"),
                                     0, "t", &shape, NULL),
                     0);
    machine_pools_sum(w.m);
    assert_int_equal(machine_judge(w.m, w.names, &(struct machine_ask){&shape, 9, ""}, w.a).cause, MACHINE_FITS);
    claim(&w,
          "{\"metadata\":{\"name\":\"2\",\"labels\":{\"karpenter.sh/nodepool\":\"z\"}},\"status\":{\"capacity\":{\"rdma/hca\":\"1\"}}}");
    machine_pools_sum(w.m);
    assert_string_equal(machine_judge(w.m, w.names, &(struct machine_ask){&shape, 9, ""}, w.a).text,
                        "no machine that NodePool l brings has 1 rdma/hca (0 at most)");
    world_free(&w);
}

/* More than is kept is left out, and of a pool with too much nothing is sure. */
static void bounds(void **state)
{
    (void)state;
    struct world w = world_new();
    struct buf text = {0};
    buf_printf(&text, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"template\":{\"spec\":{\"requirements\":[" GPUS("\"1\""));
    for (int i = 0; i < MACHINE_TERMS; i++)
        buf_printf(&text, ",{\"key\":\"k%d\",\"operator\":\"Exists\"}", i);
    buf_printf(&text, "]}}}}");
    pool(&w, text.data);
    expect(&w, "", 8, 1, MACHINE_FITS, "");
    buf_free(&text);
    for (int i = 0; i < MACHINE_POOLS + 5; i++)
        pool(&w, arena_printf(w.a, "{\"metadata\":{\"name\":\"p%d\"},\"spec\":{}}", i));
    assert_int_equal(map_count(w.m->pools), MACHINE_POOLS);
    buf_init(&text);
    buf_printf(&text, "{\"metadata\":{\"name\":\"c\"},\"status\":{\"capacity\":{\"a\":\"1\"");
    for (int i = 0; i < 2 * MACHINE_RESOURCES; i++)
        buf_printf(&text, ",\"r%d\":\"%d\"", i, i);
    buf_printf(&text, ",\"nvidia.com/gpu\":\"99999999999999999999999E\"}}}");
    claim(&w, text.data);
    buf_free(&text);
    assert_int_equal(w.m->resources_n, MACHINE_RESOURCES);
    for (int i = 0; i < MACHINE_CLAIMS + 5; i++)
        claim(&w, arena_printf(w.a, "{\"metadata\":{\"name\":\"c%d\"}}", i));
    assert_int_equal(map_count(w.m->claims), MACHINE_CLAIMS);
    machine_pools_sum(w.m);
    world_free(&w);
}

static void whose_machines_will_do(void **state)
{
    (void)state;
    struct world w = world_new();
    struct shape any = shape_of(&w, "", 1), pools = shape_of(&w, "\"nodeSelector\":{\"karpenter.sh/nodepool\":\"p\"}", 1),
                 type = shape_of(&w, WANTS("In", "karpenter.sh/capacity-type", OF("\"spot\"")), 1),
                 other = shape_of(&w, WANTS("NotIn", "karpenter.sh/capacity-type", OF("\"spot\"")), 1);
    assert_false(machine_is_karpenters(w.names, &any));
    assert_true(machine_is_karpenters(w.names, &pools));
    assert_true(machine_is_karpenters(w.names, &type));
    assert_false(machine_is_karpenters(w.names, &other));
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_may_be),
        cmocka_unit_test(size_by_requirements),
        cmocka_unit_test(size_by_claims),
        cmocka_unit_test(labels_and_taints),
        cmocka_unit_test(limits_count),
        cmocka_unit_test(claims_before_they_are_launched),
        cmocka_unit_test(several_kinds_share_a_limit),
        cmocka_unit_test(other_resources),
        cmocka_unit_test(bounds),
        cmocka_unit_test(whose_machines_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
