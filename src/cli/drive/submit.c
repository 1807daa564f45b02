/* submit.c - capstan submit: a job from a line of options; first whether it would start, then the job itself
 *
 *   options ──▶ manifest ──server, as a dry run──▶ as it would be stored ──▶ forecast ──▶ POST
 */
#include <stdio.h>
#include "base/clock.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/drive/forecast.h"
#include "cli/drive/queue_missing.h"
#include "cli/drive/submit_manifest.h"
#include "kube/object.h"

struct submit {
    const struct options *o;
    struct connection c;
    struct arena *a;
    struct submission s;
    struct json *job; /* as the server completes it */
    int64_t priority;
};

/* ---- options ---- */

static int check_pairs(const struct options *o, uint32_t id, const char *name)
{
    for (uint32_t i = 0; i < o->given_n; i++)
        if (o->given[i].id == id && (!strchr(o->given[i].text, '=') || *o->given[i].text == '='))
            return options_wrong(o, "--%s: write NAME=VALUE, not '%s'", name, o->given[i].text);
    return EXIT_OK;
}

/* What was meant by it: a manifest, a slice, a part of a GPU. */
static int gpus_wrong(const struct options *o, const char *gpus)
{
    const char *first = o->arguments_n ? o->arguments[0] : "";
    if (!gpus && (text_ends(first, ".yaml") || text_ends(first, ".yml") || text_ends(first, ".json")))
        return options_wrong(o, "%s: a manifest is applied: kubectl apply -f %s; capstan advise %s says before whether it would start",
                             first, first, first);
    if (!gpus)
        return options_wrong(o, "say how many GPUs, with --gpus: 4 for one pod of 4, 8x4 for 8 pods of 4 each");
    if (strstr(gpus, "mig-"))
        return options_wrong(o, "--gpus: how many; which slices they are says --resource: --gpus 1 --resource nvidia.com/%s",
                             strstr(gpus, "mig-"));
    return options_wrong(o, "--gpus: write GPUS or PODSxGPUS, as 4 or 8x4, not '%s'%s", gpus,
                         strchr(gpus, '.') ? "; a part of a GPU is a MIG slice (--gpus 1 --resource nvidia.com/mig-1g.5gb), or a share where "
                                             "nodes hand out theirs several times (--gpus 1 --annotation gpu-fraction=0.5)"
                                           : "");
}

static int take(struct submit *x)
{
    const struct options *o = x->o;
    const char *gpus = option_text(o, OPT_SUBMIT_GPUS), *name = option_text(o, OPT_SUBMIT_NAME), *image = option_text(o, OPT_SUBMIT_IMAGE);
    x->s = (struct submission){.o = o,
                               .queue = option_text(o, OPT_SUBMIT_QUEUE),
                               .priority_class = option_text(o, OPT_SUBMIT_PRIORITY),
                               .image = image,
                               .resource = option_text(o, OPT_SUBMIT_RESOURCE),
                               .user = option_text(o, OPT_SUBMIT_USER),
                               .cpu = option_text(o, OPT_SUBMIT_CPU),
                               .memory = option_text(o, OPT_SUBMIT_MEMORY),
                               .limit_s = option_number(o, OPT_SUBMIT_TIME, 0) / 1000,
                               .command = (const char *const *)o->arguments};
    if (!gpus || !submission_gpus(gpus, &x->s.pods_n, &x->s.gpus_n))
        return gpus_wrong(o, gpus);
    if (!image || !*image)
        return options_wrong(o, "say what to run, with --image");
    if (x->s.queue && (!*x->s.queue || strchr(x->s.queue, '/')))
        return options_wrong(o, "--queue: the name of a LocalQueue of the job's namespace, not '%s'", x->s.queue);
    if (check_pairs(o, OPT_SUBMIT_ENV, "env") != EXIT_OK || check_pairs(o, OPT_SUBMIT_ANNOTATION, "annotation") != EXIT_OK)
        return EXIT_USAGE;
    x->s.name = name && *name ? name : submission_name(x->a, image, random_seed_from_system());
    return EXIT_OK;
}

/* ---- what the server knows ---- */

static const struct json *localqueues(struct submit *x)
{
    struct err e = {0}; /* who may not read them has to say which */
    const char *path = kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "localqueues", x->c.ns, NULL, NULL);
    return json_get(connection_get(&x->c, x->a, path, &e), "items");
}

/* Without --queue: the only one of the namespace. A queue that is not there is refused: nothing else would. */
static int settle_queue(struct submit *x, struct err *e)
{
    const struct json *queues = localqueues(x), *only = json_first(queues);
    const char *names = NULL;
    if (!x->s.queue && only && !only->next) {
        x->s.queue = object_meta(only, "name");
        return 0;
    }
    bool there = false;
    JSON_EACH (queue, queues) {
        there = there || text_equal(object_meta(queue, "name"), x->s.queue ? x->s.queue : "");
        names = arena_printf(x->a, "%s%s%s", names ? names : "", names ? ", " : "", object_meta(queue, "name"));
    }
    if (!x->s.queue && names)
        return err_set(e, E_INVALID, "say which queue, with --queue: namespace %s has %s", x->c.ns, names);
    if (x->s.queue && queues && !there)
        return err_set(e, E_NOTFOUND, "%s", queue_missing_text(&x->c, x->a, x->s.queue, true));
    return 0;
}

static int settle_priority(struct submit *x, struct err *e)
{
    struct err one = {0};
    const char *group = x->s.queue ? "kueue.x-k8s.io" : "scheduling.k8s.io", *version = x->s.queue ? "v1beta2" : "v1",
               *plural = x->s.queue ? "workloadpriorityclasses" : "priorityclasses",
               *kind = x->s.queue ? "WorkloadPriorityClass" : "PriorityClass", *names = NULL;
    if (!x->s.priority_class)
        return 0;
    const struct json *list = json_get(connection_get(&x->c, x->a, kube_path(x->a, group, version, plural, NULL, NULL, NULL), &one), "items");
    JSON_EACH (class, list) {
        names = arena_printf(x->a, "%s%s%s", names ? names : "", names ? ", " : "", object_meta(class, "name"));
        if (text_equal(object_meta(class, "name"), x->s.priority_class)) {
            x->priority = json_get_int64(class, "value", 0);
            return 0;
        }
    }
    return one.code ? 0 : err_set(e, E_NOTFOUND, "there is no %s %s; there are: %s", kind, x->s.priority_class, names ? names : "none");
}

static struct json *post(struct submit *x, const struct json *object, const char *query, struct err *e)
{
    bool is_job = text_equal(json_get_text(object, "kind", ""), "Job");
    const char *path = is_job ? kube_path(x->a, "batch", "v1", "jobs", x->c.ns, NULL, NULL)
                              : kube_path(x->a, "scheduling.x-k8s.io", "v1alpha1", "podgroups", x->c.ns, NULL, NULL);
    return connection_send(&x->c, x->a, "POST", arena_printf(x->a, "%s%s", path, query), NULL, object, e);
}

/* ---- before and after ---- */

static void say_what(const struct submit *x)
{
    const struct submission *s = &x->s;
    fprintf(stderr, "Job %s/%s: %lld pod%s of %lld %s", s->ns, s->name, (long long)s->pods_n, s->pods_n == 1 ? "" : "s",
            (long long)s->gpus_n, s->resource);
    if (s->pods_n > 1)
        fprintf(stderr, ", %lld together", (long long)(s->pods_n * s->gpus_n));
    if (s->queue)
        fprintf(stderr, ", in queue %s\n", s->queue);
    else
        fprintf(stderr, ", in no queue%s\n", submission_is_group(s) ? ", as a pod group" : "");
}

static void print_manifest(const struct submit *x)
{
    enum output_format format = text_equal(option_text(x->o, OPT_SUBMIT_OUTPUT), "json") ? OUTPUT_JSON : OUTPUT_YAML;
    struct json *job = submission_job(x->a, &x->s);
    if (!submission_is_group(&x->s)) {
        output_json(job, format);
        return;
    }
    struct json *group = submission_group(x->a, &x->s, NULL), *list = json_new(x->a, JSON_OBJECT);
    if (format == OUTPUT_YAML) {
        output_json(group, format);
        puts("---");
        output_json(job, format);
        return;
    }
    json_set_text(x->a, list, "apiVersion", "v1");
    json_set_text(x->a, list, "kind", "List");
    json_append(json_ensure_array(x->a, list, "items"), group);
    json_append(json_ensure_array(x->a, list, "items"), job);
    output_json(list, format);
}

/* EXIT_OK: it may be submitted; EXIT_NO_FIT: it was said why not. */
static int foresee(struct submit *x)
{
    const struct json *objects = submission_objects(x->a, &x->s, x->job, x->priority, clock_wall_us() / 1000);
    struct forecast f = forecast_make(&x->c, x->a, objects);
    output_say(stderr, "%s", f.text);
    if (f.verdict == PREVIEW_NEVER && !option_flag(x->o, OPT_SUBMIT_ANYWAY)) {
        if (!option_flag(x->o, OPT_SUBMIT_DRY_RUN))
            fputs("not submitted: --anyway does it all the same\n", stderr);
        return EXIT_NO_FIT;
    }
    if (option_flag(x->o, OPT_SUBMIT_IMMEDIATE) && f.verdict != PREVIEW_STARTS) {
        fputs("not submitted: it would not start at once\n", stderr);
        return EXIT_NO_FIT;
    }
    return EXIT_OK;
}

static int create(struct submit *x, struct err *e)
{
    const struct json *job = post(x, submission_job(x->a, &x->s), "", e);
    if (!job)
        return -e->code;
    if (submission_is_group(&x->s) && !post(x, submission_group(x->a, &x->s, job), "", e))
        return err_wrap(e, "the Job is made, and its pods wait for PodGroup %s", x->s.name);
    printf("Job/%s: submitted\n", x->s.name);
    return 0;
}

/* Not without a cluster's word; but the manifest of a dry run needs none. */
static int ask(struct submit *x, struct err *e)
{
    int r = settle_queue(x, e);
    if (r == 0)
        r = settle_priority(x, e);
    if (r < 0)
        return r;
    x->job = post(x, submission_job(x->a, &x->s), "?dryRun=All", e);
    return x->job ? 0 : -e->code;
}

/* WHY  the path of a request says nothing to whoever wrote options. */
static int failed(const struct err *e)
{
    struct err plain = *e;
    const char *said = text_starts(e->text, "POST ") ? strstr(e->text, ": ") : NULL;
    if (said)
        (void)err_set(&plain, e->code, "%s", said + 2);
    int code = connection_fail("submit", &plain);
    return e->code == E_INVALID ? EXIT_USAGE : code;
}

static int run(struct submit *x)
{
    bool dry = option_flag(x->o, OPT_SUBMIT_DRY_RUN);
    struct err e = {0};
    x->s.ns = x->c.ns;
    int code, r = ask(x, &e);
    if (r < 0 && !(dry && e.code == E_IO))
        return failed(&e);
    say_what(x);
    if (dry)
        print_manifest(x);
    if (r < 0) {
        fprintf(stderr, "not known whether it would start: %s\n", e.text);
        return EXIT_OK;
    }
    code = foresee(x);
    if (code != EXIT_OK || dry)
        return code;
    return create(x, &e) < 0 ? failed(&e) : EXIT_OK;
}

int submit_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct submit x = {.o = o, .a = a};
    int code = take(&x);
    if (code == EXIT_OK)
        code = connection_open(&x.c, o, true);
    if (code != EXIT_OK)
        return code;
    code = run(&x);
    connection_close(&x.c);
    return code;
}
