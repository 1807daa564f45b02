/* demand_plan.c - see demand_plan.h */
#include "sched/relayout/demand_plan.h"
#include <string.h>
#include "gpu/mig_plan.h"

enum { WHOLE = 0, ROUNDS = 8 };

struct left_of_node {
    uint32_t spare[DEMAND_KINDS]; /* instances that nobody who waits would get, of GPUs that do not change, or have been changed here */
    struct demand_layout *kept;   /* by GPU: its instances that somebody would get */
    bool *decided;                /* by GPU */
};
struct planner {
    const struct demand_node *nodes;
    const struct demand_want *wants;
    uint32_t nodes_n, wants_n;
    bool *out;                 /* by want: its gang would not be whole */
    uint32_t *pods_left;       /* by want */
    uint32_t **room_left;      /* by want, by node */
    struct left_of_node *left; /* by node */
    struct demand_change *changes;
    uint32_t changes_n;
};
struct score {
    bool serves, same_mode;
    uint32_t *slices; /* by want; of wants of one priority the sum stands at the first */
    uint32_t kept_n, cut_n, want;
};
struct best {
    struct score score;
    struct demand_layout to;
    uint32_t node, gpu;
};

/* ---- layouts ---- */

static uint32_t slices_of(const struct demand_node *node, uint32_t kind)
{
    return kind == WHOLE ? node->model->mig_slices : node->profiles[kind] ? node->profiles[kind]->slices : 0;
}

bool demand_layout_fits(const struct demand_node *node, const struct demand_layout *l)
{
    static const struct mig_state empty = {.mode = 1, .mode_pending = 1};
    struct mig_wish wishes[DEMAND_KINDS];
    struct mig_plan plan;
    uint32_t n = 0;
    for (uint32_t k = 1; k < DEMAND_KINDS; k++) {
        if (!l->n[k])
            continue;
        if (!node->profiles[k])
            return false;
        wishes[n++] = (struct mig_wish){node->profiles[k], node->profiles[k]->slices, l->n[k]};
    }
    if (l->n[WHOLE])
        return l->n[WHOLE] == 1 && n == 0;
    return n == 0 || mig_plan_make(node->model, &empty, true, wishes, n, &plan, NULL) == 0;
}

const char *demand_layout_text(struct arena *a, const struct demand_node *node, const struct demand_layout *l)
{
    const char *text = "";
    if (l->n[WHOLE])
        return "no MIG";
    for (uint32_t k = 1; k < DEMAND_KINDS; k++)
        if (l->n[k] && node->profiles[k])
            text = arena_printf(a, "%s%s%u×%s", text, *text ? " + " : "", l->n[k], node->profiles[k]->name);
    return *text ? text : "nothing";
}

/* ---- who would get what is free ---- */

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Pods that ask for so much of each kind, out of so much. */
static uint32_t pods_of(const struct demand_want *w, const uint32_t have[DEMAND_KINDS], uint32_t most)
{
    for (uint32_t k = 0; k < DEMAND_KINDS; k++)
        if (w->asks[k])
            most = smaller(most, have[k] / w->asks[k]);
    return most;
}

static bool changes_yet(const struct planner *p, uint32_t node, uint32_t gpu)
{
    return p->nodes[node].may_change && p->nodes[node].gpus[gpu].idle && !p->left[node].decided[gpu];
}

/* Adds what nobody would get of the node's GPUs that may still change, or of the others. */
static void add_free(const struct planner *p, uint32_t node, bool of_changing, uint32_t free[DEMAND_KINDS])
{
    for (uint32_t g = 0; g < p->nodes[node].gpus_n; g++)
        for (uint32_t k = 0; k < DEMAND_KINDS && changes_yet(p, node, g) == of_changing; k++)
            free[k] += (uint32_t)(p->nodes[node].gpus[g].free.n[k] - p->left[node].kept[g].n[k]);
}

/* So many instances of such GPUs. Returns how many of n are missing. */
static uint32_t keep_on(const struct planner *p, uint32_t node, uint32_t kind, uint32_t n, bool of_changing)
{
    for (uint32_t g = 0; g < p->nodes[node].gpus_n && n; g++) {
        struct demand_layout *kept = &p->left[node].kept[g];
        uint32_t left = (uint32_t)(p->nodes[node].gpus[g].free.n[kind] - kept->n[kind]);
        uint32_t more = changes_yet(p, node, g) == of_changing ? smaller(n, left) : 0;
        kept->n[kind] = (uint8_t)(kept->n[kind] + more);
        n -= more;
    }
    return n;
}

/* WHY  a pod that waits for all GPUs of a node, most of which are free, would wait for ever if one after the other were cut. */
static void keep_for_whole(const struct planner *p, uint32_t want, uint32_t node)
{
    uint32_t has_n = 0;
    for (uint32_t g = 0; g < p->nodes[node].gpus_n; g++)
        has_n += p->nodes[node].gpus[g].has.n[WHOLE];
    if (has_n >= p->wants[want].asks[WHOLE])
        (void)keep_on(p, node, WHOLE, p->wants[want].asks[WHOLE], true);
}

static void serve_by_free(struct planner *p, uint32_t want)
{
    const struct demand_want *w = &p->wants[want];
    for (uint32_t node = 0; node < p->nodes_n && p->pods_left[want]; node++) {
        uint32_t have[DEMAND_KINDS] = {0};
        if (!p->room_left[want][node])
            continue;
        add_free(p, node, false, have);
        add_free(p, node, true, have);
        uint32_t n = pods_of(w, have, smaller(p->pods_left[want], p->room_left[want][node]));
        for (uint32_t k = 0; k < DEMAND_KINDS && n; k++)
            (void)keep_on(p, node, k, keep_on(p, node, k, n * w->asks[k], false), true); /* there are as many */
        p->pods_left[want] -= n;
        p->room_left[want][node] -= n;
    }
    for (uint32_t node = 0, n = p->pods_left[want]; node < p->nodes_n && n && w->asks[WHOLE]; node++)
        if (p->room_left[want][node]) {
            keep_for_whole(p, want, node);
            n--;
        }
}

static void begin(struct planner *p, struct arena *a)
{
    p->changes_n = 0;
    for (uint32_t i = 0; i < p->nodes_n; i++) {
        p->left[i] = (struct left_of_node){.kept = arena_zero(a, p->nodes[i].gpus_n + 1, sizeof(struct demand_layout)),
                                           .decided = arena_zero(a, p->nodes[i].gpus_n + 1, sizeof(bool))};
    }
    for (uint32_t i = 0; i < p->wants_n; i++) {
        p->pods_left[i] = p->wants[i].pods_n;
        memcpy(p->room_left[i], p->wants[i].room, p->nodes_n * sizeof *p->room_left[i]);
        serve_by_free(p, i);
    }
    for (uint32_t node = 0; node < p->nodes_n; node++)
        add_free(p, node, false, p->left[node].spare);
}

/* ---- one GPU, all its layouts ---- */

static bool is_served(const struct planner *p, uint32_t want)
{
    return p->wants[want].hungry && !p->out[want] && p->pods_left[want];
}

/* What the node would give with this layout, by want. Returns the first who gets any, or wants_n. */
static uint32_t serve_by_layout(const struct planner *p, uint32_t node, uint32_t gpu, const struct demand_layout *to, uint32_t *ret_slices,
                                uint32_t *ret_pods, uint32_t ret_have[DEMAND_KINDS])
{
    uint32_t first = p->wants_n, level = 0;
    memcpy(ret_have, p->left[node].spare, sizeof p->left[node].spare);
    add_free(p, node, true, ret_have);
    for (uint32_t k = 0; k < DEMAND_KINDS; k++) /* free: its own are not there any more */
        ret_have[k] += (uint32_t)(to->n[k] - p->nodes[node].gpus[gpu].free.n[k]);
    for (uint32_t i = 0; i < p->wants_n; i++) {
        const struct demand_want *w = &p->wants[i];
        level = i && p->wants[level].priority == w->priority ? level : i;
        ret_slices[i] = ret_pods[i] = 0;
        if (!is_served(p, i))
            continue;
        uint32_t n = pods_of(w, ret_have, smaller(p->pods_left[i], p->room_left[i][node]));
        for (uint32_t k = 0; k < DEMAND_KINDS && n; k++) {
            ret_slices[level] += n * w->asks[k] * slices_of(&p->nodes[node], k);
            ret_have[k] -= n * w->asks[k];
        }
        ret_pods[i] = n;
        first = n && first == p->wants_n ? i : first;
    }
    return first;
}

static bool is_better(const struct score *a, const struct score *b, uint32_t wants_n)
{
    if (!b->serves)
        return true;
    for (uint32_t i = 0; i < wants_n; i++)
        if (a->slices[i] != b->slices[i])
            return a->slices[i] > b->slices[i];
    if (a->same_mode != b->same_mode)
        return a->same_mode;
    return a->kept_n != b->kept_n ? a->kept_n > b->kept_n : a->cut_n > b->cut_n;
}

static void judge(struct planner *p, uint32_t node, uint32_t gpu, const struct demand_layout *to, struct best *best, uint32_t *slices,
                  uint32_t *pods)
{
    const struct demand_gpu *g = &p->nodes[node].gpus[gpu];
    uint32_t have[DEMAND_KINDS];
    struct score score = {.slices = slices, .same_mode = !g->has.n[WHOLE] == !to->n[WHOLE]};
    for (uint32_t k = 0; k < DEMAND_KINDS; k++) {
        score.kept_n += smaller(g->has.n[k], to->n[k]);
        score.cut_n += to->n[k] * slices_of(&p->nodes[node], k);
    }
    score.want = serve_by_layout(p, node, gpu, to, slices, pods, have);
    score.serves = score.want < p->wants_n;
    if (!score.serves || !is_better(&score, &best->score, p->wants_n) || !demand_layout_fits(&p->nodes[node], to))
        return;
    memcpy(best->score.slices, slices, p->wants_n * sizeof *slices);
    score.slices = best->score.slices;
    *best = (struct best){score, *to, node, gpu};
}

struct walk { /* over the layouts of one GPU */
    struct planner *p;
    uint32_t node, gpu, slices_n, units_n; /* taken so far */
    uint32_t kinds[DEMAND_KINDS], kinds_n;
    struct demand_layout to;
    struct best *best;
    uint32_t *slices, *pods; /* scratch */
};

static void walk_kinds(struct walk *w, uint32_t at)
{
    const struct demand_node *node = &w->p->nodes[w->node];
    if (at == w->kinds_n) {
        judge(w->p, w->node, w->gpu, &w->to, w->best, w->slices, w->pods);
        return;
    }
    uint32_t kind = w->kinds[at], least = w->p->left[w->node].kept[w->gpu].n[kind];
    const struct mig_profile *profile = node->profiles[kind];
    for (uint32_t n = profile->max_n + 1; n-- > least;) {
        uint32_t slices = w->slices_n + n * profile->slices, units = w->units_n + n * profile->units;
        if (slices > node->model->mig_slices || units > node->model->mig_units)
            continue;
        struct walk deeper = *w;
        deeper.slices_n = slices;
        deeper.units_n = units;
        deeper.to.n[kind] = (uint8_t)n;
        walk_kinds(&deeper, at + 1);
    }
}

static bool is_asked(const struct planner *p, uint32_t node, uint32_t kind)
{
    for (uint32_t i = 0; i < p->wants_n; i++)
        if (p->wants[i].asks[kind] && is_served(p, i) && p->room_left[i][node])
            return true;
    return false;
}

/* Kinds that nobody asks for, and that are not there, need not be tried. */
static void try_gpu(struct planner *p, uint32_t node, uint32_t gpu, struct best *best, uint32_t *slices, uint32_t *pods)
{
    const struct demand_gpu *g = &p->nodes[node].gpus[gpu];
    const struct demand_layout *kept = &p->left[node].kept[gpu], whole = {{1}};
    struct walk w = {.p = p, .node = node, .gpu = gpu, .best = best, .slices = slices, .pods = pods};
    bool keeps_parts = false, asked = false;
    if (kept->n[WHOLE])
        return;
    for (uint32_t k = 1; k < DEMAND_KINDS; k++) {
        bool is = p->nodes[node].profiles[k] && is_asked(p, node, k);
        keeps_parts |= kept->n[k] > 0;
        asked |= is;
        if (p->nodes[node].profiles[k] && (is || g->has.n[k]))
            w.kinds[w.kinds_n++] = k;
    }
    if (asked)
        walk_kinds(&w, 0);
    if (!keeps_parts && !g->has.n[WHOLE] && is_asked(p, node, WHOLE))
        judge(p, node, gpu, &whole, best, slices, pods);
}

static bool is_like(const struct planner *p, uint32_t node, uint32_t a, uint32_t b)
{
    return !memcmp(&p->nodes[node].gpus[a].has, &p->nodes[node].gpus[b].has, sizeof(struct demand_layout)) &&
           !memcmp(&p->left[node].kept[a], &p->left[node].kept[b], sizeof(struct demand_layout));
}

static bool is_tried(const struct planner *p, uint32_t node, uint32_t gpu)
{
    for (uint32_t g = 0; g < gpu; g++)
        if (changes_yet(p, node, g) && is_like(p, node, g, gpu))
            return true;
    return false;
}

static bool find_best(struct planner *p, struct best *best, uint32_t *slices, uint32_t *pods)
{
    best->score.serves = false;
    for (uint32_t node = 0; node < p->nodes_n; node++)
        for (uint32_t g = 0; g < p->nodes[node].gpus_n && p->nodes[node].may_change; g++)
            if (changes_yet(p, node, g) && !is_tried(p, node, g))
                try_gpu(p, node, g, best, slices, pods);
    return best->score.serves;
}

/* ---- all GPUs ---- */

static void take(struct planner *p, const struct best *best, uint32_t *slices, uint32_t *pods)
{
    struct left_of_node *left = &p->left[best->node];
    uint32_t have[DEMAND_KINDS];
    (void)serve_by_layout(p, best->node, best->gpu, &best->to, slices, pods, have);
    left->decided[best->gpu] = true;
    for (uint32_t k = 0; k < DEMAND_KINDS; k++) {
        uint32_t used = 0, now = left->spare[k] + best->to.n[k] - left->kept[best->gpu].n[k];
        for (uint32_t i = 0; i < p->wants_n; i++)
            used += pods[i] * p->wants[i].asks[k];
        left->spare[k] = now - smaller(now, used);
        (void)keep_on(p, best->node, k, used - smaller(now, used), true); /* there are as many */
    }
    for (uint32_t i = 0; i < p->wants_n; i++) {
        p->pods_left[i] -= pods[i];
        p->room_left[i][best->node] -= pods[i];
    }
    p->changes[p->changes_n++] = (struct demand_change){best->node, best->gpu, best->to, best->score.want};
}

/* The gang of the last want that would not be whole is left out. False: all are whole. */
static bool leave_one_out(struct planner *p, bool all)
{
    bool any = false;
    for (uint32_t i = p->wants_n; i-- > 0 && (all || !any);) {
        if (!p->wants[i].gang || !is_served(p, i))
            continue;
        any = true;
        for (uint32_t k = 0; k < p->wants_n; k++)
            p->out[k] |= p->wants[k].gang == p->wants[i].gang;
    }
    return any;
}

uint32_t demand_plan(const struct demand_node *nodes, uint32_t nodes_n, const struct demand_want *wants, uint32_t wants_n, struct arena *a,
                     struct demand_change **ret_changes)
{
    struct planner p = {.nodes = nodes,
                        .nodes_n = nodes_n,
                        .wants = wants,
                        .wants_n = wants_n,
                        .out = arena_zero(a, wants_n + 1, sizeof *p.out),
                        .pods_left = arena_zero(a, wants_n + 1, sizeof *p.pods_left),
                        .room_left = arena_zero(a, wants_n + 1, sizeof *p.room_left),
                        .left = arena_zero(a, nodes_n + 1, sizeof *p.left),
                        .changes = arena_zero(a, DEMAND_CHANGES, sizeof *p.changes)};
    uint32_t *slices = arena_zero(a, wants_n + 1, sizeof *slices), *pods = arena_zero(a, wants_n + 1, sizeof *pods);
    struct best best = {.score = {.slices = arena_zero(a, wants_n + 1, sizeof *slices)}};
    for (uint32_t i = 0; i < wants_n; i++)
        p.room_left[i] = arena_zero(a, nodes_n + 1, sizeof **p.room_left);
    for (uint32_t round = 0;; round++) {
        begin(&p, a);
        while (p.changes_n < DEMAND_CHANGES && find_best(&p, &best, slices, pods))
            take(&p, &best, slices, pods);
        if (!leave_one_out(&p, round >= ROUNDS))
            break;
    }
    *ret_changes = p.changes;
    return p.changes_n;
}
