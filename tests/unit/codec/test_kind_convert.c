/* Conversion between served versions: named cases, and random objects there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/random.h"
#include "codec/kinds/kind.h"

#define ROUNDS 400 /* random objects a kind and direction */

static struct random source = {11};

static uint32_t pick(uint32_t n)
{
    return (uint32_t)random_below(&source, n);
}

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v = json_parse(a, bytes_of(text), NULL, NULL);
    assert_non_null(v);
    return v;
}

static void assert_json(const struct json *v, const char *want)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct buf got;
    buf_init(&got);
    json_write(&got, v);
    if (!json_equal(v, parse(a, want)))
        assert_string_equal(got.data, want);
    buf_free(&got);
}

static void test_named_cases(void **state)
{
    (void)state;
    static const struct {
        const char *group, *plural, *to, *object, *want;
    } rows[] = {
        {"kueue.x-k8s.io", "clusterqueues", "v1beta2",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"cohort\":\"c\",\"admissionChecks\":[\"x\"],\"flavorFungibility\":{"
         "\"whenCanBorrow\":\"Borrow\",\"whenCanPreempt\":\"Preempt\"}},\"status\":{\"pendingWorkloadsStatus\":{}}}",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"spec\":{\"cohortName\":\"c\",\"admissionChecksStrategy\":{\"admissionChecks\":["
         "{\"name\":\"x\"}]},\"flavorFungibility\":{\"whenCanBorrow\":\"MayStopSearch\",\"whenCanPreempt\":\"MayStopSearch\"}},"
         "\"status\":{}}"},
        {"kueue.x-k8s.io", "workloads", "v1beta2",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"priorityClassName\":\"p\",\"priorityClassSource\":"
         "\"kueue.x-k8s.io/workloadpriorityclass\"}}",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"spec\":{\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\",\"kind\":"
         "\"WorkloadPriorityClass\",\"name\":\"p\"}}}"},
        {"kueue.x-k8s.io", "workloads", "v1beta2",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"status\":{\"admission\":{\"podSetAssignments\":[{\"topologyAssignment\":{"
         "\"levels\":[\"rack\",\"host\"],\"domains\":[{\"values\":[\"r1\",\"node-1-a\"],\"count\":2},{\"values\":[\"r1\",\"node-22-a\"],"
         "\"count\":2}]}}]}}}",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"status\":{\"admission\":{\"podSetAssignments\":[{\"topologyAssignment\":{"
         "\"levels\":[\"rack\",\"host\"],\"slices\":[{\"domainCount\":2,\"valuesPerLevel\":[{\"universal\":\"r1\"},{\"individual\":{"
         "\"prefix\":\"node-\",\"suffix\":\"-a\",\"roots\":[\"1\",\"22\"]}}],\"podCounts\":{\"universal\":2}}]}}]}}}"},
        {"kueue.x-k8s.io", "multikueueclusters", "v1beta1",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"x\"}}}}",
         "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"kubeConfig\":{\"location\":\"x\"}}}"},
        {"autoscaling", "horizontalpodautoscalers", "v2",
         "{\"apiVersion\":\"autoscaling/v1\",\"spec\":{\"maxReplicas\":3,\"targetCPUUtilizationPercentage\":80}}",
         "{\"apiVersion\":\"autoscaling/v2\",\"spec\":{\"maxReplicas\":3,\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":"
         "\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":80}}}]}}"},
        {"scheduling.k8s.io", "podgroups", "v1beta1",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"spec\":{\"disruptionMode\":\"PodGroup\",\"podGroupTemplateRef\":{\"workload\":{"
         "\"workloadName\":\"w\",\"podGroupTemplateName\":\"t\"}},\"schedulingPolicy\":{\"gang\":{\"minCount\":4}}}}",
         "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"spec\":{\"disruptionMode\":{\"all\":{}},\"workloadRef\":{\"workloadName\":\"w\","
         "\"templateName\":\"t\"},\"schedulingPolicy\":{\"gang\":{\"minCount\":4}}}}"},
        {"scheduling.k8s.io", "podgroups", "v1beta1",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"DisruptionTarget\"},{\"type\":"
         "\"PodGroupScheduled\",\"status\":\"True\"}]}}",
         "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"DisruptionTarget\"},{\"type\":"
         "\"PodGroupInitiallyScheduled\",\"status\":\"True\"}]}}"},
        {"scheduling.k8s.io", "podgroups", "v1alpha2",
         "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"PodGroupInitiallyScheduled\","
         "\"status\":\"False\"}]}}",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"PodGroupScheduled\","
         "\"status\":\"False\"}]}}"},
        {"scheduling.k8s.io", "workloads", "v1beta1",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha1\",\"spec\":{\"controllerRef\":{\"kind\":\"Job\",\"name\":\"j\"},\"podGroups\":["
         "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":4}}},{\"name\":\"h\",\"policy\":{\"basic\":{}}}]}}",
         "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"spec\":{\"controllerRef\":{\"kind\":\"Job\",\"name\":\"j\"},\"podGroupTemplates\":["
         "{\"name\":\"g\",\"schedulingPolicy\":{\"gang\":{\"minCount\":4}}},{\"name\":\"h\",\"schedulingPolicy\":{\"basic\":{}}}]}}"},
        {"scheduling.k8s.io", "workloads", "v1alpha1",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"spec\":{\"podGroupTemplates\":[{\"name\":\"g\",\"schedulingPolicy\":{\"gang\":{"
         "\"minCount\":4}},\"disruptionMode\":\"PodGroup\",\"priority\":5}]}}",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha1\",\"spec\":{\"podGroups\":[{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":4}}}]}}"},
        {"scheduling.k8s.io", "workloads", "v1alpha2",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha1\",\"spec\":{\"podGroups\":[{\"name\":\"g\",\"policy\":{\"basic\":{}}}]}}",
         "{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"spec\":{\"podGroupTemplates\":[{\"name\":\"g\",\"schedulingPolicy\":{\"basic\":{}}}]}}"},
        {"", "pods", "v1", "{\"apiVersion\":\"v1\",\"spec\":{\"odd\":1}}", "{\"apiVersion\":\"v1\",\"spec\":{\"odd\":1}}"},
    };
    struct kind_table *t = kind_table_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *v = parse(a, rows[i].object);
        kind_convert(a, kind_find(t, rows[i].group, rows[i].plural), v, rows[i].to);
        assert_json(v, rows[i].want);
    }
    kind_table_free(t);
}

/* Fields that one of the versions does not have, or that do not come back as they went. */
static bool is_lost(const char *name)
{
    static const char *const names[] = {"concurrentAdmissionPolicy", "preemptionGates", "podsetSliceRequiredTopologyConstraints",
                                        "quotaManagement", "admissionChecks", "whenCanBorrow", "whenCanPreempt", "pendingWorkloadsStatus",
                                        "flavors", "retryDelayMinutes", "priorityClassSource", "priorityClassName", "priorityClassRef",
                                        "slices", "template", "metadata", "apiVersion", "admissionFairSharingStatus"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static struct json *random_value(struct arena *a, const struct schema *s, const struct schema_field *f);

static struct json *random_topology(struct arena *a)
{
    struct json *v = parse(a, "{\"levels\":[\"block\",\"rack\",\"host\"],\"domains\":[]}");
    uint32_t n = 1 + pick(6), same = pick(2);
    for (uint32_t i = 0; i < n; i++) {
        struct json *d = parse(a, "{\"values\":[]}");
        json_set_int64(a, d, "count", same ? 3 : 1 + pick(4));
        for (int level = 0; level < 3; level++)
            json_append(json_get(d, "values"), json_new_text(a, arena_printf(a, "%s%.*s%u%s", pick(3) ? "n-" : "", (int)pick(3), "abc",
                                                                             pick(2), pick(2) ? "-z" : "")));
        json_append(json_get(v, "domains"), d);
    }
    return v;
}

static struct json *random_object(struct arena *a, const struct schema *s)
{
    struct json *v = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (f->inlined || is_lost(f->name) || pick(3) == 0)
            continue;
        if (strcmp(f->name, "topologyAssignment") == 0) {
            if (schema_field_find(f->type, BYTES("domains")))
                json_set(a, v, f->name, random_topology(a));
            continue;
        }
        json_set(a, v, f->name, random_value(a, f->type, f));
    }
    return v;
}

static struct json *random_value(struct arena *a, const struct schema *s, const struct schema_field *f)
{
    struct json *v;
    if (s->form == SCHEMA_OBJECT)
        return random_object(a, s);
    if (s->form == SCHEMA_LIST || s->form == SCHEMA_MAP) {
        v = json_new(a, s->form == SCHEMA_LIST ? JSON_ARRAY : JSON_OBJECT);
        for (uint32_t i = pick(3); i-- > 0;) {
            if (s->form == SCHEMA_LIST)
                json_append(v, random_value(a, s->item, f));
            else
                json_set(a, v, arena_printf(a, "k%u", i), random_value(a, s->item, NULL));
        }
        return v;
    }
    if (s->form == SCHEMA_BOOL)
        return json_new_bool(a, pick(2));
    if (s->form == SCHEMA_INT32 || s->form == SCHEMA_INT64)
        return json_new_int64(a, pick(100));
    if (s->form == SCHEMA_TIME || s->form == SCHEMA_MICRO_TIME)
        return json_new_text(a, "2026-01-02T03:04:05Z");
    if (s->form == SCHEMA_QUANTITY)
        return json_new_text(a, pick(2) ? "1Gi" : "0.5");
    return json_new_text(a, f && f->values ? f->values[0] : pick(2) ? "text" : "");
}

/* An empty object stands for an absent one. */
static void drop_empty(struct json *v)
{
    for (struct json *child = v->type >= JSON_ARRAY ? v->first : NULL, *next; child; child = next) {
        next = child->next;
        drop_empty(child);
        if (v->type == JSON_OBJECT && child->type == JSON_OBJECT && child->n == 0)
            json_remove(v, child->key);
    }
}

static const char *api_version(struct arena *a, const struct kind *k, const struct kind_version *v)
{
    return *k->group ? arena_printf(a, "%s/%s", k->group, v->version) : v->version;
}

static void there_and_back(const struct kind *k, const struct kind_version *from, const struct kind *other, const struct kind_version *to)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *v = random_object(a, from->schema);
    json_set_text(a, v, "apiVersion", api_version(a, k, from));
    drop_empty(v);
    struct json *before = json_clone(a, v);
    kind_convert(a, other, v, to->version);
    assert_string_equal(json_get_text(v, "apiVersion", ""), api_version(a, other, to));
    struct schema_findings found;
    struct err e = {0};
    assert_int_equal(schema_prune(a, to->schema, v, &found, &e), 0);
    assert_int_equal(found.unknown_n, 0);
    kind_convert(a, k, v, from->version);
    drop_empty(v);
    if (!json_equal(before, v)) {
        struct buf x, y;
        buf_init(&x);
        buf_init(&y);
        json_write(&x, before);
        json_write(&y, v);
        assert_string_equal(y.data, x.data);
    }
}

static void test_random_objects(void **state)
{
    (void)state;
    struct kind_table *t = kind_table_new();
    for (uint32_t i = 0; i < kind_count(t); i++) {
        const struct kind *k = kind_at(t, i);
        if (k->versions_n != 2 || strcmp(k->group, "kueue.x-k8s.io") != 0)
            continue;
        for (int round = 0; round < ROUNDS; round++) {
            there_and_back(k, &k->versions[0], k, &k->versions[1]);
            there_and_back(k, &k->versions[1], k, &k->versions[0]);
        }
    }
    kind_table_free(t);
}

/* Kinds of two groups that are stored as one. */
static void test_random_objects_of_two_groups(void **state)
{
    (void)state;
    uint32_t pairs_n = 0;
    struct kind_table *t = kind_table_new();
    for (uint32_t i = 0; i < kind_count(t); i++) {
        const struct kind *k = kind_at(t, i), *stored = kind_stored(k);
        if (stored == k)
            continue;
        pairs_n++;
        for (int round = 0; round < ROUNDS; round++) {
            there_and_back(k, &k->versions[0], stored, kind_storage(k));
            there_and_back(stored, kind_storage(k), k, &k->versions[0]);
        }
    }
    assert_int_equal(pairs_n, 1); /* Event */
    kind_table_free(t);
}

static void test_expansion_is_bounded(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct kind_table *t = kind_table_new();
    struct json *v = parse(a, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"status\":{\"admission\":{\"podSetAssignments\":[{"
                              "\"topologyAssignment\":{\"levels\":[\"h\"],\"slices\":[{\"domainCount\":2000000000,\"valuesPerLevel\":[{"
                              "\"universal\":\"x\"}],\"podCounts\":{\"universal\":1}}]}}]}}}");
    kind_convert(a, kind_find(t, "kueue.x-k8s.io", "workloads"), v, "v1beta1");
    const struct json *assignment = json_item(json_path(v, "status", "admission", "podSetAssignments", NULL), 0);
    assert_int_equal(json_path(assignment, "topologyAssignment", "domains", NULL)->n, 0);
    kind_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_cases),
        cmocka_unit_test(test_random_objects),
        cmocka_unit_test(test_random_objects_of_two_groups),
        cmocka_unit_test(test_expansion_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
