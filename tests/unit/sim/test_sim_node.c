/* test_sim_node.c - what a simulated node offers, who gets which slot, and what changes do to those who have some */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "base/random.h"
#include "core/device_list.h"
#include "net/http_local.h"
#include "sim/driver/driver_model.h"
#include "sim/kubelet/pod_devices.h"
#include "sim/node/node_object.h"
#include "sim/node/node_status.h"
#include "sim/node/sim_node.h"

static struct loop *loop;
static struct arena *arena;
static struct node_kind kind;
static struct apiserver *server;
static struct kube_client *client;
static struct kube_recorder *recorder;
static struct config_maps *maps;
static struct config_cache *configs;
static struct sim_node *node;
static struct agent *d; /* its */
static struct json *got;
static int changes_n;
static bool stays[64]; /* pods that do not leave when they are asked to */

static void on_changed(void *arg, const char *name)
{
    (void)arg, (void)name;
    changes_n++;
}

static const struct node_pod *pod(uint32_t number)
{
    static struct node_pod pods[64];
    static char names[64][8];
    (void)snprintf(names[number], sizeof names[number], "p%u", number);
    pods[number] = (struct node_pod){"ml", names[number]};
    return &pods[number];
}

static const char *pod_uid(void *arg, const char *ns, const char *name)
{
    int64_t number = 0;
    (void)arg, (void)ns;
    return bytes_int64(bytes_of(name + 1), &number) && stays[number] ? name : NULL;
}

static void run(int64_t ms)
{
    assert_int_equal(loop_run_for(loop, ms, NULL), 0);
}

static void make_as(const char *mig, bool evicts)
{
    node = sim_node_new(&(struct sim_node_config){.kind = &kind,
                                                  .name = "n",
                                                  .mig = mig,
                                                  .client = client,
                                                  .recorder = recorder,
                                                  .maps = maps,
                                                  .configs = configs,
                                                  .mig_evicts = evicts,
                                                  .pod_uid = pod_uid,
                                                  .changed = on_changed});
    d = sim_node_agent(node);
    sim_node_seen(node, json_parse(arena, BYTES("{\"metadata\":{}}"), NULL, NULL));
    run(1000);
    assert_true(sim_node_ready(node));
}

static void make_with(const char *shape_text, bool evicts)
{
    struct node_shape shape;
    int32_t n;
    assert_int_equal(node_shape_parse(shape_text, &n, &shape, NULL), 0);
    node_kind_init(&kind, &shape);
    make_as(NULL, evicts);
}

static void make(const char *shape_text)
{
    make_with(shape_text, false);
}

static void unmake(void)
{
    sim_node_free(node);
    node = NULL;
}

static void put_map(const char *name, const char *key, const char *text)
{
    struct json *map = json_new(arena, JSON_OBJECT);
    json_set_text(arena, json_ensure_object(arena, map, "data"), key, text);
    assert_int_equal(config_maps_put(maps, name, map, NULL, NULL), 0);
}

static int setup(void **state)
{
    (void)state;
    log_set_level(getenv("TEST_LOG") ? LOG_DEBUG : LOG_ERROR);
    loop = loop_new_virtual(1767225600000);
    arena = arena_new();
    changes_n = 0;
    memset(stays, 0, sizeof stays);
    if (apiserver_new(loop, &(struct apiserver_config){0}, &server, NULL) < 0)
        return -1;
    struct json *object =
        json_parse(arena, BYTES("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}"), NULL, NULL);
    if (apiserver_create(server, arena, object, NULL) < 0)
        return -1;
    client = kube_client_wrap(loop, http_local_client_new(loop, apiserver_handle, server, NULL, 1));
    recorder = kube_recorder_new(client, "test");
    maps = config_maps_new();
    configs = config_cache_new();
    for (uint32_t n = 2; n <= 10; n++)
        put_map(arena_printf(arena, "m%u", n), arena_printf(arena, "shares-%u", n),
                arena_printf(arena, "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %u}]}}\n", n));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unmake();
    config_cache_free(configs);
    config_maps_free(maps);
    kube_recorder_free(recorder);
    kube_client_free(client);
    apiserver_free(server);
    arena_free(arena);
    loop_free(loop);
    return 0;
}

/* ---- what users see and do ---- */

static void on_got(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    got = answer->code == 0 ? json_parse(arena, answer->body, NULL, NULL) : NULL;
}

static const struct json *get(const char *path)
{
    kube_get(client, path, on_got, NULL);
    run(100);
    assert_non_null(got);
    return got;
}

static const char *label(const char *name)
{
    return json_text(json_path(get("/api/v1/nodes/n"), "metadata", "labels", name, NULL), "(none)");
}

static const char *annotation(const char *name)
{
    return json_text(json_path(get("/api/v1/nodes/n"), "metadata", "annotations", name, NULL), "(none)");
}

static bool was_said(const char *reason, const char *part)
{
    JSON_EACH(one, json_get(get("/api/v1/events"), "items"))
    if (text_equal(json_get_text(one, "reason", ""), reason) && strstr(json_get_text(one, "message", ""), part))
        return true;
    return false;
}

static void ask(const char *name, const char *value)
{
    struct json *object = json_new(arena, JSON_OBJECT);
    struct json *labels = json_ensure_object(arena, json_ensure_object(arena, object, "metadata"), "labels");
    if (value)
        json_set_text(arena, labels, name, value);
    sim_node_seen(node, object);
}

/* n: 0 whole GPUs. */
static void slice(uint32_t n)
{
    ask("nvidia.com/device-plugin.config", n ? arena_printf(arena, "shares-%u", n) : NULL);
    run(100);
}

/* The state after a minute. */
static const char *apply(const char *yaml, const char *name)
{
    put_map("layouts", "config.yaml", yaml);
    ask("nvidia.com/mig.config", name);
    run(60000);
    return label("nvidia.com/mig.config.state");
}

static void release(uint32_t owner)
{
    device_manager_release(d, pod(owner));
    stays[owner] = false;
    run(10);
}

static uint32_t count(const char *resource, bool healthy)
{
    const struct resource *r = resource_table_find(agent_table(d), resource);
    uint32_t n = 0;
    for (uint32_t i = 0; r && i < r->slots_n; i++)
        n += !healthy || slot_is_open(&r->slots[i]);
    return n;
}

static const char *take_one(uint32_t owner, const char *resource, const char *chosen, int *ret_code)
{
    const char **slots = NULL, *list[1] = {chosen};
    int r = device_manager_take(d, pod(owner), resource, 1, list, chosen ? 1 : 0, arena, &slots, NULL);
    if (ret_code)
        *ret_code = r;
    return r < 0 ? NULL : slots[0];
}

static void every_model_offers_its_gpus(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < gpu_models_n; i++) {
        make(gpu_models[i].key);
        assert_int_equal(count("nvidia.com/gpu", true), gpu_models[i].node_gpus_n);
        unmake();
    }
    make("t4,gpus=2,mps=10");
    assert_int_equal(count("keti.com/mpsgpu", true), 20);
    unmake();
    make("a100-40gb,gpus=2,mig=1g.5gb,replicas=2");
    assert_int_equal(count("nvidia.com/mig-1g.5gb", true), 28);
}

static void the_chosen_slot_is_given_once(void **state)
{
    (void)state;
    make("t4,gpus=2");
    int code;
    const char *second = agent_table(d)->resources[0].slots[1].id;
    assert_string_equal(take_one(1, "nvidia.com/gpu", second, &code), second);
    assert_int_equal(code, 1);
    const char *other = take_one(2, "nvidia.com/gpu", second, &code);
    assert_int_equal(code, 0); /* another one */
    assert_string_not_equal(other, second);
    const char **slots;
    struct err e = {0};
    assert_int_equal(device_manager_take(d, pod(3), "nvidia.com/gpu", 1, NULL, 0, arena, &slots, &e), -E_DENIED);
    assert_string_equal(e.text,
                        "requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0");
    assert_int_equal(device_manager_take(d, pod(3), "example.com/none", 1, NULL, 0, arena, &slots, &e), -E_NOTFOUND);
    release(1);
    assert_string_equal(take_one(3, "nvidia.com/gpu", NULL, &code), second);
}

static void a_share_keeps_its_gpu_when_sharing_ends(void **state)
{
    (void)state;
    make("t4,gpus=2");
    slice(4);
    assert_int_equal(count("nvidia.com/gpu", true), 8);
    const char *share = take_one(1, "nvidia.com/gpu", NULL, NULL);
    assert_non_null(strstr(share, "::"));
    slice(0);
    assert_int_equal(count("nvidia.com/gpu", true), 1);
    assert_int_equal(agent_table(d)->resources[0].slots_n, 2);
    const char *whole = take_one(2, "nvidia.com/gpu", NULL, NULL);
    assert_true(strncmp(whole, share, strlen(whole)) != 0);
    assert_null(take_one(3, "nvidia.com/gpu", NULL, NULL)); /* the shared one is still in use */
    assert_non_null(strstr(annotation(DEVICES_ANNOTATION), "\"healthy\":false")); /* so the scheduler does not choose it */
    int before = changes_n;
    release(1);
    assert_true(changes_n > before);
    assert_non_null(take_one(3, "nvidia.com/gpu", NULL, NULL));
}

/* Ids of the table are texts of the reading: a newer one that says the same must not leave them behind. */
static void a_new_reading_takes_the_table_along(void **state)
{
    (void)state;
    make("t4,gpus=2");
    const struct driver_process p = {.pid = 4711, .gi = 0xffffffff, .ci = 0xffffffff};
    const struct driver_reading *before = driver_reading_ref(agent_table_snapshot(d)->reading);
    assert_non_null(take_one(1, "nvidia.com/gpu", NULL, NULL));
    assert_int_equal(sim_node_fault(node, "xid=13,gpu=0", NULL), 0);
    driver_model_set_processes(agent_driver(d), &p, 1);
    driver_model_event(agent_driver(d), 1, 0xffffffff, 0xffffffff, DRIVER_EVENT_BACK, 0);
    assert_int_equal(loop_run_for(loop, 100, NULL), 0);
    const struct inventory_snapshot *s = agent_table_snapshot(d);
    assert_ptr_not_equal(inventory_now(agent_inventory(d))->reading, before);
    for (uint32_t i = 0; i < 2; i++)
        assert_ptr_equal(agent_table(d)->resources[0].slots[i].id, s->units[i].uuid);
    driver_reading_unref(before);
    assert_non_null(take_one(2, "nvidia.com/gpu", NULL, NULL));
    assert_null(take_one(3, "nvidia.com/gpu", NULL, NULL));
}

/* Four shares become ten under somebody's quarter: its id is one of the ten, and the GPU would be given away one time and a quarter. */
static void more_shares_wait_for_those_of_before(void **state)
{
    (void)state;
    make("t4,gpus=2");
    slice(4);
    const char *quarter = take_one(1, "nvidia.com/gpu", NULL, NULL);
    slice(10);
    const struct resource *r = resource_table_find(agent_table(d), "nvidia.com/gpu");
    assert_non_null(resource_find_slot(r, quarter));
    assert_int_equal(resource_find_slot(r, quarter)->state, SLOT_OLD_SLICING);
    assert_string_equal(resource_find_slot(r, quarter)->why, "held as nvidia.com/gpu by ml/p1");
    assert_int_equal(count("nvidia.com/gpu", true), 10); /* those of the other GPU */
    slice(4); /* back: nothing has to wait */
    assert_int_equal(count("nvidia.com/gpu", true), 8);
    slice(10);
    release(1);
    assert_int_equal(count("nvidia.com/gpu", true), 20);
}

static void a_whole_gpu_is_not_shared_under_its_owner(void **state)
{
    (void)state;
    make("t4,gpus=2");
    const char *whole = take_one(1, "nvidia.com/gpu", NULL, NULL);
    slice(4);
    for (uint32_t owner = 2; owner < 6; owner++)
        assert_true(strncmp(take_one(owner, "nvidia.com/gpu", NULL, NULL), whole, strlen(whole)) != 0);
    assert_null(take_one(6, "nvidia.com/gpu", NULL, NULL));
}

static void a_config_that_does_not_go_leaves_the_old_one(void **state)
{
    (void)state;
    make("a100-40gb,gpus=2,mig=3g.20gb");
    put_map("single", "single", "version: v1\nflags: {migStrategy: single}\n");
    put_map("wrong", "wrong", "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 1000}]}}\n");
    ask("nvidia.com/device-plugin.config", "single");
    run(100);
    assert_int_equal(count("nvidia.com/gpu", true), 4);
    ask("nvidia.com/device-plugin.config", "wrong");
    run(100);
    assert_int_equal(count("nvidia.com/gpu", true), 4);
    assert_true(was_said("GPUConfigInvalid", "sharing.mps.resources[0].replicas"));
}

static void layouts_change_what_is_offered(void **state)
{
    (void)state;
    static const char yaml[] =
        "version: v1\nmig-configs:\n  small: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n"
        "  whole: [{devices: all, mig-enabled: false}]\n"
        "  balanced: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2, 1g.5gb: 1}}]\n";
    make("a100-40gb,gpus=2");
    assert_string_equal(apply(yaml, "small"), "success");
    assert_int_equal(count("nvidia.com/mig-1g.5gb", true), 14);
    assert_int_equal(count("nvidia.com/gpu", true), 0);
    const char *slice = arena_text(arena, take_one(1, "nvidia.com/mig-1g.5gb", NULL, NULL));
    assert_string_equal(apply(yaml, "whole"), "failed"); /* in use */
    assert_true(was_said("MIGConfigFailed", slice));
    assert_true(was_said("MIGConfigFailed", "in use by ml/p1") || was_said("MIGConfigFailed", "by ml/p1"));
    assert_true(device_manager_healthy(d, "nvidia.com/mig-1g.5gb", slice));
    int before = changes_n;
    release(1);
    run(60000);
    assert_true(changes_n > before);
    assert_string_equal(label("nvidia.com/mig.config.state"), "success"); /* by itself: the label still says so */
    assert_int_equal(count("nvidia.com/gpu", true), 2);
    assert_string_equal(apply(yaml, "balanced"), "failed");
    assert_true(was_said("MIGConfigFailed", "Would fit"));
    assert_int_equal(count("nvidia.com/gpu", true), 2);
}

static void faults_take_a_gpu_away_and_repair_brings_it_back(void **state)
{
    (void)state;
    struct err e = {0};
    make("t4,gpus=4");
    assert_int_equal(sim_node_fault(node, "xid=79,gpu=3", &e), 0);
    loop_run_for(loop, 10000, NULL);
    assert_int_equal(count("nvidia.com/gpu", true), 3);
    assert_int_equal(count("nvidia.com/gpu", false), 4);
    assert_true(was_said("GPUError", "XID 79"));
    assert_int_equal(sim_node_fault(node, "xid=79,gpu=3;lost,gpu=0", &e), 0);
    loop_run_for(loop, 10000, NULL);
    assert_int_equal(count("nvidia.com/gpu", true), 2);
    assert_int_equal(sim_node_fault(node, NULL, &e), 0);
    loop_run_for(loop, 10000, NULL);
    assert_int_equal(count("nvidia.com/gpu", true), 4);
    static const char *const wrong[] = {"xid=79", "gpu=1", "lost,gpu=9", "what,gpu=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(sim_node_fault(node, wrong[i], &e), -E_INVALID);
    assert_int_equal(sim_node_fault(node, "xid=79,gpu=2;nothing", &e), -E_INVALID);
    assert_int_equal(loop_run_for(loop, 1000, NULL), 0);
    assert_int_equal(count("nvidia.com/gpu", true), 4); /* none of it, or it would happen again each time that somebody looks */
}

/* A random life: nobody has a slot twice, and no unit is whole and shared at once. */
static void random_lives_share_nothing_twice(void **state)
{
    (void)state;
    struct random r = {7};
    make("t4,gpus=4");
    char held[64][64] = {{0}};
    for (int step = 0; step < 20000; step++) {
        uint32_t owner = (uint32_t)random_below(&r, 64);
        if (random_below(&r, 50) == 0) {
            slice((uint32_t)random_below(&r, 3) * 2);
        } else if (held[owner][0]) {
            release(owner);
            held[owner][0] = '\0';
        } else {
            arena_reset(arena);
            const char *slot = take_one(owner, "nvidia.com/gpu", NULL, NULL);
            for (int i = 0; slot && i < 64; i++) {
                assert_string_not_equal(held[i], slot);
                size_t n = strcspn(held[i], ":");
                if (n && strncmp(held[i], slot, n) == 0)
                    assert_true(held[i][n] && slot[n]); /* the same GPU: both have a share */
            }
            if (slot)
                (void)snprintf(held[owner], sizeof held[owner], "%s", slot);
        }
        loop_run_for(loop, 1, NULL);
    }
}

static void instances_outlive_the_program(void **state)
{
    (void)state;
    static const char yaml[] = "version: v1\nmig-configs:\n"
                               "  a: [{devices: [0], mig-enabled: true, mig-devices: {2g.10gb: 3}}]\n"
                               "  b: [{devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 3, 1c.3g.20gb: 3}}]\n";
    make("a100-40gb,gpus=2");
    assert_string_equal(apply(yaml, "a"), "success");
    assert_string_equal(apply(yaml, "b"), "success");
    const char *devices = annotation(DEVICES_ANNOTATION), *mig = annotation(NODE_MIG_ANNOTATION);
    unmake();
    make_as(mig, false);
    assert_string_equal(annotation(DEVICES_ANNOTATION), devices);
    assert_string_equal(annotation(NODE_MIG_ANNOTATION), mig);
    /* what is not possible restores nothing, and is said */
    static const char *const wrong[] = {"x",
                                        "g0",
                                        "g9,1",
                                        "g0,1 i200,1,0",
                                        "g0,1 i19,1,9",
                                        "c0,1,0,00",
                                        "g0,1 i9,1,0 i9,2,0",
                                        "g0,1 i19,1,0 c0,1,0,zz"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *last = strrchr(wrong[i], ' ');
        unmake();
        make_as(wrong[i], false);
        assert_true(was_said("MIGConfigFailed", arena_printf(arena, "'%s'", last ? last + 1 : wrong[i])));
        assert_int_equal(count("nvidia.com/gpu", true), 2);
    }
    /* a node whose shape is split, and that was made whole */
    unmake();
    make("a100-40gb,gpus=2,mig=1g.5gb");
    assert_int_equal(count("nvidia.com/mig-1g.5gb", true), 14);
    unmake();
    make_as("none", false);
    assert_int_equal(count("nvidia.com/gpu", true), 2);
}

static struct json *pod_of(const char *limits_1, const char *limits_2, const char *annotation)
{
    const char *text = arena_printf(
        arena,
        "{\"metadata\":{\"annotations\":{\"capstan.dev/devices\":\"%s\"}},\"spec\":{\"containers\":["
        "{\"name\":\"a\",\"resources\":{\"limits\":{%s}}},{\"name\":\"b\",\"resources\":{\"limits\":{%s}}}]}}",
        annotation, limits_1, limits_2);
    return json_parse(arena, bytes_of(text), NULL, NULL);
}

static void pods_get_what_was_chosen_container_by_container(void **state)
{
    (void)state;
    make("t4,gpus=4");
    assert_null(pod_devices_read(pod_of("\"cpu\":1", "\"memory\":\"1Gi\"", "")));
    const struct slot *s = agent_table(d)->resources[0].slots;
    const char *annotation = arena_printf(arena, "nvidia.com/gpu=%s,%s,%s", s[3].id, s[0].id, s[2].id);
    struct pod_devices *p =
        pod_devices_read(pod_of("\"nvidia.com/gpu\":1", "\"nvidia.com/gpu\":2,\"cpu\":1", annotation));
    assert_int_equal(p->wants_n, 2);
    assert_int_equal(pod_devices_admit(p, d, pod(1), NULL), 0);
    assert_false(p->differs);
    assert_string_equal(p->wants[0].slots[0], s[3].id);
    assert_string_equal(p->wants[1].slots[0], s[0].id);
    _cleanup_buf_ struct buf text = {0};
    pod_devices_text(p, &text);
    assert_string_equal(text.data, annotation);
    /* too many: none is kept */
    struct pod_devices *q = pod_devices_read(pod_of("\"nvidia.com/gpu\":1", "\"nvidia.com/gpu\":2", ""));
    struct err e = {0};
    assert_int_equal(pod_devices_admit(q, d, pod(2), &e), -E_DENIED);
    assert_non_null(take_one(3, "nvidia.com/gpu", NULL, NULL));
    pod_devices_free(p);
    pod_devices_free(q);
}

/* "name[+]:n ..." as containers of nvidia.com/gpu; '+': a sidecar. */
static void containers_text(struct buf *out, const char *list)
{
    _cleanup_free_ char *copy = mem_text(list);
    char *save = NULL;
    for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        char *n = strchr(one, ':'), *plus = strchr(one, '+');
        *n = '\0';
        if (plus)
            *plus = '\0';
        buf_printf(out, "%s{\"name\":\"%s\",%s\"resources\":{\"limits\":{\"nvidia.com/gpu\":%s}}}",
                   out->n && out->data[out->n - 1] == '}' ? "," : "", one,
                   plus ? "\"restartPolicy\":\"Always\"," : "", n + 1);
    }
}

static struct pod_devices *pod_with_init(const char *init, const char *containers, const char *annotation)
{
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text,
               "{\"metadata\":{\"annotations\":{\"capstan.dev/devices\":\"%s\"}},\"spec\":{\"initContainers\":[",
               annotation);
    containers_text(&text, init);
    buf_text(&text, "],\"containers\":[");
    containers_text(&text, containers);
    buf_text(&text, "]}}");
    struct json *pod = json_parse(arena, buf_view(&text), NULL, NULL);
    assert_non_null(pod);
    return pod_devices_read(pod);
}

/* The slots of each container as indexes among the node's: "01 01 2". */
static const char *given_to(const struct pod_devices *p)
{
    struct buf text = {0};
    const struct resource *r = resource_table_find(agent_table(d), "nvidia.com/gpu");
    for (uint32_t i = 0; i < p->wants_n; i++) {
        buf_text(&text, i ? " " : "");
        for (uint32_t k = 0; p->wants[i].slots && k < p->wants[i].n; k++)
            buf_printf(&text, "%td", resource_find_slot(r, p->wants[i].slots[k]) - r->slots);
    }
    const char *given = arena_text(arena, text.n ? text.data : "");
    buf_free(&text);
    return given;
}

static const char *first_slots(uint32_t n)
{
    struct buf text = {0};
    const struct resource *r = resource_table_find(agent_table(d), "nvidia.com/gpu");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? "," : "nvidia.com/gpu=", r->slots[i].id);
    const char *list = arena_text(arena, text.data);
    buf_free(&text);
    return list;
}

/* n: what Kubernetes counts the pod for, and so what the scheduler chooses. */
static const struct {
    const char *init, *containers, *given;
    uint32_t n;
} with_init[] = {
    {"i:1", "a:2 b:1", "0 01 2", 3},         {"i:1", "a:1 b:1", "0 0 1", 2},
    {"i:1", "a:2", "0 01", 2},               {"i:3", "a:1 b:1", "012 0 1", 3},
    {"i:1 j:3 k:2", "a:1", "0 012 01 0", 3}, {"s+:2", "a:2", "01 23", 4},
    {"i:1 s+:2", "a:1", "0 01 2", 3},        {"s+:1 i:2", "a:3", "0 12 123", 4},
    {"i:2 s+:1", "a:1", "01 0 1", 2},
};

static void init_containers_leave_their_devices_and_sidecars_keep_them(void **state)
{
    (void)state;
    make("t4,gpus=4");
    for (size_t i = 0; i < sizeof with_init / sizeof *with_init; i++) {
        const char *chosen = first_slots(with_init[i].n);
        struct pod_devices *p = pod_with_init(with_init[i].init, with_init[i].containers, chosen);
        /* what is left of the node is somebody else's */
        for (uint32_t k = with_init[i].n; k < 4; k++)
            assert_non_null(take_one(2, "nvidia.com/gpu", agent_table(d)->resources[0].slots[k].id, NULL));
        assert_int_equal(pod_devices_admit(p, d, pod(1), NULL), 0);
        assert_string_equal(given_to(p), with_init[i].given);
        assert_false(p->differs);
        _cleanup_buf_ struct buf text = {0};
        pod_devices_text(p, &text);
        assert_string_equal(text.data, chosen);
        pod_devices_free(p);
        release(1);
        release(2);
    }
}

static void a_pod_that_runs_keeps_its_devices_with_the_program_gone(void **state)
{
    (void)state;
    static const struct json no_status = {.type = JSON_OBJECT};
    make("t4,gpus=4");
    for (size_t i = 0; i < sizeof with_init / sizeof *with_init; i++) {
        struct pod_devices *p =
            pod_with_init(with_init[i].init, with_init[i].containers, first_slots(with_init[i].n));
        pod_devices_resume(p, d, pod(1), &no_status);
        assert_string_equal(given_to(p), with_init[i].given);
        for (uint32_t k = with_init[i].n; k < 4; k++)
            assert_non_null(take_one(2, "nvidia.com/gpu", NULL, NULL));
        assert_null(take_one(2, "nvidia.com/gpu", NULL, NULL));
        pod_devices_free(p);
        release(1);
        release(2);
    }
}

static void a_choice_too_short_is_told(void **state)
{
    (void)state;
    make("t4,gpus=4");
    struct pod_devices *p = pod_with_init("s+:1", "a:2", first_slots(1));
    assert_int_equal(pod_devices_admit(p, d, pod(1), NULL), 0);
    assert_true(p->differs);
    pod_devices_free(p);
}

static uint32_t healthy_n(const char *resource)
{
    const struct resource *r = resource_table_find(agent_table(d), resource);
    uint32_t n = 0;
    for (uint32_t i = 0; r && i < r->slots_n; i++)
        n += slot_is_open(&r->slots[i]);
    return n;
}

static const char small[] =
    "version: v1\nmig-configs:\n  small: [{devices: all, mig-enabled: true, mig-devices: {\"1g.5gb\": 7}}]\n";

static void pods_in_the_way_are_evicted(void **state)
{
    (void)state;
    const char **slots;
    make_with("1:a100-40gb,gpus=1", true);
    stays[1] = true;
    assert_int_equal(device_manager_take(d, pod(1), "nvidia.com/gpu", 1, NULL, 0, arena, &slots, NULL), 1);
    assert_string_equal(apply(small, "small"), "pending");
    assert_int_equal(healthy_n("nvidia.com/gpu"), 0); /* nothing is handed out meanwhile */
    run(700000);
    assert_string_equal(label("nvidia.com/mig.config.state"), "failed");
    assert_true(was_said("MIGConfigFailed", "pod ml/p1 did not leave"));
    assert_int_equal(healthy_n("nvidia.com/gpu"), 1); /* as it was */
    release(1);
    run(60000);
    assert_string_equal(label("nvidia.com/mig.config.state"), "success");
    assert_int_equal(healthy_n("nvidia.com/mig-1g.5gb"), 7);
}

/* Two GPUs and a pod on the first, which a layout of both waits for. */
static const char *make_waiting(void)
{
    make_with("1:a100-40gb,gpus=2", true);
    const char *first = agent_table_snapshot(d)->units[0].uuid;
    stays[1] = true;
    assert_non_null(take_one(1, "nvidia.com/gpu", first, NULL));
    assert_string_equal(apply(small, "small"), "pending");
    assert_true(agent_mig_changes(d));
    assert_int_equal(healthy_n("nvidia.com/gpu"), 1);
    return agent_table_snapshot(d)->units[1].uuid;
}

static void a_gpu_that_is_taken_meanwhile_is_not_split(void **state)
{
    (void)state;
    char second[48];
    (void)snprintf(second, sizeof second, "%s", make_waiting());
    stays[2] = true;
    assert_string_equal(take_one(2, "nvidia.com/gpu", NULL, NULL), second);
    release(1);
    run(60000);
    assert_true(agent_mig_changes(d)); /* the second is in use, too */
    assert_int_equal(healthy_n("nvidia.com/mig-1g.5gb"), 7); /* the first is done, and offered */
    assert_int_equal(healthy_n("nvidia.com/gpu"), 0);
    run(700000);
    assert_string_equal(label("nvidia.com/mig.config.state"), "failed");
    assert_int_equal(healthy_n("nvidia.com/mig-1g.5gb"), 7);
    assert_true(device_manager_healthy(d, "nvidia.com/gpu", second));
}

static void a_gpu_that_fails_meanwhile_is_not_offered(void **state)
{
    (void)state;
    make_waiting();
    assert_int_equal(sim_node_fault(node, "xid=79,gpu=1", NULL), 0);
    run(3000);
    assert_true(agent_mig_changes(d));
    assert_int_equal(healthy_n("nvidia.com/gpu"), 0);
}

static void a_node_may_go_while_its_pods_are_evicted(void **state)
{
    (void)state;
    make_waiting();
    unmake();
    run(700000);
    assert_false(was_said("MIGConfigFailed", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_model_offers_its_gpus, setup, teardown),
        cmocka_unit_test_setup_teardown(the_chosen_slot_is_given_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_share_keeps_its_gpu_when_sharing_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_reading_takes_the_table_along, setup, teardown),
        cmocka_unit_test_setup_teardown(more_shares_wait_for_those_of_before, setup, teardown),
        cmocka_unit_test_setup_teardown(a_whole_gpu_is_not_shared_under_its_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(a_config_that_does_not_go_leaves_the_old_one, setup, teardown),
        cmocka_unit_test_setup_teardown(layouts_change_what_is_offered, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_take_a_gpu_away_and_repair_brings_it_back, setup, teardown),
        cmocka_unit_test_setup_teardown(random_lives_share_nothing_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(instances_outlive_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_get_what_was_chosen_container_by_container, setup, teardown),
        cmocka_unit_test_setup_teardown(init_containers_leave_their_devices_and_sidecars_keep_them, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_runs_keeps_its_devices_with_the_program_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_choice_too_short_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_in_the_way_are_evicted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gpu_that_is_taken_meanwhile_is_not_split, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gpu_that_fails_meanwhile_is_not_offered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_may_go_while_its_pods_are_evicted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
