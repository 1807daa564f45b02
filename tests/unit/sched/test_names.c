/* Pods, groups and Workloads come and go by the thousand: the names that the scheduler keeps are those of what is there. */
#include "stage.h"
#include "core/state/state.h"

enum { BATCH = 200 };

static void begin(bool sweep_always)
{
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 8);
    queue();
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true, .sweep_always = sweep_always});
    run(3000);
}

static uint32_t names_n(void)
{
    return intern_count(state_names(scheduler_state(w.scheduler)));
}

static void pod(int i)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"n\",\"labels\":{\"job\":\"j%d\"}},"
                        "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}",
                        i, i));
}

/* Every second one asks for a queue that is not there. */
static void workload(int i)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%d\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queueName\":\"lq%.*d\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}",
                        i, i % 2 ? 1 : 0, i % 2 ? i : 0));
}

static void take_away(const char *folder, char kind, int i)
{
    kube_delete(w.user, arena_printf(w.a, "%s/%c%d", folder, kind, i), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
}

static void round_of_pods(int first)
{
    for (int i = first; i < first + BATCH; i++)
        pod(i);
    run(100);
    for (int i = first; i < first + BATCH; i++)
        take_away(PODS, 'p', i);
    run(100);
    arena_reset(w.a);
}

static void pods_leave_no_names(void **state)
{
    (void)state;
    uint32_t most = 0;
    begin(false);
    for (int i = 0; i < 20000; i += BATCH) {
        round_of_pods(i);
        most = names_n() > most ? names_n() : most;
    }
    assert_true(scheduler_counts(w.scheduler).binds_n > 2000);
    assert_in_range(most, 2000, 4096 + 8 * BATCH); /* a sweep is due at 4096, and comes when the changes of a batch are all in */
    (void)teardown(NULL);
}

static void all_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    begin(true);
    round_of_pods(0);
    run(60000);
    uint32_t before = names_n();
    for (int i = 1; i < 60; i++)
        workload(i);
    run(10000);
    assert_true(names_n() > before + 60);
    for (int i = 1; i < 60; i++)
        take_away(WORKLOADS, 'w', i);
    for (int i = 1000; i < 2000; i += BATCH)
        round_of_pods(i);
    run(60000);
    assert_int_equal(names_n(), before);
    (void)teardown(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pods_leave_no_names), cmocka_unit_test(all_that_is_gone_is_forgotten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
