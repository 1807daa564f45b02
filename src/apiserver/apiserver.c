#include "apiserver/apiserver.h"

#include <stdlib.h>

#include "apiserver/access/access_control.h"
#include "apiserver/apply/object_change.h"
#include "apiserver/lifecycle/garbage.h"
#include "apiserver/lifecycle/namespace.h"
#include "apiserver/lifecycle/own_service.h"
#include "apiserver/lifecycle/quota.h"
#include "apiserver/lifecycle/rbac_roles.h"
#include "apiserver/lifecycle/refresh.h"
#include "apiserver/lifecycle/united_kinds.h"
#include "apiserver/rules/crd.h"
#include "apiserver/rules/rules.h"
#include "apiserver/serve/documents.h"
#include "apiserver/serve/paths.h"
#include "apiserver/serve/route.h"
#include "apiserver/store/object.h"
#include "apiserver/store/question.h"
#include "apiserver/verbs/watch.h"

#define TICK_MS 1000

static void tick(void *arg)
{
    struct apiserver *s = arg;
    watch_set_tick(s->watches);
    garbage_tick(s->garbage);
}

/* ORDER  kinds before what is counted of them. */
static void changed(void *arg, uint32_t kind, const struct store_event *event)
{
    struct apiserver *s = arg;
    crds_changed(s->crds, kind, event);
    quotas_changed(s->quotas, kind, event);
}

static void config_copy(struct apiserver *s, const struct apiserver_config *config)
{
    s->config = *config;
    s->config.data_dir = mem_text(config->data_dir);
    s->config.listen_host = mem_text(config->listen_host);
    s->config.ca_pem = mem_text(config->ca_pem);
}

/* What is there without anybody having made it. */
static int seed(struct apiserver *s, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    int r = namespace_seed(s, e);
    namespace_roots_restore(s); /* the certificates may be others than before */
    if (r == 0)
        r = rbac_roles_seed(s, a, e);
    if (r == 0)
        r = own_service_seed(s, a, e);
    return r < 0 ? err_wrap(e, "initial objects") : 0;
}

static int start(struct apiserver *s, struct err *e)
{
    int r = store_open(s->loop, s->config.data_dir, &s->store, e);
    if (r < 0)
        return r;
    s->kinds = kind_table_new();
    s->questions = questions_new();
    r = crds_new(s, &s->crds, e);
    if (r < 0)
        return r;
    united_kinds_move(s);
    s->watches = watch_set_new(s);
    s->garbage = garbage_new(s);
    s->quotas = quotas_new(s);
    store_on_change(s->store, changed, s);
    s->refresh = refresh_new(s);
    s->documents = documents_new();
    r = seed(s, e);
    if (r < 0)
        return r;
    s->tick = loop_timer_new(s->loop, tick, s);
    loop_timer_start(s->tick, TICK_MS, TICK_MS);
    return 0;
}

int apiserver_new(struct loop *l, const struct apiserver_config *config, struct apiserver **ret_s, struct err *e)
{
    struct apiserver *s = mem_zero(1, sizeof *s);
    s->loop = l;
    s->rules = &server_rules;
    /* WHY virtual loops: the same run must give the same uids and names. */
    s->random.state = loop_is_virtual(l) ? 0x63617073 : random_seed_from_system();
    config_copy(s, config);
    s->given_tokens = map_new(sizeof(char *));
    int r = start(s, e);
    if (r < 0) {
        apiserver_free(s);
        return r;
    }
    *ret_s = s;
    return 0;
}

void apiserver_free(struct apiserver *s)
{
    if (!s)
        return;
    loop_timer_free(s->tick);
    watch_set_free(s->watches);
    documents_free(s->documents);
    if (s->given_tokens)
        token_clear(s->given_tokens);
    map_free(s->given_tokens);
    store_close(s->store); /* commits: observers are told, so they go after it */
    refresh_free(s->refresh);
    garbage_free(s->garbage);
    quotas_free(s->quotas);
    questions_free(s->questions);
    crds_free(s->crds);
    kind_table_free(s->kinds);
    for (size_t i = 0; i < s->routes_n; i++)
        free(s->routes[i].prefix);
    free(s->routes);
    buf_free(&s->text);
    free((char *)s->config.data_dir);
    free((char *)s->config.listen_host);
    free((char *)s->config.ca_pem);
    free(s);
}

void apiserver_add_route(struct apiserver *s, const char *prefix, bool (*fn)(void *ctx, struct http_exchange *x),
                         void *ctx)
{
    MEM_RESERVE(s->routes, s->routes_cap, s->routes_n + 1);
    s->routes[s->routes_n++] = (struct apiserver_route){mem_text(prefix), fn, ctx};
}

void apiserver_set_pending(struct apiserver *s, apiserver_pending_fn fn, void *ctx)
{
    s->pending = fn;
    s->pending_ctx = ctx;
}

void apiserver_set_nodes(struct apiserver *s, const struct apiserver_node_ops *nodes, void *ctx)
{
    s->config.nodes = nodes;
    s->config.nodes_ctx = ctx;
}

static void header_unsaid(struct http_exchange *x, const char *name, const char *value)
{
}

static void reply_unsaid(struct http_exchange *x, int status, const char *content_type, struct blob *body)
{
    blob_unref(body);
}

bool apiserver_head(void *ctx, const struct http_exchange *x)
{
    static const struct http_exchange_ops silent = {.header = header_unsaid, .reply = reply_unsaid};
    struct http_exchange asked = *x;
    asked.ops = &silent;
    return access_check(ctx, &asked);
}

void apiserver_handle(void *ctx, struct http_exchange *x)
{
    struct apiserver *s = ctx;
    s->requests_n++;
    if (!access_check(s, x))
        return;
    for (size_t i = 0; i < s->routes_n; i++)
        if (text_starts(x->request.path, s->routes[i].prefix) && s->routes[i].fn(s->routes[i].ctx, x))
            return;
    if (paths_handle(s, x))
        return;
    route_handle(s, x);
}

int apiserver_create(struct apiserver *s, struct arena *a, struct json *object, struct err *e)
{
    const struct kind *k = object_kind_named(s, a, object);
    if (!k || (k->flags & (KIND_REVIEW | KIND_READ_ONLY)))
        return err_set(e, E_INVALID, "apiVersion %s, kind %s: the server has no such kind",
                       json_get_text(object, "apiVersion", ""), json_get_text(object, "kind", ""));
    return object_create(s, k, a, object, e);
}
