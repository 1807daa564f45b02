/* advise_use.c - devices that somebody has and does not use, and whole GPUs for work that a part would do for
 *
 * WHY  both are told only of what is measured on every device of the job, and, where the usage store knows it, was so for most of the time
 *      that its pods have run: a pause between two steps is no waste.
 */
#include <stdio.h>
#include "cli/advise/advise.h"
#include "kube/object.h"

enum {
    IDLE_PERMILLE = 10,
    SMALL_PERMILLE = 300,
    SMALL_MEMORY_PERMILLE = 400,
    ROOM_PERCENT = 125, /* what is asked for instead, of what was used */
};
#define IDLE_OF_LIFE 0.1 /* active of what it was given */
#define KNOWN_S 60.0     /* of GPU time, before the store is asked */

static const char *feedback_of(struct advise *x, const struct advise_use *u)
{
    return arena_printf(x->a, "Node %s, annotation capstan.dev/gpu-feedback, %s old", u->node, advise_age(x, x->now_ms - u->measured_ms));
}

static void evidence_add(struct advise *x, struct advise_finding *f, const struct advise_use *u)
{
    advise_evidence(x, f, feedback_of(x, u), "active %d.%d %% of the time, %lld of %lld MiB used, on the busiest and fullest of %u",
                    u->activity_permille / 10, u->activity_permille % 10, (long long)u->memory_used_mib, (long long)u->memory_total_mib,
                    u->devices_n);
    advise_evidence(x, f, arena_printf(x->a, "Pod %s/%s, condition PodScheduled", u->ns, u->pod), "had for %s",
                    advise_age(x, x->now_ms - u->since_ms));
    if (u->allocated_s > 0)
        advise_evidence(x, f, arena_printf(x->a, "usage store %s", x->store), "%.1f GPU-hours given, %.1f active", u->allocated_s / 3600,
                        u->active_s / 3600);
}

static bool is_known_long(const struct advise *x, const struct advise_use *u)
{
    return u->measured_n == u->devices_n && u->since_ms && x->now_ms - u->since_ms >= x->long_ms;
}

static bool in_namespace(const struct advise *x, const struct advise_use *u)
{
    return !x->c.ns || text_equal(x->c.ns, u->ns);
}

/* ---- idle ---- */

static void stop_add(struct advise *x, struct advise_finding *f, const struct advise_owner *owner)
{
    struct json *object = NULL;
    if (owner->workload) {
        object = advise_object(x, owner->workload, "kueue.x-k8s.io/v1beta2", "Workload");
        json_set_bool(x->a, json_get(object, "spec"), "active", false);
    } else if (owner->object && text_equal(owner->kind, "Job")) {
        object = advise_object(x, owner->object, owner->api_version, owner->kind);
        json_set_bool(x->a, json_get(object, "spec"), "suspend", true);
    } else if (owner->object && (text_equal(owner->kind, "Deployment") || text_equal(owner->kind, "StatefulSet"))) {
        object = advise_object(x, owner->object, owner->api_version, owner->kind);
        json_set_int64(x->a, json_get(object, "spec"), "replicas", 0);
    }
    if (object)
        json_append(f->manifests, object);
}

static void idle_look(struct advise *x, const struct advise_use *u)
{
    if (u->activity_permille >= IDLE_PERMILLE || (u->allocated_s > KNOWN_S && u->active_s > IDLE_OF_LIFE * u->allocated_s))
        return;
    struct advise_owner owner = advise_owner_of(x, u->ns, u->pod);
    const char *todo = owner.workload                  ? "stop it until it is needed: its queue keeps it (capstan resume starts it again)"
                       : text_equal(owner.kind, "Job") ? "suspend it until it is needed"
                       : text_equal(owner.kind, "Pod") ? "delete it, or ask its owner what it waits for"
                                                       : "scale it to 0 until it is needed";
    struct advise_finding *f = advise_find(x, owner.about, todo, "has %u %s and computes nothing", u->devices_n, u->resource);
    evidence_add(x, f, u);
    stop_add(x, f, &owner);
}

void advise_idle(struct advise *x)
{
    for (uint32_t i = 0; i < x->uses_n; i++)
        if (in_namespace(x, &x->uses[i]) && is_known_long(x, &x->uses[i]))
            idle_look(x, &x->uses[i]);
}

/* ---- small work ---- */

/* Parts of seven of a GPU's engines, GB. */
bool advise_slice_read(const char *resource, int *ret_parts, int *ret_gb)
{
    const char *at = strstr(resource, "/mig-");
    return at && sscanf(at, "/mig-%dg.%dgb", ret_parts, ret_gb) == 2 && *ret_parts > 0 && *ret_gb > 0;
}

const char *advise_slice_for(const struct advise *x, int activity_permille, int64_t memory_mib, uint32_t pods_n, int *ret_gb)
{
    const char *best = NULL;
    for (uint32_t i = 0; i < x->gpus_n; i++) {
        const struct gpu_line *g = &x->gpus[i];
        const uint32_t *free_n = map_find_text(x->free, g->resource);
        int parts, gb;
        if (!advise_slice_read(g->resource, &parts, &gb) || parts * 1000 / 7 * 100 < activity_permille * ROOM_PERCENT ||
            (int64_t)gb * 1000 * 100 < memory_mib * ROOM_PERCENT || (best && gb >= *ret_gb))
            continue;
        if (pods_n && (!free_n || *free_n < pods_n))
            continue;
        best = g->resource;
        *ret_gb = gb;
    }
    return best;
}

int advise_share_for(int activity_permille, int64_t memory_permille)
{
    int64_t most = memory_permille > activity_permille ? memory_permille : activity_permille;
    return (int)((most * ROOM_PERCENT / 100 + 249) / 250 * 250);
}

static int share_for(const struct advise_use *u)
{
    return advise_share_for(u->activity_permille, u->memory_total_mib ? u->memory_used_mib * 1000 / u->memory_total_mib : 0);
}

static bool has_shares(const struct advise *x)
{
    for (uint32_t i = 0; i < x->gpus_n; i++)
        if (x->gpus[i].slots_n > 1)
            return true;
    return false;
}

/* WHY null  `kubectl apply` takes away only what was applied before, or stands there as null; the server has filled in requests. */
void advise_ask_part(struct advise *x, struct json *pod, const char *from, const char *to, int milli, bool keeps_null)
{
    static const char *const lists[] = {"limits", "requests"};
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL))
        for (int i = 0; i < 2; i++) {
            struct json *amounts = json_path(container, "resources", lists[i], NULL), *amount = json_get(amounts, from);
            if (!amount)
                continue;
            if (to) {
                json_set(x->a, amounts, to, json_clone(x->a, amount));
                if (keeps_null)
                    json_set(x->a, amounts, from, json_new(x->a, JSON_NULL));
                else
                    (void)json_remove(amounts, from);
            } else {
                json_set(x->a, amounts, "capstan.dev/gpu-milli", json_new_text(x->a, arena_printf(x->a, "%d", milli)));
            }
        }
}

static void part_add(struct advise *x, struct advise_finding *f, const struct advise_owner *owner, const struct advise_use *u,
                     const char *slice, int milli)
{
    if (!owner->object || (!slice && !has_shares(x)))
        return;
    struct json *object = advise_object(x, owner->object, owner->api_version, owner->kind),
                *template = advise_template(owner->kind, object);
    if (!template)
        return;
    f->replaces = text_equal(owner->kind, "Job") || text_equal(owner->kind, "Pod"); /* their template does not change */
    if (f->replaces)
        advise_made_again(owner->kind, object);
    advise_ask_part(x, template, u->resource, slice, milli, !f->replaces);
    json_append(f->manifests, object);
}

static void small_look(struct advise *x, const struct advise_use *u)
{
    int gb = 0, milli = share_for(u);
    if (u->shared_n || u->slots_n || strstr(u->resource, "/mig-") || u->devices_n != u->pods_n || u->activity_permille < IDLE_PERMILLE ||
        u->activity_permille >= SMALL_PERMILLE || u->memory_used_mib * 1000 >= u->memory_total_mib * SMALL_MEMORY_PERMILLE)
        return;
    if (u->allocated_s > KNOWN_S && u->active_s * 1000 >= SMALL_PERMILLE * u->allocated_s)
        return;
    struct advise_owner owner = advise_owner_of(x, u->ns, u->pod);
    const char *slice = advise_slice_for(x, u->activity_permille, u->memory_used_mib, u->pods_n, &gb);
    const char *todo = slice
                           ? arena_printf(x->a, "ask for %s: its own engines and %d GB of memory, which nobody else can take", slice, gb)
                           : arena_printf(x->a, "ask for %d thousandths of a GPU (capstan.dev/gpu-milli)%s", milli,
                                          has_shares(x) ? "" : "; for that a node has to hand out its GPUs several times, docs/sharing.md");
    struct advise_finding *f = advise_find(x, owner.about, todo, "has %u whole GPU%s (%s) for work that a part of one would do for",
                                           u->devices_n, u->devices_n == 1 ? "" : "s", u->product);
    evidence_add(x, f, u);
    part_add(x, f, &owner, u, slice, milli);
}

void advise_small(struct advise *x)
{
    for (uint32_t i = 0; i < x->uses_n; i++)
        if (in_namespace(x, &x->uses[i]) && is_known_long(x, &x->uses[i]))
            small_look(x, &x->uses[i]);
}
