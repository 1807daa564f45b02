/* What of an object the client may say and what the server decides: identity, generation, the two halves of spec and
 * status. */
#include <stdio.h>

#include "apiserver/apply/object_address.h"
#include "apiserver/apply/object_write.h"
#include "apiserver/lifecycle/certificate_request.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "base/clock.h"

/* obj[key] = a copy of from[key]; removed when from has none. */
static void member_copy(struct arena *a, struct json *object, const struct json *from, const char *key)
{
    const struct json *v = json_get(from, key);
    if (v)
        json_set(a, object, key, json_copy(a, v));
    else
        json_remove(object, key);
}

static void namespace_settle(struct object_write *w)
{
    struct arena *a = w->arena;
    struct json *metadata = json_get(w->object, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    if (*name)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), "kubernetes.io/metadata.name", name);
    if (w->old)
        return;
    struct json *finalizers = json_ensure_array(a, json_ensure_object(a, w->object, "spec"), "finalizers");
    bool have = false;
    JSON_EACH (f, finalizers)
        have = have || strcmp(json_text(f, ""), "kubernetes") == 0;
    if (!have)
        json_append(finalizers, json_new_text(a, "kubernetes"));
    json_set_text(a, json_ensure_object(a, w->object, "status"), "phase", "Active");
}

void object_tell_gates(struct object_write *w)
{
    struct arena *a = w->arena;
    const struct json *gates = json_path(w->object, "spec", "schedulingGates", NULL);
    if (w->old || !object_kind_is(w->kind, "", "pods") || !gates || !gates->n)
        return;
    struct json *status = json_ensure_object(a, w->object, "status");
    if (json_get(status, "conditions"))
        return;
    char now[TIME_TEXT_MAX];
    struct json *gated = json_new(a, JSON_OBJECT);
    json_set_text(a, gated, "type", "PodScheduled");
    json_set_text(a, gated, "status", "False");
    json_set_text(a, gated, "reason", "SchedulingGated");
    json_set_text(a, gated, "message", "Scheduling is blocked due to non-empty scheduling gates");
    json_set_text(a, gated, "lastTransitionTime", time_format(now, loop_wall_ms(w->server->loop)));
    json_append(json_ensure_array(a, status, "conditions"), gated);
}

static void create_settle(struct object_write *w)
{
    struct arena *a = w->arena;
    struct json *metadata = json_get(w->object, "metadata");
    static const char *const cleared[] = {"selfLink",        "deletionTimestamp", "deletionGracePeriodSeconds",
                                          "resourceVersion", "generation",        NULL};
    for (size_t i = 0; cleared[i]; i++)
        json_remove(metadata, cleared[i]);
    char uid[37], now[TIME_TEXT_MAX];
    object_uid(w->server, uid);
    json_set_text(a, metadata, "uid", uid);
    json_set_text(a, metadata, "creationTimestamp", time_format(now, loop_wall_ms(w->server->loop)));
    json_set_text(a, metadata, "resourceVersion",
                  ""); /* set when it is stored; its place is before managedFields, where readers find it soon */
    if (w->kind->flags & KIND_GENERATION)
        json_set_int64(a, metadata, "generation", 1);
    if (w->kind->flags & KIND_NAMESPACED)
        json_set_text(a, metadata, "namespace", w->ns);
    else
        json_remove(metadata, "namespace");
    /* WHY nodes: kubelets register with their status in the same request. */
    if ((w->kind->flags & KIND_STATUS) && !w->internal && !object_kind_is(w->kind, "", "nodes"))
        json_remove(w->object, "status");
    /* SOURCE Kubernetes writes the status of its own kinds even when it is empty; clients read through it unasked. */
    if ((w->kind->flags & KIND_STATUS) && (strcmp(w->kind->group, "apps") == 0 || strcmp(w->kind->group, "batch") == 0))
        (void)json_ensure_object(a, w->object, "status");
    bool waits = object_kind_is(w->kind, "", "pods") || object_kind_is(w->kind, "", "persistentvolumeclaims");
    bool volume = object_kind_is(w->kind, "", "persistentvolumes"); /* nobody binds it here: it is there for who names it */
    if ((waits || volume) && !json_path(w->object, "status", "phase", NULL))
        json_set_text(a, json_ensure_object(a, w->object, "status"), "phase", waits ? "Pending" : "Available");
}

static bool update_check(struct object_write *w, const struct json *metadata, const struct json *old_metadata)
{
    const char *name = json_get_text(old_metadata, "name", "");
    const char *rv = json_get_text(metadata, "resourceVersion", "");
    const char *resource = status_resource(w->arena, w->kind);
    if (*rv && strcmp(rv, "0") != 0 && strcmp(rv, json_get_text(old_metadata, "resourceVersion", "")) != 0)
        return object_write_fail(
            w, 409, "Conflict",
            "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply your changes to "
            "the latest version and try again",
            resource, name);
    const char *uid = json_get_text(metadata, "uid", ""), *old_uid = json_get_text(old_metadata, "uid", "");
    if (*uid && strcmp(uid, old_uid) != 0)
        return object_write_fail(w, 409, "Conflict",
                                 "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in "
                                 "precondition: %.64s, UID in object "
                                 "meta: %s",
                                 resource, name, uid, old_uid);
    return true;
}

static void finalizers_check(struct object_write *w, const struct json *metadata, const struct json *old_metadata)
{
    if (!json_get(old_metadata, "deletionTimestamp") || w->internal)
        return;
    JSON_EACH (f, json_get(metadata, "finalizers")) {
        bool had = false;
        JSON_EACH (o, json_get(old_metadata, "finalizers"))
            had = had || strcmp(json_text(o, ""), json_text(f, "")) == 0;
        if (!had) {
            _cleanup_buf_ struct buf value = {0};
            json_write(&value, f);
            field_error_add(
                &w->errors, FIELD_FORBIDDEN, "metadata.finalizers", NULL,
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{%s}",
                value.data);
        }
    }
}

/* Equal outside metadata and status: what generation counts. */
static bool spec_equal(const struct json *a, const struct json *b)
{
    uint32_t a_n = 0, b_n = 0;
    JSON_EACH (v, b)
        b_n += strcmp(v->key, "metadata") != 0 && strcmp(v->key, "status") != 0;
    JSON_EACH (v, a) {
        if (strcmp(v->key, "metadata") == 0 || strcmp(v->key, "status") == 0)
            continue;
        a_n++;
        if (!json_equal(v, json_get(b, v->key)))
            return false;
    }
    return a_n == b_n;
}

/* SOURCE Kubernetes: the strategies of its own kinds take labels and annotations with a status (deployments annotations only), custom
 * resources nothing but the status. */
static void status_metadata(const struct object_write *w, struct json *kept, const struct json *metadata)
{
    size_t n = strlen(w->kind->group);
    bool own =
        n == 0 || strchr(w->kind->group, '.') == NULL || (text_ends(w->kind->group, ".k8s.io") && !text_ends(w->kind->group, ".x-k8s.io"));
    if (!own || (w->kind->flags & KIND_CUSTOM))
        return;
    if (!object_kind_is(w->kind, "apps", "deployments"))
        member_copy(w->arena, kept, metadata, "labels");
    member_copy(w->arena, kept, metadata, "annotations");
}

/* /status may change status, and of metadata what status_metadata says. */
static void status_half(struct object_write *w)
{
    struct arena *a = w->arena;
    struct json *status = json_get(w->object, "status");
    struct json *metadata = json_get(w->object, "metadata");
    struct json *kept = json_copy(a, w->old);
    struct json *kept_metadata = json_get(kept, "metadata");
    if (json_get(metadata, "managedFields"))
        member_copy(a, kept_metadata, metadata, "managedFields");
    status_metadata(w, kept_metadata, metadata);
    if (status)
        json_set(a, kept, "status", json_copy(a, status));
    else
        json_remove(kept, "status");
    w->object = kept;
}

/* pods/ephemeralcontainers may add to spec.ephemeralContainers, and nothing else. */
static void ephemeral_half(struct object_write *w)
{
    struct json *kept = json_copy(w->arena, w->old);
    const struct json *managed = json_path(w->object, "metadata", "managedFields", NULL);
    if (managed)
        json_set(w->arena, json_get(kept, "metadata"), "managedFields", json_copy(w->arena, managed));
    member_copy(w->arena, json_ensure_object(w->arena, kept, "spec"), json_get(w->object, "spec"), "ephemeralContainers");
    w->object = kept;
}

static bool update_settle(struct object_write *w)
{
    struct arena *a = w->arena;
    struct json *metadata = json_get(w->object, "metadata");
    const struct json *old_metadata = json_get(w->old, "metadata");
    if (!update_check(w, metadata, old_metadata))
        return false;
    if (strcmp(w->subresource, "status") == 0 || strcmp(w->subresource, "approval") == 0)
        status_half(w);
    else if (strcmp(w->subresource, "ephemeralcontainers") == 0)
        ephemeral_half(w);
    else if ((w->kind->flags & KIND_STATUS) && !w->internal)
        member_copy(a, w->object, w->old, "status");
    metadata = json_get(w->object, "metadata");
    finalizers_check(w, metadata, old_metadata);
    static const char *const kept[] = {"uid",  "creationTimestamp", "generation",      "namespace",
                                       "name", "generateName",      "resourceVersion", NULL};
    for (size_t i = 0; kept[i]; i++)
        member_copy(a, metadata, old_metadata, kept[i]);
    if (!w->internal) {
        member_copy(a, metadata, old_metadata, "deletionTimestamp");
        member_copy(a, metadata, old_metadata, "deletionGracePeriodSeconds");
    }
    json_remove(metadata, "selfLink");
    if (!json_get(metadata, "managedFields") && !w->apply)
        member_copy(a, metadata, old_metadata, "managedFields");
    if (object_kind_is(w->kind, "", "namespaces") && !w->internal)
        member_copy(a, w->object, w->old, "spec");
    return true;
}

bool object_settle(struct object_write *w)
{
    if (w->old) {
        if (!update_settle(w))
            return false;
    } else {
        create_settle(w);
    }
    struct json *metadata = json_get(w->object, "metadata");
    static const char *const emptied[] = {"finalizers", "ownerReferences", "labels", "annotations", NULL};
    for (size_t i = 0; emptied[i]; i++) {
        const struct json *v = json_get(metadata, emptied[i]);
        if (v && v->type >= JSON_ARRAY && v->n == 0)
            json_remove(metadata, emptied[i]);
    }
    if (object_kind_is(w->kind, "", "namespaces"))
        namespace_settle(w);
    if (object_kind_is(w->kind, "", "services"))
        object_address_settle(w);
    if (certificate_request_is(w->kind))
        certificate_request_settle(w);
    return w->fail_http == 0;
}

void object_generation(struct object_write *w)
{
    if (w->old && !w->keep_generation && (w->kind->flags & KIND_GENERATION) && strcmp(w->subresource, "status") != 0 &&
        !spec_equal(w->old, w->object)) {
        struct json *metadata = json_get(w->object, "metadata");
        json_set_int64(w->arena, metadata, "generation", json_get_int64(metadata, "generation", 0) + 1);
    }
}
