/* vcjob_variables.c - $(VC_...) in commands; see vcjob_variables.h */
#include "jobs/volcano/vcjob_variables.h"
#include <ctype.h>
#include "base/limits.h"
#include "base/quantity.h"
#include "jobs/volcano/vcjob_plugins.h"

char *vcjob_file_part(struct arena *a, const char *task)
{
    char *text = arena_text(a, task);
    for (char *at = text; *at; at++)
        *at = *at == '-' ? '_' : *at;
    return text;
}

char *vcjob_variable_part(struct arena *a, const char *task)
{
    char *text = arena_text(a, task);
    for (char *at = text; *at; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    return text;
}

static bool is_gpu(const char *resource)
{
    return text_ends(resource, "/gpu") || text_ends(resource, "gpu") || strstr(resource, "/mig-") != NULL;
}

static int64_t gpus_of(const struct vcjob_task *task)
{
    int64_t slots = 0;
    JSON_EACH (container, json_path(task->spec, "template", "spec", "containers", NULL)) {
        const struct json *limits = json_path(container, "resources", "limits", NULL);
        JSON_EACH (amount, limits ? limits : json_path(container, "resources", "requests", NULL)) {
            struct quantity q;
            if (is_gpu(amount->key) && quantity_parse(json_bytes(amount), &q, NULL) == 0)
                slots += quantity_whole(q);
        }
    }
    return slots;
}

bool vcjob_has_gpus(const struct vcjob_task *task)
{
    return gpus_of(task) > 0;
}

int64_t vcjob_slots(const struct vcjob_task *task)
{
    return vcjob_has_gpus(task) ? gpus_of(task) : 1;
}

const char *vcjob_host_list(struct arena *a, const char *job, const struct vcjob_task *task, const char *between, const char *slot_mark)
{
    _cleanup_buf_ struct buf out;
    buf_init(&out);
    int64_t slots = vcjob_slots(task);
    for (int64_t i = 0; i < vcjob_hosts_n(task); i++) {
        buf_printf(&out, "%s%s", i ? between : "", vcjob_host(a, job, task, i));
        if (slot_mark)
            buf_printf(&out, "%s%lld", slot_mark, (long long)slots);
    }
    return arena_text_n(a, out.data ? out.data : "", out.n);
}

/* ---- references ---- */

typedef void (*reference_fn)(void *arg, struct bytes name);

static void text_references(const char *text, reference_fn fn, void *arg)
{
    for (const char *at = text; (at = strstr(at, "$("));) {
        const char *end = strchr(at, ')');
        if (!end)
            return;
        if (at == text || at[-1] != '$') /* $$( is an escaped $( */
            fn(arg, (struct bytes){at + 2, (size_t)(end - at - 2)});
        at = end;
    }
}

static void container_references(const struct json *container, reference_fn fn, void *arg)
{
    JSON_EACH (word, json_get(container, "command"))
        text_references(json_text(word, ""), fn, arg);
    JSON_EACH (word, json_get(container, "args"))
        text_references(json_text(word, ""), fn, arg);
    JSON_EACH (env, json_get(container, "env"))
        text_references(json_get_text(env, "value", ""), fn, arg);
}

/* VC_<T>_<i>_SVC of an existing task and index? */
static bool alias_parse(struct arena *a, struct bytes name, const struct vcjob_task *tasks, uint32_t tasks_n,
                        uint32_t *ret_task, int64_t *ret_index)
{
    for (uint32_t i = 0; i < tasks_n; i++) {
        const char *head = arena_printf(a, "VC_%s_", vcjob_variable_part(a, tasks[i].name));
        size_t n = strlen(head);
        if (!bytes_starts(name, head) || name.n < n + 5 || memcmp(name.data + name.n - 4, "_SVC", 4) != 0)
            continue;
        int64_t index;
        if (!bytes_int64((struct bytes){name.data + n, name.n - n - 4}, &index) || index < 0 ||
            index >= tasks[i].replicas)
            continue;
        *ret_task = i;
        *ret_index = index;
        return true;
    }
    return false;
}

struct injection {
    struct arena *arena;
    const char *job;
    const struct vcjob_task *tasks;
    uint32_t tasks_n, at;
    struct json *env; /* the container's */
};

static bool env_has(const struct json *env, struct bytes name)
{
    JSON_EACH (item, env)
        if (bytes_equal(json_bytes(json_get(item, "name")), name))
            return true;
    return false;
}

static void on_alias(void *arg, struct bytes name)
{
    struct injection *x = arg;
    uint32_t task;
    int64_t index;
    if (env_has(x->env, name) || !alias_parse(x->arena, name, x->tasks, x->tasks_n, &task, &index))
        return;
    struct json *env = json_new(x->arena, JSON_OBJECT);
    json_set(x->arena, env, "name", json_new_text_n(x->arena, name));
    json_set_text(x->arena, env, "value", vcjob_host(x->arena, x->job, &x->tasks[task], index));
    json_insert(x->env, x->at++, env);
}

void vcjob_alias_inject(struct arena *a, const char *job, const struct vcjob_task *tasks, uint32_t tasks_n,
                        struct json *container)
{
    const struct json *before = json_clone(a, container); /* the walk must not see what it adds */
    struct json *env = json_get(container, "env");
    struct json *scratch = env ? env : json_new(a, JSON_ARRAY);
    struct injection x = {a, job, tasks, tasks_n, 0, scratch};
    container_references(before, on_alias, &x);
    if (!env && x.at > 0)
        json_set(a, container, "env", scratch);
}

/* ---- horovod ---- */

static bool is_hosts_reference(const char *text)
{
    return text_starts(text, "$(VC_") && text_ends(text, "_HOSTS)");
}

/* As separate words, or as one shell line. */
static bool words_read_slots(const struct json *words)
{
    bool horovod = false, host_flag = false;
    JSON_EACH (word, words) {
        const char *text = json_text(word, "");
        if (strstr(text, "horovodrun") && strstr(text, "_HOSTS)") && strstr(text, "-H"))
            return true;
        horovod = horovod || strcmp(text, "horovodrun") == 0 || text_ends(text, "/horovodrun");
        if (horovod && host_flag && is_hosts_reference(text))
            return true;
        host_flag = strcmp(text, "-H") == 0 || strcmp(text, "--hosts") == 0;
    }
    return false;
}

bool vcjob_reads_slots(const struct json *job)
{
    JSON_EACH (task, json_path(job, "spec", "tasks", NULL))
        JSON_EACH (container, json_path(task, "template", "spec", "containers", NULL))
            if (words_read_slots(json_get(container, "command")) || words_read_slots(json_get(container, "args")))
                return true;
    return false;
}

static bool words_mention_slots(const struct json *words)
{
    JSON_EACH (word, words)
        if (strstr(json_text(word, ""), "_HOSTS_SLOTS") || strstr(json_text(word, ""), ".hostfile"))
            return true;
    return false;
}

static bool container_wants_slots(const struct json *container)
{
    JSON_EACH (amount, json_path(container, "resources", "limits", NULL))
        if (is_gpu(amount->key))
            return true;
    JSON_EACH (amount, json_path(container, "resources", "requests", NULL))
        if (is_gpu(amount->key))
            return true;
    JSON_EACH (env, json_get(container, "env"))
        if (strstr(json_get_text(env, "value", ""), "_HOSTS_SLOTS") ||
            strstr(json_get_text(env, "value", ""), ".hostfile"))
            return true;
    return words_mention_slots(json_get(container, "command")) || words_mention_slots(json_get(container, "args"));
}

bool vcjob_wants_slots(const struct json *job)
{
    JSON_EACH (task, json_path(job, "spec", "tasks", NULL))
        JSON_EACH (container, json_path(task, "template", "spec", "containers", NULL))
            if (container_wants_slots(container))
                return true;
    return false;
}

/* ---- remarks ---- */

struct remarks {
    struct arena *arena;
    struct json *list;
    const struct vcjob_task *tasks;
    uint32_t tasks_n;
    const struct vcjob_plugins *plugins;
    const struct json *container;
    struct json *seen;
    const char *job;
};

static void remark(struct remarks *r, const char *reason, const char *message)
{
    JSON_EACH (old, r->list)
        if (strcmp(json_get_text(old, "message", ""), message) == 0)
            return;
    struct json *item = json_new(r->arena, JSON_OBJECT);
    json_set_text(r->arena, item, "reason", reason);
    json_set_text(r->arena, item, "message", message);
    json_append(r->list, item);
}

static bool name_given(const struct remarks *r, struct bytes name)
{
    if (env_has(json_get(r->container, "env"), name))
        return true;
    if (r->plugins->env && (bytes_is(name, "VC_TASK_INDEX") || bytes_is(name, "VK_TASK_INDEX")))
        return true;
    for (uint32_t i = 0; r->plugins->svc && !r->plugins->no_hosts_env && i < r->tasks_n; i++) {
        const char *upper = vcjob_variable_part(r->arena, r->tasks[i].name);
        if (bytes_is(name, arena_printf(r->arena, "VC_%s_HOSTS", upper)) ||
            bytes_is(name, arena_printf(r->arena, "VC_%s_NUM", upper)) ||
            bytes_is(name, arena_printf(r->arena, "VC_%s_HOSTS_SLOTS", upper)))
            return true;
    }
    return false;
}

static void on_reference(void *arg, struct bytes name)
{
    struct remarks *r = arg;
    uint32_t task;
    int64_t index;
    if ((!bytes_starts(name, "VC_") && !bytes_starts(name, "VK_")) || name_given(r, name))
        return;
    const char *text = arena_text_n(r->arena, name.data, name.n);
    if (alias_parse(r->arena, name, r->tasks, r->tasks_n, &task, &index))
        remark(r, "VariableAlias",
               arena_printf(r->arena,
                            "$(%s) is not a variable of Volcano; it is given here as %s-%s-%lld.%s. Write that host "
                            "name to be portable",
                            text, r->job, r->tasks[task].name, (long long)index, r->job));
    else
        remark(r, "UnresolvedVariable",
               arena_printf(r->arena,
                            "$(%s) is not known and stays as it is written; the svc plugin gives VC_<TASK>_HOSTS and "
                            "VC_<TASK>_NUM, "
                            "the env plugin VC_TASK_INDEX",
                            text));
}

static void task_remarks(struct remarks *r, const struct vcjob_task *task)
{
    const struct json *spec = json_path(task->spec, "template", "spec", NULL);
    if (!json_get(spec, "restartPolicy"))
        remark(r, "RestartPolicyDefaulted",
               arena_printf(
                   r->arena,
                   "task %s has no restartPolicy: OnFailure is used, since with Always its pods would never complete",
                   task->name));
    JSON_EACH (container, json_get(spec, "containers")) {
        r->container = container;
        container_references(container, on_reference, r);
        if (r->plugins->ssh && !json_get(container, "command") && !json_get(container, "args"))
            remark(r, "NoSshServer",
                   arena_printf(r->arena,
                                "task %s has no command: the ssh plugin brings keys but starts no sshd, so the image's "
                                "entry point must",
                                task->name));
    }
}

static void remark_pods(struct remarks *r, const struct json *job)
{
    int64_t asked = 0;
    JSON_EACH (task, json_path(job, "spec", "tasks", NULL)) {
        int64_t replicas = json_get_int64(task, "replicas", 0);
        asked += replicas > INT32_MAX ? INT32_MAX : replicas > 0 ? replicas : 0;
    }
    if (asked > LIMIT_GANG_MEMBERS)
        remark(r, "TooManyPods",
               arena_printf(r->arena, "the tasks ask for %lld pods; the first %d are made: write fewer replicas", (long long)asked,
                            LIMIT_GANG_MEMBERS));
}

struct json *vcjob_remarks(struct arena *a, const struct json *job, const struct vcjob_plugins *p,
                           const struct vcjob_task *tasks, uint32_t tasks_n)
{
    struct remarks r = {a,     json_new(a, JSON_ARRAY),
                        tasks, tasks_n,
                        p,     NULL,
                        NULL,  json_get_text(json_get(job, "metadata"), "name", "")};
    remark_pods(&r, job);
    for (uint32_t i = 0; i < tasks_n; i++)
        task_remarks(&r, &tasks[i]);
    if (vcjob_reads_slots(job))
        remark(&r, "HostsWithSlots",
               "horovodrun -H wants host:slots, which VC_<TASK>_HOSTS does not have in Volcano; slots are added here. "
               "Write $(VC_<TASK>_HOSTS_SLOTS) or --hosts-with-slots to say so");
    return r.list;
}
