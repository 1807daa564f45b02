/* heartbeat.c - a table of nodes, walked round and round */
#include "sim/kubelet/heartbeat.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"

#define PERIOD_MS 10000
#define TICK_MS 100 /* a slice */

struct beat {
    bool leased;
};

struct heartbeat {
    struct kube_client *client;
    struct loop *loop;
    struct map *nodes; /* name -> struct beat: those that live */
    struct loop_timer *timer;
    size_t at;   /* where the next slice starts */
    size_t owed; /* node-milliseconds since the last renewal */
    struct arena *arena;
};

struct lease_call {
    struct heartbeat *heartbeat;
    char node[];
};

static void on_lease_patched(void *arg, const struct kube_answer *answer)
{
    struct lease_call *call = arg;
    struct beat *beat = map_find_text(call->heartbeat->nodes, call->node);
    if (beat && answer->code == -E_NOTFOUND)
        beat->leased = false; /* made anew the next time */
    free(call);
}

static void act_renew(struct heartbeat *h, const char *node, const char *spec)
{
    size_t n = strlen(node) + 1;
    struct lease_call *call = mem_alloc(sizeof *call + n);
    call->heartbeat = h;
    memcpy(call->node, node, n);
    kube_patch(h->client, KUBE_PATCH_MERGE, kube_path(h->arena, "coordination.k8s.io", "v1", "leases", "kube-node-lease", node, NULL),
               bytes_of(arena_printf(h->arena, "{\"spec\":%s}", spec)), on_lease_patched, call);
}

static void act_lease(struct heartbeat *h, const char *node, struct beat *beat)
{
    char now[TIME_TEXT_MAX];
    time_format_micro(now, loop_wall_us(h->loop));
    const char *spec =
        arena_printf(h->arena, "{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":40,\"renewTime\":\"%s\"}", node, now);
    if (beat->leased) {
        act_renew(h, node, spec);
        return;
    }
    beat->leased = true;
    const char *body = arena_printf(h->arena,
                                    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"%s\","
                                    "\"namespace\":\"kube-node-lease\"},\"spec\":%s}",
                                    node, spec);
    kube_create(h->client, kube_path(h->arena, "coordination.k8s.io", "v1", "leases", "kube-node-lease", NULL, NULL), bytes_of(body),
                NULL, NULL);
}

/* Every tick renews the next slice of the nodes, so that each has its turn once a period. */
static void on_tick(void *arg)
{
    struct heartbeat *h = arg;
    h->owed += map_count(h->nodes) * TICK_MS;
    struct bytes key;
    for (; h->owed >= PERIOD_MS; h->owed -= PERIOD_MS) {
        struct beat *beat = map_next(h->nodes, &h->at, &key);
        if (!beat) {
            h->at = 0;
            beat = map_next(h->nodes, &h->at, &key);
        }
        if (beat)
            act_lease(h, arena_text_n(h->arena, key.data, key.n), beat);
    }
    arena_reset(h->arena);
}

void heartbeat_lives(struct heartbeat *h, const char *node)
{
    if (!h)
        return;
    struct beat *beat = map_put(h->nodes, bytes_of(node), NULL);
    if (!beat->leased)
        act_lease(h, node, beat);
    arena_reset(h->arena);
}

void heartbeat_ends(struct heartbeat *h, const char *node)
{
    if (h)
        (void)map_remove(h->nodes, bytes_of(node)); /* most never were there */
}

struct heartbeat *heartbeat_new(struct kube_client *c)
{
    struct heartbeat *h = mem_zero(1, sizeof *h);
    h->client = c;
    h->loop = kube_client_loop(c);
    h->arena = arena_new();
    h->nodes = map_new(sizeof(struct beat));
    h->timer = loop_timer_new(h->loop, on_tick, h);
    loop_timer_start(h->timer, TICK_MS, TICK_MS);
    return h;
}

void heartbeat_free(struct heartbeat *h)
{
    if (!h)
        return;
    loop_timer_free(h->timer);
    map_free(h->nodes);
    arena_free(h->arena);
    free(h);
}
