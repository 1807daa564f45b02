/* drive.c - see drive.h */
#include "cli/drive/drive.h"
#include <stdio.h>
#include "cli/cli.h"
#include "cli/lookup/pod_group.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

enum { WAIT_MS = 60000, LOOK_MS = 200 };

/* ---- which object ---- */

static enum job_kind kind_called(const char *api_kind)
{
    for (int i = 0; i < JOB_KINDS_N; i++)
        if (job_queued_kind((enum job_kind)i) && text_equal(job_kinds[i].kind, api_kind))
            return (enum job_kind)i;
    return JOB_KINDS_N;
}

/* The kinds that own what queues decide about. */
static bool owns(enum job_kind kind)
{
    return kind == JOB_KIND_VCJOB || job_queued_kind(kind) != NULL;
}

/* A name alone must be one job's: what is done to the wrong one cannot be taken back. The JobSet that a TrainJob has made is no other. */
static int check_only(struct drive *d, const char *name, struct err *e)
{
    for (int i = d->kind + 1; owns(d->kind) && i < JOB_KINDS_N; i++) {
        struct err one = {0};
        const struct json *other = owns((enum job_kind)i) ? job_get(d->c, d->a, (enum job_kind)i, name, &one) : NULL;
        if (other && !text_equal(object_controller(other, "uid"), object_meta(d->object, "uid")))
            return err_set(e, E_INVALID, "there are a %s and a %s of this name: write %s/%s or %s/%s", job_kinds[d->kind].title,
                           job_kinds[i].title, job_kinds[d->kind].kind, name, job_kinds[i].kind, name);
    }
    return 0;
}

/* From a Workload, a pod group or a Job to the one that made it, where that is one of ours. */
static void climb(struct drive *d)
{
    for (int steps = 0; steps < 2 && d->kind < JOB_KIND_POD; steps++) {
        const char *owner = object_controller(d->object, "kind"), *name = object_controller(d->object, "name");
        enum job_kind kind = d->kind == JOB_KIND_VOLCANO_GROUP && text_equal(owner, "Job") ? JOB_KIND_VCJOB : kind_called(owner);
        struct err e = {0};
        const struct json *object = kind < JOB_KINDS_N ? job_get(d->c, d->a, kind, name, &e) : NULL;
        if (!object)
            return;
        d->object = object;
        d->kind = kind;
    }
}

/* Sets whose pods are queued together (codec/kinds/queued_sets.h). */
static bool is_set_of_queues(enum job_kind kind)
{
    return kind == JOB_KIND_STATEFULSET || kind == JOB_KIND_LEADERWORKERSET;
}

static void find_workload(struct drive *d)
{
    struct err e = {0};
    const char *group = d->kind == JOB_KIND_POD ? pod_group_name(d->a, d->object, POD_GROUP_KUEUE) : "";
    if (d->kind == JOB_KIND_WORKLOAD)
        d->workload = d->object;
    else if (*group)
        d->workload = job_get(d->c, d->a, JOB_KIND_WORKLOAD, group, &e);
    else if (job_queued_kind(d->kind) || d->kind == JOB_KIND_POD || is_set_of_queues(d->kind))
        d->workload = job_owned_by(job_items(d->c, d->a, JOB_KIND_WORKLOAD, false), object_meta(d->object, "uid"));
}

/* Of a set in a queue. WHY not all of it: another queue is written by its label, which is refused while it serves; and who deletes it means
 * the set, not a job. */
static int check_set(const struct drive *d, struct err *e)
{
    static const char *const verbs[] = {"hold", "resume", "requeue"};
    const char *verb = d->o->command->name;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && d->kind == JOB_KIND_STATEFULSET; i++)
        if (text_equal(verbs[i], verb))
            return 0;
    if (d->kind == JOB_KIND_LEADERWORKERSET)
        return err_set(e, E_INVALID, "each of its groups has a Workload: name that, as workload/%s", object_meta(d->workload, "name"));
    return err_set(e, E_INVALID, text_equal(verb, "move")
                                     ? "it stands where its label kueue.x-k8s.io/queue-name says: kubectl scale it to 0, then kubectl label it"
                                     : "it makes its pods again: kubectl scale --replicas, or kubectl delete");
}

static int check_kind(const struct drive *d, struct err *e)
{
    const char *owner = d->kind == JOB_KIND_POD ? object_controller(d->object, "kind") : "";
    if (*owner)
        return err_set(e, E_INVALID, "it is a pod of %s %s, which would make another one: name that", owner,
                       object_controller(d->object, "name"));
    if (is_set_of_queues(d->kind) && d->workload)
        return check_set(d, e);
    if (d->kind >= JOB_KIND_DEPLOYMENT)
        return err_set(e, E_INVALID, "no queue has a %s: kubectl scale --replicas, or kubectl delete", job_kinds[d->kind].title);
    return 0;
}

static int find(struct drive *d, const char *word, const char *name, bool is_bare, struct err *e)
{
    int r = job_find(d->c, d->a, word, name, &d->kind, &d->object, e);
    if (r == 0 && is_bare)
        r = check_only(d, name, e);
    if (r < 0)
        return r;
    climb(d);
    find_workload(d);
    d->name = object_meta(d->object, "name");
    d->uid = object_meta(d->object, "uid");
    return check_kind(d, e);
}

/* ---- what it is doing ---- */

bool drive_is_over(const struct drive *d)
{
    static const char *const phases[] = {"Completed", "Failed", "Terminated", "Finished", "Succeeded"};
    const struct json *status = json_get(d->object, "status");
    const char *phase = json_get_text(status, "phase", json_text(json_path(status, "state", "phase", NULL), ""));
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (text_equal(phase, phases[i]))
            return true;
    const struct queued_kind *k = job_queued_kind(d->kind);
    return (k && (object_condition_true(d->object, k->succeeded) || object_condition_true(d->object, "Failed"))) ||
           object_condition_true(d->workload, "Finished");
}

static bool is_of(const struct drive *d, const struct json *pod)
{
    const char *group = d->kind == JOB_KIND_WORKLOAD ? d->name : pod_group_name(d->a, d->object, POD_GROUP_KUEUE);
    if (d->kind >= JOB_KIND_VOLCANO_GROUP && d->kind <= JOB_KIND_KAI)
        return text_equal(pod_group_name(d->a, pod, (enum pod_group_maker)(d->kind - JOB_KIND_VOLCANO_GROUP)), d->name);
    if (text_equal(object_controller(pod, "uid"), d->uid) || text_equal(object_meta(pod, "uid"), d->uid))
        return true;
    if (d->kind == JOB_KIND_WORKLOAD)
        JSON_EACH (owner, json_path(d->object, "metadata", "ownerReferences", NULL))
            if (text_equal(json_get_text(owner, "uid", ""), object_meta(pod, "uid")))
                return true;
    return (d->kind == JOB_KIND_WORKLOAD || d->kind == JOB_KIND_POD) && *group &&
           text_equal(pod_group_name(d->a, pod, POD_GROUP_KUEUE), group);
}

static const struct json *named(const struct json *list, const char *name)
{
    JSON_EACH (item, *name ? list : NULL)
        if (text_equal(object_meta(item, "name"), name))
            return item;
    return NULL;
}

/* Of a PodGroup that is below this CompositePodGroup, or below one that is. */
static bool is_below(const struct drive *d, const struct json *groups, const struct json *composites, const char *group)
{
    const struct json *at = named(groups, group);
    for (int depth = 1; depth < NATIVE_DEPTH && at; depth++) {
        const char *parent = decode_native_parent(at);
        if (text_equal(parent, d->name))
            return true;
        at = named(composites, parent);
    }
    return false;
}

const struct json *drive_pods(const struct drive *d)
{
    struct json *own = json_new(d->a, JSON_ARRAY);
    bool is_composite = d->kind == JOB_KIND_COMPOSITE;
    const struct json *groups = is_composite ? job_items(d->c, d->a, JOB_KIND_NATIVE, false) : NULL;
    const struct json *composites = is_composite ? job_items(d->c, d->a, JOB_KIND_COMPOSITE, false) : NULL;
    JSON_EACH (pod, job_items(d->c, d->a, JOB_KIND_POD, false)) {
        const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
        bool is_own = is_composite ? is_below(d, groups, composites, pod_group_name(d->a, pod, POD_GROUP_NATIVE)) : is_of(d, pod);
        if (is_own && !text_equal(phase, "Succeeded") && !text_equal(phase, "Failed"))
            json_append(own, json_clone(d->a, pod));
    }
    return own;
}

bool drive_runs(const struct drive *d)
{
    if (d->workload)
        return object_condition_true(d->workload, "QuotaReserved");
    JSON_EACH (pod, drive_pods(d))
        if (json_path(pod, "spec", "nodeName", NULL))
            return true;
    return false;
}

int drive_may_stop(const struct drive *d, bool stop, const char *verb, struct err *e)
{
    if (!drive_runs(d))
        return 0;
    JSON_EACH (pod, drive_pods(d))
        if (!*object_controller(pod, "kind"))
            return err_set(e, E_CONFLICT, "it runs, and nobody would make its pods again: capstan cancel ends them for good");
    if (stop || !json_get_bool(json_get(d->workload, "spec"), "active", true)) /* told already to end them */
        return 0;
    return err_set(e, E_CONFLICT, "it runs, and to %s it ends its pods: say so with --stop", verb);
}

/* ---- doing ---- */

static int patch_at(struct drive *d, const char *path, const char *patch, struct err *e)
{
    struct err one = {0};
    const struct json *body = json_parse(d->a, bytes_of(patch), NULL, &one);
    (void)connection_send(d->c, d->a, "PATCH", path, kube_patch_type(KUBE_PATCH_MERGE), body, &one);
    if (one.code)
        *e = one;
    return -one.code;
}

int drive_patch(struct drive *d, enum job_kind kind, const char *name, const char *patch, struct err *e)
{
    return patch_at(d, job_path(d->c, d->a, kind, kind == d->kind ? d->object : NULL, name), patch, e);
}

int drive_patch_object(struct drive *d, const char *patch, struct err *e)
{
    return drive_patch(d, d->kind, d->name, patch, e);
}

int drive_patch_workload(struct drive *d, const char *patch, struct err *e)
{
    return drive_patch(d, JOB_KIND_WORKLOAD, object_meta(d->workload, "name"), patch, e);
}

int drive_suspend(struct drive *d, bool suspend, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    struct json *patch = json_new(d->a, JSON_OBJECT);
    json_set_bool(d->a, queued_kind_policy(d->a, job_queued_kind(d->kind), patch), "suspend", suspend);
    json_write(&text, patch);
    return drive_patch_object(d, arena_text(d->a, text.data), e);
}

int drive_command(struct drive *d, const char *action, struct err *e)
{
    struct err one = {0};
    struct json *command = json_new(d->a, JSON_OBJECT), *target = json_ensure_object(d->a, command, "target");
    json_set_text(d->a, command, "apiVersion", "bus.volcano.sh/v1alpha1");
    json_set_text(d->a, command, "kind", "Command");
    json_set_text(d->a, json_ensure_object(d->a, command, "metadata"), "generateName", arena_printf(d->a, "%.200s-", d->name));
    json_set_text(d->a, command, "action", action);
    json_set_text(d->a, command, "message", arena_printf(d->a, "capstan %s", d->o->command->name));
    json_set_text(d->a, target, "apiVersion", "batch.volcano.sh/v1alpha1");
    json_set_text(d->a, target, "kind", "Job");
    json_set_text(d->a, target, "name", d->name);
    json_set_text(d->a, target, "uid", d->uid);
    json_set_bool(d->a, target, "controller", true);
    const char *path = kube_path(d->a, "bus.volcano.sh", "v1alpha1", "commands", d->c->ns, NULL, NULL);
    (void)connection_send(d->c, d->a, "POST", path, NULL, command, &one);
    if (one.code)
        *e = one;
    return -one.code;
}

bool drive_gave_back(const struct drive *d)
{
    JSON_EACH (pod, d->workload ? NULL : drive_pods(d))
        return !pod;
    return !object_condition_true(d->workload, "QuotaReserved");
}

int drive_wait(struct drive *d, bool (*is)(const struct drive *d), const char *what, struct err *e)
{
    for (int ms = 0; ms < WAIT_MS; ms += LOOK_MS) {
        struct err one = {0};
        d->object = job_get(d->c, d->a, d->kind, d->name, &one);
        find_workload(d);
        if (one.code) {
            *e = one;
            return -one.code;
        }
        if (is(d))
            return 0;
        if (loop_run_for(d->c->loop, LOOK_MS, e) < 0)
            return -e->code;
    }
    return err_set(e, E_AGAIN, "%s after %d s", what, WAIT_MS / 1000);
}

/* ---- one after the other ---- */

/* As capstan jobs calls it. */
static const char *title_of(const struct drive *d)
{
    return d->kind == JOB_KIND_WORKLOAD && job_is_pod_group(d->object) ? "PodGroup" : job_kinds[d->kind].kind;
}

static int one_of(struct connection *c, const struct options *o, const char *what, int (*act)(struct drive *d, struct err *e))
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct drive d = {.c = c, .a = a, .o = o, .said = ""};
    struct err e = {0};
    const char *word, *name;
    if (!job_split(a, what, &word, &name))
        return options_wrong(o, "%s", o->command->arguments_wrong);
    int r = find(&d, word, name, !strchr(what, '/'), &e);
    if (r == 0)
        r = act(&d, &e);
    if (r == 0) {
        printf("%s/%s: %s\n", title_of(&d), d.name, d.said);
        return EXIT_OK;
    }
    if (e.code != E_NOTFOUND || d.object)
        (void)err_wrap(&e, "%s", what);
    int code = connection_fail(o->command->name, &e);
    return e.code == E_INVALID && !d.object ? EXIT_USAGE : code;
}

int drive_each(const struct options *o, int (*act)(struct drive *d, struct err *e))
{
    struct connection c;
    int code = connection_open(&c, o, true);
    if (code != EXIT_OK)
        return code;
    for (int i = 0; i < o->arguments_n; i++) {
        int one = one_of(&c, o, o->arguments[i], act);
        code = code == EXIT_OK ? one : code;
    }
    connection_close(&c);
    return code;
}
