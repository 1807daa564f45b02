/* Processes and their pods: made-up /proc trees with hostile contents, the kubelet's log files, the API watch, real processes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../folder.h"
#include "apiserver/apiserver.h"
#include "exporter/collect/pods.h"
#include "net/http_local.h"

#define CID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CID2 "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "aaaaaaaa-1111-2222-3333-bbbbbbbbbbbb"
#define UID2 "cccccccc-1111-2222-3333-dddddddddddd"

struct world {
    char root[200];
    struct loop *loop;
    struct pods *pods;
    struct arena *a;
};

static void make_folder(const struct world *w, const char *path)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s", w->root);
    size_t n = strlen(text);
    for (const char *at = path; *at;) {
        size_t part = strcspn(at + 1, "/") + 1;
        memcpy(text + n, at, part);
        n += part;
        text[n] = '\0';
        (void)mkdir(text, 0700); /* may be there */
        at += part;
    }
}

static void write_bytes(const struct world *w, const char *path, const void *data, size_t n)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s%s", w->root, path);
    FILE *f = fopen(text, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const struct world *w, const char *path, const char *data)
{
    write_bytes(w, path, data, strlen(data));
}

static void process_put(const struct world *w, uint32_t pid, unsigned long long ticks, const char *comm,
                        const char *cgroup)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%u", pid);
    make_folder(w, path);
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    (void)snprintf(text, sizeof text, "%u (%s) S 1 1 1 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 1 0 %llu 1 1\n", pid, comm,
                   ticks);
    write_text(w, path, text);
    (void)snprintf(path, sizeof path, "/proc/%u/cgroup", pid);
    (void)snprintf(text, sizeof text, "0::%s\n", cgroup);
    write_text(w, path, text);
}

static void remove_tree(const char *root, const char *path)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s%s", root, path);
    folder_remove(text);
}

static void world_init(struct world *w, const struct pods_config *c)
{
    memset(w, 0, sizeof *w);
    folder_make(w->root, sizeof w->root, "pods");
    make_folder(w, "/proc");
    make_folder(w, "/var/log/containers");
    make_folder(w, "/var/log/pods");
    write_text(w, "/proc/stat", "cpu  1 2 3\nintr 12\nctxt 1\nbtime 1700000000\nprocesses 5\n");
    w->loop = loop_new_virtual(1767225600000);
    w->a = arena_new();
    struct pods_config config = c ? *c : (struct pods_config){0};
    config.root = w->root;
    w->pods = pods_new(w->loop, &config);
    pods_begin(w->pods);
}

static void world_free(struct world *w)
{
    pods_free(w->pods);
    loop_free(w->loop);
    arena_free(w->a);
    remove_tree(w->root, "");
}

static bool is_there(struct world *w, uint32_t pid)
{
    struct pod_process seen;
    return pods_process(w->pods, w->a, pid, &seen);
}

static struct pod_process look(struct world *w, uint32_t pid)
{
    struct pod_process seen;
    assert_true(pods_process(w->pods, w->a, pid, &seen));
    return seen;
}

static void test_a_process_in_a_pod(void **state)
{
    struct world w;
    world_init(&w, NULL);
    write_text(&w, "/var/log/containers/train-0_ml_worker-" CID ".log", "");
    process_put(
        &w, 42, 123456, "python3",
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaaaaaaaa_1111_2222_3333_bbbbbbbbbbbb.slice/"
        "cri-containerd-" CID ".scope");
    pods_begin(w.pods);
    struct pod_process s = look(&w, 42);
    assert_string_equal(s.command, "python3");
    assert_true(s.start_s > 1700001234.55 && s.start_s < 1700001234.57);
    assert_string_equal(s.names.ns, "ml");
    assert_string_equal(s.names.pod, "train-0");
    assert_string_equal(s.names.container, "worker");
    assert_string_equal(s.names.uid, UID);
    assert_false(pods_pid_namespace_mismatch(w.pods));
    world_free(&w);
}

/* Unknown at first; the log directory tells later, and is asked again only then. */
static void test_names_come_later(void **state)
{
    struct world w;
    world_init(&w, NULL);
    process_put(&w, 42, 1, "a", "/kubepods/besteffort/pod" UID "/" CID);
    struct pod_process s = look(&w, 42);
    assert_string_equal(s.names.ns, "");
    assert_string_equal(s.names.uid, UID);
    make_folder(&w, "/var/log/pods/ml_one_" UID "/main");
    pods_begin(w.pods);
    s = look(&w, 42);
    assert_string_equal(s.names.pod, "one");
    assert_string_equal(s.names.container, "main"); /* the only one */
    process_put(&w, 43, 1, "b", "/kubepods/besteffort/pod" UID2 "/" CID2);
    make_folder(&w, "/var/log/pods/ml_two_" UID2 "/main");
    make_folder(&w, "/var/log/pods/ml_two_" UID2 "/side");
    pods_begin(w.pods);
    s = look(&w, 43);
    assert_string_equal(s.names.pod, "two");
    assert_string_equal(s.names.container, "");
    remove_tree(w.root, "/var/log/pods/ml_one_" UID);
    pods_begin(w.pods);
    assert_string_equal(look(&w, 42).names.pod, "one"); /* its pod is gone, it is still that pod's */
    struct pod_names names;
    const struct prometheus_label *labels;
    uint32_t labels_n;
    assert_true(pods_pod(w.pods, w.a, "ml", "two", &names, &labels, &labels_n));
    assert_string_equal(names.uid, UID2);
    assert_int_equal(labels_n, 0);
    assert_false(pods_pod(w.pods, w.a, "ml", "three", &names, &labels, &labels_n));
    assert_string_equal(names.uid, "");
    world_free(&w);
}

static void test_a_pid_is_used_again(void **state)
{
    struct world w;
    world_init(&w, NULL);
    write_text(&w, "/var/log/containers/one_ml_c-" CID ".log", "");
    write_text(&w, "/var/log/containers/two_ml_c-" CID2 ".log", "");
    pods_begin(w.pods);
    process_put(&w, 7, 100, "first", "/kubepods/pod" UID "/" CID);
    assert_string_equal(look(&w, 7).names.pod, "one");
    process_put(&w, 7, 200, "second", "/kubepods/pod" UID2 "/" CID2);
    struct pod_process s = look(&w, 7);
    assert_string_equal(s.command, "second");
    assert_string_equal(s.names.pod, "two");
    assert_true(s.start_s > 1700000001.9);
    usleep(150000); /* the files are not new any more */
    assert_string_equal(look(&w, 7).command, "second");
    assert_string_equal(look(&w, 7).command, "second");
    process_put(&w, 7, 300, "third_", "/kubepods/pod" UID "/" CID); /* as long as before */
    s = look(&w, 7);
    assert_string_equal(s.command, "third_");
    assert_string_equal(s.names.pod, "one");
    remove_tree(w.root, "/proc/7");
    assert_false(is_there(&w, 7));
    world_free(&w);
}

/* The agent may start before the node knows the time: the time of boot is another then, the process is the same. */
static void test_a_clock_that_is_set(void **state)
{
    struct world w;
    world_init(&w, NULL);
    process_put(&w, 7, 4200, "a", "/");
    struct pod_process before = look(&w, 7);
    write_text(&w, "/proc/stat", "cpu  1 2 3\nbtime 1700003600\nprocesses 5\n");
    pods_clock_set(w.pods);
    struct pod_process after = look(&w, 7);
    assert_true(after.start_s - before.start_s > 3599.99 && after.start_s - before.start_s < 3600.01);
    assert_int_equal(before.start_ticks, 4200);
    assert_int_equal(after.start_ticks, 4200);
    world_free(&w);
}

static void test_hostile_names(void **state)
{
    struct world w;
    world_init(&w, NULL);
    process_put(&w, 1, 5, "a) R 9 9 9 (", "/");
    struct pod_process s = look(&w, 1);
    assert_string_equal(s.command, "a) R 9 9 9 (");
    assert_true(s.start_s > 1700000000 && s.start_s < 1700000001);
    process_put(&w, 2, 5, "a\"b\\nc\\\\\xff\xfe\x01z", "/"); /* as the kernel escapes it */
    s = look(&w, 2);
    assert_non_null(strstr(s.command, "c\\"));
    assert_null(strchr(s.command, '\n'));
    assert_null(strchr(s.command, '\x01'));
    assert_non_null(strstr(s.command, "\xef\xbf\xbd"));
    char four_kib[4097];
    memset(four_kib, 'n', 4096);
    four_kib[4096] = '\0';
    process_put(&w, 3, 5, "x", "/");
    write_text(&w, "/proc/3/stat", four_kib);
    assert_false(is_there(&w, 3));
    four_kib[200] = '\0';
    process_put(&w, 3, 5, four_kib, "/");
    assert_in_range(strlen(look(&w, 3).command), 1, PODS_COMMAND_BYTES);
    process_put(&w, 4, 5, "a-long-name-012", "/");
    write_bytes(&w, "/proc/4/cmdline", "/opt/bin/a-long-name-0123456\0--flag", 36);
    assert_string_equal(look(&w, 4).command, "a-long-name-0123456");
    process_put(&w, 5, 5, "x", "/");
    write_text(&w, "/proc/5/stat", "garbage");
    assert_false(is_there(&w, 5));
    make_folder(&w, "/proc/6");
    assert_false(is_there(&w, 6)); /* died between two readings */
    world_free(&w);
}

static void test_hostile_logs(void **state)
{
    struct world w;
    world_init(&w, NULL);
    static const char *const files[] = {"nonsense",        "a_b_c.log", "_ml_c-" CID ".log", "a_b_c_d-" CID ".log",
                                        "a_b-" CID ".log", ".log",      "a_b_c-.log"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, "/var/log/containers/%s", files[i]);
        write_text(&w, path, "");
        (void)snprintf(path, sizeof path, "/var/log/pods/%s", files[i]);
        write_text(&w, path, "");
    }
    process_put(&w, 42, 1, "a", "/kubepods/besteffort/pod" UID "/" CID);
    pods_begin(w.pods);
    assert_string_equal(look(&w, 42).names.pod, "");
    world_free(&w);
}

static void test_another_pid_namespace(void **state)
{
    struct world w;
    world_init(&w, NULL);
    assert_false(pods_pid_namespace_mismatch(w.pods));
    assert_false(is_there(&w, 1000));
    assert_false(pods_pid_namespace_mismatch(w.pods)); /* one that has just died is no sign */
    pods_begin(w.pods);
    assert_false(is_there(&w, 1000));
    assert_true(pods_pid_namespace_mismatch(w.pods)); /* twice is */
    pods_begin(w.pods);
    for (uint32_t i = 0; i < 3; i++)
        assert_false(is_there(&w, 2000 + i));
    assert_true(pods_pid_namespace_mismatch(w.pods));
    process_put(&w, 9, 1, "a", "/");
    assert_true(is_there(&w, 9));
    assert_false(pods_pid_namespace_mismatch(w.pods));
    world_free(&w);
}

static void create(struct apiserver *server, struct arena *a, const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(server, a, object, &e) < 0)
        fail_msg("%s", e.text);
}

static void test_the_watch(void **state)
{
    struct err e = {0};
    struct apiserver *server;
    struct arena *a = arena_new();
    struct loop *l = loop_new_virtual(1767225600000);
    assert_int_equal(apiserver_new(l, &(struct apiserver_config){0}, &server, &e), 0);
    struct kube_client *client = kube_client_wrap(l, http_local_client_new(l, apiserver_handle, server, NULL, 1));
    create(server, a,
           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"one\",\"namespace\":\"default\","
           "\"labels\":{\"team\":\"vision\","
           "\"app.kubernetes.io/name\":\"x\",\"app_kubernetes_io_name\":\"y\",\"secret\":\"no\",\"kueue.x-k8s.io/"
           "queue-name\":\"users\"}},"
           "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    create(
        server, a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"two\",\"namespace\":\"default\","
        "\"annotations\":"
        "{\"scheduling.volcano.sh/"
        "queue-name\":\"batch\"}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    create(server, a,
           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"elsewhere\",\"namespace\":\"default\"},"
           "\"spec\":{\"nodeName\":\"n2\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    struct pods_config c = {.root = "/nonexistent", .client = client, .node_name = "n1", .label_allow = "^(team|app)"};
    struct pods *p = pods_new(l, &c);
    assert_int_equal(loop_run_for(l, 2000, &e), 0);
    struct pod_names names;
    const struct prometheus_label *labels;
    uint32_t n;
    assert_true(pods_pod(p, a, "default", "one", &names, &labels, &n));
    assert_int_equal(strlen(names.uid), 36);
    assert_string_equal(names.queue, "users");
    assert_int_equal(n, 2); /* two labels become one name: the first stays */
    assert_string_equal(labels[0].name, "app_kubernetes_io_name");
    assert_string_equal(labels[0].value, "x");
    assert_string_equal(labels[1].value, "vision");
    assert_true(pods_pod(p, a, "default", "two", &names, &labels, &n));
    assert_string_equal(names.queue, "batch");
    assert_false(pods_pod(p, a, "default", "elsewhere", &names, &labels, &n));
    pods_free(p);
    c.label_allow = "([";
    p = pods_new(l, &c);
    assert_int_equal(loop_run_for(l, 2000, &e), 0);
    assert_true(pods_pod(p, a, "default", "one", &names, &labels, &n));
    assert_int_equal(n, 0);
    pods_free(p);
    kube_client_free(client);
    apiserver_free(server);
    loop_free(l);
    arena_free(a);
}

static bool simulated(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                      struct pod_names *ret_names)
{
    *ret_command = "sim";
    *ret_start_s = 12;
    *ret_names = (struct pod_names){.ns = "ml", .pod = "p"};
    return pid == 1;
}

static void test_simulated(void **state)
{
    struct world w;
    struct pods_config c = {.process_of = simulated};
    world_init(&w, &c);
    struct pod_process s = look(&w, 1);
    assert_string_equal(s.names.pod, "p");
    assert_string_equal(s.names.uid, "");
    assert_false(is_there(&w, 2));
    world_free(&w);
}

/* A real one: its start time is right, and it costs little once it is known. */
static void test_real_processes(void **state)
{
    struct loop *l = loop_new_virtual(1767225600000);
    struct arena *a = arena_new();
    struct pods_config c = {0};
    struct pods *p = pods_new(l, &c);
    pid_t pids[50];
    for (int i = 0; i < 50; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            (void)prctl(PR_SET_NAME, "gpu \"train\"");
            for (;;)
                pause();
        }
    }
    struct pod_process seen;
    usleep(50000);
    pods_begin(p);
    assert_true(pods_process(p, a, (uint32_t)pids[0], &seen));
    assert_string_equal(seen.command, "gpu \"train\"");
    assert_true(seen.start_s > (double)time(NULL) - 5 && seen.start_s < (double)time(NULL) + 5);
    clock_t cold = clock();
    for (int i = 0; i < 50; i++)
        assert_true(pods_process(p, a, (uint32_t)pids[i], &seen));
    cold = clock() - cold;
    clock_t warm = clock();
    for (int k = 0; k < 20; k++)
        for (int i = 0; i < 50; i++)
            assert_true(pods_process(p, a, (uint32_t)pids[i], &seen));
    warm = clock() - warm;
    print_message("# a process: %.1f us at first, %.1f us when known\n", (double)cold / 50 * 1e6 / CLOCKS_PER_SEC,
                  (double)warm / 1000 * 1e6 / CLOCKS_PER_SEC);
    for (int i = 0; i < 50; i++) {
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    assert_false(pods_process(p, a, (uint32_t)pids[0], &seen));
    for (int i = 0; i < 4; i++)
        pods_begin(p);
    pods_free(p);
    arena_free(a);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_in_a_pod),
        cmocka_unit_test(test_names_come_later),
        cmocka_unit_test(test_a_pid_is_used_again),
        cmocka_unit_test(test_a_clock_that_is_set),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_hostile_logs),
        cmocka_unit_test(test_another_pid_namespace),
        cmocka_unit_test(test_the_watch),
        cmocka_unit_test(test_simulated),
        cmocka_unit_test(test_real_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
