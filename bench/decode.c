/* decode.c - list pages through the splitter into core records, in chunks of 64 KiB as they come from a socket
 *
 * decode.pod   megabytes of pod list a second: split, read, intern; pods as a server returns them (managedFields, status, 3 KB each)
 * decode.node  the same for nodes (6 KB each, 30 images)
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codec/decode/decode.h"
#include "wire/json_reader.h"

#define CHUNK_BYTES (64u << 10)
#define SECONDS 1.0
#define ITEMS 4000

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void managed_fields(struct buf *out)
{
    buf_text(out, "\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{}");
    for (int i = 0; i < 12; i++)
        buf_printf(out, ",\"f:example.com/label-%d\":{}", i);
    buf_text(out, "}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"trainer\\\"}\":{\".\":{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{\".\":{},\"f:limits\":{\".\":{},\"f:nvidia.com/gpu\":{}}}}},\"f:restartPolicy\":{}}}}]");
}

static void pod(struct buf *out, int i)
{
    buf_printf(out, "{\"metadata\":{\"name\":\"train-%d-x7k2p\",\"generateName\":\"train-%d-\",\"namespace\":\"team-%d\",\"uid\":\"6f1c0a3e-52b1-4f0e-9d0a-%012d\",\"resourceVersion\":\"%d\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",", i, i, i % 16, i, 1000 + i);
    buf_printf(out, "\"labels\":{\"app\":\"train\",\"job-name\":\"train-%d\",\"kueue.x-k8s.io/podset\":\"main\"},\"annotations\":{\"kueue.x-k8s.io/workload\":\"job-train-%d\"},", i / 8, i / 8);
    managed_fields(out);
    buf_printf(out, "},\"spec\":{\"volumes\":[{\"name\":\"kube-api-access\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}}],\"defaultMode\":420}}],"
                    "\"containers\":[{\"name\":\"trainer\",\"image\":\"pytorch/pytorch:2.4.0\",\"command\":[\"torchrun\",\"--nnodes=4\",\"train.py\"],\"env\":[{\"name\":\"RANK\",\"value\":\"%d\"},{\"name\":\"NCCL_DEBUG\",\"value\":\"INFO\"}],"
                    "\"resources\":{\"limits\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"nvidia.com/gpu\":\"1\"},\"requests\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"nvidia.com/gpu\":\"1\"}},\"terminationMessagePath\":\"/dev/termination-log\",\"imagePullPolicy\":\"Always\"}],"
                    "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"nodeSelector\":{\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-40GB\"},\"nodeName\":\"node-%d\",\"schedulerName\":\"default-scheduler\","
                    "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],\"priority\":0},", i % 8, i % 500);
    buf_printf(out, "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"}],\"hostIP\":\"10.0.0.%d\",\"podIP\":\"10.1.0.%d\",\"containerStatuses\":[{\"name\":\"trainer\",\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:05Z\"}},\"ready\":true,\"restartCount\":0,\"image\":\"pytorch/pytorch:2.4.0\",\"imageID\":\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}]}}", i % 250, i % 250);
}

static void node(struct buf *out, int i)
{
    buf_printf(out, "{\"metadata\":{\"name\":\"node-%d\",\"uid\":\"u-%d\",\"labels\":{\"kubernetes.io/hostname\":\"node-%d\",\"nvidia.com/gpu.product\":\"Tesla-T4\",\"zone\":\"z%d\"},", i, i, i, i % 4);
    managed_fields(out);
    buf_text(out, "},\"spec\":{\"podCIDR\":\"10.1.0.0/24\"},\"status\":{\"capacity\":{\"cpu\":\"96\",\"memory\":\"384Gi\",\"nvidia.com/gpu\":\"8\",\"pods\":\"110\"},\"allocatable\":{\"cpu\":\"95500m\",\"memory\":\"380Gi\",\"nvidia.com/gpu\":\"8\",\"pods\":\"110\"},"
                  "\"conditions\":[{\"type\":\"MemoryPressure\",\"status\":\"False\",\"reason\":\"KubeletHasSufficientMemory\"},{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\"}],\"images\":[");
    for (int k = 0; k < 30; k++)
        buf_printf(out, "%s{\"names\":[\"registry.example.com/team/image-%d@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"registry.example.com/team/image-%d:1.0\"],\"sizeBytes\":123456789}", k ? "," : "", k, k);
    buf_text(out, "]}}");
}

struct sink {
    struct decoder d;
    bool pods;
    uint64_t sum;
};

static int on_value(void *arg, struct bytes value)
{
    struct sink *s = arg;
    struct pod_record p;
    struct node_record n;
    int r = s->pods ? decode_pod(&s->d, value, &p, NULL) : decode_node(&s->d, value, &n, NULL);
    s->sum += r < 0 ? 0 : s->pods ? p.key : n.name;
    arena_reset(s->d.arena);
    return r;
}

static void run(const char *name, bool pods)
{
    struct buf list = {0};
    struct sink s = {.d = {.names = intern_new(), .arena = arena_new()}, .pods = pods};
    buf_text(&list, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    for (int i = 0; i < ITEMS; i++) {
        if (i)
            buf_char(&list, ',');
        (pods ? pod : node)(&list, i);
    }
    buf_text(&list, "]}");
    size_t bytes = 0;
    double start = seconds(), spent = 0;
    do {
        struct json_splitter *splitter = json_splitter_new(JSON_SPLIT_LIST, 1u << 20, on_value, &s);
        struct err e = {0};
        for (size_t at = 0; at < list.n; at += CHUNK_BYTES)
            if (json_splitter_feed(splitter, (struct bytes){list.data + at, list.n - at < CHUNK_BYTES ? list.n - at : CHUNK_BYTES}, &e) <
                0) {
                fprintf(stderr, "%s: %s\n", name, e.text);
                exit(1);
            }
        json_splitter_free(splitter);
        bytes += list.n;
        spent = seconds() - start;
    } while (spent < SECONDS);
    printf("{\"name\":\"%s\",\"value\":%.1f,\"unit\":\"MB/s\"}\n", name, (double)bytes / 1e6 / spent);
    if (s.sum == 0)
        exit(1);
    intern_free(s.d.names);
    arena_free(s.d.arena);
    buf_free(&list);
}

int main(void)
{
    run("decode.pod", true);
    run("decode.node", false);
    return 0;
}
