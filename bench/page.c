/* page.c - what a scrape of the scheduler's metrics costs
 *
 *     bench_page [WORKLOADS LOCALQUEUES]     100000 1000
 *
 * One process on a virtual clock, the embedded API server in it: Workloads of one ClusterQueue, half of them admitted, the rest waiting.
 *
 * page.ms              CPU of one page, the mean of five; nothing else is decided or sent meanwhile
 * page.bytes           its length
 */
#include <stdio.h>
#include <stdlib.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "figure_line.h"
#include "net/http_local.h"
#include "sched/sched.h"

#define KIND(kind) "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"" kind "\",\"metadata\":{"
enum { PAGES = 5 };

static struct loop *loop;
static struct apiserver *server;
static struct arena *arena;

static void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(arena, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(server, arena, object, &e) < 0) {
        fprintf(stderr, "%s: %s\n", text, e.text);
        exit(1);
    }
    arena_reset(arena);
}

static void run(int64_t ms)
{
    if (loop_run_for(loop, ms, NULL) < 0)
        exit(1);
}

static void cluster(int workloads_n, int local_queues_n)
{
#define AMOUNTS "{\"cpu\":\"1000000\",\"memory\":\"2560Gi\",\"pods\":\"1000000\"}"
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":" AMOUNTS ","
           "\"capacity\":" AMOUNTS ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    create(KIND("ResourceFlavor") "\"name\":\"f\"},\"spec\":{}}");
    create(arena_printf(arena,
                        KIND("ClusterQueue") "\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
                                             "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%d\"}]}]}]}}",
                        workloads_n / 2));
    for (int i = 0; i < local_queues_n; i++)
        create(arena_printf(arena, KIND("LocalQueue") "\"name\":\"lq%d\",\"namespace\":\"n\"},\"spec\":{\"clusterQueue\":\"cq\"}}", i));
    for (int i = 0; i < workloads_n; i++)
        create(arena_printf(arena,
                            KIND("Workload") "\"name\":\"w%d\",\"namespace\":\"n\"},\"spec\":{\"queueName\":\"lq%d\",\"podSets\":[{\"name\":\"main\","
                                             "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                                             "\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
                            i, i % local_queues_n));
}

int main(int argc, char **argv)
{
    struct err e = {0};
    int64_t workloads_n = 100000, local_queues_n = 1000;
    if (argc > 2 && (!bytes_int64(bytes_of(argv[1]), &workloads_n) || !bytes_int64(bytes_of(argv[2]), &local_queues_n) ||
                     workloads_n < 2 || local_queues_n < 1))
        return 2;
    log_set_level(LOG_ERROR);
    loop = loop_new_virtual(1767225600000);
    arena = arena_new();
    if (apiserver_new(loop, &(struct apiserver_config){0}, &server, &e) < 0)
        return 1;
    cluster((int)workloads_n, (int)local_queues_n);
    struct kube_client *client = kube_client_wrap(loop, http_local_client_new(loop, apiserver_handle, server, NULL, 1));
    struct scheduler *scheduler = scheduler_new(loop, client, &(struct scheduler_config){.default_scheduler = true});
    for (int i = 0; i < 600 && (int64_t)scheduler_counts(scheduler).admits_n < workloads_n / 2; i++)
        run(1000);
    run(60000);
    if ((int64_t)scheduler_counts(scheduler).admits_n != workloads_n / 2) {
        fprintf(stderr, "admitted: %lld, not %lld\n", (long long)scheduler_counts(scheduler).admits_n, (long long)workloads_n / 2);
        return 1;
    }
    struct buf page = {0};
    double begin_s = cpu_seconds();
    for (int i = 0; i < PAGES; i++) {
        buf_clear(&page);
        scheduler_page(scheduler, false, &page);
    }
    print("page.ms", (cpu_seconds() - begin_s) * 1000 / PAGES, "ms");
    print("page.bytes", (double)page.n, "bytes");
    buf_free(&page);
    scheduler_free(scheduler);
    kube_client_free(client);
    apiserver_free(server);
    loop_free(loop);
    arena_free(arena);
    return 0;
}
