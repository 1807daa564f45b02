/* specs.c - what coscheduling's own integration tests ask of it, spec by spec, of our scheduler on virtual time
 *
 * SOURCE kubernetes-sigs/scheduler-plugins, test/integration/coscheduling_test.go and podgroup_controller_test.go, and of
 *        pkg/coscheduling/core/core_test.go what is about gates and minResources, in our words: nodes, groups and pods are as there, and so
 *        is what must come of them. Where those tests only ask who starts, here nobody else may. What comes of it here where that is
 *        something else stands beside it, and in docs/compatibility.md, with why.
 * ORDER  the pods come all before the scheduler looks, and then once more, in another cluster, one by one.
 */
#include <stdio.h>
#include "../unit/sched/stage.h"
#include "kube/object.h"

#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups/"

struct place_spec {
    const char *name, *resource; /* of which nodes have some, and pods want some */
    const char *nodes;           /* how much each has, by spaces */
    const char *groups;          /* NAME:minMember[:minResources] */
    /* NAME:GROUP or -:how much:class, in the order in which they come; NAME! has ended on the first node, NAME~ has a scheduling gate */
    const char *pods;
    const char *start;           /* who gets a node, by spaces in the same order */
    const char *here;            /* who does here; NULL: the same */
};

static const struct place_spec place_specs[] = {
    {"equal priority, one group after the other, room for the first", "memory", "300", "a:3 b:4",
     "a1:a:50:mid a2:a:50:mid a3:a:50:mid b1:b:100:mid b2:b:100:mid b3:b:100:mid b4:b:100:mid", "a1 a2 a3"},
    {"equal priority, two groups mixed, room for the first", "memory", "300", "a:3 b:4",
     "a1:a:50:mid b1:b:100:mid a2:a:50:mid b2:b:100:mid a3:a:50:mid b3:b:100:mid b4:b:100:mid", "a1 a2 a3"},
    {"equal priority, a group that is not whole, and pods without one", "memory", "300", "a:4",
     "a1:a:50:mid p2:-:100:mid a2:a:50:mid p3:-:100:mid a3:a:50:mid", "p2 p3"},
    {"the group of higher priority comes second", "memory", "300", "a:3 b:3",
     "a1:a:100:mid a2:a:100:mid a3:a:100:mid b1:b:50:high b2:b:50:high b3:b:50:high", "b1 b2 b3"},
    {"two groups mixed, one of higher priority", "memory", "300", "a:3 b:3",
     "a1:a:100:mid b1:b:50:high a2:a:100:mid b2:b:50:high a3:a:100:mid b3:b:50:high", "b1 b2 b3"},
    {"a group, and pods without one of higher priority", "memory", "300", "a:3",
     "a1:a:50:mid p2:-:100:high a2:a:50:mid p3:-:100:high a3:a:50:mid p4:-:100:high", "p2 p3 p4"},
    {"equal priority, three groups mixed, room for one", "memory", "300", "a:3 b:4 c:4",
     "a1:a:50:mid b1:b:100:mid c1:c:100:mid a2:a:50:mid b2:b:100:mid c2:c:100:mid a3:a:50:mid b3:b:100:mid c3:c:100:mid b4:b:100:mid "
     "c4:c:100:mid", "a1 a2 a3"},
    {"the same with minResources", "memory", "300", "a:3:150 b:4:400 c:4:400",
     "a1:a:50:mid b1:b:100:mid c1:c:100:mid a2:a:50:mid b2:b:100:mid c2:c:100:mid a3:a:50:mid b3:b:100:mid c3:c:100:mid b4:b:100:mid "
     "c4:c:100:mid", "a1 a2 a3"},
    {"two groups mixed with minResources", "memory", "300", "a:3:150 b:4:400",
     "a1:a:50:mid b1:b:100:mid a2:a:50:mid b2:b:100:mid a3:a:50:mid b3:b:100:mid b4:b:100:mid", "a1 a2 a3"},
    {"one of its pods has ended before: the rest is not a whole group", "cpu", "6", "a:6",
     "a1!:a:1:mid a2:a:1:mid a3:a:1:mid a4:a:1:mid a5:a:1:mid a6:a:1:mid", "", "a2 a3 a4 a5 a6"},
    {"a group that fits nowhere keeps no other one waiting", "cpu", "6 2 2 2", "a:6 b:1",
     "a1:a:4:mid a2:a:4:mid a3:a:4:mid a4:a:4:mid a5:a:4:mid a6:a:4:mid b1:b:2:mid", "b1"},
    {"more pods than it needs, one of them gated", "memory", "300", "a:2", "a1:a:50:mid a2:a:50:mid a3~:a:50:mid", "a1 a2"},
    {"a gated pod that it needs", "memory", "300", "a:3", "a1:a:50:mid a2:a:50:mid a3~:a:50:mid", ""},
    {"all of its pods are gated", "memory", "300", "a:3", "a1~:a:50:mid a2~:a:50:mid a3~:a:50:mid", ""},
    {"minResources that the nodes do not have", "memory", "300", "a:2:400", "a1:a:50:mid a2:a:50:mid", ""},
    {"a group that does not exist", "memory", "300", "", "a1:a:50:mid", ""},
};

static void make(const char *api_version, const char *kind, const char *name, const char *rest)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"%s", api_version, kind, name, rest));
}

static void class_of(const char *name, int value)
{
    make("scheduling.k8s.io/v1", "PriorityClass", name, arena_printf(w.a, "},\"value\":%d}", value));
}

/* amount: of the resource; each has 32 places for pods, and plenty of what the spec is not about. */
static void node_of(int i, const char *resource, const char *amount)
{
    const char *other = strcmp(resource, "cpu") == 0 ? "\"memory\":\"1Gi\"" : "\"cpu\":\"64\"";
    const char *has = arena_printf(w.a, "{\"pods\":\"32\",%s,\"%s\":\"%s\"}", other, resource, amount);
    make("v1", "Node", arena_printf(w.a, "node-%d", i),
         arena_printf(w.a, "},\"status\":{\"allocatable\":%s,\"capacity\":%s,\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                      has, has));
}

static void group_of(const char *name, const char *fewest, const char *resource, const char *amount)
{
    const char *more = amount ? arena_printf(w.a, ",\"minResources\":{\"%s\":\"%s\"}", resource, amount) : "";
    make("scheduling.x-k8s.io/v1alpha1", "PodGroup", name,
         arena_printf(w.a, ",\"namespace\":\"n\"},\"spec\":{\"minMember\":%s%s}}", fewest, more));
}

static void pod_of(char *name, const char *group, const char *resource, const char *amount, const char *class)
{
    char *mark = name + strcspn(name, "!~");
    bool ends = *mark == '!', gated = *mark == '~';
    *mark = '\0';
    const char *labels = strcmp(group, "-") ? arena_printf(w.a, ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"}", group) : "";
    const char *on = ends ? "\"nodeName\":\"node-0\"," : gated ? "\"schedulingGates\":[{\"name\":\"test/gate\"}]," : "";
    make("v1", "Pod", name,
         arena_printf(w.a, ",\"namespace\":\"n\"%s},\"spec\":{\"priorityClassName\":\"%s\",%s\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                           "\"resources\":{\"requests\":{\"%s\":\"%s\"}}}]}%s}",
                      labels, class, on, resource, amount, ends ? ",\"status\":{\"phase\":\"Succeeded\"}" : ""));
}

/* The next word of the list; NULL: none is left. */
static char *word(char **list)
{
    return strtok_r(NULL, " ", list);
}

static char *words(const char *text, char **list)
{
    return strtok_r(arena_text(w.a, text), " ", list);
}

static char *part(char **list)
{
    return strsep(list, ":");
}

static void clusters(const struct place_spec *x)
{
    char *list;
    int i = 0;
    class_of("mid", 100);
    class_of("high", 1000);
    for (char *one = words(x->nodes, &list); one; one = word(&list))
        node_of(i++, x->resource, one);
    for (char *one = words(x->groups, &list); one; one = word(&list)) {
        const char *name = part(&one), *fewest = part(&one);
        group_of(name, fewest, x->resource, part(&one));
    }
}

static const char *who_started(const struct place_spec *x)
{
    _cleanup_buf_ struct buf text = {0};
    char *list;
    buf_text(&text, "");
    for (char *one = words(x->pods, &list); one; one = word(&list)) {
        char *name = part(&one), *mark = name + strcspn(name, "!~");
        bool ended = *mark == '!';
        *mark = '\0';
        const char *path = arena_printf(w.a, PODS "/%s", name);
        if (!ended && *json_text(json_path(get(path), "spec", "nodeName", NULL), ""))
            buf_printf(&text, "%s%s", text.n ? " " : "", name);
    }
    return arena_text(w.a, text.data);
}

/* The kubelet's part: who is being deleted ends. */
static void end_deleted(const struct place_spec *x)
{
    char *list;
    for (char *one = words(x->pods, &list); one; one = word(&list)) {
        char *name = part(&one);
        name[strcspn(name, "!~")] = '\0';
        const char *path = arena_printf(w.a, PODS "/%s", name);
        if (json_path(get(path), "metadata", "deletionTimestamp", NULL))
            kube_delete(w.user, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    }
}

static void place(const struct place_spec *x, bool one_by_one)
{
    char *list;
    stage_open(NULL);
    clusters(x);
    if (one_by_one)
        scheduler_start();
    for (char *one = words(x->pods, &list); one; one = word(&list)) {
        char *name = part(&one), *group = part(&one), *amount = part(&one);
        pod_of(name, group, x->resource, amount, part(&one));
        if (one_by_one)
            run(50);
    }
    if (!one_by_one)
        scheduler_start();
    for (int i = 0; i < 20; i++) {
        run(1000);
        end_deleted(x);
    }
    assert_string_equal(who_started(x), x->here ? x->here : x->start);
    (void)teardown(NULL);
}

static void places(void **state)
{
    const struct place_spec *x = *state;
    place(x, false);
    place(x, true);
}

static void phases(const char *text)
{
    char *list;
    int i = 0;
    for (char *one = words(text, &list); one; one = word(&list), i++) {
        const char *path = arena_printf(w.a, PODS "/p%d/status", i), *body = arena_printf(w.a, "{\"status\":{\"phase\":\"%s\"}}", one);
        if (strcmp(one, "-") != 0)
            kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(body), NULL, NULL);
        run(10);
    }
    run(10000);
}

/* minResources memory, and two pods of 50 each, beside one of 100 that is no one's on a node of 300. */
static void wants(const char *amount)
{
    stage_open(NULL);
    class_of("mid", 100);
    node_of(0, "memory", "300");
    scheduler_start();
    pod_of(arena_text(w.a, "other"), "-", "memory", "100", "mid");
    run(1000);
    group_of("g", "2", "memory", amount);
    pod_of(arena_text(w.a, "p0"), "g", "memory", "50", "mid");
    pod_of(arena_text(w.a, "p1"), "g", "memory", "50", "mid");
    run(3000);
}

static bool have_started(void)
{
    bool first = *json_text(json_path(get(PODS "/p0"), "spec", "nodeName", NULL), "");
    assert_int_equal(first, *json_text(json_path(get(PODS "/p1"), "spec", "nodeName", NULL), "") != '\0');
    return first;
}

/* More than its pods ask for, and more than is free: it is told what is short, and starts when that is there. */
static void waits_for_the_sum(void **state)
{
    (void)state;
    wants("201");
    assert_false(have_started());
    assert_non_null(strstr(json_text(json_get(json_item(json_path(get(PODS "/p0"), "status", "conditions", NULL), 0), "message"), ""),
                           "minResources asks that all nodes together have 201 memory free, and with what its own pods have they have 200"));
    assert_string_equal(json_get_text(json_item(json_path(get(PODS "/p0"), "status", "conditions", NULL), 0), "reason", ""), "Unschedulable");
    const struct json *tree = json_path(get(GROUPS "g"), "metadata", "annotations", "capstan.dev/reason", NULL);
    assert_non_null(strstr(json_text(tree, ""), "\"code\":\"free-short\""));
    assert_non_null(strstr(json_text(tree, ""), "\"lower-min-resources\",\"kind\":\"PodGroup\",\"namespace\":\"n\",\"name\":\"g\","
                                                "\"resource\":\"memory\",\"subtract\":\"1\""));
    kube_delete(w.user, PODS "/other", BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(3000);
    assert_true(have_started());
    (void)teardown(NULL);
}

/* The same, by a node that holds none of them. */
static void another_node_is_enough(void **state)
{
    (void)state;
    wants("230");
    assert_false(have_started());
    node_of(1, "memory", "30");
    run(3000);
    assert_true(have_started());
    (void)teardown(NULL);
}

/* What is free, or no more than its pods ask for, keeps nobody out; nor does a place for more pods than nodes have. */
static void starts_at_once(void **state)
{
    static const char *const amounts[] = {"200", "100", "0", "200\",\"pods\":\"4000", "200\",\"nvidia.com/gpumem\":\"4000"};
    (void)state;
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        wants(amounts[i]);
        assert_true(have_started());
        (void)teardown(NULL);
    }
    wants("200\",\"example.com/none\":\"1");
    assert_false(have_started());
    (void)teardown(NULL);
}

/* ---- what the status of a group says ---- */

struct status_spec {
    const char *name;
    const char *label;           /* of the pods; the group g wants three */
    const char *before, *after;  /* phases of the three pods, by spaces; - : it stays */
    const char *first, *then;    /* phase, running, succeeded, failed of the group */
};

static const struct status_spec status_specs[] = {
    {"all pods: from pending to running", "g", "Pending Pending Pending", "Running Running Running", "Scheduling 0 0 0", "Running 3 0 0"},
    {"all pods: from running to succeeded", "g", "Running Running Running", "Succeeded Succeeded Succeeded", "Running 3 0 0",
     "Finished 0 3 0"},
    {"one pod: from running to succeeded", "g", "Running Running Running", "Succeeded - -", "Running 3 0 0", "Running 2 1 0"},
    {"one pod: from running to failed", "g", "Running Running Running", "Failed - -", "Running 3 0 0", "Failed 2 0 1"},
    {"pods without the label are none of it", "", "Pending Pending Pending", "Running Running Running", "Pending 0 0 0", "Pending 0 0 0"},
};

static const char *group_says(void)
{
    const struct json *status = json_get(get(GROUPS "g"), "status");
    return arena_printf(w.a, "%s %d %d %d", json_get_text(status, "phase", ""), (int)json_get_int64(status, "running", 0),
                        (int)json_get_int64(status, "succeeded", 0), (int)json_get_int64(status, "failed", 0));
}

static void statuses(void **state)
{
    const struct status_spec *x = *state;
    stage_open(NULL);
    class_of("mid", 100);
    node_of(0, "memory", "300");
    scheduler_start();
    group_of("g", "3", "memory", NULL);
    for (int i = 0; i < 3; i++)
        pod_of(arena_printf(w.a, "p%d", i), *x->label ? x->label : "-", "memory", "50", "mid");
    run(3000);
    phases(x->before);
    assert_string_equal(group_says(), x->first);
    phases(x->after);
    assert_string_equal(group_says(), x->then);
    (void)teardown(NULL);
}

int main(void)
{
    enum { PLACES_N = sizeof place_specs / sizeof *place_specs, STATUSES_N = sizeof status_specs / sizeof *status_specs };
    const struct CMUnitTest others[] = {cmocka_unit_test(waits_for_the_sum), cmocka_unit_test(another_node_is_enough),
                                        cmocka_unit_test(starts_at_once)};
    struct CMUnitTest tests[PLACES_N + STATUSES_N + sizeof others / sizeof *others] = {0};
    for (int i = 0; i < PLACES_N; i++)
        tests[i] = (struct CMUnitTest){.name = place_specs[i].name, .test_func = places, .initial_state = (void *)&place_specs[i]};
    for (int i = 0; i < STATUSES_N; i++)
        tests[PLACES_N + i] =
            (struct CMUnitTest){.name = status_specs[i].name, .test_func = statuses, .initial_state = (void *)&status_specs[i]};
    memcpy(&tests[PLACES_N + STATUSES_N], others, sizeof others);
    return cmocka_run_group_tests_name("coscheduling", tests, NULL, NULL);
}
