#include "checks.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/memory.h"
#include "kube/object.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define CHECKS 2
#define STOP_MS 60000 /* so long a job may take to stop */
#define SLOW_MS 2000  /* so long a request may take that is slow (net/http_local.h): nobody calls a bind back that is on its way */
static const char *const names[CHECKS] = {"budget", "nodes"};

struct mirror_workload {
    bool reserved, admitted, evicted, finished, active, owned;
    int64_t evicted_ms; /* seen so since */
    int listed_n, ready_n;
    char state[CHECKS][12]; /* "": not listed */
};
struct checks {
    struct world *world;
    struct kube_watch *watch;
    struct map *workloads; /* "ns/name" -> struct mirror_workload */
    struct map *gone;      /* "ns/name" -> int64_t: when an admitted one of this name was deleted last; another may have it by now */
    struct arena *arena;
    uint64_t passed_n, failed_n;
};

/* ---- the mirror ---- */

static void read_workload(struct mirror_workload *m, const struct json *workload)
{
    *m = (struct mirror_workload){.reserved = object_condition_true(workload, "QuotaReserved"),
                                  .admitted = object_condition_true(workload, "Admitted"),
                                  .evicted = object_condition_true(workload, "Evicted"),
                                  .finished = object_condition_true(workload, "Finished"),
                                  .owned = *object_controller(workload, "uid") != '\0',
                                  .active = json_get_bool(json_get(workload, "spec"), "active", true)};
    JSON_EACH (check, json_path(workload, "status", "admissionChecks", NULL)) {
        const char *state = json_get_text(check, "state", "");
        m->listed_n++;
        m->ready_n += strcmp(state, "Ready") == 0;
        for (int i = 0; i < CHECKS; i++)
            if (strcmp(json_get_text(check, "name", ""), names[i]) == 0)
                snprintf(m->state[i], sizeof m->state[i], "%s", state);
    }
}

static void on_workload(void *arg, enum kube_event event, struct bytes raw)
{
    struct checks *c = arg;
    arena_reset(c->arena);
    const struct json *workload = json_parse(c->arena, raw, NULL, NULL);
    const char *key = object_key(c->arena, workload);
    if (event == KUBE_DELETED) {
        const struct mirror_workload *last = map_find_text(c->workloads, key);
        if (last && last->admitted)
            *(int64_t *)map_put(c->gone, bytes_of(key), NULL) = loop_now_ms(c->world->loop);
        map_remove(c->workloads, bytes_of(key));
        return;
    }
    struct mirror_workload *m = map_put(c->workloads, bytes_of(key), NULL), old = *m;
    read_workload(m, workload);
    m->evicted_ms = old.evicted ? old.evicted_ms : loop_now_ms(c->world->loop);
    if (m->admitted && !old.admitted && m->ready_n < m->listed_n)
        world_broken(c->world, "%s was admitted with %d of %d checks ready", key, m->ready_n, m->listed_n);
    c->passed_n += m->admitted && !old.admitted && m->listed_n > 0;
    c->failed_n += m->evicted && !old.evicted && strstr(json_get_text(object_condition(workload, "Evicted"), "reason", ""), "AdmissionCheck");
    if (m->evicted && !old.evicted && m->ready_n)
        world_broken(c->world, "%s was evicted (%s), and %d checks still stand as ready", key,
                     json_get_text(object_condition(workload, "Evicted"), "reason", ""), m->ready_n);
}

struct checks *checks_new(struct world *w)
{
    struct checks *c = mem_zero(1, sizeof *c);
    c->world = w;
    c->workloads = map_new(sizeof(struct mirror_workload));
    c->gone = map_new(sizeof(int64_t));
    c->arena = arena_new();
    c->watch = kube_watch_new(w->quiet_client, &(struct kube_watch_config){.path = KUEUE "/workloads", .on_event = on_workload, .arg = c});
    return c;
}

void checks_free(struct checks *c)
{
    kube_watch_free(c->watch);
    map_free(c->workloads);
    map_free(c->gone);
    arena_free(c->arena);
    free(c);
}

uint64_t checks_passed_n(const struct checks *c)
{
    return c->passed_n;
}

uint64_t checks_failed_n(const struct checks *c)
{
    return c->failed_n;
}

bool checks_let_start(const struct checks *c, const char *workload)
{
    const char *key = arena_printf(c->arena, "default/%s", workload);
    const struct mirror_workload *m = map_find_text(c->workloads, key);
    const int64_t *gone_ms = map_find_text(c->gone, key);
    bool on_its_way = (m && m->evicted && loop_now_ms(c->world->loop) - m->evicted_ms <= SLOW_MS) ||
                      (gone_ms && loop_now_ms(c->world->loop) - *gone_ms <= SLOW_MS);
    return !m || m->admitted || m->finished || on_its_way; /* it may be gone by now */
}

/* ---- controllers ---- */

static void say(struct world *w, const char *workload, int check, const char *state, const char *more)
{
    char now[TIME_TEXT_MAX];
    const char *slash = strchr(workload, '/');
    struct buf body = {0};
    buf_printf(&body, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\"},\"status\":{"
                      "\"admissionChecks\":[{\"name\":\"%s\",\"state\":\"%s\",\"message\":\"said\",\"lastTransitionTime\":\"%s\"%s}]}}",
               slash + 1, names[check], state, time_format(now, loop_wall_ms(w->loop)), more);
    kube_patch(w->quiet_client, KUBE_PATCH_APPLY,
               arena_printf(w->arena, KUEUE "/namespaces/default/workloads/%s/status?fieldManager=%s&force=true", slash + 1, names[check]),
               buf_view(&body), NULL, NULL);
    buf_free(&body);
}

/* The first, from a random one on, of which the check is listed; NULL: none is. */
static const char *some_workload(struct world *w, int check)
{
    struct map *all = w->checks->workloads;
    size_t at = 0, n = map_count(all), skip = n ? random_below(&w->random, n) : 0;
    const char *first = NULL;
    struct bytes key;
    for (const struct mirror_workload *m; (m = map_next(all, &at, &key));) {
        bool fits = m->state[check][0] && !m->finished;
        if (fits && !skip)
            return key.data;
        first = fits && !first ? key.data : first;
        skip -= skip > 0;
    }
    return first;
}

void checks_answer(struct world *w)
{
    static const char *const states[] = {"Ready", "Ready", "Ready", "Ready", "Ready", "Retry", "Retry", "Rejected", "Pending"};
    int check = (int)random_below(&w->random, CHECKS);
    const char *workload = some_workload(w, check), *state = states[random_below(&w->random, sizeof states / sizeof *states)];
    const char *more = "";
    if (strcmp(state, "Retry") == 0 && random_below(&w->random, 2))
        more = arena_printf(w->arena, ",\"requeueAfterSeconds\":%d", (int)random_below(&w->random, 20));
    if (strcmp(state, "Ready") == 0 && random_below(&w->random, 4) == 0)
        more = ",\"podSetUpdates\":[{\"name\":\"main\",\"labels\":{\"let\":\"in\"},\"nodeSelector\":{\"zone\":\"z1\"}}]";
    if (workload)
        say(w, workload, check, state, more);
}

static void set_active(struct world *w, int check, bool active)
{
    world_patch(w, arena_printf(w->arena, KUEUE "/admissionchecks/%s/status", names[check]),
                "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":\"Test\",\"message\":\"\","
                "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}", active ? "True" : "False");
}

void checks_change(struct world *w)
{
    static const char *const demands[] = {"", "{\"name\":\"budget\"}", "{\"name\":\"budget\"},{\"name\":\"nodes\"}",
                                          "{\"name\":\"nodes\",\"onFlavors\":[\"any\"]}"};
    if (random_below(&w->random, 3)) {
        world_patch(w, KUEUE "/clusterqueues/q2", "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[%s]}}}",
                    demands[random_below(&w->random, 4)]);
        return;
    }
    bool active = random_below(&w->random, 3) != 0;
    set_active(w, (int)random_below(&w->random, CHECKS), active);
}

void checks_turn_all_away(struct world *w)
{
    size_t at = 0;
    struct bytes key;
    for (const struct mirror_workload *m; (m = map_next(w->checks->workloads, &at, &key));)
        for (int i = 0; i < CHECKS && !m->finished; i++)
            if (m->state[i][0])
                say(w, key.data, i, "Retry", "");
}

void checks_let(struct world *w)
{
    size_t at = 0;
    struct bytes key;
    for (int i = 0; i < CHECKS; i++)
        set_active(w, i, true);
    for (const struct mirror_workload *m; (m = map_next(w->checks->workloads, &at, &key));)
        for (int i = 0; i < CHECKS && !m->finished; i++)
            if (m->state[i][0] && strcmp(m->state[i], "Ready") != 0)
                say(w, key.data, i, "Ready", "");
}

void checks_let_all(struct world *w)
{
    size_t at = 0;
    struct bytes key;
    checks_let(w);
    for (const struct mirror_workload *m; (m = map_next(w->checks->workloads, &at, &key));)
        if (!m->active && !m->finished)
            world_patch(w, arena_printf(w->arena, KUEUE "/namespaces/default/workloads/%s", strchr(key.data, '/') + 1),
                        "{\"spec\":{\"active\":true}}");
}

const char *checks_any_workload(struct world *w)
{
    size_t n = map_count(w->checks->workloads), at = 0, skip = n ? random_below(&w->random, n) : 0;
    struct bytes key;
    const struct mirror_workload *m;
    do {
        m = map_next(w->checks->workloads, &at, &key);
    } while (m && skip-- > 0);
    return m ? arena_text(w->arena, strchr(key.data, '/') + 1) : NULL;
}

/* WHY  owned: who stops the pods gives quota back; of a Workload of nobody it is its maker, as in Kueue. */
bool checks_at_rest(struct world *w)
{
    size_t at = 0;
    struct bytes key;
    for (const struct mirror_workload *m; (m = map_next(w->checks->workloads, &at, &key));)
        if (!m->finished && m->owned && m->evicted && m->reserved &&
            loop_now_ms(w->loop) - m->evicted_ms > STOP_MS) /* its time may be over just now */
            world_broken(w, "%.*s was evicted, and its quota is never given back", (int)key.n, key.data);
    return w->fault[0] == '\0';
}
