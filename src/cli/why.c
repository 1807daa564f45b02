/* why.c - capstan why KIND/NAME: the reason tree of what waits, its place in the queue, and what would help
 *
 * The scheduler writes the tree on the Workload, PodGroup or Pod that it decides about (object_waiting); this command finds that object
 * from whatever the user names.
 */
#include "cli/why.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/lookup/gang_size.h"
#include "cli/lookup/job_find.h"
#include "cli/lookup/local_share.h"
#include "cli/lookup/pod_group.h"
#include "cli/lookup/preempted.h"
#include "cli/lookup/reserved.h"
#include "cli/lookup/start_text.h"
#include "cli/lookup/why_until.h"
#include "codec/decode/decode.h"
#include "codec/kinds/placement_names.h"
#include "codec/kinds/queued_sets.h"
#include "kube/object.h"

enum { CUTS_SHOWN = 4 };
struct answer {
    struct connection *c;
    struct arena *a;
    enum job_kind kind;
    const char *group;          /* of a LeaderWorkerSet: "2" of NAME-2; NULL: of none in particular */
    const struct json *object;  /* what the user named */
    const struct json *decided; /* whose annotation counts: Workload, PodGroup or Pod; may be NULL */
    const char *missing_group;  /* what the pod is of, and is not there: "PodGroup NAME of API group"; NULL: no such */
    const char *resume;         /* the command that lets it start again; NULL: it may */
    const char *unheld;         /* it names a queue, and its pods wait for none: what to write; NULL: not so */
    const char *state, *message, *queue, *cluster_queue; /* cluster_queue: in whose line it stands; "" none */
    int64_t position, of_n;    /* place in its cluster queue; -1 = none */
    const struct json *head;   /* the first of that queue; NULL none */
    struct gang_size size;     /* of a Workload */
    const char *placement;     /* its queue's own policy by which nodes are chosen; NULL: that of all */
    struct json *preempted;    /* NULL: it was not (cli/lookup/preempted.h) */
    struct json *shares;       /* of LocalQueues that go first; NULL: none does for what it has used (cli/lookup/local_share.h) */
    struct json *reason;       /* the tree, or NULL */
    struct json *cuts;         /* it waits for a MIG instance: names of nodes whose GPUs are cut as pods ask; NULL: not so, or none */
    FILE *out;                 /* for people */
};

static const struct json *get(struct answer *x, enum job_kind kind, const char *name, struct err *e)
{
    return job_get(x->c, x->a, kind, name, e);
}

static const struct json *items(struct answer *x, enum job_kind kind, bool everywhere)
{
    return job_items(x->c, x->a, kind, everywhere);
}

/* ---- finding ---- */

/* The first pod of the owner that carries a reason, else the first that waits, else any. */
static const struct json *waiting_pod(const struct json *pods, const char *owner_uid)
{
    const struct json *best = NULL;
    JSON_EACH (pod, pods) {
        if (strcmp(object_controller(pod, "uid"), owner_uid) != 0)
            continue;
        if (*object_annotation(pod, "capstan.dev/reason"))
            return pod;
        if (!best || !json_path(pod, "spec", "nodeName", NULL))
            best = pod;
    }
    return best;
}

/* Of what it has made of this kind: of a Deployment the newer ReplicaSet during a rollout among them. */
static const struct json *waiting_pod_below(struct answer *x, const char *uid, enum job_kind made)
{
    const struct json *pods = items(x, JOB_KIND_POD, false), *best = NULL;
    JSON_EACH (one, items(x, made, false)) {
        const struct json *pod = strcmp(object_controller(one, "uid"), uid) == 0 ? waiting_pod(pods, object_meta(one, "uid")) : NULL;
        if (pod && (!best || *object_annotation(pod, "capstan.dev/reason")))
            best = pod;
    }
    return best;
}

/* Of a LeaderWorkerSet, or of its group that was asked for: leaders and workers, by the label of the set. */
static const struct json *waiting_pod_of_groups(struct answer *x)
{
    const struct json *best = NULL;
    JSON_EACH (pod, items(x, JOB_KIND_POD, false)) {
        if (!text_equal(object_label(pod, "leaderworkerset.sigs.k8s.io/name"), object_meta(x->object, "name")) ||
            (x->group && !text_equal(object_label(pod, "leaderworkerset.sigs.k8s.io/group-index"), x->group)))
            continue;
        if (*object_annotation(pod, "capstan.dev/reason"))
            return pod;
        if (!best || (json_path(best, "spec", "nodeName", NULL) && !json_path(pod, "spec", "nodeName", NULL)))
            best = pod;
    }
    return best;
}

/* Of a job that nobody queues as a whole: its own, those of its Jobs (JobSets, launchers of MPIJobs), of its RayClusters, and of the Jobs
 * of the JobSet that Kubeflow's trainer makes of it. */
static const struct json *waiting_pod_of_job(struct answer *x, const char *uid)
{
    const struct json *pod = waiting_pod(items(x, JOB_KIND_POD, false), uid);
    if (pod || x->kind == JOB_KIND_JOB || x->kind == JOB_KIND_RAYCLUSTER)
        return pod;
    pod = waiting_pod_below(x, uid, JOB_KIND_JOB);
    if (!pod && (x->kind == JOB_KIND_RAYJOB || x->kind == JOB_KIND_RAYSERVICE))
        pod = waiting_pod_below(x, uid, JOB_KIND_RAYCLUSTER);
    JSON_EACH (set, !pod && x->kind == JOB_KIND_TRAINJOB ? items(x, JOB_KIND_JOBSET, false) : NULL)
        if (!pod && strcmp(object_controller(set, "uid"), uid) == 0)
            pod = waiting_pod_below(x, object_meta(set, "uid"), JOB_KIND_JOB);
    return pod;
}

/* That of the group, or one that waits, where there are several. */
static const struct json *workload_of_set(const struct answer *x, const struct json *workloads, const char *uid)
{
    const struct json *found = NULL;
    JSON_EACH (workload, workloads)
        JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL)) {
            if (strcmp(json_get_text(owner, "uid", ""), uid) != 0)
                continue;
            if (x->group && strcmp(object_annotation(workload, "kueue.x-k8s.io/component-workload-index"), x->group) == 0)
                return workload;
            if (!found || object_condition_true(found, "Admitted"))
                found = workload;
        }
    return found;
}

/* A group of a LeaderWorkerSet, as capstan jobs names it. */
static int find_group(struct answer *x, const char *word, const char *name, struct err *e)
{
    const char *hyphen = strrchr(name, '-');
    if (!hyphen || hyphen == name || hyphen[1] == '\0' || hyphen[1 + strspn(hyphen + 1, "0123456789")])
        return -E_NOTFOUND;
    struct err unused = {0};
    enum job_kind kind;
    const struct json *object;
    if (job_find(x->c, x->a, word, arena_text_n(x->a, name, (size_t)(hyphen - name)), &kind, &object, &unused) < 0 ||
        kind != JOB_KIND_LEADERWORKERSET)
        return -E_NOTFOUND;
    x->kind = kind;
    x->object = object;
    x->group = hyphen + 1;
    *e = (struct err){0};
    return 0;
}

/* spec.workloadRef, of scheduling.k8s.io/v1alpha1: the Workload that it names, or the group in it. */
static const char *missing_group_of_workload(const struct answer *x)
{
    struct err e = {0};
    const struct json *ref = json_path(x->object, "spec", "workloadRef", NULL);
    const char *name = json_get_text(ref, "name", ""), *group = json_get_text(ref, "podGroup", "");
    const struct json *workload =
        *name ? connection_get(x->c, x->a, kube_path(x->a, "scheduling.k8s.io", "v1alpha1", "workloads", x->c->ns, name, NULL), &e) : NULL;
    JSON_EACH (one, json_path(workload, "spec", "podGroups", NULL))
        if (text_equal(json_get_text(one, "name", ""), group))
            return NULL;
    return workload              ? arena_printf(x->a, "Group %s in Workload %s (scheduling.k8s.io)", group, name)
           : e.code == E_NOTFOUND ? arena_printf(x->a, "Workload %s (scheduling.k8s.io)", name)
                                  : NULL;
}

static void find_decided_of_pod(struct answer *x)
{
    struct err e = {0};
    const char *name = object_annotation(x->object, "kueue.x-k8s.io/workload");
    enum job_kind kind = JOB_KIND_WORKLOAD;
    for (int maker = 0; !*name && maker < POD_GROUP_KUEUE; maker++) {
        name = pod_group_name(x->a, x->object, (enum pod_group_maker)maker);
        kind = (enum job_kind)(JOB_KIND_VOLCANO_GROUP + maker);
    }
    x->decided = *name ? get(x, kind, name, &e) : NULL;
    if (e.code == E_NOTFOUND && kind != JOB_KIND_WORKLOAD)
        x->missing_group = arena_printf(x->a, "PodGroup %s (%s)", name, job_kinds[kind].group);
    else if (!*name)
        x->missing_group = missing_group_of_workload(x);
    if (!x->decided)
        x->decided = x->object;
}

static void find_decided(struct answer *x)
{
    const char *uid = object_meta(x->object, "uid");
    switch (x->kind) {
    case JOB_KIND_JOB:
    case JOB_KIND_TRAINJOB:
    case JOB_KIND_JOBSET:
    case JOB_KIND_MPIJOB:
    case JOB_KIND_PYTORCHJOB:
    case JOB_KIND_TFJOB:
    case JOB_KIND_XGBOOSTJOB:
    case JOB_KIND_JAXJOB:
    case JOB_KIND_PADDLEJOB:
    case JOB_KIND_RAYJOB:
    case JOB_KIND_RAYCLUSTER:
    case JOB_KIND_RAYSERVICE:
    case JOB_KIND_SPARKAPPLICATION:
        x->decided = job_owned_by(items(x, JOB_KIND_WORKLOAD, false), uid);
        if (!x->decided && x->kind != JOB_KIND_JOB)
            x->decided = job_owned_by(items(x, JOB_KIND_COSCHEDULING, false), uid);
        if (!x->decided && x->kind == JOB_KIND_TRAINJOB)
            x->decided = job_owned_by(items(x, JOB_KIND_VOLCANO_GROUP, false), uid);
        if (!x->decided)
            x->decided = waiting_pod_of_job(x, uid);
        break;
    case JOB_KIND_VCJOB:
        x->decided = job_owned_by(items(x, JOB_KIND_VOLCANO_GROUP, false), uid);
        break;
    case JOB_KIND_POD:
        find_decided_of_pod(x);
        break;
    case JOB_KIND_DEPLOYMENT:
        x->decided = waiting_pod_below(x, uid, JOB_KIND_REPLICASET);
        break;
    case JOB_KIND_STATEFULSET:
    case JOB_KIND_LEADERWORKERSET:
        x->decided = workload_of_set(x, items(x, JOB_KIND_WORKLOAD, false), uid);
        if (!x->decided)
            x->decided = x->kind == JOB_KIND_LEADERWORKERSET ? waiting_pod_of_groups(x) : waiting_pod(items(x, JOB_KIND_POD, false), uid);
        break;
    case JOB_KIND_REPLICASET:
    case JOB_KIND_DAEMONSET:
        x->decided = waiting_pod(items(x, JOB_KIND_POD, false), uid);
        break;
    case JOB_KIND_WORKLOAD:
    case JOB_KIND_VOLCANO_GROUP:
    case JOB_KIND_COSCHEDULING:
    case JOB_KIND_NATIVE:
    case JOB_KIND_KAI:
    case JOB_KIND_COMPOSITE:
    case JOB_KINDS_N:
        x->decided = x->object;
        break;
    }
}

/* ---- state ---- */

static bool is_deactivated(const struct json *workload)
{
    return !json_get_bool(json_get(workload, "spec"), "active", true);
}

static bool waits_in(const struct json *workload, const struct json *local_queues, const char *cluster_queue)
{
    if (is_deactivated(workload) || object_condition_true(workload, "QuotaReserved") ||
        object_condition_true(workload, "Finished"))
        return false;
    const char *ns = object_meta(workload, "namespace"),
               *queue = json_text(json_path(workload, "spec", "queueName", NULL), "");
    JSON_EACH (local, local_queues)
        if (strcmp(object_meta(local, "name"), queue) == 0 && strcmp(object_meta(local, "namespace"), ns) == 0)
            return strcmp(json_text(json_path(local, "spec", "clusterQueue", NULL), ""), cluster_queue) == 0;
    return false;
}

/* ORDER what their LocalQueues have used (NULL: that does not count), priority, then age, then uid: the queue's own. */
static bool stands_before(const struct json *a, const struct json *b, const struct json *local_queues)
{
    int64_t sa = local_queues ? local_share_of(a, local_queues) : 0, sb = local_queues ? local_share_of(b, local_queues) : 0;
    if (sa != sb)
        return sa < sb;
    int64_t pa = json_int64(json_path(a, "spec", "priority", NULL), 0),
            pb = json_int64(json_path(b, "spec", "priority", NULL), 0);
    if (pa != pb)
        return pa > pb;
    int order = strcmp(object_meta(a, "creationTimestamp"), object_meta(b, "creationTimestamp"));
    return order ? order < 0 : strcmp(object_meta(a, "uid"), object_meta(b, "uid")) < 0;
}

static bool counts_shares(struct answer *x, const struct json *local_queues, const char *cluster_queue)
{
    struct err e = {0}; /* without it the rest of the answer is as good */
    if (local_share_of(x->decided, local_queues) == LOCAL_SHARE_UNKNOWN)
        return false;
    const char *path = kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "clusterqueues", NULL, cluster_queue, NULL);
    return local_shares_count(connection_get(x->c, x->a, path, &e));
}

static void find_position(struct answer *x)
{
    struct err e = {0};
    const struct json *local_queues =
        json_get(connection_get(x->c, x->a, "/apis/kueue.x-k8s.io/v1beta2/localqueues", &e), "items");
    const char *cluster_queue = "";
    JSON_EACH (local, local_queues)
        if (strcmp(object_meta(local, "name"), x->queue) == 0 &&
            strcmp(object_meta(local, "namespace"), object_meta(x->decided, "namespace")) == 0)
            cluster_queue = json_text(json_path(local, "spec", "clusterQueue", NULL), "");
    if (!*cluster_queue)
        return;
    const struct json *by = counts_shares(x, local_queues, cluster_queue) ? local_queues : NULL;
    x->position = 0;
    JSON_EACH (other, items(x, JOB_KIND_WORKLOAD, true))
        if (waits_in(other, local_queues, cluster_queue)) {
            x->of_n++;
            x->position += stands_before(other, x->decided, by);
            if (!x->head || stands_before(other, x->head, by))
                x->head = other;
        }
    x->cluster_queue = cluster_queue;
    x->shares = by ? local_shares_ahead(x->a, x->decided, local_queues, cluster_queue) : NULL;
}

/* Admitted, but a node was lost since then, say: what do its pods wait for? */
static const char *admitted_message(struct answer *x, const struct json *workload, const char *queue)
{
    const char *text = arena_printf(x->a, "admitted by ClusterQueue %s", queue), *why = NULL;
    int64_t n = 0;
    JSON_EACH (pod, items(x, JOB_KIND_POD, false)) {
        if (strcmp(object_annotation(pod, "kueue.x-k8s.io/workload"), object_meta(workload, "name")) != 0 ||
            json_path(pod, "spec", "nodeName", NULL) || object_deleting(pod))
            continue;
        n++;
        const struct json *scheduled = object_condition(pod, "PodScheduled");
        why = why ? why : json_get_text(scheduled, "message", NULL);
    }
    return n ? arena_printf(x->a, "%s; %lld pods wait for a node%s%s", text, (long long)n, why ? ": " : "",
                            why ? why : "")
             : text;
}

/* As long as it runs. */
static const char *with_hung(struct answer *x, const char *message)
{
    const char *hung = hung_text(x->a, x->decided), *saving = saving_text(x->a, x->decided);
    message = hung ? arena_printf(x->a, "%s; %s", message, hung) : message;
    return saving ? arena_printf(x->a, "%s; %s", message, saving) : message;
}

static void add_shares(struct answer *x)
{
    const char *queues[2];
    for (int i = 0; i < 2 && preempted_by_shares(x->a, x->preempted, queues); i++) {
        struct err e = {0}; /* without it the rest of the answer is as good */
        const struct json *q =
            connection_get(x->c, x->a, kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "clusterqueues", NULL, queues[i], NULL), &e);
        preempted_add_share(x->a, x->preempted, queues[i], json_int64(json_path(q, "status", "fairSharing", "weightedShare", NULL), -1));
    }
}

/* Of a Workload that is not active: what lets it go on. */
static const char *resume_text(struct answer *x, const struct json *w)
{
    bool by_itself = x->kind < JOB_KIND_DEPLOYMENT || x->kind == JOB_KIND_STATEFULSET; /* else by its Workload */
    return arena_printf(x->a, "capstan resume %s/%s -n %s", by_itself ? job_kinds[x->kind].kind : "Workload",
                        object_meta(by_itself ? x->object : w, "name"), object_meta(w, "namespace"));
}

static void workload_state(struct answer *x)
{
    const struct json *w = x->decided, *admission = json_path(w, "status", "admission", NULL);
    x->queue = json_text(json_path(w, "spec", "queueName", NULL), "");
    x->size = gang_size_of(w);
    if (object_condition_true(w, "Preempted"))
        x->preempted = preempted_of(x->a, w, items(x, JOB_KIND_WORKLOAD, true));
    if (x->preempted)
        add_shares(x);
    x->message = json_get_text(object_condition(w, "QuotaReserved"), "message", "not tried yet");
    if (is_deactivated(w) && !object_condition_true(w, "Finished"))
        x->resume = resume_text(x, w);
    if (object_condition_true(w, "Finished")) {
        x->state = "finished";
        x->message = json_get_text(object_condition(w, "Finished"), "message", "");
    } else if (object_condition_true(w, "Evicted") && object_condition_true(w, "QuotaReserved")) {
        x->state = "evicted";
        x->message = json_get_text(object_condition(w, "Evicted"), "message", "");
    } else if (object_condition_true(w, "Admitted")) {
        x->state = "admitted";
        x->message = with_hung(x, admitted_message(x, w, json_get_text(admission, "clusterQueue", "?")));
    } else if (object_condition_true(w, "QuotaReserved")) {
        x->state = "reserved";
        x->message = reserved_text(x->a, w);
    } else if (is_deactivated(w)) {
        const struct json *evicted = object_condition(w, "Evicted");
        x->state = "deactivated";
        x->message = object_condition_true(w, "Evicted") ? json_get_text(evicted, "message", "") : "it is held: its Workload is not active";
    } else {
        x->state = "pending";
        find_position(x);
    }
}

/* Why this pod waits although as many of its group as have to start together have started; NULL: it does not, or no pod is asked for. */
static const char *later_pod_message(const struct answer *x)
{
    bool waits = text_equal(json_get_text(x->object, "kind", ""), "Pod") && !json_path(x->object, "spec", "nodeName", NULL);
    return waits ? json_get_text(object_condition(x->object, "PodScheduled"), "message", NULL) : NULL;
}

static void group_state(struct answer *x)
{
    bool scheduled = object_condition_true(x->decided, COMPOSITE_SCHEDULED); /* as Kubernetes' own groups say it */
    for (const struct native_version *v = native_versions; v->version; v++)
        scheduled |= object_condition_true(x->decided, v->scheduled);
    const char *phase = json_text(json_path(x->decided, "status", "phase", NULL), "");
    x->queue = json_text(json_path(x->decided, "spec", "queue", NULL), "");
    x->state = *phase ? phase : scheduled ? "scheduled" : "pending";
    JSON_EACH (condition, json_path(x->decided, "status", "conditions", NULL))
        x->message = json_get_text(condition, "message", x->message);
    if (strcmp(x->state, "Running") == 0)
        x->message = with_hung(x, "all required members are bound");
    const char *later = scheduled || strcmp(x->state, "Running") == 0 ? later_pod_message(x) : NULL;
    if (!later)
        return;
    x->state = "pending";
    x->message = later;
}

/* A Kueue pod group has no object before it is whole: its pods are counted here. */
static const char *group_message(struct answer *x)
{
    static const char total[] = "kueue.x-k8s.io/pod-group-total-count";
    const char *group = pod_group_name(x->a, x->decided, POD_GROUP_KUEUE);
    int64_t n = 0;
    if (!*group)
        return NULL;
    JSON_EACH (pod, items(x, JOB_KIND_POD, false))
        n += text_equal(pod_group_name(x->a, pod, POD_GROUP_KUEUE), group) && !object_deleting(pod);
    const char *all = object_annotation(x->decided, total);
    return *all ? arena_printf(x->a, "%lld of %s pods of group %s exist", (long long)n, all, group)
                : arena_printf(x->a, "nobody knows how many pods group %s has: write annotation %s on each of them", group, total);
}

/* Nobody has said anything of the pod. */
static const char *untried_message(struct answer *x)
{
    const char *name = json_text(json_path(x->decided, "spec", "schedulerName", NULL), DECODE_DEFAULT_SCHEDULER);
    return decode_is_scheduler(name) ? "not tried yet"
                                         : arena_printf(x->a, "not tried yet: its schedulerName is %s: does a scheduler of that name run? "
                                                              "Capstan's is capstan", name);
}

static void pod_state(struct answer *x)
{
    const char *phase = json_text(json_path(x->decided, "status", "phase", NULL), "Pending"),
               *node = json_text(json_path(x->decided, "spec", "nodeName", NULL), "");
    x->state = phase;
    x->message = *node ? arena_printf(x->a, "on node %s", node)
                       : json_get_text(object_condition(x->decided, "PodScheduled"), "message", untried_message(x));
    if (!*node && x->missing_group)
        x->message = arena_printf(x->a, "%s, of which it is, does not exist: create it, or see in the pod's events why nobody has",
                                  x->missing_group);
    const char *group = *node ? NULL : group_message(x);
    if (group)
        x->message = group;
}

/* A class that nobody has made: its Workload waits for it. NULL: it is there, or none is named. */
static const char *missing_class(struct answer *x)
{
    static const char label[] = "kueue.x-k8s.io/priority-class";
    const char *name = object_label(x->object, label);
    struct err e = {0};
    const char *path = kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", NULL, name, NULL);
    if (!*name || connection_get(x->c, x->a, path, &e) || e.code != E_NOTFOUND)
        return NULL;
    return arena_printf(x->a, "WorkloadPriorityClass %s doesn't exist: create it, or take label %s off", name, label);
}

/* Nothing to be decided about: it is over, or no controller has taken it up. */
static void undecided_state(struct answer *x)
{
    const struct json *state = json_path(x->object, "status", "state", NULL);
    static const char *const ends[] = {"Complete", "Completed", "Succeeded", "Failed"};
    x->state = json_get_text(state, "phase", "unknown");
    x->message = json_get_text(state, "message", "");
    for (int i = 0; i < 4; i++)
        if (object_condition_true(x->object, ends[i])) {
            x->state = ends[i];
            x->message = json_get_text(object_condition(x->object, ends[i]), "message", "");
        }
    if (strcmp(x->state, "unknown") != 0)
        return;
    const char *class = missing_class(x);
    x->state = class ? "pending" : x->state;
    x->message = class ? class : "no Workload, PodGroup or Pod of it exists yet: is a controller for this kind running, and is it "
                                 "suspended?";
}

/* Who stands in front is written once and changes: the list knows who it is now. */
static void update_head(struct answer *x)
{
    if (!x->reason || !x->head || strcmp(json_get_text(x->reason, "code", ""), "behind-in-queue") != 0)
        return;
    const char *ns = object_meta(x->head, "namespace"), *name = object_meta(x->head, "name"),
               *queue = json_get_text(x->reason, "queue", "?");
    x->message = x->position > 0 ? arena_printf(x->a, "waits behind Workload %s/%s in StrictFIFO queue %s", ns, name, queue)
                                 : arena_printf(x->a, "the first of StrictFIFO queue %s, not tried yet", queue);
    json_set_text(x->a, x->reason, "message", x->message);
    json_set_text(x->a, x->reason, "name", arena_printf(x->a, "%s/%s", ns, name));
}

static bool lacks_instances(const struct json *reason)
{
    if (text_starts(json_get_text(reason, "resource", ""), "nvidia.com/mig-") &&
        strcmp(json_get_text(reason, "code", ""), "node-resource-short") == 0)
        return true;
    JSON_EACH (child, json_get(reason, "children"))
        if (lacks_instances(child))
            return true;
    return false;
}

/* Who may not read nodes is not told of them. */
static void find_cuts(struct answer *x)
{
    struct err e;
    if (!lacks_instances(x->reason))
        return;
    const struct json *nodes = connection_get(x->c, x->a, "/api/v1/nodes?labelSelector=capstan.dev/mig-demand%3Dtrue", &e);
    JSON_EACH (node, json_get(nodes, "items")) {
        x->cuts = x->cuts ? x->cuts : json_new(x->a, JSON_ARRAY);
        json_append(x->cuts, json_new_text(x->a, object_meta(node, "name")));
    }
}

/* Who may not read queues is not told of it. */
static void find_placement(struct answer *x)
{
    struct err e;
    const char *admitted_by = json_text(json_path(x->decided, "status", "admission", "clusterQueue", NULL), x->cluster_queue);
    const char *path = *admitted_by ? kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "clusterqueues", NULL, admitted_by, NULL)
                       : *x->queue && !json_path(x->decided, "spec", "podSets", NULL)
                           ? kube_path(x->a, "scheduling.volcano.sh", "v1beta1", "queues", NULL, x->queue, NULL)
                           : NULL;
    const struct json *queue = path ? connection_get(x->c, x->a, path, &e) : NULL;
    struct queue_placement own = decode_queue_placement(queue, x->a);
    x->placement = own.own ? placement_name(own.by) : NULL;
}

static void find_state(struct answer *x)
{
    x->position = -1;
    x->unheld = unheld_text(x->a, job_kinds[x->kind].kind, x->object);
    x->queue = x->cluster_queue = x->message = "";
    if (!x->decided) {
        undecided_state(x);
        return;
    }
    const char *kind = json_get_text(x->decided, "kind", "");
    if (strcmp(kind, "Workload") == 0 || json_path(x->decided, "spec", "podSets", NULL))
        workload_state(x);
    else if (json_path(x->decided, "spec", "containers", NULL))
        pod_state(x);
    else
        group_state(x);
    const char *tree = object_waiting(x->decided);
    if (*tree && !x->resume) /* it would be what it waited for before */
        x->reason = json_parse(x->a, bytes_of(tree), NULL, NULL);
    why_until(x->c, x->a, json_get(x->reason, "remedies"));
    update_head(x);
    find_cuts(x);
    find_placement(x);
    if (!*x->message || (x->reason && !json_get(x->reason, "children"))) /* the condition may say less, in Kueue's words */
        x->message = json_get_text(x->reason, "message", x->message);
}

/* ---- printing ---- */

static const char *colour(const struct answer *x, const char *code)
{
    return x->out == stdout ? code : "";
}

static void print_tree(const struct answer *x, const struct json *reason, int depth, bool last, const char *stem)
{
    const char *message = json_get_text(reason, "message", json_get_text(reason, "code", "?"));
    output_line(x->out, "%s%s%s\n", stem,
           depth == 0 ? ""
           : last     ? "`- "
                      : "|- ",
           message);
    char next[256];
    snprintf(next, sizeof next, "%.240s%s", stem, depth == 0 ? "" : last ? "   " : "|  ");
    JSON_EACH (child, json_get(reason, "children"))
        print_tree(x, child, depth + 1, !child->next, next);
    int64_t more = json_get_int64(reason, "more", 0);
    if (more > 0)
        output_line(x->out, "%s... and %lld more\n", next, (long long)more);
}

/* Any one of the remedies is enough; what one joins with "and" is needed together. */
static void print_remedies(const struct answer *x)
{
    const struct json *reason = x->reason;
    const char *impossible = json_get_text(reason, "impossible", "");
    const char *not_computed = json_get_text(reason, "notComputed", "");
    if (*impossible || *not_computed)
        output_line(x->out, "would help: %s\n", *impossible ? impossible : not_computed);
    const char *lead = "would help: ";
    JSON_EACH (remedy, json_get(reason, "remedies")) {
        fputs(colour(x, output_green()), x->out);
        output_line(x->out, "%s%s", lead, json_get_text(remedy, "message", "?"));
        fprintf(x->out, "%s\n", colour(x, output_plain()));
        lead = "        or: ";
    }
}

static void print_cuts(const struct answer *x)
{
    const char *names = "";
    uint32_t shown_n = 0;
    JSON_EACH (name, x->cuts)
        if (shown_n++ < CUTS_SHOWN)
            names = arena_printf(x->a, "%s%s%s", names, *names ? ", " : "", json_text(name, ""));
    if (shown_n > CUTS_SHOWN)
        names = arena_printf(x->a, "%s and %u more", names, shown_n - CUTS_SHOWN);
    output_line(x->out, "MIG layouts follow what waits: GPUs of %s are cut for it when nobody has a part of them\n", names);
}

static void print_text(const struct answer *x)
{
    fputs(colour(x, output_bold()), x->out);
    output_line(x->out, "%s %s/%s", job_kinds[x->kind].title, object_meta(x->object, "namespace"), object_meta(x->object, "name"));
    fputs(colour(x, output_plain()), x->out);
    output_line(x->out, ": %s\n", x->state);
    if (*x->cluster_queue)
        output_line(x->out, "queue: %s (cluster queue %s)\n", x->queue, x->cluster_queue);
    else if (*x->queue)
        output_line(x->out, "queue: %s\n", x->queue);
    if (x->unheld)
        output_line(x->out, "not queued: %s\n", x->unheld);
    if (x->position >= 0)
        output_line(x->out, "position: %lld of %lld waiting\n", (long long)x->position + 1, (long long)x->of_n);
    if (x->placement)
        output_line(x->out, "nodes: chosen by %s, the queue's own policy\n", x->placement);
    if (x->shares)
        output_line(x->out, "%s\n", local_shares_text(x->a, x->shares));
    if (x->size.fewest_n < x->size.asked_n)
        output_line(x->out, "pods: %s\n", gang_size_text(x->a, x->size));
    if (x->preempted)
        output_line(x->out, "%s\n", preempted_text(x->a, x->preempted));
    bool tree = x->reason && json_get(x->reason, "children") && strcmp(json_get_text(x->reason, "code", ""), "admission-checks") != 0;
    if (*x->message && !(tree && strcmp(x->message, json_get_text(x->reason, "message", "")) == 0))
        output_line(x->out, "%s\n", x->message);
    if (tree)
        print_tree(x, x->reason, 0, true, "");
    const char *start = start_text_of(x->a, json_get(x->reason, "start"), clock_wall_us() / 1000);
    if (start)
        output_line(x->out, "starts: %s\n", start);
    const char *machines = json_get_text(json_get(x->reason, "machines"), "message", "");
    if (*machines)
        output_line(x->out, "machines: %s\n", machines);
    if (x->reason)
        print_remedies(x);
    if (x->resume)
        output_line(x->out, "would help: %s\n", x->resume);
    if (x->cuts)
        print_cuts(x);
}

static void print_json(const struct answer *x, enum output_format format)
{
    struct arena *a = x->a;
    struct json *out = json_new(a, JSON_OBJECT);
    json_set_text(a, out, "kind", job_kinds[x->kind].kind);
    json_set_text(a, out, "namespace", object_meta(x->object, "namespace"));
    json_set_text(a, out, "name", object_meta(x->object, "name"));
    json_set_text(a, out, "state", x->state);
    json_set_text(a, out, "message", x->message);
    if (*x->queue)
        json_set_text(a, out, "queue", x->queue);
    if (*x->cluster_queue)
        json_set_text(a, out, "clusterQueue", x->cluster_queue);
    if (x->unheld)
        json_set_text(a, out, "notQueued", x->unheld);
    if (x->resume)
        json_set_text(a, out, "resume", x->resume);
    if (x->position >= 0) {
        json_set_int64(a, out, "position", x->position + 1);
        json_set_int64(a, out, "waiting", x->of_n);
    }
    if (x->size.asked_n) {
        struct json *pods = json_ensure_object(a, out, "pods");
        json_set_int64(a, pods, "asked", x->size.asked_n);
        json_set_int64(a, pods, "fewest", x->size.fewest_n);
        json_set_int64(a, pods, "granted", x->size.granted_n);
    }
    if (x->placement)
        json_set_text(a, out, "placement", x->placement);
    if (x->shares)
        json_set(a, out, "shares", x->shares);
    if (x->preempted)
        json_set(a, out, "preempted", x->preempted);
    json_set(a, out, "reason", x->reason ? json_clone(a, x->reason) : json_new(a, JSON_NULL));
    if (x->cuts)
        json_set(a, out, "migDemand", x->cuts);
    if (start_promised(x->reason))
        json_set_text(a, out, "promised", json_get_text(start_promised(x->reason), "about", ""));
    static const char *const parts[] = {"remedies", "impossible", "notComputed", "start", "machines"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (json_get(x->reason, parts[i]))
            json_set(a, out, parts[i], json_clone(a, json_get(x->reason, parts[i])));
    output_json(out, format);
}

/* Everything that is known of KIND/NAME. -E_INVALID: `what` is none. */
static int ask(struct answer *x, const char *what, struct err *e)
{
    const char *word, *name;
    if (!job_split(x->a, what, &word, &name))
        return err_set(e, E_INVALID, "%s: write KIND/NAME", what);
    int r = job_find(x->c, x->a, word, name, &x->kind, &x->object, e);
    if (r == -E_NOTFOUND && find_group(x, word, name, e) == 0)
        r = 0;
    if (r < 0)
        return r;
    find_decided(x);
    find_state(x);
    return 0;
}

int why_print(struct connection *c, const char *what, FILE *out, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct answer x = {.c = c, .a = a, .out = out};
    int r = ask(&x, what, e);
    if (r == 0)
        print_text(&x);
    return r;
}

static int answer(struct connection *c, const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct answer x = {.c = c, .a = a, .out = stdout};
    struct err e = {0};
    const char *word, *name;
    enum output_format format = output_format_of(o);
    if (!job_split(a, o->arguments[0], &word, &name))
        return options_wrong(o, "%s", o->command->arguments_wrong);
    if (ask(&x, o->arguments[0], &e) < 0) {
        int code = connection_fail("why", &e);
        return e.code == E_INVALID ? EXIT_USAGE : code;
    }
    if (format != OUTPUT_TABLE)
        print_json(&x, format);
    else
        print_text(&x);
    return EXIT_OK;
}

int why_main(const struct options *o)
{
    const char *what = o->arguments[0], *slash = strchr(what, '/'), *name = slash ? slash + 1 : what;
    struct connection c;
    if (!*name) /* the server would answer with all of them */
        return options_wrong(o, "%s", o->command->arguments_wrong);
    int code = connection_open(&c, o, true);
    if (code != EXIT_OK)
        return code;
    code = answer(&c, o);
    connection_close(&c);
    return code;
}
