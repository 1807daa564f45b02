/* logs.c - what a container printed: all of it, its end, or as it comes (-f)
 *
 * Who runs the pods gives the log so far (struct apiserver_node_ops), each line with its time in front; here lines are chosen.
 * WHY polling for -f: a simulated log is a function of time, nobody could tell when it grows.
 */
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/verbs/subresource.h"
#include "base/clock.h"

#define FOLLOW_POLL_MS 200

struct log_options {
    const char *container;
    bool follow, previous, timestamps;
    int64_t tail_lines;  /* -1 = all */
    int64_t limit_bytes; /* -1 = none */
    int64_t since_ms;    /* wall time; INT64_MIN = from the start */
};

struct log_follow {
    struct apiserver *server;
    struct http_exchange *exchange;
    struct loop_timer *timer;
    struct buf ready;   /* chosen text, not yet taken */
    size_t taken, seen; /* bytes of ready taken; bytes of the raw log looked at */
    bool ended;
    struct log_options options;
    char *ns, *name, *container;
};

static bool log_read(struct apiserver *s, const char *ns, const char *name, const struct log_options *o,
                     struct buf *out)
{
    const struct apiserver_node_ops *ops = s->config.nodes;
    return ops && ops->pod_log && ops->pod_log(s->config.nodes_ctx, ns, name, o->container, o->previous, out);
}

/* Whole lines of raw that are new enough, without their times unless asked for. */
static void lines_choose(struct bytes raw, const struct log_options *o, struct buf *out)
{
    for (size_t at = 0; at < raw.n;) {
        const char *line = raw.data + at, *end = memchr(line, '\n', raw.n - at);
        size_t n = end ? (size_t)(end - line) + 1 : raw.n - at;
        const char *space = memchr(line, ' ', n);
        int64_t time_ms;
        bool timed = space && time_parse((struct bytes){line, (size_t)(space - line)}, &time_ms);
        size_t skip = timed && !o->timestamps ? (size_t)(space - line) + 1 : 0;
        if (!timed || time_ms >= o->since_ms)
            buf_add(out, line + skip, n - skip);
        at += n;
    }
}

/* Where the last n lines of text start. */
static size_t tail_start(struct bytes text, int64_t n)
{
    size_t at = text.n;
    if (n < 0)
        return 0;
    if (n == 0)
        return text.n;
    if (at && text.data[at - 1] == '\n')
        at--;
    for (; at > 0; at--)
        if (text.data[at - 1] == '\n' && --n == 0)
            return at;
    return 0;
}

/* ---- following ---- */

static void follow_closed(void *arg)
{
    struct log_follow *f = arg;
    loop_timer_free(f->timer);
    buf_free(&f->ready);
    free(f->ns);
    free(f->name);
    free(f->container);
    free(f);
}

static ssize_t follow_pull(void *arg, char *out, size_t max)
{
    struct log_follow *f = arg;
    size_t n = f->ready.n - f->taken;
    if (n == 0)
        return f->ended ? -1 : 0;
    n = n < max ? n : max;
    memcpy(out, f->ready.data + f->taken, n);
    f->taken += n;
    if (f->taken == f->ready.n) {
        buf_clear(&f->ready);
        f->taken = 0;
    }
    return (ssize_t)n;
}

static bool container_ended(struct apiserver *s, const struct log_follow *f)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *pod = object_read_plural(s, a, "", "pods", f->ns, f->name);
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return !pod || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void follow_poll(void *arg)
{
    struct log_follow *f = arg;
    struct buf raw = {0};
    bool ended = container_ended(f->server, f); /* before reading: what it printed last is in the log then */
    if (log_read(f->server, f->ns, f->name, &f->options, &raw) && raw.n > f->seen) {
        lines_choose((struct bytes){raw.data + f->seen, raw.n - f->seen}, &f->options, &f->ready);
        f->seen = raw.n;
    }
    buf_free(&raw);
    f->ended = ended;
    if (ended)
        loop_timer_stop(f->timer);
    if (ended || f->ready.n > f->taken)
        http_stream_wake(f->exchange);
}

static void follow_start(struct apiserver *s, struct http_exchange *x, const struct request_info *ri,
                         const struct log_options *o, struct buf *text, size_t seen)
{
    struct log_follow *f = mem_zero(1, sizeof *f);
    f->server = s;
    f->exchange = x;
    f->options = *o;
    f->options.container = f->container = mem_text(o->container);
    f->ns = mem_text(ri->ns);
    f->name = mem_text(ri->name);
    f->ready = *text;
    f->seen = seen;
    *text = (struct buf){0};
    f->timer = loop_timer_new(s->loop, follow_poll, f);
    loop_timer_start(f->timer, FOLLOW_POLL_MS, FOLLOW_POLL_MS);
    http_stream(x, 200, "text/plain", follow_pull, follow_closed, f);
}

/* ---- the request ---- */

static const struct json *container_find(const struct json *pod, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < 3; i++)
        JSON_EACH (container, json_path(pod, "spec", lists[i], NULL)) {
            if (strcmp(json_get_text(container, "name", ""), name) == 0)
                return container;
        }
    return NULL;
}

/* The container asked for, or the pod's only or default one. NULL: answered. */
static const char *container_choose(struct http_exchange *x, const struct request_info *ri, const struct json *pod)
{
    const char *name = http_query(&x->request, "container");
    const struct json *containers = json_path(pod, "spec", "containers", NULL);
    if (!name || !*name)
        name =
            json_text(json_path(pod, "metadata", "annotations", "kubectl.kubernetes.io/default-container", NULL), "");
    if (!*name && containers && containers->n == 1)
        return json_get_text(containers->first, "name", "");
    if (!*name) {
        struct buf names = {0};
        JSON_EACH (container, containers) {
            buf_printf(&names, "%s%s", names.n ? " " : "", json_get_text(container, "name", ""));
        }
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "a container name must be specified for pod %s, choose one of: [%s]", ri->name,
                     names.data ? names.data : "");
        buf_free(&names);
        return NULL;
    }
    if (container_find(pod, name))
        return name;
    status_reply(x, 400, "BadRequest", ri, NULL, "container %s is not valid for pod %s", name, ri->name);
    return NULL;
}

static bool option_int(struct http_exchange *x, const struct request_info *ri, const char *key, int64_t *ret_value)
{
    const char *text = http_query(&x->request, key);
    if (!text || !*text)
        return true;
    if (bytes_int64(bytes_of(text), ret_value) && *ret_value >= 0)
        return true;
    status_reply(x, 400, "BadRequest", ri, NULL, "%s: \"%.60s\" is no whole number from 0 on", key, text);
    return false;
}

static bool options_read(struct http_exchange *x, const struct request_info *ri, const struct json *pod,
                         struct log_options *o)
{
    const struct http_request *r = &x->request;
    const char *since = http_query(r, "sinceTime");
    int64_t seconds = -1;
    *o = (struct log_options){.tail_lines = -1, .limit_bytes = -1, .since_ms = INT64_MIN};
    o->follow = request_bool(http_query(r, "follow"));
    o->previous = request_bool(http_query(r, "previous"));
    o->timestamps = request_bool(http_query(r, "timestamps"));
    if (!option_int(x, ri, "tailLines", &o->tail_lines) || !option_int(x, ri, "limitBytes", &o->limit_bytes) ||
        !option_int(x, ri, "sinceSeconds", &seconds))
        return false;
    if (since && *since && !time_parse(bytes_of(since), &o->since_ms)) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "sinceTime: \"%.60s\" is no RFC 3339 time such as 2026-01-31T12:00:00Z", since);
        return false;
    }
    if (seconds >= 0)
        o->since_ms = loop_wall_ms(ri->server->loop) - seconds * 1000;
    o->container = container_choose(x, ri, pod);
    return o->container != NULL;
}

/* No log: because the pod has no node yet, waits, or never restarted. */
static void nothing_reply(struct http_exchange *x, const struct request_info *ri, const struct json *pod,
                          const struct log_options *o)
{
    const char *reason = "ContainerCreating";
    JSON_EACH (status, json_path(pod, "status", "containerStatuses", NULL)) {
        if (strcmp(json_get_text(status, "name", ""), o->container) == 0)
            reason = json_text(json_path(status, "state", "waiting", "reason", NULL), reason);
    }
    if (o->previous)
        status_reply(x, 400, "BadRequest", ri, NULL, "previous terminated container \"%s\" in pod \"%s\" not found",
                     o->container, ri->name);
    else if (!*json_text(json_path(pod, "spec", "nodeName", NULL), ""))
        http_reply_text(x, 200, "text/plain", "");
    else
        status_reply(x, 400, "BadRequest", ri, NULL, "container \"%s\" in pod \"%s\" is waiting to start: %s",
                     o->container, ri->name, reason);
}

void logs_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct log_options o;
    _cleanup_buf_ struct buf raw = {0};
    _cleanup_buf_ struct buf text = {0};
    const struct json *pod = object_read(s, x->request.arena, ri->kind, ri->ns, ri->name);
    if (strcmp(x->request.method, "GET") != 0) {
        status_reply(x, 405, "MethodNotAllowed", ri, NULL, "a log can only be read: use GET");
        return;
    }
    if (!pod) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    if (!options_read(x, ri, pod, &o))
        return;
    if (!log_read(s, ri->ns, ri->name, &o, &raw)) {
        nothing_reply(x, ri, pod, &o);
        return;
    }
    lines_choose(buf_view(&raw), &o, &text);
    size_t start = tail_start(buf_view(&text), o.tail_lines);
    if (start)
        memmove(text.data, text.data + start, text.n - start);
    text.n -= start;
    if (o.follow && o.limit_bytes < 0) {
        follow_start(s, x, ri, &o, &text, raw.n);
        return;
    }
    if (o.limit_bytes >= 0 && (int64_t)text.n > o.limit_bytes)
        text.n = (size_t)o.limit_bytes;
    http_reply(x, 200, "text/plain", blob_new(text.data, text.n));
}
