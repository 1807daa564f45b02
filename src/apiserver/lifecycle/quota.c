#include "apiserver/lifecycle/quota.h"

#include "apiserver/apply/object_change.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "codec/decode/quota_usage.h"

#define STATUS_DELAY_MS 20   /* a burst of pods makes one write */
#define STATUS_RETRY_MS 1000 /* after writes that could not be kept: the disk is full, as a rule for a while */

/* One ResourceQuota. Everything is in the namespace's arena. */
struct quota {
    const char *name;
    const struct json *object; /* spec as it was when it was counted */
    struct amounts hard, used;
};
struct quota_space {
    struct arena *arena; /* NULL: to be counted anew */
    struct quota *quotas;
    uint32_t n;
    bool status_due;
};
struct quotas {
    struct apiserver *server;
    struct map *spaces; /* namespaces that have quotas, or had some -> struct quota_space */
    struct loop_timer *timer;
    uint32_t quota_kind;
    bool is_writing; /* a status: that change is our own */
};

static void status_ask(struct quotas *q, struct quota_space *space, int64_t delay_ms)
{
    space->status_due = true;
    if (!loop_timer_running(q->timer))
        loop_timer_start(q->timer, delay_ms, 0);
}

static void space_forget(struct quota_space *space)
{
    arena_free(space->arena);
    space->arena = NULL;
    space->quotas = NULL;
    space->n = 0;
}

/* ---- counting ---- */

/* used += sign * what the object counts for, of what the quota bounds. */
static void count(struct quota *quota, struct arena *a, const struct kind *k, const struct json *object, int sign)
{
    struct amounts usage;
    amounts_init(&usage, a);
    if (!quota_usage_in_scope(quota->object, k, object))
        return;
    quota_usage(&usage, k, object);
    for (uint32_t i = 0; i < usage.n; i++)
        if (amounts_find(&quota->hard, usage.rows[i].name))
            amounts_add(&quota->used, usage.rows[i].name, (struct quantity){sign * usage.rows[i].q.nano, usage.rows[i].q.format});
}

/* Does any quota bound what objects of the kind count for? WHY  a cluster has hundreds of kinds, a quota names a few. */
static bool kind_is_bounded(const struct quota_space *space, const struct kind *k)
{
    if (quota_usage_reads(k))
        return true;
    _cleanup_arena_ struct arena *a = arena_new();
    struct amounts usage;
    amounts_init(&usage, a);
    quota_usage(&usage, k, NULL);
    for (uint32_t i = 0; i < space->n; i++)
        for (uint32_t r = 0; r < usage.n; r++)
            if (amounts_find(&space->quotas[i].hard, usage.rows[r].name))
                return true;
    return false;
}

static void count_kind(struct quotas *q, struct quota_space *space, const char *ns, const struct kind *k)
{
    struct store *store = q->server->store;
    struct store_cursor *c = store_list(store, store_kind(store, k->group, k->plural), ns, NULL);
    _cleanup_arena_ struct arena *a = arena_new();
    for (const struct store_object *o; (o = store_list_next(c));) {
        arena_reset(a);
        const struct json *object = quota_usage_reads(k) ? object_parse(a, o->body) : NULL;
        for (uint32_t i = 0; i < space->n; i++)
            count(&space->quotas[i], a, k, object, 1);
    }
    store_list_free(c);
}

static void quotas_read(struct quotas *q, struct quota_space *space, const char *ns)
{
    const struct json *stored = object_list_plural(q->server, space->arena, "", "resourcequotas", ns);
    space->quotas = arena_zero(space->arena, (stored ? stored->n : 0) + 1, sizeof *space->quotas);
    JSON_EACH (object, stored) {
        struct quota *quota = &space->quotas[space->n++];
        quota->name = json_text(json_path(object, "metadata", "name", NULL), "");
        quota->object = object;
        amounts_init(&quota->hard, space->arena);
        amounts_init(&quota->used, space->arena);
        amounts_read(&quota->hard, json_path(object, "spec", "hard", NULL));
        for (uint32_t i = 0; i < quota->hard.n; i++)
            amounts_set(&quota->used, quota->hard.rows[i].name, (struct quantity){0, quota->hard.rows[i].q.format});
    }
}

/* The namespace's quotas, counted; NULL = it has none. */
static struct quota_space *space_counted(struct quotas *q, const char *ns)
{
    struct quota_space *space = map_find_text(q->spaces, ns);
    if (!space || space->arena)
        return space;
    space->arena = arena_new();
    quotas_read(q, space, ns);
    if (!space->n) { /* the last one has gone */
        space_forget(space);
        map_remove(q->spaces, bytes_of(ns));
        return NULL;
    }
    for (uint32_t i = 0; i < kind_count(q->server->kinds); i++) {
        const struct kind *k = kind_at(q->server->kinds, i);
        if ((k->flags & KIND_NAMESPACED) && !(k->flags & (KIND_REVIEW | KIND_READ_ONLY)) && kind_is_bounded(space, k))
            count_kind(q, space, ns, k);
    }
    return space;
}

/* ---- changes ---- */

/* What the old state counted for goes, what the new one counts for comes. */
static void recount(struct quota_space *space, const struct kind *k, const struct store_event *event)
{
    _cleanup_arena_ struct arena *a = arena_new();
    bool reads = quota_usage_reads(k);
    if (!reads && event->type == STORE_MODIFIED) /* there are as many of it as before */
        return;
    const struct json *was = reads && event->old ? object_parse(a, event->old) : NULL;
    const struct json *is = reads && event->type != STORE_DELETED ? object_parse(a, event->body) : NULL;
    for (uint32_t i = 0; i < space->n; i++) {
        if (event->type != STORE_ADDED)
            count(&space->quotas[i], a, k, was, -1);
        if (event->type != STORE_DELETED)
            count(&space->quotas[i], a, k, is, 1);
    }
}

/* Every namespace that has quotas is there; its status is due. */
static void spaces_read(struct quotas *q, int64_t delay_ms)
{
    struct store_cursor *c = store_list(q->server->store, q->quota_kind, NULL, NULL);
    for (const struct store_object *o; (o = store_list_next(c));)
        status_ask(q, map_put(q->spaces, bytes_of(o->ns), NULL), delay_ms);
    store_list_free(c);
}

static void spaces_forget(struct quotas *q)
{
    size_t at = 0;
    struct bytes key;
    for (struct quota_space *space; (space = map_next(q->spaces, &at, &key));)
        space_forget(space);
    map_clear(q->spaces);
}

static void quota_changed(struct quotas *q, const char *ns)
{
    struct quota_space *space = map_put(q->spaces, bytes_of(ns), NULL);
    space_forget(space);
    status_ask(q, space, STATUS_DELAY_MS);
}

void quotas_changed(struct quotas *q, uint32_t kind, const struct store_event *event)
{
    if (!event) { /* writes were taken back */
        spaces_forget(q);
        spaces_read(q, STATUS_RETRY_MS);
        return;
    }
    if (kind == q->quota_kind) {
        if (!q->is_writing)
            quota_changed(q, event->ns);
        return;
    }
    struct quota_space *space = map_find_text(q->spaces, event->ns);
    if (!space || !space->arena)
        return;
    const struct kind *k = object_kind(q->server, kind);
    if (k)
        recount(space, k, event);
    else
        space_forget(space); /* objects go with the definition of their kind */
    status_ask(q, space, STATUS_DELAY_MS);
}

/* ---- status ---- */

static int status_put(void *arg, struct arena *a, struct json *object, struct err *e)
{
    const struct quota *quota = arg;
    struct json *status = json_ensure_object(a, object, "status");
    json_set(a, status, "hard", amounts_json(&quota->hard, a));
    json_set(a, status, "used", amounts_json(&quota->used, a));
    return 0;
}

static void status_due(void *arg)
{
    struct quotas *q = arg;
    const struct kind *k = kind_find(q->server->kinds, "", "resourcequotas");
    size_t at = 0;
    struct bytes key;
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *due = json_new(a, JSON_ARRAY);
    for (struct quota_space *space; (space = map_next(q->spaces, &at, &key));) {
        if (space->status_due)
            json_append(due, json_new_text_n(a, key));
        space->status_due = false;
    }
    JSON_EACH (ns, due) {
        struct quota_space *space = space_counted(q, json_text(ns, ""));
        q->is_writing = true;
        for (uint32_t i = 0; space && i < space->n; i++)
            (void)object_modify(q->server, k, json_text(ns, ""), space->quotas[i].name, a, status_put, &space->quotas[i], WRITE_OWN_STATUS,
                                NULL, NULL); /* one that is gone needs no status */
        q->is_writing = false;
    }
}

/* ---- admission ---- */

/* What the write adds to the quota: of what it bounds, and more than before. */
static void added(struct amounts *out, const struct quota *quota, const struct object_write *w)
{
    struct amounts is, was;
    amounts_init(out, w->arena);
    amounts_init(&is, w->arena);
    amounts_init(&was, w->arena);
    quota_usage(&is, w->kind, w->object);
    if (w->old && quota_usage_in_scope(quota->object, w->kind, w->old))
        quota_usage(&was, w->kind, w->old);
    for (uint32_t i = 0; i < is.n; i++) {
        const struct quantity *before = amounts_find(&was, is.rows[i].name);
        struct quantity more = {is.rows[i].q.nano - (before ? before->nano : 0), is.rows[i].q.format};
        if (amounts_find(&quota->hard, is.rows[i].name) && quantity_sign(more) > 0)
            amounts_set(out, is.rows[i].name, more);
    }
}

static bool refuse(struct object_write *w, const char *why)
{
    return object_write_fail(w, 403, "Forbidden", "%s \"%s\" is forbidden: %s", status_resource(w->arena, w->kind),
                             json_text(json_path(w->object, "metadata", "name", NULL), ""), why);
}

static bool fits(struct object_write *w, const struct quota *quota)
{
    struct amounts more, requested, used, hard;
    added(&more, quota, w);
    amounts_init(&requested, w->arena);
    amounts_init(&used, w->arena);
    amounts_init(&hard, w->arena);
    for (uint32_t i = 0; i < more.n; i++) {
        const char *name = more.rows[i].name;
        const struct quantity *bound = amounts_find(&quota->hard, name), *before = amounts_find(&quota->used, name);
        if (before->nano + more.rows[i].q.nano <= bound->nano)
            continue;
        amounts_set(&requested, name, more.rows[i].q);
        amounts_set(&used, name, *before);
        amounts_set(&hard, name, *bound);
    }
    return !requested.n || refuse(w, arena_printf(w->arena, "exceeded quota: %s, requested: %s, used: %s, limited: %s", quota->name,
                                                  amounts_text(&requested, w->arena), amounts_text(&used, w->arena),
                                                  amounts_text(&hard, w->arena)));
}

bool quota_admit(struct object_write *w)
{
    struct quotas *q = w->server->quotas;
    if (!(w->kind->flags & KIND_NAMESPACED) || (w->old && (!quota_usage_reads(w->kind) || strcmp(w->subresource, "status") == 0)))
        return true;
    const struct quota_space *space = space_counted(q, w->ns);
    for (uint32_t i = 0; space && i < space->n; i++) {
        const struct quota *quota = &space->quotas[i];
        if (!quota_usage_in_scope(quota->object, w->kind, w->object))
            continue;
        const char *unsaid =
            w->old ? NULL : quota_usage_unsaid(w->arena, json_path(quota->object, "spec", "hard", NULL), w->kind, w->object);
        if (unsaid)
            return refuse(w, arena_printf(w->arena, "failed quota: %s: %s", quota->name, unsaid));
        if (!fits(w, quota))
            return false;
    }
    return true;
}

/* ---- life ---- */

struct quotas *quotas_new(struct apiserver *s)
{
    struct quotas *q = mem_zero(1, sizeof *q);
    q->server = s;
    q->spaces = map_new(sizeof(struct quota_space));
    q->quota_kind = store_kind(s->store, "", "resourcequotas");
    q->timer = loop_timer_new(s->loop, status_due, q);
    spaces_read(q, STATUS_DELAY_MS);
    return q;
}

void quotas_free(struct quotas *q)
{
    if (!q)
        return;
    spaces_forget(q);
    map_free(q->spaces);
    loop_timer_free(q->timer);
    free(q);
}
