/* test_shares.c - what Volcano's queues deserve, who is let in for it, and at whose cost (shares_words.h) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/quota/count.h"
#include "shares_words.h"

/* ---- what each deserves ---- */

struct deserved_case {
    const char *name, *objects, *deserved; /* "a=4 b=2" */
};
#define EIGHT "node n gpu=8; queue root; "
#define ASKS(q, n) "wants " q "-all queue=" q " x=" n "; "

static const struct deserved_case deserved_cases[] = {
    {"one alone shares with nobody", EIGHT "queue a capability.gpu=5;" ASKS("a", "9"), "a=5"},
    {"and has no quota of what it does not name", EIGHT "queue a;" ASKS("a", "9"), "a=-1"},
    {"equal weights", EIGHT "queue a; queue b;" ASKS("a", "9") ASKS("b", "9"), "a=4 b=4"},
    {"by weight", EIGHT "queue a weight=3; queue b;" ASKS("a", "9") ASKS("b", "9"), "a=6 b=2"},
    {"no more than it asks for; the others share the rest by weight", EIGHT "queue a weight=6; queue b weight=1; queue c weight=1;" ASKS("a", "2") ASKS("b", "9") ASKS("c", "9"),
     "a=2 b=3 c=3"},
    {"who asks for nothing deserves nothing", EIGHT "queue a; queue b;" ASKS("a", "9"), "a=8 b=0"},
    {"but what is guaranteed", EIGHT "queue a; queue b guarantee.gpu=3;" ASKS("a", "9"), "a=5 b=3"},
    {"a guarantee above the part by weight comes first", EIGHT "queue a weight=7; queue b weight=1 guarantee.gpu=4;" ASKS("a", "9") ASKS("b", "9"), "a=4 b=4"},
    {"no more than its capability", EIGHT "queue a weight=3 capability.gpu=2; queue b;" ASKS("a", "9") ASKS("b", "9"), "a=2 b=6"},
    {"limits of both kinds",
     EIGHT "queue a weight=6 capability.gpu=3; queue b guarantee.gpu=3; queue c;" ASKS("a", "9") ASKS("b", "9") ASKS("c", "9"),
     "a=3 b=3 c=2"},
    {"what is written counts, and the others share what is left of it", EIGHT "queue a deserved.gpu=6; queue b weight=9; queue c;" ASKS("b", "9") ASKS("c", "9"),
     "a=6 b=1 c=0"},
    {"what is written may be more than there is", EIGHT "queue a deserved.gpu=9; queue b;" ASKS("b", "9"), "a=9 b=0"},
    {"what is written is bounded", EIGHT "queue a deserved.gpu=6 capability.gpu=5; queue b;" ASKS("b", "9"), "a=5 b=3"},
    {"parts are rounded down", EIGHT "queue a; queue b; queue c;" ASKS("a", "9") ASKS("b", "9") ASKS("c", "9"), "a=2 b=2 c=2"},
    {"what its parent deserves is shared below", EIGHT "queue p weight=3; queue a in=p; queue b in=p; queue c;" ASKS("a", "9") ASKS("b", "9") ASKS("c", "9"),
     "a=3 b=3 c=2"},
    {"what a parent names",
     EIGHT "queue p deserved.gpu=4; queue a in=p weight=3; queue b in=p; queue c;" ASKS("a", "9") ASKS("b", "9") ASKS("c", "9"),
     "a=3 b=1 c=4"},
    {"a parent that asks for less than its part", EIGHT "queue p weight=3; queue a in=p; queue b in=p; queue c;" ASKS("a", "2") ASKS("c", "9"), "a=2 b=0 c=6"},
    {"a parent's capability", EIGHT "queue p capability.gpu=2; queue a in=p; queue b in=p; queue c;" ASKS("a", "9") ASKS("b", "9") ASKS("c", "9"),
     "a=1 b=1 c=6"},
    {"all nodes together", "node n gpu=4; node m gpu=4; queue a; queue b;" ASKS("a", "9") ASKS("b", "9"), "a=4 b=4"},
    {"the root's capability bounds all", EIGHT "queue root capability.gpu=6; queue a; queue b;" ASKS("a", "9") ASKS("b", "9"), "a=3 b=3"},
};

static void test_deserved(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deserved_cases / sizeof *deserved_cases; i++) {
        const struct deserved_case *x = &deserved_cases[i];
        struct world w = world_new();
        shares_objects(&w, x->objects);
        step(&w);
        char *copy = arena_text(w.records, x->deserved), *save = NULL;
        for (char *part = strtok_r(copy, " ", &save); part; part = strtok_r(NULL, " ", &save)) {
            char *equals = strchr(part, '=');
            *equals = 0;
            if (gpus_deserved(&w, part) != atoll(equals + 1))
                fail_msg("%s: %s deserves %lld, expected %s", x->name, part, (long long)gpus_deserved(&w, part), equals + 1);
        }
        world_free(&w);
    }
}

/* ---- who is let in, at whose cost ---- */

struct decided_case {
    const char *name, *objects, *decided;
};
#define TWO EIGHT "queue a; queue b; "
#define PREEMPTS EIGHT "queue a preempts; "

static const struct decided_case decided_cases[] = {
    {"beyond what it deserves while nobody else asks", TWO "wants x queue=a x=8;", "start x"},
    {"taken back for one that has less than it deserves", TWO "runs x queue=a x=4; runs y queue=a x=4; wants z queue=b x=4;", "evict y"},
    {"the group that was made last goes, and no more than are needed", TWO "runs x queue=a x=2; runs y queue=a x=2; runs v queue=a x=2; runs u queue=a x=2; wants z queue=b x=2;", "evict u"},
    {"members above the minimum go first, those made last, and no more than are needed", TWO "runs x queue=a x=8 min=1; wants z queue=b x=3;",
     "evict x-7; evict x-6; evict x-5"},
    {"down to the minimum", TWO "runs x queue=a x=8 min=5; wants z queue=b x=3;", "evict x-7; evict x-6; evict x-5"},
    {"of a subgroup all or nobody", TWO "runs x queue=a x=8 min=2 of=2; wants z queue=b x=3;",
     "evict x-7; evict x-6; evict x-5; evict x-4"},
    {"members that subgroups can do without go before whole ones", TWO "runs x queue=a x=8 min=2 of=4 size=3; wants z queue=b x=2;",
     "evict x-7; evict x-3"},
    {"so many subgroups stay", TWO "runs x queue=a x=8 min=2 of=2 least=3; wants z queue=b x=2;", "evict x-7; evict x-6"},
    {"else the group goes whole", TWO "runs x queue=a x=8 min=2 of=2 least=3; wants z queue=b x=3;", "evict x"},
    {"what needs the subgroup goes with it", TWO "runs x queue=a x=8 min=2 of=2 pairs=1; wants z queue=b x=1;",
     "evict x-7; evict x-4; evict x-5; evict x-6"},
    {"unless the group needs that", TWO "runs x queue=a x=8 min=2 of=2 pairs=2; wants z queue=b x=1;", "evict x"},
    {"as where its minimum would be broken by a whole one", TWO "runs x queue=a x=8 min=7 of=2; wants z queue=b x=1;", "evict x"},
    {"a group goes whole, where what it can do without is too little", TWO "runs x queue=a x=8 min=6; wants z queue=b x=3;", "evict x"},
    {"what several groups can do without, in the order in which they would go",
     TWO "runs x queue=a x=4 min=3; runs y queue=a x=4 min=3; wants z queue=b x=2;", "evict y-3; evict x-3"},
    {"what others can do without goes before a group that would go first",
     TWO "runs x queue=a x=5 min=1; runs y queue=a x=3; wants z queue=b x=3;", "evict x-4; evict x-3; evict x-2"},
    {"only down to what the queue deserves", TWO "runs x queue=a x=6 min=1; runs y queue=b x=2; wants z queue=b x=3;", ""},
    {"nobody of a group that is not preemptable", TWO "runs x queue=a x=8 min=1 keeps; wants z queue=b x=3;", ""},
    {"nor of a queue that is not reclaimable", EIGHT "queue a keeps; queue b; runs x queue=a x=8 min=1; wants z queue=b x=3;", ""},
    {"members go down to what is guaranteed, where the whole group may not",
     EIGHT "queue a guarantee.gpu=3; queue b; runs x queue=a x=8 min=1; wants z queue=b x=4;", "evict x-7; evict x-6; evict x-5; evict x-4"},
    {"whole where the node of those that could go is too small",
     "node n gpu=4; node m gpu=4; queue root; queue a; queue b; runs x queue=a x=4 min=3 on=n; runs y queue=a x=4 min=3 on=m; wants z queue=b gpu=2;",
     "evict y"},
    {"what is free is taken first", TWO "runs x queue=a x=6; wants z queue=b x=2;", "start z"},
    {"nobody goes for more than it deserves", TWO "runs x queue=a x=4; runs y queue=a x=2; runs v queue=b x=2; wants z queue=b x=4;", ""},
    {"nobody goes of a queue that has no more than it deserves", TWO "runs x queue=a x=4; runs y queue=b x=4; wants z queue=b x=4;", ""},
    {"nor of one that would have to give back all of a group to no use", EIGHT "queue a; queue b reclaimable; runs x queue=a x=4; runs y queue=b x=4; wants z queue=a x=1;", ""},
    {"whatever the priority", TWO "runs x queue=a x=4 prio=9; runs y queue=a x=4 prio=9; wants z queue=b x=4;", "evict y"},
    {"lower priority first", TWO "runs x queue=a x=4 prio=1; runs y queue=a x=4 prio=2; wants z queue=b x=4;", "evict x"},
    {"by weight", EIGHT "queue a weight=3; queue b; runs x queue=a x=6; runs y queue=a x=2; wants z queue=b x=2;", "evict y"},
    {"not from a queue that is not reclaimable", EIGHT "queue a keeps; queue b; runs x queue=a x=8; wants z queue=b x=4;", ""},
    {"but from another one", EIGHT "queue a keeps; queue b; queue c; runs x queue=a x=4; runs y queue=c x=4; wants z queue=b x=2;", "evict y"},
    {"not a group that is not preemptable", TWO "runs x queue=a x=4; runs y queue=a x=4 keeps; wants z queue=b x=4;", "evict x"},
    {"nobody for what his queue has no more of than it deserves, whatever it has of the rest",
     "node n gpu=16 cpu=16; queue root capability.gpu=9 capability.cpu=4; queue a; queue b; queue c; runs x queue=b x=4 gpu=0 cpu=1;"
     "runs y queue=b x=3; runs v queue=c x=6 keeps; wants z queue=a gpu=1 cpu=1;",
     ""},
    {"what is written is deserved, whoever asks", EIGHT "queue a deserved.gpu=6; queue b deserved.gpu=2; runs x queue=b x=4; runs y queue=b x=4; wants z queue=a x=4;",
     "evict y"},
    {"best effort: who deserves nothing gives all back", EIGHT "queue a deserved.gpu=8; queue b; runs x queue=b x=8; wants z queue=a x=8;", "evict x"},
    {"and takes nothing", EIGHT "queue a deserved.gpu=8; queue b; runs x queue=a x=8; wants z queue=b x=1;", ""},
    {"what it does not name does not count against it", EIGHT "queue a deserved.gpu=4; queue b deserved.gpu=4; runs x queue=b x=8; wants z queue=a x=4 cpu=200;",
     "evict x"},
    {"never below what is guaranteed", EIGHT "queue a guarantee.gpu=3; queue b; runs x queue=a x=6; wants z queue=b x=4;", ""},
    {"down to what is guaranteed", EIGHT "queue a guarantee.gpu=3; queue b; runs x queue=a x=3; runs y queue=a x=3; runs v queue=b x=2; wants z queue=b x=2;", "evict y"},
    {"what is guaranteed stays free", EIGHT "queue a guarantee.gpu=3; queue b; wants z queue=b x=6;", ""},
    {"what is not guaranteed is lent", EIGHT "queue a guarantee.gpu=3; queue b; wants z queue=b x=5;", "start z"},
    {"its own guarantee is at hand", EIGHT "queue a guarantee.gpu=3; queue b; runs x queue=b x=5; wants z queue=a x=3;", "start z"},
    {"capability", EIGHT "queue a capability.gpu=2; queue b; wants z queue=a x=3;", ""},
    {"a parent's capability", EIGHT "queue p capability.gpu=2; queue a in=p; queue b in=p; runs x queue=a x=1; wants z queue=b x=2;", ""},
    {"a parent's capability that is enough", EIGHT "queue p capability.gpu=3; queue a in=p; queue b in=p; runs x queue=a x=1; wants z queue=b x=2;", "start z"},
    {"below one parent", EIGHT "queue p; queue a in=p; queue b in=p; queue c; runs x queue=a x=4; runs y queue=c x=4; wants z queue=b x=2;", "evict x"},
    {"from another parent's, which has more than it deserves", EIGHT "queue p; queue r; queue a in=p; queue b in=r; queue c in=r; runs x queue=b x=3; runs y queue=c x=4; wants z queue=a x=2;",
     "evict y"},
    {"not from a child within what its parent deserves", EIGHT "queue p deserved.gpu=4; queue r deserved.gpu=4; queue a in=p; queue b in=r; queue c in=r; runs x queue=b x=4; runs y queue=a x=4; wants z queue=a x=1;",
     ""},
    {"the fewest members, where all are too many", TWO "runs x queue=a x=2; runs y queue=a x=6; wants z queue=b x=8 min=4;", "evict y"},
    {"who has less of what it deserves comes first", EIGHT "queue a; queue b; runs x queue=a x=2; wants y queue=a x=6 gpu=1 prio=9; wants z queue=b x=6; ", "start z"},
    {"a node must hold a pod whole", "node n gpu=4; node m gpu=4; queue root; queue a; queue b; runs x queue=a x=2 on=n; runs y queue=a x=3 on=m; wants z queue=b gpu=4;", "evict y"},
    {"within a parent's capability", EIGHT "queue p capability.gpu=4; queue a in=p; queue b in=p; runs x queue=a x=3; wants z queue=b x=2;", "evict x"},

    /* ---- within one queue ---- */
    {"nobody goes for a higher priority in a queue that does not say so", EIGHT "queue a; runs x queue=a x=8; wants z queue=a prio=9 x=4;", ""},
    {"lower priority goes in one that does, whole", PREEMPTS "runs x queue=a x=8; wants z queue=a prio=9 x=4;", "evict x"},
    {"but first what it can do without", PREEMPTS "runs x queue=a x=8 min=1; wants z queue=a prio=9 x=2;", "evict x-7; evict x-6"},
    {"of the lowest first", PREEMPTS "runs x queue=a prio=2 x=4 min=1; runs y queue=a prio=1 x=4 min=1; wants z queue=a prio=9 x=4;",
     "evict y-3; evict y-2; evict y-1; evict x-3"},
    {"equal priority stays", PREEMPTS "runs x queue=a prio=9 x=8; wants z queue=a prio=9 x=4;", ""},
    {"the lowest first, and no more than are needed",
     PREEMPTS "runs x queue=a prio=2 x=4; runs y queue=a prio=1 x=4; wants z queue=a prio=9 x=2;", "evict y"},
    {"not one that is not preemptable", PREEMPTS "runs x queue=a x=4 keeps; runs y queue=a prio=1 x=4; wants z queue=a prio=9 x=4;", "evict y"},
    {"nor for pods that preempt nobody", PREEMPTS "runs x queue=a x=8; wants z queue=a prio=9 x=4 never;", ""},
    {"those behind such pods may", PREEMPTS "runs x queue=a x=8; wants y queue=a prio=9 x=4 never; wants z queue=a prio=9 x=4;", "evict x"},
    {"what is free is taken first, whoever runs", PREEMPTS "runs x queue=a x=4; wants z queue=a prio=9 x=4;", "start z"},
    {"others give back before the own queue",
     PREEMPTS "queue b preempts; runs x queue=a x=2; runs y queue=b prio=5 x=6; wants z queue=a prio=9 x=2;", "evict y"},
    {"the own where others have no more than they deserve",
     PREEMPTS "queue b preempts; runs x queue=a x=4; runs y queue=b x=4; wants z queue=a prio=9 x=4;", "evict x"},
    {"nobody of another queue for his priority",
     PREEMPTS "queue b preempts; runs x queue=a prio=9 x=4; runs y queue=b x=4; wants z queue=a prio=5 x=4;", ""},
    {"within its capability", EIGHT "queue a preempts capability.gpu=4; runs x queue=a x=4; wants z queue=a prio=9 x=4;", "evict x"},
    {"a queue that keeps what it has keeps it from others", EIGHT "queue a preempts keeps; runs x queue=a x=8; wants z queue=a prio=9 x=4;",
     "evict x"},
    {"also for what nobody deserves any of",
     "node n gpu=8 cpu=8; queue root; queue a preempts deserved.gpu=4; runs x queue=a x=8 gpu=0 cpu=1; wants z queue=a prio=9 x=4 gpu=0 cpu=1;",
     "evict x"},

    /* ---- what groups that keep their places may have together ---- */
    {"they stay within it", EIGHT "queue a kept.gpu=2; queue b; wants z queue=a x=3 keeps;", ""},
    {"others borrow as ever", EIGHT "queue a kept.gpu=2; queue b; wants z queue=a x=3;", "start z"},
    {"up to it", EIGHT "queue a kept.gpu=2; queue b; runs x queue=a x=6; wants z queue=a x=2 keeps;", "start z"},
    {"with those that run", EIGHT "queue a kept.gpu=2; queue b; runs x queue=a x=1 keeps; wants z queue=a x=2 keeps;", ""},
    {"none of it", EIGHT "queue a kept.gpu=0; queue b; wants z queue=a keeps;", ""},
    {"each resource by itself", EIGHT "queue a kept.gpu=2 kept.cpu=1; queue b; wants z queue=a x=2 cpu=1 keeps;", ""},
    {"without bound where none is said", EIGHT "queue a counts; queue b; wants z queue=a x=8 keeps;", "start z"},
    {"a queue above has one, too", EIGHT "queue p kept.gpu=2; queue a in=p counts; queue b in=p counts; runs x queue=b x=1 keeps;"
     "wants z queue=a x=2 keeps;", ""},
    {"that is enough", EIGHT "queue p kept.gpu=3; queue a in=p counts; queue b in=p counts; runs x queue=b x=1 keeps;"
     "wants z queue=a x=2 keeps;", "start z"},
    {"nobody goes for more", EIGHT "queue a kept.gpu=2 preempts; queue b; runs x queue=a x=8; wants z queue=a prio=9 x=3 keeps;", ""},
    {"those go whom it takes within it", EIGHT "queue a kept.gpu=2 preempts; queue b; runs x queue=a x=8; wants z queue=a prio=9 x=2 keeps;",
     "evict x"},
    {"only so many members as it leaves", EIGHT "queue a kept.gpu=2; queue b; wants z queue=a x=3 min=2 keeps;", "start z"},
    {"who is like one that waits, and does not keep its places, starts",
     EIGHT "queue a kept.gpu=2; queue b; wants y queue=a x=3 keeps; wants z queue=a x=3;", "start z"},

    /* ---- how long they run first ---- */
    {"who has run too short is not taken back from", EIGHT "queue a reclaim.after=60; queue b; runs x queue=a x=8 ran=59; wants z queue=b x=4;", ""},
    {"who has run for so long is", EIGHT "queue a reclaim.after=60; queue b; runs x queue=a x=8 ran=60; wants z queue=b x=4;", "evict x"},
    {"members above the minimum go at any time", EIGHT "queue a reclaim.after=60; queue b; runs x queue=a x=8 min=4 ran=1; wants z queue=b x=4;",
     "evict x-7; evict x-6; evict x-5; evict x-4"},
    {"of several who has run for longer", EIGHT "queue a reclaim.after=60; queue b; runs x queue=a x=4 ran=90; runs y queue=a x=4 ran=1;"
     "wants z queue=b x=4;", "evict x"},
    {"nor is one ended in its own queue that has run too short", PREEMPTS "queue a preempts preempt.after=60; runs x queue=a x=8 ran=59;"
     "wants z queue=a prio=9 x=4;", ""},
    {"each by its own time", PREEMPTS "queue a preempts preempt.after=60 reclaim.after=999; runs x queue=a x=8 ran=61; wants z queue=a prio=9 x=4;",
     "evict x"},
    {"between parents the time of the parent counts", EIGHT "queue p reclaim.after=60; queue r; queue a in=p reclaim.after=1; queue b in=r;"
     "runs x queue=a x=8 ran=59; wants z queue=b x=4;", ""},
    {"below one parent that of the queue", EIGHT "queue p reclaim.after=60; queue a in=p reclaim.after=1; queue b in=p;"
     "runs x queue=a x=8 ran=59; wants z queue=b x=4;", "evict x"},
    {"who is to wait ends nobody", TWO "runs x queue=a x=8; wants z queue=b x=4 patience=60;", ""},
    {"and starts where there is room", TWO "runs x queue=a x=4; wants z queue=b x=4 patience=60;", "start z"},
    {"others need not wait", TWO "runs x queue=a x=8; wants y queue=b x=4 patience=60; wants z queue=b x=4;", "evict x"},

    {"a cycle of parents", EIGHT "queue a in=b; queue b in=a; queue c; wants z queue=a;", ""},
    {"a parent that is not there", EIGHT "queue a in=nobody; queue b in=nobody; runs x queue=a x=8; wants z queue=b x=4;", "evict x"},
};

static void test_decided(void **state)
{
    (void)state;
    int failed_n = 0;
    for (size_t i = 0; i < sizeof decided_cases / sizeof *decided_cases; i++) {
        const struct decided_case *x = &decided_cases[i];
        struct world w = world_new();
        shares_objects(&w, x->objects);
        step(&w);
        const char *decided = shares_decided(&w);
        if (strcmp(decided, x->decided) != 0)
            print_error("%s: \"%s\", expected \"%s\" (%s)\n", x->name, decided, x->decided, why(&w, "z"));
        failed_n += strcmp(decided, x->decided) != 0;
        world_free(&w);
    }
    assert_int_equal(failed_n, 0);
}

/* ---- from one cycle to the next ---- */

static void pod_goes(struct world *w, const char *gang, int at)
{
    char key[64];
    snprintf(key, sizeof key, "ns/%s-%d", gang, at);
    gone(w, CHANGE_POD_GONE, key);
}

static void objects(void **state, const char *lines)
{
    shares_objects(*state, lines);
    step(*state);
}

static void evicted(struct world *w, const char *gang, int pods_n)
{
    outcome(w, EFFECT_EVICT, gang, NULL, OUTCOME_DONE);
    for (int i = 0; i < pods_n; i++)
        pod_goes(w, gang, i);
    step(w);
}

static void test_taken_back(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=4; runs y queue=a x=4; wants z queue=b x=4;");
    assert_string_equal(shares_decided(w), "evict y");
    const struct plan_entry *e = entry_of(w, EFFECT_EVICT, "y");
    struct buf text = {0};
    explain_sentence(&text, e->reason, w->names);
    assert_string_equal(text.data, "reclaimed for PodGroup ns/z of queue b, which has less than it deserves: queue a has more than the 4 " GPU " that it deserves");
    buf_free(&text);
    assert_string_equal(why(w, "z"), "only 0 of 4 pods can be placed: 0/1 nodes are available: 1 Insufficient " GPU
                                     ", waits for the end of 1 pod group(s) from which queue b takes back what it deserves");
    step(w);
    assert_string_equal(shares_decided(w), ""); /* told once */
    shares_objects(w, "wants late queue=a x=4;"); /* is not let into what is promised */
    evicted(w, "y", 4);
    assert_string_equal(shares_decided(w), "start z");
    objects(state, "wants y queue=a x=4;"); /* its job makes its pods anew: it waits, and takes nothing back */
    assert_string_equal(shares_decided(w), "");
}

static void test_part_of_the_victim_is_there_still(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8; wants z queue=b x=4;");
    outcome(w, EFFECT_EVICT, "x", NULL, OUTCOME_DONE);
    for (int i = 0; i < 3; i++)
        pod_goes(w, "x", i);
    step(w);
    assert_string_equal(shares_decided(w), "");
    for (int i = 3; i < 8; i++)
        pod_goes(w, "x", i);
    step(w);
    assert_string_equal(shares_decided(w), "start z");
}

static void test_refused_eviction_is_told_again(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8; wants z queue=b x=4;");
    assert_string_equal(shares_decided(w), "evict x");
    outcome(w, EFFECT_EVICT, "x", NULL, OUTCOME_FAILED);
    step(w);
    assert_string_equal(shares_decided(w), "evict x");
}

static void test_asking_for_more_moves_what_others_deserve(void **state)
{
    struct world *w = *state;
    objects(state, EIGHT "queue a; queue b; queue c; runs x queue=a x=6; runs y queue=b x=2; wants z queue=c x=2;");
    assert_int_equal(gpus_deserved(w, "a"), 4); /* 8 - 2 - 2 */
    assert_string_equal(shares_decided(w), "evict x");
}

/* Told in the words of whom the bound is of; it starts when others leave, when the bound is raised, and when it says that it may go. */
static void test_kept_within_a_bound(void **state)
{
    struct world *w = *state;
    objects(state, EIGHT "queue a kept.gpu=2; queue b; runs x queue=a x=1 keeps; wants z queue=a x=2 keeps; wants v queue=a x=4 min=2 keeps;");
    assert_string_equal(shares_decided(w), "");
    assert_string_equal(why(w, "z"), "what is non-preemptible stays within the quota of queue a and of those above it: of " GPU
                                     " they have 1 left, and it asks for 2");
    pod_goes(w, "x", 0);
    gone(w, CHANGE_GANG_GONE, "x");
    step(w);
    assert_string_equal(shares_decided(w), "start z");
    step(w);
    objects(state, "queue a kept.gpu=5;");
    assert_string_equal(shares_decided(w), "start v");
    assert_non_null(entry_of(w, EFFECT_BIND, "ns/v-2"));
    assert_null(entry_of(w, EFFECT_BIND, "ns/v-3")); /* above its minimum, and above the bound */
    sweep_names(w);
    step(w);
    objects(state, "wants u queue=a x=1 keeps;");
    assert_string_equal(shares_decided(w), "");
    objects(state, "wants u queue=a x=1;");
    assert_string_equal(shares_decided(w), "start u");
}

/* Of who runs, too, from when the queue counts it on. */
static void test_a_queue_begins_to_count_what_is_kept(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=2 keeps;");
    objects(state, "queue a kept.gpu=2; wants z queue=a x=1 keeps;");
    assert_string_equal(shares_decided(w), "");
    const char *const queues[] = {"a", "b"};
    for (int i = 0; i < 2; i++) { /* nobody sees that it is a resource */
        struct queue_usage *rows;
        for (uint32_t n = state_queue_usage(w->s, id(w, volcano_name(w, queues[i])), w->cycle, &rows); n--;) {
            assert_null(strstr(text_of(w, rows[n].resource), KEPT));
            assert_int_equal(rows[n].kept, !i && rows[n].resource == id(w, GPU) ? 2 : 0);
        }
    }
    objects(state, "queue a;");
    assert_string_equal(shares_decided(w), "start z");
}

/* Nothing else happens: time alone wakes who waits for it. */
static void test_times_come(void **state)
{
    struct world *w = *state;
    objects(state, EIGHT "queue a reclaim.after=60; queue b; runs x queue=a x=4; runs y queue=a x=4 ran=30; wants z queue=b x=4;");
    assert_string_equal(shares_decided(w), "");
    assert_non_null(strstr(why_tree(w, "z"), "queue b takes nothing back for it before 1970-01-01T00:17:1"));
    assert_non_null(strstr(why_tree(w, "z"), "has not run for as long as its queue lets it"));
    assert_true(w->plan.wake_ms > w->now_ms && w->plan.wake_ms <= w->now_ms + 30000);
    w->now_ms += 29000;
    step(w);
    assert_string_equal(shares_decided(w), "");
    w->now_ms += 1100;
    step(w);
    assert_string_equal(shares_decided(w), "evict y");
}

static void test_patience_ends(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8; wants z queue=b x=4 patience=60;");
    assert_non_null(strstr(why_tree(w, "z"), "it is to wait so long (preemptionDelay)"));
    w->now_ms += 59000;
    step(w);
    assert_string_equal(shares_decided(w), "");
    w->now_ms += 1100;
    step(w);
    assert_string_equal(shares_decided(w), "evict x");
}

/* What the queue counts of one pod: "cpu=500 gpu=2500". */
static const char *counted(struct world *w, const char *requests, bool keeps)
{
    pod(w, "ns/asks", "asks", requests);
    const struct queue *q = queue_find(w->s, id(w, volcano_name(w, "a")));
    const struct pod *p = &w->s->pods[id_map_get(&w->s->pod_by_key, id(w, "ns/asks"))];
    struct amount one;
    const char *text = "";
    for (struct count x = count_begin(w->s, q, keeps, p->shape); count_next(&x, &one);)
        if (one.resource != w->s->name_pods) {
            text = arena_printf(w->records, "%s%s%s=%lld", text, *text ? " " : "", text_of(w, one.resource), (long long)one.value);
            assert_int_equal(count_of(w->s, q, keeps, p->shape, one.resource), one.value);
        }
    return text;
}

static void test_what_is_counted(void **state)
{
    struct world *w = *state;
    name_id gpus = id(w, "all"), kept = id(w, "kept"), milli = id(w, "part.x/milli"), memory = id(w, "part.x/memory");
    const struct counting counts[] = {{.as = gpus, .resource = id(w, GPU), .times = 1000, .per = 1, .how = COUNTS_WITHOUT_PART},
                                      {.as = gpus, .resource = id(w, "x.y/mig"), .times = 3000, .per = 1},
                                      {.as = gpus, .resource = milli, .times = 1, .per = 1, .how = COUNTS_PART},
                                      {.as = gpus, .resource = memory, .times = 1000, .per = 80, .how = COUNTS_PART},
                                      {.as = kept, .resource = id(w, "cpu"), .times = 1, .per = 1, .only_kept = true, .of = id(w, "cpu")}};
    const struct queue_shares shares = {.weight = 1, .counts = counts, .counts_n = 5};
    const struct queue_record r = {.name = id(w, volcano_name(w, "a")), .kind = QUEUE_VOLCANO, .unlimited = true, .shares = &shares};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = r});
    assert_string_equal(counted(w, "cpu=500", false), "cpu=500");
    assert_string_equal(counted(w, "cpu=500", true), "kept=500 cpu=500");
    assert_string_equal(counted(w, GPU "=2,x.y/mig=1,cpu=0", true), "all=5000");
    assert_string_equal(counted(w, "part.x/milli=300,part.x/memory=40", false), "all=500"); /* two words for one part */
    assert_string_equal(counted(w, "part.x/milli=600,part.x/memory=40," GPU "=1", false), "all=600"); /* the device of its part */
    assert_string_equal(counted(w, "part.x/milli=600,x.y/mig=1", false), "all=3600");
    assert_string_equal(counted(w, "part.x/memory=27", false), "all=337");
    assert_string_equal(counted(w, GPU "=9223372036854775807", false),
                        arena_printf(w->records, "all=%lld", (long long)NO_END));
    const struct counting tiny[] = {{.as = gpus, .resource = memory, .times = 1, .per = 80}};
    const struct queue_shares by_tiny = {.weight = 1, .counts = tiny, .counts_n = 1};
    const struct queue_record other = {.name = r.name, .kind = QUEUE_VOLCANO, .unlimited = true, .shares = &by_tiny};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = other});
    assert_string_equal(counted(w, "part.x/memory=27", false), "all=1"); /* nothing is had for nothing */
}

/* Pods of each group that have a place: "x 3, y 3". */
static const char *have(struct world *w, const char *names)
{
    const char *text = "";
    for (const char *at = names; *at; at++) {
        const struct gang *g = gang_find(w->s, id(w, arena_printf(w->records, "%c", *at)));
        text = arena_printf(w->records, "%s%s%c %u", text, *text ? ", " : "", *at, g ? g->bound_n : 0);
    }
    return text;
}

/* Where groups grow by turns all of one priority start with their minimum, and then get a member each, those with fewest above it first. */
static void test_groups_grow_by_turns(void **state)
{
    static const struct {
        const char *queue, *groups, *have, *more; /* more: three GPUs more */
    } cases[] = {
        {"turns", "wants x queue=a x=6 min=2; wants y queue=a x=6 min=2;", "x 3, y 3", "x 5, y 4"},
        {"", "wants x queue=a x=6 min=2; wants y queue=a x=6 min=2;", "x 6, y 0", "x 6, y 3"},
        {"turns", "runs x queue=a x=4 min=1; wants y queue=a x=5 min=1;", "x 4, y 2", "x 4, y 5"},
        {"turns", "wants x queue=a x=6 min=2 prio=1; wants y queue=a x=6 min=2;", "x 6, y 0", "x 6, y 3"},
        {"turns", "wants x queue=a x=6 min=2; wants y queue=a x=3 min=3;", "x 3, y 3", "x 6, y 3"},
        {"turns", "wants x queue=a x=6 min=2; wants y queue=a x=6 min=6;", "x 6, y 0", "x 6, y 0"},
        {"turns", "wants x queue=a x=6 min=2 of=2 size=2; wants y queue=a x=6 min=2;", "x 4, y 2", "x 4, y 5"},
        {"turns", "wants x queue=a x=3 min=1; wants y queue=a x=3 min=1; wants z queue=a x=6 min=4;", "x 1, y 1", "x 2, y 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new(), *at = &w;
        void *as_state = at;
        objects(&as_state, arena_printf(w.records, "node n gpu=6; queue root; queue a %s;", cases[i].queue));
        objects(&as_state, cases[i].groups);
        for (int n = 0; n < 3; n++)
            step(&w);
        if (strcmp(have(&w, "xy"), cases[i].have) != 0)
            fail_msg("case %zu: %s", i, have(&w, "xy"));
        node(&w, "m", GPU "=3,cpu=1000000", "");
        for (int n = 0; n < 3; n++)
            step(&w);
        if (strcmp(have(&w, "xy"), cases[i].more) != 0)
            fail_msg("case %zu, with more: %s", i, have(&w, "xy"));
        world_free(&w);
    }
}

static void test_nodes_that_come_and_go(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8; wants y queue=b x=8;");
    assert_int_equal(gpus_deserved(w, "a"), 4);
    node(w, "m", GPU "=8,cpu=1000000", "");
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 8);
    assert_string_equal(shares_decided(w), "start y");
    gone(w, CHANGE_NODE_GONE, "m");
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 4);
    struct node_record r = a_node(w, "n", GPU "=8,cpu=1000000", "");
    r.ready = false;
    node_record(w, r);
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 0);
}

static void test_a_queue_comes_and_goes(void **state)
{
    struct world *w = *state;
    objects(state, "node n gpu=8; queue root; queue a capability.gpu=7; runs x queue=a x=6; wants y queue=a x=2;");
    assert_int_equal(gpus_deserved(w, "a"), 7);
    assert_string_equal(why(w, "y"), "insufficient unused quota for " GPU " in queue a, 1 more needed");
    objects(state, "queue b;");
    assert_int_equal(gpus_deserved(w, "a"), 7);
    objects(state, "wants z queue=b x=4;");
    assert_int_equal(gpus_deserved(w, "a"), 4);
    assert_string_equal(shares_decided(w), "evict x");
    gone(w, CHANGE_QUEUE_GONE, "volcano:b");
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 7);
    sweep_names(w);
    objects(state, "queue p; queue a in=p capability.gpu=7; queue c in=p;");
    objects(state, "queue a capability.gpu=5;");
    assert_int_equal(gpus_deserved(w, "a"), 5);
    sweep_names(w);
    step(w);
}

static void test_a_queue_keeps_what_it_has_no_longer(void **state)
{
    struct world *w = *state;
    objects(state, EIGHT "queue a keeps; queue b; runs x queue=a x=8; wants z queue=b x=4;");
    assert_string_equal(shares_decided(w), "");
    objects(state, "queue a;");
    assert_string_equal(shares_decided(w), "evict x");
}

/* Places that are kept for the pods that come in their stead are charged, and so they count as asked for as well. */
static void test_a_group_that_lost_members_is_not_taken_back_from(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=4; wants z queue=b x=5;");
    pod_goes(w, "x", 0);
    pod_goes(w, "x", 1);
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 4);
    assert_string_equal(shares_decided(w), "");
    pod(w, "ns/x-again", "x", GPU "=1,cpu=0"); /* in one of the two places */
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 4);
    assert_string_equal(shares_decided(w), "");
    w->now_ms += 60000;
    step(w);
    assert_string_equal(shares_decided(w), "start z");
    step(w);
    assert_int_equal(gpus_deserved(w, "a"), 3); /* two stand, and one waits */
}

/* While the pods of the group that went are made anew nobody grows into what it asks for: it would take that back, the other one this,
 * and so on for ever. */
static void test_nobody_grows_before_the_victim_is_back(void **state)
{
    struct world *w = *state;
    objects(state, "node n gpu=3 cpu=12; queue root; queue a; queue b weight=2; runs f queue=gone x=3 gpu=0 cpu=2;"
                   "runs x queue=a x=2 min=1 cpu=3; wants z queue=b x=3 min=2 cpu=2;");
    assert_string_equal(shares_decided(w), "evict x");
    evicted(w, "x", 2);
    assert_string_equal(shares_decided(w), "start z");
    assert_int_equal(effects(w, EFFECT_BIND), 2);
    step(w);
    assert_int_equal(gpus_deserved(w, "b"), 2);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    objects(state, "wants x queue=a x=2 min=1 cpu=3;");
    assert_string_equal(shares_decided(w), "");
    gone(w, CHANGE_GANG_GONE, "x");
    pod_goes(w, "x", 0);
    pod_goes(w, "x", 1);
    step(w);
    assert_int_equal(gpus_deserved(w, "b"), 3);
    assert_int_equal(effects(w, EFFECT_BIND), 1);
}

/* Of its name there is another object by then: what the one before had is not asked for. */
static void test_a_group_that_is_made_anew_asks_for_nothing_yet(void **state)
{
    struct world *w = *state;
    objects(state, "node n gpu=3 cpu=12; queue root; queue a; queue b weight=2; runs f queue=gone x=3 gpu=0 cpu=2;"
                   "runs x queue=a x=2 min=1 cpu=3; wants z queue=b x=3 min=2 cpu=2;");
    assert_string_equal(shares_decided(w), "evict x");
    outcome(w, EFFECT_EVICT, "x", NULL, OUTCOME_DONE);
    pod_goes(w, "x", 0);
    gone(w, CHANGE_GANG_GONE, "x");
    gang_record(w, a_group(w, "x", "volcano:a", 1));
    pod_goes(w, "x", 1);
    step(w);
    step(w);
    assert_int_equal(gpus_deserved(w, "b"), 3);
}

/* A group that is made for minResources before its pods is kept out by capabilities, its parents' too, and by nothing else. */
static void test_kept_out(void **state)
{
    struct world *w = *state;
    objects(state, EIGHT "queue p capability.gpu=5; queue a in=p capability.gpu=4; queue b in=p; runs x queue=b x=3;");
    struct gang_record r = a_group(w, "later", "volcano:a", 1);
    for (int64_t gpus = 2; gpus <= 6; gpus++) {
        struct amount *least = arena_zero(w->records, 1, sizeof *least);
        *least = (struct amount){id(w, GPU), gpus};
        r.least = least;
        r.least_n = 1;
        gang_record(w, r);
        step(w);
        const struct reason *why_out = state_gang_kept_out(w->s, id(w, "later"), w->cycle);
        assert_int_equal(why_out != NULL, gpus > 2);
        assert_true(!why_out || why_out->code == (gpus > 4 ? REASON_QUOTA_EXCEEDS_MAX : REASON_QUOTA_SHORT));
    }
}

/* Nor by what others below the same bound have beyond what they deserve: it is let in to take that back. */
static void test_let_in_to_take_back(void **state)
{
    struct world *w = *state;
    objects(state, EIGHT "queue p capability.gpu=4; queue a in=p; queue b in=p; runs x queue=a x=3;");
    struct gang_record r = a_group(w, "later", "volcano:b", 2);
    r.least = &(struct amount){id(w, GPU), 2};
    r.least_n = 1;
    gang_record(w, r);
    step(w);
    assert_int_equal(gpus_deserved(w, "b"), 2);
    assert_null(state_gang_kept_out(w->s, id(w, "later"), w->cycle));
    pod(w, "ns/later-0", "later", GPU "=1");
    pod(w, "ns/later-1", "later", GPU "=1");
    step(w);
    assert_string_equal(shares_decided(w), "evict x");
}

static void test_said_why_nothing_is_taken_back(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=4; runs y queue=b x=4; wants z queue=b x=2;");
    assert_non_null(strstr(why_tree(w, "z"), "queue b takes nothing back for it: it would have more than it deserves"));
}

static void says(struct world *w, const struct reason *why_evicted, const char *expected)
{
    struct buf text = {0};
    explain_sentence(&text, why_evicted, w->names);
    assert_string_equal(text.data, expected);
    buf_free(&text);
}

static void member_evicted(struct world *w, const char *gang, int at)
{
    outcome(w, EFFECT_EVICT, gang, arena_printf(w->records, "ns/%s-%d", gang, at), OUTCOME_DONE);
    pod_goes(w, gang, at);
}

static void test_members_go_and_their_group_stays(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8 min=4; wants z queue=b x=4 min=2;");
    assert_string_equal(shares_decided(w), "evict x-7; evict x-6"); /* as many as its minimum needs */
    says(w, entry_of(w, EFFECT_EVICT, "x")->reason, "reclaimed for PodGroup ns/z of queue b, which has less than it deserves: queue a has "
         "more than the 4 " GPU " that it deserves; its pod group has more than its minimum of 4, and stays");
    assert_string_equal(why(w, "z"), "only 0 of 2 pods can be placed: 0/1 nodes are available: 1 Insufficient " GPU ", waits for the end "
                                     "of 2 pod(s) above the minimum of 1 pod group(s) from which queue b takes back what it deserves");
    assert_int_equal(state_gang_phase(w->s, id(w, "x")), GANG_BOUND);
    step(w);
    assert_string_equal(shares_decided(w), ""); /* told once */
    member_evicted(w, "x", 7);
    step(w);
    assert_string_equal(shares_decided(w), "");
    pod(w, "ns/x-7", "x", GPU "=1,cpu=0"); /* its job makes it anew before the other one has gone: it does not take the place */
    step(w);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    assert_string_equal(why(w, "x"), "1 pod(s) above the minimum wait: queue a would have more than it deserves, and a group of another "
                                     "queue waits");
    member_evicted(w, "x", 6);
    step(w);
    assert_string_equal(shares_decided(w), "start z");
}

static void test_member_whose_eviction_is_refused_is_told_again(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8 min=4; wants z queue=b x=2;");
    assert_string_equal(shares_decided(w), "evict x-7; evict x-6");
    outcome(w, EFFECT_EVICT, "x", "ns/x-7", OUTCOME_FAILED);
    step(w);
    assert_string_equal(shares_decided(w), "evict x-7");
    member_evicted(w, "x", 7);
    member_evicted(w, "x", 6);
    step(w);
    assert_string_equal(shares_decided(w), "start z");
}

/* A scheduler that begins anew finds members on their way out, and counts on those. */
static void test_members_on_their_way_are_counted_on(void **state)
{
    struct world *w = *state;
    shares_objects(w, TWO "runs x queue=a x=8 min=4; wants z queue=b x=3;");
    for (int i = 0; i < 2; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/x-%d", i), "x", GPU "=1,cpu=0");
        p.node = id(w, "n");
        p.phase = POD_RUNNING;
        p.deleting = true;
        pod_record(w, p);
    }
    step(w);
    assert_string_equal(shares_decided(w), "evict x-7");
}

/* The group of which it has taken members goes whole for something else, or its preemptor goes: nothing is left of the promise. */
static void test_promise_of_members_ends(void **state)
{
    struct world *w = *state;
    objects(state, TWO "runs x queue=a x=8 min=4; wants z queue=b x=2;");
    assert_string_equal(shares_decided(w), "evict x-7; evict x-6");
    gone(w, CHANGE_GANG_GONE, "z");
    step(w);
    objects(state, "wants y queue=b x=4;");
    assert_string_equal(shares_decided(w), "evict x-5; evict x-4"); /* beside those that go already */
    for (int i = 4; i < 8; i++)
        member_evicted(w, "x", i);
    step(w);
    assert_string_equal(shares_decided(w), "start y");
}

static void test_preempted_in_its_queue(void **state)
{
    struct world *w = *state;
    objects(state, PREEMPTS "runs x queue=a x=8; wants z queue=a prio=9 x=4;");
    assert_string_equal(shares_decided(w), "evict x");
    says(w, entry_of(w, EFFECT_EVICT, "x")->reason, "preempted for PodGroup ns/z, which has a higher priority in queue a");
    assert_string_equal(why(w, "z"), "only 0 of 4 pods can be placed: 0/1 nodes are available: 1 Insufficient " GPU
                                     ", waits for the end of 1 pod group(s) of lower priority in queue a");
    step(w);
    assert_string_equal(shares_decided(w), ""); /* told once */
    evicted(w, "x", 8);
    assert_string_equal(shares_decided(w), "start z");
    objects(state, "wants x queue=a x=8;"); /* its job makes its pods anew: it waits */
    assert_string_equal(shares_decided(w), "");
}

/* One gives back, one is of the own queue. */
static void test_preempted_in_its_queue_and_taken_back(void **state)
{
    struct world *w = *state;
    objects(state, PREEMPTS "queue b; runs x queue=a x=2; runs y queue=b x=6; wants z queue=a prio=9 x=4;");
    assert_string_equal(shares_decided(w), "evict y; evict x");
    assert_non_null(strstr(why(w, "z"), "waits for the end of 2 pod group(s) (1 of lower priority in queue a, 1 from which it takes back what "
                                        "it deserves)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deserved),
        cmocka_unit_test(test_decided),
        in_a_world(test_taken_back),
        in_a_world(test_part_of_the_victim_is_there_still),
        in_a_world(test_refused_eviction_is_told_again),
        in_a_world(test_asking_for_more_moves_what_others_deserve),
        in_a_world(test_kept_within_a_bound),
        in_a_world(test_a_queue_begins_to_count_what_is_kept),
        in_a_world(test_times_come),
        in_a_world(test_patience_ends),
        in_a_world(test_what_is_counted),
        cmocka_unit_test(test_groups_grow_by_turns),
        in_a_world(test_nodes_that_come_and_go),
        in_a_world(test_a_queue_comes_and_goes),
        in_a_world(test_a_queue_keeps_what_it_has_no_longer),
        in_a_world(test_a_group_that_lost_members_is_not_taken_back_from),
        in_a_world(test_nobody_grows_before_the_victim_is_back),
        in_a_world(test_a_group_that_is_made_anew_asks_for_nothing_yet),
        in_a_world(test_kept_out),
        in_a_world(test_let_in_to_take_back),
        in_a_world(test_said_why_nothing_is_taken_back),
        in_a_world(test_members_go_and_their_group_stays),
        in_a_world(test_member_whose_eviction_is_refused_is_told_again),
        in_a_world(test_members_on_their_way_are_counted_on),
        in_a_world(test_promise_of_members_ends),
        in_a_world(test_preempted_in_its_queue),
        in_a_world(test_preempted_in_its_queue_and_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
