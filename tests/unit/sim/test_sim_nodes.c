/* test_sim_nodes.c - simulated GPUs of nodes against an API server: a node that goes while its MIG layout waits for a pod, conditions */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "net/http_local.h"
#include "sim/kubelet/device_manager.h"
#include "sim/node/sim_nodes.h"

#define NODE_WITH(uid, labels, annotations)                                                                                                \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"" uid "\",\"labels\":{" labels \
    "},\"annotations\":{\"capstan.dev/shape\":\"a100-40gb,gpus=1\"" annotations                                                            \
    "}},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"
#define NODE(uid, labels) NODE_WITH(uid, labels, "")
#define CONFIG "\"nvidia.com/device-plugin.config\":"
#define FAULT ",\"capstan.dev/simulate-fault\":\"xid=79,gpu=0\""
#define LAYOUT "\"nvidia.com/mig.config\":\"all-1g.5gb\""

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client;
    struct kube_recorder *recorder;
    struct sim_nodes *gpus;
    struct arena *a;
    struct json *got;
    const char *pod_uid;
    int code;
};

static void changed(void *arg, const char *node)
{
    (void)arg, (void)node;
}

static void on_got(void *arg, const struct kube_answer *answer)
{
    struct world *w = arg;
    w->code = answer->code;
    w->got = answer->code == 0 ? json_parse(w->a, answer->body, NULL, NULL) : NULL;
}

static const struct json *get(struct world *w, const char *path)
{
    kube_get(w->client, path, on_got, w);
    assert_int_equal(loop_run_for(w->loop, 100, NULL), 0);
    assert_int_equal(w->code, 0);
    return w->got;
}

static const struct node_pod train = {"default", "train"}, other = {"default", "other"};

static const char *uid_of(void *arg, const char *ns, const char *name)
{
    (void)ns, (void)name;
    return ((struct world *)arg)->pod_uid;
}

static void create(struct world *w, const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w->a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w->server, w->a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void run(struct world *w, int64_t ms)
{
    assert_int_equal(loop_run_for(w->loop, ms, NULL), 0);
}

static int setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    struct err e = {0};
    w->a = arena_new();
    w->loop = loop_new_virtual(1767225600000);
    if (apiserver_new(w->loop, &(struct apiserver_config){0}, &w->server, &e) < 0)
        return -1;
    create(w, NODE("u1", ""));
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"train\",\"namespace\":\"default\"},\"spec\":{"
              "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    w->client = kube_client_wrap(w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, NULL, 1));
    w->recorder = kube_recorder_new(w->client, "test");
    struct sim_nodes_config c = {.changed = changed, .mig_evicts = true, .pod_uid = uid_of, .arg = w};
    w->gpus = sim_nodes_new(w->client, w->recorder, &c);
    w->pod_uid = json_text(json_path(get(w, "/api/v1/namespaces/default/pods/train"), "metadata", "uid", NULL), NULL);
    *state = w;
    return w->pod_uid ? 0 : -1;
}

static int teardown(void **state)
{
    struct world *w = *state;
    sim_nodes_free(w->gpus);
    kube_recorder_free(w->recorder);
    kube_client_free(w->client);
    apiserver_free(w->server);
    loop_free(w->loop);
    arena_free(w->a);
    free(w);
    return 0;
}

static void node_seen(struct world *w, const char *text)
{
    sim_nodes_seen(w->gpus, json_parse(w->a, bytes_of(text), NULL, NULL));
    run(w, 1000);
}

static struct agent *devices(struct world *w)
{
    bool wait;
    struct sim_node *n = sim_nodes_get(w->gpus, "n1", &wait);
    for (int i = 0; i < 100 && wait; i++) {
        run(w, 100);
        n = sim_nodes_get(w->gpus, "n1", &wait);
    }
    assert_non_null(n);
    return sim_node_agent(n);
}

static const char *label(struct world *w, const char *name)
{
    return json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "labels", name, NULL), "(none)");
}

static uint32_t events_n(struct world *w, const char *reason)
{
    uint32_t n = 0;
    JSON_EACH(one, json_get(get(w, "/api/v1/events"), "items"))
    n += text_equal(json_get_text(one, "reason", ""), reason);
    return n;
}

/* A layout that waits for the pod on its only GPU: what ends the wait ends the layout. */
static void begin_layout(struct world *w)
{
    const char **slots;
    node_seen(w, NODE("u1", ""));
    assert_int_equal(device_manager_take(devices(w), &train, "nvidia.com/gpu", 1, NULL, 0, w->a, &slots, NULL), 1);
    node_seen(w, NODE("u1", LAYOUT));
    run(w, 5000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "pending");
    assert_true(agent_mig_changes(devices(w)));
    assert_int_equal(events_n(w, "GPUEviction"), 1);
}

static void a_layout_waits_for_its_pod(void **state)
{
    struct world *w = *state;
    begin_layout(w);
    w->pod_uid = NULL; /* it ends */
    device_manager_release(devices(w), &train);
    run(w, 20000);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
    assert_int_equal(events_n(w, "MIGConfigApplied"), 1);
}

static void a_node_goes_meanwhile(void **state)
{
    struct world *w = *state;
    begin_layout(w);
    sim_nodes_gone(w->gpus, "n1");
    run(w, 20000);
    assert_int_equal(events_n(w, "MIGConfigFailed"), 0); /* nobody is told how it ended */
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "pending");
    node_seen(w, NODE("u1", "")); /* again, with nobody on it */
    const char **slots;
    assert_int_equal(device_manager_take(devices(w), &other, "nvidia.com/gpu", 1, NULL, 0, w->a, &slots, NULL), 1);
}

static void a_namesake_comes_meanwhile(void **state)
{
    struct world *w = *state;
    begin_layout(w);
    node_seen(w, NODE("u2", LAYOUT));
    run(w, 20000);
    assert_int_equal(events_n(w, "MIGConfigFailed"), 0);
    assert_int_equal(events_n(w, "MIGConfigApplied"), 1);
    assert_string_equal(label(w, "nvidia.com/mig.config.state"), "success");
}

/* What teardown frees is in the midst of it. */
static void all_end_meanwhile(void **state)
{
    begin_layout(*state);
}

static const struct json *condition(struct world *w, const char *type)
{
    JSON_EACH(one, json_path(get(w, "/api/v1/nodes/n1"), "status", "conditions", NULL))
    if (text_equal(json_get_text(one, "type", ""), type))
        return one;
    fail_msg("no condition %s", type);
    return NULL;
}

/* "True/GPUsHealthy/all GPUs can be used" */
static const char *told(struct world *w, const char *type)
{
    const struct json *c = condition(w, type);
    return arena_printf(w->a, "%s/%s/%s", json_get_text(c, "status", ""), json_get_text(c, "reason", ""),
                        json_get_text(c, "message", ""));
}

static const char *since(struct world *w, const char *type)
{
    return json_get_text(condition(w, type), "lastTransitionTime", "");
}

static void conditions_tell_of_health(void **state)
{
    struct world *w = *state;
    node_seen(w, NODE("u1", ""));
    (void)devices(w);
    run(w, 5000);
    assert_string_equal(told(w, "GPUHealthy"), "True/GPUsHealthy/all GPUs can be used");
    const char *well_since = since(w, "GPUHealthy"), *config_since = since(w, "GPUConfigValid");
    node_seen(w, NODE_WITH("u1", "", FAULT));
    run(w, 5000);
    assert_non_null(strstr(told(w, "GPUHealthy"), "False/GPUsUnhealthy/GPU-"));
    assert_non_null(strstr(told(w, "GPUHealthy"), "xid=79"));
    assert_string_not_equal(since(w, "GPUHealthy"), well_since);
    const char *version = json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "resourceVersion", NULL), "");
    node_seen(w, NODE_WITH("u1", "", FAULT)); /* news of others: nothing of ours is to be written */
    run(w, 20000);
    assert_string_equal(json_text(json_path(get(w, "/api/v1/nodes/n1"), "metadata", "resourceVersion", NULL), "-"), version);
    node_seen(w, NODE("u1", ""));
    run(w, 5000);
    assert_string_equal(told(w, "GPUHealthy"), "True/GPUsHealthy/all GPUs can be used");
    assert_string_equal(told(w, "GPUConfigValid"), "True/ConfigValid/(defaults)");
    assert_string_equal(since(w, "GPUConfigValid"), config_since);
    assert_string_equal(told(w, "Ready"), "True//"); /* those of others stay */
}

static void conditions_tell_of_the_config(void **state)
{
    struct world *w = *state;
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"gpu-operator\"}}");
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"shares\",\"namespace\":\"gpu-operator\"},\"data\":{"
              "\"any\":\"version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\","
              "\"typo\":\"version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replica: 4}]}}\"}}");
    node_seen(w, NODE("u1", CONFIG "\"any\""));
    run(w, 5000);
    assert_string_equal(told(w, "GPUConfigValid"), "True/ConfigValid/gpu-operator/shares/any");
    const char *health_since = since(w, "GPUHealthy"), *valid_since = since(w, "GPUConfigValid");
    node_seen(w, NODE("u1", CONFIG "\"typo\""));
    run(w, 5000);
    assert_non_null(strstr(told(w, "GPUConfigValid"), "False/ConfigInvalid/gpu-operator/shares/typo: sharing.timeSlicing.resources[0]"));
    assert_non_null(strstr(told(w, "GPUConfigValid"), "; the config before it stays in use"));
    const char *refused_since = since(w, "GPUConfigValid");
    assert_string_not_equal(refused_since, valid_since);
    node_seen(w, NODE("u1", CONFIG "\"nope\""));
    run(w, 5000);
    assert_non_null(strstr(told(w, "GPUConfigValid"), "False/ConfigInvalid/no ConfigMap of namespace gpu-operator has the key 'nope'"));
    assert_string_equal(since(w, "GPUConfigValid"), refused_since); /* another text is no transition */
    node_seen(w, NODE("u1", ""));
    run(w, 5000);
    assert_string_equal(told(w, "GPUConfigValid"), "True/ConfigValid/(defaults)");
    assert_string_equal(since(w, "GPUHealthy"), health_since);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(a_layout_waits_for_its_pod), T(a_node_goes_meanwhile), T(a_namesake_comes_meanwhile),
                                       T(all_end_meanwhile), T(conditions_tell_of_health), T(conditions_tell_of_the_config)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
