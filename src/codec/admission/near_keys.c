/* near_keys.c - see near_keys.h
 *
 * SOURCE  Kueue's pkg/controller/constants and pod constants, Volcano's apis, scheduler-plugins, NVIDIA's GPU operator, KAI,
 *         YuniKorn, our own docs/.
 */
#include "codec/admission/near_keys.h"
#include "codec/schema/validate_suggest.h"

enum { NEAR = 2, NEAR_BARE = 1, DEPTH_MOST = 8 }; /* NEAR_BARE: of keys without a domain, which anybody may use */
enum place { AS_LABEL = 1, AS_ANNOTATION = 2 };

static const struct {
    const char *key;
    int places; /* where it is read */
} known[] = {
    {"kueue.x-k8s.io/queue-name", AS_LABEL},
    {"kueue.x-k8s.io/priority-class", AS_LABEL},
    {"kueue.x-k8s.io/max-exec-time-seconds", AS_LABEL},
    {"kueue.x-k8s.io/prebuilt-workload-name", AS_LABEL},
    {"kueue.x-k8s.io/pod-group-name", AS_LABEL},
    {"kueue.x-k8s.io/managed", AS_LABEL},
    {"kueue.x-k8s.io/elastic-job", AS_ANNOTATION},
    {"kueue.x-k8s.io/job-min-parallelism", AS_ANNOTATION},
    {"kueue.x-k8s.io/job-completions-equal-parallelism", AS_ANNOTATION},
    {"kueue.x-k8s.io/pod-group-total-count", AS_ANNOTATION},
    {"kueue.x-k8s.io/pod-group-fast-admission", AS_ANNOTATION},
    {"kueue.x-k8s.io/pod-group-serving", AS_ANNOTATION},
    {"kueue.x-k8s.io/retriable-in-group", AS_ANNOTATION},
    {"kueue.x-k8s.io/podset-required-topology", AS_ANNOTATION},
    {"kueue.x-k8s.io/podset-preferred-topology", AS_ANNOTATION},
    {"kueue.x-k8s.io/podset-unconstrained-topology", AS_ANNOTATION},
    {"kueue.x-k8s.io/podset-slice-required-topology", AS_ANNOTATION},
    {"kueue.x-k8s.io/podset-slice-size", AS_ANNOTATION},
    {"kueue.x-k8s.io/podset-group-name", AS_ANNOTATION},
    {"scheduling.x-k8s.io/pod-group", AS_LABEL},
    {"scheduling.k8s.io/group-name", AS_LABEL | AS_ANNOTATION},
    {"scheduling.volcano.sh/queue-name", AS_LABEL | AS_ANNOTATION},
    {"scheduling.volcano.sh/group-name", AS_LABEL | AS_ANNOTATION},
    {"sla-waiting-time", AS_ANNOTATION},
    {"volcano.sh/preemptable", AS_LABEL | AS_ANNOTATION},
    {"yunikorn.apache.org/app-id", AS_LABEL | AS_ANNOTATION},
    {"yunikorn.apache.org/queue", AS_LABEL | AS_ANNOTATION},
    {"yunikorn.apache.org/task-groups", AS_ANNOTATION},
    {"yunikorn.apache.org/task-group-name", AS_ANNOTATION},
    {"yunikorn.apache.org/schedulingPolicyParameters", AS_ANNOTATION},
    {"capstan.dev/user", AS_LABEL | AS_ANNOTATION},
    {"capstan.dev/hold", AS_ANNOTATION},
    {"capstan.dev/minimum-run-seconds", AS_ANNOTATION},
    {"capstan.dev/refill-seconds", AS_ANNOTATION},
    {"capstan.dev/hung-after-seconds", AS_ANNOTATION},
    {"capstan.dev/restart-when-hung", AS_ANNOTATION},
    {"capstan.dev/backfill", AS_ANNOTATION},
    {"capstan.dev/placement", AS_ANNOTATION},
    {"capstan.dev/move-cost-seconds", AS_ANNOTATION},
    {"capstan.dev/movable", AS_ANNOTATION},
    {"capstan.dev/checkpoint-time", AS_ANNOTATION},
    {"capstan.dev/checkpoint-within-seconds", AS_ANNOTATION},
    {"capstan.dev/run-seconds", AS_ANNOTATION},
    {"capstan.dev/exit-code", AS_ANNOTATION},
    {"capstan.dev/gpu-activity", AS_ANNOTATION},
    {"capstan.dev/gpu-memory", AS_ANNOTATION},
    {"nvidia.com/device-plugin.config", AS_LABEL},
    {"nvidia.com/mig.config", AS_LABEL},
    {"capstan.dev/mig-demand", AS_LABEL},
    {"capstan.dev/mig-layouts", AS_ANNOTATION},
    {"gpu-fraction", AS_LABEL | AS_ANNOTATION},
    {"gpu-fraction-num-devices", AS_LABEL | AS_ANNOTATION},
};
enum { KNOWN_N = sizeof known / sizeof *known };

/* Too far from what is meant to be found by letters. */
static const struct {
    const char *written, *meant;
} also[] = {
    {"kueue.x-k8s.io/queue", "kueue.x-k8s.io/queue-name"},
    {"nvidia/gpu", "nvidia.com/gpu"},
    {"nvidia.com/gpu-count", "nvidia.com/gpu"},
    {"gpu", "nvidia.com/gpu"},
};
/* What containers ask for of GPUs; besides nvidia.com/mig-... */
static const char *const resources[] = {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/gpumem", "nvidia.com/gpucores", "keti.com/mpsgpu"};
enum { ALSO_N = sizeof also / sizeof *also, RESOURCES_N = sizeof resources / sizeof *resources };

struct look {
    struct arena *arena;
    void (*say)(void *context, const char *path, const char *text);
    void *context;
};

static int known_at(const char *key)
{
    for (int i = 0; i < KNOWN_N; i++)
        if (strcmp(key, known[i].key) == 0)
            return i;
    return -1;
}

/* The known one that is meant by it; -1: none, or it is one itself. */
static int meant_by(const char *key)
{
    int best = -1;
    size_t least = NEAR + 1;
    for (int i = 0; i < ALSO_N; i++)
        if (strcmp(key, also[i].written) == 0)
            return known_at(also[i].meant);
    for (int i = 0; i < KNOWN_N; i++) {
        size_t most = strchr(known[i].key, '/') ? NEAR : NEAR_BARE, distance = suggest_distance(key, known[i].key, most);
        if (strcmp(key, known[i].key) == 0)
            return -1;
        if (distance <= most && distance < least) {
            best = i;
            least = distance;
        }
    }
    return best;
}

/* NULL: it is one itself, or none is near. */
static const char *resource_meant(struct arena *a, const char *key)
{
    const char *lower = arena_text_lower(a, key), *best = NULL;
    size_t least = NEAR + 1;
    for (int i = 0; i < ALSO_N; i++)
        if (strcmp(lower, also[i].written) == 0)
            return also[i].meant;
    if (text_starts(lower, "nvidia.com/mig-"))
        return NULL;
    for (int i = 0; i < RESOURCES_N; i++) {
        size_t distance = suggest_distance(lower, resources[i], NEAR);
        if (strcmp(key, resources[i]) == 0)
            return NULL;
        if (strchr(lower, '/') && distance < least) {
            best = resources[i];
            least = distance;
        }
    }
    return best;
}

static void keys_look(const struct look *l, const struct json *keys, const char *path, enum place place)
{
    const char *here = place == AS_LABEL ? "labels" : "annotations", *there = place == AS_LABEL ? "annotations" : "labels";
    JSON_EACH (member, json_is(keys, JSON_OBJECT) ? keys : NULL) {
        const char *at = arena_printf(l->arena, "%s%s[%s]", path, here, member->key);
        int is = known_at(member->key), meant = is < 0 ? meant_by(member->key) : -1;
        if (is >= 0 && !(known[is].places & (int)place))
            l->say(l->context, at, arena_printf(l->arena, "has no effect here: it is read from %s", there));
        else if (meant >= 0)
            l->say(l->context, at, arena_printf(l->arena, "nothing reads it; write %s, if that is meant", known[meant].key));
    }
}

/* A container's limits and requests. */
static void resources_look(const struct look *l, const struct json *container, const char *path)
{
    static const char *const parts[] = {"limits", "requests"};
    for (int i = 0; i < 2; i++)
        JSON_EACH (member, json_path(container, "resources", parts[i], NULL)) {
            const char *meant = member->key ? resource_meant(l->arena, member->key) : NULL;
            if (meant)
                l->say(l->context, arena_printf(l->arena, "%sresources.%s[%s]", path, parts[i], member->key),
                       arena_printf(l->arena, "no node offers it; write %s, if that is meant", meant));
        }
}

static void value_look(const struct look *l, const struct json *v, const char *path, int depth)
{
    const struct json *metadata = json_get(v, "metadata");
    uint32_t index = 0;
    if (metadata && json_is(v, JSON_OBJECT)) {
        const char *at = arena_printf(l->arena, "%smetadata.", path);
        keys_look(l, json_get(metadata, "labels"), at, AS_LABEL);
        keys_look(l, json_get(metadata, "annotations"), at, AS_ANNOTATION);
    }
    if (json_is(v, JSON_OBJECT) && json_is(json_get(v, "resources"), JSON_OBJECT))
        resources_look(l, v, path);
    JSON_EACH (child, v) {
        if (depth >= DEPTH_MOST || child->type < JSON_ARRAY || (json_is(v, JSON_OBJECT) && strcmp(child->key, "metadata") == 0))
            continue;
        if (json_is(v, JSON_ARRAY))
            value_look(l, child, arena_printf(l->arena, "%.*s[%u].", (int)strlen(path) - 1, path, index++), depth + 1);
        else
            value_look(l, child, arena_printf(l->arena, "%s%s.", path, child->key), depth + 1);
    }
}

void near_keys_look(struct arena *a, const struct json *object, void (*say)(void *context, const char *path, const char *text),
                    void *context)
{
    value_look(&(struct look){a, say, context}, object, "", 0);
}
