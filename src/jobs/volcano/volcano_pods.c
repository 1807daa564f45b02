/* volcano_pods.c - one watch of the pods, one queue of what to write: "ns/pod" makes a group, "ns/podgroup-..." removes it
 *
 * The owner of pods is asked for once, before their group is made: it may say how many they are together.
 */
#include "jobs/volcano/volcano_pods.h"
#include <stdlib.h>
#include <strings.h>
#include "base/collections/map.h"
#include "jobs/volcano/vcjob_pods.h"
#include "kube/object_meta.h"
#include "kube/watch.h"
#include "kube/workqueue.h"

#define GROUP_ANNOTATION "scheduling.k8s.io/group-name"
#define MEMBERS_ANNOTATION "scheduling.volcano.sh/group-min-member"
enum { OWNERS_MAX = 4096, ASK_AGAIN_MS = 1000 };

struct volcano_pods {
    struct kube_client *client;
    struct kube_watch *watch;
    struct workqueue *queue;
    struct map *wanted;  /* "ns/pod" -> char *: the pod that needs a PodGroup, as JSON */
    struct map *owners;  /* uid -> struct owner *. LIMIT OWNERS_MAX: then all are forgotten */
    struct map *groups;  /* "ns/podgroup-uid" of ReplicaSets -> uint32_t: pods that are there */
    struct arena *arena; /* reset after each event */
};

/* ---- the group of a pod ---- */

static const struct json *controller_of(const struct json *metadata)
{
    JSON_EACH (owner, json_get(metadata, "ownerReferences"))
        if (json_get_bool(owner, "controller", false))
            return owner;
    return NULL;
}

static const char *group_name(struct arena *a, const struct json *metadata)
{
    const struct json *owner = controller_of(metadata);
    return arena_printf(a, "podgroup-%s", json_get_text(owner ? owner : metadata, "uid", ""));
}

/* SOURCE Volcano: one of two annotations asks for it; what is neither mode is hard, and what is no number no tier. */
static void ask_for_topology(struct arena *a, struct json *spec, const struct json *annotations)
{
    const struct json *mode = json_get(annotations, "volcano.sh/network-topology-mode");
    const struct json *tier = json_get(annotations, "volcano.sh/network-topology-highest-tier");
    int64_t number;
    if (!mode && !tier)
        return;
    struct json *topology = json_ensure_object(a, spec, "networkTopology");
    json_set_text(a, topology, "mode", strcasecmp(json_text(mode, ""), "soft") == 0 ? "soft" : "hard");
    if (bytes_int64(json_bytes(tier), &number) && number >= 0)
        json_set_int64(a, topology, "highestTierAllowed", number);
}

/* What passes from a pod to its group. SOURCE Volcano. */
static void pass_marks(struct arena *a, struct json *to, const struct json *from)
{
    static const char *const annotations[] = {"volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone"};
    static const char *const labels[] = {"volcano.sh/preemptable", "volcano.sh/cooldown-time"};
    const struct json *given = json_get(from, "annotations"), *label = json_get(from, "labels");
    bool fewest = json_get(given, "volcano.sh/jdb-min-available") != NULL;
    const char *budget = fewest ? "volcano.sh/jdb-min-available" : "volcano.sh/jdb-max-unavailable";
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++)
        if (json_get(given, annotations[i]))
            json_set(a, json_ensure_object(a, to, "annotations"), annotations[i], json_clone(a, json_get(given, annotations[i])));
    if (json_get(given, budget))
        json_set(a, json_ensure_object(a, to, "annotations"), budget, json_clone(a, json_get(given, budget)));
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (json_get(label, labels[i]))
            json_set(a, json_ensure_object(a, to, "labels"), labels[i], json_clone(a, json_get(label, labels[i])));
}

static void inherit(struct arena *a, struct json *to, const struct json *owner_annotations)
{
    JSON_EACH (annotation, owner_annotations)
        if (text_starts(annotation->key, "volcano.sh/"))
            json_set(a, json_ensure_object(a, to, "annotations"), annotation->key, json_clone(a, annotation));
}

/* Its own word goes before its owner's. */
static int64_t members_of(const struct json *annotations, const struct json *owner_annotations)
{
    const struct json *said = json_get(annotations, MEMBERS_ANNOTATION);
    int64_t members = 1;
    said = said ? said : json_get(owner_annotations, MEMBERS_ANNOTATION);
    return bytes_int64(json_bytes(said), &members) && members >= 1 ? members : 1;
}

static struct json *group_of(struct arena *a, const struct json *pod, const struct json *owner_annotations)
{
    const struct json *from = json_get(pod, "metadata"), *spec = json_get(pod, "spec"), *owner = controller_of(from);
    const struct json *annotations = json_get(from, "annotations");
    struct json *group = json_new(a, JSON_OBJECT);
    json_set_text(a, group, "apiVersion", "scheduling.volcano.sh/v1beta1");
    json_set_text(a, group, "kind", "PodGroup");
    struct json *metadata = json_ensure_object(a, group, "metadata");
    json_set_text(a, metadata, "name", group_name(a, from));
    json_set_text(a, metadata, "namespace", json_get_text(from, "namespace", ""));
    if (owner)
        json_append(json_ensure_array(a, metadata, "ownerReferences"), json_clone(a, owner));
    else
        json_set(a, metadata, "ownerReferences", job_owner(a, pod, "v1", "Pod"));
    inherit(a, metadata, owner_annotations);
    pass_marks(a, metadata, from);
    int64_t members = members_of(annotations, owner_annotations);
    struct json *to = json_ensure_object(a, group, "spec");
    json_set_int64(a, to, "minMember", members);
    json_set_text(a, to, "queue", json_get_text(annotations, "scheduling.volcano.sh/queue-name", "default"));
    const char *priority_class = json_get_text(spec, "priorityClassName", "");
    if (*priority_class)
        json_set_text(a, to, "priorityClassName", priority_class);
    json_set(a, to, "minResources", job_min_resources(a, spec, members));
    ask_for_topology(a, to, annotations);
    json_set_text(a, json_ensure_object(a, group, "status"), "phase", "Pending");
    return group;
}

/* ---- who owns a pod ---- */

struct owner {
    struct volcano_pods *v;
    char *uid;
    char *annotations; /* as JSON; NULL while they are asked for */
    struct map *waiting; /* "ns/pod": who is looked at again when they are known */
};

static const char *owner_path(struct arena *a, const struct json *owner, const char *ns)
{
    static const struct {
        const char *kind, *group, *plural;
    } kinds[] = {{"ReplicaSet", "apps", "replicasets"},
                 {"DaemonSet", "apps", "daemonsets"},
                 {"StatefulSet", "apps", "statefulsets"},
                 {"Job", "batch", "jobs"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(json_get_text(owner, "kind", ""), kinds[i].kind) &&
            text_equal(json_get_text(owner, "apiVersion", ""), arena_printf(a, "%s/v1", kinds[i].group)))
            return kube_path(a, kinds[i].group, "v1", kinds[i].plural, ns, json_get_text(owner, "name", ""), NULL);
    return NULL;
}

static struct owner *owner_new(struct volcano_pods *v, const char *uid)
{
    struct owner *o = mem_zero(1, sizeof *o);
    *o = (struct owner){.v = v, .uid = mem_text(uid), .waiting = map_new(0)};
    return o;
}

static void owner_free(struct owner *o)
{
    map_free(o->waiting);
    free(o->uid);
    free(o->annotations);
    free(o);
}

static void waiting_look(struct owner *o, int64_t delay_ms)
{
    size_t at = 0;
    struct bytes key;
    while (map_next(o->waiting, &at, &key))
        workqueue_add_after(o->v->queue, key.data, delay_ms); /* keys of maps are NUL terminated */
    map_clear(o->waiting);
}

/* 429: the server has no time now, and has not looked. */
static bool says_nothing(const struct kube_answer *answer)
{
    return answer->status >= 400 && answer->status < 500 && answer->status != 429;
}

/* Who is gone, or may not be read, says nothing; whoever could not be asked is asked again. */
static void on_owner(void *arg, const struct kube_answer *answer)
{
    struct owner *o = arg;
    struct volcano_pods *v = o->v;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *owner = answer->code == 0 ? json_parse(a, answer->body, NULL, NULL) : NULL;
    const struct json *annotations = json_path(owner, "metadata", "annotations", NULL);
    if (answer->code != 0 && !says_nothing(answer)) {
        waiting_look(o, ASK_AGAIN_MS);
        map_remove(v->owners, bytes_of(o->uid));
        owner_free(o);
        return;
    }
    struct buf text = {0};
    if (json_is(annotations, JSON_OBJECT))
        json_write(&text, annotations);
    else
        buf_text(&text, "{}");
    o->annotations = buf_take(&text, NULL);
    waiting_look(o, 0);
}

static void owners_forget(struct volcano_pods *v, bool ends)
{
    size_t at = 0;
    struct bytes key;
    for (struct owner **o; (o = map_next(v->owners, &at, &key));) {
        if (!(*o)->annotations)
            kube_client_forget(v->client, on_owner, *o);
        if (!(*o)->annotations && !ends)
            waiting_look(*o, 0);
        owner_free(*o);
    }
    map_clear(v->owners);
}

/* False: it is asked for, and the pod is looked at again then. */
static bool owner_known(struct volcano_pods *v, struct work *w, const struct json *pod, const struct json **ret_annotations)
{
    const struct json *owner = controller_of(json_get(pod, "metadata"));
    const char *path = owner ? owner_path(w->arena, owner, w->ns) : NULL, *uid = json_get_text(owner, "uid", "");
    *ret_annotations = NULL;
    if (!path)
        return true;
    struct owner **known = map_find_text(v->owners, uid);
    if (known) {
        const char *text = (*known)->annotations;
        *ret_annotations = text ? json_parse(w->arena, bytes_of(text), NULL, NULL) : NULL;
        if (!text)
            (void)map_put((*known)->waiting, bytes_of(w->key), NULL); /* no value */
        return text != NULL;
    }
    if (map_count(v->owners) >= OWNERS_MAX)
        owners_forget(v, false);
    struct owner *o = owner_new(v, uid);
    (void)map_put(o->waiting, bytes_of(w->key), NULL); /* no value */
    *(struct owner **)map_put(v->owners, bytes_of(uid), NULL) = o;
    kube_get(v->client, path, on_owner, o);
    return false;
}

/* ---- what is written ---- */

static void reconcile(void *arg, struct work *w)
{
    struct volcano_pods *v = arg;
    char **text = map_find_text(v->wanted, w->key);
    if (text) {
        const struct json *pod = json_parse(w->arena, bytes_of(*text), NULL, NULL), *owner_annotations;
        if (!owner_known(v, w, pod, &owner_annotations))
            return;
        const struct json *group = group_of(w->arena, pod, owner_annotations);
        const char *name = json_get_text(json_get(group, "metadata"), "name", "");
        struct json *patch = json_new(w->arena, JSON_OBJECT),
                    *metadata = json_ensure_object(w->arena, patch, "metadata");
        json_set_text(w->arena, json_ensure_object(w->arena, metadata, "annotations"), GROUP_ANNOTATION, name);
        work_create(w, kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, NULL, NULL), group);
        work_patch(w, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", w->ns, w->name, NULL), patch);
        return;
    }
    uint32_t *pods_n = map_find_text(v->groups, w->key);
    if (!pods_n || *pods_n > 0)
        return;
    work_delete(w, kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, w->name, NULL), NULL,
                NULL);
    map_remove(v->groups, bytes_of(w->key));
}

/* ---- watching ---- */

static void wanted_forget(struct volcano_pods *v, const char *key)
{
    char **text = map_find_text(v->wanted, key);
    if (!text)
        return;
    free(*text);
    map_remove(v->wanted, bytes_of(key));
}

static void wanted_put(struct volcano_pods *v, const char *key, const struct json *pod)
{
    struct buf text = {0};
    json_write(&text, pod);
    wanted_forget(v, key);
    char **slot = map_put(v->wanted, bytes_of(key), NULL);
    *slot = buf_take(&text, NULL);
    workqueue_add(v->queue, key);
}

/* A ReplicaSet of a rollout stays with no pods; its group would wait for ever. */
static void count_pod(struct volcano_pods *v, enum kube_event event, const struct json *metadata)
{
    if (event == KUBE_MODIFIED || !text_equal(json_get_text(controller_of(metadata), "kind", ""), "ReplicaSet"))
        return;
    const char *key =
        arena_printf(v->arena, "%s/%s", json_get_text(metadata, "namespace", ""), group_name(v->arena, metadata));
    uint32_t *pods_n = map_put(v->groups, bytes_of(key), NULL);
    if (event == KUBE_ADDED)
        ++*pods_n;
    else if (*pods_n > 0 && --*pods_n == 0)
        workqueue_add_after(v->queue, key, 1000);
}

/* As pods of jobs are: they come with their group, and no ReplicaSet's group is left when they go. */
static bool is_cared_for(const struct volcano_pods *v, enum kube_event event, struct bytes object)
{
    struct bytes head = object_text_head(object, kube_watch_body(v->watch, object));
    return event != KUBE_DELETED && !map_count(v->wanted) && !memmem(head.data, head.n, "\"ReplicaSet\"", strlen("\"ReplicaSet\"")) &&
           object_text_annotation(object, GROUP_ANNOTATION).n;
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct volcano_pods *v = arg;
    if (is_cared_for(v, event, object))
        return;
    const struct blob *body = kube_watch_body(v->watch, object);
    const struct json *pod = object_parse_lean(v->arena, object, body, false), *metadata = json_get(pod, "metadata");
    const char *key =
        arena_printf(v->arena, "%s/%s", json_get_text(metadata, "namespace", ""), json_get_text(metadata, "name", ""));
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    const char *group = json_text(json_path(metadata, "annotations", GROUP_ANNOTATION, NULL), "");
    count_pod(v, event, metadata);
    if (event == KUBE_DELETED || *group || json_get(metadata, "deletionTimestamp") || text_equal(phase, "Succeeded") ||
        text_equal(phase, "Failed"))
        wanted_forget(v, key);
    else
        wanted_put(v, key, object_parse_lean(v->arena, object, body, true));
    arena_reset(v->arena);
}

/* ---- life ---- */

struct volcano_pods *volcano_pods_new(struct kube_client *c)
{
    struct volcano_pods *v = mem_zero(1, sizeof *v);
    v->client = c;
    v->arena = arena_new();
    v->wanted = map_new(sizeof(char *));
    v->owners = map_new(sizeof(struct owner *));
    v->groups = map_new(sizeof(uint32_t));
    v->queue = workqueue_new(c, reconcile, v);
    v->watch = kube_watch_new(
        c, &(struct kube_watch_config){
               .path = "/api/v1/pods", .field_selector = "spec.schedulerName=volcano", .on_event = on_pod, .arg = v});
    return v;
}

void volcano_pods_free(struct volcano_pods *v)
{
    if (!v)
        return;
    kube_watch_free(v->watch);
    workqueue_free(v->queue);
    size_t at = 0;
    struct bytes key;
    for (char **text; (text = map_next(v->wanted, &at, &key));)
        free(*text);
    map_free(v->wanted);
    owners_forget(v, true);
    map_free(v->owners);
    map_free(v->groups);
    arena_free(v->arena);
    free(v);
}
