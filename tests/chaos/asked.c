#include "asked.h"
#include <stdio.h>
#include "base/clock.h"
#include "base/memory.h"
#include "kube/object.h"

#define KUEUE_OBJECT "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define WORKLOADS KUEUE "namespaces/default/workloads"
#define REQUESTS "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
#define TEMPLATES "/api/v1/namespaces/default/podtemplates"
#define CONSUME "autoscaling.x-k8s.io/consume-provisioning-request"
#define CHECK "scaler"
#define ATTEMPTS_MOST 3 /* the first, and as many more as the config's backoffLimitCount */

enum answer { ACCEPTED = 1, PROVISIONED = 2, FAILED = 4, EXPIRED = 8, REVOKED = 16 };
static const struct {
    enum answer answer;
    const char *type;
} words[] = {{ACCEPTED, "Accepted"}, {PROVISIONED, "Provisioned"}, {FAILED, "Failed"}, {EXPIRED, "BookingExpired"}, {REVOKED, "CapacityRevoked"}};
enum { WORDS = sizeof words / sizeof *words };

struct mirror_request {
    char workload[128];
    unsigned answers; /* bits of enum answer */
    bool deleting;
};
struct asked {
    struct world *world;
    struct kube_watch *requests_watch, *workloads_watch, *pods_watch;
    struct map *requests;  /* name -> struct mirror_request */
    struct map *consumed;  /* name of a Workload -> struct consumed */
    struct map *standing;  /* name of a pod -> struct standing_pod */
    struct arena *arena;
    struct asked_counts counts;
};
struct consumed {
    char request[160]; /* that its pods are to consume; "" = none */
    char first[160];   /* the same when it was admitted. WHY  who runs starts pods as his job was started, whatever is asked later */
    bool admitted;
    bool gave_up;      /* its machines did not come in time */
};
struct standing_pod { /* it has a node, and nobody has ended it */
    char workload[128];
    int64_t since_ms;
};

/* ---- the mirror ---- */

/* A new request comes when the one before it has failed, or is gone. */
static void check_alone(struct asked *s, const char *name, const struct mirror_request *r)
{
    size_t at = 0;
    struct bytes key;
    for (const struct mirror_request *o; (o = map_next(s->requests, &at, &key));)
        if (o != r && !o->deleting && text_equal(o->workload, r->workload) && !(o->answers & (FAILED | EXPIRED)))
            world_broken(s->world, "%s was asked for, while %.*s was neither answered with no nor deleted", name, (int)key.n, key.data);
}

static void on_request(void *arg, enum kube_event event, struct bytes raw)
{
    struct asked *s = arg;
    arena_reset(s->arena);
    const struct json *request = json_parse(s->arena, raw, NULL, NULL);
    const char *name = object_meta(request, "name");
    if (event == KUBE_DELETED) {
        map_remove(s->requests, bytes_of(name));
        return;
    }
    bool is_new = !map_find_text(s->requests, name);
    struct mirror_request *r = map_put(s->requests, bytes_of(name), NULL);
    unsigned were = r->answers;
    snprintf(r->workload, sizeof r->workload, "%s", object_controller(request, "name"));
    r->deleting = object_deleting(request);
    r->answers = 0;
    for (int i = 0; i < WORDS; i++)
        r->answers |= object_condition_true(request, words[i].type) ? words[i].answer : 0;
    s->counts.made_n += is_new;
    s->counts.provisioned_n += (r->answers & PROVISIONED) && !(were & PROVISIONED);
    s->counts.failed_n += (r->answers & (FAILED | EXPIRED | REVOKED)) && !(were & (FAILED | EXPIRED | REVOKED));
    if (is_new)
        check_alone(s, name, r);
}

static const struct json *entry_named(const struct json *workload, const char *name)
{
    JSON_EACH (check, json_path(workload, "status", "admissionChecks", NULL))
        if (text_equal(json_get_text(check, "name", ""), name))
            return check;
    return NULL;
}

static const struct json *entry_of(const struct json *workload)
{
    return entry_named(workload, CHECK);
}

static void on_pod(void *arg, enum kube_event event, struct bytes raw)
{
    struct asked *s = arg;
    arena_reset(s->arena);
    const struct json *pod = json_parse(s->arena, raw, NULL, NULL);
    const char *name = object_meta(pod, "name"), *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    bool has_node = *json_text(json_path(pod, "spec", "nodeName", NULL), "") != '\0';
    if (event == KUBE_DELETED || !has_node || object_deleting(pod) || text_equal(phase, "Succeeded") || text_equal(phase, "Failed")) {
        map_remove(s->standing, bytes_of(name));
        return;
    }
    struct standing_pod *p = map_put(s->standing, bytes_of(name), NULL);
    snprintf(p->workload, sizeof p->workload, "%s", object_annotation(pod, "kueue.x-k8s.io/workload"));
    p->since_ms = p->since_ms ? p->since_ms : loop_now_ms(s->world->loop);
}

/* Who gives up its quota since machines did not come has nobody who stands on one; 3 s: those that come at that moment. */
static void check_gave_up(struct asked *s, const char *workload)
{
    size_t at = 0;
    struct bytes key;
    for (const struct standing_pod *p; (p = map_next(s->standing, &at, &key));)
        if (text_equal(p->workload, workload) && loop_now_ms(s->world->loop) - p->since_ms > 3000)
            world_broken(s->world, "the machines of %s did not come, and its pod %.*s stands on one", workload, (int)key.n, key.data);
    s->counts.gave_up_n++;
}

static void on_workload(void *arg, enum kube_event event, struct bytes raw)
{
    struct asked *s = arg;
    arena_reset(s->arena);
    const struct json *workload = json_parse(s->arena, raw, NULL, NULL);
    const char *name = object_meta(workload, "name");
    if (event == KUBE_DELETED) {
        map_remove(s->consumed, bytes_of(name));
        return;
    }
    struct consumed *c = map_put(s->consumed, bytes_of(name), NULL);
    const struct json *update = json_item(json_get(entry_of(workload), "podSetUpdates"), 0);
    snprintf(c->request, sizeof c->request, "%s", json_get_text(json_get(update, "annotations"), CONSUME, ""));
    bool was_admitted = c->admitted;
    c->admitted = object_condition_true(workload, "Admitted") && !object_condition_true(workload, "Evicted");
    if (c->admitted && !was_admitted)
        memcpy(c->first, c->request, sizeof c->first);
    bool gave_up = c->gave_up;
    c->gave_up = text_equal(json_get_text(entry_named(workload, "machines"), "state", ""), "Retry");
    if (c->gave_up && !gave_up)
        check_gave_up(s, name);
}

struct asked *asked_new(struct world *w)
{
    struct asked *s = mem_zero(1, sizeof *s);
    s->world = w;
    s->requests = map_new(sizeof(struct mirror_request));
    s->consumed = map_new(sizeof(struct consumed));
    s->standing = map_new(sizeof(struct standing_pod));
    s->arena = arena_new();
    s->requests_watch = kube_watch_new(
        w->quiet_client,
        &(struct kube_watch_config){.path = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests", .on_event = on_request, .arg = s});
    s->workloads_watch = kube_watch_new(
        w->quiet_client, &(struct kube_watch_config){.path = KUEUE "workloads", .on_event = on_workload, .arg = s});
    s->pods_watch = kube_watch_new(w->quiet_client, &(struct kube_watch_config){.path = "/api/v1/pods", .on_event = on_pod, .arg = s});
    return s;
}

void asked_free(struct asked *s)
{
    kube_watch_free(s->requests_watch);
    kube_watch_free(s->workloads_watch);
    kube_watch_free(s->pods_watch);
    map_free(s->requests);
    map_free(s->consumed);
    map_free(s->standing);
    arena_free(s->arena);
    free(s);
}

struct asked_counts asked_counts(const struct asked *s)
{
    return s->counts;
}

void asked_pod_starts(struct world *w, const char *pod, const struct json *metadata)
{
    const char *workload = json_get_text(json_get(metadata, "annotations"), "kueue.x-k8s.io/workload", "");
    const char *request = json_get_text(json_get(metadata, "annotations"), CONSUME, "");
    const struct consumed *c = map_find_text(w->asked_for->consumed, workload);
    w->asked_for->counts.pods_n += *request != '\0';
    if (c && c->admitted && !text_equal(c->request, request) && !text_equal(c->first, request))
        world_broken(w, "%s starts for request '%s', and its Workload has '%s', and had '%s' when it was admitted", pod, request,
                     c->request, c->first);
}

/* ---- the autoscaler, and others ---- */

static int pick(struct world *w, uint64_t n)
{
    return (int)random_below(&w->random, n);
}

const char *asked_seed(int at)
{
    static const char *const objects[] = {
        KUEUE_OBJECT "\"ProvisioningRequestConfig\",\"metadata\":{\"name\":\"" CHECK "\"},\"spec\":{\"provisioningClassName\":\"atomic\","
                     "\"managedResources\":[\"nvidia.com/gpu\"],\"retryStrategy\":{\"backoffLimitCount\":2,\"backoffBaseSeconds\":4,"
                     "\"backoffMaxSeconds\":10}}}",
        KUEUE_OBJECT "\"AdmissionCheck\",\"metadata\":{\"name\":\"" CHECK "\"},\"spec\":{\"controllerName\":"
                     "\"kueue.x-k8s.io/provisioning-request\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
                     "\"ProvisioningRequestConfig\",\"name\":\"" CHECK "\"}}}",
        KUEUE_OBJECT "\"AdmissionCheck\",\"metadata\":{\"name\":\"machines\",\"annotations\":{\"capstan.dev/scale-up-timeout\":\"10s\"}},"
                     "\"spec\":{\"controllerName\":\"capstan.dev/scale-up\"}}",
        KUEUE_OBJECT "\"ClusterQueue\",\"metadata\":{\"name\":\"q5\"},\"spec\":{\"namespaceSelector\":{},\"admissionChecksStrategy\":{"
                     "\"admissionChecks\":[{\"name\":\"" CHECK "\"}]},\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],"
                     "\"flavors\":[{\"name\":\"any\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\","
                     "\"nominalQuota\":14}]}]}]}}",
        KUEUE_OBJECT "\"LocalQueue\",\"metadata\":{\"name\":\"team5\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"q5\"}}",
        KUEUE_OBJECT "\"ClusterQueue\",\"metadata\":{\"name\":\"q7\"},\"spec\":{\"namespaceSelector\":{},\"admissionChecksStrategy\":{"
                     "\"admissionChecks\":[{\"name\":\"machines\"}]},\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],"
                     "\"flavors\":[{\"name\":\"any\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\","
                     "\"nominalQuota\":30}]}]}]}}",
        KUEUE_OBJECT "\"LocalQueue\",\"metadata\":{\"name\":\"team7\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"q7\"}}"};
    return (size_t)at < sizeof objects / sizeof *objects ? objects[at] : NULL;
}

static void say(struct world *w, const char *request, unsigned answers)
{
    char now[TIME_TEXT_MAX];
    _cleanup_buf_ struct buf body = {0};
    buf_printf(&body, "{\"status\":{\"provisioningClassDetails\":{\"os\":\"linux\"},\"conditions\":[");
    for (int i = 0, n = 0; i < WORDS; i++)
        if (answers & words[i].answer)
            buf_printf(&body, "%s{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"Said\",\"message\":\"said\",\"lastTransitionTime\":\"%s\"}",
                       n++ ? "," : "", words[i].type, time_format(now, loop_wall_ms(w->loop)));
    buf_printf(&body, "]}}");
    kube_patch(w->quiet_client, KUBE_PATCH_MERGE, arena_printf(w->arena, REQUESTS "/%s/status", request), buf_view(&body), NULL, NULL);
}

/* The first, from a random one on, of which not all has been said; NULL: there is none. */
static const char *some_request(struct world *w, struct mirror_request **ret_request)
{
    struct map *all = w->asked_for->requests;
    size_t at = 0, n = map_count(all), skip = n ? random_below(&w->random, n) : 0;
    struct bytes key;
    for (struct mirror_request *r; (r = map_next(all, &at, &key));) {
        *ret_request = r;
        if (skip-- == 0)
            return arena_text(w->arena, key.data);
    }
    return NULL;
}

void asked_answer(struct world *w)
{
    static const unsigned next[] = {ACCEPTED, PROVISIONED, PROVISIONED, PROVISIONED, FAILED, FAILED};
    static const unsigned after[] = {EXPIRED, REVOKED, FAILED};
    struct mirror_request *r;
    const char *name = some_request(w, &r);
    unsigned one = next[pick(w, 6)], later = after[pick(w, 3)];
    if (name)
        say(w, name, r->answers | ACCEPTED | (r->answers & PROVISIONED ? later : one));
}

static void change_config(struct world *w)
{
    static const char *const classes[] = {"atomic", "atomic", "queued"};
    static const char *const resources[] = {"[\"nvidia.com/gpu\"]", "[\"nvidia.com/gpu\"]", "[\"example.com/none\"]", "[]"};
    const char *class = classes[pick(w, 3)], *managed = resources[pick(w, 4)];
    int zone = pick(w, 3);
    if (pick(w, 3) == 0)
        world_delete(w, KUEUE "provisioningrequestconfigs/" CHECK);
    else if (pick(w, 3) == 0)
        world_post(w, KUEUE "provisioningrequestconfigs", "%s", asked_seed(0));
    else
        world_patch(w, KUEUE "provisioningrequestconfigs/" CHECK,
                    "{\"spec\":{\"provisioningClassName\":\"%s\",\"managedResources\":%s,\"parameters\":{\"zone\":\"z%d\"},\"podSetUpdates\":{"
                    "\"nodeSelector\":[{\"key\":\"kubernetes.io/os\",\"valueFromProvisioningClassDetail\":\"os\"}]}}}",
                    class, managed, zone);
}

static void point_check(struct world *w, const char *config)
{
    world_patch(w, KUEUE "admissionchecks/" CHECK, "{\"spec\":{\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
                                                   "\"ProvisioningRequestConfig\",\"name\":\"%s\"}}}", config);
}

static void demand(struct world *w, const char *checks)
{
    world_patch(w, KUEUE "clusterqueues/q5", "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[%s]}}}", checks);
}

void asked_change(struct world *w)
{
    static const char *const demands[] = {"{\"name\":\"" CHECK "\"}", "{\"name\":\"" CHECK "\"}", "{\"name\":\"" CHECK "\"},{\"name\":\"budget\"}",
                                          "", "{\"name\":\"machines\"}", "{\"name\":\"" CHECK "\"},{\"name\":\"machines\"}"};
    struct mirror_request *r;
    const char *name = some_request(w, &r), *checks = demands[pick(w, 6)];
    int what = pick(w, 5);
    if (what == 0)
        change_config(w);
    else if (what == 1)
        point_check(w, pick(w, 3) ? CHECK : "nothing");
    else if (what == 2)
        demand(w, checks);
    else if (name)
        world_delete(w, arena_printf(w->arena, REQUESTS "/%s", name));
}

void asked_let_all(struct world *w)
{
    size_t at = 0;
    struct bytes key;
    world_post(w, KUEUE "provisioningrequestconfigs", "%s", asked_seed(0));
    point_check(w, CHECK);
    demand(w, "{\"name\":\"" CHECK "\"}");
    for (const struct mirror_request *r; (r = map_next(w->asked_for->requests, &at, &key));)
        if (!(r->answers & (PROVISIONED | FAILED)))
            say(w, key.data, r->answers | ACCEPTED | PROVISIONED);
}

/* ---- rules ---- */

static const struct json *with(const struct json *list, const char *key, const char *value)
{
    JSON_EACH (one, list)
        if (text_equal(object_meta(one, key), value))
            return one;
    return NULL;
}

static void check_request(const struct json *workloads, const struct json *templates, const struct json *request, char *wrong, size_t size)
{
    const struct json *owner = with(workloads, "uid", object_controller(request, "uid"));
    const char *name = object_meta(request, "name"), *dash = strrchr(name, '-');
    int64_t attempt;
    if (object_deleting(request))
        return;
    if (!owner || object_condition_true(owner, "Finished") || object_condition_true(owner, "Evicted"))
        snprintf(wrong, size, "%s is asked for, and its Workload is %s", name, owner ? "over or evicted" : "gone");
    if (!dash || !bytes_int64(bytes_of(dash + 1), &attempt) || attempt < 1 || attempt > ATTEMPTS_MOST)
        snprintf(wrong, size, "%s is of no attempt: there are %d", name, ATTEMPTS_MOST);
    JSON_EACH (set, json_path(request, "spec", "podSets", NULL)) {
        const char *template = json_text(json_path(set, "podTemplateRef", "name", NULL), "");
        const struct json *one = with(templates, "name", template);
        if (!one || !text_equal(object_controller(one, "uid"), object_meta(request, "uid")))
            snprintf(wrong, size, "template %s of %s is %s", template, name, one ? "not its own" : "gone");
    }
}

static void check_template(const struct json *workloads, const struct json *requests, const struct json *one, char *wrong, size_t size)
{
    const char *uid = object_controller(one, "uid");
    bool is_left = !with(workloads, "uid", uid) && !with(requests, "uid", uid);
    if (*object_label(one, "kueue.x-k8s.io/managed") && !object_deleting(one) && is_left)
        snprintf(wrong, size, "template %s is left, and who asked for it is gone", object_meta(one, "name"));
}

/* With quota and a check of ours that is not answered: somebody has asked. */
static void check_workload(const struct json *requests, const struct json *workload, bool has_config, char *wrong, size_t size)
{
    const struct json *entry = entry_of(workload);
    bool waits = entry && object_condition_true(workload, "QuotaReserved") && !object_condition_true(workload, "Evicted") &&
                 !object_condition_true(workload, "Finished") && !object_deleting(workload);
    if (!waits || !has_config)
        return;
    bool asks = false;
    JSON_EACH (request, requests)
        asks |= text_equal(object_controller(request, "uid"), object_meta(workload, "uid"));
    if (!asks && text_equal(json_get_text(entry, "state", ""), "Pending"))
        snprintf(wrong, size, "Workload %s waits for an answer, and has not asked", object_meta(workload, "name"));
}

static bool has_config(struct world *w, struct arena *a)
{
    const struct json *check = with(world_read(w, a, KUEUE "admissionchecks"), "name", CHECK);
    const char *name = json_text(json_path(check, "spec", "parameters", "name", NULL), "");
    return with(world_read(w, a, KUEUE "provisioningrequestconfigs"), "name", name);
}

/* WHY  three times: what just changed is on its way to somebody. */
bool asked_check(struct world *w)
{
    char wrong[512];
    for (int i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        const struct json *workloads = world_read(w, a, WORKLOADS), *requests = world_read(w, a, REQUESTS),
                          *templates = world_read(w, a, TEMPLATES);
        bool there = has_config(w, a);
        wrong[0] = '\0';
        JSON_EACH (request, requests)
            check_request(workloads, templates, request, wrong, sizeof wrong);
        JSON_EACH (one, templates)
            check_template(workloads, requests, one, wrong, sizeof wrong);
        JSON_EACH (workload, workloads)
            check_workload(requests, workload, there, wrong, sizeof wrong);
        if (!wrong[0])
            return true;
        loop_run_for(w->loop, 1500, NULL);
    }
    world_broken(w, "%s", wrong);
    return false;
}
