/* test_agent_drain.c - the pods of GPUs that drain, in the whole agent */
#include "agent_world.h"
#include <stdio.h>
#include "sim/driver/driver_model.h"

static void create_pod(struct world *w, const char *name, const char *more)
{
    world_create(w, arena_printf(w->a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"%s},\"spec\":{"
                 "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}", name, more));
    world_patch(w, arena_printf(w->a, "/api/v1/namespaces/default/pods/%s/status", name),
                "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
}

static void on_deleted(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    assert_int_equal(answer->code, 0);
}

/* The kubelet's end of a pod. */
static void end_pod(struct world *w, const char *name)
{
    kube_delete(w->client, arena_printf(w->a, "/api/v1/namespaces/default/pods/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), on_deleted,
                w);
    world_run(w, 100);
}

/* 'e' evicted and ending, 'r' runs, '-' gone; one letter a name. */
static const char *pods(struct world *w, const char *names)
{
    char *text = arena_text(w->a, names);
    for (char *c = text; *c; c++) {
        kube_get(w->client, arena_printf(w->a, "/api/v1/namespaces/default/pods/%c", *c), world_on_got, w);
        world_run(w, 1);
        *c = w->code == -E_NOTFOUND ? '-' : json_path(w->got, "metadata", "deletionTimestamp", NULL) ? 'e' : 'r';
    }
    return text;
}

#define GPU(i) inventory_now(agent_inventory(w->agent))->reading->gpus[i].uuid

static void test_drain_evicts(void **state)
{
    struct world *w = *state;
    w->options.drain_evicts = true;
    world_create(w, "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"keep\",\"namespace\":\"default\"},"
                 "\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"a\"}}}}");
    create_pod(w, "a", ",\"labels\":{\"app\":\"a\"}");
    create_pod(w, "b", "");
    create_pod(w, "c", "");
    create_pod(w, "d", ",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}");
    create_pod(w, "e", "");
    world_start_agent(w, "h100-80gb", 2);
    char *shares[4];
    for (uint32_t i = 0; i < 4; i++)
        shares[i] = arena_printf(w->a, "%s::%u", GPU(0), i);
    const struct slot_owner owners[] = {{"r", shares[0], "default", "a", "c"}, {"r", shares[1], "default", "b", "c"},
                                        {"r", shares[2], "default", "c", "c"}, {"r", shares[3], "default", "d", "c"},
                                        {"r", arena_text(w->a, GPU(1)), "default", "e", "c"}};
    inventory_set_owners(agent_inventory(w->agent), owners, 5);
    driver_model_set_processes(w->driver, &(struct driver_process){.pid = 77, .gi = ALL, .ci = ALL, .gpu = 0}, 1);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 31); /* an application's own: nobody is sent away */
    world_run(w, 30000);
    assert_string_equal(pods(w, "abcde"), "rrrrr");
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    world_run(w, 9000);
    assert_string_equal(pods(w, "abcde"), "rerrr"); /* "a" was asked first and is protected; then one every five seconds */
    world_run(w, 30000);
    assert_string_equal(pods(w, "abcde"), "reerr");
    assert_true(world_has_event(w, "GPUEvictionWaits", "is draining after XID 48: "));
    assert_true(world_has_event(w, "GPUEviction", "is draining after XID 48"));
    end_pod(w, "b");
    create_pod(w, "b", ""); /* of the same name, with another GPU by now: stays, whatever the kubelet still says of the old one */
    world_run(w, 20000);
    assert_string_equal(pods(w, "abcde"), "rrerr");
    kube_delete(w->client, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep", (struct bytes){0}, on_deleted, w);
    world_run(w, 15000);
    assert_string_equal(pods(w, "abcde"), "ererr");
    end_pod(w, "a");
    end_pod(w, "c");
    driver_model_set_processes(w->driver, NULL, 0);
    inventory_set_owners(agent_inventory(w->agent), &owners[4], 1);
    world_run(w, 600000);
    assert_string_equal(world_condition(w, "GPUHealthy"), "True/GPUsHealthy");
    assert_string_equal(pods(w, "abcde"), "-r-rr");
}

static void test_drain_of_an_instance(void **state)
{
    struct world *w = *state;
    w->options.drain_evicts = true;
    create_pod(w, "a", "");
    create_pod(w, "b", "");
    world_start_agent(w, "h100-80gb", 1);
    world_set_label(w, "nvidia.com/mig.config", "all-3g.40gb");
    world_run(w, 10000);
    assert_string_equal(world_label(w, "nvidia.com/mig.config.state"), "success");
    const struct driver_gpu *gpu = &inventory_now(agent_inventory(w->agent))->reading->gpus[0];
    assert_int_equal(gpu->migs_n, 2);
    const struct driver_mig broken = gpu->migs[1];
    const struct slot_owner owners[] = {{"r", arena_text(w->a, gpu->migs[0].uuid), "default", "a", "c"},
                                        {"r", arena_text(w->a, gpu->migs[1].uuid), "default", "b", "c"}};
    inventory_set_owners(agent_inventory(w->agent), owners, 2);
    driver_model_event(w->driver, 0, broken.gi, broken.ci, DRIVER_EVENT_XID, 48);
    world_run(w, 60000);
    assert_string_equal(pods(w, "ab"), "re"); /* the other instance is well */
    end_pod(w, "b");
    create_pod(w, "b", ""); /* its successor has nothing here */
    inventory_set_owners(agent_inventory(w->agent), owners, 1);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_LOST, 0);
    world_run(w, HEALTH_LOST_MS - 10000);
    assert_string_equal(pods(w, "ab"), "rr"); /* it may come back */
    world_run(w, 30000);
    assert_string_equal(pods(w, "ab"), "er");
    assert_true(world_has_event(w, "GPUEviction", "has failed"));
}

static void test_drain_waits(void **state)
{
    struct world *w = *state;
    create_pod(w, "a", "");
    world_start_agent(w, "h100-80gb", 1);
    inventory_set_owners(agent_inventory(w->agent), &(struct slot_owner){"r", GPU(0), "default", "a", "c"}, 1);
    driver_model_set_processes(w->driver, &(struct driver_process){.pid = 77, .gi = ALL, .ci = ALL, .gpu = 0}, 1);
    driver_model_event(w->driver, 0, ALL, ALL, DRIVER_EVENT_XID, 48);
    world_run(w, 600000);
    assert_string_equal(pods(w, "a"), "r");
    assert_string_equal(world_condition(w, "GPUHealthy"), "False/GPUsUnhealthy");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {T(test_drain_evicts),
                                       T(test_drain_of_an_instance),
                                       T(test_drain_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
