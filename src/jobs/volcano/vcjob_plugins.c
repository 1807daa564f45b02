/* vcjob_plugins.c - svc, ssh and env; see vcjob_plugins.h. Keys are in vcjob_ssh.c, remarks and variables in
 * vcjob_variables.c */
#include "jobs/volcano/vcjob_plugins.h"
#include "jobs/volcano/vcjob_variables.h"

/* ---- arguments ---- */

/* Value of --name=value, "true" for a bare --name; NULL when not given. The last one wins. */
static const char *argument(const struct json *list, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    JSON_EACH (item, list) {
        const char *text = json_text(item, "");
        while (*text == '-')
            text++;
        if (strncmp(text, name, n) != 0)
            continue;
        if (text[n] == '=')
            found = text + n + 1;
        else if (text[n] == '\0')
            found = item->next && json_text(item->next, "-")[0] != '-' ? json_text(item->next, "") : "true";
    }
    return found;
}

static bool argument_true(const struct json *list, const char *name, bool fallback)
{
    const char *text = argument(list, name);
    return text ? strcmp(text, "false") != 0 && strcmp(text, "0") != 0 : fallback;
}

void vcjob_plugins_parse(struct arena *a, const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n,
                         struct vcjob_plugins *ret_p)
{
    static const char *const unserved[] = {"pytorch", "mpi", "tensorflow", "ray", "hcclrank"};
    struct vcjob_plugins p = {.ssh_path = "/root/.ssh", .ssh_port = 22};
    const struct json *plugins = json_path(job, "spec", "plugins", NULL);
    const struct json *svc = json_get(plugins, "svc"), *ssh = json_get(plugins, "ssh");
    p.svc = svc != NULL;
    p.ssh = ssh != NULL;
    p.env = json_get(plugins, "env") != NULL;
    for (size_t i = 0; i < sizeof unserved / sizeof *unserved && !p.unserved; i++)
        if (json_get(plugins, unserved[i])) {
            p.unserved = unserved[i];
            p.svc = p.svc || strcmp(unserved[i], "hcclrank") != 0;
            p.ssh = p.ssh || strcmp(unserved[i], "mpi") == 0;
        }
    /* WHY members of a gang look for each other before any of them is ready. */
    bool gang = vcjob_min_available(job, tasks, tasks_n) > 1;
    p.publish_not_ready = argument_true(svc, "publish-not-ready-addresses", gang);
    p.no_network_policy = argument_true(svc, "disable-network-policy", false);
    p.no_hosts_env = !argument_true(svc, "inject-hosts-env", true);
    p.hosts_with_slots = argument_true(svc, "hosts-with-slots", vcjob_reads_slots(job));
    p.lists_slots = p.hosts_with_slots || vcjob_wants_slots(job);
    const char *text = argument(ssh, "ssh-key-file-path");
    if (text)
        p.ssh_path = arena_text(a, text);
    p.ssh_private_key = argument(ssh, "ssh-private-key");
    p.ssh_public_key = argument(ssh, "ssh-public-key");
    text = argument(ssh, "ssh-port");
    int64_t port;
    if (text && bytes_int64(bytes_of(text), &port) && port > 0 && port < 65536)
        p.ssh_port = port;
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
    /* A Service needs a port; nobody connects to this one. */
    struct json *port = json_new(a, JSON_OBJECT);
    json_set_text(a, port, "name", "placeholder-volcano");
    json_set_int64(a, port, "port", 1);
    json_set_text(a, port, "protocol", "TCP");
    json_set_int64(a, port, "targetPort", 1);
    json_append(json_ensure_array(a, spec, "ports"), port);
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

/* One line or list entry a host: with `slot_format` ("%s:%lld") or the bare name. */
static const char *host_list(struct arena *a, const char *job, const struct vcjob_task *task, const char *between,
                             const char *slot_mark)
{
    _cleanup_buf_ struct buf out;
    buf_init(&out);
    int64_t slots = vcjob_slots(task);
    for (int64_t i = 0; i < task->replicas; i++) {
        buf_printf(&out, "%s%s-%s-%lld.%s", i ? between : "", job, task->name, (long long)i, job);
        if (slot_mark)
            buf_printf(&out, "%s%lld", slot_mark, (long long)slots);
    }
    return arena_text_n(a, out.data ? out.data : "", out.n);
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
        json_set_text(a, data, arena_printf(a, "%s.host", task->name), host_list(a, name, task, "\n", NULL));
        json_set_text(a, data, arena_printf(a, "VC_%s_HOSTS", upper),
                      host_list(a, name, task, ",", p->hosts_with_slots ? ":" : NULL));
        json_set_text(a, data, arena_printf(a, "VC_%s_NUM", upper), arena_printf(a, "%lld", (long long)task->replicas));
        if (!p->lists_slots)
            continue;
        json_set_text(a, data, arena_printf(a, "%s.hostfile", task->name), host_list(a, name, task, "\n", " slots="));
        json_set_text(a, data, arena_printf(a, "VC_%s_HOSTS_SLOTS", upper), host_list(a, name, task, ",", ":"));
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
        for (int64_t j = 0; j < tasks[i].replicas; j++) {
            const char *host = vcjob_pod_name(a, name, tasks[i].name, j);
            buf_printf(&config, "Host %s\n  HostName %s.%s\n  Port %lld\n", host, host, name, (long long)p->ssh_port);
        }
    const struct {
        const char *key, *text;
    } files[] = {{"id_rsa", private_pem},
                 {"id_rsa.pub", public_line},
                 {"authorized_keys", public_line},
                 {"config", config.data}};
    struct json *secret = vcjob_object(a, job, "v1", "Secret", arena_printf(a, "%s-ssh", name));
    json_set_text(a, secret, "type", "Opaque");
    struct json *data = json_ensure_object(a, secret, "data");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        _cleanup_buf_ struct buf coded;
        buf_init(&coded);
        base64_encode(&coded, bytes_of(files[i].text));
        json_set_text(a, data, files[i].key, coded.data ? coded.data : "");
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

static void mount_add(struct arena *a, struct json *container, const char *volume, const char *path)
{
    struct json *mount = json_new(a, JSON_OBJECT);
    json_set_text(a, mount, "name", volume);
    json_set_text(a, mount, "mountPath", path);
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
        mount_add(a, container, map, "/etc/volcano");
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
        mount_add(a, container, arena_printf(a, "%s-ssh", name), p->ssh_path);
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
}
