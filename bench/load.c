/* load.c - 10,000 pods through the embedded server: created by 8 parallel clients, watched until all are bound
 *
 *     bench_load URL PODS              prints server.bind.PODS (pods/s, first create to last bind seen), pods lost and doubled
 *     bench_load URL PODS SIZE GPUS    in gangs of SIZE pods of GPUS GPUs: server.gangs.NxSIZE, the same, and the milliseconds it took; a
 *                                      PodGroup (scheduling.x-k8s.io) is created before the first pod of each, in that time
 *     bench_load URL PODS SIZE GPUS vcjob    the same as Volcano Jobs of SIZE pods, which their controller makes: server.vcjobs.NxSIZE
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "kube/client.h"
#include "kube/watch.h"

#define CLIENTS 8

struct load;
struct creator {
    struct load *load;
    struct kube_client *client;
    int64_t pod; /* that it creates */
};
struct load {
    struct loop *loop;
    struct creator creators[CLIENTS];
    struct map *bound; /* pod name -> node text hash */
    struct kube_watch *watch;
    int64_t size, gpus; /* of a gang; 0: none */
    bool is_vcjob;
    int64_t wanted_n, next, created_n, failed_n, bound_n, doubled_n;
    int64_t start_us, created_us, end_us;
};

static void create_next(struct creator *c);

static void on_created(void *arg, const struct kube_answer *answer)
{
    struct creator *c = arg;
    if (answer->code != 0) {
        if (c->load->failed_n++ == 0)
            fprintf(stderr, "create: %s\n", answer->error.text);
    } else if (++c->load->created_n == c->load->wanted_n) {
        c->load->created_us = clock_monotonic_us();
    }
    create_next(c);
}

static void create_pod(struct creator *c)
{
    struct load *l = c->load;
    char body[1024], label[96] = "", gpus[48] = "";
    if (l->size) {
        (void)snprintf(label, sizeof label, ",\"scheduling.x-k8s.io/pod-group\":\"gang%lld-%lld\"", (long long)l->size,
                       (long long)(c->pod / l->size));
        (void)snprintf(gpus, sizeof gpus, ",\"limits\":{\"nvidia.com/gpu\":%lld}", (long long)l->gpus);
    }
    int n =
        snprintf(body, sizeof body,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"load%lld-%05lld\",\"namespace\":"
                 "\"default\",\"labels\":{\"app\":\"load\"%s},"
                 "\"annotations\":{\"capstan.dev/"
                 "run-seconds\":\"3600\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","
                 "\"image\":\"busybox:1\",\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}%s}}]}}",
                 (long long)l->size, (long long)c->pod, label, gpus);
    kube_create(c->client, "/api/v1/namespaces/default/pods", (struct bytes){body, (size_t)n}, on_created, c);
}

static void on_group(void *arg, const struct kube_answer *answer)
{
    struct creator *c = arg;
    if (answer->code != 0 && c->load->failed_n++ == 0)
        fprintf(stderr, "create: %s\n", answer->error.text);
    create_pod(c);
}

static void create_job(struct creator *c)
{
    struct load *l = c->load;
    char body[1024], gpus[48] = "";
    if (l->gpus)
        (void)snprintf(gpus, sizeof gpus, ",\"limits\":{\"nvidia.com/gpu\":%lld}", (long long)l->gpus);
    int n = snprintf(body, sizeof body,
                     "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"load%lld-%lld\",\"namespace\":"
                     "\"default\"},\"spec\":{\"tasks\":[{\"name\":\"w\",\"replicas\":%lld,\"template\":{\"metadata\":{\"annotations\":{"
                     "\"capstan.dev/run-seconds\":\"3600\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":"
                     "\"busybox:1\",\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}%s}}]}}}]}}",
                     (long long)l->size, (long long)(c->pod / l->size), (long long)l->size, gpus);
    l->next += l->size - 1;
    kube_create(c->client, "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", (struct bytes){body, (size_t)n}, on_created, c);
}

static void create_next(struct creator *c)
{
    struct load *l = c->load;
    char body[256];
    if (l->next >= l->wanted_n)
        return;
    c->pod = l->next++;
    if (l->is_vcjob) {
        create_job(c);
        return;
    }
    if (!l->size || c->pod % l->size) {
        create_pod(c);
        return;
    }
    int n = snprintf(body, sizeof body,
                     "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"gang%lld-%lld\","
                     "\"namespace\":\"default\"},\"spec\":{\"minMember\":%lld}}",
                     (long long)l->size, (long long)(c->pod / l->size), (long long)l->size);
    kube_create(c->client, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups", (struct bytes){body, (size_t)n}, on_group, c);
}

/* WHY  by text: server and client share two cores, and trees of three versions of each pod were a third of the client. */
static void on_pod(void *arg, enum kube_event event, struct bytes raw)
{
    static const char member[] = "\"nodeName\":\"";
    struct load *l = arg;
    struct bytes name = kube_watch_key(l->watch);
    const char *node = memmem(raw.data, raw.n, member, sizeof member - 1), *slash = memchr(name.data, '/', name.n);
    if (event == KUBE_DELETED || !node || !slash)
        return;
    name = (struct bytes){slash + 1, name.n - (size_t)(slash + 1 - name.data)};
    node += sizeof member - 1;
    const char *end = memchr(node, '"', raw.n - (size_t)(node - raw.data)), *dash = memchr(name.data, '-', name.n);
    int64_t size = 0;
    bool is_ours = name.n > 4 && memcmp(name.data, "load", 4) == 0 && dash &&
                   bytes_int64((struct bytes){name.data + 4, (size_t)(dash - name.data) - 4}, &size) && size == l->size;
    if (!is_ours || !end)
        return;
    bool is_new;
    uint64_t *seen = map_put(l->bound, name, &is_new), hash = hash_bytes(node, (size_t)(end - node), 0);
    l->bound_n += is_new;
    l->doubled_n += !is_new && *seen != hash;
    *seen = hash;
    if (l->bound_n == l->wanted_n && l->end_us == 0)
        l->end_us = clock_monotonic_us();
}

static void figure(const char *name, int64_t pods, double value, const char *unit)
{
    printf("{\"name\":\"%s.%lld\",\"value\":%.1f,\"unit\":\"%s\"}\n", name, (long long)pods, value, unit);
}

static void tell(const struct load *l, int64_t end_us)
{
    int64_t lost_n = l->wanted_n - l->bound_n;
    double rate = (double)l->bound_n * 1e6 / (double)(end_us - l->start_us);
    if (l->size) {
        const char *kind = l->is_vcjob ? "vcjobs" : "gangs";
        long long jobs_n = (long long)(l->wanted_n / l->size), size = (long long)l->size;
        printf("{\"name\":\"server.%s.%lldx%lld\",\"value\":%.1f,\"unit\":\"pods/s\"}\n", kind, jobs_n, size, rate);
        printf("{\"name\":\"server.%s.%lldx%lld.ms\",\"value\":%.1f,\"unit\":\"ms\"}\n", kind, jobs_n, size,
               (double)(end_us - l->start_us) / 1e3);
        figure(l->is_vcjob ? "server.vcjobs.lost" : "server.gangs.lost", l->wanted_n, (double)lost_n, "pods");
        return;
    }
    figure("server.create", l->wanted_n,
           (double)l->created_n * 1e6 / (double)((l->created_us ? l->created_us : end_us) - l->start_us), "pods/s");
    figure("server.bind", l->wanted_n, rate, "pods/s");
    figure("server.bind.lost", l->wanted_n, (double)lost_n, "pods");
    figure("server.bind.doubled", l->wanted_n, (double)l->doubled_n, "pods");
}

int main(int argc, char **argv)
{
    struct load l = {.loop = loop_new(), .bound = map_new(sizeof(uint64_t))};
    struct err e = {0};
    if (argc == 1)
        return 0; /* `make bench` runs every program without arguments; bench/up.sh runs this one with them */
    bool read = (argc == 3 || argc == 5 || argc == 6) && bytes_int64(bytes_of(argv[2]), &l.wanted_n);
    l.is_vcjob = argc == 6 && strcmp(argv[5], "vcjob") == 0;
    if (argc >= 5)
        read = read && bytes_int64(bytes_of(argv[3]), &l.size) && bytes_int64(bytes_of(argv[4]), &l.gpus) && l.size > 0;
    if (!read) {
        fprintf(stderr, "usage: bench_load URL PODS [SIZE GPUS [vcjob]]\n");
        return 2;
    }
    struct kubeconfig k = {.server = argv[1]};
    for (int i = 0; i < CLIENTS; i++) {
        l.creators[i].load = &l;
        if (kube_client_new(l.loop, &k, "bench", &l.creators[i].client, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
    }
    l.watch = kube_watch_new(l.creators[0].client,
                             &(struct kube_watch_config){.path = "/api/v1/pods", .on_event = on_pod, .arg = &l});
    while (!kube_watch_synced(l.watch))
        loop_run_for(l.loop, 10, NULL);
    l.start_us = clock_monotonic_us();
    for (int i = 0; i < CLIENTS; i++)
        create_next(&l.creators[i]);
    while (l.end_us == 0 && clock_monotonic_us() - l.start_us < 120000000)
        loop_run_for(l.loop, 10, NULL);
    int64_t end_us = l.end_us ? l.end_us : clock_monotonic_us();
    tell(&l, end_us);
    kube_watch_free(l.watch);
    for (int i = 0; i < CLIENTS; i++)
        kube_client_free(l.creators[i].client);
    map_free(l.bound);
    loop_free(l.loop);
    return 0;
}
