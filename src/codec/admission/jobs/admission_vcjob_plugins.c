/* admission_vcjob_plugins.c - plugins of a Volcano Job: which there are, their arguments, the tasks they look for; see admission_part.h
 *
 * SOURCE Volcano, pkg/controllers/job/plugins; its webhook knows the names of plugins and mpi's master.
 */
#include <strings.h>
#include "codec/admission/admission_part.h"
#include "codec/kinds/plugin_arguments.h"

enum { ARGUMENTS_MAX = 8 };

static const struct plugin {
    const char *name;
    const char *arguments[ARGUMENTS_MAX]; /* NULL ends them */
} plugins[] = {
    {"svc", {"publish-not-ready-addresses", "disable-network-policy", "inject-hosts-env", "hosts-with-slots"}},
    {"ssh", {"ssh-key-file-path", "ssh-private-key", "ssh-public-key", "ssh-port"}},
    {"env", {NULL}},
    {"pytorch", {"master", "worker", "port", "wait-master-enabled", "wait-master-timeout", "wait-master-image"}},
    {"mpi", {"master", "worker", "port"}},
    {"tensorflow", {"ps", "worker", "chief", "evaluator", "port"}},
    {"ray", {"head", "worker", "headContainer", "workerContainer", "port", "dashboardPort", "clientPort"}},
    {"hcclrank", {"master", "worker"}},
};

static const struct plugin *plugin_of(const char *name)
{
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        if (text_equal(plugins[i].name, name))
            return &plugins[i];
    return NULL;
}

static bool knows(const struct plugin *p, const char *argument, size_t n)
{
    for (size_t i = 0; i < ARGUMENTS_MAX && p->arguments[i]; i++)
        if (strlen(p->arguments[i]) == n && memcmp(p->arguments[i], argument, n) == 0)
            return true;
    return false;
}

static const char *arguments_text(struct admission *x, const struct plugin *p)
{
    const char *text = "";
    for (size_t i = 0; i < ARGUMENTS_MAX && p->arguments[i]; i++)
        text = AT(x, "%s%s--%s", text, *text ? ", " : "", p->arguments[i]);
    return *text ? text : "none";
}

static void check_arguments(struct admission *x, const struct plugin *p, const struct json *list, const char *path)
{
    uint32_t at = 0;
    bool may_be_value = false; /* of the word before: --master, m */
    JSON_EACH (item, admission_list_n(list) ? list : NULL) {
        const char *text = json_text(item, ""), *name = text + strspn(text, "-"), *equals = strchr(name, '=');
        size_t n = equals ? (size_t)(equals - name) : strlen(name);
        int64_t port;
        if (name == text && !may_be_value)
            admission_warn(x, "%s[%u]: %s has no effect: arguments begin with a dash, as in --port=2222", path, at, text);
        else if (name > text && !knows(p, name, n))
            admission_warn(x, "%s[%u]: --%.*s is no argument of it: there are %s", path, at, (int)n, name, arguments_text(x, p));
        else if (name > text && equals && n >= 4 && strncasecmp(name + n - 4, "port", 4) == 0 &&
                 (!bytes_int64(bytes_of(equals + 1), &port) || port < 1 || port > 65535))
            admission_warn(x, "%s[%u]: %s is no port: write a number from 1 to 65535; the default is used", path, at, equals + 1);
        may_be_value = name > text && !equals;
        at++;
    }
}

/* ---- tasks that they look for ---- */

static const struct json *task_of(const struct json *tasks, const char *name)
{
    JSON_EACH (task, admission_list_n(tasks) ? tasks : NULL)
        if (text_equal(json_get_text(task, "name", ""), name))
            return task;
    return NULL;
}

static bool has_container(const struct json *task, const char *name)
{
    JSON_EACH (c, json_path(task, "template", "spec", "containers", NULL))
        if (text_equal(json_get_text(c, "name", ""), name))
            return true;
    return false;
}

static void check_mpi(struct admission *x, const struct json *tasks, const struct json *list)
{
    const char *master = plugin_argument_text(list, "master", "master"), *worker = plugin_argument_text(list, "worker", "worker");
    if (!task_of(tasks, master))
        admission_error(x, FIELD_INVALID, "spec.plugins[mpi]", NULL,
                        "The specified mpi master task was not found: no task is called %s; write --master=NAME of the task that runs mpirun",
                        master);
    else if (!task_of(tasks, worker))
        admission_warn(x, "spec.plugins[mpi]: no task is called %s: MPI_HOST is not set; write --worker=NAME", worker);
}

static void check_ray(struct admission *x, const struct json *tasks, const struct json *list)
{
    const char *head = plugin_argument_text(list, "head", "head"), *worker = plugin_argument_text(list, "worker", "worker");
    const char *head_container = plugin_argument_text(list, "headContainer", "head"),
               *worker_container = plugin_argument_text(list, "workerContainer", "worker");
    const struct json *head_task = task_of(tasks, head), *worker_task = task_of(tasks, worker);
    if (!head_task)
        admission_error(x, FIELD_INVALID, "spec.plugins[ray]", NULL,
                        "no task is called %s: write --head=NAME of the task that is Ray's head", head);
    else if (!has_container(head_task, head_container))
        admission_warn(x, "spec.plugins[ray]: task %s has no container %s, and nothing starts Ray in it: write --headContainer=NAME", head,
                       head_container);
    if (worker_task && !has_container(worker_task, worker_container))
        admission_warn(x, "spec.plugins[ray]: task %s has no container %s, and nothing starts Ray in it: write --workerContainer=NAME",
                       worker, worker_container);
}

/* Plugins that do nothing when none of their roles is there. */
static void check_roles(struct admission *x, const char *plugin, const struct json *tasks, const struct json *list)
{
    static const char *const roles[] = {"master", "worker", "ps", "chief", "evaluator"};
    const struct plugin *p = plugin_of(plugin);
    const char *wanted = "";
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const char *name = plugin_argument_text(list, roles[i], roles[i]);
        if (!knows(p, roles[i], strlen(roles[i])))
            continue;
        if (task_of(tasks, name))
            return;
        wanted = AT(x, "%s%s%s", wanted, *wanted ? " or " : "", name);
    }
    admission_warn(x, "spec.plugins[%s]: it does nothing, as no task is called %s: write the name of your task, as in --worker=NAME",
                   plugin, wanted);
}

/* A Service has the job's name, and pods are reached by the names that are in it. */
static void check_host_names(struct admission *x, const struct json *plugins_given)
{
    struct bytes name = json_bytes(json_path(x->object, "metadata", "name", NULL));
    if (name.n && json_get(plugins_given, "svc") && !name_is_dns1035_label(name))
        admission_error_text(x, FIELD_INVALID, "metadata.name", name, "the svc plugin makes a Service of this name: " NAME_DNS1035_RULE);
}

void admission_vcjob_plugins(struct admission *x, const struct json *spec)
{
    const struct json *given = json_get(spec, "plugins"), *tasks = json_get(spec, "tasks");
    JSON_EACH (plugin, json_is(given, JSON_OBJECT) ? given : NULL) {
        const char *path = AT(x, "spec.plugins[%s]", plugin->key);
        const struct plugin *p = plugin_of(plugin->key);
        if (!p)
            admission_error(x, FIELD_INVALID, path, json_new_text(x->arena, plugin->key),
                            "unable to find job plugin: there are svc, ssh, env, pytorch, tensorflow, mpi, ray, hcclrank");
        if (!p || x->old)
            continue;
        check_arguments(x, p, plugin, path);
        if (text_equal(p->name, "mpi"))
            check_mpi(x, tasks, plugin);
        else if (text_equal(p->name, "ray"))
            check_ray(x, tasks, plugin);
        else if (text_equal(p->name, "pytorch") || text_equal(p->name, "tensorflow") || text_equal(p->name, "hcclrank"))
            check_roles(x, p->name, tasks, plugin);
    }
    if (!x->old)
        check_host_names(x, given);
}
