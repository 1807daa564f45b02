/* trainjob_policy.c - what the mlPolicy of a runtime gives the pods of a TrainJob: how they find each other; see trainjob_sets.h
 *
 * ORDER  variables stand before the container's own, which may refer to them.
 */
#include "base/amount.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "jobs/kubeflow/trainjob_sets.h"
#include "jobs/volcano/vcjob_pods.h"
#include "kube/object.h"

enum { TRAINER_PORT = 29500 };
#define RANK "metadata.annotations['batch.kubernetes.io/job-completion-index']"
#define HOSTFILE_PATH "/etc/mpi"

struct view {
    struct arena *a;
    const struct json *job, *ml;
    struct json *set, *replicated; /* the JobSet, and which of its replicatedJobs trains */
    const char *name;
    int64_t pods_n;
};

/* ---- lists by name ---- */

static struct json *item_named(const struct json *list, const char *name)
{
    JSON_EACH (item, list)
        if (strcmp(json_get_text(item, "name", ""), name) == 0)
            return item;
    return NULL;
}

/* A new item in the place of what has this name. */
static struct json *item_put(struct arena *a, struct json *list, const char *name, size_t at)
{
    struct json *item = json_new(a, JSON_OBJECT), *old = item_named(list, name);
    if (old)
        (void)json_remove_item(list, old);
    json_set_text(a, item, "name", name);
    json_insert(list, at < list->n ? at : list->n, item);
    return item;
}

struct env {
    const char *name, *value; /* NULL: the pod's index in its Job */
};

static void env_put(struct arena *a, struct json *container, const struct env *envs, size_t n)
{
    for (size_t i = 0; container && i < n; i++) {
        struct json *item = item_put(a, json_ensure_array(a, container, "env"), envs[i].name, i);
        if (envs[i].value)
            json_set_text(a, item, "value", envs[i].value);
        else
            json_set_text(a, json_ensure_object(a, json_ensure_object(a, item, "valueFrom"), "fieldRef"), "fieldPath", RANK);
    }
}

static void port_put(struct arena *a, struct json *container)
{
    struct json *list = json_ensure_array(a, container, "ports"), *port = json_new(a, JSON_OBJECT);
    JSON_EACH (known, list)
        if (json_get_int64(known, "containerPort", 0) == TRAINER_PORT)
            return;
    json_set_int64(a, port, "containerPort", TRAINER_PORT);
    json_append(list, port);
}

/* ---- what a pod has ---- */

static int64_t whole(const struct json *amount)
{
    struct quantity q;
    return amount && quantity_parse(json_bytes(amount), &q, NULL) == 0 ? quantity_whole(q) : 0;
}

static int64_t gpus_of(const struct json *amounts)
{
    JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL)
        if (strcasestr(amount->key, "gpu"))
            return whole(amount);
    return 0;
}

static int64_t gpus_n(const struct json *container)
{
    const struct json *resources = json_get(container, "resources");
    int64_t n = gpus_of(json_get(resources, "requests"));
    return n ? n : gpus_of(json_get(resources, "limits"));
}

static int64_t cpus_n(const struct json *container)
{
    const struct json *resources = json_get(container, "resources");
    int64_t n = whole(json_path(resources, "requests", "cpu", NULL));
    return n ? n : whole(json_path(resources, "limits", "cpu", NULL));
}

static const char *number(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

static const char *first_host(const struct view *v)
{
    return arena_printf(v->a, "%s-node-0-0.%s", v->name, v->name);
}

/* ---- torch ---- */

static bool says(const struct json *args, const char *key, const char *value)
{
    JSON_EACH (arg, args) {
        const char *text = json_text(arg, ""), *is = strchr(text, '=');
        bool named = strstr(text, key) && (!value || (is && strstr(text, key) < is && strcasecmp(is + 1, value) == 0));
        if (named)
            return true;
    }
    return false;
}

/* "torchtune-llama3.2-1b": llama3_2/1B */
static const char *model_of(struct arena *a, const char *runtime)
{
    const char *first = strchr(runtime, '-'), *second = first ? strchr(first + 1, '-') : NULL;
    if (!second || strchr(second + 1, '-'))
        return "";
    char *text = arena_printf(a, "%.*s/%s", (int)(second - first - 1), first + 1, second + 1), *slash = strchr(text, '/');
    for (char *c = text; *c; c++)
        *c = (char)(c < slash && *c == '.' ? '_' : c > slash && *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return text;
}

/* `tune run` alone is completed: where they meet, the recipe and its file, and what the runtime says of folders.
 * SOURCE trainer, for which recipe. */
static void tune(const struct view *v, struct json *container, const struct json *runtime_command, const char *processes)
{
    static const char *const kept[] = {"output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file"};
    const struct json *args = json_path(v->job, "spec", "trainer", "args", NULL);
    struct json *command = json_get(container, "command");
    int64_t gpus = gpus_n(container), each = 0;
    bool counted = bytes_int64(bytes_of(processes), &each), lora = says(args, "model.lora_attn_modules", NULL),
         qlora = says(args, "model.quantize_base", "true") && !says(args, "model.use_dora", "true"),
         single = v->pods_n == 1 && ((counted && each == 1) || gpus == 1), low = v->pods_n == 1 && (lora || qlora);
    const char *recipe = arena_printf(v->a, "%s_%s", low ? "lora_finetune" : "full_finetune", single ? "single_device" : "distributed");
    const char *suffix = arena_printf(v->a, "%s%s", !low ? "_full" : qlora ? "_qlora" : "_lora",
                                      single ? "_single_device" : v->pods_n > 1 ? "_multinode" : "");
    if (v->pods_n > 1 || (counted && each > 1) || (!counted && gpus > 1))
        json_append(command, json_new_text(v->a, arena_printf(v->a, "--rdzv_endpoint=%s:%d", first_host(v), TRAINER_PORT)));
    json_append(command, json_new_text(v->a, recipe));
    json_append(command, json_new_text(v->a, "--config"));
    json_append(command, json_new_text(v->a, arena_printf(v->a, "%s%s",
                                       model_of(v->a, json_text(json_path(v->job, "spec", "runtimeRef", "name", NULL), "")), suffix)));
    JSON_EACH (word, runtime_command)
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
            if (strncmp(json_text(word, ""), kept[i], strlen(kept[i])) == 0 && json_text(word, "")[strlen(kept[i])] == '=')
                json_append(command, json_clone(v->a, word));
}

static bool is_tune(const struct json *command)
{
    return json_is(command, JSON_ARRAY) && command->n == 2 && strcmp(json_text(json_item(command, 0), ""), "tune") == 0 &&
           strcmp(json_text(json_item(command, 1), ""), "run") == 0;
}

/* The same for helpers that the runtime names. */
static void inject(const struct view *v, const struct env *envs, size_t n)
{
    JSON_EACH (target, json_path(v->ml, "torch", "envInjection", "targets", NULL)) {
        const struct json *of = item_named(json_path(v->set, "spec", "replicatedJobs", NULL), json_get_text(target, "jobName", "")),
                          *spec = json_path(of, "template", "spec", "template", "spec", NULL);
        JSON_EACH (name, json_get(target, "containerNames")) {
            struct json *container = item_named(json_get(spec, "containers"), json_text(name, ""));
            env_put(v->a, container ? container : item_named(json_get(spec, "initContainers"), json_text(name, "")), envs, n);
        }
    }
}

static void torch(const struct view *v, struct json *container, const struct json *runtime)
{
    const struct json *asked = json_path(v->job, "spec", "trainer", "numProcPerNode", NULL),
                      *own = item_named(json_path(runtime, "spec", "template", "spec", "replicatedJobs", NULL),
                                        json_get_text(v->replicated, "name", ""));
    int64_t cpus = cpus_n(container);
    const char *processes = asked ? number(v->a, json_int64(asked, 1)) : gpus_n(container) ? "auto" : number(v->a, cpus > 1 ? cpus : 1);
    const struct env envs[] = {{"PET_NNODES", number(v->a, v->pods_n)}, {"PET_NPROC_PER_NODE", processes}, {"PET_NODE_RANK", NULL},
                               {"PET_MASTER_ADDR", first_host(v)}, {"PET_MASTER_PORT", number(v->a, TRAINER_PORT)}};
    bool tunes = is_tune(json_path(v->job, "spec", "trainer", "command", NULL)) && is_tune(json_get(container, "command"));
    env_put(v->a, container, envs, tunes ? 3 : 5);
    if (tunes)
        tune(v, container, json_get(trainjob_container(own), "command"), processes);
    port_put(v->a, container);
    inject(v, envs, 5);
}

/* ---- jax, xgboost ---- */

static void jax(const struct view *v, struct json *container)
{
    const struct env envs[] = {{"JAX_NUM_PROCESSES", number(v->a, v->pods_n)}, {"JAX_PROCESS_ID", NULL},
                               {"JAX_COORDINATOR_ADDRESS", arena_printf(v->a, "%s:%d", first_host(v), TRAINER_PORT)}};
    env_put(v->a, container, envs, 3);
    port_put(v->a, container);
}

static void xgboost(const struct view *v, struct json *container)
{
    int64_t gpus = gpus_n(container);
    const struct env envs[] = {{"DMLC_TRACKER_URI", first_host(v)}, {"DMLC_TRACKER_PORT", number(v->a, TRAINER_PORT)},
                               {"DMLC_TASK_ID", NULL}, {"DMLC_NUM_WORKER", number(v->a, amount_times(v->pods_n, gpus > 1 ? gpus : 1))}};
    env_put(v->a, container, envs, 4);
    port_put(v->a, container);
}

/* ---- mpi ---- */

static int64_t slots_of(const struct json *trainjob, const struct json *ml, const struct json *container)
{
    const struct json *asked = json_path(trainjob, "spec", "trainer", "numProcPerNode", NULL);
    int64_t each = json_get_int64(json_get(ml, "mpi"), "numProcPerNode", 1), gpus = gpus_n(container);
    return asked ? json_int64(asked, 1) : each == 1 && gpus > 1 ? gpus : each;
}

static void add_key(struct arena *a, struct json *items, const char *key, const char *path, int64_t mode)
{
    struct json *item = json_new(a, JSON_OBJECT);
    json_set_text(a, item, "key", key);
    json_set_text(a, item, "path", path);
    json_set_int64(a, item, "mode", mode);
    json_append(items, item);
}

static void mount(struct arena *a, struct json *container, const char *volume, const char *path)
{
    if (container)
        json_set_text(a, item_put(a, json_ensure_array(a, container, "volumeMounts"), volume, SIZE_MAX), "mountPath", path);
}

/* Launcher and nodes trust each other; the launcher knows all hosts. */
static void mpi(const struct view *v, struct json *replicated)
{
    struct arena *a = v->a;
    struct json *spec = json_path(replicated, "template", "spec", "template", "spec", NULL), *container = trainjob_container(replicated),
                *volumes = json_ensure_array(a, spec, "volumes");
    bool launches = strcmp(json_get_text(replicated, "name", ""), "launcher") == 0;
    struct json *secret = json_ensure_object(a, item_put(a, volumes, "mpi-ssh-auth", SIZE_MAX), "secret"),
                *items = json_ensure_array(a, secret, "items");
    json_set_text(a, secret, "secretName", arena_printf(a, "%s-mpi-ssh-auth", v->name));
    json_set_int64(a, secret, "defaultMode", 0400);
    add_key(a, items, "ssh-privatekey", "id_rsa", 0640);
    add_key(a, items, "ssh-publickey", "id_rsa.pub", 0644);
    add_key(a, items, "ssh-publickey", "authorized_keys", 0644);
    mount(a, container, "mpi-ssh-auth", json_get_text(json_get(v->ml, "mpi"), "sshAuthMountPath", "/root/.ssh"));
    if (!launches)
        return;
    struct json *config = json_ensure_object(a, item_put(a, volumes, "mpi-hostfile", SIZE_MAX), "configMap");
    json_set_text(a, config, "name", arena_printf(a, "%s-mpi-hostfile", v->name));
    add_key(a, json_ensure_array(a, config, "items"), "hostfile", "hostfile", 0444);
    mount(a, container, "mpi-hostfile", HOSTFILE_PATH);
    const struct env envs[] = {{"OMPI_MCA_orte_default_hostfile", HOSTFILE_PATH "/hostfile"}, {"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
                               {"OMPI_MCA_orte_set_default_slots", number(a, slots_of(v->job, v->ml, container))},
                               {"OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"}};
    env_put(a, container, envs, 4);
}

const char *trainjob_hostfile(struct arena *a, const struct json *trainjob, const struct json *runtime, const struct json *jobset)
{
    const struct json *ml = json_path(runtime, "spec", "mlPolicy", NULL);
    const char *name = object_meta(trainjob, "name"), *domain = json_text(json_path(jobset, "spec", "network", "subdomain", NULL), "");
    bool launches = json_get_bool(json_get(ml, "mpi"), "runLauncherAsNode", false);
    _cleanup_buf_ struct buf hosts = {0};
    if (!json_get(ml, "mpi"))
        return NULL;
    JSON_EACH (replicated, json_path(jobset, "spec", "replicatedJobs", NULL)) {
        const char *job = json_get_text(replicated, "name", "");
        int64_t jobs_n = child_jobs_bound(json_get_int64(replicated, "replicas", 1)),
                pods_n = child_jobs_bound(trainjob_pods_n(replicated));
        if (strcmp(job, "node") != 0 && !(launches && strcmp(job, "launcher") == 0))
            continue;
        for (int64_t i = 0; i < jobs_n * pods_n && i < LIMIT_GANG_MEMBERS; i++)
            buf_printf(&hosts, "%s-%s-%lld-%lld.%s slots=%lld\n", name, job, (long long)(i / pods_n), (long long)(i % pods_n),
                       *domain ? domain : name, (long long)slots_of(trainjob, ml, trainjob_container(replicated)));
    }
    return hosts.data ? arena_text_n(a, hosts.data, hosts.n) : "";
}

/* ---- all of them ---- */

void trainjob_equip(struct arena *a, const struct json *trainjob, const struct json *runtime, struct json *jobset)
{
    struct view v = {.a = a, .job = trainjob, .ml = json_path(runtime, "spec", "mlPolicy", NULL), .set = jobset,
                     .name = object_meta(trainjob, "name")};
    JSON_EACH (replicated, json_path(jobset, "spec", "replicatedJobs", NULL)) {
        const char *name = json_get_text(replicated, "name", "");
        struct json *container = trainjob_container(replicated);
        if (json_get(v.ml, "mpi") && (strcmp(name, "node") == 0 || strcmp(name, "launcher") == 0))
            mpi(&v, replicated);
        if (!container || !trainjob_trains(jobset, replicated))
            continue;
        v.replicated = replicated;
        v.pods_n = trainjob_pods_n(replicated);
        if (json_get(v.ml, "torch"))
            torch(&v, container, runtime);
        else if (json_get(v.ml, "jax"))
            jax(&v, container);
        else if (json_get(v.ml, "xgboost"))
            xgboost(&v, container);
    }
}

/* ---- starting together ---- */

static bool waits_for_pods(const struct json *jobset, const struct json *replicated)
{
    const struct json *all = json_path(jobset, "spec", "replicatedJobs", NULL);
    JSON_EACH (on, json_get(replicated, "dependsOn")) {
        const struct json *other = item_named(all, json_get_text(on, "name", ""));
        if (other && !trainjob_initializes(other))
            return true;
    }
    return false;
}

struct json *trainjob_gang(struct arena *a, const struct json *trainjob, const struct json *runtime, struct json *jobset)
{
    const struct json *policy = json_path(runtime, "spec", "podGroupPolicy", NULL), *volcano = json_get(policy, "volcano"),
                      *coscheduling = json_get(policy, "coscheduling");
    struct json *group = json_new(a, JSON_OBJECT), *spec = json_ensure_object(a, group, "spec"), *resources = json_new(a, JSON_OBJECT);
    const char *name = object_meta(trainjob, "name"), *queue = object_annotation(jobset, "scheduling.volcano.sh/queue-name"), *class = "";
    int64_t members = 0;
    if (!volcano && !coscheduling)
        return NULL;
    JSON_EACH (replicated, json_path(jobset, "spec", "replicatedJobs", NULL)) {
        struct json *template = json_path(replicated, "template", "spec", "template", NULL);
        int64_t n = amount_times(json_get_int64(replicated, "replicas", 1), trainjob_pods_n(replicated));
        if (!json_is(template, JSON_OBJECT) || trainjob_initializes(replicated) || waits_for_pods(jobset, replicated))
            continue;
        members = amount_plus(members, n);
        job_requests_add(a, resources, json_get(template, "spec"), n);
        class = json_text(json_path(template, "spec", "priorityClassName", NULL), class);
        json_set_text(a, json_ensure_object(a, json_ensure_object(a, template, "metadata"), volcano ? "annotations" : "labels"),
                      volcano ? "scheduling.k8s.io/group-name" : "scheduling.x-k8s.io/pod-group", name);
    }
    json_set_text(a, group, "apiVersion", volcano ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1");
    json_set_int64(a, spec, "minMember", members);
    json_set(a, spec, "minResources", resources);
    if (coscheduling && !volcano)
        json_set_int64(a, spec, "scheduleTimeoutSeconds", json_get_int64(coscheduling, "scheduleTimeoutSeconds", 60));
    if (volcano && *queue)
        json_set_text(a, spec, "queue", queue);
    if (volcano && *class)
        json_set_text(a, spec, "priorityClassName", class);
    if (json_get(volcano, "networkTopology"))
        json_set(a, spec, "networkTopology", json_clone(a, json_get(volcano, "networkTopology")));
    return group;
}
