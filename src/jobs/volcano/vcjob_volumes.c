/* vcjob_volumes.c - spec.volumes of a Volcano Job; see vcjob_volumes.h */
#include "jobs/volcano/vcjob_volumes.h"
#include "base/collections/map.h"
#include "jobs/volcano/vcjob_pods.h"

/* WHY not random: the same in every pass and after a restart, without being written down. */
static const char *claim_name(struct arena *a, const struct json *job, const struct json *volume, uint32_t at)
{
    const char *given = json_get_text(volume, "volumeClaimName", "");
    if (*given)
        return given;
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *seed = arena_printf(a, "%s/%u", object_meta(job, "uid"), at);
    uint64_t hash = hash_bytes(seed, strlen(seed), 0);
    char suffix[13] = "";
    for (int i = 0; i < 12; i++, hash /= 27)
        suffix[i] = letters[hash % 27];
    return arena_printf(a, "%s-pvc-%s", object_meta(job, "name"), suffix);
}

struct json *vcjob_volume_claims(struct arena *a, const struct json *job)
{
    struct json *list = json_new(a, JSON_ARRAY);
    uint32_t at = 0;
    JSON_EACH (volume, json_path(job, "spec", "volumes", NULL)) {
        const struct json *claim = json_get(volume, "volumeClaim");
        const char *name = claim_name(a, job, volume, at++);
        if (!json_is(claim, JSON_OBJECT))
            continue;
        struct json *object = vcjob_object(a, job, "v1", "PersistentVolumeClaim", name);
        struct json *labels = json_ensure_object(a, json_get(object, "metadata"), "labels");
        json_set_text(a, labels, "volcano.sh/job-name", object_meta(job, "name"));
        json_set(a, object, "spec", json_clone(a, claim));
        json_append(list, object);
    }
    return list;
}

uint32_t vcjob_volumes_n(const struct json *job)
{
    const struct json *volumes = json_path(job, "spec", "volumes", NULL);
    return json_is(volumes, JSON_ARRAY) ? volumes->n : 0;
}

const char *vcjob_volume_name(struct arena *a, const struct json *job, uint32_t at)
{
    return claim_name(a, job, json_item(json_path(job, "spec", "volumes", NULL), at), at);
}

static bool has_volume(const struct json *volumes, const char *name)
{
    JSON_EACH (volume, volumes)
        if (strcmp(json_get_text(volume, "name", ""), name) == 0)
            return true;
    return false;
}

static void volume_add(struct arena *a, struct json *pod_spec, const char *claim)
{
    struct json *volumes = json_ensure_array(a, pod_spec, "volumes");
    if (has_volume(volumes, claim))
        return; /* one claim at two paths */
    struct json *volume = json_new(a, JSON_OBJECT);
    json_set_text(a, volume, "name", claim);
    json_set_text(a, json_ensure_object(a, volume, "persistentVolumeClaim"), "claimName", claim);
    json_append(volumes, volume);
}

void vcjob_volumes_mount(struct arena *a, const struct json *job, struct json *pod_spec)
{
    uint32_t at = 0;
    JSON_EACH (volume, json_path(job, "spec", "volumes", NULL)) {
        const char *claim = claim_name(a, job, volume, at++);
        volume_add(a, pod_spec, claim);
        JSON_EACH (container, json_get(pod_spec, "containers")) {
            struct json *mount = json_new(a, JSON_OBJECT);
            json_set_text(a, mount, "name", claim);
            json_set_text(a, mount, "mountPath", json_get_text(volume, "mountPath", ""));
            json_append(json_ensure_array(a, container, "volumeMounts"), mount);
        }
    }
}
