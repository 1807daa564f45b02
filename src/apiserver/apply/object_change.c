/* Writes that come from inside the server: read-modify-write, create, delete. */
#include "apiserver/apply/object_change.h"

#include <assert.h>
#include <stdio.h>

#include "apiserver/apply/object_write.h"
#include "apiserver/lifecycle/crd.h"
#include "apiserver/lifecycle/garbage.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "base/clock.h"

#define POD_GRACE_SECONDS 30

/* WHY   creation times have seconds only; uids that grow let queues keep the order of what was created in one second.
 * SOURCE RFC 9562, UUID version 7: 48 bits of milliseconds, 12 of a counter, 62 random. */
void object_uid(struct apiserver *s, char text[37])
{
    uint64_t now = (uint64_t)loop_wall_ms(s->loop) << 12, low = random_next(&s->random);
    s->uid_stamp = now > s->uid_stamp ? now : s->uid_stamp + 1;
    uint64_t high = (s->uid_stamp >> 12) << 16 | 0x7000 | (s->uid_stamp & 0xfff);
    low = (low & ~(3ull << 62)) | 1ull << 63;
    snprintf(text, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
             (unsigned)(high & 0xffff), (unsigned)(low >> 48), (unsigned long long)(low & 0xffffffffffffull));
}

static void write_internal(struct object_write *w, struct apiserver *s, const struct kind *k, const char *ns,
                           const char *name, struct arena *a)
{
    struct request_info ri;
    request_info_internal(s, k, k->flags & KIND_NAMESPACED ? ns : "", name, &ri);
    object_write_init(w, &ri, a);
    w->internal = true;
    w->apply = true; /* the server itself is no manager: managedFields stay as they are */
}

int object_modify(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  object_modify_fn fn, void *arg, bool spec_change, struct json **ret_object, struct err *e)
{
    struct object_write w;
    write_internal(&w, s, k, ns, name, a);
    struct json *old = object_read(s, a, k, w.ns, name);
    if (!old)
        return err_set(e, E_NOTFOUND, "%s \"%s\" not found", status_resource(a, k), name);
    w.old = old;
    w.object = json_copy(a, old);
    w.keep_generation = !spec_change;
    int r = fn(arg, a, w.object, e);
    if (r < 0)
        return r;
    if (!object_write_run(&w))
        return object_write_err(&w, e);
    if (ret_object)
        *ret_object = w.object;
    return 0;
}

int object_create(struct apiserver *s, const struct kind *k, struct arena *a, struct json *object, struct err *e)
{
    struct object_write w;
    const char *ns = json_get_text(json_get(object, "metadata"), "namespace", "");
    struct request_info ri;
    request_info_internal(s, k, ns, "", &ri);
    object_write_init(&w, &ri, a);
    const char *api_version = json_get_text(object, "apiVersion", "");
    const char *slash = strchr(api_version, '/');
    const char *version = slash ? slash + 1 : api_version;
    if (kind_version_find(k, version))
        w.version = version;
    w.object = object;
    if (!object_write_decode(&w))
        return object_write_err(&w, e);
    return object_write_run(&w) ? 0 : object_write_err(&w, e);
}

bool object_write_checked(struct http_exchange *x, const struct request_info *ri, struct json *old, struct json *object,
                          struct json **ret_object)
{
    struct object_write w;
    object_write_init(&w, ri, x->request.arena);
    object_write_asked(&w, x);
    w.version = ri->kind->versions[ri->kind->storage].version;
    w.old = old;
    w.object = object;
    if (object_write_decode(&w))
        (void)object_write_run(&w); /* the answer says what failed */
    if (!object_write_answer(x, ri, &w))
        return false;
    *ret_object = w.object;
    return true;
}

/* ---- delete ---- */

static int precondition_check(const struct kind *k, struct arena *a, const struct json *metadata,
                              const struct delete_options *o, struct err *e)
{
    const char *uid = json_get_text(metadata, "uid", ""), *rv = json_get_text(metadata, "resourceVersion", "");
    const char *name = json_get_text(metadata, "name", "");
    if (o->precondition_uid && strcmp(o->precondition_uid, uid) != 0)
        return err_set(e, E_CONFLICT,
                       "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in precondition: %.64s, "
                       "UID in object meta: %s",
                       status_resource(a, k), name, o->precondition_uid, uid);
    if (o->precondition_rv && strcmp(o->precondition_rv, rv) != 0)
        return err_set(
            e, E_CONFLICT,
            "Operation cannot be fulfilled on %s \"%s\": Precondition failed: ResourceVersion in precondition: %.64s, "
            "ResourceVersion in object meta: %s",
            status_resource(a, k), name, o->precondition_rv, rv);
    return 0;
}

/* Grace that this deletion gives: only a pod on a node that still runs has a kubelet that ends it. */
static int64_t grace_seconds(const struct kind *k, const struct json *object, int64_t wanted)
{
    if (!object_kind_is(k, "", "pods"))
        return 0;
    const struct json *spec = json_get(object, "spec");
    const char *phase = json_get_text(json_get(object, "status"), "phase", "");
    if (!*json_get_text(spec, "nodeName", "") || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return 0;
    return wanted >= 0 ? wanted : json_get_int64(spec, "terminationGracePeriodSeconds", POD_GRACE_SECONDS);
}

static void deletion_mark(struct apiserver *s, struct arena *a, const struct kind *k, struct json *object,
                          int64_t grace)
{
    struct json *metadata = json_get(object, "metadata");
    bool first = !json_get(metadata, "deletionTimestamp");
    char text[TIME_TEXT_MAX];
    if (first || grace < json_get_int64(metadata, "deletionGracePeriodSeconds", 0))
        json_set_text(a, metadata, "deletionTimestamp", time_format(text, loop_wall_ms(s->loop) + grace * 1000));
    json_set_int64(a, metadata, "deletionGracePeriodSeconds", grace);
    if (first && (k->flags & KIND_GENERATION))
        json_set_int64(a, metadata, "generation", json_get_int64(metadata, "generation", 0) + 1);
    if (object_kind_is(k, "", "namespaces"))
        json_set_text(a, json_ensure_object(a, object, "status"), "phase", "Terminating");
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

static void propagate(struct apiserver *s, struct arena *a, struct json *object, const struct delete_options *o)
{
    const char *uid = json_get_text(json_get(object, "metadata"), "uid", "");
    if (o->dry_run || !garbage_has_dependents(s->garbage, uid))
        return;
    if (strcmp(o->propagation, "Orphan") == 0)
        garbage_orphan(s->garbage, uid);
    else if (strcmp(o->propagation, "Foreground") == 0)
        (void)finalizer_add(a, object, "foregroundDeletion");
}

void object_remove(struct apiserver *s, uint32_t kind_id, const char *ns, const char *name, struct arena *a, struct json *object)
{
    uint64_t rv = store_next_rv(s->store);
    json_set_text(a, json_get(object, "metadata"), "resourceVersion", arena_printf(a, "%llu", (unsigned long long)rv));
    struct blob *body = object_text(s, object);
    int r = store_delete(s->store, kind_id, ns, name, 0, rv, body, NULL);
    assert(r == 0 && "it was read a moment ago");
    (void)r;
    blob_unref(body);
}

/* ---- what may not be deleted ---- */

/* "team-a, team-b"; NULL: no queue names this one as its parent. */
static const char *child_queues(struct apiserver *s, struct arena *a, const struct kind *k, const char *name)
{
    const char *names = NULL;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, k->group, k->plural), NULL, NULL);
    for (const struct store_object *o; (o = store_list_next(c));) {
        const struct json *queue = object_parse(a, o->body);
        if (strcmp(json_text(json_path(queue, "spec", "parent", NULL), ""), name) == 0)
            names = arena_printf(a, "%s%s%s", names ? names : "", names ? ", " : "", o->name);
    }
    store_list_free(c);
    return names;
}

/* As Volcano's webhook. SOURCE volcano pkg/webhooks/admission/queues */
static int volcano_queue_stays(struct apiserver *s, struct arena *a, const struct kind *k, const struct json *queue,
                               const char *name, struct err *e)
{
    const char *what = "queues.scheduling.volcano.sh";
    if (strcmp(name, "default") == 0 || strcmp(name, "root") == 0)
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: `%s` queue can not be deleted", what, name, name);
    const char *children = child_queues(s, a, k, name);
    if (children)
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: it is the parent of %s: delete these first", what, name, children);
    int64_t running_n = json_get_int64(json_get(queue, "status"), "running", 0);
    if (running_n > 0)
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: %lld of its pod groups run: delete their jobs, or close the queue and wait",
                       what, name, (long long)running_n);
    return 0;
}

static int stays(struct apiserver *s, struct arena *a, const struct kind *k, const struct json *object, const char *name,
                 struct err *e)
{
    static const char *const namespaces[] = {"default", "kube-system", "kube-public"};
    if (object_kind_is(k, "scheduling.volcano.sh", "queues"))
        return volcano_queue_stays(s, a, k, object, name, e);
    for (size_t i = 0; object_kind_is(k, "", "namespaces") && i < sizeof namespaces / sizeof *namespaces; i++)
        if (strcmp(name, namespaces[i]) == 0)
            return err_set(e, E_DENIED, "namespaces \"%s\" is forbidden: this namespace may not be deleted", name);
    return 0;
}

int object_delete(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  const struct delete_options *o, bool *ret_gone, struct json **ret_object, struct err *e)
{
    struct object_write w;
    write_internal(&w, s, k, ns, name, a);
    struct json *old = object_read(s, a, k, w.ns, name);
    if (!old)
        return err_set(e, E_NOTFOUND, "%s \"%s\" not found", status_resource(a, k), name);
    int r = stays(s, a, k, old, name, e);
    if (r < 0 || (r = precondition_check(k, a, json_get(old, "metadata"), o, e)) < 0)
        return r;
    struct json *object = json_copy(a, old);
    int64_t grace = grace_seconds(k, object, o->grace_seconds);
    if (object_terminating(old) && grace > json_get_int64(json_get(old, "metadata"), "deletionGracePeriodSeconds", 0))
        grace =
            json_get_int64(json_get(old, "metadata"), "deletionGracePeriodSeconds", 0); /* may only become shorter */
    propagate(s, a, object, o);
    const struct json *finalizers = json_path(object, "metadata", "finalizers", NULL);
    const struct json *ns_finalizers =
        object_kind_is(k, "", "namespaces") ? json_path(object, "spec", "finalizers", NULL) : NULL;
    bool crd = object_kind_is(k, "apiextensions.k8s.io", "customresourcedefinitions");
    if (ret_object)
        *ret_object = object;
    *ret_gone = grace == 0 && !(finalizers && finalizers->n) && !(ns_finalizers && ns_finalizers->n);
    if (*ret_gone) {
        if (o->dry_run)
            return 0;
        object_remove(s, store_kind(s->store, k->group, k->plural), w.ns, name, a, object);
        if (crd)
            crd_gone(s, object);
        return 0;
    }
    deletion_mark(s, a, k, object, grace);
    w.old = old;
    w.object = object;
    w.keep_generation = true;
    w.dry_run = o->dry_run;
    if (!object_write_run(&w))
        return object_write_err(&w, e);
    if (ret_object)
        *ret_object = w.object;
    return 0;
}
