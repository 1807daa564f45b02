#include "apiserver/serve/view.h"

#include <stdio.h>

#include "apiserver/access/rbac_aggregate.h"
#include "apiserver/access/token.h"
#include "apiserver/lifecycle/namespace.h"
#include "apiserver/verbs/eviction_budget.h"

#define SEGMENTS_MAX 8

#define BUDGETS_DELAY_MS 100 /* a burst of pods makes one count */
#define ROOTS_DELAY_MS 500   /* a namespace that ends loses its objects first, and is marked before that */
#define ROLES_DELAY_MS 20    /* of roles, too: a manifest has several */

static void budgets_due(void *arg)
{
    eviction_budgets_refresh(arg, NULL);
}

static void roles_due(void *arg)
{
    rbac_aggregate(arg);
}

static void roots_due(void *arg)
{
    namespace_roots_restore(arg);
}

static void change_seen(void *arg, uint32_t kind, const struct store_event *event)
{
    struct apiserver *s = arg;
    struct view *v = s->view;
    if (v && (kind == v->pod_kind || kind == v->budget_kind) && !loop_timer_running(v->budgets) &&
        store_count(s->store, v->budget_kind))
        loop_timer_start(v->budgets, BUDGETS_DELAY_MS, 0);
    if (v && kind == v->map_kind && event->type != STORE_ADDED && strcmp(event->name, NAMESPACE_ROOT_CA) == 0 &&
        !loop_timer_running(v->roots))
        loop_timer_start(v->roots, ROOTS_DELAY_MS, 0);
    if (v && kind == v->role_kind && !loop_timer_running(v->roles))
        loop_timer_start(v->roles, ROLES_DELAY_MS, 0);
}

int view_new(struct apiserver *s)
{
    struct view *v = mem_zero(1, sizeof *v);
    v->documents = map_new(sizeof(struct view_document));
    v->tokens = map_new(sizeof(char *));
    v->pod_kind = store_kind(s->store, "", "pods");
    v->budget_kind = store_kind(s->store, "policy", "poddisruptionbudgets");
    v->budgets = loop_timer_new(s->loop, budgets_due, s);
    v->map_kind = store_kind(s->store, "", "configmaps");
    v->roots = loop_timer_new(s->loop, roots_due, s);
    v->role_kind = store_kind(s->store, "rbac.authorization.k8s.io", "clusterroles");
    v->roles = loop_timer_new(s->loop, roles_due, s);
    s->view = v;
    store_observe(s->store, change_seen, s);
    return 0;
}

static void documents_clear(struct view *v)
{
    size_t at = 0;
    struct view_document *d;
    struct bytes key;
    while ((d = map_next(v->documents, &at, &key)))
        blob_unref(d->body);
    map_clear(v->documents);
    map_free(v->openapi_hashes);
    v->v2_etags[0][0] = v->v2_etags[1][0] = 0;
    v->openapi_hashes = NULL;
}

void view_free(struct apiserver *s)
{
    struct view *v = s->view;
    if (!v)
        return;
    loop_timer_free(v->budgets);
    loop_timer_free(v->roles);
    loop_timer_free(v->roots);
    documents_clear(v);
    map_free(v->documents);
    token_clear(v->tokens);
    map_free(v->tokens);
    free(v);
    s->view = NULL;
}

static void documents_refresh(struct apiserver *s)
{
    struct view *v = s->view;
    if (v->generation == kind_table_generation(s->kinds))
        return;
    documents_clear(v);
    v->generation = kind_table_generation(s->kinds);
}

void view_reply(struct apiserver *s, struct http_exchange *x, const char *content_type, const char *key,
                view_make_fn make)
{
    struct view *v = s->view;
    struct view_document *d = map_find_text(v->documents, key);
    if (!d) {
        struct buf out = {0};
        make(s, key, &out);
        d = map_put(v->documents, bytes_of(key), NULL);
        d->body = blob_new(out.data, out.n);
        snprintf(d->etag, sizeof d->etag, "\"%016llx\"", (unsigned long long)hash_bytes(out.data, out.n, 1));
        buf_free(&out);
    }
    const char *known = http_header(&x->request, "if-none-match");
    http_set_header(x, "Vary", "Accept");
    http_set_header(x, "ETag", d->etag);
    if (known && strcmp(known, d->etag) == 0)
        http_reply(x, 304, content_type, NULL);
    else
        http_reply(x, 200, content_type, blob_ref(d->body));
}

static bool version_known(const struct group_version *out, uint32_t n, const char *group, const char *version)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(out[i].group, group) == 0 && strcmp(out[i].version, version) == 0)
            return true;
    return false;
}

static bool group_known(const struct group_version *out, uint32_t n, const char *group)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(out[i].group, group) == 0)
            return true;
    return false;
}

static uint32_t group_add(const struct kind_table *t, struct group_version *out, uint32_t n, const char *group)
{
    for (uint32_t i = 0; i < kind_count(t); i++) {
        const struct kind *k = kind_at(t, i);
        for (uint32_t j = 0; strcmp(k->group, group) == 0 && j < k->versions_n && n < GROUP_VERSIONS_MAX; j++)
            if (k->versions[j].served && !version_known(out, n, group, k->versions[j].version))
                out[n++] = (struct group_version){k->group, k->versions[j].version};
    }
    return n;
}

uint32_t group_versions(const struct kind_table *t, struct group_version out[GROUP_VERSIONS_MAX])
{
    /* WHY metrics last: its pods and nodes must lose against core's when a client resolves the bare names. */
    static const char last[] = "metrics.k8s.io";
    uint32_t n = 0;
    for (uint32_t i = 0; i < kind_count(t); i++) {
        const struct kind *k = kind_at(t, i);
        if (strcmp(k->group, last) != 0 && !group_known(out, n, k->group))
            n = group_add(t, out, n, k->group);
    }
    return group_add(t, out, n, last);
}

static void version_reply(struct http_exchange *x)
{
    http_reply_text(x, 200, "application/json",
                    "{\"major\":\"1\",\"minor\":\"32\",\"gitVersion\":\"v1.32.0+capstan\",\"gitCommit\":\"" CAPSTAN_VERSION
                    "\",\"gitTreeState\":\"clean\",\"buildDate\":\"2026-01-01T00:00:00Z\",\"goVersion\":\"none\",\"compiler\":\"cc\","
                    "\"platform\":\"linux/amd64\"}\n");
}

/* /healthz, /livez and /readyz, whole or the check "ping" alone. */
static bool is_health(char **segments, unsigned n)
{
    if (n > 2 || (n == 2 && strcmp(segments[1], "ping") != 0))
        return false;
    return strcmp(segments[0], "healthz") == 0 || strcmp(segments[0], "livez") == 0 || strcmp(segments[0], "readyz") == 0;
}

static void paths_make(struct apiserver *s, const char *key, struct buf *out)
{
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    buf_text(out, "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\"");
    for (uint32_t i = 0; i < n; i++)
        if (*versions[i].group)
            buf_printf(out, ",\"/apis/%s/%s\"", versions[i].group, versions[i].version);
    buf_text(out, ",\"/healthz\",\"/livez\",\"/metrics\",\"/openapi/v2\",\"/openapi/v3\",\"/readyz\",\"/version\"]}");
}

/* Path cut into segments, in the request's arena; empty ones are left out. More than SEGMENTS_MAX: n = SEGMENTS_MAX. */
static unsigned path_segments(struct arena *a, const char *path, char *segments[SEGMENTS_MAX])
{
    unsigned n = 0;
    while (n < SEGMENTS_MAX) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (!length)
            break;
        segments[n++] = arena_text_n(a, path, length);
        path += length;
    }
    return n;
}

bool view_handle(struct apiserver *s, struct http_exchange *x)
{
    char *segments[SEGMENTS_MAX];
    unsigned n = path_segments(x->request.arena, x->request.path, segments);
    documents_refresh(s);
    if (n == 0)
        view_reply(s, x, "application/json", "/", paths_make);
    else if (n == 1 && strcmp(segments[0], "version") == 0)
        version_reply(x);
    else if (is_health(segments, n))
        http_reply_text(x, 200, "text/plain; charset=utf-8", "ok");
    else if (n == 1 && strcmp(segments[0], "metrics") == 0)
        metrics_text(s, x);
    else
        return discovery_handle(s, x, segments, n) || openapi_handle(s, x, segments, n);
    return true;
}
