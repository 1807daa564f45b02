/* test_remedy.c - what is said to help: amounts, who holds it, joint needs, and what is impossible */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

/* As `why -o json` has it, from "remedies" on. */
static const char *remedies(struct world *w, const char *gang)
{
    struct buf b;
    buf_init(&b);
    explain_json(&b, state_gang_reason(w->s, id(w, gang)), w->names);
    const char *text = arena_text(w->cycle, b.data ? b.data : ""), *at = strstr(text, "\"remedies\"");
    buf_free(&b);
    return at ? at : "";
}

static void says(struct world *w, const char *gang, const char *text)
{
    const char *all = remedies(w, gang);
    if (!strstr(all, text))
        fail_msg("%s: %s\nlacks %s", gang, all, text);
}

/* 12 are used of a quota that was lowered to 8, and 8 are asked for: 8 more would not be enough. */
static void quota_in_debt(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=64", "");
    gpu_queue(w, "q", NULL, "ns/q", 12);
    workload(w, "holder", "ns/q", 12, GPU "=1");
    step(w);
    gpu_queue(w, "q", NULL, "ns/q", 8);
    workload(w, "late", "ns/q", 8, GPU "=1");
    step(w);
    says(w, "late", "\"remedies\":[{\"all\":[{\"change\":\"quota\",\"queue\":\"q\",\"flavor\":\"any\",\"resource\":\"nvidia.com/gpu\",\"add\":\"12\"}]");
    says(w, "late", "{\"all\":[{\"change\":\"end\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"holder\"}]");
    gpu_queue(w, "q", NULL, "ns/q", 20);
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
}

/* The same node with more and more of its GPUs in use: the amount follows. */
static void as_many_as_are_missing(void **state)
{
    (void)state;
    for (int used = 3; used <= 5; used++) {
        struct world w = world_new();
        char text[80];
        node(&w, "n0", GPU "=8", "");
        for (int i = 0; i < used; i++) {
            snprintf(text, sizeof text, "ns/p%d", i);
            pod(&w, text, NULL, GPU "=1");
        }
        step(&w);
        pod(&w, "ns/large", NULL, GPU "=8");
        step(&w);
        snprintf(text, sizeof text, "\"node\":\"n0\",\"resource\":\"nvidia.com/gpu\",\"add\":\"%d\"", used);
        says(&w, "pod/ns/large", text);
        world_free(&w);
    }
}

/* A profile that no GPU has, a pod larger than each node, and more pods than all nodes hold. */
static void impossible(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=8", "");
    node(w, "n1", GPU "=4", "");
    pod(w, "ns/mig", NULL, "nvidia.com/mig-3g.40gb=1");
    pod(w, "ns/huge", NULL, GPU "=16");
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    workload(w, "many", "ns/lq", 4, GPU "=4"); /* of a group fewer could start: a_lower_minimum_of_a_group_that_is_whole */
    workload(w, "lost", "ns/nowhere", 1, GPU "=1");
    step(w);
    says(w, "pod/ns/mig", "\"remedies\":[],\"impossible\":\"nothing would: no node has nvidia.com/mig-3g.40gb\"");
    says(w, "pod/ns/huge", "\"remedies\":[],\"impossible\":\"nothing would: a pod asks for 16 nvidia.com/gpu, and the largest node has 8\"");
    says(w, "many", "\"remedies\":[],\"impossible\":\"nothing would: it would not start if all nodes were empty and all quota its own\"");
    says(w, "lost", "\"remedies\":[],\"impossible\":\"nothing would before this is mended: LocalQueue nowhere doesn't exist; create it, or name another queue\"");
}

/* What neither quota nor room changes: the queue has to be mended. */
static void a_queue_to_be_mended(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=8,cpu=8000", "");
    gpu_queue(w, "q", NULL, "ns/q", 8);
    workload(w, "uncovered", "ns/q", 1, GPU "=1,cpu=1000");
    step(w);
    says(w, "uncovered", "\"remedies\":[],\"impossible\":\"nothing would before this is mended: resource cpu unavailable in ClusterQueue; "
                         "give the queue quota for it, or do not ask for it\"");
}

/* Team a has its quota, but b has borrowed it: who has it is named. */
static void lent_quota_names_the_borrower(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=64", "");
    gpu_queue(w, "a", "co", "ns/a", 4);
    gpu_queue(w, "b", "co", "ns/b", 4);
    workload(w, "borrower", "ns/b", 8, GPU "=1");
    step(w);
    workload(w, "owner", "ns/a", 4, GPU "=1");
    step(w);
    says(w, "owner", "{\"all\":[{\"change\":\"end\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"borrower\"}]");
    gone(w, CHANGE_GANG_GONE, "borrower");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "owner"));
}

/* Quota and room: both are needed, and said together. Of equals behind the first nothing is said. */
static void joint_needs(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=8", "");
    gpu_queue(w, "q", NULL, "ns/q", 2);
    pod(w, "ns/alone", NULL, GPU "=6");
    step(w);
    workload(w, "first", "ns/q", 4, GPU "=1");
    workload(w, "second", "ns/q", 4, GPU "=1");
    step(w);
    says(w, "first", "\"message\":\"2 more nvidia.com/gpu of quota in flavor any for queue q and 2 more nvidia.com/gpu free on node n0\"");
    assert_string_equal(remedies(w, "second"), "");
}

static void preempting_queue(struct world *w, const char *name, const char *cohort, const char *local, int64_t gpus)
{
    struct queue_words q;
    flavor(w, "any", "");
    queue_begin(w, &q, name, cohort);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    q.r.reclaim_within_cohort = PREEMPT_ANY;
    queue_quota(w, &q, "any", GPU, gpus, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, local, name);
}

static void job(struct world *w, const char *name, int32_t priority, int32_t gpus)
{
    struct gang_record r = a_workload(w, name, "ns/q", gpus, GPU "=1");
    r.priority = priority;
    gang_record(w, r);
}

/* 8 of quota: 3 of lower priority may go for it and 5 of higher may not, so for 6 it takes 3 more, or the end of whom it may not end. */
static void less_where_others_can_be_preempted(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=64", "");
    preempting_queue(w, "q", NULL, "ns/q", 8);
    job(w, "low", 1, 3);
    job(w, "high", 9, 5);
    step(w);
    job(w, "middle", 5, 6);
    step(w);
    says(w, "middle", "{\"change\":\"quota\",\"queue\":\"q\",\"flavor\":\"any\",\"resource\":\"nvidia.com/gpu\",\"add\":\"3\"}");
    says(w, "middle", "{\"all\":[{\"change\":\"end\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"high\"}]");
    preempting_queue(w, "q", NULL, "ns/q", 10);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT) + effects(w, EFFECT_ADMIT), 0);
    preempting_queue(w, "q", NULL, "ns/q", 11);
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "low"));
    outcome(w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    job(w, "low", 1, 3);
    step(w);
    if (!entry_of(w, EFFECT_ADMIT, "middle"))
        step(w); /* what the last one gave back is looked at now */
    assert_non_null(entry_of(w, EFFECT_ADMIT, "middle"));
}

static void two_resources(struct world *w, int64_t gpus)
{
    struct queue_words q;
    queue_begin(w, &q, "q", NULL);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_quota(w, &q, "any", "cpu", 8, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, gpus, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
}

static void job_of_two(struct world *w, const char *name, int32_t priority, const char *requests)
{
    struct gang_record r = a_workload(w, name, "ns/q", 1, requests);
    r.priority = priority;
    gang_record(w, r);
}

/* Somebody leaves for another gang of the queue. With another quota all of them get in line anew, and that one has to go for whom is first:
 * more of what he leaves is not needed. model_core_remedy 1004496 */
static void another_quota_ends_promises(void **state)
{
    struct world *w = *state;
    node(w, "n0", "cpu=64," GPU "=64", "");
    flavor(w, "any", "");
    two_resources(w, 2);
    local_queue(w, "ns/q", "q");
    job_of_two(w, "low", 0, "cpu=8");
    step(w);
    job_of_two(w, "middle", 1, "cpu=1");
    step(w);
    assert_non_null(entry_of(w, EFFECT_EVICT, "low"));
    job_of_two(w, "high", 2, "cpu=1," GPU "=4");
    step(w);
    assert_null(strstr(remedies(w, "high"), "\"add\""));
    two_resources(w, 4);
    step(w);
    assert_non_null(strstr(why(w, "high"), "pending the preemption of 1 workload(s)"));
}

/* 3 GPUs of 8 are of one that may go, 5 of one that may not. One more of the second would be enough, of the first it would not: only an
 * end is said. */
static void room_is_not_that_of_victims(void **state)
{
    struct world *w = *state;
    struct pod_record p;
    node(w, "n0", GPU "=8", "");
    for (int i = 0; i < 2; i++) {
        p = a_pod(w, i ? "ns/high" : "ns/low", NULL, i ? GPU "=5" : GPU "=3");
        p.priority = i ? 9 : 1;
        pod_record(w, p);
    }
    step(w);
    p = a_pod(w, "ns/middle", NULL, GPU "=4");
    p.priority = 5;
    pod_record(w, p);
    step(w);
    says(w, "pod/ns/middle", "\"remedies\":[{\"all\":[{\"change\":\"end\",\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"high\"}]");
    assert_null(strstr(remedies(w, "pod/ns/middle"), "\"free\""));
    gone(w, CHANGE_POD_GONE, "ns/high");
    step(w);
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/middle"));
}

/* With 5 cpus two large members find places and nobody else, which is too few; with what the pod ahead leaves of them one large member and
 * two small ones do. model_core_remedy 1034334 */
static void less_room_may_be_enough(void **state)
{
    static const char *const holders[] = {"ns/a", "ns/b", "ns/c"}, *const holds[] = {"cpu=4000", "cpu=1000", "cpu=2000"};
    struct world *w = *state;
    node(w, "n0", "cpu=7000", "");
    for (int i = 0; i < 3; i++) {
        struct pod_record p = a_pod(w, holders[i], NULL, holds[i]);
        p.priority = 9;
        pod_record(w, p);
    }
    step(w);
    struct pod_record ahead = a_pod(w, "ns/ahead", NULL, "cpu=500");
    ahead.priority = 1;
    pod_record(w, ahead);
    gang_record(w, a_group(w, "g", NULL, 3));
    for (int i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof key, "ns/g-%d", i);
        pod(w, key, "g", i < 2 ? "cpu=2500" : "cpu=1000");
    }
    step(w);
    assert_null(strstr(remedies(w, "g"), "\"name\":\"c\""));
    gone(w, CHANGE_POD_GONE, "ns/a");
    gone(w, CHANGE_POD_GONE, "ns/b");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "g"));
}

/* Three pods of a group whose minimum is four. At first more of them may be under way. */
static void more_members_or_a_lower_minimum(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=8", "");
    gang_record(w, a_group(w, "group/ns/few", NULL, 4));
    for (int i = 0; i < 3; i++)
        pod(w, i == 0 ? "ns/few-0" : i == 1 ? "ns/few-1" : "ns/few-2", "group/ns/few", GPU "=1");
    step(w);
    assert_string_equal(remedies(w, "group/ns/few"), "");
    assert_true(w->plan.wake_ms > w->now_ms);
    w->now_ms = w->plan.wake_ms;
    step(w);
    says(w, "group/ns/few", "{\"all\":[{\"change\":\"raise-members\",\"kind\":\"PodGroup\",\"namespace\":\"ns\",\"name\":\"few\",\"add\":\"1\"}]");
    says(w, "group/ns/few", "{\"all\":[{\"change\":\"lower-minimum\",\"kind\":\"PodGroup\",\"namespace\":\"ns\",\"name\":\"few\",\"subtract\":\"1\"}]");
    says(w, "group/ns/few", "\"message\":\"1 more pod of PodGroup ns/few\"");
    says(w, "group/ns/few", "\"message\":\"the minimum of PodGroup ns/few lower by 1\"");
    pod(w, "ns/few-3", "group/ns/few", GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 4);
}

/* Three pods that are all there, and a node that holds two of them. Volcano looks at minima of tasks where that of the whole is not below
 * their sum: so does who decodes its groups. */
static void a_lower_minimum_of_a_group_that_is_whole(void **state)
{
    (void)state;
    for (int tasks = 0; tasks < 2; tasks++) {
        struct world w = world_new();
        struct gang_record r = a_group(&w, "group/ns/g", NULL, 3);
        r.min_of_task = &(struct amount){id(&w, "a"), 3};
        r.min_of_task_n = (uint32_t)tasks;
        node(&w, "n0", GPU "=2", "");
        gang_record(&w, r);
        for (int i = 0; i < 3; i++)
            pod_record(&w, pod_in(&w, arena_printf(w.records, "ns/g-%d", i), "group/ns/g", "a", GPU "=1", ""));
        for (int i = 0; i < 3; i++)
            step(&w);
        says(&w, "group/ns/g", "\"remedies\":[{\"all\":[{\"change\":\"lower-minimum\",\"kind\":\"PodGroup\",\"namespace\":\"ns\",\"name\":\"g\","
                               "\"subtract\":\"1\"}],\"message\":\"the minimum of PodGroup ns/g lower by 1\"}]");
        r.min_members = 2;
        r.min_of_task_n = 0;
        gang_record(&w, r);
        step(&w);
        assert_int_equal(effects(&w, EFFECT_BIND), 2);
        world_free(&w);
    }
}

/* Two of task a and one of b make up the whole, which is two of any: b finds no node, and its own minimum is in the way. */
static void a_lower_minimum_of_a_task(void **state)
{
    struct world *w = *state;
    struct gang_record r = a_group(w, "group/ns/g", NULL, 2);
    r.min_of_task = &(struct amount){id(w, "b"), 1};
    r.min_of_task_n = 1;
    node(w, "n0", GPU "=2", "");
    gang_record(w, r);
    for (int i = 0; i < 3; i++)
        pod_record(w, pod_in(w, arena_printf(w->records, "ns/g-%d", i), "group/ns/g", i < 2 ? "a" : "b", i < 2 ? GPU "=1" : GPU "=4", ""));
    for (int i = 0; i < 3; i++)
        step(w);
    says(w, "group/ns/g", "\"remedies\":[{\"all\":[{\"change\":\"lower-minimum\",\"kind\":\"PodGroup\",\"namespace\":\"ns\",\"name\":\"g\","
                          "\"podSet\":\"b\",\"subtract\":\"1\"}],\"message\":\"the minimum of task b of PodGroup ns/g lower by 1\"}]");
}

/* A pod that ends takes its whole group back into waiting: what is left of the one start does not count for the next. */
static void members_are_under_way_after_each_start(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=8", "");
    gang_record(w, a_group(w, "group/ns/two", NULL, 2));
    pod(w, "ns/two-0", "group/ns/two", GPU "=1");
    step(w);
    pod(w, "ns/two-1", "group/ns/two", GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    gone(w, CHANGE_POD_GONE, "ns/two-0");
    gone(w, CHANGE_POD_GONE, "ns/two-1");
    w->now_ms += 60000;
    pod(w, "ns/two-2", "group/ns/two", GPU "=1");
    step(w);
    assert_string_equal(remedies(w, "group/ns/two"), "");
    assert_true(w->plan.wake_ms > w->now_ms);
    w->now_ms = w->plan.wake_ms;
    step(w);
    says(w, "group/ns/two", "\"add\":\"1\"}]");
}

/* Groups of a thousand of which one pod exists each: to place all is a trial of many, and a cycle has so many for the first few. */
static void the_first_that_lack_members_are_looked_at(void **state)
{
    enum { GROUPS = 60 };
    struct world *w = *state;
    char key[32], name[32];
    uint32_t known_n = 0;
    node(w, "n0", "cpu=2000000", "");
    for (int i = 0; i < GROUPS; i++) {
        snprintf(name, sizeof name, "group/ns/g%d", i);
        snprintf(key, sizeof key, "ns/g%d-0", i);
        gang_record(w, a_group(w, name, NULL, 1000));
        pod(w, key, name, "cpu=1000");
    }
    step(w);
    for (int round = 0; round < 3; round++) {
        w->now_ms = w->plan.wake_ms;
        step(w);
        assert_int_equal(effects(w, EFFECT_EXPLAIN) > 0, round == 0); /* and what they were told stands */
    }
    for (int i = 0; i < GROUPS; i++) {
        snprintf(name, sizeof name, "group/ns/g%d", i);
        bool is_known = remedies(w, name)[0];
        assert_true(!is_known || known_n == (uint32_t)i);
        known_n += is_known;
    }
    assert_in_range(known_n, 1, 10);
}

/* Eight that would do with six, and there is quota for four. */
static void fewer_of_a_workload(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=64", "");
    gpu_queue(w, "q", NULL, "ns/q", 4);
    struct gang_record r = a_workload(w, "elastic", "ns/q", 8, GPU "=1");
    struct pod_set set = r.pod_sets[0];
    set.min_count = 6;
    r.pod_sets = &set;
    gang_record(w, r);
    step(w);
    says(w, "elastic", "\"name\":\"elastic\",\"podSet\":\"main\",\"subtract\":\"2\"}");
    says(w, "elastic", "\"add\":\"2\"}");
    set.min_count = 4;
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "elastic"));
}

/* More quota for the one would let the other start as well, which could have borrowed it first. */
static void why_nothing_is_said(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=64", "");
    gpu_queue(w, "a", "co", "ns/a", 0);
    gpu_queue(w, "b", "co", "ns/b", 0);
    workload(w, "one", "ns/a", 4, GPU "=1");
    workload(w, "other", "ns/b", 4, GPU "=1");
    step(w);
    struct buf b;
    buf_init(&b);
    explain_json(&b, state_gang_reason(w->s, id(w, "one")), w->names);
    assert_non_null(strstr(b.data, "\"notComputed\":\"not computed: it depends on who else starts, or is preempted, first\""));
    assert_null(strstr(b.data, "\"remedies\""));
    buf_free(&b);
    assert_non_null(strstr(why_tree(w, "one"), "would help:\n  not computed: it depends on who else"));
}

/* Who comes later and starts takes what was counted: ten seconds later it is counted anew. */
static void what_was_left_is_taken(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=16", "");
    gpu_queue(w, "q", NULL, "ns/q", 12);
    workload(w, "first", "ns/q", 4, GPU "=1");
    workload(w, "large", "ns/q", 12, GPU "=1");
    step(w);
    assert_string_equal(remedies(w, "large"), ""); /* who starts is told first */
    assert_true(decide_has_work(w->s));
    step(w);
    says(w, "large", "\"resource\":\"nvidia.com/gpu\",\"add\":\"4\"}]");
    workload(w, "second", "ns/q", 2, GPU "=1");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "second"));
    assert_true(w->plan.wake_ms > w->now_ms && w->plan.wake_ms <= w->now_ms + 10000);
    w->now_ms += 10000;
    step(w);
    assert_null(strstr(remedies(w, "large"), "\"add\":\"4\""));
    says(w, "large", "\"resource\":\"nvidia.com/gpu\",\"add\":\"6\"}");
    w->now_ms += 10000;
    step(w);
    assert_true(!w->plan.wake_ms); /* nothing has changed since */
}

/* Where each cycle starts somebody it is looked for all the same, half a second late. */
static void it_is_looked_for_though_others_start(void **state)
{
    struct world *w = *state;
    char name[32];
    int64_t begins_ms = w->now_ms;
    node(w, "n0", GPU "=16", "");
    gpu_queue(w, "q", NULL, "ns/q", 12);
    workload(w, "large", "ns/q", 16, GPU "=1");
    for (int i = 0; i < 10 && !*remedies(w, "large"); i++) {
        snprintf(name, sizeof name, "small-%d", i);
        workload(w, name, "ns/q", 1, GPU "=1");
        step(w);
        assert_int_equal(effects(w, EFFECT_ADMIT), 1);
        w->now_ms += 100;
    }
    says(w, "large", "\"resource\":\"nvidia.com/gpu\",\"add\":");
    assert_in_range(w->now_ms - begins_ms, 500, 700);
}

/* The same of room on nodes. */
static void room_that_was_left_is_taken(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=8", "");
    pod(w, "ns/small", NULL, GPU "=1");
    step(w);
    pod(w, "ns/large", NULL, GPU "=8");
    step(w);
    says(w, "pod/ns/large", "\"add\":\"1\"");
    pod(w, "ns/more", NULL, GPU "=2");
    step(w);
    w->now_ms += 10000;
    step(w);
    says(w, "pod/ns/large", "\"add\":\"3\"");
}

/* It is tried again after a moment, for another reason, and what would help went with the one before: that is looked for again. */
static void another_reason_soon_after(void **state)
{
    struct world *w = *state;
    node(w, "n0", GPU "=64", "");
    preempting_queue(w, "a", "co", "ns/a", 16);
    preempting_queue(w, "b", "co", "ns/b", 16);
    workload(w, "stays", "ns/b", 8, GPU "=1");
    workload(w, "ends", "ns/b", 8, GPU "=1");
    workload(w, "own", "ns/a", 14, GPU "=1");
    step(w);
    workload(w, "large", "ns/a", 24, GPU "=1");
    step(w);
    says(w, "large", "\"change\":\"end\"");
    w->now_ms += 8000;
    gone(w, CHANGE_GANG_GONE, "ends");
    step(w);
    w->now_ms += 10000;
    step(w);
    says(w, "large", "\"change\":\"end\"");
}

static void cpu_and_gpus(struct world *w, const char *name, const int64_t nominal[4])
{
    struct queue_words q;
    queue_begin(w, &q, name, "co");
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    q.r.borrow_before_next_flavor = false;
    q.r.preempt_before_next_flavor = true;
    queue_quota(w, &q, "fa", "cpu", nominal[0], NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fa", GPU, nominal[1], NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", "cpu", nominal[2], NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", GPU, nominal[3], NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
}

/* The queue would rather preempt than take the next flavor. With 6 more cpu the second set has them in fa as its own, but another queue
 * has borrowed one of them and cannot be made to go: so the first set goes to fb, and there is room. Who looked for nobody to preempt would
 * not come to that, and ask for 7. */
static void nobody_to_preempt_is_another_choice_of_flavors(void **state)
{
    struct world *w = *state;
    node(w, "na", "cpu=64," GPU "=64", "kind=a");
    node(w, "nb", "cpu=64," GPU "=64", "kind=b");
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    cpu_and_gpus(w, "lender", (int64_t[]){2, 8, 0, 8});
    cpu_and_gpus(w, "q", (int64_t[]){5, 0, 3, 0});
    local_queue(w, "ns/lender", "lender");
    local_queue(w, "ns/q", "q");
    workload(w, "holder", "ns/lender", 3, "cpu=1");
    step(w);
    struct pod_set *sets = arena_zero(w->records, 2, sizeof *sets);
    sets[0] = a_set(w, "head", 1, "cpu=3," GPU "=1");
    sets[1] = a_set(w, "work", 8, "cpu=1");
    struct gang_record r = workload_of(w, "large", sets, 2);
    r.local_queue = id(w, "ns/q");
    gang_record(w, r);
    step(w);
    says(w, "large", "{\"change\":\"quota\",\"queue\":\"q\",\"flavor\":\"fa\",\"resource\":\"cpu\",\"add\":\"6m\"}");
    cpu_and_gpus(w, "q", (int64_t[]){11, 0, 3, 0});
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "large"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_a_world(quota_in_debt), cmocka_unit_test(as_many_as_are_missing),
                                       in_a_world(impossible), in_a_world(a_queue_to_be_mended), in_a_world(lent_quota_names_the_borrower),
                                       in_a_world(joint_needs), in_a_world(less_where_others_can_be_preempted),
                                       in_a_world(another_quota_ends_promises),
                                       in_a_world(less_room_may_be_enough),
                                       in_a_world(room_is_not_that_of_victims), in_a_world(more_members_or_a_lower_minimum),
                                       cmocka_unit_test(a_lower_minimum_of_a_group_that_is_whole),
                                       in_a_world(a_lower_minimum_of_a_task),
                                       in_a_world(members_are_under_way_after_each_start),
                                       in_a_world(the_first_that_lack_members_are_looked_at),
                                       in_a_world(fewer_of_a_workload), in_a_world(why_nothing_is_said),
                                       in_a_world(what_was_left_is_taken), in_a_world(it_is_looked_for_though_others_start),
                                       in_a_world(room_that_was_left_is_taken),
                                       in_a_world(another_reason_soon_after),
                                       in_a_world(nobody_to_preempt_is_another_choice_of_flavors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
