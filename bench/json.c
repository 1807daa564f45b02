/* json.c - how fast pods are parsed to trees, and how fast fields are taken out of a list in chunks
 *
 *     json.tree.pods, .configmap    a list of 50 pods, a ConfigMap of 1 MB: read to a tree
 *     ....write, .memory            the tree written; its memory by that of the text
 *     ....yyjson...                 the same by yyjson, where its headers were there when this was built (docs/design/0007-json.md)
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef HAVE_YYJSON
#include <yyjson.h>
#endif
#include "base/clock.h"
#include "wire/json_reader.h"

#define PODS 2000
#define CHUNK_BYTES (64u << 10)
#define LEAST_US 1000000 /* each figure is measured for at least this long */

/* Shaped like a training pod as an API server sends it: about 6 KB, a third of it managedFields; escapes, text beyond
 * ASCII. */
static void add_managed_fields(struct buf *out, int i)
{
    static const char *const managers[] = {"kube-controller-manager", "kubelet", "capstan-scheduler"};
    buf_text(out, "\"managedFields\":[");
    for (int m = 0; m < 3; m++) {
        buf_printf(
            out,
            "%s{\"manager\":\"%s\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-01-01T00:00:%02dZ\","
            "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},"
            "\"f:job-name\":{},"
            "\"f:batch.kubernetes.io/"
            "job-completion-index\":{}},\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"%08x-1111\\\"}\":{}}},"
            "\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"worker\\\"}\":{\".\":{},\"f:image\":{},\"f:"
            "imagePullPolicy\":{},"
            "\"f:name\":{},\"f:resources\":{\".\":{},\"f:limits\":{\".\":{},\"f:cpu\":{},\"f:memory\":{},\"f:nvidia."
            "com/gpu\":{}}}}},"
            "\"f:dnsPolicy\":{},\"f:enableServiceLinks\":{},\"f:restartPolicy\":{},\"f:schedulerName\":{}}}}",
            m ? "," : "", managers[m], i % 60, (unsigned)i);
    }
    buf_text(out, "]");
}

static void add_spec(struct buf *out, int i)
{
    buf_printf(
        out,
        "\"spec\":{\"nodeName\":\"node-%04d\",\"schedulerName\":\"capstan\",\"priority\":%d,\"restartPolicy\":"
        "\"Never\","
        "\"nodeSelector\":{\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-40GB\"},\"containers\":[{\"name\":\"worker\","
        "\"image\":\"registry.example.com/team/train:2026.1\",\"command\":[\"sh\",\"-c\",\"set -e\\nexport "
        "A=\\\"b\\\"\\n"
        "python3 /home/train.py --epochs 90 --data /data/imagenet --note 'gr\xc3\xb6\xc3\x9f"
        "er \xe2\x80\x94 besser'\\n\"],\"env\":[",
        i % 1000, i % 10);
    for (int e = 0; e < 24; e++)
        buf_printf(out, "%s{\"name\":\"SETTING_%d\",\"value\":\"/some/path/that/is/typical/%d\"}", e ? "," : "", e, i);
    buf_text(
        out,
        "],\"resources\":{\"limits\":{\"cpu\":\"8\",\"memory\":\"64Gi\",\"nvidia.com/"
        "gpu\":\"1\"},\"requests\":{\"cpu\":\"8\","
        "\"memory\":\"64Gi\",\"nvidia.com/"
        "gpu\":\"1\"}},\"volumeMounts\":[{\"name\":\"kube-api-access\",\"readOnly\":true,"
        "\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}],\"terminationMessagePath\":\"/dev/"
        "termination-log\","
        "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"IfNotPresent\"}],\"volumes\":[{\"name\":\"kube-"
        "api-access\","
        "\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},{"
        "\"configMap\":"
        "{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}}],\"defaultMode\":420}}],"
        "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
        "\"tolerationSeconds\":300},{\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]},");
}

static void add_pod(struct buf *out, int i)
{
    buf_printf(
        out,
        "{\"metadata\":{\"name\":\"train-%06d\",\"generateName\":\"train-\",\"namespace\":\"ml-%d\",\"uid\":\"%08x-"
        "1111-2222-3333-444455556666\","
        "\"resourceVersion\":\"%d\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"job-name\":\"train\","
        "\"batch.kubernetes.io/job-completion-index\":\"%d\"},\"annotations\":{\"note\":\"line one\\nline \\\"two\\\" "
        "\xe2\x9c\x93\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"batch/"
        "v1\",\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"%08x-1111\",\"controller\":true}],",
        i, i % 20, (unsigned)i, 1000 + i, i, (unsigned)i);
    add_managed_fields(out, i);
    buf_text(out, "},");
    add_spec(out, i);
    buf_text(out, "\"status\":{\"phase\":\"Running\",\"conditions\":[");
    static const char *const types[] = {"Initialized", "Ready", "ContainersReady", "PodScheduled"};
    for (int c = 0; c < 4; c++)
        buf_printf(out,
                   "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-"
                   "01T00:00:%02dZ\"}",
                   c ? "," : "", types[c], i % 60);
    buf_printf(out,
               "],\"hostIP\":\"10.0.0.%d\",\"podIP\":\"10.1.%d.%d\",\"startTime\":\"2026-01-01T00:00:00Z\","
               "\"containerStatuses\":["
               "{\"name\":\"worker\",\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:01Z\"}},\"lastState\":{},"
               "\"ready\":true,"
               "\"restartCount\":0,\"image\":\"registry.example.com/team/"
               "train:2026.1\",\"imageID\":\"sha256:0123456789abcdef\","
               "\"containerID\":\"containerd://0123456789abcdef\",\"started\":true}],\"qosClass\":\"Guaranteed\"}}",
               i % 250, i / 250, i % 250);
}

struct taken {
    uint64_t pods_n, bytes_n, gpus_n;
    struct buf scratch;
};

static void take_text(struct taken *t, struct json_reader *r)
{
    struct bytes text;
    if (json_reader_string(r, &t->scratch, &text))
        t->bytes_n += text.n;
}

static void take_amounts(struct taken *t, struct json_reader *r)
{
    struct bytes key;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        t->gpus_n += bytes_is(key, "nvidia.com/gpu");
        take_text(t, r);
    }
}

static void take_resources(struct taken *t, struct json_reader *r)
{
    struct bytes key;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key))
        if (bytes_is(key, "requests"))
            take_amounts(t, r);
        else
            json_reader_skip(r);
}

static void take_containers(struct taken *t, struct json_reader *r)
{
    struct bytes key;
    if (!json_reader_array(r))
        return;
    while (json_reader_item(r)) {
        if (!json_reader_object(r))
            continue;
        while (json_reader_key(r, &key))
            if (bytes_is(key, "resources"))
                take_resources(t, r);
            else if (bytes_is(key, "name") || bytes_is(key, "image"))
                take_text(t, r);
            else
                json_reader_skip(r);
    }
}

static void take_section(struct taken *t, struct json_reader *r)
{
    static const char *const wanted[] = {"name",     "namespace",     "uid",   "resourceVersion", "creationTimestamp",
                                         "nodeName", "schedulerName", "phase", "podIP",           "restartPolicy"};
    struct bytes key;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        bool hit = false;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted && !hit; i++)
            hit = bytes_is(key, wanted[i]);
        if (hit)
            take_text(t, r);
        else if (bytes_is(key, "labels") || bytes_is(key, "nodeSelector"))
            take_amounts(t, r);
        else if (bytes_is(key, "containers"))
            take_containers(t, r);
        else
            json_reader_skip(r);
    }
}

static int take_pod(void *arg, struct bytes value)
{
    struct taken *t = arg;
    struct json_reader r;
    struct bytes key;
    json_reader_init(&r, value);
    if (json_reader_object(&r))
        while (json_reader_key(&r, &key))
            take_section(t, &r);
    t->pods_n++;
    return r.failed ? -E_PROTO : 0;
}

static void print_figure(const char *name, uint64_t bytes, int64_t us)
{
    printf("{\"name\":\"%s\",\"value\":%.0f,\"unit\":\"MB/s\"}\n", name, (double)bytes / (double)us);
}

static void fail(const char *what)
{
    fprintf(stderr, "bench json: %s\n", what);
    exit(1);
}

static void bench_list(const char *name, struct bytes list, size_t chunk_bytes)
{
    int64_t start_us = clock_monotonic_us(), us;
    uint64_t bytes = 0;
    struct taken t = {0};
    do {
        struct json_splitter *s = json_splitter_new(JSON_SPLIT_LIST, 3u << 20, take_pod, &t);
        for (size_t at = 0; at < list.n; at += chunk_bytes) {
            size_t n = list.n - at < chunk_bytes ? list.n - at : chunk_bytes;
            if (json_splitter_feed(s, (struct bytes){list.data + at, n}, NULL) < 0)
                fail("the list was refused");
        }
        if (json_splitter_finish(s, NULL, NULL) < 0)
            fail("the list does not end");
        json_splitter_free(s);
        bytes += list.n;
    } while ((us = clock_monotonic_us() - start_us) < LEAST_US);
    if (t.pods_n % PODS || t.gpus_n != t.pods_n)
        fail("wrong number of pods or GPUs");
    buf_free(&t.scratch);
    print_figure(name, bytes, us);
}

static void bench_tree(struct bytes pod)
{
    struct arena *a = arena_new();
    struct buf out = {0};
    int64_t start_us = clock_monotonic_us(), us;
    uint64_t bytes = 0;
    struct json *tree = NULL;
    do {
        for (int i = 0; i < 100; i++) {
            arena_reset(a);
            if (!(tree = json_parse(a, pod, NULL, NULL)))
                fail("the pod was refused");
        }
        bytes += 100 * pod.n;
    } while ((us = clock_monotonic_us() - start_us) < LEAST_US);
    print_figure("json.parse.tree", bytes, us);
    start_us = clock_monotonic_us();
    bytes = 0;
    do {
        buf_clear(&out);
        json_write(&out, tree);
        bytes += out.n;
    } while ((us = clock_monotonic_us() - start_us) < LEAST_US);
    print_figure("json.write", bytes, us);
    if (!bytes_equal(buf_view(&out), pod))
        fail("the pod was not printed as it was read");
    buf_free(&out);
    arena_free(a);
}

static void print_ratio(const char *name, const char *what, double value)
{
    printf("{\"name\":\"%s%s\",\"value\":%.2f,\"unit\":\"bytes/byte\"}\n", name, what, value);
}

/* One body, read and written again and again; by yyjson with numbers as they are written, as the tree keeps them. */
static void bench_body(const char *name, struct bytes text)
{
    char full[64];
    struct buf out = {0};
    struct arena *a = NULL;
    struct json *tree = NULL;
    int64_t start_us = clock_monotonic_us(), us;
    uint64_t bytes = 0;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, held = 0;
    do {
        arena_free(a);
        a = arena_new();
        if (!(tree = json_parse(a, text, NULL, NULL)))
            fail("a body was refused");
        held = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        bytes += text.n;
    } while ((us = clock_monotonic_us() - start_us) < LEAST_US);
    print_figure(name, bytes, us);
    print_ratio(name, ".memory", (double)held / (double)text.n);
    for (start_us = clock_monotonic_us(), bytes = 0; (us = clock_monotonic_us() - start_us) < LEAST_US; bytes += out.n) {
        buf_clear(&out);
        json_write(&out, tree);
    }
    snprintf(full, sizeof full, "%s.write", name);
    print_figure(full, bytes, us);
    buf_free(&out);
    arena_free(a);
#ifdef HAVE_YYJSON
    yyjson_doc *doc = NULL;
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (start_us = clock_monotonic_us(), bytes = 0; (us = clock_monotonic_us() - start_us) < LEAST_US; bytes += text.n) {
        yyjson_doc_free(doc);
        if (!(doc = yyjson_read(text.data, text.n, YYJSON_READ_NUMBER_AS_RAW)))
            fail("yyjson refused a body");
        held = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    }
    snprintf(full, sizeof full, "%s.yyjson", name);
    print_figure(full, bytes, us);
    print_ratio(full, ".memory", (double)held / (double)text.n);
    for (start_us = clock_monotonic_us(), bytes = 0; (us = clock_monotonic_us() - start_us) < LEAST_US;) {
        size_t n = 0;
        free(yyjson_write(doc, 0, &n));
        bytes += n;
    }
    snprintf(full, sizeof full, "%s.yyjson.write", name);
    print_figure(full, bytes, us);
    /* What a server does with a body: a tree that can be changed. */
    for (start_us = clock_monotonic_us(), bytes = 0; (us = clock_monotonic_us() - start_us) < LEAST_US; bytes += text.n) {
        yyjson_doc *read = yyjson_read(text.data, text.n, YYJSON_READ_NUMBER_AS_RAW);
        yyjson_mut_doc *changeable = yyjson_doc_mut_copy(read, NULL);
        held = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        yyjson_mut_doc_free(changeable);
        yyjson_doc_free(read);
    }
    snprintf(full, sizeof full, "%s.yyjson.changeable", name);
    print_figure(full, bytes, us);
    yyjson_doc_free(doc);
#endif
}

static void bench_bodies(void)
{
    struct buf list = {0}, map = {0};
    buf_text(&list, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[");
    for (int i = 0; i < 50; i++) {
        buf_text(&list, i ? "," : "");
        add_pod(&list, i);
    }
    buf_text(&list, "]}");
    buf_text(&map, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"scripts\"},\"data\":{");
    for (int i = 0; map.n < 1000000; i++) {
        buf_printf(&map, "%s\"script-%d.sh\":\"", i ? "," : "", i);
        for (int line = 0; line < 200; line++)
            buf_printf(&map, "echo \\\"step %d of %d\\\" && python3 /home/train.py --epochs 90 --data /data/imagenet\\n", line, i);
        buf_text(&map, "\"");
    }
    buf_text(&map, "}}");
    bench_body("json.tree.pods", buf_view(&list));
    bench_body("json.tree.configmap", buf_view(&map));
    buf_free(&list);
    buf_free(&map);
}

int main(void)
{
    struct buf list = {0}, pod = {0};
    bench_bodies();
    add_pod(&pod, 4711);
    bench_tree(buf_view(&pod));
    buf_text(&list,
             "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"4711\"},\"items\":[");
    for (int i = 0; i < PODS; i++) {
        if (i)
            buf_char(&list, ',');
        add_pod(&list, i);
    }
    buf_text(&list, "]}\n");
    bench_list("json.list.64k", buf_view(&list), CHUNK_BYTES);
    bench_list("json.list.page", buf_view(&list), list.n);
    fprintf(stderr, "pod: %zu bytes\n", pod.n);
    buf_free(&list);
    buf_free(&pod);
    return 0;
}
