/* test_scale_up.c - the admission check for machines that come: what its entry in a Workload says, and when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "codec/decode/decode.h"
#include "sched/checks/held_nodes.h"
#include "sched/checks/passed_over.h"
#include "sched/checks/scale_up.h"

#define AT_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define CHECK(more) "{\"metadata\":{\"name\":\"m\"" more "},\"spec\":{\"controllerName\":\"capstan.dev/scale-up\"}}"
#define SETS "\"spec\":{\"podSets\":[{\"name\":\"a\"},{\"name\":\"b\",\"template\":{\"metadata\":{\"annotations\":{\"karpenter.sh/do-not-disrupt\":\"no\"}}}}]}"
#define ZONED "\"spec\":{\"podSets\":[{\"name\":\"one\",\"topologyRequest\":{\"required\":\"zone\"}},{\"name\":\"any\"},{\"name\":\"chosen\"," \
              "\"topologyRequest\":{\"required\":\"zone\"},\"template\":{\"spec\":{\"nodeSelector\":{\"zone\":\"c\"}}}}]}"
#define ADMITTED "\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
#define TOLERATION "\"tolerations\":[{\"key\":\"capstan.dev/held-for\",\"operator\":\"Equal\",\"value\":\"n.w\",\"effect\":\"NoSchedule\"}]"
#define READY "{\"name\":\"m\",\"state\":\"Ready\"}"

struct asked {
    struct arena *a;
    const char *check;
    int64_t again_ms;
    bool unsettled;
    const char *hopeless;
    const char *queue;        /* its ClusterQueue; NULL: not known */
    bool has_zones;           /* "a" and "b" are known to hold them */
    const char *passed_over;  /* out: what the condition says then; "": nothing */
};

static const struct json *find(void *ctx, const char *name, struct arena *a)
{
    struct asked *x = ctx;
    return strcmp(name, "m") == 0 ? json_parse(a, bytes_of(x->check), NULL, NULL) : NULL;
}

/* Flavors of the name of their pool; "any" has no label, "gone" is not there. */
static const struct json *find_flavor(void *ctx, const char *name, struct arena *a)
{
    (void)ctx;
    if (strcmp(name, "gone") == 0)
        return NULL;
    const char *labels = strcmp(name, "any") == 0 ? "" : arena_printf(a, "\"nodeLabels\":{\"pool\":\"%s\"}", name);
    return json_parse(a, bytes_of(arena_printf(a, "{\"spec\":{%s}}", labels)), NULL, NULL);
}

static const char *find_domain(void *ctx, const char *key, const struct json *left_out, struct arena *a)
{
    static const char *const zones[] = {"a", "b"};
    (void)ctx, (void)a;
    assert_string_equal(key, "zone");
    for (int i = 0; i < 2; i++) {
        bool out = false;
        JSON_EACH (one, left_out)
            out |= strcmp(json_text(one, ""), zones[i]) == 0;
        if (!out)
            return zones[i];
    }
    return NULL;
}

/* The list of a Workload with this status after so many ms, as text; "": as it is. */
static const char *list_after(struct asked *x, const char *status, int64_t ms, bool stands, int64_t bound_ms)
{
    const struct json *workload = json_parse(x->a, bytes_of(arena_printf(x->a, "{\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},%s,\"status\":{%s}}", x->has_zones ? ZONED : SETS, status)), NULL, NULL);
    assert_non_null(workload);
    const struct scale_up u = {
        .workload = workload, .stands = stands, .bound_ms = bound_ms, .is_settled = !x->unsettled, .hopeless = x->hopeless,
                               .now_ms = AT_MS + ms,
                               .queue = x->queue ? json_parse(x->a, bytes_of(x->queue), NULL, NULL) : NULL,
                               .find = find, .find_flavor = find_flavor, .ctx = x, .domain = x->has_zones ? find_domain : NULL};
    struct buf text = {0}, note = {0};
    x->again_ms = 0;
    struct scale_up_said said = scale_up_followed(x->a, &u, json_path(workload, "status", "admissionChecks", NULL));
    x->again_ms = said.again_ms;
    if (said.list)
        json_write(&text, said.list);
    const char *copy = arena_text(x->a, said.list ? text.data : "");
    if (said.passed_over)
        json_write(&note, said.passed_over);
    x->passed_over = arena_text(x->a, said.passed_over ? note.data : "");
    buf_free(&text);
    buf_free(&note);
    return copy;
}

static void quota_is_enough(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), 0};
    assert_string_equal(
        list_after(&x, "\"admissionChecks\":[{\"name\":\"other\",\"state\":\"Pending\"},{\"name\":\"m\",\"state\":\"Pending\",\"retryCount\":1}]", 0,
                   false, 0),
        "[{\"name\":\"other\",\"state\":\"Pending\"},{\"name\":\"m\",\"state\":\"Ready\",\"retryCount\":1,\"message\":\"machines for its pods have 15m to "
        "come\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"podSetUpdates\":[{\"annotations\":{\"capstan.dev/scale-up\":\"15m\","
        "\"karpenter.sh/do-not-disrupt\":\"true\"},\"name\":\"a\"," TOLERATION "},{\"annotations\":{\"capstan.dev/scale-up\":\"15m\"},\"name\":\"b\","
        TOLERATION "}]}]");
    assert_string_equal(list_after(&x, "\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Rejected\"}]", 0, false, 0), "");
    assert_string_equal(list_after(&x, "\"admissionChecks\":7", 0, false, 0), "");
    arena_free(x.a);
}

static void machines_have_their_time(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(",\"annotations\":{\"capstan.dev/scale-up-timeout\":\"10m\"}"), 0};
    const char *status = ADMITTED ",\"admissionChecks\":[" READY "]";
    assert_string_equal(list_after(&x, "\"admissionChecks\":[" READY "]", 900000, false, 0), ""); /* not admitted yet */
    assert_int_equal(x.again_ms, 0);
    assert_string_equal(list_after(&x, status, 60000, false, 0), "");
    assert_int_equal(x.again_ms, 540000);
    assert_string_equal(list_after(&x, status, 60000, true, 0), ""); /* they have come: nothing to write before it matters */
    assert_string_equal(list_after(&x, status, 900000, false, AT_MS + 800000), ""); /* had, a moment ago: a node has failed */
    assert_int_equal(x.again_ms, 500000);
    assert_non_null(strstr(list_after(&x, status, 600000, false, 0),
                           "\"state\":\"Retry\",\"message\":\"the machines for its pods did not come within 10m\""));
    arena_free(x.a);
}

/* Who stands when the time is over has them, for good: a scheduler that begins anew meets gangs of which a pod is being replaced. */
static void machines_come_once(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), 0};
    const char *came = list_after(&x, ADMITTED ",\"admissionChecks\":[" READY "]", 900000, true, 0);
    assert_string_equal(came, "[{\"name\":\"m\",\"state\":\"Ready\",\"message\":\"the machines for its pods have come\"}]");
    const char *status = arena_printf(x.a, ADMITTED ",\"admissionChecks\":%s", came);
    assert_string_equal(list_after(&x, status, 900000000, false, 0), "");
    assert_int_equal(x.again_ms, 0);
    x.unsettled = true; /* its pods are not known yet */
    assert_string_equal(list_after(&x, ADMITTED ",\"admissionChecks\":[" READY "]", 900000, false, 0), "");
    assert_int_equal(x.again_ms, 1000);
    arena_free(x.a);
}

/* Where no machine can come nobody waits for one. */
static void what_cannot_come_is_not_waited_for(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), .hopeless = "too small"};
    const char *retry = "\"state\":\"Retry\",\"message\":\"no machines can come for its pods: too small\"",
               *given = ADMITTED ",\"admission\":{\"clusterQueue\":\"q\"},\"admissionChecks\":[" READY "]";
    const char *pending = "\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Pending\"}]";
    assert_string_equal(list_after(&x, pending, 0, false, 0), ""); /* its quota is being written */
    assert_non_null(strstr(list_after(&x, arena_printf(x.a, "\"admission\":{\"clusterQueue\":\"q\"},%s", pending), 0, false, 0), retry));
    assert_non_null(strstr(list_after(&x, given, 1000, false, 0), retry));
    assert_string_equal(list_after(&x, given, 1000, true, 0), ""); /* it stands */
    const char *came = ADMITTED ",\"admission\":{\"clusterQueue\":\"q\"},\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Ready\",\"message\":\"the "
                                "machines for its pods have come\"}]";
    assert_string_equal(list_after(&x, came, 1000, false, 0), "");
    arena_free(x.a);
}

/* The zone is said before machines are asked for; where none came the next one is, before another flavor; then all are tried again. */
static void who_stands_together_is_given_a_zone(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), .has_zones = true, .queue = "{\"spec\":{}}"};
    const char *ready = list_after(&x, "\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Pending\"}]", 0, false, 0);
    const struct json *updates = json_get(json_first(json_parse(x.a, bytes_of(ready), NULL, NULL)), "podSetUpdates");
    assert_string_equal(json_text(json_path(json_item(updates, 0), "nodeSelector", "zone", NULL), ""), "a");
    assert_null(json_get(json_item(updates, 1), "nodeSelector"));
    assert_null(json_get(json_item(updates, 2), "nodeSelector"));
    const char *late = list_after(&x, arena_printf(x.a, ADMITTED ",\"admissionChecks\":%s", ready), 900000, false, 0);
    assert_non_null(strstr(late, "did not come within 15m; another domain is tried now"));
    assert_null(strstr(late, "requeueAfterSeconds"));
    assert_string_equal(x.passed_over, "{\"until\":\"2026-01-01T00:16:00Z\",\"flavors\":{},\"domains\":{\"zone\":[\"a\"]}}");
    const char *note = arena_printf(x.a, "\"conditions\":[{\"type\":\"capstan.dev/PassedOver\",\"status\":\"True\",\"message\":\"{\\\"until\\\":"
                                         "\\\"2026-01-01T00:16:00Z\\\",\\\"flavors\\\":{},\\\"domains\\\":{\\\"zone\\\":[\\\"a\\\"]}}\"},"
                                         "{\"type\":\"Admitted\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]");
    ready = list_after(&x, arena_printf(x.a, "%s,\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Pending\"}]", note), 0, false, 0);
    assert_non_null(strstr(ready, "\"nodeSelector\":{\"zone\":\"b\"}"));
    late = list_after(&x, arena_printf(x.a, "%s,\"admissionChecks\":%s", note, ready), 900000, false, 0);
    assert_non_null(strstr(late, "\"requeueAfterSeconds\":60"));
    assert_string_equal(x.passed_over, "");
    arena_free(x.a);
}

/* 1, 2, 4 minutes and so on, half an hour at most. */
static void pauses_grow(void **state)
{
    (void)state;
    static const int counts[] = {0, 1, 4, 5, 1000, -1}, pauses[] = {60, 120, 960, 1800, 1800, 1800};
    struct asked x = {arena_new(), CHECK(""), 0};
    for (int i = 0; i < 6; i++) {
        const char *status =
            arena_printf(x.a, ADMITTED ",\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Ready\",\"retryCount\":%d}]", counts[i]);
        assert_non_null(strstr(list_after(&x, status, 900000, false, 0), arena_printf(x.a, "\"requeueAfterSeconds\":%d}", pauses[i])));
    }
    arena_free(x.a);
}

static void what_is_wrong_with_it(void **state)
{
    (void)state;
    static const char *const bad[] = {"soon", "-5m", "0s", "500ms", "169h", "99999999999999999999h"};
    struct arena *a = arena_new();
    assert_null(scale_up_wrong(a, json_parse(a, bytes_of(CHECK("")), NULL, NULL)));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct asked x = {a, arena_printf(a, CHECK(",\"annotations\":{\"capstan.dev/scale-up-timeout\":\"%s\"}"), bad[i]), 0};
        const char *wrong = scale_up_wrong(a, json_parse(a, bytes_of(x.check), NULL, NULL));
        assert_non_null(wrong);
        assert_non_null(strstr(wrong, "is no time from 1s to 168h; write one like 15m"));
        assert_string_equal(list_after(&x, "\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Pending\"}]", 0, false, 0), "");
    }
    assert_non_null(strstr(scale_up_wrong(a, json_parse(a, bytes_of("{\"spec\":{\"parameters\":{\"name\":\"x\"}}}"), NULL, NULL)), "takes none"));
    arena_free(a);
}

/* ---- the next flavor (passed_over.h) ---- */

#define QUEUE(checks, flavors) "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[" checks "]},\"resourceGroups\":[{\"flavors\":[" flavors "]}]}}"
#define GIVEN(flavor) ADMITTED ",\"admission\":{\"podSetAssignments\":[{\"name\":\"a\",\"flavors\":{\"gpu\":\"" flavor "\"}}]},\"admissionChecks\":[" READY "]"
#define SPOT "{\"name\":\"spot\"}"
#define OTHER "{\"name\":\"other\"}"

static void the_next_flavor_is_tried_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *queue, *given, *passed_over; /* "": it comes after a pause */
    } cases[] = {
        {QUEUE("{\"name\":\"m\"}", SPOT "," OTHER), GIVEN("spot"), "{\"spot\":{\"pool\":\"spot\"}}"},
        {QUEUE("{\"name\":\"m\"}", SPOT "," OTHER), GIVEN("other"), "{\"other\":{\"pool\":\"other\"}}"}, /* wherever it stands */
        {QUEUE("{\"name\":\"m\",\"onFlavors\":[\"spot\"]}", SPOT "," OTHER), GIVEN("spot"), "{\"spot\":{\"pool\":\"spot\"}}"},
        {QUEUE("{\"name\":\"m\"}", SPOT), GIVEN("spot"), ""},
        {QUEUE("{\"name\":\"m\"}", SPOT ",{\"name\":\"gone\"}"), GIVEN("spot"), ""},
        {QUEUE("{\"name\":\"m\"}", "{\"name\":\"any\"}," OTHER), GIVEN("any"), ""}, /* nothing tells its nodes from others */
        {"{\"spec\":{\"admissionChecks\":[\"m\"],\"resourceGroups\":[{\"flavors\":[" SPOT "," OTHER "]}]}}", GIVEN("spot"),
         "{\"spot\":{\"pool\":\"spot\"}}"}, /* v1beta1 */
        {"{\"spec\":7}", GIVEN("spot"), ""},
        {"{\"spec\":{\"resourceGroups\":[7,{\"flavors\":[7,{}]}]}}", GIVEN("spot"), ""},
    };
    struct asked x = {arena_new(), CHECK(""), 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        x.queue = cases[i].queue;
        const char *list = list_after(&x, cases[i].given, 900000, false, 0), *expected = cases[i].passed_over;
        expected = *expected ? arena_printf(x.a, "{\"until\":\"2026-01-01T00:16:00Z\",\"flavors\":%s}", expected) : "";
        assert_string_equal(x.passed_over, expected);
        assert_non_null(strstr(list, "\"state\":\"Retry\""));
        assert_int_equal(strstr(list, "requeueAfterSeconds") == NULL, *expected != '\0');
    }
    arena_free(x.a);
}

/* When all have been tried none is passed over, and it pauses. */
static void a_round_has_each_flavor_once(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), 0, .queue = QUEUE("{\"name\":\"m\"}", SPOT "," OTHER)};
    const char *status = "\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},"
                         "{\"type\":\"capstan.dev/PassedOver\",\"status\":\"%s\",\"message\":\"{\\\"until\\\":\\\"2026-01-01T00:01:00Z\\\","
                         "\\\"flavors\\\":{\\\"spot\\\":{\\\"pool\\\":\\\"spot\\\"}}}\"}],\"admission\":{\"podSetAssignments\":[{\"flavors\":{"
                         "\"gpu\":\"other\"}}]},\"admissionChecks\":[" READY "]";
    const char *list = list_after(&x, arena_printf(x.a, status, "True"), 900000, false, 0);
    assert_string_equal(x.passed_over, "");
    assert_non_null(strstr(list, "\"requeueAfterSeconds\":60"));
    (void)list_after(&x, arena_printf(x.a, status, "False"), 900000, false, 0); /* that time was over */
    assert_non_null(strstr(x.passed_over, "{\"other\":{\"pool\":\"other\"}}"));
    arena_free(x.a);
}

static const struct json *waiting(struct arena *a, const char *note, const char *affinity, const char *status)
{
    struct buf text = {0};
    json_write_string(&text, bytes_of(note));
    const char *object = arena_printf(a,
                                      "{\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,"
                                      "\"template\":{\"spec\":{%s\"containers\":[]}}}]},\"status\":{\"conditions\":[{\"type\":"
                                      "\"capstan.dev/PassedOver\",\"status\":\"True\",\"message\":%s}%s}}",
                                      affinity, text.data, status);
    buf_free(&text);
    const struct json *v = json_parse(a, bytes_of(object), NULL, NULL);
    assert_non_null(v);
    return v;
}

/* Node terms of its pods as text: "pool!=spot,zone!=a|..." */
static const char *terms_of(struct arena *a, const struct json *workload)
{
    struct intern *names = intern_new();
    struct decoder d = {.names = names, .arena = a};
    struct gang_record g;
    struct err e = {0};
    const char *text = "";
    assert_int_equal(decode_workload(&d, workload, &g, &e), 0);
    const struct shape *shape = &g.pod_sets[0].shape;
    for (uint32_t i = 0; i < shape->node_terms_n; i++)
        for (uint32_t k = 0; k < shape->node_terms[i].all_n; k++) {
            const struct requirement *r = &shape->node_terms[i].all[k];
            text = arena_printf(a, "%s%s%s%s%s", text, k ? "," : i ? "|" : "", intern_name(names, r->key),
                                r->op == REQUIRE_NOT_IN ? "!=" : "=", r->values_n == 1 ? intern_name(names, r->values[0]) : "?");
        }
    intern_free(names);
    return text;
}

static void its_pods_leave_these_nodes_out(void **state)
{
    (void)state;
    struct arena *a = arena_new();
#define NOTE(flavors) "{\"until\":\"2026-01-01T00:01:00Z\",\"flavors\":{" flavors "}}"
#define TERMS(terms) "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[" terms "]}}},"
#define ZONE "{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}"
    static const struct {
        const char *note, *affinity, *status, *terms;
    } cases[] = {
        {NOTE("\"spot\":{\"pool\":\"spot\"}"), "", "]", "pool!=spot"},
        {NOTE("\"s\":{\"pool\":\"x\",\"type\":\"spot\"}"), "", "]", "pool!=x|type!=spot"},
        {NOTE("\"s\":{\"pool\":\"s\"},\"t\":{\"pool\":\"t\"}"), "", "]", "pool!=s,pool!=t"},
        {NOTE("\"spot\":{\"pool\":\"spot\"}"), TERMS(ZONE "," ZONE), "]", "zone=a,pool!=spot|zone=a,pool!=spot"},
        {NOTE("\"spot\":{\"pool\":\"spot\"}"), TERMS("{}," ZONE), "]", "zone=a,pool!=spot"},
        {NOTE("\"any\":{}"), "", "]", ""},
        {"no note", "", "]", ""},
        {"[]", "", "]", ""},
        {NOTE("\"a\":7"), "", "]", ""},
        /* with quota of another flavor it stays so, and of that one it does not count: it is being given back */
        {NOTE("\"spot\":{\"pool\":\"spot\"}"), "",
         ",{\"type\":\"QuotaReserved\",\"status\":\"True\"}],\"admission\":{\"clusterQueue\":\"q\",\"podSetAssignments\":[{\"name\":\"main\","
         "\"flavors\":{\"gpu\":\"other\"}}]}", "pool!=spot"},
        {NOTE("\"spot\":{\"pool\":\"spot\"}"), "",
         ",{\"type\":\"QuotaReserved\",\"status\":\"True\"}],\"admission\":{\"clusterQueue\":\"q\",\"podSetAssignments\":[{\"name\":\"main\","
         "\"flavors\":{\"gpu\":\"spot\"}}]}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(terms_of(a, waiting(a, cases[i].note, cases[i].affinity, cases[i].status)), cases[i].terms);
    const char *labels = "\"l0\":\"0\"";
    for (int i = 1; i < 65; i++) /* as many terms: too many */
        labels = arena_printf(a, "%s,\"l%d\":\"0\"", labels, i);
    const char *note = arena_printf(a, "{\"flavors\":{\"a\":{%s}}}", labels);
    assert_string_equal(terms_of(a, waiting(a, note, "", "]")), "");
    assert_string_equal(passed_over_told(a, waiting(a, NOTE("\"spot\":{\"pool\":\"spot\"}"), "", "]"), "it waits"),
                        "it waits (no machines of flavor spot came in time: left out until 2026-01-01T00:01:00Z)");
    arena_free(a);
}

/* ---- what came meanwhile is held (held_nodes.h) ---- */

struct holds {
    struct arena *a;
    struct held_nodes *held;
    const char *said;  /* what was told: "node=holder ..." */
    bool no_flavors;   /* they have not been read yet */
};

static const struct json *flavor_then(void *ctx, const char *name, struct arena *a)
{
    const struct holds *x = ctx;
    return x->no_flavors ? NULL : find_flavor(NULL, name, a);
}

static void on_hold(void *arg, struct bytes raw, const char *holder)
{
    struct holds *x = arg;
    const struct json *node = json_parse(x->a, raw, NULL, NULL);
    x->said = arena_printf(x->a, "%s%s=%s ", x->said, json_text(json_path(node, "metadata", "name", NULL), ""), holder ? holder : "");
}

static struct holds holds_new(void)
{
    return (struct holds){.a = arena_new(), .said = ""};
}

/* Pods of 4 GPUs in all, admitted so many seconds after AT_MS. */
static void wait_for(struct holds *x, const char *name, int pods, int second)
{
    const char *text = arena_printf(
        x->a,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{\"podSets\":[{\"name\":\"main\",\"template\":{\"spec\":{\"nodeSelector\":{"
        "\"zone\":\"a\"}}}}]},\"status\":{\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"lastTransitionTime\":"
        "\"2026-01-01T00:00:%02dZ\"}],\"admission\":{\"podSetAssignments\":[{\"name\":\"main\",\"count\":%d,\"flavors\":{\"gpu\":\"spot\"},"
        "\"resourceUsage\":{\"gpu\":\"%d\"}}]}}}",
        name, second, pods, 4 * pods);
    held_nodes_wait(x->held, name, json_parse(x->a, bytes_of(text), NULL, NULL));
}

static const char *came(struct holds *x, const char *name, const char *labels, const char *gpus, int second)
{
    const char *text = arena_printf(x->a,
                                    "{\"metadata\":{\"name\":\"%s\",\"creationTimestamp\":\"2026-01-01T00:00:%02dZ\",\"labels\":{%s}},"
                                    "\"status\":{\"allocatable\":{\"gpu\":\"%s\"}}}",
                                    name, second, labels, gpus);
    const char *holder = held_nodes_of(x->held, bytes_of(text), AT_MS + 60000);
    return holder ? holder : "";
}
#define FITS "\"pool\":\"spot\",\"zone\":\"a\""

static void nodes_that_come_are_held(void **state)
{
    (void)state;
    struct holds x = holds_new();
    x.held = held_nodes_new(on_hold, flavor_then, &x);
    held_nodes_use(x.held, true);
    assert_string_equal(came(&x, "early", FITS, "8", 4), ""); /* nobody waits */
    wait_for(&x, "w", 3, 5);
    assert_string_equal(x.said, "");
    assert_string_equal(came(&x, "other", "\"pool\":\"other\",\"zone\":\"a\"", "8", 6), ""); /* of another flavor */
    assert_string_equal(came(&x, "far", "\"pool\":\"spot\",\"zone\":\"b\"", "8", 6), "");    /* where its pods do not go */
    assert_string_equal(came(&x, "small", FITS, "3", 6), "");
    assert_string_equal(came(&x, "bad", FITS, "many", 6), "");
    assert_string_equal(came(&x, "a", FITS, "0", 7), ""); /* its GPUs come later */
    assert_string_equal(came(&x, "a", FITS, "8", 7), "n.w");
    assert_string_equal(came(&x, "b", FITS, "4", 8), "n.w");
    assert_string_equal(came(&x, "c", FITS, "8", 9), ""); /* three pods have their room */
    assert_string_equal(x.said, "");
    held_nodes_gone(x.held, "b"); /* then the next one is */
    assert_string_equal(x.said, "c=n.w ");
    x.said = "";
    held_nodes_wait_no_more(x.held, "w");
    held_nodes_wait_no_more(x.held, "w");
    assert_string_equal(x.said, "a= c= ");
    assert_string_equal(came(&x, "a", FITS, "8", 7), "");
    held_nodes_free(x.held);
    arena_free(x.a);
}

/* Whoever was admitted first takes what was made first, whatever is read first. */
static void holds_do_not_depend_on_the_order_of_reading(void **state)
{
    (void)state;
    for (int order = 0; order < 4; order++) {
        struct holds x = holds_new();
        x.held = held_nodes_new(on_hold, flavor_then, &x);
    held_nodes_use(x.held, true);
        for (int i = 0; i < 2; i++) {
            if ((i == 0) == (order % 2 == 0))
                wait_for(&x, "first", 2, 1);
            else
                wait_for(&x, "second", 2, 2);
        }
        (void)came(&x, order / 2 ? "b" : "a", FITS, "8", order / 2 ? 4 : 3);
        (void)came(&x, order / 2 ? "a" : "b", FITS, "8", order / 2 ? 3 : 4);
        assert_string_equal(came(&x, "a", FITS, "8", 3), "n.first");
        assert_string_equal(came(&x, "b", FITS, "8", 4), "n.second");
        held_nodes_free(x.held);
        arena_free(x.a);
    }
}

static void flavors_may_be_read_last(void **state)
{
    (void)state;
    struct holds x = holds_new();
    x.held = held_nodes_new(on_hold, flavor_then, &x);
    held_nodes_use(x.held, true);
    x.no_flavors = true;
    wait_for(&x, "w", 2, 1);
    assert_string_equal(came(&x, "a", FITS, "8", 3), "");
    x.no_flavors = false;
    held_nodes_look(x.held);
    assert_string_equal(x.said, "a=n.w ");
    assert_string_equal(came(&x, "", FITS, "8", 3), ""); /* no node */
    assert_null(held_nodes_of(x.held, BYTES("{\"creationTimestamp\":\"2026-01-01T00:00:03Z\""), AT_MS));
    assert_null(held_nodes_of(x.held, BYTES("{\"creationTimestamp\":\""), AT_MS));
    held_nodes_free(x.held);
    arena_free(x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quota_is_enough), cmocka_unit_test(machines_have_their_time),
                                       cmocka_unit_test(machines_come_once), cmocka_unit_test(who_stands_together_is_given_a_zone),
                                       cmocka_unit_test(what_cannot_come_is_not_waited_for),
                                       cmocka_unit_test(pauses_grow),
                                       cmocka_unit_test(what_is_wrong_with_it),
                                       cmocka_unit_test(the_next_flavor_is_tried_at_once), cmocka_unit_test(a_round_has_each_flavor_once),
                                       cmocka_unit_test(its_pods_leave_these_nodes_out),
                                       cmocka_unit_test(nodes_that_come_are_held), cmocka_unit_test(flavors_may_be_read_last),
                                       cmocka_unit_test(holds_do_not_depend_on_the_order_of_reading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
