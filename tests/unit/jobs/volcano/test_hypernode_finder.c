/* HyperNodes that labels of nodes make: what is read, what comes of it, and that it follows the nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../world.h"
#include "jobs/volcano/hypernodes/label_hypernodes.h"

#define HYPERNODES "/apis/topology.volcano.sh/v1alpha1/hypernodes"
#define CONFIG "/api/v1/namespaces/volcano-system/configmaps/volcano-controller-configmap"

/* "tier name-without-its-end label=value: member member; ..." */
static const char *shown(struct arena *a, const struct json *hypernodes)
{
    const char *text = "";
    JSON_EACH (o, hypernodes) {
        const char *name = object_meta(o, "name"), *label = json_text(json_path(o, "spec", "tierName", NULL), "");
        text = arena_printf(a, "%s%lld %.*s %s=%s:", text, (long long)json_int64(json_path(o, "spec", "tier", NULL), 0),
                            (int)(strrchr(name, '-') - name), name, label, object_label(o, label));
        JSON_EACH (m, json_path(o, "spec", "members", NULL)) {
            const char *member = json_text(json_path(m, "selector", "exactMatch", "name", NULL), "");
            bool is_node = text_equal(json_get_text(m, "type", ""), "Node");
            text = arena_printf(a, "%s %.*s", text, is_node ? (int)strlen(member) : (int)(strrchr(member, '-') - member), member);
        }
        text = arena_printf(a, "%s; ", text);
    }
    return text;
}

static const struct json *read_json(struct arena *a, const char *text)
{
    struct err e = {0};
    const struct json *v = json_parse(a, bytes_of(text), NULL, &e);
    if (!v)
        fail_msg("%s: %s", text, e.text);
    return v;
}

#define TYPES "networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: {%s}}}]"
#define HOST "{nodeLabel: kubernetes.io/hostname}"

static const char *found(struct arena *a, const char *types, const char *nodes, const char *there)
{
    struct label_topologies t;
    label_topologies_read(a, bytes_of(arena_printf(a, TYPES, types)), &t);
    assert_true(t.enabled);
    assert_null(t.problem);
    return shown(a, label_hypernodes(a, &t, read_json(a, nodes), read_json(a, there)));
}

static void labels_make_a_tree(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *nodes = "[{\"name\":\"a\",\"labels\":{\"rack\":\"r1\",\"zone\":\"z\"}},{\"name\":\"b\",\"labels\":{\"rack\":\"r1\","
                        "\"zone\":\"z\"}},{\"name\":\"c\",\"labels\":{\"zone\":\"z\"}},{\"name\":\"d\",\"labels\":{\"rack\":\"r3\"}}]";
    assert_string_equal(found(a, "Fabric_1: [{nodeLabel: zone}, {nodeLabel: rack}, " HOST "]", nodes,
                              "[{\"metadata\":{\"name\":\"hypernode-fabric-1-tier1-zzz\",\"labels\":{\"rack\":\"r3\"}}},"
                              "{\"metadata\":{\"name\":\"hypernode-fabric-1-tier1-zzy\",\"labels\":{\"rack\":\"r3\"}}}]"),
                        "1 hypernode-fabric-1-tier1 rack=r1: a b; 1 hypernode-fabric-1-tier1 rack=r3: d; "
                        "2 hypernode-fabric-1-tier2 zone=z: hypernode-fabric-1-tier1; ");
    /* two topologies with the same lowest label: one HyperNode, a node once */
    assert_string_equal(found(a, "x: [{nodeLabel: rack}, " HOST "], w: [{nodeLabel: zone}, {nodeLabel: rack}, " HOST "]", nodes, "[]"),
                        "1 hypernode-x-tier1 rack=r3: d; 1 hypernode-x-tier1 rack=r1: a b; 2 hypernode-w-tier2 zone=z: hypernode-x-tier1; ");
}

static void names_stay(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct label_topologies t;
    const struct json *nodes = read_json(a, "[{\"name\":\"a\",\"labels\":{\"rack\":\"r1\"}}]"), *none = read_json(a, "[]");
    label_topologies_read(a, bytes_of(arena_printf(a, TYPES, "x: [{nodeLabel: rack}, " HOST "]")), &t);
    const char *name = object_meta(json_first(label_hypernodes(a, &t, nodes, none)), "name");
    assert_string_equal(name, object_meta(json_first(label_hypernodes(a, &t, nodes, none)), "name"));
    const char *there = "[{\"metadata\":{\"name\":\"%s\",\"labels\":{\"rack\":\"%s\"}}}]";
    const char *of_volcano = "hypernode-x-tier1-abcde";
    const struct json *known = read_json(a, arena_printf(a, there, of_volcano, "r1"));
    assert_string_equal(object_meta(json_first(label_hypernodes(a, &t, nodes, known)), "name"), of_volcano);
    const struct json *taken = read_json(a, arena_printf(a, there, name, "other"));
    assert_string_not_equal(object_meta(json_first(label_hypernodes(a, &t, nodes, taken)), "name"), name);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *file, *problem;
        bool enabled;
    } cases[] = {
        {"networkTopologyDiscovery: []", NULL, false},
        {"", NULL, false},
        {"a: [", "cannot be read: ", false},
        {"networkTopologyDiscovery: [{source: label, enabled: false}]", NULL, false},
        {"networkTopologyDiscovery: [{source: ufm, enabled: true}]", "source ufm has no effect here", false},
        {"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: {x: [" HOST "]}}}]",
         "networkTopologyTypes.x: names no label above", true},
        {"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: {x: [{nodeLabel: a}, {nodeLabel: a}]}}}]",
         "networkTopologyTypes.x: has no effect: label a stands there twice", true},
        {"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: {x: [{label: a}, " HOST "]}}}]",
         "networkTopologyTypes.x[0].nodeLabel: missing", true},
        {"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: {x: 7}}}]",
         "networkTopologyTypes.x: names no label", true},
        {"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: {a-name-that-is-too-long: []}}}]",
         "has no effect: a name has 20 characters at most", true},
    };
    _cleanup_arena_ struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct label_topologies t;
        label_topologies_read(a, bytes_of(cases[i].file), &t);
        assert_int_equal(t.enabled, cases[i].enabled);
        assert_int_equal(t.n, 0);
        if (!cases[i].problem)
            assert_null(t.problem);
        else if (!t.problem || !strstr(t.problem, cases[i].problem))
            fail_msg("%s: %s", cases[i].file, t.problem ? t.problem : "nothing");
    }
}

/* ---- and followed ---- */

static const char *there(void)
{
    const struct json *list = get(HYPERNODES);
    const char *text = "";
    JSON_EACH (o, json_get(list, "items"))
        text = arena_printf(w.a, "%s%s/%lld ", text, object_label(o, "rack"),
                            (long long)json_int64(json_path(o, "status", "nodeCount", NULL), 0));
    return text;
}

static void follows_the_labels(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"volcano-system\"}}");
    create("{\"apiVersion\":\"topology.volcano.sh/v1alpha1\",\"kind\":\"HyperNode\",\"metadata\":{\"name\":\"own\"},\"spec\":{\"tier\":3,\"members\":["
           "{\"type\":\"Node\",\"selector\":{\"exactMatch\":{\"name\":\"n1\"}}}]}}");
    patch("/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"rack\":\"r1\"}}}");
    run(2000);
    assert_string_equal(there(), "/1 "); /* nobody asks */
    create("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"volcano-controller-configmap\",\"namespace\":\"volcano-system\"},"
           "\"data\":{\"volcano-controller.conf\":\"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: "
           "{x: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}}, {source: ufm, enabled: true}]\"}}");
    run(3000);
    assert_string_equal(there(), "r1/1 /1 ");
    patch("/api/v1/nodes/n2", "{\"metadata\":{\"labels\":{\"rack\":\"r1\"}}}");
    run(3000);
    assert_string_equal(there(), "r1/2 /1 ");
    patch("/api/v1/nodes/n2", "{\"metadata\":{\"labels\":{\"rack\":null}}}");
    delete("/api/v1/nodes/n1");
    run(3000);
    assert_string_equal(there(), "/1 "); /* one's own stays */
    patch("/api/v1/nodes/n2", "{\"metadata\":{\"labels\":{\"rack\":\"r2\"}}}");
    run(3000);
    assert_string_equal(there(), "r2/1 /1 ");
    delete(CONFIG);
    patch("/api/v1/nodes/n2", "{\"metadata\":{\"labels\":{\"rack\":\"r3\"}}}");
    run(3000);
    assert_string_equal(there(), "r2/1 /1 "); /* what was found stays as it is */
    bool told = false;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/volcano-system/events"), "items"))
        told |= text_equal(json_get_text(event, "reason", ""), "HyperNodesIgnored") && strstr(json_get_text(event, "message", ""), "source ufm");
    assert_true(told);
}

/* What somebody writes into them is put right, and what is deleted comes again. */
static void puts_right(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"volcano-system\"}}");
    patch("/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"rack\":\"r1\"}}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"volcano-controller-configmap\",\"namespace\":\"volcano-system\"},"
           "\"data\":{\"volcano-controller.conf\":\"networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: "
           "{x: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}}]\"}}");
    run(3000);
    const char *path = arena_printf(w.a, HYPERNODES "/%s", object_meta(json_first(json_get(get(HYPERNODES), "items")), "name"));
    patch(path, "{\"metadata\":{\"labels\":{\"mine\":\"yes\"}},\"spec\":{\"tier\":2}}");
    run(3000);
    assert_int_equal(json_int64(json_path(get(path), "spec", "tier", NULL), 0), 1);
    assert_string_equal(object_label(get(path), "mine"), "yes");
    delete(path);
    run(3000);
    assert_string_equal(there(), "r1/1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_make_a_tree),
        cmocka_unit_test(names_stay),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test_setup_teardown(follows_the_labels, setup, teardown),
        cmocka_unit_test_setup_teardown(puts_right, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
