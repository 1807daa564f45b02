/* provisioning.c - one pass over a Workload and its ProvisioningRequests; see provisioning.h
 *
 * ORDER  what the conditions say is written before anything is asked for again; what is no longer wanted is gone before a new request may
 *        have its name; the templates are there before the request that names them, and become its own once it has a uid.
 * WHY    each step writes and leaves: what it wrote comes back by a watch, and the next step follows from that.
 */
#include "jobs/provisioning/provisioning.h"
#include "base/clock.h"
#include "jobs/provisioning/provisioning_request.h"

enum { LEAVING_MS = 1000 }; /* what is going away is looked for again */

struct provisioning {
    struct jobs *jobs;
    struct kube_cache *checks, *configs;
    struct kube_cache *requests;  /* marked by the key of their Workload */
    struct kube_cache *templates; /* marked by the uid of whose they are */
    struct workqueue *workloads, *active;
    bool closing;
};

/* One pass. */
struct pass {
    struct provisioning *p;
    struct work *w;
    const struct json *workload;
    const struct json *requests; /* array of those that the Workload owns */
    int64_t now_ms;
};

static bool ready(const struct provisioning *p)
{
    return !p->closing && p->jobs->workloads && kube_cache_synced(p->jobs->workloads) && kube_cache_synced(p->jobs->flavors) &&
           kube_cache_synced(p->checks) && kube_cache_synced(p->configs) && kube_cache_synced(p->requests) &&
           kube_cache_synced(p->templates);
}

static const char *request_path(const struct pass *x, const char *name)
{
    return kube_path(x->w->arena, PROVISIONING_GROUP, "v1", "provisioningrequests", x->w->ns, name, NULL);
}

static const char *template_path(const struct pass *x, const char *name)
{
    return kube_path(x->w->arena, "", "v1", "podtemplates", x->w->ns, name, NULL);
}

static bool is_of(const struct json *object, const struct json *owner)
{
    return object && owner && strcmp(object_controller(object, "uid"), object_meta(owner, "uid")) == 0;
}

static const struct json *requests_of(const struct provisioning *p, const struct work *w, const struct json *workload)
{
    struct json *list = json_new(w->arena, JSON_ARRAY);
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next_of(p->requests, w->key, &at, &key, &raw)) {
        struct json *request = json_parse(w->arena, raw, NULL, NULL);
        if (is_of(request, workload))
            json_append(list, request);
    }
    return list;
}

/* ---- what is no longer wanted ---- */

static bool drop_request(const struct pass *x, const struct json *request)
{
    if (!object_deleting(request))
        work_delete(x->w, request_path(x, object_meta(request, "name")), object_meta(request, "uid"), NULL);
    return true;
}

/* Nothing of this try stays; templates that a request has go with it. */
static void drop_all(const struct pass *x)
{
    size_t at = 0;
    struct bytes key, raw;
    JSON_EACH (request, x->requests)
        (void)drop_request(x, request);
    while (kube_cache_next_of(x->p->templates, object_meta(x->workload, "uid"), &at, &key, &raw)) {
        const struct json *one = json_parse(x->w->arena, raw, NULL, NULL);
        if (!object_deleting(one))
            work_delete(x->w, template_path(x, object_meta(one, "name")), object_meta(one, "uid"), NULL);
    }
}

/* Those that ask for nothing that is wanted now. True: there are such. */
static bool drop_unused(const struct pass *x, const struct provisioning_check *checks, uint32_t n)
{
    bool found = false;
    JSON_EACH (request, x->requests) {
        bool used = false;
        for (uint32_t i = 0; i < n && !used; i++)
            used = checks[i].request == request;
        if (!used)
            found = drop_request(x, request);
    }
    return found;
}

/* ---- which checks are ours, and what has been asked for them ---- */

static struct provisioning_check check_of(const struct pass *x, const struct json *state, const struct json *check)
{
    struct arena *a = x->w->arena;
    const char *config = provisioning_config_name(check), *name = object_meta(x->workload, "name");
    struct provisioning_check c = {.workload = x->workload, .state = state};
    c.config = *config ? kube_cache_get(x->p->configs, "", config, a) : NULL;
    if (!c.config || !provisioning_is_needed(x->workload, c.config))
        return c;
    JSON_EACH (request, x->requests) {
        int64_t attempt = provisioning_attempt(a, request, name, state);
        if (attempt > c.attempt && provisioning_is_current(request, c.config)) {
            c.request = request;
            c.attempt = attempt;
        }
    }
    return c;
}

static struct provisioning_check *checks_of(const struct pass *x, uint32_t *ret_n)
{
    const struct json *list = json_path(x->workload, "status", "admissionChecks", NULL);
    struct provisioning_check *checks = arena_zero(x->w->arena, (list ? list->n : 0) + 1u, sizeof *checks);
    uint32_t n = 0;
    JSON_EACH (state, json_is(list, JSON_ARRAY) ? list : NULL) {
        const struct json *check = kube_cache_get(x->p->checks, "", json_get_text(state, "name", ""), x->w->arena);
        if (check && strcmp(json_get_text(json_get(check, "spec"), "controllerName", ""), PROVISIONING_CONTROLLER) == 0)
            checks[n++] = check_of(x, state, check);
    }
    *ret_n = n;
    return checks;
}

/* ---- states ---- */

/* Once the next write is done. */
static void tell_then(const struct pass *x, const struct json *was, const struct json *is)
{
    const char *from = json_get_text(was, "state", ""), *to = json_get_text(is, "state", ""), *message = json_get_text(is, "message", "");
    if (strcmp(from, to) != 0)
        job_event_then(x->p->jobs, x->w, x->workload, "kueue.x-k8s.io/v1beta2", "Workload", "Normal", "AdmissionCheckUpdated",
                       "Admission check %s updated state from %s to %s%s%s", json_get_text(is, "name", ""), from, to,
                       *message ? " with message: " : "", message);
}

/* One write for all checks. True: it is on its way. */
static bool write_states(const struct pass *x, const struct provisioning_check *checks, uint32_t n)
{
    struct arena *a = x->w->arena;
    struct json *list = json_new(a, JSON_ARRAY), *status = json_new(a, JSON_OBJECT);
    bool same = true;
    JSON_EACH (state, json_path(x->workload, "status", "admissionChecks", NULL)) {
        struct json *entry = NULL;
        for (uint32_t i = 0; i < n; i++)
            if (checks[i].state == state)
                entry = provisioning_state(a, &checks[i], x->now_ms);
        if (entry)
            tell_then(x, state, entry);
        same &= !entry;
        json_append(list, entry ? entry : json_clone(a, state));
    }
    if (same)
        return false;
    json_set(a, status, "admissionChecks", list);
    work_patch_status(x->w, kueue_workload_path(x->w, x->w->name, "status"), x->workload, status);
    return true;
}

/* ---- asking ---- */

/* Of a request of the same name before this one. WHY  the garbage collector would take it, but not at once: nothing is asked until then. */
static void drop_left_behind(const struct pass *x, const struct json *one)
{
    const char *name = object_controller(one, "name");
    const struct json *request = kube_cache_get(x->p->requests, x->w->ns, name, x->w->arena);
    if (!object_deleting(one) && !is_of(one, request))
        work_delete(x->w, template_path(x, object_meta(one, "name")), object_meta(one, "uid"), NULL);
    work_again(x->w, LEAVING_MS);
}

/* The template of one pod set. True: it is there. *ret_why: why it cannot be; untouched: it is on its way. */
static bool make_template(const struct pass *x, const char *name, const struct provisioning_set *set, const struct kueue_start *starts,
                          uint32_t n, const char **ret_why)
{
    struct arena *a = x->w->arena;
    struct json *made = NULL;
    struct err e = {0};
    const struct json *there = kube_cache_get(x->p->templates, x->w->ns, name, a);
    uint32_t i = 0;
    if (is_of(there, x->workload))
        return !object_deleting(there);
    if (there) {
        if (strcmp(object_controller(there, "kind"), "ProvisioningRequest") != 0)
            *ret_why = arena_printf(a, "PodTemplate \"%s\" is there already, and is not made for it", name);
        else
            drop_left_behind(x, there);
        return false;
    }
    while (i < n && strcmp(starts[i].pod_set, set->name) != 0)
        i++;
    if (i == n)
        return false;
    if (provisioning_template(a, x->workload, name, set, &starts[i], &made, &e) < 0)
        *ret_why = arena_text(a, e.text);
    else
        work_create(x->w, template_path(x, NULL), made);
    return false;
}

/* The Workload without what checks add to pods: this is what the autoscaler is to find room for. */
static const struct json *without_updates(struct arena *a, const struct json *workload)
{
    struct json *copy = json_copy(a, workload);
    (void)json_remove(json_get(copy, "status"), "admissionChecks");
    return copy;
}

/* The next attempt at one check. *ret_why: as above. */
static void ask(const struct pass *x, const struct provisioning_check *c, const char *name, const char **ret_why)
{
    struct arena *a = x->w->arena;
    const struct json *there = kube_cache_get(x->p->requests, x->w->ns, name, a);
    uint32_t sets_n, starts_n;
    if (there) { /* what this Workload has asked for, or one of its name before it, is being deleted */
        if (strcmp(object_controller(there, "kind"), "Workload") != 0 || strcmp(object_controller(there, "name"), x->w->name) != 0)
            *ret_why = "it is there already, and is not made for this Workload";
        return;
    }
    const struct provisioning_set *sets = provisioning_sets(a, x->workload, c->config, &sets_n);
    const struct kueue_start *starts = kueue_starts(x->p->jobs, a, without_updates(a, x->workload), &starts_n);
    bool complete = starts != NULL; /* else a flavor is gone, and the Workload is evicted */
    for (uint32_t i = 0; starts && i < sets_n; i++)
        complete &= make_template(x, provisioning_template_name(a, name, sets[i].name), &sets[i], starts, starts_n, ret_why);
    if (!complete)
        return;
    job_event_then(x->p->jobs, x->w, x->workload, "kueue.x-k8s.io/v1beta2", "Workload", "Normal", "ProvisioningRequestCreated",
                   "Created ProvisioningRequest: \"%s\"", name);
    work_create(x->w, request_path(x, NULL), provisioning_request(a, c, name, sets, sets_n));
}

static const struct provisioning_set *set_of_template(struct arena *a, const struct json *request, const struct provisioning_set *sets,
                                                      uint32_t n, const char *template)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(provisioning_template_name(a, object_meta(request, "name"), sets[i].name), template) == 0)
            return &sets[i];
    return NULL;
}

static void make_again(const struct pass *x, const struct provisioning_check *c, const char *name)
{
    struct arena *a = x->w->arena;
    const char *why = NULL;
    uint32_t sets_n, starts_n;
    const struct provisioning_set *sets = provisioning_sets(a, x->workload, c->config, &sets_n),
                                  *set = set_of_template(a, c->request, sets, sets_n, name);
    const struct kueue_start *starts = set ? kueue_starts(x->p->jobs, a, without_updates(a, x->workload), &starts_n) : NULL;
    if (starts)
        (void)make_template(x, name, set, starts, starts_n, &why);
    if (why)
        job_event(x->p->jobs, x->workload, "kueue.x-k8s.io/v1beta2", "Workload", "Warning", "FailedCreate",
                  "ProvisioningRequest \"%s\" has lost a template: %s", object_meta(c->request, "name"), why);
}

/* Templates that were made for a request become its own, so that they go with it; those that are gone are made again.
 * RACE  a template that went with the request of this name before this one may have been seen as there until now. */
static void keep_templates(const struct pass *x, const struct provisioning_check *c)
{
    struct arena *a = x->w->arena;
    JSON_EACH (set, json_path(c->request, "spec", "podSets", NULL)) {
        const char *name = json_text(json_path(set, "podTemplateRef", "name", NULL), "");
        const struct json *one = kube_cache_get(x->p->templates, x->w->ns, name, a);
        if (is_of(one, c->request))
            continue;
        if (!is_of(one, x->workload)) {
            make_again(x, c, name);
            continue;
        }
        struct json *patch = object_patch(a, one);
        json_set(a, json_get(patch, "metadata"), "ownerReferences", job_owner(a, c->request, PROVISIONING_GROUP "/v1", "ProvisioningRequest"));
        work_patch(x->w, KUBE_PATCH_MERGE, template_path(x, object_meta(one, "name")), patch);
    }
}

static const char *next_name(struct arena *a, const struct provisioning_check *c)
{
    return provisioning_name(a, object_meta(c->workload, "name"), json_get_text(c->state, "name", ""), provisioning_due(c));
}

/* What could not be made is said where people look: in the entry of the check. */
static void say_failure(const struct pass *x, struct provisioning_check *c, const char *why)
{
    const char *text = arena_printf(x->w->arena, "Error creating ProvisioningRequest \"%s\": %s", next_name(x->w->arena, c), why);
    if (strcmp(json_get_text(c->state, "message", ""), text) == 0)
        return;
    c->failure = text;
    job_event(x->p->jobs, x->workload, "kueue.x-k8s.io/v1beta2", "Workload", "Warning", "FailedCreate", "%s", text);
}

static void reconcile(void *arg, struct work *w)
{
    struct provisioning *p = arg;
    struct pass x = {p, w, ready(p) ? kube_cache_get(p->jobs->workloads, w->ns, w->name, w->arena) : NULL, NULL,
                     loop_wall_ms(p->jobs->loop)};
    uint32_t n;
    if (!x.workload || object_deleting(x.workload))
        return;
    x.requests = requests_of(p, w, x.workload);
    if (object_condition_true(x.workload, "Finished") || object_condition_true(x.workload, "Evicted")) {
        drop_all(&x);
        return;
    }
    if (!object_condition_true(x.workload, "QuotaReserved"))
        return;
    struct provisioning_check *checks = checks_of(&x, &n);
    for (uint32_t i = 0; i < n; i++)
        if (provisioning_due(&checks[i]) && *work_failure(w))
            say_failure(&x, &checks[i], work_failure(w));
    if (write_states(&x, checks, n) || drop_unused(&x, checks, n))
        return;
    for (uint32_t i = 0; i < n; i++) {
        const char *why = NULL;
        if (checks[i].request)
            keep_templates(&x, &checks[i]);
        if (!provisioning_due(&checks[i]))
            continue;
        ask(&x, &checks[i], next_name(w->arena, &checks[i]), &why);
        if (why)
            say_failure(&x, &checks[i], why);
    }
    (void)write_states(&x, checks, n); /* what could not be made */
}

/* ---- the checks themselves ---- */

static void reconcile_check(void *arg, struct work *w)
{
    struct provisioning *p = arg;
    struct arena *a = w->arena;
    const struct json *check = ready(p) ? kube_cache_get(p->checks, "", w->name, a) : NULL;
    if (!check || object_deleting(check) ||
        strcmp(json_get_text(json_get(check, "spec"), "controllerName", ""), PROVISIONING_CONTROLLER) != 0)
        return;
    const char *config = provisioning_config_name(check);
    const char *wrong = provisioning_parameters_wrong(a, check, *config ? kube_cache_get(p->configs, "", config, a) : NULL);
    struct json *conditions = object_conditions_copy(a, check), *status = json_new(a, JSON_OBJECT);
    if (!object_condition_set(a, conditions, "Active", !wrong, wrong ? "BadParametersRef" : "Active",
                              wrong ? wrong : "The admission check is active", loop_wall_ms(p->jobs->loop), object_generation_of(check)))
        return;
    json_set(a, status, "conditions", conditions);
    work_patch_status(w, kube_path(a, "kueue.x-k8s.io", "v1beta2", "admissionchecks", NULL, w->name, "status"), check, status);
}

/* ---- changes ---- */

static void look_at_all(struct provisioning *p)
{
    if (!ready(p))
        return;
    workqueue_add_all(p->active, p->checks, PROVISIONING_CONTROLLER);
    workqueue_add_all(p->workloads, p->jobs->workloads, "\"admissionChecks\"");
}

static void on_synced(void *arg)
{
    look_at_all(arg);
}

static void on_check(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct provisioning *p = arg;
    (void)object;
    if (event != KUBE_DELETED)
        workqueue_add(p->active, key);
    if (ready(p))
        workqueue_add_all(p->workloads, p->jobs->workloads, strchr(key, '/') + 1);
}

static void on_config(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    (void)event;
    (void)key;
    (void)object;
    look_at_all(arg);
}

static void on_request(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct provisioning *p = arg;
    struct arena *a = arena_new();
    const struct json *request = json_parse(a, object, NULL, NULL);
    const char *owner = object_controller(request, "name");
    if (strcmp(object_controller(request, "kind"), "Workload") == 0 && *owner) {
        const char *workload = arena_printf(a, "%s/%s", object_meta(request, "namespace"), owner);
        if (event != KUBE_DELETED)
            kube_cache_mark(p->requests, key, workload);
        workqueue_add(p->workloads, workload);
    }
    arena_free(a);
}

/* Whose it is: a Workload's, or a request's, which is a Workload's. */
static void on_template(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct provisioning *p = arg;
    struct arena *a = arena_new();
    const struct json *one = json_parse(a, object, NULL, NULL);
    const char *kind = object_controller(one, "kind");
    const char *owner = arena_printf(a, "%s/%s", object_meta(one, "namespace"), object_controller(one, "name"));
    if (event != KUBE_DELETED)
        kube_cache_mark(p->templates, key, object_controller(one, "uid"));
    if (strcmp(kind, "ProvisioningRequest") == 0)
        owner = kube_cache_marked(p->requests, owner);
    if (strchr(owner, '/') && *kind)
        workqueue_add(p->workloads, owner);
    arena_free(a);
}

void provisioning_workload(struct provisioning *p, const struct json *workload, const char *key)
{
    const struct json *checks = json_path(workload, "status", "admissionChecks", NULL);
    if (checks && checks->n)
        workqueue_add(p->workloads, key);
}

/* ---- making ---- */

static struct kube_cache *cache_of(struct provisioning *p, const char *path, const char *selector,
                                   void (*on_change)(void *, enum kube_event, const char *, struct bytes))
{
    struct kube_cache_config config = {.watch = {.path = path, .label_selector = selector, .optional = true},
                                       .on_change = on_change,
                                       .on_synced = on_synced,
                                       .arg = p};
    return kube_cache_new(p->jobs->client, &config);
}

struct provisioning *provisioning_new(struct jobs *j)
{
    struct provisioning *p = mem_zero(1, sizeof *p);
    p->jobs = j;
    p->workloads = workqueue_new(j->client, reconcile, p);
    p->active = workqueue_new(j->client, reconcile_check, p);
    p->checks = cache_of(p, "/apis/kueue.x-k8s.io/v1beta2/admissionchecks", NULL, on_check);
    p->configs = cache_of(p, "/apis/kueue.x-k8s.io/v1beta2/provisioningrequestconfigs", NULL, on_config);
    p->requests = cache_of(p, "/apis/" PROVISIONING_GROUP "/v1/provisioningrequests", NULL, on_request);
    p->templates = cache_of(p, "/api/v1/podtemplates", PROVISIONING_MANAGED "=true", on_template);
    return p;
}

void provisioning_free(struct provisioning *p)
{
    if (!p)
        return;
    p->closing = true;
    workqueue_free(p->workloads);
    workqueue_free(p->active);
    struct kube_cache *caches[] = {p->checks, p->configs, p->requests, p->templates};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        kube_cache_free(caches[i]);
    free(p);
}
