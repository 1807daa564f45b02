#include "autoscaler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "claims.h"
#include "kube/object.h"
#include "kube/watch.h"

enum {
    IDLE_MS = 1000, BATCH_MOST_MS = 10000, AGAIN_MS = 10000, NOMINATED_MS = 20000, /* Karpenter's */
    CONSOLIDATE_MS = 30000, NONE_MS = 180000, LOST_MS = 900000, LAUNCH_MS = 3000,
    SCAN_MS = 10000, UNNEEDED_MS = 600000,                                        /* Cluster Autoscaler's */
    TICK_MS = 1000, MACHINES_MOST = 4096
};
const char *const pool_names[POOLS_N] = {"spot", "on-demand"}, *const zone_names[ZONES_MOST] = {"a", "b", "c"};

enum life { COMING, NODE, READY, GONE };
struct machine {
    enum life life;
    int zone;
    int pool, gpus;           /* gpus: as it has them; until it is READY those that were paid for count */
    bool old, none, lost;     /* it was there before; the cloud says that it has none; it never comes */
    int64_t next_ms;          /* when its life goes on */
    int64_t nominated_ms;     /* somebody is expected on it until then */
    int64_t empty_ms;         /* since when nobody stands on it */
    int planned;              /* GPUs that this pass has given away */
    int64_t launched_ms;      /* when its NodeClaim says what it has; 0: it says so */
};
struct seen_pod {
    int pool, gpus, machine;  /* -1: none */
    int zone;                 /* -1: any */
    bool wants;               /* an autoscaler buys for it */
    bool keeps;               /* its node may not be emptied */
};
struct autoscaler {
    struct kube_client *client;
    struct loop *loop;
    struct market market;
    struct random random;
    struct kube_watch *watch;
    struct loop_timer *batch, *tick;
    struct map *pods;
    struct arena *arena;
    struct machine machines[MACHINES_MOST];
    int machines_n;
    int64_t opened_ms, first_ms; /* of the batch that is open; of the first pod ever. 0 = none */
    int64_t none_until_ms[POOLS_N], dry_until_ms, again_ms, scaled_ms; /* dry: the zone that has none is not asked until then */
    struct autoscaler_counts counts;
};

/* ---- pods ---- */

static int pool_of(const struct json *pod)
{
    const char *name = json_text(json_path(pod, "spec", "nodeSelector", POOL_LABEL, NULL), pool_names[0]);
    for (int i = 0; i < POOLS_N; i++)
        if (strcmp(name, pool_names[i]) == 0)
            return i;
    return -1;
}

static int zone_of(const struct json *pod)
{
    const char *name = json_text(json_path(pod, "spec", "nodeSelector", ZONE_LABEL, NULL), "");
    for (int i = 0; i < ZONES_MOST; i++)
        if (strcmp(name, zone_names[i]) == 0)
            return i;
    return -1;
}

static int gpus_of(const struct json *pod)
{
    const struct json *container = json_item(json_path(pod, "spec", "containers", NULL), 0);
    struct bytes text = json_bytes(json_path(container, "resources", "limits", "nvidia.com/gpu", NULL));
    int64_t n;
    return bytes_int64(text, &n) ? (int)n : 0;
}

static bool is_provisionable(const struct json *pod)
{
    return !json_path(pod, "spec", "nodeName", NULL) && !object_deleting(pod) &&
           strcmp(json_get_text(object_condition(pod, "PodScheduled"), "reason", ""), "Unschedulable") == 0 &&
           *json_text(json_path(pod, "status", "nominatedNodeName", NULL), "") == '\0';
}

static void trigger(struct autoscaler *s)
{
    int64_t now_ms = loop_now_ms(s->loop);
    if (s->market.kind != KARPENTER)
        return;
    s->opened_ms = s->opened_ms ? s->opened_ms : now_ms;
    int64_t left_ms = s->opened_ms + BATCH_MOST_MS - now_ms;
    loop_timer_start(s->batch, left_ms < IDLE_MS ? left_ms : IDLE_MS, 0);
}

static void on_pod(void *arg, enum kube_event event, struct bytes raw)
{
    struct autoscaler *s = arg;
    arena_reset(s->arena);
    const struct json *pod = json_parse(s->arena, raw, NULL, NULL);
    const char *name = object_meta(pod, "name"), *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    if (event == KUBE_DELETED || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0) {
        map_remove(s->pods, bytes_of(name));
        return;
    }
    struct seen_pod *p = map_put(s->pods, bytes_of(name), NULL);
    bool wanted = p->wants;
    int at;
    *p = (struct seen_pod){pool_of(pod), gpus_of(pod), -1, zone_of(pod), is_provisionable(pod),
                           strcmp(object_annotation(pod, "karpenter.sh/do-not-disrupt"), "true") == 0};
    if (sscanf(json_text(json_path(pod, "spec", "nodeName", NULL), ""), "m-%d", &at) == 1 && at >= 0 && at < s->machines_n)
        p->machine = at;
    if (!p->wants || wanted)
        return;
    s->first_ms = s->first_ms ? s->first_ms : loop_now_ms(s->loop);
    if (!s->counts.passes_n)
        s->counts.burst_ms = loop_now_ms(s->loop) - s->first_ms;
    trigger(s);
}

static int used_gpus(const struct autoscaler *s, int machine, bool *ret_empty)
{
    int used = 0;
    size_t at = 0;
    struct bytes key;
    *ret_empty = true;
    for (const struct seen_pod *p; (p = map_next(s->pods, &at, &key));)
        if (p->machine == machine) {
            used += p->gpus;
            *ret_empty = false;
        }
    return used;
}

/* ---- machines ---- */

static const char *path_of(const struct autoscaler *s, int machine, const char *sub)
{
    return arena_printf(s->arena, "/api/v1/nodes/m-%d%s", machine, sub);
}

static const char *status_of(const struct autoscaler *s, int gpus)
{
    return arena_printf(s->arena,
                        "{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%d\"},\"capacity\":{\"cpu\":"
                        "\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%d\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}",
                        gpus, gpus);
}

static void make_node(struct autoscaler *s, int at, int gpus)
{
    const struct machine *m = &s->machines[at];
    const char *zone = s->market.zones_n ? arena_printf(s->arena, ",\"" ZONE_LABEL "\":\"%s\",\"kubernetes.io/hostname\":\"m-%d\"",
                                                        zone_names[m->zone], at) : "";
    const char *text = arena_printf(s->arena,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"m-%d\",\"labels\":{\"" POOL_LABEL
                                    "\":\"%s\"%s}},\"status\":%s}",
                                    at, pool_names[m->pool], zone, status_of(s, gpus));
    kube_create(s->client, "/api/v1/nodes", bytes_of(text), NULL, NULL);
}

static void give_gpus(struct autoscaler *s, int at)
{
    kube_patch(s->client, KUBE_PATCH_MERGE, path_of(s, at, "/status"),
               bytes_of(arena_printf(s->arena, "{\"status\":%s}", status_of(s, s->machines[at].gpus))), NULL, NULL);
}

static void take_back(struct autoscaler *s, int at)
{
    if (s->machines[at].life != COMING) {
        s->counts.taken_back_n++;
        kube_delete(s->client, path_of(s, at, ""), (struct bytes){0}, NULL, NULL);
    }
    s->machines[at].life = GONE;
    if (s->market.has_objects)
        claim_ends(s->client, s->arena, at);
}

static int pool_gpus(const struct autoscaler *s, int pool)
{
    return s->market.gpus_of[pool] ? s->market.gpus_of[pool] : s->market.gpus;
}

static int64_t between(struct autoscaler *s, int64_t least, int64_t most)
{
    return least + (int64_t)random_below(&s->random, (uint64_t)(most - least + 1));
}

static int new_machine(struct autoscaler *s, struct machine m)
{
    if (s->machines_n == MACHINES_MOST) {
        fprintf(stderr, "more than %d machines\n", MACHINES_MOST);
        exit(1);
    }
    s->machines[s->machines_n] = m;
    return s->machines_n++;
}

static int buy(struct autoscaler *s, const struct seen_pod *p)
{
    int pool = p->pool;
    const struct market *k = &s->market;
    int zone = p->zone >= 0 || !k->zones_n ? p->zone : (int)random_below(&s->random, (uint64_t)k->zones_n);
    bool none = random_permille(&s->random, k->none_permille[pool]), lost = random_permille(&s->random, k->lost_permille);
    bool wrong = random_permille(&s->random, k->wrong_permille);
    none |= k->dry_zone && zone == k->dry_zone - 1;
    int64_t after_ms = between(s, k->soonest_ms, k->latest_ms);
    if (none)
        after_ms = between(s, 1000, 5000);
    else if (lost)
        after_ms = LOST_MS;
    s->counts.bought_n++;
    s->counts.bought_of[pool]++;
    int at = new_machine(s, (struct machine){.zone = zone < 0 ? 0 : zone,
                                             .pool = pool, .gpus = pool_gpus(s, pool) - wrong, .none = none, .lost = lost,
                                             .next_ms = loop_now_ms(s->loop) + after_ms, .launched_ms = loop_now_ms(s->loop) + LAUNCH_MS});
    if (k->has_objects)
        claim_begins(s->client, s->arena, at, pool_names[pool], p->gpus);
    return at;
}

void autoscaler_has(struct autoscaler *s, int pool, int zone)
{
    int at = new_machine(s, (struct machine){.life = READY, .zone = zone, .pool = pool, .gpus = s->market.gpus, .old = true});
    make_node(s, at, s->market.gpus);
}

static void live_on(struct autoscaler *s, int at)
{
    struct machine *m = &s->machines[at];
    int64_t now_ms = loop_now_ms(s->loop);
    if (m->life == COMING && (m->none || m->lost)) {
        if (m->none)
            *(s->market.dry_zone ? &s->dry_until_ms : &s->none_until_ms[m->pool]) = now_ms + NONE_MS;
        s->counts.none_n++;
        m->life = GONE;
        if (s->market.has_objects)
            claim_ends(s->client, s->arena, at);
    } else if (m->life == COMING) {
        m->life = NODE;
        m->next_ms = now_ms + between(s, 0, s->market.drivers_ms);
        s->counts.came_n++;
        make_node(s, at, 0);
        if (s->market.has_objects)
            claim_has(s->client, s->arena, at, pool_gpus(s, m->pool), true, false);
    } else if (m->life == NODE) {
        m->life = READY;
        m->empty_ms = now_ms;
        give_gpus(s, at);
        if (s->market.has_objects)
            claim_has(s->client, s->arena, at, pool_gpus(s, m->pool), true, true);
    }
}

/* ---- a pass ---- */

static int room_of(const struct autoscaler *s, int at)
{
    bool unused;
    const struct machine *m = &s->machines[at];
    return (m->life == READY ? m->gpus : pool_gpus(s, m->pool)) - used_gpus(s, at, &unused) - m->planned;
}

/* The first that has room for it; those that are there come before those that are bought in this pass. */
static int machine_for(const struct autoscaler *s, const struct seen_pod *p)
{
    for (int i = 0; i < s->machines_n; i++) {
        const struct machine *m = &s->machines[i];
        if (m->life != GONE && m->pool == p->pool && (p->zone < 0 || p->zone == m->zone) && room_of(s, i) >= p->gpus)
            return i;
    }
    return -1;
}

static bool is_full(const struct autoscaler *s, int pool)
{
    int n = 0;
    for (int i = 0; i < s->machines_n; i++)
        n += !s->machines[i].old && s->machines[i].pool == pool && s->machines[i].life != GONE;
    return s->market.limit_n[pool] && n >= s->market.limit_n[pool];
}

/* only: pods of that pool; -1: of all. Returns how many machines were bought. */
static int pass(struct autoscaler *s, int only)
{
    int64_t now_ms = loop_now_ms(s->loop);
    size_t next = 0;
    struct bytes key;
    int bought_n = 0;
    for (int i = 0; i < s->machines_n; i++)
        s->machines[i].planned = 0;
    for (const struct seen_pod *p; (p = map_next(s->pods, &next, &key));) {
        if (!p->wants || p->pool < 0 || p->gpus > pool_gpus(s, p->pool) || (only >= 0 && p->pool != only))
            continue;
        int at = machine_for(s, p);
        bool dry = p->zone >= 0 && p->zone == s->market.dry_zone - 1 && s->dry_until_ms > now_ms;
        if (at < 0 && (dry || s->none_until_ms[p->pool] > now_ms || is_full(s, p->pool)))
            continue;
        if (at < 0) {
            at = buy(s, p);
            bought_n++;
        }
        s->machines[at].planned += p->gpus;
        s->machines[at].nominated_ms = now_ms + NOMINATED_MS;
    }
    s->counts.passes_n += bought_n > 0;
    return bought_n;
}

static void on_batch(void *arg)
{
    struct autoscaler *s = arg;
    arena_reset(s->arena);
    s->opened_ms = 0;
    pass(s, -1);
}

/* ---- time ---- */

static void look_at_empty(struct autoscaler *s, int at)
{
    struct machine *m = &s->machines[at];
    bool empty;
    int64_t now_ms = loop_now_ms(s->loop), after_ms = s->market.kind == KARPENTER ? CONSOLIDATE_MS : UNNEEDED_MS;
    (void)used_gpus(s, at, &empty);
    if (!empty || m->nominated_ms > now_ms)
        m->empty_ms = now_ms;
    bool rests = s->market.kind == CLUSTER_AUTOSCALER && s->scaled_ms && now_ms - s->scaled_ms < UNNEEDED_MS;
    if (!m->old && now_ms - m->empty_ms >= after_ms && !rests)
        take_back(s, at);
}

static bool may_be_emptied(const struct autoscaler *s, int at)
{
    bool any = false;
    size_t next = 0;
    struct bytes key;
    for (const struct seen_pod *p; (p = map_next(s->pods, &next, &key));) {
        if (p->machine == at && p->keeps)
            return false;
        any |= p->machine == at;
    }
    return any && !s->machines[at].old && s->machines[at].life == READY && s->machines[at].nominated_ms <= loop_now_ms(s->loop);
}

/* Its pods are evicted, and it is gone. */
static void empty(struct autoscaler *s, int at)
{
    size_t next = 0;
    struct bytes key;
    for (const struct seen_pod *p; (p = map_next(s->pods, &next, &key));)
        if (p->machine == at)
            kube_delete(s->client, arena_printf(s->arena, "/api/v1/namespaces/default/pods/%.*s", (int)key.n, key.data), (struct bytes){0},
                        NULL, NULL);
    take_back(s, at);
}

static void consolidate(struct autoscaler *s)
{
    for (int i = 0; i < s->machines_n; i++)
        if (may_be_emptied(s, i) && random_permille(&s->random, s->market.consolidated_permille)) {
            s->counts.consolidated_n++;
            empty(s, i);
            return;
        }
}

void autoscaler_interrupt(struct autoscaler *s)
{
    bool is_empty;
    arena_reset(s->arena);
    for (int i = 0; i < s->machines_n; i++)
        if (!s->machines[i].old && s->machines[i].life == READY && used_gpus(s, i, &is_empty) > 0) {
            empty(s, i);
            return;
        }
}

static void look_again(struct autoscaler *s)
{
    bool any = false;
    size_t next = 0;
    struct bytes key;
    for (const struct seen_pod *p; (p = map_next(s->pods, &next, &key));)
        any |= p->wants;
    if (!any)
        return;
    if (s->market.kind == KARPENTER)
        trigger(s);
    else
        for (int pool = 0; pool < POOLS_N; pool++)
            if (pass(s, pool)) {
                s->scaled_ms = loop_now_ms(s->loop);
                break; /* one group a time */
            }
}

static void on_tick(void *arg)
{
    struct autoscaler *s = arg;
    int64_t now_ms = loop_now_ms(s->loop);
    arena_reset(s->arena);
    for (int i = 0; i < s->machines_n; i++) {
        struct machine *m = &s->machines[i];
        bool launches = s->market.has_objects && m->life < READY && m->launched_ms && m->launched_ms <= now_ms && !m->none;
        if (launches)
            claim_has(s->client, s->arena, i, pool_gpus(s, m->pool), false, false);
        m->launched_ms = launches ? 0 : m->launched_ms;
        if (m->life < READY && m->next_ms <= now_ms)
            live_on(s, i);
    }
    if (s->market.consolidated_permille)
        consolidate(s);
    if (now_ms >= s->again_ms) {
        s->again_ms = now_ms + (s->market.kind == KARPENTER ? AGAIN_MS : SCAN_MS);
        look_again(s);
    }
    for (int i = 0; i < s->machines_n; i++)
        if (s->machines[i].life == READY)
            look_at_empty(s, i);
}

/* ---- the whole ---- */

struct autoscaler *autoscaler_new(struct kube_client *c, const struct market *market, uint64_t seed)
{
    struct autoscaler *s = mem_zero(1, sizeof *s);
    *s = (struct autoscaler){.client = c, .loop = kube_client_loop(c), .market = *market, .random = {seed}};
    s->pods = map_new(sizeof(struct seen_pod));
    s->arena = arena_new();
    s->batch = loop_timer_new(s->loop, on_batch, s);
    s->tick = loop_timer_new(s->loop, on_tick, s);
    loop_timer_start(s->tick, TICK_MS, TICK_MS);
    s->watch = kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/pods", .on_event = on_pod, .arg = s});
    return s;
}

void autoscaler_free(struct autoscaler *s)
{
    kube_watch_free(s->watch);
    loop_timer_free(s->batch);
    loop_timer_free(s->tick);
    map_free(s->pods);
    arena_free(s->arena);
    free(s);
}

struct autoscaler_counts autoscaler_counts(const struct autoscaler *s)
{
    struct autoscaler_counts counts = s->counts;
    bool empty;
    for (int i = 0; i < s->machines_n; i++) {
        (void)used_gpus(s, i, &empty);
        counts.there_n += !s->machines[i].old && s->machines[i].life != GONE;
        counts.ready_n += !s->machines[i].old && s->machines[i].life == READY && s->machines[i].gpus == s->market.gpus;
        counts.idle_n += !s->machines[i].old && s->machines[i].life != GONE && empty;
    }
    return counts;
}
