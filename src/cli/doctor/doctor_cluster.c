/* doctor_cluster.c - API server, kinds, who schedules, what the user may do */
#include "base/clock.h"
#include "cli/doctor/doctor.h"
#include "codec/decode/decode.h"
#include "codec/kinds/queued_kinds.h"
#include "kube/object.h"

/* ---- API server ---- */

enum { POLICIES_MINOR = 30 }; /* SOURCE deploy/agent.yaml: ValidatingAdmissionPolicies hold the agent to its own node */

bool doctor_server(struct doctor *d)
{
    struct err e = {0};
    const struct json *version = connection_get(&d->c, d->a, "/version", &e);
    if (!version) {
        doctor_say(d, DOCTOR_FAULT, "API server", "see whether it runs, and what the kubeconfig says: kubectl config view --minify", "%s",
                   e.text);
        return false;
    }
    const char *git = json_get_text(version, "gitVersion", "?");
    int64_t minor = 0;
    const char *minor_text = json_get_text(version, "minor", "");
    (void)bytes_int64((struct bytes){minor_text, strspn(minor_text, "0123456789")}, &minor); /* "30+" of some providers */
    d->is_embedded = strstr(git, "+capstan") != NULL;
    if (minor && minor < POLICIES_MINOR && !d->is_embedded)
        doctor_say(d, DOCTOR_NOTE, "API server", "update it, or run NVIDIA's device plugin in the place of the agent",
                   "%s: deploy/agent.yaml and deploy/kueue-rules.yaml need 1.%d or newer", git, POLICIES_MINOR);
    else
        doctor_say(d, DOCTOR_OK, "API server", NULL, "%s%s", git, d->is_embedded ? ", of capstan up" : "");
    return true;
}

/* ---- kinds ---- */

struct kinds_row {
    const char *group, *version, *plurals; /* by spaces */
    bool needed;                           /* else: only where somebody uses them */
};
/* SOURCE sched/sources.c, jobs/: what is watched; jobs that are queued stand in codec/kinds. */
static const struct kinds_row kinds[] = {
    {"kueue.x-k8s.io", "v1beta2",
     "workloads clusterqueues localqueues resourceflavors cohorts admissionchecks topologies workloadpriorityclasses", true},
    {"batch.volcano.sh", "v1alpha1", "jobs", false},
    {"scheduling.volcano.sh", "v1beta1", "podgroups queues", false},
    {"bus.volcano.sh", "v1alpha1", "commands", false},
    {"scheduling.x-k8s.io", "v1alpha1", "podgroups", false},
    {"kai.scheduler", "v1alpha1", "topologies", false},
    {"scheduling.run.ai", "v2", "queues", false},
    {"scheduling.run.ai", "v2alpha2", "podgroups", false},
    {"trainer.kubeflow.org", "v1alpha1", "trainingruntimes clustertrainingruntimes", false},
};

static const char *versions_of(struct doctor *d, const struct json *groups, const char *group)
{
    const char *text = NULL;
    JSON_EACH (one, groups)
        if (text_equal(json_get_text(one, "name", ""), group))
            JSON_EACH (version, json_get(one, "versions"))
                text = arena_printf(d->a, "%s%s%s", text ? text : "", text ? ", " : "", json_get_text(version, "version", "?"));
    return text;
}

/* Those of `row` that the list lacks, by commas; NULL: none. */
static const char *missing_of(struct doctor *d, const struct kinds_row *row, const struct json *resources)
{
    const char *missing = NULL;
    for (const char *at = row->plurals, *end; *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ' ');
        struct bytes plural = {at, (size_t)(end - at)};
        bool there = false;
        JSON_EACH (resource, resources)
            there |= bytes_equal(json_bytes(json_get(resource, "name")), plural);
        if (!there)
            missing = arena_printf(d->a, "%s%s%.*s", missing ? missing : "", missing ? ", " : "", (int)plural.n, plural.data);
    }
    return missing;
}

static void group_look(struct doctor *d, const struct json *groups, const struct kinds_row *row)
{
    static const char apply[] = "kubectl apply -f deploy/crds.yaml (not where Kueue or Volcano brings them: then install a newer one)";
    struct err e = {0};
    const char *versions = versions_of(d, groups, row->group), *about = arena_printf(d->a, "%s/%s", row->group, row->version);
    enum doctor_level level = row->needed ? DOCTOR_FAULT : DOCTOR_NOTE, absent = row->needed ? DOCTOR_FAULT : DOCTOR_OK;
    if (!versions) {
        doctor_say(d, absent, about, row->needed ? apply : NULL, "not installed: %s",
                   row->needed ? "no job can stand in a queue" : row->plurals);
        return;
    }
    const struct json *list = connection_get(&d->c, d->a, arena_printf(d->a, "/apis/%s", about), &e);
    if (!list && e.code == E_NOTFOUND)
        doctor_say(d, level, about, apply, "the cluster serves %s as %s only: its objects are not read", row->group, versions);
    else if (!list)
        doctor_say(d, DOCTOR_UNKNOWN, about, NULL, "%s", e.text);
    const char *missing = list ? missing_of(d, row, json_get(list, "resources")) : NULL;
    if (missing)
        doctor_say(d, absent, about, row->needed ? apply : NULL, "without %s: these are not read", missing);
    else if (list)
        doctor_say(d, DOCTOR_OK, about, NULL, "%s", row->plurals);
}

/* Does the API server have the kind in that version of the group? */
static bool natives_in(struct doctor *d, const char *version, const char *plural)
{
    struct err e = {0};
    struct kinds_row row = {"scheduling.k8s.io", version, plural, false};
    const struct json *list = connection_get(&d->c, d->a, arena_printf(d->a, "/apis/scheduling.k8s.io/%s", version), &e);
    return list && !missing_of(d, &row, json_get(list, "resources"));
}

/* Pod groups of Kubernetes itself, and groups of them: it is well where there are none, too. */
static void natives_look(struct doctor *d)
{
    static const char group[] = "scheduling.k8s.io";
    const struct native_version *v = native_versions;
    while (v->version && !natives_in(d, v->version, "podgroups"))
        v++;
    if (natives_in(d, COMPOSITES_VERSION, "compositepodgroups"))
        doctor_say(d, DOCTOR_OK, COMPOSITES_API, NULL, "compositepodgroups");
    if (v->version)
        doctor_say(d, DOCTOR_OK, v->api_version, NULL, "podgroups");
    else if (natives_in(d, "v1alpha1", "workloads"))
        doctor_say(d, DOCTOR_OK, arena_printf(d->a, "%s/v1alpha1", group), NULL, "workloads");
    else
        doctor_say(d, DOCTOR_OK, group, NULL, "no pod groups: it has them since 1.35, where feature gate GenericWorkload is on");
}

void doctor_kinds(struct doctor *d)
{
    struct err e = {0};
    const struct json *groups = json_get(connection_get(&d->c, d->a, "/apis", &e), "groups");
    if (e.code) {
        doctor_say(d, DOCTOR_UNKNOWN, "kinds", NULL, "%s", e.text);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        group_look(d, groups, &kinds[i]);
    for (int i = QUEUED_TRAINJOB; i < QUEUED_KINDS_N; i++) {
        const struct queued_kind *k = &queued_kinds[i];
        group_look(d, groups, &(struct kinds_row){k->group, k->version, k->plural, false});
    }
    natives_look(d);
}

/* ---- scheduler ---- */

static void lease_look(struct doctor *d, const struct json *lease)
{
    const struct json *spec = json_get(lease, "spec");
    const char *about = arena_printf(d->a, "Lease %s/capstan-scheduler", object_meta(lease, "namespace")),
               *holder = json_get_text(spec, "holderIdentity", "");
    char age[TIME_TEXT_MAX];
    int64_t renewed_ms = 0, lasts_ms = json_get_int64(spec, "leaseDurationSeconds", 15) * 1000;
    if (!*holder) {
        doctor_say(d, DOCTOR_FAULT, about, "start it: kubectl rollout status -n capstan-system deployment/capstan-scheduler",
                   "the last scheduler has given it back: nobody schedules");
        return;
    }
    bool known = time_parse(bytes_of(json_get_text(spec, "renewTime", "")), &renewed_ms);
    int64_t age_ms = loop_wall_ms(d->c.loop) - renewed_ms;
    if (!known || age_ms > lasts_ms)
        doctor_say(d, DOCTOR_FAULT, about, "see what it does: kubectl logs -n capstan-system deployment/capstan-scheduler",
                   "%s has not renewed it for %s (it lasts %lld s): nobody schedules", holder, known ? time_age(age, age_ms) : "ever",
                   (long long)(lasts_ms / 1000));
    else
        doctor_say(d, DOCTOR_OK, about, NULL, "%s leads, renewed %lld s ago", holder, (long long)(age_ms > 0 ? age_ms / 1000 : 0));
}

void doctor_scheduler(struct doctor *d)
{
    static const char path[] = "/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dcapstan-scheduler";
    const struct json *leases = doctor_items(d, "scheduler", path);
    JSON_EACH (lease, leases)
        lease_look(d, lease);
    if (!leases || json_first(leases))
        return;
    if (d->is_embedded)
        doctor_say(d, DOCTOR_OK, "scheduler", NULL, "in the server");
    else
        doctor_say(d, DOCTOR_FAULT, "scheduler", "kubectl apply -k deploy, or run capstan scheduler with a kubeconfig",
                   "no scheduler has ever led here (no Lease capstan-scheduler)");
}

/* ---- rights ---- */

struct right {
    const char *verb, *group, *resource, *for_what;
    bool in_namespace;
};
static const struct right rights[] = {
    {"list", "", "nodes", "capstan nodes, and whether a job would start", false},
    {"list", "", "pods", "capstan jobs", true},
    {"list", "batch", "jobs", "capstan jobs", true},
    {"list", "kueue.x-k8s.io", "workloads", "capstan jobs, why", true},
    {"list", "kueue.x-k8s.io", "localqueues", "capstan submit, which finds the queue", true},
    {"list", "kueue.x-k8s.io", "clusterqueues", "capstan queues", false},
    {"create", "batch", "jobs", "capstan submit", true},
    {"patch", "batch", "jobs", "capstan hold, resume, move", true},
    {"patch", "kueue.x-k8s.io", "workloads", "capstan hold, resume, requeue", true},
    {"delete", "batch", "jobs", "capstan cancel", true},
};

static const struct json *review(struct doctor *d, const struct right *r, struct err *e)
{
    struct arena *a = d->a;
    struct json *body = json_new(a, JSON_OBJECT),
                *attributes = json_ensure_object(a, json_ensure_object(a, body, "spec"), "resourceAttributes");
    json_set_text(a, body, "apiVersion", "authorization.k8s.io/v1");
    json_set_text(a, body, "kind", "SelfSubjectAccessReview");
    json_set_text(a, attributes, "verb", r->verb);
    json_set_text(a, attributes, "group", r->group);
    json_set_text(a, attributes, "resource", r->resource);
    if (r->in_namespace && d->c.ns)
        json_set_text(a, attributes, "namespace", d->c.ns);
    return connection_send(&d->c, a, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, body, e);
}

void doctor_rights(struct doctor *d)
{
    const char *where = d->c.ns ? arena_printf(d->a, "namespace %s", d->c.ns) : "all namespaces";
    uint32_t may_n = 0;
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
        const struct right *r = &rights[i];
        struct err e = {0};
        const struct json *answer = review(d, r, &e);
        if (!answer) {
            doctor_say(d, DOCTOR_UNKNOWN, "your rights", NULL, "%s", e.text);
            return;
        }
        if (json_bool(json_path(answer, "status", "allowed", NULL), false))
            may_n++;
        else
            doctor_say(d, DOCTOR_NOTE, "your rights", "where you are to use that, have the right given",
                       "you may not %s %s%s%s in %s: without it no %s", r->verb, r->resource, *r->group ? "." : "", r->group,
                       r->in_namespace ? where : "the cluster", r->for_what);
    }
    if (may_n == sizeof rights / sizeof *rights)
        doctor_say(d, DOCTOR_OK, "your rights", NULL, "you may use every command in %s", where);
}
