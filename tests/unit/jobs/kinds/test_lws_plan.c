/* How far a LeaderWorkerSet is updated, and how many groups it has meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "jobs/kubeflow/lws_plan.h"

/* A letter a group: R ready with the new template, o ready with the old one, . not ready with the new one, - not ready with the old one. */
static void plans(struct lws_rollout r, const char *groups, int64_t partition, int64_t replicas)
{
    struct lws_group list[16] = {{0}};
    int64_t is_partition = -1, is_replicas = -1;
    r.now = (int64_t)strlen(groups);
    r.is_there = r.now > 0;
    r.groups = list;
    for (int64_t i = 0; i < r.now; i++)
        list[i] = (struct lws_group){.ready = strchr("Ro", groups[i]), .updated = strchr("R.", groups[i])};
    lws_plan(&r, &is_partition, &is_replicas);
    assert_int_equal(is_partition, partition);
    assert_int_equal(is_replicas, replicas);
}

static void test_one_by_one(void **state)
{
    (void)state;
    struct lws_rollout r = {.replicas = 4, .most_unavailable = 1, .asked = 4};
    plans(r, "", 0, 4); /* made: nothing is replaced */
    plans(r, "RRRR", 0, 4);
    r.is_new = true;
    plans(r, "oooo", 4, 4); /* told first */
    r.is_new = false;
    r.partition = 4;
    plans(r, "oooo", 3, 4);
    r.partition = 3;
    plans(r, "ooo.", 3, 4);
    plans(r, "oooR", 2, 4);
    r.partition = 1;
    plans(r, "o-RR", 1, 4); /* the one below is not touched while one is missing */
    plans(r, "oRRR", 0, 4);
    r.least = 2;
    r.partition = 2;
    plans(r, "ooRR", 2, 4);
}

static void test_several_at_once(void **state)
{
    (void)state;
    struct lws_rollout r = {.replicas = 6, .most_unavailable = 2, .asked = 6, .partition = 6};
    plans(r, "oooooo", 4, 6);
    r.partition = 4;
    plans(r, "oooo.R", 3, 6); /* one is done, so that one more may go */
    plans(r, "oooo..", 4, 6);
    plans(r, "o-oo.R", 4, 6); /* one that is missing already counts */
    r.partition = 6;
    plans(r, "------", 4, 6); /* who is missing already may be updated, so many at once */
}

static void test_with_more_groups(void **state)
{
    (void)state;
    struct lws_rollout r = {.replicas = 4, .most_surge = 2, .asked = 4, .is_new = true};
    plans(r, "oooo", 4, 6);
    r.is_new = false;
    r.partition = 4;
    plans(r, "oooo..", 4, 6);
    plans(r, "ooooRR", 2, 6);
    r.partition = 2;
    plans(r, "ooRRRR", 0, 6);
    r.partition = 0;
    plans(r, ".RRRRR", 0, 5); /* as many more as are missing */
    plans(r, "RRRRR", 0, 4);
    r.most_surge = 9; /* no more than as many again */
    r.is_new = true;
    plans(r, "oooo", 4, 8);
}

static void test_scaled_meanwhile(void **state)
{
    (void)state;
    struct lws_rollout r = {.replicas = 6, .most_unavailable = 1, .asked = 4, .partition = 3};
    plans(r, "oooR", 3, 6); /* it grows first */
    r.replicas = 2;
    plans(r, "oooR", 2, 2); /* and shrinks at once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_by_one), cmocka_unit_test(test_several_at_once),
                                       cmocka_unit_test(test_with_more_groups), cmocka_unit_test(test_scaled_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
