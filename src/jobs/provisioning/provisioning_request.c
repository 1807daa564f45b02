/* provisioning_request.c - ProvisioningRequests and their PodTemplates; see provisioning_request.h */
#include "jobs/provisioning/provisioning_request.h"
#include <gnutls/crypto.h>

enum { NAME_MOST = 247, OLDER_MOST = 8 };

/* ---- names ---- */

static const char *name_cut(struct arena *a, const char *name)
{
    unsigned char digest[20] = {0};
    if (strlen(name) <= NAME_MOST)
        return name;
    (void)gnutls_hash_fast(GNUTLS_DIG_SHA1, name, strlen(name), digest); /* cannot fail for a known digest */
    return arena_printf(a, "%.*s-%02x%02x%x", NAME_MOST, name, digest[0], digest[1], digest[2] >> 4);
}

const char *provisioning_name(struct arena *a, const char *workload, const char *check, int64_t attempt)
{
    return name_cut(a, arena_printf(a, "%s-%s-%lld", workload, check, (long long)attempt));
}

const char *provisioning_template_name(struct arena *a, const char *request, const char *pod_set)
{
    return name_cut(a, arena_printf(a, "ppt-%s-%s", request, pod_set));
}

/* WHY  the attempts that can be there are tried, not the digits read: of a name that was cut there are none. */
int64_t provisioning_attempt(struct arena *a, const struct json *request, const char *workload, const struct json *state)
{
    int64_t last = json_get_int64(state, "retryCount", 0) + 2;
    for (int64_t n = last; n > 0 && n > last - OLDER_MOST; n--)
        if (strcmp(object_meta(request, "name"), provisioning_name(a, workload, json_get_text(state, "name", ""), n)) == 0)
            return n;
    return 0;
}

bool provisioning_is_current(const struct json *request, const struct json *config)
{
    const struct json *is = json_get(request, "spec"), *wanted = json_get(config, "spec");
    if (strcmp(json_get_text(is, "provisioningClassName", ""), json_get_text(wanted, "provisioningClassName", "")) != 0)
        return false;
    JSON_EACH (parameter, json_get(wanted, "parameters")) {
        const struct json *own = json_path(is, "parameters", parameter->key, NULL);
        if (!own || !json_equal(own, parameter))
            return false;
    }
    return true;
}

/* ---- what is asked for ---- */

static bool asks_for(const struct json *containers, const struct json *resources)
{
    static const char *const lists[] = {"requests", "limits"};
    JSON_EACH (container, containers)
        for (int i = 0; i < 2; i++)
            JSON_EACH (amount, json_path(container, "resources", lists[i], NULL))
                JSON_EACH (resource, resources)
                    if (strcmp(amount->key, json_text(resource, "")) == 0)
                        return true;
    return false;
}

/* Pods of the set that were given quota, if they need what is managed; else 0. */
static int64_t needed_n(const struct json *workload, const struct json *config, const struct json *set)
{
    const struct json *spec = json_path(set, "template", "spec", NULL), *managed = json_path(config, "spec", "managedResources", NULL);
    int64_t count = json_get_int64(set, "count", 1);
    if (managed && managed->n && !asks_for(json_get(spec, "initContainers"), managed) && !asks_for(json_get(spec, "containers"), managed))
        return 0;
    JSON_EACH (assignment, json_path(workload, "status", "admission", "podSetAssignments", NULL))
        if (count > 0 && strcmp(json_get_text(assignment, "name", "main"), json_get_text(set, "name", "main")) == 0)
            return json_get_int64(assignment, "count", count);
    return 0;
}

bool provisioning_is_needed(const struct json *workload, const struct json *config)
{
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL))
        if (needed_n(workload, config, set) > 0)
            return true;
    return false;
}

static bool same(const struct json *x, const struct json *y)
{
    bool no_x = !x || (x->type >= JSON_ARRAY && !x->n), no_y = !y || (y->type >= JSON_ARRAY && !y->n);
    return no_x || no_y ? no_x && no_y : json_equal(x, y);
}

static bool same_requests(const struct json *x, const struct json *y)
{
    const struct json *other = json_first(y);
    if ((x ? x->n : 0) != (y ? y->n : 0))
        return false;
    JSON_EACH (container, x) {
        if (!same(json_path(container, "resources", "requests", NULL), json_path(other, "resources", "requests", NULL)))
            return false;
        other = other->next;
    }
    return true;
}

static bool same_for_scheduling(const struct json *x, const struct json *y)
{
    static const char *const members[] = {"resources", "nodeSelector", "tolerations", "affinity", "resourceClaims"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!same(json_get(x, members[i]), json_get(y, members[i])))
            return false;
    return same_requests(json_get(x, "containers"), json_get(y, "containers")) &&
           same_requests(json_get(x, "initContainers"), json_get(y, "initContainers"));
}

static bool may_merge(const struct json *config, const struct json *x, const struct json *y)
{
    const char *policy = json_get_text(json_get(config, "spec"), "podSetMergePolicy", "");
    const struct json *one = json_get(x, "template"), *other = json_get(y, "template");
    if (strcmp(policy, "IdenticalPodTemplates") == 0)
        return same(one, other);
    return strcmp(policy, "IdenticalWorkloadSchedulingRequirements") == 0 &&
           same_for_scheduling(json_get(one, "spec"), json_get(other, "spec"));
}

const struct provisioning_set *provisioning_set_of(const struct provisioning_set *sets, uint32_t n, const struct json *config,
                                                   const struct json *pod_set)
{
    for (uint32_t i = 0; i < n; i++)
        if (sets[i].pod_set == pod_set || may_merge(config, sets[i].pod_set, pod_set))
            return &sets[i];
    return NULL;
}

struct provisioning_set *provisioning_sets(struct arena *a, const struct json *workload, const struct json *config, uint32_t *ret_n)
{
    const struct json *all = json_path(workload, "spec", "podSets", NULL);
    struct provisioning_set *sets = arena_zero(a, (all ? all->n : 0) + 1u, sizeof *sets);
    uint32_t n = 0;
    JSON_EACH (set, all) {
        int64_t count = needed_n(workload, config, set);
        const struct provisioning_set *like = count > 0 ? provisioning_set_of(sets, n, config, set) : NULL;
        if (like)
            sets[like - sets].count += count;
        else if (count > 0)
            sets[n++] = (struct provisioning_set){json_get_text(set, "name", "main"), set, count};
    }
    *ret_n = n;
    return sets;
}

/* ---- objects ---- */

static struct json *object_new(struct arena *a, const struct json *workload, const char *api_version, const char *kind, const char *name)
{
    struct json *object = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, object, "metadata");
    json_set_text(a, object, "apiVersion", api_version);
    json_set_text(a, object, "kind", kind);
    json_set_text(a, meta, "name", name);
    json_set_text(a, meta, "namespace", object_meta(workload, "namespace"));
    json_set_text(a, json_ensure_object(a, meta, "labels"), PROVISIONING_MANAGED, "true");
    json_set(a, meta, "ownerReferences", job_owner(a, workload, "kueue.x-k8s.io/v1beta2", "Workload"));
    return object;
}

struct json *provisioning_request(struct arena *a, const struct provisioning_check *c, const char *name,
                                  const struct provisioning_set *sets, uint32_t sets_n)
{
    static const char prefix[] = "provreq.kueue.x-k8s.io/";
    const struct json *wanted = json_get(c->config, "spec"), *parameters = json_get(wanted, "parameters");
    struct json *request = object_new(a, c->workload, PROVISIONING_GROUP "/v1", "ProvisioningRequest", name);
    struct json *spec = json_ensure_object(a, request, "spec"), *list = json_ensure_array(a, spec, "podSets");
    json_set_text(a, spec, "provisioningClassName", json_get_text(wanted, "provisioningClassName", ""));
    if (json_is(parameters, JSON_OBJECT))
        json_set(a, spec, "parameters", json_clone(a, parameters));
    JSON_EACH (annotation, json_path(c->workload, "metadata", "annotations", NULL))
        if (text_starts(annotation->key, prefix))
            json_set(a, json_ensure_object(a, spec, "parameters"), annotation->key + strlen(prefix), json_clone(a, annotation));
    for (uint32_t i = 0; i < sets_n; i++) {
        struct json *set = json_new(a, JSON_OBJECT);
        json_set_text(a, json_ensure_object(a, set, "podTemplateRef"), "name", provisioning_template_name(a, name, sets[i].name));
        json_set_int64(a, set, "count", sets[i].count);
        json_append(list, set);
    }
    return request;
}

/* A limit without a request is one. */
static void add_requests(struct arena *a, struct json *containers)
{
    JSON_EACH (container, containers)
        JSON_EACH (limit, json_path(container, "resources", "limits", NULL)) {
            struct json *requests = json_ensure_object(a, json_get(container, "resources"), "requests");
            if (!json_get(requests, limit->key))
                json_set(a, requests, arena_text(a, limit->key), json_clone(a, limit));
        }
}

int provisioning_template(struct arena *a, const struct json *workload, const char *name, const struct provisioning_set *set,
                          const struct kueue_start *start, struct json **ret_template, struct err *e)
{
    const struct json *pods = json_get(set->pod_set, "template");
    const char *conflict = kueue_updates_conflict(a, start, pods);
    if (conflict)
        return err_set(e, E_CONFLICT, "pod set %s: %s", set->name, conflict);
    struct json *object = object_new(a, workload, "v1", "PodTemplate", name);
    struct json *to = json_is(pods, JSON_OBJECT) ? json_clone(a, pods) : json_new(a, JSON_OBJECT);
    struct json *spec = json_ensure_object(a, to, "spec");
    JSON_EACH (label, start->node_labels)
        json_set(a, json_ensure_object(a, spec, "nodeSelector"), label->key, json_clone(a, label));
    if (start->tolerations->n)
        json_set(a, spec, "tolerations", kueue_with_tolerations(a, spec, start));
    add_requests(a, json_get(spec, "initContainers"));
    add_requests(a, json_get(spec, "containers"));
    json_set(a, object, "template", to);
    *ret_template = object;
    return 0;
}
