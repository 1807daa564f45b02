/* vcjob_objects.c - Services, ConfigMaps, Secrets and claims of a Volcano Job
 *
 *   none -> making -> made (marked in status.controlledResources) -> dropping -> none (the marks are taken off)
 *
 * RACE   a mark follows what it stands for, and goes after it: whoever is stopped between two writes makes, or removes, once more what may
 *        be there already. So nothing is missing that is marked, and nothing is left that is not.
 */
#include "base/log.h"
#include "jobs/volcano/vcjob.h"
#include "jobs/volcano/vcjob_volumes.h"

static const char *kind_path(struct work *w, const struct json *object, const char *name)
{
    static const struct {
        const char *kind, *group, *version, *plural;
    } kinds[] = {{"Service", "", "v1", "services"},
                 {"ConfigMap", "", "v1", "configmaps"},
                 {"Secret", "", "v1", "secrets"},
                 {"PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"},
                 {"NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies"}};
    const char *kind = json_get_text(object, "kind", "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            return kube_path(w->arena, kinds[i].group, kinds[i].version, kinds[i].plural, w->ns, name, NULL);
    return NULL;
}

void vcjob_objects_meet(struct vcjob_memory *m, const struct json *job)
{
    bool made = json_path(job, "status", "controlledResources", NULL) != NULL;
    m->objects_version = made ? json_int64(json_path(job, "status", "version", NULL), 0) : -1;
    m->objects_generation = json_int64(json_path(job, "metadata", "generation", NULL), 0);
    m->writing = VCJOB_OBJECTS_QUIET;
    m->met_now = true;
}

void vcjob_objects_settle(struct vcjob_memory *m, const struct work *w)
{
    if (m->writing != VCJOB_OBJECTS_QUIET && work_failed(w))
        m->objects_generation = -1; /* once more */
    else if (m->writing == VCJOB_OBJECTS_DROPPING)
        m->objects_version = -1;
    m->writing = VCJOB_OBJECTS_QUIET;
}

/* WHY only when it is made: the pods that run have the old one. */
static void keys_of(struct vcjob_pass *x, char **ret_private_pem, char **ret_public_line)
{
    struct err e;
    const struct vcjob_plugins *p = &x->plugins;
    if (!p->ssh)
        return;
    struct arena *a = x->work->arena;
    int r = p->ssh_private_key ? vcjob_ssh_key_given(a, p->ssh_private_key, p->ssh_public_key, ret_private_pem, ret_public_line)
                               : vcjob_ssh_key(a, ret_private_pem, ret_public_line, &e);
    if (r < 0)
        log_error("vcjob key=%s error=\"%s\"", x->work->key, e.text);
}

static void remarks_tell(struct vcjob_pass *x)
{
    JSON_EACH (remark, vcjob_remarks(x->work->arena, x->job, &x->plugins, x->tasks, x->tasks_n))
        job_event(x->vcjobs->jobs, x->job, "batch.volcano.sh/v1alpha1", "Job", "Warning", json_get_text(remark, "reason", ""), "%s",
                  json_get_text(remark, "message", ""));
}

void vcjob_objects_make(struct vcjob_pass *x)
{
    struct work *w = x->work;
    struct vcjob_memory *m = x->memory;
    int64_t generation = json_int64(json_path(x->job, "metadata", "generation", NULL), 0);
    /* Stopped in the midst of a change of replicas: its pods tell, and the lists of hosts may not have it. */
    if (m->met_now && map_count(m->pods) != (size_t)x->view.replicas)
        m->objects_generation = 0;
    m->met_now = false;
    if (m->objects_version == x->version && m->objects_generation == generation)
        return;
    bool changed = m->objects_version == x->version && m->objects_generation >= 0; /* the job: some are there already */
    char *private_pem = NULL, *public_line = NULL;
    if (!changed)
        keys_of(x, &private_pem, &public_line);
    struct json *list = vcjob_plugin_objects(w->arena, x->job, &x->plugins, x->tasks, x->tasks_n, private_pem, public_line);
    JSON_EACH (object, list) {
        bool hosts = strcmp(json_get_text(object, "kind", ""), "ConfigMap") == 0;
        work_create(w, kind_path(w, object, NULL), object);
        if (hosts && m->objects_version >= 0) {
            struct json *patch = json_new(w->arena, JSON_OBJECT);
            json_set(w->arena, patch, "data", json_clone(w->arena, json_get(object, "data")));
            work_patch(w, KUBE_PATCH_MERGE, kind_path(w, object, object_meta(object, "name")), patch);
        }
    }
    struct json *claims = vcjob_volume_claims(w->arena, x->job);
    JSON_EACH (claim, claims)
        work_create(w, kind_path(w, claim, NULL), claim);
    if (m->objects_generation != -1 || m->objects_version < 0)
        remarks_tell(x);
    m->objects_version = x->version;
    m->objects_generation = generation;
    if (list->n + claims->n == 0)
        return;
    m->writing = VCJOB_OBJECTS_MAKING;
    work_again(w, 0);
}

void vcjob_objects_drop(struct vcjob_pass *x)
{
    struct work *w = x->work;
    struct vcjob_memory *m = x->memory;
    if (m->objects_version < 0)
        return;
    struct json *list = vcjob_plugin_objects(w->arena, x->job, &x->plugins, x->tasks, x->tasks_n, "", "");
    JSON_EACH (object, list)
        work_delete(w, kind_path(w, object, object_meta(object, "name")), NULL, "Background");
    if (list->n == 0) {
        m->objects_version = -1;
        return;
    }
    m->writing = VCJOB_OBJECTS_DROPPING;
    work_again(w, 0);
}

static void mark(struct arena *a, struct json *status, const char *key, const char *value, bool on)
{
    struct json *marks = json_get(status, "controlledResources");
    if (on)
        json_set_text(a, json_ensure_object(a, status, "controlledResources"), key, value);
    else if (marks)
        (void)json_remove(marks, key);
}

void vcjob_resources_mark(struct vcjob_pass *x, struct json *status)
{
    struct arena *a = x->work->arena;
    const struct vcjob_memory *m = x->memory;
    const struct vcjob_frameworks *f = &x->plugins.frameworks;
#define PLUGIN "plugin-"
    const struct {
        const char *mark; /* its name stands behind PLUGIN */
        bool on;
    } plugins[] = {{PLUGIN "svc", x->plugins.svc},    {PLUGIN "ssh", x->plugins.ssh},
                   {PLUGIN "env", x->plugins.env},    {PLUGIN "pytorch", f->pytorch.on},
                   {PLUGIN "mpi", f->mpi.on},         {PLUGIN "tensorflow", f->tensorflow.on},
                   {PLUGIN "ray", f->ray.on}};
    bool made = m->objects_version == x->version && m->writing == VCJOB_OBJECTS_QUIET, gone = m->objects_version < 0;
    if (!made && !gone)
        return;
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        mark(a, status, plugins[i].mark, plugins[i].mark + sizeof PLUGIN - 1, made && plugins[i].on);
    for (uint32_t i = 0; made && i < vcjob_volumes_n(x->job); i++) {
        const char *claim = vcjob_volume_name(a, x->job, i);
        mark(a, status, arena_printf(a, "volume-pvc-%s", claim), claim, true);
    }
    struct json *marks = json_get(status, "controlledResources");
    if (marks && marks->n == 0)
        (void)json_remove(status, "controlledResources");
}
