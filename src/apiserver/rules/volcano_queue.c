#include "apiserver/rules/volcano_queue.h"

#include "apiserver/store/object.h"

/* "team-a, team-b"; NULL: no queue names this one as its parent. */
static const char *child_queues(struct apiserver *s, struct arena *a, const char *name)
{
    const char *names = NULL;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "scheduling.volcano.sh", "queues"), NULL, NULL);
    for (const struct store_object *o; (o = store_list_next(c));) {
        const struct json *queue = object_parse(a, o->body);
        if (strcmp(json_text(json_path(queue, "spec", "parent", NULL), ""), name) == 0)
            names = arena_printf(a, "%s%s%s", names ? names : "", names ? ", " : "", o->name);
    }
    store_list_free(c);
    return names;
}

static bool is_alive(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return !json_path(pod, "metadata", "deletionTimestamp", NULL) && strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
}

/* Has the group a pod that is neither over nor about to go? */
static bool group_runs(struct apiserver *s, struct arena *a, const char *ns, const char *name)
{
    bool found = false;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", "pods"), ns, NULL);
    for (const struct store_object *o; !found && (o = store_list_next(c));) {
        const struct json *pod = memmem(o->body->data, o->body->n, name, strlen(name)) ? object_parse(a, o->body) : NULL;
        const struct json *notes = json_path(pod, "metadata", "annotations", NULL);
        found = strcmp(json_get_text(notes, "scheduling.k8s.io/group-name", ""), name) == 0 && is_alive(pod);
    }
    store_list_free(c);
    return found;
}

/* WHY not the queue's status alone: it follows what happens a moment later, and who deletes jobs or pods deletes their queue next. */
static bool has_running(struct apiserver *s, struct arena *a, const char *name)
{
    bool found = false;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "scheduling.volcano.sh", "podgroups"), NULL, NULL);
    for (const struct store_object *o; !found && (o = store_list_next(c));) {
        const struct json *group = memmem(o->body->data, o->body->n, name, strlen(name)) ? object_parse(a, o->body) : NULL;
        found = strcmp(json_text(json_path(group, "spec", "queue", NULL), ""), name) == 0 &&
                strcmp(json_text(json_path(group, "status", "phase", NULL), ""), "Running") == 0 && group_runs(s, a, o->ns, o->name);
    }
    store_list_free(c);
    return found;
}

int volcano_queue_stays(struct apiserver *s, struct arena *a, const struct json *queue, struct err *e)
{
    const char *what = "queues.scheduling.volcano.sh", *name = json_text(json_path(queue, "metadata", "name", NULL), "");
    if (strcmp(name, "default") == 0 || strcmp(name, "root") == 0)
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: `%s` queue can not be deleted", what, name, name);
    const char *children = child_queues(s, a, name);
    if (children)
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: it is the parent of %s: delete these first", what, name, children);
    int64_t running_n = json_get_int64(json_get(queue, "status"), "running", 0);
    if (running_n > 0 && has_running(s, a, name))
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: %lld of its pod groups run: delete their jobs, or close the queue and wait",
                       what, name, (long long)running_n);
    return 0;
}
