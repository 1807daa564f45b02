/* test_active.c - who waits only for a turn, and who for something to change: Kueue's "active" and "inadmissible" (stories.h) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/quota/quota.h"
#include "stories.h"

/* Of all that are pending in the queue so many are active, and each says so of itself: the names, with ' ' between. */
static void active(struct world *w, const char *queue, int32_t pending_n, const char *names)
{
    struct queue_counts counts;
    struct pending_gang *all;
    char found[128] = "";
    int32_t n = 0;
    assert_true(state_queue_counts(w->s, id(w, queue), &counts));
    assert_int_equal(counts.pending_n, pending_n);
    uint32_t all_n = state_queue_pending(w->s, id(w, queue), w->cycle, &all);
    for (uint32_t i = 0; i < all_n; i++)
        if (state_gang_is_active(w->s, all[i].gang)) {
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", n ? " " : "", intern_name(w->names, all[i].gang));
            n++;
        }
    assert_string_equal(found, names);
    assert_int_equal(state_queue_active_n(w->s, id(w, queue)), n);
}

static void nobody_whom_quota_refused(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q gpu=4; runs a queue=q gpu=4 at=1 on=n0; wants b queue=q gpu=4; wants c queue=q gpu=4; wants d queue=q gpu=2");
    active(w, "q", 3, "");
    step(w);
    active(w, "q", 3, "");
}

/* Those who were refused before it came are where they were. */
static void who_preempts_and_who_came_behind(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q gpu=4 within=Lower; runs a queue=q gpu=4 at=1 on=n0; wants b queue=q gpu=4 at=2");
    step(w);
    active(w, "q", 1, "");
    w->now_ms += 1000;
    story(w, "wants high queue=q gpu=3 prio=5 at=3; wants c queue=q gpu=4 at=4; wants d queue=q gpu=2 at=5");
    step(w);
    assert_string_equal(decided(w), "evict a InClusterQueue");
    active(w, "q", 4, "high d"); /* c is like b: nobody needs to try it */
    w->now_ms += 1000;
    story(w, "wants e queue=q gpu=1 at=6");
    step(w);
    active(w, "q", 5, "high d e");
}

static void whom_nothing_but_a_promise_refuses(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue mine in=c gpu=2 strict reclaim=Any; queue other in=c gpu=0; runs o queue=other gpu=1 on=n0;"
             "wants one queue=mine gpu=2; wants p queue=other gpu=1; wants more queue=other gpu=2");
    step(w);
    assert_string_equal(decided(w), "evict o InCohortReclamation");
    active(w, "mine", 1, "one");
    active(w, "other", 2, "p"); /* one is free, and kept for the other queue; two are not */
}

static void whom_nothing_but_a_claim_refuses(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue mine in=c gpu=2 strict reclaim=Lower; queue other in=c gpu=0; runs x queue=mine gpu=1 prio=9 on=n0;"
             "wants y queue=mine gpu=2 prio=9; wants a queue=other gpu=1; wants b queue=other gpu=1; wants big queue=other gpu=2");
    step(w);
    active(w, "mine", 1, "y");
    active(w, "other", 3, "a b");
}

/* Each set alone would have room. */
static void what_sets_ask_for_together_counts(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; queue q gpu=6; runs x queue=q gpu=2 on=n0; wants y queue=q gpu=6");
    step(w);
    const struct pod_set sets[] = {a_set(w, "driver", 1, GPU "=3"), a_set(w, "worker", 1, GPU "=3")};
    struct gang_record two = workload_of(w, "two", sets, 2);
    two.local_queue = id(w, "ns/q");
    gang_record(w, two);
    step(w);
    active(w, "q", 2, "");
}

/* ---- cohorts without an object ---- */

static const struct cohort_look *cohort(struct world *w, const char *name)
{
    struct cohort_look *all;
    uint32_t n = state_cohorts(w->s, w->cycle, &all);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].name == id(w, name))
            return &all[i];
    return NULL;
}

static void a_cohort_whose_object_has_gone(void **state)
{
    struct world *w = *state;
    story(w, "node n0 gpu=99; cohort c in=root gpu=2; queue q in=c gpu=4");
    step(w);
    assert_false(cohort(w, "c")->left || cohort(w, "root")->left); /* one that only others name is none that has gone */
    gone(w, CHANGE_COHORT_GONE, "c");
    step(w);
    assert_true(cohort(w, "c")->left);
    assert_null(cohort(w, "root"));
    story(w, "queue q in=c gpu=5");
    step(w);
    assert_false(cohort(w, "c")->left);
    gone(w, CHANGE_COHORT_GONE, "c"); /* of one that had no object that is no news */
    step(w);
    assert_false(cohort(w, "c")->left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_world(nobody_whom_quota_refused),
        in_a_world(who_preempts_and_who_came_behind),
        in_a_world(whom_nothing_but_a_promise_refuses),
        in_a_world(whom_nothing_but_a_claim_refuses),
        in_a_world(what_sets_ask_for_together_counts),
        in_a_world(a_cohort_whose_object_has_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
