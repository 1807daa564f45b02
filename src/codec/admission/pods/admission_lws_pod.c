/* admission_lws_pod.c - what the webhook of LeaderWorkerSets writes into their pods, where that operator is not: the embedded server has a
 * controller in its place (jobs/kubeflow/lws.c)
 *
 *   NAME-2     leader of group 2, worker-index 0          LWS_LEADER_ADDRESS=NAME-2.SUBDOMAIN.NAMESPACE
 *   NAME-2-1   its first worker, whose template names it    LWS_GROUP_SIZE, LWS_WORKER_INDEX
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
        json_set_text(x->arena, labels, LWS("group-key"), AT(x, "%016llx", (unsigned long long)hash_bytes(group, strlen(group), 0)));
        if (text_equal(admission_annotation(x->object, LWS("subdomainPolicy")), "UniquePerReplica"))
            json_set_text(x->arena, spec, "subdomain", name);
    }
    const char *address = AT(x, "%s.%s.%s", group, json_get_text(spec, "subdomain", ""), ns),
               *index = admission_label(x->object, LWS("worker-index"));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (container, json_get(spec, lists[i])) {
            add_env(x, container, "LWS_WORKER_INDEX", index);
            add_env(x, container, "LWS_GROUP_SIZE", size);
            add_env(x, container, "LWS_LEADER_ADDRESS", address);
        }
}
