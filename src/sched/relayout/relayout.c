/* relayout.c - see relayout.h: which nodes, and what each of them waits for
 *
 * RACE  Between the plan and the agent others would be placed on a GPU that is about to change. So its devices are told to the core as if
 *       they were ill, before the node is written; in the turn after that everybody who was placed there earlier is seen.
 */
#include "sched/relayout/relayout.h"
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "sched/relayout/relayout_write.h"

enum {
    TICK_MS = 500,
    LOOK_MS = 2000,
    SETTLE_MS = 2000, /* so long somebody has to wait: more may come with him */
    CLOSED_MS = 200,  /* then everything that was on its way to the core is there */
    FAILED_MS = 5000, /* a state that is older than the change is gone by then */
    APPLY_MS = 600000,
    REFUSED_MS = 600000, /* the API server denied the write */
};

struct relayout {
    struct scheduler *s;
    struct loop_timer *timer;
    struct map *nodes;          /* name -> struct relayout_node *: with the label */
    int64_t hungry_ms, next_ms; /* on the loop's clock; since when somebody waits, 0: nobody; next look */
};

/* ---- nodes as the scheduler sees them ---- */

static struct relayout_node *node_find(void *arg, const char *name)
{
    struct relayout *r = arg;
    struct relayout_node **n = map_find_text(r->nodes, name);
    return n ? *n : NULL;
}

static void on_patched(void *arg, const struct kube_answer *answer);
static void on_taken_back(void *arg, const struct kube_answer *answer);

static void node_free(struct relayout_node *n)
{
    kube_client_forget(n->r->s->client, on_patched, n);
    kube_client_forget(n->r->s->client, on_taken_back, n);
    relayout_gpus_free(n);
    free(n->name);
    free(n->object);
    free(n->asked);
    free(n->complaint);
    free(n->layout);
    free(n->layouts);
    free(n);
}

static bool is_closed(const struct relayout_node *n, uint16_t gpu)
{
    for (uint32_t i = 0; i < n->gpus_n && n->phase != RELAYOUT_CALM; i++)
        if (n->gpus[i].gpu == gpu)
            return true;
    return false;
}

static void close_gpus(const struct relayout_node *n, struct node_record *record)
{
    struct device *all = arena_alloc(n->r->s->incoming_arena, (record->devices_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < record->devices_n; i++) {
        all[i] = record->devices[i];
        all[i].healthy &= !is_closed(n, all[i].gpu);
    }
    record->devices = record->devices_n ? all : NULL;
}

/* The scheduler is about to take this in. */
static void on_node(void *arg, const char *name, struct bytes object, struct node_record *record)
{
    struct relayout *r = arg;
    struct relayout_node *n = node_find(r, name);
    const char *asked = record ? relayout_label(r->s, record->labels, record->labels_n, RELAYOUT_LABEL) : NULL;
    if (!asked && n) {
        (void)map_remove(r->nodes, bytes_of(name));
        node_free(n);
    }
    if (!asked)
        return;
    if (!n) {
        n = mem_zero(1, sizeof *n);
        n->r = r;
        n->name = mem_text(name);
        *(struct relayout_node **)map_put(r->nodes, bytes_of(name), NULL) = n;
        if (!loop_timer_running(r->timer))
            loop_timer_start(r->timer, TICK_MS, TICK_MS);
    }
    if (!text_equal(n->asked, asked)) {
        free(n->asked);
        n->asked = mem_text(asked);
    }
    free(n->object);
    n->object = mem_text_n(object.data, object.n);
    if (n->phase != RELAYOUT_CALM)
        close_gpus(n, record);
}

static void phase(struct relayout_node *n, enum relayout_phase to)
{
    struct scheduler *s = n->r->s;
    bool changes = (n->phase == RELAYOUT_CALM) != (to == RELAYOUT_CALM);
    n->phase = to;
    n->since_ms = loop_now_ms(s->loop);
    if (changes) /* its devices are others for the core from now on */
        sources_node_again(s, bytes_of(arena_text(s->incoming_arena, n->object)));
}

static int64_t pause_ms(const struct relayout_node *n)
{
    return (int64_t)RELAYOUT_PAUSE_MS << (n->vain_n < RELAYOUT_PAUSE_DOUBLINGS ? n->vain_n : RELAYOUT_PAUSE_DOUBLINGS);
}

static void calm(struct relayout_node *n, int64_t wait_ms)
{
    phase(n, RELAYOUT_CALM);
    n->not_before_ms = n->since_ms + wait_ms;
}

/* ---- writing ---- */

static void write_node(struct relayout_node *n, const char *layout, const char *layouts, kube_answer_fn fn)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, relayout_patch(a, layout, layouts));
    kube_patch(n->r->s->client, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "nodes", NULL, n->name, NULL), buf_view(&body), fn, n);
}

static void on_patched(void *arg, const struct kube_answer *answer)
{
    struct relayout_node *n = arg;
    if (answer->code < 0) {
        _cleanup_arena_ struct arena *a = arena_new();
        relayout_complain(n->r->s, n, "MIGLayoutRefused", arena_printf(a, "its MIG layout cannot be written: %s", answer->error.text));
        calm(n, REFUSED_MS);
        return;
    }
    if (n->phase == RELAYOUT_WRITING)
        phase(n, RELAYOUT_APPLYING);
    relayout_tell(n->r->s, n);
}

static void on_taken_back(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    if (answer->code < 0)
        log_warning("mig layout by demand not taken back error=\"%s\"", answer->error.text);
}

/* ---- a node that is not calm ---- */

static bool look_at_node(const struct relayout_node *n, struct arena *a, struct node_detail *ret_detail)
{
    const struct scheduler *s = n->r->s;
    name_id name = intern_find(s->names, bytes_of(n->name));
    return name && state_node_detail(s->state, name, a, ret_detail);
}

/* Of the GPUs that change, or were changed last. */
static bool is_anybody_there(const struct relayout_node *n, const struct node_detail *d)
{
    name_id node = intern_find(n->r->s->names, bytes_of(n->name));
    for (uint32_t i = 0; i < n->gpus_n; i++)
        if (relayout_is_taken(n->r->s, d, node, n->gpus[i].gpu))
            return true;
    return false;
}

/* The node is to be as it is, so that what failed is not applied some day, when nobody waits for it any more. */
static void take_back(struct relayout_node *n, const struct node_detail *d, struct arena *a)
{
    struct scheduler *s = n->r->s;
    const char *problem;
    name_id kinds[DEMAND_KINDS] = {0};
    struct demand_node node = {.model = relayout_model(s, d, a, &problem)};
    uint32_t kinds_n = node.model ? relayout_kinds(s, &node.model, 1, a, kinds) : 0;
    n->vain_n++;
    relayout_complain(s, n, "MIGLayoutFailed",
                      arena_printf(a, "MIG layout %s, by demand, did not come; it is taken back", n->layout ? n->layout : "of before"));
    if (!node.model)
        return;
    relayout_profiles(s, kinds, kinds_n, a, &node);
    relayout_gpus(s, d, intern_find(s->names, bytes_of(n->name)), kinds, kinds_n, a, &node);
    const char *layout = arena_printf(a, RELAYOUT_NAME "%lld", (long long)(loop_wall_ms(s->loop) / 1000));
    write_node(n, layout, relayout_file(a, layout, &node, NULL, 0), on_taken_back);
}

static bool has_failed(const struct relayout_node *n, const struct node_detail *d, int64_t now_ms)
{
    return text_equal(relayout_label(n->r->s, d->labels, d->labels_n, RELAYOUT_STATE_LABEL), "failed") && now_ms - n->since_ms > FAILED_MS;
}

static void go_on(struct relayout_node *n, struct arena *a, int64_t now_ms)
{
    struct scheduler *s = n->r->s;
    struct node_detail d;
    bool there = look_at_node(n, a, &d);
    if (n->phase == RELAYOUT_CLOSING && now_ms - n->since_ms >= CLOSED_MS && s->incoming_n == 0) {
        if (!there || is_anybody_there(n, &d)) { /* somebody was faster */
            calm(n, LOOK_MS);
            return;
        }
        phase(n, RELAYOUT_WRITING);
        write_node(n, n->layout, n->layouts, on_patched);
    } else if (n->phase == RELAYOUT_APPLYING && there && relayout_reached(s, n, a)) {
        free(n->complaint);
        n->complaint = NULL;
        calm(n, pause_ms(n));
    } else if (n->phase == RELAYOUT_APPLYING && there && (has_failed(n, &d, now_ms) || now_ms - n->since_ms > APPLY_MS)) {
        take_back(n, &d, a);
        calm(n, pause_ms(n));
    }
}

/* One of an earlier scheduler that failed, or why nothing follows here. */
static void look_at_calm(struct relayout_node *n, struct arena *a, int64_t now_ms)
{
    struct scheduler *s = n->r->s;
    struct node_detail d;
    const char *problem = NULL;
    if (!look_at_node(n, a, &d))
        return;
    n->used |= is_anybody_there(n, &d);
    const char *layout = relayout_label(s, d.labels, d.labels_n, RELAYOUT_LAYOUT_LABEL);
    if (!text_equal(n->asked, "true") && !text_equal(n->asked, "false"))
        problem = arena_printf(a, "label " RELAYOUT_LABEL "=%s: write true or false", n->asked);
    else if (text_equal(n->asked, "true") && !relayout_model(s, &d, a, &problem))
        problem = arena_printf(a, "label " RELAYOUT_LABEL " has no effect: %s", problem);
    if (problem && d.ready && now_ms - n->since_ms > FAILED_MS)
        relayout_complain(s, n, "MIGDemandIgnored", problem);
    if (!problem && now_ms >= n->not_before_ms && text_equal(n->asked, "true") && text_starts(layout ? layout : "", RELAYOUT_NAME) &&
        has_failed(n, &d, now_ms)) {
        take_back(n, &d, a);
        calm(n, pause_ms(n));
    }
}

/* ---- the look ---- */

static void begin(struct relayout_node *n, const struct relayout_world *w, const struct demand_change *changes, uint32_t changes_n,
                  uint32_t node, struct arena *a)
{
    struct scheduler *s = n->r->s;
    n->vain_n = n->gpus_n == 0 || n->used ? 0 : n->vain_n + 1;
    n->used = false;
    relayout_gpus_free(n);
    for (uint32_t i = 0; i < changes_n; i++)
        if (changes[i].node == node)
            relayout_note(n, w, &changes[i], a);
    free(n->layout);
    free(n->layouts);
    n->layout = mem_text(arena_printf(a, RELAYOUT_NAME "%lld", (long long)(loop_wall_ms(s->loop) / 1000)));
    n->layouts = mem_text(relayout_file(a, n->layout, &w->nodes[node], n->gpus, n->gpus_n));
    phase(n, RELAYOUT_CLOSING);
}

static void look(struct relayout *r, struct arena *a, int64_t now_ms)
{
    struct scheduler *s = r->s;
    struct relayout_world w;
    struct demand_change *changes;
    const struct relayout_finder f = {node_find, r, now_ms, loop_wall_ms(s->loop)};
    bool can = relayout_world_make(s, &f, a, &w);
    r->hungry_ms = !w.hungry ? 0 : r->hungry_ms ? r->hungry_ms : now_ms;
    if (!can || now_ms - r->hungry_ms < SETTLE_MS)
        return;
    uint32_t n = demand_plan(w.nodes, w.nodes_n, w.wants, w.wants_n, a, &changes);
    for (uint32_t i = 0; i < n; i++) {
        struct relayout_node *node = w.of[changes[i].node];
        if (node->phase == RELAYOUT_CALM)
            begin(node, &w, changes, n, changes[i].node, a);
    }
}

static void tick(void *arg)
{
    struct relayout *r = arg;
    struct scheduler *s = r->s;
    int64_t now_ms = loop_now_ms(s->loop);
    size_t at = 0;
    struct bytes key;
    if (map_count(r->nodes) == 0) {
        loop_timer_stop(r->timer);
        return;
    }
    if (!s->synced)
        return;
    bool leads = scheduler_may_act(s);
    _cleanup_arena_ struct arena *a = arena_new();
    for (struct relayout_node **n; (n = map_next(r->nodes, &at, &key));) {
        if (!leads && (*n)->phase != RELAYOUT_CALM)
            calm(*n, 0);
        else if (leads && (*n)->phase != RELAYOUT_CALM)
            go_on(*n, a, now_ms);
        else if (leads && now_ms >= r->next_ms)
            look_at_calm(*n, a, now_ms);
        arena_reset(a);
    }
    if (!leads || now_ms < r->next_ms || s->incoming_n > 0)
        return;
    r->next_ms = now_ms + LOOK_MS;
    look(r, a, now_ms);
}

struct relayout *relayout_new(struct scheduler *s)
{
    struct relayout *r = mem_zero(1, sizeof *r);
    r->s = s;
    r->nodes = map_new(sizeof(struct relayout_node *));
    r->timer = loop_timer_new(s->loop, tick, r); /* runs while there is such a node */
    s->on_node = on_node;
    s->on_node_arg = r;
    return r;
}

void relayout_free(struct relayout *r)
{
    size_t at = 0;
    struct bytes key;
    if (!r)
        return;
    r->s->on_node = NULL;
    for (struct relayout_node **n; (n = map_next(r->nodes, &at, &key));)
        node_free(*n);
    map_free(r->nodes);
    loop_timer_free(r->timer);
    free(r);
}
