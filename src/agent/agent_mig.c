/* agent_mig.c - the node label protocol of MIG: nvidia.com/mig.config in, nvidia.com/mig.config.state out
 *
 *     label ─▶ layout of that name: of the node's annotation capstan.dev/mig-layouts, file, ConfigMap, or what every node understands
 *         ─▶ state pending ─▶ mig_apply (evictions, holds) ─▶ state success | failed, event of the node
 *     A label that changes meanwhile is taken up afterwards: only the newest counts. What failed on units in use, or on a GPU of the layout
 *     that cannot be reached, is tried again when that is over: the label still says that it is wanted. The file is looked at each second
 *     and the ConfigMap is watched: what was edited is applied under the same label; a file or ConfigMap that goes takes nothing away.
 *     After a reset of a GPU, which its instances do not outlive, the layout is applied again.
 *
 * SOURCE nvidia-mig-manager. Unlike NVIDIA's manager no daemon is stopped and nothing else is paused: units that are about to go are
 *        reported unhealthy to the kubelet, the rest of the node keeps working.
 */
#include <stdio.h>
#include <sys/stat.h>
#include "agent/agent_parts.h"
#include "agent/node/evict.h"
#include "base/collections/map.h"
#include "base/file.h"
#include "base/log.h"
#include "kube/watch.h"

#define STATE_LABEL "nvidia.com/mig.config.state"
#define LIMIT_LAYOUTS_BYTES (1u << 20)

struct agent_mig {
    char *wanted, *current; /* layout names; current: being applied, or done */
    struct mig_blockers blocked; /* of current, which failed on what was in use: tried again once that is free */
    bool gone, missing;     /* it failed on a GPU that cannot be reached; one of `layout` is missed since: tried again once none is */
    bool running, recovered, recovering;
    uint64_t reset_reading; /* the last one before a GPU was reset, whose instances are gone; 0: none was since this was looked at */
    bool unsure;            /* it was said that it waits until it is known who has what */
    struct kube_watch *watch;    /* of the ConfigMap; NULL: none is named */
    char *fields;                /* its selector */
    bool map_seen;               /* the ConfigMap is there */
    bool of_node;                /* current is one of the node's own annotation */
    uint64_t map_hash, used_hash; /* of its layouts now, and when they were last applied; 0: none */
    struct stat file;            /* of the layouts file when it was last read */
    struct arena *arena;    /* of the layouts in use */
    struct mig_config config;
    const struct mig_layout *layout; /* current, in the arena; NULL: not found, or not looked for yet */
    struct mig_apply *apply; /* under way; NULL: none */
    struct evict *evict;    /* pods that mig_apply wants to leave; NULL: none had to yet */
};

/* ---- evictions ---- */

static void evict_owners(void *ctx, const struct mig_blockers *in_the_way, driver_done_fn done, void *arg)
{
    struct agent *a = ctx;
    struct agent_mig *g = a->mig;
    char why[160];
    (void)snprintf(why, sizeof why, "MIG layout %s needs the GPU", g->current);
    if (!g->evict)
        g->evict = agent_evict_new(a, 0);
    evict_begin(g->evict);
    for (uint32_t i = 0; i < in_the_way->n; i++)
        if (*in_the_way->list[i].pod)
            evict_pod(g->evict, in_the_way->list[i].ns, in_the_way->list[i].pod, why);
    evict_wait(g->evict, done, arg);
}

/* WHY  When a hold ends the last reading still shows the GPU as it was: it is kept until the next has come (agent.c). */
static void hold(void *ctx, const char *gpu_uuid, bool on)
{
    struct agent *a = ctx;
    uint32_t at = 0;
    while (at < a->held_n && !text_equal(a->held[at].uuid, gpu_uuid))
        at++;
    if (at == a->held_n && (!on || at == LIMIT_NODE_GPUS))
        return;
    if (at == a->held_n) {
        MEM_RESERVE(a->held, a->held_cap, a->held_n + 1);
        (void)snprintf(a->held[a->held_n++].uuid, sizeof a->held[0].uuid, "%s", gpu_uuid);
    }
    a->held[at].ends = !on;
    if (on)
        a->above->project_later(a);
    else
        a->above->read_now(a);
}

/* Also of GPUs that are gone. */
static void holds_end(struct agent *a)
{
    for (uint32_t i = 0; i < a->held_n; i++)
        a->held[i].ends = true;
}

/* ---- layouts ---- */

static void mig_state(struct agent *a, const char *state, bool warning, const char *text)
{
    struct agent_mig *g = a->mig;
    agent_log(a, warning ? LOG_ERROR : LOG_INFO, "mig layout=%s state=%s text=\"%s\"", g->current, state, text);
    agent_node_set(a, STATE_LABEL, state);
    if (!text_equal(state, "pending"))
        agent_node_event(a, warning, warning ? "MIGConfigFailed" : "MIGConfigApplied", text);
}

static void run_next(struct agent *a)
{
    a->mig->running = false;
    a->above->read_now(a);
    agent_mig_check(a);
}

/* Whose they are. */
static void add_owners(const struct mig_blockers *b, struct buf *text)
{
    bool any = false;
    for (uint32_t i = 0; i < b->n && text->n < 900; i++) {
        if (!*b->list[i].pod)
            continue;
        buf_printf(text, "%s%s/%s", any ? ", " : "; in use by ", b->list[i].ns, b->list[i].pod);
        any = true;
    }
}

/* result NULL: nothing was tried. */
static void fail_with(struct agent *a, const struct mig_apply_result *result, const struct err *e)
{
    struct agent_mig *g = a->mig;
    struct buf text = {0};
    buf_printf(&text, "MIG layout %s: %s", g->current, e->text);
    if (result)
        add_owners(&result->blockers, &text);
    mig_state(a, "failed", true, text.data);
    buf_free(&text);
    const struct mig_blockers *b = result ? &result->blockers : NULL;
    if (b && b->n && (mig_blockers_seen(b) || mig_blockers_hold(b, inventory_now(a->inventory)))) {
        for (uint32_t i = 0; i < b->n; i++)
            mig_blockers_add(&g->blocked, &b->list[i]);
    }
    g->gone = e->code == E_GONE;
    run_next(a);
}

static void fail(struct agent *a, const struct err *e)
{
    fail_with(a, NULL, e);
}

static void on_applied(void *arg, const struct mig_apply_result *result)
{
    struct agent *a = arg;
    struct buf text = {0};
    a->mig->apply = NULL;
    holds_end(a);
    if (result->code != 0) {
        fail_with(a, result, &result->error);
        return;
    }
    buf_printf(&text, "MIG layout %s: %u GPUs changed, %u as they were, %u steps%s", a->mig->current, result->changed_n,
               result->unchanged_n, result->steps_n, result->reset_required ? "; a mode change waits for a GPU reset" : "");
    mig_state(a, "success", false, text.data);
    buf_free(&text);
    run_next(a);
}

static void on_standing(void *arg, int code, const struct driver_reading *r, const struct err *e);

/* `text`: the layouts file, or empty. The layout is looked for there, then among those that every node understands. */
static void use_layouts(struct agent *a, struct bytes text)
{
    struct agent_mig *g = a->mig;
    struct err e = {0};
    arena_free(g->arena);
    g->arena = arena_new();
    g->config = (struct mig_config){0};
    g->layout = NULL;
    if (text.n > 0 && mig_config_parse(g->arena, (struct bytes){arena_text_n(g->arena, text.data, text.n), text.n}, &g->config, &e) < 0) {
        fail(a, &e);
        return;
    }
    driver_read(a->driver, on_standing, a);
}

static void list_layouts(const struct mig_config *c, struct buf *out)
{
    for (uint32_t i = 0; i < c->layouts_n && out->n < 300; i++)
        buf_printf(out, "%s%s", out->n ? ", " : "", c->layouts[i].name);
}

/* Of the layouts in use; then of those that every node with these GPUs understands. NULL: neither. */
static const struct mig_layout *find_layout(struct agent_mig *g, const struct driver_reading *r, struct err *e)
{
    const struct mig_layout *layout = mig_config_find(&g->config, g->current);
    if (layout)
        return layout;
    _cleanup_buf_ struct buf text = {0}, names = {0};
    struct mig_config usual = {0};
    mig_config_default(r, &text);
    if (mig_config_parse(g->arena, (struct bytes){arena_text_n(g->arena, text.data, text.n), text.n}, &usual, e) == 0)
        layout = mig_config_find(&usual, g->current);
    if (layout)
        return layout;
    list_layouts(&g->config, &names);
    list_layouts(&usual, &names);
    err_set(e, E_NOTFOUND, "no such layout; there are: %s", names.data ? names.data : "none");
    return NULL;
}

static void on_standing(void *arg, int code, const struct driver_reading *r, const struct err *driver_error)
{
    struct agent *a = arg;
    struct agent_mig *g = a->mig;
    struct err e = driver_error ? *driver_error : (struct err){0};
    if (code < 0) {
        fail(a, &e);
        return;
    }
    g->layout = find_layout(g, r, &e);
    if (!g->layout) {
        fail(a, &e);
        return;
    }
    struct err difference = {0};
    if (mig_apply_assert(r, g->layout, false, &difference) == 0) {
        struct mig_apply_result same = {.unchanged_n = r->gpus_n};
        on_applied(a, &same);
        return;
    }
    bool can_evict = a->o.mig_busy == MIG_BUSY_EVICT && a->kube;
    struct mig_apply_config c = {.busy = can_evict ? MIG_BUSY_EVICT : MIG_BUSY_REFUSE,
                                 .evict_timeout_ms = EVICT_TIMEOUT_MS + EVICT_ANSWER_MS,
                                 .evict = can_evict ? evict_owners : NULL,
                                 .hold = hold,
                                 .ctx = a};
    if (a->o.feed && a->o.feed->driver_changes)
        a->o.feed->driver_changes(a->o.feed->arg);
    g->apply = mig_apply_start(a->loop, a->driver, a->inventory, g->layout, &c, on_applied, a);
}

static const char *layouts_text(struct arena *m, struct bytes map)
{
    const struct json *data = json_get(json_parse(m, map, NULL, NULL), "data");
    const char *text = json_get_text(data, "config.yaml", NULL);
    return !text && data && data->n == 1 ? json_text(json_first(data), NULL) : text;
}

static uint64_t layouts_hash(const char *text)
{
    return text ? hash_bytes(text, strlen(text), 1) | 1 : 0;
}

static void on_map_event(void *arg, enum kube_event event, struct bytes object)
{
    struct agent *a = arg;
    struct arena *m = arena_new();
    a->mig->map_seen = event != KUBE_DELETED;
    a->mig->map_hash = layouts_hash(layouts_text(m, object));
    arena_free(m);
    agent_mig_check(a);
}

static void on_map(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    struct agent_mig *g = a->mig;
    struct err e = answer->error;
    if (answer->code == -E_NOTFOUND) { /* then what every node understands is all there is */
        g->map_seen = false;
        g->used_hash = 0;
        use_layouts(a, (struct bytes){0});
        return;
    }
    if (answer->code != 0) {
        err_set(&e, E_NOTFOUND, "ConfigMap %s: %s", a->o.mig_config_map, answer->error.text);
        g->used_hash = g->map_hash; /* only another edit starts it again */
        fail(a, &e);
        return;
    }
    struct arena *m = arena_new();
    const char *text = layouts_text(m, answer->body);
    g->map_seen = true;
    g->map_hash = g->used_hash = layouts_hash(text);
    if (text) {
        use_layouts(a, bytes_of(text));
    } else {
        err_set(&e, E_NOTFOUND, "ConfigMap %s has no entry config.yaml", a->o.mig_config_map);
        fail(a, &e);
    }
    arena_free(m);
}

static void read_layouts_file(struct agent *a)
{
    struct buf text = {0};
    struct err e = {0};
    a->mig->file = (struct stat){0};
    (void)stat(a->o.mig_config_file, &a->mig->file); /* reading says why */
    if (file_read(a->o.mig_config_file, LIMIT_LAYOUTS_BYTES, &text, &e) < 0)
        fail(a, &e);
    else
        use_layouts(a, buf_view(&text));
    buf_free(&text);
}

/* ---- the protocol ---- */

static const char *map_namespace(const struct agent *a, struct arena *m, const char **ret_name)
{
    const char *slash = strchr(a->o.mig_config_map, '/');
    *ret_name = slash ? slash + 1 : a->o.mig_config_map;
    return slash ? arena_text_n(m, a->o.mig_config_map, (size_t)(slash - a->o.mig_config_map)) : "default";
}

static const char *fed_layouts(const struct agent *a, const char *layout)
{
    return a->o.feed->layouts ? a->o.feed->layouts(a->o.feed->arg, layout) : NULL;
}

/* The layouts that the node itself brings along, where this one is among them; NULL: it is not. */
static const char *own_layouts(const struct agent *a, const char *layout)
{
    const char *text = agent_node_asks(a, AGENT_LAYOUTS_ANNOTATION);
    _cleanup_arena_ struct arena *m = arena_new();
    struct mig_config c = {0};
    bool has = text && mig_config_parse(m, bytes_of(text), &c, NULL) == 0 && mig_config_find(&c, layout);
    return has ? text : NULL;
}

static void start(struct agent *a)
{
    struct agent_mig *g = a->mig;
    g->running = true;
    mig_blockers_free(&g->blocked);
    g->gone = g->missing = false;
    free(g->current);
    g->current = mem_text(g->wanted);
    struct buf text = {0};
    buf_printf(&text, "MIG layout %s is being applied", g->current);
    mig_state(a, "pending", false, text.data);
    buf_free(&text);
    const char *own = own_layouts(a, g->current);
    g->of_node = own != NULL;
    if (own) {
        g->used_hash = layouts_hash(own);
        use_layouts(a, bytes_of(own));
    } else if (a->o.feed) {
        const char *text_fed = fed_layouts(a, g->current);
        g->used_hash = layouts_hash(text_fed);
        use_layouts(a, bytes_of(text_fed ? text_fed : ""));
    } else if (a->o.mig_config_file) {
        read_layouts_file(a);
    } else if (a->o.mig_config_map && a->kube) {
        struct arena *m = arena_new();
        const char *name, *ns = map_namespace(a, m, &name);
        kube_get(a->kube, kube_path(m, "", "v1", "configmaps", ns, name, NULL), on_map, a);
        arena_free(m);
    } else {
        use_layouts(a, (struct bytes){0});
    }
}

static void on_recovered(void *arg, const struct mig_apply_result *result)
{
    struct agent *a = arg;
    a->mig->apply = NULL;
    holds_end(a);
    a->mig->recovering = false;
    a->mig->recovered = true;
    if (result->code != 0)
        log_error("mig change of an earlier run not undone error=\"%s\"", result->error.text);
    else if (result->changed_n)
        log_info("mig change of an earlier run undone or finished gpus=%u", result->changed_n);
    a->above->read_now(a);
    agent_mig_check(a);
}

/* Are the layouts others than those that were last applied? */
static bool layouts_edited(const struct agent *a)
{
    const struct agent_mig *g = a->mig;
    struct stat now;
    const char *own = own_layouts(a, g->current);
    if (own || g->of_node) /* one that goes takes nothing away */
        return own && (!g->of_node || layouts_hash(own) != g->used_hash);
    if (a->o.feed) {
        const char *text = fed_layouts(a, g->current);
        return text && layouts_hash(text) != g->used_hash;
    }
    if (g->watch)
        return g->map_seen && g->map_hash != g->used_hash;
    if (!a->o.mig_config_file || stat(a->o.mig_config_file, &now) < 0)
        return false;
    return now.st_ino != g->file.st_ino || now.st_size != g->file.st_size || now.st_mtim.tv_sec != g->file.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != g->file.st_mtim.tv_nsec;
}

static bool layout_reached(const struct agent *a)
{
    const struct driver_reading *r = inventory_now(a->inventory)->reading;
    return a->mig->layout && r->gpus_n > 0 && mig_apply_reaches(r, a->mig->layout, NULL) == 0;
}

/* MIG instances do not outlive a reset: what the label wants has to be made again. */
static bool layout_undone(struct agent *a)
{
    struct agent_mig *g = a->mig;
    const struct driver_reading *r = inventory_now(a->inventory)->reading;
    if (!g->layout || !g->reset_reading || r->number <= g->reset_reading)
        return false;
    int code = mig_apply_assert(r, g->layout, false, NULL);
    if (code != -E_GONE) /* it has not come back yet */
        g->reset_reading = 0;
    return code == -E_CONFLICT;
}

void agent_mig_reset(struct agent *a)
{
    if (a->mig)
        a->mig->reset_reading = inventory_now(a->inventory)->reading->number;
}

/* WHY  an instance that nobody is known to have may be a running pod's: what destroys instances waits until podresources has named all
 * pods. */
static bool is_unsure(struct agent *a, const char *label)
{
    struct agent_mig *g = a->mig;
    if (!inventory_now(a->inventory)->owners_unsure) {
        g->unsure = false;
        return false;
    }
    if (!g->unsure && label && *label && !text_equal(label, g->current)) {
        log_warning("mig layout=%s waits: the kubelet does not say yet which pods have which devices", label);
        agent_node_set(a, STATE_LABEL, "pending");
        g->unsure = true;
    }
    return true;
}

bool agent_mig_busy(const struct agent *a)
{
    return a->mig && (a->mig->running || a->mig->recovering);
}

const char *agent_mig_layout(const struct agent *a)
{
    return a->mig ? a->mig->current : NULL;
}

static const char *wanted_layout(const struct agent *a)
{
    const char *label = agent_node_asks(a, AGENT_MIG_LABEL);
    bool preset = a->o.feed && a->o.feed->layout_preset && agent_node_seen(a) && !label;
    return preset ? a->o.feed->layout_preset(a->o.feed->arg) : label;
}

void agent_mig_check(struct agent *a)
{
    struct agent_mig *g = a->mig;
    if (!g || !a->read_once || a->driver_error.code || agent_mig_busy(a))
        return;
    const char *label = wanted_layout(a);
    if (is_unsure(a, label))
        return;
    if (!g->recovered) {
        g->recovering = true;
        const struct mig_apply_config c = {.hold = hold, .ctx = a};
        g->apply = mig_apply_recover(a->loop, a->driver, a->inventory, &c, on_recovered, a);
        return;
    }
    if (!label || !*label) { /* the same label set again is a new wish */
        free(g->current);
        g->current = NULL;
        return;
    }
    bool reached = layout_reached(a), back_now = g->missing && reached;
    bool free_now = g->blocked.n > 0 && !mig_blockers_hold(&g->blocked, inventory_now(a->inventory));
    g->missing = g->gone && !reached;
    if (text_equal(label, g->current) && !layouts_edited(a) && !free_now && !back_now && !layout_undone(a))
        return;
    free(g->wanted);
    g->wanted = mem_text(label);
    start(a);
}

void agent_mig_new(struct agent *a)
{
    a->mig = mem_zero(1, sizeof *a->mig);
    a->mig->recovered = a->o.feed != NULL; /* no journal */
    if (a->o.mig_config_file || !a->o.mig_config_map || !a->kube)
        return;
    struct arena *m = arena_new();
    const char *name, *ns = map_namespace(a, m, &name);
    a->mig->fields = mem_text(arena_printf(m, "metadata.name=%s", name));
    a->mig->watch = kube_watch_new(a->kube, &(struct kube_watch_config){.path = kube_path(m, "", "v1", "configmaps", ns, NULL, NULL),
                                                                        .field_selector = a->mig->fields,
                                                                        .objects_max = 1,
                                                                        .on_event = on_map_event,
                                                                        .arg = a});
    arena_free(m);
}

void agent_mig_free(struct agent *a)
{
    struct agent_mig *g = a->mig;
    if (!g)
        return;
    if (a->kube)
        kube_client_forget(a->kube, on_map, a);
    kube_watch_free(g->watch);
    mig_apply_cancel(g->apply); /* before its evictions end */
    evict_free(g->evict);
    arena_free(g->arena);
    free(g->fields);
    free(g->wanted);
    free(g->current);
    mig_blockers_free(&g->blocked);
    free(g);
    a->mig = NULL;
}
