/* What of an object the client may say and what the server decides: identity, generation, the two halves of spec and
 * status. */

#include "apiserver/apply/object_write.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "base/clock.h"

/* obj[key] = a copy of from[key]; removed when from has none. */
static void member_copy(struct arena *a, struct json *object, const struct json *from, const char *key)
{
    const struct json *v = json_get(from, key);
    if (v && json_equal(json_get(object, key), v))
        return;
    if (v)
        json_set(a, object, key, json_copy(a, v));
    else
        json_remove(object, key);
}

/* WHY   creation times have seconds only; uids that grow let queues keep the order of what was created in one second.
 * SOURCE RFC 9562, UUID version 7: 48 bits of milliseconds, 12 of a counter, 62 random. */
static void object_uid(struct apiserver *s, char text[37])
{
    uint64_t now = (uint64_t)loop_wall_ms(s->loop) << 12, low = random_next(&s->random);
    s->uid_stamp = now > s->uid_stamp ? now : s->uid_stamp + 1;
    uint64_t high = (s->uid_stamp >> 12) << 16 | 0x7000 | (s->uid_stamp & 0xfff);
    low = (low & ~(3ull << 62)) | 1ull << 63;
    for (int i = 0, digit = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        text[i] = dash ? '-' : "0123456789abcdef"[(digit < 16 ? high : low) >> (60 - digit % 16 * 4) & 15];
        digit += !dash;
    }
    text[36] = '\0';
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
    json_set_text(a, metadata, "resourceVersion", ""); /* set when it is stored */
    if (w->kind->flags & KIND_GENERATION)
        json_set_int64(a, metadata, "generation", 1);
    if (w->kind->flags & KIND_NAMESPACED)
        json_set_text(a, metadata, "namespace", w->ns);
    else
        json_remove(metadata, "namespace");
    if ((w->kind->flags & KIND_STATUS) && !object_write_is_own(w) && !w->rules->status_given)
        json_remove(w->object, "status");
    /* SOURCE Kubernetes writes the status of its own kinds even when it is empty; clients read through it unasked. */
    if ((w->kind->flags & KIND_STATUS) && (strcmp(w->kind->group, "apps") == 0 || strcmp(w->kind->group, "batch") == 0))
        (void)json_ensure_object(a, w->object, "status");
    if (w->rules->phase && !json_path(w->object, "status", "phase", NULL))
        json_set_text(a, json_ensure_object(a, w->object, "status"), "phase", w->rules->phase);
}

static bool update_check(struct object_write *w, const struct json *metadata, const struct json *old_metadata)
{
    const char *name = json_get_text(old_metadata, "name", "");
    const char *rv = json_get_text(metadata, "resourceVersion", "");
    if (*rv && strcmp(rv, "0") != 0 && strcmp(rv, json_get_text(old_metadata, "resourceVersion", "")) != 0)
        return object_write_fail(
            w, 409, "Conflict",
            "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply your changes to "
            "the latest version and try again",
            status_resource(w->arena, w->kind), name);
    const char *uid = json_get_text(metadata, "uid", ""), *old_uid = json_get_text(old_metadata, "uid", "");
    if (*uid && strcmp(uid, old_uid) != 0)
        return object_write_fail(w, 409, "Conflict",
                                 "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in "
                                 "precondition: %.64s, UID in object "
                                 "meta: %s",
                                 status_resource(w->arena, w->kind), name, uid, old_uid);
    return true;
}

static void finalizers_check(struct object_write *w, const struct json *metadata, const struct json *old_metadata)
{
    if (!json_get(old_metadata, "deletionTimestamp") || object_write_is_own(w))
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
    struct json *status = json_get(w->object, "status"), *kept = json_new(a, JSON_OBJECT);
    const struct json *metadata = json_get(w->object, "metadata");
    if (status)
        (void)json_remove_item(w->object, status); /* it is there; the rest of this object is not used */
    JSON_EACH (m, w->old) {
        bool is_status = strcmp(m->key, "status") == 0;
        struct json *v = is_status ? take_ptr(status) : json_copy(a, m);
        if (v)
            json_append_member(a, kept, (struct bytes){m->key, m->key_n}, v);
    }
    if (status)
        json_append_member(a, kept, BYTES("status"), status);
    struct json *kept_metadata = json_get(kept, "metadata");
    if (json_get(metadata, "managedFields"))
        member_copy(a, kept_metadata, metadata, "managedFields");
    status_metadata(w, kept_metadata, metadata);
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

/* What of the metadata is the server's stays as it was. */
static void metadata_settle(struct object_write *w, struct json *metadata, const struct json *old_metadata)
{
    struct arena *a = w->arena;
    if (json_equal(metadata, old_metadata))
        return; /* as most patches of a status or a spec leave it */
    finalizers_check(w, metadata, old_metadata);
    static const char *const kept[] = {"uid", "creationTimestamp", "namespace", "name", "generateName", "resourceVersion", NULL};
    for (size_t i = 0; kept[i]; i++)
        member_copy(a, metadata, old_metadata, kept[i]);
    if (!object_write_is_own(w)) {
        member_copy(a, metadata, old_metadata, "generation");
        member_copy(a, metadata, old_metadata, "deletionTimestamp");
        member_copy(a, metadata, old_metadata, "deletionGracePeriodSeconds");
    }
    json_remove(metadata, "selfLink");
    if (!json_get(metadata, "managedFields") && w->as == WRITE_CHECKED)
        member_copy(a, metadata, old_metadata, "managedFields");
}

static bool update_settle(struct object_write *w)
{
    struct json *metadata = json_get(w->object, "metadata");
    const struct json *old_metadata = json_get(w->old, "metadata");
    if (!update_check(w, metadata, old_metadata))
        return false;
    if (strcmp(w->subresource, "status") == 0 || strcmp(w->subresource, "approval") == 0) {
        status_half(w);
    } else if (strcmp(w->subresource, "ephemeralcontainers") == 0) {
        ephemeral_half(w);
    } else {
        if ((w->kind->flags & KIND_STATUS) && !object_write_is_own(w))
            member_copy(w->arena, w->object, w->old, "status");
        metadata_settle(w, metadata, old_metadata);
    }
    return true;
}

/* ORDER  as Kubernetes prints it: what each reader of a text looks for stands before labels, annotations and owners.
 *        What was read apart stands as it was stored, which is so, or as an older program left it. */
static void metadata_order(struct json *metadata)
{
    static const char *const first[] = {"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        struct json *v = json_get(metadata, first[i]);
        if (!v)
            continue;
        (void)json_remove_item(metadata, v); /* it is there */
        json_insert(metadata, at++, v);
    }
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
    if (!w->is_apart)
        metadata_order(metadata);
    static const char *const emptied[] = {"finalizers", "ownerReferences", "labels", "annotations", NULL};
    for (size_t i = 0; emptied[i]; i++) {
        const struct json *v = json_get(metadata, emptied[i]);
        if (v && v->type >= JSON_ARRAY && v->n == 0)
            json_remove(metadata, emptied[i]);
    }
    if (w->rules->settle)
        w->rules->settle(w);
    return w->fail_http == 0;
}

void object_generation(struct object_write *w)
{
    if (w->old && w->as != WRITE_OWN_STATUS && (w->kind->flags & KIND_GENERATION) && strcmp(w->subresource, "status") != 0 &&
        !spec_equal(w->old, w->object)) {
        struct json *metadata = json_get(w->object, "metadata");
        json_set_int64(w->arena, metadata, "generation", json_get_int64(metadata, "generation", 0) + 1);
    }
}
