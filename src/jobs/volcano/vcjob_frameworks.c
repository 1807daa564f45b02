/* vcjob_frameworks.c - pytorch, mpi, tensorflow, ray, hcclrank; see vcjob_frameworks.h */
#include "jobs/volcano/vcjob_frameworks.h"
#include "codec/kinds/plugin_arguments.h"
#include "jobs/volcano/vcjob_variables.h"

#define RANK_ANNOTATION "hccl/rankIndex"

struct fill {
    struct arena *arena;
    const struct json *job;
    const struct vcjob_frameworks *f;
    const struct vcjob_task *tasks;
    uint32_t tasks_n;
    const char *task;
    int64_t index;
    struct json *pod, *spec;
};

static int64_t whole_number(const struct json *list, const char *name, int64_t fallback)
{
    const char *text = plugin_argument(list, name);
    int64_t n;
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? n : fallback;
}

void vcjob_frameworks_parse(const struct json *job, struct vcjob_frameworks *ret_f)
{
    const struct json *plugins = json_path(job, "spec", "plugins", NULL);
    const struct json *py = json_get(plugins, "pytorch"), *mpi = json_get(plugins, "mpi"), *tf = json_get(plugins, "tensorflow"),
                      *ray = json_get(plugins, "ray"), *hccl = json_get(plugins, "hcclrank");
    struct vcjob_frameworks f = {0};
    f.pytorch.on = py != NULL;
    f.pytorch.master = plugin_argument_text(py, "master", "master");
    f.pytorch.worker = plugin_argument_text(py, "worker", "worker");
    f.pytorch.port = plugin_argument_port(py, "port", 23456);
    f.pytorch.waits = plugin_argument_true(py, "wait-master-enabled", false);
    f.pytorch.wait_s = whole_number(py, "wait-master-timeout", 300);
    f.pytorch.image = plugin_argument_text(py, "wait-master-image", "busybox:1.36.1");
    f.mpi.on = mpi != NULL;
    f.mpi.master = plugin_argument_text(mpi, "master", "master");
    f.mpi.worker = plugin_argument_text(mpi, "worker", "worker");
    f.mpi.port = plugin_argument_port(mpi, "port", 22);
    f.tensorflow.on = tf != NULL;
    f.tensorflow.ps = plugin_argument_text(tf, "ps", "ps");
    f.tensorflow.worker = plugin_argument_text(tf, "worker", "worker");
    f.tensorflow.chief = plugin_argument_text(tf, "chief", "chief");
    f.tensorflow.evaluator = plugin_argument_text(tf, "evaluator", "evaluator");
    f.tensorflow.port = plugin_argument_port(tf, "port", 2222);
    f.ray.on = ray != NULL;
    f.ray.head = plugin_argument_text(ray, "head", "head");
    f.ray.worker = plugin_argument_text(ray, "worker", "worker");
    f.ray.head_container = plugin_argument_text(ray, "headContainer", "head");
    f.ray.worker_container = plugin_argument_text(ray, "workerContainer", "worker");
    f.ray.port = plugin_argument_port(ray, "port", 6379);
    f.ray.dashboard_port = plugin_argument_port(ray, "dashboardPort", 8265);
    f.ray.client_port = plugin_argument_port(ray, "clientPort", 10001);
    f.hcclrank.on = hccl != NULL;
    f.hcclrank.master = plugin_argument_text(hccl, "master", "master");
    f.hcclrank.worker = plugin_argument_text(hccl, "worker", "worker");
    *ret_f = f;
}

/* ---- what several need ---- */

static const struct vcjob_task *task_named(const struct fill *x, const char *name)
{
    for (uint32_t i = 0; i < x->tasks_n; i++)
        if (strcmp(x->tasks[i].name, name) == 0)
            return &x->tasks[i];
    return NULL;
}

static int64_t replicas_of(const struct fill *x, const char *name)
{
    const struct vcjob_task *task = task_named(x, name);
    return task ? task->replicas : 0;
}

static const char *host_of(const struct fill *x, const struct vcjob_task *task, int64_t index)
{
    return vcjob_host(x->arena, object_meta(x->job, "name"), task, index);
}

static const char *number(const struct fill *x, int64_t n)
{
    return arena_printf(x->arena, "%lld", (long long)n);
}

static struct json *env_text(const struct fill *x, const char *name, const char *value)
{
    struct json *env = json_new(x->arena, JSON_OBJECT);
    json_set_text(x->arena, env, "name", name);
    json_set_text(x->arena, env, "value", value);
    return env;
}

static void env_add(const struct fill *x, struct json *container, const char *name, const char *value)
{
    json_append(json_ensure_array(x->arena, container, "env"), env_text(x, name, value));
}

/* Before what the user wrote, who may build on it and override it. */
static void env_offer(const struct fill *x, struct json *container, const char *name, const char *value)
{
    json_insert(json_ensure_array(x->arena, container, "env"), 0, env_text(x, name, value));
}

static void port_open(const struct fill *x, struct json *container, const char *name, int64_t number_of)
{
    struct json *ports = json_ensure_array(x->arena, container, "ports");
    JSON_EACH (port, ports)
        if (json_get_int64(port, "containerPort", 0) == number_of)
            return;
    struct json *port = json_new(x->arena, JSON_OBJECT);
    json_set_text(x->arena, port, "name", name);
    json_set_int64(x->arena, port, "containerPort", number_of);
    json_append(ports, port);
}

/* ---- pytorch ---- */

/* Its pod 0 is the master; NULL: the job has neither role. */
static const struct vcjob_task *pytorch_master(const struct fill *x)
{
    const struct vcjob_task *master = task_named(x, x->f->pytorch.master);
    return master ? master : task_named(x, x->f->pytorch.worker);
}

/* -1: a pod of another task. */
static int64_t pytorch_rank(const struct fill *x)
{
    int64_t masters_n = replicas_of(x, x->f->pytorch.master);
    return strcmp(x->task, x->f->pytorch.master) == 0   ? x->index
           : strcmp(x->task, x->f->pytorch.worker) == 0 ? masters_n + x->index
                                                        : -1;
}

/* A member of the gang that must not start before the port of its master answers. */
static void pytorch_wait(const struct fill *x, const char *host)
{
    struct json *list = json_ensure_array(x->arena, x->spec, "initContainers"), *wait = json_new(x->arena, JSON_OBJECT);
    JSON_EACH (container, list)
        if (strcmp(json_get_text(container, "name", ""), "wait-for-master") == 0)
            return;
    long long port = (long long)x->f->pytorch.port, seconds = (long long)x->f->pytorch.wait_s;
    json_set_text(x->arena, wait, "name", "wait-for-master");
    json_set_text(x->arena, wait, "image", x->f->pytorch.image);
    struct json *command = json_ensure_array(x->arena, wait, "command");
    json_append(command, json_new_text(x->arena, "sh"));
    json_append(command, json_new_text(x->arena, "-c"));
    json_append(command, json_new_text(x->arena, arena_printf(x->arena,
                             "left=%lld\n"
                             "until nc -z %s %lld 2>/dev/null || (echo >/dev/tcp/%s/%lld) 2>/dev/null; do\n"
                             "    [ $left -gt 0 ] || { echo 'no master at %s:%lld within %lld s'; exit 1; }\n"
                             "    sleep 2\n"
                             "    left=$((left - 2))\n"
                             "done\n",
                             seconds, host, port, host, port, host, port, seconds)));
    json_append(list, wait);
}

static void pytorch_container(const struct fill *x, struct json *container, const char *host, int64_t rank)
{
    const struct vcjob_task *own = task_named(x, x->task);
    int64_t pods_n = replicas_of(x, x->f->pytorch.master) + replicas_of(x, x->f->pytorch.worker);
    const char *port = number(x, x->f->pytorch.port);
    port_open(x, container, "pytorchjob-port", x->f->pytorch.port);
    if (rank >= 0) {
        if (own && vcjob_has_gpus(own))
            env_offer(x, container, "PET_NPROC_PER_NODE", number(x, vcjob_slots(own)));
        env_offer(x, container, "PET_MASTER_PORT", port);
        env_offer(x, container, "PET_MASTER_ADDR", host);
        env_offer(x, container, "PET_NODE_RANK", number(x, rank));
        env_offer(x, container, "PET_NNODES", number(x, pods_n));
        env_offer(x, container, "NODE_RANK", number(x, rank));
    }
    env_add(x, container, "MASTER_ADDR", host);
    env_add(x, container, "MASTER_PORT", port);
    env_add(x, container, "WORLD_SIZE", number(x, pods_n));
    if (rank >= 0)
        env_add(x, container, "RANK", number(x, rank));
}

static void pytorch_pod(const struct fill *x)
{
    const struct vcjob_task *master = pytorch_master(x);
    if (!master)
        return;
    int64_t rank = pytorch_rank(x);
    const char *host = host_of(x, master, 0);
    if (x->f->pytorch.waits && rank > 0 && strcmp(x->task, x->f->pytorch.worker) == 0)
        pytorch_wait(x, host);
    JSON_EACH (container, json_get(x->spec, "containers"))
        pytorch_container(x, container, host, rank);
}

/* ---- mpi ---- */

static void mpi_pod(const struct fill *x)
{
    static const char *const lists[] = {"initContainers", "containers"};
    bool is_master = strcmp(x->task, x->f->mpi.master) == 0;
    const struct vcjob_task *worker = task_named(x, x->f->mpi.worker);
    if (is_master && !worker)
        return;
    const char *hosts = is_master ? vcjob_host_list(x->arena, object_meta(x->job, "name"), worker, ",", NULL) : NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (container, json_get(x->spec, lists[i])) {
            port_open(x, container, "mpijob-port", x->f->mpi.port);
            if (is_master)
                env_add(x, container, "MPI_HOST", hosts);
        }
}

/* ---- tensorflow ---- */

static void tensorflow_hosts(const struct fill *x, struct json *cluster, const char *role, const char *name)
{
    const struct vcjob_task *task = task_named(x, name);
    if (!task || task->replicas == 0)
        return;
    struct json *list = json_ensure_array(x->arena, cluster, role);
    for (int64_t i = 0; i < task->replicas; i++)
        json_append(list, json_new_text(x->arena, arena_printf(x->arena, "%s:%s", host_of(x, task, i), number(x, x->f->tensorflow.port))));
}

/* {"cluster":{"ps":["j-ps-0.j:2222"],"worker":[...]},"task":{"type":"worker","index":0}} */
static const char *tensorflow_config(const struct fill *x)
{
    const struct {
        const char *role, *name;
    } roles[] = {{"ps", x->f->tensorflow.ps},
                 {"worker", x->f->tensorflow.worker},
                 {"chief", x->f->tensorflow.chief},
                 {"evaluator", x->f->tensorflow.evaluator}};
    struct json *config = json_new(x->arena, JSON_OBJECT), *cluster = json_ensure_object(x->arena, config, "cluster");
    const char *type = x->task;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        tensorflow_hosts(x, cluster, roles[i].role, roles[i].name);
        if (strcmp(x->task, roles[i].name) == 0)
            type = roles[i].role;
    }
    struct json *task = json_ensure_object(x->arena, config, "task");
    json_set_text(x->arena, task, "type", type);
    json_set_int64(x->arena, task, "index", x->index);
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    json_write(&text, config);
    return arena_text_n(x->arena, text.data, text.n);
}

static void tensorflow_pod(const struct fill *x)
{
    if (x->tasks_n == 1 && x->tasks[0].replicas == 1)
        return; /* nobody to be told of */
    const char *config = tensorflow_config(x);
    JSON_EACH (container, json_get(x->spec, "containers"))
        env_add(x, container, "TF_CONFIG", config);
}

/* ---- ray ---- */

static void command_set(const struct fill *x, struct json *container, const char *line)
{
    struct json *command = json_new(x->arena, JSON_ARRAY);
    json_append(command, json_new_text(x->arena, "sh"));
    json_append(command, json_new_text(x->arena, "-c"));
    json_append(command, json_new_text(x->arena, line));
    json_set(x->arena, container, "command", command);
}

static void ray_pod(const struct fill *x)
{
    const struct vcjob_task *head = task_named(x, x->f->ray.head);
    long long port = (long long)x->f->ray.port, dashboard = (long long)x->f->ray.dashboard_port;
    long long client = (long long)x->f->ray.client_port;
    if (!head)
        return;
    JSON_EACH (container, json_get(x->spec, "containers")) {
        const char *name = json_get_text(container, "name", "");
        if (strcmp(x->task, x->f->ray.head) == 0 && strcmp(name, x->f->ray.head_container) == 0) {
            port_open(x, container, "gcs", x->f->ray.port);
            port_open(x, container, "dashboard", x->f->ray.dashboard_port);
            port_open(x, container, "client-server", x->f->ray.client_port);
            command_set(x, container,
                        arena_printf(x->arena,
                                     "ray start --head --block --dashboard-host=0.0.0.0 --port=%lld --dashboard-port=%lld "
                                     "--ray-client-server-port=%lld",
                                     port, dashboard, client));
        }
        if (strcmp(x->task, x->f->ray.worker) == 0 && strcmp(name, x->f->ray.worker_container) == 0)
            command_set(x, container, arena_printf(x->arena, "ray start --block --address=%s:%lld", host_of(x, head, 0), port));
    }
}

static void service_port(struct arena *a, struct json *ports, const char *name, int64_t port)
{
    struct json *entry = json_new(a, JSON_OBJECT);
    json_set_text(a, entry, "name", name);
    json_set_text(a, entry, "protocol", "TCP");
    json_set_int64(a, entry, "port", port);
    json_set_text(a, entry, "targetPort", name);
    json_append(ports, entry);
}

struct json *vcjob_ray_service(struct arena *a, const struct json *job, const struct vcjob_frameworks *f)
{
    if (!f->ray.on)
        return NULL;
    const char *name = object_meta(job, "name");
    struct json *service = vcjob_object(a, job, "v1", "Service", arena_printf(a, "%s-head-svc", name));
    struct json *spec = json_ensure_object(a, service, "spec"), *selector = json_ensure_object(a, spec, "selector");
    json_set_text(a, selector, "volcano.sh/job-name", name);
    json_set_text(a, selector, "volcano.sh/job-namespace", object_meta(job, "namespace"));
    json_set_text(a, selector, "volcano.sh/task-spec", f->ray.head);
    struct json *ports = json_ensure_array(a, spec, "ports");
    service_port(a, ports, "gcs", f->ray.port);
    service_port(a, ports, "dashboard", f->ray.dashboard_port);
    service_port(a, ports, "client-server", f->ray.client_port);
    return service;
}

/* ---- hcclrank ---- */

static const char *rank_given(const struct fill *x)
{
    JSON_EACH (container, json_get(x->spec, "containers"))
        JSON_EACH (env, json_get(container, "env"))
            if (strcmp(json_get_text(env, "name", ""), "RANK") == 0)
                return json_get_text(env, "value", "");
    return "";
}

static void hcclrank_pod(const struct fill *x)
{
    struct json *annotations = json_ensure_object(x->arena, json_ensure_object(x->arena, x->pod, "metadata"), "annotations");
    if (*json_get_text(annotations, RANK_ANNOTATION, ""))
        return;
    const char *rank = rank_given(x);
    if (!*rank && strcmp(x->task, x->f->hcclrank.master) == 0)
        rank = number(x, x->index);
    else if (!*rank && strcmp(x->task, x->f->hcclrank.worker) == 0)
        rank = number(x, replicas_of(x, x->f->hcclrank.master) + x->index);
    if (*rank)
        json_set_text(x->arena, annotations, RANK_ANNOTATION, rank);
}

void vcjob_frameworks_pod(struct arena *a, const struct json *job, const struct vcjob_frameworks *f, const struct vcjob_task *tasks,
                          uint32_t tasks_n, const char *task, int64_t index, struct json *pod)
{
    struct fill x = {a, job, f, tasks, tasks_n, task, index, pod, json_ensure_object(a, pod, "spec")};
    if (f->pytorch.on)
        pytorch_pod(&x);
    if (f->mpi.on)
        mpi_pod(&x);
    if (f->tensorflow.on)
        tensorflow_pod(&x);
    if (f->ray.on)
        ray_pod(&x);
    if (f->hcclrank.on)
        hcclrank_pod(&x);
}
