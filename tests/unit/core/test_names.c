/* Every name that the state keeps stays when names are swept; whatever is gone leaves none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/quota/claim.h"
#include "stories.h"

#define AND(...) (const name_id[]){__VA_ARGS__}, sizeof((name_id[]){__VA_ARGS__}) / sizeof(name_id)

static const name_id *ids(struct world *w, const name_id *all, size_t n)
{
    name_id *copy = arena_alloc(w->records, n * sizeof *copy);
    memcpy(copy, all, n * sizeof *copy);
    return copy;
}

static struct selector selector(struct world *w, const char *key, const char *value)
{
    struct requirement *all = arena_zero(w->records, 1, sizeof *all);
    *all = (struct requirement){.key = id(w, key), .op = REQUIRE_NOT_IN, .values = ids(w, AND(id(w, value))), .values_n = 1};
    return (struct selector){.all = all, .all_n = 1};
}

static void full_node(struct world *w)
{
    struct node_record r = a_node(w, "n0", "cpu=1000,x/column=3", "node-label=node-value");
    struct taint taints[] = {{id(w, "taint-key"), id(w, "taint-value"), TAINT_NO_SCHEDULE},
                             {id(w, "lack-key"), id(w, "lack-value"), TAINT_PREFER_NO_SCHEDULE}};
    struct device devices[] = {{.resource = id(w, "x/device"), .id = id(w, "device-0"), .healthy = true}};
    struct device_feedback feedback[] = {{.id = id(w, "feedback-0")}};
    r.taints = taints;
    r.taints_n = 2;
    r.devices = devices;
    r.devices_n = 1;
    r.feedback = feedback;
    r.feedback_n = 1;
    node_record(w, r);
    r = a_node(w, "pods", "x/gone-column=1", ""); /* it goes, its column stays; its own name is another's too */
    node_record(w, r);
    gone(w, CHANGE_NODE_GONE, "pods");
}

static struct shape full_shape(struct world *w)
{
    struct shape s = shape_of(w, "cpu=1,x/asked=1", "want-label=want-value");
    struct selector *terms = arena_zero(w->records, 1, sizeof *terms);
    struct pod_affinity *affinity = arena_zero(w->records, 1, sizeof *affinity);
    struct topology_spread *spread = arena_zero(w->records, 1, sizeof *spread);
    struct toleration *toleration = arena_zero(w->records, 1, sizeof *toleration);
    struct host_port *port = arena_zero(w->records, 1, sizeof *port);
    *terms = selector(w, "term-key", "term-value");
    *affinity = (struct pod_affinity){.pods = selector(w, "near-key", "near-value"), .namespaces = ids(w, AND(id(w, "near-ns"))),
                                      .namespaces_n = 1, .topology_key = id(w, "near-topology")};
    *spread = (struct topology_spread){
        .pods = selector(w, "spread-key", "spread-value"), .topology_key = id(w, "spread-topology"), .max_skew = 1};
    *toleration = (struct toleration){.key = id(w, "tolerated-key"), .value = id(w, "tolerated-value")};
    *port = (struct host_port){.address = id(w, "10.0.0.1"), .port = 80};
    s.node_terms = terms;
    s.affinities = affinity;
    s.spreads = spread;
    s.tolerations = toleration;
    s.ports = port;
    s.node_terms_n = s.affinities_n = s.spreads_n = s.tolerations_n = s.ports_n = 1;
    s.labels = labels_of(w, "pod-label=pod-value", &s.labels_n);
    s.ns = id(w, "pod-ns");
    return s;
}

static void full_flavor(struct world *w)
{
    struct flavor_record r = {.name = id(w, "f")};
    struct taint taint = {id(w, "flavor-taint"), id(w, "flavor-taint-value"), TAINT_PREFER_NO_SCHEDULE};
    struct toleration toleration = {.key = id(w, "flavor-toleration"), .value = id(w, "flavor-toleration-value")};
    r.node_labels = labels_of(w, "flavor-label=flavor-value", &r.node_labels_n);
    r.taints = &taint;
    r.tolerations = &toleration;
    r.taints_n = r.tolerations_n = 1;
    state_apply(w->s, &(struct change){.type = CHANGE_FLAVOR, .flavor = r});
}

static void full_queues(struct world *w)
{
    struct queue_words q;
    struct label label = {id(w, "ns-label"), id(w, "ns-value")};
    state_apply(w->s, &(struct change){.type = CHANGE_NAMESPACE, .ns = {.name = id(w, "labelled-ns"), .labels = &label, .labels_n = 1}});
    struct cohort_record cohort = {.name = id(w, "cohort"), .parent = id(w, "cohort-above")};
    struct quota_record quota = {id(w, "cohort-flavor"), id(w, "x/cohort"), 1, NO_LIMIT, NO_LIMIT};
    cohort.quotas = &quota;
    cohort.quotas_n = 1;
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = cohort});
    queue_begin(w, &q, "q", "cohort");
    queue_quota(w, &q, "f", "x/quota", 8, NO_LIMIT, NO_LIMIT);
    q.r.namespaces = selector(w, "select-ns", "select-value");
    q.r.closed_text = id(w, "closed, for it says so");
    q.r.title = id(w, "q-as-written");
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    local_queue(w, "ns/other", "queue-to-come");
}

static void full_gangs(struct world *w)
{
    struct gang_record r = a_workload(w, "given", "ns/lq", 1, "x/quota=1");
    struct flavor_choice choice = {0, id(w, "x/quota"), id(w, "f")};
    ((struct pod_set *)r.pod_sets)->name = id(w, "given-set");
    r.uid = id(w, "given-uid");
    r.admitted = true;
    r.admitted_queue = id(w, "q");
    r.choices = &choice;
    r.choices_n = 1;
    gang_record(w, r);
    r = a_workload(w, "elsewhere", "ns/gone-lq", 1, "cpu=1");
    r.admitted = true;
    r.admitted_queue = id(w, "gone-q");
    gang_record(w, r);
    workload(w, "short", "ns/lq", 1, "x/quota=5000");
    struct flavor_choice unknown = {0, id(w, "x/elsewhere"), id(w, "flavor-elsewhere")};
    r = a_workload(w, "further", "ns/gone-lq", 1, "cpu=1");
    r.admitted = true;
    r.admitted_queue = id(w, "gone-q");
    r.choices = &unknown;
    r.choices_n = 1;
    gang_record(w, r);
    workload(w, "waits", "ns/lost-lq", 1, "cpu=1");
    r = a_group(w, "volcano", "volcano-queue", 2);
    r.queue_title = id(w, "queue-as-written");
    struct amount task = {id(w, "task"), 2};
    r.min_of_task = &task;
    r.min_of_task_n = 1;
    struct amount least = {id(w, "x/least"), 2};
    r.least = &least;
    r.least_n = 1;
    r.on_hold = true;
    r.hold_text = id(w, "held by somebody");
    gang_record(w, r);
    struct pod_record p = a_pod(w, "ns/full", "volcano", "");
    p.uid = id(w, "full-uid");
    p.pod_set = id(w, "full-task");
    p.devices = id(w, "x/device=0");
    p.node = id(w, "unknown-node");
    p.shape = full_shape(w);
    pod_record(w, p);
    pod(w, "ns/lone", NULL, "cpu=1,x/lone=1");
}

static void full_topology(struct world *w)
{
    struct queue_words q;
    topology(w, "full-topology", "level-above,level-below");
    topology(w, "other-topology", "level-apart");
    topology_flavor(w, "flavor-in-domains", "full-topology", "");
    topology_flavor(w, "flavor-elsewhere-in-domains", "topology-to-come", "");
    node(w, "in-domains", "x/domains=9", "level-above=value-above,level-below=value-below");
    queue_begin(w, &q, "queue-in-domains", NULL);
    queue_quota(w, &q, "flavor-in-domains", "x/domains", 9, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq-in-domains", "queue-in-domains");
    struct gang_record r = a_workload(w, "gang-in-domains", "ns/lq-in-domains", 4, "x/domains=1");
    ((struct pod_set *)r.pod_sets)->topology =
        (struct topology_request){.mode = TOPOLOGY_REQUIRED, .level = id(w, "level-above"), .slices = {{id(w, "level-below"), 2}},
                                  .slices_n = 1, .group = id(w, "a-group")};
    gang_record(w, r);
    r = a_workload(w, "gang-told-domains", "ns/lq-in-domains", 1, "x/told=1");
    struct domain_choice told = {0, id(w, "domain-to-come"), 1};
    r.admitted = true;
    r.admitted_queue = id(w, "queue-to-come");
    r.domains = &told;
    r.domains_n = 1;
    gang_record(w, r);
}

static void full_world(struct world *w)
{
    full_topology(w);
    full_flavor(w);
    full_node(w);
    full_queues(w);
    full_gangs(w);
    run(w);
}

static void all_that_is_kept_stays(void **state)
{
    (void)state;
    struct world w = world_new();
    full_world(&w);
    struct arena *a = arena_new();
    uint32_t n = intern_count(w.names);
    char **texts = arena_zero(a, n + 1, sizeof *texts);
    for (name_id i = 1; i <= n; i++)
        texts[i] = arena_text(a, text_of(&w, i));
    uint64_t digest = state_digest(w.s);
    for (int round = 0; round < 2; round++) {
        sweep_names(&w);
        for (name_id i = 1; i <= n; i++)
            if (intern_find(w.names, bytes_of(texts[i])) != i)
                fail_msg("round %d: \"%s\" is gone", round, texts[i]);
    }
    assert_true(state_digest(w.s) == digest);
    arena_free(a);
    world_free(&w);
}

/* What waits is still explained by names that its queue has no longer, until it is tried again. */
static void a_reason_outlives_what_it_names(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "old-flavor", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "old-flavor", "x/old", 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    workload(&w, "short", "ns/lq", 1, "x/old=5000");
    workload(&w, "lost", "ns/no-lq", 1, "cpu=1");
    struct node_record r = a_node(&w, "tainted", "cpu=1000", "");
    struct taint taint = {id(&w, "old-taint"), 0, TAINT_NO_SCHEDULE};
    r.taints = &taint;
    r.taints_n = 1;
    node_record(&w, r);
    pod(&w, "ns/lone", NULL, "cpu=1");
    run(&w);
    const char *before = arena_text(w.records, why(&w, "short")), *lone = arena_text(w.records, why(&w, "pod/ns/lone"));
    assert_non_null(strstr(before, "old-flavor"));
    assert_non_null(strstr(lone, "old-taint"));
    gone(&w, CHANGE_NODE_GONE, "tainted");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "new-flavor", "x/new", 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    gone(&w, CHANGE_FLAVOR_GONE, "old-flavor");
    sweep_names(&w);
    for (int i = 0; i < 20; i++) {
        char text[32];
        snprintf(text, sizeof text, "another-%d", i);
        (void)id(&w, text);
    }
    assert_string_equal(why(&w, "short"), before);
    assert_string_equal(why(&w, "pod/ns/lone"), lone);
    assert_string_equal(why(&w, "lost"), "LocalQueue no-lq doesn't exist");
    run(&w);
    sweep_names(&w);
    assert_int_equal(intern_find(w.names, BYTES("old-flavor")), 0);
    assert_int_equal(intern_find(w.names, BYTES("tainted")), 0);
    world_free(&w);
}

static void all_that_is_gone_leaves_no_name(void **state)
{
    (void)state;
    struct world w = world_new();
    node(&w, "stays", "cpu=1000,x/column=3,x/gone-column=1,x/domains=1", "");
    sweep_names(&w);
    uint32_t before = intern_count(w.names);
    full_world(&w);
    const struct {
        enum change_type type;
        const char *name;
    } all[] = {{CHANGE_POD_GONE, "ns/full"},
               {CHANGE_POD_GONE, "ns/lone"},
               {CHANGE_GANG_GONE, "volcano"},
               {CHANGE_GANG_GONE, "waits"},
               {CHANGE_GANG_GONE, "elsewhere"},
               {CHANGE_GANG_GONE, "given"},
               {CHANGE_GANG_GONE, "further"},
               {CHANGE_GANG_GONE, "short"},
               {CHANGE_LOCAL_QUEUE_GONE, "ns/lq"},
               {CHANGE_LOCAL_QUEUE_GONE, "ns/other"},
               {CHANGE_QUEUE_GONE, "q"},
               {CHANGE_COHORT_GONE, "cohort"},
               {CHANGE_NAMESPACE_GONE, "labelled-ns"},
               {CHANGE_FLAVOR_GONE, "f"},
               {CHANGE_GANG_GONE, "gang-in-domains"},
               {CHANGE_GANG_GONE, "gang-told-domains"},
               {CHANGE_LOCAL_QUEUE_GONE, "ns/lq-in-domains"},
               {CHANGE_QUEUE_GONE, "queue-in-domains"},
               {CHANGE_FLAVOR_GONE, "flavor-in-domains"},
               {CHANGE_FLAVOR_GONE, "flavor-elsewhere-in-domains"},
               {CHANGE_TOPOLOGY_GONE, "full-topology"},
               {CHANGE_TOPOLOGY_GONE, "other-topology"},
               {CHANGE_NODE_GONE, "in-domains"},
               {CHANGE_NODE_GONE, "n0"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        gone(&w, all[i].type, all[i].name);
    run(&w);
    sweep_names(&w);
    assert_int_equal(intern_count(w.names), before);
    world_free(&w);
}

/* A queue has gone, so that a sweep gives the others other numbers. Then somebody goes, and an equal one comes: what the blocked head of
 * the strict queue keeps from others is the same claim, and who uses what beside it has not changed. */
static void a_claim_is_the_same_after_a_sweep(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue early gpu=1; queue mine in=c gpu=2 strict reclaim=Lower; queue other in=c gpu=1;"
             "runs x queue=mine gpu=1 prio=9 on=n0; runs o queue=other gpu=1 on=n0; wants y queue=mine gpu=2 prio=9");
    gone(w, CHANGE_LOCAL_QUEUE_GONE, "ns/early");
    gone(w, CHANGE_QUEUE_GONE, "early");
    step(w);
    uint64_t before = queue_find(w->s, id(w, "mine"))->claimed;
    assert_true(before > CLAIM_NEW);
    gone(w, CHANGE_POD_GONE, "ns/o-0");
    gone(w, CHANGE_GANG_GONE, "o");
    sweep_names(w);
    assert_null(queue_find(w->s, id(w, "early")));
    story(w, "runs o queue=other gpu=1 on=n0");
    step(w);
    assert_true(queue_find(w->s, id(w, "mine"))->claimed == before);
}

/* What would help is told in the order of texts, whatever number a name got. */
static const char *helps(struct world *w, const char *first_named)
{
    static char text[2048];
    struct queue_words q;
    (void)id(w, first_named);
    story(w, "node n0 gpu=9 cpu=9");
    flavor(w, "fa", "");
    flavor(w, "fb", "");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "fb", GPU, 1, NO_LIMIT, NO_LIMIT);
    queue_next_group(&q);
    queue_quota(w, &q, "fa", "cpu", 1, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    workload(w, "short", "ns/lq", 1, GPU "=2,cpu=2");
    run(w);
    struct buf b;
    buf_init(&b);
    explain_json(&b, state_gang_reason(w->s, id(w, "short")), w->names);
    snprintf(text, sizeof text, "%s", b.data ? b.data : "");
    buf_free(&b);
    return text;
}

static void what_helps_stands_in_the_order_of_texts(void **state)
{
    (void)state;
    const char *const named[] = {"fa", "fb"};
    for (int i = 0; i < 2; i++) {
        struct world w = world_new();
        const char *text = helps(&w, named[i]), *of_a = strstr(text, "\"flavor\":\"fa\""), *of_b = strstr(text, "\"flavor\":\"fb\"");
        if (!of_a || !of_b || of_a > of_b)
            fail_msg("%s", text);
        world_free(&w);
    }
}

/* Two resources are short. Which one is told of must not depend on which was named first, now or before a restart. */
static void what_is_short_is_told_in_the_order_of_texts(void **state)
{
    (void)state;
    const char *const named[] = {"x/a", "x/b"};
    char *told[2];
    for (int i = 0; i < 2; i++) {
        struct world w = world_new();
        struct queue_words q;
        (void)id(&w, named[i]);
        node(&w, "n0", "x/a=9,x/b=9", "");
        flavor(&w, "f", "");
        queue_begin(&w, &q, "q", NULL);
        queue_quota(&w, &q, "f", "x/a", 1, NO_LIMIT, NO_LIMIT);
        queue_quota(&w, &q, "f", "x/b", 1, NO_LIMIT, NO_LIMIT);
        queue_done(&w, &q);
        local_queue(&w, "ns/lq", "q");
        workload(&w, "short", "ns/lq", 1, named[i][2] == 'a' ? "x/a=2,x/b=2" : "x/b=2,x/a=2");
        run(&w);
        struct buf b;
        buf_init(&b);
        explain_json(&b, state_gang_reason(w.s, id(&w, "short")), w.names);
        told[i] = mem_text(b.data);
        buf_free(&b);
        world_free(&w);
    }
    assert_string_equal(told[0], told[1]);
    free(told[0]);
    free(told[1]);
}

/* Two states are the same whatever was named first. */
static void a_digest_has_no_order_of_names(void **state)
{
    (void)state;
    struct world w = world_new(), other = world_new();
    node(&w, "n0", "x/a=1,x/b=2", "");
    node(&other, "n0", "x/b=2,x/a=1", "");
    run(&w);
    run(&other);
    assert_true(state_digest(w.s) == state_digest(other.s));
    node(&other, "n0", "x/b=1,x/a=2", "");
    assert_false(state_digest(w.s) == state_digest(other.s));
    world_free(&w);
    world_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_kept_stays),
        cmocka_unit_test(a_reason_outlives_what_it_names),
        cmocka_unit_test(all_that_is_gone_leaves_no_name),
        in_a_world(a_claim_is_the_same_after_a_sweep),
        cmocka_unit_test(what_is_short_is_told_in_the_order_of_texts),
        cmocka_unit_test(what_helps_stands_in_the_order_of_texts),
        cmocka_unit_test(a_digest_has_no_order_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
