/* ResourceQuota and LimitRange: what they refuse, what they add, and that status.used is what there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../folder.h"
#include "api.h"
#include "apiserver/apply/object_change.h"
#include "base/log.h"
#include "base/random.h"

#define NS "/api/v1/namespaces/default"
#define PODS NS "/pods"
#define QUOTAS NS "/resourcequotas"

static int quota_new(struct api *api, const char *name, const char *spec)
{
    return api_post(api, QUOTAS, arena_printf(api->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", name, spec));
}

/* `resources`: of its one container; `more`: other members of its spec, ",..." */
static int pod_new(struct api *api, const char *name, const char *resources, const char *more)
{
    return api_post(api, PODS, arena_printf(api->arena,
                                            "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                                            "\"resources\":%s}]%s}}",
                                            name, resources, more));
}

static const char *used(struct api *api, const char *quota, const char *resource)
{
    api_run(api, 100);
    assert_int_equal(api_get(api, arena_printf(api->arena, QUOTAS "/%s", quota)), 200);
    return json_text(json_path(api->body, "status", "used", resource, NULL), "");
}

static void counts_are_bounded(void **state)
{
    struct api *api = *state;
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"pods\":\"2\",\"count/configmaps\":\"3\",\"count/deployments.apps\":\"0\"}}"), 201);
    assert_string_equal(api->warnings, "");
    assert_string_equal(used(api, "q", "pods"), "0");
    assert_string_equal(used(api, "q", "count/configmaps"), "1"); /* kube-root-ca.crt */
    assert_int_equal(pod_new(api, "a", "{}", ""), 201);
    assert_int_equal(api_post(api, PODS "?dryRun=All", "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"), 201);
    assert_int_equal(pod_new(api, "b", "{}", ""), 201);
    assert_int_equal(pod_new(api, "c", "{}", ""), 403);
    assert_string_equal(api_text(api, "message"),
                        "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2");
    assert_string_equal(api_text(api, "reason"), "Forbidden");
    assert_string_equal(used(api, "q", "pods"), "2");
    assert_int_equal(api_post(api, "/apis/apps/v1/namespaces/default/deployments",
                              "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"x\":\"y\"}},\"template\":{\"metadata\":{"
                              "\"labels\":{\"x\":\"y\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
                     403);
    assert_non_null(strstr(api_text(api, "message"), "requested: count/deployments.apps=1, used: count/deployments.apps=0"));
    assert_int_equal(api_delete(api, PODS "/a", NULL), 200);
    assert_int_equal(pod_new(api, "c", "{}", ""), 201);
    assert_string_equal(used(api, "q", "pods"), "2");
}

static void a_pod_that_ends_gives_back(void **state)
{
    struct api *api = *state;
    assert_int_equal(quota_new(api, "g", "{\"hard\":{\"requests.nvidia.com/gpu\":\"4\",\"count/pods\":\"5\"}}"), 201);
    assert_int_equal(pod_new(api, "a", "{\"limits\":{\"nvidia.com/gpu\":\"3\"}}", ""), 201);
    assert_int_equal(pod_new(api, "b", "{\"limits\":{\"nvidia.com/gpu\":\"2\"}}", ""), 403);
    assert_string_equal(api_text(api, "message"), "pods \"b\" is forbidden: exceeded quota: g, requested: requests.nvidia.com/gpu=2, used: "
                                                  "requests.nvidia.com/gpu=3, limited: requests.nvidia.com/gpu=4");
    assert_int_equal(api_patch(api, PODS "/a/status", "merge", "{\"status\":{\"phase\":\"Succeeded\"}}"), 200);
    assert_string_equal(used(api, "g", "requests.nvidia.com/gpu"), "0");
    assert_string_equal(used(api, "g", "count/pods"), "1"); /* it is still there */
    assert_int_equal(pod_new(api, "b", "{\"limits\":{\"nvidia.com/gpu\":\"2\"}}", ""), 201);
    assert_string_equal(used(api, "g", "requests.nvidia.com/gpu"), "2");
}

static void bounded_amounts_are_written(void **state)
{
    struct api *api = *state;
    assert_int_equal(quota_new(api, "r", "{\"hard\":{\"cpu\":\"1\",\"limits.memory\":\"1Gi\"}}"), 201);
    assert_int_equal(pod_new(api, "a", "{\"requests\":{\"cpu\":\"100m\"}}", ""), 403);
    assert_string_equal(api_text(api, "message"), "pods \"a\" is forbidden: failed quota: r: must specify limits.memory for: c");
    assert_int_equal(pod_new(api, "a", "{\"requests\":{\"cpu\":\"600m\"},\"limits\":{\"memory\":\"512Mi\"}}", ""), 201);
    assert_int_equal(pod_new(api, "b", "{\"requests\":{\"cpu\":\"600m\"},\"limits\":{\"memory\":\"600Mi\"}}", ""), 403);
    assert_string_equal(api_text(api, "message"), "pods \"b\" is forbidden: exceeded quota: r, requested: cpu=600m,limits.memory=600Mi, used: "
                                                  "cpu=600m,limits.memory=512Mi, limited: cpu=1,limits.memory=1Gi");
    /* more quota, more pods */
    assert_int_equal(api_patch(api, QUOTAS "/r", "merge", "{\"spec\":{\"hard\":{\"cpu\":\"2\",\"limits.memory\":\"2Gi\"}}}"), 200);
    assert_int_equal(pod_new(api, "b", "{\"requests\":{\"cpu\":\"600m\"},\"limits\":{\"memory\":\"600Mi\"}}", ""), 201);
    assert_string_equal(used(api, "r", "cpu"), "1200m");
    assert_string_equal(api_text(api, "status.hard.cpu"), "2");
}

static void scopes_choose_pods(void **state)
{
    struct api *api = *state;
    assert_int_equal(quota_new(api, "best", "{\"hard\":{\"pods\":\"1\"},\"scopes\":[\"BestEffort\"]}"), 201);
    assert_int_equal(quota_new(api, "term", "{\"hard\":{\"pods\":\"1\"},\"scopes\":[\"Terminating\"]}"), 201);
    assert_int_equal(quota_new(api, "high",
                               "{\"hard\":{\"pods\":\"0\"},\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
                               "\"operator\":\"In\",\"values\":[\"system-node-critical\"]}]}}"),
                     201);
    assert_int_equal(pod_new(api, "a", "{}", ""), 201);
    assert_int_equal(pod_new(api, "b", "{}", ""), 403);
    assert_int_equal(pod_new(api, "b", "{\"requests\":{\"cpu\":\"0\"}}", ""), 403); /* nothing is nothing, said or not */
    assert_int_equal(pod_new(api, "b", "{\"requests\":{\"cpu\":\"1\"}}", ",\"activeDeadlineSeconds\":5"), 201);
    assert_int_equal(pod_new(api, "c", "{\"requests\":{\"cpu\":\"1\"}}", ",\"activeDeadlineSeconds\":5"), 403);
    assert_int_equal(pod_new(api, "c", "{\"requests\":{\"cpu\":\"1\"}}", ",\"priorityClassName\":\"system-node-critical\""), 403);
    assert_non_null(strstr(api_text(api, "message"), "exceeded quota: high"));
    assert_int_equal(pod_new(api, "c", "{\"requests\":{\"cpu\":\"1\"}}", ""), 201);
    assert_int_equal(quota_new(api, "x", "{\"hard\":{\"pods\":\"0\"},\"scopes\":[\"BestEffort\",\"NotBestEffort\"]}"), 422);
    assert_int_equal(quota_new(api, "x", "{\"hard\":{\"cpu\":\"0\"},\"scopes\":[\"BestEffort\"]}"), 422);
    assert_int_equal(quota_new(api, "x", "{\"hard\":{\"gpus\":\"1\"}}"), 422);
    assert_non_null(strstr(api_text(api, "message"), "must be a standard resource for quota"));
}

static void claims_and_services_count(void **state)
{
    struct api *api = *state;
    const char *claim = "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"storageClassName\":\"gold\",\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
                        "\"requests\":{\"storage\":\"2Gi\"}}}}";
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"gold.storageclass.storage.k8s.io/requests.storage\":\"3Gi\",\"services.nodeports\":\"1\"}}"), 201);
    assert_int_equal(api_post(api, NS "/persistentvolumeclaims", claim), 201);
    assert_string_equal(used(api, "q", "gold.storageclass.storage.k8s.io/requests.storage"), "2Gi");
    assert_int_equal(api_patch(api, NS "/persistentvolumeclaims/c", "merge", "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"4Gi\"}}}}"), 403);
    assert_int_equal(api_post(api, NS "/services", "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]}}"), 201);
    assert_int_equal(api_patch(api, NS "/services/s", "merge", "{\"spec\":{\"type\":\"NodePort\"}}"), 200);
    assert_string_equal(used(api, "q", "services.nodeports"), "1");
    assert_int_equal(api_post(api, NS "/services", "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":80}]}}"), 403);
    assert_int_equal(api_delete(api, NS "/services/s", NULL), 200);
    assert_string_equal(used(api, "q", "services.nodeports"), "0");
}

static void a_status_that_others_write_is_put_right(void **state)
{
    struct api *api = *state;
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"pods\":\"2\"}}"), 201);
    assert_int_equal(api_patch(api, QUOTAS "/q/status", "merge", "{\"status\":{\"hard\":{\"pods\":\"9\"}}}"), 200);
    assert_string_equal(api_text(api, "status.hard.pods"), "9");
    assert_string_equal(used(api, "q", "pods"), "0");
    assert_string_equal(api_text(api, "status.hard.pods"), "2");
    assert_int_equal(api_patch(api, QUOTAS "/q/status", "merge", "{\"status\":{\"used\":{\"pods\":\"1\"}}}"), 200);
    assert_string_equal(used(api, "q", "pods"), "0");
}

/* Objects that go with the definition of their kind are no longer counted when a kind of that name comes again. */
static void kinds_go_with_their_objects(void **state)
{
    struct api *api = *state;
    static const char crds[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets[] = "/apis/test.io/v1/namespaces/default/widgets";
    static const char crd[] = "{\"metadata\":{\"name\":\"widgets.test.io\"},\"spec\":{\"group\":\"test.io\",\"scope\":\"Namespaced\",\"names\":{"
                              "\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                              "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
    assert_int_equal(api_post(api, crds, crd), 201);
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"count/widgets.test.io\":\"1\"}}"), 201);
    assert_int_equal(api_post(api, widgets, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_string_equal(used(api, "q", "count/widgets.test.io"), "1");
    assert_int_equal(api_delete(api, arena_printf(api->arena, "%s/widgets.test.io", crds), NULL), 200);
    assert_string_equal(used(api, "q", "count/widgets.test.io"), "0");
    assert_int_equal(api_post(api, crds, crd), 201);
    assert_int_equal(api_post(api, widgets, "{\"metadata\":{\"name\":\"b\"}}"), 201);
    assert_int_equal(api_post(api, widgets, "{\"metadata\":{\"name\":\"c\"}}"), 403);
}

static int64_t rv_now(struct api *api)
{
    return (int64_t)store_rv(api->server->store);
}

/* Nothing is written at the start when nothing has changed, and the first request is judged already. */
static void quotas_outlive_a_restart(void **state)
{
    char dir[] = "/tmp/capstan-quota-XXXXXX";
    struct api *api = &(struct api){0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    api_open(api, dir);
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"pods\":\"1\"}}"), 201);
    assert_int_equal(pod_new(api, "a", "{}", ""), 201);
    assert_string_equal(used(api, "q", "pods"), "1");
    int64_t rv = rv_now(api);
    api_close(api);
    api_open(api, dir);
    assert_int_equal(pod_new(api, "b", "{}", ""), 403);
    api_run(api, 1000);
    assert_int_equal(rv_now(api), rv + STORE_START_JUMP);
    assert_int_equal(api_delete(api, PODS "/a", NULL), 200);
    assert_int_equal(pod_new(api, "b", "{}", ""), 201);
    api_close(api);
    folder_remove(dir);
}

/* Two pods of one turn of the loop do not both get the last place. */
static void one_turn_is_counted(void **state)
{
    struct api *api = *state;
    const struct kind *pods = kind_find(api->server->kinds, "", "pods");
    int made_n = 0;
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"pods\":\"2\"}}"), 201);
    for (int i = 0; i < 5; i++) {
        struct err e = {0};
        struct json *pod = json_parse(api->arena,
                                      bytes_of(arena_printf(api->arena,
                                                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"default\","
                                                            "\"name\":\"p%d\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                                                            i)),
                                      NULL, &e);
        made_n += object_create(api->server, pods, api->arena, pod, &e) == 0;
    }
    assert_int_equal(made_n, 2);
    assert_string_equal(used(api, "q", "pods"), "2");
}

/* What the disk does not take is not counted, and is not tried again and again. */
static void a_full_disk_is_waited_for(void **state)
{
    char dir[] = "/tmp/capstan-quota-XXXXXX";
    struct api *api = &(struct api){0};
    struct rlimit before, small = {1, RLIM_INFINITY};
    (void)state;
    assert_non_null(mkdtemp(dir));
    api_open(api, dir);
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"pods\":\"2\"}}"), 201);
    api_run(api, 100);
    assert_int_equal(pod_new(api, "a", "{}", ""), 201);
    signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_ERROR + 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(pod_new(api, "b", "{}", ""), 500);
    int64_t rv = rv_now(api);
    api_run(api, 4500);
    assert_in_range(rv_now(api) - rv, 1, 5);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    log_set_level(LOG_INFO);
    api_run(api, 1000);
    assert_string_equal(used(api, "q", "pods"), "1");
    assert_int_equal(pod_new(api, "b", "{}", ""), 201);
    assert_int_equal(pod_new(api, "c", "{}", ""), 403);
    api_close(api);
    folder_remove(dir);
}

/* Random pods come, grow, end and go, and quotas with them: what is told is what a count of the list says. */
static void used_is_what_there_is(void **state)
{
    struct api *api = *state;
    struct random random = {.state = 7};
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"pods\":\"6\",\"requests.cpu\":\"8\"}}"), 201);
    for (int step = 0; step < 400; step++) {
        const char *name = arena_printf(api->arena, "p%d", (int)random_below(&random, 9));
        const char *path = arena_printf(api->arena, PODS "/%s", name);
        switch (random_below(&random, 8)) {
        case 0:
            api_delete(api, path, NULL);
            break;
        case 1:
            api_patch(api, arena_printf(api->arena, "%s/status", path), "merge",
                      random_below(&random, 2) ? "{\"status\":{\"phase\":\"Failed\"}}" : "{\"status\":{\"phase\":\"Running\"}}");
            break;
        case 2:
            if (random_below(&random, 6) == 0) {
                api_delete(api, QUOTAS "/q", NULL);
                quota_new(
                    api, "q",
                    arena_printf(api->arena, "{\"hard\":{\"pods\":\"%d\",\"requests.cpu\":\"8\"}}", 4 + (int)random_below(&random, 4)));
            }
            break;
        default:
            pod_new(api, name, arena_printf(api->arena, "{\"requests\":{\"cpu\":\"%dm\"}}", 500 * (1 + (int)random_below(&random, 4))), "");
            break;
        }
        if (random_below(&random, 3))
            continue;
        int64_t pods = 0, milli = 0;
        assert_int_equal(api_get(api, PODS), 200);
        JSON_EACH (pod, json_get(api->body, "items")) {
            const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
            if (strcmp(phase, "Failed") == 0)
                continue;
            const char *cpu = json_text(json_path(json_item(json_path(pod, "spec", "containers", NULL), 0), "resources", "requests", "cpu", NULL), "");
            pods++;
            milli += strchr(cpu, 'm') ? strtoll(cpu, NULL, 10) : 1000 * strtoll(cpu, NULL, 10);
        }
        char expected[32];
        snprintf(expected, sizeof expected, milli % 1000 ? "%lldm" : "%lld", (long long)(milli % 1000 ? milli : milli / 1000));
        assert_string_equal(used(api, "q", "requests.cpu"), expected);
        assert_int_equal(strtoll(api_text(api, "status.used.pods"), NULL, 10), pods);
    }
}

static void limit_ranges_fill_in(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, NS "/limitranges",
                              "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"},\"min\":{"
                              "\"memory\":\"16Mi\"},\"default\":{\"cpu\":\"500m\"},\"defaultRequest\":{\"cpu\":\"100m\"}}]}}"),
                     201);
    assert_string_equal(api->warnings, "");
    assert_string_equal(api_text(api, "spec.limits.0.defaultRequest.memory"), "16Mi");
    assert_int_equal(pod_new(api, "a", "{}", ""), 201);
    assert_string_equal(api_text(api, "spec.containers.0.resources.limits.cpu"), "500m");
    assert_string_equal(api_text(api, "spec.containers.0.resources.requests.cpu"), "100m");
    assert_string_equal(api_text(api, "spec.containers.0.resources.requests.memory"), "16Mi");
    assert_string_equal(api_text(api, "status.qosClass"), "Burstable");
    assert_string_equal(json_text(json_path(api->body, "metadata", "annotations", "kubernetes.io/limit-ranger", NULL), ""),
                        "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c");
    assert_int_equal(pod_new(api, "b", "{\"limits\":{\"cpu\":\"300m\"}}", ""), 201);
    assert_string_equal(api_text(api, "spec.containers.0.resources.requests.cpu"), "300m");
    assert_int_equal(pod_new(api, "c", "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Mi\"},\"limits\":{\"cpu\":\"3\"}}", ""), 403);
    assert_string_equal(api_text(api, "message"), "pods \"c\" is forbidden: [minimum memory usage per Container is 16Mi, but request is 1Mi, maximum "
                                                  "cpu usage per Container is 2, but limit is 3]");
    /* a default limit below the request that is written: as a pod that says so itself */
    assert_int_equal(pod_new(api, "c", "{\"requests\":{\"cpu\":\"1\"}}", ""), 422);
}

static void limit_ranges_refuse(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, NS "/limitranges",
                              "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Pod\",\"max\":{\"cpu\":\"2\"}},{\"type\":"
                              "\"PersistentVolumeClaim\",\"min\":{\"storage\":\"1Gi\"}},{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"2\"}}]}}"),
                     201);
    assert_int_equal(pod_new(api, "a", "{\"requests\":{\"cpu\":\"1\"}}", ""), 403);
    assert_string_equal(api_text(api, "message"), "pods \"a\" is forbidden: [cpu max limit to request ratio per Container is 2, but no limit is "
                                                  "specified or limit is 0, maximum cpu usage per Pod is 2.  No limit is specified]");
    assert_int_equal(pod_new(api, "a", "{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}", ""), 201);
    assert_int_equal(pod_new(api, "b", "{\"requests\":{\"cpu\":\"500m\"},\"limits\":{\"cpu\":\"2\"}}", ""), 403);
    assert_string_equal(api_text(api, "message"),
                        "pods \"b\" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000");
    assert_int_equal(api_post(api, NS "/persistentvolumeclaims",
                              "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
                              "\"1Mi\"}}}}"),
                     403);
    assert_string_equal(api_text(api, "message"), "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per PersistentVolumeClaim is "
                                                  "1Gi, but request is 1Mi");
    assert_int_equal(api_post(api, NS "/limitranges",
                              "{\"metadata\":{\"name\":\"m\"},\"spec\":{\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"1\"},\"min\":{\"cpu\":\"2\"}}]}}"),
                     422);
    assert_non_null(strstr(api_text(api, "message"), "min value 2 is greater than max value 1"));
}

/* A pod that grows counts as a new one would. */
static void resized_pods_are_bounded(void **state)
{
    struct api *api = *state;
    assert_int_equal(quota_new(api, "q", "{\"hard\":{\"requests.cpu\":\"2\"}}"), 201);
    assert_int_equal(pod_new(api, "a", "{\"requests\":{\"cpu\":\"1\"}}", ""), 201);
    assert_int_equal(api_patch(api, PODS "/a/resize", "strategic", "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}}"), 403);
    assert_non_null(strstr(api_text(api, "message"), "exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=1, limited: requests.cpu=2"));
    assert_int_equal(api_patch(api, PODS "/a/resize", "strategic", "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1500m\"}}}]}}"), 200);
    assert_string_equal(used(api, "q", "requests.cpu"), "1500m");
    assert_int_equal(api_post(api, NS "/limitranges", "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Container\",\"min\":{\"cpu\":\"1\"}}]}}"), 201);
    assert_int_equal(api_patch(api, PODS "/a/resize", "strategic", "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}}"), 403);
    assert_non_null(strstr(api_text(api, "message"), "minimum cpu usage per Container is 1, but request is 500m"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(counts_are_bounded),
        WITH_API(a_pod_that_ends_gives_back),
        WITH_API(bounded_amounts_are_written),
        WITH_API(scopes_choose_pods),
        WITH_API(claims_and_services_count),
        WITH_API(a_status_that_others_write_is_put_right),
        WITH_API(kinds_go_with_their_objects),
        WITH_API(one_turn_is_counted),
        cmocka_unit_test(quotas_outlive_a_restart),
        cmocka_unit_test(a_full_disk_is_waited_for),
        WITH_API(used_is_what_there_is),
        WITH_API(resized_pods_are_bounded),
        WITH_API(limit_ranges_fill_in),
        WITH_API(limit_ranges_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
