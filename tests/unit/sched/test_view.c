/* The cluster as the web page shows it: rows, what differs between passes, who looks and who is let go; with the page's own files. */
#include "sched/view/view.h"
#include <stdio.h>
#include "stage.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

/* One request and what came of it; a stream is read with pull(). */
struct asked {
    struct http_exchange x;
    int status;
    char type[80], headers[1200];
    struct buf body;
    http_pull_fn pull;
    void (*closed)(void *arg);
    void *arg;
};

static void on_header(struct http_exchange *x, const char *name, const char *value)
{
    struct asked *q = (struct asked *)x;
    size_t n = strlen(q->headers);
    (void)snprintf(q->headers + n, sizeof q->headers - n, "%s: %s\n", name, value);
}

static void on_reply(struct http_exchange *x, int status, const char *type, struct blob *body)
{
    struct asked *q = (struct asked *)x;
    q->status = status;
    (void)snprintf(q->type, sizeof q->type, "%s", type ? type : "");
    if (body)
        buf_add(&q->body, body->data, body->n);
    blob_unref(body);
}

static void on_stream(struct http_exchange *x, int status, const char *type, http_pull_fn pull, void (*closed)(void *arg), void *arg)
{
    struct asked *q = (struct asked *)x;
    on_reply(x, status, type, NULL);
    q->pull = pull;
    q->closed = closed;
    q->arg = arg;
}

static void on_wake(struct http_exchange *x)
{
    (void)x;
}

static const struct http_exchange_ops ops = {on_header, on_reply, on_stream, on_wake, NULL, NULL};
static struct view *view;

static void ask_as(struct asked *q, const char *method, const char *path, const char *key, const char *value, const char *header,
                   const char *header_value)
{
    struct http_param *params = arena_zero(w.a, 2, sizeof *params);
    *q = (struct asked){.x.ops = &ops};
    params[0] = (struct http_param){key, value};
    params[1] = (struct http_param){header, header_value};
    q->x.request = (struct http_request){.method = method,
                                         .path = path,
                                         .query = params,
                                         .query_n = key != NULL,
                                         .headers = params + 1,
                                         .headers_n = header != NULL,
                                         .arena = w.a};
    assert_true(view_handle(view, &q->x));
}

static void ask(struct asked *q, const char *path)
{
    ask_as(q, "GET", path, NULL, NULL, NULL, NULL);
}

static const struct json *answer(const char *path)
{
    struct asked q;
    struct err e = {0};
    ask(&q, path);
    assert_int_equal(q.status, 200);
    const struct json *tree = json_parse(w.a, (struct bytes){arena_text_n(w.a, q.body.data, q.body.n), q.body.n}, NULL, &e);
    if (!tree)
        fail_msg("%s: %s", path, e.text);
    buf_free(&q.body);
    return tree;
}

static const struct json *row_in(const struct json *message, const char *id)
{
    JSON_EACH (row, json_get(message, "set"))
        if (!strcmp(json_get_text(row, "id", ""), id))
            return row;
    return NULL;
}

static const struct json *row(const char *id)
{
    return row_in(answer("/ui/api/cluster"), id);
}

/* The row of that kind whose member has this text. */
static const struct json *row_of(const char *kind, const char *key, const char *text)
{
    JSON_EACH (one, json_get(answer("/ui/api/cluster"), "set"))
        if (!strcmp(json_get_text(one, "k", ""), kind) && strstr(json_get_text(one, key, ""), text))
            return one;
    return NULL;
}

/* The next message of a stream, as its client reads it; NULL: none yet. */
static const struct json *message(struct asked *q)
{
    struct buf text = {0};
    char piece[37]; /* few bytes at a time */
    while (text.n < 2 || strncmp(text.data + text.n - 2, "\n\n", 2) != 0) {
        ssize_t n = q->pull(q->arg, piece, sizeof piece);
        if (n == 0 && text.n == 0)
            return NULL;
        assert_true(n > 0);
        buf_add(&text, piece, (size_t)n);
    }
    assert_true(text_starts(text.data, "data: "));
    const struct json *tree = json_parse(w.a, bytes_of(arena_text_n(w.a, text.data + 6, text.n - 8)), NULL, NULL);
    assert_non_null(tree);
    buf_free(&text);
    return tree;
}

static void pod(const char *name, int gpus)
{
    create(arena_printf(
        w.a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{\"containers\":[{"
        "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}",
        name, gpus));
    run(2000);
}

static void phase(const char *name, const char *text)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, arena_printf(w.a, PODS "/%s/status", name),
               bytes_of(arena_printf(w.a, "{\"status\":{\"phase\":\"%s\",\"startTime\":\"2026-01-01T00:00:05Z\"}}", text)), NULL, NULL);
    run(2000);
}

static void gone(const char *name)
{
    kube_delete(w.user, arena_printf(w.a, PODS "/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(2000);
}

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 2);
    queue();
    scheduler_start();
    view = view_new(w.loop, w.scheduler);
    run(1000);
    return 0;
}

static int close_all(void **state)
{
    view_free(view);
    return teardown(state);
}

static void rows_say_what_the_scheduler_knows(void **state)
{
    (void)state;
    pod("a", 1);
    pod("b", 2);
    const struct json *node = row("n/n0"), *a = row("j/pod/n/a"), *b = row("j/pod/n/b"), *all = row("m/"), *queue = row("q/cq");
    assert_int_equal(json_get_int64(node, "ok", 0), 1);
    assert_string_equal(json_text(json_item(json_item(json_get(node, "h"), 0), 1), ""), "n/a");
    assert_int_equal(json_int64(json_item(json_item(json_get(node, "t"), 0), 2), 0), 1);
    assert_string_equal(json_get_text(a, "s", ""), "starting");
    assert_int_equal(json_get_int64(a, "g", 0), 1);
    assert_string_equal(json_get_text(b, "s", ""), "waiting");
    assert_non_null(strstr(json_get_text(b, "x", ""), "Insufficient nvidia.com/gpu"));
    assert_int_equal(json_get_int64(all, "n", 0), 2000);
    assert_int_equal(json_get_int64(all, "h", 0), 1000);
    assert_int_equal(json_get_int64(all, "w", 0), 2000);
    assert_int_equal(json_int64(json_item(json_item(json_get(queue, "rows"), 0), 2), 0), 4);
    assert_string_equal(json_text(json_item(json_item(json_get(queue, "lq"), 0), 0), ""), "n/lq");
}

static void annotate(const char *path, const char *key, const char *value)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(arena_printf(w.a, "{\"metadata\":{\"annotations\":{\"%s\":%s}}}", key, value)),
               NULL, NULL);
    run(2000);
}

static void queues_say_by_which_policy_nodes_are_chosen(void **state)
{
    static const char path[] = KUEUE "/clusterqueues/cq";
    (void)state;
    assert_string_equal(json_get_text(row("m/"), "pol", ""), "capstan");
    assert_null(json_get(row("q/cq"), "pol"));
    annotate(path, "capstan.dev/placement", "\"fgd+load\"");
    assert_string_equal(json_get_text(row("q/cq"), "pol", ""), "fgd+load");
    assert_null(json_get(row("q/cq"), "polx"));
    annotate(path, "capstan.dev/placement", "\"<b>\"");
    assert_string_equal(json_get_text(row("q/cq"), "pol", ""), "fgd+load");
    assert_int_equal(json_get_int64(row("q/cq"), "polx", 0), 1);
    annotate(path, "capstan.dev/placement", "null");
    assert_null(json_get(row("q/cq"), "pol"));
    assert_null(json_get(row("q/cq"), "polx"));
}

/* The amounts of one resource in its row: "nominal reserved most"; "": there are none. */
static const char *amounts_of(const char *id, const char *resource)
{
    JSON_EACH (one, json_get(row(id), "rows"))
        if (strcmp(json_text(json_item(one, 1), ""), resource) == 0)
            return arena_printf(w.a, "%lld %lld %lld", (long long)json_int64(json_item(one, 2), 0),
                                (long long)json_int64(json_item(one, 3), 0), (long long)json_int64(json_item(one, 5), 0));
    return "";
}

static void queues_of_kai(void **state)
{
    (void)state;
    static const char queue_text[] = "{\"apiVersion\":\"scheduling.run.ai/v2\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
                                     "\"resources\":{\"gpu\":{\"quota\":1,\"limit\":%d},\"cpu\":{\"quota\":-1,\"limit\":-1},\"memory\":{\"quota\":-1,"
                                     "\"limit\":-1}}}}";
    create(arena_printf(w.a, queue_text, "org", "", 2));
    create(arena_printf(w.a, queue_text, "team", "\"parentQueue\":\"org\",", 2));
    create("{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":1,\"queue\":\"team\"}}");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"g0\",\"namespace\":\"n\",\"annotations\":{\"pod-group-name\":\"g\"}},"
           "\"spec\":{\"schedulerName\":\"kai-scheduler\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
           "\"nvidia.com/gpu\":\"1\"}}}]}}");
    run(3000);
    assert_string_equal(json_get_text(row("q/kai:team"), "kd", ""), "KAI Queue");
    assert_string_equal(json_get_text(row("q/kai:team"), "n", ""), "team");
    assert_string_equal(json_get_text(row("q/kai:team"), "co", ""), "org");
    assert_string_equal(amounts_of("q/kai:team", "gpu"), "1000 1000 2000");
    assert_string_equal(amounts_of("q/kai:team", "nvidia.com/gpu"), "");
    assert_int_equal(json_get_int64(row("q/kai:team"), "adm", 0), 1);
    assert_int_equal(json_get_int64(row("q/kai:team"), "act", 0), 1);
    assert_string_equal(json_get_text(row("q/kai:org"), "co", "none"), "none");
    assert_int_equal(json_get_int64(row("q/kai:org"), "act", 0), 1);
    kube_delete(w.user, "/apis/scheduling.run.ai/v2/queues/team", BYTES("{}"), NULL, NULL);
    run(3000);
    assert_null(row("q/kai:team"));
}

#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups"

static void member(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"scheduling.x-k8s.io/pod-group\":\"g\"}},\"spec\":{\"schedulerName\":\"capstan\",\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                        name));
}

/* It runs: that it hangs, or has lost somebody whose place is kept, is said all the same. */
static void what_is_wrong_with_those_that_run(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{"
           "\"minMember\":2}}");
    member("a");
    member("b");
    run(2000);
    phase("a", "Running");
    phase("b", "Running");
    assert_string_equal(json_get_text(row("j/coscheduling/n/g"), "s", ""), "running");
    assert_null(json_get(row("j/coscheduling/n/g"), "x"));
    annotate(GROUPS "/g", "capstan.dev/hung", "\"2026-01-01T00:10:00Z\"");
    assert_int_equal(json_get_int64(row("j/coscheduling/n/g"), "hg", 0), 1767226200000);
    assert_non_null(strstr(json_get_text(row("j/coscheduling/n/g"), "x", ""), "it hangs"));
    assert_non_null(row_of("e", "x", "PodGroup n/g hangs"));
    annotate(GROUPS "/g", "capstan.dev/hung", "null");
    assert_null(json_get(row("j/coscheduling/n/g"), "hg"));
    assert_non_null(row_of("e", "x", "PodGroup n/g works again"));
    gone("b");
    assert_non_null(strstr(json_get_text(row("j/coscheduling/n/g"), "x", ""), "1 of 2 pods are left"));
}

/* Two MIG instances of one GPU, a whole one; the first is busy, the last is not well. */
static void devices_are_told_one_by_one(void **state)
{
    (void)state;
    create(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{\"nvidia.com/gpu.product\":\"A100\"},\"annotations\":{"
        "\"capstan.dev/devices\":\"[{\\\"r\\\":\\\"nvidia.com/mig-1g.5gb\\\",\\\"id\\\":\\\"M-a\\\",\\\"gpu\\\":0,\\\"link\\\":0,\\\"healthy\\\":true},"
        "{\\\"r\\\":\\\"nvidia.com/mig-1g.5gb\\\",\\\"id\\\":\\\"M-b\\\",\\\"gpu\\\":0,\\\"link\\\":0,\\\"healthy\\\":true},"
        "{\\\"r\\\":\\\"amd.com/gpu\\\",\\\"id\\\":\\\"G-c\\\",\\\"gpu\\\":1,\\\"link\\\":0,\\\"healthy\\\":false}]\","
        "\"capstan.dev/gpu-feedback\":\"{\\\"at\\\":1767225600,\\\"period\\\":15,\\\"units\\\":[{\\\"id\\\":\\\"M-a\\\",\\\"activity\\\":0.5,"
        "\\\"memory\\\":[10,4864],\\\"margin\\\":30,\\\"throttled\\\":false,\\\"xid\\\":0,\\\"xidAt\\\":0}]}\"}},\"status\":{\"allocatable\":{\"cpu\":\"8\","
        "\"memory\":\"8Gi\",\"pods\":\"10\",\"nvidia.com/mig-1g.5gb\":\"2\",\"amd.com/gpu\":\"0\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    create(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"m\",\"namespace\":\"n\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"resources\":{\"limits\":{\"nvidia.com/mig-1g.5gb\":\"1\"}}}]}}");
    run(2000);
    const struct json *node = row("n/n1"), *devices = json_get(node, "g"), *sick = json_item(devices, 0), *held = json_item(devices, 1);
    assert_string_equal(json_get_text(node, "m", ""), "A100");
    assert_int_equal(devices->n, 3);
    assert_int_equal(json_int64(json_item(sick, 2), -1), 0);
    assert_int_equal(json_int64(json_item(sick, 3), 0), -1);
    assert_int_equal(json_int64(json_item(held, 0), -1), 0);
    assert_int_equal(json_int64(json_item(held, 3), -1), 0);
    assert_int_equal(json_int64(json_item(held, 4), -1), 500);
    assert_string_equal(json_text(json_item(json_item(json_get(node, "h"), 0), 0), ""), "pod/n/m");
    assert_int_equal(json_get_int64(row("m/"), "h", 0), 500); /* half a GPU */
    assert_int_equal(json_get_int64(row("m/"), "n", 0), 4000);
    assert_int_equal(json_get_int64(row("m/"), "sick", 0), 1);
}

static const struct json *sessions_of(const char *node, int wanted)
{
    struct asked q;
    ask_as(&q, "GET", "/ui/api/sessions", node ? "name" : NULL, node, NULL, NULL);
    run(1000);
    assert_int_equal(q.status, wanted);
    const struct json *tree = json_parse(w.a, bytes_of(arena_text_n(w.a, q.body.data, q.body.n)), NULL, NULL);
    buf_free(&q.body);
    return tree;
}

/* Asked of the API server when somebody wants to know; what is not understood is left out. */
static void sessions_are_what_the_agent_has_written(void **state)
{
    (void)state;
    assert_null(json_first(sessions_of("n0", 200)));
    (void)sessions_of("nowhere", 404);
    (void)sessions_of("n0,metadata.name=x", 404);
    (void)sessions_of(NULL, 400);
    annotate("/api/v1/nodes/n0", "capstan.dev/gpu-sessions",
             "\"{\\\"at\\\":1767225600,\\\"period\\\":15,\\\"sessions\\\":[{\\\"unit\\\":\\\"GPU-a\\\",\\\"pid\\\":7,\\\"command\\\":\\\"py\\\","
             "\\\"pod\\\":\\\"n/a\\\",\\\"memory\\\":9,\\\"busy\\\":50,\\\"since\\\":1767225599},7,{\\\"unit\\\":[],\\\"pid\\\":-1,\\\"since\\\":9223372036854775807}]}\"");
    const struct json *all = sessions_of("n0", 200), *first = json_item(json_get(all, "sessions"), 0), *bad = json_item(json_get(all, "sessions"), 1);
    assert_int_equal(json_get_int64(all, "at", 0), 1767225600000);
    assert_int_equal(json_get_int64(all, "period", 0), 15000);
    assert_int_equal(json_get(all, "sessions")->n, 2);
    assert_string_equal(json_get_text(first, "unit", ""), "GPU-a");
    assert_string_equal(json_get_text(first, "pod", ""), "n/a");
    assert_int_equal(json_get_int64(first, "busy", 0), 50);
    assert_int_equal(json_get_int64(first, "since", 0), 1767225599000);
    assert_int_equal(bad->n, 1);
    annotate("/api/v1/nodes/n0", "capstan.dev/gpu-sessions", "\"[not JSON\"");
    assert_null(json_first(sessions_of("n0", 200)));
}

static void who_asks_of_a_view_that_goes_is_told(void **state)
{
    struct asked all[65];
    (void)state;
    for (int i = 0; i < 65; i++)
        ask_as(&all[i], "GET", "/ui/api/sessions", "name", "n0", NULL, NULL);
    assert_int_equal(all[63].status, 0);
    assert_int_equal(all[64].status, 503); /* so many at once */
    view_free(view);
    run(1000);
    for (int i = 0; i < 65; i++) {
        assert_int_equal(all[i].status, 503);
        buf_free(&all[i].body);
    }
    view = view_new(w.loop, w.scheduler);
}

static void why_has_the_tree(void **state)
{
    struct asked q;
    (void)state;
    pod("b", 3);
    ask_as(&q, "GET", "/ui/api/why", "job", "pod/n/b", NULL, NULL);
    const struct json *tree = json_parse(w.a, buf_view(&q.body), NULL, NULL);
    assert_string_equal(json_text(json_path(tree, "reason", "code", NULL), ""), "placement-failed");
    assert_string_equal(json_text(json_item(json_item(json_get(tree, "pods"), 0), 2), ""), "Pending");
    buf_free(&q.body);
    ask_as(&q, "GET", "/ui/api/why", "job", "pod/n/none", NULL, NULL);
    assert_int_equal(q.status, 404);
    buf_free(&q.body);
}

static void a_stream_brings_what_is_other(void **state)
{
    struct asked q;
    (void)state;
    ask(&q, "/ui/api/stream");
    assert_string_equal(q.type, "text/event-stream");
    assert_int_equal(view_viewers(view), 1);
    assert_true(json_get_bool(message(&q), "full", false));
    assert_null(message(&q));
    pod("a", 1);
    const struct json *first = message(&q);
    assert_non_null(row_in(first, "j/pod/n/a"));
    assert_non_null(row_in(first, "n/n0"));
    assert_null(row_in(first, "q/cq")); /* says what it said */
    while (message(&q))
        ;
    gone("a");
    bool told = false;
    for (const struct json *one; (one = message(&q));)
        JSON_EACH (id, json_get(one, "del"))
            told |= !strcmp(json_text(id, ""), "j/pod/n/a");
    assert_true(told);
    q.closed(q.arg);
    assert_int_equal(view_viewers(view), 0);
}

static void what_has_run_stays(void **state)
{
    (void)state;
    assert_null(row("j/pod/n/a")); /* what is there at first is no event */
    pod("a", 1);
    phase("a", "Running");
    assert_string_equal(json_get_text(row("j/pod/n/a"), "s", ""), "running");
    assert_int_equal(json_get_int64(row("j/pod/n/a"), "b", 0), 1767225605000);
    run(11000); /* a pass that nobody asks for, and whose texts are forgotten */
    assert_string_equal(json_get_text(row("j/pod/n/a"), "s", ""), "running");
    phase("a", "Succeeded");
    assert_string_equal(json_get_text(row("j/pod/n/a"), "s", ""), "done");
    gone("a");
    const struct json *ran = row_of("r", "n", "a");
    assert_non_null(ran);
    assert_string_equal(json_get_text(ran, "s", ""), "done");
    assert_int_equal(json_get_int64(ran, "g", 0), 1);
    assert_non_null(row_of("e", "x", "Pod n/a runs"));
    assert_non_null(row_of("u", "id", "u/s"));
}

static void who_does_not_read_is_let_go(void **state)
{
    struct asked slow, late;
    char piece[64];
    (void)state;
    ask(&slow, "/ui/api/stream");
    assert_true(slow.pull(slow.arg, piece, sizeof piece) > 0); /* a part of the first message, and no more */
    ask(&late, "/ui/api/stream");
    assert_non_null(message(&late)); /* reads that, and then nothing */
    for (int i = 0; i < 40; i++) {
        pod(arena_printf(w.a, "p%d", i), 1);
    }
    assert_int_equal(slow.pull(slow.arg, piece, sizeof piece), -1);
    assert_int_equal(late.pull(late.arg, piece, sizeof piece), -1);
    slow.closed(slow.arg);
    late.closed(late.arg);
    assert_int_equal(view_viewers(view), 0);
}

static void who_waits_hears_that_it_goes_on(void **state)
{
    struct asked q;
    char piece[64];
    (void)state;
    ask(&q, "/ui/api/stream");
    assert_non_null(message(&q));
    for (int i = 0; i < 30; i++) { /* usage comes every ten seconds: it is a message, too */
        run(1000);
        while (message(&q))
            ;
    }
    assert_int_equal(q.pull(q.arg, piece, sizeof piece), 0);
    q.closed(q.arg);
}

static void so_many_look_at_once(void **state)
{
    static struct asked all[VIEW_VIEWERS_MAX + 1];
    (void)state;
    for (int i = 0; i <= VIEW_VIEWERS_MAX; i++)
        ask(&all[i], "/ui/api/stream");
    assert_int_equal(all[VIEW_VIEWERS_MAX - 1].status, 200);
    assert_int_equal(all[VIEW_VIEWERS_MAX].status, 503);
    buf_free(&all[VIEW_VIEWERS_MAX].body);
    for (int i = 0; i < VIEW_VIEWERS_MAX; i++)
        all[i].closed(all[i].arg);
}

/* The view goes first: its streams end when their connections do. */
static void streams_outlive_the_view(void **state)
{
    struct asked q;
    char piece[64];
    (void)state;
    ask(&q, "/ui/api/stream");
    view_free(view);
    assert_int_equal(q.pull(q.arg, piece, sizeof piece), -1);
    q.closed(q.arg);
    view = view_new(w.loop, w.scheduler);
}

static void files_are_kept_by_browsers(void **state)
{
    struct asked q;
    (void)state;
    ask(&q, "/ui/");
    assert_true(text_starts(q.type, "text/html"));
    assert_non_null(strstr(q.headers, "default-src 'none'"));
    assert_non_null(memmem(q.body.data, q.body.n, "<!doctype html>", 15));
    char *etag = strstr(q.headers, "ETag: ") + 6;
    const char *known = arena_text_n(w.a, etag, (size_t)(strchr(etag, '\n') - etag));
    buf_free(&q.body);
    ask_as(&q, "GET", "/ui/", NULL, NULL, "if-none-match", known);
    assert_int_equal(q.status, 304);
    ask_as(&q, "GET", "/ui/", NULL, NULL, "accept-encoding", "br, gzip");
    assert_non_null(strstr(q.headers, "Content-Encoding: gzip"));
    assert_memory_equal(q.body.data, "\x1f\x8b", 2);
    buf_free(&q.body);
    ask_as(&q, "GET", "/ui/", NULL, NULL, "accept-encoding", "gzip;q=0, br");
    assert_null(strstr(q.headers, "Content-Encoding"));
    buf_free(&q.body);
}

static void other_paths_are_not_its_own(void **state)
{
    struct asked q;
    struct http_param html = {"accept", "text/html,*/*"}, json = {"accept", "application/json"};
    (void)state;
    q = (struct asked){.x = {.ops = &ops, .request = {.method = "GET", .path = "/uix", .arena = w.a}}};
    assert_false(view_handle(view, &q.x));
    q.x.request = (struct http_request){.method = "GET", .path = "/", .headers = &json, .headers_n = 1, .arena = w.a};
    assert_false(view_handle(view, &q.x));
    q.x.request.headers = &html;
    assert_true(view_handle(view, &q.x));
    assert_int_equal(q.status, 302);
    buf_free(&q.body);
    ask_as(&q, "POST", "/ui/api/cluster", NULL, NULL, NULL, NULL);
    assert_int_equal(q.status, 405);
    buf_free(&q.body);
    ask(&q, "/ui/../secret");
    assert_int_equal(q.status, 404);
    buf_free(&q.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_say_what_the_scheduler_knows, setup, close_all),
        cmocka_unit_test_setup_teardown(queues_say_by_which_policy_nodes_are_chosen, setup, close_all),
        cmocka_unit_test_setup_teardown(queues_of_kai, setup, close_all),
        cmocka_unit_test_setup_teardown(what_is_wrong_with_those_that_run, setup, close_all),
        cmocka_unit_test_setup_teardown(devices_are_told_one_by_one, setup, close_all),
        cmocka_unit_test_setup_teardown(sessions_are_what_the_agent_has_written, setup, close_all),
        cmocka_unit_test_setup_teardown(who_asks_of_a_view_that_goes_is_told, setup, close_all),
        cmocka_unit_test_setup_teardown(why_has_the_tree, setup, close_all),
        cmocka_unit_test_setup_teardown(a_stream_brings_what_is_other, setup, close_all),
        cmocka_unit_test_setup_teardown(what_has_run_stays, setup, close_all),
        cmocka_unit_test_setup_teardown(who_does_not_read_is_let_go, setup, close_all),
        cmocka_unit_test_setup_teardown(who_waits_hears_that_it_goes_on, setup, close_all),
        cmocka_unit_test_setup_teardown(so_many_look_at_once, setup, close_all),
        cmocka_unit_test_setup_teardown(streams_outlive_the_view, setup, close_all),
        cmocka_unit_test_setup_teardown(files_are_kept_by_browsers, setup, close_all),
        cmocka_unit_test_setup_teardown(other_paths_are_not_its_own, setup, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
