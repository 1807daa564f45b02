/* What Volcano manifests of guides get wrong without Volcano saying so (it stays silent, and the job hangs): told as
 * Warnings. */
#include <ctype.h>

#include "codec/admission/admission_part.h"

struct guide_check {
    struct admission *x;
    const struct json *tasks;
    const char *path; /* of the container */
    const struct json *container;
};

static const char *task_name(struct admission *x, const struct json *task, uint32_t at)
{
    const char *name = json_get_text(task, "name", "");
    return name[0] ? name : AT(x, "default%u", at);
}

/* Task whose name in upper case, '-' as '_', begins `rest` and is followed by `suffix`; *ret_index: number between
 * them, -1 = none. */
static const struct json *task_of(const struct guide_check *g, struct bytes rest, const char *suffix,
                                  int64_t *ret_index)
{
    uint32_t at = 0;
    size_t suffix_n = strlen(suffix);
    JSON_EACH (task, admission_list_n(g->tasks) ? g->tasks : NULL) {
        const char *name = task_name(g->x, task, at++);
        size_t n = strlen(name);
        bool same = rest.n > n && rest.data[n] == '_';
        for (size_t i = 0; same && i < n; i++)
            same = (name[i] == '-' ? '_' : toupper((unsigned char)name[i])) == rest.data[i];
        if (!same)
            continue;
        struct bytes tail = {rest.data + n + 1, rest.n - n - 1};
        *ret_index = -1;
        if (bytes_is(tail, suffix))
            return task;
        if (tail.n > suffix_n + 1 && memcmp(tail.data + tail.n - suffix_n, suffix, suffix_n) == 0 &&
            tail.data[tail.n - suffix_n - 1] == '_' &&
            bytes_int64((struct bytes){tail.data, tail.n - suffix_n - 1}, ret_index) && *ret_index >= 0)
            return task;
    }
    return NULL;
}

static bool is_in_env(const struct json *container, struct bytes name)
{
    const struct json *env = json_get(container, "env");
    JSON_EACH (v, admission_list_n(env) ? env : NULL)
        if (bytes_equal(json_bytes(json_get(v, "name")), name))
            return true;
    return false;
}

/* name: "VC_WORKER_0_SVC" */
static void judge_variable(const struct guide_check *g, struct bytes name)
{
    int64_t index;
    struct bytes rest = {name.data + 3, name.n - 3};
    if (is_in_env(g->container, name) || bytes_is(rest, "TASK_INDEX"))
        return;
    const struct json *task = task_of(g, rest, "SVC", &index);
    if (task && index >= 0 && index < json_get_int64(task, "replicas", 1)) {
        const char *job = json_text(json_path(g->x->object, "metadata", "name", NULL), "JOB");
        admission_warn(g->x,
                       "%s: $(%.*s) is no variable of Volcano; it is given here as the host name %s-%s-%lld.%s; write "
                       "that name to stay portable",
                       g->path, (int)name.n, name.data, job, json_get_text(task, "name", "TASK"), (long long)index,
                       job);
        return;
    }
    static const char *const suffixes[] = {"HOSTS", "NUM", "HOSTS_SLOTS"};
    for (size_t i = 0; i < 3; i++)
        if (task_of(g, rest, suffixes[i], &index) && index < 0)
            return;
    admission_warn(g->x,
                   "%s: $(%.*s) is not set by any plugin and stays as it is written; there are VC_<TASK>_HOSTS, "
                   "VC_<TASK>_NUM and VC_TASK_INDEX, with the names of this job's tasks",
                   g->path, (int)name.n, name.data);
}

static void scan_text(const struct guide_check *g, const char *text)
{
    for (const char *at = strstr(text, "$("); at; at = strstr(at + 2, "$(")) {
        const char *end = strchr(at, ')');
        bool escaped = at > text && at[-1] == '$';
        if (end && !escaped && end - at > 5 && (memcmp(at + 2, "VC_", 3) == 0 || memcmp(at + 2, "VK_", 3) == 0))
            judge_variable(g, (struct bytes){at + 2, (size_t)(end - at) - 2});
    }
}

static bool list_has(const struct json *list, const char *part)
{
    JSON_EACH (item, admission_list_n(list) ? list : NULL)
        if (strstr(json_text(item, ""), part))
            return true;
    return false;
}

static void check_container(const struct guide_check *g)
{
    const struct json *lists[2] = {json_get(g->container, "command"), json_get(g->container, "args")};
    for (int l = 0; l < 2; l++)
        JSON_EACH (item, admission_list_n(lists[l]) ? lists[l] : NULL)
            scan_text(g, json_text(item, ""));
    JSON_EACH (v, admission_list_n(json_get(g->container, "env")) ? json_get(g->container, "env") : NULL)
        scan_text(g, json_get_text(v, "value", ""));
    bool horovod = list_has(lists[0], "horovodrun") || list_has(lists[1], "horovodrun");
    bool hosts = list_has(lists[0], "_HOSTS)") || list_has(lists[1], "_HOSTS)");
    if (horovod && hosts)
        admission_warn(g->x,
                       "%s: horovodrun -H wants host:slots and refuses the bare list of VC_<TASK>_HOSTS; here that "
                       "list carries the slots; elsewhere write them out",
                       g->path);
}

/* ssh makes keys and starts no server: a task that others reach needs a command that runs sshd. */
static void check_ssh(struct admission *x, const struct json *spec)
{
    const struct json *tasks = json_get(spec, "tasks");
    uint32_t at = 0;
    if (!json_path(spec, "plugins", "ssh", NULL))
        return;
    JSON_EACH (task, admission_list_n(tasks) ? tasks : NULL) {
        const struct json *containers = json_path(task, "template", "spec", "containers", NULL);
        const struct json *c = json_item(containers, 0);
        if (admission_list_n(tasks) > 1 && c && !json_get(c, "command") && !json_get(c, "args"))
            admission_warn(x,
                           "spec.tasks[%u] (%s): the ssh plugin makes keys but starts no sshd, and this container has "
                           "no command; unless its image starts one, write command: [/usr/sbin/sshd, -D]",
                           at, task_name(x, task, at));
        at++;
    }
}

void admission_volcano_guide(struct admission *x, const struct json *spec)
{
    struct guide_check g = {.x = x, .tasks = json_get(spec, "tasks")};
    uint32_t at = 0;
    JSON_EACH (task, admission_list_n(g.tasks) ? g.tasks : NULL) {
        const struct json *containers = json_path(task, "template", "spec", "containers", NULL);
        uint32_t container_at = 0;
        JSON_EACH (c, admission_list_n(containers) ? containers : NULL) {
            g.container = c;
            g.path = AT(x, "spec.tasks[%u].template.spec.containers[%u]", at, container_at++);
            check_container(&g);
        }
        at++;
    }
    check_ssh(x, spec);
}

void admission_volcano_repair(struct admission *x, const struct kind *k)
{
    const struct json *tasks = json_path(x->object, "spec", "tasks", NULL);
    uint32_t at = 0;
    if (!text_equal(k->plural, "jobs"))
        return;
    JSON_EACH (task, admission_list_n(tasks) ? tasks : NULL) {
        struct json *spec = json_path(task, "template", "spec", NULL);
        if (json_is(spec, JSON_OBJECT) && admission_absent(json_get(spec, "restartPolicy"))) {
            json_set_text(x->arena, spec, "restartPolicy", "OnFailure");
            admission_warn(x,
                           "spec.tasks[%u] (%s): no restartPolicy: taken as OnFailure, since with Kubernetes' default "
                           "Always its pods never succeed and the job never completes",
                           at, task_name(x, task, at));
        }
        at++;
    }
}

/* ---- the corrected form ---- */

static bool replace_all(struct arena *a, struct json *v, const char *from, const char *to)
{
    const char *at = strstr(json_text(v, ""), from);
    if (!at)
        return false;
    _cleanup_buf_ struct buf out = {0};
    const char *rest = v->text;
    for (; at; rest = at + strlen(from), at = strstr(rest, from)) {
        buf_add(&out, rest, (size_t)(at - rest));
        buf_text(&out, to);
    }
    buf_text(&out, rest);
    v->text = arena_text_n(a, out.data, out.n);
    v->n = (uint32_t)out.n;
    return true;
}

static char *upper_name(struct arena *a, const char *name)
{
    char *out = arena_text(a, name);
    for (char *c = out; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return out;
}

/* GPUs of one pod of the task, 1 when it has none: slots of Horovod. */
static int64_t slots_of(const struct json *task)
{
    const struct json *c = json_item(json_path(task, "template", "spec", "containers", NULL), 0);
    struct bytes text = json_bytes(json_get(json_path(c, "resources", "limits", NULL), "nvidia.com/gpu"));
    int64_t n;
    return bytes_int64(text, &n) && n > 0 && n < 1024 ? n : 1;
}

/* "job-worker-0.job:1,job-worker-1.job:1" */
static const char *host_list(struct admission *x, const struct json *task, const char *job, const char *name)
{
    _cleanup_buf_ struct buf out = {0};
    int64_t replicas = json_get_int64(task, "replicas", 1);
    for (int64_t i = 0; i < replicas && i < 1000; i++)
        buf_printf(&out, "%s%s-%s-%lld.%s:%lld", i ? "," : "", job, name, (long long)i, job, (long long)slots_of(task));
    return arena_text(x->arena, out.data ? out.data : "");
}

/* Aliases become host names; the host list that horovodrun reads gets its slots. */
static bool fix_text(struct admission *x, const struct json *tasks, struct json *v, bool horovod)
{
    const char *job = json_text(json_path(x->object, "metadata", "name", NULL), "JOB");
    bool changed = false;
    uint32_t at = 0;
    if (!strstr(json_text(v, ""), "$(VC_"))
        return false;
    JSON_EACH (task, tasks) {
        const char *name = task_name(x, task, at++), *upper = upper_name(x->arena, name);
        int64_t replicas = json_get_int64(task, "replicas", 1);
        for (int64_t i = 0; i < replicas && i < 1000; i++)
            changed |= replace_all(x->arena, v, AT(x, "$(VC_%s_%lld_SVC)", upper, (long long)i),
                                   AT(x, "%s-%s-%lld.%s", job, name, (long long)i, job));
        if (horovod)
            changed |= replace_all(x->arena, v, AT(x, "$(VC_%s_HOSTS)", upper), host_list(x, task, job, name));
    }
    return changed;
}

static bool fix_container(struct admission *x, const struct json *tasks, struct json *c)
{
    static const char *const lists[] = {"command", "args"};
    bool changed = false,
         horovod = list_has(json_get(c, "command"), "horovodrun") || list_has(json_get(c, "args"), "horovodrun");
    for (int l = 0; l < 2; l++)
        JSON_EACH (item, admission_list_n(json_get(c, lists[l])) ? json_get(c, lists[l]) : NULL)
            changed |= fix_text(x, tasks, item, horovod);
    JSON_EACH (v, admission_list_n(json_get(c, "env")) ? json_get(c, "env") : NULL)
        changed |= json_get(v, "value") && fix_text(x, tasks, json_get(v, "value"), false);
    return changed;
}

struct json *admission_volcano_fix(struct admission *x, const struct kind *k)
{
    struct json *fixed = json_clone(x->arena, x->object), *tasks = json_path(fixed, "spec", "tasks", NULL);
    bool changed = false;
    if (!text_equal(k->plural, "jobs") || admission_list_n(tasks) == 0)
        return NULL;
    JSON_EACH (task, tasks) {
        struct json *spec = json_path(task, "template", "spec", NULL), *containers = json_get(spec, "containers");
        changed |= admission_pod_spec_fix(x, spec);
        JSON_EACH (c, admission_list_n(containers) ? containers : NULL)
            changed |= fix_container(x, tasks, c);
    }
    return changed ? fixed : NULL;
}
