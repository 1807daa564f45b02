/* test_parts.c - GPUs of which pods take parts: one ledger for parts and whole devices, whoever chose them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../world.h"

#define GPU "nvidia.com/gpu"
#define PARTS "capstan.dev/gpu-milli"
#define BYTES_OF "capstan.dev/gpu-memory"
#define OF_MEMORY "capstan.dev/gpu-memory-milli"
#define COUNT "capstan.dev/gpu-shares"

/* Each GPU as a device that is given whole, and as one that is given in parts; the GPU `ill` (-1: none) is. */
static void node_of(struct world *w, const char *name, int gpus_n, int ill)
{
    char amounts[96];
    snprintf(amounts, sizeof amounts, "cpu=64000," GPU "=%d," PARTS "=%d", gpus_n, gpus_n * 1000);
    struct node_record r = a_node(w, name, amounts, "");
    struct device *all = arena_zero(w->records, 2 * (size_t)gpus_n, sizeof *all);
    for (int i = 0; i < gpus_n; i++) {
        const char text[2] = {(char)('a' + i), 0};
        all[2 * i] = (struct device){.resource = id(w, GPU), .id = id(w, text), .gpu = (uint16_t)i, .healthy = i != ill};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = id(w, PARTS);
        all[2 * i + 1].parts = 1000;
    }
    r.devices = all;
    r.devices_n = 2 * (uint32_t)gpus_n;
    node_record(w, r);
}

static void told(struct world *w, const char *key, const char *requests, const char *devices)
{
    struct pod_record p = a_pod(w, key, NULL, requests);
    p.node = id(w, "n0");
    p.phase = POD_RUNNING;
    p.devices = id(w, devices);
    pod_record(w, p);
}

static void check(struct world *w)
{
    struct err e = {0};
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
}

/* What the pod is given in this cycle; "" when it is not bound. */
static const char *given(struct world *w, const char *key, const char *requests)
{
    if (requests)
        pod(w, key, NULL, requests);
    run(w);
    check(w);
    const struct plan_entry *entry = entry_of(w, EFFECT_BIND, key);
    return entry && entry->devices ? entry->devices : "";
}

static void the_fullest_that_is_enough(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 3, -1);
    assert_string_equal(given(&w, "ns/p1", PARTS "=600"), PARTS "=a");
    assert_string_equal(given(&w, "ns/p2", PARTS "=500"), PARTS "=b");
    assert_string_equal(given(&w, "ns/p3", PARTS "=300"), PARTS "=a");
    assert_string_equal(given(&w, "ns/p4", PARTS "=500"), PARTS "=b");
    assert_string_equal(given(&w, "ns/p5", GPU "=1"), GPU "=c");
    assert_string_equal(given(&w, "ns/p6", PARTS "=101"), ""); /* 100 of a are left */
    assert_non_null(strstr(why(&w, "pod/ns/p6"), "1 node(s) had no GPU with so large a share left"));
    assert_string_equal(given(&w, "ns/p7", PARTS "=100"), PARTS "=a");
    gone(&w, CHANGE_POD_GONE, "ns/p5");
    assert_string_equal(given(&w, "ns/p6", NULL), PARTS "=c");
    world_free(&w);
}

static void a_gpu_is_given_whole_or_in_parts(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    assert_string_equal(given(&w, "ns/p1", PARTS "=1"), PARTS "=a");
    assert_string_equal(given(&w, "ns/p2", GPU "=2"), "");
    assert_string_equal(given(&w, "ns/p3", GPU "=1"), GPU "=b");
    assert_string_equal(given(&w, "ns/p4", PARTS "=1000"), "");
    gone(&w, CHANGE_POD_GONE, "ns/p1");
    assert_string_equal(given(&w, "ns/p4", NULL), PARTS "=a");
    assert_string_equal(given(&w, "ns/p5", PARTS "=1001"), "");       /* of one GPU */
    assert_string_equal(given(&w, "ns/p6", GPU "=1," PARTS "=1"), ""); /* either, or */
    gone(&w, CHANGE_POD_GONE, "ns/p3");
    gone(&w, CHANGE_POD_GONE, "ns/p4");
    run(&w);
    check(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 1); /* p2 */
    world_free(&w);
}

static void an_ill_gpu_has_no_parts(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 2, 0);
    assert_string_equal(given(&w, "ns/p1", PARTS "=700"), PARTS "=b");
    assert_string_equal(given(&w, "ns/p2", PARTS "=700"), "");
    node_of(&w, "n0", 2, -1);
    assert_string_equal(given(&w, "ns/p2", NULL), PARTS "=a");
    node_of(&w, "n0", 2, 0); /* who is there stays */
    assert_string_equal(given(&w, "ns/p3", PARTS "=300"), PARTS "=b");
    world_free(&w);
}

static void what_the_api_says_is_counted(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    told(&w, "ns/p1", PARTS "=700", PARTS "=b");
    told(&w, "ns/p2", PARTS "=700", PARTS "=b"); /* more than there is: it may be a mistake, but they run */
    check(&w);
    assert_string_equal(given(&w, "ns/p3", PARTS "=100"), PARTS "=a");
    gone(&w, CHANGE_POD_GONE, "ns/p1");
    check(&w);
    assert_string_equal(given(&w, "ns/p4", PARTS "=300"), PARTS "=b");
    told(&w, "ns/p5", GPU "=1", GPU "=b"); /* a whole one of which pods have parts */
    check(&w);
    assert_string_equal(given(&w, "ns/p6", GPU "=1"), "");
    gone(&w, CHANGE_POD_GONE, "ns/p5");
    gone(&w, CHANGE_POD_GONE, "ns/p2");
    check(&w);
    gone(&w, CHANGE_POD_GONE, "ns/p4");
    assert_string_equal(given(&w, "ns/p6", NULL), GPU "=b");
    world_free(&w);
}

/* Places of a Workload for pods to come: parts of a GPU that a pod turns out to have. */
static void a_place_that_is_held_gives_way(void **state)
{
    (void)state;
    struct queue_words q;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    flavor(&w, "f", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", PARTS, 10000, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    workload(&w, "job", "ns/lq", 1, PARTS "=600");
    run(&w);
    check(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    told(&w, "ns/p1", PARTS "=600", PARTS "=a"); /* where the place is held */
    check(&w);
    assert_string_equal(given(&w, "ns/p2", PARTS "=500"), ""); /* the place is on b now */
    assert_string_equal(given(&w, "ns/p3", PARTS "=400"), PARTS "=a");
    told(&w, "ns/p4", GPU "=1", GPU "=b");
    run(&w);
    check(&w);
    world_free(&w);
}

/* Places of a job are held on a and b, and one of another on b: a pod of the first that is on b has the place there, and nobody moves.
 * model_core_order 730098930 12 1 */
static void a_place_that_is_held_is_its_own_pods(void **state)
{
    (void)state;
    struct queue_words q;
    struct world w = world_new();
    node_of(&w, "n0", 3, -1);
    flavor(&w, "f", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", PARTS, 10000, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    told(&w, "ns/x", PARTS "=450", PARTS "=a");
    told(&w, "ns/y", PARTS "=400", PARTS "=b");
    told(&w, "ns/z", PARTS "=850", PARTS "=c");
    workload(&w, "job", "ns/lq", 2, PARTS "=500");
    run(&w);
    workload(&w, "beside", "ns/lq", 1, PARTS "=100");
    run(&w);
    gone(&w, CHANGE_POD_GONE, "ns/x");
    gone(&w, CHANGE_POD_GONE, "ns/y");
    struct pod_record p = a_pod(&w, "ns/p1", "job", PARTS "=500");
    p.node = id(&w, "n0");
    p.phase = POD_RUNNING;
    p.devices = id(&w, PARTS "=b");
    pod_record(&w, p);
    check(&w);
    pod(&w, "ns/p2", "job", PARTS "=500");
    pod(&w, "ns/p3", "beside", PARTS "=100");
    run(&w);
    check(&w);
    const struct plan_entry *other = entry_of(&w, EFFECT_BIND, "ns/p2"), *beside = entry_of(&w, EFFECT_BIND, "ns/p3");
    assert_true(other && beside);
    assert_string_equal(other->devices, PARTS "=a");
    assert_string_equal(beside->devices, PARTS "=b");
    world_free(&w);
}

/* Nobody has said which GPU a member has; when it is gone its place is held, on one: views see that. model_core_events 8177 400 1 */
static void a_place_that_is_held_takes_part(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 1, -1);
    node_of(&w, "n1", 1, -1);
    gang_record(&w, a_group(&w, "g", NULL, 2));
    for (int i = 0; i < 2; i++) {
        struct pod_record p = a_pod(&w, i ? "ns/g-1" : "ns/g-0", "g", PARTS "=500");
        p.node = id(&w, "n1");
        p.phase = POD_RUNNING;
        pod_record(&w, p);
    }
    assert_string_equal(given(&w, "ns/p1", GPU "=1"), GPU "=a");
    assert_string_equal(text_of(&w, entry_of(&w, EFFECT_BIND, "ns/p1")->node), "n0");
    gone(&w, CHANGE_POD_GONE, "ns/g-1");
    check(&w);
    assert_string_equal(given(&w, "ns/p2", GPU "=1"), "");
    world_free(&w);
}

/* One of higher priority waits for others to go; what they leave is kept for it. */
static void room_is_kept_for_who_waits_for_it(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 1, -1);
    assert_string_equal(given(&w, "ns/low", PARTS "=900"), PARTS "=a");
    struct pod_record high = a_pod(&w, "ns/high", NULL, PARTS "=500");
    high.priority = 10;
    pod_record(&w, high);
    run(&w);
    check(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    pod(&w, "ns/small", NULL, PARTS "=600");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    run(&w);
    check(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/high"));
    assert_null(entry_of(&w, EFFECT_BIND, "ns/small"));
    world_free(&w);
}

/* `devices`: on n0; NULL: it waits. */
static void of_priority(struct world *w, int32_t priority, const char *key, const char *requests, const char *devices)
{
    struct pod_record p = a_pod(w, key, NULL, requests);
    p.priority = priority;
    p.node = devices ? id(w, "n0") : 0;
    p.devices = devices ? id(w, devices) : 0;
    p.phase = devices ? POD_RUNNING : POD_PENDING;
    pod_record(w, p);
}

/* It waits for two whole GPUs, of which one is free, and the other will be when all who have parts of it have left: nobody takes a part of
 * that one meanwhile. model_core_events 5077 400 1 */
static void a_gpu_that_comes_free_whole_is_kept_whole(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    assert_string_equal(given(&w, "ns/low", PARTS "=300"), PARTS "=a");
    of_priority(&w, 10, "ns/high", GPU "=2", NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_string_equal(given(&w, "ns/small", PARTS "=100"), "");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    assert_string_equal(given(&w, "ns/high", NULL), GPU "=a,b");
    world_free(&w);
}

/* It waits for CPUs: the GPU that comes free with them is kept, and no other. */
static void of_gpus_that_is_kept_which_comes_free(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 3, -1);
    assert_string_equal(given(&w, "ns/low", "cpu=40000," PARTS "=300"), PARTS "=a");
    of_priority(&w, 10, "ns/high", "cpu=50000," GPU "=1", NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_string_equal(given(&w, "ns/small", "cpu=1000," GPU "=2"), GPU "=b,c");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    assert_string_equal(given(&w, "ns/high", NULL), GPU "=a");
    world_free(&w);
}

/* Also where it would rather have another one. model_core_events 9061 400 1 */
static void it_is_kept_whichever_of_them_is_the_best(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 3, -1);
    of_priority(&w, 0, "ns/low", "cpu=40000," GPU "=1", GPU "=c");
    of_priority(&w, 10, "ns/high", "cpu=50000," GPU "=1", NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_string_equal(given(&w, "ns/small", "cpu=1000," GPU "=2"), GPU "=a,b");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    assert_string_equal(given(&w, "ns/high", NULL), GPU "=c");
    world_free(&w);
}

/* The same where it takes a part of what another one has whole. */
static void a_part_of_the_gpu_that_comes_free_whole_is_kept_there(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    assert_string_equal(given(&w, "ns/low", "cpu=40000," GPU "=1"), GPU "=a");
    of_priority(&w, 10, "ns/high", "cpu=50000," PARTS "=600", NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_string_equal(given(&w, "ns/small", "cpu=1000," GPU "=1"), GPU "=b");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    assert_string_equal(given(&w, "ns/high", NULL), PARTS "=a");
    world_free(&w);
}

/* What it needs of "b" beside what goes there is kept there, and not of "a". */
static void parts_are_kept_where_somebody_leaves(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    of_priority(&w, 20, "ns/x", PARTS "=200", PARTS "=a");
    told(&w, "ns/low", PARTS "=700", PARTS "=b");
    of_priority(&w, 10, "ns/high", PARTS "=900", NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_non_null(entry_of(&w, EFFECT_EVICT, "pod/ns/low"));
    assert_string_equal(given(&w, "ns/small", PARTS "=200"), PARTS "=a");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    assert_string_equal(given(&w, "ns/high", NULL), PARTS "=b");
    world_free(&w);
}

/* Somebody else has put a pod there that takes a part of a GPU that it was promised whole: it looks again at once. */
static void who_was_promised_a_gpu_looks_again_when_others_take_a_part(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "n0", 1, -1);
    assert_string_equal(given(&w, "ns/low", PARTS "=300"), PARTS "=a");
    of_priority(&w, 10, "ns/high", GPU "=1", NULL);
    run(&w);
    assert_non_null(entry_of(&w, EFFECT_EVICT, "pod/ns/low"));
    of_priority(&w, 20, "ns/other", PARTS "=100", PARTS "=a");
    run(&w);
    assert_null(strstr(why_tree(&w, "pod/ns/high"), "preempted"));
    assert_string_equal(given(&w, "ns/small", PARTS "=100"), PARTS "=a"); /* nothing is kept for it any more */
    world_free(&w);
}

/* GPUs of so many MiB (0: nobody says), each handed out `slots_n` times by its device plugin. */
static void node_with_memory(struct world *w, const char *name, int gpus_n, uint32_t mib, int slots_n)
{
    char amounts[200];
    snprintf(amounts, sizeof amounts, "cpu=64000," GPU "=%d," PARTS "=%d," BYTES_OF "=%lld," OF_MEMORY "=%d," COUNT "=%d", gpus_n * slots_n,
             gpus_n * 1000, (long long)gpus_n * mib << 20, gpus_n * 1000, gpus_n * 1000);
    struct node_record r = a_node(w, name, amounts, "");
    uint32_t n = 0;
    struct device *all = arena_zero(w->records, (size_t)gpus_n * (size_t)(slots_n + 1), sizeof *all);
    for (int i = 0; i < gpus_n; i++)
        for (int k = 0; k <= slots_n; k++) {
            const char text[3] = {(char)('a' + i), k ? (char)('0' + k - 1) : 0, 0};
            all[n++] = (struct device){.resource = id(w, k ? GPU : PARTS), .id = id(w, text), .gpu = (uint16_t)i, .healthy = true,
                                       .unit = (uint16_t)(k ? i + 1 : 0), .parts = k ? 0 : 1000, .memory_mib = k ? 0 : mib};
        }
    r.devices = all;
    r.devices_n = n;
    node_record(w, r);
}

static void memory_is_counted_beside_parts(void **state)
{
    (void)state;
    struct world w = world_new();
    node_with_memory(&w, "n0", 2, 16384, 1);
    assert_string_equal(given(&w, "ns/p1", PARTS "=100," BYTES_OF "=12884901889"), PARTS "=a"); /* 12 GiB and less than 1 MiB more */
    assert_string_equal(given(&w, "ns/p2", BYTES_OF "=4294967296"), PARTS "=b"); /* a has 4 GiB less 1 MiB */
    assert_string_equal(given(&w, "ns/p3", OF_MEMORY "=750"), PARTS "=b");
    assert_string_equal(given(&w, "ns/p4", BYTES_OF "=1"), PARTS "=a");
    assert_string_equal(given(&w, "ns/p5", GPU "=1"), ""); /* shares of memory keep a GPU from being given whole */
    assert_non_null(strstr(why(&w, "pod/ns/p5"), "1 Insufficient " GPU));
    assert_string_equal(given(&w, "ns/p6", PARTS "=950"), PARTS "=b");
    assert_string_equal(given(&w, "ns/p7", BYTES_OF "=17179869185"), "");
    gone(&w, CHANGE_POD_GONE, "ns/p2");
    gone(&w, CHANGE_POD_GONE, "ns/p3");
    gone(&w, CHANGE_POD_GONE, "ns/p6");
    assert_string_equal(given(&w, "ns/p5", NULL), GPU "=b0");
    world_free(&w);
}

/* Pods have more of its memory than there is, as the API says: nobody else gets anything of it, parts neither. model_core_events 6465 */
static void of_a_gpu_whose_memory_is_overdrawn_nobody_gets_parts(void **state)
{
    (void)state;
    struct world w = world_new();
    node_with_memory(&w, "n0", 2, 16384, 1);
    told(&w, "ns/p1", PARTS "=200," BYTES_OF "=9663676416", PARTS "=a");
    told(&w, "ns/p2", PARTS "=200," BYTES_OF "=9663676416", PARTS "=a");
    check(&w);
    assert_string_equal(given(&w, "ns/p3", PARTS "=600"), PARTS "=b");
    assert_string_equal(given(&w, "ns/p4", PARTS "=600"), "");
    gone(&w, CHANGE_POD_GONE, "ns/p1");
    assert_string_equal(given(&w, "ns/p4", NULL), PARTS "=a");
    world_free(&w);
}

static void of_unknown_memory_only_thousandths(void **state)
{
    (void)state;
    struct world w = world_new();
    node_with_memory(&w, "n0", 1, 0, 1);
    assert_string_equal(given(&w, "ns/p1", BYTES_OF "=1"), "");
    assert_string_equal(given(&w, "ns/p2", OF_MEMORY "=600"), PARTS "=a");
    assert_string_equal(given(&w, "ns/p3", OF_MEMORY "=401"), "");
    assert_string_equal(given(&w, "ns/p4", OF_MEMORY "=400"), PARTS "=a");
    world_free(&w);
}

static void several_shares_are_of_several_gpus(void **state)
{
    (void)state;
    struct world w = world_new();
    node_with_memory(&w, "n0", 3, 1000, 1);
    assert_string_equal(given(&w, "ns/p1", PARTS "=600"), PARTS "=a");
    assert_string_equal(given(&w, "ns/p2", PARTS "=1000," COUNT "=2"), PARTS "=b,c"); /* 500 each: where most is left */
    assert_string_equal(given(&w, "ns/p3", PARTS "=1200," COUNT "=3"), PARTS "=a,b,c");
    assert_string_equal(given(&w, "ns/p4", PARTS "=202," COUNT "=2"), "");
    assert_string_equal(given(&w, "ns/p5", PARTS "=200," COUNT "=2"), PARTS "=b,c");
    gone(&w, CHANGE_POD_GONE, "ns/p1");
    assert_string_equal(given(&w, "ns/p6", PARTS "=600," COUNT "=4"), "");
    world_free(&w);
}

/* It waits for shares of two GPUs, each more than half of one: of the free one nobody has as much, though of all parts few are short. */
static void each_share_is_kept_of_one_gpu(void **state)
{
    (void)state;
    struct world w = world_new();
    node_with_memory(&w, "n0", 2, 1000, 1);
    assert_string_equal(given(&w, "ns/low", "cpu=40000," PARTS "=900"), PARTS "=a");
    of_priority(&w, 10, "ns/high", "cpu=50000," PARTS "=1200," COUNT "=2", NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_string_equal(given(&w, "ns/small", "cpu=1000," PARTS "=600"), "");
    assert_string_equal(given(&w, "ns/smaller", "cpu=1000," PARTS "=400"), PARTS "=b");
    gone(&w, CHANGE_POD_GONE, "ns/low");
    assert_string_equal(given(&w, "ns/high", NULL), PARTS "=a,b");
    world_free(&w);
}

/* What the kubelet hands out is of the GPU of which the pod has a share. */
static void slots_go_with_shares(void **state)
{
    (void)state;
    struct world w = world_new();
    node_with_memory(&w, "n0", 2, 16384, 3);
    assert_string_equal(given(&w, "ns/p1", PARTS "=300," GPU "=1"), PARTS "=a;" GPU "=a0");
    assert_string_equal(given(&w, "ns/p2", PARTS "=300," GPU "=1"), PARTS "=a;" GPU "=a1");
    assert_string_equal(given(&w, "ns/p3", PARTS "=100," GPU "=2"), PARTS "=b;" GPU "=b0,b1");
    assert_string_equal(given(&w, "ns/p4", GPU "=1"), ""); /* without a share: from a GPU that has none */
    assert_string_equal(given(&w, "ns/p5", PARTS "=200," GPU "=2," COUNT "=2"), PARTS "=a,b;" GPU "=a2,b2");
    assert_string_equal(given(&w, "ns/p6", PARTS "=100," GPU "=1"), ""); /* all are handed out */
    assert_string_equal(given(&w, "ns/p7", PARTS "=100"), PARTS "=a");   /* not from the kubelet */
    assert_string_equal(given(&w, "ns/p8", PARTS "=2," GPU "=3," COUNT "=2"), "");
    gone(&w, CHANGE_POD_GONE, "ns/p3");
    assert_string_equal(given(&w, "ns/p6", NULL), PARTS "=b;" GPU "=b0");
    gone(&w, CHANGE_POD_GONE, "ns/p5");
    gone(&w, CHANGE_POD_GONE, "ns/p6");
    assert_string_equal(given(&w, "ns/p4", NULL), GPU "=b0");
    assert_string_equal(given(&w, "ns/p9", PARTS "=1," GPU "=1"), PARTS "=a;" GPU "=a2"); /* b is given as devices */
    world_free(&w);
}

static void as_bound_before_a_restart(void **state)
{
    (void)state;
    struct world w = world_new();
    told(&w, "ns/p1", PARTS "=600," BYTES_OF "=4294967296," GPU "=1", PARTS "=b;" GPU "=b1");
    node_with_memory(&w, "n0", 2, 16384, 2);
    run(&w);
    check(&w);
    assert_string_equal(given(&w, "ns/p2", PARTS "=401," GPU "=1"), PARTS "=a;" GPU "=a0");
    assert_string_equal(given(&w, "ns/p3", PARTS "=400," GPU "=1"), PARTS "=b;" GPU "=b0");
    world_free(&w);
}

/* A kubelet writes what it has given, which may be another device than the chosen one, and nothing of shares. */
static void shares_follow_what_a_kubelet_gives(void **state)
{
    (void)state;
    static const char *const texts[] = {GPU "=b1", PARTS "=a;" GPU "=b1"};
    for (int i = 0; i < 2; i++) {
        struct world w = world_new();
        node_with_memory(&w, "n0", 2, 16384, 2);
        assert_string_equal(given(&w, "ns/p1", PARTS "=600," GPU "=1"), PARTS "=a;" GPU "=a0");
        told(&w, "ns/p1", PARTS "=600," GPU "=1", texts[i]);
        run(&w);
        check(&w);
        assert_string_equal(given(&w, "ns/p2", PARTS "=401," GPU "=1"), PARTS "=a;" GPU "=a0");
        assert_string_equal(given(&w, "ns/p3", PARTS "=400," GPU "=1"), PARTS "=b;" GPU "=b0");
        world_free(&w);
    }
}

/* A place that is held, with what the kubelet would hand out, moves as a whole. */
static void a_held_share_moves_with_its_slot(void **state)
{
    (void)state;
    struct queue_words q;
    struct world w = world_new();
    node_with_memory(&w, "n0", 2, 16384, 2);
    flavor(&w, "f", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", PARTS, 10000, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "f", GPU, 10000, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    workload(&w, "job", "ns/lq", 1, PARTS "=600," GPU "=1");
    run(&w);
    check(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    told(&w, "ns/p1", PARTS "=600," GPU "=1", PARTS "=a;" GPU "=a0");
    check(&w);
    assert_string_equal(given(&w, "ns/p2", PARTS "=500"), ""); /* the place is on b now */
    told(&w, "ns/p3", GPU "=1", GPU "=b0");                    /* nowhere */
    check(&w);
    gone(&w, CHANGE_POD_GONE, "ns/p1");
    run(&w);
    check(&w);
    world_free(&w);
}

/* What a pod leaves on a GPU that has become ill is no place for the next one of its gang. */
static void a_place_that_is_left_on_an_ill_gpu(void **state)
{
    (void)state;
    struct queue_words q;
    struct world w = world_new();
    node_of(&w, "n0", 2, -1);
    flavor(&w, "f", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", PARTS, 10000, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    workload(&w, "job", "ns/lq", 1, PARTS "=600");
    run(&w);
    pod(&w, "ns/job-0", "job", PARTS "=600");
    run(&w);
    assert_string_equal(entry_of(&w, EFFECT_BIND, "ns/job-0")->devices, PARTS "=a");
    node_of(&w, "n0", 2, 0);
    check(&w);
    gone(&w, CHANGE_POD_GONE, "ns/job-0");
    check(&w);
    pod(&w, "ns/job-1", "job", PARTS "=600");
    run(&w);
    check(&w);
    assert_string_equal(entry_of(&w, EFFECT_BIND, "ns/job-1")->devices, PARTS "=b");
    world_free(&w);
}

/* So large that sums of it overflow. */
static void absurd_amounts(void **state)
{
    (void)state;
    static const char *const asks[] = {PARTS "=9223372036854775807", BYTES_OF "=9223372036854775807", OF_MEMORY "=9223372036854775807",
                                       PARTS "=1," COUNT "=9223372036854775807", PARTS "=9223372036854775807," BYTES_OF
                                       "=9223372036854775807," OF_MEMORY "=9223372036854775807," COUNT "=9223372036854775807"};
    struct world w = world_new();
    node_with_memory(&w, "n0", 2, UINT32_MAX, 2);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        char key[16];
        snprintf(key, sizeof key, "ns/w%zu", i);
        assert_string_equal(given(&w, key, asks[i]), "");
        snprintf(key, sizeof key, "ns/t%zu", i);
        told(&w, key, asks[i], PARTS "=a");
        check(&w);
    }
    assert_string_equal(given(&w, "ns/p", PARTS "=1000"), ""); /* they take more than the node has */
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        char key[16];
        snprintf(key, sizeof key, "ns/t%zu", i);
        gone(&w, CHANGE_POD_GONE, key);
    }
    assert_string_equal(given(&w, "ns/p", NULL), PARTS "=a");
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fullest_that_is_enough),       cmocka_unit_test(a_gpu_is_given_whole_or_in_parts),
        cmocka_unit_test(an_ill_gpu_has_no_parts),          cmocka_unit_test(what_the_api_says_is_counted),
        cmocka_unit_test(a_place_that_is_held_gives_way),
        cmocka_unit_test(a_place_that_is_held_is_its_own_pods),
        cmocka_unit_test(a_place_that_is_held_takes_part),
        cmocka_unit_test(room_is_kept_for_who_waits_for_it),
        cmocka_unit_test(a_gpu_that_comes_free_whole_is_kept_whole), cmocka_unit_test(parts_are_kept_where_somebody_leaves),
        cmocka_unit_test(of_gpus_that_is_kept_which_comes_free),
        cmocka_unit_test(it_is_kept_whichever_of_them_is_the_best),
        cmocka_unit_test(a_part_of_the_gpu_that_comes_free_whole_is_kept_there),
        cmocka_unit_test(each_share_is_kept_of_one_gpu),
        cmocka_unit_test(who_was_promised_a_gpu_looks_again_when_others_take_a_part),
        cmocka_unit_test(memory_is_counted_beside_parts),   cmocka_unit_test(of_unknown_memory_only_thousandths),
        cmocka_unit_test(of_a_gpu_whose_memory_is_overdrawn_nobody_gets_parts),
        cmocka_unit_test(several_shares_are_of_several_gpus), cmocka_unit_test(slots_go_with_shares),
        cmocka_unit_test(as_bound_before_a_restart),        cmocka_unit_test(a_held_share_moves_with_its_slot),
        cmocka_unit_test(a_place_that_is_left_on_an_ill_gpu),
        cmocka_unit_test(absurd_amounts),                   cmocka_unit_test(shares_follow_what_a_kubelet_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
