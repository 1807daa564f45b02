/* node_metrics.c - one collector a node that was asked for; requests wait for the sample that they cause */
#include "sim/node_metrics.h"
#include <stdlib.h>
#include "base/map.h"
#include "base/memory.h"
#include "exporter/collect.h"
#include "exporter/serve.h"
#include "net/http.h"
#include "sim/usage_sim_part.h"

#define PREFIX "/api/v1/nodes/"
#define SUFFIX ":9400/proxy/metrics"
#define PERIOD_MS 15000
#define AGAIN_MS 50 /* a node whose GPUs are still being made */
#define TRIES_MAX 100
#define WHOLE_GPU 0xffffffffu

struct asking {
    struct asking *next;
    struct http_exchange *x;
    char *node;
    uint32_t tries_n;
    bool measured; /* its collection has begun */
};
struct shown_pod {
    char *ns, *pod, *container, *uid, *queue;
    uint32_t pid;
    double start_s;
};
struct shown_node {
    struct node_metrics *all;
    char *name;
    struct node_devices *devices; /* the kubelets' */
    struct inventory *inventory;
    struct account *account;
    struct pods *pods;
    struct collect *collect;
    struct serve *serve;
    struct shown_pod *running;
    uint32_t running_n, running_cap;
};
struct node_metrics {
    struct loop *loop;
    struct kubelets *kubelets;
    struct usage_sim *usage;
    struct map *nodes; /* name -> struct shown_node * */
    struct asking *asking;
    struct loop_timer *timer;
    struct arena *arena; /* the counters of all pages */
    struct page_config page;
};

/* ---- what runs there ---- */

static void running_clear(struct shown_node *n)
{
    for (uint32_t i = 0; i < n->running_n; i++) {
        struct shown_pod *p = &n->running[i];
        free(p->ns);
        free(p->pod);
        free(p->container);
        free(p->uid);
        free(p->queue);
    }
    n->running_n = 0;
}

static bool process_of(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                       struct pod_names *ret_names)
{
    const struct shown_node *n = arg;
    for (uint32_t i = 0; i < n->running_n; i++) {
        const struct shown_pod *p = &n->running[i];
        if (p->pid != pid)
            continue;
        *ret_command = "simulated";
        *ret_start_s = p->start_s;
        *ret_names = (struct pod_names){p->ns, p->pod, p->container, p->uid, p->queue};
        return true;
    }
    return false;
}

static bool pod_of(void *arg, const char *ns, const char *pod, struct pod_names *ret_names)
{
    const struct shown_node *n = arg;
    for (uint32_t i = 0; i < n->running_n; i++) {
        const struct shown_pod *p = &n->running[i];
        if (!text_equal(p->pod, pod) || !text_equal(p->ns, ns))
            continue;
        *ret_names = (struct pod_names){p->ns, p->pod, p->container, p->uid, p->queue};
        return true;
    }
    return false;
}

struct telling {
    struct shown_node *node;
    const struct inventory_snapshot *devices;
    struct arena *arena;
    struct slot_owner *owners;
    struct driver_process *processes;
    double *activities; /* by unit */
    uint32_t n, owners_cap, processes_cap;
};

static void on_device(void *arg, const struct usage_pod *pod, const char *resource, const char *slot)
{
    struct telling *t = arg;
    const struct resource *r = resource_table_find(node_devices_table(t->node->devices), resource);
    const struct slot *s = r ? resource_find_slot(r, slot) : NULL;
    if (!s || s->unit >= t->devices->units_n)
        return;
    const struct unit *u = &t->devices->units[s->unit];
    MEM_RESERVE(t->owners, t->owners_cap, t->n + 1);
    MEM_RESERVE(t->processes, t->processes_cap, t->n + 1);
    t->owners[t->n] = (struct slot_owner){arena_text(t->arena, resource), arena_text(t->arena, slot), pod->ns, pod->pod,
                                         pod->container};
    t->processes[t->n++] = (struct driver_process){.pid = pod->pid,
                                                   .gpu = u->gpu->index,
                                                   .gi = u->mig ? u->mig->gi : WHOLE_GPU,
                                                   .ci = u->mig ? u->mig->ci : WHOLE_GPU,
                                                   .memory_bytes = (uint64_t)pod->memory_bytes};
    t->activities[s->unit] += pod->activity / (s->shared && r->replicas > 0 ? r->replicas : 1);
}

static void on_running(void *arg, const struct usage_pod *pod)
{
    struct shown_node *n = ((struct telling *)arg)->node;
    MEM_RESERVE(n->running, n->running_cap, n->running_n + 1);
    n->running[n->running_n++] = (struct shown_pod){mem_text(pod->ns), mem_text(pod->pod), mem_text(pod->container), mem_text(pod->uid),
                                                    mem_text(pod->queue), pod->pid, pod->start_s};
}

/* The pods of now become processes of the simulated driver, and owners of slots. */
static void tell(struct shown_node *n)
{
    struct driver *driver = node_devices_driver(n->devices);
    struct telling t = {.node = n, .devices = node_devices_snapshot(n->devices), .arena = arena_new()};
    t.activities = arena_zero(t.arena, t.devices->units_n + 1, sizeof *t.activities);
    running_clear(n);
    usage_sim_each(n->all->usage, n->name, on_running, on_device, &t);
    inventory_set_reading(n->inventory, t.devices->reading);
    inventory_set_owners(n->inventory, t.owners, t.n);
    driver_model_set_processes(driver, t.processes, t.n);
    for (uint32_t i = 0; i < t.devices->units_n; i++) {
        const struct unit *u = &t.devices->units[i];
        double busy = t.activities[i] < 1 ? t.activities[i] : 1;
        driver_model_work(driver, u->gpu->index, u->mig ? u->mig->gi : WHOLE_GPU, u->mig ? u->mig->ci : WHOLE_GPU,
                          (uint32_t)(busy * 1000), (uint32_t)(busy * 500));
    }
    collect_resources(n->collect, node_devices_table(n->devices));
    free(t.owners);
    free(t.processes);
    arena_free(t.arena);
}

/* ---- answers ---- */

static void answer(struct asking *q, struct shown_node *n)
{
    const char *accept = http_header(&q->x->request, "accept");
    bool openmetrics = prometheus_accepts_openmetrics(bytes_of(accept ? accept : ""));
    struct bytes page = serve_page(n->serve, openmetrics);
    http_reply(q->x, 200,
               openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                           : "text/plain; version=0.0.4; charset=utf-8",
               blob_new(page.data, page.n));
}

static void asking_free(struct asking *q)
{
    free(q->node);
    free(q);
}

static void on_sample(void *arg, const struct sample *s)
{
    struct shown_node *n = arg;
    struct asking **at = &n->all->asking;
    while (*at) {
        struct asking *q = *at;
        if (!q->measured || !text_equal(q->node, n->name)) {
            at = &q->next;
            continue;
        }
        *at = q->next;
        answer(q, n);
        asking_free(q);
    }
}

static void node_close(struct shown_node *n);

/* Its devices are about to go: who waits for a sample of theirs asks anew. */
static void on_devices_freed(void *arg)
{
    struct shown_node *n = arg;
    struct node_metrics *m = n->all;
    for (struct asking *q = m->asking; q; q = q->next)
        if (text_equal(q->node, n->name)) {
            q->measured = false;
            loop_timer_start(m->timer, AGAIN_MS, 0);
        }
    (void)map_remove(m->nodes, bytes_of(n->name));
    node_close(n);
}

static struct shown_node *node_open(struct node_metrics *m, const char *name, struct node_devices *d)
{
    struct shown_node *n = mem_zero(1, sizeof *n);
    struct collect_config c = {.period_ms = PERIOD_MS, .hostname = name, .processes_max = 2000};
    struct serve_config serve = {.page = m->page, .period_ms = PERIOD_MS};
    struct err e = {0};
    *n = (struct shown_node){.all = m, .name = mem_text(name), .devices = d};
    page_wanted(&m->page, c.wanted);
    if (inventory_open(m->loop, NULL, &n->inventory, &e) < 0) { /* without a journal there is nothing to fail */
        free(n->name);
        free(n);
        return NULL;
    }
    n->account = account_open(NULL, name);
    n->pods = pods_new(m->loop, &(struct pods_config){
                                    .node_name = name, .process_of = process_of, .pod_of = pod_of, .arg = n});
    n->collect = collect_new(m->loop, node_devices_driver(d), n->inventory, n->pods, n->account, &c);
    collect_listen(n->collect, on_sample, n);
    (void)serve_new(m->loop, n->collect, n->account, &serve, &n->serve, &e); /* without a socket there is nothing to fail */
    node_devices_on_free(d, on_devices_freed, n);
    *(struct shown_node **)map_put(m->nodes, bytes_of(name), NULL) = n;
    return n;
}

static void node_close(struct shown_node *n)
{
    node_devices_on_free(n->devices, NULL, NULL);
    serve_free(n->serve);
    collect_free(n->collect);
    account_close(n->account);
    pods_free(n->pods);
    inventory_close(n->inventory);
    running_clear(n);
    free(n->running);
    free(n->name);
    free(n);
}

/* True: answered, or waits for a sample. */
static bool try_to_answer(struct node_metrics *m, struct asking *q, bool *ret_waits)
{
    bool wait = false;
    struct node_devices *d = kubelets_node_devices(m->kubelets, q->node, &wait);
    struct shown_node **known = map_find_text(m->nodes, q->node), *n = known ? *known : NULL;
    *ret_waits = false;
    if (!d && wait && ++q->tries_n < TRIES_MAX)
        return false;
    if (!d || (!n && !(n = node_open(m, q->node, d)))) {
        http_reply_text(q->x, wait ? 503 : 404, "text/plain",
                        wait ? "the GPUs of this node are not ready yet\n"
                             : "there is no simulated GPU node of this name (the agent of a --real-agent node has its own page)\n");
        return true;
    }
    tell(n);
    q->measured = *ret_waits = true;
    collect_now(n->collect);
    return true;
}

static void on_timer(void *arg)
{
    struct node_metrics *m = arg;
    struct asking *old = m->asking;
    bool waits, any = false;
    m->asking = NULL;
    while (old) { /* samples may come meanwhile: what is asked is in one list or the other */
        struct asking *q = old;
        old = q->next;
        q->next = m->asking;
        m->asking = q;
        if (q->measured)
            continue;
        bool done = try_to_answer(m, q, &waits);
        any |= !done;
        if (done && !waits) {
            m->asking = q->next;
            asking_free(q);
        }
    }
    if (any)
        loop_timer_start(m->timer, AGAIN_MS, 0);
}

static bool on_request(void *ctx, struct http_exchange *x)
{
    struct node_metrics *m = ctx;
    const char *path = x->request.path;
    if (!text_ends(path, SUFFIX) || strlen(path) <= strlen(PREFIX SUFFIX) || !text_equal(x->request.method, "GET"))
        return false;
    struct asking *q = mem_zero(1, sizeof *q);
    q->x = x;
    q->node = mem_text_n(path + strlen(PREFIX), strlen(path) - strlen(PREFIX SUFFIX));
    q->next = m->asking;
    m->asking = q;
    loop_timer_start(m->timer, 0, 0);
    return true;
}

/* ---- life ---- */

struct node_metrics *node_metrics_new(struct loop *l, struct apiserver *s, struct kubelets *k, struct usage_sim *u)
{
    struct node_metrics *m = mem_zero(1, sizeof *m);
    struct page_counter *counters;
    *m = (struct node_metrics){.loop = l, .kubelets = k, .usage = u, .arena = arena_new()};
    m->nodes = map_new(sizeof(struct shown_node *));
    m->page = (struct page_config){.sessions = true, .processes = true, .dcgm = true};
    page_counters_default(m->arena, &counters, &m->page.counters_n);
    m->page.counters = counters;
    m->timer = loop_timer_new(l, on_timer, m);
    apiserver_add_route(s, PREFIX, on_request, m);
    return m;
}

void node_metrics_free(struct node_metrics *m)
{
    if (!m)
        return;
    loop_timer_free(m->timer);
    while (m->asking) {
        struct asking *q = m->asking;
        m->asking = q->next;
        http_reply_text(q->x, 503, "text/plain", "the cluster ends\n");
        asking_free(q);
    }
    size_t at = 0;
    struct bytes key;
    for (struct shown_node **n; (n = map_next(m->nodes, &at, &key));)
        node_close(*n);
    map_free(m->nodes);
    arena_free(m->arena);
    free(m);
}
