/* admission_lws_pod.c - what the webhook of LeaderWorkerSets writes into their pods, where that operator is not: the embedded server has a
 * controller in its place (jobs/kubeflow/lws.c)
 *
 *   NAME-2     leader of group 2, worker-index 0          LWS_LEADER_ADDRESS=NAME-2.SUBDOMAIN.NAMESPACE
 *   NAME-2-1   its first worker, whose template names it    LWS_GROUP_SIZE, LWS_WORKER_INDEX
 *
 * With an exclusive topology all pods of a group stand in one domain, and those of no other group. There, the workers come when the leader
 * has a node, and follow it by a node selector.
 *
 * SOURCE lws v1, webhook of pods.
 */
#include "base/collections/map.h"
#include "codec/admission/admission_part.h"

#define LWS(word) "leaderworkerset.sigs.k8s.io/" word

/* Behind the last hyphen; -1: no number stands there. */
static int64_t ordinal_of(const char *name)
{
    const char *hyphen = strrchr(name, '-');
    int64_t n;
    return hyphen && bytes_int64(bytes_of(hyphen + 1), &n) && n >= 0 ? n : -1;
}

static bool has_env(const struct json *list, const char *name)
{
    JSON_EACH (env, list)
        if (text_equal(json_get_text(env, "name", ""), name))
            return true;
    return false;
}

/* In front of the container's own, which may use it. */
static void add_env(struct admission *x, struct json *container, const char *name, const char *value)
{
    struct json *list = json_ensure_array(x->arena, container, "env"), *env = json_new(x->arena, JSON_OBJECT);
    if (has_env(list, name))
        return;
    json_set_text(x->arena, env, "name", name);
    json_set_text(x->arena, env, "value", value);
    json_insert(list, 0, env);
}

static const char *key_of(struct admission *x, const char *of, const char *name)
{
    const char *text = AT(x, "%s/%s", of, name);
    return AT(x, "%016llx", (unsigned long long)hash_bytes(text, strlen(text), 0));
}

/* Parts of a group: the leader is in the first, or where it does not count in none. Where all but the leader can be dealt out evenly it is
 * one more in the first. */
static void mark_subgroup(struct admission *x, struct json *spec, struct json *labels, const char *group, int64_t size, int64_t index)
{
    int64_t part;
    bool excluded = text_equal(admission_annotation(x->object, LWS("subgroup-policy-type")), "LeaderExcluded");
    if (!bytes_int64(bytes_of(admission_annotation(x->object, LWS("subgroup-size"))), &part) || part < 1 || (index == 0 && excluded))
        return;
    bool extra = (size - 1) % part == 0 && size % part != 0;
    const char *at = AT(x, "%lld", (long long)(index && extra ? (index - 1) / part : index / part)), *key = key_of(x, group, at),
               *domain = admission_annotation(x->object, LWS("subgroup-exclusive-topology"));
    json_set_text(x->arena, labels, LWS("subgroup-index"), at);
    json_set_text(x->arena, labels, LWS("subgroup-key"), key);
    if (domain[0])
        admission_keep_apart(x, spec, domain, LWS("subgroup-key"), key, NULL);
}

void admission_lws_pod(struct admission *x, struct json *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *set = admission_label(x->object, LWS("name")), *size = admission_annotation(x->object, LWS("size")),
               *leader = admission_annotation(x->object, LWS("leader-name")),
               *name = json_text(json_path(x->object, "metadata", "name", NULL), ""),
               *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "default");
    int64_t ordinal = ordinal_of(name);
    if (!set[0] || !size[0] || ordinal < 0)
        return;
    struct json *labels = json_path(x->object, "metadata", "labels", NULL);
    const char *group = leader[0] ? leader : name;
    if (leader[0]) {
        json_set_text(x->arena, labels, LWS("worker-index"), AT(x, "%lld", (long long)ordinal));
    } else {
        json_set_text(x->arena, labels, LWS("group-index"), AT(x, "%lld", (long long)ordinal));
        json_set_text(x->arena, labels, LWS("group-key"), key_of(x, ns, group));
        if (text_equal(admission_annotation(x->object, LWS("subdomainPolicy")), "UniquePerReplica"))
            json_set_text(x->arena, spec, "subdomain", name);
    }
    int64_t pods_n = 0;
    const char *domain = admission_annotation(x->object, LWS("exclusive-topology"));
    if (domain[0] && admission_label(x->object, LWS("group-key"))[0])
        admission_keep_apart(x, spec, domain, LWS("group-key"), admission_label(x->object, LWS("group-key")), NULL);
    if (bytes_int64(bytes_of(size), &pods_n) && pods_n > 0)
        mark_subgroup(x, spec, labels, group, pods_n, leader[0] ? ordinal : 0);
    const char *address = AT(x, "%s.%s.%s", group, json_get_text(spec, "subdomain", ""), ns),
               *index = admission_label(x->object, LWS("worker-index"));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (container, json_get(spec, lists[i])) {
            add_env(x, container, "LWS_WORKER_INDEX", index);
            add_env(x, container, "LWS_GROUP_SIZE", size);
            add_env(x, container, "LWS_LEADER_ADDRESS", address);
        }
}
