/* scenario_objects.c - objects that a step applies or deletes, and the job in short */
#include "base/limits.h"
#include "kube/object.h"
#include "sim/run/scenario_part.h"

#define RUN_SECONDS "capstan.dev/run-seconds"

/* ---- how long pods run ---- */

static void set_runs(struct arena *a, struct json *template, int64_t runs_ms)
{
    struct json *annotations = json_ensure_object(a, json_ensure_object(a, template, "metadata"), "annotations");
    json_set_text(a, annotations, RUN_SECONDS, arena_printf(a, "%lld.%03d", (long long)runs_ms / 1000, (int)(runs_ms % 1000)));
}

/* Every template of a pod at any depth: what has spec.containers. */
static uint32_t set_runs_below(struct arena *a, struct json *v, int64_t runs_ms)
{
    uint32_t n = 0;
    if (json_is(v, JSON_OBJECT) && json_is(json_path(v, "spec", "containers", NULL), JSON_ARRAY)) {
        set_runs(a, v, runs_ms);
        return 1;
    }
    JSON_EACH (child, v)
        if (child->type >= JSON_ARRAY)
            n += set_runs_below(a, child, runs_ms);
    return n;
}

/* ---- apply ---- */

static bool add_object(struct scenario_reader *x, struct json *v, struct scenario_step *s)
{
    if (!json_is(v, JSON_OBJECT))
        return scenario_wrong(x, v, "an object is a mapping with apiVersion, kind and metadata, as for kubectl apply");
    if (text_equal(json_get_text(v, "kind", ""), "List")) {
        JSON_EACH (item, json_get(v, "items"))
            if (!add_object(x, item, s))
                return false;
        return true;
    }
    static const char *const needed[] = {"apiVersion", "kind"};
    for (int i = 0; i < 2; i++)
        if (!*json_get_text(v, needed[i], ""))
            return scenario_wrong(x, v, "%s is missing: say what it is, as in apiVersion: batch/v1, kind: Job", needed[i]);
    if (!*object_meta(v, "name"))
        return scenario_wrong(x, v, "metadata.name is missing: say how the %s is called", json_get_text(v, "kind", ""));
    if (!x->left_objects--)
        return scenario_wrong(x, v, "at most %d objects in one scenario", LIMIT_SCENARIO_OBJECTS);
    s->objects[s->objects_n++] = (struct scenario_object){v, scenario_place_of(x, v)};
    return true;
}

static uint32_t objects_in(const struct json *list)
{
    uint32_t n = 0;
    JSON_EACH (v, list) {
        const struct json *items = text_equal(json_get_text(v, "kind", ""), "List") ? json_get(v, "items") : NULL;
        n += items ? objects_in(items) : 1;
    }
    return n;
}

static bool add_all(struct scenario_reader *x, struct json *list, struct scenario_step *s)
{
    s->objects = arena_alloc(x->a, (objects_in(list) + 1) * sizeof *s->objects);
    JSON_EACH (v, list)
        if (!add_object(x, v, s))
            return false;
    return true;
}

/* Its documents, each a list item; places are those of the file. */
static bool add_file(struct scenario_reader *x, const struct json *named, struct scenario_step *s)
{
    const char *file = named->text;
    struct bytes text;
    struct err e = {0};
    if (!x->read_file)
        return scenario_wrong(x, named, "no file is read here: write the objects themselves");
    if (*file != '/' && *x->dir)
        file = arena_printf(x->a, "%s/%s", x->dir, file);
    if (x->read_file(x->arg, x->a, file, &text, &e) < 0)
        return scenario_wrong(x, named, "%s", e.text);
    if (text.n > x->left_bytes)
        return scenario_wrong(x, named, "the files of one scenario may have %d bytes together", LIMIT_SCENARIO_FILES_BYTES);
    x->left_bytes -= text.n;
    struct scenario_reader inner = *x;
    struct json *docs;
    inner.file = file;
    inner.places = yaml_places_new();
    bool good = yaml_parse_places(x->a, text, &docs, NULL, inner.places, &e) >= 0 || scenario_wrong(x, named, "%s: %s", file, e.text);
    good = good && add_all(&inner, docs, s);
    yaml_places_free(inner.places);
    x->left_objects = inner.left_objects;
    if (good && !s->objects_n)
        return scenario_wrong(x, named, "%s: there is nothing in it", file);
    s->what = named->text;
    return good;
}

bool scenario_read_apply(struct scenario_reader *x, const struct json *step, struct scenario_step *s)
{
    struct json *v = json_get(step, "apply");
    int64_t runs_ms = -1;
    uint32_t templates_n = 0;
    if (!scenario_time(x, step, "runs", &runs_ms))
        return false;
    if (json_is(v, JSON_STRING) && v->n) {
        if (!add_file(x, v, s))
            return false;
    } else if (!json_is(v, JSON_ARRAY) || !v->n) {
        return scenario_wrong(x, v, "apply is a FILE beside the scenario, or a list of objects");
    } else if (!add_all(x, v, s)) {
        return false;
    }
    for (uint32_t i = 0; runs_ms >= 0 && i < s->objects_n; i++) {
        struct json *changed = json_clone(x->a, s->objects[i].object);
        templates_n += set_runs_below(x->a, changed, runs_ms);
        s->objects[i].object = changed;
    }
    if (runs_ms >= 0 && !templates_n)
        return scenario_wrong_key(x, json_get(step, "runs"),
                                  "runs says how long pods run, and none of these objects has a template of pods: write it where one is");
    return true;
}

/* ---- delete ---- */

bool scenario_read_delete(struct scenario_reader *x, const struct json *v, struct scenario_step *s)
{
    static const char *const api[][2] = {{"Job", "batch/v1"},
                                         {"Pod", "v1"},
                                         {"Namespace", "v1"},
                                         {"Deployment", "apps/v1"},
                                         {"StatefulSet", "apps/v1"},
                                         {"TrainJob", "trainer.kubeflow.org/v1alpha1"},
                                         {"JobSet", "jobset.x-k8s.io/v1alpha2"},
                                         {"ClusterQueue", "kueue.x-k8s.io/v1beta2"},
                                         {"LocalQueue", "kueue.x-k8s.io/v1beta2"},
                                         {"PodGroup", "scheduling.x-k8s.io/v1alpha1"}};
    const char *kind = NULL, *name = NULL, *ns = NULL, *version = NULL;
    if (!scenario_keys(x, v, "delete", "kind, apiVersion, namespace, name") || !scenario_text(x, v, "kind", &kind) ||
        !scenario_text(x, v, "name", &name) || !scenario_text(x, v, "namespace", &ns) || !scenario_text(x, v, "apiVersion", &version))
        return false;
    if (!kind || !name)
        return scenario_wrong(x, v, "%s is missing: write delete: {kind: Job, namespace: team-a, name: train}", kind ? "name" : "kind");
    for (size_t i = 0; !version && i < sizeof api / sizeof *api; i++)
        if (text_equal(kind, api[i][0]))
            version = api[i][1];
    if (!version)
        return scenario_wrong(x, v, "apiVersion is missing: say of which the %.40s is", kind);
    struct json *object = json_new(x->a, JSON_OBJECT), *metadata = json_ensure_object(x->a, object, "metadata");
    json_set_text(x->a, object, "apiVersion", version);
    json_set_text(x->a, object, "kind", kind);
    json_set_text(x->a, metadata, "name", name);
    if (ns)
        json_set_text(x->a, metadata, "namespace", ns);
    s->objects = arena_alloc(x->a, sizeof *s->objects);
    s->objects[0] = (struct scenario_object){object, scenario_place_of(x, v)};
    s->objects_n = 1;
    return true;
}

/* ---- job ---- */

struct short_job {
    const char *name, *ns, *queue, *priority;
    int64_t pods_n, gpus_n, runs_ms;
};

static struct json *job_object(struct arena *a, const struct short_job *j)
{
    struct json *job = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, job, "metadata");
    json_set_text(a, job, "apiVersion", "batch/v1");
    json_set_text(a, job, "kind", "Job");
    json_set_text(a, metadata, "name", j->name);
    json_set_text(a, metadata, "namespace", j->ns);
    if (j->queue)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), "kueue.x-k8s.io/queue-name", j->queue);
    if (j->priority)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), "kueue.x-k8s.io/priority-class", j->priority);
    struct json *spec = json_ensure_object(a, job, "spec"), *template = json_ensure_object(a, spec, "template"),
                *pod = json_ensure_object(a, template, "spec"), *container = json_new(a, JSON_OBJECT);
    json_set_int64(a, spec, "parallelism", j->pods_n);
    json_set_int64(a, spec, "completions", j->pods_n);
    if (j->queue)
        json_set_bool(a, spec, "suspend", true);
    json_set_text(a, pod, "restartPolicy", "Never");
    set_runs(a, template, j->runs_ms);
    json_set_text(a, container, "name", "main");
    json_set_text(a, container, "image", "example.com/train");
    if (j->gpus_n)
        json_set_text(a, json_ensure_object(a, json_ensure_object(a, container, "resources"), "limits"), "nvidia.com/gpu",
                      arena_printf(a, "%lld", (long long)j->gpus_n));
    json_append(json_ensure_array(a, pod, "containers"), container);
    return job;
}

bool scenario_read_job(struct scenario_reader *x, const struct json *v, struct scenario_step *s)
{
    struct short_job j = {.ns = "default", .pods_n = 1, .gpus_n = 1, .runs_ms = -1};
    if (!scenario_keys(x, v, "job", "name, namespace, queue, priority, pods, gpus, runs") || !scenario_text(x, v, "name", &j.name) ||
        !scenario_text(x, v, "namespace", &j.ns) || !scenario_text(x, v, "queue", &j.queue) ||
        !scenario_text(x, v, "priority", &j.priority) || !scenario_number(x, v, "pods", 1, LIMIT_SCENARIO_PODS, &j.pods_n) ||
        !scenario_number(x, v, "gpus", 0, 1024, &j.gpus_n) || !scenario_time(x, v, "runs", &j.runs_ms))
        return false;
    if (!j.name)
        return scenario_wrong(x, v, "name is missing: write job: {name: train, gpus: 1, runs: 10m}");
    if (j.runs_ms < 0)
        return scenario_wrong(x, v, "runs is missing: say how long each pod runs, as in runs: 10m");
    if (!x->left_objects--)
        return scenario_wrong(x, v, "at most %d objects in one scenario", LIMIT_SCENARIO_OBJECTS);
    s->objects = arena_alloc(x->a, sizeof *s->objects);
    s->objects[0] = (struct scenario_object){job_object(x->a, &j), scenario_place_of(x, v)};
    s->objects_n = 1;
    return true;
}
