/* vcjob_pods.c - pods and PodGroup of a Volcano Job; see vcjob_pods.h */
#include "jobs/volcano/vcjob_pods.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "jobs/volcano/vcjob_state.h"
#include "jobs/volcano/vcjob_volumes.h"

static const char *const forwarded[] = {"volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone"};
static const char *const forwarded_labels[] = {"volcano.sh/preemptable", "volcano.sh/cooldown-time"};

static int64_t between(int64_t n, int64_t least, int64_t most)
{
    return n < least ? least : n > most ? most : n;
}

uint32_t vcjob_tasks(struct arena *a, const struct json *job, struct vcjob_task **ret_tasks)
{
    const struct json *list = json_path(job, "spec", "tasks", NULL);
    uint32_t n = list && list->type == JSON_ARRAY ? list->n : 0;
    if (n > VCJOB_TASKS_MAX)
        n = VCJOB_TASKS_MAX;
    struct vcjob_task *tasks = arena_zero(a, n + 1, sizeof *tasks);
    int64_t pods_left = LIMIT_GANG_MEMBERS; /* LIMIT  of all tasks; Volcano's definitions have none, and each host is a name in lists */
    for (uint32_t i = 0; i < n; i++) {
        const struct json *spec = json_item(list, i);
        tasks[i].spec = spec;
        tasks[i].name = json_get_text(spec, "name", "");
        if (!*tasks[i].name)
            tasks[i].name = arena_printf(a, "default%u", i);
        tasks[i].replicas = between(json_get_int64(spec, "replicas", 0), 0, pods_left);
        pods_left -= tasks[i].replicas;
        const struct json *partitions = json_get(spec, "partitionPolicy");
        int64_t size = json_get_int64(partitions, "partitionSize", 0), fewest = json_get_int64(partitions, "minPartitions", 0);
        bool by_partition = size > 0 && fewest > 0 && fewest <= tasks[i].replicas / size;
        tasks[i].min_available =
            between(json_get_int64(spec, "minAvailable", by_partition ? fewest * size : tasks[i].replicas), 0, INT32_MAX);
        tasks[i].max_retry = json_get_int64(spec, "maxRetry", 3);
    }
    *ret_tasks = tasks;
    return n;
}

int64_t vcjob_min_available(const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < tasks_n; i++)
        sum += tasks[i].min_available;
    return between(json_int64(json_path(job, "spec", "minAvailable", NULL), sum), 0, INT32_MAX);
}

char *vcjob_pod_name(struct arena *a, const char *job, const char *task, int64_t index)
{
    return arena_printf(a, "%s-%s-%lld", job, task, (long long)index);
}

static const char *template_text(const struct vcjob_task *task, const char *key)
{
    return json_text(json_path(task->spec, "template", "spec", key, NULL), "");
}

char *vcjob_host(struct arena *a, const char *job, const struct vcjob_task *task, int64_t index)
{
    const char *host = template_text(task, "hostname"), *subdomain = template_text(task, "subdomain");
    return arena_printf(a, "%s.%s", *host ? host : vcjob_pod_name(a, job, task->name, index), *subdomain ? subdomain : job);
}

int64_t vcjob_hosts_n(const struct vcjob_task *task)
{
    return task->replicas > 0 && *template_text(task, "hostname") ? 1 : task->replicas;
}

char *vcjob_pod_group_name(struct arena *a, const struct json *job)
{
    return arena_joined(a, object_meta(job, "name"), '-', object_meta(job, "uid"));
}

struct json *job_owner(struct arena *a, const struct json *owner, const char *api_version, const char *kind)
{
    struct json *list = json_new(a, JSON_ARRAY);
    struct json *ref = json_new(a, JSON_OBJECT);
    json_set_text(a, ref, "apiVersion", api_version);
    json_set_text(a, ref, "kind", kind);
    json_set_text(a, ref, "name", object_meta(owner, "name"));
    json_set_text(a, ref, "uid", object_meta(owner, "uid"));
    json_set_bool(a, ref, "controller", true);
    json_set_bool(a, ref, "blockOwnerDeletion", true);
    json_append(list, ref);
    return list;
}

struct json *job_object(struct arena *a, const struct json *job, struct json *owners, const char *api_version, const char *kind,
                        const char *name)
{
    struct json *object = json_new(a, JSON_OBJECT);
    json_set_text(a, object, "apiVersion", api_version);
    json_set_text(a, object, "kind", kind);
    struct json *meta = json_ensure_object(a, object, "metadata");
    json_set_text(a, meta, "name", name);
    json_set_text(a, meta, "namespace", object_meta(job, "namespace"));
    json_set(a, meta, "ownerReferences", owners);
    return object;
}

struct json *vcjob_object(struct arena *a, const struct json *job, const char *api_version, const char *kind, const char *name)
{
    return job_object(a, job, job_owner(a, job, "batch.volcano.sh/v1alpha1", "Job"), api_version, kind, name);
}

/* ---- requests ---- */

static const struct json *container_request(const struct json *container, const char *resource)
{
    const struct json *resources = json_get(container, "resources");
    const struct json *request = json_get(json_get(resources, "requests"), resource);
    return request ? request : json_get(json_get(resources, "limits"), resource);
}

static __int128 nano_of(const struct json *v, enum quantity_format *format)
{
    struct quantity q;
    if (!v || quantity_parse(json_bytes(v), &q, NULL) < 0)
        return 0;
    *format = q.format;
    return q.nano;
}

static void resource_add(struct arena *a, struct json *into, const struct json *pod_spec, const char *resource,
                         int64_t times)
{
    struct quantity sum = {0, QUANTITY_DECIMAL_SI};
    __int128 total = 0, sidecars = 0, init_most = 0;
    JSON_EACH (container, json_get(pod_spec, "initContainers")) {
        __int128 one = nano_of(container_request(container, resource), &sum.format);
        if (strcmp(json_get_text(container, "restartPolicy", ""), "Always") == 0)
            sidecars += one; /* beside all that come after it */
        else if (sidecars + one > init_most)
            init_most = sidecars + one;
    }
    total = sidecars;
    JSON_EACH (container, json_get(pod_spec, "containers"))
        total += nano_of(container_request(container, resource), &sum.format);
    if (init_most > total)
        total = init_most;
    total += nano_of(json_get(json_get(pod_spec, "overhead"), resource), &sum.format);
    sum.nano = nano_of(json_get(into, resource), &sum.format) + total * times;
    char text[QUANTITY_TEXT_MAX];
    json_set_text(a, into, resource, quantity_format(text, sum));
}

static void names_add(struct arena *a, struct json *names, const struct json *amounts, bool (*wanted)(const char *resource))
{
    JSON_EACH (amount, amounts)
        if (!wanted || wanted(amount->key))
            json_set_bool(a, names, amount->key, true);
}

void job_requests_add_of(struct arena *a, struct json *into, const struct json *pod_spec, int64_t times,
                         bool (*wanted)(const char *resource))
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct json *names = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (container, json_get(pod_spec, lists[i])) {
            const struct json *resources = json_get(container, "resources");
            names_add(a, names, json_get(resources, "requests"), wanted);
            names_add(a, names, json_get(resources, "limits"), wanted);
        }
    names_add(a, names, json_get(pod_spec, "overhead"), wanted);
    JSON_EACH (name, names)
        resource_add(a, into, pod_spec, name->key, times);
}

void job_requests_add(struct arena *a, struct json *into, const struct json *pod_spec, int64_t times)
{
    job_requests_add_of(a, into, pod_spec, times, NULL);
}

/* ---- pods ---- */

static void forward(struct arena *a, struct json *to, const struct json *from, const char *key)
{
    if (json_get(from, key))
        json_set_text(a, to, key, json_get_text(from, key, ""));
}

static void pod_annotate(struct arena *a, struct json *annotations, const struct json *job,
                         const struct vcjob_task *task, int64_t index, int64_t version, int64_t retry_count)
{
    const char *name = object_meta(job, "name");
    json_set_text(a, annotations, "volcano.sh/task-index", arena_printf(a, "%lld", (long long)index));
    json_set_text(a, annotations, "volcano.sh/task-spec", task->name);
    json_set_text(a, annotations, "scheduling.k8s.io/group-name", vcjob_pod_group_name(a, job));
    json_set_text(a, annotations, "volcano.sh/job-name", name);
    json_set_text(a, annotations, "volcano.sh/queue-name", json_get_text(json_get(job, "spec"), "queue", "default"));
    json_set_text(a, annotations, "volcano.sh/job-version", arena_printf(a, "%lld", (long long)version));
    json_set_text(a, annotations, "volcano.sh/template-uid", arena_printf(a, "%s-%s", name, task->name));
    json_set_text(a, annotations, "volcano.sh/job-retry-count", arena_printf(a, "%lld", (long long)retry_count));
    const char *topology = json_get_text(task->spec, "topologyPolicy", "");
    if (*topology)
        json_set_text(a, annotations, "volcano.sh/numa-topology-policy", topology);
    const struct json *given = json_path(job, "metadata", "annotations", NULL);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        forward(a, annotations, given, forwarded[i]);
    bool fewest = json_get(given, "volcano.sh/jdb-min-available") != NULL;
    forward(a, annotations, given, fewest ? "volcano.sh/jdb-min-available" : "volcano.sh/jdb-max-unavailable");
}

static void pod_label(struct arena *a, struct json *labels, const struct json *job, const struct vcjob_task *task,
                      int64_t index)
{
    json_set_text(a, labels, "volcano.sh/job-name", object_meta(job, "name"));
    json_set_text(a, labels, "volcano.sh/job-namespace", object_meta(job, "namespace"));
    json_set_text(a, labels, "volcano.sh/task-spec", task->name);
    json_set_text(a, labels, "volcano.sh/task-index", arena_printf(a, "%lld", (long long)index));
    json_set_text(a, labels, "volcano.sh/queue-name", json_get_text(json_get(job, "spec"), "queue", "default"));
    const struct json *given = json_path(job, "metadata", "labels", NULL);
    for (size_t i = 0; i < sizeof forwarded_labels / sizeof *forwarded_labels; i++)
        forward(a, labels, given, forwarded_labels[i]);
    int64_t size = json_int64(json_path(task->spec, "partitionPolicy", "partitionSize", NULL), 0);
    if (size > 0)
        json_set_text(a, labels, "volcano.sh/partition-id", arena_printf(a, "%lld", (long long)(index / size)));
}

static void spec_fill(struct arena *a, struct json *spec, const struct json *job_spec)
{
    if (!json_get(spec, "schedulerName"))
        json_set_text(a, spec, "schedulerName", json_get_text(job_spec, "schedulerName", "volcano"));
    const char *priority_class = json_get_text(job_spec, "priorityClassName", "");
    if (*priority_class && !json_get(spec, "priorityClassName"))
        json_set_text(a, spec, "priorityClassName", priority_class);
    /* WHY the API's own default, Always, would keep TaskCompleted from ever happening. */
    if (!json_get(spec, "restartPolicy"))
        json_set_text(a, spec, "restartPolicy", "OnFailure");
    if (json_get_bool(spec, "hostNetwork", false) && !json_get(spec, "dnsPolicy"))
        json_set_text(a, spec, "dnsPolicy", "ClusterFirstWithHostNet");
}

struct json *vcjob_pod(struct arena *a, const struct json *job, const struct vcjob_task *task, int64_t index,
                       int64_t version, int64_t retry_count)
{
    const struct json *template = json_get(task->spec, "template");
    struct json *pod = json_new(a, JSON_OBJECT);
    json_set_text(a, pod, "apiVersion", "v1");
    json_set_text(a, pod, "kind", "Pod");
    struct json *meta = json_ensure_object(a, pod, "metadata");
    json_set_text(a, meta, "name", vcjob_pod_name(a, object_meta(job, "name"), task->name, index));
    json_set_text(a, meta, "namespace", object_meta(job, "namespace"));
    json_set(a, meta, "ownerReferences", job_owner(a, job, "batch.volcano.sh/v1alpha1", "Job"));
    const struct json *labels = json_path(template, "metadata", "labels", NULL);
    const struct json *annotations = json_path(template, "metadata", "annotations", NULL);
    if (json_is(labels, JSON_OBJECT))
        json_set(a, meta, "labels", json_clone(a, labels));
    if (json_is(annotations, JSON_OBJECT))
        json_set(a, meta, "annotations", json_clone(a, annotations));
    pod_label(a, json_ensure_object(a, meta, "labels"), job, task, index);
    pod_annotate(a, json_ensure_object(a, meta, "annotations"), job, task, index, version, retry_count);
    const struct json *spec = json_get(template, "spec");
    json_set(a, pod, "spec", spec ? json_clone(a, spec) : json_new(a, JSON_OBJECT));
    spec_fill(a, json_get(pod, "spec"), json_get(job, "spec"));
    vcjob_volumes_mount(a, job, json_get(pod, "spec"));
    return pod;
}

/* ---- PodGroup ---- */

/* The pod spec with its limits for requests. */
static const struct json *limits_only(struct arena *a, const struct json *pod_spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct json *spec = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (container, json_get(pod_spec, lists[i])) {
            const struct json *limits = json_path(container, "resources", "limits", NULL);
            struct json *copy = json_new(a, JSON_OBJECT);
            json_set_text(a, copy, "restartPolicy", json_get_text(container, "restartPolicy", ""));
            struct json *resources = json_ensure_object(a, copy, "resources");
            json_set(a, resources, "limits", limits ? json_clone(a, limits) : json_new(a, JSON_OBJECT));
            json_append(json_ensure_array(a, spec, lists[i]), copy);
        }
    return spec;
}

/* The sum as quotas spell it, too: requests.*, limits.*, pods and count/pods, as Volcano counts a pod. */
static void quota_spellings_add(struct arena *a, struct json *sum, const struct json *limits, int64_t pods_n)
{
    const struct json *requests = json_clone(a, sum);
    JSON_EACH (amount, requests)
        json_set(a, sum, arena_printf(a, "requests.%s", amount->key), json_clone(a, amount));
    JSON_EACH (amount, limits)
        if (!strchr(amount->key, '/') && !text_starts(amount->key, "hugepages-"))
            json_set(a, sum, arena_printf(a, "limits.%s", amount->key), json_clone(a, amount));
    json_set_text(a, sum, "pods", arena_printf(a, "%lld", (long long)pods_n));
    json_set_text(a, sum, "count/pods", arena_printf(a, "%lld", (long long)pods_n));
}

struct json *job_min_resources(struct arena *a, const struct json *pod_spec, int64_t pods_n)
{
    struct json *sum = json_new(a, JSON_OBJECT), *limits = json_new(a, JSON_OBJECT);
    job_requests_add(a, sum, pod_spec, pods_n);
    job_requests_add(a, limits, limits_only(a, pod_spec), pods_n);
    quota_spellings_add(a, sum, limits, pods_n);
    return sum;
}

static bool task_waits(const struct vcjob_task *task)
{
    const struct json *names = json_path(task->spec, "dependsOn", "name", NULL);
    return json_is(names, JSON_ARRAY) && names->n > 0;
}

/* ORDER  those that wait for none before the others, then by priority, then as written. */
static bool comes_before(const struct vcjob_task *a, const struct vcjob_task *b)
{
    return task_waits(a) != task_waits(b) ? !task_waits(a) : a->priority != b->priority ? a->priority > b->priority : a < b;
}

struct fewest {
    struct arena *arena;
    struct json *sum, *limits;
    int64_t left, pods_n;
};

static void fewest_add(struct fewest *f, const struct vcjob_task *task, int64_t pods_n)
{
    const struct json *spec = json_path(task->spec, "template", "spec", NULL);
    int64_t take = pods_n < f->left ? pods_n : f->left;
    if (take <= 0)
        return;
    f->left -= take;
    f->pods_n += take;
    job_requests_add(f->arena, f->sum, spec, take);
    job_requests_add(f->arena, f->limits, limits_only(f->arena, spec), take);
}

/* What the first `members` pods ask for. SOURCE Volcano: where the whole asks for fewer than its tasks, whole tasks by priority; else the
 * fewest of each task, and then what is left of each. */
static struct json *min_resources(struct arena *a, const struct vcjob_task *tasks, uint32_t tasks_n, int64_t members)
{
    struct fewest f = {a, json_new(a, JSON_OBJECT), json_new(a, JSON_OBJECT), members, 0};
    const struct vcjob_task **order = arena_alloc(a, (tasks_n + 1) * sizeof *order);
    int64_t of_tasks = 0;
    for (uint32_t i = 0; i < tasks_n; i++) {
        uint32_t at = i;
        for (; at > 0 && comes_before(&tasks[i], order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = &tasks[i];
        of_tasks += task_waits(&tasks[i]) ? 0 : tasks[i].min_available;
    }
    bool whole = members < of_tasks;
    for (uint32_t i = 0; i < tasks_n; i++)
        fewest_add(&f, order[i], whole ? order[i]->replicas : order[i]->min_available);
    for (uint32_t i = 0; i < tasks_n && !whole; i++)
        fewest_add(&f, order[i], order[i]->replicas - order[i]->min_available);
    quota_spellings_add(a, f.sum, f.limits, f.pods_n);
    return f.sum;
}

/* WHY tasks that depend on others have no pods before those run: a gang that asked for them at its start would never start. */
static int64_t members_at_start(const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n)
{
    int64_t members = vcjob_min_available(job, tasks, tasks_n), replicas = 0, fewest = 0;
    for (uint32_t i = 0; i < tasks_n; i++) {
        replicas += task_waits(&tasks[i]) ? 0 : tasks[i].replicas;
        fewest += task_waits(&tasks[i]) ? 0 : tasks[i].min_available;
    }
    return members <= replicas ? members : fewest;
}

/* The partitions of a task: its pods of one volcano.sh/partition-id each. */
static struct json *sub_group_of(struct arena *a, const struct vcjob_task *task)
{
    const struct json *policy = json_get(task->spec, "partitionPolicy"), *topology = json_get(policy, "networkTopology");
    struct json *sub = json_new(a, JSON_OBJECT);
    json_set_text(a, sub, "name", task->name);
    if (json_is(topology, JSON_OBJECT))
        json_set(a, sub, "networkTopology", json_clone(a, topology));
    json_set_int64(a, sub, "subGroupSize", json_get_int64(policy, "partitionSize", 1));
    json_set_int64(a, sub, "minSubGroups", json_get_int64(policy, "minPartitions", 0));
    struct json *labels = json_ensure_object(a, json_ensure_object(a, sub, "labelSelector"), "matchLabels");
    json_set_text(a, labels, "volcano.sh/task-spec", task->name);
    json_append(json_ensure_array(a, sub, "matchLabelKeys"), json_new_text(a, "volcano.sh/partition-id"));
    return sub;
}

struct json *vcjob_pod_group(struct arena *a, const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n,
                             int64_t version)
{
    const struct json *job_spec = json_get(job, "spec");
    struct json *group = vcjob_object(a, job, "scheduling.volcano.sh/v1beta1", "PodGroup", vcjob_pod_group_name(a, job));
    struct json *meta = json_get(group, "metadata");
    const struct json *annotations = json_path(job, "metadata", "annotations", NULL);
    if (json_is(annotations, JSON_OBJECT))
        json_set(a, meta, "annotations", json_clone(a, annotations));
    struct json *own = json_ensure_object(a, meta, "annotations");
    (void)json_remove(own, "kubectl.kubernetes.io/last-applied-configuration"); /* belongs to the Job only */
    (void)json_remove(own, "capstan.dev/reason");
    json_set_text(a, own, "volcano.sh/job-version", arena_printf(a, "%lld", (long long)version));
    const struct json *labels = json_path(job, "metadata", "labels", NULL);
    if (json_is(labels, JSON_OBJECT))
        json_set(a, meta, "labels", json_clone(a, labels));
    json_set_text(a, json_ensure_object(a, meta, "labels"), "volcano.sh/job-name", object_meta(job, "name"));

    struct json *spec = json_ensure_object(a, group, "spec");
    int64_t members = members_at_start(job, tasks, tasks_n);
    json_set_int64(a, spec, "minMember", members);
    struct json *by_task = json_ensure_object(a, spec, "minTaskMember");
    for (uint32_t i = 0; i < tasks_n; i++)
        if (!task_waits(&tasks[i]))
            json_set_int64(a, by_task, tasks[i].name, tasks[i].min_available);
    json_set_text(a, spec, "queue", json_get_text(job_spec, "queue", "default"));
    const char *priority_class = json_get_text(job_spec, "priorityClassName", "");
    if (*priority_class)
        json_set_text(a, spec, "priorityClassName", priority_class);
    json_set(a, spec, "minResources", min_resources(a, tasks, tasks_n, members));
    const struct json *topology = json_get(job_spec, "networkTopology");
    if (json_is(topology, JSON_OBJECT))
        json_set(a, spec, "networkTopology", json_clone(a, topology));
    for (uint32_t i = 0; i < tasks_n; i++)
        if (json_is(json_get(tasks[i].spec, "partitionPolicy"), JSON_OBJECT))
            json_append(json_ensure_array(a, spec, "subGroupPolicy"), sub_group_of(a, &tasks[i]));
    json_set_text(a, json_ensure_object(a, group, "status"), "phase", "Pending");
    return group;
}
