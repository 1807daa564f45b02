#include "apiserver/lifecycle/garbage.h"

#include <stdio.h>

#include "apiserver/apply/object_change.h"
#include "apiserver/lifecycle/namespace.h"
#include "apiserver/store/object.h"
#include "wire/json_reader.h"

#define BATCH 256       /* objects looked at in one turn */
#define NAMESPACE_MS 50 /* between two passes over terminating namespaces */
/* Before a terminating namespace is emptied; kube-controller-manager waits 5 s. WHY  `kubectl delete -f` goes on to name what is in it. */
#define NAMESPACE_GRACE_MS 2000
#define RETRY_MS 1000
#define EVENT_TTL_MS (3600 * 1000) /* kube-apiserver's --event-ttl */

struct event_due {
    int64_t at_ms; /* monotonic: when it may go */
    uint64_t rv;   /* gone only if still the same: an update renews it */
    char *ns, *name;
};
struct garbage {
    struct apiserver *server;
    struct map *owners;     /* uid -> struct map * of dependents, keyed "KIND/NS/NAME" */
    struct map *queue;      /* uids whose owner went or is going; order of arrival */
    struct map *check;      /* "KIND/NS/NAME" of objects whose owners may be absent */
    struct map *namespaces; /* terminating -> int64_t, when they are emptied: monotonic ms */
    struct map *foreground; /* uid -> char * "KIND/NS/NAME" of objects that wait in foreground deletion */
    struct loop_timer *timer;
    bool work_asked;
    uint32_t event_kind, namespace_kind;
    struct event_due *events; /* by time, oldest first from events_at */
    size_t events_n, events_cap, events_at;
};

static void work_ask(struct garbage *g)
{
    if (g->work_asked)
        return;
    g->work_asked = true;
    loop_timer_start(g->timer, 0, 0);
}

/* ---- what an object says about its owners, from its text ---- */

struct facts {
    char uid[STORE_UID_ROOM];
    bool terminating, foreground;
    struct {
        char uid[STORE_UID_ROOM];
    } owners[16];
    uint32_t owners_n;
    struct bytes references; /* metadata.ownerReferences, all of them, in the text; {NULL, 0} = none */
};

static void text_take(struct json_reader *r, char *out, size_t max)
{
    _cleanup_buf_ struct buf scratch = {0};
    struct bytes text;
    if (json_reader_string(r, &scratch, &text) && text.n < max) {
        memcpy(out, text.data, text.n);
        out[text.n] = 0;
    }
}

static void owners_read(struct bytes references, struct facts *f)
{
    struct json_reader r;
    struct bytes key;
    json_reader_init(&r, references);
    if (!json_reader_array(&r))
        return;
    while (json_reader_item(&r)) {
        char uid[STORE_UID_ROOM] = "";
        if (!json_reader_object(&r))
            continue;
        while (json_reader_key(&r, &key)) {
            if (bytes_is(key, "uid"))
                text_take(&r, uid, sizeof uid);
            else
                json_reader_skip(&r);
        }
        if (*uid && f->owners_n < sizeof f->owners / sizeof *f->owners)
            memcpy(f->owners[f->owners_n++].uid, uid, sizeof uid);
    }
}

static void finalizers_read(struct json_reader *r, struct facts *f)
{
    if (!json_reader_array(r))
        return;
    while (json_reader_item(r)) {
        char text[64] = "";
        text_take(r, text, sizeof text);
        f->foreground = f->foreground || strcmp(text, "foregroundDeletion") == 0;
    }
}

/* Before the value of metadata. False: there is none. WHY not beyond where managedFields begin: they stand last, and say nothing here. */
static bool metadata_find(struct json_reader *r, const struct blob *body)
{
    bool has_managed = body->has_parts && body->managed.from < body->managed.to;
    json_reader_init(r, (struct bytes){body->data, has_managed ? body->managed.from : body->n});
    return json_reader_member(r, "metadata");
}

static void facts_read(const struct blob *body, struct facts *f)
{
    struct json_reader r;
    struct bytes key;
    *f = (struct facts){0};
    if (!metadata_find(&r, body) || !json_reader_object(&r))
        return;
    while (json_reader_key(&r, &key)) {
        if (bytes_is(key, "uid")) {
            text_take(&r, f->uid, sizeof f->uid);
        } else if (bytes_is(key, "ownerReferences")) {
            f->references = json_reader_raw(&r);
            owners_read(f->references, f);
        } else if (bytes_is(key, "finalizers")) {
            finalizers_read(&r, f);
        } else {
            f->terminating = f->terminating || bytes_is(key, "deletionTimestamp");
            json_reader_skip(&r);
        }
    }
}

static bool has_uid(const struct blob *body, const char *uid)
{
    struct json_reader r;
    char text[64] = "";
    if (metadata_find(&r, body) && json_reader_member(&r, "uid"))
        text_take(&r, text, sizeof text);
    return *text && strcmp(text, uid) == 0;
}

/* Nobody owns it, nothing holds it, it is not going: as most objects are. */
static bool is_plain(struct blob *body)
{
    struct facts f;
    if (!(body->notes & STORE_NOTE_OWNERS)) {
        facts_read(body, &f);
        body->notes |= STORE_NOTE_OWNERS | (f.owners_n || f.terminating || f.foreground ? 0 : STORE_NOTE_PLAIN);
    }
    return body->notes & STORE_NOTE_PLAIN;
}

/* ---- the index ---- */

static struct map *dependents_of(const struct garbage *g, const char *uid)
{
    struct map **m = map_find_text(g->owners, uid);
    return m ? *m : NULL;
}

static void dependent_add(struct garbage *g, const char *uid, const char *key)
{
    struct map **m = map_put(g->owners, bytes_of(uid), NULL);
    if (!*m)
        *m = map_new(1);
    (void)map_put(*m, bytes_of(key), NULL);
}

static void dependent_remove(struct garbage *g, const char *uid, const char *key)
{
    struct map *m = dependents_of(g, uid);
    if (!m || !map_remove(m, bytes_of(key)))
        return;
    if (map_count(m) == 0) {
        map_free(m);
        map_remove(g->owners, bytes_of(uid));
    }
    if (map_find_text(g->foreground, uid)) {
        (void)map_put(g->queue, bytes_of(uid), NULL); /* it may have waited for this one */
        work_ask(g);
    }
}

static void key_write(struct buf *out, uint32_t kind, const char *ns, const char *name)
{
    buf_clear(out);
    buf_printf(out, "%u/%s/%s", kind, ns, name);
}

/* ---- changes ---- */

static void event_note(struct garbage *g, const struct store_event *event)
{
    MEM_RESERVE(g->events, g->events_cap, g->events_n + 1);
    g->events[g->events_n++] =
        (struct event_due){loop_now_ms(g->server->loop) + EVENT_TTL_MS, event->rv, mem_text(event->ns), mem_text(event->name)};
}

static void foreground_note(struct garbage *g, const struct facts *f, const char *key, bool waits)
{
    char **place = map_find_text(g->foreground, f->uid);
    if (waits && !place) {
        *(char **)map_put(g->foreground, bytes_of(f->uid), NULL) = mem_text(key);
        (void)map_put(g->queue, bytes_of(f->uid), NULL);
    } else if (!waits && place) {
        free(*place);
        map_remove(g->foreground, bytes_of(f->uid));
    }
}

static void namespace_note(struct garbage *g, const char *name, bool ends)
{
    if (!ends)
        (void)map_remove(g->namespaces, bytes_of(name)); /* most never ended */
    else if (!map_find_text(g->namespaces, name))
        *(int64_t *)map_put(g->namespaces, bytes_of(name), NULL) = loop_now_ms(g->server->loop) + NAMESPACE_GRACE_MS;
}

static const struct store_object *stored(const struct garbage *g, const struct kind *k, const char *ns, const char *name)
{
    k = kind_stored(k);
    return store_get(g->server->store, store_kind(g->server->store, k->group, k->plural), ns, name);
}

/* The object that this reference names exists, with that uid. */
static bool owner_exists(const struct garbage *g, struct arena *a, const struct json *reference, const char *ns)
{
    const struct kind *k = object_kind_named(g->server, a, reference);
    const struct store_object *owner =
        k ? stored(g, k, k->flags & KIND_NAMESPACED ? ns : "", json_get_text(reference, "name", "")) : NULL;
    return owner && has_uid(owner->body, json_get_text(reference, "uid", ""));
}

/* As of most that are made: each of its owners is there, and none of them waits for it. */
static bool owners_stand(const struct garbage *g, const struct facts *f, const char *ns)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *owners = json_parse(a, f->references, NULL, NULL);
    JSON_EACH (o, owners)
        if (!owner_exists(g, a, o, ns) || map_find_text(g->foreground, json_get_text(o, "uid", "")))
            return false;
    return owners != NULL;
}

static void links_seen(struct garbage *g, uint32_t kind, const struct store_event *event)
{
    struct facts now = {0}, before = {0};
    _cleanup_buf_ struct buf key = {0};
    key_write(&key, kind, event->ns, event->name);
    facts_read(event->body, &now);
    if (event->old)
        facts_read(event->old, &before);
    bool gone = event->type == STORE_DELETED;
    bool changed = now.owners_n != before.owners_n || memcmp(now.owners, before.owners, sizeof now.owners) != 0;
    for (uint32_t i = 0; (gone || changed) && i < before.owners_n; i++)
        dependent_remove(g, before.owners[i].uid, key.data);
    for (uint32_t i = 0; !gone && changed && i < now.owners_n; i++)
        dependent_add(g, now.owners[i].uid, key.data);
    if (!gone && now.owners_n && changed && !owners_stand(g, &now, event->ns))
        (void)map_put(g->check, buf_view(&key), NULL);
    foreground_note(g, &now, key.data, !gone && now.terminating && now.foreground);
    if (gone && dependents_of(g, now.uid))
        (void)map_put(g->queue, bytes_of(now.uid), NULL);
    if (kind == g->namespace_kind)
        namespace_note(g, event->name, !gone && now.terminating);
    if (gone && *event->ns && map_find_text(g->namespaces, event->ns) && !loop_timer_running(g->timer))
        loop_timer_start(g->timer, NAMESPACE_MS, 0);
}

static void object_seen(struct garbage *g, uint32_t kind, const struct store_event *event)
{
    bool stays = event->type != STORE_DELETED && kind != g->namespace_kind;
    bool is_kept = event->old && (event->body->notes & STORE_NOTE_KEPT);
    bool was_plain = !event->old || is_kept || is_plain(event->old);
    if (!stays || (!is_kept && !(was_plain && is_plain(event->body))))
        links_seen(g, kind, event);
    if (map_count(g->queue) || map_count(g->check) || (kind == g->namespace_kind && map_count(g->namespaces)))
        work_ask(g);
}

static void observe(void *arg, uint32_t kind, const struct store_event *event)
{
    struct garbage *g = arg;
    if (kind != g->event_kind)
        object_seen(g, kind, event);
    else if (event->type != STORE_DELETED)
        event_note(g, event);
}

/* ---- work ---- */

struct place {
    const struct kind *kind;
    char *ns, *name;
};

static bool place_parse(struct garbage *g, struct arena *a, struct bytes key, struct place *ret_p)
{
    char *text = arena_text_n(a, key.data, key.n);
    char *ns = strchr(text, '/'), *name = ns ? strchr(ns + 1, '/') : NULL;
    if (!name)
        return false;
    *ns++ = *name++ = 0;
    *ret_p = (struct place){object_kind(g->server, (uint32_t)strtoul(text, NULL, 10)), ns, name};
    return ret_p->kind != NULL;
}

/* References to kinds that the server does not know may be right: those owners are not judged. */
static bool owner_known(struct garbage *g, struct arena *a, const struct json *reference)
{
    return object_kind_named(g->server, a, reference) != NULL;
}

/* arg: uids, NULL terminated. */
static int references_cut(void *arg, struct arena *a, struct json *object, struct err *e)
{
    struct json *list = json_path(object, "metadata", "ownerReferences", NULL);
    for (const char **uid = arg; *uid; uid++)
        for (struct json *o = list ? list->first : NULL, *next; o; o = next) {
            next = o->next;
            if (strcmp(json_get_text(o, "uid", ""), *uid) == 0)
                json_remove_item(list, o);
        }
    if (list && list->n == 0)
        json_remove(json_get(object, "metadata"), "ownerReferences");
    return 0;
}

static int references_unblock(void *arg, struct arena *a, struct json *object, struct err *e)
{
    JSON_EACH (o, json_path(object, "metadata", "ownerReferences", NULL))
        json_remove(o, "blockOwnerDeletion");
    return 0;
}

/* One of those that this object owns waits for its own dependents: they may be a circle, in which everybody would wait. */
static bool dependents_wait(struct garbage *g, struct arena *a, const char *uid)
{
    struct map *m = dependents_of(g, uid);
    size_t at = 0;
    struct bytes key;
    while (m && map_next(m, &at, &key)) {
        struct place p;
        const struct json *dependent = place_parse(g, a, key, &p) ? object_read(g->server, a, p.kind, p.ns, p.name) : NULL;
        if (map_find_text(g->foreground, json_text(json_path(dependent, "metadata", "uid", NULL), "")))
            return true;
    }
    return false;
}

/* One object whose owners may be gone: deleted when none is left that stays, else the references to the others are cut, those that wait
 * for it among them. SOURCE Kubernetes' garbage collector */
static void dependent_judge(struct garbage *g, struct bytes key, bool owner_in_foreground)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct place p;
    struct err e = {0};
    const struct store_object *object = place_parse(g, a, key, &p) ? stored(g, p.kind, p.ns, p.name) : NULL;
    struct facts f = {0};
    if (object)
        facts_read(object->body, &f);
    const struct json *owners = f.references.n && !f.terminating ? json_parse(a, f.references, NULL, NULL) : NULL;
    uint32_t alive_n = 0, others_n = 0;
    if (!owners || !owners->n)
        return;
    const char **others = arena_zero(a, owners->n + 1u, sizeof *others); /* gone, or waiting for this one */
    JSON_EACH (o, owners) {
        const char *uid = json_get_text(o, "uid", "");
        if (owner_exists(g, a, o, p.ns) ? !map_find_text(g->foreground, uid) : !owner_known(g, a, o))
            alive_n++;
        else
            others[others_n++] = uid;
    }
    struct delete_options options = {.grace_seconds = -1,
                                     .propagation = owner_in_foreground ? "Foreground" : "Background"};
    bool gone;
    if (!alive_n && owner_in_foreground && dependents_wait(g, a, f.uid))
        (void)object_modify(g->server, p.kind, p.ns, p.name, a, references_unblock, NULL, WRITE_OWN_STATUS, NULL, &e); /* likewise */
    if (!alive_n)
        (void)object_delete(g->server, p.kind, p.ns, p.name, a, &options, &gone, NULL,
                            &e); /* gone meanwhile is as good */
    else if (others_n)
        (void)object_modify(g->server, p.kind, p.ns, p.name, a, references_cut, others, WRITE_OWN_STATUS, NULL, &e); /* likewise */
}

/* Does a dependent with blockOwnerDeletion still stand? */
static bool blocked(struct garbage *g, const char *uid)
{
    struct map *m = dependents_of(g, uid);
    size_t at = 0;
    struct bytes key;
    bool block = false;
    while (m && !block && map_next(m, &at, &key)) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct place p;
        struct json *object = place_parse(g, a, key, &p) ? object_read(g->server, a, p.kind, p.ns, p.name) : NULL;
        JSON_EACH (o, json_path(object, "metadata", "ownerReferences", NULL))
            block = block ||
                    (strcmp(json_get_text(o, "uid", ""), uid) == 0 && json_get_bool(o, "blockOwnerDeletion", false));
    }
    return block;
}

static void owner_work(struct garbage *g, const char *uid)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct place owner = {0};
    char **place = map_find_text(g->foreground, uid);
    bool foreground = place && place_parse(g, a, bytes_of(*place), &owner);
    struct map *m = dependents_of(g, uid);
    size_t at = 0, n = 0;
    struct bytes key;
    const char **keys = m ? arena_alloc(a, map_count(m) * sizeof *keys) : NULL;
    while (m && map_next(m, &at, &key))
        keys[n++] = arena_text_n(a, key.data, key.n);
    for (size_t i = 0; i < n; i++)
        dependent_judge(g, bytes_of(keys[i]), foreground);
    if (foreground && !blocked(g, uid))
        finalizer_drop(g->server, owner.kind, owner.ns, owner.name, a, "metadata", "foregroundDeletion");
}

static bool queue_pop(struct map *queue, struct arena *a, const char **ret_text)
{
    size_t at = 0;
    struct bytes key;
    if (!map_next(queue, &at, &key))
        return false;
    *ret_text = arena_text_n(a, key.data, key.n);
    map_remove(queue, bytes_of(*ret_text));
    return true;
}

static void work(void *arg)
{
    struct garbage *g = arg;
    g->work_asked = false;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *text;
    for (int i = 0; i < BATCH && queue_pop(g->queue, a, &text); i++)
        owner_work(g, text);
    for (int i = 0; i < BATCH && queue_pop(g->check, a, &text); i++)
        dependent_judge(g, bytes_of(text), false);
    size_t at = 0;
    struct bytes key;
    const int64_t *due_ms;
    while ((due_ms = map_next(g->namespaces, &at, &key))) {
        if (*due_ms <= loop_now_ms(g->server->loop))
            namespace_finish(g->server, arena_text_n(a, key.data, key.n));
    }
    if (map_count(g->queue) || map_count(g->check))
        work_ask(g);
    else if (map_count(g->namespaces) && !loop_timer_running(g->timer))
        loop_timer_start(g->timer, RETRY_MS, 0);
}

/* Cut the ownerReferences to uid now. */
static void orphan(struct garbage *g, const char *uid)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct map *m = dependents_of(g, uid);
    size_t at = 0;
    struct bytes key;
    while (m && map_next(m, &at, &key)) {
        struct place p;
        struct err e = {0};
        if (place_parse(g, a, key, &p))
            (void)object_modify(g->server, p.kind, p.ns, p.name, a, references_cut, (const char *[]){uid, NULL}, WRITE_OWN_STATUS, NULL,
                                &e); /* gone is as good */
    }
}

/* ---- an owner is deleted ---- */

static bool has_dependents(const struct garbage *g, const char *uid)
{
    struct map *m = dependents_of(g, uid);
    return m && map_count(m) > 0;
}

static bool finalizer_add(struct arena *a, struct json *object, const char *name)
{
    struct json *list = json_ensure_array(a, json_get(object, "metadata"), "finalizers");
    JSON_EACH (f, list)
        if (strcmp(json_text(f, ""), name) == 0)
            return false;
    json_append(list, json_new_text(a, name));
    return true;
}

void garbage_propagate(struct apiserver *s, struct arena *a, struct json *object, const struct delete_options *o)
{
    const char *uid = json_get_text(json_get(object, "metadata"), "uid", "");
    if (o->dry_run || !has_dependents(s->garbage, uid))
        return;
    if (strcmp(o->propagation, "Orphan") == 0)
        orphan(s->garbage, uid);
    else if (strcmp(o->propagation, "Foreground") == 0)
        (void)finalizer_add(a, object, "foregroundDeletion");
}

/* ---- Events ---- */

static void event_expire(struct garbage *g, const struct event_due *due)
{
    const struct store_object *o = store_get(g->server->store, g->event_kind, due->ns, due->name);
    const struct kind *k = object_kind(g->server, g->event_kind);
    if (!o || !k || o->rv != due->rv)
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    struct delete_options options = {.grace_seconds = -1, .propagation = "Background"};
    bool gone;
    struct err e = {0};
    (void)object_delete(g->server, k, due->ns, due->name, a, &options, &gone, NULL, &e); /* gone is as good */
}

static void event_due_free(struct event_due *due)
{
    free(due->ns);
    free(due->name);
}

void garbage_tick(struct garbage *g)
{
    int64_t now_ms = loop_now_ms(g->server->loop);
    for (int n = 0; n < BATCH && g->events_at < g->events_n && g->events[g->events_at].at_ms <= now_ms; n++, g->events_at++) {
        event_expire(g, &g->events[g->events_at]);
        event_due_free(&g->events[g->events_at]);
    }
    if (g->events_at > 1024 && g->events_at > g->events_n / 2) {
        memmove(g->events, g->events + g->events_at, (g->events_n - g->events_at) * sizeof *g->events);
        g->events_n -= g->events_at;
        g->events_at = 0;
    }
}

/* ---- life ---- */

static void stored_read(struct garbage *g, const struct kind *k)
{
    uint32_t id = store_kind(g->server->store, k->group, k->plural);
    struct store_cursor *c = store_list(g->server->store, id, NULL, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        struct store_event event = {STORE_ADDED, o->rv, o->ns, o->name, o->body, NULL};
        observe(g, id, &event);
    }
    store_list_free(c);
}

struct garbage *garbage_new(struct apiserver *s)
{
    struct garbage *g = mem_zero(1, sizeof *g);
    g->server = s;
    g->owners = map_new(sizeof(struct map *));
    g->queue = map_new(1);
    g->check = map_new(1);
    g->namespaces = map_new(sizeof(int64_t));
    g->foreground = map_new(sizeof(char *));
    g->timer = loop_timer_new(s->loop, work, g);
    g->event_kind = store_kind(s->store, "", "events");
    g->namespace_kind = store_kind(s->store, "", "namespaces");
    for (uint32_t i = 0; i < kind_count(s->kinds); i++)
        if (!(kind_at(s->kinds, i)->flags & (KIND_REVIEW | KIND_READ_ONLY)))
            stored_read(g, kind_at(s->kinds, i));
    store_observe(s->store, observe, g);
    return g;
}

void garbage_free(struct garbage *g)
{
    if (!g)
        return;
    size_t at = 0;
    struct map **m;
    while ((m = map_next(g->owners, &at, NULL)))
        map_free(*m);
    char **place;
    for (at = 0; (place = map_next(g->foreground, &at, NULL));)
        free(*place);
    map_free(g->foreground);
    map_free(g->owners);
    map_free(g->queue);
    map_free(g->check);
    map_free(g->namespaces);
    loop_timer_free(g->timer);
    for (size_t i = g->events_at; i < g->events_n; i++)
        event_due_free(&g->events[i]);
    free(g->events);
    free(g);
}
