/* health_world.h - the agent's health over a node of three GPUs: time passes, events come, and orders are carried out at once */
#ifndef TEST_HEALTH_WORLD_H
#define TEST_HEALTH_WORLD_H
#include "health_node.h"
#include "base/memory.h"

struct world {
    struct node node;
    struct health *h;
    int64_t now_ms;
    uint32_t resets_n, events_n, sets_n;
    char reset_uuid[48];
    struct health_order last_event;
    struct driver_process processes[8];
    uint32_t processes_n;
};

static inline void world_take(struct world *w)
{
    struct health_order o;
    while (health_next(w->h, &o)) {
        if (o.act == HEALTH_EVENT) {
            w->events_n++;
            w->last_event = o;
        } else if (o.act == HEALTH_RESET) {
            w->resets_n++;
            memcpy(w->reset_uuid, o.gpu_uuid, sizeof w->reset_uuid);
        } else if (o.act == HEALTH_SET) {
            w->sets_n++;
            for (uint32_t i = 0; i < NODE_UNITS; i++) {
                struct unit *u = &w->node.units[i];
                bool same = o.gi == HEALTH_WHOLE || (u->mig && u->mig->gi == o.gi && u->mig->ci == o.ci);
                if (same && text_equal(u->gpu->uuid, o.gpu_uuid)) {
                    u->health = o.health;
                    u->xid = o.xid;
                }
            }
        }
    }
}

static inline void world_run(struct world *w, int64_t span_ms, int64_t step_ms)
{
    for (int64_t end = w->now_ms + span_ms; w->now_ms < end;) {
        w->now_ms += step_ms;
        w->node.reading.number++;
        health_tick(w->h, &w->node.s, w->processes, w->processes_n, w->now_ms);
        world_take(w);
    }
}

/* A new node and agent; disable, enable as for health_new. */
static inline void world_restart(struct world *w, const char *disable, const char *enable)
{
    health_free(w->h);
    memset(w, 0, sizeof *w);
    node_make(&w->node);
    w->h = health_new(disable, enable);
    w->now_ms = 1000000;
    world_run(w, 1000, 1000);
}

static inline void world_event(struct world *w, struct driver_event e)
{
    health_event(w->h, &e, &w->node.s, w->now_ms);
    world_take(w);
}

static inline void world_xid(struct world *w, const char *gpu, uint64_t xid)
{
    world_event(w, node_xid(gpu, HEALTH_WHOLE, HEALTH_WHOLE, xid));
}

/* This process is the only one, on a whole GPU. */
static inline void world_process(struct world *w, uint32_t pid, uint16_t gpu)
{
    w->processes[0] = (struct driver_process){.pid = pid, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = gpu};
    w->processes_n = 1;
}

/* The agent starts again: what it knows is what the journal has kept of the units. */
static inline void world_agent_restarts(struct world *w)
{
    health_free(w->h);
    w->h = health_new(NULL, NULL);
}

static inline int world_setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    world_restart(w, NULL, NULL);
    *state = w;
    return 0;
}

static inline int world_teardown(void **state)
{
    struct world *w = *state;
    health_free(w->h);
    free(w);
    return 0;
}
#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

static inline void assert_health(const struct world *w, uint32_t unit, enum unit_health health)
{
    assert_string_equal(unit_health_name(w->node.units[unit].health), unit_health_name(health));
}

#endif
