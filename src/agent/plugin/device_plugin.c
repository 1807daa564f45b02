/* device_plugin.c - one socket per resource, registered with whichever kubelet is there
 *
 * STATES of a port (one resource):
 *     no server ──listen──▶ IDLE ──Register──▶ ASKED ──answer──▶ REGISTERED
 *         ▲                  ▲◀── refused: back-off ──┘               │
 *         └── socket gone    └──── another kubelet.sock, or nobody has watched for WATCH_GRACE_MS
 */
#include "agent/plugin/device_plugin.h"
#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>
#include "agent/plugin/device_plugin_message.h"
#include "agent/plugin/device_plugin_watch.h"
#include "base/log.h"
#include "net/grpc/grpc.h"

enum {
    RETRY_MIN_MS = 2, /* a kubelet that has bound its socket and not yet begun to listen */
    RETRY_MAX_MS = 5000,
    SILENT_MS = 100, /* failures are not logged that go away within that time */
    REGISTER_TIMEOUT_MS = 15000, /* the kubelet takes up to 10 s to connect to us before it answers */
    WATCH_GRACE_MS = 10000,
};

enum port_state { PORT_IDLE, PORT_ASKED, PORT_REGISTERED };

struct plugin_port {
    struct device_plugin *plugin;
    struct plugin_port *next;
    char *name, *endpoint, *path;
    const struct resource *resource; /* of the plugin's table */
    struct grpc_server *server;      /* NULL: does not listen */
    struct grpc_stream **streams;    /* ListAndWatch calls */
    uint32_t streams_n, streams_cap;
    struct buf list;                 /* what they were last sent */
    enum port_state state;
    uint64_t call;
    struct loop_timer *timer;
    int64_t retry_ms, gave_up_ms; /* gave_up: the last question that was held back in vain */
    char said[ERR_TEXT_MAX]; /* the last failure that was logged */
};

/* A question that is held back. */
struct plugin_held {
    struct plugin_held *next;
    struct plugin_port *port;
    struct grpc_stream *stream;
    struct buf request;
    bool allocate; /* else GetPreferredAllocation */
    int64_t since_ms;
};

struct device_plugin {
    struct loop *loop;
    struct plugin_held *held; /* in the order in which they came */
    struct loop_timer *hold_timer;
    struct inventory *inventory;
    struct device_plugin_config config;
    char *directory, *kubelet_socket;
    struct plugin_watch *watch;
    struct grpc_client *kubelet;
    bool open; /* the directory is there */
    const struct inventory_snapshot *snapshot;
    const struct agent_config *agent_config;
    const struct machine *machine;
    const struct resource_table *table; /* NULL: nothing was set yet */
    struct plugin_port *ports;          /* in the order of their names */
    struct arena *arena;                /* of one call */
    struct device_plugin_counts counts;
};

/* ---- answers ---- */

static void call_options(void *ctx, struct grpc_stream *s, struct bytes request)
{
    _cleanup_buf_ struct buf out = {0};
    plugin_options_write(&out);
    grpc_reply(s, buf_view(&out));
}

static void call_pre_start(void *ctx, struct grpc_stream *s, struct bytes request)
{
    grpc_reply(s, BYTES("")); /* not asked for in the options; a kubelet that calls it anyway is let go on */
}

static void call_watch(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct plugin_port *p = ctx;
    MEM_RESERVE(p->streams, p->streams_cap, p->streams_n + 1);
    p->streams[p->streams_n++] = s;
    grpc_stream_replace(s, buf_view(&p->list));
    p->plugin->counts.lists_n++;
}

static void port_step_later(struct plugin_port *p, int64_t delay_ms);

static void call_watch_closed(void *ctx, struct grpc_stream *s)
{
    struct plugin_port *p = ctx;
    for (uint32_t i = 0; i < p->streams_n; i++)
        if (p->streams[i] == s) {
            p->streams[i] = p->streams[--p->streams_n];
            break;
        }
    if (p->streams_n == 0 && p->state == PORT_REGISTERED)
        port_step_later(p, WATCH_GRACE_MS);
}

static enum grpc_status status_of(int code)
{
    switch (-code) {
    case E_NOTFOUND:
        return GRPC_NOT_FOUND;
    case E_INVALID:
    case E_PROTO:
    case E_LIMIT:
        return GRPC_INVALID_ARGUMENT;
    case E_DENIED:
    case E_CONFLICT:
        return GRPC_FAILED_PRECONDITION;
    case E_AGAIN:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_INTERNAL;
    }
}

/* Each slot is known and of one container alone; one that a container names twice counts once. `taken`: by slot, 1 + the container. */
static int slots_check(const struct resource *r, struct plugin_wish *wish, uint32_t container, uint32_t *taken, struct err *e)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < wish->ids_n; i++) {
        const struct slot *slot = resource_find_slot(r, wish->ids[i]);
        if (!slot)
            return err_set(e, E_NOTFOUND, "%s: no device %.80s on this node now", r->name, wish->ids[i]);
        uint32_t *of = &taken[slot - r->slots];
        if (*of && *of != container + 1)
            return err_set(e, E_INVALID, "%s: device %.80s is asked for by two containers", r->name, wish->ids[i]);
        if (!*of)
            wish->ids[kept++] = wish->ids[i];
        *of = container + 1;
    }
    wish->ids_n = kept;
    return kept ? 0 : err_set(e, E_INVALID, "%s: the request names no device", r->name);
}

static int container_answer(struct plugin_port *p, const struct plugin_wish *wish, struct buf *out, struct err *e)
{
    struct device_plugin *d = p->plugin;
    struct allocate_limits limits = {0};
    struct allocate_answer answer;
    int r = 0;
    if (d->config.admit)
        r = d->config.admit(d->config.ctx, p->resource, wish->ids, wish->ids_n, &limits, e);
    if (r == 0)
        r = allocate_answer_make(d->arena, d->snapshot, d->agent_config, d->machine, p->resource, wish->ids, wish->ids_n, &limits,
                                 &answer, e);
    if (r < 0)
        return r;
    plugin_allocate_write(out, &answer);
    return 0;
}

/* All containers or none: answers are made first, then the slots are written down, then the kubelet hears of them. */
static int allocate(struct plugin_port *p, struct bytes request, struct buf *out, struct err *e)
{
    struct device_plugin *d = p->plugin;
    struct plugin_wish *wishes;
    uint32_t n;
    int r = plugin_allocate_parse(d->arena, request, &wishes, &n);
    if (r < 0)
        return err_set(e, -r, "AllocateRequest is malformed");
    uint32_t *taken = arena_zero(d->arena, p->resource->slots_n + 1, sizeof *taken);
    for (uint32_t i = 0; i < n; i++)
        if ((r = slots_check(p->resource, &wishes[i], i, taken, e)) < 0 || (r = container_answer(p, &wishes[i], out, e)) < 0)
            return r;
    for (uint32_t i = 0; i < n; i++)
        if ((r = inventory_claim(d->inventory, p->resource->name, wishes[i].ids, wishes[i].ids_n, "", "", "", e)) < 0)
            return err_wrap(e, "%s: write down who has the device", p->name);
    return 0;
}

static void answer_allocate(struct plugin_port *p, struct grpc_stream *s, struct bytes request)
{
    struct device_plugin *d = p->plugin;
    _cleanup_buf_ struct buf out = {0};
    struct err e = {0};
    arena_reset(d->arena);
    int r = allocate(p, request, &out, &e);
    if (r < 0) {
        d->counts.refusals_n++;
        log_warning("allocate refused resource=%s reason=\"%s\"", p->name, e.text);
        grpc_fail(s, status_of(r), e.text);
        return;
    }
    d->counts.allocations_n++;
    grpc_reply(s, buf_view(&out));
}

static bool list_has(const char *const *list, uint32_t n, const char *id)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i], id) == 0)
            return true;
    return false;
}

/* What the scheduler chose, if that holds all that the container must have. */
static bool preferred_steered(struct plugin_port *p, const struct plugin_wish *wish, const char ***ret_slots)
{
    struct device_plugin *d = p->plugin;
    uint32_t size = (uint32_t)wish->size;
    if (!d->config.steer || !d->config.steer(d->config.ctx, d->arena, p->resource, wish->ids, wish->ids_n, size, ret_slots))
        return false;
    for (uint32_t i = 0; i < wish->must_n; i++)
        if (!list_has(*ret_slots, size, wish->must[i]))
            return false;
    return true;
}

static int preferred(struct plugin_port *p, struct bytes request, struct buf *out, struct err *e)
{
    struct device_plugin *d = p->plugin;
    struct plugin_wish *wishes;
    uint32_t n;
    int r = plugin_preferred_parse(d->arena, request, &wishes, &n);
    if (r < 0)
        return err_set(e, -r, "PreferredAllocationRequest is malformed");
    for (uint32_t i = 0; i < n; i++) {
        const struct plugin_wish *w = &wishes[i];
        const char **slots;
        uint32_t slots_n = (uint32_t)w->size;
        if (w->size < 0 || slots_n > w->ids_n)
            return err_set(e, E_INVALID, "%s: %d devices wanted, %u offered to choose from", p->name, w->size, w->ids_n);
        if (!preferred_steered(p, w, &slots) &&
            (r = preferred_choose(d->arena, d->snapshot, d->agent_config, p->resource, w->ids, w->ids_n, w->must, w->must_n, slots_n,
                                  &slots, &slots_n, e)) < 0)
            return r;
        plugin_preferred_write(out, slots, slots_n);
    }
    return 0;
}

static void answer_preferred(struct plugin_port *p, struct grpc_stream *s, struct bytes request)
{
    _cleanup_buf_ struct buf out = {0};
    struct err e = {0};
    arena_reset(p->plugin->arena);
    int r = preferred(p, request, &out, &e);
    if (r < 0)
        grpc_fail(s, status_of(r), e.text);
    else
        grpc_reply(s, buf_view(&out));
}

/* ---- held back ---- */

/* Somebody is known who waits for each thing that is asked for. What is malformed is answered at once. */
static bool is_awaited(struct plugin_port *p, bool allocate, struct bytes request)
{
    const struct device_plugin *d = p->plugin;
    struct plugin_wish *wishes;
    uint32_t n;
    arena_reset(d->arena);
    if ((allocate ? plugin_allocate_parse : plugin_preferred_parse)(d->arena, request, &wishes, &n) < 0)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (!d->config.awaited(d->config.ctx, p->resource, allocate ? wishes[i].ids_n : (uint32_t)wishes[i].size))
            return false;
    return true;
}

static void hold_timer_set(struct device_plugin *d)
{
    int64_t left_ms = d->held ? d->held->since_ms + PLUGIN_HOLD_MS - loop_now_ms(d->loop) : 0;
    if (d->held)
        loop_timer_start(d->hold_timer, left_ms > 0 ? left_ms : 0, 0);
    else
        loop_timer_stop(d->hold_timer);
}

static struct plugin_held *held_take(struct device_plugin *d, struct plugin_held **at)
{
    struct plugin_held *h = *at;
    int64_t ms = loop_now_ms(d->loop) - h->since_ms;
    d->counts.held_ms += (uint64_t)ms;
    if ((uint64_t)ms > d->counts.held_max_ms)
        d->counts.held_max_ms = (uint64_t)ms;
    *at = h->next;
    return h;
}

static void held_free(struct plugin_held *h)
{
    buf_free(&h->request);
    free(h);
}

static void held_answer(struct plugin_held *h)
{
    if (h->allocate)
        answer_allocate(h->port, h->stream, buf_view(&h->request));
    else
        answer_preferred(h->port, h->stream, buf_view(&h->request));
    held_free(h);
}

/* Of two questions for one container only the first waits in vain. */
static void ask(struct plugin_port *p, struct grpc_stream *s, bool allocate, struct bytes request)
{
    struct device_plugin *d = p->plugin;
    int64_t now_ms = loop_now_ms(d->loop);
    struct plugin_held *h = mem_zero(1, sizeof *h), **at = &d->held;
    *h = (struct plugin_held){.port = p, .stream = s, .allocate = allocate, .since_ms = now_ms};
    buf_bytes(&h->request, request);
    bool again = allocate && p->gave_up_ms && now_ms - p->gave_up_ms < PLUGIN_HOLD_MS;
    if (allocate)
        p->gave_up_ms = 0;
    if (!d->config.awaited || again || is_awaited(p, allocate, request)) {
        held_answer(h);
        return;
    }
    d->counts.held_n++;
    while (*at)
        at = &(*at)->next;
    *at = h;
    hold_timer_set(d);
}

static void on_hold_timer(void *arg)
{
    struct device_plugin *d = arg;
    while (d->held && loop_now_ms(d->loop) - d->held->since_ms >= PLUGIN_HOLD_MS) {
        struct plugin_held *h = held_take(d, &d->held);
        d->counts.unawaited_n++;
        h->port->gave_up_ms = h->allocate ? 0 : loop_now_ms(d->loop);
        log_warning("devices are asked for that no known pod waits for resource=%s question=%s waited-ms=%d", h->port->name,
                    h->allocate ? "Allocate" : "GetPreferredAllocation", PLUGIN_HOLD_MS);
        held_answer(h);
    }
    hold_timer_set(d);
}

void device_plugin_pods_changed(struct device_plugin *d)
{
    for (struct plugin_held **at = &d->held; *at;) {
        if (is_awaited((*at)->port, (*at)->allocate, buf_view(&(*at)->request))) {
            held_answer(held_take(d, at));
            at = &d->held; /* who waited may wait no more */
        } else {
            at = &(*at)->next;
        }
    }
    hold_timer_set(d);
}

static void call_allocate(void *ctx, struct grpc_stream *s, struct bytes request)
{
    ask(ctx, s, true, request);
}

static void call_preferred(void *ctx, struct grpc_stream *s, struct bytes request)
{
    ask(ctx, s, false, request);
}

/* The kubelet waits no more. */
static void call_ask_closed(void *ctx, struct grpc_stream *s)
{
    struct plugin_port *p = ctx;
    for (struct plugin_held **at = &p->plugin->held; *at;) {
        if ((*at)->stream == s)
            held_free(held_take(p->plugin, at));
        else
            at = &(*at)->next;
    }
}

static const struct grpc_handler handlers[] = {
    {"/v1beta1.DevicePlugin/GetDevicePluginOptions", call_options, NULL},
    {"/v1beta1.DevicePlugin/ListAndWatch", call_watch, call_watch_closed},
    {"/v1beta1.DevicePlugin/GetPreferredAllocation", call_preferred, call_ask_closed},
    {"/v1beta1.DevicePlugin/Allocate", call_allocate, call_ask_closed},
    {"/v1beta1.DevicePlugin/PreStartContainer", call_pre_start, NULL},
};
enum { HANDLERS_N = sizeof handlers / sizeof *handlers };

/* ---- registration ---- */

static void port_say(struct plugin_port *p, const char *what, const char *text)
{
    if (strcmp(p->said, text) != 0)
        log_error("device plugin %s failed resource=%s reason=\"%s\" retries=yes", what, p->name, text);
    snprintf(p->said, sizeof p->said, "%s", text);
}

static void port_step_later(struct plugin_port *p, int64_t delay_ms)
{
    loop_timer_start(p->timer, delay_ms, 0);
}

static void port_retry(struct plugin_port *p)
{
    port_step_later(p, p->retry_ms);
    p->retry_ms = p->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : p->retry_ms * 2;
}

/* Nothing more is to be said to the kubelet: the connection is not kept. */
static void kubelet_leave(struct device_plugin *d)
{
    for (const struct plugin_port *p = d->ports; p; p = p->next)
        if (p->call)
            return;
    grpc_client_free(d->kubelet);
    d->kubelet = NULL;
}

static void port_registered(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct plugin_port *p = arg;
    p->call = 0;
    if (status == GRPC_OK) {
        p->state = PORT_REGISTERED;
        p->plugin->counts.registrations_n++;
        p->retry_ms = RETRY_MIN_MS;
        p->said[0] = 0;
        log_info("device plugin registered resource=%s socket=%s devices=%u", p->name, p->endpoint, p->resource->slots_n);
        port_step_later(p, WATCH_GRACE_MS);
    } else {
        p->state = PORT_IDLE;
        p->plugin->counts.registration_failures_n++;
        if (p->retry_ms > SILENT_MS)
            port_say(p, "registration", error_text);
        port_retry(p);
    }
    kubelet_leave(p->plugin);
}

static void port_register(struct plugin_port *p)
{
    struct device_plugin *d = p->plugin;
    struct stat st;
    if (lstat(d->kubelet_socket, &st) < 0)
        return; /* its appearance is an event */
    if (!d->kubelet)
        d->kubelet = grpc_client_new(d->loop, d->kubelet_socket);
    _cleanup_buf_ struct buf request = {0};
    plugin_register_write(&request, p->endpoint, p->name);
    p->state = PORT_ASKED;
    p->call = grpc_call(d->kubelet, "/v1beta1.Registration/Register", buf_view(&request), REGISTER_TIMEOUT_MS, port_registered, p);
}

static void port_unregister(struct plugin_port *p)
{
    if (p->call)
        grpc_cancel(p->plugin->kubelet, p->call);
    p->call = 0;
    p->state = PORT_IDLE;
    p->retry_ms = RETRY_MIN_MS;
}

static void port_close(struct plugin_port *p)
{
    port_unregister(p);
    loop_timer_stop(p->timer);
    grpc_server_free(p->server);
    p->server = NULL;
}

/* Do what is due: listen, then register; then see that the kubelet really watches. */
static void port_step(void *arg)
{
    struct plugin_port *p = arg;
    struct err e;
    if (!p->plugin->open)
        return;
    if (!p->server && grpc_server_new(p->plugin->loop, p->path, handlers, HANDLERS_N, p, &p->server, &e) < 0) {
        port_say(p, "listen", e.text);
        port_retry(p);
        return;
    }
    if (p->state == PORT_REGISTERED && p->streams_n == 0)
        p->state = PORT_IDLE;
    if (p->state == PORT_IDLE)
        port_register(p);
}

static void watch_opened(void *ctx)
{
    struct device_plugin *d = ctx;
    d->open = true;
    for (struct plugin_port *p = d->ports; p; p = p->next)
        port_step(p);
}

static void watch_closed(void *ctx)
{
    struct device_plugin *d = ctx;
    d->open = false;
    for (struct plugin_port *p = d->ports; p; p = p->next)
        port_close(p);
}

static void watch_check(void *ctx)
{
    struct device_plugin *d = ctx;
    for (struct plugin_port *p = d->ports; p; p = p->next) {
        if (!p->server || grpc_server_socket_is_ours(p->server))
            continue;
        port_close(p);
        port_step(p);
    }
}

/* What was said to the kubelet before is worth nothing to this one. */
static void watch_kubelet_came(void *ctx)
{
    struct device_plugin *d = ctx;
    for (struct plugin_port *p = d->ports; p; p = p->next)
        port_unregister(p);
    grpc_client_free(d->kubelet);
    d->kubelet = NULL;
    watch_check(d);
    for (struct plugin_port *p = d->ports; p; p = p->next)
        port_step(p);
}

/* ---- the table ---- */

/* "nvidia.com/gpu" -> nvidia-gpu.sock, "keti.com/mpsgpu" -> nvidia-keti-mpsgpu.sock; `whole`: with the whole domain, when two domains would
 * get the same name. */
static void endpoint_name(const char *resource, bool whole, struct buf *out)
{
    const char *slash = strchr(resource, '/');
    struct bytes domain = {resource, slash ? (size_t)(slash - resource) : 0};
    buf_text(out, "nvidia-");
    if (domain.n && !bytes_is(domain, "nvidia.com")) {
        const char *dot = memchr(domain.data, '.', domain.n);
        buf_bytes(out, whole || !dot ? domain : (struct bytes){domain.data, (size_t)(dot - domain.data)});
        buf_char(out, '-');
    }
    for (const char *at = slash ? slash + 1 : resource; *at; at++)
        buf_char(out, *at == '/' ? '-' : *at);
    buf_text(out, ".sock");
}

static bool endpoint_taken(const struct device_plugin *d, const char *endpoint)
{
    for (const struct plugin_port *p = d->ports; p; p = p->next)
        if (text_equal(p->endpoint, endpoint))
            return true;
    return false;
}

static struct plugin_port *port_new(struct device_plugin *d, const char *name)
{
    struct plugin_port *p = mem_zero(1, sizeof *p);
    struct buf endpoint = {0}, path = {0};
    endpoint_name(name, false, &endpoint);
    if (endpoint_taken(d, endpoint.data)) {
        buf_clear(&endpoint);
        endpoint_name(name, true, &endpoint);
    }
    buf_printf(&path, "%s/%s", d->directory, endpoint.data);
    p->plugin = d;
    p->name = mem_text(name);
    p->endpoint = buf_take(&endpoint, NULL);
    p->path = buf_take(&path, NULL);
    p->retry_ms = RETRY_MIN_MS;
    p->timer = loop_timer_new(d->loop, port_step, p);
    return p;
}

static void port_free(struct plugin_port *p)
{
    port_close(p);
    loop_timer_free(p->timer);
    free(p->streams);
    buf_free(&p->list);
    free(p->name);
    free(p->endpoint);
    free(p->path);
    free(p);
}

/* The list as it is now goes to all who watch, if it is another one than they have. */
static void port_list(struct plugin_port *p)
{
    _cleanup_buf_ struct buf list = {0};
    uint32_t n = plugin_list_write(&list, p->plugin->snapshot, p->resource);
    if (bytes_equal(buf_view(&list), buf_view(&p->list)))
        return;
    if (n < p->resource->slots_n)
        log_error("device list cut resource=%s devices=%u sent=%u reason=\"longer than a message of 4 MiB\" advice=\"fewer replicas\"",
                  p->name, p->resource->slots_n, n);
    struct buf old = p->list;
    p->list = list;
    list = old;
    for (uint32_t i = 0; i < p->streams_n; i++)
        grpc_stream_replace(p->streams[i], buf_view(&p->list));
    p->plugin->counts.lists_n += p->streams_n;
}

/* WHY  A kubelet keeps the capacity of a resource whose plugin has gone for five minutes; with an empty list before the end it is 0 at
 * once. The message is written out while the server is freed. */
static void port_end(struct plugin_port *p)
{
    log_info("device plugin ends resource=%s", p->name);
    for (uint32_t i = 0; i < p->streams_n; i++)
        grpc_stream_replace(p->streams[i], BYTES(""));
    port_free(p);
}

void device_plugin_set(struct device_plugin *d, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m,
                       const struct resource_table *t)
{
    d->snapshot = s;
    d->agent_config = c;
    d->machine = m;
    d->table = t;
    for (struct plugin_port **at = &d->ports; *at;) {
        struct plugin_port *p = *at;
        p->resource = resource_table_find(t, p->name);
        if (p->resource) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        port_end(p);
    }
    struct plugin_port **at = &d->ports;
    for (uint32_t i = 0; i < t->resources_n; i++, at = &(*at)->next) {
        const struct resource *r = &t->resources[i];
        assert(r->slots_n == 0 || r->slots);
        bool fresh = !*at || !text_equal((*at)->name, r->name);
        if (fresh) {
            struct plugin_port *p = port_new(d, r->name);
            p->next = *at;
            *at = p;
        }
        (*at)->resource = r;
        port_list(*at);
        if (fresh)
            port_step(*at);
    }
}

/* ---- public ---- */

struct device_plugin *device_plugin_new(struct loop *l, struct inventory *i, const struct device_plugin_config *config)
{
    struct device_plugin *d = mem_zero(1, sizeof *d);
    struct buf socket = {0};
    d->loop = l;
    d->inventory = i;
    d->config = *config;
    d->directory = mem_text(config->directory);
    if (config->kubelet_socket)
        buf_text(&socket, config->kubelet_socket);
    else
        buf_printf(&socket, "%s/kubelet.sock", config->directory);
    d->kubelet_socket = buf_take(&socket, NULL);
    d->arena = arena_new();
    d->hold_timer = loop_timer_new(l, on_hold_timer, d);
    d->watch = plugin_watch_new(l, &(struct plugin_watch_config){.directory = d->directory, .kubelet_socket = d->kubelet_socket,
        .opened = watch_opened, .closed = watch_closed, .kubelet_came = watch_kubelet_came, .check = watch_check, .ctx = d});
    return d;
}

void device_plugin_free(struct device_plugin *d)
{
    if (!d)
        return;
    while (d->ports) {
        struct plugin_port *p = d->ports;
        d->ports = p->next;
        port_free(p);
    }
    loop_timer_free(d->hold_timer);
    plugin_watch_free(d->watch);
    grpc_client_free(d->kubelet);
    arena_free(d->arena);
    free(d->directory);
    free(d->kubelet_socket);
    free(d);
}

struct device_plugin_counts device_plugin_counts(const struct device_plugin *d)
{
    return d->counts;
}

bool device_plugin_registered(const struct device_plugin *d)
{
    if (!d->table || (d->ports && !d->open))
        return false;
    for (const struct plugin_port *p = d->ports; p; p = p->next)
        if (p->state != PORT_REGISTERED)
            return false;
    return true;
}
