/* A pod's spec, read once from left to right. What the scheduler does not need is skipped by structure. */
#include "codec/decode/decode_part.h"

#include "codec/decode/pod_requests.h"

#define CONTAINER_RESOURCES 32 /* distinct resources in one container that are counted */

/* A port of a container as written: which of its numbers counts depends on hostNetwork, which may stand after it. */
struct port_draft {
    struct host_port port; /* port = hostPort, 0 when not written */
    uint16_t container_port;
};
/* So many of a resource of a device plugin in one container: all that the kubelet tells the plugin. */
struct device_ask {
    name_id resource;
    int64_t n;
};
struct spec_reader {
    const struct decoder *d;
    struct json_reader *r;
    struct buf *scratch;
    const char *path;
    struct err *e;
    struct pod_requests requests;
    struct port_draft *ports;
    uint32_t ports_n, ports_cap;
    struct device_ask *asks; /* each once */
    uint32_t asks_n, asks_cap;
    bool host_network;
    struct shape *shape;
    struct pod_spec *out;
};

struct container_draft {
    struct container_request rows[CONTAINER_RESOURCES];
    uint32_t rows_n;
    bool restarts; /* restartPolicy Always: a sidecar when among the init containers */
    bool shares;   /* it asks for a share of a GPU */
};

static struct container_request *container_row(struct container_draft *c, name_id resource)
{
    for (uint32_t i = 0; i < c->rows_n; i++)
        if (c->rows[i].resource == resource)
            return &c->rows[i];
    if (c->rows_n == CONTAINER_RESOURCES)
        return NULL;
    c->rows[c->rows_n] = (struct container_request){resource, -1, -1};
    return &c->rows[c->rows_n++];
}

static void add_device_ask(struct spec_reader *s, name_id resource, int64_t n)
{
    for (uint32_t i = 0; i < s->asks_n; i++)
        if (s->asks[i].resource == resource && s->asks[i].n == n)
            return;
    *DECODE_PUSH(s->d->arena, s->asks, s->asks_n, s->asks_cap) = (struct device_ask){resource, n};
}

static name_id device_asks_text(struct spec_reader *s)
{
    if (!s->asks_n)
        return 0;
    buf_clear(s->scratch);
    for (uint32_t i = 0; i < s->asks_n; i++) {
        if (i)
            buf_char(s->scratch, ',');
        buf_text(s->scratch, intern_name(s->d->names, s->asks[i].resource));
        buf_char(s->scratch, '=');
        buf_int64(s->scratch, s->asks[i].n);
    }
    return intern_id(s->d->names, buf_view(s->scratch));
}

/* {"cpu":"2",...} into the request or limit column. Only device plugins serve names with a '/', and only as limits. */
static int read_amounts(struct spec_reader *s, struct container_draft *c, bool limits)
{
    struct bytes key;
    if (!json_reader_object(s->r))
        return 0;
    while (json_reader_key(s->r, &key)) {
        int64_t value;
        if (decode_read_quantity(s->r, s->scratch, decode_is_milli(key), &value, s->e) < 0)
            return err_wrap(s->e, "%s[%.*s]", limits ? "limits" : "requests", (int)(key.n < 80 ? key.n : 80), key.data);
        name_id resource = intern_id(s->d->names, key);
        c->shares |= value > 0 && share_is_resource(key);
        struct container_request *row = container_row(c, resource);
        if (limits && value > 0 && memchr(key.data, '/', key.n))
            add_device_ask(s, resource, value);
        if (row && limits)
            row->limit = value;
        else if (row)
            row->request = value;
    }
    return 0;
}

static int read_resources(struct spec_reader *s, struct container_draft *c)
{
    struct bytes key;
    if (!json_reader_object(s->r))
        return 0;
    while (json_reader_key(s->r, &key)) {
        bool limits = DECODE_IS(key, "limits");
        int r = 0;
        if (limits || DECODE_IS(key, "requests"))
            r = read_amounts(s, c, limits);
        else
            json_reader_skip(s->r);
        if (r < 0)
            return r;
    }
    return 0;
}

static uint16_t read_port_number(struct json_reader *r)
{
    int64_t value = 0;
    return json_reader_int64(r, &value) && value > 0 && value <= UINT16_MAX ? (uint16_t)value : 0;
}

static void read_port(struct spec_reader *s)
{
    struct port_draft p = {.port = {0, 0, 0}};
    struct bytes key, text;
    if (!json_reader_object(s->r))
        return;
    while (json_reader_key(s->r, &key)) {
        if (DECODE_IS(key, "hostPort"))
            p.port.port = read_port_number(s->r);
        else if (DECODE_IS(key, "containerPort"))
            p.container_port = read_port_number(s->r);
        else if (DECODE_IS(key, "hostIP")) {
            if (json_reader_string(s->r, s->scratch, &text) && text.n && !DECODE_IS(text, "0.0.0.0") &&
                !DECODE_IS(text, "::"))
                p.port.address = intern_id(s->d->names, text);
        } else if (DECODE_IS(key, "protocol")) {
            if (json_reader_string(s->r, s->scratch, &text))
                p.port.protocol = DECODE_IS(text, "UDP") ? 1 : DECODE_IS(text, "SCTP") ? 2 : 0;
        } else
            json_reader_skip(s->r);
    }
    *DECODE_PUSH(s->d->arena, s->ports, s->ports_n, s->ports_cap) = p;
}

static int read_container(struct spec_reader *s, bool init)
{
    struct container_draft c;
    c.rows_n = 0;
    c.restarts = c.shares = false;
    struct bytes key, text;
    uint32_t ports_before = s->ports_n;
    if (!json_reader_object(s->r))
        return 0;
    while (json_reader_key(s->r, &key)) {
        int r = 0;
        if (DECODE_IS(key, "resources"))
            r = read_resources(s, &c);
        else if (DECODE_IS(key, "ports") && json_reader_array(s->r))
            while (json_reader_item(s->r))
                read_port(s);
        else if (DECODE_IS(key, "restartPolicy"))
            c.restarts = json_reader_string(s->r, s->scratch, &text) && DECODE_IS(text, "Always");
        else if (!DECODE_IS(key, "ports"))
            json_reader_skip(s->r);
        if (r < 0)
            return r;
    }
    if (init && !c.restarts)
        s->ports_n =
            ports_before; /* plain init containers hold no port while the pod runs; the API counts sidecars only */
    s->out->share_containers_n += c.shares;
    pod_requests_add(&s->requests,
                     !init        ? POD_CONTAINER
                     : c.restarts ? POD_SIDECAR
                                  : POD_INIT_CONTAINER,
                     c.rows, c.rows_n);
    return 0;
}

static int read_containers(struct spec_reader *s, bool init)
{
    if (!json_reader_array(s->r))
        return 0;
    for (int i = 0; json_reader_item(s->r); i++)
        if (read_container(s, init) < 0)
            return err_wrap(s->e, "%s%s[%d].resources", s->path, init ? "initContainers" : "containers", i);
    return 0;
}

static int read_overhead(struct spec_reader *s)
{
    struct container_draft c;
    c.rows_n = 0;
    c.shares = false;
    if (read_amounts(s, &c, false) < 0)
        return err_wrap(s->e, "%soverhead", s->path);
    pod_requests_add(&s->requests, POD_OVERHEAD, c.rows, c.rows_n);
    return 0;
}

static int read_pod_level(struct spec_reader *s)
{
    struct container_draft c;
    c.rows_n = 0;
    c.shares = false;
    if (read_resources(s, &c) < 0)
        return err_wrap(s->e, "%sresources", s->path);
    pod_requests_add(&s->requests, POD_LEVEL, c.rows, c.rows_n);
    return 0;
}

static void read_tolerations(struct spec_reader *s)
{
    struct toleration *list = NULL;
    uint32_t n = 0, cap = 0;
    struct bytes key, text;
    while (json_reader_item(s->r)) {
        struct toleration t = {0, 0, false, decode_toleration_effects((struct bytes){"", 0})};
        if (!json_reader_object(s->r))
            continue;
        while (json_reader_key(s->r, &key)) {
            if (DECODE_IS(key, "key"))
                t.key = decode_read_name(s->d, s->r, s->scratch);
            else if (DECODE_IS(key, "value"))
                t.value = decode_read_name(s->d, s->r, s->scratch);
            else if (DECODE_IS(key, "operator"))
                t.exists = json_reader_string(s->r, s->scratch, &text) && DECODE_IS(text, "Exists");
            else if (DECODE_IS(key, "effect")) {
                if (json_reader_string(s->r, s->scratch, &text))
                    t.effects = decode_toleration_effects(text);
            } else
                json_reader_skip(s->r);
        }
        if (t.effects && (t.key || t.exists))
            *DECODE_PUSH(s->d->arena, list, n, cap) = t;
    }
    s->shape->tolerations = list;
    s->shape->tolerations_n = n;
}

/* schedulingGroup {podGroupName} and the older workloadRef {name, podGroup, podGroupReplicaKey}. */
static void read_native_group(struct spec_reader *s)
{
    struct bytes key, *target;
    if (!json_reader_object(s->r))
        return;
    while (json_reader_key(s->r, &key)) {
        target = DECODE_IS(key, "podGroupName") || DECODE_IS(key, "podGroup") ? &s->out->native_group
                 : DECODE_IS(key, "name")                                     ? &s->out->native_workload
                 : DECODE_IS(key, "podGroupReplicaKey")                       ? &s->out->native_replica
                                                                              : NULL;
        struct bytes raw = json_reader_raw(s->r);
        if (target && raw.n > 2 && raw.data[0] == '"')
            *target = (struct bytes){raw.data + 1, raw.n - 2};
    }
}

static void finish_ports(struct spec_reader *s)
{
    struct host_port *ports = s->ports_n ? arena_alloc(s->d->arena, s->ports_n * sizeof *ports) : NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->ports_n; i++) {
        struct host_port p = s->ports[i].port;
        if (p.port == 0 && s->host_network)
            p.port = s->ports[i].container_port;
        if (p.port)
            ports[n++] = p;
    }
    s->shape->ports = n ? ports : NULL;
    s->shape->ports_n = n;
}

enum spec_key {
    SPEC_OTHER,
    SPEC_AFFINITY,
    SPEC_DEADLINE,
    SPEC_CONTAINERS,
    SPEC_HOST_NETWORK,
    SPEC_INIT_CONTAINERS,
    SPEC_NODE_NAME,
    SPEC_NODE_SELECTOR,
    SPEC_OVERHEAD,
    SPEC_PRIORITY,
    SPEC_PREEMPTION,
    SPEC_RESOURCES,
    SPEC_SCHEDULER,
    SPEC_GATES,
    SPEC_GROUP,
    SPEC_TOLERATIONS,
    SPEC_SPREADS,
};
static enum spec_key spec_key_of(struct bytes key)
{
    static const struct {
        const char *name;
        size_t n;
        enum spec_key key;
    } keys[] = {
#define KEY(name, key) {name, sizeof name - 1, key}
        KEY("activeDeadlineSeconds", SPEC_DEADLINE),
        KEY("affinity", SPEC_AFFINITY),        KEY("containers", SPEC_CONTAINERS),
        KEY("hostNetwork", SPEC_HOST_NETWORK), KEY("initContainers", SPEC_INIT_CONTAINERS),
        KEY("nodeName", SPEC_NODE_NAME),       KEY("nodeSelector", SPEC_NODE_SELECTOR),
        KEY("overhead", SPEC_OVERHEAD),        KEY("priority", SPEC_PRIORITY),
        KEY("preemptionPolicy", SPEC_PREEMPTION),
        KEY("resources", SPEC_RESOURCES),      KEY("schedulerName", SPEC_SCHEDULER),
        KEY("schedulingGates", SPEC_GATES),    KEY("schedulingGroup", SPEC_GROUP),
        KEY("tolerations", SPEC_TOLERATIONS),  KEY("topologySpreadConstraints", SPEC_SPREADS),
        KEY("workloadRef", SPEC_GROUP),
#undef KEY
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (key.n == keys[i].n && memcmp(key.data, keys[i].name, key.n) == 0)
            return keys[i].key;
    return SPEC_OTHER;
}

static void read_gate(struct spec_reader *s)
{
    struct bytes key, text = {0};
    bool of_queue = false;
    if (!json_reader_object(s->r)) {
        s->out->gated = true;
        return;
    }
    while (json_reader_key(s->r, &key))
        if (DECODE_IS(key, "name"))
            of_queue = json_reader_string(s->r, s->scratch, &text) && DECODE_IS(text, DECODE_VOLCANO_GATE);
        else
            json_reader_skip(s->r);
    s->out->queue_gated |= of_queue;
    s->out->gated |= !of_queue;
}

static int read_spec_field(struct spec_reader *s, enum spec_key key)
{
    int64_t number = 0;
    struct bytes text;
    struct label_list labels = {0};
    switch (key) {
    case SPEC_CONTAINERS:
    case SPEC_INIT_CONTAINERS:
        return read_containers(s, key == SPEC_INIT_CONTAINERS);
    case SPEC_OVERHEAD:
        return read_overhead(s);
    case SPEC_RESOURCES:
        return read_pod_level(s);
    case SPEC_AFFINITY:
        s->out->affinity = json_reader_raw(s->r);
        break;
    case SPEC_SPREADS:
        s->out->spreads = json_reader_raw(s->r);
        break;
    case SPEC_HOST_NETWORK:
        (void)json_reader_bool(s->r, &s->host_network); /* no boolean: stays false */
        break;
    case SPEC_NODE_NAME:
        s->out->node = decode_read_name(s->d, s->r, s->scratch);
        break;
    case SPEC_NODE_SELECTOR:
        decode_read_labels(s->d, s->r, s->scratch, &labels);
        s->shape->node_labels = labels.items;
        s->shape->node_labels_n = labels.n;
        break;
    case SPEC_PRIORITY:
        if (json_reader_int64(s->r, &number))
            s->out->priority = number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;
        break;
    case SPEC_DEADLINE:
        if (json_reader_int64(s->r, &number))
            s->out->limit_s = number > INT32_MAX ? INT32_MAX : number < 0 ? 0 : (int32_t)number;
        break;
    case SPEC_PREEMPTION:
        s->out->preempts_nobody = json_reader_string(s->r, s->scratch, &text) && DECODE_IS(text, "Never");
        break;
    case SPEC_SCHEDULER:
        s->out->scheduler = decode_read_name(s->d, s->r, s->scratch);
        break;
    case SPEC_GATES:
        if (json_reader_array(s->r))
            while (json_reader_item(s->r))
                read_gate(s);
        break;
    case SPEC_GROUP:
        read_native_group(s);
        break;
    case SPEC_TOLERATIONS:
        if (json_reader_array(s->r))
            read_tolerations(s);
        break;
    case SPEC_OTHER:
        json_reader_skip(s->r);
        break;
    }
    return 0;
}

int decode_read_pod_spec(const struct decoder *d, struct json_reader *r, struct buf *scratch, const char *path,
                         struct shape *shape, struct pod_spec *ret_spec, struct err *e)
{
    struct spec_reader s = {.d = d, .r = r, .scratch = scratch, .path = path, .e = e, .shape = shape, .out = ret_spec};
    pod_requests_init(&s.requests);
    memset(ret_spec, 0, sizeof *ret_spec);
    struct bytes key;
    if (!json_reader_object(r))
        return 0;
    while (json_reader_key(r, &key)) {
        int failed = read_spec_field(&s, spec_key_of(key));
        if (failed < 0)
            return failed;
    }
    pod_requests_finish(&s.requests, d->arena, &shape->requests, &shape->requests_n);
    finish_ports(&s);
    ret_spec->device_asks = device_asks_text(&s);
    return 0;
}

int decode_shape_finish(const struct decoder *d, const struct pod_spec *spec, const char *path, struct shape *shape,
                        struct err *e)
{
    if (spec->affinity.n) {
        const struct json *affinity = json_parse(d->arena, spec->affinity, NULL, e);
        if (!affinity)
            return err_wrap(e, "%saffinity", path);
        decode_affinity(d, affinity, shape);
    }
    if (spec->spreads.n) {
        const struct json *spreads = json_parse(d->arena, spec->spreads, NULL, e);
        if (!spreads)
            return err_wrap(e, "%stopologySpreadConstraints", path);
        decode_spreads(d, spreads, shape);
    }
    return 0;
}
