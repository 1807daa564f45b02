/* PodGroups of YuniKorn's applications: they are there while pods are, whoever begins anew, and whoever takes them away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../world.h"

#define GROUPS "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"
#define GROUP GROUPS "/yunikorn-app"
#define PODS "/api/v1/namespaces/n/pods"
#define TWO "\"yunikorn.apache.org/task-groups\":\"[{\\\"name\\\":\\\"w\\\",\\\"minMember\\\":2,\\\"minResource\\\":{\\\"cpu\\\":\\\"1\\\"}}]\","

static void pod(const char *name, const char *annotations)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"applicationId\":\"app\"},\"annotations\":{%s\"yunikorn.apache.org/task-group-name\":\"w\"}},"
                        "\"spec\":{\"schedulerName\":\"yunikorn\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                        name, annotations));
}

static int64_t fewest(void)
{
    return json_int64(json_path(get(GROUP), "spec", "minMember", NULL), 0);
}

static void test_it_starts_whole_and_its_group_goes_with_it(void **state)
{
    (void)state;
    pod("a", TWO);
    run(8000);
    assert_int_equal(fewest(), 2);
    assert_int_equal(pods_n("applicationId=app", ""), 0);
    pod("b", "");
    run(2000);
    assert_int_equal(pods_n("applicationId=app", "Running"), 2);
    delete(GROUP); /* by whoever: it is made again */
    run(2000);
    assert_int_equal(fewest(), 2);
    delete(PODS "/a");
    delete(PODS "/b");
    run(40000);
    assert_null(get(GROUP));
}

/* Pods that came before the one that says what task groups there are wait for it a while. */
static void test_who_says_the_groups_may_come_last(void **state)
{
    (void)state;
    pod("a", "");
    run(2000);
    assert_null(get(GROUP));
    pod("b", TWO);
    run(2000);
    assert_int_equal(fewest(), 2);
    assert_int_equal(pods_n("applicationId=app", ""), 2);
}

static void test_nobody_says_the_groups_in_time(void **state)
{
    (void)state;
    pod("a", "");
    run(8000);
    assert_int_equal(fewest(), 1);
    assert_int_equal(pods_n("applicationId=app", ""), 1);
    pod("b", TWO);
    run(2000);
    assert_int_equal(fewest(), 2);
    assert_int_equal(pods_n("applicationId=app", ""), 2);
}

/* Until the annotation is put right. */
static void test_wrong_groups_are_told_and_nobody_starts(void **state)
{
    (void)state;
    pod("a", "\"yunikorn.apache.org/task-groups\":\"[{]\",");
    run(8000);
    assert_null(get(GROUP));
    assert_int_equal(pods_n("applicationId=app", ""), 0);
    bool told = false;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        told |= strcmp(json_get_text(event, "reason", ""), "TaskGroupsError") == 0;
    assert_true(told);
    patch(PODS "/a", "{\"metadata\":{\"annotations\":{" TWO "\"x\":\"y\"}}}");
    run(2000);
    assert_int_equal(fewest(), 2);
}

static void test_who_begins_anew_cleans_up(void **state)
{
    (void)state;
    pod("a", TWO);
    run(2000);
    jobs_free(w.jobs);
    w.jobs = NULL;
    run(10);
    delete(PODS "/a");
    run(40000);
    assert_non_null(get(GROUP));
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true, .no_yunikorn = true});
    run(2000);
    assert_non_null(get(GROUP)); /* it is somebody else's */
    jobs_free(w.jobs);
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true});
    run(2000);
    assert_null(get(GROUP));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(test_it_starts_whole_and_its_group_goes_with_it), TEST(test_who_says_the_groups_may_come_last),
                                       TEST(test_nobody_says_the_groups_in_time), TEST(test_wrong_groups_are_told_and_nobody_starts),
                                       TEST(test_who_begins_anew_cleans_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
