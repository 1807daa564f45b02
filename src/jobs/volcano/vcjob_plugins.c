/* vcjob_plugins.c - svc, ssh and env; see vcjob_plugins.h. Keys are in vcjob_ssh.c, remarks and variables in
 * vcjob_variables.c, plugins of frameworks in vcjob_frameworks.c */
#include "jobs/volcano/vcjob_plugins.h"
#include "codec/kinds/plugin_arguments.h"
#include "jobs/volcano/vcjob_variables.h"

#define SSH_FOLDER ".ssh" /* where the keys are in the volume */
static const char *const ssh_files[] = {"id_rsa", "id_rsa.pub", "authorized_keys", "config"};

/* ---- arguments ---- */

void vcjob_plugins_parse(struct arena *a, const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n,
                         struct vcjob_plugins *ret_p)
{
    struct vcjob_plugins p = {.ssh_path = "/root/.ssh", .ssh_port = 22};
    const struct json *plugins = json_path(job, "spec", "plugins", NULL);
    if (!plugins) { /* nothing is read of those that are off */
        *ret_p = p;
        return;
    }
    const struct json *svc = json_get(plugins, "svc"), *ssh = json_get(plugins, "ssh");
    p.svc = svc != NULL;
    p.ssh = ssh != NULL;
    p.env = json_get(plugins, "env") != NULL;
    vcjob_frameworks_parse(job, &p.frameworks);
    const struct vcjob_frameworks *f = &p.frameworks;
    /* As admission adds them. */
    p.svc = p.svc || f->pytorch.on || f->mpi.on || f->tensorflow.on || f->ray.on;
    p.ssh = p.ssh || f->mpi.on;
    /* WHY members of a gang look for each other before any of them is ready. */
    bool gang = vcjob_min_available(job, tasks, tasks_n) > 1;
    p.publish_not_ready = plugin_argument_true(svc, "publish-not-ready-addresses", gang);
    p.no_network_policy = plugin_argument_true(svc, "disable-network-policy", false);
    p.no_hosts_env = !plugin_argument_true(svc, "inject-hosts-env", true);
    p.hosts_with_slots = plugin_argument_true(svc, "hosts-with-slots", vcjob_reads_slots(job));
    p.lists_slots = p.hosts_with_slots || vcjob_wants_slots(job);
    p.ssh_path = plugin_argument_text(ssh, "ssh-key-file-path", p.ssh_path);
    p.ssh_private_key = plugin_argument_text(ssh, "ssh-private-key", NULL);
    p.ssh_public_key = plugin_argument_text(ssh, "ssh-public-key", NULL);
    p.ssh_port = plugin_argument_port(ssh, "ssh-port", p.ssh_port);
    *ret_p = p;
}

/* ---- objects ---- */

static void select_job(struct arena *a, struct json *labels, const struct json *job)
{
    json_set_text(a, labels, "volcano.sh/job-name", object_meta(job, "name"));
    json_set_text(a, labels, "volcano.sh/job-namespace", object_meta(job, "namespace"));
}

static struct json *service_of(struct arena *a, const struct json *job, const struct vcjob_plugins *p)
{
    struct json *service = vcjob_object(a, job, "v1", "Service", object_meta(job, "name"));
    struct json *spec = json_ensure_object(a, service, "spec");
    json_set_text(a, spec, "clusterIP", "None");
    select_job(a, json_ensure_object(a, spec, "selector"), job);
    json_set_bool(a, spec, "publishNotReadyAddresses", p->publish_not_ready);
    return service;
}

static struct json *network_policy_of(struct arena *a, const struct json *job)
{
    struct json *policy = vcjob_object(a, job, "networking.k8s.io/v1", "NetworkPolicy", object_meta(job, "name"));
    struct json *spec = json_ensure_object(a, policy, "spec");
    select_job(a, json_ensure_object(a, json_ensure_object(a, spec, "podSelector"), "matchLabels"), job);
    struct json *rule = json_new(a, JSON_OBJECT), *peer = json_new(a, JSON_OBJECT);
    select_job(a, json_ensure_object(a, json_ensure_object(a, peer, "podSelector"), "matchLabels"), job);
    json_append(json_ensure_array(a, rule, "from"), peer);
    json_append(json_ensure_array(a, spec, "ingress"), rule);
    json_append(json_ensure_array(a, spec, "policyTypes"), json_new_text(a, "Ingress"));
    return policy;
}

static struct json *hosts_of(struct arena *a, const struct json *job, const struct vcjob_plugins *p,
                             const struct vcjob_task *tasks, uint32_t tasks_n)
{
    const char *name = object_meta(job, "name");
    struct json *map = vcjob_object(a, job, "v1", "ConfigMap", arena_printf(a, "%s-svc", name));
    struct json *data = json_ensure_object(a, map, "data");
    for (uint32_t i = 0; i < tasks_n; i++) {
        const struct vcjob_task *task = &tasks[i];
        const char *upper = vcjob_variable_part(a, task->name);
        const char *file = vcjob_file_part(a, task->name);
        json_set_text(a, data, arena_printf(a, "%s.host", file), vcjob_host_list(a, name, task, "\n", NULL));
        json_set_text(a, data, arena_printf(a, "VC_%s_HOSTS", upper),
                      vcjob_host_list(a, name, task, ",", p->hosts_with_slots ? ":" : NULL));
        json_set_text(a, data, arena_printf(a, "VC_%s_NUM", upper), arena_printf(a, "%lld", (long long)vcjob_hosts_n(task)));
        if (!p->lists_slots)
            continue;
        json_set_text(a, data, arena_printf(a, "%s.hostfile", file), vcjob_host_list(a, name, task, "\n", " slots="));
        json_set_text(a, data, arena_printf(a, "VC_%s_HOSTS_SLOTS", upper), vcjob_host_list(a, name, task, ",", ":"));
    }
    return map;
}

static struct json *secret_of(struct arena *a, const struct json *job, const struct vcjob_plugins *p,
                              const struct vcjob_task *tasks, uint32_t tasks_n, const char *private_pem,
                              const char *public_line)
{
    const char *name = object_meta(job, "name");
    _cleanup_buf_ struct buf config;
    buf_init(&config);
    buf_text(&config, "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n");
    for (uint32_t i = 0; i < tasks_n; i++)
        for (int64_t j = 0; j < vcjob_hosts_n(&tasks[i]); j++) {
            const char *host = vcjob_host(a, name, &tasks[i], j);
            buf_printf(&config, "Host %.*s\n  HostName %s\n  Port %lld\n", (int)strcspn(host, "."), host, host, (long long)p->ssh_port);
        }
    const char *const texts[] = {private_pem, public_line, public_line, config.data}; /* of ssh_files */
    struct json *secret = vcjob_object(a, job, "v1", "Secret", arena_printf(a, "%s-ssh", name));
    json_set_text(a, secret, "type", "Opaque");
    struct json *data = json_ensure_object(a, secret, "data");
    for (size_t i = 0; i < sizeof ssh_files / sizeof *ssh_files; i++) {
        _cleanup_buf_ struct buf coded;
        buf_init(&coded);
        base64_encode(&coded, bytes_of(texts[i]));
        json_set_text(a, data, ssh_files[i], coded.data ? coded.data : "");
    }
    return secret;
}

struct json *vcjob_plugin_objects(struct arena *a, const struct json *job, const struct vcjob_plugins *p,
                                  const struct vcjob_task *tasks, uint32_t tasks_n, const char *private_pem,
                                  const char *public_line)
{
    struct json *list = json_new(a, JSON_ARRAY);
    if (p->svc) {
        json_append(list, service_of(a, job, p));
        if (!p->no_network_policy)
            json_append(list, network_policy_of(a, job));
        json_append(list, hosts_of(a, job, p, tasks, tasks_n));
    }
    struct json *head = vcjob_ray_service(a, job, &p->frameworks);
    if (head)
        json_append(list, head);
    if (p->ssh && private_pem)
        json_append(list, secret_of(a, job, p, tasks, tasks_n, private_pem, public_line));
    return list;
}

/* ---- pods ---- */

static struct json *env_text(struct arena *a, const char *name, const char *value)
{
    struct json *env = json_new(a, JSON_OBJECT);
    json_set_text(a, env, "name", name);
    json_set_text(a, env, "value", value);
    return env;
}

static struct json *env_from_map(struct arena *a, const char *name, const char *map)
{
    struct json *env = json_new(a, JSON_OBJECT);
    json_set_text(a, env, "name", name);
    struct json *ref = json_ensure_object(a, json_ensure_object(a, env, "valueFrom"), "configMapKeyRef");
    json_set_text(a, ref, "name", map);
    json_set_text(a, ref, "key", name);
    return env;
}

static void mount_add(struct arena *a, struct json *container, const char *volume, const char *path, const char *sub_path)
{
    struct json *mount = json_new(a, JSON_OBJECT);
    json_set_text(a, mount, "name", volume);
    json_set_text(a, mount, "mountPath", path);
    if (sub_path)
        json_set_text(a, mount, "subPath", sub_path);
    json_append(json_ensure_array(a, container, "volumeMounts"), mount);
}

static void volumes_add(struct arena *a, const struct vcjob_plugins *p, const char *job, struct json *spec)
{
    if (p->svc) {
        struct json *volume = json_new(a, JSON_OBJECT);
        json_set_text(a, volume, "name", arena_printf(a, "%s-svc", job));
        json_set_text(a, json_ensure_object(a, volume, "configMap"), "name", arena_printf(a, "%s-svc", job));
        json_append(json_ensure_array(a, spec, "volumes"), volume);
    }
    if (p->ssh) {
        struct json *volume = json_new(a, JSON_OBJECT);
        json_set_text(a, volume, "name", arena_printf(a, "%s-ssh", job));
        struct json *secret = json_ensure_object(a, volume, "secret");
        json_set_text(a, secret, "secretName", arena_printf(a, "%s-ssh", job));
        for (size_t i = 0; i < sizeof ssh_files / sizeof *ssh_files; i++) {
            struct json *item = json_new(a, JSON_OBJECT);
            json_set_text(a, item, "key", ssh_files[i]);
            json_set_text(a, item, "path", arena_printf(a, SSH_FOLDER "/%s", ssh_files[i]));
            json_append(json_ensure_array(a, secret, "items"), item);
        }
        json_set_int64(a, secret, "defaultMode", strcmp(p->ssh_path, "/root/.ssh") == 0 ? 0600 : 0644);
        json_append(json_ensure_array(a, spec, "volumes"), volume);
    }
}

static void container_fill(struct arena *a, const struct json *job, const struct vcjob_plugins *p,
                           const struct vcjob_task *tasks, uint32_t tasks_n, int64_t index, struct json *container)
{
    const char *name = object_meta(job, "name");
    vcjob_alias_inject(a, name, tasks, tasks_n, container);
    if (p->svc) {
        const char *map = arena_printf(a, "%s-svc", name);
        mount_add(a, container, map, "/etc/volcano", NULL);
        for (uint32_t i = 0; i < tasks_n && !p->no_hosts_env; i++) {
            const char *upper = vcjob_variable_part(a, tasks[i].name);
            struct json *env = json_ensure_array(a, container, "env");
            json_append(env, env_from_map(a, arena_printf(a, "VC_%s_HOSTS", upper), map));
            json_append(env, env_from_map(a, arena_printf(a, "VC_%s_NUM", upper), map));
            if (p->lists_slots)
                json_append(env, env_from_map(a, arena_printf(a, "VC_%s_HOSTS_SLOTS", upper), map));
        }
    }
    if (p->ssh)
        mount_add(a, container, arena_printf(a, "%s-ssh", name), p->ssh_path, SSH_FOLDER);
    if (p->env) {
        const char *text = arena_printf(a, "%lld", (long long)index);
        json_append(json_ensure_array(a, container, "env"), env_text(a, "VK_TASK_INDEX", text));
        json_append(json_ensure_array(a, container, "env"), env_text(a, "VC_TASK_INDEX", text));
    }
}

void vcjob_plugin_pod(struct arena *a, const struct json *job, const struct vcjob_plugins *p,
                      const struct vcjob_task *tasks, uint32_t tasks_n, int64_t index, struct json *pod)
{
    struct json *spec = json_ensure_object(a, pod, "spec");
    if (p->svc) {
        if (!json_get(spec, "hostname"))
            json_set_text(a, spec, "hostname", object_meta(pod, "name"));
        if (!json_get(spec, "subdomain"))
            json_set_text(a, spec, "subdomain", object_meta(job, "name"));
    }
    volumes_add(a, p, object_meta(job, "name"), spec);
    JSON_EACH (container, json_get(spec, "initContainers"))
        container_fill(a, job, p, tasks, tasks_n, index, container);
    JSON_EACH (container, json_get(spec, "containers"))
        container_fill(a, job, p, tasks, tasks_n, index, container);
    const char *task = json_text(json_path(pod, "metadata", "annotations", "volcano.sh/task-spec", NULL), "");
    vcjob_frameworks_pod(a, job, &p->frameworks, tasks, tasks_n, task, index, pod);
}
