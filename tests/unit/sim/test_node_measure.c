/* What a simulated node's page says of containers, and how long its counters are kept, on a virtual clock */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "../folder.h"
#include "net/http_local.h"
#include "sim/node/node_object.h"
#include "sim/usage/node_measure.h"

#define MINUTE_MS (60 * 1000)

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client;
    struct kubelets *kubelets;
    struct usage_sim *usage;
    struct node_measure *measure;
    char dir[64];
    int sampled_n;
};

static void on_sampled(void *arg, const char *node, const struct sample *s)
{
    struct world *w = arg;
    assert_string_equal(node, "node-0");
    w->sampled_n++;
}

static void on_gone(void *arg, const char *node)
{
}

static void make_node(struct world *w)
{
    struct arena *a = arena_new();
    struct node_shape shape;
    struct node_kind kind;
    int32_t n;
    assert_int_equal(node_shape_parse("t4,gpus=2,name=node", &n, &shape, NULL), 0);
    node_kind_init(&kind, &shape);
    assert_int_equal(apiserver_create(w->server, a, node_object_make(a, &kind, 0, 0, loop_wall_ms(w->loop), false), NULL), 0);
    arena_free(a);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    char path[96];
    folder_make(w->dir, sizeof w->dir, "measure");
    (void)snprintf(path, sizeof path, "%s/usage.db", w->dir);
    w->loop = loop_new_virtual(1767225600000);
    assert_int_equal(apiserver_new(w->loop, &(struct apiserver_config){0}, &w->server, NULL), 0);
    make_node(w);
    w->client = kube_client_wrap(w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, NULL, 1));
    w->kubelets = kubelets_new(w->client, &(struct kubelets_config){.speed = 1});
    assert_int_equal(usage_sim_new(w->client, path, 1, &w->usage, NULL), 0);
    kubelets_on_pod(w->kubelets, usage_sim_pod, w->usage);
    w->measure = node_measure_new(w->loop, w->kubelets, w->usage);
    node_measure_listen(w->measure, &(struct node_measure_listener){on_sampled, on_gone, w});
    loop_run_for(w->loop, 3000, NULL);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    node_measure_free(w->measure);
    usage_sim_free(w->usage);
    kubelets_free(w->kubelets);
    kube_client_free(w->client);
    apiserver_free(w->server);
    loop_free(w->loop);
    folder_remove(w->dir);
    free(w);
    return 0;
}

/* Collections that the node's page counts, after one that is asked for now. */
static int ask(struct world *w)
{
    static const char name[] = "\ngpu_agent_collections_total ";
    int before_n = w->sampled_n, code = node_measure_now(w->measure, "node-0");
    for (int i = 0; i < 1000 && w->sampled_n == before_n; i++) {
        loop_run_for(w->loop, 10, NULL);
        code = code == -E_AGAIN ? node_measure_now(w->measure, "node-0") : code;
    }
    assert_int_equal(code, 0);
    assert_true(w->sampled_n > before_n);
    const char *at = strstr(node_measure_page(w->measure, "node-0", false).data, name);
    assert_non_null(at);
    return (int)strtol(at + strlen(name), NULL, 10);
}

static void test_counters_live_ten_minutes_after_the_last_question(void **state)
{
    struct world *w = *state;
    assert_int_equal(node_measure_now(w->measure, "nowhere"), -E_NOTFOUND);
    assert_int_equal(ask(w), 1);
    loop_run_for(w->loop, 9 * MINUTE_MS, NULL);
    int kept = ask(w);
    assert_in_range(kept, 30, 40); /* every 15 s, and those that were asked for */
    loop_run_for(w->loop, 9 * MINUTE_MS, NULL);
    assert_true(ask(w) > kept + 30);
    loop_run_for(w->loop, 11 * MINUTE_MS, NULL);
    int quiet_n = w->sampled_n;
    loop_run_for(w->loop, 60 * MINUTE_MS, NULL);
    assert_int_equal(w->sampled_n, quiet_n); /* nobody is measured for nobody */
    assert_int_equal(node_measure_page(w->measure, "node-0", false).n, 0);
    assert_int_equal(ask(w), 1);
}

/* Lines of the page that begin with `name` and have `label`. */
static int rows(const char *page, const char *name, const char *label)
{
    int n = 0;
    for (const char *line = page; *line;) {
        size_t line_n = strcspn(line, "\n");
        n += strncmp(line, name, strlen(name)) == 0 && memmem(line, line_n, label, strlen(label)) != NULL;
        line += line_n + (line[line_n] == '\n');
    }
    return n;
}

static void test_sidecars_are_containers_with_devices_of_their_own(void **state)
{
    static const char pod[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"default\"},\"spec\":{"
        "\"nodeName\":\"node-0\",\"initContainers\":["
        "{\"name\":\"i\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}},"
        "{\"name\":\"s\",\"image\":\"x\",\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}],"
        "\"containers\":[{\"name\":\"a\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]}}";
    struct world *w = *state;
    struct arena *a = arena_new();
    assert_int_equal(apiserver_create(w->server, a, json_parse(a, bytes_of(pod), NULL, NULL), NULL), 0);
    arena_free(a);
    loop_run_for(w->loop, MINUTE_MS, NULL);
    (void)ask(w);
    const char *page = node_measure_page(w->measure, "node-0", false).data;
    assert_int_equal(rows(page, "gpu_allocation_info{", "container=\"a\""), 1);
    assert_int_equal(rows(page, "gpu_allocation_info{", "container=\"s\""), 1);
    assert_int_equal(rows(page, "gpu_allocation_info{", "pod=\"p\""), 2);
    assert_int_equal(rows(page, "gpu_process_info{", "container=\"a\""), 1);
    assert_int_equal(rows(page, "gpu_process_info{", "container=\"s\""), 1);
}

static void create(struct world *w, const char *text)
{
    struct arena *a = arena_new();
    struct err e = {0};
    if (apiserver_create(w->server, a, json_parse(a, bytes_of(text), NULL, NULL), &e) < 0)
        fail_msg("%s: %s", text, e.text);
    arena_free(a);
}

static void label(struct world *w, const char *value)
{
    char patch[128];
    (void)snprintf(patch, sizeof patch, "{\"metadata\":{\"labels\":{\"nvidia.com/device-plugin.config\":\"%s\"}}}", value);
    kube_patch(w->client, KUBE_PATCH_MERGE, "/api/v1/nodes/node-0", bytes_of(patch), NULL, NULL);
    loop_run_for(w->loop, 3000, NULL);
}

/* Its collector is made when somebody asks, here after the change. */
static void test_a_pod_keeps_the_share_of_the_sharing_it_came_under(void **state)
{
    static const char sharing[] = "version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}\\n";
    struct world *w = *state;
    char four[128], ten[128], map[512];
    (void)snprintf(four, sizeof four, sharing, 4);
    (void)snprintf(ten, sizeof ten, sharing, 10);
    (void)snprintf(map, sizeof map,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"shares\",\"namespace\":\"gpu-operator\"},"
                   "\"data\":{\"four\":\"%s\",\"ten\":\"%s\"}}", four, ten);
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"gpu-operator\"}}");
    create(w, map);
    label(w, "four");
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"annotations\":{"
              "\"capstan.dev/run-seconds\":\"100000\"}},\"spec\":{\"nodeName\":\"node-0\",\"containers\":["
              "{\"name\":\"a\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]}}");
    loop_run_for(w->loop, MINUTE_MS, NULL);
    (void)ask(w);
    assert_int_equal(rows(node_measure_page(w->measure, "node-0", false).data, "gpu_allocation_share_ratio{", "} 0.25"), 1);
    loop_run_for(w->loop, 11 * MINUTE_MS, NULL);
    assert_int_equal(node_measure_page(w->measure, "node-0", false).n, 0); /* what was measured is forgotten */
    label(w, "ten");
    (void)ask(w);
    assert_int_equal(rows(node_measure_page(w->measure, "node-0", false).data, "gpu_allocation_share_ratio{", "} 0.25"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counters_live_ten_minutes_after_the_last_question, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sidecars_are_containers_with_devices_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_pod_keeps_the_share_of_the_sharing_it_came_under, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
