/* kueue_role.c - which pods of a group are alike, and what Kueue calls them; see kueue_kind.h
 *
 * SOURCE Kueue: annotation kueue.x-k8s.io/role-hash, where its webhook has set one; else the first eight hex digits of the SHA-256 of
 *        what scheduling reads, as JSON: {"spec":{...}}, keys sorted, what is absent null. Members below keep the order in which the
 *        API server writes them.
 */
#include <gnutls/crypto.h>
#include "jobs/kueue/kueue_kind.h"

/* ORDER the members come in the order in which they are set. */
static void set(struct arena *a, struct json *to, const char *key, const struct json *value)
{
    json_set(a, to, key, value ? json_clone(a, value) : json_new(a, JSON_NULL));
}

static struct json *containers_shape(struct arena *a, const struct json *list)
{
    if (!list || !list->n)
        return NULL;
    struct json *shape = json_new(a, JSON_ARRAY);
    JSON_EACH (container, list) {
        struct json *one = json_new(a, JSON_OBJECT), *resources = json_new(a, JSON_OBJECT);
        set(a, one, "ports", json_get(container, "ports"));
        set(a, resources, "requests", json_path(container, "resources", "requests", NULL));
        json_set(a, one, "resources", resources);
        json_append(shape, one);
    }
    return shape;
}

static struct json *spec_shape(struct arena *a, const struct json *spec)
{
    struct json *shape = json_new(a, JSON_OBJECT);
    set(a, shape, "affinity", json_get(spec, "affinity"));
    set(a, shape, "containers", containers_shape(a, json_get(spec, "containers")));
    set(a, shape, "initContainers", containers_shape(a, json_get(spec, "initContainers")));
    static const char *const plain[] = {"nodeSelector", "overhead", "priority", "resourceClaims"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        set(a, shape, plain[i], json_get(spec, plain[i]));
    if (json_get(spec, "resources")) /* of the whole pod: newer than the hash, so only where it is written */
        set(a, shape, "resources", json_path(spec, "resources", "requests", NULL));
    set(a, shape, "runtimeClassName", json_get(spec, "runtimeClassName"));
    set(a, shape, "tolerations", json_get(spec, "tolerations"));
    set(a, shape, "topologySpreadConstraints", json_get(spec, "topologySpreadConstraints"));
    return shape;
}

const char *kueue_role(struct arena *a, const struct json *pod)
{
    const char *known = object_annotation(pod, KUEUE_ROLE_ANNOTATION);
    return *known ? known : kueue_shape(a, pod);
}

const char *kueue_shape(struct arena *a, const struct json *pod)
{
    _cleanup_buf_ struct buf text = {0};
    struct json *shape = json_new(a, JSON_OBJECT);
    json_set(a, shape, "spec", spec_shape(a, json_get(pod, "spec")));
    json_write(&text, shape);
    unsigned char digest[32] = {0};
    (void)gnutls_hash_fast(GNUTLS_DIG_SHA256, text.data, text.n, digest); /* cannot fail for a known digest */
    return arena_printf(a, "%02x%02x%02x%02x", digest[0], digest[1], digest[2], digest[3]);
}

struct json *kueue_pod_template(struct arena *a, const struct json *pod)
{
    struct json *template = json_new(a, JSON_OBJECT), *spec = json_clone(a, json_get(pod, "spec"));
    const struct json *labels = json_path(pod, "metadata", "labels", NULL);
    (void)json_remove(spec, "nodeName");
    (void)json_remove(spec, "schedulingGates");
    if (labels)
        json_set(a, json_ensure_object(a, template, "metadata"), "labels", json_clone(a, labels));
    json_set(a, template, "spec", spec);
    return template;
}

struct json *kueue_pod_set_of(struct arena *a, const char *name, int64_t count, const struct json *pod)
{
    struct json *set_of = kueue_pod_set(a, name, count, kueue_pod_template(a, pod), KUEUE_GROUP_INDEX_LABEL);
    kueue_topology_request(a, set_of, json_path(pod, "metadata", "annotations", NULL), KUEUE_GROUP_INDEX_LABEL);
    return set_of;
}

/* SOURCE Kueue sorts them. */
void kueue_pod_sets_insert(struct json *sets, struct json *set)
{
    size_t at = 0;
    JSON_EACH (one, sets)
        at += strcmp(json_get_text(one, "name", ""), json_get_text(set, "name", "")) < 0;
    json_insert(sets, at, set);
}
