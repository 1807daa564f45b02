/* test_fake_kubelet.c - a device plugin of a few lines against the kubelet's sockets: registration, choice, Allocate, podresources, loss */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "../folder.h"
#include "agent/inventory/pod_resources.h"
#include "net/grpc/grpc.h"
#include "sim/kubelet/fake_kubelet.h"
#include "wire/protobuf.h"

static struct loop *loop;
static struct fake_kubelet *kubelet;
static char dir[64], pods_socket[96], plugin_socket[96];
static struct grpc_server *plugin;
static struct grpc_stream *watching;
static struct grpc_client *registrar;
static bool prefers, silent;
static uint32_t devices_n, unhealthy_n, allocations_n;
static int changes_n;

/* ---- the plugin: d0, d1, ...; it prefers the last ones; Allocate answers DEVICES=first id ---- */

static void list_text(struct buf *out)
{
    for (uint32_t i = 0; i < devices_n; i++) {
        size_t device = protobuf_begin(out, 1);
        char id[16];
        (void)snprintf(id, sizeof id, "d%u", i);
        protobuf_text(out, 1, id);
        protobuf_text(out, 2, i < unhealthy_n ? "Unhealthy" : "Healthy");
        protobuf_end(out, device);
    }
}

static void send_list(void)
{
    _cleanup_buf_ struct buf out = {0};
    list_text(&out);
    if (watching)
        grpc_stream_replace(watching, buf_view(&out));
}

static void on_options(void *ctx, struct grpc_stream *s, struct bytes request)
{
    _cleanup_buf_ struct buf out = {0};
    protobuf_bool(&out, 2, prefers);
    grpc_reply(s, buf_view(&out));
}

static void on_watch(void *ctx, struct grpc_stream *s, struct bytes request)
{
    watching = s;
    send_list();
}

static void on_watch_closed(void *ctx, struct grpc_stream *s)
{
    if (watching == s)
        watching = NULL;
}

static struct bytes first_message(struct bytes request)
{
    struct protobuf_reader r = protobuf_reader(request);
    struct protobuf_field f;
    return protobuf_next(&r, &f) > 0 ? f.bytes : (struct bytes){0};
}

static void on_prefer(void *ctx, struct grpc_stream *s, struct bytes request)
{
    _cleanup_buf_ struct buf out = {0};
    struct bytes ids[16];
    uint32_t n = 0;
    uint64_t size = 0;
    struct protobuf_reader r = protobuf_reader(first_message(request));
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) {
        if (f.number == 1)
            ids[n++] = f.bytes;
        else if (f.number == 3)
            size = f.value;
    }
    size_t answer = protobuf_begin(&out, 1);
    for (uint64_t i = 0; i < size; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%.*s", (int)ids[n - 1 - i].n, ids[n - 1 - i].data);
        protobuf_text_always(&out, 1, id);
    }
    protobuf_end(&out, answer);
    grpc_reply(s, buf_view(&out));
}

static void on_allocate(void *ctx, struct grpc_stream *s, struct bytes request)
{
    _cleanup_buf_ struct buf out = {0};
    struct bytes id = first_message(first_message(request));
    char text[16];
    allocations_n++;
    if (silent)
        return; /* the call is closed with the server */
    if (id.n == 2 && id.data[1] == '9') {
        grpc_fail(s, GRPC_UNKNOWN, "not this one");
        return;
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)id.n, id.data);
    size_t answer = protobuf_begin(&out, 1);
    protobuf_map_text(&out, 1, "DEVICES", text);
    protobuf_end(&out, answer);
    grpc_reply(s, buf_view(&out));
}

static void on_allocate_closed(void *ctx, struct grpc_stream *s)
{
}

static const struct grpc_handler handlers[] = {{"/v1beta1.DevicePlugin/GetDevicePluginOptions", on_options, NULL},
                                               {"/v1beta1.DevicePlugin/ListAndWatch", on_watch, on_watch_closed},
                                               {"/v1beta1.DevicePlugin/GetPreferredAllocation", on_prefer, NULL},
                                               {"/v1beta1.DevicePlugin/Allocate", on_allocate, on_allocate_closed}};

static void on_registered(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    *(int *)arg = (int)status;
}

static int register_as(const char *version, const char *endpoint, const char *resource)
{
    _cleanup_buf_ struct buf request = {0};
    int status = -1;
    protobuf_text(&request, 1, version);
    protobuf_text(&request, 2, endpoint);
    protobuf_text(&request, 3, resource);
    grpc_call(registrar, "/v1beta1.Registration/Register", buf_view(&request), 5000, on_registered, &status);
    for (int i = 0; i < 100 && status < 0; i++)
        loop_run_for(loop, 10, NULL);
    loop_run_for(loop, 30, NULL); /* the list */
    return status;
}

static void plugin_start(void)
{
    assert_int_equal(grpc_server_new(loop, plugin_socket, handlers, 4, NULL, &plugin, NULL), 0);
}

static void plugin_stop(void)
{
    grpc_server_free(plugin);
    plugin = NULL;
    loop_run_for(loop, 30, NULL);
}

static void on_changed(void *arg)
{
    changes_n++;
}

static int setup(void **state)
{
    loop = loop_new();
    folder_make(dir, sizeof dir, "kubelet");
    (void)snprintf(pods_socket, sizeof pods_socket, "%s/pods.sock", dir);
    (void)snprintf(plugin_socket, sizeof plugin_socket, "%s/plugin.sock", dir);
    char kubelet_socket[96];
    (void)snprintf(kubelet_socket, sizeof kubelet_socket, "%s/kubelet.sock", dir);
    assert_int_equal(
        fake_kubelet_new(loop, &(struct fake_kubelet_config){dir, pods_socket, on_changed, NULL}, &kubelet, NULL), 0);
    registrar = grpc_client_new(loop, kubelet_socket);
    prefers = true;
    silent = false;
    devices_n = 4;
    unhealthy_n = allocations_n = 0;
    plugin_start();
    return 0;
}

static int teardown(void **state)
{
    grpc_client_free(registrar);
    grpc_server_free(plugin);
    fake_kubelet_free(kubelet);
    loop_free(loop);
    (void)unlink(pods_socket); /* gone already */
    return rmdir(dir);         /* nothing is left behind */
}

/* ---- pods ---- */

struct outcome {
    int code;
    char text[200];
};

static void on_admitted(void *arg, const char *uid, int code, const char *text)
{
    struct outcome *o = arg;
    o->code = code;
    (void)snprintf(o->text, sizeof o->text, "%s", text);
}

static struct pod_devices *wants(uint32_t n, uint32_t init_n)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *text =
        arena_printf(a,
                     "{\"spec\":{\"initContainers\":[{\"name\":\"i\",\"resources\":{\"limits\":{\"x.y/z\":%u}}}],"
                     "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"x.y/z\":%u,\"a.b/c\":1}}}]}}",
                     init_n, n);
    return pod_devices_read(json_parse(a, bytes_of(text), NULL, NULL));
}

static struct outcome admit(const char *name, struct pod_devices *p)
{
    struct outcome o = {.code = 1};
    fake_kubelet_admit(kubelet, &(struct fake_kubelet_pod){"ns", name, name}, p, on_admitted, &o);
    for (int i = 0; i < 100 && o.code > 0; i++)
        loop_run_for(loop, 10, NULL);
    return o;
}

static struct fake_kubelet_amount amount(void)
{
    static struct fake_kubelet_amount none;
    _cleanup_arena_ struct arena *a = arena_new();
    struct fake_kubelet_amount *list;
    uint32_t n = fake_kubelet_amounts(kubelet, a, &list);
    struct fake_kubelet_amount one = n ? list[0] : none;
    one.resource = n ? "one" : NULL;
    return one;
}

static void plugins_register_and_are_counted(void **state)
{
    assert_int_equal(amount().capacity, 0);
    assert_int_equal(register_as("v1beta1", "plugin.sock", "x.y/z"), GRPC_OK);
    assert_int_equal(amount().capacity, 4);
    assert_int_equal(amount().allocatable, 4);
    unhealthy_n = 1;
    send_list();
    loop_run_for(loop, 50, NULL);
    assert_int_equal(amount().capacity, 4);
    assert_int_equal(amount().allocatable, 3);
    assert_false(fake_kubelet_healthy(kubelet, "x.y/z", "d0"));
    assert_true(fake_kubelet_healthy(kubelet, "x.y/z", "d1"));
    devices_n = 2; /* lists replace */
    send_list();
    loop_run_for(loop, 50, NULL);
    assert_int_equal(amount().capacity, 2);
}

/* 768 shares of each of 8 GPUs, as time-slicing allows. */
static void every_device_of_a_long_list_counts(void **state)
{
    prefers = false;
    devices_n = 6144;
    assert_int_equal(register_as("v1beta1", "plugin.sock", "x.y/z"), GRPC_OK);
    for (int i = 0; i < 1000 && amount().capacity < devices_n; i++)
        loop_run_for(loop, 10, NULL);
    assert_int_equal(amount().capacity, devices_n);
    assert_true(fake_kubelet_healthy(kubelet, "x.y/z", "d6143"));
}

static void wrong_registrations_are_refused(void **state)
{
    assert_int_equal(register_as("v1alpha1", "plugin.sock", "x.y/z"), GRPC_UNKNOWN);
    assert_int_equal(register_as("v1beta1", "plugin.sock", "gpu"), GRPC_UNKNOWN);
    assert_int_equal(register_as("v1beta1", "plugin.sock", "kubernetes.io/gpu"), GRPC_UNKNOWN);
    assert_int_equal(register_as("v1beta1", "../plugin.sock", "x.y/z"), GRPC_UNKNOWN);
    assert_int_equal(register_as("v1beta1", "", "x.y/z"), GRPC_UNKNOWN);
    assert_int_equal(register_as("v1beta1", "nobody.sock", "x.y/z"), GRPC_UNKNOWN); /* nobody answers there */
    assert_int_equal(amount().capacity, 0);
}

static void preferred_devices_are_given(void **state)
{
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(2, 0), *q = wants(1, 0);
    assert_int_equal(admit("p", p).code, 0);
    assert_string_equal(p->wants[0].slots[0], "d3");
    assert_string_equal(p->wants[0].slots[1], "d2");
    assert_null(p->wants[1].slots); /* no plugin has a.b/c: not the kubelet's matter */
    assert_int_equal(admit("q", q).code, 0);
    assert_string_equal(q->wants[0].slots[0], "d1");
    _cleanup_buf_ struct buf answers = {0};
    fake_kubelet_answers(kubelet, "p", "c", &answers);
    assert_string_equal(answers.data, "env DEVICES=d3\n");
    struct pod_devices *r = wants(2, 0);
    struct outcome o = admit("r", r);
    assert_int_equal(o.code, -E_DENIED);
    assert_string_equal(o.text, "requested number of devices unavailable for x.y/z. Requested: 2, Available: 1");
    fake_kubelet_remove(kubelet, "p");
    pod_devices_free(r);
    r = wants(3, 0);
    assert_int_equal(admit("r", r).code, 0);
    pod_devices_free(p);
    pod_devices_free(q);
    pod_devices_free(r);
}

static void without_preference_the_first_free_ones(void **state)
{
    prefers = false;
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(2, 1);
    assert_int_equal(admit("p", p).code, 0);
    assert_string_equal(p->wants[0].slots[0], "d0");
    assert_string_equal(p->wants[1].slots[0], "d0"); /* the init container's is taken over */
    assert_string_equal(p->wants[1].slots[1], "d1");
    pod_devices_free(p);
}

static void on_pods(void *arg, int code, const struct slot_owner *owners, uint32_t n, const struct err *e)
{
    struct buf *out = arg;
    buf_printf(out, "%d:", code);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, " %s/%s/%s %s=%s", owners[i].ns, owners[i].pod, owners[i].container, owners[i].resource,
                   owners[i].slot);
}

/* "code: ns/pod/container resource=slot ...", by slot */
static const char *told(struct buf *out)
{
    struct pod_resources *resources = pod_resources_new(loop, pods_socket);
    pod_resources_list(resources, on_pods, out);
    for (int i = 0; i < 1000 && !out->n; i++)
        loop_run_for(loop, 10, NULL);
    pod_resources_free(resources);
    return out->n ? out->data : "";
}

static void podresources_tell_who_has_what(void **state)
{
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(1, 0);
    assert_int_equal(admit("p", p).code, 0);
    _cleanup_buf_ struct buf out = {0};
    assert_string_equal(told(&out), "0: ns/p/c x.y/z=d3");
    pod_devices_free(p);
}

static void what_init_containers_leave_goes_to_one_container(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = pod_devices_read(json_parse(
        a,
        bytes_of("{\"spec\":{\"initContainers\":["
                 "{\"name\":\"s\",\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"x.y/z\":1}}},"
                 "{\"name\":\"i\",\"resources\":{\"limits\":{\"x.y/z\":1}}}],\"containers\":["
                 "{\"name\":\"a\",\"resources\":{\"limits\":{\"x.y/z\":1}}},"
                 "{\"name\":\"b\",\"resources\":{\"limits\":{\"x.y/z\":2}}}]}}"),
        NULL, NULL));
    assert_int_equal(admit("p", p).code, 0);
    assert_string_equal(p->wants[0].slots[0], "d3"); /* the sidecar's own */
    assert_string_equal(p->wants[1].slots[0], "d2");
    assert_string_equal(p->wants[2].slots[0], "d2"); /* taken over, */
    assert_string_equal(p->wants[3].slots[0], "d1"); /* and gone for the next */
    assert_string_equal(p->wants[3].slots[1], "d0");
    assert_string_equal(told(&out), "0: ns/p/b x.y/z=d0 ns/p/b x.y/z=d1 ns/p/a x.y/z=d2 ns/p/s x.y/z=d3");
    pod_devices_free(p);
}

static void a_refusal_says_what_is_missing_beside_what_was_left(void **state)
{
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(6, 2);
    assert_string_equal(admit("p", p).text,
                        "requested number of devices unavailable for x.y/z. Requested: 4, Available: 2");
    pod_devices_free(p);
}

static void a_lost_plugin_makes_devices_unhealthy(void **state)
{
    register_as("v1beta1", "plugin.sock", "x.y/z");
    int before = changes_n;
    plugin_stop();
    assert_true(changes_n > before);
    assert_int_equal(amount().capacity, 4);
    assert_int_equal(amount().allocatable, 0);
    struct pod_devices *p = wants(1, 0);
    struct outcome o = admit("p", p);
    assert_int_equal(o.code, -E_DENIED);
    assert_non_null(strstr(o.text, "no healthy devices present"));
    pod_devices_free(p);
    plugin_start();
    assert_int_equal(register_as("v1beta1", "plugin.sock", "x.y/z"), GRPC_OK);
    assert_int_equal(amount().allocatable, 4);
}

static void refusals_of_the_plugin_reach_the_pod(void **state)
{
    devices_n = 10;
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(1, 0);
    struct outcome o = admit("p", p);
    assert_int_equal(o.code, -E_DENIED);
    assert_non_null(strstr(o.text, "not this one"));
    assert_null(p->wants[0].slots);
    pod_devices_free(p);
}

static void a_plugin_that_restarts_in_allocate_is_asked_again(void **state)
{
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(1, 0), *q = wants(1, 0);
    struct outcome o = {.code = 1}, later = {.code = 1};
    silent = true;
    fake_kubelet_admit(kubelet, &(struct fake_kubelet_pod){"ns", "p", "p"}, p, on_admitted, &o);
    fake_kubelet_admit(kubelet, &(struct fake_kubelet_pod){"ns", "q", "q"}, q, on_admitted, &later);
    for (int i = 0; i < 100 && !allocations_n; i++)
        loop_run_for(loop, 10, NULL);
    silent = false;
    register_as("v1beta1", "plugin.sock", "x.y/z"); /* the old endpoint's calls are lost */
    for (int i = 0; i < 100 && later.code > 0; i++)
        loop_run_for(loop, 10, NULL);
    assert_int_equal(o.code, 0);
    assert_int_equal(later.code, 0);
    assert_string_not_equal(p->wants[0].slots[0], q->wants[0].slots[0]);
    fake_kubelet_remove(kubelet, "p");
    pod_devices_free(p);
    pod_devices_free(q);
}

static void a_pod_that_goes_while_it_is_admitted_keeps_nothing(void **state)
{
    register_as("v1beta1", "plugin.sock", "x.y/z");
    struct pod_devices *p = wants(4, 0), *q = wants(4, 0);
    struct outcome o = {.code = 1};
    silent = true;
    fake_kubelet_admit(kubelet, &(struct fake_kubelet_pod){"ns", "p", "p"}, p, on_admitted, &o);
    for (int i = 0; i < 100 && !allocations_n; i++)
        loop_run_for(loop, 10, NULL);
    fake_kubelet_remove(kubelet, "p");
    pod_devices_free(p);
    silent = false;
    register_as("v1beta1", "plugin.sock", "x.y/z");
    assert_int_equal(admit("q", q).code, 0);
    assert_int_equal(o.code, 1); /* nobody is told */
    pod_devices_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plugins_register_and_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(every_device_of_a_long_list_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_registrations_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(preferred_devices_are_given, setup, teardown),
        cmocka_unit_test_setup_teardown(without_preference_the_first_free_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(podresources_tell_who_has_what, setup, teardown),
        cmocka_unit_test_setup_teardown(what_init_containers_leave_goes_to_one_container, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_says_what_is_missing_beside_what_was_left, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_plugin_makes_devices_unhealthy, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals_of_the_plugin_reach_the_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plugin_that_restarts_in_allocate_is_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_goes_while_it_is_admitted_keeps_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
