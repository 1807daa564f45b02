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
    gang_record(w, a_group(w, "many", NULL, 4));
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/many-%d", i);
        pod(w, key, "many", GPU "=4");
    }
    workload(w, "lost", "ns/nowhere", 1, GPU "=1");
    step(w);
    says(w, "pod/ns/mig", "\"remedies\":[],\"impossible\":\"nothing would: no node has nvidia.com/mig-3g.40gb\"");
    says(w, "pod/ns/huge", "\"remedies\":[],\"impossible\":\"nothing would: a pod asks for 16 nvidia.com/gpu, and the largest node has 8\"");
    says(w, "many", "\"remedies\":[],\"impossible\":\"nothing would: it would not start if all nodes were empty and all quota its own\"");
    says(w, "lost", "\"remedies\":[],\"impossible\":\"nothing would: LocalQueue nowhere doesn't exist\"");
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

int main(void)
{
    const struct CMUnitTest tests[] = {in_a_world(quota_in_debt), cmocka_unit_test(as_many_as_are_missing),
                                       in_a_world(impossible), in_a_world(lent_quota_names_the_borrower),
                                       in_a_world(joint_needs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
