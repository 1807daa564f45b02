/* intent_sharing.c - how much of a GPU the work gets, and in which way: a whole one, a MIG slice, a share by MPS, time slices
 *
 *   several GPUs, or pods that need each other ─▶ whole GPUs
 *   a part by what earlier ones used, or by --gpu-memory ─┬─ now and then ─▶ time slices, else a MIG slice, else MPS
 *                                                         └─ steadily ─────▶ a MIG slice, else MPS, else time slices
 *   nothing is known ─▶ a whole one, until it is
 */
#include "cli/advise/intent/intent.h"
#include "cli/lookup/accelerators.h"
#include "kube/object.h"

#define STRATEGY_LABEL "nvidia.com/gpu.sharing-strategy"
#define MILLI "capstan.dev/gpu-milli"
#define KNOWN_S 60.0 /* of GPU time, before it counts */
enum { SMALL_PERMILLE = 300, SMALL_MEMORY_PERMILLE = 400, NOW_AND_THEN_PERMILLE = 50 };

struct need {
    bool known, measured; /* at all; by earlier runs */
    int activity_permille;
    int64_t memory_mib, memory_permille;
};

static int64_t offered_n(const struct intent *p, const char *resource)
{
    int64_t n = 0;
    JSON_EACH (node, p->x->nodes)
        n += whole_number(json_path(node, "status", "allocatable", resource, NULL));
    return n;
}

/* Nodes that hand out their GPUs in this way: in which resource; NULL: there are none. */
static const char *shared_as(const struct intent *p, const char *strategy)
{
    static const char *const names[] = {"nvidia.com/gpu.shared", "nvidia.com/gpu"};
    JSON_EACH (node, p->x->nodes)
        for (int i = 0; i < 2 && text_equal(object_label(node, STRATEGY_LABEL), strategy); i++)
            if (whole_number(json_path(node, "status", "allocatable", names[i], NULL)) > 0)
                return names[i];
    return NULL;
}

/* The memory of the smallest GPU that is handed out whole or in shares, as its node says; 0: none says it. */
static int64_t gpu_memory_mib(const struct intent *p, const char *resource)
{
    int64_t least = 0, mib;
    JSON_EACH (node, p->x->nodes)
        if (whole_number(json_path(node, "status", "allocatable", resource, NULL)) > 0 &&
            bytes_int64(bytes_of(object_label(node, "nvidia.com/gpu.memory")), &mib) && mib > 0 && (!least || mib < least))
            least = mib;
    return least;
}

static struct need need_of(const struct intent *p, const struct intent_work *w)
{
    const struct intent_past *past = &w->past;
    struct need n = {.measured = past->allocated_s >= KNOWN_S};
    int64_t total_mib = w->resource ? gpu_memory_mib(p, w->resource) : 0;
    if (n.measured) {
        n.activity_permille = (int)(past->active_s * 1000 / past->allocated_s);
        n.memory_mib = past->memory_mib;
        n.memory_permille = past->memory_permille;
    }
    if (p->memory_mib && total_mib) {
        n.memory_mib = p->memory_mib;
        n.memory_permille = p->memory_mib * 1000 / total_mib;
    }
    n.known = n.measured || (p->memory_mib && total_mib);
    return n;
}

static void need_tell(struct intent *p, struct advise_finding *f, const struct intent_work *w, const struct need *n)
{
    if (n->measured)
        advise_evidence(p->x, f, arena_printf(p->x->a, "usage store %s", p->x->store),
                        "%u earlier pods of %s*: %.1f GPU-hours given, %.1f active (%d.%d %%), at most %lld MiB used", w->past.pods_n,
                        w->past.name, w->past.allocated_s / 3600, w->past.active_s / 3600, n->activity_permille / 10,
                        n->activity_permille % 10, (long long)w->past.memory_mib);
    if (p->memory_mib)
        advise_evidence(p->x, f, "--gpu-memory", "%lld MiB of a GPU are needed", (long long)p->memory_mib);
}

/* ---- a part ---- */

struct way {
    const char *title, *resource, *strategy; /* strategy NULL: a slice */
};

static bool slice_way(struct intent *p, const struct intent_work *w, const struct need *n, struct way *ret)
{
    int gb = 0;
    const char *slice = advise_slice_for(p->x, n->activity_permille, n->memory_mib, (uint32_t)w->pods_n, &gb);
    slice = slice ? slice : advise_slice_for(p->x, n->activity_permille, n->memory_mib, 0, &gb);
    *ret = (struct way){slice ? arena_printf(p->x->a, "a MIG slice %s: its own engines and %d GB, which nobody else can take", slice, gb)
                              : NULL,
                        slice, NULL};
    return slice;
}

static bool share_way(const struct intent *p, const char *strategy, const char *title, struct way *ret)
{
    *ret = (struct way){title, shared_as(p, strategy), strategy};
    return ret->resource;
}

/* The first that nodes offer. */
static bool way_find(struct intent *p, const struct intent_work *w, const struct need *n, struct way *ret)
{
    static const char *const mps = "a share by MPS: side by side, held to its part of the memory",
                             *const slices = "time slices: one after the other, no memory of its own";
    bool now_and_then = n->measured && n->activity_permille < NOW_AND_THEN_PERMILLE;
    return (now_and_then && share_way(p, "time-slicing", slices, ret)) || slice_way(p, w, n, ret) || share_way(p, "mps", mps, ret) ||
           share_way(p, "time-slicing", slices, ret);
}

static void way_take(struct intent *p, struct intent_work *w, const struct way *way, int milli)
{
    for (struct intent_pods *pods = w->pods; pods; pods = pods->next) {
        if (!text_equal(way->resource, w->resource))
            advise_ask_part(p->x, pods->pod, w->resource, way->resource, 0, false);
        if (!way->strategy)
            continue;
        advise_ask_part(p->x, pods->pod, way->resource, NULL, milli, false);
        json_set_text(p->x->a, json_ensure_object(p->x->a, json_ensure_object(p->x->a, pods->pod, "spec"), "nodeSelector"), STRATEGY_LABEL,
                      way->strategy);
    }
    w->resource = way->resource;
}

static void part_of_gpu(struct intent *p, struct intent_work *w, const struct need *n)
{
    struct way way;
    struct arena *a = p->x->a;
    int milli = advise_share_for(n->activity_permille, n->memory_permille);
    if (!way_find(p, w, n, &way)) {
        struct advise_finding *f = advise_find(p->x, w->about, "let a node cut or share its GPUs: docs/sharing.md",
                                               "asks for a whole GPU, a part would do, and no node hands out parts");
        need_tell(p, f, w, n);
        return;
    }
    const char *counted = way.strategy ? MILLI : way.resource, *lacks = intent_lacks_quota(p, w, counted),
               *todo = way.strategy ? arena_printf(a, "%s (%d thousandths)", way.title, milli) : way.title;
    if (lacks)
        todo = arena_printf(a, "%s; for that ClusterQueue %s needs quota of %s", todo, lacks, counted);
    struct advise_finding *f = advise_find(p->x, w->about, todo, "asks for a whole GPU for work that a part of one would do for");
    need_tell(p, f, w, n);
    if (way.strategy)
        advise_evidence(p->x, f, "Nodes, label " STRATEGY_LABEL, "%s hand out %s", way.strategy, way.resource);
    else
        advise_evidence(p->x, f, "Nodes, status.allocatable", "%lld %s", (long long)offered_n(p, way.resource), way.resource);
    if (lacks)
        return;
    way_take(p, w, &way, milli);
    intent_changed(p, w, f, NULL);
}

/* ---- what it asks for as it is ---- */

/* A slice of a size that no node is cut into: the smallest that is not smaller. */
static void slice_look(struct intent *p, struct intent_work *w)
{
    int parts, gb, other_gb = 0;
    bool read = advise_slice_read(w->resource, &parts, &gb);
    if (!p->x->nodes || offered_n(p, w->resource)) {
        struct advise_finding *f = advise_find(p->x, w->about, INTENT_NOTHING, "asks for a part of a GPU already: %s", w->resource);
        if (p->x->nodes)
            advise_evidence(p->x, f, "Nodes, status.allocatable", "%lld", (long long)offered_n(p, w->resource));
        return;
    }
    /* the quarter more, which is for what was measured, is taken off again */
    const char *slice = read ? advise_slice_for(p->x, parts * 1000 / 7 * 4 / 5, (int64_t)gb * 800, 0, &other_gb) : NULL;
    const char *lacks = slice ? intent_lacks_quota(p, w, slice) : NULL;
    struct advise_finding *f =
        advise_find(p->x, w->about,
                    !slice  ? "let a node offer it: docs/sharing.md"
                    : lacks ? arena_printf(p->x->a, "ask for %s; for that ClusterQueue %s needs quota of it", slice, lacks)
                            : arena_printf(p->x->a, "ask for %s, which has %d GB", slice, other_gb),
                    "asks for %s, which no node offers", w->resource);
    advise_evidence(p->x, f, "Nodes, status.allocatable", "none");
    if (!slice || lacks)
        return;
    for (struct intent_pods *pods = w->pods; pods; pods = pods->next)
        advise_ask_part(p->x, pods->pod, w->resource, slice, 0, false);
    w->resource = slice;
    intent_changed(p, w, f, NULL);
}

void intent_sharing(struct intent *p, struct intent_work *w)
{
    struct need n = need_of(p, w);
    struct advise_finding *f;
    if (intent_has_share(w)) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "asks for a share of a GPU already");
    } else if (!w->resource) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING,
                          w->queued == &queued_kinds[QUEUED_TRAINJOB] ? "asks for what its runtime says" : "asks for no GPU");
    } else if (!text_ends(w->resource, "/gpu")) {
        slice_look(p, w);
    } else if (p->x->nodes && !offered_n(p, w->resource)) {
        f = advise_find(p->x, w->about, "ask for what nodes have: capstan nodes", "asks for %s, which no node offers", w->resource);
        advise_evidence(p->x, f, "Nodes, status.allocatable", "none");
    } else if (w->devices_n > 1 || intent_needs_all(w)) {
        f = advise_find(p->x, w->about, INTENT_NOTHING, "whole GPUs: %s",
                        w->devices_n > 1 ? "each pod works on several" : "its pods work as one");
        need_tell(p, f, w, &n);
    } else if (!n.known) {
        (void)advise_find(p->x, w->about, "run it, and ask again; or say how much it needs, with --gpu-memory",
                          "a whole GPU: nothing was measured of earlier %s*", w->past.name);
    } else if (n.activity_permille >= SMALL_PERMILLE || n.memory_permille >= SMALL_MEMORY_PERMILLE) {
        f = advise_find(p->x, w->about, INTENT_NOTHING, "a whole GPU, most of which it uses");
        need_tell(p, f, w, &n);
    } else {
        part_of_gpu(p, w, &n);
    }
}
