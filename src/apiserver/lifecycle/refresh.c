#include "apiserver/lifecycle/refresh.h"

#include <stdlib.h>

#include "apiserver/lifecycle/eviction_budget.h"
#include "apiserver/lifecycle/namespace.h"
#include "apiserver/lifecycle/rbac_aggregate.h"

#define BUDGETS_DELAY_MS 100
#define ROOTS_DELAY_MS 500 /* a namespace that ends loses its objects first, and is marked before that */
#define ROLES_DELAY_MS 20  /* a manifest has several */

struct refresh {
    struct apiserver *server;
    struct loop_timer *budgets, *roots, *roles;
    struct pod_standings *pods; /* as the budgets saw them */
    uint32_t pod_kind, budget_kind, map_kind, role_kind;
};

static void budgets_due(void *arg)
{
    struct refresh *f = arg;
    eviction_budgets_refresh(f->server, f->pods);
}

static void roles_due(void *arg)
{
    rbac_aggregate(arg);
}

static void roots_due(void *arg)
{
    namespace_roots_restore(arg);
}

static void ask(struct loop_timer *timer, int64_t delay_ms)
{
    if (!loop_timer_running(timer))
        loop_timer_start(timer, delay_ms, 0);
}

static void change_seen(void *arg, uint32_t kind, const struct store_event *event)
{
    struct refresh *f = arg;
    if ((kind == f->pod_kind || kind == f->budget_kind) && store_count(f->server->store, f->budget_kind))
        ask(f->budgets, BUDGETS_DELAY_MS);
    if (kind == f->map_kind && event->type != STORE_ADDED && strcmp(event->name, NAMESPACE_ROOT_CA) == 0)
        ask(f->roots, ROOTS_DELAY_MS);
    if (kind == f->role_kind)
        ask(f->roles, ROLES_DELAY_MS);
}

struct refresh *refresh_new(struct apiserver *s)
{
    struct refresh *f = mem_zero(1, sizeof *f);
    f->server = s;
    f->pods = pod_standings_new();
    f->pod_kind = store_kind(s->store, "", "pods");
    f->budget_kind = store_kind(s->store, "policy", "poddisruptionbudgets");
    f->map_kind = store_kind(s->store, "", "configmaps");
    f->role_kind = store_kind(s->store, "rbac.authorization.k8s.io", "clusterroles");
    f->budgets = loop_timer_new(s->loop, budgets_due, f);
    f->roots = loop_timer_new(s->loop, roots_due, s);
    f->roles = loop_timer_new(s->loop, roles_due, s);
    store_observe(s->store, change_seen, f);
    return f;
}

void refresh_free(struct refresh *f)
{
    if (!f)
        return;
    loop_timer_free(f->budgets);
    loop_timer_free(f->roots);
    loop_timer_free(f->roles);
    pod_standings_free(f->pods);
    free(f);
}
