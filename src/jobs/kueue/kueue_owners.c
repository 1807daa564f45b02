/* kueue_owners.c - what is known of queued jobs as owners: of Workloads, of other jobs, of pods */
#include "jobs/kueue/kueue_served.h"
#include "wire/json_reader.h"

const struct served *kueue_served_named(const struct kueue_kinds *k, const char *kind)
{
    for (uint32_t i = 0; i < k->served_n; i++)
        if (strcmp(kind, k->served[i].kind->kind) == 0)
            return &k->served[i];
    return NULL;
}

const struct json *kueue_served_job(const struct served *s, const char *ns, const char *name, const char *uid, struct arena *a)
{
    const struct json *job = kube_cache_get(s->cache, ns, name, a);
    return job && strcmp(object_meta(job, "uid"), uid) == 0 ? job : NULL;
}

const struct json *kueue_parent_of(const struct kueue_kinds *k, struct arena *a, const struct json *job, const struct served **ret_served)
{
    const struct served *s = *ret_served = kueue_served_named(k, object_controller(job, "kind"));
    return s ? kueue_served_job(s, object_meta(job, "namespace"), object_controller(job, "name"), object_controller(job, "uid"), a) : NULL;
}

const char *kueue_job_workload_name(const struct queued_kind *k, struct arena *a, const struct json *job)
{
    if (*kueue_prebuilt_name(job))
        return kueue_prebuilt_name(job);
    return kueue_workload_name(a, k->kind, k->group, object_meta(job, "name"), object_meta(job, "uid"));
}

enum kueue_owner kueue_kinds_owner(const struct kueue_kinds *k, const char *kind, const char *ns, const char *name,
                                   const char *uid)
{
    const struct served *s = kueue_served_named(k, kind);
    if (!s)
        return KUEUE_OWNER_FOREIGN;
    if (!kube_cache_synced(s->cache))
        return KUEUE_OWNER_THERE; /* it will be known soon; until then nothing is let go */
    arena_reset(k->scratch);
    const struct json *job = kube_cache_get(s->cache, ns, name, k->scratch);
    if (!job || strcmp(object_meta(job, "uid"), uid) != 0)
        return KUEUE_OWNER_GONE;
    return object_deleting(job) ? KUEUE_OWNER_LEAVING : KUEUE_OWNER_THERE;
}

/* ---- which jobs matter, read from their text ---- */

static bool names_queue(struct json_reader *labels)
{
    struct bytes key, value;
    bool names = false;
    _cleanup_buf_ struct buf scratch = {0};
    while (json_reader_key(labels, &key)) {
        if (!bytes_is(key, KUEUE_QUEUE_LABEL))
            json_reader_skip(labels);
        else
            names = json_reader_string(labels, &scratch, &value) && value.n > 0;
    }
    return names;
}

static bool is_queued_kind(struct bytes name)
{
    size_t i = 0;
    while (i < QUEUED_KINDS_N && !bytes_is(name, queued_kinds[i].kind))
        i++;
    return i < QUEUED_KINDS_N;
}

/* Of one reference: is it the controller, and of a kind that is queued? */
static bool is_queued_controller(struct json_reader *reference)
{
    struct bytes key, kind;
    bool controls = false, is_queued = false;
    _cleanup_buf_ struct buf scratch = {0};
    while (json_reader_key(reference, &key)) {
        if (bytes_is(key, "controller"))
            (void)json_reader_bool(reference, &controls); /* else it stays false */
        else if (bytes_is(key, "kind"))
            is_queued = json_reader_string(reference, &scratch, &kind) && is_queued_kind(kind);
        else
            json_reader_skip(reference);
    }
    return controls && is_queued;
}

static bool metadata_says(struct json_reader *metadata)
{
    struct bytes key;
    bool says = false;
    while (!says && json_reader_key(metadata, &key)) {
        if (bytes_is(key, "labels") && json_reader_object(metadata)) {
            says = names_queue(metadata);
        } else if (bytes_is(key, "ownerReferences") && json_reader_array(metadata)) {
            while (json_reader_item(metadata))
                says |= json_reader_object(metadata) && is_queued_controller(metadata);
        } else if (!bytes_is(key, "labels") && !bytes_is(key, "ownerReferences")) {
            json_reader_skip(metadata);
        }
    }
    return says;
}

bool kueue_owners_keep(struct bytes object)
{
    struct json_reader r;
    struct bytes key;
    json_reader_init(&r, object);
    if (!json_reader_object(&r))
        return false;
    while (json_reader_key(&r, &key)) {
        if (bytes_is(key, "metadata"))
            return json_reader_object(&r) && metadata_says(&r);
        json_reader_skip(&r);
    }
    return false;
}
