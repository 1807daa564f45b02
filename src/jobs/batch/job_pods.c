/* job_pods.c - a watch of pods, decoded to records in a map by pod key, chained per owner */
#include "jobs/batch/job_pods.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "jobs/batch/claim.h"
#include "kube/object.h"

struct entry {
    struct job_pod pod;
    char *owner, *owner_uid;
    char *news;                /* metadata with labels that nobody has compared with the owner's selector yet; NULL = none */
    uint64_t labels_hash;
    struct entry *next, *prev; /* of the same owner, in order of appearance */
};
struct owner {
    struct entry *first, *last;
    uint32_t n;
};
struct job_pods {
    struct job_pods_config config;
    struct kube_client *client;
    struct kube_watch *watch;
    struct map *entries; /* "ns/name" -> struct entry * */
    struct map *owners;  /* uid -> struct owner */
    struct map *orphans; /* "ns/name" -> char *: metadata of pods that nobody controls, as text */
    struct arena *arena;
};

static void entry_free(struct entry *e)
{
    free(e->pod.ns);
    free(e->pod.name);
    free(e->pod.uid);
    free(e->pod.exit_container);
    free(e->pod.revision);
    free(e->pod.node);
    free(e->owner);
    free(e->owner_uid);
    free(e->news);
    free(e);
}

static void entry_unlink(struct job_pods *p, struct entry *e)
{
    struct owner *o = map_find_text(p->owners, e->owner_uid);
    *(e->prev ? &e->prev->next : &o->first) = e->next;
    *(e->next ? &e->next->prev : &o->last) = e->prev;
    if (--o->n == 0)
        map_remove(p->owners, bytes_of(e->owner_uid));
}

static struct entry *entry_add(struct job_pods *p, struct bytes key, const char *owner_uid)
{
    struct entry *e = mem_zero(1, sizeof *e);
    e->owner_uid = mem_text(owner_uid);
    struct owner *o = map_put(p->owners, bytes_of(owner_uid), NULL);
    e->prev = o->last;
    *(o->last ? &o->last->next : &o->first) = e;
    o->last = e;
    o->n++;
    *(struct entry **)map_put(p->entries, key, NULL) = e;
    return e;
}

static const struct json *controller_of(const struct json *metadata, const char *kind)
{
    JSON_EACH (reference, json_get(metadata, "ownerReferences"))
        if (json_get_bool(reference, "controller", false) && text_equal(json_get_text(reference, "kind", ""), kind))
            return reference;
    return NULL;
}

static enum job_pod_phase phase_of(const struct json *status)
{
    const char *phase = json_get_text(status, "phase", "Pending");
    if (text_equal(phase, "Succeeded"))
        return JOB_POD_SUCCEEDED;
    if (text_equal(phase, "Failed"))
        return JOB_POD_FAILED;
    return text_equal(phase, "Running") ? JOB_POD_RUNNING : JOB_POD_PENDING;
}

static void read_containers(struct job_pod *pod, const struct json *status)
{
    pod->restarts_n = 0;
    pod->exit_code = -1;
    JSON_EACH (container, json_get(status, "containerStatuses")) {
        pod->restarts_n += (int32_t)json_get_int64(container, "restartCount", 0);
        const struct json *ended = json_path(container, "state", "terminated", NULL);
        int64_t code = json_get_int64(ended, "exitCode", 0);
        time_parse(json_bytes(json_get(ended, "finishedAt")), &pod->ended_ms);
        if (code == 0 || pod->exit_code >= 0)
            continue;
        pod->exit_code = (int32_t)code;
        free(pod->exit_container);
        pod->exit_container = mem_text(json_get_text(container, "name", ""));
    }
}

/* The node that it is on, or the only one that its affinity names, as pods of a DaemonSet do. */
static const char *node_of(const struct json *spec)
{
    const struct json *terms = json_path(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                                         "nodeSelectorTerms", NULL);
    const struct json *field = json_item(json_get(json_item(terms, 0), "matchFields"), 0);
    return json_get_text(spec, "nodeName", json_text(json_item(json_get(field, "values"), 0), ""));
}

static void read_details(struct job_pod *pod, const struct json *object)
{
    free(pod->revision);
    free(pod->node);
    pod->revision = mem_text(json_text(json_path(object, "metadata", "labels", "controller-revision-hash", NULL), ""));
    pod->node = mem_text(node_of(json_get(object, "spec")));
    pod->ready_ms = 0;
    JSON_EACH (condition, json_path(object, "status", "conditions", NULL))
        if (text_equal(json_get_text(condition, "type", ""), "Ready"))
            time_parse(json_bytes(json_get(condition, "lastTransitionTime")), &pod->ready_ms);
}

/* Did it fail after its deletion was asked for, and by nobody who disrupts? That is no failure of the work: a job that is suspended
 * deletes its pods, and they stay as long as somebody's finalizer keeps them.
 * SOURCE  metadata.deletionTimestamp: the time of the request and the grace */
static bool is_let_go(const struct job_pod *pod, const struct json *metadata)
{
    int64_t until_ms = 0;
    return pod->deleting && !pod->disrupted && pod->phase == JOB_POD_FAILED &&
           time_parse(json_bytes(json_get(metadata, "deletionTimestamp")), &until_ms) &&
           pod->ended_ms >= until_ms - json_get_int64(metadata, "deletionGracePeriodSeconds", 0) * 1000;
}

static void read_pod(const struct job_pods *p, struct job_pod *pod, const struct json *object)
{
    if (p->config.is_detailed)
        read_details(pod, object);
    const struct json *metadata = json_get(object, "metadata"), *status = json_get(object, "status");
    pod->expected = false;
    pod->phase = phase_of(status);
    pod->deleting = json_is(json_get(metadata, "deletionTimestamp"), JSON_STRING);
    pod->ready = pod->disrupted = false;
    JSON_EACH (condition, json_get(status, "conditions")) {
        bool holds = text_equal(json_get_text(condition, "status", ""), "True");
        pod->ready |= holds && text_equal(json_get_text(condition, "type", ""), "Ready");
        pod->disrupted |= holds && text_equal(json_get_text(condition, "type", ""), "DisruptionTarget");
    }
    int64_t index = -1;
    const struct json *text = json_path(metadata, "annotations", "batch.kubernetes.io/job-completion-index", NULL);
    pod->index = bytes_int64(json_bytes(text), &index) && index >= 0 && index < INT32_MAX ? (int32_t)index : -1;
    time_parse(json_bytes(json_get(metadata, "creationTimestamp")), &pod->created_ms);
    pod->ended_ms = pod->created_ms;
    read_containers(pod, status);
    pod->let_go = is_let_go(pod, metadata);
}

static void entry_gone(struct job_pods *p, struct entry *e, struct bytes key)
{
    entry_unlink(p, e);
    map_remove(p->entries, key);
    p->config.on_change(p->config.arg, e->pod.ns, e->owner ? e->owner : "", e->owner_uid, &e->pod);
    entry_free(e);
}

/* ---- whose is it? ---- */

/* What claims are judged by. */
static const char *claim_text(struct arena *a, const struct json *object)
{
    static const char *const keys[] = {"namespace", "name", "uid", "labels", "ownerReferences"};
    struct json *view = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, view, "metadata");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct json *value = json_path(object, "metadata", keys[i], NULL);
        if (value)
            json_set(a, metadata, keys[i], json_clone(a, value));
    }
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, view);
    return arena_text(a, text.data);
}

/* WHY  a pod that we made has the labels of its template: only what others change needs a look. */
static void note_labels(struct job_pods *p, struct entry *e, const struct json *object, bool is_ours)
{
    _cleanup_buf_ struct buf text = {0};
    const struct json *labels = json_path(object, "metadata", "labels", NULL);
    if (!p->config.on_orphan)
        return;
    if (labels)
        json_write(&text, labels);
    uint64_t hash = hash_bytes(text.data, text.n, 1);
    bool is_news = e->labels_hash ? e->labels_hash != hash : !is_ours;
    e->labels_hash = hash;
    if (!is_news)
        return;
    free(e->news);
    e->news = mem_text(claim_text(p->arena, object));
}

static void orphan_drop(struct job_pods *p, struct bytes key)
{
    char **old = map_find(p->orphans, key);
    if (!old)
        return;
    free(*old);
    map_remove(p->orphans, key);
}

static void note_orphan(struct job_pods *p, enum kube_event event, const struct json *object, struct bytes key)
{
    bool is_orphan = p->config.on_orphan && event != KUBE_DELETED && !*object_controller(object, "uid") && !object_deleting(object) &&
                     phase_of(json_get(object, "status")) <= JOB_POD_RUNNING;
    if (!is_orphan) {
        orphan_drop(p, key);
        return;
    }
    const char *text = claim_text(p->arena, object);
    char **old = map_find(p->orphans, key);
    if (old && text_equal(*old, text))
        return;
    orphan_drop(p, key);
    *(char **)map_put(p->orphans, key, NULL) = mem_text(text);
    p->config.on_orphan(p->config.arg, object_meta(object, "namespace"), json_path(object, "metadata", "labels", NULL));
}

static const char *pod_path(struct work *w, const struct json *pod)
{
    return kube_path(w->arena, "", "v1", "pods", w->ns, object_meta(pod, "name"), NULL);
}

/* The first label of the selector as it stands in claim_text; empty: it has none. WHY  most pods that nobody controls are nobody's for
 * ever: they are told apart without parsing them in each pass of each owner. */
static void first_label(struct buf *out, const struct json *selector)
{
    const struct json *label = json_first(json_get(selector, "matchLabels"));
    if (!label)
        return;
    json_write_string(out, (struct bytes){label->key, label->key_n});
    buf_char(out, ':');
    json_write(out, label);
}

static bool claim_orphans(struct job_pods *p, struct work *w, const struct json *owner, const char *api_version,
                          bool (*is_member)(const char *owner, const char *pod))
{
    size_t at = 0, ns_n = strlen(w->ns);
    struct bytes key;
    bool has_written = false;
    const struct json *selector = claim_selector(w->arena, owner);
    _cleanup_buf_ struct buf label = {0};
    first_label(&label, selector);
    for (char *const *text; (text = map_next(p->orphans, &at, &key));) {
        if (key.n <= ns_n || key.data[ns_n] != '/' || strncmp(key.data, w->ns, ns_n) != 0 || (label.n && !strstr(*text, label.data)))
            continue;
        const struct json *pod = json_parse(w->arena, bytes_of(*text), NULL, NULL);
        if (claim_of(owner, p->config.owner_kind, selector, pod) != CLAIM_ADOPT ||
            (is_member && !is_member(w->name, object_meta(pod, "name"))))
            continue;
        claim_adopt(w, pod_path(w, pod), api_version, p->config.owner_kind, owner, pod);
        has_written = true;
    }
    return has_written;
}

bool job_pods_claim(struct job_pods *p, struct work *w, const struct json *owner, const char *api_version,
                    bool (*is_member)(const char *owner, const char *pod))
{
    bool has_written = claim_orphans(p, w, owner, api_version, is_member);
    const struct owner *o = map_find_text(p->owners, object_meta(owner, "uid"));
    for (struct entry *e = o ? o->first : NULL; e; e = e->next) {
        const struct json *pod = e->news ? json_parse(w->arena, bytes_of(e->news), NULL, NULL) : NULL;
        if (pod && claim_of(owner, p->config.owner_kind, claim_selector(w->arena, owner), pod) == CLAIM_RELEASE) {
            claim_release(w, pod_path(w, pod), owner, pod);
            has_written = true;
            continue; /* until the watch has shown it */
        }
        free(e->news);
        e->news = NULL;
    }
    return has_written;
}

static void pod_changed(struct job_pods *p, const struct json *object, struct bytes key, const struct json *controller)
{
    const struct json *metadata = json_get(object, "metadata");
    struct entry **slot = map_find(p->entries, key);
    struct entry *e = slot ? *slot : NULL;
    const char *uid = json_get_text(metadata, "uid", "");
    const char *owner_uid = json_get_text(controller, "uid", "");
    if (e && ((e->pod.uid && !text_equal(e->pod.uid, uid)) || !text_equal(e->owner_uid, owner_uid))) {
        entry_gone(p, e, key);
        e = NULL;
    }
    if (!e) {
        e = entry_add(p, key, owner_uid);
        e->pod.ns = mem_text(json_get_text(metadata, "namespace", ""));
        e->pod.name = mem_text(json_get_text(metadata, "name", ""));
    }
    if (!e->pod.uid)
        e->pod.uid = mem_text(uid);
    if (!e->owner)
        e->owner = mem_text(json_get_text(controller, "name", ""));
    note_labels(p, e, object, e->pod.expected);
    read_pod(p, &e->pod, object);
    p->config.on_change(p->config.arg, e->pod.ns, e->owner, e->owner_uid, NULL);
}

static void on_event(void *arg, enum kube_event event, struct bytes object)
{
    struct job_pods *p = arg;
    struct json *pod = json_parse(p->arena, object, NULL, NULL);
    const struct json *metadata = json_get(pod, "metadata");
    struct bytes key =
        bytes_of(arena_printf(p->arena, "%s/%s", json_get_text(metadata, "namespace", ""), json_get_text(metadata, "name", "")));
    struct entry **slot = map_find(p->entries, key);
    const struct json *controller = controller_of(metadata, p->config.owner_kind);
    note_orphan(p, event, pod, key);
    if (event == KUBE_DELETED && controller && !object_deleting(pod) && p->config.on_left)
        p->config.on_left(p->config.arg, pod);
    if (event == KUBE_DELETED || !controller) {
        if (slot) {
            if (controller)
                read_pod(p, &(*slot)->pod, pod);
            entry_gone(p, *slot, key);
        }
    } else {
        pod_changed(p, pod, key, controller);
    }
    arena_reset(p->arena);
}

static void on_synced(void *arg)
{
    struct job_pods *p = arg;
    if (p->config.on_synced)
        p->config.on_synced(p->config.arg);
}

struct job_pods *job_pods_new(struct kube_client *c, const struct job_pods_config *config)
{
    struct job_pods *p = mem_zero(1, sizeof *p);
    p->config = *config;
    p->client = c;
    p->entries = map_new(sizeof(struct entry *));
    p->owners = map_new(sizeof(struct owner));
    p->orphans = map_new(sizeof(char *));
    p->arena = arena_new();
    p->watch = kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/pods",
                                                             .label_selector = config->label_selector,
                                                             .on_event = on_event,
                                                             .on_synced = on_synced,
                                                             .arg = p});
    return p;
}

void job_pods_free(struct job_pods *p)
{
    if (!p)
        return;
    kube_watch_free(p->watch);
    size_t at = 0;
    struct bytes key;
    for (struct entry **e; (e = map_next(p->entries, &at, &key));)
        entry_free(*e);
    at = 0;
    for (char **text; (text = map_next(p->orphans, &at, &key));)
        free(*text);
    map_free(p->entries);
    map_free(p->owners);
    map_free(p->orphans);
    arena_free(p->arena);
    free(p);
}

bool job_pods_synced(const struct job_pods *p)
{
    return kube_watch_synced(p->watch);
}

uint32_t job_pods_of(const struct job_pods *p, const char *owner_uid, struct arena *a, const struct job_pod *const **ret_pods)
{
    const struct owner *o = map_find_text(p->owners, owner_uid);
    uint32_t n = 0;
    const struct job_pod **pods = arena_alloc(a, sizeof *pods * ((o ? o->n : 0) + 1));
    for (const struct entry *e = o ? o->first : NULL; e; e = e->next)
        pods[n++] = &e->pod;
    *ret_pods = pods;
    return n;
}

static void expect(struct job_pods *p, struct bytes key, const struct json *pod, int32_t index)
{
    const struct json *metadata = json_get(pod, "metadata");
    if (map_find(p->entries, key))
        return;
    const struct json *owner = json_item(json_get(metadata, "ownerReferences"), 0);
    struct entry *e = entry_add(p, key, json_get_text(owner, "uid", ""));
    e->pod = (struct job_pod){.ns = mem_text(json_get_text(metadata, "namespace", "")),
                              .name = mem_text(json_get_text(metadata, "name", "")),
                              .expected = true,
                              .index = index,
                              .exit_code = -1,
                              .created_ms = loop_wall_ms(kube_client_loop(p->client))};
    if (p->config.is_detailed)
        read_details(&e->pod, pod);
}

static void expectation_drop(struct job_pods *p, struct bytes key)
{
    struct entry **slot = map_find(p->entries, key);
    if (!slot || !(*slot)->pod.expected)
        return;
    struct entry *e = *slot;
    entry_unlink(p, e);
    map_remove(p->entries, key);
    entry_free(e);
}

enum { CREATE_TRIES = 3 };
struct create_call {
    struct job_pods *pods;
    char *key, *owner_key, *path, *body;
    int tries_n;
};

static void ask(struct create_call *call);

/* WHY  a lost answer does not say that there is no pod: another one in its stead would be one too many. Its name is ours, so that it is
 * asked for again, and is made once. */
static void on_created(void *arg, const struct kube_answer *answer)
{
    struct create_call *call = arg;
    bool may_be_made = !answer->is_unsent && (answer->status == 0 || (answer->status >= 500 && answer->status != 503));
    if (may_be_made && call->tries_n < CREATE_TRIES) {
        ask(call);
        return;
    }
    if (answer->code != 0 && answer->code != -E_EXISTS) {
        expectation_drop(call->pods, bytes_of(call->key));
        call->pods->config.on_not_created(call->pods->config.arg, call->owner_key, answer->code, answer->error.text);
    }
    free(call->key);
    free(call->owner_key);
    free(call->path);
    free(call->body);
    free(call);
}

static void ask(struct create_call *call)
{
    call->tries_n++;
    kube_create(call->pods->client, call->path, bytes_of(call->body), on_created, call);
}

void job_pods_create(struct job_pods *p, struct arena *a, const char *owner_key, const struct json *pod, int32_t index)
{
    const struct json *metadata = json_get(pod, "metadata");
    const char *ns = json_get_text(metadata, "namespace", "");
    const char *key = arena_printf(a, "%s/%s", ns, json_get_text(metadata, "name", ""));
    expect(p, bytes_of(key), pod, index);
    struct create_call *call = mem_alloc(sizeof *call);
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, pod);
    *call = (struct create_call){.pods = p,
                                 .key = mem_text(key),
                                 .owner_key = mem_text(owner_key),
                                 .path = mem_text(kube_path(a, "", "v1", "pods", ns, NULL, NULL)),
                                 .body = mem_text(body.data)};
    ask(call);
}
