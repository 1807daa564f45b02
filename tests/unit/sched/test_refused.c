/* What the API server refuses once is told, counted and done once: the scheduler at a door that says no. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "kube/object.h"
#include "net/http_local.h"
#include "sched/sched.h"

#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"
#define PODS "/api/v1/namespaces/n/pods"

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *user, *client; /* client: the scheduler's */
    struct scheduler *scheduler;
    struct http_faults faults;
    struct arena *a;
    const char *refused_path, *refused_part; /* requests to that path whose body has that part ... */
    int refused_status, refused_n;           /* ... are answered so, so often */
    int deletes_n, lists_n; /* lists: of budgets */
};
static struct world w;

static void door(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    (void)ctx;
    bool part = !w.refused_part || (r->body.n && memmem(r->body.data, r->body.n, w.refused_part, strlen(w.refused_part)));
    w.lists_n += strcmp(r->path, "/apis/policy/v1/poddisruptionbudgets") == 0 && !http_query(r, "watch");
    w.deletes_n += strcmp(r->method, "DELETE") == 0;
    if (w.refused_n && strcmp(r->path, w.refused_path) == 0 && part) {
        w.refused_n--;
        http_reply_text(x, w.refused_status, "application/json",
                        arena_printf(w.a, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":%d}",
                                     w.refused_status));
        return;
    }
    apiserver_handle(w.server, x);
}

static void refuse(const char *path, const char *part, int status, int n)
{
    w.refused_path = path;
    w.refused_part = part;
    w.refused_status = status;
    w.refused_n = n;
}

static void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w.server, w.a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void run(int64_t ms)
{
    assert_int_equal(loop_run_for(w.loop, ms, NULL), 0);
}

static void scheduler_start(void)
{
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true, .sweep_always = true});
    run(3000);
}

static int setup(void **state)
{
    (void)state;
    struct err e = {0};
    log_set_level(LOG_ERROR);
    w = (struct world){.loop = loop_new_virtual(1767225600000), .a = arena_new()};
    if (apiserver_new(w.loop, &(struct apiserver_config){0}, &w.server, &e) < 0)
        return -1;
#define AMOUNTS "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"4\"}"
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n0\"},\"status\":{\"allocatable\":" AMOUNTS ",\"capacity\":" AMOUNTS
           ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    w.user = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, NULL, 1));
    w.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, door, NULL, &w.faults, 2));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scheduler_free(w.scheduler);
    kube_client_free(w.user);
    kube_client_free(w.client);
    apiserver_free(w.server);
    loop_free(w.loop);
    arena_free(w.a);
    return 0;
}

static void on_got(void *arg, const struct kube_answer *answer)
{
    *(const struct json **)arg = json_parse(w.a, answer->code == 0 ? answer->body : BYTES("{}"), NULL, NULL);
}

static const struct json *get(const char *path)
{
    const struct json *object = NULL;
    kube_get(w.user, path, on_got, &object);
    for (int i = 0; i < 100 && !object; i++)
        run(1);
    return object;
}

/* Of that reason, with their repeats. */
static int64_t events(const char *reason)
{
    int64_t n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        if (strcmp(json_get_text(event, "reason", ""), reason) == 0)
            n += json_get_int64(event, "count", 1);
    return n;
}

/* What the scheduler's page has of a series, which is named up to its first label. */
static const char *page_line(const char *series)
{
    struct buf page;
    buf_init(&page);
    scheduler_page(w.scheduler, false, &page);
    const char *text = arena_text_n(w.a, page.data, page.n), *at = strstr(text, arena_printf(w.a, "\n%s{", series));
    buf_free(&page);
    return at ? arena_text_n(w.a, at + 1, strcspn(at + 1, "\n")) : "";
}

static void counted(const char *series, int64_t n)
{
    const char *line = page_line(series), *value = strrchr(line, ' ');
    if (!value || atoll(value + 1) != n)
        fail_msg("%s: \"%s\" instead of %lld", series, line, (long long)n);
}

/* ---- admissions ---- */

static void queue(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"nvidia.com/gpu\","
           "\"nominalQuota\":\"4\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
}

static void workload(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                        "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                        "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}}]}}",
                        name));
}

/* Its quota was reserved by somebody else; what is left is that it is admitted. */
static void an_admission_that_was_refused_is_counted_when_it_is_written(void **state)
{
    (void)state;
    queue();
    workload("a");
    kube_patch(w.user, KUBE_PATCH_MERGE, WORKLOADS "/a/status",
               BYTES("{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":1,\"flavors\":{"
                     "\"nvidia.com/gpu\":\"f\"},\"resourceUsage\":{\"nvidia.com/gpu\":\"2\"}}]},\"conditions\":[{\"type\":\"QuotaReserved\","
                     "\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"by hand\",\"lastTransitionTime\":"
                     "\"2026-01-01T00:00:00Z\"}]}}"),
               NULL, NULL);
    run(1000);
    refuse(WORKLOADS "/a/status", "\"Admitted\"", 409, 3);
    scheduler_start();
    run(5000);
    assert_int_equal(w.refused_n, 0);
    assert_true(object_condition_true(get(WORKLOADS "/a"), "Admitted"));
    assert_int_equal(events("Admitted"), 1);
    counted("kueue_admitted_workloads_total", 1);
}

/* ---- what may not be read ---- */

/* A ClusterRole of an older version does not name them. */
static void a_scheduler_that_may_not_read_budgets_works_without(void **state)
{
    (void)state;
    refuse("/apis/policy/v1/poddisruptionbudgets", NULL, 403, 1000);
    scheduler_start();
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{\"containers\":[{\"name\":\"c\","
           "\"image\":\"i\"}]}}");
    run(3000);
    assert_in_range(1000 - w.refused_n, 1, 2); /* it is not asked for all the time */
    assert_string_equal(json_text(json_path(get(PODS "/p"), "spec", "nodeName", NULL), ""), "n0");
    refuse("", NULL, 0, 0);
    w.lists_n = 0;
    run(60000);
    assert_int_equal(w.lists_n, 1); /* somebody has mended the role */
}

/* ---- pods that leave ---- */

static void pod(const char *name, const char *class, const char *node)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s%s"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]}}",
                        name, class, node));
}

/* A Job's podFailurePolicy reads the condition: a pod that goes without it counts as failed by itself. */
static void a_victim_goes_when_its_condition_is_written(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":1000}");
    pod("low", "", "\"nodeName\":\"n0\",");
    refuse(PODS "/low/status", "DisruptionTarget", 500, 3);
    scheduler_start();
    pod("high", "\"priorityClassName\":\"high\",", "");
    run(5000);
    assert_int_equal(w.refused_n, 0);
    const struct json *low = get(PODS "/low");
    assert_true(object_deleting(low));
    assert_true(object_condition_true(low, "DisruptionTarget"));
    assert_int_equal(w.deletes_n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_admission_that_was_refused_is_counted_when_it_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_scheduler_that_may_not_read_budgets_works_without, setup, teardown),
        cmocka_unit_test_setup_teardown(a_victim_goes_when_its_condition_is_written, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
