/* node_measure.c - pods become processes of the simulated driver, and the exporter's collector measures it */
#include "sim/usage/node_measure.h"
#include <assert.h>
#include <stdlib.h>
#include "agent/inventory/slot_id.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/collect/collect.h"
#include "exporter/pages/serve.h"
#include "net/http.h"
#include "sim/driver/driver_model.h"
#include "sim/node/sim_node.h"
#include "sim/usage/usage_sim_part.h"

#define TICK_MS 100
#define TICK_NODES 10 /* looked at in one tick because of their pods */
#define LISTENERS_MAX 2
#define KEPT_MS 600000   /* counters of a page that nobody asks for any more, and of a fault that is repaired */
#define QUIET_PERIODS 10 /* as exporter/push/feedback.h: what has not changed is said again then */
#define WHOLE_GPU 0xffffffffu

struct shown_pod {
    char *ns, *pod, *container, *uid, *queue, *job, *user;
    uint32_t pid;
    double start_s;
};
/* What it takes to measure; some 100 KB, and made in a fraction of a millisecond. WHY an inventory beside the agent's: that one has who
 * holds slots as the device manager knows it, by pod and from before the pod runs; a page tells of the containers that run. */
struct meter {
    struct inventory *inventory;
    struct account *account;
    struct pods *pods;
    struct collect *collect;
    struct serve *serve; /* NULL: its page was not asked for */
    struct shown_pod *running;
    uint32_t running_n, running_cap;
};
struct measured {
    struct node_measure *all;
    char *name;
    struct sim_node *node; /* the kubelets' */
    struct agent *agent;   /* its own */
    struct meter *meter;          /* NULL: not at the moment */
    int64_t kept_until_ms;        /* its meter counts what must not be forgotten; the loop's time; INT64_MAX: it has a fault */
    struct loop_timer *again;
};
/* A node whose pods have changed. */
struct changed {
    struct changed *next;
    char *node;
};
struct node_measure {
    struct loop *loop;
    struct kubelets *kubelets;
    struct usage_sim *usage;
    struct map *nodes; /* name -> struct measured * */
    struct map *waiting; /* names in `first`, so that each is there once */
    struct changed *first, *last;
    struct loop_timer *timer;
    struct node_measure_listener listeners[LISTENERS_MAX];
    uint32_t listeners_n;
    struct arena *arena; /* the counters of all pages */
    struct page_config page;
};

/* ---- what runs there ---- */

static void running_clear(struct meter *n)
{
    for (uint32_t i = 0; i < n->running_n; i++) {
        struct shown_pod *p = &n->running[i];
        free(p->ns);
        free(p->pod);
        free(p->container);
        free(p->uid);
        free(p->queue);
        free(p->job);
        free(p->user);
    }
    n->running_n = 0;
}

static bool process_of(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                       struct pod_names *ret_names)
{
    const struct meter *n = arg;
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
    const struct meter *n = arg;
    for (uint32_t i = 0; i < n->running_n; i++) {
        const struct shown_pod *p = &n->running[i];
        if (!text_equal(p->pod, pod) || !text_equal(p->ns, ns))
            continue;
        *ret_names = (struct pod_names){p->ns, p->pod, p->container, p->uid, p->queue, p->job, p->user};
        return true;
    }
    return false;
}

struct telling {
    struct measured *node;
    const struct inventory_snapshot *devices;
    struct arena *arena;
    struct slot_owner *owners;
    struct driver_process *processes;
    double *activities; /* by unit */
    uint32_t n, owners_cap, processes_cap;
};

/* The unit that a slot is on, and into how many it is shared. A pod may have a slot of before: when the sharing or the layout has changed
 * under it, it is in no table any more. -1: on nothing that is there. */
static int32_t unit_of_slot(const struct telling *t, const char *resource, const char *slot, int32_t *ret_replicas)
{
    const struct resource *r = resource_table_find(agent_table(t->node->agent), resource);
    const struct slot *s = r ? resource_find_slot(r, slot) : NULL;
    *ret_replicas = s && s->shared && r->replicas > 0 ? r->replicas : 1;
    if (s)
        return s->unit < t->devices->units_n ? (int32_t)s->unit : -1;
    for (uint32_t i = 0; i < t->devices->units_n; i++)
        if (slot_is_of(slot, &t->devices->units[i]))
            return (int32_t)i;
    return -1;
}

static void on_device(void *arg, const struct usage_pod *pod, const char *resource, const char *slot)
{
    struct telling *t = arg;
    int32_t replicas, unit = unit_of_slot(t, resource, slot, &replicas);
    if (unit < 0)
        return;
    const struct unit *u = &t->devices->units[unit];
    MEM_RESERVE(t->owners, t->owners_cap, t->n + 1);
    MEM_RESERVE(t->processes, t->processes_cap, t->n + 1);
    t->owners[t->n] = (struct slot_owner){arena_text(t->arena, resource), arena_text(t->arena, slot), pod->ns, pod->pod,
                                         pod->container};
    t->processes[t->n++] = (struct driver_process){.pid = pod->pid,
                                                   .gpu = u->gpu->index,
                                                   .gi = u->mig ? u->mig->gi : WHOLE_GPU,
                                                   .ci = u->mig ? u->mig->ci : WHOLE_GPU,
                                                   .memory_bytes = (uint64_t)pod->memory_bytes};
    t->activities[unit] += pod->activity / replicas;
}

static void on_running(void *arg, const struct usage_pod *pod)
{
    struct meter *n = ((struct telling *)arg)->node->meter;
    MEM_RESERVE(n->running, n->running_cap, n->running_n + 1);
    n->running[n->running_n++] = (struct shown_pod){mem_text(pod->ns), mem_text(pod->pod), mem_text(pod->container), mem_text(pod->uid),
                                                    mem_text(pod->queue), mem_text(pod->job), mem_text(pod->user), pod->pid, pod->start_s};
}

/* The pods of now become processes of the simulated driver, and owners of slots. */
static void tell(struct measured *n)
{
    struct meter *meter = n->meter;
    struct driver *driver = agent_driver(n->agent);
    struct telling t = {.node = n, .devices = agent_table_snapshot(n->agent), .arena = arena_new()};
    t.activities = arena_zero(t.arena, t.devices->units_n + 1, sizeof *t.activities);
    running_clear(meter);
    usage_sim_each(n->all->usage, n->name, on_running, on_device, &t);
    inventory_set_reading(meter->inventory, t.devices->reading);
    inventory_set_owners(meter->inventory, t.owners, t.n);
    if (!agent_mig_changes(n->agent)) /* then who holds slots without running counts, too */
        driver_model_set_processes(driver, t.processes, t.n);
    for (uint32_t i = 0; i < t.devices->units_n; i++) {
        const struct unit *u = &t.devices->units[i];
        double busy = t.activities[i] < 1 ? t.activities[i] : 1;
        driver_model_work(driver, u->gpu->index, u->mig ? u->mig->gi : WHOLE_GPU, u->mig ? u->mig->ci : WHOLE_GPU,
                          (uint32_t)(busy * 1000), (uint32_t)(busy * 500));
    }
    collect_resources(meter->collect, agent_table(n->agent));
    free(t.owners);
    free(t.processes);
    arena_free(t.arena);
}

/* ---- nodes ---- */

static struct measured *measured_find(const struct node_measure *m, const char *name)
{
    struct measured **known = map_find_text(m->nodes, name);
    return known ? *known : NULL;
}

static void meter_free(struct meter *meter)
{
    if (!meter)
        return;
    serve_free(meter->serve);
    collect_free(meter->collect);
    account_close(meter->account);
    pods_free(meter->pods);
    inventory_close(meter->inventory);
    running_clear(meter);
    free(meter->running);
    free(meter);
}

/* WHY  a collector a node all the time would be most of the memory of a large cluster. */
static void on_sample(void *arg, const struct sample *s)
{
    struct measured *n = arg;
    const struct node_measure *m = n->all;
    for (uint32_t i = 0; i < m->listeners_n; i++)
        m->listeners[i].sampled(m->listeners[i].arg, n->name, s);
    if (loop_now_ms(m->loop) < n->kept_until_ms)
        return;
    meter_free(n->meter);
    n->meter = NULL;
}

static void meter_open(struct measured *n)
{
    const struct node_measure *m = n->all;
    struct meter *meter = n->meter = mem_zero(1, sizeof *meter);
    struct collect_config c = {.period_ms = NODE_MEASURE_PERIOD_MS, .hostname = n->name, .processes_max = 2000,
                               .slicings = agent_inventory(n->agent)};
    page_wanted(&m->page, c.wanted);
    (void)inventory_open(m->loop, NULL, &meter->inventory, NULL); /* without a journal nothing can fail */
    meter->account = account_open(NULL, n->name);
    meter->pods = pods_new(m->loop, &(struct pods_config){
                                        .node_name = n->name, .process_of = process_of, .pod_of = pod_of, .arg = meter});
    meter->collect = collect_new(m->loop, agent_driver(n->agent), meter->inventory, meter->pods, meter->account, &c);
    collect_listen(meter->collect, on_sample, n);
}

static void measure(struct measured *n)
{
    if (!n->meter)
        meter_open(n);
    tell(n);
    collect_now(n->meter->collect);
}

static void measured_free(struct measured *n)
{
    sim_node_watch(n->node, NULL);
    loop_timer_free(n->again);
    meter_free(n->meter);
    free(n->name);
    free(n);
}

static void on_devices_freed(void *arg)
{
    struct measured *n = arg;
    struct node_measure *m = n->all;
    (void)map_remove(m->nodes, bytes_of(n->name));
    for (uint32_t i = 0; i < m->listeners_n; i++)
        m->listeners[i].gone(m->listeners[i].arg, n->name);
    measured_free(n);
}

/* GPUs are back when the faults of the node are repaired, all at once. */
static void on_event(void *arg, const struct driver_event *event)
{
    struct measured *n = arg;
    if (event->kind == DRIVER_EVENT_BACK && n->kept_until_ms == INT64_MAX)
        n->kept_until_ms = loop_now_ms(n->all->loop) + KEPT_MS;
    if (event->kind != DRIVER_EVENT_XID)
        return;
    n->kept_until_ms = INT64_MAX;
    measure(n);
    collect_xid(n->meter->collect, event);
}

/* Loads change with the pods only: between these it is said from time to time that all is as it was. */
static void on_again(void *arg)
{
    struct measured *n = arg;
    measure(n);
    if (n->meter->running_n > 0)
        loop_timer_start(n->again, QUIET_PERIODS * NODE_MEASURE_PERIOD_MS, 0);
}

static int measured_get(struct node_measure *m, const char *name, struct measured **ret_n)
{
    bool wait = false;
    struct sim_node *node = kubelets_sim_node(m->kubelets, name, &wait);
    struct measured *n = measured_find(m, name);
    if (!node)
        return wait ? -E_AGAIN : -E_NOTFOUND;
    if (!n) {
        n = mem_zero(1, sizeof *n);
        *n = (struct measured){.all = m, .name = mem_text(name), .node = node, .agent = sim_node_agent(node)};
        n->again = loop_timer_new(m->loop, on_again, n);
        sim_node_watch(node, &(struct sim_node_watcher){on_devices_freed, on_event, n});
        *(struct measured **)map_put(m->nodes, bytes_of(name), NULL) = n;
    }
    *ret_n = n;
    return 0;
}

int node_measure_now(struct node_measure *m, const char *node)
{
    struct measured *n;
    int r = measured_get(m, node, &n);
    if (r < 0)
        return r;
    if (n->kept_until_ms < INT64_MAX)
        n->kept_until_ms = loop_now_ms(m->loop) + KEPT_MS;
    measure(n);
    return 0;
}

struct bytes node_measure_page(struct node_measure *m, const char *node, bool openmetrics)
{
    const struct measured *n = measured_find(m, node);
    struct meter *meter = n ? n->meter : NULL;
    const struct serve_config config = {.page = m->page, .period_ms = NODE_MEASURE_PERIOD_MS};
    if (!meter)
        return (struct bytes){"", 0};
    if (!meter->serve) /* without a socket nothing can fail */
        (void)serve_new(m->loop, meter->collect, meter->account, &config, &meter->serve, NULL);
    return serve_page(meter->serve, openmetrics);
}

/* ---- nodes whose pods have changed ---- */

static void on_pods_changed(void *arg, const char *node)
{
    struct node_measure *m = arg;
    bool is_new;
    (void)map_put(m->waiting, bytes_of(node), &is_new);
    if (!is_new)
        return;
    struct changed *c = mem_alloc(sizeof *c);
    *c = (struct changed){.node = mem_text(node)};
    if (m->last)
        m->last->next = c;
    else
        m->first = c;
    m->last = c;
    if (!loop_timer_running(m->timer))
        loop_timer_start(m->timer, TICK_MS, 0);
}

/* OWNER  the caller frees it. */
static struct changed *changed_pop(struct node_measure *m)
{
    struct changed *c = m->first;
    if (!c)
        return NULL;
    m->first = c->next;
    if (!m->first)
        m->last = NULL;
    (void)map_remove(m->waiting, bytes_of(c->node));
    return c;
}

static void changed_free(struct changed *c)
{
    free(c->node);
    free(c);
}

static void on_tick(void *arg)
{
    struct node_measure *m = arg;
    struct changed *c;
    for (int i = 0; i < TICK_NODES && (c = changed_pop(m)); i++) {
        struct measured *n = NULL;
        int r = measured_get(m, c->node, &n);
        if (r == -E_AGAIN)
            on_pods_changed(m, c->node);
        if (r == 0) {
            measure(n);
            loop_timer_start(n->again, NODE_MEASURE_PERIOD_MS, 0); /* what may not be written yet */
        }
        changed_free(c);
    }
    if (m->first)
        loop_timer_start(m->timer, TICK_MS, 0);
}

/* ---- life ---- */

struct node_measure *node_measure_new(struct loop *l, struct kubelets *k, struct usage_sim *u)
{
    struct node_measure *m = mem_zero(1, sizeof *m);
    struct page_counter *counters;
    *m = (struct node_measure){.loop = l, .kubelets = k, .usage = u, .arena = arena_new()};
    m->nodes = map_new(sizeof(struct measured *));
    m->waiting = map_new(1);
    m->page = (struct page_config){.sessions = true, .processes = true, .dcgm = true};
    page_counters_default(m->arena, &counters, &m->page.counters_n);
    m->page.counters = counters;
    m->timer = loop_timer_new(l, on_tick, m);
    usage_sim_on_change(u, on_pods_changed, m);
    return m;
}

void node_measure_listen(struct node_measure *m, const struct node_measure_listener *listener)
{
    assert(m->listeners_n < LISTENERS_MAX);
    m->listeners[m->listeners_n++] = *listener;
}

void node_measure_free(struct node_measure *m)
{
    if (!m)
        return;
    usage_sim_on_change(m->usage, NULL, NULL);
    loop_timer_free(m->timer);
    for (struct changed *c; (c = changed_pop(m));)
        changed_free(c);
    size_t at = 0;
    struct bytes key;
    for (struct measured **n; (n = map_next(m->nodes, &at, &key));)
        measured_free(*n);
    map_free(m->nodes);
    map_free(m->waiting);
    arena_free(m->arena);
    free(m);
}
