/* advise_gangs.c - Jobs whose pods need each other and that nobody starts as a whole: some of them run, and wait for the others
 *
 * Which dialect: the queue of the namespace, where there is one, since it starts a Job as a whole and counts quota; else a PodGroup.
 */
#include "cli/advise/advise.h"
#include "kube/object.h"

static bool needs_all(const struct json *job)
{
    const struct json *spec = json_get(job, "spec");
    int64_t parallelism = json_get_int64(spec, "parallelism", 1);
    return parallelism > 1 && json_get_int64(spec, "completions", -1) == parallelism;
}

static bool is_gang(struct advise *x, const struct json *job)
{
    const struct json *pod = json_path(job, "spec", "template", NULL);
    return *object_label(job, "kueue.x-k8s.io/queue-name") || *object_annotation(pod, "scheduling.volcano.sh/group-name") ||
           pod_is_in_group(x->a, pod);
}

static const struct json *active_queue_in(const struct advise *x, const char *ns)
{
    JSON_EACH (local, x->local_queues)
        if (text_equal(object_meta(local, "namespace"), ns) && object_condition_true(local, "Active"))
            return local;
    return NULL;
}

struct json *advise_pod_group_new(struct arena *a, const char *ns, const char *name, int64_t min_member)
{
    struct json *group = json_new(a, JSON_OBJECT), *metadata;
    json_set_text(a, group, "apiVersion", "scheduling.x-k8s.io/v1alpha1");
    json_set_text(a, group, "kind", "PodGroup");
    metadata = json_ensure_object(a, group, "metadata");
    json_set_text(a, metadata, "name", name);
    if (*ns)
        json_set_text(a, metadata, "namespace", ns);
    json_set_int64(a, json_ensure_object(a, group, "spec"), "minMember", min_member);
    return group;
}

static void gang_add(struct advise *x, struct advise_finding *f, const struct json *job, const struct json *queue)
{
    struct json *object = advise_object(x, job, "batch/v1", "Job");
    advise_made_again("Job", object);
    f->replaces = true;
    if (queue) {
        json_set_text(x->a, json_ensure_object(x->a, json_get(object, "metadata"), "labels"), "kueue.x-k8s.io/queue-name",
                      object_meta(queue, "name"));
        json_set_bool(x->a, json_get(object, "spec"), "suspend", true);
    } else {
        struct json *template = json_path(object, "spec", "template", NULL);
        json_append(f->manifests, advise_pod_group_new(x->a, object_meta(job, "namespace"), object_meta(job, "name"),
                                                       json_int64(json_path(job, "spec", "parallelism", NULL), 1)));
        json_set_text(x->a, json_ensure_object(x->a, json_ensure_object(x->a, template, "metadata"), "labels"),
                      "scheduling.x-k8s.io/pod-group", object_meta(job, "name"));
    }
    json_append(f->manifests, object);
}

static void part_look(struct advise *x, const struct json *job)
{
    const struct advise_owned *o = map_find_text(x->owned, object_meta(job, "uid"));
    if (!o || !o->placed_n || !o->waiting_n || x->now_ms - o->oldest_ms < x->long_ms || !needs_all(job) || is_gang(x, job))
        return;
    const char *ns = object_meta(job, "namespace");
    const struct json *queue = active_queue_in(x, ns);
    const char *todo =
        queue ? arena_printf(x->a, "start it as a whole: label kueue.x-k8s.io/queue-name: %s; it begins anew", object_meta(queue, "name"))
              : "start it as a whole: a PodGroup of all its pods; it begins anew";
    struct advise_finding *f =
        advise_find(x, arena_printf(x->a, "Job %s", object_key(x->a, job)), todo,
                    "%lld of its %lld pods have started and hold %lld GPUs, the others wait: no gang, so it started in part",
                    (long long)o->placed_n, (long long)(o->placed_n + o->waiting_n), (long long)o->held_n);
    advise_evidence(x, f, arena_printf(x->a, "Pod %s/%s", ns, o->waiting), "waits for a node for %s",
                    advise_age(x, x->now_ms - o->oldest_ms));
    advise_evidence(x, f, arena_printf(x->a, "Job %s, spec", object_key(x->a, job)),
                    "completions and parallelism are both %lld: its pods need each other",
                    (long long)json_int64(json_path(job, "spec", "parallelism", NULL), 0));
    gang_add(x, f, job, queue);
}

void advise_part_of_gang(struct advise *x)
{
    JSON_EACH (job, x->jobs)
        part_look(x, job);
}
