/* training_env.c - what the programs of Kubeflow's jobs find in their environment; see training.h
 *
 * ORDER  after the template's own, as the operator appends them.
 */
#include "jobs/kubeflow/training.h"

struct place {
    struct arena *a;
    const struct training *t;
    const struct training_role *role;
    int64_t index;
    struct json *container;
};

struct json *training_env_add(struct arena *a, struct json *container, const char *name, const char *value)
{
    struct json *env = json_new(a, JSON_OBJECT);
    json_set_text(a, env, "name", name);
    json_set_text(a, env, "value", value);
    json_append(json_ensure_array(a, container, "env"), env);
    return env;
}

static void add(const struct place *p, const char *name, const char *value)
{
    (void)training_env_add(p->a, p->container, name, value);
}

static void add_number(const struct place *p, const char *name, int64_t n)
{
    add(p, name, arena_printf(p->a, "%lld", (long long)n));
}

static bool is_named(const struct training_role *role, const char *name)
{
    return role && strcmp(role->name, name) == 0;
}

/* The master is the first; workers follow it. */
static int64_t rank_of(const struct place *p)
{
    return p->index + (is_named(p->role, "Worker") && training_role_named(p->t, "Master") ? 1 : 0);
}

static int64_t port_of(const struct place *p)
{
    return p->t->kind->port;
}

/* SOURCE torchrun: its options as PET_ variables. */
static void elastic(const struct place *p, const struct json *policy)
{
    const struct training_role *workers = training_role_named(p->t, "Worker");
    int64_t all = workers ? workers->replicas : 0, most = json_get_int64(policy, "maxReplicas", json_get_int64(policy, "minReplicas", all)),
            fewest = json_get_int64(policy, "minReplicas", most);
    const char *host = json_get_text(policy, "rdzvHost", arena_printf(p->a, "%s-worker-0", p->t->name));
    add(p, "PET_RDZV_BACKEND", json_get_text(policy, "rdzvBackend", "c10d"));
    add(p, "PET_RDZV_ENDPOINT", arena_printf(p->a, "%s:%lld", host, (long long)json_get_int64(policy, "rdzvPort", port_of(p))));
    if (json_get(policy, "rdzvId"))
        add(p, "PET_RDZV_ID", json_get_text(policy, "rdzvId", ""));
    if (json_get(policy, "maxRestarts"))
        add_number(p, "PET_MAX_RESTARTS", json_get_int64(policy, "maxRestarts", 0));
    const char *conf = "";
    JSON_EACH (one, json_get(policy, "rdzvConf"))
        conf = arena_printf(p->a, "%s%s%s=%s", conf, *conf ? "," : "", json_get_text(one, "key", ""), json_get_text(one, "value", ""));
    if (*conf)
        add(p, "PET_RDZV_CONF", conf);
    if (json_get_bool(policy, "standalone", false))
        add(p, "PET_STANDALONE", "");
    add(p, "PET_NNODES", arena_printf(p->a, "%lld:%lld", (long long)fewest, (long long)most));
}

static void pytorch(const struct place *p)
{
    const struct json *spec = json_get(p->t->job, "spec"), *policy = json_get(spec, "elasticPolicy");
    const char *each = json_get_text(spec, "nprocPerNode", "auto");
    int64_t processes = 1;
    if (json_get(policy, "nProcPerNode"))
        each = arena_printf(p->a, "%lld", (long long)json_get_int64(policy, "nProcPerNode", 1));
    if (!bytes_int64(bytes_of(each), &processes))
        processes = 1; /* "auto", "gpu": as many as the node has, which is not known here */
    add(p, "PYTHONUNBUFFERED", "1");
    if (training_role_named(p->t, "Master")) {
        const char *master = arena_printf(p->a, "%s-master-0", p->t->name);
        add_number(p, "MASTER_PORT", port_of(p));
        add_number(p, "PET_MASTER_PORT", port_of(p));
        add(p, "MASTER_ADDR", master);
        add(p, "PET_MASTER_ADDR", master);
        add_number(p, "WORLD_SIZE", p->t->pods_n * processes);
        add_number(p, "RANK", rank_of(p));
        add_number(p, "PET_NODE_RANK", rank_of(p));
    }
    add(p, "PET_NPROC_PER_NODE", each);
    if (policy)
        elastic(p, policy);
    else
        add_number(p, "PET_NNODES", p->t->pods_n);
}

/* {"cluster":{"worker":["HOST:PORT",...]},"task":{...},"environment":"cloud"}; a job of one pod needs none. */
static void tensorflow(const struct place *p)
{
    struct json *all = json_new(p->a, JSON_OBJECT), *cluster = json_ensure_object(p->a, all, "cluster");
    if (p->t->pods_n < 2 || strcmp(json_get_text(p->container, "name", ""), p->t->kind->of->container) != 0)
        return;
    for (uint32_t r = 0; r < p->t->roles_n; r++) {
        const struct training_role *role = &p->t->roles[r];
        for (int64_t i = 0; i < role->replicas && !is_named(role, "Evaluator"); i++)
            json_append(json_ensure_array(p->a, cluster, role->lower),
                        json_new_text(p->a, arena_printf(p->a, "%s.%s.svc:%lld", training_pod_name(p->a, p->t, role, i), p->t->ns,
                                                         (long long)port_of(p))));
    }
    struct json *task = json_ensure_object(p->a, all, "task");
    json_set_text(p->a, task, "type", p->role->lower);
    json_set_int64(p->a, task, "index", p->index);
    json_set_text(p->a, all, "environment", "cloud");
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, all);
    add(p, "TF_CONFIG", arena_text_n(p->a, text.data, text.n));
}

static void xgboost(const struct place *p)
{
    const struct training_role *workers = training_role_named(p->t, "Worker");
    add_number(p, "MASTER_PORT", port_of(p));
    add(p, "MASTER_ADDR", arena_printf(p->a, "%s-master-0", p->t->name));
    add_number(p, "WORLD_SIZE", p->t->pods_n);
    add_number(p, "RANK", rank_of(p));
    add(p, "PYTHONUNBUFFERED", "1");
    if (!workers || p->t->pods_n < 2)
        return;
    _cleanup_buf_ struct buf addresses = {0};
    for (int64_t i = 0; i < workers->replicas; i++)
        buf_printf(&addresses, "%s%s", i ? "," : "", training_pod_name(p->a, p->t, workers, i));
    add_number(p, "WORKER_PORT", port_of(p));
    add(p, "WORKER_ADDRS", addresses.data ? arena_text_n(p->a, addresses.data, addresses.n) : "");
}

static void jax(const struct place *p)
{
    add(p, "PYTHONUNBUFFERED", "1");
    add_number(p, "COORDINATOR_PORT", port_of(p));
    add(p, "COORDINATOR_ADDRESS", arena_printf(p->a, "%s-worker-0", p->t->name));
    add_number(p, "NUM_PROCESSES", p->t->pods_n);
    add_number(p, "PROCESS_ID", p->index);
}

static void paddle(const struct place *p)
{
    const char *first = training_role_named(p->t, "Master") ? "master" : "worker";
    add(p, "PYTHONUNBUFFERED", "1");
    add(p, "PADDLE_JOB_ID", p->t->name);
    add_number(p, "PADDLE_NNODES", p->t->pods_n);
    add(p, "PADDLE_MASTER", arena_printf(p->a, "%s-%s-0:%lld", p->t->name, first, (long long)port_of(p)));
}

void training_env(struct arena *a, const struct training *t, const struct training_role *role, int64_t i, struct json *pod_spec)
{
    static const struct {
        enum queued_kind_id kind;
        void (*add)(const struct place *p);
    } kinds[] = {{QUEUED_PYTORCHJOB, pytorch}, {QUEUED_TFJOB, tensorflow}, {QUEUED_XGBOOSTJOB, xgboost}, {QUEUED_JAXJOB, jax},
                 {QUEUED_PADDLEJOB, paddle}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        JSON_EACH (container, t->kind->of == &queued_kinds[kinds[k].kind] ? json_get(pod_spec, "containers") : NULL)
            kinds[k].add(&(struct place){a, t, role, i, container});
}
